//! A column of numbers in as few octets each as hold their distance to the smallest.

use super::{COLUMNS, Column, GISTS_MAX, Hosts, versioned};
use crate::packed::{Damaged, Pack, Unpack};

/// The least and the greatest value of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Range {
    /// Least.
    pub least: u64,
    /// Greatest.
    pub greatest: u64,
    /// The least that is not 0; 0 if there is none.
    pub least_some: u64,
}

impl Range {
    /// Whether a value lies in it.
    pub fn contains(self, value: u64) -> bool {
        (self.least..=self.greatest).contains(&value)
    }

    /// Takes in another one.
    fn join(&mut self, other: Range) {
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
        // 0 is the last of all here.
        self.least_some = self.least_some.wrapping_sub(1).min(other.least_some.wrapping_sub(1)).wrapping_add(1);
    }

    /// Octets of a value: none where all are the same.
    fn width(self) -> usize {
        (71 - self.greatest.wrapping_sub(self.least).leading_zeros() as usize) / 8
    }

    /// Appends it.
    pub fn write(self, out: &mut Vec<u8>) {
        out.uint(self.least);
        out.uint(self.greatest.wrapping_sub(self.least));
        out.uint(self.least_some.wrapping_sub(self.least));
    }

    /// Reads it.
    pub fn read(from: &mut Unpack<'_>) -> Result<Self, Damaged> {
        let least = from.uint()?;
        let greatest = least.checked_add(from.uint()?).ok_or(Damaged("a number is too large"))?;
        let least_some = least.checked_add(from.uint()?).filter(|some| *some <= greatest);
        Ok(Range { least, greatest, least_some: least_some.ok_or(Damaged("a number is too large"))? })
    }
}

/// The ranges of all columns over many gists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges(pub [Range; COLUMNS]);

impl Ranges {
    /// Over all gists behind these heads.
    pub fn of<'h>(heads: impl Iterator<Item = &'h Head>) -> Self {
        let mut all: Option<[Range; COLUMNS]> = None;
        for head in heads {
            match &mut all {
                Some(all) => all.iter_mut().zip(&head.ranges).for_each(|(range, more)| range.join(*more)),
                None => all = Some(head.ranges),
            }
        }
        Ranges(all.unwrap_or_default())
    }

    /// That of a column.
    pub fn of_column(&self, column: Column) -> Range {
        self.0.get(column as usize).copied().unwrap_or_default()
    }

    /// Appends them.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.0.iter().for_each(|range| range.write(out));
    }

    /// Reads them.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn read(from: &mut Unpack<'_>) -> Result<Self, Damaged> {
        let mut all = [Range::default(); COLUMNS];
        for range in &mut all {
            *range = Range::read(from)?;
        }
        Ok(Ranges(all))
    }
}

/// Appends the values, each in as many octets as the range needs.
pub fn encode(values: impl Iterator<Item = u64> + Clone, out: &mut Vec<u8>) -> Range {
    let mut range = Range { least: u64::MAX, greatest: 0, least_some: u64::MAX };
    for value in values.clone() {
        range.least = range.least.min(value);
        range.greatest = range.greatest.max(value);
        // 0 is the last of all here.
        range.least_some = range.least_some.min(value.wrapping_sub(1));
    }
    if range.least > range.greatest {
        return Range::default();
    }
    range.least_some = range.least_some.wrapping_add(1);
    let least = range.least;
    match range.width() {
        0 => {}
        1 => out.extend(values.map(|v| (v - least) as u8)),
        2 => values.for_each(|v| out.extend_from_slice(&((v - least) as u16).to_le_bytes())),
        4 => values.for_each(|v| out.extend_from_slice(&((v - least) as u32).to_le_bytes())),
        width => values.for_each(|v| out.extend_from_slice(&(v - least).to_le_bytes()[..width])),
    }
    range
}

/// Reads so many values into `out`, which is emptied first.
pub fn decode(octets: &[u8], range: Range, rows: usize, out: &mut Vec<u64>) -> Result<(), Damaged> {
    out.clear();
    let width = range.width();
    if octets.len() != width * rows {
        return Err(Damaged("a column has an odd length"));
    }
    let least = range.least;
    match width {
        0 => out.resize(rows, least),
        1 => out.extend(octets.iter().map(|o| least.wrapping_add(u64::from(*o)))),
        2 => fixed(octets, least, out, |value| u64::from(u16::from_le_bytes(value))),
        4 => fixed(octets, least, out, |value| u64::from(u32::from_le_bytes(value))),
        8 => fixed(octets, least, out, u64::from_le_bytes),
        width => out.extend((0..rows).map(|place| least.wrapping_add(value(octets, width, place)))),
    }
    Ok(())
}

fn fixed<const WIDTH: usize>(octets: &[u8], least: u64, out: &mut Vec<u64>, value: impl Fn([u8; WIDTH]) -> u64) {
    let values = octets.chunks_exact(WIDTH).filter_map(|o| <[u8; WIDTH]>::try_from(o).ok());
    out.extend(values.map(|octets| least.wrapping_add(value(octets))));
}

/// A value of any width: eight octets at once where there are as many, else one after the other.
#[inline]
fn value(octets: &[u8], width: usize, place: usize) -> u64 {
    let rest = octets.get(width * place..).unwrap_or_default();
    match rest.first_chunk() {
        Some(eight) if width < 8 => u64::from_le_bytes(*eight) & ((1 << (8 * width)) - 1),
        _ => rest.iter().take(width).rev().fold(0, |value, octet| value << 8 | u64::from(*octet)),
    }
}

/// Reads the values at some places, in order, into `out`, which is emptied first.
pub fn gather(octets: &[u8], range: Range, places: &[usize], out: &mut Vec<u64>) -> Result<(), Damaged> {
    out.clear();
    let width = range.width();
    if places.last().is_some_and(|last| (last + 1) * width > octets.len()) {
        return Err(Damaged("a column has an odd length"));
    }
    out.extend(places.iter().map(|place| range.least.wrapping_add(value(octets, width, *place))));
    Ok(())
}

/// What comes first of gists that were written together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// How many gists.
    pub rows: usize,
    ranges: [Range; COLUMNS],
    /// Where each column lies in the head, and the addresses last; none if they lie apart.
    places: Option<[usize; COLUMNS + 1]>,
}

impl Head {
    /// Reads it.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn read(octets: &[u8]) -> Result<Self, Damaged> {
        let mut from = versioned(octets)?;
        let rows = from.small::<usize>()?;
        if rows > GISTS_MAX {
            return Err(Damaged("more gists than lie together"));
        }
        let together = from.uint()? != 0;
        let (mut ranges, mut places) = ([Range::default(); COLUMNS], [0; COLUMNS + 1]);
        for (range, place) in ranges.iter_mut().zip(&mut places) {
            *range = Range::read(&mut from)?;
            *place = octets.len() - from.left();
            if together {
                from.raw(range.width() * rows)?;
            }
        }
        places[COLUMNS] = octets.len() - from.left();
        Ok(Head { rows, ranges, places: together.then_some(places) })
    }

    /// The range of a column.
    pub fn range(&self, column: usize) -> Range {
        self.ranges.get(column).copied().unwrap_or_default()
    }

    /// Whether the octets of a column lie apart from the head.
    pub fn is_apart(&self, column: usize) -> bool {
        self.places.is_none() && (column >= COLUMNS || self.range(column).width() > 0)
    }

    /// Reads a column; `octets` are those of the head, or of what lies apart.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn values(&self, column: usize, octets: &[u8], out: &mut Vec<u64>) -> Result<(), Damaged> {
        decode(self.octets(column, octets), self.range(column), self.rows, out)
    }

    /// Reads some values of a column, as [`Head::values`] does.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn gather(&self, column: usize, octets: &[u8], places: &[usize], out: &mut Vec<u64>) -> Result<(), Damaged> {
        gather(self.octets(column, octets), self.range(column), places, out)
    }

    fn octets<'o>(&self, column: usize, octets: &'o [u8]) -> &'o [u8] {
        let width = self.range(column).width();
        match self.places {
            _ if width == 0 => &[],
            Some(places) => {
                let from = places.get(column).copied().unwrap_or(usize::MAX);
                octets.get(from..from.saturating_add(width * self.rows)).unwrap_or_default()
            }
            None => octets,
        }
    }

    /// Reads the addresses; `octets` are those of the head, or of what lies apart.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn hosts(&self, octets: &[u8]) -> Result<Hosts, Damaged> {
        let from = self.places.map_or(0, |places| places[COLUMNS]);
        Hosts::read(octets.get(from..).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_come_back(values in prop::collection::vec(any::<u64>(), 0..40), shift in 0u32..64) {
            let values: Vec<u64> = values.into_iter().map(|v| v >> shift).collect();
            let mut octets = vec![];
            let range = encode(values.iter().copied(), &mut octets);
            prop_assert!(values.iter().all(|v| (range.least..=range.greatest).contains(v)));
            let mut back = vec![7];
            decode(&octets, range, values.len(), &mut back).unwrap();
            prop_assert_eq!(&back, &values);
            let places: Vec<usize> = (0..values.len()).step_by(3).collect();
            gather(&octets, range, &places, &mut back).unwrap();
            prop_assert!(back.iter().eq(values.iter().step_by(3)));
            prop_assert!(decode(&octets, range, values.len() + 1, &mut back).is_err() || range.width() == 0);
        }

        #[test]
        fn damaged_heads_are_told(octets in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut octets = octets;
            octets.insert(0, 1);
            if let Ok(head) = Head::read(&octets) {
                let mut out = vec![];
                for column in 0..COLUMNS {
                    let _ = head.values(column, &octets, &mut out);
                }
                let _ = head.hosts(&octets);
            }
        }
    }
}
