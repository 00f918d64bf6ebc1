//! Questions to the store, and what to say when the answer is empty.

use crate::cli::DataFolder;
use crate::command::calls::Sort;
use crate::failure::Failure;
use crate::show::figure;
use jiff::tz::TimeZone;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use trunkline_kit::Id;
use trunkline_kit::exit::Exit;
use trunkline_store::filter::Filter;
use trunkline_store::row::Call;
use trunkline_store::store::PAGE_ROWS_MAX;
use trunkline_store::{Access, Cursor, Found, Order, Page, Query, Skipped, Store, StoreError};

/// Rows that a table lists if `--limit` does not say; JSON and CSV have no limit of their own.
pub const TABLE_ROWS_DEFAULT: u32 = 50;

/// The part of time that is asked about: `from_ns` is in it, `to_ns` is not.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// First nanosecond.
    pub from_ns: i64,
    /// First nanosecond behind it.
    pub to_ns: i64,
}

impl Range {
    /// All of time.
    pub const ALL: Range = Range { from_ns: i64::MIN, to_ns: i64::MAX };
}

/// Opens the store of a data folder to be read.
///
/// # Errors
/// There is none, or it cannot be read; the text says what to do.
pub fn open(data: &DataFolder) -> Result<Store, Failure> {
    let folder = data.store();
    if !folder.is_dir() {
        return Err(Failure::Failed(format!(
            "no store in {}: create one with `trunkline read FILE{}`, or name another with --data DIR",
            data.path.display(),
            data.option()
        )));
    }
    Store::open(&folder, Access::Read).map_err(failure)
}

/// What went wrong with the store, as a failure.
pub fn failure(error: StoreError) -> Failure {
    match error {
        StoreError::Question(text) => Failure::Usage(text),
        error => Failure::Failed(error.to_string()),
    }
}

/// Hands calls to `each` in the order asked for, at most `limit`.
///
/// # Errors
/// The store could not be read, or what `each` says.
pub fn calls(
    store: &Store,
    filter: Option<&Filter>,
    range: Range,
    sort: Sort,
    limit: usize,
    each: &mut dyn FnMut(&Call) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let order = if sort == Sort::Oldest { Order::Oldest } else { Order::Newest };
    let query =
        Query { filter: filter.cloned(), from_ns: range.from_ns, to_ns: range.to_ns, order, ..Query::default() };
    if sort != Sort::Worst {
        return pages(query, limit, |query| store.calls(query), each);
    }
    let mut worst: Vec<Call> = Vec::new();
    pages(query, usize::MAX, |query| store.calls(query), &mut |call: &Call| {
        worst.push(call.clone());
        // Twice the limit, then the better half goes: the memory depends on the limit, not on the store.
        if worst.len() >= limit.saturating_mul(2).max(1024) {
            keep_worst(&mut worst, limit);
        }
        Ok(())
    })?;
    keep_worst(&mut worst, limit);
    worst.iter().try_for_each(each)
}

/// The lowest score first; then calls that something else was wrong with; the newest first among equals.
fn keep_worst(calls: &mut Vec<Call>, limit: usize) {
    let rank = |call: &Call| (call.mos.unwrap_or(f32::INFINITY), call.verdict.is_none());
    calls.sort_by(|a, b| {
        let (a_rank, b_rank) = (rank(a), rank(b));
        a_rank
            .0
            .total_cmp(&b_rank.0)
            .then(a_rank.1.cmp(&b_rank.1))
            .then(b.start_ns.cmp(&a.start_ns))
            .then(a.id.cmp(&b.id))
    });
    calls.truncate(limit);
}

/// Hands rows to `each`, page after page; days that cannot be read are told at standard error.
///
/// # Errors
/// The store could not be read, or what `each` says.
pub fn pages<T>(
    mut query: Query,
    limit: usize,
    ask: impl Fn(&Query) -> Result<Page<T>, StoreError>,
    each: &mut dyn FnMut(&T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut left = limit;
    let mut told: Vec<Skipped> = Vec::new();
    while left > 0 {
        query.limit = left.min(PAGE_ROWS_MAX);
        let page = ask(&query).map_err(failure)?;
        tell_skipped(&page.skipped, &mut told);
        page.rows.iter().try_for_each(&mut *each)?;
        left -= page.rows.len().min(left);
        let next: Option<Cursor> = page.next;
        if next.is_none() {
            break;
        }
        query.cursor = next;
    }
    Ok(())
}

/// Whether a day was passed over since the program began: what was shown is then not all there is.
static PASSED_OVER: AtomicBool = AtomicBool::new(false);

/// How a command that ended well ends when days of the store were passed over.
pub fn exit(exit: Exit) -> Exit {
    if exit == Exit::Done && PASSED_OVER.load(Ordering::Relaxed) { Exit::Degraded } else { exit }
}

fn tell_skipped(skipped: &[Skipped], told: &mut Vec<Skipped>) {
    for day in skipped {
        PASSED_OVER.store(true, Ordering::Relaxed);
        if !told.contains(day) {
            let _ = writeln!(io::stderr(), "trunkline: {}: passed over", day.why);
            told.push(day.clone());
        }
    }
}

/// The rows of one kind as a list, at most `limit`, the newest first.
///
/// # Errors
/// As [`pages`].
pub fn list<T: Clone>(limit: usize, ask: impl Fn(&Query) -> Result<Page<T>, StoreError>) -> Result<Vec<T>, Failure> {
    let mut rows = Vec::new();
    pages(Query::default(), limit, ask, &mut |row: &T| {
        rows.push(row.clone());
        Ok(())
    })?;
    Ok(rows)
}

/// Prints rows of one kind as JSON, an object a line, the newest first.
///
/// # Errors
/// As [`pages`].
pub fn print_json<T>(
    limit: usize,
    ask: impl Fn(&Query) -> Result<Page<T>, StoreError>,
    object: fn(&mut String, &T),
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut line = String::new();
    pages(Query::default(), limit, ask, &mut |row: &T| {
        line.clear();
        object(&mut line, row);
        line.push('\n');
        Ok(out.write_all(line.as_bytes())?)
    })
}

/// The call that a name means.
///
/// # Errors
/// There is none, or several: the text lists them.
pub fn call(store: &Store, name: &str, data: &DataFolder, zone: &TimeZone) -> Result<Call, Failure> {
    let option = data.option();
    match store.call(name).map_err(failure)? {
        Found::One(call) => Ok(*call),
        Found::Many(ids) => {
            let list: Vec<String> = ids.iter().map(|(id, ns)| candidate(*id, *ns, zone)).collect();
            Err(Failure::Usage(format!("'{name}' matches several calls; give more of the ID:\n{}", list.join("\n"))))
        }
        Found::None => Err(Failure::Failed(format!(
            "no call '{name}' in {}: `trunkline calls{option}` lists them; the beginning of an ID (4 digits or more) \
                or a \
             whole Call-ID is understood",
            data.path.display()
        ))),
    }
}

fn candidate(id: Id, start_ns: i64, zone: &TimeZone) -> String {
    format!("  {id}  {}", figure::second(start_ns, zone))
}

/// Why a search found nothing, and what to do.
///
/// # Errors
/// The store could not be read.
pub fn why_no_calls(
    store: &Store,
    data: &DataFolder,
    filter: bool,
    range: Range,
    zone: &TimeZone,
) -> Result<String, Failure> {
    let start = |range: Range, order: Order| -> Result<Option<i64>, Failure> {
        let query = Query { from_ns: range.from_ns, to_ns: range.to_ns, order, limit: 1, ..Query::default() };
        Ok(store.calls(&query).map_err(failure)?.rows.first().map(|call| call.start_ns))
    };
    let (Some(first), Some(last)) = (start(Range::ALL, Order::Oldest)?, start(Range::ALL, Order::Newest)?) else {
        let folder = data.path.display();
        return Ok(format!("No calls: the store in {folder} is empty. Read a capture with `trunkline read FILE`."));
    };
    let span = format!("from {} to {}", figure::second(first, zone), figure::second(last, zone));
    if start(range, Order::Newest)?.is_none() {
        return Ok(format!("No calls between --from and --to: the store has calls {span}."));
    }
    if filter {
        return Ok(format!(
            "No calls match the filter; the store has calls {span}. Filter language: `trunkline help filter`."
        ));
    }
    Ok("No calls: --limit is 0.".to_owned())
}
