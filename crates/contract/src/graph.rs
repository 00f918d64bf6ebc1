//! Graphs: what pages and commands ask whoever polls, what they have changed, and what is answered.

mod inventory;
mod network;
mod pictures;
mod question;
mod scope;

pub use inventory::*;
pub use network::*;
pub use pictures::*;
pub use question::*;
pub use scope::*;

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
const SOURCES: &[&[u8]] = &[
    include_bytes!("graph.rs"),
    include_bytes!("graph/inventory.rs"),
    include_bytes!("graph/network.rs"),
    include_bytes!("graph/pictures.rs"),
    include_bytes!("graph/question.rs"),
    include_bytes!("graph/scope.rs"),
    include_bytes!("octets.rs"),
    include_bytes!("time.rs"),
];

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// A question: [`Answer::Told`].
    Question {
        /// What whoever asks may see, all if nothing is said: the rest is answered as if it did not exist.
        scope: Option<GraphScope>,
        /// It.
        question: Question,
    },
    /// A graph as a file: [`Answer::File`].
    Picture {
        /// What whoever asks may see.
        scope: Option<GraphScope>,
        /// The graph.
        graph: u32,
        /// What it is to be a file of.
        form: GraphForm,
        /// Of which time.
        span: GraphSpan,
        /// The time zone of a drawn picture, a name of the IANA list: UTC when nothing is said.
        zone: Option<String>,
    },
    /// An order of pages, for whom: [`Answer::Done`].
    Change {
        /// The user.
        by: String,
        /// It.
        order: Value,
    },
    /// An order of a command (`trunkline_graph::job` has them): [`Answer::Operated`].
    Operate(Value),
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// What a question asks for.
    Told(Told),
    /// A file.
    File(Octets),
    /// The order was carried out, and is on the disk.
    Done,
    /// What came of an order of a command.
    Operated(Value),
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
        let mut files: Vec<_> = ["graph.rs", "octets.rs", "time.rs"].iter().map(|name| folder.join(name)).collect();
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

    fn sent(answer: Answer) -> usize {
        let octets = crate::frame::encode(&answer).unwrap();
        assert_eq!(crate::frame::decode::<Answer>(&octets).unwrap(), answer);
        octets.len()
    }

    #[test]
    fn a_file_goes_as_octets() {
        assert!(sent(Answer::File(Octets(vec![0xff; 1000]))) < 1020);
    }

    /// Members of a device in a list stand beside those of the device.
    #[test]
    fn answers_go_as_they_are() {
        let brief = GraphDeviceBrief { id: 7, since: Some(1_790_035_200), ..GraphDeviceBrief::default() };
        let device = GraphDevice { brief, round_trip_ms: Some(0.5), ..GraphDevice::default() };
        sent(Answer::Told(device.clone().into()));
        let told = Told::from(device.clone());
        assert_eq!(GraphDevice::try_from(told.clone()), Ok(device));
        assert_eq!(GraphCounts::try_from(told), Err(crate::Refusal::mismatch()));
        let report = GraphReport { csv: Some("graph,title\r\n".to_owned()), ..GraphReport::default() };
        sent(Answer::Told(report.into()));
    }

    #[test]
    fn a_question_is_named_in_its_json() {
        let json = serde_json::json!({
            "do": "figures", "text": "up", "device": null, "node": null, "template": null, "offset": null, "limit": 5,
            "from": 1, "to": 2, "csv": false,
        });
        let question: Question = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&question).unwrap(), json);
        let ask = Ask::Question { scope: None, question };
        assert_eq!(crate::frame::decode::<Ask>(&crate::frame::encode(&ask).unwrap()).unwrap(), ask);
        assert!(serde_json::from_str::<Question>(r#"{"do":"nothing"}"#).is_err());
    }
}
