//! Record files as they are written: those that are closed, then the one that is open as far as it counts. What counts
//! of an open file is never taken back, and its octets stay when it is closed.

use crate::gateway::{Records, packet};
use crate::job::records::{Form, count_of};
use crate::session::Mark;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use trunkline_wire::cdr::file::FileHeader;

/// Octets that are read at once: more than a record has.
const PIECE_OCTETS: usize = 256 << 10;

/// Where the next packet begins.
pub struct Tail {
    folder: PathBuf,
    at: Mark,
    /// What stands there and was read, and the octets of it that are taken.
    piece: Vec<u8>,
    taken: usize,
    /// Octets of the packet that was given last.
    given: usize,
    /// The file is closed, and all of it was read.
    whole: bool,
    gone: u64,
}

impl Tail {
    /// From a place on.
    pub fn new(folder: PathBuf, at: Mark) -> Tail {
        Tail { folder, at, piece: Vec::new(), taken: 0, given: 0, whole: false, gone: 0 }
    }

    /// Where it is.
    pub fn at(&self) -> Mark {
        self.at
    }

    /// Files that were not there any more, since this was asked last.
    pub fn forget_gone(&mut self) -> u64 {
        std::mem::take(&mut self.gone)
    }

    /// The next packet, the same until it is taken; none if there is none yet. `open` is the running count of the file
    /// that is open, or the next, and octets of it that count.
    ///
    /// # Errors
    /// The system's; a file that is no file of records.
    pub fn next(&mut self, open: (u32, u64)) -> io::Result<Option<Records>> {
        loop {
            if !self.whole && self.taken + PIECE_OCTETS / 2 > self.piece.len() {
                self.read(open)?;
            }
            let left = &self.piece[self.taken..];
            if !left.is_empty() {
                let packet = packet(left).map_err(|broken| self.broken(&broken.to_string()))?;
                let Some((records, octets)) = packet else { return Ok(None) };
                self.given = octets;
                return Ok(Some(records));
            }
            // Counts begin again after the last one.
            if open.0.wrapping_sub(self.at.file) as i32 <= 0 {
                return Ok(None);
            }
            self.go_to(Mark { file: self.at.file.wrapping_add(1), octets: 0 });
        }
    }

    /// The packet that was given last is queued; where the next one begins.
    pub fn take(&mut self) -> Mark {
        self.taken += self.given;
        self.at.octets += self.given as u64;
        self.given = 0;
        self.at
    }

    /// Octets of files that no packet was made of yet.
    ///
    /// # Errors
    /// The system's.
    pub fn waiting(&self, open: (u32, u64)) -> io::Result<u64> {
        let (mut octets, first) = (0, self.at.file);
        if open.0.wrapping_sub(first) as i32 > 0 {
            for entry in std::fs::read_dir(&self.folder)? {
                let entry = entry?;
                let name = entry.file_name();
                let count = name.to_str().filter(|name| is_closed(name)).and_then(count_of);
                if count.is_some_and(|count| count.wrapping_sub(first) as i32 >= 0) {
                    // One that somebody takes away just now is not missed.
                    octets += entry.metadata().map_or(0, |file| file.len());
                }
            }
        }
        Ok((octets + open.1).saturating_sub(self.at.octets))
    }

    fn go_to(&mut self, at: Mark) {
        (self.at, self.taken, self.given, self.whole) = (at, 0, 0, false);
        self.piece.clear();
    }

    /// Reads on, as far as the file counts.
    fn read(&mut self, open: (u32, u64)) -> io::Result<()> {
        self.piece.drain(..self.taken);
        self.taken = 0;
        let (count, octets) = open;
        let (file, end) = match count.wrapping_sub(self.at.file) as i32 {
            0 if octets > self.at.octets => {
                let name = format!("open-{count}.{}.part", Form::Ber.ending());
                match File::open(self.folder.join(name)) {
                    // It is being closed: the next look finds it by its name.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                    opened => (opened?, octets),
                }
            }
            ahead if ahead > 0 => match self.closed()? {
                Some(file) => (file, u64::MAX),
                None => {
                    self.whole = true;
                    return Ok(());
                }
            },
            _ => return Ok(()),
        };
        if self.at.octets == 0 {
            self.at.octets = self.head(&file)?;
        }
        let from = self.at.octets + self.piece.len() as u64;
        let wanted = usize::try_from(end.saturating_sub(from)).unwrap_or(usize::MAX);
        let (have, most) = (self.piece.len(), wanted.min(PIECE_OCTETS));
        self.piece.resize(have + most, 0);
        let mut got = have;
        while got < self.piece.len() {
            match file.read_at(&mut self.piece[got..], self.at.octets + got as u64)? {
                0 => break,
                octets => got += octets,
            }
        }
        self.piece.truncate(got);
        self.whole = end == u64::MAX && got < have + most;
        Ok(())
    }

    /// The file, once it has its name. One that was removed is left out, and told.
    fn closed(&mut self) -> io::Result<Option<File>> {
        for entry in std::fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let name = name.to_str().filter(|name| is_closed(name));
            if name.and_then(count_of) == Some(self.at.file) {
                return name.map(|name| File::open(self.folder.join(name))).transpose();
            }
        }
        tracing::error!(
            "charging: record file {} was gone before it was sent on: what it had from octet {} on is not sent",
            self.at.file,
            self.at.octets
        );
        self.gone += 1;
        Ok(None)
    }

    /// Octets of a file's header.
    fn head(&self, file: &File) -> io::Result<u64> {
        let mut head = [0; 512];
        let octets = file.read_at(&mut head, 0)?;
        let header = FileHeader::read(&head[..octets]).map_err(|broken| self.broken(&broken.to_string()))?;
        Ok(header.octets() as u64)
    }

    fn broken(&self, what: &str) -> io::Error {
        let place = self.at.octets + self.taken as u64;
        io::Error::other(format!("record file {}, octet {place}: {what}", self.at.file))
    }
}

fn is_closed(name: &str) -> bool {
    name.ends_with(".ber") && !name.starts_with("lost-")
}
