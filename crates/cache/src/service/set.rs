//! Values that come: all at once, or piece by piece straight into the store.

use super::client::Share;
use super::connection::State;
use super::counters::Count;
use super::{Call, Go, Service, say};
use crate::protocol::binary::{Header, Opcode, Status};
use crate::protocol::meta;
use crate::protocol::text::{Mode, Set};
use crate::store::{Decision, Draft, ITEM_HEAD_OCTETS, KEY_OCTETS_MAX, Put, Refused, Value};

const TOO_LARGE: &[u8] = b"SERVER_ERROR object too large for cache";
const NO_MEMORY: &[u8] = b"SERVER_ERROR out of memory storing object";
const READ_NO_MEMORY: &[u8] = b"SERVER_ERROR Out of memory during read";
pub(super) const BAD_CHUNK: &[u8] = b"CLIENT_ERROR bad data chunk";

/// How a value is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Storing {
    pub mode: Mode,
    pub flags: u32,
    /// The second of the store's clock.
    pub expiry: u32,
    /// 0 compares with nothing.
    pub cas: u64,
    /// Whether the key came as base64.
    pub binary_key: bool,
    /// Whether an older number than the one there is stored, too, and stays stale.
    pub stale: bool,
}

/// What came of storing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    Done,
    /// The condition was not met.
    Unmet,
    Exists,
    NotFound,
    NoMemory,
}

/// How the answer is told.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Text {
        quiet: bool,
    },
    Meta {
        quiet: bool,
        binary_key: bool,
        /// The flags that are told back, parted by blanks.
        told: Vec<u8>,
    },
    Binary(Header),
}

/// A value that is on its way.
#[derive(Debug)]
pub(super) struct Incoming {
    key: Vec<u8>,
    storing: Storing,
    /// Gone when the value is whole.
    draft: Option<Draft>,
    share: Share,
    answer: Answer,
    /// The line's end behind a value of text.
    end: [u8; 2],
    end_octets: u8,
}

impl Service {
    /// A storage command whose value begins `input`.
    pub(super) fn set(&mut self, set: &Set<'_>, input: &[u8], call: &mut Call<'_>) -> (Go, State) {
        let &Set { mode, key, flags, octets, cas, quiet, .. } = set;
        let storing =
            Storing { mode, flags, expiry: call.now.expires(set.expiry), cas, binary_key: false, stale: false };
        self.value(key, storing, octets, &mut Answer::Text { quiet }, input, call)
    }

    /// The same of `ms`.
    pub(super) fn meta_set(&mut self, set: &meta::Set<'_>, input: &[u8], call: &mut Call<'_>) -> (Go, State) {
        let flags = &set.request.flags;
        let storing = Storing {
            mode: set.mode,
            flags: flags.client_flags,
            expiry: flags.expiry.map_or(0, |e| call.now.expires(e)),
            cas: flags.cas.unwrap_or(0),
            binary_key: set.request.key.is_binary(),
            stale: flags.invalidate && set.mode == Mode::Cas,
        };
        let mut told = Vec::new();
        for word in set.request.written().iter().filter(|w| matches!(w[0], b'O' | b'k' | b'c')) {
            told.extend_from_slice(if word[0] == b'O' { word } else { &word[..1] });
            told.push(b' ');
        }
        let mut answer = Answer::Meta { quiet: flags.quiet, binary_key: set.request.key.is_binary(), told };
        self.value(set.request.key.octets(), storing, set.octets, &mut answer, input, call)
    }

    /// Stores a value whose octets begin `input`, or begins to.
    #[inline]
    pub(super) fn value(
        &mut self,
        key: &[u8],
        storing: Storing,
        octets: u32,
        answer: &mut Answer,
        input: &[u8],
        call: &mut Call<'_>,
    ) -> (Go, State) {
        self.shared.set_seen(key);
        self.hot.see(key, call.now);
        let end = if matches!(answer, Answer::Binary(_)) { 0 } else { 2 };
        let whole = octets as usize + end;
        if key.len() as u64 + u64::from(octets) + ITEM_HEAD_OCTETS > self.item_octets_max {
            return self.refuse(key, &storing, answer, Refused::TooLarge, whole as u64, call);
        }
        if input.len() >= whole {
            let good = end == 0 || input[octets as usize..whole] == *b"\r\n";
            self.complete(key, storing, Value::Octets(&input[..octets as usize]), good, answer, call);
            return (Go::On(whole), State::Ready);
        }
        let mut share = Share::of(call.client);
        if !share.grow(0, u64::from(octets), self.shared.settings.incoming_octets_max) {
            self.counters.add(Count::AddressFull, 1);
            return self.refuse(key, &storing, answer, Refused::NoMemory, whole as u64, call);
        }
        let draft = match self.writer.draft(key.len(), u64::from(octets)) {
            Ok(draft) => draft,
            Err(refused) => return self.refuse(key, &storing, answer, refused, whole as u64, call),
        };
        let answer = std::mem::replace(answer, Answer::Text { quiet: true });
        let draft = Some(draft);
        let incoming = Incoming { key: key.to_vec(), storing, draft, share, answer, end: [0; 2], end_octets: 0 };
        (Go::On(0), State::Incoming(Box::new(incoming)))
    }

    /// Refuses a value before it came, and passes over it.
    fn refuse(
        &mut self,
        key: &[u8],
        storing: &Storing,
        answer: &Answer,
        refused: Refused,
        swallow: u64,
        call: &mut Call<'_>,
    ) -> (Go, State) {
        let (count, text, status) = match refused {
            Refused::TooLarge => (Count::TooLarge, TOO_LARGE, Status::TooLarge),
            Refused::NoMemory => (Count::NoMemory, NO_MEMORY, Status::NoMemory),
        };
        self.counters.add(count, 1);
        // What was there before must not be taken for what was to replace it. `ms` does so whatever its mode.
        if storing.mode == Mode::Set || matches!(answer, Answer::Meta { .. }) {
            self.remove(key, call);
        }
        let name = if refused == Refused::TooLarge { "too_large" } else { "no_memory" };
        self.shared.stored(key, name, storing, 0, call);
        match answer {
            Answer::Text { quiet: true } => {}
            Answer::Text { .. } | Answer::Meta { .. } => say(call.out, text),
            Answer::Binary(header) if refused == Refused::NoMemory => {
                super::binary::fail_with(header, status, b"Out of memory allocating item", call.out);
            }
            Answer::Binary(header) => super::binary::fail(header, status, call.out),
        }
        (Go::On(0), State::Swallow(swallow))
    }

    /// More of a value.
    pub(super) fn incoming(
        &mut self,
        incoming: &mut Incoming,
        input: &[u8],
        call: &mut Call<'_>,
    ) -> (Go, Option<State>) {
        let missing = usize::try_from(incoming.missing()).unwrap_or(usize::MAX);
        let mut used = missing.min(input.len());
        if let Some(draft) = incoming.draft.as_mut().filter(|_| used > 0) {
            let most = self.shared.settings.incoming_octets_max;
            let came = draft.octets() + used as u64;
            if !incoming.share.grow(came, draft.missing() - used as u64, most) {
                self.counters.add(Count::AddressFull, 1);
                return self.give_up(incoming, call);
            }
            if draft.append(&mut self.writer, &input[..used]).is_err() {
                return self.give_up(incoming, call);
            }
        }
        let ends = if matches!(incoming.answer, Answer::Binary(_)) { 0 } else { 2 };
        while incoming.missing() == 0 && incoming.end_octets < ends && used < input.len() {
            incoming.end[usize::from(incoming.end_octets)] = input[used];
            incoming.end_octets += 1;
            used += 1;
        }
        if incoming.missing() > 0 || incoming.end_octets < ends {
            return (Go::Wait(used), None);
        }
        let value = incoming.draft.take().map_or(Value::Octets(b""), Value::Draft);
        let good = ends == 0 || incoming.end == *b"\r\n";
        let key = std::mem::take(&mut incoming.key);
        self.complete(&key, incoming.storing, value, good, &incoming.answer, call);
        (Go::On(used), Some(State::Ready))
    }

    /// There is no memory for what comes: the rest is passed over.
    fn give_up(&mut self, incoming: &mut Incoming, call: &mut Call<'_>) -> (Go, Option<State>) {
        self.counters.add(Count::NoMemory, 1);
        let mut rest = incoming.missing();
        match &incoming.answer {
            Answer::Text { quiet: true } => rest += 2,
            Answer::Text { .. } | Answer::Meta { .. } => {
                say(call.out, READ_NO_MEMORY);
                rest += 2;
            }
            Answer::Binary(header) => {
                super::binary::fail_with(header, Status::NoMemory, b"Out of memory during read", call.out);
            }
        }
        if incoming.storing.mode == Mode::Set {
            let key = std::mem::take(&mut incoming.key);
            self.remove(&key, call);
        }
        (Go::On(0), Some(State::Swallow(rest)))
    }

    /// All of a value is here: stores it, unless its end is not where it should be, and answers.
    #[inline]
    fn complete(
        &mut self,
        key: &[u8],
        storing: Storing,
        value: Value<'_>,
        good: bool,
        answer: &Answer,
        call: &mut Call<'_>,
    ) {
        self.counters.add(Count::Set, 1);
        if !good {
            match answer {
                Answer::Text { quiet: true } => {}
                _ => say(call.out, BAD_CHUNK),
            }
            return;
        }
        let octets = match &value {
            Value::Octets(octets) => octets.len() as u64,
            Value::Draft(draft) => draft.octets(),
            Value::None => 0,
        };
        let (stored, cas) = self.store(key, &storing, value, call);
        if self.shared.listens() {
            self.shared.stored(key, stored.name(), &storing, octets, call);
        }
        match answer {
            Answer::Text { quiet: true } => {}
            Answer::Text { .. } => say(call.out, stored.text()),
            Answer::Meta { quiet, binary_key, told } => {
                meta_answer(stored, cas, *quiet, *binary_key, key, told, call.out)
            }
            Answer::Binary(header) => binary_answer(stored, cas, header, call.out),
        }
    }

    /// Stores a value as its mode wants, and counts how it went.
    #[inline]
    pub(super) fn store(&mut self, key: &[u8], storing: &Storing, value: Value<'_>, call: &Call<'_>) -> (Stored, u64) {
        let &Storing { mode, flags, expiry, cas, binary_key, stale } = storing;
        let put = Put { flags, expiry, binary_key, ..Put::default() };
        let changed = self.writer.change(key, value, call.now.second, |old, _| match (mode, old) {
            (Mode::Set, _) | (Mode::Add, None) | (Mode::Replace, Some(_)) => (Decision::Put(put), Stored::Done),
            (Mode::Add, Some(_)) | (Mode::Replace | Mode::Append | Mode::Prepend, None) => {
                (Decision::Keep, Stored::Unmet)
            }
            (Mode::Cas, None) => (Decision::Keep, Stored::NotFound),
            (Mode::Cas, Some(old)) if cas != 0 && cas == old.cas() => (Decision::Put(put), Stored::Done),
            (Mode::Cas, Some(old)) if stale && cas != 0 && cas < old.cas() => {
                // Late, and welcome all the same: it lives no longer than what it replaces, and stays stale.
                let put = Put { expiry: old.expiry(), stale: true, won: old.is_won(), ..put };
                (Decision::Put(put), Stored::Done)
            }
            (_, Some(old)) if mode == Mode::Cas || (cas != 0 && cas != old.cas()) => (Decision::Keep, Stored::Exists),
            (_, Some(old)) => {
                let put = Put { flags: old.flags(), expiry: old.expiry(), ..Put::default() };
                (if mode == Mode::Append { Decision::Append(put) } else { Decision::Prepend(put) }, Stored::Done)
            }
        });
        let stored = match changed {
            Ok(changed) => (changed.told, changed.cas),
            Err(_) if matches!(mode, Mode::Append | Mode::Prepend) => (Stored::Unmet, 0),
            Err(_) => {
                self.counters.add(Count::NoMemory, 1);
                if mode == Mode::Set {
                    self.remove(key, call);
                }
                (Stored::NoMemory, 0)
            }
        };
        if mode == Mode::Cas {
            self.count_cas(stored.0);
        }
        stored
    }

    fn count_cas(&self, stored: Stored) {
        match stored {
            Stored::Done => self.counters.add(Count::CasHit, 1),
            Stored::NotFound => self.counters.add(Count::CasMiss, 1),
            Stored::Exists => self.counters.add(Count::CasBadValue, 1),
            Stored::Unmet | Stored::NoMemory => {}
        }
    }

    fn remove(&mut self, key: &[u8], call: &Call<'_>) {
        if key.len() <= KEY_OCTETS_MAX {
            // Removing needs no memory, and so cannot be refused.
            let _ = self.writer.change(key, Value::None, call.now.second, |_, _| (Decision::Delete, ()));
        }
    }
}

impl Incoming {
    /// Whether nobody waits for a line of text that says how it went.
    pub(super) fn is_quiet(&self) -> bool {
        matches!(self.answer, Answer::Text { quiet: true } | Answer::Binary(_))
    }

    /// Octets of the value that are still to come.
    fn missing(&self) -> u64 {
        self.draft.as_ref().map_or(0, Draft::missing)
    }
}

impl Stored {
    fn text(self) -> &'static [u8] {
        match self {
            Stored::Done => b"STORED",
            Stored::Unmet => b"NOT_STORED",
            Stored::Exists => b"EXISTS",
            Stored::NotFound => b"NOT_FOUND",
            Stored::NoMemory => NO_MEMORY,
        }
    }

    /// As lines of `watch mutations` call it.
    fn name(self) -> &'static str {
        match self {
            Stored::Done => "stored",
            Stored::Unmet => "not_stored",
            Stored::Exists => "exists",
            Stored::NotFound => "not_found",
            Stored::NoMemory => "no_memory",
        }
    }
}

fn meta_answer(stored: Stored, cas: u64, quiet: bool, binary_key: bool, key: &[u8], told: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(match stored {
        Stored::Done if quiet => return,
        Stored::Done => b"HD",
        Stored::Unmet => b"NS",
        Stored::Exists => b"EX",
        Stored::NotFound => b"NF",
        Stored::NoMemory => return say(out, NO_MEMORY),
    });
    // What was not stored has no number.
    let cas = if stored == Stored::Done { cas } else { 0 };
    for word in told.split(|&o| o == b' ').filter(|w| !w.is_empty()) {
        match word {
            b"k" => super::meta::tell_key(key, binary_key, out),
            b"c" => super::meta::tell_number(b'c', cas, out),
            opaque => super::meta::tell_word(opaque, out),
        }
    }
    out.extend_from_slice(b"\r\n");
}

fn binary_answer(stored: Stored, cas: u64, header: &Header, out: &mut Vec<u8>) {
    let status = match (stored, header.opcode) {
        (Stored::Done, _) if header.quiet => return,
        (Stored::Done, _) => return super::binary::done(header, cas, out),
        (Stored::Exists, _) | (Stored::Unmet, Opcode::Add) => Status::Exists,
        (Stored::NotFound, _) | (Stored::Unmet, Opcode::Replace) => Status::NotFound,
        (Stored::Unmet, _) => Status::NotStored,
        (Stored::NoMemory, _) => Status::NoMemory,
    };
    super::binary::fail(header, status, out);
}
