//! A client's command as it goes to a server: one key, always answered.
//!
//! `noreply` and the flag `q` are taken out, and what they leave unsaid is left out here: a server that says nothing
//! cannot be told from one that is gone. A get of several keys becomes one command for each; those
//! that go to a server one after the other are joined again on the way ([`super::link`]).

use super::answer::{Asked, Said};
use crate::protocol::base64;
use crate::protocol::meta::{self, Key};
use crate::protocol::text::{self, Command, Get, Mode};
use crate::protocol::words::{self, Words};
use std::time::Duration;

/// Longest time to live that counts from now, seconds.
const RELATIVE_SECONDS_MAX: i64 = crate::protocol::RELATIVE_SECONDS_MAX;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// It reads, and changes nothing but the time to live.
    Read,
    /// It reads, and may win the right to make the item anew (`mg` with N or R).
    Lease,
    /// It stores or changes, whatever is there.
    Write,
    /// It stores or changes if the number of the item is right: a number of one server alone.
    Compare,
    /// It removes.
    Delete,
}

/// Which answers are not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quiet {
    /// None.
    Never,
    /// All (`noreply`).
    Always,
    /// A miss (`mg` with q).
    Miss,
    /// What was to be expected (the others with q).
    Nominal,
}

/// A command for one server.
#[derive(Clone, Debug)]
pub struct Request {
    /// What it does.
    pub verb: Verb,
    /// As the server is asked: a line, and the value with its end behind it.
    pub octets: Vec<u8>,
    /// Octets of the line, its end included.
    pub line: usize,
    /// Where the key stands in the line, as it is written.
    pub key: (usize, usize),
    /// Whether the key is base64.
    pub binary_key: bool,
    /// What kind of answer comes.
    pub asked: Asked,
    /// What of it is not told.
    pub quiet: Quiet,
}

impl Default for Request {
    fn default() -> Request {
        let (verb, asked, quiet) = (Verb::Read, Asked::Line, Quiet::Never);
        Request { verb, octets: Vec::new(), line: 0, key: (0, 0), binary_key: false, asked, quiet }
    }
}

impl Request {
    /// One key of a get.
    pub fn get(&mut self, get: &Get<'_>, key: &[u8]) {
        self.begin(Verb::Read, Asked::Get, Quiet::Never);
        match get.expiry {
            None => self.word(if get.cas { b"gets" } else { b"get" }),
            Some(expiry) => {
                self.word(if get.cas { b"gats" } else { b"gat" });
                self.word(expiry.to_string().as_bytes());
            }
        }
        self.key_word(key);
        self.end(&[]);
    }

    /// A classic command of one key; `value` is empty or has its end. False for one that is none of those.
    pub fn classic(&mut self, command: &Command<'_>, line: &[u8], value: &[u8]) -> bool {
        let (verb, key, quiet) = match *command {
            Command::Set(set) if set.mode == Mode::Cas => (Verb::Compare, set.key, set.quiet),
            Command::Set(set) => (Verb::Write, set.key, set.quiet),
            Command::Delta { key, quiet, .. } | Command::Touch { key, quiet, .. } => (Verb::Write, key, quiet),
            Command::Delete { key, quiet } => (Verb::Delete, key, quiet),
            _ => return false,
        };
        self.begin(verb, Asked::Line, if quiet { Quiet::Always } else { Quiet::Never });
        let words = Words::of(line);
        self.word(words.at(0));
        self.key_word(key);
        for word in words.from(2).iter().filter(|word| !(quiet && **word == b"noreply")) {
            self.word(word);
        }
        self.end(value);
        true
    }

    /// A meta command; `value` is empty or has its end. False for `mn`, which has no key.
    pub fn meta(&mut self, command: &meta::Command<'_>, line: &[u8], value: &[u8]) -> bool {
        let (verb, key, flags_from, quiet) = match command {
            meta::Command::Get(request) => {
                let leases = request.flags.vivify.is_some() || request.flags.recache.is_some();
                (if leases { Verb::Lease } else { Verb::Read }, request.key, 2, Quiet::Miss)
            }
            meta::Command::Set(set) => {
                let compares = set.request.flags.cas.is_some();
                (if compares { Verb::Compare } else { Verb::Write }, set.request.key, 3, Quiet::Nominal)
            }
            meta::Command::Delete(request) => {
                let compares = request.flags.cas.is_some();
                (if compares { Verb::Compare } else { Verb::Delete }, request.key, 2, Quiet::Nominal)
            }
            meta::Command::Delta(request, _) => {
                let compares = request.flags.cas.is_some();
                (if compares { Verb::Compare } else { Verb::Write }, request.key, 2, Quiet::Nominal)
            }
            meta::Command::Debug(key) => (Verb::Read, *key, usize::MAX, Quiet::Never),
            meta::Command::Nothing => return false,
        };
        let words = Words::of(line);
        let is_quiet = words.from(flags_from).iter().any(|word| word[0] == b'q');
        self.begin(verb, Asked::Line, if is_quiet { quiet } else { Quiet::Never });
        self.binary_key = Key::is_binary(&key);
        self.word(words.at(0));
        self.key_word(words.at(1));
        for (at, word) in words.from(2).iter().enumerate() {
            if at + 2 < flags_from || word[0] != b'q' {
                self.word(word);
            }
        }
        self.end(value);
        true
    }

    fn begin(&mut self, verb: Verb, asked: Asked, quiet: Quiet) {
        (self.verb, self.asked, self.quiet, self.binary_key) = (verb, asked, quiet, false);
        self.octets.clear();
    }

    fn word(&mut self, word: &[u8]) {
        if !self.octets.is_empty() {
            self.octets.push(b' ');
        }
        self.octets.extend_from_slice(word);
    }

    fn key_word(&mut self, key: &[u8]) {
        self.word(key);
        self.key = (self.octets.len() - key.len(), self.octets.len());
    }

    fn end(&mut self, value: &[u8]) {
        self.octets.extend_from_slice(b"\r\n");
        self.line = self.octets.len();
        self.octets.extend_from_slice(value);
    }

    /// The key as it is written.
    pub fn key(&self) -> &[u8] {
        &self.octets[self.key.0..self.key.1]
    }

    /// What says that the key is base64, behind a blank.
    fn binary_flag(&self) -> &'static [u8] {
        if self.binary_key { b" b" } else { b"" }
    }

    /// Shows the key as it is stored: the same key is at the same server however it is written.
    pub fn with_stored_key<T>(&self, look: impl FnOnce(&[u8]) -> T) -> T {
        match base64::decode(self.key()).filter(|_| self.binary_key) {
            Some((octets, length)) => look(&octets[..length]),
            None => look(self.key()),
        }
    }

    /// Whether an answer that says this, and begins with these octets, is told to the client.
    pub fn is_told(&self, said: Said, answer: &[u8]) -> bool {
        match self.quiet {
            Quiet::Never => true,
            Quiet::Always => false,
            Quiet::Miss => said != Said::Missed,
            Quiet::Nominal => !(said == Said::Found && (answer.starts_with(b"HD") || answer.starts_with(b"VA"))),
        }
    }

    /// What a miss looks like, for a read that nobody can answer.
    pub fn miss(&self, out: &mut Vec<u8>) {
        if self.asked == Asked::Get {
            return;
        }
        out.extend_from_slice(b"EN");
        // Field: `me` has no flags to tell back.
        if !self.octets.starts_with(b"me") {
            let line = &self.octets[..self.line - 2];
            for word in Words::of(line).from(2) {
                match word[0] {
                    b'O' => out.extend([b" ", *word].concat()),
                    b'k' => out.extend([b" k", self.key(), self.binary_flag()].concat()),
                    _ => {}
                }
            }
        }
        out.extend_from_slice(b"\r\n");
    }

    /// The same command with no time to live longer than `most`, as a pool that stands in for another wants it.
    /// `unix` is the time of day, for times to live that are written so.
    pub fn capped(&self, most: Duration, unix: Duration) -> Vec<u8> {
        let words = Words::of(&self.octets[..self.line - 2]);
        let most = i64::try_from(most.as_secs()).unwrap_or(RELATIVE_SECONDS_MAX).clamp(1, RELATIVE_SECONDS_MAX);
        let (expiry_at, flags_from) = (expiry_at(words.at(0)), flags_from(words.at(0)));
        let mut out = Vec::with_capacity(self.octets.len() + 8);
        for (at, word) in words.from(0).iter().enumerate() {
            if at > 0 {
                out.push(b' ');
            }
            match word {
                word if expiry_at == Some(at) => out.extend(cap(word, most, unix)),
                [letter @ (b'T' | b'N'), expiry @ ..] if flags_from.is_some_and(|from| at >= from) => {
                    out.push(*letter);
                    out.extend(cap(expiry, most, unix));
                }
                word => out.extend_from_slice(word),
            }
        }
        // What is stored without a time to live would live for ever.
        if words.at(0) == b"ms" && !words.from(3).iter().any(|word| word[0] == b'T') {
            out.extend_from_slice(format!(" T{most}").as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.octets[self.line..]);
        out
    }

    /// What asks a warm server for an item with all that is needed to store it anew.
    pub fn fetch(&self) -> Vec<u8> {
        [b"mg ", self.key(), self.binary_flag(), b" v t f\r\n"].concat()
    }

    /// What adds the item that [`Request::fetch`] brought, if the answer is one.
    pub fn add(&self, answer: &[u8]) -> Option<Vec<u8>> {
        let end = memchr::memchr(b'\n', answer)?;
        let words = Words::of(text::line(&answer[..end]));
        let (mut expiry, mut flags) = (&b"0"[..], &b"0"[..]);
        for word in words.from(2) {
            match *word {
                b"t-1" => {}
                [b't', seconds @ ..] => expiry = seconds,
                [b'f', number @ ..] => flags = number,
                // Stale: somebody makes it anew.
                b"X" => return None,
                _ => {}
            }
        }
        let line = [b"ms ", self.key(), b" ", words.at(1), self.binary_flag(), b" ME T", expiry, b" F", flags, b"\r\n"]
            .concat();
        (words.at(0) == b"VA").then(|| [&line, &answer[end + 1..]].concat())
    }

    /// What removes the key, whatever the command is.
    pub fn removal(&self) -> Vec<u8> {
        [b"md ", self.key(), self.binary_flag(), b"\r\n"].concat()
    }
}

/// Which word of a classic command is its time to live.
fn expiry_at(command: &[u8]) -> Option<usize> {
    match command {
        b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas" => Some(3),
        b"gat" | b"gats" => Some(1),
        b"touch" => Some(2),
        _ => None,
    }
}

/// Which word of a meta command is its first flag.
fn flags_from(command: &[u8]) -> Option<usize> {
    match command {
        b"ms" => Some(3),
        [b'm', _] => Some(2),
        _ => None,
    }
}

/// A time to live that is no longer than `most` seconds; what is over already stays so.
fn cap(word: &[u8], most: i64, unix: Duration) -> Vec<u8> {
    let Some(expiry) = crate::protocol::number::signed_32(word).map(i64::from) else { return word.to_vec() };
    let left = if expiry > RELATIVE_SECONDS_MAX { expiry - unix.as_secs() as i64 } else { expiry };
    match expiry {
        0 => most.to_string().into_bytes(),
        _ if left > most => most.to_string().into_bytes(),
        _ => word.to_vec(),
    }
}

/// The keys of a get, one after the other.
pub fn keys<'a>(get: &Get<'a>) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = get.keys;
    core::iter::from_fn(move || {
        let (key, after) = words::next(rest)?;
        rest = after;
        Some(key)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(line: &[u8], value: &[u8]) -> Request {
        let mut request = Request::default();
        let made = match text::parse(line).expect("a command") {
            Command::Meta(command) => request.meta(&command, line, value),
            Command::Get(get) => {
                let key = keys(&get).next().expect("a key");
                request.get(&get, key);
                true
            }
            command => request.classic(&command, line, value),
        };
        assert!(made, "{}", String::from_utf8_lossy(line));
        request
    }

    fn text_of(octets: &[u8]) -> String {
        String::from_utf8_lossy(octets).into_owned()
    }

    #[test]
    fn commands_go_on_without_what_makes_them_quiet() {
        let of = |line: &str| {
            let request = request(line.as_bytes(), b"");
            (text_of(&request.octets), request.verb, request.quiet, text_of(request.key()))
        };
        let told = |octets: &str, verb, quiet| (octets.to_owned(), verb, quiet, "k".to_owned());
        assert_eq!(of("delete  k 0 noreply"), told("delete k 0\r\n", Verb::Delete, Quiet::Always));
        assert_eq!(of("incr k 5"), told("incr k 5\r\n", Verb::Write, Quiet::Never));
        assert_eq!(of("mg k v q Oq"), told("mg k v Oq\r\n", Verb::Read, Quiet::Miss));
        assert_eq!(of("mg k v N30"), told("mg k v N30\r\n", Verb::Lease, Quiet::Never));
        assert_eq!(of("md k q C5"), told("md k C5\r\n", Verb::Compare, Quiet::Nominal));
        assert_eq!(of("gats 5 k"), told("gats 5 k\r\n", Verb::Read, Quiet::Never));
        assert_eq!(of("me k"), told("me k\r\n", Verb::Read, Quiet::Never));
        let set = request(b"cas noreply 1 2 2 77 noreply", b"hi\r\n");
        assert_eq!((text_of(&set.octets), set.verb), ("cas noreply 1 2 2 77\r\nhi\r\n".to_owned(), Verb::Compare));
    }

    #[test]
    fn a_key_is_where_it_is_however_it_is_written() {
        assert!(request(b"mg Zm9v b v", b"").with_stored_key(|key| key == b"foo"));
        assert!(request(b"mg Zm9v v", b"").with_stored_key(|key| key == b"Zm9v"));
    }

    #[test]
    fn in_a_gutter_items_do_not_live_long() {
        let unix = Duration::from_secs(1_700_000_000);
        let capped = |line: &[u8], value: &[u8]| text_of(&request(line, value).capped(Duration::from_secs(10), unix));
        assert_eq!(capped(b"set k 0 0 2", b"hi\r\n"), "set k 0 10 2\r\nhi\r\n");
        assert_eq!(capped(b"set k 0 5 2", b"hi\r\n"), "set k 0 5 2\r\nhi\r\n");
        assert_eq!(capped(b"set k 0 -1 2", b"hi\r\n"), "set k 0 -1 2\r\nhi\r\n");
        assert_eq!(capped(b"set k 0 1700000003 2", b"hi\r\n"), "set k 0 1700000003 2\r\nhi\r\n");
        assert_eq!(capped(b"set k 0 1700000300 2", b"hi\r\n"), "set k 0 10 2\r\nhi\r\n");
        assert_eq!(capped(b"ms k 2 F5", b"hi\r\n"), "ms k 2 F5 T10\r\nhi\r\n");
        assert_eq!(capped(b"ms k 2 T900", b"hi\r\n"), "ms k 2 T10\r\nhi\r\n");
        assert_eq!(capped(b"mg k N60 v", b""), "mg k N10 v\r\n");
        assert_eq!(capped(b"touch k 60", b""), "touch k 10\r\n");
        assert_eq!(capped(b"gat 60 k", b""), "gat 10 k\r\n");
        assert_eq!(capped(b"get T60", b""), "get T60\r\n");
    }

    #[test]
    fn what_a_warm_server_has_is_added_with_its_time_to_live() {
        let read = request(b"get k", b"");
        assert_eq!(text_of(&read.fetch()), "mg k v t f\r\n");
        let added = |answer: &[u8]| read.add(answer).map(|octets| text_of(&octets));
        assert_eq!(added(b"VA 2 t60 f7\r\nhi\r\n").as_deref(), Some("ms k 2 ME T60 F7\r\nhi\r\n"));
        assert_eq!(added(b"VA 2 t-1 f0\r\nhi\r\n").as_deref(), Some("ms k 2 ME T0 F0\r\nhi\r\n"));
        assert_eq!(added(b"VA 2 t-1 f0 X W\r\nhi\r\n"), None);
        assert_eq!(added(b"EN\r\n"), None);
        assert_eq!(text_of(&request(b"mg Zm9v b v", b"").removal()), "md Zm9v b\r\n");
    }

    #[test]
    fn a_miss_tells_back_what_it_should() {
        let miss = |line: &[u8]| {
            let mut out = Vec::new();
            request(line, b"").miss(&mut out);
            text_of(&out)
        };
        assert_eq!(miss(b"get k"), "");
        assert_eq!(miss(b"mg k v O7 k t"), "EN O7 kk\r\n");
        assert_eq!(miss(b"mg Zm9v b k"), "EN kZm9v b\r\n");
    }
}
