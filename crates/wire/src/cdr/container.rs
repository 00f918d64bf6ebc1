//! What a record counts: volumes of the bearer (TS 32.298 clause 5.1.2.2.25, ChangeOfCharCondition) and use of rating
//! groups (ChangeOfServiceCondition).

use super::ber::{Backward, BerError, CONTEXT, Element, UNIVERSAL, universal};
use super::value::{RecordTime, Value};
use core::net::IpAddr;

/// Bits of [`ServiceUsage::conditions`]: why a container was closed.
pub mod service_condition {
    #![allow(missing_docs, reason = "the names are those of the specification")]
    pub const QOS_CHANGE: u64 = 1;
    pub const TARIFF_TIME_SWITCH: u64 = 1 << 3;
    pub const PDP_CONTEXT_RELEASE: u64 = 1 << 4;
    pub const RAT_CHANGE: u64 = 1 << 5;
    pub const SERVICE_IDLED_OUT: u64 = 1 << 6;
    pub const SERVICE_STOP: u64 = 1 << 9;
    pub const TIME_THRESHOLD_REACHED: u64 = 1 << 10;
    pub const VOLUME_THRESHOLD_REACHED: u64 = 1 << 11;
    pub const TIME_EXHAUSTED: u64 = 1 << 13;
    pub const VOLUME_EXHAUSTED: u64 = 1 << 14;
    pub const VALIDITY_TIMEOUT: u64 = 1 << 15;
    pub const REAUTHORISATION_REQUEST: u64 = 1 << 17;
    pub const CONTINUE_ONGOING_SESSION: u64 = 1 << 18;
    pub const RETRY_AND_TERMINATE_ONGOING_SESSION: u64 = 1 << 19;
    pub const TERMINATE_ONGOING_SESSION: u64 = 1 << 20;
    pub const RECORD_CLOSURE: u64 = 1 << 24;
    pub const TIME_LIMIT: u64 = 1 << 25;
    pub const VOLUME_LIMIT: u64 = 1 << 26;
}

/// Octets of a bearer up to a change of its conditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficVolume<'a> {
    /// Octets from the subscriber.
    pub uplink: Option<u64>,
    /// Octets to the subscriber.
    pub downlink: Option<u64>,
    /// What changed: 0 quality of service, 1 tariff time, 2 record closure, 12 location.
    pub condition: u32,
    /// When.
    pub time: RecordTime,
    /// Where the subscriber was (TS 29.274 clause 8.21).
    pub user_location: Option<&'a [u8]>,
}

impl<'a> Value<'a> for TrafficVolume<'a> {
    fn read(element: &Element<'a>) -> Result<Self, BerError> {
        let (mut volume, mut time) = (TrafficVolume::default(), None);
        for element in element.elements() {
            let element = element?;
            match element.context() {
                Some(3) => volume.uplink = Some(element.unsigned()?),
                Some(4) => volume.downlink = Some(element.unsigned()?),
                Some(5) => volume.condition = element.number()?,
                Some(6) => time = Some(read_time(&element)?),
                Some(8) => volume.user_location = Some(element.value),
                _ => {}
            }
        }
        Ok(TrafficVolume { time: time.ok_or(BerError::Missing(6))?, ..volume })
    }

    fn write(&self, out: &mut Backward<'_>) {
        let end = out.end();
        self.user_location.iter().for_each(|octets| out.octets(CONTEXT, 8, octets));
        out.octets(CONTEXT, 6, &self.time.octets());
        out.unsigned(CONTEXT, 5, self.condition.into());
        self.downlink.iter().for_each(|octets| out.unsigned(CONTEXT, 4, *octets));
        self.uplink.iter().for_each(|octets| out.unsigned(CONTEXT, 3, *octets));
        out.wrap(UNIVERSAL, universal::SEQUENCE, end);
    }
}

/// What was used of a rating group or a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceUsage<'a> {
    /// The rating group.
    pub rating_group: u32,
    /// The gateway's name of its rules.
    pub charging_rule_base_name: Option<&'a str>,
    /// What the server said of the group.
    pub result_code: Option<u32>,
    /// Grows with each container of a bearer.
    pub local_sequence_number: Option<u32>,
    /// When it was used first.
    pub first: Option<RecordTime>,
    /// When it was used last.
    pub last: Option<RecordTime>,
    /// Seconds of use.
    pub time_s: Option<u32>,
    /// Bits of [`service_condition`].
    pub conditions: u64,
    /// The serving node.
    pub serving_node: Option<IpAddr>,
    /// Octets from the subscriber.
    pub uplink: Option<u64>,
    /// Octets to the subscriber.
    pub downlink: Option<u64>,
    /// When the container was closed.
    pub reported: RecordTime,
    /// The service.
    pub service_identifier: Option<u32>,
}

impl<'a> Value<'a> for ServiceUsage<'a> {
    fn read(element: &Element<'a>) -> Result<Self, BerError> {
        let (mut usage, mut rating_group, mut reported) = (ServiceUsage::default(), None, None);
        for element in element.elements() {
            let element = element?;
            match element.context() {
                Some(1) => rating_group = Some(element.number()?),
                Some(2) => usage.charging_rule_base_name = Some(element.text()?),
                Some(3) => usage.result_code = Some(element.number()?),
                Some(4) => usage.local_sequence_number = Some(element.number()?),
                Some(5) => usage.first = Some(read_time(&element)?),
                Some(6) => usage.last = Some(read_time(&element)?),
                Some(7) => usage.time_s = Some(element.number()?),
                Some(8) => usage.conditions = element.bits()?,
                Some(10) => usage.serving_node = Some(read_choice(&element)?),
                Some(12) => usage.uplink = Some(element.unsigned()?),
                Some(13) => usage.downlink = Some(element.unsigned()?),
                Some(14) => reported = Some(read_time(&element)?),
                Some(17) => usage.service_identifier = Some(element.number()?),
                _ => {}
            }
        }
        let rating_group = rating_group.ok_or(BerError::Missing(1))?;
        Ok(ServiceUsage { rating_group, reported: reported.ok_or(BerError::Missing(14))?, ..usage })
    }

    fn write(&self, out: &mut Backward<'_>) {
        let end = out.end();
        self.service_identifier.iter().for_each(|number| out.unsigned(CONTEXT, 17, (*number).into()));
        out.octets(CONTEXT, 14, &self.reported.octets());
        self.downlink.iter().for_each(|octets| out.unsigned(CONTEXT, 13, *octets));
        self.uplink.iter().for_each(|octets| out.unsigned(CONTEXT, 12, *octets));
        self.serving_node.iter().for_each(|address| write_choice(10, address, out));
        out.bits(CONTEXT, 8, self.conditions);
        self.time_s.iter().for_each(|seconds| out.unsigned(CONTEXT, 7, (*seconds).into()));
        self.last.iter().for_each(|time| out.octets(CONTEXT, 6, &time.octets()));
        self.first.iter().for_each(|time| out.octets(CONTEXT, 5, &time.octets()));
        self.local_sequence_number.iter().for_each(|number| out.unsigned(CONTEXT, 4, (*number).into()));
        self.result_code.iter().for_each(|code| out.unsigned(CONTEXT, 3, (*code).into()));
        self.charging_rule_base_name.iter().for_each(|name| out.octets(CONTEXT, 2, name.as_bytes()));
        out.unsigned(CONTEXT, 1, self.rating_group.into());
        out.wrap(UNIVERSAL, universal::SEQUENCE, end);
    }
}

/// A TimeStamp.
pub(super) fn read_time(element: &Element<'_>) -> Result<RecordTime, BerError> {
    RecordTime::from_octets(element.array()?).ok_or(BerError::Value(element.tag))
}

/// A choice in an element of its own: choices have no tag that could be replaced (X.680 section 31.2.7).
pub(super) fn read_choice<'a, T: Value<'a>>(element: &Element<'a>) -> Result<T, BerError> {
    T::read(&element.elements().next().ok_or(BerError::Value(element.tag))??)
}

/// The same, written.
pub(super) fn write_choice<'a>(tag: u8, value: &impl Value<'a>, out: &mut Backward<'_>) {
    let end = out.end();
    value.write(out);
    out.wrap(CONTEXT, tag, end);
}
