//! The store under loom: the code itself, with small segments and buckets (`store/sync.rs`), in every order in which
//! two threads can meet, up to a number of preemptions, and with every older word that a load may still see.
//!
//! `cargo xtask loom` runs it.
//!
//! What loom does not model, and what is done about it: that nothing comes between the two halves of an exchange where
//! a plain store is the next (`store_over` is an exchange, too); loads that see words of the future (none that a reader
//! believes: it sets an acquire fence, and looks at the version). Counters are words that one thread writes, or
//! exchanges; the checks at the end read them. Time is handed in.
//!
//! That each model can fail is tried, too: `cargo xtask loom --breaks` leaves out fences, makes orders relaxed, and
//! leaves out checks, one at a time (`loom/breaks.toml`); each must be found. Left out of that list, since no model can
//! find them:
//! * the release fence in `Hand::take`: that of `About::open` comes before all words of the segment, by the same
//!   thread;
//! * the acquire order of the map's number (`Pool::generation`): a reader has loaded the slot with acquire before, and
//!   the number was raised before any slot could point to the new memory.
//! * either check of a sweep alone, for the location or for the expiry, where a key is stored anew meanwhile: each
//!   makes up for the other;
//! * the acquire fence in `may_be_there` of `reclaim.rs`: who sees a slot that was taken away has loaded it with
//!   acquire, and sees the head that was stored before it.
#![cfg(loom)]

use loom::thread;
use std::sync::Arc;
use trunkline_cache::store::{Cas, Decision, Hashing, Marks, Put, Rules, Store, Touch, Value, Writer};

const NOW: u32 = 5;
/// Octets that a segment takes of the account, in models.
const SEGMENT_OCTETS: u64 = 192;

/// Tries a model with so many preemptions, unless the environment says how many.
fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 100_000;
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.check(model);
}

/// Each key has a tag and a bucket of its own, as far as there are some.
fn apart(key: &[u8]) -> u64 {
    key.iter().fold(0, |hash, &octet| hash << 8 | u64::from(octet & 15)).wrapping_mul(1 << 54 | 1)
}

/// All keys meet in one chain, and only their octets tell them apart.
fn together(_key: &[u8]) -> u64 {
    1 << 60 | 1
}

fn store(hash: fn(&[u8]) -> u64) -> Arc<Store> {
    let hashing = Hashing::Fixed(hash);
    // Room for two large values, each in a page of its own, beside one that a reader holds; and still so small that all
    // times to live have one class.
    Store::new(Rules { limit_octets: 20 << 10, item_octets_max: 1 << 10, evicts: true, hashing })
}

/// Leaves memory for so many segments more.
fn leave_segments(writer: &mut Writer, segments: u64) {
    let counts = writer.store().counts();
    let rest = writer.store().limit() - counts.used_octets - segments * SEGMENT_OCTETS;
    writer.charge(rest).expect("it is there");
}

fn put_as(writer: &mut Writer, key: &[u8], number: u8, octets: usize, decision: fn(Put) -> Decision) {
    let value = vec![number; octets];
    let put = Put { flags: number.into(), ..Put::default() };
    let changed = writer.change(key, Value::Octets(&value), NOW, |_, built| {
        built.extend_from_slice(&value);
        (decision(put), ())
    });
    changed.expect("memory");
}

fn put(writer: &mut Writer, key: &[u8], number: u8) {
    put_as(writer, key, number, 8, Decision::Put);
}

fn delete(writer: &mut Writer, key: &[u8]) {
    writer.change(key, Value::None, NOW, |_, _| (Decision::Delete, ())).expect("needs nothing");
}

/// The number under a key, of which the flags and every octet of the value tell.
fn get(writer: &mut Writer, key: &[u8]) -> Option<u8> {
    let mut value = Vec::new();
    let flags = writer.read(key, NOW, Touch::Yes, |seen| {
        value.clear();
        seen.copy(&mut value);
        seen.flags()
    })?;
    assert!(value.len() >= 8 && value.iter().all(|&octet| u32::from(octet) == flags), "torn: {flags} {value:?}");
    Some(flags as u8)
}

/// What stands in the accounts at the end agrees with what is there.
fn settle(store: &Arc<Store>, items: u64) {
    let counts = store.counts();
    assert_eq!(counts.items, items);
    let kinds = counts.segment_octets + counts.table_octets + counts.large_octets + counts.charged_octets;
    assert_eq!(counts.used_octets, kinds);
    assert!(counts.used_octets <= store.limit() && counts.held_octets == 0);
}

/// The first thread's work beside the second's; both are done at the end.
fn beside(first: impl FnOnce() + 'static, second: impl FnOnce()) {
    let first = thread::spawn(first);
    second();
    first.join().expect("no panic");
}

#[test]
fn a_reader_beside_a_writer_of_the_key() {
    check(3, || {
        let store = store(apart);
        let (mut writer, mut reader) = (store.writer(), store.writer());
        put(&mut writer, b"a", 1);
        assert_eq!(get(&mut reader, b"a"), Some(1));
        beside(
            move || put(&mut writer, b"a", 2),
            || {
                let first = get(&mut reader, b"a").expect("it is always there");
                let then = get(&mut reader, b"a").expect("it is always there");
                assert!(first <= then, "an older value after a newer one");
            },
        );
        assert_eq!(get(&mut reader, b"a"), Some(2));
        settle(&store, 1);
    });
}

#[test]
fn a_reader_with_an_old_map() {
    check(2, || {
        let store = store(apart);
        let (mut first, mut second, mut reader) = (store.writer(), store.writer(), store.writer());
        put(&mut first, b"a", 1);
        assert_eq!(get(&mut reader, b"a"), Some(1));
        // The second one has no segment yet: the map changes.
        beside(
            move || put(&mut second, b"a", 2),
            || {
                assert!(get(&mut reader, b"a").is_some(), "it is always there");
            },
        );
        settle(&store, 1);
    });
}

#[test]
fn a_reader_beside_a_value_written_over() {
    check(3, || {
        let store = store(apart);
        let (mut writer, mut reader) = (store.writer(), store.writer());
        put(&mut writer, b"a", 1);
        assert_eq!(get(&mut reader, b"a"), Some(1));
        beside(
            move || put_as(&mut writer, b"a", 2, 8, Decision::Built),
            || {
                assert!(get(&mut reader, b"a").is_some(), "it is always there");
            },
        );
        assert_eq!(get(&mut reader, b"a"), Some(2));
        settle(&store, 1);
    });
}

#[test]
fn a_reader_beside_marks_that_are_set() {
    check(3, || {
        let store = store(apart);
        let (mut writer, mut reader) = (store.writer(), store.writer());
        let before = Put { flags: 1, expiry: 10, ..Put::default() };
        writer.change(b"a", Value::Octets(&[1; 4]), NOW, |_, _| (Decision::Put(before), ())).expect("memory");
        let look = |reader: &mut Writer| {
            let told = reader.read(b"a", NOW, Touch::No, |seen| (seen.is_stale(), seen.expiry(), seen.cas() == 77));
            told.expect("it is always there")
        };
        assert_eq!(look(&mut reader), (false, 10, false));
        let marks = Marks { stale: Some(true), expiry: Some(20), cas: Some(Cas::Given(77)), ..Marks::default() };
        let mark = move || {
            let changed = writer.change(b"a", Value::None, NOW, |_, _| (Decision::Mark(marks), ()));
            changed.expect("needs nothing");
        };
        beside(mark, || {
            let told = look(&mut reader);
            assert!(told == (false, 10, false) || told == (true, 20, true), "half of a change: {told:?}");
        });
        assert_eq!(look(&mut reader), (true, 20, true));
    });
}

#[test]
fn a_reader_beside_a_key_that_takes_the_place_of_its_own() {
    check(3, || {
        let store = store(together);
        let (mut writer, mut reader) = (store.writer(), store.writer());
        put(&mut writer, b"a", 1);
        assert_eq!(get(&mut reader, b"a"), Some(1));
        let work = move || {
            delete(&mut writer, b"a");
            put(&mut writer, b"b", 2);
        };
        beside(work, || {
            assert!(matches!(get(&mut reader, b"a"), None | Some(1)), "the value of another key");
        });
        assert_eq!((get(&mut reader, b"a"), get(&mut reader, b"b")), (None, Some(2)));
        settle(&store, 1);
    });
}

#[test]
fn a_reader_beside_a_segment_that_is_used_anew() {
    check(2, || {
        let store = store(apart);
        let (mut writer, mut reader) = (store.writer(), store.writer());
        // Two items to a segment; of those that are emptied, the first one is opened anew.
        [b"y", b"b", b"a", b"c", b"q", b"r"].into_iter().for_each(|key| put(&mut writer, key, 1));
        [b"a", b"b", b"c"].into_iter().for_each(|key| delete(&mut writer, key));
        leave_segments(&mut writer, 0);
        assert_eq!(get(&mut reader, b"y"), Some(1));
        let reclaimed = store.counts().segments_reclaimed;
        let work = move || {
            delete(&mut writer, b"y");
            // No room: two segments are dead, and this lies where the old one lay.
            put(&mut writer, b"y", 2);
        };
        beside(work, || {
            get(&mut reader, b"y");
        });
        assert_eq!(get(&mut reader, b"y"), Some(2));
        assert_eq!(store.counts().segments_reclaimed, reclaimed + 2);
        settle(&store, 3);
    });
}

#[test]
fn a_reader_of_what_was_flushed_beside_its_memory_used_anew() {
    check(2, || {
        let store = store(apart);
        let (mut writer, mut reader) = (store.writer(), store.writer());
        // Each in a bucket of its own, so that no chain shrinks: that would set a fence, too.
        [b"d", b"b", b"a", b"c", b"p", b"e"].into_iter().for_each(|key| put(&mut writer, key, 1));
        assert_eq!(get(&mut reader, b"a"), Some(1));
        leave_segments(&mut writer, 0);
        store.flush(NOW, NOW);
        // Of the keys that go with their segment this one goes last, and the writer's own has another bucket: no later
        // change of a bucket sets a fence for it.
        beside(move || put(&mut writer, b"x", 2), || assert_eq!(get(&mut reader, b"a"), None, "it was flushed"));
        assert_eq!(get(&mut reader, b"x"), Some(2));
    });
}

#[test]
fn a_reader_of_a_chain_whose_bucket_goes_to_another() {
    fn two_chains(key: &[u8]) -> u64 {
        1 << 60 | u64::from(key[0].is_ascii_uppercase())
    }
    check(2, || {
        let store = store(two_chains);
        let (mut one, mut other, mut reader) = (store.writer(), store.writer(), store.writer());
        put(&mut other, b"A", 1);
        [b"a", b"b", b"B", b"c"].into_iter().for_each(|key| put(&mut one, key, 1));
        assert_eq!((get(&mut reader, b"c"), store.counts().buckets_overflow), (Some(1), 1));
        let shrinks = thread::spawn(move || delete(&mut one, b"a"));
        let grows = thread::spawn(move || put(&mut other, b"C", 1));
        assert_eq!(get(&mut reader, b"c"), Some(1), "it is always there");
        shrinks.join().expect("no panic");
        grows.join().expect("no panic");
        settle(&store, 5);
    });
}

#[test]
fn a_reader_beside_an_eviction() {
    check(2, || {
        let store = store(apart);
        let (mut writer, mut reader) = (store.writer(), store.writer());
        [b"a", b"b", b"y", b"z", b"q", b"r"].into_iter().for_each(|key| put(&mut writer, key, 1));
        leave_segments(&mut writer, 1);
        assert_eq!(get(&mut reader, b"y"), Some(1));
        beside(
            move || put(&mut writer, b"p", 2),
            || {
                assert!(matches!(get(&mut reader, b"y"), None | Some(1)));
            },
        );
        assert_eq!(get(&mut reader, b"p"), Some(2));
        assert!(store.counts().evicted > 0);
        settle(&store, 7 - store.counts().evicted);
    });
}

#[test]
fn a_reader_beside_a_split() {
    check(3, || {
        let store = store(apart);
        let (mut writer, mut reader) = (store.writer(), store.writer());
        put(&mut writer, b"a", 1);
        assert_eq!(get(&mut reader, b"a"), Some(1));
        // Takes up the map, without which nothing is split.
        assert_eq!(get(&mut writer, b"a"), Some(1));
        let buckets = store.counts().buckets;
        beside(
            move || put(&mut writer, b"b", 2),
            || {
                assert_eq!(get(&mut reader, b"a"), Some(1), "it is always there");
            },
        );
        assert_eq!((get(&mut reader, b"a"), get(&mut reader, b"b")), (Some(1), Some(2)));
        assert!(store.counts().buckets > buckets);
        settle(&store, 2);
    });
}

#[test]
fn a_reader_beside_a_chain_that_shrinks() {
    check(3, || {
        let store = store(together);
        let (mut writer, mut reader) = (store.writer(), store.writer());
        // Two slots to a bucket: the third one lies in an overflow bucket.
        [(b"a", 1), (b"b", 2), (b"c", 3)].into_iter().for_each(|(key, number)| put(&mut writer, key, number));
        assert_eq!((get(&mut reader, b"c"), store.counts().buckets_overflow), (Some(3), 1));
        beside(
            move || delete(&mut writer, b"a"),
            || {
                assert_eq!(get(&mut reader, b"c"), Some(3), "it is always there");
            },
        );
        assert_eq!(store.counts().buckets_overflow, 0);
        settle(&store, 2);
    });
}

#[test]
fn a_reader_beside_a_large_value_that_goes() {
    check(3, || {
        let store = store(apart);
        let (mut writer, mut reader) = (store.writer(), store.writer());
        put_as(&mut writer, b"a", 1, 40, Decision::Put);
        assert_eq!((get(&mut reader, b"a"), store.counts().large_values), (Some(1), 1));
        beside(
            move || put_as(&mut writer, b"a", 2, 50, Decision::Put),
            || {
                let hold = reader.read(b"a", NOW, Touch::No, |seen| (seen.flags(), seen.hold()));
                let (flags, hold) = hold.expect("it is always there");
                let value = hold.expect("few are held").piece(0).to_vec();
                assert_eq!(value, vec![flags as u8; 30 + 10 * flags as usize]);
            },
        );
        assert_eq!((get(&mut reader, b"a"), store.counts().large_values), (Some(2), 1));
        settle(&store, 1);
    });
}

#[test]
fn a_writer_beside_a_split_of_its_bucket() {
    check(2, || {
        let store = store(apart);
        let (mut one, mut other) = (store.writer(), store.writer());
        // Both have a segment, and the map, without which nothing is split.
        put(&mut one, b"a", 1);
        put(&mut other, b"a", 1);
        assert_eq!((get(&mut one, b"a"), get(&mut other, b"a")), (Some(1), Some(1)));
        let buckets = store.counts().buckets;
        beside(move || put(&mut one, b"b", 2), || put(&mut other, b"a", 2));
        let mut reader = store.writer();
        assert_eq!((get(&mut reader, b"a"), get(&mut reader, b"b")), (Some(2), Some(2)));
        assert!(store.counts().buckets > buckets);
        settle(&store, 2);
    });
}

#[test]
fn two_writers_of_a_key() {
    check(2, || {
        let store = store(apart);
        let (mut one, mut other) = (store.writer(), store.writer());
        put(&mut one, b"a", 1);
        put(&mut other, b"b", 1);
        fn add(writer: &mut Writer) {
            let changed = writer.change(b"a", Value::None, NOW, |old, built| {
                old.expect("it is always there").copy(built);
                built.iter_mut().for_each(|octet| *octet += 1);
                (Decision::Built(Put { flags: built[0].into(), ..Put::default() }), ())
            });
            changed.expect("memory");
        }
        beside(move || add(&mut one), || add(&mut other));
        assert_eq!(get(&mut store.writer(), b"a"), Some(3));
        settle(&store, 2);
    });
}

#[test]
fn a_writer_beside_who_reclaims_its_old_item() {
    check(2, || {
        let store = store(apart);
        let (mut one, mut other) = (store.writer(), store.writer());
        put(&mut other, b"z", 1);
        [b"a", b"b", b"y", b"c", b"q", b"r"].into_iter().for_each(|key| put(&mut one, key, 1));
        [b"a", b"b", b"c"].into_iter().for_each(|key| delete(&mut one, key));
        leave_segments(&mut one, 0);
        // One takes back the segment with `y` in it, which is carried on or evicted; the other one stores `y` anew.
        beside(move || put(&mut one, b"c", 2), || put(&mut other, b"y", 2));
        assert_eq!(get(&mut store.writer(), b"y"), Some(2));
        settle(&store, 5 - store.counts().evicted);
    });
}

#[test]
fn a_split_beside_who_reclaims_an_item_of_the_bucket() {
    check(3, || {
        let store = store(apart);
        let chunk = store.counts().table_octets / 2;
        let (mut one, mut other) = (store.writer(), store.writer());
        put(&mut other, b"h", 1);
        // Two items to a segment: nothing is left of the first one, which is kept for carrying, and of the second `f`.
        [b"a", b"c", b"f", b"d", b"a", b"c", b"d", b"e"].into_iter().for_each(|key| put(&mut one, key, 1));
        // Takes up the map, without which nothing is split.
        assert_eq!(get(&mut other, b"f"), Some(1));
        let counts = store.counts();
        assert_eq!((counts.buckets, counts.items, counts.buckets_overflow), (6, 6, 0));
        // No segment more, but a bucket: the next split, of bucket 2, takes `f` to bucket 6.
        let rest = store.limit() - counts.used_octets - chunk;
        one.charge(rest).expect("it is there");
        // Loom tries a load before each store that it came behind: who splits is the one that runs first.
        beside(move || put(&mut other, b"g", 2), || put(&mut one, b"a", 2));
        assert_eq!((store.counts().buckets, store.counts().segments_reclaimed), (7, counts.segments_reclaimed + 1));
        let mut reader = store.writer();
        assert_eq!([b"f", b"a", b"g"].map(|key| get(&mut reader, key)), [Some(1), Some(2), Some(2)]);
        settle(&store, 7);
    });
}

#[test]
fn a_writer_beside_a_sweep_of_its_old_item() {
    check(2, || {
        let store = store(apart);
        let (mut one, mut other) = (store.writer(), store.writer());
        put(&mut other, b"z", 1);
        let short = Put { flags: 1, expiry: NOW, ..Put::default() };
        one.change(b"a", Value::Octets(&[1; 4]), 1, |_, _| (Decision::Put(short), ())).expect("memory");
        put(&mut one, b"b", 1);
        put(&mut one, b"c", 1);
        beside(move || assert!(one.sweep(NOW, 10).items_seen > 0), || put(&mut other, b"a", 2));
        assert_eq!(get(&mut store.writer(), b"a"), Some(2));
        settle(&store, 4);
    });
}

#[test]
fn a_sweep_beside_who_gives_the_item_more_time() {
    check(2, || {
        let store = store(apart);
        let (mut one, mut other) = (store.writer(), store.writer());
        let short = Put { flags: 1, expiry: NOW, ..Put::default() };
        one.change(b"a", Value::Octets(&[1; 8]), 1, |_, _| (Decision::Put(short), ())).expect("memory");
        put(&mut one, b"b", 1);
        put(&mut one, b"c", 1);
        let longer = Marks { expiry: Some(NOW + 5), ..Marks::default() };
        let mut found = false;
        let sweep = move || {
            one.sweep(NOW, 10);
        };
        beside(sweep, || {
            // Its second is the one before: for it the item is still there.
            let changed = other.change(b"a", Value::None, NOW - 1, |old, _| (Decision::Mark(longer), old.is_some()));
            found = changed.expect("needs nothing").told;
        });
        assert_eq!(get(&mut store.writer(), b"a").is_some(), found, "what was given more time stays");
    });
}

#[test]
fn a_writer_beside_a_flush() {
    check(3, || {
        let store = store(apart);
        let (mut one, mut other) = (store.writer(), store.writer());
        put(&mut one, b"a", 1);
        put(&mut other, b"b", 1);
        let flushed = Arc::clone(&store);
        beside(move || flushed.flush(NOW, NOW), || put(&mut one, b"a", 2));
        assert!(matches!(get(&mut one, b"a"), None | Some(2)));
        assert_eq!(get(&mut other, b"b"), None);
        // Its segment has room, and is of before the flush.
        put(&mut other, b"b", 3);
        assert_eq!(get(&mut one, b"b"), Some(3));
    });
}
