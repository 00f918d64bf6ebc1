//! `trunkline sql`: read-only SQL over the store.

use crate::cli::DataFolder;
use crate::failure::Failure;
use crate::moment;
use crate::pager::Paged;
use crate::search;
use crate::show::figure::of;
use crate::show::table::{self, Column, Row, Table, text};
use crate::show::text::{Keep, Line, Style};
use crate::terminal::Terminal;
use std::io::{self, Write};
use std::time::Duration;
use trunkline_kit::exit::Exit;
use trunkline_kit::untrusted::cell as csv;
use trunkline_store::{SqlLimits, SqlValue};

/// Rows that a table shows; JSON and CSV have no limit.
// Limit: rows of a table of `trunkline sql`
// Beyond: further rows are left out; `--json` and `--csv` have no limit
// Seen in: a line below the table
pub const TABLE_ROWS_MAX: usize = 1000;
/// What SQL sees.
const TABLES: &str = "calls, streams, stream_intervals, registrations, sip_events, losses, minutes, charges";
/// How long a statement may take.
// Limit: time of one statement of `trunkline sql`
// Beyond: the statement is ended
// Seen in: the error message
pub const TIME_MAX: Duration = Duration::from_secs(600);

/// Query the store with SQL
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline sql \"SELECT state, count(*) FROM calls GROUP BY state\"\n  \
    trunkline sql --csv \"SELECT * FROM registrations WHERE code >= 400\"\n  \
    trunkline sql --from yesterday \"SELECT * FROM losses\"   what was lost since yesterday 0:00\n  \
    trunkline sql --json \"SELECT * FROM calls LIMIT 1\"    the columns of a table, with what is in them\n\n\
    Tables: calls, streams, stream_intervals, registrations, sip_events, losses, minutes, charges. \
    The store is read-only.")]
pub struct Sql {
    /// One SELECT statement
    #[arg(value_name = "SELECT")]
    statement: String,
    /// Only rows from this time on: 2026-11-20, 2026-11-20T10:00, 03:10, yesterday, -2h
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<String>,
    /// Only rows until this time; a day is included
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    to: Option<String>,
    /// Print one JSON object per line
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated values with a header line
    #[arg(long)]
    csv: bool,
    #[command(flatten)]
    data: DataFolder,
}

impl Sql {
    /// Asks and prints.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let (from_ns, to_ns) = self.span(terminal)?;
        let store = search::open(&self.data)?;
        let mut out = Paged::new(terminal);
        let mut print = Print {
            terminal,
            json: self.json,
            csv: self.csv,
            out: &mut out,
            titles: Vec::new(),
            rows: Vec::new(),
            failed: None,
        };
        let rows_max = if self.json || self.csv { usize::MAX } else { TABLE_ROWS_MAX };
        let of_rows = self.from.is_some() || self.to.is_some();
        let limits = SqlLimits { from_ns, to_ns, of_rows, rows_max, time_max: TIME_MAX };
        let asked = store.sql(&self.statement, &limits, &mut |names, values| print.row(names, values));
        if let Some(failure) = print.failed.take() {
            return Err(failure);
        }
        let done = asked.map_err(|e| hinted(search::failure(e)))?;
        print.table(done.cut)?;
        out.flush()?;
        for day in &done.skipped {
            let _ = writeln!(io::stderr(), "trunkline: {}: passed over", day.why);
        }
        Ok(if done.skipped.is_empty() { Exit::Done } else { Exit::Degraded })
    }
}

impl Sql {
    /// From when on and before when.
    fn span(&self, terminal: &Terminal) -> Result<(i64, i64), Failure> {
        let time = |option: &str, text: &Option<String>| {
            let read = text.as_deref().map(|text| moment::span(text, &terminal.zone)).transpose();
            read.map_err(|why| Failure::Usage(format!("{option}: {why}")))
        };
        let (from, to) = (time("--from", &self.from)?, time("--to", &self.to)?);
        let (from_ns, to_ns) = (from.map_or(i64::MIN, |f| f.0), to.map_or(i64::MAX, |t| t.1));
        if from_ns >= to_ns {
            return Err(Failure::Usage("--from must be before --to".to_owned()));
        }
        Ok((from_ns, to_ns))
    }
}

/// Who misses a name is told where the names are.
fn hinted(failure: Failure) -> Failure {
    match failure {
        Failure::Usage(text) if text.contains("no such column") => {
            Failure::Usage(format!("{text}\nIts columns: trunkline sql --json \"SELECT * FROM calls LIMIT 1\""))
        }
        Failure::Usage(text) if text.contains("no such table") => Failure::Usage(format!("{text}\nTables: {TABLES}.")),
        failure => failure,
    }
}

/// Where rows go: straight out, or kept for a table.
struct Print<'a> {
    terminal: &'a Terminal,
    json: bool,
    csv: bool,
    out: &'a mut dyn Write,
    titles: Vec<String>,
    rows: Vec<Vec<SqlValue>>,
    failed: Option<Failure>,
}

impl Print<'_> {
    /// Takes a row; false ends the statement.
    fn row(&mut self, names: &[String], values: &[SqlValue]) -> bool {
        let first = self.titles.is_empty();
        if first {
            self.titles = names.to_vec();
        }
        let written = if self.json {
            writeln!(self.out, "{}", object(names, values))
        } else if self.csv {
            self.csv_row(first, values)
        } else {
            self.rows.push(values.to_vec());
            Ok(())
        };
        self.failed = written.err().map(Failure::from);
        self.failed.is_none()
    }

    fn csv_row(&mut self, first: bool, values: &[SqlValue]) -> io::Result<()> {
        if first {
            writeln!(self.out, "{}", self.titles.iter().map(|t| csv(t)).collect::<Vec<_>>().join(","))?;
        }
        writeln!(self.out, "{}", values.iter().map(|v| csv(&plain(v))).collect::<Vec<_>>().join(","))
    }

    fn table(&mut self, cut: bool) -> Result<(), Failure> {
        if self.json || self.csv {
            return Ok(());
        }
        let right =
            |i: usize| self.rows.iter().all(|row| !matches!(row.get(i), Some(SqlValue::Text(_) | SqlValue::Octets(_))));
        let columns: Vec<Column> = (0..self.titles.len()).map(|i| Column { right: right(i), ..COLUMN }).collect();
        let mut table = Table::with_titles(columns, &self.titles);
        for row in &self.rows {
            let cells = row.iter().map(|v| Line::new(self.terminal).with(Style::Plain, &plain(v))).collect();
            table.row(Row { cells, below: Vec::new() });
        }
        table::write(&table.lines(self.terminal), self.terminal, &mut self.out)?;
        let more = if cut { "; there are more rows: print all with --json or --csv" } else { "" };
        let text = format!("{}{more}", of(self.rows.len() as u64, "row", "rows"));
        Ok(Line::new(self.terminal).with(Style::Dim, &text).write(self.terminal.colour, &mut self.out)?)
    }
}

/// Every column of SQL may be cut, to what a time takes.
const COLUMN: Column = text("").cuts(10, Keep::Start);

fn plain(value: &SqlValue) -> String {
    match value {
        SqlValue::Null => String::new(),
        SqlValue::Whole(n) => n.to_string(),
        SqlValue::Real(x) => x.to_string(),
        SqlValue::Text(text) => text.clone(),
        SqlValue::Octets(octets) => octets.iter().map(|o| format!("{o:02x}")).collect(),
    }
}

fn object(names: &[String], values: &[SqlValue]) -> serde_json::Value {
    let value = |v: &SqlValue| match v {
        SqlValue::Null => serde_json::Value::Null,
        SqlValue::Whole(n) => (*n).into(),
        SqlValue::Real(x) => (*x).into(),
        text => plain(text).into(),
    };
    serde_json::Value::Object(names.iter().cloned().zip(values.iter().map(value)).collect())
}
