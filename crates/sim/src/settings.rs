//! What a world is made of: everything that a user may set, with its unit, its limits and its default.

use crate::codec::Codec;
use crate::preset::Preset;
use crate::tap::Tap;
use serde::{Deserialize, Serialize};

/// 2026-01-01T00:00:00Z in nanoseconds since 1970: where worlds begin, so that files of a seed are byte-identical.
pub const START_NS: i64 = 1_767_225_600_000_000_000;

/// The most calls of one world.
pub const CALLS_MAX: u64 = 100_000_000;

/// The most calls at a time: what bounds memory (about 6 KiB a call with media).
pub const CONCURRENT_MAX: u32 = 1_000_000;

/// Everything about a world. Make one with [`Settings::preset`], change fields, then [`Settings::check`] it.
///
/// Shares are probabilities from 0 to 1, drawn for each call on its own unless said otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The seed. All else the same, another seed makes another world. Default 1.
    pub seed: u64,
    /// Calls to make, 0..=[`CALLS_MAX`]. Default 200.
    pub calls: u64,
    /// New calls per second (a Poisson process), > 0. Default 2.
    pub calls_per_second: f64,
    /// Calls at a time; a call that would be one too many begins when another ends. 1..=[`CONCURRENT_MAX`].
    pub concurrent: u32,
    /// When the world begins, nanoseconds since 1970 UTC. Default [`START_NS`].
    pub start_ns: i64,
    /// How long answered calls last.
    pub duration: Duration,
    /// Subscribers with a telephone number each, 2..=1,000,000.
    pub subscribers: u32,
    /// Trunks (gateways of other operators), 1..=200.
    pub trunks: u32,
    /// Codecs of answered calls with their weights (any positive numbers).
    pub codecs: Vec<Weighted>,
    /// Packet times in milliseconds, chosen evenly: 10, 20, 30 or 40.
    pub ptimes_ms: Vec<u8>,
    /// Share of the calls that are answered when nothing is wrong with them.
    pub answer_ratio: f64,
    /// Whether there is RTP at all.
    pub media: bool,
    /// Whether streams come with RTCP sender and receiver reports, every five seconds.
    pub rtcp: bool,
    /// Share of the calls with RTCP on the port of RTP (RFC 5761).
    pub rtcp_mux: f64,
    /// Share of the calls with discontinuous transmission and comfort noise (RFC 3389).
    pub dtx: f64,
    /// Share of the calls in which a machine answers that plays prompts: at each, timestamps or sequence numbers take
    /// another base, or the time between two prompts is not counted.
    pub prompts: f64,
    /// Share of the calls in which digits are dialled (RFC 4733).
    pub dtmf: f64,
    /// Share of the calls over IPv6.
    pub ipv6: f64,
    /// Share of the calls whose SIP goes over TCP: segments that hold several messages, messages over several segments.
    pub tcp: f64,
    /// Share of the calls through a proxy that is seen on both sides: two hops with one Call-ID.
    pub proxy: f64,
    /// Share of the calls whose caller sits behind a NAT that works (SDP says a private address, media flows).
    pub nat: f64,
    /// Share of the calls over UDP with an INVITE too large for one packet: IP fragments.
    pub fragments: f64,
    /// How likely each of the finer things of SIP is in a call: challenges, early media, PRACK, forking, redirection,
    /// hold, UPDATE, REFER, INFO, session refresh, lost messages, codec and SSRC changes. 0 makes every call the same
    /// plain INVITE 100 180 200 ACK BYE 200.
    pub variety: f64,
    /// How likely each of the things is that large networks do with a call: proxies that fork or hunt, back-to-back
    /// user agents with or without media, ringing up to 160 s, video and other media sections, an offer in the 200 or
    /// in a reliable 183, PRACK and UPDATE that change media before the answer, hold by an address of zeros, transfers
    /// to an agent, relays of TURN, keys by DTLS, media over TCP, a tap that sees the end alone. Planted faults happen
    /// amid them.
    pub mixture: f64,
    /// Transactions outside calls for each call, on average: REGISTER, OPTIONS, SUBSCRIBE, MESSAGE, PUBLISH. 0..=100.
    pub background: f64,
    /// What the network does to RTP.
    pub impairments: Impairments,
    /// Share of the calls (and of the registrations) with a fault that must be found; the kinds take turns.
    pub faults: f64,
    /// Share of the calls (and of the registrations) that come close to a fault and must not be called one.
    pub near_misses: f64,
    /// What is around the packets.
    pub tunnel: Tunnel,
    /// What is wrong with the tap: by default nothing.
    pub tap: Tap,
}

/// How long answered calls last: exponential with a floor and a ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Duration {
    /// The shortest, seconds, at least 4 (shorter ones are faults: [`crate::faults::EARLY_HANGUP_S`]).
    pub min_s: f64,
    /// The mean before the limits are applied, seconds.
    pub mean_s: f64,
    /// The longest, seconds; the same as `min_s` makes all calls last equally long.
    pub max_s: f64,
}

/// A codec and how often it is used, against the other weights.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weighted {
    /// The codec.
    pub codec: Codec,
    /// Its weight.
    pub weight: f64,
}

/// What the network does to RTP: each impaired stream draws its own rates between none and these.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Impairments {
    /// Share of the streams that are impaired.
    pub share: f64,
    /// Highest loss rate, 0..=0.5.
    pub loss_max: f64,
    /// At no time is more than this share of what a stream sent lost, 0..=1: keeps a healthy network from being
    /// unlucky.
    pub loss_cap: f64,
    /// Share of the lossy streams that lose in bursts (Gilbert) and not independently.
    pub bursty: f64,
    /// Highest mean of the exponential delay beyond the least, milliseconds, 0..=200.
    pub jitter_max_ms: f64,
    /// Highest rate of packets that are overtaken, 0..=0.5.
    pub reorder_max: f64,
    /// Highest rate of packets that come twice, 0..=0.5.
    pub duplicate_max: f64,
    /// Highest deviation of the sender's clock, parts per million, 0..=10,000.
    pub skew_max_ppm: f64,
}

impl Default for Impairments {
    fn default() -> Self {
        let skew_max_ppm = 0.0;
        Impairments {
            share: 0.0,
            loss_max: 0.0,
            loss_cap: 1.0,
            bursty: 0.5,
            jitter_max_ms: 0.0,
            reorder_max: 0.0,
            duplicate_max: 0.0,
            skew_max_ppm,
        }
    }
}

/// What is around the packets at the tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tunnel {
    /// Plain Ethernet.
    #[default]
    None,
    /// IEEE 802.1Q, VLAN 100.
    Vlan,
    /// VXLAN (RFC 7348), VNI 42.
    Vxlan,
}

impl Default for Settings {
    fn default() -> Self {
        Settings::preset(Preset::Demo)
    }
}

impl Settings {
    /// Sets a field by its name, with a dot before a field of a field: `calls` to `50`, `impairments.loss_max` to
    /// `0.1`,
    /// `codecs` to `[{"codec": "PCMA", "weight": 1}]`. The value is JSON, or a word without quotes.
    ///
    /// # Errors
    /// A line that says which name is not known, or what the value should have been; nothing is changed then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        use serde_json::Value;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.into()));
        let mut all = serde_json::to_value(&*self).map_err(|e| e.to_string())?;
        let pointer = format!("/{}", name.replace('.', "/"));
        let place = all.pointer_mut(&pointer).ok_or_else(|| format!("no setting \"{name}\""))?;
        *place = value;
        *self = serde_json::from_value(all).map_err(|e| format!("{name}: {e}"))?;
        Ok(())
    }

    /// Checks every field against its limits.
    ///
    /// # Errors
    /// All mistakes at once, one line each, with the field's name, its value and what is allowed.
    pub fn check(&self) -> Result<(), Vec<String>> {
        let mut wrong = Vec::new();
        let mut within = |name: &str, value: f64, low: f64, high: f64| {
            if !(low..=high).contains(&value) {
                wrong.push(format!("{name} is {value}: from {low} to {high} is allowed"));
            }
        };
        for (name, share) in self.shares() {
            within(name, share, 0.0, 1.0);
        }
        within("calls", self.calls as f64, 0.0, CALLS_MAX as f64);
        within("calls_per_second", self.calls_per_second, 0.001, 1_000_000.0);
        within("concurrent", f64::from(self.concurrent), 1.0, f64::from(CONCURRENT_MAX));
        within("start_ns", self.start_ns as f64, 0.0, 4.0e18);
        within("duration.min_s", self.duration.min_s, 4.0, 86_400.0);
        within("duration.mean_s", self.duration.mean_s, 0.0, 86_400.0);
        within("duration.max_s", self.duration.max_s, self.duration.min_s, 86_400.0);
        within("subscribers", f64::from(self.subscribers), 2.0, 1_000_000.0);
        within("trunks", f64::from(self.trunks), 1.0, 200.0);
        within("background", self.background, 0.0, 100.0);
        within("faults + near_misses", self.faults + self.near_misses, 0.0, 1.0);
        let i = &self.impairments;
        within("impairments.loss_max", i.loss_max, 0.0, 0.5);
        within("impairments.jitter_max_ms", i.jitter_max_ms, 0.0, 200.0);
        within("impairments.reorder_max", i.reorder_max, 0.0, 0.5);
        within("impairments.duplicate_max", i.duplicate_max, 0.0, 0.5);
        within("impairments.skew_max_ppm", i.skew_max_ppm, 0.0, 10_000.0);
        within("codecs: sum of weights", self.codecs.iter().map(|w| w.weight).sum(), f64::MIN_POSITIVE, 1.0e12);
        if self.codecs.iter().any(|w| w.weight < 0.0) {
            wrong.push("codecs: a weight is negative".into());
        }
        if self.codecs.iter().any(|w| w.codec.is_video()) {
            wrong.push("codecs: those of calls are for audio; video comes with mixture".into());
        }
        if self.ptimes_ms.is_empty() || self.ptimes_ms.iter().any(|p| ![10, 20, 30, 40].contains(p)) {
            wrong.push(format!("ptimes_ms is {:?}: some of 10, 20, 30, 40 are needed", self.ptimes_ms));
        }
        self.tap.check(&mut wrong);
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    /// The fields that are probabilities.
    fn shares(&self) -> [(&'static str, f64); 17] {
        [
            ("answer_ratio", self.answer_ratio),
            ("rtcp_mux", self.rtcp_mux),
            ("dtx", self.dtx),
            ("prompts", self.prompts),
            ("dtmf", self.dtmf),
            ("ipv6", self.ipv6),
            ("tcp", self.tcp),
            ("proxy", self.proxy),
            ("nat", self.nat),
            ("fragments", self.fragments),
            ("variety", self.variety),
            ("mixture", self.mixture),
            ("faults", self.faults),
            ("near_misses", self.near_misses),
            ("impairments.share", self.impairments.share),
            ("impairments.loss_cap", self.impairments.loss_cap),
            ("impairments.bursty", self.impairments.bursty),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_mistakes_are_told_at_once() {
        let mut settings = Settings { tcp: 2.0, ptimes_ms: vec![], calls_per_second: f64::NAN, ..Settings::default() };
        settings.impairments.loss_max = -1.0;
        assert_eq!(settings.check().unwrap_err().len(), 4);
    }

    #[test]
    fn fields_are_set_by_name() {
        let mut settings = Settings::default();
        settings.set("impairments.loss_max", "0.1").unwrap();
        settings.set("tunnel", "vxlan").unwrap();
        settings.set("calls", "7").unwrap();
        assert_eq!((settings.impairments.loss_max, settings.tunnel, settings.calls), (0.1, Tunnel::Vxlan, 7));
        assert_eq!(settings.set("cals", "7"), Err("no setting \"cals\"".into()));
        assert!(settings.set("calls", "many").unwrap_err().starts_with("calls: invalid type"));
        assert_eq!(settings.calls, 7);
    }

    #[test]
    fn settings_survive_json() {
        let settings = Settings::preset(Preset::Impaired);
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), settings);
        let partial: Settings = serde_json::from_str(r#"{"seed": 5}"#).unwrap();
        assert_eq!(partial, Settings { seed: 5, ..Settings::default() });
    }
}
