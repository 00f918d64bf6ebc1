//! Rows that samples finish, gathered until they are written: neighbours in one piece.

use crate::shape::Shape;

/// Rows of one file that are to be written. It can be used for one file after the other.
#[derive(Debug, Default)]
pub struct Rows {
    rings: Vec<Pending>,
    /// Room of an update, which need not be made each time.
    pub(super) amounts: Vec<f64>,
    pub(super) primary: Vec<f64>,
}

/// Rows of an archive, from one on.
#[derive(Debug, Default)]
pub(super) struct Pending {
    first: u64,
    /// How many came; of more than the ring has the last ones count.
    count: u64,
    rows: u64,
    words: Vec<u64>,
    width: usize,
}

/// A piece of a file that is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write<'a> {
    /// Where in the file.
    pub at: u64,
    /// Its values, each a little-endian word of eight octets.
    pub words: &'a [u64],
}

impl Rows {
    pub(super) fn ring(&mut self, number: usize, rows: u64, width: usize) -> &mut Pending {
        if self.rings.len() <= number {
            self.rings.resize_with(number + 1, Pending::default);
        }
        let ring = &mut self.rings[number];
        (ring.rows, ring.width) = (rows, width);
        ring
    }

    /// Forgets all of them; the room stays.
    pub fn clear(&mut self) {
        for ring in &mut self.rings {
            ring.count = 0;
            ring.words.clear();
        }
    }

    /// The pieces of the file that they are, at most two of an archive, in no overlap.
    pub fn writes<'a>(&'a self, shape: &'a Shape) -> impl Iterator<Item = Write<'a>> {
        self.rings
            .iter()
            .zip(&shape.rings)
            .filter(|(pending, _)| pending.count > 0)
            .flat_map(|(pending, ring)| {
                let width = pending.width.max(1);
                let to_the_end = (pending.rows - pending.first) as usize * width;
                let (tail, head) = pending.words.split_at(to_the_end.min(pending.words.len()));
                let at = ring.at + pending.first * width as u64 * 8;
                [Write { at, words: tail }, Write { at: ring.at, words: head }]
            })
            .filter(|write| !write.words.is_empty())
    }
}

impl Pending {
    /// Puts a row behind the one with this number; the number that it has.
    pub fn put(&mut self, after: u64, values: impl Iterator<Item = u64>) -> u64 {
        let row = if after + 1 >= self.rows { 0 } else { after + 1 };
        if self.count == 0 {
            self.first = row;
        }
        if self.count < self.rows {
            self.words.extend(values);
        } else {
            let place = (self.count % self.rows) as usize * self.width;
            self.words[place..place + self.width].iter_mut().zip(values).for_each(|(word, value)| *word = value);
        }
        self.count += 1;
        row
    }

    /// Puts so many equal rows.
    pub fn put_many<I: Iterator<Item = u64>>(&mut self, after: u64, count: u64, values: impl Fn() -> I) -> u64 {
        (0..count).fold(after, |row, _| self.put(row, values()))
    }
}
