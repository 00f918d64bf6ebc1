//! `trunkline cache stats`: what a server tells of itself.

mod unit;

use crate::cache::answer::{self, Stat};
use crate::cache::ask::{self, PATIENCE};
use crate::cache::target::Target;
use crate::failure::Failure;
use crate::output::stdout;
use crate::show::table::{self, Row, Table, text};
use crate::show::text::{Keep, Line, Style};
use crate::terminal::Terminal;
use std::io::Write;
use trunkline_kit::exit::Exit;

/// Print a server's memcached `stats`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline cache stats                              the server on port 11211 of this machine\n  \
    trunkline cache stats 192.0.2.7:11211 settings     a group\n  \
    trunkline cache stats unix:/run/cache.sock --json")]
pub struct Stats {
    /// Server: HOST, HOST:PORT or unix:PATH
    #[arg(value_name = "ADDRESS", default_value = "127.0.0.1:11211")]
    target: Target,
    /// Group: settings, items, slabs, sizes, conns, or another one of the server
    #[arg(value_name = "GROUP", default_value = "", hide_default_value = true, value_parser = group)]
    group: String,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// Words that stay within one line of the protocol.
fn group(text: &str) -> Result<String, String> {
    let good = text.len() <= 200 && text.bytes().all(|octet| octet == b' ' || octet.is_ascii_graphic());
    if good { Ok(text.to_owned()) } else { Err("words of ASCII, at most 200 characters".to_owned()) }
}

impl Stats {
    /// Asks and prints.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let stats = self.ask()?;
        let mut out = stdout();
        if self.json {
            writeln!(out, "{}", answer::object(&stats))?;
        } else {
            table::write(&lines(&stats, terminal), terminal, &mut out)?;
        }
        out.flush()?;
        Ok(Exit::Done)
    }

    fn ask(&self) -> Result<Vec<Stat>, Failure> {
        let mut stream = self.target.connect(PATIENCE)?;
        ask::ask(stream.as_mut(), &self.target, &self.group).map_err(Failure::Failed)
    }
}

fn lines(stats: &[Stat], terminal: &Terminal) -> Vec<Line> {
    let columns = vec![text("NAME"), text("VALUE").cuts(12, Keep::Start), text("").drops(1)];
    let mut table = Table::new(columns);
    for stat in stats {
        let meaning = unit::meaning(&stat.name, &stat.value, &terminal.zone);
        let cells = [(Style::Plain, &stat.name), (Style::Bold, &stat.value), (Style::Dim, &meaning)];
        let cells = cells.map(|(style, cell)| Line::new(terminal).with(style, cell)).to_vec();
        table.row(Row { cells, below: Vec::new() });
    }
    table.lines(terminal)
}
