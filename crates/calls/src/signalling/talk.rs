//! When each side was to be heard: what was agreed about audio (RFC 3264), hop by hop and change by change.
//!
//! An offer that nothing accepts changes nothing (RFC 3264 section 8). Between proxies that put a relay in the way each
//! hop has descriptions of its own, so that they are kept apart by the hosts between which they went.

use super::facts::{Change, Said};
use crate::limits::{CHANGES_PER_CALL_MAX, HOPS_PER_CALL_MAX};
use smallvec::SmallVec;
use trunkline_wire::Address;

/// Two hosts between which descriptions went.
#[derive(Clone, Debug)]
struct Hop {
    between: [Address; 2],
    offered: [Option<Said>; 2],
    agreed: [Option<Said>; 2],
}

/// The hops of one call.
#[derive(Debug, Default)]
pub struct Talk {
    hops: SmallVec<[Hop; 1]>,
}

/// The hosts of a message, in an order that does not depend on who sent it.
fn between(src: Address, dst: Address) -> [Address; 2] {
    if src.octets() <= dst.octets() { [src, dst] } else { [dst, src] }
}

impl Talk {
    /// Forgets all but the memory.
    pub fn clear(&mut self) {
        self.hops.clear();
    }

    /// Reads a little of each line of the cache that it takes.
    pub(super) fn warm(&self) -> u64 {
        let known = |hop: &Hop| hop.offered.iter().chain(&hop.agreed).filter(|said| said.is_some()).count() as u64;
        self.hops.iter().fold(0, |sum, hop| sum ^ known(hop) ^ u64::from(hop.between[1].is_v4()))
    }

    /// Gives memory back that is more than a usual call needs.
    pub fn shrink(&mut self) {
        if self.hops.spilled() {
            self.hops = SmallVec::new();
        }
    }

    fn hop(&mut self, src: Address, dst: Address) -> Option<&mut Hop> {
        let between = between(src, dst);
        if let Some(at) = self.hops.iter().position(|hop| hop.between == between) {
            return self.hops.get_mut(at);
        }
        if self.hops.len() >= HOPS_PER_CALL_MAX {
            return None;
        }
        self.hops.push(Hop { between, offered: [None; 2], agreed: [None; 2] });
        self.hops.last_mut()
    }

    /// A party (0 the caller) offers this. False if the hop is not followed.
    pub fn offer(&mut self, (src, dst): (Address, Address), party: usize, said: Said) -> bool {
        let hop = self.hop(src, dst);
        hop.map(|hop| hop.offered[party] = Some(said)).is_some()
    }

    /// A party answers with this; `taken` is where the other one wants the audio section that is taken, if it offered
    /// several. Notes in `changes` what holds from now on. False if something is not followed.
    pub fn answer(
        &mut self,
        (src, dst): (Address, Address),
        party: usize,
        said: Said,
        taken: Option<trunkline_wire::Endpoint>,
        (at_ns, tag): (i64, u64),
        changes: &mut SmallVec<[Change; 1]>,
    ) -> bool {
        let Some(hop) = self.hop(src, dst) else { return false };
        let other =
            hop.offered[1 - party].map(|o| Said { endpoint: taken.or(o.endpoint), fax: o.fax && said.fax, ..o });
        let was = hop.agreed;
        hop.agreed[party] = Some(said);
        hop.agreed[1 - party] = other.or(hop.agreed[1 - party]);
        let [Some(caller), Some(callee)] = hop.agreed else { return true };
        // Who begins a handshake is chosen anew each time (RFC 8842 section 5.5), and says nothing of what is heard.
        let heard = |said: Option<Said>| said.map(|said| Said { setup: None, ..said });
        if was.map(heard) == hop.agreed.map(heard) {
            return true;
        }
        if changes.len() >= CHANGES_PER_CALL_MAX {
            return false;
        }
        let hosts = if party == 0 { [src, dst] } else { [dst, src] };
        changes.push(Change { at_ns, hosts, parties: [caller, callee], by: party, tag });
        true
    }

    /// The callee accepts the call in this dialog and describes nothing: what it agreed there before holds, whatever
    /// another target agreed since (RFC 3261 section 13.2.2.4). False if something is not followed.
    pub fn accept(
        &mut self,
        (src, dst): (Address, Address),
        tag: u64,
        at_ns: i64,
        changes: &mut SmallVec<[Change; 1]>,
    ) -> bool {
        let Some(hop) = self.hop(src, dst) else { return false };
        let own = |change: &&Change| between(change.hosts[0], change.hosts[1]) == hop.between;
        let Some(last) = changes.iter().rfind(own).filter(|last| last.tag != tag && last.tag != 0) else { return true };
        let Some(earlier) = changes.iter().rfind(|change| own(change) && change.tag == tag) else { return true };
        let change = Change { at_ns, parties: [last.parties[0], earlier.parties[1]], ..*earlier };
        if changes.len() >= CHANGES_PER_CALL_MAX {
            return false;
        }
        hop.agreed = change.parties.map(Some);
        changes.push(change);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_wire::Endpoint;

    fn said(endpoint: &str, sends: bool, receives: bool) -> Said {
        Said { endpoint: endpoint.parse::<Endpoint>().ok(), sends, receives, ..Said::default() }
    }

    #[test]
    fn a_refused_offer_changes_nothing() {
        let [a, b] = [1, 2].map(|n| Address::v4([192, 0, 2, n]));
        let (ours, theirs) = (said("192.0.2.1:4000", true, true), said("192.0.2.2:5000", true, true));
        let (mut talk, mut changes) = (Talk::default(), SmallVec::new());
        assert!(talk.offer((a, b), 0, ours));
        assert!(talk.answer((b, a), 1, theirs, None, (10, 0), &mut changes));
        // Said again, and then an offer of fax that nothing accepts.
        assert!(talk.answer((b, a), 1, theirs, None, (20, 0), &mut changes));
        assert!(talk.offer((b, a), 1, Said { fax: true, ..Said::default() }));
        assert_eq!((changes.len(), changes[0].at_ns, changes[0].parties), (1, 10, [ours, theirs]));
        // Held by the caller, and resumed.
        let held = Said { receives: false, ..ours };
        for (at_ns, offer, answer) in [(30, held, said("192.0.2.2:5000", false, true)), (40, ours, theirs)] {
            assert!(talk.offer((a, b), 0, offer) && talk.answer((b, a), 1, answer, None, (at_ns, 0), &mut changes));
        }
        assert_eq!(
            changes.iter().map(|c| (c.at_ns, c.parties[0].receives)).collect::<Vec<_>>(),
            [(10, true), (30, false), (40, true)]
        );
    }

    #[test]
    fn hops_and_changes_are_bounded() {
        let at = |n: usize| Address::v4([192, 0, 2, n as u8]);
        let (mut talk, mut changes) = (Talk::default(), SmallVec::new());
        let ours = said("192.0.2.1:4000", true, true);
        for n in 1..=HOPS_PER_CALL_MAX + 1 {
            assert_eq!(talk.offer((at(0), at(n)), 0, ours), n <= HOPS_PER_CALL_MAX);
        }
        for n in 0..=CHANGES_PER_CALL_MAX {
            let theirs = said("192.0.2.2:5000", n % 2 == 0, true);
            let kept = talk.answer((at(1), at(0)), 1, theirs, None, (n as i64, 0), &mut changes);
            assert_eq!(kept, n < CHANGES_PER_CALL_MAX);
        }
        assert_eq!(changes.len(), CHANGES_PER_CALL_MAX);
    }
}
