//! Graphs: all of them, those of a device, of a place in a tree, or those whose title has words.

use super::{GRAPHS_LISTED_MAX, LIMIT, PART_MAX, Unanswered, View, part_of};
use crate::inventory::{GroupBy, Kind, Node, NodeKind};
use std::collections::HashSet;
use trunkline_contract::graph::{GraphBrief, GraphList, GraphShown, GraphSource, GraphsWanted};

/// Folders below a folder whose graphs are shown with it.
const DEPTH_MAX: usize = 64;

/// A part of the graphs that were asked for.
pub(super) fn list(view: &View<'_>, wanted: &GraphsWanted) -> Result<GraphList, Unanswered> {
    let (offset, limit) = part_of((wanted.offset, wanted.limit), PART_MAX, LIMIT)?;
    let text = wanted.text.as_deref().unwrap_or_default().trim();
    let place = wanted.node;
    let node = place.map(|id| node(view, id)).transpose()?;
    let base = match (node, wanted.device) {
        (Some(node), _) => Some(of_node(view, place.unwrap_or_default(), node)),
        (None, Some(device)) if view.inventory.devices().has(device) && view.sees_device(device) => {
            Some(view.inventory.graphs_of(device).to_vec())
        }
        (None, Some(device)) => return Err(Unanswered::Unknown(format!("there is no device {device}"))),
        (None, None) => None,
    };
    let group = node.map_or(GroupBy::None, |node| match node.kind {
        NodeKind::Device { group, .. } | NodeKind::Rule { group, .. } => group,
        _ => GroupBy::None,
    });
    let template = wanted.template.as_deref();
    let number = template.map(|name| view.inventory.named(Kind::GraphTemplate, name).unwrap_or_default());
    let is_wanted = |id: &u32| {
        view.sees_graph(*id) && number.is_none_or(|n| view.inventory.graphs().get(*id).is_some_and(|g| g.template == n))
    };
    let (total, part) = match (base, text.is_empty(), number) {
        // The whole of a large inventory is not put in order for each letter that is typed.
        (None, false, None) => {
            let found = view.search.find_among(text, offset.saturating_add(limit), |id| view.sees_graph(id));
            (found.total, found.graphs.into_iter().skip(offset).take(limit).collect())
        }
        (None, true, None) => match view.seen {
            Some(seen) => (seen.graphs_len(), seen.graphs().skip(offset).take(limit).collect::<Vec<u32>>()),
            None => {
                let all = view.inventory.graphs();
                (all.len(), all.iter().map(|(id, _)| id).skip(offset).take(limit).collect())
            }
        },
        (base, is_all, _) => {
            let mut ids = base.unwrap_or_else(|| view.inventory.graphs().iter().map(|(id, _)| id).collect());
            if !is_all {
                let found = view.search.find_among(text, GRAPHS_LISTED_MAX, |id| view.sees_graph(id));
                let found: HashSet<u32> = found.graphs.into_iter().collect();
                ids.retain(|id| found.contains(id));
            }
            ids.retain(is_wanted);
            sort(view, &mut ids, group);
            (ids.len(), ids.into_iter().skip(offset).take(limit).collect())
        }
    };
    let graphs = part.into_iter().filter_map(|id| brief(view, id, group)).collect();
    Ok(GraphList { total: total as u64, graphs })
}

fn node<'v>(view: &View<'v>, id: u32) -> Result<&'v Node, Unanswered> {
    let found = view.inventory.nodes().get(id).filter(|_| view.sees_node(id));
    found.ok_or_else(|| Unanswered::Unknown(format!("there is no place {id} in a tree")))
}

/// The graphs of a place in a tree, of a folder those of all that is in it.
fn of_node(view: &View<'_>, id: u32, node: &Node) -> Vec<u32> {
    let of = |kind: &NodeKind, most: usize| view.inventory.graphs_of_node(kind, most, |graph| view.sees_graph(graph));
    let mut graphs = of(&node.kind, GRAPHS_LISTED_MAX);
    let mut waiting: Vec<(u32, usize)> = vec![(id, 0)];
    while let Some((id, depth)) = waiting.pop() {
        for child in view.inventory.children(node.tree, Some(id)) {
            let Some(found) = view.inventory.nodes().get(child).filter(|_| view.sees_node(child)) else { continue };
            if graphs.len() < GRAPHS_LISTED_MAX {
                graphs.extend(of(&found.kind, GRAPHS_LISTED_MAX - graphs.len()));
            }
            if matches!(found.kind, NodeKind::Folder { .. }) && depth < DEPTH_MAX {
                waiting.push((child, depth + 1));
            }
        }
    }
    let mut seen = HashSet::new();
    graphs.retain(|graph| seen.insert(*graph));
    graphs
}

/// By group, then by title; what cannot be told apart so by number.
fn sort(view: &View<'_>, ids: &mut Vec<u32>, group: GroupBy) {
    ids.truncate(GRAPHS_LISTED_MAX);
    let key = |id: &u32| {
        (group_of(view, *id, group).unwrap_or_default(), natural(&view.inventory.title(view.library, *id)), *id)
    };
    ids.sort_by_cached_key(key);
}

/// A text that sorts as people expect: `Gi0/2` before `Gi0/10`.
pub fn natural(text: &str) -> String {
    let (mut out, mut digits) = (String::with_capacity(text.len() + 16), String::new());
    for letter in text.chars().chain(['\0']) {
        if letter.is_ascii_digit() {
            digits.push(letter);
            continue;
        }
        if !digits.is_empty() {
            out.push_str(&format!("{digits:0>12}"));
            digits.clear();
        }
        out.extend(letter.to_lowercase());
    }
    out
}

fn group_of(view: &View<'_>, id: u32, group: GroupBy) -> Option<String> {
    let inventory = view.inventory;
    let graph = inventory.graphs().get(id)?;
    let source = inventory.sources().get(*graph.sources.first()?)?;
    let device = inventory.devices().get(source.device)?;
    Some(match group {
        GroupBy::None => return None,
        GroupBy::Template => template_title(view, graph.template),
        GroupBy::Row => inventory.rows().get(source.row?).map(|row| row.name.to_string())?,
        GroupBy::Device | GroupBy::Site if !view.sees_device(source.device) => return None,
        GroupBy::Device => device.name.to_string(),
        GroupBy::Site => inventory.sites().get(device.site?).map(|site| site.name.to_string())?,
    })
}

/// A template's title without its fields, which are of one graph; else its name.
fn template_title(view: &View<'_>, template: u32) -> String {
    let name = view.inventory.template_name(template).unwrap_or_default();
    let title = view.library.graphs.get(name).map(|template| template.title.with(|_| None));
    let title = title.unwrap_or_default();
    let title = title.trim_matches(|c: char| c.is_whitespace() || c == '-');
    if title.is_empty() { name.to_owned() } else { title.to_owned() }
}

fn brief(view: &View<'_>, id: u32, group: GroupBy) -> Option<GraphBrief> {
    let graph = view.inventory.graphs().get(id)?;
    let device = view.inventory.device_of_graph(id).filter(|device| view.sees_device(*device));
    Some(GraphBrief {
        id,
        title: view.inventory.title(view.library, id),
        template: view.inventory.template_name(graph.template).map(str::to_owned),
        device,
        device_name: device_name(view, device),
        group: group_of(view, id, group),
    })
}

fn device_name(view: &View<'_>, device: Option<u32>) -> Option<String> {
    Some(view.inventory.devices().get(device?)?.name.to_string())
}

/// A graph with the data sources that it is of.
pub(super) fn show(view: &View<'_>, id: u32) -> Result<GraphShown, Unanswered> {
    let unknown = || Unanswered::Unknown(format!("there is no graph {id}"));
    let graph = view.inventory.graphs().get(id).filter(|_| view.sees_graph(id)).ok_or_else(unknown)?;
    let brief = brief(view, id, GroupBy::None).ok_or_else(unknown)?;
    let sources = graph.sources.iter().take(PART_MAX).filter_map(|source| {
        let found = view.inventory.sources().get(*source)?;
        let device = Some(found.device).filter(|device| view.sees_device(*device));
        let row = found.row.and_then(|row| view.inventory.rows().get(row));
        Some(GraphSource {
            id: *source,
            device,
            device_name: device_name(view, device),
            row: row.map(|row| row.name.to_string()),
            template: view.inventory.template_name(found.template).map(str::to_owned),
            last: view.files.last_s(*source),
        })
    });
    Ok(GraphShown { brief, sources_total: graph.sources.len() as u64, sources: sources.collect() })
}
