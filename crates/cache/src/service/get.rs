//! `get`, `gets`, `gat`, `gats`: keys one after the other, as many as there are.
//!
//! The keys stay in the input until they are told: when the output is full, those that were told are taken from the
//! input, and the rest is read when there is room again. So a get of any length needs no memory of its own; a client
//! that does not read what it asked for is not served further: its own requests wait, nobody else's.

use super::connection::State;
use super::counters::Count;
use super::outgoing::{Outgoing, Told, tell};
use super::{Call, Go, Service, say};
use crate::protocol::number;
use crate::protocol::text::{self, BAD_FORMAT, Get, KEY_OCTETS_MAX};
use crate::protocol::words;
use crate::store::{Decision, Marks, READ_AHEAD, Refused, Seen, Touch, Value};

/// Keys whose buckets are looked at together.
const BATCH_KEYS: usize = READ_AHEAD;
const OUT_OF_MEMORY: &[u8] = b"SERVER_ERROR out of memory writing get response";

/// A get in the midst of its keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    cas: bool,
    /// The new second of expiry.
    expiry: Option<u32>,
}

/// What became of a key.
type Answer = Option<Result<Told, Refused>>;

/// Keys of one round, and where each ends in the list.
struct Batch<'a> {
    keys: [&'a [u8]; BATCH_KEYS],
    ends: [usize; BATCH_KEYS],
    count: usize,
}

impl Service {
    /// A get whose keys begin `input`; its line ends at `end`.
    #[inline]
    pub(super) fn get(
        &mut self,
        get: &Get<'_>,
        input: &[u8],
        end: Option<usize>,
        state: &mut State,
        call: &mut Call<'_>,
    ) -> Go {
        let keys = Keys { cas: get.cas, expiry: get.expiry.map(|e| call.now.expires(e)) };
        // No key of a short list is too long.
        if get.keys.len() > KEY_OCTETS_MAX && has_long_key(get.keys) {
            say(call.out, BAD_FORMAT);
            *state = if end.is_some() { State::Ready } else { State::SkipLine };
            return Go::On(end.map_or(get.keys.len(), |end| end + 1));
        }
        let is_one = !get.keys.is_empty() && get.keys.len() <= KEY_OCTETS_MAX && !get.keys.contains(&b' ');
        if let Some(end) = end.filter(|_| is_one) {
            return self.only(keys, get.keys, end, state, call);
        }
        self.list(keys, get.keys, input, end, state, call)
    }

    /// What most gets are: one key, and the line ends.
    #[inline]
    fn only(&mut self, keys: Keys, key: &[u8], end: usize, state: &mut State, call: &mut Call<'_>) -> Go {
        match self.one(keys, key, call) {
            None | Some(Ok(Told::Whole)) => {
                call.out.extend_from_slice(b"END\r\n");
                return Go::On(end + 1);
            }
            Some(Ok(Told::Held(hold))) => *state = Outgoing::state(hold, b"\r\n", Some(keys)),
            Some(Err(_)) => {
                say(call.out, OUT_OF_MEMORY);
                *state = State::SkipLine;
            }
        }
        Go::On(key.len())
    }

    /// More of the keys of a get: `input` begins with them.
    pub(super) fn keys(&mut self, keys: Keys, input: &[u8], state: &mut State, call: &mut Call<'_>) -> Go {
        let end = memchr::memchr(b'\n', input);
        let here = end.unwrap_or_else(|| memchr::memrchr(b' ', input).map_or(0, |blank| blank + 1));
        self.list(keys, text::line(&input[..here]), input, end, state, call)
    }

    /// The keys of `list`, with which `input` begins, up to the end of the line at `end` or as far as they are here.
    fn list(
        &mut self,
        keys: Keys,
        list: &[u8],
        input: &[u8],
        end: Option<usize>,
        state: &mut State,
        call: &mut Call<'_>,
    ) -> Go {
        let mut at = 0;
        *state = State::Keys(keys);
        while let Some(batch) = Batch::of(list, at) {
            if batch.keys[..batch.count].iter().any(|key| key.len() > KEY_OCTETS_MAX) {
                say(call.out, BAD_FORMAT);
                *state = State::SkipLine;
                return Go::On(at);
            }
            let (told, last) = self.batch(keys, &batch, call);
            at = batch.ends[told - 1];
            match last {
                Some(Ok(Told::Held(hold))) => {
                    *state = Outgoing::state(hold, b"\r\n", Some(keys));
                    return Go::On(at);
                }
                Some(Err(_)) => {
                    say(call.out, OUT_OF_MEMORY);
                    *state = State::SkipLine;
                    return Go::On(at);
                }
                _ if call.is_full() => return Go::Full(at),
                _ => {}
            }
        }
        self.end_of_keys(input, list.len(), end, state, call)
    }

    fn end_of_keys(&self, input: &[u8], told: usize, end: Option<usize>, state: &mut State, call: &mut Call<'_>) -> Go {
        if let Some(end) = end {
            call.out.extend_from_slice(b"END\r\n");
            *state = State::Ready;
            return Go::On(end + 1);
        }
        let rest = &input[told..];
        if memchr::memchr(0, rest).is_some() {
            // C's string ends here, and with it the list.
            call.out.extend_from_slice(b"END\r\n");
            *state = State::SkipLine;
        } else if rest.len() > KEY_OCTETS_MAX + 1 {
            say(call.out, BAD_FORMAT);
            *state = State::SkipLine;
        } else {
            return Go::Wait(told);
        }
        Go::On(told)
    }

    /// Tells keys until one is large or the output is full: how many, at least one, and what became of the last.
    #[inline]
    fn batch(&mut self, keys: Keys, batch: &Batch<'_>, call: &mut Call<'_>) -> (usize, Answer) {
        // Who listens is told key by key.
        if batch.count == 1 || keys.expiry.is_some() || self.shared.listens() {
            let answer = self.one(keys, batch.keys[0], call);
            return (1, answer);
        }
        let (second, room_end) = (call.now.second, call.end());
        let out = &mut *call.out;
        // Where the answer to the key at `index` begins; the closure may run again for it.
        let (mut index, mut start) = (0, out.len());
        let (mut hits, mut last, mut stopped) = (0, None, false);
        self.writer.read_many(&batch.keys[..batch.count], second, Touch::Yes, |of, seen| {
            if of != index {
                stopped |= out.len() >= room_end || matches!(last, Some(Ok(Told::Held(_)) | Err(_)));
                if stopped {
                    return;
                }
                hits += u64::from(last.is_some());
                (index, start) = (of, out.len());
            }
            out.truncate(start);
            last = seen.map(|seen| value(keys.cas, batch.keys[of], seen, out));
        });
        hits += u64::from(last.is_some());
        self.hot.see_all(&batch.keys[..index + 1], call.now);
        self.counters.add(Count::Hit, hits);
        self.counters.add(Count::Miss, index as u64 + 1 - hits);
        (index + 1, last)
    }

    #[inline]
    fn one(&mut self, keys: Keys, key: &[u8], call: &mut Call<'_>) -> Answer {
        self.hot.see(key, call.now);
        let start = call.out.len();
        let out = &mut *call.out;
        let mut octets = 0;
        let mut look = |seen: &Seen<'_>| {
            out.truncate(start);
            octets = seen.value_octets();
            value(keys.cas, key, seen, out)
        };
        let (answer, hit, miss) = match keys.expiry {
            None => {
                let answer = self.writer.read(key, call.now.second, Touch::Yes, look);
                (answer, Count::Hit, Count::Miss)
            }
            Some(expiry) => {
                let marks = Marks { expiry: Some(expiry), touch: true, ..Marks::default() };
                let changed = self.writer.change(key, Value::None, call.now.second, |old, _| {
                    (if old.is_some() { Decision::Mark(marks) } else { Decision::Keep }, old.map(&mut look))
                });
                (changed.map_or_else(|refused| Some(Err(refused)), |c| c.told), Count::TouchHit, Count::TouchMiss)
            }
        };
        self.counters.add(if answer.is_some() { hit } else { miss }, 1);
        if self.shared.listens() {
            self.shared.fetched(key, answer.is_some(), octets, call);
        }
        answer
    }
}

/// `VALUE`, its line and, if it is not large, its octets.
#[inline]
fn value(cas: bool, key: &[u8], seen: &Seen<'_>, out: &mut Vec<u8>) -> Result<Told, Refused> {
    let start = out.len();
    out.extend_from_slice(b"VALUE ");
    out.extend_from_slice(key);
    out.push(b' ');
    number::write(out, u64::from(seen.flags()));
    out.push(b' ');
    number::write(out, seen.value_octets());
    if cas {
        out.push(b' ');
        number::write(out, seen.cas());
    }
    out.extend_from_slice(b"\r\n");
    tell(seen, b"\r\n", out).inspect_err(|_| out.truncate(start))
}

fn has_long_key(list: &[u8]) -> bool {
    let mut rest = list;
    while let Some((key, after)) = words::next(rest) {
        if key.len() > KEY_OCTETS_MAX {
            return true;
        }
        rest = after;
    }
    false
}

impl<'a> Batch<'a> {
    /// The next keys of the list from `at` on; none at its end.
    #[inline]
    fn of(list: &'a [u8], at: usize) -> Option<Self> {
        let mut batch = Batch { keys: [&[]; BATCH_KEYS], ends: [0; BATCH_KEYS], count: 0 };
        let mut rest = &list[at.min(list.len())..];
        while batch.count < BATCH_KEYS {
            let Some((key, after)) = words::next(rest) else { break };
            batch.keys[batch.count] = key;
            batch.ends[batch.count] = list.len() - after.len();
            batch.count += 1;
            rest = after;
        }
        (batch.count > 0).then_some(batch)
    }
}
