//! The engine over rings that are made up.

use super::*;
use crate::eventually::eventually;
use crate::run::rows;
use trunkline_calls::ledger::file_of_lanes;
use trunkline_calls::live::Front;
use trunkline_capture::Batch;
use trunkline_capture::live::{Live, LiveError, Next, RingStatistics};
use trunkline_store::{Access, Query, Store};

/// A ring that is quiet, or breaks for good.
struct Ring {
    number: u16,
    breaks: bool,
}

impl Live for Ring {
    fn next(&mut self, _: &mut Batch, patience: Duration) -> Result<Next, LiveError> {
        std::thread::park_timeout(patience);
        if self.breaks { Err(LiveError::Option("the ring broke".to_owned())) } else { Ok(Next::Nothing) }
    }

    fn statistics(&mut self) -> RingStatistics {
        RingStatistics { is_up: true, ..RingStatistics::default() }
    }

    fn interface(&self) -> &str {
        "eth1"
    }

    fn ring(&self) -> u16 {
        self.number
    }

    fn link(&self) -> u16 {
        1
    }
}

fn plan(number: u16, breaks: bool) -> LanePlan {
    LanePlan {
        source: Box::new(Ring { number, breaks }),
        log: None,
        front: Front::new(number, Box::new(|_| true)),
        meter: None,
        patience: Duration::ZERO,
        processor: None,
    }
}

fn card_loss(since_ns: i64) -> CaptureLoss {
    CaptureLoss { since_ns, at_ns: since_ns + 1, packets: 7, file: file_of_lanes(0, 2), place: LossPlace::Card }
}

#[test]
fn what_the_card_of_a_lane_that_broke_loses_is_still_told() {
    let folder = tempfile::tempdir().unwrap();
    let (out, store) = rows::start(Some(Store::open(folder.path(), Access::Write).unwrap()), None).unwrap();
    let names: Arc<dyn Names> = Arc::new(vec!["eth1".to_owned()]);
    let engine = Engine::start(vec![plan(0, true), plan(1, false)], names, out.writing(), Box::new(out)).unwrap();
    let shared = Arc::clone(&engine.shared);
    let is_over = || lock(&shared.lost_later[0]).is_over;
    eventually("the lane has said its last", is_over);
    assert!(!engine.is_over());
    // As the cards do: the first lane of the interface is to tell it.
    shared.lost_elsewhere(0, card_loss(1000));
    eventually("another lane takes it", || lock(&shared.lost_later[1]).losses.is_empty());
    engine.stop();
    assert!(!engine.join());
    store.join().unwrap();
    let told = Store::open(folder.path(), Access::Read).unwrap().losses(&Query::default()).unwrap().rows;
    assert_eq!(told.iter().map(|l| (l.since_ns, l.count)).collect::<Vec<_>>(), [(1000, 7)]);
    // When all have ended, the end of the program tells it.
    shared.lost_elsewhere(1, card_loss(2000));
    assert_eq!(shared.take_untold(), [card_loss(2000)]);
}

#[test]
fn losses_that_nobody_tells_are_bounded_and_none_of_their_packets_is_forgotten() {
    let shared = Shared::new(1);
    let of = |n: i64, place| CaptureLoss { place, ..card_loss(n) };
    let tell = |from: i64, to: i64| {
        for n in from..to {
            shared.lost_elsewhere(0, of(n, if n % 2 == 0 { LossPlace::Card } else { LossPlace::Disk }));
        }
    };
    let packets = |losses: &[CaptureLoss]| losses.iter().map(|l| l.packets).sum::<u64>();
    let max = LOSSES_WAITING_MAX as i64;
    tell(0, max);
    assert_eq!((lock(&shared.lost_later[0]).losses.len() as i64, shared.joined_losses()), (max, 0));
    tell(max, max + 1);
    let losses = shared.take_last_lost_elsewhere(0);
    assert_eq!((losses.len(), shared.joined_losses() as i64), (2, max - 1));
    assert_eq!((losses[0].since_ns, losses[0].at_ns, losses[0].place), (0, max + 1, LossPlace::Card));
    assert_eq!(packets(&losses), 7 * (max as u64 + 1));
    // The same where no lane is left.
    tell(0, 3 * max);
    let losses = shared.take_untold();
    assert!(losses.len() <= LOSSES_WAITING_MAX);
    assert_eq!(packets(&losses), 7 * 3 * max as u64);
}
