//! The proxy in front of whole caches: ours, and memcached where it is installed.

mod failures;
mod joined;
mod peers;
mod policies;
mod same;
mod world;
