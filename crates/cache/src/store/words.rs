//! Octets in words that other threads may read and write at the same time.
//!
//! The store's memory is words, each loaded and stored whole and relaxed: what is read beside a writer may be a mix of
//! old and new words, and whoever reads checks afterwards whether it was (`bucket.rs`). Octets lie in a word from the
//! lowest to the highest.

use super::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Words that `octets` take.
pub const fn words_for(octets: usize) -> usize {
    octets.div_ceil(8)
}

/// Writes octets one behind the other into words.
pub struct WordSink<'a> {
    words: std::slice::Iter<'a, AtomicU64>,
    pending: u64,
    pending_bits: u32,
}

impl<'a> WordSink<'a> {
    /// A sink that begins at the first of `words`; what does not fit is left out.
    pub fn new(words: &'a [AtomicU64]) -> Self {
        WordSink { words: words.iter(), pending: 0, pending_bits: 0 }
    }

    #[inline]
    fn store(&mut self, word: u64) {
        if let Some(place) = self.words.next() {
            place.store(word, Relaxed);
        }
    }

    /// Adds the lowest `bits` bits of `word`, a multiple of 8 and more than none; the others are 0.
    #[inline]
    fn push_bits(&mut self, word: u64, bits: u32) {
        let filled = self.pending_bits;
        let both = self.pending | (word << filled);
        if filled + bits < 64 {
            (self.pending, self.pending_bits) = (both, filled + bits);
            return;
        }
        self.store(both);
        self.pending = if filled == 0 { 0 } else { word >> (64 - filled) };
        self.pending_bits = filled + bits - 64;
    }

    /// Adds a whole word.
    pub fn push_u64(&mut self, word: u64) {
        self.push_bits(word, 64);
    }

    /// Adds half a word.
    pub fn push_u32(&mut self, half: u32) {
        self.push_bits(u64::from(half), 32);
    }

    /// Adds octets.
    #[inline]
    pub fn push(&mut self, octets: &[u8]) {
        let (chunks, rest) = octets.as_chunks_of_eight();
        for chunk in chunks {
            self.push_bits(u64::from_le_bytes(chunk), 64);
        }
        if !rest.is_empty() {
            self.push_bits(partial(rest), rest.len() as u32 * 8);
        }
    }

    /// Writes what is left of the last word.
    pub fn finish(mut self) {
        if self.pending_bits > 0 {
            self.store(self.pending);
        }
    }
}

/// A slice as chunks of eight octets and the rest.
trait Eights {
    fn as_chunks_of_eight(&self) -> (impl Iterator<Item = [u8; 8]>, &[u8]);
}

impl Eights for [u8] {
    fn as_chunks_of_eight(&self) -> (impl Iterator<Item = [u8; 8]>, &[u8]) {
        let chunks = self.chunks_exact(8);
        let rest = chunks.remainder();
        (chunks.map(|chunk| chunk.try_into().unwrap_or_default()), rest)
    }
}

/// Up to seven octets as the low end of a word.
#[inline]
fn partial(octets: &[u8]) -> u64 {
    octets.iter().rev().fold(0, |word, &octet| word << 8 | u64::from(octet))
}

/// The word that begins at octet `at` of `words`; octets behind the end are 0.
#[inline]
pub fn load_at(words: &[AtomicU64], at: usize) -> u64 {
    let load = |index: usize| words.get(index).map_or(0, |w| w.load(Relaxed));
    let (index, bits) = (at / 8, at % 8 * 8);
    if bits == 0 { load(index) } else { load(index) >> bits | load(index + 1) << (64 - bits) }
}

/// Whether the octets from octet `at` on are `octets`.
#[inline]
pub fn equal(words: &[AtomicU64], at: usize, octets: &[u8]) -> bool {
    let (chunks, rest) = octets.as_chunks_of_eight();
    let mut place = at;
    for chunk in chunks {
        if load_at(words, place) != u64::from_le_bytes(chunk) {
            return false;
        }
        place += 8;
    }
    let mask = (1u64 << (rest.len() * 8)) - 1;
    load_at(words, place) & mask == partial(rest)
}

/// Adds `octets` octets from octet `at` on to `output`; fewer, if the words end before.
#[inline]
pub fn copy(words: &[AtomicU64], at: usize, octets: usize, output: &mut Vec<u8>) {
    let end = (at + octets).min(words.len() * 8);
    if at >= end {
        return;
    }
    let begin = output.len();
    output.resize(begin + end - at, 0);
    let mut target = &mut output[begin..];
    let (first, last) = (at / 8, words_for(end));
    let mut words = words[first..last].iter();
    if !at.is_multiple_of(8) {
        let head = (8 - at % 8).min(target.len());
        let word = words.next().map_or(0, |w| w.load(Relaxed)).to_le_bytes();
        target[..head].copy_from_slice(&word[at % 8..at % 8 + head]);
        target = &mut target[head..];
    }
    let mut chunks = target.chunks_exact_mut(8);
    for (chunk, word) in (&mut chunks).zip(&mut words) {
        chunk.copy_from_slice(&word.load(Relaxed).to_le_bytes());
    }
    let rest = chunks.into_remainder();
    if !rest.is_empty() {
        let word = words.next().map_or(0, |w| w.load(Relaxed)).to_le_bytes();
        rest.copy_from_slice(&word[..rest.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(count: usize) -> Vec<AtomicU64> {
        (0..count).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn what_goes_in_comes_out_at_any_place_and_length() {
        let octets: Vec<u8> = (1..=100).collect();
        for cut in 0..40 {
            let memory = words(20);
            let mut sink = WordSink::new(&memory);
            sink.push_u64(7);
            sink.push_u32(9);
            sink.push(&octets[..cut]);
            sink.push(&octets[cut..]);
            sink.finish();
            assert_eq!((load_at(&memory, 0), load_at(&memory, 8) as u32), (7, 9));
            for begin in 0..20 {
                for length in 0..60 {
                    let mut output = vec![0xaa];
                    copy(&memory, 12 + begin, length, &mut output);
                    assert_eq!(output[1..], octets[begin..begin + length]);
                    assert!(equal(&memory, 12 + begin, &octets[begin..begin + length]));
                    assert!(length == 0 || !equal(&memory, 13 + begin, &octets[begin..begin + length]));
                }
            }
        }
    }

    #[test]
    fn the_end_of_the_words_is_the_end() {
        let memory = words(2);
        let mut output = Vec::new();
        copy(&memory, 4, 100, &mut output);
        assert_eq!(output.len(), 12);
        copy(&memory, 400, 100, &mut output);
        assert_eq!(output.len(), 12);
        assert!(!equal(&memory, 8, &[0, 0, 0, 0, 0, 0, 0, 0, 1]));
    }
}
