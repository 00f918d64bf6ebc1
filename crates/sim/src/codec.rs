//! The codecs of the world: names, clocks, payload types, and payloads that are made once and used over and over.

use crate::random::Random;
use serde::{Deserialize, Serialize};

/// A codec that subscribers use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Codec {
    /// G.711 mu-law.
    #[serde(rename = "PCMU")]
    Pcmu,
    /// G.711 A-law.
    #[serde(rename = "PCMA")]
    Pcma,
    /// G.722 at 64 kbit/s; its RTP clock is 8000 although it samples at 16 kHz (RFC 3551 section 4.5.2).
    #[serde(rename = "G722")]
    G722,
    /// G.729, 10 octets each 10 ms.
    #[serde(rename = "G729")]
    G729,
    /// Opus (RFC 7587).
    #[serde(rename = "opus")]
    Opus,
    /// AMR-WB (RFC 4867), octet-aligned, 12.65 kbit/s.
    #[serde(rename = "AMR-WB")]
    AmrWb,
    /// VP8 (RFC 7741): video.
    #[serde(rename = "VP8")]
    Vp8,
    /// H.264 (RFC 6184): video.
    #[serde(rename = "H264")]
    H264,
}

impl Codec {
    /// All of them.
    pub const ALL: [Codec; 8] =
        [Codec::Pcmu, Codec::Pcma, Codec::G722, Codec::G729, Codec::Opus, Codec::AmrWb, Codec::Vp8, Codec::H264];

    /// Whether it is a codec for video.
    pub fn is_video(self) -> bool {
        matches!(self, Codec::Vp8 | Codec::H264)
    }

    /// Encoding name as in `a=rtpmap`.
    pub fn name(self) -> &'static str {
        ["PCMU", "PCMA", "G722", "G729", "opus", "AMR-WB", "VP8", "H264"][self as usize]
    }

    /// RTP clock rate, Hz.
    pub fn clock_rate(self) -> u32 {
        [8000, 8000, 8000, 8000, 48_000, 16_000, 90_000, 90_000][self as usize]
    }

    /// Payload type as the world's first (`map` 0) or second mapping numbers it; static types are the same in both.
    pub(crate) fn payload_type(self, map: u8) -> u8 {
        [[0, 8, 9, 18, 111, 104, 106, 108], [0, 8, 9, 18, 96, 98, 120, 121]][usize::from(map & 1)][self as usize]
    }

    /// Payload type of telephone-event at this codec's clock rate.
    pub(crate) fn event_payload_type(self, map: u8) -> u8 {
        let of_clock = match self.clock_rate() {
            48_000 => [110, 99],
            16_000 => [105, 100],
            _ => [101, 97],
        };
        of_clock[usize::from(map & 1)]
    }

    /// The packet time that is used where this one is asked for: whole frames only.
    pub(crate) fn whole_ptime(self, ms: u8) -> u8 {
        match self {
            Codec::AmrWb if ms != 40 => 20,
            Codec::Opus if ms == 30 => 20,
            _ => ms,
        }
    }
}

/// Payload type of comfort noise (RFC 3389), at 8000 Hz.
pub(crate) const COMFORT_NOISE: u8 = 13;

/// Payloads of one codec and packet time are told apart by this many; then they repeat.
const SLOTS: usize = 64;

/// The payload at a place of the bank: where it lies and its part of the UDP checksum.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Payload {
    start: u32,
    octets: u16,
    /// Sum of its 16-bit words, folded.
    pub sum: u16,
}

/// All payloads that are ever sent.
pub(crate) struct Bank {
    octets: Vec<u8>,
    payloads: Vec<Payload>,
}

impl Bank {
    /// Makes them; the same ones in every world.
    pub fn new() -> Self {
        let mut bank = Bank { octets: Vec::new(), payloads: Vec::new() };
        let speech = speech(SLOTS * 40 * 16);
        for codec in Codec::ALL {
            for ptime in [10usize, 20, 30, 40] {
                for slot in 0..SLOTS {
                    let start = bank.octets.len();
                    fill(codec, ptime, slot, &speech, &mut bank.octets);
                    bank.close(start);
                }
            }
        }
        bank
    }

    /// Which payload the `n`th packet of a codec carries.
    #[inline]
    pub fn index(codec: Codec, ptime_ms: u8, n: u64) -> u16 {
        let set = codec as usize * 4 + usize::from(ptime_ms / 10).clamp(1, 4) - 1;
        (set * SLOTS + n as usize % SLOTS) as u16
    }

    /// A payload and its octets.
    #[inline]
    pub fn get(&self, index: u16) -> (Payload, &[u8]) {
        let payload = self.payloads[usize::from(index)];
        let start = payload.start as usize;
        (payload, &self.octets[start..start + usize::from(payload.octets)])
    }

    fn close(&mut self, start: usize) {
        let octets = &self.octets[start..];
        let sum = crate::net::fold(crate::net::sum(octets));
        self.payloads.push(Payload { start: start as u32, octets: octets.len() as u16, sum });
    }
}

/// One payload: G.711 carries something that sounds, the others octets that look like theirs.
fn fill(codec: Codec, ptime: usize, slot: usize, speech: &[i16], out: &mut Vec<u8>) {
    let samples = &speech[slot * ptime * 8..(slot + 1) * ptime * 8];
    let mut random = Random::of(codec as u64, (ptime * SLOTS + slot) as u64);
    let mut noise = |n: usize, out: &mut Vec<u8>| out.extend((0..n).map(|_| random.bits() as u8));
    match codec {
        Codec::Pcmu => out.extend(samples.iter().map(|&s| mu_law(s))),
        Codec::Pcma => out.extend(samples.iter().map(|&s| a_law(s))),
        Codec::G722 => noise(ptime * 8, out),
        Codec::G729 => noise(ptime, out),
        Codec::Opus => {
            // RFC 6716 section 3.1: CELT fullband (config 30 is 10 ms, 31 is 20 ms), or SILK wideband 40 ms (config
            // 10).
            let toc: u8 = [30 << 3, 31 << 3, 31 << 3, 10 << 3][(ptime / 10).clamp(1, 4) - 1];
            out.push(toc);
            noise(ptime * 4 + slot % 16, out);
        }
        Codec::AmrWb => {
            // RFC 4867 section 4.4: CMR 15 (no request), then a table of contents: FT 2, Q 1; 253 bits a frame.
            let frames = (ptime / 20).max(1);
            out.push(0xf0);
            out.extend((0..frames).map(|i| if i + 1 < frames { 0x94 } else { 0x14 }));
            noise(frames * 32, out);
        }
        // RFC 7741 section 4.2: S 1, no extensions; RFC 6184 section 5.3: FU-A of a slice.
        Codec::Vp8 | Codec::H264 => {
            out.extend_from_slice(if codec == Codec::Vp8 { &[0x10] } else { &[0x5c, 0x01] });
            noise(300 + slot % 16 * 30, out);
        }
    }
}

/// Something like a voice, 16-bit at 8 kHz: a fundamental that glides, two harmonics, syllables.
fn speech(samples: usize) -> Vec<i16> {
    let (mut phase, mut out) = (0u32, Vec::with_capacity(samples));
    for n in 0..samples as u32 {
        // 110 to 160 Hz: the step of the phase, 2^32 being one period.
        phase = phase.wrapping_add(59_055_800 + (n / 8 % 2000) * 13_000);
        let wave = sine(phase) + sine(phase.wrapping_mul(3)) / 2 + sine(phase.wrapping_mul(7)) / 4;
        let syllable = sine((n % 1600).wrapping_mul(1_342_177)).max(0) / 4 + 1024;
        out.push((wave / 8 * syllable / 4096) as i16);
    }
    out
}

/// A sine by Bhaskara's parabolas in whole numbers: -32,768..=32,767 over a phase of 2^32.
fn sine(phase: u32) -> i32 {
    let x = i64::from(phase >> 16) - 32_768;
    (-(x * (32_768 - x.abs()) * 4 / 32_768)).clamp(-32_768, 32_767) as i32
}

/// G.711 A-law.
fn a_law(sample: i16) -> u8 {
    let (sign, magnitude) = if sample >= 0 { (0x80, sample >> 4) } else { (0, (!sample) >> 4) };
    let code = match magnitude {
        m if m < 32 => m,
        m => {
            let segment = 12 - m.leading_zeros() as i16;
            segment << 4 | (m >> (segment - 1)) & 0x0f
        }
    };
    (code as u8 | sign) ^ 0x55
}

/// G.711 mu-law.
fn mu_law(sample: i16) -> u8 {
    let sign = if sample < 0 { 0x80 } else { 0 };
    let magnitude = i32::from(sample).abs().min(32_635) + 132;
    let exponent = 31 - magnitude.leading_zeros() as i32 - 7;
    !(sign | (exponent << 4) as u8 | (magnitude >> (exponent + 3)) as u8 & 0x0f)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G.711 tables: 0 is 0xd5 and 0xff, full scale is 0xaa and 0x80, its negative 0x2a and 0x00.
    #[test]
    fn g711_of_known_samples() {
        assert_eq!([a_law(0), a_law(32_767), a_law(-32_768)], [0xd5, 0xaa, 0x2a]);
        assert_eq!([mu_law(0), mu_law(32_767), mu_law(-32_768)], [0xff, 0x80, 0x00]);
        assert_eq!([a_law(1000), a_law(-1000)], [0xfa, 0x7a]);
        assert_eq!([mu_law(1000), mu_law(-1000)], [0xce, 0x4e]);
    }

    #[test]
    fn payloads_have_the_sizes_of_their_codecs() {
        let bank = Bank::new();
        let size = |codec, ptime| bank.get(Bank::index(codec, ptime, 3)).1.len();
        assert_eq!(size(Codec::Pcma, 20), 160);
        assert_eq!(size(Codec::G722, 40), 320);
        assert_eq!(size(Codec::G729, 30), 30);
        assert_eq!(size(Codec::AmrWb, 20), 34);
        assert_eq!(size(Codec::AmrWb, 40), 67);
    }

    #[test]
    fn speech_sounds() {
        let speech = speech(8000);
        assert!(speech.iter().any(|s| *s > 1500) && speech.iter().any(|s| *s < -1500));
    }
}
