//! An index as it is read: header and sets at once, the rest when it is asked for; nothing is believed unchecked.

use std::io;

use trunkline_kit::sums::Sums;

use super::codec::Numbers;
use super::flow::{Flow, Kind, Layer};
use super::format::{
    CHECKS, DESCRIPTIONS, FLOWS, FileMark, GAPS, GAPS_BLOCK_OCTETS, Header, IndexError, PAGES, SETS, SPANS, Section,
    Span,
};
use super::sets::Sets;
use super::{INDEX_OCTETS_MAX, PAGES_MAX};

/// Octets that are read at once when an index is opened: header and sets of most.
const HEAD_OCTETS: usize = 32 << 10;

/// What can be read at any place: a file, or octets in memory.
pub trait ReadAt {
    /// Reads from `offset` on until `out` is full or the end is reached; how many octets that were.
    ///
    /// # Errors
    /// What the system says.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize>;

    /// Its length, octets.
    fn octets(&self) -> u64;
}

impl ReadAt for &[u8] {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let octets = usize::try_from(offset).ok().and_then(|at| self.get(at..)).unwrap_or_default();
        let n = octets.len().min(out.len());
        out[..n].copy_from_slice(&octets[..n]);
        Ok(n)
    }

    fn octets(&self) -> u64 {
        self.len() as u64
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        self.as_slice().read_at(offset, out)
    }

    fn octets(&self) -> u64 {
        self.len() as u64
    }
}

/// An index that was opened.
#[derive(Debug)]
pub struct View<R> {
    file: R,
    header: Header,
    sets: Sets,
}

/// What an index says of its segment as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Packets.
    pub packets: u64,
    /// Octets of their records.
    pub record_octets: u64,
    /// Octets before the first record.
    pub head_octets: u64,
    /// From the earliest packet to the latest.
    pub span: Span,
    /// The file that the index is of.
    pub file: FileMark,
    /// Whether the file has to be read from its beginning.
    pub sequential: bool,
    /// Whether there are packets whose addresses and ports are not all known: the [sets](View::sets) rule nothing out.
    pub partial: bool,
    /// Whether there are fragments, whose ports are not known.
    pub fragments: bool,
    /// Octets of the index.
    pub index_octets: u64,
}

/// Where the pages of a flow stand in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPages {
    offset: u64,
    octets: u64,
}

impl<R: ReadAt> View<R> {
    /// Opens an index and reads what tells whether anything in the segment can match.
    ///
    /// # Errors
    /// It cannot be read, or is none, or damaged.
    pub fn open(file: R) -> Result<View<R>, IndexError> {
        let total = file.octets();
        if total > INDEX_OCTETS_MAX {
            return Err(IndexError::Damaged("it is too long"));
        }
        let head = read(&file, 0, (HEAD_OCTETS as u64).min(total))?;
        let header = Header::parse(&head, total)?;
        let section = header.sections[SETS];
        let inside = usize::try_from(section.offset).ok().zip(usize::try_from(section.octets).ok());
        let octets = match inside.and_then(|(at, n)| head.get(at..at.checked_add(n)?)) {
            Some(octets) => checked(octets.to_vec(), &section)?,
            None => checked(read(&file, section.offset, section.octets)?, &section)?,
        };
        let sets = Sets::parse(&octets).ok_or(IndexError::Damaged("the sets"))?;
        Ok(View { file, header, sets })
    }

    /// What it says of the segment as a whole.
    pub fn facts(&self) -> Facts {
        let Header { sequential, partial, fragments, packets, record_octets, head_octets, span, file, .. } =
            self.header;
        let last = &self.header.sections[GAPS];
        let index_octets = last.offset + last.octets;
        Facts { packets, record_octets, head_octets, span, file, sequential, partial, fragments, index_octets }
    }

    /// Checksums of the file's contents; none where the index was made by a version that had none, or of a file that
    /// nobody had checksums of.
    ///
    /// # Errors
    /// They cannot be read, are damaged, or are gone.
    pub fn sums(&self) -> Result<Option<Sums>, IndexError> {
        const DAMAGED: IndexError = IndexError::Damaged("the checksums of the contents");
        let begin = self.facts().index_octets;
        let octets = self.file.octets().saturating_sub(begin);
        if octets == 0 && !self.header.summed {
            return Ok(None);
        }
        // They may be of another length than the file: an index that is made anew keeps those of what was written.
        Sums::parse(&read(&self.file, begin, octets)?).map(Some).ok_or(DAMAGED)
    }

    /// Addresses and ports of the segment. Packets that are [unlisted](View::flows) have others.
    pub fn sets(&self) -> &Sets {
        &self.sets
    }

    /// Hands out the flows, in the order of their first packets, and gives the pages of the packets of which no flow is
    /// known.
    ///
    /// # Errors
    /// The section cannot be read or is damaged.
    pub fn flows(&self, mut each: impl FnMut(&Flow, FlowPages)) -> Result<Vec<u32>, IndexError> {
        let octets = self.section(FLOWS)?;
        let mut numbers = Numbers(&octets);
        self.read_flows(&mut numbers, &mut each).ok_or(IndexError::Damaged("the flows"))
    }

    /// The pages of a flow, ascending.
    ///
    /// # Errors
    /// The section cannot be read or is damaged.
    pub fn pages_of(&self, flow: FlowPages, out: &mut Vec<u32>) -> Result<(), IndexError> {
        let octets = self.gaps(flow)?;
        let mut numbers = Numbers(&octets);
        pages(&mut numbers, usize::MAX, out).ok_or(IndexError::Damaged("the pages of a flow"))
    }

    /// Where the first record of each page begins in it, by page; `None` where none does.
    ///
    /// # Errors
    /// The section cannot be read or is damaged.
    pub fn starts(&self) -> Result<Vec<Option<u16>>, IndexError> {
        let octets = self.section(PAGES)?;
        let starts = octets.chunks_exact(2).map(|o| u16::from_le_bytes([o[0], o[1]]));
        Ok(starts.map(|start| (start != super::builder::NO_RECORD).then_some(start)).collect())
    }

    /// The times of each run of [`super::SPAN_PAGES`] pages.
    ///
    /// # Errors
    /// The section cannot be read or is damaged.
    pub fn spans(&self) -> Result<Vec<Span>, IndexError> {
        let octets = self.section(SPANS)?;
        spans(&mut Numbers(&octets)).ok_or(IndexError::Damaged("the times"))
    }

    /// Blocks behind the first packet that describe interfaces or begin sections: offset and octets, ascending.
    ///
    /// # Errors
    /// The section cannot be read or is damaged.
    pub fn descriptions(&self) -> Result<Vec<(u64, u32)>, IndexError> {
        let octets = self.section(DESCRIPTIONS)?;
        descriptions(&mut Numbers(&octets)).ok_or(IndexError::Damaged("the descriptions"))
    }

    /// Reads all of it and says what is wrong.
    ///
    /// # Errors
    /// What is damaged.
    pub fn check(&self) -> Result<(), IndexError> {
        let (mut flows, mut found) = (Vec::new(), Vec::new());
        let starts = self.starts()?.len();
        let unlisted = self.flows(|_, pages| flows.push(pages))?;
        for flow in flows {
            found.clear();
            self.pages_of(flow, &mut found)?;
            if found.last().is_some_and(|last| *last as usize >= starts) {
                return Err(IndexError::Damaged("a flow's page lies behind the end"));
            }
        }
        if unlisted.last().is_some_and(|last| *last as usize >= starts) {
            return Err(IndexError::Damaged("a page lies behind the end"));
        }
        self.spans()?;
        self.descriptions().map(|_| ())
    }

    fn section(&self, number: usize) -> Result<Vec<u8>, IndexError> {
        let section = self.header.sections[number];
        checked(read(&self.file, section.offset, section.octets)?, &section)
    }

    /// The gaps of one flow, of blocks whose checksums were compared.
    fn gaps(&self, flow: FlowPages) -> Result<Vec<u8>, IndexError> {
        const DAMAGED: IndexError = IndexError::Damaged("the gaps");
        let section = self.header.sections[GAPS];
        let block_octets = GAPS_BLOCK_OCTETS as u64;
        let end = flow.offset.checked_add(flow.octets).filter(|end| *end <= section.octets).ok_or(DAMAGED)?;
        let (first, last) = (flow.offset / block_octets, end.div_ceil(block_octets));
        let (from, to) = (first * block_octets, (last * block_octets).min(section.octets));
        let octets = read(&self.file, section.offset + from, to.saturating_sub(from))?;
        let table = self.header.sections[CHECKS];
        if last * 4 > table.octets {
            return Err(DAMAGED);
        }
        let checks = read(&self.file, table.offset + first * 4, (last - first) * 4)?;
        let right = |(block, check): (&[u8], &[u8])| crc32fast::hash(block).to_le_bytes() == check;
        if !octets.chunks(GAPS_BLOCK_OCTETS).zip(checks.chunks(4)).all(right) {
            return Err(DAMAGED);
        }
        let start = (flow.offset - from) as usize;
        octets.get(start..start + flow.octets as usize).map(<[u8]>::to_vec).ok_or(DAMAGED)
    }

    fn read_flows(&self, numbers: &mut Numbers<'_>, each: &mut impl FnMut(&Flow, FlowPages)) -> Option<Vec<u32>> {
        let mut outers = Vec::new();
        for _ in 0..numbers.varint()? {
            outers.push(self.layer(numbers, None)?);
        }
        let mut offset = 0u64;
        for _ in 0..numbers.varint()? {
            let (flow, octets) = self.flow(numbers, &outers)?;
            each(&flow, FlowPages { offset, octets });
            offset = offset.checked_add(octets)?;
        }
        let count = usize::try_from(numbers.varint()?).ok()?;
        let mut unlisted = Vec::new();
        pages(numbers, count, &mut unlisted)?;
        (unlisted.len() == count && numbers.is_empty()).then_some(unlisted)
    }

    fn flow(&self, numbers: &mut Numbers<'_>, outers: &[Layer]) -> Option<(Flow, u64)> {
        let mut flags = 0;
        let inner = self.layer(numbers, Some(&mut flags))?;
        let outer = match numbers.varint()? {
            0 => None,
            n => Some(*outers.get(usize::try_from(n - 1).ok()?)?),
        };
        let vlan = match numbers.varint()? {
            0 => None,
            n => Some(u16::try_from(n - 1).ok()?),
        };
        let first_ns = self.header.span.first_ns.wrapping_add(numbers.varint()? as i64);
        let last_ns = first_ns.wrapping_add(numbers.varint()? as i64);
        let packets = u32::try_from(numbers.varint()?).ok()?;
        Some((Flow { inner, outer, vlan, flags, first_ns, last_ns, packets }, numbers.varint()?))
    }

    fn layer(&self, numbers: &mut Numbers<'_>, flags: Option<&mut u8>) -> Option<Layer> {
        let (kind, protocol) = (Kind::of(numbers.octet()?)?, numbers.octet()?);
        if let Some(flags) = flags {
            *flags = numbers.octet()?;
        }
        let (a, b) = (self.sets.address(numbers.varint()?)?, self.sets.address(numbers.varint()?)?);
        let ports = numbers.u32()?;
        Some(Layer { kind, protocol, a, a_port: (ports >> 16) as u16, b, b_port: ports as u16 })
    }
}

fn read(file: &impl ReadAt, offset: u64, octets: u64) -> Result<Vec<u8>, IndexError> {
    // A section lies inside the file, and so does what is allocated for it.
    let mut out = vec![0; usize::try_from(octets).map_err(|_| IndexError::Damaged("it is too long"))?];
    let n = file.read_at(offset, &mut out).map_err(|e| IndexError::Unreadable(e.to_string()))?;
    if n == out.len() { Ok(out) } else { Err(IndexError::Damaged("it is cut short")) }
}

fn checked(octets: Vec<u8>, section: &Section) -> Result<Vec<u8>, IndexError> {
    if crc32fast::hash(&octets) == section.check {
        Ok(octets)
    } else {
        Err(IndexError::Damaged("a section's checksum is wrong"))
    }
}

/// Pages from gaps, at most `count` of them.
fn pages(numbers: &mut Numbers<'_>, count: usize, out: &mut Vec<u32>) -> Option<()> {
    let mut next = 0u64;
    for _ in 0..count {
        if numbers.is_empty() {
            break;
        }
        let gap = numbers.varint()?;
        next = next.checked_add(gap).filter(|next| gap > 0 && *next <= PAGES_MAX + 1)?;
        out.push((next - 1) as u32);
    }
    Some(())
}

fn spans(numbers: &mut Numbers<'_>) -> Option<Vec<Span>> {
    let mut found = Vec::new();
    let mut before = 0i64;
    for _ in 0..numbers.varint()? {
        let length = numbers.varint()?;
        if length == 0 {
            found.push(Span::EMPTY);
            continue;
        }
        before = before.wrapping_add(numbers.signed()?);
        found.push(Span { first_ns: before, last_ns: before.saturating_add_unsigned(length - 1) });
    }
    Some(found)
}

fn descriptions(numbers: &mut Numbers<'_>) -> Option<Vec<(u64, u32)>> {
    let mut found = Vec::new();
    let mut offset = 0u64;
    for _ in 0..numbers.varint()? {
        offset = offset.checked_add(numbers.varint()?)?;
        found.push((offset, u32::try_from(numbers.varint()?).ok()?));
    }
    Some(found)
}
