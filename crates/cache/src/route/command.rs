//! Commands of clients become asks.

use super::answer::{Asked, Said};
use super::client::{Input, Stage};
use super::request::{Quiet, Request, Verb, keys};
use super::{HELD_OCTETS_MAX, LINE_OCTETS_MAX, Router};
use crate::protocol::binary::REQUEST;
use crate::protocol::meta;
use crate::protocol::text::{self, BAD_FORMAT, Command, ERROR, Get, KEY_OCTETS_MAX, Refused};
use crate::protocol::words::Words;

const TOO_LARGE: &[u8] = b"SERVER_ERROR object too large for cache";
const BAD_CHUNK: &[u8] = b"CLIENT_ERROR bad data chunk";
const NO_FLUSH: &[u8] = b"CLIENT_ERROR flush_all not allowed";
const NO_MEMORY: &[u8] = b"SERVER_ERROR unavailable memory";
const LINE_TOO_LONG: &[u8] = b"CLIENT_ERROR line too long";
/// Binary protocol: what a request is answered with, `Unknown command`, and the reason in its body.
const BINARY_HEADER_OCTETS: usize = 24;
const BINARY_STATUS: u16 = 0x81;
const BINARY_REASON: &[u8] = b"the proxy speaks text and meta commands, not the binary protocol";

impl Router {
    /// The next command of a client, or more of what it is in the midst of; the octets taken, none if more must come.
    pub(super) fn step(&mut self, client: u32, input: &[u8]) -> Option<usize> {
        let state = self.client(client)?.input;
        match state {
            Input::Closed => None,
            Input::Swallow(left) => {
                let taken = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
                let left = left - taken as u64;
                self.set_input(client, if left == 0 { Input::Ready } else { Input::Swallow(left) });
                (taken > 0).then_some(taken)
            }
            Input::First if input.first() == Some(&REQUEST) => {
                let header = input.get(..BINARY_HEADER_OCTETS)?;
                self.refuse_binary(client, header);
                Some(input.len())
            }
            Input::First if input.is_empty() => None,
            Input::First => {
                self.set_input(client, Input::Ready);
                Some(0)
            }
            Input::Ready => match memchr::memchr(b'\n', &input[..input.len().min(LINE_OCTETS_MAX)]) {
                Some(end) => self.line(client, input, end),
                None => self.endless(client, input),
            },
        }
    }

    fn set_input(&mut self, client: u32, input: Input) {
        if let Some(client) = self.clients.get_mut(client as usize).and_then(Option::as_mut) {
            client.input = input;
        }
    }

    /// A line without an end: only a get may be long, and not without limit.
    fn endless(&mut self, client: u32, input: &[u8]) -> Option<usize> {
        let is_get = input.starts_with(b"get") || input.starts_with(b"gat");
        if input.len() <= text::LINE_OCTETS_MAX || (is_get && input.len() < LINE_OCTETS_MAX) {
            return None;
        }
        self.counts.refused_clients += 1;
        if is_get {
            self.local(client, LINE_TOO_LONG);
        }
        self.set_input(client, Input::Closed);
        Some(input.len())
    }

    fn line(&mut self, client: u32, input: &[u8], end: usize) -> Option<usize> {
        let line = text::line(&input[..end]);
        let behind = end + 1;
        match text::parse(line) {
            Ok(Command::Set(set)) => {
                let octets = set.octets as usize;
                self.value(client, line, &Command::Set(set), (behind, octets), set.quiet, input)
            }
            Ok(Command::Meta(meta::Command::Set(set))) => {
                let (octets, command) = (set.octets as usize, Command::Meta(meta::Command::Set(set)));
                self.value(client, line, &command, (behind, octets), false, input)
            }
            Ok(command) => {
                self.command(client, line, &command);
                Some(behind)
            }
            Err(refused) => {
                self.refuse(client, &refused);
                Some(behind)
            }
        }
    }

    fn refuse(&mut self, client: u32, refused: &Refused) {
        if !refused.quiet {
            self.local(client, refused.text);
        }
        if refused.swallow > 0 {
            self.set_input(client, Input::Swallow(refused.swallow));
        }
    }

    /// A command with a value, which begins at `behind` and has so many octets.
    fn value(
        &mut self,
        client: u32,
        line: &[u8],
        command: &Command<'_>,
        (behind, octets): (usize, usize),
        quiet: bool,
        input: &[u8],
    ) -> Option<usize> {
        let end = behind + octets + 2;
        if octets as u64 > self.config.route.value_max.0 {
            self.counts.too_large += 1;
            if !quiet {
                self.local(client, TOO_LARGE);
            }
            self.remove(client, line, command);
            self.set_input(client, Input::Swallow(octets as u64 + 2));
            return Some(behind);
        }
        let value = input.get(behind..end)?;
        if !value.ends_with(b"\r\n") {
            if !quiet {
                self.local(client, BAD_CHUNK);
            }
            return Some(end);
        }
        self.one(client, line, command, value);
        Some(end)
    }

    /// What was there before must not be taken for what was to replace it: memcached removes it, too.
    fn remove(&mut self, client: u32, line: &[u8], command: &Command<'_>) {
        let mut request = Request::default();
        let is_made = match command {
            Command::Meta(command) => request.meta(command, line, b""),
            command => request.classic(command, line, b""),
        };
        if is_made {
            let line = request.removal();
            if let Ok(command) = text::parse(text::line(&line[..line.len() - 1])) {
                let number = self.one(client, text::line(&line[..line.len() - 1]), &command, b"");
                self.asks.get(number).request.quiet = Quiet::Always;
            }
        }
    }

    fn command(&mut self, client: u32, line: &[u8], command: &Command<'_>) {
        match command {
            Command::Get(get) => self.get(client, get),
            Command::Meta(meta::Command::Nothing) => self.local(client, b"MN"),
            Command::Flush { quiet, .. } if !self.config.route.flush => {
                if !quiet {
                    self.local(client, NO_FLUSH);
                }
            }
            Command::Flush { quiet, .. } => self.flush(client, line, *quiet),
            Command::Rare(words) => self.rare(client, words),
            command => {
                self.one(client, line, command, b"");
            }
        }
    }

    fn get(&mut self, client: u32, get: &Get<'_>) {
        if keys(get).any(|key| key.len() > KEY_OCTETS_MAX) {
            return self.local(client, BAD_FORMAT);
        }
        let mut keys = keys(get).peekable();
        if keys.peek().is_none() {
            return self.local(client, b"END");
        }
        while let Some(key) = keys.next() {
            let number = self.enqueue(client);
            let ask = self.asks.get(number);
            ask.request.get(get, key);
            ask.last = keys.peek().is_none();
            self.begin(number);
        }
    }

    /// A command of one key; its number.
    fn one(&mut self, client: u32, line: &[u8], command: &Command<'_>, value: &[u8]) -> u32 {
        let number = self.enqueue(client);
        let request = &mut self.asks.get(number).request;
        let is_made = match command {
            Command::Meta(command) => request.meta(command, line, value),
            command => request.classic(command, line, value),
        };
        match is_made {
            true => self.begin(number),
            false => self.finish(number, Said::Refused, b"ERROR\r\n"),
        }
        number
    }

    fn begin(&mut self, number: u32) {
        self.counts.requests += 1;
        if self.held > HELD_OCTETS_MAX {
            self.counts.memory_overflow += 1;
            return self.finish(number, Said::Refused, &[NO_MEMORY, b"\r\n"].concat());
        }
        let config = &self.config;
        self.asks.get(number).pool = self.asks.get(number).request.with_stored_key(|key| config.pool_of(key));
        self.start(number);
    }

    /// To all servers of all pools.
    fn flush(&mut self, client: u32, line: &[u8], quiet: bool) {
        let number = self.enqueue(client);
        let ask = self.asks.get(number);
        ask.stage = Stage::Copies;
        (ask.request.verb, ask.request.asked) = (Verb::Write, Asked::Line);
        ask.request.quiet = if quiet { Quiet::Always } else { Quiet::Never };
        let words = Words::of(line);
        let words: Vec<&[u8]> = words.from(0).iter().copied().filter(|word| *word != b"noreply").collect();
        ask.request.octets = [&words.join(&b' '), &b"\r\n"[..]].concat();
        ask.request.line = ask.request.octets.len();
        let all: Vec<u16> = (0..self.config.servers.len() as u16).collect();
        self.ask_all(number, &all);
    }

    fn rare(&mut self, client: u32, words: &Words<'_>) {
        match words.at(0) {
            b"version" => {
                let text = format!("VERSION {}", self.host.version());
                self.local(client, text.as_bytes());
            }
            b"quit" => self.set_input(client, Input::Closed),
            b"stats" => match self.host.stats(words.at(1)) {
                Some(told) => self.local_octets(client, &told),
                None => self.local(client, ERROR),
            },
            b"verbosity" if !words.quiet() => self.local(client, b"OK"),
            b"verbosity" => {}
            b"shutdown" => self.local(client, b"ERROR: shutdown not enabled"),
            _ => self.local(client, ERROR),
        }
    }

    /// An answer of our own.
    fn local(&mut self, client: u32, line: &[u8]) {
        self.local_octets(client, &[line, b"\r\n"].concat());
    }

    fn local_octets(&mut self, client: u32, octets: &[u8]) {
        self.counts.local += 1;
        let number = self.enqueue(client);
        let request = &mut self.asks.get(number).request;
        (request.asked, request.quiet) = (Asked::Line, Quiet::Never);
        self.finish(number, Said::Done, octets);
    }

    fn refuse_binary(&mut self, client: u32, header: &[u8]) {
        self.counts.refused_clients += 1;
        let mut answer = header.to_vec();
        // All but opcode and opaque is another's.
        answer[2..12].fill(0);
        answer[16..].fill(0);
        answer[0] = 0x81;
        answer[6..8].copy_from_slice(&BINARY_STATUS.to_be_bytes());
        answer[8..12].copy_from_slice(&(BINARY_REASON.len() as u32).to_be_bytes());
        answer.extend_from_slice(BINARY_REASON);
        self.local_octets(client, &answer);
        self.set_input(client, Input::Closed);
    }

    /// A new ask at the end of a client's queue.
    fn enqueue(&mut self, client: u32) -> u32 {
        let number = self.asks.make();
        self.asks.get(number).client = Some(client);
        if let Some(client) = self.clients.get_mut(client as usize).and_then(Option::as_mut) {
            client.queue.push_back(number);
        }
        number
    }
}
