//! Media whose keys were never agreed (DTLS-SRTP, RFC 5763).

use super::audio::{HEARD_MIN, PARTIES, audio_expected, audio_packets, role, sdp_packets, talk_ns};
use super::{Case, verdict};
use crate::lane::Handshake;
use crate::signalling::Change;
use trunkline_store::row::Verdict;
use trunkline_wire::sdp::Setup;

/// No audio, because the handshake that was to agree on its keys failed, or nothing came back, or nobody was to begin.
pub fn no_keys(case: &Case<'_>) -> Option<Verdict> {
    talk_ns(case)?;
    let beside = &case.tap.beside;
    // Where nothing passes the tap nothing is known.
    let is_begun = beside.handshake.is_some();
    if !is_begun && (beside.shook || case.tap.passes != [true; 2]) {
        return None;
    }
    let roles = roles(case);
    if !is_begun && roles.is_none() {
        return None;
    }
    let is_expected = audio_expected(case, 0) && audio_expected(case, 1);
    if !is_expected || audio_packets(case) >= HEARD_MIN {
        return None;
    }
    let (why, check) = match (roles, beside.handshake) {
        (Some(roles), handshake) if handshake.is_none_or(|h| !h.answered && h.alert.is_none()) => (
            roles,
            "The answer has to choose a=setup:active where actpass is offered, and the opposite of what is offered \
             otherwise (RFC 8842 section 5).",
        ),
        (_, handshake) => failed(&handshake?),
    };
    let text = format!("No audio: no keys for its encryption were agreed, since {why}. {check}");
    let mut packets = sdp_packets(case);
    packets.extend(beside.handshake.map(|handshake| handshake.packet));
    verdict("no-audio", text, packets)
}

/// Why a handshake failed, and what to check.
fn failed(handshake: &Handshake) -> (String, &'static str) {
    let (client, server) = (handshake.client, handshake.server);
    match handshake.alert {
        Some((by, alert)) => (
            format!("{by} gave the DTLS handshake up: alert {alert}{}", meaning(alert)),
            "Check the certificates and the fingerprints in SDP, and the versions and ciphers that both sides allow.",
        ),
        None if handshake.answered => (
            format!("the DTLS handshake of {client} with {server} did not come to its end"),
            "Check whether large datagrams pass the way in both directions: certificates often come in fragments.",
        ),
        None if handshake.by_both => (
            format!("{client} and {server} both began a DTLS handshake, and neither answered"),
            "Check the roles in SDP (a=setup), as each side has it.",
        ),
        None => (
            format!("{client} began a DTLS handshake and {server} did not answer"),
            "Check whether that side knows of DTLS-SRTP, the roles in SDP (a=setup), and the way there and back.",
        ),
    }
}

/// Roles in a handshake as they were last agreed between two hosts, if they do not fit (RFC 8842 section 5).
fn roles(case: &Case<'_>) -> Option<String> {
    let changes = &case.facts.changes;
    changes.iter().enumerate().find_map(|(at, change)| {
        let same_hop =
            |later: &Change| later.hosts == change.hosts || later.hosts == [change.hosts[1], change.hosts[0]];
        if changes[at + 1..].iter().any(same_hop) {
            return None;
        }
        let (offered, answered) = (change.parties[1 - change.by].setup, change.parties[change.by].setup);
        let who = role(PARTIES[change.by]);
        match (offered, answered?) {
            (_, Setup::Actpass) => Some(format!(
                "the answer of the {who} says a=setup:actpass, and does not choose who begins the handshake"
            )),
            (Some(Setup::Active), Setup::Active) => Some(
                "both sides say a=setup:active in SDP: each begins a handshake, and neither waits for one".to_owned(),
            ),
            (Some(Setup::Passive), Setup::Passive) => {
                Some("both sides say a=setup:passive in SDP: each waits for the handshake of the other".to_owned())
            }
            _ => None,
        }
    })
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
