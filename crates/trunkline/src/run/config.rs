//! The sections of the configuration: each key with its type, default, limits and what it is, said once.
//!
//! `config/trunkline.toml` and `docs/manual/configuration.md` are made from here, and a test compares them.

mod alert;
mod cache;
mod cdr;
mod charge;
mod check;
mod graph;
mod keeping;
mod load;
mod standby;
mod types;
mod web;

pub use alert::{Alert, AlertHistory};
pub use cache::{Cache, ClientCertificates, Door};
pub use cdr::{Cdr, Format, Gateway};
pub use charge::{Called, Charge, ChargeGtpp, FailureHandling, Ip, Together};
pub use check::calls;
pub use graph::Graph;
pub use load::{Given, load, mistakes};
pub use standby::{Nats, Standby};
pub use trunkline_directory::DirectorySection;
pub use types::{
    Classes, Compress, Direct, Listen, LogFormat, LogLevel, Microburst, SOCKET_PATH_MAX, Snap, Source, Timestamps,
};

pub use web::{Address, AuditLog, BroughtCaptures, Network, Oidc, Role, RoleOf, Tls, Web};

use std::path::PathBuf;
use std::time::Duration;
use trunkline_kit::config::{Octets, Share};

impl Settings {
    /// For how long the rows of a class are kept.
    pub fn retained(&self, class: trunkline_store::removal::Class) -> &RetainedClass {
        use trunkline_store::removal::Class;
        match class {
            Class::Calls => &self.store_calls,
            Class::Streams => &self.store_streams,
            Class::Intervals => &self.store_intervals,
            Class::Events => &self.store_events,
            Class::Losses => &self.store_losses,
            Class::Charges => &self.store_charges,
        }
    }
}

/// What the example begins with.
const HEAD: &str = "\
# Trunkline's configuration: every key with its default. Remove the '#' before a key to set it.
#
# Check it:                 trunkline config check FILE
# What takes effect, why:   trunkline config show -c FILE
# By environment:           TRUNKLINE_SECTION__KEY, TRUNKLINE_RECORD__SIP__KEEP_AGE='30 days'
# While it runs:            edit the file, then SIGHUP; the log says what has to wait for the next start
";

/// The example: `config/trunkline.toml`.
pub fn commented() -> String {
    format!("{HEAD}\n{}", trunkline_kit::config::example::<Settings>())
}

trunkline_kit::section! {
    /// Where everything is kept.
    pub struct DataSection {
        /// The data folder: packet log, store and what else the jobs keep. It is made if it is not there.
        folder: PathBuf = PathBuf::from(crate::cli::DATA_DEFAULT) => Restart;
    }
}

trunkline_kit::section! {
    /// Where packets come from.
    pub struct Capture {
        /// The network interfaces to listen on. `trunkline doctor -i NAME` says what each can do.
        interfaces: Vec<String> = Vec::new() => Restart;
        /// How packets get here from the kernel: `af-packet` works everywhere, `af-xdp` takes fewer instructions a
        /// packet where the driver supports it; `auto` takes `af-packet`.
        source: Source = Source::Auto => Restart;
        /// Lanes: threads with a ring each that share the traffic of all interfaces. 0 takes as many as there are
        /// receive queues, at most one a processor and one processor left for the rest.
        lanes: u16 = 0 => Restart, 0 => 64;
        /// The ring of each lane, between kernel and program: it bridges the moments in which a lane is busy. It is
        /// locked memory.
        ring: Octets = Octets::mib(128) => Restart, Octets::mib(1) => Octets::gib(4);
        /// How long the kernel waits for a block of the ring to fill before it hands it over.
        block_timeout: Duration = Duration::from_millis(50) => Restart,
            Duration::from_millis(1) => Duration::from_secs(1);
        /// What to keep, in the syntax of pcap-filter(7); the kernel leaves out the rest before it costs anything.
        /// Empty keeps everything. It is compiled by libpcap, which has to be installed for it.
        filter: String = String::new() => Restart;
        /// Whether the interfaces are put into promiscuous mode: a mirror port is useless without.
        promiscuous: bool = true => Restart;
        /// Who says when a packet came: `software` the kernel when it takes the packet over, `hardware` the network
        /// card if it can.
        timestamps: Timestamps = Timestamps::Software => Restart;
        /// Milliseconds in which an interface carries more than this are written to `packets/bursts/`: a share of the
        /// interface's speed, such as `70 %`, or a rate.
        microburst: Option<Microburst> = None => Restart;
        /// Whether packets that this machine sends on the interface are left out.
        ignore_outgoing: bool = false => Restart;
        /// The user to become once rings and sockets are open; `none` stays who started it.
        user: Option<String> = None => Restart;
        /// Whether each lane stays on a processor of its own.
        pin: bool = true => Restart;
    }
}

trunkline_kit::section! {
    /// The packet log: what is written of the packets, and for how long it is kept.
    pub struct Record {
        /// Whether packets are written.
        enabled: bool = true => Restart;
        /// The classes that are written, of `sip`, `rtp` and `other`.
        classes: Vec<Classes> = Classes::ALL.to_vec() => Running;
        /// After how long a new segment begins.
        segment_time: Duration = Duration::from_secs(60) => Running,
            Duration::from_secs(1) => Duration::from_secs(3600);
        /// After how many octets a new segment begins.
        segment_size: Octets = Octets::gib(1) => Running, Octets::mib(1) => Octets::gib(64);
        /// How old what is only in memory may get before it is written: what a crash loses at most.
        flush: Duration = Duration::from_secs(1) => Running,
            Duration::from_millis(100) => Duration::from_secs(60);
        /// Memory between rings and disks. When the disks lag it fills, compressed; when it is full, packets are left
        /// out, `other` first, then `rtp`, `sip` last, and each is counted.
        memory: Octets = Octets::mib(512) => Restart, Octets::mib(16) => Octets::gib(1024);
        /// Whether the kernel's page cache is bypassed (O_DIRECT): `auto` does where the file system can.
        direct: Direct = Direct::Auto => Restart;
        /// Further folders, best one a disk, that segments are spread over; the data folder comes first.
        volumes: Vec<PathBuf> = Vec::new() => Restart;
        /// How full each volume and the slow tier may get: as a share of the whole file system, whoever uses it (where
        /// others use more, the log still has a twentieth of it), or as the size of the log there. Beyond, the oldest
        /// segments are deleted, or moved to the slow tier.
        limit: Share = Share::Percent(80.0) => Running;
        /// A folder that segments are moved to when a volume is full, instead of being deleted; they are deleted
        /// when this one is full.
        slow_tier: Option<PathBuf> = None => Restart;
        /// A program that is run for each finished segment, its path the only argument, one at a time, as the user that
        /// the recorder has become.
        exec: Option<PathBuf> = None => Running;
        /// How long it may take; then it is killed, with what it started.
        exec_timeout: Duration = Duration::from_secs(60) => Running,
            Duration::from_secs(1) => Duration::from_secs(3600);
    }
}

trunkline_kit::section! {
    /// What is written of one class of packets: `[record.sip]` signalling, `[record.rtp]` RTP and RTCP,
    /// `[record.other]` the rest.
    pub struct RecordedClass {
        /// How much of each packet is written: `whole`, `headers` (up to and with the header of UDP, TCP, SCTP or
        /// RTP), or so many octets.
        snap: Snap = Snap::Whole => Running;
        /// For how long its segments are kept; `none` until there is no room.
        keep_age: Option<Duration> = None => Running;
        /// How much of it is kept; `none` until there is no room.
        keep_size: Option<Octets> = None => Running;
        /// Whether its finished segments are rewritten to take less room, at the lowest priority: `off`, or `zstd`, in
        /// frames of which only those that are needed are read. Worth it for `sip`, which takes a tenth; media hardly
        /// gets smaller. With `off`, what is compressed already stays so.
        compress: Compress = Compress::Off => Running;
    }
}

trunkline_kit::section! {
    /// Calls and media: SIP dialogs and RTP streams, their quality and what went wrong.
    pub struct Calls {
        /// Whether packets are analysed.
        enabled: bool = true => Restart;
        /// How far back the packet log is read after a start for calls that were up, or not stored yet, when the run
        /// before ended, and how long such as go on are waited for. `0 s` recovers none.
        recover: Duration = Duration::from_secs(7200) => Restart, Duration::ZERO => Duration::from_secs(86_400);
        /// How often it is noted on disk from where the packet log would have to be read.
        checkpoint_every: Duration = Duration::from_secs(60) => Restart,
            Duration::from_secs(1) => Duration::from_secs(3600);
    }
}

trunkline_kit::section! {
    /// The rows that calls become.
    pub struct Store {
        /// Whether rows are stored. Without them there is nothing to search.
        enabled: bool = true => Restart;
        /// Most days that one capture that is brought makes new in the store: wild times in it must not fill the disk.
        /// Rows of further days are not kept, which its page tells. For `trunkline read` it is `--days-max`.
        capture_days: u16 = 400 => Restart, 1 => 65_535;
        /// How large the store may get: a share of the file system, or a size. Beyond, rows of the oldest day leave,
        /// intervals and streams of calls first, charges last; never those of today, nor what `keep-at-least` of their
        /// class protects.
        limit: Share = Share::Percent(15.0) => Restart;
    }
}

trunkline_kit::section! {
    /// For how long the rows of one class are kept: `[store.calls]` calls with their streams, `[store.streams]` RTP
    /// streams, `[store.intervals]` ten seconds of a stream each, `[store.events]` registrations and other
    /// transactions, `[store.losses]`, `[store.charges]`. Rows leave by whole days (UTC).
    pub struct RetainedClass {
        /// When its rows leave; `none` when there is no room.
        keep_age: Option<Duration> = None => Restart;
        /// How much of it is kept; `none` until there is no room.
        keep_size: Option<Octets> = None => Restart;
        /// How old its rows have to be before they may leave, for whatever other reason: what the law asks to keep.
        keep_at_least: Option<Duration> = None => Restart;
    }
}

trunkline_kit::section! {
    /// Metrics for Prometheus at `/metrics`, and `/healthz`.
    pub struct Metrics {
        /// Where they are served: `unix:PATH` or `ADDRESS:PORT`. Who reaches it can read how much traffic there is, but
        /// no number and no address of it.
        listen: Option<Listen> = None => Restart;
    }
}

trunkline_kit::section! {
    /// What the program says about itself, at standard error.
    pub struct Log {
        /// The least important lines that are written. Telephone numbers and subscriber ids stand in `debug` and
        /// `trace` alone.
        level: LogLevel = LogLevel::Info => Running;
        /// How a line is written: `text` for people, `json` for programs.
        format: LogFormat = LogFormat::Text => Restart;
        /// How often the status line is written.
        status_every: Duration = Duration::from_secs(10) => Running,
            Duration::from_secs(1) => Duration::from_secs(3600);
    }
}

trunkline_kit::configuration! {
    /// The whole configuration.
    pub struct Settings {
        /// Where everything is kept.
        data: DataSection = "data",
        /// Where packets come from.
        capture: Capture = "capture",
        /// The packet log.
        record: Record = "record",
        /// What is written of SIP.
        record_sip: RecordedClass = "record.sip",
        /// What is written of RTP and RTCP.
        record_rtp: RecordedClass = "record.rtp",
        /// What is written of the rest.
        record_other: RecordedClass = "record.other",
        /// Calls and media.
        calls: Calls = "calls",
        /// The rows that calls become.
        store: Store = "store",
        /// Rows of calls.
        store_calls: RetainedClass = "store.calls",
        /// Rows of streams.
        store_streams: RetainedClass = "store.streams",
        /// Rows of intervals of streams.
        store_intervals: RetainedClass = "store.intervals",
        /// Rows of registrations and other transactions.
        store_events: RetainedClass = "store.events",
        /// Rows of losses.
        store_losses: RetainedClass = "store.losses",
        /// Rows of charges.
        store_charges: RetainedClass = "store.charges",
        /// The cache.
        cache: Cache = "cache",
        /// Charging.
        charge: Charge = "charge",
        /// Nodes that stand by for each other.
        charge_standby: Standby = "charge.standby",
        /// Charging data records.
        cdr: Cdr = "cdr",
        /// GTP' of charging.
        charge_gtpp: ChargeGtpp = "charge.gtpp",
        /// Subscribers out of LDAP, for charging.
        directory: DirectorySection = "directory",
        /// Graphs.
        graph: Graph = "graph",
        /// Alerts.
        alert: Alert = "alert",
        /// Alerts that are over.
        alert_history: AlertHistory = "alert.history",
        /// Metrics.
        metrics: Metrics = "metrics",
        /// The web.
        web: Web = "web",
        /// The audit log of the web.
        web_audit: AuditLog = "web.audit",
        /// Captures that users brought.
        web_captures: BroughtCaptures = "web.captures",
        /// Sign-in by OpenID Connect.
        web_oidc: Oidc = "web.oidc",
        /// The program's own log.
        log: Log = "log",
    }
}

#[cfg(test)]
mod tests;
