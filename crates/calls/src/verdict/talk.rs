//! Rules about when a side was heard: audio that begins late, stops for good, does not come back after hold, goes where
//! nobody listens any more, or ends at a relay.
//!
//! What is to be heard when is told by what was agreed ([`crate::signalling::Change`]), what was heard by the streams
//! ([`crate::stream::Sound`]).

mod hearing;

use super::audio::{self, PARTIES, role};
use super::{Case, ice, seconds, verdict};
use crate::ledger::{Evidence, FAX};
use crate::signalling::{Change, Said};
use crate::stream::Sound;
use hearing::Hearing;
use smallvec::SmallVec;
use trunkline_store::row::{Direction, Stream, Verdict};
use trunkline_wire::{Address, Endpoint};

/// Silence to the end of the call that is not usual, of a side that sends all along.
const STOPPED_MIN_NS: i64 = 5_000_000_000;
/// The same of a side that sends nothing while nobody speaks (silence suppression).
const STOPPED_SUPPRESSED_NS: i64 = 30_000_000_000;
/// Silence of both sides at once, up to the end.
const BOTH_STOPPED_NS: i64 = 10_000_000_000;
/// Silence after the answer that people take for a dead line.
const LATE_MIN_NS: i64 = 3_000_000_000;
/// The same after hold: who resumes often waits for the other to speak.
const LATE_RESUMED_NS: i64 = 5_000_000_000;
/// The same of a side that sends nothing while nobody speaks.
const LATE_SUPPRESSED_NS: i64 = 10_000_000_000;
/// A side goes on when it was heard this near to the end.
const GOES_ON_NS: i64 = 3_000_000_000;
/// As much as this has to be heard to speak of a beginning.
const BEGUN_NS: i64 = 1_000_000_000;
/// A sender counts more packets than came by only if it counts so many more: five seconds of usual speech. It may have
/// begun earlier, or be another one's count.
const SENT_ROOM: u64 = 250;
/// A sender's count is that of what came by if it is this near.
const SENT_NEAR: u64 = 5;
/// Packets on their way when the other side asks for them at another place.
const MOVING_NS: i64 = 1_000_000_000;

/// A time in which one side is to hear the other.
#[derive(Clone, Debug)]
pub struct Window {
    /// Nanoseconds since 1970.
    pub from_ns: i64,
    /// Nanoseconds since 1970.
    pub to_ns: i64,
    listener: Said,
    speaker: Said,
    /// Where the listener wanted audio before.
    left: SmallVec<[Endpoint; 1]>,
    begins: Begins,
    /// The speaker's audio comes by a relay.
    relayed: bool,
}

/// Why a window begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begins {
    Answer,
    Resume,
    /// It was a fax before.
    Fax,
    Move,
}

type Windows = SmallVec<[Window; 2]>;

/// What was agreed where this party is: on its own hop. Who moves goes on from a host of which nothing was seen before.
fn near<'a>(case: &'a Case<'_>, party: usize) -> impl Iterator<Item = &'a Change> + use<'a> {
    let changes = &case.facts.changes;
    let mut own: SmallVec<[Address; 2]> = case.facts.hosts[party].into_iter().collect();
    let known = own.len();
    let mut last: Option<&Change> = None;
    // A proxy and the party on one machine: what went between the two is the party's.
    let within = |host| changes.iter().any(|change| change.hosts == [host; 2]);
    let alone = own.first().copied().filter(|host| within(*host));
    changes.iter().enumerate().filter_map(move |(at, change)| {
        let host = change.hosts[party];
        let is_new = || changes[..at].iter().all(|earlier| !earlier.hosts.contains(&host));
        // Hops of proxies are told before that of the caller, and say the same of it unless a relay is in the way.
        let moves = |last: &Change| last.parties[party].endpoint != change.parties[party].endpoint && is_new();
        if known > 0 && last.is_some_and(moves) {
            own.push(host);
        }
        let is_own = match alone {
            Some(host) => change.hosts == [host; 2],
            None => known == 0 || change.hosts.iter().any(|host| own.contains(host)),
        };
        last = if is_own { Some(change) } else { last };
        is_own.then_some(change)
    })
}

/// Both sides send and receive, and audio it is.
fn is_open(change: &Change) -> bool {
    change.parties.iter().all(|p| p.endpoint.is_some() && p.sends && p.receives && !p.fax)
}

/// When the call was over, or the last that was seen of it.
fn end_ns(case: &Case<'_>) -> i64 {
    let sound = case.evidence.iter().map(|e| e.sound.last_ns).max();
    case.call.end_ns.or(sound).unwrap_or(case.call.last_ns)
}

/// What was agreed where this party is, each with the part of the talk in which it held: from and to, nanoseconds since
/// 1970.
fn spans<'a>(case: &'a Case<'_>, party: usize, answer_ns: i64) -> impl Iterator<Item = (&'a Change, i64, i64)> {
    let end_ns = end_ns(case);
    let mut changes = near(case, party).peekable();
    core::iter::from_fn(move || {
        let change = changes.next()?;
        let to_ns = changes.peek().map_or(i64::MAX, |next| next.at_ns).min(end_ns);
        Some((change, change.at_ns.max(answer_ns), to_ns))
    })
}

/// When this party (0 the caller) is to hear the other one. None if that is not known.
fn windows(case: &Case<'_>, listener: usize) -> Option<Windows> {
    let answer_ns = case.call.answer_ns?;
    if case.facts.changes_not_kept {
        return None;
    }
    let speaker = 1 - listener;
    let own = |endpoint| near(case, speaker).any(|change| change.parties[speaker].endpoint == endpoint);
    let mut windows = Windows::new();
    let mut left: SmallVec<[Endpoint; 1]> = SmallVec::new();
    let mut is_known = false;
    // Of a proxy's two hops the caller's is answered a little later: that is no change.
    let mut was_open = None;
    for (change, from_ns, to_ns) in spans(case, listener, answer_ns) {
        is_known = true;
        let [heard, said] = [change.parties[listener], change.parties[speaker]];
        let open = is_open(change);
        if to_ns > from_ns {
            match windows.last_mut().filter(|w| open && w.to_ns == from_ns && w.listener.endpoint == heard.endpoint) {
                Some(last) => (last.to_ns, last.listener, last.speaker) = (to_ns, heard, said),
                None if open => windows.push(Window {
                    from_ns,
                    to_ns,
                    listener: heard,
                    speaker: said,
                    left: left.iter().copied().filter(|old| Some(*old) != heard.endpoint).collect(),
                    begins: match was_open {
                        None => Begins::Answer,
                        Some((true, _)) => Begins::Move,
                        Some((_, true)) => Begins::Fax,
                        Some(_) => Begins::Resume,
                    },
                    relayed: !own(said.endpoint),
                }),
                None => {}
            }
            was_open = Some((open, change.parties.iter().any(|party| party.fax)));
        }
        left.extend(heard.endpoint.filter(|endpoint| !left.contains(endpoint)));
    }
    is_known.then_some(windows)
}

/// How long this party is to hear the other one, nanoseconds. None if that is not known.
pub fn to_be_heard_ns(case: &Case<'_>, listener: usize) -> Option<i64> {
    let answer_ns = case.call.answer_ns.filter(|_| !case.facts.changes_not_kept)?;
    let open_ns =
        |(change, from_ns, to_ns): (&Change, i64, i64)| if is_open(change) { (to_ns - from_ns).max(0) } else { 0 };
    // What was agreed once, as in most calls, is this party's if its host had a part in it.
    if let [change] = &case.facts.changes[..] {
        let is_own = case.facts.hosts[listener].is_none_or(|host| change.hosts.contains(&host));
        return is_own.then(|| open_ns((change, change.at_ns.max(answer_ns), end_ns(case))));
    }
    spans(case, listener, answer_ns).map(open_ns).reduce(|sum, next| sum + next)
}

/// Audio streams of a party.
pub(super) fn streams<'a>(case: &'a Case<'_>, party: usize) -> impl Iterator<Item = (&'a Stream, &'a Sound)> + use<'a> {
    known(case, party).map(|(s, e)| (s, &e.sound))
}

/// The same, each with all that is known of it.
fn known<'a>(case: &'a Case<'_>, party: usize) -> impl Iterator<Item = (&'a Stream, &'a Evidence)> + use<'a> {
    let all = case.call.streams.iter().zip(case.evidence);
    let audio = all.filter(move |(s, e)| s.direction == PARTIES[party] && !audio::is_video(Some(e)) && s.codec != FAX);
    audio.filter(|(s, e)| s.packets > e.sound.empty)
}

/// The last time in which a party is to hear the other one; none if it is not known, or ends before the call.
pub(super) fn last_window(case: &Case<'_>, listener: usize) -> Option<Window> {
    windows(case, listener)?.pop().filter(|window| window.to_ns >= end_ns(case))
}

impl Window {
    /// Where the listener wants audio.
    pub(super) fn asked(&self) -> Option<Endpoint> {
        self.listener.endpoint
    }

    /// Whether the listener asked for it at another place than before.
    pub(super) fn moved(&self) -> bool {
        self.begins == Begins::Move
    }

    /// Whether a stream of the speaker comes to where the listener hears it.
    fn arrives(&self, stream: &Stream) -> bool {
        if self.relayed {
            return Some(stream.src) == self.speaker.endpoint || Some(stream.dst) == self.listener.endpoint;
        }
        self.listener.ice || !self.left.contains(&stream.dst)
    }

    /// Whether a stream of the listener is on the same hop.
    fn is_beside(&self, stream: &Stream) -> bool {
        !self.relayed || Some(stream.dst) == self.speaker.endpoint || Some(stream.src) == self.listener.endpoint
    }

    /// There was none to be heard before.
    fn is_after_break(&self) -> bool {
        matches!(self.begins, Begins::Resume | Begins::Fax)
    }

    /// Packets were on their way to the old address when it changed.
    pub(super) fn settled_ns(&self) -> i64 {
        self.from_ns.saturating_add(if self.begins == Begins::Move { MOVING_NS } else { 0 })
    }
}

pub(super) fn since_answer(case: &Case<'_>, at_ns: i64) -> String {
    seconds(at_ns - case.call.answer_ns.unwrap_or(at_ns))
}

fn packets(case: &Case<'_>, party: usize) -> Vec<u64> {
    let mut packets = audio::sdp_packets(case);
    packets.extend(streams(case, party).map(|(s, _)| s.packet_last));
    packets
}

/// One side stops to be heard while the other goes on.
pub fn one_way_from(case: &Case<'_>) -> Option<Verdict> {
    let both = [0, 1].map(|listener| Hearing::of(case, listener).and_then(|hearing| stopped(&hearing)));
    match both {
        [Some(caller), Some(callee)] if caller.relay.is_some() && caller.relay == callee.relay => {
            neither(case, &caller, &callee)
        }
        [one, other] => verdict_of(one.or(other)?),
    }
}

/// That a side is not heard any more.
struct Stopped {
    text: String,
    packets: Vec<u64>,
    from_ns: i64,
    to_ns: i64,
    /// It was heard before.
    was_heard: bool,
    /// The relay that sends nothing on.
    relay: Option<Address>,
}

fn verdict_of(stopped: Stopped) -> Option<Verdict> {
    verdict("one-way-audio", stopped.text, stopped.packets)
}

/// A relay that sends nothing on to either side.
fn neither(case: &Case<'_>, one: &Stopped, other: &Stopped) -> Option<Verdict> {
    let relay = one.relay?;
    let was_heard = one.was_heard || other.was_heard;
    let (from_ns, to_ns) = (one.from_ns.max(other.from_ns), one.to_ns.max(other.to_ns));
    let (kind, what) =
        if was_heard { ("audio-stopped", "Audio of both sides stops") } else { ("no-audio", "No audio") };
    let text = format!(
        "{what}: from {} to {} after the answer neither side heard the other. What both send reaches the relay {relay}, \
         which sends nothing on to either.",
        since_answer(case, from_ns),
        since_answer(case, to_ns)
    );
    verdict(kind, text, [&one.packets[..], &other.packets[..]].concat())
}

fn stopped(hearing: &Hearing<'_>) -> Option<Stopped> {
    let (case, listener, speaker) = (hearing.case, role(PARTIES[hearing.listener]), role(PARTIES[hearing.speaker()]));
    let last = hearing.windows.last()?;
    let silent_ns = hearing.silent_ns();
    let heard_ns = hearing.last_heard();
    if hearing.announces_silence() {
        return None;
    }
    let least = if hearing.suppresses() { STOPPED_SUPPRESSED_NS } else { STOPPED_MIN_NS };
    let from_ns = heard_ns.unwrap_or(last.from_ns).max(last.from_ns);
    if !hearing.lasts() || silent_ns < least || audio::why_not_captured(case, silent_ns).is_some() {
        return None;
    }
    // Where it goes to an address that the listener has left, nothing else has to be shown.
    if hearing.to_left().is_none() && !hearing.listener_goes_on(from_ns) {
        return None;
    }
    let gone = gone_to(hearing, from_ns);
    let goes_on = gone.is_some() || hearing.reaches_relay(from_ns);
    if !goes_on && hearing.server_waits(heard_ns) {
        return None;
    }
    let agreed = "By SDP both sides send and receive in that time.";
    let (from, until) = (since_answer(case, from_ns), since_answer(case, last.to_ns));
    let mut at_relay = None;
    let why = match (gone, heard_ns) {
        (Some(gone), _) => gone,
        (None, _) if last.relayed && heard_ns.is_none() && streams(case, hearing.speaker()).next().is_some() => {
            let [relay, to] = [last.speaker.endpoint?, last.listener.endpoint?];
            at_relay = Some(relay.address);
            format!(
                "The audio of the {speaker} reaches the relay, and {relay} sends nothing to {to}, where the {listener} \
                 asked for it."
            )
        }
        (None, Some(_)) if hearing.reaches_relay(from_ns) => {
            let [relay, to] = [last.speaker.endpoint?, last.listener.endpoint?];
            at_relay = Some(relay.address);
            format!(
                "The audio of the {speaker} goes on to reach the relay, and {relay} sends nothing more to {to}, where the \
                 {listener} asked for it."
            )
        }
        (None, _) if last.is_after_break() && heard_ns.is_none_or(|at| at < last.from_ns) => {
            let was = if last.begins == Begins::Fax { "a fax (T.38) until" } else { "held, and resumed at" };
            format!("The call was {was} {from}; the audio of the {speaker} did not come back. {agreed}")
        }
        (None, None) => format!("Nothing of the {speaker} came after the answer. {agreed}"),
        (None, Some(_)) => {
            let what = match hearing.sent_no_more(heard_ns) {
                Some(sent) => format!(
                    " The {speaker} reports (RTCP) that it sent {sent} packets, as many as came by: nothing was lost on \
                     the way."
                ),
                None if hearing.listener == 0 => " A voice mail that records may send nothing meanwhile.".to_owned(),
                None => String::new(),
            };
            format!("The audio of the {speaker} stops there, and that of the {listener} goes on. {agreed}{what}")
        }
    };
    let text = format!(
        "One-way audio: from {from} to {until} after the answer the {listener} did not hear the {speaker}. {why}"
    );
    Some(Stopped {
        text,
        packets: packets(case, hearing.speaker()),
        from_ns,
        to_ns: last.to_ns,
        was_heard: heard_ns.is_some(),
        relay: at_relay,
    })
}

/// What the speaker sends goes on to where the listener is not.
fn gone_to(hearing: &Hearing<'_>, from_ns: i64) -> Option<String> {
    let (listener, speaker) = (role(PARTIES[hearing.listener]), role(PARTIES[hearing.speaker()]));
    if let Some((stream, wanted)) = hearing.to_left() {
        let from = since_answer(hearing.case, from_ns);
        return Some(format!(
            "The {speaker} kept sending to {}, which the {listener} had left: since {from} it asks for audio at {wanted}.",
            stream.dst
        ));
    }
    if let Some(dropped) = hearing.to_dropped(from_ns) {
        return Some(format!(
            "The {speaker} kept sending to {}, and nothing of the {listener} comes from there any more: its audio comes \
             from {}, as if address translation gave it another port. Check whether the {speaker} follows where audio \
             comes from.",
            dropped.from, dropped.now
        ));
    }
    let relay = hearing.reaches_turn(from_ns)?;
    let more = if hearing.last_heard().is_some() { " more" } else { "" };
    Some(format!(
        "What the {speaker} sends goes on to reach {relay}, a relay of TURN, and nothing{more} of it comes to the \
         {listener} inside TURN. Check the permissions and channels of the relay, and the way from there to its client."
    ))
}

/// Both sides stop to be heard, and the call goes on.
pub fn audio_stopped(case: &Case<'_>) -> Option<Verdict> {
    let both = [Hearing::of(case, 0)?, Hearing::of(case, 1)?];
    let end_ns = case.call.end_ns?;
    if both.iter().all(Hearing::announces_silence) {
        return None;
    }
    let suppressed = both.iter().any(Hearing::suppresses);
    let least = if suppressed { 2 * STOPPED_SUPPRESSED_NS } else { BOTH_STOPPED_NS };
    let (mut from_ns, mut is_moved) = (i64::MIN, false);
    for hearing in &both {
        let (heard_ns, last) = (hearing.last_heard()?, hearing.windows.last()?);
        if !hearing.lasts() || hearing.silent_ns() < least {
            return None;
        }
        is_moved |= heard_ns < last.settled_ns();
        from_ns = from_ns.max(heard_ns);
    }
    let cause = ice::lost_way(case, from_ns);
    // Where the endpoints were changed since, the media may have left this tap.
    if is_moved && cause.is_none() {
        return None;
    }
    if audio::why_not_captured(case, end_ns - from_ns).is_some() {
        return None;
    }
    let (why, packet) = cause.unzip();
    let text = format!(
        "The audio of both sides stops {} after the answer, {} before the call is ended. {}",
        since_answer(case, from_ns),
        seconds(end_ns - from_ns),
        why.as_deref().unwrap_or("By SDP both sides send and receive in that time.")
    );
    let mut packets = [packets(case, 0), packets(case, 1)].concat();
    packets.extend(packet);
    verdict("audio-stopped", text, packets)
}

/// One side is heard late.
pub fn late_audio(case: &Case<'_>) -> Option<Verdict> {
    let late = |listener| {
        let hearing = Hearing::of(case, listener)?;
        let suppresses = hearing.suppresses();
        let (window, first_ns) = hearing.windows.iter().find_map(|window| {
            let least = match window.begins {
                _ if suppresses => LATE_SUPPRESSED_NS,
                Begins::Answer => LATE_MIN_NS,
                Begins::Resume | Begins::Fax => LATE_RESUMED_NS,
                Begins::Move => return None,
            };
            let first_ns = hearing.first_heard(window).filter(|first| first - window.from_ns >= least)?;
            // It may go on after the next change.
            let after = hearing.windows.iter().filter(|next| next.from_ns >= window.from_ns);
            let heard_ns: i64 = after.map(|window| hearing.heard_within(window)).sum();
            (heard_ns >= BEGUN_NS).then_some((window, first_ns))
        })?;
        let late_ns = first_ns - window.from_ns;
        if audio::why_not_captured(case, late_ns).is_some() {
            return None;
        }
        let speaker = role(PARTIES[hearing.speaker()]);
        let of = match window.begins {
            Begins::Resume => format!("the resume, {} after the answer", since_answer(case, window.from_ns)),
            Begins::Fax => format!("the end of the fax, {} after the answer", since_answer(case, window.from_ns)),
            _ => "the answer".to_owned(),
        };
        let text = format!(
            "Late audio: the first audio of the {speaker} came {} after {of}; until then the {} heard nothing.",
            seconds(late_ns),
            role(PARTIES[listener])
        );
        let mut packets = audio::sdp_packets(case);
        packets.extend(streams(case, hearing.speaker()).map(|(s, _)| s.packet_first));
        Some((late_ns, verdict("late-audio", text, packets)?))
    };
    (0..2).filter_map(late).max_by_key(|(late_ns, _)| *late_ns).map(|(_, verdict)| verdict)
}

/// Whether anything of a stream came after the answer: ringing tones and announcements before it are no talk.
pub fn is_heard_after(answer_ns: Option<i64>, direction: Direction, sound: &Sound) -> bool {
    // What was on its way when the call was answered, if there was something before.
    let rang = direction == Direction::Callee && answer_ns.is_some_and(|answer_ns| sound.first_ns < answer_ns);
    let on_its_way_ns = if rang { MOVING_NS } else { 0 };
    answer_ns.is_none_or(|answer_ns| sound.last_ns > answer_ns.saturating_add(on_its_way_ns))
}

#[cfg(test)]
mod tests;
