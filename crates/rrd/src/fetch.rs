//! Which archive answers a question, and which of its rows.

use crate::archive::Archive;
use crate::fault::Fault;
use crate::number::UNKNOWN;
use crate::shape::Consolidation;

/// Values that one question can bring: rows times data sources. More is refused.
// Limit: values read by one question
// Beyond: the question is refused
// Seen in: the error message
pub const FETCH_VALUES_MAX: u64 = 1 << 24;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// How rows are to be made.
    pub consolidation: Consolidation,
    /// From this time on, seconds of Unix.
    pub start_s: i64,
    /// Until this one.
    pub end_s: i64,
    /// The step that is wished for; 1 for the finest.
    pub step_s: u64,
}

/// The rows that answer it.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// The archive.
    pub ring: usize,
    /// Before the first row, a multiple of the step: the first row is of `start_s` to `start_s + step_s`.
    pub start_s: i64,
    /// After the last row.
    pub end_s: i64,
    /// Seconds of a row.
    pub step_s: i64,
    /// The first row as the archive counts from its oldest; before 0 and from its length on nothing is known.
    first: i64,
}

/// A piece of a file that is to be read, and where it belongs in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Where in the file.
    pub at: u64,
    /// The place of its first value in the answer.
    pub place: usize,
    /// How many values.
    pub values: usize,
}

/// The values of all data sources of a file, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Before the first row.
    pub start_s: i64,
    /// After the last row.
    pub end_s: i64,
    /// Seconds of a row.
    pub step_s: i64,
    /// The names of the data sources.
    pub names: Vec<String>,
    /// Row by row a value of each data source; NaN is unknown.
    pub values: Vec<f64>,
}

impl Series {
    /// How many rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.values.len() / self.names.len().max(1)
    }
}

impl Window {
    /// As `rrdtool fetch` chooses: of archives that reach back to the start the one whose step is nearest to the one
    /// wished for, otherwise the one that reaches farthest.
    ///
    /// # Errors
    /// [`Fault::Asked`]: no archive is of this kind, the times cannot be, or the answer is beyond [`FETCH_VALUES_MAX`].
    pub fn choose(archive: &Archive, question: &Question) -> Result<Window, Fault> {
        let Question { start_s, end_s, step_s: wished_s, .. } = *question;
        if !(0..1 << 40).contains(&start_s) || !(start_s..1 << 40).contains(&end_s) || wished_s > 1 << 40 {
            return Err(Fault::asked(format!("from {start_s} to {end_s}: not times, or in the wrong order")));
        }
        let ring = choose(archive, question).ok_or_else(|| {
            Fault::asked(format!("there is no archive that answers {}", question.consolidation.name()))
        })?;
        let shape = archive.shape();
        let step_s = shape.row_s(ring) as i64;
        let (start_s, end_s) = (start_s - start_s % step_s, end_s + (step_s - end_s % step_s));
        let rows = ((end_s - start_s) / step_s) as u64;
        if rows.saturating_mul(shape.sources.len() as u64) > FETCH_VALUES_MAX {
            return Err(Fault::asked(format!("{rows} rows are more than {FETCH_VALUES_MAX} values")));
        }
        let last = archive.last().seconds;
        let newest_s = last - last % step_s;
        let oldest_s = newest_s - step_s * ((shape.rings[ring].rows as i64) - 1);
        let first = (start_s + step_s - oldest_s) / step_s;
        Ok(Window { ring, start_s, end_s, step_s, first })
    }

    /// How many rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        ((self.end_s - self.start_s) / self.step_s) as usize
    }

    /// The pieces of the file that hold those of its rows that are known, at most two.
    #[must_use]
    pub fn reads(&self, archive: &Archive) -> Vec<Read> {
        let ring = &archive.shape().rings[self.ring];
        let width = archive.shape().sources.len();
        let length = ring.rows as i64;
        let (from, to) = (self.first.max(0), (self.first + self.rows() as i64).min(length));
        let mut reads = Vec::new();
        let mut row = from;
        while row < to {
            let place = (archive.row(self.ring) + 1 + (row as u64)) % ring.rows;
            let rows = (to - row).min((ring.rows - place) as i64);
            reads.push(Read {
                at: ring.at + place * width as u64 * 8,
                place: (row - self.first) as usize * width,
                values: rows as usize * width,
            });
            row += rows;
        }
        reads
    }

    /// The answer, out of pieces that `read` brings: octets at a place of the file.
    ///
    /// # Errors
    /// What `read` fails with.
    pub fn series(
        &self,
        archive: &Archive,
        mut read: impl FnMut(u64, &mut [u8]) -> Result<(), Fault>,
    ) -> Result<Series, Fault> {
        let names: Vec<String> = archive.shape().sources.iter().map(|source| source.name.clone()).collect();
        let mut values = vec![UNKNOWN; self.rows() * names.len()];
        let mut octets = Vec::new();
        for piece in self.reads(archive) {
            octets.resize(piece.values * 8, 0);
            read(piece.at, &mut octets)?;
            let words = octets.chunks_exact(8).map(|word| word.try_into().unwrap_or_default());
            values[piece.place..].iter_mut().zip(words).for_each(|(value, word)| *value = f64::from_le_bytes(word));
        }
        Ok(Series { start_s: self.start_s, end_s: self.end_s, step_s: self.step_s, names, values })
    }
}

/// Rows of one step are the same by any plain function, and answer for each.
fn answers(asked: Consolidation, has: Consolidation, steps_per_row: u64) -> bool {
    has == asked || (steps_per_row == 1 && asked.is_plain() && has.is_plain())
}

fn choose(archive: &Archive, question: &Question) -> Option<usize> {
    let shape = archive.shape();
    let last = archive.last().seconds;
    let (mut whole, mut part) = (None, None);
    for (number, ring) in shape.rings.iter().enumerate() {
        if !answers(question.consolidation, ring.consolidation, ring.steps_per_row) {
            continue;
        }
        let step_s = shape.row_s(number);
        let newest_s = last - last % (step_s as i64);
        let oldest_s = newest_s - (step_s.saturating_mul(ring.rows).min(1 << 60) as i64);
        let off = question.step_s.abs_diff(step_s);
        if oldest_s <= question.start_s {
            if whole.is_none_or(|(_, best)| off < best) {
                whole = Some((number, off));
            }
            continue;
        }
        let covered_s = question.end_s - question.start_s - (oldest_s - question.start_s);
        if part.is_none_or(|(_, most, best)| covered_s > most || (covered_s == most && off < best)) {
            part = Some((number, covered_s, off));
        }
    }
    whole.map(|(number, _)| number).or(part.map(|(number, ..)| number))
}
