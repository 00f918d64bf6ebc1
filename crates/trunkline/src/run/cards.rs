//! What network cards and the kernel lost before any ring saw it: asked for each second, off the way of packets.

use std::time::{Duration, Instant};
use trunkline_calls::ledger::file_of_lanes;
use trunkline_capture::live::interface::{self, Counts, Unseen, UnseenWatch};
use trunkline_capture::{CaptureLoss, LossPlace};
use trunkline_kit::metrics::Sample;

/// How often the interfaces are asked.
const EVERY: Duration = Duration::from_secs(1);

/// The interfaces of a run.
#[derive(Debug)]
pub struct Cards {
    cards: Vec<Card>,
    /// What the queues of the processors had dropped when they were asked last.
    queue: u64,
    asked: Instant,
    since_ns: i64,
}

#[derive(Debug)]
struct Card {
    interface: String,
    /// Its first lane, and how many it has.
    lanes: (u16, u16),
    watch: UnseenWatch,
    lost: Unseen,
}

impl Cards {
    /// The interfaces of the lanes, in the lanes' order. What they lost until now is not counted.
    pub fn of<'a>(lanes: impl Iterator<Item = &'a str>) -> Self {
        let mut cards = Cards::unasked(lanes);
        cards.take(super::now_ns(), interface::queue_drops(), |name| interface::counts(name).ok());
        cards
    }

    fn unasked<'a>(lanes: impl Iterator<Item = &'a str>) -> Self {
        let mut cards: Vec<Card> = Vec::new();
        for (lane, name) in (0..=u16::MAX).zip(lanes) {
            match cards.iter_mut().find(|card| card.interface == name) {
                Some(card) => card.lanes.1 = card.lanes.1.saturating_add(1),
                None => cards.push(Card {
                    interface: name.to_owned(),
                    lanes: (lane, 1),
                    watch: UnseenWatch::default(),
                    lost: Unseen::default(),
                }),
            }
        }
        Cards { cards, queue: 0, asked: Instant::now(), since_ns: 0 }
    }

    /// Asks the interfaces, if it is time or the end: what they lost since the last time, with the lane that is to tell
    /// it. A lane cannot be blamed: any of the interface's may have been meant.
    pub fn look(&mut self, now_ns: i64, is_end: bool) -> Vec<(u16, CaptureLoss)> {
        if self.asked.elapsed() < EVERY && !is_end {
            return Vec::new();
        }
        self.asked = Instant::now();
        // In this order, what a queue has dropped is among what its interface has.
        self.take(now_ns, interface::queue_drops(), |name| interface::counts(name).ok())
    }

    fn take(&mut self, now_ns: i64, queue: u64, of: impl Fn(&str) -> Option<Counts>) -> Vec<(u16, CaptureLoss)> {
        let since_ns = self.since_ns.min(now_ns);
        let mut fresh = queue.saturating_sub(self.queue);
        (self.queue, self.since_ns) = (queue, now_ns);
        let mut losses = Vec::new();
        for Card { interface, lanes, watch, lost } in &mut self.cards {
            let Some(counts) = of(interface) else {
                watch.forget();
                continue;
            };
            let unseen = watch.look(counts, &mut fresh);
            let file = file_of_lanes(lanes.0, lanes.1);
            let loss = |place, packets| (lanes.0, CaptureLoss { since_ns, at_ns: now_ns, packets, file, place });
            losses.extend(places(&unseen).into_iter().filter(|(_, n)| *n > 0).map(|(place, n)| loss(place, n)));
            lost.card += unseen.card;
            lost.damaged += unseen.damaged;
            lost.queue += unseen.queue;
        }
        losses
    }

    /// What all of them lost since the start, by place.
    pub fn drops(&self) -> Vec<(LossPlace, u64)> {
        let mut sum = Unseen::default();
        for card in &self.cards {
            sum.card += card.lost.card;
            sum.damaged += card.lost.damaged;
            sum.queue += card.lost.queue;
        }
        places(&sum).to_vec()
    }

    /// The same as metrics.
    pub fn samples(&self) -> Vec<Sample> {
        let of = |card: &Card| {
            let lost = card.lost;
            [
                (
                    "trunkline_capture_card_lost_packets_total",
                    "packets that the network card had no room for",
                    lost.card,
                ),
                (
                    "trunkline_capture_damaged_packets_total",
                    "packets that came damaged to the network card",
                    lost.damaged,
                ),
                (
                    "trunkline_capture_kernel_lost_packets_total",
                    "packets lost in the kernel's queues before any ring saw them",
                    lost.queue,
                ),
            ]
            .map(|(name, help, value)| Sample::counter(name, help, value).label("interface", &card.interface))
        };
        self.cards.iter().flat_map(of).collect()
    }
}

fn places(unseen: &Unseen) -> [(LossPlace, u64); 3] {
    [(LossPlace::Card, unseen.card), (LossPlace::Damaged, unseen.damaged), (LossPlace::OperatingSystem, unseen.queue)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(packets: u64, missed: u64, errors: u64, dropped: u64) -> Option<Counts> {
        Some(Counts { packets, missed, errors, dropped, ..Counts::default() })
    }

    #[test]
    fn what_is_lost_before_the_rings_is_told_by_the_first_lane_for_all() {
        let mut cards = Cards::unasked(["eth1", "eth1", "eth2"].into_iter());
        let begin = |_: &str| counts(100, 5, 5, 5);
        assert_eq!(cards.take(1000, 70, begin), [], "what was before is not ours");
        let later = |name: &str| if name == "eth1" { counts(200, 8, 9, 5) } else { counts(200, 5, 5, 40) };
        let loss = |lane, lanes, place, packets| {
            (lane, CaptureLoss { since_ns: 1000, at_ns: 2000, packets, file: file_of_lanes(lane, lanes), place })
        };
        // Of eth2's 35 the queues know of 10: the others were seen, or a ring tells them.
        assert_eq!(
            cards.take(2000, 80, later),
            [
                loss(0, 2, LossPlace::Card, 3),
                loss(0, 2, LossPlace::Damaged, 1),
                loss(2, 1, LossPlace::OperatingSystem, 10)
            ]
        );
        assert_eq!(cards.take(3000, 80, later), []);
        let sums = [(LossPlace::Card, 3), (LossPlace::Damaged, 1), (LossPlace::OperatingSystem, 10)];
        assert_eq!(cards.drops(), sums);
        let samples = cards.samples();
        assert_eq!(samples.len(), 6);
        let first = &samples[0];
        assert_eq!((first.name, &first.labels[0].1[..]), ("trunkline_capture_card_lost_packets_total", "eth1"));
        assert_eq!(first.value, trunkline_kit::metrics::Number::Whole(3));
    }

    #[test]
    fn an_interface_that_is_gone_is_asked_anew_when_it_is_back() {
        let mut cards = Cards::unasked(["eth1"].into_iter());
        cards.take(1, 0, |_| counts(9, 9, 9, 9));
        assert_eq!(cards.take(2, 0, |_| None), []);
        assert_eq!(cards.take(3, 0, |_| counts(50, 50, 50, 50)), []);
        assert_eq!(cards.take(4, 0, |_| counts(51, 51, 51, 50)).len(), 1);
    }

    #[test]
    fn a_true_interface_is_asked_once_a_second() {
        let mut cards = Cards::of(["lo"].into_iter());
        assert!(cards.cards[0].watch.look(Counts::default(), &mut 0) == Unseen::default());
        assert_eq!(cards.look(1, false), []);
        assert_eq!(cards.drops().iter().map(|(_, n)| n).sum::<u64>(), 0);
    }
}
