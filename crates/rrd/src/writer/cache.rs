//! Headers of files that were written lately, in memory: who owns the files need not read them again.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::archive::Archive;
use crate::disk::Mark;
use crate::fault::Fault;
use crate::shape::Shape;

/// Different kinds of files that share what is the same in their headers; files of further kinds have it for
/// themselves.
const SHAPES_MAX: usize = 4096;
/// Octets that are read at first: the header of most files.
const FIRST_READ_OCTETS: usize = 4096;
/// Octets of an entry beside its header.
const ENTRY_OCTETS: usize = 160;

/// A file's header, and how the file was when it was the file's.
#[derive(Debug)]
pub(super) struct Known {
    pub archive: Archive,
    pub mark: Mark,
    /// Checksum of the part that updates do not change.
    pub still_crc: u32,
}

#[derive(Debug)]
pub(super) struct Headers {
    known: HashMap<u64, (Known, u64)>,
    /// Files in the order of use, each as often as it was; only its last use counts.
    uses: VecDeque<(u64, u64)>,
    used: u64,
    octets: usize,
    octets_max: usize,
    shapes: HashMap<Vec<u8>, (Arc<Shape>, u32)>,
    room: Vec<u8>,
}

impl Headers {
    pub fn new(octets_max: usize) -> Headers {
        Headers {
            known: HashMap::new(),
            uses: VecDeque::new(),
            used: 0,
            octets: 0,
            octets_max,
            shapes: HashMap::new(),
            room: Vec::new(),
        }
    }

    /// A file's header if nobody wrote the file since.
    pub fn take(&mut self, file: u64, mark: &Mark) -> Option<Known> {
        let (known, _) = self.known.remove(&file)?;
        self.octets -= octets(&known);
        (known.mark == *mark).then_some(known)
    }

    pub fn keep(&mut self, file: u64, known: Known) {
        if octets(&known) > self.octets_max {
            return;
        }
        self.used += 1;
        self.octets += octets(&known);
        self.uses.push_back((file, self.used));
        if let Some((former, _)) = self.known.insert(file, (known, self.used)) {
            self.octets -= octets(&former);
        }
        self.make_room();
    }

    pub fn forget(&mut self, file: u64) {
        if let Some((known, _)) = self.known.remove(&file) {
            self.octets -= octets(&known);
        }
    }

    fn make_room(&mut self) {
        let stale = self.uses.len() > 2 * self.known.len() + 64;
        while self.octets > self.octets_max {
            let Some((file, use_number)) = self.uses.pop_front() else { break };
            if self.known.get(&file).is_some_and(|(_, last)| *last == use_number) {
                self.forget(file);
            }
        }
        if stale {
            let known = &self.known;
            self.uses.retain(|(file, number)| known.get(file).is_some_and(|(_, last)| last == number));
        }
    }

    /// With one read, or two where the header is long.
    pub fn read(&mut self, mark: Mark, read: impl Fn(u64, &mut [u8]) -> Result<usize, Fault>) -> Result<Known, Fault> {
        let mut octets = core::mem::take(&mut self.room);
        let archive = self.read_into(&mut octets, read);
        self.room = octets;
        let (archive, still_crc) = archive?;
        Ok(Known { archive, mark, still_crc })
    }

    fn read_into(
        &mut self,
        octets: &mut Vec<u8>,
        read: impl Fn(u64, &mut [u8]) -> Result<usize, Fault>,
    ) -> Result<(Archive, u32), Fault> {
        octets.resize(FIRST_READ_OCTETS, 0);
        let got = read(0, octets)?;
        octets.truncate(got);
        let header = Shape::header_octets(octets)?;
        if header > got && got == FIRST_READ_OCTETS {
            octets.resize(header, 0);
            let more = read(got as u64, &mut octets[got..])?;
            octets.truncate(got + more);
        }
        let (shape, still_crc) = self.shape(octets)?;
        let live = &octets[shape.still_octets..shape.header_octets];
        Ok((Archive::of(shape, live)?, still_crc))
    }

    /// That of a file of the same kind, if there was one.
    fn shape(&mut self, header: &[u8]) -> Result<(Arc<Shape>, u32), Fault> {
        let still_octets = Shape::still_octets_of(header)?;
        let known = header.get(..still_octets).and_then(|still| self.shapes.get(still));
        if let Some((shape, crc)) = known.filter(|(shape, _)| header.len() >= shape.header_octets) {
            return Ok((Arc::clone(shape), *crc));
        }
        let shape = Arc::new(Shape::read(header)?);
        let still = &header[..shape.still_octets];
        let crc = crc32fast::hash(still);
        if self.shapes.len() < SHAPES_MAX {
            self.shapes.insert(still.to_vec(), (Arc::clone(&shape), crc));
        }
        Ok((shape, crc))
    }
}

fn octets(known: &Known) -> usize {
    ENTRY_OCTETS + known.archive.live_words() * 8
}
