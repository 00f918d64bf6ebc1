//! Memory in rooms of one length, which goes back to the system when it is given back.
//!
//! An allocator keeps what is freed for what is asked for next, and a page of it (mimalloc's have up to 4 MiB) stays as
//! long as one piece in it is used: who takes and gives back large pieces of many lengths has far more memory than what
//! he uses. Where a limit is one of memory that is there for the process, its large pieces come from here: address
//! space is taken for good, memory only as rooms are written to (madvise(2), MADV_DONTNEED).
#![expect(unsafe_code, reason = "maps memory, and views it")]

use core::fmt;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::slice;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Octets of address space taken at once.
const MAP_OCTETS: usize = 64 << 20;
/// Rooms that are shorter never lie in large pages, which would be there as a whole for one of them.
const LARGE_PAGES_FROM: usize = 256 << 10;

/// Where rooms come from, and go to.
pub struct Pages {
    room_octets: usize,
    warm_max: usize,
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    maps: Vec<Map>,
    /// Rooms of the last map that nobody has had yet.
    fresh: usize,
    /// Rooms that were given back, with their memory.
    warm: Vec<Place>,
    /// Rooms without memory.
    cold: Vec<Place>,
}

/// Where a room begins.
#[derive(Clone, Copy)]
struct Place(NonNull<u8>);

// SAFETY: an address alone; who has a `Room` or its `Words` decides who goes there.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

/// Address space, unmapped when dropped.
struct Map {
    begin: Place,
    octets: usize,
}

impl Map {
    /// None if the system has no address space left for the process.
    fn new(octets: usize, large_pages: bool) -> Option<Map> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new anonymous map at an address that the system chooses; it cannot overlap memory in use.
        let begin = unsafe { mmap_anonymous(core::ptr::null_mut(), octets, ProtFlags::READ | ProtFlags::WRITE, flags) };
        let map = Map { begin: Place(NonNull::new(begin.ok()?.cast())?), octets };
        if !large_pages {
            // SAFETY: the map's own range, and the advice changes nothing of what is in it. A kernel that has no large
            // pages refuses it.
            let _ = unsafe { madvise(map.begin.0.as_ptr().cast(), octets, Advice::LinuxNoHugepage) };
        }
        Some(map)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`; rooms hold the `Pages` that has this map, so that none is left.
        let unmapped = unsafe { munmap(self.begin.0.as_ptr().cast(), self.octets) };
        debug_assert!(unmapped.is_ok());
    }
}

impl Pages {
    /// Rooms of `room_octets`, raised to whole pages of the system. Up to `warm_max` that were given back keep their
    /// memory for who is next: as many may be there beyond those that are used.
    pub fn new(room_octets: usize, warm_max: usize) -> Arc<Pages> {
        let room_octets = room_octets.max(1).next_multiple_of(rustix::param::page_size());
        Arc::new(Pages { room_octets, warm_max, inside: Mutex::default() })
    }

    /// Octets of a room.
    pub fn room_octets(&self) -> usize {
        self.room_octets
    }

    /// A room: zeros, or what was in it before. None if the system has no address space left for the process.
    pub fn take(self: &Arc<Self>) -> Option<Room> {
        let place = self.lock().take(self.room_octets)?;
        Some(Room { place, pages: Arc::clone(self) })
    }

    fn give_back(&self, place: Place) {
        let mut inside = self.lock();
        if inside.warm.len() < self.warm_max {
            return inside.warm.push(place);
        }
        drop(inside);
        // SAFETY: a whole room of one of the maps, which nobody has any more. It reads as zeros from now on. Where
        // memory is locked the system refuses, and the room keeps it.
        let _ = unsafe { madvise(place.0.as_ptr().cast(), self.room_octets, Advice::LinuxDontNeed) };
        self.lock().cold.push(place);
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    fn take(&mut self, room_octets: usize) -> Option<Place> {
        if let Some(place) = self.warm.pop().or_else(|| self.cold.pop()) {
            return Some(place);
        }
        if self.fresh == 0 {
            let rooms = (MAP_OCTETS / room_octets).max(1);
            self.maps.push(Map::new(rooms * room_octets, room_octets >= LARGE_PAGES_FROM)?);
            self.fresh = rooms;
        }
        let map = self.maps.last()?;
        let at = map.octets - self.fresh * room_octets;
        self.fresh -= 1;
        // SAFETY: less than the octets of the map.
        Some(Place(unsafe { map.begin.0.add(at) }))
    }
}

/// Octets that lie together, given back when dropped.
pub struct Room {
    place: Place,
    pages: Arc<Pages>,
}

impl Room {
    /// The room as so many words that threads share; at most as many as fit. Who clones them shares them.
    pub fn into_words(self, words: usize) -> Words {
        let words_max = self.pages.room_octets / size_of::<AtomicU64>();
        Words { begin: self.place.0.cast(), words: words.min(words_max), room: Arc::new(self) }
    }
}

impl Deref for Room {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: mapped as long as `pages` is, and initialised: the system's zeros, or what was written later.
        unsafe { slice::from_raw_parts(self.place.0.as_ptr(), self.pages.room_octets) }
    }
}

impl DerefMut for Room {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; a place is given to one room at a time, and that is borrowed alone.
        unsafe { slice::from_raw_parts_mut(self.place.0.as_ptr(), self.pages.room_octets) }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.pages.give_back(self.place);
    }
}

/// Words that threads share, given back when the last one lets go of them.
#[derive(Clone)]
pub struct Words {
    begin: NonNull<AtomicU64>,
    words: usize,
    /// Never looked into as octets from here on.
    room: Arc<Room>,
}

// SAFETY: all that can be done with them is what can be done with a shared slice of atomic words.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// How many have them, this one included; at once out of date, but for one that no other can get at.
    pub fn holders(&self) -> usize {
        Arc::strong_count(&self.room)
    }
}

impl Deref for Words {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: within the room, which is mapped as long as `room` is, begins with a page, and is initialised; each
        // pattern of octets is a word. The room is owned by these words, so that nobody looks at its octets.
        unsafe { slice::from_raw_parts(self.begin.as_ptr(), self.words) }
    }
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pages({})", self.room_octets)
    }
}

impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Room({})", self.pages.room_octets)
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words({})", self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    const ROOM: usize = 64 << 10;

    #[test]
    fn what_is_given_back_has_no_memory_but_for_what_stays_warm() {
        let pages = Pages::new(ROOM, 1);
        let mut rooms: Vec<Room> = (0..3).map(|_| pages.take().expect("address space")).collect();
        for (room, octet) in rooms.iter_mut().zip(1u8..) {
            assert!(room.len() == ROOM && room.iter().all(|o| *o == 0));
            room.fill(octet);
        }
        assert_eq!(rooms.iter().map(|room| room[ROOM - 1]).collect::<Vec<_>>(), [1, 2, 3]);
        rooms.drain(..2).for_each(drop);
        let (warm, cold) = (pages.take().expect("warm"), pages.take().expect("cold"));
        assert!(warm.iter().all(|o| *o == 1), "it has its memory still");
        assert!(cold.iter().all(|o| *o == 0), "its memory went back to the system");
        assert!(rooms[0].iter().all(|o| *o == 3));
        assert_eq!(pages.lock().maps.len(), 1);
    }

    #[test]
    fn there_are_as_many_rooms_as_are_asked_for_and_none_twice() {
        let pages = Pages::new(MAP_OCTETS / 2, 0);
        let rooms: Vec<Room> = (0..5).map(|_| pages.take().expect("address space")).collect();
        let mut begins: Vec<usize> = rooms.iter().map(|room| room.as_ptr() as usize).collect();
        begins.sort_unstable();
        assert!(begins.windows(2).all(|two| two[0] + MAP_OCTETS / 2 <= two[1]));
        assert_eq!(pages.lock().maps.len(), 3);
        assert_eq!(Pages::new(1, 0).room_octets(), rustix::param::page_size());
    }

    #[test]
    fn words_are_shared_until_the_last_one_lets_go() {
        let pages = Pages::new(ROOM, 0);
        let words = pages.take().expect("address space").into_words(usize::MAX);
        let other = words.clone();
        assert_eq!((words.len(), words.holders()), (ROOM / 8, 2));
        std::thread::spawn(move || other[ROOM / 8 - 1].store(7, Relaxed)).join().expect("it ends");
        assert_eq!((words[ROOM / 8 - 1].load(Relaxed), words.holders()), (7, 1));
        drop(words);
        let again = pages.take().expect("the same").into_words(5);
        assert!(again.len() == 5 && pages.lock().cold.is_empty());
        assert!(pages.lock().maps.len() == 1 && again.iter().all(|word| word.load(Relaxed) == 0));
    }
}
