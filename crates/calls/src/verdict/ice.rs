//! Media that found no way, as the checks of ICE show (RFC 8445 section 7).

use super::audio::{HEARD_MIN, audio_expected, audio_packets, sdp_packets, talk_ns};
use super::{Case, counted, seconds, verdict};
use crate::lane::Unanswered;
use trunkline_store::row::Verdict;

/// Checks that got no answer for so long, nanoseconds: agents send them again for some seconds (section 14.3).
const TRIED_NS: i64 = 3_000_000_000;
/// Media stops so near to the first of them: what was agreed before may go on while another way is looked for, and
/// consent is given for 30 s (RFC 7675 section 5.1).
const LOST_NS: i64 = 30_000_000_000;
/// And so many of them.
const ASKED_MIN: u32 = 7;

/// Checks that were tried for long, and got no answer since the last one that came on any way; and whether one came.
struct Tried {
    told: String,
    packet: u64,
    first_ns: i64,
    last_ns: i64,
    answered: bool,
}

fn tried(case: &Case<'_>) -> Option<Tried> {
    let checks = &case.tap.beside.checks;
    let Unanswered { first, last_ns, asked, ways } = checks.unanswered()?;
    let (all, tried_ns) = (asked[0].saturating_add(asked[1]), last_ns - first.at_ns);
    if all < ASKED_MIN || tried_ns < TRIED_NS {
        return None;
    }
    let who = match asked {
        [_, 0] => "the caller alone asked",
        [0, _] => "the callee alone asked",
        _ => "both sides asked",
    };
    let told = format!(
        "{} on {}, the first from {} to {}, got no answer in {} ({who}). Check firewalls and address translation between \
         the two, and whether a TURN server is configured.",
        counted(u64::from(all), "check"),
        counted(ways as u64, "way"),
        first.from,
        first.to,
        seconds(tried_ns)
    );
    let answered = checks.answered_ns().is_some();
    Some(Tried { told, packet: first.packet, first_ns: first.at_ns, last_ns, answered })
}

/// No audio, because no check was answered between the ends of the call.
pub fn no_way(case: &Case<'_>) -> Option<Verdict> {
    talk_ns(case)?;
    // Where another way was open media may go there.
    let tried = tried(case).filter(|tried| !tried.answered)?;
    let is_expected = audio_expected(case, 0) && audio_expected(case, 1);
    if !is_expected || audio_packets(case) >= HEARD_MIN {
        return None;
    }
    let text = format!("No audio: ICE found no way. {}", tried.told);
    let mut packets = sdp_packets(case);
    packets.push(tried.packet);
    verdict("no-audio", text, packets)
}

/// Why both sides stopped then: ICE lost its way and found no other one, as after a restart (RFC 8445 section 9). The
/// cause, and a packet that shows it.
pub(super) fn lost_way(case: &Case<'_>, stopped_ns: i64) -> Option<(String, u64)> {
    let near = |tried: &Tried| tried.last_ns > stopped_ns && tried.first_ns.abs_diff(stopped_ns) <= LOST_NS as u64;
    let tried = tried(case).filter(near)?;
    Some((format!("ICE found no way any more: {}", tried.told), tried.packet))
}
