//! Calls as people report them of comparable products, each with its truth: descriptions of several sections and
//! families, and changes in mid-call. The reports are named beside each.

use crate::tape::{Side, Tape, audio, end, kind, rtp, says, sdp};
use trunkline_store::row::{Call, CallState, Rows};

const INVITE: &str = "INVITE sip:b@x SIP/2.0";
const A: &str = "192.0.2.10:4000";
const B: &str = "198.51.100.20:6000";

fn side(signals: &str, tag: &'static str, sdp: String) -> Side {
    Side { signals: end(signals), tag, sdp }
}

fn sides([offer, answer]: [String; 2]) -> [Side; 2] {
    [side("192.0.2.10:5060", "a", offer), side("198.51.100.20:5060", "b", answer)]
}

fn plain() -> [Side; 2] {
    sides([audio(end(A)), audio(end(B))])
}

fn described(media: &str, types: &str, way: &str) -> String {
    sdp(end(media), &format!("audio RTP/AVP {types}"), &[way])
}

/// An INVITE of the first one within the dialog, its 200 and its ACK, each with its description.
fn reinvite(tape: &mut Tape, at_ms: i64, cseq: u32, [by, other]: [&Side; 2], bodies: [&str; 3]) {
    let (dialog, cseq_of) = (("f2", [by.tag, other.tag]), |method: &str| format!("{cseq} {method}"));
    tape.sip(at_ms, [by, other], INVITE, dialog, &cseq_of("INVITE"), bodies[0]);
    tape.sip(at_ms + 40, [other, by], "SIP/2.0 200 OK", dialog, &cseq_of("INVITE"), bodies[1]);
    tape.sip(at_ms + 70, [by, other], "ACK sip:b@x SIP/2.0", dialog, &cseq_of("ACK"), bodies[2]);
}

/// One that is refused.
fn refused(tape: &mut Tape, at_ms: i64, cseq: u32, [by, other]: [&Side; 2], status: &str, offer: &str) {
    let (dialog, cseq_of) = (("f2", [by.tag, other.tag]), |method: &str| format!("{cseq} {method}"));
    tape.sip(at_ms, [by, other], INVITE, dialog, &cseq_of("INVITE"), offer);
    tape.sip(at_ms + 40, [other, by], &format!("SIP/2.0 {status}"), dialog, &cseq_of("INVITE"), "");
    tape.sip(at_ms + 50, [by, other], "ACK sip:b@x SIP/2.0", dialog, &cseq_of("ACK"), "");
}

/// Packets of a payload type, from a number on, one each 20 ms.
fn typed(tape: &mut Tape, span_ms: (i64, i64), ssrc: u32, payload_type: u8, [from, to]: [&str; 2]) {
    for (n, at_ms) in (span_ms.0..span_ms.1).step_by(20).enumerate() {
        let number = span_ms.0 / 20 + n as i64;
        let mut packet = rtp(ssrc, number as u16);
        packet[1] = payload_type;
        packet[4..8].copy_from_slice(&((number * 160) as u32).to_be_bytes());
        tape.udp(at_ms + i64::from(ssrc % 16), end(from), end(to), &packet);
    }
}

/// PCMU both ways.
fn talk(tape: &mut Tape, span_ms: (i64, i64)) {
    typed(tape, span_ms, 1, 0, [A, B]);
    typed(tape, span_ms, 2, 0, [B, A]);
}

/// The only call of a tape that ends with a BYE at this time.
fn ended(mut tape: Tape, at_ms: i64, sides: [&Side; 2]) -> Call {
    tape.bye(at_ms, "f2", sides);
    let (call, rows, _) = tape.call_of();
    assert!(rows.streams.is_empty(), "streams without their call: {:#?}", rows.streams);
    call
}

fn told(call: &Call) -> (&str, &str) {
    (kind(call), says(call))
}

/// livekit/sip#766: a carrier asks for PCMA alone, and the answer is the old one, with PCMU alone.
#[test]
fn an_answer_without_a_codec_of_the_offer_is_a_mismatch() {
    let [a, b] = &sides([described(A, "9 0 8", "sendrecv"), described(B, "0", "sendrecv")]);
    for (answer, sent, right) in [("0", [0, 8], "codec-mismatch"), ("8", [8, 8], "")] {
        let mut tape = Tape::default();
        tape.call(0, "f2", [a, b]);
        let bodies = [&*described(B, "8", "sendrecv"), &described(A, answer, "sendrecv"), ""];
        reinvite(&mut tape, 2_100, 3, [b, a], bodies);
        typed(&mut tape, (2_200, 30_000), 1, sent[0], [A, B]);
        typed(&mut tape, (2_200, 30_000), 2, sent[1], [B, A]);
        let call = ended(tape, 30_000, [a, b]);
        assert_eq!(kind(&call), right, "{answer} {}", says(&call));
    }
}

/// freeswitch#3150: a menu sends 40 ms a packet, the one behind it 20 ms, and no SDP says so.
#[test]
fn another_packet_time_in_mid_call_is_neither_loss_nor_jitter() {
    let [a, b] = &plain();
    for times_ms in [[40, 20], [20, 40], [20, 60], [30, 10]] {
        let mut tape = Tape::default();
        tape.call(0, "f2", [a, b]);
        typed(&mut tape, (2_040, 40_000), 1, 0, [A, B]);
        let (mut at_ms, mut number, mut ticks) = (2_040, 0u16, 0u32);
        while at_ms < 40_000 {
            let each_ms = if at_ms < 15_000 { times_ms[0] } else { times_ms[1] };
            let mut packet = rtp(2, number);
            packet[4..8].copy_from_slice(&ticks.to_be_bytes());
            packet.resize(12 + each_ms as usize * 8, 0xd5);
            tape.udp(at_ms, end(B), end(A), &packet);
            (at_ms, number, ticks) = (at_ms + each_ms, number + 1, ticks + each_ms as u32 * 8);
        }
        let call = ended(tape, 40_000, [a, b]);
        let stream = call.streams.iter().find(|s| s.ssrc == 2).unwrap();
        assert_eq!((told(&call), stream.missing, stream.discarded), (("", ""), 0, 0), "{times_ms:?}");
        assert!(stream.jitter_max_ms < 1.0 && stream.mos.g107.is_some_and(|mos| mos > 4.2), "{times_ms:?} {stream:?}");
    }
}

/// rtpengine#912, asterisk#2059: another codec right behind the ACK, while packets of the first one are on their way.
#[test]
fn a_codec_that_changes_at_once_may_overlap() {
    let [a, b] = &sides([described(A, "9 8", "sendrecv"), described(B, "9", "sendrecv")]);
    let mut tape = Tape::default();
    tape.call(0, "f2", [a, b]);
    let pcma = |media| described(media, "8", "sendrecv");
    reinvite(&mut tape, 2_058, 3, [b, a], [&pcma(B), &pcma(A), ""]);
    for (ssrc, way) in [(1, [A, B]), (2, [B, A])] {
        typed(&mut tape, (2_000, 2_600), ssrc, 9, way);
        typed(&mut tape, (2_600, 30_000), ssrc, 8, way);
    }
    assert_eq!(told(&ended(tape, 30_000, [a, b])), ("", ""));
}

/// JsSIP#612, SIP.js#479: hold and resume by INVITEs without SDP, as CUCM sends them; the ACK says how it is held.
#[test]
fn hold_by_invites_without_sdp_is_followed() {
    let [a, b] = &plain();
    for (held, back, right) in [("inactive", true, ""), ("sendonly", true, ""), ("inactive", false, "one-way-audio")] {
        let mut tape = Tape::default();
        tape.call(0, "f2", [a, b]);
        reinvite(&mut tape, 10_000, 3, [a, b], ["", &b.sdp, &described(A, "0", held)]);
        reinvite(&mut tape, 22_000, 4, [a, b], ["", &b.sdp, &a.sdp]);
        talk(&mut tape, (2_040, 10_060));
        typed(&mut tape, (22_100, 40_000), 1, 0, [A, B]);
        if back {
            typed(&mut tape, (22_100, 40_000), 2, 0, [B, A]);
        }
        let call = ended(tape, 40_000, [a, b]);
        assert_eq!(kind(&call), right, "{held} {back} {}", says(&call));
    }
    // Who is asked while it is held and says that it will not send is held on, by itself.
    let mut tape = Tape::default();
    tape.call(0, "f2", [a, b]);
    reinvite(&mut tape, 10_000, 3, [a, b], [&described(A, "0", "sendonly"), &described(B, "0", "recvonly"), ""]);
    reinvite(&mut tape, 22_000, 4, [a, b], ["", &described(B, "0", "recvonly"), &described(A, "0", "sendonly")]);
    typed(&mut tape, (2_040, 40_000), 1, 0, [A, B]);
    typed(&mut tape, (2_040, 10_060), 2, 0, [B, A]);
    assert_eq!(told(&ended(tape, 40_000, [a, b])), ("", ""));
}

/// pjproject#1166, JsSIP#771, drachtio-server#318: both ask at once, both get 491, one tries again.
#[test]
fn offers_that_cross_change_nothing_until_one_is_taken() {
    let [a, b] = &plain();
    let moved = "192.0.2.10:4800";
    for retried in [true, false] {
        let mut tape = Tape::default();
        tape.call(0, "f2", [a, b]);
        refused(&mut tape, 10_000, 3, [a, b], "491 Request Pending", &audio(end(moved)));
        refused(&mut tape, 10_005, 3, [b, a], "491 Request Pending", &described(B, "0", "sendonly"));
        if retried {
            reinvite(&mut tape, 12_500, 4, [a, b], [&audio(end(moved)), &b.sdp, ""]);
        }
        let moves_ms = if retried { 12_540 } else { 30_000 };
        typed(&mut tape, (2_040, moves_ms), 1, 0, [A, B]);
        typed(&mut tape, (2_040, moves_ms), 2, 0, [B, A]);
        typed(&mut tape, (moves_ms, 30_000), 1, 0, [moved, B]);
        typed(&mut tape, (moves_ms, 30_000), 2, 0, [B, moved]);
        assert_eq!(told(&ended(tape, 30_000, [a, b])), ("", ""), "{retried}");
    }
}

/// pjproject#1747, sofia-sip#203: UPDATE refreshes a session without SDP, and some describe themselves in the 200 all
/// the same. It answers nothing, and what holds goes on.
#[test]
fn a_description_that_nobody_asked_for_changes_nothing() {
    let [a, b] = &plain();
    for (said, speaks, right) in [("sendrecv", true, ""), ("inactive", true, ""), ("inactive", false, "one-way-audio")]
    {
        let mut tape = Tape::default();
        tape.call(0, "f2", [a, b]);
        let dialog = ("f2", [a.tag, b.tag]);
        tape.sip(12_000, [a, b], "UPDATE sip:b@x SIP/2.0", dialog, "3 UPDATE", "");
        tape.sip(12_040, [b, a], "SIP/2.0 200 OK", dialog, "3 UPDATE", &described(B, "0", said));
        typed(&mut tape, (2_040, 60_000), 1, 0, [A, B]);
        typed(&mut tape, (2_040, if speaks { 60_000 } else { 14_000 }), 2, 0, [B, A]);
        let call = ended(tape, 60_000, [a, b]);
        assert_eq!(kind(&call), right, "{said} {}", says(&call));
    }
}

/// A message that `Tape::sip` cannot write.
fn multipart(tape: &mut Tape, at_ms: i64, [from, to]: [&Side; 2], cseq: u32, sdp: &str) {
    let tag = if cseq > 1 { format!(";tag={}", to.tag) } else { String::new() };
    let text = format!(
        "{INVITE}\nVia: SIP/2.0/UDP a;branch=z9hG4bKf2{cseq}INVITE\nFrom: <sip:a@x>;tag={}\nTo: <sip:b@x>{tag}\n\
         Call-ID: f2\nCSeq: {cseq} INVITE\nRequire: siprec\nContent-Type: multipart/mixed;boundary=OSS-unique-42\n\n\
         --OSS-unique-42\nContent-Type: application/sdp\n\n{sdp}\n--OSS-unique-42\n\
         Content-Type: application/rs-metadata+xml\nContent-Disposition: recording-session\n\n\
         <?xml version=\"1.0\"?>\n<recording xmlns='urn:ietf:params:xml:ns:recording:1'></recording>\n\
         --OSS-unique-42--\n",
        from.tag
    );
    tape.udp(at_ms, from.signals, to.signals, text.replace('\n', "\r\n").as_bytes());
}

/// loreste/siprec#7, rtpengine#1779, drachtio-siprec-recording-server#46: a session for recording (RFC 7866): one
/// section for each party of the call that is recorded, nothing comes back, and it pauses.
#[test]
fn a_recording_session_is_heard_one_way_by_design() {
    let sections = |host: &str, ports: [u16; 2], way: &str| {
        let section = |n: usize| format!("m=audio {} RTP/AVP 8\na=label:{n}\na={way}\n", ports[n]);
        format!("v=0\no=- 1 1 IN IP4 {host}\ns=-\nc=IN IP4 {host}\nt=0 0\n{}{}", section(0), section(1))
    };
    let offer = |way| sections("192.0.2.10", [4_000, 4_002], way);
    let answer = |way| sections("198.51.100.20", [6_000, 6_002], way);
    let [a, b] = &sides([offer("sendonly"), answer("recvonly")]);
    let mut tape = Tape::default();
    multipart(&mut tape, 0, [a, b], 1, &offer("sendonly"));
    let dialog = ("f2", [a.tag, b.tag]);
    tape.sip(50, [b, a], "SIP/2.0 200 OK", dialog, "1 INVITE", &answer("recvonly"));
    tape.sip(70, [a, b], "ACK sip:b@x SIP/2.0", dialog, "1 ACK", "");
    for (at_ms, cseq, ways) in [(12_000, 2, ["inactive", "inactive"]), (20_000, 3, ["sendonly", "recvonly"])] {
        multipart(&mut tape, at_ms, [a, b], cseq, &offer(ways[0]));
        tape.sip(at_ms + 40, [b, a], "SIP/2.0 200 OK", dialog, &format!("{cseq} INVITE"), &answer(ways[1]));
        tape.sip(at_ms + 60, [a, b], "ACK sip:b@x SIP/2.0", dialog, &format!("{cseq} ACK"), "");
    }
    for (ssrc, way) in [(1, [A, B]), (2, ["192.0.2.10:4002", "198.51.100.20:6002"])] {
        typed(&mut tape, (100, 12_000), ssrc, 8, way);
        typed(&mut tape, (20_100, 40_000), ssrc, 8, way);
    }
    let call = ended(tape, 40_000, [a, b]);
    assert_eq!((told(&call), call.streams.len()), (("", ""), 2));
    assert!(call.streams.iter().all(|s| s.direction as u8 == 1 && s.missing == 0), "{:#?}", call.streams);
}

/// jitsi#170, pjproject#5010, baresip#897: both families are offered: as alternative sections (RFC 4091), or as
/// alternative addresses of one (RFC 6947). Media goes by that which the answer takes.
#[test]
fn an_offer_of_both_families_has_media_on_the_one_that_is_taken() {
    let (four, six) = (["192.0.2.10:4000", "198.51.100.20:6000"], ["[2001:db8:1::10]:4002", "[2001:db8:2::20]:6002"]);
    let grouped = |first: [&str; 2], ports: [u16; 2], ids: &str| {
        let section = |n: usize| {
            let address = end(first[n]).address;
            let family = if address.is_v4() { "IP4" } else { "IP6" };
            format!("m=audio {} RTP/AVP 0\nc=IN {family} {address}\na=mid:{}\n", ports[n], n + 1)
        };
        format!("v=0\no=- 1 1 IN IP4 0.0.0.0\ns=-\nt=0 0\na=group:ANAT {ids}\n{}{}", section(0), section(1))
    };
    let anat = |takes_six: bool| {
        let offer = grouped([six[0], four[0]], [4_002, 4_000], "1 2");
        let ports = if takes_six { [6_002, 0] } else { [0, 6_000] };
        [offer, grouped([six[1], four[1]], ports, if takes_six { "1" } else { "2" })]
    };
    let alternatives = |takes_six: bool| {
        let altc = |n: usize| [format!("altc:1 IP6 {} {}", end(six[n]).address, end(six[n]).port)];
        let [altc_a] = altc(0);
        let offer = sdp(end(four[0]), "audio RTP/AVP 0", &[&altc_a]);
        [offer, audio(end(if takes_six { six[1] } else { four[1] }))]
    };
    for takes_six in [true, false] {
        for descriptions in [anat(takes_six), alternatives(takes_six)] {
            for silent in [None, Some(0), Some(1)] {
                let [a, b] = &sides(descriptions.clone());
                let [from, to] = if takes_six { six } else { four };
                let mut tape = Tape::default();
                tape.call(0, "f2", [a, b]);
                for (n, way) in [[from, to], [to, from]].into_iter().enumerate().filter(|(n, _)| Some(*n) != silent) {
                    typed(&mut tape, (2_040, 30_000), n as u32 + 1, 0, way);
                }
                let call = ended(tape, 30_000, [a, b]);
                let right = silent.map_or("", |_| "one-way-audio");
                let what = format!("{takes_six} {silent:?} {} {}", descriptions[0], says(&call));
                assert_eq!(kind(&call), right, "{what}");
                assert_eq!(call.streams.len(), if silent.is_some() { 1 } else { 2 }, "{what}");
            }
        }
    }
}

/// mediasoup#481, livekit#943: audio with redundancy (RFC 2198) comes under the payload type of `red`.
#[test]
fn redundant_audio_is_the_codec_it_was_agreed_as() {
    let opus = "rtpmap:111 opus/48000/2";
    let described = |media: &str, types: &str| {
        sdp(end(media), &format!("audio RTP/AVP {types}"), &["rtpmap:63 red/48000/2", "fmtp:63 111/111", opus])
    };
    for (answer, sent, right) in [("63 111", 63, ""), ("63 111", 111, ""), ("111", 63, "codec-mismatch")] {
        let [a, b] = &sides([described(A, "63 111"), described(B, answer)]);
        let mut tape = Tape::default();
        tape.call(0, "f2", [a, b]);
        for (ssrc, [from, to]) in [(1, [A, B]), (2, [B, A])] {
            for n in 0..1400u32 {
                let mut packet = rtp(ssrc, n as u16);
                packet[1] = sent;
                packet[4..8].copy_from_slice(&(n * 960).to_be_bytes());
                tape.udp(2_040 + i64::from(n) * 20, end(from), end(to), &packet);
            }
        }
        let call = ended(tape, 30_100, [a, b]);
        assert_eq!(kind(&call), right, "{answer} {sent} {}", says(&call));
    }
}

/// freeswitch#1081, #1297: audio and fax are offered at once, and the answer takes the audio.
#[test]
fn fax_that_the_answer_refuses_excuses_no_silence() {
    let image = |port: u16| format!("m=image {port} udptl t38\na=T38FaxVersion:0\n");
    for image_first in [true, false] {
        let both = |media: &str, port: u16| {
            let whole = audio(end(media));
            let (head, section) = whole.split_at(whole.find("m=").unwrap());
            if image_first { format!("{head}{}{section}", image(port)) } else { whole.clone() + &image(port) }
        };
        for speaks in [true, false] {
            let [a, b] = &sides([both(A, 4_002), both(B, 0)]);
            let mut tape = Tape::default();
            tape.call(0, "f2", [a, b]);
            typed(&mut tape, (2_040, 30_000), 1, 0, [A, B]);
            if speaks {
                typed(&mut tape, (2_040, 30_000), 2, 0, [B, A]);
            }
            let call = ended(tape, 30_000, [a, b]);
            assert_eq!(kind(&call), if speaks { "" } else { "one-way-audio" }, "{image_first} {}", says(&call));
        }
    }
}

/// pjproject#4512, pocket-dial#131 (RFC 5359 section 2.5): the one who calls holds, asks a third one, and the second
/// takes its place there (`Replaces`), with its own port or the one it had.
#[test]
fn a_transfer_with_replaces_is_three_calls_that_are_well() {
    let third = "203.0.113.30:8000";
    for same_ports in [false, true] {
        let [a, b] = &plain();
        let consult = side("192.0.2.10:5060", "c", audio(end("192.0.2.10:4004")));
        let asked = side("203.0.113.30:5060", "d", audio(end(third)));
        let (from, to) = if same_ports { (B, third) } else { ("198.51.100.20:6008", "203.0.113.30:8008") };
        let taker = side("198.51.100.20:5060", "e", audio(end(from)));
        let taken = side("203.0.113.30:5060", "f", audio(end(to)));
        let mut tape = Tape::default();
        tape.call(0, "f2", [a, b]);
        reinvite(&mut tape, 10_000, 3, [a, b], [&described(A, "0", "inactive"), &described(B, "0", "inactive"), ""]);
        tape.call(11_000, "consult", [&consult, &asked]);
        let refer = "REFER sip:b@x SIP/2.0\nRefer-To: <sip:d@x?Replaces=consult%3Bto-tag%3Dd%3Bfrom-tag%3Dc>";
        tape.sip(22_000, [a, b], refer, ("f2", [a.tag, b.tag]), "4 REFER", "");
        tape.sip(22_020, [b, a], "SIP/2.0 202 Accepted", ("f2", [a.tag, b.tag]), "4 REFER", "");
        let invite = format!("{INVITE}\nReplaces: consult;to-tag=d;from-tag=c");
        tape.sip(22_050, [&taker, &taken], &invite, ("taken", ["e", ""]), "1 INVITE", &taker.sdp);
        tape.sip(22_090, [&taken, &taker], "SIP/2.0 200 OK", ("taken", ["e", "f"]), "1 INVITE", &taken.sdp);
        tape.sip(22_110, [&taker, &taken], "ACK sip:d@x SIP/2.0", ("taken", ["e", "f"]), "1 ACK", "");
        tape.bye(22_150, "consult", [&asked, &consult]);
        let notify = "NOTIFY sip:a@x SIP/2.0\nEvent: refer\nSubscription-State: terminated";
        tape.sip(22_160, [b, a], notify, ("f2", [b.tag, a.tag]), "5 NOTIFY", "");
        tape.sip(22_170, [a, b], "SIP/2.0 200 OK", ("f2", [b.tag, a.tag]), "5 NOTIFY", "");
        tape.bye(22_400, "f2", [a, b]);
        tape.bye(40_000, "taken", [&taker, &taken]);
        talk(&mut tape, (2_040, 10_040));
        typed(&mut tape, (13_040, 22_150), 3, 0, ["192.0.2.10:4004", third]);
        typed(&mut tape, (13_040, 22_100), 4, 0, [third, "192.0.2.10:4004"]);
        typed(&mut tape, (22_120, 40_000), 5, 0, [from, to]);
        typed(&mut tape, (22_100, 40_000), 6, 0, [to, from]);
        let (rows, _) = tape.read();
        let of = |rows: &Rows, id: &str| {
            let call = rows.calls.iter().find(|call| call.sip_call_id == id).unwrap();
            assert_eq!((told(call), call.state), (("", ""), CallState::Completed), "{same_ports} {id}");
            let mut all: Vec<u32> = call.streams.iter().map(|s| s.ssrc).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(of(&rows, "f2"), [1, 2], "{same_ports}");
        assert_eq!(of(&rows, "consult"), [3, 4], "{same_ports}");
        assert_eq!(of(&rows, "taken"), [5, 6], "{same_ports}");
    }
}

/// drachtio-server#459, pjproject#2175 (RFC 3725 section 4.1): a server calls one side without SDP, holds the ACK while
/// it calls the other, and the 200 is repeated meanwhile.
#[test]
fn an_ack_that_waits_for_the_other_leg_is_no_fault() {
    let server = |tag, sdp| side("203.0.113.5:5060", tag, sdp);
    let [one, other] = [side("192.0.2.10:5060", "a", audio(end(A))), side("198.51.100.20:5060", "b", audio(end(B)))];
    let [to_one, to_other] = [server("s", String::new()), server("t", audio(end(A)))];
    for waits_ms in [400, 9_000, 20_000] {
        let mut tape = Tape::default();
        let begins = ("leg1", ["s", ""]);
        let dialog = ("leg1", ["s", "a"]);
        tape.sip(0, [&to_one, &one], INVITE, begins, "1 INVITE", "");
        tape.sip(100, [&one, &to_one], "SIP/2.0 180 Ringing", dialog, "1 INVITE", "");
        let acked_ms = 2_000 + waits_ms + 40;
        let mut repeat_ms = 2_000;
        for after_ms in [500, 1_000, 2_000, 4_000, 4_000, 4_000, 4_000, 4_000] {
            if repeat_ms < acked_ms {
                tape.sip(repeat_ms, [&one, &to_one], "SIP/2.0 200 OK", dialog, "1 INVITE", &one.sdp);
            }
            repeat_ms += after_ms;
        }
        let (begins, other_dialog) = (("leg2", ["t", ""]), ("leg2", ["t", "b"]));
        tape.sip(2_010, [&to_other, &other], INVITE, begins, "1 INVITE", &to_other.sdp);
        tape.sip(2_100, [&other, &to_other], "SIP/2.0 180 Ringing", other_dialog, "1 INVITE", "");
        tape.sip(acked_ms - 40, [&other, &to_other], "SIP/2.0 200 OK", other_dialog, "1 INVITE", &other.sdp);
        tape.sip(acked_ms - 20, [&to_other, &other], "ACK sip:b@x SIP/2.0", other_dialog, "1 ACK", "");
        tape.sip(acked_ms, [&to_one, &one], "ACK sip:b@x SIP/2.0", dialog, "1 ACK", &other.sdp);
        talk(&mut tape, (acked_ms + 20, acked_ms + 30_000));
        tape.bye(acked_ms + 30_000, "leg1", [&to_one, &one]);
        tape.bye(acked_ms + 30_010, "leg2", [&to_other, &other]);
        let (rows, _) = tape.read();
        for call in &rows.calls {
            assert_eq!(told(call), ("", ""), "{waits_ms} {}", call.sip_call_id);
        }
        let shared: usize = rows.calls.iter().map(|call| call.streams.len() + call.shared.len()).sum();
        assert_eq!((rows.calls.len(), shared, rows.streams.len()), (2, 4, 0), "{waits_ms}");
    }
}

/// diago#150, freeswitch#2199, livekit/sip#582: an INVITE within the call is never answered, and who sent it hangs up.
#[test]
fn an_invite_within_the_call_that_nobody_answers_is_named() {
    let [a, b] = &plain();
    for (times, answered, right) in [(7, false, "reinvite-refused"), (2, false, ""), (7, true, "retransmission-storm")]
    {
        let mut tape = Tape::default();
        tape.call(0, "f2", [a, b]);
        let dialog = ("f2", [b.tag, a.tag]);
        let after_ms = [0, 500, 1_500, 3_500, 7_500, 15_500, 31_500];
        for after_ms in &after_ms[..times] {
            tape.sip(20_000 + after_ms, [b, a], INVITE, dialog, "3 INVITE", &b.sdp);
        }
        let last_ms = 20_000 + after_ms[times - 1];
        if answered {
            tape.sip(last_ms + 40, [a, b], "SIP/2.0 200 OK", dialog, "3 INVITE", &a.sdp);
            tape.sip(last_ms + 60, [b, a], "ACK sip:b@x SIP/2.0", dialog, "3 ACK", "");
        }
        let ends_ms = last_ms + 500;
        talk(&mut tape, (2_040, ends_ms));
        tape.sip(ends_ms, [b, a], "BYE sip:a@x SIP/2.0", dialog, "4 BYE", "");
        tape.sip(ends_ms + 20, [a, b], "SIP/2.0 200 OK", dialog, "4 BYE", "");
        let (call, ..) = tape.call_of();
        assert_eq!(kind(&call), right, "{times} {answered} {}", says(&call));
    }
}

/// A re-INVITE that gives a codec another number: what came before it keeps its name and its clock.
#[test]
fn a_codec_has_its_name_whatever_number_it_gets() {
    let amr = |media: &str, number: u8| {
        let map = format!("rtpmap:{number} AMR/8000");
        sdp(end(media), &format!("audio RTP/AVP {number}"), &[map.as_str()])
    };
    let [a, b] = &sides([amr(A, 96), amr(B, 107)]);
    let mut tape = Tape::default();
    tape.call(0, "f2", [a, b]);
    typed(&mut tape, (2_040, 12_040), 1, 107, [A, B]);
    typed(&mut tape, (2_040, 12_040), 2, 96, [B, A]);
    reinvite(&mut tape, 12_000, 5, [b, a], [&amr(B, 111), &amr(A, 111), ""]);
    typed(&mut tape, (12_080, 30_000), 1, 111, [A, B]);
    typed(&mut tape, (12_080, 30_000), 2, 111, [B, A]);
    let call = ended(tape, 30_000, [a, b]);
    assert_eq!(told(&call), ("", ""));
    for stream in &call.streams {
        assert_eq!((stream.codec.as_str(), stream.clock_rate), ("AMR, AMR", 8_000), "{:?}", stream.payload_types);
    }
}
