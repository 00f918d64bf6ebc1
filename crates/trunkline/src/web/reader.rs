//! Reads captures that a user brings into the store that is shown.

pub mod noted;

use super::packets::Captures;
use super::unread::not_analysed;
use crate::command::read::COMMIT_ROWS;
use crate::show::report::why_no_calls;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use trunkline_calls::job::{self, ReadOptions, Sink, Summary};
use trunkline_calls::unread::Unread;
use trunkline_capture::Expansion;
use trunkline_store::checked::CLOCK;
use trunkline_store::removal::Chosen;
use trunkline_store::row::Rows;
use trunkline_store::store::DAYS_OF_CAPTURE;
use trunkline_store::{Access, Store, StoreError};
use trunkline_web::sources::{
    Cancel, ClockSteps, KeptCapture, NotAnalysed, Progress, ReadDone, Reader, SourceError, Trouble,
};

/// How often it is looked how far reading has come.
const TICK: Duration = Duration::from_millis(100);
/// Where captures stay that a user brought, below the data folder.
pub const KEPT_FOLDER: &str = "captures";
/// How much may come out of a compressed capture that a user brings: recorded traffic has a fifth of its size, silence
/// a fiftieth.
pub const EXPANSION: Expansion = Expansion { octets_max: 64 << 30, ratio_max: 200, judged_from: 64 << 20 };
/// Leaps of a capture's clock that are told one by one.
const LEAPS_TOLD_MAX: usize = 8;
/// Rows of a capture that are noted, so that they go with it.
// Limit: rows of an uploaded capture that are removed with it
// Beyond: the rows stay when the capture is removed
// Seen in: the capture's page
const OWN_ROWS_MAX: usize = 1_000_000;
/// Days that took no rows that are told one by one.
const DAYS_TOLD_MAX: usize = 8;
/// Octets of the name that a capture keeps.
const NAME_OCTETS_MAX: usize = 120;

/// Reads captures, one at a time: each has all processors for itself.
pub struct Captured {
    data: PathBuf,
    captures: Captures,
    days_max: usize,
    one_at_a_time: Mutex<()>,
    /// Rows that captures brought and the store did not have, by where the captures are kept, until they are noted.
    own: Mutex<BTreeMap<PathBuf, Chosen>>,
    /// What all of them held that is not analysed.
    unread: Mutex<Unread>,
    /// Steps of their clocks.
    clock: Mutex<ClockSteps>,
}

impl Captured {
    /// Into the store of this data folder. What is read is entered in `captures`.
    pub fn new(data: &Path, captures: Captures) -> Self {
        let (data, days_max) = (data.to_path_buf(), DAYS_OF_CAPTURE);
        let (one_at_a_time, own, unread, clock) = Default::default();
        Captured { data, captures, days_max, one_at_a_time, own, unread, clock }
    }

    /// With at most so many days that one capture makes new in the store.
    pub fn with_days_max(self, days_max: usize) -> Self {
        Captured { days_max, ..self }
    }

    /// Puts a capture where it stays: rows name its path, and its packets are read again from there.
    fn keep(&self, path: &Path, name: &str) -> io::Result<PathBuf> {
        let folder = self.data.join(KEPT_FOLDER);
        std::fs::create_dir_all(&folder)?;
        let name = plain(name);
        for number in 0..u32::MAX {
            let kept = folder.join(if number == 0 { name.clone() } else { format!("{number}-{name}") });
            // A link, unlike renaming, never replaces what is there.
            match std::fs::hard_link(path, &kept) {
                Ok(()) => return std::fs::remove_file(path).map(|()| kept),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Reads these captures as one timeline; what reading found, and what the store did not take.
    ///
    /// # Errors
    /// The store cannot be written, or none of the files can be read.
    pub fn read_all(&self, files: &[PathBuf], progress: &job::Progress) -> Result<(Summary, u64), SourceError> {
        self.read_bounded(files, None, &mut None, progress).map(|(summary, not_kept)| (summary, not_kept.rows))
    }

    fn read_bounded(
        &self,
        files: &[PathBuf],
        expansion: Option<Expansion>,
        own: &mut Option<Chosen>,
        progress: &job::Progress,
    ) -> Result<(Summary, NotKept), SourceError> {
        let _one = self.one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
        let store = Store::open(&self.data.join("store"), Access::Write).map_err(|e| failed(&e))?;
        let mut sink = Into { store, waiting: 0, own };
        sink.store.limit_new_days(self.days_max);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let options = ReadOptions { files: files.to_vec(), threads, expansion };
        let read = job::read(&options, &mut sink, progress);
        sink.store.commit().map_err(|e| failed(&e))?;
        let summary = read.map_err(|e| failed(&e))?;
        for file in &summary.files {
            if file.packets > 0 {
                self.captures.add(Path::new(&file.path));
            }
        }
        self.unread.lock().unwrap_or_else(PoisonError::into_inner).add(&summary.unread);
        let files = |leap| summary.files_of(leap).into_iter().map(|path| name_of(Path::new(path))).collect();
        let steps = summary.leaps.iter().map(|leap| super::clock::step(leap, files(leap)));
        self.clock.lock().unwrap_or_else(PoisonError::into_inner).add(summary.clock_steps(), steps);
        let why = sink.store.skipped().into_iter().map(|day| day.why).collect();
        Ok((summary, NotKept { rows: sink.store.written().refused, why }))
    }
}

impl Reader for Captured {
    fn read(&self, path: &Path, name: &str, progress: &Progress, cancel: &Cancel) -> Result<ReadDone, SourceError> {
        let kept = self.keep(path, name).map_err(|e| SourceError::new(Trouble::Failed, format!("{name}: {e}")))?;
        let sources = BTreeSet::from([kept.display().to_string()]);
        let mut own = Some(Chosen { loss_sources: sources, ..Chosen::default() });
        let mut done = self.read_kept(&kept, name, &mut own, progress, cancel);
        if let Ok(done) = &mut done {
            match own {
                Some(own) => self.note(&kept, own),
                None => done.oddities.push(format!("more than {OWN_ROWS_MAX} rows: they stay when it is removed")),
            }
        } else {
            // Nothing in the store speaks of it, or what does is of no use without the rest.
            if let Some(Err(error)) = own.map(|own| self.remove(&own)) {
                tracing::warn!(target: "web", "{name}: its rows stay: {error}");
            }
            let _ = std::fs::remove_file(&kept);
        }
        done.map(|done| ReadDone { kept: Some(kept), ..done })
    }

    fn note(&self, capture: &KeptCapture) -> Result<Option<PathBuf>, SourceError> {
        let Some(kept) = &capture.done.kept else { return Ok(None) };
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner).get(kept).cloned();
        let noted = noted::write(capture, own.as_ref()).map_err(|e| failed(&e))?;
        self.own.lock().unwrap_or_else(PoisonError::into_inner).remove(kept);
        Ok(Some(noted))
    }

    fn noted(&self) -> Vec<(KeptCapture, Option<PathBuf>)> {
        let all = noted::all(&self.data);
        for kept in all.iter().filter_map(|(capture, _)| capture.done.kept.as_deref()) {
            self.captures.add(kept);
        }
        all
    }

    fn forget(&self, kept: &Path) -> Result<u64, SourceError> {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner).get(kept).cloned();
        let own = own.map_or_else(|| noted::rows(kept), |own| Ok(Some(own)));
        let own = own.map_err(|why| failed(&format!("its rows are not known: {why}")))?;
        let gone = own.map_or(Ok(0), |own| self.remove(&own));
        let gone = gone.map_err(|e| failed(&format!("its rows cannot be removed: {e}")))?;
        self.own.lock().unwrap_or_else(PoisonError::into_inner).remove(kept);
        Ok(gone)
    }

    fn not_analysed(&self) -> Vec<NotAnalysed> {
        not_analysed(&self.unread.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn clock(&self) -> ClockSteps {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn kept_octets(&self) -> u64 {
        let Ok(folder) = std::fs::read_dir(self.data.join(KEPT_FOLDER)) else { return 0 };
        folder.flatten().filter_map(|file| file.metadata().ok()).filter(|m| m.is_file()).map(|m| m.len()).sum()
    }
}

impl Captured {
    /// Notes the rows of a capture, and forgets those of captures that are kept no longer.
    fn note(&self, kept: &Path, own: Chosen) {
        let mut all = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|path, _| path.exists());
        all.insert(kept.to_owned(), own);
    }

    /// Removes rows from the store; how many.
    fn remove(&self, own: &Chosen) -> Result<u64, StoreError> {
        let _one = self.one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
        let mut store = Store::open(&self.data.join("store"), Access::Write)?;
        Ok(store.remove_rows(own)?.rows())
    }

    fn read_kept(
        &self,
        path: &Path,
        name: &str,
        own: &mut Option<Chosen>,
        shown: &Progress,
        cancel: &Cancel,
    ) -> Result<ReadDone, SourceError> {
        let (progress, over) = (job::Progress::default(), AtomicBool::new(false));
        let files = [path.to_path_buf()];
        let (summary, not_kept) = std::thread::scope(|scope| {
            let ends = Ends(&over);
            let watcher = scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    show(&progress, shown);
                    progress.stop.fetch_or(cancel.is_cancelled(), Ordering::Relaxed);
                    std::thread::park_timeout(TICK);
                }
                show(&progress, shown);
            });
            let read = self.read_bounded(&files, Some(EXPANSION), own, &progress);
            drop(ends);
            watcher.thread().unpark();
            read
        })?;
        if cancel.is_cancelled() {
            return Err(SourceError::new(Trouble::Cancelled, format!("{name}: reading was cancelled")));
        }
        let file = summary.files.first();
        if file.is_some_and(|file| file.expands) {
            let (ratio, total) = (EXPANSION.ratio_max, EXPANSION.octets_max >> 30);
            let what = format!("at most {ratio} octets for each of its own, and {total} GiB in all");
            let text = format!("{name}: more comes out of its compression than is taken here: {what}");
            return Err(SourceError::new(Trouble::Refused, text));
        }
        let error = file.and_then(|file| file.error.clone());
        if summary.packets == 0 {
            let why = error.unwrap_or_else(|| "it contains no packets".to_owned());
            return Err(SourceError::new(Trouble::Refused, format!("{name}: {why}")));
        }
        Ok(done(&summary, error, &not_kept))
    }
}

/// Ends the watch, also where reading panics.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn show(of: &job::Progress, shown: &Progress) {
    let pass = |from: &AtomicU64, to: &AtomicU64| to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
    pass(&of.octets_total, &shown.total_octets);
    pass(&of.octets, &shown.read_octets);
    pass(&of.packets, &shown.packets);
    pass(&of.calls, &shown.calls);
}

/// Rows that the store did not take.
struct NotKept {
    rows: u64,
    /// Which days, a line each.
    why: Vec<String>,
}

fn done(summary: &Summary, error: Option<String>, not_kept: &NotKept) -> ReadDone {
    let mut oddities: Vec<String> = error.into_iter().collect();
    if summary.capture_lost > 0 {
        oddities.push(format!("its capture lost {} packets", summary.capture_lost));
    }
    oddities.extend(summary.leaps.iter().take(LEAPS_TOLD_MAX).map(|leap| {
        let (what, why) = (leap.what(), leap.why());
        let mut at = String::new();
        trunkline_store::time::push_rfc3339(&mut at, leap.before_ns);
        format!("{CLOCK} {what} at {at}, before packet {} ({why})", leap.number)
    }));
    let more = summary.clock_steps().saturating_sub(LEAPS_TOLD_MAX as u64);
    if more > 0 {
        oddities.push(format!("{CLOCK} leaps {more} more times"));
    }
    if not_kept.rows > 0 {
        oddities.push(format!("{} rows could not be stored", not_kept.rows));
        oddities.extend(not_kept.why.iter().take(DAYS_TOLD_MAX).cloned());
    }
    if summary.calls == 0 {
        oddities.extend(why_no_calls(summary));
    }
    let limits = summary.counters.iter().filter(|c| c.name.ends_with("_overflow_total") && c.value > 0);
    oddities.extend(limits.map(|c| format!("{}: {}", c.help, c.value)));
    ReadDone {
        packets: summary.packets,
        calls: summary.calls,
        from_ns: summary.span_ns.map(|span| span.0),
        to_ns: summary.span_ns.map(|span| span.1),
        oddities,
        kept: None,
    }
}

/// What a file is called, without its folder.
fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

/// A name that is one everywhere: no folder, nothing hidden, nothing that drives a terminal.
fn plain(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-+ ".contains(c) { c } else { '_' };
    let name: String = name.trim_start_matches('.').chars().map(plain).collect();
    let begin = name.len().saturating_sub(NAME_OCTETS_MAX);
    let name = name.get(begin..).unwrap_or_default().trim();
    if name.is_empty() { "capture".to_owned() } else { name.to_owned() }
}

fn failed(why: &dyn core::fmt::Display) -> SourceError {
    SourceError::new(Trouble::Failed, why.to_string())
}

/// Rows into the store.
struct Into<'o> {
    store: Store,
    waiting: usize,
    /// Those that were not there before; none if nobody asks, or there are too many.
    own: &'o mut Option<Chosen>,
}

impl Sink for Into<'_> {
    fn rows(&mut self, rows: Rows) -> Result<(), String> {
        if let Some(own) = self.own.as_mut() {
            self.store.add_unknown(&rows, own).map_err(|e| e.to_string())?;
        }
        if self.own.as_ref().is_some_and(|own| own.len() > OWN_ROWS_MAX) {
            *self.own = None;
        }
        self.store.write(&rows).map_err(|e| e.to_string())?;
        self.waiting += rows.count();
        if self.waiting >= COMMIT_ROWS {
            self.waiting = 0;
            self.store.commit().map_err(|e| e.to_string())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere() {
        for (name, kept) in [
            ("a.pcap", "a.pcap"),
            ("../../etc/passwd", "passwd"),
            ("C:\\captures\\x y.pcapng", "x y.pcapng"),
            (".hidden", "hidden"),
            ("\u{1b}[31mred.pcap", "_[31mred.pcap".replace('[', "_").as_str()),
            ("/", "capture"),
            ("", "capture"),
            ("ünï.pcap", "_n_.pcap"),
        ] {
            assert_eq!(plain(name), kept);
        }
        assert_eq!(plain(&"x".repeat(300)).len(), NAME_OCTETS_MAX);
    }
}
