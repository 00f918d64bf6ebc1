//! Interfaces of a section, and what their capturing side lost: totals told as differences, each packet once.

use super::time::Clock;
use crate::pcap::Sink;

/// Packets that the capturing side lost, as statistics blocks and packet options report them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// When it was reported, nanoseconds since 1970, UTC.
    pub at_ns: i64,
    /// When counting began.
    pub since_ns: i64,
    /// How many since then.
    pub packets: u64,
    /// Whether the interface lost them (`isb_ifdrop`), not the operating system (`isb_osdrop`, `epb_dropcount`).
    pub by_interface: bool,
}

/// What is known of an interface.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    pub(super) link: u16,
    pub(super) snap: u32,
    pub(super) clock: Clock,
    /// Drops already told, by the interface and by the system.
    told: [u64; 2],
    /// Drops that packets told and a statistics block has yet to repeat.
    told_by_packets: u64,
    /// When the last statistics block was.
    pub(super) since_ns: Option<i64>,
    /// When the last packet was.
    pub(super) last_ns: Option<i64>,
}

impl Interface {
    pub(super) fn new(link: u16, snap: u32, clock: Clock) -> Interface {
        Interface { link, snap, clock, told: [0; 2], told_by_packets: 0, since_ns: None, last_ns: None }
    }

    /// What a total says beyond what was told before. A total that went down began anew.
    pub(super) fn new_drops(&mut self, which: usize, total: u64) -> u64 {
        let new = total.checked_sub(self.told[which]).unwrap_or(total);
        self.told[which] = total;
        let known = new.min(self.told_by_packets);
        self.told_by_packets -= known;
        new - known
    }

    /// `epb_dropcount` counts from the packet before on this interface.
    pub(super) fn told_by_packet(&mut self, packets: u64, at_ns: i64, sink: &mut impl Sink) {
        if packets > 0 {
            self.told_by_packets = self.told_by_packets.saturating_add(packets);
            sink.lost(Lost { at_ns, since_ns: self.last_ns.unwrap_or(at_ns), packets, by_interface: false });
        }
    }
}
