//! SIP messages in, calls, registrations and events out: dialogs, transactions, and what they say about media.
//!
//! No I/O and no clock: time is the packets' time. A call ends by its messages and its silence, never by how the input
//! was cut into batches, so that the same packets give the same rows.

mod call;
mod deadlines;
mod facts;
mod offer;
mod remark;
mod transaction;
mod usual;

pub use facts::{Facts, PartyMedia};
pub use remark::REMARK_SEPARATOR;
pub use transaction::Registering;

use crate::limits::{CALL_IDS_COUNTED_MAX, CALLS_MAX};
use crate::media::{Notice, Numbered, Serial};
use call::{Call, Parties, Told};
use core::hash::{BuildHasher, Hasher};
use deadlines::Deadlines;
use hashbrown::{DefaultHashBuilder, HashSet, HashTable};
use remark::Remark;
use smallvec::SmallVec;
use transaction::Transactions;
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
        /// calls closed early because the table of calls was full
        calls_overflow: "trunkline_calls_table_overflow_total",
        /// transactions closed early because their table was full
        transactions_overflow: "trunkline_calls_transactions_overflow_total",
        /// media endpoints not followed because a call announced too many
        endpoints_overflow: "trunkline_calls_endpoints_overflow_total",
        /// ladder messages not kept because a call had too many
        ladder_overflow: "trunkline_calls_ladder_overflow_total",
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
    at: Option<u32>,
}

/// All calls and transactions in progress.
pub struct Signalling {
    calls: Vec<Option<Box<Call>>>,
    free: Vec<u32>,
    by_call_id: HashTable<Known>,
    hasher: DefaultHashBuilder,
    deadlines: Deadlines<u32>,
    next_serial: Serial,
    transactions: Transactions,
    payload_maps: offer::PayloadMaps,
    remark: String,
    /// Calls of the messages that are handled together.
    sought: Vec<Seek>,
    /// Number and time of the message in hand.
    number: u64,
    now_ns: i64,
    call_ids: HashSet<u64>,
    output: Output,
    /// What was counted so far.
    pub counters: SignallingCounters,
}

impl Default for Signalling {
    fn default() -> Self {
        Signalling {
            calls: Vec::new(),
            free: Vec::new(),
            by_call_id: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            deadlines: Deadlines::default(),
            next_serial: 1,
            transactions: Transactions::default(),
            payload_maps: offer::PayloadMaps::default(),
            remark: String::new(),
            sought: Vec::new(),
            number: 0,
            now_ns: i64::MIN,
            call_ids: HashSet::new(),
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
        (self.calls.len() - self.free.len()) as u64
    }

    /// Takes one message.
    pub fn handle(&mut self, from: &Incoming<'_>) {
        if let Some(message) = sip::scan(from.octets, !from.cut) {
            self.message(from, &message);
        }
    }

    /// Takes several messages that are scanned already, in order, and leaves none.
    pub fn messages(&mut self, messages: &mut Vec<(Incoming<'_>, Message<'_>)>) {
        let mut warm = 0;
        let mut sought = core::mem::take(&mut self.sought);
        sought.clear();
        for (_, message) in messages.iter() {
            let seek = self.seek(message);
            sought.push(seek);
            warm ^= seek.at.and_then(|at| self.calls[at as usize].as_ref()).map_or(0, |c| c.warm());
        }
        core::hint::black_box(warm);
        for ((from, message), seek) in messages.iter().zip(&sought) {
            self.sought(from, message, *seek);
        }
        self.sought = sought;
        messages.clear();
    }

    /// Takes one message that is scanned already.
    pub fn message(&mut self, from: &Incoming<'_>, message: &Message<'_>) {
        self.sought(from, message, self.seek(message));
    }

    fn seek(&self, message: &Message<'_>) -> Seek {
        let call_id = message.call_id();
        let hash = self.hash(call_id);
        Seek { hash, at: self.find(call_id, hash) }
    }

    /// Takes one message whose call was sought some messages before.
    fn sought(&mut self, from: &Incoming<'_>, message: &Message<'_>, seek: Seek) {
        (self.number, self.now_ns) = (from.number, from.at_ns);
        self.count(from, message);
        let call_id = message.call_id();
        if call_id.is_empty() {
            self.counters.without_call_id += 1;
            return;
        }
        let hash = seek.hash;
        let (cseq, method) = usual::cseq_and_method(message);
        self.counters.without_cseq += u64::from(cseq.is_none());
        let found = self.open_call(from, call_id, seek);
        let sdp = usual::sdp(message);
        // Which party speaks matters where it announces media or hangs up, and to tell transactions apart.
        let tagged = found.is_none() || sdp.is_some() || !is_of_calls(method) || method == Method::Bye;
        let tag = if tagged { usual::tag(message.header(Header::From).unwrap_or_default()) } else { None };
        let told = Told {
            start: message.start(),
            method,
            cseq: cseq.unwrap_or(0),
            from_tag: tag.map_or(0, |t| self.hash(t)),
            print: self.print(message),
            sdp,
        };
        match found {
            Some(at) => self.handle_call(from, message, at, &told),
            None => self.outside(from, message, call_id, hash, &told),
        }
        if !is_of_calls(method) && (found.is_none() || method != Method::Bye) {
            self.transactions.handle(from, message, call_id, &told, &mut self.output, &mut self.counters);
        }
    }

    /// A message of no open call.
    fn outside(&mut self, from: &Incoming<'_>, message: &Message<'_>, call_id: &[u8], hash: u64, told: &Told<'_>) {
        if self.call_ids.len() < CALL_IDS_COUNTED_MAX {
            self.call_ids.insert(hash);
        }
        if told.method == Method::Invite {
            let at = self.open(from, message, call_id, hash, told);
            self.handle_call(from, message, at, told);
        }
    }

    fn count(&mut self, from: &Incoming<'_>, message: &Message<'_>) {
        let c = &mut self.counters;
        c.messages += 1;
        match message.start() {
            StartLine::Request { .. } => c.requests += 1,
            StartLine::Response { .. } => c.responses += 1,
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

    /// The open call of this Call-ID.
    fn find(&self, call_id: &[u8], hash: u64) -> Option<u32> {
        let same = |known: &Known| known.hash == hash && known.octets == call_id.len() as u32;
        self.by_call_id.find(hash, same).map(|known| known.at)
    }

    /// The same, unless its silence was longer than a call lasts: then what comes now is another call with that name.
    fn open_call(&mut self, from: &Incoming<'_>, call_id: &[u8], seek: Seek) -> Option<u32> {
        let call = |at: u32| self.calls[at as usize].as_ref();
        let still = seek.at.filter(|at| call(*at).is_some_and(|c| c.hash == seek.hash));
        let at = still.or_else(|| self.find(call_id, seek.hash))?;
        if call(at).is_some_and(|c| c.deadline_ns < from.at_ns) {
            self.close(at);
            return None;
        }
        Some(at)
    }

    fn handle_call(&mut self, from: &Incoming<'_>, message: &Message<'_>, at: u32, told: &Told<'_>) {
        let Some(call) = self.calls[at as usize].as_deref_mut() else { return };
        let mut remark = Remark::of(message, told, &mut self.remark);
        if let Some(body) = told.sdp {
            self.counters.sdp += 1;
            let sender = call.sender(told);
            let news = offer::Offer { from, body, sender, counters: &mut self.counters };
            news.announce(call, &mut self.payload_maps, &mut self.remark, &mut self.output.notices);
            remark.text = None;
        }
        let before = call.until_ns();
        let again = call.message(from, told, &remark, remark.text.unwrap_or(&self.remark));
        self.counters.retransmissions += u64::from(again);
        if call.deadline_ns < call.queued_ns {
            // An end brings the deadline nearer; what moves it away is seen when the entry's time has come.
            call.queued_ns = call.deadline_ns;
            self.deadlines.push(call.queued_ns, call.serial, at);
        }
        let until = call.until_ns();
        if until != before && !call.announced.is_empty() {
            // An unended call has no end; a retry after a challenge takes the end back.
            let notice = Notice::Until { serial: call.serial, at_ns: until.unwrap_or(i64::MAX) };
            self.output.notices.push(Numbered { number: from.number, at_ns: from.at_ns, notice });
        }
    }

    fn open(&mut self, from: &Incoming<'_>, message: &Message<'_>, call_id: &[u8], hash: u64, told: &Told<'_>) -> u32 {
        if self.by_call_id.len() >= CALLS_MAX {
            self.counters.calls_overflow += 1;
            self.close_nearest();
        }
        let serial = self.next_serial;
        self.next_serial += 1;
        self.counters.calls += 1;
        let call = Box::new(Call::new(serial, hash, parties(call_id, message), from, told));
        let at = match self.free.pop() {
            Some(at) => {
                self.calls[at as usize] = Some(call);
                at
            }
            None => {
                self.calls.push(Some(call));
                (self.calls.len() - 1) as u32
            }
        };
        self.by_call_id.insert_unique(hash, Known { hash, octets: call_id.len() as u32, at }, |known| known.hash);
        at
    }

    /// Closes what is over by `now_ns`.
    pub fn tick(&mut self, now_ns: i64) {
        // What is released now is released after every packet of the batch.
        (self.number, self.now_ns) = (u64::MAX, i64::MAX);
        while let Some((deadline, serial, at)) = self.deadlines.pop_before(now_ns) {
            // An entry that a nearer one has replaced says nothing.
            let current = |c: &&mut Box<Call>| c.serial == serial && c.queued_ns == deadline;
            let Some(call) = self.calls[at as usize].as_mut().filter(current) else { continue };
            if call.deadline_ns >= now_ns {
                call.queued_ns = call.deadline_ns;
                self.deadlines.push(call.queued_ns, serial, at);
            } else {
                self.close(at);
            }
        }
        self.transactions.tick(now_ns, &mut self.output);
    }

    /// Closes everything: the input has ended.
    pub fn finish(&mut self) {
        (self.number, self.now_ns) = (u64::MAX, i64::MAX);
        for at in 0..self.calls.len() as u32 {
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

    fn close_nearest(&mut self) {
        while let Some((_, serial, at)) = self.deadlines.pop() {
            if self.calls[at as usize].as_ref().is_some_and(|c| c.serial == serial) {
                return self.close(at);
            }
        }
    }

    fn close(&mut self, at: u32) {
        let Some(call) = self.calls[at as usize].take() else { return };
        if let Ok(entry) = self.by_call_id.find_entry(call.hash, |known| known.at == at) {
            entry.remove();
        }
        self.free.push(at);
        let serial = call.serial;
        if !call.announced.is_empty() {
            let (number, at_ns) = (self.number, self.now_ns);
            self.output.notices.push(Numbered { number, at_ns, notice: Notice::Release { serial } });
        }
        let closed = call.close();
        self.counters.ladder_overflow += u64::from(closed.call.ladder.not_kept);
        self.output.closed.push(closed);
    }
}

/// Methods that are nothing but a part of a call; BYE may stand alone where the capture begins late.
fn is_of_calls(method: Method) -> bool {
    matches!(method, Method::Invite | Method::Ack | Method::Cancel | Method::Prack | Method::Update)
}

fn text(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len());
    push_lossy(&mut text, octets);
    text
}

fn parties(call_id: &[u8], message: &Message<'_>) -> Parties {
    let agent = message.user_agent().unwrap_or_default();
    Parties {
        call_id: text(call_id),
        from: usual::uri_and_user(message.header(Header::From).unwrap_or_default()),
        to: usual::uri_and_user(message.header(Header::To).unwrap_or_default()),
        user_agent: text(agent),
    }
}

fn push_lossy(into: &mut String, octets: &[u8]) {
    match core::str::from_utf8(octets) {
        Ok(text) => into.push_str(text),
        Err(_) => into.push_str(&String::from_utf8_lossy(octets)),
    }
}

#[cfg(test)]
mod tests;
