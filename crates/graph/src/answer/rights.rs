//! What a scope shows, beside all that there is, and what each of its rules is about: for who makes rules. And which of
//! some things it shows: for who keeps something about them elsewhere.

use super::asked::Asked;
use super::{Unanswered, View};
use crate::scope::{Rule, Taken};
use serde_json::{Value, json};

/// Names that are told of each kind.
const NAMES_MAX: usize = 20;
/// Devices, graphs and data sources, of each, of which one question asks whether they are seen.
pub const SEEN_MAX: usize = 50_000;

/// Counts and first names, and for each level of the scope what its rules are about.
pub(super) fn show(view: &View<'_>) -> Value {
    let all = View { seen: None, scope: None, ..*view };
    let levels = view.scope.map(|scope| &scope.levels[..]).unwrap_or_default().iter();
    let levels = levels.map(|rules| rules.iter().map(|rule| about(view, rule)).collect::<Vec<_>>());
    json!({
        "seen": super::counts(view), "all": super::counts(&all),
        "devices": devices(view), "graphs": graphs(view), "trees": trees(view),
        "levels": levels.collect::<Vec<_>>(),
    })
}

/// Of devices, graphs and data sources those that there are and that are seen, in the order of the question.
pub(super) fn seen(view: &View<'_>, asked: Asked<'_>) -> Result<Value, Unanswered> {
    let inventory = view.inventory;
    let of = |key: &str, is_seen: &dyn Fn(u32) -> bool| -> Result<Vec<u32>, Unanswered> {
        Ok(asked.ids(key, SEEN_MAX)?.into_iter().filter(|id| is_seen(*id)).collect())
    };
    Ok(json!({
        "devices": of("devices", &|id| inventory.devices().has(id) && view.sees_device(id))?,
        "graphs": of("graphs", &|id| inventory.graphs().has(id) && view.sees_graph(id))?,
        "sources": of("sources", &|id| inventory.sources().has(id) && view.sees_source(id))?,
    }))
}

fn about(view: &View<'_>, rule: &Rule) -> Value {
    let taken = Taken::by([&rule.what].into_iter(), view.inventory, view.library, view.search);
    json!({ "devices": taken.devices(), "graphs": taken.graphs(view.inventory), "places": taken.places() })
}

fn devices<'v>(view: &View<'v>) -> Vec<&'v str> {
    let devices = view.inventory.devices().iter().filter(|device| view.sees_device(device.0));
    let mut names: Vec<&str> = devices.map(|(_, device)| &*device.name).collect();
    names.sort_unstable();
    names.truncate(NAMES_MAX);
    names
}

fn graphs(view: &View<'_>) -> Vec<String> {
    let graphs = view.inventory.graphs().iter().map(|(id, _)| id).filter(|id| view.sees_graph(*id));
    graphs.take(NAMES_MAX).map(|id| view.inventory.title(view.library, id)).collect()
}

fn trees<'v>(view: &View<'v>) -> Vec<&'v str> {
    let trees = view.inventory.trees().iter().filter(|tree| view.sees_tree(tree.0));
    trees.map(|(_, tree)| &*tree.name).take(NAMES_MAX).collect()
}
