//! `trunkline charge try`: what was used is charged anew by a plan that does not hold yet.

use super::place::Place;
use crate::bar::Bar;
use crate::charge::damage;
use crate::failure::Failure;
use crate::moment;
use crate::output::stdout;
use crate::show::table::{self, Row, Table, number, text};
use crate::show::text::{Line as Cell, Style};
use crate::terminal::Terminal;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use trunkline_charge::ledger::{self, Span, Tried};
use trunkline_charge::session::{GroupTried, TryOut};
use trunkline_charge::tariff;
use trunkline_commit::Folder;
use trunkline_kit::exit::Exit;
use trunkline_store::time::rfc3339;

/// Accounts that are shown of those that differ most.
const SHOWN_MAX: usize = 20;

/// Replay past usage with a plan to see the difference; nothing is changed
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Reads the ledger beside a node that serves or without one, from its newest snapshot before the \
    span on. Usage of\naccounts under the plan of that name counts. Who is refused uses less, and who pays less uses \
    more: that nobody can\nknow, and it stays as it was.\n\nExamples:\n  \
    trunkline charge try standard.toml                                     yesterday\n  \
    trunkline charge try standard.toml --from 2026-11-01 --to 2026-11-30   a month, its last day included"
)]
pub struct Try {
    /// File of the plan (docs/manual/tariffs.md)
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    /// Usage from this time on [default: yesterday]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<String>,
    /// Usage until this time; a day is included [default: the end of yesterday]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    to: Option<String>,
    #[command(flatten)]
    place: Place,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Try {
    /// Does it.
    ///
    /// # Errors
    /// The plan is wrong; there is no ledger, or it is damaged.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::Failed(error.to_string());
        let name = self.file.display().to_string();
        let plan = std::fs::read_to_string(&self.file).map_err(|e| Failure::Failed(format!("{name}: {e}")))?;
        let plan = tariff::read(&name, &plan).map_err(|mistakes| {
            Failure::Failed(mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        })?;
        let (folder, span) = (self.place.ledger(), self.span(&Zoned::now())?);
        let disk =
            Folder::beside(&folder).map_err(|e| Failure::Failed(format!("no ledger in {}: {e}", folder.display())))?;
        let (called, currency, mut bar) = (plan.name.clone(), plan.currency.clone(), Bar::start());
        let tried = ledger::try_out(&disk, plan, span, |read, total| {
            bar.draw(read, total, || format!("{read} entries"));
            true
        });
        bar.end();
        let tried = tried.map_err(|fault| damage::failure(self.place.data(), &fault))?;
        let tried = tried.ok_or_else(|| failed(&"it was given up"))?;
        let mut out = stdout();
        if self.json {
            writeln!(out, "{}", told(&called, &currency, &tried))?;
        } else {
            self.tell(&mut out, (&called, &currency), &tried, terminal)?;
        }
        out.flush()?;
        Ok(Exit::Done)
    }

    /// The span that the options say, of a clock that shows `now`.
    fn span(&self, now: &Zoned) -> Result<Span, Failure> {
        let read = |text: &str| moment::span(text, &TimeZone::system()).map_err(Failure::Usage);
        let today = now.start_of_day().map_err(|e| Failure::Failed(e.to_string()))?;
        let yesterday = today.checked_sub(1.day()).map_err(|e| Failure::Failed(e.to_string()))?;
        let second = |at: Timestamp| at.as_second();
        let from = self.from.as_deref().map(read).transpose()?.map(|(first, _)| first.div_euclid(1_000_000_000));
        let to = self.to.as_deref().map(read).transpose()?;
        // A day counts as a whole; a moment is that moment.
        let to = to.map(|(first, after)| if self.to.as_deref().is_some_and(|t| t.len() == 10) { after } else { first });
        let from = from.unwrap_or_else(|| second(yesterday.timestamp()));
        let to = to.map_or_else(|| second(today.timestamp()), |to| to.div_euclid(1_000_000_000));
        if from >= to {
            return Err(Failure::Usage("--to must be after --from".to_owned()));
        }
        Ok(Span { from, to })
    }

    fn tell(
        &self,
        out: &mut impl Write,
        (name, currency): (&str, &str),
        tried: &Tried,
        terminal: &Terminal,
    ) -> Result<(), Failure> {
        let TryOut { all, groups, others, accounts, dearer, cheaper, differences } = &tried.tryout;
        let span = tried.first.zip(tried.last).map(|(first, last)| format!("{} to {}", time(first), time(last)));
        let span = span.unwrap_or_else(|| "no usage in this time range".to_owned());
        writeln!(out, "plan {name}, {currency} in minor units: {span}; {} entries read", tried.entries)?;
        let columns = ["reports", "was", "would be", "difference", "lacking", "unrated"].map(number);
        let mut shown = Table::new([text("rating group")].into_iter().chain(columns).collect());
        for (group, tried) in groups {
            shown.row(row(&group.map_or_else(|| "none".to_owned(), |group| group.to_string()), tried, terminal));
        }
        if others.reports > 0 {
            shown.row(row("others", others, terminal));
        }
        shown.row(row("all", all, terminal));
        table::write(&shown.lines(terminal), terminal, out)?;
        writeln!(out, "{accounts} accounts: {dearer} would pay more, {cheaper} less")?;
        for one in differences.iter().take(SHOWN_MAX) {
            writeln!(out, "  account {}: {} instead of {}", one.account, one.would.0, one.was.0)?;
        }
        Ok(())
    }
}

fn time(at: i64) -> String {
    rfc3339(at.saturating_mul(1_000_000_000))
}

fn row(name: &str, tried: &GroupTried, terminal: &Terminal) -> Row {
    let cells = [
        name.to_owned(),
        tried.reports.to_string(),
        tried.was.0.to_string(),
        tried.would.0.to_string(),
        format!("{:+}", tried.would.0.saturating_sub(tried.was.0)),
        tried.would_lack.to_string(),
        tried.would_unrated.to_string(),
    ];
    let cells = cells.iter().map(|cell| Cell::new(terminal).with(Style::Plain, cell)).collect();
    Row { cells, below: Vec::new() }
}

fn told(name: &str, currency: &str, tried: &Tried) -> Value {
    let group = |name: Value, tried: &GroupTried| {
        json!({
            "rating_group": name, "reports": tried.reports, "was": tried.was.0, "would": tried.would.0,
            "was_short": tried.was_short.0, "would_short": tried.would_short.0, "would_lack": tried.would_lack,
            "was_unrated": tried.was_unrated, "would_unrated": tried.would_unrated,
        })
    };
    let tryout = &tried.tryout;
    let groups: Vec<Value> = tryout.groups.iter().map(|(name, tried)| group(json!(name), tried)).collect();
    let differences = tryout.differences.iter();
    let differences: Vec<Value> =
        differences.map(|one| json!({ "account": one.account, "was": one.was.0, "would": one.would.0 })).collect();
    json!({
        "plan": name, "currency": currency, "entries": tried.entries, "first": tried.first.map(time),
        "last": tried.last.map(time), "all": group(Value::Null, &tryout.all), "groups": groups,
        "accounts": tryout.accounts, "dearer": tryout.dearer, "cheaper": tryout.cheaper, "differences": differences,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        tries: Try,
    }

    fn span(options: &[&str]) -> Result<Span, Failure> {
        let line = Line::parse_from(["try", "plan.toml"].iter().chain(options));
        let now: Zoned = "2026-11-20T10:00:00[UTC]".parse().unwrap();
        line.tries.span(&now)
    }

    #[test]
    fn without_a_span_it_is_yesterday() {
        let day = 1_795_132_800 - 86_400;
        let yesterday = span(&[]).unwrap();
        assert_eq!((yesterday.from, yesterday.to), (day, day + 86_400));
        let given = span(&["--from", "2026-11-18T00:00Z", "--to", "2026-11-19T00:00Z"]).unwrap();
        assert_eq!(given.to - given.from, 86_400);
        assert!(matches!(span(&["--from", "2026-11-21T00:00Z"]), Err(Failure::Usage(_))));
        assert!(matches!(span(&["--to", "never"]), Err(Failure::Usage(_))));
    }
}
