//! Work that takes longer than a request: extractions and captures that are read. Each has an owner, a progress that
//! can be looked at, a file in the folder of this process below `DATA/spool/web`, and an end: by age, by number, by
//! size, or with the server.

use crate::paths;
use crate::problem::{Kind, Problem};
use crate::room::{self, LOOK_EVERY_OCTETS, Room};
use crate::sources::{Cancel, Progress, SourceError, Trouble};
use rand::RngCore;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;
use trunkline_store::time::SECOND_NS;
use utoipa::ToSchema;

/// How long what was made is kept.
// Limit: age of bills, reconciliations and ratings kept in the web
// Beyond: they are removed
// Seen in: the list
pub const AGE_MAX_S: i64 = 24 * 3600;

/// How one kind of work is bounded.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Pieces of work that run at a time; others wait.
    pub running: usize,
    /// Pieces of work of all owners, done or not.
    pub kept: usize,
    /// Whose work makes room for a new one.
    pub places: Places,
    /// Pieces of work of one owner that are not over.
    pub waiting_of_one: usize,
    /// Octets of one file.
    pub octets: u64,
    /// Octets of all files.
    pub octets_in_all: u64,
    /// How long what was made is kept; none for as long as there is room.
    pub age_s: Option<i64>,
    /// Whether it outlives the program. Then it gets old by [`Shelf::tidy`] alone, whose caller believes the clock.
    pub lasts: bool,
}

/// Whose work makes room for more, of what is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Places {
    /// All owners share them: the oldest of the owner goes first, and where there is none, the oldest of all.
    Shared,
    /// Each owner has places of their own. Only their own oldest goes: where the places of all are taken by others,
    /// nothing is taken up until one is free.
    OfEach {
        /// Pieces of work of an owner, done or not.
        kept: usize,
        /// Octets of their files.
        octets: u64,
    },
}

/// How far work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkState {
    /// It runs, or waits for its turn.
    Running,
    /// It is done.
    Done,
    /// It failed: `error` says why.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// Whose work it is: the row of a user, which is never another's, though the name may be. A token's is its user's.
pub type Owner = i64;

/// One piece of work: what was asked, and what came of it.
pub struct Work<A, D> {
    /// Its name: 128 random bits.
    pub id: String,
    /// Who asked.
    pub owner: Owner,
    /// When it was asked, nanoseconds since 1970.
    pub asked_ns: i64,
    /// What was asked.
    pub ask: A,
    /// How far it is.
    pub progress: Progress,
    /// Its file.
    pub path: PathBuf,
    kept: Mutex<Vec<PathBuf>>,
    cancel: Cancel,
    end: Mutex<Option<Result<D, SourceError>>>,
}

impl<A, D: Clone> Work<A, D> {
    /// How far it is, what was made, what went wrong.
    pub fn state(&self) -> (WorkState, Option<D>, Option<String>) {
        match &*lock(&self.end) {
            None => (WorkState::Running, None, None),
            Some(Ok(done)) => (WorkState::Done, Some(done.clone()), None),
            Some(Err(error)) if error.trouble == Trouble::Cancelled => (WorkState::Cancelled, None, None),
            Some(Err(error)) => (WorkState::Failed, None, Some(paths::named(&error.text))),
        }
    }

    /// Octets of its file, and of what was kept of it elsewhere.
    pub fn octets(&self) -> u64 {
        let octets = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        octets(&self.path) + lock(&self.kept).first().map_or(0, |path| octets(path))
    }

    fn is_over(&self) -> bool {
        lock(&self.end).is_some()
    }
}

/// Work that is done, and lasts.
pub struct Done<A, D> {
    /// Its name.
    pub id: String,
    /// Who asked.
    pub owner: Owner,
    /// When, nanoseconds since 1970.
    pub asked_ns: i64,
    /// What was asked.
    pub ask: A,
    /// What was made.
    pub done: D,
    /// The file that was made, and those that go with it.
    pub kept: Vec<PathBuf>,
}

/// All work of one kind.
pub struct Shelf<A, D> {
    folder: PathBuf,
    prefix: &'static str,
    limits: Limits,
    turns: Arc<Semaphore>,
    all: Mutex<BTreeMap<String, Arc<Work<A, D>>>>,
}

impl<A: Send + Sync + 'static, D: Clone + Send + 'static> Shelf<A, D> {
    /// Files `PREFIX-ID` in a folder that is nobody else's.
    pub fn new(folder: &Path, prefix: &'static str, limits: Limits) -> Self {
        let turns = Arc::new(Semaphore::new(limits.running));
        Shelf { folder: folder.to_owned(), prefix, limits, turns, all: Mutex::default() }
    }

    /// How it is bounded.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Takes work up; it does not run yet.
    ///
    /// # Errors
    /// [`Kind::TooMany`] if its owner has too much that is not over, [`Kind::Busy`] if there is no room.
    pub fn take(&self, owner: Owner, ask: A, now_ns: i64) -> Result<Arc<Work<A, D>>, Problem> {
        let mut all = lock(&self.all);
        let waiting = all.values().filter(|work| work.owner == owner && !work.is_over()).count();
        if waiting >= self.limits.waiting_of_one {
            let text = format!("{waiting} of yours are running: wait until one ends, or cancel one.");
            return Err(Problem::new(Kind::TooMany, text).retry_after(10));
        }
        let age_s = self.limits.age_s.filter(|_| !self.limits.lasts);
        make_room(&mut all, &Limits { age_s, ..self.limits }, Some(owner), now_ns);
        let unfinished = all.values().filter(|work| !work.is_over()).count() as u64;
        let stored: u64 = all.values().filter(|work| work.is_over()).map(|work| work.octets()).sum();
        let promised = unfinished.saturating_add(1).saturating_mul(self.limits.octets);
        if all.len() >= self.limits.kept || stored.saturating_add(promised) > self.limits.octets_in_all {
            let (count, most) = (all.len(), self.limits.kept);
            let text = format!("No room for another one: {count} of {most} slots of all users are in use.");
            return Err(Problem::new(Kind::Busy, text).retry_after(60));
        }
        let id = new_id();
        let path = self.folder.join(format!("{}-{id}", self.prefix));
        let (progress, cancel, kept, end) =
            (Progress::default(), Cancel::default(), Mutex::default(), Mutex::default());
        let work = Arc::new(Work { id: id.clone(), owner, asked_ns: now_ns, ask, progress, path, kept, cancel, end });
        all.insert(id, Arc::clone(&work));
        Ok(work)
    }

    /// Takes work up that an earlier start of the program did, with what it keeps.
    pub fn restore(&self, done: Done<A, D>) {
        let Done { id, owner, asked_ns, ask, done, kept } = done;
        let path = self.folder.join(format!("{}-{id}", self.prefix));
        let (progress, cancel) = Default::default();
        let (kept, end) = (Mutex::new(kept), Mutex::new(Some(Ok(done))));
        let work = Work { id: id.clone(), owner, asked_ns, ask, progress, path, kept, cancel, end };
        lock(&self.all).insert(id, Arc::new(work));
    }

    /// Runs work when it is its turn, on a thread that may wait.
    pub fn run(
        &self,
        work: &Arc<Work<A, D>>,
        run: impl FnOnce(&Work<A, D>, &Cancel) -> Result<D, SourceError> + Send + 'static,
    ) {
        let (turns, work) = (Arc::clone(&self.turns), Arc::clone(work));
        tokio::spawn(async move {
            let Ok(_turn) = turns.acquire_owned().await else { return };
            let worker = Arc::clone(&work);
            let ran = tokio::task::spawn_blocking(move || match worker.cancel.is_cancelled() {
                true => Err(SourceError::new(Trouble::Cancelled, "cancelled")),
                false => run(&worker, &worker.cancel),
            });
            let end = match ran.await {
                Ok(end) => end,
                Err(error) => Err(SourceError::new(Trouble::Failed, error.to_string())),
            };
            work.finish(end);
        });
    }

    /// The work of a name, if it is the owner's.
    ///
    /// # Errors
    /// [`Kind::NotFound`], as well for work of others.
    pub fn find(&self, id: &str, owner: Owner) -> Result<Arc<Work<A, D>>, Problem> {
        let found = lock(&self.all).get(id).filter(|work| work.owner == owner).cloned();
        found.ok_or_else(|| Problem::new(Kind::NotFound, "It does not exist, or it was deleted."))
    }

    /// The owner's work, the newest first.
    pub fn list(&self, owner: Owner) -> Vec<Arc<Work<A, D>>> {
        let mut own: Vec<_> = lock(&self.all).values().filter(|work| work.owner == owner).cloned().collect();
        own.sort_by_key(|work| std::cmp::Reverse(work.asked_ns));
        own
    }

    /// Ends work and removes its file.
    pub fn remove(&self, work: &Work<A, D>) {
        work.cancel.cancel();
        lock(&self.all).remove(&work.id);
        work.remove_files();
    }

    /// Removes what is too old.
    pub fn tidy(&self, now_ns: i64) {
        let limits = Limits { kept: usize::MAX, octets_in_all: u64::MAX, ..self.limits };
        make_room(&mut lock(&self.all), &limits, None, now_ns);
    }

    /// How many there are, and the octets of their files.
    pub fn size(&self) -> (usize, u64) {
        let all = lock(&self.all);
        (all.len(), all.values().map(|work| work.octets()).sum())
    }
}

impl<A, D> Work<A, D> {
    /// What was made lies there: it counts, and goes, with the work. So do further files, which do not count.
    pub fn keep(&self, path: PathBuf, beside: Option<PathBuf>) {
        *lock(&self.kept) = [path].into_iter().chain(beside).collect();
    }

    /// Where it lies.
    pub fn kept(&self) -> Option<PathBuf> {
        lock(&self.kept).first().cloned()
    }

    fn remove_files(&self) {
        let _ = std::fs::remove_file(&self.path);
        for kept in lock(&self.kept).drain(..) {
            let _ = std::fs::remove_file(kept);
        }
    }

    /// Ends it with what came of it. A file of what failed is removed.
    pub fn finish(&self, end: Result<D, SourceError>) {
        if let Err(error) = &end {
            self.remove_files();
            if matches!(error.trouble, Trouble::Failed | Trouble::NoRoom) {
                tracing::warn!(target: "web", "work failed: {}", error.text);
            }
        }
        // Whoever removed it while it ran removed the file as well; what was written since is nobody's.
        *lock(&self.end) = Some(end);
        if self.cancel.is_cancelled() {
            self.remove_files();
        }
    }
}

/// Removes what is over and too old, then the oldest that is over, as its places say, until there is room for one more.
fn make_room<A, D: Clone>(
    all: &mut BTreeMap<String, Arc<Work<A, D>>>,
    limits: &Limits,
    owner: Option<Owner>,
    now_ns: i64,
) {
    let first_ns = limits.age_s.map_or(i64::MIN, |age_s| now_ns.saturating_sub(age_s.saturating_mul(SECOND_NS)));
    let mut over: Vec<Arc<Work<A, D>>> = all.values().filter(|work| work.is_over()).cloned().collect();
    over.sort_by_key(|work| (work.asked_ns >= first_ns, Some(work.owner) != owner, work.asked_ns));
    let is_own = |work: &Work<A, D>| Some(work.owner) == owner;
    let (mut whole, mut own) = (Taken::default(), Taken::default());
    for work in all.values() {
        whole.add(work);
        if is_own(work) {
            own.add(work);
        }
    }
    // What others have cannot be mended by removing what is one's own.
    let mut without = whole.clone();
    over.iter().filter(|work| is_own(work)).for_each(|work| without.take_away(work));
    let helps = !without.is_full(limits.octets, limits.kept, limits.octets_in_all);
    for work in over {
        let is_too_old = work.asked_ns < first_ns;
        let full = whole.is_full(limits.octets, limits.kept, limits.octets_in_all);
        let wanted = match limits.places {
            Places::Shared => full,
            Places::OfEach { kept, octets } => {
                is_own(&work) && (full && helps || own.is_full(limits.octets, kept, octets))
            }
        };
        if !is_too_old && !wanted {
            continue;
        }
        whole.take_away(&work);
        if is_own(&work) {
            own.take_away(&work);
        }
        work.remove_files();
        all.remove(&work.id);
    }
}

/// Places that are taken.
#[derive(Clone, Default)]
struct Taken {
    pieces: usize,
    unfinished: u64,
    octets: u64,
}

impl Taken {
    fn add<A, D: Clone>(&mut self, work: &Work<A, D>) {
        self.pieces += 1;
        if work.is_over() {
            self.octets = self.octets.saturating_add(work.octets());
        } else {
            self.unfinished += 1;
        }
    }

    fn take_away<A, D: Clone>(&mut self, over: &Work<A, D>) {
        self.pieces = self.pieces.saturating_sub(1);
        self.octets = self.octets.saturating_sub(over.octets());
    }

    /// Whether there is no room for one more of a size beside what is not over, and will have that size, too.
    fn is_full(&self, size: u64, kept: usize, octets: u64) -> bool {
        let promised = self.unfinished.saturating_add(1).saturating_mul(size);
        self.pieces >= kept || self.octets.saturating_add(promised) > octets
    }
}

/// A file that refuses to grow beyond a limit, or into what is kept free of its disk.
pub struct Bounded {
    file: io::BufWriter<File>,
    left: u64,
    room: Room,
    /// Octets since the disk was looked at.
    unlooked: u64,
    is_full: bool,
}

impl Bounded {
    /// Makes a file that only its owner reads.
    ///
    /// # Errors
    /// It cannot be made; `StorageFull` where there is no room.
    pub fn create(path: &Path, octets_max: u64, room: Room) -> io::Result<Self> {
        use std::os::unix::fs::OpenOptionsExt;
        if room.is_full()? {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
        let file = io::BufWriter::with_capacity(256 * 1024, file);
        Ok(Bounded { file, left: octets_max, room, unlooked: 0, is_full: false })
    }

    /// Whether it did not grow any further because the disk is full.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    fn noted<T>(&mut self, written: io::Result<T>) -> io::Result<T> {
        self.is_full |= written.as_ref().is_err_and(room::is_full);
        written
    }

    fn look(&mut self, octets: u64) -> io::Result<()> {
        self.unlooked += octets;
        if self.unlooked < LOOK_EVERY_OCTETS {
            return Ok(());
        }
        self.unlooked = 0;
        if self.room.is_full()? { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl Write for Bounded {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let length = octets.len() as u64;
        if length > self.left {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than allowed"));
        }
        self.left -= length;
        let looked = self.look(length);
        self.noted(looked)?;
        let written = self.file.write_all(octets);
        self.noted(written)?;
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.noted(flushed)
    }
}

/// 128 random bits, as text.
pub fn new_id() -> String {
    let mut octets = [0; 16];
    rand::rng().fill_bytes(&mut octets);
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::{Disk, Disks};
    use trunkline_kit::config::{Octets, Share};

    const LIMITS: Limits = Limits {
        running: 1,
        kept: 3,
        places: Places::Shared,
        waiting_of_one: 2,
        octets: 10,
        octets_in_all: 30,
        age_s: Some(AGE_MAX_S),
        lasts: false,
    };

    fn shelf(folder: &Path) -> Shelf<(), u64> {
        Shelf::new(folder, "work", LIMITS)
    }

    /// Room for so many octets, of which what is in the folder takes away.
    fn room_of(folder: &Path, octets: u64) -> Room {
        let disks = Disks::looked_at_by(move |folder| {
            let sizes = std::fs::read_dir(folder)?.flatten().filter_map(|f| f.metadata().ok()).map(|m| m.len());
            Ok(Disk { size: 1 << 40, free: (octets + 10).saturating_sub(sizes.sum()) })
        });
        Room::new(folder, Share::Octets(Octets(10)), disks)
    }

    fn bounded(path: &Path, room: u64) -> Bounded {
        let octets_max = if room > 100 { u64::MAX } else { 10 };
        Bounded::create(path, octets_max, room_of(path.parent().unwrap(), room)).unwrap()
    }

    fn ended(shelf: &Shelf<(), u64>, owner: Owner, now_ns: i64, octets: usize) -> Arc<Work<(), u64>> {
        let work = shelf.take(owner, (), now_ns).unwrap();
        bounded(&work.path, 100).write_all(&vec![0; octets]).unwrap();
        work.finish(Ok(7));
        work
    }

    #[test]
    fn the_oldest_makes_room_and_nothing_is_kept_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = shelf(folder.path());
        let works: Vec<_> = (1..=4).map(|n| ended(&shelf, 1, n, 5)).collect();
        assert_eq!(shelf.list(1).len(), 3);
        assert!(!works[0].path.exists() && works[3].path.exists());
        shelf.tidy(10 + AGE_MAX_S * SECOND_NS);
        assert_eq!(shelf.size(), (0, 0));
    }

    #[test]
    fn who_wants_more_loses_their_own_first() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = shelf(folder.path());
        let [others, own, newer] = [(2, 1), (1, 2), (1, 3)].map(|(owner, at)| ended(&shelf, owner, at, 5));
        ended(&shelf, 1, 4, 5);
        assert!(others.path.exists() && !own.path.exists() && newer.path.exists());
        ended(&shelf, 3, 5, 5);
        assert!(!others.path.exists(), "who has none takes the oldest of all");
        ended(&shelf, 3, 6 + AGE_MAX_S * SECOND_NS, 5);
        assert_eq!(shelf.size().0, 1, "what is too old goes, whosever it is");
    }

    #[test]
    fn who_has_places_of_their_own_loses_none_to_others() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::OfEach { kept: 3, octets: 25 };
        let shelf = Shelf::new(folder.path(), "work", Limits { kept: 7, octets_in_all: 1000, places, ..LIMITS });
        let of_one: Vec<_> = (1..=4).map(|n| ended(&shelf, 1, n, 5)).collect();
        let there = |works: &[Arc<Work<(), u64>>]| works.iter().map(|work| work.path.exists()).collect::<Vec<_>>();
        assert_eq!(there(&of_one), [false, true, true, true], "their own oldest goes");
        let of_two: Vec<_> = (5..=7).map(|n| ended(&shelf, 2, n, 10)).collect();
        // Two files of ten octets leave no room for a third one of ten within 25.
        assert_eq!(there(&of_two), [false, true, true]);
        ended(&shelf, 3, 8, 5);
        ended(&shelf, 3, 9, 5);
        let busy = shelf.take(4, (), 10).err().unwrap();
        assert_eq!((busy.kind, shelf.size().0), (Kind::Busy, 7), "nobody is driven out");
        assert_eq!([there(&of_one[1..]), there(&of_two[1..])].concat(), [true; 5]);
        // Who has some makes room by their own, also where all places are taken.
        ended(&shelf, 1, 11, 5);
        assert_eq!(there(&of_one[1..]), [false, true, true]);
        ended(&shelf, 4, 12 + AGE_MAX_S * SECOND_NS, 5);
        assert_eq!(shelf.size().0, 1, "what is too old goes, whosever it is");
    }

    #[test]
    fn what_is_kept_elsewhere_counts_and_goes_with_its_work() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = shelf(folder.path());
        let kept: Vec<PathBuf> = (0..3).map(|n| folder.path().join(format!("kept-{n}"))).collect();
        let works: Vec<_> = (0..3)
            .map(|n| {
                let work = shelf.take(1, (), n + 1).unwrap();
                std::fs::write(&kept[n as usize], [0; 10]).unwrap();
                work.keep(kept[n as usize].clone(), None);
                work.finish(Ok(7));
                work
            })
            .collect();
        assert_eq!(shelf.size(), (3, 30));
        shelf.take(1, (), 4).unwrap();
        assert!(!kept[0].exists() && kept[1].exists());
        shelf.remove(&works[1]);
        assert!(!kept[1].exists());
        shelf.tidy(10 + AGE_MAX_S * SECOND_NS);
        assert!(!kept[2].exists());
        let late = shelf.take(1, (), 5).unwrap();
        shelf.remove(&late);
        std::fs::write(&kept[0], b"x").unwrap();
        late.keep(kept[0].clone(), None);
        late.finish(Ok(7));
        assert!(!kept[0].exists(), "it was removed while it was read");
    }

    #[test]
    fn work_is_its_owners_and_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = shelf(folder.path());
        let one = shelf.take(1, (), 1).unwrap();
        shelf.take(1, (), 2).unwrap();
        assert!(shelf.take(1, (), 3).is_err());
        assert!(shelf.find(&one.id, 2).is_err() && shelf.find(&one.id, 1).is_ok());
        shelf.take(2, (), 3).unwrap();
        assert!(shelf.take(2, (), 4).is_err(), "three of ten octets are promised already");
        let mut file = bounded(&one.path, 100);
        assert!(file.write_all(&[0; 10]).is_ok() && file.write_all(&[0]).is_err());
        shelf.remove(&one);
        assert!(!one.path.exists());
    }

    #[test]
    fn a_file_does_not_grow_into_what_is_kept_free() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut file = bounded(&path, 4 << 20);
        let piece = vec![0; 64 * 1024];
        let refused = (0..1000).find_map(|_| file.write_all(&piece).err()).unwrap();
        assert!(room::is_full(&refused) && file.is_full());
        drop(file);
        let octets = std::fs::metadata(&path).unwrap().len();
        assert!((3 << 20..=(4 << 20) + LOOK_EVERY_OCTETS).contains(&octets), "{octets}");
        let none = Bounded::create(&folder.path().join("y"), 10, room_of(folder.path(), 0));
        assert!(none.is_err_and(|e| room::is_full(&e)) && !folder.path().join("y").exists());
    }
}
