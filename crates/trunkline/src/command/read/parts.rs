//! Parts of calls and streams that the store has as a whole: a capture that was cut out of one that was read before
//! begins in the midst of them. They are taken back, so that nothing is counted twice.
//!
//! A call joined in mid-call, or its end alone, is a part of one with its Call-ID between the same hosts that began
//! before it and goes on as long; a stream without a call, of one with its SSRC, source and destination.

use crate::failure::Failure;
use crate::search;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;
use trunkline_kit::Id;
use trunkline_store::removal::Chosen;
use trunkline_store::row::{Call, CallState, Rows, Stream};
use trunkline_store::{Found, SqlLimits, SqlValue, Store};
use trunkline_wire::{Address, Endpoint};

/// Rows that are looked at, at most; further ones stay.
const PARTS_MAX: usize = 100_000;
/// Calls and streams of one command, beyond which it is not looked for parts.
const OWN_MAX: usize = 2_000_000;
/// A stream that began so long before is not looked for.
const LONG_NS: i64 = 24 * 3_600_000_000_000;
/// How long it is looked for streams.
const PATIENCE: Duration = Duration::from_secs(600);

/// What a stream is known by.
type Media = (i64, String, String);
/// First and last packet, nanoseconds since 1970.
type Span = (i64, i64);

/// A row of signalling: its identifier, its Call-ID, between which hosts, from when to when.
type Part = (Id, String, [Address; 2], Span);

/// Rows that may be parts.
#[derive(Debug, Default)]
pub struct Parts {
    calls: Vec<Part>,
    /// A BYE or CANCEL of a call whose other messages were not seen.
    ends: Vec<Part>,
    streams: HashMap<Media, Vec<(Id, Span)>>,
    /// What this command wrote itself: no row of it is a part of another.
    own: HashSet<Id>,
    /// Whether the store had anything before.
    had_rows: bool,
    count: usize,
}

impl Parts {
    /// For a store as it is before anything is written.
    ///
    /// # Errors
    /// It cannot be listed.
    pub fn before(store: &Store) -> Result<Parts, Failure> {
        let had_rows = !store.days().map_err(search::failure)?.is_empty();
        Ok(Parts { had_rows, ..Parts::default() })
    }

    /// Looks at rows that are written.
    pub fn take(&mut self, rows: &Rows) {
        if !self.had_rows || self.own.len() > OWN_MAX {
            return;
        }
        self.own.extend(rows.calls.iter().map(|call| call.id).chain(rows.streams.iter().map(|stream| stream.id)));
        for call in rows.calls.iter().filter(|call| call.state == CallState::JoinedMidCall) {
            if self.may_take() {
                let (between, span) = (hosts(call.src, call.dst), (call.start_ns, call.last_ns));
                self.calls.push((call.id, call.sip_call_id.clone(), between, span));
            }
        }
        for event in rows.events.iter().filter(|event| matches!(&*event.method, "BYE" | "CANCEL")) {
            if self.may_take() {
                let (between, span) = (hosts(event.src, event.dst), (event.start_ns, event.start_ns));
                self.ends.push((event.id, event.sip_call_id.clone(), between, span));
            }
        }
        for stream in rows.streams.iter().filter(|stream| stream.call.is_none()) {
            if self.may_take() {
                let part = (stream.id, (stream.first_ns, stream.last_ns));
                self.streams.entry(media(stream)).or_default().push(part);
            }
        }
    }

    fn may_take(&mut self) -> bool {
        self.count += 1;
        self.count <= PARTS_MAX
    }

    /// Those of which the store has the whole.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn of_known(&self, store: &Store) -> Result<Chosen, Failure> {
        if self.own.len() > OWN_MAX {
            return Ok(Chosen::default());
        }
        let of = |parts: &[Part]| -> Result<BTreeSet<Id>, Failure> {
            let mut found = BTreeSet::new();
            for (id, name, between, span) in parts {
                if self.is_there(store, (*id, name), between, *span)? {
                    found.insert(*id);
                }
            }
            Ok(found)
        };
        let (calls, events) = (of(&self.calls)?, of(&self.ends)?);
        Ok(Chosen { calls, events, streams: self.streams(store)?, ..Chosen::default() })
    }

    fn streams(&self, store: &Store) -> Result<BTreeSet<Id>, Failure> {
        let spans = || self.streams.values().flatten().map(|(_, span)| *span);
        let (Some(from_ns), Some(to_ns)) = (spans().map(|s| s.0).min(), spans().map(|s| s.1).max()) else {
            return Ok(BTreeSet::new());
        };
        let text = format!(
            "SELECT ssrc, src, dst, first_ns, last_ns, id FROM streams WHERE first_ns < {to_ns} AND last_ns > {from_ns}"
        );
        let mut parts = BTreeSet::new();
        let limits = SqlLimits {
            from_ns: from_ns.saturating_sub(LONG_NS),
            to_ns: to_ns.saturating_add(1),
            rows_max: usize::MAX,
            time_max: PATIENCE,
            ..SqlLimits::default()
        };
        let done = store.sql(&text, &limits, &mut |_, row| {
            let [SqlValue::Whole(ssrc), SqlValue::Text(src), SqlValue::Text(dst), first, last, whole] = row else {
                return true;
            };
            let (SqlValue::Whole(first), SqlValue::Whole(last), SqlValue::Text(whole)) = (first, last, whole) else {
                return true;
            };
            if whole.parse::<Id>().is_ok_and(|whole| self.own.contains(&whole)) {
                return true;
            }
            if let Some(found) = self.streams.get(&(*ssrc, src.clone(), dst.clone())) {
                let of_it = found.iter().filter(|(_, span)| is_part((*first, *last), *span));
                parts.extend(of_it.map(|(id, _)| *id));
            }
            true
        });
        done.map_err(search::failure)?;
        Ok(parts)
    }

    /// Whether the store has a call of that name that a part is of.
    fn is_there(
        &self,
        store: &Store,
        (id, name): (Id, &str),
        between: &[Address; 2],
        span: Span,
    ) -> Result<bool, Failure> {
        let is_whole = |call: &Call| {
            let is_others = call.id != id && !self.own.contains(&call.id);
            is_others && hosts(call.src, call.dst) == *between && is_part((call.start_ns, call.last_ns), span)
        };
        match store.call(name).map_err(search::failure)? {
            Found::One(call) => Ok(is_whole(&call)),
            Found::None => Ok(false),
            Found::Many(many) => {
                for (other, start_ns) in many {
                    let earlier = other != id && start_ns < span.0;
                    let call = if earlier { store.call_by_id(other).map_err(search::failure)? } else { None };
                    if call.is_some_and(|call| is_whole(&call)) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}

fn is_part(whole: Span, part: Span) -> bool {
    whole.0 < part.0 && part.1 <= whole.1
}

/// In order: what is joined in mid-call may have its sides changed.
fn hosts(src: Endpoint, dst: Endpoint) -> [Address; 2] {
    let mut hosts = [src.address, dst.address];
    hosts.sort_unstable();
    hosts
}

fn media(stream: &Stream) -> Media {
    (i64::from(stream.ssrc), stream.src.to_string(), stream.dst.to_string())
}
