//! Where a charging node keeps what it has, and how it is asked.

use crate::cli::DATA_DEFAULT;
use crate::failure::Failure;
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// The data folder.
#[derive(Clone, Debug, clap::Args)]
pub struct Place {
    /// The data folder
    #[arg(long, value_name = "DIR", default_value = DATA_DEFAULT, value_hint = clap::ValueHint::DirPath)]
    data: PathBuf,
}

/// Orders that are on their way to a node at a time.
const AHEAD_MAX: usize = 1000;

impl Place {
    /// What of it is charging's.
    pub fn folder(&self) -> PathBuf {
        self.data.join("charge")
    }

    /// The ledger.
    pub fn ledger(&self) -> PathBuf {
        self.folder().join("ledger")
    }

    /// Where a node that serves is asked.
    pub fn socket(&self) -> PathBuf {
        self.folder().join("control.sock")
    }

    /// That something of it cannot be had.
    pub fn cannot(&self, error: &io::Error) -> Failure {
        Failure::Failed(format!("{}: {error}", self.folder().display()))
    }

    /// The node that serves this folder.
    ///
    /// # Errors
    /// None does.
    pub fn node(&self) -> Result<Control, Failure> {
        let stream = UnixStream::connect(self.socket()).map_err(|e| {
            let path = self.socket();
            Failure::Failed(format!("no charging node serves here ({}: {e}); `trunkline charge serve`", path.display()))
        })?;
        let reads = stream.try_clone().map_err(|e| self.cannot(&e))?;
        Ok(Control { reads: BufReader::new(reads), writes: BufWriter::new(stream), ahead: VecDeque::new() })
    }
}

/// A connection to a node.
#[derive(Debug)]
pub struct Control {
    reads: BufReader<UnixStream>,
    writes: BufWriter<UnixStream>,
    /// What orders are on their way for, the oldest first.
    ahead: VecDeque<u64>,
}

/// What a node said to an order, by the number that it was given.
pub type Reply = (u64, Result<Value, String>);

impl Control {
    /// Orders, and waits for the reply.
    ///
    /// # Errors
    /// What the node says against it; the node is gone.
    pub fn order(&mut self, order: &Value) -> Result<Value, Failure> {
        self.send(0, order)?;
        self.reply()?.1.map_err(Failure::Failed)
    }

    /// Sends an order; replies that came meanwhile, where too many are on their way.
    ///
    /// # Errors
    /// The node is gone.
    pub fn send(&mut self, number: u64, order: &Value) -> Result<Option<Reply>, Failure> {
        let came = if self.ahead.len() < AHEAD_MAX { None } else { Some(self.reply()?) };
        self.ahead.push_back(number);
        writeln!(self.writes, "{order}").map_err(gone)?;
        Ok(came)
    }

    /// The next reply that is to come; none if there is none.
    ///
    /// # Errors
    /// The node is gone.
    pub fn rest(&mut self) -> Result<Option<Reply>, Failure> {
        if self.ahead.is_empty() { Ok(None) } else { self.reply().map(Some) }
    }

    fn reply(&mut self) -> Result<Reply, Failure> {
        self.writes.flush().map_err(gone)?;
        let mut line = String::new();
        if self.reads.read_line(&mut line).map_err(gone)? == 0 {
            return Err(gone(io::ErrorKind::UnexpectedEof.into()));
        }
        let reply: Value = serde_json::from_str(&line).map_err(|e| gone(io::Error::other(e)))?;
        let number = self.ahead.pop_front().unwrap_or_default();
        let refused = reply.get("error").and_then(Value::as_str).map(str::to_owned);
        Ok((number, refused.map_or(Ok(reply), Err)))
    }
}

fn gone(error: io::Error) -> Failure {
    Failure::Failed(format!("the charging node is gone: {error}"))
}
