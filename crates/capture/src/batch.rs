//! Packets in batches: one buffer of octets and a list of where each packet lies in it.

/// One captured packet, without its octets: they lie in [`Batch::octets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// When it was captured, nanoseconds since 1970, UTC.
    pub at_ns: i64,
    /// Its number in the whole input, from 1, in the order in which packets are handed out.
    pub number: u64,
    /// Where its record begins in its file (in the decompressed stream), octets. What [`crate::reread()`] takes.
    pub offset: u64,
    /// Where its octets begin in [`Batch::octets`].
    pub start: u32,
    /// How many octets were captured.
    pub captured: u32,
    /// How many octets it had on the wire (>= captured unless the file lies).
    pub wire: u32,
    /// The link type (LINKTYPE_ number of the pcap registry).
    pub link: u16,
    /// Which input file, an index into the source's list of files; the number of a segment where packets are recorded.
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
    /// The operating system dropped them (`isb_osdrop`).
    OperatingSystem,
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
    /// Its name in rows and metrics.
    pub fn name(self) -> &'static str {
        match self {
            LossPlace::Interface => "interface",
            LossPlace::OperatingSystem => "operating-system",
            LossPlace::Ring => "ring",
            LossPlace::Buffer => "buffer",
            LossPlace::Disk => "disk",
            LossPlace::Rule => "rule",
        }
    }
}

/// A run of packets in time order, as a [`crate::Source`] fills it. It is reused: `clear` keeps the memory.
#[derive(Default, Debug)]
pub struct Batch {
    /// The octets that [`Packet::start`] points into. Between and behind the packets is what else the source read.
    pub octets: Vec<u8>,
    /// The packets, in order.
    pub packets: Vec<Packet>,
    /// Losses reported among these packets.
    pub losses: Vec<CaptureLoss>,
}

impl Batch {
    /// The captured octets of one of this batch's packets.
    #[inline]
    pub fn octets_of(&self, packet: &Packet) -> &[u8] {
        &self.octets[packet.start as usize..][..packet.captured as usize]
    }

    /// Empties the batch and keeps its memory. A source does not need it: emptying `octets` as well makes the next
    /// `fill` set them to zero first, some nanoseconds a packet.
    pub fn clear(&mut self) {
        self.octets.clear();
        self.packets.clear();
        self.losses.clear();
    }
}
