//! What somebody may see of graphs: rules that allow and deny devices, sites, templates, trees and places in them, and
//! graphs; and what of an inventory that is ([`Seen`]).
//!
//! Rules stand in levels: those of a user come before those of their role. The first level that speaks about a thing
//! decides; within it, denied wins. What none speaks about is seen if everything is. A graph is spoken about by itself,
//! by its places, and by its devices: it is denied with any of them, and allowed with all of them. One that no level
//! decides is seen if all of its devices are.
//!
//! A data source and a row are seen with their device, unless there are graphs of them and all of these are hidden.
//! A place is seen if something is in it that is, or if it is empty and nothing hides it.

mod bits;
mod places;
mod read;
mod seen;
mod taken;

pub use read::{RULES_MAX, VALUE_CHARACTERS_MAX};
pub use seen::Seen;
pub use taken::Taken;

use crate::inventory::Glob;

/// What somebody may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Whether that is seen which no rule speaks about.
    pub everything: bool,
    /// Rules, the level that decides first before the others.
    pub levels: Vec<Vec<Rule>>,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Whether it may be seen.
    pub allow: bool,
    /// What.
    pub what: What,
}

/// What a rule is about. Patterns know `*` and `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A device.
    Device(u32),
    /// Devices by their names.
    DeviceName(Glob),
    /// Devices by their sites' names.
    Site(Glob),
    /// Devices by the names of their templates.
    DeviceTemplate(Glob),
    /// Trees by their names, with what is in them.
    Tree(Glob),
    /// A place in a tree, with what is in it.
    Place(u32),
    /// A graph.
    Graph(u32),
    /// Graphs by the names of their templates.
    GraphTemplate(Glob),
    /// Graphs by their titles.
    GraphTitle(Glob),
}
