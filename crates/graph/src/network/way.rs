//! The shortest ways between two places.

use super::{How, Network, Node, Place, Visible};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::net::IpAddr;

/// Ways that are told; further ones of the same length are counted.
pub const WAYS_MAX: usize = 4;

/// The shortest ways between two addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    /// The first of them: nodes from the one near the first address to the one near the other.
    pub ways: Vec<Vec<Node>>,
    /// How many there are.
    pub total: u64,
}

impl Network {
    /// The devices that an address is nearest to.
    pub fn nearest(&self, address: IpAddr, visible: Visible<'_>) -> Vec<Place> {
        nearest_of(self.near(address, visible).0)
    }

    /// The devices that an address is nearest to, beside the ports behind which it is: from a switch that tells nobody
    /// who is next to it no way leads on.
    pub fn nearest_beside_ports(&self, address: IpAddr, visible: Visible<'_>) -> Vec<Place> {
        let (mut places, _) = self.near(address, visible);
        places.retain(|place| !matches!(place.how, How::Next | How::Port(_)));
        nearest_of(places)
    }

    /// The shortest ways from one of these devices to one of those.
    pub fn ways(&self, from: &[u32], to: &[u32], visible: Visible<'_>) -> Ways {
        let (from, to) = (nodes(from), nodes(to));
        let steps = from.iter().map(|node| (*node, 0)).collect();
        let mut seen = Seen { steps, before: HashMap::new() };
        let mut waiting: VecDeque<Node> = from.iter().copied().collect();
        let mut nearest = from.iter().any(|node| to.contains(node)).then_some(0);
        while let Some(node) = waiting.pop_front() {
            let steps = seen.steps.get(&node).copied().unwrap_or_default();
            if nearest.is_some_and(|nearest| steps >= nearest) {
                break;
            }
            for next in self.beside(node, visible) {
                let known = *seen.steps.entry(next).or_insert_with(|| {
                    waiting.push_back(next);
                    steps + 1
                });
                if known == steps + 1 {
                    seen.before.entry(next).or_default().push(node);
                    nearest = nearest.or(to.contains(&next).then_some(known));
                }
            }
        }
        let Some(nearest) = nearest else { return Ways::default() };
        let ends: Vec<Node> = to.into_iter().filter(|node| seen.steps.get(node) == Some(&nearest)).collect();
        let mut counts = HashMap::new();
        let total = ends.iter().fold(0u64, |sum, end| sum.saturating_add(seen.count(*end, &mut counts)));
        let mut ways = Vec::new();
        ends.iter().for_each(|end| seen.tell(*end, &mut ways));
        Ways { ways, total }
    }

    /// The nodes beside one, each once, in their order.
    pub(super) fn beside(&self, node: Node, visible: Visible<'_>) -> Vec<Node> {
        let far = self.links_of(node).filter_map(|link| link.from(node)).map(|(_, far)| far.node);
        let may = |node: &Node| !matches!(node, Node::Device(device) if !visible(*device));
        let mut beside: Vec<Node> = far.filter(may).collect();
        beside.sort_unstable();
        beside.dedup();
        beside
    }
}

/// Those of places in their order that are as near as the first; networks are alike.
fn nearest_of(mut places: Vec<Place>) -> Vec<Place> {
    let class = |place: &Place| match place.how {
        How::Network(_) => How::Network(0),
        how => how,
    };
    if let Some(first) = places.first().map(class) {
        places.retain(|place| class(place) == first);
    }
    places
}

fn nodes(devices: &[u32]) -> BTreeSet<Node> {
    devices.iter().map(|device| Node::Device(*device)).collect()
}

/// How far nodes are, and from where they were come to in as few steps.
struct Seen {
    steps: HashMap<Node, u32>,
    before: HashMap<Node, Vec<Node>>,
}

impl Seen {
    /// How many shortest ways lead to a node. Ways are as long as a network is wide, so that this goes no deeper.
    fn count(&self, node: Node, known: &mut HashMap<Node, u64>) -> u64 {
        let mut order: Vec<Node> = Vec::new();
        let (mut waiting, mut met) = (vec![node], HashSet::from([node]));
        while let Some(node) = waiting.pop() {
            order.push(node);
            waiting.extend(self.before.get(&node).into_iter().flatten().filter(|before| met.insert(**before)));
        }
        // Those nearer to the beginning first.
        order.sort_by_key(|node| self.steps.get(node));
        for node in order {
            let before = self.before.get(&node);
            let sum = before.map_or(1, |before| {
                before.iter().fold(0u64, |sum, node| sum.saturating_add(known.get(node).copied().unwrap_or(1)))
            });
            known.insert(node, sum);
        }
        known.get(&node).copied().unwrap_or_default()
    }

    /// Tells the first ways to a node.
    fn tell(&self, end: Node, ways: &mut Vec<Vec<Node>>) {
        let mut waiting = vec![(end, Vec::new())];
        while let Some((node, mut way)) = waiting.pop() {
            if ways.len() >= WAYS_MAX {
                return;
            }
            way.push(node);
            match self.before.get(&node) {
                None => ways.push(way.into_iter().rev().collect()),
                // The last one that waits is looked at first: the lowest shall be.
                Some(before) => waiting.extend(before.iter().rev().map(|node| (*node, way.clone()))),
            }
        }
    }
}
