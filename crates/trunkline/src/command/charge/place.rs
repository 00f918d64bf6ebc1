//! Where a charging node keeps what it has, and how it is asked.

use crate::charge::configured;
use crate::cli::DATA_DEFAULT;
use crate::failure::Failure;
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::thread;

/// The data folder.
#[derive(Clone, Debug, clap::Args)]
pub struct Place {
    /// The data folder
    #[arg(long, value_name = "DIR", default_value = DATA_DEFAULT, value_hint = clap::ValueHint::DirPath)]
    data: PathBuf,
}

/// Orders that are in flight to a node at a time.
const AHEAD_MAX: usize = 1000;

impl Place {
    /// That of a folder.
    pub fn of(data: &Path) -> Place {
        Place { data: data.to_owned() }
    }

    /// The folder itself.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The ledger.
    pub fn ledger(&self) -> PathBuf {
        configured::ledger(&self.data)
    }

    /// Where a node that serves is asked.
    pub fn socket(&self) -> PathBuf {
        configured::socket(&self.data)
    }

    /// The node that serves this folder.
    ///
    /// # Errors
    /// None does.
    pub fn node(&self) -> Result<Control, Failure> {
        let stream = UnixStream::connect(self.socket()).map_err(|e| {
            let path = self.socket();
            Failure::Failed(format!(
                "the charging node is not running ({}: {e}); start `trunkline charge \
                serve`",
                path.display()
            ))
        })?;
        Control::over(stream).map_err(gone)
    }
}

/// A connection to a node.
#[derive(Debug)]
pub struct Control {
    replies: Receiver<io::Result<String>>,
    writes: BufWriter<UnixStream>,
    /// What orders are in flight for, the oldest first.
    ahead: VecDeque<u64>,
}

/// What a node said to an order, by the number that it was given.
pub type Reply = (u64, Result<Value, String>);

impl Control {
    /// Replies are read while orders are written: a node whose replies nobody takes takes no orders.
    fn over(stream: UnixStream) -> io::Result<Control> {
        let reads = BufReader::new(stream.try_clone()?);
        let (to, replies) = mpsc::sync_channel(AHEAD_MAX);
        thread::spawn(move || reads.lines().try_for_each(|line| to.send(line)));
        Ok(Control { replies, writes: BufWriter::new(stream), ahead: VecDeque::new() })
    }

    /// Orders, and waits for the reply.
    ///
    /// # Errors
    /// What the node says against it; the node is gone.
    pub fn order(&mut self, order: &Value) -> Result<Value, Failure> {
        self.send(0, order)?;
        self.reply()?.1.map_err(Failure::Failed)
    }

    /// Sends an order; replies that came meanwhile, where too many are in flight.
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
        let ended = |_| Err(io::ErrorKind::UnexpectedEof.into());
        let line = self.replies.recv().unwrap_or_else(ended).map_err(gone)?;
        let reply: Value = serde_json::from_str(&line).map_err(|e| gone(io::Error::other(e)))?;
        let number = self.ahead.pop_front().unwrap_or_default();
        let refused = reply.get("error").and_then(Value::as_str).map(str::to_owned);
        Ok((number, refused.map_or(Ok(reply), Err)))
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // The thread that reads ends with the connection; one that is over already is not to be told.
        let _over = self.writes.get_ref().shutdown(Shutdown::Both);
    }
}

fn gone(error: io::Error) -> Failure {
    Failure::Failed(format!("lost the connection to the charging node: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::io::Read;

    #[test]
    fn a_node_that_says_much_before_it_reads_is_waited_for_by_nobody() {
        let (ours, node) = UnixStream::pair().expect("a pair");
        // Both directions hold much less than this.
        let (orders, text) = (AHEAD_MAX as u64, "x".repeat(4000));
        let reply = json!({ "note": text });
        let says = thread::spawn(move || {
            let mut first = [0];
            (&node).read_exact(&mut first).expect("an order");
            (0..orders).for_each(|_| writeln!(&node, "{reply}").expect("a reply"));
            BufReader::new(&node).lines().take(AHEAD_MAX).count()
        });
        let mut control = Control::over(ours).expect("a connection");
        for number in 0..orders {
            assert!(control.send(number, &json!({ "do": text })).expect("sent").is_none());
        }
        for number in 0..orders {
            let (of, reply) = control.rest().expect("a reply").expect("one that is owed");
            assert_eq!((of, reply.expect("done")["note"].as_str()), (number, Some(&*text)));
        }
        assert!(control.rest().expect("nothing").is_none());
        assert_eq!(says.join().expect("its end"), AHEAD_MAX);
        assert!(control.order(&json!({ "do": "status" })).is_err(), "it is gone");
    }
}
