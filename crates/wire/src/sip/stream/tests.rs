use super::*;
use crate::sip::{Header, Oddity};
use crate::websocket::unmask;
use proptest::prelude::*;

/// What a test looks at: the octets of the message, the tag that completed it, whether it spanned, whether it was cut.
type Got = (Vec<u8>, usize, bool, bool);

fn note(got: &mut Vec<Got>) -> impl FnMut(Framed<'_, usize>) {
    |f| got.push((f.message.octets().to_vec(), f.tag, f.spanned, f.message.oddities().contains(Oddity::Cut)))
}

fn push_all(splitter: &mut Splitter<usize>, pieces: &[&[u8]]) -> Vec<Got> {
    let mut got = Vec::new();
    for (i, piece) in pieces.iter().enumerate() {
        splitter.push(i as i64, i, piece, &mut note(&mut got));
    }
    got
}

fn message(id: usize, body: &str) -> Vec<u8> {
    let kind = if body.is_empty() { "" } else { "Content-Type: application/sdp\r\n" };
    format!("INVITE sip:a@b SIP/2.0\r\nCall-ID: {id}\r\n{kind}l: {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[test]
fn pipelined_messages_and_keep_alives() {
    let (a, b) = (message(1, ""), message(2, "v=0\r\ns=-\r\n"));
    let all = [b"\r\n\r\n", &a[..], b"\r\n", &b].concat();
    let mut splitter = Splitter::new(true);
    let got = push_all(&mut splitter, &[&all]);
    assert_eq!(got, [(a, 0, false, false), (b, 0, false, false)]);
    assert_eq!((splitter.verdict(), splitter.counts().keep_alive_octets), (Verdict::Sip, 6));
    assert_eq!(splitter.held_octets(), 0);
}

#[test]
fn the_packet_that_completes_a_message_times_it() {
    let m = message(1, "v=0\r\ns=-\r\n");
    let mut got = Vec::new();
    let mut splitter = Splitter::new(true);
    for (i, piece) in m.chunks(20).enumerate() {
        splitter.push(100 + i as i64, i, piece, &mut |f: Framed<'_, usize>| got.push((f.begun_ns, f.at_ns, f.spanned)));
    }
    assert_eq!(got, [(100, 100 + (m.len() as i64 - 1) / 20, true)]);
}

#[test]
fn other_protocols_are_told_early() {
    for first in
        [&b"\x16\x03\x01\x02\x00"[..], b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"EHLO example.com\r\n", b"{\"a\":1}"]
    {
        let mut splitter = Splitter::new(true);
        push_all(&mut splitter, &[first]);
        assert_eq!(splitter.verdict(), Verdict::NotSip, "{}", String::from_utf8_lossy(first));
    }
}

#[test]
fn a_connection_seen_from_its_middle() {
    let m = message(7, "");
    let mut splitter = Splitter::new(false);
    let got = push_all(&mut splitter, &[b"l;tag=x\r\nCSeq: 1 INVITE\r\n\r\nv=0\r\n", &m]);
    assert_eq!(got, [(m, 1, false, false)]);
    let mut splitter = Splitter::new(false);
    push_all(&mut splitter, &[&b"\x17\x03\x03 binary"[..]; UNDECIDED_PUSHES_MAX as usize]);
    assert_eq!(splitter.verdict(), Verdict::NotSip);
}

#[test]
fn a_gap_in_a_body_leaves_the_framing_whole() {
    let (a, b) = (message(1, "v=0\r\ns=0123456789\r\n"), message(2, ""));
    let mut splitter = Splitter::new(true);
    let mut got = push_all(&mut splitter, &[&a[..a.len() - 10]]);
    splitter.gap(4, &mut note(&mut got));
    splitter.push(5, 5, &[&a[a.len() - 6..], &b].concat(), &mut note(&mut got));
    assert_eq!(got, [(a[..a.len() - 10].to_vec(), 0, false, true), (b, 5, false, false)]);
    assert_eq!(splitter.counts().junk_octets, 0);
}

#[test]
fn after_a_gap_the_next_start_line_is_looked_for() {
    let (a, b) = (message(1, ""), message(2, ""));
    let mut splitter = Splitter::new(true);
    let mut got = push_all(&mut splitter, &[&a[..30]]);
    splitter.gap(0, &mut note(&mut got));
    splitter.push(9, 9, &[b"rest of a line\r\nmore: x\r\n\r\n", &b[..]].concat(), &mut note(&mut got));
    assert_eq!(got.len(), 2);
    assert!(got[0].3, "what there was of the first is given as cut");
    assert_eq!(got[1], (b, 9, false, false));
}

#[test]
fn content_length_that_swallows_the_next_message() {
    let a = b"INVITE sip:a@b SIP/2.0\r\nContent-Type: application/sdp\r\nl: 400\r\n\r\nv=0\r\n".to_vec();
    let b = message(2, "");
    let mut got = Vec::new();
    Splitter::new(true).push(0, 0, &[&a[..], &b, &message(3, "")].concat(), &mut |f: Framed<'_, usize>| {
        got.push((f.message.octets().to_vec(), f.message.oddities().contains(Oddity::ContentLengthTooLong)));
    });
    assert_eq!(got, [(a, true), (b, false), (message(3, ""), false)]);
}

#[test]
fn content_length_that_would_delay_the_next_message() {
    let a = b"INVITE sip:a@b SIP/2.0\r\nContent-Type: application/sdp\r\nl: 9999\r\n\r\nv=0\r\n".to_vec();
    let got = push_all(&mut Splitter::new(true), &[&a, &message(2, ""), &message(3, "")]);
    assert_eq!(got, [(a, 1, true, false), (message(2, ""), 1, false, false), (message(3, ""), 2, false, false)]);
}

#[test]
fn no_content_length() {
    let a = b"INVITE sip:a@b SIP/2.0\r\nContent-Type: application/sdp\r\n\r\nv=0\r\ns=-\r\n".to_vec();
    let b = b"BYE sip:a@b SIP/2.0\r\nCall-ID: 2\r\n\r\n".to_vec();
    let got = push_all(&mut Splitter::new(true), &[&[&a[..], &b].concat()]);
    assert_eq!(got, [(a.clone(), 0, false, false), (b, 0, false, false)]);
    // Announced and late: waited for by one push.
    let got = push_all(&mut Splitter::new(true), &[&a[..a.len() - 10], &a[a.len() - 10..]]);
    assert_eq!(got, [(a.clone(), 1, true, false)]);
    // Announced and never come.
    let mut splitter = Splitter::new(true);
    let mut got = push_all(&mut splitter, &[&a[..a.len() - 10]]);
    splitter.finish(&mut note(&mut got));
    assert_eq!(got, [(a[..a.len() - 10].to_vec(), 0, false, false)]);
}

#[test]
fn an_overlong_message_is_given_as_cut_and_passed_over() {
    let length = MESSAGE_OCTETS_MAX + 100_000;
    let head = format!("MESSAGE sip:a@b SIP/2.0\r\nCall-ID: big\r\nContent-Type: text/plain\r\nl: {length}\r\n\r\n");
    let all = [head.as_bytes(), &vec![b'x'; length], &message(2, "")].concat();
    let mut splitter = Splitter::new(true);
    let mut got = Vec::new();
    for piece in all.chunks(1400) {
        splitter.push(0, 0, piece, &mut |f: Framed<'_, usize>| {
            got.push((f.message.call_id().to_vec(), f.message.oddities().contains(Oddity::Cut)));
        });
        assert!(splitter.held_octets() <= 2 * MESSAGE_OCTETS_MAX);
    }
    assert_eq!(got, [(b"big".to_vec(), true), (b"2".to_vec(), false)]);
    assert_eq!(splitter.counts().overlong, 1);
}

fn frame(fin: bool, opcode: u8, mask: Option<[u8; 4]>, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![u8::from(fin) << 7 | opcode];
    let masked = u8::from(mask.is_some()) << 7;
    match payload.len() {
        n @ 0..126 => out.push(masked | n as u8),
        n => {
            out.push(masked | 126);
            out.extend((n as u16).to_be_bytes());
        }
    }
    out.extend(mask.into_iter().flatten());
    let at = out.len();
    out.extend(payload);
    if let Some(mask) = mask {
        unmask(&mut out[at..], mask, 0);
    }
    out
}

const UPGRADE: &[u8] = b"GET / HTTP/1.1\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: sip\r\n\r\n";

fn websocket_stream() -> (Vec<u8>, Vec<Vec<u8>>) {
    let (a, b, c) = (message(1, "v=0\r\ns=-\r\n"), message(2, &"v=0\r\n".repeat(40)), message(3, ""));
    let mask = Some([0x37, 0xfa, 0x21, 0x3d]);
    let stream = [
        UPGRADE,
        &frame(true, 1, mask, &a),
        &frame(true, 9, mask, b"ping"),
        &frame(false, 2, mask, &b[..50]),
        &frame(true, 10, mask, b""),
        &frame(false, 0, mask, &b[50..101]),
        &frame(true, 0, mask, &b[101..]),
        &frame(true, 1, None, &c),
        &frame(true, 8, mask, b"\x03\xe8"),
    ]
    .concat();
    (stream, vec![a, b, c])
}

#[test]
fn websocket_frames_are_unmasked_and_joined() {
    let (stream, messages) = websocket_stream();
    let mut splitter = Splitter::new(true);
    let got = push_all(&mut splitter, &[&stream]);
    assert_eq!(got.iter().map(|g| &g.0).collect::<Vec<_>>(), messages.iter().collect::<Vec<_>>());
    assert_eq!(splitter.verdict(), Verdict::WebSocket);
    assert_eq!(splitter.counts().junk_octets, 0);
}

#[test]
fn websocket_without_its_handshake_and_with_a_gap() {
    let (stream, messages) = websocket_stream();
    let mut splitter = Splitter::new(false);
    let got = push_all(&mut splitter, &[&stream[UPGRADE.len()..]]);
    assert_eq!(got.len(), messages.len());

    let framed = frame(true, 1, None, &messages[1]);
    let mut splitter = Splitter::new(false);
    let mut got = push_all(&mut splitter, &[&framed[..150]]);
    splitter.gap(20, &mut note(&mut got));
    splitter.push(2, 2, &[&framed[170..], &frame(true, 1, None, &messages[2])[..]].concat(), &mut note(&mut got));
    assert_eq!(got.len(), 2);
    assert!(got[0].3 && !got[1].3);
    assert_eq!(got[1].0, messages[2]);
}

#[test]
fn websocket_of_another_protocol_is_given_up() {
    let mut stream = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n".to_vec();
    for _ in 0..5 {
        stream.extend(frame(true, 1, None, b"{\"type\":\"ping\"}"));
    }
    let mut splitter = Splitter::new(true);
    push_all(&mut splitter, &[&stream]);
    assert_eq!(splitter.verdict(), Verdict::NotSip);
}

proptest! {
    #[test]
    fn any_splitting_gives_the_same_messages(
        bodies in prop::collection::vec(0usize..6, 1..6),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        websocket in any::<bool>(),
    ) {
        let messages: Vec<_> = bodies.iter().enumerate().map(|(i, n)| message(i, &"v=0\r\ns=-\r\n".repeat(*n))).collect();
        let mut stream = if websocket { UPGRADE.to_vec() } else { Vec::new() };
        for m in &messages {
            match websocket {
                true => stream.extend(frame(true, 1, Some([9, 8, 7, 6]), m)),
                false => stream.extend([&b"\r\n\r\n"[..], m].concat()),
            }
        }
        let mut places: Vec<usize> = cuts.iter().map(|c| c.index(stream.len())).collect();
        places.extend([0, stream.len()]);
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|w| &stream[w[0]..w[1]]).collect();
        let mut splitter = Splitter::new(true);
        let got = push_all(&mut splitter, &pieces);
        prop_assert_eq!(got.iter().map(|g| g.0.clone()).collect::<Vec<_>>(), messages);
        // The tag is that of the piece that holds the last octet.
        let mut end = if websocket { UPGRADE.len() } else { 0 };
        for g in &got {
            end += if websocket { frame(true, 1, Some([0; 4]), &g.0).len() } else { 4 + g.0.len() };
            let piece = places.windows(2).position(|w| w[0] < end && end <= w[1]).unwrap();
            prop_assert_eq!(g.1, piece);
        }
        prop_assert_eq!(splitter.counts().junk_octets, 0);
        prop_assert_eq!(splitter.held_octets(), 0);
    }
}

#[test]
fn header_values_survive_the_framing() {
    let m = message(42, "v=0\r\n");
    Splitter::new(true).push(0, 0, &m, &mut |f: Framed<'_, usize>| {
        assert_eq!(f.message.header(Header::CallId), Some(&b"42"[..]));
        assert_eq!(f.message.sdp(), Some(&b"v=0\r\n"[..]));
        assert!(f.message.oddities().is_empty());
    });
}
