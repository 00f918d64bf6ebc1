//! Octets in, values out: one file per protocol and file format.
//!
//! Nothing here does I/O, reads a clock or keeps more than it says. Every view is checked once when it is made; a value
//! that could not be read is an error with its place, never a panic.
//!
//! Packets go through [`decode`], which follows them through tags, labels and tunnels to the innermost datagram or
//! segment. What one packet alone does not tell is put together by [`ip_reassembly`], [`tcp_reassembly`] and
//! [`sctp_reassembly`].
#![forbid(unsafe_code)]

pub mod address;
pub mod decode;
pub mod diameter;
#[doc(hidden)]
pub mod exercise;
pub mod multipart;
pub mod rtcp;
pub mod rtp;
pub mod sdp;
pub mod sip;
pub mod websocket;

mod arcnet;
mod atm;
mod calendar;
pub mod cdr;
pub mod counts;
mod erspan;
mod esp;
pub mod ether;
mod exported;
pub mod frames;
mod geneve;
mod gre;
pub mod gtpp;
pub mod gtpu;
mod hashing;
mod hdlc;
pub mod icmp;
pub mod ip_reassembly;
pub mod ipv4;
pub mod ipv6;
mod juniper;
mod l2tp;
pub mod ldap;
pub mod link;
mod llc;
mod loopback;
pub mod mpls;
pub mod nats;
mod nsh;
pub mod pcap;
pub mod pcapng;
mod ppp;
mod pseudo;
pub mod sctp;
pub mod sctp_reassembly;
mod slip;
mod sll;
pub mod snmp;
pub mod swar;
pub mod tcp;
pub mod tcp_reassembly;
mod teredo;
mod transport;
mod tzsp;
pub mod udp;
mod vxlan;
pub mod walk;
mod wlan;

pub use address::{Address, Endpoint};
pub use decode::{Datagram, Decoded, Fragment, Layer, TcpHeader};
pub use link::decode;
