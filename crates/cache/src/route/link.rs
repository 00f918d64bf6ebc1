//! A connection to a server: what it is asked, who waits for it, and gets that go as one.
//!
//! A get joins the one that was asked before it and is not sent yet, if nothing came in between and both begin alike:
//! the server parses one command and answers it at once, however many clients' keys it has. Who waits stays an entry
//! for each key. A value is whose key it has, in any order; the end of the answer is a miss for those that are left.

use super::answer::Asked;
use std::collections::VecDeque;
use std::time::Duration;

/// Keys of a joined get.
pub const JOINED_KEYS_MAX: usize = 64;
/// Octets of the line of a joined get, its end included: memcached closes a connection with a longer line that it has
/// to wait for, unless it is a `get` or `gets` (`memcached.c`, `try_read_command_ascii`).
pub const JOINED_OCTETS_MAX: usize = 2048;
/// Memory of a buffer that is kept when it is empty.
const KEPT_OCTETS_MAX: usize = 256 << 10;

/// Who waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A request; of several answers to it this is the one of that number.
    Request(u32, u16),
    /// A request whose value has come; the answer that it is in goes on.
    Answered,
    /// Nobody: what is sent beside a request.
    Nobody,
    /// Us: whether the server is there.
    Probe,
}

/// What was sent and is not answered.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Who waits.
    pub role: Role,
    /// What kind of answer comes.
    pub asked: Asked,
    /// Until when it is waited for.
    pub deadline: Duration,
    /// The next one waits for the same answer: its key is in the same get.
    pub goes_on: bool,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is none.
    Idle,
    /// It was asked for.
    Dialling,
    /// It stands.
    Up,
}

/// What is to be sent to a server, and who waits for what.
#[derive(Debug, Default)]
pub struct Queue {
    out: Vec<u8>,
    waiting: VecDeque<Waiting>,
    /// The get at the end of `out` that takes more keys: where it begins, and how many it has.
    open: Option<(usize, usize)>,
    /// Of those that wait for the get that is being answered, the one behind whose value came last.
    next: usize,
}

impl Queue {
    /// Octets that are to be sent.
    pub fn octets(&self) -> usize {
        self.out.len()
    }

    /// Who waits, each key of a get for itself.
    pub fn waiting(&self) -> &VecDeque<Waiting> {
        &self.waiting
    }

    /// One more command; true if its key went into the get before it.
    pub fn push(&mut self, octets: &[u8], waiting: Waiting) -> bool {
        let key = if waiting.asked == Asked::Get { key_of(octets) } else { None };
        let joins = key.is_some_and(|key| self.join(octets, key));
        if !joins {
            self.open = key.map(|_| (self.out.len(), 1));
            self.out.extend_from_slice(octets);
        }
        self.waiting.push_back(waiting);
        joins
    }

    /// Puts the key that begins at `key` of a get into the open one, if that begins alike and has room.
    fn join(&mut self, octets: &[u8], key: usize) -> bool {
        let Some((start, keys)) = &mut self.open else { return false };
        let line = &self.out[*start..];
        let is_full = *keys >= JOINED_KEYS_MAX || line.len() + octets.len() - key + 1 > JOINED_OCTETS_MAX;
        if is_full || !line.starts_with(&octets[..key]) {
            return false;
        }
        *keys += 1;
        self.out.truncate(self.out.len() - 2);
        self.out.extend_from_slice(&octets[key - 1..]);
        if let Some(before) = self.waiting.back_mut() {
            before.goes_on = true;
        }
        true
    }

    /// Hands what is to be sent, up to `room` octets, to `say`; whether there is more.
    pub fn say(&mut self, room: usize, say: impl FnOnce(&[u8])) -> bool {
        self.open = None;
        let octets = self.out.len().min(room);
        say(&self.out[..octets]);
        if octets < self.out.len() {
            self.out.drain(..octets);
            return true;
        }
        self.out.clear();
        self.out.shrink_to(KEPT_OCTETS_MAX);
        false
    }

    /// Who waits for the value of a key in the get that is answered, which `has_key` tells of a request; it waits no
    /// more. None if nobody does.
    pub fn take(&mut self, has_key: impl Fn(u32) -> bool) -> Option<Role> {
        // In the order in which they were asked, mostly.
        let at = self.find(self.next, &has_key).or_else(|| self.find(0, &has_key))?;
        let found = &mut self.waiting[at];
        self.next = if found.goes_on { at + 1 } else { 0 };
        Some(core::mem::replace(&mut found.role, Role::Answered))
    }

    fn find(&self, from: usize, has_key: impl Fn(u32) -> bool) -> Option<usize> {
        let last = self.waiting.range(from..).position(|waiting| !waiting.goes_on)?;
        let mut those = self.waiting.range(from..=from + last);
        let is_it = |waiting: &Waiting| matches!(waiting.role, Role::Request(number, _) if has_key(number));
        those.position(is_it).map(|at| from + at)
    }

    /// The first of those who wait does so no more.
    pub fn pop(&mut self) -> Option<Waiting> {
        // Nothing joins what is answered.
        (self.open, self.next) = (None, 0);
        self.waiting.pop_front()
    }

    /// What was sent before is waited for until then.
    pub fn postpone(&mut self, deadline: Duration) {
        self.waiting.iter_mut().for_each(|waiting| waiting.deadline = deadline);
    }
}

/// Where the key of a get begins; none if it is better alone. Servers differ in what else ends a word or a line, such
/// as a NUL in memcached: what one client asks must not become another's answer.
fn key_of(get: &[u8]) -> Option<usize> {
    let line = get.strip_suffix(b"\r\n")?;
    let key = memchr::memrchr(b' ', line)? + 1;
    line[key..].iter().all(|octet| *octet > b' ' && *octet != 0x7f).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(number: u32, asked: Asked) -> Waiting {
        Waiting { role: Role::Request(number, 0), asked, deadline: Duration::ZERO, goes_on: false }
    }

    fn queue(gets: &[&str]) -> Queue {
        let mut queue = Queue::default();
        for (number, get) in gets.iter().enumerate() {
            let kind = if get.starts_with('g') { Asked::Get } else { Asked::Line };
            queue.push(format!("{get}\r\n").as_bytes(), asked(number as u32, kind));
        }
        queue
    }

    fn sent(queue: &mut Queue) -> String {
        let mut sent = String::new();
        queue.say(usize::MAX, |octets| sent = String::from_utf8_lossy(octets).into_owned());
        sent
    }

    #[test]
    fn gets_that_begin_alike_go_as_one() {
        let lines = |gets: &[&str]| sent(&mut queue(gets)).replace("\r\n", ";");
        assert_eq!(lines(&["get a", "get b", "get a"]), "get a b a;");
        assert_eq!(
            lines(&["get a", "gets b", "gets c", "gat 5 d", "gat 5 e", "gat 50 f"]),
            "get a;gets b c;gat 5 d e;gat 50 f;"
        );
        assert_eq!(lines(&["get a", "mn", "get b"]), "get a;mn;get b;");
        assert_eq!(
            lines(&["get a", "get b\0", "get c", "get d\x7f", "get \t", "get é"]),
            "get a;get b\0;get c;get d\x7f;get \t;get é;"
        );
    }

    #[test]
    fn a_joined_get_has_an_end() {
        let mut short = queue(&["get a"; JOINED_KEYS_MAX + 1]);
        assert_eq!(sent(&mut short).lines().map(|line| line.len()).collect::<Vec<_>>(), [3 + 2 * JOINED_KEYS_MAX, 5]);
        let long = format!("get {}", "k".repeat(250));
        let mut long = queue(&[long.as_str(); 17]);
        let lines: Vec<usize> = sent(&mut long).lines().map(|line| line.len() + 2).collect();
        assert_eq!(lines, [5 + 8 * 251, 5 + 8 * 251, 5 + 251]);
        assert!(lines[0] <= JOINED_OCTETS_MAX && lines[0] + 251 > JOINED_OCTETS_MAX);
    }

    #[test]
    fn nothing_joins_what_is_sent_or_answered() {
        let mut queue = queue(&["get a"]);
        assert!(queue.say(3, |octets| assert_eq!(octets, b"get")));
        assert!(!queue.push(b"get b\r\n", asked(1, Asked::Get)));
        assert_eq!(sent(&mut queue), " a\r\nget b\r\n");
        assert!(!queue.push(b"get c\r\n", asked(2, Asked::Get)));
        queue.pop();
        assert!(!queue.push(b"get d\r\n", asked(3, Asked::Get)));
        assert!(queue.waiting().iter().all(|waiting| !waiting.goes_on));
    }

    #[test]
    fn values_are_those_of_their_keys_within_the_get() {
        let keys = ["a", "b", "a", "c", "d"];
        let mut queue = queue(&["get a", "get b", "get a", "get c", "gets d"]);
        let mut take = |key: &str| queue.take(|number| keys[number as usize] == key);
        assert_eq!(take("c"), Some(Role::Request(3, 0)));
        assert_eq!(take("a"), Some(Role::Request(0, 0)));
        assert_eq!(take("a"), Some(Role::Request(2, 0)));
        assert_eq!((take("a"), take("c"), take("d"), take("x")), (None, None, None, None));
        assert_eq!(take("b"), Some(Role::Request(1, 0)));
        let mut left = 0;
        while queue.pop().is_some_and(|waiting| waiting.goes_on) {
            left += 1;
        }
        assert_eq!((left, queue.take(|number| keys[number as usize] == "d")), (3, Some(Role::Request(4, 0))));
    }
}
