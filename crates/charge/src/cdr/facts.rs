//! What a session's first entry keeps for records: AVPs of the request that began it, as [`crate::gy::ask`] wrote them.

use core::net::IpAddr;
use trunkline_wire::diameter::credit::{PsInformation, SubscriptionId};
use trunkline_wire::diameter::dictionary::avp::{PS_INFORMATION, SUBSCRIPTION_ID};
use trunkline_wire::diameter::enumerated::SubscriptionIdType;
use trunkline_wire::diameter::{Avps, HostAddress, Value};

/// What is known of a session. What cannot be read is not known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts<'a> {
    /// Digits of the IMSI.
    pub imsi: Option<&'a str>,
    /// Digits of the number, international, without `+`.
    pub msisdn: Option<&'a str>,
    /// What the gateway said of the bearer.
    pub ps: PsInformation<'a>,
}

impl<'a> Facts<'a> {
    /// Reads them.
    pub fn read(octets: &'a [u8]) -> Facts<'a> {
        let mut facts = Facts::default();
        for avp in Avps::new(octets).filter_map(Result::ok) {
            if avp.key == SUBSCRIPTION_ID {
                SubscriptionId::read(&avp).into_iter().for_each(|id| facts.name(id));
            } else if avp.key == PS_INFORMATION {
                facts.ps = PsInformation::read(&avp).unwrap_or_default();
            }
        }
        facts
    }

    /// The first name of each kind.
    fn name(&mut self, id: SubscriptionId<'a>) {
        let place = match id.kind {
            SubscriptionIdType::Imsi => &mut self.imsi,
            SubscriptionIdType::E164 => &mut self.msisdn,
            _ => return,
        };
        place.get_or_insert(id.name.trim_start_matches('+'));
    }

    /// The bearer's number at its gateway.
    pub fn charging_id(&self) -> Option<u32> {
        self.ps.charging_id.and_then(|octets| octets.try_into().ok()).map(u32::from_be_bytes)
    }

    /// The gateway's address.
    pub fn gateway(&self) -> Option<IpAddr> {
        addresses(self.ps.ggsn_addresses.iter()).next()
    }

    /// Addresses of the nodes that served.
    pub fn serving_nodes(&self) -> impl Iterator<Item = IpAddr> + 'a {
        addresses(self.ps.sgsn_addresses.iter())
    }

    /// The subscriber's address.
    pub fn subscriber_address(&self) -> Option<IpAddr> {
        addresses(self.ps.pdp_addresses.iter()).next()
    }
}

/// Those of IP.
fn addresses<'a>(all: impl Iterator<Item = HostAddress<'a>>) -> impl Iterator<Item = IpAddr> {
    all.filter_map(|address| match address {
        HostAddress::Ip(ip) => Some(ip),
        HostAddress::Other(..) => None,
    })
}
