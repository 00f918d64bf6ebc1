//! `trunkline help`: a command with its examples, or the filter language.

use crate::cli::definition;
use crate::failure::Failure;
use crate::output::stdout;
use crate::show::table::{self, Row, Table, text};
use crate::show::text::{Line, Style};
use crate::terminal::Terminal;
use std::io::Write;
use trunkline_kit::exit::Exit;
use trunkline_store::filter::{FieldHelp, fields};

/// Explain a command, or the filter language (help filter)
#[derive(Debug, clap::Args)]
pub struct Help {
    /// A command, or filter
    #[arg(value_name = "TOPIC")]
    topic: Option<String>,
}

impl Help {
    /// Prints it.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let mut out = stdout();
        match self.topic.as_deref() {
            Some("filter") => table::write(&filter(terminal), terminal, &mut out)?,
            topic => {
                let help = help_of(topic)?;
                let text = if terminal.colour { help.ansi().to_string() } else { help.to_string() };
                out.write_all(text.as_bytes())?;
            }
        }
        out.flush()?;
        Ok(Exit::Done)
    }
}

fn help_of(topic: Option<&str>) -> Result<clap::builder::StyledStr, Failure> {
    let mut whole = definition();
    whole.build();
    let Some(topic) = topic else { return Ok(whole.render_help()) };
    let names: Vec<String> = whole.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    let missing = || Failure::Usage(format!("no help on '{topic}': there are filter, {}", names.join(", ")));
    Ok(whole.find_subcommand_mut(topic).ok_or_else(missing)?.render_help())
}

/// What stands above the fields.
const ABOVE: [(&str, &str); 11] = [
    ("A filter is made of tests, joined by and, or, not and parentheses:", ""),
    ("", ""),
    ("  trunkline calls 'caller:+4420* and mos<3.5 and not (code:5xx or ip:10.1.0.0/16)'", ""),
    ("", ""),
    ("  field:value      ", "is value; * in a text stands for any characters"),
    ("  field<value      ", "less; also <=, > and >=, where an order makes sense"),
    ("  \"a text\"         ", "quotes around what holds spaces or parentheses"),
    ("", ""),
    ("What a call does not have (no score, no answer) fails every test, and passes its negation.", ""),
    ("Times in filters are UTC unless they have an offset: start>=2026-11-20T10:00+01:00.", ""),
    ("", ""),
];

/// The fields, from the table that the parser uses.
pub fn filter(terminal: &Terminal) -> Vec<Line> {
    let line = |(text, why): &(&str, &str)| Line::new(terminal).with(Style::Plain, text).with(Style::Dim, why);
    let mut lines: Vec<Line> = ABOVE.iter().map(line).collect();
    let mut table = Table::new(vec![text("FIELD"), text("WHAT"), text("EXAMPLE").drops(1)]);
    for field in fields() {
        table.row(row(field, terminal));
    }
    lines.extend(table.lines(terminal));
    lines
}

fn row(field: &FieldHelp, terminal: &Terminal) -> Row {
    let cell = |style: Style, text: &str| Line::new(terminal).with(style, text);
    let cells = vec![
        cell(Style::Bold, field.name),
        cell(Style::Plain, field.help),
        cell(Style::Dim, field.examples.first().copied().unwrap_or_default()),
    ];
    Row { cells, below: Vec::new() }
}
