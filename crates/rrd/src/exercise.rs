//! What the fuzz targets drive.

use crate::archive::{Archive, Rows, Time, Value};
use crate::disk::{Disk, Mark};
use crate::fetch::{Question, Window};
use crate::info::facts;
use crate::rpn::{self, Calendar, Machine, Row, Variable};
use crate::shape::Consolidation;
use crate::writer::{Options, RedoCheck, Writer, redo_check};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Octets of the files that are tried: what a window reads behind them is zeros.
const FILE_OCTETS: usize = 1 << 16;
/// Octets of a redo file that [`Writer::open`] makes at least.
const REDO_OCTETS: usize = 1 << 16;

/// A file of any octets: refused, or described, asked and updated without harm; no row is written outside of its ring,
/// and what it becomes can be opened again.
pub fn file(octets: &[u8]) {
    let Ok(mut archive) = Archive::open(octets) else { return };
    assert!(!facts(&archive, "x").is_empty());
    ask(&archive, octets);
    let values: Vec<Value<'_>> = archive
        .shape()
        .read_sources()
        .zip([Value::Unsigned(7), Value::Float(-0.5), Value::Text("12"), Value::Unknown].iter().cycle())
        .map(|(_, value)| *value)
        .collect();
    let mut rows = Rows::default();
    let last = archive.last();
    let step_s = archive.shape().step_s as i64;
    for after_s in [1, step_s, step_s / 2 + 1, step_s.saturating_mul(40), 3] {
        let time = Time { seconds: archive.last().seconds.saturating_add(after_s), ..last };
        let before = archive.last();
        match archive.update(time, &values, &mut rows) {
            Ok(()) => assert_eq!(archive.last().seconds, time.seconds),
            Err(_) => assert_eq!(archive.last(), before),
        }
    }
    for write in rows.writes(archive.shape()) {
        let end = write.at + write.octets();
        assert!(write.at >= archive.shape().header_octets as u64 && end <= archive.shape().file_octets);
    }
    let mut live = Vec::new();
    archive.write_live(&mut live);
    assert!(Archive::of(archive.shape().clone(), &live).is_ok());
}

fn ask(archive: &Archive, octets: &[u8]) {
    let last_s = archive.last().seconds;
    for consolidation in Consolidation::ALL {
        for (start_s, end_s) in [(last_s.saturating_sub(5000).max(0), last_s), (last_s, last_s), (0, 1)] {
            let question = Question { consolidation, start_s, end_s, step_s: 1 };
            let Ok(window) = Window::choose(archive, &question) else { continue };
            if window.rows() * archive.shape().sources.len() > FILE_OCTETS {
                continue;
            }
            let series = window.series(archive, |at, into| {
                assert!(at + into.len() as u64 <= archive.shape().file_octets);
                let there = usize::try_from(at).ok().and_then(|at| octets.get(at..)).unwrap_or(&[]);
                let length = there.len().min(into.len());
                into[..length].copy_from_slice(&there[..length]);
                into[length..].fill(0);
                Ok(())
            });
            assert_eq!(series.map(|series| series.rows()).ok(), Some(window.rows()));
        }
    }
}

/// An expression of any text: refused with a place in it, or run over a few rows without harm, twice with the same
/// result.
pub fn expression(octets: &[u8]) {
    let text = String::from_utf8_lossy(octets);
    let expression = match rpn::parse(&text, |name| ["a", "b"].iter().position(|known| *known == name)) {
        Ok(expression) => expression,
        Err(misread) => return assert!(misread.at <= text.len()),
    };
    let named = expression.text(|number| ["a", "b"][number].to_owned());
    assert!(!named.is_empty());
    let values = [1.5, f64::NAN, -2.0, f64::INFINITY, 0.0, 7e9];
    let run = || {
        let mut machine = Machine::new(&expression, |number| if number == 0 { 60 } else { 120 });
        let mut previous = f64::NAN;
        let mut all = Vec::new();
        for index in 0..values.len() {
            let time_s = 1_700_000_040 + index as i64 * 60;
            let row = Row { time_s, index, step_s: 60, previous, calendar: Calendar::utc(1_700_000_000) };
            let variable = |number: usize| Variable { values: &values[number..], step_s: 60 + number as i64 * 60 };
            let value = machine.row(&row, variable);
            previous = value.unwrap_or(f64::NAN);
            all.push(value.map(f64::to_bits));
        }
        all
    };
    assert_eq!(run(), run());
}

/// A redo file of any octets beside a file of archives (the octets behind its length, two octets, the higher one
/// first), whose checksums are made right: a start ends, leaves the other file as long as it was, and leaves two redo
/// files that hold nothing; a second start repeats nothing.
pub fn redo(octets: &[u8]) {
    let Some((length, rest)) = octets.split_first_chunk() else { return };
    let (redo, file) = rest.split_at(usize::from(u16::from_be_bytes(*length)).min(rest.len()));
    let mut redo = redo.to_vec();
    let _ = redo_check(&redo);
    // As long as it is made: an entry may reach into the zeros.
    redo.resize(redo.len().max(REDO_OCTETS), 0);
    seal(&mut redo);
    assert!(!matches!(redo_check(&redo), RedoCheck::Entry(_)));
    let (disk, options) = (Ram::default(), Options { redo_octets: 0, ..Options::default() });
    disk.0.borrow_mut().extend([("redo.0".into(), redo), ("a".into(), file.to_vec())]);
    let Ok((_, found)) = Writer::open(&disk, options) else { unreachable!("the disk is well") };
    assert!(found.entries + found.gone + found.changed <= octets.len() as u64 / 8);
    let of = |name: &str| disk.0.borrow()[Path::new(name)].clone();
    assert_eq!((of("a").len(), disk.0.borrow().len()), (file.len(), 3));
    assert!(found.entries > 0 || of("a") == file);
    assert_eq!(["redo.0", "redo.1"].map(|name| redo_check(&of(name))), [RedoCheck::Whole(0); 2]);
    let mended = of("a");
    let again = Writer::open(&disk, options).map(|(_, found)| found).ok();
    assert_eq!((again, of("a")), (Some(crate::writer::Recovered::default()), mended));
}

/// Makes the checksums of a redo file's head and entries right, as far as there are any.
fn seal(redo: &mut [u8]) {
    let Some((head, mut rest)) = redo.split_at_mut_checked(24) else { return };
    head[..8].copy_from_slice(b"TRRDRED2");
    // Two more generations begin at a start.
    head[15] &= 0x7f;
    let check = u64::from(crc32fast::hash(&head[..16]));
    head[16..24].copy_from_slice(&check.to_le_bytes());
    while let Some((entry, behind)) = rest.split_at_mut_checked(8) {
        let length = u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]) as usize;
        let Some((body, behind)) = behind.split_at_mut_checked(length) else { return };
        let mut check = crc32fast::Hasher::new();
        check.update(&head[8..16]);
        check.update(body);
        entry[4..8].copy_from_slice(&check.finalize().to_le_bytes());
        rest = behind;
    }
}

/// A folder in memory, all files of which have the number 1.
#[derive(Debug, Default)]
struct Ram(RefCell<BTreeMap<PathBuf, Vec<u8>>>);

impl Disk for &Ram {
    type File = PathBuf;

    fn open(&self, path: &Path) -> io::Result<PathBuf> {
        let is_there = self.0.borrow().contains_key(path);
        is_there.then(|| path.to_owned()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn make(&self, path: &Path, octets: u64) -> io::Result<PathBuf> {
        let mut files = self.0.borrow_mut();
        let file = files.entry(path.to_owned()).or_default();
        file.resize(octets as usize, 0);
        Ok(path.to_owned())
    }

    fn mark(&self, file: &PathBuf) -> io::Result<Mark> {
        Ok(Mark { number: 1, octets: self.0.borrow()[file].len() as u64, written_ns: 0 })
    }

    fn read(&self, file: &PathBuf, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let files = self.0.borrow();
        let there = usize::try_from(at).ok().and_then(|at| files[file].get(at..)).unwrap_or_default();
        let length = there.len().min(into.len());
        into[..length].copy_from_slice(&there[..length]);
        Ok(length)
    }

    fn write(&self, file: &PathBuf, at: u64, octets: &[u8]) -> io::Result<()> {
        let mut files = self.0.borrow_mut();
        let (file, at) = (files.entry(file.clone()).or_default(), at as usize);
        file.resize(file.len().max(at + octets.len()), 0);
        file[at..at + octets.len()].copy_from_slice(octets);
        Ok(())
    }

    fn sync(&self, _: &PathBuf) -> io::Result<()> {
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }
}
