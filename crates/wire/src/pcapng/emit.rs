//! Writing pcapng: one section after another, little-endian, nanoseconds.

use super::{INTERFACE, PACKET, SECRETS, SECTION, STATISTICS, options};

/// What an interface statistics block says, all counted from the start of the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The interface's number in its section.
    pub interface: u32,
    /// When the counting began, nanoseconds since 1970, UTC.
    pub start_ns: i64,
    /// When these were the counts.
    pub at_ns: i64,
    /// Packets received.
    pub received: u64,
    /// Packets that the interface dropped.
    pub dropped_by_interface: u64,
    /// Packets that the operating system dropped.
    pub dropped_by_system: u64,
}

/// Appends a section header, with the name of the program that writes it.
pub fn section(out: &mut Vec<u8>, application: &str) {
    section_with(out, application, None);
}

/// The same with a comment.
pub fn section_with(out: &mut Vec<u8>, application: &str, comment: Option<&str>) {
    let mut block = Block::begin(out, SECTION);
    block.word(0x1a2b_3c4d);
    block.octets(&[1, 0, 0, 0]);
    // The section's length is not known yet: -1.
    block.octets(&[0xff; 8]);
    block.option(options::SHB_USERAPPL, application.as_bytes());
    if let Some(comment) = comment {
        block.option(options::COMMENT, comment.as_bytes());
    }
    block.end_options();
    block.end();
}

/// Appends an interface description. The interfaces of a section are numbered from 0 as they are described.
pub fn interface(out: &mut Vec<u8>, link: u16, snap: u32, name: Option<&str>) {
    let mut block = Block::begin(out, INTERFACE);
    block.word(link.into());
    block.word(snap);
    if let Some(name) = name {
        block.option(options::IF_NAME, name.as_bytes());
    }
    block.option(options::IF_TSRESOL, &[9]);
    block.end_options();
    block.end();
}

/// Appends an enhanced packet block: `octets` are what was captured of a packet that had `wire` octets. Times before
/// 1970 become 1970.
pub fn packet(out: &mut Vec<u8>, interface: u32, at_ns: i64, wire: u32, octets: &[u8], comment: Option<&str>) {
    let mut block = Block::begin(out, PACKET);
    block.word(interface);
    block.octets(&halves(at_ns));
    block.word(octets.len() as u32);
    block.word(wire);
    block.octets(octets);
    if let Some(comment) = comment {
        block.option(options::COMMENT, comment.as_bytes());
        block.end_options();
    }
    block.end();
}

/// Writes the beginning of an enhanced packet block, up to where its octets stand, for who writes those without a copy.
/// Behind them come zeros up to a multiple of four and [`packet_end`]. As [`packet`] otherwise.
#[inline]
pub fn packet_begin(out: &mut [u8; PACKET_BEGIN_OCTETS], interface: u32, at_ns: i64, wire: u32, captured: u32) {
    out[..4].copy_from_slice(&PACKET.to_le_bytes());
    out[4..8].copy_from_slice(&packet_octets(captured).to_le_bytes());
    out[8..12].copy_from_slice(&interface.to_le_bytes());
    out[12..20].copy_from_slice(&halves(at_ns));
    out[20..24].copy_from_slice(&captured.to_le_bytes());
    out[24..].copy_from_slice(&wire.to_le_bytes());
}

/// The end of an enhanced packet block: its length.
#[inline]
pub fn packet_end(captured: u32) -> [u8; 4] {
    packet_octets(captured).to_le_bytes()
}

/// Octets of an enhanced packet block without options.
#[inline]
pub fn packet_octets(captured: u32) -> u32 {
    PACKET_BEGIN_OCTETS as u32 + captured.next_multiple_of(4) + 4
}

/// Octets of an enhanced packet block before those of its packet.
pub const PACKET_BEGIN_OCTETS: usize = 28;

/// Appends interface statistics.
pub fn statistics(out: &mut Vec<u8>, statistics: &Statistics) {
    let mut block = Block::begin(out, STATISTICS);
    block.word(statistics.interface);
    block.octets(&halves(statistics.at_ns));
    block.option(options::ISB_STARTTIME, &halves(statistics.start_ns));
    block.option(options::ISB_ENDTIME, &halves(statistics.at_ns));
    block.option(options::ISB_IFRECV, &statistics.received.to_le_bytes());
    block.option(options::ISB_IFDROP, &statistics.dropped_by_interface.to_le_bytes());
    block.option(options::ISB_OSDROP, &statistics.dropped_by_system.to_le_bytes());
    block.end_options();
    block.end();
}

/// Appends decryption secrets of a type (draft section 4.8: TLS key log 0x544c534b).
pub fn secrets(out: &mut Vec<u8>, kind: u32, octets: &[u8]) {
    let mut block = Block::begin(out, SECRETS);
    block.word(kind);
    block.word(octets.len() as u32);
    block.octets(octets);
    block.end();
}

/// The two halves of a time, the high one first.
fn halves(at_ns: i64) -> [u8; 8] {
    let ticks = at_ns.max(0) as u64;
    let mut out = [0; 8];
    out[..4].copy_from_slice(&((ticks >> 32) as u32).to_le_bytes());
    out[4..].copy_from_slice(&(ticks as u32).to_le_bytes());
    out
}

/// A block that is being written.
struct Block<'a> {
    out: &'a mut Vec<u8>,
    at: usize,
}

impl<'a> Block<'a> {
    fn begin(out: &'a mut Vec<u8>, kind: u32) -> Self {
        let at = out.len();
        out.extend_from_slice(&kind.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        Block { out, at }
    }

    fn word(&mut self, word: u32) {
        self.out.extend_from_slice(&word.to_le_bytes());
    }

    /// Octets, and zeros up to a multiple of four.
    fn octets(&mut self, octets: &[u8]) {
        self.out.extend_from_slice(octets);
        self.out.resize(self.at + (self.out.len() - self.at).next_multiple_of(4), 0);
    }

    /// An option; a value longer than an option can be is cut.
    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.out.extend_from_slice(&code.to_le_bytes());
        self.out.extend_from_slice(&(value.len() as u16).to_le_bytes());
        self.octets(value);
    }

    fn end_options(&mut self) {
        self.word(0);
    }

    /// The length goes to both ends.
    fn end(self) {
        let octets = (self.out.len() - self.at + 4) as u32;
        self.out.extend_from_slice(&octets.to_le_bytes());
        self.out[self.at + 4..self.at + 8].copy_from_slice(&octets.to_le_bytes());
    }
}
