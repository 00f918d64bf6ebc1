//! A measurement of rows over the time before it, again and again.

use super::measure::{Cell, Measured, Tally};
use super::settings::Measure;
use super::{GROUPS_MAX, RowsWatch};
use std::collections::{BTreeMap, VecDeque};
use trunkline_store::row::Call;

/// After so many seconds without a row a group whose rows are counted is forgotten.
const GONE_AFTER_S: i64 = 3_600;
/// And so is any other group.
const SILENT_AFTER_S: i64 = 86_400;

/// Rows of one rule: those of each `every` are added up, and those of `over` are measured together.
#[derive(Debug)]
pub struct Sliding {
    watch: RowsWatch,
    /// Beginnings and what came then, the newest last; no more than `over` has times `every`.
    parts: VecDeque<(i64, Tally)>,
    /// When each group had a row last; at most [`GROUPS_MAX`].
    known: BTreeMap<String, i64>,
    /// When it is measured next; none before it was asked once.
    next_s: Option<i64>,
    left_out: u64,
}

/// What was measured at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The moment, seconds since 1970.
    pub at_s: i64,
    /// What each group comes to.
    pub measured: Vec<Measured>,
    /// Groups that are forgotten.
    pub gone: Vec<String>,
}

impl Sliding {
    /// Of a rule; no row yet.
    pub fn new(watch: RowsWatch) -> Sliding {
        Sliding { watch, parts: VecDeque::new(), known: BTreeMap::new(), next_s: None, left_out: 0 }
    }

    /// What is watched.
    pub fn watch(&self) -> &RowsWatch {
        &self.watch
    }

    /// Takes a row that came now ([`Tally::take`]).
    pub fn take(&mut self, now_s: i64, call: Option<&Call>, cell: impl Fn(&str) -> Cell) {
        let every_s = self.watch.every_s.max(1);
        let begin_s = now_s.div_euclid(every_s) * every_s;
        if self.parts.back().is_none_or(|(last_s, _)| *last_s < begin_s) {
            self.parts.push_back((begin_s, Tally::default()));
        }
        if let Some((_, tally)) = self.parts.back_mut() {
            let before = tally.left_out();
            tally.take(&self.watch, call, cell);
            self.left_out += tally.left_out() - before;
        }
    }

    /// When it is measured next, seconds since 1970.
    pub fn poll_timeout(&self) -> Option<i64> {
        self.next_s
    }

    /// Rows of groups beyond [`GROUPS_MAX`].
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Measures, if it is time: at each whole `every`. The first one comes when there was a whole one before it.
    pub fn handle_timeout(&mut self, now_s: i64) -> Option<Measurement> {
        let every_s = self.watch.every_s.max(1);
        let at_s = now_s.div_euclid(every_s) * every_s;
        let is_due = self.next_s.is_some_and(|next_s| next_s <= now_s);
        // A clock that was set back by more than one `every` begins anew.
        if self.next_s.is_none_or(|next_s| next_s <= now_s || next_s > at_s + 2 * every_s) {
            self.next_s = Some(at_s + every_s);
        }
        is_due.then(|| self.measure(at_s))
    }

    fn measure(&mut self, at_s: i64) -> Measurement {
        self.parts.retain(|(begin_s, _)| *begin_s >= at_s - self.watch.over_s);
        let mut all = Tally::default();
        // What came after the moment belongs to the next one.
        self.parts.iter().filter(|(begin_s, _)| *begin_s < at_s).for_each(|(_, tally)| all.add(tally));
        let mut measured = all.finish(&self.watch);
        if self.watch.group.is_none() {
            return Measurement { at_s, measured, gone: Vec::new() };
        }
        self.known.extend(measured.iter().map(|measured| (measured.group.clone(), at_s)));
        let gone = self.forget(at_s);
        if matches!(self.watch.measure, Measure::Count | Measure::Sum) {
            let silent = self.known.iter().filter(|(_, last_s)| **last_s < at_s);
            let nothing = |(group, _): (&String, &i64)| Measured { group: group.clone(), value: Some(0.0), samples: 1 };
            measured.extend(silent.map(nothing));
        }
        Measurement { at_s, measured, gone }
    }

    /// Groups that had no row for long; of too many those without one for the longest.
    fn forget(&mut self, at_s: i64) -> Vec<String> {
        let counted = matches!(self.watch.measure, Measure::Count | Measure::Sum);
        let after_s = if counted { GONE_AFTER_S } else { SILENT_AFTER_S };
        let mut oldest: Vec<(i64, &String)> = self.known.iter().map(|(group, last_s)| (*last_s, group)).collect();
        oldest.sort();
        let over = oldest.len().saturating_sub(GROUPS_MAX);
        let is_gone = |(place, (last_s, _)): &(usize, &(i64, &String))| *place < over || at_s - last_s >= after_s;
        let mut gone: Vec<String> =
            oldest.iter().enumerate().filter(is_gone).map(|(_, (_, group))| (*group).clone()).collect();
        gone.sort();
        self.known.retain(|group, _| gone.binary_search(group).is_err());
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Known, Watch, read};

    fn sliding(keys: &str) -> Sliding {
        let text = format!("[rule.r]\nlimit = 1\nrows = \"losses\"\n{keys}\n");
        match read(&[("r.toml", &text)], &Known::default()).unwrap().rules["r"].watch.clone() {
            Watch::Rows(rows) => Sliding::new(rows),
            _ => unreachable!("rows are watched"),
        }
    }

    fn loss(sliding: &mut Sliding, now_s: i64, place: &str) {
        sliding.take(now_s, None, |column| match column {
            "place" => Cell::Text(place.to_owned()),
            _ => Cell::None,
        });
    }

    fn values(measurement: Option<Measurement>) -> Vec<(String, f64)> {
        measurement.unwrap().measured.into_iter().map(|m| (m.group, m.value.unwrap())).collect()
    }

    #[test]
    fn rows_leave_after_their_time() {
        let mut sliding = sliding("every = \"60 s\"\nover = \"120 s\"");
        assert_eq!(sliding.handle_timeout(1_000), None, "it begins at the next whole minute");
        assert_eq!(sliding.poll_timeout(), Some(1_020));
        for at_s in [1_001, 1_019, 1_020, 1_085] {
            loss(&mut sliding, at_s, "ring");
        }
        assert_eq!(values(sliding.handle_timeout(1_020)), [(String::new(), 2.0)]);
        assert_eq!(sliding.handle_timeout(1_079), None);
        assert_eq!(values(sliding.handle_timeout(1_081)), [(String::new(), 3.0)]);
        assert_eq!(values(sliding.handle_timeout(1_140)), [(String::new(), 2.0)]);
        assert_eq!(values(sliding.handle_timeout(1_500)), [(String::new(), 0.0)]);
        assert_eq!(sliding.poll_timeout(), Some(1_560));
    }

    #[test]
    fn a_group_without_rows_counts_none_and_is_forgotten() {
        let mut sliding = sliding("every = \"60 s\"\nover = \"60 s\"\ngroup = \"place\"");
        sliding.handle_timeout(0);
        loss(&mut sliding, 1, "card");
        loss(&mut sliding, 2, "ring");
        loss(&mut sliding, 61, "ring");
        let two = |card: f64, ring: f64| vec![("card".to_owned(), card), ("ring".to_owned(), ring)];
        assert_eq!(values(sliding.handle_timeout(60)), two(1.0, 1.0));
        let mut next = values(sliding.handle_timeout(120));
        next.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(next, two(0.0, 1.0));
        let last = sliding.handle_timeout(60 + GONE_AFTER_S).unwrap();
        assert_eq!((last.gone.as_slice(), last.measured.len()), (["card".to_owned()].as_slice(), 1));
    }
}
