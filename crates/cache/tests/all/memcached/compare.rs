//! What may differ between two answers, and why.
//!
//! - Numbers for cas: each server counts its own; they have to stand in for each other one to one.
//! - Seconds (`t`, `l`, `la=`, `exp=`): the servers' clocks tick at other moments of a second. What expired long ago
//!   wraps below 0, from the start of each server: any such number is as good as any other.
//! - `l` and `la=` besides: the store notes a use to within a minute.
//! - `h` and `fetch=`: a number that was counted is a new item here, and a change that had to be begun anew (its
//!   segment was full) sees its own first try.
//! - `cls=`: a slab class, and we have none.

use crate::memcached::script::Kind;
use std::collections::HashMap;

/// Seconds by which clocks may differ, the time that a slow machine takes included.
const SECONDS_OFF: u64 = 5;
/// Seconds to within which uses are noted, and the same.
const USE_OFF: u64 = 70;

/// Numbers for cas that stand for each other.
#[derive(Default)]
pub struct Relations {
    ours: HashMap<u64, u64>,
    theirs: HashMap<u64, u64>,
    /// The numbers told last, theirs and ours, and the ones before.
    last: (u64, u64),
    before: (u64, u64),
}

/// Where a script wants the number that was told last, and the one before; as text of 20 digits and as 8 octets.
pub const LAST: &[u8] = b"@LAST-NUMBER-TOLD-@@";
pub const BEFORE: &[u8] = b"@NUMBER-TOLD-BEFORE@";
pub const LAST_OCTETS: &[u8] = b"@@LAST@@";

impl Relations {
    pub fn for_us(&self, batch: &[u8]) -> Vec<u8> {
        put(batch, self.last.1, self.before.1)
    }

    pub fn for_them(&self, batch: &[u8]) -> Vec<u8> {
        put(batch, self.last.0, self.before.0)
    }

    pub fn compare(&mut self, kind: Kind, theirs: &[u8], ours: &[u8]) -> Result<(), String> {
        if kind == Kind::Binary { self.packets(theirs, ours) } else { self.text(theirs, ours) }
    }

    pub fn text(&mut self, theirs: &[u8], ours: &[u8]) -> Result<(), String> {
        let (mut i, mut j) = (0, 0);
        while i < theirs.len() || j < ours.len() {
            if i < theirs.len() && j < ours.len() && theirs[i] == ours[j] {
                (i, j) = (i + 1, j + 1);
                continue;
            }
            if theirs[..i].ends_with(b"fetch=") {
                let word = |octets: &[u8]| octets.iter().take_while(|o| o.is_ascii_alphabetic()).count();
                (i, j) = (i + word(&theirs[i..]), j + word(&ours[j..]));
                continue;
            }
            let digits = theirs[..i].iter().rev().take_while(|o| o.is_ascii_digit()).count();
            let (a, b) = (i - digits, j - digits);
            let alike = match (number(&theirs[a..]), number(&ours[b..])) {
                (Some((x, x_octets)), Some((y, y_octets))) => {
                    (i, j) = (a + x_octets, b + y_octets);
                    self.may_differ(&theirs[..a], x, y)
                }
                _ => false,
            };
            if !alike {
                return Err(format!("memcached {} and we {}", excerpt(theirs, a), excerpt(ours, b)));
            }
        }
        Ok(())
    }

    /// Whether two numbers that stand behind `before` may differ.
    fn may_differ(&mut self, before: &[u8], theirs: u64, ours: u64) -> bool {
        let ends = |text: &[u8]| before.ends_with(text);
        let line = &before[before.iter().rposition(|&o| o == b'\n').map_or(0, |at| at + 1)..];
        let blanks = line.iter().filter(|&&o| o == b' ').count();
        if ends(b" c") || ends(b"cas=") || (line.starts_with(b"VALUE ") && blanks == 4) {
            return self.relate(theirs, ours);
        }
        let off = theirs.abs_diff(ours);
        if [&b" t"[..], b"exp=", b"exp=-"].iter().any(|text| ends(text)) {
            let past = |n: u64| n > u64::from(u32::MAX) / 2;
            // `me` counts up from what expired long ago, and so from each server's own start.
            return off <= SECONDS_OFF || (past(theirs) && past(ours)) || (ends(b"exp=") && off <= USE_OFF);
        }
        if ends(b" l") || ends(b"la=") {
            return off <= USE_OFF;
        }
        if ends(b" h") {
            return true;
        }
        ends(b"cls=")
    }

    fn relate(&mut self, theirs: u64, ours: u64) -> bool {
        if self.last != (theirs, ours) {
            self.before = std::mem::replace(&mut self.last, (theirs, ours));
        }
        *self.ours.entry(theirs).or_insert(ours) == ours && *self.theirs.entry(ours).or_insert(theirs) == theirs
    }

    /// Packets of the binary protocol: their numbers are related, all else is the same.
    fn packets(&mut self, theirs: &[u8], ours: &[u8]) -> Result<(), String> {
        let (mut a, mut b) = (theirs, ours);
        while !a.is_empty() && !b.is_empty() {
            let Some(octets) = packet(a).filter(|n| packet(b) == Some(*n)) else { break };
            let (mut x, mut y) = (a[..octets].to_vec(), b[..octets].to_vec());
            let number = |packet: &[u8]| u64::from_be_bytes(packet[16..24].try_into().unwrap());
            let (p, q) = (number(&x), number(&y));
            if (p != 0 || q != 0) && self.relate(p, q) {
                x[16..24].fill(0);
                y[16..24].fill(0);
            }
            if x != y {
                break;
            }
            (a, b) = (&a[octets..], &b[octets..]);
        }
        if a.is_empty() && b.is_empty() {
            return Ok(());
        }
        Err(format!("memcached {} and we {}", excerpt(a, 0), excerpt(b, 0)))
    }
}

/// Octets of the packet that `octets` begin with.
fn packet(octets: &[u8]) -> Option<usize> {
    let body = u32::from_be_bytes(octets.get(8..12)?.try_into().unwrap());
    Some(24 + body as usize).filter(|n| *n <= octets.len())
}

fn put(batch: &[u8], last: u64, before: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(batch.len());
    let mut rest = batch;
    while let Some((&first, after)) = rest.split_first() {
        let (text, number) = if rest.starts_with(LAST) { (LAST, last) } else { (BEFORE, before) };
        if rest.starts_with(LAST_OCTETS) {
            out.extend(last.to_be_bytes());
            rest = &rest[LAST_OCTETS.len()..];
        } else if rest.starts_with(text) {
            out.extend(number.to_string().bytes());
            rest = &rest[text.len()..];
        } else {
            out.push(first);
            rest = after;
        }
    }
    out
}

fn number(text: &[u8]) -> Option<(u64, usize)> {
    let digits = text.iter().take_while(|o| o.is_ascii_digit()).count();
    Some((std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?, digits))
}

fn excerpt(octets: &[u8], at: usize) -> String {
    let (from, to) = (at.saturating_sub(60), octets.len().min(at + 100));
    format!("({} octets, at {at}) {:?}", octets.len(), String::from_utf8_lossy(&octets[from..to]))
}
