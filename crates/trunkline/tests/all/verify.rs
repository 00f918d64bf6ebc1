//! `trunkline verify`: a data folder that the program made itself, damaged in every kind of file, and told.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;
use trunkline_record::job::index_file;
use trunkline_store::backend::sqlite::sums::seal_days;

/// A data folder with a packet log and a store day that has checksums.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Desk {
        let desk = Desk { folder: tempfile::tempdir().unwrap() };
        desk.run(&["sim", "--calls", "25", "--seed", "11", "-w", "world.pcap"], 0);
        desk.run(&["read", "world.pcap", "--record", "--data", "data"], 0);
        seal_days(&desk.path("data/store"), i64::MAX).unwrap();
        desk
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

    /// What a check says, an object a file.
    fn verify(&self, words: &[&str], code: i32) -> Vec<Value> {
        let out = self.run(&[&["verify", "--data", "data", "--json"], words].concat(), code);
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Files of a kind.
    fn of(&self, kind: &str) -> Vec<PathBuf> {
        let all = self.verify(&[], 0);
        let found =
            all.iter().filter(|item| item["kind"] == kind).map(|item| self.path(item["path"].as_str().unwrap()));
        found.collect()
    }
}

/// Flips a bit of an octet of the file, runs, and flips it back.
fn with_flip(path: &Path, at: usize, run: impl FnOnce()) {
    let whole = fs::read(path).unwrap();
    let mut damaged = whole.clone();
    damaged[at] ^= 0x10;
    fs::write(path, &damaged).unwrap();
    run();
    fs::write(path, &whole).unwrap();
}

#[test]
fn a_whole_folder_is_told_file_by_file() {
    let desk = Desk::new();
    let out = desk.run(&["verify", "--data", "data", "--deep"], 0);
    let last = out.lines().last().unwrap();
    assert!(last.contains(" 0 damaged, 0 unreadable, 0 could not be checked"), "{out}");
    let segments = out.lines().filter(|line| line.starts_with("whole: segment ")).count();
    assert!(segments > 3, "{out}");
    assert!(out.contains("checked frames, index, name, contents by their checksums"), "{out}");
    assert!(out.contains("whole: day ") && out.contains("rows by their checksums"), "{out}");
    assert!(out.contains("whole: note of volumes "), "{out}");
    // Without --deep no line says that contents are whole.
    let out = desk.run(&["verify", "--data", "data"], 0);
    assert!(!out.contains("by their checksums") && out.contains("not read without --deep"), "{out}");
    let json = desk.verify(&["--deep"], 0);
    assert_eq!(json.len() + 1, out.lines().count());
    desk.run(&["verify", "--data", "nowhere"], 1);
}

/// Three flips in payloads of three segments: no parser sees one of them, no index, and not SQLite the one in a row.
#[test]
fn flips_in_payloads_are_found_by_deep_checks_alone() {
    let desk = Desk::new();
    for segment in desk.of("segment").iter().take(3) {
        let octets = fs::metadata(segment).unwrap().len() as usize;
        for at in [260, octets / 2, octets - 150] {
            with_flip(segment, at, || {
                let damaged: Vec<Value> =
                    desk.verify(&["--deep"], 3).into_iter().filter(|item| item["outcome"] == "damaged").collect();
                assert_eq!(damaged.len(), 1);
                assert_eq!(desk.path(damaged[0]["path"].as_str().unwrap()), *segment);
                let faults = damaged[0]["faults"].to_string();
                assert!(faults.contains("contents: 1 block not as written: octets "), "{faults}");
                let out = desk.run(&["packets", "verify", "--data", "data"], 3);
                assert!(out.contains("1 damaged"), "{out}");
            });
        }
    }
    let day = desk.of("day").remove(0);
    let octets = fs::read(&day).unwrap();
    let at = octets.windows(4).rposition(|part| part == b"sip:").unwrap();
    with_flip(&day, at + 5, || {
        let found = desk.verify(&["--deep"], 3);
        let day = found.iter().find(|item| item["kind"] == "day").unwrap();
        assert!(day["outcome"] == "damaged" && day["faults"].to_string().contains("not as written"), "{day}");
    });
    desk.verify(&["--deep"], 0);
}

/// Cuts, zeros and removal of each kind of file are told; nothing panics, and one file does not end the check.
#[test]
fn cuts_zeros_and_removal_are_told() {
    let desk = Desk::new();
    let files = desk.verify(&["--deep"], 0).len();
    for kind in ["segment", "day", "note of volumes"] {
        let path = desk.of(kind).remove(0);
        let whole = fs::read(&path).unwrap();
        for damaged in [&whole[..whole.len() - 1], &whole[..whole.len() / 2], &[], &vec![0; whole.len()]] {
            fs::write(&path, damaged).unwrap();
            let found = desk.verify(&["--deep"], 3);
            assert_eq!(found.len(), files, "{kind}");
            let told = found.iter().find(|item| desk.path(item["path"].as_str().unwrap()) == path).unwrap();
            assert_eq!(told["outcome"], "damaged", "{kind}, {} octets: {told}", damaged.len());
        }
        fs::write(&path, &whole).unwrap();
    }
    let index = desk.of("segment").remove(0).with_extension("idx");
    fs::remove_file(index).unwrap();
    let found = desk.verify(&[], 3);
    assert!(found[0]["faults"].to_string().contains("its index"), "{}", found[0]);
    desk.run(&["packets", "repair", "--data", "data"], 0);
    let found = desk.verify(&["--deep"], 0);
    assert!(found[0]["not_checked"].to_string().contains("before its repair"), "{}", found[0]);
}

/// A segment from a version without checksums is told as such, and is no fault.
#[test]
fn what_was_written_before_is_not_called_whole() {
    let desk = Desk::new();
    let segment = desk.of("segment").remove(0);
    let file = index_file::FileAt::open(&segment).unwrap();
    let owner = file.owner().unwrap();
    let (octets, _, _) = index_file::make(file, false).unwrap();
    index_file::write(&segment.with_extension("idx"), &octets, owner).unwrap();
    let found = desk.verify(&["--deep"], 0);
    assert!(found[0]["not_checked"].to_string().contains("written before there were checksums"), "{}", found[0]);
    assert_eq!(found[0]["checked"], "frames, index, name");
    let out = desk.run(&["packets", "verify", "--data", "data"], 0);
    assert!(out.contains("all whole; the contents of 1 file could not be checked"), "{out}");
}

#[test]
fn a_damaged_note_of_volumes_does_not_stop_a_repair() {
    let desk = Desk::new();
    let note = desk.path("data/packets/volumes");
    let index = desk.of("segment").remove(0).with_extension("idx");
    for damaged in [&b"nonsense"[..], &[], &[0; 64]] {
        fs::write(&note, damaged).unwrap();
        fs::remove_file(&index).unwrap();
        let out = desk.run(&["packets", "repair", "--data", "data"], 3);
        assert!(out.contains("no note of volumes") && out.contains("its index was missing: made anew"), "{out}");
        assert!(index.exists() && fs::read(note.with_extension("damaged")).unwrap() == damaged);
        desk.run(&["packets", "repair", "--data", "data"], 0);
        desk.verify(&["--deep"], 0);
    }
}

/// A pipe would hold who opens it, and a folder says nothing: the file that should be there is gone.
#[test]
fn what_is_no_file_in_place_of_an_own_one_is_damage() {
    let desk = Desk::new();
    let day = desk.of("day").remove(0);
    fs::create_dir_all(desk.path("data/spool")).unwrap();
    let pipe = |path: &Path| {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    };
    for path in [desk.path("data/spool/retention.clock"), desk.path("data/packets/volumes"), day] {
        let whole = fs::read(&path).ok();
        for put in [&pipe as &dyn Fn(&Path), &|path| fs::create_dir(path).unwrap()] {
            if path.exists() {
                fs::remove_file(&path).unwrap();
            }
            put(&path);
            let found = desk.verify(&[], 3);
            let told: Vec<&Value> = found.iter().filter(|item| item["outcome"] == "damaged").collect();
            assert_eq!(told.len(), 1, "{told:?}");
            assert_eq!(desk.path(told[0]["path"].as_str().unwrap()), path);
            assert!(told[0]["faults"].to_string().contains("it is not a file"), "{told:?}");
        }
        fs::remove_dir(&path).unwrap();
        whole.iter().for_each(|octets| fs::write(&path, octets).unwrap());
    }
    // What is none of the program's is only named.
    pipe(&desk.path("data/pipe"));
    let found = desk.verify(&[], 0);
    assert!(found.iter().any(|item| item["outcome"] == "could not be checked"), "{found:?}");
}
