//! `trunkline charge rate-calls`: what the calls of the store cost by the plans of who made them.

use super::when::{self, Profiled};
use crate::bar::Bar;
use crate::charge::bill::rated::{self, Account, By, Sums, Told};
use crate::charge::bill::{Waiting, Which, told};
use crate::charge::{configured, damage};
use crate::cli::DataFolder;
use crate::command::calls::parse;
use crate::failure::Failure;
use crate::output::stdout;
use crate::search;
use crate::show::table::{self, Row, Table, number, text};
use crate::terminal::Terminal;
use serde_json::{Value, json};
use std::io::Write;
use trunkline_charge::account::ServiceKey;
use trunkline_commit::Folder;
use trunkline_kit::exit::Exit;
use trunkline_store::Stop;

/// Accounts of the table.
const ACCOUNTS: usize = 50;
/// The columns of `--csv`: names as in JSON.
const CSV: [&str; 17] = [
    "call",
    "caller",
    "called",
    "answer",
    "seconds",
    "outcome",
    "account",
    "rule",
    "money",
    "plan",
    "plan_version",
    "currency",
    "bundle_seconds",
    "complete",
    "destination",
    "prefix",
    "not_understood",
];

/// Rate the calls of the store by the plans of the paying accounts
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Shows what calls cost; nothing is debited. The same calls, plans and accounts give the same prices, \
    however often\nand for whatever span it is asked. The account of the caller's number (e164:) pays. How numbers are \
    written on the\nwire is not guessed: [numbers] of a profile says it (docs/manual/wire-against-bill.md). Exit code \
    3 if calls that were\nto be paid have no price.\n\nExamples:\n  \
    trunkline charge rate-calls --profile numbers.toml                                     yesterday\n  \
    trunkline charge rate-calls --profile numbers.toml --from 2026-11-01 --to 2026-11-30   a month\n  \
    trunkline charge rate-calls --profile numbers.toml --csv 'src:10.0.0.0/8' > rated.csv"
)]
pub struct RateCalls {
    /// Filter of calls to show; all calls are rated, because all use up bundles
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    #[command(flatten)]
    when: when::Span,
    #[command(flatten)]
    profile: Profiled,
    /// The Rating-Group of calls in the plans
    #[arg(long, value_name = "N")]
    rating_group: Option<u32>,
    /// The Service-Identifier of calls in the plans
    #[arg(long, value_name = "N")]
    service: Option<u32>,
    /// Print one JSON object per call, and one with the totals
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated values with a header line
    #[arg(long)]
    csv: bool,
    #[command(flatten)]
    data: DataFolder,
}

impl RateCalls {
    /// Does it.
    ///
    /// # Errors
    /// There is no store or no ledger, or one of them cannot be read.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let filter = parse(&self.filter.join(" "), &terminal.zone)?;
        let (from_ns, to_ns) = self.when.read(terminal)?.map_or_else(|| when::yesterday(&terminal.zone), Ok)?;
        let profile = self.profile.read()?;
        let store = search::open(&self.data)?;
        let folder = configured::ledger(&self.data.path);
        let disk = Folder::beside(&folder)
            .map_err(|e| Failure::Failed(format!("no ledger in {}, and so no plan: {e}", folder.display())))?;
        let key = ServiceKey { rating_group: self.rating_group, service: self.service };
        let (by, waiting) = (By::plans(key), Waiting { stop: Stop::never(), tell: &|_, _| {} });
        let failed = |failed| when::failure(&self.data.path, failed);
        let rater = rated::rater(&disk, &damage::witnesses(&self.data.path), &by, &waiting).map_err(failed)?;
        let (mut out, mut bar, mut count, mut broken) = (stdout(), Bar::start(), 0u64, None);
        if self.csv {
            writeln!(out, "{}", CSV.join(","))?;
        }
        let which = Which { filter, from_ns, to_ns };
        let done = rated::rate(&store, rater, (&profile.numbers, &by), &which, &waiting, &mut |call| {
            count += 1;
            bar.draw(count, 0, || format!("{count} calls"));
            broken = self.print(&mut out, call).err();
            broken.is_none()
        });
        bar.end();
        if let Some(error) = broken {
            return Err(error.into());
        }
        let (sums, skipped) = done.map_err(failed)?;
        when::tell_skipped(&skipped);
        if self.json {
            writeln!(out, "{}", sums_json(&sums, (from_ns, to_ns)))?;
        } else if !self.csv {
            tell(&mut out, &sums, (from_ns, to_ns), terminal)?;
        }
        out.flush()?;
        Ok(if sums.lacks() || !skipped.is_empty() { Exit::Degraded } else { Exit::Done })
    }

    fn print(&self, out: &mut impl Write, call: &Told) -> std::io::Result<()> {
        match (self.json, self.csv) {
            (true, _) => writeln!(out, "{}", serde_json::to_string(&told::rated(call))?),
            (_, true) => writeln!(out, "{}", when::csv_line(&CSV, &serde_json::to_value(told::rated(call))?)),
            _ => Ok(()),
        }
    }
}

fn sums_json(sums: &Sums, span: (i64, i64)) -> Value {
    let account = |((currency, number), of): (&(String, u64), &Account)| {
        json!({
            "account": number, "currency": currency, "plan": of.plan, "plan_version": of.version, "calls": of.calls,
            "seconds": of.seconds, "bundle_seconds": of.bundle_units, "money": of.money,
            "incomplete_money": of.incomplete_money,
        })
    };
    json!({
        "sums": {
            "from": told::time(span.0 / 1_000_000), "to": told::time(span.1 / 1_000_000), "priced": sums.priced,
            "incomplete": sums.incomplete, "unanswered": sums.unanswered, "open": sums.open,
            "legs": sums.legs,
            "not_understood": sums.not_understood, "nobody_pays": sums.nobody,
            "nobody_pays_numbers": sums.nobody_numbers, "no_rule": sums.no_rule, "blocked": sums.blocked,
            "accounts": sums.accounts.iter().map(account).collect::<Vec<_>>(),
        }
    })
}

fn tell(out: &mut impl Write, sums: &Sums, span: (i64, i64), terminal: &Terminal) -> Result<(), Failure> {
    writeln!(out, "{}, amounts in minor units", when::shown(span, &terminal.zone))?;
    if sums.priced > 0 {
        let columns = ["calls", "seconds", "of bundles", "money"].map(number);
        let mut shown = Table::new([number("account"), text("plan")].into_iter().chain(columns).collect());
        let mut dearest: Vec<_> = sums.accounts.iter().collect();
        dearest.sort_by_key(|((_, account), of)| (std::cmp::Reverse(of.money), *account));
        dearest
            .iter()
            .take(ACCOUNTS)
            .for_each(|((currency, account), of)| shown.row(row(*account, currency, of, terminal)));
        table::write(&shown.lines(terminal), terminal, out)?;
        if dearest.len() > ACCOUNTS {
            writeln!(out, "{} more accounts: --json lists them", dearest.len() - ACCOUNTS)?;
        }
    }
    for line in lines(sums) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn row(account: u64, currency: &str, of: &Account, terminal: &Terminal) -> Row {
    let cells = [
        account.to_string(),
        format!("{}, text {}", of.plan, of.version),
        of.calls.to_string(),
        of.seconds.to_string(),
        of.bundle_units.to_string(),
        format!("{} {currency}", of.money),
    ];
    when::cells(&cells, terminal)
}

/// What there is to say besides the accounts.
fn lines(sums: &Sums) -> Vec<String> {
    let calls = |count: u64| if count == 1 { "1 call".to_owned() } else { format!("{count} calls") };
    let mut lines = vec![format!("{} rated for {} accounts", calls(sums.priced), sums.accounts.len())];
    let told = [
        (sums.incomplete, "of these only partly captured"),
        (sums.unanswered, "unanswered, without cost"),
        (
            sums.nobody,
            &format!("without an account, from {} numbers of other networks or unknown here", sums.nobody_numbers),
        ),
        (sums.legs, "other legs or duplicates, without cost"),
        (sums.open, "without a price: their end was not captured, or they are in progress"),
        (
            sums.not_understood,
            "without a price: a number is not understood; [numbers] of the profile says how they are written",
        ),
        (sums.no_rule, "without a price: the plan has no rule for the number at that time"),
        (sums.blocked, "denied by a rule of the plan, but they took place"),
    ];
    lines.extend(told.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{} {what}", calls(*count))));
    lines
}
