//! Rows as they come, as rules see them: measured over the time before, by group.

use super::here::{Fed, show};
use super::metrics::now_s;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, RwLock};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use trunkline_alert::job::{Alerts, Seen};
use trunkline_alert::rule::{Cell, Measurement, RowsWatch, Rules, Sliding, Table, Watch, columns as columns_of};
use trunkline_store::columns::{self, Scratch, Value};
use trunkline_store::packed::endpoint_of;
use trunkline_store::row::{Call, Ladder, Rows};
use trunkline_store::schema::{Column, Kind};

/// Rows that wait for rules; more are left out, and counted.
// Limit: rows waiting for the rules
// Beyond: further rows are not counted to rules
// Seen in: `trunkline_alert_left_out_rows_overflow_total`
pub const ROWS_WATCHED_MAX: usize = 100_000;
/// How long nothing may come before the time is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// Where rows are shown: it takes a copy of what rules watch, and never waits.
#[derive(Clone)]
pub struct Tap {
    rows: Sender<Rows>,
    waiting: Arc<AtomicUsize>,
    wanted: Arc<RwLock<Vec<Table>>>,
    fed: Arc<Fed>,
}

impl Tap {
    /// Shows rows.
    pub fn take(&self, rows: &Rows) {
        let wanted = self.wanted.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        if wanted.is_empty() {
            return;
        }
        let copy = copy(rows, &wanted);
        let count = copy.count();
        if count == 0 {
            return;
        }
        if self.waiting.fetch_add(count, Ordering::AcqRel) + count > ROWS_WATCHED_MAX {
            self.waiting.fetch_sub(count, Ordering::AcqRel);
            self.fed.rows_left_out.fetch_add(count as u64, Ordering::Relaxed);
            return;
        }
        // Where the feed has ended, nobody watches any more.
        let _ended = self.rows.send(copy);
    }
}

/// What rules watch of rows. Ladders are long, and no filter asks for them.
fn copy(rows: &Rows, wanted: &[Table]) -> Rows {
    let wants = |table: Table| wanted.contains(&table);
    let streams = wants(Table::Streams);
    let call =
        |call: &Call| Call { ladder: Ladder { hosts: call.ladder.hosts.clone(), ..Ladder::default() }, ..call.clone() };
    let all = |calls: &[Call]| calls.iter().map(call).collect();
    Rows {
        calls: if wants(Table::Calls) || streams { all(&rows.calls) } else { Vec::new() },
        streams: if streams { rows.streams.clone() } else { Vec::new() },
        intervals: if wants(Table::StreamIntervals) { rows.intervals.clone() } else { Vec::new() },
        registrations: if wants(Table::Registrations) { rows.registrations.clone() } else { Vec::new() },
        events: if wants(Table::SipEvents) { rows.events.clone() } else { Vec::new() },
        losses: if wants(Table::Losses) { rows.losses.clone() } else { Vec::new() },
        charges: if wants(Table::Charges) { rows.charges.clone() } else { Vec::new() },
    }
}

/// Starts the thread that measures.
///
/// # Errors
/// It cannot be started.
pub fn feed(alerts: Arc<Alerts>, fed: Arc<Fed>) -> io::Result<(Tap, JoinHandle<()>)> {
    let (rows, comes) = channel();
    let (waiting, wanted) = (Arc::<AtomicUsize>::default(), Arc::<RwLock<Vec<Table>>>::default());
    let tap = Tap { rows, waiting: Arc::clone(&waiting), wanted: Arc::clone(&wanted), fed: Arc::clone(&fed) };
    let mut measuring = Measures::new(alerts.rules());
    measuring.want(&wanted);
    let runs = move || {
        while !fed.ends() {
            let rules = alerts.rules();
            if !Arc::ptr_eq(&rules, &measuring.rules) {
                measuring = Measures::following(rules, measuring);
                measuring.want(&wanted);
            }
            if !measuring.turn(&comes, &waiting, &alerts, &fed) {
                return;
            }
        }
    };
    Ok((tap, Builder::new().name("alert-rows".to_owned()).spawn(runs)?))
}

/// The measurements of all rules over rows.
struct Measures {
    rules: Arc<Rules>,
    all: Vec<(String, Sliding)>,
    /// Rows of groups beyond those of a measurement that were counted already.
    left_out: u64,
}

impl Measures {
    fn new(rules: Arc<Rules>) -> Measures {
        let of_rows = |(name, rule): (&String, &trunkline_alert::rule::Rule)| match &rule.watch {
            Watch::Rows(watch) => Some((name.clone(), Sliding::new(watch.clone()))),
            _ => None,
        };
        let all = rules.rules.iter().filter_map(of_rows).collect();
        Measures { rules, all, left_out: 0 }
    }

    /// By other rules: what measures the same goes on.
    fn following(rules: Arc<Rules>, before: Measures) -> Measures {
        let mut measures = Measures::new(rules);
        for (name, sliding) in before.all {
            let same = measures.all.iter_mut().find(|(other, new)| *other == name && new.watch() == sliding.watch());
            if let Some((_, new)) = same {
                measures.left_out += sliding.left_out();
                *new = sliding;
            }
        }
        measures
    }

    fn want(&self, wanted: &RwLock<Vec<Table>>) {
        let mut tables: Vec<Table> = self.all.iter().map(|(_, sliding)| sliding.watch().table).collect();
        tables.dedup();
        *wanted.write().unwrap_or_else(std::sync::PoisonError::into_inner) = tables;
    }

    /// Takes what comes and measures what is due; whether more may come.
    fn turn(&mut self, comes: &Receiver<Rows>, waiting: &AtomicUsize, alerts: &Alerts, fed: &Fed) -> bool {
        let mut next = comes.recv_timeout(LOOK);
        self.measure(alerts);
        loop {
            match next {
                Ok(rows) => {
                    self.take(&rows, now_s());
                    waiting.fetch_sub(rows.count(), Ordering::AcqRel);
                }
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
            self.measure(alerts);
            next = comes.recv_timeout(Duration::ZERO);
        }
        let left_out = self.all.iter().map(|(_, sliding)| sliding.left_out()).sum();
        fed.groups_left_out.fetch_add(left_out - self.left_out, Ordering::Relaxed);
        self.left_out = left_out;
        true
    }

    fn take(&mut self, rows: &Rows, now_s: i64) {
        for (_, sliding) in &mut self.all {
            each(rows, sliding.watch().table, |call, cells| {
                sliding.take(now_s, call, |column| cells.cell(column));
            });
        }
    }

    fn measure(&mut self, alerts: &Alerts) {
        let now_s = now_s();
        for (rule, sliding) in &mut self.all {
            let Some(measurement) = sliding.handle_timeout(now_s) else { continue };
            measurement.gone.iter().for_each(|group| alerts.forget(rule, &subject(group)));
            show(alerts, seen(rule, sliding.watch(), measurement));
        }
    }
}

/// Without groups there is one subject.
fn subject(group: &str) -> String {
    if group.is_empty() { "all".to_owned() } else { group.to_owned() }
}

fn seen(rule: &str, watch: &RowsWatch, measurement: Measurement) -> Vec<Seen> {
    let at_s = measurement.at_s;
    let one = |measured: trunkline_alert::rule::Measured| {
        let group = watch.group.as_ref().map(|group| (group.column.clone(), measured.group.clone()));
        let fields = [("table".to_owned(), watch.table.name().to_owned())].into_iter().chain(group);
        Seen {
            rule: rule.to_owned(),
            subject: subject(&measured.group),
            device: String::new(),
            fields: fields.collect(),
            at_s,
            value: measured.value,
            samples: measured.samples,
        }
    };
    measurement.measured.into_iter().map(one).collect()
}

/// The columns of a row, by their names.
struct Cells<'a> {
    columns: &'static [Column],
    values: &'a [Value<'a>],
}

impl Cells<'_> {
    fn cell(&self, name: &str) -> Cell {
        let Some(at) = self.columns.iter().position(|column| column.name == name) else { return Cell::None };
        let value = self.values.get(at).copied().unwrap_or(Value::Null);
        match (value, self.columns[at].kind) {
            (Value::Null, _) => Cell::None,
            (Value::Whole(number), Kind::Name(names)) => usize::try_from(number)
                .ok()
                .and_then(|number| names.get(number))
                .map_or(Cell::None, |name| Cell::Text((*name).to_owned())),
            (Value::Whole(number), _) => Cell::Number(number as f64),
            (Value::Real(number), _) => Cell::Number(number),
            (Value::Text(text) | Value::Word(text), _) => Cell::Text(text.to_owned()),
            (Value::Endpoint(octets), _) => {
                endpoint_of(octets.as_slice()).map_or(Cell::None, |endpoint| Cell::Text(endpoint.to_string()))
            }
            (Value::Octets(_), _) => Cell::None,
        }
    }
}

/// Shows each row of a table with its columns, and the call that it is.
fn each(rows: &Rows, table: Table, mut see: impl FnMut(Option<&Call>, &Cells<'_>)) {
    let columns = columns_of(table);
    let mut scratch = Scratch::default();
    match table {
        Table::Calls => rows.calls.iter().for_each(|call| {
            see(Some(call), &Cells { columns, values: &columns::call(call, 0, &mut scratch) });
        }),
        Table::Streams => {
            let all = rows.calls.iter().flat_map(|call| &call.streams).chain(&rows.streams);
            all.for_each(|stream| {
                see(None, &Cells { columns, values: &columns::stream(stream, None, &mut scratch) });
            });
        }
        Table::StreamIntervals => {
            rows.intervals.iter().for_each(|row| see(None, &Cells { columns, values: &columns::interval(row) }));
        }
        Table::Registrations => rows.registrations.iter().for_each(|row| {
            see(None, &Cells { columns, values: &columns::registration(row, &mut scratch) });
        }),
        Table::SipEvents => {
            rows.events.iter().for_each(|row| see(None, &Cells { columns, values: &columns::event(row) }));
        }
        Table::Losses => {
            rows.losses.iter().for_each(|row| see(None, &Cells { columns, values: &columns::loss(row) }));
        }
        Table::Charges => {
            rows.charges.iter().for_each(|row| see(None, &Cells { columns, values: &columns::charge(row) }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_alert::rule::{Known, read};
    use trunkline_store::row::{CallState, Loss, Verdict};

    fn call(code: u16, src: &str, kind: &str) -> Call {
        Call {
            code,
            state: if code == 200 { CallState::Completed } else { CallState::Rejected },
            src: src.parse().unwrap(),
            verdict: (!kind.is_empty()).then(|| Verdict { kind: kind.to_owned(), ..Verdict::default() }),
            ..Call::default()
        }
    }

    #[test]
    fn bad_calls_are_measured_by_whom_they_came_from() {
        let text = "[rule.asr]\nrows = \"calls\"\nmeasure = \"share\"\nof = \"code:5xx\"\ngroup = \"src/host\"\n\
            limit = 30\nevery = \"60 s\"\nover = \"300 s\"\n\
            [rule.states]\nrows = \"calls\"\ngroup = \"state\"\nlimit = 1\n\
            [rule.lost]\nrows = \"losses\"\nmeasure = \"sum\"\ncolumn = \"count\"\nlimit = 1\n";
        let rules = Arc::new(read(&[("r.toml", text)], &Known::default()).unwrap());
        let mut measures = Measures::new(rules);
        let wanted = RwLock::default();
        measures.want(&wanted);
        let rows = Rows {
            calls: vec![
                call(503, "192.0.2.1:5060", ""),
                call(200, "192.0.2.1:5062", "loss"),
                call(200, "192.0.2.7:5060", ""),
            ],
            losses: vec![Loss { count: 7, ..Loss::default() }, Loss { count: 5, ..Loss::default() }],
            ..Rows::default()
        };
        let rows = copy(&rows, &wanted.read().unwrap());
        measures.all.iter_mut().for_each(|(_, sliding)| assert_eq!(sliding.handle_timeout(0), None));
        measures.take(&rows, 10);
        let mut told = Vec::new();
        for (rule, sliding) in &mut measures.all {
            let seen = seen(rule, &sliding.watch().clone(), sliding.handle_timeout(60).unwrap());
            told.extend(seen.into_iter().map(|s| (s.rule, s.subject, s.value.unwrap(), s.samples)));
        }
        let row = |rule: &str, subject: &str, value, samples| (rule.to_owned(), subject.to_owned(), value, samples);
        let expected = [
            row("asr", "192.0.2.1", 50.0, 2),
            row("asr", "192.0.2.7", 0.0, 1),
            row("lost", "all", 12.0, 2),
            row("states", "completed", 2.0, 2),
            row("states", "rejected", 1.0, 1),
        ];
        assert_eq!(told, expected);
    }
    #[test]
    fn measurements_of_rules_that_are_as_they_were_go_on_after_a_reload() {
        let text = "[rule.r]\nrows = \"losses\"\nlimit = 1\nover = \"300 s\"\n[rule.other]\nrows = \"losses\"\n\
            limit = 1\nover = \"300 s\"\n";
        let rules = |text: &str| Arc::new(read(&[("r.toml", text)], &Known::default()).unwrap());
        let mut measures = Measures::new(rules(text));
        measures.all.iter_mut().for_each(|(_, sliding)| assert_eq!(sliding.handle_timeout(0), None));
        measures.take(&Rows { losses: vec![Loss::default(), Loss::default()], ..Rows::default() }, 10);
        let text = format!("{text}over = \"600 s\"\n").replacen("over = \"300 s\"\nover", "over", 1);
        let mut measures = Measures::following(rules(&text), measures);
        let counted = measures.all.iter_mut().map(|(rule, sliding)| {
            let counted = sliding.handle_timeout(60).map(|measurement| measurement.measured[0].value);
            (rule.as_str(), counted)
        });
        assert_eq!(counted.collect::<Vec<_>>(), [("other", None), ("r", Some(Some(2.0)))]);
    }
}
