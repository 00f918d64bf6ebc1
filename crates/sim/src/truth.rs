//! What really happened: one record for each call, registration and other transaction when it is over, one for the
//! world at the end. Everything is as it was seen at the tap: what never arrived is not in it, except where it says so.

use crate::faults::{Kind, Planted};
use crate::impair::Impairment;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// One line of the truth file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Truth {
    /// A call.
    Call(Box<CallTruth>),
    /// A registration with its challenges.
    Registration(Box<TransactionTruth>),
    /// A transaction outside calls: OPTIONS, SUBSCRIBE, NOTIFY, MESSAGE, PUBLISH.
    Event(Box<TransactionTruth>),
    /// All of it.
    World(Box<WorldTruth>),
}

/// How a call ended, by the names of the JSON contract (DESIGN section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the contract defines the names")]
pub enum State {
    #[default]
    Attempted,
    Trying,
    Ringing,
    AuthChallenged,
    Redirected,
    Rejected,
    Cancelled,
    Answered,
    Completed,
    JoinedMidCall,
}

/// Who hung up an answered call, or who sent a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Who {
    /// Nobody that was seen.
    #[default]
    None,
    /// The one who sent the first INVITE.
    Caller,
    /// The other one.
    Callee,
}

/// A point in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Nanoseconds since 1970, UTC.
    pub ns: i64,
    /// RFC 3339 with microseconds, UTC; nanoseconds cut off.
    pub utc: String,
}

impl Moment {
    /// The moment of these nanoseconds since 1970.
    pub fn of(ns: i64) -> Self {
        Moment { ns, utc: rfc_3339(ns) }
    }
}

/// A call.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct CallTruth {
    /// Call-ID.
    pub sip_call_id: String,
    /// The Call-ID of the first leg, if a back-to-back user agent made this one of it. Media between the ends belongs
    /// to both legs and is told with the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leg_of: Option<String>,
    /// How it ended, as the signalling that was seen tells.
    pub state: State,
    /// User part of From.
    pub from: String,
    /// User part of To.
    pub to: String,
    /// First message (over TCP or in fragments: its last octet).
    pub start: Option<Moment>,
    /// First 180 or 183.
    pub ringing: Option<Moment>,
    /// First 2xx to INVITE.
    pub answer: Option<Moment>,
    /// First BYE of an answered call; the last final response to INVITE of another.
    pub end: Option<Moment>,
    /// Last message or packet of RTP.
    pub last: Option<Moment>,
    /// First INVITE to the first 180 or 183, milliseconds.
    pub pdd_ms: Option<f64>,
    /// First INVITE to the answer, milliseconds.
    pub setup_ms: Option<f64>,
    /// Answer to end, milliseconds.
    pub duration_ms: Option<f64>,
    /// The status code that decides the state.
    pub code: u16,
    /// Who hung up.
    pub hangup: Who,
    /// Where the first INVITE came from.
    pub src: String,
    /// Where the first INVITE went.
    pub dst: String,
    /// `udp` or `tcp`.
    pub transport: String,
    /// Hops that were seen: 1, or 2 with a proxy.
    pub hops: u8,
    /// SIP messages, on all hops, retransmissions included.
    pub messages: u32,
    /// Of these, retransmissions.
    pub retransmissions: u32,
    /// What was done to it, if anything.
    pub planted: Option<Planted>,
    /// The verdicts it deserves (see [`crate::faults`]); empty: none.
    pub expect: Vec<Kind>,
    /// Delay between caller and tap, and between tap and callee, milliseconds.
    pub path_ms: [f64; 2],
    /// RTP streams that arrived, by first packet.
    pub streams: Vec<StreamTruth>,
}

/// An RTP stream.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct StreamTruth {
    /// Synchronisation source, `0x3a980074`.
    pub ssrc: String,
    /// Who sent it, as seen at the tap.
    pub src: String,
    /// Whom it was sent to, as seen at the tap.
    pub dst: String,
    /// Who of the call sent it.
    pub direction: Who,
    /// Encoding names of what arrived, in order of appearance.
    pub codec: String,
    /// Clock rate, Hz.
    pub clock_rate: u32,
    /// Payload types of what arrived, in order of appearance.
    pub payload_types: Vec<u8>,
    /// Packet time, milliseconds.
    pub ptime_ms: u8,
    /// All packets that arrived, copies included.
    pub packets: u64,
    /// RTP payload octets of all that arrived.
    pub octets: u64,
    /// Highest - lowest extended sequence number + 1 of what arrived.
    pub expected: u64,
    /// expected - packets.
    pub lost: i64,
    /// expected - distinct packets.
    pub missing: u64,
    /// Of these, packets that passed the tap, which did not see them.
    #[serde(default)]
    pub lost_at_tap: u64,
    /// Copies.
    pub duplicates: u64,
    /// Packets after a higher sequence number, copies left out.
    pub reordered: u64,
    /// Mean jitter, RFC 3550 A.8, milliseconds.
    pub jitter_mean_ms: f64,
    /// Highest jitter, milliseconds.
    pub jitter_max_ms: f64,
    /// Delay on the way, ten seconds after ten seconds from the first packet on; those without packets are left out.
    #[serde(default)]
    pub delays: Vec<DelayTruth>,
    /// First packet.
    pub first: Option<Moment>,
    /// Last packet.
    pub last: Option<Moment>,
    /// Digits of which at least one packet arrived.
    pub dtmf: String,
    /// Comfort-noise packets (RFC 3389) that arrived.
    pub comfort_noise: u64,
    /// Packets that its sender sent: more than arrived where the first or last ones were lost.
    pub sent: u64,
    /// RTCP sender reports of its sender.
    pub sender_reports: u32,
    /// Report blocks of its receiver about it.
    pub receiver_reports: u32,
    /// The last cumulative loss that its receiver reported.
    pub reported_lost: Option<i32>,
    /// What the network did to it.
    pub impairment: Impairment,
    /// It is SRTP.
    pub encrypted: bool,
    /// It is seen inside of TURN.
    pub in_turn: bool,
    /// It goes over a TCP connection (RFC 4571).
    pub over_tcp: bool,
    /// Its RTCP goes where SDP names it, and not to the next port.
    #[serde(default)]
    pub rtcp_named: bool,
}

/// How long packets were on their way in ten seconds of a stream, beyond the least time that one of the stream was; of
/// distinct packets that are no telephone events.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct DelayTruth {
    /// Number of the ten seconds, from 0.
    pub index: u32,
    /// Mean, milliseconds.
    pub mean_ms: f64,
    /// Highest, milliseconds.
    pub max_ms: f64,
}

/// A registration or another transaction outside calls.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct TransactionTruth {
    /// Method of the first request.
    pub method: String,
    /// Call-ID.
    pub sip_call_id: String,
    /// User part of From.
    pub from: String,
    /// User part of To.
    pub to: String,
    /// First message.
    pub start: Option<Moment>,
    /// Last final response.
    pub end: Option<Moment>,
    /// Status of the last final response, 0 if none.
    pub code: u16,
    /// Where the first request came from.
    pub src: String,
    /// Where it went.
    pub dst: String,
    /// SIP messages.
    pub messages: u32,
    /// Requests, retransmissions included.
    pub requests: u32,
    /// Of the messages, retransmissions.
    pub retransmissions: u32,
    /// What was done to it, if anything.
    pub planted: Option<Planted>,
    /// The verdicts it deserves.
    pub expect: Vec<Kind>,
}

/// The whole world.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct WorldTruth {
    /// The settings it was made of.
    pub settings: Settings,
    /// What it came to.
    #[serde(flatten)]
    pub totals: Totals,
    /// First packet.
    pub first: Option<Moment>,
    /// Last packet.
    pub last: Option<Moment>,
}

/// What a world came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Packets in the capture.
    pub packets: u64,
    /// Octets of these packets.
    pub octets: u64,
    /// SIP messages: several may share a segment, one may need several.
    pub sip_messages: u64,
    /// RTP packets.
    pub rtp_packets: u64,
    /// RTCP packets (compound).
    pub rtcp_packets: u64,
    /// Calls.
    pub calls: u64,
    /// RTP streams of which something arrived.
    pub streams: u64,
    /// Registrations.
    pub registrations: u64,
    /// Other transactions.
    pub events: u64,
    /// Packets of media that passed the tap and are not in the capture.
    #[serde(default)]
    pub not_captured: u64,
    /// The most calls that were going on at a time.
    pub concurrent_max: u64,
}

/// RFC 3339 with microseconds of nanoseconds since 1970.
fn rfc_3339(ns: i64) -> String {
    let (days, rest) = (ns.div_euclid(86_400_000_000_000), ns.rem_euclid(86_400_000_000_000) / 1000);
    let (year, month, day) = civil(days);
    let (s, us) = (rest / 1_000_000, rest % 1_000_000);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{us:06}Z", s / 3600, s / 60 % 60, s % 60)
}

/// Year, month and day of a number of days since 1970 (Howard Hinnant, chrono-compatible date algorithms).
fn civil(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + i64::from(month <= 2), month, doy - (153 * mp + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_date_prints_them() {
        assert_eq!(rfc_3339(crate::settings::START_NS), "2026-01-01T00:00:00.000000Z");
        assert_eq!(rfc_3339(1_709_210_096_123_456_789), "2024-02-29T12:34:56.123456Z");
        assert_eq!(rfc_3339(0), "1970-01-01T00:00:00.000000Z");
    }

    #[test]
    fn records_say_what_they_are() {
        let line = serde_json::to_string(&Truth::Call(Box::default())).unwrap();
        assert!(line.starts_with(r#"{"record":"call","sip_call_id":"","state":"attempted""#), "{line}");
        assert_eq!(serde_json::from_str::<Truth>(&line).unwrap(), Truth::Call(Box::default()));
    }
}
