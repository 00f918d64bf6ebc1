//! RTP inside TURN (RFC 8656) is media: of ChannelData, of Send and Data indications, on the client's side of the relay
//! and on the far one. Reported of rtpengine and of WebRTC clients behind firewalls: audio that no monitor sees.

use crate::tape::{Side, Tape, audio, end, fragments, kind, rtp, says, streams, udp};
use trunkline_calls::unread::Protocol;
use trunkline_store::row::Call;
use trunkline_wire::Endpoint;

const ID: [u8; 12] = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8];

pub fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut octets = [kind.to_be_bytes(), (value.len() as u16).to_be_bytes()].concat();
    octets.extend(value);
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets
}

pub fn address(kind: u16, of: Endpoint) -> Vec<u8> {
    let mask = [&[0x21, 0x12, 0xa4, 0x42], &ID[..]].concat();
    let octets = of.address.octets();
    let (family, octets) = if of.address.is_v4() { (1, &octets[12..]) } else { (2, &octets[..]) };
    let xored = |octets: &[u8]| octets.iter().zip(&mask).map(|(o, m)| o ^ m).collect::<Vec<u8>>();
    attribute(kind, &[&[0, family][..], &xored(&of.port.to_be_bytes()), &xored(octets)].concat())
}

pub fn message(kind: u16, attributes: &[Vec<u8>]) -> Vec<u8> {
    let body = attributes.concat();
    let mut octets = [kind.to_be_bytes(), (body.len() as u16).to_be_bytes()].concat();
    octets.extend([0x21, 0x12, 0xa4, 0x42]);
    octets.extend(ID);
    octets.extend(body);
    octets
}

pub fn channel(number: u16, inside: &[u8], padded: bool) -> Vec<u8> {
    let mut octets = [number.to_be_bytes(), (inside.len() as u16).to_be_bytes()].concat();
    octets.extend(inside);
    if padded {
        octets.resize(octets.len().next_multiple_of(4), 0);
    }
    octets
}

/// A client that reaches its peer through a relay.
#[derive(Clone, Copy)]
struct Relay {
    client: Endpoint,
    server: Endpoint,
    relayed: Endpoint,
    peer: Endpoint,
    number: u16,
}

impl Relay {
    fn of(client: &str, server: &str, relayed: &str, peer: &str) -> Relay {
        Relay { client: end(client), server: end(server), relayed: end(relayed), peer: end(peer), number: 0x4001 }
    }

    /// Allocate and ChannelBind, with a challenge before.
    fn set_up(&self, tape: &mut Tape, at_ms: i64) {
        let Relay { client, server, relayed, peer, number } = *self;
        tape.udp(at_ms, client, server, &message(0x0003, &[attribute(0x0019, &[17, 0, 0, 0])]));
        tape.udp(at_ms + 5, server, client, &message(0x0113, &[attribute(0x0009, &[0, 0, 4, 1])]));
        tape.udp(at_ms + 10, client, server, &message(0x0003, &[attribute(0x0019, &[17, 0, 0, 0])]));
        let told = [address(0x0016, relayed), address(0x0020, client)];
        tape.udp(at_ms + 15, server, client, &message(0x0103, &told));
        let bind = [attribute(0x000c, &[number.to_be_bytes(), [0, 0]].concat()), address(0x0012, peer)];
        tape.udp(at_ms + 20, client, server, &message(0x0009, &bind));
        tape.udp(at_ms + 25, server, client, &message(0x0109, &[]));
    }

    fn channel(&self, upstream: bool, inside: &[u8]) -> Vec<u8> {
        let (from, to) = if upstream { (self.client, self.server) } else { (self.server, self.client) };
        udp(from, to, &channel(self.number, inside, !inside.len().is_multiple_of(8)))
    }

    fn indication(&self, upstream: bool, inside: &[u8]) -> Vec<u8> {
        let (from, to) = if upstream { (self.client, self.server) } else { (self.server, self.client) };
        let kind = if upstream { 0x0016 } else { 0x0017 };
        udp(from, to, &message(kind, &[address(0x0012, self.peer), attribute(0x0013, inside)]))
    }

    /// A description whose default address is the relayed one.
    fn sdp(&self, related: bool) -> String {
        let Relay { relayed, client, .. } = self;
        let raddr = if related { format!(" raddr {} rport {}", client.address, client.port) } else { String::new() };
        let candidate = format!("candidate:1 1 UDP 16777215 {} {} typ relay{raddr}", relayed.address, relayed.port);
        crate::tape::sdp(*relayed, "audio RTP/AVP 0", &[&candidate])
    }

    fn sides(&self, related: bool) -> [Side; 2] {
        let at = |end: Endpoint| Endpoint::new(end.address, 5060);
        let a = Side { signals: at(self.client), tag: "a", sdp: self.sdp(related) };
        [a, Side { signals: at(self.peer), tag: "b", sdp: audio(self.peer) }]
    }
}

fn relays() -> [Relay; 3] {
    [
        Relay::of("192.0.2.1:51000", "203.0.113.9:3478", "203.0.113.9:49200", "198.51.100.7:4000"),
        // The port of a web server, both of IPv6.
        Relay::of("[2001:db8::1]:51000", "[2001:db8:9::9]:443", "[2001:db8:9::9]:49200", "[2001:db8:7::7]:4000"),
        // A relay with another address than that of its server.
        Relay::of("10.1.2.3:61000", "203.0.113.9:3478", "203.0.113.10:65000", "198.51.100.7:30000"),
    ]
}

/// The way that each side's audio goes.
fn ways(call: &Call) -> Vec<(u8, String, String, u64)> {
    streams(call).into_iter().map(|(by, from, to, packets, _)| (by, from, to, packets)).collect()
}

fn both(relay: &Relay, packets: u64) -> Vec<(u8, String, String, u64)> {
    let (relayed, peer) = (relay.relayed.to_string(), relay.peer.to_string());
    vec![(1, relayed.clone(), peer.clone(), packets), (2, peer, relayed, packets)]
}

#[test]
fn what_a_client_sends_through_its_relay_is_the_calls_audio() {
    for relay in relays() {
        for indications in [false, true] {
            let [a, b] = &relay.sides(false);
            let wrap = |up: bool, o: &[u8]| if indications { relay.indication(up, o) } else { relay.channel(up, o) };
            let mut tape = Tape::default();
            relay.set_up(&mut tape, 0);
            tape.call(500, "t1", [a, b]);
            tape.media((2_500, 12_500), 1, |o| wrap(true, o));
            tape.media((2_500, 12_500), 2, |o| wrap(false, o));
            tape.bye(12_500, "t1", [a, b]);
            let (call, rows, summary) = tape.call_of();
            assert_eq!(call.verdict, None);
            assert_eq!(ways(&call), both(&relay, 500));
            assert!(call.streams.iter().all(|s| s.mos.g107.unwrap() > 4.3 && s.missing == 0 && !s.encrypted));
            assert!(rows.streams.is_empty() && summary.unread.row(Protocol::TurnMedia).packets == 0);
        }
    }
}

#[test]
fn the_same_packets_on_both_sides_of_the_relay_are_two_streams() {
    for relay in relays() {
        let [a, b] = &relay.sides(false);
        let mut tape = Tape::default();
        relay.set_up(&mut tape, 0);
        tape.call(500, "t2", [a, b]);
        for (n, up) in [(1, true), (2, false)] {
            tape.media((2_500, 12_500), n, |o| relay.channel(up, o));
        }
        // The far side, as fast as the near one; of the caller one packet in ten is lost between relay and tap.
        let lossy = |o: &[u8]| match o[3] % 10 {
            3 => vec![],
            _ => udp(relay.relayed, relay.peer, o),
        };
        tape.media((2_500, 12_500), 1, lossy);
        tape.media((2_500, 12_500), 2, |o| udp(relay.peer, relay.relayed, o));
        tape.0.retain(|(_, packet)| !packet.is_empty());
        tape.bye(12_500, "t2", [a, b]);
        let (call, ..) = tape.call_of();
        let told = ways(&call);
        assert_eq!(told.len(), 4, "{told:?}");
        let packets: Vec<(u8, u64)> = told.iter().map(|(by, .., packets)| (*by, *packets)).collect();
        let lost = 500 - packets[0].1.min(packets[1].1);
        assert!((45..55).contains(&lost), "{packets:?}");
        assert_eq!(packets, [(1, 500 - lost), (1, 500), (2, 500), (2, 500)]);
        assert!(call.streams.iter().all(|s| s.duplicates == 0));
        assert_eq!(kind(&call), "loss", "of the far side alone");
        let ids: std::collections::BTreeSet<_> = call.streams.iter().map(|s| s.id).collect();
        assert_eq!(ids.len(), 4);
    }
}

#[test]
fn two_clients_of_one_relay_have_two_legs() {
    let a = Relay::of("192.0.2.1:51000", "203.0.113.9:3478", "203.0.113.9:49200", "203.0.113.9:49300");
    let b = Relay::of("192.0.2.2:51000", "203.0.113.9:3478", "203.0.113.9:49300", "203.0.113.9:49200");
    let caller = Side { signals: end("192.0.2.1:5060"), tag: "a", sdp: a.sdp(true) };
    let callee = Side { signals: end("192.0.2.2:5060"), tag: "b", sdp: b.sdp(true) };
    let mut tape = Tape::default();
    a.set_up(&mut tape, 0);
    b.set_up(&mut tape, 100);
    tape.call(500, "t3", [&caller, &callee]);
    for (ssrc, relay, up) in [(1, a, true), (1, b, false), (2, b, true), (2, a, false)] {
        tape.media((2_500, 8_500), ssrc, |o| relay.channel(up, o));
    }
    tape.bye(8_500, "t3", [&caller, &callee]);
    let (call, ..) = tape.call_of();
    assert_eq!(call.verdict, None);
    let by: Vec<_> = call.streams.iter().map(|s| (s.ssrc, s.direction as u8, s.packets)).collect();
    assert_eq!(by.len(), 4);
    assert!(by.iter().all(|(ssrc, direction, packets)| *ssrc == u32::from(*direction) && *packets == 300), "{by:?}");
}

#[test]
fn a_relay_whose_beginning_was_not_seen_is_found_by_what_sdp_says_of_it() {
    for relay in relays() {
        let [a, b] = &relay.sides(true);
        for indications in [false, true] {
            let wrap = |up: bool, o: &[u8]| if indications { relay.indication(up, o) } else { relay.channel(up, o) };
            let mut tape = Tape::default();
            tape.call(500, "t4", [a, b]);
            tape.media((2_500, 12_500), 1, |o| wrap(true, o));
            tape.media((2_500, 12_500), 2, |o| wrap(false, o));
            // The channel is bound again in the middle: the streams go on.
            let bind = [attribute(0x000c, &[0x40, 1, 0, 0]), address(0x0012, relay.peer)];
            tape.udp(7_000, relay.client, relay.server, &message(0x0009, &bind));
            tape.bye(12_500, "t4", [a, b]);
            let (call, ..) = tape.call_of();
            assert_eq!(call.verdict, None);
            let by: Vec<_> = ways(&call).iter().map(|(by, .., packets)| (*by, *packets)).collect();
            assert_eq!(by, [(1, 500), (2, 500)]);
        }
    }
}

#[test]
fn one_side_that_is_silent_inside_turn_is_one_way_audio() {
    for relay in relays() {
        for silent_up in [false, true] {
            let [a, b] = &relay.sides(true);
            let mut tape = Tape::default();
            relay.set_up(&mut tape, 0);
            tape.call(500, "t5", [a, b]);
            tape.media((2_500, 12_500), 1, |o| relay.channel(!silent_up, o));
            tape.bye(12_500, "t5", [a, b]);
            let (call, ..) = tape.call_of();
            assert_eq!(kind(&call), "one-way-audio", "{}", says(&call));
            let heard = if silent_up { "only the callee could be heard" } else { "only the caller could be heard" };
            assert!(says(&call).contains(heard), "{}", says(&call));
        }
    }
}

#[test]
fn media_inside_that_no_sdp_names_blames_nobody() {
    let relay = relays()[0];
    // The client's SDP names what an SBC put there; nothing leads from there to its relay.
    let own = end("192.0.2.1:7000");
    let a = Side { signals: end("192.0.2.1:5060"), tag: "a", sdp: audio(own) };
    let b = Side { signals: end("198.51.100.8:5060"), tag: "b", sdp: audio(end("198.51.100.8:4000")) };
    let mut tape = Tape::default();
    relay.set_up(&mut tape, 0);
    tape.call(500, "t6", [&a, &b]);
    for (n, up) in [(1, true), (2, false)] {
        tape.media((2_500, 12_500), n, |o| relay.channel(up, o));
    }
    tape.bye(12_500, "t6", [&a, &b]);
    let (call, rows, _) = tape.call_of();
    assert_eq!(kind(&call), "media-not-captured", "{}", says(&call));
    assert!(says(&call).contains("was seen inside TURN"), "{}", says(&call));
    assert_eq!(rows.streams.len(), 2, "they are streams all the same");
    assert!(rows.streams.iter().all(|s| s.packets == 500));
}

#[test]
fn reports_inside_turn_are_about_what_is_inside() {
    let relay = relays()[0];
    let [a, b] = &relay.sides(false);
    let mut tape = Tape::default();
    relay.set_up(&mut tape, 0);
    tape.call(500, "t7", [a, b]);
    for (n, up) in [(1, true), (2, false)] {
        tape.media((2_500, 12_500), n, |o| relay.channel(up, o));
    }
    tape.media((2_500, 12_500), 1, |o| udp(relay.relayed, relay.peer, o));
    // The peer reports that it lost a fifth of what it got by number 450.
    let mut report = vec![0x81, 201, 0, 7, 0, 0, 0, 2, 0, 0, 0, 1, 51, 0, 0, 90];
    report.extend(450u32.to_be_bytes());
    report.extend([0; 12]);
    tape.push(11_600, relay.channel(false, &report));
    tape.bye(12_500, "t7", [a, b]);
    let (call, ..) = tape.call_of();
    let reported: Vec<_> = call.streams.iter().map(|s| (s.ssrc, s.rtcp.receiver_reports)).collect();
    assert_eq!(reported.iter().filter(|r| **r == (1, 1)).count(), 1, "{reported:?}");
    assert_eq!(reported.iter().map(|r| r.1).sum::<u32>(), 1, "{reported:?}");
    assert_eq!(kind(&call), "lost-after-tap", "{}", says(&call));
}

#[test]
fn a_handshake_inside_turn_encrypts_what_is_inside() {
    let record = |content: u8, body: &[u8]| {
        [&[content, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, body.len() as u8][..], body].concat()
    };
    for relay in relays() {
        for indications in [false, true] {
            let [a, b] = &relay.sides(true);
            let wrap = |up: bool, o: &[u8]| if indications { relay.indication(up, o) } else { relay.channel(up, o) };
            let mut tape = Tape::default();
            relay.set_up(&mut tape, 0);
            tape.call(500, "tk", [a, b]);
            tape.push(2_520, wrap(false, &record(22, &[1, 0, 0, 0])));
            tape.push(2_525, wrap(true, &record(22, &[2, 0, 0, 0])));
            tape.push(2_530, wrap(false, &record(20, &[1])));
            tape.push(2_535, wrap(true, &record(20, &[1])));
            for (n, up) in [(1, true), (2, false)] {
                tape.media((2_600, 8_600), n, |o| wrap(up, o));
            }
            tape.bye(8_600, "tk", [a, b]);
            let (call, ..) = tape.call_of();
            assert_eq!(call.verdict, None);
            let encrypted = call.streams.iter().filter(|s| s.encrypted).count();
            assert_eq!((encrypted, call.streams.len()), (2, 2));
        }
    }
}

#[test]
fn datagrams_in_fragments_and_the_order_of_bindings_do_not_matter() {
    let relay = relays()[0];
    let other = Relay { number: 0x4002, peer: end("198.51.100.8:4400"), ..relay };
    let [a, b] = &relay.sides(false);
    let far = Side { signals: end("198.51.100.8:5060"), tag: "c", sdp: audio(other.peer) };
    let mut tape = Tape::default();
    other.set_up(&mut tape, 0);
    relay.set_up(&mut tape, 50);
    tape.call(500, "t8", [a, b]);
    tape.call(500, "t9", [a, &far]);
    for n in 0..300u16 {
        let at_ms = 2_600 + 20 * i64::from(n);
        let inside = channel(relay.number, &rtp(1, n), false);
        for piece in fragments(relay.client, relay.server, n, &inside) {
            tape.push(at_ms, piece);
        }
        tape.push(at_ms, other.channel(true, &rtp(9, n)));
        tape.push(at_ms, relay.channel(false, &rtp(2, n)));
        tape.push(at_ms, other.channel(false, &rtp(8, n)));
    }
    tape.bye(8_600, "t8", [a, b]);
    tape.bye(8_600, "t9", [a, &far]);
    let (rows, _) = tape.read();
    let of = |id: &str| {
        let call = rows.calls.iter().find(|c| c.sip_call_id == id).unwrap();
        assert_eq!(call.verdict, None, "{id}");
        let mut told: Vec<_> = call.streams.iter().map(|s| (s.ssrc, s.direction as u8, s.packets)).collect();
        told.sort();
        told
    };
    assert_eq!(of("t8"), [(1, 1, 300), (2, 2, 300)]);
    assert_eq!(of("t9"), [(8, 2, 300), (9, 1, 300)]);
}

/// coturn#332 ("after 10 mins all clients stop"), coturn#286: what reaches the relay goes on, and nothing more of it
/// comes to its client; whether the allocation was seen or not.
#[test]
fn a_relay_that_stops_towards_its_client_is_one_way_audio() {
    for relay in relays() {
        for (indications, seen, stops_ms) in [(false, true, 5_500), (true, true, 9_000), (false, false, 8_200)] {
            let wrap = |up: bool, o: &[u8]| if indications { relay.indication(up, o) } else { relay.channel(up, o) };
            let judged = |until_ms: i64| {
                let [a, b] = &relay.sides(true);
                let mut tape = Tape::default();
                if seen {
                    relay.set_up(&mut tape, 0);
                }
                tape.call(500, "t9", [a, b]);
                tape.media((2_500, 18_500), 1, |o| wrap(true, o));
                tape.media((2_502, 18_500), 1, |o| udp(relay.relayed, relay.peer, o));
                tape.media((2_500, 18_500), 2, |o| udp(relay.peer, relay.relayed, o));
                tape.media((2_502, until_ms), 2, |o| wrap(false, o));
                tape.bye(18_500, "t9", [a, b]);
                let (call, ..) = tape.call_of();
                (kind(&call).to_owned(), says(&call).to_owned())
            };
            assert_eq!(judged(18_500).0, "");
            let (kind, says) = judged(stops_ms);
            assert_eq!(kind, "one-way-audio", "{seen} {says}");
            let text = format!("What the callee sends goes on to reach {}, a relay of TURN", relay.relayed);
            assert!(says.contains("the caller did not hear the callee") && says.contains(&text), "{says}");
        }
    }
}

/// coturn#1716: both are clients of relays, and one of these sends nothing, or nothing more, to its client; what the
/// other one sends inside TURN reaches its own relay.
#[test]
fn of_two_clients_of_relays_one_may_hear_nothing() {
    let a = Relay::of("192.0.2.1:51000", "203.0.113.9:3478", "203.0.113.9:49200", "203.0.113.9:49300");
    let b = Relay::of("192.0.2.2:51000", "203.0.113.9:3478", "203.0.113.9:49300", "203.0.113.9:49200");
    let signals = |host: &str| end(&format!("{host}:5060"));
    for seen in [false, true] {
        for between in [false, true] {
            for deaf in [0, 1] {
                for until_ms in [2_500, 7_000, 18_500] {
                    let caller = Side { signals: signals("192.0.2.1"), tag: "a", sdp: a.sdp(true) };
                    let callee = Side { signals: signals("192.0.2.2"), tag: "b", sdp: b.sdp(true) };
                    let mut tape = Tape::default();
                    if seen {
                        a.set_up(&mut tape, 0);
                        b.set_up(&mut tape, 100);
                    }
                    tape.call(500, "t10", [&caller, &callee]);
                    for (own, ssrc, [near, far]) in [(0, 1, [a, b]), (1, 2, [b, a])] {
                        let heard_ms = if deaf == own { 18_500 } else { until_ms };
                        tape.media((2_500, 18_500), ssrc, |o| near.channel(true, o));
                        tape.media((2_504, heard_ms), ssrc, |o| far.channel(false, o));
                        if between {
                            tape.media((2_502, 18_500), ssrc, |o| udp(near.relayed, far.relayed, o));
                        }
                    }
                    tape.bye(18_500, "t10", [&caller, &callee]);
                    let (call, ..) = tape.call_of();
                    let who = if deaf == 0 { "the caller" } else { "the callee" };
                    let expected = if until_ms == 18_500 { "" } else { "one-way-audio" };
                    assert_eq!(kind(&call), expected, "{seen} {between} {deaf} {until_ms} {}", says(&call));
                    let is_told = [format!("{who} did not hear"), format!("{who} heard nothing")];
                    assert!(expected.is_empty() || is_told.iter().any(|t| says(&call).contains(t)), "{}", says(&call));
                }
            }
        }
    }
}

/// coturn#274, coturn#1716: clients behind firewalls reach their relay inside TLS, and what goes on from the relay to a
/// gateway stays in the data centre; other calls of that gateway pass the tap.
#[test]
fn a_relay_of_which_nothing_is_seen_says_nothing_about_the_call() {
    let relay = Relay::of("203.0.113.7:40000", "198.51.100.200:5349", "198.51.100.200:49160", "198.51.100.9:17000");
    for related in [false, true] {
        for by_relay in [false, true] {
            for callee_asks in [false, true] {
                let [mut a, b] = relay.sides(related);
                if !by_relay {
                    a.sdp = audio(relay.relayed);
                }
                let sides = if callee_asks { [&b, &a] } else { [&a, &b] };
                let mut tape = Tape::default();
                tape.call(500, "t11", sides);
                let other = end("192.0.2.77:9000");
                tape.media((0, 20_000), 9, |o| udp(other, end("198.51.100.9:17002"), o));
                tape.media((0, 20_000), 8, |o| udp(end("198.51.100.9:17002"), other, o));
                tape.bye(18_500, "t11", sides);
                let (call, ..) = tape.call_of();
                let expected = if by_relay { "media-not-captured" } else { "no-audio" };
                assert_eq!(kind(&call), expected, "{}", says(&call));
                assert!(!by_relay || says(&call).contains("198.51.100.200:49160, a relay of TURN"), "{}", says(&call));
            }
        }
    }
}
