//! Writing an image: threads take segments, gather items by rank, and write whole blocks at places of their own.

use super::{ImageFailed, ImageFile, Progress, moment, tell_until_done, threads};
use crate::image::{
    BLOCK_OCTETS_MAX, BlockHead, ENTRIES_MAX, ENTRY_OCTETS, End, Entry, Kind, LARGE_OCTETS, PREAMBLE_OCTETS, Pack,
    Preamble, cost, large_octets,
};
use crate::store::{RANKS, Seen, Standing, Store, Writer};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// Items.
    pub items: u64,
    /// Octets of the file.
    pub octets: u64,
}

impl ImageFile {
    /// Writes all items that are there at second `now`, syncs, and makes it the image. Nobody may change the store
    /// meanwhile.
    ///
    /// # Errors
    /// It cannot be written, for want of room above all: then there is no image.
    pub fn save(
        mut self,
        store: &Arc<Store>,
        now: u32,
        wanted: usize,
        progress: Progress<'_>,
    ) -> Result<Saved, ImageFailed> {
        let preamble =
            Preamble { moment: moment(), second: now, cas_top: store.cas_top(), flush: store.flush_second() };
        let saved = self.file.write_all_at(&preamble.octets(), 0);
        let saved = saved.and_then(|()| write_all(&self.file, store, now, threads(wanted), progress));
        let saved = saved.map_err(ImageFailed::system(&self.part))?;
        self.commit()?;
        Ok(saved)
    }
}

fn write_all(file: &File, store: &Arc<Store>, now: u32, threads: usize, progress: Progress<'_>) -> io::Result<Saved> {
    let counts = store.counts();
    let total = counts.segment_octets + counts.large_octets;
    let shared = Shared {
        file,
        segments: store.segments(),
        next: 0.into(),
        end: (PREAMBLE_OCTETS as u64).into(),
        failed: false.into(),
        now,
    };
    let (working, watched) = channel::<()>();
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|_| {
                let (shared, working, writer) = (&shared, working.clone(), store.writer());
                scope.spawn(move || {
                    let _working = working;
                    Scribe::new(shared).write(writer)
                })
            })
            .collect();
        drop(working);
        tell_until_done(&watched, &|| shared.end.load(Relaxed), total, progress);
        threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
    });
    let mut entries = Vec::new();
    for result in results {
        entries.extend(result.map_err(|_| io::Error::other("a thread failed"))??);
    }
    entries.sort_unstable_by_key(|entry| entry.at);
    let octets = write_index(file, &entries, shared.end.into_inner())?;
    Ok(Saved { items: entries.iter().map(|entry| u64::from(entry.items)).sum(), octets })
}

/// Writes index and end; returns the octets of the whole file.
fn write_index(file: &File, entries: &[Entry], index_at: u64) -> io::Result<u64> {
    if entries.len() as u64 > ENTRIES_MAX {
        return Err(io::Error::other("too many items for an image"));
    }
    let mut at = index_at;
    for part in entries.chunks(BLOCK_OCTETS_MAX / ENTRY_OCTETS) {
        let octets: Vec<u8> = part.iter().flat_map(|entry| entry.octets()).collect();
        let head = BlockHead::new(Kind::Index, 0, 0, 0, &octets);
        file.write_all_at(&head.octets(at), at)?;
        file.write_all_at(&octets, at + head.whole_octets() - octets.len() as u64)?;
        at += head.whole_octets();
    }
    let end = End { index_at, entries: entries.len() as u64 }.octets(at);
    file.write_all_at(&end, at)?;
    Ok(at + end.len() as u64)
}

/// What the threads share.
struct Shared<'a> {
    file: &'a File,
    segments: Vec<u32>,
    /// The next of them.
    next: AtomicUsize,
    /// Where the next block goes.
    end: AtomicU64,
    failed: AtomicBool,
    now: u32,
}

/// What a thread writes with.
struct Scribe<'a> {
    shared: &'a Shared<'a>,
    packs: [Pack; RANKS],
    piece: Pack,
    entries: Vec<Entry>,
    error: Option<io::Error>,
}

impl<'a> Scribe<'a> {
    fn new(shared: &'a Shared<'a>) -> Self {
        let packs = std::array::from_fn(|rank| Pack::new(rank as u8));
        Scribe { shared, packs, piece: Pack::new(0), entries: Vec::new(), error: None }
    }

    fn write(mut self, mut writer: Writer) -> io::Result<Vec<Entry>> {
        while !self.shared.failed.load(Relaxed) {
            let Some(&segment) = self.shared.segments.get(self.shared.next.fetch_add(1, Relaxed)) else { break };
            writer.meet_segment(segment, self.shared.now, |key, seen| self.item(key, seen));
            // So that memory which the store has given up can go.
            writer.rest();
        }
        (0..RANKS).for_each(|rank| self.flush(rank));
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.entries),
        }
    }

    fn item(&mut self, key: &[u8], seen: &Seen<'_>) {
        if self.error.is_some() {
            return;
        }
        let (standing, octets) = (seen.standing(), seen.value_octets());
        if octets > LARGE_OCTETS {
            return self.large(key, &standing, seen);
        }
        let rank = usize::from(standing.rank());
        if !self.packs[rank].has_room(key, octets) {
            self.flush(rank);
        }
        self.packs[rank].push(key, &standing, octets, cost(seen.item_octets()), |output| seen.copy(output));
    }

    /// Writes what was gathered of a rank.
    fn flush(&mut self, rank: usize) {
        let pack = &mut self.packs[rank];
        if !pack.is_empty() && self.error.is_none() {
            let octets = pack.whole_octets();
            let at = self.shared.end.fetch_add(octets, Relaxed);
            self.entries.push(Entry { at, octets, items: pack.items(), rank: pack.rank(), cost: pack.cost() });
            let written = self.shared.file.write_all_at(pack.seal(Kind::Items, at), at);
            pack.clear();
            self.note(written);
        }
    }

    /// Writes an item whose value comes in pieces.
    fn large(&mut self, key: &[u8], standing: &Standing, seen: &Seen<'_>) {
        let (octets, cost, rank) = (large_octets(key, seen.value_octets()), cost(seen.item_octets()), standing.rank());
        let begin = self.shared.end.fetch_add(octets, Relaxed);
        self.entries.push(Entry { at: begin, octets, items: 1, rank, cost });
        let (mut at, mut kind) = (begin, Kind::First);
        self.piece = Pack::new(rank);
        self.piece.push(key, standing, seen.value_octets(), cost, |_| ());
        seen.pieces(|mut value| {
            while !value.is_empty() && self.error.is_none() {
                if self.piece.is_full() {
                    self.piece(&mut at, &mut kind);
                }
                value = self.piece.fill(value);
            }
        });
        self.piece(&mut at, &mut kind);
    }

    /// Writes a piece.
    fn piece(&mut self, at: &mut u64, kind: &mut Kind) {
        let written = self.shared.file.write_all_at(self.piece.seal(*kind, *at), *at);
        (*at, *kind) = (*at + self.piece.whole_octets(), Kind::Next);
        self.piece.clear();
        self.note(written);
    }

    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.shared.failed.store(true, Relaxed);
            self.error = Some(error);
        }
    }
}
