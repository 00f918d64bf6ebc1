//! One SELECT over all days at once: the files are attached read-only, views put them together, an authorizer lets
//! nothing through but reading. More days than can be attached come one after the other (`one_by_one.rs`).

use super::{ddl, functions, one_by_one, open};
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
    let attached_max = conn.limit(Limit::SQLITE_LIMIT_ATTACHED).map_err(question)?.max(1) as usize;
    run_within(attached_max, conn, days, text, limits, on_row)
}

/// The same, with at most so many days attached at once.
pub fn run_within(
    attached_max: usize,
    conn: Connection,
    days: &[(Day, PathBuf)],
    text: &str,
    limits: &SqlLimits,
    on_row: OnRow<'_>,
) -> Result<SqlDone, StoreError> {
    functions::register(&conn).map_err(question)?;
    let mut done = SqlDone::default();
    let ends = Instant::now().checked_add(limits.time_max);
    let sweep = if days.len() > attached_max {
        Some(one_by_one::views(&conn, days, text, limits, ends).map_err(question)?)
    } else {
        let attached = attach(&conn, days, &mut done.skipped)?;
        for table in TABLES {
            conn.execute_batch(&view(table, &attached, limits)).map_err(question)?;
        }
        None
    };
    conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_OCTETS_MAX).map_err(question)?;
    conn.authorizer(Some(authorize));
    conn.progress_handler(STEPS, Some(move || ends.is_some_and(|ends| Instant::now() > ends)));
    let selected = select(&conn, text, limits, on_row, &mut done);
    if let Some(sweep) = sweep {
        let (skipped, was_late) = sweep.end();
        done.skipped.extend(skipped);
        if was_late {
            return Err(timed_out(limits));
        }
    }
    selected.map(|()| done)
}

fn timed_out(limits: &SqlLimits) -> StoreError {
    StoreError::Limit(format!("took longer than {} s", limits.time_max.as_secs_f32()))
}

/// A day as a statement names it.
pub struct Attached {
    /// The schema's name.
    pub name: String,
    /// The version of its tables.
    pub version: i64,
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
fn view(table: &Table, attached: &[Attached], limits: &SqlLimits) -> String {
    let has = |day: &&Attached| day.version >= table.since();
    let parts: Vec<String> = if !attached.iter().any(|day| has(&day)) {
        let none = shown(table, &Attached { name: String::new(), version: schema::VERSION });
        let columns: Vec<String> = none.into_iter().map(|c| format!("NULL AS {}", c.name)).collect();
        vec![format!("SELECT {} WHERE 0", columns.join(", "))]
    } else {
        attached.iter().filter(has).map(|day| select_of_day(table, day, limits)).collect()
    };
    format!("CREATE TEMP VIEW {} AS {};", table.name, parts.join(" UNION ALL "))
}

fn select_of_day(table: &Table, day: &Attached, limits: &SqlLimits) -> String {
    let columns: Vec<String> = shown(table, day).into_iter().map(|c| format!("{} AS {}", c.sql, c.name)).collect();
    let within = within(table, limits).map_or_else(String::new, |within| format!(" WHERE {within}"));
    format!("SELECT {} FROM {}.{} AS t{within}", columns.join(", "), day.name, table.name)
}

/// The condition for rows whose own time lies in the span, if it is about rows; none if it is about days.
pub fn within(table: &Table, limits: &SqlLimits) -> Option<String> {
    let (from_ns, to_ns) = (limits.from_ns, limits.to_ns);
    let time = match table.name {
        "streams" => "t.first_ns",
        "losses" => "t.since_ns",
        // A minute belongs to the span if it begins in it.
        "minutes" => "t.minute * 60000000000",
        _ => "t.start_ns",
    };
    limits.of_rows.then(|| format!("{time} >= {from_ns} AND {time} < {to_ns}"))
}

/// A column of a view.
pub struct Shown {
    /// Its name.
    pub name: String,
    /// What it is made of.
    pub sql: String,
    /// Its type where it declares one, for `CAST`, and its collation.
    pub typed: Option<&'static str>,
}

impl Shown {
    fn plain(name: impl Into<String>, sql: impl Into<String>) -> Self {
        Shown { name: name.into(), sql: sql.into(), typed: None }
    }

    fn typed(name: impl Into<String>, own: &str, kind: &'static str) -> Self {
        Shown { name: name.into(), sql: cast(own, kind), typed: Some(kind) }
    }
}

/// `CAST` to a type with its collation.
pub fn cast(own: &str, typed: &str) -> String {
    match typed.split_once(' ') {
        Some((kind, collation)) => format!("CAST({own} AS {kind}) {collation}"),
        None => format!("CAST({own} AS {typed})"),
    }
}

/// The columns of a view.
pub fn shown(table: &Table, Attached { name: day, version }: &Attached) -> Vec<Shown> {
    let is_there = |c: &&Column| ddl::later(table, c).is_none_or(|later| *version >= later.version);
    let missing = |c: &Column| vec![Shown::plain(c.name, "NULL")];
    let mut columns: Vec<Shown> =
        table.columns.iter().flat_map(|c| if is_there(&c) { column(table, c, day) } else { missing(c) }).collect();
    if table.name == "streams" {
        columns.push(Shown::plain("call", format!("(SELECT uuid(id) FROM {day}.calls WHERE key = t.call_key)")));
    }
    if table.name == "calls" {
        columns.push(Shown::plain("duration", "(coalesce(t.end_ns, t.last_ns) - t.answer_ns) / 1e9"));
        columns.push(Shown::plain("pdd", "(t.ringing_ns - t.start_ns) / 1e9"));
    }
    if table.name == "minutes" {
        columns.push(Shown::plain("start", "utc(t.minute * 60000000000)"));
    }
    columns
}

fn column(table: &Table, c: &Column, day: &str) -> Vec<Shown> {
    let name = c.name;
    let own = format!("t.{}", c.name);
    // The tables declare no types (`ddl.rs`); with them, `code = '404'` finds what `code = 404` does.
    match c.kind {
        Kind::Key => vec![],
        Kind::Whole if matches!(c.name, "call_key" | "seen") => vec![],
        Kind::Id => vec![Shown::plain(name, format!("uuid({own})"))],
        Kind::Time => {
            vec![Shown::plain(name.trim_end_matches("_ns"), format!("utc({own})")), Shown::typed(name, &own, "INTEGER")]
        }
        Kind::Endpoint => vec![Shown::plain(name, format!("endpoint({own})"))],
        Kind::Word => {
            let sql = format!("(SELECT text FROM {day}.words WHERE id = {own})");
            vec![Shown { typed: Some("TEXT"), ..Shown::plain(name, sql) }]
        }
        Kind::Name(names) => {
            let cases: Vec<String> =
                names.iter().enumerate().map(|(n, text)| format!("WHEN {n} THEN '{text}'")).collect();
            vec![Shown::plain(name, format!("CASE {own} {} END", cases.join(" ")))]
        }
        Kind::Packed(parts) => {
            let more = if table.name == "calls" { ", t.caller, t.callee" } else { "" };
            let part = |p: &&str| Shown::plain(*p, format!("part_of_{}('{p}', {own}{more})", table.name));
            parts.iter().map(part).collect()
        }
        Kind::Whole | Kind::Flag => vec![Shown::typed(name, &own, "INTEGER")],
        Kind::Real => vec![Shown::typed(name, &own, "REAL")],
        Kind::Text => vec![Shown::typed(name, &own, "TEXT")],
        Kind::Number => vec![Shown::typed(name, &own, "TEXT COLLATE NOCASE")],
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
    let told = |e: rusqlite::Error| match e.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => timed_out(limits),
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
