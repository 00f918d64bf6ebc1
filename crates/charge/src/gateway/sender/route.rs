//! Which gateway gets what.

use super::{Change, Entry, Phase, Sender, Wish};
use trunkline_wire::{Address, Endpoint};

impl Sender {
    /// The gateway for new packets: the one that a redirection named, else the first that answers; if none does, the
    /// first, where they wait.
    pub(super) fn of_choice(&self) -> Option<Address> {
        let first = self.paths.iter().find(|path| path.chosen).map(|path| path.endpoint.address);
        self.answering().or(first)
    }

    fn answering(&self) -> Option<Address> {
        let mut up = self.paths.iter().filter(|path| path.chosen && path.up).map(|path| path.endpoint.address);
        self.preferred.filter(|gateway| up.clone().any(|address| address == *gateway)).or_else(|| up.next())
    }

    pub(super) fn is_up(&self, gateway: Address) -> bool {
        self.paths.iter().any(|path| path.endpoint.address == gateway && path.up)
    }

    /// The path to whoever speaks: a gateway may answer from any of its ports.
    pub(super) fn path_of(&self, from: Endpoint) -> Option<usize> {
        self.paths.iter().position(|path| path.endpoint.address == from.address)
    }

    /// What a packet wants, and of whom.
    pub(super) fn wish(&self, packet: u64) -> Option<(Address, Wish)> {
        let kept = self.state.packet(packet).filter(|kept| kept.refused.is_none())?;
        Some(match kept.phase {
            Phase::Sending(place) => (place.gateway, Wish::Store(place)),
            Phase::Copying { origin, copy } if !self.is_up(copy.gateway) && self.is_up(origin.gateway) => {
                (origin.gateway, Wish::Store(origin))
            }
            Phase::Copying { copy, .. } => (copy.gateway, Wish::Hold(copy)),
            Phase::Copied { origin, .. } => (origin.gateway, Wish::Test(origin)),
            Phase::Settling { copy, settlement, release: true } => {
                (copy.gateway, Wish::Release(settlement, copy.number()))
            }
            Phase::Settling { copy, settlement, .. } => (copy.gateway, Wish::Cancel(settlement, copy.number())),
        })
    }

    /// A packet wants something else than before, or nothing more.
    pub(super) fn send_on(&mut self, packet: u64) {
        self.paths.iter_mut().for_each(|path| path.land(packet));
        let Some((gateway, _)) = self.wish(packet) else {
            self.unsent.remove(&packet);
            return;
        };
        if let Some(path) = self.paths.iter_mut().find(|path| path.endpoint.address == gateway) {
            path.ready.push_back(packet);
        }
    }

    /// A gateway came or went: packets that are on their way to one that is silent go to one that answers.
    pub(super) fn reroute(&mut self, entries: &mut Vec<Entry>) {
        for packet in self.state.ids() {
            let kept = self.state.packet(packet).filter(|kept| kept.refused.is_none());
            let Some(Phase::Sending(origin)) = kept.map(|kept| kept.phase) else { continue };
            if self.is_up(origin.gateway) {
                continue;
            }
            let Some(gateway) = self.answering() else { break };
            let doubtful = !self.unsent.contains(&packet);
            self.counts.doubtful += u64::from(doubtful);
            let serial = self.state.place(gateway).serial;
            entries.push(self.write(Change::Moved { packet, gateway, serial, doubtful }));
        }
        self.gather();
    }

    /// Sorts all packets to their gateways anew, the oldest first.
    pub(super) fn gather(&mut self) {
        let packets = self.state.ids();
        for at in 0..self.paths.len() {
            let gateway = self.paths[at].endpoint.address;
            let goes = |packet| self.wish(packet).is_some_and(|(to, _)| to == gateway);
            let mut path = self.paths[at].clone();
            path.keep(goes);
            path.ready = packets.iter().copied().filter(|packet| goes(*packet) && !path.flies(*packet)).collect();
            self.paths[at] = path;
        }
    }
}
