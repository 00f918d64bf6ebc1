//! Where a number may stand that is not forgotten there: what others decide about, what the law asks to keep, and rows
//! that are on their way into the store.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use trunkline_kit::forgotten::Forgotten;
use trunkline_kit::untrusted::shell_word;
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
    let payer = format!("msisdn:{}", number.name());
    let all = [
        ("the packet log", "packets", Look::Ask("packets ls", "")),
        ("captures that users brought", "captures", Look::List("-l")),
        ("the ledger of charging", "charge/ledger", Look::Ask("charge show", &payer)),
        ("charging data records", "charge/cdr", Look::Ask("charge records --print", "")),
        ("records that a gateway received", "charge/received", Look::List("-l")),
        ("reports that wait to be sent", "alert/reports", Look::List("-l")),
        ("files of extractions, for a day", "spool/web", Look::List("-lR")),
    ];
    let there = |path: &Path| path.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    let places = all.map(|(what, path, look)| Place { what, path: data.join(path), look: look.words(data, path) });
    places.into_iter().filter(move |place| there(&place.path))
}

/// What shows what is in a place.
enum Look<'a> {
    /// A command of ours with its argument, or none.
    Ask(&'static str, &'a str),
    /// `ls` with these options.
    List(&'static str),
}

impl Look<'_> {
    /// A line for a shell: the caller chose the number, and who installs it the folder.
    fn words(&self, data: &Path, path: &str) -> String {
        match self {
            Look::Ask(command, "") => format!("trunkline {command} --data {}", shell_path(data)),
            Look::Ask(command, of) => format!("trunkline {command} {} --data {}", shell_word(of), shell_path(data)),
            Look::List(options) => format!("ls {options} {}", shell_path(&data.join(path))),
        }
    }
}

fn shell_path(path: &Path) -> String {
    shell_word(&path.to_string_lossy()).into_owned()
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

    /// Whatever the number and the folder are called, what is printed is the command that it looks like.
    #[test]
    fn what_shows_a_place_can_be_copied_into_a_shell() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("o'brien; touch b");
        for part in ["packets", "captures", "charge/ledger", "spool/web"] {
            std::fs::create_dir_all(data.join(part)).unwrap();
            std::fs::write(data.join(part).join("file"), "").unwrap();
        }
        let number = Forgotten::new("a';touch$IFS$9a;'`touch`").unwrap();
        let path = folder.path().display().to_string() + r"/o'\''brien; touch b";
        let looks: Vec<String> = places(&data, &number).map(|place| place.look).collect();
        let ledger = r"trunkline charge show 'msisdn:a'\'';touch$IFS$9a;'\''`touch`'";
        assert_eq!(
            looks,
            [
                format!("trunkline packets ls --data '{path}'"),
                format!("ls -l '{path}/captures'"),
                format!("{ledger} --data '{path}'"),
                format!("ls -lR '{path}/spool/web'"),
            ]
        );
        for look in looks {
            let words = look.replacen("trunkline ", "printf '%s\\n' ", 1);
            let done = std::process::Command::new("sh").args(["-c", &words]).current_dir(folder.path()).output();
            let done = done.unwrap();
            assert!(done.status.success() && done.stderr.is_empty(), "{look}: {done:?}");
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 1, "nothing but the data folder");
        let plain = Forgotten::new("442079460123").unwrap();
        let mut looks = places(&data, &plain).map(|place| place.look);
        assert!(looks.any(|look| look.starts_with("trunkline charge show msisdn:442079460123 --data ")));
    }

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
