//! Which folders a packet log lies in: noted in its data folder, so that every process finds them.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use trunkline_kit::place;

use super::FOLDER;
use super::folder::{SegmentFile, Wish, list_on};
use crate::class::Class;
use crate::identity::{Identity, LogId};
use crate::index::Span;

/// The note below a data folder.
pub const FILE: &str = "packets/volumes";
/// Folders that a note names at most; of more, those longest out of use are left out.
// Limit: volumes remembered by a data folder
// Beyond: the volumes out of use longest are left out
// Seen in: not counted
pub const VOLUMES_MAX: usize = 256;
/// Segments that are asked which log they are of, where the note does not say.
const SAID_MAX: usize = 15;
/// Octets of a note at most: of folders with the longest names there are.
const OCTETS_MAX: u64 = 2 * VOLUMES_MAX as u64 * 4096;
/// First line of the note; of an earlier version, which had no checksum at its end.
const HEAD: &[u8] = b"trunkline volumes 2";
const HEAD_BEFORE: &[u8] = b"trunkline volumes 1\n";
/// The data folder itself, which may be found elsewhere tomorrow.
const HERE: &[u8] = b".";

/// The folders of a packet log. Below each lies `packets/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volumes {
    /// Those that are written, the data folder first.
    pub folders: Vec<PathBuf>,
    /// The one that segments are moved to.
    pub slow: Option<PathBuf>,
    /// Those that are not used any more but may hold segments.
    pub former: Vec<PathBuf>,
    /// Which log it is; none where an earlier version noted the volumes, or nobody did.
    pub log: Option<LogId>,
}

/// What the note says. What is no file in its place is a note that is damaged.
fn octets(data: &Path) -> io::Result<Vec<u8>> {
    place::read(&data.join(FILE), OCTETS_MAX).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::FileTooLarge => no_note(data, &error.to_string()),
        _ => error,
    })
}

fn no_note(data: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", data.join(FILE).display()))
}

impl Volumes {
    /// The folders of the log in a data folder, as whoever records there noted them; the data folder alone where nobody
    /// did.
    ///
    /// # Errors
    /// There is a note and it cannot be read, or it is none.
    pub fn of(data: &Path) -> io::Result<Volumes> {
        let octets = match octets(data) {
            Ok(octets) => octets,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Ok(Volumes { folders: vec![data.to_path_buf()], ..Volumes::default() });
            }
            Err(e) => return Err(e),
        };
        Volumes::parse(data, &octets).ok_or_else(|| no_note(data, "this is no note of volumes"))
    }

    /// As [`Volumes::of`]; of a note that is damaged, the data folder and whatever folders it still names that hold a
    /// log, and what is wrong with it.
    ///
    /// # Errors
    /// The note cannot be read.
    pub fn salvaged(data: &Path) -> io::Result<(Volumes, Option<String>)> {
        match Volumes::of(data) {
            Err(e) if e.kind() == io::ErrorKind::InvalidData => {}
            found => return found.map(|volumes| (volumes, None)),
        }
        // Of what is no file nothing can be read.
        let octets = octets(data).unwrap_or_default();
        let mut folders = vec![data.to_path_buf()];
        for line in octets.split(|o| *o == b'\n') {
            let path = line.splitn(2, |o| *o == b' ').nth(1).map(|path| PathBuf::from(OsStr::from_bytes(path)));
            let named = path.filter(|path| path.is_absolute() && path.join(FOLDER).is_dir());
            folders.extend(named.filter(|path| folders.len() < VOLUMES_MAX && !folders.contains(path)));
        }
        let why = "this is no note of volumes, or it is damaged: other volumes than these may hold segments";
        Ok((Volumes { folders, ..Volumes::default() }, Some(why.to_owned())))
    }

    /// Puts a note that is damaged aside as `volumes.damaged`, and notes these folders in its place.
    ///
    /// # Errors
    /// What the system says.
    pub fn mend(&self, data: &Path) -> io::Result<PathBuf> {
        let (note, kept) = (data.join(FILE), data.join(FILE).with_extension("damaged"));
        std::fs::rename(&note, &kept)?;
        Volumes { log: self.log.or_else(|| self.said()), ..self.clone() }.note(data)?;
        Ok(kept)
    }

    /// Which log the newest segments say that this is, most of them: where its note is gone, or was damaged and so is
    /// not believed.
    pub fn said(&self) -> Option<LogId> {
        let mut segments = list_on(self, 0, &Wish { span: Span::ALL, classes: Class::ALL.to_vec() }).ok()?;
        segments.sort_by_key(|segment| core::cmp::Reverse(segment.begins_ns));
        let of = |segment: &SegmentFile| Some(Identity::of(&segment.open().ok()?).ok()??.log);
        let mut said: Vec<LogId> = segments.iter().take(SAID_MAX).filter_map(of).collect();
        said.sort_unstable();
        said.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).and_then(|same| same.first().copied())
    }

    /// All folders that may hold segments, the data folder first.
    pub fn all(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().chain(&self.slow).chain(&self.former).map(PathBuf::as_path)
    }

    /// Notes these folders in the data folder, whole or not at all. Earlier ones that still hold a log stay noted as
    /// former ones.
    ///
    /// # Errors
    /// What the system says, or a path has a line break in it.
    pub fn note(&self, data: &Path) -> io::Result<()> {
        self.note_beside(data, &Volumes::of(data).unwrap_or_default())
    }

    /// The same, where the note that is there may be damaged: that one is put aside, and folders that it still names
    /// stay noted. What was wrong with it and where it is kept, if so.
    ///
    /// # Errors
    /// As [`Volumes::note`].
    pub fn note_over(&self, data: &Path) -> io::Result<Option<(String, PathBuf)>> {
        let (earlier, damage) = Volumes::salvaged(data)?;
        let note = data.join(FILE);
        let aside = damage.map(|why| (why, note.with_extension("damaged")));
        if let Some((_, kept)) = &aside {
            std::fs::rename(&note, kept)?;
        }
        self.note_beside(data, &earlier)?;
        Ok(aside)
    }

    fn note_beside(&self, data: &Path, earlier: &Volumes) -> io::Result<()> {
        let absolute = |path: &PathBuf| std::path::absolute(path);
        let folders: Vec<PathBuf> = self.folders.iter().map(absolute).collect::<io::Result<_>>()?;
        let slow = self.slow.as_ref().map(absolute).transpose()?;
        let data_itself = std::path::absolute(data)?;
        let is_used = |p: &Path| p == data_itself || folders.iter().chain(&slow).any(|f| f == p);
        let mut former: Vec<PathBuf> = Vec::new();
        for path in self.former.iter().map(PathBuf::as_path).chain(earlier.all()) {
            let path = std::path::absolute(path)?;
            if !is_used(&path) && !former.contains(&path) && path.join(FOLDER).is_dir() {
                former.push(path);
            }
        }
        former.truncate(VOLUMES_MAX.saturating_sub(folders.len() + 1));
        // The same for ever: what is asked for counts only where nobody noted it.
        let log = earlier.log.or(self.log);
        let volumes = Volumes { folders, slow, former, log };
        let path = data.join(FILE);
        std::fs::create_dir_all(data.join(FOLDER))?;
        place::replace(&path, &volumes.text(&data_itself)?, place::PRIVATE)
    }

    fn text(&self, data: &Path) -> io::Result<Vec<u8>> {
        let mut text = [HEAD, b"\n"].concat();
        let mut line = |word: &str, path: &Path| {
            let octets = path.as_os_str().as_bytes();
            if octets.contains(&b'\n') {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "a path with a line break"));
            }
            let octets = if path == data { HERE } else { octets };
            text.extend([word.as_bytes(), b" ", octets, b"\n"].concat());
            Ok(())
        };
        self.folders.iter().try_for_each(|f| line("volume", f))?;
        self.slow.iter().try_for_each(|f| line("slow", f))?;
        self.former.iter().try_for_each(|f| line("former", f))?;
        if let Some(log) = self.log {
            text.extend(format!("log {log}\n").as_bytes());
        }
        let check = format!("check {:08x}\n", crc32fast::hash(&text));
        text.extend(check.as_bytes());
        Ok(text)
    }

    fn parse(data: &Path, octets: &[u8]) -> Option<Volumes> {
        // A note of an earlier version has no checksum.
        let octets = match octets.starts_with(HEAD_BEFORE) {
            true => octets,
            false => {
                let end = octets.windows(7).rposition(|at| at == b"\ncheck ")? + 1;
                let (text, check) = octets.split_at_checked(end)?;
                let wanted = format!("check {:08x}\n", crc32fast::hash(text));
                Some(text).filter(|_| check == wanted.as_bytes())?
            }
        };
        let mut lines = octets.split(|o| *o == b'\n');
        let mut volumes = Volumes::default();
        lines.next().filter(|head| *head == HEAD || octets.starts_with(HEAD_BEFORE))?;
        for line in lines.filter(|line| !line.is_empty()).take(VOLUMES_MAX + 2) {
            let at = line.iter().position(|o| *o == b' ')?;
            let (word, path) = (line.get(..at)?, line.get(at + 1..)?);
            if word == b"log" {
                volumes.log = Some(LogId::parse(std::str::from_utf8(path).ok()?)?);
                continue;
            }
            let path = if path == HERE { data.to_path_buf() } else { PathBuf::from(OsStr::from_bytes(path)) };
            match word {
                b"volume" => volumes.folders.push(path),
                b"slow" => volumes.slow = Some(path),
                b"former" => volumes.former.push(path),
                _ => return None,
            }
        }
        (!volumes.folders.is_empty()).then_some(volumes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode};

    #[test]
    fn what_is_noted_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let data = at("data");
        let alone = Volumes { folders: vec![data.clone()], ..Volumes::default() };
        assert_eq!(Volumes::of(&data).unwrap(), alone);
        let first =
            Volumes { folders: vec![data.clone(), at("b"), at("c")], slow: Some(at("slow")), ..Volumes::default() };
        first.note(&data).unwrap();
        assert_eq!(Volumes::of(&data).unwrap(), first);
        std::fs::create_dir_all(at("b/packets")).unwrap();
        alone.note(&data).unwrap();
        let now = Volumes::of(&data).unwrap();
        assert_eq!(now, Volumes { former: vec![at("b")], ..alone.clone() });
        assert_eq!(now.all().collect::<Vec<_>>(), [data.as_path(), at("b").as_path()]);
        // The data folder is found where it was moved to.
        std::fs::rename(&data, at("moved")).unwrap();
        assert_eq!(Volumes::of(&at("moved")).unwrap().folders, [at("moved")]);
    }

    /// Every flip, cut and zero is seen, and what still names a folder with a log is found and noted anew.
    #[test]
    fn what_a_damaged_note_still_names_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (data, other) = (folder.path().join("data"), folder.path().join("other"));
        std::fs::create_dir_all(other.join(FOLDER)).unwrap();
        let volumes = Volumes { folders: vec![data.clone(), other.clone()], ..Volumes::default() };
        volumes.note(&data).unwrap();
        let note = data.join(FILE);
        let whole = std::fs::read(&note).unwrap();
        assert_eq!(Volumes::salvaged(&data).unwrap(), (volumes.clone(), None));
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 2;
            std::fs::write(&note, &damaged).unwrap();
            let (found, why) = Volumes::salvaged(&data).unwrap();
            assert!(why.is_some() && found.folders[0] == data, "{at}");
        }
        // The name of the first line is what a flip has hit: both folders are known.
        let head = [b"X", &whole[1..]].concat();
        std::fs::write(&note, &head).unwrap();
        let (found, _) = Volumes::salvaged(&data).unwrap();
        assert_eq!(found, volumes);
        let kept = found.mend(&data).unwrap();
        assert_eq!((std::fs::read(kept).unwrap(), Volumes::of(&data).unwrap()), (head.clone(), volumes.clone()));
        // A run on the data folder alone: the other folder stays known.
        std::fs::write(&note, &head).unwrap();
        let alone = Volumes { folders: vec![data.clone()], ..Volumes::default() };
        let (_, kept) = alone.note_over(&data).unwrap().unwrap();
        assert_eq!(std::fs::read(kept).unwrap(), head);
        assert_eq!(Volumes::of(&data).unwrap(), Volumes { former: vec![other.clone()], ..alone.clone() });
        assert_eq!(alone.note_over(&data).unwrap(), None);
        for text in [&b""[..], &[0; 40], &whole[..whole.len() - 1], &whole[..30]] {
            std::fs::write(&note, text).unwrap();
            assert!(Volumes::salvaged(&data).unwrap().1.is_some(), "{text:?}");
        }
        // What would hold who reads it, or never ends.
        let pipe = |at: &Path| rustix::fs::mknodat(CWD, at, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let zeros = |at: &Path| std::os::unix::fs::symlink("/dev/zero", at).unwrap();
        for put in [&pipe as &dyn Fn(&Path), &zeros] {
            std::fs::remove_file(&note).unwrap();
            put(&note);
            let told = Volumes::of(&data).unwrap_err();
            assert_eq!(told.to_string(), format!("{}: it is not a file", note.display()));
            assert!(Volumes::salvaged(&data).unwrap().1.is_some());
            assert!(alone.note_over(&data).unwrap().is_some());
            assert_eq!(Volumes::of(&data).unwrap().folders, alone.folders);
        }
    }

    #[test]
    fn a_note_from_before_is_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(FOLDER)).unwrap();
        std::fs::write(folder.path().join(FILE), "trunkline volumes 1\nvolume .\nslow /mnt/slow\n").unwrap();
        let found = Volumes::of(folder.path()).unwrap();
        assert_eq!((found.folders, found.slow), (vec![folder.path().to_path_buf()], Some("/mnt/slow".into())));
    }

    #[test]
    fn a_damaged_note_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(FOLDER)).unwrap();
        for text in
            ["", "other\n", "trunkline volumes 1\n", "trunkline volumes 1\nvolume\n", "trunkline volumes 1\nx y\n"]
        {
            std::fs::write(folder.path().join(FILE), text).unwrap();
            assert!(Volumes::of(folder.path()).is_err(), "{text:?}");
        }
    }
}
