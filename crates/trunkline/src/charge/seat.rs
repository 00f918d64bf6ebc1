//! A node of several: it follows until it leads, serves until it leads no longer, and follows again.

use super::configured;
use super::records;
use crate::failure::Failure;
use crate::run::config::{Cdr, Charge, ChargeGtpp, Standby};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use trunkline_charge::job::records::Told;
use trunkline_charge::job::{
    Node, Recorded, Retaining, Seen, Standing, Won, records_of, retain_here, retain_of, stand_by,
};
use trunkline_kit::place;
use trunkline_kit::secret;
use trunkline_replica::Options;

/// How often it looks whether it is to end, or leads no longer.
const LOOK: Duration = Duration::from_millis(20);
/// How long it waits at its end until a handover is acknowledged.
const HAND_OVER_LOOKS: usize = 100;
/// How long somebody who operates a standby may say nothing.
const PATIENCE: Duration = Duration::from_millis(500);
const STANDS_BY: &str = "this node is on standby: ask the leader";

/// What is set up.
#[derive(Clone)]
pub struct Setup {
    /// Of charging.
    pub charge: Charge,
    /// Of GTP'.
    pub gtpp: ChargeGtpp,
    /// Of records, which each node makes for itself.
    pub cdr: Cdr,
    /// Of those who stand by.
    pub standby: Standby,
    /// What it needs to lead.
    pub ready: configured::Ready,
    /// The data folder.
    pub data: PathBuf,
    /// Told when this node serves, and when it stands by.
    pub tells: fn(&Setup, Option<&Node>),
}

/// The node while it runs; dropped, it is ended.
pub struct Seat {
    ends: Arc<AtomicBool>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    /// While it leads.
    node: Mutex<Option<Node>>,
    seen: Mutex<Seen>,
    failure: OnceLock<String>,
    led: AtomicU64,
    /// How records get on.
    told: Arc<Told>,
    /// What is to be given up of the ledger.
    retaining: Arc<Retaining>,
}

impl Seat {
    /// Begins to follow, or to lead.
    ///
    /// # Errors
    /// The options make no sense; the folder cannot be had; there is no thread left.
    pub fn start(setup: Setup) -> Result<Seat, Failure> {
        let told = Arc::<Told>::default();
        let retaining = Arc::<Retaining>::default();
        let standing = standing(&setup, &told, &retaining)?;
        let shared = Arc::new(Shared {
            node: Mutex::new(None),
            seen: Mutex::default(),
            failure: OnceLock::new(),
            led: AtomicU64::new(0),
            told,
            retaining,
        });
        let ends = Arc::new(AtomicBool::new(false));
        let (seat, end) = (Arc::clone(&shared), Arc::clone(&ends));
        let runs = move || {
            if let Err(why) = seat.run(&setup, &standing, &end) {
                tracing::error!("charging: {why}");
                // The first reason is the reason.
                let _first = seat.failure.set(why);
            }
        };
        let thread = std::thread::Builder::new().name("charge-seat".to_owned()).spawn(runs);
        let thread = thread.map_err(|e| Failure::Failed(format!("charging: {e}")))?;
        Ok(Seat { ends, shared, thread: Some(thread) })
    }

    /// How records get on, whether it leads or not.
    pub fn records(&self) -> &Arc<Told> {
        &self.shared.told
    }

    /// The node that it is while it leads.
    pub fn node(&self) -> MutexGuard<'_, Option<Node>> {
        self.shared.node.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it has seen as a standby, last.
    pub fn seen(&self) -> Seen {
        self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often it began to lead.
    pub fn led(&self) -> u64 {
        self.shared.led.load(Ordering::Relaxed)
    }

    /// Why it neither follows nor leads, if so.
    pub fn failure(&self) -> Option<String> {
        let over = self.thread.as_ref().is_some_and(JoinHandle::is_finished) && !self.ends.load(Ordering::Relaxed);
        // Its thread sets the reason before it ends, but where it panics.
        let known = self.shared.failure.get().cloned();
        known.or_else(|| over.then(|| "the thread of the node has failed".to_owned()))
    }

    /// Ends it: a leader hands over.
    pub fn stop(&self) {
        self.ends.store(true, Ordering::Relaxed);
        // Its thread ends soon, and is waited for where this is dropped.
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            std::thread::park_timeout(LOOK);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // A panic of it was told when it happened.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

impl Shared {
    fn run(&self, setup: &Setup, standing: &Standing, ends: &AtomicBool) -> Result<(), String> {
        let is_over = || ends.load(Ordering::Relaxed);
        while !is_over() {
            (setup.tells)(setup, None);
            let desk = Desk::open(&configured::socket(&setup.data), self)?;
            let mut said = None;
            let mut tell = |seen: &Seen| {
                if said.as_ref() != Some(&seen.away) {
                    if let Some(why) = &seen.away {
                        tracing::warn!("charging: the stream is disconnected: {why}");
                    }
                    said = Some(seen.away.clone());
                }
                seen.clone_into(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
                desk.serve();
            };
            let won = stand_by(standing, &is_over, &mut tell).map_err(|fault| fault.to_string())?;
            drop(desk);
            if let Some(won) = won {
                self.lead(setup, won, &is_over)?;
            }
        }
        Ok(())
    }

    fn lead(&self, setup: &Setup, won: Won, is_over: &dyn Fn() -> bool) -> Result<(), String> {
        let term = won.terms.newest().number;
        tracing::info!("charging: this node leads, term {term}");
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).term = term;
        let forward = records::forwarding(&setup.cdr, &setup.data);
        let node = configured::lead(won, &setup.ready, forward).map_err(told)?;
        self.led.fetch_add(1, Ordering::Relaxed);
        (setup.tells)(setup, Some(&node));
        *self.node.lock().unwrap_or_else(PoisonError::into_inner) = Some(node);
        let (mut failure, mut parted) = (None, None);
        while !is_over() && failure.is_none() && parted.is_none() {
            std::thread::park_timeout(LOOK);
            (failure, parted) = self.with(|node| (node.failure(), node.parted()));
        }
        if failure.is_none() && parted.is_none() {
            self.hand_over();
        }
        let mut node = self.node.lock().unwrap_or_else(PoisonError::into_inner).take();
        let stopped = node.as_mut().map_or(Ok(()), Node::stop);
        if let Some(why) = parted {
            tracing::warn!("charging: this node leads no longer: {why}");
        }
        match failure {
            Some(why) => Err(format!("the ledger cannot be written: {why}")),
            None => stopped.map_err(|failed| failed.to_string()),
        }
    }

    fn with<T: Default>(&self, does: impl FnOnce(&Node) -> T) -> T {
        self.node.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(does).unwrap_or_default()
    }

    /// Another one is to lead at once, and not after a silence.
    fn hand_over(&self) {
        // Where it cannot, the others wait.
        let _refused = self.with(|node| node.hand_over().err());
        for _ in 0..HAND_OVER_LOOKS {
            if self.with(Node::parted).is_some() {
                return;
            }
            std::thread::park_timeout(LOOK);
        }
    }
}

/// The socket of those who operate a node, as long as it stands by.
struct Desk<'a> {
    listener: UnixListener,
    path: PathBuf,
    shared: &'a Shared,
}

impl<'a> Desk<'a> {
    fn open(path: &Path, shared: &'a Shared) -> Result<Desk<'a>, String> {
        let told = |error: std::io::Error| format!("{}: {error}", path.display());
        if UnixStream::connect(path).is_ok() {
            return Err(format!("{}: another process listens there", path.display()));
        }
        // One that nobody listens to any more is replaced.
        let _absent = std::fs::remove_file(path);
        let listener = UnixListener::bind(path).map_err(told)?;
        place::open_socket_to(path, configured::CONTROL_MODE).map_err(told)?;
        listener.set_nonblocking(true).map_err(told)?;
        Ok(Desk { listener, path: path.to_path_buf(), shared })
    }

    /// Answers whoever has come.
    fn serve(&self) {
        while let Ok((stream, _)) = self.listener.accept() {
            // Somebody who goes away is not missed.
            let _gone = self.answer(&stream);
        }
    }

    fn answer(&self, mut stream: &UnixStream) -> std::io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        let order: Value = serde_json::from_str(&line).unwrap_or_default();
        let seen = self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let reply = match order["do"].as_str() {
            Some("status") => json!({
                "stands_by": true,
                "sequence": seen.sequence,
                "term": seen.term,
                "leader": seen.leader,
                "away": seen.away,
                "records": records_of(&self.shared.told),
                "retain": retain_of(&self.shared.retaining.state()),
            }),
            Some("retain") => retain_here(&self.shared.retaining, &order),
            _ => json!({ "error": STANDS_BY }),
        };
        stream.write_all(format!("{reply}\n").as_bytes())
    }
}

impl Drop for Desk<'_> {
    fn drop(&mut self) {
        // The next node replaces it anyway.
        let _absent = std::fs::remove_file(&self.path);
    }
}

fn standing(setup: &Setup, told: &Arc<Told>, retaining: &Arc<Retaining>) -> Result<Standing, Failure> {
    let limits = configured::limits(&setup.charge);
    let records = records::of_several(&setup.charge, &setup.cdr, &setup.data)?;
    let sent_on = !setup.cdr.send.is_empty();
    let records = Some(Recorded { setup: records, told: Arc::clone(told), sent_on });
    let (ledger, log) = (configured::ledger(&setup.data), trunkline_commit::Options::default());
    let received = super::gtpp::received(&setup.charge, &setup.gtpp, &setup.data);
    Ok(Standing {
        replica: setup.ready.replica().clone(),
        ledger,
        log,
        limits,
        records,
        received,
        retaining: Arc::clone(retaining),
    })
}

/// How it takes part, with the password and the certificates that it needs: they are read while they may be.
///
/// # Errors
/// A name is none; a file cannot be read.
pub fn replica(standby: &Standby) -> Result<Options, Failure> {
    let Standby { servers, node, stream, replicas, after, size, user, password_file, ca_file } = standby.clone();
    for (key, name) in [("node", &node), ("stream", &stream)] {
        if !Options::is_name(name) {
            let what = format!("charge.standby.{key}: \"{name}\" is no name of letters, digits, - and _");
            return Err(Failure::Usage(what));
        }
    }
    let wrong = |path: &Path, error| Failure::Failed(format!("charge.standby.ca-file: {}: {error}", path.display()));
    let issuers = ca_file.map(|path| std::fs::read(&path).map_err(|error| wrong(&path, error))).transpose()?;
    Ok(Options {
        servers: servers.into_iter().map(|server| server.0).collect(),
        user,
        password: password_file.as_deref().map(password).transpose()?,
        issuers: issuers.map(Vec::into_boxed_slice),
        stream,
        node,
        replicas: u8::try_from(replicas).unwrap_or(u8::MAX),
        stream_octets: size.0,
        silence: after,
    })
}

fn told(failure: Failure) -> String {
    match failure {
        Failure::Usage(why) | Failure::Failed(why) | Failure::Damaged(why) => why,
        Failure::NobodyReads => "nobody reads what it says".to_owned(),
    }
}

/// The first line of a file.
fn password(path: &Path) -> Result<String, Failure> {
    let wrong = |what: String| Failure::Failed(format!("charge.standby.password-file: {}: {what}", path.display()));
    let octets = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let line = secret::first_line(&octets).ok_or_else(|| wrong("its first line is empty".to_owned()))?;
    String::from_utf8(line.to_vec()).map_err(|_| wrong("its first line is no text".to_owned()))
}
