//! A series after a start, and when its files are old.

use super::{Form, Series, part};
use crate::job::records::cursor::Open;
use std::io;
use trunkline_commit::Disk;
use trunkline_wire::cdr::file::{Closure, FileTime};

/// Octets that are copied at a time.
const PIECE_OCTETS: usize = 1 << 20;

impl<D: Disk> Series<D> {
    /// Removes closed files of this node that are older than they are kept, but for those from a running count on; how
    /// many those were. Their age is that of the time in their names.
    ///
    /// # Errors
    /// The system's: what is left goes later.
    pub fn forget(&self, now: i64, spared: Option<u32>) -> io::Result<usize> {
        let Some(keep) = self.settings.keep_s else { return Ok(0) };
        let before = now.saturating_sub(i64::try_from(keep).unwrap_or(i64::MAX));
        let (names, ours) = (self.disk.list()?, format!("{}_-_", self.settings.node.id()));
        // Rows go when they are in the store.
        let forms = [Form::Ber, Form::Csv].map(|form| format!(".{}", form.ending()));
        // Counts begin again after the last one.
        let is_spared = |name: &str| {
            spared.zip(count_of(name)).is_some_and(|(spared, count)| count.wrapping_sub(spared) as i32 >= 0)
        };
        let is_file = |name: &&String| {
            name.starts_with(&ours) && forms.iter().any(|ending| name.ends_with(ending)) && !is_spared(name)
        };
        let old = names.iter().filter(is_file).filter(|name| closed_at(name).is_some_and(|at| at < before));
        old.map(|name| self.disk.remove(name)).try_fold(0, |count, removed| removed.map(|()| count + 1))
    }

    /// After a start: what is being closed is closed, and what the cursor does not count is cut off.
    pub(super) fn mend(&mut self) -> io::Result<()> {
        self.finish_closing()?;
        let Some(open) = self.cursor.open.clone() else { return Ok(()) };
        let whole = self.settings.forms.len() == open.octets.len();
        let mut kept = whole;
        for (form, length) in self.settings.forms.iter().zip(&open.octets).filter(|_| whole) {
            kept &= self.cut(&part(open.count, *form), *length)?;
        }
        if kept {
            return Ok(());
        }
        // Other forms than before: they go on in a file of their own. What is gone is told by that file.
        let names = self.disk.list()?;
        let there = |form: &Form| names.contains(&part(open.count, *form));
        let others = !whole || !self.settings.forms.iter().any(there);
        if !self.shared && others && Form::ALL.iter().any(there) {
            return self.close_as_it_is(&open, &names);
        }
        tracing::error!(
            "charging: record file {} is gone or shorter than it was: {} records",
            open.count,
            open.records
        );
        if self.shared {
            // Other nodes have the file whole: the next one here ends where theirs does, with its number.
            self.set_aside(&open, &names)?;
            self.cursor.next = open.count;
        }
        self.cursor.lost += u64::from(open.records);
        self.cursor.open = None;
        self.cursor.save(&*self.disk)
    }

    /// Renames what is left of a file, so that it is in nothing that comes.
    fn set_aside(&self, open: &Open, names: &[String]) -> io::Result<()> {
        for form in Form::ALL {
            let left = part(open.count, form);
            if names.contains(&left) {
                self.disk.rename(&left, &format!("lost-{}.{}", open.count, form.ending()))?;
            }
        }
        Ok(())
    }

    /// Gives a file its name whose forms are not those of now.
    fn close_as_it_is(&mut self, open: &Open, names: &[String]) -> io::Result<()> {
        let forms = std::mem::take(&mut self.settings.forms);
        let all = Form::ALL.into_iter();
        self.settings.forms = all.filter(|form| names.contains(&part(open.count, *form))).collect();
        let lengths = self.settings.forms.len() == open.octets.len();
        for (form, length) in self.settings.forms.clone().iter().zip(&open.octets).filter(|_| lengths) {
            self.cut(&part(open.count, *form), *length)?;
        }
        let closed = self.close(Closure::Normal, open.appended);
        self.settings.forms = forms;
        closed.map(drop)
    }

    /// Cuts a file off at a length; false where it is not so long.
    fn cut(&self, name: &str, length: u64) -> io::Result<bool> {
        let file = match self.disk.open(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            opened => opened?,
        };
        // However long it has become.
        let reaches = |at: u64| self.disk.read(&file, at, &mut [0]).map(|read| read > 0);
        if reaches(length)? {
            let mended = format!("{name}.mended");
            self.copy(&file, &mended, length)?;
            self.disk.rename(&mended, name)?;
            return Ok(true);
        }
        Ok(length == 0 || reaches(length - 1)?)
    }

    /// Copies the beginning of a file, which is on stable storage after it.
    fn copy(&self, from: &D::File, to: &str, length: u64) -> io::Result<()> {
        let (into, mut at, mut piece) = (self.disk.make(to, 0)?, 0, vec![0; PIECE_OCTETS]);
        while at < length {
            let most = usize::try_from(length - at).unwrap_or(usize::MAX).min(PIECE_OCTETS);
            match self.disk.read(from, at, &mut piece[..most])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => {
                    self.disk.write(&into, at, &piece[..read])?;
                    at += read as u64;
                }
            }
        }
        self.disk.sync(&into)
    }
}

/// The running count in the name of a closed file.
pub fn count_of(name: &str) -> Option<u32> {
    let (rest, _) = name.rsplit_once("_-_")?;
    let (before, _) = rest.rsplit_once('.')?;
    before.rsplit_once("_-_")?.1.parse().ok()
}

/// When a file was closed, by its name: `ocs1_-_42.20261123_-_0220+0000.ber`, at UTC as this program writes it.
fn closed_at(name: &str) -> Option<i64> {
    let (rest, time) = name.rsplit_once("_-_")?;
    let (_, date) = rest.rsplit_once('.')?;
    let digits = |text: &str| text.bytes().all(|c| c.is_ascii_digit()).then(|| text.parse::<i64>().ok()).flatten();
    let (date, time) = (digits(date.get(..8)?)?, digits(time.get(..4)?)?);
    let two = |number: i64| u8::try_from(number % 100).unwrap_or_default();
    let (month, day, hour, minute) = (two(date / 100), two(date), two(time / 100), two(time));
    let time = FileTime { month, day, hour, minute, offset_minutes: 0 }.in_year(date / 10_000)?;
    Some(time.unix_seconds)
}

/// That a folder without a cursor has no files either.
pub(super) fn fresh<D: Disk>(disk: &D) -> Result<(), String> {
    let names = disk.list().map_err(|error| format!("the folder of record files: {error}"))?;
    let ours = |name: &&String| name.contains("_-_") || name.starts_with("open-");
    match names.iter().find(ours) {
        // Before the first commit a file may be there that does not count.
        Some(name) if !name.starts_with("open-0.") => Err(format!(
            "there is {name}, and no cursor: how far records have come is not known; move the files elsewhere, and all \
             that the ledger has is written again"
        )),
        _ => Ok(()),
    }
}
