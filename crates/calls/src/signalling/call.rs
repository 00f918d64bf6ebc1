//! One call: what its messages told so far.

use super::beginning::Beginning;
use super::beside::Asides;
use super::dialogs::{Dialogs, Numbered};
use super::facts::{Answered, Facts};
use super::identity::Numbers;
use super::invites::{Invite, Invites, Pending};
use super::negotiation::Negotiation;
use super::remark::Remark;
use super::talk::Talk;
use super::told::Told;
use super::up::CallUp;
use super::{Closed, Incoming, push_lossy, usual};
use crate::limits::{
    ANSWERED_SILENCE_NS, COPY_NS, HOSTS_PER_CALL_MAX, LINGER_NS, MESSAGES_PER_CALL_MAX, SETTLED_NS, SETUP_SILENCE_NS,
    TEXTS_PER_CALL_MAX,
};
use crate::media::Serial;
use core::ops::Range;
use smallvec::SmallVec;
use trunkline_kit::Id;
use trunkline_store::row::{self, CallState, Direction, Hangup};
use trunkline_wire::Endpoint;
use trunkline_wire::sip::{Header, Message, Method, StartLine};

mod ladder;
mod messages;
mod reason;
mod texts;
mod warm;

use messages::Messages;
pub use reason::Reason;
use texts::Texts;

/// Octets of remarks that a usual call has: two SDP bodies in brief and some reason phrases.
const TEXTS_USUAL: usize = 256;
/// Octets of names that a usual call has.
const NAMES_USUAL: usize = 256;

/// Messages that are looked at to find one that is repeated.
const EARLIER_LOOKED_AT: usize = 64;

/// What a call's first message says of the parties, in one text: Call-ID, URI and number of From and of To, and
/// User-Agent or Server, one behind the other.
#[derive(Debug, Default)]
struct Names {
    text: Texts<NAMES_USUAL>,
    /// Where each but the last ends.
    ends: [u32; 5],
}

impl Names {
    /// Reads them, by way of `text`.
    fn read(&mut self, call_id: &[u8], message: &Message<'_>, text: &mut String) {
        text.clear();
        push_lossy(text, call_id);
        self.ends[0] = text.len() as u32;
        for (party, header) in [Header::From, Header::To].into_iter().enumerate() {
            let user = usual::push_uri_and_user(text, message.header(header).unwrap_or_default());
            self.ends[2 * party + 1] = user as u32;
            self.ends[2 * party + 2] = text.len() as u32;
        }
        push_lossy(text, message.user_agent().unwrap_or_default());
        self.text.clear();
        self.text.push(text);
    }

    /// Where the name of this number lies.
    fn place(&self, number: usize) -> Range<usize> {
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        let end = self.ends.get(number).map_or(self.text.octets(), |end| *end as usize);
        begin..end
    }

    /// The octets of the name of this number.
    fn octets(&self, number: usize) -> &[u8] {
        self.text.as_bytes().get(self.place(number)).unwrap_or_default()
    }

    /// The names of these numbers.
    fn get<const N: usize>(&self, numbers: [usize; N]) -> [&str; N] {
        let text = self.text.as_str();
        numbers.map(|number| text.get(self.place(number)).unwrap_or_default())
    }
}

/// A call in progress. What each message needs comes last and in one piece, so that it shares few lines of the cache
/// and those that lie side by side; before it what INVITEs need until one is accepted, then what SDP needs, and first
/// what only its beginning and its end need.
///
/// What a usual call gathers, names, messages and texts, lies in it, too: a piece of memory of its own would be another
/// page of the memory, and of some ten thousand calls the processor does not know where all pages are.
///
/// Its memory outlives it: of some ten thousand calls that are up, each is far from any cache, and the next call had
/// better take the memory of one that has just ended ([`Call::begin`], [`Call::close`]).
#[derive(Debug, Default)]
#[repr(C)]
pub struct Call {
    names: Names,
    /// Numbers beside those of From and To.
    numbers: Numbers,
    /// What is kept of targets that accepted beside the one who takes the call.
    pub(super) asides: Asides,
    start_ns: i64,
    dst: Endpoint,
    /// Its identifier.
    pub id: Id,
    /// Endpoints that were announced, by whom and with which payload map, so that a repeated SDP is not announced
    /// again. Of RTCP, the port of its RTP in place of the map.
    pub announced: SmallVec<[(Endpoint, Direction, usize, bool); 2]>,
    /// What was agreed about audio on each hop.
    pub talk: Talk,
    /// Offers, to be laid against answers.
    pub negotiation: Negotiation,
    /// What verdicts want to know, above all what its media was said to be.
    pub facts: Facts,
    /// What counts until it is accepted.
    pub invites: Invites,
    /// The last INVITEs within a dialog.
    pub reinvites: Numbered,
    pub(super) messages: Messages,
    /// Hash of its Call-ID, to find it in the table again.
    pub hash: u64,
    /// Its number in this run.
    pub serial: Serial,
    /// When it is closed if nothing more comes, nanoseconds since 1970.
    pub deadline_ns: i64,
    last_ns: i64,
    /// Status of the first 2xx to INVITE; 0 if none.
    accepted: u16,
    bye_answered: bool,
    hangup: Hangup,
    /// It has announced something.
    pub announces: bool,
    pub(super) src: Endpoint,
    /// Messages that were not kept because there were too many.
    not_kept: u32,
    /// What is said of the last message that was kept.
    last: Reason,
    bye_ns: Option<i64>,
    ringing_ns: Option<i64>,
    pub(super) answer_ns: Option<i64>,
    /// What is known of its beginning and answer where they were not seen.
    pub beginning: Beginning,
    /// The text of the 2xx.
    reason: Reason,
    /// What responses and ACKs told.
    pub(super) answered: Answered,
    pub(super) dialogs: Dialogs,
    /// Hash of hop, transaction and tags per message: equal hashes are retransmissions.
    pub(super) prints: SmallVec<[u32; 8]>,
    files: SmallVec<[u32; 2]>,
    /// The hosts of its messages.
    pub(super) hosts: SmallVec<[Endpoint; 4]>,
    /// Texts of the messages.
    texts: Texts<TEXTS_USUAL>,
}

/// Whether a message came before on its hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// It did not.
    First,
    /// It did, and its sender repeats it.
    Again,
    /// It did, and the capture holds it twice.
    Copy,
}

impl Call {
    /// Memory for a call where there is none of one that has ended.
    #[inline(never)]
    pub fn fresh() -> Box<Call> {
        Box::default()
    }

    /// Makes it a call that begins with this message, in the memory of one that was closed. Its names are gathered in
    /// `scratch`.
    pub fn begin(
        &mut self,
        (serial, hash): (Serial, u64),
        (call_id, message): (&[u8], &Message<'_>),
        from: &Incoming<'_>,
        told: &Told<'_>,
        (clock_ns, scratch): (i64, &mut String),
    ) {
        self.forget();
        self.names.read(call_id, message, scratch);
        (self.hash, self.serial) = (hash, serial);
        (self.start_ns, self.last_ns) = (from.at_ns, from.at_ns);
        // A response comes from where the request went.
        (self.src, self.dst) = if told.status() == 0 { (from.src, from.dst) } else { (from.dst, from.src) };
        self.id = Id::derive(clock_ns, self.names.octets(0));
    }

    /// Forgets what it was, but for the memory. Each field by itself: a call that is made elsewhere and copied here
    /// waits for its parts.
    fn forget(&mut self) {
        let Call { hash, serial, deadline_ns, last_ns, start_ns, src, dst, id, .. } = self;
        (*hash, *serial, *deadline_ns, *last_ns, *start_ns) = (0, 0, 0, 0, 0);
        (*src, *dst, *id) = Default::default();
        let Call { accepted, not_kept, last, reason, bye_answered, hangup, beginning, announces, .. } = self;
        (*accepted, *not_kept, *bye_answered, *hangup) = (0, 0, false, Hangup::None);
        (*last, *reason, *beginning, *announces) = Default::default();
        let Call { bye_ns, ringing_ns, answer_ns, answered, .. } = self;
        (*bye_ns, *ringing_ns, *answer_ns, *answered) = (None, None, None, Answered::default());
        let Call {
            messages,
            texts,
            hosts,
            prints,
            files,
            facts,
            announced,
            names,
            invites,
            dialogs,
            reinvites,
            asides,
            negotiation,
            talk,
            numbers,
            ..
        } = self;
        negotiation.clear();
        talk.clear();
        invites.clear();
        dialogs.clear();
        reinvites.clear();
        asides.clear();
        messages.clear();
        texts.clear();
        hosts.clear();
        prints.clear();
        files.clear();
        // Whoever closed it took them.
        debug_assert_eq!(*facts, Facts::default());
        announced.clear();
        names.text.clear();
        numbers.clear();
    }

    /// Its Call-ID.
    #[cfg(test)]
    pub fn sip_call_id(&self) -> &str {
        self.names.get([0])[0]
    }

    /// Which side sent the message: requests carry their sender's tag in From, responses the requester's.
    pub fn sender(&self, told: &Told<'_>) -> Direction {
        if (told.status() == 0) == self.dialogs.calls(told.tags.from) { Direction::Caller } else { Direction::Callee }
    }

    /// Whether it matters of which dialog an ACK or BYE is: there are several, or there may have been before the
    /// capture.
    pub fn may_have_several_dialogs(&self) -> bool {
        self.dialogs.are_several() || self.beginning.joined
    }

    /// INVITE transactions that were not followed because there were too many.
    pub fn invites_not_followed(&self) -> u32 {
        self.invites.not_followed
    }

    /// Whether this is a request for another call with the same Call-ID: an INVITE outside a dialog that begins a
    /// transaction of its own, after the call has ended. What was refused may be tried again by the one who called.
    pub fn is_followed_by(&self, told: &Told<'_>) -> bool {
        told.begins
            && self.until_ns().is_some()
            && !self.invites.knows(told.transaction)
            && (self.bye_ns.is_some() || !self.dialogs.calls(told.tags.from))
    }

    /// Notes an INVITE outside a dialog before anything is asked about its sender.
    pub fn note_caller(&mut self, told: &Told<'_>) {
        if told.begins || self.messages.is_empty() {
            self.dialogs.called_by(told.tags.from);
        }
    }

    /// Takes the numbers that an INVITE outside a dialog names.
    pub fn note_numbers(&mut self, message: &Message<'_>) {
        if !Numbers::are_none(message, self.names.octets(4)) {
            self.numbers.read(message, self.names.get([2, 4]));
        }
    }

    /// Numbers that were not kept because there were too many.
    pub fn numbers_not_kept(&self) -> u32 {
        self.numbers.not_kept
    }

    /// Takes a message and the text that is to be remarked about it; says whether it was a retransmission.
    pub fn message(&mut self, from: &Incoming<'_>, told: &Told<'_>, remark: &Remark, text: &str) -> bool {
        self.last_ns = self.last_ns.max(from.at_ns);
        let again = match self.keep(from, told, remark, text) {
            Seen::Copy => {
                self.deadline_ns = self.last_ns.saturating_add(self.patience_ns());
                return false;
            }
            seen => seen == Seen::Again,
        };
        match *told.start {
            StartLine::Request { .. } => self.request(from, told, again),
            StartLine::Response { status, .. } => self.response(from, status, told, again),
        }
        self.deadline_ns = self.last_ns.saturating_add(self.patience_ns());
        again
    }

    fn request(&mut self, from: &Incoming<'_>, told: &Told<'_>, again: bool) {
        if again {
            self.facts.repeat_request(told.method, told.cseq);
        }
        match told.method {
            Method::Invite => {
                if told.tags.to != 0 {
                    self.reinvites.note(told.tags.from, told.cseq);
                } else {
                    self.facts.invite_seen = true;
                    let first_hop = self.is_callers(from.src, told);
                    self.invites.request(told.transaction, from.at_ns, first_hop);
                }
            }
            Method::Ack => {
                if self.dialogs.acknowledge(told.tags) {
                    self.answered.acknowledged(told.cseq);
                }
                if !self.is_accepted() {
                    if self.shows_answer(told) {
                        (self.beginning.answer_unseen, self.answer_ns) = (true, Some(from.at_ns));
                    }
                    self.misses_answer(told, from.at_ns);
                }
            }
            Method::Cancel => self.invites.cancel(told.transaction, from.at_ns),
            Method::Bye if self.bye_ns.is_none() && self.is_ended(told, from.at_ns) => {
                self.bye_ns = Some(from.at_ns);
                self.beginning.answer_unseen |= self.shows_answer(told);
                if !self.is_accepted() {
                    self.misses_answer(told, from.at_ns);
                }
                self.hangup = if self.dialogs.calls(told.tags.from) { Hangup::Caller } else { Hangup::Callee };
            }
            _ => {}
        }
    }

    /// Whether an INVITE that came from there was sent by the caller itself. A caller that tries again counts its
    /// requests on, perhaps from another port; what a proxy sends further keeps the number (RFC 3261 sections 8.1.3.5,
    /// 16.6).
    fn is_callers(&self, src: Endpoint, told: &Told<'_>) -> bool {
        src == self.src
            || src.address == self.src.address
                && self.dialogs.calls(told.tags.from)
                && self.invites.cseq().is_none_or(|cseq| told.cseq > cseq)
    }

    fn response(&mut self, from: &Incoming<'_>, status: u16, told: &Told<'_>, again: bool) {
        let accepts = told.method == Method::Invite && (200..300).contains(&status);
        if accepts && self.dialogs.are_several() && self.accepts_beside(from, told, again) {
            return;
        }
        self.answered.response(status, told.method, told.cseq, again);
        // A challenge to the BYE is no end yet.
        let ends = told.method == Method::Bye && status >= 200 && !matches!(status, 401 | 407);
        self.bye_answered |= ends && self.bye_ns.is_some();
        if told.method != Method::Invite {
            return;
        }
        let at_ns = from.at_ns;
        let reason = self.last;
        if matches!(status, 180 | 183) && self.ringing_ns.is_none() {
            self.ringing_ns = Some(at_ns);
        }
        if accepts {
            self.dialogs.confirm(told.tags, at_ns, false);
            // What answers an INVITE within the dialog of a joined call says nothing of its own answer.
            if self.accepted == 0 && !(self.beginning.joined && self.is_of_reinvite(told)) {
                (self.accepted, self.reason, self.answer_ns) = (status, reason, Some(at_ns));
                self.facts.hosts = [Some(self.src.address), Some(from.src.address)];
            }
        } else if !self.is_of_reinvite(told) && (!self.is_accepted() || self.was_refused(told)) {
            self.invites.response(told.transaction, at_ns, (status, reason), from.dst == self.src);
        }
    }

    /// Notes the message in the ladder.
    fn keep(&mut self, from: &Incoming<'_>, told: &Told<'_>, remark: &Remark, text: &str) -> Seen {
        let status = told.status();
        let (src, src_fits) = self.host(from.src);
        let (dst, dst_fits) = self.host(from.dst);
        let is = (told.cseq, status, src, dst, told.method as u8);
        let seen = match self.earlier(told.print, |m| (m.cseq, m.status, m.src, m.dst, m.method) == is) {
            None => Seen::First,
            // Over TCP a segment that the capture holds twice is read once: the sender said it twice.
            Some(m) if !from.stream && from.at_ns.saturating_sub(m.at_ns) < COPY_NS => Seen::Copy,
            Some(_) => Seen::Again,
        };
        if self.messages.len() >= MESSAGES_PER_CALL_MAX {
            self.not_kept = self.not_kept.saturating_add(1);
            return seen;
        }
        let file = self.file(from.file);
        let text = self.text(text);
        self.last = Reason::new(text, if text.1 == 0 { 0 } else { remark.phrase });
        let flag = |on: bool, flag: u8| if on { flag } else { 0 };
        self.messages.push(row::Message {
            at_ns: from.at_ns,
            packet: from.number,
            offset: from.offset,
            octets: u32::try_from(from.octets.len()).unwrap_or(u32::MAX),
            cseq: told.cseq,
            file,
            status,
            method: told.method as u8,
            src,
            dst,
            flags: flag(told.sdp.is_some(), row::Message::SDP)
                | flag(seen == Seen::Again, row::Message::RETRANSMISSION)
                | flag(seen == Seen::Copy, row::Message::COPY)
                | flag(remark.odd || !src_fits || !dst_fits, row::Message::ODD)
                | flag(from.cut, row::Message::CUT)
                | flag(from.stream, row::Message::TCP),
            text,
        });
        self.prints.push(told.print);
        seen
    }

    /// The latest of the last messages with this print that is such.
    fn earlier(&self, print: u32, such: impl Fn(&row::Message) -> bool) -> Option<&row::Message> {
        // Nearly always there is none.
        if !self.prints.contains(&print) {
            return None;
        }
        let last = self.messages.iter().zip(&self.prints).rev().take(EARLIER_LOOKED_AT);
        last.filter(|(_, p)| **p == print).map(|(m, _)| m).find(|m| such(m))
    }

    fn host(&mut self, host: Endpoint) -> (u8, bool) {
        if let Some(at) = self.hosts.iter().position(|h| *h == host) {
            return (at as u8, true);
        }
        if self.hosts.len() >= HOSTS_PER_CALL_MAX {
            return ((HOSTS_PER_CALL_MAX - 1) as u8, false);
        }
        self.hosts.push(host);
        ((self.hosts.len() - 1) as u8, true)
    }

    fn file(&mut self, file: u32) -> u16 {
        let at = self.files.iter().position(|f| *f == file).unwrap_or_else(|| {
            self.files.push(file);
            self.files.len() - 1
        });
        at as u16
    }

    fn text(&mut self, text: &str) -> (u32, u16) {
        let start = self.texts.octets();
        if text.is_empty() || start + text.len() > TEXTS_PER_CALL_MAX {
            return (0, 0);
        }
        self.texts.push(text);
        (start as u32, text.len() as u16)
    }

    /// How long a call waits for its next message.
    fn patience_ns(&self) -> i64 {
        if self.bye_answered {
            SETTLED_NS
        } else if self.bye_ns.is_some() {
            LINGER_NS
        } else if self.is_accepted() {
            ANSWERED_SILENCE_NS
        } else {
            match self.invites.pending() {
                Pending::Answered => SETUP_SILENCE_NS,
                Pending::Unanswered => 2 * LINGER_NS,
                Pending::Nothing => LINGER_NS,
            }
        }
    }

    /// When media stops to belong to the call, if that is known: it has ended.
    pub fn until_ns(&self) -> Option<i64> {
        let ended = self.bye_ns.is_some() || !self.is_accepted() && self.invites.pending() == Pending::Nothing;
        ended.then_some(self.deadline_ns)
    }

    /// Whether it was answered, as far as it shows.
    pub(super) fn is_accepted(&self) -> bool {
        self.accepted != 0 || self.beginning.answer_unseen
    }

    /// How the call stands (DESIGN section 4, "State").
    pub fn state(&self) -> CallState {
        if self.beginning.joined {
            return CallState::JoinedMidCall;
        }
        if self.is_accepted() {
            return if self.bye_ns.is_some() { CallState::Completed } else { CallState::Answered };
        }
        self.invites.decisive().map_or(CallState::Attempted, Invite::state)
    }

    /// When it began, and its identifier if the capture joined it in mid-call.
    pub fn begun(&self) -> (i64, Option<Id>) {
        (self.start_ns, self.beginning.joined.then_some(self.id))
    }

    /// What there is to see of it while it is up.
    pub fn up(&self) -> CallUp {
        let [sip_call_id, from, to] = self.names.get([0, 2, 4]).map(str::to_owned);
        CallUp {
            id: self.id,
            sip_call_id,
            from,
            to,
            start_ns: self.start_ns,
            answer_ns: self.answer_ns.filter(|_| !self.beginning.joined),
            state: self.state(),
            src: self.src,
            dst: self.dst,
        }
    }

    /// The row of the call, without its streams, and what the verdict wants to know besides. What is left is memory for
    /// the next.
    pub fn close(&mut self) -> Box<Closed> {
        let state = self.state();
        let decisive = self.invites.decisive();
        let (code, reason) = match decisive {
            Some(invite) if !self.is_accepted() || self.beginning.joined => (invite.status, invite.reason),
            _ => (self.accepted, self.reason),
        };
        let end_ns = match state {
            // A capture may hold the BYE before the answer that it ends: then nothing was said.
            CallState::Completed => self.bye_ns.max(self.answer_ns),
            CallState::Answered => None,
            CallState::JoinedMidCall if self.bye_ns.is_some() || self.is_accepted() => self.bye_ns,
            _ => decisive.and_then(|invite| invite.over_ns),
        };
        let Beginning { joined, sides_known, answer_unseen, .. } = self.beginning;
        self.facts.take_answered(&self.answered);
        self.facts.one_direction = answer_unseen && !joined && self.is_one_sided();
        self.facts.answer_unseen = answer_unseen && !joined && self.accepted == 0;
        if self.dialogs.are_several() {
            self.note_unacknowledged();
        }
        (self.facts.joined, self.facts.sides_known) = (joined, sides_known || !joined);
        let has_hangup = state == CallState::Completed || joined && sides_known;
        let texts = self.texts.take();
        let [sip_call_id, from_uri, from, to_uri, to, user_agent] = self.names.get([0, 1, 2, 3, 4, 5]);
        let call = row::Call {
            id: self.id,
            sip_call_id: sip_call_id.to_owned(),
            state,
            from_uri: from_uri.to_owned(),
            from: from.to_owned(),
            to_uri: to_uri.to_owned(),
            to: to.to_owned(),
            numbers: self.numbers.take(),
            user_agent: user_agent.to_owned(),
            start_ns: self.start_ns,
            ringing_ns: self.ringing_ns.filter(|_| !joined),
            answer_ns: self.answer_ns.filter(|_| !joined),
            end_ns,
            last_ns: self.last_ns,
            code,
            reason: reason.of(&texts).to_owned(),
            hangup: if has_hangup { self.hangup } else { Hangup::None },
            src: self.src,
            dst: self.dst,
            ladder: self.take_ladder(texts),
            ..row::Call::default()
        };
        let (facts, files) = (core::mem::take(&mut self.facts), core::mem::take(&mut self.files));
        Box::new(Closed { serial: self.serial, deadline_ns: self.deadline_ns, call, facts, files })
    }
}
