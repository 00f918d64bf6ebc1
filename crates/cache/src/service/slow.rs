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
