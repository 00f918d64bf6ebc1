//! What came of a run, as tables or a line of JSON.

use super::kind::{Kind, Level, result_name};
use super::tally::{KindTally, Tally};
use serde_json::{Map, Value, json};
use std::time::Duration;
use trunkline_kit::histogram::Histogram;
use trunkline_show::figure::{count, octets};
use trunkline_show::table::{Row, Table, number, text};
use trunkline_show::terminal::Terminal;
use trunkline_show::text::{Line, Style};

/// Quantiles that are told.
const QUANTILES: [(&str, &str, f64); 4] =
    [("p50", "p50", 0.5), ("p90", "p90", 0.9), ("p99", "p99", 0.99), ("p99_9", "p99.9", 0.999)];

/// What came of a run.
#[derive(Debug)]
pub struct Report {
    /// How long requests were sent.
    pub elapsed: Duration,
    /// What was counted.
    pub tally: Tally,
    /// The types of requests that the protocol has.
    pub kinds: &'static [Kind],
    /// Requests a second that were to be due once all sessions have begun, in open loop.
    pub due_per_second: Option<f64>,
    /// Processor time that the server took.
    pub processor: Option<Duration>,
}

impl Report {
    fn per_second(&self, number: u64) -> f64 {
        number as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    fn processor_us(&self) -> Option<f64> {
        let answered = self.tally.all(|kind| kind.answered) + self.tally.drained_well;
        Some(self.processor?.as_secs_f64() * 1e6 / answered.max(1) as f64)
    }

    /// One object.
    pub fn json(&self) -> Value {
        let tally = &self.tally;
        let types: Map<String, Value> =
            self.kinds.iter().map(|kind| (kind.name().to_owned(), self.kind_json(*kind))).collect();
        json!({
            "seconds": self.elapsed.as_secs_f64(), "due_per_second": self.due_per_second,
            "requests": tally.all(|kind| kind.sent), "answered": tally.all(|kind| kind.answered),
            "answered_per_second": self.per_second(tally.all(|kind| kind.answered)),
            "latency_us": latency_json(&tally.latency()), "types": types,
            "sessions": {
                "begun": tally.begun, "completed": tally.completed, "broken_off": tally.broken_off,
                "held_most": tally.held_most, "stopped_at_end": tally.drained,
                "stopped_at_end_well": tally.drained_well,
            },
            "duplicates": {
                "sent": tally.duplicates, "same": tally.same, "different": tally.different,
                "unanswered": tally.duplicates_unanswered, "differences": tally.differences,
            },
            "resent": tally.resent, "late": tally.late, "malformed": tally.malformed, "closed": tally.closed,
            "reconnected": tally.reconnected, "re_auths": tally.re_auths, "aborts": tally.aborts,
            "watchdogs": tally.watchdogs,
            "units": {
                "used_acknowledged": tally.used_acknowledged, "used_unacknowledged": tally.used_unacknowledged,
                "granted": tally.granted,
            },
            "sent_octets": tally.sent_octets, "received_octets": tally.received_octets,
            "server_cpu_seconds": self.processor.map(|time| time.as_secs_f64()),
            "server_cpu_us_per_request": self.processor_us(), "healthy": tally.is_healthy(), "trouble": tally.why,
        })
    }

    fn kind_json(&self, kind: Kind) -> Value {
        let counts = &self.tally.kinds[kind.place()];
        let failure = |((level, code), times): &((Level, u32), u64)| {
            let (level, name) = (level.name(), result_name(*code));
            json!({ "level": level, "code": code, "name": name, "count": times })
        };
        json!({
            "sent": counts.sent, "answered": counts.answered, "succeeded": counts.succeeded,
            "failed": counts.failed(), "timeouts": counts.timeouts, "lost": counts.lost, "unsent": counts.unsent,
            "failures": sorted(counts).iter().map(failure).collect::<Vec<_>>(),
            "latency_us": latency_json(&counts.latency),
        })
    }

    /// Tables: by type, failures, and the rest.
    pub fn lines(&self, terminal: &Terminal) -> Vec<Line> {
        let mut lines = self.types(terminal);
        lines.push(Line::new(terminal));
        let failures = self.failures(terminal);
        if !failures.is_empty() {
            lines.extend(failures);
            lines.push(Line::new(terminal));
        }
        lines.extend(self.figures(terminal));
        lines
    }

    fn types(&self, terminal: &Terminal) -> Vec<Line> {
        let counts = ["sent", "answered", "failed", "timed out", "lost", "unsent"];
        let titles = counts.into_iter().chain(QUANTILES.map(|(_, title, _)| title)).chain(["max"]);
        let mut table = Table::new([text("")].into_iter().chain(titles.map(number)).collect());
        for kind in Kind::ALL {
            let counts = &self.tally.kinds[kind.place()];
            if counts.sent + counts.unsent > 0 {
                table.row(kind_row(kind.name(), counts, terminal));
            }
        }
        let mut all = KindTally { latency: self.tally.latency(), ..KindTally::default() };
        for counts in &self.tally.kinds {
            all.sent += counts.sent;
            all.answered += counts.answered;
            all.succeeded += counts.succeeded;
            all.timeouts += counts.timeouts;
            all.lost += counts.lost;
            all.unsent += counts.unsent;
        }
        table.row(kind_row("all", &all, terminal));
        table.lines(terminal)
    }

    fn failures(&self, terminal: &Terminal) -> Vec<Line> {
        let mut table = Table::new(vec![text("failures"), text("of"), number("code"), text(""), number("count")]);
        let mut any = false;
        for kind in Kind::ALL {
            for ((level, code), times) in sorted(&self.tally.kinds[kind.place()]) {
                any = true;
                let cells = [kind.name(), level.name(), &code.to_string(), result_name(code), &count(times)];
                let cells = cells.map(|cell| Line::new(terminal).with(Style::Plain, cell)).to_vec();
                table.row(Row { cells, below: Vec::new() });
            }
        }
        if any { table.lines(terminal) } else { Vec::new() }
    }

    fn figures(&self, terminal: &Terminal) -> Vec<Line> {
        let mut table = Table::new(vec![text(""), number(""), text("")]);
        for (name, value, note) in self.rows() {
            let bad = matches!(name, "different" | "malformed" | "connections lost") && value != "0";
            let style = if bad { Style::Bad } else { Style::Bold };
            let cells = [(Style::Plain, name), (style, value.as_str()), (Style::Dim, note.as_str())];
            let cells = cells.map(|(style, cell)| Line::new(terminal).with(style, cell)).to_vec();
            table.row(Row { cells, below: Vec::new() });
        }
        table.lines(terminal)
    }

    fn rows(&self) -> Vec<(&'static str, String, String)> {
        let (tally, none) = (&self.tally, String::new);
        let answered = tally.all(|kind| kind.answered);
        let asked =
            self.due_per_second.map_or_else(none, |due| format!("{} were to be due", count(due.round() as u64)));
        let stopped = format!("and {} at the end, {} well", count(tally.drained), count(tally.drained_well));
        let mut rows = vec![
            ("requests/s", count(self.per_second(answered).round() as u64), asked),
            ("sessions", count(tally.begun), format!("at most {} at a time", count(tally.held_most))),
            ("completed", count(tally.completed), stopped),
            ("broken off", count(tally.broken_off), tally.why.clone().unwrap_or_default()),
        ];
        if tally.duplicates + tally.resent > 0 {
            let unanswered = format!("{} unanswered", count(tally.duplicates_unanswered));
            rows.push(("duplicates", count(tally.duplicates), unanswered));
            rows.push(("sent again", count(tally.resent), "after a time-out or a lost connection".to_owned()));
            rows.push(("same", count(tally.same), "answers to copies".to_owned()));
            rows.push(("different", count(tally.different), tally.differences.first().cloned().unwrap_or_default()));
        }
        let told = format!("{} opened again", count(tally.reconnected));
        rows.push(("connections lost", count(tally.closed), told));
        rows.push(("malformed", count(tally.malformed), "answers".to_owned()));
        rows.push(("late", count(tally.late), "answers that nobody waited for".to_owned()));
        rows.push(("RAR, ASR, DWR", count(tally.re_auths + tally.aborts + tally.watchdogs), asked_text(tally)));
        rows.push(("used", count(tally.used_acknowledged), "units reported and acknowledged".to_owned()));
        rows.push(("", count(tally.used_unacknowledged), "units reported, not acknowledged".to_owned()));
        rows.push(("granted", count(tally.granted), "units".to_owned()));
        rows.push(("sent", octets(tally.sent_octets), none()));
        rows.push(("received", octets(tally.received_octets), none()));
        if let Some((time, each)) = self.processor.zip(self.processor_us()) {
            rows.push(("server's CPU", format!("{:.2} s", time.as_secs_f64()), format!("{each:.2} us a request")));
        }
        rows
    }
}

fn asked_text(tally: &Tally) -> String {
    format!("{}, {}, {}", count(tally.re_auths), count(tally.aborts), count(tally.watchdogs))
}

fn kind_row(name: &str, counts: &KindTally, terminal: &Terminal) -> Row {
    let cell = |style, text: &str| Line::new(terminal).with(style, text);
    let worry = |number: u64| cell(if number > 0 { Style::Bad } else { Style::Plain }, &count(number));
    let mut cells = vec![
        cell(Style::Plain, name),
        cell(Style::Bold, &count(counts.sent)),
        cell(Style::Plain, &count(counts.answered)),
        worry(counts.failed()),
        worry(counts.timeouts),
        worry(counts.lost),
        worry(counts.unsent),
    ];
    let quantiles = QUANTILES.map(|(_, _, part)| counts.latency.quantile(part));
    let times = quantiles.into_iter().chain([counts.latency.most()]);
    cells.extend(times.map(|ns| cell(Style::Plain, &milliseconds(ns))));
    Row { cells, below: Vec::new() }
}

fn milliseconds(ns: u64) -> String {
    format!("{:.2} ms", ns as f64 / 1e6)
}

fn sorted(counts: &KindTally) -> Vec<((Level, u32), u64)> {
    let mut failures = counts.failures.clone();
    failures.sort_unstable();
    failures
}

fn latency_json(latency: &Histogram) -> Value {
    let mut told = Map::new();
    for (name, _, part) in QUANTILES {
        told.insert(name.to_owned(), json!(latency.quantile(part) as f64 / 1e3));
    }
    told.insert("max".to_owned(), json!(latency.most() as f64 / 1e3));
    Value::Object(told)
}
