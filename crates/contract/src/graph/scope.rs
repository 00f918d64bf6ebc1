//! What somebody may see of graphs.

use serde::{Deserialize, Serialize};

/// Rules in levels: the first level that speaks about a thing decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphScope {
    /// Whether that is seen which no rule speaks about.
    pub everything: bool,
    /// The rules.
    pub levels: Vec<Vec<GraphScopeRule>>,
}

/// A rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphScopeRule {
    /// Whether it allows or denies.
    pub allow: bool,
    /// What it is about: `device`, `device-name`, `site`, `device-template`, `tree`, `place`, `graph`,
    /// `graph-template` or `graph-title`.
    pub kind: String,
    /// Which: a number of a device, a place or a graph; else a pattern with `*` and `?`.
    pub value: String,
}
