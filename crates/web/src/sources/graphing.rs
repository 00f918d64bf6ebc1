//! Graphs, as the web asks them.

use trunkline_contract::Node;
use trunkline_contract::graph::Graphs;

/// Whoever polls devices and makes graphs of them: the job in this process, or a client of it.
pub type Graphing = dyn Node<Graphs>;
