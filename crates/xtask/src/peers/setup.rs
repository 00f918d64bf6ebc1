//! Sets a peer up once, in a folder that `cargo clean` leaves alone. Its key is the peer's version and a sum over what
//! sets it up.

use super::debian::Apt;
use super::peer::{Peer, Setup};
use super::process::{self, End};
use super::report::last_line;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Changes when what is put into a cache folder changes its form.
const FORM: &str = "1";
/// What a folder is called before its set-up is complete, with the process that makes it.
const PART: &str = ".part-";

/// The folder with everything that was set up.
pub struct Cache {
    folder: PathBuf,
}

/// A peer that is set up.
#[derive(Debug, PartialEq, Eq)]
pub struct Ready {
    /// Its version.
    pub version: String,
    /// Its folder.
    pub folder: PathBuf,
}

/// Why a peer is not set up.
#[derive(Debug, PartialEq, Eq)]
pub enum Lack {
    /// It cannot be set up here: why.
    NotAvailable(String),
    /// Its set-up is wrong: how.
    Failed(String),
}

impl Cache {
    /// `TRUNKLINE_PEERS`, else `trunkline/peers` in `XDG_CACHE_HOME` or in `.cache` of the user's home.
    ///
    /// # Errors
    /// None of the three is set.
    pub fn of_the_user() -> Result<Cache, String> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let base = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
        let folder = set("TRUNKLINE_PEERS").or_else(|| Some(base()?.join("trunkline/peers")));
        let folder = folder.ok_or("no folder for the cache: set TRUNKLINE_PEERS, XDG_CACHE_HOME or HOME")?;
        Ok(Cache { folder: std::path::absolute(&folder).map_err(|e| format!("{}: {e}", folder.display()))? })
    }

    /// A cache in that folder.
    #[cfg(test)]
    pub fn new(folder: &Path) -> Cache {
        Cache { folder: folder.to_owned() }
    }

    /// The peer as it was set up last with what sets it up now; of the version that `setup.version` fixes, if it does.
    pub fn find(&self, peer: &Peer) -> Option<Ready> {
        let end = format!("-{}", sum(peer));
        let entries = std::fs::read_dir(self.folder.join(&peer.name)).ok()?;
        let found = entries.filter_map(Result::ok).filter_map(|entry| {
            let version = entry.file_name().to_str()?.strip_suffix(&end)?.to_owned();
            let time = entry.metadata().and_then(|about| about.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            Some((time, Ready { version, folder: entry.path() }))
        });
        let fixed = peer.setup.version.as_ref().map(|version| name_of(version));
        let found = found.filter(|(_, ready)| fixed.as_ref().is_none_or(|fixed| ready.version == *fixed));
        found.max_by_key(|(time, _)| *time).map(|(_, ready)| ready)
    }

    /// The peer in its current version, set up now if it is not yet. When nobody can tell the current version, the one
    /// that was set up last is taken.
    ///
    /// # Errors
    /// [`Lack`]; the log of a set-up that went wrong is named and kept.
    pub fn set_up(&self, peer: &Peer) -> Result<Ready, Lack> {
        let seconds_max = peer.setup.seconds_max;
        let first = self.try_with(peer, &Apt::of_the_system(seconds_max));
        let Err(Lack::NotAvailable(why)) = &first else { return first };
        if peer.setup.debian.is_empty() {
            return first;
        }
        if let (Some(ready), None) = (self.find(peer), &peer.setup.version) {
            return Ok(ready);
        }
        // The system's lists of packages may be missing or old.
        let apt = Apt::fetched(&self.folder.join("apt"), seconds_max);
        let apt =
            apt.map_err(|also| Lack::NotAvailable(format!("{why}; lists of packages cannot be fetched: {also}")))?;
        self.try_with(peer, &apt)
    }

    fn try_with(&self, peer: &Peer, apt: &Apt) -> Result<Ready, Lack> {
        let version = version(&peer.setup, apt).map_err(Lack::NotAvailable)?;
        let name = format!("{}-{}", name_of(&version), sum(peer));
        let folder = self.folder.join(&peer.name).join(&name);
        let ready = Ready { version: name_of(&version), folder };
        if ready.folder.is_dir() {
            return Ok(ready);
        }
        self.remove_parts(peer);
        let part = ready.folder.with_file_name(format!("{name}{PART}{}", std::process::id()));
        std::fs::create_dir_all(&part).map_err(|e| Lack::NotAvailable(format!("{}: {e}", part.display())))?;
        make(peer, apt, &part)?;
        match std::fs::rename(&part, &ready.folder) {
            // Another process may have set it up meanwhile.
            Err(error) if !ready.folder.is_dir() => Err(Lack::Failed(format!("{}: {error}", part.display()))),
            _ => Ok(ready),
        }
    }

    /// Removes what set-ups left behind that went wrong or were broken off.
    fn remove_parts(&self, peer: &Peer) {
        let Ok(entries) = std::fs::read_dir(self.folder.join(&peer.name)) else { return };
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some((_, process)) = name.rsplit_once(PART) else { continue };
            let runs = Path::new("/proc").join(process).exists() && process != std::process::id().to_string();
            if !runs {
                // If it cannot be removed, it is in nobody's way.
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

fn version(setup: &Setup, apt: &Apt) -> Result<String, String> {
    match (&setup.version, setup.debian.first()) {
        (Some(version), _) => Ok(version.clone()),
        (None, Some(package)) => apt.candidate(package),
        (None, None) => Err("neither setup.version nor setup.debian is given".to_owned()),
    }
}

/// Sets the peer up in `part`.
fn make(peer: &Peer, apt: &Apt, part: &Path) -> Result<(), Lack> {
    if !peer.setup.debian.is_empty() {
        let root = root(part);
        apt.unpack(&peer.setup.debian, &root, &part.join("packages")).map_err(Lack::NotAvailable)?;
    }
    let Some(script) = &peer.setup.script else { return Ok(()) };
    let log = part.join("setup.log");
    let wrong = |what: String| format!("set-up: {what}; log: {}", log.display());
    let mut command = Command::new(peer.folder.join(script));
    command.current_dir(part).envs(variables(peer, part));
    let end = File::create(&log).and_then(|file| process::run(command, &file, peer.setup.seconds_max));
    match end.map_err(|e| Lack::Failed(wrong(e.to_string())))? {
        End::Done => Ok(()),
        End::NotAvailable => Err(Lack::NotAvailable(wrong(last_line(&log)))),
        End::Failed(how) => Err(Lack::Failed(wrong(format!("{how}: {}", last_line(&log))))),
        End::Late(seconds) => Err(Lack::Failed(wrong(format!("killed after {seconds} s")))),
    }
}

/// What a script gets in its environment about the peer that is set up, or is to be set up, in `folder`.
pub fn variables(peer: &Peer, folder: &Path) -> Vec<(&'static str, String)> {
    let text = |path: &Path| path.display().to_string();
    vec![
        ("PEER_NAME", peer.name.clone()),
        ("PEER_FOLDER", text(&peer.folder)),
        ("PEER_SETUP", text(folder)),
        ("PEER_ROOT", text(&root(folder))),
        ("PEER_LIBRARIES", libraries(&root(folder)).iter().map(|path| text(path)).collect::<Vec<_>>().join(":")),
        // Python leaves nothing behind in the repository.
        ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
        ("LC_ALL", "C.UTF-8".to_owned()),
    ]
}

/// Where packages are unpacked.
fn root(folder: &Path) -> PathBuf {
    folder.join("root")
}

/// The folders of shared libraries in an unpacked root: `lib` and `usr/lib`, and in each those of an architecture.
fn libraries(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in [root.join("usr/lib"), root.join("lib")] {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        let mut inner: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| is_architecture(path)).collect();
        inner.sort();
        found.extend(inner);
        found.extend(folder.is_dir().then_some(folder));
    }
    found
}

fn is_architecture(path: &Path) -> bool {
    path.is_dir() && path.file_name().is_some_and(|name| name.to_string_lossy().contains("-linux-"))
}

/// A version as part of a folder's name: lists of folders are separated by colons.
fn name_of(version: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || "._+~-".contains(c) { c } else { '_' };
    version.chars().map(kept).collect()
}

/// A sum over what sets the peer up: the list of packages, the script and its files. 64-bit FNV-1a, in hexadecimal.
fn sum(peer: &Peer) -> String {
    let setup = &peer.setup;
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |octets: &[u8]| {
        // The length before, so that parts cannot run into each other.
        for octet in (octets.len() as u64).to_be_bytes().iter().chain(octets) {
            hash = (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    add(FORM.as_bytes());
    setup.debian.iter().for_each(|package| add(package.as_bytes()));
    for file in setup.script.iter().chain(&setup.files) {
        add(file.as_bytes());
        add(&std::fs::read(peer.folder.join(file)).unwrap_or_default());
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Scratch, peer_folder};
    use super::*;

    const SETUP: &str = "what = \"a server\"\n[setup]\nversion = \"1:2\"\nscript = \"setup\"\nfiles = [\"list\"]\n\
                         seconds_max = 60\n[run]\nscript = \"run\"\nseconds_max = 60\n";

    /// A peer whose set-up runs that script.
    fn peer(scratch: &Scratch, text: &str, setup: &str) -> Peer {
        let folder = peer_folder(scratch, "fake", text, "exit 0");
        super::super::tests::script(&folder.join("setup"), setup);
        std::fs::write(folder.join("list"), "a 1\n").unwrap();
        Peer::read(&folder).unwrap()
    }

    #[test]
    fn the_key_changes_with_what_sets_up_and_with_nothing_else() {
        let scratch = Scratch::new();
        let first = sum(&peer(&scratch, SETUP, "exit 0"));
        assert_eq!(first, sum(&peer(&scratch, SETUP, "exit 0")));
        assert_eq!(first, sum(&peer(&scratch, &SETUP.replace("seconds_max = 60", "seconds_max = 61"), "exit 0")));
        assert_eq!(first, sum(&peer(&scratch, &SETUP.replace("a server", "another"), "exit 0")));
        assert_ne!(first, sum(&peer(&scratch, SETUP, "exit 1")), "the script");
        let packages = SETUP.replace("[setup]", "[setup]\ndebian = [\"x\"]");
        assert_ne!(first, sum(&peer(&scratch, &packages, "exit 0")), "the packages");
        let same = peer(&scratch, SETUP, "exit 0");
        std::fs::write(same.folder.join("list"), "a 2\n").unwrap();
        assert_ne!(first, sum(&same), "a file of the script");
        assert_eq!(first.len(), 16);
    }

    #[test]
    fn a_peer_is_set_up_once_for_a_version() {
        let scratch = Scratch::new();
        let cache = Cache::new(&scratch.0.join("cache"));
        let count = "echo once >> \"$PEER_FOLDER/count\"; echo made > made";
        let fake = peer(&scratch, SETUP, count);
        assert_eq!(cache.find(&fake), None);
        let ready = cache.set_up(&fake).unwrap();
        assert_eq!(ready.version, "1_2");
        assert_eq!(std::fs::read_to_string(ready.folder.join("made")).unwrap(), "made\n");
        assert_eq!(cache.find(&fake).as_ref(), Some(&ready));
        assert_eq!(cache.set_up(&fake).unwrap(), ready);
        let counted = || std::fs::read_to_string(fake.folder.join("count")).unwrap().lines().count();
        assert_eq!(counted(), 1);
        let newer = peer(&scratch, &SETUP.replace("1:2", "1:3"), count);
        assert_eq!(cache.find(&newer), None);
        assert_ne!(cache.set_up(&newer).unwrap().folder, ready.folder);
        assert_eq!(counted(), 2);
        // The older version is still there for who has it.
        assert_eq!(cache.find(&fake), Some(ready));
    }

    #[test]
    fn a_set_up_that_went_wrong_names_its_log_and_leaves_no_key() {
        let scratch = Scratch::new();
        let cache = Cache::new(&scratch.0.join("cache"));
        let late = SETUP.replacen("seconds_max = 60", "seconds_max = 1", 1);
        for (text, script, expected) in [
            (SETUP, "echo no network; exit 77", "set-up: no network; log: "),
            (SETUP, "echo broken; exit 4", "set-up: exit code 4: broken; log: "),
            (late.as_str(), "exec tail -f /dev/null", "set-up: killed after 1 s; log: "),
        ] {
            let fake = peer(&scratch, text, script);
            let lack = cache.set_up(&fake).unwrap_err();
            let why = match &lack {
                Lack::NotAvailable(why) if script.contains("77") => why,
                Lack::Failed(why) if !script.contains("77") => why,
                other => panic!("{other:?}"),
            };
            assert!(why.starts_with(expected), "{why}");
            assert!(Path::new(why.rsplit_once("log: ").unwrap().1).is_file(), "{why}");
            assert_eq!(cache.find(&fake), None);
        }
        // The next attempt clears up behind the last one.
        cache.set_up(&peer(&scratch, SETUP, "exit 0")).unwrap();
        assert_eq!(std::fs::read_dir(scratch.0.join("cache/fake")).unwrap().count(), 1);
    }

    #[test]
    fn libraries_are_where_packages_put_them() {
        let scratch = Scratch::new();
        let root = scratch.0.join("root");
        for folder in ["usr/lib/x86_64-linux-gnu", "usr/lib/python3", "lib/x86_64-linux-gnu"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let expected = ["usr/lib/x86_64-linux-gnu", "usr/lib", "lib/x86_64-linux-gnu", "lib"];
        assert_eq!(libraries(&root), expected.map(|folder| root.join(folder)));
    }
}
