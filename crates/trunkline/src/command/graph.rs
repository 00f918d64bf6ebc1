//! `trunkline graph`: what belongs to polling devices and drawing graphs.

mod add;
mod bandwidth;
mod behind;
mod device;
pub mod farm;
mod graphs;
mod map;
mod node;
mod operate;
mod probes;
mod serve;
mod spikes;
mod tree;
mod watch;

use crate::failure::Failure;
use crate::terminal::Terminal;
use trunkline_kit::exit::Exit;

/// Poll devices and store their values for years
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true, arg_required_else_help = true)]
#[command(after_help = "Examples:\n  \
    trunkline graph serve                                 poll what the inventory has\n  \
    trunkline graph credential add lan < community.txt    what lets us in\n  \
    trunkline graph add edge-1 10.0.0.1 --credential lan  a device, which is looked at and polled\n  \
    trunkline graph add sip-1 10.0.0.5 --no-snmp --probe icmp --probe tcp:5060 --template sip-server\n  \
    trunkline graph discover 10.0.0.0/24 --credential lan look for devices\n  \
    trunkline graph list                                  which there are, and how they are\n  \
    trunkline graph device edge-1                         its interfaces, data sources and graphs\n  \
    trunkline graph behind access-1 edge-1                it is reached through edge-1: alerts depend on that\n  \
    trunkline graph map                                   who is next to whom\n  \
    trunkline graph near 10.1.2.3 10.9.8.7                where addresses are, and the way between them\n  \
    trunkline graph attach edge-1 tcp-port --argument port=22   what its template does not have\n  \
    trunkline graph reload                                templates that were changed\n  \
    trunkline graph fetch 7 --from 2026-11-20             what a data source has\n  \
    trunkline graph tree place Network/London --device edge-1\n  \
    trunkline graph sum 'All uplinks' uplink bits         one graph of those whose titles have these words\n  \
    trunkline graph bandwidth uplink --from 2026-11-01    95th percentile and total of graphs\n  \
    trunkline graph spikes --graph 12 --dry-run           values that a device never had\n  \
    trunkline graph watch 12                              a graph in real time, a line each second\n  \
    trunkline graph status                                how it goes; exit code 3 if not well\n  \
    trunkline graph import cacti --dump cacti.sql --rra /var/lib/cacti/rra\n  \
    trunkline graph farm --devices 100                    a hundred simulated devices that answer SNMP\n\n\
    docs/manual/graphs.md has the whole of it.")]
pub struct Graph {
    /// What to do.
    #[command(subcommand)]
    tool: Tool,
}

/// What there is, a file each.
#[derive(Debug, clap::Subcommand)]
enum Tool {
    Serve(serve::Serve),
    #[command(flatten)]
    Order(Box<operate::Order>),
    Behind(behind::Behind),
    Map(map::Map),
    Near(map::Near),
    Probes(probes::Probes),
    Attach(probes::Attach),
    Argument(probes::Argument),
    Reload(probes::Reload),
    #[command(subcommand)]
    Tree(tree::Tree),
    #[command(flatten)]
    Graphs(graphs::Graphs),
    Bandwidth(bandwidth::Bandwidth),
    Spikes(spikes::Spikes),
    Watch(watch::Watch),
    Farm(farm::FarmCommand),
}

impl Graph {
    /// Does what the subcommand says.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        match &self.tool {
            Tool::Serve(serve) => serve.run(),
            Tool::Order(order) => order.run(terminal),
            Tool::Behind(behind) => behind.run(terminal),
            Tool::Map(map) => map.run(terminal),
            Tool::Near(near) => near.run(terminal),
            Tool::Probes(probes) => probes.run(),
            Tool::Attach(attach) => attach.run(),
            Tool::Argument(argument) => argument.run(),
            Tool::Reload(reload) => reload.run(),
            Tool::Tree(tree) => tree.run(terminal),
            Tool::Graphs(graphs) => graphs.run(),
            Tool::Bandwidth(bandwidth) => bandwidth.run(terminal),
            Tool::Spikes(spikes) => spikes.run(terminal),
            Tool::Watch(watch) => watch.run(),
            Tool::Farm(farm) => farm.run(terminal),
        }
    }
}
