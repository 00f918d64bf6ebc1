//! `trunkline help`: a command with its examples, or the filter language.

use crate::cli::definition;
use crate::failure::Failure;
use crate::pager::Paged;
use crate::show::table;
use crate::show::text::{Line, Style, wrap};
use crate::terminal::Terminal;
use std::io::Write;
use trunkline_kit::exit::Exit;
use trunkline_store::filter::{FieldHelp, Kind, fields};

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
        let mut out = Paged::new(terminal);
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

/// What stands above the fields: what is typed, and what it means.
const ABOVE: [(&str, &str); 11] = [
    ("A filter is made of tests, joined by and, or, not and parentheses:", ""),
    ("", ""),
    ("  trunkline calls 'caller:+4420* and mos<3.5 and not (code:5xx or ip:10.1.0.0/16)'", ""),
    ("", ""),
    ("  field:value      ", "equals; * in a text matches any characters"),
    ("  field<value      ", "less than; also <=, > and >= for ordered fields"),
    ("  \"a text\"         ", "quotes around what holds spaces or parentheses"),
    ("", ""),
    ("What a call does not have (no score, no answer) fails every test, and passes its negation.", ""),
    ("Times are of your own zone, as in tables, unless they have Z or an offset: start>=2026-11-20T10:00+01:00.", ""),
    ("", ""),
];

/// The fields, from the table that the parser uses.
pub fn filter(terminal: &Terminal) -> Vec<Line> {
    let mut lines: Vec<Line> = ABOVE.iter().flat_map(|(text, why)| above(text, why, terminal)).collect();
    let examples = || fields().iter().map(|field| field.examples.first().copied().unwrap_or(field.name));
    let width = 2 + examples().map(str::len).max().unwrap_or(0) + 2;
    for (field, example) in fields().iter().zip(examples()) {
        for (i, part) in wrap(&what(field), terminal.width.saturating_sub(width)).iter().enumerate() {
            let mut line = Line::new(terminal).with(Style::Bold, &format!("  {}", if i == 0 { example } else { "" }));
            line.pad(width);
            lines.push(line.with(Style::Plain, part));
        }
    }
    lines
}

/// What a field is; where it takes one of a few words, these.
fn what(field: &FieldHelp) -> String {
    match field.kind {
        Kind::Name(names) => format!("{}: {}", field.help, names.join(", ")),
        _ => field.help.to_owned(),
    }
}

/// A line of the text above, wrapped; what explains stands dimmed beside what it explains.
fn above(text: &str, why: &str, terminal: &Terminal) -> Vec<Line> {
    if !why.is_empty() {
        return vec![Line::new(terminal).with(Style::Plain, text).with(Style::Dim, why)];
    }
    wrap(text, terminal.width).iter().map(|part| Line::new(terminal).with(Style::Plain, part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::samples::terminal;

    #[test]
    fn every_field_comes_with_an_example_that_fits() {
        for width in [60, 80, 120] {
            let lines: Vec<String> = filter(&terminal(width)).iter().map(Line::text).collect();
            assert!(lines.iter().all(|line| line.len() <= width.max(84)), "{lines:#?}");
            for field in fields() {
                let example = field.examples.first().unwrap();
                assert!(lines.iter().any(|line| line.trim_start().starts_with(example)), "{}", field.name);
            }
        }
    }
}
