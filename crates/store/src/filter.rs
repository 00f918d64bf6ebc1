//! The filter language over calls, the same in CLI, UI and API (DESIGN section 4):
//! `caller:+4420* and mos<3.5 and not (code:5xx or ip:10.1.0.0/16)`.
//!
//! A text becomes a [`Filter`]; a filter is asked about a [`Call`] in memory ([`Filter::matches`]) or becomes SQL
//! ([`sql`]). Both must agree: a test compares them on generated calls. A test on something the call does not have (no
//! score, no answer) does not hold, and its negation holds.

pub mod error;
pub mod field;
mod parse;
pub mod pattern;
pub mod quantity;
pub mod sql;
mod test;

pub use error::FilterError;
pub use field::{Field, FieldHelp, Kind, TextField, fields};
pub use pattern::Pattern;
pub use test::{Compare, Network, Test};

use crate::row::Call;
use crate::time::Zone;
use field::WholeField;

/// Longest filter, octets; a longer one is refused.
// Limit: length of a filter
// Beyond: the filter is refused
// Seen in: the error message
pub const FILTER_OCTETS_MAX: usize = 4096;
/// Deepest nesting of parentheses and `not`; deeper is refused.
// Limit: parentheses and `not` within each other in a filter
// Beyond: the filter is refused
// Seen in: the error message
pub const FILTER_NESTING_MAX: usize = 32;
/// Most tests in one filter; more are refused.
// Limit: tests in one filter
// Beyond: the filter is refused
// Seen in: the error message
pub const FILTER_TESTS_MAX: usize = 128;

/// A filter that was read without mistakes.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    text: String,
    node: Node,
}

/// One node of a filter.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// All of them hold.
    And(Vec<Node>),
    /// At least one holds.
    Or(Vec<Node>),
    /// It does not hold.
    Not(Box<Node>),
    /// One test of one field.
    Test(Test),
}

impl Filter {
    /// Reads a filter; times without an offset are UTC.
    ///
    /// # Errors
    /// The first mistake, with its column, what was expected and the nearest right name.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        Filter::parse_in(text, &|utc_ns| Some(utc_ns))
    }

    /// Reads a filter whose times without an offset are of a zone, not of UTC.
    ///
    /// # Errors
    /// As [`Filter::parse`].
    pub fn parse_in(text: &str, zone: Zone<'_>) -> Result<Self, FilterError> {
        Ok(Filter { text: text.to_owned(), node: parse::parse(text, zone)? })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it consists of.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Whether a call passes.
    pub fn matches(&self, call: &Call) -> bool {
        self.node.matches(call)
    }

    /// First and last nanosecond between which a call must start to pass, as far as the filter says so plainly: what
    /// spares a backend the other days.
    pub fn start_bounds(&self) -> (i64, i64) {
        let (mut from, mut to) = (i64::MIN, i64::MAX);
        for test in self.required() {
            let Test::Whole { field: WholeField::Start, all } = test else { continue };
            for (compare, value) in all {
                match compare {
                    Compare::Less => to = to.min(value.saturating_sub(1)),
                    Compare::AtMost => to = to.min(*value),
                    Compare::More => from = from.max(value.saturating_add(1)),
                    Compare::AtLeast => from = from.max(*value),
                }
            }
        }
        (from, to)
    }

    /// The tests that must hold whatever else does: what a backend may look up in an index.
    pub fn required(&self) -> impl Iterator<Item = &Test> {
        let nodes = match &self.node {
            Node::And(nodes) => nodes.as_slice(),
            node => core::slice::from_ref(node),
        };
        nodes.iter().filter_map(|n| if let Node::Test(t) = n { Some(t) } else { None })
    }
}

impl Node {
    fn matches(&self, call: &Call) -> bool {
        match self {
            Node::And(nodes) => nodes.iter().all(|n| n.matches(call)),
            Node::Or(nodes) => nodes.iter().any(|n| n.matches(call)),
            Node::Not(node) => !node.matches(call),
            Node::Test(test) => test.matches(call),
        }
    }
}

#[cfg(test)]
mod tests;
