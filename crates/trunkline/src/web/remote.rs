//! A capture of another process, asked through the socket in its data folder ([`crate::run::socket`]).

use crate::run::metrics::socket::connect;
use crate::run::socket::{CALLS, SNAPSHOT, path};
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trunkline_web::sources::{CallsUp, Live, LiveSnapshot};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Octets of an answer.
// Limit: size of an answer of the running capture
// Beyond: the answer is not used
// Seen in: `/healthz` and the page System
pub const ANSWER_OCTETS_MAX: u64 = 8 << 20;

/// The run on a data folder, if there is one: it may come, end and start again.
pub struct There {
    socket: PathBuf,
}

impl There {
    /// Of this data folder.
    pub fn new(data: &Path) -> Self {
        There { socket: path(data) }
    }

    /// The body of an answer; none where nobody runs.
    fn get(&self, path: &str) -> io::Result<Option<String>> {
        let stream = match connect(&self.socket) {
            Ok(stream) => stream,
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => return Ok(None),
            Err(e) => return Err(e),
        };
        let end = Instant::now() + PATIENCE;
        stream.set_write_timeout(Some(PATIENCE))?;
        (&stream).write_all(format!("GET {path} HTTP/1.1\r\nHost: trunkline\r\n\r\n").as_bytes())?;
        let (mut answer, mut octets) = (Vec::new(), [0; 16 << 10]);
        loop {
            let left = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
            stream.set_read_timeout(Some(left.ok_or(ErrorKind::TimedOut)?))?;
            match (&stream).read(&mut octets) {
                Ok(0) => return body(&answer).map(Some),
                Ok(read) => answer.extend_from_slice(octets.get(..read).unwrap_or_default()),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
            if answer.len() as u64 > ANSWER_OCTETS_MAX {
                return Err(ErrorKind::FileTooLarge.into());
            }
        }
    }

    /// An answer; none where nobody runs.
    pub fn value<T: DeserializeOwned>(&self, path: &str) -> io::Result<Option<T>> {
        let Some(body) = self.get(path)? else { return Ok(None) };
        serde_json::from_str(&body)
            .map(Some)
            .map_err(|e| io::Error::new(ErrorKind::InvalidData, format!("it is another version of Trunkline: {e}")))
    }

    /// What went wrong, for people.
    pub fn trouble(&self, error: &io::Error) -> String {
        let why = if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
            "it did not answer in time".to_owned()
        } else {
            error.to_string()
        };
        format!("the running capture cannot be read: {}: {why}", self.socket.display())
    }
}

/// What follows the head of an answer with status 200 or 503 (what is unhealthy says why).
fn body(answer: &[u8]) -> io::Result<String> {
    let text = core::str::from_utf8(answer).map_err(|_| ErrorKind::InvalidData)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or(ErrorKind::UnexpectedEof)?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    match status {
        "200" | "503" => Ok(body.to_owned()),
        _ => Err(io::Error::other(format!("it answered {status}"))),
    }
}

impl Live for There {
    fn snapshot(&self) -> Option<LiveSnapshot> {
        self.value(SNAPSHOT).ok().flatten()
    }

    fn calls_up(&self, limit: usize) -> CallsUp {
        self.value(&format!("{CALLS}{limit}")).ok().flatten().unwrap_or_default()
    }

    fn metrics(&self) -> String {
        self.get("/metrics").ok().flatten().unwrap_or_default()
    }

    fn health(&self) -> Vec<String> {
        match self.value::<LiveSnapshot>(SNAPSHOT) {
            Ok(snapshot) => snapshot.map(|s| s.unhealthy).unwrap_or_default(),
            Err(error) => vec![self.trouble(&error)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    fn answering(answer: &'static str) -> (tempfile::TempDir, There) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("spool")).unwrap();
        let listener = UnixListener::bind(path(folder.path())).unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = (&stream).read(&mut [0; 1024]);
                let _ = (&stream).write_all(answer.as_bytes());
            }
        });
        let there = There::new(folder.path());
        (folder, there)
    }

    #[test]
    fn where_nobody_runs_nothing_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let there = There::new(folder.path());
        assert_eq!((there.snapshot(), there.health(), there.metrics()), (None, Vec::new(), String::new()));
        // A socket that was left behind.
        std::fs::create_dir(folder.path().join("spool")).unwrap();
        drop(UnixListener::bind(path(folder.path())).unwrap());
        assert_eq!((there.snapshot(), there.health()), (None, Vec::new()));
    }

    #[test]
    fn what_is_no_answer_is_told_as_unhealthy() {
        for (answer, part) in [
            ("HTTP/1.1 200 OK\r\n\r\n{\"at\": 1}", "another version"),
            ("HTTP/1.1 404 Not Found\r\n\r\n", "it answered 404"),
            ("", "unexpected end of file"),
        ] {
            let (_folder, there) = answering(answer);
            let health = there.health();
            assert!(health.len() == 1 && health[0].contains(part), "{health:?}");
            assert_eq!((there.snapshot(), there.calls_up(9)), (None, CallsUp::default()));
        }
        let (_folder, there) = answering("HTTP/1.1 200 OK\r\n\r\n{\"total\": 7, \"calls\": []}");
        assert_eq!(there.calls_up(5).total, 7);
    }
}
