//! Folders: what file system they are on, and how much room it has.

use crate::doctor::facts::Folder;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The facts about a folder; of one that is not there yet, those of the folder that it would be made in, by its whole
/// name.
pub fn folder(path: &Path) -> Folder {
    let path = existing(path);
    let (size, free) = rustix::fs::statvfs(&path).map_or((0, 0), |found| {
        (found.f_blocks.saturating_mul(found.f_frsize), found.f_bavail.saturating_mul(found.f_frsize))
    });
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let file_system = file_system(&mounts, &path);
    let log = octets_below(&path.join("packets"));
    Folder { path, file_system, size, free, log, speed: None }
}

/// Files and folders of a packet log that are counted.
const ENTRIES_MAX: usize = 1_000_000;

/// Octets that the files below a folder take; links are not followed.
fn octets_below(folder: &Path) -> u64 {
    let (mut octets, mut entries, mut folders) = (0u64, 0, vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
            entries += 1;
            match entry.metadata() {
                _ if entries > ENTRIES_MAX => return octets,
                Ok(found) if found.is_dir() => folders.push(entry.path()),
                Ok(found) => octets = octets.saturating_add(found.blocks().saturating_mul(512)),
                Err(_) => {}
            }
        }
    }
    octets
}

fn existing(path: &Path) -> PathBuf {
    let there = path.ancestors().find(|folder| folder.is_dir());
    let there = there.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::canonicalize(there).unwrap_or_else(|_| there.to_owned())
}

/// The file system with the longest mount point above the path; of several on the same one, the last
/// (proc_pid_mountinfo(5)).
fn file_system(mounts: &str, path: &Path) -> Option<String> {
    let mount = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let point = PathBuf::from(unescaped(before.split(' ').nth(4)?));
        let kind = after.split(' ').next()?.to_owned();
        path.starts_with(&point).then(|| (point.components().count(), kind))
    };
    mounts.lines().filter_map(mount).max_by_key(|(depth, _)| *depth).map(|(_, kind)| kind)
}

/// `\040` is a space there.
fn unescaped(text: &str) -> String {
    ["\\040", "\\011", "\\012", "\\134"]
        .into_iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(text.to_owned(), |text, (escape, c)| text.replace(escape, c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_mount_point_counts() {
        let mounts = "21 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
            22 21 0:30 / /srv/my\\040log rw shared:1 - nfs4 host:/log rw\n\
            23 21 0:31 / /srv rw - xfs /dev/vdb rw\n\
            24 22 0:32 / /srv/my\\040log rw - tmpfs tmpfs rw\n";
        let of = |path: &str| file_system(mounts, Path::new(path)).unwrap();
        assert_eq!([of("/var"), of("/srv/a"), of("/srv/my log/2026"), of("/srvx")], ["ext4", "xfs", "tmpfs", "ext4"]);
    }

    #[test]
    fn a_folder_that_is_not_there_is_its_parent() {
        let there = tempfile::tempdir().unwrap();
        let folder = folder(&there.path().join("not/there"));
        assert_eq!(folder.path, fs::canonicalize(there.path()).unwrap());
        assert!(folder.size > 0, "{folder:?}");
        // Behind chroot(2) there may be no mount point above a folder that can be seen.
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let has_root = mounts.lines().any(|line| line.split(' ').nth(4) == Some("/"));
        assert!(folder.file_system.is_some() || !has_root, "{folder:?}");
        assert_eq!(existing(Path::new("not-there")), std::env::current_dir().unwrap());
    }

    #[test]
    fn the_log_that_is_there_is_counted() {
        let there = tempfile::tempdir().unwrap();
        fs::create_dir_all(there.path().join("packets/sip/2026")).unwrap();
        fs::write(there.path().join("packets/sip/2026/a.pcapng"), vec![1; 10_000]).unwrap();
        fs::write(there.path().join("other"), vec![1; 1_000_000]).unwrap();
        let log = folder(there.path()).log;
        assert!((10_000..100_000).contains(&log), "{log}");
    }
}
