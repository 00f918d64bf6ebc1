//! Calls of the store beside tariffs and bills: what the command line and the web ask alike.

pub mod compared;
pub mod rated;
pub mod told;

use std::collections::HashSet;
use trunkline_charge::compare::{Cover, Seen};
use trunkline_charge::ledger::NoPayers;
use trunkline_kit::Id;
use trunkline_store::filter::Filter;
use trunkline_store::row::{Call, CallState};
use trunkline_store::store::PAGE_ROWS_MAX;
use trunkline_store::{Order, Query, Skipped, SqlLimits, SqlValue, Stop, Store, StoreError};

/// Nanoseconds of a millisecond.
pub const MS: i64 = 1_000_000;
/// Nanoseconds of a second.
pub const SECOND: i64 = 1_000_000_000;
/// Milliseconds of a minute: a shorter silence is not told.
const MINUTE_MS: i64 = 60_000;
/// Minutes of a day.
const MINUTES: i64 = 1440;
/// Calls or lines after which who waits is told.
const TELL_EVERY: u64 = 1024;
/// Nanoseconds of an hour, and of a day.
const HOUR: i64 = 3600 * SECOND;
const DAY: i64 = 24 * HOUR;
/// Where what is lost was never looked at: before the analysis, or at the tap. What a recorder or a table of media had
/// no room for was.
const BEFORE_ANALYSIS: [&str; 7] = ["interface", "operating-system", "card", "damaged", "ring", "mirror", "hole"];

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] trunkline_charge::ledger::Fault),
    /// Something that was brought, or asked for.
    #[error("{0}")]
    Asked(String),
    /// Who asked does not want it any more.
    #[error("it was given up")]
    GivenUp,
}

impl From<NoPayers> for Failed {
    fn from(why: NoPayers) -> Failed {
        match why {
            NoPayers::Ledger(fault) => Failed::Ledger(fault),
            NoPayers::TooMany(_) => Failed::Asked(why.to_string()),
            NoPayers::GivenUp => Failed::GivenUp,
        }
    }
}

/// Who waits for it: is told how far it is, and may want it no more.
pub struct Waiting<'a> {
    /// Ends what is asked of the store, in the midst of a page.
    pub stop: Stop,
    /// Is told which step it is at, and how much of it was read.
    pub tell: &'a dyn Fn(Step, u64),
}

/// What is read, or done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Lines of a bill.
    Bill,
    /// What was charged online.
    Charges,
    /// Who pays, by the ledger.
    Payers,
    /// The calls that the filter wants.
    Filter,
    /// All calls.
    Calls,
    /// What of the time was captured.
    Captured,
    /// Calls are paired with lines.
    Pairs,
}

impl Waiting<'_> {
    /// Whether it is still wanted.
    pub fn goes_on(&self) -> bool {
        !self.stop.is_due()
    }

    /// So much was read in this step.
    ///
    /// # Errors
    /// It is wanted no more.
    pub fn read(&self, step: Step, count: u64) -> Result<(), Failed> {
        (self.tell)(step, count);
        if self.goes_on() { Ok(()) } else { Err(Failed::GivenUp) }
    }
}

/// Which calls: filter and time, the begin in it, the end not, nanoseconds since 1970.
#[derive(Clone, Debug)]
pub struct Which {
    /// What they must be like.
    pub filter: Option<Filter>,
    /// First nanosecond.
    pub from_ns: i64,
    /// First nanosecond after it.
    pub to_ns: i64,
}

/// Hands calls to `each` in the order of their begin; false ends it. Days that could not be read.
///
/// # Errors
/// The store could not be read, or it was given up.
pub fn calls(
    store: &Store,
    which: &Which,
    (step, waiting): (Step, &Waiting<'_>),
    each: &mut dyn FnMut(&Call) -> bool,
) -> Result<Vec<Skipped>, Failed> {
    let (Which { filter, from_ns, to_ns }, stop) = (which.clone(), waiting.stop.clone());
    let (order, limit) = (Order::Oldest, PAGE_ROWS_MAX);
    let mut query = Query { filter, from_ns, to_ns, order, limit, stop, ..Query::default() };
    let (mut skipped, mut read): (Vec<Skipped>, u64) = (Vec::new(), 0);
    loop {
        let page = store.calls(&query)?;
        add_skipped(&mut skipped, page.skipped);
        for call in &page.rows {
            if !each(call) {
                return Err(Failed::GivenUp);
            }
            read += 1;
            if read % TELL_EVERY == 0 {
                waiting.read(step, read)?;
            }
        }
        waiting.read(step, read)?;
        match page.next {
            Some(next) => query.cursor = Some(next),
            None => return Ok(skipped),
        }
    }
}

/// Adds days that are not there yet.
fn add_skipped(all: &mut Vec<Skipped>, more: Vec<Skipped>) {
    for day in more {
        if !all.contains(&day) {
            all.push(day);
        }
    }
}

/// The calls that a filter wants, at most so many, of some 35 octets each; none without a filter, which wants all.
///
/// # Errors
/// The store could not be read, there are too many, or it was given up.
pub fn wanted(store: &Store, which: &Which, most: usize, waiting: &Waiting<'_>) -> Result<Option<HashSet<Id>>, Failed> {
    if which.filter.is_none() {
        return Ok(None);
    }
    let mut ids = HashSet::new();
    let read = calls(store, which, (Step::Filter, waiting), &mut |call| {
        ids.insert(call.id);
        ids.len() <= most
    });
    if ids.len() > most {
        return Err(Failed::Asked(format!("the filter wants more than {most} calls: choose a shorter time")));
    }
    read.map(|_| Some(ids))
}

/// What was seen of a call, as far as its length and outcome go. Lost media changes neither.
pub fn seen(call: &Call) -> Seen {
    use CallState::{AuthChallenged, Cancelled, Redirected, Rejected};
    match call.state {
        _ if call.answer_ns.is_some() && call.end_ns.is_some() => Seen::Whole,
        _ if call.answer_ns.is_some() => Seen::Open,
        Cancelled | Rejected | Redirected | AuthChallenged if call.capture.complete => Seen::Refused,
        _ => Seen::Unclear,
    }
}

/// Nanoseconds from the answer to the end, or to the last that was seen.
pub fn length(call: &Call) -> i64 {
    trunkline_store::json::duration_ns(call).unwrap_or(0).max(0)
}

/// What of a time was captured: calls, registrations and other transactions by the minute, and losses; and days that
/// could not be read.
///
/// # Errors
/// The store could not be read, or it was given up.
pub fn cover(
    store: &Store,
    (from_ns, to_ns): (i64, i64),
    silence_ms: i64,
    waiting: &Waiting<'_>,
) -> Result<(Cover, Vec<Skipped>), Failed> {
    let mut minutes: Vec<i64> = store.minutes(from_ns, to_ns)?.into_iter().map(|(minute, _)| minute).collect();
    for day in store.days()? {
        let (first, after) = (day.start_ns().max(from_ns), day.end_ns().min(to_ns));
        if first < after {
            waiting.read(Step::Captured, 0)?;
            others(store, (first, after), &mut minutes)?;
        }
    }
    minutes.sort_unstable();
    minutes.dedup();
    // What was seen is known by the minute.
    let mut cover = Cover::new(silence_ms.max(MINUTE_MS));
    for minute in minutes {
        cover.saw(minute * 60_000);
        cover.saw(minute * 60_000 + 59_999);
    }
    // What began to be counted before may reach into it.
    let (before, mut skipped) = (from_ns.saturating_sub(DAY), Vec::new());
    for day in store.days()? {
        let (first, after) = (day.start_ns().max(before), day.end_ns().min(to_ns));
        waiting.read(Step::Captured, 0)?;
        if first < after && !losses(store, (first, after), from_ns, &mut cover, &mut skipped)? {
            by_hours(store, (first, after), (from_ns, waiting), &mut cover, &mut skipped)?;
        }
    }
    Ok((cover, skipped))
}

/// Losses that began in a time and reach to `since_ns`, as many as a page has; whether these are all.
fn losses(
    store: &Store,
    (from_ns, to_ns): (i64, i64),
    since_ns: i64,
    cover: &mut Cover,
    skipped: &mut Vec<Skipped>,
) -> Result<bool, Failed> {
    let query = Query { from_ns, to_ns, order: Order::Oldest, limit: PAGE_ROWS_MAX, ..Query::default() };
    let page = store.losses(&query)?;
    let counts = |place: &str| BEFORE_ANALYSIS.contains(&place);
    for loss in page.rows.iter().filter(|loss| loss.count > 0 && loss.at_ns >= since_ns && counts(&loss.place)) {
        cover.lost(loss.since_ns.div_euclid(MS), loss.at_ns.div_euclid(MS));
    }
    add_skipped(skipped, page.skipped);
    Ok(page.rows.len() < PAGE_ROWS_MAX)
}

/// The same of a day that has more; of an hour that has more, too, nothing can be said.
fn by_hours(
    store: &Store,
    (from_ns, to_ns): (i64, i64),
    (since_ns, waiting): (i64, &Waiting<'_>),
    cover: &mut Cover,
    skipped: &mut Vec<Skipped>,
) -> Result<(), Failed> {
    let mut from = from_ns;
    while from < to_ns {
        waiting.read(Step::Captured, 0)?;
        let until = from.saturating_add(HOUR).min(to_ns);
        if !losses(store, (from, until), since_ns, cover, skipped)? {
            cover.lost(from.div_euclid(MS), until.div_euclid(MS));
        }
        from = until;
    }
    Ok(())
}

/// Minutes of a day with registrations or other transactions.
fn others(store: &Store, (from_ns, to_ns): (i64, i64), minutes: &mut Vec<i64>) -> Result<(), Failed> {
    for table in ["registrations", "sip_events"] {
        let text = format!(
            "SELECT DISTINCT start_ns / 60000000000 FROM {table} WHERE start_ns >= {from_ns} AND start_ns < {to_ns}"
        );
        let limits = SqlLimits { from_ns, to_ns, rows_max: MINUTES as usize + 1, ..SqlLimits::default() };
        store.sql(&text, &limits, &mut |_, row| {
            if let Some(SqlValue::Whole(minute)) = row.first() {
                minutes.push(*minute);
            }
            true
        })?;
    }
    Ok(())
}
