//! Questions about graphs, and the answer of each.

use super::{
    Answer, Ask, GraphBehind, GraphCounts, GraphCredentials, GraphDevice, GraphDevices, GraphList, GraphMap, GraphNear,
    GraphNodes, GraphPictures, GraphRealtime, GraphReport, GraphRun, GraphScope, GraphSeen, GraphShown, GraphSpan,
    GraphTemplateList, GraphTemplates, GraphTrees, Graphs, NamedDevice, ScopeShown,
};
use crate::{Node, Refusal};
use serde::{Deserialize, Serialize};

/// A question. What is long comes in parts: `offset` are passed over, `limit` are told at most, 100 when nothing is
/// said, and the answer says how many there are in all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Question {
    /// How many there are: [`GraphCounts`].
    Counts {},
    /// How polling goes: [`GraphRun`].
    Run {},
    /// Devices, in the order of their names: [`GraphDevices`].
    Devices {
        /// Words that stand in name, address, site, description or notes, all of them.
        text: Option<String>,
        /// `up`, `down`, `unknown` or `disabled`.
        state: Option<String>,
        /// Those of a site.
        site: Option<u32>,
        /// How many are passed over.
        offset: Option<u32>,
        /// How many there are at most.
        limit: Option<u32>,
    },
    /// A device: [`GraphDevice`].
    Device {
        /// Its number.
        id: u32,
    },
    /// The device of a name: [`NamedDevice`].
    DeviceNamed {
        /// It.
        name: String,
    },
    /// Graphs: [`GraphList`].
    Graphs(GraphsWanted),
    /// A graph: [`GraphShown`].
    Graph {
        /// Its number.
        id: u32,
    },
    /// The trees, each with its first level: [`GraphTrees`].
    Trees {},
    /// What is in a tree, or in a folder of it: [`GraphNodes`].
    Nodes {
        /// The tree.
        tree: u32,
        /// The folder.
        parent: Option<u32>,
    },
    /// Graphs in numbers: [`GraphPictures`].
    Pictures {
        /// The graphs.
        ids: Vec<u32>,
        /// Of which time.
        #[serde(flatten)]
        span: GraphSpan,
    },
    /// A graph as it is read while it is asked for: [`GraphRealtime`].
    Realtime {
        /// The graph.
        graph: u32,
        /// Seconds from one reading to the next; 1 when nothing is said.
        step: Option<u32>,
        /// How much is shown, seconds; 300 when nothing is said.
        span: Option<u32>,
    },
    /// Figures of graphs over a span: [`GraphReport`].
    Figures {
        /// The graphs.
        #[serde(flatten)]
        graphs: GraphsWanted,
        /// From then on, seconds since 1970.
        from: i64,
        /// Until then.
        to: i64,
        /// Whether they are told as a file, too.
        #[serde(default)]
        csv: bool,
    },
    /// Graph templates: [`GraphTemplateList`].
    GraphTemplates {
        /// Those that show something of these graphs; all when nothing is said.
        graphs: Option<Vec<u32>>,
    },
    /// What devices are asked with: [`GraphCredentials`].
    Credentials {},
    /// Device templates: [`GraphTemplates`].
    Templates {},
    /// What the scope shows: [`ScopeShown`].
    Rights {},
    /// Which of these there are, and are seen: [`GraphSeen`].
    Seen(GraphSeen),
    /// The map: [`GraphMap`].
    Map {
        /// What is around this device; all when nothing is said.
        device: Option<u32>,
        /// So many steps around it.
        hops: Option<u32>,
        /// How many nodes there are at most.
        limit: Option<u32>,
    },
    /// Where addresses are, and what is on the way between them: [`GraphNear`].
    Near(NearWanted),
    /// Who would be told to be behind whom: [`GraphBehind`].
    Behind {
        /// Devices where polling begins.
        from: Vec<u32>,
        /// Whether devices of which something else was told before are told anew, too; no when nothing is said.
        replace: Option<bool>,
        /// How many devices are told at most.
        limit: Option<u32>,
    },
}

/// Which graphs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphsWanted {
    /// Words, or phrases in quotes, that stand in the title, all of them; those with `-` before them must not.
    pub text: Option<String>,
    /// Those of a device.
    pub device: Option<u32>,
    /// Those of a place in a tree.
    pub node: Option<u32>,
    /// Those of a graph template.
    pub template: Option<String>,
    /// How many are passed over.
    pub offset: Option<u32>,
    /// How many there are at most.
    pub limit: Option<u32>,
}

/// Which addresses, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NearWanted {
    /// The addresses.
    pub addresses: Vec<String>,
    /// Pairs of places in `addresses` between which ways are told.
    #[serde(default)]
    pub pairs: Vec<[usize; 2]>,
    /// Losses are told from then on, seconds since 1970; none when nothing is said.
    pub from: Option<i64>,
    /// Until then.
    pub to: Option<i64>,
}

/// An answer for each question; whoever asked takes it out by its type.
macro_rules! told {
    ($($kind:ident $answer:ident),+) => {
        /// The answer of a question.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Told {
            $(#[doc = concat!("Of [`Question::", stringify!($kind), "`].")] $kind(Box<$answer>)),+
        }

        $(impl From<$answer> for Told {
            fn from(answer: $answer) -> Told {
                Told::$kind(Box::new(answer))
            }
        }

        impl TryFrom<Told> for $answer {
            type Error = Refusal;

            fn try_from(told: Told) -> Result<$answer, Refusal> {
                match told {
                    Told::$kind(answer) => Ok(*answer),
                    _ => Err(Refusal::mismatch()),
                }
            }
        })+
    };
}

told! {
    Counts GraphCounts, Run GraphRun, Devices GraphDevices, Device GraphDevice, DeviceNamed NamedDevice,
    Graphs GraphList, Graph GraphShown, Trees GraphTrees, Nodes GraphNodes, Pictures GraphPictures,
    Realtime GraphRealtime, Figures GraphReport, GraphTemplates GraphTemplateList, Credentials GraphCredentials,
    Templates GraphTemplates, Rights ScopeShown, Seen GraphSeen, Map GraphMap, Near GraphNear, Behind GraphBehind
}

/// Asks a question for somebody with a scope.
///
/// # Errors
/// There is no such thing, it makes no sense, or it cannot be read.
pub fn ask<T: TryFrom<Told, Error = Refusal>>(
    node: &(impl Node<Graphs> + ?Sized),
    scope: Option<GraphScope>,
    question: Question,
) -> Result<T, Refusal> {
    match node.call(Ask::Question { scope, question })? {
        Answer::Told(told) => T::try_from(told),
        _ => Err(Refusal::mismatch()),
    }
}
