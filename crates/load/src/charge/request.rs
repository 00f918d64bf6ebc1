//! Requests of credit control as a gateway of packet data sends them (RFC 8506 section 3.1, TS 32.299 clause 6.4.2).

use super::answer::Unit;
use super::kind::Kind;
use super::peer::Identity;
use super::plan::Plan;
use super::sessions::Grant;
use trunkline_wire::diameter::dictionary::avp::*;
use trunkline_wire::diameter::enumerated::{MultipleServicesIndicator, ReportingReason, RequestedAction};
use trunkline_wire::diameter::{Header, Time, Writer, application, command, flag};

/// Termination-Cause DIAMETER_LOGOUT (RFC 6733 section 8.15).
const LOGOUT: u32 = 1;
/// 3GPP-RAT-Type of E-UTRAN (TS 29.061 clause 16.4.7.2).
const E_UTRAN: u8 = 6;
/// Octets of a header before its Hop-by-Hop Identifier.
const HOP_BY_HOP_AT: usize = 12;
/// Octets of a header before its flags.
const FLAGS_AT: usize = 4;

/// What a rating group reports, and whether it wants more.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// The rating group.
    pub group: u32,
    /// What was used; none before the first grant.
    pub used: Option<(Grant, ReportingReason)>,
    /// Whether it wants units.
    pub wants: bool,
}

/// A request.
#[derive(Debug)]
pub struct Ask<'a> {
    /// What all requests share.
    pub plan: &'a Plan,
    /// Who asks.
    pub me: &'a Identity,
    /// Destination-Realm.
    pub realm: &'a str,
    /// Session-Id.
    pub session_id: &'a str,
    /// What it is about.
    pub kind: Kind,
    /// CC-Request-Number.
    pub number: u32,
    /// Subscription-Id-Data.
    pub subscriber: &'a str,
    /// Seconds since 1970.
    pub unix_seconds: i64,
    /// The bearer's 3GPP-Charging-Id.
    pub charging_id: u32,
    /// Its rating groups.
    pub services: &'a [Service],
}

impl Ask<'_> {
    /// Appends it as a message.
    pub fn write(&self, hop_by_hop: u32, end_to_end: u32, out: &mut Vec<u8>) {
        let header =
            Header { hop_by_hop, end_to_end, ..Header::request(command::CREDIT_CONTROL, application::CREDIT_CONTROL) };
        let mut writer = Writer::new(out, &header);
        let w = &mut writer;
        w.text(SESSION_ID, self.session_id);
        w.text(ORIGIN_HOST, &self.me.host);
        w.text(ORIGIN_REALM, &self.me.realm);
        w.text(DESTINATION_REALM, self.realm);
        w.unsigned32(AUTH_APPLICATION_ID, application::CREDIT_CONTROL);
        w.text(SERVICE_CONTEXT_ID, &self.plan.context);
        w.unsigned32(CC_REQUEST_TYPE, self.kind.place() as u32 + 1);
        w.unsigned32(CC_REQUEST_NUMBER, self.number);
        w.unsigned32(ORIGIN_STATE_ID, self.me.state);
        if let Some(time) = Time::from_unix(self.unix_seconds) {
            w.time(EVENT_TIMESTAMP, time);
        }
        self.subscription(w);
        match self.kind {
            Kind::Termination => w.unsigned32(TERMINATION_CAUSE, LOGOUT),
            Kind::Event => w.unsigned32(REQUESTED_ACTION, RequestedAction::DirectDebiting as u32),
            Kind::Initial | Kind::Update | Kind::Profile => {}
        }
        w.unsigned32(MULTIPLE_SERVICES_INDICATOR, MultipleServicesIndicator::Supported as u32);
        self.services.iter().for_each(|service| self.service(service, w));
        self.information(w);
        let written = writer.finish();
        debug_assert!(written.is_ok(), "names and groups are bounded: {written:?}");
    }

    fn subscription(&self, writer: &mut Writer<'_>) {
        let group = writer.open(SUBSCRIPTION_ID);
        writer.unsigned32(SUBSCRIPTION_ID_TYPE, self.plan.subscription as u32);
        writer.text(SUBSCRIPTION_ID_DATA, self.subscriber);
        writer.close(group);
    }

    fn service(&self, service: &Service, writer: &mut Writer<'_>) {
        let whole = writer.open(MULTIPLE_SERVICES_CREDIT_CONTROL);
        if service.wants {
            let group = writer.open(REQUESTED_SERVICE_UNIT);
            match (self.kind, self.plan.requested) {
                (Kind::Event, _) => writer.unsigned64(CC_SERVICE_SPECIFIC_UNITS, 1),
                (_, Some(octets)) => writer.unsigned64(CC_TOTAL_OCTETS, octets),
                (_, None) => {}
            }
            writer.close(group);
        }
        if let Some((used, _)) = service.used {
            let group = writer.open(USED_SERVICE_UNIT);
            match used.unit {
                Unit::Octets => writer.unsigned64(CC_TOTAL_OCTETS, used.units),
                Unit::Seconds => writer.unsigned32(CC_TIME, u32::try_from(used.units).unwrap_or(u32::MAX)),
                Unit::Service => writer.unsigned64(CC_SERVICE_SPECIFIC_UNITS, used.units),
            }
            writer.close(group);
        }
        writer.unsigned32(RATING_GROUP, service.group);
        if let Some((_, reason)) = service.used {
            writer.unsigned32(REPORTING_REASON, reason as u32);
        }
        writer.close(whole);
    }

    fn information(&self, writer: &mut Writer<'_>) {
        let service = writer.open(SERVICE_INFORMATION);
        let ps = writer.open(PS_INFORMATION);
        writer.octets(TGPP_CHARGING_ID, &self.charging_id.to_be_bytes());
        if let Some(network) = &self.plan.network {
            writer.text(TGPP_SGSN_MCC_MNC, network);
        }
        writer.text(CALLED_STATION_ID, &self.plan.apn);
        writer.octets(TGPP_RAT_TYPE, &[E_UTRAN]);
        writer.close(ps);
        writer.close(service);
    }
}

/// Appends a request once more: with the T bit, and another Hop-by-Hop Identifier.
pub fn write_again(request: &[u8], hop_by_hop: u32, out: &mut Vec<u8>) {
    let at = out.len();
    out.extend_from_slice(request);
    if let Some(flags) = out.get_mut(at + FLAGS_AT) {
        *flags |= flag::RETRANSMITTED;
    }
    if let Some(number) = out.get_mut(at + HOP_BY_HOP_AT..at + HOP_BY_HOP_AT + 4) {
        number.copy_from_slice(&hop_by_hop.to_be_bytes());
    }
}
