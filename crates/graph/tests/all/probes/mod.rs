//! A prober with sockets, against the kernel, servers and programs that we did not write.

mod echo;
mod pages;
mod ports;
mod programs;
mod world;
