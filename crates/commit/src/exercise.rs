//! What the fuzz targets drive.

use crate::block::{self, HEAD_OCTETS, Head};
use crate::disk::Disk;
use crate::fault::Fault;
use crate::log::{Log, Options};
use crate::name;
use crate::read::{MARKED, head_with, read, segments};
use crate::repair::{Survey, repair, survey};
use crate::snapshot::{Keep, Snapshot};
use core::ops::ControlFlow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// The salt of all segments.
const SALT: u64 = 7;
/// Records that were given up and are read one by one: more take long.
const LOST_MAX: u64 = 10_000;
/// Octets that stand for the highest numbers instead of themselves, from this one on.
const HIGHEST: u8 = 0xf0;

/// Files of a log, each behind an octet that says what it is, one with its number, and its length (two octets, the
/// higher one first); the checksums of their blocks are made right. Records are read in order or not at all; a log that
/// is whole is read to its end; a repair leaves nothing to repair, keeps each record that there was, and what it leaves
/// is opened and goes on with the number that the survey said.
pub fn segment(octets: &[u8]) {
    let disk = Ram::of(octets);
    let before = survey_of(&disk);
    for snapshot in Snapshot::all(&disk).unwrap_or_default() {
        let _ = snapshot.check(&disk);
    }
    let first = segments(&disk).ok().and_then(|all| all.first().map(|(first, _)| *first));
    let from = first.unwrap_or(1);
    let (told, next) = read_from(&disk, from);
    let Ok((survey, known)) = before else { return };
    if survey.is_whole() && first.is_some_and(|first| first < survey.next) {
        assert!(next.as_ref().is_ok_and(|next| *next == survey.next), "{next:?}");
    }
    assert!(told.iter().all(|record| next.is_err() || known.get(record.0) == Some(record.1)));
    assert!(survey.lost.iter().all(|gone| gone.from <= gone.to && gone.to < survey.next));
    if repair(&disk, &survey).is_err() {
        return;
    }
    let Ok((again, after)) = survey_of(&disk) else { unreachable!("a log that was mended is looked through") };
    assert!(again.lost.is_empty(), "{:?}", again.lost);
    assert_eq!((after, again.next), (known, survey.next));
    let given_up: u64 = again.given_up.iter().map(|(from, to)| to - from + 1).sum();
    if given_up <= LOST_MAX {
        #[expect(clippy::arc_with_non_send_sync, reason = "a log takes it so, and one thread has it")]
        let log = Log::open(Arc::new(disk), Options::default(), |_| Ok(()), |_, _| Ok(()));
        assert!(log.as_ref().is_ok_and(|log| log.next() == survey.next), "{log:?}, not {}", survey.next);
    }
}

/// Records by number.
type Told = BTreeMap<u64, Vec<u8>>;

fn read_from(disk: &Ram, from: u64) -> (Told, Result<u64, Fault>) {
    let (mut told, mut next) = (Told::new(), from);
    let end = read(disk, from, |number, record| {
        assert_eq!(number, next);
        next += 1;
        if !record.is_empty() {
            told.insert(number, record.to_vec());
        }
        Ok(ControlFlow::Continue(()))
    });
    (told, end)
}

fn survey_of(disk: &Ram) -> Result<(Survey, Told), Fault> {
    let mut told = Told::new();
    let mut next = None;
    let survey = survey(disk, Keep::Needed, &[], &mut |numbers, record| {
        assert!(next.is_none_or(|next| next == *numbers.start()) && numbers.start() <= numbers.end());
        next = Some(numbers.end() + 1);
        record.into_iter().for_each(|record| drop(told.insert(*numbers.start(), record.to_vec())));
        Ok(())
    })?;
    assert!(next.is_none_or(|next| next == survey.next));
    Ok((survey, told))
}

/// A folder in memory.
#[derive(Debug, Default)]
struct Ram(RefCell<BTreeMap<String, Vec<u8>>>);

impl Ram {
    fn of(octets: &[u8]) -> Ram {
        let (mut files, mut rest) = (BTreeMap::new(), octets);
        while let Some((&[kind, number, l1, l2], behind)) = rest.split_first_chunk() {
            let length = usize::from(u16::from_be_bytes([l1, l2])).min(behind.len());
            let (body, behind) = behind.split_at(length);
            rest = behind;
            let highest = u64::MAX - u64::from(u8::MAX - number);
            let number = if number < HIGHEST { u64::from(number) } else { highest };
            let headed = || [&head_with(SALT, number, MARKED)[..], &sealed(body)].concat();
            let (name, octets) = match kind % 6 {
                0 => (name::segment(number), headed()),
                1 => (name::snapshot(number), headed()),
                2 => (name::opening(number), headed()),
                3 => (crate::mark::NAME.to_owned(), body.to_vec()),
                4 => (name::segment(number), body.to_vec()),
                _ => (name::found(number), headed()),
            };
            files.insert(name, octets);
        }
        Ram(RefCell::new(files))
    }
}

/// Blocks with their checksums made right, as far as there are any.
fn sealed(body: &[u8]) -> Vec<u8> {
    let (mut octets, mut at) = (body.to_vec(), 0);
    while let Some(head) = octets.get(at..).and_then(Head::of) {
        let end = at + HEAD_OCTETS + head.octets;
        let is_short = !head.gap || u64::from(head.count) <= LOST_MAX || head.excess().is_some();
        if let Some(block) = octets.get_mut(at..end).filter(|_| is_short) {
            block::seal_again(block, SALT);
        }
        at += head.block_octets();
    }
    octets
}

impl Disk for Ram {
    type File = String;

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.0.borrow().keys().cloned().collect())
    }

    fn make(&self, name: &str, octets: u64) -> io::Result<String> {
        self.0.borrow_mut().insert(name.to_owned(), vec![0; octets as usize]);
        Ok(name.to_owned())
    }

    fn open(&self, name: &str) -> io::Result<String> {
        let is_there = self.0.borrow().contains_key(name);
        is_there.then(|| name.to_owned()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn read(&self, file: &String, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let files = self.0.borrow();
        let there = usize::try_from(at).ok().and_then(|at| files.get(file)?.get(at..)).unwrap_or_default();
        let length = there.len().min(into.len());
        into[..length].copy_from_slice(&there[..length]);
        Ok(length)
    }

    fn write(&self, file: &String, at: u64, octets: &[u8]) -> io::Result<()> {
        let mut files = self.0.borrow_mut();
        let (file, at) = (files.entry(file.clone()).or_default(), at as usize);
        file.resize(file.len().max(at + octets.len()), 0);
        file[at..at + octets.len()].copy_from_slice(octets);
        Ok(())
    }

    fn sync(&self, _: &String) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.0.borrow_mut();
        let file = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.borrow_mut().remove(name);
        Ok(())
    }

    fn salt(&self) -> u64 {
        SALT
    }
}
