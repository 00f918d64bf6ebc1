//! Checks of ICE (RFC 8445 section 7) between the ends of a call's media: whether any was answered.

use super::handshakes::Pair;
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

/// A flow with checks.
#[derive(Clone, Debug, PartialEq)]
struct Flow {
    pair: Pair,
    /// The first check since the last answer on this flow.
    since: Option<Check>,
    /// Checks since then, of the caller and of the callee.
    asked: [u32; 2],
    /// When the last check was sent, nanoseconds since 1970.
    last_ns: i64,
    /// When the last answer came.
    answered_ns: Option<i64>,
}

/// Checks that no answer came to, on any flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Unanswered {
    /// The first of them.
    pub first: Check,
    /// When the last one was sent, nanoseconds since 1970.
    pub last_ns: i64,
    /// How many the caller sent, and the callee.
    pub asked: [u32; 2],
    /// On how many ways they were sent.
    pub ways: usize,
}

/// The checks of a call that were seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checks {
    /// The flows on which they were sent.
    flows: Vec<Flow>,
    /// There were more flows than are followed.
    overflow: bool,
}

impl Checks {
    /// Takes a check of a party (0 the caller).
    pub fn ask(&mut self, pair: Pair, check: Check, party: usize) {
        let at = match self.flows.iter().position(|flow| flow.pair == pair) {
            Some(at) => at,
            None if self.flows.len() >= FLOWS_MAX => {
                self.overflow = true;
                return;
            }
            None => {
                self.flows.push(Flow { pair, since: None, asked: [0; 2], last_ns: check.at_ns, answered_ns: None });
                self.flows.len() - 1
            }
        };
        let Some(flow) = self.flows.get_mut(at) else { return };
        flow.since = flow.since.or(Some(check));
        flow.last_ns = flow.last_ns.max(check.at_ns);
        flow.asked[party] = flow.asked[party].saturating_add(1);
    }

    /// Takes an answer on a flow.
    pub fn answer(&mut self, pair: &Pair, at_ns: i64) {
        if let Some(flow) = self.flows.iter_mut().find(|flow| flow.pair == *pair) {
            (flow.since, flow.asked, flow.answered_ns) = (None, [0; 2], flow.answered_ns.max(Some(at_ns)));
        }
    }

    /// Whether any was seen.
    pub fn any(&self) -> bool {
        !self.flows.is_empty()
    }

    /// When the last answer came on any flow.
    pub fn answered_ns(&self) -> Option<i64> {
        self.flows.iter().filter_map(|flow| flow.answered_ns).max()
    }

    /// Those that began after the last answer on any flow; none where not all is known.
    pub fn unanswered(&self) -> Option<Unanswered> {
        let answered_ns = self.answered_ns();
        let after = |flow: &&Flow| flow.since.is_some_and(|since| Some(since.at_ns) > answered_ns);
        let flows = || self.flows.iter().filter(after);
        let first =
            flows().filter_map(|flow| flow.since).min_by_key(|check| check.packet).filter(|_| !self.overflow)?;
        let asked = |party: usize| flows().fold(0u32, |sum, flow| sum.saturating_add(flow.asked[party]));
        let last_ns = flows().map(|flow| flow.last_ns).max()?;
        Some(Unanswered { first, last_ns, asked: [asked(0), asked(1)], ways: flows().count() })
    }

    /// Adds what another lane saw of the call, on other flows.
    pub fn add(&mut self, other: Checks) {
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
        one.answer(&([a, c], 0), 10);
        let told = |checks: &Checks| checks.unanswered().map(|u| (u.first.packet, u.last_ns, u.asked, u.ways));
        assert_eq!((told(&one), one.answered_ns()), (Some((7, 9, [1, 1], 1)), None));
        two.ask(([b, c], 0), check(5), 1);
        two.answer(&([b, c], 0), 11);
        one.add(two);
        // What began before the answer on another flow is not counted.
        assert_eq!((told(&one), one.answered_ns()), (None, Some(11)));
        one.ask(([b, c], 0), check(12), 0);
        one.ask(([c, a], 0), check(13), 1);
        assert_eq!(told(&one), Some((12, 13, [1, 1], 2)));
        (0..20).for_each(|port| one.ask(([a, Endpoint { port, ..b }], 0), check(14), 0));
        assert!(one.overflow && one.flows.len() == FLOWS_MAX && told(&one).is_none());
    }
}
