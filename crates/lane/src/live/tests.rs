use super::*;
use crate::counters::DecodeCounters;
use crate::job::SeenPacket;
use core::ops::ControlFlow;
use std::collections::VecDeque;
use trunkline_capture::live::LiveError;
use trunkline_capture::{CaptureLoss, LossPlace};

/// A ring that gives what is prepared, says what time it is, and is quiet or breaks then.
struct Prepared {
    batches: VecDeque<(Vec<Packet>, Vec<CaptureLoss>)>,
    now_ns: Option<i64>,
    breaks: bool,
}

impl Live for Prepared {
    fn next(&mut self, batch: &mut Batch, _: Duration) -> Result<Next, LiveError> {
        batch.clear();
        let Some((packets, losses)) = self.batches.pop_front() else {
            return if self.breaks { Err(LiveError::Option("it broke".to_owned())) } else { Ok(Next::Nothing) };
        };
        packets.into_iter().for_each(|packet| batch.push(packet, &[0x45; 20]));
        batch.losses = losses;
        Ok(Next::Packets)
    }

    fn statistics(&mut self) -> RingStatistics {
        RingStatistics::default()
    }

    fn interface(&self) -> &str {
        "eth1"
    }

    fn ring(&self) -> u16 {
        0
    }

    fn link(&self) -> u16 {
        101
    }

    fn now_ns(&self) -> Option<i64> {
        self.now_ns
    }
}

#[derive(Default)]
struct Notes {
    packets: Vec<(u64, u32)>,
    lost: Vec<CaptureLoss>,
    ticks: Vec<i64>,
    batches: usize,
    finished: usize,
}

impl LaneJob for Notes {
    fn take(&mut self, seen: &mut SeenPacket<'_>) -> ControlFlow<()> {
        self.packets.push((seen.packet.number, seen.packet.file));
        ControlFlow::Continue(())
    }

    fn keep(&mut self, batch: Batch, counted: &DecodeCounters) -> Option<Batch> {
        assert_eq!(counted.packets as usize, batch.packets.len());
        self.batches += 1;
        Some(batch)
    }

    fn lost(&mut self, loss: &CaptureLoss) {
        self.lost.push(*loss);
    }

    fn tick(&mut self, now_ns: i64) {
        self.ticks.push(now_ns);
    }

    fn finish(&mut self) {
        self.finished += 1;
    }
}

/// A program that notes what it is told. Its lane is over when it has told its end.
#[derive(Default)]
struct Program {
    jobs: Notes,
    is_stopping: bool,
    is_full: bool,
    told: Vec<HowFar>,
    published: usize,
}

impl Wiring for Program {
    type Jobs<'a> = &'a mut Notes;

    fn jobs(&mut self) -> Self::Jobs<'_> {
        &mut self.jobs
    }

    fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    fn clock_was_set(&mut self, leap: crate::clock::Leap) {
        panic!("nobody set it: {leap:?}");
    }

    fn is_ready(&self) -> bool {
        !self.is_full
    }

    fn tell(&mut self, how_far: HowFar) {
        self.told.push(how_far);
    }

    fn turn(&mut self, _: &mut LiveSource) -> bool {
        self.told.last() == Some(&HowFar::End)
    }

    fn publish(&mut self, _: &mut LiveSource) {
        self.published += 1;
    }
}

fn packet(number: u64) -> Packet {
    Packet { at_ns: 5, number, offset: 0, start: 0, captured: 20, wire: 20, link: 101, file: 0 }
}

fn lane(ring: Prepared) -> LiveLane<Program> {
    let source = LiveSource::new(Box::new(ring), (1, 3), Duration::ZERO, Arc::default());
    LiveLane::new(source, Program::default())
}

#[test]
fn packets_of_several_lanes_have_numbers_of_their_own_and_losses_go_to_jobs() {
    let loss = CaptureLoss { at_ns: 6, since_ns: 4, packets: 9, file: 0, place: LossPlace::Ring };
    let batches = [(vec![packet(1), packet(2)], vec![loss]), (vec![packet(3)], Vec::new())].into();
    let mut lane = lane(Prepared { batches, now_ns: Some(7_000_000_000), breaks: false });
    lane.turn();
    lane.turn();
    let jobs = &lane.wiring.jobs;
    assert_eq!(jobs.packets, [(2, NOT_RECORDED), (5, NOT_RECORDED), (8, NOT_RECORDED)]);
    assert_eq!((&jobs.lost[..], jobs.batches), (&[loss][..], 2));
    assert_eq!(jobs.ticks, [7_000_000_000; 2]);
    assert_eq!(lane.wiring.told, [HowFar::Packets; 2]);
}

#[test]
fn an_idle_lane_says_now_and_then_how_far_time_has_come() {
    let mut lane = lane(Prepared { batches: VecDeque::new(), now_ns: Some(7_000_000_000), breaks: false });
    lane.turn();
    assert!(lane.wiring.told.is_empty());
    lane.told_at -= HEARTBEAT;
    lane.turn();
    assert_eq!(lane.wiring.told, [HowFar::Until(7_000_000_000 - ARRIVAL_NS)]);
}

/// As long as it cannot say that it has ended, its jobs go on with time.
#[test]
fn jobs_finish_once_and_before_the_end_is_told() {
    let mut lane = lane(Prepared { batches: [(vec![packet(1)], Vec::new())].into(), now_ns: Some(9), breaks: true });
    lane.wiring.is_full = true;
    (0..3).for_each(|_| lane.turn());
    assert_eq!((lane.wiring.jobs.finished, lane.wiring.jobs.ticks.len()), (0, 3));
    assert!(lane.source.failed().is_some_and(|why| why.contains("it broke")));
    lane.wiring.is_full = false;
    (0..3).for_each(|_| lane.turn());
    assert_eq!((lane.wiring.jobs.finished, lane.wiring.jobs.ticks.len()), (1, 4));
    assert_eq!(lane.wiring.told, [HowFar::End]);
}

#[test]
fn a_lane_that_is_to_end_takes_what_still_comes() {
    let batches = (1..=4).map(|number| (vec![packet(number)], Vec::new())).collect();
    let mut lane = lane(Prepared { batches, now_ns: Some(9), breaks: false });
    lane.wiring.is_stopping = true;
    while !lane.is_over {
        lane.turn();
    }
    assert_eq!((lane.wiring.jobs.packets.len(), lane.wiring.jobs.finished), (4, 1));
}
