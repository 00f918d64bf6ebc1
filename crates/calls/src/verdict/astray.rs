//! Audio that is sent, and goes where nobody hears it, or leaves this tap.

use super::audio::{self, HEARD_MIN, PARTIES, role, sdp_packets};
use super::talk;
use super::{Case, ice, seconds, verdict};
use trunkline_store::row::{Stream, Verdict};

/// Audio of a party, without what came before the answer alone.
fn sent<'a>(case: &'a Case<'_>, party: usize) -> impl Iterator<Item = &'a Stream> {
    let after = move |sound| talk::is_heard_after(case.call.answer_ns, PARTIES[party], sound);
    talk::streams(case, party).filter(move |(_, sound)| after(sound)).map(|(stream, _)| stream)
}

/// What is sent to a party goes to a private address that it named, while what it sends comes from a public one: no
/// router carries that. Gives a stream of each kind.
fn to_private<'a>(case: &'a Case<'_>, listener: usize) -> Option<[&'a Stream; 2]> {
    let media = &case.facts.parties[listener];
    let named = media.endpoint.filter(|_| media.behind_nat())?;
    // What comes to it is that of this hop; behind a relay the same audio goes on to others.
    let own = sent(case, listener).find(|s| s.packets >= HEARD_MIN && !s.src.address.is_private())?;
    let on_hop = |s: &&Stream| s.src == own.dst;
    let mut to_it = sent(case, 1 - listener).filter(on_hop);
    let first = to_it.next()?;
    let astray = |s: &Stream| s.dst == named;
    let lasts = first.packets >= HEARD_MIN && astray(first) && to_it.all(astray);
    // A tap at the router itself sees the packets before and behind it.
    let carried = |s: &Stream| s.ssrc == first.ssrc && !s.dst.address.is_private() && s.src == first.src;
    (lasts && !case.call.streams.iter().any(carried)).then_some([first, own])
}

/// A server sends to the private address in a phone's SDP.
pub fn to_private_address(case: &Case<'_>) -> Option<Verdict> {
    let talk = audio::talk_ns(case)?;
    let of = |listener: usize| to_private(case, listener).filter(|_| audio::audio_expected(case, 1 - listener));
    let told = |listener: usize, [stream, own]: [&Stream; 2]| {
        format!(
            "what the {} sends goes to {}, the private address in the SDP of the {}, whose own audio comes from {}: NAT \
             that nobody corrected",
            role(PARTIES[1 - listener]),
            stream.dst,
            role(PARTIES[listener]),
            own.src
        )
    };
    let found = [of(0), of(1)];
    if found.iter().all(Option::is_none) {
        return None;
    }
    let mut packets = sdp_packets(case);
    let mut show = |streams: [&Stream; 2]| packets.extend(streams.map(|s| s.packet_first));
    let (kind, text) = match found {
        [Some(caller), Some(callee)] => {
            show(caller);
            show(callee);
            ("no-audio", format!("No audio: {}; {}.", told(0, caller), told(1, callee)))
        }
        [Some(streams), None] => one_way(0, streams, talk, &told, &mut show),
        [None, Some(streams)] => one_way(1, streams, talk, &told, &mut show),
        [None, None] => return None,
    };
    verdict(kind, text, packets)
}

fn one_way<'a>(
    listener: usize,
    streams: [&'a Stream; 2],
    talk_ns: i64,
    told: &impl Fn(usize, [&'a Stream; 2]) -> String,
    show: &mut impl FnMut([&'a Stream; 2]),
) -> (&'static str, String) {
    show(streams);
    let who = role(PARTIES[listener]);
    let text = format!("One-way audio: in {} the {who} heard nothing: {}.", seconds(talk_ns), told(listener, streams));
    ("one-way-audio", text)
}

/// Both sides were asked to send elsewhere, nothing of either goes there at this tap, and nothing comes any more by the
/// old way: the media goes directly from phone to phone. Nothing is said about the call.
pub fn media_left(case: &Case<'_>) -> Option<Verdict> {
    // Where nothing ever was, nothing has left.
    if audio::is_bare(case) {
        return None;
    }
    let talk = audio::talk_ns(case)?;
    if !audio::is_silent(case, talk) && audio::silent_side(case, talk).is_none() {
        return None;
    }
    let last = [talk::last_window(case, 0)?, talk::last_window(case, 1)?];
    let moved = last.iter().filter(|window| window.moved()).max_by_key(|window| window.from_ns)?;
    let settled_ns = moved.settled_ns();
    let goes_on = |party: usize| talk::streams(case, party).any(|(_, sound)| sound.last_ns > settled_ns);
    // Both were heard here before.
    let was_here = |party: usize| talk::streams(case, party).next().is_some();
    if goes_on(0) || goes_on(1) || !was_here(0) || !was_here(1) || case.tap.elsewhere != [0; 2] {
        return None;
    }
    // Where they look for a way in vain at this tap, nothing goes by another one.
    if ice::lost_way(case, moved.from_ns).is_some() {
        return None;
    }
    let ends = last.each_ref().map(|w| w.asked().map_or_else(String::new, |e| e.to_string()));
    let text = format!(
        "Media of the call left this tap: since {} after the answer it is to go between {} and {}, and no RTP of these \
         passes here. Nothing is known about its audio.",
        talk::since_answer(case, moved.from_ns),
        ends[0],
        ends[1]
    );
    verdict("media-not-captured", text, sdp_packets(case))
}
