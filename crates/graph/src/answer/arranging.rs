//! Orders that arrange what there is: trees with their places, graphs of many data sources, titles.

use super::Unanswered;
use super::asked::Asked;
use crate::inventory::order::Order;
use crate::inventory::{Filter, Graph, GroupBy, Inventory, Kind, Node, NodeKind, Tree};
use crate::template::{ARGUMENT_PREFIX, DEVICE_FIELDS, Library, ROW_FIELDS, Text, is_field_of_all};
use std::collections::HashSet;

/// Graphs or data sources that one graph is made of.
const PARTS_MAX: usize = 2000;

/// A tree is made, or has another name.
pub(super) fn tree(inventory: &Inventory, asked: Asked<'_>) -> Result<Order, Unanswered> {
    let id = asked.maybe_id("id")?;
    let order = match id {
        None => inventory.trees().iter().map(|(_, tree)| tree.order + 1).max().unwrap_or_default(),
        Some(id) => inventory.trees().get(id).map(|tree| tree.order).ok_or_else(|| no("tree", id))?,
    };
    Ok(Order::Tree(id, Tree { name: asked.text("name")?.into(), order }))
}

/// A place is made in a tree, behind those that are there.
pub(super) fn place(inventory: &Inventory, asked: Asked<'_>) -> Result<Order, Unanswered> {
    let (tree, parent) = (asked.id("tree")?, asked.maybe_id("parent")?);
    let kind = match asked.text("kind")? {
        "folder" => NodeKind::Folder { name: asked.text("name")?.into() },
        "device" => NodeKind::Device { device: target(inventory, asked, Kind::Device)?, group: group(asked)? },
        "site" => NodeKind::Site { site: target(inventory, asked, Kind::Site)? },
        "graph" => NodeKind::Graph { graph: asked.id("target")? },
        "rule" => {
            let (name, filter) = (asked.text("name")?.into(), filter(inventory, asked)?);
            NodeKind::Rule { name, filter, group: group(asked)? }
        }
        _ => return Err(Unanswered::Asked("\"kind\" is folder, device, site, graph or rule".to_owned())),
    };
    let there = inventory.children(tree, parent);
    let last = there.into_iter().filter_map(|id| inventory.nodes().get(id)).map(|node| node.order).max();
    let order = last.map_or(0, |last| last.saturating_add(1));
    Ok(Order::Node(None, Node { tree, parent, order, kind }))
}

/// A folder or a rule has another name.
pub(super) fn rename_place(inventory: &Inventory, asked: Asked<'_>) -> Result<Order, Unanswered> {
    let (id, name) = (asked.id("id")?, asked.text("name")?.into());
    let node = inventory.nodes().get(id).ok_or_else(|| no("place", id))?;
    let kind = match node.kind.clone() {
        NodeKind::Folder { .. } => NodeKind::Folder { name },
        NodeKind::Rule { filter, group, .. } => NodeKind::Rule { name, filter, group },
        _ => {
            return Err(Unanswered::Asked(
                "it is called as what stands there: folders and rules have names".to_owned(),
            ));
        }
    };
    Ok(Order::Node(Some(id), Node { kind, ..node.clone() }))
}

/// A place stands elsewhere in its tree.
pub(super) fn move_place(asked: Asked<'_>) -> Result<Order, Unanswered> {
    Ok(Order::MoveNode { id: asked.id("id")?, parent: asked.maybe_id("parent")?, before: asked.maybe_id("before")? })
}

/// By its number, or by its name.
fn target(inventory: &Inventory, asked: Asked<'_>, kind: Kind) -> Result<u32, Unanswered> {
    if let Some(id) = asked.maybe_id("target")? {
        return Ok(id);
    }
    let name = asked.text("of")?;
    let found = match kind {
        Kind::Device => inventory.device_named(name),
        kind => inventory.named(kind, name),
    };
    found.ok_or_else(|| Unanswered::Unknown(format!("there is no {} '{name}'", kind.name())))
}

fn group(asked: Asked<'_>) -> Result<GroupBy, Unanswered> {
    match asked.maybe_text("group")?.unwrap_or("none") {
        "none" => Ok(GroupBy::None),
        "template" => Ok(GroupBy::Template),
        "row" => Ok(GroupBy::Row),
        "device" => Ok(GroupBy::Device),
        "site" => Ok(GroupBy::Site),
        _ => Err(Unanswered::Asked("\"group\" is none, template, row, device or site".to_owned())),
    }
}

fn filter(inventory: &Inventory, asked: Asked<'_>) -> Result<Filter, Unanswered> {
    let named = |key: &str, kind: Kind| match asked.maybe_text(key)? {
        None => Ok(None),
        Some(name) => {
            let unknown = || Unanswered::Unknown(format!("there is no {} '{name}' here", kind.name()));
            inventory.named(kind, name).map(Some).ok_or_else(unknown)
        }
    };
    Ok(Filter {
        device: asked.maybe_text("device")?.unwrap_or_default().into(),
        row: asked.maybe_text("row")?.unwrap_or_default().into(),
        site: named("site", Kind::Site)?,
        device_template: named("device_template", Kind::DeviceTemplate)?,
        template: named("template", Kind::GraphTemplate)?,
    })
}

/// A graph of the data sources of others is made, or one that is there has another title or template.
pub(super) fn graph(inventory: &Inventory, library: &Library, asked: Asked<'_>) -> Result<Order, Unanswered> {
    let id = asked.maybe_id("id")?;
    let known = id.map(|id| inventory.graphs().get(id).ok_or_else(|| no("graph", id))).transpose()?;
    let named = known.and_then(|graph| inventory.template_name(graph.template));
    let template = match (asked.maybe_text("template")?, named) {
        (Some(name), _) | (None, Some(name)) => name.to_owned(),
        (None, None) => return Err(Unanswered::Asked("\"template\" is needed".to_owned())),
    };
    let shown = library.graphs.get(&template).map(|graph| graph.data());
    let shown = shown.ok_or_else(|| Unanswered::Unknown(format!("there is no graph template '{template}'")))?;
    let sources = match (maybe_ids(asked, "sources")?, maybe_ids(asked, "graphs")?, known) {
        (Some(sources), ..) => sources,
        (None, Some(graphs), _) => of_graphs(inventory, &graphs, &shown)?,
        (None, None, Some(graph)) => graph.sources.clone(),
        (None, None, None) => return Err(Unanswered::Asked("\"graphs\" or \"sources\" is needed".to_owned())),
    };
    if sources.is_empty() {
        return Err(Unanswered::Asked(format!("graph template '{template}' shows nothing of these graphs")));
    }
    // One that is cleared is the template's again.
    let title = match asked.maybe_text("title")?.map(str::trim) {
        None => known.and_then(|graph| graph.title.as_deref().map(str::to_owned)),
        Some("") => None,
        Some(title) => {
            check_fields(inventory, title)?;
            Some(title.to_owned())
        }
    };
    Ok(Order::Graph { id, template, title, sources })
}

/// What stands between bars in a title is something that devices or rows have.
fn check_fields(inventory: &Inventory, title: &str) -> Result<(), Unanswered> {
    let is_known = |name: &str| {
        is_field_of_all(name) || name.starts_with(ARGUMENT_PREFIX) || inventory.named(Kind::Field, name).is_some()
    };
    let title = Text::parse(title);
    let Some(unknown) = title.fields().find(|name| !is_known(name)) else { return Ok(()) };
    let all = [&DEVICE_FIELDS[..], &ROW_FIELDS].concat().join(", ");
    Err(Unanswered::Asked(format!("\"title\": there is no field |{unknown}|: {all}, or one of a table")))
}

fn maybe_ids(asked: Asked<'_>, key: &str) -> Result<Option<Vec<u32>>, Unanswered> {
    match asked.0.get(key).is_some_and(|value| !value.is_null()) {
        true => asked.ids(key, PARTS_MAX).map(Some),
        false => Ok(None),
    }
}

/// What of the data sources of graphs a template shows, each once, in their order.
fn of_graphs(inventory: &Inventory, graphs: &[u32], shown: &[&str]) -> Result<Vec<u32>, Unanswered> {
    let mut seen = HashSet::new();
    let mut sources = Vec::new();
    for id in graphs {
        let Graph { sources: of, .. } = inventory.graphs().get(*id).ok_or_else(|| no("graph", *id))?;
        let is_shown = |source: &&u32| {
            let template = inventory.sources().get(**source).and_then(|s| inventory.template_name(s.template));
            template.is_some_and(|name| shown.contains(&name))
        };
        sources.extend(of.iter().filter(is_shown).filter(|source| seen.insert(**source)));
    }
    Ok(sources)
}

fn no(what: &str, id: u32) -> Unanswered {
    Unanswered::Unknown(format!("there is no {what} {id}"))
}
