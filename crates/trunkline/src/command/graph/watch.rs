//! `trunkline graph watch`: a graph in real time.

use super::node::Place;
use crate::failure::Failure;
use crate::output::stdout;
use crate::show::figure;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::time::{Duration, Instant};
use trunkline_contract::graph::{GraphRealtime, GraphSeries, Question};
use trunkline_kit::config::time;
use trunkline_kit::exit::Exit;

/// Rows that are asked for: what came since the last question, also where that was slow.
const ROWS: u32 = 60;
/// The least columns of a number.
const WIDTH: usize = 12;

/// Watch a graph in real time; the values are not stored
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline graph watch 12                      a line each second\n  \
    trunkline graph watch 12 --step 5 --for 10m   each five seconds, ten minutes long\n  \
    trunkline graph watch 12 --json | jq .values  a line of JSON each second\n\n\
    A line comes when the second is over and its devices have answered; - is unknown.")]
pub struct Watch {
    /// Its number
    #[arg(value_name = "GRAPH")]
    graph: u32,
    /// Polling interval in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=60))]
    step: u32,
    /// Duration [default: until interrupted]
    #[arg(long = "for", value_name = "TIME", value_parser = |text: &str| time(text))]
    for_: Option<Duration>,
    #[command(flatten)]
    place: Place,
}

impl Watch {
    /// Watches it.
    ///
    /// # Errors
    /// There is no such graph, too much is watched already; the poller is not running.
    pub fn run(&self) -> Result<Exit, Failure> {
        let (node, mut out) = (self.place.node(), stdout());
        let (step, span) = (Some(self.step), Some(self.step * ROWS));
        let question = Question::Realtime { graph: self.graph, step, span };
        let (begun, step) = (Instant::now(), Duration::from_secs(self.step.into()));
        let mut shown = Shown::default();
        let mut turn = 1;
        loop {
            let reply = node.question(question.clone())?;
            let told = shown.tell(&reply, self.place.is_json(), &mut out).and_then(|()| out.flush());
            match told {
                // Who read it has enough.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Exit::Done),
                told => told?,
            }
            let next = step * turn;
            turn += 1;
            if self.for_.is_some_and(|longest| next > longest) {
                return Ok(Exit::Done);
            }
            std::thread::park_timeout(next.saturating_sub(begun.elapsed()));
        }
    }
}

/// What was told already.
#[derive(Default)]
struct Shown {
    has_head: bool,
    until: Option<i64>,
    troubles: Vec<String>,
}

impl Shown {
    /// Tells the rows that have come since, and what is wrong once.
    fn tell(&mut self, answer: &GraphRealtime, is_json: bool, out: &mut dyn Write) -> io::Result<()> {
        for trouble in answer.troubles.iter().filter(|trouble| !self.troubles.contains(trouble)) {
            eprintln!("{trouble}");
        }
        self.troubles.clone_from(&answer.troubles);
        let picture = &answer.picture;
        let series: Vec<&GraphSeries> = picture.series.iter().filter(|one| is_named(one)).collect();
        if !self.has_head && !is_json {
            self.has_head = true;
            writeln!(out, "{}", picture.title)?;
            let names = series.iter().map(|one| format!("  {:>WIDTH$}", one.label));
            writeln!(out, "{:8}{}", "", names.collect::<String>())?;
        }
        let value = |one: &GraphSeries, row: usize| one.values.get(row).copied().flatten();
        let (rows, start, step) = (picture.rows as usize, picture.start, picture.step);
        let end = |row: usize| start + (row as i64 + 1) * step;
        let known = |row: &usize| series.iter().any(|one| value(one, *row).is_some());
        let Some(last) = (0..rows).rfind(known) else { return Ok(()) };
        // The first line is of the first number; before it nobody looked.
        let first = (0..rows).find(known).unwrap_or(last);
        let is_new = |row: &usize| self.until.is_none_or(|until| end(*row) > until);
        for row in (first..=last).filter(is_new) {
            let values = series.iter().map(|one| (&one.label, value(one, row)));
            let at = Timestamp::from_second(end(row)).map_err(io::Error::other)?;
            if is_json {
                let values: Map<String, Value> = values.map(|(label, value)| (label.clone(), value.into())).collect();
                writeln!(out, "{}", json!({ "time": at.to_string(), "step": step, "values": values }))?;
                continue;
            }
            let text =
                |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| figure::amount(value, &picture.unit));
            let cells: String = values
                .map(|(label, value)| format!("  {:>width$}", text(value), width = WIDTH.max(label.chars().count())))
                .collect();
            writeln!(out, "{}{cells}", at.to_zoned(TimeZone::system()).strftime("%H:%M:%S"))?;
        }
        self.until = Some(end(last));
        Ok(())
    }
}

/// Whether people are told its name: others are there for something to stand on.
fn is_named(series: &GraphSeries) -> bool {
    !series.label.trim().is_empty()
}
