//! Where a number may stand that is not forgotten there: what others decide about, what the law asks to keep, and rows
//! that are on their way into the store.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use trunkline_kit::forgotten::Forgotten;
use trunkline_store::journal::{self, FRAME_OCTETS, Frame, HEAD_OCTETS};
use trunkline_store::row::Rows;

/// Rows that wait for the store.
const JOURNAL: &str = "spool/rows.journal";

/// What is not touched.
pub struct Place {
    /// What it is.
    pub what: &'static str,
    /// Where.
    pub path: PathBuf,
    /// How to look.
    pub look: String,
}

/// Those that are there, each with the command that shows what is in it.
pub fn places(data: &Path, number: &Forgotten) -> impl Iterator<Item = Place> {
    let (here, name) = (data.display(), number.name());
    let all = [
        ("the packet log", "packets", format!("trunkline packets ls --data {here}")),
        ("captures that users brought", "captures", format!("ls -l {here}/captures")),
        ("the ledger of charging", "charge/ledger", format!("trunkline charge show msisdn:{name} --data {here}")),
        ("charging data records", "charge/cdr", format!("trunkline charge records --print --data {here}")),
        ("records that a gateway received", "charge/received", format!("ls -l {here}/charge/received")),
        ("reports that wait to be sent", "alert/reports", format!("ls -l {here}/alert/reports")),
        ("files of extractions, for a day", "spool/web", format!("ls -lR {here}/spool/web")),
    ];
    let there = |path: &Path| path.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    let places = all.map(|(what, path, look)| Place { what, path: data.join(path), look });
    places.into_iter().filter(move |place| there(&place.path))
}

/// The journal, if there is one. A pipe, which would hold who opens it, is none.
fn journal_at(path: &Path) -> io::Result<Option<File>> {
    let at_once = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    match OpenOptions::new().read(true).custom_flags(at_once).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.and_then(|file| match file.metadata()?.is_file() {
            true => Ok(Some(file)),
            false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file")),
        }),
    }
}

/// What is to be done again, as rows that name it are not in the store yet, or nobody knows; none if there are no such
/// rows.
pub fn waiting(data: &Path, number: &Forgotten) -> Option<String> {
    let path = data.join(JOURNAL);
    let file = match journal_at(&path) {
        Ok(file) => file?,
        Err(error) => return Some(format!("{}: {error}: rows that name it may wait there", path.display())),
    };
    let (mut at, mut rows, mut head) = (HEAD_OCTETS as u64, 0, [0; FRAME_OCTETS]);
    while file.read_exact_at(&mut head, at).is_ok() {
        let Some(frame) = Frame::of(&head) else { break };
        let mut body = vec![0; frame.octets];
        if file.read_exact_at(&mut body, at + FRAME_OCTETS as u64).is_err() || !frame.is_of(&body) {
            break;
        }
        // What cannot be read may name it.
        let may_name = |rows: Rows| number.out_of(&format!("{rows:?}")).is_some();
        rows += if journal::read(&body).map_or(true, may_name) { frame.rows } else { 0 };
        at += (FRAME_OCTETS + frame.octets) as u64;
    }
    let path = path.display();
    (rows > 0)
        .then(|| format!("{path}: rows that name it wait for the store: do it again when the run has stored them"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn a_journal_that_cannot_be_read_is_told() {
        let data = tempfile::tempdir().unwrap();
        let number = Forgotten::new("+442079460702").unwrap();
        assert_eq!(waiting(data.path(), &number), None);
        let path = data.path().join(JOURNAL);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR, 0).unwrap();
        let told = waiting(data.path(), &number).unwrap();
        assert!(told.ends_with("rows.journal: it is not a file: rows that name it may wait there"), "{told}");
    }
}
