//! `stats` by memcached's names, for people and for what reads them.
//!
//! All names of memcached 1.6.18 are told, in its order; docs/manual/cache.md lists those that are always 0 here
//! because the thing does not exist, and those that mean something else. There are no slab classes: all items are told
//! as class 1, its page a segment of the store.

mod classes;
mod general;
mod observed;
mod settings;

use super::connection::State;
use super::facts::ConnectionFacts;
use super::walk::Walking;
use super::{Call, Go, Service, Shared, say};
use crate::protocol::binary::{Header, Lengths, Status};
use crate::protocol::text::{BAD_FORMAT, ERROR};
use crate::protocol::words::Words;
use crate::protocol::{Now, number};
use std::fmt::Display;

/// Where rows go: lines of text, or packets.
struct Rows<'a> {
    out: &'a mut Vec<u8>,
    header: Option<&'a Header>,
}

impl Rows<'_> {
    fn row(&mut self, name: &str, value: impl Display) {
        self.octets(name.as_bytes(), value.to_string().as_bytes());
    }

    fn numbers(&mut self, rows: &[(&str, u64)]) {
        rows.iter().for_each(|(name, value)| self.row(name, value));
    }

    /// Of things that do not exist here.
    fn zeros(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.row(name, 0));
    }

    fn octets(&mut self, name: &[u8], value: &[u8]) {
        match self.header {
            Some(header) => {
                let lengths = Lengths { extras: 0, key: name.len() as u16, value: value.len() as u32 };
                header.answer(Status::Done, lengths, 0, self.out);
                self.out.extend_from_slice(name);
                self.out.extend_from_slice(value);
            }
            None => {
                for part in [b"STAT ", name, b" ", value, b"\r\n"] {
                    self.out.extend_from_slice(part);
                }
            }
        }
    }

    fn end(&mut self) {
        match self.header {
            Some(header) => header.answer(Status::Done, Lengths::default(), 0, self.out),
            None => self.out.extend_from_slice(b"END\r\n"),
        }
    }
}

impl Service {
    /// `stats` with whatever follows it.
    pub(super) fn stats(&mut self, words: &Words<'_>, call: &mut Call<'_>) -> (Go, State) {
        match words.at(1) {
            b"reset" => {
                self.shared.reset();
                say(call.out, b"RESET");
            }
            b"detail" => self.detail(words.at(2), call),
            b"cachedump" => return self.cachedump(words, call),
            group => {
                let known = self.shared.group(group, &mut Rows { out: call.out, header: None }, call.now);
                if !known {
                    say(call.out, ERROR);
                }
            }
        }
        (Go::On(0), State::Ready)
    }

    fn detail(&self, word: &[u8], call: &mut Call<'_>) {
        match word {
            b"on" | b"off" => {
                self.shared.prefixes.turn(word == b"on");
                say(call.out, b"OK");
            }
            b"dump" => self.shared.prefixes.dump(call.out),
            _ => say(call.out, b"CLIENT_ERROR usage: stats detail on|off|dump"),
        }
    }

    fn cachedump(&self, words: &Words<'_>, call: &mut Call<'_>) -> (Go, State) {
        let numbers = number::unsigned_32(words.at(2)).zip(number::unsigned_32(words.at(3)));
        let text: &[u8] = match numbers {
            _ if !self.may_dump() => b"CLIENT_ERROR stats cachedump not allowed",
            _ if words.count() < 4 => b"CLIENT_ERROR bad command line",
            None => BAD_FORMAT,
            Some((64.., _)) => b"CLIENT_ERROR Illegal slab id",
            Some((1, wanted)) => return (Go::On(0), Walking::cachedump(wanted)),
            Some(_) => b"END",
        };
        say(call.out, text);
        (Go::On(0), State::Ready)
    }

    /// The same of the binary protocol, where the key says which.
    pub(super) fn binary_stats(&self, header: &Header, key: &[u8], call: &mut Call<'_>) {
        let mut rows = Rows { out: call.out, header: Some(header) };
        let known = match key {
            _ if key.starts_with(b"reset") => {
                self.shared.reset();
                rows.end();
                true
            }
            _ if key.starts_with(b"detail") => self.binary_detail(&key[6..], &mut rows),
            _ if key.starts_with(b"settings") => self.shared.group(b"settings", &mut rows, call.now),
            group => self.shared.group(group, &mut rows, call.now),
        };
        if !known {
            super::binary::fail(header, Status::NotFound, call.out);
        }
    }

    fn binary_detail(&self, word: &[u8], rows: &mut Rows<'_>) -> bool {
        match word {
            _ if word.starts_with(b" dump") => {
                let mut dump = Vec::new();
                self.shared.prefixes.dump(&mut dump);
                rows.octets(b"detailed", &dump);
            }
            _ if word.starts_with(b" on") => self.shared.prefixes.turn(true),
            _ if word.starts_with(b" off") => self.shared.prefixes.turn(false),
            _ => return false,
        }
        rows.end();
        true
    }
}

impl Shared {
    fn reset(&self) {
        self.ledger.reset();
        self.prefixes.clear();
        *self.counts_before() = self.store.counts();
    }

    /// A group of rows; false where there is none of that name.
    fn group(&self, name: &[u8], rows: &mut Rows<'_>, now: Now) -> bool {
        match name {
            b"" => self.general(rows, now.second),
            b"settings" => self.settings(rows),
            b"items" => self.items(rows),
            b"slabs" => self.slabs(rows),
            b"sizes" => self.sizes(rows),
            // They are always gathered.
            b"sizes_enable" | b"sizes_disable" => rows.row("sizes_status", "enabled"),
            b"hotkeys" => self.hot_key_rows(rows, now),
            b"slow" => self.slow_rows(rows),
            b"conns" => self.host.connections(&mut |connection| rows.connection(connection)),
            _ => return false,
        }
        rows.end();
        true
    }
}

impl Rows<'_> {
    fn connection(&mut self, connection: &ConnectionFacts) {
        let name = connection.name;
        self.row(&format!("{name}:addr"), &connection.peer);
        if let Some(local) = &connection.local {
            self.row(&format!("{name}:listen_addr"), local);
        }
        self.row(&format!("{name}:state"), connection.state);
        self.row(&format!("{name}:secs_since_last_cmd"), connection.idle_s);
    }
}
