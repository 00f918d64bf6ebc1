//! Which calls have one pair of endpoints in common: two legs of one conversation share its streams, and of two calls
//! whose ports are in use again the later one takes them.

use super::{Directory, Mapping, Owner, opposite};
use crate::media::Serial;
use smallvec::SmallVec;
use trunkline_store::row::Direction;
use trunkline_wire::{Address, Endpoint};

/// Calls that name one endpoint: of more it is a port that all calls have in common, and says nothing of who is at the
/// other end.
const NAMED_MAX: usize = 4;

impl Directory {
    /// When a call had named both endpoints, and whether it was guessed of one of them.
    fn paired_ns(&self, serial: Serial, one: &Endpoint, other: &Endpoint) -> Option<(i64, bool)> {
        let (one, other) = (self.mapping(serial, one)?, self.mapping(serial, other)?);
        Some((one.since_ns.max(other.since_ns), one.guessed || other.guessed))
    }

    /// Whether a later call takes a pair of endpoints from an earlier one that is still up: it names both, and began
    /// when the earlier one had named both. Then the ports are in use again, and the BYE of the earlier call was not
    /// seen. Of two legs of one conversation the later begins while the earlier is set up. What is guessed takes
    /// nothing from a call that named it.
    pub(super) fn claims(&self, later: Serial, earlier: Serial, one: &Endpoint, other: &Endpoint) -> bool {
        let paired = |serial| self.paired_ns(serial, one, other);
        later > earlier
            && paired(later).zip(paired(earlier)).is_some_and(|((_, guessed), (at_ns, earlier_guessed))| {
                (earlier_guessed || !guessed) && self.calls.get(&later).is_some_and(|later| later.since_ns > at_ns)
            })
    }

    /// The owner of what paused between these ends and goes on, if that is no more the call that had it, whose BYE was
    /// not seen: one that began in the pause and agreed on the same ports. Some phones have one source for all calls,
    /// and fax has none.
    pub fn successor(&self, earlier: Serial, ends: [&Endpoint; 2], paused_ns: i64, at_ns: i64) -> Option<Owner> {
        let owner = self.owner(*ends[0], *ends[1], at_ns).filter(|owner| owner.serial > earlier)?;
        let later = owner.serial;
        let began = self.calls.get(&later).is_some_and(|call| call.since_ns > paused_ns);
        let is_known = |end: &&Endpoint| self.knows(later, end);
        let agrees = |near: &Endpoint| {
            let endpoints = self.calls.get(&later).map_or(&[][..], |call| &call.endpoints);
            endpoints.iter().any(|other| other != near && self.claims(later, earlier, near, other))
        };
        let takes = ends.iter().all(is_known) || ends.into_iter().any(agrees);
        (began && takes).then_some(owner)
    }

    /// Whether one of two calls claims a pair of endpoints from the other: then they share no stream.
    fn are_apart(&self, first: Serial, second: Serial, one: &Endpoint, other: &Endpoint) -> bool {
        self.claims(first, second, one, other) || self.claims(second, first, one, other)
    }

    /// Whether a call has a part in a stream of another one, and who of the former sends it then: it names both ends.
    pub fn shares(&self, serial: Serial, owner: Serial, from: &Endpoint, to: &Endpoint) -> Option<Direction> {
        let party = |end| self.mapping(serial, end).map(|mapping| mapping.party);
        match (party(from), party(to)) {
            (Some(_), Some(to_party)) => (!self.are_apart(serial, owner, from, to)).then_some(opposite(to_party)),
            (None, Some(to_party)) => self.is_across([serial, owner], to, from).then_some(opposite(to_party)),
            (Some(sender), None) => self.is_across([serial, owner], from, to).then_some(sender),
            (None, None) => None,
        }
    }

    fn mapping(&self, serial: Serial, endpoint: &Endpoint) -> Option<&Mapping> {
        self.named(endpoint).iter().find(|m| m.serial == serial)
    }

    /// Whether an endpoint that the sharing one of two calls does not name is the other side of both: they name the
    /// near end, and the sharing one names the very host of the far end, with a port that a translator changed, or that
    /// who connects from there could not tell (RFC 4145 section 4.1). The other one may name the far end if it has left
    /// for it the one that the sharing call still names.
    fn is_across(&self, [serial, owner]: [Serial; 2], near: &Endpoint, far: &Endpoint) -> bool {
        let named = self.named(near);
        let is_meant = |m: &Mapping| named.len() <= NAMED_MAX || self.is_connected(m, far.address);
        let is_other = || !self.knows(owner, far) || self.has_left([serial, owner], near, far);
        if !self.mapping(serial, near).is_some_and(is_meant) || !self.knows(owner, near) || !is_other() {
            return false;
        }
        let described = |call, host| Some(self.mapping(call, near)?.since_ns.max(self.other_ns(call, near, host)?));
        let Some((shared_ns, owned_ns)) = described(serial, Some(far.address)).zip(described(owner, None)) else {
            return false;
        };
        // A call that begins when the other one is described has ports that are in use again.
        let (earlier_ns, later) = if serial < owner { (shared_ns, owner) } else { (owned_ns, serial) };
        self.began_before(later, earlier_ns)
    }

    /// Whether the owner names what the sharing call has in the place of the far end, on the same host.
    fn has_left(&self, [serial, owner]: [Serial; 2], near: &Endpoint, far: &Endpoint) -> bool {
        let Some(party) = self.mapping(serial, near).map(|m| opposite(m.party)) else { return false };
        let endpoints = self.calls.get(&serial).map_or(&[][..], |call| &call.endpoints);
        let is_place = |e: &&Endpoint| self.mapping(serial, e).is_some_and(|m| m.party == party);
        endpoints.iter().filter(|e| e.address == far.address).filter(is_place).any(|e| self.knows(owner, e))
    }

    /// When the side opposite to an endpoint first named one, or whence it connects; of a host if that is given.
    fn other_ns(&self, serial: Serial, near: &Endpoint, host: Option<Address>) -> Option<i64> {
        let party = opposite(self.mapping(serial, near)?.party);
        let call = self.calls.get(&serial)?;
        let is_there = |address: Address| host.is_none_or(|host| address == host);
        let named = call.endpoints.iter().filter(|e| is_there(e.address)).filter_map(|e| self.mapping(serial, e));
        let named = named.filter(|m| m.party == party).map(|m| m.since_ns);
        let connecting = call.hosts.iter().filter(|h| h.party == party && is_there(h.host)).map(|h| h.since_ns);
        named.chain(connecting).min()
    }

    /// Other calls that have a part in what goes between these endpoints, and who of them sends.
    pub fn others(&self, serial: Serial, from: &Endpoint, to: &Endpoint) -> SmallVec<[(Serial, Direction); 2]> {
        let (senders, receivers) = (self.named(from), self.named(to));
        let mut others = SmallVec::new();
        // Nearly always one call alone names an endpoint.
        let is_alone = |all: &[Mapping]| all.iter().all(|m| m.serial == serial);
        if is_alone(senders) && is_alone(receivers) {
            return others;
        }
        for m in receivers.iter().chain(senders).filter(|m| m.serial != serial) {
            if !others.iter().any(|(known, _)| *known == m.serial)
                && let Some(sender) = self.shares(m.serial, serial, from, to)
            {
                others.push((m.serial, sender));
            }
        }
        others
    }

    /// Streams of other calls in which this one has a part, and who of this one sends them; `key` gives from where to
    /// where a stream goes.
    pub fn shared_by(
        &self,
        serial: Serial,
        key: impl Fn(u32) -> Option<(Endpoint, Endpoint)>,
    ) -> SmallVec<[(u32, Direction); 2]> {
        let mut shared = SmallVec::new();
        let Some(call) = self.calls.get(&serial) else { return shared };
        for endpoint in &call.endpoints {
            let mappings = self.named(endpoint);
            // Nearly always one call alone names an endpoint.
            if mappings.len() < 2 || !mappings.iter().any(|m| m.serial == serial) {
                continue;
            }
            let others = mappings.iter().filter(|m| m.serial != serial);
            let streams = others.filter_map(|m| Some((m.serial, &self.calls.get(&m.serial)?.streams)));
            for (other, at) in streams.flat_map(|(other, streams)| streams.iter().map(move |at| (other, at))) {
                let Some((from, to)) = key(*at).filter(|(from, to)| from == endpoint || to == endpoint) else {
                    continue;
                };
                if let Some(sender) = self.shares(serial, other, &from, &to)
                    && !shared.iter().any(|(known, _)| known == at)
                {
                    shared.push((*at, sender));
                }
            }
        }
        shared
    }

    /// Pairs of endpoints that a call names, one of each party.
    pub fn pairs(&self, serial: Serial) -> impl Iterator<Item = [Endpoint; 2]> {
        let endpoints = self.calls.get(&serial).map_or(&[][..], |call| &call.endpoints);
        endpoints.iter().flat_map(move |from| endpoints.iter().map(move |to| [*from, *to]))
    }
}
