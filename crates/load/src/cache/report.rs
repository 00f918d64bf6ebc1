//! What came of a run, as a table or a line of JSON.

use super::tally::Tally;
use serde_json::{Value, json};
use std::time::Duration;
use trunkline_show::figure::{count, octets, percent};
use trunkline_show::table::{Row, Table, number, text};
use trunkline_show::terminal::Terminal;
use trunkline_show::text::{Line, Style};

/// Quantiles that are told.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999)];

/// What came of a run.
#[derive(Debug)]
pub struct Report {
    /// How long requests were sent.
    pub elapsed: Duration,
    /// What was counted.
    pub tally: Tally,
    /// Requests a second that were asked for, in open loop.
    pub rate: Option<u64>,
    /// Whether values were checked.
    pub verified: bool,
    /// Processor time that the server took.
    pub processor: Option<Duration>,
}

impl Report {
    fn per_second(&self, number: u64) -> f64 {
        number as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    fn processor_us(&self) -> Option<f64> {
        Some(self.processor?.as_secs_f64() * 1e6 / self.tally.requests.max(1) as f64)
    }

    /// One object.
    pub fn json(&self) -> Value {
        let tally = &self.tally;
        let mut latency = serde_json::Map::new();
        for (name, part) in QUANTILES {
            latency.insert(name.to_owned(), json!(tally.latency.quantile(part) as f64 / 1e3));
        }
        latency.insert("max".to_owned(), json!(tally.latency.most() as f64 / 1e3));
        json!({
            "seconds": self.elapsed.as_secs_f64(), "rate": self.rate, "requests": tally.requests,
            "requests_per_second": self.per_second(tally.requests), "keys_per_second": self.per_second(tally.keys),
            "gets": tally.gets, "sets": tally.sets, "keys": tally.keys, "hits": tally.hits, "misses": tally.misses,
            "errors": tally.errors, "lost": tally.lost, "late": tally.late, "closed": tally.closed,
            "unsent": tally.unsent, "sent_octets": tally.sent_octets, "received_octets": tally.received_octets,
            "latency_us": latency,
            "wrong": self.verified.then(|| json!({
                "torn": tally.torn, "foreign": tally.foreign, "unknown": tally.unknown, "stale": tally.stale,
            })),
            "server_cpu_seconds": self.processor.map(|time| time.as_secs_f64()),
            "server_cpu_us_per_request": self.processor_us(), "trouble": tally.why,
        })
    }

    /// A table: what, how much, and a note.
    pub fn lines(&self, terminal: &Terminal) -> Vec<Line> {
        let mut table = Table::new(vec![text(""), number(""), text("")]);
        for (name, value, note) in self.rows() {
            let style = if bad(name, &value) { Style::Bad } else { Style::Bold };
            let cells = [(Style::Plain, name), (style, value.as_str()), (Style::Dim, note.as_str())];
            let cells = cells.map(|(style, cell)| Line::new(terminal).with(style, cell)).to_vec();
            table.row(Row { cells, below: Vec::new() });
        }
        table.lines(terminal)
    }

    fn rows(&self) -> Vec<(&'static str, String, String)> {
        let (tally, none) = (&self.tally, String::new);
        let per_second = |number| count(self.per_second(number).round() as u64);
        let asked = self.rate.map_or_else(none, |rate| format!("{} were due", count(rate)));
        let mut rows = vec![
            ("requests/s", per_second(tally.requests), asked),
            ("keys/s", per_second(tally.keys), none()),
            ("requests", count(tally.requests), format!("in {:.2} s", self.elapsed.as_secs_f64())),
            ("hits", count(tally.hits), percent(tally.hits, tally.hits + tally.misses)),
            ("misses", count(tally.misses), none()),
            ("sets", count(tally.sets), none()),
            ("errors", count(tally.errors), tally.why.clone().unwrap_or_default()),
            ("lost", count(tally.lost), "without an answer in time".to_owned()),
            ("closed", count(tally.closed), "connections".to_owned()),
        ];
        if self.rate.is_some() {
            rows.push(("unsent", count(tally.unsent), "due, and no connection was free".to_owned()));
        }
        if self.verified {
            let kinds = [(tally.torn, "torn"), (tally.foreign, "foreign"), (tally.unknown, "unknown version")];
            let kinds = kinds.into_iter().chain([(tally.stale, "stale")]).filter(|(number, _)| *number > 0);
            let kinds: Vec<String> = kinds.map(|(number, kind)| format!("{} {kind}", count(number))).collect();
            rows.push(("wrong values", count(tally.wrong()), kinds.join(", ")));
        }
        rows.push(("sent", octets(tally.sent_octets), none()));
        rows.push(("received", octets(tally.received_octets), none()));
        for (name, value) in ["p50", "p99", "p99.9", "p99.99"].into_iter().zip(QUANTILES.map(|(_, part)| part)) {
            rows.push((name, microseconds(tally.latency.quantile(value)), none()));
        }
        rows.push(("max", microseconds(tally.latency.most()), none()));
        if let Some((time, each)) = self.processor.zip(self.processor_us()) {
            rows.push(("server's CPU", format!("{:.2} s", time.as_secs_f64()), format!("{each:.2} us a request")));
        }
        rows
    }
}

/// Whether a number says that something is wrong with the server.
fn bad(name: &str, value: &str) -> bool {
    matches!(name, "errors" | "closed" | "wrong values") && value != "0"
}

fn microseconds(ns: u64) -> String {
    format!("{:.1} us", ns as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_show::samples::terminal;

    #[test]
    fn a_report_says_what_was_counted() {
        let mut tally = Tally { requests: 2000, keys: 4000, hits: 3000, misses: 1000, torn: 1, ..Tally::default() };
        tally.latency.record(1_500, 2000);
        let processor = Some(Duration::from_millis(10));
        let report = Report { elapsed: Duration::from_secs(2), tally, rate: Some(1000), verified: true, processor };
        let lines: Vec<String> = report.lines(&terminal(80)).iter().map(Line::text).collect();
        let says = |words: &str| lines.iter().any(|l| l.split_whitespace().collect::<Vec<_>>().join(" ") == words);
        assert!(says("requests/s 1,000 1,000 were due") && says("hits 3,000 75.0 %"), "{lines:#?}");
        assert!(says("wrong values 1 1 torn") && says("p50 1.5 us"), "{lines:#?}");
        assert!(says("server's CPU 0.01 s 5.00 us a request"), "{lines:#?}");
        let json = report.json();
        assert_eq!((json["keys_per_second"].as_f64(), json["latency_us"]["max"].as_f64()), (Some(2000.0), Some(1.5)));
        assert_eq!((json["wrong"]["torn"].as_u64(), json["server_cpu_us_per_request"].as_f64()), (Some(1), Some(5.0)));
    }
}
