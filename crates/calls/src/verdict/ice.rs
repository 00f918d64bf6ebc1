//! Media that found no way, as the checks of ICE show (RFC 8445 section 7).

use super::audio::{HEARD_MIN, audio_expected, audio_packets, sdp_packets, talk_ns};
use super::{Case, counted, seconds, verdict};
use trunkline_store::row::Verdict;

/// Checks that got no answer for so long, nanoseconds: agents send them again for some seconds (section 14.3).
const TRIED_NS: i64 = 3_000_000_000;
/// And so many of them.
const ASKED_MIN: u32 = 7;

/// No audio, because no check was answered between the ends of the call.
pub fn no_way(case: &Case<'_>) -> Option<Verdict> {
    talk_ns(case)?;
    let checks = &case.tap.beside.checks;
    let first = checks.first?;
    let asked = checks.asked[0].saturating_add(checks.asked[1]);
    let tried_ns = checks.last_ns - first.at_ns;
    // Where another way was open, or not all is known, media may go there.
    if checks.answered > 0 || checks.overflow || asked < ASKED_MIN || tried_ns < TRIED_NS {
        return None;
    }
    let is_expected = audio_expected(case, 0) && audio_expected(case, 1);
    if !is_expected || audio_packets(case) >= HEARD_MIN {
        return None;
    }
    let who = match checks.asked {
        [_, 0] => "the caller alone asked",
        [0, _] => "the callee alone asked",
        _ => "both sides asked",
    };
    let text = format!(
        "No audio: ICE found no way. {} on {}, the first from {} to {}, got no answer in {} ({who}). Check firewalls and \
         address translation between the two, and whether a TURN server is configured.",
        counted(u64::from(asked), "check"),
        counted(checks.ways() as u64, "way"),
        first.from,
        first.to,
        seconds(tried_ns)
    );
    let mut packets = sdp_packets(case);
    packets.push(first.packet);
    verdict("no-audio", text, packets)
}
