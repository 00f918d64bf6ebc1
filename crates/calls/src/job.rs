//! Reading captures: the thin shell that brings source, analysis and sink together.

use crate::copies::FirstCopy;
use crate::join::Names;
use crate::pipeline::Pipeline;
use crate::unread::Unread;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use trunkline_capture::{Expansion, FileSource};
use trunkline_kit::counters::Counted;
use trunkline_lane::LaneJob;
use trunkline_lane::clock::Leap;
use trunkline_store::row::Rows;

/// What to read and how.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Capture files; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// Threads that share the work; the result does not depend on it.
    pub threads: usize,
    /// How much may come out of a compressed file; none for any.
    pub expansion: Option<Expansion>,
}

/// How far reading has come; the shell shows it, any thread may look.
#[derive(Debug, Default)]
pub struct Progress {
    /// Octets of the input files read so far (compressed octets for compressed files).
    pub octets: AtomicU64,
    /// Octets of all input files; 0 where it is not known (standard input).
    pub octets_total: AtomicU64,
    /// Packets so far.
    pub packets: AtomicU64,
    /// Calls finished so far.
    pub calls: AtomicU64,
    /// Set by the shell to stop early: what was read until then is finished as if the input ended there.
    pub stop: AtomicBool,
}

/// Where finished rows go, in an order that depends on the input alone.
pub trait Sink: Send {
    /// Takes a batch of rows.
    ///
    /// # Errors
    /// A text that says why the rows could not be kept; reading ends.
    fn rows(&mut self, rows: Rows) -> Result<(), String>;
}

/// One input file after reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileSummary {
    /// As it was named.
    pub path: String,
    /// "pcap, nanoseconds", "pcapng in gzip", ...
    pub format: String,
    /// Packets read.
    pub packets: u64,
    /// First packet, nanoseconds since 1970; none if it held no packet.
    pub first_ns: Option<i64>,
    /// Last packet.
    pub last_ns: Option<i64>,
    /// What was wrong with it, with the offset: one line.
    pub error: Option<String>,
    /// Whether it was given up because more is inside of its compression than may be.
    pub expands: bool,
}

/// What was read, in all.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// File by file, as they were named.
    pub files: Vec<FileSummary>,
    /// All counters.
    pub counters: Vec<Counted>,
    /// Packets read.
    pub packets: u64,
    /// First and last packet, nanoseconds since 1970.
    pub span_ns: Option<(i64, i64)>,
    /// SIP messages seen, retransmissions included.
    pub sip_messages: u64,
    /// Distinct Call-IDs; exact up to [`crate::limits::CALL_IDS_COUNTED_MAX`].
    pub call_ids: u64,
    /// Calls.
    pub calls: u64,
    /// Registrations.
    pub registrations: u64,
    /// Other transactions.
    pub sip_events: u64,
    /// RTP streams, with and without calls.
    pub streams: u64,
    /// Packets of these streams.
    pub rtp_packets: u64,
    /// Packets that the capturing side said it lost.
    pub capture_lost: u64,
    /// Packets that several files hold, which were analysed once.
    pub copies: u64,
    /// The first of them.
    pub first_copy: Option<FirstCopy>,
    /// Where the capture's clock was set, or its parts are in the wrong order.
    pub leaps: Vec<Leap>,
    /// What was seen and is not analysed.
    pub unread: Unread,
}

impl Summary {
    /// The value of a counter by its metric name; 0 if there is none of that name.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.iter().find(|c| c.name == name).map_or(0, |c| c.value)
    }

    /// Times that the clock was set or that parts are in the wrong order: beyond [`trunkline_lane::clock::LEAPS_MAX`]
    /// they are not listed.
    pub fn clock_steps(&self) -> u64 {
        ["set", "wrong_order", "back"]
            .iter()
            .map(|kind| self.counter(&format!("trunkline_calls_clock_{kind}_total")))
            .sum()
    }

    /// The files of the packet before a leap and of the first one behind it; one if both are of the same.
    pub fn files_of(&self, leap: &Leap) -> Vec<&str> {
        let Some((before, behind)) = leap.files else { return Vec::new() };
        let mut files = vec![before, behind];
        files.dedup();
        files.into_iter().filter_map(|at| self.files.get(at as usize)).map(|file| file.path.as_str()).collect()
    }

    /// The file of the first packet that several files hold, and the other one that has it.
    pub fn files_of_copy(&self) -> Option<[&str; 2]> {
        let copy = self.first_copy?;
        let path = |at: u32| self.files.get(at as usize).map(|file| file.path.as_str());
        Some([path(copy.file)?, path(copy.other)?])
    }

    /// Whether a file was broken, the capture lost something, or a limit was hit: exit code 3.
    pub fn degraded(&self) -> bool {
        self.capture_lost > 0
            || self.files.iter().any(|f| f.error.is_some())
            || self.counters.iter().any(|c| c.name.ends_with("_overflow_total") && c.value > 0)
    }
}

/// Reads captures to their end and hands finished rows to `sink`.
///
/// # Errors
/// Only what ends the whole run: the sink refused. Files that could not be read are in the summary.
pub fn read(options: &ReadOptions, sink: &mut dyn Sink, progress: &Progress) -> Result<Summary, String> {
    let names: Vec<String> = options.files.iter().map(|f| full_name(f)).collect();
    Pipeline::new(source(options), Arc::new(names), None::<()>, options.threads, sink, progress).run()
}

/// Reads captures as [`read`] does, with jobs that see each packet in order of capture before calls does: a recorder
/// that sets where its record lies. `names` are those of what they set as its file.
///
/// # Errors
/// As [`read`].
pub fn read_behind<J: LaneJob + Send>(
    before: J,
    options: &ReadOptions,
    sink: &mut dyn Sink,
    progress: &Progress,
    names: Arc<dyn Names>,
) -> Result<Summary, String> {
    Pipeline::new(source(options), names, Some(before), options.threads, sink, progress).run()
}

fn source(options: &ReadOptions) -> FileSource {
    match options.expansion {
        Some(expansion) => FileSource::open_bounded(&options.files, expansion),
        None => FileSource::open(&options.files),
    }
}

/// The name under which a file is found again from another folder.
fn full_name(path: &std::path::Path) -> String {
    if path.as_os_str() == "-" {
        return "-".to_owned();
    }
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned()
}
