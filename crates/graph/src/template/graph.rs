//! Graph templates.

use super::fields::Text;
use super::settings::{Aggregate, Bound, Color, Function, ItemKind, LegendWord, Number, Severity, Side};

/// How a graph looks.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphTemplate {
    /// For people, with fields between bars.
    pub title: Text,
    /// What stands at its axis.
    pub unit: String,
    /// 1000 or 1024.
    pub base: u32,
    /// The lower end of the axis.
    pub lower: Bound,
    /// The upper end of the axis.
    pub upper: Bound,
    /// Whether the ends hold for what lies beyond them, too.
    pub rigid: bool,
    /// Whether the axis is logarithmic.
    pub logarithmic: bool,
    /// Columns of a picture.
    pub width: u32,
    /// Rows of a picture.
    pub height: u32,
    /// What a graph of several data sources shows: each definition becomes one of all of them.
    pub aggregate: Aggregate,
    /// What is taken from data sources (DEF of rrdtool).
    pub definitions: Vec<Definition>,
    /// What is computed of it at each time (CDEF), each after those that it needs.
    pub computed: Vec<Expression>,
    /// What is computed of all times (VDEF).
    pub values: Vec<Expression>,
    /// What is drawn and printed, in order.
    pub items: Vec<Item>,
    /// Thresholds that are drawn.
    pub thresholds: Vec<Threshold>,
}

/// A series of a data source under a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Definition {
    /// The name.
    pub name: String,
    /// The data template.
    pub data: String,
    /// The series of it.
    pub series: String,
    /// Of which archives.
    pub function: Function,
}

impl PartialOrd for Function {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Function {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        (*self as u8).cmp(&(*other as u8))
    }
}

/// An expression under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    /// The name.
    pub name: String,
    /// The expression in reverse Polish notation, as rrdtool reads it, with fields between bars where a number may be.
    pub text: String,
}

/// What is drawn or printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// A name; of a rule a number, a name of a value, or a time in seconds; of a comment nothing.
    pub value: String,
    /// The colour; none is nothing that is seen, and that others may stand on.
    pub color: Option<Color>,
    /// The width of a line, or the height of a mark as a part of the graph's.
    pub width: Number,
    /// Whether it stands on the item before it.
    pub stack: bool,
    /// Lengths of dashes and gaps.
    pub dashes: Vec<u32>,
    /// The legend.
    pub legend: Legend,
}

/// What the legend says of an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Legend {
    /// Its text.
    pub label: Text,
    /// Numbers behind it.
    pub numbers: Vec<LegendWord>,
    /// Of a print: how values become one.
    pub function: Function,
    /// How numbers are written.
    pub format: String,
    /// Whether the legend goes on in a line of its own.
    pub line_end: bool,
}

/// A threshold that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// Where: an expression of numbers and fields.
    pub value: String,
    /// The side that is bad.
    pub side: Side,
    /// How bad.
    pub severity: Severity,
    /// Its text in the legend.
    pub label: Text,
}

impl GraphTemplate {
    /// The data templates whose series it shows, each once.
    pub fn data(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.definitions.iter().map(|definition| definition.data.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}
