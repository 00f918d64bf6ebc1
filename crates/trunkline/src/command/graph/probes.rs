//! `trunkline graph probes`, `attach`, `argument`, `reload`: how it is told whether a device is up, what is read of it
//! beside its template, and templates that were changed.

use super::node::Place;
use crate::failure::Failure;
use crate::output::stdout;
use clap::builder::PossibleValuesParser;
use serde_json::{Map, Value, json};
use std::io::Write;
use trunkline_kit::exit::Exit;

/// What is tried to see whether a device is up.
#[derive(Clone, Debug, clap::Args)]
pub struct Rounds {
    /// Check: icmp, tcp:PORT, udp:PORT, snmp; repeat the option for more [default: snmp, else icmp]
    #[arg(long = "probe", value_name = "PROBE")]
    pub probe: Vec<String>,
    /// Whether one check or all checks must answer
    #[arg(long, value_name = "WORD", default_value = "any", value_parser = PossibleValuesParser::new(["any", "all"]))]
    pub probes: String,
    /// Failed checks until the device is down [default: 2]
    #[arg(long, value_name = "ROUNDS", value_parser = clap::value_parser!(u16).range(1..=200))]
    pub failures: Option<u16>,
    /// Answered checks until the device is up again [default: 1]
    #[arg(long, value_name = "ROUNDS", value_parser = clap::value_parser!(u16).range(1..=200))]
    pub recoveries: Option<u16>,
}

impl Rounds {
    /// Puts it into an order.
    pub fn put(&self, order: &mut Value) {
        order["probes"] = json!(self.probe);
        order["all"] = json!(self.probes == "all");
        order["failures"] = json!(self.failures);
        order["recoveries"] = json!(self.recoveries);
    }
}

/// Reads `NAME=VALUE`.
pub fn argument(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("NAME=VALUE is wanted")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Arguments as an order has them.
pub fn arguments(said: &[(String, String)]) -> Value {
    let all: Map<String, Value> = said.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    Value::Object(all)
}

/// Set the up/down checks of a device (replaces the current ones)
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline graph probes edge-1 --probe snmp --probe icmp                 one answer is enough\n  \
    trunkline graph probes sip-1 --probe icmp --probe tcp:5060 --probes all --failures 3")]
pub struct Probes {
    /// Name
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    rounds: Rounds,
    #[command(flatten)]
    place: Place,
}

/// Add the graphs of a graph template to a device, with their data sources
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline graph attach edge-1 icmp-loss\n  \
    trunkline graph attach sip-1 tcp-port --argument port=5060")]
pub struct Attach {
    /// The device
    #[arg(value_name = "NAME")]
    name: String,
    /// The graph template
    #[arg(value_name = "GRAPH")]
    graph: String,
    /// Table row [default: all matching rows]
    #[arg(long, value_name = "ROW")]
    row: Option<String>,
    /// Arguments of its data sources
    #[arg(long = "argument", value_name = "NAME=VALUE", value_parser = argument)]
    arguments: Vec<(String, String)>,
    #[command(flatten)]
    place: Place,
}

/// Set the arguments of a data source (replaces the current ones)
#[derive(Debug, clap::Args)]
pub struct Argument {
    /// Number of the data source, from `trunkline graph device`
    #[arg(value_name = "SOURCE")]
    source: u32,
    /// Value of `|argument.NAME|` in its template
    #[arg(value_name = "NAME=VALUE", value_parser = argument)]
    arguments: Vec<(String, String)>,
    #[command(flatten)]
    place: Place,
}

/// Reload the templates; if there are mistakes, they are listed and the previous templates stay active
#[derive(Debug, clap::Args)]
pub struct Reload {
    #[command(flatten)]
    place: Place,
}

impl Probes {
    /// Has it done.
    ///
    /// # Errors
    /// What they say against it; the poller is not running.
    pub fn run(&self) -> Result<Exit, Failure> {
        let mut order = json!({ "do": "probes", "name": self.name });
        self.rounds.put(&mut order);
        let how = match self.rounds.probe.is_empty() {
            true => "what is usual".to_owned(),
            false => self.rounds.probe.join(if self.rounds.probes == "all" { " and " } else { " or " }),
        };
        tell(&self.place, &order, |_| format!("{} is up while {how} answers", self.name))
    }
}

impl Attach {
    /// Has it done.
    ///
    /// # Errors
    /// What they say against it; the poller is not running.
    pub fn run(&self) -> Result<Exit, Failure> {
        let Attach { name, graph, row, arguments: said, place } = self;
        let order = json!({ "do": "attach", "name": name, "graph": graph, "row": row, "arguments": arguments(said) });
        tell(place, &order, |reply| {
            let sources: Vec<String> =
                reply["data_sources"].as_array().into_iter().flatten().map(ToString::to_string).collect();
            format!("{name} has {graph}: data sources {}", sources.join(", "))
        })
    }
}

impl Argument {
    /// Has it done.
    ///
    /// # Errors
    /// What they say against it; the poller is not running.
    pub fn run(&self) -> Result<Exit, Failure> {
        let order = json!({ "do": "arguments", "source": self.source, "arguments": arguments(&self.arguments) });
        tell(&self.place, &order, |_| format!("data source {} updated", self.source))
    }
}

impl Reload {
    /// Has it done.
    ///
    /// # Errors
    /// All mistakes; the poller is not running.
    pub fn run(&self) -> Result<Exit, Failure> {
        tell(&self.place, &json!({ "do": "reload" }), |reply| {
            let what = if reply["changed"] == true { "hold from now on" } else { "are as they were" };
            let count = |key: &str| reply[key].as_u64().unwrap_or(0);
            format!(
                "{} data templates, {} graph templates and {} device templates {what}",
                count("data_templates"),
                count("graph_templates"),
                count("device_templates")
            )
        })
    }
}

/// Asks, and prints the reply as JSON or in a sentence.
fn tell(place: &Place, order: &Value, plain: impl FnOnce(&Value) -> String) -> Result<Exit, Failure> {
    let reply = place.ask(order)?;
    let mut out = stdout();
    if place.is_json() {
        writeln!(out, "{reply}")?;
    } else {
        writeln!(out, "{}", plain(&reply))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}
