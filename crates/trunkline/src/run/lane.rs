//! What a lane of the run consists of: the jobs that its packets go to, and its rings to the owner of the signalling
//! and to the gatherer. The turns of its thread are the lane engine's ([`trunkline_lane::live`]).

use super::bursts::Meter;
use super::engine::{Answer, Shared};
use core::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use trunkline_calls::ledger::file_of_lane;
use trunkline_calls::live::{Epoch, Front, Told};
use trunkline_calls::unread::Unread;
use trunkline_capture::CaptureLoss;
use trunkline_capture::live::{Live, RingStatistics};
use trunkline_kit::counters::Counted;
use trunkline_lane::clock::Leap;
use trunkline_lane::live::{HowFar, LiveLane, LiveSource, Wiring};
use trunkline_lane::{LaneJob, SeenPacket};
use trunkline_record::{Class, LaneLog, NotRecorded};

/// Batches that may wait for the signalling before it is looked at how much of the ring they hold.
const HELD_BEFORE_HURRY: usize = 4;

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

/// A lane's jobs, and what ties them to the other threads.
struct Wired<'a> {
    seen: Seen,
    meter: Option<Meter>,
    log: Option<LaneLog>,
    front: Front,
    me: u16,
    rings: Rings,
    shared: &'a Shared,
    told_last: bool,
    done: bool,
    report: LaneReport,
}

/// Runs a lane to its end.
pub fn run(me: u16, plan: LanePlan, rings: Rings, shared: &Shared) {
    lane(me, plan, rings, shared).run();
}

fn lane<'a>(me: u16, plan: LanePlan, rings: Rings, shared: &'a Shared) -> LiveLane<Wired<'a>> {
    let LanePlan { source, log, front, meter, patience, processor: _ } = plan;
    let lanes = shared.lanes.len() as u16;
    let source = LiveSource::new(source, (me, lanes), patience, Arc::clone(&shared.steps));
    let (seen, report) = Default::default();
    LiveLane::new(source, Wired { seen, meter, log, front, me, rings, shared, told_last: false, done: false, report })
}

impl Wiring for Wired<'_> {
    type Jobs<'j>
        = (&'j mut Seen, &'j mut Option<Meter>, &'j mut Option<LaneLog>, &'j mut Front)
    where
        Self: 'j;

    /// What is recorded comes before what is analysed: rows name the place that a packet has in the packet log.
    fn jobs(&mut self) -> Self::Jobs<'_> {
        (&mut self.seen, &mut self.meter, &mut self.log, &mut self.front)
    }

    fn is_stopping(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }

    fn clock_was_set(&mut self, leap: Leap) {
        self.front.clock_was_set(leap);
    }

    /// Where the ring to the owner is full it waits in the front, bounded there.
    fn is_ready(&self) -> bool {
        !self.rings.told.is_full()
    }

    /// Tells the owner of the signalling what there is, and how far time has come.
    fn tell(&mut self, how_far: HowFar) {
        let told = match how_far {
            HowFar::Packets => self.front.tell(None),
            HowFar::Until(until_ns) => self.front.tell(Some(until_ns)),
            HowFar::End => {
                self.told_last = true;
                // What was not recorded is told with the last of the rest.
                self.losses();
                self.front.end()
            }
        };
        let _ = self.rings.told.push(told);
        self.shared.wake_owner();
    }

    fn turn(&mut self, source: &mut LiveSource) -> bool {
        self.answer(source);
        if self.front.held() > HELD_BEFORE_HURRY {
            let ring = self.ring(source);
            if ring.held.saturating_mul(2) > ring.room {
                self.front.hurry();
            }
        }
        self.done
    }

    fn publish(&mut self, source: &mut LiveSource) {
        if !self.done {
            self.losses();
        }
        let before = self.report.ring.drops;
        self.report.ring = self.ring(source);
        if self.report.ring.drops > before {
            tracing::warn!(
                lane = self.me,
                packets = self.report.ring.drops - before,
                "the ring was full: packets lost"
            );
        }
        if let Some(meter) = &mut self.meter {
            self.shared.give_buckets(self.me, meter);
        }
        self.report.failed = source.failed().map(str::to_owned);
        self.report.held = self.front.held();
        self.report.unread = self.front.unread();
        self.report.counters = self.seen.list();
        self.report.counters.extend(self.front.counters());
        if let Some(log) = &self.log {
            self.report.counters.extend(log.counters());
        }
        self.shared.report(self.me, self.report.clone());
    }
}

impl Wired<'_> {
    /// Follows RTP as far as the signalling is known.
    fn answer(&mut self, source: &mut LiveSource) {
        while let Ok(epoch) = self.rings.epochs.pop() {
            let output = self.front.epoch(&epoch);
            let mut answer = Answer { epoch: epoch.number, output };
            while let Err(rtrb::PushError::Full(back)) = self.rings.answers.push(answer) {
                answer = back;
                // What was recorded is not to wait in memory for a gatherer.
                source.tick(&mut self.jobs());
                std::thread::park_timeout(Duration::from_millis(1));
            }
            self.shared.wake_gatherer();
            self.done |= epoch.last;
        }
    }

    /// Packets that were not recorded, and those that were lost before the ring, become rows as losses of the ring do.
    fn losses(&mut self) {
        let file = file_of_lane(self.me);
        let not_recorded = self.log.iter_mut().flat_map(|log| log.not_recorded());
        let mut lost: Vec<CaptureLoss> = not_recorded.map(|n| loss(&n, file)).collect();
        // What it takes after its last word, nobody would hear of.
        lost.extend(match self.told_last {
            true => self.shared.take_last_lost_elsewhere(self.me),
            false => self.shared.take_lost_elsewhere(self.me),
        });
        self.front.lost_elsewhere(lost);
    }

    /// Asks the ring. Each answer has the most that waited since the one before: it is kept for the status line, which
    /// asks far less often.
    fn ring(&mut self, source: &mut LiveSource) -> RingStatistics {
        let ring = source.statistics();
        self.shared.fill(self.me, ring.waiting_max.max(ring.waiting).saturating_add(ring.held));
        ring
    }
}

/// Counts what comes by the packet log's classes, recorded or not.
impl LaneJob for Seen {
    #[inline]
    fn take(&mut self, seen: &mut SeenPacket<'_>) -> ControlFlow<()> {
        self.see(Class::of_packet(seen.class, seen.decoded));
        ControlFlow::Continue(())
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
    use std::time::Instant;
    use trunkline_capture::live::{LiveError, Next};
    use trunkline_capture::{Batch, Packet};
    use trunkline_lane::clock::system_ns;
    use trunkline_lane::{NOT_RECORDED, PacketClass};
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

    fn lane_of(log: Option<LaneLog>, shared: &Shared) -> LiveLane<Wired<'_>> {
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
        lane(0, plan, rings, shared)
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
        let mut lane = lane_of(Some(recorder.lane(0, "eth1")), &shared);
        let send = |lane: &mut LiveLane<Wired<'_>>| {
            let (octets, at_ns) = ([0x45; 100], system_ns());
            let mut packet =
                Packet { at_ns, number: 1, offset: 0, start: 0, captured: 100, wire: 100, link: 101, file: 0 };
            let decoded = trunkline_wire::decode(101, &octets);
            let class = PacketClass::Rtp;
            let (octets, decoded) = (&octets, &decoded);
            let mut seen = SeenPacket { at: 0, packet: &mut packet, steady_ns: at_ns, octets, decoded, class };
            assert!(LaneJob::take(&mut lane.wiring.log, &mut seen).is_continue());
            assert_ne!(packet.file, NOT_RECORDED);
            lane.wiring.log.as_ref().unwrap().standing(Class::Rtp).unwrap().recorded
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
        (lane.wiring.rings.answers, lane.wiring.rings.epochs) = (answers.0, epochs.1);
        let recorded = send(&mut lane);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| lane.wiring.answer(&mut lane.source));
            until_written(recorded);
            assert!(!waits.is_finished());
            while !waits.is_finished() {
                let _ = answers.1.pop();
            }
        });
        // The owner takes nothing, and the source has ended.
        let (mut told, _owner) = rtrb::RingBuffer::new(1);
        told.push(lane.wiring.front.tell(None)).unwrap();
        lane.wiring.rings.told = told;
        shared.stop.store(true, Ordering::Relaxed);
        let recorded = send(&mut lane);
        let begun = Instant::now();
        while recorder.stats().counts.written_octets < recorded {
            assert!(begun.elapsed() < PATIENCE, "{:?}", recorder.stats().counts);
            lane.turn();
        }
        assert!(!lane.wiring.told_last);
        drop(lane);
        recorder.close(PATIENCE);
    }

    #[test]
    fn how_full_a_ring_was_is_kept_until_the_status_line_takes_it() {
        let shared = Shared::new(1);
        let mut lane = lane_of(None, &shared);
        // As a turn does that looks whether to hurry, and then publishes a few times.
        assert_eq!(lane.wiring.ring(&mut lane.source).waiting_max, 50);
        lane.wiring.publish(&mut lane.source);
        lane.wiring.publish(&mut lane.source);
        assert_eq!(shared.lane_reports()[0].ring.waiting_max, 0);
        assert_eq!(shared.take_fill(0), 52);
        assert_eq!(shared.take_fill(0), 0);
        lane.wiring.publish(&mut lane.source);
        assert_eq!(shared.take_fill(0), 3);
    }
}
