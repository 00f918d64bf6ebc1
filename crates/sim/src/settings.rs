//! What a world is made of: everything that a user may set, with its unit, its limits and its default.

use crate::codec::Codec;
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

/// Worlds that are ready made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Something of everything: what a new user is shown.
    Demo,
    /// Everything that is allowed and nothing that is wrong: triggers no verdict.
    Clean,
    /// Every stream impaired, for counting: loss, jitter, reordering, duplicates, skew.
    Impaired,
    /// 1,000 G.711 calls of 60 seconds at a time: about 6 million packets.
    Busy,
    /// 100,000 short calls without RTP, 500 a second.
    Short,
}

impl Preset {
    /// All presets, with the names that the command line takes.
    pub const ALL: [(&'static str, Preset); 5] = [
        ("demo", Preset::Demo),
        ("clean", Preset::Clean),
        ("impaired", Preset::Impaired),
        ("busy", Preset::Busy),
        ("short", Preset::Short),
    ];
}

impl core::str::FromStr for Preset {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let found = Preset::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, p)| *p).ok_or_else(|| format!("no preset \"{name}\": one of demo, clean, impaired, busy, short"))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::preset(Preset::Demo)
    }
}

impl Settings {
    /// The settings of a preset, with seed 1.
    pub fn preset(preset: Preset) -> Self {
        match preset {
            Preset::Demo => demo(),
            Preset::Clean => Settings { faults: 0.0, near_misses: 0.0, impairments: healthy(), ..demo() },
            Preset::Impaired => Settings {
                calls: 1000,
                calls_per_second: 20.0,
                faults: 0.0,
                near_misses: 0.0,
                impairments: impaired(),
                ..demo()
            },
            Preset::Busy => Settings { calls: 1000, calls_per_second: 200.0, concurrent: 1000, ..plain(60.0, 60.0) },
            Preset::Short => {
                Settings { calls: 100_000, calls_per_second: 500.0, media: false, rtcp: false, ..plain(4.0, 6.0) }
            }
        }
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
        if self.ptimes_ms.is_empty() || self.ptimes_ms.iter().any(|p| ![10, 20, 30, 40].contains(p)) {
            wrong.push(format!("ptimes_ms is {:?}: some of 10, 20, 30, 40 are needed", self.ptimes_ms));
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    /// The fields that are probabilities.
    fn shares(&self) -> [(&'static str, f64); 14] {
        [
            ("answer_ratio", self.answer_ratio),
            ("rtcp_mux", self.rtcp_mux),
            ("dtx", self.dtx),
            ("dtmf", self.dtmf),
            ("ipv6", self.ipv6),
            ("tcp", self.tcp),
            ("proxy", self.proxy),
            ("nat", self.nat),
            ("fragments", self.fragments),
            ("variety", self.variety),
            ("faults", self.faults),
            ("near_misses", self.near_misses),
            ("impairments.share", self.impairments.share),
            ("impairments.bursty", self.impairments.bursty),
        ]
    }
}

/// Something of everything, in a quarter of an hour of an operator's life or so.
fn demo() -> Settings {
    let weights = [
        (Codec::Pcma, 4.0),
        (Codec::Pcmu, 2.0),
        (Codec::G722, 1.0),
        (Codec::G729, 1.0),
        (Codec::Opus, 1.0),
        (Codec::AmrWb, 1.0),
    ];
    Settings {
        seed: 1,
        calls: 200,
        calls_per_second: 2.0,
        concurrent: 100_000,
        start_ns: START_NS,
        duration: Duration { min_s: 8.0, mean_s: 30.0, max_s: 120.0 },
        subscribers: 1000,
        trunks: 4,
        codecs: weights.map(|(codec, weight)| Weighted { codec, weight }).to_vec(),
        ptimes_ms: vec![20, 20, 20, 30, 40],
        answer_ratio: 0.7,
        media: true,
        rtcp: true,
        rtcp_mux: 0.2,
        dtx: 0.15,
        dtmf: 0.2,
        ipv6: 0.15,
        tcp: 0.15,
        proxy: 0.15,
        nat: 0.15,
        fragments: 0.05,
        variety: 0.15,
        background: 0.5,
        impairments: Impairments { share: 0.3, ..healthy() },
        faults: 0.2,
        near_misses: 0.15,
        tunnel: Tunnel::None,
    }
}

/// A network that nobody complains about: far below the thresholds of [`crate::faults`].
fn healthy() -> Impairments {
    Impairments {
        share: 1.0,
        loss_max: 0.005,
        bursty: 0.3,
        jitter_max_ms: 4.0,
        reorder_max: 0.002,
        duplicate_max: 0.002,
        skew_max_ppm: 100.0,
    }
}

/// A network to count in.
fn impaired() -> Impairments {
    Impairments {
        share: 1.0,
        loss_max: 0.12,
        bursty: 0.5,
        jitter_max_ms: 40.0,
        reorder_max: 0.05,
        duplicate_max: 0.05,
        skew_max_ppm: 500.0,
    }
}

/// The same plain call over and over, for measuring.
fn plain(min_s: f64, max_s: f64) -> Settings {
    Settings {
        duration: Duration { min_s, mean_s: (min_s + max_s) / 2.0, max_s },
        subscribers: 10_000,
        codecs: vec![Weighted { codec: Codec::Pcma, weight: 1.0 }, Weighted { codec: Codec::Pcmu, weight: 1.0 }],
        ptimes_ms: vec![20],
        answer_ratio: 1.0,
        rtcp_mux: 0.0,
        dtx: 0.0,
        dtmf: 0.0,
        ipv6: 0.0,
        tcp: 0.0,
        proxy: 0.0,
        nat: 0.0,
        fragments: 0.0,
        variety: 0.0,
        background: 0.0,
        impairments: Impairments::default(),
        faults: 0.0,
        near_misses: 0.0,
        ..demo()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_pass_their_own_check_and_have_names() {
        for (name, preset) in Preset::ALL {
            assert_eq!(Settings::preset(preset).check(), Ok(()), "{name}");
            assert_eq!(name.parse::<Preset>(), Ok(preset));
        }
        assert!("nothing".parse::<Preset>().unwrap_err().contains("busy"));
    }

    #[test]
    fn all_mistakes_are_told_at_once() {
        let mut settings = Settings { tcp: 2.0, ptimes_ms: vec![], calls_per_second: f64::NAN, ..Settings::default() };
        settings.impairments.loss_max = -1.0;
        assert_eq!(settings.check().unwrap_err().len(), 4);
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
