//! Reading captures: the thin shell that brings sources, analysis and store together.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use trunkline_kit::counters::Counted;
use trunkline_store::row::Rows;

/// What to read and how.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Capture files; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// Threads that share the work; the result does not depend on it.
    pub threads: usize,
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
}

/// Where finished rows go, in an order that depends on the input alone.
pub trait Sink {
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
}

/// What was read, in all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// File by file.
    pub files: Vec<FileSummary>,
    /// All counters.
    pub counters: Vec<Counted>,
    /// SIP messages seen.
    pub sip_messages: u64,
    /// Distinct Call-IDs... counted as calls, registrations and event rows made.
    pub calls: u64,
    /// RTP streams, with and without calls.
    pub streams: u64,
    /// RTP packets in streams.
    pub rtp_packets: u64,
}

impl Summary {
    /// Whether a file was broken or the capture lost something: exit code 3.
    pub fn degraded(&self) -> bool {
        self.files.iter().any(|f| f.error.is_some())
    }
}

/// Reads captures to their end and hands finished rows to `sink`.
///
/// # Errors
/// Only what ends the whole run: no file could be opened, or the sink refused.
pub fn read(_options: &ReadOptions, _sink: &mut dyn Sink, _progress: &Progress) -> Result<Summary, String> {
    Ok(Summary::default())
}
