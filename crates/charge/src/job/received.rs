//! Files of records that came over GTP' (TS 32.297): each record of an entry once, whatever happens in between.
//!
//! Records are appended to a file that is open and put on the disk, then the [`Cursor`] says up to which entry and
//! which octet: it is written beside, renamed over the one before. What a crash leaves behind that octet is cut off by
//! the next start. A file that has its size, count or time gets its last header, then its name.

use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use trunkline_wire::cdr::RecordTime;
use trunkline_wire::cdr::file::{Closure, Edition, FileHeader, FileName, FileTime, Lost, RecordHeader, specification};
use trunkline_wire::gtpp::records::{DataRecordPacket, FormatVersion};

/// A file is closed with so many octets, records, or seconds after it was opened.
pub(super) const FILE_OCTETS: u64 = 64 << 20;
const FILE_RECORDS: u32 = 100_000;
pub(super) const FILE_SECONDS: i64 = 60;
const CURSOR: &str = "cursor.json";
const CURSOR_NEXT: &str = "cursor.next";
/// What others may do with the files: the group reads them.
const MODE: u32 = 0o640;

/// Up to where the files go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// The entry of the log whose records are in files, and all before it.
    pub entry: u64,
    /// Where a file was closed in the middle: packets of this entry that are in files, with all of those before it.
    #[serde(default)]
    part: (u64, u32),
    /// Said to peers (Recovery): another one where a log was begun anew.
    pub restart_counter: u8,
    /// The running count of the next file.
    next: u32,
    open: Option<Open>,
}

/// A file that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Open {
    count: u32,
    octets: u64,
    records: u32,
    opened: i64,
    appended: i64,
    release: u8,
    version: u8,
}

impl Open {
    fn part(&self) -> String {
        format!("{}.part", self.count)
    }

    fn edition(&self) -> Edition {
        Edition { release: self.release, version: self.version }
    }

    fn header(&self, closure: Closure) -> Vec<u8> {
        let time = |seconds| FileTime::new(RecordTime::utc(seconds));
        let header = FileHeader {
            file_octets: u32::try_from(self.octets).unwrap_or(u32::MAX),
            high: self.edition(),
            low: self.edition(),
            opened: time(self.opened),
            appended: time(self.appended),
            count: self.records,
            sequence: self.count,
            closure,
            node: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            lost: Lost::None,
            routeing_filter: &[],
            private_extension: &[],
        };
        let mut out = Vec::new();
        header.write(&mut out);
        out
    }
}

/// The files of a folder.
#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    node: String,
    cursor: Cursor,
    file: Option<File>,
    /// Octets that are not written yet.
    octets: Vec<u8>,
    /// The entry of the last packet, and which one of it that was.
    at: (u64, u32),
}

impl Files {
    /// Goes on with the files of a folder, which is made; a new one has this restart counter.
    ///
    /// # Errors
    /// The system's; the cursor or a file is not as it was left.
    pub fn open(folder: &Path, node: &str, restart_counter: u8) -> io::Result<Files> {
        std::fs::create_dir_all(folder)?;
        let cursor = match std::fs::read_to_string(folder.join(CURSOR)) {
            Ok(text) => serde_json::from_str(&text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Cursor { restart_counter, ..Cursor::default() },
            Err(error) => return Err(error),
        };
        let mut files = Files {
            folder: folder.to_path_buf(),
            node: node.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.')).collect(),
            cursor,
            file: None,
            octets: Vec::new(),
            at: (0, 0),
        };
        files.resume()?;
        files.write_cursor()?;
        Ok(files)
    }

    /// Opens the file again that was open, without what a crash has left behind its end.
    fn resume(&mut self) -> io::Result<()> {
        let Some(open) = &self.cursor.open else { return Ok(()) };
        match OpenOptions::new().read(true).write(true).open(self.folder.join(open.part())) {
            Ok(mut file) => {
                file.set_len(open.octets)?;
                file.seek(SeekFrom::End(0))?;
                self.file = Some(file);
            }
            // It has its name already.
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.cursor.open = None,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Up to where they go.
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Appends the records of the next packet of an entry. They are in the file when [`Files::commit`] says so.
    ///
    /// # Errors
    /// The system's.
    pub fn append(&mut self, entry: u64, packet: &DataRecordPacket<'_>, now: i64) -> io::Result<()> {
        let at = (entry, if self.at.0 == entry { self.at.1 + 1 } else { 1 });
        if at <= self.cursor.part {
            self.at = at;
            return Ok(());
        }
        let edition = edition(packet.version);
        if self.cursor.open.as_ref().is_some_and(|open| open.edition() != edition) {
            // What was appended counts before its file has its name: else it would go to another one again.
            self.write()?;
            self.cursor.part = self.at;
            self.write_cursor()?;
            self.close(Closure::ReleaseChange, now)?;
            self.write_cursor()?;
        }
        self.at = at;
        if self.cursor.open.is_none() {
            self.begin(edition, now)?;
        }
        let Some(open) = &mut self.cursor.open else { return Ok(()) };
        let specification = specification::PACKET_SWITCHED;
        let header = RecordHeader { edition, encoding: packet.format, specification };
        for record in packet.records() {
            let before = self.octets.len();
            // A record of GTP' is never longer than one of a file.
            header.write(record, &mut self.octets);
            open.octets += (self.octets.len() - before) as u64;
            open.records += 1;
        }
        open.appended = now;
        Ok(())
    }

    fn begin(&mut self, edition: Edition, now: i64) -> io::Result<()> {
        let Edition { release, version } = edition;
        let count = self.cursor.next;
        let mut open = Open { count, octets: 0, records: 0, opened: now, appended: now, release, version };
        open.octets = open.header(Closure::Normal).len() as u64;
        let path = self.folder.join(open.part());
        let mut options = OpenOptions::new();
        let mut file = options.create(true).truncate(true).read(true).write(true).mode(MODE).open(path)?;
        file.write_all(&open.header(Closure::Normal))?;
        self.cursor.next = self.cursor.next.wrapping_add(1);
        (self.file, self.cursor.open) = (Some(file), Some(open));
        Ok(())
    }

    /// Puts what was appended on the disk: it is all that entries up to this one have. Closes a file that has its size,
    /// count or time.
    ///
    /// # Errors
    /// The system's: nothing of it counts, [`Files::open`] goes on from what counted before.
    pub fn commit(&mut self, entry: u64, now: i64) -> io::Result<()> {
        self.write()?;
        (self.cursor.entry, self.cursor.part) = (entry, (0, 0));
        self.write_cursor()?;
        self.close_due(now)
    }

    fn write(&mut self) -> io::Result<()> {
        if let Some(file) = self.file.as_mut().filter(|_| !self.octets.is_empty()) {
            file.write_all(&self.octets)?;
            file.sync_data()?;
        }
        self.octets.clear();
        Ok(())
    }

    /// Closes a file whose time has come.
    ///
    /// # Errors
    /// As [`Files::commit`].
    pub fn close_due(&mut self, now: i64) -> io::Result<()> {
        let Some(open) = &self.cursor.open else { return Ok(()) };
        let closure = match open {
            open if open.octets >= FILE_OCTETS => Closure::Size,
            open if open.records >= FILE_RECORDS => Closure::Count,
            // A clock that was set back closes it, too.
            open if !(open.opened..open.opened + FILE_SECONDS).contains(&now) => Closure::Time,
            _ => return Ok(()),
        };
        self.close(closure, now)?;
        self.write_cursor()
    }

    /// Closes the file that is open, if one is.
    ///
    /// # Errors
    /// As [`Files::commit`].
    pub fn finish(&mut self, now: i64) -> io::Result<()> {
        self.close(Closure::Normal, now)?;
        self.write_cursor()
    }

    fn close(&mut self, closure: Closure, now: i64) -> io::Result<()> {
        self.write()?;
        let (Some(open), Some(mut file)) = (self.cursor.open.take(), self.file.take()) else { return Ok(()) };
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&open.header(closure))?;
        file.sync_all()?;
        let time = RecordTime::utc(now);
        let name = FileName { node_id: &self.node, count: open.count, time, private: None, extension: Some("ber") };
        std::fs::rename(self.folder.join(open.part()), self.folder.join(name.to_string()))?;
        File::open(&self.folder)?.sync_all()
    }

    fn write_cursor(&self) -> io::Result<()> {
        let next = self.folder.join(CURSOR_NEXT);
        let mut file = File::create(&next)?;
        file.write_all(&serde_json::to_vec(&self.cursor)?)?;
        file.sync_all()?;
        std::fs::rename(next, self.folder.join(CURSOR))?;
        File::open(&self.folder)?.sync_all()
    }
}

/// What TS 32.297 says of what GTP' says: the second number of the version is one less there.
fn edition(version: FormatVersion) -> Edition {
    Edition { release: version.release.max(3), version: version.version.saturating_sub(1) & 0x1f }
}
