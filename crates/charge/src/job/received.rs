//! Files of records that came over GTP' (TS 32.297): each packet of an entry once, whatever happens in between.
//!
//! They are a [`Series`] as that of the node's own records. Its note says up to which entry they go, and where a file
//! ended in the middle of an entry, how many packets of that are in files. Records of another release have a file of
//! their own.

mod shared;

pub(super) use shared::Received;
pub use shared::ReceivedSetup;

use crate::account::{Octets, fields};
use crate::cdr::Node;
use crate::job::records::{Cursor, End, Form, Open, Series, Settings};
use serde::Deserialize;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use trunkline_commit::{Disk, Folder, LogId, Witness};
use trunkline_wire::cdr::file::{Closure, Edition, RecordHeader, specification};
use trunkline_wire::gtpp::records::{DataRecordPacket, FormatVersion};

/// A file is closed with so many octets, records, or seconds after it was opened.
const FILE_OCTETS: u64 = 64 << 20;
const FILE_RECORDS: u32 = 100_000;
const FILE_SECONDS: u32 = 60;
/// What others may do with the files: the group reads them.
const MODE: u32 = 0o640;
/// Behind a note whose entries are those of a ledger of several nodes.
const SHARED: &[u8] = b"ledger";
const OTHERS: &str = "these files are those of a node by itself, or of several that stand by for each other, and this \
    one is the other: move the folder away, its closed files are whole";
const ANOTHER: &str = "received records were made of the log of another gateway, by their cursor: bring back what \
    belongs together, or move both folders away, whose closed files are whole";
/// How far an older version of the program noted that files go.
const FORMER: &str = "cursor.json";

/// What the cursor keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Note {
    /// The entry whose records are in files, and all before it.
    entry: u64,
    /// Packets of this entry that are in files, with all of those before it.
    part: (u64, u32),
    /// Said to peers (Recovery): another one where a log was begun anew.
    restart_counter: u8,
}

fields! {
    Note { entry, part, restart_counter }
}

/// The files of a folder.
#[derive(Debug)]
pub(super) struct Files {
    series: Series<Folder>,
    note: Note,
    /// Whether entries are those of a ledger of several nodes, and not of a log of its own.
    shared: bool,
    /// The log whose entries they are, where there is one that says so.
    log: Option<LogId>,
    /// The entry of the last packet, and which one of it that was.
    at: (u64, u32),
}

impl Files {
    /// Goes on with the files of a folder, which is made; a new one has this restart counter.
    ///
    /// # Errors
    /// The system's; the cursor or a file is not as it was left.
    pub fn open(folder: &Path, node: &str, restart_counter: u8) -> io::Result<Files> {
        Files::go_on(folder, node, restart_counter, false)
    }

    /// The same of several nodes: entries are those of their ledger.
    ///
    /// # Errors
    /// As [`Files::open`].
    pub fn open_shared(folder: &Path, node: &str) -> io::Result<Files> {
        Files::go_on(folder, node, 0, true)
    }

    fn go_on(folder: &Path, node: &str, restart_counter: u8, shared: bool) -> io::Result<Files> {
        let disk = Folder::open(folder)?.with_mode(MODE);
        former(&disk)?;
        let settings = Settings {
            node: Node::new(node, IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            forms: vec![Form::Ber],
            octets: FILE_OCTETS,
            records: FILE_RECORDS,
            seconds: FILE_SECONDS,
            flush_s: 0,
            keep_s: None,
            table_head: String::new(),
            private: None,
        };
        let open = if shared { Series::open_shared } else { Series::open };
        let series = open(Arc::new(disk), settings).map_err(io::Error::other)?;
        let kept = Some(Box::<[u8]>::from(series.note())).filter(|note| !note.is_empty());
        let strange = || io::Error::other("the cursor holds another series' note");
        let (note, log) = match &kept {
            Some(note) => {
                let mut rest = &**note;
                let note = Note::take(&mut rest).ok_or_else(strange)?;
                if shared != (rest == SHARED) {
                    return Err(io::Error::other(OTHERS));
                }
                (note, rest.try_into().ok().map(LogId::of_octets))
            }
            None => (Note { restart_counter, ..Note::default() }, None),
        };
        let (is_new, mut files) = (kept.is_none(), Files { series, note, shared, log, at: (0, 0) });
        if is_new {
            files.commit(0)?;
        }
        Ok(files)
    }

    /// The entry whose records are in files, and all before it.
    pub fn entry(&self) -> u64 {
        self.note.entry
    }

    /// From now on entries are those of this log, which says which it is, or not.
    ///
    /// # Errors
    /// The files were made of another one.
    pub fn follow(&mut self, log: Option<LogId>) -> Result<(), String> {
        match (self.log, log) {
            (Some(known), Some(log)) if known != log => Err(ANOTHER.to_owned()),
            (known, log) => {
                self.log = known.or(log);
                Ok(())
            }
        }
    }

    /// Said to peers.
    pub fn restart_counter(&self) -> u8 {
        self.note.restart_counter
    }

    /// Whether something was appended that is not on the disk yet.
    pub fn waits(&self) -> bool {
        self.series.waiting() > 0
    }

    /// Appends the records of the next packet of an entry, of which files tell this time. They are in a file when
    /// [`Files::commit`] says so.
    ///
    /// # Errors
    /// The system's: the packet is to be given again.
    pub fn append(&mut self, entry: u64, packet: &DataRecordPacket<'_>, at: i64) -> io::Result<()> {
        let place = (entry, if self.at.0 == entry { self.at.1 + 1 } else { 1 });
        if entry > self.note.entry && place > self.note.part {
            let edition = edition(packet.version);
            let other = self.series.is_begun() && self.series.edition() != edition;
            if let Some(closure) = self.full().or(other.then_some(Closure::ReleaseChange)) {
                self.end(closure, at)?;
            }
            self.series.set_edition(edition);
            let specification = specification::PACKET_SWITCHED;
            let header = RecordHeader { edition, encoding: packet.format, specification };
            for record in packet.records() {
                let fits = self.series.append_received(&header, record, at);
                debug_assert!(fits, "a record of GTP' is never longer than one of a file");
            }
        }
        self.at = place;
        Ok(())
    }

    /// Whether the file has its size or count with what waits: that follows from what came, and nothing else.
    fn full(&self) -> Option<Closure> {
        let (records, octets) = self.series.size();
        let count = (records >= FILE_RECORDS).then_some(Closure::Count);
        (octets >= FILE_OCTETS).then_some(Closure::Size).or(count)
    }

    /// Ends a file of that time by the time of an entry, before what that entry brings.
    ///
    /// # Errors
    /// The system's: it is to be told again.
    pub fn turn(&mut self, entry: u64, at: i64) -> io::Result<()> {
        match self.is_old(at) && entry > self.note.entry {
            true => self.end(Closure::Time, at),
            false => Ok(()),
        }
    }

    /// Whether the file that is open has its time then.
    pub fn is_old(&self, at: i64) -> bool {
        self.series.begun_at().is_some_and(|begun| at >= begun.saturating_add(i64::from(FILE_SECONDS)))
    }

    fn octets(&self, note: &Note) -> Vec<u8> {
        let log = self.log.map_or_else(Vec::new, |log| log.octets().to_vec());
        octets(note, if self.shared { SHARED } else { &log })
    }

    /// Ends the file behind the last packet: it is counted in the same step, so that it goes to no other file again.
    fn end(&mut self, closure: Closure, at: i64) -> io::Result<()> {
        self.note.part = self.at;
        let (note, end) = (self.octets(&self.note), End { closure, at, next: None });
        self.series.commit_and_close(&note, end)?;
        // That may have been the one before, which could not be closed then.
        if self.waits() {
            self.series.commit_and_close(&note, end)?;
        }
        Ok(())
    }

    /// Puts what was appended on the disk: it is all that entries up to this one have.
    ///
    /// # Errors
    /// The system's: it is tried again with all that waits.
    pub fn commit(&mut self, entry: u64) -> io::Result<()> {
        let note = Note { entry, part: (0, 0), ..self.note };
        self.series.commit(&self.octets(&note))?;
        self.note = note;
        Ok(())
    }

    /// Closes a file that has its size, count or time.
    ///
    /// # Errors
    /// As [`Files::commit`].
    pub fn close_due(&mut self, now: i64) -> io::Result<()> {
        match self.series.is_full(now) {
            Some(closure) => self.series.close(closure, now).map(drop),
            None => Ok(()),
        }
    }

    /// Closes the file that is open, if one is.
    ///
    /// # Errors
    /// As [`Files::commit`].
    pub fn finish(&mut self, now: i64) -> io::Result<()> {
        self.series.close(Closure::Normal, now).map(drop)
    }
}

/// A note, and whose entries it counts.
fn octets(note: &Note, whose: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    note.put(&mut out);
    out.extend_from_slice(whose);
    out
}

/// That the files of a folder were made of another log than the one in its place.
pub fn received_strange(files: &Folder, log: &Folder) -> Option<String> {
    let cursor = Cursor::load(files).ok().flatten()?;
    let mut rest = &*cursor.note;
    Note::take(&mut rest)?;
    let known = LogId::of_octets(rest.try_into().ok()?);
    LogId::of(log).ok().flatten().filter(|log| *log != known).map(|_| ANOTHER.to_owned())
}

/// Who knows which entries of a ledger of several nodes were durable: received records are in files up to there.
///
/// # Errors
/// The cursor cannot be read, or is damaged.
pub fn received_witness(folder: &Folder) -> Result<Option<Witness>, String> {
    let Some(cursor) = Cursor::load(folder)? else { return Ok(None) };
    let mut rest = &*cursor.note;
    let note = Note::take(&mut rest).filter(|_| rest == SHARED);
    Ok(note.map(|note| Witness { who: "the cursor of received records".to_owned(), last: note.entry }))
}

/// Up to which entry the files of a folder go.
///
/// # Errors
/// The cursor cannot be read, or is another's.
pub(super) fn entry_of(folder: &Folder) -> Result<u64, String> {
    let Some(cursor) = Cursor::load(folder)? else { return Ok(0) };
    let note = Note::take(&mut &*cursor.note).ok_or("the cursor holds another series' note")?;
    Ok(note.entry)
}

/// What TS 32.297 says of what GTP' says: the second number of the version is one less there.
fn edition(version: FormatVersion) -> Edition {
    Edition { release: version.release.max(3), version: version.version.saturating_sub(1) & 0x1f }
}

/// How far an older version noted that files go, in a form of its own.
#[derive(Deserialize)]
struct Former {
    entry: u64,
    #[serde(default)]
    part: (u64, u32),
    restart_counter: u8,
    next: u32,
    open: Option<FormerOpen>,
}

#[derive(Deserialize)]
struct FormerOpen {
    count: u32,
    octets: u64,
    records: u32,
    opened: i64,
    appended: i64,
}

/// Goes on with what an older version left: its open file has another name from now on.
fn former(disk: &Folder) -> io::Result<()> {
    let text = match std::fs::read_to_string(disk.path().join(FORMER)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read?,
    };
    if Cursor::load(disk).map_err(io::Error::other)?.is_none() {
        let Former { entry, part, restart_counter, next, open } = serde_json::from_str(&text)?;
        let note = octets(&Note { entry, part, restart_counter }, &[]).into();
        let open = open.map(|open| former_open(disk, &open)).transpose()?.flatten();
        Cursor { next, open, note, ..Cursor::default() }.save(disk)?;
    }
    disk.remove(FORMER)
}

/// None where it has its last name already.
fn former_open(disk: &Folder, open: &FormerOpen) -> io::Result<Option<Open>> {
    let FormerOpen { count, octets, records, opened, appended } = *open;
    let (before, now) = (format!("{count}.part"), format!("open-{count}.{}.part", Form::Ber.ending()));
    let names = disk.list()?;
    if names.contains(&before) {
        disk.rename(&before, &now)?;
    } else if !names.contains(&now) {
        return Ok(None);
    }
    Ok(Some(Open { count, opened, appended, records, octets: vec![octets], closing: None }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_wire::cdr::file::Records as Packed;

    #[test]
    fn files_of_an_older_version_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let of = |version: u8| {
            crate::gateway::Records::of(1, FormatVersion { application: 1, release: 7, version }, [&b"0A"[..]])
        };
        let (one, other) = (of(5).unwrap(), of(6).unwrap());
        let mut files = Files::open(folder.path(), "cgf", 9).unwrap();
        files.append(1, &one.packet().unwrap(), 1_000_000).unwrap();
        files.commit(1).unwrap();
        drop(files);
        // As that version would have left them, with what it had not noted yet.
        let name = |name: &str| folder.path().join(name);
        let mut octets = std::fs::read(name("open-0.ber.part")).unwrap();
        let length = octets.len();
        octets.extend_from_slice(b"half a record");
        std::fs::write(name("0.part"), octets).unwrap();
        for gone in ["open-0.ber.part", "cursor"] {
            std::fs::remove_file(name(gone)).unwrap();
        }
        let text = format!(
            r#"{{"entry":1,"part":[0,0],"restart_counter":9,"next":1,"open":{{"count":0,"octets":{length},"records":1,
            "opened":1000000,"appended":1000000,"release":7,"version":4}}}}"#
        );
        std::fs::write(name("cursor.json"), text).unwrap();
        let mut files = Files::open(folder.path(), "cgf", 1).unwrap();
        assert_eq!((files.entry(), files.restart_counter()), (1, 9));
        // Entry 1 is in a file; 2 goes there, too, and half of 3 has another release.
        for (entry, records) in [(1, &one), (2, &one), (3, &one), (3, &other)] {
            files.append(entry, &records.packet().unwrap(), 1_000_010).unwrap();
        }
        // What ended in the middle of an entry goes on there.
        drop(files);
        let mut files = Files::open(folder.path(), "cgf", 1).unwrap();
        for records in [&one, &other] {
            files.append(3, &records.packet().unwrap(), 1_000_020).unwrap();
        }
        files.commit(3).unwrap();
        files.finish(1_000_030).unwrap();
        let mut closed: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        closed.retain(|path| path.extension().is_some_and(|ending| ending == "ber"));
        closed.sort();
        let told = |path: &std::path::PathBuf| {
            let file = std::fs::read(path).unwrap();
            let header = Packed::check(&file).unwrap();
            (header.sequence, header.count, header.high.version, header.closure)
        };
        let told: Vec<_> = closed.iter().map(told).collect();
        assert_eq!(told, [(0, 3, 4, Closure::ReleaseChange), (1, 1, 5, Closure::Normal)]);
    }

    /// What a file holds and where it ends follows from entries alone, and not from when it was put on the disk.
    #[test]
    fn entries_of_a_log_and_of_a_ledger_are_not_taken_for_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let [alone, several] = ["alone", "several"].map(|name| folder.path().join(name));
        Files::open(&alone, "cgf", 9).unwrap().commit(5000).unwrap();
        Files::open_shared(&several, "cgf").unwrap().commit(10).unwrap();
        assert_eq!(Files::open_shared(&several, "cgf").unwrap().entry(), 10);
        for wrong in [Files::open_shared(&alone, "cgf"), Files::open(&several, "cgf", 9)] {
            let why = wrong.unwrap_err().to_string();
            assert!(why.contains("move the folder away"), "{why}");
        }
        assert_eq!(entry_of(&Folder::beside(&alone).unwrap()), Ok(5000));
    }

    /// A log of its own that another one was put in the place of, or files that were.
    #[test]
    fn files_of_another_log_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [of, another] = [1, 2].map(LogId::made);
        let open = || Files::open(folder.path(), "cgf", 9).unwrap();
        let mut files = open();
        assert_eq!(files.follow(None), Ok(()), "an older version's log says nothing");
        files.commit(5).unwrap();
        drop(files);
        let mut files = open();
        assert_eq!((files.follow(Some(of)), files.entry(), files.restart_counter()), (Ok(()), 5, 9));
        files.commit(6).unwrap();
        drop(files);
        let follow = |log: Option<LogId>| open().follow(log);
        assert_eq!([follow(Some(of)), follow(None)], [Ok(()), Ok(())]);
        assert_eq!(follow(Some(another)), Err(ANOTHER.to_owned()));
        assert_eq!(open().entry(), 6);
    }

    #[test]
    fn nodes_have_the_same_files_however_they_write_them() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let of = |version: u8, record: &[u8]| {
            let version = FormatVersion { application: 1, release: 7, version };
            crate::gateway::Records::of(1, version, [record, b"more"]).unwrap()
        };
        for (node, folder) in folders.iter().enumerate() {
            let mut files = Files::open(folder.path(), "cgf", 0).unwrap();
            let mut random = trunkline_kit::random::Random::new(7, node as u64);
            for entry in 1..=400_u64 {
                let at = 1_000_000 + entry as i64;
                files.turn(entry, at).unwrap();
                for packet in 0..entry % 3 {
                    let records = of(5 + (entry / 90 % 2) as u8, format!("{entry}, {packet}").as_bytes());
                    files.append(entry, &records.packet().unwrap(), at).unwrap();
                }
                if random.below(5) == 0 {
                    files.commit(entry).unwrap();
                }
                if random.below(20) == 0 {
                    files.commit(entry).unwrap();
                    drop(files);
                    files = Files::open(folder.path(), "cgf", 0).unwrap();
                    assert_eq!(files.entry(), entry);
                }
            }
            files.commit(400).unwrap();
        }
        let files = folders.each_ref().map(|folder| {
            let mut files: Vec<_> =
                std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
            files.retain(|path| path.file_name().is_some_and(|name| name != "cursor" && name != "lock"));
            files.sort();
            let read = |path: &std::path::PathBuf| (path.file_name().unwrap().to_owned(), std::fs::read(path).unwrap());
            files.iter().map(read).collect::<Vec<_>>()
        });
        assert!(files[0].len() > 7, "{} files", files[0].len());
        assert!(files[0] == files[1]);
    }
}
