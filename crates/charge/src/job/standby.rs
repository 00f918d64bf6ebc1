//! A node that stands by: it follows the stream with a ledger of its own, until it leads.
//!
//! What the stream brings is on the own disk before the next is asked for, and the core has it: who takes over serves
//! at once. A standby listens nowhere: whoever can connect has found the node that leads.

mod terms;

pub use terms::{TERMS, forget_asked};

use super::folds::Folds;
use super::mend::{tell_found, witness};
use super::post::Post;
use super::received::{Received, ReceivedSetup, received_witness};
use super::records::{self, Records, Told};
use super::retain::Retaining;
use crate::account::{Entry, Recording};
use crate::ledger;
use crate::session::{Core, Limits};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use trunkline_commit::{Disk, Folder, Group, Log, Refused};
use trunkline_replica::follower::Follower;
use trunkline_replica::{Member, Step, Terms, Trouble};

use terms::{ask, asked, keep, known};

/// How long a node waits that lost the first word of a stream to another.
const AGAIN: Duration = Duration::from_millis(100);

/// How a standby is set up.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The servers, the stream, this node's name.
    pub replica: trunkline_replica::Options,
    /// The folder of the ledger.
    pub ledger: PathBuf,
    /// How its log is kept.
    pub log: trunkline_commit::Options,
    /// Of the core.
    pub limits: Limits,
    /// How records are made, which each node does for itself; none leaves them to others.
    pub records: Option<Recorded>,
    /// Where files of records of others go, which the node that leads takes; none where none are taken.
    pub received: Option<ReceivedSetup>,
    /// What is to be given up of the ledger, whether this node leads or not.
    pub retaining: Arc<Retaining>,
}

/// Records of a node of several.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// How they are made where this node leads.
    pub setup: records::Setup<Folder>,
    /// How they get on.
    pub told: Arc<Told>,
    /// Whether they are sent on where this node leads: files that whoever leads has not sent yet are kept.
    pub sent_on: bool,
}

/// What a standby tells of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The last entry that is here.
    pub sequence: u64,
    /// The newest term.
    pub term: u64,
    /// Who leads, as far as it was said.
    pub leader: Option<String>,
    /// Why the stream cannot be read, if so.
    pub away: Option<String>,
}

/// Why a node can neither follow nor lead.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The stream, or what it is compared with.
    #[error("{0}")]
    Stream(String),
    /// The own ledger.
    #[error(transparent)]
    Ledger(#[from] ledger::Fault),
    /// How far records have come.
    #[error("records: {0}")]
    Records(String),
    /// A file.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
}

impl From<trunkline_commit::Fault> for Fault {
    fn from(fault: trunkline_commit::Fault) -> Fault {
        Fault::Ledger(fault.into())
    }
}

/// A node that leads now, with what it has.
pub struct Won {
    pub(super) core: Core,
    pub(super) log: Log<Folder>,
    pub(super) kept: Kept,
    pub(super) member: Member,
    /// Entries of the own disk that the stream does not have yet: their term was this node's, too.
    pub(super) tail: Vec<Vec<u8>>,
    /// The terms, its own last.
    pub terms: Terms,
}

/// What runs beside a ledger, whether it is followed or led.
pub(super) struct Kept {
    pub folds: Folds,
    pub retaining: Arc<Retaining>,
    pub told: Option<Arc<Told>>,
    /// Of one of several nodes, its records.
    pub seat: Option<Seat>,
    /// And those of others.
    pub received: Option<Received>,
}

/// Records that go on when this node leads.
pub(super) struct Seat {
    pub records: Records,
    pub post: Arc<Post>,
    pub recording: Option<Recording>,
}

impl Kept {
    /// Snapshots alone.
    pub fn start<D: Disk + Send + Sync + 'static>(
        disk: &Arc<D>,
        log: &Log<D>,
        told: Option<Arc<Told>>,
        retaining: Arc<Retaining>,
    ) -> std::io::Result<Kept> {
        let folds = Folds::start(Arc::clone(disk), log, Arc::clone(&retaining), told.clone())?;
        Ok(Kept { folds, retaining, told, seat: None, received: None })
    }
}

/// The ledger while it is followed.
struct Own {
    core: Core,
    log: Log<Folder>,
    kept: Kept,
    terms: Terms,
}

/// Follows until this node leads; none if `ends` says so before.
///
/// # Errors
/// The ledger is not that of the stream, is damaged, or would need a copy; the disk fails.
pub fn stand_by(
    standing: &Standing,
    ends: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&Seen),
) -> Result<Option<Won>, Fault> {
    let io = |error| Fault::Io { path: standing.ledger.clone(), error };
    let disk = Arc::new(Folder::open(&standing.ledger).map_err(io)?);
    let mut member = Member::new(standing.replica.clone()).map_err(stream)?;
    let (mut seen, mut joined) = (Seen::default(), None);
    while let Some(survey) = patiently(&mut seen, ends, tell, || member.survey())? {
        let known = known(&standing.ledger)?;
        let Some(told) = survey.terms else {
            if let Some(won) = begin(standing, &disk, known.is_some(), &mut member)? {
                return with_member(won, member).map(Some);
            }
            std::thread::park_timeout(AGAIN);
            continue;
        };
        seen.leader = survey.leader;
        let mut own = join(standing, &disk, known, &told)?;
        let last = own.log.next() - 1;
        if joined.replace((last, own.terms.newest())) == Some((last, own.terms.newest())) {
            let gone = "the stream does not tell any more who led when: this node needs a copy";
            return Err(Fault::Stream(gone.to_owned()));
        }
        if patiently(&mut seen, ends, tell, || member.follow(own.terms.clone(), last))?.is_none() {
            return Ok(None);
        }
        match follow(standing, &mut own, &mut member, &mut seen, ends, tell)? {
            Follows::Leads => return with_member(own, member).map(Some),
            Follows::Ends => return Ok(None),
            Follows::Anew => {}
        }
    }
    Ok(None)
}

fn stream(trouble: Trouble) -> Fault {
    Fault::Stream(trouble.to_string())
}

/// Does it again while the servers are away; none if it is to end.
fn patiently<T>(
    seen: &mut Seen,
    ends: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&Seen),
    mut does: impl FnMut() -> Result<T, Trouble>,
) -> Result<Option<T>, Fault> {
    while !ends() {
        match does() {
            Ok(done) => {
                seen.away = None;
                return Ok(Some(done));
            }
            Err(Trouble::Away(why)) => {
                seen.away = Some(why);
                tell(seen);
            }
            Err(refused) => return Err(stream(refused)),
        }
    }
    Ok(None)
}

/// The first leader of a stream that has nothing; none if another node was first.
fn begin(standing: &Standing, disk: &Arc<Folder>, was_on_it: bool, member: &mut Member) -> Result<Option<Own>, Fault> {
    if was_on_it {
        let path = standing.ledger.join(TERMS);
        return Err(Fault::Stream(format!(
            "the stream {} has nothing, and this ledger was on it: where this is the ledger to go on with, remove {}",
            standing.replica.stream,
            path.display()
        )));
    }
    let (core, log) = opened(disk, standing)?;
    // Kept before it is said: an acknowledgement may be lost, and then the stream begins with this ledger.
    let terms = ask(&standing.ledger, log.next())?;
    let terms = match member.begin(&terms) {
        Ok(Some(terms)) => terms,
        // Where it is not known, the stream tells.
        Ok(None) | Err(Trouble::Away(_)) => return Ok(None),
        Err(refused) => return Err(stream(refused)),
    };
    keep(&standing.ledger, &terms)?;
    let kept = kept(disk, &core, &log, standing)?;
    Ok(Some(Own { core, log, kept, terms }))
}

fn kept(disk: &Arc<Folder>, core: &Core, log: &Log<Folder>, standing: &Standing) -> Result<Kept, Fault> {
    let io = |error| Fault::Io { path: standing.ledger.clone(), error };
    let told = standing.records.as_ref().map(|records| Arc::clone(&records.told));
    let kept = Kept::start(disk, log, told, Arc::clone(&standing.retaining)).map_err(io)?;
    let Some(Recorded { setup, told, .. }) = standing.records.clone() else { return Ok(kept) };
    let recording = setup.recording().map_err(Fault::Records)?;
    let since = core.state().recorded().map_or(log.next(), |recorded| recorded.since);
    let post = Arc::<Post>::default();
    let received = standing
        .received
        .clone()
        .map(|received| Received::start(Arc::clone(disk), received, Arc::clone(&told), Arc::clone(&post)));
    let received = received.transpose().map_err(io)?;
    let records = Records::start(Arc::clone(disk), setup, told, Arc::clone(&post), Some(since)).map_err(io)?;
    Ok(Kept { seat: Some(Seat { records, post, recording }), received, ..kept })
}

/// Opens the own ledger, beside those who know what of it was durable.
fn opened(disk: &Arc<Folder>, standing: &Standing) -> Result<(Core, Log<Folder>), Fault> {
    let records = standing.records.as_ref().map(|recorded| witness(&*recorded.setup.disk));
    let received = standing.received.as_ref().and_then(|received| Folder::beside(&received.files).ok());
    let received = received.map(|folder| received_witness(&folder));
    let mut known = Vec::new();
    for witness in records.into_iter().chain(received) {
        match witness {
            Ok(witness) => known.extend(witness),
            Err(why) => tracing::error!("charging: the end of the ledger is checked without: {why}"),
        }
    }
    let (core, log) = ledger::open_known(Arc::clone(disk), standing.log, standing.limits, &known)?;
    tell_found("charging: the ledger", log.found());
    Ok((core, log))
}

/// Opens the own ledger, without what was never acknowledged.
fn join(standing: &Standing, disk: &Arc<Folder>, own: Option<Terms>, told: &Terms) -> Result<Own, Fault> {
    let known = match own {
        // This node may have begun the stream, and not have heard that it did.
        None => asked(&standing.ledger, told, || {
            let (_, log) = opened(disk, standing)?;
            Ok(log.next())
        })?,
        own => own,
    };
    known.as_ref().map_or(Ok(()), |known| keep(&standing.ledger, known))?;
    if let Some(after) = known.as_ref().map_or(Ok(None), |known| known.cut(told)).map_err(alien)? {
        let cut = trunkline_commit::cut(&**disk, standing.log, after)?;
        if cut > 0 {
            tracing::warn!("charging: {cut} entries after {after} were never acknowledged, and are cut off");
        }
    }
    let (core, log) = opened(disk, standing)?;
    let terms = match known {
        Some(known) => known,
        None if log.next() > 1 => {
            let text =
                "there is a ledger here that is not that of the stream: it is to be empty, or a copy with its terms";
            return Err(Fault::Stream(text.to_owned()));
        }
        None => Terms { list: Vec::new(), ..told.clone() },
    };
    let kept = kept(disk, &core, &log, standing)?;
    Ok(Own { core, log, kept, terms })
}

fn alien(alien: trunkline_replica::terms::Alien) -> Fault {
    Fault::Stream(alien.to_string())
}

enum Follows {
    Leads,
    Anew,
    Ends,
}

fn follow(
    standing: &Standing,
    own: &mut Own,
    member: &mut Member,
    seen: &mut Seen,
    ends: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&Seen),
) -> Result<Follows, Fault> {
    let mut group = Group::new(&standing.log);
    while let Some(steps) = patiently(seen, ends, tell, || member.step())? {
        let mut vacant = false;
        for step in steps {
            match step {
                Step::Records { records, .. } => records.iter().try_for_each(|one| own.take(&mut group, one))?,
                Step::Terms(terms) => {
                    own.commit(&mut group)?;
                    keep(&standing.ledger, &terms)?;
                    own.terms = terms;
                }
                Step::Anew => return Ok(Follows::Anew),
                Step::Vacant => vacant = true,
                Step::Idle => {}
            }
        }
        own.commit(&mut group)?;
        if own.kept.seat.as_ref().is_some_and(|seat| seat.records.has_failed())
            || own.kept.received.as_ref().is_some_and(Received::has_failed)
        {
            return Err(Fault::Records("their thread has failed".to_owned()));
        }
        own.tell(member.follower());
        if let Some(records) = standing.records.as_ref().filter(|records| records.sent_on) {
            let sent = own.core.state().forwarding();
            sent.into_iter().for_each(|sent| records.told.spare(sent.at.file));
        }
        seen.sequence = own.core.state().sequence();
        seen.term = own.terms.newest().number;
        seen.leader = member.follower().and_then(|follower| follower.leader()).map(str::to_owned);
        tell(seen);
        if vacant && let Some(terms) = patiently(seen, ends, tell, || member.stand())?.flatten() {
            keep(&standing.ledger, &terms)?;
            own.terms = terms;
            return Ok(Follows::Leads);
        }
    }
    Ok(Follows::Ends)
}

impl Own {
    fn take(&mut self, group: &mut Group, record: &[u8]) -> Result<(), Fault> {
        let number = self.core.state().sequence() + 1;
        let refused = |why: String| Fault::from(trunkline_commit::Fault::Refused { number, why });
        let entry = Entry::of_record(number, record).and_then(|entry| {
            self.core.state().fits(&entry)?;
            Ok(entry)
        });
        let entry = entry.map_err(|why| refused(format!("of the stream: {why}")))?;
        if group.put(record) == Err(Refused::Waiting) {
            self.commit(group)?;
            group.put(record).map_err(|why| refused(why.to_string()))?;
        }
        self.core.apply(&entry).map_err(ledger::Fault::from)?;
        Ok(())
    }

    /// What is here and on the stream counts, and may be in records; what the stream does not have may be cut off yet.
    fn tell(&self, follower: Option<&Follower>) {
        let next = follower.and_then(Follower::next).unwrap_or_default();
        let last = next.min(self.log.next()).saturating_sub(1);
        self.kept.seat.iter().for_each(|seat| seat.post.follow(last));
    }

    fn commit(&mut self, group: &mut Group) -> Result<(), Fault> {
        self.log.commit(group)?;
        Ok(())
    }
}

/// What the stream does not have of the own ledger is read, to be published.
fn with_member(own: Own, member: Member) -> Result<Won, Fault> {
    let Own { core, log, kept, terms } = own;
    let (first, mut tail) = (terms.newest().first, Vec::new());
    if first < log.next() {
        trunkline_commit::read(&**log.disk(), first, |_, record| {
            tail.push(record.to_vec());
            Ok(ControlFlow::Continue(()))
        })?;
    }
    Ok(Won { core, log, kept, member, tail, terms })
}
