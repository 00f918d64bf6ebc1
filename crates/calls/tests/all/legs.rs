//! Two calls of a back-to-back user agent that leaves media alone: both name the same endpoints, and neither is silent,
//! though its streams are kept with one of them. Ports are soon in use again.

use crate::tape::{Side, Tape, audio, end, kind, streams, udp};
use trunkline_store::checked::checked;
use trunkline_store::row::Call;
use trunkline_wire::Endpoint;

fn side(media: Endpoint, signals: &str, tag: &'static str) -> Side {
    Side { signals: end(signals), tag, sdp: audio(media) }
}

/// Both legs from 0 to 12 s, and so long after the first BYE another call with the callee's port.
fn read(callers: &str, callees: &str, again_ms: i64) -> Vec<(String, usize, String)> {
    let (caller, callee, third) = (end(callers), end(callees), end("198.51.100.77:4400"));
    let agent = ["192.0.2.5:5060", "192.0.2.5:5070"];
    let first = [side(caller, "192.0.2.10:5060", "a"), side(callee, agent[0], "b")];
    let second = [side(caller, agent[1], "c"), side(callee, "203.0.113.9:5060", "d")];
    let later = [side(third, "198.51.100.77:5060", "e"), side(callee, "203.0.113.9:5060", "f")];
    let mut tape = Tape::default();
    for (at_ms, id, [from, to]) in [(0, "one", &first), (10, "two", &second), (12_000 + again_ms, "three", &later)] {
        tape.call(at_ms, id, [from, to]);
        tape.bye(at_ms + 12_000, id, [from, to]);
    }
    tape.media((2_050, 12_000), 1, |o| udp(caller, callee, o));
    tape.media((2_050, 12_000), 2, |o| udp(callee, caller, o));
    tape.media((14_050 + again_ms, 24_000 + again_ms), 3, |o| udp(third, callee, o));
    tape.media((14_050 + again_ms, 24_000 + again_ms), 4, |o| udp(callee, third, o));
    let (rows, _) = tape.read();
    names_what_it_shares(&rows.calls);
    rows.calls.iter().map(|c| (c.sip_call_id.clone(), streams(c).len(), kind(c).to_owned())).collect()
}

/// The second leg names the first one's streams, each from its own sides, and no other call names any.
fn names_what_it_shares(calls: &[Call]) {
    let named = |id: &str| calls.iter().find(|c| c.sip_call_id == id).unwrap();
    let (one, two) = (named("one"), named("two"));
    let mut streams: Vec<_> = one.streams.iter().map(|s| (one.id, s.id, s.direction)).collect();
    streams.sort_unstable_by_key(|(call, stream, _)| (*call, *stream));
    let shared: Vec<_> = two.shared.iter().map(|s| (s.call, s.stream, s.sender)).collect();
    assert_eq!(shared, streams);
    assert!(one.shared.is_empty() && named("three").shared.is_empty());
    assert!(checked(two).checked.contains(&format!("RTP of both directions (kept with call {})", one.id)));
}

#[test]
fn a_leg_is_not_silent_when_its_ports_are_in_use_again_before_it_is_closed() {
    for (caller, callee) in [("192.0.2.10:4000", "203.0.113.9:5000"), ("[2001:db8:1::1]:4000", "[2001:db8:2::1]:5000")]
    {
        // A call lingers for five seconds after the answer to its BYE.
        for again_ms in [20, 1_000, 3_600, 4_900, 7_000] {
            let mut calls = read(caller, callee, again_ms);
            calls.sort();
            let expected = [("one", 2, ""), ("three", 2, ""), ("two", 0, "")];
            assert_eq!(calls, expected.map(|(id, n, kind)| (id.to_owned(), n, kind.to_owned())), "{caller} {again_ms}");
        }
    }
}
