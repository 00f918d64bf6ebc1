//! `trunkline registrations`: who registered, and who could not.

use crate::command::listing::{Kind, Listing};
use crate::failure::Failure;
use crate::show::call_page;
use crate::show::days::Days;
use crate::show::figure;
use crate::show::table::{Row, Table, number, text};
use crate::show::text::{Keep, Line, Style};
use crate::terminal::Terminal;
use trunkline_kit::exit::Exit;
use trunkline_store::row::Registration;
use trunkline_store::{Store, json};

/// List registrations
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  trunkline registrations\n  trunkline registrations --json | jq -c 'select(.code >= 400)'"
)]
pub struct Registrations {
    #[command(flatten)]
    listing: Listing,
}

impl Registrations {
    /// Lists them.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let none = |folder: &str| format!("No registrations in {folder}.");
        self.listing.run(terminal, &Kind { ask: Store::registrations, json: json::registration, lines, none })
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
