//! `cargo xtask peers [NAME ...] [--cached] [--json] [--list]`: tests against programs that we did not write and that
//! are too heavy for `make test`. Each is a folder in `peers/` (docs/adding/peer.md).

mod debian;
mod peer;
mod process;
mod report;
mod setup;

use crate::repository::Repository;
use peer::Peer;
use process::End;
use report::{Outcome, Verdict};
use setup::{Cache, Lack, Ready};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Where peers stand, below the root of the repository.
const FOLDER: &str = "peers";
const USAGE: &str = "cargo xtask peers [NAME ...] [--cached] [--json] [--list]";

/// What is asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    names: Vec<String>,
    cached: bool,
    json: bool,
    list: bool,
}

impl Options {
    fn read(options: &[String]) -> Result<Options, String> {
        let mut read = Options::default();
        for option in options {
            match option.as_str() {
                "--cached" => read.cached = true,
                "--json" => read.json = true,
                "--list" => read.list = true,
                other if other.starts_with('-') => return Err(format!("unknown option '{other}'\n{USAGE}")),
                name => read.names.push(name.to_owned()),
            }
        }
        Ok(read)
    }
}

/// What all peers get.
struct Runner {
    cache: Cache,
    /// What stands before each script, or why there is none.
    fence: Result<Vec<String>, String>,
    /// The program that is tested.
    program: PathBuf,
    /// The folder where each peer gets a folder for its run.
    work: PathBuf,
    cached: bool,
}

/// Runs all peers, or those that are named; true if none failed.
///
/// # Errors
/// A wrong option, no peer of a name, a wrong `peer.toml`, or no program to test.
pub fn command(repository: &Repository, options: &[String]) -> Result<bool, String> {
    let options = Options::read(options)?;
    let peers = peers(&repository.path(FOLDER), &options.names)?;
    let cache = Cache::of_the_user()?;
    if options.list {
        peers.iter().for_each(|peer| println!("{}", listed(peer, cache.find(peer).as_ref())));
        return Ok(true);
    }
    let target = target(repository)?;
    let program = program(&target)?;
    let runner = Runner { cache, fence: process::fence(), program, work: target.join(FOLDER), cached: options.cached };
    let mut verdicts = Vec::new();
    for peer in &peers {
        let verdict = runner.judge(peer);
        if !options.json {
            println!("{verdict}");
            if verdict.outcome == Outcome::Failed {
                print!("{}", verdict.shown_log());
            }
        }
        verdicts.push(verdict);
    }
    if options.json {
        println!("{}", report::to_json(&verdicts));
    } else {
        println!("{}", report::closing(&verdicts));
    }
    Ok(verdicts.iter().all(|verdict| verdict.outcome != Outcome::Failed))
}

/// The peers of those names, all if there is none, by name.
fn peers(folder: &Path, names: &[String]) -> Result<Vec<Peer>, String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut folders: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    folders.retain(|folder| folder.join(peer::FILE).is_file());
    folders.sort();
    let name_of = |folder: &Path| folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let known: Vec<String> = folders.iter().map(|folder| name_of(folder)).collect();
    if let Some(wrong) = names.iter().find(|name| !known.contains(name)) {
        return Err(format!("there is no peer '{wrong}'; there are: {}", known.join(", ")));
    }
    folders.retain(|folder| names.is_empty() || names.contains(&name_of(folder)));
    let (good, wrong): (Vec<_>, Vec<_>) = folders.iter().map(|folder| Peer::read(folder)).partition(Result::is_ok);
    let wrong: Vec<String> = wrong.into_iter().filter_map(Result::err).collect();
    if wrong.is_empty() { Ok(good.into_iter().flatten().collect()) } else { Err(wrong.join("\n")) }
}

fn listed(peer: &Peer, ready: Option<&Ready>) -> String {
    let state = ready.map_or_else(|| "not set up".to_owned(), |ready| format!("set up: {}", ready.version));
    format!("{:<14} {state:<26} {}", peer.name, peer.what)
}

/// The folder that cargo builds into.
fn target(repository: &Repository) -> Result<PathBuf, String> {
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository.path("target"), PathBuf::from);
    std::path::absolute(&folder).map_err(|e| format!("{}: {e}", folder.display()))
}

fn program(target: &Path) -> Result<PathBuf, String> {
    let program = std::env::var_os("TRUNKLINE").map_or_else(|| target.join("debug/trunkline"), PathBuf::from);
    program.canonicalize().map_err(|e| format!("{}: {e}: `make peers` builds it", program.display()))
}

impl Runner {
    /// Sets the peer up if need be, and runs it.
    fn judge(&self, peer: &Peer) -> Verdict {
        let begin = Instant::now();
        let ready = self.ready(peer);
        let mut verdict = Verdict {
            name: peer.name.clone(),
            version: None,
            outcome: Outcome::Failed,
            note: String::new(),
            known: vec![],
            setup_seconds: begin.elapsed().as_secs_f64(),
            run_seconds: 0.0,
            log: None,
        };
        match ready {
            Err(Lack::NotAvailable(why)) => (verdict.outcome, verdict.note) = (Outcome::NotAvailable, why),
            Err(Lack::Failed(how)) => verdict.note = how,
            Ok(ready) => {
                verdict.version = Some(ready.version.clone());
                let begin = Instant::now();
                self.run(peer, &ready, &mut verdict);
                verdict.run_seconds = begin.elapsed().as_secs_f64();
            }
        }
        verdict
    }

    /// The peer set up, with all that its scripts need.
    fn ready(&self, peer: &Peer) -> Result<Ready, Lack> {
        self.fence.as_ref().map_err(|why| Lack::NotAvailable(why.clone()))?;
        let lacking: Vec<&str> = peer.needs.iter().map(String::as_str).filter(|name| !on_path(name)).collect();
        if !lacking.is_empty() {
            return Err(Lack::NotAvailable(format!("the system lacks {}", lacking.join(", "))));
        }
        if self.cached {
            let absent = || Lack::NotAvailable("not set up (make peers)".to_owned());
            return self.cache.find(peer).ok_or_else(absent);
        }
        self.cache.set_up(peer)
    }

    /// Runs the peer's script in a fresh folder and judges what it printed.
    fn run(&self, peer: &Peer, ready: &Ready, verdict: &mut Verdict) {
        let (work, log) = (self.work.join(&peer.name), self.work.join(format!("{}.log", peer.name)));
        let end = fresh(&work).and_then(|()| File::create(&log)).and_then(|file| {
            let fence = self.fence.as_deref().unwrap_or_default();
            let mut command = process::fenced(fence, &peer.folder.join(&peer.run.script));
            command.current_dir(&work).envs(setup::variables(peer, &ready.folder));
            command.env("TRUNKLINE", &self.program).env("PEER_WORK", &work).env("HOME", &work);
            command.env("PYTHONPATH", peer.folder.parent().unwrap_or(&peer.folder));
            process::run(command, &file, peer.run.seconds_max)
        });
        let last = report::last_line(&log);
        (verdict.outcome, verdict.note) = match end {
            Ok(End::Done) => judge(peer, &log, verdict),
            Ok(End::NotAvailable) => (Outcome::NotAvailable, last),
            Ok(End::Failed(how)) => (Outcome::Failed, format!("{how}; log: {}", log.display())),
            Ok(End::Late(limit)) => (Outcome::Failed, format!("killed after {limit} s; log: {}", log.display())),
            Err(error) => (Outcome::Failed, error.to_string()),
        };
        verdict.log = Some(log);
    }
}

/// Compares the differences that a run printed, `differs NAME: ...`, with those that are known.
fn judge(peer: &Peer, log: &Path, verdict: &mut Verdict) -> (Outcome, String) {
    let text = report::read(log);
    let differs: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("differs ")?.split_once(':').map(|(name, _)| name)).collect();
    let mut wrong = Vec::new();
    for known in &peer.known {
        if differs.contains(&known.check.as_str()) {
            verdict.known.push(format!("{}: {}", known.check, known.reason));
        } else {
            wrong.push(format!("'{}' now agrees: remove it from [[known]] in {}", known.check, peer::FILE));
        }
    }
    let unknown = differs.iter().filter(|name| peer.known.iter().all(|known| known.check != **name)).count();
    if unknown > 0 {
        wrong.push(format!("differences: {unknown}; log: {}", log.display()));
    }
    if wrong.is_empty() { (Outcome::Passed, report::last_line(log)) } else { (Outcome::Failed, wrong.join("; ")) }
}

/// Makes `folder` new and empty.
fn fresh(folder: &Path) -> std::io::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder)
}

/// Whether a program is on the path; a whole path is taken as it is.
fn on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// A folder that is removed at the end of a test.
    pub struct Scratch(pub PathBuf);

    impl Scratch {
        pub fn new() -> Scratch {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let name = format!("xtask-peers-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            Scratch(folder)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// Writes a shell script. Another process does it: a program that this one has open for writing could not start
    /// while a child of another thread has not yet closed what it inherited.
    pub fn script(path: &Path, body: &str) {
        let write = "printf '#!/bin/sh\\n%s\\n' \"$2\" > \"$1\" && chmod 755 \"$1\"";
        let status = Command::new("sh").args(["-c", write, "sh"]).arg(path).arg(body).status().unwrap();
        assert!(status.success());
    }

    /// A peer's folder with a `run` of that body.
    pub fn peer_folder(scratch: &Scratch, name: &str, text: &str, run: &str) -> PathBuf {
        let folder = scratch.0.join("peers").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(peer::FILE), text).unwrap();
        script(&folder.join("run"), run);
        folder
    }

    const FAKE: &str = "what = \"a server\"\n[setup]\nversion = \"1\"\nscript = \"run\"\nseconds_max = 60\n\
                        [run]\nscript = \"run\"\nseconds_max = 60\n";

    /// A run's body that does nothing while the peer is set up.
    fn body(run: &str) -> String {
        format!("[ -n \"$PEER_WORK\" ] || exit 0\n{run}")
    }

    fn runner(scratch: &Scratch, cached: bool) -> Runner {
        Runner {
            cache: Cache::new(&scratch.0.join("cache")),
            fence: Ok(vec![]),
            program: PathBuf::from("/bin/true"),
            work: scratch.0.join("work"),
            cached,
        }
    }

    fn judged(text: &str, run: &str) -> Verdict {
        let scratch = Scratch::new();
        let peer = Peer::read(&peer_folder(&scratch, "fake", text, &body(run))).unwrap();
        let verdict = runner(&scratch, false).judge(&peer);
        assert_eq!(verdict.log.as_ref().is_some_and(|log| log.is_file()), verdict.version.is_some());
        verdict
    }

    #[test]
    fn outcomes_are_told_apart() {
        let verdict = judged(FAKE, "echo 5 calls");
        assert_eq!((verdict.outcome, verdict.note.as_str()), (Outcome::Passed, "5 calls"));
        let verdict = judged(FAKE, "echo much; echo no SCTP here; exit 77");
        assert_eq!((verdict.outcome, verdict.note.as_str()), (Outcome::NotAvailable, "no SCTP here"));
        let verdict = judged(FAKE, "echo told; exit 1");
        assert_eq!(verdict.outcome, Outcome::Failed);
        assert!(verdict.note.starts_with("exit code 1; log: "), "{}", verdict.note);
        let late =
            FAKE.replace("[run]\nscript = \"run\"\nseconds_max = 60", "[run]\nscript = \"run\"\nseconds_max = 1");
        let verdict = judged(&late, "exec tail -f /dev/null");
        assert_eq!(verdict.outcome, Outcome::Failed);
        assert!(verdict.note.starts_with("killed after 1 s; log: "), "{}", verdict.note);
        let verdict = judged(&format!("needs = [\"sh\", \"no-such-program\"]\n{FAKE}"), "exit 0");
        assert_eq!(
            (verdict.outcome, verdict.note.as_str()),
            (Outcome::NotAvailable, "the system lacks no-such-program")
        );
    }

    #[test]
    fn a_known_difference_is_told_and_an_unknown_one_fails() {
        let known = format!("{FAKE}[[known]]\ncheck = \"code\"\nreason = \"issue 7\"\n");
        let verdict = judged(FAKE, "echo 'differs code: 1, not 2'; echo 5 calls");
        assert_eq!(verdict.outcome, Outcome::Failed);
        assert!(verdict.note.starts_with("differences: 1; log: "), "{}", verdict.note);
        let verdict = judged(&known, "echo 'differs code: 1, not 2'; echo 5 calls");
        assert_eq!((verdict.outcome, verdict.note.as_str()), (Outcome::Passed, "5 calls"));
        assert_eq!(verdict.known, ["code: issue 7"]);
        let verdict = judged(&known, "echo 'differs code: 1'; echo 'differs state: 1'; echo 5 calls");
        assert_eq!(verdict.outcome, Outcome::Failed);
        let verdict = judged(&known, "echo 5 calls");
        assert_eq!(verdict.note, "'code' now agrees: remove it from [[known]] in peer.toml");
        assert_eq!(verdict.outcome, Outcome::Failed);
    }

    #[test]
    fn a_run_gets_its_folders_and_the_program() {
        let all = "[ \"$PWD\" = \"$PEER_WORK\" ] && [ \"$HOME\" = \"$PEER_WORK\" ] && [ -z \"$(ls)\" ] && \
                   [ -d \"$PEER_SETUP\" ] && [ -f \"$PEER_FOLDER/peer.toml\" ] && [ \"$TRUNKLINE\" = /bin/true ] && \
                   [ \"$PEER_NAME\" = fake ] && touch left";
        let scratch = Scratch::new();
        let peer = Peer::read(&peer_folder(&scratch, "fake", FAKE, &body(all))).unwrap();
        // The second time the folder is empty again.
        for _ in 0..2 {
            let verdict = runner(&scratch, false).judge(&peer);
            assert_eq!(verdict.outcome, Outcome::Passed, "{}", verdict.shown_log());
        }
    }

    #[test]
    fn cached_runs_only_what_is_set_up() {
        let scratch = Scratch::new();
        let peer = Peer::read(&peer_folder(&scratch, "fake", FAKE, &body("echo good"))).unwrap();
        let verdict = runner(&scratch, true).judge(&peer);
        assert_eq!((verdict.outcome, verdict.note.as_str()), (Outcome::NotAvailable, "not set up (make peers)"));
        assert!(!scratch.0.join("cache").exists());
        assert_eq!(runner(&scratch, false).judge(&peer).outcome, Outcome::Passed);
        assert_eq!(runner(&scratch, true).judge(&peer).outcome, Outcome::Passed);
    }

    #[test]
    fn peers_are_found_by_name_and_all_that_are_wrong_are_told() {
        let scratch = Scratch::new();
        let folder = scratch.0.join("peers");
        peer_folder(&scratch, "b", FAKE, "exit 0");
        peer_folder(&scratch, "a", FAKE, "exit 0");
        std::fs::create_dir_all(folder.join("no-peer")).unwrap();
        let names = |asked: &[&str]| {
            let asked: Vec<String> = asked.iter().map(|&name| name.to_owned()).collect();
            peers(&folder, &asked).map(|found| found.into_iter().map(|peer| peer.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap(), ["a", "b"]);
        assert_eq!(names(&["b"]).unwrap(), ["b"]);
        assert_eq!(names(&["c"]).unwrap_err(), "there is no peer 'c'; there are: a, b");
        peer_folder(&scratch, "c", "what = 1", "exit 0");
        peer_folder(&scratch, "d", "", "exit 0");
        let wrong = names(&[]).unwrap_err();
        assert!(wrong.contains("peers/c/peer.toml: ") && wrong.contains("peers/d/peer.toml: "), "{wrong}");
    }

    #[test]
    fn the_peers_of_the_repository_are_well_described() {
        assert!(peers(&Repository::here().path(FOLDER), &[]).is_ok_and(|found| !found.is_empty()));
    }

    #[test]
    fn options_are_read() {
        let read = |words: &[&str]| Options::read(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        let all = read(&["kamailio", "--cached", "--json", "--list"]).unwrap();
        assert_eq!(all, Options { names: vec!["kamailio".to_owned()], cached: true, json: true, list: true });
        assert!(read(&["--all"]).unwrap_err().starts_with("unknown option '--all'"));
    }
}
