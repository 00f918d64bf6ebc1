//! Reading records of a capture file from any place: a segment of the log, or anyone's pcap or pcapng.
//!
//! Where a packet lies in pcapng says nothing of its clock and link type: these stand in descriptions before it. A
//! [`Segment`] reads those that an index names, then goes on at the place that was asked for.

use std::io;

use trunkline_capture::FileFault;
use trunkline_wire::decode;
use trunkline_wire::pcap::{ByteOrder, FileHeader, Frame, Rest, Sink, variant};
use trunkline_wire::pcapng::options::{self, Options};
use trunkline_wire::pcapng::{self, Sections, is_pcapng};

use crate::index::{Builder, ReadAt};

/// Octets that are read at once.
pub const READ_OCTETS: usize = 256 << 10;
/// Octets that are read behind a region, since the last record that begins in it mostly ends behind it.
pub const BEHIND_OCTETS: usize = 2048;
/// Octets of a file's beginning that tell its format, as reading a whole file has it.
const DETECT_OCTETS: usize = 4096;
/// Blocks of statistics at a file's end that are read.
const STATISTICS_MAX: usize = 1024;
/// Octets before the first packet that are read to learn the interfaces; a file with a longer head is read from its
/// beginning.
pub const HEAD_OCTETS_MAX: u64 = 32 << 20;

/// Records that begin from `from` (where one does begin) up to before `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Where the first record begins, octets.
    pub from: u64,
    /// Records that begin here or later are not wanted.
    pub until: u64,
}

/// What ends reading before its end: where, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentFault {
    /// The octet of the file.
    pub offset: u64,
    /// What is wrong there.
    pub fault: FileFault,
}

/// A packet of a segment, its octets where they were read to.
#[derive(Clone, Copy, Debug)]
pub struct Read<'a> {
    /// When it was captured, nanoseconds since 1970, UTC.
    pub at_ns: i64,
    /// Where its record begins.
    pub offset: u64,
    /// Octets of its record, options left out.
    pub record_octets: u32,
    /// Link type.
    pub link: u16,
    /// Octets that it had on the wire.
    pub wire: u32,
    /// What was captured.
    pub octets: &'a [u8],
    /// Whether it has no time of its own (simple packet blocks).
    pub timeless: bool,
}

/// A capture file that is open.
pub struct Segment<R> {
    file: R,
    /// Whether it is being written: its end may be cut, or zeros that will be written over.
    growing: bool,
    format: Format,
    octets_read: u64,
    buffer: Vec<u8>,
    /// Octets that the record at the beginning of the next step needs.
    needs: usize,
    /// What the head and so many descriptions say.
    learned: Option<(usize, Box<Sections>)>,
}

enum Format {
    Pcap(FileHeader),
    Pcapng(Box<Sections>),
}

impl<R: ReadAt> Segment<R> {
    /// Looks at a file's beginning. `growing`: it is being written.
    ///
    /// # Errors
    /// It cannot be read, or is no plain capture file. An empty file that grows is one without packets.
    pub fn open(file: R, growing: bool) -> Result<Segment<R>, SegmentFault> {
        let mut head = vec![0; DETECT_OCTETS];
        let n = file.read_at(0, &mut head).map_err(|e| unreadable(0, &e))?;
        head.truncate(n);
        let begun = n >= 12 && head.iter().any(|o| *o != 0);
        let format = if is_pcapng(&head) || (growing && !begun) {
            Format::Pcapng(Box::default())
        } else if variant::is_pcap(&head) {
            let whole = n < DETECT_OCTETS;
            let header = FileHeader::parse(&head, whole).map_err(|e| SegmentFault { offset: 0, fault: e.into() })?;
            Format::Pcap(header)
        } else {
            return Err(SegmentFault { offset: 0, fault: FileFault::NotACapture("something else") });
        };
        Ok(Segment { file, growing, format, octets_read: n as u64, buffer: Vec::new(), needs: 0, learned: None })
    }

    /// Where the first record may begin.
    pub fn first(&self) -> u64 {
        match &self.format {
            Format::Pcap(header) => header.octets as u64,
            Format::Pcapng(_) => 0,
        }
    }

    /// Octets read so far.
    pub fn octets_read(&self) -> u64 {
        self.octets_read
    }

    /// The file.
    pub fn file(&self) -> &R {
        &self.file
    }

    /// The file, for who knows that it has grown.
    pub fn file_mut(&mut self) -> &mut R {
        &mut self.file
    }

    /// Learns the clocks and link types of what is before `from`: the file's head, and the descriptions up to there.
    /// Whoever jumps to another place of the file calls it first.
    ///
    /// # Errors
    /// They cannot be read, or are not what they were when the index was made.
    pub fn prepare(&mut self, head_octets: u64, descriptions: &[(u64, u32)], from: u64) -> Result<(), SegmentFault> {
        self.needs = 0;
        let Format::Pcapng(sections) = &mut self.format else { return Ok(()) };
        let before = descriptions.partition_point(|d| d.0 < from);
        if let Some((_, learned)) = self.learned.as_ref().filter(|(count, _)| *count == before) {
            sections.clone_from(learned);
            return Ok(());
        }
        **sections = Sections::default();
        let head = [(0, u32::try_from(head_octets.min(HEAD_OCTETS_MAX)).unwrap_or(u32::MAX))];
        for (offset, octets) in head.iter().chain(&descriptions[..before]) {
            let octets = u64::from(*octets).min(self.file.octets().saturating_sub(*offset));
            let mut block = vec![0; octets as usize];
            let n = self.file.read_at(*offset, &mut block).map_err(|e| unreadable(*offset, &e))?;
            self.octets_read += n as u64;
            block.truncate(n);
            let scanned = sections.scan(&block, &mut Nothing);
            if let Rest::Broken(e) = scanned.rest {
                return Err(SegmentFault { offset: offset + scanned.consumed as u64, fault: e.into() });
            }
        }
        self.learned = Some((before, sections.clone()));
        Ok(())
    }

    /// Hands out the records of a region, in the order of the file.
    ///
    /// # Errors
    /// The file is damaged in the region: what came before was handed out.
    pub fn read(&mut self, mut region: Region, each: &mut impl FnMut(&Read<'_>)) -> Result<(), SegmentFault> {
        while self.step(&mut region, READ_OCTETS, each)? {}
        Ok(())
    }

    /// Reads about so many octets of a region and hands out the records in them; moves the region's beginning. True if
    /// there may be more.
    ///
    /// # Errors
    /// The file is damaged: what came before was handed out.
    pub fn step(
        &mut self,
        region: &mut Region,
        octets: usize,
        each: &mut impl FnMut(&Read<'_>),
    ) -> Result<bool, SegmentFault> {
        self.step_seeing(region, octets, each, None)
    }

    /// Reads the whole file into an index that is being built; where the last whole record ends.
    ///
    /// # Errors
    /// The file is damaged: what came before is in the index, and the fault tells where that ends.
    pub fn index(&mut self, builder: &mut Builder) -> Result<u64, SegmentFault> {
        if let Format::Pcapng(sections) = &mut self.format {
            **sections = Sections::default();
        }
        let mut blocks = Blocks { next: 0, order: ByteOrder::Little, found: Vec::new() };
        let mut timeless = false;
        let mut first = None;
        let each = &mut |read: &Read<'_>| {
            first.get_or_insert(read.offset);
            timeless |= read.timeless;
            let decoded = decode(read.link, read.octets);
            builder.packet(read.at_ns, read.offset, read.record_octets, read.link, read.octets, &decoded);
        };
        let mut region = Region { from: self.first(), until: u64::MAX };
        let read = loop {
            match self.step_seeing(&mut region, READ_OCTETS, each, Some(&mut blocks)) {
                Ok(true) => {}
                ended => break ended,
            }
        };
        let behind = blocks.found.iter().filter(|b| first.is_some_and(|first| b.0 > first));
        behind.for_each(|(offset, octets)| builder.description(*offset, *octets));
        if timeless || first.is_some_and(|first| first > HEAD_OCTETS_MAX) {
            builder.sequential();
        }
        read.map(|_| region.from)
    }

    fn step_seeing(
        &mut self,
        region: &mut Region,
        octets: usize,
        each: &mut impl FnMut(&Read<'_>),
        blocks: Option<&mut Blocks>,
    ) -> Result<bool, SegmentFault> {
        let base = region.from;
        if base >= region.until {
            return Ok(false);
        }
        let left = usize::try_from(region.until - base).unwrap_or(usize::MAX);
        let want = octets.min(left.saturating_add(BEHIND_OCTETS)).max(core::mem::take(&mut self.needs)).max(16);
        if self.buffer.len() < want {
            self.buffer.resize(want, 0);
        }
        let n = self.file.read_at(base, &mut self.buffer[..want]).map_err(|e| unreadable(base, &e))?;
        self.octets_read += n as u64;
        let (octets, ended) = (&self.buffer[..n], n < want);
        let (consumed, rest) = self.format.scan(octets, &mut Found { octets, base, until: region.until, each });
        if let (Some(blocks), Format::Pcapng(_)) = (blocks, &self.format) {
            blocks.see(base, &octets[..consumed]);
        }
        region.from = base + consumed as u64;
        if region.from >= region.until {
            return Ok(false);
        }
        let left = &octets[consumed..];
        self.after(region, rest, left.len() as u64, ended, left.iter().take(8).all(|o| *o == 0))
    }

    /// What follows a scan that left so many octets.
    fn after(
        &mut self,
        region: &mut Region,
        rest: Rest<FileFault>,
        left: u64,
        ended: bool,
        zeros: bool,
    ) -> Result<bool, SegmentFault> {
        let fault = match rest {
            Rest::Needs(_) if ended && left == 0 => return Ok(false),
            Rest::Needs(more) if !ended => {
                self.needs = more;
                return Ok(true);
            }
            Rest::Needs(more) => self.format.cut(more as u64, left),
            Rest::Skip(more) => {
                let end = region.from.saturating_add(more);
                let has = self.file.octets().saturating_sub(region.from);
                if more <= has {
                    region.from = end;
                    return Ok(end < region.until);
                }
                self.format.cut(more, has)
            }
            // Behind the last record of a file that is written in pages are zeros.
            Rest::Broken(_) if self.growing && zeros => return Ok(false),
            Rest::Broken(fault) => return Err(SegmentFault { offset: region.from, fault }),
        };
        if self.growing { Ok(false) } else { Err(SegmentFault { offset: region.from, fault }) }
    }
}

/// Packets that the capturing side lost, as the statistics at a pcapng file's end say: of all interfaces together; none
/// if it ends with none.
pub fn dropped(file: &impl ReadAt) -> Option<u64> {
    let (mut end, mut blocks) = (file.octets(), Vec::new());
    let order = ByteOrder::Little;
    for _ in 0..STATISTICS_MAX {
        let mut trailer = [0; 4];
        let at = end.checked_sub(4)?;
        if file.read_at(at, &mut trailer).ok()? != 4 {
            break;
        }
        let length = order.u32(trailer);
        let Some(start) = end.checked_sub(length.into()).filter(|_| (12..=4096).contains(&length)) else { break };
        let mut block = vec![0; length as usize];
        let read = file.read_at(start, &mut block).ok()?;
        if read != block.len() || block.get(..4) != Some(&pcapng::STATISTICS.to_le_bytes()) {
            break;
        }
        blocks.push(block);
        end = start;
    }
    (!blocks.is_empty()).then(|| blocks.iter().filter_map(|block| drops_of(block, order)).sum())
}

/// `isb_ifdrop` and `isb_osdrop` of one block of statistics.
fn drops_of(block: &[u8], order: ByteOrder) -> Option<u64> {
    let options = Options::new(order, block.get(20..block.len() - 4)?);
    let drops = options.filter(|o| matches!(o.code, options::ISB_IFDROP | options::ISB_OSDROP));
    Some(drops.filter_map(|o| o.u64(order)).sum())
}

fn unreadable(offset: u64, error: &io::Error) -> SegmentFault {
    SegmentFault { offset, fault: FileFault::Unreadable(error.to_string()) }
}

impl Format {
    fn scan(&mut self, octets: &[u8], sink: &mut impl Sink) -> (usize, Rest<FileFault>) {
        fn fault<E: Into<FileFault>>(rest: Rest<E>) -> Rest<FileFault> {
            match rest {
                Rest::Needs(n) => Rest::Needs(n),
                Rest::Skip(n) => Rest::Skip(n),
                Rest::Broken(e) => Rest::Broken(e.into()),
            }
        }
        match self {
            Format::Pcap(header) => {
                let scanned = header.scan(octets, sink);
                (scanned.consumed, fault(scanned.rest))
            }
            Format::Pcapng(sections) => {
                let scanned = sections.scan(octets, sink);
                (scanned.consumed, fault(scanned.rest))
            }
        }
    }

    fn cut(&self, needs: u64, has: u64) -> FileFault {
        match self {
            Format::Pcap(_) => FileFault::CutInPacket { needs, has },
            Format::Pcapng(_) => FileFault::CutInBlock { needs, has },
        }
    }
}

/// Takes what framing finds in descriptions.
struct Nothing;

impl Sink for Nothing {
    fn packet(&mut self, _: Frame) {}
}

/// Takes what framing finds in octets that begin at `base` of the file.
struct Found<'f, F> {
    octets: &'f [u8],
    base: u64,
    until: u64,
    each: &'f mut F,
}

impl<F: FnMut(&Read<'_>)> Sink for Found<'_, F> {
    fn packet(&mut self, frame: Frame) {
        let offset = self.base + frame.record as u64;
        if offset >= self.until {
            return;
        }
        let header = (frame.start - frame.record) as u32;
        let octets = self.octets.get(frame.start..).and_then(|o| o.get(..frame.captured as usize)).unwrap_or_default();
        let pcapng = header == 12 || header == 28;
        let record_octets =
            if pcapng { header + frame.captured.next_multiple_of(4) + 4 } else { header + frame.captured };
        (self.each)(&Read {
            at_ns: frame.at_ns,
            offset,
            record_octets,
            link: frame.link,
            wire: frame.wire,
            octets,
            timeless: header == 12,
        });
    }
}

/// Where the sections and descriptions of a pcapng file lie.
struct Blocks {
    /// Where the next block begins.
    next: u64,
    order: ByteOrder,
    found: Vec<(u64, u32)>,
}

impl Blocks {
    /// Looks at the blocks that begin in these octets, which framing has found to be whole.
    fn see(&mut self, base: u64, octets: &[u8]) {
        loop {
            let place = self.next.checked_sub(base).and_then(|at| usize::try_from(at).ok());
            let Some(block) = place.and_then(|at| octets.get(at..)) else { return };
            let Some([a, b, c, d, e, f, g, h]) = block.first_chunk::<8>() else { return };
            let is_section = [*a, *b, *c, *d] == pcapng::SECTION.to_be_bytes();
            if is_section && block.get(8..12) == Some(&[0x1a, 0x2b, 0x3c, 0x4d]) {
                self.order = ByteOrder::Big;
            } else if is_section {
                self.order = ByteOrder::Little;
            }
            // Field: some writers leave the padding out of the length.
            let said = self.order.u32([*e, *f, *g, *h]);
            let length = said.checked_next_multiple_of(4).unwrap_or(said).max(12);
            if is_section || self.order.u32([*a, *b, *c, *d]) == pcapng::INTERFACE {
                self.found.push((self.next, length));
            }
            self.next += u64::from(length);
        }
    }
}

#[cfg(test)]
mod tests;
