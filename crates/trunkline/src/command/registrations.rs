//! `trunkline registrations`: who registered, and who could not.

use crate::cli::DataFolder;
use crate::failure::Failure;
use crate::pager::Paged;
use crate::search::{self, TABLE_ROWS_DEFAULT};
use crate::show::call_page;
use crate::show::days::Days;
use crate::show::figure;
use crate::show::table::{self, Row, Table, number, text};
use crate::show::text::{Keep, Line, Style};
use crate::terminal::Terminal;
use std::io::Write;
use trunkline_kit::exit::Exit;
use trunkline_store::row::Registration;
use trunkline_store::{Query, json};

/// List registrations
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  trunkline registrations\n  trunkline registrations --json | jq -c 'select(.code >= 400)'"
)]
pub struct Registrations {
    /// How many to list at most, the newest [default: 50 in a table, else all]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: DataFolder,
}

impl Registrations {
    /// Lists them.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let store = search::open(&self.data)?;
        let mut out = Paged::new(terminal);
        let ask = |query: &Query| store.registrations(query);
        if self.json {
            let limit = self.limit.map_or(usize::MAX, |n| n as usize);
            search::print_json(limit, ask, json::registration, &mut out)?;
            out.flush()?;
            return Ok(Exit::Done);
        }
        let found = search::list(self.limit.unwrap_or(TABLE_ROWS_DEFAULT) as usize, ask)?;
        if found.is_empty() {
            writeln!(out, "No registrations in {}: none was in what was read.", self.data.path.display())?;
        } else {
            table::write(&lines(&found, terminal), terminal, &mut out)?;
        }
        out.flush()?;
        Ok(Exit::Done)
    }
}

fn lines(found: &[Registration], terminal: &Terminal) -> Vec<Line> {
    let days = Days::of(found.iter().map(|r| r.start_ns), terminal);
    let mut table = Table::new(vec![
        text("TIME"),
        text("USER").cuts(8, Keep::End),
        text("FROM").cuts(15, Keep::End),
        text("TO").cuts(15, Keep::End),
        text("RESULT").cuts(8, Keep::Start),
        number("TOOK").drops(2),
        number("EXPIRES").drops(3),
        text("AGENT").drops(4).cuts(8, Keep::Start),
    ]);
    for r in found {
        let cell = |style: Style, text: &str| Line::new(terminal).with(style, text);
        let result = if r.code == 0 { "no answer".to_owned() } else { format!("{} {}", r.code, r.reason) };
        let style = if r.verdict.is_some() { Style::Bad } else { Style::Good };
        let took = r.end_ns.map_or_else(String::new, |end| figure::duration(end.saturating_sub(r.start_ns)));
        let cells = vec![
            cell(Style::Plain, &days.time(r.start_ns, terminal)),
            cell(Style::Bold, if r.user.is_empty() { &r.aor } else { &r.user }),
            cell(Style::Plain, &r.src.to_string()),
            cell(Style::Plain, &r.dst.to_string()),
            cell(style, &result),
            cell(Style::Plain, &took),
            cell(Style::Plain, &r.expires.map_or_else(String::new, |s| format!("{s} s"))),
            cell(Style::Dim, &r.user_agent),
        ];
        let below = r.verdict.as_ref().map_or_else(Vec::new, |v| call_page::verdict(v, terminal, 2));
        table.row(Row { cells, below });
    }
    let mut lines = table.lines(terminal);
    lines.push(days.below(figure::of(found.len() as u64, "registration", "registrations"), terminal));
    lines
}
