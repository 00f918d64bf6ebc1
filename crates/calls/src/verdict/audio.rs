//! Rules about what could be heard.

use super::{Case, counted, seconds, talk, verdict};
use crate::ledger::{Evidence, FAX};
use crate::signalling::PartyMedia;
use crate::stream::Typed;
use trunkline_audio::codec::Media;
use trunkline_store::row::{CallState, Direction, Stream, Verdict};
use trunkline_wire::sip::Method;

/// Who the parties are, in the order of [`crate::signalling::Facts::parties`].
pub(super) const PARTIES: [Direction; 2] = [Direction::Caller, Direction::Callee];
/// A call answered for less than this need not have had time to speak.
const TALK_MIN_NS: i64 = 3_000_000_000;
/// As many packets as this (half a second of usual speech) are audio.
pub(super) const HEARD_MIN: u64 = 25;
/// A side that is silent sends little: fewer packets are audio if so many of them are speech and they stretch over half
/// of the talk, with comfort noise or nothing between them (RFC 3389).
const SPARSE_MIN: u64 = 5;
/// A stream shorter than this is too short to speak of its loss or jitter in per cent.
pub(super) const JUDGED_MIN: u64 = 100;
/// A packet of usual speech, nanoseconds.
const PACKET_NS: i64 = 20_000_000;
/// Payload type of comfort noise (RFC 3389), which needs no agreement.
const COMFORT_NOISE: u8 = 13;
/// So long after the answer the old codec may still come.
const CHANGE_NS: i64 = 1_000_000_000;
/// Share of packets that never came from which on people complain.
pub(super) const LOSS_MIN: f64 = 0.03;
/// Mean jitter (RFC 3550) from which on common jitter buffers discard.
const JITTER_MIN_MS: f64 = 30.0;
/// Share of packets that came too late for a jitter buffer of 200 ms.
const DISCARDED_MIN: f64 = 0.03;

/// Audio is missing, and the tap may be why: nothing is said about the call.
pub fn not_captured(case: &Case<'_>) -> Option<Verdict> {
    // Where there is no media at all nothing is missing.
    if !case.media_seen {
        return None;
    }
    let talk = talk_ns(case)?;
    let why = why_not_captured(case, talk)?;
    let seen = match (is_silent(case, talk), silent_side(case, talk)) {
        (true, _) => "Nothing of the audio was captured".to_owned(),
        (_, Some(silent)) => format!("Only the {} was captured", role(PARTIES[1 - silent])),
        _ => return None,
    };
    let text = format!("{seen}: {why}. Nothing is known to be wrong with the call.");
    verdict("not-captured", text, sdp_packets(case))
}

/// Why audio that was there need not have been captured.
pub(super) fn why_not_captured(case: &Case<'_>, talk_ns: i64) -> Option<String> {
    let tap = case.tap;
    if let Some((sender, packets)) = tap.unseen {
        let receiver = if sender == Direction::Caller { Direction::Callee } else { Direction::Caller };
        let least = if packets > 0 { format!(" at least {} of it", counted(packets, "packet")) } else { String::new() };
        let text =
            format!("the {} reports that it received{least}, so one direction does not pass the tap", role(receiver));
        return Some(text);
    }
    if tap.blind_ns.saturating_mul(2) >= talk_ns {
        return Some(format!("in {} of the {} of talk the tap was blind", seconds(tap.blind_ns), seconds(talk_ns)));
    }
    let dropped_ns = i64::try_from(tap.dropped_in_talk).unwrap_or(i64::MAX).saturating_mul(2 * PACKET_NS);
    (dropped_ns >= talk_ns).then(|| {
        let dropped = counted(tap.dropped_in_talk, "packet");
        format!("in the {} of talk the capturing side dropped about {dropped}", seconds(talk_ns))
    })
}

/// No audio of the call was seen, or of one side, and nothing else of these networks passes the tap either: nothing is
/// said about the call.
pub fn media_not_captured(case: &Case<'_>) -> Option<Verdict> {
    let talk = talk_ns(case)?;
    let nothing = "Nothing is known about its audio.";
    if is_silent(case, talk) && audio_packets(case) == 0 {
        if let Some(relay) = hidden_relay(case) {
            return verdict("media-not-captured", format!("{relay} {nothing}"), sdp_packets(case));
        }
        let aside = (0..2).find(|party| !case.tap.passes[*party])?;
        let of = case.facts.parties[aside].endpoint?.address;
        let who = role(PARTIES[aside]);
        let text = format!(
            "Media of the call was not captured: no RTP of the network of the {who} ({of}) passes this tap. {nothing}"
        );
        return verdict("media-not-captured", text, sdp_packets(case));
    }
    let silent = silent_side(case, talk).filter(|silent| case.tap.one_sided[*silent])?;
    let of = case.facts.parties[silent].endpoint?.address;
    let text = format!(
        "Media of the {} was not captured: several streams go to its network ({of}), and none of any call comes from \
         there: one direction does not pass this tap, or is blocked before it (check firewalls, if its SIP comes by). \
         {nothing}",
        role(PARTIES[silent])
    );
    verdict("media-not-captured", text, sdp_packets(case))
}

/// A relay of TURN of which nothing was seen: no media, and no check of ICE on any way of the call. Its client may
/// reach it inside TLS, and its other leg need not leave its network.
fn hidden_relay(case: &Case<'_>) -> Option<String> {
    let beside = &case.tap.beside;
    if beside.checks.any() || beside.handshake.is_some() {
        return None;
    }
    let party = (0..2).find(|party| case.facts.parties[*party].at_relay)?;
    Some(format!(
        "Media of the call was not captured: the {} asks for audio at {}, a relay of TURN, and nothing from or to it \
         passes this tap outside of TLS.",
        role(PARTIES[party]),
        case.facts.parties[party].endpoint?
    ))
}

/// No media of any call was seen: nothing is said about this one. All that its signalling shows goes before.
pub fn no_media_captured(case: &Case<'_>) -> Option<Verdict> {
    talk_ns(case)?;
    if case.media_seen || !both_expected(case) {
        return None;
    }
    let text = "Media of the call was not captured: no RTP of any call passed this tap until this one was over. Nothing \
                is known about its audio.";
    verdict("media-not-captured", text.to_owned(), sdp_packets(case))
}

pub fn no_audio(case: &Case<'_>) -> Option<Verdict> {
    let talk = talk_ns(case)?;
    if !is_silent(case, talk) || why_not_captured(case, talk).is_some() {
        return None;
    }
    let all = audio_packets(case);
    let mut why: Vec<String> = [0, 1].iter().filter_map(|p| nat(case, *p)).collect();
    if why.is_empty() {
        why = [0, 1].map(|p| target(case, p)).to_vec();
        why.dedup();
    }
    let seen = match all {
        0 => "no RTP was seen in either direction".to_owned(),
        n => format!("only {} of RTP came in both directions", counted(n, "packet")),
    };
    let text = format!("No audio: in {} after the answer {seen}. {}", seconds(talk), why.join(" "));
    verdict("no-audio", text.trim_end().to_owned(), sdp_packets(case))
}

pub fn one_way_audio(case: &Case<'_>) -> Option<Verdict> {
    let talk = talk_ns(case)?;
    let silent = silent_side(case, talk)?;
    if why_not_captured(case, talk).is_some() {
        return None;
    }
    let why = nat(case, 1 - silent).or_else(|| nat(case, silent)).unwrap_or_else(|| target(case, 1 - silent));
    let text = format!(
        "One-way audio: only the {} could be heard; in {} the {} sent {}. {why}",
        role(PARTIES[1 - silent]),
        seconds(talk),
        role(PARTIES[silent]),
        sent(case, silent),
    );
    let mut evidence = sdp_packets(case);
    evidence.extend(case.call.streams.iter().map(|s| s.packet_first));
    verdict("one-way-audio", text.trim_end().to_owned(), evidence)
}

/// What a side sent that could hardly be heard.
fn sent(case: &Case<'_>, party: usize) -> String {
    let direction = PARTIES[party];
    let audio = match packets(case, direction) {
        0 => "no packet".to_owned(),
        n => counted(n, "packet"),
    };
    let streams =
        case.call.streams.iter().zip(case.evidence).filter(|(s, e)| s.direction == direction && !is_video(Some(e)));
    let (early, empty) = streams.fold((false, 0), |(early, empty), (s, e)| {
        let is_early = !is_audio_of(case, s, Some(e), direction);
        (early || is_early && s.packets > e.sound.empty, empty + e.sound.empty)
    });
    match (empty, early) {
        (0, false) => audio,
        (0, true) => format!("{audio} (what it sent before the answer is no talk)"),
        (n, _) => format!("{audio} of audio and {} without content", counted(n, "packet")),
    }
}

pub fn codec_mismatch(case: &Case<'_>) -> Option<Verdict> {
    // Without both descriptions it is not known what was agreed.
    let parties = &case.facts.parties;
    if parties.iter().any(|p| p.payload_types == 0 || !p.agreed) {
        return None;
    }
    let answer_ns = case.call.answer_ns?;
    let named = parties[0].payload_types | parties[1].payload_types;
    for (stream, evidence) in case.call.streams.iter().zip(case.evidence) {
        let Some(sender) = PARTIES.iter().position(|d| *d == stream.direction) else { continue };
        // What the receiver's own description names and the answer accepts (RFC 3264 sections 5.1, 6.1); numbers that
        // the sender gave the same codecs are no other codecs.
        let agreed = parties[1 - sender].accepted | parties[sender].accepted | 1 << COMFORT_NOISE;
        // Keep-alives carry nothing, and often have a type that nobody named (RFC 6263 section 4.6).
        let carried = |typed: &Typed| typed.packets.saturating_sub(evidence.sound.empty);
        for (at, typed) in evidence.types.iter().enumerate().filter(|(_, t)| carried(t) >= HEARD_MIN) {
            let is_in = |types: u128| types & (1 << typed.payload_type) != 0;
            // Until the answer has arrived all that was offered may come (RFC 3264 section 5.1).
            let early = is_in(named) && typed.last_ns < answer_ns.saturating_add(CHANGE_NS);
            // Field: gateways put events of their own (Cisco NSE) into a stream under a dynamic type that no SDP names;
            // that is no other codec unless the stream begins with it.
            let unnamed_later = !is_in(named) && typed.payload_type >= 96 && at > 0;
            let is_event = matches!(typed.media, Some(Media::Event | Media::ComfortNoise));
            if is_in(agreed) || early || unnamed_later || is_event {
                continue;
            }
            return mismatch(case, stream, typed.payload_type, is_in(named), agreed & named);
        }
    }
    None
}

fn mismatch(case: &Case<'_>, stream: &Stream, odd: u8, is_named: bool, common: u128) -> Option<Verdict> {
    let why = if is_named { "which the answer does not accept" } else { "which neither side's SDP names" };
    let text = format!(
        "The {} sent payload type {odd}{}, {why} (agreed: {}).",
        role(stream.direction),
        static_name(odd),
        agreed(common)
    );
    let mut evidence = sdp_packets(case);
    evidence.push(stream.packet_first);
    verdict("codec-mismatch", text, evidence)
}

pub fn loss(case: &Case<'_>) -> Option<Verdict> {
    // What the tap lost, or may have lost, is no fault of the network; what a relay did not get, it did not lose.
    let lost = |s: &Stream| s.missing.saturating_sub(s.lost_at_tap).saturating_sub(lost_before(case, s));
    let worst = worst(case, lost).filter(|s| share(lost(s), s) >= LOSS_MIN)?;
    let at_tap = match worst.lost_at_tap {
        0 => String::new(),
        n => format!(" The capture itself lost up to {n} more."),
    };
    let (never, why) = match case.evidence.get(case.call.streams.iter().position(|s| core::ptr::eq(s, worst))?) {
        Some(Evidence { tcp: Some(_), .. }) => (
            "are not among what was sent over TCP",
            " TCP itself loses nothing: the sender left them out, as some do when their connection is slow, or did not \
             get them.",
        ),
        _ => ("were lost", ""),
    };
    let text = format!(
        "{:.1} % of the packets from {} ({}) {never}: {} of {}, {}.{why}{at_tap}",
        share(lost(worst), worst) * 100.0,
        the(worst.direction),
        worst.src,
        lost(worst),
        worst.expected,
        runs(worst)
    );
    verdict("loss", text, vec![worst.packet_first, worst.packet_last])
}

/// Packets are missing that the tap lost: nothing is said about the network.
pub fn lost_by_capture(case: &Case<'_>) -> Option<Verdict> {
    let worst = worst(case, |s| s.missing).filter(|s| share(s.missing, s) >= LOSS_MIN && s.lost_at_tap > 0)?;
    let most = if worst.lost_at_tap > worst.lost_at_tap_least { "up to " } else { "" };
    let text = format!(
        "{:.1} % of the packets from {} ({}) are missing, but the capture itself lost {most}{} of these {}. Nothing is known to be wrong with the call.",
        share(worst.missing, worst) * 100.0,
        the(worst.direction),
        worst.src,
        worst.lost_at_tap,
        worst.missing
    );
    verdict("not-captured", text, vec![worst.packet_first, worst.packet_last])
}

/// What is missing of the same numbers on the way to the relay that sends the stream. A stream that has ended before
/// is none on that way: its source goes on to another host.
fn lost_before(case: &Case<'_>, stream: &Stream) -> u64 {
    let beside_ns = stream.first_ns + (stream.last_ns - stream.first_ns) / 2;
    let sent_on = |s: &&Stream| {
        (s.ssrc, s.direction) == (stream.ssrc, stream.direction)
            && s.first_ns < stream.first_ns
            && s.last_ns > beside_ns
            && s.dst != stream.dst
    };
    case.call.streams.iter().filter(sent_on).map(|s| s.missing).max().unwrap_or(0)
}

fn share(packets: u64, of: &Stream) -> f64 {
    packets as f64 / of.expected.max(1) as f64
}

fn worst<'a>(case: &Case<'a>, lost: impl Fn(&Stream) -> u64) -> Option<&'a Stream> {
    judged(case).max_by(|a, b| share(lost(a), a).total_cmp(&share(lost(b), b)))
}

/// How packets are missing.
fn runs(stream: &Stream) -> String {
    match stream.loss_runs.iter().rposition(|n| *n > 0).map_or(0, |i| i + 1) {
        0 | 1 => "one by one".to_owned(),
        10 => "in bursts of 10 or more".to_owned(),
        n => format!("in bursts of up to {n}"),
    }
}

pub fn jitter(case: &Case<'_>) -> Option<Verdict> {
    let worst = even(case).max_by(|a, b| a.jitter_mean_ms.total_cmp(&b.jitter_mean_ms))?;
    let latest = even(case).max_by(|a, b| late(a).total_cmp(&late(b)))?;
    let (stream, discarded) = if worst.jitter_mean_ms >= JITTER_MIN_MS {
        (worst, late(worst))
    } else if late(latest) >= DISCARDED_MIN {
        (latest, late(latest))
    } else {
        return None;
    };
    let text = format!(
        "Jitter: packets from {} ({}) arrived unevenly: {:.1} ms average, {:.1} ms maximum; a jitter buffer of 200 ms would discard {:.1} %.",
        the(stream.direction),
        stream.src,
        stream.jitter_mean_ms,
        stream.jitter_max_ms,
        discarded * 100.0
    );
    verdict("jitter", text, vec![stream.packet_first, stream.packet_last])
}

/// How long the parties could talk.
pub(super) fn talk_ns(case: &Case<'_>) -> Option<i64> {
    let call = case.call;
    if !matches!(call.state, CallState::Answered | CallState::Completed) {
        return None;
    }
    let talk = call.end_ns.unwrap_or(call.last_ns) - call.answer_ns?;
    (talk >= TALK_MIN_NS).then_some(talk)
}

/// Streams long enough to be judged, of a call that was answered: before it, a ringing tone is all there is to lose.
pub(super) fn judged<'a>(case: &Case<'a>) -> impl Iterator<Item = &'a Stream> {
    let answered = case.call.answer_ns.is_some();
    case.call.streams.iter().filter(move |s| answered && is_long(s))
}

fn is_long(stream: &Stream) -> bool {
    stream.codec != FAX && stream.expected >= JUDGED_MIN && stream.packets > 0
}

/// The share of its packets that came too late to be played.
fn late(stream: &Stream) -> f64 {
    share(stream.discarded, stream)
}

/// A step of the sender's clock that is the same with each packet, as a share: timestamps that count at another rate
/// than SDP says, and no network.
const STEADY_MAX: f64 = 0.05;

/// Those of them that are sent evenly. Packets of a picture share a timestamp and follow each other (RFC 6184 section
/// 5.1), and what is sent again has that of the first time (RFC 4588 section 4): no buffer for audio waits for these.
fn even<'a>(case: &'a Case<'a>) -> impl Iterator<Item = &'a Stream> {
    let uneven = |evidence: &Evidence, stream: &Stream| {
        let again = |typed: &Typed| typed.media == Some(Media::Repair);
        is_video(Some(evidence))
            || stream.codec != "red" && !evidence.types.is_empty() && evidence.types.iter().all(again)
    };
    let other_rate = |s: &Stream| s.jitter_max_ms - s.jitter_mean_ms <= STEADY_MAX * s.jitter_max_ms && late(s) > 0.5;
    let answered = case.call.answer_ns.is_some();
    let all = case.call.streams.iter().enumerate().filter(move |(_, s)| answered && is_long(s));
    all.filter(move |(at, s)| case.evidence.get(*at).is_none_or(|evidence| !uneven(evidence, s)) && !other_rate(s))
        .map(|(_, s)| s)
}

/// Both sides meant to be heard.
fn both_expected(case: &Case<'_>) -> bool {
    audio_expected(case, 0) && audio_expected(case, 1)
}

/// Both sides meant to be heard, and none was.
pub(super) fn is_silent(case: &Case<'_>, talk_ns: i64) -> bool {
    case.media_seen
        && both_expected(case)
        && audio_packets(case) < HEARD_MIN
        && !PARTIES.iter().any(|d| heard(case, *d, talk_ns))
}

/// The side that was not heard while the other one was, though it should have been.
pub(super) fn silent_side(case: &Case<'_>, talk_ns: i64) -> Option<usize> {
    if is_bare(case) {
        return None;
    }
    let silent = match PARTIES.map(|d| heard(case, d, talk_ns)) {
        [false, true] => 0,
        [true, false] => 1,
        _ => return None,
    };
    (audio_expected(case, silent) && sends(case, silent) && receives(case, 1 - silent)).then_some(silent)
}

/// The other side could hear this one: it sent enough, or little all along the talk.
fn heard(case: &Case<'_>, direction: Direction, talk_ns: i64) -> bool {
    let sparse = |(s, carried): (&Stream, u64)| {
        let speech = carried.saturating_sub(u64::from(s.comfort_noise));
        speech >= SPARSE_MIN && s.last_ns.saturating_sub(s.first_ns) >= talk_ns / 2
    };
    packets(case, direction) >= HEARD_MIN || sent_by(case, direction).any(sparse)
}

/// Nothing at all is known to have been sent.
pub(super) fn is_bare(case: &Case<'_>) -> bool {
    case.call.streams.is_empty() && case.tap.elsewhere == [0; 2]
}

pub(super) fn audio_packets(case: &Case<'_>) -> u64 {
    if is_bare(case) {
        return 0;
    }
    [Direction::Caller, Direction::Callee, Direction::Unknown].map(|d| packets(case, d)).iter().sum()
}

/// Packets of audio that it sent, those that are kept with another call included.
fn packets(case: &Case<'_>, direction: Direction) -> u64 {
    let elsewhere = PARTIES.iter().position(|d| *d == direction).map_or(0, |party| case.tap.elsewhere[party]);
    sent_by(case, direction).map(|(_, packets)| packets).sum::<u64>() + elsewhere
}

/// It is this party's, may be audio, and something of it came after the answer.
fn is_audio_of(case: &Case<'_>, stream: &Stream, evidence: Option<&Evidence>, direction: Direction) -> bool {
    if stream.codec == FAX {
        return false;
    }
    let is_heard = |e: &Evidence| talk::is_heard_after(case.call.answer_ns, direction, &e.sound);
    stream.direction == direction && !is_video(evidence) && evidence.is_none_or(is_heard)
}

/// Its streams that may be audio, each with its packets that have a payload.
fn sent_by<'a>(case: &Case<'a>, direction: Direction) -> impl Iterator<Item = (&'a Stream, u64)> {
    let evidence = case.evidence;
    let streams = case.call.streams.iter().enumerate().map(|(at, s)| (s, evidence.get(at)));
    let audio = streams.filter(move |(s, evidence)| is_audio_of(case, s, *evidence, direction));
    audio.map(|(s, evidence)| (s, s.packets.saturating_sub(evidence.map_or(0, |e| e.sound.empty))))
}

/// Nothing of the stream can be heard: video, and what else is known to be no audio.
pub(super) fn is_video(evidence: Option<&Evidence>) -> bool {
    let types = evidence.map_or(&[][..], |e| &e.types);
    let silent = |t: &Typed| matches!(t.media, Some(Media::Video | Media::Other));
    !types.is_empty() && types.iter().all(silent)
}

/// The party negotiated audio, and neither fax nor hold explains silence.
pub(super) fn audio_expected(case: &Case<'_>, party: usize) -> bool {
    let media = &case.facts.parties[party];
    // What was guessed of a name holds if anything is sent there, or comes from there.
    let is_seen = |end| case.call.streams.iter().any(|s| s.src == end || s.dst == end);
    media.endpoint.is_some_and(|end| !media.by_name || is_seen(end))
        && match talk::to_be_heard_ns(case, 1 - party) {
            Some(talk_ns) => talk_ns >= TALK_MIN_NS,
            None => !case.facts.parties.iter().any(|p| p.held || p.fax),
        }
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
        role(PARTIES[party]),
        media.signalled_from
    ))
}

fn target(case: &Case<'_>, party: usize) -> String {
    let [own, other] = [party, 1 - party].map(|party| case.facts.parties[party].endpoint);
    match own {
        Some(endpoint) if own == other => {
            format!("The SDP of both sides asks for audio at {endpoint}: one of them repeats the address of the other.")
        }
        Some(endpoint) => format!("The {} asked for audio at {endpoint}.", role(PARTIES[party])),
        None => String::new(),
    }
}

pub(super) fn sdp_packets(case: &Case<'_>) -> Vec<u64> {
    super::packets_of(case.call, |m| {
        m.flags & trunkline_store::row::Message::SDP != 0 && m.method == Method::Invite as u8
    })
}

/// Who sends, to stand after "the".
pub(super) fn role(direction: Direction) -> &'static str {
    match direction {
        Direction::Caller => "caller",
        Direction::Callee => "callee",
        Direction::Unknown => "one side",
    }
}

/// Who sends, with the article.
pub(super) fn the(direction: Direction) -> String {
    match direction {
        Direction::Unknown => role(direction).to_owned(),
        known => format!("the {}", role(known)),
    }
}

pub(super) fn static_name(payload_type: u8) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signalling::Facts;
    use trunkline_store::row::Call;

    /// The verdict on 4 s of talk in which the callee sent 200 packets and the caller this.
    fn judged(caller: Stream) -> Option<Verdict> {
        let callee = Stream { direction: Direction::Callee, packets: 200, ..Stream::default() };
        let call = Call {
            state: CallState::Completed,
            answer_ns: Some(0),
            end_ns: Some(4_000_000_000),
            streams: vec![callee, Stream { direction: Direction::Caller, ..caller }],
            ..Call::default()
        };
        let endpoint = Some("192.0.2.1:4000".parse().unwrap());
        let party = PartyMedia { endpoint, sends: true, receives: true, ..PartyMedia::default() };
        let mut facts = Facts::default();
        facts.parties.fill(party);
        one_way_audio(&Case { call: &call, facts: &facts, evidence: &[], media_seen: true, tap: &Default::default() })
    }

    #[test]
    fn a_call_without_any_media_around_it_was_not_captured() {
        let said = |media_seen, talk_ns, held| {
            let call =
                Call { state: CallState::Completed, answer_ns: Some(0), end_ns: Some(talk_ns), ..Call::default() };
            let endpoint = Some("192.0.2.1:4000".parse().unwrap());
            let mut facts = Facts::default();
            facts.parties.fill(PartyMedia { endpoint, sends: true, receives: true, held, ..PartyMedia::default() });
            let tap = crate::ledger::Tap { passes: [media_seen; 2], ..Default::default() };
            let case = Case { call: &call, facts: &facts, evidence: &[], media_seen, tap: &tap };
            crate::verdict::judge(&case).map(|(_, verdict)| verdict.kind)
        };
        assert_eq!(said(false, 4_000_000_000, false).as_deref(), Some("media-not-captured"));
        assert_eq!(said(true, 4_000_000_000, false).as_deref(), Some("no-audio"));
        // Nothing was to be heard, or for too short a time; what its signalling shows goes before.
        assert_eq!(said(false, 4_000_000_000, true), None);
        assert_eq!(said(false, 2_900_000_000, false).as_deref(), Some("early-hangup"));
    }

    #[test]
    fn little_is_heard_if_it_came_all_along() {
        let sparse = Stream { packets: 12, comfort_noise: 6, last_ns: 3_000_000_000, ..Stream::default() };
        assert_eq!(judged(sparse.clone()), None);
        let brief = Stream { last_ns: 240_000_000, ..sparse.clone() };
        let text = judged(brief).unwrap().text;
        assert!(
            text.starts_with("One-way audio: only the callee could be heard; in 4.0 s the caller sent 12 packets.")
        );
        // Keepalives of comfort noise are no speech.
        assert!(judged(Stream { comfort_noise: 11, ..sparse.clone() }).is_some());
        let one = judged(Stream { packets: 1, comfort_noise: 0, ..sparse }).unwrap().text;
        assert!(one.contains("the caller sent 1 packet."), "{one}");
    }
}
