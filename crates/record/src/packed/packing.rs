//! From the octets of a segment to frames.

use std::io;

use zstd::bulk::{Compressor, Decompressor};

use super::{FRAME_OCTETS, FRAME_OCTETS_MAX, LEVEL, SeekTable};

/// Octets of a block's type and length.
const BLOCK_HEAD: usize = 8;
/// A section header's byte-order magic, as this machine's recorder writes it.
const LITTLE_ENDIAN: [u8; 4] = 0x1A2B_3C4D_u32.to_le_bytes();

/// Why a segment stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum PackingError {
    /// It is no sequence of whole pcapng blocks, little-endian, from octet `0` on.
    #[error("at octet {0} no block of pcapng begins")]
    NotBlocks(u64),
    /// It ends in a block that begins at this octet.
    #[error("the block at octet {0} is cut")]
    Cut(u64),
    /// A block or the whole is longer than the format allows.
    #[error("the block at octet {0} is too long, or there are too many")]
    TooLong(u64),
    /// What was packed does not come back.
    #[error("the frame of octet {0} is not what was packed")]
    Damaged(u64),
    /// The compressor failed.
    #[error(transparent)]
    Compressor(#[from] io::Error),
}

impl From<PackingError> for io::Error {
    fn from(error: PackingError) -> io::Error {
        match error {
            PackingError::Compressor(error) => error,
            error => io::Error::new(io::ErrorKind::InvalidData, error),
        }
    }
}

/// Packs the segment whose octets it is given one after the other.
pub struct Packing {
    compressor: Compressor<'static>,
    decompressor: Decompressor<'static>,
    table: SeekTable,
    /// What is not packed yet: whole blocks up to `whole`, then the beginning of one.
    waiting: Vec<u8>,
    whole: usize,
    packed: Vec<u8>,
    back: Vec<u8>,
}

impl Packing {
    /// For one segment.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn new() -> io::Result<Packing> {
        let mut compressor = Compressor::new(LEVEL)?;
        compressor.include_checksum(true)?;
        Ok(Packing {
            compressor,
            decompressor: Decompressor::new()?,
            table: SeekTable::default(),
            waiting: Vec::new(),
            whole: 0,
            packed: Vec::new(),
            back: Vec::new(),
        })
    }

    /// Takes in the next octets; frames that are full go to `out`.
    ///
    /// # Errors
    /// The segment cannot be packed.
    pub fn push(&mut self, octets: &[u8], out: &mut impl FnMut(&[u8]) -> io::Result<()>) -> Result<(), PackingError> {
        self.waiting.extend_from_slice(octets);
        while let Some(block) = self.next_block()? {
            if self.whole > 0 && self.whole + block > FRAME_OCTETS {
                self.frame(out)?;
            }
            if self.waiting.len() < self.whole + block {
                break;
            }
            self.whole += block;
        }
        Ok(())
    }

    /// The segment has ended: the last frame and the table go to `out`. The octets of the stream.
    ///
    /// # Errors
    /// The segment cannot be packed.
    pub fn finish(mut self, out: &mut impl FnMut(&[u8]) -> io::Result<()>) -> Result<u64, PackingError> {
        if self.whole < self.waiting.len() {
            return Err(PackingError::Cut(self.offset()));
        }
        if self.whole > 0 {
            self.frame(out)?;
        }
        let mut table = Vec::new();
        self.table.emit(&mut table);
        out(&table)?;
        Ok(self.table.plain_octets())
    }

    /// Where the first block that is not known to be whole begins.
    fn offset(&self) -> u64 {
        self.table.plain_octets() + self.whole as u64
    }

    /// Octets of the block behind the whole ones; none if its head is not there yet.
    fn next_block(&self) -> Result<Option<usize>, PackingError> {
        const SECTION: [u8; 4] = trunkline_wire::pcapng::SECTION.to_le_bytes();
        let at = self.offset();
        let Some(block) = self.waiting.get(self.whole..).filter(|block| block.len() > BLOCK_HEAD + 4) else {
            return Ok(None);
        };
        let is_section = block.starts_with(&SECTION);
        let order = block.get(BLOCK_HEAD..BLOCK_HEAD + 4);
        if (at == 0 && !is_section) || (is_section && order != Some(&LITTLE_ENDIAN)) {
            return Err(PackingError::NotBlocks(at));
        }
        let said = block.get(4..).and_then(|o| o.first_chunk()).map_or(0, |o| u32::from_le_bytes(*o)) as usize;
        match said {
            0..12 => Err(PackingError::NotBlocks(at)),
            said if said % 4 != 0 => Err(PackingError::NotBlocks(at)),
            said if said > FRAME_OCTETS_MAX => Err(PackingError::TooLong(at)),
            said => Ok(Some(said)),
        }
    }

    /// Packs the whole blocks, and sees to it that they come back: the segment will be gone.
    fn frame(&mut self, out: &mut impl FnMut(&[u8]) -> io::Result<()>) -> Result<(), PackingError> {
        let at = self.table.plain_octets();
        let plain = self.waiting.get(..self.whole).unwrap_or_default();
        self.packed.clear();
        self.packed.reserve(zstd::zstd_safe::compress_bound(plain.len()));
        self.compressor.compress_to_buffer(plain, &mut self.packed)?;
        self.back.clear();
        self.back.reserve(plain.len());
        self.decompressor.decompress_to_buffer(&self.packed, &mut self.back)?;
        if self.back != plain {
            return Err(PackingError::Damaged(at));
        }
        if !self.table.push(self.packed.len(), plain.len()) {
            return Err(PackingError::TooLong(at));
        }
        out(&self.packed)?;
        self.waiting.drain(..self.whole);
        self.whole = 0;
        Ok(())
    }
}
