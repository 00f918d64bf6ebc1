//! `trunkline graph map` and `near`: how devices hang together, and where addresses are.

use super::node::Place;
use super::operate::{cells, tell};
use crate::failure::Failure;
use crate::show::table::{self, Table, text};
use crate::terminal::Terminal;
use std::io::{self, Write};
use std::net::IpAddr;
use trunkline_contract::graph::{
    GraphAddress, GraphLinkEnd, GraphMap, GraphNear, GraphPlace, GraphWays, NearWanted, Question,
};
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
            Some(name) => Some(self.place.device(name)?),
            None => None,
        };
        let hops = self.name.as_ref().map(|_| self.hops);
        let map: GraphMap = self.place.question(Question::Map { device, hops, limit: None })?;
        tell(&self.place, &map, |map, out| print_map(map, terminal, out))
    }
}

fn print_map(map: &GraphMap, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let name = |end: &GraphLinkEnd| {
        let node = map.nodes.iter().find(|node| node.key == end.node);
        node.map_or_else(String::new, |node| match node.state.as_str() {
            "up" | "unknown" => node.name.clone(),
            state => format!("{} ({state})", node.name),
        })
    };
    let interface = |end: &GraphLinkEnd| end.interface.clone().unwrap_or_default();
    let columns = [text("DEVICE"), text("INTERFACE"), text("NEIGHBOUR"), text("ITS INTERFACE"), text("TOLD BY")];
    let mut table = Table::new(columns.to_vec());
    for link in &map.links {
        let [a, b] = &link.ends[..] else { continue };
        let told = match (a.tells, b.tells) {
            (true, true) => "both",
            (true, false) => "the first",
            _ => "the second",
        };
        table.row(cells(terminal, &[name(a), interface(a), name(b), interface(b), told.to_owned()]));
    }
    if !map.links.is_empty() {
        table::write(&table.lines(terminal), terminal, out)?;
    }
    let (nodes, links) = (map.nodes_total, map.links_total);
    writeln!(
        out,
        "{nodes} devices, {} of them not polled; {links} links; {} polled devices without known links",
        map.strangers_total, map.alone
    )?;
    let hidden = (nodes - map.nodes.len() as u64, links - map.links.len() as u64);
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
        let addresses = self.addresses.iter().map(IpAddr::to_string).collect();
        let pairs = (1..self.addresses.len()).map(|to| [0, to]).collect();
        let wanted = NearWanted { addresses, pairs, from: None, to: None };
        let near: GraphNear = self.place.question(Question::Near(wanted))?;
        tell(&self.place, &near, |near, out| print_near(near, terminal, out))
    }
}

fn print_near(near: &GraphNear, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let columns = [text("ADDRESS"), text("DEVICE"), text("INTERFACE"), text("WHY")];
    let mut table = Table::new(columns.to_vec());
    for GraphAddress { address, places, .. } in &near.addresses {
        for GraphPlace { name, interface, why, .. } in places {
            let interface = interface.clone().unwrap_or_default();
            table.row(cells(terminal, &[address.clone(), name.clone(), interface, why.clone()]));
        }
    }
    if near.addresses.iter().any(|one| !one.places.is_empty()) {
        table::write(&table.lines(terminal), terminal, out)?;
    }
    for GraphAddress { address, .. } in near.addresses.iter().filter(|one| one.places.is_empty()) {
        writeln!(out, "{address}: no polled device knows this address (`trunkline graph add`)")?;
    }
    near.ways.iter().try_for_each(|way| print_way(way, out))
}

fn print_way(GraphWays { from, to, ways, ways_total }: &GraphWays, out: &mut dyn Write) -> io::Result<()> {
    if ways.is_empty() {
        return writeln!(out, "from {from} to {to}: no path known");
    }
    for steps in ways {
        writeln!(out, "from {from} to {to}:")?;
        for step in steps {
            let (comes, goes) = (step.comes.join(", "), step.out.join(", "));
            let by = match (comes.is_empty(), goes.is_empty()) {
                (true, true) => String::new(),
                (false, true) => format!("  {comes}"),
                (true, false) => format!("  {goes}"),
                (false, false) => format!("  {comes} -> {goes}"),
            };
            writeln!(out, "  {}{by}", step.name)?;
        }
    }
    if *ways_total > 1 {
        writeln!(out, "  {ways_total} paths of equal length, {} shown", ways.len())?;
    }
    Ok(())
}
