//! One SELECT over all days at once: the files are attached read-only, views put them together, an authorizer lets
//! nothing through but reading.

use super::{ddl, functions, open};
use crate::error::{Skipped, StoreError};
use crate::schema::{self, Column, Kind, TABLES, Table};
use crate::store::{OnRow, SqlDone, SqlLimits, SqlValue};
use crate::time::Day;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode};
use std::path::PathBuf;
use std::time::Instant;

/// Longest text or blob that a statement may make, octets.
const VALUE_OCTETS_MAX: i32 = 16 * 1024 * 1024;
/// Steps of SQLite's machine between two looks at the clock.
const STEPS: i32 = 10_000;

/// Runs a statement over these days.
pub fn run(days: &[(Day, PathBuf)], text: &str, limits: &SqlLimits, on_row: OnRow<'_>) -> Result<SqlDone, StoreError> {
    let conn = Connection::open_in_memory().map_err(question)?;
    functions::register(&conn).map_err(question)?;
    let seen_max = conn.limit(Limit::SQLITE_LIMIT_ATTACHED).map_err(question)?.max(1) as usize;
    if days.len() > seen_max {
        let (first, last) = (days.first().map(|d| d.0), days.last().map(|d| d.0));
        let span = first.zip(last).map_or_else(String::new, |(a, b)| format!(", {a} to {b}"));
        let ask = "ask for fewer with a range of time";
        return Err(StoreError::Limit(format!("{} days{span}; SQL sees {seen_max} at once: {ask}", days.len())));
    }
    let mut done = SqlDone::default();
    let attached = attach(&conn, days, &mut done.skipped)?;
    for table in TABLES {
        conn.execute_batch(&view(table, &attached)).map_err(question)?;
    }
    conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_OCTETS_MAX).map_err(question)?;
    conn.authorizer(Some(authorize));
    let began = Instant::now();
    let time_max = limits.time_max;
    conn.progress_handler(STEPS, Some(move || began.elapsed() > time_max));
    select(&conn, text, limits, on_row, &mut done)?;
    Ok(done)
}

/// A day that is attached.
struct Attached {
    /// The schema's name.
    name: String,
    /// The version of its tables.
    version: i64,
}

/// Attaches what can be read.
fn attach(conn: &Connection, days: &[(Day, PathBuf)], skipped: &mut Vec<Skipped>) -> Result<Vec<Attached>, StoreError> {
    let mut attached = vec![];
    for (day, path) in days {
        // Opened once by itself, for the checks: whose file it is and which version.
        let version = match open::to_read(path) {
            Ok(Some((_, of))) => of,
            Ok(None) => continue,
            Err(e @ (StoreError::Day { .. } | StoreError::Disk { .. })) => {
                skipped.push(Skipped { day: *day, why: e.to_string() });
                continue;
            }
            Err(e) => return Err(e),
        };
        let name = format!("d{}", attached.len());
        let _names = open::names_stay();
        let tried = ["ro", "immutable"].iter().find_map(|mode| {
            let sql = format!("ATTACH ? AS {name}");
            let ok = conn.execute(&sql, [open::uri(path, mode)]).is_ok();
            let reads =
                ok && conn.query_row(&format!("SELECT count(*) FROM {name}.sqlite_schema"), [], |_| Ok(())).is_ok();
            if ok && !reads {
                let _ = conn.execute_batch(&format!("DETACH {name}"));
            }
            reads.then_some(())
        });
        match tried {
            Some(()) => attached.push(Attached { name, version }),
            None => skipped.push(Skipped { day: *day, why: format!("{}: cannot be attached", path.display()) }),
        }
    }
    Ok(attached)
}

/// `CREATE TEMP VIEW` of a table over the attached days.
fn view(table: &Table, attached: &[Attached]) -> String {
    let has = |day: &&Attached| day.version >= table.since();
    let parts: Vec<String> = if !attached.iter().any(|day| has(&day)) {
        let columns: Vec<String> = shown(table, &Attached { name: String::new(), version: schema::VERSION })
            .into_iter()
            .map(|(name, _)| format!("NULL AS {name}"))
            .collect();
        vec![format!("SELECT {} WHERE 0", columns.join(", "))]
    } else {
        attached.iter().filter(has).map(|day| select_of_day(table, day)).collect()
    };
    format!("CREATE TEMP VIEW {} AS {};", table.name, parts.join(" UNION ALL "))
}

fn select_of_day(table: &Table, day: &Attached) -> String {
    let columns: Vec<String> = shown(table, day).into_iter().map(|(name, sql)| format!("{sql} AS {name}")).collect();
    format!("SELECT {} FROM {}.{} AS t", columns.join(", "), day.name, table.name)
}

/// The columns of a view: name and expression.
fn shown(table: &Table, Attached { name: day, version }: &Attached) -> Vec<(String, String)> {
    let is_there = |c: &&Column| ddl::later(table, c).is_none_or(|later| *version >= later.version);
    let missing = |c: &Column| vec![(c.name.to_owned(), "NULL".to_owned())];
    let mut columns: Vec<(String, String)> =
        table.columns.iter().flat_map(|c| if is_there(&c) { column(table, c, day) } else { missing(c) }).collect();
    if table.name == "streams" {
        columns.push(("call".into(), format!("(SELECT uuid(id) FROM {day}.calls WHERE key = t.call_key)")));
    }
    if table.name == "calls" {
        columns.push(("duration".into(), "(coalesce(t.end_ns, t.last_ns) - t.answer_ns) / 1e9".into()));
        columns.push(("pdd".into(), "(t.ringing_ns - t.start_ns) / 1e9".into()));
    }
    if table.name == "minutes" {
        columns.push(("start".into(), "utc(t.minute * 60000000000)".into()));
    }
    columns
}

fn column(table: &Table, c: &Column, day: &str) -> Vec<(String, String)> {
    let name = c.name.to_owned();
    let own = format!("t.{}", c.name);
    // The tables declare no types (`ddl.rs`); with them, `code = '404'` finds what `code = 404` does.
    let typed = |kind: &str| format!("CAST({own} AS {kind})");
    match c.kind {
        Kind::Key => vec![],
        Kind::Whole if matches!(c.name, "call_key" | "seen") => vec![],
        Kind::Id => vec![(name, format!("uuid({own})"))],
        Kind::Time => vec![(name.trim_end_matches("_ns").to_owned(), format!("utc({own})")), (name, typed("INTEGER"))],
        Kind::Endpoint => vec![(name, format!("endpoint({own})"))],
        Kind::Word => vec![(name, format!("(SELECT text FROM {day}.words WHERE id = {own})"))],
        Kind::Name(names) => {
            let cases: Vec<String> =
                names.iter().enumerate().map(|(n, text)| format!("WHEN {n} THEN '{text}'")).collect();
            vec![(name, format!("CASE {own} {} END", cases.join(" ")))]
        }
        Kind::Packed(parts) => {
            let more = if table.name == "calls" { ", t.caller, t.callee" } else { "" };
            let part = |p: &&str| (p.to_string(), format!("part_of_{}('{p}', {own}{more})", table.name));
            parts.iter().map(part).collect()
        }
        Kind::Whole | Kind::Flag => vec![(name, typed("INTEGER"))],
        Kind::Real => vec![(name, typed("REAL"))],
        Kind::Text => vec![(name, typed("TEXT"))],
        Kind::Number => vec![(name, typed("TEXT") + " COLLATE NOCASE")],
    }
}

fn authorize(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => Authorization::Allow,
        AuthAction::Function { function_name } if !function_name.eq_ignore_ascii_case("load_extension") => {
            Authorization::Allow
        }
        _ => Authorization::Deny,
    }
}

fn select(
    conn: &Connection,
    text: &str,
    limits: &SqlLimits,
    on_row: OnRow<'_>,
    done: &mut SqlDone,
) -> Result<(), StoreError> {
    let timed_out = || StoreError::Limit(format!("took longer than {} s", limits.time_max.as_secs_f32()));
    let told = |e: rusqlite::Error| match e.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => timed_out(),
        Some(ErrorCode::AuthorizationForStatementDenied) => {
            StoreError::Question("only SELECT is allowed here: the store is opened for reading".into())
        }
        _ => question(e),
    };
    let mut stmt = conn.prepare(text).map_err(|e| match e {
        rusqlite::Error::MultipleStatement => StoreError::Question("one statement at a time".into()),
        e => told(e),
    })?;
    if stmt.column_count() == 0 || !stmt.readonly() {
        return Err(StoreError::Question("only SELECT is allowed here: the store is opened for reading".into()));
    }
    let names: Vec<String> = stmt.column_names().into_iter().map(str::to_owned).collect();
    let mut rows = stmt.raw_query();
    let mut values = vec![];
    while let Some(row) = rows.next().map_err(told)? {
        if done.rows >= limits.rows_max {
            done.cut = true;
            break;
        }
        values.clear();
        for column in 0..names.len() {
            values.push(value(row.get_ref(column).map_err(told)?));
        }
        done.rows += 1;
        if !on_row(&names, &values) {
            break;
        }
    }
    Ok(())
}

fn value(value: ValueRef<'_>) -> SqlValue {
    match value {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(value) => SqlValue::Whole(value),
        ValueRef::Real(value) => SqlValue::Real(value),
        ValueRef::Text(text) => SqlValue::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(octets) => SqlValue::Octets(octets.to_vec()),
    }
}

fn question(e: rusqlite::Error) -> StoreError {
    StoreError::Question(match e {
        rusqlite::Error::SqliteFailure(_, Some(text)) => text,
        rusqlite::Error::SqlInputError { msg, offset, .. } => {
            if offset >= 0 {
                format!("{msg} (at character {})", offset + 1)
            } else {
                msg
            }
        }
        e => e.to_string(),
    })
}
