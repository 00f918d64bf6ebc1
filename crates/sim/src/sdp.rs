//! Session descriptions (RFC 8866) of the world's subscribers.

use crate::codec::{COMFORT_NOISE, Codec};
use crate::mixture::{Rtcp, Video};
use crate::scene::{Host, Party, Scene, video_of};
use std::io::Write;
use trunkline_wire::Endpoint;

/// Which way media is meant to flow (RFC 3264 section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Mode {
    #[default]
    SendRecv,
    SendOnly,
    RecvOnly,
    Inactive,
}

impl Mode {
    /// The attribute.
    fn name(self) -> &'static str {
        ["sendrecv", "sendonly", "recvonly", "inactive"][self as usize]
    }

    /// What the answer to an offer of this mode says.
    pub fn answer(self) -> Mode {
        [Mode::SendRecv, Mode::RecvOnly, Mode::SendOnly, Mode::Inactive][self as usize]
    }

    /// Whether who says it sends.
    pub fn sends(self) -> bool {
        matches!(self, Mode::SendRecv | Mode::SendOnly)
    }
}

/// A session description of one side, in brief.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sdp {
    pub mode: Mode,
    /// Codecs by preference.
    pub codecs: [Option<Codec>; 3],
    /// Version of the origin line: counts changes.
    pub version: u8,
    /// A fax over T.38 and no audio.
    pub fax: bool,
    /// With candidates of ICE, more than fit into one packet.
    pub large: bool,
    /// Nothing is to be sent here: the address is 0.0.0.0, as RFC 2543 had it.
    pub zero: bool,
    /// Another machine speaks on.
    pub agent: bool,
}

/// Writes the description of `host`, which takes audio at `media`.
pub(crate) fn write(out: &mut Vec<u8>, scene: &Scene, (party, host): (Party, &Host), media: Endpoint, sdp: &Sdp) {
    let family = if media.address.is_v4() { "IP4" } else { "IP6" };
    let session = u64::from(scene.ssrcs[0]) + 3_976_000_000;
    // Writing to a vector does not fail.
    let _ = write!(
        out,
        "v=0\r\no=- {session} {} IN {family} {address}\r\ns=-\r\nc=IN {family} {}\r\nt=0 0\r\n",
        session + u64::from(sdp.version),
        match (sdp.zero, media.address.is_v4()) {
            (false, _) => media.address.to_string(),
            (true, true) => "0.0.0.0".into(),
            (true, false) => "::".into(),
        },
        address = media.address,
    );
    if sdp.fax {
        let _ = write!(out, "m=image {} udptl t38\r\na=T38FaxVersion:0\r\na=T38MaxBitRate:14400\r\n", media.port);
        return;
    }
    let sections = scene.sections;
    if sections.video == Video::Bundled {
        out.extend_from_slice(b"a=group:BUNDLE a v\r\n");
    }
    if sections.video_first {
        video(out, scene, (party, host), media, sdp);
    }
    audio(out, scene, (party, host), media, sdp);
    if sdp.large {
        candidates(out, media);
    }
    if !sections.video_first {
        video(out, scene, (party, host), media, sdp);
    }
    if sections.text {
        let _ = write!(out, "m=text {} RTP/AVP 119\r\na=rtpmap:119 t140/1000\r\n", (media.port / 2 + 1000) & !1);
    }
    if sections.application {
        let port = if party == Party::Caller { 5070 } else { 0 };
        let _ = write!(out, "m=application {port} UDP/BFCP *\r\na=floorctrl:c-s\r\n");
    }
}

/// The section for video; the callee refuses it with port 0 (RFC 3264 section 6).
fn video(out: &mut Vec<u8>, scene: &Scene, (party, host): (Party, &Host), media: Endpoint, sdp: &Sdp) {
    let port = match scene.sections.video {
        Video::None => return,
        Video::Refused if party != Party::Caller => 0,
        _ => video_of(media, scene.sections).port,
    };
    let codec = scene.video_codec();
    let payload_type = codec.payload_type(host.map);
    let _ = write!(
        out,
        "m=video {port} RTP/AVP {payload_type}\r\nb=AS:512\r\na=rtpmap:{payload_type} {}/90000\r\na={}\r\n",
        codec.name(),
        sdp.mode.name()
    );
    if scene.sections.video == Video::Bundled {
        out.extend_from_slice(b"a=mid:v\r\na=rtcp-mux\r\n");
    } else if scene.mux {
        out.extend_from_slice(b"a=rtcp-mux\r\n");
    }
}

fn audio(out: &mut Vec<u8>, scene: &Scene, (party, host): (Party, &Host), media: Endpoint, sdp: &Sdp) {
    let port = media.port;
    let codecs = || sdp.codecs.into_iter().flatten();
    let clock = codecs().next().map_or(8000, Codec::clock_rate);
    let event = codecs().next().map_or(101, |c| c.event_payload_type(host.map));
    let comfort = scene.discontinuous && codecs().any(|c| matches!(c, Codec::Pcmu | Codec::Pcma | Codec::G722));
    let protocol = match scene.opener {
        Some(_) => "TCP/RTP/AVP",
        None if scene.keyed => "UDP/TLS/RTP/SAVP",
        None => "RTP/AVP",
    };
    let _ = write!(out, "m=audio {port} {protocol}");
    for codec in codecs() {
        let _ = write!(out, " {}", codec.payload_type(host.map));
    }
    if comfort {
        let _ = write!(out, " {COMFORT_NOISE}");
    }
    let _ = write!(out, " {event}\r\n");
    for codec in codecs() {
        describe(out, codec, codec.payload_type(host.map));
    }
    if comfort {
        let _ = write!(out, "a=rtpmap:{COMFORT_NOISE} CN/8000\r\n");
    }
    let _ = write!(out, "a=rtpmap:{event} telephone-event/{clock}\r\na=fmtp:{event} 0-16\r\n");
    let _ = write!(out, "a=ptime:{}\r\na={}\r\n", scene.ptime_ms, sdp.mode.name());
    if scene.sections.video == Video::Bundled {
        out.extend_from_slice(b"a=mid:a\r\n");
    }
    if scene.mux {
        out.extend_from_slice(b"a=rtcp-mux\r\n");
    }
    if let Some(Endpoint { address, port }) = scene.control(media) {
        let family = if address.is_v4() { "IP4" } else { "IP6" };
        let _ = match scene.rtcp {
            Rtcp::Port => write!(out, "a=rtcp:{port}\r\n"),
            _ => write!(out, "a=rtcp:{port} IN {family} {address}\r\n"),
        };
    }
    if let Some(opener) = scene.opener {
        let setup = if (opener == Party::Caller) == (party == Party::Caller) { "active" } else { "passive" };
        let connection = if sdp.version > 1 { "existing" } else { "new" };
        let _ = write!(out, "a=setup:{setup}\r\na=connection:{connection}\r\n");
    }
    if scene.keyed {
        let _ =
            write!(out, "a=setup:{}\r\na=fingerprint:SHA-256 4A", if sdp.version > 0 { "actpass" } else { "active" });
        (1..32).for_each(|n| _ = write!(out, ":{:02X}", n * 7));
        out.extend_from_slice(b"\r\n");
    }
}

fn describe(out: &mut Vec<u8>, codec: Codec, payload_type: u8) {
    let (name, rate) = (codec.name(), codec.clock_rate());
    let _ = match codec {
        // RFC 7587 section 7: always two channels; its parameters follow.
        Codec::Opus => {
            write!(out, "a=rtpmap:{payload_type} opus/48000/2\r\na=fmtp:{payload_type} useinbandfec=1;minptime=10\r\n")
        }
        Codec::AmrWb => {
            write!(out, "a=rtpmap:{payload_type} AMR-WB/16000\r\na=fmtp:{payload_type} octet-align=1; mode-set=2\r\n")
        }
        Codec::G729 => write!(out, "a=rtpmap:{payload_type} G729/8000\r\na=fmtp:{payload_type} annexb=yes\r\n"),
        _ => write!(out, "a=rtpmap:{payload_type} {name}/{rate}\r\n"),
    };
}

/// Twelve candidates (RFC 8839 section 5.1), the first of which is the media address; the others are of interfaces that
/// nobody reaches, so that no port of another call is among them.
fn candidates(out: &mut Vec<u8>, media: Endpoint) {
    out.extend_from_slice(b"a=ice-ufrag:F7gI\r\na=ice-pwd:x9cml/YzichV2+XlhiMu8g\r\n");
    let octets = media.address.octets();
    let host = u16::from_be_bytes([octets[octets.len() - 2], octets[octets.len() - 1]]);
    for n in 0..12u32 {
        let (foundation, component) = (n / 2 + 1, n % 2 + 1);
        let priority = 2_130_706_431 - n * 256;
        let _ = write!(out, "a=candidate:{foundation} {component} UDP {priority} ");
        let _ = match (n / 2, octets.len()) {
            (0, _) => write!(out, "{}", media.address),
            (n, 4) => write!(out, "172.{}.{}.{}", 16 + n, host >> 8, host & 0xff),
            (n, _) => write!(out, "fd00:{n}::{host:x}"),
        };
        let _ = write!(out, " {} typ host\r\n", u32::from(media.port) + n % 2);
    }
}
