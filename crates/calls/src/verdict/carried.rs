//! Media that goes in another way than as RTP over UDP, and is not known to be this call's: over TCP or inside TURN
//! between addresses that no SDP names, inside TLS, or between ports that no SDP names.

use super::audio::{PARTIES, audio_expected, audio_packets, role, sdp_packets, silent_side, talk_ns};
use super::{Case, verdict};
use crate::lane::{Carrier, Stray};
use crate::signalling::PartyMedia;
use trunkline_store::row::Verdict;

/// No audio was seen, of the call or of one side, and media of that side may have gone in a way that is not analysed:
/// silence says nothing.
pub fn media_carried(case: &Case<'_>) -> Option<Verdict> {
    let talk = talk_ns(case)?;
    if (0..2).all(|party| way(case, party).is_none()) {
        return None;
    }
    let is_unseen = audio_packets(case) == 0 && audio_expected(case, 0) && audio_expected(case, 1);
    let (party, way) = match silent_side(case, talk) {
        Some(silent) => Some((silent, way(case, silent)?)),
        None if is_unseen => (0..2).find_map(|party| Some((party, way(case, party)?))),
        None => None,
    }?;
    let text =
        format!("Media of the {} was not analysed: {way}. Nothing is known about its audio.", role(PARTIES[party]));
    verdict("media-not-captured", text, sdp_packets(case))
}

/// How media of a party went.
fn way(case: &Case<'_>, party: usize) -> Option<String> {
    let media = &case.facts.parties[party];
    let of = media.endpoint?;
    match case.tap.carried[party] {
        _ if media.over_tls => Some(format!("its SDP asks for media inside TLS at {of}")),
        Some(Carrier::Tcp) => Some(format!(
            "RTP of its host ({}) was seen over TCP (RFC 4571), and it is not known to which call it belongs",
            of.address
        )),
        Some(Carrier::Turn) => Some(format!(
            "RTP of its host ({}) was seen inside TURN, and it is not known to which call it belongs",
            of.address
        )),
        None => stray(case, party).map(|stray| {
            format!(
                "RTP of its host was seen from {} to {}, which no SDP names, as if address translation changed the ports \
                 of both sides, and it is not known to which call it belongs",
                stray.from, stray.to
            )
        }),
    }
}

/// A stream from a host of a party to one of the other on ports that no call names, where a translator is known to be
/// between: other hosts have streams of other calls whose signalling was not seen.
pub(super) fn stray(case: &Case<'_>, party: usize) -> Option<Stray> {
    case.tap.beside.strays[party].filter(|_| case.facts.parties.iter().any(PartyMedia::behind_nat))
}
