//! Media whose keys were never agreed (DTLS-SRTP, RFC 5763).

use super::audio::{HEARD_MIN, audio_expected, audio_packets, sdp_packets, talk_ns};
use super::{Case, verdict};
use trunkline_store::row::Verdict;

/// No audio, because the handshake that was to agree on its keys failed, or nothing came back.
pub fn no_keys(case: &Case<'_>) -> Option<Verdict> {
    talk_ns(case)?;
    let handshake = case.tap.beside.handshake?;
    let is_expected = audio_expected(case, 0) && audio_expected(case, 1);
    if !is_expected || audio_packets(case) >= HEARD_MIN {
        return None;
    }
    let (client, server) = (handshake.client, handshake.server);
    let (why, check) = match handshake.alert {
        Some((by, alert)) => (
            format!("{by} gave the DTLS handshake up: alert {alert}{}", meaning(alert)),
            "Check the certificates and the fingerprints in SDP, and the versions and ciphers that both sides allow.",
        ),
        None if handshake.answered => (
            format!("the DTLS handshake of {client} with {server} did not come to its end"),
            "Check whether large datagrams pass the way in both directions: certificates often come in fragments.",
        ),
        None => (
            format!("{client} began a DTLS handshake and {server} did not answer"),
            "Check whether that side knows of DTLS-SRTP, the roles in SDP (a=setup), and the way there and back.",
        ),
    };
    let text = format!("No audio: no keys for its encryption were agreed, since {why}. {check}");
    let mut packets = sdp_packets(case);
    packets.push(handshake.packet);
    verdict("no-audio", text, packets)
}

/// What an alert says (RFC 8446 section 6, RFC 5246 section 7.2).
fn meaning(alert: u8) -> &'static str {
    match alert {
        10 => " (unexpected message)",
        20 => " (bad record MAC)",
        40 => " (handshake failure: no cipher or curve in common)",
        42 => " (bad certificate: its fingerprint is perhaps not that in SDP)",
        43 => " (unsupported certificate)",
        45 => " (certificate expired)",
        46 => " (certificate unknown)",
        47 => " (illegal parameter)",
        48 => " (unknown CA: the fingerprint was not compared)",
        50 => " (decode error)",
        51 => " (decrypt error)",
        70 => " (protocol version)",
        71 => " (insufficient security)",
        80 => " (internal error)",
        _ => "",
    }
}
