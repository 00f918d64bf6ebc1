//! Worlds as capture files: pcap with nanoseconds (magic number a1b23c4d), Ethernet; pcapng where the ring dropped
//! packets, because that can say so.

use crate::settings::Settings;
use crate::truth::{Totals, Truth};
use crate::world::{PacketBuf, World};
use std::io::{self, Write};

/// Octets that are gathered before they are written.
const BUFFER: usize = 1 << 20;
/// Packets between two reports of progress.
const PROGRESS_PACKETS: u64 = 1 << 16;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// What the world came to.
    pub totals: Totals,
    /// Octets of the capture file.
    pub file_octets: u64,
    /// First packet, nanoseconds since 1970; 0 if there was none.
    pub first_ns: i64,
    /// Last packet.
    pub last_ns: i64,
}

/// Makes the world of `settings` and writes its packets to `out` and, if asked for, its truth as JSON lines.
///
/// `progress` is called now and then with the calls that are over and the calls that will have been.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] with all mistakes if the settings do not pass [`Settings::check`]; else what
/// writing failed with.
pub fn write(
    settings: &Settings,
    out: impl Write,
    truth: Option<impl Write>,
    progress: &mut dyn FnMut(u64, u64),
) -> io::Result<Written> {
    let refuse = |wrong: Vec<String>| io::Error::new(io::ErrorKind::InvalidInput, wrong.join("; "));
    let mut world = World::new(settings).map_err(refuse)?;
    let mut out = io::BufWriter::with_capacity(BUFFER, out);
    let mut truth = truth.map(|t| io::BufWriter::with_capacity(BUFFER / 16, t));
    let mut packet = PacketBuf::new();
    let mut written = Written { file_octets: 24, ..Written::default() };
    let ring = settings.tap.ring_drops > 0.0;
    if ring {
        written.file_octets = block(&mut out, 0x0a0d_0d0a, &SECTION)? + block(&mut out, 1, &INTERFACE)?;
    } else {
        out.write_all(&file_header())?;
    }
    let mut count = 0u64;
    while let Some(at_ns) = world.next_packet(&mut packet) {
        if count == 0 {
            written.first_ns = at_ns;
        }
        count += 1;
        written.last_ns = at_ns;
        if ring {
            written.file_octets += block(&mut out, 6, &enhanced_packet(at_ns, packet.octets()))?;
        } else {
            written.file_octets += 16 + packet.octets().len() as u64;
            out.write_all(&record_header(at_ns, packet.octets().len()))?;
            out.write_all(packet.octets())?;
        }
        drain(&mut world, truth.as_mut())?;
        if count.is_multiple_of(PROGRESS_PACKETS) {
            progress(world.totals().calls, settings.calls);
        }
    }
    if ring {
        let span_ns = (settings.start_ns, written.last_ns);
        written.file_octets += block(&mut out, 5, &statistics(span_ns, count, world.ring_drops()))?;
    }
    drain(&mut world, truth.as_mut())?;
    progress(world.totals().calls, settings.calls);
    if let Some(mut truth) = truth {
        truth.flush()?;
    }
    out.flush()?;
    Ok(Written { totals: *world.totals(), ..written })
}

/// Writes the records of what is over.
fn drain(world: &mut World, mut truth: Option<&mut impl Write>) -> io::Result<()> {
    while let Some(record) = world.next_truth() {
        if let Some(out) = truth.as_mut() {
            write_line(out, &record)?;
        }
    }
    Ok(())
}

fn write_line(out: &mut impl Write, record: &Truth) -> io::Result<()> {
    serde_json::to_writer(&mut *out, record)?;
    out.write_all(b"\n")
}

/// Byte order, version 1.0, length not known (draft-ietf-opsawg-pcapng section 4.1).
const SECTION: [u8; 16] = *b"\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff";
/// Ethernet, no snap length; if_tsresol (option 9): nanoseconds (section 4.2).
const INTERFACE: [u8; 20] = *b"\x01\0\0\0\0\0\0\0\x09\0\x01\0\x09\0\0\0\0\0\0\0";

/// A block of pcapng: type, length, body, length.
fn block(out: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<u64> {
    let length = 12 + body.len().next_multiple_of(4);
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&(length as u32).to_le_bytes())?;
    out.write_all(body)?;
    out.write_all(&[0; 3][..length - 12 - body.len()])?;
    out.write_all(&(length as u32).to_le_bytes())?;
    Ok(length as u64)
}

/// Section 4.3.
fn enhanced_packet(at_ns: i64, octets: &[u8]) -> Vec<u8> {
    let length = octets.len() as u32;
    let words = [0, (at_ns >> 32) as u32, at_ns as u32, length, length];
    let mut body: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    body.extend_from_slice(octets);
    body
}

/// Section 4.6, with isb_starttime, isb_endtime, isb_ifrecv and isb_osdrop.
fn statistics((from_ns, to_ns): (i64, i64), received: u64, dropped: u64) -> Vec<u8> {
    let time = |ns: i64| [(ns >> 32) as u32, ns as u32];
    let halves = |n: u64| [n as u32, (n >> 32) as u32];
    let mut words = vec![0];
    words.extend(time(to_ns));
    for (code, value) in [(2, time(from_ns)), (3, time(to_ns)), (4, halves(received + dropped)), (7, halves(dropped))] {
        words.push(code | 8 << 16);
        words.extend(value);
    }
    words.push(0);
    words.iter().flat_map(|w: &u32| w.to_le_bytes()).collect()
}

/// Version 2.4, snap length 262,144, link type 1 (Ethernet), little endian.
fn file_header() -> [u8; 24] {
    let mut h = [0; 24];
    h[..4].copy_from_slice(&0xa1b2_3c4d_u32.to_le_bytes());
    h[4..8].copy_from_slice(&[2, 0, 4, 0]);
    h[16..20].copy_from_slice(&262_144u32.to_le_bytes());
    h[20] = 1;
    h
}

#[inline]
fn record_header(at_ns: i64, octets: usize) -> [u8; 16] {
    let mut h = [0; 16];
    h[..4].copy_from_slice(&((at_ns / 1_000_000_000) as u32).to_le_bytes());
    h[4..8].copy_from_slice(&((at_ns % 1_000_000_000) as u32).to_le_bytes());
    h[8..12].copy_from_slice(&(octets as u32).to_le_bytes());
    h[12..].copy_from_slice(&(octets as u32).to_le_bytes());
    h
}
