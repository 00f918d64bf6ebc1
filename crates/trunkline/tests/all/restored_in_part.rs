//! A packet log that a backup was put back to in part, or that files of another folder came into: each file is whole
//! in itself, and the folder is not what it was.
//!
//! Users of other stores meet this after a restore or a copy: blocks whose times overlap (prometheus 4302, 4442), a
//! part that is there twice under two names (clickhouse 33527), a file of the right length with other contents
//! (clickhouse 31061), an index without its packets and packets without their index (stenographer 70), the index of a
//! capture that is gone beside another one (brimcap 131), parts of another table that are attached as if they were its
//! own (clickhouse 8979), files whose content and name do not belong together (etcd 7834). Each is a case here.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Two folders that recorded the same packets, as two sensors at one wire do.
struct Folders {
    folder: TempDir,
}

impl Folders {
    fn new() -> Folders {
        let folders = Folders { folder: tempfile::tempdir().unwrap() };
        folders.run(&["sim", "--calls", "25", "--seed", "11", "-w", "world.pcap"], 0);
        for data in ["own", "other"] {
            folders.run(&["read", "world.pcap", "--record", "--data", data], 0);
        }
        folders
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, args: &[&str], code: i32) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null()).env_clear();
        let Output { status, stdout, stderr } = command.env("TZ", "UTC").env("LANG", "C.UTF-8").output().unwrap();
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        assert_eq!(status.code(), Some(code), "{args:?}\n{}\n{}", text(&stdout), text(&stderr));
        text(&stdout)
    }

    /// Segments of a folder, by their paths.
    fn segments(&self, data: &str) -> Vec<PathBuf> {
        let out = self.run(&["verify", "--data", data, "--json"], 0);
        let items = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let segments = items.filter(|item| item["kind"] == "segment");
        let mut found: Vec<_> = segments.map(|item| self.path(item["path"].as_str().unwrap())).collect();
        found.sort();
        assert!(found.len() > 3, "{found:?}");
        found
    }

    /// What is wrong with a file, as all say it: `verify` with and without its contents, and the check of the packet
    /// log alone; a repair leaves it so and says why, each time.
    fn told(&self, path: &Path, told: &str) {
        for more in [&[][..], &["--deep"]] {
            let out = self.run(&[&["verify", "--data", "own", "--json"], more].concat(), 3);
            let items = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let damaged: Vec<_> = items.filter(|item| item["outcome"] == "damaged").collect();
            assert_eq!(damaged.len(), 1, "{out}");
            assert_eq!(self.path(damaged[0]["path"].as_str().unwrap()), path);
            assert!(damaged[0]["faults"].to_string().contains(told), "{more:?}: {}", damaged[0]);
        }
        let out = self.run(&["packets", "verify", "--data", "own"], 3);
        assert!(out.contains(told) && out.contains("1 damaged"), "{out}");
        let before = fs::read(path).unwrap();
        for _ in 0..2 {
            let out = self.run(&["packets", "repair", "--data", "own"], 3);
            assert!(out.contains(told) && out.contains("left as it is"), "{out}");
        }
        assert_eq!(fs::read(path).unwrap(), before);
    }
}

fn index(segment: &Path) -> PathBuf {
    segment.with_extension("idx")
}

/// The file of a name in the other folder.
fn there(folders: &Folders, own: &Path) -> PathBuf {
    folders.path("other").join(own.strip_prefix(folders.path("own")).unwrap())
}

fn put(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(from, to).unwrap();
    fs::copy(index(from), index(to)).unwrap();
}

#[test]
fn a_segment_of_another_place_or_folder_is_told_and_left() {
    let folders = Folders::new();
    let segments = folders.segments("own");
    let (one, two) = (&segments[0], &segments[1]);
    let whole = [one, &index(one), two, &index(two)].map(|path| (path.to_owned(), fs::read(path).unwrap()));
    let as_it_was = || whole.iter().for_each(|(path, octets)| fs::write(path, octets).unwrap());
    let another = "it is another segment, by its header: packets/";
    // The segment of another moment or class with its index (clickhouse 8979, etcd 7834).
    put(two, one);
    folders.told(one, another);
    as_it_was();
    // The same once more under another name (clickhouse 33527), and in another hour (prometheus 4302).
    let name = one.file_name().unwrap().to_string_lossy().into_owned();
    let again = one.with_file_name(name.replace("-0.", "-0.7."));
    let hour = one.parent().unwrap().with_file_name("23").join(&name);
    for copy in [again, hour] {
        assert!(!copy.exists());
        put(one, &copy);
        folders.told(&copy, another);
        fs::remove_file(&copy).unwrap();
        fs::remove_file(index(&copy)).unwrap();
    }
    // That of the other folder with its index: the same name, the same length, the same packets (clickhouse 31061).
    put(&there(&folders, one), one);
    assert_eq!(fs::metadata(one).unwrap().len() as usize, whole[0].1.len());
    folders.told(one, "it is of another log, by its header: of ");
    // Without its index, which a repair would make anew.
    fs::remove_file(index(one)).unwrap();
    folders.told(one, "it is of another log, by its header: of ");
    assert!(!index(one).exists());
    as_it_was();
    // All of them (a folder that was exchanged under its note of volumes).
    segments.iter().for_each(|own| put(&there(&folders, own), own));
    let out = folders.run(&["packets", "repair", "--data", "own"], 3);
    assert_eq!(out.matches("it is of another log, by its header").count(), segments.len(), "{out}");
    let out = folders.run(&["verify", "--data", "own"], 3);
    assert!(out.contains(&format!("{} damaged", segments.len())), "{out}");
}

#[test]
fn an_index_of_another_segment_is_told_and_made_anew_without_losing_what_was_written() {
    let folders = Folders::new();
    let segments = folders.segments("own");
    let one = &segments[0];
    let two = segments.iter().find(|other| {
        let len = |path: &Path| fs::metadata(path).unwrap().len();
        len(other) != len(one)
    });
    let (two, own) = (two.unwrap(), fs::read(index(one)).unwrap());
    // The index of another one (brimcap 131): readers make it anew, and so does a repair, but what it says was written
    // is not what is there.
    fs::copy(index(two), index(one)).unwrap();
    folders.run(&["verify", "--data", "own"], 3);
    let out = folders.run(&["packets", "repair", "--data", "own"], 3);
    assert!(out.contains("made anew; it has ") && out.contains("one of the two was cut or exchanged"), "{out}");
    let out = folders.run(&["verify", "--data", "own", "--deep"], 3);
    assert!(out.contains("not as written") && out.contains(" 1 damaged"), "{out}");
    folders.run(&["packets", "repair", "--data", "own"], 3);
    // With its own again all is whole.
    fs::write(index(one), &own).unwrap();
    folders.run(&["packets", "repair", "--data", "own"], 0);
    folders.run(&["verify", "--data", "own", "--deep"], 0);
    // Without any (stenographer 70): nobody knows what was written, which is told.
    fs::remove_file(index(one)).unwrap();
    folders.run(&["packets", "repair", "--data", "own"], 0);
    let out = folders.run(&["verify", "--data", "own", "--deep"], 0);
    assert!(out.contains("what happened to them before its repair"), "{out}");
    // The other way round: its packets are gone.
    fs::write(index(one), &own).unwrap();
    fs::remove_file(one).unwrap();
    let out = folders.run(&["verify", "--data", "own"], 3);
    assert!(out.contains("there is its index alone: the segment is gone"), "{out}");
}

/// Who only looks for packets makes a damaged index anew: what it knew of the contents stays.
#[test]
fn a_search_keeps_the_checksums_of_a_damaged_index() {
    let folders = Folders::new();
    let one = folders.segments("own").remove(0);
    let mut octets = fs::read(index(&one)).unwrap();
    octets[40] ^= 1;
    fs::write(index(&one), &octets).unwrap();
    folders.run(&["extract", "--data", "own", "-w", "found.pcapng", "udp"], 0);
    let out = folders.run(&["verify", "--data", "own", "--deep"], 0);
    assert!(!out.contains("written before there were checksums"), "{out}");
    let mut packets = fs::read(&one).unwrap();
    let at = packets.len() / 2;
    packets[at] ^= 1;
    fs::write(&one, &packets).unwrap();
    let out = folders.run(&["verify", "--data", "own", "--deep"], 3);
    assert!(out.contains("contents: 1 block not as written"), "{out}");
}

/// A folder that was recorded to before logs had a name is read as ever, and says what could not be checked.
#[test]
fn a_folder_from_before_says_what_could_not_be_checked() {
    let folders = Folders::new();
    let note = folders.path("own/packets/volumes");
    fs::write(&note, "trunkline volumes 1\nvolume .\n").unwrap();
    let out = folders.run(&["verify", "--data", "own", "--deep"], 0);
    assert!(out.contains("whether it is of this log: the note of volumes does not say which it is"), "{out}");
    // Who records there next takes the log's own name from its segments.
    folders.run(&["read", "world.pcap", "--record", "--data", "own"], 0);
    let noted = |data: &str| {
        let text = fs::read_to_string(folders.path(data).join("packets/volumes")).unwrap();
        text.lines().find_map(|line| line.strip_prefix("log ").map(str::to_owned)).unwrap()
    };
    assert_ne!(noted("own"), noted("other"));
    let out = folders.run(&["verify", "--data", "own", "--deep"], 0);
    assert!(!out.contains("whether it is of this log"), "{out}");
}
