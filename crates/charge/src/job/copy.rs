//! What a node keeps is copied while it serves: for a node that is to stand by, or to have it elsewhere.

use super::TERMS;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use trunkline_commit::{Copied, Folder};

/// What is of a node's folder and no record file.
const LEDGER: &str = "ledger";
/// How far a folder's files have come.
const CURSOR: &str = "cursor";
/// What a start of records goes on from: copied before the files that it tells of, which may be ahead of it.
const FIRST: [&str; 2] = ["checkpoint", CURSOR];
/// What is being written, and will be again; what is one process's.
const NOT: [&str; 3] = ["checkpoint.part", "cursor.part", "lock"];
/// Tries, where the ledger was cut or files came and went meanwhile.
const TRIES: usize = 20;
const PIECE: usize = 1 << 20;

/// A copy that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    /// Its ledger.
    pub ledger: Copied,
    /// Files beside the ledger, records above all.
    pub files: u64,
    /// Their octets.
    pub octets: u64,
}

/// Octets of all that there is to copy, about: how long it will take.
///
/// # Errors
/// The system's.
pub fn size(from: &Path) -> io::Result<u64> {
    let mut octets = 0;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        octets += match entry.metadata() {
            Ok(about) if about.is_dir() => size(&entry.path())?,
            Ok(about) if about.is_file() => about.len(),
            _ => 0,
        };
    }
    Ok(octets)
}

/// Copies the charging folder of a data folder, whether or not a node serves it: as a crash would have left it, at some
/// time after the call. `to` is there once all of it is on stable storage; until then it has `.part` behind its name.
/// `told` gets octets as they are written.
///
/// # Errors
/// `to` or what is left of another copy is there; there is no ledger, or it is damaged; the system's. Each by its
/// place.
pub fn copy(from: &Path, to: &Path, mut told: impl FnMut(u64)) -> Result<Copy, String> {
    let part = unfinished(to);
    for taken in [to, &part] {
        if taken.symlink_metadata().is_ok() {
            return Err(format!("{} is there: nothing is written over", taken.display()));
        }
    }
    fs::create_dir_all(&part).map_err(at(&part))?;
    let copied = all(from, &part, &mut told).and_then(|copy| {
        fs::rename(&part, to).map_err(at(to))?;
        synced(to.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new(".")))?;
        Ok(copy)
    });
    if copied.is_err() {
        // Nobody takes it for a copy, and the next one begins anew.
        let _ = fs::remove_dir_all(&part);
    }
    copied
}

/// Files first, then the logs that they are made of: one that is ahead of its files makes the rest again.
fn all(from: &Path, to: &Path, told: &mut impl FnMut(u64)) -> Result<Copy, String> {
    let (mut files, mut octets) = (0, 0);
    let mut count = |written: u64| {
        octets += written;
        told(written);
    };
    let (mut logs, mut others) = (Vec::new(), Vec::new());
    for folder in folders(from)?.into_iter().filter(|name| name != LEDGER) {
        let has_segments = names(&from.join(&folder), |about| about.is_file())?.iter().any(|name| is_segment(name));
        if has_segments { &mut logs } else { &mut others }.push(folder);
    }
    for folder in others {
        files += tree(&from.join(&folder), &to.join(&folder), &mut count)?;
    }
    for folder in logs {
        files += log(&from.join(&folder), &to.join(&folder), &mut count)?.segments;
    }
    let ledger = log(&from.join(LEDGER), &to.join(LEDGER), told)?;
    synced(to)?;
    Ok(Copy { ledger, files, octets })
}

fn is_segment(name: &str) -> bool {
    name.ends_with(".log")
}

fn log(from: &Path, to: &Path, told: &mut impl FnMut(u64)) -> Result<Copied, String> {
    let source = Folder::beside(from).map_err(at(from))?;
    for left in (0..TRIES).rev() {
        fs::create_dir(to).map_err(at(to))?;
        // Who led from when, first: what the ledger has besides is compared with the stream, and what is newer in it
        // than these terms cannot be taken for theirs.
        let terms = from.join(TERMS);
        if terms.exists() {
            one(&terms, &to.join(TERMS), told)?;
        }
        let copied = Folder::open(to).map_err(at(to)).and_then(|disk| {
            let copied = trunkline_commit::copy(&source, &disk, &mut *told);
            copied.map_err(|fault| format!("{}: {fault}", from.display()))
        });
        match copied {
            Ok(copied) => {
                fs::remove_file(to.join("lock")).map_err(at(to))?;
                return synced(to).map(|()| copied);
            }
            Err(why) if left == 0 => return Err(why),
            Err(_) => fs::remove_dir_all(to).map_err(at(to))?,
        }
    }
    unreachable!("the last try returns")
}

/// Copies a folder of files, and the folders in it; how many files.
fn tree(from: &Path, to: &Path, told: &mut impl FnMut(u64)) -> Result<u64, String> {
    fs::create_dir(to).map_err(at(to))?;
    for folder in folders(from)? {
        tree(&from.join(&folder), &to.join(&folder), told)?;
    }
    // What is whole stays as it is, and is the most of it. The rest is short, and is taken between two steps of whoever
    // writes it.
    let mut files = some(from, to, |name| !goes_on(name), told)?;
    for _ in 0..TRIES {
        for name in names(to, |about| about.is_file())?.iter().filter(|name| goes_on(name)) {
            fs::remove_file(to.join(name)).map_err(at(to))?;
            files -= 1;
        }
        files += some(from, to, goes_on, told)? + some(from, to, |name| !goes_on(name), told)?;
        if read(&from.join(CURSOR))? == read(&to.join(CURSOR))? {
            return synced(to).map(|()| files);
        }
    }
    Err(format!("{}: the records go on faster than they can be copied; try again later", from.display()))
}

/// Whether a file is written to: what a start of records goes on from, and files that are open.
fn goes_on(name: &str) -> bool {
    FIRST.contains(&name) || name.ends_with(".part")
}

/// Copies files of a folder that are not there yet; how many.
fn some(from: &Path, to: &Path, wanted: fn(&str) -> bool, told: &mut impl FnMut(u64)) -> Result<u64, String> {
    let mut names = names(from, |about| about.is_file())?;
    names.retain(|name| wanted(name) && !NOT.contains(&name.as_str()) && !to.join(name).exists());
    names.sort_by_key(|name| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()));
    let mut files = 0;
    for name in names {
        files += u64::from(one(&from.join(&name), &to.join(&name), told)?);
    }
    Ok(files)
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(at(path)),
    }
}

/// Copies a file; not if it is gone.
fn one(from: &Path, to: &Path, told: &mut impl FnMut(u64)) -> Result<bool, String> {
    let mut source = match File::open(from) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        opened => opened.map_err(at(from))?,
    };
    let mut file = File::create_new(to).map_err(at(to))?;
    let about = source.metadata().map_err(at(from))?;
    file.set_permissions(about.permissions()).map_err(at(to))?;
    let mut piece = vec![0; PIECE];
    loop {
        let read = source.read(&mut piece).map_err(at(from))?;
        if read == 0 {
            break;
        }
        file.write_all(&piece[..read]).map_err(at(to))?;
        told(read as u64);
    }
    file.sync_all().map_err(at(to))?;
    Ok(true)
}

fn folders(of: &Path) -> Result<Vec<String>, String> {
    names(of, fs::Metadata::is_dir)
}

fn names(of: &Path, wanted: impl Fn(&fs::Metadata) -> bool) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(of).map_err(at(of))? {
        let entry = entry.map_err(at(of))?;
        // What is gone by now is not there.
        if entry.metadata().is_ok_and(|about| wanted(&about)) {
            names.extend(entry.file_name().into_string());
        }
    }
    Ok(names)
}

fn unfinished(to: &Path) -> PathBuf {
    let mut name = to.file_name().unwrap_or(OsStr::new("charge")).to_owned();
    name.push(".part");
    to.with_file_name(name)
}

fn synced(folder: &Path) -> Result<(), String> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(at(folder))
}

fn at(path: &Path) -> impl Fn(io::Error) -> String {
    let path = path.display().to_string();
    move |error| format!("{path}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use trunkline_commit::{Group, Log, Options};

    fn node(at: &Path) {
        let options = Options { segment_octets: 64 << 10, waiting_octets: 1 << 20 };
        let disk = Arc::new(Folder::open(&at.join(LEDGER)).unwrap());
        let mut log = Log::open(disk, options, |_| Ok(()), |_, _| Ok(())).unwrap();
        let mut group = Group::new(&options);
        group.put(b"an entry").unwrap();
        log.commit(&mut group).unwrap();
        fs::create_dir_all(at.join("cdr")).unwrap();
        fs::create_dir(at.join("gateway")).unwrap();
        for name in ["00000000000000000001.log", "next.log.part"] {
            fs::copy(at.join(LEDGER).join("00000000000000000001.log"), at.join("gateway").join(name)).unwrap();
        }
        for (name, octets) in [("cursor", "7"), ("cursor.part", "8"), ("open-3.ber.part", "three"), ("2.ber", "2")] {
            fs::write(at.join("cdr").join(name), octets).unwrap();
        }
    }

    #[test]
    fn records_and_ledger_are_copied_and_nothing_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["one/charge", "other/charge"].map(|name| folder.path().join(name));
        node(&from);
        let mut octets = 0;
        let copied = copy(&from, &to, |written| octets += written).unwrap();
        assert_eq!((copied.ledger.first, copied.ledger.next, copied.files), (1, 2, 4));
        assert_eq!(octets, copied.ledger.octets + copied.octets);
        assert_eq!(names(&to.join("cdr"), |_| true).unwrap().len(), 3, "what was being written is not there");
        assert_eq!(fs::read(to.join("cdr/open-3.ber.part")).unwrap(), b"three");
        assert!(!to.join(LEDGER).join("lock").exists());
        assert_eq!(names(&to.join("gateway"), |_| true).unwrap(), ["00000000000000000001.log"], "another log, as such");
        let again = copy(&from, &to, |_| ()).unwrap_err();
        assert!(again.ends_with("other/charge is there: nothing is written over"), "{again}");
    }

    #[test]
    fn where_there_is_no_ledger_nothing_is_left_of_a_copy() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["one", "other"].map(|name| folder.path().join(name));
        fs::create_dir_all(from.join("cdr")).unwrap();
        let why = copy(&from, &to, |_| ()).unwrap_err();
        assert!(why.contains("one/ledger: No such file"), "{why}");
        fs::create_dir_all(from.join(LEDGER)).unwrap();
        let why = copy(&from, &to, |_| ()).unwrap_err();
        assert!(why.ends_with("there is no record to copy"), "{why}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no part of it");
    }
}
