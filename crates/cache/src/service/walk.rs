//! `lru_crawler metadump` and `stats cachedump`: all items, told as there is room.

use super::connection::State;
use super::watch::shown;
use super::{Call, Go, Service};
use crate::store::{Cursor, ITEM_HEAD_OCTETS, Seen};

/// Items that are looked at before room is looked at.
const STEP_ITEMS: usize = 64;
/// Octets that `stats cachedump` tells (2 MiB, as memcached has it).
const CACHEDUMP_OCTETS_MAX: usize = 2 << 20;

/// What is told of each item.
#[derive(Clone, Copy, Debug)]
pub(super) enum Dump {
    /// A line of `metadump`.
    Meta,
    /// An `ITEM` of `cachedump`: how many are still wanted, and octets that there is room for.
    Items { wanted: u64, octets: usize },
}

/// A walk, and what it tells.
#[derive(Debug)]
pub(super) struct Walking {
    cursor: Cursor,
    dump: Dump,
}

/// Octets of an item as memcached counts them, its flags stored only where there are any.
pub(super) fn size(key: &[u8], seen: &Seen<'_>) -> u64 {
    key.len() as u64 + seen.value_octets() + ITEM_HEAD_OCTETS + if seen.flags() == 0 { 0 } else { 4 }
}

impl Walking {
    /// The walk over all items.
    pub(super) fn metadump() -> State {
        State::Walking(Box::new(Walking { cursor: Cursor::default(), dump: Dump::Meta }))
    }

    /// The walk that tells `wanted` items; 0 is all.
    pub(super) fn cachedump(wanted: u32) -> State {
        let wanted = if wanted == 0 { u64::MAX } else { u64::from(wanted) };
        let dump = Dump::Items { wanted, octets: CACHEDUMP_OCTETS_MAX };
        State::Walking(Box::new(Walking { cursor: Cursor::default(), dump }))
    }
}

impl Service {
    pub(super) fn walk(&mut self, walking: &mut Walking, call: &mut Call<'_>) -> (Go, Option<State>) {
        while !call.is_full() {
            let origin = call.now.origin();
            let (out, dump) = (&mut *call.out, &mut walking.dump);
            let more = self.writer.walk(&mut walking.cursor, call.now.second, STEP_ITEMS, |key, seen| {
                dump.tell(key, seen, origin, out);
            });
            if !more || matches!(walking.dump, Dump::Items { wanted: 0, .. }) {
                call.out.extend_from_slice(b"END\r\n");
                return (Go::On(0), Some(State::Ready));
            }
        }
        (Go::Full(0), None)
    }
}

impl Dump {
    fn tell(&mut self, key: &[u8], seen: &Seen<'_>, origin: i64, out: &mut Vec<u8>) {
        let expiry = i64::from(seen.expiry()) + origin;
        match self {
            Dump::Meta => {
                let expiry = if seen.expiry() == 0 { -1 } else { expiry };
                let last = i64::from(seen.last_use()) + origin;
                let fetched = if seen.is_fetched() { "yes" } else { "no" };
                let (key_shown, cas, size) = (shown(key), seen.cas(), size(key, seen));
                let line =
                    format!("key={key_shown} exp={expiry} la={last} cas={cas} fetch={fetched} cls=1 size={size}\n");
                out.extend_from_slice(line.as_bytes());
            }
            Dump::Items { wanted, octets } => {
                let text = key.iter().all(|octet| octet.is_ascii_graphic());
                if *wanted == 0 || !text {
                    return;
                }
                let expiry = if seen.expiry() == 0 { 0 } else { expiry };
                let rest = format!(" [{} b; {expiry} s]\r\n", seen.value_octets());
                let line = [b"ITEM ", key, rest.as_bytes()].concat();
                match octets.checked_sub(line.len()) {
                    None => *wanted = 0,
                    Some(left) => {
                        out.extend_from_slice(&line);
                        (*wanted, *octets) = (*wanted - 1, left);
                    }
                }
            }
        }
    }
}
