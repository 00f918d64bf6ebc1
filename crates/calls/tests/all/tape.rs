//! Packets that a test writes one by one, with times of its own, and what reading them gives, with one thread and with
//! three.

use crate::world::read_rows;
use trunkline_calls::job::Summary;
use trunkline_capture::PcapWriter;
use trunkline_store::row::{Call, Rows};
use trunkline_wire::Endpoint;

pub const BEGIN_NS: i64 = 1_767_225_600_000_000_000;
/// Raw IP.
const LINK: u16 = 101;
const ICMP: u8 = 1;
const ICMP6: u8 = 58;
const TCP: u8 = 6;
const UDP: u8 = 17;

pub fn end(text: &str) -> Endpoint {
    text.parse().unwrap()
}

/// An IP packet of either version.
pub fn ip(from: Endpoint, to: Endpoint, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u16;
    let (src, dst) = (from.address.octets(), to.address.octets());
    let mut packet = if from.address.is_v4() {
        let mut packet = vec![0x45, 0];
        packet.extend((length + 20).to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, protocol, 0, 0]);
        packet.extend(src[12..].iter().chain(&dst[12..]));
        packet
    } else {
        let mut packet = vec![0x60, 0, 0, 0];
        packet.extend(length.to_be_bytes());
        packet.extend([protocol, 64]);
        packet.extend(src.iter().chain(dst));
        packet
    };
    packet.extend(payload);
    packet
}

/// A UDP packet; nobody asks for its checksum.
pub fn udp(from: Endpoint, to: Endpoint, payload: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::new();
    for word in [from.port, to.port, payload.len() as u16 + 8, 0] {
        datagram.extend(word.to_be_bytes());
    }
    datagram.extend(payload);
    ip(from, to, UDP, &datagram)
}

/// A UDP packet over IPv4 in two fragments.
pub fn fragments(from: Endpoint, to: Endpoint, id: u16, payload: &[u8]) -> [Vec<u8>; 2] {
    let whole = udp(from, to, payload);
    let (header, body) = whole.split_at(20);
    let cut = (body.len() / 2).next_multiple_of(8);
    let piece = |part: &[u8], offset: usize, more: bool| {
        let mut packet = header.to_vec();
        packet[2..4].copy_from_slice(&(part.len() as u16 + 20).to_be_bytes());
        packet[4..6].copy_from_slice(&id.to_be_bytes());
        let word = (offset / 8) as u16 | if more { 0x2000 } else { 0 };
        packet[6..8].copy_from_slice(&word.to_be_bytes());
        packet.extend(part);
        packet
    };
    [piece(&body[..cut], 0, true), piece(&body[cut..], cut, false)]
}

/// A TCP segment.
pub fn tcp(from: Endpoint, to: Endpoint, (seq, flags): (u32, u8), payload: &[u8]) -> Vec<u8> {
    let mut segment = [from.port.to_be_bytes(), to.port.to_be_bytes()].concat();
    segment.extend(seq.to_be_bytes());
    segment.extend([0, 0, 0, 1, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    segment.extend(payload);
    ip(from, to, TCP, &segment)
}

/// An ICMP message of `by` to who sent a packet, with so many octets of that packet.
pub fn icmp(by: Endpoint, (kind, code): (u8, u8), quoted: &[u8], octets: usize, to: Endpoint) -> Vec<u8> {
    let mut message = vec![kind, code, 0, 0, 0, 0, 0, 0];
    message.extend(&quoted[..quoted.len().min(octets)]);
    ip(by, to, if by.address.is_v4() { ICMP } else { ICMP6 }, &message)
}

/// RTP of payload type 0 and 20 ms.
pub fn rtp(ssrc: u32, number: u16) -> Vec<u8> {
    let mut packet = vec![0x80, 0];
    packet.extend(number.to_be_bytes());
    packet.extend((u32::from(number) * 160).to_be_bytes());
    packet.extend(ssrc.to_be_bytes());
    packet.extend([0xd5; 160]);
    packet
}

/// One side of a call: from where it signals, the tag of its dialog, and its session description.
#[derive(Clone, Debug)]
pub struct Side {
    pub signals: Endpoint,
    pub tag: &'static str,
    pub sdp: String,
}

/// `c=` with an address of either family.
pub fn connection(of: Endpoint) -> String {
    let family = if of.address.is_v4() { "IP4" } else { "IP6" };
    format!("c=IN {family} {}", of.address)
}

/// A description of one section: the rest of `m=` behind the port, and attributes.
pub fn sdp(media: Endpoint, section: &str, attributes: &[&str]) -> String {
    let (kind, rest) = section.split_once(' ').unwrap();
    let connection = connection(media);
    let lines: String = attributes.iter().map(|a| format!("a={a}\n")).collect();
    format!("v=0\no=- 1 1 {}\ns=-\n{connection}\nt=0 0\nm={kind} {} {rest}\n{lines}", &connection[2..], media.port)
}

/// PCMU in RTP/AVP.
pub fn audio(media: Endpoint) -> String {
    sdp(media, "audio RTP/AVP 0", &[])
}

/// Packets by time.
#[derive(Clone, Default)]
pub struct Tape(pub Vec<(i64, Vec<u8>)>);

impl Tape {
    pub fn push(&mut self, at_ms: i64, packet: Vec<u8>) {
        self.0.push((at_ms * 1000, packet));
    }

    pub fn udp(&mut self, at_ms: i64, from: Endpoint, to: Endpoint, payload: &[u8]) {
        self.push(at_ms, udp(from, to, payload));
    }

    /// Writes a SIP message: first line, dialog, CSeq, body.
    pub fn sip(&mut self, at_ms: i64, way: [&Side; 2], first: &str, dialog: (&str, [&str; 2]), cseq: &str, body: &str) {
        let (id, [from, to]) = dialog;
        let tag = |tag: &str| if tag.is_empty() { String::new() } else { format!(";tag={tag}") };
        let kind = if body.is_empty() { "" } else { "Content-Type: application/sdp\n" };
        let branch = cseq.replace(' ', "");
        let text = format!(
            "{first}\nVia: SIP/2.0/UDP a.example.net;branch=z9hG4bK{id}{branch}\nFrom: <sip:a@x>{}\nTo: <sip:b@x>{}\n\
             Call-ID: {id}\nCSeq: {cseq}\n{kind}\n{body}",
            tag(from),
            tag(to)
        );
        self.udp(at_ms, way[0].signals, way[1].signals, text.replace('\n', "\r\n").as_bytes());
    }

    /// INVITE, 180, 200 two seconds later, ACK; the answer is at `at_ms` + 2000.
    pub fn call(&mut self, at_ms: i64, id: &str, [a, b]: [&Side; 2]) {
        let dialog = (id, [a.tag, b.tag]);
        self.sip(at_ms, [a, b], "INVITE sip:b@x SIP/2.0", (id, [a.tag, ""]), "1 INVITE", &a.sdp);
        self.sip(at_ms + 20, [b, a], "SIP/2.0 180 Ringing", dialog, "1 INVITE", "");
        self.sip(at_ms + 2000, [b, a], "SIP/2.0 200 OK", dialog, "1 INVITE", &b.sdp);
        self.sip(at_ms + 2020, [a, b], "ACK sip:b@x SIP/2.0", dialog, "1 ACK", "");
    }

    /// An INVITE within the dialog that changes what both describe, and its answer.
    pub fn change(&mut self, at_ms: i64, id: &str, [a, b]: [&Side; 2]) {
        let dialog = (id, [a.tag, b.tag]);
        self.sip(at_ms, [a, b], "INVITE sip:b@x SIP/2.0", dialog, "2 INVITE", &a.sdp);
        self.sip(at_ms + 20, [b, a], "SIP/2.0 200 OK", dialog, "2 INVITE", &b.sdp);
        self.sip(at_ms + 40, [a, b], "ACK sip:b@x SIP/2.0", dialog, "2 ACK", "");
    }

    /// BYE of the caller and its answer.
    pub fn bye(&mut self, at_ms: i64, id: &str, [a, b]: [&Side; 2]) {
        let dialog = (id, [a.tag, b.tag]);
        self.sip(at_ms, [a, b], "BYE sip:b@x SIP/2.0", dialog, "9 BYE", "");
        self.sip(at_ms + 10, [b, a], "SIP/2.0 200 OK", dialog, "9 BYE", "");
    }

    /// RTP each 20 ms, as `wrap` makes packets of it.
    pub fn media(&mut self, span_ms: (i64, i64), ssrc: u32, wrap: impl Fn(&[u8]) -> Vec<u8>) {
        for (n, at_ms) in (span_ms.0..span_ms.1).step_by(20).enumerate() {
            self.push(at_ms + 1, wrap(&rtp(ssrc, n as u16)));
        }
    }

    /// All rows, the same with three threads.
    pub fn read(mut self) -> (Rows, Summary) {
        self.0.sort_by_key(|(at_us, _)| *at_us);
        let mut writer = PcapWriter::pcapng(Vec::new());
        for (at_us, packet) in &self.0 {
            writer.write(BEGIN_NS + at_us * 1000, LINK, packet.len() as u32, packet).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("calls.pcapng");
        std::fs::write(&file, writer.finish().unwrap()).unwrap();
        let (rows, summary) = read_rows(&file, 1);
        let (three, other) = read_rows(&file, 3);
        assert!(three == rows, "three threads read it otherwise:\n{three:#?}\n{rows:#?}");
        assert_eq!(format!("{:?}", summary.unread), format!("{:?}", other.unread));
        let live = crate::live::live(&file, 3, 7);
        let told =
            |rows: &Rows| rows.calls.iter().map(|c| (c.id, c.verdict.clone(), c.streams.clone())).collect::<Vec<_>>();
        assert_eq!(told(&live), told(&rows), "live it is otherwise");
        (rows, summary)
    }

    /// The only call, and its streams without a call.
    pub fn call_of(self) -> (Call, Rows, Summary) {
        let (mut rows, summary) = self.read();
        assert_eq!(rows.calls.len(), 1, "{:#?}", rows.calls);
        (rows.calls.remove(0), rows, summary)
    }
}

/// The kind of a call's verdict; empty without one.
pub fn kind(call: &Call) -> &str {
    call.verdict.as_ref().map_or("", |v| &v.kind)
}

/// What a verdict says; empty without one.
pub fn says(call: &Call) -> &str {
    call.verdict.as_ref().map_or("", |v| &v.text)
}

/// Who sends, from where to where, packets, encrypted; in order.
pub fn streams(call: &Call) -> Vec<(u8, String, String, u64, bool)> {
    let told = |s: &trunkline_store::row::Stream| {
        (s.direction as u8, s.src.to_string(), s.dst.to_string(), s.packets, s.encrypted)
    };
    let mut all: Vec<_> = call.streams.iter().map(told).collect();
    all.sort();
    all
}
