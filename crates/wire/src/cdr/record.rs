//! The record of a packet gateway: PGWRecord (TS 32.298 clause 5.2.2.2, TS 32.251 clause 6.1.3).

use super::ber::{Backward, BerError, CONTEXT, Element, Elements};
use super::container::{ServiceUsage, TrafficVolume, read_choice, read_time, write_choice};
use super::value::{Digits, List, RecordTime};
use core::net::{IpAddr, Ipv4Addr};

/// Causes for closing a record (TS 32.298 clause 5.1.2.2.7).
pub mod closing {
    #![allow(missing_docs, reason = "the names are those of the specification")]
    pub const NORMAL_RELEASE: u32 = 0;
    pub const ABNORMAL_RELEASE: u32 = 4;
    pub const VOLUME_LIMIT: u32 = 16;
    pub const TIME_LIMIT: u32 = 17;
    pub const SERVING_NODE_CHANGE: u32 = 18;
    pub const MAX_CHANGE_CONDITIONS: u32 = 19;
    pub const MANAGEMENT_INTERVENTION: u32 = 20;
    pub const RAT_CHANGE: u32 = 22;

    /// The name in the specification.
    pub const fn name(cause: u32) -> Option<&'static str> {
        Some(match cause {
            NORMAL_RELEASE => "normalRelease",
            ABNORMAL_RELEASE => "abnormalRelease",
            VOLUME_LIMIT => "volumeLimit",
            TIME_LIMIT => "timeLimit",
            SERVING_NODE_CHANGE => "servingNodeChange",
            MAX_CHANGE_CONDITIONS => "maxChangeCond",
            MANAGEMENT_INTERVENTION => "managementIntervention",
            RAT_CHANGE => "rATChange",
            _ => return None,
        })
    }
}

/// The tag of the record in the choice of all records (TS 32.298 clause 5.2.2.2).
const PGW_RECORD: u8 = 79;
/// Its record type.
const PGW_RECORD_TYPE: u64 = 85;
/// Nature of address: international number, in the numbering plan of E.164 (TS 29.002, AddressString).
const INTERNATIONAL_E164: u8 = 0x91;

/// What a packet gateway writes of a bearer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PgwRecord<'a> {
    /// The subscriber.
    pub imsi: Option<Digits>,
    /// The gateway's address.
    pub gateway: IpAddr,
    /// The bearer's number at the gateway.
    pub charging_id: u32,
    /// The nodes that served the subscriber, in order.
    pub serving_nodes: List<'a, IpAddr>,
    /// The APN without its operator's part.
    pub access_point_name: Option<&'a str>,
    /// Organisation and number of the bearer's protocol: f1 21 IPv4, f1 57 IPv6, f1 8d both (TS 29.060 clause 7.7.27).
    pub pdp_type: Option<[u8; 2]>,
    /// The subscriber's address.
    pub subscriber_address: Option<IpAddr>,
    /// Whether that address is given anew for each bearer.
    pub dynamic_address: bool,
    /// Volumes of the bearer.
    pub traffic_volumes: List<'a, TrafficVolume<'a>>,
    /// When the record was opened.
    pub opened: RecordTime,
    /// Seconds that it covers.
    pub duration_s: u32,
    /// Why it was closed: see [`closing`].
    pub cause: u32,
    /// Which of the bearer's records it is; only where there are several.
    pub record_sequence_number: Option<u32>,
    /// Who made it; with the next one it names the record.
    pub node_id: Option<&'a str>,
    /// Grows by one with each record of the node.
    pub local_sequence_number: Option<u32>,
    /// How the APN was chosen: 0 verified, 1 by the subscriber, 2 by the network.
    pub selection_mode: Option<u8>,
    /// The subscriber's number, international.
    pub msisdn: Option<Digits>,
    /// What is to be charged (TS 32.251 annex A).
    pub charging_characteristics: [u8; 2],
    /// Where those come from: 0 the serving node, 3 home default, 4 roaming default.
    pub characteristics_mode: Option<u8>,
    /// Network of the serving node (TS 29.060 clause 7.7.3).
    pub serving_plmn: Option<[u8; 3]>,
    /// The subscriber's equipment.
    pub imeisv: Option<Digits>,
    /// Radio access; 6 is E-UTRAN (TS 29.061 clause 16.4.7.2).
    pub rat_type: Option<u8>,
    /// The subscriber's time zone and daylight saving (TS 29.060 clause 7.7.52).
    pub ms_timezone: Option<[u8; 2]>,
    /// Where the subscriber was (TS 29.274 clause 8.21).
    pub user_location: Option<&'a [u8]>,
    /// What was used of rating groups.
    pub service_usage: List<'a, ServiceUsage<'a>>,
    /// What the serving nodes are: 0 SGSN, 2 S-GW with GTP, 3 ePDG, 5 MME.
    pub serving_node_types: List<'a, u8>,
    /// Network of the gateway.
    pub gateway_plmn: Option<[u8; 3]>,
    /// When the subscriber's session began.
    pub started: Option<RecordTime>,
    /// When it ended.
    pub stopped: Option<RecordTime>,
    /// The session's number at the gateway.
    pub connection_charging_id: Option<u32>,
    /// Another gateway of charging may have this record already.
    pub retransmission: bool,
}

impl Default for PgwRecord<'_> {
    fn default() -> Self {
        PgwRecord {
            imsi: None,
            gateway: Ipv4Addr::UNSPECIFIED.into(),
            charging_id: 0,
            serving_nodes: List::default(),
            access_point_name: None,
            pdp_type: None,
            subscriber_address: None,
            dynamic_address: false,
            traffic_volumes: List::default(),
            opened: RecordTime::default(),
            duration_s: 0,
            cause: closing::NORMAL_RELEASE,
            record_sequence_number: None,
            node_id: None,
            local_sequence_number: None,
            selection_mode: None,
            msisdn: None,
            charging_characteristics: [0; 2],
            characteristics_mode: None,
            serving_plmn: None,
            imeisv: None,
            rat_type: None,
            ms_timezone: None,
            user_location: None,
            service_usage: List::default(),
            serving_node_types: List::default(),
            gateway_plmn: None,
            started: None,
            stopped: None,
            connection_charging_id: None,
            retransmission: false,
        }
    }
}

impl<'a> PgwRecord<'a> {
    /// Appends it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut backward = Backward::new(out);
        let end = backward.end();
        self.write_session(&mut backward);
        self.write_subscriber(&mut backward);
        self.write_bearer(&mut backward);
        backward.wrap(CONTEXT, PGW_RECORD, end);
        backward.finish();
    }

    /// From the last element down to the list of service data.
    fn write_session(&self, out: &mut Backward<'_>) {
        if self.retransmission {
            out.octets(CONTEXT, 52, &[]);
        }
        number(out, 41, self.connection_charging_id);
        time(out, 39, self.stopped);
        time(out, 38, self.started);
        octets(out, 37, self.gateway_plmn.as_ref());
        self.serving_node_types.write(35, out);
        if !self.service_usage.is_empty() {
            self.service_usage.write(34, out);
        }
    }

    fn write_subscriber(&self, out: &mut Backward<'_>) {
        octets(out, 32, self.user_location);
        octets(out, 31, self.ms_timezone.as_ref());
        number(out, 30, self.rat_type);
        octets(out, 29, self.imeisv.as_ref().map(Digits::octets));
        octets(out, 27, self.serving_plmn.as_ref());
        number(out, 24, self.characteristics_mode);
        out.octets(CONTEXT, 23, &self.charging_characteristics);
        if let Some(digits) = &self.msisdn {
            let mut address = [INTERNATIONAL_E164; 1 + Digits::DIGITS_MAX / 2];
            let count = digits.octets().len();
            address[1..=count].copy_from_slice(digits.octets());
            out.octets(CONTEXT, 22, &address[..=count]);
        }
        number(out, 21, self.selection_mode);
        number(out, 20, self.local_sequence_number);
        octets(out, 18, self.node_id.map(str::as_bytes));
        number(out, 17, self.record_sequence_number);
    }

    fn write_bearer(&self, out: &mut Backward<'_>) {
        number(out, 15, Some(self.cause));
        number(out, 14, Some(self.duration_s));
        time(out, 13, Some(self.opened));
        if !self.traffic_volumes.is_empty() {
            self.traffic_volumes.write(12, out);
        }
        if self.dynamic_address {
            out.boolean(CONTEXT, 11, true);
        }
        if let Some(address) = &self.subscriber_address {
            // Two choices, one in the other: what kind of address, and how it is written.
            let end = out.end();
            write_choice(0, address, out);
            out.wrap(CONTEXT, 9, end);
        }
        octets(out, 8, self.pdp_type.as_ref());
        octets(out, 7, self.access_point_name.map(str::as_bytes));
        self.serving_nodes.write(6, out);
        number(out, 5, Some(self.charging_id));
        write_choice(4, &self.gateway, out);
        octets(out, 3, self.imsi.as_ref().map(Digits::octets));
        out.unsigned(CONTEXT, 0, PGW_RECORD_TYPE);
    }

    /// Reads one record. Elements that are not kept have to be sound as well.
    ///
    /// # Errors
    /// Another kind of record, an element that is missing or wrong, octets behind the record.
    pub fn read(octets: &'a [u8]) -> Result<PgwRecord<'a>, BerError> {
        let mut outer = Elements::new(octets);
        let element = outer.next().ok_or(BerError::Cut)??;
        if (element.class, element.tag, outer.rest().len()) != (CONTEXT, PGW_RECORD, 0) {
            return Err(BerError::Kind);
        }
        let (mut record, mut seen) = (PgwRecord::default(), 0u64);
        for element in element.elements() {
            let element = element?;
            let tag = element.context().map_or(u32::MAX, u32::from);
            seen |= 1u64.checked_shl(tag).unwrap_or(0);
            record.take(&element)?;
        }
        match MANDATORY.iter().find(|tag| seen >> **tag & 1 == 0) {
            Some(tag) => Err(BerError::Missing(*tag)),
            None => Ok(record),
        }
    }

    /// Takes in an element.
    fn take(&mut self, element: &Element<'a>) -> Result<(), BerError> {
        match element.context() {
            Some(0) if element.unsigned()? != PGW_RECORD_TYPE => return Err(BerError::Kind),
            Some(3) => self.imsi = Some(digits(element, element.value)?),
            Some(4) => self.gateway = read_choice(element)?,
            Some(5) => self.charging_id = element.number()?,
            Some(6) => self.serving_nodes = List::read(element)?,
            Some(7) => self.access_point_name = Some(element.text()?),
            Some(8) => self.pdp_type = Some(element.array()?),
            Some(9) => self.subscriber_address = subscriber_address(element)?,
            Some(11) => self.dynamic_address = element.boolean()?,
            Some(12) => self.traffic_volumes = List::read(element)?,
            Some(13) => self.opened = read_time(element)?,
            Some(14) => self.duration_s = element.number()?,
            Some(15) => self.cause = element.number()?,
            Some(17) => self.record_sequence_number = Some(element.number()?),
            Some(18) => self.node_id = Some(element.text()?),
            Some(20) => self.local_sequence_number = Some(element.number()?),
            _ => return self.take_more(element),
        }
        Ok(())
    }

    fn take_more(&mut self, element: &Element<'a>) -> Result<(), BerError> {
        match element.context() {
            Some(21) => self.selection_mode = Some(element.number()?),
            Some(22) => self.msisdn = Some(digits(element, element.value.get(1..).unwrap_or_default())?),
            Some(23) => self.charging_characteristics = element.array()?,
            Some(24) => self.characteristics_mode = Some(element.number()?),
            Some(27) => self.serving_plmn = Some(element.array()?),
            Some(29) => self.imeisv = Some(digits(element, element.value)?),
            Some(30) => self.rat_type = Some(element.number()?),
            Some(31) => self.ms_timezone = Some(element.array()?),
            Some(32) => self.user_location = Some(element.value),
            Some(34) => self.service_usage = List::read(element)?,
            Some(35) => self.serving_node_types = List::read(element)?,
            Some(37) => self.gateway_plmn = Some(element.array()?),
            Some(38) => self.started = Some(read_time(element)?),
            Some(39) => self.stopped = Some(read_time(element)?),
            Some(41) => self.connection_charging_id = Some(element.number()?),
            Some(52) => self.retransmission = true,
            _ => {}
        }
        Ok(())
    }
}

/// Elements that a record must have.
const MANDATORY: [u8; 9] = [0, 4, 5, 6, 13, 14, 15, 23, 35];

fn number(out: &mut Backward<'_>, tag: u8, value: Option<impl Into<u64>>) {
    value.into_iter().for_each(|number| out.unsigned(CONTEXT, tag, number.into()));
}

fn octets(out: &mut Backward<'_>, tag: u8, value: Option<impl AsRef<[u8]>>) {
    value.iter().for_each(|octets| out.octets(CONTEXT, tag, octets.as_ref()));
}

fn time(out: &mut Backward<'_>, tag: u8, value: Option<RecordTime>) {
    octets(out, tag, value.map(|time| time.octets()));
}

fn digits(element: &Element<'_>, octets: &[u8]) -> Result<Digits, BerError> {
    Digits::from_octets(octets).ok_or(BerError::Value(element.tag))
}

/// An address of IP; none of another kind.
fn subscriber_address(element: &Element<'_>) -> Result<Option<IpAddr>, BerError> {
    let inner = element.elements().next().ok_or(BerError::Value(element.tag))??;
    if inner.context() == Some(0) { read_choice(&inner).map(Some) } else { Ok(None) }
}
