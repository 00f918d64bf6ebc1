//! All integration tests of replica, one binary: it is linked once, and what tests share is compiled once.

mod nats_server;
mod network;
mod replay;
mod servers;
