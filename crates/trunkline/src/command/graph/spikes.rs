//! `trunkline graph spikes`: remove counter spikes.

use super::node::Place;
use super::operate::{begin, cells, said, tell};
use crate::failure::Failure;
use crate::show::table::{self, Table, number, text};
use crate::terminal::Terminal;
use serde_json::{Value, json};
use std::io::{self, Write};
use trunkline_contract::graph::{GraphShown, Question};
use trunkline_kit::exit::Exit;

/// Remove spikes of restarted counters: set the values to unknown
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("of").required(true).args(["graph", "source"])))]
#[command(after_help = "Examples:\n  \
    trunkline graph spikes --graph 12 --dry-run             spikes that would be removed\n  \
    trunkline graph spikes --source 7 --above 1.25e9        of a 10 Gbit/s interface, in octets a second\n  \
    trunkline graph spikes --graph 12 --from 2026-11-20 --to 2026-11-21\n\n\
    Each archive of a file is looked at by itself. Rows of coarser archives with a spike in them are made again of \
    finer rows, where those are still there. What the file was before stays beside it: FILE.rrd.before-1.")]
pub struct Spikes {
    /// All data sources of a graph
    #[arg(long, value_name = "NUMBER")]
    graph: Option<u32>,
    /// One data source
    #[arg(long, value_name = "NUMBER")]
    source: Option<u32>,
    /// Standard deviations above the average of an archive, without the highest values
    #[arg(long, value_name = "DEVIATIONS", default_value_t = 10.0, conflicts_with = "above")]
    by: f64,
    /// Maximum valid value, in the unit of the file: octets per second for traffic
    #[arg(long, value_name = "VALUE")]
    above: Option<f64>,
    /// Start: 2026-11-20, 2026-11-20T08:00, or seconds since 1970 [default: from the beginning]
    #[arg(long, value_name = "TIME", value_parser = begin)]
    from: Option<i64>,
    /// End [default: now]
    #[arg(long, value_name = "TIME", value_parser = begin)]
    to: Option<i64>,
    /// Show the spikes only
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    place: Place,
}

impl Spikes {
    /// Has it done.
    ///
    /// # Errors
    /// What they say against it; the poller is not running.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let deviations = self.above.is_none().then_some(self.by);
        let mut found = Vec::new();
        for source in self.sources()? {
            let mut reply = self.place.ask(&json!({
                "do": "spikes", "source": source, "from": self.from.unwrap_or(0), "above": self.above,
                "to": self.to.unwrap_or_else(|| jiff::Timestamp::now().as_second()), "deviations": deviations,
                "apply": !self.dry_run,
            }))?;
            reply["source"] = json!(source);
            found.push(reply);
        }
        let reply = json!({ "sources": found, "dry_run": self.dry_run });
        tell(&self.place, &reply, |reply, out| write(reply, terminal, out))
    }

    fn sources(&self) -> Result<Vec<u32>, Failure> {
        let Some(graph) = self.graph else { return Ok(self.source.into_iter().collect()) };
        let shown: GraphShown = self.place.question(Question::Graph { id: graph })?;
        // What was never read has no spikes.
        Ok(shown.sources.iter().filter(|source| source.last.is_some()).map(|source| source.id).collect())
    }
}

fn write(reply: &Value, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let columns =
        vec![number("source"), text("series"), text("rows"), text("row ends"), number("value"), number("becomes")];
    let (mut table, mut count) = (Table::new(columns), 0);
    let sources = reply["sources"].as_array().map_or(&[][..], Vec::as_slice);
    for source in sources {
        for spike in source["spikes"].as_array().into_iter().flatten() {
            let end = spike["end"].as_i64().and_then(|s| jiff::Timestamp::from_second(s).ok());
            let becomes = spike["becomes"].as_f64().map_or_else(|| "unknown".to_owned(), |value| value.to_string());
            let rows = format!("{} of {} s", said(&spike["function"]), said(&spike["row"]));
            let end = end.map_or_else(String::new, |end| end.to_string());
            let texts = [said(&source["source"]), said(&spike["series"]), rows, end, said(&spike["value"]), becomes];
            table.row(cells(terminal, &texts));
            count += 1;
        }
    }
    if count == 0 {
        return writeln!(out, "no spikes found");
    }
    table::write(&table.lines(terminal), terminal, out)?;
    for source in sources.iter().filter(|source| !source["backup"].is_null()) {
        writeln!(out, "data source {}: backup of the file: {}", source["source"], said(&source["backup"]))?;
    }
    match reply["dry_run"] == true {
        true => writeln!(out, "nothing was changed (--dry-run)"),
        false => Ok(()),
    }
}
