//! Reports that wait for their receivers: files beside the log. A record of the log has only their name, so that it
//! stays small; a file is there before the record that names it, and goes when no message needs it any more.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use trunkline_kit::place;

/// Reports that wait; further ones are not made until there is room.
// Limit: reports waiting for their receivers
// Beyond: further reports are made when there is room
// Seen in: `trunkline_alert_reports_failed_total`
pub const REPORTS_WAITING_MAX: usize = 64;
/// Octets of a file: what a report comes to at most, its pictures in base64.
pub const REPORT_OCTETS_MAX: usize = 16 << 20;
/// The parts of a report, by the ends of their names.
const MAIL: &str = "mime";
const JSON: &str = "json";

/// The folder.
#[derive(Clone, Debug)]
pub struct Shelf {
    folder: PathBuf,
}

impl Shelf {
    /// In the folder of the log.
    pub fn of(log: &Path) -> Shelf {
        Shelf { folder: log.join("reports") }
    }

    /// Writes a report: both parts are on disk when it returns.
    ///
    /// # Errors
    /// Too many wait, it is too long, or the system's.
    pub fn put(&self, name: &str, mail: &str, json: &str) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        if self.names()?.iter().filter(|known| *known != name).count() >= REPORTS_WAITING_MAX {
            return Err(io::Error::other(format!("{REPORTS_WAITING_MAX} reports wait for their receivers already")));
        }
        for (end, text) in [(MAIL, mail), (JSON, json)] {
            if text.len() > REPORT_OCTETS_MAX {
                return Err(io::Error::other(format!("it has more than {REPORT_OCTETS_MAX} octets")));
            }
            place::replace(&self.path(name, end), text.as_bytes(), place::PRIVATE)?;
        }
        Ok(())
    }

    /// What a mail has behind its own header fields.
    ///
    /// # Errors
    /// The system's: NotFound if there is none.
    pub fn mail(&self, name: &str) -> io::Result<String> {
        fs::read_to_string(self.path(name, MAIL))
    }

    /// What a webhook is posted, an object without its identifier.
    ///
    /// # Errors
    /// As [`mail`](Self::mail).
    pub fn json(&self, name: &str) -> io::Result<String> {
        fs::read_to_string(self.path(name, JSON))
    }

    /// Removes a report.
    pub fn remove(&self, name: &str) {
        for end in [MAIL, JSON] {
            // What is not there any more needs no removal; what cannot be removed is tried again at the next start.
            let _gone = fs::remove_file(self.path(name, end));
        }
    }

    /// Removes what nobody needs, as a crash may leave it.
    pub fn keep_only(&self, needed: &BTreeSet<String>) {
        for name in self.names().unwrap_or_default().difference(needed) {
            self.remove(name);
        }
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.path().extension().is_some_and(|end| end == "part") {
                let _gone = fs::remove_file(entry.path());
            }
        }
    }

    /// The reports that are there, whole or in part.
    fn names(&self) -> io::Result<BTreeSet<String>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            Err(error) => return Err(error),
        };
        let name = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            [MAIL, JSON].iter().find_map(|end| name.strip_suffix(end)?.strip_suffix('.').map(str::to_owned))
        };
        entries.filter_map(|entry| entry.map(name).transpose()).collect()
    }

    fn path(&self, name: &str, end: &str) -> PathBuf {
        self.folder.join(format!("{name}.{end}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_kept_while_they_are_needed() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::of(folder.path());
        shelf.keep_only(&BTreeSet::new());
        shelf.put("a-1", "mail a", "{a}").unwrap();
        shelf.put("b-2", "mail b", "{b}").unwrap();
        fs::write(folder.path().join("reports/c-3.mime.part"), "half").unwrap();
        shelf.keep_only(&BTreeSet::from(["a-1".to_owned()]));
        assert_eq!((shelf.mail("a-1").unwrap(), shelf.json("a-1").unwrap()), ("mail a".to_owned(), "{a}".to_owned()));
        assert_eq!(shelf.mail("b-2").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(fs::read_dir(folder.path().join("reports")).unwrap().count(), 2);
        for number in 1..REPORTS_WAITING_MAX {
            shelf.put(&format!("d-{number}"), "", "").unwrap();
        }
        assert!(shelf.put("e-1", "", "").is_err(), "too many");
        shelf.put("a-1", "again", "").unwrap();
        assert!(shelf.put("a-1", &"x".repeat(REPORT_OCTETS_MAX + 1), "").is_err());
    }
}
