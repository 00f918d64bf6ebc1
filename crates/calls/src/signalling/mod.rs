//! SIP messages in, calls, registrations and events out: dialogs, transactions, and what they say about media.
//!
//! No I/O and no clock: time is the packets' time. A call ends by its messages and its silence, never by how the input
//! was cut into batches, so that the same packets give the same rows.

mod beginning;
mod beside;
mod call;
mod closing;
mod deadlines;
mod dialogs;
mod facts;
mod identity;
mod invites;
mod negotiation;
mod offer;
mod reading;
mod remark;
mod servers;
mod talk;
mod texts;
mod told;
mod transaction;
mod troubles;
mod unreached;
mod up;
mod usual;
mod warm;

pub use beside::Unacknowledged;
pub use facts::{Change, Facts, PartyMedia, Said};
pub use remark::REMARK_SEPARATOR;
pub use servers::is_media_server;
pub use transaction::Registering;
pub use troubles::{NoAnswer, Refused, Transfer, Troubles};
pub use unreached::Unreached;
pub use up::{CallUp, Standing};

use crate::clock::Timeline;
use crate::limits::{CALL_IDS_COUNTED_MAX, CALLS_MAX};
use crate::media::{Notice, Numbered, Serial};
use call::Call;
use core::hash::{BuildHasher, Hasher};
use deadlines::Deadlines;
use hashbrown::{DefaultHashBuilder, HashSet, HashTable};
use reading::is_of_calls;
use remark::Remark;
use smallvec::SmallVec;
use texts::{push_lossy, text};
use told::Told;
use transaction::Transactions;
use trunkline_lane::clock::Leap;
use trunkline_store::row;
use trunkline_wire::Endpoint;
use trunkline_wire::sip::{self, Header, Message, Method, StartLine};

trunkline_kit::counters! {
    /// What the signalling counts.
    pub struct SignallingCounters {
        /// SIP messages, retransmissions included
        messages: "trunkline_calls_sip_messages_total",
        /// SIP requests
        requests: "trunkline_calls_sip_requests_total",
        /// SIP responses
        responses: "trunkline_calls_sip_responses_total",
        /// SIP retransmissions
        retransmissions: "trunkline_calls_sip_retransmissions_total",
        /// SIP messages with something odd about them
        odd: "trunkline_calls_sip_odd_total",
        /// SIP messages without Call-ID, kept out of calls
        without_call_id: "trunkline_calls_sip_without_call_id_total",
        /// SIP messages without a CSeq that could be read
        without_cseq: "trunkline_calls_sip_without_cseq_total",
        /// SIP messages that the snap length cut
        cut: "trunkline_calls_sip_cut_total",
        /// calls begun
        calls: "trunkline_calls_begun_total",
        /// calls joined in mid-call, whose INVITE was not seen
        joined: "trunkline_calls_joined_total",
        /// answered calls given up after hours without signalling: their BYE was not seen
        without_bye: "trunkline_calls_without_bye_total",
        /// calls closed early because the table of calls was full
        calls_overflow: "trunkline_calls_table_overflow_total",
        /// transactions closed early because their table was full
        transactions_overflow: "trunkline_calls_transactions_overflow_total",
        /// INVITE transactions not followed because a call had too many
        invites_overflow: "trunkline_calls_invites_overflow_total",
        /// media endpoints not followed because a call announced too many
        endpoints_overflow: "trunkline_calls_endpoints_overflow_total",
        /// numbers beside From and To not kept because a call had too many
        numbers_overflow: "trunkline_calls_numbers_overflow_total",
        /// ladder messages not kept because a call had too many
        ladder_overflow: "trunkline_calls_ladder_overflow_total",
        /// ICMP messages about packets that did not arrive, not kept because they were about too many flows
        unreachable_overflow: "trunkline_calls_icmp_unreachable_overflow_total",
        /// SDP bodies read
        sdp: "trunkline_calls_sdp_total",
    }
}

/// A SIP message with where and when it was captured.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// When its last octet was captured, nanoseconds since 1970.
    pub at_ns: i64,
    /// Number of that packet.
    pub number: u64,
    /// Record offset of that packet in its file.
    pub offset: u64,
    /// Input file of that packet.
    pub file: u32,
    /// Who sent it.
    pub src: Endpoint,
    /// Whom it was sent to.
    pub dst: Endpoint,
    /// It came over a stream transport (TCP, TLS-less WebSocket).
    pub stream: bool,
    /// The snap length or a gap cut it.
    pub cut: bool,
    /// The message.
    pub octets: &'a [u8],
}

/// A call that is over, for the joiner.
#[derive(Debug)]
pub struct Closed {
    /// Its number in this run.
    pub serial: Serial,
    /// When it was over.
    pub deadline_ns: i64,
    /// The row, without streams.
    pub call: row::Call,
    /// What verdicts want to know.
    pub facts: Facts,
    /// Input files of its messages; `row::Message::file` is an index into these.
    pub files: SmallVec<[u32; 2]>,
}

/// What signalling gave since the last time it was asked.
#[derive(Debug, Default)]
pub struct Output {
    /// For the lanes, in order of packets.
    pub notices: Vec<Numbered>,
    /// Calls that are over, by when.
    pub closed: Vec<Box<Closed>>,
    /// Registrations that are over.
    pub registrations: Vec<row::Registration>,
    /// Other transactions that are over.
    pub events: Vec<row::SipEvent>,
    /// Where the capture's clock was set.
    pub leaps: Vec<Leap>,
}

/// Where the open call of a Call-ID is. 64 bits of a keyed hash and the length stand for its text: reading the text of
/// each candidate costs a miss of the cache for each message, and two of a million Call-IDs agree once in 10^7 runs.
struct Known {
    hash: u64,
    octets: u32,
    at: u32,
}

/// The hash of a Call-ID, and its call if one was open.
#[derive(Clone, Copy)]
struct Seek {
    hash: u64,
    octets: u32,
    at: Option<u32>,
}

/// The place of an open call, with what is asked of it when it does not matter otherwise: a look at the call itself is
/// a look far from the cache.
#[derive(Default)]
struct Slot {
    call: Option<Box<Call>>,
    /// Its number; 0 where there is no call.
    serial: Serial,
    /// The time for which it stands in the queue of deadlines: not later than its deadline.
    queued_ns: i64,
}

/// Closed calls whose memory is kept for new ones.
const SPARE_MAX: usize = 1024;
/// Calls that are looked at together when their time has come.
const DUE_TOGETHER: usize = 32;

/// All calls and transactions in progress.
pub struct Signalling {
    slots: Vec<Slot>,
    free: Vec<u32>,
    #[expect(clippy::vec_box, reason = "a slot takes the box as it is")]
    spare: Vec<Box<Call>>,
    by_call_id: HashTable<Known>,
    hasher: DefaultHashBuilder,
    deadlines: Deadlines<u32>,
    up: up::CallsUp,
    next_serial: Serial,
    transactions: Transactions,
    payload_maps: offer::PayloadMaps,
    remark: String,
    /// Calls of the messages that are handled together.
    sought: Vec<Seek>,
    /// Calls whose time may have come, that are looked at together.
    due: Vec<u32>,
    /// Number and time of the message in hand.
    number: u64,
    now_ns: i64,
    /// When the first response of any call came: without any, the capture may hold one direction alone.
    first_response_ns: i64,
    /// Packets that did not arrive; none in most captures.
    unreached: Option<Box<unreached::Flows>>,
    call_ids: HashSet<u64>,
    timeline: Timeline,
    output: Output,
    /// What was counted so far.
    pub counters: SignallingCounters,
}

impl Default for Signalling {
    fn default() -> Self {
        Signalling {
            slots: Vec::new(),
            free: Vec::new(),
            spare: Vec::new(),
            by_call_id: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            deadlines: Deadlines::default(),
            up: up::CallsUp::default(),
            next_serial: 1,
            transactions: Transactions::default(),
            payload_maps: offer::PayloadMaps::default(),
            remark: String::new(),
            sought: Vec::new(),
            due: Vec::new(),
            number: 0,
            now_ns: i64::MIN,
            first_response_ns: i64::MAX,
            unreached: None,
            call_ids: HashSet::new(),
            timeline: Timeline::default(),
            output: Output::default(),
            counters: SignallingCounters::default(),
        }
    }
}

impl Signalling {
    /// Distinct Call-IDs so far; exact up to [`CALL_IDS_COUNTED_MAX`].
    pub fn call_ids(&self) -> u64 {
        self.call_ids.len() as u64
    }

    /// Calls that are not closed.
    pub fn open_calls(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    /// Takes one message.
    pub fn handle(&mut self, from: &Incoming<'_>) {
        if let Some(message) = sip::scan(from.octets, !from.cut) {
            self.message(from, &message);
        }
    }

    /// Takes several messages that are scanned already, in order, and leaves none.
    ///
    /// Their calls lie all over the memory. So each step of the way to them is gone for all messages before the next
    /// step: then the waits for the memory overlap.
    pub fn messages(&mut self, messages: &mut Vec<(Incoming<'_>, Message<'_>)>) {
        let mut sought = core::mem::take(&mut self.sought);
        sought.clear();
        sought.extend(messages.iter().map(|(_, message)| self.hashed(message)));
        let mut known = 0;
        for seek in &mut sought {
            seek.at = self.find(seek.octets, seek.hash);
            known ^= u64::from(seek.at.is_none() && self.call_ids.contains(&seek.hash));
        }
        core::hint::black_box(known);
        self.warm_for(messages, &sought);
        // Who reads all of them before the first is handled finds the code for it in the cache.
        let mut told: Vec<Told<'_>> = Vec::with_capacity(messages.len());
        for ((_, message), seek) in messages.iter().zip(&sought) {
            told.push(self.told(message, seek.at));
        }
        for (((from, message), seek), told) in messages.iter().zip(&sought).zip(&mut told) {
            self.sought(from, message, seek, told);
        }
        self.sought = sought;
        messages.clear();
    }

    /// Takes one message that is scanned already.
    pub fn message(&mut self, from: &Incoming<'_>, message: &Message<'_>) {
        let seek = self.seek(message);
        self.sought(from, message, &seek, &mut self.told(message, seek.at));
    }

    fn seek(&self, message: &Message<'_>) -> Seek {
        let seek = self.hashed(message);
        Seek { at: self.find(seek.octets, seek.hash), ..seek }
    }

    /// What is needed to seek the call of a message.
    fn hashed(&self, message: &Message<'_>) -> Seek {
        let call_id = message.call_id();
        Seek { hash: self.hash(call_id), octets: call_id.len() as u32, at: None }
    }

    /// Takes one message whose call was sought, and which was read, some messages before.
    fn sought<'a>(&mut self, from: &Incoming<'a>, message: &'a Message<'a>, seek: &Seek, told: &mut Told<'a>) {
        (self.number, self.now_ns) = (from.number, from.at_ns);
        self.count(from, message);
        let call_id = message.call_id();
        if call_id.is_empty() {
            self.counters.without_call_id += 1;
            return;
        }
        let hash = seek.hash;
        self.counters.without_cseq += u64::from(!told.has_cseq);
        let mut found = self.open_call(from, seek);
        if self.asked(told.method, found) != told.asked {
            self.tell_again(told, message, found);
        }
        let method = told.method;
        let is_followed = |at: &u32| self.call(*at).is_some_and(|call| call.is_followed_by(told));
        if let Some(at) = found.filter(is_followed) {
            self.close(at);
            found = None;
        }
        match found {
            Some(at) => self.handle_call(from, message, at, told),
            None => found = self.outside(from, message, call_id, hash, told),
        }
        if !is_of_calls(method) && (found.is_none() || method != Method::Bye) {
            self.transactions.handle(from, message, call_id, told, &mut self.output, &mut self.counters);
        }
    }

    fn call(&self, at: u32) -> Option<&Call> {
        self.slots.get(at as usize)?.call.as_deref()
    }

    /// A message of no open call; the call that it opens.
    ///
    /// Of a Call-ID that was seen before, what is no INVITE comes late, after its call was closed.
    #[inline(never)]
    fn outside(
        &mut self,
        from: &Incoming<'_>,
        message: &Message<'_>,
        call_id: &[u8],
        hash: u64,
        told: &Told<'_>,
    ) -> Option<u32> {
        let fresh = self.call_ids.len() < CALL_IDS_COUNTED_MAX && self.call_ids.insert(hash);
        let invites = told.method == Method::Invite && told.status() == 0;
        if !(invites || fresh && beginning::joins(told)) {
            return None;
        }
        let at = self.open(from, message, call_id, hash, told);
        self.handle_call(from, message, at, told);
        Some(at)
    }

    fn count(&mut self, from: &Incoming<'_>, message: &Message<'_>) {
        let c = &mut self.counters;
        c.messages += 1;
        match message.start_line() {
            StartLine::Request { .. } => c.requests += 1,
            StartLine::Response { .. } => {
                c.responses += 1;
                self.first_response_ns = self.first_response_ns.min(from.at_ns);
            }
        }
        c.cut += u64::from(from.cut);
        c.odd += u64::from(!message.oddities().is_empty());
    }

    fn hash(&self, octets: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(octets);
        hasher.finish()
    }

    /// Equal for retransmissions of one message, different for other transactions and forks: a retransmission repeats
    /// the message octet for octet (RFC 3261 section 17), so the raw top Via and To are enough.
    fn print(&self, message: &Message<'_>) -> u32 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(message.header(Header::Via).unwrap_or_default());
        hasher.write(message.header(Header::To).unwrap_or_default());
        hasher.finish() as u32
    }

    /// The open call of a Call-ID of this hash and length.
    fn find(&self, octets: u32, hash: u64) -> Option<u32> {
        let same = |known: &Known| known.hash == hash && known.octets == octets;
        self.by_call_id.find(hash, same).map(|known| known.at)
    }

    /// The same, unless its silence was longer than a call lasts: then what comes now is another call with that name.
    fn open_call(&mut self, from: &Incoming<'_>, seek: &Seek) -> Option<u32> {
        let call = |at: u32| self.slots[at as usize].call.as_ref();
        let still = seek.at.filter(|at| call(*at).is_some_and(|c| c.hash == seek.hash));
        let at = still.or_else(|| self.find(seek.octets, seek.hash))?;
        if call(at).is_some_and(|c| c.deadline_ns < from.at_ns) {
            self.close(at);
            return None;
        }
        Some(at)
    }

    fn handle_call(&mut self, from: &Incoming<'_>, message: &Message<'_>, at: u32, told: &Told<'_>) {
        let slot = &mut self.slots[at as usize];
        let Some(call) = slot.call.as_deref_mut() else { return };
        call.note_caller(told);
        self.counters.calls += u64::from(call.finds_beginning(told));
        let beside = call.is_beside(from, told);
        if !beside {
            call.note_troubles(message, told);
        }
        call.note_bare(told);
        if told.begins {
            call.note_numbers(message);
        }
        if told.method == Method::Invite && (200..300).contains(&told.status()) {
            call.note_server(message);
        }
        let mut remark = Remark::of(message, told, &mut self.remark);
        if let Some(body) = told.sdp {
            self.counters.sdp += 1;
            let sender = call.sender(told);
            let role = call.role(told);
            let tag = if told.method == Method::Invite && told.status() > 0 || beside { told.tags.to } else { 0 };
            let (outline, counters) = (told.outline, &mut self.counters);
            let news = offer::Offer { from, body, outline, sender, role, tag, beside, counters };
            news.announce(call, &mut self.payload_maps, &mut self.remark, &mut self.output.notices);
            remark.text = None;
        } else if told.method == Method::Invite && (200..300).contains(&told.status()) {
            call.accept_early(from, told, beside);
        }
        let before = call.until_ns();
        let again = call.message(from, told, &remark, remark.text.unwrap_or(&self.remark));
        self.counters.retransmissions += u64::from(again);
        if call.deadline_ns < slot.queued_ns {
            // An end brings the deadline nearer; what moves it away is seen when the entry's time has come.
            slot.queued_ns = call.deadline_ns;
            self.deadlines.push(slot.queued_ns, call.serial, at);
        }
        let until = call.until_ns();
        self.up.turn(before.is_none(), until.is_none());
        if until != before && call.announces {
            // An unended call has no end; a retry after a challenge takes the end back.
            use row::CallState::{AuthChallenged, Cancelled, Redirected, Rejected};
            let failed = matches!(call.state(), AuthChallenged | Cancelled | Redirected | Rejected);
            let is_given_up = until.is_some() && failed;
            let notice = Notice::Until { serial: call.serial, at_ns: until.unwrap_or(i64::MAX), is_given_up };
            self.output.notices.push(Numbered { number: from.number, at_ns: from.at_ns, notice });
        }
    }

    #[inline(never)]
    fn open(&mut self, from: &Incoming<'_>, message: &Message<'_>, call_id: &[u8], hash: u64, told: &Told<'_>) -> u32 {
        if self.by_call_id.len() >= CALLS_MAX {
            self.counters.calls_overflow += 1;
            self.close_nearest();
        }
        let serial = self.next_serial;
        self.next_serial += 1;
        let mut call = self.spare.pop().unwrap_or_else(Call::fresh);
        let clock_ns = self.timeline.clock_ns(from.at_ns);
        call.begin((serial, hash), (call_id, message), from, told, (clock_ns, &mut self.remark));
        match told.begins {
            true => self.counters.calls += 1,
            false => {
                self.counters.joined += 1;
                call.join(told, from.at_ns);
            }
        }
        let slot = Slot { call: Some(call), serial, queued_ns: i64::MAX };
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        };
        self.by_call_id.insert_unique(hash, Known { hash, octets: call_id.len() as u32, at }, |known| known.hash);
        self.up.begin(serial, at, &self.slots);
        at
    }

    /// Closes what is over by `now_ns`.
    pub fn tick(&mut self, now_ns: i64) {
        // What is released now is released after every packet of the batch.
        (self.number, self.now_ns) = (u64::MAX, i64::MAX);
        let mut due = core::mem::take(&mut self.due);
        while self.next_due(now_ns, &mut due) {
            self.warm_due(&due);
            for at in &due {
                self.is_due(*at, now_ns);
            }
        }
        self.due = due;
        self.transactions.tick(now_ns, &mut self.output);
    }

    /// The next calls whose entry's time has come; whether there are any.
    fn next_due(&mut self, now_ns: i64, due: &mut Vec<u32>) -> bool {
        due.clear();
        let slots = &self.slots;
        // An entry that a nearer one has replaced says nothing.
        let stands = |&(deadline, serial, at): &(i64, Serial, u32)| {
            let slot = &slots[at as usize];
            slot.serial == serial && slot.queued_ns == deadline
        };
        while due.len() < DUE_TOGETHER {
            let Some(entry) = self.deadlines.pop_standing(now_ns, stands) else { break };
            if stands(&entry) {
                due.push(entry.2);
            }
        }
        !due.is_empty()
    }

    /// The time of a call's entry has come: it is closed, unless more was seen of it since.
    fn is_due(&mut self, at: u32, now_ns: i64) {
        let slot = &mut self.slots[at as usize];
        match slot.call.as_ref().map(|call| call.deadline_ns) {
            Some(deadline_ns) if deadline_ns >= now_ns => {
                slot.queued_ns = deadline_ns;
                self.deadlines.push(deadline_ns, slot.serial, at);
            }
            _ => {
                let lacks_bye = slot.call.as_ref().is_some_and(|call| call.lacks_bye());
                self.counters.without_bye += u64::from(lacks_bye);
                self.close(at);
            }
        }
    }

    /// Closes everything: the input has ended.
    pub fn finish(&mut self) {
        (self.number, self.now_ns) = (u64::MAX, i64::MAX);
        for at in 0..self.slots.len() as u32 {
            self.close(at);
        }
        self.deadlines.clear();
        self.transactions.tick(i64::MAX, &mut self.output);
    }

    /// What there is for lanes and joiner since the last call; closed calls by when they were over.
    pub fn poll(&mut self) -> Output {
        // What comes next is about as much as what came.
        let room = |came: usize| came + came / 2;
        let next = Output {
            notices: Vec::with_capacity(room(self.output.notices.len())),
            closed: Vec::with_capacity(room(self.output.closed.len())),
            ..Output::default()
        };
        let mut output = core::mem::replace(&mut self.output, next);
        output.closed.sort_by_key(|c| (c.deadline_ns, c.serial));
        output
    }
}

#[cfg(test)]
mod tests;
