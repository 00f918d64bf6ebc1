//! What a scope shows, beside all that there is, and what each of its rules is about: for who makes rules. And which of
//! some things it shows: for who keeps something about them elsewhere.

use super::{Unanswered, View, few};
use crate::scope::{Rule, Taken};
use trunkline_contract::graph::{GraphSeen, GraphTaken, ScopeShown};

/// Names that are told of each kind.
const NAMES_MAX: usize = 20;
/// Devices, graphs and data sources, of each, of which one question asks whether they are seen.
pub const SEEN_MAX: usize = 50_000;

/// Counts and first names, and for each level of the scope what its rules are about.
pub(super) fn show(view: &View<'_>) -> ScopeShown {
    let all = View { seen: None, scope: None, ..*view };
    let levels = view.scope.map(|scope| &scope.levels[..]).unwrap_or_default().iter();
    ScopeShown {
        seen: super::counts(view),
        all: super::counts(&all),
        devices: devices(view),
        graphs: graphs(view),
        trees: trees(view),
        levels: levels.map(|rules| rules.iter().map(|rule| about(view, rule)).collect()).collect(),
    }
}

/// Of devices, graphs and data sources those that there are and that are seen, in the order of the question.
pub(super) fn seen(view: &View<'_>, wanted: &GraphSeen) -> Result<GraphSeen, Unanswered> {
    let inventory = view.inventory;
    let of = |what: &str, ids: &[u32], is_seen: &dyn Fn(u32) -> bool| -> Result<Vec<u32>, Unanswered> {
        few(what, ids.len(), SEEN_MAX)?;
        Ok(ids.iter().copied().filter(|id| is_seen(*id)).collect())
    };
    Ok(GraphSeen {
        devices: of("devices", &wanted.devices, &|id| inventory.devices().has(id) && view.sees_device(id))?,
        graphs: of("graphs", &wanted.graphs, &|id| inventory.graphs().has(id) && view.sees_graph(id))?,
        sources: of("sources", &wanted.sources, &|id| inventory.sources().has(id) && view.sees_source(id))?,
    })
}

fn about(view: &View<'_>, rule: &Rule) -> GraphTaken {
    let taken = Taken::by([&rule.what].into_iter(), view.inventory, view.library, view.search);
    GraphTaken {
        devices: taken.devices() as u64,
        graphs: taken.graphs(view.inventory) as u64,
        places: taken.places() as u64,
    }
}

fn devices(view: &View<'_>) -> Vec<String> {
    let devices = view.inventory.devices().iter().filter(|device| view.sees_device(device.0));
    let mut names: Vec<&str> = devices.map(|(_, device)| &*device.name).collect();
    names.sort_unstable();
    names.into_iter().take(NAMES_MAX).map(str::to_owned).collect()
}

fn graphs(view: &View<'_>) -> Vec<String> {
    let graphs = view.inventory.graphs().iter().map(|(id, _)| id).filter(|id| view.sees_graph(*id));
    graphs.take(NAMES_MAX).map(|id| view.inventory.title(view.library, id)).collect()
}

fn trees(view: &View<'_>) -> Vec<String> {
    let trees = view.inventory.trees().iter().filter(|tree| view.sees_tree(tree.0));
    trees.map(|(_, tree)| tree.name.to_string()).take(NAMES_MAX).collect()
}
