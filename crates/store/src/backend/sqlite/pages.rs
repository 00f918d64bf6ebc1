//! Pages of rows that lie under their identifier: streams without a call, registrations, events; also by text.

use super::Sqlite;
use super::read::{SqliteRow, WantedById};
use crate::columns;
use crate::error::{Skipped, StoreError};
use crate::packed::Damaged;
use crate::row::{Charge, Registration, SipEvent, Stream};
use crate::schema::{self, Table};
use crate::search::{Counts, Outcome, Search, Terms};
use crate::store::{Cursor, Order, PAGE_ROWS_MAX, Page, Query};
use crate::time::Day;
use trunkline_kit::Id;

/// Rows that are read between two looks at the clock.
const STEP_ROWS: usize = 1000;

/// A table whose rows are asked for.
struct Rows<'a, T> {
    table: &'a Table,
    /// A further condition.
    and: String,
    id_of: fn(&T) -> Id,
    read: fn(&SqliteRow<'_, '_>) -> Result<T, Damaged>,
}

const REGISTRATIONS: Rows<'_, Registration> = Rows {
    table: &schema::REGISTRATIONS,
    and: String::new(),
    id_of: |r| r.id,
    read: |row| columns::registration_of(row),
};

const EVENTS: Rows<'_, SipEvent> =
    Rows { table: &schema::SIP_EVENTS, and: String::new(), id_of: |e| e.id, read: |row| columns::event_of(row) };

const CHARGES: Rows<'_, Charge> =
    Rows { table: &schema::CHARGES, and: String::new(), id_of: |c| c.id, read: |row| columns::charge_of(row) };

/// A page of charging data records.
pub fn charges(store: &Sqlite, query: &Query) -> Result<Page<Charge>, StoreError> {
    page(store, &CHARGES, &asked(query, schema::CHARGES.name)?, &|_| true)
}

/// A page of streams that belong to no call.
pub fn streams_without_call(store: &Sqlite, query: &Query) -> Result<Page<Stream>, StoreError> {
    let read = |row: &SqliteRow<'_, '_>| columns::stream_of(row, None);
    let rows = Rows { table: &schema::STREAMS, and: "AND call_key IS NULL".into(), id_of: |s: &Stream| s.id, read };
    page(store, &rows, &asked(query, schema::STREAMS.name)?, &|_| true)
}

/// A page of registrations.
pub fn registrations(store: &Sqlite, query: &Query) -> Result<Page<Registration>, StoreError> {
    page(store, &REGISTRATIONS, &asked(query, schema::REGISTRATIONS.name)?, &|_| true)
}

/// A page of events.
pub fn events(store: &Sqlite, query: &Query) -> Result<Page<SipEvent>, StoreError> {
    page(store, &EVENTS, &asked(query, schema::SIP_EVENTS.name)?, &|_| true)
}

/// A page of registrations that a search finds.
pub fn search_registrations(store: &Sqlite, search: &Search) -> Result<Page<Registration>, StoreError> {
    let terms = Terms::parse(&search.text);
    let rows = Rows { and: and_state(search.state), ..REGISTRATIONS };
    page(store, &rows, search, &|r| terms.match_registration(r))
}

/// A page of events that a search finds.
pub fn search_events(store: &Sqlite, search: &Search) -> Result<Page<SipEvent>, StoreError> {
    let terms = Terms::parse(&search.text);
    let rows = Rows { and: and_state(search.state) + &and_method(&search.method), ..EVENTS };
    page(store, &rows, search, &|e| terms.match_event(e))
}

/// Registrations by outcome.
pub fn count_registrations(store: &Sqlite, search: &Search) -> Result<Counts, StoreError> {
    let terms = Terms::parse(&search.text);
    count(store, &REGISTRATIONS, search, &mut |counts, r| {
        if terms.match_registration(r) {
            add(counts, r.code);
        }
    })
}

/// Events by outcome and method.
pub fn count_events(store: &Sqlite, search: &Search) -> Result<Counts, StoreError> {
    let terms = Terms::parse(&search.text);
    let rows = Rows { and: and_method(&search.method), ..EVENTS };
    let mut counts = count(store, &rows, search, &mut |counts, e| {
        if !terms.match_event(e) {
            return;
        }
        add(counts, e.code);
        match counts.methods.iter().position(|(method, _)| *method == e.method) {
            Some(at) => counts.methods[at].1 += 1,
            None if counts.methods.len() < METHODS_MAX => counts.methods.push((e.method.clone(), 1)),
            None => {}
        }
    })?;
    counts.methods.sort();
    Ok(counts)
}

/// Most methods that are counted apart: those that a peer invents must not fill the memory.
// Limit: methods of transactions outside of calls counted separately
// Beyond: further methods are not counted separately
// Seen in: not counted
const METHODS_MAX: usize = 256;

fn add(counts: &mut Counts, code: u16) {
    *match Outcome::of(code) {
        Outcome::Ok => &mut counts.ok,
        Outcome::Failed => &mut counts.failed,
        Outcome::Unanswered => &mut counts.unanswered,
    } += 1;
}

fn and_state(state: Option<Outcome>) -> String {
    match state {
        None => "",
        Some(Outcome::Ok) => "AND code >= 200 AND code < 300",
        Some(Outcome::Failed) => "AND code >= 300",
        Some(Outcome::Unanswered) => "AND code < 200",
    }
    .to_owned()
}

/// A method is a token (RFC 3261 section 25.1); nothing else is ever found.
fn and_method(method: &str) -> String {
    if method.is_empty() {
        return String::new();
    }
    let is_token = method.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.!%*_+`~".contains(&b));
    let method = if is_token { method } else { "" };
    format!(" AND method IN (SELECT id FROM words WHERE text = '{method}' COLLATE NOCASE)")
}

/// A question without text.
fn asked(query: &Query, what: &str) -> Result<Search, StoreError> {
    super::no_filter(query, what)?;
    let Query { from_ns, to_ns, order, limit, cursor, .. } = *query;
    Ok(Search { from_ns, to_ns, order, limit, cursor, ..Search::default() })
}

/// Some rows of a day, in order.
struct Step<T> {
    day: Day,
    rows: Vec<T>,
    /// The last that was looked at; none if those of the day are through.
    last: Option<Id>,
}

impl<T> Step<T> {
    /// Where to go on behind it.
    fn end(&self, order: Order) -> Cursor {
        self.last.map_or(Cursor::behind(self.day, order), |id| Cursor { day: self.day, row: *id.octets() })
    }

    /// From when on all rows were looked at, newest first.
    fn end_ns(&self) -> i64 {
        let after = |id: Id| id.unix_ms().saturating_add(1).saturating_mul(1_000_000);
        self.last.map_or(self.day.start_ns(), after)
    }
}

/// A page of the rows that are to be kept.
fn page<T>(
    store: &Sqlite,
    rows: &Rows<'_, T>,
    search: &Search,
    keep: &dyn Fn(&T) -> bool,
) -> Result<Page<T>, StoreError> {
    let limit = search.limit.min(PAGE_ROWS_MAX);
    let steps = if search.text.is_empty() { limit + 1 } else { STEP_ROWS };
    let mut page = Page { rows: vec![], next: None, stopped: false, skipped: vec![] };
    let mut last_day = None;
    page.skipped = each_step(store, rows, search, steps, &mut |mut step: Step<T>| {
        for row in core::mem::take(&mut step.rows).into_iter().filter(|row| keep(row)) {
            if page.rows.len() >= limit {
                let last = page.rows.last().map(&rows.id_of);
                page.next = last.zip(last_day).map(|(id, day)| Cursor { day, row: *id.octets() });
                return false;
            }
            page.rows.push(row);
            last_day = Some(step.day);
        }
        page.stopped = search.stop.is_due();
        page.next = page.stopped.then(|| step.end(search.order));
        !page.stopped
    })?;
    Ok(page)
}

fn count<T>(
    store: &Sqlite,
    rows: &Rows<'_, T>,
    search: &Search,
    each: &mut dyn FnMut(&mut Counts, &T),
) -> Result<Counts, StoreError> {
    let search = Search { order: Order::Newest, cursor: None, ..search.clone() };
    let mut counts = Counts { exact: true, ..Counts::default() };
    let skipped = each_step(store, rows, &search, STEP_ROWS, &mut |step: Step<T>| {
        step.rows.iter().for_each(|row| each(&mut counts, row));
        if search.stop.is_due() {
            (counts.exact, counts.seen_from_ns) = (false, Some(step.end_ns()));
        }
        counts.exact
    })?;
    Ok(Counts { skipped, ..counts })
}

/// Hands out the rows of the days in steps, until it is told to end.
fn each_step<T>(
    store: &Sqlite,
    rows: &Rows<'_, T>,
    search: &Search,
    step_rows: usize,
    each: &mut dyn FnMut(Step<T>) -> bool,
) -> Result<Vec<Skipped>, StoreError> {
    let newest = search.order == Order::Newest;
    let span = (search.from_ns, search.to_ns);
    let (from_ns, to_ns) = search.cursor.map_or(span, |cursor| cursor.cut(search.order, span));
    store.each_day(search.order, from_ns, to_ns, |day, reader| {
        let mut ids = (Id::default(), Id::from_octets([0xff; 16]));
        if let Some(cursor) = search.cursor.filter(|c| c.day == day) {
            let end = if newest { &mut ids.1 } else { &mut ids.0 };
            *end = Id::from_octets(cursor.row);
        }
        loop {
            let starts = (search.from_ns, search.to_ns);
            let wanted = WantedById { ids, starts, and: &rows.and, order: search.order, limit: step_rows };
            let found = reader.by_id(rows.table, &wanted, rows.read)?;
            let last = found.last().map(rows.id_of).filter(|_| found.len() >= step_rows);
            if let Some(last) = last {
                *(if newest { &mut ids.1 } else { &mut ids.0 }) = last;
            }
            if !each(Step { day, rows: found, last }) {
                return Ok(false);
            }
            if last.is_none() {
                return Ok(true);
            }
        }
    })
}
