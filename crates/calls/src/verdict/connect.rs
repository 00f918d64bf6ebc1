//! Media over TCP whose connection was never made (RFC 4145).

use super::audio::{HEARD_MIN, audio_expected, audio_packets, sdp_packets, talk_ns};
use super::{Case, counted, verdict};
use trunkline_store::row::Verdict;

/// A SYN that was sent so often more is not answered: two that are lost are chance.
const ASKED_MIN: u32 = 3;

/// No audio, because the connection that was to carry it was refused, or not answered.
pub fn no_connection(case: &Case<'_>) -> Option<Verdict> {
    talk_ns(case)?;
    let vain = case.tap.beside.vain?;
    let is_expected = audio_expected(case, 0) && audio_expected(case, 1);
    if !is_expected || audio_packets(case) >= HEARD_MIN {
        return None;
    }
    let (from, to) = (vain.from, vain.to);
    let [asked, refused] = vain.times;
    let what = match () {
        () if refused > 0 => {
            format!("{to} refused the TCP connection that {from} asked for ({})", counted(refused.into(), "RST"))
        }
        () if asked >= ASKED_MIN => {
            format!("{to} did not answer {from}, which asked for a TCP connection {} times", asked + 1)
        }
        () => return None,
    };
    let text = format!(
        "No audio: {what}. Check whether a program listens there, whether SDP names the right address and port for \
         a=setup:passive, and firewalls on the way."
    );
    let mut packets = sdp_packets(case);
    packets.push(vain.packet);
    verdict("no-audio", text, packets)
}
