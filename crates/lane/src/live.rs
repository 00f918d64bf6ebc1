//! A lane of a live capture: what its thread does, turn after turn.
//!
//! A [`LiveSource`] gives packets of a ring, or of what stands for one, to the jobs. [`LiveLane`] goes round: take what
//! there is, let time go on, tell how far the lane has come, let the program do what else there is. What that is the
//! engine does not know: it asks a [`Wiring`], which owns the jobs.

use crate::clock::{Reading, Steady, Steps, system_ns};
use crate::job::{LaneJob, NOT_RECORDED};
use crate::walk::{Origin, walk};
use std::sync::Arc;
use std::time::{Duration, Instant};
use trunkline_capture::live::{Live, Next, RingStatistics};
use trunkline_capture::{Batch, Packet};

/// How long a lane waits for packets before it looks at what else there is to do.
const WAIT: Duration = Duration::from_millis(10);
/// How often a lane without packets says how far its time has come.
const HEARTBEAT: Duration = Duration::from_millis(20);
/// How often a lane publishes what it counts.
const PUBLISH: Duration = Duration::from_millis(250);
/// A packet is in the hands of its lane this long after it was captured at the latest, if nothing but idleness keeps
/// it: the time after which the kernel gives out a block that is not full, twice, and what the scheduler may add.
const ARRIVAL_NS: i64 = 250_000_000;
/// How long packets are still taken after the end was wished for, while they do not stop coming.
const LAST_PACKETS: Duration = Duration::from_secs(3);

/// How far a lane has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HowFar {
    /// To its last packet.
    Packets,
    /// It is idle: no packet of before this steady time will come any more.
    Until(i64),
    /// It has ended, and its jobs have finished.
    End,
}

/// What the thread of a live lane does beside its source: the program's part, which knows the jobs.
pub trait Wiring {
    /// The lane's jobs, in turn.
    type Jobs<'a>: LaneJob
    where
        Self: 'a;

    /// The jobs that packets go to.
    fn jobs(&mut self) -> Self::Jobs<'_>;

    /// Whether the end is wished for.
    fn is_stopping(&self) -> bool;

    /// Is told that the clock was set: packets bear steady time all the while.
    fn clock_was_set(&mut self, leap: crate::clock::Leap);

    /// Whether whoever is told how far the lane has come can take it; else it is told later.
    fn is_ready(&self) -> bool;

    /// Tells how far the lane has come.
    fn tell(&mut self, how_far: HowFar);

    /// Does what else there is; whether the lane is over. Whatever waits in it calls [`LiveSource::tick`] meanwhile.
    fn turn(&mut self, source: &mut LiveSource) -> bool;

    /// Publishes what was counted, four times a second and at the end.
    fn publish(&mut self, source: &mut LiveSource);
}

/// Where a live lane's packets come from.
pub struct LiveSource {
    ring: Box<dyn Live>,
    lane: u16,
    lanes: u16,
    patience: Duration,
    steps: Arc<Steps>,
    steady: Steady,
    /// A batch that no job keeps.
    spare: Option<Batch>,
    /// When it was first seen that the end is wished for.
    stopping: Option<Instant>,
    has_ended: bool,
    /// The jobs have finished.
    is_finished: bool,
    failed: Option<String>,
}

/// Packets of a ring: numbered beside those of the other lanes, and not recorded until a job says so.
struct OfRing<'a> {
    lane: u64,
    lanes: u64,
    steady: &'a Steady,
}

impl Origin for OfRing<'_> {
    #[inline]
    fn admit(&mut self, packet: &mut Packet) -> i64 {
        packet.number = (packet.number - 1) * self.lanes + self.lane + 1;
        (packet.file, packet.offset) = (NOT_RECORDED, 0);
        self.steady.of(packet.at_ns)
    }
}

impl LiveSource {
    /// The lane of this number, of so many. `patience` is how long after the last packet nothing more can come, and
    /// `steps` are those of the system's clock, which the lanes find together.
    pub fn new(ring: Box<dyn Live>, (lane, lanes): (u16, u16), patience: Duration, steps: Arc<Steps>) -> Self {
        LiveSource {
            ring,
            lane,
            lanes,
            patience,
            steps,
            steady: Steady::default(),
            spare: None,
            stopping: None,
            has_ended: false,
            is_finished: false,
            failed: None,
        }
    }

    /// Which lane it is.
    pub fn lane(&self) -> u16 {
        self.lane
    }

    /// What has happened since it was opened. Each answer has the most that waited since the one before.
    pub fn statistics(&mut self) -> RingStatistics {
        self.ring.statistics()
    }

    /// Why it ended, if it did so by itself.
    pub fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Lets time go on for jobs: whoever makes the lane wait for something else does this meanwhile.
    pub fn tick(&self, jobs: &mut impl LaneJob) {
        if !self.is_finished {
            jobs.tick(self.ring.now_ns().unwrap_or_else(system_ns));
        }
    }

    /// Takes what the ring has; whether it had nothing.
    fn read<W: Wiring>(&mut self, wiring: &mut W) -> bool {
        let is_stopping = wiring.is_stopping();
        if is_stopping && self.stopping.get_or_insert_with(Instant::now).elapsed() > LAST_PACKETS {
            self.has_ended = true;
            return true;
        }
        let mut batch = self.spare.take().or_else(|| wiring.jobs().spare()).unwrap_or_default();
        match self.ring.next(&mut batch, if is_stopping { self.patience } else { WAIT }) {
            Ok(Next::Packets) => {
                self.look_at_clock(wiring);
                self.pass_on(batch, &mut wiring.jobs());
                return false;
            }
            Ok(Next::Nothing) => {
                self.has_ended = is_stopping;
                self.keep_spare(Some(batch));
            }
            Err(error) if error.passes() => {
                tracing::warn!(lane = self.lane, "{error}");
                self.has_ended = is_stopping;
            }
            Err(error) => {
                self.failed = Some(error.to_string());
                self.has_ended = true;
            }
        }
        true
    }

    fn pass_on(&mut self, mut batch: Batch, jobs: &mut impl LaneJob) {
        batch.losses.drain(..).for_each(|loss| jobs.lost(&loss));
        let (lane, lanes) = (u64::from(self.lane), u64::from(self.lanes));
        let counted = walk(&mut batch, &mut OfRing { lane, lanes, steady: &self.steady }, jobs);
        let given_back = jobs.keep(batch, &counted);
        self.keep_spare(given_back);
    }

    /// What the kernel lent for a batch goes back to it.
    fn keep_spare(&mut self, mut batch: Option<Batch>) {
        batch.iter_mut().for_each(Batch::clear);
        self.spare = batch;
    }

    /// Asks whether the system's clock was set; of packets with times of their own it does not matter.
    fn look_at_clock(&mut self, wiring: &mut impl Wiring) {
        if self.ring.now_ns().is_some() {
            return;
        }
        let Some(reading) = self.steps.look(Reading::now) else { return };
        for leap in self.steady.learn(&self.steps, reading.system_ns) {
            wiring.clock_was_set(leap);
        }
    }

    /// Steady time now.
    fn now_ns(&self) -> i64 {
        self.ring.now_ns().unwrap_or_else(|| self.steady.of_system(system_ns()))
    }
}

/// A lane and its thread's turns.
pub struct LiveLane<W> {
    /// Where its packets come from.
    pub source: LiveSource,
    /// What else its thread does.
    pub wiring: W,
    told_at: Instant,
    published_at: Instant,
    is_over: bool,
}

impl<W: Wiring> LiveLane<W> {
    /// A lane that has not begun.
    pub fn new(source: LiveSource, wiring: W) -> Self {
        let now = Instant::now();
        LiveLane { source, wiring, told_at: now, published_at: now, is_over: false }
    }

    /// Runs it to its end.
    pub fn run(mut self) {
        while !self.is_over {
            self.turn();
        }
        self.wiring.publish(&mut self.source);
    }

    /// One turn.
    pub fn turn(&mut self) {
        let idle = self.source.has_ended || self.source.read(&mut self.wiring);
        self.source.tick(&mut self.wiring.jobs());
        self.tell(idle);
        self.is_over = self.wiring.turn(&mut self.source);
        if self.published_at.elapsed() >= PUBLISH {
            self.published_at = Instant::now();
            self.wiring.publish(&mut self.source);
        }
        if self.source.has_ended {
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }

    /// Tells how far the lane has come: with each batch, and now and then while there is none.
    fn tell(&mut self, idle: bool) {
        let source = &mut self.source;
        if source.is_finished || !self.wiring.is_ready() {
            return;
        }
        let how_far = if source.has_ended {
            source.is_finished = true;
            self.wiring.jobs().finish();
            HowFar::End
        } else if idle && self.told_at.elapsed() < HEARTBEAT {
            return;
        } else {
            source.look_at_clock(&mut self.wiring);
            if idle { HowFar::Until(source.now_ns() - ARRIVAL_NS) } else { HowFar::Packets }
        };
        self.told_at = Instant::now();
        self.wiring.tell(how_far);
    }
}

#[cfg(test)]
mod tests;
