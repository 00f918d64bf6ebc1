//! A series of record files (3GPP TS 32.297): records are appended to a file under a temporary name, the [`Cursor`]
//! says how much of it counts, and what is whole gets its own name. Each record is in one file once, whatever happens
//! to the process, the power or the disk: a start cuts off what the cursor does not count, and whoever appends begins
//! again with what its note in the cursor says.
//!
//! ```text
//!   append, append, ..      commit: write, fsync, then the cursor by a rename       close: cursor (closing), header,
//!   [in memory]        -->  open-42.ber.part, open-42.csv.part, cursor         -->  fsync, rename, cursor
//! ```

mod mend;

pub use mend::count_of;

use super::cursor::{Cursor, Open};
use core::net::IpAddr;
use mend::fresh;
use std::io;
use std::sync::Arc;
use trunkline_commit::Disk;
use trunkline_wire::cdr::RecordTime;
use trunkline_wire::cdr::file::{Closure, Edition, FileHeader, FileName, FileTime, Lost, RecordHeader};

use crate::cdr::Node;
use crate::cdr::packets::EDITION;

/// Octets with which a file is closed at the latest, whatever the settings say: whoever takes it reads all of it.
// Limit: size of one file of charging records, whatever is configured
// Beyond: the file is closed and the next one begins
// Seen in: `trunkline_charge_cdr_files_total`
pub const FILE_OCTETS_MAX: u64 = 1 << 30;
/// Octets that the header of a file has at most.
const HEAD_OCTETS: usize = 128;
/// Octets that wait in memory at which they are to be committed.
const WAITING_OCTETS: usize = 4 << 20;

/// A form that records are written in: an ending of its own, beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// TS 32.297 with records in BER.
    Ber,
    /// Lines of a table.
    Csv,
    /// For rows in the store: whoever writes those removes it.
    Rows,
}

impl Form {
    /// All of them, in the order in which a file has them.
    pub const ALL: [Form; 3] = [Form::Ber, Form::Csv, Form::Rows];

    /// The ending of its files.
    pub fn ending(self) -> &'static str {
        match self {
            Form::Ber => "ber",
            Form::Csv => "csv",
            Form::Rows => "rows",
        }
    }
}

/// How files are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Who makes them.
    pub node: Node,
    /// The forms, each once.
    pub forms: Vec<Form>,
    /// Octets in any form with which a file is closed.
    pub octets: u64,
    /// Records with which it is.
    pub records: u32,
    /// Seconds after which it is.
    pub seconds: u32,
    /// Seconds after which what came is on disk at the latest.
    pub flush_s: u32,
    /// Seconds for which closed files are kept; none is as long as nobody removes them.
    pub keep_s: Option<u64>,
    /// What a table begins with.
    pub table_head: String,
    /// Private information in names of files: tells two series of a node apart.
    pub private: Option<String>,
}

/// A series.
#[derive(Debug)]
pub struct Series<D: Disk> {
    disk: Arc<D>,
    settings: Settings,
    cursor: Cursor,
    /// Of each form, what waits.
    waiting: Vec<Vec<u8>>,
    waiting_records: u32,
    /// The first of what waits came then.
    since: i64,
    /// The times of the first and the last of what waits, as files tell them.
    times: (i64, i64),
    /// A commit failed since the file was opened: what its closure tells.
    failed: Option<Closure>,
    /// Whether other nodes have the same files.
    shared: bool,
    /// The edition of records, which files begin with.
    edition: Edition,
}

/// How a file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Why.
    pub closure: Closure,
    /// When; seconds since 1970.
    pub at: i64,
    /// The running count of the file after it; none is the next one.
    pub next: Option<u32>,
}

/// A file that was closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Its name without the ending.
    pub name: String,
    /// Records in it.
    pub records: u32,
}

/// The name of a form of a file as long as it is open.
pub(super) fn part(count: u32, form: Form) -> String {
    format!("open-{count}.{}.part", form.ending())
}

impl<D: Disk> Series<D> {
    /// Opens the series of a folder, or begins one. A file that was open goes on; what of it is gone is told as lost.
    ///
    /// # Errors
    /// The disk fails; how far records have come is not known.
    pub fn open(disk: Arc<D>, settings: Settings) -> Result<Series<D>, String> {
        Series::go_on(disk, settings, false)
    }

    /// The same where other nodes have the same files: the number of an open file that is gone is given to the next
    /// one, which tells of the loss, and an open file goes on in the forms that it has.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_shared(disk: Arc<D>, settings: Settings) -> Result<Series<D>, String> {
        Series::go_on(disk, settings, true)
    }

    fn go_on(disk: Arc<D>, settings: Settings, shared: bool) -> Result<Series<D>, String> {
        let cursor = Cursor::load(&*disk)?;
        if cursor.is_none() {
            fresh(&*disk)?;
        }
        let waiting = settings.forms.iter().map(|_| Vec::new()).collect();
        let cursor = cursor.unwrap_or_default();
        let (since, times, failed, edition) = (0, (0, 0), None, EDITION);
        let mut series =
            Series { disk, settings, cursor, waiting, waiting_records: 0, since, times, failed, shared, edition };
        series.mend().and_then(|()| series.look()).map_err(|error| format!("record files: {error}"))?;
        Ok(series)
    }

    /// What its owner keeps with it: that of the last commit; none before the first one.
    pub fn note(&self) -> &[u8] {
        &self.cursor.note
    }

    /// How far it has come.
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Appends a record, in the order of the forms; nothing of it is on disk yet. A form without octets has it not.
    pub fn append(&mut self, forms: &[&[u8]], now: i64) {
        self.append_at(forms, now, now);
    }

    /// The same, where files tell another time than that at which it came.
    pub fn append_at(&mut self, forms: &[&[u8]], at: i64, now: i64) {
        if self.waiting_records == 0 {
            (self.since, self.times.0) = (now, at);
        }
        self.times.1 = at;
        self.waiting.iter_mut().zip(forms).for_each(|(waiting, octets)| waiting.extend_from_slice(octets));
        self.waiting_records += 1;
    }

    /// Appends a record that another node made and sent, as it came: in BER (format 1 of TS 32.295), with `edition`
    /// and the other values of its header. False, and nothing, where it is too long for a file.
    pub fn append_received(&mut self, header: &RecordHeader, record: &[u8], now: i64) -> bool {
        let mut octets = Vec::with_capacity(record.len() + 8);
        let fits = header.write(record, &mut octets);
        if fits {
            self.append(&[&octets], now);
        }
        fits
    }

    /// The edition of the records of the file that is open, or of the next one.
    pub fn edition(&self) -> Edition {
        self.edition
    }

    /// The next file has records of this edition.
    pub fn set_edition(&mut self, edition: Edition) {
        self.edition = edition;
    }

    /// Records of the file that is open, or of what waits for one, and octets of the longest form behind its header.
    pub fn size(&self) -> (u32, u64) {
        let open = self.cursor.open.as_ref().filter(|open| open.closing.is_none());
        let head = |form: &Form| self.head(*form, 0).len() as u64;
        let (mut octets, forms) = (0, self.settings.forms.iter().zip(&self.waiting).enumerate());
        for (at, (form, waiting)) in forms {
            let written = open.and_then(|open| open.octets.get(at)).map_or(0, |all| all.saturating_sub(head(form)));
            octets = octets.max(written + waiting.len() as u64);
        }
        (self.waiting_records + open.map_or(0, |open| open.records), octets)
    }

    /// The time of the first record of the file that is open, or of what waits for one.
    pub fn begun_at(&self) -> Option<i64> {
        let open = self.cursor.open.as_ref().filter(|open| open.closing.is_none()).map(|open| open.opened);
        open.or((self.waiting_records > 0).then_some(self.times.0))
    }

    /// Whether the next record goes behind others, on the disk or in memory.
    pub fn is_begun(&self) -> bool {
        self.waiting_records > 0 || self.cursor.open.as_ref().is_some_and(|open| open.closing.is_none())
    }

    /// Records that wait for a commit.
    pub fn waiting(&self) -> u32 {
        self.waiting_records
    }

    /// Whether what waits is to be committed.
    pub fn is_due(&self, now: i64) -> bool {
        let many = self.waiting.iter().map(Vec::len).sum::<usize>() >= WAITING_OCTETS;
        // A clock that goes back must not hold up anything.
        let waited = now.saturating_sub(self.since).unsigned_abs();
        self.waiting_records > 0 && (many || waited >= u64::from(self.settings.flush_s))
    }

    /// Whether the file has its count or size with what waits: which of both.
    pub fn fills(&self) -> Option<Closure> {
        let (mut records, mut octets) = (self.waiting_records, 0);
        for (form, waiting) in self.waiting.iter().enumerate() {
            let open = self.cursor.open.as_ref().and_then(|open| open.octets.get(form)).copied().unwrap_or(0);
            octets = octets.max(open + waiting.len() as u64);
        }
        records += self.cursor.open.as_ref().map_or(0, |open| open.records);
        match self.waiting_records {
            0 => None,
            _ if octets >= self.settings.octets.min(FILE_OCTETS_MAX) => Some(Closure::Size),
            _ => (records >= self.settings.records).then_some(Closure::Count),
        }
    }

    /// Why the open file is to be closed, if it is time.
    pub fn is_full(&self, now: i64) -> Option<Closure> {
        let open = self.cursor.open.as_ref().filter(|open| open.records > 0)?;
        self.failed.or_else(|| self.reached(open, now))
    }

    /// Which of its limits the open file has reached.
    pub fn is_whole(&self, now: i64) -> Option<Closure> {
        let open = self.cursor.open.as_ref().filter(|open| open.records > 0)?;
        self.reached(open, now)
    }

    fn reached(&self, open: &Open, now: i64) -> Option<Closure> {
        let octets = open.octets.iter().copied().max().unwrap_or(0);
        let age = now.saturating_sub(open.opened).unsigned_abs();
        match () {
            () if octets >= self.settings.octets.min(FILE_OCTETS_MAX) => Some(Closure::Size),
            () if open.records >= self.settings.records => Some(Closure::Count),
            () if age >= u64::from(self.settings.seconds) => Some(Closure::Time),
            () => None,
        }
    }

    /// Puts what waits on disk, with the note of how far that is. Without any, the note alone.
    ///
    /// # Errors
    /// The system's: nothing of it counts, and it is tried again with all that waits.
    pub fn commit(&mut self, note: &[u8]) -> io::Result<()> {
        // What was not closed to its end is closed first: nothing more goes into it.
        let done = self.finish_closing().and_then(|_| self.try_commit(note, None));
        if let (Err(error), Some(_)) = (&done, &self.cursor.open) {
            let full = error.kind() == io::ErrorKind::StorageFull;
            self.failed = Some(if full { Closure::FileSystemFull } else { Closure::FileSystemError });
        }
        done
    }

    /// The same, and closes the file with that: what waits is its end, and no crash parts the two. What was closed;
    /// none where it has no records.
    ///
    /// # Errors
    /// As [`commit`](Self::commit): it is tried again with the same.
    pub fn commit_and_close(&mut self, note: &[u8], end: End) -> io::Result<Option<Closed>> {
        if self.cursor.open.as_ref().is_none_or(|open| open.closing.is_none()) {
            self.try_commit(note, Some(end))?;
        }
        self.finish_closing()
    }

    /// How files are made.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The running count of the file that is open, or of the next one.
    pub fn file(&self) -> u32 {
        self.cursor.file()
    }

    /// Makes the next file so; nothing where one is open, or something waits.
    pub fn set(&mut self, settings: Settings) {
        if self.cursor.open.is_none() && self.waiting_records == 0 {
            self.waiting = settings.forms.iter().map(|_| Vec::new()).collect();
            self.settings = settings;
        }
    }

    fn try_commit(&mut self, note: &[u8], end: Option<End>) -> io::Result<()> {
        let mut cursor = Cursor { note: note.into(), ..self.cursor.clone() };
        if self.waiting_records > 0 {
            let (first, last) = self.times;
            let open = cursor.open.get_or_insert_with(|| begin(&mut cursor.next, self.settings.forms.len(), first));
            for ((waiting, form), length) in self.waiting.iter().zip(&self.settings.forms).zip(&mut open.octets) {
                *length = self.write(open.count, *form, *length, waiting, open.opened)?;
            }
            open.records += self.waiting_records;
            open.appended = last.max(open.opened);
        }
        if let Some((open, end)) = cursor.open.as_mut().zip(end) {
            open.closing = Some((self.name(open, end.at), end.closure.number()));
        }
        cursor.next = end.and_then(|end| end.next).unwrap_or(cursor.next);
        cursor.save(&*self.disk)?;
        self.cursor = cursor;
        self.waiting.iter_mut().for_each(Vec::clear);
        self.waiting_records = 0;
        Ok(())
    }

    /// Appends to a form of a file; its length then.
    fn write(&self, count: u32, form: Form, length: u64, octets: &[u8], opened: i64) -> io::Result<u64> {
        let name = part(count, form);
        if length == 0 {
            let head = self.head(form, opened);
            let file = self.disk.make(&name, 0)?;
            self.disk.write(&file, 0, &[&head, octets].concat())?;
            self.disk.sync(&file)?;
            return Ok((head.len() + octets.len()) as u64);
        }
        let file = self.disk.open(&name)?;
        self.disk.write(&file, length, octets)?;
        self.disk.sync(&file)?;
        Ok(length + octets.len() as u64)
    }

    /// What a form of a file begins with; a header that says that the file was not closed.
    fn head(&self, form: Form, opened: i64) -> Vec<u8> {
        match form {
            Form::Ber => {
                let open = Open { opened, appended: opened, ..Open::default() };
                self.header(&open, 0, Closure::Abnormal, (self.settings.node.address, self.edition))
            }
            Form::Csv => self.settings.table_head.clone().into_bytes(),
            Form::Rows => Vec::new(),
        }
    }

    fn header(&self, open: &Open, octets: u64, closure: Closure, (node, edition): (IpAddr, Edition)) -> Vec<u8> {
        let mut out = Vec::new();
        let header = FileHeader {
            file_octets: u32::try_from(octets).unwrap_or(u32::MAX),
            high: edition,
            low: edition,
            opened: FileTime::new(RecordTime::utc(open.opened)),
            appended: FileTime::new(RecordTime::utc(open.appended)),
            count: open.records,
            sequence: open.count,
            closure,
            node,
            lost: Lost::of(self.cursor.lost),
            routeing_filter: &[],
            private_extension: &[],
        };
        header.write(&mut out);
        out
    }

    /// The address and the edition with which a file began: those of now may be another one's.
    fn began(&self, file: &D::File) -> io::Result<(IpAddr, Edition)> {
        let mut head = [0; HEAD_OCTETS];
        let read = self.disk.read(file, 0, &mut head)?;
        let header = FileHeader::read(&head[..read]);
        Ok(header.map_or((self.settings.node.address, self.edition), |header| (header.node, header.high)))
    }

    /// The edition of a file that goes on.
    fn look(&mut self) -> io::Result<()> {
        let Some(open) = self.cursor.open.as_ref().filter(|_| self.settings.forms.contains(&Form::Ber)) else {
            return Ok(());
        };
        match self.disk.open(&part(open.count, Form::Ber)) {
            // It goes on without that form.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => self.edition = self.began(&opened?)?.1,
        }
        Ok(())
    }

    /// Closes the open file, if it has records: what waits goes into the next one. What was closed.
    ///
    /// # Errors
    /// The system's: it is closed by the next call, or the next start.
    pub fn close(&mut self, closure: Closure, now: i64) -> io::Result<Option<Closed>> {
        let Some(open) = self.cursor.open.clone().filter(|open| open.records > 0) else { return Ok(None) };
        if open.closing.is_none() {
            let closing = Some((self.name(&open, now), closure.number()));
            let cursor = Cursor { open: Some(Open { closing, ..open }), ..self.cursor.clone() };
            cursor.save(&*self.disk)?;
            self.cursor = cursor;
        }
        self.finish_closing()
    }

    /// The name of a file that is closed then, without an ending.
    fn name(&self, open: &Open, at: i64) -> Box<str> {
        let name = FileName {
            node_id: self.settings.node.id(),
            count: open.count,
            time: RecordTime::utc(at.max(open.appended)),
            private: self.settings.private.as_deref(),
            extension: None,
        };
        name.to_string().into()
    }

    /// Goes on with a file that is being closed.
    fn finish_closing(&mut self) -> io::Result<Option<Closed>> {
        let Some(open) = self.cursor.open.clone() else { return Ok(None) };
        let Some((name, closure)) = open.closing.clone() else { return Ok(None) };
        let names = self.disk.list()?;
        // Those that are there: a start may want others. One that is not has its name already.
        for form in Form::ALL {
            let before = part(open.count, form);
            if !names.contains(&before) {
                continue;
            }
            if form == Form::Ber {
                // The first one, where it is one of them.
                let length = open.octets.first().copied().unwrap_or_default();
                let file = self.disk.open(&before)?;
                let header = self.header(&open, length, Closure::from_number(closure), self.began(&file)?);
                self.disk.write(&file, 0, &header)?;
                self.disk.sync(&file)?;
            }
            self.disk.rename(&before, &format!("{name}.{}", form.ending()))?;
        }
        let (files, records) = (self.cursor.files + 1, self.cursor.records + u64::from(open.records));
        let cursor = Cursor { open: None, lost: 0, files, records, ..self.cursor.clone() };
        cursor.save(&*self.disk)?;
        (self.cursor, self.failed) = (cursor, None);
        Ok(Some(Closed { name: name.into(), records: open.records }))
    }
}

fn begin(next: &mut u32, forms: usize, now: i64) -> Open {
    let count = *next;
    *next = count.wrapping_add(1);
    Open { count, opened: now, appended: now, octets: vec![0; forms], ..Open::default() }
}
