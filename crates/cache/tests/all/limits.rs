//! Limits: of memory, of chains, of time; and that within them nothing is lost.

use trunkline_cache::store::{
    Decision, Hashing, Hold, LIMIT_OCTETS_MIN, Put, Refused, Rules, Store, Touch, Value, Writer,
};

fn put(writer: &mut Writer, key: &[u8], value: &[u8], expiry: u32, now: u32) -> Result<(), Refused> {
    let put = Put { expiry, ..Put::default() };
    writer.change(key, Value::Octets(value), now, |_, _| (Decision::Put(put), ())).map(drop)
}

fn has(writer: &mut Writer, key: &[u8], now: u32) -> bool {
    writer.read(key, now, Touch::No, |_| ()).is_some()
}

fn key(number: u64) -> [u8; 32] {
    let mut key = [b'k'; 32];
    let digits = format!("{number:020}");
    key[12..].copy_from_slice(digits.as_bytes());
    key
}

fn chance(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn an_item_takes_thirty_octets_beside_key_and_value_at_most() {
    let store = Store::new(Rules { limit_octets: 1 << 30, ..Rules::default() });
    let mut writer = store.writer();
    for number in 0..1_000_000 {
        put(&mut writer, &key(number), &[7; 100], 0, 1).expect("memory enough");
        if number % 100_000 == 99_999 && number > 200_000 {
            let counts = store.counts();
            let overhead = (counts.used_octets - counts.item_octets) as f64 / counts.items as f64;
            assert!(overhead <= 30.0, "{overhead:.1} octets at {number} items");
        }
    }
    assert_eq!(store.counts().items, 1_000_000);
}

#[test]
fn a_table_that_starts_small_loses_nothing_while_it_grows() {
    let items = if cfg!(debug_assertions) { 400_000 } else { 2_000_000u64 };
    let store = Store::new(Rules { limit_octets: 1 << 30, ..Rules::default() });
    let before = store.counts().buckets;
    let mut writer = store.writer();
    for number in 0..items {
        put(&mut writer, &number.to_le_bytes(), b"", 0, 1).expect("memory enough");
    }
    assert!((0..items).all(|number| has(&mut writer, &number.to_le_bytes(), 1)));
    let counts = store.counts();
    assert!(counts.items == items && counts.buckets > 100 * before && counts.evicted == 0, "{counts:?}");
}

#[test]
fn the_limit_holds_for_values_of_all_sizes_as_it_goes_up_and_down() {
    let store = Store::new(Rules { limit_octets: 64 << 20, item_octets_max: 16 << 20, ..Rules::default() });
    let mut writer = store.writer();
    let mut state = 3;
    for turn in 0..4000u64 {
        let octets = (8 << 20) >> (chance(&mut state) % 20);
        let value = vec![turn as u8; chance(&mut state) as usize % octets];
        put(&mut writer, &key(chance(&mut state) % 500), &value, 0, 1).expect("room is made");
        let number = chance(&mut state) % 500;
        writer.read(&key(number), 1, Touch::Yes, |seen| seen.value_octets());
        assert!(store.counts().used_octets <= store.limit(), "{:?}", store.counts());
        if turn % 500 == 499 {
            let limit = if turn % 1000 == 499 { 24 << 20 } else { 64 << 20 };
            store.set_limit(limit);
            let steps = (0..1000).map(|_| writer.sweep(1, 100_000)).take_while(|swept| !swept.done).count();
            assert!(steps < 1000);
            assert!(store.counts().used_octets <= limit, "{:?}", store.counts());
        }
    }
    assert!(store.counts().evicted > 500 && store.counts().large_values > 0, "{:?}", store.counts());
}

#[test]
fn a_thread_that_keeps_memory_at_hand_has_large_values_evicted_and_none_refused() {
    let store = Store::new(Rules { limit_octets: 8 << 20, ..Rules::default() });
    let (mut writer, mut sleeper) = (store.writer(), store.writer());
    (0..500).for_each(|number| put(&mut writer, &key(number), &[1; 6000], 0, 1).expect("memory enough"));
    (1000..50_000).for_each(|number| put(&mut writer, &key(number), &[1; 100], 0, 1).expect("room is made"));
    // From here on all segments that there are stay in memory, whoever gives them up.
    assert!(has(&mut sleeper, &key(49_999), 1));
    let before = store.counts();
    for number in 0..3000 {
        put(&mut writer, &key(100_000 + number), &[2; 6000], 0, 1).expect("there is something to evict");
    }
    let counts = store.counts();
    assert!(counts.evicted > before.evicted + 2000 && counts.used_octets <= 8 << 20, "{counts:?}");
    // It goes on, and what was given up comes back.
    assert!(sleeper.read(&key(102_999), 1, Touch::No, |seen| seen.value_octets()) == Some(6000));
    sleeper.rest();
    put(&mut writer, &key(200_000), &[2; 6000], 0, 1).expect("room is made");
}

#[test]
fn what_is_charged_from_outside_takes_the_place_of_items() {
    let store = Store::new(Rules { limit_octets: 8 << 20, ..Rules::default() });
    let mut writer = store.writer();
    (0..100_000).for_each(|number| put(&mut writer, &key(number), &[1; 100], 0, 1).expect("room is made"));
    let before = store.counts().items;
    writer.charge(4 << 20).expect("items go");
    let counts = store.counts();
    assert!(counts.items < before * 6 / 10 && counts.used_octets <= 8 << 20, "{counts:?}");
    assert_eq!(writer.charge(8 << 20), Err(Refused::NoMemory));
    store.uncharge(4 << 20);
    (0..100_000).for_each(|number| put(&mut writer, &key(number), &[1; 100], 0, 1).expect("room is made"));
    assert!(store.counts().items > before * 9 / 10);
}

#[test]
fn without_eviction_the_old_items_stay_and_the_new_are_refused() {
    let store = Store::new(Rules { limit_octets: LIMIT_OCTETS_MIN, evicts: false, ..Rules::default() });
    let mut writer = store.writer();
    let stored = (0..100_000).take_while(|number| put(&mut writer, &key(*number), &[1; 100], 0, 1).is_ok()).count();
    assert!(stored > 4000 && (0..stored as u64).all(|number| has(&mut writer, &key(number), 1)));
    // What is deleted makes room again, though it lies scattered.
    for number in (0..stored as u64).filter(|number| number % 3 != 0) {
        writer.change(&key(number), Value::None, 1, |_, _| (Decision::Delete, ())).expect("a deletion");
    }
    let again = (0..100_000).take_while(|number| put(&mut writer, &key(1_000_000 + number), &[1; 100], 0, 1).is_ok());
    assert!(again.count() > stored / 3);
    assert!((0..stored as u64).filter(|number| number % 3 == 0).all(|number| has(&mut writer, &key(number), 1)));
}

#[test]
fn expired_items_give_their_memory_back_without_being_asked_for() {
    let store = Store::new(Rules { limit_octets: 256 << 20, ..Rules::default() });
    let mut writer = store.writer();
    for number in 0..100_000u64 {
        let expiry = if number % 10 == 0 { 0 } else { 10 + (number % 50) as u32 };
        put(&mut writer, &key(number), &[1; 100], expiry, 1).expect("memory enough");
    }
    let mut steps = 0;
    while !writer.sweep(100, 5_000).done {
        steps += 1;
        assert!(steps < 1000);
    }
    let counts = store.counts();
    assert_eq!((counts.items, counts.expired, counts.expired_unfetched), (10_000, 90_000, 90_000));
    let used = (counts.segments - counts.segments_free) * counts.octets_per_segment;
    assert!(used < 4 << 20, "{counts:?}");
}

#[test]
fn what_is_written_over_again_and_again_does_not_fill_the_limit() {
    let store = Store::new(Rules { limit_octets: 256 << 20, ..Rules::default() });
    let mut writer = store.writer();
    let mut state = 5;
    for _ in 0..1_000_000 {
        put(&mut writer, &key(chance(&mut state) % 20_000), &[1; 100], 0, 1).expect("memory enough");
    }
    let counts = store.counts();
    assert!((0..20_000).all(|number| has(&mut writer, &key(number), 1)) && counts.evicted == 0);
    assert!(counts.used_octets < 5 * counts.item_octets, "{counts:?}");
}

#[test]
fn a_flush_takes_everything_before_it_and_nothing_after() {
    let store = Store::new(Rules::default());
    let mut writer = store.writer();
    put(&mut writer, b"a", b"1", 0, 5).expect("memory");
    let mut draft = writer.draft(1, 2).expect("memory");
    draft.append(&mut writer, b"x").expect("memory");
    store.flush(5, 5);
    assert!(!has(&mut writer, b"a", 5));
    draft.append(&mut writer, b"y").expect("memory");
    writer.change(b"d", Value::Draft(draft), 5, |_, _| (Decision::Put(Put::default()), ())).expect("memory");
    put(&mut writer, b"a", b"2", 0, 5).expect("memory");
    assert!(has(&mut writer, b"a", 5) && has(&mut writer, b"d", 5), "stored after the flush");
    store.flush(20, 5);
    assert!(has(&mut writer, b"a", 19) && !has(&mut writer, b"a", 20));
    put(&mut writer, b"a", b"3", 0, 20).expect("memory");
    assert!(has(&mut writer, b"a", 30));
}

fn all_the_same(_key: &[u8]) -> u64 {
    0x1234
}

fn same_bucket(key: &[u8]) -> u64 {
    key.iter().fold(0, |hash: u64, &octet| hash.wrapping_mul(31) + u64::from(octet)) << 40
}

#[test]
fn keys_that_collide_make_room_for_each_other_and_no_work_without_end() {
    for hash in [all_the_same as fn(&[u8]) -> u64, same_bucket] {
        let store = Store::new(Rules { hashing: Hashing::Fixed(hash), ..Rules::default() });
        let mut writer = store.writer();
        for number in 0..20_000 {
            put(&mut writer, &key(number), b"value", 0, 1).expect("another one goes");
            assert!(has(&mut writer, &key(number), 1));
        }
        let counts = store.counts();
        assert!(counts.items <= 63 && counts.evicted_by_collision >= 20_000 - 63, "{counts:?}");
        let refusing = Store::new(Rules { hashing: Hashing::Fixed(hash), evicts: false, ..Rules::default() });
        let mut writer = refusing.writer();
        let stored = (0..1000).filter(|number| put(&mut writer, &key(*number), b"value", 0, 1).is_ok()).count();
        assert_eq!(stored, 63);
    }
}

#[test]
fn items_of_up_to_a_gigabyte_come_and_go_in_pieces() {
    let octets = if cfg!(debug_assertions) { 100 << 20 } else { 900 << 20u64 };
    let store = Store::new(Rules { limit_octets: 1 << 30, item_octets_max: 1 << 30, ..Rules::default() });
    let mut writer = store.writer();
    let mut draft = writer.draft(3, octets).expect("memory");
    let piece: Vec<u8> = (0..70_000u32).map(|n| (n % 251) as u8).collect();
    while draft.missing() > 0 {
        draft.append(&mut writer, &piece).expect("memory");
    }
    writer.change(b"big", Value::Draft(draft), 1, |_, _| (Decision::Put(Put::default()), ())).expect("memory");
    assert_eq!(writer.draft(3, 1 << 30).map(drop), Err(Refused::TooLarge));
    let hold = writer.read(b"big", 1, Touch::Yes, |seen| (seen.is_large(), seen.value_octets()));
    assert_eq!(hold, Some((true, octets)));
    if octets * 2 <= store.limit() {
        let hold = writer.read(b"big", 1, Touch::Yes, |seen| seen.hold()).expect("stored").expect("less than half");
        writer.change(b"big", Value::None, 1, |_, _| (Decision::Delete, ())).expect("a deletion");
        assert!(store.counts().large_octets >= octets, "a hold keeps it");
        check_pieces(&hold, &piece);
        drop(hold);
        assert!(store.counts().large_octets < 1000);
    } else {
        assert!(writer.read(b"big", 1, Touch::Yes, |seen| seen.hold().is_err()).expect("stored"), "more than half");
    }
}

fn check_pieces(hold: &Hold, piece: &[u8]) {
    let mut at = 0;
    while !hold.piece(at).is_empty() {
        let part = hold.piece(at);
        for (index, octet) in part.iter().enumerate().step_by(997) {
            assert_eq!(*octet, piece[(at as usize + index) % piece.len()]);
        }
        at += part.len() as u64;
    }
    assert_eq!(at, hold.octets());
}

#[test]
fn what_is_not_read_again_goes_and_what_is_read_stays() {
    let store = Store::new(Rules { limit_octets: 4 << 20, ..Rules::default() });
    let mut writer = store.writer();
    for number in 0..200_000u64 {
        put(&mut writer, &key(number), &[1; 100], 0, 1).expect("room is made");
        if number >= 1000 {
            writer.read(&key(number % 1000), 1, Touch::Yes, |_| ());
        }
    }
    let kept = (0..1000).filter(|number| has(&mut writer, &key(*number), 1)).count();
    assert!(kept == 1000, "{kept} of 1000");
    let counts = store.counts();
    assert!(counts.evicted > 100_000 && counts.evicted_unfetched > 100_000, "{counts:?}");
}
