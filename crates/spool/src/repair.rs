//! After a crash: segments that were not committed are cut after their last whole record and committed, or removed.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread::park_timeout;
use std::time::{Duration, Instant};

use crate::disk::{commit_file, sync_folder_of};
use crate::error::SpoolError;
use crate::folder::Listing;
use crate::lock;
use crate::name::{self, GONE, Kinds, MOVE, PACKED, PART};
use crate::writer::Extra;

/// How often a locked segment is tried again.
const RETRY: Duration = Duration::from_millis(20);

/// A segment that was never committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartFile {
    /// Its path, with `.part`.
    pub path: PathBuf,
    /// What it will be called.
    pub committed: PathBuf,
    /// Octets of the file as it is: whole records, then perhaps a cut one, then perhaps zeros or holes.
    pub octets: u64,
}

/// The whole records at the beginning of a segment that was never committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Whole {
    /// How many: those that were appended as records, not what was appended beside them.
    pub records: u64,
    /// Their octets.
    pub octets: u64,
}

/// What is to become of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mend {
    /// Its first `octets` are whole records: cut behind them and commit, with these files beside it.
    Keep {
        /// Octets to keep.
        octets: u64,
        /// The files beside it, made anew.
        extra: Vec<Extra>,
    },
    /// Nothing in it is whole: remove it.
    Discard,
    /// Leave it as it is.
    Leave,
}

/// What [`repair`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Committed segments with their octets.
    pub kept: Vec<(PathBuf, u64)>,
    /// Octets behind the last whole record of these that held anything but zeros and holes at the end of the file.
    pub cut_octets: u64,
    /// Parts without one whole record, removed.
    pub discarded: Vec<PathBuf>,
    /// Parts that are being written by a living process.
    pub in_use: Vec<PathBuf>,
    /// Parts left as they are, with the reason.
    pub left: Vec<(PathBuf, String)>,
    /// Files beside a segment (`.idx`) whose segment is gone, and half-written ones, removed.
    pub orphans: Vec<PathBuf>,
}

/// Commits or removes every segment below `folder` that was not committed and that no living process writes (each is
/// locked while it is written); `mend` looks into each and decides. Finishes deletions that were begun, and removes
/// files beside a segment whose segment is gone. May run while a spool writes there, and from another process.
///
/// The kernel may finish the writes of a process, and so keep its locks, for some time after it was killed: what is
/// locked is tried again for as long as `patience`. A second or two before the first segment is begun, none later.
///
/// # Errors
/// The folder cannot be listed. What goes wrong with one file is told in [`Repaired::left`].
pub fn repair(
    folder: &Path,
    kinds: Kinds,
    patience: Duration,
    mend: &mut dyn FnMut(&PartFile) -> io::Result<Mend>,
) -> Result<Repaired, SpoolError> {
    Ok(repair_listed(&mut Listing::of(folder)?, kinds, patience, mend))
}

/// The same in a folder that was listed just now; the listing then says what is there afterwards.
pub fn repair_listed(
    listing: &mut Listing,
    kinds: Kinds,
    patience: Duration,
    mend: &mut dyn FnMut(&PartFile) -> io::Result<Mend>,
) -> Repaired {
    let deadline = Instant::now() + patience;
    let (mut parts, mut beside, mut packed) = (Vec::new(), Vec::new(), Vec::new());
    let mut repaired = Repaired::default();
    for path in listing.files().map(Path::to_path_buf) {
        let inner = name::without(&path, PART);
        if kinds.is_packed(&path) {
            packed.push(path);
        } else if inner.as_ref().is_some_and(|p| kinds.is_segment(p) && !kinds.is_packed(p)) {
            parts.push(path);
        } else if kinds.is_beside(inner.as_ref().unwrap_or(&path)) {
            beside.push(path);
        } else if let Some(segment) = name::without(&path, GONE) {
            repaired.orphans.extend(remove_with_beside(&path, &segment, kinds));
        } else if is_left_behind(&path, kinds) && std::fs::remove_file(&path).is_ok() {
            repaired.orphans.push(path);
        }
    }
    while !parts.is_empty() {
        for path in std::mem::take(&mut parts) {
            if let Err(error) = repair_part(&path, mend, &mut repaired) {
                repaired.left.push((path, error.to_string()));
            }
        }
        if Instant::now() < deadline && !repaired.in_use.is_empty() {
            park_timeout(RETRY);
            parts = std::mem::take(&mut repaired.in_use);
        }
    }
    for path in packed {
        // A rewriting that was cut off between its commit and the removal of what it replaces.
        let plain = name::without(&path, PACKED).unwrap_or_default();
        let is_alone = plain.exists() && lock::lock_alone(&plain).is_ok_and(|lock| lock.is_some());
        if is_alone && std::fs::remove_file(&plain).is_ok() {
            repaired.orphans.push(plain);
        }
    }
    for path in beside {
        let whole = name::without(&path, PART).unwrap_or_else(|| path.clone());
        if !has_segment(&whole.with_extension(kinds.segment)) && std::fs::remove_file(&path).is_ok() {
            repaired.orphans.push(path);
        }
    }
    let kept = || repaired.kept.iter().map(|(path, _)| path);
    let gone = repaired.orphans.iter().chain(&repaired.discarded).cloned().chain(kept().map(|path| name::part(path)));
    listing.change(&gone.collect(), kept().cloned());
    repaired
}

fn repair_part(
    path: &Path,
    mend: &mut dyn FnMut(&PartFile) -> io::Result<Mend>,
    repaired: &mut Repaired,
) -> io::Result<()> {
    let Some(file) = lock::lock_alone(path)? else {
        repaired.in_use.push(path.to_path_buf());
        return Ok(());
    };
    let committed = name::without(path, PART).unwrap_or_default();
    let part = PartFile { path: path.to_path_buf(), committed, octets: file.metadata()?.len() };
    match if part.octets == 0 { Mend::Discard } else { mend(&part)? } {
        Mend::Leave => repaired.left.push((part.path, "left as it is".to_owned())),
        Mend::Discard | Mend::Keep { octets: 0, .. } => {
            std::fs::remove_file(path)?;
            repaired.cut_octets += behind(&file, 0, part.octets)?;
            repaired.discarded.push(part.path);
        }
        Mend::Keep { octets, extra } => {
            repaired.cut_octets += behind(&file, octets, part.octets)?;
            commit(&file, &part, octets, &extra)?;
            repaired.kept.push((part.committed, octets));
        }
    }
    Ok(())
}

fn commit(file: &File, part: &PartFile, octets: u64, extra: &[Extra]) -> io::Result<()> {
    if octets > part.octets {
        return Err(io::Error::other(format!("{octets} octets to keep of {}", part.octets)));
    }
    if part.committed.exists() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    file.set_len(octets)?;
    file.sync_data()?;
    for extra in extra {
        commit_file(&part.committed.with_extension(&extra.extension), &extra.octets)?;
    }
    std::fs::rename(&part.path, &part.committed)?;
    sync_folder_of(&part.committed)
}

/// Octets from `from` up to the last one that is not zero.
fn behind(file: &File, from: u64, end: u64) -> io::Result<u64> {
    let mut buffer = vec![0; 64 << 10];
    let mut end = end;
    while end > from {
        let count = (end - from).min(buffer.len() as u64) as usize;
        let octets = buffer.get_mut(..count).unwrap_or_default();
        file.read_exact_at(octets, end - count as u64)?;
        if let Some(last) = octets.iter().rposition(|o| *o != 0) {
            return Ok(end - count as u64 + last as u64 + 1 - from);
        }
        end -= count as u64;
    }
    Ok(0)
}

/// Whether a segment is there, in whatever state. Asked twice for the committed name: it may get it in between.
fn has_segment(segment: &Path) -> bool {
    let packed = name::with(segment, PACKED);
    let states = [
        segment.to_path_buf(),
        name::part(segment),
        name::with(segment, MOVE),
        name::with(&packed, MOVE),
        segment.to_path_buf(),
        packed,
    ];
    states.iter().any(|path| path.exists())
}

/// Whether this is a copy or a rewritten form that nobody makes any more.
fn is_left_behind(path: &Path, kinds: Kinds) -> bool {
    let is_rewriting = name::without(path, PART).is_some_and(|path| kinds.is_packed(&path));
    (is_rewriting || name::without(path, MOVE).is_some()) && lock::lock_alone(path).is_ok_and(|lock| lock.is_some())
}

/// Removes a segment under the name that it has by now, and what stands beside it. Gives what was removed.
pub(crate) fn remove_with_beside(path: &Path, segment: &Path, kinds: Kinds) -> Vec<PathBuf> {
    let beside = kinds.all_beside(segment).filter(|p| std::fs::remove_file(p).is_ok());
    let mut removed: Vec<PathBuf> = beside.collect();
    if std::fs::remove_file(path).is_ok() {
        removed.push(path.to_path_buf());
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: Kinds = Kinds { segment: "seg", beside: &["idx"] };

    /// Keeps what comes before the first '#'.
    fn mend(part: &PartFile) -> io::Result<Mend> {
        let octets = std::fs::read(&part.path)?;
        let extra = vec![Extra { extension: "idx".to_owned(), octets: b"new".to_vec() }];
        Ok(match octets.iter().position(|o| *o == b'#') {
            Some(at) => Mend::Keep { octets: at as u64, extra },
            None => Mend::Leave,
        })
    }

    #[test]
    fn commits_cuts_and_removes() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join("a/b").join(name);
        std::fs::create_dir_all(at("")).unwrap();
        for (name, octets) in [
            ("1.seg.part", &b"whole#cut\0\0\0"[..]),
            ("1.idx", b"old"),
            ("2.seg.part", b"#"),
            ("3.seg.part", b"strange"),
            ("4.idx", b"lonely"),
            ("5.idx.part", b"half"),
            ("6.seg", b"committed"),
            ("6.idx", b"its own"),
            ("7.seg.gone", b"half deleted"),
            ("7.idx", b"its own"),
            ("8.seg.part", b""),
            ("9.seg.move", b"half moved"),
            ("note.txt", b"not ours"),
            ("A.seg", b"rewritten, and not removed yet"),
            ("A.seg.zst", b"packed"),
            ("A.idx", b"its own"),
            ("B.seg", b"being rewritten when it was killed"),
            ("B.seg.zst.part", b"half"),
            ("C.seg.zst.gone", b"half deleted"),
            ("C.idx", b"its own"),
            ("D.seg.zst", b"packed"),
            ("D.idx", b"its own"),
        ] {
            std::fs::write(at(name), octets).unwrap();
        }
        let mut listing = Listing::of(folder.path()).unwrap();
        let repaired = repair_listed(&mut listing, KINDS, Duration::ZERO, &mut mend);
        assert_eq!(repaired.kept, [(at("1.seg"), 5)]);
        assert_eq!(repaired.cut_octets, 4 + 1);
        assert_eq!(repaired.discarded, [at("2.seg.part"), at("8.seg.part")]);
        assert_eq!(repaired.left.len(), 1);
        let orphans = [
            "7.idx",
            "7.seg.gone",
            "9.seg.move",
            "B.seg.zst.part",
            "C.idx",
            "C.seg.zst.gone",
            "A.seg",
            "4.idx",
            "5.idx.part",
        ];
        assert_eq!(repaired.orphans, orphans.map(at));
        let mut left = Vec::new();
        crate::folder::walk(folder.path(), &mut |p| left.push(p.file_name().unwrap().to_owned())).unwrap();
        let there = ["1.idx", "1.seg", "3.seg.part", "6.idx", "6.seg"];
        let packed = ["A.idx", "A.seg.zst", "B.seg", "D.idx", "D.seg.zst", "note.txt"];
        assert_eq!(left, [&there[..], &packed].concat());
        let mut listed: Vec<_> = listing.files().map(|p| p.file_name().unwrap().to_owned()).collect();
        listed.sort();
        assert_eq!(listed, left);
        assert_eq!(std::fs::read(at("1.idx")).unwrap(), b"new");
        assert_eq!(std::fs::read(at("1.seg")).unwrap(), b"whole");
    }

    #[test]
    fn leaves_what_is_being_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.seg.part");
        std::fs::write(&path, b"whole#").unwrap();
        std::fs::write(folder.path().join("1.idx"), b"being committed").unwrap();
        let writer = lock::lock_alone(&path).unwrap();
        let repaired = repair(folder.path(), KINDS, Duration::ZERO, &mut mend).unwrap();
        assert_eq!(repaired, Repaired { in_use: vec![path.clone()], ..Repaired::default() });
        drop(writer);
        assert_eq!(repair(folder.path(), KINDS, Duration::ZERO, &mut mend).unwrap().kept.len(), 1);
    }
}
