//! Slow commands: the last ones that took long, and whether they waited for the server or for their client.
//!
//! A command's time begins when its first octet was there and ends when its answer was handed to the engine. No command
//! has a look at the clock of its own: one look follows each call of [`Service::octets`]. So all that was answered in a
//! call that took long took as long as the call, and the one that moved most octets is told, with how many there were.
//! Of a command that is not through at the end of a call, its connection remembers when it began.

use super::connection::Connection;
use super::{Next, Service, Taken};
use crate::protocol::words::{self, Words};
use crate::protocol::{Now, binary};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Slow commands that are kept: of more, the oldest are forgotten.
// Limit: slow commands kept
// Beyond: the oldest are forgotten
// Seen in: the list of slow commands
pub const SLOW_COMMANDS_MAX: usize = 128;
/// Octets that are kept of a command that is not through: its words up to the first key.
const HEAD_OCTETS_MAX: usize = 300;
const US_PER_MS: u64 = 1000;

/// A command that took long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlowCommand {
    /// When it was answered, in microseconds since 1970.
    pub unix_us: u64,
    /// From its first octet to its answer, in microseconds.
    pub took_us: u64,
    /// Of these, those in which it did not wait for its client: it was served, or waited for its turn.
    pub served_us: u64,
    /// Its first word; of the binary protocol, the number of the opcode: `0x01`.
    pub command: String,
    /// Its first key, empty if it has none.
    pub key: Vec<u8>,
    /// Its keys.
    pub keys: u32,
    /// Octets of the command and of its answer.
    pub octets: u64,
    /// Who sent it, as `stats conns` has it: `tcp:127.0.0.1:40000`.
    pub peer: String,
    /// Whether most of the time passed in waiting for the client: for the rest of the command, or until the client took
    /// what was answered.
    pub waited: bool,
    /// Commands that were answered in the same call, itself included: their times cannot be told apart.
    pub together: u32,
}

/// The slow commands of all threads, and from when on one is slow. Locked when there is one.
#[derive(Debug, Default)]
pub(super) struct SlowLog {
    ring: Mutex<VecDeque<SlowCommand>>,
}

impl SlowLog {
    /// All that are kept, the latest first.
    pub fn commands(&self) -> Vec<SlowCommand> {
        self.lock().iter().rev().cloned().collect()
    }

    fn put(&self, command: SlowCommand) {
        let mut ring = self.lock();
        if ring.len() >= SLOW_COMMANDS_MAX {
            ring.pop_front();
        }
        ring.push_back(command);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<SlowCommand>> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a connection remembers of a command that is not through.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// When it began, in microseconds of the monotonic clock; 0 if there is none.
    began_us: u64,
    /// Milliseconds of waiting for the client.
    waited_ms: u32,
    /// When the last call ended, in milliseconds after it began; [`Course::SERVER`] if the server was not through.
    left_ms: u32,
    /// What was taken of it already.
    head: Option<Box<Head>>,
}

#[derive(Debug)]
struct Head {
    text: Vec<u8>,
    keys: u32,
    octets: u64,
}

impl Course {
    const SERVER: u32 = u32::MAX;

    fn ms_since(&self, us: u64) -> u32 {
        u32::try_from(us.saturating_sub(self.began_us) / US_PER_MS).unwrap_or(Course::SERVER - 1)
    }

    /// A call begins.
    fn go_on(&mut self, began_us: u64) {
        if self.began_us != 0 && self.left_ms != Course::SERVER {
            self.waited_ms = self.waited_ms.saturating_add(self.ms_since(began_us).saturating_sub(self.left_ms));
        }
    }

    /// A call ends, and the command goes on; `piece` of it was taken in that call, and `said` octets were answered.
    fn pause(&mut self, began_us: u64, after_us: u64, piece: &[u8], said: usize, by_client: bool) {
        if self.began_us == 0 {
            self.began_us = began_us.max(1);
        }
        self.left_ms = if by_client { self.ms_since(after_us) } else { Course::SERVER };
        if !piece.is_empty() || self.head.is_some() {
            let cut = piece.len().min(HEAD_OCTETS_MAX);
            let head =
                self.head.get_or_insert_with(|| Box::new(Head { text: piece[..cut].into(), keys: 0, octets: 0 }));
            head.take(piece, said);
        }
    }
}

impl Head {
    fn take(&mut self, piece: &[u8], said: usize) {
        // Of a get each key follows a blank; of anything else the keys are in the head.
        if self.text.starts_with(b"g") {
            self.keys += memchr::memchr_iter(b' ', piece).count() as u32;
        }
        self.octets += (piece.len() + said) as u64;
    }
}

/// What a call has carried out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turned {
    /// Commands that came to their end.
    commands: u32,
    /// Octets of the first of them, and of what was answered to it.
    first: (usize, usize),
    /// The one with the most octets among the others, or among all if the first one began in this call.
    heaviest: Piece,
    /// Where the command lies that is under way, and where its answer begins.
    from: usize,
    said_from: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    from: usize,
    to: usize,
    said: usize,
}

impl Piece {
    fn octets(&self) -> usize {
        self.to - self.from + self.said
    }
}

impl Turned {
    /// A command ends: it lies before octet `to` of the input, and its answer before octet `said_to` of what is said.
    #[inline]
    pub fn end(&mut self, to: usize, said_to: usize) {
        let piece = Piece { from: self.from, to, said: said_to - self.said_from };
        if self.commands == 0 {
            self.first = (to, piece.said);
        }
        self.commands += 1;
        if piece.octets() > self.heaviest.octets() {
            self.heaviest = piece;
        }
        (self.from, self.said_from) = (to, said_to);
    }
}

impl Service {
    /// Whether somebody wants to know of slow commands: then [`Service::took`] is to follow each call.
    pub fn times_commands(&self) -> bool {
        self.shared.settings.slow_ms > 0
    }

    /// Looks at what the last call, of [`Service::octets`] with `input` at `began` or of [`Service::resume`] with none,
    /// has carried out until `after_us` of the monotonic clock, and keeps what took long.
    pub fn took(
        &mut self,
        connection: &mut Connection,
        input: &[u8],
        taken: Taken,
        began: Now,
        after_us: u64,
        peer: impl Fn() -> String,
    ) {
        let turned = std::mem::take(&mut self.turned);
        let limit_us = u64::from(self.shared.settings.slow_ms) * US_PER_MS;
        let (spent_us, said) = (after_us.saturating_sub(began.monotonic_us), self.said - turned.said_from);
        connection.course.go_on(began.monotonic_us);
        let carried = connection.course.began_us != 0 && turned.commands > 0;
        if carried {
            let course = std::mem::take(&mut connection.course);
            if after_us.saturating_sub(course.began_us) >= limit_us {
                let slow = course.slow(&input[..turned.first.0], turned.first.1, began.unix_us, after_us);
                self.shared.slow.put(SlowCommand { peer: peer(), ..slow });
            }
        }
        let together = turned.commands - u32::from(carried);
        if together > 0 && spent_us >= limit_us {
            let Piece { from, to, said } = turned.heaviest;
            let (command, key, keys) = described(&input[from..to]);
            let octets = (to - from + said) as u64;
            let (unix_us, took_us) = (began.unix_us + spent_us, spent_us);
            let (served_us, waited, peer) = (took_us, false, peer());
            let slow = SlowCommand { unix_us, took_us, served_us, command, key, keys, octets, peer, waited, together };
            self.shared.slow.put(slow);
        }
        let is_through = connection.is_at_rest() && taken.octets == input.len();
        if is_through || connection.is_watching() {
            connection.course = Course::default();
        } else {
            let piece = &input[turned.from.min(taken.octets)..taken.octets];
            let by_client = taken.next != Next::Yield;
            connection.course.pause(began.monotonic_us, after_us, piece, said, by_client);
        }
    }

    /// The same of a datagram, all of whose commands take as long as the datagram.
    pub fn took_datagram(&self, datagram: &[u8], said: usize, began: Now, after_us: u64, peer: impl Fn() -> String) {
        let took_us = after_us.saturating_sub(began.monotonic_us);
        if took_us < u64::from(self.shared.settings.slow_ms) * US_PER_MS {
            return;
        }
        let (command, key, keys) = described(datagram.get(crate::protocol::udp::FRAME_OCTETS..).unwrap_or_default());
        let octets = (datagram.len() + said) as u64;
        let (unix_us, peer) = (began.unix_us + took_us, peer());
        let (served_us, waited, together) = (took_us, false, 1);
        let slow = SlowCommand { unix_us, took_us, served_us, command, key, keys, octets, peer, waited, together };
        self.shared.slow.put(slow);
    }
}

impl Course {
    /// The command that began in a call before and ends with `piece`.
    fn slow(self, piece: &[u8], said: usize, unix_us: u64, after_us: u64) -> SlowCommand {
        let took_us = after_us.saturating_sub(self.began_us);
        let waited_us = (u64::from(self.waited_ms) * US_PER_MS).min(took_us);
        let (command, key, keys, octets) = match self.head {
            None => {
                let (command, key, keys) = described(piece);
                (command, key, keys, 0)
            }
            Some(mut head) => {
                let (command, key, keys) = described(&head.text);
                let before = head.octets;
                head.take(piece, 0);
                // Between the keys of a get with a time to live that time stands.
                let keys = keys.max(head.keys.saturating_sub(u32::from(command.starts_with("gat"))));
                (command, key, keys, before)
            }
        };
        let octets = octets + (piece.len() + said) as u64;
        let (served_us, waited) = (took_us - waited_us, waited_us * 2 > took_us);
        SlowCommand {
            unix_us,
            took_us,
            served_us,
            command,
            key,
            keys,
            octets,
            waited,
            together: 1,
            ..Default::default()
        }
    }
}

/// The name, the first key and the number of keys of the command that `octets` begin with.
fn described(octets: &[u8]) -> (String, Vec<u8>, u32) {
    if octets.first() == Some(&binary::REQUEST) {
        return described_binary(octets);
    }
    let line = &octets[..memchr::memchr2(b'\r', b'\n', octets).unwrap_or(octets.len())];
    let words = Words::of(line);
    let command = String::from_utf8_lossy(words.at(0)).into_owned();
    let at = match words.at(0) {
        b"gat" | b"gats" => 2,
        b"version" | b"verbosity" | b"flush_all" | b"cache_memlimit" | b"shutdown" | b"mn" => {
            return (command, vec![], 0);
        }
        // What follows tells more than a key.
        b"stats" | b"lru_crawler" | b"watch" | b"slabs" | b"lru" => {
            return (words.from(0).join(&b' ').iter().map(|&octet| char::from(octet)).collect(), vec![], 0);
        }
        _ => 1,
    };
    let mut keys = u32::from(!words.at(at).is_empty());
    if matches!(words.at(0), b"get" | b"gets" | b"gat" | b"gats") {
        let (mut rest, mut count) = (line, 0);
        while let Some((_, after)) = words::next(rest) {
            (rest, count) = (after, count + 1);
        }
        keys = u32::saturating_sub(count, at as u32);
    }
    (command, words.at(at).to_vec(), keys)
}

fn described_binary(octets: &[u8]) -> (String, Vec<u8>, u32) {
    let opcode = octets.get(1).copied().unwrap_or_default();
    let key = binary::Header::read(octets).and_then(|header| {
        let before = binary::HEADER_OCTETS + usize::from(header.extras_octets);
        octets.get(before..before + usize::from(header.key_octets))
    });
    let key = key.unwrap_or_default().to_vec();
    let keys = u32::from(!key.is_empty());
    (format!("0x{opcode:02x}"), key, keys)
}

#[cfg(test)]
mod tests {
    use super::super::{Alone, Settings, Shared};
    use super::*;
    use crate::store::{Rules, Store};
    use std::sync::Arc;

    const MS: u64 = 1000;

    /// A service with one connection, whose calls take as long as a test says.
    struct Stage {
        service: Service,
        connection: Connection,
        input: Vec<u8>,
        said: Vec<u8>,
    }

    impl Stage {
        fn new() -> Self {
            let store = Store::new(Rules::default());
            let shared = Shared::new(store, Settings::default(), Arc::new(Alone), at(0));
            let mut service = Service::new(&shared);
            let connection = service.accepted(1);
            Stage { service, connection, input: Vec::new(), said: Vec::new() }
        }

        /// A call at `begin_ms` that takes `takes_ms`, with this input behind what was left over.
        fn call(&mut self, begin_ms: u64, takes_ms: u64, input: &[u8]) {
            self.input.extend_from_slice(input);
            let now = at(begin_ms);
            self.said.clear();
            let taken = self.service.octets(&mut self.connection, &self.input, &mut self.said, now);
            let after_us = now.monotonic_us + takes_ms * MS;
            self.service.took(&mut self.connection, &self.input, taken, now, after_us, || "tcp:192.0.2.1:7".to_owned());
            self.input.drain(..taken.octets);
        }

        fn told(&self) -> Vec<(String, String, u64, u64, bool)> {
            let told = self.service.shared().slow_commands().into_iter().map(|slow| {
                assert_eq!(slow.peer, "tcp:192.0.2.1:7");
                let key = String::from_utf8(slow.key).unwrap();
                (slow.command, key, slow.took_us / MS, slow.served_us / MS, slow.waited)
            });
            told.collect()
        }
    }

    fn at(ms: u64) -> Now {
        Now { monotonic_us: (5_000 + ms) * MS, ..Now::new(1_000, (2_000_000 + ms) * MS) }
    }

    fn told(command: &str, key: &str, took_ms: u64, served_ms: u64, waited: bool) -> (String, String, u64, u64, bool) {
        (command.to_owned(), key.to_owned(), took_ms, served_ms, waited)
    }

    #[test]
    fn what_is_served_fast_is_not_told() {
        let mut stage = Stage::new();
        stage.call(0, 9, b"set a 0 0 1\r\nx\r\nget a\r\n");
        assert_eq!(stage.told(), []);
    }

    #[test]
    fn of_a_call_the_command_with_most_octets_is_told() {
        let mut stage = Stage::new();
        stage.call(0, 1, &[b"set large 0 0 5000\r\n", &[b'x'; 5000][..], b"\r\n"].concat());
        stage.call(10, 30, b"get a\r\ngets b large  c\r\nget d\r\n");
        assert_eq!(stage.told(), [told("gets", "b", 30, 30, false)]);
        let slow = &stage.service.shared().slow_commands()[0];
        assert_eq!((slow.keys, slow.together, slow.octets), (3, 3, 17 + stage.said.len() as u64 - 10));
        assert_eq!(slow.unix_us, at(40).unix_us);
    }

    #[test]
    fn a_value_that_comes_slowly_waited_for_its_client() {
        let mut stage = Stage::new();
        stage.call(0, 1, b"version\r\nset some 0 0 10\r\n01234");
        stage.call(700, 2, b"56");
        stage.call(1500, 3, b"789\r\nget a\r\n");
        assert_eq!(stage.told(), [told("set", "some", 1503, 6, true)]);
        assert_eq!(stage.service.shared().slow_commands()[0].octets, 29 + "STORED\r\n".len() as u64);
    }

    #[test]
    fn a_line_that_comes_slowly_and_a_long_get() {
        let mut stage = Stage::new();
        stage.call(0, 0, b"get so");
        stage.call(50, 0, b"me\r\n");
        assert_eq!(stage.told(), [told("get", "some", 50, 0, true)]);
        let keys = "key ".repeat(1000);
        stage.call(100, 20, format!("gat 0 first {keys}").as_bytes());
        stage.call(120, 5, format!("{keys}last\r\n").as_bytes());
        assert_eq!(stage.told()[0], told("gat", "first", 25, 25, false));
        assert_eq!(stage.service.shared().slow_commands()[0].keys, 2002);
    }

    #[test]
    fn who_takes_an_answer_slowly_waited_and_who_waits_for_his_turn_did_not() {
        let mut stage = Stage::new();
        let value = vec![b'x'; 900_000];
        stage.call(0, 1, &[b"set large 0 0 900000\r\n", &value[..], b"\r\n"].concat());
        (0..4).for_each(|call| stage.call(100 + 40 * call, 1, if call == 0 { b"get large\r\n" } else { b"" }));
        assert_eq!(stage.told(), [told("get", "large", 121, 4, true)]);
        // Twenty requests are a turn; the rest of them has the next one.
        stage.call(500, 1, &b"get a\r\n".repeat(25));
        stage.call(530, 1, b"");
        assert_eq!(stage.told()[0], told("get", "a", 31, 31, false));
    }

    #[test]
    fn watchers_are_not_slow_and_the_oldest_are_forgotten() {
        let mut stage = Stage::new();
        for n in 0..SLOW_COMMANDS_MAX as u64 + 5 {
            stage.call(n * 100, 20, format!("mg key-{n} v\r\n").as_bytes());
        }
        let told = stage.told();
        assert_eq!((told.len(), &told[0].1[..], &told[127].1[..]), (SLOW_COMMANDS_MAX, "key-132", "key-5"));
        stage.call(90_000, 1, b"watch fetchers\r\n");
        stage.call(99_000, 1, b"");
        assert_eq!(stage.told()[0].1, "key-132");
    }

    #[test]
    fn commands_are_named() {
        let named = |octets: &[u8]| described(octets);
        assert_eq!(named(b"stats items\r\n"), ("stats items".to_owned(), vec![], 0));
        assert_eq!(named(b"gat 10 a b\r\n"), ("gat".to_owned(), b"a".to_vec(), 2));
        assert_eq!(
            named(b"\x80\x00\0\x03\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0abc"),
            ("0x00".to_owned(), b"abc".to_vec(), 1)
        );
        assert_eq!(named(b"\x80\x01"), ("0x01".to_owned(), vec![], 0));
        assert_eq!(named(b""), (String::new(), vec![], 0));
    }
}
