//! Media that passes the tap inside TURN, where it is not analysed.

use super::audio::{PARTIES, audio_expected, audio_packets, role, sdp_packets, silent_side, talk_ns};
use super::{Case, verdict};
use trunkline_store::row::Verdict;

/// No audio was seen, of the call or of one side, and media of that side's address was seen inside TURN: silence says
/// nothing.
pub fn media_inside_turn(case: &Case<'_>) -> Option<Verdict> {
    let talk = talk_ns(case)?;
    let is_unseen = audio_packets(case) == 0 && audio_expected(case, 0) && audio_expected(case, 1);
    let party = match silent_side(case, talk) {
        Some(silent) => Some(silent).filter(|party| case.tap.inside_turn[*party]),
        None if is_unseen => (0..2).find(|party| case.tap.inside_turn[*party]),
        None => None,
    }?;
    let of = case.facts.parties[party].endpoint?.address;
    let who = role(PARTIES[party]);
    let text = format!(
        "Media of the {who} was not analysed: its RTP ({of}) was seen inside TURN. Nothing is known about its audio."
    );
    verdict("media-not-captured", text, sdp_packets(case))
}
