//! Rows that wait on disk: a file in the data folder's `spool/`, appended to while the store cannot be written, read
//! from its beginning when it can again, empty when all of it is in the store.
//!
//! What is read twice (the program ended between the store's commit and ours) changes nothing: rows have identifiers,
//! and the store keeps one of each. Its room is reserved beforehand, so that a disk that is full still takes some.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use trunkline_store::journal::{self, FRAME_OCTETS, Frame, HEAD_OCTETS};
use trunkline_store::row::Rows;

/// Octets of the file. Beyond, rows wait in memory.
// Limit: rows waiting for the store on disk
// Beyond: further rows wait in memory
// Seen in: `trunkline_store_journal_failures_total`
pub const JOURNAL_OCTETS_MAX: u64 = 1 << 30;
/// Octets that are reserved on the disk: about 20,000 calls.
pub const RESERVE_OCTETS: u64 = 16 << 20;
/// The name in `spool/`.
const NAME: &str = "rows.journal";

/// The file.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    octets_max: u64,
    /// Where the next record goes.
    end: u64,
    /// Where the next one is read.
    next: u64,
    /// All before this is in the store.
    stored: u64,
    /// Rows behind `stored`, and behind `next`.
    rows: (u64, u64),
    /// What is to be synchronised.
    is_dirty: bool,
    packed: Vec<u8>,
}

/// What a file held when it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Rows that go into the store now.
    pub rows: u64,
    /// Octets of a record that was not written to its end.
    pub torn_octets: u64,
    /// Records that were damaged, and the rows that they are said to hold.
    pub damaged: (u64, u64),
    /// Where the rest was copied to behind records of which no end can be told.
    pub damaged_aside: Option<PathBuf>,
    /// A file of another version of the program, set aside under this name.
    pub aside: Option<PathBuf>,
}

/// A record taken from the file.
#[derive(Debug)]
pub enum Taken {
    /// Its rows.
    Rows(Rows),
    /// It is damaged, and so many rows were in it.
    Damaged(u64),
}

impl Journal {
    /// Opens the file in this folder, or makes it; cuts off what was not written to its end.
    ///
    /// # Errors
    /// Those of the disk; the file is another program's at this moment.
    pub fn open(folder: &Path) -> io::Result<(Journal, Found)> {
        Journal::open_within(folder, JOURNAL_OCTETS_MAX)
    }

    fn open_within(folder: &Path, octets_max: u64) -> io::Result<(Journal, Found)> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(NAME);
        let (mut file, mut found) = (open(&path)?, Found::default());
        if !is_ours(&file)? {
            let aside = free_name(folder, "other");
            std::fs::rename(&path, &aside)?;
            found.aside = Some(aside);
            file = open(&path)?;
        }
        let mut journal = Journal {
            file,
            path,
            octets_max,
            end: HEAD_OCTETS as u64,
            next: HEAD_OCTETS as u64,
            stored: HEAD_OCTETS as u64,
            rows: (0, 0),
            is_dirty: false,
            packed: Vec::new(),
        };
        journal.scan(&mut found)?;
        if found.rows == 0 {
            journal.clear()?;
        }
        // Its name, and that of what was set aside.
        File::open(folder)?.sync_all()?;
        Ok((journal, found))
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Rows in it that are not in the store yet.
    pub fn rows(&self) -> u64 {
        self.rows.0
    }

    /// Octets of the file.
    pub fn octets(&self) -> u64 {
        self.end
    }

    /// Whether nothing waits in it.
    pub fn is_empty(&self) -> bool {
        self.stored == self.end
    }

    /// Whether records were taken that are not known to be stored.
    pub fn is_taking(&self) -> bool {
        self.next > self.stored
    }

    /// Appends rows.
    ///
    /// # Errors
    /// Those of the disk; there is no room ([`JOURNAL_OCTETS_MAX`]). Nothing was appended.
    pub fn append(&mut self, rows: &Rows) -> io::Result<()> {
        self.packed.clear();
        if !journal::write(rows, &mut self.packed) {
            return Err(io::Error::other("too many rows for one record"));
        }
        let end = self.end.saturating_add(self.packed.len() as u64);
        if end > self.octets_max {
            return Err(io::Error::other(format!("it has its full length, {} octets", self.octets_max)));
        }
        if let Err(error) = self.file.write_all_at(&self.packed, self.end) {
            // What was written of it must not be taken for the beginning of the next.
            let _ = self.file.set_len(self.end);
            return Err(error);
        }
        self.end = end;
        let count = rows.count() as u64;
        self.rows = (self.rows.0 + count, self.rows.1 + count);
        self.is_dirty = true;
        Ok(())
    }

    /// Takes the next record that is not in the store; none at the end.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn take(&mut self) -> io::Result<Option<Taken>> {
        let Some((frame, body)) = self.record(self.next)? else {
            // Whole when it was opened or appended: somebody else wrote into it.
            let is_end = self.next >= self.end;
            return if is_end { Ok(None) } else { Err(io::ErrorKind::InvalidData.into()) };
        };
        self.next += (FRAME_OCTETS + frame.octets) as u64;
        self.rows.1 = self.rows.1.saturating_sub(frame.rows);
        let rows = Some(body).filter(|body| frame.is_of(body)).and_then(|body| journal::read(&body).ok());
        Ok(Some(rows.map_or(Taken::Damaged(frame.rows), Taken::Rows)))
    }

    /// What was taken did not come into the store: it is taken again.
    pub fn again(&mut self) {
        (self.next, self.rows.1) = (self.stored, self.rows.0);
    }

    /// What was taken is in the store for good.
    ///
    /// # Errors
    /// Those of the disk: then it may be taken again at the next start.
    pub fn stored(&mut self) -> io::Result<()> {
        (self.stored, self.rows.0) = (self.next, self.rows.1);
        if self.stored == self.end { self.clear() } else { Ok(()) }
    }

    /// Makes what was appended durable.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn sync(&mut self) -> io::Result<()> {
        if self.is_dirty {
            self.file.sync_data()?;
            self.is_dirty = false;
        }
        Ok(())
    }

    /// Begins anew, with room reserved.
    fn clear(&mut self) -> io::Result<()> {
        let begin = HEAD_OCTETS as u64;
        (self.end, self.next, self.stored, self.rows, self.is_dirty) = (begin, begin, begin, (0, 0), false);
        self.file.set_len(begin)?;
        self.file.write_all_at(&journal::head(), 0)?;
        // A file system that cannot reserve takes what it can when the time comes; a disk that is full, too.
        let keep = rustix::fs::FallocateFlags::KEEP_SIZE;
        let _ = rustix::fs::fallocate(&self.file, keep, 0, RESERVE_OCTETS.min(self.octets_max));
        Ok(())
    }

    /// Finds the end of what was written, and how many rows there are.
    fn scan(&mut self, found: &mut Found) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        while let Some((frame, body)) = self.within(self.end, length)? {
            let next = self.end + (FRAME_OCTETS + frame.octets) as u64;
            if frame.is_of(&body) {
                found.rows += frame.rows;
            } else if self.within(next, length)?.is_some_and(|(after, body)| after.is_of(&body)) {
                // One that is damaged in the midst of others.
                found.damaged.0 += 1;
                found.damaged.1 += frame.rows;
            } else {
                break;
            }
            self.end = next;
        }
        found.torn_octets = length.saturating_sub(self.end);
        if self.within(self.end, length)?.is_some() {
            // Not torn but damaged, and what lies behind cannot be told from it: kept for whoever wants to look.
            found.damaged_aside = Some(self.keep_tail(length)?);
        }
        if found.torn_octets > 0 {
            self.file.set_len(self.end)?;
        }
        self.rows = (found.rows + found.damaged.1, found.rows + found.damaged.1);
        Ok(())
    }

    /// Copies what is behind the end to a file of its own.
    fn keep_tail(&self, length: u64) -> io::Result<PathBuf> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let path = free_name(folder, "damaged");
        let (mut tail, mut at) = (File::create(&path)?, self.end);
        let mut piece = vec![0; 1 << 20];
        while at < length {
            let octets = usize::try_from(length - at).map_or(piece.len(), |left| left.min(piece.len()));
            self.file.read_exact_at(&mut piece[..octets], at)?;
            tail.write_all(&piece[..octets])?;
            at += octets as u64;
        }
        tail.sync_all()?;
        Ok(path)
    }

    /// The record at a place; none at the end.
    fn record(&self, at: u64) -> io::Result<Option<(Frame, Vec<u8>)>> {
        self.within(at, self.end)
    }

    /// The record at a place of a file of so many octets; none if it is not there to its end.
    fn within(&self, at: u64, length: u64) -> io::Result<Option<(Frame, Vec<u8>)>> {
        let mut head = [0; FRAME_OCTETS];
        let body = at.saturating_add(FRAME_OCTETS as u64);
        if body > length {
            return Ok(None);
        }
        self.file.read_exact_at(&mut head, at)?;
        let frame = Frame::of(&head).filter(|frame| body.saturating_add(frame.octets as u64) <= length);
        let Some(frame) = frame else { return Ok(None) };
        let mut octets = vec![0; frame.octets];
        self.file.read_exact_at(&mut octets, body)?;
        Ok(Some((frame, octets)))
    }
}

/// Opens it, for one program alone; one that is new gets its head.
fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    // A file system without locks: whoever starts a second run on one data folder is told by the packet log.
    if let Err(rustix::io::Errno::WOULDBLOCK) =
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)
    {
        return Err(io::Error::new(io::ErrorKind::WouldBlock, "another trunkline run has it"));
    }
    if file.metadata()?.len() < HEAD_OCTETS as u64 {
        file.set_len(0)?;
        file.write_all_at(&journal::head(), 0)?;
    }
    Ok(file)
}

fn is_ours(file: &File) -> io::Result<bool> {
    let mut head = [0; HEAD_OCTETS];
    file.read_exact_at(&mut head, 0)?;
    Ok(head == journal::head())
}

/// A name that is free.
fn free_name(folder: &Path, what: &str) -> PathBuf {
    let names = (1..).map(|n: u32| folder.join(format!("{NAME}.{what}-{n}")));
    names.into_iter().find(|path| !path.exists()).unwrap_or_else(|| folder.join(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_store::row::Loss;

    fn rows(count: u64) -> Rows {
        let losses = (0..count).map(|i| Loss { since_ns: i as i64, count, place: "ring".into(), ..Loss::default() });
        Rows { losses: losses.collect(), ..Rows::default() }
    }

    fn all(journal: &mut Journal) -> Vec<u64> {
        let mut counts = Vec::new();
        while let Some(taken) = journal.take().unwrap() {
            counts.push(match taken {
                Taken::Rows(rows) => rows.losses.len() as u64,
                Taken::Damaged(rows) => 1000 + rows,
            });
        }
        counts
    }

    #[test]
    fn what_is_not_stored_is_there_at_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, found) = Journal::open(folder.path()).unwrap();
        assert_eq!((found, journal.is_empty()), (Found::default(), true));
        assert!(Journal::open(folder.path()).is_err(), "one at a time");
        for count in 1..=4 {
            journal.append(&rows(count)).unwrap();
        }
        assert!(matches!(journal.take().unwrap(), Some(Taken::Rows(_))));
        journal.stored().unwrap();
        assert_eq!((journal.rows(), all(&mut journal)), (9, vec![2, 3, 4]));
        // The store failed: they are taken again.
        journal.again();
        assert_eq!(all(&mut journal), [2, 3, 4]);
        drop(journal);
        let (mut journal, found) = Journal::open(folder.path()).unwrap();
        // Which of them are in the store is not written down: that costs nothing but time.
        assert_eq!((found.rows, all(&mut journal)), (10, vec![1, 2, 3, 4]));
        journal.stored().unwrap();
        assert!(journal.is_empty() && journal.octets() == HEAD_OCTETS as u64);
        journal.append(&rows(5)).unwrap();
        assert_eq!(all(&mut journal), [5]);
    }

    #[test]
    fn killed_at_any_octet_it_keeps_all_that_was_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(folder.path()).unwrap();
        let mut ends = vec![journal.octets()];
        for count in [3, 1, 2] {
            journal.append(&rows(count)).unwrap();
            ends.push(journal.octets());
        }
        drop(journal);
        let path = folder.path().join(NAME);
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..=whole.len() as u64 {
            std::fs::write(&path, &whole[..cut as usize]).unwrap();
            let (mut journal, found) = Journal::open(folder.path()).unwrap();
            let kept = ends.iter().filter(|end| **end <= cut).count().saturating_sub(1);
            let torn = if cut < ends[0] { 0 } else { cut - ends[kept] };
            assert_eq!((found.torn_octets, found.rows), (torn, [0, 3, 4, 6][kept]), "cut at {cut}");
            // And it goes on where it ended.
            journal.append(&rows(9)).unwrap();
            assert_eq!(all(&mut journal), [&[3, 1, 2][..kept], &[9]].concat());
        }
    }

    #[test]
    fn a_damaged_record_costs_its_own_rows() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(folder.path()).unwrap();
        journal.append(&rows(3)).unwrap();
        let at = journal.octets() as usize + FRAME_OCTETS + 3;
        journal.append(&rows(1)).unwrap();
        journal.append(&rows(2)).unwrap();
        drop(journal);
        let path = folder.path().join(NAME);
        let mut octets = std::fs::read(&path).unwrap();
        octets[at] ^= 1;
        std::fs::write(&path, octets).unwrap();
        let (mut journal, found) = Journal::open(folder.path()).unwrap();
        assert_eq!((found.rows, found.damaged, found.torn_octets), (5, (1, 1), 0));
        assert_eq!(all(&mut journal), [3, 1001, 2]);
    }

    #[test]
    fn it_is_bounded_and_another_versions_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open_within(folder.path(), 200).unwrap();
        journal.append(&rows(3)).unwrap();
        let octets = journal.octets();
        assert!(journal.append(&rows(30)).is_err() && journal.octets() == octets);
        assert_eq!(all(&mut journal), [3]);
        drop(journal);
        std::fs::write(folder.path().join(NAME), b"TKLROWS\nof another version, and its rows").unwrap();
        let (journal, found) = Journal::open(folder.path()).unwrap();
        assert!(journal.is_empty() && found.aside.is_some_and(|path| path.exists()));
    }
}
