//! Through which devices others are reached from where polling is done.

use super::{Network, Node, Visible};
use std::collections::{BTreeSet, HashMap, VecDeque};

impl Network {
    /// Through which devices each one is reached from some: the last ones on all shortest ways to it, in their order.
    /// The nearest come first; those where ways begin, and those to which none leads, are left out. Ways lead through
    /// what is not polled.
    pub fn reached_through(&self, from: &[u32], visible: Visible<'_>) -> Vec<(u32, Vec<u32>)> {
        let roots: BTreeSet<Node> = from.iter().map(|device| Node::Device(*device)).collect();
        let mut steps: HashMap<Node, u32> = roots.iter().map(|node| (*node, 0)).collect();
        let mut through: HashMap<Node, BTreeSet<u32>> = HashMap::new();
        let mut waiting: VecDeque<Node> = roots.iter().copied().collect();
        let mut all = Vec::new();
        while let Some(node) = waiting.pop_front() {
            let before = through.get(&node).cloned().unwrap_or_default();
            let of_next = match node {
                Node::Device(device) => BTreeSet::from([device]),
                Node::Stranger(_) => before.clone(),
            };
            if let (Node::Device(device), false) = (node, before.is_empty()) {
                all.push((device, before.into_iter().collect()));
            }
            let next_steps = steps.get(&node).map_or(0, |steps| steps + 1);
            for next in self.beside(node, visible) {
                let known = *steps.entry(next).or_insert_with(|| {
                    waiting.push_back(next);
                    next_steps
                });
                if known == next_steps {
                    through.entry(next).or_default().extend(&of_next);
                }
            }
        }
        all
    }
}
