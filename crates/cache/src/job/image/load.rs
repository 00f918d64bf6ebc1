//! Reading an image in: threads take blocks in the order of the plan, check them, and put their items into the store.

use super::{ImageFailed, ImageFile, Progress, moment, tell_until_done, threads};
use crate::image::{
    BLOCK_OCTETS_MAX, BlockHead, END_OCTETS, ENTRIES_MAX, End, Entry, HEAD_OCTETS, Kind, PREAMBLE_OCTETS, Plan,
    Preamble, Record, Records, Scan, Wrong, plan,
};
use crate::store::{Draft, Refused, Standing, Store, Value, Writer};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;

/// The part of the memory that an image may fill of a store that evicts nothing: what is refused there would be what
/// was used most.
const ROOM_PERCENT: u64 = 90;

/// What was read.
#[derive(Debug, Default)]
pub struct Recalled {
    /// Items that are in the store now.
    pub items: u64,
    /// Octets of the file that were read.
    pub octets: u64,
    /// Items whose time had come, or of which nobody knows whether it had.
    pub expired: u64,
    /// Items that are larger than is allowed now.
    pub too_large: u64,
    /// Items that there was no room for.
    pub no_room: u64,
    /// The second at which the store's clock goes on.
    pub second: u32,
    /// Whether what has an end was left out because the clock went backwards.
    pub undated: bool,
    /// What of the file is not what was written, and why: the first of it.
    pub wrong: Option<(u64, Spoilt)>,
    /// Blocks, or items in pieces, that were lost by that; 0 where the preamble or the index is what is wrong.
    pub blocks_lost: u64,
}

/// Why a part of an image is lost.
#[derive(Debug, thiserror::Error)]
pub enum Spoilt {
    /// It does not say what it should.
    #[error("{0}")]
    Wrong(#[from] Wrong),
    /// It cannot be read.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl ImageFile {
    /// Reads the image, if there is one, into a store that nobody uses yet. What is not whole is left out, and told.
    ///
    /// # Errors
    /// It cannot be opened, or is no image that this version reads.
    pub fn load(
        &self,
        store: &Arc<Store>,
        wanted: usize,
        progress: Progress<'_>,
    ) -> Result<Option<Recalled>, ImageFailed> {
        let file = match File::open(&self.path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(ImageFailed::system(&self.path))?,
        };
        let meta = file.metadata().map_err(ImageFailed::system(&self.path))?;
        let mut recalled = Recalled::default();
        let preamble = if meta.is_file() { read_preamble(&file) } else { Err(Wrong::Foreign.into()) };
        match preamble {
            Ok(preamble) => read_all(&file, meta.len(), &preamble, store, threads(wanted), progress, &mut recalled),
            Err(Spoilt::Wrong(wrong @ (Wrong::Foreign | Wrong::Future(_)))) => {
                return Err(ImageFailed::Foreign { path: self.path.clone(), wrong });
            }
            Err(spoilt) => recalled.wrong = Some((0, spoilt)),
        }
        Ok(Some(recalled))
    }
}

pub(super) fn read_preamble(file: &File) -> Result<Preamble, Spoilt> {
    let mut octets = [0; PREAMBLE_OCTETS];
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX).min(PREAMBLE_OCTETS);
    file.read_exact_at(&mut octets[..length], 0)?;
    Ok(Preamble::read(&octets[..length])?)
}

fn read_all(
    file: &File,
    length: u64,
    preamble: &Preamble,
    store: &Arc<Store>,
    threads: usize,
    progress: Progress<'_>,
    recalled: &mut Recalled,
) {
    let (second, dated) = preamble.goes_on(&moment());
    (recalled.second, recalled.undated) = (second, !dated);
    store.cas_above(preamble.cas_top);
    let entries = match index(file, length) {
        Ok(entries) => entries,
        Err((at, spoilt)) => {
            recalled.wrong = Some((at, spoilt));
            scan(file, length)
        }
    };
    match preamble.flush {
        // What was to be flushed meanwhile is: all of it.
        Some(at) if at <= second || !dated => {
            recalled.expired = entries.iter().map(|entry| u64::from(entry.items)).sum();
            return;
        }
        Some(at) => store.flush(at, second),
        None => {}
    }
    let plan = plan(entries, room(store));
    recalled.no_room = plan.items_left_out;
    store.writer().expect(plan.items);
    read_blocks(file, &plan, store, Terms { second, dated }, threads, progress, recalled);
}

/// Octets of memory that items may fill.
fn room(store: &Store) -> u64 {
    let room = store.limit().saturating_sub(store.counts().used_octets);
    if store.rules().evicts { room } else { room / 100 * ROOM_PERCENT }
}

/// The entries of the index; or where it is wrong.
pub(super) fn index(file: &File, length: u64) -> Result<Vec<Entry>, (u64, Spoilt)> {
    let end_at = length.saturating_sub(END_OCTETS as u64).max(PREAMBLE_OCTETS as u64);
    let mut octets = [0; END_OCTETS];
    file.read_exact_at(&mut octets, end_at).map_err(|_| (length, Wrong::Cut.into()))?;
    let end = End::read(&octets, end_at).map_err(|wrong| (end_at, wrong.into()))?;
    let (mut entries, mut at, mut block) = (Vec::new(), end.index_at, Vec::new());
    while at < end_at && entries.len() as u64 <= ENTRIES_MAX {
        let head = read_block(file, at, end_at - at, &mut block).map_err(|spoilt| (at, spoilt))?;
        if head.kind != Kind::Index {
            return Err((at, Wrong::Senseless.into()));
        }
        entries.extend(Entry::read_all(&block[HEAD_OCTETS..]));
        at += head.whole_octets();
    }
    if entries.len() as u64 == end.entries { Ok(entries) } else { Err((end_at, Wrong::Senseless.into())) }
}

/// The entries of an image without an index, up to the first head that is not whole.
pub(super) fn scan(file: &File, length: u64) -> Vec<Entry> {
    let (mut scan, mut at) = (Scan::default(), PREAMBLE_OCTETS as u64);
    let mut octets = [0; HEAD_OCTETS];
    while at < length && file.read_exact_at(&mut octets, at).is_ok() {
        let Ok(head) = BlockHead::read(&octets, at) else { break };
        if !scan.head(at, &head) {
            break;
        }
        at += head.whole_octets();
    }
    scan.entries()
}

/// Reads the block at octet `at` and checks it; `most` octets are left of what it is part of.
pub(super) fn read_block(file: &File, at: u64, most: u64, block: &mut Vec<u8>) -> Result<BlockHead, Spoilt> {
    let octets = most.min((HEAD_OCTETS + BLOCK_OCTETS_MAX) as u64) as usize;
    block.resize(octets, 0);
    file.read_exact_at(block, at).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => Spoilt::Wrong(Wrong::Cut),
        _ => error.into(),
    })?;
    let head = BlockHead::read(block, at)?;
    block.truncate(HEAD_OCTETS + head.octets as usize);
    head.check(&block[HEAD_OCTETS..])?;
    Ok(head)
}

/// What holds for all items.
#[derive(Clone, Copy)]
struct Terms {
    /// The second that it is.
    second: u32,
    /// Whether what has an end may be taken.
    dated: bool,
}

fn read_blocks(
    file: &File,
    plan: &Plan,
    store: &Arc<Store>,
    terms: Terms,
    threads: usize,
    progress: Progress<'_>,
    recalled: &mut Recalled,
) {
    let (next, done) = (AtomicUsize::new(0), AtomicU64::new(0));
    let (working, watched) = channel::<()>();
    let readers = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|_| {
                let (next, done, working, writer) = (&next, &done, working.clone(), store.writer());
                scope.spawn(move || {
                    let _working = working;
                    let mut reader = Reader { file, writer, terms, block: Vec::new(), told: Recalled::default() };
                    while let Some(entry) = plan.entries.get(next.fetch_add(1, Relaxed)) {
                        reader.entry(entry);
                        done.fetch_add(entry.octets, Relaxed);
                    }
                    reader.told
                })
            })
            .collect();
        drop(working);
        tell_until_done(&watched, &|| done.load(Relaxed), plan.octets, progress);
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect::<Vec<_>>()
    });
    readers.into_iter().for_each(|told| recalled.add(told));
}

impl Recalled {
    /// Adds what a thread has read.
    fn add(&mut self, told: Recalled) {
        self.items += told.items;
        self.octets += told.octets;
        self.expired += told.expired;
        self.too_large += told.too_large;
        self.no_room += told.no_room;
        self.blocks_lost += told.blocks_lost;
        if self.wrong.is_none() {
            self.wrong = told.wrong;
        }
    }
}

/// What a thread reads with.
struct Reader<'a> {
    file: &'a File,
    writer: Writer,
    terms: Terms,
    block: Vec<u8>,
    told: Recalled,
}

impl Reader<'_> {
    fn entry(&mut self, entry: &Entry) {
        let mut block = std::mem::take(&mut self.block);
        if let Err((at, spoilt)) = self.read(entry, &mut block) {
            self.told.blocks_lost += 1;
            self.told.wrong.get_or_insert((at, spoilt));
        }
        self.block = block;
        self.told.octets += entry.octets;
    }

    fn read(&mut self, entry: &Entry, block: &mut Vec<u8>) -> Result<(), (u64, Spoilt)> {
        let head = read_block(self.file, entry.at, entry.octets, block).map_err(|spoilt| (entry.at, spoilt))?;
        let octets = &block[HEAD_OCTETS..];
        let done = match head.kind {
            Kind::Items => Records::of(octets).try_for_each(|record| record.map(|record| self.whole(&record))),
            Kind::First => return self.pieces(entry, head.whole_octets(), block),
            Kind::Next | Kind::Index => Err(Wrong::Senseless),
        };
        done.map_err(|wrong| (entry.at, wrong.into()))
    }

    fn whole(&mut self, record: &Record<'_>) {
        self.put(record.key, &record.standing, Value::Octets(record.value));
    }

    fn put(&mut self, key: &[u8], standing: &Standing, value: Value<'_>) {
        if standing.expiry != 0 && !self.terms.dated {
            self.told.expired += 1;
            return;
        }
        match self.writer.restore(key, value, self.terms.second, standing) {
            Ok(true) => self.told.items += 1,
            Ok(false) => self.told.expired += 1,
            Err(refused) => self.refused(refused),
        }
    }

    fn refused(&mut self, refused: Refused) {
        match refused {
            Refused::TooLarge => self.told.too_large += 1,
            Refused::NoMemory => self.told.no_room += 1,
        }
    }

    /// An item in pieces, of which the first is in `block`.
    fn pieces(&mut self, entry: &Entry, first_octets: u64, block: &mut Vec<u8>) -> Result<(), (u64, Spoilt)> {
        let record = Record::read(&block[HEAD_OCTETS..]).map_err(|wrong| (entry.at, wrong.into()))?;
        let (key, standing) = (record.key.to_vec(), record.standing);
        let draft = self.writer.draft(key.len(), u64::from(record.value_octets));
        let begun = draft.and_then(|mut draft| draft.append(&mut self.writer, record.value).map(|()| draft));
        let mut draft = match begun {
            Ok(draft) => draft,
            Err(refused) => {
                self.refused(refused);
                return Ok(());
            }
        };
        let (mut at, end) = (entry.at.saturating_add(first_octets), entry.at.saturating_add(entry.octets));
        while at < end && draft.missing() > 0 {
            let head = read_block(self.file, at, end - at, block).map_err(|spoilt| (at, spoilt))?;
            if head.kind != Kind::Next || head.octets == 0 {
                return Err((at, Wrong::Senseless.into()));
            }
            if let Err(refused) = draft.append(&mut self.writer, &block[HEAD_OCTETS..]) {
                self.refused(refused);
                return Ok(());
            }
            at += head.whole_octets();
        }
        self.finish(&key, &standing, draft).map_err(|wrong| (at, wrong.into()))
    }

    fn finish(&mut self, key: &[u8], standing: &Standing, draft: Draft) -> Result<(), Wrong> {
        if draft.missing() > 0 {
            return Err(Wrong::Cut);
        }
        self.put(key, standing, Value::Draft(draft));
        Ok(())
    }
}
