//! Who may read and write what this program makes: files with numbers of callers are nobody's but their owner's and its
//! group's, and what root makes in a service's folder is the service's.

use crate::failure::Failure;
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Uid};
use rustix::thread::{CapabilitySet, CapabilitySets};
use std::ffi::CString;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use trunkline_capture::live::{LiveError, privileges};

/// What nobody but owner and group may have, and the group not to write: files are 0640, folders 0750 or stricter.
const TOO_OPEN: u32 = 0o027;

/// Rights over files that belong to others; the one to read any file stays.
const OVER_FILES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::LINUX_IMMUTABLE)
    .union(CapabilitySet::MKNOD);

/// Whatever is made from now on is 0640 or stricter, folders 0750, whoever makes it (umask(2)). Programs that are
/// started inherit it.
pub fn make_strictly() {
    let before = rustix::process::umask(Mode::from_raw_mode(0o077));
    rustix::process::umask(before | Mode::from_raw_mode(TOO_OPEN));
}

/// Whatever is made from now on everybody may read, and nobody but its owner write.
pub fn make_for_everybody() {
    rustix::process::umask(Mode::from_raw_mode(0o022));
}

/// Root goes on as whom a data folder belongs to: what this thread, and threads that it starts, make there belongs to
/// the owner, and a link that leads elsewhere gives no right that the owner has not. Files of others are still read.
/// What root made in `parts` of the folder before becomes the owner's, so that it can be written. Nothing changes where
/// the folder is root's or not there, or somebody else than root began.
///
/// To be called before other threads are started.
///
/// # Errors
/// The system refuses.
pub fn write_as_owner(data: &Path, parts: &[&str]) -> Result<(), Failure> {
    let Ok(folder) = data.metadata() else { return Ok(()) };
    if folder.uid() == 0 || !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let refused = |e: io::Error| {
        let (path, uid) = (data.display(), folder.uid());
        Failure::Failed(format!("{path}: it belongs to user {uid}, as whom root cannot go on here: {e}"))
    };
    hand_over(data, parts).and_then(|()| become_owner(&folder)).map_err(refused)
}

/// Gives to the owner of a data folder what is root's in parts of it, with all that they hold: what root makes there is
/// the service's, which is to read and write it without being root. The owner may put links there at any time: none is
/// followed on the way, and a file that has a second name stays whose it is. Nothing changes where the folder is root's
/// or not there, or somebody else than root asks.
///
/// # Errors
/// The system refuses.
pub fn hand_over(data: &Path, parts: &[&str]) -> io::Result<()> {
    let Some(owner) = data.metadata().ok().filter(|folder| folder.uid() != 0) else { return Ok(()) };
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let owner = (owner.uid(), owner.gid());
    let top = rustix::fs::open(data, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let top = Rc::new(top);
    let named = |part: &&str| Some((Rc::clone(&top), CString::new(*part).ok()?));
    let mut found: Vec<(Rc<OwnedFd>, CString)> = parts.iter().filter_map(named).collect();
    while let Some((folder, name)) = found.pop() {
        let Ok(file) = rustix::fs::openat(&*folder, &name, ITSELF, Mode::empty()) else { continue };
        if give(&file, owner)? != FileType::Directory {
            continue;
        }
        let inside = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(inside) = rustix::fs::openat(&*folder, &name, inside, Mode::empty()) else { continue };
        let inside = Rc::new(inside);
        for entry in rustix::fs::Dir::read_from(&*inside)?.flatten() {
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                found.push((Rc::clone(&inside), entry.file_name().to_owned()));
            }
        }
    }
    Ok(())
}

/// A file, a folder or a socket itself, and nothing that a link leads to.
const ITSELF: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Gives what is root's, and has no second name, to somebody; what kind of file it is.
fn give(file: &OwnedFd, (uid, gid): (u32, u32)) -> io::Result<FileType> {
    let about = rustix::fs::fstat(file)?;
    let kind = FileType::from_raw_mode(about.st_mode);
    let is_file = matches!(kind, FileType::RegularFile | FileType::Socket) && about.st_nlink == 1;
    if about.st_uid == 0 && (kind == FileType::Directory || is_file) {
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        rustix::fs::chownat(file, c"", Some(uid), Some(gid), AtFlags::EMPTY_PATH)?;
    }
    Ok(kind)
}

/// Goes on as the user of a service, for good, and without what opening needed ([`privileges::give_up`]). Sockets that
/// root has opened for it become the user's: its group is to reach them, and itself to remove them.
///
/// # Errors
/// There is no such user, or the system refuses.
pub fn give_up(user: Option<&str>, sockets: &[PathBuf]) -> Result<(), Failure> {
    let failed = |error: LiveError| Failure::Failed(error.to_string());
    if let Some(name) = user.filter(|_| rustix::process::geteuid().is_root()) {
        give_sockets(sockets, privileges::ids_of(name).map_err(failed)?);
    }
    privileges::give_up(user).map_err(failed)
}

fn give_sockets(sockets: &[PathBuf], user: (u32, u32)) {
    for path in sockets {
        let opened = rustix::fs::open(path, ITSELF, Mode::empty()).map_err(io::Error::from);
        if let Err(error) = opened.and_then(|socket| give(&socket, user)) {
            tracing::warn!("{}: it stays root's: {error}", path.display());
        }
    }
}

fn become_owner(folder: &Metadata) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(folder.uid()), Gid::from_raw(folder.gid()));
    let before = rustix::thread::capabilities(None)?;
    // The groups first: without root's user they would be refused.
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(None, gid, None)?;
    rustix::thread::set_thread_res_uid(None, uid, None)?;
    // With root's user its effective rights are gone; those that are no right to write come back.
    let effective = before.effective.difference(OVER_FILES);
    Ok(rustix::thread::set_capabilities(None, CapabilitySets { effective, ..before })?)
}

/// What was done about files that others may read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Closed {
    /// Files and folders that were too open and are not any more.
    pub closed: u64,
    /// Those that still are.
    pub refused: u64,
    /// The first of them, and why.
    pub first_refused: Option<(PathBuf, String)>,
}

/// Takes the rights of others from everything in a data folder, the folder itself as well. Links are not followed.
pub fn close_to_others(data: &Path) -> Closed {
    let mut closed = Closed::default();
    let mut folders = vec![data.to_owned()];
    while let Some(folder) = folders.pop() {
        close(&folder, &mut closed);
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => close(&entry.path(), &mut closed),
                _ => {}
            }
        }
    }
    closed
}

fn close(path: &Path, closed: &mut Closed) {
    match close_one(path) {
        Ok(changed) => closed.closed += u64::from(changed),
        // It left meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => {
            closed.refused += 1;
            closed.first_refused.get_or_insert_with(|| (path.to_owned(), error.to_string()));
        }
    }
}

fn close_one(path: &Path) -> io::Result<bool> {
    let is_open = |about: &Metadata| about.mode() & TOO_OPEN != 0;
    if !is_open(&path.symlink_metadata()?) {
        return Ok(false);
    }
    let no_link = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file: File = OpenOptions::new().read(true).custom_flags(no_link).open(path)?;
    let about = file.metadata()?;
    if is_open(&about) {
        file.set_permissions(Permissions::from_mode(about.mode() & 0o7777 & !TOO_OPEN))?;
    }
    Ok(true)
}

/// [`close_to_others`] beside everything else, said in the log.
pub fn close_beside(data: &Path) {
    let data = data.to_owned();
    let closing = move || {
        trunkline_spool::idle();
        let Closed { closed, refused, first_refused } = close_to_others(&data);
        if closed > 0 {
            let path = data.display();
            tracing::warn!("{path}: everybody could read or write {closed} files and folders: owner and group now");
        }
        if let Some((path, why)) = first_refused {
            let path = path.display();
            tracing::warn!(
                "{refused} files and folders stay open to everybody: {path}: {why}: chmod o-rwx,g-w as root"
            );
        }
    };
    // Without a thread to spare it is done at the next start.
    let _started = std::thread::Builder::new().name("file rights".to_owned()).spawn(closing);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{chown, symlink};
    use std::os::unix::net::UnixListener;

    /// Only root gives something away.
    #[test]
    fn what_is_given_is_roots_and_has_one_name() {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: only root can give files to others");
            return;
        }
        let (data, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| data.path().join(name);
        let owner = |path: &Path| path.symlink_metadata().map(|about| (about.uid(), about.gid())).unwrap();
        let precious = elsewhere.path().join("precious");
        std::fs::write(&precious, "x").unwrap();
        std::fs::create_dir_all(at("web/deep")).unwrap();
        for name in ["web/desk.sqlite", "web/deep/file", "web/another", "run.lock", "other"] {
            std::fs::write(at(name), "x").unwrap();
        }
        chown(at("web/another"), Some(4711), Some(4711)).unwrap();
        symlink(&precious, at("web/link")).unwrap();
        std::fs::hard_link(&precious, at("web/desk.sqlite-wal")).unwrap();
        symlink(elsewhere.path(), at("charge")).unwrap();
        let _socket = UnixListener::bind(at("web/socket")).unwrap();
        hand_over(data.path(), &["web", "charge", "run.lock", "absent"]).unwrap();
        assert_eq!(owner(&at("web")), (0, 0), "the folder is root's");
        chown(data.path(), Some(65_534), Some(65_533)).unwrap();
        hand_over(data.path(), &["web", "charge", "run.lock", "absent"]).unwrap();
        for name in ["web", "web/deep", "web/desk.sqlite", "web/deep/file", "web/socket", "run.lock"] {
            assert_eq!(owner(&at(name)), (65_534, 65_533), "{name}");
        }
        for name in ["web/link", "web/desk.sqlite-wal", "charge", "other"] {
            assert_eq!(owner(&at(name)), (0, 0), "{name}");
        }
        assert_eq!(owner(&at("web/another")), (4711, 4711));
        assert_eq!((owner(&precious), owner(elsewhere.path())), ((0, 0), (0, 0)));
        // Sockets that were opened for a user.
        let _socket = UnixListener::bind(at("socket")).unwrap();
        symlink(at("other"), at("socket-link")).unwrap();
        give_sockets(&[at("socket"), at("socket-link"), at("absent")], (4711, 4712));
        assert_eq!((owner(&at("socket")), owner(&at("other"))), ((4711, 4712), (0, 0)));
    }

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o7777
    }

    #[test]
    fn what_is_open_is_closed_and_links_lead_nowhere() {
        let (data, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (at, beyond) = (|name: &str| data.path().join(name), elsewhere.path().join("other"));
        let set = |path: &Path, mode| std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        std::fs::create_dir(at("store")).unwrap();
        for path in [&at("store/2026-01-01.sqlite"), &at("strict"), &beyond] {
            std::fs::write(path, "x").unwrap();
        }
        symlink(&beyond, at("link")).unwrap();
        symlink(elsewhere.path(), at("folder")).unwrap();
        let open = [(at("store/2026-01-01.sqlite"), 0o664), (at("store"), 0o2777), (beyond.clone(), 0o666)];
        open.iter().for_each(|(path, mode)| set(path, *mode));
        set(&at("strict"), 0o600);
        set(data.path(), 0o700);
        set(elsewhere.path(), 0o755);
        assert_eq!(close_to_others(data.path()), Closed { closed: 2, ..Closed::default() });
        assert_eq!((mode(&at("store/2026-01-01.sqlite")), mode(&at("store"))), (0o640, 0o2750));
        assert_eq!((mode(&at("strict")), mode(&beyond), mode(elsewhere.path())), (0o600, 0o666, 0o755));
        assert_eq!(close_to_others(data.path()), Closed::default(), "nothing is left to do");
    }
}
