//! Packets of the shared captures, for tests of decoding: just enough of pcap and pcapng to read those files.

use std::path::{Path, PathBuf};
use trunkline_wire::ip_reassembly::Fragments;
use trunkline_wire::{Decoded, decode};

/// One packet of a file.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Nanoseconds since 1970.
    pub at_ns: i64,
    /// LINKTYPE_ number.
    pub link: u16,
    /// What was captured.
    pub octets: Vec<u8>,
}

/// The folder of shared test data: `TRUNKLINE_SHARED`, or `shared` beside the repository; none where it is absent.
pub fn shared() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("TRUNKLINE_SHARED").map_or_else(beside, PathBuf::from);
    let found = folder.join("captures").is_dir();
    if !found {
        println!("SKIPPED: no shared captures");
    }
    found.then_some(folder)
}

/// The packets of a capture file, as far as it can be read.
pub fn packets(file: &Path) -> Vec<Packet> {
    let octets = std::fs::read(file).unwrap_or_default();
    match octets.first_chunk::<4>() {
        Some(b"\n\r\r\n") => pcapng(&octets),
        Some(_) => pcap(&octets).unwrap_or_default(),
        None => Vec::new(),
    }
}

struct Reader<'a> {
    octets: &'a [u8],
    big: bool,
}

impl Reader<'_> {
    fn u16(&self, at: usize) -> Option<u16> {
        let o = *self.octets.get(at..)?.first_chunk::<2>()?;
        Some(if self.big { u16::from_be_bytes(o) } else { u16::from_le_bytes(o) })
    }

    fn u32(&self, at: usize) -> Option<u32> {
        let o = *self.octets.get(at..)?.first_chunk::<4>()?;
        Some(if self.big { u32::from_be_bytes(o) } else { u32::from_le_bytes(o) })
    }
}

fn pcap(octets: &[u8]) -> Option<Vec<Packet>> {
    let (big, fraction_ns, record) = match u32::from_be_bytes(*octets.first_chunk::<4>()?) {
        0xa1b2c3d4 => (true, 1000, 16),
        0xd4c3b2a1 => (false, 1000, 16),
        0xa1b23c4d => (true, 1, 16),
        0x4d3cb2a1 => (false, 1, 16),
        0x34cdb2a1 => (false, 1000, 24),
        _ => return None,
    };
    let reader = Reader { octets, big };
    let link = reader.u32(20)? as u16;
    let mut packets = Vec::new();
    let mut at = 24;
    while let (Some(seconds), Some(fraction), Some(captured)) = (reader.u32(at), reader.u32(at + 4), reader.u32(at + 8))
    {
        let Some(packet) = octets.get(at + record..).and_then(|o| o.get(..captured as usize)) else { break };
        let at_ns = i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * fraction_ns;
        packets.push(Packet { at_ns, link, octets: packet.to_vec() });
        at += record + captured as usize;
    }
    Some(packets)
}

fn pcapng(octets: &[u8]) -> Vec<Packet> {
    let mut reader = Reader { octets, big: false };
    let (mut packets, mut interfaces, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(kind) = reader.u32(at) {
        if kind == 0x0a0d_0d0a {
            reader.big = octets.get(at + 8) == Some(&0x1a);
            interfaces.clear();
        }
        let Some(length) = reader.u32(at + 4).filter(|l| *l >= 12 && at + *l as usize <= octets.len()) else { break };
        let end = at + length as usize;
        match kind {
            1 => interfaces.push((reader.u16(at + 8).unwrap_or(0), resolution(&reader, at + 16, end - 4))),
            2 | 6 => packets.extend(packet(&reader, at, end, &interfaces, kind == 2)),
            3 => packets.extend(simple(&reader, at, end, &interfaces)),
            _ => {}
        }
        at = end;
    }
    packets
}

/// Units per second, from option 9.
fn resolution(reader: &Reader, mut at: usize, end: usize) -> u64 {
    while at + 4 <= end {
        let (code, length) = (reader.u16(at).unwrap_or(0), usize::from(reader.u16(at + 2).unwrap_or(0)));
        match (code, reader.octets.get(at + 4)) {
            (0, _) => break,
            (9, Some(o)) if o & 0x80 != 0 => return 1u64.checked_shl(u32::from(o & 0x7f)).unwrap_or(1_000_000),
            (9, Some(o)) => return 10u64.checked_pow(u32::from(*o)).unwrap_or(1_000_000),
            _ => at += 4 + length.next_multiple_of(4),
        }
    }
    1_000_000
}

fn packet(reader: &Reader, at: usize, end: usize, interfaces: &[(u16, u64)], obsolete: bool) -> Option<Packet> {
    let interface = if obsolete { u32::from(reader.u16(at + 8)?) } else { reader.u32(at + 8)? };
    let (link, units) = *interfaces.get(interface as usize)?;
    let time = u128::from(reader.u32(at + 12)?) << 32 | u128::from(reader.u32(at + 16)?);
    let captured = reader.u32(at + 20)? as usize;
    let octets = reader.octets.get(at + 28..end)?.get(..captured)?.to_vec();
    Some(Packet { at_ns: (time * 1_000_000_000 / u128::from(units)) as i64, link, octets })
}

fn simple(reader: &Reader, at: usize, end: usize, interfaces: &[(u16, u64)]) -> Option<Packet> {
    let wire = reader.u32(at + 8)? as usize;
    let octets = reader.octets.get(at + 12..end - 4)?;
    Some(Packet { at_ns: 0, link: interfaces.first()?.0, octets: octets[..wire.min(octets.len())].to_vec() })
}

/// What a packet carries, fragments put together on the way, and the octets that the result points into.
pub fn innermost(fragments: &mut Fragments, packet: &Packet) -> (Decoded, Vec<u8>) {
    let mut octets = packet.octets.clone();
    let mut decoded = decode(packet.link, &octets);
    while let Decoded::Fragment(fragment) = decoded {
        let Some(whole) = fragments.push(packet.at_ns, &fragment, &octets) else { break };
        decoded = whole.decode();
        octets = whole.octets.to_vec();
    }
    (decoded, octets)
}

/// All files below a folder, in order; none where it is absent.
pub fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() { walk(&entry, files) } else { files.push(entry) }
    }
}
