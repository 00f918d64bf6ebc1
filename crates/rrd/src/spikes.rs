//! Spikes: values that a device never had, of a counter that began anew or was read wrongly. What is one is found in a
//! whole file, in each archive by itself, and is made unknown: what it should have been nobody knows. A row of a
//! coarser archive that has a spike in it is made again of the rows of the finer one, as far as those are still there.

use crate::archive::Archive;
use crate::fault::Fault;
use crate::number::UNKNOWN;
use crate::shape::Consolidation;
use std::collections::{BTreeMap, BTreeSet};

/// Spikes of one search; with more than so many what is looked for is no spike.
// Limit: spikes found by one search
// Beyond: the search is refused: these are no spikes
// Seen in: the error message
pub const SPIKES_MAX: usize = 10_000;
/// Of the greatest values of an archive, those that do not tell how its values usually are: one of so many, five at
/// least.
const LEFT_OUT_OF: usize = 50;
const LEFT_OUT_LEAST: usize = 5;
/// Values below which an archive does not tell how they usually are.
const VALUES_MIN: usize = 20;

/// What is more than ought to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SpikeBound {
    /// Than a value.
    Above(f64),
    /// Than the mean by so many standard deviations of the archive's values, the greatest of them left out. Where all
    /// others are the same, or are too few, nothing is.
    Deviations(f64),
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpikeSearch {
    /// What is too much.
    pub bound: SpikeBound,
    /// Of rows that end after this time, seconds since 1970.
    pub start_s: i64,
    /// Of rows that end at it at the latest.
    pub end_s: i64,
}

/// A value that is too much, or a row that has such a value in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spike {
    /// The archive.
    pub ring: usize,
    /// Seconds of one of its rows.
    pub row_s: u64,
    /// The data source, by its place in the file.
    pub source: usize,
    /// When the row ends, seconds since 1970.
    pub end_s: i64,
    /// The value.
    pub value: f64,
    /// What it becomes: what finer rows say without their spikes, or NaN: unknown.
    pub becomes: f64,
    at: usize,
}

/// The rows of an archive for a data source by when they end: where the value stands, and the value.
type Values = BTreeMap<i64, (usize, f64)>;

/// The spikes of a whole file, by data source, and archives from the finest on.
///
/// # Errors
/// [`Fault`]: it is no such file, or what is looked for is found too often.
pub fn spikes(octets: &[u8], search: &SpikeSearch) -> Result<Vec<Spike>, Fault> {
    let archive = Archive::open(octets)?;
    let shape = archive.shape();
    if (octets.len() as u64) < shape.file_octets {
        return Err(Fault::format(octets.len() as u64, "the file ends here, before its last row"));
    }
    let mut found = Vec::new();
    for source in 0..shape.sources.len() {
        for kind in [Consolidation::Average, Consolidation::Min, Consolidation::Max, Consolidation::Last] {
            let mut rings: Vec<usize> =
                (0..shape.rings.len()).filter(|ring| shape.rings[*ring].consolidation == kind).collect();
            rings.sort_by_key(|ring| shape.row_s(*ring));
            let mut finer: Option<(u64, Values, BTreeSet<i64>)> = None;
            for ring in rings {
                let (row_s, mut values) = (shape.row_s(ring), values(&archive, octets, ring, source));
                let mut ends = beyond(&values, search);
                if let Some((_, _, spikes)) = &finer {
                    let coarse = |end_s: &i64| (end_s + row_s as i64 - 1).div_euclid(row_s as i64) * row_s as i64;
                    ends.extend(spikes.iter().map(coarse).filter(|end_s| values.contains_key(end_s)));
                }
                for end_s in &ends {
                    let becomes = finer
                        .as_ref()
                        .map_or(UNKNOWN, |(of_s, finer, _)| again(kind, finer, (*end_s - row_s as i64, *end_s), *of_s));
                    if let Some((at, value)) = values.get_mut(end_s) {
                        found.push(Spike { ring, row_s, source, end_s: *end_s, value: *value, becomes, at: *at });
                        *value = becomes;
                    }
                }
                if found.len() > SPIKES_MAX {
                    return Err(Fault::asked(format!(
                        "more than {SPIKES_MAX} values are beyond it: these are no spikes"
                    )));
                }
                finer = Some((row_s, values, ends));
            }
        }
    }
    Ok(found)
}

/// A whole file in which these are what they become, and unknown in what archives keep for the rows that are to come.
///
/// # Errors
/// [`Fault`]: it is no such file.
pub fn without(octets: &[u8], spikes: &[Spike]) -> Result<Vec<u8>, Fault> {
    let mut archive = Archive::open(octets)?;
    let mut octets = octets.to_vec();
    for spike in spikes {
        let value = octets.get_mut(spike.at..spike.at + 8);
        let value = value.ok_or_else(|| Fault::format(spike.at as u64, "the file ends before a value of it"))?;
        let becomes = if spike.becomes.is_nan() { UNKNOWN } else { spike.becomes };
        value.copy_from_slice(&becomes.to_le_bytes());
    }
    let shape = std::sync::Arc::clone(archive.shape());
    for ring in 0..shape.rings.len() {
        let written_s = last_end_s(&archive, ring);
        let open = spikes.iter().filter(|spike| spike.end_s > written_s).map(|spike| spike.source);
        open.collect::<BTreeSet<usize>>().into_iter().for_each(|source| archive.forget_prepared(ring, source));
    }
    let mut live = Vec::new();
    archive.write_live(&mut live);
    octets[shape.still_octets..shape.still_octets + live.len()].copy_from_slice(&live);
    Ok(octets)
}

/// When the row ends that an archive wrote last.
fn last_end_s(archive: &Archive, ring: usize) -> i64 {
    let row_s = archive.shape().row_s(ring) as i64;
    archive.last().seconds.div_euclid(row_s) * row_s
}

fn values(archive: &Archive, octets: &[u8], number: usize, source: usize) -> Values {
    let (shape, last) = (archive.shape(), archive.row(number));
    let ring = &shape.rings[number];
    let (row_s, last_s) = (shape.row_s(number) as i64, last_end_s(archive, number));
    let value = |back: u64| {
        let row = (last + ring.rows - back) % ring.rows;
        let at = ring.at as usize + (row as usize * shape.sources.len() + source) * 8;
        let value = f64::from_le_bytes(octets.get(at..at + 8)?.try_into().ok()?);
        Some((last_s - back as i64 * row_s, (at, value)))
    };
    (0..ring.rows).filter_map(value).collect()
}

/// When rows end that have more than is usual.
fn beyond(values: &Values, search: &SpikeSearch) -> BTreeSet<i64> {
    let known = values.iter().filter(|(_, (_, value))| value.is_finite());
    let Some(most) = most(search.bound, known.clone().map(|(_, (_, value))| *value)) else { return BTreeSet::new() };
    let is_one = |end_s: i64, value: f64| value > most && end_s > search.start_s && end_s <= search.end_s;
    known.filter(|(end_s, (_, value))| is_one(**end_s, *value)).map(|(end_s, _)| *end_s).collect()
}

/// What is no spike is at most this; none where that cannot be told.
fn most(bound: SpikeBound, values: impl Iterator<Item = f64>) -> Option<f64> {
    let deviations = match bound {
        SpikeBound::Above(most) => return Some(most),
        SpikeBound::Deviations(deviations) => deviations,
    };
    let mut values: Vec<f64> = values.collect();
    if values.len() < VALUES_MIN {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    values.truncate(values.len() - (values.len() / LEFT_OUT_OF).max(LEFT_OUT_LEAST));
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    (deviation > 0.0).then_some(mean + deviations * deviation)
}

/// A row made of finer ones, of which all must be there and half be known.
fn again(kind: Consolidation, finer: &Values, (start_s, end_s): (i64, i64), of_s: u64) -> f64 {
    let rows = (end_s - start_s) as u64 / of_s.max(1);
    let there: Vec<f64> = finer.range(start_s + 1..=end_s).map(|(_, (_, value))| *value).collect();
    let known: Vec<f64> = there.iter().copied().filter(|value| value.is_finite()).collect();
    if there.len() as u64 != rows || known.len() * 2 < there.len() || known.is_empty() {
        return UNKNOWN;
    }
    match kind {
        Consolidation::Average => known.iter().sum::<f64>() / known.len() as f64,
        Consolidation::Min => known.iter().copied().fold(f64::INFINITY, f64::min),
        Consolidation::Max => known.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        _ => *there.last().unwrap_or(&UNKNOWN),
    }
}
