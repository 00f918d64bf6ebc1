//! Packets that gateways refused: they are kept until somebody says what is to become of them.

use super::state::State;
use super::{Change, Entry, Phase, SPAN_MAX, Sender};
use trunkline_wire::Address;

/// A packet that a gateway refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The entry that queued it: its name.
    pub packet: u64,
    /// Why it was refused ([`trunkline_wire::gtpp::cause`]).
    pub cause: u8,
    /// Who refused it.
    pub gateway: Address,
    /// Records in it.
    pub records: usize,
    /// Octets of it.
    pub octets: usize,
    /// Another gateway may have its records: they are not sent anew.
    pub is_doubtful: bool,
}

/// Why a packet is not sent anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAgain {
    /// None of this name was refused.
    Unknown,
    /// Another gateway may have its records, and would have them twice.
    Doubtful,
    /// There is no gateway, or no number for it: later there may be.
    Full,
}

impl State {
    /// Packets that gateways refused, the oldest first.
    pub fn refused_packets(&self) -> impl Iterator<Item = Refused> {
        self.packets.iter().filter_map(|(packet, kept)| {
            let (gateway, is_doubtful) = match kept.phase {
                Phase::Sending(place) => (place.gateway, false),
                Phase::Copying { copy, .. } | Phase::Settling { copy, .. } => (copy.gateway, true),
                Phase::Copied { origin, .. } => (origin.gateway, true),
            };
            let records = kept.records.packet().map_or(0, |packet| packet.records().count());
            let octets = kept.records.octets().len();
            Some(Refused { packet: *packet, cause: kept.refused?, gateway, records, octets, is_doubtful })
        })
    }
}

impl Sender {
    /// Sends a packet anew that was refused, to the gateway of choice and as another request. What is to be written.
    ///
    /// # Errors
    /// See [`NotAgain`]: nothing changes.
    pub fn again(&mut self, packet: u64) -> Result<Entry, NotAgain> {
        let kept = self.state.packet(packet).filter(|kept| kept.refused.is_some()).ok_or(NotAgain::Unknown)?;
        let Phase::Sending(_) = kept.phase else { return Err(NotAgain::Doubtful) };
        let place = self.of_choice().map(|gateway| self.state.place(gateway));
        let place = place.filter(|at| self.state.span(*at) < SPAN_MAX).ok_or(NotAgain::Full)?;
        self.counts.anew += 1;
        let (gateway, serial) = (place.gateway, place.serial);
        let entry = self.write(Change::Moved { packet, gateway, serial, doubtful: false });
        // Who refused it has not kept it.
        self.unsent.insert(packet);
        self.send_on(packet);
        Ok(entry)
    }
}
