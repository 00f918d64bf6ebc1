//! Who is behind whom, as the map says: what would be told of devices, and the order that tells it.

use super::asked::Asked;
use super::devices::neighbour;
use super::{Unanswered, View, few, part_of};
use crate::inventory::order::Order;
use crate::inventory::{Behind, Inventory};
use std::collections::HashSet;
use trunkline_contract::graph::{GraphBehind, GraphBehindDevice, GraphNeighbour};

/// Devices from which others are reached.
const FROM_MAX: usize = 64;
/// Devices of one answer; all are counted.
const LISTED_MAX: usize = 10_000;

/// What becomes of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// It is behind others from then on.
    Set,
    /// It is told so already.
    Same,
    /// Something else was told of it, which stays.
    Kept,
    /// It would be on the way to itself, as something else is told of those on the way.
    Round,
}

impl Does {
    fn word(self) -> &'static str {
        match self {
            Does::Set => "set",
            Does::Same => "same",
            Does::Kept => "kept",
            Does::Round => "round",
        }
    }
}

/// A device, through which ones it is reached by the map, and what becomes of it.
type One = (u32, Vec<u32>, Does);

/// Through which devices those of the map are reached from some of them, the nearest first.
fn plan(
    inventory: &Inventory,
    from: &[u32],
    replaces: bool,
    visible: &dyn Fn(u32) -> bool,
) -> Result<Vec<One>, Unanswered> {
    few("from", from.len(), FROM_MAX)?;
    if from.is_empty() {
        return Err(Unanswered::Asked("\"from\" needs at least one device: the one where polling starts".to_owned()));
    }
    let is_there = |id: &u32| inventory.devices().has(*id) && visible(*id);
    if let Some(id) = from.iter().find(|id| !is_there(id)) {
        return Err(Unanswered::Unknown(format!("there is no device {id}")));
    }
    let reached = inventory.network().reached_through(from, visible);
    let mut then = Behind::of(inventory);
    if replaces {
        // What is told of them now is in nobody's way; where polling begins is behind nobody.
        for id in reached.iter().map(|(id, _)| *id).chain(from.iter().copied()) {
            then.set(id, Vec::new());
        }
    }
    let begins = from.iter().filter(|id| replaces && !inventory.behind(**id).is_empty());
    let begins = begins.map(|id| (*id, Vec::new()));
    let one = |(id, behind): (u32, Vec<u32>)| {
        let mut before = inventory.behind(id).to_vec();
        before.sort_unstable();
        let does = match before == behind {
            true => Does::Same,
            false if !before.is_empty() && !replaces => Does::Kept,
            false if then.is_round(id, &behind) => Does::Round,
            false => Does::Set,
        };
        if matches!(does, Does::Set | Does::Same) {
            then.set(id, behind.clone());
        }
        (id, behind, does)
    };
    Ok(begins.chain(reached).map(one).collect())
}

/// What would be told of which devices.
pub(super) fn show(
    view: &View<'_>,
    from: &[u32],
    replaces: bool,
    limit: Option<u32>,
    visible: &dyn Fn(u32) -> bool,
) -> Result<GraphBehind, Unanswered> {
    let inventory = view.inventory;
    let plan = plan(inventory, from, replaces, visible)?;
    let (_, limit) = part_of((None, limit), LISTED_MAX, LISTED_MAX)?;
    let these = |ids: &[u32]| -> Vec<GraphNeighbour> {
        ids.iter().filter(|id| visible(**id)).map(|id| neighbour(view, *id)).collect()
    };
    let told = plan.iter().filter(|(.., does)| *does != Does::Same).take(limit).map(|(id, behind, does)| {
        let GraphNeighbour { id, name } = neighbour(view, *id);
        let before = these(inventory.behind(id));
        GraphBehindDevice { id, name, behind: these(behind), before, does: does.word().to_owned() }
    });
    let count = |does: Does| plan.iter().filter(|one| one.2 == does).count() as u64;
    let seen = inventory.devices().iter().filter(|(id, _)| visible(*id)).count();
    let met: HashSet<u32> = plan.iter().map(|one| one.0).chain(from.iter().copied()).collect();
    Ok(GraphBehind {
        from: these(from),
        devices: told.collect(),
        set: count(Does::Set),
        same: count(Does::Same),
        kept: count(Does::Kept),
        round: count(Does::Round),
        unreached: (seen - met.len()) as u64,
    })
}

/// The order that tells it.
pub(super) fn order(inventory: &Inventory, asked: Asked<'_>) -> Result<Order, Unanswered> {
    let plan = plan(inventory, &asked.ids("from", FROM_MAX)?, asked.flag("replace")?, &|_| true)?;
    let set = plan.into_iter().filter(|(.., does)| *does == Does::Set);
    Ok(Order::SetBehind(set.map(|(id, behind, _)| (id, behind)).collect()))
}
