//! Hand-made calls for the tests of everything that shows calls.

use crate::terminal::Terminal;
use jiff::tz::{TimeZone, offset};
use trunkline_kit::Id;
use trunkline_store::row::*;
use trunkline_wire::Endpoint;

/// 2024-05-01 10:00:12 at +02:00.
pub const START: i64 = 1_714_550_412_000_000_000;
const MS: i64 = 1_000_000;

/// A UTF-8 terminal without colours at +02:00.
pub fn terminal(width: usize) -> Terminal {
    Terminal { width, height: None, colour: false, unicode: true, zone: TimeZone::fixed(offset(2)) }
}

/// The same where the locale is not UTF-8.
pub fn ascii_terminal(width: usize) -> Terminal {
    Terminal { unicode: false, ..terminal(width) }
}

/// The lines as they are written.
pub fn written(lines: &[super::text::Line], terminal: &Terminal) -> String {
    let mut out = Vec::new();
    super::table::write(lines, terminal, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Compares with `src/expected/NAME.txt`; TRUNKLINE_BLESS=1 writes the file instead, for a person to look at.
pub fn expect(name: &str, found: &str) {
    let path = format!("{}/src/expected/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("TRUNKLINE_BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == found, "{name}: expected\n{expected}\nfound\n{found}\n(TRUNKLINE_BLESS=1 accepts it)");
    assert!(!found.contains(|c: char| c.is_control() && c != '\n'), "{name}: a control character");
}

/// Builds ladders: `(ms, src, dst, "INVITE" or "200 INVITE", cseq, flags, text)`.
type Step<'a> = (i64, u8, u8, &'a str, u32, u8, &'a str);

fn ladder(hosts: &[&str], steps: &[Step<'_>]) -> Ladder {
    let hosts = hosts.iter().map(|text| text.parse::<Endpoint>().unwrap()).collect();
    let mut ladder = Ladder { hosts, ..Ladder::default() };
    for (i, (ms, src, dst, name, cseq, flags, text)) in steps.iter().enumerate() {
        let (status, method) = name.split_once(' ').map_or((0, *name), |(s, m)| (s.parse().unwrap(), m));
        let method = Message::METHODS.iter().position(|m| *m == method).unwrap_or(0) as u8;
        let at = (ladder.texts.len() as u32, text.len() as u16);
        ladder.texts.push_str(text);
        let (src, dst, cseq, flags) = (*src, *dst, *cseq, *flags);
        let at_ns = START + ms * MS;
        let message = Message {
            at_ns,
            packet: i as u64 + 1,
            cseq,
            status,
            method,
            src,
            dst,
            flags,
            text: at,
            ..Message::default()
        };
        ladder.messages.push(message);
    }
    ladder
}

fn call(name: &str, state: CallState, code: u16, reason: &str, ladder: Ladder) -> Call {
    let (src, dst) = (ladder.hosts[0], ladder.hosts[1]);
    Call {
        id: Id::derive(START, name.as_bytes()),
        sip_call_id: format!("{name}@pc33.example.com"),
        state,
        from: "+442079460123".into(),
        to: "1002".into(),
        from_uri: "sip:+442079460123@example.com".into(),
        to_uri: "sip:1002@example.com".into(),
        start_ns: START,
        last_ns: ladder.messages.last().unwrap().at_ns,
        end_ns: (state != CallState::Answered).then(|| ladder.messages.last().unwrap().at_ns),
        code,
        reason: reason.into(),
        src,
        dst,
        user_agent: "Linphone/4.2".into(),
        capture: CaptureLedger { complete: true, ..CaptureLedger::default() },
        ladder,
        files: vec!["/captures/office.pcap".into()],
        ..Call::default()
    }
}

fn stream(src: &str, dst: &str, direction: Direction, from_ms: i64, to_ms: i64) -> Stream {
    let packets = ((to_ms - from_ms) / 20) as u64;
    let ssrc: u32 = if direction == Direction::Caller { 0x3a98_0074 } else { 0x0000_1f2e };
    Stream {
        id: Id::derive(START + from_ms * MS, &ssrc.to_be_bytes()),
        ssrc,
        src: src.parse().unwrap(),
        dst: dst.parse().unwrap(),
        direction,
        codec: "PCMA, telephone-event".into(),
        clock_rate: 8000,
        payload_types: vec![8, 101],
        ptime_ms: 20.0,
        packets,
        octets: packets * 160,
        expected: packets,
        jitter_mean_ms: 0.231,
        jitter_max_ms: 1.875,
        first_ns: START + from_ms * MS,
        last_ns: START + to_ms * MS,
        mos: Mos { g107: Some(4.41), wideband: false, vm_f1: Some(4.5), vm_f2: Some(4.5), vm_adapt: Some(4.5) },
        packet_first: 8,
        packet_last: 1600,
        ..Stream::default()
    }
}

const SDP: u8 = Message::SDP;

fn ordinary(hosts: &[&str]) -> Ladder {
    ladder(
        hosts,
        &[
            (0, 0, 1, "INVITE", 1, SDP, " · PCMA PCMU 192.0.2.1:4000"),
            (2, 1, 0, "100 INVITE", 1, 0, "Trying"),
            (312, 1, 0, "180 INVITE", 1, 0, "Ringing"),
            (3120, 1, 0, "200 INVITE", 1, SDP, "OK · PCMA 192.0.2.2:6000"),
            (3150, 0, 1, "ACK", 1, 0, ""),
            (35_150, 0, 1, "BYE", 2, 0, ""),
            (35_152, 1, 0, "200 BYE", 2, 0, "OK"),
        ],
    )
}

/// An ordinary call between two hosts with media both ways.
pub fn good() -> Call {
    let mut call = call("good", CallState::Completed, 200, "OK", ordinary(&["192.0.2.1:5060", "192.0.2.2:5060"]));
    call.hangup = Hangup::Caller;
    call.ringing_ns = Some(START + 312 * MS);
    call.answer_ns = Some(START + 3120 * MS);
    call.end_ns = Some(START + 35_150 * MS);
    call.mos = Some(4.41);
    call.streams = vec![
        stream("192.0.2.1:4000", "192.0.2.2:6000", Direction::Caller, 3160, 35_140),
        stream("192.0.2.2:6000", "192.0.2.1:4000", Direction::Callee, 3165, 35_145),
    ];
    call
}

/// One-way audio: the callee's SDP names a private address.
pub fn one_way() -> Call {
    let mut call = Call { id: Id::derive(START, b"one-way"), sip_call_id: "one-way@pc33.example.com".into(), ..good() };
    call.streams.truncate(1);
    call.streams[0].missing = 31;
    call.streams[0].lost = 31;
    call.streams[0].packets -= 31;
    call.streams[0].mos.g107 = Some(3.62);
    call.mos = Some(3.62);
    let text = "One-way audio: nothing came from the callee. Its SDP says 10.0.0.5:6000, a private address that the caller \
                at 192.0.2.1 cannot reach; the caller sent 1,568 packets there.";
    call.verdict = Some(Verdict { kind: "one-way-audio".into(), text: text.into(), packets: vec![4, 8] });
    call.capture = CaptureLedger {
        complete: false,
        lost_at_tap: 12,
        lost_at_tap_least: 12,
        lost_before_tap: 31,
        note: "12 packets dropped by the interface".into(),
        ..CaptureLedger::default()
    };
    call
}

/// An INVITE that nobody answers, over a lossy path.
pub fn retransmissions() -> Call {
    const AGAIN: u8 = SDP | Message::RETRANSMISSION;
    let steps = [
        (0, 0, 1, "INVITE", 1, SDP, " · PCMA 192.0.2.1:4000"),
        (500, 0, 1, "INVITE", 1, AGAIN, " · PCMA 192.0.2.1:4000"),
        (1500, 0, 1, "INVITE", 1, AGAIN, " · PCMA 192.0.2.1:4000"),
        (3500, 0, 1, "INVITE", 1, AGAIN | Message::CUT, " · PCMA 192.0.2.1:4000"),
        (3600, 1, 0, "503 INVITE", 1, Message::ODD, "Service Unavailable · Content-Length 12 but 0 octets follow"),
        (3601, 0, 1, "ACK", 1, 0, ""),
    ];
    let ladder = ladder(&["192.0.2.1:5060", "192.0.2.2:5060"], &steps);
    let mut call = call("retransmissions", CallState::Rejected, 503, "Service Unavailable", ladder);
    let text =
        "Rejected with 503 Service Unavailable: the far server is overloaded or down; the INVITE was sent 4 times.";
    call.verdict = Some(Verdict { kind: "server-failure".into(), text: text.into(), packets: vec![5] });
    call
}

/// A proxy forks to two phones; one answers.
pub fn forked() -> Call {
    let hosts = ["192.0.2.1:5060", "192.0.2.10:5060", "192.0.2.21:5060", "192.0.2.22:5060"];
    let steps = [
        (0, 0, 1, "INVITE", 1, SDP, " · PCMA 192.0.2.1:4000"),
        (1, 1, 0, "100 INVITE", 1, 0, "Trying"),
        (3, 1, 2, "INVITE", 1, SDP, " · PCMA 192.0.2.1:4000"),
        (3, 1, 3, "INVITE", 1, SDP, " · PCMA 192.0.2.1:4000"),
        (90, 2, 1, "180 INVITE", 1, 0, "Ringing"),
        (95, 3, 1, "180 INVITE", 1, 0, "Ringing"),
        (99, 1, 0, "180 INVITE", 1, 0, "Ringing"),
        (4000, 3, 1, "200 INVITE", 1, SDP, "OK · PCMA 192.0.2.22:7000"),
        (4002, 1, 0, "200 INVITE", 1, SDP, "OK · PCMA 192.0.2.22:7000"),
        (4003, 1, 2, "CANCEL", 1, 0, ""),
        (4010, 2, 1, "487 INVITE", 1, 0, "Request Terminated"),
        (4020, 0, 3, "ACK", 1, 0, ""),
        (9_000_000, 3, 0, "BYE", 1, 0, ""),
        (9_000_002, 0, 3, "200 BYE", 1, 0, "OK"),
    ];
    let mut call = call("forked", CallState::Completed, 200, "OK", ladder(&hosts, &steps));
    call.answer_ns = Some(START + 4002 * MS);
    call.end_ns = Some(START + 9_000_000 * MS);
    call.hangup = Hangup::Callee;
    call.streams = vec![stream("192.0.2.1:4000", "192.0.2.22:7000", Direction::Caller, 4100, 8_999_000)];
    call.mos = Some(4.41);
    call
}

/// Three hosts, one of which is a media relay that does not signal.
pub fn three_hosts() -> Call {
    let mut call = Call { id: Id::derive(START, b"three"), sip_call_id: "three@pc33.example.com".into(), ..good() };
    call.streams = vec![
        stream("192.0.2.1:4000", "198.51.100.7:30000", Direction::Caller, 3160, 35_140),
        stream("198.51.100.7:30000", "192.0.2.1:4000", Direction::Callee, 3165, 35_145),
    ];
    call
}

/// IPv6 throughout.
pub fn ipv6() -> Call {
    let hosts = ["[2001:db8:1234:5678:9abc:def0:1234:5678]:5060", "[2001:db8::2]:5060"];
    let mut call = call("ipv6", CallState::Completed, 200, "OK", ordinary(&hosts));
    let from = "[2001:db8:1234:5678:9abc:def0:1234:5678]:49170";
    call.streams = vec![stream(from, "[2001:db8::2]:51372", Direction::Caller, 3160, 35_140)];
    call.answer_ns = Some(START + 3120 * MS);
    call
}

/// Names that try to take over the terminal, and honest ones that are not ASCII.
pub fn hostile() -> Call {
    let steps = [
        (0, 0, 1, "INVITE", 1, Message::ODD, " · \x1b[2J\x1b]0;owned\x07 in From"),
        (40, 1, 0, "404 INVITE", 1, 0, "Not \u{202e}dnuoF\r\n 王小明"),
        (41, 1, 1, "OPTIONS", 2, 0, ""),
    ];
    let mut call = call(
        "hostile",
        CallState::Rejected,
        404,
        "Not \u{202e}dnuoF",
        ladder(&["127.0.0.1:5060", "127.0.0.1:5080"], &steps),
    );
    call.from = "\x1b[31mZoë".into();
    call.to = "王小明".into();
    call.user_agent = "evil\x1b[2J\r\nUA".into();
    let text = "Rejected with 404: \x1b[1mnobody\x1b[0m is called 王小明 there.";
    call.verdict = Some(Verdict { kind: "not-found".into(), text: text.into(), packets: vec![2] });
    call
}

/// Eight hosts in a row: more than 80 columns can hold.
pub fn many_hosts() -> Call {
    let hosts: Vec<String> = (1..=8).map(|i| format!("192.0.2.{i}:5060")).collect();
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let steps: Vec<Step<'_>> = (0..7)
        .map(|i| (i64::from(i), i, i + 1, "INVITE", 1, SDP, " · PCMA PCMU G729 192.0.2.1:4000 sendrecv"))
        .collect();
    call("many", CallState::Attempted, 0, "", ladder(&hosts, &steps))
}

/// A signalling-only call with more messages than a page holds.
pub fn long() -> Call {
    let steps: Vec<Step<'_>> = (0..300).map(|i| (i * 30_000, 0, 1, "UPDATE", i as u32 + 1, 0, "")).collect();
    let mut call = call("long", CallState::Answered, 200, "OK", ladder(&["192.0.2.1:5060", "192.0.2.2:5060"], &steps));
    call.ladder.not_kept = 12;
    call.answer_ns = Some(START);
    call
}
