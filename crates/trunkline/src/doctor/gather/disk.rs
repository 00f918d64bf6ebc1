//! How fast a disk takes what is written to it in one go, as the packet log writes.

use crate::doctor::facts::Speed;
use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, fdatasync, open, openat};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Octets that are written.
pub const OCTETS: u64 = 256 << 20;
/// What is written by then is enough.
pub const TIME_MAX: Duration = Duration::from_secs(5);
/// Octets that stay free.
const FREE_MIN: u64 = 1 << 30;
/// Octets of a block, and what O_DIRECT asks of its address.
const BLOCK: usize = 1 << 20;
const ALIGNMENT: usize = 4096;

/// Measures. The file has no name: it is gone when this process is, however it ends.
///
/// # Errors
/// Why nothing can be written there.
pub fn measure(folder: &Path, free: u64) -> Result<Speed, String> {
    if free < OCTETS + FREE_MIN {
        return Err(format!("less than {} are free", crate::show::figure::octets(OCTETS + FREE_MIN)));
    }
    let wrong = |e: std::io::Error| e.to_string();
    match write(folder, true) {
        // Some file systems take O_DIRECT when opening and refuse to write.
        Err(e) if e.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => write(folder, false).map_err(wrong),
        done => done.map_err(wrong),
    }
}

fn write(folder: &Path, direct: bool) -> std::io::Result<Speed> {
    let file = nameless(folder, if direct { OFlags::DIRECT } else { OFlags::empty() })?;
    // As the log does; a file system that cannot is measured without.
    let _ = fallocate(&file, FallocateFlags::KEEP_SIZE, 0, OCTETS);
    let memory = noise();
    let start = memory.as_ptr().align_offset(ALIGNMENT);
    let block = memory.get(start..start + BLOCK).unwrap_or_default();
    let begin = Instant::now();
    let (mut octets, mut slowest) = (0, Duration::ZERO);
    while octets < OCTETS && begin.elapsed() < TIME_MAX {
        let before = Instant::now();
        file.write_all_at(block, octets)?;
        slowest = slowest.max(before.elapsed());
        octets += BLOCK as u64;
    }
    let before = Instant::now();
    fdatasync(&file)?;
    // Through the page cache all waiting is done here; it is no wait for one block.
    slowest = if direct { slowest.max(before.elapsed()) } else { slowest };
    let seconds = begin.elapsed().as_secs_f64().max(1e-9);
    Ok(Speed { octets_per_second: octets as f64 / seconds, octets, slowest, direct })
}

/// A file without a name, or where the file system knows no such thing, one whose name is removed at once.
fn nameless(folder: &Path, flags: OFlags) -> std::io::Result<File> {
    let (mode, flags) = (Mode::RUSR | Mode::WUSR, flags | OFlags::WRONLY | OFlags::CLOEXEC);
    match open(folder, flags | OFlags::TMPFILE, mode) {
        Ok(file) => return Ok(File::from(file)),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let folder = open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let name = format!(".trunkline-doctor-{}", std::process::id());
    let file = openat(&folder, &name, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
    rustix::fs::unlinkat(&folder, &name, rustix::fs::AtFlags::empty())?;
    Ok(File::from(file))
}

/// Octets that no disk can compress or find again (xorshift), enough for a block at any alignment.
fn noise() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..(BLOCK + ALIGNMENT) / 8).flat_map(|_| next().to_ne_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let speed = measure(folder.path(), u64::MAX).unwrap();
        assert!(speed.octets_per_second > 0.0 && speed.octets > 0, "{speed:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn says_why_it_cannot() {
        let folder = tempfile::tempdir().unwrap();
        assert!(measure(folder.path(), OCTETS).unwrap_err().contains("are free"));
        assert!(measure(&folder.path().join("gone"), u64::MAX).unwrap_err().contains("No such file"));
        // Not a folder of a disk: nothing can be made there.
        assert!(measure(Path::new("/proc"), u64::MAX).is_err());
    }
}
