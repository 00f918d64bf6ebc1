//! All integration tests of replica, one binary: it is linked once, and what tests share is compiled once.

#[path = "../../../kit/tests/shared/eventually.rs"]
mod eventually;
mod nats_server;
mod network;
#[path = "../../../kit/tests/shared/ports.rs"]
mod ports;
mod replay;
mod servers;
