//! Files of received records of several nodes: each writes them out of the ledger, in files that are the same octet by
//! octet. What a file holds and where it ends follows from entries and their times alone.

use super::Files;
use crate::account::{Effect, Entry};
use crate::gateway::{Records, receiver};
use crate::job::post::{Owner, Post};
use crate::job::records::Told;
use crate::session::RECEIVED;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use trunkline_commit::{Disk, Follower, Snapshot};

/// How often it looks for new entries.
const PERIOD: Duration = Duration::from_millis(200);
/// How long it waits after a failure.
const AGAIN: Duration = Duration::from_secs(1);
/// Entries without records since the cursor was written last.
const CURSOR_ENTRIES: u64 = 100_000;
/// Entries after which it looks whether it is to end.
const ENTRIES: u64 = 10_000;

/// Where files of received records go.
#[derive(Clone, Debug)]
pub struct ReceivedSetup {
    /// Their folder.
    pub files: PathBuf,
    /// Who takes them, in their names: the same on all nodes.
    pub node: String,
}

/// The thread; dropped, it writes what it has, and ends.
pub struct Received {
    ends: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Received {
    /// Begins to follow a ledger.
    pub fn start<L>(ledger: Arc<L>, setup: ReceivedSetup, told: Arc<Told>, post: Arc<Post>) -> std::io::Result<Received>
    where
        L: Disk + Send + Sync + 'static,
        L::File: Send + 'static,
    {
        let (ends, ended) = channel();
        // What it needs is not known yet: nothing of the ledger is given up.
        told.set_received(0);
        let runner = Runner { ledger, setup, told, post, ended };
        let thread = std::thread::Builder::new().name("charge-received".to_owned()).spawn(move || runner.run())?;
        Ok(Received { ends: Some(ends), thread: Some(thread) })
    }

    /// Whether it has failed: it ends by itself otherwise never.
    pub fn has_failed(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        drop(self.ends.take());
        // A panic of it was told when it happened.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

struct Runner<L> {
    ledger: Arc<L>,
    setup: ReceivedSetup,
    told: Arc<Told>,
    post: Arc<Post>,
    ended: Receiver<()>,
}

impl<L: Disk> Runner<L> {
    fn run(&self) {
        // Where the system does not let it be lower it is as all others.
        let _lower = rustix::process::nice(10);
        let mut work = None;
        loop {
            let done = self.step(&mut work);
            let wait = match &done {
                Ok(true) => Duration::ZERO,
                Ok(false) => PERIOD,
                Err(_) => AGAIN,
            };
            if let Some(why) = self.told.set_received_failure(done.err()) {
                tracing::error!("charging: received records cannot be written, the ledger keeps them: {why}");
            }
            if self.ended.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
    }

    /// Whether there is more to do at once.
    fn step(&self, work: &mut Option<Work<L>>) -> Result<bool, String> {
        let mut open = match work.take() {
            Some(open) => open,
            None => Work::open(&*self.ledger, &self.setup)?,
        };
        if open.files.waits() || !open.queue.is_empty() {
            // What could not be written goes first: nothing more is read meanwhile.
            if let Err(why) = open.pass_on().and_then(|()| open.commit()) {
                *work = Some(open);
                return Err(why);
            }
        }
        let durable = self.post.durable();
        let end = open.follower.next().saturating_add(ENTRIES);
        let mut more = true;
        while more && open.follower.next() < end {
            more = open.block(&*self.ledger, durable)?;
            if let Err(why) = open.pass_on() {
                // What was read is kept, and tried again.
                *work = Some(open);
                return Err(why);
            }
        }
        let (committed, is_old) = (open.commit(), open.files.is_old(self.post.now()));
        let entry = open.files.entry();
        *work = Some(open);
        committed?;
        self.told.set_received(entry);
        if !more && is_old {
            self.post.tick();
        }
        Ok(more)
    }
}

/// The receiver's entries on their way into files.
struct Work<L: Disk> {
    follower: Follower<L>,
    state: receiver::State,
    files: Files,
    /// What was read and is not in the files yet: entries, their times, and what passes to billing by them.
    queue: VecDeque<(u64, i64, Vec<Records>)>,
}

impl<L: Disk> Work<L> {
    /// Goes on from what the files have.
    fn open(ledger: &L, setup: &ReceivedSetup) -> Result<Work<L>, String> {
        let files = Files::open_shared(&setup.files, &setup.node);
        let files = files.map_err(|error| format!("{}: {error}", setup.files.display()))?;
        let opening = Snapshot::opening(ledger).map_err(|fault| fault.to_string())?.map_or(0, |opening| opening.last);
        // A new folder begins with what is there.
        let is_new = files.entry() == 0;
        let (state, from) = state_at(ledger, if is_new { opening } else { files.entry() })?;
        if files.entry() < opening && (!is_new || state.sequence() > 0) {
            return Err(format!(
                "the ledger gives up what is before entry {opening}, and received records are in files up to entry \
                 {}: this node needs a copy of another node's folder of received records, too",
                files.entry()
            ));
        }
        Ok(Work { follower: Follower::new(from + 1), state, files, queue: VecDeque::new() })
    }

    /// Reads the next block of the ledger; whether there was one.
    fn block(&mut self, ledger: &L, durable: u64) -> Result<bool, String> {
        let Work { follower, state, files, queue } = self;
        let mut see = |number: u64, _, record: &[u8]| {
            let entry = Entry::of_record(number, record)?;
            let mut passed = Vec::new();
            for effect in &entry.effects {
                if let Effect::Received { entry } = effect {
                    passed.extend(state.fold(entry));
                }
            }
            if number > files.entry() {
                queue.push_back((number, entry.at, passed));
            }
            Ok(())
        };
        follower.poll(ledger, durable, &mut see).map_err(|fault| fault.to_string())
    }

    fn pass_on(&mut self) -> Result<(), String> {
        while let Some((entry, at, passed)) = self.queue.front_mut() {
            self.files.turn(*entry, *at).map_err(|error| error.to_string())?;
            while let Some(records) = passed.first() {
                if let Some(packet) = records.packet() {
                    self.files.append(*entry, &packet, *at).map_err(|error| error.to_string())?;
                }
                passed.remove(0);
            }
            self.queue.pop_front();
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), String> {
        let last = self.follower.next() - 1;
        if self.files.waits() || last >= self.files.entry() + CURSOR_ENTRIES {
            self.files.commit(last).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// What is known of received records up to an entry, out of the newest snapshot before it: that, and where it stands.
/// What comes after it is read again.
fn state_at<L: Disk>(ledger: &L, entry: u64) -> Result<(receiver::State, u64), String> {
    let snapshots = Snapshot::all(ledger).map_err(|fault| fault.to_string())?;
    let opening = Snapshot::opening(ledger).map_err(|fault| fault.to_string())?;
    let all = snapshots.into_iter().chain(opening).filter(|snapshot| snapshot.last <= entry);
    let Some(snapshot) = all.max_by_key(|snapshot| snapshot.last) else {
        return Ok((receiver::State::default(), 0));
    };
    let mut restoring = None::<receiver::Restoring>;
    let take = |record: &[u8]| match record.split_first() {
        Some((&RECEIVED, piece)) => restoring.get_or_insert_default().take(piece).map_err(|none| none.to_string()),
        _ => Ok(()),
    };
    snapshot.each(ledger, take).map_err(|fault| fault.to_string())?;
    let state = restoring.map(receiver::Restoring::state).transpose().map_err(|none| none.to_string())?;
    Ok((state.unwrap_or_default(), snapshot.last))
}
