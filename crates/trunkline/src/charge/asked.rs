//! The charging node of a data folder as the web asks it: orders over its socket, the ledger from the disk beside it.

mod compare;
mod rate;
mod told;

use super::configured;
use crate::asking::Node;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use trunkline_charge::account::Effect;
use trunkline_charge::gy::decimals;
use trunkline_charge::ledger::{self, Mark, Span};
use trunkline_charge::money::Money;
use trunkline_charge::tariff;
use trunkline_commit::Folder;
use trunkline_web::sources::{
    Cancel, ChargeCompareAsk, ChargeCompared, ChargeDifference, ChargeLedgerPart, ChargeMark, ChargeRateAsk,
    ChargeRated, ChargeRatedCall, ChargeTimeline, ChargeTried, ChargeTryAsk, ChargeUsage, Charging, Progress,
    SourceError, Trouble,
};

/// How long a reply of the node may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the ledger is read for one question.
const READ_TIME: Duration = Duration::from_secs(3);
/// Lines that are read at once to add usage up.
const USAGE_LINES: usize = 5000;
/// Entries of a session that are told at once.
const HAPPENED_MAX: usize = 300;

/// Of this data folder: a node may come, end and start again.
pub struct Asked {
    data: PathBuf,
    node: Node,
}

fn failed(error: impl std::fmt::Display) -> SourceError {
    SourceError::new(Trouble::Failed, format!("charging: {error}"))
}

impl Asked {
    /// Of this data folder.
    pub fn new(data: &Path) -> Self {
        let node = Node::new(configured::socket(data), "charging node", PATIENCE);
        Asked { data: data.to_path_buf(), node }
    }

    fn disk(&self) -> Result<Folder, SourceError> {
        let absent = |_| SourceError::new(Trouble::NotFound, "There is no ledger of charging here.");
        Folder::beside(&configured::ledger(&self.data)).map_err(absent)
    }

    /// What codes of the ledger are called in the plan of an account; nothing where it cannot be told.
    fn names(&self, account: u64) -> told::Names {
        let plan = || {
            let account = self.order(&json!({ "do": "show-account", "account": account })).ok()?;
            let plan = self.order(&json!({ "do": "plan-text", "name": account.get("plan")?.as_str()? })).ok()?;
            tariff::read("plan", plan.get("text")?.as_str()?).ok()
        };
        plan().as_ref().map_or_else(told::Names::default, told::Names::of)
    }
}

/// Goes on until the time is over, or nobody waits any more.
fn for_a_while(cancel: &Cancel) -> impl FnMut() -> bool {
    let end = Instant::now() + READ_TIME;
    let cancel = cancel.clone();
    move || Instant::now() < end && !cancel.is_cancelled()
}

fn mark(mark: ChargeMark) -> Mark {
    Mark { next: mark.next, balance: Money(mark.balance) }
}

impl Charging for Asked {
    fn order(&self, order: &Value) -> Result<Value, SourceError> {
        self.node.ask(order)
    }

    fn serves(&self) -> bool {
        self.node.serves()
    }

    fn ledger(
        &self,
        account: u64,
        from: ChargeMark,
        most: usize,
        cancel: &Cancel,
    ) -> Result<ChargeLedgerPart, SourceError> {
        let history = ledger::history(&self.disk()?, account, mark(from), most, for_a_while(cancel)).map_err(failed)?;
        let names = self.names(account);
        let next = (!history.whole).then_some(ChargeMark { next: history.next.next, balance: history.next.balance.0 });
        Ok(ChargeLedgerPart { lines: history.lines.iter().map(|line| told::line(line, &names)).collect(), next })
    }

    fn usage(&self, account: u64, from: ChargeMark, since: i64, cancel: &Cancel) -> Result<ChargeUsage, SourceError> {
        let (disk, mut goes_on) = (self.disk()?, for_a_while(cancel));
        let (mut days, mut at, mut complete_since) = (told::Days::default(), mark(from), i64::MAX);
        while complete_since > since {
            let part = ledger::history(&disk, account, at, USAGE_LINES, &mut goes_on).map_err(failed)?;
            let stuck = part.next == at;
            at = part.next;
            for line in part.lines.iter().take_while(|line| line.at >= since) {
                days.add(line);
            }
            complete_since = match (part.lines.last(), part.whole) {
                (_, true) => since,
                (Some(line), false) => line.at,
                (None, false) => complete_since,
            };
            if stuck || !goes_on() {
                break;
            }
        }
        let complete_since = complete_since.max(since);
        // Where no line was found in time, it is known how far back was looked.
        let complete_since = match complete_since {
            i64::MAX => time_of(&disk, at.next)?.saturating_add(1).max(since),
            known => known,
        };
        Ok(ChargeUsage { days: days.told(), complete_since })
    }

    fn timeline(
        &self,
        session: &str,
        from: Option<(u32, u64)>,
        newest: u64,
        cancel: &Cancel,
    ) -> Result<ChargeTimeline, SourceError> {
        let disk = self.disk()?;
        let mut goes_on = for_a_while(cancel);
        let absent = || {
            let text = "The session is not in the newest part of the ledger.";
            SourceError::new(Trouble::NotFound, text)
        };
        let from = match from {
            Some(from) => from,
            None => {
                let found = ledger::find_session(&disk, session, newest, &mut goes_on).map_err(failed)?;
                found.ok_or_else(absent)?
            }
        };
        let part = ledger::timeline(&disk, from, HAPPENED_MAX, &mut goes_on).map_err(failed)?;
        let events = part.happened.iter().flat_map(told::events).collect();
        Ok(ChargeTimeline { events, next: part.next.filter(|(_, next)| *next < newest) })
    }

    fn plan_of_entry(&self, entry: u64) -> Result<(String, i64), SourceError> {
        let mut found = None;
        let read = ledger::read(&self.disk()?, entry, |entry| {
            let text = entry.effects.iter().find_map(|effect| match effect {
                Effect::Plan { text, .. } => Some(text.to_string()),
                _ => None,
            });
            found = text.map(|text| (text, entry.at));
            std::ops::ControlFlow::Break(())
        });
        let gone = || SourceError::new(Trouble::NotFound, "That part of the ledger is not there any more.");
        read.map_err(|_| gone())?;
        found.ok_or_else(gone)
    }

    fn try_out(&self, ask: &ChargeTryAsk, progress: &Progress, cancel: &Cancel) -> Result<ChargeTried, SourceError> {
        let plan = tariff::read("plan", &ask.text).map_err(|mistakes| {
            let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            SourceError::new(Trouble::Refused, lines.join("\n"))
        })?;
        let (name, currency) = (plan.name.clone(), plan.currency.clone());
        let span = Span { from: ask.from, to: ask.to };
        let tried = ledger::try_out(&self.disk()?, plan, span, |read, total| {
            progress.packets.store(read, Ordering::Relaxed);
            progress.total_octets.store(total, Ordering::Relaxed);
            !cancel.is_cancelled()
        });
        let cancelled = || SourceError::new(Trouble::Cancelled, "cancelled");
        let tried = tried.map_err(failed)?.ok_or_else(cancelled)?;
        let decimals = u32::try_from(decimals(&currency)).unwrap_or_default();
        Ok(ChargeTried { plan: name, currency, decimals, ..told::tried(tried) })
    }

    fn check_comparison(&self, profile: &str, plan: Option<&str>) -> Result<(), SourceError> {
        compare::texts(profile, plan).map(|_| ())
    }

    fn compare(
        &self,
        ask: &ChargeCompareAsk,
        tell: &mut dyn FnMut(&ChargeDifference) -> bool,
        progress: &Progress,
        cancel: &Cancel,
    ) -> Result<ChargeCompared, SourceError> {
        compare::compare(&self.data, ask, tell, progress, cancel)
    }

    fn rate_calls(
        &self,
        ask: &ChargeRateAsk,
        tell: &mut dyn FnMut(&ChargeRatedCall),
        progress: &Progress,
        cancel: &Cancel,
    ) -> Result<ChargeRated, SourceError> {
        rate::rate(&self.data, ask, tell, progress, cancel)
    }
}

/// When the entry before a number was.
fn time_of(disk: &Folder, next: u64) -> Result<i64, SourceError> {
    let mut at = 0;
    ledger::read(disk, next.saturating_sub(1).max(1), |entry| {
        at = entry.at;
        std::ops::ControlFlow::Break(())
    })
    .map_err(failed)?;
    Ok(at)
}

#[cfg(test)]
mod tests;
