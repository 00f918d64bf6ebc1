//! What the calls of the days add up to.

use super::Sqlite;
use crate::backend::Backend;
use crate::error::StoreError;
use crate::rollup;
use crate::store::{PAGE_ROWS_MAX, Query};
use crate::summary::{Buckets, Summary, SummaryQuery};

/// Adds up calls, newest first.
pub fn summary(store: &Sqlite, query: &SummaryQuery) -> Result<Summary, StoreError> {
    let mut ask = Query {
        filter: query.filter.clone(),
        from_ns: query.from_ns,
        to_ns: query.to_ns,
        limit: PAGE_ROWS_MAX,
        ..Query::default()
    };
    let mut calls = vec![];
    let mut summary = Summary { exact: true, ..Summary::default() };
    loop {
        let page = store.calls(&ask)?;
        calls.extend(page.rows.iter().map(|call| (call.start_ns, rollup::of(call))));
        summary.skipped = page.skipped;
        ask.cursor = page.next;
        if ask.cursor.is_none() {
            break;
        }
        if query.stop.is_due() {
            summary.exact = false;
            summary.seen_from_ns = calls.last().map(|c| c.0);
            break;
        }
    }
    let first = calls.last().map_or(0, |c| c.0);
    summary.from_ns = if query.from_ns == i64::MIN { first } else { query.from_ns };
    summary.to_ns = if query.to_ns == i64::MAX { calls.first().map_or(first, |c| c.0 + 1) } else { query.to_ns };
    let mut buckets = Buckets::over(summary.from_ns, summary.to_ns, query.buckets);
    for (at_ns, call) in &calls {
        buckets.add(*at_ns, call);
        summary.totals.add(call, 1);
    }
    summary.bucket_ns = buckets.length_ns;
    summary.buckets = buckets.all;
    Ok(summary)
}
