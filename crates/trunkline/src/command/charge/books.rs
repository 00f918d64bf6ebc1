//! `trunkline charge audit` and `ledger`: the books as they stand on disk, whether or not a node serves.

use super::place::Place;
use crate::charge::damage;
use crate::failure::Failure;
use crate::output::stdout;
use crate::show::table::{self, Row, Table, number, text};
use crate::show::text::{Keep, Line as Cell, Style};
use crate::terminal::Terminal;
use serde_json::json;
use std::collections::VecDeque;
use std::io::Write;
use trunkline_charge::account::{Effect, Refund};
use trunkline_charge::calendar::Moment;
use trunkline_charge::ledger::{self, Line, Lost};
use trunkline_charge::money::Money;
use trunkline_commit::Folder;
use trunkline_kit::exit::Exit;
use trunkline_store::time::rfc3339;

/// Differences that are told one by one.
const TOLD_MAX: usize = 100;
/// Lines of a statement that are read at once.
const LINES: usize = 10_000;

/// Sum up the ledger per account and compare with the balances
#[derive(Debug, clap::Args)]
#[command(after_help = "Reads all stored entries; the node may be running or stopped. Exit code 3 if \
    anything differs, or the ledger is damaged.")]
pub struct Audit {
    #[command(flatten)]
    place: Place,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Show the ledger entries of an account with the balance after each
#[derive(Debug, clap::Args)]
pub struct Statement {
    /// The account
    #[arg(value_name = "ACCOUNT")]
    account: u64,
    #[command(flatten)]
    place: Place,
    /// Show only the newest lines
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: usize,
    /// Print all entries, one JSON object per line
    #[arg(long)]
    json: bool,
}

fn open(place: &Place) -> Result<Folder, Failure> {
    let folder = place.ledger();
    Folder::beside(&folder).map_err(|e| Failure::Failed(format!("no ledger in {}: {e}", folder.display())))
}

impl Audit {
    /// Does it.
    ///
    /// # Errors
    /// There is no ledger, or it is damaged.
    pub fn run(&self) -> Result<Exit, Failure> {
        let data = self.place.data();
        let audit = ledger::audit_known(&open(&self.place)?, &damage::witnesses(data));
        let audit = audit.map_err(|fault| damage::failure(data, &fault))?;
        let mut out = stdout();
        let (differences, strange) = (&audit.differences, damage::strange(data));
        if self.json {
            let told: Vec<_> =
                differences.iter().map(|one| json!({ "account": one.account, "what": one.what })).collect();
            let (first, last, accounts) = (audit.first, audit.last, audit.accounts);
            let lost: Vec<_> = audit.lost.iter().map(lost_json).collect();
            let reply = json!({
                "first": first,
                "last": last,
                "accounts": accounts,
                "differences": told,
                "lost": lost,
                "unproved": audit.unproved,
                "records": strange,
                "refunds_without_debit": { "count": audit.untied.0, "amount": audit.untied.1.0 },
            });
            writeln!(out, "{reply}")?;
        } else {
            writeln!(out, "entries {} to {}, {} accounts", audit.first, audit.last, audit.accounts)?;
            for lost in &audit.lost {
                writeln!(out, "{}", lost_told(lost))?;
            }
            if let Some(why) = &audit.unproved {
                writeln!(out, "{why}")?;
            }
            if let Some(why) = &strange {
                writeln!(out, "{why}")?;
            }
            if audit.untied.0 > 0 {
                let (count, Money(amount)) = audit.untied;
                writeln!(
                    out,
                    "{count} refunds of older versions, {amount} in total, name no debit and are accepted as they are"
                )?;
            }
            for one in differences.iter().take(TOLD_MAX) {
                writeln!(out, "account {}: {}", one.account, one.what)?;
            }
            match differences.len() {
                0 if audit.lost.is_empty() => writeln!(out, "every balance is the sum of its entries")?,
                0 => writeln!(out, "every balance is the sum of its stored entries")?,
                count => writeln!(out, "{count} differences")?,
            }
        }
        out.flush()?;
        let proved = differences.is_empty() && audit.unproved.is_none() && strange.is_none();
        Ok(if proved { Exit::Done } else { Exit::Degraded })
    }
}

/// Entries that a repair gave up.
fn lost_told(lost: &Lost) -> String {
    let entries = match lost.to - lost.from {
        0 => format!("entry {} is lost", lost.from),
        _ => format!("entries {} to {} are lost", lost.from, lost.to),
    };
    match &lost.told {
        Some((at, place)) if place.is_empty() => format!("{entries}, given up {}", time(*at)),
        Some((at, place)) => format!("{entries} ({place}), given up {}", time(*at)),
        None => entries,
    }
}

fn lost_json(lost: &Lost) -> serde_json::Value {
    let (at, place) = lost.told.as_ref().map_or((None, ""), |(at, place)| (Some(time(*at)), place));
    json!({ "from": lost.from, "to": lost.to, "given_up": at, "place": place })
}

impl Statement {
    /// Does it.
    ///
    /// # Errors
    /// There is no ledger, or it is damaged.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let disk = open(&self.place)?;
        let (mut rows, mut count, mut from, mut out) = (VecDeque::new(), 0_usize, None, stdout());
        loop {
            let part = ledger::statement(&disk, self.account, from, LINES);
            let part = part.map_err(|fault| damage::failure(self.place.data(), &fault))?;
            count += part.lines.len();
            if self.json {
                part.lines.iter().try_for_each(|line| writeln!(out, "{}", line_json(line)))?;
            } else {
                rows.extend(part.lines);
                rows.drain(..rows.len().saturating_sub(self.limit));
            }
            if part.whole {
                break;
            }
            from = Some(part.next);
        }
        if !self.json {
            self.tell(&mut out, &rows, count, terminal)?;
        }
        out.flush()?;
        Ok(Exit::Done)
    }

    fn tell(
        &self,
        out: &mut impl Write,
        rows: &VecDeque<Line>,
        count: usize,
        terminal: &Terminal,
    ) -> Result<(), Failure> {
        if rows.is_empty() {
            writeln!(out, "account {} has no entries", self.account)?;
            return Ok(());
        }
        let what = text("what").cuts(16, Keep::Start);
        let mut shown = Table::new(vec![number("entry"), text("time"), what, number("amount"), number("balance")]);
        rows.iter().for_each(|line| shown.row(row(line, terminal)));
        table::write(&shown.lines(terminal), terminal, out)?;
        let left = count - rows.len();
        let older = if left > 0 { format!("; {left} older lines: --limit or --json") } else { String::new() };
        writeln!(out, "amounts in minor units{older}")?;
        Ok(())
    }
}

/// What an effect is, in words.
fn what(effect: &Effect) -> String {
    match effect {
        Effect::Money { reason, note, .. } if note.is_empty() => format!("{reason:?}").to_lowercase(),
        Effect::Money { reason, note, .. } => format!("{} ({note})", format!("{reason:?}").to_lowercase()),
        Effect::Refunded { refund, .. } => refunded(refund),
        Effect::Units { reason, amount, .. } => format!("{amount} units {}", format!("{reason:?}").to_lowercase()),
        Effect::Charged { charge, .. } => {
            let group =
                charge.service.rating_group.map_or_else(String::new, |group| format!(" of rating group {group}"));
            let short = if charge.short.0 > 0 { format!(", {} not covered", charge.short.0) } else { String::new() };
            format!("{} {:?}{group}{short}", charge.units, charge.unit).to_lowercase()
        }
        _ => String::new(),
    }
}

/// What was given back, and of which debit.
fn refunded(refund: &Refund) -> String {
    let group = refund.service.rating_group.map_or_else(String::new, |group| format!(" of rating group {group}"));
    let bundles: u64 = refund.taken.iter().map(|(_, units)| *units).sum();
    let bundles = if bundles > 0 { format!(", {bundles} of them to bundles") } else { String::new() };
    format!("refund of {} units{group} that entry {} began{bundles}", refund.units, refund.debit)
}

fn row(line: &Line, terminal: &Terminal) -> Row {
    let cells = [
        line.sequence.to_string(),
        time(line.at),
        what(&line.effect),
        line.amount.0.to_string(),
        line.balance.0.to_string(),
    ];
    let cells = cells.iter().map(|cell| Cell::new(terminal).with(Style::Plain, cell)).collect();
    Row { cells, below: Vec::new() }
}

fn line_json(line: &Line) -> serde_json::Value {
    json!({
        "sequence": line.sequence,
        "at": time(line.at),
        "amount": line.amount.0,
        "balance": line.balance.0,
        "effect": line.effect,
    })
}

fn time(at: Moment) -> String {
    rfc3339(at.saturating_mul(1_000_000_000))
}
