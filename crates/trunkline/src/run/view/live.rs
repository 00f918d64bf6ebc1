//! The view as the web has it: one snapshot with everything, and the calls that are up.

use super::{SEEN, View};
use crate::retention;
use crate::run::lane::LaneReport;
use crate::run::now_ns;
use crate::run::recover::Recovery;
use crate::run::status::process;
use trunkline_capture::live::RingStatistics;
use trunkline_spool::Stats;
use trunkline_web::sources::{
    BufferSnapshot, ByClass, CallUp, CallsUp, ClockSteps, LaneSnapshot, LiveSnapshot, RecoverySnapshot, RowsSnapshot,
    ThreadSnapshot, VolumeSnapshot,
};

impl View {
    /// Everything at this moment. `source` is `live` or `demo`.
    pub fn live_snapshot(&self, source: &str) -> LiveSnapshot {
        let (lanes, stats, owner) = (self.shared.lane_reports(), self.stats(), self.shared.owner_report());
        let counters = || lanes.iter().flat_map(|lane| &lane.counters);
        let seen = SEEN.map(|name| counters().filter(|c| c.name == name).map(|c| c.value).sum());
        let begun = owner.counters.iter().find(|c| c.name == "trunkline_calls_begun_total");
        LiveSnapshot {
            at_ns: now_ns(),
            since_ns: self.since_ns,
            source: source.to_owned(),
            calls_up: owner.up,
            calls_started_total: begun.map_or(0, |c| c.value),
            calls_finished_total: self.shared.gather_report().totals.calls,
            packets_total: ByClass { sip: seen[0], rtp: seen[1], other: seen[2] },
            octets_total: lanes.iter().map(|lane| lane.ring.octets).sum(),
            lanes: lanes.iter().enumerate().map(|(lane, report)| self.lane(lane, report)).collect(),
            buffer: stats.as_ref().map(buffer),
            volumes: stats.iter().flat_map(|s| &s.volumes).map(volume).collect(),
            drops_total: self.drops(&lanes, stats.as_ref()).into_iter().fold(Default::default(), add),
            threads: process::threads().into_iter().map(thread).collect(),
            resident_octets: process::resident(),
            unhealthy: self.unhealthy(),
            not_analysed: crate::web::unread::not_analysed(&self.unread()),
            clock: self.clock(),
            recovery: self.recovery.as_ref().map(|recovery| recovered(recovery)),
            rows: rows(&self.rows),
        }
    }

    /// Steps of the system's clock.
    fn clock(&self) -> ClockSteps {
        let (total, leaps) = self.shared.steps.all();
        let mut steps = ClockSteps::default();
        steps.add(total, leaps.iter().map(|leap| crate::web::clock::step(leap, Vec::new())));
        steps
    }

    /// How many calls are up, and the newest of them.
    pub fn calls_up(&self, limit: usize) -> CallsUp {
        let calls = self.shared.calls_up(limit).into_iter().map(call).collect();
        CallsUp { total: self.shared.owner_report().up, calls }
    }

    fn lane(&self, lane: usize, report: &LaneReport) -> LaneSnapshot {
        let ring = &report.ring;
        LaneSnapshot {
            lane: u16::try_from(lane).unwrap_or(u16::MAX),
            interface: self.interfaces.get(lane).cloned().unwrap_or_default(),
            up: ring.is_up && report.failed.is_none(),
            packets_total: ring.packets,
            octets_total: ring.octets,
            drops_total: ring.drops,
            ring_fill: fill(ring),
        }
    }
}

/// None before the first round.
fn rows(shown: &retention::Shown) -> Option<RowsSnapshot> {
    let report = retention::held(shown);
    let at_ns = report.at_ns?;
    Some(RowsSnapshot {
        at_ns,
        octets: report.octets,
        octets_max: report.octets_max,
        over_octets: report.over_octets,
        left_rows_total: report.counts.rows,
        left_octets_total: report.counts.octets,
        clock_in_doubt: report.clock_in_doubt,
        trouble: report.trouble.clone(),
    })
}

fn recovered(recovery: &Recovery) -> RecoverySnapshot {
    let report = recovery.report();
    RecoverySnapshot {
        state: report.phase.name().to_owned(),
        from_ns: report.from_ns,
        calls_total: report.counted.calls,
        waiting_calls: report.up,
        segment_octets: report.octets.0,
        read_octets: report.octets.1,
    }
}

/// The share of a ring that was filled or in use, at most, since the report before.
fn fill(ring: &RingStatistics) -> f64 {
    let used = ring.waiting_max.max(ring.waiting).saturating_add(ring.held);
    (f64::from(used) / f64::from(ring.room.max(1))).min(1.0)
}

fn add(
    mut drops: std::collections::BTreeMap<String, u64>,
    (place, packets): (trunkline_capture::LossPlace, u64),
) -> std::collections::BTreeMap<String, u64> {
    let sum = drops.entry(place.name().to_owned()).or_default();
    *sum = sum.saturating_add(packets);
    drops
}

fn buffer(stats: &Stats) -> BufferSnapshot {
    let (from, to) = (stats.counts.packed_in_octets, stats.counts.packed_out_octets);
    BufferSnapshot {
        used_octets: stats.memory.used as u64,
        limit_octets: stats.memory.limit as u64,
        squeezed: (to > 0).then(|| from as f64 / to as f64),
    }
}

fn volume(volume: &trunkline_spool::VolumeStats) -> VolumeSnapshot {
    VolumeSnapshot {
        path: volume.path.display().to_string(),
        written_octets_total: volume.counts.written_octets,
        waits_total: volume.waits.count,
        waited_ms_total: volume.waits.sum_us / 1000,
        free_octets: volume.free_octets,
        size_octets: volume.size_octets,
        writable: volume.state.is_usable(),
    }
}

fn thread(thread: crate::run::status::Thread) -> ThreadSnapshot {
    ThreadSnapshot { name: thread.name, cpu_s_total: thread.cpu.as_secs_f64() }
}

fn call(call: trunkline_calls::signalling::CallUp) -> CallUp {
    let mut call = CallUp {
        id: call.id.to_string(),
        sip_call_id: call.sip_call_id,
        from: call.from,
        to: call.to,
        start_ns: call.start_ns,
        answer_ns: call.answer_ns,
        state: trunkline_store::json::state_name(call.state).to_owned(),
        src: call.src.to_string(),
        dst: call.dst.to_string(),
    };
    // Strangers wrote them, and all who watch get them each second.
    call.cut();
    call
}
