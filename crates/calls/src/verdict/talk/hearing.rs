//! What one party heard of the other one, and why it heard no more.

use super::{BEGUN_NS, Begins, GOES_ON_NS, MOVING_NS, SENT_NEAR, SENT_ROOM, STOPPED_MIN_NS};
use super::{Case, Window, Windows, end_ns, known, streams};
use crate::ledger::{Evidence, InTurn};
use crate::limits::STREAMS_PER_CALL_MAX;
use crate::signalling::is_media_server;
use crate::stream::Sound;
use crate::verdict::audio::{self, HEARD_MIN, PARTIES};
use crate::verdict::carried;
use smallvec::SmallVec;
use trunkline_store::row::Stream;
use trunkline_wire::Endpoint;

/// A listener with all that is known of what it was to hear.
pub(super) struct Hearing<'a> {
    pub(super) case: &'a Case<'a>,
    pub(super) listener: usize,
    pub(super) windows: Windows,
    /// Relays of TURN of which the listener is a client that this tap sees: what is sent to one of them is heard where
    /// it comes out of it.
    relays: SmallVec<[Endpoint; 1]>,
    /// Where the listener's audio came from before a translator gave it another port.
    dropped: SmallVec<[Dropped; 1]>,
}

/// A port of a translator that the listener's audio does not come from any more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dropped {
    /// That port.
    pub(super) from: Endpoint,
    /// Where the listener's audio goes.
    to: Endpoint,
    /// Since when, nanoseconds since 1970.
    since_ns: i64,
    /// Where it comes from since.
    pub(super) now: Endpoint,
}

impl<'a> Hearing<'a> {
    /// None where too little is known to say when something was heard.
    pub(super) fn of(case: &'a Case<'a>, listener: usize) -> Option<Self> {
        let (tap, speaker) = (case.tap, 1 - listener);
        let whole = case.evidence.len() == case.call.streams.len() && case.call.streams.len() < STREAMS_PER_CALL_MAX;
        let is_elsewhere =
            tap.elsewhere[speaker] > 0 || tap.one_sided[speaker] || carried::stray(case, speaker).is_some();
        // Of nothing at all no rule says when it was heard.
        if !case.media_seen || !whole || is_elsewhere || audio::is_bare(case) {
            return None;
        }
        let mut windows = super::windows(case, listener)?;
        for window in &mut windows {
            let settled_ns = window.settled_ns();
            // Who still sends from there listens there.
            let stays = |left: &Endpoint| {
                streams(case, listener).any(|(s, sound)| s.src == *left && sound.last_ns > settled_ns)
            };
            window.left.retain(|left| !stays(left));
        }
        let ice = windows.iter().any(|window| window.listener.ice);
        let dropped = if ice { SmallVec::new() } else { dropped(case, listener) };
        Some(Hearing { case, listener, windows, relays: relays(case, listener), dropped })
    }

    /// Streams of the speaker that come to where the listener hears them in a window, each with the time up to which it
    /// does.
    fn arriving<'b>(&'b self, window: &'b Window) -> impl Iterator<Item = (&'b Sound, i64)> {
        let arrives = |(s, e): &(&Stream, &Evidence)| window.arrives(s) && !self.ends_at_relay(s, e);
        known(self.case, self.speaker()).filter(arrives).map(|(s, e)| {
            let dropped = self.dropped.iter().find(|dropped| dropped.is_target_of(s));
            (&e.sound, dropped.map_or(window.to_ns, |dropped| dropped.since_ns.min(window.to_ns)))
        })
    }

    /// A stream of the speaker reaches a relay of TURN, and what the listener hears comes out of one.
    fn ends_at_relay(&self, stream: &Stream, evidence: &Evidence) -> bool {
        !self.relays.is_empty()
            && match evidence.turn {
                InTurn::No => self.relays.contains(&stream.dst),
                InTurn::Up => true,
                InTurn::Down => false,
            }
    }

    /// How much of the speaker arrives in a window, nanoseconds.
    pub(super) fn heard_within(&self, window: &Window) -> i64 {
        self.arriving(window).map(|(sound, to_ns)| sound.within(window.from_ns, to_ns)).sum()
    }

    pub(super) fn speaker(&self) -> usize {
        1 - self.listener
    }

    /// When the speaker was last heard.
    pub(super) fn last_heard(&self) -> Option<i64> {
        let last = |w: &Window| self.arriving(w).filter_map(|(sound, to_ns)| sound.last_within(w.from_ns, to_ns)).max();
        self.windows.iter().filter_map(last).max()
    }

    /// When the speaker was first heard in a window, if that was not at its beginning.
    pub(super) fn first_heard(&self, window: &Window) -> Option<i64> {
        // The end of a ringing tone may come after the answer.
        let from_ns = window.from_ns.saturating_add(MOVING_NS).min(window.to_ns);
        let first = self.arriving(window).filter_map(|(sound, to_ns)| sound.first_within(from_ns, to_ns)).min();
        first.filter(|first| *first > from_ns)
    }

    /// For how long the speaker was not heard up to the end, though it should have been.
    pub(super) fn silent_ns(&self) -> i64 {
        let last = self.last_heard().unwrap_or(i64::MIN);
        self.windows.iter().map(|w| (w.to_ns - w.from_ns.max(last)).max(0)).sum()
    }

    /// The speaker sends nothing while nobody speaks: comfort noise shows it, or a pause after which it goes on.
    pub(super) fn suppresses(&self) -> bool {
        // A ringing tone that ends when the call is answered is no pause of the talk.
        let within = |(from, to): &(i64, i64)| {
            self.windows.iter().any(|w| w.from_ns.saturating_add(MOVING_NS) <= *from && *to <= w.to_ns)
        };
        streams(self.case, self.speaker()).any(|(stream, sound)| {
            stream.comfort_noise > 0 || sound.pauses_not_kept > 0 || sound.pauses.iter().any(within)
        })
    }

    /// The last that the speaker sent says that silence follows (RFC 3389 section 4, G.729 annex B): then nothing is
    /// sent until somebody speaks, however long that takes.
    pub(super) fn announces_silence(&self) -> bool {
        let last = streams(self.case, self.speaker()).max_by_key(|(_, sound)| sound.last_ns);
        last.is_some_and(|(_, sound)| sound.ends_quiet)
    }

    /// The speaker is a server that was heard in its turn and sends no more than came by: it records, or waits for
    /// digits or for somebody to speak.
    pub(super) fn server_waits(&self, heard_ns: Option<i64>) -> bool {
        let Some(last) = self.windows.last() else { return false };
        let is_heard = heard_ns.is_some_and(|at| at >= last.from_ns.saturating_add(BEGUN_NS));
        let mut own = streams(self.case, self.speaker());
        let sent_more = |s: &Stream| s.rtcp.sent.is_some_and(|sent| u64::from(sent) > s.expected + SENT_ROOM);
        let is_server = || match self.speaker() {
            0 => is_media_server(self.case.call.user_agent.as_bytes()),
            _ => self.case.facts.server,
        };
        is_heard && is_server() && !own.any(|(s, _)| sent_more(s))
    }

    /// The speaker's own reports say that it sent no more than came by.
    pub(super) fn sent_no_more(&self, heard_ns: Option<i64>) -> Option<u32> {
        let heard_ns = heard_ns?;
        let mut all = self.case.call.streams.iter().zip(self.case.evidence);
        let (stream, evidence) =
            all.find(|(s, e)| s.direction == PARTIES[self.speaker()] && e.sound.last_ns == heard_ns)?;
        let since = evidence.counted_ns.filter(|at| *at > heard_ns.saturating_add(BEGUN_NS));
        let sent = since.and(stream.rtcp.sent);
        sent.filter(|sent| u64::from(*sent).abs_diff(stream.expected) <= SENT_NEAR)
    }

    /// The listener itself was heard on its hop, from this time up to the end.
    pub(super) fn listener_goes_on(&self, from_ns: i64) -> bool {
        let Some(last) = self.windows.last() else { return false };
        let beside = streams(self.case, self.listener).filter(|(s, _)| last.is_beside(s));
        let mut until = beside.filter_map(|(_, sound)| sound.last_within(from_ns, last.to_ns));
        until.any(|at| at >= last.to_ns - GOES_ON_NS)
    }

    /// What the speaker sends goes on after this time on another hop, and a relay is between.
    pub(super) fn reaches_relay(&self, from_ns: i64) -> bool {
        let Some(last) = self.windows.last().filter(|last| last.relayed) else { return false };
        let mut others = streams(self.case, self.speaker()).filter(|(s, _)| !last.arrives(s));
        others.any(|(_, sound)| sound.last_ns >= from_ns.saturating_add(STOPPED_MIN_NS))
    }

    /// The last window goes on to the end of the call: it did not end held.
    pub(super) fn lasts(&self) -> bool {
        self.windows.last().is_some_and(|w| w.to_ns >= end_ns(self.case))
    }

    /// Streams of the speaker that go where the listener wanted audio before.
    pub(super) fn to_left(&self) -> Option<(&'a Stream, Endpoint)> {
        // What the answer says may differ from what was said before it.
        let moves = |w: &&Window| matches!(w.begins, Begins::Move | Begins::Answer) && !w.listener.ice;
        let last = self.windows.last().filter(moves)?;
        let gone = |(s, sound): &(&Stream, &Sound)| last.left.contains(&s.dst) && sound.last_ns > last.settled_ns();
        let (stream, _) = streams(self.case, self.speaker()).filter(gone).max_by_key(|(_, sound)| sound.last_ns)?;
        Some((stream, last.listener.endpoint?))
    }

    /// Where what the speaker sends goes on to reach a relay of TURN after this time, and not the listener.
    pub(super) fn reaches_turn(&self, from_ns: i64) -> Option<Endpoint> {
        let mut to_relay = known(self.case, self.speaker())
            .filter(|(s, e)| self.ends_at_relay(s, e))
            .filter(|(_, e)| e.sound.last_ns >= from_ns.saturating_add(STOPPED_MIN_NS));
        to_relay.next().map(|(s, _)| s.dst)
    }

    /// What the speaker sends goes on after this time to a port that a translator does not give to the listener any
    /// more.
    pub(super) fn to_dropped(&self, from_ns: i64) -> Option<Dropped> {
        let goes_on = |dropped: &&Dropped| {
            let mut to_it = streams(self.case, self.speaker()).filter(|(s, _)| dropped.is_target_of(s));
            to_it.any(|(_, sound)| sound.last_ns >= from_ns.max(dropped.since_ns).saturating_add(STOPPED_MIN_NS))
        };
        self.dropped.iter().rev().find(goes_on).copied()
    }
}

impl Dropped {
    fn is_target_of(&self, stream: &Stream) -> bool {
        (stream.src, stream.dst) == (self.to, self.from)
    }
}

/// Relays of TURN through which a party sends, where that is seen on its way to them: their addresses as the allocation
/// tells them, or as its audio comes out of them. Where neither was seen, the party's own address stands for them.
fn relays(case: &Case<'_>, party: usize) -> SmallVec<[Endpoint; 1]> {
    let sent = |turn| known(case, party).filter(move |(s, e)| e.turn == turn && s.packets >= HEARD_MIN);
    let is_sent_on = |ssrc| sent(InTurn::Up).any(|(s, _)| s.ssrc == ssrc);
    let sent_on = sent(InTurn::No).filter(|(s, _)| is_sent_on(s.ssrc));
    sent(InTurn::Up).chain(sent_on).map(|(s, _)| s.src).collect()
}

/// Ports that a party's audio came from, and which no description of it names: its stream goes on from another one, to
/// where it went before. A translator that gives a socket another port for the same destination has dropped the old one
/// (RFC 4787 section 4.3).
fn dropped(case: &Case<'_>, party: usize) -> SmallVec<[Dropped; 1]> {
    let mut dropped = SmallVec::new();
    if case.call.streams.len() < 2 {
        return dropped;
    }
    let is_named = |end| case.facts.changes.iter().any(|change| change.parties[party].endpoint == Some(end));
    let outside = |(s, e): &(&Stream, &Evidence)| e.turn == InTurn::No && s.packets >= HEARD_MIN;
    for (old, before) in known(case, party).filter(outside).filter(|(s, _)| !is_named(s.src)) {
        let follows = |(new, after): &(&Stream, &Evidence)| {
            (new.ssrc, new.dst) == (old.ssrc, old.dst)
                && new.src != old.src
                && after.sound.first_ns >= before.sound.last_ns.saturating_sub(MOVING_NS)
        };
        let next = known(case, party).filter(outside).filter(follows).min_by_key(|(_, after)| after.sound.first_ns);
        dropped.extend(next.map(|(new, after)| Dropped {
            from: old.src,
            to: old.dst,
            since_ns: after.sound.first_ns,
            now: new.src,
        }));
    }
    dropped
}
