//! Registrations and events by text.

use super::Sqlite;
use crate::backend::Backend;
use crate::error::StoreError;
use crate::row::{Registration, SipEvent};
use crate::search::{Counts, Outcome, Search, Terms};
use crate::store::{Cursor, Page, Query};

/// A page of registrations.
pub fn registrations(store: &Sqlite, search: &Search) -> Result<Page<Registration>, StoreError> {
    let terms = Terms::parse(&search.text);
    let passes =
        |r: &Registration| search.state.is_none_or(|state| state == Outcome::of(r.code)) && terms.match_registration(r);
    pages(search, |query| store.registrations(query), passes)
}

/// A page of events.
pub fn events(store: &Sqlite, search: &Search) -> Result<Page<SipEvent>, StoreError> {
    let terms = Terms::parse(&search.text);
    let passes = |e: &SipEvent| {
        search.state.is_none_or(|state| state == Outcome::of(e.code))
            && (search.method.is_empty() || e.method.eq_ignore_ascii_case(&search.method))
            && terms.match_event(e)
    };
    pages(search, |query| store.events(query), passes)
}

/// Registrations by outcome.
pub fn count_registrations(store: &Sqlite, search: &Search) -> Result<Counts, StoreError> {
    let search = Search { state: None, limit: usize::MAX, cursor: None, ..search.clone() };
    let mut counts = Counts { exact: true, ..Counts::default() };
    registrations(store, &search)?.rows.iter().for_each(|r| count(&mut counts, r.code));
    Ok(counts)
}

/// Events by outcome and method.
pub fn count_events(store: &Sqlite, search: &Search) -> Result<Counts, StoreError> {
    let search = Search { state: None, limit: usize::MAX, cursor: None, ..search.clone() };
    let mut counts = Counts { exact: true, ..Counts::default() };
    for e in events(store, &search)?.rows {
        count(&mut counts, e.code);
        match counts.methods.iter_mut().find(|(method, _)| *method == e.method) {
            Some((_, count)) => *count += 1,
            None => counts.methods.push((e.method, 1)),
        }
    }
    counts.methods.sort();
    Ok(counts)
}

fn count(counts: &mut Counts, code: u16) {
    *match Outcome::of(code) {
        Outcome::Ok => &mut counts.ok,
        Outcome::Failed => &mut counts.failed,
        Outcome::Unanswered => &mut counts.unanswered,
    } += 1;
}

fn pages<T>(
    search: &Search,
    ask: impl Fn(&Query) -> Result<Page<T>, StoreError>,
    passes: impl Fn(&T) -> bool,
) -> Result<Page<T>, StoreError> {
    let mut query = Query {
        from_ns: search.from_ns,
        to_ns: search.to_ns,
        order: search.order,
        limit: 1,
        cursor: search.cursor,
        ..Query::default()
    };
    let mut rows = vec![];
    loop {
        let page = ask(&query)?;
        rows.extend(page.rows.into_iter().filter(&passes));
        let next: Option<Cursor> = page.next;
        query.cursor = next;
        let stopped = next.is_some() && search.stop.is_due();
        if next.is_none() || rows.len() >= search.limit || stopped {
            return Ok(Page { rows, next, stopped, skipped: page.skipped });
        }
    }
}
