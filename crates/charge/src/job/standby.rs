//! A node that stands by: it follows the stream with a ledger of its own, until it leads.
//!
//! What the stream brings is on the own disk before the next is asked for, and the core has it: who takes over serves
//! at once. A standby listens nowhere: whoever can connect has found the node that leads.

use super::folds::Folds;
use super::retain::Retaining;
use crate::account::Entry;
use crate::ledger;
use crate::session::{Core, Limits};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use trunkline_commit::{Folder, Group, Log, Refused};
use trunkline_replica::{Member, Step, Terms, Trouble, kept};

/// How long a node waits that lost the first word of a stream to another.
const AGAIN: Duration = Duration::from_millis(100);
/// Beside the ledger: what is known of terms.
pub const TERMS: &str = "terms.json";

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
    pub(super) folds: Folds,
    pub(super) retaining: Arc<Retaining>,
    pub(super) member: Member,
    /// Entries of the own disk that the stream does not have yet: their term was this node's, too.
    pub(super) tail: Vec<Vec<u8>>,
    /// The terms, its own last.
    pub terms: Terms,
}

/// The ledger while it is followed.
struct Own {
    core: Core,
    log: Log<Folder>,
    folds: Folds,
    retaining: Arc<Retaining>,
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
            if let Some(won) = begin(standing, &disk, known, &mut member)? {
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

fn known(ledger: &Path) -> Result<Option<Terms>, Fault> {
    let path = ledger.join(TERMS);
    kept::load(&path).map_err(|error| Fault::Io { path, error })
}

fn keep(ledger: &Path, terms: &Terms) -> Result<(), Fault> {
    let path = ledger.join(TERMS);
    kept::store(&path, terms).map_err(|error| Fault::Io { path, error })
}

/// The first leader of a stream that has nothing; none if another node was first.
fn begin(
    standing: &Standing,
    disk: &Arc<Folder>,
    known: Option<Terms>,
    member: &mut Member,
) -> Result<Option<Own>, Fault> {
    if known.is_some() {
        let path = standing.ledger.join(TERMS);
        return Err(Fault::Stream(format!(
            "the stream {} has nothing, and this ledger was on it: where this is the ledger to go on with, remove {}",
            standing.replica.stream,
            path.display()
        )));
    }
    let (core, log) = ledger::open(Arc::clone(disk), standing.log, standing.limits)?;
    let terms = match member.begin(log.next()) {
        Ok(Some(terms)) => terms,
        // Where it is not known, the stream tells.
        Ok(None) | Err(Trouble::Away(_)) => return Ok(None),
        Err(refused) => return Err(stream(refused)),
    };
    keep(&standing.ledger, &terms)?;
    let (folds, retaining) = folds(disk, &log, standing)?;
    Ok(Some(Own { core, log, folds, retaining, terms }))
}

fn folds(disk: &Arc<Folder>, log: &Log<Folder>, standing: &Standing) -> Result<(Folds, Arc<Retaining>), Fault> {
    let io = |error| Fault::Io { path: standing.ledger.clone(), error };
    let retaining = Arc::<Retaining>::default();
    let folds = Folds::start(Arc::clone(disk), log, Arc::clone(&retaining), None).map_err(io)?;
    Ok((folds, retaining))
}

/// Opens the own ledger, without what was never acknowledged.
fn join(standing: &Standing, disk: &Arc<Folder>, known: Option<Terms>, told: &Terms) -> Result<Own, Fault> {
    if let Some(after) = known.as_ref().map_or(Ok(None), |known| known.cut(told)).map_err(alien)? {
        let cut = trunkline_commit::cut(&**disk, standing.log, after)?;
        if cut > 0 {
            tracing::warn!("charging: {cut} entries after {after} were never acknowledged, and are cut off");
        }
    }
    let (core, log) = ledger::open(Arc::clone(disk), standing.log, standing.limits)?;
    let terms = match known {
        Some(known) => known,
        None if log.next() > 1 => {
            let text =
                "there is a ledger here that is not that of the stream: it is to be empty, or a copy with its terms";
            return Err(Fault::Stream(text.to_owned()));
        }
        None => Terms { list: Vec::new(), ..told.clone() },
    };
    let (folds, retaining) = folds(disk, &log, standing)?;
    Ok(Own { core, log, folds, retaining, terms })
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
        seen.sequence = own.core.state().sequence();
        seen.term = own.terms.newest().number;
        seen.leader = member.follower().and_then(|follower| follower.leader()).map(str::to_owned);
        tell(seen);
        if vacant {
            if let Some(terms) = patiently(seen, ends, tell, || member.stand())?.flatten() {
                keep(&standing.ledger, &terms)?;
                own.terms = terms;
                return Ok(Follows::Leads);
            }
        }
    }
    Ok(Follows::Ends)
}

impl Own {
    fn take(&mut self, group: &mut Group, record: &[u8]) -> Result<(), Fault> {
        let number = self.core.state().sequence() + 1;
        let refused = |why: String| Fault::from(trunkline_commit::Fault::Refused { number, why });
        let entry = Entry::decode(record).map_err(|broken| refused(broken.to_string()))?;
        if entry.sequence != number {
            return Err(refused(format!("the stream has entry {} there", entry.sequence)));
        }
        if group.put(record) == Err(Refused::Waiting) {
            self.commit(group)?;
            group.put(record).map_err(|why| refused(why.to_string()))?;
        }
        self.core.apply(&entry).map_err(ledger::Fault::from)?;
        Ok(())
    }

    fn commit(&mut self, group: &mut Group) -> Result<(), Fault> {
        self.log.commit(group)?;
        Ok(())
    }
}

/// What the stream does not have of the own ledger is read, to be published.
fn with_member(own: Own, member: Member) -> Result<Won, Fault> {
    let Own { core, log, folds, retaining, terms } = own;
    let (first, mut tail) = (terms.newest().first, Vec::new());
    if first < log.next() {
        trunkline_commit::read(&**log.disk(), first, |_, record| {
            tail.push(record.to_vec());
            Ok(ControlFlow::Continue(()))
        })?;
    }
    Ok(Won { core, log, folds, retaining, member, tail, terms })
}
