//! Scripts made by chance, the same for a number each time.
//!
//! What is left out, because memcached 1.6.18 answers it by how its input happened to be cut:
//!
//! - A get with a key that is too long drops answers that were not sent yet: it stands at the head of a batch.
//! - A number that is counted while an answer still holds its item is not written over in place, and so has no blanks
//!   behind it: gets end the batch before a number is counted.
//! - Numbers from 2^63 on: looking for a minus sign, memcached reads on beyond the value into whatever lies there.
//!
//! And what we do otherwise, with the reason:
//!
//! - A key that came as base64 is told back as base64 if this request wrote it so; memcached tells it as the `ms` that
//!   stored it wrote it, and as raw octets if `mg N`, `append` or a classic command did. A client cannot read those.
//! - `ma T` sets the time to live of the number that it counts; memcached sets that of the item that the number just
//!   outgrew, and so nothing, whenever it has a digit more than before.
//! - Unknown binary opcodes with a key: memcached passes over key and extras twice, and so over the next request.

use crate::memcached::compare::{BEFORE, LAST, LAST_OCTETS};

/// Which commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Meta,
    Binary,
}

pub struct Script {
    kind: Kind,
    state: u64,
    batches: usize,
    batch: Vec<u8>,
    /// Whether the batch holds answers with values.
    gets: bool,
}

/// Values that are numbers to C, or nearly so.
const NUMBERS: [&str; 14] =
    ["0", "9", "10", "99", "100", "12 abc", "-5", "+5", " 7", "1099511627776", "18446744073709551616", "9x", "", "007"];
const EXPIRIES: [&str; 9] = ["0", "0", "5000", "-1", "2592000", "2592001", "4000000000", "2000000000", "x"];
const FLAGS: [&str; 8] = ["0", "0", "1", "4294967295", "4294967296", "-1", "x", "65536"];

impl Script {
    pub fn new(kind: Kind, number: u64) -> Self {
        let state = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut script = Script { kind, state, batches: 12, batch: Vec::new(), gets: false };
        for _ in 0..5 {
            script.random();
        }
        script
    }

    pub fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    fn below(&mut self, n: usize) -> usize {
        (self.random() >> 11) as usize % n
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }

    /// The next batch of requests.
    pub fn next(&mut self) -> Option<Vec<u8>> {
        self.batches = self.batches.checked_sub(1)?;
        self.batch.clear();
        self.gets = false;
        if self.batches == 11 && self.kind != Kind::Binary {
            return Some(b"flush_all\r\n".to_vec());
        }
        for _ in 0..1 + self.below(12) {
            let classic = self.one_in(6);
            match self.kind {
                Kind::Meta if !classic => self.meta(),
                Kind::Text | Kind::Meta => self.text(),
                Kind::Binary => self.binary(),
            }
        }
        // What waits for the rest of a value keeps back the answers before it: it gets one.
        match self.kind {
            Kind::Text | Kind::Meta => self.say("mn\r\n"),
            Kind::Binary => self.packet(0x0a, &[], &[], &[]),
        }
        Some(std::mem::take(&mut self.batch))
    }

    fn say(&mut self, text: impl AsRef<[u8]>) {
        self.batch.extend_from_slice(text.as_ref());
    }

    fn key(&mut self) -> String {
        match self.below(40) {
            0 => "k".repeat(250),
            1 => "\u{e9}\t\u{1}".to_owned(),
            n => format!("k{}", n % 5),
        }
    }

    fn number_key(&mut self) -> String {
        format!("n{}", self.below(3))
    }

    fn value(&mut self) -> Vec<u8> {
        let octets = match self.below(60) {
            0 => 100_000,
            1 => 600_000,
            2..8 => self.below(5000),
            8..12 => 0,
            _ => self.below(60),
        };
        let seed = self.random();
        let mut value: Vec<u8> = (0..octets as u64).map(|n| (seed.wrapping_mul(n | 1) >> 32) as u8).collect();
        if self.one_in(4) {
            value.extend_from_slice(b"\r\nEND\r\nVALUE x 0 1\r\nx\r\n");
        }
        value
    }

    fn noreply(&mut self) -> &'static str {
        if self.one_in(8) { " noreply" } else { "" }
    }

    fn text(&mut self) {
        match self.below(24) {
            0..6 => self.text_set(),
            6..11 => self.text_get(),
            11..14 => self.text_delta(),
            14 | 15 => {
                let tail = self
                    .of(&["", "", "", " 0", " noreply", " 0 noreply", " 5", " 5 noreply", " 0 noreply x"])
                    .to_owned();
                let key = self.key();
                self.say(format!("delete {key}{tail}\r\n"));
            }
            16 | 17 => {
                let (key, expiry, noreply) = (self.key(), self.of(&EXPIRIES), self.noreply());
                self.say(format!("touch {key} {expiry}{noreply}\r\n"));
            }
            18 => self.number_set(),
            19 => self.cas(),
            20 if self.one_in(8) => self.say("flush_all\r\n"),
            20 if self.one_in(4) => self.long_key_get(),
            20 if self.one_in(8) => self.too_large(),
            _ => self.oddity(),
        }
    }

    fn text_set(&mut self) {
        let verb = self.of(&["set", "set", "set", "add", "replace", "append", "prepend"]);
        let (key, value, noreply) = (self.key(), self.value(), self.noreply());
        let (flags, expiry) = if self.one_in(10) { (self.of(&FLAGS), self.of(&EXPIRIES)) } else { ("7", "0") };
        // What follows a line that is refused is read as lines, and a long one is refused by how it is cut.
        let value = if flags == "7" { value } else { value[..value.len().min(1000)].to_vec() };
        let octets = match self.below(30) {
            0 => value.len() + 1,
            1 => value.len().saturating_sub(1),
            _ => value.len(),
        };
        self.say(format!("{verb} {key} {flags} {expiry} {octets}{noreply}\r\n"));
        self.value_said(&value, octets);
    }

    /// A value, with a line behind it if more octets were announced: they are not to be those of the next command.
    fn value_said(&mut self, value: &[u8], announced: usize) {
        self.say(value);
        self.say("\r\n");
        if announced > value.len() {
            self.say("\r\n");
        }
    }

    fn number_set(&mut self) {
        let (key, value) = (self.number_key(), self.of(&NUMBERS));
        self.say(format!("set {key} 3 0 {}\r\n{value}\r\n", value.len()));
    }

    fn text_get(&mut self) {
        let verb = self.of(&["get", "gets", "gat", "gats"]);
        let expiry = if verb.starts_with("gat") { format!(" {}", self.of(&EXPIRIES)) } else { String::new() };
        let count = match self.below(8) {
            0 => self.below(60),
            1 => 0,
            n => n - 1,
        };
        let mut line = format!("{verb}{expiry}");
        for _ in 0..count {
            let blank = self.of(&[" ", " ", " ", "  "]);
            let key = if self.one_in(3) { self.number_key() } else { self.key() };
            line.push_str(blank);
            line.push_str(&key);
        }
        let end = self.of(&["\r\n", "\r\n", "\n", " \r\n"]);
        self.say(line + end);
        self.gets = true;
    }

    fn text_delta(&mut self) {
        if self.gets {
            return;
        }
        let (verb, key, noreply) = (self.of(&["incr", "decr"]), self.number_key(), self.noreply());
        let delta = self.of(&["1", "5", "91", "1099511627776", "-1", "x", "18446744073709551616", "\t5"]);
        self.say(format!("{verb} {key} {delta}{noreply}\r\n"));
    }

    fn cas(&mut self) {
        let (key, value) = (self.key(), self.value());
        let number = [LAST, BEFORE, b"0", b"99999999999", b"x"][self.below(5)];
        let value = if number == b"x" { value[..value.len().min(1000)].to_vec() } else { value };
        self.say(format!("cas {key} 0 0 {} ", value.len()));
        self.say(number);
        self.say("\r\n");
        self.say(value);
        self.say("\r\n");
    }

    /// Alone in its batch.
    fn long_key_get(&mut self) {
        if self.batch.is_empty() {
            self.say(format!("get k0 {} k1\r\n", "k".repeat(251)));
            self.gets = true;
        }
    }

    /// Alone in its batch: what stands before it is told late.
    fn too_large(&mut self) {
        if !self.batch.is_empty() {
            return;
        }
        let key = self.key();
        self.say(format!("set {key} 0 0 1500000\r\n"));
        self.say(vec![b'x'; 1_500_000]);
        self.say("\r\n");
    }

    fn oddity(&mut self) {
        let line = self.of(&[
            "",
            "x",
            "xx",
            "GET k0",
            "version",
            "verbosity 0",
            "verbosity",
            "verbosity x",
            "verbosity 1 noreply",
            "stats x y",
            "mx k0",
            "get",
            "gets ",
            "set",
            "set k0 0 0",
            "set k0 0 0 -1",
            "set k0 0 0 1 noreply x",
            "cas k0 0 0 1",
            "incr",
            "incr n0",
            "touch",
            "touch k0",
            "delete",
            "shutdown",
            "cache_memlimit",
            "stats detail",
            "cache_memlimit 7",
            "cache_memlimit x",
            "cache_memlimit 256",
            "lru_crawler",
            "slabs",
            "extstore",
            "lru",
            "  get   k0  ",
            "get\tk0",
            "set k0 0 0 2147483647",
            "set k0 0 0 4294967295",
            "flush_all x",
            "flush_all 0 noreply x",
            "bget k0",
            "gat",
            "gat 0",
            "gat x k0",
            "quitx",
            "stats cachedump",
            "stats cachedump x y",
            "stats cachedump 100 1",
            "slabs reassign 1",
            "get k0\0k1",
            "\0",
            "verbosity noreply",
            "misbehave",
            "decr n0 1 noreply x",
            "flush_all noreply x",
            "lru_crawler crawl",
        ]);
        self.gets = true;
        self.say(line);
        self.say("\r\n");
    }

    fn meta(&mut self) {
        match self.below(20) {
            0..6 => self.meta_set(),
            6..12 => self.meta_get(),
            12..14 => self.meta_delete(),
            14..17 => self.meta_delta(),
            17 => {
                let key = self.key();
                self.say(format!("me {key}\r\n"));
            }
            18 => self.binary_key(),
            _ => self.meta_oddity(),
        }
    }

    /// Some of `flags`, each with its word.
    fn flags(&mut self, flags: &[&str]) -> String {
        let mut text = String::new();
        for flag in flags {
            if self.one_in(3) {
                text.push(' ');
                text.push_str(flag);
                match flag.chars().next() {
                    Some('T' | 'N') => text.push_str(self.of(&["0", "5000", "-1", "60", "2592001", "x"])),
                    Some('R') => text.push_str(self.of(&["30", "6000", "0", "-1"])),
                    Some('O') => text.push_str(self.of(&["abc", "", "1234567890123456789012345678901", "kc"])),
                    Some('F') => text.push_str(self.of(&FLAGS)),
                    Some('C') => text.push_str(self.of(&["0", "99999999999", "@L", "@B", "@L", "x"])),
                    Some('D') => text.push_str(self.of(&["1", "5", "0", "x"])),
                    Some('J') => text.push_str(self.of(&["0", "100", "x"])),
                    _ => {}
                }
            }
        }
        text
    }

    /// Says a line in which `@L` and `@B` stand for numbers told before.
    fn line(&mut self, line: &str) {
        let (last, before) = (std::str::from_utf8(LAST).unwrap(), std::str::from_utf8(BEFORE).unwrap());
        self.say(line.replace("@L", last).replace("@B", before));
        self.say("\r\n");
    }

    fn meta_set(&mut self) {
        let (key, value) = (self.key(), self.value());
        let mut flags = self.flags(&["T", "F", "C", "I", "O", "k", "c", "q", "P1", "Lx"]);
        if self.one_in(3) {
            flags.push_str(self.of(&[" ME", " MA", " MP", " MR", " MS", " MX", " M"]));
        }
        let octets = if self.one_in(30) { value.len() + 1 } else { value.len() };
        self.line(&format!("ms {key} {octets}{flags}"));
        self.value_said(&value, octets);
    }

    fn meta_get(&mut self) {
        let key = self.key();
        let flags = self.flags(&["v", "t", "T", "N", "t", "R", "s", "c", "f", "l", "h", "u", "O", "k", "q"]);
        // A flag that stands twice is a mistake, and mistakes are to be rare.
        let flags = if flags.matches('t').count() > 1 && !self.one_in(5) { flags.replacen(" t", "", 1) } else { flags };
        self.line(&format!("mg {key}{flags}"));
        self.gets = true;
    }

    fn meta_delete(&mut self) {
        let (key, flags) = (self.key(), self.flags(&["I", "T", "C", "O", "k", "q"]));
        self.line(&format!("md {key}{flags}"));
    }

    fn meta_delta(&mut self) {
        if self.gets {
            return;
        }
        let key = self.number_key();
        let mut flags = self.flags(&["N", "J", "D", "v", "t", "c", "C", "O", "k", "q"]);
        if self.one_in(2) {
            flags.push_str(self.of(&[" MI", " MD", " M+", " M-", " Mx"]));
        }
        self.line(&format!("ma {key}{flags}"));
    }

    /// A key that only base64 can write.
    fn binary_key(&mut self) {
        let line = self.of(&[
            "ms ASD/ 2 b k\r\nxx",
            "mg ASD/ b k v",
            "md ASD/ b k q",
            "mg ASD/ k",
            "mg ASD b",
            "mg ==== b",
            "me ASD/ b",
            "ms AS 2 b\r\nxx",
            "mg ASD/ b k s t f",
        ]);
        self.say(line);
        self.say("\r\n");
        self.gets = true;
    }

    fn meta_oddity(&mut self) {
        let line = self.of(&[
            "mg",
            "ms",
            "md",
            "ma",
            "me",
            "mg k0 v v",
            "mg k0 E1",
            "mg k0 x",
            "mg k0 S",
            "ms k0",
            "ms k0 x",
            "ms k0 -1",
            "ms k0 2 S5\r\nxx",
            "ms k0 2 x\r\nxx",
            "md k0 x",
            "ma n0 x",
            "mg k0 \u{e9}",
            "ms k0 S2",
            "ma k0",
            "me k0 b",
            "mg k0 a b c d e f g h i j k l m n o p q r s t",
            "mg k0 O12345678901234567890123456789012 v",
            "ms k0 2 O12345678901234567890123456789012\r\nxx",
            "md k0 O12345678901234567890123456789012",
            "mg k0 Fx",
            "md k0 Fx",
            "mg k0 Fx Tx",
            "mg k0 Tx Fx",
            "ms k0 2 Mxx Tx\r\nxx",
            "mg k0 Q1",
            "ms k0 2 E5\r\nxx",
        ]);
        self.say(line);
        self.say("\r\n");
        self.gets = true;
    }

    fn binary(&mut self) {
        let key = if self.one_in(3) { self.number_key() } else { format!("k{}", self.below(5)) };
        let opcode = match self.below(20) {
            0 => [0x20, 0x21, 0x22, 0x0a, 0x0b][self.below(5)],
            1..6 => [0x01, 0x02, 0x03, 0x11, 0x12, 0x13, 0x0e, 0x0f, 0x19, 0x1a][self.below(10)],
            6..9 => [0x05, 0x06, 0x15, 0x16][self.below(4)],
            9 => [0x04, 0x14][self.below(2)],
            10 if self.one_in(3) => [0x08, 0x18, 0x1b, 0x30][self.below(4)],
            10 if self.one_in(12) => [0x07, 0x17][self.below(2)],
            _ => [0x00, 0x09, 0x0c, 0x0d, 0x1c, 0x1d, 0x1e, 0x23, 0x24][self.below(9)],
        };
        let is_get = matches!(opcode, 0x00 | 0x09 | 0x0c | 0x0d | 0x1c..=0x1e | 0x23 | 0x24);
        let is_delta = matches!(opcode, 0x05 | 0x06 | 0x15 | 0x16);
        if is_delta && self.gets {
            return;
        }
        self.gets |= is_get;
        let expiry = [0u32, 0, 5000, 2_592_001, u32::MAX, 2_000_000_000][self.below(6)].to_be_bytes();
        let (extras, value) = self.body(opcode, expiry);
        let key = if matches!(opcode, 0x07 | 0x08 | 0x0a | 0x0b | 0x17 | 0x18 | 0x1b | 0x20 | 0x30) {
            String::new()
        } else {
            key
        };
        self.packet(opcode, &extras, key.as_bytes(), &value);
    }

    fn body(&mut self, opcode: u8, expiry: [u8; 4]) -> (Vec<u8>, Vec<u8>) {
        match opcode {
            0x01..=0x03 | 0x11..=0x13 => {
                let value = if self.one_in(2) { self.of(&NUMBERS).as_bytes().to_vec() } else { self.value() };
                ([&[0, 0, 0, 9], &expiry[..]].concat(), value)
            }
            0x0e | 0x0f | 0x19 | 0x1a => (Vec::new(), self.value()),
            0x05 | 0x06 | 0x15 | 0x16 => {
                let delta = [1u64, 91, 1 << 40][self.below(3)].to_be_bytes();
                ([&delta[..], &100u64.to_be_bytes(), &expiry].concat(), Vec::new())
            }
            0x08 | 0x18 => (Vec::new(), Vec::new()),
            0x1c..=0x1e | 0x23 | 0x24 => (expiry.to_vec(), Vec::new()),
            0x21 | 0x22 => (Vec::new(), b"user".to_vec()),
            0x1b | 0x30 => (Vec::new(), self.value()),
            _ => (Vec::new(), Vec::new()),
        }
    }

    fn packet(&mut self, opcode: u8, extras: &[u8], key: &[u8], value: &[u8]) {
        let mut extras_octets = extras.len() as u8;
        if self.one_in(400) {
            extras_octets ^= 1;
        }
        let body = (extras.len() + key.len() + value.len()) as u32;
        self.say([0x80, opcode]);
        self.say((key.len() as u16).to_be_bytes());
        self.say([extras_octets, 0, 0, 0]);
        self.say(body.to_be_bytes());
        let opaque = self.random() as u32;
        self.say(opaque.to_be_bytes());
        let number = [&[0; 8][..], &[0; 8], &[0; 8], LAST_OCTETS, &[0, 0, 0, 0, 9, 9, 9, 9]][self.below(5)];
        self.say(number);
        self.say(extras);
        self.say(key);
        self.say(value);
    }
}
