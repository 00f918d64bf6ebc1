//! The packet time of a stream and where its talkspurts begin.

use trunkline_audio::Codec;
use trunkline_audio::codec::Framing;

/// Payloads shorter than this are silence descriptors of G.729 and the AMR family: they do not tell the packet time.
const SPEECH_OCTETS_MIN: u32 = 9;

/// Longest packet time that is believed, milliseconds.
const PACKET_MS_MAX: f32 = 400.0;

#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    /// Ticks of the timestamp from the packet before to the last in sequence.
    step: u32,
    /// What tells the packet time without timestamps: the payload's length, or Opus' first octets.
    key: u32,
    /// Packet time, milliseconds; 0 while it is not known.
    packet_ms: f32,
    /// A packet time that one packet showed; the second makes it that of the stream.
    candidate_ms: f32,
    /// Length of the last speech payload.
    pub(super) speech_octets: u32,
    pub(super) talkspurts: u32,
}

/// What a packet is beside its timing.
#[derive(Clone, Copy)]
pub(super) struct Speech<'a> {
    pub(super) codec: Option<&'static Codec>,
    pub(super) payload: &'a [u8],
    pub(super) octets: u32,
    /// Ticks of the timestamp since the packet before.
    pub(super) step: u32,
    pub(super) tick_ms: f64,
    /// Whether it is the next in sequence.
    pub(super) next: bool,
    pub(super) marker: bool,
}

impl Pace {
    pub(super) fn new(packet_ms: u16) -> Pace {
        Pace { packet_ms: f32::from(packet_ms), ..Pace::default() }
    }

    /// What SDP says, taken until packets tell.
    pub(super) fn announce(&mut self, packet_ms: u16) {
        if self.packet_ms == 0.0 {
            self.packet_ms = f32::from(packet_ms);
        }
    }

    /// The codec changed: what was learnt of the packet time is void.
    pub(super) fn forget(&mut self) {
        (self.step, self.key, self.candidate_ms) = (0, 0, 0.0);
    }

    #[inline]
    pub(super) fn packet_ms(&self) -> f32 {
        self.packet_ms
    }

    /// Takes a packet of speech; true where a talkspurt begins.
    #[inline]
    pub(super) fn packet(&mut self, speech: Speech) -> bool {
        let key = key(&speech);
        if speech.step == self.step && key == self.key && !speech.marker {
            return false;
        }
        self.change(speech, key)
    }

    #[cold]
    fn change(&mut self, speech: Speech, key: u32) -> bool {
        let step_ms = (f64::from(speech.step as i32) * speech.tick_ms) as f32;
        let paused = speech.next && self.packet_ms > 0.0 && step_ms > 1.5 * self.packet_ms;
        let talkspurt = speech.marker || paused || self.talkspurts == 0;
        self.talkspurts = self.talkspurts.saturating_add(u32::from(talkspurt));
        if speech.octets < SPEECH_OCTETS_MIN {
            return talkspurt;
        }
        self.speech_octets = speech.octets;
        self.key = key;
        if speech.next {
            self.step = speech.step;
        }
        // The timestamps go before the length, which has the tag of SRTP in it (RFC 3711 section 3.1).
        let stepped = (speech.next && !talkspurt).then_some(step_ms);
        let told = || speech.codec.and_then(|c| c.payload_ms(speech.payload, speech.octets)).filter(whole);
        if let Some(ms) = stepped.or_else(told).filter(|&ms| ms >= 1.0 && ms <= PACKET_MS_MAX) {
            self.learn(ms);
        }
        talkspurt
    }

    fn learn(&mut self, ms: f32) {
        if self.packet_ms == 0.0 || ms == self.candidate_ms {
            self.packet_ms = ms;
        }
        self.candidate_ms = ms;
        // The next packet has to be looked at as well, until two agree.
        if ms != self.packet_ms {
            self.key = 0;
        }
    }
}

/// Packet times are multiples of 2.5 ms; what is not has something beside the samples in it.
fn whole(ms: &f32) -> bool {
    (ms / 2.5).fract() == 0.0
}

#[inline]
fn key(speech: &Speech) -> u32 {
    match speech.codec.map(|c| &c.framing) {
        Some(Framing::Timestamps) | None => 1,
        Some(Framing::Opus) => match speech.payload {
            [toc, count, ..] if toc & 3 == 3 => u32::from_be_bytes([1, 0, *toc, *count]),
            [toc, ..] => u32::from_be_bytes([1, 1, *toc, 0]),
            [] => 1,
        },
        Some(_) => speech.octets,
    }
}
