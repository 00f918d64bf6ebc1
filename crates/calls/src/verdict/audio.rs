//! Rules about what could be heard.

use super::{Case, seconds, verdict};
use crate::signalling::PartyMedia;
use trunkline_store::row::{CallState, Direction, Stream, Verdict};
use trunkline_wire::sip::Method;

/// A call answered for less than this need not have had time to speak.
const TALK_MIN_NS: i64 = 2_000_000_000;
/// Fewer packets than this (half a second of usual speech) are no audio.
const HEARD_MIN: u64 = 25;
/// A stream shorter than this is too short to speak of its loss or jitter in per cent.
const JUDGED_MIN: u64 = 100;
/// Share of packets that never came from which on people complain.
const LOSS_MIN: f64 = 0.03;
/// Mean jitter (RFC 3550) from which on common jitter buffers discard.
const JITTER_MIN_MS: f64 = 30.0;
/// Share of packets that came too late for a jitter buffer of 200 ms.
const DISCARDED_MIN: f64 = 0.03;

pub fn no_audio(case: &Case<'_>) -> Option<Verdict> {
    let talk = talk_ns(case)?;
    if !case.media_seen || !audio_expected(case, 0) || !audio_expected(case, 1) {
        return None;
    }
    if case.call.streams.iter().map(|s| s.packets).sum::<u64>() >= HEARD_MIN {
        return None;
    }
    let mut why: Vec<String> = [0, 1].iter().filter_map(|p| nat(case, *p)).collect();
    if why.is_empty() {
        why = [0, 1].map(|p| target(case, p)).to_vec();
    }
    let text = format!(
        "No audio: in {} after the answer no RTP was seen in either direction. {}",
        seconds(talk),
        why.join(" ")
    );
    verdict("no-audio", text, sdp_packets(case))
}

pub fn one_way_audio(case: &Case<'_>) -> Option<Verdict> {
    let talk = talk_ns(case)?;
    let heard = [Direction::Caller, Direction::Callee].map(|d| packets(case, d));
    let silent = match heard {
        [caller, callee] if caller < HEARD_MIN && callee >= HEARD_MIN => 0,
        [caller, callee] if callee < HEARD_MIN && caller >= HEARD_MIN => 1,
        _ => return None,
    };
    if !audio_expected(case, silent) || !sends(case, silent) || !receives(case, 1 - silent) {
        return None;
    }
    let names = ["caller", "callee"];
    let why = nat(case, 1 - silent).or_else(|| nat(case, silent)).unwrap_or_else(|| target(case, 1 - silent));
    let text = format!(
        "One-way audio: only the {} could be heard; in {} the {} sent {}. {why}",
        names[1 - silent],
        seconds(talk),
        names[silent],
        match heard[silent] {
            0 => "no packet".to_owned(),
            n => format!("{n} packets"),
        },
    );
    let mut evidence = sdp_packets(case);
    evidence.extend(case.call.streams.iter().map(|s| s.packet_first));
    verdict("one-way-audio", text.trim_end().to_owned(), evidence)
}

pub fn codec_mismatch(case: &Case<'_>) -> Option<Verdict> {
    let offered = |p: usize| case.facts.parties[p].payload_types;
    if offered(0) == 0 || offered(1) == 0 {
        return None;
    }
    let known = offered(0) | offered(1) | 1 << 13;
    for stream in case.call.streams.iter().filter(|s| s.direction != Direction::Unknown && s.packets >= HEARD_MIN) {
        let Some(odd) = stream.payload_types.iter().find(|pt| known & (1 << **pt) == 0) else { continue };
        let text = format!(
            "The {} sent payload type {odd}{}, which neither side's SDP names (agreed: {}).",
            name(stream.direction),
            static_name(*odd),
            agreed(offered(0) & offered(1))
        );
        let mut evidence = sdp_packets(case);
        evidence.push(stream.packet_first);
        return verdict("codec-mismatch", text, evidence);
    }
    None
}

pub fn loss(case: &Case<'_>) -> Option<Verdict> {
    let share = |s: &Stream| s.missing as f64 / s.expected.max(1) as f64;
    let worst = judged(case).max_by(|a, b| share(a).total_cmp(&share(b)))?;
    if share(worst) < LOSS_MIN {
        return None;
    }
    let longest = worst.loss_runs.iter().rposition(|n| *n > 0).map_or(0, |i| i + 1);
    let runs = match longest {
        0 | 1 => "one by one".to_owned(),
        10 => "in runs of ten and more".to_owned(),
        n => format!("in runs of up to {n}"),
    };
    let at = if case.call.capture.lost_at_tap > case.call.capture.lost_before_tap {
        " Most were lost by the capture itself, not by the network."
    } else {
        ""
    };
    let text = format!(
        "{:.1} % of the packets from {} ({}) never came: {} of {}, {runs}.{at}",
        share(worst) * 100.0,
        name(worst.direction),
        worst.src,
        worst.missing,
        worst.expected
    );
    verdict("loss", text, vec![worst.packet_first, worst.packet_last])
}

pub fn jitter(case: &Case<'_>) -> Option<Verdict> {
    let late = |s: &Stream| s.discarded as f64 / s.expected.max(1) as f64;
    let worst = judged(case).max_by(|a, b| a.jitter_mean_ms.total_cmp(&b.jitter_mean_ms))?;
    let latest = judged(case).max_by(|a, b| late(a).total_cmp(&late(b)))?;
    let (stream, discarded) = if worst.jitter_mean_ms >= JITTER_MIN_MS {
        (worst, late(worst))
    } else if late(latest) >= DISCARDED_MIN {
        (latest, late(latest))
    } else {
        return None;
    };
    let text = format!(
        "The packets from {} ({}) came unevenly: jitter {:.1} ms in the mean, {:.1} ms at worst; a jitter buffer of 200 ms would discard {:.1} %.",
        name(stream.direction),
        stream.src,
        stream.jitter_mean_ms,
        stream.jitter_max_ms,
        discarded * 100.0
    );
    verdict("jitter", text, vec![stream.packet_first, stream.packet_last])
}

/// How long the parties could talk.
fn talk_ns(case: &Case<'_>) -> Option<i64> {
    let call = case.call;
    if !matches!(call.state, CallState::Answered | CallState::Completed) {
        return None;
    }
    let talk = call.end_ns.unwrap_or(call.last_ns) - call.answer_ns?;
    (talk >= TALK_MIN_NS).then_some(talk)
}

/// Streams long enough to be judged, of a call that was answered: before it, a ringing tone is all there is to lose.
fn judged<'a>(case: &Case<'a>) -> impl Iterator<Item = &'a Stream> {
    let answered = case.call.answer_ns.is_some();
    case.call.streams.iter().filter(move |s| answered && s.expected >= JUDGED_MIN && s.packets > 0)
}

fn packets(case: &Case<'_>, direction: Direction) -> u64 {
    case.call.streams.iter().filter(|s| s.direction == direction).map(|s| s.packets).sum()
}

/// The party negotiated audio, and neither fax nor hold explains silence.
fn audio_expected(case: &Case<'_>, party: usize) -> bool {
    let media = &case.facts.parties[party];
    media.endpoint.is_some() && !media.fax && !case.facts.parties.iter().any(|p| p.held || p.fax)
}

fn sends(case: &Case<'_>, party: usize) -> bool {
    case.facts.parties[party].sends
}

fn receives(case: &Case<'_>, party: usize) -> bool {
    case.facts.parties[party].receives
}

fn nat(case: &Case<'_>, party: usize) -> Option<String> {
    let media: &PartyMedia = &case.facts.parties[party];
    let endpoint = media.endpoint.filter(|_| media.behind_nat())?;
    Some(format!(
        "The SDP of the {} asks for audio at {endpoint}, a private address, while its signalling comes from {}: NAT.",
        ["caller", "callee"][party],
        media.signalled_from
    ))
}

fn target(case: &Case<'_>, party: usize) -> String {
    match case.facts.parties[party].endpoint {
        Some(endpoint) => format!("The {} asked for audio at {endpoint}.", ["caller", "callee"][party]),
        None => String::new(),
    }
}

fn sdp_packets(case: &Case<'_>) -> Vec<u64> {
    super::packets_of(case.call, |m| {
        m.flags & trunkline_store::row::Message::SDP != 0 && m.method == Method::Invite as u8
    })
}

fn name(direction: Direction) -> &'static str {
    match direction {
        Direction::Caller => "the caller",
        Direction::Callee => "the callee",
        Direction::Unknown => "one side",
    }
}

fn static_name(payload_type: u8) -> String {
    match trunkline_audio::Codec::by_static_type(payload_type) {
        Some(codec) => format!(" ({})", codec.name),
        None => String::new(),
    }
}

fn agreed(types: u128) -> String {
    let list: Vec<String> =
        (0..128u8).filter(|pt| types & (1 << pt) != 0).map(|pt| format!("{pt}{}", static_name(pt))).collect();
    if list.is_empty() { "nothing".to_owned() } else { list.join(", ") }
}
