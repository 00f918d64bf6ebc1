//! Those who run graphs of a data folder, and how they are asked.

use crate::cli::DATA_DEFAULT;
use crate::failure::Failure;
use crate::graph::here;
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The data folder, and how replies are written.
#[derive(Clone, Debug, clap::Args)]
pub struct Place {
    /// The data folder
    #[arg(long, value_name = "DIR", default_value = DATA_DEFAULT, value_hint = clap::ValueHint::DirPath)]
    data: PathBuf,
    /// The reply as JSON
    #[arg(long)]
    json: bool,
}

impl Place {
    /// Whether JSON is wanted.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Those who run graphs there.
    ///
    /// # Errors
    /// Nobody does.
    pub fn node(&self) -> Result<Node, Failure> {
        Node::of(&self.data)
    }

    /// Asks what pages ask; the answer.
    ///
    /// # Errors
    /// As [`Place::ask`].
    pub fn question(&self, question: &Value) -> Result<Value, Failure> {
        let mut reply = self.ask(&json!({ "do": "ask", "question": question }))?;
        Ok(reply["answer"].take())
    }

    /// Has done what pages have done.
    ///
    /// # Errors
    /// As [`Place::ask`].
    pub fn change(&self, order: &Value) -> Result<(), Failure> {
        self.ask(&json!({ "do": "change", "by": "operator", "order": order })).map(|_| ())
    }

    /// Asks once.
    ///
    /// # Errors
    /// What they say against it; nobody is there.
    pub fn ask(&self, order: &Value) -> Result<Value, Failure> {
        self.node()?.ask(order)
    }
}

/// A connection to them.
pub struct Node {
    reads: BufReader<UnixStream>,
}

impl Node {
    fn of(data: &Path) -> Result<Node, Failure> {
        let path = here::socket(data);
        let stream = UnixStream::connect(&path).map_err(|e| {
            let path = path.display();
            Failure::Failed(format!("nobody runs graphs here ({path}: {e}): `trunkline graph serve`, or [graph]"))
        })?;
        Ok(Node { reads: BufReader::new(stream) })
    }

    /// Orders, and waits for the reply.
    ///
    /// # Errors
    /// What they say against it; they are gone.
    pub fn ask(&mut self, order: &Value) -> Result<Value, Failure> {
        let gone = |error: io::Error| Failure::Failed(format!("graphs do not run any more: {error}"));
        // One write: the other side may have closed after a line.
        self.reads.get_ref().write_all(format!("{order}\n").as_bytes()).map_err(gone)?;
        let mut line = String::new();
        if self.reads.read_line(&mut line).map_err(gone)? == 0 {
            return Err(gone(io::ErrorKind::UnexpectedEof.into()));
        }
        let reply: Value = serde_json::from_str(&line).map_err(|e| gone(io::Error::other(e)))?;
        match reply.get("error").and_then(Value::as_str) {
            Some(why) => Err(Failure::Failed(why.to_owned())),
            None => Ok(reply),
        }
    }
}
