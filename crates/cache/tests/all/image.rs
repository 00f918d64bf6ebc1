//! Images of a store beside a model: what goes out comes in again, whole and as it stood, or is told as lost.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use trunkline_cache::image::{BLOCK_OCTETS_MAX, Moment, PREAMBLE_OCTETS, Preamble};
use trunkline_cache::job::{ImageFailed, ImageFile, Recalled, check};
use trunkline_cache::store::{Cas, Decision, Marks, Put, Rules, Standing, Store, Touch, Value, Writer};

type Model = HashMap<Vec<u8>, (Vec<u8>, Standing)>;

const NOW: u32 = 50_000;

fn store(limit_octets: u64) -> Arc<Store> {
    Store::new(Rules { limit_octets, item_octets_max: 64 << 20, ..Rules::default() })
}

fn put(writer: &mut Writer, key: &[u8], value: &[u8], put: Put) {
    let changed = writer.change(key, Value::Octets(value), NOW, |_, _| (Decision::Put(put), ()));
    changed.expect("there is memory");
}

fn octets(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|n| ((n * 31) ^ seed ^ (n >> 9)) as u8).collect()
}

/// Items of every kind: short and long, with flags and without, marked, counted, fetched.
fn fill(store: &Arc<Store>, items: usize) {
    let mut writer = store.writer();
    for n in 0..items {
        let key = format!("key-{n:0width$}", width = n % 40 + 1).into_bytes();
        let length = [0, 1, 100, 1000, 20_000][n % 5] + n % 7;
        let expiry = [0, NOW + 1000, NOW + 1_000_000][n % 3];
        let cas = if n % 11 == 0 { Cas::Given(u64::MAX - n as u64) } else { Cas::Fresh };
        let flags = if n % 2 == 0 { 0 } else { n as u32 * 7919 };
        put(&mut writer, &key, &octets(length, n), Put { flags, expiry, cas, ..Put::default() });
        if n % 13 == 0 {
            let marks = Marks { stale: Some(true), won: Some(n % 2 == 0), ..Marks::default() };
            writer.change(&key, Value::None, NOW, |_, _| (Decision::Mark(marks), ())).expect("marked");
        }
        for _ in 0..n % 4 {
            writer.read(&key, NOW - 600 + (n % 600) as u32, Touch::Yes, |_| ());
        }
    }
}

fn large(store: &Arc<Store>) {
    let mut writer = store.writer();
    let lengths = [BLOCK_OCTETS_MAX / 4 + 1, BLOCK_OCTETS_MAX - 40, BLOCK_OCTETS_MAX, 3 * BLOCK_OCTETS_MAX, 5_000_000];
    for (n, length) in lengths.into_iter().enumerate() {
        put(&mut writer, format!("large-{n}").as_bytes(), &octets(length, n), Put { flags: 9, ..Put::default() });
    }
}

/// All items, as a walk finds them.
fn model(store: &Arc<Store>, now: u32) -> Model {
    let (mut model, mut writer) = (Model::new(), store.writer());
    for segment in store.segments() {
        writer.meet_segment(segment, now, |key, seen| {
            let mut value = Vec::new();
            seen.copy(&mut value);
            assert!(model.insert(key.to_vec(), (value, seen.standing())).is_none(), "met twice");
        });
    }
    model
}

fn save(store: &Arc<Store>, path: &Path, now: u32, threads: usize) -> u64 {
    let saved = ImageFile::claim(path).expect("free").save(store, now, threads, &mut |_, _| ()).expect("written");
    assert_eq!(fs::metadata(path).expect("there").len(), saved.octets);
    saved.items
}

fn load(store: &Arc<Store>, path: &Path, threads: usize) -> Recalled {
    let file = ImageFile::claim(path).expect("free");
    let recalled = file.load(store, threads, &mut |_, _| ()).expect("an image").expect("there");
    file.take_away().expect("taken away");
    assert!(!path.exists());
    recalled
}

/// That a value, its marks and its numbers are those of the model; births are told later where they are long ago, and
/// last uses by grains.
fn same(found: &Model, expected: &Model) {
    for (key, (value, standing)) in found {
        let (old_value, old) = expected.get(key).expect("a key that was there");
        assert!(value == old_value, "the value of {}", String::from_utf8_lossy(key));
        assert!(standing.birth >= old.birth);
        let last = |standing: &Standing| standing.fetched.unwrap_or(0);
        assert!(last(standing).abs_diff(last(old)) <= 32, "{standing:?} {old:?}");
        let bare = |standing: &Standing| Standing { birth: 0, fetched: standing.fetched.map(|_| 0), ..*standing };
        assert_eq!(bare(standing), bare(old), "{}", String::from_utf8_lossy(key));
    }
}

#[test]
fn everything_comes_back_as_it_stood() {
    for threads in [1, 3] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("image");
        let before = store(128 << 20);
        fill(&before, 5000);
        large(&before);
        let expected = model(&before, NOW);
        assert_eq!(save(&before, &path, NOW, threads), 5005);
        let after = store(128 << 20);
        let recalled = load(&after, &path, threads);
        assert_eq!((recalled.items, recalled.no_room, recalled.too_large, recalled.expired), (5005, 0, 0, 0));
        assert!(recalled.wrong.is_none() && recalled.second > NOW && recalled.second < NOW + 60);
        let found = model(&after, recalled.second);
        assert_eq!(found.len(), expected.len());
        same(&found, &expected);
        // A number that is given now is higher than all that were given before.
        let mut writer = after.writer();
        let highest = expected.values().filter(|item| !item.1.given).map(|item| item.1.cas).max();
        let changed = writer.change(b"new", Value::Octets(b""), NOW, |_, _| (Decision::Put(Put::default()), ()));
        assert!(Some(changed.expect("memory").cas) > highest);
        // What the table was made as wide as was needed for, it holds as one that grew.
        let counts = [before.counts(), after.counts()];
        assert!(counts[1].buckets_overflow <= counts[0].buckets_overflow + counts[0].buckets / 4, "{counts:?}");
    }
}

#[test]
fn what_was_used_most_survives_where_there_is_less_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("image");
    let before = store(64 << 20);
    fill(&before, 10_000);
    large(&before);
    let expected = model(&before, NOW);
    save(&before, &path, NOW, 2);
    let copy = folder.path().join("copy");
    fs::copy(&path, &copy).expect("copied");
    let after = store(24 << 20);
    let recalled = load(&after, &path, 2);
    let found = model(&after, recalled.second);
    assert!(recalled.no_room > 0 && found.len() < expected.len(), "{recalled:?}");
    // Where memory is so short that items go at once, uses are spent: only what is told is compared.
    found.iter().for_each(|(key, (value, _))| assert!(*value == expected[key].0));
    let kept = |rank: u8| {
        let all = expected.values().filter(|item| item.1.rank() == rank).count();
        let kept = found.keys().filter(|key| expected[*key].1.rank() == rank).count();
        kept as f64 / all.max(1) as f64
    };
    assert!(kept(4) > 0.95 && kept(0) < 0.2, "{} {}", kept(4), kept(0));
    assert!(after.counts().used_octets <= 24 << 20);

    // Without eviction what was used most is not refused at the end.
    let after = Store::new(Rules { limit_octets: 24 << 20, evicts: false, ..Rules::default() });
    let recalled = load(&after, &copy, 2);
    assert!(recalled.no_room > 0, "{recalled:?}");
    let found = model(&after, recalled.second);
    let fits = |item: &&(Vec<u8>, Standing)| item.0.len() < 1 << 20 && item.1.rank() == 4;
    let best = expected.values().filter(fits).count();
    assert!(found.values().filter(fits).count() * 100 >= best * 95);
}

#[test]
fn what_ended_meanwhile_stays_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("image");
    let set_back = |unix_s: Option<u64>, path: &Path| {
        // The same image, made at another time of another boot.
        let mut octets = fs::read(path).expect("there");
        let preamble = Preamble::read(&octets).expect("ours");
        let unix_s = unix_s.unwrap_or(preamble.moment.unix_s - 5000);
        let other = Preamble { moment: Moment { unix_s, ..Moment::default() }, ..preamble };
        octets[..PREAMBLE_OCTETS].copy_from_slice(&other.octets());
        fs::write(path, octets).expect("written");
    };
    let before = store(64 << 20);
    fill(&before, 300);
    save(&before, &path, NOW, 2);
    set_back(None, &path);
    let after = store(64 << 20);
    let recalled = load(&after, &path, 2);
    assert_eq!((recalled.items, recalled.expired, recalled.undated), (200, 100, false));
    assert!(model(&after, recalled.second).values().all(|(_, standing)| standing.expiry != NOW + 1000));

    save(&before, &path, NOW, 1);
    set_back(Some(u64::MAX / 2), &path);
    let recalled = load(&store(64 << 20), &path, 1);
    assert_eq!((recalled.items, recalled.expired, recalled.undated), (100, 200, true), "the clock went backwards");

    // A flush that was to come comes: later, or meanwhile.
    before.flush(NOW + 3000, NOW);
    save(&before, &path, NOW, 2);
    let copy = folder.path().join("copy");
    fs::copy(&path, &copy).expect("copied");
    let after = store(64 << 20);
    let recalled = load(&after, &path, 2);
    assert_eq!((recalled.items, after.flush_second()), (300, Some(NOW + 3000)));
    assert!(model(&after, NOW + 3000).is_empty());
    set_back(None, &copy);
    assert_eq!(load(&store(64 << 20), &copy, 2).items, 0);
}

#[test]
fn what_is_flushed_or_gone_is_not_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("image");
    let before = store(64 << 20);
    fill(&before, 300);
    before.flush(0, NOW);
    put(&mut before.writer(), b"after", b"x", Put::default());
    put(&mut before.writer(), b"gone", b"x", Put { expiry: NOW, ..Put::default() });
    assert_eq!(save(&before, &path, NOW, 2), 1);
    let empty = store(64 << 20);
    assert_eq!(save(&empty, &path, NOW, 2), 0);
    assert_eq!(load(&empty, &path, 2).items, 0);
}

#[test]
fn whatever_is_damaged_is_told_and_the_rest_is_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("image");
    let before = store(64 << 20);
    fill(&before, 2000);
    large(&before);
    let expected = model(&before, NOW);
    save(&before, &path, NOW, 2);
    let good = fs::read(&path).expect("there");
    let mut places: Vec<usize> = (8..64).step_by(7).collect();
    places.extend((64..good.len()).step_by(good.len() / 30));
    places.extend((good.len() - 100..good.len()).step_by(7));
    for at in places {
        let mut octets = good.clone();
        octets[at] ^= 0x80;
        fs::write(&path, &octets).expect("written");
        let after = store(64 << 20);
        match ImageFile::claim(&path).expect("free").load(&after, 2, &mut |_, _| ()) {
            Err(ImageFailed::Foreign { .. }) => assert!((8..12).contains(&at), "a later version, not octet {at}"),
            Err(other) => panic!("octet {at}: {other}"),
            Ok(recalled) => {
                let recalled = recalled.expect("there");
                assert!(recalled.wrong.is_some(), "octet {at} is not missed");
                let found = model(&after, recalled.second);
                same(&found, &expected);
                assert!(at < 64 || found.len() * 4 > expected.len(), "octet {at}: {}", found.len());
            }
        }
    }
}

#[test]
fn whatever_is_cut_off_is_told_and_the_rest_is_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("image");
    let before = store(64 << 20);
    fill(&before, 2000);
    large(&before);
    let expected = model(&before, NOW);
    save(&before, &path, NOW, 1);
    let good = fs::read(&path).expect("there");
    let mut most = 0;
    for end in (8..good.len()).step_by(good.len() / 20).chain([good.len() - 33, good.len() - 1]) {
        fs::write(&path, &good[..end]).expect("written");
        let after = store(64 << 20);
        let file = ImageFile::claim(&path).expect("free");
        let recalled = file.load(&after, 2, &mut |_, _| ()).expect("ours").expect("there");
        assert!(recalled.wrong.is_some(), "a cut at {end} is not missed");
        let found = model(&after, recalled.second.max(1));
        same(&found, &expected);
        assert!(found.len() >= most, "more of the file, more of the items");
        most = found.len();
    }
    assert_eq!(most, expected.len(), "without the end alone all is there");
    fs::write(&path, b"something else, of somebody else").expect("written");
    let file = ImageFile::claim(&path).expect("free");
    assert!(matches!(file.load(&before, 1, &mut |_, _| ()), Err(ImageFailed::Foreign { .. })));
}

/// A check without a store finds every flip and every cut, and tells the first octet of what is damaged.
#[test]
fn a_check_finds_damage_without_a_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("image");
    let before = store(128 << 20);
    fill(&before, 3000);
    large(&before);
    save(&before, &path, NOW, 2);
    let whole = fs::read(&path).expect("there");
    let found = check(&path).expect("there");
    assert!(found.damaged == 0 && found.entries > 5, "{found:?}");
    for part in 0..40 {
        let at = whole.len() * part / 40;
        let mut damaged = whole.clone();
        damaged[at] ^= 8;
        fs::write(&path, &damaged).expect("written");
        let found = check(&path).expect("there");
        assert!(found.damaged > 0 && found.places[0].0 <= at as u64, "{at}: {found:?}");
        fs::write(&path, &whole[..at]).expect("written");
        assert!(check(&path).expect("there").damaged > 0, "{at}");
    }
}
