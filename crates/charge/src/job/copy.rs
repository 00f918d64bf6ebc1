//! What a node keeps is copied while it serves: for a node that is to stand by, or to have it elsewhere.

use super::received;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use trunkline_commit::{Copied, Fault, Folder, Snapshot};

/// What is of a node's folder and no record file.
const LEDGER: &str = "ledger";
/// What came by GTP', and its files.
const GATEWAY: &str = "gateway";
const RECEIVED: &str = "received";
/// What a node only asked for: its copy did not.
const ASKED: &str = "terms.asked.json";
/// How far a log is durable: a copy has its own.
const MARK: &str = "durable";
/// How far a folder's files have come.
const CURSOR: &str = "cursor";
/// What a start of records goes on from: copied before the files that it tells of, which may be ahead of it.
const FIRST: [&str; 2] = ["checkpoint", CURSOR];
/// What is being written, and will be again; what is one process's.
const NOT: [&str; 3] = ["checkpoint.part", "cursor.part", "lock"];
/// Tries, where files came and went meanwhile, and where a log was cut.
const TRIES: usize = 20;
const LOG_TRIES: usize = 4;
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
    let within = |of: &Path| of.canonicalize().map_err(at(of));
    if within(&part)?.starts_with(within(from)?) {
        let _ = fs::remove_dir_all(&part);
        return Err(format!("{} is in what is to be copied", to.display()));
    }
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
        let [from, to, files_from, files_to] =
            [(from, &*folder), (to, &*folder), (from, RECEIVED), (to, RECEIVED)].map(|(of, name)| of.join(name));
        if folder == GATEWAY && files_to.exists() {
            files += gateway([&from, &to], [&files_from, &files_to], &mut count)?;
        } else {
            files += log(&from, &to, &mut count)?.segments;
        }
    }
    let ledger = log(&from.join(LEDGER), &to.join(LEDGER), told)?;
    synced(to)?;
    Ok(Copy { ledger, files, octets })
}

fn is_segment(name: &str) -> bool {
    name.ends_with(".log")
}

/// Whether a file of a log's folder is the log's, or nobody's.
fn is_of_log(name: &str) -> bool {
    // What a repair kept of a damaged log is looked at where it is.
    let endings = [".log", ".snapshot", ".opening", ".part", ".found"];
    name == ASKED || name == MARK || name.contains(".damaged") || endings.iter().any(|ending| name.ends_with(ending))
}

/// Copies the log of received records, whose files were copied: a snapshot of it stands for nothing that they lack.
fn gateway(log_of: [&Path; 2], files_of: [&Path; 2], told: &mut impl FnMut(u64)) -> Result<u64, String> {
    let mut files = 0;
    for _ in 0..TRIES {
        let copied = log(log_of[0], log_of[1], told)?;
        let in_files = Folder::beside(files_of[1]).map_err(at(files_of[1]))?;
        let in_files = received::entry_of(&in_files).map_err(|why| format!("{}: {why}", files_of[1].display()))?;
        let disk = Folder::beside(log_of[1]).map_err(at(log_of[1]))?;
        let newest = Snapshot::all(&disk).map_err(|fault| fault.to_string())?.first().map_or(0, |newest| newest.last);
        if newest <= in_files && in_files < copied.next {
            return Ok(files + copied.segments);
        }
        fs::remove_dir_all(log_of[1]).map_err(at(log_of[1]))?;
        files += last(files_of[0], files_of[1], told)?;
    }
    Err(faster(files_of[0]))
}

fn log(from: &Path, to: &Path, told: &mut impl FnMut(u64)) -> Result<Copied, String> {
    let source = Folder::beside(from).map_err(at(from))?;
    for left in (0..LOG_TRIES).rev() {
        fs::create_dir(to).map_err(at(to))?;
        // Who led from when, first: what the ledger has besides is compared with the stream, and what is newer in it
        // than these terms cannot be taken for theirs.
        some(from, to, |name| !is_of_log(name), told)?;
        let copied = Folder::open(to).map_err(|error| Fault::Option(at(to)(error)));
        match copied.and_then(|disk| trunkline_commit::copy(&source, &disk, &mut *told)) {
            Ok(copied) => {
                fs::remove_file(to.join("lock")).map_err(at(to))?;
                return synced(to).map(|()| copied);
            }
            // It was cut, or segments were given up meanwhile; or it is damaged.
            Err(Fault::Damaged { .. } | Fault::Gone(_)) if left > 0 => {}
            Err(Fault::Io { error, .. }) if left > 0 && error.kind() == ErrorKind::NotFound => {}
            Err(fault) => return Err(format!("{}: {fault}", from.display())),
        }
        fs::remove_dir_all(to).map_err(at(to))?;
    }
    unreachable!("the last try returns")
}

/// Copies a folder of files, and the folders in it; how many files.
fn tree(from: &Path, to: &Path, told: &mut impl FnMut(u64)) -> Result<u64, String> {
    fs::create_dir(to).map_err(at(to))?;
    for folder in folders(from)? {
        tree(&from.join(&folder), &to.join(&folder), told)?;
    }
    // What is whole stays as it is, and is the most of it.
    let files = some(from, to, |name| !goes_on(name), told)?;
    Ok(files + last(from, to, told)?)
}

/// Copies the rest of a folder of files, which is short, between two steps of whoever writes it; how many files more
/// there are now.
fn last(from: &Path, to: &Path, told: &mut impl FnMut(u64)) -> Result<u64, String> {
    let before = names(to, |about| about.is_file())?.len() as u64;
    for _ in 0..TRIES {
        for name in names(to, |about| about.is_file())?.iter().filter(|name| goes_on(name)) {
            fs::remove_file(to.join(name)).map_err(at(to))?;
        }
        some(from, to, goes_on, told)?;
        some(from, to, |name| !goes_on(name), told)?;
        if read(&from.join(CURSOR))? == read(&to.join(CURSOR))? {
            let after = names(to, |about| about.is_file())?.len() as u64;
            return synced(to).map(|()| after.saturating_sub(before));
        }
    }
    Err(faster(from))
}

fn faster(folder: &Path) -> String {
    format!("{}: the records go on faster than they can be copied; try again later", folder.display())
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
        for (name, octets) in [("job.json", "{}"), ("terms.asked.json", "{}")] {
            fs::write(at.join("gateway").join(name), octets).unwrap();
        }
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
        let mut log = names(&to.join("gateway"), |_| true).unwrap();
        log.sort();
        assert_eq!(log, ["00000000000000000001.log", MARK, "job.json"], "another log, as such, with what is beside it");
        let within = copy(&from, &from.join("copy/charge"), |_| ()).unwrap_err();
        assert!(within.ends_with("is in what is to be copied"), "{within}");
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
