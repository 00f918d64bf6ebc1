//! `trunkline charge compare`: calls of the store beside a bill, or beside what was charged online.

use super::when::{self, Profiled};
use crate::bar::Bar;
use crate::charge::bill::compared::{self, Compared, Lines, Tolerance};
use crate::charge::bill::{Which, told};
use crate::cli::DataFolder;
use crate::command::calls::parse;
use crate::failure::Failure;
use crate::output::{csv, stdout};
use crate::search;
use crate::show::figure;
use crate::show::table::{self, Row, Table, number, text};
use crate::show::text::{Keep, Line as Cell, Style};
use crate::terminal::Terminal;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::PathBuf;
use std::time::Duration;
use trunkline_charge::compare::{Basis, Finding, Kind, Profile, Sum};
use trunkline_kit::exit::Exit;

/// Differences of the table.
const SHOWN: u32 = 50;
/// A clock that is so far off is a time zone, milliseconds.
const ZONE_MS: i64 = 15 * 60_000;

/// Compare the calls of the store with a bill, or with what was charged online
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each difference names its call (`trunkline call ID --pcap FILE` has its packets) and its line of \
    the bill. What nobody can\nsay, because the capture had a gap or saw only a part, is told apart. Exit code 3 if \
    anything differs.\n\nExamples:\n  \
    trunkline charge compare --from 2026-11-20                    what was charged online that day\n  \
    trunkline charge compare --bill november.csv --profile carrier.toml\n  \
    trunkline charge compare --bill november.csv --profile carrier.toml --plan prices.toml --csv > disputed.csv\n\n\
    docs/manual/wire-against-bill.md has the whole of it."
)]
pub struct Compare {
    /// What the calls must be like; several words are one filter
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// The bill, CSV with a line of titles, or - for standard input [default: what was charged online]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    bill: Option<PathBuf>,
    #[command(flatten)]
    profile: Profiled,
    /// What lines should cost: a tariff plan
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    plan: Option<PathBuf>,
    #[command(flatten)]
    when: when::Span,
    /// How far begins may be apart
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = duration)]
    begin: Duration,
    /// How far lengths may be apart
    #[arg(long, value_name = "TIME", default_value = "2 s", value_parser = duration)]
    length: Duration,
    /// How many seconds the bill's clock is ahead of ours [default: measured]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    ahead: Option<f64>,
    /// Where nothing at all is seen for so long, nothing was captured
    #[arg(long, value_name = "TIME", default_value = "1 h", value_parser = duration)]
    silence: Duration,
    /// How many differences to list at most [default: 50 in a table, else all]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Print one JSON object for each difference, and one with the sums
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated values with a line of titles
    #[arg(long)]
    csv: bool,
    #[command(flatten)]
    data: DataFolder,
}

fn duration(text: &str) -> Result<Duration, String> {
    trunkline_kit::config::time(text)
}

impl Compare {
    /// Does it.
    ///
    /// # Errors
    /// There is no store, or the bill, the profile or the plan is wrong.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let filter = parse(&self.filter.join(" "), &terminal.zone)?;
        let (profile, given) = (self.profile.read()?, self.when.read(terminal)?);
        let plan = self.plan.as_deref().map(when::plan).transpose()?;
        let store = search::open(&self.data)?;
        let (lines, (from_ns, to_ns)) = match &self.bill {
            Some(path) => self.bill(path, &profile, given)?,
            None => {
                let span = given.map_or_else(|| when::yesterday(&terminal.zone), Ok)?;
                (compared::charged(&store, span).map_err(when::failure)?, span)
            }
        };
        let (which, mut bar) = (Which { filter, from_ns, to_ns }, Bar::new());
        let tolerance = self.tolerance()?;
        let of = compared::against(&store, lines, &profile, plan.as_ref(), &tolerance, &which, &mut |read| {
            bar.draw(read, 0, || format!("{read} calls"));
            true
        });
        bar.end();
        let of = of.map_err(when::failure)?;
        when::tell_skipped(&of.skipped);
        for unread in &of.unread {
            eprintln!("trunkline: line {}: {}", unread.line, unread.what);
        }
        self.print(&of, terminal)?;
        Ok(if of.differs() { Exit::Degraded } else { Exit::Done })
    }

    fn bill(
        &self,
        path: &PathBuf,
        profile: &Profile,
        given: Option<(i64, i64)>,
    ) -> Result<(Lines, (i64, i64)), Failure> {
        let named = |failed| match failed {
            crate::charge::bill::Failed::Asked(why) => Failure::Failed(format!("{}: {why}", path.display())),
            other => when::failure(other),
        };
        let lines = if path.as_os_str() == "-" {
            compared::bill(&mut std::io::stdin().lock(), profile).map_err(named)?
        } else {
            let file = File::open(path).map_err(|e| Failure::Failed(format!("{}: {e}", path.display())))?;
            compared::bill(&mut BufReader::new(file), profile).map_err(named)?
        };
        let nothing = || Failure::Failed(format!("{}: not one line of it can be read", path.display()));
        let span = given.or_else(|| compared::days_of(&lines.lines, profile)).ok_or_else(nothing)?;
        Ok((lines, span))
    }

    fn tolerance(&self) -> Result<Tolerance, Failure> {
        let ms = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX).min(86_400_000);
        let ahead = self.ahead.map(|seconds| seconds * 1000.0);
        if ahead.is_some_and(|ms| !ms.is_finite() || ms.abs() > 86_400_000.0) {
            return Err(Failure::Usage("--ahead: seconds, at most a day either way".to_owned()));
        }
        Ok(Tolerance {
            begin_ms: ms(self.begin),
            length_ms: ms(self.length),
            ahead_ms: ahead.map(|ms| ms as i64),
            silence_ms: ms(self.silence),
        })
    }

    fn print(&self, of: &Compared, terminal: &Terminal) -> Result<(), Failure> {
        let mut out = stdout();
        let limit = self.limit.map_or(usize::MAX, |limit| limit as usize);
        let findings = of.report.findings.iter();
        if self.json {
            for one in findings.take(limit) {
                writeln!(out, "{}", told::finding(of, one))?;
            }
            writeln!(out, "{}", sums_json(of))?;
        } else if self.csv {
            writeln!(out, "{}", CSV.join(","))?;
            for one in findings.take(limit) {
                writeln!(out, "{}", csv_line(&told::finding(of, one)))?;
            }
        } else {
            tell(&mut out, of, self.limit.unwrap_or(SHOWN) as usize, terminal)?;
        }
        out.flush()?;
        Ok(())
    }
}

/// The columns of `--csv`, and where each is in JSON.
const CSV: [&str; 20] = [
    "kind",
    "at",
    "sure",
    "why",
    "call.id",
    "call.caller",
    "call.called",
    "call.start",
    "call.answer",
    "call.duration_ms",
    "call.seen",
    "line.line",
    "line.session",
    "line.caller",
    "line.called",
    "line.begin",
    "line.duration_ms",
    "line.amount_micros",
    "dispute_micros",
    "price_micros",
];

fn csv_line(finding: &Value) -> String {
    let value = |name: &&str| {
        let found = name.split('.').fold(finding, |of, part| &of[part]);
        match found {
            Value::Null => String::new(),
            Value::String(text) => csv(text),
            other => other.to_string(),
        }
    };
    CSV.iter().map(value).collect::<Vec<_>>().join(",")
}

fn sums_json(of: &Compared) -> Value {
    let report = &of.report;
    let kind = |(kind, name): &(Kind, &str)| {
        let Sum { count, over, under, unsure, unsure_money } = report.sums[*kind as usize];
        json!({
            "kind": name, "count": count, "over_micros": over, "under_micros": under, "unsure": unsure,
            "unsure_micros": unsure_money,
        })
    };
    json!({
        "sums": {
            "from": told::time(of.span_ns.0 / 1_000_000), "to": told::time(of.span_ns.1 / 1_000_000),
            "kinds": Kind::ALL.iter().map(kind).collect::<Vec<_>>(), "calls": report.answered,
            "lines": report.billed, "agreed": report.agreed, "legs": report.legs, "unanswered": report.unanswered,
            "asked_micros": report.asked, "unpriced": report.unpriced, "unread": of.unread_count,
            "clock": {
                "ahead_ms": report.clock.ahead, "basis": basis(report.clock.basis), "pairs": report.clock.pairs,
                "spread_ms": report.clock.spread,
            },
            "blind": { "stretches": of.blind.0, "milliseconds": of.blind.1 },
            "captured": of.captured.map(|(first, last)| json!({ "from": told::time(first), "to": told::time(last) })),
            "inexact": report.inexact,
        }
    })
}

/// From when on lines count, in a word.
fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Answer => "answer",
        Basis::Start => "start",
        Basis::Either => "either",
    }
}

fn tell(out: &mut impl Write, of: &Compared, limit: usize, terminal: &Terminal) -> Result<(), Failure> {
    let report = &of.report;
    writeln!(out, "{}, amounts in minor units", when::shown(of.span_ns, &terminal.zone))?;
    let columns = ["differences", "too much", "too little", "cannot be said"].map(number);
    let mut sums = Table::new([text("kind")].into_iter().chain(columns).collect());
    for (kind, name) in Kind::ALL {
        let sum = &report.sums[kind as usize];
        if sum.count + sum.unsure > 0 {
            sums.row(cells(
                &[
                    name.to_owned(),
                    sum.count.to_string(),
                    told::minor(sum.over),
                    told::minor(sum.under),
                    sum.unsure.to_string(),
                ],
                terminal,
            ));
        }
    }
    if !report.findings.is_empty() {
        table::write(&sums.lines(terminal), terminal, out)?;
        writeln!(out)?;
        let names = |title| text(title).cuts(8, Keep::End);
        let columns = vec![
            text("what"),
            text("when"),
            names("caller"),
            names("called"),
            number("wire s").drops(2),
            number("billed s").drops(2),
            number("dispute").drops(1),
            text("line").drops(3),
            text("call"),
        ];
        let mut shown = Table::new(columns);
        report.findings.iter().take(limit).for_each(|one| shown.row(row(of, one, terminal)));
        table::write(&shown.lines(terminal), terminal, out)?;
        if report.findings.len() > limit {
            writeln!(out, "{} more: --limit N, --json or --csv", report.findings.len() - limit)?;
        }
    }
    for line in lines(of) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn cells(texts: &[String], terminal: &Terminal) -> Row {
    Row { cells: texts.iter().map(|text| Cell::new(terminal).with(Style::Plain, text)).collect(), below: Vec::new() }
}

fn row(of: &Compared, one: &Finding, terminal: &Terminal) -> Row {
    let report = &of.report;
    let call = one.call.map(|at| &report.calls[at as usize]);
    let line = one.line.map(|at| &report.lines[at as usize]);
    let parties = call.map(|call| (call.caller, call.called)).or(line.map(|line| (line.caller, line.called)));
    let (caller, mut called) =
        parties.map_or_else(Default::default, |(caller, called)| (of.parties.text(caller), of.parties.text(called)));
    if let (Kind::OtherNumber, Some(line), Some(call)) = (one.kind, line, call) {
        let other = if line.called == call.called { line.caller } else { line.called };
        called = format!("{called}, not {}", of.parties.text(other));
    }
    let seconds = |ms: i64| format!("{:.1}", ms as f64 / 1000.0);
    let name = match one.unsure {
        Some(why) => format!("{}? {}", one.kind.name(), why.name()),
        None => one.kind.name().to_owned(),
    };
    let number = line.map(|line| match of.sessions.get(line.line as usize) {
        Some(session) => session.to_string(),
        None => line.line.to_string(),
    });
    let texts = [
        name,
        figure::second(report.at(one).saturating_mul(1_000_000), &terminal.zone),
        caller,
        called,
        call.map_or_else(String::new, |call| seconds(call.duration)),
        line.map_or_else(String::new, |line| seconds(line.duration)),
        one.dispute.map_or_else(String::new, told::minor),
        number.unwrap_or_default(),
        call.map_or_else(String::new, |call| call.id.to_string()),
    ];
    cells(&texts, terminal)
}

/// What there is to say besides the differences.
fn lines(of: &Compared) -> Vec<String> {
    let (report, clock) = (&of.report, &of.report.clock);
    let mut lines = vec![format!(
        "{} lines, {} of them as they should be; {} calls were answered, {} were not",
        report.billed, report.agreed, report.answered, report.unanswered
    )];
    let seconds = clock.ahead as f64 / 1000.0;
    if clock.pairs > 0 {
        lines.push(format!(
            "their clock is {seconds:+.1} s to ours, lines count from the {} on: {} pairs that stand alone say so",
            if clock.basis == Basis::Start { "first message" } else { "answer" },
            clock.pairs
        ));
    }
    if clock.ahead.abs() >= ZONE_MS {
        lines.push("is the time zone of the bill right? time-zone in [bill] of the profile".to_owned());
    }
    if of.blind.0 > 0 {
        let minutes = of.blind.1 / 60_000;
        lines.push(format!(
            "of {} stretches, {minutes} minutes in all, nobody can say what was on the wire",
            of.blind.0
        ));
    }
    if of.captured.is_none() {
        lines.push("nothing at all was captured in that time".to_owned());
    }
    let told = [
        (report.legs, "calls are other legs of calls that have their line"),
        (report.unpriced, "lines have no price by the plan"),
        (of.unread_count, "lines cannot be read"),
        (report.inexact, "candidates were too many at once: the nearest were taken"),
    ];
    lines.extend(told.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    lines
}
