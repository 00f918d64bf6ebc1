//! Whether a device is up: a number of checks that failed, one after the other, takes it down, and a number that did
//! not takes it up again. What the check was (SNMP, ICMP, a port) does not matter here.

/// A device that was up is down, or the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// It answers.
    Up,
    /// It does not.
    Down,
}

/// A check that somebody waits for comes so long after another one began, and so long before the next is due, at least.
const CHECK_NS_MIN: u64 = 5_000_000_000;

/// Whether a check has just begun, or will soon: none that somebody waits for comes between.
pub(crate) fn is_check_near(begun_ns: Option<u64>, due_ns: u64, now_ns: u64) -> bool {
    due_ns < now_ns.saturating_add(CHECK_NS_MIN)
        || begun_ns.is_some_and(|begun_ns| now_ns < begun_ns.saturating_add(CHECK_NS_MIN))
}

/// The state of a device. Until the first check it is neither up nor down, and that check alone decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    state: Option<Change>,
    /// Checks in a row that spoke against the state.
    against: u8,
}

impl Health {
    /// Takes in a check; tells if that has changed the state. The first check tells it.
    pub fn check(&mut self, answered: bool, failures_to_down: u8, successes_to_up: u8) -> Option<Change> {
        let (says, needed) = if answered { (Change::Up, successes_to_up) } else { (Change::Down, failures_to_down) };
        if self.state == Some(says) {
            self.against = 0;
            return None;
        }
        self.against += 1;
        if self.state.is_some() && self.against < needed {
            return None;
        }
        *self = Health { state: Some(says), against: 0 };
        Some(says)
    }

    /// Whether it is down.
    pub fn is_down(&self) -> bool {
        self.state == Some(Change::Down)
    }

    /// Whether the last check was answered.
    pub fn is_well(&self) -> bool {
        self.state == Some(Change::Up) && self.against == 0
    }

    /// What it is; none before the first check.
    pub fn state(&self) -> Option<Change> {
        self.state
    }
}
