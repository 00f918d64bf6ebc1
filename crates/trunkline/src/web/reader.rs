//! Reads captures that a user brings into the store that is shown.

use super::packets::Captures;
use super::unread::not_analysed;
use crate::command::read::COMMIT_ROWS;
use crate::show::report::why_no_calls;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use trunkline_calls::job::{self, ReadOptions, Sink, Summary};
use trunkline_calls::unread::Unread;
use trunkline_capture::Expansion;
use trunkline_store::checked::CLOCK;
use trunkline_store::row::Rows;
use trunkline_store::{Access, Store};
use trunkline_web::sources::{Cancel, NotAnalysed, Progress, ReadDone, Reader, SourceError, Trouble};

/// How often it is looked how far reading has come.
const TICK: Duration = Duration::from_millis(100);
/// Where captures stay that a user brought, below the data folder.
pub const KEPT_FOLDER: &str = "captures";
/// How much may come out of a compressed capture that a user brings: recorded traffic has a fifth of its size, silence
/// a fiftieth.
pub const EXPANSION: Expansion = Expansion { octets_max: 64 << 30, ratio_max: 200, judged_from: 64 << 20 };
/// Leaps of a capture's clock that are told one by one.
const LEAPS_TOLD_MAX: usize = 8;
/// Octets of the name that a capture keeps.
const NAME_OCTETS_MAX: usize = 120;

/// Reads captures, one at a time: each has all processors for itself.
pub struct Captured {
    data: PathBuf,
    captures: Captures,
    one_at_a_time: Mutex<()>,
    /// What all of them held that is not analysed.
    unread: Mutex<Unread>,
}

impl Captured {
    /// Into the store of this data folder. What is read is entered in `captures`.
    pub fn new(data: &Path, captures: Captures) -> Self {
        Captured { data: data.to_path_buf(), captures, one_at_a_time: Mutex::new(()), unread: Mutex::default() }
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
        self.read_bounded(files, None, progress)
    }

    fn read_bounded(
        &self,
        files: &[PathBuf],
        expansion: Option<Expansion>,
        progress: &job::Progress,
    ) -> Result<(Summary, u64), SourceError> {
        let failed = |e: &dyn core::fmt::Display| SourceError::new(Trouble::Failed, e.to_string());
        let _one = self.one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
        let store = Store::open(&self.data.join("store"), Access::Write).map_err(|e| failed(&e))?;
        let mut sink = Into { store, waiting: 0 };
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
        Ok((summary, sink.store.written().refused))
    }
}

impl Reader for Captured {
    fn read(&self, path: &Path, name: &str, progress: &Progress, cancel: &Cancel) -> Result<ReadDone, SourceError> {
        let kept = self.keep(path, name).map_err(|e| SourceError::new(Trouble::Failed, format!("{name}: {e}")))?;
        let done = self.read_kept(&kept, name, progress, cancel);
        if done.is_err() {
            // Nothing in the store speaks of it, or what does is of no use without the rest.
            let _ = std::fs::remove_file(&kept);
        }
        done.map(|done| ReadDone { kept: Some(kept), ..done })
    }

    fn not_analysed(&self) -> Vec<NotAnalysed> {
        not_analysed(&self.unread.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn kept_octets(&self) -> u64 {
        let Ok(folder) = std::fs::read_dir(self.data.join(KEPT_FOLDER)) else { return 0 };
        folder.flatten().filter_map(|file| file.metadata().ok()).filter(|m| m.is_file()).map(|m| m.len()).sum()
    }
}

impl Captured {
    fn read_kept(&self, path: &Path, name: &str, shown: &Progress, cancel: &Cancel) -> Result<ReadDone, SourceError> {
        let (progress, over) = (job::Progress::default(), AtomicBool::new(false));
        let files = [path.to_path_buf()];
        let (summary, refused) = std::thread::scope(|scope| {
            let ends = Ends(&over);
            let watcher = scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    show(&progress, shown);
                    progress.stop.fetch_or(cancel.is_cancelled(), Ordering::Relaxed);
                    std::thread::park_timeout(TICK);
                }
                show(&progress, shown);
            });
            let read = self.read_bounded(&files, Some(EXPANSION), &progress);
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
            let why = error.unwrap_or_else(|| "there is no packet in it".to_owned());
            return Err(SourceError::new(Trouble::Refused, format!("{name}: {why}")));
        }
        Ok(done(&summary, error, refused))
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

fn done(summary: &Summary, error: Option<String>, refused: u64) -> ReadDone {
    let mut oddities: Vec<String> = error.into_iter().collect();
    if summary.capture_lost > 0 {
        oddities.push(format!("whoever captured it lost {} packets", summary.capture_lost));
    }
    oddities.extend(summary.leaps.iter().take(LEAPS_TOLD_MAX).map(|leap| {
        let (what, why) = (leap.what(), leap.why());
        format!("{CLOCK} {what} before packet {} ({why})", leap.number)
    }));
    if refused > 0 {
        oddities.push(format!("{refused} rows could not be stored"));
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

/// A name that is one everywhere: no folder, nothing hidden, nothing that drives a terminal.
fn plain(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-+ ".contains(c) { c } else { '_' };
    let name: String = name.trim_start_matches('.').chars().map(plain).collect();
    let begin = name.len().saturating_sub(NAME_OCTETS_MAX);
    let name = name.get(begin..).unwrap_or_default().trim();
    if name.is_empty() { "capture".to_owned() } else { name.to_owned() }
}

/// Rows into the store.
struct Into {
    store: Store,
    waiting: usize,
}

impl Sink for Into {
    fn rows(&mut self, rows: Rows) -> Result<(), String> {
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
