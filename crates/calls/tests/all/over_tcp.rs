//! RTP over TCP (RFC 4571, RFC 4145) is told by name, and silence of such a call blames nobody. Reported of sngrep
//! (#490) and pjsip (#4363): such media is not looked at.

use crate::tape::{Side, Tape, end, kind, rtp, says, sdp, tcp, udp};
use trunkline_calls::unread::Protocol;

#[test]
fn media_over_tcp_is_named_and_blames_nobody() {
    for (section, attributes) in
        [("audio TCP/RTP/AVP 0", &["setup:actpass", "connection:new"][..]), ("audio RTP/AVP 0", &[])]
    {
        for together in [1u16, 3] {
            let media = [end("192.0.2.1:9000"), end("198.51.100.2:51234")];
            let side = |at: usize, tag| Side {
                signals: trunkline_wire::Endpoint::new(media[at].address, 5060),
                tag,
                sdp: sdp(media[at], section, attributes),
            };
            let (a, b) = (&side(0, "a"), &side(1, "b"));
            let mut tape = Tape::default();
            tape.call(0, "c1", [a, b]);
            tape.push(2_050, tcp(media[1], media[0], (99, 2), b""));
            tape.push(2_051, tcp(media[0], media[1], (499, 0x12), b""));
            for way in [[1, 0], [0, 1]] {
                let mut seq = if way[0] == 1 { 100 } else { 500 };
                for n in (0..300u16).step_by(together.into()) {
                    let frame = |n: u16| [&172u16.to_be_bytes()[..], &rtp(way[0] as u32, n)].concat();
                    let octets = (n..n + together).flat_map(frame).collect::<Vec<u8>>();
                    tape.push(2_060 + 20 * i64::from(n), tcp(media[way[0]], media[way[1]], (seq, 0x18), &octets));
                    seq += octets.len() as u32;
                }
            }
            // Another call is heard: media passes this tap.
            tape.media((2_000, 6_000), 7, |o| udp(end("192.0.2.9:4000"), end("198.51.100.9:4000"), o));
            tape.bye(8_500, "c1", [a, b]);
            let (call, _, summary) = tape.call_of();
            assert_eq!(kind(&call), "media-not-captured", "{}", says(&call));
            assert!(says(&call).contains("over TCP (RFC 4571)"), "{}", says(&call));
            assert_eq!(summary.unread.row(Protocol::RtpTcp).packets, u64::from(600 / together));
        }
    }
}

#[test]
fn other_connections_are_not_taken_for_it() {
    let ends = [end("192.0.2.1:9000"), end("198.51.100.2:51234")];
    let mut tape = Tape::default();
    tape.udp(0, ends[0], ends[1], b"x");
    // A length that does not agree, another version, and a port of the system.
    let framed = [&172u16.to_be_bytes()[..], &rtp(1, 1)].concat();
    tape.push(10, tcp(ends[0], ends[1], (1, 0x18), &framed[..170]));
    tape.push(20, tcp(ends[0], ends[1], (500, 0x18), &[&framed[..2], &[0x40], &framed[3..]].concat()));
    tape.push(30, tcp(ends[0], end("198.51.100.2:80"), (1, 0x18), &framed));
    let (_, summary) = tape.read();
    assert_eq!(summary.unread.row(Protocol::RtpTcp).packets, 0);
}
