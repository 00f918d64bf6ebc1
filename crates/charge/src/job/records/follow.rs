//! From the ledger to the files, step by step.

use super::Report;
use super::checkpoint;
use super::series::{Form, Series, Settings};
use crate::account::{Entry, Octets};
use crate::cdr::{Cdr, Cuts, Ended, Fold, Opening, Source, packets, table};
use std::cell::Cell;
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
    settings: Settings,
    follower: Follower<L>,
    fold: Fold,
    series: Series<D>,
    /// The entry and the time of the last checkpoint, and what it told.
    checkpointed: u64,
    checkpointed_at: Option<i64>,
    open: u64,
    needed: u64,
    wanted: Cell<bool>,
}

/// What the cursor keeps of the fold: entry, number of the next record, records, and when they are cut.
type Note = (u64, (u32, (u64, Cuts)));

impl<L: Disk, D: Disk> Files<L, D> {
    /// Goes on from what is on disk, or begins with the first entry that is there.
    ///
    /// # Errors
    /// What is on disk cannot be gone on with, or cannot be read.
    pub fn open(ledger: Arc<L>, disk: Arc<D>, settings: Settings, cuts: Cuts) -> Result<Files<L, D>, String> {
        let series = Series::open(Arc::clone(&disk), settings.clone())?;
        let first = Snapshot::opening(&*ledger).map_err(|fault| fault.to_string())?;
        let first = first.map_or(0, |opening| opening.last);
        let note = match series.note() {
            [] => (first, (1, (0, cuts))),
            octets => Note::take(&mut &*octets).ok_or("the cursor holds another series' note")?,
        };
        let (entry, (number, (records, cuts_before))) = note;
        let fold = match checkpoint::load(&*disk) {
            Ok(fold) => fold.filter(|fold| fold.entry() <= entry),
            Err(why) => {
                tracing::warn!("charging: {why}: open records are read again from the ledger");
                None
            }
        };
        if entry > first {
            let mut there = Follower::<L>::new(entry);
            let shown = there.poll(&*ledger, entry, |_, _, _| Ok(()));
            shown.map_err(|fault| format!("records were made up to entry {entry}: {fault}"))?;
        }
        let checkpointed = fold.as_ref().map_or(0, Fold::entry);
        let mut fold = fold.unwrap_or_else(|| Fold::new(cuts_before, first));
        let follower = again(&*ledger, &mut fold, entry)?;
        if (fold.entry(), fold.number(), fold.records()) != (entry, number, records) {
            return Err(format!(
                "up to entry {entry} the ledger gives {} records, and {records} were written: the ledger, the cursor \
                 or the checkpoint is another's",
                fold.records()
            ));
        }
        let (open, needed) = (0, 0);
        let wanted = Cell::new(false);
        let checkpointed_at = None;
        let mut files = Files {
            ledger,
            disk,
            settings,
            follower,
            fold,
            series,
            checkpointed,
            checkpointed_at,
            open,
            needed,
            wanted,
        };
        files.begin(cuts).map_err(|why| why.to_string())?;
        Ok(files)
    }

    /// What was set holds from the next entry on: a start folds up to there by what held before.
    fn begin(&mut self, cuts: Cuts) -> Result<(), Failure> {
        if self.fold.cuts() != cuts {
            self.fold.set_cuts(cuts);
            // The checkpoint first: until the cursor says so too, a start folds nothing before it.
            self.checkpoint()?;
            let note = self.note();
            self.series.commit(&note, 0).map_err(failed)?;
        }
        self.look();
        Ok(())
    }

    fn note(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let note: Note = (self.fold.entry(), (self.fold.number(), (self.fold.records(), self.fold.cuts())));
        note.put(&mut out);
        out
    }

    /// Takes what is durable, and puts on disk what is due.
    ///
    /// # Errors
    /// The ledger or the files cannot be read or written.
    pub fn step(&mut self, durable: u64, now: i64) -> Result<Step, Failure> {
        let (mut more, end) = (true, self.fold.entry().saturating_add(ENTRIES));
        // What could not be written waits, and nothing is read meanwhile.
        while more && self.fold.entry() < end && !self.series.is_due(now) {
            more = self.block(durable, now).map_err(Failure::Ledger)?;
        }
        if self.series.is_due(now) {
            self.commit(now)?;
        }
        if let Some(closure) = self.series.is_full(now) {
            self.close(closure, now)?;
        }
        if self.is_checkpoint_due(now) {
            self.commit(now)?;
            self.checkpoint()?;
            self.checkpointed_at = Some(now);
        }
        Ok(if more { Step::More } else { Step::Rests })
    }

    /// Takes all that is durable, and closes the file.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn end(&mut self, durable: u64, now: i64) -> Result<(), Failure> {
        while self.step(durable, now)? == Step::More {}
        self.commit(now)?;
        self.close(Closure::Normal, now)?;
        if self.fold.entry() > self.checkpointed { self.checkpoint() } else { Ok(()) }
    }

    /// Takes the next block of the ledger; whether there was one.
    fn block(&mut self, durable: u64, now: i64) -> Result<bool, String> {
        let Files { ledger, fold, follower, series, settings, .. } = self;
        let mut ended = Vec::new();
        let mut opening = None::<(Source, Opening)>;
        let mut see = |number: u64, place: Place, record: &[u8]| {
            let source = Source { entry: number, segment: place.segment, at: place.at };
            fold.take(&entry_of(number, record)?, source, &mut ended);
            for one in ended.drain(..) {
                let cdr = complete(&**ledger, one, &mut opening)?;
                append(series, settings, &cdr, now);
            }
            Ok(())
        };
        follower.poll(ledger, durable, &mut see).map_err(|fault| fault.to_string())
    }

    fn commit(&mut self, now: i64) -> Result<(), Failure> {
        let note = self.note();
        match self.series.waiting() == 0 && note == self.series.note() {
            true => Ok(()),
            false => self.series.commit(&note, now).map_err(failed),
        }
    }

    fn close(&mut self, closure: Closure, now: i64) -> Result<(), Failure> {
        if let Some(closed) = self.series.close(closure, now).map_err(failed)? {
            tracing::info!("charging: {} with {} records, {closure:?}", closed.name, closed.records);
            let forgotten = self.series.forget(now).map_err(failed)?;
            if forgotten > 0 {
                tracing::info!("charging: {forgotten} old record files are removed");
            }
        }
        Ok(())
    }

    fn is_checkpoint_due(&mut self, now: i64) -> bool {
        let since = *self.checkpointed_at.get_or_insert(now);
        let entries = self.fold.entry().saturating_sub(self.checkpointed);
        let seconds = now.saturating_sub(since).unsigned_abs();
        let wanted = self.wanted.take();
        entries > 0 && (wanted || entries >= CHECKPOINT_ENTRIES || seconds >= CHECKPOINT_S)
    }

    /// Writes one; all that was taken is committed.
    fn checkpoint(&mut self) -> Result<(), Failure> {
        checkpoint::save(&*self.disk, &self.fold).map_err(failed)?;
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

    /// How it gets on.
    pub fn tell(&self, report: &mut Report) {
        let cursor = self.series.cursor();
        let committed = Note::take(&mut &*cursor.note).map_or(0, |(entry, _)| entry);
        // Entries that ended no record have nothing that could be written.
        report.entry = if self.series.waiting() == 0 { self.fold.entry() } else { committed };
        (report.needed, report.open) = (self.needed, self.open);
        (report.records, report.number) = (self.fold.records(), self.fold.number());
        (report.files, report.lost) = (cursor.files, cursor.lost);
        let form = self.settings.forms.iter().position(|form| *form == Form::Rows);
        let open = cursor.open.as_ref().zip(form);
        report.rows = open.and_then(|(open, form)| Some((open.count, *open.octets.get(form)?)));
        report.failure = None;
    }
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
                &entry_of(number, record)?,
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

fn entry_of(number: u64, record: &[u8]) -> Result<Entry, String> {
    let entry = Entry::decode(record).map_err(|broken| broken.to_string())?;
    if entry.sequence == number { Ok(entry) } else { Err(format!("it holds entry {}", entry.sequence)) }
}

/// Reads again what the ledger says of a record's session. Records of an entry that ends many have one each.
fn complete<L: Disk>(ledger: &L, ended: Ended, known: &mut Option<(Source, Opening)>) -> Result<Cdr, String> {
    let read = |source: Source| {
        let place = Place { segment: source.segment, at: source.at };
        let octets = read_again(ledger, place).map_err(|fault| fault.to_string())?;
        entry_of(source.entry, &octets)
    };
    let opening = match ended.opened {
        None => None,
        Some(source) if known.as_ref().is_some_and(|(of, _)| *of == source) => known.take().map(|(_, opening)| opening),
        Some(source) => Some(Opening::of(read(source)?).ok_or(format!("entry {} begins no session", source.entry))?),
    };
    let moved = ended.moved.map(read).transpose()?.and_then(Opening::moved);
    Ok(Cdr::of(ended, opening, moved))
}

fn append<D: Disk>(series: &mut Series<D>, settings: &Settings, cdr: &Cdr, now: i64) {
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
    series.append(&forms, now);
}
