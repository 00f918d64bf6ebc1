//! Debian packages, unpacked into a folder and not installed: nobody has to be root.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The exit code of timeout when it had to end what it started.
const TIMED_OUT: i32 = 124;

/// Where apt's lists of packages are from.
pub struct Apt {
    options: Vec<String>,
    seconds_max: u64,
}

impl Apt {
    /// The lists that the system has. No command may take longer than `seconds_max`: without a network apt-get tries
    /// for minutes.
    pub fn of_the_system(seconds_max: u64) -> Apt {
        let options = ["-o=APT::Sandbox::User=root", "-o=APT::Install-Recommends=false"];
        Apt { options: options.map(str::to_owned).to_vec(), seconds_max }
    }

    /// Lists that are fetched now, into `folder`: the system has none, or they are out of date.
    ///
    /// # Errors
    /// `folder` cannot be made, or apt-get fails: why.
    pub fn fetched(folder: &Path, seconds_max: u64) -> Result<Apt, String> {
        let mut apt = Apt::of_the_system(seconds_max);
        for (name, inside) in [("State::Lists", "lists"), ("Cache", "cache")] {
            let part = folder.join(inside);
            for needed in ["partial", "archives/partial"] {
                std::fs::create_dir_all(part.join(needed)).map_err(|e| format!("{}: {e}", part.display()))?;
            }
            apt.options.push(format!("-o=Dir::{name}={}", part.display()));
        }
        output(apt.command("apt-get").args(["-qq", "--error-on=any", "update"]))?;
        Ok(apt)
    }

    /// The version of `package` that would be installed.
    ///
    /// # Errors
    /// There is no apt-cache, or it knows no such package.
    pub fn candidate(&self, package: &str) -> Result<String, String> {
        let said = output(self.command("apt-cache").args(["policy", package]))?;
        candidate(&said).ok_or_else(|| format!("apt-cache knows no version of the package {package}"))
    }

    /// Unpacks the packages into `root`, with what they need and the system lacks. Files go to `scratch` meanwhile.
    ///
    /// # Errors
    /// A package cannot be had or unpacked: why.
    pub fn unpack(&self, packages: &[String], root: &Path, scratch: &Path) -> Result<(), String> {
        let said = output(self.command("apt-get").args(["--simulate", "install"]).args(packages))?;
        let mut all: Vec<&str> = packages.iter().map(String::as_str).chain(lacking(&said)).collect();
        all.sort_unstable();
        all.dedup();
        std::fs::create_dir_all(scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
        output(self.command("apt-get").args(["-qq", "download"]).args(all).current_dir(scratch))?;
        for file in files(scratch)? {
            output(Command::new("dpkg-deb").arg("--extract").arg(file).arg(root))?;
        }
        std::fs::remove_dir_all(scratch).map_err(|e| format!("{}: {e}", scratch.display()))
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("timeout");
        command.arg(self.seconds_max.to_string()).arg(program).args(&self.options);
        command
    }
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    files.sort();
    Ok(files)
}

/// What a command prints to its standard output; its last complaint if it fails.
fn output(command: &mut Command) -> Result<String, String> {
    command.env("LC_ALL", "C.UTF-8").env("DEBIAN_FRONTEND", "noninteractive");
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("{program}: {e}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    if output.status.code() == Some(TIMED_OUT) && program == "timeout" {
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).take(2).collect();
        return Err(format!("{} had not ended after {} s", words[1], words[0]));
    }
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = complaint.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    Err(if program == "timeout" { last.to_owned() } else { format!("{program}: {last}") })
}

/// The version that `apt-cache policy` calls the candidate.
fn candidate(said: &str) -> Option<String> {
    let version = said.lines().find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    (version != "(none)").then(|| version.to_owned())
}

/// The packages that `apt-get --simulate install` would install.
fn lacking(said: &str) -> impl Iterator<Item = &str> {
    said.lines().filter_map(|line| line.strip_prefix("Inst ")?.split_whitespace().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_apt_says() {
        let policy = "kamailio:\n  Installed: (none)\n  Candidate: 5.6.3-2\n  Version table:\n     5.6.3-2 500\n";
        assert_eq!(candidate(policy).as_deref(), Some("5.6.3-2"));
        assert_eq!(candidate("x:\n  Installed: (none)\n  Candidate: (none)\n"), None);
        assert_eq!(candidate(""), None);
        let simulated = "Reading package lists...\nInst libpcre3 (2:8.39-15 Debian:12.15/oldstable [amd64])\n\
                         Inst libevent-2.1-7 [2.1.12-8] (2.1.12-8+deb12u1 Debian-Security:12 [amd64])\n\
                         Conf libpcre3 (2:8.39-15 Debian:12.15/oldstable [amd64])\n";
        assert_eq!(lacking(simulated).collect::<Vec<_>>(), ["libpcre3", "libevent-2.1-7"]);
    }

    #[test]
    fn a_failing_program_says_its_last_complaint() {
        let wrong = output(Command::new("sh").args(["-c", "echo first >&2; echo last >&2; exit 100"])).unwrap_err();
        assert_eq!(wrong, "sh: last");
        assert_eq!(
            output(Command::new("timeout").args(["1", "tail", "-f", "/dev/null"])).unwrap_err(),
            "tail had not ended after 1 s"
        );
        assert!(output(&mut Command::new("no-such-program")).unwrap_err().starts_with("no-such-program: "));
    }
}
