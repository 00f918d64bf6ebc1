//! Room on the disk: what the web writes never takes the last of it, which is the capture's.

use crate::problem::{Kind, Problem};
use crate::sources::{Cancel, SourceError, Trouble};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::Duration;
use trunkline_kit::config::Share;

/// What extractions and uploads leave free of a volume, percent, unless `web.keep-free` says otherwise.
pub const KEEP_FREE_PERCENT: f64 = 5.0;
/// Octets of a file that are written between two looks at the disk: all that is written at a time may take so much more
/// than it should.
pub const LOOK_EVERY_OCTETS: u64 = 1 << 20;
/// How often the disk is looked at while a capture is read, which writes rows.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// What is said where there is no room.
const NO_ROOM: &str = "The disk is too full: what is left of it is kept for the capture (web.keep-free).";

/// A file system, octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Of all of it.
    pub size: u64,
    /// That may still be written without being root.
    pub free: u64,
}

/// What looks at file systems.
#[derive(Clone)]
pub struct Disks(Arc<Look>);

type Look = dyn Fn(&Path) -> io::Result<Disk> + Send + Sync;

impl Disks {
    /// Those of this machine.
    pub fn of_system() -> Self {
        Disks::looked_at_by(|folder| {
            let system = rustix::fs::statvfs(folder)?;
            let octets = |blocks: u64| blocks.saturating_mul(system.f_frsize);
            Ok(Disk { size: octets(system.f_blocks), free: octets(system.f_bavail) })
        })
    }

    /// As somebody else sees them.
    pub fn looked_at_by(look: impl Fn(&Path) -> io::Result<Disk> + Send + Sync + 'static) -> Self {
        Disks(Arc::new(look))
    }
}

impl fmt::Debug for Disks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Disks")
    }
}

/// The room that the web has on the volume of a folder.
#[derive(Clone, Debug)]
pub struct Room {
    folder: PathBuf,
    keep_free: Share,
    disks: Disks,
}

impl Room {
    /// Of the volume that a folder is on.
    pub fn new(folder: &Path, keep_free: Share, disks: Disks) -> Self {
        Room { folder: folder.to_owned(), keep_free, disks }
    }

    /// Octets that may still be written.
    ///
    /// # Errors
    /// The system does not say.
    pub fn left(&self) -> io::Result<u64> {
        let disk = (self.disks.0)(&self.folder)?;
        Ok(disk.free.saturating_sub(self.keep_free.of(disk.size)))
    }

    /// Refuses to begin what writes where nothing may be written, or less than is known to come.
    ///
    /// # Errors
    /// [`Kind::NoRoom`]; [`Kind::Failed`] where the system does not say.
    pub fn check(&self, coming: u64) -> Result<(), Problem> {
        let left = self.left().map_err(Problem::failed)?;
        if left == 0 || left < coming { Err(no_room().into()) } else { Ok(()) }
    }

    /// Whether nothing more may be written.
    ///
    /// # Errors
    /// As [`Room::left`].
    pub fn is_full(&self) -> io::Result<bool> {
        Ok(self.left()? == 0)
    }

    /// Does something that writes by itself, and ends it when there is no more room.
    ///
    /// # Errors
    /// What it says; [`Trouble::NoRoom`] if it was ended.
    pub fn watch<T>(&self, cancel: &Cancel, work: impl FnOnce() -> Result<T, SourceError>) -> Result<T, SourceError> {
        let (over, full) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let looks = || {
                while !over.load(Ordering::Acquire) {
                    if self.is_full().unwrap_or(false) {
                        full.store(true, Ordering::Release);
                        return cancel.cancel();
                    }
                    std::thread::park_timeout(LOOK_EVERY);
                }
            };
            let watcher = Builder::new().name("room".to_owned()).spawn_scoped(scope, looks);
            let watcher = watcher.map_err(|e| SourceError::new(Trouble::Busy, e.to_string()))?;
            let ends = Ends { over: &over, watcher: watcher.thread() };
            let done = work();
            drop(ends);
            let _ = watcher.join();
            if full.load(Ordering::Acquire) && done.is_err() { Err(no_room()) } else { done }
        })
    }
}

/// Ends the watch, also where what is watched panics.
struct Ends<'a> {
    over: &'a AtomicBool,
    watcher: &'a std::thread::Thread,
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        self.watcher.unpark();
    }
}

/// What is said where there is no room.
pub fn no_room() -> SourceError {
    SourceError::new(Trouble::NoRoom, NO_ROOM)
}

/// Whether writing failed because the disk, or what its user may have of it, is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// A failure to write, as it is told.
pub fn not_written(error: &io::Error) -> Problem {
    if is_full(error) { Problem::new(Kind::NoRoom, NO_ROOM) } else { Problem::failed(error) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eventually::eventually;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn the_reserve_is_not_room() {
        let of = |keep_free, free| {
            let disks = Disks::looked_at_by(move |_| Ok(Disk { size: 1000, free }));
            Room::new(Path::new("/"), keep_free, disks).left().unwrap()
        };
        assert_eq!(of(Share::Percent(5.0), 200), 150);
        assert_eq!(of(Share::Percent(5.0), 50), 0);
        assert_eq!(of(Share::Percent(5.0), 10), 0);
        assert_eq!(of(Share::Percent(0.0), 10), 10);
        assert!(Room::new(Path::new("/"), Share::Percent(0.0), Disks::of_system()).left().unwrap() > 0);
    }

    #[test]
    fn what_writes_by_itself_ends_when_the_disk_is_full() {
        let free = Arc::new(AtomicU64::new(1000));
        let seen = Arc::clone(&free);
        let disks = Disks::looked_at_by(move |_| Ok(Disk { size: 1000, free: seen.load(Ordering::SeqCst) }));
        let room = Room::new(Path::new("/"), Share::Percent(5.0), disks);
        assert_eq!(room.watch(&Cancel::default(), || Ok(7)), Ok(7));
        let cancel = Cancel::default();
        let filled = |done: Result<i32, SourceError>| {
            free.store(50, Ordering::SeqCst);
            eventually("it is cancelled", || cancel.is_cancelled());
            done
        };
        let cancelled = SourceError::new(Trouble::Cancelled, "cancelled");
        assert_eq!(room.watch(&cancel, || filled(Err(cancelled))), Err(no_room()));
        assert_eq!(room.watch(&cancel, || filled(Ok(7))), Ok(7), "what was done all the same is done");
        let watched = || room.watch::<()>(&Cancel::default(), || panic!("a defect"));
        let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(watched));
        assert!(died.is_err(), "and the watch ended with it");
    }
}
