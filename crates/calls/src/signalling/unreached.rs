//! What ICMP says of packets that did not arrive, kept until the calls are closed whose INVITEs these were.
//!
//! A message may quote no more than the ports of the packet, so what it says is kept by flow: it holds for every
//! request on its way there at that time.

use super::Signalling;
use crate::limits::SECOND_NS;
use crate::media::{self, Notice, Numbered};
use hashbrown::HashMap;
use smallvec::SmallVec;
use trunkline_wire::Endpoint;
use trunkline_wire::icmp::Unreachable;

/// Flows of which it is kept that packets did not arrive. Beyond it a further one is counted and not kept.
// Limit: flows about which ICMP reports unreachable destinations
// Beyond: a further flow is not kept
// Seen in: `trunkline_calls_icmp_unreachable_overflow_total`
pub const FLOWS_MAX: usize = 1 << 12;
/// Times kept of one flow; the oldest are forgotten.
const SPELLS_MAX: usize = 8;
/// Messages farther apart are of two times: a host repeats an INVITE after 4 s at most while it waits (timer T2).
const APART_NS: i64 = 8 * SECOND_NS;
/// Lanes are told of a flow this often at most.
const TOLD_NS: i64 = SECOND_NS / 10;

/// Packets of a flow did not arrive, for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreached {
    /// What the first message said.
    pub what: Unreachable,
    /// When it came, nanoseconds since 1970.
    pub first_ns: i64,
    /// When the last one came that said the same.
    pub last_ns: i64,
    /// How many said so.
    pub messages: u32,
    /// The number of the first one's packet.
    pub packet: u64,
}

impl Unreached {
    /// The same once more.
    fn add(&mut self, at_ns: i64) {
        self.last_ns = self.last_ns.max(at_ns);
        self.messages = self.messages.saturating_add(1);
    }

    /// By one message.
    pub fn new(what: &Unreachable, at_ns: i64, packet: u64) -> Unreached {
        Unreached { what: *what, first_ns: at_ns, last_ns: at_ns, messages: 1, packet }
    }

    /// Takes a message, if it says the same soon after.
    pub fn takes(&mut self, what: &Unreachable, at_ns: i64) -> bool {
        let same = self.what == *what && at_ns.saturating_sub(self.last_ns) <= APART_NS;
        if same {
            self.add(at_ns);
        }
        same
    }
}

#[derive(Debug, Default)]
struct Flow {
    spells: SmallVec<[Unreached; 1]>,
    told_ns: Option<i64>,
}

/// What was said of all flows.
#[derive(Debug, Default)]
pub struct Flows {
    flows: HashMap<[Endpoint; 2], Flow>,
}

impl Flows {
    /// Takes a message. Whether lanes are to be told; none if there is no room for it.
    pub fn take(&mut self, what: &Unreachable, at_ns: i64, packet: u64) -> Option<bool> {
        let key = [what.from, what.to];
        if self.flows.len() >= FLOWS_MAX && !self.flows.contains_key(&key) {
            let recent = |flow: &Flow| flow.spells.iter().any(|s| at_ns.saturating_sub(s.last_ns) < 300 * SECOND_NS);
            self.flows.retain(|_, flow| recent(flow));
            if self.flows.len() >= FLOWS_MAX {
                return None;
            }
        }
        let flow = self.flows.entry(key).or_default();
        if !flow.spells.iter_mut().any(|spell| spell.takes(what, at_ns)) {
            if flow.spells.len() >= SPELLS_MAX {
                flow.spells.remove(0);
            }
            flow.spells.push(Unreached::new(what, at_ns, packet));
        }
        let is_due = flow.told_ns.is_none_or(|told| at_ns.saturating_sub(told) >= TOLD_NS);
        if is_due {
            flow.told_ns = Some(at_ns);
        }
        Some(is_due)
    }

    /// What was said of a flow within these times.
    pub fn within(&self, from: Endpoint, to: Endpoint, since_ns: i64, until_ns: i64) -> Option<Unreached> {
        let spells = &self.flows.get(&[from, to])?.spells;
        spells.iter().find(|s| s.first_ns <= until_ns && s.last_ns >= since_ns).copied()
    }
}

impl Signalling {
    /// Takes an ICMP message that says that a packet did not arrive.
    #[cold]
    pub fn unreachable(&mut self, what: &Unreachable, at_ns: i64, number: u64) {
        match self.unreached.get_or_insert_default().take(what, at_ns, number) {
            None => self.counters.unreachable_overflow += 1,
            Some(false) => {}
            Some(true) => {
                let notice = Notice::Unreachable(Box::new(media::Unreached { at_ns, what: *what }));
                self.output.notices.push(Numbered { number, at_ns, notice });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_wire::icmp::Reason;

    fn what(port: u16, reason: Reason) -> Unreachable {
        let [from, to] = ["192.0.2.1:5060", "192.0.2.2:1"].map(|end| end.parse::<Endpoint>().unwrap());
        Unreachable { by: to.address, reason, from, to: Endpoint::new(to.address, port) }
    }

    #[test]
    fn what_was_said_is_known_at_its_time() {
        let mut flows = Flows::default();
        let down = what(5060, Reason::Port);
        for (second, due) in [(0, true), (1, true), (5, true), (60, true)] {
            assert_eq!(flows.take(&down, second * SECOND_NS, second as u64), Some(due));
        }
        assert_eq!(flows.take(&down, 60 * SECOND_NS + 1, 99), Some(false));
        let within = |since, until| flows.within(down.from, down.to, since * SECOND_NS, until * SECOND_NS);
        assert_eq!(within(3, 4).map(|u| (u.packet, u.messages)), Some((0, 3)), "it says so before and after");
        assert_eq!(within(6, 59), None);
        assert_eq!(within(6, 60).map(|u| u.packet), Some(60));
        assert_eq!(flows.within(down.to, down.from, 0, i64::MAX), None);
    }

    #[test]
    fn flows_are_bounded_and_old_ones_make_room() {
        let mut flows = Flows::default();
        for port in 0..FLOWS_MAX as u16 {
            assert!(flows.take(&what(port, Reason::Host), 0, 0).is_some());
        }
        assert_eq!(flows.take(&what(60_000, Reason::Host), SECOND_NS, 0), None);
        assert!(flows.take(&what(1, Reason::Host), SECOND_NS, 0).is_some());
        assert!(flows.take(&what(60_000, Reason::Host), 400 * SECOND_NS, 0).is_some());
        for n in 0..20 {
            flows.take(&what(60_000, Reason::Port), (500 + n * 20) * SECOND_NS, n as u64);
        }
        assert_eq!(flows.flows.values().map(|f| f.spells.len()).max(), Some(SPELLS_MAX));
    }
}
