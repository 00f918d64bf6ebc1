//! Streams whose keys were agreed by DTLS on their own flow, whatever their SDP says, and calls whose handshake failed
//! (reported of rtpengine, FreeSWITCH and pjsip: "DTLS handshake failure", "no audio").

use crate::tape::{Side, Tape, end, fragments, kind, says, sdp, streams, udp};
use trunkline_wire::Endpoint;

fn record(content: u8, epoch: u8, body: &[u8]) -> Vec<u8> {
    let mut octets = vec![content, 0xfe, 0xfd, 0, epoch, 0, 0, 0, 0, 0, 0];
    octets.extend((body.len() as u16).to_be_bytes());
    octets.extend(body);
    octets
}

fn client_hello() -> Vec<u8> {
    record(22, 0, &[1, 0, 0, 40, 0, 0, 0, 0, 0, 0, 0, 40, 0xfe, 0xfd])
}

/// Hello and a certificate that makes the datagram long.
fn server_hello() -> Vec<u8> {
    [record(22, 0, &[2, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0]), record(22, 0, &[11; 1200])].concat()
}

fn finished() -> Vec<u8> {
    [record(20, 0, &[1]), record(22, 1, &[0xaa; 40])].concat()
}

/// A handshake from `client` to `server`.
fn handshake(tape: &mut Tape, at_ms: i64, [client, server]: [Endpoint; 2]) {
    tape.udp(at_ms, client, server, &client_hello());
    for piece in fragments_of(server, client, &server_hello()) {
        tape.push(at_ms + 3, piece);
    }
    tape.udp(at_ms + 5, client, server, &finished());
    tape.udp(at_ms + 8, server, client, &finished());
}

/// The server's flight is too long for one packet.
fn fragments_of(from: Endpoint, to: Endpoint, payload: &[u8]) -> Vec<Vec<u8>> {
    match from.address.is_v4() {
        true => fragments(from, to, 77, payload).to_vec(),
        false => vec![udp(from, to, payload)],
    }
}

const AUDIO: &str = "audio RTP/AVP 0";

fn sides(media: [Endpoint; 2], attributes: &[&str]) -> [Side; 2] {
    let side = |media: Endpoint, tag| Side {
        signals: Endpoint::new(media.address, 5060),
        tag,
        sdp: sdp(media, AUDIO, attributes),
    };
    [side(media[0], "a"), side(media[1], "b")]
}

const ENDS: [[&str; 2]; 2] =
    [["192.0.2.1:4000", "198.51.100.2:5000"], ["[2001:db8::1]:40000", "[2001:db8:2::2]:52000"]];

/// Others of the same networks.
const NEIGHBOURS: [[&str; 2]; 2] =
    [["192.0.2.200:30000", "198.51.100.200:30000"], ["[2001:db8::200]:30000", "[2001:db8:2::200]:30000"]];

#[test]
fn a_stream_that_follows_a_handshake_is_encrypted() {
    for ends in ENDS {
        let media = ends.map(end);
        for (attributes, client) in [(&["fingerprint:sha-256 00"][..], 0), (&[], 0), (&[], 1)] {
            let [a, b] = &sides(media, attributes);
            let mut tape = Tape::default();
            tape.call(0, "k1", [a, b]);
            handshake(&mut tape, 2_050, [media[client], media[1 - client]]);
            tape.media((2_100, 8_000), 1, |o| udp(media[0], media[1], o));
            tape.media((2_100, 8_000), 2, |o| udp(media[1], media[0], o));
            tape.bye(8_000, "k1", [a, b]);
            let (call, ..) = tape.call_of();
            assert_eq!(call.verdict, None);
            assert_eq!(call.streams.len(), 2);
            assert!(call.streams.iter().all(|s| s.encrypted && s.packets == 295), "{:?}", streams(&call));
        }
    }
}

#[test]
fn a_stream_without_signalling_is_encrypted_too_and_its_neighbour_is_not() {
    let media = ENDS[0].map(end);
    let other = [end("192.0.2.1:4002"), end("198.51.100.2:5002")];
    let mut tape = Tape::default();
    handshake(&mut tape, 0, media);
    tape.media((100, 4_000), 1, |o| udp(media[0], media[1], o));
    tape.media((100, 4_000), 2, |o| udp(other[0], other[1], o));
    // Long after it the ports have another call.
    tape.media((4_000_000, 4_004_000), 3, |o| udp(media[0], media[1], o));
    let (rows, _) = tape.read();
    let told: Vec<_> = rows.streams.iter().map(|s| (s.ssrc, s.encrypted)).collect();
    assert_eq!(told, [(1, true), (2, false), (3, false)]);
}

#[test]
fn digits_are_not_read_from_ciphers() {
    let media = ENDS[0].map(end);
    for encrypted in [true, false] {
        let side = |at: usize, tag| Side {
            signals: Endpoint::new(media[at].address, 5060),
            tag,
            sdp: sdp(media[at], "audio RTP/AVP 0 101", &["rtpmap:101 telephone-event/8000"]),
        };
        let (a, b) = (&side(0, "a"), &side(1, "b"));
        let mut tape = Tape::default();
        tape.call(0, "k2", [a, b]);
        if encrypted {
            handshake(&mut tape, 2_050, media);
        }
        for (n, side) in [(1, 0), (2, 1)] {
            tape.media((2_100, 8_000), n, |o| udp(media[side], media[1 - side], o));
        }
        for n in 0..6u16 {
            let mut event = vec![0x80, 101];
            event.extend((295 + n).to_be_bytes());
            event.extend((295u32 * 160).to_be_bytes());
            event.extend(1u32.to_be_bytes());
            event.extend([5, 10, 0, 160]);
            tape.udp(8_001 + 20 * i64::from(n), media[0], media[1], &event);
        }
        tape.bye(9_000, "k2", [a, b]);
        let (call, ..) = tape.call_of();
        let digits: String = call.streams.iter().map(|s| s.dtmf.as_str()).collect();
        assert_eq!(digits, if encrypted { "" } else { "5" });
    }
}

#[test]
fn a_handshake_that_fails_is_why_there_is_no_audio() {
    for ends in ENDS {
        let media = ends.map(end);
        let [a, b] = &sides(media, &["fingerprint:sha-256 00"]);
        let begun = || {
            let mut tape = Tape::default();
            tape.call(0, "k3", [a, b]);
            tape.bye(12_000, "k3", [a, b]);
            tape
        };
        // Nobody answers.
        let mut tape = begun();
        for n in 0..4 {
            tape.udp(2_050 + 1000 * n, media[0], media[1], &client_hello());
        }
        let (call, ..) = tape.call_of();
        assert_eq!(kind(&call), "no-audio");
        let text = format!("{} began a DTLS handshake and {} did not answer", media[0], media[1]);
        assert!(says(&call).contains(&text), "{}", says(&call));
        // It is refused.
        let mut tape = begun();
        tape.udp(2_050, media[1], media[0], &client_hello());
        tape.udp(2_060, media[0], media[1], &server_hello());
        tape.udp(2_070, media[1], media[0], &record(21, 0, &[2, 42]));
        let (call, ..) = tape.call_of();
        assert_eq!(kind(&call), "no-audio");
        let text = format!("{} gave the DTLS handshake up: alert 42 (bad certificate", media[1]);
        assert!(says(&call).contains(&text), "{}", says(&call));
        // It never ends: both repeat what they say.
        let mut tape = begun();
        for n in 0..4 {
            tape.udp(2_050 + 1000 * n, media[0], media[1], &client_hello());
            tape.udp(2_060 + 1000 * n, media[1], media[0], &server_hello());
        }
        let (call, ..) = tape.call_of();
        assert_eq!(kind(&call), "no-audio");
        assert!(says(&call).contains("did not come to its end"), "{}", says(&call));
    }
}

#[test]
fn a_handshake_that_succeeds_in_the_end_or_is_not_needed_says_nothing() {
    let media = ENDS[0].map(end);
    let [a, b] = &sides(media, &[]);
    // The other side does not know of it, and the call goes on without.
    let mut tape = Tape::default();
    tape.call(0, "k4", [a, b]);
    for n in 0..3 {
        tape.udp(2_050 + 1000 * n, media[0], media[1], &client_hello());
    }
    for (n, side) in [(1, 0), (2, 1)] {
        tape.media((2_100, 8_000), n, |o| udp(media[side], media[1 - side], o));
    }
    tape.bye(8_000, "k4", [a, b]);
    let (call, ..) = tape.call_of();
    assert_eq!(call.verdict, None);
    assert!(call.streams.iter().all(|s| !s.encrypted));
    // The first hello is lost.
    let mut tape = Tape::default();
    tape.call(0, "k5", [a, b]);
    tape.udp(2_050, media[0], media[1], &client_hello());
    handshake(&mut tape, 3_050, media);
    for (n, side) in [(1, 0), (2, 1)] {
        tape.media((3_100, 8_000), n, |o| udp(media[side], media[1 - side], o));
    }
    tape.bye(8_000, "k5", [a, b]);
    let (call, ..) = tape.call_of();
    assert_eq!(call.verdict, None);
    assert!(call.streams.iter().all(|s| s.encrypted));
    // A held call needs no keys.
    let held = |side: &Side| Side { sdp: side.sdp.replace("m=audio", "a=inactive\nm=audio"), ..side.clone() };
    let [a, b] = &[held(a), held(b)];
    let mut tape = Tape::default();
    tape.call(0, "k6", [a, b]);
    tape.udp(2_050, media[0], media[1], &client_hello());
    tape.bye(8_000, "k6", [a, b]);
    assert_eq!(tape.call_of().0.verdict, None);
}

/// WEBRTC-to-SIP#4 ("both contain a=setup:actpass"), dino#1072: who begins is settled by no side, or by both.
#[test]
fn roles_that_do_not_fit_are_why_there_is_no_audio() {
    for ends in ENDS {
        let media = ends.map(end);
        // What is offered and answered, who begins a handshake, and what is said of it.
        for (offer, answer, begins, text) in [
            ("actpass", "actpass", [false, false], "the answer of the callee says a=setup:actpass"),
            ("active", "actpass", [true, false], "the answer of the callee says a=setup:actpass"),
            ("passive", "passive", [false, false], "both sides say a=setup:passive"),
            ("active", "active", [true, true], "both sides say a=setup:active"),
            ("actpass", "active", [true, true], "both began a DTLS handshake, and neither answered"),
            ("actpass", "passive", [true, false], "began a DTLS handshake and"),
            // It is as it should be, and nothing is seen of it.
            ("actpass", "passive", [false, false], "no RTP was seen in either direction"),
        ] {
            for talks in [false, true] {
                let of = |setup: &str| sides(media, &["fingerprint:sha-256 00", &format!("setup:{setup}")]);
                let [[a, _], [_, b]] = [of(offer), of(answer)];
                let mut tape = Tape::default();
                tape.call(0, "k7", [&a, &b]);
                for n in 0..5 {
                    for (side, _) in begins.iter().enumerate().filter(|(_, begins)| **begins) {
                        let way = [media[side], media[1 - side]];
                        tape.udp(2_050 + 1_000 * n + side as i64, way[0], way[1], &client_hello());
                    }
                }
                // Their networks pass this tap.
                let others = if media[0].address.is_v4() { NEIGHBOURS[0] } else { NEIGHBOURS[1] }.map(end);
                tape.media((0, 3_000), 9, |o| udp(others[0], others[1], o));
                if talks {
                    // They find a way all the same.
                    tape.media((5_100, 12_000), 1, |o| udp(media[0], media[1], o));
                    tape.media((5_100, 12_000), 2, |o| udp(media[1], media[0], o));
                }
                tape.bye(12_000, "k7", [&a, &b]);
                let (call, ..) = tape.call_of();
                if talks {
                    assert!(!says(&call).contains("no keys"), "{offer} {answer} {}", says(&call));
                    continue;
                }
                assert_eq!(kind(&call), "no-audio");
                assert!(says(&call).contains(text), "{offer} {answer} {}", says(&call));
            }
        }
    }
}

/// A handshake that succeeds, and media that does not pass this tap, do not ask for roles.
#[test]
fn roles_say_nothing_where_a_handshake_succeeds_or_nothing_is_seen() {
    let media = ENDS[0].map(end);
    for (handshakes, expected) in [(true, "no-audio"), (false, "media-not-captured")] {
        let [a, b] = &sides(media, &["fingerprint:sha-256 00", "setup:actpass"]);
        let mut tape = Tape::default();
        tape.call(0, "k8", [a, b]);
        let others = if handshakes { NEIGHBOURS[0] } else { ["10.1.1.1:4000", "10.2.2.2:5000"] }.map(end);
        tape.media((0, 3_000), 9, |o| udp(others[0], others[1], o));
        if handshakes {
            handshake(&mut tape, 2_050, media);
        }
        tape.bye(12_000, "k8", [a, b]);
        let (call, ..) = tape.call_of();
        assert_eq!(kind(&call), expected, "{}", says(&call));
        assert!(!says(&call).contains("setup"), "{}", says(&call));
    }
}
