//! A record as the standard has it: PGWRecord (3GPP TS 32.298 clause 5.2.2.2) with a container for each service.

use super::facts::Facts;
use super::fold::Usage;
use super::record::{Cdr, Kind};
use crate::calendar::Moment;
use crate::money::Money;
use core::net::{IpAddr, Ipv4Addr};
use trunkline_wire::cdr::file::{Edition, RecordHeader, encoding, specification};
use trunkline_wire::cdr::{Digits, List, PgwRecord, RecordTime, ServiceUsage, closing, service_condition};

/// Characters of NodeID (TS 32.298 clause 5.1.1: NodeID is an IA5String of 1 to 20).
pub const NODE_CHARACTERS_MAX: usize = 20;
/// The edition that records follow: TS 32.298 version 15.
pub const EDITION: Edition = Edition { release: 15, version: 5 };
/// E-UTRAN (TS 29.061 clause 16.4.7.2).
const EUTRAN: u32 = 6;

/// Who makes records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// NodeID: 1 to [`NODE_CHARACTERS_MAX`] letters, digits, `.`, `-` and `_`.
    id: String,
    /// What a record says where the gateway did not tell its address, and what files say of who wrote them.
    pub address: IpAddr,
}

impl Node {
    /// Of a name: what NodeID cannot hold is left out.
    pub fn new(name: &str, address: IpAddr) -> Node {
        let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let id: String = name.chars().filter(fits).take(NODE_CHARACTERS_MAX).collect();
        Node { id: if id.is_empty() { "trunkline".to_owned() } else { id }, address }
    }

    /// NodeID.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// What stands before each record in a file.
pub fn header() -> RecordHeader {
    RecordHeader { edition: EDITION, encoding: encoding::BER, specification: specification::PACKET_SWITCHED }
}

/// Appends a record; `duplicate` where another node may have told it already.
pub fn write(cdr: &Cdr, node: &Node, duplicate: bool, out: &mut Vec<u8>) {
    let facts = Facts::read(&cdr.opening.facts);
    let mut nodes: Vec<IpAddr> = facts.serving_nodes().collect();
    let mut types: Vec<u8> = facts.ps.serving_node_types.iter().filter_map(|kind| u8::try_from(kind).ok()).collect();
    if nodes.is_empty() {
        nodes.push(Ipv4Addr::UNSPECIFIED.into());
    }
    // One for each address (TS 32.298 clause 5.1.2.2.62): S-GW where the access is E-UTRAN, else SGSN.
    let kind = if cdr.opening.place.rat == Some(EUTRAN) { 2 } else { 0 };
    types.resize(nodes.len(), kind);
    let usage: Vec<ServiceUsage<'_>> =
        cdr.services.iter().zip(1..).map(|(usage, number)| container(cdr, usage, number)).collect();
    let last = cdr.sequence.is_none() || is_end(cdr.cause);
    let record = PgwRecord {
        imsi: facts.imsi.and_then(Digits::new),
        gateway: facts.gateway().unwrap_or(node.address),
        charging_id: facts.charging_id().unwrap_or(0),
        serving_nodes: List::Values(&nodes),
        access_point_name: Some(&*cdr.opening.place.apn).filter(|name| fits_ia5(name)),
        pdp_type: facts.ps.pdp_type.and_then(pdp_type),
        subscriber_address: facts.subscriber_address(),
        opened: time(cdr.began),
        duration_s: cdr.duration_s(),
        cause: cdr.cause,
        record_sequence_number: cdr.sequence,
        node_id: Some(&node.id),
        local_sequence_number: Some(cdr.number),
        selection_mode: facts.ps.selection_mode.and_then(|mode| mode.parse().ok()).filter(|mode| *mode < 3),
        msisdn: facts.msisdn.and_then(Digits::new),
        charging_characteristics: characteristics(facts.ps.charging_characteristics),
        serving_plmn: facts.ps.sgsn_mcc_mnc.and_then(plmn),
        rat_type: cdr.opening.place.rat.and_then(|rat| u8::try_from(rat).ok()),
        ms_timezone: facts.ps.ms_timezone.and_then(|octets| octets.try_into().ok()),
        service_usage: List::Values(&usage),
        serving_node_types: List::Values(&types),
        gateway_plmn: facts.ps.ggsn_mcc_mnc.and_then(plmn),
        started: (cdr.kind == Kind::Session).then(|| time(cdr.opening.at)),
        stopped: (cdr.kind == Kind::Session && last).then(|| time(cdr.ended)),
        connection_charging_id: facts.ps.connection_charging_id,
        retransmission: duplicate,
        ..PgwRecord::default()
    };
    record.write(out);
}

/// Whether the session ended with the record.
pub fn is_end(cause: u32) -> bool {
    matches!(cause, closing::NORMAL_RELEASE | closing::ABNORMAL_RELEASE | closing::MANAGEMENT_INTERVENTION)
}

fn container(cdr: &Cdr, usage: &Usage, number: u32) -> ServiceUsage<'static> {
    let used = usage.used;
    let condition = match cdr.cause {
        closing::VOLUME_LIMIT => service_condition::VOLUME_LIMIT,
        closing::TIME_LIMIT => service_condition::TIME_LIMIT,
        cause if is_end(cause) => service_condition::PDP_CONTEXT_RELEASE,
        _ => 0,
    };
    let code = match (usage.rated, usage.short > Money::ZERO) {
        (false, _) => crate::session::code::RATING_FAILED,
        (true, true) => crate::session::code::LIMIT_REACHED,
        (true, false) => crate::session::code::SUCCESS,
    };
    ServiceUsage {
        // Field: it is mandatory, and a client need not name one (RFC 8506 section 8.29).
        rating_group: usage.key.rating_group.unwrap_or(0),
        result_code: Some(code),
        local_sequence_number: Some(number),
        last: Some(time(usage.last)),
        time_s: Some(u32::try_from(used.seconds).unwrap_or(u32::MAX)).filter(|seconds| *seconds > 0),
        conditions: condition | service_condition::RECORD_CLOSURE,
        uplink: Some(used.octets_in.min(used.octets)),
        // Field: what came as a sum alone (CC-Total-Octets) went to the subscriber for the most part.
        downlink: Some(used.octets.saturating_sub(used.octets_in)),
        reported: time(usage.last),
        service_identifier: usage.key.service,
        ..ServiceUsage::default()
    }
}

/// A time of a record; UTC.
pub fn time(at: Moment) -> RecordTime {
    RecordTime::utc(at)
}

fn fits_ia5(name: &str) -> bool {
    // AccessPointNameNI: IA5String of 1 to 63.
    (1..=63).contains(&name.len()) && name.is_ascii()
}

/// 0 IPv4, 2 IPv6, 3 both (TS 29.061 clause 16.4.7.2).
fn pdp_type(number: u32) -> Option<[u8; 2]> {
    Some([0xf1, *[0x21, 0, 0x57, 0x8d].get(number as usize).filter(|octet| **octet > 0)?])
}

/// Four hexadecimal digits; `0800`, normal charging, where nothing is told.
fn characteristics(text: Option<&str>) -> [u8; 2] {
    let told = text.filter(|text| text.len() == 4).and_then(|text| u16::from_str_radix(text, 16).ok());
    told.unwrap_or(0x0800).to_be_bytes()
}

/// Country and network of five or six digits (TS 29.060 clause 7.7.3).
fn plmn(text: &str) -> Option<[u8; 3]> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).map(|c| c - b'0').collect();
    let (&[a, b, c, d, e], rest) = digits.split_first_chunk::<5>()?;
    let third = rest.first().map_or((15, d, e), |f| (*f, d, e));
    // A network code of three digits has its third one in the second octet.
    let (filler, first, second) = third;
    (text.len() == digits.len() && rest.len() < 2).then_some([b << 4 | a, filler << 4 | c, second << 4 | first])
}
