//! What happened in each second: threads hand their seconds in, and rows come out once all have.

use super::kind::{KINDS, Kind};
use super::ledger::Part;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use trunkline_kit::histogram::Histogram;

const SECOND_NS: u64 = 1_000_000_000;

/// Counts of one kind of request in a second. Requests that stop sessions at the end are among them, copies are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindSecond {
    /// Requests that were sent.
    pub sent: u64,
    /// Requests that were answered, whenever they were sent.
    pub answered: u64,
    /// Those among them whose answer was no success.
    pub failed: u64,
    /// Requests that were given up.
    pub timeouts: u64,
}

/// A second of a thread, or of several.
#[derive(Clone, Debug, Default)]
pub struct Second {
    kinds: [KindSecond; KINDS],
    /// Nanoseconds to the answers that came in it.
    pub latency: Histogram,
}

impl Second {
    /// Counts of a kind.
    pub fn of(&mut self, kind: Kind) -> &mut KindSecond {
        &mut self.kinds[kind.place()]
    }

    fn add(&mut self, other: &Second) {
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.sent += theirs.sent;
            mine.answered += theirs.answered;
            mine.failed += theirs.failed;
            mine.timeouts += theirs.timeouts;
        }
        self.latency.add(&other.latency);
    }
}

/// A second of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Which one, from 0.
    pub second: u64,
    /// Its counts, in the order of [`Kind::ALL`].
    pub kinds: [KindSecond; KINDS],
    /// Nanoseconds that half of the answers took at most.
    pub p50_ns: u64,
    /// Nanoseconds that 99 % of them took at most.
    pub p99_ns: u64,
    /// The most that one took.
    pub most_ns: u64,
}

impl Row {
    fn new(second: u64, all: &Second) -> Self {
        let (p50_ns, p99_ns) = (all.latency.quantile(0.5), all.latency.quantile(0.99));
        Row { second, kinds: all.kinds, p50_ns, p99_ns, most_ns: all.latency.most() }
    }

    /// A count over all kinds.
    pub fn all(&self, count: impl Fn(&KindSecond) -> u64) -> u64 {
        self.kinds.iter().map(count).sum()
    }
}

/// The first line of a file of rows.
pub fn heading(kinds: &[Kind]) -> String {
    let of_kind = |kind: &Kind| {
        let name = kind.name();
        format!("{name}_sent,{name}_answered,{name}_failed,{name}_timeouts")
    };
    let kinds: Vec<String> = kinds.iter().map(of_kind).collect();
    format!("second,{},p50_ms,p99_ms,max_ms", kinds.join(","))
}

impl Row {
    /// Its line in a file.
    pub fn line(&self, kinds: &[Kind]) -> String {
        let of_kind = |kind: &Kind| {
            let KindSecond { sent, answered, failed, timeouts } = self.kinds[kind.place()];
            format!("{sent},{answered},{failed},{timeouts}")
        };
        let kinds: Vec<String> = kinds.iter().map(of_kind).collect();
        let [p50, p99, most] = [self.p50_ns, self.p99_ns, self.most_ns].map(|ns| ns as f64 / 1e6);
        format!("{},{},{p50:.3},{p99:.3},{most:.3}", self.second, kinds.join(","))
    }
}

/// The seconds of all threads.
#[derive(Debug)]
pub struct Timeline {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// The second that each thread is in; those before it are handed in.
    reached: Vec<u64>,
    waiting: BTreeMap<u64, Second>,
    rows: Vec<Row>,
    csv: Option<BufWriter<File>>,
    kinds: &'static [Kind],
    error: Option<io::Error>,
}

impl Timeline {
    /// Of this many threads; rows go to the file as they come, with these kinds of requests.
    pub fn new(threads: usize, kinds: &'static [Kind], csv: Option<File>) -> Self {
        let mut inner = Inner {
            reached: vec![0; threads],
            waiting: BTreeMap::new(),
            rows: Vec::new(),
            csv: csv.map(BufWriter::new),
            kinds,
            error: None,
        };
        inner.write(&heading(kinds));
        Timeline { inner: Mutex::new(inner) }
    }

    /// The last row, for who waits.
    pub fn last(&self) -> Option<Row> {
        self.lock().rows.last().copied()
    }

    /// All rows, once the threads are over.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn rows(self) -> io::Result<Vec<Row>> {
        let inner = self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        match inner.error {
            Some(error) => Err(error),
            None => inner.csv.map_or(Ok(()), |mut csv| csv.flush()).map(|()| inner.rows),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn take(&mut self, thread: usize, number: u64, second: &Second, reached: u64) {
        self.waiting.entry(number).or_default().add(second);
        self.reached[thread] = reached;
        let over = self.reached.iter().copied().min().unwrap_or(0);
        // Behind the last second that anybody has seen, nothing has happened.
        let last = self.waiting.last_key_value().map_or(0, |(last, _)| last + 1);
        for number in self.rows.len() as u64..over.min(last) {
            let row = Row::new(number, &self.waiting.remove(&number).unwrap_or_default());
            self.write(&row.line(self.kinds));
            self.rows.push(row);
        }
    }

    fn write(&mut self, line: &str) {
        if let Some(csv) = &mut self.csv {
            // Who follows the file sees each second when it is over.
            let written = writeln!(csv, "{line}").and_then(|()| csv.flush());
            self.error = self.error.take().or(written.err());
        }
    }
}

/// The second that a thread is in.
#[derive(Debug)]
pub struct Hand<'a> {
    timeline: &'a Timeline,
    thread: usize,
    number: u64,
    second: Second,
}

impl<'a> Hand<'a> {
    /// Of a thread, before its first second.
    pub fn new(timeline: &'a Timeline, thread: usize) -> Self {
        Hand { timeline, thread, number: 0, second: Second::default() }
    }

    /// The second that it is in.
    pub fn second(&mut self) -> &mut Second {
        &mut self.second
    }

    /// Hands in the second, if it is over; the ledger is written then, too.
    pub fn tick(&mut self, now_ns: u64, ledger: &mut Option<Part<'_>>) {
        let number = now_ns / SECOND_NS;
        if number > self.number {
            self.hand_in(number);
            if let Some(ledger) = ledger {
                ledger.flush();
            }
        }
    }

    /// Hands in the last one.
    pub fn end(&mut self) {
        self.hand_in(u64::MAX);
    }

    fn hand_in(&mut self, reached: u64) {
        let second = std::mem::take(&mut self.second);
        self.timeline.lock().take(self.thread, self.number, &second, reached);
        self.number = reached;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_when_all_threads_are_beyond_them() {
        let timeline = Timeline::new(2, &Kind::ALL, None);
        let (mut one, mut other) = (Hand::new(&timeline, 0), Hand::new(&timeline, 1));
        one.second().of(Kind::Initial).sent = 3;
        one.second().latency.record(5_000_000, 1);
        one.tick(999_999_999, &mut None);
        one.tick(1_000_000_000, &mut None);
        assert_eq!(timeline.last(), None);
        other.second().of(Kind::Initial).sent = 4;
        other.tick(3_500_000_000, &mut None);
        assert_eq!(timeline.last().map(|row| (row.second, row.kinds[0].sent)), Some((0, 7)));
        one.second().of(Kind::Update).failed = 1;
        one.end();
        other.end();
        let rows = timeline.rows().unwrap();
        let seen: Vec<_> = rows.iter().map(|row| (row.second, row.all(|kind| kind.sent + kind.failed))).collect();
        assert_eq!(seen, [(0, 7), (1, 1), (2, 0), (3, 0)]);
        let kinds = [Kind::Update, Kind::Initial];
        assert_eq!(rows[0].line(&kinds), "0,0,0,0,0,7,0,0,0,5.000,5.000,5.000");
        assert_eq!(heading(&kinds).split(',').count(), rows[0].line(&kinds).split(',').count());
    }
}
