//! All integration tests of charge, one binary: it is linked once, and what tests share is compiled once.

mod compare;
mod directory;
#[path = "../../../kit/tests/shared/eventually.rs"]
mod eventually;
mod gateway_network;
mod gateway_rules;
mod gateway_strangers;
mod interleavings;
mod ledger;
mod mend;
mod network;
mod node;
mod node_calls;
mod node_disk;
mod node_records;
mod node_strangers;
mod node_strays;
mod node_tls;
mod owners;
mod payers;
mod plan_file;
#[path = "../../../kit/tests/shared/ports.rs"]
mod ports;
mod rating;
mod recorded;
mod records;
mod records_of_several;
mod reference;
mod refunds;
mod replay;
mod served;
mod sessions;
#[allow(dead_code, reason = "the directory's own tests take the rest")]
#[path = "../../../directory/tests/all/slapd/world.rs"]
mod slapd;
mod tryout;
mod unfit;
mod voice;
#[path = "../../../commit/tests/all/world/mod.rs"]
mod world;
