//! The flow of a quota server by GTP' version 0 over UDP (the profile of `wire::gtpp`): the subscriber's profile, then
//! authorisation, re-authorisations and the stop of one service.

use super::answer::{Answer, Given, Unit};
use super::connection::State;
use super::driver::Driver;
use super::exchanges::{CopyKey, Exchange};
use super::kind::{Kind, is_success};
use super::request::Ask;
use super::sessions::{Grant, SessionKey};
use std::hash::{DefaultHasher, Hasher};
use trunkline_wire::diameter::result_code;
use trunkline_wire::gtpp::profile::{Field, FieldValue, QuotaMessage, Role};
use trunkline_wire::gtpp::{GtppError, Header, Message, Version, Writer, cause, message_type};

/// What tells a copy that was sent on purpose from the first one: both have the same sequence number.
pub const AGAIN: u32 = 1 << 16;
/// Requests of a thread that wait at a time: half of the sequence numbers that a connection has.
pub const WAITING_MAX: usize = 32_768;
/// Octets of a header before its sequence number.
const SEQUENCE_AT: usize = 4;
/// Elements of a request.
const VALUES: usize = 6;

fn role(kind: Kind) -> Role {
    match kind {
        Kind::Profile => Role::UserProfileRequest,
        Kind::Initial => Role::AuthorizationRequest,
        Kind::Update => Role::ReauthorizationRequest,
        Kind::Termination => Role::ServiceStopRequest,
        Kind::Event => Role::ContentAuthorizationRequest,
    }
}

fn unit_number(unit: Unit) -> u64 {
    match unit {
        Unit::Octets => 0,
        Unit::Seconds => 1,
        Unit::Service => 2,
    }
}

fn text(field: Field, text: &str) -> (Field, FieldValue<'_>) {
    (field, FieldValue::Octets(text.as_bytes()))
}

/// Appends a request as a message.
pub fn write(ask: &Ask<'_>, sequence: u32, out: &mut Vec<u8>) {
    let service = ask.plan.groups[0].to_string();
    let mut values = Vec::with_capacity(VALUES);
    values.push(text(Field::User, ask.subscriber));
    if ask.kind != Kind::Profile {
        values.push(text(Field::Session, ask.session_id));
        values.push(text(Field::Service, &service));
    }
    let reported = ask.services.first().and_then(|service| service.used);
    if let Some((used, reason)) = reported {
        values.push((Field::Used, FieldValue::Number(used.units)));
        values.push((Field::Unit, FieldValue::Number(unit_number(used.unit))));
        values.push((Field::Reason, FieldValue::Number(reason as u64)));
    } else if ask.kind == Kind::Termination {
        values.push((Field::Used, FieldValue::Number(0)));
    }
    let written = ask.plan.profile.write(role(ask.kind), sequence as u16, &values, out);
    debug_assert!(written.is_ok(), "names are bounded: {written:?}");
}

/// Appends a request once more, with this sequence number.
pub fn write_again(request: &[u8], sequence: u32, out: &mut Vec<u8>) {
    let at = out.len() + SEQUENCE_AT;
    out.extend_from_slice(request);
    if let Some(number) = out.get_mut(at..at + 2) {
        number.copy_from_slice(&(sequence as u16).to_be_bytes());
    }
}

/// Appends what asks a server whether it is there.
pub fn ask_echo(sequence: u32, out: &mut Vec<u8>) {
    let header = Header { version: Version::V0, kind: message_type::ECHO_REQUEST, sequence: sequence as u16 };
    let written = Writer::new(out, &header).finish();
    debug_assert!(written.is_ok(), "a header alone");
}

/// Reads an answer to a request of this kind; what it grants goes to `services`.
///
/// # Errors
/// It is none, told for a person.
fn read(
    message: &QuotaMessage<'_, '_>,
    kind: Kind,
    octets: &[u8],
    services: &mut Vec<Given>,
) -> Result<Answer, String> {
    services.clear();
    if role(kind).response() != Some(message.role) {
        return Err(format!("an answer that is none to a request of this type: {message}"));
    }
    let wrong = |e: GtppError| format!("an answer that cannot be read: {e}");
    let number = |field| message.number(field).map_err(wrong);
    let result = number(Field::Cause)?.and_then(|cause| u32::try_from(cause).ok()).unwrap_or(0);
    if let (Some(units), true) = (number(Field::Granted)?, is_success(result)) {
        let unit = match number(Field::Unit)? {
            Some(1) => Unit::Seconds,
            Some(2) => Unit::Service,
            _ => Unit::Octets,
        };
        services.push(Given { group: None, result: result_code::SUCCESS, units, unit, last: false });
    }
    let mut digest = DefaultHasher::new();
    digest.write(&octets[Header::OCTETS..]);
    Ok(Answer { result, kind: None, number: None, digest: digest.finish() })
}

impl Driver<'_> {
    /// A message of a quota server.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn quota_message(&mut self, at: usize, octets: &[u8], now_ns: u64) -> Result<(), String> {
        let message = Message::new(octets).map_err(|e| format!("what is no message: {e}"))?;
        let header = message.header;
        let greets = matches!(self.connections[at].state, State::Greeting(_));
        match (header.kind, greets) {
            (message_type::ECHO_RESPONSE, true) => self.opened(at, String::new()),
            (message_type::ECHO_REQUEST, _) => {
                let answer = Header { kind: message_type::ECHO_RESPONSE, ..header };
                if let Some(link) = &mut self.connections[at].link {
                    let written = Writer::new(link.outgoing(), &answer).recovery(0).finish();
                    debug_assert!(written.is_ok(), "one element");
                }
                self.tally.watchdogs += 1;
                self.touch(at);
            }
            (_, true) => {}
            _ => match self.plan.profile.read(&message) {
                Ok(quota) if quota.role.response().is_some() => self.quota_request(at, &quota),
                Ok(quota) => self.quota_answer(at, &quota, octets, now_ns),
                Err(e) => self.malformed(|| format!("what is no message of a quota server: {e}")),
            },
        }
        Ok(())
    }

    fn quota_answer(&mut self, at: usize, quota: &QuotaMessage<'_, '_>, octets: &[u8], now_ns: u64) {
        let key = |number| CopyKey::new(at as u32, number);
        let first = self.exchanges.take(key(u32::from(quota.sequence)));
        let Some(sent) = first.or_else(|| self.exchanges.take(key(u32::from(quota.sequence) | AGAIN))) else {
            self.tally.late += 1;
            return;
        };
        let kind = self.exchanges.get(sent.exchange).kind;
        let mut given = std::mem::take(&mut self.given);
        let answer = read(quota, kind, octets, &mut given);
        self.given = given;
        let answer = answer.unwrap_or_else(|why| {
            self.malformed(|| why);
            Answer::default()
        });
        self.take_answer(sent, &answer, now_ns);
    }

    /// A server pushes quota for a session, or wants back what it has left.
    fn quota_request(&mut self, at: usize, quota: &QuotaMessage<'_, '_>) {
        let named = quota.octets(Field::Session).and_then(|octets| std::str::from_utf8(octets).ok());
        let key = named.and_then(|id| self.session_of(id));
        let Some(response) = quota.role.response() else { return };
        let mut values = vec![(Field::Cause, FieldValue::Number(u64::from(cause::NOT_FULFILLED)))];
        if let Some(key) = key {
            values[0].1 = FieldValue::Number(u64::from(cause::REQUEST_ACCEPTED));
            let value = self.pushed(key, quota);
            values.extend(value.map(|units| (Field::Returned, FieldValue::Number(units))));
        }
        match quota.role {
            Role::QuotaPushRequest => self.tally.re_auths += 1,
            _ => self.tally.aborts += 1,
        }
        if let Some(link) = &mut self.connections[at].link {
            let written = self.plan.profile.write(response, quota.sequence, &values, link.outgoing());
            debug_assert!(written.is_ok(), "two numbers");
        }
        self.touch(at);
    }

    /// Adds what is pushed, or gives back what is left: how much.
    fn pushed(&mut self, key: SessionKey, quota: &QuotaMessage<'_, '_>) -> Option<u64> {
        let grant = self.sessions.grants_of(key.place).first_mut()?;
        if quota.role == Role::QuotaPushRequest {
            let units = quota.number(Field::Granted).ok().flatten().unwrap_or(0);
            *grant = Grant { units: grant.units.saturating_add(units), ..*grant };
            self.tally.granted += units;
            return None;
        }
        Some(std::mem::take(grant).units)
    }

    /// The next sequence number of a connection that no request waits with.
    pub(super) fn next_sequence(&mut self, at: usize) -> u32 {
        loop {
            let number = self.connections[at].next_hop_by_hop() & 0xffff;
            let waits = |number| self.exchanges.waits(CopyKey::new(at as u32, number));
            // At most half of them wait: this ends.
            if !waits(number) && !waits(number | AGAIN) {
                return number;
            }
        }
    }

    /// Sends a request again: to the same server with the same sequence number, which tells that it is a copy.
    pub(super) fn send_quota_again(&mut self, exchange: u32, at: usize, duplicate: bool) {
        let Exchange { sent_by: (before, number), .. } = *self.exchanges.get(exchange);
        let same = before == at as u32 && !self.exchanges.waits(CopyKey::new(at as u32, number | AGAIN));
        let (number, key) = match (same, duplicate) {
            (true, true) => (number, number | AGAIN),
            (true, false) if !self.exchanges.waits(CopyKey::new(before, number)) => (number, number),
            _ => {
                let number = self.next_sequence(at);
                (number, number)
            }
        };
        if !duplicate {
            self.exchanges.get(exchange).sent_by = (at as u32, number);
        }
        if let Some(link) = &mut self.connections[at].link {
            write_again(&self.exchanges.get(exchange).octets, number, link.outgoing());
        }
        self.register(exchange, at, key, duplicate);
    }
}
