//! What peers say to each other besides credit control: capabilities, watchdog, disconnecting, and the answers to what
//! a server asks within a session (RFC 6733 sections 5 and 8).

use super::kind::result_name;
use std::net::IpAddr;
use trunkline_wire::diameter::base::{
    AbortSessionAnswer, CapabilitiesExchangeAnswer, CapabilitiesExchangeRequest, DeviceWatchdogAnswer,
    DisconnectPeerAnswer, DisconnectPeerRequest, ReAuthAnswer,
};
use trunkline_wire::diameter::dictionary::TGPP;
use trunkline_wire::diameter::enumerated::DisconnectCause;
use trunkline_wire::diameter::{Header, HostAddress, List, Message, application, command, result_code};

/// Octets of an Origin-Host or a realm: whatever is written with them fits into a message.
pub const NAME_OCTETS_MAX: usize = 200;

/// Who a client is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its Origin-Host.
    pub host: String,
    /// Its Origin-Realm.
    pub realm: String,
    /// Its Origin-State-Id: seconds of its start.
    pub state: u32,
    /// It brings requests of other clients, as an agent does, and offers the Relay application (RFC 6733 section 2.4).
    pub relays: bool,
}

impl Identity {
    /// Capabilities-Exchange-Request from this address: credit control, and 3GPP's AVPs.
    pub fn ask_capabilities(&self, address: IpAddr, hop_by_hop: u32, out: &mut Vec<u8>) {
        let applications = [application::CREDIT_CONTROL, application::RELAY];
        let offered = if self.relays { &applications[..] } else { &applications[..1] };
        let request = CapabilitiesExchangeRequest {
            origin_host: &self.host,
            origin_realm: &self.realm,
            host_ip_addresses: List::Values(&[HostAddress::Ip(address)]),
            product_name: "trunkline",
            origin_state_id: Some(self.state),
            supported_vendor_ids: List::Values(&[TGPP]),
            auth_application_ids: List::Values(offered),
            ..CapabilitiesExchangeRequest::default()
        };
        fits(request.write(&of_peers(command::CAPABILITIES_EXCHANGE, hop_by_hop), out));
    }

    /// Disconnect-Peer-Request: the run is over.
    pub fn ask_disconnect(&self, hop_by_hop: u32, out: &mut Vec<u8>) {
        let request = DisconnectPeerRequest {
            origin_host: &self.host,
            origin_realm: &self.realm,
            disconnect_cause: DisconnectCause::DoNotWantToTalkToYou,
        };
        fits(request.write(&of_peers(command::DISCONNECT_PEER, hop_by_hop), out));
    }

    /// Device-Watchdog-Answer.
    pub fn answer_watchdog(&self, request: &Header, out: &mut Vec<u8>) {
        let answer = DeviceWatchdogAnswer {
            result_code: result_code::SUCCESS,
            origin_host: &self.host,
            origin_realm: &self.realm,
            origin_state_id: Some(self.state),
            ..DeviceWatchdogAnswer::default()
        };
        fits(answer.write(&request.answer(), out));
    }

    /// Disconnect-Peer-Answer.
    pub fn answer_disconnect(&self, request: &Header, out: &mut Vec<u8>) {
        let answer = DisconnectPeerAnswer {
            result_code: result_code::SUCCESS,
            origin_host: &self.host,
            origin_realm: &self.realm,
            ..DisconnectPeerAnswer::default()
        };
        fits(answer.write(&request.answer(), out));
    }

    /// Re-Auth-Answer: 2002 says that a CCR follows (RFC 8506 section 5.5).
    pub fn answer_re_auth(&self, request: &Header, session_id: &str, result: u32, out: &mut Vec<u8>) {
        let answer = ReAuthAnswer {
            session_id,
            result_code: Some(result),
            origin_host: &self.host,
            origin_realm: &self.realm,
            ..ReAuthAnswer::default()
        };
        fits(answer.write(&request.answer(), out));
    }

    /// Abort-Session-Answer.
    pub fn answer_abort(&self, request: &Header, session_id: &str, result: u32, out: &mut Vec<u8>) {
        let answer = AbortSessionAnswer {
            session_id,
            result_code: Some(result),
            origin_host: &self.host,
            origin_realm: &self.realm,
            ..AbortSessionAnswer::default()
        };
        fits(answer.write(&request.answer(), out));
    }
}

fn of_peers(command: u32, hop_by_hop: u32) -> Header {
    Header { hop_by_hop, end_to_end: hop_by_hop, ..Header::request(command, application::BASE) }
}

/// A message of names below [`NAME_OCTETS_MAX`] has far less than 16 MiB.
fn fits(written: Result<(), trunkline_wire::diameter::TooLong>) {
    debug_assert!(written.is_ok(), "{written:?}");
}

/// Who answers an exchange of capabilities: its Origin-Host and its Origin-Realm.
///
/// # Errors
/// It refuses, or it is no such answer; told for a person.
pub fn capabilities(message: &Message<'_>) -> Result<(String, String), String> {
    if message.header.command != command::CAPABILITIES_EXCHANGE || message.header.is_request() {
        return Err("it does not answer the exchange of capabilities".to_owned());
    }
    let answer = CapabilitiesExchangeAnswer::read(message);
    let answer = answer.map_err(|failure| format!("its Capabilities-Exchange-Answer: {failure}"))?;
    match answer.result_code {
        result_code::SUCCESS => Ok((answer.origin_host.to_owned(), answer.origin_realm.to_owned())),
        code => Err(format!("it refuses the exchange of capabilities: {code} {}", result_name(code))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_wire::diameter::Frames;

    fn me() -> Identity {
        Identity { host: "load-0.load.example".to_owned(), realm: "load.example".to_owned(), state: 7, relays: false }
    }

    fn header_of(octets: &[u8]) -> Header {
        let whole = Frames::new(octets, 1 << 20).next_message().unwrap().unwrap();
        assert_eq!(whole.len(), octets.len());
        Message::new(whole).unwrap().header
    }

    #[test]
    fn capabilities_are_asked_and_read() {
        let mut out = Vec::new();
        me().ask_capabilities([127, 0, 0, 1].into(), 5, &mut out);
        let message = Message::new(&out).unwrap();
        let request = CapabilitiesExchangeRequest::read(&message).unwrap();
        assert!(request.offers(application::CREDIT_CONTROL) && message.header.hop_by_hop == 5);
        assert!(!request.offers(application::RELAY));
        let mut relays = Vec::new();
        let agent = Identity { relays: true, ..me() };
        agent.ask_capabilities([127, 0, 0, 1].into(), 5, &mut relays);
        let asked = Message::new(&relays).unwrap();
        assert!(CapabilitiesExchangeRequest::read(&asked).unwrap().offers(application::RELAY));
        assert_eq!((request.origin_host, request.origin_state_id), ("load-0.load.example", Some(7)));
        assert!(capabilities(&message).unwrap_err().contains("does not answer"));

        for (result, told) in [(2001, Ok(("ocs", "example"))), (5010, Err("NO_COMMON_APPLICATION"))] {
            let mut out = Vec::new();
            let answer = CapabilitiesExchangeAnswer {
                result_code: result,
                origin_host: "ocs",
                origin_realm: "example",
                host_ip_addresses: List::Values(&[HostAddress::default()]),
                product_name: "x",
                ..CapabilitiesExchangeAnswer::default()
            };
            answer.write(&message.header.answer(), &mut out).unwrap();
            match (capabilities(&Message::new(&out).unwrap()), told) {
                (Ok((host, realm)), Ok(want)) => assert_eq!((host.as_str(), realm.as_str()), want),
                (Err(why), Err(want)) => assert!(why.contains(want), "{why}"),
                (got, want) => panic!("{got:?}, not {want:?}"),
            }
        }
    }

    #[test]
    fn answers_repeat_the_identifiers() {
        let asked = Header { hop_by_hop: 8, end_to_end: 9, ..Header::request(command::RE_AUTH, 4) };
        let (me, mut out) = (me(), Vec::new());
        me.answer_re_auth(&asked, "s;1;2", 2002, &mut out);
        let answer = ReAuthAnswer::read(&Message::new(&out).unwrap()).unwrap();
        assert_eq!((header_of(&out), answer.session_id, answer.result_code), (asked.answer(), "s;1;2", Some(2002)));
        let kinds: [fn(&Identity, &Header, &mut Vec<u8>); 3] =
            [Identity::answer_watchdog, Identity::answer_disconnect, |me, asked, out| {
                me.answer_abort(asked, "s;1;2", 5002, out)
            }];
        for answer in kinds {
            out.clear();
            answer(&me, &asked, &mut out);
            assert_eq!(header_of(&out), asked.answer());
        }
        out.clear();
        me.ask_disconnect(3, &mut out);
        assert!(header_of(&out).is_request());
    }
}
