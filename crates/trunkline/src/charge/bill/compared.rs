//! Calls of the store beside lines of a bill, or beside what was charged online.

use super::{Failed, MS, SECOND, Which, calls, cover, length, seen};
use std::collections::HashMap;
use std::io::BufRead;
use trunkline_charge::compare::{
    BillLine, BillReader, LINE_OCTETS_MAX, Parties, Party, Profile, Report, Rules, Seen, Unread, WireCall, compare,
};
use trunkline_charge::money::MICROS;
use trunkline_charge::tariff::Plan;
use trunkline_store::row::{Call, Charge};
use trunkline_store::{Order, Query, Skipped, Store};

/// How far calls and lines are looked at beyond the span, nanoseconds: what clocks may differ by at its ends.
const MARGIN_NS: i64 = 2 * 3600 * SECOND;
/// Lines that cannot be read and are told one by one.
pub const UNREAD_MAX: usize = 100;
/// Octets of a Session-Id that are kept.
const SESSION_OCTETS_MAX: usize = 256;

/// What counts as the same.
#[derive(Clone, Debug)]
pub struct Tolerance {
    /// How far begins may be apart, milliseconds.
    pub begin_ms: i64,
    /// How far lengths may be apart, milliseconds.
    pub length_ms: i64,
    /// How much the bill's clock is ahead, milliseconds; none: it is measured.
    pub ahead_ms: Option<i64>,
    /// For how long nothing at all has to be seen until it counts as not captured, milliseconds.
    pub silence_ms: i64,
}

impl Default for Tolerance {
    fn default() -> Tolerance {
        Tolerance { begin_ms: 10_000, length_ms: 2000, ahead_ms: None, silence_ms: 3_600_000 }
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
    /// Stretches of it of which nothing can be said, and their milliseconds.
    pub blind: (usize, i64),
    /// The first and last that was captured in and around it, milliseconds.
    pub captured: Option<(i64, i64)>,
    /// Days of the store that could not be read.
    pub skipped: Vec<Skipped>,
}

impl Compared {
    /// Whether anything differs, or was not read.
    pub fn differs(&self) -> bool {
        self.report.certain() + self.report.unsure() + self.unread_count > 0 || !self.skipped.is_empty()
    }
}

/// Reads a bill.
///
/// # Errors
/// It cannot be read, or a column is missing, or it has too many lines.
pub fn bill(file: &mut dyn BufRead, profile: &Profile) -> Result<Lines, Failed> {
    let (mut lines, mut text) = (Lines::default(), String::new());
    if next(file, &mut text)? == 0 {
        return Err(Failed::Asked("the bill is empty: its first line has the titles of its columns".to_owned()));
    }
    let mut reader = BillReader::new(profile, &text).map_err(|why| Failed::Asked(format!("line 1: {why}")))?;
    while next(file, &mut text)? > 0 {
        match reader.read(&text, &mut lines.parties) {
            Ok(Some(_)) if lines.lines.len() >= trunkline_charge::compare::ITEMS_MAX => {
                return Err(Failed::Asked(trunkline_charge::compare::TooMuch("lines").to_string()));
            }
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

/// What was charged online for calls in a time: sessions of a service with seconds, or with a number that was called.
///
/// Records of one session are one line. A call is found by the optional part of the Session-Id (RFC 6733 section 8.8)
/// where the client puts the Call-ID there, else by numbers and time.
///
/// # Errors
/// The store could not be read, or there is too much.
pub fn charged(store: &Store, (from_ns, to_ns): (i64, i64)) -> Result<Lines, Failed> {
    let (mut lines, mut at) = (Lines::default(), HashMap::new());
    let mut query = Query {
        from_ns: from_ns.saturating_sub(MARGIN_NS),
        to_ns: to_ns.saturating_add(MARGIN_NS),
        order: Order::Oldest,
        limit: trunkline_store::store::PAGE_ROWS_MAX,
        ..Query::default()
    };
    loop {
        let page = store.charges(&query)?;
        for charge in page.rows.iter().filter(|charge| is_call(charge)) {
            if lines.lines.len() >= trunkline_charge::compare::ITEMS_MAX {
                return Err(Failed::Asked(trunkline_charge::compare::TooMuch("charges").to_string()));
            }
            add(&mut lines, &mut at, charge);
        }
        match page.next {
            Some(next) => query.cursor = Some(next),
            None => return Ok(lines),
        }
    }
}

fn is_call(charge: &Charge) -> bool {
    charge.kind == "session" && charge.seconds > 0
}

fn add(lines: &mut Lines, at: &mut HashMap<u64, usize>, charge: &Charge) {
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
    // Both are digits of the international form (TS 32.299 as the node reads it).
    let party = |digits: &str| if digits.is_empty() { Party::NONE } else { Party::number(digits) };
    lines.lines.push(BillLine {
        line: lines.sessions.len() as u32,
        caller: party(&charge.msisdn),
        called: party(&charge.destination),
        begin: charge.start_ns.div_euclid(MS),
        duration,
        amount: Some(amount),
        reference: charge.session.splitn(4, ';').nth(3).map_or(0, Parties::reference),
    });
    lines.sessions.push(charge.session.chars().take(SESSION_OCTETS_MAX).collect::<String>().into());
}

/// Compares calls with lines; `goes_on` is told how many calls were read.
///
/// # Errors
/// The store could not be read, there is too much, or it was given up.
pub fn against(
    store: &Store,
    lines: Lines,
    profile: &Profile,
    plan: Option<&Plan>,
    tolerance: &Tolerance,
    which: &Which,
    goes_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Compared, Failed> {
    let Lines { lines, mut parties, sessions, unread, unread_count } = lines;
    let (from_ns, to_ns) = (which.from_ns.saturating_sub(MARGIN_NS), which.to_ns.saturating_add(MARGIN_NS));
    let wider = Which { filter: which.filter.clone(), from_ns, to_ns };
    let (mut wire, mut read) = (Vec::new(), 0u64);
    let most = trunkline_charge::compare::ITEMS_MAX as u64;
    let skipped = calls(store, &wider, &mut |call| {
        wire.push(wire_call(call, profile, &mut parties));
        read += 1;
        read <= most && (read % 1024 != 0 || goes_on(read))
    });
    if read > most {
        return Err(Failed::Asked(trunkline_charge::compare::TooMuch("calls").to_string()));
    }
    let cover = cover(store, (from_ns, to_ns), tolerance.silence_ms)?;
    let rules = Rules {
        begin: tolerance.begin_ms,
        duration: tolerance.length_ms,
        first: profile.bill.first_step.0,
        step: profile.bill.step.0,
        ahead: tolerance.ahead_ms,
        plan,
        parties: &parties,
    };
    let span = (which.from_ns.div_euclid(MS), which.to_ns.div_euclid(MS));
    let report = compare(wire, lines, &rules, &cover, span).map_err(|e| Failed::Asked(e.to_string()))?;
    let (blind, captured, span_ns) = (cover.blind(), cover.seen(), (which.from_ns, which.to_ns));
    Ok(Compared { report, parties, sessions, unread, unread_count, span_ns, blind, captured, skipped: skipped? })
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
