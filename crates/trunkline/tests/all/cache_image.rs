//! `trunkline cache -e`: what a cache ended with it begins with, and nothing older, whatever happens in between.

use crate::caches;
use caches::{Cache, Client, Ended, pass, text};
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::time::Duration;

const ITEMS: usize = 3000;

/// A value that says whose it is and of which version, from its beginning to its end.
fn value(key: usize, version: usize) -> Vec<u8> {
    let word = format!("<{key}:{version}>");
    let octets = [50, 3000, 20_000][key % 3];
    word.bytes().cycle().take(octets / word.len() * word.len()).collect()
}

fn store(client: &mut Client, keys: impl Iterator<Item = usize> + Clone, version: usize) {
    for key in keys.clone() {
        let value = value(key, version);
        let head = format!("set k{key} {key} 0 {}\r\n", value.len());
        client.say(&[head.as_bytes(), &value, b"\r\n"].concat());
        assert_eq!(client.line(), "STORED");
    }
}

/// How many of all keys are there: those that are have the version that was stored last, whole.
fn check(client: &mut Client, version: impl Fn(usize) -> usize) -> usize {
    let found = |key: &usize| {
        let Some((flags, found)) = client.get(&format!("k{key}")) else { return false };
        assert!(found == value(*key, version(*key)) && flags == *key as u32, "k{key}: not what was stored last");
        true
    };
    (0..ITEMS).filter(found).count()
}

#[test]
fn a_restart_keeps_everything() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let options = ["-m", "128", "-e", text(&path)];
    let mut cache = Cache::start(&options);
    assert!(cache.said("image: no items of an earlier run: cold start"), "{:?}", cache.told);
    let mut client = cache.client();
    store(&mut client, 0..ITEMS, 1);
    client.set("ends", 7, 100, b"soon");
    client.set("over", 0, 2, b"at once");
    client.set("large", 5, 0, &vec![b'x'; 900_000]);
    assert_eq!(client.ask("ms base 2\r\n10"), "HD");
    assert_eq!(client.ask("incr base 5"), "15");
    let cas = client.ask("mg ends c").replace("HD c", "").parse::<u64>().unwrap();
    assert_eq!(client.ask("ms stale 1\r\nx"), "HD");
    assert_eq!(client.ask("md stale I T30"), "HD");
    assert_eq!(client.ask("mg base v h").len() + client.line().len(), 9);
    assert_eq!(cache.end(), Ended::Code(0));
    assert!(path.exists() && cache.said("image: wrote 3005 items"), "{:?}", cache.told);

    // Where memory for the table and the threads is as before, all is there.
    pass(Duration::from_millis(1100));
    let mut cache = Cache::start(&options);
    assert!(cache.said("image: read 3004 items") && cache.said("left out 1 expired"), "{:?}", cache.told);
    assert!(!path.exists(), "it is taken away before it serves");
    let mut client = cache.client();
    assert_eq!(check(&mut client, |_| 1), ITEMS);
    assert_eq!((client.get("over"), client.get("large").unwrap().1.len()), (None, 900_000));
    let left = client.ask("mg ends t f c");
    let words: Vec<_> = left.split(' ').collect();
    let seconds = words[1][1..].parse::<u32>().unwrap();
    assert!((50..100).contains(&seconds), "{left}");
    assert_eq!((words[2], words[3]), ("f7", format!("c{cas}").as_str()));
    let stale = client.ask("mg stale f");
    assert!(stale.contains(" X") && stale.contains(" W"), "it is stale, and nobody had won it: {stale}");
    assert_eq!(client.ask("mg base h"), "HD h1");
    // An old number never meets another value.
    client.set("ends", 0, 0, b"other");
    let now = client.ask("mg ends c").replace("HD c", "").parse::<u64>().unwrap();
    assert!(now > cas);
    assert!(client.stat("uptime").unwrap().parse::<u32>().unwrap() < 60);
    // memcached's own signal ends it as well, and so does a client's word.
    cache.signal(Signal::USR1);
    assert_eq!((cache.ended(), path.exists()), (Ended::Code(0), true));
    let mut cache = Cache::start(&["-m", "128", "-A", "-e", text(&path)]);
    cache.client().say(b"shutdown\r\n");
    assert_eq!((cache.ended(), path.exists()), (Ended::Code(0), true));
}

#[test]
fn after_a_crash_nothing_old_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let options = ["-m", "128", "-e", text(&path)];
    let mut cache = Cache::start(&options);
    store(&mut cache.client(), 0..ITEMS, 1);
    cache.end();
    let mut cache = Cache::start(&options);
    store(&mut cache.client(), 0..ITEMS / 2, 2);
    assert_eq!(cache.kill(), Ended::Killed);
    let cache = Cache::start(&options);
    assert!(cache.said("cold start"));
    assert_eq!(check(&mut cache.client(), |_| 0), 0);
}

/// Ten moments of writing and ten of reading.
#[test]
fn killed_at_any_moment_it_has_everything_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let options = ["-m", "128", "-e", text(&path)];
    let mut found = [0; 2];
    for round in 0..20u64 {
        // What the round before left is of a version that is known.
        let _ = fs::remove_file(&path);
        let version = round as usize + 1;
        let mut cache = Cache::start(&options);
        store(&mut cache.client(), 0..ITEMS, version);
        cache.signal(Signal::TERM);
        if round < 10 {
            pass(Duration::from_millis(round * 25));
            cache.kill();
        } else {
            assert_eq!(cache.ended(), Ended::Code(0));
            let mut reading = Cache::spawn(&options);
            pass(Duration::from_millis((round - 10) * 8));
            reading.kill();
        }
        let cache = Cache::start(&options);
        let items = check(&mut cache.client(), |_| version);
        assert!(items == ITEMS || items == 0, "round {round}: {items} of them");
        assert!(!path.exists(), "it is taken away before it serves");
        found[usize::from(items > 0)] += 1;
    }
    assert!(found.iter().all(|&times| times > 0), "nothing and everything: {found:?} times");
}

#[test]
fn less_memory_and_smaller_items() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let mut cache = Cache::start(&["-m", "128", "-I", "4m", "-e", text(&path)]);
    let mut client = cache.client();
    store(&mut client, 0..ITEMS, 1);
    client.set("large", 0, 0, &vec![b'x'; 3_000_000]);
    for key in (0..ITEMS).step_by(10) {
        assert!(client.get(&format!("k{key}")).is_some());
    }
    cache.end();
    let mut cache = Cache::start(&["-m", "8", "-I", "1m", "-e", text(&path)]);
    assert!(cache.said("without room (-m)"), "{:?}", cache.told);
    let mut client = cache.client();
    assert!(client.get("large").is_none());
    let mut found = 0;
    for key in (0..ITEMS).step_by(10) {
        found += usize::from(client.get(&format!("k{key}")).is_some());
    }
    assert!(found > ITEMS / 10 * 8 / 10, "of what was used {found}");
    assert!(check(&mut client, |_| 1) < ITEMS);
    assert_eq!(cache.end(), Ended::Code(0), "what there was no room for is told, and no fault");
}

#[test]
fn what_is_no_image_is_told_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let refused = |says: &str| {
        let mut cache = Cache::spawn(&["-e", text(&path)]);
        assert_eq!(cache.ended(), Ended::Code(1), "{:?}", cache.told);
        assert!(cache.said(says), "no '{says}' in {:?}", cache.told);
    };
    fs::write(&path, "daemon:x:1:1::/:/bin/false\n").unwrap();
    refused("not an image of a cache; it stays as it is");
    assert_eq!(fs::read(&path).unwrap(), b"daemon:x:1:1::/:/bin/false\n");
    fs::write(&path, b"\x89TLCACHE\x09\0\0\0").unwrap();
    refused("made by a later version (format 9; this one reads up to 1)");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    refused("not an image of a cache");
    fs::remove_dir(&path).unwrap();
    let mut first = Cache::start(&["-e", text(&path)]);
    refused("another process uses it");
    assert_eq!(first.end(), Ended::Code(0));
    let mut cache = Cache::spawn(&["-e", "/nowhere/at/all"]);
    assert_eq!(cache.ended(), Ended::Code(1));
}

fn damaged(path: &Path, damage: impl Fn(&mut Vec<u8>), says: &str, most: usize) {
    let options = ["-m", "128", "-e", text(path)];
    let mut cache = Cache::start(&options);
    store(&mut cache.client(), 0..ITEMS, 1);
    assert_eq!(cache.end(), Ended::Code(0));
    let mut octets = fs::read(path).unwrap();
    damage(&mut octets);
    fs::write(path, octets).unwrap();
    let mut cache = Cache::start(&options);
    assert!(cache.said(says), "no '{says}' in {:?}", cache.told);
    assert!(check(&mut cache.client(), |_| 1) <= most);
    fs::remove_file(path).unwrap_or(());
    assert_eq!(cache.end(), Ended::Code(3), "something was lost: {:?}", cache.told);
    fs::remove_file(path).unwrap();
}

#[test]
fn a_damaged_image_is_told_and_what_is_whole_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    damaged(&path, |octets| octets[5000] ^= 1, "octet 64: not the octets that were written", ITEMS - 1);
    damaged(&path, |octets| octets.truncate(octets.len() - 1), "what is whole was taken, 0 blocks were not", ITEMS);
    damaged(&path, |octets| octets.truncate(octets.len() / 2), "what is whole was taken", ITEMS - 1);
    damaged(&path, |octets| octets.truncate(40), "octet 0: ends in the midst", 0);
}

#[test]
fn without_room_on_the_disk_nothing_half_made_stays() {
    // A limit on the size of files stands for a disk that is full.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let limits = rustix::process::Rlimit { current: Some(1 << 20), maximum: Some(1 << 20) };
    let options = ["-m", "128", "-e", text(&path)];
    let mut cache = Cache::start(&options);
    store(&mut cache.client(), 0..ITEMS, 1);
    cache.limit(rustix::process::Resource::Fsize, limits);
    assert_eq!(cache.end(), Ended::Code(3), "{:?}", cache.told);
    assert!(cache.said("the next start is a cold one"), "{:?}", cache.told);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing stays");
    assert!(Cache::start(&options).said("cold start"));
}
