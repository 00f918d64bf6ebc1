//! Packets that did not arrive, as ICMP says (RFC 792, RFC 4443): why nobody answers, and why nobody hears.

use super::audio::{HEARD_MIN, PARTIES, audio_expected, role, sdp_packets, talk_ns};
use super::{Case, seconds, verdict};
use crate::signalling::Unreached;
use trunkline_store::row::{Stream, Verdict};
use trunkline_wire::icmp::{Reason, Unreachable};

/// Media that does not arrive for as long as this is no matter of its first or last packets.
const LASTING_NS: i64 = 3_000_000_000;
/// As many messages say so: hosts send one in a second at most.
const MESSAGES_MIN: u32 = 3;

/// That the INVITE did not arrive.
pub fn invite<'a>(case: &'a Case<'_>) -> Option<&'a Unreached> {
    case.facts.troubles.as_ref()?.unreached.as_ref()
}

/// `ICMP from 192.0.2.9 says "port unreachable": no program listens on 192.0.2.9:5060, or a filter there refuses it`.
pub fn told(what: &Unreachable) -> String {
    format!("ICMP from {} says \"{}\": {}", what.by, what.reason, meaning(what))
}

fn meaning(what: &Unreachable) -> String {
    let Unreachable { by, to, .. } = what;
    match what.reason {
        Reason::Port if by == &to.address => format!("no program listens on {to}, or a filter there refuses packets"),
        // Filters refuse so as well (RFC 1812 section 5.2.7.1 leaves it to the host alone).
        Reason::Port => format!("a filter on the way refuses packets to {to}, or no program listens behind it"),
        Reason::Host => format!("the host {} is down, or is not there", to.address),
        Reason::Network => format!("{by} knows no way to {}", to.address),
        Reason::Prohibited => format!("a filter forbids packets to {to}"),
        Reason::Protocol => format!("{} does not know the protocol", to.address),
        Reason::TooBig => "the packet is too large for a link behind it, and must not be cut".to_owned(),
        Reason::Other => format!("packets to {to} do not arrive"),
    }
}

/// What to check first.
pub fn check(what: &Unreachable) -> &'static str {
    match what.reason {
        Reason::Port if what.by == what.to.address => {
            "Check whether the program runs there, and on which address and port, then the filter of that host."
        }
        Reason::Port => "Check the filter of the host that says so, then whether the program runs there.",
        Reason::Host | Reason::Network => "Check that host, and the routes to it.",
        Reason::Prohibited => "Check the rules of that filter.",
        Reason::TooBig => "Check whether the sender heeds the message, or send it over TCP.",
        Reason::Protocol | Reason::Other => "Check the host that says so, and that address.",
    }
}

/// Media of this party does not arrive: for most of the talk ICMP says so of all that it sends.
fn lasting<'a>(case: &'a Case<'_>, party: usize, talk_ns: i64) -> Option<&'a Unreached> {
    let answer_ns = case.call.answer_ns?;
    let end_ns = case.call.end_ns.unwrap_or(case.call.last_ns);
    let lasts = |u: &Unreached| {
        let within_ns = u.last_ns.min(end_ns).saturating_sub(u.first_ns.max(answer_ns));
        u.messages >= MESSAGES_MIN && within_ns >= LASTING_NS.max(talk_ns / 2) && u.what.reason != Reason::TooBig
    };
    let of = case.tap.beside.unreached.iter().filter(|(sender, u)| *sender == PARTIES[party] && lasts(u));
    of.map(|(_, u)| u).find(|u| {
        let sent = || case.call.streams.iter().filter(|s| s.direction == PARTIES[party] && s.packets >= HEARD_MIN);
        let is_there = |s: &Stream| (s.src, s.dst) == (u.what.from, u.what.to);
        // What goes to the relay whose packets do not arrive is heard as little.
        let is_before = |s: &Stream| s.dst.address == u.what.from.address && s.src.address != u.what.from.address;
        // What goes elsewhere as well may be heard there; and what a receiver says that it has, has arrived.
        let mut there = sent().filter(|s| is_there(s)).peekable();
        there.peek().is_some() && !there.any(is_received) && sent().all(|s| is_there(s) || is_before(s))
    })
}

/// By the receiver's reports more than half of it arrived.
fn is_received(stream: &Stream) -> bool {
    let told = &stream.rtcp;
    told.receiver_reports > 0 && told.passed >= HEARD_MIN && told.lost_after_tap < told.passed / 2
}

/// One side sends, and its packets do not arrive where the other one asked for them.
pub fn media(case: &Case<'_>) -> Option<Verdict> {
    let talk = talk_ns(case)?;
    let of = |party: usize| lasting(case, party, talk).filter(|_| audio_expected(case, party));
    let (answer_ns, end_ns) = (case.call.answer_ns?, case.call.end_ns.unwrap_or(case.call.last_ns));
    let when = |u: &Unreached| match u.first_ns - answer_ns {
        late if late >= LASTING_NS => {
            format!("from {} to {} after the answer", seconds(late), seconds(end_ns - answer_ns))
        }
        _ => format!("in {}", seconds(talk)),
    };
    let text = |party: usize, u: &Unreached| {
        format!("what the {} sends does not arrive. {}. {}", role(PARTIES[party]), told(&u.what), check(&u.what))
    };
    let found = [of(0), of(1)];
    if found.iter().all(Option::is_none) {
        return None;
    }
    let mut packets = sdp_packets(case);
    let (kind, text) = match found {
        [Some(caller), Some(callee)] => {
            packets.extend([caller.packet, callee.packet]);
            let both =
                format!("No audio: neither side's packets arrive. {}; {}.", told(&caller.what), told(&callee.what));
            ("no-audio", both)
        }
        [Some(u), None] | [None, Some(u)] => {
            let party = usize::from(of(0).is_none());
            packets.push(u.packet);
            let listener = role(PARTIES[1 - party]);
            let begin = format!("One-way audio: {} the {listener} heard nothing: ", when(u));
            ("one-way-audio", format!("{begin}{}", text(party, u)))
        }
        _ => return None,
    };
    verdict(kind, text, packets)
}
