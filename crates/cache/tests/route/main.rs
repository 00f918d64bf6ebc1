//! The proxy in front of whole caches: ours, and memcached where it is installed.

#[allow(dead_code, reason = "shared with the tests that compare with memcached")]
#[path = "../memcached/compare.rs"]
mod compare;
mod failures;
mod joined;
#[allow(dead_code, reason = "as above")]
#[path = "../memcached/oracle.rs"]
mod oracle;
mod peers;
mod policies;
mod same;
#[allow(dead_code, reason = "as above")]
#[path = "../memcached/script.rs"]
mod script;
mod world;
