//! Calls of the store beside lines of a bill, or beside what was charged online.

use super::{Failed, MS, SECOND, Step, TELL_EVERY, Waiting, Which, add_skipped, calls, cover, length, seen, wanted};
use crate::charge::{configured, damage};
use std::collections::{BTreeSet, HashMap};
use std::io::BufRead;
use std::path::Path;
use trunkline_charge::compare::{
    BillLine, BillReader, ITEMS_MAX, LINE_OCTETS_MAX, Owed, Parties, Party, Profile, Report, Rules, Seen, Undone,
    Unread, WireCall, compare,
};
use trunkline_charge::gy::decimals;
use trunkline_charge::ledger::{self, PAYERS_MAX};
use trunkline_charge::money::MICROS;
use trunkline_charge::session;
use trunkline_charge::tariff::{self, Plan};
use trunkline_commit::Folder;
use trunkline_store::row::{Call, Charge};
use trunkline_store::{Order, Query, Skipped, Store};

/// How far calls and lines are looked at beyond the span, nanoseconds: what clocks may differ by at its ends.
const MARGIN_NS: i64 = 2 * 3600 * SECOND;
/// The same where the span is the bill's, whose clock may be off by as much as is measured.
const MARGIN_OF_BILL_NS: i64 = 26 * 3600 * SECOND;
/// Lines that cannot be read and are told one by one.
pub const UNREAD_MAX: usize = 100;
/// Characters of a Session-Id that are kept.
const SESSION_CHARS_MAX: usize = 256;

/// What counts as the same.
#[derive(Clone, Debug)]
pub struct Tolerance {
    /// How far begins may be apart, milliseconds.
    pub begin_ms: i64,
    /// How far lengths may be apart, milliseconds.
    pub length_ms: i64,
    /// How much the bill's clock is ahead, milliseconds; none: it is measured.
    pub ahead_ms: Option<i64>,
    /// Whether the span is by the bill's clock, because its lines gave it.
    pub span_of_bill: bool,
    /// For how long nothing at all has to be seen until it counts as not captured, milliseconds.
    pub silence_ms: i64,
    /// The Rating-Group that calls have in the plan and in charges; none: any charge with a number that was called.
    pub rating_group: Option<u32>,
    /// Calls, and lines, at most.
    pub items_max: usize,
    /// Accounts and subscribers of the ledger at most, together.
    pub payers_max: usize,
}

impl Default for Tolerance {
    fn default() -> Tolerance {
        Tolerance {
            begin_ms: 10_000,
            length_ms: 2000,
            ahead_ms: None,
            span_of_bill: false,
            silence_ms: 3_600_000,
            rating_group: None,
            items_max: ITEMS_MAX,
            payers_max: PAYERS_MAX,
        }
    }
}

/// Whose calls have to have a line.
#[derive(Clone, Debug, Default)]
pub enum Payers {
    /// All callers: a bill is for all calls that are asked for.
    #[default]
    All,
    /// Subscribers of a ledger that is not there.
    Unknown,
    /// The subscribers of the ledger.
    Of(Box<session::Payers>),
}

/// The same with those who have to pay by the ledger of a data folder, and the currency of its plans; without a ledger
/// nobody knows.
///
/// # Errors
/// The ledger is damaged, or has too many of them, or it was given up.
pub fn with_payers(lines: Lines, data: &Path, tolerance: &Tolerance, waiting: &Waiting<'_>) -> Result<Lines, Failed> {
    let Ok(disk) = Folder::beside(&configured::ledger(data)) else {
        return Ok(Lines { payers: Payers::Unknown, ..lines });
    };
    waiting.read(Step::Payers, 0)?;
    let payers = ledger::payers(&disk, &damage::witnesses(data), tolerance.payers_max, &mut || waiting.goes_on())?;
    let plans = payers.plans().filter_map(|plan| tariff::read("plan", &plan.text).ok());
    let currencies: BTreeSet<String> = plans.map(|plan| plan.currency).collect();
    let currency = currencies.first().filter(|_| currencies.len() == 1).cloned();
    let decimals = currency.as_deref().map_or(2, |letters| u32::try_from(decimals(letters)).unwrap_or_default());
    Ok(Lines { payers: Payers::Of(Box::new(payers)), currency, decimals, ..lines })
}

impl Payers {
    fn owed(&self, caller: Party) -> Owed {
        match self {
            Payers::All => Owed::Yes,
            Payers::Unknown => Owed::Unknown,
            // Who is not told, or not understood, may be one.
            Payers::Of(_) if caller == Party::NONE || caller.is_not_understood() => Owed::Yes,
            Payers::Of(payers) => {
                let is_payer = caller.digits().is_some_and(|digits| payers.account(&digits).is_some());
                if is_payer { Owed::Yes } else { Owed::No }
            }
        }
    }
}

/// Lines of a bill, or of what was charged.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// They.
    pub lines: Vec<BillLine>,
    /// What parties are called.
    pub parties: Parties,
    /// Of charges, the session that each is of; [`BillLine::line`] is its place.
    pub sessions: Vec<Box<str>>,
    /// Lines that could not be read, the first [`UNREAD_MAX`].
    pub unread: Vec<Unread>,
    /// How many there are.
    pub unread_count: u64,
    /// Whether they say what they ask for.
    pub has_amounts: bool,
    /// Whose calls have to have one.
    pub payers: Payers,
    /// Days of the store that could not be read for them.
    pub skipped: Vec<Skipped>,
    /// The currency that amounts are in, where it is known and one alone.
    pub currency: Option<String>,
    /// Digits of its minor unit.
    pub decimals: u32,
}

/// What came of it.
#[derive(Debug)]
pub struct Compared {
    /// Where they differ.
    pub report: Report,
    /// What parties are called.
    pub parties: Parties,
    /// See [`Lines::sessions`].
    pub sessions: Vec<Box<str>>,
    /// See [`Lines::unread`].
    pub unread: Vec<Unread>,
    /// See [`Lines::unread_count`].
    pub unread_count: u64,
    /// The time that was looked at, nanoseconds.
    pub span_ns: (i64, i64),
    /// Whether the lines are a bill's.
    pub is_bill: bool,
    /// How far begins may be apart, milliseconds.
    pub begin_ms: i64,
    /// Stretches of it of which nothing can be said, and their milliseconds.
    pub blind: (usize, i64),
    /// The first and last that was captured in and around it, milliseconds.
    pub captured: Option<(i64, i64)>,
    /// Days of the store that could not be read.
    pub skipped: Vec<Skipped>,
    /// See [`Lines::currency`].
    pub currency: Option<String>,
    /// See [`Lines::decimals`].
    pub decimals: u32,
}

impl Compared {
    /// Whether anything differs, or was not read.
    pub fn differs(&self) -> bool {
        let nothing = self.is_bill && self.report.billed == 0 && self.report.outside > 0;
        self.report.certain() + self.report.unsure() + self.unread_count > 0 || !self.skipped.is_empty() || nothing
    }
}

/// Reads a bill.
///
/// # Errors
/// It cannot be read, or a column is missing, or it has too many lines, or it was given up.
pub fn bill(
    file: &mut dyn BufRead,
    profile: &Profile,
    tolerance: &Tolerance,
    waiting: &Waiting<'_>,
) -> Result<Lines, Failed> {
    let (mut lines, mut text) = (Lines { decimals: profile.bill.minor_digits, ..Lines::default() }, String::new());
    if next(file, &mut text)? == 0 {
        return Err(Failed::Asked("the bill is empty: its first line has the titles of its columns".to_owned()));
    }
    let mut reader = BillReader::new(profile, &text).map_err(|why| Failed::Asked(format!("line 1: {why}")))?;
    lines.has_amounts = reader.has_amounts();
    let mut read = 0u64;
    while next(file, &mut text)? > 0 {
        read += 1;
        if read.is_multiple_of(TELL_EVERY) {
            waiting.read(Step::Bill, read)?;
        }
        match reader.read(&text, &mut lines.parties) {
            Ok(Some(_)) if lines.lines.len() >= tolerance.items_max => return Err(too_much(tolerance, "lines")),
            Ok(line) => lines.lines.extend(line),
            Err(unread) => {
                lines.unread_count += 1;
                if lines.unread.len() < UNREAD_MAX {
                    lines.unread.push(unread);
                }
            }
        }
    }
    Ok(lines)
}

fn too_much(tolerance: &Tolerance, what: &str) -> Failed {
    Failed::Asked(format!("more than {} {what}: compare a shorter time", tolerance.items_max))
}

/// The next line, whatever octets it has; what is longer than a line may be is cut, and told by its reader.
fn next(file: &mut dyn BufRead, text: &mut String) -> Result<usize, Failed> {
    let failed = |e: std::io::Error| Failed::Asked(format!("the bill cannot be read: {e}"));
    let mut octets = Vec::new();
    std::io::Read::take(&mut *file, LINE_OCTETS_MAX as u64 + 1).read_until(b'\n', &mut octets).map_err(failed)?;
    if octets.len() > LINE_OCTETS_MAX && !octets.ends_with(b"\n") {
        skip_line(file).map_err(failed)?;
    }
    text.clear();
    text.push_str(&String::from_utf8_lossy(&octets));
    Ok(octets.len())
}

fn skip_line(file: &mut dyn BufRead) -> std::io::Result<()> {
    loop {
        let there = file.fill_buf()?;
        let (taken, ends) = match there.iter().position(|octet| *octet == b'\n') {
            Some(at) => (at + 1, true),
            None => (there.len(), there.is_empty()),
        };
        file.consume(taken);
        if ends {
            return Ok(());
        }
    }
}

/// What was charged online for calls in a time: sessions with a number that was called, and with seconds or money.
///
/// Records of one session are one line. A call is found by the optional part of the Session-Id (RFC 6733 section 8.8)
/// where the client puts the Call-ID there, else by numbers and time.
///
/// # Errors
/// The store could not be read, there is too much, or it was given up.
pub fn charged(
    store: &Store,
    (from_ns, to_ns): (i64, i64),
    profile: &Profile,
    tolerance: &Tolerance,
    waiting: &Waiting<'_>,
) -> Result<Lines, Failed> {
    let (mut lines, mut at) = (Lines { has_amounts: true, decimals: 2, ..Lines::default() }, HashMap::new());
    let mut query = Query {
        from_ns: from_ns.saturating_sub(MARGIN_NS),
        to_ns: to_ns.saturating_add(MARGIN_NS),
        order: Order::Oldest,
        limit: trunkline_store::store::PAGE_ROWS_MAX,
        stop: waiting.stop.clone(),
        ..Query::default()
    };
    loop {
        let page = store.charges(&query)?;
        waiting.read(Step::Charges, lines.lines.len() as u64)?;
        for charge in page.rows.iter().filter(|charge| is_call(charge, tolerance.rating_group)) {
            if lines.lines.len() >= tolerance.items_max {
                return Err(too_much(tolerance, "charges"));
            }
            add(&mut lines, &mut at, charge, profile);
        }
        add_skipped(&mut lines.skipped, page.skipped);
        match page.next {
            Some(next) => query.cursor = Some(next),
            None => return Ok(lines),
        }
    }
}

fn is_call(charge: &Charge, rating_group: Option<u32>) -> bool {
    let used = charge.seconds > 0 || charge.money != 0 || charge.short != 0;
    let is_asked_for = rating_group.is_none_or(|group| has_group(&charge.services, group));
    charge.kind == "session" && !charge.destination.is_empty() && used && is_asked_for
}

/// Whether a service of a charge (a JSON list) is of that rating group.
fn has_group(services: &str, group: u32) -> bool {
    let all: Vec<serde_json::Value> = serde_json::from_str(services).unwrap_or_default();
    all.iter().any(|service| service["rating_group"].as_u64() == Some(group.into()))
}

/// A number as a charge has it: digits of the international form, but the client's own where they begin with a zero,
/// which no country code does (E.164 section 6.2.1).
fn party(parties: &mut Parties, digits: &str, profile: &Profile) -> Party {
    match digits.bytes().next() {
        None => Party::NONE,
        Some(b'1'..=b'9') => Party::number(digits),
        Some(_) => parties.of(digits, &profile.numbers),
    }
}

fn add(lines: &mut Lines, at: &mut HashMap<u64, usize>, charge: &Charge, profile: &Profile) {
    let amount = charge.money.saturating_add(charge.short).saturating_mul(MICROS);
    let duration = i64::try_from(charge.seconds).unwrap_or(i64::MAX / 1000).saturating_mul(1000);
    if let Some(known) = at.get(&Parties::reference(&charge.session)) {
        let line = &mut lines.lines[*known];
        line.begin = line.begin.min(charge.start_ns.div_euclid(MS));
        line.duration = line.duration.saturating_add(duration);
        line.amount = Some(line.amount.unwrap_or(0).saturating_add(amount));
        return;
    }
    at.insert(Parties::reference(&charge.session), lines.lines.len());
    let caller = party(&mut lines.parties, &charge.msisdn, profile);
    let called = party(&mut lines.parties, &charge.destination, profile);
    lines.lines.push(BillLine {
        line: lines.sessions.len() as u32,
        caller,
        called,
        begin: charge.start_ns.div_euclid(MS),
        duration,
        amount: Some(amount),
        reference: charge.session.splitn(4, ';').nth(3).map_or(0, Parties::reference),
    });
    lines.sessions.push(charge.session.chars().take(SESSION_CHARS_MAX).collect::<String>().into());
}

/// The currency that amounts are in, and the digits of its minor unit: by the plan, else by the lines.
fn money(lines: &Lines, plan: Option<&Plan>) -> Result<(Option<String>, u32), Failed> {
    let Some(plan) = plan else { return Ok((lines.currency.clone(), lines.decimals)) };
    let (letters, is_bill) = (&plan.currency, matches!(lines.payers, Payers::All));
    let digits = u32::try_from(decimals(letters)).unwrap_or_default();
    let differs =
        |of: String| Err(Failed::Asked(format!("the plan is in {letters}, of {digits} minor digits, but {of}")));
    match &lines.currency {
        _ if digits == lines.decimals => {}
        Some(charged) => return differs(format!("what was charged is in {charged}, of {}", lines.decimals)),
        // Charges are in minor units: where nobody knows of which currency, it is the plan's.
        None if !is_bill => {}
        None => {
            return differs(format!("[bill] minor-digits is {}: set it to {digits} in the profile", lines.decimals));
        }
    }
    Ok((Some(letters.clone()), digits))
}

/// Compares calls with lines.
///
/// # Errors
/// The store could not be read, there is too much, it was given up, or the plan is held against a bill without amounts
/// or against amounts of another minor unit.
pub fn against(
    store: &Store,
    lines: Lines,
    profile: &Profile,
    plan: Option<&Plan>,
    tolerance: &Tolerance,
    which: &Which,
    waiting: &Waiting<'_>,
) -> Result<Compared, Failed> {
    if plan.is_some() && !lines.has_amounts {
        let why = "the bill has no column of amounts: there is nothing to hold --plan against; a profile names it";
        return Err(Failed::Asked(why.to_owned()));
    }
    let (currency, decimals) = money(&lines, plan)?;
    let Lines { lines, mut parties, sessions, unread, unread_count, payers, skipped: mut passed, .. } = lines;
    let margin = if tolerance.span_of_bill { MARGIN_OF_BILL_NS } else { MARGIN_NS };
    let (from_ns, to_ns) = (which.from_ns.saturating_sub(margin), which.to_ns.saturating_add(margin));
    let asked_for = Which { filter: which.filter.clone(), from_ns, to_ns };
    let wanted = wanted(store, &asked_for, tolerance.items_max, waiting)?;
    let wider = Which { filter: None, from_ns, to_ns };
    let (mut wire, most) = (Vec::new(), tolerance.items_max);
    let skipped = calls(store, &wider, (Step::Calls, waiting), &mut |call| {
        let mut one = wire_call(call, profile, &mut parties);
        let is_wanted = wanted.as_ref().is_none_or(|ids| ids.contains(&call.id));
        one.owed = if is_wanted { payers.owed(one.caller) } else { Owed::LeftOut };
        wire.push(one);
        wire.len() <= most
    });
    if wire.len() > most {
        return Err(too_much(tolerance, "calls"));
    }
    add_skipped(&mut passed, skipped?);
    let (cover, skipped) = cover(store, (from_ns, to_ns), tolerance.silence_ms, waiting)?;
    add_skipped(&mut passed, skipped);
    let rules = Rules {
        begin: tolerance.begin_ms,
        duration: tolerance.length_ms,
        first: profile.bill.first_step.0,
        step: profile.bill.step.0,
        ahead: tolerance.ahead_ms,
        plan,
        rating_group: tolerance.rating_group,
        span_of_bill: tolerance.span_of_bill,
    };
    let span = (which.from_ns.div_euclid(MS), which.to_ns.div_euclid(MS));
    waiting.read(Step::Pairs, wire.len() as u64)?;
    let report = compare(wire, lines, &rules, &cover, span, &|| waiting.goes_on()).map_err(|undone| match undone {
        Undone::GivenUp => Failed::GivenUp,
        Undone::TooMuch(_) => Failed::Asked(undone.to_string()),
    })?;
    let (blind, captured) = (cover.blind(report.span), cover.seen());
    let of_bill = (report.span.0.saturating_mul(MS), report.span.1.saturating_mul(MS));
    Ok(Compared {
        report,
        parties,
        sessions,
        unread,
        unread_count,
        span_ns: if tolerance.span_of_bill { of_bill } else { (which.from_ns, which.to_ns) },
        is_bill: matches!(payers, Payers::All),
        begin_ms: tolerance.begin_ms,
        blind,
        captured,
        skipped: passed,
        currency,
        decimals,
    })
}

fn wire_call(call: &Call, profile: &Profile, parties: &mut Parties) -> WireCall {
    let (seen, start) = (seen(call), call.start_ns.div_euclid(MS));
    let answered = matches!(seen, Seen::Whole | Seen::Open);
    WireCall {
        id: call.id,
        caller: parties.of(&call.from, &profile.numbers),
        called: parties.of(&call.to, &profile.numbers),
        start,
        answer: call.answer_ns.map_or(start, |at| at.div_euclid(MS)),
        duration: if answered { length(call).div_euclid(MS) } else { 0 },
        seen,
        owed: Owed::Yes,
        reference: Parties::reference(&call.sip_call_id),
    }
}

/// The days that the lines of a bill touch, in its time zone: nanoseconds, the begin in it, the end not.
pub fn days_of(lines: &[BillLine], profile: &Profile) -> Option<(i64, i64)> {
    let begins = lines.iter().map(|line| line.begin.div_euclid(1000));
    let (first, last) = (begins.clone().min()?, begins.max()?);
    let day = trunkline_charge::calendar::Period::Day;
    let (from, to) = (day.begin(&profile.zone, first), day.end(&profile.zone, last));
    Some((from.saturating_mul(SECOND), to.saturating_mul(SECOND)))
}
