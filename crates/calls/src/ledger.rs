//! What the capture did to a call: lost at the tap, lost before it, or not seen from its beginning to its end.
//!
//! Three things tell that packets were lost at the tap and not on their way: a receiver that got them (RFC 3550 section
//! 6.4.1), losses of unrelated streams at the same moments ([`crate::tap`]), and the capturing side itself, which says
//! how many it dropped. None is counted twice: up to a receiver's last report that report alone decides; after it, and
//! for streams that nobody reports about, the greater of the other two. What the recorder could not keep was analysed
//! before: it takes nothing off the figures.

mod held;
mod kept;

use crate::lane::{Beside, Carrier, OverTcp};
use crate::signalling::Facts;
use crate::stream::{Gap, Scoring, Sound, Typed};
use crate::tap::{Blind, Kind};
use crate::verdict::counted;
use core::ops::RangeInclusive;
use trunkline_capture::CaptureLoss;
use trunkline_store::row::{Call, CallState, CaptureLedger, Direction, Message, MosRange, Stream};

pub use kept::{LANES_FROM, LOSSES_KEPT_MAX, Losses, file_of_lane, file_of_lanes, is_interface, lanes_of};

/// Sources that a sender says it receives, kept of one stream; further ones are not looked at.
pub const RECEIVED_MAX: usize = 4;
/// A range of scores that is wider helps nobody: the score is withheld.
pub const RANGE_MAX: f32 = 0.5;
/// A side of which fewer packets were captured was not captured.
const CAPTURED_MIN: u64 = 25;
/// A packet belongs to a report of drops if it is missing this near to the time of the report.
const NEAR_NS: i64 = 100_000_000;

/// What the codec of a fax over UDPTL is called in its row.
pub const FAX: &str = "T.38";

/// What tells where the missing packets of a stream were lost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Where packets are missing, by time.
    pub gaps: Vec<Gap>,
    /// When a receiver last reported.
    pub reported_ns: Option<i64>,
    /// When its sender last reported how much it had sent.
    pub counted_ns: Option<i64>,
    /// What its score would be with fewer losses.
    pub scoring: Scoring,
    /// What its sender says it receives.
    pub received: Vec<Received>,
    /// Its payload types.
    pub types: Vec<Typed>,
    /// When it carried something.
    pub sound: Sound,
    /// The input files of its first and last packet.
    pub files: (u32, u32),
    /// The lane of a live capture that carried it; none of files.
    pub lane: Option<u16>,
    /// Whether it was seen inside TURN.
    pub turn: InTurn,
    /// It came over TCP.
    pub tcp: Option<OverTcp>,
}

/// Where of TURN (RFC 8656) a stream was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InTurn {
    /// Outside of it.
    #[default]
    No,
    /// From a client to its relay.
    Up,
    /// From a relay to its client.
    Down,
}

/// What a sender says it receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The source that it reports about.
    pub ssrc: u32,
    /// The highest number it had received when it first reported.
    pub first: u32,
    /// Packets that it must have received, or lost, since.
    pub packets: u64,
}

/// What the capture did to a call, as far as verdicts want to know it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tap {
    /// How long the tap was blind while the parties could talk.
    pub blind_ns: i64,
    /// About how many packets the capturing side dropped in that time, by its own word, where it can have carried the
    /// call.
    pub dropped_in_talk: u64,
    /// Who sent what the capture does not hold, and how much of it the other one must have received.
    pub unseen: Option<(Direction, u64)>,
    /// Packets between the call's endpoints that are kept with another call, of the caller and of the callee.
    pub elsewhere: [u64; 2],
    /// Whether media of each party's network passes the tap at all.
    pub passes: [bool; 2],
    /// What was seen of its media beside streams.
    pub beside: Beside,
    /// How media goes from or to each party that is not known to be any call's.
    pub carried: [Option<Carrier>; 2],
    /// Whether several streams go to each party's network and none comes from it.
    pub one_sided: [bool; 2],
    /// Up to when more of the call would have been seen: until it was given up, or the input ended.
    pub until_ns: i64,
}

/// A call that is over, with what is to be laid against it.
pub struct Case<'a> {
    /// What signalling told besides.
    pub facts: &'a Facts,
    /// What is known of each of its streams, in their order.
    pub evidence: &'a [Evidence],
    /// The input files of its messages.
    pub files: &'a [u32],
    /// When it was over: what became known later is not looked at, so that it does not matter who knew it by then.
    pub deadline_ns: i64,
    /// The input ended while it was there.
    pub at_end: bool,
}

/// Draws up the ledger of a call that is otherwise complete: sets it, the streams' share and the scores' ranges.
pub fn ledger(call: &mut Call, case: &Case<'_>, losses: &Losses) -> Tap {
    if call.streams.is_empty() && losses.is_quiet() {
        let note = signalling_notes(call, case).join("; ");
        call.capture = CaptureLedger { complete: note.is_empty(), note, ..CaptureLedger::default() };
        return Tap::default();
    }
    let blind = Blinds::of(call, case, losses);
    let mut drops = drops(call, case, losses);
    let dropped = drops.iter().map(|d| d.packets).sum();
    let mut sums = Sums::default();
    // Where the tap may have been blind it is not known that nothing was sent.
    let answer_ns = call.answer_ns.filter(|_| blind.all.is_empty());
    for (stream, evidence) in call.streams.iter_mut().zip(case.evidence) {
        held::leave_out(stream, evidence, &case.facts.changes, answer_ns);
        sums.add(stream, evidence, &blind, &mut drops);
    }
    let tap = match talk(call) {
        Some(talk) => Tap {
            blind_ns: blind.overlap_ns(&talk).max(unheard_ns(case, losses, &talk)),
            dropped_in_talk: drops.iter().map(|d| d.within(&talk)).sum(),
            unseen: unseen(call, case),
            ..Tap::default()
        },
        None => Tap { unseen: unseen(call, case), ..Tap::default() },
    };
    let mut notes = sums.notes(&blind, dropped);
    notes.extend(tap.unseen.map(|(sender, packets)| unseen_note(sender, packets)));
    notes.extend(signalling_notes(call, case));
    let complete = notes.is_empty() && sums.at_tap == 0;
    rate(call, &mut notes);
    let not_recorded = losses.not_recorded(|l| can_have_carried(l, call, case) && overlaps(l, call));
    if not_recorded > 0 {
        notes.push(format!("{} of this lane were not recorded while the call was up", counted(not_recorded, "packet")));
    }
    call.capture = CaptureLedger {
        complete,
        lost_at_tap: sums.at_tap,
        lost_at_tap_least: sums.least,
        lost_before_tap: sums.missing - sums.at_tap,
        note: notes.join("; "),
        mos_range: call.capture.mos_range,
    };
    tap
}

/// A report of drops that can have hit a call, and what of it was not laid at a stream's door yet.
struct Drops {
    loss: CaptureLoss,
    packets: u64,
    left: u64,
}

impl Drops {
    /// Its part of a time, evenly spread.
    fn within(&self, time: &RangeInclusive<i64>) -> u64 {
        let (since, at) = (self.loss.since_ns, self.loss.at_ns);
        let common = i128::from(at.min(*time.end())) - i128::from(since.max(*time.start()));
        let length = i128::from(at) - i128::from(since);
        match () {
            () if common < 0 => 0,
            () if length <= 0 => self.packets,
            () => u64::try_from(i128::from(self.packets) * common / length).unwrap_or(0),
        }
    }
}

fn drops(call: &Call, case: &Case<'_>, losses: &Losses) -> Vec<Drops> {
    let hit = losses.of_capture().filter(|l| overlaps(l, call) && can_have_carried(l, call, case));
    hit.map(|l| Drops { loss: *l, packets: l.packets, left: l.packets }).collect()
}

fn overlaps(loss: &CaptureLoss, call: &Call) -> bool {
    loss.since_ns <= call.last_ns && loss.at_ns >= call.start_ns
}

/// Whether a lane or file that lost something can have carried a call. In a live capture, streams that were seen both
/// ways name their lanes, and no other can have carried them.
fn can_have_carried(loss: &CaptureLoss, call: &Call, case: &Case<'_>) -> bool {
    if case.evidence.iter().any(|e| e.lane.is_some()) || lanes_of(loss.file).is_some() {
        let sent = |d: Direction| call.streams.iter().any(|s| s.direction == d && s.packets >= CAPTURED_MIN);
        let both = sent(Direction::Caller) && sent(Direction::Callee);
        return !both || case.evidence.iter().any(|e| of_stream(loss, e));
    }
    let streams = case.evidence.iter().flat_map(|e| [e.files.0, e.files.1]);
    let files = case.files.iter().copied().chain(streams);
    span(files).is_none_or(|files| files.contains(&loss.file))
}

/// Whether a lane or file that lost something can have carried a stream. A capture that is written to one file after
/// the other carries it in all those from the first to the last.
fn of_stream(loss: &CaptureLoss, evidence: &Evidence) -> bool {
    match evidence.lane {
        Some(lane) => lanes_of(loss.file).is_some_and(|lanes| lanes.contains(&u32::from(lane))),
        None => span([evidence.files.0, evidence.files.1].into_iter()).is_some_and(|f| f.contains(&loss.file)),
    }
}

fn span(files: impl Iterator<Item = u32>) -> Option<RangeInclusive<u32>> {
    files
        .fold(None, |span: Option<(u32, u32)>, f| Some(span.map_or((f, f), |(a, b)| (a.min(f), b.max(f)))))
        .map(|(a, b)| a..=b)
}

/// When the tap was blind while a call was up: apart from each other, by time.
struct Blinds {
    holes: Vec<(i64, i64)>,
    all: Vec<(i64, i64)>,
}

impl Blinds {
    fn of(call: &Call, case: &Case<'_>, losses: &Losses) -> Self {
        let silent = held::silences(&case.facts.changes);
        let holds = held::holds(&case.facts.changes);
        // Where neither side is to send, nothing is missed; nor where one is not, and the other does not.
        let agreed = |b: &&Blind| {
            let fills = |span: &(i64, i64)| held::fills((b.since_ns, b.until_ns), *span);
            b.kind == Kind::Hole && (silent.iter().any(|span| held::covers(*span, b)) || holds.iter().any(fills))
        };
        let blind = losses.watch.blind(call.start_ns, call.last_ns, case.deadline_ns);
        let all: Vec<_> = blind.filter(|b| !agreed(b)).collect();
        if all.is_empty() {
            return Blinds { holes: Vec::new(), all: Vec::new() };
        }
        let holes = all.iter().filter(|b| b.kind == Kind::Hole).map(|b| (b.since_ns, b.until_ns));
        Blinds { holes: merged(holes.collect()), all: merged(all.iter().map(|b| (b.since_ns, b.until_ns)).collect()) }
    }

    fn overlap_ns(&self, talk: &RangeInclusive<i64>) -> i64 {
        let within = |(since, until): &(i64, i64)| (*until.min(talk.end()) - *since.max(talk.start())).max(0);
        self.all.iter().map(within).sum()
    }
}

fn merged(mut spans: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    spans.sort_unstable();
    let mut apart: Vec<(i64, i64)> = Vec::with_capacity(spans.len());
    for (since, until) in spans {
        match apart.last_mut().filter(|last| last.1 >= since) {
            Some(last) => last.1 = last.1.max(until),
            None => apart.push((since, until)),
        }
    }
    apart
}

/// What the streams of a call come to.
#[derive(Default)]
struct Sums {
    missing: u64,
    at_tap: u64,
    least: u64,
    by_receivers: u64,
    mirrored: u64,
    in_holes: u64,
    over_tcp: u64,
}

impl Sums {
    fn add(&mut self, stream: &mut Stream, evidence: &Evidence, blind: &Blinds, drops: &mut [Drops]) {
        let (reported, elsewhere) = (evidence.reported_ns.unwrap_or(i64::MIN), received_elsewhere(stream));
        // What a gap was that was not over when the receiver reported, its report does not tell.
        let after = || evidence.gaps.iter().filter(|g| g.to_ns > reported);
        let within = |spans: &[(i64, i64)]| after().map(|g| in_any(g, spans)).sum::<u64>();
        let (in_holes, in_all) = (within(&blind.holes), within(&blind.all));
        if let Some(tcp) = evidence.tcp {
            return self.add_tcp(stream, evidence, tcp);
        }
        let mut dropped = 0;
        for drop in drops.iter_mut().filter(|d| of_stream(&d.loss, evidence)) {
            let (since, until) = (drop.loss.since_ns.saturating_sub(NEAR_NS), drop.loss.at_ns.saturating_add(NEAR_NS));
            let used = after().map(|g| g.within(since, until)).sum::<u64>().min(drop.left);
            drop.left -= used;
            dropped += used;
        }
        let least = (elsewhere + in_all).min(stream.missing);
        let at_tap = (elsewhere + in_all.max(dropped)).min(stream.missing);
        stream.lost_at_tap = at_tap;
        stream.lost_at_tap_least = least;
        stream.mos_range = range(stream, evidence, at_tap);
        self.missing += stream.missing;
        self.at_tap += at_tap;
        self.least += least;
        self.by_receivers += elsewhere;
        self.in_holes += in_holes;
        self.mirrored += in_all - in_holes.min(in_all);
    }

    /// Of a connection the capture knows itself what it lacks.
    fn add_tcp(&mut self, stream: &mut Stream, evidence: &Evidence, tcp: OverTcp) {
        let at_tap = tcp.lost_at_tap.min(stream.missing);
        (stream.lost_at_tap, stream.lost_at_tap_least) = (at_tap, at_tap);
        stream.mos_range = range(stream, evidence, at_tap);
        self.missing += stream.missing;
        self.at_tap += at_tap;
        self.least += at_tap;
        self.over_tcp += at_tap;
    }

    fn notes(&self, blind: &Blinds, dropped: u64) -> Vec<String> {
        let mut notes = Vec::new();
        if self.over_tcp > 0 {
            let packets = counted(self.over_tcp, "packet");
            notes.push(format!("the capture does not hold all of a TCP connection with {packets} of the call"));
        }
        if dropped > 0 {
            notes.push(format!("the capturing side dropped {} while the call was up", counted(dropped, "packet")));
        }
        if self.by_receivers > 0 {
            let packets = counted(self.by_receivers, "packet");
            notes.push(format!("receivers got {packets} that the capture does not hold"));
        }
        if self.mirrored > 0 {
            let packets = counted(self.mirrored, "packet");
            notes.push(format!("{packets} went missing in the same moments as those of unrelated calls: an overflow"));
        }
        for (since, until) in &blind.holes {
            let length = (until - since) as f64 / 1e9;
            notes.push(format!("the capture saw nothing at all for {length:.1} s"));
        }
        if self.in_holes > 0 {
            notes.push(format!("{} of the call went missing then", counted(self.in_holes, "packet")));
        }
        notes
    }
}

fn in_any(gap: &Gap, spans: &[(i64, i64)]) -> u64 {
    spans.iter().map(|(since, until)| gap.within(*since, *until)).sum()
}

/// The score if all that may have been lost at the tap had come, above the score as counted.
fn range(stream: &Stream, evidence: &Evidence, at_tap: u64) -> Option<MosRange> {
    let low = stream.mos.g107.filter(|_| at_tap > 0)?;
    let runs = (evidence.gaps.len() as u64).saturating_mul(at_tap) / stream.missing.max(1);
    let high = evidence.scoring.without(at_tap, runs)?;
    Some(MosRange { low, high: high.max(low) })
}

/// The call's score: that of its worst stream, withheld where what the tap lost leaves it open.
fn rate(call: &mut Call, notes: &mut Vec<String>) {
    let least = |of: fn(&Stream) -> Option<f32>| call.streams.iter().filter_map(of).min_by(f32::total_cmp);
    call.mos = least(|s| s.mos.g107);
    call.capture.mos_range = None;
    if call.streams.iter().all(|s| s.mos_range.is_none()) {
        return;
    }
    let high = least(|s| s.mos_range.map(|r| r.high).or(s.mos.g107));
    let Some((low, high)) = call.mos.zip(high) else { return };
    call.capture.mos_range = Some(MosRange { low, high });
    if high - low > RANGE_MAX {
        call.mos = None;
        notes.push(format!("MOS withheld: from {low:.2} to {high:.2}, depending on what the capture lost"));
    }
}

/// The side that was not captured although the other one received it.
fn unseen(call: &Call, case: &Case<'_>) -> Option<(Direction, u64)> {
    let sent = |d: Direction| call.streams.iter().filter(|s| s.direction == d).map(|s| s.packets).sum::<u64>();
    let known = |ssrc: u32| call.streams.iter().any(|s| s.ssrc == ssrc);
    let told_by = |d: Direction| {
        let streams = call.streams.iter().zip(case.evidence).filter(move |(s, _)| s.direction == d);
        streams.flat_map(|(_, e)| &e.received).filter(|r| !known(r.ssrc)).map(|r| r.packets).max()
    };
    let ways = [(Direction::Caller, Direction::Callee), (Direction::Callee, Direction::Caller)];
    ways.into_iter().find_map(|(sender, receiver)| {
        let packets = told_by(receiver).filter(|_| sent(sender) < CAPTURED_MIN)?;
        Some((sender, packets))
    })
}

fn unseen_note(sender: Direction, packets: u64) -> String {
    let (sender, receiver) = match sender {
        Direction::Caller => ("caller", "callee"),
        _ => ("callee", "caller"),
    };
    let least = if packets > 0 { format!(", at least {}", counted(packets, "packet")) } else { String::new() };
    format!("the {receiver} reports that it received audio{least}, which was not captured: nothing of the {sender} was")
}

fn signalling_notes(call: &Call, case: &Case<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if case.facts.joined {
        notes.push("the capture joined the call in mid-call: its INVITE was not seen".to_owned());
        if !case.facts.sides_known {
            notes.push("which side called is not known".to_owned());
        }
    } else if !case.facts.invite_seen {
        notes.push("the capture begins after the INVITE".to_owned());
    } else if case.facts.one_direction {
        notes.push("the capture holds no response to the call's requests: one direction alone".to_owned());
    } else if case.facts.answer_unseen {
        notes.push("the answer to its INVITE was not captured".to_owned());
    }
    let cut = call.ladder.messages.iter().filter(|m| m.flags & Message::CUT != 0).count();
    if cut > 0 {
        notes.push(format!("the capture cut {} short", counted(cut as u64, "SIP message")));
    }
    if call.ladder.not_kept > 0 {
        notes.push(format!("{} counted but not kept", counted(call.ladder.not_kept.into(), "further message")));
    }
    notes.extend(unfinished(call, case.at_end).map(str::to_owned));
    notes
}

fn unfinished(call: &Call, at_end: bool) -> Option<&'static str> {
    match call.state {
        CallState::Answered if at_end => Some("the capture ends while the call is up"),
        CallState::Answered => Some("no BYE was seen"),
        CallState::Attempted | CallState::Trying | CallState::Ringing if at_end => {
            Some("the capture ends before the call is answered")
        }
        _ => None,
    }
}

/// How long nothing at all was heard although traffic was steady before, in a time in which one side at least was to
/// send; nanoseconds.
fn unheard_ns(case: &Case<'_>, losses: &Losses, talk: &RangeInclusive<i64>) -> i64 {
    let silent_ns = |from: i64, to: i64| losses.watch.silent_ns(from, to, case.deadline_ns);
    let all_ns = silent_ns(*talk.start(), *talk.end());
    if all_ns == 0 {
        return 0;
    }
    let within = |(from, to): (i64, i64)| (from.max(*talk.start()), to.min(*talk.end()));
    // A hold from whose beginning to whose end nobody sends explains itself.
    let is_quiet = |(from, to): &(i64, i64)| held::is_nearly((*from, *to), silent_ns(*from, *to));
    let holds = held::holds(&case.facts.changes).into_iter().map(within).filter(is_quiet);
    let silences = held::silences(&case.facts.changes).into_iter().map(within).filter(|(from, to)| from < to);
    let held = merged(silences.chain(holds).collect());
    all_ns - held.into_iter().map(|(from, to)| silent_ns(from, to)).sum::<i64>()
}

/// When the parties could talk.
fn talk(call: &Call) -> Option<RangeInclusive<i64>> {
    Some(call.answer_ns?..=call.end_ns.unwrap_or(call.last_ns))
}

/// Packets of the stream that its receiver got and the capture does not hold.
fn received_elsewhere(stream: &Stream) -> u64 {
    let Some((lost, missing)) = stream.rtcp.lost.zip(stream.rtcp.missing_here) else { return 0 };
    missing.saturating_sub(u64::try_from(lost).unwrap_or(0))
}

#[cfg(test)]
mod tests;
