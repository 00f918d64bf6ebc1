//! Capabilities exchange (RFC 6733 section 5.3): who is there, and whether both speak credit control.

use super::{Down, Peer, Phase, Taken};
use core::net::IpAddr;
use core::time::Duration;
use trunkline_wire::diameter::base::{CapabilitiesExchangeAnswer, CapabilitiesExchangeRequest};
use trunkline_wire::diameter::dictionary::TGPP;
use trunkline_wire::diameter::dictionary::avp::RESULT_CODE;
use trunkline_wire::diameter::{
    Failure, Header, HostAddress, List, Message, TooLong, Writer, application, command, flag, result_code,
};

/// Octets of a host or a realm that is taken.
pub const NAME_OCTETS_MAX: usize = 256;

/// Who we are, and with whom we speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// Origin-Host.
    pub host: String,
    /// Origin-Realm.
    pub realm: String,
    /// Realms that are served besides it.
    pub realms: Vec<String>,
    /// Host-IP-Address, one at least.
    pub addresses: Vec<IpAddr>,
    /// Origin-State-Id: grows with each start.
    pub state_id: u32,
    /// Origin-Hosts that may connect; none at all is everyone.
    pub peers: Vec<String>,
    /// Tw of the watchdog (RFC 3539 section 3.4.1).
    pub watchdog: Duration,
}

/// Product-Name of the CEA.
const PRODUCT: &str = "Trunkline";

impl Local {
    /// Whether a realm is one of ours; names of hosts and realms know no capitals (RFC 6733 section 4.3.1).
    pub fn serves(&self, realm: &str) -> bool {
        self.realm.eq_ignore_ascii_case(realm) || self.realms.iter().any(|other| other.eq_ignore_ascii_case(realm))
    }

    fn knows(&self, host: &str) -> bool {
        self.peers.is_empty() || self.peers.iter().any(|peer| peer.eq_ignore_ascii_case(host))
    }
}

impl Peer {
    /// Answers a CER; the result. A peer that is open keeps its name.
    pub(super) fn exchange(&mut self, local: &Local, message: &Message<'_>, out: &mut Vec<u8>) -> u32 {
        let read = CapabilitiesExchangeRequest::read(message);
        let result = match &read {
            Err(failure) => failure.result,
            Ok(cer) if self.is_open() && *cer.origin_host != *self.host => result_code::UNKNOWN_PEER,
            Ok(cer) => judge(local, cer),
        };
        // Host, realm and addresses of the configuration, and one failure, fit into a message.
        let _fits = answer(local, message, result, read.as_ref().err(), out);
        if let Some(cer) = read.ok().filter(|_| result == result_code::SUCCESS && self.phase == Phase::New) {
            (self.host, self.realm, self.phase) = (cer.origin_host.into(), cer.origin_realm.into(), Phase::Open);
            self.relays = cer.offers(application::RELAY);
        }
        result
    }
}

impl Peer {
    /// Says who we are to a peer that was dialled, and that is to be `host`.
    pub fn call(&mut self, local: &Local, host: &str, out: &mut Vec<u8>) {
        (self.phase, self.meant) = (Phase::Called, host.into());
        let addresses: Vec<HostAddress<'_>> = local.addresses.iter().map(|ip| HostAddress::Ip(*ip)).collect();
        let hop_by_hop = self.hop_by_hop();
        let header = Header::request(command::CAPABILITIES_EXCHANGE, application::BASE);
        let header = Header { hop_by_hop, end_to_end: hop_by_hop, ..header };
        let cer = CapabilitiesExchangeRequest {
            origin_host: &local.host,
            origin_realm: &local.realm,
            host_ip_addresses: List::Values(&addresses),
            vendor_id: 0,
            product_name: PRODUCT,
            origin_state_id: Some(local.state_id),
            supported_vendor_ids: List::Values(&[TGPP]),
            auth_application_ids: List::Values(&[application::CREDIT_CONTROL]),
            ..CapabilitiesExchangeRequest::default()
        };
        // As of the answer.
        let _fits = cer.write(&header, out);
    }

    /// The answer to our CER: who is there is who was meant, takes us, and speaks credit control or relays it.
    pub(super) fn answered<'a>(&mut self, message: &Message<'_>) -> Taken<'a> {
        match self.is_taken(message) {
            Ok((host, realm, relays)) => {
                (self.host, self.realm, self.phase, self.relays) = (host, realm, Phase::Open, relays);
                Taken::Opened
            }
            Err(why) => {
                self.down = Some(why);
                Taken::Close(0)
            }
        }
    }

    fn is_taken(&self, message: &Message<'_>) -> Result<(Box<str>, Box<str>, bool), Down> {
        let header = message.header;
        if header.is_request() || header.command != command::CAPABILITIES_EXCHANGE {
            return Err(Down::NoAnswer);
        }
        let result = message.avps().find(RESULT_CODE).and_then(|avp| avp.unsigned32().ok()).ok_or(Down::NoAnswer)?;
        if result != result_code::SUCCESS || header.hop_by_hop != self.next_hop_by_hop {
            return Err(if result == result_code::SUCCESS { Down::NoAnswer } else { Down::Refused(result) });
        }
        let cea = CapabilitiesExchangeAnswer::read(message).map_err(|_| Down::NoAnswer)?;
        if !cea.origin_host.eq_ignore_ascii_case(&self.meant) || cea.origin_realm.len() > NAME_OCTETS_MAX {
            return Err(Down::Another);
        }
        match cea.offers(application::CREDIT_CONTROL) {
            true => Ok((cea.origin_host.into(), cea.origin_realm.into(), cea.offers(application::RELAY))),
            false => Err(Down::NoCommonApplication),
        }
    }

    /// Refuses a peer after all, whose CER `octets` are: in place of the answer that [`Peer::take`] gave.
    pub fn refuse(&mut self, local: &Local, octets: &[u8], result: u32, out: &mut Vec<u8>) {
        self.phase = Phase::Closing;
        if let Ok(message) = Message::new(octets) {
            // As of the answer.
            let _fits = answer(local, &message, result, None, out);
        }
    }
}

fn judge(local: &Local, cer: &CapabilitiesExchangeRequest<'_>) -> u32 {
    let named = |name: &str| !name.is_empty() && name.len() <= NAME_OCTETS_MAX;
    if !named(cer.origin_host) || !named(cer.origin_realm) {
        result_code::INVALID_AVP_VALUE
    } else if !local.knows(cer.origin_host) || cer.origin_host.eq_ignore_ascii_case(&local.host) {
        result_code::UNKNOWN_PEER
    } else if !cer.offers(application::CREDIT_CONTROL) {
        result_code::NO_COMMON_APPLICATION
    } else if !cer.inband_security_ids.is_empty() && !cer.inband_security_ids.iter().any(|id| id == 0) {
        // TLS begins before the first message or not at all (RFC 6733 section 13.1).
        result_code::NO_COMMON_SECURITY
    } else {
        result_code::SUCCESS
    }
}

fn answer(
    local: &Local,
    message: &Message<'_>,
    result: u32,
    failure: Option<&Failure<'_>>,
    out: &mut Vec<u8>,
) -> Result<(), TooLong> {
    let addresses: Vec<HostAddress<'_>> = local.addresses.iter().map(|ip| HostAddress::Ip(*ip)).collect();
    let mut header = message.header.answer();
    if result_code::is_protocol_error(result) {
        header.flags |= flag::ERROR;
    }
    let cea = CapabilitiesExchangeAnswer {
        result_code: result,
        origin_host: &local.host,
        origin_realm: &local.realm,
        host_ip_addresses: List::Values(&addresses),
        vendor_id: 0,
        product_name: PRODUCT,
        origin_state_id: Some(local.state_id),
        supported_vendor_ids: List::Values(&[TGPP]),
        auth_application_ids: List::Values(&[application::CREDIT_CONTROL]),
        ..CapabilitiesExchangeAnswer::default()
    };
    let mut writer = Writer::new(out, &header);
    cea.write_avps(&mut writer);
    if let Some(failure) = failure {
        failure.write(&mut writer);
    }
    writer.finish()
}
