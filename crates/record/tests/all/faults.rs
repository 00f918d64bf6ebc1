//! Disks that are slow, full, broken or read-only below the whole recorder: every packet is in a segment or counted
//! with its time, the state is told, and recording goes on by itself when the disk does.
//!
//! Test group: waits: for disks that are slow.

use crate::eventually::{PATIENCE, eventually};
use crate::traffic;
use std::sync::Arc;
use std::time::{Duration, Instant};

use traffic::{Lane, found, now_ns, options, segments, told};
use trunkline_record::job::{Closed, Keep};
use trunkline_record::{Class, Recorder, Rules};
use trunkline_spool::{Fault, Faults, Limit, Loss, State, Volume, What};

/// A recorder above a disk with faults, and a lane that sends to it.
struct Bench {
    faults: Arc<Faults>,
    folder: tempfile::TempDir,
    recorder: Recorder,
    lane: Lane,
    /// Told as not recorded, by class.
    refused: [u64; 3],
    states: Vec<State>,
    losses: Vec<Loss>,
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let faults = Arc::new(Faults::default());
        let volume = Volume { faults: Some(Arc::clone(&faults)), ..Volume::new(folder.path()) };
        let rules = Rules { segment_octets: 4_000_000, flush_ns: 100_000_000, ..Rules::default() };
        let (mut recorder, _) = Recorder::open(options(volume), rules).unwrap();
        recorder.keep(Keep { limit: Limit::Percent(100), ..Keep::default() }).unwrap();
        let lane = Lane::new(recorder.lane(0, "eth0"), 0, 0);
        Bench { faults, folder, recorder, lane, refused: [0; 3], states: Vec::new(), losses: Vec::new() }
    }

    /// Sends for so long; how many packets of how many were recorded.
    fn send(&mut self, time: Duration) -> (u64, u64) {
        let begun = Instant::now();
        let (mut recorded, mut sent) = (0, 0);
        while begun.elapsed() < time {
            for class in [Class::Rtp, Class::Rtp, Class::Rtp, Class::Sip, Class::Other] {
                recorded += u64::from(self.lane.send(class, now_ns(), 1000));
                sent += 1;
            }
            if sent % 500 == 0 {
                self.look();
                std::thread::park_timeout(Duration::from_millis(1));
            }
        }
        self.look();
        (recorded, sent)
    }

    fn look(&mut self) {
        self.lane.log.tick(now_ns());
        told(&self.lane.log.not_recorded(), &mut self.refused);
        self.losses.extend(self.recorder.losses());
        for event in self.recorder.events() {
            if let What::State(state) = event.what {
                self.states.push(state);
            }
        }
    }

    fn is_usable(&self) -> bool {
        self.recorder.stats().volumes[0].state.is_usable()
    }

    /// All is well again: recording goes on by itself.
    fn heal(&mut self) {
        self.faults.set(Fault::default());
        eventually("the volume is used again", || {
            self.look();
            self.is_usable()
        });
        // It may take a moment until there is memory for the least.
        eventually("every packet is recorded again", || {
            let (recorded, sent) = self.send(Duration::from_millis(50));
            recorded == sent
        });
    }

    /// Ends, and compares: sent = in segments + refused + lost, by class.
    fn close(mut self) -> (Closed, [u64; 3], u64) {
        self.lane.log.finish();
        self.look();
        let sent = self.lane.sent;
        drop(self.lane);
        let mut closed = self.recorder.close(PATIENCE);
        closed.losses.extend(self.losses);
        // What a failed disk has cut is committed by the next start.
        let (again, opened) = Recorder::open(options(Volume::new(self.folder.path())), Rules::default()).unwrap();
        assert!(opened.repaired.iter().all(|r| r.left.is_empty()), "{opened:?}");
        again.close(PATIENCE);
        let there = found(&segments(self.folder.path()));
        let mut lost = 0;
        for class in Class::ALL {
            let kept = there.get(&(0, 0, class as u8)).map_or(0, |numbers| numbers.len() as u64);
            let of_class = closed.losses.iter().filter(|l| l.priority as usize == class as usize && l.tag == 0);
            let (of_class, spans): (Vec<u64>, Vec<_>) = of_class.map(|l| (l.records, l.span_ns)).unzip();
            assert!(spans.iter().all(|s| s.0 > 0 && s.0 <= s.1), "{spans:?}");
            let gone: u64 = of_class.iter().sum();
            let (sent, refused) = (sent[class as usize], self.refused[class as usize]);
            assert_eq!(kept + refused + gone, sent, "{class:?}: {kept} kept, {refused} refused, {gone} lost");
            let drops = closed.stats.drops[class as usize];
            assert_eq!(drops.buffer.records + drops.disk.records + drops.lost.records, refused + gone);
            lost += gone;
        }
        (closed, self.refused, lost)
    }
}

#[test]
fn a_full_disk_costs_what_is_counted_and_recording_resumes() {
    let mut bench = Bench::new();
    bench.send(Duration::from_millis(300));
    bench.faults.set(Fault { space: Some(2 << 20), ..Fault::default() });
    bench.send(Duration::from_secs(2));
    assert!(!bench.is_usable());
    bench.heal();
    assert!(bench.states.contains(&State::Full), "{:?}", bench.states);
    let (closed, refused, _) = bench.close();
    assert!(refused.iter().sum::<u64>() > 0);
    assert!(closed.stats.counts.disk_dropped_records > 0);
}

#[test]
fn a_disk_that_fails_costs_what_is_counted_and_recording_resumes() {
    let mut bench = Bench::new();
    bench.send(Duration::from_millis(300));
    bench.faults.set(Fault { write_error: true, ..Fault::default() });
    bench.send(Duration::from_secs(2));
    assert!(!bench.is_usable());
    bench.heal();
    assert!(bench.states.iter().any(|s| matches!(s, State::Failed(_))), "{:?}", bench.states);
    let (closed, refused, lost) = bench.close();
    assert!(refused.iter().sum::<u64>() > 0 && lost > 0 && closed.stats.counts.write_errors > 0);
}

#[test]
fn a_volume_that_turns_read_only_costs_what_is_counted_and_recording_resumes() {
    let mut bench = Bench::new();
    bench.send(Duration::from_millis(300));
    bench.faults.set(Fault { read_only: true, ..Fault::default() });
    bench.send(Duration::from_secs(2));
    assert!(!bench.is_usable());
    bench.heal();
    assert!(bench.states.contains(&State::ReadOnly), "{:?}", bench.states);
    let (_, refused, _) = bench.close();
    assert!(refused.iter().sum::<u64>() > 0);
}

/// The order of sacrifice: what is least precious is given up first.
#[test]
fn a_slow_disk_costs_the_least_precious_first() {
    let mut bench = Bench::new();
    bench.faults.set(Fault { write_delay: Duration::from_millis(150), ..Fault::default() });
    bench.send(Duration::from_secs(2));
    // What a busy machine sends in that time may all have found memory.
    eventually("the least precious is given up", || {
        bench.send(Duration::from_millis(200));
        bench.refused[Class::Other as usize] > 0
    });
    assert!(bench.states.contains(&State::Lagging), "{:?}", bench.states);
    assert!(bench.is_usable());
    bench.heal();
    let (closed, [sip, rtp, other], _) = bench.close();
    assert!(other > 0 && closed.stats.counts.buffer_dropped_records > 0);
    // Of five packets one is of the rest and three are media.
    assert!(sip <= other && rtp <= 3 * other, "{sip} {rtp} {other}");
    assert!(closed.stats.volumes[0].waits.count > 0, "waits are counted");
}

#[test]
fn a_disk_that_cannot_synchronise_is_told() {
    let mut bench = Bench::new();
    bench.faults.set(Fault { sync_error: true, ..Fault::default() });
    bench.send(Duration::from_secs(1));
    bench.heal();
    let (closed, ..) = bench.close();
    assert!(closed.stats.counts.sync_errors > 0);
}
