//! Graphs: what pages and commands ask whoever polls, what they have changed, and what is answered.

mod pictures;

pub use pictures::*;

use crate::Contract;
use crate::octets::Octets;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The contract of graphs.
#[derive(Debug)]
pub struct Graphs;

impl Contract for Graphs {
    type Ask = Ask;
    type Answer = Answer;
    const NAME: &'static str = "graph poller";
    const VERSION: u64 = crate::fingerprint(SOURCES);
}

/// What the version is made of: a test sees to it that no file of this module is left out.
const SOURCES: &[&[u8]] =
    &[include_bytes!("graph.rs"), include_bytes!("graph/pictures.rs"), include_bytes!("octets.rs")];

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// A question of pages (`trunkline_graph::answer` has them): [`Answer::Told`].
    Question(Value),
    /// Graphs in numbers: [`Answer::Pictures`].
    Pictures {
        /// What whoever asks may see.
        scope: Option<Value>,
        /// The graphs.
        ids: Vec<u32>,
        /// Of which time.
        span: GraphSpan,
    },
    /// A graph as it is read while it is asked for: [`Answer::Realtime`].
    Realtime {
        /// What whoever asks may see.
        scope: Option<Value>,
        /// The graph.
        graph: u32,
        /// Seconds from one reading to the next; 1 when nothing is said.
        step: Option<u32>,
        /// How much is shown, seconds; 300 when nothing is said.
        span: Option<u32>,
    },
    /// An order of pages, for whom: [`Answer::Done`].
    Change {
        /// The user.
        by: String,
        /// It.
        order: Value,
    },
    /// A graph as a file: [`Answer::File`].
    Picture {
        /// What whoever asks may see.
        scope: Option<Value>,
        /// The graph.
        graph: u32,
        /// What it is to be a file of.
        form: GraphForm,
        /// Of which time.
        span: GraphSpan,
        /// The time zone of a drawn picture, a name of the IANA list: UTC when nothing is said.
        zone: Option<String>,
    },
    /// An order of a command (`trunkline_graph::job` has them): [`Answer::Told`].
    Operate(Value),
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// What was asked for.
    Told(Value),
    /// Graphs in numbers.
    Pictures(GraphPictures),
    /// A graph in real time.
    Realtime(GraphRealtime),
    /// The order was carried out, and is on the disk.
    Done,
    /// A file.
    File(Octets),
}

/// What a picture is a file of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GraphForm {
    /// Portable Network Graphics.
    Png,
    /// Scalable Vector Graphics.
    Svg,
    /// Comma-separated values.
    Csv,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_of_all_sources() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut files = vec![folder.join("graph.rs"), folder.join("octets.rs")];
        for entry in std::fs::read_dir(folder.join("graph")).into_iter().flatten() {
            files.push(entry.unwrap().path());
        }
        let mut read: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
        let mut known: Vec<Vec<u8>> = SOURCES.iter().map(|source| source.to_vec()).collect();
        read.sort();
        known.sort();
        assert!(read == known, "a file of src/graph/ is not in SOURCES");
        assert_ne!(crate::fingerprint(&[b"ab"]), crate::fingerprint(&[b"ac"]));
    }

    #[test]
    fn a_file_goes_as_octets() {
        let file = Answer::File(Octets(vec![0xff; 1000]));
        let octets = crate::frame::encode(&file).unwrap();
        assert!(octets.len() < 1020);
        assert_eq!(crate::frame::decode::<Answer>(&octets).unwrap(), file);
    }
}
