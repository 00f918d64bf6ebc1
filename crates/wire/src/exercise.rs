//! One function per parser for the fuzz targets: each drives its parser and asserts what must hold of any octets.

pub use crate::pcap::exercise as pcap;
pub use crate::pcapng::exercise as pcapng;
