//! Which graphs a section is of.

use std::collections::HashSet;
use trunkline_alert::rule::{Choice, Pattern};
use trunkline_graph::answer::natural;
use trunkline_graph::inventory::{Inventory, NodeKind};
use trunkline_graph::template::Library;

/// Graphs that a section chooses of; those beyond are not looked at.
const CHOSEN_MAX: usize = 100_000;
/// Folders below a folder.
const DEPTH_MAX: usize = 64;

/// The graphs of a choice: as they are named, or by title.
///
/// # Errors
/// There is no such place, in a sentence.
pub fn chosen(inventory: &Inventory, library: &Library, choice: &Choice) -> Result<Vec<u32>, String> {
    let base: Vec<u32> = match (choice.ids.is_empty(), choice.place.is_empty()) {
        (false, _) => choice.ids.iter().copied().filter(|id| inventory.graphs().has(*id)).collect(),
        (true, false) => of_place(inventory, &choice.place)?,
        (true, true) => inventory.graphs().iter().map(|(id, _)| id).take(CHOSEN_MAX).collect(),
    };
    let mut graphs: Vec<u32> = base.into_iter().filter(|id| takes(inventory, choice, *id)).collect();
    if choice.ids.is_empty() {
        graphs.sort_by_cached_key(|id| (natural(&inventory.title(library, *id)), *id));
    }
    Ok(graphs)
}

fn takes(inventory: &Inventory, choice: &Choice, id: u32) -> bool {
    let any = |patterns: &[Pattern], text: &str| patterns.is_empty() || patterns.iter().any(|p| p.takes(text));
    let Some(graph) = inventory.graphs().get(id) else { return false };
    let device = inventory.device_of_graph(id).and_then(|device| inventory.devices().get(device));
    let row = |source: &u32| {
        let row = inventory.sources().get(*source).and_then(|source| inventory.rows().get(source.row?));
        row.is_some_and(|row| any(&choice.indexes, &row.name) || any(&choice.indexes, &row.label))
    };
    any(&choice.devices, device.map_or("", |device| &device.name))
        && any(&choice.templates, inventory.template_name(graph.template).unwrap_or_default())
        && (choice.indexes.is_empty() || graph.sources.iter().any(row))
}

/// The graphs of a place in a tree, with all that is below it.
fn of_place(inventory: &Inventory, names: &[String]) -> Result<Vec<u32>, String> {
    let absent = || format!("There is no place '{}' in the trees of graphs.", names.join("/"));
    let (first, folders) = names.split_first().ok_or_else(absent)?;
    let tree = inventory.trees().iter().find(|(_, tree)| &*tree.name == first.as_str());
    let tree = tree.map(|(id, _)| id).ok_or_else(absent)?;
    let mut parent = None;
    for name in folders {
        let is_it = |id: &u32| inventory.nodes().get(*id).and_then(|node| inventory.node_name(node)) == Some(name);
        parent = Some(inventory.children(tree, parent).into_iter().find(is_it).ok_or_else(absent)?);
    }
    let mut waiting: Vec<(u32, usize)> = match parent {
        Some(node) => vec![(node, 0)],
        None => inventory.children(tree, None).into_iter().map(|node| (node, 0)).collect(),
    };
    let mut graphs = Vec::new();
    while let Some((id, depth)) = waiting.pop() {
        let Some(node) = inventory.nodes().get(id) else { continue };
        graphs.extend(inventory.graphs_of_node(&node.kind, CHOSEN_MAX.saturating_sub(graphs.len()), |_| true));
        if matches!(node.kind, NodeKind::Folder { .. }) && depth < DEPTH_MAX {
            waiting.extend(inventory.children(tree, Some(id)).into_iter().map(|child| (child, depth + 1)));
        }
    }
    let mut seen = HashSet::new();
    graphs.retain(|graph| seen.insert(*graph));
    Ok(graphs)
}
