//! Worlds that are ready made.

use crate::codec::Codec;
use crate::settings::{Duration, Impairments, START_NS, Settings, Tunnel, Weighted};
use crate::tap::Tap;
use serde::{Deserialize, Serialize};

/// A world that is ready made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Something of everything: what a new user is shown.
    Demo,
    /// Everything that is allowed and nothing that is wrong: triggers no verdict.
    Clean,
    /// The mixtures of large networks: forks, hunts, back-to-back user agents, long ringing, video, hold, prompts,
    /// transfers, taps that come late, in short calls. Nothing is wrong; faults may be planted amid them.
    Mixed,
    /// Every stream impaired, for counting: loss, jitter, reordering, duplicates, skew.
    Impaired,
    /// 1,000 G.711 calls of 60 seconds at a time: about 6 million packets.
    Busy,
    /// 100,000 short calls without RTP, 500 a second.
    Short,
}

impl Preset {
    /// All presets, with the names that the command line takes.
    pub const ALL: [(&'static str, Preset); 6] = [
        ("demo", Preset::Demo),
        ("clean", Preset::Clean),
        ("mixed", Preset::Mixed),
        ("impaired", Preset::Impaired),
        ("busy", Preset::Busy),
        ("short", Preset::Short),
    ];
}

impl Preset {
    /// What it is, in half a line.
    pub fn about(self) -> &'static str {
        match self {
            Preset::Demo => "something of everything, with planted faults",
            Preset::Clean => "the same, with nothing wrong",
            Preset::Mixed => {
                "large networks, with nothing wrong: forks, hunts, B2BUAs, long ringing, video, hold, prompts"
            }
            Preset::Impaired => "every stream impaired, for counting",
            Preset::Busy => "1,000 calls of 60 s at a time",
            Preset::Short => "100,000 short calls without RTP",
        }
    }
}

impl core::str::FromStr for Preset {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let found = Preset::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, p)| *p).ok_or_else(|| format!("no preset \"{name}\": one of {}", names()))
    }
}

fn names() -> String {
    Preset::ALL.map(|(name, _)| name).join(", ")
}

impl Settings {
    /// The settings of a preset, with seed 1.
    pub fn preset(preset: Preset) -> Self {
        match preset {
            Preset::Demo => demo(),
            Preset::Clean => Settings { faults: 0.0, near_misses: 0.0, impairments: healthy(), ..demo() },
            Preset::Mixed => Settings {
                calls: 1000,
                calls_per_second: 10.0,
                duration: Duration { min_s: 4.0, mean_s: 8.0, max_s: 60.0 },
                mixture: 0.25,
                variety: 0.2,
                prompts: 0.08,
                proxy: 0.2,
                ..Settings::preset(Preset::Clean)
            },
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
        prompts: 0.0,
        dtmf: 0.2,
        ipv6: 0.15,
        tcp: 0.15,
        proxy: 0.15,
        nat: 0.15,
        fragments: 0.05,
        variety: 0.15,
        mixture: 0.0,
        background: 0.5,
        impairments: Impairments { share: 0.3, ..healthy() },
        faults: 0.2,
        near_misses: 0.15,
        tunnel: Tunnel::None,
        tap: Tap::default(),
    }
}

/// A network that nobody complains about: far below the thresholds of [`crate::faults`].
fn healthy() -> Impairments {
    Impairments {
        share: 1.0,
        loss_max: 0.005,
        loss_cap: 0.015,
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
        loss_cap: 1.0,
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
}
