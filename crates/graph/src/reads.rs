//! What becomes of the variables that were read: which of several ways to read a series the device has, and the numbers
//! that go into its file.

use crate::poller::{self, Sample, Unknown};
use trunkline_rrd::Value;
use trunkline_wire::snmp::ObjectId;

/// How a data source is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// The data source.
    pub id: u32,
    /// Whether it is of a row, whose place may change when the device starts anew.
    pub of_row: bool,
    /// Its series, in the order of its file.
    pub series: Vec<SeriesRead>,
}

/// How a series is read.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesRead {
    /// Where, the best first.
    pub reads: Vec<ObjectId>,
    /// What each number is multiplied with; none while that is not known.
    pub factor: Option<f64>,
    /// Whether it counts.
    pub is_counter: bool,
}

/// The data sources of a device, and what was learned of them.
///
/// **Until a device has answered, all ways are asked for; from then on the one that it has.** A counter of 32 bits
/// never follows one of 64 bits in a file without an unknown between them: their difference would be a spike.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    sources: Vec<Chosen>,
}

#[derive(Clone, Debug)]
struct Chosen {
    recipe: Recipe,
    /// For each series the way that it has.
    ways: Vec<Option<u8>>,
    /// For each series the way of the last number.
    last: Vec<Option<u8>>,
}

/// What a sample has become.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    /// Its values, in the order of the file.
    pub values: Vec<Value<'static>>,
    /// What counts has begun again, or is another counter than before: what lies between is unknown. These values are
    /// to stand before the others, at a moment just before them.
    pub before: Option<Vec<Value<'static>>>,
    /// Other variables are to be asked for from now on.
    pub asks_anew: bool,
}

impl Reads {
    /// Of recipes. What was learned of the same ones before stays.
    pub fn new(recipes: Vec<Recipe>, before: Reads) -> Reads {
        let mut known: std::collections::HashMap<u32, Chosen> =
            before.sources.into_iter().map(|chosen| (chosen.recipe.id, chosen)).collect();
        let chosen = |recipe: Recipe| {
            let learned = known.remove(&recipe.id).filter(|before| before.recipe == recipe);
            let none = vec![None; recipe.series.len()];
            learned.unwrap_or_else(|| Chosen { recipe, ways: none.clone(), last: none })
        };
        let mut sources: Vec<Chosen> = recipes.into_iter().map(chosen).collect();
        sources.sort_by_key(|chosen| chosen.recipe.id);
        Reads { sources }
    }

    /// These data sources alone, with what was learned of them.
    pub fn only(&self, sources: &[u32]) -> Reads {
        let these = self.sources.iter().filter(|chosen| sources.contains(&chosen.recipe.id));
        Reads { sources: these.cloned().collect() }
    }

    /// How many data sources.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// What is to be asked for now.
    pub fn sources(&self) -> Vec<poller::Source> {
        let names = |chosen: &Chosen| -> Vec<ObjectId> {
            let series = chosen.recipe.series.iter().zip(&chosen.ways);
            series.flat_map(|(series, way)| asked(series, *way).iter().cloned()).collect()
        };
        self.sources.iter().map(|chosen| poller::Source { id: chosen.recipe.id, names: names(chosen) }).collect()
    }

    /// Whether a data source is of a row.
    pub fn is_of_row(&self, source: u32) -> bool {
        self.place(source).is_some_and(|place| self.sources[place].recipe.of_row)
    }

    fn place(&self, source: u32) -> Option<usize> {
        self.sources.binary_search_by_key(&source, |chosen| chosen.recipe.id).ok()
    }

    /// The values of a sample; none if it is of a data source, or of variables, that were asked for before.
    pub fn take(&mut self, sample: &Sample<'_>) -> Option<Taken> {
        let place = self.place(sample.source)?;
        self.sources[place].take(sample)
    }
}

fn asked(series: &SeriesRead, way: Option<u8>) -> &[ObjectId] {
    match way.and_then(|way| series.reads.get(usize::from(way))) {
        Some(one) => core::slice::from_ref(one),
        None => &series.reads,
    }
}

impl Chosen {
    fn take(&mut self, sample: &Sample<'_>) -> Option<Taken> {
        let asked_len = |series: &SeriesRead, way: Option<u8>| asked(series, way).len();
        let all: usize = self.recipe.series.iter().zip(&self.ways).map(|(series, way)| asked_len(series, *way)).sum();
        if all != sample.readings.len() {
            return None;
        }
        let (mut taken, mut rest, mut breaks) = (Taken::default(), sample.readings, false);
        for (place, series) in self.recipe.series.iter().enumerate() {
            let way = self.ways[place];
            let (these, others) = rest.split_at(asked_len(series, way));
            rest = others;
            let known = first_known(these);
            let at = known.map(|at| way.unwrap_or(at as u8));
            if series.reads.len() > 1 {
                // What was there is gone, so the others are asked for again, too.
                let next = if way.is_some() && these.iter().all(is_gone) { None } else { way.or(at) };
                taken.asks_anew |= next != way;
                self.ways[place] = next;
            }
            let last = self.last[place];
            let is_another = last.is_some() && at.is_some() && last != at;
            breaks |= series.is_counter && (sample.is_restarted || is_another);
            self.last[place] = at.or(last);
            taken.values.push(match (known, series.factor) {
                (Some(at), Some(factor)) => value(&these[at], factor, series.is_counter),
                _ => Value::Unknown,
            });
        }
        let series = self.recipe.series.iter().zip(&taken.values);
        let before = || series.map(|(series, value)| if series.is_counter { Value::Unknown } else { *value }).collect();
        taken.before = breaks.then(before);
        Some(taken)
    }
}

/// The first that the device has; none while it may have a better one that was not answered.
fn first_known(readings: &[poller::Reading]) -> Option<usize> {
    let at = readings.iter().position(poller::Reading::is_known)?;
    readings[..at].iter().all(is_gone).then_some(at)
}

fn is_gone(reading: &poller::Reading) -> bool {
    matches!(reading, poller::Reading::Unknown(Unknown::NoSuchObject | Unknown::NoSuchInstance))
}

/// A number as a file takes it. Counters are whole, so that their wraps are seen.
pub(crate) fn value(reading: &poller::Reading, factor: f64, is_counter: bool) -> Value<'static> {
    use poller::Reading;
    let whole = match *reading {
        Reading::Integer(number) => Value::Signed(number),
        Reading::Counter32(number) | Reading::Ticks(number) => Value::Unsigned(number.into()),
        Reading::Counter64(number) | Reading::Gauge(number) => Value::Unsigned(number),
        Reading::Real(number) => Value::Float(number),
        Reading::Unknown(_) => return Value::Unknown,
    };
    if is_counter || factor == 1.0 {
        return whole;
    }
    let number = match whole {
        Value::Signed(number) => number as f64,
        Value::Unsigned(number) => number as f64,
        Value::Float(number) => number,
        Value::Unknown | Value::Text(_) => return Value::Unknown,
    };
    Value::Float(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poller::Reading;

    fn series(reads: &[&str], is_counter: bool) -> SeriesRead {
        let reads = reads.iter().map(|oid| oid.parse().unwrap()).collect();
        SeriesRead { reads, factor: Some(if is_counter { 1.0 } else { 0.1 }), is_counter }
    }

    fn reads() -> Reads {
        let wide_or_narrow = series(&["1.3.6.1.2.1.31.1.1.1.6.7", "1.3.6.1.2.1.2.2.1.10.7"], true);
        let level = series(&["1.3.6.1.2.1.2.2.1.8.7"], false);
        let recipe = Recipe { id: 5, of_row: true, series: vec![wide_or_narrow, level] };
        Reads::new(vec![recipe], Reads::default())
    }

    fn sample(readings: &[Reading], is_restarted: bool) -> Sample<'_> {
        Sample { device: 1, source: 5, unix_ms: 1_000, is_restarted, readings }
    }

    const GONE: Reading = Reading::Unknown(Unknown::NoSuchInstance);
    const LATE: Reading = Reading::Unknown(Unknown::Timeout);

    #[test]
    fn the_best_counter_that_is_there_is_kept_to() {
        let mut reads = reads();
        assert_eq!(reads.sources()[0].names.len(), 3);
        let all = [Reading::Counter64(70), Reading::Counter32(70), Reading::Integer(12)];
        let taken = reads.take(&sample(&all, false)).unwrap();
        assert_eq!(taken.values, [Value::Unsigned(70), Value::Float(12.0 * 0.1)]);
        assert!(taken.asks_anew && taken.before.is_none());
        assert_eq!(reads.sources()[0].names.len(), 2);
        // What was asked for before is of nobody.
        assert_eq!(reads.take(&sample(&all, false)), None);
        let one = [Reading::Counter64(80), Reading::Integer(1)];
        assert_eq!(reads.take(&sample(&one, false)).unwrap().values[0], Value::Unsigned(80));
    }

    #[test]
    fn a_counter_that_was_late_is_not_replaced_by_a_narrow_one() {
        let mut reads = reads();
        let late = [LATE, Reading::Counter32(70), Reading::Integer(1)];
        let taken = reads.take(&sample(&late, false)).unwrap();
        assert!(taken.values[0] == Value::Unknown && !taken.asks_anew);
    }

    #[test]
    fn another_counter_and_a_new_start_leave_no_spike() {
        let mut reads = reads();
        let narrow = [GONE, Reading::Counter32(70), Reading::Integer(1)];
        assert!(reads.take(&sample(&narrow, false)).unwrap().before.is_none());
        let gone = [GONE, Reading::Integer(1)];
        assert!(reads.take(&sample(&gone, false)).unwrap().asks_anew);
        let wide = [Reading::Counter64(1 << 40), Reading::Counter32(0), Reading::Integer(1)];
        let taken = reads.take(&sample(&wide, false)).unwrap();
        assert_eq!(taken.values[0], Value::Unsigned(1 << 40));
        assert_eq!(taken.before, Some(vec![Value::Unknown, Value::Float(0.1)]));
        let again = [Reading::Counter64(3), Reading::Integer(1)];
        assert!(reads.take(&sample(&again, true)).unwrap().before.is_some());
        assert!(reads.take(&sample(&again, false)).unwrap().before.is_none());
    }
}
