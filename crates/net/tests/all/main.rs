//! Whole servers, asked by the standard library's sockets: what those send and read is the measure.

mod datagrams;
mod dialled_tls;
mod dialling;
#[path = "../../../kit/tests/shared/eventually.rs"]
mod eventually;
mod faults;
mod limits;
mod mail;
mod speaker;
mod stop;
mod streams;
mod tls;
