//! Warming up from a peer: a thread of its own reads which keys another cache has, fetches them, and adds those that
//! nobody has changed here since the start (Nishtala et al., "Scaling Memcache at Facebook", NSDI 2013, section 4.3).
//!
//! What a client stored or deleted here wins, always: changes are noted from before the first request on, under the
//! same lock under which an item of the peer is added ([`Store::note_changes`]).

mod stream;
mod transfer;

use super::Clock;
use crate::store::Store;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use transfer::Transfer;

/// Times that a peer is tried without an item more, until it is given up.
// Limit: attempts to fetch items from a peer without progress
// Beyond: the peer is given up
// Seen in: the log
const TRIES_MAX: u32 = 6;
/// How long is waited before the second try; each time twice as long.
const BACK_OFF: Duration = Duration::from_millis(250);

/// A connection to a peer. Its reads and writes must return within a second or so, with [`io::ErrorKind::WouldBlock`]
/// or [`io::ErrorKind::TimedOut`] if nothing comes or goes.
pub trait PeerStream: Read + Write + Send {}
impl<T: Read + Write + Send> PeerStream for T {}

/// Connects to the peer.
pub type Connect = Box<dyn Fn() -> io::Result<Box<dyn PeerStream>> + Send>;

/// A peer to warm up from.
pub struct WarmUp {
    /// Connects to it.
    pub connect: Connect,
    /// Octets of values a second, at most.
    pub octets_per_s: u64,
}

impl std::fmt::Debug for WarmUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WarmUp").field("octets_per_s", &self.octets_per_s).finish_non_exhaustive()
    }
}

/// How a warm-up goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warmed {
    /// Items that were added.
    pub items: u64,
    /// Octets of their values.
    pub octets: u64,
    /// Items of the peer that were not added: they were here, or changed here, or were gone, stale, or too large.
    pub skipped: u64,
    /// Milliseconds since it began, or that it took.
    pub ms: u64,
    /// How it ended, if it has.
    pub ending: Option<Ending>,
}

/// How a warm-up ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All that the peer had is here.
    Done,
    /// Everything was flushed, or so many keys were changed that they cannot be told apart any more.
    Overtaken,
    /// Memory is full: more would evict what was stored here.
    Full,
    /// The cache ends.
    Stopped,
    /// The peer does not tell its keys: what it says.
    Refused(String),
    /// The peer is gone, or speaks something else: why.
    Lost(String),
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ending::Done => f.write_str("done"),
            Ending::Overtaken => f.write_str("ended early: flushed, or too many keys changed here meanwhile"),
            Ending::Full => f.write_str("ended early: memory is full"),
            Ending::Stopped => f.write_str("stopped"),
            Ending::Refused(text) => write!(f, "refused by the peer: {text}"),
            Ending::Lost(why) => write!(f, "given up: {why}"),
        }
    }
}

impl Ending {
    /// One word, for `stats`.
    pub fn word(&self) -> &'static str {
        match self {
            Ending::Done => "done",
            Ending::Overtaken => "overtaken",
            Ending::Full => "full",
            Ending::Stopped => "stopped",
            Ending::Refused(_) => "refused",
            Ending::Lost(_) => "lost",
        }
    }
}

/// What the thread tells others.
#[derive(Debug)]
pub struct Progress {
    began: Instant,
    items: AtomicU64,
    octets: AtomicU64,
    skipped: AtomicU64,
    /// How it ended, and after how many milliseconds.
    ending: Mutex<Option<(Ending, u64)>>,
}

impl Progress {
    fn new() -> Arc<Self> {
        let (items, octets, skipped, ending) = (0.into(), 0.into(), 0.into(), Mutex::default());
        Arc::new(Progress { began: Instant::now(), items, octets, skipped, ending })
    }

    /// How it goes.
    pub fn warmed(&self) -> Warmed {
        let ended = self.ending.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let ms = ended.as_ref().map_or_else(|| self.began.elapsed().as_millis() as u64, |(_, ms)| *ms);
        Warmed {
            items: self.items.load(Relaxed),
            octets: self.octets.load(Relaxed),
            skipped: self.skipped.load(Relaxed),
            ms,
            ending: ended.map(|(ending, _)| ending),
        }
    }

    fn end(&self, ending: Ending) {
        let ms = self.began.elapsed().as_millis() as u64;
        *self.ending.lock().unwrap_or_else(PoisonError::into_inner) = Some((ending, ms));
    }
}

/// The thread; dropped, it ends within a second or so.
#[derive(Debug)]
pub struct Warming {
    progress: Arc<Progress>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Warming {
    /// Begins. The store has been told to note changes, before anybody could make one.
    ///
    /// # Errors
    /// The system has no thread.
    pub fn start(warm_up: WarmUp, store: &Arc<Store>, clock: Clock) -> io::Result<Self> {
        let (progress, ended) = (Progress::new(), Arc::new(AtomicBool::new(false)));
        let (told, end, store) = (Arc::clone(&progress), Arc::clone(&ended), Arc::clone(store));
        let thread = std::thread::Builder::new().name("cache-warm".to_owned()).spawn(move || {
            let ending = warm(&warm_up, &store, clock, &told, &end);
            store.end_notes();
            told.end(ending);
        })?;
        Ok(Warming { progress, ended, thread: Some(thread) })
    }

    /// What it tells.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }
}

impl Drop for Warming {
    fn drop(&mut self) {
        self.ended.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It does not panic; if it did, there is nothing to be done about it here.
            let _ = thread.join();
        }
    }
}

/// Why a try came to no end.
enum Broken {
    /// It makes no sense to go on.
    End(Ending),
    /// The peer may be back later.
    Peer(String),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // Only when it was told to end does a wait end so.
            io::ErrorKind::Interrupted => Broken::End(Ending::Stopped),
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Broken::Peer("no answer in time".to_owned()),
            io::ErrorKind::UnexpectedEof => Broken::Peer("it closed the connection".to_owned()),
            _ => Broken::Peer(error.to_string()),
        }
    }
}

/// Tries until it comes to an end.
fn warm(warm_up: &WarmUp, store: &Arc<Store>, clock: Clock, progress: &Progress, ended: &AtomicBool) -> Ending {
    let mut transfer = Transfer::new(warm_up, store, clock, progress, ended);
    let (mut tries, mut items) = (0, 0);
    loop {
        let why = match transfer.run() {
            Ok(()) => return Ending::Done,
            Err(Broken::End(ending)) => return ending,
            Err(Broken::Peer(why)) => why,
        };
        let so_far = progress.items.load(Relaxed);
        tries = if so_far > items { 1 } else { tries + 1 };
        items = so_far;
        if tries >= TRIES_MAX {
            return Ending::Lost(why);
        }
        if pause(BACK_OFF * 2u32.pow(tries - 1), ended) {
            return Ending::Stopped;
        }
    }
}

/// Waits. Whether it was told to end meanwhile.
fn pause(most: Duration, ended: &AtomicBool) -> bool {
    let until = Instant::now() + most;
    while !ended.load(Relaxed) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        std::thread::park_timeout(left);
    }
    true
}
