//! A request that waits for its answer, and what each piece of the answer does to it.

use super::answer::Part;
use super::plan;
use super::tally::Tally;
use super::versions::{Fault, Versions};

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Values, until `END` or `MN`.
    Values,
    /// A value by one `mg`: it is the whole answer, or `EN` is.
    OneValue,
    /// To store this version of a key; 0 where versions are not kept.
    Store(u32),
}

/// A request on its way.
#[derive(Debug)]
pub struct Exchange {
    /// What was asked.
    pub asked: Asked,
    /// Its keys, each with the oldest version that its value may have.
    pub keys: Vec<(u32, u32)>,
    /// When it was due, in nanoseconds of the run.
    pub due_ns: u64,
    next: usize,
    hits: u64,
    refused: bool,
}

impl Exchange {
    /// Nothing was answered yet.
    pub fn new(asked: Asked, keys: Vec<(u32, u32)>, due_ns: u64) -> Self {
        Exchange { asked, keys, due_ns, next: 0, hits: 0, refused: false }
    }

    /// Takes a piece of the answer; whether it was the last.
    ///
    /// # Errors
    /// A piece that cannot answer what was asked.
    pub fn take(&mut self, part: Part<'_>, versions: Option<&Versions>, tally: &mut Tally) -> Result<bool, ()> {
        match (self.asked, part) {
            (_, Part::Refused(line)) => {
                tally.errors += 1;
                tally.trouble(|| format!("it answers '{}'", String::from_utf8_lossy(line)));
                self.refused = true;
                Ok(true)
            }
            (Asked::Store(version), Part::Stored) => {
                if let (Some(versions), Some((key, _))) = (versions, self.keys.first()) {
                    versions.confirm(*key, version);
                }
                Ok(true)
            }
            (Asked::Values | Asked::OneValue, Part::Value(name, value)) => {
                self.value(name, value, versions, tally);
                Ok(self.asked == Asked::OneValue)
            }
            (Asked::Values, Part::End) | (Asked::OneValue, Part::Miss) => Ok(true),
            _ => Err(()),
        }
    }

    fn value(&mut self, name: &[u8], value: &[u8], versions: Option<&Versions>, tally: &mut Tally) {
        let named = plan::named(name);
        // Values come in the order of the keys, without those that have none.
        let found = self.keys[self.next..].iter().position(|(key, _)| Some(*key) == named);
        let Some(at) = found.map(|at| self.next + at) else { return tally.fault(Fault::Foreign) };
        self.next = at + 1;
        self.hits += 1;
        let (key, oldest) = self.keys[at];
        if let Some(fault) = versions.and_then(|versions| versions.fault(key, oldest, value)) {
            tally.fault(fault);
        }
    }

    /// Counts it, when its answer was whole at this time.
    pub fn count(&self, now_ns: u64, tally: &mut Tally) {
        tally.requests += 1;
        tally.latency.record(now_ns.saturating_sub(self.due_ns), 1);
        let keys = self.keys.len() as u64;
        if matches!(self.asked, Asked::Store(_)) {
            tally.sets += 1;
        } else {
            tally.gets += 1;
            tally.hits += self.hits;
            tally.misses += if self.refused { 0 } else { keys - self.hits };
        }
        tally.keys += if self.refused { 0 } else { keys };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::value;

    #[test]
    fn a_get_of_three_keys() {
        let versions = Versions::new(1, 10, true);
        let stamp = versions.send(3);
        let mut good = Vec::new();
        value::write(&mut good, stamp, 30);
        let mut tally = Tally::default();
        let mut exchange = Exchange::new(Asked::Values, vec![(2, 0), (3, 0), (4, 0)], 100);
        let (third, fourth) = (b"k0000000003", b"k0000000004");
        let mut take = |part| exchange.take(part, Some(&versions), &mut tally);
        assert_eq!(take(Part::Value(third, &good)), Ok(false));
        assert_eq!(take(Part::Value(fourth, &good)), Ok(false));
        assert_eq!(take(Part::Value(fourth, &good)), Ok(false));
        assert_eq!((take(Part::Stored), take(Part::End)), (Err(()), Ok(true)));
        exchange.count(350, &mut tally);
        assert_eq!((tally.requests, tally.gets, tally.hits, tally.misses, tally.keys), (1, 1, 2, 1, 3));
        // The value of 3 under the name of 4, and a fourth value to three keys.
        assert_eq!((tally.foreign, tally.wrong(), tally.latency.most()), (2, 2, 250));
    }

    #[test]
    fn sets_are_confirmed_or_refused() {
        let (versions, mut tally) = (Versions::new(1, 10, true), Tally::default());
        let mut set = Exchange::new(Asked::Store(versions.send(5).version), vec![(5, 0)], 0);
        assert_eq!(set.take(Part::Stored, Some(&versions), &mut tally), Ok(true));
        assert_eq!(versions.oldest(5), 1);
        let mut set = Exchange::new(Asked::Store(versions.send(5).version), vec![(5, 0)], 0);
        assert_eq!(set.take(Part::Refused(b"SERVER_ERROR x"), Some(&versions), &mut tally), Ok(true));
        set.count(1, &mut tally);
        assert_eq!((versions.oldest(5), tally.errors, tally.sets, tally.keys), (1, 1, 1, 0));
        let mut one = Exchange::new(Asked::OneValue, vec![(5, 0)], 0);
        assert_eq!(one.take(Part::Miss, None, &mut tally), Ok(true));
        one.count(1, &mut tally);
        assert_eq!((tally.misses, tally.why.as_deref()), (1, Some("it answers 'SERVER_ERROR x'")));
    }
}
