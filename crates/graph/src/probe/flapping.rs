//! Devices that are up and down by turns.

/// Rounds that are looked at.
pub const FLAPPING_ROUNDS: u32 = 20;
/// Changes from one round to the next among them with which a device begins to flap, and with which it still does.
const CHANGES_TO_BEGIN: u32 = 6;
const CHANGES_TO_GO_ON: u32 = 4;

/// What the last rounds said. One change of a device that dies or comes back is not flapping, six in twenty rounds are:
/// counted are changes of what a round says, whether or not they made the device count as up or down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flapping {
    /// Each round's bit, the last one the lowest.
    rounds: u32,
    count: u32,
    is_on: bool,
}

impl Flapping {
    /// Takes in a round; tells if flapping has begun or ended by it.
    pub(super) fn check(&mut self, answered: bool) -> Option<bool> {
        self.rounds = self.rounds << 1 | u32::from(answered);
        self.count = (self.count + 1).min(FLAPPING_ROUNDS + 1);
        let is_on = self.changes() >= if self.is_on { CHANGES_TO_GO_ON } else { CHANGES_TO_BEGIN };
        (core::mem::replace(&mut self.is_on, is_on) != is_on).then_some(is_on)
    }

    /// How often the last [`FLAPPING_ROUNDS`] rounds said another thing than the one before.
    pub fn changes(&self) -> u32 {
        let known = (1u32 << self.count.saturating_sub(1)) - 1;
        ((self.rounds ^ self.rounds >> 1) & known).count_ones()
    }

    /// Whether the device flaps.
    pub fn is_on(&self) -> bool {
        self.is_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(rounds: &str) -> (Vec<(usize, bool)>, u32) {
        let mut flapping = Flapping::default();
        let checks = rounds.bytes().enumerate().filter_map(|(at, b)| Some((at, flapping.check(b == b'+')?))).collect();
        (checks, flapping.changes())
    }

    #[test]
    fn what_comes_and_goes_flaps_until_it_is_calm() {
        assert_eq!(told("+++++-----+++++"), (vec![], 2));
        assert_eq!(told("------"), (vec![], 0));
        // The sixth change is at the seventh round; the third last one has left after twenty more.
        let (told, changes) = told(&format!("+-+-+-+{}", "+".repeat(20)));
        assert_eq!((told, changes), (vec![(6, true), (23, false)], 0));
    }
}
