//! What the sender of a stream means to send, and what is around its packets.

use crate::codec::Codec;
use crate::impair::Impairment;
use crate::net::sum;
use crate::passage::{Around, TAG_OCTETS};
use crate::random::Random;
use crate::truth::Who;
use trunkline_wire::Endpoint;

/// What a sender means to send.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub who: Who,
    /// 0 next to the caller, 1 behind a relay that passes media on.
    pub hop: u8,
    pub ssrc: u32,
    pub from: Endpoint,
    pub to: Endpoint,
    /// RTCP goes to the port of RTP.
    pub mux: bool,
    /// From where to where RTCP goes, if SDP names that.
    pub control: Option<[Endpoint; 2]>,
    pub rtcp: bool,
    pub start_ns: i64,
    pub stop_ns: i64,
    /// When it does not send: hold.
    pub pauses: Vec<(i64, i64)>,
    pub codec: Codec,
    pub ptime_ms: u8,
    /// The mapping of payload types that the receiver's SDP has.
    pub map: u8,
    /// From when on another codec of the same clock is sent.
    pub change: Option<(i64, Codec)>,
    /// Digits and when they are pressed, by time.
    pub digits: Vec<(i64, u8)>,
    /// Prompts, by time.
    pub prompts: Vec<Prompt>,
    /// Silence is not sent.
    pub discontinuous: bool,
    pub impairment: Impairment,
    /// Share of what passes the tap that its receiver loses.
    pub lost_behind: f64,
    /// Delay from the sender to the tap, and from the tap to the receiver.
    pub path_ns: [i64; 2],
    /// What of TURN is around it.
    pub around: Option<Around>,
    /// It goes over a TCP connection, each packet behind its length (RFC 4571).
    pub over_tcp: bool,
    /// It is SRTP.
    pub encrypted: bool,
}

/// From a time on timestamps and sequence numbers are this much off those of the stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prompt {
    pub at_ns: i64,
    pub timestamps: u32,
    pub numbers: u16,
    /// Whether its first packet has the marker bit.
    pub marked: bool,
}

impl Spec {
    /// RTP and nothing around it.
    pub fn is_plain(&self) -> bool {
        self.around.is_none() && !self.encrypted && !self.over_tcp
    }

    /// What is on the wire of a packet: a header in the clear, what may be ciphered, what follows it then.
    pub fn wrap(&self, header: &[u8], content: &[u8], index: &[u8]) -> Vec<u8> {
        let mut packet = header.to_vec();
        match self.encrypted {
            true => {
                let mut random =
                    Random::new(u64::from(self.ssrc) ^ (content.len() as u64) << 40 ^ u64::from(sum(header)));
                packet.extend(content.iter().map(|octet| octet ^ random.bits() as u8));
                packet.extend_from_slice(index);
                packet.extend((0..TAG_OCTETS).map(|_| random.bits() as u8));
            }
            false => packet.extend_from_slice(content),
        }
        match self.around {
            Some(around) => around.wrap(&packet),
            None => packet,
        }
    }
}
