//! The packet log, and the captures that were read, for the web.

mod stock;

use super::reader::KEPT_FOLDER;
use crate::command::packet_log::{Part, has_log};
use crate::cut;
use crate::failure::Failure;
use crate::feed::{self, Question, What};
use crate::run::config::Settings;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use stock::Stock;
use trunkline_capture::PcapWriter;
use trunkline_record::index::Span;
use trunkline_record::job::{Found, Summary};
use trunkline_store::row::Call;
use trunkline_web::sources::{
    Cancel, ExtractAsk, Extracted, Packets, Progress, RetentionInfo, SegmentInfo, SourceError, Trouble,
};

/// Packets that wait between who reads and who writes.
const QUEUE_PACKETS_MAX: usize = 512;
/// Captures that were read and are looked into where there is no packet log.
// Limit: captures searched for packets where there is no packet log
// Beyond: further captures are not searched
// Seen in: a warning in the log
pub const CAPTURES_MAX: usize = crate::cut::FILES_MAX;

/// The packet log of a data folder, and captures.
pub struct LogPackets {
    data: PathBuf,
    captures: Captures,
    stock: Stock,
}

/// Captures that were read in this run of the program.
#[derive(Clone, Debug, Default)]
pub struct Captures(Arc<Mutex<Vec<PathBuf>>>);

impl Captures {
    /// One more, if there are not [`CAPTURES_MAX`] yet: of others packets are not found, which the log says.
    pub fn add(&self, path: &Path) {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if paths.iter().any(|known| known == path) {
            return;
        }
        match paths.len() < CAPTURES_MAX {
            true => paths.push(path.to_path_buf()),
            false => tracing::warn!(
                "{}: {CAPTURES_MAX} captures are searched for packets, the most there can be: packets of this one are \
                 not found",
                path.display()
            ),
        }
    }

    fn list(&self) -> Vec<PathBuf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl LogPackets {
    /// Of this data folder, with what the settings say is kept.
    pub fn new(data: &Path, settings: &Settings) -> Self {
        LogPackets::with_captures(data, settings, Captures::default())
    }

    /// The same, with captures that are looked into where there is no log.
    pub fn with_captures(data: &Path, settings: &Settings, captures: Captures) -> Self {
        LogPackets { data: data.to_path_buf(), captures, stock: Stock::new(data, settings) }
    }

    fn folders(&self) -> &[PathBuf] {
        std::slice::from_ref(&self.data)
    }

    /// What is asked of the log, or of the captures where there is none.
    fn question(&self, what: What) -> Question {
        let mut read = if has_log(&self.data) { Vec::new() } else { self.captures.list() };
        // Those that users brought may have been removed by them.
        read.retain(|path| path.exists() || !path.starts_with(self.data.join(KEPT_FOLDER)));
        Question { what, part: Part::of(self.folders()), read, limit: u64::MAX }
    }
}

impl Packets for LogPackets {
    fn messages(&self, call: &Call, cancel: &Cancel) -> Result<Vec<Option<Vec<u8>>>, SourceError> {
        let read = cut::messages(call, cancel.flag());
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        let why = match read {
            Ok(texts) => return Ok(texts),
            Err(why) => why,
        };
        if !has_log(&self.data) {
            return Err(SourceError::new(Trouble::NotFound, why));
        }
        let (packets, texts, _) = idly(|| cut::log::messages(call, self.folders(), cancel.flag()))?.map_err(trouble)?;
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        if packets.is_empty() {
            let what = "its packets are not in the packet log: they were not recorded, or have been deleted since";
            return Err(SourceError::new(Trouble::NotFound, what));
        }
        Ok(texts)
    }

    fn call_pcap(&self, call: &Call, out: &mut dyn io::Write, cancel: &Cancel) -> Result<u64, SourceError> {
        let mut writer = PcapWriter::pcapng(out);
        if let Err(why) = cut::check(call, cancel.flag()) {
            if cancel.is_cancelled() {
                return Err(cancelled());
            }
            if !has_log(&self.data) {
                return Err(SourceError::new(Trouble::NotFound, why));
            }
            let question = self.question(What::Call(Box::new(call.clone())));
            let (packets, _) = write(&question, &mut writer, &Progress::default(), cancel)?;
            if packets == 0 {
                let what = "its packets are not in the packet log: they were not recorded, or have been deleted since";
                return Err(SourceError::new(Trouble::NotFound, what));
            }
            return writer.finish().map(|_| packets).map_err(|e| not_written(&e));
        }
        let mut broken = None;
        let done = cut::packets(call, cancel.flag(), |captured| {
            let packet = &captured.packet;
            let written = if cancel.is_cancelled() {
                Err(cancelled())
            } else {
                let written = writer.write(packet.at_ns, packet.link, packet.wire, &captured.octets);
                written.map_err(|e| not_written(&e))
            };
            written.map_err(|e| {
                broken = Some(e);
                String::new()
            })
        });
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        let failed = |text| SourceError::new(Trouble::Failed, text);
        let packets = done.map_err(|text| broken.unwrap_or_else(|| failed(text)))?;
        writer.finish().map(|_| packets).map_err(|e| not_written(&e))
    }

    fn segments(&self, from_ns: i64, to_ns: i64) -> Result<Vec<SegmentInfo>, SourceError> {
        let span = Span { first_ns: from_ns, last_ns: to_ns.saturating_sub(1) };
        idly(|| self.stock.segments(span))?.map_err(trouble)
    }

    fn retention(&self) -> Result<Vec<RetentionInfo>, SourceError> {
        idly(|| self.stock.retention())?.map_err(trouble)
    }

    fn check_filter(&self, text: &str) -> Result<(), SourceError> {
        feed::query(text).map(|_| ()).map_err(trouble)
    }

    fn extract(
        &self,
        ask: &ExtractAsk,
        out: &mut dyn io::Write,
        progress: &Progress,
        cancel: &Cancel,
    ) -> Result<Extracted, SourceError> {
        let span = Span { first_ns: ask.from_ns, last_ns: ask.to_ns.saturating_sub(1) };
        let question = self.question(What::Matching(feed::matching(feed::query(&ask.filter).map_err(trouble)?, span)));
        let mut writer = PcapWriter::pcapng(out);
        let (packets, summary) = write(&question, &mut writer, progress, cancel)?;
        writer.finish().map_err(|e| not_written(&e))?;
        let refused = summary.refused.iter();
        let refused = refused.map(|(link, why)| format!("packets of link type {link} were left out: {why}"));
        let absent = summary.absent.iter().cloned();
        let faults = summary.faults.iter().map(ToString::to_string).chain(absent).chain(refused).collect();
        Ok(Extracted { packets, faults })
    }
}

/// Does something in a thread of its own with the lowest priority at the disk, so that recording goes first: threads of
/// the web are used for other things afterwards.
fn idly<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, SourceError> {
    let died = |_| SourceError::new(Trouble::Failed, "a thread failed; this is a defect of Trunkline");
    let idle = move || {
        trunkline_spool::idle();
        work()
    };
    std::thread::scope(|scope| match std::thread::Builder::new().name("extract".to_owned()).spawn_scoped(scope, idle) {
        Ok(thread) => thread.join().map_err(died),
        Err(e) => Err(SourceError::new(Trouble::Busy, format!("a thread cannot be started: {e}"))),
    })
}

/// Answers a question into a pcapng stream: how many packets, and what was done.
fn write(
    question: &Question,
    writer: &mut PcapWriter<&mut dyn io::Write>,
    progress: &Progress,
    cancel: &Cancel,
) -> Result<(u64, Summary), SourceError> {
    let (to, from) = sync_channel::<Found>(QUEUE_PACKETS_MAX);
    let mut sink = Queue { to, progress, cancel };
    std::thread::scope(|scope| {
        let read = std::thread::Builder::new()
            .name("extract".to_owned())
            .spawn_scoped(scope, move || question.answer_until(&mut sink, cancel.flag()))
            .map_err(|e| SourceError::new(Trouble::Busy, format!("a thread cannot be started: {e}")))?;
        let (mut packets, mut broken) = (0, None);
        for found in &from {
            if cancel.is_cancelled() {
                break;
            }
            if let Err(e) = writer.write(found.at_ns, found.link, found.wire, &found.octets) {
                broken = Some(not_written(&e));
                break;
            }
            packets += 1;
            progress.packets.store(packets, Ordering::Relaxed);
        }
        // Who reads stops where nobody takes any more.
        drop(from);
        let read = read.join().map_err(|_| SourceError::new(Trouble::Failed, "reading the packet log failed"))?;
        match broken {
            Some(error) => Err(error),
            None if cancel.is_cancelled() => Err(cancelled()),
            None => Ok((packets, read.map_err(trouble)?)),
        }
    })
}

/// Packets on their way to who writes them.
struct Queue<'a> {
    to: SyncSender<Found>,
    progress: &'a Progress,
    cancel: &'a Cancel,
}

impl feed::Sink for Queue<'_> {
    fn take(&mut self, found: &Found) -> Result<bool, Failure> {
        Ok(!self.cancel.is_cancelled() && self.to.send(found.clone()).is_ok())
    }

    fn rest(&mut self) -> Result<bool, Failure> {
        Ok(!self.cancel.is_cancelled())
    }

    fn progress(&mut self, done: u64, total: u64) {
        self.progress.read_octets.store(done, Ordering::Relaxed);
        self.progress.total_octets.store(total, Ordering::Relaxed);
    }
}

fn cancelled() -> SourceError {
    SourceError::new(Trouble::Cancelled, "it was cancelled")
}

fn not_written(error: &io::Error) -> SourceError {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => cancelled(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            SourceError::new(Trouble::NoRoom, "the disk is too full for the packets")
        }
        _ => SourceError::new(Trouble::Failed, format!("the packets cannot be written: {error}")),
    }
}

/// What went wrong, as the web has it.
pub fn trouble(failure: Failure) -> SourceError {
    match failure {
        Failure::Usage(text) => SourceError::new(Trouble::Refused, text),
        Failure::Failed(text) | Failure::Damaged(text) => SourceError::new(Trouble::Failed, text),
        Failure::NobodyReads => cancelled(),
    }
}
