//! Ports that a call uses again whose predecessor ended without a BYE that was seen.

use crate::world::read_rows;
use trunkline_capture::PcapWriter;
use trunkline_store::row::{Call, CallState};

const MS: i64 = 1_000_000;
const BEGIN_NS: i64 = 1_767_225_600_000_000_000;
/// Raw IP.
const LINK: u16 = 101;
const ALICE: [u8; 4] = [192, 0, 2, 1];
const BOB: [u8; 4] = [192, 0, 2, 2];

/// A UDP packet over IPv4; nobody asks for its checksum.
fn udp(from: ([u8; 4], u16), to: ([u8; 4], u16), payload: &[u8]) -> Vec<u8> {
    let length = 28 + payload.len() as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    packet.extend(from.0.into_iter().chain(to.0));
    for word in [from.1, to.1, length - 20, 0] {
        packet.extend(word.to_be_bytes());
    }
    packet.extend(payload);
    packet
}

/// Packets by time.
#[derive(Default)]
struct Tape(Vec<(i64, Vec<u8>)>);

impl Tape {
    fn sip(&mut self, at_ms: i64, by_alice: bool, text: &str) {
        let (from, to) = if by_alice { (ALICE, BOB) } else { (BOB, ALICE) };
        let octets = text.replace('\n', "\r\n");
        self.0.push((at_ms, udp((from, 5060), (to, 5060), octets.as_bytes())));
    }

    /// Audio of one side, a packet each 20 ms.
    fn audio(&mut self, span_ms: (i64, i64), by_alice: bool, ssrc: u32) {
        let ends = [(ALICE, 4000), (BOB, 5000)];
        let (from, to) = if by_alice { (ends[0], ends[1]) } else { (ends[1], ends[0]) };
        for (n, at_ms) in (span_ms.0..span_ms.1).step_by(20).enumerate() {
            let mut packet = vec![0x80, 0];
            packet.extend((n as u16).to_be_bytes());
            packet.extend((n as u32 * 160).to_be_bytes());
            packet.extend(ssrc.to_be_bytes());
            packet.extend([0xd5; 160]);
            self.0.push((at_ms + 1, udp(from, to, &packet)));
        }
    }

    /// INVITE, 180, 200 two seconds later, ACK.
    fn call(&mut self, at_ms: i64, id: &str) {
        let sdp = |address: &str, port: u16| {
            format!("v=0\no=- 1 1 IN IP4 {address}\ns=-\nc=IN IP4 {address}\nt=0 0\nm=audio {port} RTP/AVP 0\n")
        };
        let head = |first: &str, tag: &str, method: &str| {
            format!(
                "{first}\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK{id}{method}\nFrom: <sip:a@x>;tag=a{id}\n\
                 To: <sip:b@x>{tag}\nCall-ID: {id}\nCSeq: 1 {method}\n"
            )
        };
        let with = |head: String, sdp: String| format!("{head}Content-Type: application/sdp\n\n{sdp}");
        let tag = format!(";tag=b{id}");
        self.sip(at_ms, true, &with(head("INVITE sip:b@x SIP/2.0", "", "INVITE"), sdp("192.0.2.1", 4000)));
        self.sip(at_ms + 20, false, &format!("{}\n", head("SIP/2.0 180 Ringing", &tag, "INVITE")));
        self.sip(at_ms + 2000, false, &with(head("SIP/2.0 200 OK", &tag, "INVITE"), sdp("192.0.2.2", 5000)));
        self.sip(at_ms + 2020, true, &format!("{}\n", head("ACK sip:b@x SIP/2.0", &tag, "ACK")));
    }

    fn calls(mut self) -> Vec<Call> {
        self.0.sort_by_key(|(at_ms, _)| *at_ms);
        let mut writer = PcapWriter::pcapng(Vec::new());
        for (at_ms, packet) in &self.0 {
            writer.write(BEGIN_NS + at_ms * MS, LINK, packet.len() as u32, packet).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("calls.pcapng");
        std::fs::write(&file, writer.finish().unwrap()).unwrap();
        let (rows, _) = read_rows(&file, 1);
        assert!(read_rows(&file, 3).0 == rows);
        assert!(rows.streams.is_empty(), "{} streams without a call", rows.streams.len());
        rows.calls
    }
}

/// Packets of each stream of a call, by who sent them.
fn packets(call: &Call) -> Vec<(u8, u64)> {
    let mut all: Vec<_> = call.streams.iter().map(|s| (s.direction as u8, s.packets)).collect();
    all.sort_unstable();
    all
}

#[test]
fn a_call_has_the_streams_of_its_ports_though_the_bye_before_it_was_not_seen() {
    // How long the ports rest, and whether the sources are the same; the callee's sound comes before its answer.
    for (rest_ms, ssrc, early_ms) in [(1_000, 7, 0), (5_000, 1, 0), (600_000, 11, 1_500), (20_000, 9, 1_500), (0, 3, 0)]
    {
        let mut tape = Tape::default();
        tape.call(0, "one");
        tape.audio((2_040, 12_040), true, 1);
        tape.audio((2_040, 12_040), false, 2);
        let begin = 12_040 + rest_ms;
        tape.call(begin, "two");
        tape.audio((begin + 2_040, begin + 6_040), true, ssrc);
        tape.audio((begin + 2_040 - early_ms, begin + 6_040), false, ssrc + 1);
        let calls = tape.calls();
        let what = format!("{rest_ms} {ssrc} {early_ms}");
        assert_eq!(calls.len(), 2, "{what}");
        assert!(calls.iter().all(|c| c.state == CallState::Answered), "{what}");
        let first = calls.iter().find(|c| c.sip_call_id == "one").unwrap();
        let second = calls.iter().find(|c| c.sip_call_id == "two").unwrap();
        assert_eq!(packets(second), [(1, 200), (2, 200 + early_ms as u64 / 20)], "{what}");
        assert_eq!(packets(first), [(1, 500), (2, 500)], "{what}");
    }
}
