//! `trunkline events`: SIP transactions outside calls and registrations.

use crate::command::listing::{Kind, Listing};
use crate::failure::Failure;
use crate::show::days::Days;
use crate::show::figure;
use crate::show::table::{Row, Table, number, text};
use crate::show::text::{Keep, Line, Style};
use crate::terminal::Terminal;
use trunkline_kit::exit::Exit;
use trunkline_store::row::SipEvent;
use trunkline_store::{Store, json};

/// List SIP transactions outside calls: OPTIONS, SUBSCRIBE, MESSAGE, ...
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  trunkline events\n  trunkline events --json | jq -c 'select(.method == \"OPTIONS\")'"
)]
pub struct Events {
    #[command(flatten)]
    listing: Listing,
}

impl Events {
    /// Lists them.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let none = |folder: &str| format!("No transactions outside calls in {folder}.");
        self.listing.run(terminal, &Kind { ask: Store::events, json: json::event, lines, none })
    }
}

fn lines(found: &[SipEvent], terminal: &Terminal) -> Vec<Line> {
    let days = Days::of(found.iter().map(|e| e.start_ns), terminal);
    let mut table = Table::new(vec![
        text("TIME"),
        text("METHOD"),
        text("FROM").cuts(6, Keep::End).drops(3),
        text("TO").cuts(6, Keep::End).drops(2),
        text("SENDER").cuts(15, Keep::End),
        text("RECEIVER").cuts(15, Keep::End),
        text("RESULT").cuts(8, Keep::Start),
        number("TOOK").drops(1),
    ]);
    for e in found {
        let cell = |style: Style, text: &str| Line::new(terminal).with(style, text);
        let result = if e.code == 0 { "no answer".to_owned() } else { format!("{} {}", e.code, e.reason) };
        let style = if (200..=299).contains(&e.code) { Style::Good } else { Style::Warn };
        let took = e.end_ns.map_or_else(String::new, |end| figure::duration(end.saturating_sub(e.start_ns)));
        let cells = vec![
            cell(Style::Plain, &days.time(e.start_ns, terminal)),
            cell(Style::Bold, &e.method),
            cell(Style::Plain, &e.from),
            cell(Style::Plain, &e.to),
            cell(Style::Plain, &e.src.to_string()),
            cell(Style::Plain, &e.dst.to_string()),
            cell(style, &result),
            cell(Style::Plain, &took),
        ];
        table.row(Row { cells, below: Vec::new() });
    }
    let mut lines = table.lines(terminal);
    lines.push(days.below(figure::of(found.len() as u64, "transaction", "transactions"), terminal));
    lines
}
