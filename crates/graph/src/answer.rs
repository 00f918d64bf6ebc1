//! What is asked about graphs, and its answers, as the contract has them: pages and other programs see the inventory
//! through them. Where a [`View`] has a scope, what it does not show is answered as if it did not exist. [`order`]
//! reads what somebody wants to be changed, in JSON. Secrets go in by orders, and never come out.

mod arranging;
mod asked;
mod behind;
mod devices;
mod figures;
mod graphs;
mod map;
mod near;
mod orders;
mod pictures;
mod realtime;
mod rights;
mod shows;
mod trees;

pub use figures::REPORT_GRAPHS_MAX;
pub use graphs::natural;
pub use map::{MAP_LINKS_MAX, MAP_NODES_MAX};
pub use near::{ADDRESSES_MAX, PAIRS_MAX, STOPS_MAX, near_sources};
pub use orders::{Added, added, order};
pub use pictures::{PICTURES_MAX, ask_of};
pub use realtime::{RealtimeAsk, Watched, realtime};
pub use rights::SEEN_MAX;

use crate::inventory::{Inventory, Search};
use crate::picture::{Files, NoPicture};
use crate::scope::{Scope, Seen};
use crate::template::{Library, Source};
use std::collections::{BTreeMap, BTreeSet};
use trunkline_contract::graph::{
    GraphCounts, GraphCredential, GraphCredentials, GraphTemplateBrief, GraphTemplates, Question, Told,
};

/// Things of one part of a list.
pub const PART_MAX: usize = 500;
/// Graphs of which a node, a device or a search is put in order; further ones are counted, not listed.
// Limit: graphs sorted for one list
// Beyond: further graphs are not listed
// Seen in: the number beside the list
pub const GRAPHS_LISTED_MAX: usize = 200_000;
/// Rows and data sources of one device that are told; all are counted.
// Limit: rows and data sources of one device shown
// Beyond: further ones are counted
// Seen in: the number beside the list
pub const DEVICE_ROWS_MAX: usize = 2000;

/// What there is to see at a moment.
pub struct View<'v> {
    /// The inventory.
    pub inventory: &'v Inventory,
    /// The templates.
    pub library: &'v Library,
    /// The titles of its graphs.
    pub search: &'v Search,
    /// The round-robin files.
    pub files: &'v dyn Files,
    /// How a device is polled; none if it is not.
    pub polled: &'v dyn Fn(u32) -> Option<Polled>,
    /// What time it is, seconds of Unix.
    pub now_s: i64,
    /// What may be seen of it; none is everything.
    pub seen: Option<&'v Seen>,
    /// The rules that this comes of.
    pub scope: Option<&'v Scope>,
}

impl View<'_> {
    fn sees_device(&self, id: u32) -> bool {
        self.seen.is_none_or(|seen| seen.device(id))
    }

    fn sees_graph(&self, id: u32) -> bool {
        self.seen.is_none_or(|seen| seen.graph(id))
    }

    fn sees_source(&self, id: u32) -> bool {
        self.seen.is_none_or(|seen| seen.source(id))
    }

    fn sees_row(&self, id: u32) -> bool {
        self.seen.is_none_or(|seen| seen.row(id))
    }

    fn sees_node(&self, id: u32) -> bool {
        self.seen.is_none_or(|seen| seen.node(self.inventory, id))
    }

    fn sees_tree(&self, id: u32) -> bool {
        self.seen.is_none_or(|seen| seen.tree(self.inventory, id))
    }
}

/// How a device is polled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Polled {
    /// Whether it is up; none before the first answer or silence.
    pub up: Option<bool>,
    /// Since when, seconds of Unix.
    pub since_s: Option<i64>,
    /// When its last answer came, seconds of Unix.
    pub answered_s: Option<i64>,
    /// What does not answer as it should, a sentence each.
    pub troubles: Vec<String>,
    /// Whether it is up and down by turns.
    pub flapping: bool,
    /// What is wrong with data sources that are not read by SNMP.
    pub faults: Vec<(u32, String)>,
    /// Cycles that were left out.
    pub missed: u64,
    /// How long an answer takes, milliseconds.
    pub round_trip_ms: Option<f64>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// There is no such thing.
    #[error("{0}")]
    Unknown(String),
    /// It makes no sense; the text says why.
    #[error("{0}")]
    Asked(String),
    /// A file cannot be read.
    #[error("{0}")]
    Failed(String),
    /// Too much is done of that already.
    #[error("{0}")]
    Busy(String),
}

impl From<NoPicture> for Unanswered {
    fn from(error: NoPicture) -> Self {
        match error {
            NoPicture::Unknown(_) => Unanswered::Unknown(error.to_string()),
            NoPicture::Asked(_) | NoPicture::Fault(trunkline_rrd::Fault::Asked(_)) => {
                Unanswered::Asked(error.to_string())
            }
            NoPicture::Fault(_) => Unanswered::Failed(error.to_string()),
        }
    }
}

/// Answers a question of what there is to see. How polling goes, and what is read while it is asked for, whoever polls
/// tells.
///
/// # Errors
/// [`Unanswered`].
pub fn answer(view: &View<'_>, question: &Question) -> Result<Told, Unanswered> {
    let sees: &dyn Fn(u32) -> bool = &|id| view.sees_device(id);
    Ok(match question {
        Question::Counts {} => counts(view).into(),
        Question::Devices { text, state, site, offset, limit } => {
            let wanted = devices::Wanted { text: text.as_deref(), state: state.as_deref(), site: *site };
            devices::list(view, &wanted, (*offset, *limit))?.into()
        }
        Question::Device { id } => devices::show(view, *id)?.into(),
        Question::DeviceNamed { name } => devices::named(view, name)?.into(),
        Question::Graphs(wanted) => graphs::list(view, wanted)?.into(),
        Question::Graph { id } => graphs::show(view, *id)?.into(),
        Question::Trees {} => trees::list(view).into(),
        Question::Nodes { tree, parent } => trees::nodes(view, *tree, *parent)?.into(),
        Question::Pictures { ids, span } => pictures::show(view, ids, span)?.into(),
        Question::Figures { graphs, from, to, csv } => figures::show(view, graphs, (*from, *to), *csv)?.into(),
        Question::GraphTemplates { graphs } => figures::templates(view, graphs.as_deref())?.into(),
        Question::Credentials {} => credentials(view).into(),
        Question::Templates {} => templates(view).into(),
        Question::Rights {} => rights::show(view).into(),
        Question::Seen(wanted) => rights::seen(view, wanted)?.into(),
        Question::Map { device, hops, limit } => map::show(view, (*device, *hops), *limit, sees)?.into(),
        Question::Near(wanted) => near::show(view, wanted, sees)?.into(),
        Question::Behind { from, replace, limit } => {
            behind::show(view, from, replace.unwrap_or_default(), *limit, sees)?.into()
        }
        Question::Run {} | Question::Realtime { .. } => {
            return Err(Unanswered::Asked("the poller alone can tell that".to_owned()));
        }
    })
}

fn counts(view: &View<'_>) -> GraphCounts {
    let inventory = view.inventory;
    let mut counts = GraphCounts::default();
    for (id, device) in inventory.devices().iter().filter(|device| view.sees_device(device.0)) {
        counts.devices += 1;
        *match devices::state(view, id, device) {
            "up" => &mut counts.up,
            "down" => &mut counts.down,
            "disabled" => &mut counts.disabled,
            _ => &mut counts.unknown,
        } += 1;
    }
    let (sources, graphs, trees) = match view.seen {
        None => (inventory.sources().len(), inventory.graphs().len(), inventory.trees().len()),
        Some(seen) => (seen.sources_len(), seen.graphs_len(), seen.trees_len(inventory)),
    };
    GraphCounts { sources: sources as u64, graphs: graphs as u64, trees: trees as u64, ..counts }
}

fn credentials(view: &View<'_>) -> GraphCredentials {
    let mut used = BTreeMap::<u32, u64>::new();
    for (_, device) in view.inventory.devices().iter() {
        if let Some(id) = device.access.credential {
            *used.entry(id).or_default() += 1;
        }
    }
    let all = view.inventory.credentials().iter();
    let all = all.map(|(id, credential)| GraphCredential {
        id,
        name: credential.name.to_string(),
        kind: credential.login.describe(),
        devices: used.get(&id).copied().unwrap_or_default(),
    });
    GraphCredentials { credentials: all.collect() }
}

fn templates(view: &View<'_>) -> GraphTemplates {
    let library = view.library;
    let all = library.devices.iter().map(|(name, device)| {
        let arguments: BTreeSet<String> = library.data_of(device).flat_map(|data| data.arguments()).collect();
        GraphTemplateBrief {
            name: name.clone(),
            title: device.title.to_string(),
            snmp: library.data_of(device).any(|data| matches!(data.source, Source::Snmp)),
            arguments: arguments.into_iter().collect(),
        }
    });
    GraphTemplates { templates: all.collect() }
}

/// How many of a list are passed over, and told: 1 to `most`, `otherwise` when nothing is said.
fn part_of((offset, limit): Part, most: usize, otherwise: usize) -> Result<(usize, usize), Unanswered> {
    let limit = limit.map_or(otherwise, |limit| limit as usize);
    match (1..=most).contains(&limit) {
        true => Ok((offset.unwrap_or_default() as usize, limit)),
        false => Err(Unanswered::Asked(format!("\"limit\" is 1 to {most}"))),
    }
}

/// Refuses more than there can be.
fn few(what: &str, count: usize, most: usize) -> Result<(), Unanswered> {
    let many = || Unanswered::Asked(format!("\"{what}\": {count} of them, {most} can be"));
    (count <= most).then_some(()).ok_or_else(many)
}

/// How many of a list are to be passed over, and how many are wanted.
type Part = (Option<u32>, Option<u32>);

/// What a list tells when nothing is said.
const LIMIT: usize = 100;
