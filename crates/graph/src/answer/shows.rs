//! What a graph shows, told by what it reads and not by its name: templates of people count as those that are built in.

use crate::inventory::Inventory;
use crate::template::{DataTemplate, Library, Reading, Series, Source};

/// What a graph shows, in the order in which a way shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shows {
    /// What was lost: errors, discards, echo requests without an answer.
    Losses,
    /// How much went through an interface.
    Traffic,
    /// How busy a processor is.
    Processor,
    /// How long an echo takes.
    RoundTrip,
    /// Something else.
    Other,
}

impl Shows {
    pub fn word(self) -> &'static str {
        match self {
            Shows::Losses => "losses",
            Shows::Traffic => "traffic",
            Shows::Processor => "processor",
            Shows::RoundTrip => "round-trip",
            Shows::Other => "other",
        }
    }
}

const IF_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1];
const IF_X_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1];
/// Columns of ifEntry (RFC 2863) that count what was lost.
const LOSSES: [(u32, &str); 4] = [(14, "errors in"), (20, "errors out"), (13, "discards in"), (19, "discards out")];
/// Columns that count octets.
const OCTETS: [(&[u32], u32); 4] = [(IF_ENTRY, 10), (IF_ENTRY, 16), (IF_X_ENTRY, 6), (IF_X_ENTRY, 10)];
/// What tells how busy processors are.
const PROCESSORS: [&[u32]; 5] = [
    &[1, 3, 6, 1, 2, 1, 25, 3, 3, 1, 2],       // HOST-RESOURCES-MIB::hrProcessorLoad
    &[1, 3, 6, 1, 4, 1, 2021, 11],             // UCD-SNMP-MIB::systemStats
    &[1, 3, 6, 1, 4, 1, 9, 9, 109],            // CISCO-PROCESS-MIB
    &[1, 3, 6, 1, 4, 1, 9, 2, 1],              // OLD-CISCO-CPU-MIB
    &[1, 3, 6, 1, 4, 1, 2636, 3, 1, 13, 1, 8], // JUNIPER-MIB::jnxOperatingCPU
];

/// What of a data source tells of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LossSeries<'t> {
    /// The name of the series.
    pub name: &'t str,
    /// What is lost, for people.
    pub what: &'static str,
    /// Whether it is packets a second; else percent.
    pub is_counted: bool,
}

/// The series of a data template that tell of losses.
pub(super) fn losses(template: &DataTemplate) -> Vec<LossSeries<'_>> {
    let of = |series| loss(template, series);
    template.series.iter().filter_map(of).collect()
}

fn loss<'t>(template: &'t DataTemplate, series: &'t Series) -> Option<LossSeries<'t>> {
    let name = &*series.name;
    if let Source::Icmp { .. } = template.source {
        let is_loss = matches!(series.read.first(), Some(Reading::Name(read)) if read == "loss");
        return is_loss.then_some(LossSeries { name, what: "of echo requests lost", is_counted: false });
    }
    let what = objects(series).find_map(|arcs| match arcs.strip_prefix(IF_ENTRY) {
        Some([column]) => LOSSES.iter().find(|(known, _)| known == column).map(|(_, what)| *what),
        _ => None,
    })?;
    series.is_counter().then_some(LossSeries { name, what, is_counted: true })
}

fn objects(series: &Series) -> impl Iterator<Item = &[u32]> {
    series.read.iter().filter_map(|read| match read {
        Reading::Object(oid) => Some(oid.arcs()),
        Reading::Name(_) => None,
    })
}

/// What a graph of a template shows.
pub(super) fn shows(library: &Library, graph: &str) -> Shows {
    let definitions = library.graphs.get(graph).into_iter().flat_map(|graph| &graph.definitions);
    let shown = definitions.filter_map(|definition| {
        let data = library.data.get(&definition.data)?;
        Some((data, data.series.iter().find(|series| series.name == definition.series)?))
    });
    // What is not known comes last, so that what is known of any of them counts.
    shown.map(|(data, series)| of_series(data, series)).min_by_key(|shows| precedence(*shows)).unwrap_or(Shows::Other)
}

/// A graph of round trips that has losses beside them is one of round trips.
fn precedence(shows: Shows) -> u8 {
    match shows {
        Shows::RoundTrip => 0,
        Shows::Losses => 1,
        Shows::Traffic => 2,
        Shows::Processor => 3,
        Shows::Other => 4,
    }
}

fn of_series(data: &DataTemplate, series: &Series) -> Shows {
    if loss(data, series).is_some() {
        return Shows::Losses;
    }
    if let Source::Icmp { .. } = data.source {
        let is_time = series.read.iter().any(|read| matches!(read, Reading::Name(read) if read.starts_with("rtt")));
        return if is_time { Shows::RoundTrip } else { Shows::Other };
    }
    let is_octets = |arcs: &[u32]| {
        OCTETS.iter().any(|(front, column)| arcs.strip_prefix(*front).is_some_and(|rest| rest == [*column]))
    };
    let is_processor = |arcs: &[u32]| PROCESSORS.iter().any(|front| arcs.starts_with(front));
    if objects(series).any(is_octets) {
        Shows::Traffic
    } else if objects(series).any(is_processor) {
        Shows::Processor
    } else {
        Shows::Other
    }
}

/// The graphs of a device with what each shows and of which row it is, in their order.
pub(super) fn of_device(inventory: &Inventory, library: &Library, device: u32) -> Vec<(u32, Shows, Option<u32>)> {
    let of = |id: &u32| {
        let graph = inventory.graphs().get(*id)?;
        // One of several data sources is of none of them.
        let [source] = graph.sources[..] else { return None };
        let row = inventory.sources().get(source).filter(|source| source.device == device)?.row;
        Some((*id, shows(library, inventory.template_name(graph.template)?), row))
    };
    let mut all: Vec<_> = inventory.graphs_of(device).iter().filter_map(of).collect();
    all.sort_by_key(|(id, shows, row)| (*row, *shows, *id));
    all
}
