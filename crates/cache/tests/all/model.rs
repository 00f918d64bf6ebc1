//! The store beside a model that is a map: what it tells is right, with evictions allowed only to lose.

use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;
use trunkline_cache::store::{Cas, Decision, Draft, Hashing, Marks, Put, Refused, Rules, Store, Touch, Value, Writer};

#[derive(Clone, Debug, PartialEq)]
struct Item {
    value: Vec<u8>,
    put: Put,
    cas: u64,
}

#[derive(Clone, Debug)]
enum Step {
    Put { key: u8, octets: usize, flags: u32, ttl: u32, cas: Option<u64>, drafted: bool },
    Join { key: u8, octets: usize, before: bool },
    Number { key: u8, value: u64 },
    Delete { key: u8 },
    Mark { key: u8, stale: bool, ttl: Option<u32>, cas: Option<u64> },
    Wait { seconds: u32 },
    Flush { after: u32 },
    Sweep,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let octets = prop_oneof![4 => 0..200usize, 2 => 200..6000usize, 1 => 6000..150_000usize];
    let ttl = prop_oneof![3 => Just(0u32), 1 => 1..20u32, 1 => 1000..100_000u32];
    let cas = prop_oneof![5 => Just(None), 1 => (1..u64::MAX).prop_map(Some)];
    let put =
        (any::<u8>(), octets.clone(), prop_oneof![Just(0), any::<u32>()], ttl.clone(), cas.clone(), any::<bool>())
            .prop_map(|(key, octets, flags, ttl, cas, drafted)| Step::Put { key, octets, flags, ttl, cas, drafted });
    let join =
        (any::<u8>(), octets, any::<bool>()).prop_map(|(key, octets, before)| Step::Join { key, octets, before });
    let number = (any::<u8>(), any::<u64>()).prop_map(|(key, value)| Step::Number { key, value });
    let mark = (any::<u8>(), any::<bool>(), proptest::option::of(ttl), cas)
        .prop_map(|(key, stale, ttl, cas)| Step::Mark { key, stale, ttl, cas });
    let step = prop_oneof![
        10 => put, 3 => join, 3 => number, 3 => mark,
        2 => any::<u8>().prop_map(|key| Step::Delete { key }),
        2 => (1..10u32).prop_map(|seconds| Step::Wait { seconds }),
        1 => (0..4u32).prop_map(|after| Step::Flush { after }),
        1 => Just(Step::Sweep),
    ];
    proptest::collection::vec(step, 1..400)
}

struct Run {
    store: Arc<Store>,
    writer: Writer,
    model: HashMap<u8, Item>,
    now: u32,
    flush_at: Option<u32>,
    steps: usize,
    /// Whether items may be lost.
    evicts: bool,
}

fn name(key: u8) -> Vec<u8> {
    format!("{:width$}", key, width = usize::from(key) % 40 + 3).into_bytes()
}

impl Run {
    fn new(rules: Rules) -> Self {
        let store = Store::new(rules);
        let writer = store.writer();
        let evicts = rules.evicts;
        Run { store, writer, model: HashMap::new(), now: 1, flush_at: None, steps: 0, evicts }
    }

    /// What the model has under a key now.
    fn old(&mut self, key: u8) -> Option<Item> {
        if self.flush_at.is_some_and(|at| at <= self.now) {
            (self.flush_at, self.model) = (None, HashMap::new());
        }
        let now = self.now;
        self.model.retain(|_, item| item.put.expiry == 0 || item.put.expiry > now);
        self.model.get(&key).cloned()
    }

    /// Reads a key, and compares it with the model; what was evicted goes from the model.
    fn check(&mut self, key: u8) {
        let expected = self.old(key);
        let mut value = Vec::new();
        let read = self.writer.read(&name(key), self.now, Touch::Yes, |seen| {
            value.clear();
            seen.copy(&mut value);
            assert_eq!(seen.value_octets(), value.len() as u64);
            let (stale, won) = (seen.is_stale(), seen.is_won());
            (
                Put { flags: seen.flags(), expiry: seen.expiry(), cas: Cas::Fresh, stale, won, ..Put::default() },
                seen.cas(),
            )
        });
        match (read, expected) {
            (Some((put, cas)), Some(item)) => assert_eq!(Item { value, put, cas }, item),
            (None, Some(_)) if self.evicts => drop(self.model.remove(&key)),
            (None, None) => {}
            other => panic!("key {key}: {other:?}"),
        }
    }

    fn octets(&self, octets: usize) -> Vec<u8> {
        (0..octets).map(|n| (n * 7 + self.steps) as u8).collect()
    }

    fn expiry(&self, ttl: u32) -> u32 {
        if ttl == 0 { 0 } else { self.now + ttl }
    }

    fn put(&mut self, key: u8, decision: Decision, put: Put, value: &[u8], whole: Vec<u8>, draft: bool) {
        let drafted = if draft { self.draft(key, value) } else { None };
        if draft && drafted.is_none() {
            return;
        }
        let given = drafted.map_or(Value::Octets(value), Value::Draft);
        let before = self.model.get(&key).map_or(0, |item| item.cas);
        match self.writer.change(&name(key), given, self.now, |_, built| {
            assert!(built.is_empty());
            if matches!(decision, Decision::Built(_)) {
                built.extend_from_slice(value);
            }
            (decision, ())
        }) {
            Ok(changed) => {
                if let Cas::Given(cas) = put.cas {
                    assert_eq!(changed.cas, cas);
                } else {
                    assert_ne!(changed.cas, before);
                }
                let put = Put { cas: Cas::Fresh, ..put };
                self.model.insert(key, Item { value: whole, put, cas: changed.cas });
            }
            Err(refused) => assert!(refused == Refused::TooLarge || !self.evicts, "{refused}"),
        }
    }

    fn draft(&mut self, key: u8, value: &[u8]) -> Option<Draft> {
        let mut draft = match self.writer.draft(name(key).len(), value.len() as u64) {
            Ok(draft) => draft,
            Err(refused) => {
                assert!(refused == Refused::TooLarge || !self.evicts);
                return None;
            }
        };
        for part in value.chunks(1000) {
            if let Err(refused) = draft.append(&mut self.writer, part) {
                assert!(!self.evicts, "{refused}");
                return None;
            }
        }
        assert_eq!((draft.missing(), draft.octets()), (0, value.len() as u64));
        Some(draft)
    }

    fn step(&mut self, step: Step) {
        self.steps += 1;
        match step {
            Step::Put { key, octets, flags, ttl, cas, drafted } => {
                self.check(key);
                let value = self.octets(octets);
                let cas = cas.map_or(Cas::Fresh, Cas::Given);
                let put = Put {
                    flags,
                    expiry: self.expiry(ttl),
                    cas,
                    stale: octets % 3 == 1,
                    won: octets % 5 == 1,
                    ..Put::default()
                };
                self.put(key, Decision::Put(put), put, &value, value.clone(), drafted);
                self.check(key);
            }
            Step::Join { key, octets, before } => {
                self.check(key);
                let part = self.octets(octets);
                let Some(old) = self.model.get(&key).cloned() else { return };
                let put = Put { cas: Cas::Fresh, ..old.put };
                let parts = if before { [part.clone(), old.value] } else { [old.value, part.clone()] };
                let decision = if before { Decision::Prepend(put) } else { Decision::Append(put) };
                self.put_if_kept(key, decision, put, &part, parts.concat());
            }
            Step::Number { key, value } => {
                self.check(key);
                let value = value.to_string().into_bytes();
                let put = self.model.get(&key).map_or(Put::default(), |old| old.put);
                self.put(key, Decision::Built(put), put, &value, value.clone(), false);
                self.check(key);
            }
            Step::Delete { key } => {
                self.old(key);
                let changed = self.writer.change(&name(key), Value::None, self.now, |_, _| (Decision::Delete, ()));
                assert_eq!(changed.expect("a deletion takes no memory").cas, 0);
                self.model.remove(&key);
                self.check(key);
            }
            Step::Mark { key, stale, ttl, cas } => self.mark(key, stale, ttl, cas),
            Step::Wait { seconds } => self.now += seconds,
            Step::Flush { after } => {
                self.old(0);
                self.store.flush(self.now + after, self.now);
                self.flush_at = Some(self.now + after);
                self.old(0);
            }
            Step::Sweep => drop(self.writer.sweep(self.now, 10_000)),
        }
        assert!(self.store.counts().used_octets <= self.store.limit());
    }

    /// Joins, unless the old item was evicted between: then it would be a put.
    fn put_if_kept(&mut self, key: u8, decision: Decision, put: Put, part: &[u8], whole: Vec<u8>) {
        let mut joined = true;
        let before = self.model.get(&key).cloned();
        let changed = self.writer.change(&name(key), Value::Octets(part), self.now, |old, _| {
            joined = old.is_some();
            (if joined { decision } else { Decision::Keep }, ())
        });
        match changed {
            Ok(changed) if joined => drop(self.model.insert(key, Item { value: whole, put, cas: changed.cas })),
            Ok(_) => assert!(self.evicts && before.is_some()),
            Err(refused) => assert!(refused == Refused::TooLarge || !self.evicts, "{refused}"),
        }
        self.check(key);
    }

    fn mark(&mut self, key: u8, stale: bool, ttl: Option<u32>, cas: Option<u64>) {
        self.check(key);
        let expiry = ttl.map(|ttl| self.expiry(ttl));
        let marks = Marks { stale: Some(stale), won: None, expiry, cas: cas.map(Cas::Given), touch: true };
        let changed = self.writer.change(&name(key), Value::None, self.now, |_, _| (Decision::Mark(marks), ()));
        match changed {
            Ok(changed) => {
                if let Some(item) = self.model.get_mut(&key).filter(|_| changed.cas != 0) {
                    item.put.stale = stale;
                    item.put.expiry = expiry.unwrap_or(item.put.expiry);
                    item.cas = cas.unwrap_or(item.cas);
                }
            }
            Err(refused) => assert!(!self.evicts, "{refused}"),
        }
        self.check(key);
    }

    fn all(mut self) {
        (0..=255).for_each(|key| self.check(key));
        self.writer.sweep(self.now, 1_000_000);
        let mut met = HashMap::new();
        let mut cursor = Default::default();
        while self
            .writer
            .walk(&mut cursor, self.now, 10, |key, seen| assert!(met.insert(key.to_vec(), seen.cas()).is_none()))
        {
        }
        let expected: HashMap<Vec<u8>, u64> = self.model.iter().map(|(key, item)| (name(*key), item.cas)).collect();
        assert_eq!(met, expected);
        let octets: usize = self.model.iter().map(|(key, item)| name(*key).len() + item.value.len()).sum();
        let counts = self.store.counts();
        if counts.items == met.len() as u64 {
            assert_eq!(counts.item_octets, octets as u64);
        }
    }
}

fn few(key: &[u8]) -> u64 {
    u64::from(key[key.len() - 1] % 2)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 150 } else { 2000 }))]

    #[test]
    fn with_memory_enough_nothing_is_lost(steps in steps()) {
        let rules = Rules { limit_octets: 512 << 20, evicts: false, ..Rules::default() };
        let mut run = Run::new(rules);
        steps.into_iter().for_each(|step| run.step(step));
        run.all();
    }

    #[test]
    fn with_little_memory_things_are_lost_and_never_wrong(steps in steps()) {
        let mut run = Run::new(Rules { limit_octets: 1 << 20, item_octets_max: 100_000, ..Rules::default() });
        steps.into_iter().for_each(|step| run.step(step));
        run.all();
    }

    #[test]
    fn keys_that_collide_are_lost_and_never_wrong(steps in steps()) {
        let mut run = Run::new(Rules { limit_octets: 8 << 20, hashing: Hashing::Fixed(few), ..Rules::default() });
        steps.into_iter().for_each(|step| run.step(step));
        run.all();
    }

    #[test]
    fn without_eviction_new_items_are_refused_and_old_ones_stay(steps in steps()) {
        let mut run = Run::new(Rules { limit_octets: 1 << 20, evicts: false, ..Rules::default() });
        steps.into_iter().for_each(|step| run.step(step));
        run.all();
    }
}
