//! A peer as `peers/NAME/peer.toml` describes it.

use serde::Deserialize;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The file that describes a peer, in its folder.
pub const FILE: &str = "peer.toml";
/// The longest time limit, in seconds.
const SECONDS_MAX: u64 = 3600;

/// A program that we did not write, and the test against it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// The name of its folder.
    #[serde(skip)]
    pub name: String,
    /// The folder that holds `peer.toml` and the scripts.
    #[serde(skip)]
    pub folder: PathBuf,
    /// What the peer is and what is compared, in a sentence.
    pub what: String,
    /// Programs of the system that the scripts start.
    #[serde(default)]
    pub needs: Vec<String>,
    /// How the peer is set up.
    pub setup: Setup,
    /// What is run.
    pub run: Run,
    /// Differences that are known, with their reasons.
    #[serde(default)]
    pub known: Vec<Known>,
}

/// How a peer is set up: from Debian packages, by a script, or both, the packages first.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The version; without it the candidate version of the first package is the version.
    pub version: Option<String>,
    /// Debian packages that are unpacked, not installed, with what they need and the system lacks.
    #[serde(default)]
    pub debian: Vec<String>,
    /// A program in the peer's folder that sets up the rest.
    pub script: Option<String>,
    /// Files in the peer's folder that the script reads. If one changes, the peer is set up again.
    #[serde(default)]
    pub files: Vec<String>,
    /// The time limit of the script, and of each command of apt.
    pub seconds_max: u64,
}

/// What is run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// A program in the peer's folder.
    pub script: String,
    /// Its time limit.
    pub seconds_max: u64,
}

/// A difference that the run may show.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The check's name, as in the line `differs NAME: ...` that the run prints.
    pub check: String,
    /// Why it differs, in a sentence.
    pub reason: String,
}

impl Peer {
    /// Reads the peer in `folder`.
    ///
    /// # Errors
    /// The file cannot be read or is wrong: every mistake with the file's name and the key, one a line.
    pub fn read(folder: &Path) -> Result<Peer, String> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = format!("peers/{name}/{FILE}");
        let text = std::fs::read_to_string(folder.join(FILE)).map_err(|e| format!("{file}: {e}"))?;
        let mut peer: Peer = toml::from_str(&text).map_err(|e| format!("{file}: {e}"))?;
        (peer.name, peer.folder) = (name, folder.to_owned());
        let mistakes: Vec<String> = peer.mistakes().iter().map(|mistake| format!("{file}: {mistake}")).collect();
        if mistakes.is_empty() { Ok(peer) } else { Err(mistakes.join("\n")) }
    }

    fn mistakes(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut check = |good: bool, mistake: &str| {
            if !good {
                found.push(mistake.to_owned());
            }
        };
        let named = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        check(self.name.chars().all(named), "the folder's name may hold a-z, 0-9 and '-'");
        check(!self.what.trim().is_empty(), "what: is empty");
        let packages = !self.setup.debian.is_empty();
        check(
            packages || self.setup.version.is_some(),
            "setup.version: is missing, and setup.debian names no package whose version it could be",
        );
        check(packages || self.setup.script.is_some(), "setup.script: is missing, and setup.debian names no package");
        for (key, seconds) in [("setup", self.setup.seconds_max), ("run", self.run.seconds_max)] {
            let allowed = (1..=SECONDS_MAX).contains(&seconds);
            check(allowed, &format!("{key}.seconds_max: {seconds} is not in 1 to {SECONDS_MAX}"));
        }
        let scripts = [("setup.script", self.setup.script.as_ref()), ("run.script", Some(&self.run.script))];
        for (key, script) in scripts.into_iter().filter_map(|(key, script)| Some((key, script?))) {
            check(is_program(&self.folder.join(script)), &format!("{key}: {script} is no executable file"));
        }
        for file in &self.setup.files {
            check(self.folder.join(file).is_file(), &format!("setup.files: {file} is no file"));
        }
        for known in &self.known {
            check(!known.check.trim().is_empty(), "known.check: is empty");
            check(!known.reason.trim().is_empty(), &format!("known.reason: of '{}' is empty", known.check));
        }
        found
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Scratch, peer_folder};
    use super::*;

    const GOOD: &str = "what = \"a server\"\n[setup]\nversion = \"1\"\nscript = \"run\"\nseconds_max = 1\n\
                        [run]\nscript = \"run\"\nseconds_max = 1\n";

    fn reading(text: &str) -> Result<Peer, String> {
        let scratch = Scratch::new();
        Peer::read(&peer_folder(&scratch, "fake", text, "exit 0"))
    }

    #[test]
    fn reads_a_peer() {
        let peer = reading(GOOD).unwrap();
        assert_eq!((peer.name.as_str(), peer.what.as_str(), peer.run.seconds_max), ("fake", "a server", 1));
    }

    #[test]
    fn mistakes_name_the_file_and_the_key() {
        for (from, to, key) in [
            ("what = \"a server\"", "", "missing field `what`"),
            ("what = \"a server\"", "what = \" \"", "what: is empty"),
            ("what = \"a server\"", "what = \"a\"\nwho = 1", "unknown field `who`"),
            ("version = \"1\"\n", "", "setup.version: is missing"),
            ("script = \"run\"\nseconds_max = 1\n[run]", "seconds_max = 1\n[run]", "setup.script: is missing"),
            ("[run]\nscript = \"run\"", "[run]\nscript = \"gone\"", "run.script: gone is no executable file"),
            ("[run]\nscript = \"run\"", "[run]\nscript = \"peer.toml\"", "run.script: peer.toml is no executable file"),
            ("seconds_max = 1\n[run]", "seconds_max = \"1\"\n[run]", "seconds_max = \"1\""),
            ("seconds_max = 1\n[run]", "seconds_max = 0\n[run]", "setup.seconds_max: 0 is not in 1 to 3600"),
            ("seconds_max = 1\n[run]", "seconds_max = 1\nfiles = [\"gone\"]\n[run]", "setup.files: gone is no file"),
            ("[run]", "[[known]]\ncheck = \"x\"\nreason = \"\"\n[run]", "known.reason: of 'x' is empty"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let wrong = reading(&GOOD.replacen(from, to, 1)).unwrap_err();
            assert!(wrong.starts_with("peers/fake/peer.toml: ") && wrong.contains(key), "{key} is not in: {wrong}");
        }
    }

    #[test]
    fn all_mistakes_are_told_together() {
        let wrong = reading(&GOOD.replace("seconds_max = 1", "seconds_max = 4000")).unwrap_err();
        assert_eq!(wrong.lines().count(), 2, "{wrong}");
    }
}
