//! What those who look after alerts ask: a line of JSON each way, over a unix socket. An answer comes when what it
//! tells is on disk.
//!
//! ```text
//!   {"do":"list"}  ->  {"alerts":[{"id":"..","rule":"uplink-full","state":"firing",..}],..}
//!   {"do":"silence","when":["device = edge-1"],"for_s":7200,"by":"anna"}  ->  {"silence":".."}
//!   {"do":"acknowledge","alert":"0192..","by":"anna"}  ->  {"alert":".."}
//! ```
//!
//! Who asks for somebody from whom devices are hidden asks first what alerts name (`named`), and then says what of that
//! is seen (`seen`): the rest is answered as if it did not exist. What has no `seen` tells of all devices.

mod asked;
pub mod exercise;
mod orders;
mod reports;
mod sight;
mod told;

use super::Alerts;
use crate::rule::Rules;
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use trunkline_kit::place;

/// Octets of a line.
const LINE_OCTETS_MAX: u64 = 4 << 20;
/// Connections at a time; one more is refused with a word.
// Limit: connections to the alert job
// Beyond: a further connection is refused
// Seen in: the error message "too many connections"
const CONNECTIONS_MAX: usize = 64;
/// Who may connect: who runs it.
const MODE: u32 = 0o600;

/// The socket, open until it is dropped.
pub struct Control {
    shared: Arc<Served>,
    listens: Option<JoinHandle<()>>,
}

/// Reads the rules again; what is wrong with them, if they cannot be taken.
type Again = Box<dyn Fn() -> Result<Rules, String> + Send + Sync>;

/// What connections share.
struct Served {
    path: PathBuf,
    alerts: Arc<Alerts>,
    again: Again,
    ends: AtomicBool,
    count: AtomicUsize,
    /// Those that are open, to be ended with the socket.
    open: Mutex<Vec<(usize, UnixStream)>>,
}

/// Why something is not done: a word for programs, and a sentence.
#[derive(Debug)]
struct Fault {
    kind: &'static str,
    why: String,
}

impl Fault {
    fn new(kind: &'static str, why: impl ToString) -> Fault {
        Fault { kind, why: why.to_string() }
    }

    fn absent(what: &str, name: &str) -> Fault {
        Fault::new("not-found", format!("there is no {what} '{name}'"))
    }
}

impl Control {
    /// Listens at a path; a socket that nobody listens on gives way. `again` reads the rules again.
    ///
    /// # Errors
    /// The system's: AddrInUse if somebody listens there.
    pub fn serve(
        alerts: Arc<Alerts>,
        again: impl Fn() -> Result<Rules, String> + Send + Sync + 'static,
        path: &Path,
    ) -> io::Result<Control> {
        let is_stale = UnixStream::connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused);
        if is_stale {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        place::open_socket_to(path, MODE)?;
        let shared = Arc::new(Served {
            path: path.to_owned(),
            alerts,
            again: Box::new(again),
            ends: AtomicBool::new(false),
            count: AtomicUsize::new(0),
            open: Mutex::new(Vec::new()),
        });
        let served = Arc::clone(&shared);
        let named = std::thread::Builder::new().name("alert-control".to_owned());
        let listens = named.spawn(move || served.listen(&listener))?;
        Ok(Control { shared, listens: Some(listens) })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::SeqCst);
        // The thread that accepts waits for somebody.
        let _ = UnixStream::connect(&self.shared.path);
        if let Some(Err(_)) = self.listens.take().map(JoinHandle::join) {
            tracing::error!("a thread of alerts failed; this is a defect of Trunkline");
        }
        for (_, stream) in self.shared.open().drain(..) {
            // One that has gone needs no end.
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        let _ = std::fs::remove_file(&self.shared.path);
    }
}

impl Served {
    fn open(&self) -> std::sync::MutexGuard<'_, Vec<(usize, UnixStream)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(self: &Arc<Self>, listener: &UnixListener) {
        for stream in listener.incoming() {
            if self.ends.load(Ordering::SeqCst) {
                return;
            }
            match stream {
                Ok(stream) => self.accept(stream),
                // No descriptors: those that are open end some time.
                Err(error) => {
                    tracing::warn!("alerts: nobody can connect: {error}");
                    std::thread::park_timeout(std::time::Duration::from_millis(100));
                }
            }
        }
    }

    fn accept(self: &Arc<Self>, stream: UnixStream) {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open();
        if open.len() >= CONNECTIONS_MAX {
            drop(open);
            // Who does not read it sees the end all the same.
            let _ = writeln!(&stream, "{}", json!({ "error": "too many connections", "kind": "busy" }));
            return;
        }
        let Ok(copy) = stream.try_clone() else { return };
        open.push((number, copy));
        drop(open);
        let served = Arc::clone(self);
        let named = std::thread::Builder::new().name("alert-control".to_owned());
        let runs = named.spawn(move || {
            // Who goes away in the midst of it is nobody's trouble.
            let _ = served.talk(&stream);
            served.open().retain(|(other, _)| *other != number);
        });
        if let Err(error) = runs {
            tracing::warn!("alerts: a connection is refused: {error}");
            self.open().retain(|(other, _)| *other != number);
        }
    }

    fn talk(&self, stream: &UnixStream) -> io::Result<()> {
        let mut reads = BufReader::new(stream);
        let mut line = Vec::new();
        loop {
            line.clear();
            let octets = (&mut reads).take(LINE_OCTETS_MAX).read_until(b'\n', &mut line)?;
            if octets == 0 {
                return Ok(());
            }
            if line.last() != Some(&b'\n') && octets as u64 >= LINE_OCTETS_MAX {
                return writeln!(&*stream, "{}", json!({ "error": "the line is too long", "kind": "bad-request" }));
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            let answer = self.answer(&line);
            let mut text = answer.to_string();
            text.push('\n');
            (&*stream).write_all(text.as_bytes())?;
        }
    }

    fn answer(&self, line: &[u8]) -> Value {
        let order = serde_json::from_slice(line).map_err(|error| Fault::new("bad-request", error));
        let answer = order.and_then(|order| orders::carry_out(self, order));
        answer.unwrap_or_else(|fault| json!({ "error": fault.why, "kind": fault.kind }))
    }
}
