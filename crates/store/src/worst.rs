//! What the worst stream of a call did: columns of the call, so that a search need not look at its streams.

use crate::row::Stream;

/// The worst over the streams of a call; none without streams.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Worst {
    /// Highest share of packets that never came, percent of those expected; none if none was expected.
    pub lost_percent: Option<f64>,
    /// Highest mean jitter, milliseconds.
    pub jitter_mean_ms: Option<f64>,
    /// Highest jitter, milliseconds.
    pub jitter_max_ms: Option<f64>,
}

/// The worst of these streams.
pub fn of(streams: &[Stream]) -> Worst {
    let highest = |values: &mut dyn Iterator<Item = f64>| values.filter(|v| !v.is_nan()).reduce(f64::max);
    let expecting = streams.iter().filter(|s| s.expected > 0);
    Worst {
        lost_percent: highest(&mut expecting.map(|s| s.missing as f64 * 100.0 / s.expected as f64)),
        jitter_mean_ms: highest(&mut streams.iter().map(|s| s.jitter_mean_ms)),
        jitter_max_ms: highest(&mut streams.iter().map(|s| s.jitter_max_ms)),
    }
}

/// The names in a stream's codec, `PCMA, telephone-event`.
pub fn codec_names(codec: &str) -> impl Iterator<Item = &str> {
    codec.split(", ").filter(|name| !name.is_empty())
}

/// The distinct codecs of the streams, in order of appearance, joined with ", ".
pub fn codecs(streams: &[Stream]) -> String {
    let mut seen: Vec<&str> = vec![];
    for codec in streams.iter().flat_map(|s| codec_names(&s.codec)) {
        if !seen.contains(&codec) {
            seen.push(codec);
        }
    }
    seen.join(", ")
}
