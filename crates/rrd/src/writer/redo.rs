//! The redo files: what is to be written to files, before it is.
//!
//! There are two, of a fixed length, written in turn. Each begins with its generation, one higher than the other's;
//! then come entries, each with a checksum over the generation and itself: a file's path, marks of it, the times
//! before and after its samples, and pieces with their places. What was written of an earlier generation has another
//! checksum, so reading ends where writing did.
//!
//! 1. Entries of several files are appended, and the redo file is synced. From here on they count: `stored`. Together
//!    they take at most about half of a redo file, and one of them a quarter: of a file that has more samples the
//!    others wait for another round. Equal rows of a gap are one piece that says how often it is written.
//! 2. The pieces are written to the files, in no order and without a sync.
//! 3. When the redo file is full, all files are synced, and only then the other redo file is written over.
//!
//! So whatever a crash lets the disk keep of 2, a block torn or the header without its rows, a start that repeats both
//! redo files from the older on makes every file what it was to be: pieces say what to write, not what to add. An entry
//! that is not whole was not counted, and nothing of it is in a file. Entries of a file that somebody has made anew,
//! cut or updated since are left out.

use core::ops::{Range, RangeInclusive};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::Counters;
use super::cache::Known;
use crate::archive::{Rows, Time, spread};
use crate::disk::Disk;
use crate::fault::Fault;
use crate::shape::{Shape, word};

/// Names of the two files.
pub const NAMES: [&str; 2] = ["redo.0", "redo.1"];
const MAGIC: &[u8; 8] = b"TRRDRED2";
const HEAD_OCTETS: usize = 24;
const ENTRY_HEAD_OCTETS: usize = 8;
/// Octets of an entry's own head, behind that, without the path; and of each piece's.
const BODY_HEAD_OCTETS: usize = 40;
const PIECE_HEAD_OCTETS: usize = 24;
/// Pieces that one sample makes of an archive: the row that was open, the one after a gap's first step, and equal ones
/// of each, which may go round.
const PIECES_OF_A_SAMPLE: usize = 6;
/// Octets of a redo file at least.
const REDO_OCTETS_MIN: u64 = 1 << 16;

/// What a start found in the redo files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Entries that were repeated.
    pub entries: u64,
    /// Entries of files that are gone.
    pub gone: u64,
    /// Entries of files that were changed since by others.
    pub changed: u64,
}

/// What is to be said of a redo file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedoCheck {
    /// It was never written.
    Unused,
    /// Its head and so many entries are whole. Whether a damaged one follows as the last, nobody can tell: what an
    /// earlier generation left there looks the same.
    Whole(usize),
    /// Its head is damaged.
    Head,
    /// The entry at this octet is damaged: whole ones of the same generation are behind it.
    Entry(u64),
}

/// Looks through the octets of a redo file.
pub fn redo_check(octets: &[u8]) -> RedoCheck {
    let Some(head) = octets.get(..HEAD_OCTETS) else { return RedoCheck::Head };
    if head.iter().all(|o| *o == 0) {
        return RedoCheck::Unused;
    }
    if !head.starts_with(MAGIC) || word(head, 16) != u64::from(crc32fast::hash(&head[..16])) {
        return RedoCheck::Head;
    }
    let (generation, mut at, mut entries) = (word(head, 8), HEAD_OCTETS, 0);
    let entry = |at: usize| {
        let (head, rest) = octets.get(at..)?.split_at_checked(ENTRY_HEAD_OCTETS)?;
        let length = u32_at(head, 0) as usize;
        let body = rest.get(..length).filter(|body| !body.is_empty())?;
        Some((at + ENTRY_HEAD_OCTETS + length, checksum(generation, body) == u32_at(head, 4)))
    };
    while let Some((next, is_whole)) = entry(at) {
        if !is_whole {
            let resumes = entry(next).is_some_and(|(_, is_whole)| is_whole);
            return if resumes { RedoCheck::Entry(at as u64) } else { RedoCheck::Whole(entries) };
        }
        (at, entries) = (next, entries + 1);
    }
    RedoCheck::Whole(entries)
}

pub(super) struct Redo<D: Disk> {
    files: [D::File; 2],
    octets: u64,
    /// Which one is written, where, and its generation.
    turn: usize,
    at: u64,
    generation: u64,
    buffer: Vec<u8>,
    /// A sync has failed: the system may have dropped what it was to write, and another one would not tell.
    broken: bool,
}

/// An entry in the buffer.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Its pieces: where in the file, where in the buffer, and how often it is written.
    pieces: Vec<(u64, Range<usize>, u64)>,
}

/// A piece: where in the file, its octets, and how often they stand there.
#[derive(Debug)]
pub(super) struct Piece {
    at: u64,
    octets: Vec<u8>,
    times: u64,
}

impl Piece {
    /// Where it ends, if it does.
    fn end(&self) -> Option<u64> {
        self.at.checked_add((self.octets.len() as u64).checked_mul(self.times)?)
    }

    pub fn write(&self, write: impl FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
        spread(self.at, &self.octets, self.times, write)
    }
}

impl<D: Disk> Redo<D> {
    /// Repeats both files, syncs what that wrote, and begins anew.
    pub fn open(disk: &D, octets: u64) -> Result<(Redo<D>, Recovered), Fault> {
        let octets = octets.max(REDO_OCTETS_MIN);
        let make = |name: &str| match disk.make(Path::new(name), octets) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(Fault::Locked),
            made => Ok(made?),
        };
        let files = [make(NAMES[0])?, make(NAMES[1])?];
        let mut found = [Found::read(disk, &files[0])?, Found::read(disk, &files[1])?];
        found.sort_by_key(|found| found.generation);
        let mut recovered = Recovered::default();
        let entries = || found.iter().flat_map(|found| &found.entries);
        // A file is before or at any of its entries: what is elsewhere was made anew, or somebody has gone on with it.
        let mut spans: HashMap<&Path, RangeInclusive<i64>> = HashMap::new();
        for entry in entries() {
            let span = spans.entry(&entry.path).or_insert(entry.from_s..=entry.last_s);
            *span = entry.from_s.min(*span.start())..=entry.last_s.max(*span.end());
        }
        for entry in entries() {
            if let Some(span) = spans.get(entry.path.as_path()) {
                repeat(disk, entry, span, &mut recovered)?;
            }
        }
        disk.sync_all()?;
        let generation = found[1].generation;
        let mut redo = Redo { files, octets, turn: 0, at: 0, generation, buffer: Vec::new(), broken: false };
        // Both, so that no entry of before is repeated over what comes now.
        redo.begin(disk)?;
        redo.begin(disk)?;
        Ok((redo, recovered))
    }

    /// Begins the other file: all files are synced.
    fn begin(&mut self, disk: &D) -> Result<(), Fault> {
        let (turn, generation) = (1 - self.turn, self.generation + 1);
        let mut head = MAGIC.to_vec();
        head.extend_from_slice(&generation.to_le_bytes());
        let crc = crc32fast::hash(&head);
        head.extend_from_slice(&u64::from(crc).to_le_bytes());
        disk.write(&self.files[turn], 0, &head)?;
        self.synced(disk.sync(&self.files[turn]))?;
        (self.turn, self.generation, self.at) = (turn, generation, HEAD_OCTETS as u64);
        Ok(())
    }

    fn synced(&mut self, result: io::Result<()>) -> Result<(), Fault> {
        self.broken |= result.is_err();
        result.map_err(Fault::Unsynced)
    }

    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Whether what is written still counts.
    pub fn check(&self) -> Result<(), Fault> {
        if self.broken {
            return Err(Fault::Unsynced(io::Error::other("a sync has failed before")));
        }
        Ok(())
    }

    /// Octets that an entry may have.
    fn entry_octets_max(&self) -> usize {
        (self.octets as usize - HEAD_OCTETS) / 4
    }

    /// Octets that the rows of an entry may take before its last sample, those of a piece's head with them.
    ///
    /// # Errors
    /// [`Fault::Asked`]: the file's header and one sample alone have no room.
    pub fn room(&self, path: &Path, shape: &Shape) -> Result<usize, Fault> {
        let header = ENTRY_HEAD_OCTETS + BODY_HEAD_OCTETS + path.as_os_str().len() + shape.header_octets;
        let row = shape.sources.len() * 8 + PIECE_HEAD_OCTETS;
        let least = header + PIECE_HEAD_OCTETS + shape.rings.len() * PIECES_OF_A_SAMPLE * row;
        self.entry_octets_max().checked_sub(least).ok_or_else(|| {
            let redo = self.octets;
            Fault::asked(format!(
                "a sample of this file takes up to {least} octets, too much for a redo file of {redo}"
            ))
        })
    }

    /// Whether there is no room for another entry.
    pub fn is_full(&self) -> bool {
        self.buffer.len() >= 2 * self.entry_octets_max()
    }

    pub fn clear(&mut self) {
        self.buffer.clear();
    }

    /// Appends what a file's samples changed to the buffer; it was at `from` before them.
    pub fn enter(&mut self, path: &Path, known: &Known, from: Time, rows: &Rows) -> Place {
        let begin = self.buffer.len();
        let archive = &known.archive;
        let (shape, last) = (archive.shape(), archive.last());
        let path = path.as_os_str().as_bytes();
        self.buffer.extend_from_slice(&[0; ENTRY_HEAD_OCTETS]);
        self.buffer.extend_from_slice(&(path.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(&known.still_crc.to_le_bytes());
        self.buffer.extend_from_slice(&known.mark.number.to_le_bytes());
        self.buffer.extend_from_slice(&from.seconds.to_le_bytes());
        self.buffer.extend_from_slice(&last.seconds.to_le_bytes());
        self.buffer.extend_from_slice(&(shape.still_octets as u64).to_le_bytes());
        self.buffer.extend_from_slice(path);
        let mut pieces = Vec::with_capacity(16);
        for write in rows.writes(shape) {
            self.piece_head(write.at, write.words.len() * 8, write.times);
            let from = self.buffer.len();
            write.words.iter().for_each(|word| self.buffer.extend_from_slice(&word.to_le_bytes()));
            pieces.push((write.at, from..self.buffer.len(), write.times));
        }
        self.piece_head(shape.still_octets as u64, archive.live_words() * 8, 1);
        let from = self.buffer.len();
        archive.write_live(&mut self.buffer);
        pieces.push((shape.still_octets as u64, from..self.buffer.len(), 1));
        let length = (self.buffer.len() - begin - ENTRY_HEAD_OCTETS) as u32;
        self.buffer[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
        Place { pieces }
    }

    fn piece_head(&mut self, at: u64, octets: usize, times: u64) {
        [at, octets as u64, times].iter().for_each(|word| self.buffer.extend_from_slice(&word.to_le_bytes()));
    }

    /// The buffer to stable storage.
    ///
    /// # Errors
    /// [`Fault::Io`]: it can be tried again. [`Fault::Unsynced`]: never again.
    pub fn commit(&mut self, disk: &D, counters: &mut Counters) -> Result<(), Fault> {
        if self.at + self.buffer.len() as u64 > self.octets {
            self.synced(disk.sync_all())?;
            counters.full_syncs_total += 1;
            self.begin(disk)?;
        }
        self.seal();
        disk.write(&self.files[self.turn], self.at, &self.buffer)?;
        self.synced(disk.sync(&self.files[self.turn]))?;
        self.at += self.buffer.len() as u64;
        counters.redo_octets_total += self.buffer.len() as u64;
        counters.redo_syncs_total += 1;
        Ok(())
    }

    /// Checksums, now that the generation is known.
    fn seal(&mut self) {
        let mut at = 0;
        while at < self.buffer.len() {
            let length = u32_at(&self.buffer, at) as usize;
            let end = at + ENTRY_HEAD_OCTETS + length;
            let crc = checksum(self.generation, &self.buffer[at + ENTRY_HEAD_OCTETS..end]);
            self.buffer[at + 4..at + 8].copy_from_slice(&crc.to_le_bytes());
            at = end;
        }
    }

    /// Writes the pieces of an entry to its file.
    pub fn apply(&self, place: &Place, mut write: impl FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut pieces = place.pieces.iter();
        pieces.try_for_each(|(at, range, times)| spread(*at, &self.buffer[range.clone()], *times, &mut write))
    }

    /// The pieces of an entry, for who writes them later.
    pub fn pieces(&self, place: &Place) -> Vec<Piece> {
        let piece = |(at, range, times): &(u64, Range<usize>, u64)| Piece {
            at: *at,
            octets: self.buffer[range.clone()].to_vec(),
            times: *times,
        };
        place.pieces.iter().map(piece).collect()
    }
}

/// Octets of an entry that the words of so many pieces take.
pub(super) fn octets_of(words: usize, pieces: usize) -> usize {
    words + pieces * PIECE_HEAD_OCTETS
}

fn checksum(generation: u64, octets: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&generation.to_le_bytes());
    hasher.update(octets);
    hasher.finalize()
}

fn u32_at(octets: &[u8], at: usize) -> u32 {
    octets.get(at..at + 4).and_then(|o| o.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// What one redo file holds.
struct Found {
    generation: u64,
    entries: Vec<Entry>,
}

struct Entry {
    path: PathBuf,
    still_crc: u32,
    number: u64,
    /// Seconds: where the file was, and where it is then.
    from_s: i64,
    last_s: i64,
    still_octets: u64,
    pieces: Vec<Piece>,
}

impl Found {
    /// As far as it is whole; a file that never was written has nothing.
    fn read<D: Disk>(disk: &D, file: &D::File) -> Result<Found, Fault> {
        let mut found = Found { generation: 0, entries: Vec::new() };
        let mut head = [0; HEAD_OCTETS];
        let got = disk.read(file, 0, &mut head)?;
        let whole = got == HEAD_OCTETS && &head[..8] == MAGIC;
        if !whole || word(&head, 16) != u64::from(crc32fast::hash(&head[..16])) {
            return Ok(found);
        }
        found.generation = word(&head, 8);
        let length = disk.mark(file)?.octets;
        let mut at = HEAD_OCTETS as u64;
        while let Some((entry, octets)) = read_entry(disk, file, at, length, found.generation)? {
            found.entries.push(entry);
            at += octets;
        }
        Ok(found)
    }
}

fn read_entry<D: Disk>(
    disk: &D,
    file: &D::File,
    at: u64,
    length: u64,
    generation: u64,
) -> Result<Option<(Entry, u64)>, Fault> {
    let mut head = [0; ENTRY_HEAD_OCTETS];
    if disk.read(file, at, &mut head)? < ENTRY_HEAD_OCTETS {
        return Ok(None);
    }
    let octets = u64::from(u32_at(&head, 0));
    let room = length.saturating_sub(at + ENTRY_HEAD_OCTETS as u64);
    if octets == 0 || octets > room {
        return Ok(None);
    }
    let mut body = vec![0; octets as usize];
    let got = disk.read(file, at + ENTRY_HEAD_OCTETS as u64, &mut body)?;
    if got < body.len() || checksum(generation, &body) != u32_at(&head, 4) {
        return Ok(None);
    }
    Ok(parse_entry(&body).map(|entry| (entry, octets + ENTRY_HEAD_OCTETS as u64)))
}

fn parse_entry(body: &[u8]) -> Option<Entry> {
    let head = body.get(..BODY_HEAD_OCTETS)?;
    let path_octets = u32_at(head, 0) as usize;
    let path = body.get(BODY_HEAD_OCTETS..BODY_HEAD_OCTETS + path_octets)?;
    let mut rest = &body[BODY_HEAD_OCTETS + path_octets..];
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece_head, more) = rest.split_at_checked(PIECE_HEAD_OCTETS)?;
        let (octets, more) = more.split_at_checked(usize::try_from(word(piece_head, 8)).ok()?)?;
        pieces.push(Piece { at: word(piece_head, 0), octets: octets.to_vec(), times: word(piece_head, 16) });
        rest = more;
    }
    Some(Entry {
        path: PathBuf::from(OsStr::from_bytes(path)),
        still_crc: u32_at(head, 4),
        number: word(head, 8),
        from_s: word(head, 16) as i64,
        last_s: word(head, 24) as i64,
        still_octets: word(head, 32),
        pieces,
    })
}

/// Writes an entry's pieces again, if the file is the one that it was, and nobody has gone on with it.
fn repeat<D: Disk>(
    disk: &D,
    entry: &Entry,
    span: &RangeInclusive<i64>,
    recovered: &mut Recovered,
) -> Result<(), Fault> {
    let file = match disk.open(&entry.path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            recovered.gone += 1;
            return Ok(());
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(Fault::Locked),
        Err(error) => return Err(error.into()),
    };
    if !is_the_one(disk, &file, entry, span)? {
        recovered.changed += 1;
        return Ok(());
    }
    entry.pieces.iter().try_for_each(|piece| piece.write(|at, octets| disk.write(&file, at, octets)))?;
    recovered.entries += 1;
    Ok(())
}

fn is_the_one<D: Disk>(disk: &D, file: &D::File, entry: &Entry, span: &RangeInclusive<i64>) -> Result<bool, Fault> {
    let mark = disk.mark(file)?;
    // What has samples keeps its length: no piece is behind the end.
    let fits = |piece: &Piece| piece.end().is_some_and(|end| end <= mark.octets);
    if mark.number != entry.number || entry.still_octets > mark.octets || !entry.pieces.iter().all(fits) {
        return Ok(false);
    }
    let mut still = vec![0; entry.still_octets as usize + 16];
    let got = disk.read(file, 0, &mut still)?;
    let (still, last) = still.split_at(entry.still_octets as usize);
    let at_s = word(last, 0) as i64;
    Ok(got >= still.len() + 8 && crc32fast::hash(still) == entry.still_crc && span.contains(&at_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of this generation with such bodies, then what an earlier generation left.
    fn file(generation: u64, bodies: &[&[u8]]) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&generation.to_le_bytes());
        let check = u64::from(crc32fast::hash(&out));
        out.extend_from_slice(&check.to_le_bytes());
        for (generation, body) in bodies.iter().map(|body| (generation, *body)).chain([(generation - 2, &b"older"[..])])
        {
            out.extend_from_slice(&(body.len() as u32).to_le_bytes());
            out.extend_from_slice(&checksum(generation, body).to_le_bytes());
            out.extend_from_slice(body);
        }
        out.resize(out.len() + 64, 0);
        out
    }

    #[test]
    fn damage_before_a_whole_entry_is_found_and_the_end_is_none() {
        let whole = file(7, &[b"first one", b"second", b"third"]);
        assert_eq!(redo_check(&whole), RedoCheck::Whole(3));
        assert_eq!(redo_check(&[0; 4096]), RedoCheck::Unused);
        assert_eq!(redo_check(&whole[..HEAD_OCTETS - 1]), RedoCheck::Head);
        let flipped = |at: usize| {
            let mut octets = whole.clone();
            octets[at] ^= 1;
            redo_check(&octets)
        };
        (0..HEAD_OCTETS).for_each(|at| assert_eq!(flipped(at), RedoCheck::Head, "{at}"));
        let first = HEAD_OCTETS + ENTRY_HEAD_OCTETS;
        let second = first + 9 + ENTRY_HEAD_OCTETS;
        let third = second + 6 + ENTRY_HEAD_OCTETS;
        assert_eq!(flipped(first + 3), RedoCheck::Entry(HEAD_OCTETS as u64));
        assert_eq!(flipped(second + 3), RedoCheck::Entry(first as u64 + 9));
        assert_eq!(flipped(third + 3), RedoCheck::Whole(2), "the last one may never have been written");
    }
}
