//! Checks of ICE (RFC 8445 section 7) between the ends of a call's media: whether any was answered.

use super::handshakes::Pair;
use smallvec::SmallVec;
use trunkline_wire::Endpoint;

/// Flows of one call whose checks are followed; of a call with more nothing is said.
const FLOWS_MAX: usize = 16;

/// A check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// When it was sent, nanoseconds since 1970.
    pub at_ns: i64,
    /// The number of its packet.
    pub packet: u64,
    /// Who sent it.
    pub from: Endpoint,
    /// To whom.
    pub to: Endpoint,
}

/// The checks of a call that were seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checks {
    /// The flows on which they were sent.
    flows: SmallVec<[Pair; 1]>,
    /// The first one.
    pub first: Option<Check>,
    /// When the last one was sent, nanoseconds since 1970.
    pub last_ns: i64,
    /// How many the caller sent, and the callee.
    pub asked: [u32; 2],
    /// Answers of any kind that came back on these flows.
    pub answered: u32,
    /// There were more flows than are followed.
    pub overflow: bool,
}

impl Checks {
    /// Takes a check of a party (0 the caller).
    pub fn ask(&mut self, pair: Pair, check: Check, party: usize) {
        if !self.flows.contains(&pair) {
            if self.flows.len() >= FLOWS_MAX {
                self.overflow = true;
                return;
            }
            self.flows.push(pair);
        }
        self.first = self.first.or(Some(check));
        self.last_ns = self.last_ns.max(check.at_ns);
        self.asked[party] = self.asked[party].saturating_add(1);
    }

    /// On how many ways they were sent.
    pub fn ways(&self) -> usize {
        self.flows.len()
    }

    /// Takes an answer on a flow.
    pub fn answer(&mut self, pair: &Pair) {
        self.answered = self.answered.saturating_add(u32::from(self.flows.contains(pair)));
    }

    /// Adds what another lane saw of the call, on other flows.
    pub fn add(&mut self, other: Checks) {
        self.first = [self.first, other.first].into_iter().flatten().min_by_key(|check| check.packet);
        self.last_ns = self.last_ns.max(other.last_ns);
        self.asked = [0, 1].map(|party| self.asked[party].saturating_add(other.asked[party]));
        self.answered = self.answered.saturating_add(other.answered);
        self.overflow |= other.overflow;
        self.flows.extend(other.flows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_count_on_flows_with_checks() {
        let end = |text: &str| -> Endpoint { text.parse().unwrap() };
        let [a, b, c] = ["192.0.2.1:4000", "192.0.2.2:5000", "192.0.2.3:3478"].map(end);
        let check = |packet| Check { at_ns: packet as i64, packet, from: a, to: b };
        let (mut one, mut two) = (Checks::default(), Checks::default());
        one.ask(([a, b], 0), check(7), 0);
        one.ask(([a, b], 0), check(9), 1);
        one.answer(&([a, c], 0));
        two.ask(([b, c], 0), check(5), 1);
        two.answer(&([b, c], 0));
        one.add(two);
        assert_eq!((one.first.unwrap().packet, one.last_ns, one.asked, one.answered), (5, 9, [1, 2], 1));
        assert!(!one.overflow);
        (0..20).for_each(|port| one.ask(([a, Endpoint { port, ..b }], 0), check(10), 0));
        assert!(one.overflow && one.flows.len() == FLOWS_MAX);
    }
}
