//! Calls beside a bill or charges, as the web asks for it.

use crate::charge::bill::compared::{self, Compared, Lines, Tolerance};
use crate::charge::bill::{Failed, Step, Waiting, Which, told};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use trunkline_charge::compare::{Profile, read_profile};
use trunkline_charge::tariff::{self, Plan};
use trunkline_kit::config::Mistake;
use trunkline_store::{Access, Stop, Store};
use trunkline_web::sources::{
    Cancel, ChargeCompareAsk, ChargeCompared, ChargeDifference, Progress, SourceError, Trouble,
};

/// Calls, and lines, that the web compares at once: some 400 MB, beside whatever else this program does.
// Limit: calls, or lines, of one reconciliation in the web
// Beyond: the reconciliation is refused
// Seen in: the error message
pub const ITEMS_MAX: usize = 1_000_000;
/// Accounts and subscribers of a ledger of which the web asks who pays, together: some 600 MB at most.
// Limit: accounts and subscribers read for one reconciliation in the web
// Beyond: the reconciliation is refused
// Seen in: the error message
pub const PAYERS_MAX: usize = 2_000_000;

/// What a step is called in the API.
fn word(step: Step) -> &'static str {
    match step {
        Step::Bill => "bill",
        Step::Charges => "charges",
        Step::Payers => "payers",
        Step::Filter => "filter",
        Step::Calls => "calls",
        Step::Captured => "captured",
        Step::Pairs => "pairs",
    }
}

/// Has what reads tell how far it is, and end when it is cancelled, in the midst of a question to the store, too.
///
/// # Errors
/// Those of `read`.
pub fn while_wanted<T>(
    progress: &Progress,
    cancel: &Cancel,
    read: impl FnOnce(&Waiting<'_>) -> Result<T, SourceError>,
) -> Result<T, SourceError> {
    let tell = |step: Step, count: u64| progress.at(word(step), count);
    read(&Waiting { stop: Stop::never().or_when(cancel.shared()), tell: &tell })
}

/// The profile and the plan of these texts.
///
/// # Errors
/// All mistakes of both.
pub fn texts(profile: &str, plan: Option<&str>) -> Result<(Profile, Option<Plan>), SourceError> {
    let (profile, plan) = (read_profile("profile", profile), plan.map(|text| tariff::read("plan", text)).transpose());
    match (profile, plan) {
        (Ok(profile), Ok(plan)) => Ok((profile, plan)),
        (profile, plan) => {
            let wrong = profile.err().into_iter().flatten().chain(plan.err().into_iter().flatten());
            let lines: Vec<String> = wrong.map(|mistake: Mistake| mistake.to_string()).collect();
            Err(SourceError::new(Trouble::Refused, lines.join("\n")))
        }
    }
}

/// Does it, and tells each difference.
///
/// # Errors
/// As of [`trunkline_web::sources::Charging::compare`].
pub fn compare(
    data: &Path,
    ask: &ChargeCompareAsk,
    tell: &mut dyn FnMut(&ChargeDifference) -> bool,
    progress: &Progress,
    cancel: &Cancel,
) -> Result<ChargeCompared, SourceError> {
    let (profile, plan) = texts(&ask.profile, ask.plan.as_deref())?;
    let store = Store::open(&data.join("store"), Access::Read).map_err(|error| failed(error.into()))?;
    let tolerance = tolerance(ask);
    let of = while_wanted(progress, cancel, |waiting| {
        compared(data, &store, ask, (&profile, plan.as_ref()), &tolerance, waiting)
    })?;
    progress.at("lists", 0);
    let all_told = of.report.findings.iter().all(|one| !cancel.is_cancelled() && tell(&told::finding(&of, one)));
    if !all_told && cancel.is_cancelled() {
        return Err(failed(Failed::GivenUp));
    }
    Ok(told::sums(&of))
}

fn compared(
    data: &Path,
    store: &Store,
    ask: &ChargeCompareAsk,
    (profile, plan): (&Profile, Option<&Plan>),
    tolerance: &Tolerance,
    waiting: &Waiting<'_>,
) -> Result<Compared, SourceError> {
    let (lines, (from_ns, to_ns)) = match &ask.bill {
        Some(path) => bill(path, ask, profile, tolerance, waiting)?,
        None => {
            let nothing = || SourceError::new(Trouble::Refused, "'from' and 'to' are required.");
            let span = ask.span_ns.ok_or_else(nothing)?;
            let lines = compared::charged(store, span, profile, tolerance, waiting);
            let payers = |lines| compared::with_payers(lines, data, tolerance, waiting);
            (lines.and_then(payers).map_err(failed)?, span)
        }
    };
    let which = Which { filter: ask.filter.clone(), from_ns, to_ns };
    compared::against(store, lines, profile, plan, tolerance, &which, waiting).map_err(failed)
}

fn tolerance(ask: &ChargeCompareAsk) -> Tolerance {
    Tolerance {
        begin_ms: ask.begin_ms,
        length_ms: ask.length_ms,
        ahead_ms: ask.ahead_ms,
        span_of_bill: ask.bill.is_some() && ask.span_ns.is_none(),
        silence_ms: ask.silence_ms,
        rating_group: ask.rating_group,
        items_max: ITEMS_MAX,
        payers_max: PAYERS_MAX,
    }
}

fn bill(
    path: &Path,
    ask: &ChargeCompareAsk,
    profile: &Profile,
    tolerance: &Tolerance,
    waiting: &Waiting<'_>,
) -> Result<(Lines, (i64, i64)), SourceError> {
    let gone = |_| SourceError::new(Trouble::NotFound, "The bill was deleted: upload it again.");
    let mut file = BufReader::new(File::open(path).map_err(gone)?);
    let lines = compared::bill(&mut file, profile, tolerance, waiting).map_err(failed)?;
    let first = lines.unread.first().map_or_else(String::new, |line| format!(" Line {}: {}.", line.line, line.what));
    let nothing = || SourceError::new(Trouble::Refused, format!("Not one line of the bill can be read.{first}"));
    if lines.lines.is_empty() {
        return Err(nothing());
    }
    let span = ask.span_ns.or_else(|| compared::days_of(&lines.lines, profile)).ok_or_else(nothing)?;
    Ok((lines, span))
}

/// A failure as the web has it.
pub fn failed(failed: Failed) -> SourceError {
    match failed {
        Failed::Asked(why) => SourceError::new(Trouble::Refused, sentence(&why)),
        Failed::GivenUp => SourceError::new(Trouble::Cancelled, "cancelled"),
        other => SourceError::new(Trouble::Failed, sentence(&other.to_string())),
    }
}

/// With a capital, and a full stop.
fn sentence(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text + "."
}
