//! A relay of TURN that is silent towards its client.

use super::audio::{self, HEARD_MIN, PARTIES, audio_expected, role, sdp_packets};
use super::{Case, seconds, talk, verdict};
use crate::ledger::{Evidence, InTurn};
use trunkline_store::row::{Stream, Verdict};

/// Audio of a party after the answer, with what is known of it besides.
fn sent<'a>(case: &'a Case<'_>, party: usize) -> impl Iterator<Item = (&'a Stream, &'a Evidence)> + Clone {
    let all = case.call.streams.iter().zip(case.evidence);
    all.filter(move |(s, e)| {
        let is_audio = s.direction == PARTIES[party] && !audio::is_video(Some(e));
        is_audio && talk::is_heard_after(case.call.answer_ns, PARTIES[party], &e.sound)
    })
}

/// What goes to a relay for its client, and what the client sends through it: nothing of the former comes to the
/// client inside TURN.
fn withheld<'a>(case: &'a Case<'_>, listener: usize) -> Option<[&'a Stream; 2]> {
    let (own, _) = sent(case, listener).find(|(s, e)| e.turn == InTurn::Up && s.packets >= HEARD_MIN)?;
    let mut to_relay = sent(case, 1 - listener).filter(|(s, _)| s.dst == own.src);
    let inside: u64 = to_relay.clone().filter(|(_, e)| e.turn == InTurn::Down).map(|(s, _)| s.packets).sum();
    // Outside of TURN, or inside on the way to the relay of the other one.
    let (stream, _) = to_relay.find(|(s, e)| e.turn != InTurn::Down && s.packets >= HEARD_MIN)?;
    (inside < HEARD_MIN).then_some([stream, own])
}

/// The audio of one side reaches the relay of the other one, and the relay sends nothing to its client.
pub fn relay_is_silent(case: &Case<'_>) -> Option<Verdict> {
    let talk_ns = audio::talk_ns(case)?;
    if audio::why_not_captured(case, talk_ns).is_some() {
        return None;
    }
    (0..2).filter(|listener| audio_expected(case, 1 - listener)).find_map(|listener| {
        let [stream, own] = withheld(case, listener)?;
        let (who, other) = (role(PARTIES[listener]), role(PARTIES[1 - listener]));
        let text = format!(
            "One-way audio: in {} the {who} heard nothing: what the {other} sends reaches {}, the relay of the {who}, \
             and nothing of it comes from the relay inside TURN. Check the permissions and channels of the relay, and \
             the way from there to its client.",
            seconds(talk_ns),
            stream.dst
        );
        let mut packets = sdp_packets(case);
        packets.extend([stream.packet_first, own.packet_first]);
        verdict("one-way-audio", text, packets)
    })
}
