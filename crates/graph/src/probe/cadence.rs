//! When rounds begin: in a place of their step that is the same on every run, so that not all begin at once.

use trunkline_kit::random::mixed;

/// The first round comes this soon, at most: whoever adds a device wants to see it.
const FIRST_NS_MAX: u64 = 5_000_000_000;
const NS_PER_S: u64 = 1_000_000_000;

/// The times of something that is done again and again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cadence {
    step_ns: u64,
    phase_ns: u64,
    /// When the next round begins.
    pub(super) due_ns: u64,
}

impl Cadence {
    pub(super) fn new(identity: u64, step_s: u32, now_ns: u64) -> Cadence {
        let step_ns = u64::from(step_s.max(1)) * NS_PER_S;
        let place = mixed(identity);
        Cadence { step_ns, phase_ns: place % step_ns, due_ns: now_ns + place % step_ns.min(FIRST_NS_MAX) }
    }

    /// Goes on as before, if it is as often.
    pub(super) fn inherit(&mut self, before: &Cadence) {
        if (before.step_ns, before.phase_ns) == (self.step_ns, self.phase_ns) {
            self.due_ns = before.due_ns;
        }
    }

    /// Sets the time of the next round; how many such times have gone by since the one that is due now.
    pub(super) fn next(&mut self, now_ns: u64) -> u64 {
        let Cadence { step_ns: step, phase_ns: phase, .. } = *self;
        if self.due_ns % step == phase {
            let gone_by = now_ns.saturating_sub(self.due_ns) / step;
            self.due_ns += (gone_by + 1) * step;
            return gone_by;
        }
        // The first round was off its phase; the second one does not follow on its heels.
        let next = (now_ns.saturating_sub(phase) / step + 1) * step + phase;
        self.due_ns = if next - now_ns < step / 2 { next + step } else { next };
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_come_in_their_place_and_gone_ones_are_counted() {
        let now = 1_000 * NS_PER_S;
        let dues: Vec<u64> = (0..100).map(|id| Cadence::new(id, 60, now).due_ns).collect();
        assert!(dues.iter().all(|due| (now..now + FIRST_NS_MAX).contains(due)));
        assert!(dues.iter().max().unwrap() - dues.iter().min().unwrap() > FIRST_NS_MAX / 2);
        for id in 0..100 {
            let mut cadence = Cadence::new(id, 60, now);
            let first = cadence.due_ns;
            assert_eq!(cadence.next(first), 0);
            let second = cadence.due_ns;
            assert!((30 * NS_PER_S..=90 * NS_PER_S).contains(&(second - first)), "{id}");
            assert_eq!((cadence.next(second + 5), cadence.due_ns), (0, second + 60 * NS_PER_S));
            // Four minutes later, when three more have gone by.
            assert_eq!(cadence.next(second + 245 * NS_PER_S), 3);
            assert_eq!(cadence.due_ns, second + 300 * NS_PER_S);
        }
    }
}
