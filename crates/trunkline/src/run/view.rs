//! What there is to see of a running capture: the status line's snapshot, metrics, and whether it is healthy.

mod live;

use super::bursts::log::BurstLog;
use super::cards::Cards;
use super::engine::{Engine, Shared};
use super::lane::LaneReport;
use super::recover::Recovery;
use super::rows::{self, Writing};
use super::status::{Snapshot, process};
use crate::alert::here::Running as Alerts;
use crate::cache::here::Running;
use crate::charge::here::Running as Charging;
use crate::graph::here::Running as Graphs;
use crate::retention;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use trunkline_calls::unread::{Protocol, Row, Unread};
use trunkline_capture::LossPlace;
use trunkline_kit::counters::Counted;
use trunkline_kit::metrics::{Sample, labelled};
use trunkline_record::job::{Closed, Report};
use trunkline_record::{Class, Recorder};
use trunkline_spool::Stats;

/// The view of a running capture. Whoever looks adds up what the threads published; they are not disturbed.
pub struct View {
    shared: Arc<Shared>,
    writing: Arc<Writing>,
    recorder: Option<Arc<Mutex<Option<Recorder>>>>,
    bursts: Arc<Mutex<BurstLog>>,
    cards: Arc<Mutex<Cards>>,
    /// The cache beside the rest, where there is one.
    cache: Option<Running>,
    /// The charging node beside the rest, where there is one.
    charging: Option<Charging>,
    /// Graphs beside the rest, where there are any.
    graphs: Option<Graphs>,
    /// Alerts beside the rest, where there are any.
    alerts: Option<Alerts>,
    /// Recovery of calls of before the start, where there is any.
    recovery: Option<Arc<Recovery>>,
    /// What retention of rows found.
    rows: retention::Shown,
    /// Jobs that could not be started, and why.
    stopped: Mutex<Vec<String>>,
    /// The packet log's last statistics, when it is closed.
    closed: Mutex<Option<Closed>>,
    begun: Instant,
    since_ns: i64,
    /// Of each lane.
    interfaces: Vec<String>,
}

impl View {
    /// Of this engine.
    pub fn new(
        engine: &Engine,
        recorder: Option<Arc<Mutex<Option<Recorder>>>>,
        bursts: Arc<Mutex<BurstLog>>,
        cards: Arc<Mutex<Cards>>,
        interfaces: Vec<String>,
    ) -> Self {
        View {
            shared: Arc::clone(&engine.shared),
            writing: Arc::clone(&engine.writing),
            recorder,
            bursts,
            cards,
            cache: None,
            charging: None,
            graphs: None,
            alerts: None,
            recovery: None,
            rows: retention::Shown::default(),
            stopped: Mutex::default(),
            closed: Mutex::default(),
            begun: Instant::now(),
            since_ns: super::now_ns(),
            interfaces,
        }
    }

    /// The same with a cache beside the rest.
    pub fn with_cache(self, cache: Option<Running>) -> Self {
        View { cache, ..self }
    }

    /// The cache beside the rest, where there is one.
    pub fn cache(&self) -> Option<&Running> {
        self.cache.as_ref()
    }

    /// The same with a charging node beside the rest.
    pub fn with_charging(self, charging: Option<Charging>) -> Self {
        View { charging, ..self }
    }

    /// The charging node beside the rest, where there is one.
    pub fn charging(&self) -> Option<&Charging> {
        self.charging.as_ref()
    }

    /// The same with graphs beside the rest.
    pub fn with_graphs(self, graphs: Option<Graphs>) -> Self {
        View { graphs, ..self }
    }

    /// Graphs beside the rest, where there are any.
    pub fn graphs(&self) -> Option<&Graphs> {
        self.graphs.as_ref()
    }

    /// The same with alerts beside the rest.
    pub fn with_alerts(self, alerts: Option<Alerts>) -> Self {
        View { alerts, ..self }
    }

    /// Alerts beside the rest, where there are any.
    pub fn alerts(&self) -> Option<&Alerts> {
        self.alerts.as_ref()
    }

    /// The same with recovery of calls of before the start.
    pub fn with_recovery(self, recovery: Option<Arc<Recovery>>) -> Self {
        View { recovery, ..self }
    }

    /// Where retention of rows puts what it found.
    pub fn rows(&self) -> &retention::Shown {
        &self.rows
    }

    /// These jobs could not be started, and why.
    pub fn stays_stopped(&self, jobs: Vec<String>) {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner).extend(jobs);
    }

    /// Jobs that could not be started, and why.
    pub fn stopped(&self) -> Vec<String> {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The packet log is closed, and this was the last of it.
    pub fn closed(&self, closed: Closed) {
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = Some(closed);
    }

    /// How full the memory between rings and disks is, 0 to 1.
    pub fn buffer_fill(&self) -> f64 {
        self.stats().map_or(0.0, |s| s.memory.used as f64 / s.memory.limit.max(1) as f64)
    }

    /// Rows that wait for the store, in memory and on disk.
    pub fn rows_waiting(&self) -> u64 {
        let report = self.writing.report();
        report.waiting as u64 + report.journal_rows
    }

    fn stats(&self) -> Option<Stats> {
        let closed = || self.closed.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|c| c.stats.clone());
        self.recorder(Recorder::stats).or_else(closed)
    }

    fn house(&self) -> Option<Report> {
        let closed =
            || self.closed.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|c| c.report.clone());
        self.recorder(Recorder::report).unwrap_or_else(closed)
    }

    /// What the packet log says while it is open.
    fn recorder<T>(&self, ask: impl FnOnce(&Recorder) -> T) -> Option<T> {
        self.recorder.as_ref().and_then(|r| r.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(ask))
    }

    /// The status line's totals and levels: how full the rings were is since the last snapshot, so that there must be
    /// one who takes them.
    pub fn snapshot(&self) -> Snapshot {
        let lanes = self.shared.lane_reports();
        let stats = self.stats();
        let counters: Vec<&Counted> = lanes.iter().flat_map(|l| &l.counters).collect();
        let sum = |name: &str| counters.iter().filter(|c| c.name == name).map(|c| c.value).sum::<u64>();
        let packets = Class::ALL.map(|c| sum(SEEN[c as usize]));
        let fills = lanes.iter().enumerate().map(|(lane, l)| (self.shared.take_fill(lane), l.ring.room));
        let fill = fills.filter(|(_, room)| *room > 0).map(|(fill, room)| f64::from(fill) / f64::from(room));
        let waits = stats.iter().flat_map(|s| &s.volumes).map(|v| v.waits);
        Snapshot {
            at: self.begun.elapsed(),
            calls: self.shared.owner_report().calls,
            packets,
            octets: lanes.iter().map(|l| l.ring.octets).sum(),
            ring_fill: fill.fold(0.0, f64::max).min(1.0),
            buffer_fill: stats.as_ref().map_or(0.0, |s| s.memory.used as f64 / s.memory.limit.max(1) as f64),
            squeezed_from: stats.as_ref().map_or(0, |s| s.counts.packed_in_octets),
            squeezed_to: stats.as_ref().map_or(0, |s| s.counts.packed_out_octets),
            drops: self.drops(&lanes, stats.as_ref()),
            disk_waits: waits.clone().map(|w| w.count).sum(),
            disk_waited: Duration::from_micros(waits.map(|w| w.sum_us).sum()),
            held: stats.iter().flat_map(|s| &s.volumes).map(|v| v.held).collect(),
            unwritten: stats.iter().flat_map(|s| &s.volumes).filter_map(|v| v.unwritten).max().unwrap_or_default(),
            compress_waiting: self.house().map_or(0, |report| report.roomless as u64),
            cache: self.cache.as_ref().map(Running::totals),
            charging: self.charging.as_ref().map(Charging::totals),
            graphs: self.graphs.as_ref().map(Graphs::totals),
            threads: process::threads(),
            resident: process::resident(),
        }
    }

    /// All metrics.
    pub fn samples(&self) -> Vec<Sample> {
        let mut samples = Vec::new();
        for (lane, report) in self.shared.lane_reports().into_iter().enumerate() {
            samples.extend(labelled(report.counters, "lane", lane));
            let ring = &report.ring;
            let counter = |name, help, value| Sample::counter(name, help, value).label("lane", lane);
            let gauge = |name, help, value| Sample::gauge(name, help, value).label("lane", lane);
            samples.extend([
                counter("trunkline_capture_ring_packets_total", "packets taken from the ring", ring.packets),
                counter("trunkline_capture_ring_octets_total", "octets captured of them", ring.octets),
                counter("trunkline_capture_ring_dropped_packets_total", "packets dropped: ring full", ring.drops),
                counter("trunkline_capture_ring_freezes_total", "times the ring became full", ring.freezes),
                counter(
                    "trunkline_capture_ring_malformed_total",
                    "records of the ring that were not valid",
                    ring.malformed,
                ),
                counter("trunkline_capture_returns_total", "times the interface came back", ring.returns),
                gauge("trunkline_capture_ring_blocks", "blocks of the ring", f64::from(ring.room)),
                gauge("trunkline_capture_ring_waiting_blocks", "blocks filled and waiting", f64::from(ring.waiting)),
                gauge("trunkline_capture_ring_held_blocks", "blocks in use", f64::from(ring.held)),
                gauge("trunkline_capture_interface_up", "whether the interface is up", f64::from(u8::from(ring.is_up))),
            ]);
        }
        samples.extend(self.of_unread());
        let owner = self.shared.owner_report();
        let gathered = self.shared.gather_report();
        let writing = self.writing.report();
        samples.extend(owner.counters.into_iter().map(Sample::from));
        samples.push(Sample::counter(
            "trunkline_run_losses_joined_total",
            "loss reports merged with others of the same place, because too many were queued",
            self.shared.joined_losses(),
        ));
        samples.extend(gathered.decoded.list().into_iter().map(Sample::from));
        samples.extend(gathered.tap.list().into_iter().map(Sample::from));
        samples.extend(writing.counters.list().into_iter().map(Sample::from));
        samples.push(Sample::gauge("trunkline_calls_open_calls", "active calls", owner.calls as f64));
        samples.extend(of_rows(&writing));
        let t = gathered.totals;
        for (name, help, value) in [
            ("trunkline_calls_finished_calls_total", "calls that have ended", t.calls),
            ("trunkline_calls_finished_streams_total", "RTP streams that have ended", t.streams),
            ("trunkline_calls_capture_lost_packets_total", "packets lost by the capture", t.capture_lost),
        ] {
            samples.push(Sample::counter(name, help, value));
        }
        if let Some(stats) = self.stats() {
            samples.extend(of_spool(&stats));
        }
        samples.extend(self.cards().samples());
        samples.extend(self.bursts.lock().unwrap_or_else(PoisonError::into_inner).samples());
        if let Some(report) = self.house() {
            samples.extend(of_house(&report));
        }
        samples.extend(self.cache.iter().flat_map(Running::samples));
        samples.extend(self.charging.iter().flat_map(Charging::samples));
        samples.extend(self.graphs.iter().flat_map(Graphs::samples));
        samples.extend(self.alerts.iter().flat_map(Alerts::samples));
        samples.extend(retention::held(&self.rows).samples());
        samples.extend(self.recovery.iter().flat_map(|recovery| recovery.samples()));
        samples.extend(process::samples());
        samples.push(build());
        samples
    }

    /// What all lanes saw and do not analyse.
    fn unread(&self) -> Unread {
        let mut all = Unread::default();
        self.shared.lane_reports().iter().for_each(|lane| all.add(&lane.unread));
        all
    }

    fn of_unread(&self) -> Vec<Sample> {
        let (name, help) = ("trunkline_calls_not_analysed_packets_total", "packets of protocols that are not analysed");
        let sample = |(protocol, row): (Protocol, &Row)| {
            Sample::counter(name, help, row.packets).label("protocol", protocol.name())
        };
        self.unread().seen().map(sample).collect()
    }

    /// What is unhealthy now, a line each.
    pub fn unhealthy(&self) -> Vec<String> {
        let stopped = |why| format!("charging has stopped answering: {why}");
        let mut lines: Vec<String> = self.charging.iter().filter_map(Charging::failure).map(stopped).collect();
        lines.extend(self.stopped());
        lines.extend(self.charging.iter().flat_map(Charging::troubles));
        lines.extend(self.graphs.iter().flat_map(Graphs::troubles));
        lines.extend(self.alerts.iter().flat_map(Alerts::troubles));
        for (lane, report) in self.shared.lane_reports().into_iter().enumerate() {
            match report.failed {
                Some(why) => lines.push(format!("lane {lane} ended: {why}")),
                None if !report.ring.is_up => lines.push(format!("lane {lane}: its interface is down")),
                None => {}
            }
        }
        for volume in self.stats().iter().flat_map(|s| &s.volumes) {
            if !volume.state.is_usable() {
                lines.push(format!("{}: {}", volume.path.display(), volume.state));
            }
        }
        lines.extend(self.shared.gather_report().failed);
        let writing = self.writing.report();
        lines.extend(writing.error.map(|error| format!("store: {error}")));
        let refused = |why| format!("store: rows are not stored, because their day cannot be written: {why}");
        lines.extend(writing.refused.map(refused));
        let checkpoint = self.recovery.iter().filter_map(|recovery| recovery.report().error);
        lines.extend(checkpoint.map(|error| format!("checkpoint of calls: {error}")));
        lines.extend(writing.journal_error.map(|error| format!("journal of rows: {error}")));
        lines
    }

    /// What was lost since the start, a sentence for each place.
    pub fn losses(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let lanes = self.shared.lane_reports();
        for (lane, report) in lanes.iter().enumerate() {
            lines.extend(report.failed.as_ref().map(|why| format!("lane {lane} ended: {why}")));
        }
        for (place, packets) in self.drops(&lanes, self.stats().as_ref()) {
            if packets > 0 {
                let what = crate::show::figure::of(packets, "packet was", "packets were");
                lines.push(match place {
                    LossPlace::Card => format!("{what} lost by the network card: it had no room"),
                    LossPlace::Damaged => format!("{what} damaged when they came to the network card"),
                    LossPlace::OperatingSystem => format!("{what} lost in the kernel before any ring saw them"),
                    LossPlace::Ring => format!("{what} lost at the ring: a lane was too slow"),
                    LossPlace::Buffer => format!("{what} not recorded: the disk was too slow"),
                    _ => format!("{what} not recorded: the disk failed or was full"),
                });
            }
        }
        let writing = self.writing.report();
        let overflow = self.overflows(&lanes.iter().flat_map(|l| l.counters.clone()).collect::<Vec<_>>());
        lines.extend(overflow);
        let counters = writing.counters;
        if counters.lost + counters.refused + counters.damaged > 0 {
            let not_stored = counters.lost + counters.refused + counters.damaged;
            let what = crate::show::figure::of(not_stored, "row was", "rows were");
            lines.push(format!("{what} not stored"));
        }
        if writing.journal_rows > 0 {
            let what = crate::show::figure::of(writing.journal_rows, "row waits", "rows wait");
            let why = writing.error.unwrap_or_default();
            lines.push(format!("{what} on disk for the next start, the store cannot be written: {why}"));
        }
        lines
    }

    /// Packets lost by place: before the rings, at them, and on the way to the disk.
    fn drops(&self, lanes: &[LaneReport], stats: Option<&Stats>) -> Vec<(LossPlace, u64)> {
        let of = |how: fn(&trunkline_spool::Drops) -> u64| stats.map_or(0, |s| s.drops.iter().map(how).sum());
        let mut drops = self.cards().drops();
        drops.extend([
            (LossPlace::Ring, lanes.iter().map(|l| l.ring.drops).sum()),
            (LossPlace::Buffer, of(|d| d.buffer.records)),
            (LossPlace::Disk, of(|d| d.disk.records + d.lost.records)),
        ]);
        drops
    }

    fn cards(&self) -> MutexGuard<'_, Cards> {
        self.cards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn overflows(&self, of_lanes: &[Counted]) -> Vec<String> {
        let owner = self.shared.owner_report().counters;
        let tap = self.shared.gather_report().tap.list();
        let all =
            of_lanes.iter().chain(&owner).chain(&tap).filter(|c| c.name.ends_with("_overflow_total") && c.value > 0);
        all.map(|c| format!("{}: {}", c.help, crate::show::figure::count(c.value))).collect()
    }
}

/// The counters of packets seen, by class.
const SEEN: [&str; 3] =
    ["trunkline_run_sip_packets_total", "trunkline_run_rtp_packets_total", "trunkline_run_other_packets_total"];

fn of_rows(report: &rows::Report) -> Vec<Sample> {
    [
        ("trunkline_store_waiting_rows", "rows queued for the store in memory", report.waiting as f64),
        ("trunkline_store_journal_waiting_rows", "rows queued for the store on disk", report.journal_rows as f64),
        ("trunkline_store_journal_octets", "octets of the journal of queued rows", report.journal_octets as f64),
        ("trunkline_store_usable", "whether the store can be written", f64::from(u8::from(report.error.is_none()))),
    ]
    .map(|(name, help, value)| Sample::gauge(name, help, value))
    .to_vec()
}

/// What is running.
fn build() -> Sample {
    let sample = Sample::gauge("trunkline_build_info", "version of the program; always 1", 1.0);
    sample.label("version", env!("CARGO_PKG_VERSION")).label("architecture", std::env::consts::ARCH)
}

fn of_house(report: &Report) -> Vec<Sample> {
    let mut samples: Vec<Sample> = report.list().into_iter().map(Sample::from).collect();
    let gauge = |name, help, value: f64| Sample::gauge(name, help, value);
    for class in Class::ALL {
        let octets = report.octets[class as usize] as f64;
        let of = |sample: Sample| sample.label("class", class.name());
        samples.push(of(gauge("trunkline_record_kept_octets", "octets of all finished segments", octets)));
        if let Some(oldest_ns) = report.oldest_ns[class as usize] {
            let seconds = oldest_ns as f64 / 1e9;
            let help = "when the oldest finished segment begins, since 1970";
            samples.push(of(gauge("trunkline_record_oldest_seconds", help, seconds)));
        }
    }
    samples.extend([
        gauge("trunkline_record_exec_waiting_segments", "finished segments that wait for exec", report.waiting as f64),
        gauge(
            "trunkline_record_compress_waiting_segments",
            "segments that wait for room to be compressed",
            report.roomless as f64,
        ),
        gauge("trunkline_record_in_use_segments", "segments due for deletion that are in use", report.in_use as f64),
        gauge(
            "trunkline_record_ages_suspended",
            "whether deletion by age is stopped: the clock jumped",
            f64::from(u8::from(report.ages_suspended)),
        ),
    ]);
    samples
}

fn of_spool(stats: &Stats) -> Vec<Sample> {
    let mut samples: Vec<Sample> = stats.counts.list().into_iter().map(Sample::from).collect();
    for (class, drops) in Class::ALL.iter().zip(&stats.drops) {
        for (place, amount) in [("buffer", drops.buffer), ("disk", drops.disk), ("lost", drops.lost)] {
            let sample = Sample::counter(
                "trunkline_record_dropped_packets_total",
                "packets that are not in the packet log",
                amount.records,
            );
            samples.push(sample.label("class", class.name()).label("place", place));
        }
    }
    samples.push(Sample::gauge("trunkline_spool_memory_octets", "memory in use", stats.memory.used as f64));
    samples.push(Sample::gauge("trunkline_spool_memory_limit_octets", "memory at most", stats.memory.limit as f64));
    for volume in &stats.volumes {
        let path = volume.path.display().to_string();
        let gauge = |name, help, value: f64| Sample::gauge(name, help, value).label("volume", &path);
        samples.extend([
            gauge("trunkline_spool_free_octets", "octets free on the volume", volume.free_octets as f64),
            gauge("trunkline_spool_queued_octets", "octets queued for the disk", volume.queued_octets as f64),
            gauge(
                "trunkline_spool_usable",
                "whether the volume can be written",
                f64::from(u8::from(volume.state.is_usable())),
            ),
            Sample::counter("trunkline_spool_waits_total", "times the disk was not ready", volume.waits.count)
                .label("volume", &path),
            gauge(
                "trunkline_spool_unwritten_seconds",
                "age of the oldest record in memory that is not on disk yet",
                volume.unwritten.unwrap_or_default().as_secs_f64(),
            ),
            gauge(
                "trunkline_spool_unwritten_max_seconds",
                "longest time that a record was in memory before it was on disk, since the start",
                volume.held.max_us as f64 / 1e6,
            ),
        ]);
    }
    samples
}
