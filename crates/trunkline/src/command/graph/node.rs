//! Those who run graphs of a data folder, and how they are asked.

use crate::cli::DATA_DEFAULT;
use crate::failure::Failure;
use crate::graph::here;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;
use trunkline_contract::graph::{self, Answer, Ask, Graphs, NamedDevice, Question, Told};
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
    pub fn question<T: TryFrom<Told, Error = Refusal>>(&self, question: Question) -> Result<T, Failure> {
        self.node().question(question)
    }

    /// The number of a device.
    ///
    /// # Errors
    /// As [`Place::ask`]; there is none of that name.
    pub fn device(&self, name: &str) -> Result<u32, Failure> {
        let found: NamedDevice = self.question(Question::DeviceNamed { name: name.to_owned() })?;
        Ok(found.id)
    }

    /// Has done what pages have done.
    ///
    /// # Errors
    /// As [`Place::ask`].
    pub fn change(&self, order: &Value) -> Result<(), Failure> {
        let (node, by) = (self.node(), "operator".to_owned());
        let changed = node.client().call(Ask::Change { by, order: order.clone() });
        changed.map(drop).map_err(|refusal| node.failure(refusal))
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
        match self.client().call(Ask::Operate(order.clone())) {
            Ok(Answer::Operated(told)) => Ok(told),
            Ok(_) => Err(self.failure(Refusal::mismatch())),
            Err(refusal) => Err(self.failure(refusal)),
        }
    }

    /// Asks what pages ask.
    ///
    /// # Errors
    /// As [`Node::ask`].
    pub fn question<T: TryFrom<Told, Error = Refusal>>(&self, question: Question) -> Result<T, Failure> {
        graph::ask(&self.client(), None, question).map_err(|refusal| self.failure(refusal))
    }

    fn client(&self) -> Client<Graphs> {
        Client::new(&self.path, PATIENCE)
    }

    fn failure(&self, refusal: Refusal) -> Failure {
        Failure::Failed(match refusal.cause {
            Cause::Absent => {
                let data = self.data.display();
                format!("the poller is not running for {data}; start `trunkline graph serve`")
            }
            _ => refusal.text,
        })
    }
}
