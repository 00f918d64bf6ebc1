//! Losses of the capture and charges of a span: added up day by day.

use std::time::Duration;
use trunkline_alert::report::{Asked, ChargeFigures, ChargeSum, LossFigures, LossSum};
use trunkline_store::time::SECOND_NS;
use trunkline_store::{SqlLimits, SqlValue, Store};

/// Places and kinds of a day.
const ROWS_MAX: usize = 10_000;
/// How long a day may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Losses that began in the span, by place and source.
///
/// # Errors
/// The store cannot be read, or it takes too long; in a sentence.
pub fn losses(store: &Store, limit: usize, asked: &Asked<'_>) -> Result<LossFigures, String> {
    let mut places = Vec::<LossSum>::new();
    let (select, group) = ("place, source, sum(\"count\"), count(*)", "GROUP BY place, source");
    let skipped = each(store, ("losses", "since_ns"), select, group, asked, |row| {
        let (place, source) = (text(row, 0), text(row, 1));
        let sum = LossSum { place, source, count: number(row, 2), times: number(row, 3) };
        match places.iter_mut().find(|known| known.place == sum.place && known.source == sum.source) {
            Some(known) => {
                known.count = known.count.saturating_add(sum.count);
                known.times = known.times.saturating_add(sum.times);
            }
            None => places.push(sum),
        }
    })?;
    places.retain(|loss| loss.count > 0);
    places.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.place.cmp(&other.place)));
    let more = places.len().saturating_sub(limit) as u64;
    places.truncate(limit);
    Ok(LossFigures { places, more, skipped })
}

/// Records that began in the span, by kind.
///
/// # Errors
/// As [`losses`].
pub fn charges(store: &Store, asked: &Asked<'_>) -> Result<ChargeFigures, String> {
    let mut kinds = Vec::<ChargeSum>::new();
    let select = "kind, count(*), sum(octets), sum(seconds), sum(service_units), sum(money), sum(short), \
        sum(CASE WHEN rated THEN 0 ELSE 1 END)";
    let skipped = each(store, ("charges", "start_ns"), select, "GROUP BY kind", asked, |row| {
        let kind = text(row, 0);
        let at = kinds.iter().position(|known| known.kind == kind).unwrap_or_else(|| {
            kinds.push(ChargeSum { kind, ..ChargeSum::default() });
            kinds.len() - 1
        });
        let sum = &mut kinds[at];
        let counts =
            [&mut sum.records, &mut sum.octets, &mut sum.seconds, &mut sum.service_units].into_iter().enumerate();
        counts.for_each(|(column, count)| *count = count.saturating_add(number(row, column + 1)));
        sum.money = sum.money.saturating_add(whole(row, 5));
        sum.short = sum.short.saturating_add(whole(row, 6));
        sum.unrated = sum.unrated.saturating_add(number(row, 7));
    })?;
    kinds.sort_by(|one, other| other.records.cmp(&one.records).then_with(|| one.kind.cmp(&other.kind)));
    Ok(ChargeFigures { kinds, skipped })
}

/// Asks each day of the span; how many could not be read.
fn each(
    store: &Store,
    (table, time): (&str, &str),
    select: &str,
    group: &str,
    asked: &Asked<'_>,
    mut row: impl FnMut(&[SqlValue]),
) -> Result<u64, String> {
    let failed = |error: &dyn std::fmt::Display| format!("The store cannot be read: {error}.");
    let (from_ns, to_ns) = (asked.from_s.saturating_mul(SECOND_NS), asked.to_s.saturating_mul(SECOND_NS));
    let mut skipped = 0;
    for day in store.days().map_err(|error| failed(&error))? {
        let (begin_ns, end_ns) = (day.start_ns().max(from_ns), day.end_ns().min(to_ns));
        if begin_ns >= end_ns {
            continue;
        }
        if asked.is_over() {
            break;
        }
        let text = format!("SELECT {select} FROM {table} WHERE {time} >= {from_ns} AND {time} < {to_ns} {group}");
        let limits = SqlLimits {
            from_ns: begin_ns,
            to_ns: end_ns,
            rows_max: ROWS_MAX,
            time_max: PATIENCE,
            ..SqlLimits::default()
        };
        let done = store.sql(&text, &limits, &mut |_, values| {
            row(values);
            true
        });
        skipped += done.map_err(|error| failed(&error))?.skipped.len() as u64;
    }
    Ok(skipped)
}

fn text(row: &[SqlValue], column: usize) -> String {
    match row.get(column) {
        Some(SqlValue::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

fn whole(row: &[SqlValue], column: usize) -> i64 {
    match row.get(column) {
        Some(SqlValue::Whole(number)) => *number,
        Some(SqlValue::Real(number)) => *number as i64,
        _ => 0,
    }
}

fn number(row: &[SqlValue], column: usize) -> u64 {
    u64::try_from(whole(row, column)).unwrap_or(0)
}
