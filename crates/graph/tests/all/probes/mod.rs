//! A prober with sockets, against the kernel, servers and programs that we did not write.
//!
//! Test group: waits: for what does not answer.

mod echo;
mod pages;
mod ports;
mod programs;
mod world;
