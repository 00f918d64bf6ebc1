//! Fax over UDPTL (ITU-T T.38): packets that never came, and what later ones restore of them. Reported of sngrep
//! (#320), Asterisk, FreeSWITCH and spandsp: faxes that fail, and no monitor that says why.

use crate::tape::{Side, Tape, audio, end, kind, says, sdp, udp};
use trunkline_calls::unread::Protocol;
use trunkline_store::row::Call;
use trunkline_wire::Endpoint;

/// What a sender repeats with each packet.
#[derive(Clone, Copy, Debug)]
enum Repair {
    Redundancy(u8),
    Parity(u8, u8),
}

/// A packet of UDPTL: an indicator now and then, else 40 octets of a page.
fn udptl(number: u16, repair: Repair) -> Vec<u8> {
    let primary = if number % 50 == 3 { vec![2] } else { [&[0xc0, 1, 0x80, 40][..], &[0x5a; 40]].concat() };
    let mut octets = [&number.to_be_bytes()[..], &[primary.len() as u8], &primary].concat();
    match repair {
        Repair::Redundancy(earlier) => {
            octets.extend([0, earlier]);
            (0..earlier).for_each(|_| octets.extend([1, 4]));
        }
        Repair::Parity(entries, span) => {
            octets.extend([0x80, 1, span, entries]);
            (0..entries).for_each(|_| octets.extend([2, 9, 9]));
        }
    }
    octets
}

/// A call that becomes a fax after three seconds: ports of its own for the fax or those of the audio; `lost` says which
/// packets of the caller's 500 do not come.
fn fax(family: &str, own_port: bool, repair: Repair, lost: impl Fn(u16) -> bool) -> (Call, Tape) {
    let [one, two] = match family {
        "v4" => ["192.0.2.1", "198.51.100.2"],
        _ => ["[2001:db8::1]", "[2001:db8:2::2]"],
    };
    let at = |host: &str, port: u16| end(&format!("{host}:{port}"));
    let port = |base: u16| if own_port { base + 100 } else { base };
    let (media, images) = ([at(one, 4000), at(two, 5000)], [at(one, port(4000)), at(two, port(5000))]);
    let side = |host: &str, tag, sdp| Side { signals: at(host, 5060), tag, sdp };
    let image = |of: Endpoint| sdp(of, "image udptl t38", &["T38FaxVersion:0", "T38FaxUdpEC:t38UDPRedundancy"]);
    let (a, b) = (side(one, "a", audio(media[0])), side(two, "b", audio(media[1])));
    let (fax_a, fax_b) = (side(one, "a", image(images[0])), side(two, "b", image(images[1])));
    let mut tape = Tape::default();
    tape.call(0, "f1", [&a, &b]);
    for (n, way) in [(1, [0, 1]), (2, [1, 0])] {
        tape.media((2_040, 5_000), n, |o| udp(media[way[0]], media[way[1]], o));
    }
    tape.change(5_000, "f1", [&fax_a, &fax_b]);
    for n in 0..500u16 {
        let at_ms = 5_100 + 30 * i64::from(n);
        if !lost(n) {
            tape.udp(at_ms, images[0], images[1], &udptl(n, repair));
        }
        if n % 4 == 0 {
            tape.udp(at_ms + 7, images[1], images[0], &udptl(n / 4, repair));
        }
    }
    tape.bye(20_500, "f1", [&a, &b]);
    (tape.clone().call_of().0, tape)
}

/// Of each side's fax: packets, expected, missing and restored ones.
fn counted(call: &Call) -> Vec<(u8, u64, u64, u64, u64)> {
    let fax = call.streams.iter().filter(|s| s.codec == "T.38");
    let mut all: Vec<_> = fax.map(|s| (s.direction as u8, s.packets, s.expected, s.missing, s.recovered)).collect();
    all.sort();
    all
}

#[test]
fn fax_is_counted_in_both_directions_and_is_no_audio() {
    for family in ["v4", "v6"] {
        for own_port in [false, true] {
            for repair in [Repair::Redundancy(0), Repair::Redundancy(3), Repair::Parity(3, 3)] {
                let (call, tape) = fax(family, own_port, repair, |_| false);
                assert_eq!(call.verdict, None, "{repair:?}");
                assert_eq!(counted(&call), [(1, 500, 500, 0, 0), (2, 125, 125, 0, 0)], "{repair:?}");
                let audio: Vec<_> = call.streams.iter().filter(|s| s.codec == "PCMU").map(|s| s.packets).collect();
                assert_eq!(audio, [148, 148]);
                assert!(call.mos.unwrap() > 4.3);
                let (_, summary) = tape.read();
                assert!(summary.unread.row(Protocol::Udptl).packets > 0 && summary.streams == 4);
            }
        }
    }
}

#[test]
fn what_is_gone_is_lost_and_what_is_repeated_is_not() {
    // One packet in twenty: each comes again with the next one.
    let (call, _) = fax("v4", true, Repair::Redundancy(1), |n| n % 20 == 7);
    assert_eq!((kind(&call), &counted(&call)[0]), ("", &(1, 475, 500, 25, 25)));
    // Runs of two: the second one comes again.
    let (call, _) = fax("v6", false, Repair::Redundancy(1), |n| matches!(n % 40, 7 | 8));
    assert_eq!((kind(&call), &counted(&call)[0]), ("fax-loss", &(1, 474, 500, 26, 13)));
    let text = "Fax packets were lost: 13 of 500 from the caller ([2001:db8::1]:4000) cannot be restored, \
                2.6 %. 13 more could be restored";
    assert!(says(&call).starts_with(text), "{}", says(&call));
    // Nothing is repeated.
    let (call, _) = fax("v4", false, Repair::Redundancy(0), |n| n % 20 == 7);
    assert_eq!((kind(&call), &counted(&call)[0]), ("fax-loss", &(1, 475, 500, 25, 0)));
    assert!(says(&call).contains("The sender repeats nothing"), "{}", says(&call));
    // Parities: one packet of each set comes back.
    let (call, _) = fax("v4", true, Repair::Parity(1, 3), |n| n % 20 == 7);
    assert_eq!((kind(&call), &counted(&call)[0]), ("", &(1, 475, 500, 25, 25)));
    let (call, _) = fax("v4", true, Repair::Parity(1, 3), |n| matches!(n % 40, 7 | 8));
    assert_eq!((kind(&call), &counted(&call)[0]), ("", &(1, 474, 500, 26, 26)));
    let (call, _) = fax("v4", true, Repair::Parity(1, 3), |n| matches!(n % 40, 7..=11));
    assert_eq!((kind(&call), &counted(&call)[0]), ("fax-loss", &(1, 435, 500, 65, 39)));
}

#[test]
fn a_packet_or_two_is_no_verdict() {
    let (call, _) = fax("v4", true, Repair::Redundancy(0), |n| matches!(n, 100 | 200));
    assert_eq!((kind(&call), &counted(&call)[0]), ("", &(1, 498, 500, 2, 0)));
    // Copies of a mirror, and packets that overtake.
    let (_, tape) = fax("v4", true, Repair::Redundancy(2), |_| false);
    let mut doubled = Tape::default();
    for (n, (at_us, packet)) in tape.0.iter().enumerate() {
        doubled.0.push((at_us + if n % 9 == 0 { 40_000 } else { 0 }, packet.clone()));
        doubled.0.push((at_us + 50_000, packet.clone()));
    }
    let fax_only = |packet: &[u8]| packet[9] == 17 && packet[20..24] == [0x10, 0x04, 0x13, 0xec];
    let (other, faxes): (Vec<_>, Vec<_>) = doubled.0.into_iter().partition(|(_, packet)| !fax_only(packet));
    assert_eq!(faxes.len(), 1000);
    let mut mixed = Tape(tape.0.into_iter().filter(|(_, packet)| !fax_only(packet)).collect());
    assert!(!other.is_empty());
    mixed.0.extend(faxes);
    let (call, ..) = mixed.call_of();
    assert_eq!((kind(&call), &counted(&call)[0]), ("", &(1, 1000, 500, 0, 0)));
}

#[test]
fn high_numbers_are_no_other_protocol() {
    // Numbers that begin as ChannelData, DTLS and STUN do; then audio again on the same ports.
    for begin in [5_000, 16_300, 900, 200] {
        let media = [end("192.0.2.1:4000"), end("198.51.100.2:5000")];
        let side = |at: usize, tag, sdp| Side { signals: Endpoint::new(media[at].address, 5060), tag, sdp };
        let image = |at: usize| sdp(media[at], "image udptl t38", &[]);
        let (a, b) = (side(0, "a", audio(media[0])), side(1, "b", audio(media[1])));
        let (fax_a, fax_b) = (side(0, "a", image(0)), side(1, "b", image(1)));
        let mut tape = Tape::default();
        tape.call(0, "f3", [&a, &b]);
        tape.change(2_500, "f3", [&fax_a, &fax_b]);
        for n in 0..1000u16 {
            tape.udp(2_600 + 20 * i64::from(n), media[0], media[1], &udptl(begin + n, Repair::Redundancy(2)));
            if n % 20 == 0 {
                let answer = udptl(begin + n / 20, Repair::Redundancy(2));
                tape.udp(2_607 + 20 * i64::from(n), media[1], media[0], &answer);
            }
        }
        for (n, way) in [(1, [0, 1]), (2, [1, 0])] {
            tape.media((23_000, 30_000), n, |o| udp(media[way[0]], media[way[1]], o));
        }
        tape.bye(30_000, "f3", [&a, &b]);
        let (call, ..) = tape.call_of();
        assert_eq!(counted(&call), [(1, 1000, 1000, 0, 0), (2, 50, 50, 0, 0)], "{begin}");
        let audio: Vec<_> = call.streams.iter().filter(|s| s.codec == "PCMU").map(|s| s.encrypted).collect();
        assert_eq!((kind(&call), &audio[..]), ("", &[false, false][..]), "{begin}");
    }
}

#[test]
fn what_looks_like_fax_where_none_was_agreed_is_not_counted() {
    let media = [end("192.0.2.1:4000"), end("198.51.100.2:5000")];
    let side = |at: usize, tag| Side { signals: Endpoint::new(media[at].address, 5060), tag, sdp: audio(media[at]) };
    let (a, b) = (&side(0, "a"), &side(1, "b"));
    let mut tape = Tape::default();
    tape.call(0, "f2", [a, b]);
    for (n, way) in [(1, [0, 1]), (2, [1, 0])] {
        tape.media((2_040, 8_000), n, |o| udp(media[way[0]], media[way[1]], o));
    }
    for n in 0..50 {
        tape.udp(2_100 + 100 * i64::from(n), media[0], media[1], &udptl(n * 3, Repair::Redundancy(1)));
    }
    tape.bye(8_000, "f2", [a, b]);
    let (call, ..) = tape.call_of();
    assert_eq!((kind(&call), counted(&call).len(), call.streams.len()), ("", 0, 2));
}

/// Asterisk #1880: both legs agree on T.38, and one direction is not forwarded.
#[test]
fn a_fax_of_one_side_alone_is_told() {
    for (keeps, silent) in [([192, 0, 2, 1], "callee"), ([198, 51, 100, 2], "caller")] {
        let (_, mut tape) = fax("v4", false, Repair::Redundancy(0), |_| false);
        // Behind 5 s of sound all UDP of one side is of the fax.
        tape.0.retain(|(at_us, packet)| {
            let is_sip = packet[20..22] == 5060u16.to_be_bytes();
            *at_us < 5_050_000 || is_sip || packet[12..16] == keeps
        });
        let (call, ..) = tape.call_of();
        assert_eq!(kind(&call), "fax-loss", "{}", says(&call));
        assert!(says(&call).contains(&format!("none of the {silent}, which has to answer (audio of that side passes")));
    }
}

/// Of two legs whose fax goes from phone to phone, both are told, whichever is ended first.
#[test]
fn a_fax_that_two_legs_have_in_common_is_judged_on_both() {
    for second_first in [false, true] {
        for (lost, expected) in [(1, ""), (2, "fax-loss")] {
            let (a, b) = (end("192.0.2.1:4000"), end("198.51.100.2:5000"));
            let image = |of: Endpoint| sdp(of, "image udptl t38", &["T38FaxVersion:0"]);
            let side = |signals: &str, tag, sdp| Side { signals: end(signals), tag, sdp };
            let mut tape = Tape::default();
            let order = if second_first { [40, 0] } else { [0, 40] };
            for (id, at, [from, to]) in
                [("one", 0, ["192.0.2.1:5060", "192.0.2.5:5060"]), ("two", 10, ["192.0.2.5:5060", "198.51.100.2:5060"])]
            {
                let sides = [side(from, "a", audio(a)), side(to, "b", audio(b))];
                tape.call(at, id, [&sides[0], &sides[1]]);
                tape.change(5_000 + at, id, [&side(from, "a", image(a)), &side(to, "b", image(b))]);
                tape.bye(20_500 + order[usize::from(at > 0)], id, [&sides[0], &sides[1]]);
            }
            tape.media((2_040, 5_000), 1, |o| udp(a, b, o));
            tape.media((2_040, 5_000), 2, |o| udp(b, a, o));
            for n in (0..500u16).filter(|n| n % 40 >= lost) {
                tape.udp(5_100 + 30 * i64::from(n), a, b, &udptl(n, Repair::Redundancy(1)));
                tape.udp(5_110 + 30 * i64::from(n), b, a, &udptl(n, Repair::Redundancy(1)));
            }
            let (rows, _) = tape.read();
            let kinds: Vec<_> = rows.calls.iter().map(kind).collect();
            assert_eq!(kinds, [expected; 2], "{second_first} {lost}");
        }
    }
}
