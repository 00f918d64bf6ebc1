//! What an interface lost before any ring could see it: what its own counters tell of that, and what they do not.
//!
//! | counter | what it counts | is it a loss of the capture? |
//! |---|---|---|
//! | `rx_missed_errors`, `rx_fifo_errors`, `rx_over_errors` | the card had a packet and nowhere to put it; drivers use one or another, and one packet may stand in several | yes, the greatest of them: place `card` |
//! | `rx_errors` | it came damaged and the card threw it away; some drivers add the above to it | yes, less the above: place `damaged` |
//! | `rx_dropped` | the kernel dropped it: its queue of the processor was full before any socket saw it (RPS, tunnels, veth); or **after** every packet socket saw it, for want of anyone who speaks its protocol; and of veth whatever an AF_XDP socket had no room for | only the first: place `operating-system` |
//! | `tp_drops` of a packet socket, `rx_dropped` and `rx_ring_full` of an AF_XDP socket | the ring was full | the ring tells that itself: place `ring` |
//!
//! A full ring of a packet socket is in no counter of the interface. So that nothing counts twice, `rx_dropped` is
//! believed only as far as the queues of the processors (`/proc/net/softnet_stat`, second column: all interfaces
//! together) say that they dropped something at the same time; they know nothing of sockets, of either kind.

use super::Counts;

/// Packets that an interface lost before any ring saw them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// The card had no room for them.
    pub card: u64,
    /// They came damaged.
    pub damaged: u64,
    /// The kernel's queue between driver and sockets was full.
    pub queue: u64,
}

impl Unseen {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.card.saturating_add(self.damaged).saturating_add(self.queue)
    }
}

/// What an interface counted when it was looked at last, and what of that is not explained yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnseenWatch {
    last: Option<Counts>,
    /// What the kernel dropped since the look before the last and no queue has told.
    dropped: u64,
}

impl UnseenWatch {
    /// What was lost since the last look: of the first look, and of one after which the interface began anew, nothing.
    ///
    /// `queue` is what the processors' queues dropped and no other interface has claimed: what is claimed here is taken
    /// from it. As the two are not read at the same moment, `rx_dropped` may wait one look for it.
    pub fn look(&mut self, now: Counts, queue: &mut u64) -> Unseen {
        let Some(last) = self.last.replace(now) else { return Unseen::default() };
        if now.packets < last.packets || now.dropped < last.dropped || now.lost() < last.lost() {
            self.dropped = 0;
            return Unseen::default();
        }
        let card = now.lost() - last.lost();
        let damaged = now.errors.saturating_sub(last.errors).saturating_sub(card);
        let dropped = now.dropped - last.dropped;
        let claimed = self.dropped.saturating_add(dropped).min(*queue);
        *queue -= claimed;
        self.dropped = dropped.min(self.dropped.saturating_add(dropped) - claimed);
        Unseen { card, damaged, queue: claimed }
    }

    /// The interface is gone: it counts from nothing when it is back.
    pub fn forget(&mut self) {
        *self = UnseenWatch::default();
    }
}

/// What the queues of all processors dropped since the system began: the sum of the second columns of
/// `/proc/net/softnet_stat`. 0 where the kernel does not tell.
pub fn queue_drops() -> u64 {
    queue_drops_of(&std::fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default())
}

fn queue_drops_of(text: &str) -> u64 {
    let drops = text.lines().filter_map(|line| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok());
    drops.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets, missed, overrun, errors, dropped.
    fn counts([packets, missed, overrun, errors, dropped]: [u64; 5]) -> Counts {
        Counts { packets, missed, overrun, errors, dropped, ..Counts::default() }
    }

    fn unseen(card: u64, damaged: u64, queue: u64) -> Unseen {
        Unseen { card, damaged, queue }
    }

    #[test]
    fn what_was_before_is_not_ours() {
        let mut watch = UnseenWatch::default();
        assert_eq!(watch.look(counts([9, 5, 5, 9, 7]), &mut 3), Unseen::default());
        assert_eq!(watch.look(counts([10, 5, 5, 9, 7]), &mut 3), Unseen::default());
    }

    #[test]
    fn one_packet_in_two_counters_is_one() {
        let mut watch = UnseenWatch::default();
        watch.look(counts([0; 5]), &mut 0);
        // A driver that counts its 40 missed packets as overruns and as errors, too, among which 2 are damaged.
        assert_eq!(watch.look(counts([100, 40, 40, 42, 0]), &mut 0), unseen(40, 2, 0));
        // And one that does not.
        assert_eq!(watch.look(counts([200, 40, 41, 50, 0]), &mut 0), unseen(1, 7, 0));
    }

    #[test]
    fn what_the_kernel_drops_counts_only_where_a_queue_was_full() {
        let mut watch = UnseenWatch::default();
        watch.look(counts([0; 5]), &mut 0);
        // Unknown protocols, or a full AF_XDP ring on veth: seen, or told by the ring.
        assert_eq!(watch.look(counts([10, 0, 0, 0, 500]), &mut 0), unseen(0, 0, 0));
        // The queue is read a moment later than the counter; what waited longer than one look is something else.
        let mut queue = 80;
        assert_eq!(watch.look(counts([20, 0, 0, 0, 580]), &mut queue), unseen(0, 0, 80));
        assert_eq!((queue, watch.look(counts([30, 0, 0, 0, 580]), &mut 600)), (0, unseen(0, 0, 80)));
        assert_eq!(watch.look(counts([40, 0, 0, 0, 580]), &mut 600), unseen(0, 0, 0));
        // Another interface's drops are not taken for ours.
        let mut queue = 1000;
        assert_eq!((watch.look(counts([50, 0, 0, 0, 590]), &mut queue), queue), (unseen(0, 0, 10), 990));
    }

    #[test]
    fn an_interface_that_begins_anew_has_lost_nothing() {
        let mut watch = UnseenWatch::default();
        watch.look(counts([1000, 7, 0, 7, 7]), &mut 0);
        assert_eq!(watch.look(counts([3, 0, 0, 0, 0]), &mut 9), Unseen::default());
        assert_eq!(watch.look(counts([4, 1, 0, 1, 0]), &mut 9), unseen(1, 0, 0));
        watch.forget();
        assert_eq!(watch.look(counts([5, 9, 0, 9, 0]), &mut 9), Unseen::default());
    }

    #[test]
    fn queues_are_added_up() {
        // Linux 6.18, two processors.
        let text = "0002f0a1 0000001f 00000003 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 \
                    00000000 00000000 00000000 00000000\n00031b22 00000001 0 0 0 0 0 0 0 0 0 0 1 0 0\nodd\n\n";
        assert_eq!((queue_drops_of(text), queue_drops_of("")), (32, 0));
    }
}
