//! The meta commands carried out.

use super::connection::State;
use super::counters::Count;
use super::delta::{NOT_NUMERIC, Step, Stepped};
use super::outgoing::{Outgoing, Told, tell};
use super::{Call, Go, Service, say};
use crate::protocol::meta::{Command, Key, OPAQUE_OCTETS_MAX, OPAQUE_TOO_LONG, Request};
use crate::protocol::{base64, number};
use crate::store::{Cas, Decision, Marks, Put, Refused, Seen, Touch, Value};

const OUT_OF_MEMORY: &[u8] = b"SERVER_ERROR out of memory writing get response";

/// What an item is to `mg`.
struct Look {
    octets: u64,
    flags: u32,
    cas: u64,
    expiry: u32,
    last_use: u32,
    fetched: bool,
    stale: bool,
    won: bool,
    binary_key: bool,
    /// Whether `mg` made it just now.
    created: bool,
}

/// What `mg` does to the item that it told.
#[derive(Clone, Copy, Default)]
struct Effect {
    expiry: Option<u32>,
    wins: bool,
    opaque_too_long: bool,
}

/// How a lookup went.
enum Looked {
    Miss,
    Created,
    Told(Result<Told, Refused>, Effect),
    /// The item has to be marked, and was only read.
    Unmarked,
}

impl Service {
    /// Carries out a meta command; what comes behind its line begins `input`.
    pub(super) fn meta(&mut self, command: &Command<'_>, input: &[u8], call: &mut Call<'_>) -> (Go, State) {
        match command {
            Command::Get(request) => return (Go::On(0), self.meta_get(request, call)),
            Command::Set(set) => return self.meta_set(set, input, call),
            Command::Delete(request) => self.meta_delete(request, call),
            Command::Delta(request, up) => self.meta_delta(request, *up, call),
            Command::Debug(key) => self.debug(key, call),
            Command::Nothing => say(call.out, b"MN"),
        }
        (Go::On(0), State::Ready)
    }

    fn meta_get(&mut self, request: &Request<'_>, call: &mut Call<'_>) -> State {
        self.hot.see(request.key.octets(), call.now);
        let flags = &request.flags;
        let start = call.out.len();
        let changes = flags.vivify.is_some() || flags.expiry.is_some() || flags.recache.is_some();
        let mut looked = if changes { Looked::Unmarked } else { self.meta_read(request, call) };
        if matches!(looked, Looked::Unmarked) {
            looked = self.meta_change(request, call);
        }
        self.count_meta_get(&looked);
        if self.shared.listens() {
            let found = !matches!(looked, Looked::Miss | Looked::Created);
            self.shared.fetched(request.key.octets(), found, 0, call);
        }
        match looked {
            Looked::Told(_, Effect { opaque_too_long: true, .. }) => {
                call.out.truncate(start);
                say(call.out, OPAQUE_TOO_LONG);
            }
            Looked::Told(Ok(Told::Held(hold)), _) => return Outgoing::state(hold, b"\r\n", None),
            Looked::Told(Ok(Told::Whole), _) | Looked::Created => {}
            Looked::Told(Err(_), _) => {
                call.out.truncate(start);
                say(call.out, OUT_OF_MEMORY);
            }
            Looked::Miss | Looked::Unmarked => self.meta_miss(request, call),
        }
        State::Ready
    }

    fn count_meta_get(&self, looked: &Looked) {
        self.counters.add(
            match looked {
                Looked::Told(_, Effect { expiry: Some(_), .. }) => Count::TouchHit,
                Looked::Told(..) | Looked::Created => Count::Hit,
                Looked::Miss | Looked::Unmarked => Count::Miss,
            },
            1,
        );
    }

    fn meta_miss(&self, request: &Request<'_>, call: &mut Call<'_>) {
        if opaque_too_long(request) {
            say(call.out, OPAQUE_TOO_LONG);
        } else if !request.flags.quiet {
            call.out.extend_from_slice(b"EN");
            tell_back(request, call.out);
        }
    }

    /// Reads only: a stale item that nobody has won yet has to be changed instead.
    fn meta_read(&mut self, request: &Request<'_>, call: &mut Call<'_>) -> Looked {
        let touch = if request.flags.unnoted { Touch::No } else { Touch::Yes };
        let (start, now) = (call.out.len(), call.now);
        let out = &mut *call.out;
        let looked = self.writer.read(request.key.octets(), now.second, touch, |seen| {
            out.truncate(start);
            if seen.is_stale() && !seen.is_won() {
                return Looked::Unmarked;
            }
            let effect = answer(request, &Look::of(seen), now.second, &|_| 0, out);
            Looked::Told(value(request, seen, out), effect)
        });
        looked.unwrap_or(Looked::Miss)
    }

    /// Reads and marks in one step; makes an item where there is none, if that was asked.
    fn meta_change(&mut self, request: &Request<'_>, call: &mut Call<'_>) -> Looked {
        let (start, now, flags) = (call.out.len(), call.now, &request.flags);
        let out = &mut *call.out;
        let seconds = |letter: u8| match letter {
            b'T' => flags.expiry.map_or(0, |e| now.expires(e)),
            b'N' => flags.vivify.map_or(0, |e| now.expires(e)),
            _ => flags.recache.map_or(0, |e| now.expires(e)),
        };
        let changed = self.writer.change(request.key.octets(), Value::None, now.second, |old, built| {
            out.truncate(start);
            built.clear();
            let Some(seen) = old else {
                if flags.vivify.is_none() {
                    return (Decision::Keep, Looked::Miss);
                }
                let effect = answer(request, &Look::created(0, now.second), now.second, &seconds, out);
                let (expiry, won) = (effect.expiry.unwrap_or(0), effect.wins);
                return (Decision::Built(Put { expiry, won, ..Put::default() }), Looked::Created);
            };
            let effect = answer(request, &Look::of(seen), now.second, &seconds, out);
            let won = (effect.wins && !effect.opaque_too_long).then_some(true);
            let marks = Marks { expiry: effect.expiry, won, touch: !flags.unnoted, ..Marks::default() };
            (Decision::Mark(marks), Looked::Told(value(request, seen, out), effect))
        });
        match changed {
            Ok(changed) if matches!(changed.told, Looked::Created) => {
                // Only now is its number known; and who made it has fetched it, too.
                if !flags.unnoted {
                    self.writer.read(request.key.octets(), now.second, Touch::Yes, |_| ());
                }
                out.truncate(start);
                let effect = answer(request, &Look::created(changed.cas, now.second), now.second, &seconds, out);
                if effect.opaque_too_long {
                    return Looked::Told(Ok(Told::Whole), effect);
                }
                if flags.value {
                    out.extend_from_slice(b"\r\n");
                }
                Looked::Created
            }
            Ok(changed) => changed.told,
            Err(_) => Looked::Miss,
        }
    }

    fn meta_delete(&mut self, request: &Request<'_>, call: &mut Call<'_>) {
        if opaque_too_long(request) {
            return say(call.out, OPAQUE_TOO_LONG);
        }
        let (flags, now) = (&request.flags, call.now);
        self.hot.see(request.key.octets(), now);
        let changed = self.writer.change(request.key.octets(), Value::None, now.second, |old, _| match old {
            None => (Decision::Keep, &b"NF"[..]),
            Some(old) if flags.cas.is_some_and(|cas| cas != old.cas()) => (Decision::Keep, b"EX"),
            Some(_) if flags.invalidate => {
                let expiry = flags.expiry.map(|e| now.expires(e));
                let marks = Marks { stale: Some(true), won: Some(false), expiry, cas: Some(Cas::Fresh), touch: false };
                (Decision::Mark(marks), b"HD")
            }
            Some(_) => (Decision::Delete, b"HD"),
        });
        let code = changed.map_or(&b"NF"[..], |changed| changed.told);
        match code {
            b"HD" if flags.invalidate => {}
            b"HD" => self.counters.add(Count::DeleteHit, 1),
            _ => self.counters.add(Count::DeleteMiss, 1),
        }
        if !(flags.quiet && code == b"HD") {
            call.out.extend_from_slice(code);
            tell_back(request, call.out);
        }
    }

    fn meta_delta(&mut self, request: &Request<'_>, up: bool, call: &mut Call<'_>) {
        let (flags, now) = (&request.flags, call.now);
        let step = Step {
            delta: flags.delta,
            up,
            cas: flags.cas.unwrap_or(0),
            initial: flags.vivify.map(|vivify| {
                // Of N and T, the last one written holds.
                let last = request.written().iter().rfind(|word| matches!(word[0], b'N' | b'T'));
                let expiry = flags.expiry.filter(|_| last.is_some_and(|word| word[0] == b'T'));
                (flags.initial, now.expires(expiry.unwrap_or(vivify)))
            }),
            expiry: flags.expiry.map(|e| now.expires(e)),
        };
        let stepped = self.step(request.key.octets(), &step, call);
        let too_long = opaque_too_long(request);
        match stepped {
            Stepped::NotNumeric => say(call.out, NOT_NUMERIC),
            Stepped::NoMemory => say(call.out, b"SERVER_ERROR out of memory"),
            _ if too_long => say(call.out, OPAQUE_TOO_LONG),
            Stepped::NotFound => {
                call.out.extend_from_slice(b"NF");
                tell_back(request, call.out);
            }
            Stepped::Exists => {
                call.out.extend_from_slice(b"EX");
                tell_back(request, call.out);
            }
            // What was made anew is told in any case.
            Stepped::Done(number) if flags.quiet && number.expiry.is_some() => {}
            Stepped::Done(number) => {
                let mut digits = Vec::new();
                number::write(&mut digits, number.value);
                head(flags.value, digits.len() as u64, call.out);
                let mut expiry = number.expiry.unwrap_or(0);
                for word in request.written() {
                    match word[0] {
                        b'c' => tell_number(b'c', number.cas, call.out),
                        b't' => tell_expiry(expiry, now.second, call.out),
                        b'T' => expiry = step.expiry.unwrap_or(0),
                        b'N' if number.expiry.is_none() => expiry = flags.vivify.map_or(0, |e| now.expires(e)),
                        b'O' => tell_word(word, call.out),
                        b'k' => tell_key(request.key.octets(), request.key.is_binary(), call.out),
                        _ => {}
                    }
                }
                call.out.extend_from_slice(b"\r\n");
                if flags.value {
                    say(call.out, &digits);
                }
            }
        }
    }

    /// `me`: what is known of an item, for people.
    fn debug(&mut self, key: &Key<'_>, call: &mut Call<'_>) {
        self.counters.add(Count::Meta, 1);
        let (start, second) = (call.out.len(), call.now.second);
        let out = &mut *call.out;
        let found = self.writer.read(key.octets(), second, Touch::No, |seen| {
            out.truncate(start);
            out.extend_from_slice(b"ME ");
            match seen.is_binary_key() {
                true => base64::encode(key.octets(), out),
                false => out.extend_from_slice(key.octets()),
            }
            let (expiry, size) = (seen.expiry(), super::walk::size(key.octets(), seen));
            // Field: seconds since the end of its life, so negative while it lives.
            let since = if expiry == 0 { -1 } else { i64::from(second) - i64::from(expiry) };
            let idle = second.saturating_sub(seen.last_use());
            let fetched = if seen.is_fetched() { "yes" } else { "no" };
            let text = format!(" exp={since} la={idle} cas={} fetch={fetched} cls=1 size={size}\r\n", seen.cas());
            out.extend_from_slice(text.as_bytes());
        });
        if found.is_none() {
            say(call.out, b"EN");
        }
    }
}

impl Look {
    fn of(seen: &Seen<'_>) -> Self {
        Look {
            octets: seen.value_octets(),
            flags: seen.flags(),
            cas: seen.cas(),
            expiry: seen.expiry(),
            last_use: seen.last_use(),
            fetched: seen.is_fetched(),
            stale: seen.is_stale(),
            won: seen.is_won(),
            binary_key: seen.is_binary_key(),
            created: false,
        }
    }

    fn created(cas: u64, now: u32) -> Self {
        let (octets, flags, expiry, last_use) = (0, 0, 0, now);
        Look {
            octets,
            flags,
            cas,
            expiry,
            last_use,
            fetched: false,
            stale: false,
            won: false,
            binary_key: false,
            created: true,
        }
    }
}

/// The value of `mg v`, or nothing.
fn value(request: &Request<'_>, seen: &Seen<'_>, out: &mut Vec<u8>) -> Result<Told, Refused> {
    if request.flags.value { tell(seen, b"\r\n", out) } else { Ok(Told::Whole) }
}

/// Tells the line of a hit, flag by flag in the order in which they were written, and says what is to be done to the
/// item. `seconds` gives the second of the store's clock for T, N and R.
fn answer(request: &Request<'_>, look: &Look, now: u32, seconds: &dyn Fn(u8) -> u32, out: &mut Vec<u8>) -> Effect {
    let mut effect = Effect::default();
    let mut expiry = look.expiry;
    head(request.flags.value, look.octets, out);
    for word in request.written() {
        match word[0] {
            b'T' => expiry = *effect.expiry.insert(seconds(b'T')),
            b'N' if look.created => {
                expiry = *effect.expiry.insert(seconds(b'N'));
                effect.wins = true;
            }
            // Who asks near the end of an item's life is the first to make it anew.
            b'R' => effect.wins |= !look.won && !look.created && expiry != 0 && expiry < seconds(b'R'),
            b's' => tell_number(b's', look.octets, out),
            b't' => tell_expiry(expiry, now, out),
            b'c' => tell_number(b'c', look.cas, out),
            b'f' => tell_number(b'f', u64::from(look.flags), out),
            b'l' => tell_number(b'l', u64::from(now.saturating_sub(look.last_use)), out),
            b'h' => tell_number(b'h', u64::from(look.fetched), out),
            b'O' if word.len() > OPAQUE_OCTETS_MAX => {
                effect.opaque_too_long = true;
                return effect;
            }
            b'O' => tell_word(word, out),
            b'k' => tell_key(request.key.octets(), look.binary_key, out),
            _ => {}
        }
    }
    if look.won {
        out.extend_from_slice(b" Z");
    }
    if look.stale {
        out.extend_from_slice(b" X");
        effect.wins |= !look.won;
    }
    if effect.wins {
        out.extend_from_slice(b" W");
    }
    out.extend_from_slice(b"\r\n");
    effect
}

fn head(value: bool, octets: u64, out: &mut Vec<u8>) {
    if value {
        out.extend_from_slice(b"VA ");
        number::write(out, octets);
    } else {
        out.extend_from_slice(b"HD");
    }
}

fn opaque_too_long(request: &Request<'_>) -> bool {
    request.written().iter().any(|word| word[0] == b'O' && word.len() > OPAQUE_OCTETS_MAX)
}

/// Tells opaque and key, and ends the line.
fn tell_back(request: &Request<'_>, out: &mut Vec<u8>) {
    for word in request.written() {
        match word[0] {
            b'O' => tell_word(word, out),
            b'k' => tell_key(request.key.octets(), request.key.is_binary(), out),
            _ => {}
        }
    }
    out.extend_from_slice(b"\r\n");
}

/// A blank and a word.
pub(super) fn tell_word(word: &[u8], out: &mut Vec<u8>) {
    out.push(b' ');
    out.extend_from_slice(word);
}

/// A blank, a letter and a number.
pub(super) fn tell_number(letter: u8, value: u64, out: &mut Vec<u8>) {
    out.extend([b' ', letter]);
    number::write(out, value);
}

/// The key, as base64 and with the flag that says so where it came so.
pub(super) fn tell_key(key: &[u8], binary: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(b" k");
    match binary {
        true => {
            base64::encode(key, out);
            out.extend_from_slice(b" b");
        }
        false => out.extend_from_slice(key),
    }
}

/// Seconds left, -1 for ever; what is over already wraps, as in memcached.
fn tell_expiry(expiry: u32, now: u32, out: &mut Vec<u8>) {
    match expiry {
        0 => out.extend_from_slice(b" t-1"),
        expiry => tell_number(b't', u64::from(expiry.wrapping_sub(now)), out),
    }
}
