//! Files that are put in place as a whole, and sockets that get their mode. Whoever may write in a folder can put links
//! there at any time: none is followed.

use rustix::fs::{FileType, Mode, OFlags};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What is being written lies beside its place under this ending, until it is whole.
pub const UNFINISHED: &str = "part";

/// The mode of files that owner and group may read.
pub const PRIVATE: u32 = 0o640;

/// Puts a file in place of what is there, whole or not at all: written beside it, synced, renamed, the folder synced.
/// `mode` is less the umask.
///
/// # Errors
/// The system's: what was there is there still, or this is.
pub fn replace(path: &Path, octets: &[u8], mode: u32) -> io::Result<()> {
    let part = beside(path);
    // What a crash left, or a link that somebody put there.
    match std::fs::remove_file(&part) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&part)?;
    let written = file.write_all(octets).and_then(|()| file.sync_all()).and_then(|()| std::fs::rename(&part, path));
    if written.is_err() {
        // The reason counts; what is left is removed by the next one, too.
        let _ = std::fs::remove_file(&part);
    }
    written?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Opens a file to read it. What is none, such as a pipe or a device in its place, holds nobody and is refused.
///
/// # Errors
/// The system's; InvalidInput if it is not a file.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    only_file(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

fn only_file(file: File) -> io::Result<File> {
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is not a file")),
    }
}

/// Reads a file of `most` octets at most.
///
/// # Errors
/// As [`open`]; FileTooLarge if it is longer.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    bounded(open(path)?, most)
}

fn bounded(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    match file.take(most.saturating_add(1)).read_to_end(&mut octets)? as u64 > most {
        true => Err(io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {most} octets"))),
        false => Ok(octets),
    }
}

/// Reads a small file of the program's own, of `most` octets at most; none where there is none. A link in its place is
/// not followed: it leads to what somebody else chose.
///
/// # Errors
/// As [`read`]; InvalidInput if it is a link.
pub fn read_own(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => bounded(only_file(File::from(file))?, most).map(Some),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(rustix::io::Errno::LOOP) => Err(io::Error::new(ErrorKind::InvalidInput, "it is a link, not a file")),
        Err(error) => Err(error.into()),
    }
}

/// Reads a text of `most` octets at most.
///
/// # Errors
/// As [`read`]; InvalidData if it is no text.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is no text"))
}

/// Where a file is written before it is put in place.
pub fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(UNFINISHED);
    PathBuf::from(name)
}

/// Gives a socket in a folder its mode, whatever the umask is.
///
/// # Errors
/// There is none, or something else; the system's.
pub fn open_socket_to(path: &Path, mode: u32) -> io::Result<()> {
    let socket = rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if FileType::from_raw_mode(rustix::fs::fstat(&socket)?.st_mode) != FileType::Socket {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a socket"));
    }
    // fchmod(2) takes no such descriptor, and fchmodat(2) with a link refuses on older kernels.
    let itself = format!("/proc/self/fd/{}", socket.as_raw_fd());
    Ok(rustix::fs::chmod(itself, Mode::from_raw_mode(mode))?)
}

/// Does something in a folder that may be somebody else's: where root does it, this thread does it as the owner, user
/// and group, and with no right of root's over files.
///
/// # Errors
/// What is done says; the system refuses.
pub fn as_owner<T>((uid, gid): (u32, u32), does: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    if uid == 0 || !rustix::process::geteuid().is_root() {
        return does();
    }
    let groups = rustix::process::getgroups()?;
    let (own, root) = (rustix::process::getegid(), rustix::process::geteuid());
    set_thread_groups(&[])?;
    set_thread_res_gid(None, rustix::fs::Gid::from_raw(gid), None)?;
    // With root's user its rights are gone, and come back with it.
    set_thread_res_uid(None, rustix::fs::Uid::from_raw(uid), None)?;
    let done = does();
    set_thread_res_uid(None, root, None)?;
    set_thread_res_gid(None, own, None)?;
    set_thread_groups(&groups)?;
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    #[test]
    fn what_is_no_file_or_too_long_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "four").unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        symlink("/dev/zero", at("zeros")).unwrap();
        symlink(at("file"), at("link")).unwrap();
        let told = |name: &str, most: u64| read(&at(name), most).map_err(|e| e.to_string());
        for none in ["pipe", "zeros", "."] {
            assert_eq!(told(none, 4), Err("it is not a file".to_owned()), "{none}");
        }
        assert_eq!((told("file", 4), told("link", 9)), (Ok(b"four".to_vec()), Ok(b"four".to_vec())));
        assert_eq!(told("file", 3), Err("it has more than 3 octets".to_owned()));
        assert_eq!(read(&at("gone"), 3).unwrap_err().kind(), ErrorKind::NotFound);
        let own = |name: &str| read_own(&at(name), 4).map_err(|e| e.to_string());
        assert_eq!((own("file"), own("gone")), (Ok(Some(b"four".to_vec())), Ok(None)));
        for link in ["link", "zeros"] {
            assert_eq!(own(link), Err("it is a link, not a file".to_owned()), "{link}");
        }
        for none in ["pipe", "."] {
            assert_eq!(own(none), Err("it is not a file".to_owned()), "{none}");
        }
        assert_eq!(read_own(&at("file"), 3).unwrap_err().kind(), ErrorKind::FileTooLarge);
        // As long as a disk, and all of it a hole.
        File::create(at("hole")).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(told("hole", 4), Err("it has more than 4 octets".to_owned()));
        std::fs::write(at("file"), [0xFF]).unwrap();
        assert_eq!(read_text(&at("file"), 4).unwrap_err().kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn a_file_is_replaced_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, precious) = (folder.path().join("file"), folder.path().join("precious"));
        std::fs::write(&precious, "precious").unwrap();
        symlink(&precious, beside(&path)).unwrap();
        symlink(&precious, &path).unwrap();
        replace(&path, b"first", PRIVATE).unwrap();
        std::fs::write(beside(&path), "what a crash left").unwrap();
        replace(&path, b"second", 0o600).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"second");
        let about = path.symlink_metadata().unwrap();
        assert_eq!((about.is_file(), about.mode() & 0o777), (true, 0o600));
        assert_eq!(std::fs::read(&precious).unwrap(), b"precious");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        // A folder in its place is no file.
        std::fs::create_dir(folder.path().join("folder")).unwrap();
        assert!(replace(&folder.path().join("folder"), b"", PRIVATE).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_socket_gets_its_mode_and_what_a_link_leads_to_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let (path, precious) = (folder.path().join("socket"), folder.path().join("precious"));
        std::fs::write(&precious, "").unwrap();
        std::fs::set_permissions(&precious, std::fs::Permissions::from_mode(0o604)).unwrap();
        let listener = UnixListener::bind(&path).unwrap();
        open_socket_to(&path, 0o660).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o660);
        drop(listener);
        std::fs::remove_file(&path).unwrap();
        symlink(&precious, &path).unwrap();
        assert!(open_socket_to(&path, 0o660).is_err() && open_socket_to(&precious, 0o660).is_err());
        assert_eq!(precious.metadata().unwrap().mode() & 0o777, 0o604);
    }

    /// Only root becomes somebody else.
    #[test]
    fn what_root_does_as_the_owner_is_the_owners_and_root_is_root_again() {
        let folder = tempfile::tempdir().unwrap();
        let (own, other) = (folder.path().join("own"), folder.path().join("other"));
        std::fs::create_dir(&own).unwrap();
        if !rustix::process::geteuid().is_root() {
            as_owner((4711, 4711), || replace(&own.join("file"), b"", PRIVATE)).unwrap();
            return;
        }
        std::fs::create_dir(&other).unwrap();
        for folder in [folder.path(), &own] {
            std::os::unix::fs::chown(folder, Some(4711), Some(4712)).unwrap();
        }
        std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o755)).unwrap();
        let put = |folder: &Path| as_owner((4711, 4712), || replace(&folder.join("file"), b"", PRIVATE));
        put(&own).unwrap();
        let about = own.join("file").metadata().unwrap();
        assert_eq!((about.uid(), about.gid()), (4711, 4712));
        assert_eq!(put(&other).unwrap_err().kind(), ErrorKind::PermissionDenied);
        replace(&other.join("file"), b"", PRIVATE).unwrap();
        assert_eq!(other.join("file").metadata().unwrap().uid(), 0);
    }
}
