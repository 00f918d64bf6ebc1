//! Calls of a span: from sums by minute and from gists, never by looking at all calls.

use std::collections::BTreeMap;
use std::time::Duration;
use trunkline_alert::report::{Asked, CallDay, CallFigures, DestinationShown};
use trunkline_alert::rule::Destination;
use trunkline_store::rollup::Minute;
use trunkline_store::row::Call;
use trunkline_store::time::SECOND_NS;
use trunkline_store::{Filter, Query, Stop, Store, StoreError, SummaryQuery};

/// A score below this is bad.
const MOS_LOW: &str = "mos<3.6";
/// The last failed calls among which destinations are looked for.
const FAILED_MAX: usize = 5_000;
/// Destinations that are listed, and that are counted to find these.
const LISTED_MAX: usize = 20;
const COUNTED_MAX: usize = 40;
/// How long all questions to gists may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The figures.
///
/// # Errors
/// The store cannot be read, in a sentence.
pub fn figures(
    store: &Store,
    destination: Destination,
    limit: usize,
    asked: &Asked<'_>,
) -> Result<CallFigures, String> {
    let failed = |error: StoreError| format!("The store cannot be read: {error}.");
    let span = Span { from_ns: asked.from_s * SECOND_NS, to_ns: asked.to_s * SECOND_NS, stop: Stop::after(PATIENCE) };
    let mut figures = CallFigures::default();
    let minutes = store.minutes(span.from_ns, span.to_ns).map_err(failed)?;
    let (mut totals, mut days) = (Minute::default(), BTreeMap::<String, Minute>::new());
    for (minute, sum) in &minutes {
        let at_s = minute * 60;
        if (asked.from_s..asked.to_s).contains(&at_s) {
            totals.add(sum, 1);
            days.entry(asked.zone.written(at_s)[..10].to_owned()).or_default().add(sum, 1);
        }
    }
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    figures.calls = count(totals.started);
    figures.answered = count(totals.answered);
    figures.failed = count(totals.rejected.iter().sum());
    figures.answered_percent = totals.asr().map(|ratio| ratio * 100.0);
    figures.duration_mean_s = totals.acd_s();
    (figures.mos_mean, figures.mos_count) = (totals.mos(), count(totals.mos_count));
    let day = |(date, sum): (String, Minute)| CallDay {
        date,
        calls: count(sum.started),
        answered: count(sum.answered),
        answered_percent: sum.asr().map(|ratio| ratio * 100.0),
        mos_mean: sum.mos(),
    };
    figures.days = days.into_iter().map(day).collect();
    figures.mos_low = span.sum(store, MOS_LOW).map_err(failed)?.map(|sum| count(sum.started));
    destinations(store, destination, limit.min(LISTED_MAX), &span, &mut figures).map_err(failed)?;
    figures.skipped = store.skipped().len() as u64;
    Ok(figures)
}

struct Span {
    from_ns: i64,
    to_ns: i64,
    stop: Stop,
}

impl Span {
    /// What calls that pass a filter add up to; none if it takes too long.
    fn sum(&self, store: &Store, filter: &str) -> Result<Option<Minute>, StoreError> {
        let Ok(filter) = Filter::parse(filter) else { return Ok(None) };
        let (from_ns, to_ns, stop) = (self.from_ns, self.to_ns, self.stop.clone());
        let summary = store.summary(&SummaryQuery { filter: Some(filter), from_ns, to_ns, buckets: 0, stop })?;
        Ok(summary.exact.then_some(summary.totals))
    }
}

/// Where most calls were rejected: those of the last rejected calls, each counted by its gists.
fn destinations(
    store: &Store,
    destination: Destination,
    limit: usize,
    span: &Span,
    figures: &mut CallFigures,
) -> Result<(), StoreError> {
    figures.destination = match destination {
        Destination::Host => "the address that they were sent to".to_owned(),
        Destination::Number(characters) => format!("the first {characters} characters of the number that was called"),
    };
    let filter = Filter::parse("state:rejected").ok();
    let (from_ns, to_ns, stop) = (span.from_ns, span.to_ns, span.stop.clone());
    let page = store.calls(&Query { filter, from_ns, to_ns, limit: FAILED_MAX, stop, ..Query::default() })?;
    let mut found = BTreeMap::<String, u64>::new();
    page.rows.iter().filter_map(|call| name(destination, call)).for_each(|name| *found.entry(name).or_default() += 1);
    let mut found: Vec<(String, u64)> = found.into_iter().collect();
    found.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let mut is_cut = page.next.is_some();
    for (name, _) in found.iter().take(COUNTED_MAX) {
        let filter = match destination {
            Destination::Host => format!("dst:{name}"),
            Destination::Number(_) => format!("callee:\"{name}*\""),
        };
        match span.sum(store, &filter)? {
            Some(sum) => figures.destinations.push(DestinationShown {
                name: name.clone(),
                calls: u64::try_from(sum.started).unwrap_or(0),
                failed: u64::try_from(sum.rejected.iter().sum::<i64>()).unwrap_or(0),
                answered_percent: sum.asr().map(|ratio| ratio * 100.0),
            }),
            None => is_cut = true,
        }
    }
    let all = &mut figures.destinations;
    all.sort_by(|one, other| other.failed.cmp(&one.failed).then_with(|| one.name.cmp(&other.name)));
    all.truncate(limit);
    figures.looked_at = is_cut.then_some(page.rows.len() as u64);
    Ok(())
}

/// Where a call went; none if a filter could not name it.
fn name(destination: Destination, call: &Call) -> Option<String> {
    match destination {
        Destination::Host => Some(call.dst.address.to_string()),
        Destination::Number(characters) => {
            let name: String = call.to.chars().take(characters).collect();
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "+.-_#".contains(c);
            (!name.is_empty() && name.chars().all(is_plain)).then_some(name)
        }
    }
}
