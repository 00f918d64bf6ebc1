//! From the ledger to the files, step by step.

use super::checkpoint::{self, Unusable};
use super::series::{Closed, Form, Series, Settings};
use super::shared::{self, Turn, Way, needs_copy};
use super::{Cursor, Report};
use crate::account::{Entry, GoesOn, Octets};
use crate::cdr::{Cdr, Cuts, Ended, Fold, Opening, Source, packets, table};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use trunkline_commit::{Disk, Follower, Place, Snapshot, read_again};
use trunkline_wire::cdr::file::Closure;

/// Entries since the last checkpoint for which another one is written, and seconds, if there were any.
const CHECKPOINT_ENTRIES: u64 = 1_000_000;
const CHECKPOINT_S: u64 = 600;
/// Entries of a step, to the end of the block of the log that has the last of them: some tenth of a millisecond.
const ENTRIES: u64 = 100;

/// Whether there is more to do at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// There is.
    More,
    /// All that is durable was taken.
    Rests,
}

/// Why a step was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The disk of the files: the same is tried again.
    Files(String),
    /// What was read, or how far it was: whoever gets it begins again with [`Files::open`].
    Ledger(String),
}

/// The fold of a ledger, on its way into files.
pub struct Files<L: Disk, D: Disk> {
    ledger: Arc<L>,
    disk: Arc<D>,
    /// How this node is set up.
    own: Settings,
    follower: Follower<L>,
    fold: Fold,
    series: Series<D>,
    /// Where several nodes make them: how, as of what was read.
    way: Option<Way>,
    /// Whether records are made: of several nodes, from the entry on that says how.
    begun: bool,
    /// What was read and is not in the series yet.
    ready: VecDeque<Ready>,
    /// The entry and the time of the last checkpoint, and what it told.
    checkpointed: u64,
    checkpointed_at: Option<i64>,
    open: u64,
    needed: u64,
    wanted: Cell<bool>,
    /// The first file that is not to be removed, however old.
    spared: Option<u32>,
}

/// What an entry came to.
enum Ready {
    /// A record, and the time of its entry.
    Record(Box<Cdr>, i64),
    /// The end of a file.
    Turn(Box<Turn>),
}

/// What the cursor keeps of the fold: entry, number of the next record, records, and when they are cut. Behind it is
/// what several nodes have agreed on.
type Note = (u64, (u32, (u64, Cuts)));

impl<L: Disk, D: Disk> Files<L, D> {
    /// Goes on from what is on disk, or begins with the first entry that is there.
    ///
    /// # Errors
    /// What is on disk cannot be gone on with, or cannot be read.
    pub fn open(ledger: Arc<L>, disk: Arc<D>, settings: Settings, cuts: Cuts) -> Result<Files<L, D>, String> {
        let mut files = Files::go_on(ledger, disk, settings, cuts, None)?;
        files.begin(cuts).map_err(|why| why.to_string())?;
        Ok(files)
    }

    /// The same for one of several nodes: the ledger says how records are made, from entry `since` on, and where files
    /// end. Where it does not say so yet, `since` is the next entry.
    ///
    /// # Errors
    /// As [`open`](Self::open); or records were made before, and this folder has not what they go on from.
    pub fn open_shared(ledger: Arc<L>, disk: Arc<D>, own: Settings, since: u64) -> Result<Files<L, D>, String> {
        let mut files = Files::go_on(ledger, disk, own, Cuts::default(), Some(since))?;
        files.look();
        Ok(files)
    }

    fn go_on(
        ledger: Arc<L>,
        disk: Arc<D>,
        own: Settings,
        cuts: Cuts,
        since: Option<u64>,
    ) -> Result<Files<L, D>, String> {
        let mut cursor = Cursor::load(&*disk)?;
        let first = Snapshot::opening(&*ledger).map_err(|fault| fault.to_string())?;
        let first = first.map_or(0, |opening| opening.last);
        let kept = cursor.as_ref().map(|cursor| &*cursor.note).filter(|note| !note.is_empty());
        let strange = "the cursor holds another series' note";
        let (note, way) = match (kept, since) {
            (None, Some(since)) if since <= first => return Err(needs_copy(since)),
            (None, _) => ((since.map_or(first, |since| since - 1), (1, (0, cuts))), Way::default()),
            (Some(mut octets), _) => {
                let note = Note::take(&mut octets).ok_or(strange)?;
                let alone = cursor.as_ref().map(|cursor| alone(note, cursor)).unwrap_or_default();
                (note, Way::read(octets, alone).ok_or(strange)?)
            }
        };
        let begun = kept.is_some() || since.is_none();
        let way = since.map(|_| way);
        if let Some((cursor, way)) = cursor.as_mut().zip(way.as_ref()).filter(|_| begun) {
            // What one node made alone is told by this for all times, whatever is mended now.
            keep(&*disk, cursor, note, way).map_err(|error| format!("record files: {error}"))?;
        }
        let mut settings = way.as_ref().map_or_else(|| own.clone(), |way| way.settings(&own));
        if way.is_some() {
            // A file that is open goes on as it is.
            let names = disk.list().map_err(|error| format!("the folder of record files: {error}"))?;
            shared::fit(&mut settings.forms, cursor.as_ref().and_then(|cursor| cursor.open.as_ref()), &names);
        }
        let series = match way {
            Some(_) => Series::open_shared(Arc::clone(&disk), settings)?,
            None => Series::open(Arc::clone(&disk), settings)?,
        };
        let (entry, (number, (records, cuts_before))) = note;
        let fold = match checkpoint::load_of(&*ledger, &*disk) {
            Ok(fold) => fold.filter(|fold| fold.entry() <= entry),
            Err(Unusable::Another(why)) => return Err(why),
            Err(why) => {
                tracing::warn!("charging: {why}: open records are read again from the ledger");
                None
            }
        };
        if entry > first && begun {
            let mut there = Follower::<L>::new(entry);
            let shown = there.poll(&*ledger, entry, |_, _, _| Ok(()));
            shown.map_err(|fault| format!("records were made up to entry {entry}: {fault}"))?;
        }
        let checkpointed = fold.as_ref().map_or(0, Fold::entry);
        let alone = way.as_ref().is_none_or(Way::is_from_the_first);
        let from = since.filter(|_| !alone || !begun).map_or(first, |since| since - 1);
        let mut fold = fold.unwrap_or_else(|| Fold::new(cuts_before, from));
        let follower = again(&*ledger, &mut fold, entry)?;
        if (fold.entry(), fold.number(), fold.records()) != (entry, number, records) {
            return Err(format!(
                "up to entry {entry} the ledger gives {} records, and {records} were written: the ledger, the cursor \
                 or the checkpoint is another's",
                fold.records()
            ));
        }
        let (open, needed, ready) = (0, 0, VecDeque::new());
        let (wanted, checkpointed_at) = (Cell::new(false), None);
        Ok(Files {
            ledger,
            disk,
            own,
            follower,
            fold,
            series,
            way,
            begun,
            ready,
            checkpointed,
            checkpointed_at,
            open,
            needed,
            wanted,
            spared: None,
        })
    }

    /// What was set holds from the next entry on: a start folds up to there by what held before.
    fn begin(&mut self, cuts: Cuts) -> Result<(), Failure> {
        if self.fold.cuts() != cuts {
            self.fold.set_cuts(cuts);
            // The checkpoint first: until the cursor says so too, a start folds nothing before it.
            self.checkpoint()?;
            let note = self.note();
            self.series.commit(&note).map_err(failed)?;
        }
        self.look();
        Ok(())
    }

    fn note(&self) -> Vec<u8> {
        note(&self.fold, self.way.as_ref())
    }

    /// Takes what is durable, and puts on disk what is due.
    ///
    /// # Errors
    /// The ledger or the files cannot be read or written.
    pub fn step(&mut self, durable: u64, now: i64) -> Result<Step, Failure> {
        let (mut more, end) = (true, self.fold.entry().saturating_add(ENTRIES));
        self.pass_on(now)?;
        // What could not be written waits, and nothing is read meanwhile.
        while more && self.fold.entry() < end && !self.is_due(now) {
            more = self.block(durable).map_err(Failure::Ledger)?;
            self.pass_on(now)?;
        }
        if self.is_due(now) {
            self.commit()?;
        }
        if let Some(closure) = self.series.is_full(now).filter(|_| self.way.is_none()) {
            self.close(closure, now)?;
        }
        if self.is_checkpoint_due(now) {
            self.commit()?;
            self.checkpoint()?;
            self.checkpointed_at = Some(now);
        }
        Ok(if more { Step::More } else { Step::Rests })
    }

    /// Whether what waits is to be on disk. A file that waits for its end is not written on for each block meanwhile.
    fn is_due(&self, now: i64) -> bool {
        self.series.is_due(now) || (self.way.is_none() && self.series.fills().is_some())
    }

    /// The file that the ledger is to say the end of, and why: where several nodes make records.
    pub fn wants(&self, now: i64) -> Option<(u32, Closure)> {
        let recorded = self.way.as_ref().is_some_and(|way| way.recording.is_some());
        let closure =
            self.series.is_whole(now).or(self.series.fills()).filter(|_| recorded && self.ready.is_empty())?;
        Some((self.series.file(), closure))
    }

    /// The last entry that was taken.
    pub fn entry(&self) -> u64 {
        self.fold.entry()
    }

    /// Takes all that is durable, and closes the file; of several nodes it goes on with whoever leads.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn end(&mut self, durable: u64, now: i64) -> Result<(), Failure> {
        self.pass_on(now)?;
        // One of several goes on at once, as one that follows: nobody is to wait for it to catch up.
        while self.way.is_none() && self.step(durable, now)? == Step::More {}
        self.commit()?;
        if self.way.is_none() {
            self.close(Closure::Normal, now)?;
        }
        if self.begun && self.fold.entry() > self.checkpointed { self.checkpoint() } else { Ok(()) }
    }

    /// Takes the next block of the ledger; whether there was one.
    fn block(&mut self, durable: u64) -> Result<bool, String> {
        let Files { ledger, fold, follower, way, begun, ready, own, .. } = self;
        let mut ended = Vec::new();
        let mut opening = None::<(Source, Opening)>;
        let mut see = |number: u64, place: Place, record: &[u8]| {
            let source = Source { entry: number, segment: place.segment, at: place.at };
            let entry = Entry::of_record(number, record)?;
            if !*begun && !shared::begins(&entry)? {
                *fold = Fold::new(Cuts::default(), number);
                return Ok(());
            }
            *begun = true;
            fold.take(&entry, source, &mut ended);
            for one in ended.drain(..) {
                ready.push_back(Ready::Record(Box::new(complete(&**ledger, one, &mut opening)?), entry.at));
            }
            if let Some(way) = way {
                let turn = way.take(&entry, own)?.map(|turn| Turn { note: note(fold, Some(&*way)), ..turn });
                ready.extend(turn.map(|turn| Ready::Turn(Box::new(turn))));
            }
            Ok(())
        };
        follower.poll(ledger, durable, &mut see).map_err(|fault| fault.to_string())
    }

    /// Gives the series what was read.
    fn pass_on(&mut self, now: i64) -> Result<(), Failure> {
        while let Some(ready) = self.ready.front() {
            match ready {
                Ready::Record(cdr, at) => {
                    let at = if self.way.is_some() { *at } else { now };
                    append(&mut self.series, cdr, at, now);
                }
                Ready::Turn(turn) => {
                    let turn = turn.clone();
                    self.turn(&turn, now)?;
                }
            }
            self.ready.pop_front();
        }
        Ok(())
    }

    /// A file ends where the ledger says so.
    fn turn(&mut self, turn: &Turn, now: i64) -> Result<(), Failure> {
        let Some(end) = turn.of(self.series.file()) else { return Ok(()) };
        let closed = self.series.commit_and_close(&turn.note, end).map_err(failed)?;
        self.series.set(turn.settings.clone());
        self.closed(closed, now)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let note = self.note();
        match !self.begun || (self.series.waiting() == 0 && note == self.series.note()) {
            true => Ok(()),
            false => self.series.commit(&note).map_err(failed),
        }
    }

    fn close(&mut self, closure: Closure, now: i64) -> Result<(), Failure> {
        let closed = self.series.close(closure, now).map_err(failed)?;
        self.closed(closed, now)
    }

    fn closed(&mut self, closed: Option<Closed>, now: i64) -> Result<(), Failure> {
        let Some(closed) = closed else { return Ok(()) };
        tracing::info!("charging: {} with {} records", closed.name, closed.records);
        let forgotten = self.series.forget(now, self.spared).map_err(failed)?;
        if forgotten > 0 {
            tracing::info!("charging: {forgotten} old record files are removed");
        }
        Ok(())
    }

    fn is_checkpoint_due(&mut self, now: i64) -> bool {
        let since = *self.checkpointed_at.get_or_insert(now);
        let entries = self.fold.entry().saturating_sub(self.checkpointed);
        let seconds = now.saturating_sub(since).unsigned_abs();
        let wanted = self.wanted.take();
        self.begun && entries > 0 && (wanted || entries >= CHECKPOINT_ENTRIES || seconds >= CHECKPOINT_S)
    }

    /// Writes one; all that was taken is committed.
    fn checkpoint(&mut self) -> Result<(), Failure> {
        checkpoint::save(&*self.ledger, &*self.disk, &self.fold).map_err(failed)?;
        self.checkpointed = self.fold.entry();
        self.look();
        Ok(())
    }

    fn look(&mut self) {
        let (open, first) = self.fold.open();
        self.open = open as u64;
        self.needed = first.unwrap_or(u64::MAX).min(self.checkpointed + 1);
    }

    /// A checkpoint is to be written with the next step.
    pub fn want_checkpoint(&self) {
        self.wanted.set(true);
    }

    /// Files from this one on are not removed, however old they are.
    pub fn spare(&mut self, file: Option<u32>) {
        self.spared = file;
    }

    /// How it gets on.
    pub fn tell(&self, report: &mut Report) {
        let cursor = self.series.cursor();
        let committed = Note::take(&mut &*cursor.note).map_or(0, |(entry, _)| entry);
        // Entries that ended no record have nothing that could be written.
        report.entry = if self.series.waiting() == 0 { self.fold.entry() } else { committed };
        // What goes before the first record is needed by none.
        let needed = if self.begun { self.needed } else { self.fold.entry() + 1 };
        (report.needed, report.open) = (needed, self.open);
        let node = self.series.settings().node.id();
        if *report.node != *node {
            report.node = node.into();
        }
        (report.records, report.number) = (self.fold.records(), self.fold.number());
        (report.files, report.lost) = (cursor.files, cursor.lost);
        let settings = self.series.settings();
        let form = settings.forms.iter().position(|form| *form == Form::Rows);
        let open = cursor.open.as_ref().zip(form);
        let ber = settings.forms.iter().position(|form| *form == Form::Ber);
        let counts = cursor.open.as_ref().zip(ber).and_then(|(open, form)| open.octets.get(form).copied());
        report.file = (cursor.file(), counts.unwrap_or(0));
        report.rows = open.and_then(|(open, form)| Some((open.count, *open.octets.get(form)?)));
        report.failure = None;
    }
}

fn note(fold: &Fold, way: Option<&Way>) -> Vec<u8> {
    octets((fold.entry(), (fold.number(), (fold.records(), fold.cuts()))), way)
}

fn octets(note: Note, way: Option<&Way>) -> Vec<u8> {
    let mut out = Vec::new();
    note.put(&mut out);
    way.into_iter().for_each(|way| way.put(&mut out));
    out
}

fn alone((entry, (number, _)): Note, cursor: &Cursor) -> GoesOn {
    GoesOn { entry, number, file: cursor.file() }
}

/// How far records were made, as a cursor keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::job) struct Made {
    /// The entry up to which all are in files.
    pub entry: u64,
    /// The number of the next one.
    pub number: u32,
    /// How many.
    pub records: u64,
    /// When they are cut.
    pub cuts: Cuts,
}

impl Made {
    /// That of a cursor; none where no record was made yet.
    pub fn of(cursor: &Cursor) -> Option<Made> {
        let (entry, (number, (records, cuts))) = Note::take(&mut &*cursor.note)?;
        Some(Made { entry, number, records, cuts })
    }
}

/// Folds up to where records were made, once entries are gone: the counts go on as the cursor says.
pub(in crate::job) fn fold_again<L: Disk>(ledger: &L, mut fold: Fold, made: &Made) -> Result<Fold, String> {
    again(ledger, &mut fold, made.entry)?;
    fold.set_counts(made.number, made.records);
    Ok(fold)
}

/// How far the records are that one node made alone; none where the ledger says already how several make them.
pub(super) fn went_on(cursor: &Cursor) -> Option<GoesOn> {
    let mut rest = &*cursor.note;
    let note = Note::take(&mut rest)?;
    Way::read(rest, alone(note, cursor))?.alone()
}

/// Keeps what a node knows of several, where its note does not say so yet.
fn keep<D: Disk>(disk: &D, cursor: &mut Cursor, note: Note, way: &Way) -> std::io::Result<()> {
    let octets = octets(note, Some(way));
    if *octets == *cursor.note {
        return Ok(());
    }
    cursor.note = octets.into();
    cursor.save(disk)
}

fn failed(error: std::io::Error) -> Failure {
    Failure::Files(format!("record files: {error}"))
}

impl core::fmt::Display for Failure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (Failure::Files(why) | Failure::Ledger(why)) = self;
        f.write_str(why)
    }
}

/// Folds up to an entry whose records are in files.
fn again<L: Disk>(ledger: &L, fold: &mut Fold, entry: u64) -> Result<Follower<L>, String> {
    let mut follower = Follower::new(fold.entry() + 1);
    let mut ended = Vec::new();
    let mut see = |number: u64, place: Place, record: &[u8]| {
        // A block may hold entries behind the cursor, which are for the next follower.
        if number <= entry {
            fold.take(
                &Entry::of_record(number, record)?,
                Source { entry: number, segment: place.segment, at: place.at },
                &mut ended,
            );
        }
        ended.clear();
        Ok(())
    };
    while follower.poll(ledger, entry, &mut see).map_err(|fault| fault.to_string())? {}
    Ok(if follower.next() > entry + 1 { Follower::new(entry + 1) } else { follower })
}

/// Reads again what the ledger says of a record's session. Records of an entry that ends many have one each.
fn complete<L: Disk>(ledger: &L, ended: Ended, known: &mut Option<(Source, Opening)>) -> Result<Cdr, String> {
    let read = |source: Source| {
        let place = Place { segment: source.segment, at: source.at };
        match read_again(ledger, place) {
            Ok(octets) => Ok(Entry::of_record(source.entry, &octets)?),
            // A repair gave it up: what it said is not known any more.
            Err(_) if is_lost(ledger, source.entry)? => Ok(Entry::lost(source.entry)),
            Err(fault) => Err(fault.to_string()),
        }
    };
    let opening = match ended.opened {
        None => None,
        Some(source) if known.as_ref().is_some_and(|(of, _)| *of == source) => known.take().map(|(_, opening)| opening),
        Some(source) => {
            let entry = read(source)?;
            let lost = entry.is_lost();
            let opening = Opening::of(entry);
            if opening.is_none() && !lost {
                return Err(format!("entry {} begins no session", source.entry));
            }
            opening
        }
    };
    let moved = ended.moved.map(read).transpose()?.and_then(Opening::moved);
    Ok(Cdr::of(ended, opening, moved))
}

/// Whether an entry was given up.
fn is_lost<L: Disk>(ledger: &L, entry: u64) -> Result<bool, String> {
    let mut lost = false;
    let see = |number: u64, _: Place, record: &[u8]| {
        lost |= number == entry && Entry::is_given_up(record);
        Ok(())
    };
    Follower::<L>::new(entry).poll(ledger, entry, see).map_err(|fault| fault.to_string())?;
    Ok(lost)
}

fn append<D: Disk>(series: &mut Series<D>, cdr: &Cdr, at: i64, now: i64) {
    let settings = series.settings();
    let mut forms = Vec::with_capacity(settings.forms.len());
    for form in &settings.forms {
        forms.push(match form {
            Form::Ber => {
                let (mut record, mut out) = (Vec::with_capacity(512), Vec::with_capacity(512));
                packets::write(cdr, &settings.node, false, &mut record);
                // A request has 64 services at most and a session 256, of some 70 octets each.
                let fits = packets::header().write(&record, &mut out);
                debug_assert!(fits, "a record of {} octets", record.len());
                out
            }
            Form::Csv => {
                let mut out = String::new();
                table::write(cdr, &settings.node, false, &mut out);
                out.into_bytes()
            }
            Form::Rows => {
                let octets = cdr.encode();
                [&(octets.len() as u32).to_le_bytes()[..], &octets].concat()
            }
        });
    }
    let forms: Vec<&[u8]> = forms.iter().map(Vec::as_slice).collect();
    series.append_at(&forms, at, now);
}
