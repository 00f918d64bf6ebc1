//! The recorder of a process: the spool with its volumes, what earlier runs left behind, and what lanes write with.

pub mod extract;
pub mod folder;
pub mod follow;
pub mod housekeeping;
pub mod index_file;
pub mod mend;
mod source;
pub mod verify;
pub mod volumes;

pub use extract::{Extraction, Found, Selection, Summary, Wanted};
pub use folder::{SegmentFile, Wish, list, list_on};
pub use follow::Follow;
pub use housekeeping::{Keep, News, Report};
pub use index_file::FileAt;
pub use volumes::Volumes;

use crate::identity::{Identity, LogId};
use crate::lane::LaneLog;
use crate::names::Segments;
use crate::rules::{Rules, RulesInForce};
use housekeeping::Housekeeping;
use mend::{INDEX, SEGMENT};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use trunkline_spool::{
    Ended, Event, Kinds, Listing, Loss, Options, PACKED, Priority, Repaired, Spool, SpoolError, Stats, repair,
    repair_listed,
};

/// The files of the packet log.
pub const KINDS: Kinds = Kinds { segment: SEGMENT, beside: &[INDEX] };
/// How long to wait for files that a process which was killed still keeps locked.
const REPAIR_PATIENCE: Duration = Duration::from_secs(2);
/// The folder of the packet log below each volume.
pub const FOLDER: &str = "packets";
/// The file of pins below a data folder.
pub const PINS: &str = "packets/pins";

/// Records the packets of all lanes of a process.
#[derive(Debug)]
pub struct Recorder {
    spool: Spool,
    segments: Arc<Segments>,
    rules: Arc<RulesInForce>,
    options: Options,
    housekeeping: Option<Housekeeping>,
    /// What opening found, until somebody looks after it.
    listings: Vec<Listing>,
    repaired: Vec<PathBuf>,
}

/// What opening found.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// What is not as the options asked, a sentence each.
    pub notes: Vec<String>,
    /// What was repaired on each volume.
    pub repaired: Vec<Repaired>,
}

/// What there was to tell when a recorder closed.
#[derive(Clone, Debug, Default)]
pub struct Closed {
    /// The last statistics.
    pub stats: Stats,
    /// Events since they were asked for last.
    pub events: Vec<Event>,
    /// Losses since they were asked for last, those of closing itself among them: whoever writes rows can still do so.
    pub losses: Vec<Loss>,
    /// How housekeeping went.
    pub report: Option<Report>,
    /// Its last news.
    pub news: Vec<News>,
}

impl Recorder {
    /// Repairs what earlier runs left behind, opens the volumes, and notes in the first, the data folder, which they
    /// are. Nothing leaves the log before [`Recorder::keep`].
    ///
    /// # Errors
    /// A volume's folder cannot be made or listed, or the options have no sense.
    pub fn open(options: Options, rules: Rules) -> Result<(Recorder, Opened), SpoolError> {
        let mut opened = Opened::default();
        let (mut taken, mut listings, mut said) = (HashSet::new(), Vec::new(), Vec::new());
        for volume in options.volumes.iter().map(|v| &v.path).chain(&options.slow) {
            let folder = volume.join(FOLDER);
            // Listed once, for all who want to know.
            if std::fs::create_dir_all(&folder).is_ok() {
                let mut listing = Listing::of(&folder)?;
                opened.repaired.push(repair_listed(&mut listing, KINDS, REPAIR_PATIENCE, &mut mend::mend));
                names(volume, &listing, &mut taken);
                said.extend(newest_log(&listing).map(|log| (volume.clone(), log)));
                listings.push(listing);
            } else if let Ok(listing) = Listing::of(&folder) {
                names(volume, &listing, &mut taken);
            }
        }
        let repaired = opened.repaired.iter().flat_map(|r| &r.kept).map(|(path, _)| path.clone()).collect();
        let (log, noted) = note(&options);
        let options = Options { whole: Some(mend::whole), sums: Some(INDEX), ..options };
        let (spool, found) = Spool::open(options.clone())?;
        opened.notes = found.notes;
        opened.notes.extend(noted);
        opened.notes.extend(said.iter().filter(|(_, of)| *of != log).map(|(volume, of)| strange(volume, *of)));
        let segments = Arc::new(Segments::with_taken(taken).of_log(log));
        let rules = Arc::new(RulesInForce::new(rules));
        Ok((Recorder { spool, segments, rules, options, housekeeping: None, listings, repaired }, opened))
    }

    /// The log of a lane that captures at `interface`.
    pub fn lane(&self, lane: u16, interface: &str) -> LaneLog {
        let tag = u32::from(lane);
        let writers = Priority::ALL.map(|priority| self.spool.writer(priority, tag));
        LaneLog::new(lane, interface, Arc::clone(&self.rules), Arc::clone(&self.segments), writers)
    }

    /// From now on these rules: lanes follow them at their next tick.
    pub fn follow(&self, rules: Rules) {
        self.rules.set(rules);
    }

    /// From now on this is kept. The first time starts the threads that see to it; from then on finished segments are
    /// known to them by way of [`Recorder::events`].
    ///
    /// # Errors
    /// No thread can be started.
    pub fn keep(&mut self, keep: Keep) -> Result<(), SpoolError> {
        match &self.housekeeping {
            Some(housekeeping) => housekeeping.keep(keep),
            None => {
                let (listings, repaired) = (core::mem::take(&mut self.listings), core::mem::take(&mut self.repaired));
                self.housekeeping = Some(Housekeeping::start(&self.options, keep, listings, repaired)?);
            }
        }
        Ok(())
    }

    /// How housekeeping goes; none before [`Recorder::keep`].
    pub fn report(&self) -> Option<Report> {
        self.housekeeping.as_ref().map(Housekeeping::report)
    }

    /// What housekeeping has to tell, since the last call.
    pub fn news(&self) -> Vec<News> {
        self.housekeeping.as_ref().map(Housekeeping::news).unwrap_or_default()
    }

    /// The names of this run's segments.
    pub fn segments(&self) -> Arc<Segments> {
        Arc::clone(&self.segments)
    }

    /// What is counted, as of now.
    pub fn stats(&self) -> Stats {
        self.spool.stats()
    }

    /// What happened since the last call.
    pub fn events(&self) -> Vec<Event> {
        let events = self.spool.events();
        self.housekeeping.iter().for_each(|housekeeping| housekeeping.take_in(&events));
        events
    }

    /// What was lost, since the last call, after it had been recorded.
    pub fn losses(&self) -> Vec<Loss> {
        self.spool.losses()
    }

    /// Writes and commits all that was recorded; what is not written after `patience` is lost and counted. Programs
    /// that wait for their turn are run within what is left of it. Lanes have to be finished and dropped before.
    pub fn close(self, patience: Duration) -> Closed {
        let begun = Instant::now();
        let Recorder { spool, housekeeping, .. } = self;
        // First all that is written is committed: the program is due for what closing seals, too.
        let Ended { stats, events, losses } = spool.close(patience);
        let Some(mut housekeeping) = housekeeping else {
            return Closed { stats, events, losses, ..Closed::default() };
        };
        housekeeping.take_in(&events);
        housekeeping.close(patience.saturating_sub(begun.elapsed()));
        Closed { stats, events, losses, report: Some(housekeeping.report()), news: housekeeping.news() }
    }
}

/// The note of which volumes there are, and of which log it is; what is to be told of it.
fn note(options: &Options) -> (LogId, Option<String>) {
    let folders: Vec<PathBuf> = options.volumes.iter().map(|v| v.path.clone()).collect();
    let Some(data) = folders.first().cloned() else { return (LogId::made(), None) };
    let path = data.join(volumes::FILE);
    let volumes = Volumes { folders, slow: options.slow.clone(), ..Volumes::default() };
    let noted = Volumes::of(&data).ok().and_then(|noted| noted.log);
    let log = noted.or_else(|| volumes.said()).unwrap_or_else(LogId::made);
    let told = match (Volumes { log: Some(log), ..volumes }.note_over(&data)) {
        Ok(None) => None,
        Ok(Some((why, kept))) => Some(format!("{}: {why}; it is kept as {}", path.display(), kept.display())),
        Err(e) => Some(format!("{}: its volumes cannot be noted in the data folder: {e}", path.display())),
    };
    (log, told)
}

/// Which log the newest segment of a volume is of, if it says so.
fn newest_log(listing: &Listing) -> Option<LogId> {
    let segments = listing.files().filter(|path| path.extension().is_some_and(|end| end == SEGMENT || end == PACKED));
    // Behind its class a name is its time.
    let newest = segments.max_by_key(|path| {
        let mut time: Vec<_> = path.iter().rev().take(5).collect();
        time.reverse();
        time
    })?;
    Identity::of(&FileAt::open(newest).ok()?).ok()?.map(|identity| identity.log)
}

fn strange(volume: &Path, log: LogId) -> String {
    format!(
        "{}: its newest segment is of another log ({log}): where another data folder records to this volume, too, give \
         each volumes of its own, as retention deletes the oldest segments of both",
        volume.display()
    )
}

/// Repairs a packet log that no living process writes to, or leaves alone what one does.
///
/// # Errors
/// The folder cannot be listed.
pub fn repair_log(folder: &Path, kinds: Kinds) -> Result<Repaired, SpoolError> {
    repair(folder, kinds, REPAIR_PATIENCE, &mut mend::mend)
}

/// Names of segments below a volume, whatever their state, relative to it.
fn names(volume: &Path, listing: &Listing, taken: &mut HashSet<String>) {
    for path in listing.files() {
        let name = path.strip_prefix(volume).unwrap_or(path).to_string_lossy();
        let name = name.strip_suffix(".part").unwrap_or(&name);
        let name = name.strip_suffix(".zst").unwrap_or(name);
        if name.ends_with(SEGMENT) {
            taken.insert(name.to_owned());
        }
    }
}
