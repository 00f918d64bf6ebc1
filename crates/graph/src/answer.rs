//! What is asked about graphs, and its answers, in JSON: the pages and other programs see the inventory through them.
//!
//! A question is an object whose `do` says what is asked: `counts`, `devices`, `device`, `graphs`, `graph`, `trees`,
//! `nodes`, `figures`, `graph-templates`, `credentials`, `templates`, `rights`, `seen`, `map`, `near`. Numbers of
//! graphs are asked for by the contract's types ([`pictures`], [`realtime`]). What is long comes in parts: `offset`
//! and `limit`, and the answer says `total`. Where a [`View`] has a scope, what it does not show is answered as if it
//! did not exist. [`order`] reads what somebody wants to be changed. Secrets go in by orders, and never come out.

mod arranging;
mod asked;
mod behind;
mod devices;
mod figures;
mod graphs;
mod map;
mod near;
mod orders;
mod pictures;
mod realtime;
mod rights;
mod shows;
mod trees;

pub use figures::REPORT_GRAPHS_MAX;
pub use graphs::natural;
pub use map::{MAP_LINKS_MAX, MAP_NODES_MAX};
pub use near::{ADDRESSES_MAX, PAIRS_MAX, STOPS_MAX, near_sources};
pub use orders::{Added, added, order};
pub use pictures::{PICTURES_MAX, ask_of, pictures};
pub use realtime::{RealtimeAsk, Watched, realtime};
pub use rights::SEEN_MAX;

use crate::inventory::{Inventory, Search};
use crate::picture::{Files, NoPicture};
use crate::scope::{Scope, Seen};
use crate::template::{Library, Source};
use asked::Asked;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Things of one part of a list.
pub const PART_MAX: usize = 500;
/// Graphs of which a node, a device or a search is put in order; further ones are counted, not listed.
pub const GRAPHS_LISTED_MAX: usize = 200_000;
/// Rows and data sources of one device that are told; all are counted.
pub const DEVICE_ROWS_MAX: usize = 2000;

/// What there is to see at a moment.
pub struct View<'v> {
    /// The inventory.
    pub inventory: &'v Inventory,
    /// The templates.
    pub library: &'v Library,
    /// The titles of its graphs.
    pub search: &'v Search,
    /// The round-robin files.
    pub files: &'v dyn Files,
    /// How a device is polled; none if it is not.
    pub polled: &'v dyn Fn(u32) -> Option<Polled>,
    /// What time it is, seconds of Unix.
    pub now_s: i64,
    /// What may be seen of it; none is everything.
    pub seen: Option<&'v Seen>,
    /// The rules that this comes of.
    pub scope: Option<&'v Scope>,
}

impl View<'_> {
    fn sees_device(&self, id: u32) -> bool {
        self.seen.is_none_or(|seen| seen.device(id))
    }

    fn sees_graph(&self, id: u32) -> bool {
        self.seen.is_none_or(|seen| seen.graph(id))
    }

    fn sees_source(&self, id: u32) -> bool {
        self.seen.is_none_or(|seen| seen.source(id))
    }

    fn sees_row(&self, id: u32) -> bool {
        self.seen.is_none_or(|seen| seen.row(id))
    }

    fn sees_node(&self, id: u32) -> bool {
        self.seen.is_none_or(|seen| seen.node(self.inventory, id))
    }

    fn sees_tree(&self, id: u32) -> bool {
        self.seen.is_none_or(|seen| seen.tree(self.inventory, id))
    }
}

/// How a device is polled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Polled {
    /// Whether it is up; none before the first answer or silence.
    pub up: Option<bool>,
    /// Since when, seconds of Unix.
    pub since_s: Option<i64>,
    /// When its last answer came, seconds of Unix.
    pub answered_s: Option<i64>,
    /// What does not answer as it should, a sentence each.
    pub troubles: Vec<String>,
    /// Whether it is up and down by turns.
    pub flapping: bool,
    /// What is wrong with data sources that are not read by SNMP.
    pub faults: Vec<(u32, String)>,
    /// Cycles that were left out.
    pub missed: u64,
    /// How long an answer takes, milliseconds.
    pub round_trip_ms: Option<f64>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// There is no such thing.
    #[error("{0}")]
    Unknown(String),
    /// It makes no sense; the text says why.
    #[error("{0}")]
    Asked(String),
    /// A file cannot be read.
    #[error("{0}")]
    Failed(String),
    /// Too much is done of that already.
    #[error("{0}")]
    Busy(String),
}

impl From<NoPicture> for Unanswered {
    fn from(error: NoPicture) -> Self {
        match error {
            NoPicture::Unknown(_) => Unanswered::Unknown(error.to_string()),
            NoPicture::Asked(_) | NoPicture::Fault(trunkline_rrd::Fault::Asked(_)) => {
                Unanswered::Asked(error.to_string())
            }
            NoPicture::Fault(_) => Unanswered::Failed(error.to_string()),
        }
    }
}

/// Answers a question.
///
/// # Errors
/// [`Unanswered`].
pub fn answer(view: &View<'_>, question: &Value) -> Result<Value, Unanswered> {
    let asked = Asked(question);
    match asked.text("do")? {
        "counts" => Ok(counts(view)),
        "devices" => devices::list(view, asked),
        "device" => devices::show(view, asked.id("id")?),
        "device-named" => devices::named(view, asked.text("name")?),
        "graphs" => graphs::list(view, asked),
        "graph" => graphs::show(view, asked.id("id")?),
        "trees" => Ok(trees::list(view)),
        "nodes" => trees::nodes(view, asked.id("tree")?, asked.maybe_id("parent")?),
        "figures" => figures::show(view, asked),
        "graph-templates" => figures::templates(view, asked),
        "credentials" => Ok(credentials(view)),
        "templates" => Ok(templates(view)),
        "rights" => Ok(rights::show(view)),
        "seen" => rights::seen(view, asked),
        "map" => map::show(view, asked, &|id| view.sees_device(id)),
        "near" => near::show(view, asked, &|id| view.sees_device(id)),
        "behind" => behind::show(view, asked, &|id| view.sees_device(id)),
        other => Err(Unanswered::Asked(format!("'{other}' is no question"))),
    }
}

fn counts(view: &View<'_>) -> Value {
    let inventory = view.inventory;
    let (mut up, mut down, mut unknown, mut disabled) = (0, 0, 0, 0);
    for (id, device) in inventory.devices().iter().filter(|device| view.sees_device(device.0)) {
        match devices::state(view, id, device) {
            "up" => up += 1,
            "down" => down += 1,
            "disabled" => disabled += 1,
            _ => unknown += 1,
        }
    }
    let (sources, graphs, trees) = match view.seen {
        None => (inventory.sources().len(), inventory.graphs().len(), inventory.trees().len()),
        Some(seen) => (seen.sources_len(), seen.graphs_len(), seen.trees_len(inventory)),
    };
    json!({
        "devices": up + down + unknown + disabled, "up": up, "down": down, "unknown": unknown, "disabled": disabled,
        "sources": sources, "graphs": graphs, "trees": trees,
    })
}

fn credentials(view: &View<'_>) -> Value {
    let mut used = std::collections::BTreeMap::<u32, usize>::new();
    for (_, device) in view.inventory.devices().iter() {
        if let Some(id) = device.access.credential {
            *used.entry(id).or_default() += 1;
        }
    }
    let all = view.inventory.credentials().iter();
    let all = all.map(|(id, credential)| {
        let devices = used.get(&id).copied().unwrap_or_default();
        json!({ "id": id, "name": &*credential.name, "kind": credential.login.describe(), "devices": devices })
    });
    json!({ "credentials": all.collect::<Vec<_>>() })
}

fn templates(view: &View<'_>) -> Value {
    let library = view.library;
    let all = library.devices.iter().map(|(name, device)| {
        let snmp = library.data_of(device).any(|data| matches!(data.source, Source::Snmp));
        let arguments: BTreeSet<String> = library.data_of(device).flat_map(|data| data.arguments()).collect();
        json!({ "name": name, "title": &*device.title, "snmp": snmp, "arguments": arguments })
    });
    json!({ "templates": all.collect::<Vec<_>>() })
}

/// A part of a list.
fn part<T>(all: impl Iterator<Item = T>, asked: Asked<'_>) -> Result<impl Iterator<Item = T>, Unanswered> {
    let limit = asked.limit(PART_MAX)?;
    Ok(all.skip(asked.offset()?).take(limit))
}
