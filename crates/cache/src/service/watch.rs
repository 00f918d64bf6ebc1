//! `watch`: what happens, told line by line to who asked, as memcached's logger tells it.
//!
//! A thread writes a line into the queue of each watcher that wants it. A queue that is full skips lines, counts them,
//! and says so before the next line that fits; nobody waits for a watcher.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Watchers at a time (`WATCHER_LIMIT`).
// Limit: clients of `watch`
// Beyond: a further client is refused
// Seen in: the reply `WATCHER_TOO_MANY log watcher limit reached`
pub const WATCHERS_MAX: usize = 20;
/// Octets of lines that wait for a watcher (`watcher_logbuf_size`).
// Limit: lines waiting for one client of `watch`
// Beyond: further lines are skipped
// Seen in: a line says how many
pub const QUEUE_OCTETS_MAX: usize = 256 << 10;

/// What can be watched; the words of the command are in [`Kind::of`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// What is fetched.
    Fetchers = 1,
    /// What is stored.
    Mutations = 2,
    /// What is evicted.
    Evictions = 4,
    /// Connections that come and go.
    ConnectionEvents = 8,
    /// Known words for which nothing is ever told here: `rawcmds`, `sysevents`, and those of the proxy.
    Silent = 16,
}

impl Kind {
    /// The kind that a word of `watch` names.
    pub fn of(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"fetchers" => Kind::Fetchers,
            b"mutations" => Kind::Mutations,
            b"evictions" => Kind::Evictions,
            b"connevents" => Kind::ConnectionEvents,
            b"rawcmds" | b"sysevents" | b"proxyreqs" | b"proxyevents" | b"proxyuser" => Kind::Silent,
            _ => return None,
        })
    }
}

/// All watchers.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    /// The kinds that anybody wants.
    wanted: AtomicU32,
    /// Lines that found no room.
    pub skipped: AtomicU64,
    /// Lines that found room.
    pub sent: AtomicU64,
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    list: Vec<Watcher>,
    numbers: u64,
    lines: u64,
}

#[derive(Debug)]
struct Watcher {
    number: u64,
    kinds: u32,
    queue: VecDeque<u8>,
    skipped: u64,
}

impl Watchers {
    /// Whether anybody wants any of `kinds`.
    #[inline]
    pub fn want(&self, kinds: u32) -> bool {
        self.wanted.load(Ordering::Relaxed) & kinds != 0
    }

    /// Enters a watcher: its number; none if there are too many.
    pub fn enter(&self, kinds: u32) -> Option<u64> {
        let mut inside = self.lock();
        if inside.list.len() >= WATCHERS_MAX {
            return None;
        }
        inside.numbers += 1;
        let number = inside.numbers;
        inside.list.push(Watcher { number, kinds, queue: VecDeque::new(), skipped: 0 });
        self.tell_wanted(&inside);
        Some(number)
    }

    /// Forgets a watcher.
    pub fn leave(&self, number: u64) {
        let mut inside = self.lock();
        inside.list.retain(|watcher| watcher.number != number);
        self.tell_wanted(&inside);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.lock().list.len()
    }

    /// Tells a line to those who want `kind`: `rest` follows time and number.
    pub fn line(&self, kind: Kind, unix_us: u64, rest: &str) {
        let mut inside = self.lock();
        inside.lines += 1;
        let (second, micros, number) = (unix_us / 1_000_000, unix_us % 1_000_000, inside.lines);
        let line = format!("ts={second}.{micros} gid={number} {rest}\n");
        for watcher in inside.list.iter_mut().filter(|w| w.kinds & kind as u32 != 0) {
            let cell = if watcher.push(&line) { &self.sent } else { &self.skipped };
            cell.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Moves lines of a watcher into `out`, at most `room` octets: whether all went.
    pub fn take(&self, number: u64, room: usize, out: &mut Vec<u8>) -> bool {
        let mut inside = self.lock();
        let Some(watcher) = inside.list.iter_mut().find(|w| w.number == number) else { return true };
        let taken = room.min(watcher.queue.len());
        out.extend(watcher.queue.drain(..taken));
        watcher.queue.is_empty()
    }

    fn tell_wanted(&self, inside: &Inside) {
        let wanted = inside.list.iter().fold(0, |all, watcher| all | watcher.kinds);
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watcher {
    fn push(&mut self, line: &str) -> bool {
        let mut head = String::new();
        if self.skipped > 0 {
            // Writing into a String cannot fail.
            let _ = writeln!(head, "skipped={}", self.skipped);
        }
        let fits = self.queue.len() + head.len() + line.len() <= QUEUE_OCTETS_MAX;
        if fits {
            self.queue.extend(head.bytes().chain(line.bytes()));
            self.skipped = 0;
        } else {
            self.skipped += 1;
        }
        fits
    }
}

/// A key as lines show it: letters, digits and `-._~` as they are, the rest as `%XX` (`uriencode` in `util.c`).
pub(super) fn shown(key: &[u8]) -> String {
    let mut shown = String::with_capacity(key.len());
    for &octet in key {
        if octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_' | b'~') {
            shown.push(char::from(octet));
        } else {
            // Writing into a String cannot fail.
            let _ = write!(shown, "%{octet:02X}");
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_to_who_wants_them_and_what_is_skipped_is_said() {
        let watchers = Watchers::default();
        assert!(!watchers.want(Kind::Fetchers as u32));
        let number = watchers.enter(Kind::Fetchers as u32).unwrap();
        assert!(watchers.want(Kind::Fetchers as u32) && !watchers.want(Kind::Mutations as u32));
        let long = "x".repeat(100_000);
        for _ in 0..4 {
            watchers.line(Kind::Fetchers, 5_000_007, &long);
        }
        watchers.line(Kind::Mutations, 5_000_007, "not wanted");
        let mut out = Vec::new();
        assert!(!watchers.take(number, 1000, &mut out));
        assert!(out.starts_with(b"ts=5.7 gid=1 xxx") && out.len() == 1000);
        assert!(watchers.take(number, usize::MAX, &mut out));
        assert_eq!((watchers.sent.load(Ordering::Relaxed), watchers.skipped.load(Ordering::Relaxed)), (2, 2));
        out.clear();
        watchers.line(Kind::Fetchers, 5_000_007, "type=end");
        watchers.take(number, usize::MAX, &mut out);
        assert_eq!(out, b"skipped=2\nts=5.7 gid=6 type=end\n");
        watchers.leave(number);
        assert!(!watchers.want(Kind::Fetchers as u32));
    }

    #[test]
    fn there_is_an_end_to_watchers() {
        let watchers = Watchers::default();
        assert_eq!((0..30).filter_map(|_| watchers.enter(1)).count(), WATCHERS_MAX);
    }

    #[test]
    fn keys_are_shown_so_that_a_line_stays_one() {
        assert_eq!(shown(b"a-._~/\n\xff"), "a-._~%2F%0A%FF");
    }
}
