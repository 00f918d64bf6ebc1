//! pcapng capture files: draft-ietf-opsawg-pcapng.
//!
//! A file is a run of blocks, each with its type and its length at both ends. A section header says the byte order;
//! each interface description says link type and clock of the packets that name it. [`Sections`] keeps just that and
//! frames packets in place; blocks that hold no packets are told to the [`Sink`] by their type.

pub mod emit;
mod error;
mod interface;
pub mod options;
pub mod time;

use crate::pcap::{ByteOrder, Frame, Rest, Scanned, Sink, packet_octets_max};
pub use error::PcapngError;
use interface::Interface;
pub use interface::Lost;
use options::Options;
use time::Clock;

/// Longest block, octets, as Wireshark has it. A longer one means that its length is damaged.
// Limit: length of one block of a pcapng file
// Beyond: the file is read up to there
// Seen in: an error for the file; exit code 3
pub const BLOCK_OCTETS_MAX: u32 = 16 << 20;
/// Longest block that is held whole to be read, octets (packets have their own limit). Longer ones are passed over and
/// told to [`Sink::passed`].
pub const KEPT_OCTETS_MAX: u32 = 1 << 20;
/// Interfaces of one section. One more ends the file with [`PcapngError::TooManyInterfaces`].
// Limit: interfaces of one section of a pcapng file
// Beyond: the file is read up to there
// Seen in: an error for the file; exit code 3
pub const INTERFACES_MAX: usize = 65_536;

/// Section header block (draft section 4.1): reads the same in both byte orders.
pub const SECTION: u32 = 0x0a0d_0d0a;
/// Interface description block (4.2).
pub const INTERFACE: u32 = 1;
/// Packet block, obsolete (appendix A).
pub const OLD_PACKET: u32 = 2;
/// Simple packet block (4.4).
pub const SIMPLE_PACKET: u32 = 3;
/// Name resolution block (4.5).
pub const NAMES: u32 = 4;
/// Interface statistics block (4.6).
pub const STATISTICS: u32 = 5;
/// Enhanced packet block (4.3).
pub const PACKET: u32 = 6;
/// Systemd journal export block (4.7).
pub const JOURNAL: u32 = 9;
/// Decryption secrets block (4.8).
pub const SECRETS: u32 = 10;

/// What a section header's byte-order magic reads as in its own order.
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// The state of reading a file: the section that is open and its interfaces.
#[derive(Clone, Debug, Default)]
pub struct Sections {
    order: Option<ByteOrder>,
    interfaces: Vec<Interface>,
    first_ns: Option<i64>,
    last_ns: i64,
    /// Longest packet block that the interfaces described allow, octets.
    packet_block_max: u32,
    /// The length that must stand at the end of a block that was passed over, where the next scan begins.
    trailer: Option<u32>,
    /// Section headers read.
    pub sections: u64,
    /// Interface descriptions read.
    pub described: u64,
}

/// One block that lies whole in the octets scanned.
struct Block<'a> {
    order: ByteOrder,
    kind: u32,
    /// Where it begins.
    at: usize,
    /// What is between the lengths.
    body: &'a [u8],
}

/// Whether a file that begins so is pcapng.
pub fn is_pcapng(octets: &[u8]) -> bool {
    octets.starts_with(&SECTION.to_be_bytes())
}

/// Packets that the statistics blocks at a file's end say were dropped; none where no statistics stand there.
///
/// `tail` is what a file ends with: its blocks are walked backward by the lengths at their ends, up to the last packet.
pub fn drops_at_end(order: ByteOrder, mut tail: &[u8]) -> Option<u64> {
    let mut drops = None;
    while let Some((kind, body, before)) = last_block(order, tail) {
        match kind {
            STATISTICS => {
                let options = Options::new(order, body.get(12..).unwrap_or_default());
                let dropped = options.filter(|o| matches!(o.code, options::ISB_IFDROP | options::ISB_OSDROP));
                let sum = dropped.filter_map(|o| o.u64(order)).fold(0, u64::saturating_add);
                drops = Some(sum.saturating_add(drops.unwrap_or(0)));
            }
            PACKET | SIMPLE_PACKET | OLD_PACKET | SECTION => break,
            _ => {}
        }
        tail = before;
    }
    drops
}

/// Type and body of the block that the octets end with, and what is before it.
fn last_block(order: ByteOrder, octets: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    let said = order.u32(*octets.last_chunk()?);
    let begin = octets.len().checked_sub(extent(0, said).ok()?)?;
    let (before, block) = octets.split_at(begin);
    let [a, b, c, d, length @ ..] = *block.first_chunk::<8>()?;
    let body = block.get(8..block.len() - 4)?;
    (order.u32(length) == said).then_some((order.u32([a, b, c, d]), body, before))
}

impl Sections {
    /// Frames the blocks that lie whole in `octets`, which begin at a block. A file is scanned run by run with one
    /// `Sections`.
    pub fn scan(&mut self, octets: &[u8], sink: &mut impl Sink) -> Scanned<PcapngError> {
        let mut at = 0;
        loop {
            at = match self.order {
                Some(ByteOrder::Little) => self.plain_packets::<false>(octets, at, sink),
                Some(ByteOrder::Big) => self.plain_packets::<true>(octets, at, sink),
                None => at,
            };
            match self.block(octets, at, sink) {
                Ok(block_octets) => at += block_octets,
                Err(rest) => return Scanned { consumed: at, rest },
            }
        }
    }

    /// Frames enhanced packet blocks without options for as long as nothing is odd about them: most of most files, in
    /// half the time of [`Sections::block`], which decides about all others. Returns where it stopped.
    #[inline]
    fn plain_packets<const BIG: bool>(&mut self, octets: &[u8], mut at: usize, sink: &mut impl Sink) -> usize {
        let order = if BIG { ByteOrder::Big } else { ByteOrder::Little };
        if self.trailer.is_some() {
            return at;
        }
        loop {
            let left = &octets[at..];
            let Some(o) = left.first_chunk::<28>() else { return at };
            let word = |i: usize| order.u32([o[i], o[i + 1], o[i + 2], o[i + 3]]);
            let (said, captured) = (word(4), word(20));
            let Some(end) = left.get(..said as usize).and_then(|block| block.last_chunk()) else { return at };
            let Some(interface) = self.interfaces.get_mut(word(8) as usize) else { return at };
            let is_plain = word(0) == PACKET
                && order.u32(*end) == said
                && captured <= packet_octets_max(interface.link)
                && captured.next_multiple_of(4) + 32 == said;
            if !is_plain {
                return at;
            }
            let at_ns = interface.clock.nanoseconds(word(12), word(16));
            let frame = Frame { at_ns, record: at, start: at + 28, captured, wire: word(24), link: interface.link };
            sink.packet(frame);
            interface.last_ns = Some(at_ns);
            self.first_ns.get_or_insert(at_ns);
            self.last_ns = at_ns;
            at += said as usize;
        }
    }

    /// Byte order of the section that is open.
    pub fn order(&self) -> Option<ByteOrder> {
        self.order
    }

    /// Whether the octets scanned so far ended with a whole block, so that the file may end there.
    pub fn is_between_blocks(&self) -> bool {
        self.trailer.is_none()
    }

    /// Reads the block at `at`; how many octets that was, or why there is no going on.
    #[inline]
    fn block(&mut self, octets: &[u8], at: usize, sink: &mut impl Sink) -> Result<usize, Rest<PcapngError>> {
        let left = octets.get(at..).unwrap_or_default();
        if let Some(said) = self.trailer {
            return self.end_of_passed(left, said);
        }
        let Some(start) = left.first_chunk::<8>() else { return Err(Rest::Needs(12)) };
        let raw_kind = [start[0], start[1], start[2], start[3]];
        let (kind, order) = if raw_kind == SECTION.to_be_bytes() {
            (SECTION, section_order(left)?)
        } else {
            let order = self.order.ok_or(Rest::Broken(PcapngError::NoSection(u32::from_le_bytes(raw_kind))))?;
            (order.u32(raw_kind), order)
        };
        let said = order.u32([start[4], start[5], start[6], start[7]]);
        let block_octets = extent(kind, said).map_err(Rest::Broken)?;
        if self.passes(kind, said).map_err(Rest::Broken)? {
            return self.pass(kind, said, left, sink);
        }
        if left.len() < block_octets {
            return Err(Rest::Needs(block_octets));
        }
        let end = order.u32(*left[..block_octets].last_chunk().unwrap_or(&[0; 4]));
        if end != said {
            return Err(Rest::Broken(PcapngError::LengthsDiffer(said, end)));
        }
        let block = Block { order, kind, at, body: &left[8..block_octets - 4] };
        self.read(&block, sink).map_err(Rest::Broken)?;
        Ok(block_octets)
    }

    /// Whether a block is passed over. This must not depend on how much of it was read so far.
    #[inline]
    fn passes(&self, kind: u32, said: u32) -> Result<bool, PcapngError> {
        match kind {
            PACKET | OLD_PACKET | SIMPLE_PACKET if said > self.packet_block_max => {
                let limit = self.packet_block_max.max(KEPT_OCTETS_MAX);
                if said > limit { Err(PcapngError::PacketTooLong(said, limit)) } else { Ok(false) }
            }
            PACKET | OLD_PACKET | SIMPLE_PACKET => Ok(false),
            SECTION | INTERFACE if said > KEPT_OCTETS_MAX => Err(PcapngError::BlockLength(kind, said)),
            SECTION | INTERFACE => Ok(false),
            STATISTICS | SECRETS => Ok(said > KEPT_OCTETS_MAX),
            _ => Ok(true),
        }
    }

    /// Passes over a block up to the length at its end.
    fn pass(&mut self, kind: u32, said: u32, left: &[u8], sink: &mut impl Sink) -> Result<usize, Rest<PcapngError>> {
        sink.passed(kind);
        self.trailer = Some(said);
        let octets = said.next_multiple_of(4) as usize - 4;
        if left.len() < octets { Err(Rest::Skip(octets as u64)) } else { Ok(octets) }
    }

    fn end_of_passed(&mut self, left: &[u8], said: u32) -> Result<usize, Rest<PcapngError>> {
        let end = *left.first_chunk().ok_or(Rest::Needs(4))?;
        let end = self.order.map_or(said, |order| order.u32(end));
        if end != said {
            return Err(Rest::Broken(PcapngError::LengthsDiffer(said, end)));
        }
        self.trailer = None;
        Ok(4)
    }

    /// Takes in one whole block.
    #[inline]
    fn read(&mut self, block: &Block<'_>, sink: &mut impl Sink) -> Result<(), PcapngError> {
        match block.kind {
            PACKET => self.packet(block, sink),
            SIMPLE_PACKET => self.simple_packet(block, sink),
            OLD_PACKET => self.old_packet(block, sink),
            SECTION => self.section(block),
            INTERFACE => self.interface(block),
            STATISTICS => self.statistics(block, sink),
            SECRETS => {
                let (kind, n) = (block.u32(0)?, block.u32(4)?);
                let secrets = block.body.get(8..).and_then(|o| o.get(..n as usize)).ok_or(block.bad_length())?;
                sink.secrets(kind, secrets);
                Ok(())
            }
            kind => {
                sink.passed(kind);
                Ok(())
            }
        }
    }

    /// A section header: interfaces are numbered anew. Draft section 4.1: minor 2 reads as 0.
    fn section(&mut self, block: &Block<'_>) -> Result<(), PcapngError> {
        let o: &[u8; 16] = block.body.first_chunk().ok_or(block.bad_length())?;
        let (major, minor) = (block.order.u16([o[4], o[5]]), block.order.u16([o[6], o[7]]));
        if !matches!((major, minor), (1, 0 | 2)) {
            return Err(PcapngError::Version(major, minor));
        }
        self.order = Some(block.order);
        self.interfaces.clear();
        self.packet_block_max = 0;
        self.sections += 1;
        Ok(())
    }

    fn interface(&mut self, block: &Block<'_>) -> Result<(), PcapngError> {
        if self.interfaces.len() >= INTERFACES_MAX {
            return Err(PcapngError::TooManyInterfaces);
        }
        let snap = block.u32(4)?;
        let link = block.order.u16([block.body[0], block.body[1]]);
        let (mut resolution, mut offset_s) = (time::MICROSECONDS, 0);
        for option in Options::new(block.order, block.body.get(8..).unwrap_or_default()) {
            match option.code {
                options::IF_TSRESOL => resolution = option.value.first().copied().unwrap_or(resolution),
                options::IF_TSOFFSET => offset_s = option.u64(block.order).map_or(0, |s| s as i64),
                _ => {}
            }
        }
        let clock = Clock::new(resolution, offset_s);
        let link = crate::pcap::link_type(link.into());
        self.packet_block_max = self.packet_block_max.max(packet_octets_max(link) + KEPT_OCTETS_MAX);
        self.interfaces.push(Interface::new(link, snap, clock));
        self.described += 1;
        Ok(())
    }

    #[inline]
    fn packet(&mut self, block: &Block<'_>, sink: &mut impl Sink) -> Result<(), PcapngError> {
        let o: &[u8; 20] = block.body.first_chunk().ok_or(block.bad_length())?;
        let word = |i: usize| block.order.u32([o[i], o[i + 1], o[i + 2], o[i + 3]]);
        let head = Head { interface: word(0), ticks: (word(4), word(8)), captured: word(12), wire: word(16) };
        self.framed(block, head, 20, None, sink)
    }

    fn old_packet(&mut self, block: &Block<'_>, sink: &mut impl Sink) -> Result<(), PcapngError> {
        let o: &[u8; 20] = block.body.first_chunk().ok_or(block.bad_length())?;
        let word = |i: usize| block.order.u32([o[i], o[i + 1], o[i + 2], o[i + 3]]);
        let interface = block.order.u16([o[0], o[1]]).into();
        let drops = block.order.u16([o[2], o[3]]);
        let head = Head { interface, ticks: (word(4), word(8)), captured: word(12), wire: word(16) };
        // Appendix A: 0xffff says that the count is not known.
        self.framed(block, head, 20, (drops != 0xffff).then_some(drops.into()), sink)
    }

    /// What enhanced and obsolete packet blocks share.
    #[inline]
    fn framed(
        &mut self,
        block: &Block<'_>,
        head: Head,
        fixed: usize,
        drops: Option<u64>,
        sink: &mut impl Sink,
    ) -> Result<(), PcapngError> {
        let described = self.interfaces.len();
        let interface = self
            .interfaces
            .get_mut(head.interface as usize)
            .ok_or(PcapngError::NoInterface(head.interface, described))?;
        let room = (block.body.len() - fixed) as u32;
        let limit = packet_octets_max(interface.link).min(room);
        if head.captured > limit {
            return Err(PcapngError::PacketTooLong(head.captured, limit));
        }
        let at_ns = interface.clock.nanoseconds(head.ticks.0, head.ticks.1);
        sink.packet(Frame {
            at_ns,
            record: block.at,
            start: block.at + 8 + fixed,
            captured: head.captured,
            wire: head.wire,
            link: interface.link,
        });
        self.first_ns.get_or_insert(at_ns);
        let options = (head.captured as usize).next_multiple_of(4) + fixed;
        if drops.is_some() || options < block.body.len() {
            let drops = drops.or_else(|| drop_count(block.order, block.body.get(options..).unwrap_or_default()));
            interface.told_by_packet(drops.unwrap_or(0), at_ns, sink);
        }
        interface.last_ns = Some(at_ns);
        self.last_ns = at_ns;
        Ok(())
    }

    /// A simple packet is of interface 0 and has no time (draft section 4.4): it gets that of the packet before it.
    fn simple_packet(&mut self, block: &Block<'_>, sink: &mut impl Sink) -> Result<(), PcapngError> {
        let wire = block.u32(0)?;
        let interface = self.interfaces.first().ok_or(PcapngError::NoInterface(0, 0))?;
        let snap = if interface.snap == 0 { u32::MAX } else { interface.snap };
        let captured = wire.min(snap).min((block.body.len() - 4) as u32);
        let limit = packet_octets_max(interface.link);
        if captured > limit {
            return Err(PcapngError::PacketTooLong(captured, limit));
        }
        sink.packet(Frame {
            at_ns: self.last_ns,
            record: block.at,
            start: block.at + 12,
            captured,
            wire,
            link: interface.link,
        });
        Ok(())
    }

    /// Statistics count from the start of the capture: what is new since the last block of this interface is told.
    fn statistics(&mut self, block: &Block<'_>, sink: &mut impl Sink) -> Result<(), PcapngError> {
        let (index, high, low) = (block.u32(0)?, block.u32(4)?, block.u32(8)?);
        let described = self.interfaces.len();
        let interface = self.interfaces.get_mut(index as usize).ok_or(PcapngError::NoInterface(index, described))?;
        let at_ns = interface.clock.nanoseconds(high, low);
        let mut start_ns = None;
        let mut drops = [None; 2];
        for option in Options::new(block.order, block.body.get(12..).unwrap_or_default()) {
            match option.code {
                options::ISB_STARTTIME => {
                    start_ns = option.halves(block.order).map(|(h, l)| interface.clock.nanoseconds(h, l));
                }
                options::ISB_IFDROP => drops[0] = option.u64(block.order),
                options::ISB_OSDROP => drops[1] = option.u64(block.order),
                _ => {}
            }
        }
        let since_ns = interface.since_ns.or(start_ns).or(self.first_ns).unwrap_or(at_ns);
        for (which, total) in drops.into_iter().enumerate() {
            let Some(total) = total else { continue };
            let packets = interface.new_drops(which, total);
            if packets > 0 {
                sink.lost(Lost { at_ns, since_ns, packets, by_interface: which == 0 });
            }
        }
        interface.since_ns = Some(at_ns);
        Ok(())
    }
}

/// The fixed part of a packet block.
struct Head {
    interface: u32,
    ticks: (u32, u32),
    captured: u32,
    wire: u32,
}

impl Block<'_> {
    fn u32(&self, at: usize) -> Result<u32, PcapngError> {
        let octets = self.body.get(at..).and_then(|o| o.first_chunk()).ok_or(self.bad_length())?;
        Ok(self.order.u32(*octets))
    }

    fn bad_length(&self) -> PcapngError {
        PcapngError::BlockLength(self.kind, self.body.len() as u32 + 12)
    }
}

/// Byte order of the section header that `left` begins with.
fn section_order(left: &[u8]) -> Result<ByteOrder, Rest<PcapngError>> {
    let magic = *left.get(8..).and_then(|o| o.first_chunk()).ok_or(Rest::Needs(12))?;
    [ByteOrder::Little, ByteOrder::Big]
        .into_iter()
        .find(|order| order.u32(magic) == BYTE_ORDER_MAGIC)
        .ok_or(Rest::Broken(PcapngError::ByteOrder(u32::from_be_bytes(magic))))
}

/// Octets of a block in the file. Field: some writers leave the padding out of the length; it is there all the same.
#[inline]
fn extent(kind: u32, said: u32) -> Result<usize, PcapngError> {
    if !(12..=BLOCK_OCTETS_MAX).contains(&said) {
        return Err(PcapngError::BlockLength(kind, said));
    }
    Ok(said.next_multiple_of(4) as usize)
}

/// `epb_dropcount` among a packet's options.
fn drop_count(order: ByteOrder, octets: &[u8]) -> Option<u64> {
    Options::new(order, octets).find(|o| o.code == options::EPB_DROPCOUNT).and_then(|o| o.u64(order))
}

/// What the fuzz target drives: framing, and that framing run by run finds the same.
#[doc(hidden)]
pub fn exercise(octets: &[u8]) {
    use crate::pcap::check::Frames;
    let whole = Frames::of(octets, |o, s| Sections::default().scan(o, s));
    assert!(whole.scanned.consumed <= octets.len());
    drops_at_end(ByteOrder::Little, octets);
    drops_at_end(ByteOrder::Big, octets);
    for cut in [octets.len() / 2, octets.len().saturating_sub(1)] {
        let mut sections = Sections::default();
        let first = Frames::of(&octets[..cut], |o, s| sections.scan(o, s));
        let skip = if let Rest::Skip(n) = first.scanned.rest { n as usize } else { 0 };
        let Some(left) = octets.get(first.scanned.consumed + skip..) else { continue };
        let then = Frames::of(left, |o, s| sections.scan(o, s));
        assert_eq!(first.frames.len() + then.frames.len(), whole.frames.len());
    }
}

#[cfg(test)]
mod tests;
