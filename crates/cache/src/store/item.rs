//! An item in a segment: twelve octets of head, what is not the same for all, key and value.
//!
//! ```text
//!  octet 0                  6      7       8          10       12
//!  | cas, 48 bits           | key  | marks | value's  | birth  | expiry  | flags   | cas     | key | value ...
//!  |                        | len  |       | length   |        | 4, if E | 4, if F | 8, if W |     |
//! ```
//! `birth` is in seconds since the segment was opened. An expiry lies in the second word, so that one store changes it.
//! The value of an item with mark L is the number of a large value and its length, 8 octets each.
//! The first word (cas, marks) and the second (expiry) each change in one store, under the lock of the bucket.

use super::sync::atomic::{AtomicU64, Ordering::Relaxed};
use super::words::{WordSink, equal, load_at, words_for};

/// Marks of an item, one bit each.
pub mod mark {
    /// It is stale.
    pub const STALE: u8 = 1;
    /// Somebody was told to make the value anew.
    pub const WON: u8 = 2;
    /// It has an expiry.
    pub const EXPIRES: u8 = 4;
    /// It has flags other than 0.
    pub const FLAGGED: u8 = 8;
    /// Its cas number has 64 bits of its own.
    pub const WIDE: u8 = 16;
    /// Its value lies elsewhere.
    pub const LARGE: u8 = 32;
    /// Its cas number was given by a client.
    pub const GIVEN: u8 = 64;
    /// Its key came as base64.
    pub const BINARY_KEY: u8 = 128;
}

/// Octets of the head that all items have.
const HEAD_OCTETS: usize = 12;
/// The largest cas number that fits the first word.
pub const CAS_MAX: u64 = (1 << 48) - 1;
/// Octets of a value in a segment, at most: its length has 16 bits.
pub const VALUE_OCTETS_MAX: usize = 60_000;

/// What stands before key and value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The cas number.
    pub cas: u64,
    /// Octets of the key.
    pub key_octets: u8,
    /// See [`mark`]; `EXPIRES`, `FLAGGED` and `WIDE` follow from the other fields when a head is written.
    pub marks: u8,
    /// Octets of the value, as it lies in the segment.
    pub value_octets: u16,
    /// Seconds since the segment was opened.
    pub birth: u16,
    /// The second of expiry, or 0.
    pub expiry: u32,
    /// The client's flags.
    pub flags: u32,
}

impl Head {
    /// Reads the head at the beginning of `words`.
    #[inline]
    pub fn read(words: &[AtomicU64]) -> Self {
        let (first, second) = (load_at(words, 0), load_at(words, 8));
        let marks = (first >> 56) as u8;
        let mut head = Head {
            cas: first & CAS_MAX,
            key_octets: (first >> 48) as u8,
            marks,
            value_octets: second as u16,
            birth: (second >> 16) as u16,
            ..Head::default()
        };
        let mut at = HEAD_OCTETS;
        if marks & mark::EXPIRES != 0 {
            (head.expiry, at) = ((second >> 32) as u32, at + 4);
        }
        if marks & mark::FLAGGED != 0 {
            (head.flags, at) = (load_at(words, at) as u32, at + 4);
        }
        if marks & mark::WIDE != 0 {
            head.cas = load_at(words, at);
        }
        head
    }

    /// The same with the marks that follow from its fields.
    pub fn shaped(self) -> Self {
        let set = |condition: bool, bit: u8| if condition { bit } else { 0 };
        let marks = self.marks & !(mark::EXPIRES | mark::FLAGGED | mark::WIDE)
            | set(self.expiry != 0, mark::EXPIRES)
            | set(self.flags != 0, mark::FLAGGED)
            | set(self.cas > CAS_MAX, mark::WIDE);
        Head { marks, ..self }
    }

    /// Writes head, key and value, in two parts, to the beginning of `words`.
    pub fn write(&self, words: &[AtomicU64], key: &[u8], value: [&[u8]; 2]) {
        let mut sink = WordSink::new(words);
        sink.push_u64(self.first_word());
        sink.push_u32(u32::from(self.value_octets) | u32::from(self.birth) << 16);
        if self.is(mark::EXPIRES) {
            sink.push_u32(self.expiry);
        }
        if self.is(mark::FLAGGED) {
            sink.push_u32(self.flags);
        }
        if self.is(mark::WIDE) {
            sink.push_u64(self.cas);
        }
        sink.push(key);
        value.into_iter().for_each(|part| sink.push(part));
        sink.finish();
    }

    fn first_word(&self) -> u64 {
        self.cas & CAS_MAX | u64::from(self.key_octets) << 48 | u64::from(self.marks) << 56
    }

    /// Writes the first word anew: cas and marks. `WIDE` must be as it was.
    pub fn rewrite_first(&self, words: &[AtomicU64]) {
        words[0].store(self.first_word(), Relaxed);
    }

    /// Writes the expiry anew, in an item that has one.
    pub fn rewrite_expiry(&self, words: &[AtomicU64]) {
        let second = words[1].load(Relaxed) as u32;
        words[1].store(u64::from(second) | u64::from(self.expiry) << 32, Relaxed);
    }

    /// Writes the birth anew.
    pub fn rewrite_birth(&self, words: &[AtomicU64]) {
        let second = words[1].load(Relaxed) & !0xffff_0000;
        words[1].store(second | u64::from(self.birth) << 16, Relaxed);
    }

    /// Whether a mark is set.
    #[inline]
    pub fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    /// Where the key begins, in octets from the item's beginning.
    #[inline]
    pub fn key_at(&self) -> usize {
        HEAD_OCTETS
            + if self.is(mark::EXPIRES) { 4 } else { 0 }
            + if self.is(mark::FLAGGED) { 4 } else { 0 }
            + if self.is(mark::WIDE) { 8 } else { 0 }
    }

    /// Where the value begins, in octets from the item's beginning.
    #[inline]
    pub fn value_at(&self) -> usize {
        self.key_at() + usize::from(self.key_octets)
    }

    /// Words of the whole item.
    #[inline]
    pub fn words(&self) -> usize {
        words_for(self.value_at() + usize::from(self.value_octets))
    }
}

/// Whether the item at the beginning of `words` has this key.
#[inline]
pub fn has_key(words: &[AtomicU64], key: &[u8]) -> bool {
    let first = words.first().map_or(0, |w| w.load(Relaxed));
    if (first >> 48) as u8 as usize != key.len() {
        return false;
    }
    let head = Head { marks: (first >> 56) as u8, ..Head::default() };
    equal(words, head.key_at(), key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(head: Head, key: &[u8], value: &[u8]) -> Vec<AtomicU64> {
        let head = Head { key_octets: key.len() as u8, value_octets: value.len() as u16, ..head }.shaped();
        let words: Vec<AtomicU64> = (0..head.words()).map(|_| AtomicU64::new(u64::MAX)).collect();
        head.write(&words, key, [&value[..1], &value[1..]]);
        assert_eq!(Head::read(&words), head);
        words
    }

    #[test]
    fn an_item_reads_as_it_was_written_in_every_shape() {
        for shape in 0..8u32 {
            let pick = |bit: u32, value: u64| if shape & bit != 0 { value } else { 0 };
            let head = Head {
                cas: 5 + pick(1, 1 << 60),
                expiry: pick(2, 70) as u32,
                flags: pick(4, 0xdead_beef) as u32,
                birth: 3,
                ..Head::default()
            };
            let words = written(head, b"some key", b"some value");
            let mut value = Vec::new();
            let read = Head::read(&words);
            crate::store::words::copy(&words, read.value_at(), 10, &mut value);
            assert_eq!(value, b"some value");
            assert!(has_key(&words, b"some key") && !has_key(&words, b"some kez") && !has_key(&words, b"some ke"));
        }
    }

    #[test]
    fn a_plain_item_takes_twelve_octets_beside_key_and_value() {
        let head = Head { key_octets: 32, value_octets: 100, ..Head::default() };
        assert_eq!(head.words() * 8, 32 + 100 + 12);
        let full = Head { expiry: 1, flags: 1, ..head }.shaped();
        assert_eq!(full.value_at() - 32, 20);
    }

    #[test]
    fn marks_and_expiry_change_where_they_stand() {
        let head = Head { cas: 5, expiry: 70, flags: 1, birth: 9, ..Head::default() };
        let words = written(head, b"key", b"value");
        let mut read = Head::read(&words);
        (read.cas, read.marks, read.expiry, read.birth) = (6, read.marks | mark::STALE, 0, 10);
        read.rewrite_first(&words);
        read.rewrite_expiry(&words);
        read.rewrite_birth(&words);
        assert_eq!(Head::read(&words), read);
        assert!(has_key(&words, b"key"));
    }
}
