//! `trunkline graph bandwidth`: how much went where.

use super::node::Place;
use super::operate::{begin, cells, ends_after, tell};
use crate::failure::Failure;
use crate::output::stdout;
use crate::show::figure;
use crate::show::table::{self, Table, number, text};
use crate::terminal::Terminal;
use std::io::{self, Write};
use trunkline_contract::graph::{GraphFiguresList, GraphFiguresOf, GraphReport, GraphsWanted, Question};
use trunkline_kit::exit::Exit;

/// Graphs of one report.
const GRAPHS_MAX: u32 = 500;

/// Report average, maximum, 95th percentile and total of graphs over a time range
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline graph bandwidth uplink traffic --from 2026-11-01 --to 2026-12-01\n  \
    trunkline graph bandwidth --from 2026-11-01 --csv > november.csv\n\n\
    The resolution is the finest that the files have for the whole time range; at a coarser resolution the \
    percentile is lower. A total exists for rates only: the sum over the time range.")]
pub struct Bandwidth {
    /// Words in the titles of the graphs; -word excludes [default: all graphs]
    #[arg(value_name = "WORD")]
    words: Vec<String>,
    /// Graphs of a device
    #[arg(long, value_name = "NUMBER")]
    device: Option<u32>,
    /// Graphs of a place in a tree, by its number
    #[arg(long, value_name = "NUMBER")]
    node: Option<u32>,
    /// Start: 2026-11-20, 2026-11-20T08:00, or seconds since 1970 [default: a day before --to]
    #[arg(long, value_name = "TIME", value_parser = begin)]
    from: Option<i64>,
    /// End [default: now]
    #[arg(long, value_name = "TIME", value_parser = begin)]
    to: Option<i64>,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    #[command(flatten)]
    place: Place,
}

impl Bandwidth {
    /// Tells it.
    ///
    /// # Errors
    /// What they say against it; the poller is not running.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let to = self.to.unwrap_or_else(|| jiff::Timestamp::now().as_second());
        let from = self.from.unwrap_or(to - 86_400);
        ends_after(from, to)?;
        let (text, limit) = (Some(self.words.join(" ")), Some(GRAPHS_MAX));
        let graphs = GraphsWanted { text, device: self.device, node: self.node, limit, ..GraphsWanted::default() };
        let reply: GraphReport = self.place.question(Question::Figures { graphs, from, to, csv: self.csv })?;
        if self.csv {
            let mut out = stdout();
            out.write_all(reply.csv.unwrap_or_default().as_bytes())?;
            out.flush()?;
            return Ok(Exit::Done);
        }
        tell(&self.place, &reply, |reply, out| write(&reply.list, terminal, out))
    }
}

fn write(reply: &GraphFiguresList, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let columns = vec![
        text("graph"),
        text("series"),
        number("mean"),
        number("95 %"),
        number("most"),
        number("total"),
        number("row").drops(1),
    ];
    let mut table = Table::new(columns);
    let graphs = &reply.graphs;
    let of = |value: Option<f64>, unit: &str| value.map_or_else(|| "-".to_owned(), |v| figure::amount(v, unit));
    for GraphFiguresOf { title, unit, step, series, .. } in graphs {
        for series in series {
            let row = format!("{} s", step.unwrap_or_default());
            let total = of(series.total, total_unit(unit));
            let figures = [series.average, series.p95, series.max].map(|value| of(value, unit));
            let texts = [vec![title.clone(), series.label.clone()], figures.to_vec(), vec![total, row]];
            table.row(cells(terminal, &texts.concat()));
        }
    }
    table::write(&table.lines(terminal), terminal, out)?;
    for GraphFiguresOf { title, trouble, .. } in graphs {
        if let Some(trouble) = trouble {
            writeln!(out, "{title}: {trouble}")?;
        }
    }
    let mut steps: Vec<i64> = graphs.iter().filter_map(|graph| graph.step).collect();
    steps.sort_unstable();
    match (graphs.is_empty(), steps.first(), steps.last()) {
        (true, ..) => writeln!(out, "no graph has these words in its title")?,
        (_, Some(least), Some(most)) if least == most => writeln!(out, "resolution {least} s")?,
        (_, Some(least), Some(most)) => writeln!(out, "resolution {least} s to {most} s: column `row`, or --csv")?,
        _ => {}
    }
    let (total, shown) = (reply.total, graphs.len());
    if total > shown as u64 {
        writeln!(out, "{shown} of {total} graphs: narrow the list with words, --device or --node")?;
    }
    Ok(())
}

/// A total is of what comes in a second: bits, where the unit is bits a second.
fn total_unit(unit: &str) -> &str {
    unit.strip_suffix("/s").unwrap_or_default()
}
