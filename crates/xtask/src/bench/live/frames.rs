//! The frames that are sent: G.711 or video as RTP, a thousand streams, as a capture file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Streams, each between two UDP ports of its own.
pub const FLOWS: u64 = 1000;
/// Octets before the payload: Ethernet, IPv4, UDP, RTP.
const HEADERS: usize = 14 + 20 + 8 + 12;

/// Writes so many frames of so many octets.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, frames: u64, octets: usize) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let words = [0xa1b2_c3d4, 4 << 16 | 2, 0, 0, 65_535, 1].map(u32::to_le_bytes);
    out.write_all(&words.concat())?;
    let mut frame = vec![0xd5; octets.max(HEADERS)];
    for number in 0..frames {
        head(&mut frame, number % FLOWS, number / FLOWS);
        let length = frame.len() as u32;
        let (seconds, micros) = (number / 100_000, number % 100_000 * 10);
        let record = [1_767_225_600 + seconds as u32, micros as u32, length, length].map(u32::to_le_bytes);
        out.write_all(&record.concat())?;
        out.write_all(&frame)?;
    }
    out.into_inner()?.sync_all()
}

/// The headers of a stream's packet: locally administered MAC addresses, addresses for documentation (RFC 5737).
fn head(frame: &mut [u8], flow: u64, sequence: u64) {
    let half = |n: usize| (n as u16).to_be_bytes();
    let port = half(10_000 + 2 * flow as usize);
    let mut head = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
    head.extend(half(frame.len() - 14));
    head.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    head.extend([port, port, half(frame.len() - 34), [0, 0]].concat());
    head.extend([0x80, 0]);
    head.extend(half(sequence as usize));
    head.extend((sequence as u32).wrapping_mul(160).to_be_bytes());
    head.extend((0x1000 + flow as u32).to_be_bytes());
    frame[..HEADERS].copy_from_slice(&head);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_the_lengths_that_its_headers_say() {
        let mut frame = vec![0; 214];
        head(&mut frame, 999, 70_000);
        assert_eq!(frame[12..14], [8, 0]);
        assert_eq!(frame[16..18], 200u16.to_be_bytes());
        assert_eq!(frame[34..40], [0x2e, 0xde, 0x2e, 0xde, 0, 180]);
        assert_eq!(frame[42..46], [0x80, 0, 0x11, 0x70]);
    }
}
