//! Rows that samples finish, gathered until they are written: neighbours in one piece, equal ones of a gap as one row.

use std::collections::VecDeque;

use crate::shape::Shape;

/// Octets that a piece of several equal rows is written with at once.
const CHUNK_OCTETS: usize = 1 << 16;

/// Rows of one file that are to be written. It can be used for one file after the other.
#[derive(Debug, Default)]
pub struct Rows {
    rings: Vec<Pending>,
    /// Room of an update, which need not be made each time.
    pub(super) amounts: Vec<f64>,
    pub(super) primary: Vec<f64>,
}

/// Rows of an archive. How much they take follows from the samples, never from how long a gap is.
#[derive(Debug, Default)]
pub(super) struct Pending {
    rows: u64,
    width: usize,
    /// In the order in which they came: a later one may lie over an earlier one.
    runs: VecDeque<Run>,
    words: Vec<u64>,
    /// Rows of all runs, and octets of their words.
    count: u64,
    octets: usize,
}

/// Neighbours, none of them beyond the last row of the ring.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: u64,
    count: u64,
    /// Where its words begin; of equal rows they are those of one.
    from: usize,
    is_equal: bool,
}

impl Run {
    /// Rows whose words are kept.
    fn rows(&self) -> usize {
        if self.is_equal { 1 } else { self.count as usize }
    }
}

/// A piece of a file that is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write<'a> {
    /// Where in the file.
    pub at: u64,
    /// Its values, each a little-endian word of eight octets.
    pub words: &'a [u64],
    /// How often they stand there, one behind the other.
    pub times: u64,
}

impl Write<'_> {
    /// Octets of the file that it takes.
    #[must_use]
    pub fn octets(&self) -> u64 {
        self.words.len() as u64 * 8 * self.times
    }
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
        self.rings.iter_mut().for_each(Pending::clear);
    }

    /// Octets of the words of all pieces, and how many pieces.
    pub(crate) fn size(&self) -> (usize, usize) {
        let of_ring = |ring: &Pending| (ring.octets, ring.runs.len());
        self.rings.iter().map(of_ring).fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))
    }

    /// The pieces of the file that they are, in the order in which they are to be written: of two that lie over each
    /// other the later one counts.
    pub fn writes<'a>(&'a self, shape: &'a Shape) -> impl Iterator<Item = Write<'a>> {
        self.rings.iter().zip(&shape.rings).flat_map(|(pending, ring)| {
            pending.runs.iter().map(|run| Write {
                at: ring.at + run.first * pending.width as u64 * 8,
                words: pending.words_of(run),
                times: if run.is_equal { run.count } else { 1 },
            })
        })
    }
}

impl Pending {
    fn clear(&mut self) {
        self.runs.clear();
        self.words.clear();
        (self.count, self.octets) = (0, 0);
    }

    fn words_of(&self, run: &Run) -> &[u64] {
        &self.words[run.from..run.from + run.rows() * self.width]
    }

    /// Puts a row behind the one with this number; the number that it has.
    pub fn put(&mut self, after: u64, values: impl Iterator<Item = u64>) -> u64 {
        let row = if after + 1 >= self.rows { 0 } else { after + 1 };
        let from = self.words.len();
        self.words.extend(values);
        match self.runs.back_mut() {
            Some(run) if !run.is_equal && run.first + run.count == row => run.count += 1,
            _ => self.runs.push_back(Run { first: row, count: 1, from, is_equal: false }),
        }
        self.octets += self.width * 8;
        self.grown(1);
        row
    }

    /// Puts so many equal rows, at most as many as there are; the number of the last.
    pub fn put_many(&mut self, after: u64, count: u64, values: impl Iterator<Item = u64>) -> u64 {
        if count == 0 {
            return after;
        }
        let from = self.words.len();
        self.words.extend(values);
        let (mut first, mut left) = (if after + 1 >= self.rows { 0 } else { after + 1 }, count);
        while left > 0 {
            let some = left.min(self.rows - first);
            self.runs.push_back(Run { first, count: some, from, is_equal: true });
            self.octets += self.width * 8;
            left -= some;
            first = 0;
        }
        self.grown(count);
        (after + count) % self.rows
    }

    /// What lies under later rows goes when the ring is full twice.
    fn grown(&mut self, count: u64) {
        self.count += count;
        if self.count < 2 * self.rows {
            return;
        }
        while let Some(run) = self.runs.front().filter(|run| self.count - run.count >= self.rows) {
            self.count -= run.count;
            self.octets -= run.rows() * self.width * 8;
            self.runs.pop_front();
        }
        let begin = self.runs.front().map_or(self.words.len(), |run| run.from);
        self.words.drain(..begin);
        self.runs.iter_mut().for_each(|run| run.from -= begin);
    }
}

/// Gives octets that stand somewhere so often, one behind the other, in pieces that are not large.
///
/// # Errors
/// What `write` fails with.
pub(crate) fn spread<E>(
    at: u64,
    octets: &[u8],
    times: u64,
    mut write: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    if times == 1 || octets.is_empty() {
        return write(at, octets);
    }
    let at_once = (CHUNK_OCTETS / octets.len()).max(1).min(usize::try_from(times).unwrap_or(usize::MAX));
    let chunk = octets.repeat(at_once);
    let (mut at, mut left) = (at, times);
    while left > 0 {
        let some = left.min(at_once as u64);
        let length = octets.len() * some as usize;
        write(at, &chunk[..length])?;
        at += length as u64;
        left -= some;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is written is what a ring holds that takes row by row; what is kept has bounds.
        #[test]
        fn pieces_make_the_ring(
            rows in 1..40u64,
            start in 0..40u64,
            acts in prop::collection::vec((0..3u64, 0..40u64), 0..200)
        ) {
            let mut ring = Pending { rows, width: 1, ..Pending::default() };
            let mut truth = vec![0; rows as usize];
            let mut row = start % rows;
            for (number, (lone, equal)) in acts.into_iter().enumerate() {
                let word = number as u64 + 1;
                for _ in 0..lone {
                    row = ring.put(row, [word].into_iter());
                    truth[row as usize] = word;
                }
                let from = row;
                row = ring.put_many(row, equal % rows, [word].into_iter());
                (1..=equal % rows).for_each(|more| truth[((from + more) % rows) as usize] = word);
                prop_assert!(ring.count <= 2 * rows && ring.octets <= 2 * rows as usize * 8 + 16);
            }
            let mut written = vec![0; rows as usize];
            for run in &ring.runs {
                for place in 0..run.count {
                    let words = ring.words_of(run);
                    written[(run.first + place) as usize] = words[if run.is_equal { 0 } else { place as usize }];
                }
            }
            prop_assert_eq!(written, truth);
            let octets: usize = ring.runs.iter().map(|run| ring.words_of(run).len() * 8).sum();
            prop_assert_eq!(ring.octets, octets);
        }
    }
}
