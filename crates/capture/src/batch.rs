//! Packets in batches: octets and a list of where each packet lies in them.

use crate::octets::Octets;

/// One captured packet, without its octets: [`Batch::octets_of`] has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// When it was captured, nanoseconds since 1970, UTC.
    pub at_ns: i64,
    /// Its number in the whole input (live: in its ring), from 1, in the order in which packets are handed out.
    pub number: u64,
    /// Where its record begins in its file (in the decompressed stream), octets. What [`crate::reread()`] takes.
    /// 0 of a live packet.
    pub offset: u64,
    /// Where its octets begin in the batch's.
    pub start: u32,
    /// How many octets were captured.
    pub captured: u32,
    /// How many octets it had on the wire (>= captured unless the file lies).
    pub wire: u32,
    /// The link type (LINKTYPE_ number of the pcap registry).
    pub link: u16,
    /// Which input file, an index into the source's list of files. 0 of a live packet, until its record's segment has a
    /// number.
    pub file: u32,
}

/// Packets that the capturing side says it lost: interface statistics of pcapng, `drops` of a live ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureLoss {
    /// When the loss was reported, nanoseconds since 1970, UTC.
    pub at_ns: i64,
    /// When counting began (the previous report or the start of the capture).
    pub since_ns: i64,
    /// Packets lost between `since_ns` and `at_ns`.
    pub packets: u64,
    /// Which input file.
    pub file: u32,
    /// Where they were lost.
    pub place: LossPlace,
}

/// Where the capturing side lost packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossPlace {
    /// The interface dropped them (`isb_ifdrop`).
    Interface,
    /// The operating system dropped them (`isb_osdrop`); live, before any ring saw them.
    OperatingSystem,
    /// The network card had no room for them, live.
    Card,
    /// They came damaged to the network card, live.
    Damaged,
    /// The kernel's ring between interface and lane was full.
    Ring,
    /// The recorder's memory was full because the disk lagged.
    Buffer,
    /// The disk was full or refused to write.
    Disk,
    /// A rule said to leave them out (snap length, class not recorded).
    Rule,
}

impl LossPlace {
    /// Whether it is of the recorder alone: the packets were there, and were looked at.
    pub fn is_of_recorder(self) -> bool {
        matches!(self, LossPlace::Buffer | LossPlace::Disk | LossPlace::Rule)
    }

    /// Its name in rows and metrics.
    pub fn name(self) -> &'static str {
        match self {
            LossPlace::Interface => "interface",
            LossPlace::OperatingSystem => "operating-system",
            LossPlace::Card => "card",
            LossPlace::Damaged => "damaged",
            LossPlace::Ring => "ring",
            LossPlace::Buffer => "buffer",
            LossPlace::Disk => "disk",
            LossPlace::Rule => "rule",
        }
    }
}

/// A run of packets in time order, as a [`crate::Source`] or a [`crate::Live`] fills it. It is reused: own memory is
/// kept, and what the kernel lent goes back to it when the batch is filled again, cleared or dropped.
#[derive(Default, Debug)]
pub struct Batch {
    /// What [`Packet::start`] points into. Between and behind the packets is what else the source read.
    pub(crate) octets: Octets,
    /// The packets, in order.
    pub packets: Vec<Packet>,
    /// Losses reported among these packets.
    pub losses: Vec<CaptureLoss>,
}

impl Batch {
    /// The captured octets of one of this batch's packets.
    ///
    /// # Panics
    /// The packet is not one of this batch, and lies outside of its octets.
    #[inline]
    pub fn octets_of(&self, packet: &Packet) -> &[u8] {
        self.octets.slice(packet.start as usize, packet.captured as usize)
    }

    /// The batch's own memory, to fill it. What the kernel lent goes back.
    #[inline]
    pub fn own(&mut self) -> &mut Vec<u8> {
        self.octets.own()
    }

    /// Puts one packet's octets behind those that are there; for sources and tests that make packets one by one.
    /// `packet.start` and `packet.captured` are set here.
    pub fn push(&mut self, packet: Packet, octets: &[u8]) {
        let own = self.octets.own();
        let start = own.len() as u32;
        own.extend_from_slice(octets);
        self.packets.push(Packet { start, captured: octets.len() as u32, ..packet });
    }

    /// Empties the batch and keeps its memory. A source does not need it: emptying the octets as well makes the next
    /// `fill` set them to zero first, some nanoseconds a packet.
    pub fn clear(&mut self) {
        self.octets.clear();
        self.packets.clear();
        self.losses.clear();
    }
}
