//! `trunkline graph map` and `near`: how devices hang together, and where addresses are.

use super::node::Place;
use super::operate::{cells, said, tell};
use crate::failure::Failure;
use crate::show::table::{self, Table, text};
use crate::terminal::Terminal;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::net::IpAddr;
use trunkline_kit::exit::Exit;

/// Show neighbours: LLDP links with the interfaces at both ends
#[derive(Debug, clap::Args)]
#[command(after_help = "A link that one side alone tells is marked: of a neighbour that is not polled, or that says \
    nothing. `trunkline graph add` has it polled.")]
pub struct Map {
    /// Only the neighbourhood of this device
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Number of hops around it
    #[arg(long, value_name = "N", requires = "name", default_value_t = 2)]
    hops: u32,
    #[command(flatten)]
    place: Place,
}

/// Locate addresses: in devices, ARP tables and networks of interfaces
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Of two and more addresses the shortest ways between the first and each other one are told, too: \
    the devices in the middle."
)]
pub struct Near {
    /// IP addresses
    #[arg(value_name = "ADDRESS", required = true, num_args = 1..=16)]
    addresses: Vec<IpAddr>,
    #[command(flatten)]
    place: Place,
}

impl Map {
    /// Shows it.
    ///
    /// # Errors
    /// There is no such device; the poller is not running.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let device = match &self.name {
            Some(name) => Some(self.place.ask(&json!({ "do": "device", "name": name }))?["device"].take()),
            None => None,
        };
        let hops = self.name.as_ref().map(|_| self.hops);
        let map = self.place.question(&json!({ "do": "map", "device": device, "hops": hops }))?;
        tell(&self.place, &map, |map, out| print_map(map, terminal, out))
    }
}

fn print_map(map: &Value, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let list = |key: &str| map[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let name = |key: &Value| {
        let node = list("nodes").iter().find(|node| node["key"] == *key);
        node.map_or_else(String::new, |node| match node["state"].as_str() {
            Some("up" | "unknown") | None => said(&node["name"]),
            Some(state) => format!("{} ({state})", said(&node["name"])),
        })
    };
    let columns = [text("DEVICE"), text("INTERFACE"), text("NEIGHBOUR"), text("ITS INTERFACE"), text("TOLD BY")];
    let mut table = Table::new(columns.to_vec());
    for link in list("links") {
        let [a, b] = [&link["ends"][0], &link["ends"][1]];
        let told = match (a["tells"] == true, b["tells"] == true) {
            (true, true) => "both",
            (true, false) => "the first",
            _ => "the second",
        };
        let row = [name(&a["node"]), said(&a["interface"]), name(&b["node"]), said(&b["interface"]), told.to_owned()];
        table.row(cells(terminal, &row));
    }
    if !list("links").is_empty() {
        table::write(&table.lines(terminal), terminal, out)?;
    }
    let number = |key: &str| map[key].as_u64().unwrap_or_default();
    let (nodes, links) = (number("nodes_total"), number("links_total"));
    writeln!(
        out,
        "{nodes} devices, {} of them not polled; {links} links; {} polled devices without known links",
        number("strangers_total"),
        number("alone")
    )?;
    let hidden = (nodes - list("nodes").len() as u64, links - list("links").len() as u64);
    if hidden != (0, 0) {
        writeln!(out, "{} devices and {} links more: name a device to see what is around it", hidden.0, hidden.1)?;
    }
    Ok(())
}

impl Near {
    /// Finds them.
    ///
    /// # Errors
    /// The poller is not running.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let pairs: Vec<[usize; 2]> = (1..self.addresses.len()).map(|to| [0, to]).collect();
        let near = self.place.question(&json!({ "do": "near", "addresses": self.addresses, "pairs": pairs }))?;
        tell(&self.place, &near, |near, out| print_near(near, terminal, out))
    }
}

fn print_near(near: &Value, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let columns = [text("ADDRESS"), text("DEVICE"), text("INTERFACE"), text("WHY")];
    let mut table = Table::new(columns.to_vec());
    let mut unknown = Vec::new();
    for one in near["addresses"].as_array().into_iter().flatten() {
        let places = one["places"].as_array().map(Vec::as_slice).unwrap_or_default();
        for place in places {
            let row = [said(&one["address"]), said(&place["name"]), said(&place["interface"]), said(&place["why"])];
            table.row(cells(terminal, &row));
        }
        if places.is_empty() {
            unknown.push(said(&one["address"]));
        }
    }
    if unknown.len() < near["addresses"].as_array().map_or(0, Vec::len) {
        table::write(&table.lines(terminal), terminal, out)?;
    }
    for address in unknown {
        writeln!(out, "{address}: no polled device knows this address (`trunkline graph add`)")?;
    }
    for way in near["ways"].as_array().into_iter().flatten() {
        print_way(way, out)?;
    }
    Ok(())
}

fn print_way(way: &Value, out: &mut dyn Write) -> io::Result<()> {
    let (from, to) = (said(&way["from"]), said(&way["to"]));
    let ways = way["ways"].as_array().map(Vec::as_slice).unwrap_or_default();
    if ways.is_empty() {
        return writeln!(out, "from {from} to {to}: no path known");
    }
    for steps in ways {
        writeln!(out, "from {from} to {to}:")?;
        for step in steps.as_array().into_iter().flatten() {
            let names = |key: &str| step[key].as_array().into_iter().flatten().map(said).collect::<Vec<_>>().join(", ");
            let (comes, goes) = (names("in"), names("out"));
            let by = match (comes.is_empty(), goes.is_empty()) {
                (true, true) => String::new(),
                (false, true) => format!("  {comes}"),
                (true, false) => format!("  {goes}"),
                (false, false) => format!("  {comes} -> {goes}"),
            };
            writeln!(out, "  {}{by}", said(&step["name"]))?;
        }
    }
    let total = way["ways_total"].as_u64().unwrap_or_default();
    if total > 1 {
        writeln!(out, "  {total} paths of equal length, {} shown", ways.len())?;
    }
    Ok(())
}
