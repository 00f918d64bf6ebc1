//! A block packed while it waits for a slow disk.

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

/// Octets that are packed on their own: small enough to stay in the cache.
const PIECE: usize = 128 << 10;
/// A block is kept packed only if it is smaller than this share of itself.
const SAVING_MIN: (usize, usize) = (9, 10);

/// The octets of a block, packed piece by piece (LZ4 block format).
#[derive(Debug)]
pub(crate) struct Packed {
    pieces: Vec<Box<[u8]>>,
    /// Octets unpacked.
    from: usize,
}

impl Packed {
    /// Packs `octets`; none if that saves too little. `scratch` is kept from call to call.
    pub(crate) fn pack(octets: &[u8], scratch: &mut Vec<u8>) -> Option<Packed> {
        scratch.resize(get_maximum_output_size(PIECE), 0);
        let most = octets.len() / SAVING_MIN.1 * SAVING_MIN.0;
        let (mut pieces, mut sum) = (Vec::with_capacity(octets.len().div_ceil(PIECE)), 0);
        for piece in octets.chunks(PIECE) {
            let packed = compress_into(piece, scratch).ok()?;
            sum += packed;
            if sum > most {
                return None;
            }
            pieces.push(scratch.get(..packed)?.into());
        }
        Some(Packed { pieces, from: octets.len() })
    }

    /// Unpacks to the beginning of `block`. False if it does not fit or is damaged: neither happens to what `pack`
    /// made.
    pub(crate) fn unpack(&self, block: &mut [u8]) -> bool {
        let Some(target) = block.get_mut(..self.from) else { return false };
        let into = target.chunks_mut(PIECE);
        into.zip(&self.pieces).all(|(to, piece)| decompress_into(piece, to).is_ok_and(|n| n == to.len()))
    }

    /// Octets packed and before.
    pub(crate) fn octets(&self) -> (usize, usize) {
        (self.pieces.iter().map(|p| p.len()).sum(), self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_what_was_packed() {
        let octets: Vec<u8> = (0..PIECE as u32 * 2 + 77).flat_map(|i| (i / 9).to_le_bytes()).collect();
        let packed = Packed::pack(&octets, &mut Vec::new()).unwrap();
        assert!(packed.octets().0 < octets.len() / 2);
        let mut back = vec![1; octets.len() + 5];
        assert!(packed.unpack(&mut back));
        assert_eq!(&back[..octets.len()], &octets[..]);
        assert!(!packed.unpack(&mut back[..100]));
    }

    #[test]
    fn what_saves_nothing_stays() {
        let mut x = 1u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 56) as u8
        })
        .take(PIECE)
        .collect();
        assert!(Packed::pack(&noise, &mut Vec::new()).is_none());
    }
}
