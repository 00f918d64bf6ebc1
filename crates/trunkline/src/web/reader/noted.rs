//! What is noted beside a capture that a user brought, so that the next start knows whose it is, what it brought, and
//! takes the rows along when it is removed: `captures/.NAME.noted`, two lines of JSON and a checksum.

use super::KEPT_FOLDER;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use trunkline_kit::{Id, place, sealed};
use trunkline_store::removal::Chosen;
use trunkline_web::sources::{KeptCapture, ReadDone};

const END: &str = ".noted";
const SUM: &str = "sum ";
/// Octets of a note: a million rows, and what is around them.
const OCTETS_MAX: u64 = 64 << 20;

/// Rows that a capture brought, as they are written.
#[derive(Default, Serialize, Deserialize)]
struct Rows {
    calls: BTreeSet<String>,
    streams: BTreeSet<String>,
    registrations: BTreeSet<String>,
    events: BTreeSet<String>,
    charges: BTreeSet<String>,
    loss_sources: BTreeSet<String>,
}

impl Rows {
    fn of(chosen: &Chosen) -> Rows {
        let texts = |ids: &BTreeSet<Id>| ids.iter().map(Id::to_string).collect();
        Rows {
            calls: texts(&chosen.calls),
            streams: texts(&chosen.streams),
            registrations: texts(&chosen.registrations),
            events: texts(&chosen.events),
            charges: texts(&chosen.charges),
            loss_sources: chosen.loss_sources.clone(),
        }
    }

    fn chosen(self) -> Option<Chosen> {
        let ids = |texts: &BTreeSet<String>| texts.iter().map(|text| text.parse().ok()).collect::<Option<_>>();
        Some(Chosen {
            calls: ids(&self.calls)?,
            streams: ids(&self.streams)?,
            registrations: ids(&self.registrations)?,
            events: ids(&self.events)?,
            charges: ids(&self.charges)?,
            loss_sources: self.loss_sources,
        })
    }
}

/// Where it is noted of a capture.
pub fn path(kept: &Path) -> PathBuf {
    let name = kept.file_name().unwrap_or_default().to_string_lossy();
    kept.with_file_name(format!(".{name}{END}"))
}

/// Notes a capture with the rows that it brought; none if there were too many.
pub fn write(capture: &KeptCapture, own: Option<&Chosen>) -> io::Result<PathBuf> {
    let kept = capture.done.kept.as_deref().ok_or(io::ErrorKind::NotFound)?;
    let lines = [serde_json::to_string(capture)?, serde_json::to_string(&own.map(Rows::of))?];
    let path = path(kept);
    place::replace(&path, sealed::seal(&format!("{}\n{}\n", lines[0], lines[1]), SUM).as_bytes(), place::PRIVATE)?;
    Ok(path)
}

fn read(path: &Path) -> Result<(KeptCapture, Option<Chosen>), String> {
    let octets = place::read_own(path, OCTETS_MAX).map_err(|e| e.to_string())?.ok_or("there is none")?;
    parse(&octets)
}

fn parse(octets: &[u8]) -> Result<(KeptCapture, Option<Chosen>), String> {
    let text = String::from_utf8_lossy(octets);
    let body = sealed::open(&text, SUM).ok_or("its checksum is wrong or missing")?;
    let wrong = || "its lines are wrong".to_owned();
    let (capture, rows) = body.split_once('\n').ok_or_else(wrong)?;
    let capture = serde_json::from_str(capture).map_err(|_| wrong())?;
    let rows: Option<Rows> = serde_json::from_str(rows).map_err(|_| wrong())?;
    Ok((capture, rows.map(|rows| rows.chosen().ok_or_else(wrong)).transpose()?))
}

/// Whether a file is a note, and what is wrong with it.
pub fn check(path: &Path) -> Option<Result<(), String>> {
    let is_one = path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(END));
    is_one.then(|| read(path).map(drop))
}

/// The rows that a capture brought, if that is noted.
///
/// # Errors
/// The note cannot be read: why.
pub fn rows(kept: &Path) -> Result<Option<Chosen>, String> {
    let path = path(kept);
    let octets = place::read_own(&path, OCTETS_MAX).map_err(|error| error.to_string());
    let rows = octets.and_then(|octets| octets.map_or(Ok(None), |octets| parse(&octets).map(|(_, rows)| rows)));
    rows.map_err(|why| format!("{}: {why}", path.display()))
}

/// All captures that are kept, each with its note; one of which nothing can be read has no owner and the time of its
/// file. Notes whose capture is gone go, too.
pub fn all(data: &Path) -> Vec<(KeptCapture, Option<PathBuf>)> {
    let folder = data.join(KEPT_FOLDER);
    let Ok(entries) = std::fs::read_dir(&folder) else { return Vec::new() };
    let mut all = Vec::new();
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(of) = name.strip_prefix('.').and_then(|name| name.strip_suffix(END)) {
            if !folder.join(of).exists() {
                let _ = std::fs::remove_file(entry.path());
            }
            continue;
        }
        let note = path(&entry.path());
        all.push(match read(&note) {
            Ok((capture, _)) => {
                let done = ReadDone { kept: Some(entry.path()), ..capture.done };
                (KeptCapture { done, ..capture }, Some(note))
            }
            Err(why) => {
                tracing::warn!(target: "web", "{}: it is not known whose capture this is ({why}): it leaves when it is \
                    old, and its rows by the rules of the store", entry.path().display());
                (nobodys(&entry), note.exists().then_some(note))
            }
        });
    }
    all
}

fn nobodys(entry: &std::fs::DirEntry) -> KeptCapture {
    let modified = entry.metadata().and_then(|about| about.modified()).ok();
    let age = modified.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
    KeptCapture {
        asked_ns: i64::try_from(age.as_nanos()).unwrap_or(i64::MAX),
        name: entry.file_name().to_string_lossy().into_owned(),
        done: ReadDone { kept: Some(entry.path()), ..ReadDone::default() },
        ..KeptCapture::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_says_what_was_noted_and_damage_makes_it_nobodys() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join(KEPT_FOLDER);
        std::fs::create_dir(&folder).unwrap();
        let kept = folder.join("a b.pcap");
        std::fs::write(&kept, "octets").unwrap();
        let id = |n: i64| Id::derive(n, b"x");
        let own = Chosen {
            calls: (0..3).map(id).collect(),
            events: [id(9)].into(),
            loss_sources: [kept.display().to_string()].into(),
            ..Chosen::default()
        };
        let done = ReadDone {
            packets: 7,
            oddities: vec!["cut\n".to_owned()],
            kept: Some(kept.clone()),
            ..ReadDone::default()
        };
        let capture = KeptCapture { id: "1f".to_owned(), owner: 4, asked_ns: 99, name: "mine \u{1b}".to_owned(), done };
        let note = write(&capture, Some(&own)).unwrap();
        assert_eq!(all(data.path()), [(capture.clone(), Some(note.clone()))]);
        assert_eq!(rows(&kept).unwrap(), Some(own));
        write(&capture, None).unwrap();
        assert_eq!(rows(&kept).unwrap(), None);
        let whole = std::fs::read(&note).unwrap();
        for at in (0..whole.len()).step_by(7) {
            let mut octets = whole.clone();
            octets[at] ^= 4;
            std::fs::write(&note, octets).unwrap();
            assert!(rows(&kept).unwrap_err().contains(".noted"));
            let found = all(data.path());
            assert!(found.len() == 1 && found[0].0.owner == 0 && found[0].0.id.is_empty() && found[0].0.asked_ns > 99);
        }
        std::fs::remove_file(&kept).unwrap();
        assert_eq!(all(data.path()), []);
        assert!(!note.exists(), "a note without a capture goes");
        assert_eq!(rows(&kept).unwrap(), None);
    }
}
