use super::*;

/// What octets between these ports are over UDP, TCP, SCTP, and as IAX2.
fn found(octets: &[u8], ports: (u16, u16)) -> [Option<Protocol>; 4] {
    of(octets, octets.len(), ports)
}

#[track_caller]
fn udp(octets: &[u8], ports: (u16, u16), right: Option<Protocol>) {
    assert_eq!(found(octets, ports)[0], right, "{octets:02x?}");
}

#[track_caller]
fn tcp(octets: &[u8], ports: (u16, u16), right: Option<Protocol>) {
    assert_eq!(found(octets, ports)[1], right, "{octets:02x?}");
}

const ANY: (u16, u16) = (40_000, 41_000);
const RTP: [u8; 16] = [0x80, 0, 0, 1, 0, 0, 0, 160, 1, 2, 3, 4, 0xd5, 0xd5, 0xd5, 0xd5];

fn with(begin: &[u8], rest: &[u8]) -> Vec<u8> {
    [begin, rest].concat()
}

#[test]
fn hep_of_all_versions() {
    let mut hep3 = b"HEP3\x00\x14\x00\x00\x00\x01\x00\x07\x02".to_vec();
    hep3.extend_from_slice(&[0, 0, 0, 15, 0, 7, 65]);
    udp(&hep3, ANY, Some(Protocol::Hep));
    tcp(&hep3, ANY, Some(Protocol::Hep));
    udp(b"HEP3 is a version", ANY, None);
    let sip = b"OPTIONS sip:a@b SIP/2.0\r\n\r\n";
    let v1 = [1, 16, 2, 17, 0x13, 0xc4, 0x13, 0xc4, 192, 0, 2, 1, 192, 0, 2, 2];
    udp(&with(&v1, sip), ANY, Some(Protocol::Hep));
    let v2 = [2, 28, 2, 17, 0x13, 0xc4, 0x13, 0xc4, 192, 0, 2, 1, 192, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    udp(&with(&v2, sip), ANY, Some(Protocol::Hep));
    udp(&with(&v1, b"something else that is no SIP"), ANY, None);
}

#[test]
fn stun_and_turn_with_and_without_media() {
    let message = |kind: [u8; 2], attributes: &[u8]| {
        let mut octets = with(&kind, &(attributes.len() as u16).to_be_bytes());
        octets.extend_from_slice(&[0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        with(&octets, attributes)
    };
    udp(&message([0, 1], &[]), ANY, Some(Protocol::Stun));
    udp(&message([0, 3], &[]), ANY, Some(Protocol::Turn));
    tcp(&message([0, 3], &[]), ANY, Some(Protocol::Turn));
    let data = with(&[0, 0x13, 0, 16], &RTP);
    udp(&message([0, 0x16], &data), ANY, Some(Protocol::TurnMedia));
    udp(&message([0, 0x17], &data), ANY, Some(Protocol::TurnMedia));
    udp(&message([0, 0x16], &[0, 0x13, 0, 4, 1, 2, 3, 4]), ANY, Some(Protocol::Turn));
    // One octet more than its length says.
    udp(&with(&message([0, 1], &[]), &[0]), ANY, None);
    udp(&with(&[0x40, 0, 0, 16], &RTP), ANY, Some(Protocol::TurnMedia));
    udp(&with(&[0x4f, 0xff, 0, 16], &RTP), ANY, Some(Protocol::TurnMedia));
    udp(&with(&[0x40, 0, 0, 20], &message([0, 1], &[])), ANY, Some(Protocol::Turn));
    udp(&with(&[0x40, 0, 0, 17], &RTP), ANY, None);
    udp(&[0x40, 0, 0, 4, 1, 2, 3, 4], ANY, None);
    tcp(&with(&[0x40, 0, 0, 16], &RTP), (3478, 40_000), Some(Protocol::TurnMedia));
    tcp(&with(&[0x40, 0, 0, 16], &RTP), ANY, None);
    // RFC 3489, without the cookie.
    let classic = [0, 1, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0, 3, 0, 4, 0, 0, 0, 0];
    udp(&classic, ANY, Some(Protocol::Stun));
}

#[test]
fn fax_is_told_by_lengths_that_lead_to_the_end() {
    // No signal, then the same with two earlier packets.
    udp(&[0, 2, 1, 0, 0, 2, 1, 0, 1, 0], ANY, Some(Protocol::Udptl));
    // Data with one field, without repair, and with an earlier one.
    udp(&[0, 9, 5, 0xc0, 1, 0x80, 0, 0xff, 0, 0], ANY, Some(Protocol::Udptl));
    udp(&[0, 9, 5, 0xc0, 1, 0x80, 0, 0xff, 0, 1, 1, 6], ANY, Some(Protocol::Udptl));
    // An indicator alone may be anything.
    udp(&[0, 2, 1, 0, 0, 0], ANY, None);
    udp(&[0, 2, 1, 0, 0, 2, 1, 0, 1, 0, 0], ANY, None);
    udp(&[0, 2, 1, 0, 0, 2, 1, 0, 1, 0], (53, 40_000), None);
}

#[test]
fn other_ways_to_set_up_calls() {
    udp(b"CRCX 1204 aaln/1@rgw.example MGCP 1.0\r\nC: 1\r\n", ANY, Some(Protocol::Mgcp));
    udp(b"CRCX is a verb", ANY, None);
    udp(b"200 1204 OK\r\n", (2427, 2727), Some(Protocol::Mgcp));
    udp(b"200 1204 OK\r\n", ANY, None);
    udp(b"MEGACO/1 [192.0.2.1]:2944\nTransaction = 1 {", ANY, Some(Protocol::Megaco));
    udp(b"!/1 [192.0.2.1]:2944\nT=1{", ANY, Some(Protocol::Megaco));
    udp(&[0x30, 4, 0xa1, 2, 0x80, 0], (2945, 2945), Some(Protocol::Megaco));
    udp(&[0x30, 4, 0xa1, 2, 0x80, 0], ANY, None);
    udp(&[0x0e, 0xc0, 0, 1, 6, 0, 8, 0x91, 0x4a, 0, 4, 0], ANY, Some(Protocol::Ras));
    tcp(&[3, 0, 0, 10, 8, 2, 0, 1, 5, 0], ANY, Some(Protocol::H323));
    // A connection request of ISO transport, as remote desktops send it.
    tcp(&[3, 0, 0, 11, 6, 0xe0, 0, 0, 0, 0, 0], ANY, None);
    let skinny = [4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    tcp(&skinny, (2000, 40_000), Some(Protocol::Skinny));
    tcp(&skinny, ANY, None);
    let iax2 = [0x80, 1, 0, 0, 0, 0, 0, 5, 0, 0, 6, 1, 11, 2, 0, 2];
    assert_eq!(found(&iax2, (4569, 4569))[3], Some(Protocol::Iax2));
    assert_eq!(found(&iax2, ANY)[3], None);
    let m3ua = |service: u8| {
        let data = [2, 0x10, 0, 16, 0, 0, 0, 1, 0, 0, 0, 2, service, 0, 0, 0];
        let user = with(&[1, 0, 1, 1, 0, 0, 0, 24], &data);
        with(&[0, 3, 0, 40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3], &user)
    };
    assert_eq!(of(&m3ua(5), 40, ANY)[2], Some(Protocol::Isup));
    assert_eq!(of(&m3ua(3), 40, ANY)[2], Some(Protocol::M3ua));
}

#[test]
fn what_is_not_about_calls() {
    let hello = [22, 3, 1, 0, 5, 1, 0, 0, 1, 3];
    tcp(&hello, ANY, Some(Protocol::Tls));
    tcp(&hello, (5061, 40_000), Some(Protocol::TlsSip));
    tcp(&[22, 3, 1, 0xff, 0xff, 1, 0, 0, 1, 3], ANY, None);
    let dtls = [22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0];
    udp(&dtls, ANY, Some(Protocol::Dtls));
    udp(&with(&dtls, &dtls), ANY, Some(Protocol::Dtls));
    udp(&with(&dtls, &[1]), ANY, None);
    let radius = [1, 7, 0, 25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5, b'b', b'o', b'b'];
    udp(&radius, ANY, Some(Protocol::Radius));
    udp(&with(&radius, &[0]), ANY, None);
    let gtp = [0x48, 1, 0, 8, 0, 0, 0, 0, 0, 0, 1, 0];
    udp(&gtp, (2123, 40_000), Some(Protocol::GtpC));
    udp(&gtp, ANY, None);
    tcp(b"OPTIONS rtsp://a.example/ RTSP/1.0\r\nCSeq: 1\r\n\r\n", ANY, Some(Protocol::Rtsp));
    tcp(b"RTSP/1.0 200 OK\r\n", ANY, Some(Protocol::Rtsp));
    tcp(b"OPTIONS sip:a@b SIP/2.0\r\n\r\n", ANY, None);
    tcp(b"PLAY a record\r\n", ANY, None);
    let mut diameter = vec![1, 0, 0, 28, 0x80, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2];
    diameter.extend_from_slice(&[0, 0, 1, 8, 0x40, 0, 0, 8]);
    tcp(&diameter, ANY, Some(Protocol::Diameter));
    let capwap = [0, 0x10, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 3, 0];
    udp(&capwap, (5246, 40_000), Some(Protocol::Capwap));
    udp(&capwap, ANY, None);
    udp(&with(&[1, 0, 0, 0], &dtls), (40_000, 5246), Some(Protocol::Capwap));
}

#[test]
fn the_first_packet_is_told_whoever_counts() {
    let first = |number| Row {
        packets: 1,
        first: Some(First {
            number,
            transport: Transport::Udp,
            from: "192.0.2.1:40000".parse().unwrap(),
            to: "192.0.2.2:9060".parse().unwrap(),
        }),
    };
    let mut one = Unread::default();
    one.rows[Protocol::Hep as usize] = first(7);
    let mut other = Unread { cut: 2, cut_to: 96, ..Unread::default() };
    other.rows[Protocol::Hep as usize] = first(3);
    one.add(&other);
    let (protocol, row) = one.seen().next().unwrap();
    assert_eq!((protocol, row.packets, row.first.unwrap().number), (Protocol::Hep, 2, 3));
    assert_eq!(protocol.place(row).unwrap(), "UDP 9060 from 192.0.2.1");
    assert_eq!((one.cut, one.cut_to), (2, 96));
    one.like_rtp = 3;
    one.set_without_stream(10);
    assert_eq!(one.row(Protocol::RtpLike).packets, 7);
}
