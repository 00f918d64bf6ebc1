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
    trunkline graph serve                                 run the poller\n  \
    trunkline graph credential add lan < community.txt    add a credential\n  \
    trunkline graph add edge-1 10.0.0.1 --credential lan  add a device\n  \
    trunkline graph add sip-1 10.0.0.5 --no-snmp --probe icmp --probe tcp:5060 --template sip-server\n  \
    trunkline graph discover 10.0.0.0/24 --credential lan look for devices\n  \
    trunkline graph list                                  devices with their states\n  \
    trunkline graph device edge-1                         its interfaces, data sources and graphs\n  \
    trunkline graph behind access-1 edge-1                access-1 depends on edge-1\n  \
    trunkline graph map                                   neighbours by LLDP\n  \
    trunkline graph near 10.1.2.3 10.9.8.7                locate addresses, and the path between them\n  \
    trunkline graph attach edge-1 tcp-port --argument port=22   add another graph template\n  \
    trunkline graph reload                                reload templates\n  \
    trunkline graph fetch 7 --from 2026-11-20             values of a data source\n  \
    trunkline graph tree place Network/London --device edge-1\n  \
    trunkline graph sum 'All uplinks' uplink bits         combine the graphs with these words in the title\n  \
    trunkline graph bandwidth uplink --from 2026-11-01    95th percentile and total of graphs\n  \
    trunkline graph spikes --graph 12 --dry-run           remove counter spikes\n  \
    trunkline graph watch 12                              watch a graph in real time\n  \
    trunkline graph status                                poller status; exit code 3 if unhealthy\n  \
    trunkline graph import cacti --dump cacti.sql --rra /var/lib/cacti/rra\n  \
    trunkline graph farm --devices 100                    a hundred simulated devices that answer SNMP\n\n\
    See docs/manual/graphs.md.")]
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
