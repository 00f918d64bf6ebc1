//! Calls of the store, rated by the plans of the accounts that pay for them.
//!
//! The store gives calls by their first message, tariffs want them by their answer: those that rang wait until no call
//! that comes can have been answered before them. Calls before the span are rated, too, as far as bundles and counters
//! reach back, and are not told; so are those that the filter does not want: they use up bundles like all others.
//! Another leg of a call, or a copy of it from a second tap, is told and rated no second time.

use super::{Failed, MS, SECOND, Step, Waiting, Which, calls, length, seen, wanted};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet, VecDeque};
use trunkline_charge::account::ServiceKey;
use trunkline_charge::compare::{ITEMS_MAX, LEG_MS, Parties, Party, Seen};
use trunkline_charge::ledger::{self, PAYERS_MAX};
use trunkline_charge::numbers::Numbers;
use trunkline_charge::session::{CallPayer, CallRated, CallRater, Spoken};
use trunkline_charge::tariff::Plan;
use trunkline_commit::{Folder, Witness};
use trunkline_kit::Id;
use trunkline_store::row::Call;
use trunkline_store::{Skipped, Store};

/// How long a call may ring that is rated by its answer, nanoseconds: longer than any timer of SIP lets it.
const RINGS_NS: i64 = 3600 * SECOND;
/// How far begin, answer and end of another leg may be from a call's, nanoseconds.
const LEG_NS: i64 = LEG_MS * MS;
/// Numbers that are counted apart where nobody pays for them.
const NUMBERS_MAX: usize = 1_000_000;

/// A call and what became of it.
#[derive(Clone, Debug)]
pub struct Told {
    /// Its identifier.
    pub id: Id,
    /// Who called, as the wire has it.
    pub caller: String,
    /// Who was called, as the wire has it.
    pub called: String,
    /// When it was answered, nanoseconds since 1970.
    pub answer_ns: i64,
    /// How long it was, a second that began counted as whole.
    pub seconds: u64,
    /// What became of it.
    pub end: End,
    /// Who pays for it, where that is known.
    pub payer: Option<CallPayer>,
    /// The name of the destination that was called in the plan, and the prefix, where it has one.
    pub destination: Option<(String, String)>,
    /// Whether the capture saw all of it; a call that it did not is rated by what was seen.
    pub complete: bool,
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It was rated, or there is no price, or nobody to pay.
    Rated(CallRated),
    /// Its end was not seen, or has not come yet: how long it was is not known.
    Open,
    /// A number is not understood: which one, as the wire has it.
    NotUnderstood(String),
    /// It is another leg of a call that was answered before it, or a copy.
    Leg,
}

/// What calls come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// By currency and account.
    pub accounts: BTreeMap<(String, u64), Account>,
    /// Calls that nobody answered.
    pub unanswered: u64,
    /// Calls whose end was not seen.
    pub open: u64,
    /// Other legs and copies of calls, which are in none of the other figures.
    pub legs: u64,
    /// Calls with a number that is not understood.
    pub not_understood: u64,
    /// Calls for which nobody pays: calls that came from outside, and unknown callers.
    pub nobody: u64,
    /// How many callers those had.
    pub nobody_numbers: u64,
    /// Calls without a rule.
    pub no_rule: u64,
    /// Calls that a rule denies, and that were there.
    pub blocked: u64,
    /// Calls with a price, and those of which the capture did not see all.
    pub priced: u64,
    /// See `priced`.
    pub incomplete: u64,
    /// Calls of accounts that have another plan than the one that was asked for.
    pub other_plan: u64,
    numbers: HashSet<u64>,
}

/// What an account's calls come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Its plan and the number of the plan's text.
    pub plan: String,
    /// See `plan`.
    pub version: u32,
    /// Calls with a price.
    pub calls: u64,
    /// Their seconds.
    pub seconds: u64,
    /// Seconds that bundles paid for.
    pub bundle_units: u64,
    /// What they cost, minor units.
    pub money: i64,
    /// Of it, what calls cost of which the capture did not see all.
    pub incomplete_money: i64,
}

impl Sums {
    /// Whether calls that were to be paid have no price.
    pub fn lacks(&self) -> bool {
        self.no_rule + self.blocked + self.not_understood + self.open > 0
    }

    fn add(&mut self, told: &Told) {
        match &told.end {
            End::Open => self.open += 1,
            End::Leg => self.legs += 1,
            End::NotUnderstood(_) => self.not_understood += 1,
            End::Rated(CallRated::NobodyPays) => {
                self.nobody += 1;
                let number = Parties::reference(&told.caller);
                if self.numbers.len() < NUMBERS_MAX && self.numbers.insert(number) {
                    self.nobody_numbers += 1;
                }
            }
            End::Rated(CallRated::NoRule { .. }) => self.no_rule += 1,
            End::Rated(CallRated::Blocked { .. }) => self.blocked += 1,
            End::Rated(CallRated::Priced(price)) => {
                self.priced += 1;
                self.incomplete += u64::from(!told.complete);
                let account = self.accounts.entry((price.currency.to_string(), price.account)).or_default();
                (account.plan, account.version) = (price.plan.to_string(), price.version);
                account.calls += 1;
                account.seconds += told.seconds;
                account.bundle_units += price.bundle_units;
                account.money = account.money.saturating_add(price.money.0);
                if !told.complete {
                    account.incomplete_money = account.incomplete_money.saturating_add(price.money.0);
                }
            }
        }
    }
}

/// By what calls are rated, and which of them are told.
#[derive(Clone, Debug)]
pub struct By {
    /// What calls are in the plans.
    pub key: ServiceKey,
    /// A text that holds in place of the one of its name, and its number (0: the ledger does not have it).
    pub text: Option<(Plan, u32)>,
    /// Only calls of accounts under the plan of this name are told.
    pub plan_name: Option<String>,
    /// Accounts and subscribers at most, together.
    pub payers_max: usize,
    /// Calls that a filter wants, at most.
    pub items_max: usize,
}

impl By {
    /// By the plans that hold, all calls.
    pub fn plans(key: ServiceKey) -> By {
        By { key, text: None, plan_name: None, payers_max: PAYERS_MAX, items_max: ITEMS_MAX }
    }
}

/// A rater of what a ledger says.
///
/// # Errors
/// There is no ledger, or it is damaged or too large, or has no plan of that name; it was given up.
pub fn rater(disk: &Folder, witnesses: &[Witness], by: &By, waiting: &Waiting<'_>) -> Result<CallRater, Failed> {
    waiting.read(Step::Payers, 0)?;
    let payers = ledger::payers(disk, witnesses, by.payers_max, &mut || waiting.goes_on())?;
    let absent = |name: &str| Failed::Asked(format!("no account can have the plan '{name}': the ledger has none"));
    if let Some(name) = by.plan_name.as_ref().filter(|name| payers.plans().all(|plan| *plan.name != ***name)) {
        return Err(absent(name));
    }
    let rater = CallRater::new(payers, by.key).map_err(|fault| Failed::Asked(fault.to_string()))?;
    match by.text.clone() {
        Some((plan, version)) => rater.with_plan(plan, version).map_err(|name| absent(&name)),
        None => Ok(rater),
    }
}

/// Rates the calls of a store; each one that began in the span and was answered is told.
///
/// # Errors
/// The store could not be read, or it was given up, by `tell` or by who waits.
pub fn rate(
    store: &Store,
    rater: CallRater,
    (numbers, by): (&Numbers, &By),
    which: &Which,
    waiting: &Waiting<'_>,
    tell: &mut dyn FnMut(&Told) -> bool,
) -> Result<(Sums, Vec<Skipped>), Failed> {
    let since = rater.since(which.from_ns.div_euclid(SECOND));
    let since_ns = since.saturating_mul(SECOND);
    let ids = wanted(store, which, by.items_max, waiting)?;
    // What begins after the span may be answered before what rings at its end.
    let (from_ns, to_ns) = (since_ns.saturating_sub(RINGS_NS), which.to_ns.saturating_add(RINGS_NS));
    let wider = Which { filter: None, from_ns, to_ns };
    let is_told = |call: &Call| {
        (which.from_ns..which.to_ns).contains(&call.start_ns) && ids.as_ref().is_none_or(|ids| ids.contains(&call.id))
    };
    let (sums, ringing, recent) = (Sums::default(), BinaryHeap::new(), VecDeque::new());
    let plan_name = by.plan_name.as_deref();
    let mut work = Work { rater, numbers, plan_name, is_told: &is_told, since_ns, sums, ringing, recent };
    let skipped = calls(store, &wider, (Step::Calls, waiting), &mut |call| work.take(call, tell))?;
    if !work.settle(i64::MAX, tell) {
        return Err(Failed::GivenUp);
    }
    Ok((work.sums, skipped))
}

/// A call that waits for its turn: by its answer, then by its identifier.
type Ringing = Reverse<(i64, Id, Box<Waits>)>;

/// What of a call is needed; it is put in order by what stands before it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Waits {
    caller: String,
    called: String,
    start_ns: i64,
    end_ns: i64,
    reference: u64,
    seconds: u64,
    open: bool,
    complete: bool,
    is_told: bool,
}

/// A call that others may be legs of.
#[derive(Debug)]
struct Recent {
    start_ns: i64,
    answer_ns: i64,
    end_ns: i64,
    parties: (Party, Party),
    reference: u64,
}

impl Recent {
    fn is_like(&self, other: &Recent) -> bool {
        let near = |a: i64, b: i64| a.abs_diff(b) <= LEG_NS as u64;
        let told = self.parties.0 != Party::NONE && self.parties.1 != Party::NONE;
        let same = self.reference != 0 && self.reference == other.reference;
        (same || (told && self.parties == other.parties))
            && near(self.start_ns, other.start_ns)
            && near(self.end_ns, other.end_ns)
    }
}

struct Work<'a> {
    rater: CallRater,
    numbers: &'a Numbers,
    plan_name: Option<&'a str>,
    is_told: &'a dyn Fn(&Call) -> bool,
    since_ns: i64,
    sums: Sums,
    ringing: BinaryHeap<Ringing>,
    /// Calls that were answered last, in that order.
    recent: VecDeque<Recent>,
}

impl Work<'_> {
    fn take(&mut self, call: &Call, tell: &mut dyn FnMut(&Told) -> bool) -> bool {
        let goes_on = self.settle(call.start_ns, tell);
        match (seen(call), call.answer_ns) {
            (Seen::Whole | Seen::Open, Some(answer_ns)) if answer_ns < self.since_ns.saturating_sub(LEG_NS) => {}
            (kind @ (Seen::Whole | Seen::Open), Some(answer_ns)) => {
                let waits = Waits {
                    caller: call.from.clone(),
                    called: call.to.clone(),
                    start_ns: call.start_ns,
                    end_ns: answer_ns.saturating_add(length(call)),
                    reference: Parties::reference(&call.sip_call_id),
                    seconds: (length(call) as u64).div_ceil(SECOND as u64),
                    open: kind == Seen::Open,
                    complete: call.capture.complete,
                    is_told: (self.is_told)(call),
                };
                self.ringing.push(Reverse((answer_ns, call.id, Box::new(waits))));
            }
            _ => self.sums.unanswered += u64::from((self.is_told)(call)),
        }
        goes_on
    }

    /// Rates those that were answered before a time.
    fn settle(&mut self, before_ns: i64, tell: &mut dyn FnMut(&Told) -> bool) -> bool {
        while self.ringing.peek().is_some_and(|Reverse((answer, ..))| *answer <= before_ns) {
            let Some(Reverse((answer_ns, id, waits))) = self.ringing.pop() else { break };
            let is_leg = self.is_leg(answer_ns, &waits);
            if answer_ns < self.since_ns {
                continue;
            }
            let end = if is_leg { End::Leg } else { self.end(answer_ns, &waits) };
            if !waits.is_told {
                continue;
            }
            let (payer, destination) = self.of(&waits);
            // Of whom nothing is understood nobody knows the plan: that is told, and not taken for another one.
            let is_known = payer.is_some() || !matches!(end, End::NotUnderstood(_));
            if is_known && self.plan_name.is_some_and(|name| !has_plan(payer.as_ref(), name)) {
                self.sums.other_plan += 1;
                continue;
            }
            let Waits { caller, called, seconds, complete, .. } = *waits;
            let told = Told { id, caller, called, answer_ns, seconds, end, payer, destination, complete };
            self.sums.add(&told);
            if !tell(&told) {
                return false;
            }
        }
        true
    }

    /// Whether a call is another leg or a copy of one that was answered just before it.
    fn is_leg(&mut self, answer_ns: i64, waits: &Waits) -> bool {
        let since = answer_ns.saturating_sub(LEG_NS);
        while self.recent.front().is_some_and(|one| one.answer_ns < since) {
            self.recent.pop_front();
        }
        let mut parties = Parties::default();
        let parties = (parties.of(&waits.caller, self.numbers), parties.of(&waits.called, self.numbers));
        let Waits { start_ns, end_ns, reference, .. } = *waits;
        let one = Recent { start_ns, answer_ns, end_ns, parties, reference };
        let is_leg = self.recent.iter().any(|other| other.is_like(&one));
        if !is_leg {
            self.recent.push_back(one);
        }
        is_leg
    }

    /// Who pays, and where to it was.
    fn of(&self, waits: &Waits) -> (Option<CallPayer>, Option<(String, String)>) {
        let caller = self.numbers.international(&waits.caller);
        let payer = caller.and_then(|caller| self.rater.payer(&caller));
        let called = self.numbers.international(&waits.called);
        let found = payer.as_ref().zip(called.as_deref());
        let found = found.and_then(|(payer, called)| self.rater.destination(payer.account, called));
        let destination = found.map(|(name, prefix)| (name.to_owned(), prefix.to_owned()));
        (payer, destination)
    }

    fn end(&mut self, answer_ns: i64, waits: &Waits) -> End {
        if waits.open {
            return End::Open;
        }
        let read = |number: &str| self.numbers.international(number);
        match (read(&waits.caller), read(&waits.called)) {
            (Some(caller), Some(called)) => {
                let begin = answer_ns.div_euclid(SECOND);
                let call = Spoken { caller: &caller, called: &called, begin, seconds: waits.seconds };
                End::Rated(self.rater.rate(&call))
            }
            (None, _) => End::NotUnderstood(waits.caller.clone()),
            (_, None) => End::NotUnderstood(waits.called.clone()),
        }
    }
}

fn has_plan(payer: Option<&CallPayer>, name: &str) -> bool {
    payer.and_then(|payer| payer.plan.as_ref()).is_some_and(|(plan, _)| **plan == *name)
}
