//! Graphs of a data folder as the web asks about them: whoever runs them is asked over a socket.

use crate::asking::Node;
use crate::graph::here;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use trunkline_web::sources::{GraphForm, Graphing, SourceError, Trouble};

/// How long a reply may take: drawing may be slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// Of this data folder.
pub struct Asked {
    node: Node,
}

impl Asked {
    /// Of this data folder, whichever program runs its graphs.
    pub fn new(data: &Path) -> Asked {
        Asked { node: Node::new(here::socket(data), "poller of graphs", PATIENCE) }
    }
}

/// What was wanted of a reply.
fn part<T>(part: Option<T>) -> Result<T, SourceError> {
    part.ok_or_else(|| SourceError::new(Trouble::Failed, "the reply of the poller of graphs is another one than asked"))
}

impl Graphing for Asked {
    fn serves(&self) -> bool {
        self.node.serves()
    }

    fn ask(&self, question: &Value) -> Result<Value, SourceError> {
        let mut reply = self.node.ask(&json!({ "do": "ask", "question": question }))?;
        part(reply.get_mut("answer").map(Value::take))
    }

    fn order(&self, by: &str, order: &Value) -> Result<(), SourceError> {
        self.node.ask(&json!({ "do": "change", "by": by, "order": order })).map(drop)
    }

    fn file(&self, graph: u32, form: GraphForm, question: &Value) -> Result<Vec<u8>, SourceError> {
        let form = match form {
            GraphForm::Png => "png",
            GraphForm::Svg => "svg",
            GraphForm::Csv => "csv",
        };
        let ask = json!({ "do": "picture", "graph": graph, "form": form, "question": question });
        let reply = self.node.ask(&ask)?;
        let octets = reply.get("octets").and_then(Value::as_str);
        part(octets.and_then(|octets| STANDARD.decode(octets).ok()))
    }
}
