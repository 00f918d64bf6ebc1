//! From the tables of a builder to the octets of an index file.

use super::builder::{Builder, Outer};
use super::codec::{push_signed, push_varint};
use super::format::{
    CHECKS, DESCRIPTIONS, FLOWS, FileMark, GAPS, GAPS_BLOCK_OCTETS, HEADER_OCTETS, Header, PAGES, SECTIONS, SETS,
    SPANS, Section, Span,
};
use super::sets::Sets;
use super::table::{Entry, Table};
use super::{Flow, Kind};

pub(super) fn seal(builder: &Builder, file: &FileMark) -> Vec<u8> {
    let sets = sets(builder);
    let mut body: [Vec<u8>; SECTIONS] = Default::default();
    sets.emit(&mut body[SETS]);
    spans(&builder.spans, &mut body[SPANS]);
    let (mut records, mut gaps) = (Vec::new(), Vec::new());
    outers(&builder.outer_list, &sets, &mut records);
    flows(&builder.table, builder.whole.first_ns, &sets, &mut records, &mut gaps);
    pages_apart(&builder.unlisted, &mut records);
    builder.pages.iter().for_each(|start| body[PAGES].extend_from_slice(&start.to_le_bytes()));
    descriptions(&builder.descriptions, &mut body[DESCRIPTIONS]);
    for block in gaps.chunks(GAPS_BLOCK_OCTETS) {
        body[CHECKS].extend_from_slice(&crc32fast::hash(block).to_le_bytes());
    }
    (body[FLOWS], body[GAPS]) = (records, gaps);
    let mut out = vec![0; HEADER_OCTETS];
    let mut sections = [Section::default(); SECTIONS];
    for (number, (section, octets)) in sections.iter_mut().zip(&body).enumerate() {
        let check = if number == GAPS { 0 } else { crc32fast::hash(octets) };
        *section = Section { offset: out.len() as u64, octets: octets.len() as u64, check };
        out.extend_from_slice(octets);
    }
    let entries = || builder.table.entries().iter();
    let is_fragment = |kind: u8| kind == Kind::Fragment as u8;
    let header = Header {
        sequential: builder.sequential,
        partial: !builder.unlisted.is_empty() || entries().any(|e| e.flags & Flow::OUTER_UNKNOWN != 0),
        fragments: entries().any(|e| is_fragment(e.key.kind)) || builder.outer_list.iter().any(|o| is_fragment(o.kind)),
        summed: builder.summed,
        packets: builder.packets,
        record_octets: builder.record_octets,
        head_octets: builder.head_octets,
        span: builder.whole,
        file: *file,
        sections,
    };
    out[..HEADER_OCTETS].copy_from_slice(&header.emit());
    out
}

/// The addresses and ports of all flows and of the tunnels around them.
fn sets(builder: &Builder) -> Sets {
    let (mut addresses, mut ports) = (Vec::new(), Vec::new());
    let mut take = |a: u128, b: u128, pair: u32| {
        addresses.extend([a, b]);
        ports.extend([(pair >> 16) as u16, pair as u16]);
    };
    builder.table.entries().iter().for_each(|e| take(e.key.a, e.key.b, e.key.ports));
    builder.outer_list.iter().for_each(|o| take(o.a, o.b, o.ports));
    Sets::of(addresses, ports)
}

/// Of each span its length and one (0: no packet), then how much later it begins than the one before.
fn spans(spans: &[Span], out: &mut Vec<u8>) {
    push_varint(out, spans.len() as u64);
    let mut before = 0i64;
    for span in spans {
        if span.is_empty() {
            push_varint(out, 0);
            continue;
        }
        push_varint(out, (span.last_ns.wrapping_sub(span.first_ns) as u64).saturating_add(1));
        push_signed(out, span.first_ns.wrapping_sub(before));
        before = span.first_ns;
    }
}

fn outers(outers: &[Outer], sets: &Sets, out: &mut Vec<u8>) {
    push_varint(out, outers.len() as u64);
    for outer in outers {
        out.extend_from_slice(&[outer.kind, outer.protocol]);
        push_varint(out, sets.place(outer.a));
        push_varint(out, sets.place(outer.b));
        out.extend_from_slice(&outer.ports.to_le_bytes());
    }
}

fn flows(table: &Table, first_ns: i64, sets: &Sets, out: &mut Vec<u8>, gaps: &mut Vec<u8>) {
    push_varint(out, table.entries().len() as u64);
    for entry in table.entries() {
        let before = gaps.len();
        table.gaps(entry, gaps);
        flow(entry, first_ns, sets, (gaps.len() - before) as u64, out);
    }
}

fn flow(entry: &Entry, first_ns: i64, sets: &Sets, gap_octets: u64, out: &mut Vec<u8>) {
    let key = &entry.key;
    out.extend_from_slice(&[key.kind, key.protocol, entry.flags]);
    push_varint(out, sets.place(key.a));
    push_varint(out, sets.place(key.b));
    out.extend_from_slice(&key.ports.to_le_bytes());
    push_varint(out, u64::from(key.outer));
    // No tag is 0, else the identifier and one.
    push_varint(out, u64::from(key.vlan.wrapping_add(1)));
    push_varint(out, entry.first_ns.wrapping_sub(first_ns) as u64);
    push_varint(out, entry.last_ns.wrapping_sub(entry.first_ns) as u64);
    push_varint(out, u64::from(entry.packets));
    push_varint(out, gap_octets);
}

/// Pages as gaps, the first one as its number and one.
fn pages_apart(pages: &[u32], out: &mut Vec<u8>) {
    push_varint(out, pages.len() as u64);
    let mut before = 0;
    for page in pages {
        let next = u64::from(*page) + 1;
        push_varint(out, next.saturating_sub(before));
        before = next;
    }
}

fn descriptions(blocks: &[(u64, u32)], out: &mut Vec<u8>) {
    push_varint(out, blocks.len() as u64);
    let mut before = 0;
    for (offset, octets) in blocks {
        push_varint(out, offset.saturating_sub(before));
        push_varint(out, u64::from(*octets));
        before = *offset;
    }
}
