//! A series after a start, and when its files are old.

use super::{FILE_OCTETS_MAX, Form, Series, part};
use crate::job::records::cursor::{Open, read_whole, write_whole};
use std::io;
use trunkline_commit::Disk;
use trunkline_wire::cdr::file::{Closure, FileTime};

impl<D: Disk> Series<D> {
    /// Removes closed files of this node that are older than they are kept; how many those were. Their age is that of
    /// the time in their names.
    ///
    /// # Errors
    /// The system's: what is left goes later.
    pub fn forget(&self, now: i64) -> io::Result<usize> {
        let Some(keep) = self.settings.keep_s else { return Ok(0) };
        let before = now.saturating_sub(i64::try_from(keep).unwrap_or(i64::MAX));
        let (names, ours) = (self.disk.list()?, format!("{}_-_", self.settings.node.id()));
        // Rows go when they are in the store.
        let forms = [Form::Ber, Form::Csv].map(|form| format!(".{}", form.ending()));
        let is_file = |name: &&String| name.starts_with(&ours) && forms.iter().any(|ending| name.ends_with(ending));
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
        if others && Form::ALL.iter().any(there) {
            return self.close_as_it_is(&open, &names);
        }
        tracing::error!(
            "charging: record file {} is gone or shorter than it was: {} records",
            open.count,
            open.records
        );
        self.cursor.lost += u64::from(open.records);
        self.cursor.open = None;
        self.cursor.save(&*self.disk)
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
        let mut octets = read_whole(&*self.disk, &file, 2 * FILE_OCTETS_MAX as usize)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if octets.len() > length {
            octets.truncate(length);
            let mended = format!("{name}.mended");
            write_whole(&*self.disk, &mended, &octets)?;
            self.disk.rename(&mended, name)?;
        }
        Ok(octets.len() == length)
    }
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
