//! The map: devices, those whom they see beside them, and the links between.

use super::shows::{self, Shows};
use super::{Unanswered, View, devices, part_of};
use crate::network::{End, Link, Network, Node, Visible, interface};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use trunkline_contract::graph::{GraphLink, GraphLinkEnd, GraphMap, GraphMapNode};

/// Nodes of one map; further ones are counted.
// Limit: nodes of one map
// Beyond: further nodes are counted
// Seen in: the number beside the map
pub const MAP_NODES_MAX: usize = 1000;
/// Links of one map; further ones are counted.
// Limit: links of one map
// Beyond: further links are counted
// Seen in: the number beside the map
pub const MAP_LINKS_MAX: usize = 4000;
/// Steps around a device.
const HOPS_MAX: u32 = 64;

/// What a node is called in an answer.
fn key(node: Node) -> String {
    match node {
        Node::Device(id) => format!("d{id}"),
        Node::Stranger(number) => format!("s{number}"),
    }
}

/// What is told of a node wherever it is told.
pub(super) fn node(view: &View<'_>, network: &Network, node: Node) -> GraphMapNode {
    let told = GraphMapNode { key: key(node), ..GraphMapNode::default() };
    match node {
        Node::Device(id) => {
            let device = view.inventory.devices().get(id);
            GraphMapNode {
                kind: "device".to_owned(),
                device: Some(id),
                name: device.map(|device| device.name.to_string()).unwrap_or_default(),
                address: device.map(|device| device.address.to_string()),
                state: device.map_or("unknown", |device| devices::state(view, id, device)).to_owned(),
                ..told
            }
        }
        Node::Stranger(number) => {
            let stranger = network.stranger(number).cloned().unwrap_or_default();
            let address = stranger.addresses.first().map(|address| address.0.to_string());
            let name = [&*stranger.name, &*stranger.chassis].into_iter().find(|name| !name.is_empty());
            let name = name.map(str::to_owned).or_else(|| address.clone());
            GraphMapNode {
                kind: "stranger".to_owned(),
                name: name.unwrap_or_else(|| "somebody".to_owned()),
                address,
                state: "not polled".to_owned(),
                ..told
            }
        }
    }
}

/// The map of all that somebody may see, or of what is so many steps around a device: from the middle of each part
/// outwards, as many nodes as are wanted.
pub(super) fn show(
    view: &View<'_>,
    (device, hops): (Option<u32>, Option<u32>),
    limit: Option<u32>,
    visible: Visible<'_>,
) -> Result<GraphMap, Unanswered> {
    let network = view.inventory.network();
    let (_, limit) = part_of((None, limit), MAP_NODES_MAX, MAP_NODES_MAX)?;
    let hops = hops.unwrap_or(HOPS_MAX);
    let from = match device {
        Some(id) if view.inventory.devices().has(id) && visible(id) => Some(Node::Device(id)),
        Some(id) => return Err(Unanswered::Unknown(format!("there is no device {id}"))),
        None => None,
    };
    let graph = Seen::of(view, &network, visible);
    let roots = match from {
        Some(node) => vec![node],
        None => graph.middles(),
    };
    let all = graph.outwards(&roots, hops);
    let (total, alone) = (all.len(), graph.alone());
    let placed: BTreeMap<Node, Placed> = all.iter().take(limit).copied().collect();
    let links: Vec<&Link> =
        graph.links.iter().copied().filter(|link| link.ends.iter().all(|e| placed.contains_key(&e.node))).collect();
    let mut graphs = Graphs { view, of: HashMap::new() };
    let told = |(id, placed): &(Node, Placed)| GraphMapNode {
        depth: placed.depth,
        parent: placed.parent.map(key),
        links: graph.beside.get(id).map_or(0, Vec::len) as u32,
        ..node(view, &network, *id)
    };
    let strangers = all.iter().filter(|(node, _)| matches!(node, Node::Stranger(_))).count();
    Ok(GraphMap {
        nodes: all.iter().take(limit).map(told).collect(),
        nodes_total: total as u64,
        strangers_total: strangers as u64,
        links: links.iter().take(MAP_LINKS_MAX).map(|link| link_told(view, link, &mut graphs)).collect(),
        links_total: links.len() as u64,
        alone: if from.is_none() { alone as u64 } else { 0 },
    })
}

fn link_told(view: &View<'_>, link: &Link, graphs: &mut Graphs<'_, '_>) -> GraphLink {
    let [a, b] = &link.ends;
    GraphLink { ends: vec![graphs.end(view, a), graphs.end(view, b)], one_sided: !(a.tells && b.tells) }
}

/// The graphs of devices' interfaces: of traffic and of losses, the first of each.
struct Graphs<'g, 'v> {
    view: &'g View<'v>,
    of: HashMap<u32, HashMap<u32, [Option<u32>; 2]>>,
}

impl Graphs<'_, '_> {
    fn end(&mut self, view: &View<'_>, end: &End) -> GraphLinkEnd {
        let [traffic, losses] = self.graphs(end);
        let shown = end.row.filter(|row| view.sees_row(*row));
        let row = shown.and_then(|row| view.inventory.rows().get(row));
        // What a port is called tells of a row, too.
        let port = if shown == end.row { &*end.port } else { "" };
        let name = interface(view.inventory, shown).unwrap_or(port);
        let label = row.map(|row| row.label.to_string());
        GraphLinkEnd {
            node: key(end.node),
            row: shown,
            interface: Some(name.to_owned()).filter(|name| !name.is_empty()),
            label: label.filter(|label| !label.is_empty()),
            speed: row.map(|row| row.speed).filter(|speed| *speed > 0),
            tells: end.tells,
            traffic,
            losses,
        }
    }

    fn graphs(&mut self, end: &End) -> [Option<u32>; 2] {
        let (Node::Device(device), Some(row)) = (end.node, end.row) else { return [None; 2] };
        let view = self.view;
        let of_device = self.of.entry(device).or_insert_with(|| {
            let mut rows: HashMap<u32, [Option<u32>; 2]> = HashMap::new();
            for (id, shows, row) in shows::of_device(view.inventory, view.library, device) {
                let Some(row) = row.filter(|_| view.sees_graph(id)) else { continue };
                let place = match shows {
                    Shows::Traffic => 0,
                    Shows::Losses => 1,
                    _ => continue,
                };
                rows.entry(row).or_default()[place].get_or_insert(id);
            }
            rows
        });
        of_device.get(&row).copied().unwrap_or_default()
    }
}

/// Where a node stands: steps from the middle, and the node that it was come to from.
#[derive(Clone, Copy, Debug)]
struct Placed {
    depth: u32,
    parent: Option<Node>,
}

/// What somebody may see of a network.
struct Seen<'n> {
    links: Vec<&'n Link>,
    beside: BTreeMap<Node, Vec<Node>>,
}

impl<'n> Seen<'n> {
    fn of(view: &View<'_>, network: &'n Network, visible: Visible<'_>) -> Seen<'n> {
        let may = |end: &End| !matches!(end.node, Node::Device(device) if !visible(device));
        let links: Vec<&Link> = network.links().iter().filter(|link| link.ends.iter().all(may)).collect();
        let devices = view.inventory.devices().iter().map(|(id, _)| id).filter(|id| visible(*id));
        let mut beside: BTreeMap<Node, Vec<Node>> = devices.map(|id| (Node::Device(id), Vec::new())).collect();
        for link in &links {
            let [a, b] = [link.ends[0].node, link.ends[1].node];
            beside.entry(a).or_default().push(b);
            beside.entry(b).or_default().push(a);
        }
        for list in beside.values_mut() {
            list.sort_unstable();
            list.dedup();
        }
        Seen { links, beside }
    }

    /// Devices of which no link is known.
    fn alone(&self) -> usize {
        self.beside.values().filter(|beside| beside.is_empty()).count()
    }

    /// The middles of all parts: the parts with the most nodes first, lone devices last.
    fn middles(&self) -> Vec<Node> {
        let (mut met, mut parts) = (BTreeSet::new(), Vec::new());
        for node in self.beside.keys() {
            if met.contains(node) {
                continue;
            }
            let part = self.outwards(&[*node], u32::MAX);
            met.extend(part.iter().map(|(node, _)| *node));
            parts.push((part.len(), self.middle(&part)));
        }
        parts.sort_by_key(|(nodes, node)| (core::cmp::Reverse(*nodes), *node));
        parts.into_iter().map(|(_, node)| node).collect()
    }

    /// The middle of a part: half of the way between two nodes that are as far from each other as any, the one with
    /// more links where there are two.
    fn middle(&self, part: &[(Node, Placed)]) -> Node {
        let last = |part: &[(Node, Placed)]| part.last().map_or(Node::Device(0), |(node, _)| *node);
        let across = self.outwards(&[last(part)], u32::MAX);
        let by_node: BTreeMap<Node, Placed> = across.iter().copied().collect();
        let mut way = vec![last(&across)];
        while let Some(parent) = way.last().and_then(|node| by_node.get(node)).and_then(|placed| placed.parent) {
            way.push(parent);
        }
        let links = |node: &Node| self.beside.get(node).map_or(0, Vec::len);
        let (low, high) = (way[(way.len() - 1) / 2], way[way.len() / 2]);
        if links(&high) > links(&low) { high } else { low }
    }

    /// All nodes around some, the nearest first. What is around the first of them comes before the others.
    fn outwards(&self, roots: &[Node], hops: u32) -> Vec<(Node, Placed)> {
        let (mut met, mut all) = (BTreeSet::new(), Vec::new());
        for root in roots {
            let mut waiting = VecDeque::from([(*root, Placed { depth: 0, parent: None })]);
            met.insert(*root);
            while let Some((node, placed)) = waiting.pop_front() {
                all.push((node, placed));
                if placed.depth == hops {
                    continue;
                }
                for next in self.beside.get(&node).into_iter().flatten().filter(|next| met.insert(**next)) {
                    waiting.push_back((*next, Placed { depth: placed.depth + 1, parent: Some(node) }));
                }
            }
        }
        all
    }
}
