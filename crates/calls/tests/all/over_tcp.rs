//! Media over TCP is read: RTP behind its length (RFC 4571, RFC 4145), ICE over TCP (RFC 6544), TURN between a client
//! and its server (RFC 8656). Each case is one that users report, with what is true of it; the reports are named.

use crate::tape::{Side, Tape, end, ip, kind, rtp, says, sdp, streams, udp};
use crate::turn::{attribute, message};
use trunkline_calls::unread::Protocol;
use trunkline_kit::counters::Counted;
use trunkline_store::row::Call;
use trunkline_wire::Endpoint;

const TCP: u8 = 6;
const SYN: u8 = 2;
const ACK: u8 = 0x10;

/// A connection, with what each side has sent. A segment acknowledges all of the other side, captured or not.
pub struct Line {
    ends: [Endpoint; 2],
    seq: [u32; 2],
}

impl Line {
    /// The first end connects.
    pub fn open(tape: &mut Tape, at_ms: i64, ends: [Endpoint; 2]) -> Line {
        let mut line = Line::joined(ends);
        line.segment(tape, at_ms, 0, SYN, &[]);
        line.seq[0] += 1;
        line.segment(tape, at_ms + 1, 1, SYN | ACK, &[]);
        line.seq[1] += 1;
        line.segment(tape, at_ms + 2, 0, ACK, &[]);
        line
    }

    /// It is there already.
    pub fn joined(ends: [Endpoint; 2]) -> Line {
        Line { ends, seq: [4_294_967_000, 7_000] }
    }

    fn segment(&self, tape: &mut Tape, at_ms: i64, by: usize, flags: u8, octets: &[u8]) {
        let mut segment = [self.ends[by].port.to_be_bytes(), self.ends[1 - by].port.to_be_bytes()].concat();
        segment.extend(self.seq[by].to_be_bytes());
        segment.extend(self.seq[1 - by].to_be_bytes());
        segment.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        segment.extend(octets);
        tape.push(at_ms, ip(self.ends[by], self.ends[1 - by], TCP, &segment));
    }

    pub fn send(&mut self, tape: &mut Tape, at_ms: i64, by: usize, octets: &[u8]) {
        self.segment(tape, at_ms, by, 0x18, octets);
        self.lose(by, octets);
    }

    /// It was sent, and the capture does not hold it.
    pub fn lose(&mut self, by: usize, octets: &[u8]) {
        self.seq[by] = self.seq[by].wrapping_add(octets.len() as u32);
    }
}

/// Behind its length.
fn framed(octets: &[u8]) -> Vec<u8> {
    [&(octets.len() as u16).to_be_bytes(), octets].concat()
}

const ENDS: [[&str; 2]; 3] = [
    ["192.0.2.1:9000", "198.51.100.2:51234"],
    ["[2001:db8::1]:40001", "[2001:db8:2::2]:52000"],
    // The length's octets are those of other protocols' beginnings, and the port is a server's.
    ["192.0.2.1:443", "198.51.100.2:3478"],
];

fn pair(ends: [&str; 2]) -> [Endpoint; 2] {
    ends.map(end)
}

pub fn side(media: Endpoint, tag: &'static str, section: &str, attributes: &[&str]) -> Side {
    Side { signals: Endpoint::new(media.address, 5060), tag, sdp: sdp(media, section, attributes) }
}

const SECTION: &str = "audio TCP/RTP/AVP 0";

/// Both sides name where they are: the first one waits.
fn sides(media: [Endpoint; 2]) -> [Side; 2] {
    let active = Endpoint::new(media[1].address, 9);
    [
        side(media[0], "a", SECTION, &["setup:passive", "connection:new"]),
        side(active, "b", SECTION, &["setup:active", "connection:new"]),
    ]
}

/// The frames of both sides at their times, 6 s from 2.06 s on: `(at_ms, by, octets)`.
fn speech() -> Vec<(i64, usize, Vec<u8>)> {
    let frame = |n: u16, by: usize| (2_060 + 20 * i64::from(n), by, framed(&rtp(by as u32 + 1, n)));
    (0..300).flat_map(|n| [frame(n, 0), frame(n, 1)]).collect()
}

/// A call over this connection, which the callee opens; `send` has the connection for the talk.
fn call(ends: [Endpoint; 2], sides: &[Side; 2], send: impl FnOnce(&mut Tape, &mut Line)) -> Tape {
    let mut tape = Tape::default();
    let [a, b] = sides;
    tape.call(0, "c1", [a, b]);
    let mut line = Line::open(&mut tape, 2_050, [ends[1], ends[0]]);
    send(&mut tape, &mut line);
    // Another call is heard: media passes this tap.
    tape.media((2_000, 6_000), 7, |o| udp(end("192.0.2.9:4000"), end("198.51.100.9:4000"), o));
    tape.bye(8_500, "c1", [a, b]);
    tape
}

/// Direction, source, packets and missing packets of each stream.
pub fn heard(call: &Call) -> Vec<(u8, u32, u64, u64)> {
    let mut all: Vec<_> = call.streams.iter().map(|s| (s.direction as u8, s.ssrc, s.packets, s.missing)).collect();
    all.sort();
    all
}

pub fn counter(counters: &[Counted], name: &str) -> u64 {
    counters.iter().find(|c| c.name.contains(name)).unwrap_or_else(|| panic!("no {name}")).value
}

pub const WHOLE: [(u8, u32, u64, u64); 2] = [(1, 1, 300, 0), (2, 2, 300, 0)];

/// The end of the line that sends for a side: the callee (side 1) opened it.
fn by(side: usize) -> usize {
    1 - side
}

/// sngrep #490, pjproject #4363 (not looked at), MiBeeNvr #443 (`setup:passive`, `setup:active`).
#[test]
fn rtp_behind_its_length_is_the_calls_audio() {
    for ends in ENDS.map(pair) {
        let named = [side(ends[0], "a", "audio RTP/AVP 0", &[]), side(ends[1], "b", "audio RTP/AVP 0", &[])];
        for sides in [sides(ends), named] {
            let tape = call(ends, &sides, |tape, line| {
                speech().iter().for_each(|(at_ms, side, octets)| line.send(tape, *at_ms, by(*side), octets));
            });
            let (call, _, summary) = tape.call_of();
            assert_eq!(says(&call), "");
            assert_eq!(heard(&call), WHOLE);
            assert!(call.streams.iter().all(|s| s.mos.g107.unwrap() > 4.3), "{:?}", call.streams);
            let ways: Vec<_> = streams(&call).into_iter().map(|(_, from, to, ..)| (from, to)).collect();
            let [a, b] = ends.map(|e| e.to_string());
            assert_eq!(ways, [(a.clone(), b.clone()), (b, a)]);
            assert_eq!(summary.unread.row(Protocol::RtpTcp).packets, 0);
            assert_eq!(counter(&summary.counters, "tcp_media_messages"), 600);
        }
    }
}

/// smelter #399 (a read may end anywhere), pjproject #999 and turn-proto #70 (several messages in one segment).
#[test]
fn segments_may_begin_and_end_anywhere() {
    let ends = pair(ENDS[0]);
    for each in [1usize, 2, 3, 13, 173, 174, 175, 700, 1460] {
        let tape = call(ends, &sides(ends), |tape, line| {
            let mut waiting = [Vec::new(), Vec::new()];
            let all = speech();
            let last = all.len() - 2;
            for (n, (at_ms, side, octets)) in all.iter().enumerate() {
                waiting[*side].extend_from_slice(octets);
                // Small ones follow each other at once.
                while waiting[*side].len() >= each.max(60) || n >= last && !waiting[*side].is_empty() {
                    let piece: Vec<u8> = waiting[*side].drain(..each.min(waiting[*side].len())).collect();
                    line.send(tape, *at_ms, by(*side), &piece);
                }
            }
        });
        let (call, _, summary) = tape.call_of();
        assert_eq!(heard(&call), WHOLE, "{each}");
        // Where several wait for one segment, those who listen wait, too.
        assert!(each > 175 || says(&call).is_empty(), "{each}: {}", says(&call));
        assert_eq!(counter(&summary.counters, "tcp_media_unread_octets"), 0);
    }
}

/// ZLMediaKit #2499: a length of 0x2400 to 0x24ff begins with `$`, as RTSP's interleaved frames do.
#[test]
fn a_length_is_no_other_protocols_beginning() {
    for length in [0x2410usize, 0x4745, 0x1603, 0x4142] {
        let ends = pair(ENDS[0]);
        let tape = call(ends, &sides(ends), |tape, line| {
            for (at_ms, side, octets) in speech() {
                let mut packet = octets[2..].to_vec();
                packet.resize(length, 0xd5);
                framed(&packet).chunks(1460).for_each(|piece| line.send(tape, at_ms, by(side), piece));
            }
        });
        let (call, ..) = tape.call_of();
        assert_eq!(heard(&call), WHOLE, "{length:#x}");
    }
}

/// ZLMediaKit #571, #714: the sender's buffer is full, it writes half of a frame and goes on with the next one.
#[test]
fn what_follows_half_a_frame_is_found_again() {
    let ends = pair(ENDS[0]);
    let tape = call(ends, &sides(ends), |tape, line| {
        for (at_ms, side, octets) in speech() {
            let is_half = side == 0 && (at_ms - 2_060) / 20 % 8 == 3;
            line.send(tape, at_ms, by(side), if is_half { &octets[..70] } else { &octets });
        }
    });
    let (call, _, summary) = tape.call_of();
    let told = heard(&call);
    assert_eq!(told[1], WHOLE[1]);
    // What looks whole has swallowed a part of the next one.
    assert!((30..=45).contains(&told[0].3), "{told:?}");
    assert_eq!(call.capture.lost_at_tap, 0, "the sender did it");
    assert!(summary.unread.row(Protocol::RtpTcp).packets > 0, "and what was not read is counted");
    assert!(counter(&summary.counters, "tcp_media_unread_octets") > 0);
    assert_eq!(kind(&call), "loss");
}

/// Segments that the other side acknowledges and the capture lacks: the tap lost them.
#[test]
fn what_the_capture_lacks_is_no_loss() {
    for (span, frames) in [(100..101, 1), (100..130, 1), (40..43, 3)] {
        let ends = pair(ENDS[1]);
        let tape = call(ends, &sides(ends), |tape, line| {
            for n in (0..300u16).step_by(frames) {
                for side in [0, 1] {
                    let octets: Vec<u8> =
                        (n..n + frames as u16).flat_map(|n| framed(&rtp(side as u32 + 1, n))).collect();
                    match side == 1 && span.contains(&(n / frames as u16)) {
                        true => line.lose(by(side), &octets),
                        false => line.send(tape, 2_060 + 20 * i64::from(n), by(side), &octets),
                    }
                }
            }
        });
        let lost = (span.len() * frames) as u64;
        let (call, ..) = tape.call_of();
        assert_eq!(heard(&call), [(1, 1, 300, 0), (2, 2, 300 - lost, lost)]);
        assert_eq!((call.capture.lost_at_tap, call.capture.lost_before_tap), (lost, 0));
        assert!(call.capture.note.contains("does not hold all of a TCP connection"), "{}", call.capture.note);
        assert_eq!(kind(&call), if lost >= 9 { "not-captured" } else { "" }, "{}", says(&call));
    }
}

/// mediasoup #285 (browser over TCP): the sender leaves packets out while its connection is slow.
#[test]
fn numbers_that_are_missing_over_tcp_were_not_sent() {
    let ends = pair(ENDS[0]);
    let tape = call(ends, &sides(ends), |tape, line| {
        let sent = |at_ms: i64, side: usize| side == 1 || (at_ms / 20) % 10 != 3;
        let some = speech().into_iter().filter(|(at_ms, side, _)| sent(*at_ms, *side));
        some.for_each(|(at_ms, side, octets)| line.send(tape, at_ms, by(side), &octets));
    });
    let (call, ..) = tape.call_of();
    // The first one that is left out is not missed.
    assert_eq!(heard(&call), [(1, 1, 270, 29), WHOLE[1]]);
    assert_eq!(kind(&call), "loss");
    assert!(says(&call).contains("TCP itself loses nothing: the sender left them out"), "{}", says(&call));
    assert_eq!(call.capture.lost_at_tap, 0);
}

/// A lost segment is sent again after 300 ms, and what follows it waits: audio comes late, and nothing is missing.
#[test]
fn what_is_sent_again_is_not_missing() {
    let ends = pair(ENDS[0]);
    let tape = call(ends, &sides(ends), |tape, line| {
        for (at_ms, side, octets) in speech() {
            let late = if side == 0 && at_ms == 4_060 { 300 } else { 0 };
            line.segment(tape, at_ms + late, by(side), 0x08, &octets);
            line.lose(by(side), &octets);
        }
    });
    let (call, ..) = tape.call_of();
    assert_eq!(heard(&call), WHOLE);
    assert_eq!(call.capture.lost_at_tap, 0);
    assert!(call.streams[0].jitter_max_ms > 10.0 || call.streams[1].jitter_max_ms > 10.0);
}

/// The capture begins in the midst of a frame.
#[test]
fn a_connection_whose_beginning_was_not_seen_is_read() {
    let ends = pair(ENDS[0]);
    let [a, b] = &sides(ends);
    let mut tape = Tape::default();
    tape.call(0, "c1", [a, b]);
    let mut line = Line::joined([ends[1], ends[0]]);
    let mut is_first = [true; 2];
    for (at_ms, side, octets) in speech() {
        let begin = if core::mem::take(&mut is_first[side]) { 77 } else { 0 };
        line.send(&mut tape, at_ms, by(side), &octets[begin..]);
    }
    tape.bye(8_500, "c1", [a, b]);
    let (call, ..) = tape.call_of();
    assert_eq!(heard(&call), [(1, 1, 299, 0), (2, 2, 299, 0)]);
    assert_eq!(says(&call), "");
}

/// Only one side sends, over TCP as over UDP.
#[test]
fn one_side_that_is_silent_is_one_way_audio() {
    let ends = pair(ENDS[0]);
    let tape = call(ends, &sides(ends), |tape, line| {
        let some = speech().into_iter().filter(|(_, side, _)| *side == 1);
        some.for_each(|(at_ms, side, octets)| line.send(tape, at_ms, by(side), &octets));
    });
    let (call, ..) = tape.call_of();
    assert_eq!(kind(&call), "one-way-audio", "{}", says(&call));
    assert!(says(&call).contains("only the callee could be heard"), "{}", says(&call));
}

/// Reports share the connection (RFC 5761), empty frames keep it up.
#[test]
fn reports_and_empty_frames_are_what_they_are() {
    let ends = pair(ENDS[0]);
    let tape = call(ends, &sides(ends), |tape, line| {
        for (n, (at_ms, side, octets)) in speech().into_iter().enumerate() {
            if n % 50 == 9 {
                line.send(tape, at_ms, by(side), &[0, 0]);
                let mut report = vec![0x81, 201, 0, 7, 0, 0, 0, side as u8 + 1, 0, 0, 0, 2 - side as u8, 0, 0, 0, 0];
                report.extend([[0, 0], (n as u16 / 2).to_be_bytes()].concat());
                report.extend([0; 12]);
                line.send(tape, at_ms, by(side), &framed(&report));
            }
            line.send(tape, at_ms, by(side), &octets);
        }
    });
    let (call, _, summary) = tape.call_of();
    assert_eq!((heard(&call), says(&call)), (WHOLE.to_vec(), ""));
    assert_eq!(call.streams.iter().map(|s| s.rtcp.receiver_reports).sum::<u32>(), 12);
    assert_eq!(summary.unread.row(Protocol::RtpTcp).packets, 0);
}

fn record(content: u8, epoch: u8, body: &[u8]) -> Vec<u8> {
    let mut octets = vec![content, 0xfe, 0xfd, 0, epoch, 0, 0, 0, 0, 0, 0];
    octets.extend((body.len() as u16).to_be_bytes());
    octets.extend(body);
    octets
}

/// pion/ice #565 (passive on the port of a web server), sdp-transform #37 (active candidates have port 9), nDPI #2414
/// (DTLS over TCP).
#[test]
fn ice_over_tcp_has_checks_keys_and_media_in_frames() {
    for ends in [pair(ENDS[0]), pair(ENDS[2])] {
        let [server, client] = ends;
        let passive =
            format!("candidate:1 1 TCP 2105458943 {} {} typ host tcptype passive", server.address, server.port);
        let active = format!(
            "candidate:4 1 TCP 1688207359 {} 9 typ srflx raddr 10.0.1.1 rport 9 tcptype active",
            client.address
        );
        let section = "audio UDP/TLS/RTP/SAVPF 0";
        let nowhere = |address| Endpoint::new(address, 9);
        let sides = [
            side(nowhere(server.address), "a", section, &["ice-ufrag:x", "setup:passive", &passive]),
            side(nowhere(client.address), "b", section, &["ice-ufrag:y", "setup:active", &active]),
        ];
        for fails in [false, true] {
            let tape = call(ends, &sides, |tape, line| {
                let check = |kind| framed(&message(kind, &[attribute(0x0006, b"x:y"), attribute(0x0024, &[0; 4])]));
                line.send(tape, 2_055, 0, &check(0x0001));
                line.send(tape, 2_056, 1, &check(0x0101));
                line.send(tape, 2_057, 0, &framed(&record(22, 0, &[1, 0, 0])));
                if fails {
                    let refused = framed(&record(21, 0, &[2, 40]));
                    return line.send(tape, 2_058, 1, &refused);
                }
                line.send(tape, 2_058, 1, &framed(&record(22, 0, &[2, 0, 0])));
                line.send(tape, 2_059, 0, &framed(&record(20, 0, &[1])));
                line.send(tape, 2_059, 1, &framed(&record(20, 0, &[1])));
                speech().iter().for_each(|(at_ms, side, octets)| line.send(tape, *at_ms, by(*side), octets));
            });
            let (call, ..) = tape.call_of();
            if fails {
                assert_eq!(kind(&call), "no-audio");
                assert!(says(&call).contains("gave the DTLS handshake up: alert 40"), "{}", says(&call));
            } else {
                assert_eq!((heard(&call), says(&call)), (WHOLE.to_vec(), ""));
                assert!(call.streams.iter().all(|s| s.encrypted));
            }
        }
    }
}

/// A media server has one port for all calls, and its clients connect to it from ports that they cannot tell (port 9
/// with `a=setup:active`): by their hosts each call has its own.
#[test]
fn calls_over_tcp_to_one_port_are_told_by_the_hosts_that_connect() {
    let (four, six) = (["192.0.2.1", "192.0.2.2", "192.0.2.3"], ["[2001:db8::1]", "[2001:db8::2]", "[2001:db8::3]"]);
    for (hosts, server) in [(four, end("198.51.100.2:9000")), (six, end("[2001:db8:2::2]:443"))] {
        for server_calls in [false, true] {
            // Of the second client nothing comes in the last one.
            for silent in [false, true] {
                let mut tape = Tape::default();
                let ids = ["c0", "c1", "c2"];
                for (n, host) in hosts.iter().enumerate() {
                    let active = side(end(&format!("{host}:9")), "a", SECTION, &["setup:active", "connection:new"]);
                    let passive = side(server, "b", SECTION, &["setup:passive", "connection:new"]);
                    let sides = if server_calls { [&passive, &active] } else { [&active, &passive] };
                    tape.call(n as i64 * 10, ids[n], sides);
                    tape.bye(8_500 + n as i64 * 10, ids[n], sides);
                    let client = end(&format!("{host}:{}", 50_000 + n));
                    let mut line = Line::open(&mut tape, 2_050 + n as i64, [client, server]);
                    for (at_ms, by, octets) in speech() {
                        if !(silent && n == 1 && by == 0) {
                            line.send(&mut tape, at_ms + n as i64, by, &octets);
                        }
                    }
                }
                let (rows, _) = tape.read();
                for call in &rows.calls {
                    let is_silent = silent && call.sip_call_id == "c1";
                    let told = format!("{} {server_calls} {:?} {}", call.sip_call_id, heard(call), says(call));
                    assert_eq!(kind(call), if is_silent { "one-way-audio" } else { "" }, "{told}");
                    let of_client = if server_calls { 2 } else { 1 };
                    let way = |(by, ssrc, ..): (u8, u32, u64, u64)| (ssrc == 1) == (by == of_client);
                    assert!(heard(call).into_iter().all(way), "{told}");
                    assert_eq!(call.streams.len(), 2 - usize::from(is_silent), "{told}");
                }
            }
        }
    }
}

/// The connection for media is refused, or nobody answers; a later one may be made.
#[test]
fn a_connection_that_is_never_made_is_why_there_is_no_audio() {
    const RST: u8 = 4;
    for ends in ENDS {
        let (ends, server_calls) = (pair(ends), ends == ENDS[1]);
        for (syns, refused, made, text) in [
            (4, true, false, "refused the TCP connection that"),
            (1, true, false, "(1 RST)"),
            (5, false, false, "which asked for a TCP connection 5 times"),
            // That may be chance.
            (2, false, false, "no RTP was seen in either direction"),
            (3, true, true, ""),
            (4, false, true, ""),
        ] {
            let [a, b] = sides(ends);
            let sides = if server_calls { [&a, &b] } else { [&b, &a] };
            let mut tape = Tape::default();
            tape.call(0, "c1", sides);
            for n in 0..syns {
                let mut line = Line::joined([ends[1], ends[0]]);
                line.segment(&mut tape, 2_030 + 400 * n, 0, SYN, &[]);
                line.seq = [line.seq[0] + 1, 0];
                if refused {
                    line.segment(&mut tape, 2_040 + 400 * n, 1, RST | ACK, &[]);
                }
            }
            if made {
                let mut line = Line::open(&mut tape, 4_600, [Endpoint { port: 60_000, ..ends[1] }, ends[0]]);
                for (at_ms, side, octets) in speech() {
                    line.send(&mut tape, at_ms + 2_600, by(side), &octets);
                }
            }
            // Others are heard.
            for (n, of) in ends.iter().enumerate() {
                let of = Endpoint { port: 30_000, ..*of };
                let to = end(if of.address.is_v4() { "203.0.113.9:4000" } else { "[2001:db8:9::9]:4000" });
                tape.media((0, 3_000), 80 + n as u32, |o| udp(of, to, o));
            }
            tape.bye(11_000, "c1", sides);
            let (call, ..) = tape.call_of();
            let told = format!("{ends:?} {syns} {refused} {made} {}", says(&call));
            assert!(says(&call).contains(text), "{told}");
            assert_eq!(says(&call).contains("refused"), refused && !made, "{told}");
            assert!(if made { kind(&call) != "no-audio" } else { kind(&call) == "no-audio" }, "{told}");
        }
    }
}

/// No SDP leads to it: it is somebody's, and silence of calls with its host says nothing.
#[test]
fn media_over_tcp_that_no_sdp_names_blames_nobody() {
    let (named, ends) = (["192.0.2.1:7000", "198.51.100.2:7002"].map(end), pair(ENDS[0]));
    let sides = [side(named[0], "a", "audio RTP/AVP 0", &[]), side(named[1], "b", "audio RTP/AVP 0", &[])];
    let tape = call(ends, &sides, |tape, line| {
        speech().iter().for_each(|(at_ms, side, octets)| line.send(tape, *at_ms, by(*side), octets));
    });
    let (call, rows, _) = tape.call_of();
    assert_eq!(kind(&call), "media-not-captured", "{}", says(&call));
    assert!(says(&call).contains("over TCP (RFC 4571)"), "{}", says(&call));
    assert_eq!(rows.streams.iter().filter(|s| s.packets == 300).count(), 2, "they are streams all the same");
}

#[test]
fn other_connections_are_not_taken_for_it() {
    let ends = pair(ENDS[0]);
    let http = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(40);
    let tls = [&[0x16, 3, 1, 2, 0][..], &[1; 512]].concat();
    let rtsp: Vec<u8> = (0..40).flat_map(|n| [&[b'$', 0, 0, 172][..], &rtp(9, n)].concat()).collect();
    let chance: Vec<u8> = (0..8_000u32).flat_map(|n| (n.wrapping_mul(0x9e37_79b9) ^ n >> 3).to_le_bytes()).collect();
    for (what, octets) in [("http", http), ("tls", tls), ("rtsp", rtsp), ("chance", chance)] {
        for fresh in [true, false] {
            let mut tape = Tape::default();
            tape.udp(0, ends[0], ends[1], b"x");
            let mut line = if fresh { Line::open(&mut tape, 5, ends) } else { Line::joined(ends) };
            for (n, piece) in octets.chunks(700).enumerate() {
                line.send(&mut tape, 10 + n as i64, 0, piece);
                line.send(&mut tape, 10 + n as i64, 1, piece);
            }
            let (rows, summary) = tape.read();
            assert!(rows.streams.is_empty());
            assert_eq!(counter(&summary.counters, "tcp_media_connections_total"), 0, "{what} {fresh}");
            assert_eq!(summary.unread.row(Protocol::RtpTcp).packets, 0);
        }
    }
}

/// A public capture of G.711 over TCP without signalling, as TShark has it: `tshark -d tcp.port==5000,rtp.rfc4571`.
#[test]
fn a_public_capture_has_the_streams_that_tshark_has() {
    let Some(shared) = crate::captures::shared() else { return };
    let (rows, summary) = crate::world::read_rows(&shared.join("nDPI/rtp.pcapng"), 2);
    let over_tcp: Vec<_> = rows.streams.iter().filter(|s| s.src.port == 40252).collect();
    let told: Vec<_> = over_tcp.iter().map(|s| (s.dst.to_string(), s.ssrc, s.packets, s.missing, &*s.codec)).collect();
    assert_eq!(told, [("172.16.168.64:5000".to_owned(), 0, 17, 0, "PCMA")]);
    assert_eq!(summary.unread.row(Protocol::RtpTcp).packets, 0);
}
