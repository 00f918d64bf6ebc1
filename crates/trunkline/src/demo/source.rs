//! The simulated world as an interface with rings: what was before now is handed out as fast as it is taken, then
//! packets come at their times.

use super::blind::{Blind, lost};
use crate::run::now_ns;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;
use trunkline_capture::live::{Live, LiveError, Next, RingStatistics, fanout};
use trunkline_capture::{Batch, CaptureLoss, LossPlace, Packet};
use trunkline_sim::{PacketBuf, Settings, World};

/// Packets of a batch.
const BATCH_PACKETS_MAX: usize = 256;
/// A lane that plays what was earlier gets no more than so far ahead of the others: what they have not told is waited
/// for in memory.
const AHEAD_NS: i64 = 2_000_000_000;
/// How often a lane looks that waits for the others or for the disk.
const NAP: Duration = Duration::from_millis(1);
/// Ethernet.
const LINK: u16 = 1;
/// Blocks that the ring is said to have, of so many packets each.
const ROOM: u32 = 64;
const BLOCK_PACKETS: u32 = 32;

/// What the lanes of a world share with who watches.
pub struct Stage {
    /// When the world begins.
    pub start_ns: i64,
    /// How far each lane has come.
    at_ns: Vec<AtomicI64>,
    /// Set while the disk or the store lags: what was earlier can wait.
    pub brake: AtomicBool,
    /// Set to end.
    pub over: AtomicBool,
}

impl Stage {
    /// For so many lanes.
    pub fn new(start_ns: i64, lanes: u16) -> Arc<Stage> {
        let at_ns = (0..lanes).map(|_| AtomicI64::new(start_ns)).collect();
        Arc::new(Stage { start_ns, at_ns, brake: AtomicBool::new(false), over: AtomicBool::new(false) })
    }

    /// How far all lanes have come.
    pub fn at_ns(&self) -> i64 {
        self.at_ns.iter().map(|at| at.load(Ordering::Relaxed)).min().unwrap_or(self.start_ns)
    }
}

/// One ring of the tap on a world.
pub struct Tapped {
    stage: Arc<Stage>,
    lane: u16,
    world: World,
    /// The next packet and its time; none when the world is over.
    next: PacketBuf,
    next_ns: Option<i64>,
    number: u64,
    statistics: RingStatistics,
    /// Packets that the ring lost, since when: told when the ring has room again.
    lost: Option<(i64, u64)>,
}

impl Tapped {
    /// The rings of a world, one for each lane of the stage.
    ///
    /// # Errors
    /// The settings make no sense, in words.
    pub fn rings(settings: &Settings, stage: &Arc<Stage>) -> Result<Vec<Box<dyn Live>>, String> {
        let lanes = stage.at_ns.len();
        (0..lanes).map(|lane| Ok(Box::new(Tapped::new(settings, stage, lane as u16)?) as Box<dyn Live>)).collect()
    }

    /// Each lane has the whole world and takes what the kernel would give it.
    fn new(settings: &Settings, stage: &Arc<Stage>, lane: u16) -> Result<Tapped, String> {
        let world = World::new(settings).map_err(|wrong| wrong.join("; "))?;
        let statistics = RingStatistics { room: ROOM, is_up: true, ..RingStatistics::default() };
        let (stage, next) = (Arc::clone(stage), PacketBuf::new());
        let mut tapped = Tapped { stage, lane, world, next, next_ns: None, number: 0, statistics, lost: None };
        tapped.turn();
        Ok(tapped)
    }

    /// Goes on to the next packet.
    fn turn(&mut self) {
        self.next_ns = self.world.next_packet(&mut self.next);
        // Nobody asks for the truth.
        while self.world.next_truth().is_some() {}
    }

    fn lanes(&self) -> u16 {
        self.stage.at_ns.len() as u16
    }

    /// Takes what has passed by now.
    fn take(&mut self, batch: &mut Batch, now_ns: i64) {
        while let Some(at_ns) = self.next_ns.filter(|at_ns| *at_ns <= now_ns) {
            if batch.packets.len() >= BATCH_PACKETS_MAX || !batch.losses.is_empty() {
                break;
            }
            if fanout::lane_of(self.next.octets(), LINK, self.lanes()) == self.lane {
                match lost(at_ns - self.stage.start_ns, self.next.octets()) {
                    Some(Blind::Mirror) => {}
                    Some(Blind::Ring) => self.lost.get_or_insert((at_ns, 0)).1 += 1,
                    None => self.hand_out(batch, at_ns),
                }
            }
            self.turn();
        }
        if let Some(at_ns) = self.next_ns {
            self.stage.at_ns[usize::from(self.lane)].store(at_ns.min(now_ns), Ordering::Relaxed);
        }
    }

    fn hand_out(&mut self, batch: &mut Batch, at_ns: i64) {
        let octets = self.next.octets();
        let wire = octets.len() as u32;
        self.number += 1;
        let packet =
            Packet { at_ns, number: self.number, offset: 0, start: 0, captured: wire, wire, link: LINK, file: 0 };
        batch.push(packet, octets);
        self.statistics.packets += 1;
        self.statistics.octets += u64::from(wire);
        // When it was full for the last time is not known before it has had room for a while.
        if let Some((since_ns, packets)) = self.lost.filter(|(since_ns, _)| at_ns - since_ns > 1_500_000_000) {
            self.lost = None;
            self.statistics.drops += packets;
            self.statistics.freezes += 1;
            self.statistics.waiting_max = ROOM;
            batch.losses.push(CaptureLoss { at_ns, since_ns, packets, file: 0, place: LossPlace::Ring });
        }
    }

    /// How long until there may be something; none if there is something now.
    fn wait(&self, now_ns: i64) -> Option<Duration> {
        if self.stage.over.load(Ordering::Relaxed) {
            return Some(Duration::ZERO);
        }
        let Some(next_ns) = self.next_ns else { return Some(Duration::MAX) };
        let behind = next_ns < now_ns.saturating_sub(AHEAD_NS);
        if behind && (next_ns > self.stage.at_ns() + AHEAD_NS || self.stage.brake.load(Ordering::Relaxed)) {
            return Some(NAP);
        }
        let after = u64::try_from(next_ns.saturating_sub(now_ns)).unwrap_or(0);
        (after > 0).then_some(Duration::from_nanos(after))
    }
}

impl Live for Tapped {
    fn next(&mut self, batch: &mut Batch, wait: Duration) -> Result<Next, LiveError> {
        batch.clear();
        if let Some(after) = self.wait(now_ns()) {
            // A world has no interrupts: time is what is waited for.
            std::thread::park_timeout(after.min(wait));
        }
        let now_ns = now_ns();
        if self.wait(now_ns).is_some() {
            return Ok(Next::Nothing);
        }
        self.take(batch, now_ns);
        let packets = batch.packets.len() as u32;
        self.statistics.waiting_max = self.statistics.waiting_max.max(packets.div_ceil(BLOCK_PACKETS));
        Ok(if packets == 0 && batch.losses.is_empty() { Next::Nothing } else { Next::Packets })
    }

    fn statistics(&mut self) -> RingStatistics {
        let statistics = self.statistics;
        self.statistics.waiting_max = 0;
        statistics
    }

    fn interface(&self) -> &str {
        "demo"
    }

    fn ring(&self) -> u16 {
        self.lane
    }

    fn link(&self) -> u16 {
        LINK
    }

    fn now_ns(&self) -> Option<i64> {
        let now_ns = now_ns();
        Some(self.next_ns.map_or(now_ns, |next_ns| next_ns.min(now_ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::world;
    use std::collections::HashSet;

    /// Everything up to now of all lanes, as their threads would take it in turns.
    fn play(lanes: u16, start_ns: i64, seconds: i64) -> (Vec<(i64, Vec<u8>)>, u64) {
        let stage = Stage::new(start_ns, lanes);
        let mut rings = Tapped::rings(&world(7, start_ns), &stage).unwrap();
        let (mut batch, mut packets, mut dropped) = (Batch::default(), Vec::new(), 0);
        while stage.at_ns() < start_ns + (seconds - 1) * 1_000_000_000 {
            for ring in &mut rings {
                if ring.next(&mut batch, Duration::ZERO).unwrap() == Next::Packets {
                    packets.extend(batch.packets.iter().map(|p| (p.at_ns, batch.octets_of(p).to_vec())));
                    dropped += batch.losses.iter().map(|l| l.packets).sum::<u64>();
                }
            }
        }
        let counted: u64 = rings.iter_mut().map(|ring| ring.statistics().drops).sum();
        assert_eq!(counted, dropped);
        packets.retain(|(at_ns, _)| *at_ns < start_ns + (seconds - 1) * 1_000_000_000);
        (packets, dropped)
    }

    #[test]
    fn two_lanes_see_together_what_one_sees() {
        let start_ns = now_ns() - 40_000_000_000;
        let (one, _) = play(1, start_ns, 40);
        let (two, _) = play(2, start_ns, 40);
        assert!(one.len() > 5_000, "{}", one.len());
        let (one, two): (HashSet<_>, HashSet<_>) = (one.into_iter().collect(), two.into_iter().collect());
        assert_eq!(one.symmetric_difference(&two).count(), 0);
    }

    #[test]
    fn a_full_ring_is_told_and_a_mirror_is_not() {
        let (_, dropped) = play(2, now_ns() - 430_000_000_000, 430);
        assert!(dropped > 100, "{dropped}");
    }
}
