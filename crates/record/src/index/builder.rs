//! The index of the segment that is being recorded, packet by packet.

use std::collections::HashMap;

use trunkline_wire::Decoded;

use super::flow::Flow;
use super::format::{FileMark, Span};
use super::headers::Headers;
use super::table::{Key, Table};
use super::{DESCRIPTIONS_MAX, FLOWS_MAX, PAGE_OCTETS, PAGES_MAX, SPAN_PAGES, seal};

trunkline_kit::counters! {
    /// What building indexes counts.
    pub struct BuilderCounters {
        /// packets put into an index
        packets: "trunkline_record_index_packets_total",
        /// packets that the index does not tell apart because it is full
        unlisted: "trunkline_record_index_unlisted_packets_total",
        /// indexes sealed
        indexes: "trunkline_record_index_sealed_total",
        /// octets of sealed indexes
        octets: "trunkline_record_index_octets_total",
        /// octets of the records that sealed indexes are of
        record_octets: "trunkline_record_index_record_octets_total",
    }
}

/// In the table of pages: no record begins in this page.
pub(super) const NO_RECORD: u16 = u16::MAX;

/// Builds the index of one segment after another; its memory is kept from one to the next.
///
/// [`Builder::packet`] is called once a packet, in the order of the file. It allocates only when a table grows.
#[derive(Debug)]
pub struct Builder {
    pub(super) table: Table,
    outers: HashMap<Outer, u32>,
    pub(super) outer_list: Vec<Outer>,
    /// Where the first record that begins in a page begins, by page.
    pub(super) pages: Vec<u16>,
    pub(super) spans: Vec<Span>,
    /// Pages with packets of no flow of the table.
    pub(super) unlisted: Vec<u32>,
    pub(super) descriptions: Vec<(u64, u32)>,
    pub(super) whole: Span,
    pub(super) packets: u64,
    pub(super) record_octets: u64,
    pub(super) head_octets: u64,
    pub(super) sequential: bool,
    pub(super) summed: bool,
    counters: BuilderCounters,
}

/// Outermost headers of packets in tunnels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Outer {
    pub(super) a: u128,
    pub(super) b: u128,
    pub(super) ports: u32,
    pub(super) protocol: u8,
    pub(super) kind: u8,
}

impl Default for Builder {
    fn default() -> Self {
        Builder::new()
    }
}

impl Builder {
    /// With nothing in it.
    pub fn new() -> Builder {
        Builder {
            table: Table::new(),
            outers: HashMap::new(),
            outer_list: Vec::new(),
            pages: Vec::new(),
            spans: Vec::new(),
            unlisted: Vec::new(),
            descriptions: Vec::new(),
            whole: Span::EMPTY,
            packets: 0,
            record_octets: 0,
            head_octets: 0,
            sequential: false,
            summed: false,
            counters: BuilderCounters::default(),
        }
    }

    /// With other limits than the named ones, for tests.
    #[cfg(test)]
    pub(super) fn limited(flows_max: usize, gaps_octets_max: usize) -> Builder {
        Builder { table: Table::limited(flows_max, gaps_octets_max), ..Builder::new() }
    }

    /// Takes in the packet of the record that begins at `offset` of the file and is `record_octets` long; `octets` is
    /// what was captured, of link type `link`, and `decoded` what [`trunkline_wire::decode()`] says of them. Records
    /// come in the order of the file. What stands before the first one is the file's head.
    #[inline]
    pub fn packet(&mut self, at_ns: i64, offset: u64, record_octets: u32, link: u16, octets: &[u8], decoded: &Decoded) {
        let page = (offset / PAGE_OCTETS).min(PAGES_MAX) as u32;
        if page as usize >= self.pages.len() {
            self.begin_page(page, offset);
        }
        if let Some(span) = self.spans.last_mut() {
            span.first_ns = span.first_ns.min(at_ns);
            span.last_ns = span.last_ns.max(at_ns);
        }
        self.packets += 1;
        self.record_octets += u64::from(record_octets);
        let outermost = Headers::outermost(link, octets);
        let innermost = Headers::innermost(decoded, &outermost);
        let forward = innermost.is_forward();
        let outer = if innermost == outermost { Some(0) } else { self.outer(&outermost) };
        let Some(outer) = outer else { return self.unlist(page) };
        let key = key(&innermost, forward, outer);
        let direction = if forward { Flow::FORWARD } else { Flow::BACKWARD };
        if !self.table.count(&key, at_ns, page, innermost.flags | direction) {
            self.unlist(page);
        }
    }

    /// Says that a block which describes an interface (or begins a section) of pcapng lies behind the first packet.
    pub fn description(&mut self, offset: u64, octets: u32) {
        if self.descriptions.len() < DESCRIPTIONS_MAX {
            self.descriptions.push((offset, octets));
        } else {
            self.sequential = true;
        }
    }

    /// Says that packets of this file can only be read from its beginning: it is compressed, or a packet has the time
    /// of the one before. The index then says which flows there are, and all pages are read.
    pub fn sequential(&mut self) {
        self.sequential = true;
    }

    /// Says that checksums of the file's contents will stand behind the index ([`trunkline_kit::sums`]): without them
    /// it is damaged.
    pub fn summed(&mut self) {
        self.summed = true;
    }

    /// Packets taken in since the last seal.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The index file of what was taken in, and begins anew. `file` says which file it belongs to.
    ///
    /// It sorts and copies: some milliseconds a hundred thousand flows. A thread that must not wait seals elsewhere.
    pub fn seal(&mut self, file: &FileMark) -> Vec<u8> {
        for span in &self.spans {
            self.whole = self.whole.and(*span);
        }
        let out = seal::seal(self, file);
        self.counters.indexes += 1;
        self.counters.packets += self.packets;
        self.counters.octets += out.len() as u64;
        self.counters.record_octets += self.record_octets;
        self.clear();
        out
    }

    /// Forgets what was taken in.
    pub fn clear(&mut self) {
        self.table.clear();
        self.outers.clear();
        self.outer_list.clear();
        self.pages.clear();
        self.spans.clear();
        self.unlisted.clear();
        self.descriptions.clear();
        self.whole = Span::EMPTY;
        (self.packets, self.record_octets, self.head_octets) = (0, 0, 0);
        (self.sequential, self.summed) = (false, false);
    }

    /// What was counted since the builder was made.
    pub fn counters(&self) -> BuilderCounters {
        self.counters
    }

    #[inline(never)]
    fn begin_page(&mut self, page: u32, offset: u64) {
        if self.packets == 0 {
            self.head_octets = offset;
        }
        self.sequential |= u64::from(page) == PAGES_MAX;
        self.pages.resize(page as usize, NO_RECORD);
        self.pages.push((offset % PAGE_OCTETS) as u16);
        let span = page as usize / SPAN_PAGES as usize;
        if span >= self.spans.len() {
            self.spans.resize(span + 1, Span::EMPTY);
        }
    }

    #[inline(never)]
    fn outer(&mut self, outermost: &Headers) -> Option<u32> {
        let key = key(outermost, outermost.is_forward(), 0);
        let Key { a, b, ports, protocol, kind, .. } = key;
        let outer = Outer { a, b, ports, protocol, kind };
        if let Some(known) = self.outers.get(&outer) {
            return Some(*known);
        }
        if self.outer_list.len() >= FLOWS_MAX {
            return None;
        }
        self.outer_list.push(outer);
        let number = self.outer_list.len() as u32;
        self.outers.insert(outer, number);
        Some(number)
    }

    #[cold]
    fn unlist(&mut self, page: u32) {
        self.counters.unlisted += 1;
        if self.unlisted.last() != Some(&page) {
            self.unlisted.push(page);
        }
    }
}

#[inline]
fn key(headers: &Headers, forward: bool, outer: u32) -> Key {
    let Headers { src, dst, src_port, dst_port, .. } = *headers;
    let (a, b, high, low) = if forward { (src, dst, src_port, dst_port) } else { (dst, src, dst_port, src_port) };
    Key {
        a,
        b,
        ports: u32::from(high) << 16 | u32::from(low),
        outer,
        vlan: headers.vlan,
        protocol: headers.protocol,
        kind: headers.kind as u8,
    }
}
