//! Rules about what the descriptions of a call come to: an offer without an answer, codecs that are taken away.

use super::audio::{HEARD_MIN, PARTIES, audio_packets, role, sdp_packets, static_name, talk_ns};
use super::{Case, host, packets_of, seconds, verdict};
use crate::signalling::NoAnswer;
use trunkline_audio::codec::Media;
use trunkline_store::row::{Direction, Message, Verdict};
use trunkline_wire::sip::Method;

/// A codec that is still sent so long after an answer took it away was not on its way.
const CHANGED_NS: i64 = 5_000_000_000;

/// The call was accepted, and no audio agreed: the caller does not know where to send any.
pub fn nothing_agreed(case: &Case<'_>) -> Option<Verdict> {
    let (call, talk) = (case.call, talk_ns(case)?);
    let how = case.facts.troubles.as_ref()?.no_answer?;
    // A description may have come in a provisional response that is not here (RFC 3262).
    let reliable = || call.ladder.messages.iter().any(|m| m.method == Method::Prack as u8);
    let [caller, callee] = &case.facts.parties;
    let talks = |direction| call.streams.iter().any(|s| s.direction == direction && s.packets >= HEARD_MIN);
    if caller.endpoint.is_none() || callee.endpoint.is_some() || callee.fax || talks(Direction::Callee) || reliable() {
        return None;
    }
    let answer = call.ladder.messages.iter().find(|m| Some(m.at_ns) == call.answer_ns && m.status >= 200)?;
    let who = host(call, answer.src);
    let (what, why) = match how {
        NoAnswer::Missing => (
            format!("the {} of {who} has no session description, though the INVITE brought an offer", answer.status),
            "Check why that side leaves its SDP out, or what on the way takes it away",
        ),
        NoAnswer::Refused => (
            format!("the answer of {who} refuses all media (each port is 0)"),
            "Compare the codecs and transports in both SDP bodies",
        ),
    };
    let seen = if audio_packets(case) == 0 { String::new() } else { " Audio came from one side alone.".to_owned() };
    let text = format!("No audio: {what}, so that no audio was agreed in {} of talk.{seen} {why}.", seconds(talk));
    let mut packets = packets_of(call, |m| m.flags & Message::SDP != 0);
    packets.push(answer.packet);
    verdict("no-audio", text, packets)
}

/// A side goes on with a codec that a later answer does not accept any more.
pub fn codec_taken_away(case: &Case<'_>) -> Option<Verdict> {
    let narrowed = case.facts.troubles.as_ref()?.narrowed?;
    let parties = &case.facts.parties;
    // Where proxies or relays are between, each hop has descriptions of its own.
    let mut changes = case.facts.changes.iter().map(|c| (c.hosts[0].min(c.hosts[1]), c.hosts[0].max(c.hosts[1])));
    let first = changes.next()?;
    if changes.any(|hop| hop != first) || parties.iter().any(|p| p.payload_types == 0 || !p.agreed || p.fax) {
        return None;
    }
    let left = narrowed.accepted[0] | narrowed.accepted[1];
    let before = parties[0].accepted | parties[1].accepted;
    for (stream, evidence) in case.call.streams.iter().zip(case.evidence) {
        let Some(sender) = PARTIES.iter().position(|d| *d == stream.direction) else { continue };
        let taken = evidence.types.iter().filter(|t| t.packets >= HEARD_MIN && t.media == Some(Media::Audio));
        let mut taken = taken.filter(|t| before & !left & (1 << (t.payload_type & 127)) != 0);
        let Some(typed) = taken.find(|t| t.last_ns >= narrowed.at_ns.saturating_add(CHANGED_NS)) else { continue };
        let (who, number, name) = (role(PARTIES[sender]), typed.payload_type, static_name(typed.payload_type));
        let after_ns = narrowed.at_ns.saturating_sub(case.call.answer_ns?);
        let text = match seconds(after_ns.saturating_abs()) {
            before if after_ns < 0 => format!(
                "The {who} sends payload type {number}{name}, which an answer {before} before the call was taken (to PRACK \
                 or UPDATE) does not accept any more."
            ),
            after => format!(
                "The {who} goes on to send payload type {number}{name}, which the answer {after} after the first one does \
                 not accept any more."
            ),
        };
        let mut packets = sdp_packets(case);
        packets.push(stream.packet_last);
        return verdict("codec-mismatch", text, packets);
    }
    None
}
