//! What the program gives to the web: the packet log, the running capture, a reader of captures. Each is behind a
//! trait, so that the web knows no job's inside, and runs as well where one of them is missing.

mod alerting;
mod caches;
mod charging;
mod clock;
mod graphing;

pub use alerting::*;
pub use caches::{
    Cache, CacheBar, CacheHotKey, CacheMemory, CacheRates, CacheRefused, CacheSetting, CacheSlowCommand, CacheSnapshot,
};
pub use charging::*;
pub use clock::{CLOCK_STEPS_MAX, ClockStep, ClockSteps};
pub use graphing::*;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use trunkline_contract::{Cause, Refusal};
use trunkline_store::row::Call;
use utoipa::ToSchema;

/// Why something could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It is not there any more, or never was.
    NotFound,
    /// What was asked for makes no sense.
    Refused,
    /// It cannot be done as things are.
    Conflict,
    /// Too much is under way.
    Busy,
    /// It failed: disk, damage.
    Failed,
    /// The disk is too full to write it.
    NoRoom,
    /// The one who asked has gone.
    Cancelled,
}

/// Why something could not be had, in words for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    /// What kind of trouble.
    pub trouble: Trouble,
    /// What to tell.
    pub text: String,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for SourceError {}

impl SourceError {
    /// Of this kind, in these words.
    pub fn new(trouble: Trouble, text: impl Into<String>) -> Self {
        SourceError { trouble, text: text.into() }
    }
}

/// Why a job does not answer, as a sentence.
impl From<Refusal> for SourceError {
    fn from(refusal: Refusal) -> SourceError {
        let trouble = match refusal.cause {
            Cause::NotFound | Cause::Absent => Trouble::NotFound,
            Cause::Wrong => Trouble::Refused,
            Cause::Busy => Trouble::Busy,
            Cause::Conflict | Cause::Unavailable | Cause::Foreign | Cause::OtherVersion => Trouble::Conflict,
            Cause::Failed => Trouble::Failed,
        };
        let mut sentence = refusal.text;
        if let Some(first) = sentence.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        if !sentence.ends_with('.') {
            sentence.push('.');
        }
        SourceError { trouble, text: sentence }
    }
}

/// Ends work whose result nobody waits for any more.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends the work.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// What becomes true when it is to end, for who knows nothing of the web.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// The same, for who keeps it.
    pub fn shared(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Whether it is to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How far work has come; whoever works adds, whoever waits looks.
#[derive(Debug, Default)]
pub struct Progress {
    /// Octets to be read, as far as they are known; 0 if they are not.
    pub total_octets: AtomicU64,
    /// Octets read.
    pub read_octets: AtomicU64,
    /// Packets found or read.
    pub packets: AtomicU64,
    /// Calls found.
    pub calls: AtomicU64,
    /// What is done now, of work in several steps.
    pub step: Mutex<&'static str>,
}

impl Progress {
    /// So much was read in a step.
    pub fn at(&self, step: &'static str, read: u64) {
        let mut now = self.step.lock().unwrap_or_else(PoisonError::into_inner);
        if *now != step {
            *now = step;
        }
        self.calls.store(read, Ordering::Relaxed);
    }

    /// The step that is done now; none before the first.
    pub fn step(&self) -> Option<&'static str> {
        Some(*self.step.lock().unwrap_or_else(PoisonError::into_inner)).filter(|step| !step.is_empty())
    }
}

/// The packet log, and the captures that were read.
pub trait Packets: Send + Sync {
    /// The SIP messages of a call's ladder, in its order; none where one could not be put together again.
    ///
    /// # Errors
    /// The captures or segments are gone or changed; [`Trouble::Cancelled`].
    fn messages(&self, call: &Call, cancel: &Cancel) -> Result<Vec<Option<Vec<u8>>>, SourceError>;

    /// Writes all packets of a call as pcapng; how many there were.
    ///
    /// # Errors
    /// As [`Packets::messages`], and what `out` says.
    fn call_pcap(&self, call: &Call, out: &mut dyn io::Write, cancel: &Cancel) -> Result<u64, SourceError>;

    /// The segments of the packet log that hold packets of a time, oldest first.
    ///
    /// # Errors
    /// The log cannot be listed.
    fn segments(&self, from_ns: i64, to_ns: i64) -> Result<Vec<SegmentInfo>, SourceError>;

    /// What is kept how long, by class.
    ///
    /// # Errors
    /// The log cannot be listed.
    fn retention(&self) -> Result<Vec<RetentionInfo>, SourceError>;

    /// Whether a packet filter (pcap-filter syntax, and `inner`) makes sense.
    ///
    /// # Errors
    /// [`Trouble::Refused`], with the place.
    fn check_filter(&self, text: &str) -> Result<(), SourceError>;

    /// Writes the packets of a time that pass a filter as pcapng, in time order.
    ///
    /// # Errors
    /// [`Trouble::Refused`] for a filter that makes no sense; [`Trouble::Cancelled`]; what `out` says.
    fn extract(
        &self,
        ask: &ExtractAsk,
        out: &mut dyn io::Write,
        progress: &Progress,
        cancel: &Cancel,
    ) -> Result<Extracted, SourceError>;
}

/// Which packets are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtractAsk {
    /// Captured at or after this time.
    pub from_ns: i64,
    /// Captured before this time.
    pub to_ns: i64,
    /// pcap-filter expression; empty for all.
    pub filter: String,
}

/// How an extraction ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    /// Packets written.
    pub packets: u64,
    /// Parts of the log that could not be read, a sentence each.
    pub faults: Vec<String>,
}

/// One segment of the packet log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct SegmentInfo {
    /// Its name below the packet log ("sip/2026/11/20/10/05-0.pcapng").
    pub name: String,
    /// sip, rtp or other.
    pub class: String,
    /// Which lane wrote it.
    pub lane: u16,
    /// First packet's time, RFC 3339; none if it holds none yet.
    #[serde(serialize_with = "as_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub from: Option<i64>,
    /// Last packet's time, RFC 3339.
    #[serde(serialize_with = "as_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub to: Option<i64>,
    /// Packets, as far as it is known without reading it.
    pub packets: Option<u64>,
    /// Octets of the file, without compression as far as known.
    pub octets: u64,
    /// Octets on disk, index included.
    pub stored_octets: u64,
    /// `growing`, `sealed`, `damaged`.
    pub state: String,
    /// Whether it lies compressed.
    pub compressed: bool,
    /// Whether it is kept from being deleted.
    pub pinned: bool,
}

/// What is kept of a class, and what there is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct RetentionInfo {
    /// sip, rtp or other.
    pub class: String,
    /// The rule in force, in words ("14 days, at most 200 GB").
    pub rule: String,
    /// Octets on disk.
    pub stored_octets: u64,
    /// Most octets that the rule allows.
    pub limit_octets: Option<u64>,
    /// Longest age that the rule allows, seconds.
    pub limit_s: Option<u64>,
    /// Oldest packet, RFC 3339.
    #[serde(serialize_with = "as_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub oldest: Option<i64>,
    /// Days that will be kept if packets come on as in the last day; none if that cannot be told.
    pub days_estimated: Option<f64>,
}

/// The running capture.
pub trait Live: Send + Sync {
    /// What it does now; none if nothing is running (or it cannot be reached: the text of [`Live::health`] says so).
    fn snapshot(&self) -> Option<LiveSnapshot>;

    /// Calls that are up: how many, and the newest of them, at most `limit`.
    fn calls_up(&self, limit: usize) -> CallsUp;

    /// Its metrics, in Prometheus' text format; empty if there are none.
    fn metrics(&self) -> String;

    /// What is unhealthy, a line each.
    fn health(&self) -> Vec<String>;
}

/// A capture as it stands. Counts are since it began: who wants rates takes the difference of two.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LiveSnapshot {
    /// When it was taken, nanoseconds since 1970.
    pub at_ns: i64,
    /// When the capture began, nanoseconds since 1970.
    pub since_ns: i64,
    /// `live`, or `demo` for a simulated world.
    pub source: String,
    /// Calls that are up.
    pub calls_up: u64,
    /// Calls that began.
    pub calls_started_total: u64,
    /// Calls that have ended.
    pub calls_finished_total: u64,
    /// Packets by class.
    pub packets_total: ByClass,
    /// Octets captured.
    pub octets_total: u64,
    /// The lanes.
    pub lanes: Vec<LaneSnapshot>,
    /// Memory between lanes and disk; none if no packets are recorded.
    pub buffer: Option<BufferSnapshot>,
    /// The packet log's disks.
    pub volumes: Vec<VolumeSnapshot>,
    /// Packets lost, by place.
    pub drops_total: BTreeMap<String, u64>,
    /// Threads of the program.
    pub threads: Vec<ThreadSnapshot>,
    /// Octets of memory in use.
    pub resident_octets: u64,
    /// What is unhealthy, a line each.
    pub unhealthy: Vec<String>,
    /// Protocols that were seen and are not analysed, those that matter most for calls first.
    #[serde(default)]
    pub not_analysed: Vec<NotAnalysed>,
    /// Steps of the system's clock since the capture began.
    #[serde(default)]
    pub clock: ClockSteps,
    /// Recovery of calls that were up when the run before ended; none where there is no packet log or no store, or
    /// where it is switched off.
    #[serde(default)]
    pub recovery: Option<RecoverySnapshot>,
    /// What retention of rows found; none before its first round, or where no rows are stored.
    #[serde(default)]
    pub rows: Option<RowsSnapshot>,
}

/// How large the store is, and what left it because of age or size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RowsSnapshot {
    /// When that was looked at, nanoseconds since 1970.
    pub at_ns: i64,
    /// Octets of its files.
    pub octets: u64,
    /// Octets that they may have (`store.limit`).
    pub octets_max: Option<u64>,
    /// Octets beyond a size that stay: rows of today, and what `keep-at-least` protects.
    pub over_octets: u64,
    /// Rows that left since the program began.
    pub left_rows_total: u64,
    /// Octets that the files got smaller by.
    pub left_octets_total: u64,
    /// The clock leapt: nothing leaves because of its age.
    pub clock_in_doubt: bool,
    /// What keeps rows from leaving, a line each.
    pub trouble: Vec<String>,
}

/// Calls of before the start, made anew out of the packet log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecoverySnapshot {
    /// `idle`, `reading signalling`, `reading media`, `waiting for calls that are still up` or `done`.
    pub state: String,
    /// From when on the packet log is read, nanoseconds since 1970; 0 if it is not.
    pub from_ns: i64,
    /// Rows of calls made out of the packet log.
    pub calls_total: u64,
    /// Calls of before the start that are still up.
    pub waiting_calls: u64,
    /// Octets of segments that are being read, or were last.
    pub segment_octets: u64,
    /// Of these, octets that are read.
    pub read_octets: u64,
}

/// A protocol that was seen and is not analysed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NotAnalysed {
    /// Its name.
    pub protocol: String,
    /// Packets since the capture began.
    pub packets_total: u64,
    /// Where its first packet was seen: transport, port and sender.
    pub first_on: Option<String>,
    /// What it means for calls, and what to do.
    pub hint: Option<String>,
    /// Calls or their media may be inside.
    pub may_hide_calls: bool,
}

/// A figure for each class of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ByClass {
    /// Signalling.
    pub sip: u64,
    /// Media, with RTCP.
    pub rtp: u64,
    /// The rest.
    pub other: u64,
}

/// A lane: one ring and its thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LaneSnapshot {
    /// Its number.
    pub lane: u16,
    /// Where it listens.
    pub interface: String,
    /// Whether the interface is up.
    pub up: bool,
    /// Packets taken.
    pub packets_total: u64,
    /// Octets taken.
    pub octets_total: u64,
    /// Packets that the kernel dropped because the ring was full.
    pub drops_total: u64,
    /// How full the ring is, 0 to 1.
    pub ring_fill: f64,
}

/// Memory between lanes and disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BufferSnapshot {
    /// Octets in use.
    pub used_octets: u64,
    /// Octets there are.
    pub limit_octets: u64,
    /// What compression makes of what waits: octets before, divided by octets after; none if nothing was compressed.
    pub squeezed: Option<f64>,
}

/// A disk of the packet log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VolumeSnapshot {
    /// Its folder.
    pub path: String,
    /// Octets written.
    pub written_octets_total: u64,
    /// Times the disk was waited for.
    pub waits_total: u64,
    /// How long in all, milliseconds.
    pub waited_ms_total: u64,
    /// Octets free.
    pub free_octets: u64,
    /// Octets in all.
    pub size_octets: u64,
    /// Whether it takes what is written.
    pub writable: bool,
}

/// A thread of the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ThreadSnapshot {
    /// Its name.
    pub name: String,
    /// Seconds of processor time that it took.
    pub cpu_s_total: f64,
}

/// Calls that are up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CallsUp {
    /// How many.
    pub total: u64,
    /// The newest of them, newest first.
    pub calls: Vec<CallUp>,
}

/// A call that is up, as far as its signalling tells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CallUp {
    /// The identifier that its row will have.
    pub id: String,
    /// Call-ID header field.
    pub sip_call_id: String,
    /// User part of From.
    pub from: String,
    /// User part of To.
    pub to: String,
    /// First message, nanoseconds since 1970.
    pub start_ns: i64,
    /// Answered, nanoseconds since 1970.
    pub answer_ns: Option<i64>,
    /// State so far, with the names of `state` of a call.
    pub state: String,
    /// Where the first INVITE came from.
    pub src: String,
    /// Where it went.
    pub dst: String,
}

/// Characters of a text of a call that is up, which strangers wrote and all who watch get each second.
pub const CALL_UP_CHARS_MAX: usize = 256;

impl CallUp {
    /// Cuts what is longer than [`CALL_UP_CHARS_MAX`]; what was cut ends in `...`.
    pub fn cut(&mut self) {
        let texts =
            [&mut self.sip_call_id, &mut self.from, &mut self.to, &mut self.state, &mut self.src, &mut self.dst];
        for text in texts {
            if let Some((at, _)) = text.char_indices().nth(CALL_UP_CHARS_MAX) {
                text.truncate(at);
                text.push_str("...");
            }
        }
    }
}

/// Reads captures that a user brings, into the store that is shown.
pub trait Reader: Send + Sync {
    /// Reads one capture to its end. `name` is what the user called it.
    ///
    /// # Errors
    /// It is no capture ([`Trouble::Refused`]), or what failed.
    fn read(&self, path: &Path, name: &str, progress: &Progress, cancel: &Cancel) -> Result<ReadDone, SourceError>;

    /// Removes the rows that a capture brought and that were not there before, by where the capture is kept
    /// ([`ReadDone::kept`]); how many.
    ///
    /// # Errors
    /// They cannot be removed; once more may do.
    fn forget(&self, _kept: &std::path::Path) -> Result<u64, SourceError> {
        Ok(0)
    }

    /// Notes a capture that was read, so that the next start of the program finds it; where.
    ///
    /// # Errors
    /// It cannot be noted.
    fn note(&self, _capture: &KeptCapture) -> Result<Option<PathBuf>, SourceError> {
        Ok(None)
    }

    /// Captures that earlier starts of the program noted, each with where. What nobody noted has no owner, and the time
    /// of its file.
    fn noted(&self) -> Vec<(KeptCapture, Option<PathBuf>)> {
        Vec::new()
    }

    /// Octets of all captures that it keeps, also those of an earlier start.
    fn kept_octets(&self) -> u64 {
        0
    }

    /// Protocols that are not analysed, of all captures that it read since the program began.
    fn not_analysed(&self) -> Vec<NotAnalysed> {
        Vec::new()
    }

    /// Steps of the clocks of these captures.
    fn clock(&self) -> ClockSteps {
        ClockSteps::default()
    }
}

/// By what time that what is kept gets old.
pub trait Ages: Send + Sync {
    /// Nanoseconds since 1970; none while the clock is in doubt, and nothing is to go because of its age.
    fn believed_ns(&self) -> Option<i64>;
}

/// A capture that was read and is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptCapture {
    /// Its name for the API; empty if nobody noted it.
    pub id: String,
    /// Whose it is: the row of a user; 0 if nobody noted it.
    pub owner: i64,
    /// When it was brought, nanoseconds since 1970.
    pub asked_ns: i64,
    /// What the user called it.
    pub name: String,
    /// What was found in it, and where it is kept.
    pub done: ReadDone,
}

/// What was found in a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadDone {
    /// Packets read.
    pub packets: u64,
    /// Calls.
    pub calls: u64,
    /// When the first call or packet was, nanoseconds since 1970.
    pub from_ns: Option<i64>,
    /// When the last was.
    pub to_ns: Option<i64>,
    /// What was odd (file damaged, losses), a sentence each.
    pub oddities: Vec<String>,
    /// Where the capture lies from now on, if it was taken from where it lay.
    pub kept: Option<PathBuf>,
}

fn as_time<S: Serializer>(at: &Option<i64>, to: S) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => to.serialize_some(&trunkline_store::time::rfc3339(*at)),
        None => to.serialize_none(),
    }
}
