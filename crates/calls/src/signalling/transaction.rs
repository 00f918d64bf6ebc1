//! Transactions outside calls: registrations with their challenges, and single requests with their response times.

use super::deadlines::Deadlines;
use super::told::Told;
use super::usual::uri_and_user;
use super::{Incoming, Output, SignallingCounters, text};
use crate::limits::{LINGER_NS, TRANSACTIONS_MAX};
use crate::verdict::registration_verdict;
use core::hash::{BuildHasher, Hasher};
use hashbrown::{DefaultHashBuilder, HashMap};
use trunkline_kit::Id;
use trunkline_store::row::{Registration, SipEvent};
use trunkline_wire::Endpoint;
use trunkline_wire::sip::{Header, Message, Method, StartLine, grammar};

/// A registration in progress.
#[derive(Debug)]
pub struct Registering {
    /// The row so far.
    pub row: Registration,
    /// A request carried credentials.
    pub credentials: bool,
    /// How often in a row credentials were refused for nothing but their nonce (RFC 7616 section 3.3, stale).
    pub stale: u32,
    /// From the last challenge to the credentials that met it, nanoseconds; none if the challenge was not seen.
    pub met_after_ns: Option<i64>,
    /// Numbers of the packets with the last request and the last final response.
    pub packets: [u64; 2],
    last_print: u32,
    /// The last request's CSeq, who sent it first, and whether it was answered.
    cseq: u32,
    asked_by: Endpoint,
    answered: bool,
    /// The last request carried credentials.
    asked_with: bool,
    challenged_ns: Option<i64>,
}

#[derive(Debug)]
enum Kind {
    Registration(Box<Registering>),
    Event(Box<SipEvent>, u32),
}

#[derive(Debug)]
struct Pending {
    deadline_ns: i64,
    kind: Kind,
}

/// All transactions in progress, by a 128-bit hash of what names them.
#[derive(Debug, Default)]
pub struct Transactions {
    table: HashMap<u128, Pending>,
    deadlines: Deadlines<u128>,
    /// Ties between deadlines are broken by order of arrival, never by the table's hash.
    arrivals: u64,
    hashers: [DefaultHashBuilder; 2],
}

impl Transactions {
    /// Takes a message that belongs to no call, or to a call but with a response time worth keeping.
    #[inline(never)]
    pub fn handle(
        &mut self,
        from: &Incoming<'_>,
        message: &Message<'_>,
        call_id: &[u8],
        told: &Told<'_>,
        output: &mut Output,
        counters: &mut SignallingCounters,
    ) {
        let key = self.key(call_id, message, told);
        if let Some(pending) = self.table.get(&key)
            && (pending.deadline_ns < from.at_ns || pending.is_renewed_by(told))
        {
            self.close(key, output);
        }
        if !self.table.contains_key(&key) {
            if self.table.len() >= TRANSACTIONS_MAX {
                counters.transactions_overflow += 1;
                self.close_nearest(output);
            }
            let kind = begin(from, message, call_id, told);
            self.arrivals += 1;
            self.deadlines.push(from.at_ns, self.arrivals, key);
            self.table.insert(key, Pending { deadline_ns: from.at_ns, kind });
        }
        let Some(pending) = self.table.get_mut(&key) else { return };
        pending.deadline_ns = from.at_ns.saturating_add(LINGER_NS);
        match &mut pending.kind {
            Kind::Registration(r) => r.message(from, message, told, counters),
            Kind::Event(row, print) => event_message(row, print, from, told, counters),
        }
    }

    fn key(&self, call_id: &[u8], message: &Message<'_>, told: &Told<'_>) -> u128 {
        let half = |builder: &DefaultHashBuilder| {
            let mut hasher = builder.build_hasher();
            hasher.write(call_id);
            hasher.write_u8(told.method as u8);
            if told.method != Method::Register {
                hasher.write_u32(told.cseq);
                hasher.write_u64(told.tags.from);
            }
            if told.method == Method::Other {
                hasher.write(message.method_name());
            }
            hasher.finish()
        };
        u128::from(half(&self.hashers[0])) << 64 | u128::from(half(&self.hashers[1]))
    }

    /// Closes what is over by `now_ns`, in the order in which it was over.
    pub fn tick(&mut self, now_ns: i64, output: &mut Output) {
        // At the end of the input all are over, even those beyond the end of time.
        let over = |d: &mut Deadlines<u128>| if now_ns == i64::MAX { d.pop() } else { d.pop_before(now_ns) };
        while let Some((deadline, arrival, key)) = over(&mut self.deadlines) {
            match self.table.get(&key).map(|p| p.deadline_ns) {
                Some(later) if later > deadline => self.deadlines.push(later, arrival, key),
                Some(_) => self.close(key, output),
                None => {}
            }
        }
    }

    fn close_nearest(&mut self, output: &mut Output) {
        while let Some((_, _, key)) = self.deadlines.pop() {
            if self.table.contains_key(&key) {
                return self.close(key, output);
            }
        }
    }

    fn close(&mut self, key: u128, output: &mut Output) {
        match self.table.remove(&key).map(|p| p.kind) {
            Some(Kind::Registration(mut r)) => {
                r.row.verdict = registration_verdict(&r);
                output.registrations.push(r.row);
            }
            Some(Kind::Event(row, _)) => output.events.push(*row),
            None => {}
        }
    }
}

impl Pending {
    /// A REGISTER with another CSeq after the result renews the binding: a registration of its own.
    fn is_renewed_by(&self, told: &Told<'_>) -> bool {
        let Kind::Registration(r) = &self.kind else { return false };
        told.status() == 0 && told.cseq != r.cseq && !matches!(r.row.code, 0 | 401 | 407)
    }
}

impl Registering {
    fn message(
        &mut self,
        from: &Incoming<'_>,
        message: &Message<'_>,
        told: &Told<'_>,
        counters: &mut SignallingCounters,
    ) {
        match *told.start {
            StartLine::Request { .. } => {
                self.row.requests = self.row.requests.saturating_add(1);
                if told.print == self.last_print && told.cseq == self.cseq && from.src == self.row.src {
                    self.row.retransmissions += 1;
                    counters.retransmissions += 1;
                }
                if told.cseq != self.cseq {
                    // After a challenge the client may go on from another port: IMS sends it through IPsec.
                    (self.asked_by, self.answered) = (from.src, false);
                    self.met_after_ns = self.challenged_ns.map(|challenged| from.at_ns - challenged);
                }
                (self.last_print, self.cseq) = (told.print, told.cseq);
                self.asked_with = carries_credentials(message);
                self.credentials |= self.asked_with;
                self.packets[0] = from.number;
            }
            StartLine::Response { status, reason } if status >= 200 => {
                // On a path of several hops the first hop's answer is the one that the client sees.
                if told.cseq == self.cseq && (!self.answered || from.dst == self.asked_by) {
                    self.answered = true;
                    (self.row.end_ns, self.row.code, self.row.reason) = (Some(from.at_ns), status, text(reason));
                    self.packets[1] = from.number;
                    self.challenged(from.at_ns, status, reason, message);
                }
            }
            StartLine::Response { .. } => {}
        }
    }

    fn challenged(&mut self, at_ns: i64, status: u16, reason: &[u8], message: &Message<'_>) {
        let challenge = match status {
            401 => Header::WwwAuthenticate,
            407 => Header::ProxyAuthenticate,
            _ => return,
        };
        self.challenged_ns = Some(at_ns);
        if self.asked_with {
            let stale = message.values(challenge).any(says_stale) || speaks_of_nonce(reason);
            self.stale = if stale { self.stale.saturating_add(1) } else { 0 };
        }
    }
}

/// `stale=true` among the parts of a challenge (RFC 7616 section 3.3): the credentials were right for a nonce that is
/// too old. Anything but `true` says that user name or password are wrong.
pub fn says_stale(part: &[u8]) -> bool {
    let mut halves = part.splitn(2, |o| *o == b'=').map(grammar::trim);
    let (name, value) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
    // The scheme stands before the first part.
    let name = name.rsplit(|o| grammar::is_space(*o)).next().unwrap_or_default();
    name.eq_ignore_ascii_case(b"stale") && grammar::unquote(value).eq_ignore_ascii_case(b"true")
}

/// Field: SIP Express Router says `stale=false` and `401 nonce has changed`.
pub fn speaks_of_nonce(reason: &[u8]) -> bool {
    let found = |word: &[u8]| reason.windows(word.len()).any(|w| w.eq_ignore_ascii_case(word));
    found(b"nonce") || found(b"stale")
}

/// Credentials with an answer to a challenge. The first REGISTER of an IMS client names its user in an Authorization
/// header with `response=""` (3GPP TS 24.229, 5.1.1.2.2): nothing there to be refused.
#[inline(never)]
pub fn carries_credentials(message: &Message<'_>) -> bool {
    let empty = |value: &[u8]| memchr::memmem::find(value, b"response=\"\"").is_some();
    let headers = [Header::Authorization, Header::ProxyAuthorization];
    headers.iter().filter_map(|h| message.header(*h)).any(|value| !empty(value))
}

fn event_message(
    row: &mut SipEvent,
    print: &mut u32,
    from: &Incoming<'_>,
    told: &Told<'_>,
    counters: &mut SignallingCounters,
) {
    match *told.start {
        StartLine::Request { .. } => {
            if *print == told.print && row.start_ns != from.at_ns && from.src == row.src {
                row.retransmissions = row.retransmissions.saturating_add(1);
                counters.retransmissions += 1;
            }
        }
        StartLine::Response { status, reason } if status >= 200 => {
            if row.end_ns.is_none() || from.dst == row.src {
                (row.end_ns, row.code, row.reason) = (Some(from.at_ns), status, text(reason));
            }
        }
        StartLine::Response { .. } => {}
    }
}

fn begin(from: &Incoming<'_>, message: &Message<'_>, call_id: &[u8], told: &Told<'_>) -> Kind {
    let (src, dst) = if told.status() == 0 { (from.src, from.dst) } else { (from.dst, from.src) };
    let (aor, user) = uri_and_user(message.header(Header::To).unwrap_or_default());
    if told.method == Method::Register {
        let contact = message.contact();
        let asked = contact.as_ref().and_then(|c| c.expires()).or_else(|| message.expires());
        return Kind::Registration(Box::new(Registering {
            row: Registration {
                id: Id::derive(from.at_ns, call_id),
                sip_call_id: text(call_id),
                aor,
                user,
                contact: contact.as_ref().map(|c| text(c.address.uri)).unwrap_or_default(),
                expires: asked,
                start_ns: from.at_ns,
                src,
                dst,
                user_agent: text(message.header(Header::UserAgent).unwrap_or_default()),
                ..Registration::default()
            },
            credentials: false,
            stale: 0,
            met_after_ns: None,
            packets: [0; 2],
            last_print: 0,
            cseq: told.cseq,
            asked_by: src,
            answered: false,
            asked_with: false,
            challenged_ns: None,
        }));
    }
    let name = message.method_name();
    // Two ends of one dialog may send the same method with the same number at the same moment.
    let from_tag = message.from().tag().unwrap_or_default();
    let mut named = Vec::with_capacity(call_id.len() + name.len() + 4 + from_tag.len());
    for part in [call_id, name, &told.cseq.to_be_bytes(), from_tag] {
        named.extend_from_slice(part);
    }
    let row = SipEvent {
        id: Id::derive(from.at_ns, &named),
        method: text(name),
        sip_call_id: text(call_id),
        from: uri_and_user(message.header(Header::From).unwrap_or_default()).1,
        to: user,
        start_ns: from.at_ns,
        src,
        dst,
        ..SipEvent::default()
    };
    Kind::Event(Box::new(row), told.print)
}
