//! Servers that are made of octets alone, and what they may do wrong.

use std::collections::HashMap;
use trunkline_cache::route::{JOINED_KEYS_MAX, JOINED_OCTETS_MAX};

/// Keys that are asked for: every third is not there. Some are so long that few go into a line.
pub const KEYS: usize = 40;

/// Chance that a seed decides (xorshift).
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    pub fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }
}

pub fn name(key: usize) -> String {
    format!("key-{key}-{}", "x".repeat(if key.is_multiple_of(7) { 200 } else { 0 }))
}

/// The value of a key at all servers, if they have it.
pub fn value(key: usize) -> Option<String> {
    (!key.is_multiple_of(3)).then(|| format!("{key}\r\n").repeat(key))
}

/// What a server does with a get, beside answering it as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The values come in another order; nothing is lost.
    Order,
    /// It says `SERVER_ERROR` in place of the end, or of values and the end.
    Refuses,
    /// A value that nobody asked for.
    Unknown,
    /// A value that was asked for comes twice as often.
    Twice,
    /// Its answer ends somewhere, and the connection with it.
    CutOff,
    /// A word that is no answer in place of the end.
    Nonsense,
    /// It says nothing any more.
    Silent,
}

/// One get in so many goes wrong.
const FAULT_IN: usize = 12;
/// What nobody may notice.
pub const HARMLESS: &[Fault] = &[Fault::Order];
/// Everything.
pub const ALL: &[Fault] =
    &[Fault::Order, Fault::Refuses, Fault::Unknown, Fault::Twice, Fault::CutOff, Fault::Nonsense, Fault::Silent];

/// A connection's other end.
#[derive(Default)]
pub struct Peer {
    items: HashMap<String, String>,
    asked: Vec<u8>,
    /// What it has answered, and is on its way.
    pub answers: Vec<u8>,
    /// The connection ends when all of that has come.
    pub ends: bool,
    silent: bool,
    /// Keys of the longest get.
    pub keys_most: usize,
}

impl Peer {
    /// The connection is another one; the items stay.
    pub fn renew(&mut self) {
        let (items, keys_most) = (std::mem::take(&mut self.items), self.keys_most);
        *self = Peer { items, keys_most, ..Peer::default() };
    }

    /// Takes octets that it is sent; some gets go wrong in one of these ways.
    pub fn hear(&mut self, octets: &[u8], chance: &mut Chance, faults: &[Fault]) {
        self.asked.extend_from_slice(octets);
        while let Some(end) = self.asked.iter().position(|octet| *octet == b'\n').filter(|_| !self.silent && !self.ends)
        {
            let line = String::from_utf8(self.asked[..end - 1].to_vec()).unwrap();
            let words: Vec<&str> = line.split(' ').collect();
            let mut taken = end + 1;
            match words[0] {
                "get" | "gets" => self.get(&words, line.len() + 2, chance, faults),
                "set" => {
                    let octets: usize = words[4].parse().unwrap();
                    let Some(value) = self.asked.get(taken..taken + octets + 2) else { return };
                    let value = String::from_utf8(value[..octets].to_vec()).unwrap();
                    taken += octets + 2;
                    self.items.insert(words[1].to_owned(), value);
                    self.answers.extend_from_slice(b"STORED\r\n");
                }
                _ => self.answers.extend_from_slice(b"VERSION 1\r\n"),
            }
            self.asked.drain(..taken);
        }
    }

    fn get(&mut self, words: &[&str], octets: usize, chance: &mut Chance, faults: &[Fault]) {
        assert!(octets <= JOINED_OCTETS_MAX && words.len() - 1 <= JOINED_KEYS_MAX);
        self.keys_most = self.keys_most.max(words.len() - 1);
        let number = if words[0] == "gets" { " 77" } else { "" };
        let told = |key: &str, value: &str| format!("VALUE {key} 5 {}{number}\r\n{value}\r\n", value.len());
        let known = |key: &&str| Some(told(key, &self.value(key)?));
        let mut values: Vec<String> = words[1..].iter().filter_map(known).collect();
        let mut end = "END\r\n";
        let fault = chance.one_in(FAULT_IN).then(|| faults[chance.below(faults.len())]);
        let place = chance.below(values.len() + 1);
        match fault {
            Some(Fault::Order) => values.reverse(),
            Some(Fault::Refuses) => {
                values.truncate(place);
                end = "SERVER_ERROR out of memory\r\n";
            }
            Some(Fault::Unknown) => values.insert(place, told("nobody's", "x")),
            Some(Fault::Twice) => values = [values.clone(), values].concat(),
            Some(Fault::Nonsense) => end = "STORED\r\n",
            Some(Fault::Silent) => self.silent = true,
            Some(Fault::CutOff) => self.ends = true,
            None => {}
        }
        let mut answer = values.concat() + end;
        match fault {
            Some(Fault::CutOff) => answer.truncate(chance.below(answer.len())),
            Some(Fault::Silent) => answer.clear(),
            _ => {}
        }
        self.answers.extend_from_slice(answer.as_bytes());
    }

    fn value(&self, key: &str) -> Option<String> {
        self.items.get(key).cloned().or_else(|| (0..KEYS).find(|number| name(*number) == key).and_then(value))
    }
}
