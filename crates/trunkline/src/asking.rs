//! How a part of the program that runs in a process of the same data folder is asked: a line of JSON each way over its
//! unix socket, a connection for each.

use crate::run::metrics::socket::connect;
use serde_json::Value;
use std::io::{self, ErrorKind, Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use trunkline_web::sources::{SourceError, Trouble};

/// Octets of a reply.
const REPLY_OCTETS_MAX: usize = 64 << 20;

/// Whoever listens at a path: one may come, end and start again.
pub struct Node {
    path: PathBuf,
    /// What it is called in sentences.
    name: &'static str,
    /// How long a reply may take.
    patience: Duration,
}

impl Node {
    /// Of this socket.
    pub fn new(path: PathBuf, name: &'static str, patience: Duration) -> Node {
        Node { path, name, patience }
    }

    /// Whether one listens, or belongs to somebody else.
    pub fn serves(&self) -> bool {
        !matches!(connect(&self.path).map_err(|e| e.kind()), Err(ErrorKind::NotFound | ErrorKind::ConnectionRefused))
    }

    /// Has an order carried out, or a question answered.
    ///
    /// # Errors
    /// None serves, it does not answer in time, or says no.
    pub fn ask(&self, order: &Value) -> Result<Value, SourceError> {
        let name = self.name;
        let reply = self.exchange(order).map_err(|e| match e.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                SourceError::new(Trouble::NotFound, format!("The {name} is not running."))
            }
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                SourceError::new(Trouble::Busy, format!("The {name} did not answer in time."))
            }
            ErrorKind::PermissionDenied => {
                SourceError::new(Trouble::Conflict, format!("The {name} belongs to another user of this machine."))
            }
            _ => SourceError::new(Trouble::Failed, format!("the reply of the {name}: {e}")),
        })?;
        let Some(why) = reply.get("error").and_then(Value::as_str) else { return Ok(reply) };
        let trouble = match reply.get("kind").and_then(Value::as_str) {
            Some("not-found") => Trouble::NotFound,
            Some("bad-request") => Trouble::Refused,
            Some("busy") => Trouble::Busy,
            _ => Trouble::Conflict,
        };
        let mut sentence = why.to_owned();
        if let Some(first) = sentence.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        if !sentence.ends_with('.') {
            sentence.push('.');
        }
        Err(SourceError::new(trouble, sentence))
    }

    fn exchange(&self, order: &Value) -> io::Result<Value> {
        let stream = connect(&self.path)?;
        let end = Instant::now() + self.patience;
        stream.set_write_timeout(Some(self.patience))?;
        (&stream).write_all(format!("{order}\n").as_bytes())?;
        let (mut reply, mut octets) = (Vec::new(), vec![0; 64 << 10]);
        while !reply.ends_with(b"\n") {
            let left = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
            stream.set_read_timeout(Some(left.ok_or(ErrorKind::TimedOut)?))?;
            match (&stream).read(&mut octets) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => reply.extend_from_slice(octets.get(..read).unwrap_or_default()),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
            if reply.len() > REPLY_OCTETS_MAX {
                return Err(ErrorKind::FileTooLarge.into());
            }
        }
        serde_json::from_slice(&reply).map_err(|e| io::Error::new(ErrorKind::InvalidData, e))
    }
}
