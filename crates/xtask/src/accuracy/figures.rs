//! What is compared: the figures of one capture, whoever counted them.

use std::collections::BTreeMap;

/// The figures of a capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Packets of the file; none if it could not be read.
    pub packets: Option<u64>,
    /// Signalling; none if it was not counted.
    pub sip: Option<Sip>,
    /// RTP streams.
    pub streams: Vec<Stream>,
}

/// The SIP figures of a capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sip {
    /// Messages with a start line.
    pub messages: u64,
    /// Distinct Call-IDs; none if neither they nor calls were counted.
    pub call_ids: Option<u64>,
    /// State of each call (INVITE sessions) by Call-ID.
    pub states: BTreeMap<String, String>,
}

/// The figures of an RTP stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stream {
    /// `0x3a980074 192.0.2.1:4000 -> 192.0.2.2:4000`.
    pub name: String,
    /// All that arrived.
    pub packets: u64,
    /// expected - packets.
    pub lost: i64,
    /// Copies; none if not counted.
    pub duplicates: Option<u64>,
    /// Distinct packets that never came; none if not counted.
    pub missing: Option<u64>,
    /// Mean jitter, milliseconds; none if the clock rate is not known.
    pub jitter_mean_ms: Option<f64>,
    /// Highest jitter, milliseconds.
    pub jitter_max_ms: Option<f64>,
}

impl Sip {
    /// `2 completed, 1 rejected`.
    pub fn states_in_brief(&self) -> String {
        let mut counts = BTreeMap::new();
        for state in self.states.values() {
            *counts.entry(state).or_insert(0u32) += 1;
        }
        let parts: Vec<String> = counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
        parts.join(", ")
    }
}

impl Stream {
    /// The name of a stream from its parts; the case of the SSRC does not matter.
    pub fn name_of(ssrc: &str, src: &str, dst: &str) -> String {
        format!("{} {src} -> {dst}", ssrc.to_lowercase())
    }
}
