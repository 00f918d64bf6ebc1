//! Closed calls and finished streams become rows, in an order that depends on the input alone.

use crate::clock::Timeline;
use crate::job::Sink;
use crate::lane::{Beside, Finished, LaneOutput, Shared};
use crate::ledger::{Evidence, Losses, Tap, file_of_lane};
use crate::limits::{LINGER_NS, ROWS_PER_HANDOVER, SECOND_NS, STREAMS_PER_CALL_MAX};
use crate::media::Serial;
use crate::seen::Seen;
use crate::signalling::{Closed, Output};
use crate::tap::{Heard, Hit, TapCounters};
use crate::unread::Unread;
use crate::{ledger, verdict};
use hashbrown::HashMap;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;
use trunkline_capture::CaptureLoss;
use trunkline_lane::DecodeCounters;
use trunkline_lane::clock::{Kind, Leap};
use trunkline_store::row::{Call, CallState, Direction, Hangup, Loss, Rows, SharedStream, Stream};
use trunkline_wire::Address;

/// All that a batch led to.
pub struct Joined<'a> {
    /// From signalling.
    pub output: Output,
    /// From each lane.
    pub lanes: Vec<LaneOutput>,
    /// What the capturing side said it lost.
    pub losses: &'a [CaptureLoss],
    /// The latest time of the input up to here.
    pub now_ns: i64,
    /// Whether the input ends here.
    pub last: bool,
}

/// What input files are called, by their number.
pub trait Names: Send + Sync {
    /// The name of a file; empty for one that is not known.
    fn name(&self, file: u32) -> String;
}

impl Names for Vec<String> {
    fn name(&self, file: u32) -> String {
        self.get(file as usize).cloned().unwrap_or_default()
    }
}

/// A loss as the store keeps it.
pub fn lost_row(loss: &CaptureLoss, names: &dyn Names) -> Loss {
    Loss {
        since_ns: loss.since_ns,
        at_ns: loss.at_ns,
        place: loss.place.name().to_owned(),
        source: names.name(loss.file),
        count: loss.packets,
    }
}

/// Brings calls and their streams together.
pub struct Joiner<'a> {
    /// Streams of calls that are still up.
    pending: HashMap<Serial, Vec<Finished>>,
    rows: Rows,
    gathered: usize,
    names: Arc<dyn Names>,
    sink: &'a mut dyn Sink,
    losses: Losses,
    seen: Seen,
    timeline: Timeline,
    /// Packets of streams that belong to calls beside the one that has them, of the caller and of the callee.
    shared: HashMap<Serial, Elsewhere>,
    /// What else lanes tell of calls.
    beside: HashMap<Serial, Beside>,
    /// What decoding counted in the batches joined so far.
    pub counters: DecodeCounters,
    /// Calls so far.
    pub calls: u64,
    /// Registrations so far.
    pub registrations: u64,
    /// Other transactions so far.
    pub events: u64,
    /// Streams so far.
    pub streams: u64,
    /// Packets that the capturing side lost.
    pub capture_lost: u64,
    /// What was seen so far and is not analysed.
    pub unread: Unread,
}

impl<'a> Joiner<'a> {
    /// A joiner for files of these names.
    pub fn new(names: Arc<dyn Names>, sink: &'a mut dyn Sink) -> Self {
        Joiner {
            pending: HashMap::new(),
            rows: Rows::default(),
            gathered: 0,
            names,
            sink,
            losses: Losses::default(),
            seen: Seen::default(),
            timeline: Timeline::default(),
            shared: HashMap::new(),
            beside: HashMap::new(),
            counters: DecodeCounters::default(),
            calls: 0,
            registrations: 0,
            events: 0,
            streams: 0,
            capture_lost: 0,
            unread: Unread::default(),
        }
    }

    /// Takes what was seen in a batch and is not analysed.
    pub(crate) fn unread(&mut self, unread: &Unread) {
        self.unread.add(unread);
    }

    /// Takes what a batch led to.
    ///
    /// # Errors
    /// What the sink said when it refused rows.
    pub fn join(&mut self, joined: Joined<'_>) -> Result<(), String> {
        self.timeline.learn(&joined.output.leaps);
        self.losses(joined.losses);
        let now_ns = if joined.last { i64::MAX } else { joined.now_ns };
        self.take_lanes(joined.lanes, now_ns);
        if self.rows.calls.capacity() == 0 && !joined.output.closed.is_empty() {
            self.rows.calls.reserve_exact(joined.output.closed.len() + ROWS_PER_HANDOVER);
        }
        for mut closed in joined.output.closed {
            self.assemble(&mut closed, joined.last.then_some(joined.now_ns));
            if !self.timeline.leaps().is_empty() {
                self.tell_clock(&mut closed.call);
            }
            self.rows.calls.push(closed.call);
            self.calls += 1;
            self.gathered += 1;
        }
        self.registrations += joined.output.registrations.len() as u64;
        self.events += joined.output.events.len() as u64;
        self.gathered += joined.output.registrations.len() + joined.output.events.len();
        let Output { mut registrations, mut events, .. } = joined.output;
        if !self.timeline.leaps().is_empty() {
            registrations.iter_mut().for_each(|r| self.timeline.registration(r));
            events.iter_mut().for_each(|e| self.timeline.event(e));
        }
        self.rows.registrations.append(&mut registrations);
        self.rows.events.append(&mut events);
        if self.gathered >= ROWS_PER_HANDOVER || joined.last {
            return self.flush();
        }
        Ok(())
    }

    /// Hands over the rows that were gathered, though they are few.
    ///
    /// # Errors
    /// What the sink said when it refused rows.
    pub fn flush(&mut self) -> Result<(), String> {
        self.gathered = 0;
        self.sink.rows(core::mem::take(&mut self.rows))
    }

    fn losses(&mut self, losses: &[CaptureLoss]) {
        for loss in losses {
            self.capture_lost += loss.packets;
            let steady_ns = |at_ns| self.timeline.steady_ns(at_ns);
            let (since_ns, at_ns) = (steady_ns(loss.since_ns), steady_ns(loss.at_ns));
            self.losses.keep(CaptureLoss { since_ns, at_ns, ..*loss });
            self.rows.losses.push(lost_row(loss, self.names.as_ref()));
        }
    }

    fn take_lanes(&mut self, lanes: Vec<LaneOutput>, now_ns: i64) {
        let (intervals, streams) = (self.rows.intervals.len(), self.rows.streams.len());
        let (mut heard, mut hits): (Vec<Heard>, Vec<Hit>) = (Vec::new(), Vec::new());
        for lane in lanes {
            self.rows.intervals.extend(lane.intervals);
            lane.begun.iter().for_each(|begun| self.seen.take(begun));
            lane.carried.iter().for_each(|carried| self.seen.take_carried(carried));
            for mut shared in lane.shared {
                shared.finished.evidence.lane = lane.lane;
                self.shared.entry(shared.serial).or_default().add(shared);
            }
            for (serial, beside) in lane.beside {
                self.beside.entry(serial).or_default().add(beside);
            }
            heard.extend(lane.heard);
            let source = lane.lane.map(file_of_lane);
            hits.extend(lane.hits.into_iter().map(|h| Hit { source: source.unwrap_or(h.source), ..h }));
            for mut finished in lane.streams {
                finished.evidence.lane = lane.lane;
                self.streams += 1;
                match finished.serial {
                    Some(serial) => self.pending.entry(serial).or_default().push(finished),
                    None => self.rows.streams.push(finished.stream),
                }
            }
        }
        // Lanes hand over in any number and order: the rows' order must not show it.
        self.rows.intervals[intervals..].sort_unstable_by_key(|i| (i.start_ns, i.stream, i.index));
        self.rows.streams[streams..].sort_unstable_by_key(|s| (s.first_ns, s.id));
        if !self.timeline.leaps().is_empty() {
            self.rows.intervals[intervals..].iter_mut().for_each(|i| self.timeline.interval(i));
            self.rows.streams[streams..].iter_mut().for_each(|s| self.timeline.stream(s));
        }
        self.gathered += self.rows.intervals.len() - intervals + self.rows.streams.len() - streams;
        self.losses.watch.take(&heard, hits, now_ns);
        for lost in self.losses.watch.poll() {
            let mut row = Loss {
                since_ns: lost.since_ns,
                at_ns: lost.at_ns,
                place: lost.kind.name().to_owned(),
                source: lost.source.map(|file| self.names.name(file)).unwrap_or_default(),
                count: lost.packets,
            };
            self.timeline.loss(&mut row);
            self.rows.losses.push(row);
        }
    }

    /// Says in a call what the clock did meanwhile, and gives it the clock's time. Across a place where parts are
    /// missing or in another order nothing is anybody's fault.
    #[cold]
    fn tell_clock(&self, call: &mut Call) {
        let (start_ns, last_ns) = (call.start_ns, call.last_ns);
        if self.timeline.within(start_ns, last_ns).any(|leap| leap.kind != Kind::Set) {
            (call.verdict, call.capture.complete) = (None, false);
        }
        for note in self.timeline.notes(start_ns, last_ns) {
            let between = if call.capture.note.is_empty() { "" } else { "; " };
            call.capture.note.push_str(between);
            call.capture.note.push_str(&note);
        }
        self.timeline.call(call);
    }

    /// Where the capture's clock was set, or its parts are in the wrong order, as far as that is kept.
    pub fn leaps(&self) -> &[Leap] {
        self.timeline.leaps()
    }

    /// What the watch over the tap counted.
    pub fn tap(&self) -> TapCounters {
        TapCounters { networks_overflow: self.seen.overflow, ..self.losses.watch.counters }
    }

    fn assemble(&mut self, closed: &mut Closed, ended_ns: Option<i64>) {
        let Closed { serial, deadline_ns, call, facts, files } = closed;
        let mut evidence: Vec<Evidence> = Vec::new();
        if let Some(mut finished) = taken(&mut self.pending, serial) {
            finished.sort_unstable_by_key(|f| (f.stream.first_ns, f.stream.id));
            for mut finished in finished {
                evidence.push(core::mem::take(&mut finished.evidence));
                call.streams.push(place(finished, files));
            }
        }
        for stream in &call.streams {
            call.last_ns = call.last_ns.max(stream.last_ns);
        }
        if let Some(released) = facts.released {
            end_with(call, released, ended_ns);
        }
        call.files = files.iter().map(|f| self.names.name(*f)).collect();
        let at_end = ended_ns.is_some();
        let case = ledger::Case { facts, evidence: &evidence, files, deadline_ns: *deadline_ns, at_end };
        let mut tap = ledger::ledger(call, &case, &self.losses);
        tap.until_ns = ended_ns.map_or(*deadline_ns, |ended_ns| ended_ns.min(*deadline_ns));
        let elsewhere = taken(&mut self.shared, serial).unwrap_or_default();
        tap.elsewhere = elsewhere.packets;
        if let Some(beside) = taken(&mut self.beside, serial) {
            tap.beside = beside;
        }
        // What became known later is not looked at, so that it does not matter who knew it by then.
        let media_seen = self.seen.any(*deadline_ns);
        for (party, media) in facts.parties.iter().enumerate() {
            let addresses = media.endpoint.map(|e| [e.address, media.signalled_from]);
            let of = |is: fn(&Seen, Address, i64) -> bool| {
                addresses.is_some_and(|all| all.iter().any(|address| is(&self.seen, *address, *deadline_ns)))
            };
            (tap.passes[party], tap.one_sided[party]) = (of(Seen::passes), of(Seen::is_one_sided));
            tap.carried[party] = addresses.and_then(|all| self.seen.carrier(&all, *deadline_ns));
        }
        let judged = verdict::judge(&verdict::Case { call, facts, evidence: &evidence, media_seen, tap: &tap });
        let whole = elsewhere.whole(call, evidence);
        call.shared = elsewhere.named();
        let judged_whole = whole.and_then(|(mut call, evidence)| {
            let case = ledger::Case { evidence: &evidence, facts, files, deadline_ns: *deadline_ns, at_end };
            let Tap { blind_ns, dropped_in_talk, unseen, .. } = ledger::ledger(&mut call, &case, &self.losses);
            let tap = Tap { elsewhere: [0; 2], blind_ns, dropped_in_talk, unseen, ..tap };
            verdict::judge_media(&verdict::Case { call: &call, facts, evidence: &evidence, media_seen, tap: &tap })
        });
        call.verdict = verdict::first_of(judged, judged_whole);
    }
}

/// Nothing goes on behind so long a silence.
const GOES_ON_NS: i64 = 2 * SECOND_NS;
/// Who hangs up one of several targets at once does so sooner.
const RELEASED_NS: i64 = 3 * SECOND_NS;

/// Of several targets that accepted, the one who took the call was hung up, and no BYE to the other was seen. If
/// nothing was heard since, that was the end of the call.
#[cold]
fn end_with(call: &mut Call, (at_ns, hangup): (i64, Hangup), ended_ns: Option<i64>) {
    let is_late = call.answer_ns.is_some_and(|answer_ns| at_ns.saturating_sub(answer_ns) >= RELEASED_NS);
    let over_ns = at_ns.saturating_add(GOES_ON_NS);
    let was_seen = ended_ns.is_none_or(|ended_ns| ended_ns >= over_ns);
    let last_ns = call.streams.iter().map(|stream| stream.last_ns).max();
    let is_over = last_ns.is_some_and(|last_ns| last_ns < over_ns);
    let is_silent = call.ladder.messages.iter().all(|m| m.at_ns < over_ns.saturating_add(LINGER_NS));
    if call.state == CallState::Answered && is_late && was_seen && is_over && is_silent {
        (call.state, call.end_ns, call.hangup) = (CallState::Completed, Some(at_ns), hangup);
    }
}

/// What a map has of a call. Where nothing is told of any call, nothing has to be sought.
fn taken<T>(of: &mut HashMap<Serial, T>, serial: &Serial) -> Option<T> {
    if of.is_empty() { None } else { of.remove(serial) }
}

/// What of a call is kept with others.
#[derive(Debug, Default)]
struct Elsewhere {
    /// Packets of the caller and of the callee.
    packets: [u64; 2],
    streams: BTreeMap<SharedStream, Finished>,
    /// There were more than are kept.
    overflow: bool,
}

impl Elsewhere {
    fn add(&mut self, shared: Shared) {
        let Shared { sender, call, finished, .. } = shared;
        self.packets[usize::from(sender == Direction::Callee)] += finished.stream.packets;
        self.streams.insert(SharedStream { call, stream: finished.stream.id, sender }, *finished);
        // Which are left out does not depend on who tells first.
        if self.streams.len() > STREAMS_PER_CALL_MAX {
            self.streams.pop_last();
            self.overflow = true;
        }
    }

    fn named(self) -> Vec<SharedStream> {
        self.streams.into_keys().collect()
    }

    /// The call as if it had them itself, as far as they concern it; none where others keep nothing, or too much.
    fn whole(&self, call: &Call, mut evidence: Vec<Evidence>) -> Option<(Call, Vec<Evidence>)> {
        if self.streams.is_empty() || self.overflow || evidence.len() + self.streams.len() > STREAMS_PER_CALL_MAX {
            return None;
        }
        let mut call = call.clone();
        let mut shared: Vec<_> = self.streams.iter().collect();
        shared.sort_unstable_by_key(|(of, finished)| (finished.stream.first_ns, of.stream));
        for (of, finished) in shared {
            evidence.push(finished.evidence.clone());
            call.streams.push(Stream { direction: of.sender, ..finished.stream.clone() });
        }
        Some((call, evidence))
    }
}

/// Sets the stream's file by the call's own list of files.
fn place(finished: Finished, files: &mut SmallVec<[u32; 2]>) -> Stream {
    let at = files.iter().position(|f| *f == finished.file).unwrap_or_else(|| {
        files.push(finished.file);
        files.len() - 1
    });
    Stream { file: at as u16, ..finished.stream }
}
