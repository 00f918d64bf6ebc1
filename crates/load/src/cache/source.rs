//! Where requests come from: each key once to fill a server, or gets and sets by chance.

use super::exchange::{Asked, Exchange};
use super::plan::{self, Lengths, Plan};
use super::value::{self, Stamp};
use super::versions::Versions;
use std::ops::Range;
use trunkline_kit::random::{Keys, Random};

/// Which requests are made.
#[derive(Debug)]
enum Phase {
    /// Each key of the range once, and those again that were lost.
    Fill(Range<u32>, Vec<u32>),
    /// By chance, without an end.
    Run,
}

/// Makes the requests of one thread.
#[derive(Debug)]
pub struct Source<'a> {
    plan: &'a Plan,
    versions: Option<&'a Versions>,
    random: Random,
    chosen: Keys,
    phase: Phase,
}

impl<'a> Source<'a> {
    /// Requests by chance; `thread` makes those of each thread others.
    pub fn of_run(plan: &'a Plan, versions: Option<&'a Versions>, thread: u64) -> Self {
        let (random, chosen) = (Random::new(plan.seed, thread), Keys::new(plan.keys, plan.zipf));
        Source { plan, versions, random, chosen, phase: Phase::Run }
    }

    /// A set of each key of the range.
    pub fn of_fill(plan: &'a Plan, versions: Option<&'a Versions>, thread: u64, keys: Range<u32>) -> Self {
        let phase = Phase::Fill(keys, Vec::new());
        Source { phase, ..Source::of_run(plan, versions, !thread) }
    }

    /// What versions are kept in, if values are checked.
    pub fn versions(&self) -> Option<&'a Versions> {
        self.versions
    }

    /// Appends the next request of a connection; none where all were made.
    pub fn next(&mut self, connection: u32, due_ns: u64, out: &mut Vec<u8>) -> Option<Exchange> {
        let key = match &mut self.phase {
            Phase::Fill(keys, again) => again.pop().or_else(|| keys.next())?,
            Phase::Run if self.plan.sets > 0.0 && self.random.unit() < self.plan.sets => {
                let key = self.chosen.choose(&mut self.random);
                let owned = self.plan.verify;
                if owned { plan::own(key, connection, self.plan.connections as u32, self.plan.keys) } else { key }
            }
            Phase::Run => return Some(self.get(due_ns, out)),
        };
        Some(self.set(key, due_ns, out))
    }

    /// An exchange that got no answer: what it was to store is stored again, if each key must be.
    pub fn lost(&mut self, exchange: &Exchange) {
        if let Phase::Fill(_, again) = &mut self.phase {
            again.extend(exchange.keys.iter().map(|(key, _)| *key));
        }
    }

    fn get(&mut self, due_ns: u64, out: &mut Vec<u8>) -> Exchange {
        let oldest = |key| self.versions.map_or(0, |versions| versions.oldest(key));
        let keys = (0..self.plan.multi_get).map(|_| self.chosen.choose(&mut self.random));
        let keys: Vec<(u32, u32)> = keys.map(|key| (key, oldest(key))).collect();
        if !self.plan.meta {
            out.extend_from_slice(b"get");
            for (key, _) in &keys {
                out.push(b' ');
                plan::push_name(out, self.plan.letter, *key, self.plan.name_octets);
            }
            out.extend_from_slice(b"\r\n");
            return Exchange::new(Asked::Values, keys, due_ns);
        }
        let many = keys.len() > 1;
        for (key, _) in &keys {
            out.extend_from_slice(b"mg ");
            plan::push_name(out, self.plan.letter, *key, self.plan.name_octets);
            out.extend_from_slice(if many { b" v k q\r\n" } else { b" v k\r\n" });
        }
        if many {
            out.extend_from_slice(b"mn\r\n");
        }
        Exchange::new(if many { Asked::Values } else { Asked::OneValue }, keys, due_ns)
    }

    fn between(&mut self, Lengths { least, most }: Lengths) -> u32 {
        if least == most { least } else { least + self.random.below(most - least + 1) }
    }

    fn set(&mut self, key: u32, due_ns: u64, out: &mut Vec<u8>) -> Exchange {
        let octets = self.between(self.plan.lengths) as usize;
        let ttl = self.between(self.plan.ttl);
        out.extend_from_slice(if self.plan.meta { b"ms " } else { b"set " });
        plan::push_name(out, self.plan.letter, key, self.plan.name_octets);
        let rest = match (self.plan.meta, ttl) {
            (true, 0) => format!(" {octets}\r\n"),
            (true, ttl) => format!(" {octets} T{ttl}\r\n"),
            (false, ttl) => format!(" 0 {ttl} {octets}\r\n"),
        };
        out.extend_from_slice(rest.as_bytes());
        let stamp = self.versions.map(|versions| versions.send(key));
        match stamp {
            Some(stamp) => value::write(out, stamp, octets),
            None => out.resize(out.len() + octets, b'x'),
        }
        out.extend_from_slice(b"\r\n");
        let version = stamp.map_or(0, |Stamp { version, .. }| version);
        Exchange::new(Asked::Store(version), vec![(key, 0)], due_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn plan() -> Plan {
        Plan {
            connections: 4,
            in_flight: 1,
            multi_get: 2,
            keys: 100,
            name_octets: 11,
            letter: b'k',
            ttl: Lengths { least: 0, most: 0 },
            lengths: Lengths { least: 3, most: 3 },
            sets: 0.25,
            rate: None,
            verify: false,
            meta: false,
            zipf: None,
            seed: 1,
            threads: 1,
            old_numbering: false,
            run: Duration::from_secs(1),
            patience: Duration::from_secs(1),
        }
    }

    #[test]
    fn sets_have_their_share() {
        let (plan, mut out) = (plan(), Vec::new());
        let mut source = Source::of_run(&plan, None, 0);
        let stores = |exchange: &Exchange| matches!(exchange.asked, Asked::Store(_));
        let sets = (0..10_000).filter_map(|_| source.next(0, 0, &mut out)).filter(stores).count();
        assert!((2_300..2_700).contains(&sets), "{sets}");
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.starts_with("get k") || line.starts_with("set k") || line == "xxx"));
    }

    #[test]
    fn filling_ends_and_repeats_what_was_lost() {
        let (plan, mut out) = (Plan { meta: true, ..plan() }, Vec::new());
        let mut source = Source::of_fill(&plan, None, 0, 7..9);
        let first = source.next(0, 0, &mut out).unwrap();
        assert_eq!(out, b"ms k0000000007 3\r\nxxx\r\n");
        source.lost(&first);
        let keys: Vec<u32> = std::iter::from_fn(|| source.next(0, 0, &mut out)).map(|made| made.keys[0].0).collect();
        assert_eq!(keys, [7, 8]);
    }

    #[test]
    fn what_is_stored_expires_within_the_bounds() {
        let ttl = Lengths { least: 3, most: 5 };
        for meta in [false, true] {
            let (plan, mut out) = (Plan { ttl, meta, letter: b'z', ..plan() }, Vec::new());
            let mut source = Source::of_fill(&plan, None, 0, 0..100);
            while source.next(0, 0, &mut out).is_some() {}
            let text = String::from_utf8(out).unwrap();
            let lines: Vec<_> = text.lines().filter(|line| *line != "xxx").collect();
            let of = |line: &str| -> u32 {
                let mut words = line.split(' ').skip(3);
                words.next().unwrap().trim_start_matches('T').parse().unwrap()
            };
            assert!(
                lines.len() == 100 && lines.iter().all(|line| line.contains(" z0000") && (3..=5).contains(&of(line)))
            );
            assert!((3..=5).all(|ttl| lines.iter().any(|line| of(line) == ttl)), "{text}");
        }
    }

    #[test]
    fn meta_gets_of_one_and_many() {
        let gets = |multi_get| {
            let (plan, mut out) = (Plan { meta: true, sets: 0.0, multi_get, keys: 1, ..plan() }, Vec::new());
            let asked = Source::of_run(&plan, None, 0).next(0, 0, &mut out).unwrap().asked;
            (asked, String::from_utf8(out).unwrap())
        };
        assert_eq!(gets(1), (Asked::OneValue, "mg k0000000000 v k\r\n".to_owned()));
        let many = "mg k0000000000 v k q\r\nmg k0000000000 v k q\r\nmn\r\n";
        assert_eq!(gets(2), (Asked::Values, many.to_owned()));
    }
}
