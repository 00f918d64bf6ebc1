//! `incr`, `decr` and their kin of the other protocols: a number counted up or down where it stands.

use super::counters::Count;
use super::{Call, Service, say};
use crate::protocol::number;
use crate::store::{Decision, Put, Refused, Value};

/// Octets of a value that may be a number: digits with whatever stands behind them.
const NUMBER_OCTETS_MAX: u64 = 16 << 10;
/// Octets beyond which memcached keeps a value in chunks, and does not even compare its number.
const LARGE_OCTETS: u64 = 512 << 10;
/// What is there is not a number.
pub(super) const NOT_NUMERIC: &[u8] = b"CLIENT_ERROR cannot increment or decrement non-numeric value";

/// By how much, and what else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub delta: u64,
    pub up: bool,
    /// Only the item of this number; 0 is any.
    pub cas: u64,
    /// What is put where nothing is: the number and its second of expiry.
    pub initial: Option<(u64, u32)>,
    /// A new second of expiry for what is there.
    pub expiry: Option<u32>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stepped {
    Done(Number),
    NotNumeric,
    NotFound,
    Exists,
    NoMemory,
}

/// The number as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub value: u64,
    pub cas: u64,
    /// The second of expiry that it had before; none where it is new.
    pub expiry: Option<u32>,
}

impl Service {
    /// Counts the number under `key`. As in memcached a number that needs no more octets than before is written over
    /// the old one, with blanks behind it.
    pub(super) fn step(&mut self, key: &[u8], step: &Step, call: &Call<'_>) -> Stepped {
        self.hot.see(key, call.now);
        let scratch = &mut self.scratch;
        let changed = self.writer.change(key, Value::None, call.now.second, |old, built| {
            let Some(old) = old else {
                let Some((value, expiry)) = step.initial else { return (Decision::Keep, Stepped::NotFound) };
                number::write(built, value);
                let told = Stepped::Done(Number { value, cas: 0, expiry: None });
                return (Decision::Built(Put { expiry, ..Put::default() }), told);
            };
            if old.value_octets() == 0 || old.value_octets() > LARGE_OCTETS {
                return (Decision::Keep, Stepped::NotNumeric);
            }
            if step.cas != 0 && step.cas != old.cas() {
                return (Decision::Keep, Stepped::Exists);
            }
            if old.value_octets() > NUMBER_OCTETS_MAX {
                return (Decision::Keep, Stepped::NotNumeric);
            }
            scratch.clear();
            old.copy(scratch);
            let Some(before) = number::unsigned(scratch) else { return (Decision::Keep, Stepped::NotNumeric) };
            let value = match step.up {
                true => before.wrapping_add(step.delta),
                false => before.saturating_sub(step.delta),
            };
            built.clear();
            number::write(built, value);
            let in_place = built.len() <= scratch.len();
            built.resize(built.len().max(scratch.len()), b' ');
            let put = Put {
                flags: old.flags(),
                expiry: step.expiry.unwrap_or(old.expiry()),
                stale: in_place && old.is_stale(),
                won: in_place && old.is_won(),
                binary_key: in_place && old.is_binary_key(),
                ..Put::default()
            };
            (Decision::Built(put), Stepped::Done(Number { value, cas: 0, expiry: Some(old.expiry()) }))
        });
        let stepped = match changed {
            Ok(changed) => match changed.told {
                Stepped::Done(number) => Stepped::Done(Number { cas: changed.cas, ..number }),
                other => other,
            },
            Err(Refused::NoMemory | Refused::TooLarge) => Stepped::NoMemory,
        };
        self.count_step(step.up, stepped);
        stepped
    }

    fn count_step(&self, up: bool, stepped: Stepped) {
        let (hit, miss) = if up { (Count::IncrHit, Count::IncrMiss) } else { (Count::DecrHit, Count::DecrMiss) };
        match stepped {
            Stepped::Done(Number { expiry: Some(_), .. }) => self.counters.add(hit, 1),
            Stepped::NotFound => self.counters.add(miss, 1),
            _ => {}
        }
    }

    /// `incr` and `decr`.
    pub(super) fn delta(&mut self, key: &[u8], delta: u64, up: bool, quiet: bool, call: &mut Call<'_>) {
        let step = Step { delta, up, cas: 0, initial: None, expiry: None };
        let stepped = self.step(key, &step, call);
        if quiet {
            return;
        }
        match stepped {
            Stepped::Done(number) => {
                number::write(call.out, number.value);
                call.out.extend_from_slice(b"\r\n");
            }
            Stepped::NotNumeric => say(call.out, NOT_NUMERIC),
            Stepped::NotFound | Stepped::Exists => say(call.out, b"NOT_FOUND"),
            Stepped::NoMemory => say(call.out, b"SERVER_ERROR out of memory"),
        }
    }
}
