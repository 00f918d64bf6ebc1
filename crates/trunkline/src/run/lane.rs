//! A lane's thread: packets from its ring to the packet log and to the analysis.

use super::bursts::Meter;
use super::clock::{Reading, Steady};
use super::engine::{Answer, Shared};
use super::now_ns;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use trunkline_calls::classify::Class as Look;
use trunkline_calls::ledger::file_of_lane;
use trunkline_calls::live::{Epoch, Front, Told};
use trunkline_calls::unread::Unread;
use trunkline_capture::live::{Live, Next, RingStatistics};
use trunkline_capture::{CaptureLoss, Packet};
use trunkline_kit::counters::Counted;
use trunkline_record::{Class, LaneLog, NotRecorded};
use trunkline_wire::Decoded;

/// How long a lane waits for packets before it looks at what else there is to do.
const WAIT: Duration = Duration::from_millis(10);
/// How often a lane without packets says how far its time has come.
const HEARTBEAT: Duration = Duration::from_millis(20);
/// How often a lane publishes what it counts.
const PUBLISH: Duration = Duration::from_millis(250);
/// A packet is in the hands of its lane this long after it was captured at the latest, if nothing but idleness keeps
/// it: the time after which the kernel gives out a block that is not full, twice, and what the scheduler may add.
const ARRIVAL_NS: i64 = 250_000_000;
/// Batches that may wait for the signalling before it is looked at how much of the ring they hold.
const HELD_BEFORE_HURRY: usize = 4;
/// How long packets are still taken after the end was wished for, while they do not stop coming.
const LAST_PACKETS: Duration = Duration::from_secs(3);
/// The number that stands for "not recorded" where the number of a segment should be.
pub const NOWHERE: u32 = u32::MAX;

/// What a lane is made of.
pub struct LanePlan {
    /// Where its packets come from.
    pub source: Box<dyn Live>,
    /// Its part of the packet log; none if nothing is recorded.
    pub log: Option<LaneLog>,
    /// Its part of the analysis.
    pub front: Front,
    /// Counts octets by the millisecond, if microbursts are looked for.
    pub meter: Option<Meter>,
    /// How long after the last packet nothing more can come: longer than the kernel keeps a block that is not full.
    pub patience: Duration,
    /// The processor it runs on; none leaves that to the system.
    pub processor: Option<usize>,
}

/// What a lane shows of itself.
#[derive(Clone, Debug, Default)]
pub struct LaneReport {
    /// What its ring counted.
    pub ring: RingStatistics,
    /// All its counters.
    pub counters: Vec<Counted>,
    /// What it saw and does not analyse.
    pub unread: Unread,
    /// Batches that wait for the signalling.
    pub held: usize,
    /// Why it ended, if it did so by itself.
    pub failed: Option<String>,
}

/// The rings between a lane and the others.
pub struct Rings {
    pub told: rtrb::Producer<Told>,
    pub epochs: rtrb::Consumer<Arc<Epoch>>,
    pub answers: rtrb::Producer<Answer>,
}

trunkline_kit::counters! {
    /// What a lane sees, recorded or not.
    pub struct Seen {
        /// SIP packets captured
        sip: "trunkline_run_sip_packets_total",
        /// RTP and RTCP packets captured
        rtp: "trunkline_run_rtp_packets_total",
        /// other packets captured
        other: "trunkline_run_other_packets_total",
    }
}

struct Lane<'a> {
    me: u16,
    lanes: u64,
    plan: LanePlan,
    rings: Rings,
    shared: &'a Shared,
    /// When it was first seen that the end is wished for.
    stopping: Option<Instant>,
    ended: bool,
    told_last: bool,
    done: bool,
    told_at: Instant,
    published_at: Instant,
    seen: Seen,
    report: LaneReport,
    steady: Steady,
}

/// Runs a lane to its end.
pub fn run(me: u16, plan: LanePlan, rings: Rings, shared: &Shared) {
    let mut lane = Lane::new(me, plan, rings, shared);
    while !lane.done {
        lane.turn();
    }
    if let Some(meter) = &mut lane.plan.meter {
        meter.finish();
    }
    lane.publish();
}

impl<'a> Lane<'a> {
    fn new(me: u16, plan: LanePlan, rings: Rings, shared: &'a Shared) -> Self {
        let now = Instant::now();
        Lane {
            me,
            lanes: shared.lanes.len() as u64,
            plan,
            rings,
            shared,
            stopping: None,
            ended: false,
            told_last: false,
            done: false,
            told_at: now,
            published_at: now,
            seen: Seen::default(),
            report: LaneReport::default(),
            steady: Steady::default(),
        }
    }

    fn turn(&mut self) {
        let idle = self.ended || self.read();
        self.tick();
        self.tell(idle);
        self.answer();
        if self.plan.front.held() > HELD_BEFORE_HURRY {
            let ring = self.ring();
            if ring.held.saturating_mul(2) > ring.room {
                self.plan.front.hurry();
            }
        }
        if self.published_at.elapsed() >= PUBLISH {
            self.losses();
            self.publish();
        }
        if self.ended {
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }

    /// Lets time go on in the packet log: whoever makes the lane wait for something else does this meanwhile.
    fn tick(&mut self) {
        if let Some(log) = self.plan.log.as_mut().filter(|_| !self.told_last) {
            log.tick(self.plan.source.now_ns().unwrap_or_else(now_ns));
        }
    }

    /// Takes what the source has; whether it had nothing.
    fn read(&mut self) -> bool {
        let stopping = self.shared.stop.load(Ordering::Relaxed);
        if stopping && self.stopping.get_or_insert_with(Instant::now).elapsed() > LAST_PACKETS {
            self.ended = true;
            return true;
        }
        let mut batch = self.plan.front.spare();
        match self.plan.source.next(&mut batch, if stopping { self.plan.patience } else { WAIT }) {
            Ok(Next::Packets) => {
                self.look_at_clock();
                let steady = &self.steady;
                let LanePlan { front, log, meter, .. } = &mut self.plan;
                let (me, lanes, seen) = (u64::from(self.me), self.lanes, &mut self.seen);
                for loss in &mut batch.losses {
                    loss.file = file_of_lane(self.me);
                    if let Some(log) = log {
                        log.lost(loss);
                    }
                }
                front.take(batch, |packet, octets, decoded, look| {
                    packet.number = (packet.number - 1) * lanes + me + 1;
                    let class = class_of(look, decoded);
                    seen.see(class);
                    if let Some(meter) = meter {
                        meter.see(packet.at_ns, packet.wire);
                    }
                    record(log.as_mut(), packet, octets, decoded, class);
                    packet.at_ns = steady.of(packet.at_ns);
                });
                return false;
            }
            Ok(Next::Nothing) => {
                self.ended = stopping;
                self.plan.front.keep(batch);
            }
            Err(error) if error.passes() => {
                tracing::warn!(lane = self.me, "{error}");
                self.ended = stopping;
            }
            Err(error) => {
                self.report.failed = Some(error.to_string());
                self.ended = true;
            }
        }
        true
    }

    /// Asks whether the system's clock was set; of packets with times of their own it does not matter.
    fn look_at_clock(&mut self) {
        if self.plan.source.now_ns().is_some() {
            return;
        }
        let Some(reading) = self.shared.steps.look(Reading::now) else { return };
        for leap in self.steady.learn(&self.shared.steps, reading.system_ns) {
            self.plan.front.clock_was_set(leap);
        }
    }

    /// Tells the owner of the signalling what there is, and how far time has come.
    fn tell(&mut self, idle: bool) {
        // Where the ring to the owner is full it waits in the front, bounded there.
        if self.told_last || self.rings.told.is_full() {
            return;
        }
        let told = if self.ended {
            self.told_last = true;
            // What was not recorded is told with the last of the rest.
            if let Some(log) = &mut self.plan.log {
                log.finish();
            }
            self.losses();
            self.plan.front.end()
        } else if idle && self.told_at.elapsed() < HEARTBEAT {
            return;
        } else {
            self.look_at_clock();
            let now_ns = || self.plan.source.now_ns().unwrap_or_else(|| self.steady.of_system(now_ns()));
            let until_ns = idle.then(|| now_ns() - ARRIVAL_NS);
            self.plan.front.tell(until_ns)
        };
        self.told_at = Instant::now();
        let _ = self.rings.told.push(told);
        self.shared.wake_owner();
    }

    /// Follows RTP as far as the signalling is known.
    fn answer(&mut self) {
        while let Ok(epoch) = self.rings.epochs.pop() {
            let output = self.plan.front.epoch(&epoch);
            let mut answer = Answer { epoch: epoch.number, output };
            while let Err(rtrb::PushError::Full(back)) = self.rings.answers.push(answer) {
                answer = back;
                // What was recorded is not to wait in memory for a gatherer.
                self.tick();
                std::thread::park_timeout(Duration::from_millis(1));
            }
            self.shared.wake_gatherer();
            self.done |= epoch.last;
        }
    }

    /// Packets that were not recorded, and those that were lost before the ring, become rows as losses of the ring do.
    fn losses(&mut self) {
        let file = file_of_lane(self.me);
        let not_recorded = self.plan.log.iter_mut().flat_map(|log| log.not_recorded());
        let mut lost: Vec<CaptureLoss> = not_recorded.map(|n| loss(&n, file)).collect();
        // What it takes after its last word, nobody would hear of.
        lost.extend(match self.told_last {
            true => self.shared.take_last_lost_elsewhere(self.me),
            false => self.shared.take_lost_elsewhere(self.me),
        });
        self.plan.front.lost(lost);
    }

    /// Asks the ring. Each answer has the most that waited since the one before: it is kept for the status line, which
    /// asks far less often.
    fn ring(&mut self) -> RingStatistics {
        let ring = self.plan.source.statistics();
        self.shared.fill(self.me, ring.waiting_max.max(ring.waiting).saturating_add(ring.held));
        ring
    }

    fn publish(&mut self) {
        self.published_at = Instant::now();
        let before = self.report.ring.drops;
        self.report.ring = self.ring();
        if self.report.ring.drops > before {
            tracing::warn!(
                lane = self.me,
                packets = self.report.ring.drops - before,
                "the ring was full: packets lost"
            );
        }
        if let Some(meter) = &mut self.plan.meter {
            self.shared.give_buckets(self.me, meter);
        }
        self.report.held = self.plan.front.held();
        self.report.unread = self.plan.front.unread();
        self.report.counters = self.seen.list();
        self.report.counters.extend(self.plan.front.counters());
        if let Some(log) = &self.plan.log {
            self.report.counters.extend(log.counters());
        }
        self.shared.report(self.me, self.report.clone());
    }
}

/// Records a packet, if it is to be, and notes in it where.
#[inline]
pub fn record(log: Option<&mut LaneLog>, packet: &mut Packet, octets: &[u8], decoded: &Decoded, class: Class) {
    match log.and_then(|log| log.packet(packet, octets, decoded, class)) {
        Some(recorded) => (packet.file, packet.offset) = (recorded.segment, recorded.offset),
        None => (packet.file, packet.offset) = (NOWHERE, 0),
    }
}

/// The packet log's class of a packet.
#[inline]
pub fn class_of(look: Look, decoded: &Decoded) -> Class {
    match look {
        Look::Rtp | Look::Rtcp => Class::Rtp,
        Look::Signalling => class_of_signalling(decoded),
        Look::OtherUdp | Look::Other => Class::Other,
    }
}

/// SIP over UDP is known at once. What comes over TCP and SCTP, or in fragments, is recorded as SIP only where a port
/// says so: to wait until its stream is put together would mean to hold it back.
fn class_of_signalling(decoded: &Decoded) -> Class {
    /// SIP and SIP over TLS (RFC 3261 section 18.1.1).
    const PORTS: std::ops::RangeInclusive<u16> = 5060..=5061;
    match decoded {
        Decoded::Udp(_) => Class::Sip,
        Decoded::Tcp(d, _) | Decoded::Sctp(d) if PORTS.contains(&d.src_port) || PORTS.contains(&d.dst_port) => {
            Class::Sip
        }
        _ => Class::Other,
    }
}

impl Seen {
    #[inline]
    fn see(&mut self, class: Class) {
        match class {
            Class::Sip => self.sip += 1,
            Class::Rtp => self.rtp += 1,
            Class::Other => self.other += 1,
        }
    }
}

fn loss(not: &NotRecorded, file: u32) -> CaptureLoss {
    let (since_ns, at_ns) = not.span_ns;
    CaptureLoss { since_ns, at_ns, packets: not.packets, file, place: not.place }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eventually::{PATIENCE, awaited};
    use trunkline_capture::Batch;
    use trunkline_capture::live::LiveError;
    use trunkline_record::{Recorder, Rules};
    use trunkline_spool::{Options, Volume};

    /// A ring that was once nearly full, and answers as rings do: each time the most since the last.
    struct Once(u32);

    impl Live for Once {
        fn next(&mut self, _: &mut Batch, _: Duration) -> Result<Next, LiveError> {
            Ok(Next::Nothing)
        }

        fn statistics(&mut self) -> RingStatistics {
            let waiting_max = core::mem::take(&mut self.0);
            RingStatistics { room: 64, waiting: 1, waiting_max, held: 2, is_up: true, ..RingStatistics::default() }
        }

        fn interface(&self) -> &str {
            "eth1"
        }

        fn ring(&self) -> u16 {
            0
        }

        fn link(&self) -> u16 {
            1
        }
    }

    fn lane(shared: &Shared) -> Lane<'_> {
        lane_with(None, shared)
    }

    fn lane_with(log: Option<LaneLog>, shared: &Shared) -> Lane<'_> {
        let plan = LanePlan {
            source: Box::new(Once(50)),
            log,
            front: Front::new(0, Box::new(|_| true)),
            meter: None,
            patience: Duration::ZERO,
            processor: None,
        };
        let rings = Rings {
            told: rtrb::RingBuffer::new(4).0,
            epochs: rtrb::RingBuffer::new(4).1,
            answers: rtrb::RingBuffer::new(4).0,
        };
        Lane::new(0, plan, rings, shared)
    }

    /// Recorded packets go to the disk in time, whatever else holds up the lane: a gatherer that does not take its
    /// answers, or a source that broke while the owner of the signalling does not take its last word.
    #[test]
    fn what_is_recorded_is_flushed_while_the_lane_waits_for_others() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { keep_free: 0, ..Options::new(vec![Volume::new(folder.path())]) };
        let rules = Rules { flush_ns: 20_000_000, ..Rules::default() };
        let (recorder, _) = Recorder::open(options, rules).unwrap();
        let shared = Shared::new(1);
        let mut lane = lane_with(Some(recorder.lane(0, "eth1")), &shared);
        let send = |lane: &mut Lane<'_>| {
            let (octets, at_ns) = ([0x45; 100], now_ns());
            let mut packet =
                Packet { at_ns, number: 1, offset: 0, start: 0, captured: 100, wire: 100, link: 101, file: 0 };
            let decoded = trunkline_wire::decode(101, &octets);
            record(lane.plan.log.as_mut(), &mut packet, &octets, &decoded, Class::Rtp);
            assert_ne!(packet.file, NOWHERE);
            lane.plan.log.as_ref().unwrap().standing(Class::Rtp).unwrap().recorded
        };
        let until_written = |octets: u64| {
            awaited("they are written", || {
                let counts = recorder.stats().counts;
                if counts.written_octets < octets { Err(Box::new((octets, counts))) } else { Ok(()) }
            });
        };
        // Room for one answer, two are due.
        let (mut answers, epochs) = (rtrb::RingBuffer::new(1), rtrb::RingBuffer::new(2));
        let mut to_lane = epochs.0;
        (0..2).for_each(|_| to_lane.push(Arc::new(Epoch::default())).unwrap());
        (lane.rings.answers, lane.rings.epochs) = (answers.0, epochs.1);
        let recorded = send(&mut lane);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| lane.answer());
            until_written(recorded);
            assert!(!waits.is_finished());
            while !waits.is_finished() {
                let _ = answers.1.pop();
            }
        });
        // The owner takes nothing, and the source has ended.
        let (mut told, _owner) = rtrb::RingBuffer::new(1);
        told.push(lane.plan.front.tell(None)).unwrap();
        lane.rings.told = told;
        lane.ended = true;
        let recorded = send(&mut lane);
        let begun = Instant::now();
        while recorder.stats().counts.written_octets < recorded {
            assert!(begun.elapsed() < PATIENCE, "{:?}", recorder.stats().counts);
            lane.turn();
        }
        assert!(!lane.told_last);
        drop(lane);
        recorder.close(PATIENCE);
    }

    #[test]
    fn how_full_a_ring_was_is_kept_until_the_status_line_takes_it() {
        let shared = Shared::new(1);
        let mut lane = lane(&shared);
        // As a turn does that looks whether to hurry, and then publishes a few times.
        assert_eq!(lane.ring().waiting_max, 50);
        lane.publish();
        lane.publish();
        assert_eq!(shared.lane_reports()[0].ring.waiting_max, 0);
        assert_eq!(shared.take_fill(0), 52);
        assert_eq!(shared.take_fill(0), 0);
        lane.publish();
        assert_eq!(shared.take_fill(0), 3);
    }
}
