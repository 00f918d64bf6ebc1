//! The binary protocol carried out.

use super::connection::State;
use super::counters::Count;
use super::delta::{Step, Stepped};
use super::outgoing::{Outgoing, Told, tell};
use super::set::{Answer, Storing};
use super::{Call, Go, Service};
use crate::protocol::binary::{HEADER_OCTETS, Header, Lengths, NO_INITIAL, Opcode, REQUEST, Status};
use crate::protocol::text::{KEY_OCTETS_MAX, Mode};
use crate::store::{Decision, Marks, Refused, Seen, Touch, Value};

/// Octets of header, extras and key of a request that may be good; what says more is refused without waiting for it.
const BEFORE_VALUE_MAX: usize = HEADER_OCTETS + u8::MAX as usize + KEY_OCTETS_MAX + 1;

/// A request whose header, extras and key are here.
struct Request<'a> {
    header: Header,
    extras: &'a [u8],
    key: &'a [u8],
}

impl Request<'_> {
    /// Four octets of the extras.
    fn word(&self, at: usize) -> u32 {
        self.extras.get(at..at + 4).and_then(|o| o.first_chunk()).map_or(0, |o| u32::from_be_bytes(*o))
    }

    /// Eight octets of the extras.
    fn long(&self, at: usize) -> u64 {
        u64::from(self.word(at)) << 32 | u64::from(self.word(at + 4))
    }
}

impl Service {
    /// The request that `input` begins with.
    pub(super) fn binary(&mut self, input: &[u8], call: &mut Call<'_>) -> (Go, State) {
        if input[0] != REQUEST {
            return (Go::Close(0), State::Ready);
        }
        let Some(header) = Header::read(input) else { return (Go::Wait(0), State::Ready) };
        let before_value = header.before_value();
        if input.len() < before_value.min(BEFORE_VALUE_MAX) {
            return (Go::Wait(0), State::Ready);
        }
        if let Some(status) = refusal(&header) {
            fail(&header, status, call.out);
            return (Go::Close(before_value.min(input.len())), State::Ready);
        }
        let (extras, key) = input[HEADER_OCTETS..before_value].split_at(usize::from(header.extras_octets));
        let (go, state) = self.request(&Request { header, extras, key }, &input[before_value..], call);
        (go.after(before_value), state)
    }

    /// A request with its key; its value begins `input`.
    fn request(&mut self, request: &Request<'_>, input: &[u8], call: &mut Call<'_>) -> (Go, State) {
        let header = &request.header;
        let value = u64::from(header.value_octets().unwrap_or(0));
        match header.opcode {
            Opcode::Get | Opcode::GetKey | Opcode::Touch | Opcode::GetAndTouch | Opcode::GetKeyAndTouch => {
                return (Go::On(0), self.binary_get(request, call));
            }
            Opcode::Set | Opcode::Add | Opcode::Replace | Opcode::Append | Opcode::Prepend => {
                return self.binary_set(request, input, call);
            }
            Opcode::Delete => self.binary_delete(request, call),
            Opcode::Increment | Opcode::Decrement => self.binary_delta(request, call),
            Opcode::Noop => done(header, 0, call.out),
            Opcode::Version => body(header, self.shared.settings.version.as_bytes(), call.out),
            Opcode::Quit => {
                if !header.quiet {
                    done(header, 0, call.out);
                }
                return (Go::Close(0), State::Ready);
            }
            Opcode::Flush => self.binary_flush(request, call),
            Opcode::Stat => self.binary_stats(header, request.key, call),
            // Without SASL these are no commands, as in memcached without `-S`.
            Opcode::SaslList | Opcode::SaslAuth | Opcode::Unknown => {
                fail(header, Status::UnknownCommand, call.out);
                return (Go::On(0), State::Swallow(value));
            }
        }
        (Go::On(0), State::Ready)
    }

    fn binary_get(&mut self, request: &Request<'_>, call: &mut Call<'_>) -> State {
        let header = &request.header;
        let (start, second, key) = (call.out.len(), call.now.second, request.key);
        self.hot.see(key, call.now);
        let out = &mut *call.out;
        let mut octets = 0;
        let mut look = |seen: &Seen<'_>| {
            out.truncate(start);
            octets = seen.value_octets();
            tell_value(header, key, seen, out).inspect_err(|_| out.truncate(start))
        };
        let (told, hit, miss) = match header.opcode {
            Opcode::Get | Opcode::GetKey => (self.writer.read(key, second, Touch::Yes, look), Count::Hit, Count::Miss),
            _ => {
                let expiry = Some(call.now.expires_unsigned(request.word(0)));
                let marks = Marks { expiry, touch: true, ..Marks::default() };
                let changed = self.writer.change(key, Value::None, second, |old, _| {
                    (if old.is_some() { Decision::Mark(marks) } else { Decision::Keep }, old.map(&mut look))
                });
                (changed.map_or_else(|refused| Some(Err(refused)), |c| c.told), Count::TouchHit, Count::TouchMiss)
            }
        };
        self.counters.add(if told.is_some() { hit } else { miss }, 1);
        if self.shared.listens() {
            self.shared.fetched(key, told.is_some(), octets, call);
        }
        match told {
            Some(Ok(Told::Whole)) => {}
            Some(Ok(Told::Held(hold))) => return Outgoing::state(hold, b"", None),
            Some(Err(_)) => fail(header, Status::NoMemory, call.out),
            None if header.quiet => {}
            None if matches!(header.opcode, Opcode::GetKey | Opcode::GetKeyAndTouch) => {
                let lengths = Lengths { key: header.key_octets, ..Lengths::default() };
                header.answer(Status::NotFound, lengths, 0, call.out);
                call.out.extend_from_slice(key);
            }
            None => fail(header, Status::NotFound, call.out),
        }
        State::Ready
    }

    fn binary_set(&mut self, request: &Request<'_>, input: &[u8], call: &mut Call<'_>) -> (Go, State) {
        let header = request.header;
        let mode = match header.opcode {
            Opcode::Append => Mode::Append,
            Opcode::Prepend => Mode::Prepend,
            _ if header.cas != 0 => Mode::Cas,
            Opcode::Add => Mode::Add,
            Opcode::Replace => Mode::Replace,
            _ => Mode::Set,
        };
        let expiry = call.now.expires_unsigned(request.word(4));
        let storing =
            Storing { mode, flags: request.word(0), expiry, cas: header.cas, binary_key: false, stale: false };
        let octets = header.value_octets().unwrap_or(0);
        self.value(request.key, storing, octets, &mut Answer::Binary(header), input, call)
    }

    fn binary_delete(&mut self, request: &Request<'_>, call: &mut Call<'_>) {
        let header = &request.header;
        let status = self.delete(request.key, header.cas, call);
        match status {
            Status::Done if header.quiet => {}
            Status::Done => done(header, 0, call.out),
            status => fail(header, status, call.out),
        }
    }

    fn binary_delta(&mut self, request: &Request<'_>, call: &mut Call<'_>) {
        let header = &request.header;
        let expiry = request.word(16);
        let step = Step {
            delta: request.long(0),
            up: header.opcode == Opcode::Increment,
            cas: header.cas,
            initial: (expiry != NO_INITIAL).then(|| (request.long(8), call.now.expires_unsigned(expiry))),
            expiry: None,
        };
        match self.step(request.key, &step, call) {
            Stepped::Done(_) if header.quiet => {}
            Stepped::Done(number) => {
                header.answer(Status::Done, Lengths { value: 8, ..Lengths::default() }, number.cas, call.out);
                call.out.extend_from_slice(&number.value.to_be_bytes());
            }
            Stepped::NotNumeric => fail(header, Status::NotNumeric, call.out),
            Stepped::NotFound => fail(header, Status::NotFound, call.out),
            Stepped::Exists => fail(header, Status::Exists, call.out),
            Stepped::NoMemory => {
                fail_with(header, Status::NoMemory, b"Out of memory incrementing value", call.out);
            }
        }
    }

    fn binary_flush(&mut self, request: &Request<'_>, call: &mut Call<'_>) {
        if !self.may_flush() {
            return fail(&request.header, Status::AuthError, call.out);
        }
        self.flush(call.now.expires_unsigned(request.word(0)), call);
        if !request.header.quiet {
            done(&request.header, 0, call.out);
        }
    }
}

/// What is wrong with the lengths of a request; it is told before the connection is closed.
fn refusal(header: &Header) -> Option<Status> {
    match header.value_octets() {
        None => Some(Status::UnknownCommand),
        Some(_) if usize::from(header.key_octets) > KEY_OCTETS_MAX || !header.is_shaped() => Some(Status::Invalid),
        Some(_) => None,
    }
}

/// Tells flags, key and value as the opcode wants.
#[inline]
fn tell_value(header: &Header, key: &[u8], seen: &Seen<'_>, out: &mut Vec<u8>) -> Result<Told, Refused> {
    let with_key = matches!(header.opcode, Opcode::GetKey | Opcode::GetKeyAndTouch);
    let with_value = header.opcode != Opcode::Touch;
    let lengths = Lengths {
        extras: 4,
        key: if with_key { header.key_octets } else { 0 },
        value: if with_value { seen.value_octets() as u32 } else { 0 },
    };
    header.answer(Status::Done, lengths, seen.cas(), out);
    out.extend_from_slice(&seen.flags().to_be_bytes());
    if with_key {
        out.extend_from_slice(key);
    }
    if with_value { tell(seen, b"", out) } else { Ok(Told::Whole) }
}

/// An answer with nothing but its header.
pub(super) fn done(header: &Header, cas: u64, out: &mut Vec<u8>) {
    header.answer(Status::Done, Lengths::default(), cas, out);
}

/// An answer of a value.
fn body(header: &Header, value: &[u8], out: &mut Vec<u8>) {
    header.answer(Status::Done, Lengths { value: value.len() as u32, ..Lengths::default() }, 0, out);
    out.extend_from_slice(value);
}

/// An answer that says what went wrong.
pub(super) fn fail(header: &Header, status: Status, out: &mut Vec<u8>) {
    fail_with(header, status, status.text(), out);
}

/// The same in words of its own.
pub(super) fn fail_with(header: &Header, status: Status, text: &[u8], out: &mut Vec<u8>) {
    header.answer(status, Lengths { value: text.len() as u32, ..Lengths::default() }, 0, out);
    out.extend_from_slice(text);
}
