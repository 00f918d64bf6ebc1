//! What the fuzz targets drive.

use crate::extract::plan;
use crate::index::{Builder, FileMark, ReadAt, Span, View};
use crate::packed::{Frames, Packing};
use crate::query::{Compile, Exact, Matcher, parse};
use crate::segment::{Read, Region, Segment};
use trunkline_wire::decode;

/// An index file of any octets: refused, or read without harm.
pub fn index(octets: &[u8]) {
    let Ok(view) = View::open(octets) else { return };
    let _ = view.check();
    let query =
        parse("host 10.0.0.1 and port 5060 or inner net ::/0 and not vlan 7").unwrap_or_else(|_| unreachable!());
    let _ = plan(&view, &query, &Span::ALL);
}

/// The first octet says how long an expression is; what follows it is a packet. Parsed or refused, and what the index
/// says of the packet is never less than what the packet says.
pub fn query(octets: &[u8]) {
    let Some((length, rest)) = octets.split_first() else { return };
    let (text, packet) = rest.split_at(usize::from(*length).min(rest.len()));
    let Ok(query) = parse(&String::from_utf8_lossy(text)) else { return };
    let link = packet.first().map_or(1, |o| [1, 101, 113, 276][usize::from(o % 4)]);
    let Ok(matcher) = Matcher::new(&query, link, &Never) else { return };
    let mut builder = Builder::new();
    builder.packet(0, 0, packet.len() as u32, link, packet, &decode(link, packet));
    let index = builder.seal(&FileMark::default());
    let view = View::open(index.as_slice()).unwrap_or_else(|e| unreachable!("{e}"));
    let planned = plan(&view, &query, &Span::ALL).unwrap_or_else(|e| unreachable!("{e}"));
    if matcher.matches(link, packet, packet.len() as u32) {
        assert_ne!(planned, crate::extract::Plan::Nothing, "{} of link type {link}: {packet:02x?}", query.text);
    }
}

/// A capture file of any octets: what is read from places is what is read from the beginning.
pub fn segment(octets: &[u8]) {
    for growing in [false, true] {
        let Ok(mut segment) = Segment::open(octets, growing) else { continue };
        let mut builder = Builder::new();
        let whole = segment.index(&mut builder);
        let index = builder.seal(&FileMark::default());
        let view = View::open(index.as_slice()).unwrap_or_else(|e| unreachable!("{e}"));
        assert_eq!(view.check(), Ok(()));
        let (mut first, mut times) = (segment.first(), 0u64);
        let region = Region { from: core::mem::take(&mut first), until: u64::MAX };
        let again =
            Segment::open(octets, growing).and_then(|mut segment| segment.read(region, &mut |_: &Read<'_>| times += 1));
        assert_eq!((again.is_ok(), times), (whole.is_ok(), view.facts().packets));
    }
}

/// A packed file of any octets: refused, or read at any place without harm. What is packed comes back.
pub fn packed(octets: &[u8]) {
    if let Ok(Ok(frames)) = Frames::open(octets) {
        let mut out = vec![0; 4096];
        for at in [0, 1, 4095, frames.octets() / 2, frames.octets(), u64::MAX] {
            let _ = frames.read_at(at, &mut out);
        }
    }
    let Ok(mut packing) = Packing::new() else { return };
    let mut packed = Vec::new();
    let mut out = |octets: &[u8]| {
        packed.extend_from_slice(octets);
        Ok(())
    };
    let pushed = octets.chunks(77).try_for_each(|octets| packing.push(octets, &mut out));
    if pushed.and_then(|()| packing.finish(&mut out)).is_err() {
        return;
    }
    let Ok(Ok(frames)) = Frames::open(packed.as_slice()) else { unreachable!("what was packed is not read") };
    let mut back = vec![0; octets.len() + 1];
    assert_eq!(frames.read_at(0, &mut back).ok(), Some(octets.len()));
    assert_eq!(back.get(..octets.len()), Some(octets));
}

/// Compiles nothing.
struct Never;

impl Compile for Never {
    fn compile(&self, _: &str, _: u16) -> Result<Box<dyn Exact>, String> {
        Err("not here".to_owned())
    }
}
