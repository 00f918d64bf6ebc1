//! RTCP where `a=rtcp` names it (RFC 3605), neither at the port of its RTP nor at the next one: what the receiver tells
//! there is laid against its stream. Each case is one that users report.

use crate::tape::{Side, Tape, end, kind, says, sdp, udp};
use trunkline_store::row::Call;
use trunkline_wire::Endpoint;

/// Where a party says that it is, where it is seen, and where its RTCP is seen.
struct Phone {
    said: &'static str,
    seen: &'static str,
    rtcp: &'static str,
    attributes: &'static [&'static str],
}

const PLAIN: Phone = Phone {
    said: "198.51.100.2:5000",
    seen: "198.51.100.2:5000",
    rtcp: "198.51.100.2:5001",
    attributes: &["rtcp:5001"],
};

fn phone(seen: &'static str, rtcp: &'static str, attributes: &'static [&'static str]) -> Phone {
    Phone { said: seen, seen, rtcp, attributes }
}

/// A receiver report: so many of the source's packets are lost, up to this number.
fn report(about: u32, lost: u8, highest: u32) -> Vec<u8> {
    let fraction = (u32::from(lost) * 256 / highest) as u8;
    let mut octets = vec![0x81, 201, 0, 7, 0, 0, 0, 9, 0, 0, 0, about as u8, fraction, 0, 0, lost];
    octets.extend(highest.to_be_bytes());
    octets.extend([0; 12]);
    octets
}

/// A call from 0 to 12.1 s in which the second party loses 90 of 450 packets behind the tap, as its RTCP says.
fn call([a, b]: [&Phone; 2], relayed: bool) -> Call {
    let side = |of: &Phone, tag| {
        let (said, seen) = (end(of.said), end(of.seen));
        Side { signals: Endpoint::new(seen.address, 5060), tag, sdp: sdp(said, "audio RTP/AVP 0", of.attributes) }
    };
    let sides = [side(a, "a"), side(b, "b")];
    let [from, to] = [a, b].map(|of| end(of.seen));
    let mut tape = Tape::default();
    tape.call(0, "r1", [&sides[0], &sides[1]]);
    tape.media((2_040, 12_040), 1, |o| udp(from, to, o));
    tape.media((2_040, 12_040), 2, |o| udp(to, from, o));
    if relayed {
        // The same source on another way: nobody reports about it.
        tape.media((2_040, 12_040), 1, |o| udp(end("192.0.2.77:7000"), end("192.0.2.78:7002"), o));
    }
    tape.udp(11_100, end(b.rtcp), end(a.rtcp), &report(1, 90, 450));
    tape.bye(12_100, "r1", [&sides[0], &sides[1]]);
    let (call, rows, _) = tape.call_of();
    assert!(rows.streams.iter().all(|s| s.rtcp.receiver_reports == 0), "a stream that nobody reports about");
    call
}

fn reports(call: &Call) -> Vec<(u32, u32)> {
    let mut all: Vec<_> = call.streams.iter().map(|s| (s.ssrc, s.rtcp.receiver_reports)).collect();
    all.sort_unstable();
    all
}

/// sngrep#133 (ports of `a=rtcp` taken for others), JRTPLIB#36 (RTP from 45180, RTCP from 40860): a port, an address
/// with it, of either party or of both.
#[test]
fn what_the_receiver_tells_at_a_port_that_sdp_names_becomes_the_verdict() {
    let caller = phone("192.0.2.1:45180", "192.0.2.1:40860", &["rtcp:40860"]);
    let six = phone("[2001:db8::1]:4000", "[2001:db8::9]:4777", &["rtcp:4777 IN IP6 2001:db8::9"]);
    let plain_six = phone("[2001:db8:2::2]:5000", "[2001:db8:2::2]:5001", &[]);
    let cases = [
        (&caller, &PLAIN),
        (&PLAIN, &caller),
        (&caller, &phone("198.51.100.2:5000", "198.51.100.2:5003", &["rtcp:5003 IN IP4 198.51.100.2"])),
        // RFC 3605 section 2.1: an address of its own, which is that of a collector or of another interface.
        (&caller, &phone("198.51.100.2:5000", "198.51.100.200:53020", &["rtcp:53020 IN IP4 198.51.100.200"])),
        (&six, &plain_six),
        (&plain_six, &six),
    ];
    for (a, b) in cases {
        let call = call([a, b], true);
        let told = format!("{} {}: {}", a.rtcp, b.rtcp, says(&call));
        assert_eq!(reports(&call), [(1, 1), (2, 0)], "{told}");
        assert_eq!(kind(&call), "lost-after-tap", "{told}");
        assert!(says(&call).contains("reports that it lost 20.0 % of the packets from the caller"), "{told}");
    }
}

/// rtpengine#310, #1976: `rtcp-mux` is offered, `a=rtcp` says where RTCP goes without it, and the other one takes that.
#[test]
fn the_port_counts_where_multiplexing_is_not_accepted() {
    let offers = phone("192.0.2.1:4000", "192.0.2.1:40101", &["rtcp:40101", "rtcp-mux"]);
    let declines = phone("198.51.100.2:5000", "198.51.100.2:5077", &["rtcp:5077"]);
    let accepts = phone("198.51.100.2:5000", "198.51.100.2:5000", &["rtcp-mux"]);
    let muxed = Phone { rtcp: "192.0.2.1:4000", ..phone("192.0.2.1:4000", "", &["rtcp:40101", "rtcp-mux"]) };
    for pair in [[&offers, &declines], [&muxed, &accepts]] {
        let call = call(pair, false);
        assert_eq!((reports(&call), kind(&call)), (vec![(1, 1), (2, 0)], "lost-after-tap"), "{}", says(&call));
    }
}

/// rtpengine#123, pjproject#661: behind a translator SDP says the private address, and each port has another one
/// outside; or candidates of component 2 name where RTCP is, without `a=rtcp`.
#[test]
fn the_port_of_a_phone_behind_a_translator_is_known_by_what_it_says() {
    let hidden = Phone {
        said: "192.168.0.15:7076",
        seen: "203.0.113.5:7076",
        rtcp: "203.0.113.5:7300",
        attributes: &["rtcp:7300"],
    };
    let translated = Phone { seen: "203.0.113.5:31000", rtcp: "203.0.113.5:31555", ..hidden };
    let other = phone("198.51.100.2:5000", "198.51.100.2:5003", &["rtcp:5003"]);
    let ice: &[&str] = &[
        "ice-ufrag:a301",
        "candidate:1 1 UDP 2130706431 192.168.0.15 7076 typ host",
        "candidate:1 2 UDP 2130706430 192.168.0.15 7090 typ host",
        "candidate:2 1 UDP 1694498815 203.0.113.5 40100 typ srflx raddr 192.168.0.15 rport 7076",
        "candidate:2 2 UDP 1694498814 203.0.113.5 40777 typ srflx raddr 192.168.0.15 rport 7090",
    ];
    let candidates =
        Phone { said: "203.0.113.5:40100", seen: "203.0.113.5:40100", rtcp: "203.0.113.5:40777", attributes: ice };
    let far = phone("198.51.100.2:5000", "198.51.100.2:61000", &[]);
    for pair in [[&hidden, &far], [&translated, &other], [&other, &hidden], [&candidates, &far], [&far, &candidates]] {
        let call = call(pair, true);
        let told = format!("{} {}: {}", pair[0].rtcp, pair[1].rtcp, says(&call));
        assert_eq!((reports(&call), kind(&call)), (vec![(1, 1), (2, 0)], "lost-after-tap"), "{told}");
    }
}

/// Neither SDP names these ports: who reports there need not be a party, as a relay sends one source to several. Port 9
/// and `0.0.0.0`, as browsers write them, are no ports.
#[test]
fn what_nobody_names_is_laid_against_nothing() {
    let other = phone("198.51.100.2:5000", "198.51.100.2:5077", &["rtcp:5003"]);
    let nine = phone("192.0.2.1:4000", "192.0.2.1:9", &["rtcp:9 IN IP4 0.0.0.0"]);
    let zero = phone("192.0.2.1:4000", "192.0.2.1:40000", &["rtcp:0"]);
    for of in [nine, zero] {
        let call = call([&of, &other], true);
        assert_eq!((reports(&call), kind(&call)), (vec![(1, 0), (2, 0)], ""), "{}", says(&call));
    }
}

/// A relay sends the source on with the same number: what the callee reports at its port is about what came there.
#[test]
fn a_report_is_about_the_hop_whose_receiver_sent_it() {
    for lossy_hop in [0, 1] {
        let (a, b) = (end("192.0.2.1:4000"), end("198.51.100.2:5000"));
        let relay = [end("203.0.113.9:20000"), end("203.0.113.9:20002")];
        let proxy = Side { signals: end("203.0.113.8:5060"), tag: "", sdp: String::new() };
        let sides = [
            Side { signals: end("192.0.2.1:5060"), tag: "a", sdp: sdp(a, "audio RTP/AVP 0", &["rtcp:4777"]) },
            Side { signals: end("198.51.100.2:5060"), tag: "b", sdp: sdp(b, "audio RTP/AVP 0", &["rtcp:5777"]) },
        ];
        let named = |at: Endpoint, port| sdp(at, "audio RTP/AVP 0", &[port]);
        let to_callee = Side { sdp: named(relay[1], "rtcp:20778"), tag: "a", ..proxy.clone() };
        let to_caller = Side { sdp: named(relay[0], "rtcp:20777"), tag: "b", ..proxy };
        let mut tape = Tape::default();
        tape.call(0, "r2", [&sides[0], &to_caller]);
        tape.call(10, "r2", [&to_callee, &sides[1]]);
        for (from, to, ssrc) in [(a, relay[0], 1), (relay[1], b, 1), (b, relay[1], 2), (relay[0], a, 2)] {
            tape.media((2_060, 12_040), ssrc, |o| udp(from, to, o));
        }
        let lost = |hop| if hop == lossy_hop { 90 } else { 0 };
        let at = |end: Endpoint, port| Endpoint { port, ..end };
        tape.udp(11_100, at(relay[0], 20_777), at(a, 4_777), &report(1, lost(0), 450));
        tape.udp(11_100, at(b, 5_777), at(relay[1], 20_778), &report(1, lost(1), 450));
        tape.bye(12_100, "r2", [&sides[0], &to_caller]);
        tape.bye(12_110, "r2", [&to_callee, &sides[1]]);
        let (call, ..) = tape.call_of();
        let mut told: Vec<_> =
            call.streams.iter().map(|s| (s.src, s.rtcp.receiver_reports, s.rtcp.lost_after_tap)).collect();
        told.retain(|(_, reports, _)| *reports > 0);
        told.sort_unstable();
        assert_eq!(told, [(a, 1, lost(0).into()), (relay[1], 1, lost(1).into())], "{lossy_hop}");
        assert_eq!(kind(&call), "lost-after-tap", "{}", says(&call));
    }
}
