//! Trees, a level at a time.

use super::{Unanswered, View};
use crate::inventory::{Node, NodeKind, Tree};
use trunkline_contract::graph::{GraphNode, GraphNodes, GraphTree, GraphTrees};

/// All trees, each with what is in it at its first level.
pub(super) fn list(view: &View<'_>) -> GraphTrees {
    let mut trees: Vec<_> = view.inventory.trees().iter().filter(|tree| view.sees_tree(tree.0)).collect();
    trees.sort_by_key(|(id, tree)| (tree.order, *id));
    let tree =
        |(id, tree): (u32, &Tree)| GraphTree { id, name: tree.name.to_string(), nodes: children(view, id, None) };
    GraphTrees { trees: trees.into_iter().map(tree).collect() }
}

/// What is in a tree or in a folder of it.
pub(super) fn nodes(view: &View<'_>, tree: u32, parent: Option<u32>) -> Result<GraphNodes, Unanswered> {
    let is_there = match parent {
        Some(parent) => {
            let node = view.inventory.nodes().get(parent);
            node.is_some_and(|node| node.tree == tree) && view.sees_node(parent)
        }
        None => view.inventory.trees().has(tree) && view.sees_tree(tree),
    };
    match is_there {
        true => Ok(GraphNodes { nodes: children(view, tree, parent) }),
        false => Err(Unanswered::Unknown("there is no such place in a tree".to_owned())),
    }
}

fn children(view: &View<'_>, tree: u32, parent: Option<u32>) -> Vec<GraphNode> {
    let ids = seen_children(view, tree, parent);
    ids.filter_map(|id| Some(node(view, id, view.inventory.nodes().get(id)?))).collect()
}

fn seen_children(view: &View<'_>, tree: u32, parent: Option<u32>) -> impl Iterator<Item = u32> {
    view.inventory.children(tree, parent).into_iter().filter(move |id| view.sees_node(*id))
}

fn node(view: &View<'_>, id: u32, node: &Node) -> GraphNode {
    let (kind, target) = match &node.kind {
        NodeKind::Folder { .. } => ("folder", None),
        NodeKind::Device { device, .. } => ("device", Some(*device)),
        NodeKind::Site { site } => ("site", Some(*site)),
        NodeKind::Graph { graph } => ("graph", Some(*graph)),
        NodeKind::Rule { .. } => ("rule", None),
    };
    let name = match &node.kind {
        NodeKind::Graph { graph } => view.inventory.title(view.library, *graph),
        _ => view.inventory.node_name(node).unwrap_or_default().to_owned(),
    };
    let opens = kind == "folder" && seen_children(view, node.tree, Some(id)).next().is_some();
    GraphNode { id, tree: node.tree, kind: kind.to_owned(), target, name, opens }
}
