//! Several threads at once: nothing torn, nothing lost that must not be, and an order in which it all happened.
//!
//! Test group: waits: lets threads meet for a while.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use trunkline_cache::store::{Decision, Marks, Put, Rules, Store, Touch, Value, Writer};

/// A small generator, so that each thread has numbers of its own.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

const EFFORT: u64 = if cfg!(debug_assertions) { 3 } else { 20 };

/// A value that tells its key, and whether it is whole.
fn sealed(key: u64, octets: usize, seed: u64) -> Vec<u8> {
    let mut value: Vec<u8> = [key, seed, octets as u64].iter().flat_map(|n| n.to_le_bytes()).collect();
    value.extend((0..octets).map(|n| (seed as usize + n * 31) as u8));
    let sum = sum(&value);
    value.extend_from_slice(&sum.to_le_bytes());
    value
}

fn sum(octets: &[u8]) -> u64 {
    octets.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &octet| (sum ^ u64::from(octet)).wrapping_mul(0x100_0000_01b3))
}

fn check_sealed(key: u64, value: &[u8]) {
    let (body, seal) = value.split_at(value.len() - 8);
    assert_eq!(sum(body).to_le_bytes(), seal, "a value of {} octets is torn", value.len());
    assert_eq!(key.to_le_bytes(), body[..8], "the value of another key");
}

fn name(key: u64) -> Vec<u8> {
    format!("{key:0width$}", width = 6 + key as usize % 60).into_bytes()
}

fn length(chance: &mut Chance) -> usize {
    match chance.below(100) {
        0 => 60_000 + chance.below(200_000) as usize,
        1..=9 => chance.below(8000) as usize,
        _ => chance.below(200) as usize,
    }
}

fn write(writer: &mut Writer, chance: &mut Chance, key: u64, now: u32) {
    let value = sealed(key, length(chance), chance.0);
    let expiry = if chance.below(3) == 0 { now + 1 + chance.below(5) as u32 } else { 0 };
    let put = Put { flags: key as u32, expiry, ..Put::default() };
    let decision = match chance.below(10) {
        0 => Decision::Delete,
        1 => Decision::Mark(Marks { expiry: Some(expiry), touch: true, ..Marks::default() }),
        _ => Decision::Put(put),
    };
    let _may_be_refused = if chance.below(4) == 0 {
        let Ok(mut draft) = writer.draft(name(key).len(), value.len() as u64) else { return };
        if value.chunks(3000).any(|part| draft.append(writer, part).is_err()) {
            return;
        }
        writer.change(&name(key), Value::Draft(draft), now, |_, _| (decision, ()))
    } else {
        writer.change(&name(key), Value::Octets(&value), now, |_, _| (decision, ()))
    };
}

fn read(writer: &mut Writer, key: u64, now: u32) -> bool {
    let mut value = Vec::new();
    let found = writer.read(&name(key), now, Touch::Yes, |seen| {
        value.clear();
        seen.copy(&mut value);
        (seen.flags(), seen.expiry())
    });
    let Some((flags, expiry)) = found else { return false };
    check_sealed(key, &value);
    assert_eq!(flags, key as u32);
    assert!(expiry == 0 || expiry > now, "an expired item was told");
    true
}

#[test]
fn with_little_memory_and_many_writers_nothing_is_torn() {
    let store = Store::new(Rules { limit_octets: 2 << 20, ..Rules::default() });
    let clock = AtomicU64::new(1);
    let hits = AtomicU64::new(0);
    thread::scope(|scope| {
        for seed in 0..4u64 {
            let (mut writer, clock, hits) = (store.writer(), &clock, &hits);
            scope.spawn(move || {
                let mut chance = Chance(seed + 99);
                for turn in 0..40_000 * EFFORT {
                    let now = clock.load(Ordering::Relaxed) as u32;
                    let range = if chance.below(2) == 0 { 50 } else { 20_000 };
                    let key = chance.below(range);
                    match chance.below(3) {
                        0 => write(&mut writer, &mut chance, key, now),
                        _ => drop(hits.fetch_add(u64::from(read(&mut writer, key, now)), Ordering::Relaxed)),
                    }
                    if turn % 2000 == 0 {
                        clock.fetch_add(1, Ordering::Relaxed);
                        writer.sweep(now, 1000);
                        writer.rest();
                    }
                    if turn % 9999 == 0 {
                        writer.store().flush(now + chance.below(3) as u32, now);
                    }
                    assert!(writer.store().counts().used_octets <= 2 << 20);
                }
            });
        }
    });
    let counts = store.counts();
    assert!(counts.evicted > 1000 && counts.carried > 100 && counts.expired > 10 && counts.flushed > 10, "{counts:?}");
    assert!(hits.into_inner() > 1000);
}

#[test]
fn nothing_is_refused_while_there_is_something_to_evict() {
    let store = Store::new(Rules { limit_octets: 8 << 20, ..Rules::default() });
    thread::scope(|scope| {
        for seed in 0..3u64 {
            let mut writer = store.writer();
            scope.spawn(move || {
                let mut chance = Chance(seed + 7);
                for turn in 0..60_000 * EFFORT {
                    // The smaller part lies in segments, and these are few.
                    let (key, octets) = (chance.below(50_000), 24 + chance.below(6000) as usize);
                    let now = 1 + (turn / 10_000) as u32;
                    let put = Put { expiry: now + 1 + chance.below(20) as u32, ..Put::default() };
                    let value = vec![turn as u8; octets];
                    let stored = writer.change(&name(key), Value::Octets(&value), now, |_, _| (Decision::Put(put), ()));
                    assert!(stored.is_ok(), "turn {turn}, {octets} octets: {:?}", writer.store().counts());
                    if turn % 1000 == 999 {
                        writer.sweep(now, 1000);
                        writer.rest();
                    }
                }
            });
        }
    });
    let counts = store.counts();
    assert!(counts.refused == 0 && counts.evicted > 10_000 && counts.large_values > 100, "{counts:?}");
}

/// One thing that a thread did: between which moments, and the cas numbers before and after.
struct Event {
    begin: u64,
    end: u64,
    before: u64,
    after: u64,
    value: u64,
}

#[test]
fn changes_and_reads_of_a_key_have_an_order() {
    let store = Store::new(Rules { limit_octets: 256 << 20, ..Rules::default() });
    let moment = AtomicU64::new(1);
    let is_done = AtomicBool::new(false);
    let keys: Vec<u64> = (0..4).collect();
    let histories: Vec<Vec<(u64, Event)>> = thread::scope(|scope| {
        let (moment, is_done, keys) = (&moment, &is_done, &keys);
        let disturber = store.writer();
        scope.spawn(move || disturb(disturber, is_done));
        let threads: Vec<_> = (0..3u64)
            .map(|seed| {
                let writer = store.writer();
                scope.spawn(move || live(writer, seed, moment, keys))
            })
            .collect();
        let histories = threads.into_iter().map(|thread| thread.join().expect("a history")).collect();
        is_done.store(true, Ordering::Relaxed);
        histories
    });
    for key in keys {
        let of_key = histories.iter().flatten().filter(|(of, _)| *of == key).map(|(_, event)| event);
        check_history(of_key.collect());
    }
    assert_eq!(store.counts().evicted, 0);
}

/// Makes the table grow and items move meanwhile.
fn disturb(mut writer: Writer, is_done: &AtomicBool) {
    let mut chance = Chance(1);
    while !is_done.load(Ordering::Relaxed) {
        let key = 1000 + chance.below(200_000);
        write(&mut writer, &mut chance, key, 1);
        if key.is_multiple_of(1000) {
            writer.sweep(1, 1000);
        }
    }
}

fn live(mut writer: Writer, seed: u64, moment: &AtomicU64, keys: &[u64]) -> Vec<(u64, Event)> {
    let mut chance = Chance(seed + 7);
    let mut history = Vec::new();
    for turn in 0..20_000 * EFFORT {
        let key = keys[chance.below(keys.len() as u64) as usize];
        let begin = moment.fetch_add(1, Ordering::SeqCst);
        let value = turn * 8 + seed + 1;
        let (before, after, value) = match chance.below(4) {
            0 => put(&mut writer, key, value, &mut chance),
            1 => compare_and_put(&mut writer, key, value),
            _ => look(&mut writer, key),
        };
        let end = moment.fetch_add(1, Ordering::SeqCst);
        history.push((key, Event { begin, end, before, after, value }));
    }
    history
}

/// Puts a value: written over the old one where that is as long.
fn put(writer: &mut Writer, key: u64, value: u64, chance: &mut Chance) -> (u64, u64, u64) {
    let text = value.to_le_bytes();
    let over = chance.below(2) == 0;
    let changed = writer.change(&name(key), Value::Octets(&text), 1, |old, built| {
        built.extend_from_slice(&text);
        let put = Put { flags: key as u32, ..Put::default() };
        let decision = if over { Decision::Built(put) } else { Decision::Put(put) };
        (decision, old.map_or(0, |old| old.cas()))
    });
    let changed = changed.expect("memory");
    (changed.told, changed.cas, value)
}

fn compare_and_put(writer: &mut Writer, key: u64, value: u64) -> (u64, u64, u64) {
    let (_, seen, old) = look(writer, key);
    let changed = writer.change(&name(key), Value::Octets(&value.to_le_bytes()), 1, |now, _| {
        let same = now.map_or(0, |now| now.cas()) == seen;
        let put = Put { flags: key as u32, ..Put::default() };
        (if same { Decision::Put(put) } else { Decision::Keep }, same)
    });
    let changed = changed.expect("memory");
    if changed.told { (seen, changed.cas, value) } else { (seen, seen, old) }
}

fn look(writer: &mut Writer, key: u64) -> (u64, u64, u64) {
    let mut octets = Vec::new();
    let cas = writer.read(&name(key), 1, Touch::Yes, |seen| {
        octets.clear();
        seen.copy(&mut octets);
        seen.cas()
    });
    let value = octets[..].try_into().map_or(0, u64::from_le_bytes);
    (cas.unwrap_or(0), cas.unwrap_or(0), value)
}

/// Each version follows from one other, by one change; the order that this gives agrees with the times of all events.
fn check_history(events: Vec<&Event>) {
    let mut follows: HashMap<u64, &Event> = HashMap::new();
    let mut values: HashMap<u64, u64> = HashMap::from([(0, 0)]);
    for event in events.iter().filter(|event| event.before != event.after) {
        assert!(follows.insert(event.before, event).is_none(), "two changes of one version");
        assert!(event.after > event.before, "a cas number that does not grow");
        values.insert(event.after, event.value);
    }
    let (mut version, mut latest_begin, mut seen) = (0, 0, HashSet::new());
    while let Some(event) = follows.get(&version) {
        assert!(event.end > latest_begin, "a change that ended before one began that it follows");
        latest_begin = latest_begin.max(event.begin);
        assert!(seen.insert(version));
        version = event.after;
    }
    assert_eq!(seen.len(), follows.len(), "versions that follow from nothing");
    let made: HashMap<u64, &Event> = follows.values().map(|event| (event.after, *event)).collect();
    for read in events.iter().filter(|event| event.before == event.after) {
        assert_eq!(values[&read.after], read.value, "the value of another version");
        assert!(made.get(&read.after).is_none_or(|made| made.begin < read.end), "read before it was written");
        assert!(follows.get(&read.after).is_none_or(|next| next.end > read.begin), "read after it was replaced");
    }
}

#[test]
fn no_increment_is_lost() {
    let store = Store::new(Rules { limit_octets: 4 << 20, ..Rules::default() });
    let turns = 30_000 * EFFORT;
    thread::scope(|scope| {
        for _ in 0..3 {
            let mut writer = store.writer();
            scope.spawn(move || (0..turns).for_each(|_| increment(&mut writer)));
        }
        let mut writer = store.writer();
        scope.spawn(move || {
            let mut last = 0;
            for _ in 0..turns {
                let (number, _) = number(&mut writer);
                assert!(number >= last, "{number} after {last}");
                last = number;
            }
        });
    });
    assert_eq!(number(&mut store.writer()).0, 3 * turns);
}

fn increment(writer: &mut Writer) {
    let changed = writer.change(b"number", Value::None, 1, |old, built| {
        let mut text = Vec::new();
        old.into_iter().for_each(|old| old.copy(&mut text));
        let number: u64 = std::str::from_utf8(&text).expect("digits").parse().unwrap_or(0);
        built.extend_from_slice((number + 1).to_string().as_bytes());
        (Decision::Built(Put::default()), ())
    });
    changed.expect("memory");
}

fn number(writer: &mut Writer) -> (u64, usize) {
    let mut text = Vec::new();
    writer.read(b"number", 1, Touch::Yes, |seen| {
        text.clear();
        seen.copy(&mut text);
    });
    (std::str::from_utf8(&text).expect("digits").parse().unwrap_or(0), text.len())
}

#[test]
fn a_store_is_shared_and_a_writer_moves() {
    fn shared<T: Send + Sync>(_: &T) {}
    fn moves<T: Send>(_: &T) {}
    let store = Store::new(Rules::default());
    shared(&Arc::clone(&store));
    moves(&store.writer());
}
