//! The book: the core, and what it decided on its way to the disk.

mod told;

pub(super) use told::Told;

use crate::account::{Entry, FORMAT_VERSION, Octets, Recording};
use crate::calendar::Moment;
use crate::clock::{Clock, Found};
use crate::gateway::{receiver, sender};
use crate::gy::Overload;
use crate::profile::Known;
use crate::quota::{self, Charge, Late, Mapping, Recent, What};
use crate::session::{Answer, Core, Kind, Mark, Once, OrderKey, Outcome, Push, Refused, Request, code};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use trunkline_commit::{Committer, Disk, Log, Options};
use trunkline_kit::config::Mistake;
use trunkline_replica::{Leader, Member, Trouble};
use trunkline_wire::diameter::credit::OverloadReport;

/// Of what may wait for the disk, so much may before new sessions and events are refused, and before everything is.
pub const BUSY_PERCENT: [usize; 2] = [25, 75];
/// What an operator is told then.
const BEHIND: &str = "the disk is behind or full: nothing is changed";
/// Why it ends after a panic.
const PANICKED: &str = "a thread failed while it decided, and what is in memory may be a change half done";
/// Octets that the outbox keeps when it is empty.
const KEPT_OCTETS: usize = 1 << 20;

/// See the module.
#[derive(Debug)]
pub(super) struct Book {
    inner: Mutex<Inner>,
    committer: Committer,
    /// Where others stand by: entries count when the stream has them, too.
    leader: Option<Leader>,
    /// It hands over: nothing is decided any more.
    hands_over: AtomicBool,
    /// Octets that may wait, and why nothing can be written any more.
    waiting_octets: usize,
    told: Arc<Told>,
    /// How records of it get on, where any are made.
    records: Option<Arc<super::records::Told>>,
}

#[derive(Debug)]
struct Inner {
    core: Core,
    /// Requests by GTP' of which copies may come.
    recent: Recent,
    outbox: Outbox,
    /// The log did not take the outbox last time.
    is_stuck: bool,
    overload: Overload,
    clock: Clock,
}

/// How the stream stands that others follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The last entry that it has acknowledged.
    pub acknowledged: u64,
    /// Octets that wait for it.
    pub waiting_octets: usize,
    /// Whether it has taken something lately: else nothing is granted.
    pub is_current: bool,
}

impl Stream {
    /// What is wrong with it, if something is.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        (!self.is_current).then(|| "charging grants nothing: the stream does not acknowledge".to_owned())
    }
}

/// Entries that are on their way to the log, in order.
#[derive(Debug, Default)]
struct Outbox {
    octets: Vec<u8>,
    ends: Vec<usize>,
}

impl Outbox {
    fn put(&mut self, entry: &Entry) {
        self.octets.push(FORMAT_VERSION);
        entry.put(&mut self.octets);
        self.ends.push(self.octets.len());
    }

    fn records(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let begins = core::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.octets[begin..*end])
    }

    fn clear(&mut self) {
        self.octets.clear();
        self.octets.shrink_to(KEPT_OCTETS);
        self.ends.clear();
    }
}

/// The core, held for some requests.
pub(super) struct Desk<'a> {
    inner: MutexGuard<'a, Inner>,
    /// How far the disk is behind, percent of what may wait.
    behind: usize,
    /// Whether records are too far behind for a session to begin.
    holds: bool,
}

/// See [`Book::loose`].
#[derive(Debug)]
pub(super) struct Loose(Mutex<Inner>);

impl Loose {
    pub fn desk(&self) -> Desk<'_> {
        Desk { inner: self.0.lock().unwrap_or_else(PoisonError::into_inner), behind: 0, holds: false }
    }
}

impl Book {
    /// A core that is decided with and has no log, for what is exercised without a disk.
    pub fn loose(core: Core) -> Loose {
        let (recent, outbox, clock) =
            (Recent::default(), Outbox::default(), Clock::new(Duration::ZERO, 0, Duration::ZERO));
        Loose(Mutex::new(Inner { core, recent, outbox, is_stuck: false, overload: Overload::default(), clock }))
    }

    pub fn start<D>(
        core: Core,
        recent: Recent,
        log: Log<D>,
        options: Options,
        told: &Arc<Told>,
        records: Option<Arc<super::records::Told>>,
    ) -> std::io::Result<Book>
    where
        D: Disk + Send + Sync + 'static,
        D::File: Send + 'static,
    {
        let tells = Arc::clone(told);
        let committer = Committer::start(log, options, move |progress| tells.tell(&progress))?;
        let outbox = Outbox::default();
        let (wall, now) = super::both_clocks();
        let clock = Clock::new(wall, core.state().latest(), now);
        let inner = Mutex::new(Inner { core, recent, outbox, is_stuck: false, overload: Overload::default(), clock });
        let hands_over = AtomicBool::new(false);
        let (waiting_octets, told) = (options.waiting_octets, Arc::clone(told));
        Ok(Book { inner, committer, leader: None, hands_over, waiting_octets, told, records })
    }

    /// Has the entries go to the stream from now on: those at the end of the log that it does not have yet first.
    pub fn replicate(&mut self, member: Member, tail: &[Vec<u8>]) -> std::io::Result<()> {
        let tells = Arc::clone(&self.told);
        let leads = member.lead(move |progress| tells.tell_published(&progress));
        let leader = leads.map_err(|trouble: Trouble| std::io::Error::other(trouble.to_string()))?;
        leader.append(tail.iter().map(Vec::as_slice));
        self.leader = Some(leader);
        Ok(())
    }

    /// Hands over to a standby behind all that was decided; the last entry.
    ///
    /// # Errors
    /// There is none, or the disk does not take what was decided.
    pub fn hand_over(&self) -> Result<u64, String> {
        let leader = self.leader.as_ref().ok_or("no standby is set up")?;
        self.flush();
        let inner = self.lock();
        if !inner.outbox.ends.is_empty() {
            return Err(BEHIND.to_owned());
        }
        self.hands_over.store(true, Ordering::SeqCst);
        leader.hand_over();
        Ok(inner.core.state().sequence())
    }

    pub fn stream(&self) -> Option<Stream> {
        self.leader.as_ref().map(|leader| Stream {
            acknowledged: leader.acknowledged(),
            waiting_octets: leader.waiting_octets(),
            is_current: leader.is_current(),
        })
    }

    /// Whether this node may decide, as far as others are concerned.
    pub fn leads(&self) -> bool {
        let free = self.told.parted.get().is_none() && !self.hands_over.load(Ordering::SeqCst);
        free && self.leader.as_ref().is_none_or(Leader::is_current)
    }

    /// Who panics while it holds it may have left a change half done: nothing is decided any more, and the node ends.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|poisoned| {
            self.told.fail(PANICKED.to_owned());
            poisoned.into_inner()
        })
    }

    /// Takes the core for some requests.
    pub fn desk(&self) -> Desk<'_> {
        let published = self.leader.as_ref().map_or(0, Leader::waiting_octets);
        let waiting = self.committer.waiting().octets.max(published);
        let inner = self.lock();
        let waiting = waiting + inner.outbox.octets.len();
        let refused = self.committer.refused().is_some() || self.told.failure.get().is_some();
        let stuck = inner.is_stuck || refused || !self.leads();
        let behind = if stuck { 100 } else { waiting.saturating_mul(100) / self.waiting_octets.max(1) };
        Desk { inner, behind, holds: self.records.as_ref().is_some_and(|records| records.holds()) }
    }

    pub fn look<T>(&self, sees: impl FnOnce(&Core) -> T) -> T {
        sees(&self.lock().core)
    }

    /// Hands the outbox to the log. What it does not take stays, and nothing more is taken meanwhile.
    pub fn flush(&self) {
        let mut inner = self.lock();
        if inner.outbox.ends.is_empty() {
            return;
        }
        let taken = self.committer.append(inner.outbox.records());
        inner.is_stuck = taken.is_err();
        match taken {
            Ok(last) => {
                debug_assert_eq!(last, inner.core.state().sequence(), "a record is an entry");
                if let Some(leader) = &self.leader {
                    leader.append(inner.outbox.records());
                }
                inner.outbox.clear();
            }
            Err(why) => tracing::debug!("charging: entries wait for the log: {why}"),
        }
    }

    /// The newest entry that is durable: on the disk, and on the stream where there is one.
    pub fn durable(&self) -> u64 {
        let acknowledged = self.leader.as_ref().map_or(u64::MAX, Leader::acknowledged);
        self.committer.durable().min(acknowledged)
    }

    /// The thread has answers that wait: it is woken when more is durable than is now.
    pub fn wait(&self, thread: u16) {
        self.told.wait(thread);
    }

    pub fn log_counts(&self) -> trunkline_commit::Counts {
        self.committer.counts()
    }

    pub fn replica_counts(&self) -> Option<trunkline_replica::Counts> {
        self.leader.as_ref().map(Leader::counts)
    }

    /// Whether another node leads: nothing of this one will count any more.
    pub fn is_fenced(&self) -> bool {
        self.told.fenced.load(Ordering::Relaxed)
    }

    pub fn parted(&self) -> Option<String> {
        self.told.parted.get().cloned()
    }

    pub fn failure(&self) -> Option<String> {
        self.told.failure()
    }
}

/// An answer, and the entry that has to be durable before it leaves.
#[derive(Debug)]
pub(super) struct Decided {
    pub answer: Answer,
    pub after: u64,
    /// The currency of what it costs.
    pub currency: String,
    /// Whether it is the answer to a copy.
    pub copy: bool,
    /// Whether another client than that of the session asked.
    pub foreign: bool,
}

/// Why an order is not done.
#[derive(Debug)]
pub(super) enum Undone {
    /// The disk is behind or full.
    Behind,
    /// The core refuses.
    Refused(Refused),
}

impl core::fmt::Display for Undone {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Undone::Behind => f.write_str(BEHIND),
            Undone::Refused(refused) => refused.fmt(f),
        }
    }
}

impl Desk<'_> {
    /// How far the disk is behind, percent of what may wait.
    pub fn behind(&self) -> usize {
        self.behind
    }

    /// The time by which to decide, of what the system's clock says.
    pub fn now(&mut self, wall: Moment) -> Moment {
        self.inner.clock.now(wall)
    }

    /// Looks at both clocks.
    pub fn look(&mut self, wall: Duration, now: Duration) -> Option<Found> {
        self.inner.clock.look(wall, now)
    }

    pub fn clock(&self) -> &Clock {
        &self.inner.clock
    }

    /// Whether the disk, and records, keep up well enough for such a request.
    fn takes(&self, kind: Kind) -> bool {
        let begins = kind == Kind::Initial || kind.is_event();
        !(begins && self.holds) && self.behind < BUSY_PERCENT[usize::from(!begins)]
    }

    /// Decides about a request; none of it is durable yet.
    pub fn handle(&mut self, request: &Request, now: Moment) -> Decided {
        let known = if self.takes(request.kind) { None } else { Some(self.inner.core.copy_of(request)) };
        let outcome = match known {
            None => self.inner.core.handle(request, now),
            // What was answered before needs no disk.
            Some(Some(outcome)) => outcome,
            Some(None) => Outcome { answer: Answer::of(code::TOO_BUSY), entry: None, after: 0, foreign: false },
        };
        let copy = outcome.entry.is_none() && outcome.after > 0;
        if let Some(entry) = &outcome.entry {
            self.inner.outbox.put(entry);
        }
        let costs = outcome.answer.cost.and_then(|_| self.inner.core.currency(&request.identities));
        let (currency, foreign) = (costs.unwrap_or_default().to_owned(), outcome.foreign);
        Decided { currency, answer: outcome.answer, after: outcome.after, copy, foreign }
    }

    /// Whether a request goes on with a session that is not open, and is no copy of one that was answered.
    pub fn is_stray(&self, request: &Request, now: Moment) -> bool {
        let core = &self.inner.core;
        let goes_on = matches!(request.kind, Kind::Update | Kind::Terminate);
        let is_copy = || core.copy_of(request).is_some() || core.was_stray(&request.origin, request.end_to_end, now);
        let none = || core.session(&request.session).is_none() || core.is_foreign(&request.session, &request.origin);
        goes_on && none() && !is_copy()
    }

    /// The same of a request of a gateway by GTP'.
    pub fn is_stray_charge(&self, charge: &Charge, now: Moment) -> bool {
        let core = &self.inner.core;
        let was_answered = || core.standing(&charge.session, charge.octets).is_some_and(|standing| standing.copy);
        let is_copy = || was_answered() || core.was_stray(&charge.origin, charge.octets, now);
        charge.what != What::Authorize && core.session(&charge.session).is_none() && !is_copy()
    }

    /// Decides about a request of a gateway by GTP'; what it was to the core.
    ///
    /// # Errors
    /// It is dropped.
    pub fn charge(&mut self, charge: &Charge, now: Moment) -> Result<(Kind, Decided), Late> {
        let Inner { core, recent, .. } = &mut *self.inner;
        let request = quota::request(core, recent, charge, now)?;
        let decided = self.handle(&request, now);
        if decided.after > 0 && !decided.copy {
            let standing = self.inner.core.standing(&charge.session, charge.octets);
            standing.into_iter().for_each(|standing| self.inner.recent.put(standing.slot, charge.octets, now));
        }
        Ok((request.kind, decided))
    }

    /// The name by which a gateway knows the subscriber of a session.
    pub fn user(&self, session: &str, mapping: &Mapping) -> Option<String> {
        let core = &self.inner.core;
        let (_, identities) = core.subscriber(core.session(session)?.subscriber)?;
        let named = |kind| identities.iter().find(|identity| identity.kind == kind);
        mapping.users.iter().find_map(|kind| named(*kind)).map(|identity| identity.text.to_string())
    }

    /// Has the operator's will done, with a key only if it was not done before by that; the entry that has to be
    /// durable before it is told, and whether it was done before.
    ///
    /// # Errors
    /// Why it is not done.
    pub fn once(
        &mut self,
        key: Option<OrderKey>,
        now: Moment,
        does: impl FnOnce(&mut Core) -> Result<Entry, Refused>,
    ) -> Result<(u64, bool), Undone> {
        if self.behind >= BUSY_PERCENT[1] {
            return Err(Undone::Behind);
        }
        let done = match key {
            Some(key) => self.inner.core.once(key, now, does),
            None => does(&mut self.inner.core).map(Once::Done),
        };
        match done.map_err(Undone::Refused)? {
            Once::Before(sequence) => Ok((sequence, true)),
            Once::Done(entry) => {
                self.inner.outbox.put(&entry);
                Ok((entry.sequence, false))
            }
        }
    }

    /// Has the ledger know what a directory says of a subscriber. What the disk could not take is not brought: what is
    /// asked then is refused for the same reason.
    ///
    /// # Errors
    /// As [`Core::bring`].
    pub fn bring(&mut self, known: &Known, now: Moment) -> Result<(), Refused> {
        if self.takes(Kind::Initial) {
            let entry = self.inner.core.bring(known, now)?;
            entry.iter().for_each(|entry| self.inner.outbox.put(entry));
        }
        Ok(())
    }

    /// A file of records ends; the entry that says so. None while nothing is decided.
    pub fn close_file(&mut self, file: u32, closure: u8, wall: Moment) -> Option<u64> {
        self.enter(wall, |core, now| core.close_file(file, closure, now))
    }

    /// Records are on their way to charging gateways; the entry that says so. None while nothing is decided.
    pub fn forward(&mut self, at: Option<Mark>, sent: Vec<sender::Entry>, wall: Moment) -> Option<u64> {
        self.enter(wall, |core, now| core.forward(at, sent, now))
    }

    /// Records of others came, or what was said of them; the entry. None while nothing is decided.
    pub fn receive(&mut self, entries: Vec<receiver::Entry>, wall: Moment) -> Option<u64> {
        self.enter(wall, |core, now| core.receive(entries, now))
    }

    fn enter(&mut self, wall: Moment, does: impl FnOnce(&mut Core, Moment) -> Entry) -> Option<u64> {
        let now = self.now(wall);
        if self.behind >= BUSY_PERCENT[1] {
            return None;
        }
        let entry = does(&mut self.inner.core, now);
        self.inner.outbox.put(&entry);
        Some(entry.sequence)
    }

    /// The ledger says what time it is; nothing while nothing is decided.
    pub fn tick(&mut self, wall: Moment) {
        let now = self.now(wall);
        if self.behind < BUSY_PERCENT[0] {
            let entry = self.inner.core.tick(now);
            self.inner.outbox.put(&entry);
        }
    }

    /// Records are made so by all nodes from now on, if that is new.
    pub fn set_recording(&mut self, recording: Recording, now: Moment) {
        let entry = self.inner.core.set_recording(recording, now);
        entry.iter().for_each(|entry| self.inner.outbox.put(entry));
    }

    /// A plan holds from now on; the entry that has to be durable before it is told.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn set_plan(&mut self, text: &str, now: Moment) -> Result<u64, String> {
        if self.behind >= BUSY_PERCENT[1] {
            return Err(BEHIND.to_owned());
        }
        let lines = |mistakes: Vec<Mistake>| mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n");
        let entry = self.inner.core.set_plan(text, now).map_err(lines)?;
        self.inner.outbox.put(&entry);
        Ok(entry.sequence)
    }

    /// Ends what is due, as far as the disk keeps up; whether there is more.
    pub fn time(&mut self, now: Moment) -> bool {
        if self.behind >= BUSY_PERCENT[1] {
            return false;
        }
        let entry = self.inner.core.handle_timeout(now);
        entry.iter().for_each(|entry| self.inner.outbox.put(entry));
        entry.is_some()
    }

    /// What clients that know of overload are told now.
    pub fn overload(&mut self, now: Moment) -> Option<OverloadReport> {
        self.inner.overload.report(self.behind, now)
    }

    /// The next session that its client is to be asked about.
    pub fn push(&mut self) -> Option<Push> {
        self.inner.core.poll()
    }

    pub fn core(&self) -> &Core {
        &self.inner.core
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Limits;
    use trunkline_commit::Folder;

    #[test]
    fn who_panics_while_deciding_ends_the_node() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Arc::new(Folder::open(folder.path()).unwrap());
        let (core, log) = crate::ledger::open(disk, Options::default(), Limits::default()).unwrap();
        let told = Arc::new(Told::new(1));
        let book = Book::start(core, Recent::default(), log, Options::default(), &told, None).unwrap();
        assert!(book.desk().takes(Kind::Update));
        let ended = std::thread::scope(|scope| {
            let holds = || {
                let _desk = book.desk();
                panic!("on purpose")
            };
            scope.spawn(holds).join()
        });
        assert!(ended.is_err());
        assert!(!book.desk().takes(Kind::Update));
        assert_eq!(book.failure().as_deref(), Some(PANICKED));
    }
}
