//! Those who run graphs of a data folder, and how they are asked.

use crate::cli::DATA_DEFAULT;
use crate::failure::Failure;
use crate::graph::here;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;
use trunkline_contract::graph::{Answer, Ask, GraphRealtime, Graphs};
use trunkline_contract::{Cause, Client, Node as _, Refusal};

/// How long an answer may take: an import reads all of Cacti's files.
const PATIENCE: Duration = Duration::from_secs(86_400);

/// The data folder, and how replies are written.
#[derive(Clone, Debug, clap::Args)]
pub struct Place {
    /// The data folder
    #[arg(long, value_name = "DIR", default_value = DATA_DEFAULT, value_hint = clap::ValueHint::DirPath)]
    data: PathBuf,
    /// Print the reply as JSON
    #[arg(long)]
    json: bool,
}

impl Place {
    /// Whether JSON is wanted.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Those who run graphs there.
    pub fn node(&self) -> Node {
        Node { path: here::socket(&self.data), data: self.data.clone() }
    }

    /// Asks what pages ask; the answer.
    ///
    /// # Errors
    /// As [`Place::ask`].
    pub fn question(&self, question: &Value) -> Result<Value, Failure> {
        self.node().question(question)
    }

    /// Has done what pages have done.
    ///
    /// # Errors
    /// As [`Place::ask`].
    pub fn change(&self, order: &Value) -> Result<(), Failure> {
        self.node().call(Ask::Change { by: "operator".to_owned(), order: order.clone() }).map(drop)
    }

    /// Asks once.
    ///
    /// # Errors
    /// What they say against it; nobody is there.
    pub fn ask(&self, order: &Value) -> Result<Value, Failure> {
        self.node().ask(order)
    }
}

/// Those who run graphs.
pub struct Node {
    path: PathBuf,
    data: PathBuf,
}

impl Node {
    /// Orders, and waits for the reply.
    ///
    /// # Errors
    /// What they say against it; nobody is there, or of another version.
    pub fn ask(&self, order: &Value) -> Result<Value, Failure> {
        self.told(Ask::Operate(order.clone()))
    }

    /// Asks what pages ask.
    ///
    /// # Errors
    /// As [`Node::ask`].
    pub fn question(&self, question: &Value) -> Result<Value, Failure> {
        self.told(Ask::Question(question.clone()))
    }

    fn told(&self, ask: Ask) -> Result<Value, Failure> {
        match self.call(ask)? {
            Answer::Told(told) => Ok(told),
            _ => Err(Failure::Failed(Refusal::mismatch().text)),
        }
    }

    /// Has a graph read in real time, and tells what has come of it.
    ///
    /// # Errors
    /// As [`Node::ask`].
    pub fn realtime(&self, graph: u32, step: u32, span: u32) -> Result<GraphRealtime, Failure> {
        match self.call(Ask::Realtime { scope: None, graph, step: Some(step), span: Some(span) })? {
            Answer::Realtime(told) => Ok(told),
            _ => Err(Failure::Failed(Refusal::mismatch().text)),
        }
    }

    fn call(&self, ask: Ask) -> Result<Answer, Failure> {
        Client::<Graphs>::new(&self.path, PATIENCE).call(ask).map_err(|refusal| {
            Failure::Failed(match refusal.cause {
                Cause::Absent => {
                    let data = self.data.display();
                    format!("the poller is not running for {data}; start `trunkline graph serve`")
                }
                _ => refusal.text,
            })
        })
    }
}
