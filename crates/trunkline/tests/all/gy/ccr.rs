//! The octets of a request, and what an answer says.

use trunkline_wire::diameter::base::CapabilitiesExchangeRequest;
use trunkline_wire::diameter::credit::{
    CreditControlAnswer, CreditControlRequest, MultipleServices, PsInformation, RequestedServiceUnit,
    ServiceInformation, SubscriptionId, UsedServiceUnit,
};
use trunkline_wire::diameter::enumerated::{RequestType, SubscriptionIdType};
use trunkline_wire::diameter::{Header, HostAddress, List, Message, application, command, flag};

/// A request of a session with one rating group.
#[derive(Clone, Copy, Debug)]
pub struct Ccr<'a> {
    pub session: &'a str,
    pub host: &'a str,
    pub imsi: &'a str,
    pub number: u32,
    pub kind: RequestType,
    pub used: u64,
}

impl Ccr<'_> {
    pub fn octets(&self, identifier: u32) -> Vec<u8> {
        let begins = self.kind == RequestType::Initial;
        let used = [UsedServiceUnit { total_octets: Some(self.used), ..UsedServiceUnit::default() }];
        let services = [MultipleServices {
            rating_group: Some(1),
            requested: (self.kind != RequestType::Termination).then(RequestedServiceUnit::default),
            used: List::Values(if begins { &[] } else { &used }),
            ..MultipleServices::default()
        }];
        let subscriber = [SubscriptionId { kind: SubscriptionIdType::Imsi, name: self.imsi }];
        let ps = PsInformation { called_station_id: Some("internet"), ..PsInformation::default() };
        let ccr = CreditControlRequest {
            session_id: self.session,
            origin_host: self.host,
            origin_realm: "example",
            destination_realm: "example",
            auth_application_id: application::CREDIT_CONTROL,
            service_context_id: "32251@3gpp.org",
            request_type: self.kind,
            request_number: self.number,
            subscription_ids: List::Values(&subscriber),
            services: List::Values(&services),
            service_information: Some(ServiceInformation { ps: Some(ps), ..ServiceInformation::default() }),
            ..CreditControlRequest::default()
        };
        let header = Header::request(command::CREDIT_CONTROL, application::CREDIT_CONTROL);
        let mut out = Vec::new();
        ccr.write(&Header { hop_by_hop: identifier, end_to_end: identifier, ..header }, &mut out).expect("it fits");
        out
    }
}

/// A CER of a host.
pub fn cer(host: &str) -> Vec<u8> {
    let addresses = [HostAddress::Ip("127.0.0.1".parse().expect("an address"))];
    let cer = CapabilitiesExchangeRequest {
        origin_host: host,
        origin_realm: "example",
        host_ip_addresses: List::Values(&addresses),
        product_name: "test",
        auth_application_ids: List::Values(&[application::CREDIT_CONTROL]),
        ..CapabilitiesExchangeRequest::default()
    };
    let mut out = Vec::new();
    cer.write(&Header::request(command::CAPABILITIES_EXCHANGE, application::BASE), &mut out).expect("it fits");
    out
}

/// The same request, said to be a copy that goes another way.
pub fn copy(request: &[u8], hop_by_hop: u32) -> Vec<u8> {
    let mut octets = request.to_vec();
    octets[4] |= flag::RETRANSMITTED;
    octets[12..16].copy_from_slice(&hop_by_hop.to_be_bytes());
    octets
}

/// End-to-End Identifier, and the octets without what belongs to the way.
pub fn essence(answer: &[u8]) -> (u32, Vec<u8>) {
    let mut octets = answer.to_vec();
    octets[12..16].fill(0);
    (Message::new(answer).expect("a message").header.end_to_end, octets)
}

/// Result and octets granted.
pub fn said(answer: &[u8]) -> (u32, u64) {
    let message = Message::new(answer).expect("a message");
    let cca = CreditControlAnswer::read_avps(message.avps()).expect("a CCA");
    let granted = cca.services.iter().next().and_then(|service| service.granted?.total_octets);
    (cca.result_code.expect("a result"), granted.unwrap_or(0))
}
