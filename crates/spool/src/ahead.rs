//! Reading scattered pieces of files ahead: many at once, so that the disk has something to choose from.
#![allow(unsafe_code)] // reads are submitted with the address of a slot, each with its reason

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, opcode, types};
use rustix::fs::Advice;

/// Pieces that are on their way from the disk at once.
// Limit: pieces of segments read ahead at once
// Beyond: further pieces are read when it is their turn
// Seen in: the query takes longer
pub const AHEAD_PIECES_MAX: usize = 256;
/// Octets of a piece that is read among others; the system is told of a longer one, which it reads well by itself.
pub const AHEAD_OCTETS_MAX: usize = 16 << 10;

/// Brings pieces of files into the page cache before they are read there. It is a matter of speed alone: what does not
/// come this way is read when it is asked for.
///
/// Telling the system of each piece (`posix_fadvise`) starts a request of its own to the disk, and notifies it of each;
/// io_uring hands over many at once. Where io_uring is not to be had, the system is told.
pub struct Ahead {
    ring: Option<IoUring>,
    /// A slot for each piece; nobody reads what comes there.
    room: Box<[u8]>,
    free: Vec<usize>,
}

impl Ahead {
    /// With nothing on its way; takes memory when it is needed.
    pub fn new() -> Ahead {
        Ahead { ring: None, room: Box::default(), free: Vec::new() }
    }

    /// Begins to read pieces, `(offset, octets)` each, in their order; how many it took. The others are for later:
    /// there is no slot for them.
    pub fn fetch(&mut self, file: &File, pieces: impl Iterator<Item = (u64, u64)>) -> usize {
        self.begin();
        self.reap();
        let mut taken = 0;
        for (offset, octets) in pieces.take(AHEAD_PIECES_MAX) {
            // None at all would be all up to the end to the system.
            if octets > AHEAD_OCTETS_MAX as u64 || (self.ring.is_none() && octets > 0) {
                let _ = rustix::fs::fadvise(file, offset, NonZeroU64::new(octets), Advice::WillNeed);
            } else if octets > 0 && !self.send(file, offset, octets as usize) {
                break;
            }
            taken += 1;
        }
        self.submit();
        taken
    }

    /// Hands over all that is in the ring: the kernel takes hold of the file now, not when its number may be another's.
    fn submit(&mut self) {
        while let Some(ring) = &mut self.ring {
            if ring.submission().is_empty() {
                return;
            }
            match ring.submit().map_err(|e| e.kind()) {
                Ok(_) | Err(io::ErrorKind::Interrupted) => {}
                // It is busy until what it has is done.
                Err(io::ErrorKind::ResourceBusy | io::ErrorKind::WouldBlock) => {
                    self.reap();
                    std::thread::yield_now();
                }
                // A ring that takes nothing is given up with all that is in it.
                Err(_) => {
                    std::mem::forget(std::mem::replace(&mut self.room, Box::new([0])));
                    self.ring = None;
                }
            }
        }
    }

    fn begin(&mut self) {
        if !self.room.is_empty() {
            return;
        }
        self.room = vec![0; AHEAD_PIECES_MAX * AHEAD_OCTETS_MAX].into_boxed_slice();
        self.free = (0..AHEAD_PIECES_MAX).collect();
        self.ring = IoUring::new(AHEAD_PIECES_MAX as u32).ok();
    }

    /// False if all slots are taken.
    fn send(&mut self, file: &File, offset: u64, octets: usize) -> bool {
        let (Some(slot), Some(ring)) = (self.free.pop(), &mut self.ring) else { return false };
        let Some(place) = self.room.get_mut(slot * AHEAD_OCTETS_MAX..).and_then(|room| room.get_mut(..octets)) else {
            return false;
        };
        let read = opcode::Read::new(types::Fd(file.as_raw_fd()), place.as_mut_ptr(), octets as u32);
        let entry = read.offset(offset).build().user_data(slot as u64);
        // SAFETY: the slot is this request's alone until its completion is reaped, and the room is neither moved nor
        // given up before: `drop` waits, or leaves it to the kernel. The kernel takes hold of the file when it gets the
        // request, which is before `fetch` returns.
        let pushed = unsafe { ring.submission().push(&entry) };
        if pushed.is_err() {
            self.free.push(slot);
        }
        pushed.is_ok()
    }

    /// Frees the slots of what has come.
    fn reap(&mut self) {
        if let Some(ring) = &mut self.ring {
            self.free.extend(ring.completion().map(|done| done.user_data() as usize));
        }
    }

    fn is_idle(&self) -> bool {
        self.ring.is_none() || self.free.len() == AHEAD_PIECES_MAX
    }
}

impl Default for Ahead {
    fn default() -> Self {
        Ahead::new()
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        while !self.is_idle() {
            let waited = self.ring.as_ref().map(|ring| ring.submit_and_wait(1));
            match waited {
                Some(Err(e)) if e.kind() != io::ErrorKind::Interrupted => break,
                _ => self.reap(),
            }
        }
        if !self.is_idle() {
            // What the kernel may still write to must stay, whatever the ring says.
            std::mem::forget(std::mem::take(&mut self.room));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_into_the_page_cache_and_slots_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![7; 4 << 20]).unwrap();
        let file = File::open(&path).unwrap();
        let pieces = |n: u64| (0..n).map(|piece| (piece * 8192, 4096));
        let mut ahead = Ahead::new();
        let first = ahead.fetch(&file, pieces(500));
        assert!((1..=AHEAD_PIECES_MAX).contains(&first), "{first}");
        let mut taken = first as u64;
        while taken < 500 {
            taken += ahead.fetch(&file, pieces(500).skip(taken as usize)) as u64;
            std::thread::yield_now();
        }
        // Behind the end, empty, longer than a slot: told to the system or nothing at all.
        assert_eq!(ahead.fetch(&file, [(1 << 40, 4096), (0, 0), (0, 1 << 20)].into_iter()), 3);
        drop(file);
        while !ahead.is_idle() {
            ahead.reap();
            std::thread::yield_now();
        }
    }
}
