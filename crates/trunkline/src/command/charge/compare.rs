//! `trunkline charge compare`: calls of the store beside a bill, or beside what was charged online.

use super::when::{self, Profiled};
use crate::bar::Bar;
use crate::charge::bill::compared::{self, Compared, Lines, Tolerance};
use crate::charge::bill::{Failed, Step, Waiting, Which, told};
use crate::cli::DataFolder;
use crate::command::calls::parse;
use crate::failure::Failure;
use crate::output::stdout;
use crate::search;
use crate::show::figure;
use crate::show::table::{self, Row, Table, number, text};
use crate::show::text::Keep;
use crate::terminal::Terminal;
use serde::Serialize;
use serde_json::Value;
use std::cell::RefCell;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::PathBuf;
use std::time::Duration;
use trunkline_charge::compare::{Basis, Finding, Kind, Profile};
use trunkline_kit::exit::Exit;
use trunkline_store::Stop;
use trunkline_web::sources::ChargeCompared;

/// Differences of the table.
const SHOWN: u32 = 50;
/// A clock that is so far off is a time zone, milliseconds.
const ZONE_MS: i64 = 15 * 60_000;

/// Reconcile the calls of the store with a bill, or with online charges
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each difference names its call (`trunkline call ID --pcap FILE` has its packets) and its line of \
    the bill. What nobody can\nsay, because the capture had a gap or saw only a part, is told apart. Exit code 3 if \
    anything differs.\n\nExamples:\n  \
    trunkline charge compare --from 2026-11-20                    online charges since that day\n  \
    trunkline charge compare --bill november.csv --profile carrier.toml\n  \
    trunkline charge compare --bill november.csv --profile carrier.toml --plan prices.toml --csv > disputed.csv\n\n\
    See docs/manual/wire-against-bill.md."
)]
pub struct Compare {
    /// Filter of calls that must have a line; lines of other calls are ignored
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// The bill, CSV with a header line, or - for standard input [default: online charges]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    bill: Option<PathBuf>,
    #[command(flatten)]
    profile: Profiled,
    /// Tariff plan with the expected prices of lines
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    plan: Option<PathBuf>,
    #[command(flatten)]
    when: when::Span,
    /// Maximum difference of start times
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = duration)]
    begin: Duration,
    /// Maximum difference of durations
    #[arg(long, value_name = "TIME", default_value = "2 s", value_parser = duration)]
    length: Duration,
    /// Seconds by which the bill's clock is ahead of ours [default: measured]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    ahead: Option<f64>,
    /// A gap of this length counts as not captured; at least one minute
    #[arg(long, value_name = "TIME", default_value = "1 h", value_parser = duration)]
    silence: Duration,
    /// The Rating-Group of calls in the plan and in online charges
    #[arg(long, value_name = "N")]
    rating_group: Option<u32>,
    /// Maximum number of differences to list [default: 50 in a table, else all]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Print one JSON object per difference, and one with the totals
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated values with a header line
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
        let (store, tolerance) = (search::open(&self.data)?, self.tolerance()?);
        let (bar, stop) = (RefCell::new(Bar::start()), Stop::never());
        let tell = |step: Step, read: u64| {
            if step == Step::Calls {
                bar.borrow_mut().draw(read, 0, || format!("{read} calls"));
            }
        };
        let waiting = Waiting { stop, tell: &tell };
        let failed = |failed| when::failure(&self.data.path, failed);
        let (lines, (from_ns, to_ns)) = match &self.bill {
            Some(path) => bill(path, &profile, given, &tolerance, &waiting).map_err(failed)?,
            None => {
                let span = given.map_or_else(|| when::yesterday(&terminal.zone), Ok)?;
                let charged = compared::charged(&store, span, &profile, &tolerance, &waiting);
                let payers = |lines| compared::with_payers(lines, &self.data.path, &tolerance, &waiting);
                let charged = charged.and_then(payers).map_err(failed)?;
                (charged, span)
            }
        };
        let which = Which { filter, from_ns, to_ns };
        let tolerance = Tolerance { span_of_bill: self.bill.is_some() && given.is_none(), ..tolerance };
        let of = compared::against(&store, lines, &profile, plan.as_ref(), &tolerance, &which, &waiting);
        bar.into_inner().end();
        let of = of.map_err(failed)?;
        when::tell_skipped(&of.skipped);
        for unread in &of.unread {
            eprintln!("trunkline: line {}: {}", unread.line, unread.what);
        }
        self.print(&of, terminal)?;
        Ok(if of.differs() { Exit::Degraded } else { Exit::Done })
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
            rating_group: self.rating_group,
            ..Tolerance::default()
        })
    }

    fn print(&self, of: &Compared, terminal: &Terminal) -> Result<(), Failure> {
        let mut out = stdout();
        let limit = self.limit.map_or(usize::MAX, |limit| limit as usize);
        let findings = of.report.findings.iter();
        if self.json {
            for one in findings.take(limit) {
                writeln!(out, "{}", json(&told::finding(of, one))?)?;
            }
            writeln!(out, "{}", json(&Sums { sums: told::sums(of) })?)?;
        } else if self.csv {
            writeln!(out, "{}", CSV.join(","))?;
            for one in findings.take(limit) {
                writeln!(out, "{}", when::csv_line(&CSV, &json(&told::finding(of, one))?))?;
            }
        } else {
            tell(&mut out, of, self.limit.unwrap_or(SHOWN) as usize, terminal)?;
        }
        out.flush()?;
        Ok(())
    }
}

fn bill(
    path: &PathBuf,
    profile: &Profile,
    given: Option<(i64, i64)>,
    tolerance: &Tolerance,
    waiting: &Waiting<'_>,
) -> Result<(Lines, (i64, i64)), Failed> {
    let of_file = |why: String| Failed::Asked(format!("{}: {why}", path.display()));
    let named = |failed| match failed {
        Failed::Asked(why) => of_file(why),
        other => other,
    };
    let lines = if path.as_os_str() == "-" {
        compared::bill(&mut std::io::stdin().lock(), profile, tolerance, waiting).map_err(named)?
    } else {
        let file = File::open(path).map_err(|e| of_file(e.to_string()))?;
        compared::bill(&mut BufReader::new(file), profile, tolerance, waiting).map_err(named)?
    };
    let nothing = || of_file("no line of the bill can be read".to_owned());
    let span = given.or_else(|| compared::days_of(&lines.lines, profile)).ok_or_else(nothing)?;
    Ok((lines, span))
}

/// The last line of JSON.
#[derive(Serialize)]
struct Sums {
    sums: ChargeCompared,
}

fn json(of: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(of).map_err(|e| Failure::Failed(e.to_string()))
}

/// The columns of `--csv`, and where each is in JSON.
const CSV: [&str; 22] = [
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
    "other.line",
    "other.session",
    "dispute_micros",
    "price_micros",
];

fn tell(out: &mut impl Write, of: &Compared, limit: usize, terminal: &Terminal) -> Result<(), Failure> {
    let report = &of.report;
    writeln!(out, "{}, amounts in minor units", when::shown(of.span_ns, &terminal.zone))?;
    let columns = ["differences", "too much", "too little", "cannot be said"].map(number);
    let mut sums = Table::new([text("kind")].into_iter().chain(columns).collect());
    for (kind, name) in Kind::ALL {
        let sum = &report.sums[kind as usize];
        if sum.count + sum.unsure > 0 {
            sums.row(when::cells(
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
    when::cells(&texts, terminal)
}

/// What there is to say besides the differences.
fn lines(of: &Compared) -> Vec<String> {
    let report = &of.report;
    let mut lines = vec![match report.billed {
        0 => format!("nothing was billed in this time range; {} calls were answered", report.answered),
        billed => format!(
            "{billed} lines, {} of them as they should be; {} calls were answered, {} were not",
            report.agreed, report.answered, report.unanswered
        ),
    }];
    lines.extend(clock(of));
    if of.blind.0 > 0 {
        let minutes = of.blind.1 / 60_000;
        lines.push(format!("{} gaps without capture, {minutes} minutes in all", of.blind.0));
    }
    if of.captured.is_none() {
        lines.push("nothing was captured in this time range".to_owned());
    }
    if report.deviations.0 > 0 {
        let (count, sum) = report.deviations;
        lines.push(format!("{count} lines differ by less than the tolerance, {} in total", told::minor(sum)));
    }
    let told = [
        (report.legs, "calls are other legs or duplicates, and count once"),
        (report.unowed, "calls are not from subscribers, and need no line"),
        (report.exempt, "calls may have had no duration, and need no line"),
        (report.not_understood.0, "calls have a number that is not understood: [numbers] of the profile"),
        (report.not_understood.1, "lines have a number that is not understood: [numbers] of the profile"),
        (report.attempts, "lines without duration and amount, for unanswered calls"),
        (if of.is_bill { report.outside } else { 0 }, "lines are outside the time range"),
        (report.left_out, "lines belong to calls that the filter excludes"),
        (report.unpriced, "lines have no price in the plan"),
        (of.unread_count, "lines cannot be read"),
        (report.inexact, "ambiguous candidates: the nearest were used"),
    ];
    lines.extend(told.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    lines
}

/// What there is to say of the bill's clock.
fn clock(of: &Compared) -> Vec<String> {
    let clock = &of.report.clock;
    let seconds = |ms: i64| ms as f64 / 1000.0;
    let (ahead, mut lines) = (seconds(clock.ahead), Vec::new());
    if clock.given {
        lines.push(format!("the bill's clock is set to {ahead:+.1} s relative to ours (--ahead)"));
    } else if clock.pairs > 0 {
        lines.push(format!(
            "the bill's clock is {ahead:+.1} s relative to ours, lines count from the {}: {} unambiguous pairs show it",
            if clock.basis == Basis::Start { "first message" } else { "answer" },
            clock.pairs
        ));
    } else if of.report.billed > 0 {
        lines.push(
            "the bill's clock is taken to be equal to ours: too few unambiguous pairs to measure it (set it \
            with --ahead)"
                .to_owned(),
        );
    }
    if clock.spread > of.begin_ms {
        let spread = seconds(clock.spread);
        lines.push(format!(
            "half of these pairs are {spread:.1} s or more off that, more than --begin: lines may miss calls"
        ));
    }
    if clock.ahead.abs() >= ZONE_MS {
        lines.push("check the time zone of the bill: time-zone in [bill] of the profile".to_owned());
    }
    lines
}
