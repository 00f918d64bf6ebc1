//! One run for one data folder, and for each volume of its packet log: a second one is refused, with the process of the
//! first. Two on one volume would give segments the same names, and each would delete what the other keeps.
//!
//! A lock that the kernel gives back when the process ends says who is there, never a number in a file alone: that may
//! be of a process that is gone, or by now another's.

use crate::failure::Failure;
use crate::rights;
use rustix::fs::{FlockOperation, OFlags, flock};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// Its name in the data folder.
const NAME: &str = "run.lock";
/// Octets of it that are read: a number.
const OCTETS_MAX: u64 = 32;
/// How long it is waited for: a run that was killed has it until the kernel has taken its rings away.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it is tried meanwhile.
const TICK: Duration = Duration::from_millis(50);

/// The right to run; given back when dropped, or when the process ends in whatever way. The lock is on the folder
/// itself, which nobody can put another one in place of, and on the file with the process's number.
#[derive(Debug)]
pub struct Only(Vec<File>);

impl Only {
    /// Takes it for a data folder that is there.
    ///
    /// # Errors
    /// Another process has it: which one. The file cannot be made.
    pub fn take(data: &Path) -> Result<Only, Failure> {
        Only::take_within(data, PATIENCE)
    }

    /// The same with further folders of the packet log. One that is not there now, or whose file system has no locks,
    /// is left out: recording goes on without it until it is there.
    ///
    /// # Errors
    /// As [`take`](Self::take); one of them is taken.
    pub fn take_with<'v>(data: &Path, volumes: impl IntoIterator<Item = &'v Path>) -> Result<Only, Failure> {
        let mut only = Only::take(data)?;
        for volume in volumes {
            let Ok(folder) = File::open(volume) else { continue };
            match within(PATIENCE, || flock(&folder, FlockOperation::NonBlockingLockExclusive)) {
                Ok(()) => only.0.push(folder),
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(Failure::Failed(shared(volume))),
                Err(error) => {
                    let path = volume.display();
                    tracing::warn!("{path}: its file system has no locks ({error}): a second run is not refused");
                }
            }
        }
        Ok(only)
    }

    fn take_within(data: &Path, patience: Duration) -> Result<Only, Failure> {
        let path = data.join(NAME);
        let failed = |e: io::Error| Failure::Failed(format!("{}: {e}", path.display()));
        let no_link = OFlags::NOFOLLOW.bits().cast_signed();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o640).custom_flags(no_link);
        let mut file = options.open(&path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if !about.is_file() || about.nlink() > 1 {
            let why = "it has a second name elsewhere, or is no file: remove it";
            return Err(Failure::Failed(format!("{}: {why}", path.display())));
        }
        let folder = File::open(data).map_err(failed)?;
        let lock = || match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => Err(rustix::io::Errno::WOULDBLOCK),
            // Some file systems lock files alone.
            _ => flock(&file, FlockOperation::NonBlockingLockExclusive),
        };
        match within(patience, lock) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(Failure::Failed(taken(data, &mut file))),
            Err(error) => {
                tracing::warn!(
                    "{}: its file system has no locks ({error}): a second run is not refused",
                    path.display()
                );
                return Ok(Only(Vec::new()));
            }
        }
        rights::hand_over(data, &[NAME]).map_err(failed)?;
        file.set_len(0).map_err(failed)?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(Only(vec![folder, file]))
    }
}

/// Tries a lock for so long.
fn within(patience: Duration, lock: impl Fn() -> rustix::io::Result<()>) -> rustix::io::Result<()> {
    let begun = Instant::now();
    let mut locked = lock();
    while locked == Err(rustix::io::Errno::WOULDBLOCK) && begun.elapsed() < patience {
        std::thread::park_timeout(TICK);
        locked = lock();
    }
    locked
}

fn shared(volume: &Path) -> String {
    format!(
        "{}: it is recorded to already, by another process or under another name: name another folder in \
         record.volumes or record.slow-tier",
        volume.display()
    )
}

fn taken(data: &Path, file: &mut File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.take(OCTETS_MAX).read_to_string(&mut text));
    let who = match (read, text.trim().parse::<u32>()) {
        (Ok(_), Ok(pid)) => format!("process {pid} runs"),
        _ => "another process runs".to_owned(),
    };
    format!("{}: {who} on this data folder: stop it, or name another folder with --data", data.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_the_first_is_and_a_number_alone_is_no_reason() {
        let data = tempfile::tempdir().unwrap();
        // A run that was killed; its number is that of a process that lives.
        std::fs::write(data.path().join(NAME), format!("{}\n", std::process::id())).unwrap();
        let first = Only::take(data.path()).unwrap();
        let Err(Failure::Failed(why)) = Only::take_within(data.path(), Duration::ZERO) else { panic!("it is taken") };
        assert!(why.contains(&format!("process {} runs", std::process::id())), "{why}");
        drop(first);
        Only::take(data.path()).unwrap();
    }

    /// Two on one volume would write, and delete, beside each other; one that is not there is no reason to end.
    #[test]
    fn a_volume_is_recorded_to_by_one_run() {
        let [data, other, volume] = [0, 1, 2].map(|_| tempfile::tempdir().unwrap());
        let gone = volume.path().join("gone");
        let first = Only::take_with(data.path(), [volume.path(), &gone]).unwrap();
        for volume in [volume.path(), data.path()] {
            let Err(Failure::Failed(why)) = Only::take_with(other.path(), [volume]) else { panic!("it is taken") };
            assert!(why.starts_with(&format!("{}: it is recorded to already", volume.display())), "{why}");
        }
        drop(first);
        Only::take_with(other.path(), [volume.path()]).unwrap();
    }

    /// Who removes the file frees nothing: the folder is locked. A second name of it may be that of a file of others.
    #[test]
    fn a_file_that_is_removed_or_has_a_second_name_lets_nobody_in() {
        let data = tempfile::tempdir().unwrap();
        let first = Only::take(data.path()).unwrap();
        std::fs::remove_file(data.path().join(NAME)).unwrap();
        assert!(Only::take_within(data.path(), Duration::ZERO).is_err());
        drop(first);
        std::fs::remove_file(data.path().join(NAME)).unwrap();
        let elsewhere = data.path().join("elsewhere");
        std::fs::write(&elsewhere, "precious").unwrap();
        std::fs::hard_link(&elsewhere, data.path().join(NAME)).unwrap();
        let Err(Failure::Failed(why)) = Only::take(data.path()) else { panic!("it is taken") };
        assert!(why.contains("second name"), "{why}");
        assert_eq!(std::fs::read(&elsewhere).unwrap(), b"precious");
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let data = tempfile::tempdir().unwrap();
        let elsewhere = data.path().join("elsewhere");
        std::fs::write(&elsewhere, "precious").unwrap();
        std::os::unix::fs::symlink(&elsewhere, data.path().join(NAME)).unwrap();
        assert!(Only::take(data.path()).is_err());
        assert_eq!(std::fs::read(&elsewhere).unwrap(), b"precious");
    }
}
