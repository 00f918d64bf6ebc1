//! Numbers of graphs.

use crate::time::as_maybe;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Of which time pictures are, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphSpan {
    /// From then on, seconds since 1970.
    pub from: i64,
    /// Until then.
    pub to: i64,
    /// Columns: no series has more rows; 500 when nothing is said.
    pub width: Option<u32>,
    /// What is shown is so many seconds older, and stands at the times of the span.
    pub shift: Option<i64>,
    /// Of which archives it is taken: `average`, `min`, `max`, `last`; as the template says when nothing is said.
    pub function: Option<String>,
}

/// Graphs in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphPictures {
    /// In the order in which they were asked for.
    pub pictures: Vec<GraphPictureOf>,
}

/// The numbers of a graph, or why there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphPictureOf {
    /// The graph.
    pub id: u32,
    /// Why there are none.
    pub trouble: Option<String>,
    /// The numbers.
    pub picture: Option<GraphPicture>,
}

/// A graph as it is read while somebody looks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphRealtime {
    /// The graph.
    pub id: u32,
    /// Seconds from one reading to the next.
    pub step: u32,
    /// When the last number came; null while none has.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub heard: Option<i64>,
    /// Why nothing may come, a sentence for each device.
    pub troubles: Vec<String>,
    /// The numbers; the last rows are unknown until they were read.
    pub picture: GraphPicture,
}

/// A graph in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphPicture {
    /// Its title.
    pub title: String,
    /// What stands at its axis.
    pub unit: String,
    /// 1000, or 1024 for what is counted in powers of two.
    pub base: u32,
    /// The lower end of the axis.
    pub lower: Option<f64>,
    /// The upper end of the axis.
    pub upper: Option<f64>,
    /// Whether the ends hold for what lies beyond them, too.
    pub rigid: bool,
    /// Whether the axis is logarithmic.
    pub logarithmic: bool,
    /// When the first row begins, seconds since 1970.
    pub start: i64,
    /// Seconds of a row.
    pub step: i64,
    /// How many rows.
    pub rows: u64,
    /// What is drawn, in order.
    pub series: Vec<GraphSeries>,
    /// Lines at a value or a time.
    pub rules: Vec<GraphRule>,
    /// Thresholds.
    pub thresholds: Vec<GraphThreshold>,
    /// What stands in the legend beside.
    pub prints: Vec<GraphPrint>,
    /// Data sources of which nothing has been read yet.
    pub unread: Vec<u32>,
}

/// What is drawn over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphSeries {
    /// The name of the definition.
    pub name: String,
    /// Its text in the legend.
    pub label: String,
    /// `line`, `area` or `tick`.
    pub kind: String,
    /// `#rrggbb` or `#rrggbbaa`; null is nothing that is seen, and that others may stand on.
    pub color: Option<String>,
    /// The width of a line, or the height of a mark as a part of the graph's.
    pub width: f64,
    /// Whether it stands on the one before it.
    pub stack: bool,
    /// Lengths of dashes and gaps.
    pub dashes: Vec<u32>,
    /// Its rows; null is unknown.
    pub values: Vec<Option<f64>>,
    /// Numbers over the span.
    pub figures: GraphFigures,
    /// Those that the template wants in the legend.
    pub legend: Vec<String>,
}

/// Numbers of a series over the span; null is unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphFigures {
    /// The last value that is known.
    pub last: Option<f64>,
    /// The mean.
    pub average: Option<f64>,
    /// The least.
    pub min: Option<f64>,
    /// The greatest.
    pub max: Option<f64>,
    /// The 95th percentile of what is known.
    pub p95: Option<f64>,
    /// The sum over time.
    pub total: Option<f64>,
}

/// A line at a value, or at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphRule {
    /// Whether it is at a time (seconds since 1970) and not at a value.
    pub at_time: bool,
    /// Where.
    pub value: Option<f64>,
    /// Its colour.
    pub color: Option<String>,
    /// Lengths of dashes and gaps.
    pub dashes: Vec<u32>,
    /// Its text in the legend.
    pub label: String,
}

/// A threshold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphThreshold {
    /// Where.
    pub value: f64,
    /// The side that is bad: `above` or `below`.
    pub side: String,
    /// `warning` or `critical`.
    pub severity: String,
    /// Its text in the legend.
    pub label: String,
}

/// A text of the legend, with a number or without.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphPrint {
    /// The text.
    pub label: String,
    /// The number; null is unknown.
    pub value: Option<f64>,
    /// Whether there is a number.
    pub is_number: bool,
    /// How rrdtool writes it.
    pub format: String,
}
