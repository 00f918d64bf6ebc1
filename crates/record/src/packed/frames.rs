//! A packed file, read at any place of its stream.

use std::io;
use std::sync::{Mutex, PoisonError};

use zstd::bulk::Decompressor;

use super::seek_table::{Entry, SeekTable};
use crate::index::ReadAt;

/// A zstd file with a seek table. Keeps the frame that was read last.
pub struct Frames<R> {
    file: R,
    table: SeekTable,
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    decompressor: Option<Decompressor<'static>>,
    number: Option<usize>,
    octets: Vec<u8>,
    packed: Vec<u8>,
    frames: u64,
}

impl<R: ReadAt> Frames<R> {
    /// Reads a file's table; the file is given back if it has none that can be believed.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(file: R) -> io::Result<Result<Frames<R>, R>> {
        let octets = file.octets();
        let mut foot = [0; SeekTable::FOOT_OCTETS];
        let Some(at) = octets.checked_sub(foot.len() as u64) else { return Ok(Err(file)) };
        let n = file.read_at(at, &mut foot)?;
        let length = SeekTable::octets_of(foot.get(..n).unwrap_or_default());
        let Some((length, at)) = length.and_then(|n| Some((n, octets.checked_sub(n as u64)?))) else {
            return Ok(Err(file));
        };
        let mut table = vec![0; length];
        let n = file.read_at(at, &mut table)?;
        let table = SeekTable::parse(table.get(..n).unwrap_or_default(), octets);
        Ok(match table {
            Some(table) => Ok(Frames { file, table, last: Mutex::default() }),
            None => Err(file),
        })
    }

    /// The file.
    pub fn file(&self) -> &R {
        &self.file
    }

    /// Which frames there are.
    pub fn table(&self) -> &SeekTable {
        &self.table
    }

    /// Frames that were decompressed so far.
    pub fn decompressed(&self) -> u64 {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).frames
    }

    fn unpack(&self, entry: &Entry, last: &mut Last) -> io::Result<()> {
        if last.number == Some(entry.number) {
            return Ok(());
        }
        last.number = None;
        last.packed.resize(entry.packed.1, 0);
        let n = self.file.read_at(entry.packed.0, &mut last.packed)?;
        let damaged = |what: &str| {
            let text = format!("the frame at octet {} of the compressed file {what}", entry.packed.0);
            io::Error::new(io::ErrorKind::InvalidData, text)
        };
        if n != entry.packed.1 {
            return Err(damaged("is cut"));
        }
        let decompressor = match &mut last.decompressor {
            Some(decompressor) => decompressor,
            None => last.decompressor.insert(Decompressor::new()?),
        };
        last.octets.clear();
        last.octets.reserve_exact(entry.plain.1);
        let unpacked = decompressor.decompress_to_buffer(&last.packed, &mut last.octets);
        if unpacked.map_err(|e| damaged(&format!("is damaged: {e}")))? != entry.plain.1 {
            return Err(damaged("is not as long as the seek table says"));
        }
        last.frames += 1;
        last.number = Some(entry.number);
        Ok(())
    }
}

impl<R: ReadAt> ReadAt for Frames<R> {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut have = 0;
        while have < out.len() {
            let at = offset.saturating_add(have as u64);
            let Some(entry) = self.table.at(at) else { break };
            self.unpack(&entry, &mut last)?;
            let from = usize::try_from(at - entry.plain.0).unwrap_or(usize::MAX);
            let there = last.octets.get(from..).unwrap_or_default();
            let Some(target) = out.get_mut(have..) else { break };
            let n = there.len().min(target.len());
            if n == 0 {
                break;
            }
            target.iter_mut().zip(there).for_each(|(to, octet)| *to = *octet);
            have += n;
        }
        Ok(have)
    }

    fn octets(&self) -> u64 {
        self.table.plain_octets()
    }
}

impl<R> core::fmt::Debug for Frames<R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Frames").field("octets", &self.table.plain_octets()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FRAME_OCTETS, Packing};
    use super::*;
    use trunkline_capture::PcapWriter;

    /// A capture of so many packets that are not all alike.
    fn capture(packets: u32) -> Vec<u8> {
        let mut writer = PcapWriter::pcapng(Vec::new());
        for n in 0..packets {
            let octets: Vec<u8> = (0..200 + n % 900).flat_map(|i| (i * n).to_le_bytes()).take(1000).collect();
            writer.write(i64::from(n) * 1000, 1, octets.len() as u32, &octets).unwrap();
        }
        writer.finish().unwrap()
    }

    fn pack(plain: &[u8], step: usize) -> Vec<u8> {
        let (mut packing, mut packed) = (Packing::new().unwrap(), Vec::new());
        let mut out = |octets: &[u8]| {
            packed.extend_from_slice(octets);
            Ok(())
        };
        plain.chunks(step).for_each(|octets| packing.push(octets, &mut out).unwrap());
        assert_eq!(packing.finish(&mut out).unwrap(), plain.len() as u64);
        packed
    }

    #[test]
    fn any_place_is_what_it_was() {
        let plain = capture(9000);
        let packed = pack(&plain, 100_001);
        assert_eq!(packed, pack(&plain, 4097), "however it comes");
        // zstd's own stream decoder passes over the table.
        assert_eq!(zstd::decode_all(packed.as_slice()).unwrap(), plain);
        let frames = Frames::open(packed.as_slice()).unwrap().unwrap();
        assert_eq!(frames.octets(), plain.len() as u64);
        let count = plain.len().div_ceil(FRAME_OCTETS);
        for at in [0, 1, 1_000_000, FRAME_OCTETS, 5_000_001, plain.len() - 10, plain.len()] {
            let mut out = vec![0; 3000];
            let n = frames.read_at(at as u64, &mut out).unwrap();
            assert_eq!(&out[..n], &plain[at..plain.len().min(at + 3000)], "{at}");
        }
        assert!(frames.decompressed() <= 8, "{} of {count}", frames.decompressed());
        // Each frame begins with a block: a section header or a packet.
        let mut at = 0;
        while let Some(entry) = frames.table().at(at) {
            assert!(matches!(plain[at as usize], 0x0a | 6), "{entry:?}");
            assert!(entry.plain.1 <= FRAME_OCTETS);
            at = entry.plain.0 + entry.plain.1 as u64;
        }
    }

    #[test]
    fn damage_is_an_error_and_not_another_packet() {
        let plain = capture(3000);
        let packed = pack(&plain, plain.len());
        let mut out = vec![0; plain.len()];
        for at in [10, packed.len() / 2] {
            let mut damaged = packed.clone();
            damaged[at] ^= 0x20;
            let frames = Frames::open(damaged.as_slice()).unwrap().unwrap();
            assert!(frames.read_at(0, &mut out).is_err(), "{at}");
        }
        assert!(Frames::open(&packed[..packed.len() - 1]).unwrap().is_err());
        assert!(Frames::open(&packed[1..]).unwrap().is_err());
        assert!(Frames::open(plain.as_slice()).unwrap().is_err());
    }

    #[test]
    fn what_is_no_capture_is_not_packed() {
        let plain = capture(10);
        let push = |octets: &[u8]| {
            let mut packing = Packing::new()?;
            packing.push(octets, &mut |_| Ok(()))?;
            packing.finish(&mut |_| Ok(()))
        };
        let text = |octets: &[u8]| push(octets).unwrap_err().to_string();
        assert!(push(&plain).is_ok());
        assert_eq!(text(&plain[..plain.len() - 4]).split(' ').next_back(), Some("cut"));
        assert_eq!(text(b"anything but a capture"), "at octet 0 no block of pcapng begins");
        let mut length = plain.clone();
        length[4] += 1;
        assert_eq!(text(&length), "at octet 0 no block of pcapng begins");
    }
}
