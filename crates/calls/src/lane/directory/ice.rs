//! What the checks of ICE tell: whose the ends of a flow are that no description names.

use super::{CallMedia, Directory, Mapping, forget, opposite};
use crate::limits::ENDPOINTS_PER_CALL_MAX;
use crate::media::{Announcement, IceName, Serial};
use smallvec::SmallVec;
use trunkline_store::row::Direction;
use trunkline_wire::Endpoint;

/// Names for the checks of ICE that are kept of one call; a restart has new ones (RFC 8445 section 9).
const ICE_NAMES_MAX: usize = 32;

impl Directory {
    /// Learns a name that a party has for the checks of ICE.
    pub fn learn(&mut self, ice: &IceName) {
        // Who names its candidates later has no endpoint yet (RFC 8840).
        let call = self.calls.entry(ice.serial).or_insert_with(|| CallMedia::without(ice.id, ice.at_ns));
        if call.ice.len() >= ICE_NAMES_MAX {
            return;
        }
        let named = self.by_ice_name.entry(ice.name).or_default();
        if !named.contains(&(ice.serial, ice.party)) {
            named.push((ice.serial, ice.party));
            call.ice.push(ice.name);
        }
    }

    /// Whether both parties of a call have names for the checks of ICE: these tell whose its media is.
    pub fn has_ice(&self, serial: Serial) -> bool {
        let names = || self.calls.get(&serial).into_iter().flat_map(|call| &call.ice);
        let named = |name, party| self.by_ice_name.get(name).is_some_and(|of| of.contains(&(serial, party)));
        [Direction::Caller, Direction::Callee].iter().all(|party| names().any(|name| named(name, *party)))
    }

    /// What a check of ICE says that a party of a call with the first name sends to one with the second: that both are
    /// where it goes from and to, whatever their descriptions say (RFC 8445 section 7.3.1.3). Gives what is new.
    pub fn checked(&self, at_ns: i64, from: (u64, Endpoint), to: (u64, Endpoint)) -> SmallVec<[Announcement; 2]> {
        let named = |name| self.by_ice_name.get(&name).map_or(&[][..], SmallVec::as_slice);
        let asks = named(from.0).iter().filter(|(serial, party)| named(to.0).contains(&(*serial, opposite(*party))));
        let ends = asks.flat_map(|(serial, asking)| [(*serial, *asking, from.1), (*serial, opposite(*asking), to.1)]);
        ends.filter_map(|(serial, party, endpoint)| self.announced(at_ns, serial, party, endpoint)).collect()
    }

    /// That a party of a call that is up is at an endpoint; none if that is known, or one too many.
    fn announced(&self, at_ns: i64, serial: Serial, party: Direction, endpoint: Endpoint) -> Option<Announcement> {
        let call = self.calls.get(&serial).filter(|call| at_ns <= call.begins_until_ns)?;
        if self.knows(serial, &endpoint) || call.endpoints.len() >= ENDPOINTS_PER_CALL_MAX {
            return None;
        }
        let own = |m: &&Mapping| m.serial == serial && m.party == party;
        let known = call.endpoints.iter().find_map(|endpoint| self.named(endpoint).iter().find(own));
        // What a party said that only named candidates to come is not known here.
        let said = call.spoken.iter().find(|(who, ..)| *who == party).or(call.spoken.first())?;
        let (kind, payloads) = known.map_or((said.1, &said.2), |m| (m.kind, &m.payloads));
        let encrypted = known.is_some_and(|m| m.encrypted);
        let (id, payloads) = (call.id, payloads.clone());
        Some(Announcement { serial, id, party, endpoint, guessed: false, kind, payloads, at_ns, encrypted })
    }

    /// Forgets the names of a call.
    pub(super) fn unlearn(&mut self, serial: Serial, names: &[u64]) {
        names.iter().for_each(|name| forget(&mut self.by_ice_name, *name, |(of, _)| *of == serial));
    }
}
