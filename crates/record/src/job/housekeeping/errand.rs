//! A program that is run for a segment.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How often a program that runs is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With exit code 0.
    Done,
    /// With another exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// It took too long and was killed, with all that it had started in its process group.
    TimedOut,
    /// It could not be started, and why.
    NotStarted(String),
}

impl core::fmt::Display for Ending {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Ending::Done => f.write_str("exit code 0"),
            Ending::Code(code) => write!(f, "exit code {code}"),
            Ending::Signal(signal) => write!(f, "killed by signal {signal}"),
            Ending::TimedOut => f.write_str("took too long and was killed"),
            Ending::NotStarted(why) => write!(f, "cannot be started: {why}"),
        }
    }
}

/// Runs a program with the path as its only argument, in a process group of its own, without input and output, and
/// waits for it.
pub fn run(program: &Path, argument: &Path, patience: Duration) -> Ending {
    let mut command = Command::new(program);
    command.arg(argument).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(child) => wait(child, patience),
        Err(error) => Ending::NotStarted(error.to_string()),
    }
}

fn wait(mut child: Child, patience: Duration) -> Ending {
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return ending(status),
            Ok(None) if begun.elapsed() < patience => std::thread::park_timeout(LOOK),
            _ => break,
        }
    }
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
    Ending::TimedOut
}

fn ending(status: std::process::ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ending::Done,
        (Some(code), _) => Ending::Code(code),
        (None, signal) => Ending::Signal(signal.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eventually::eventually;

    const LONG: Duration = Duration::from_secs(120);

    #[test]
    fn endings_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, "exit 3").unwrap();
        assert_eq!(run(Path::new("/bin/true"), &script, LONG), Ending::Done);
        assert_eq!(run(Path::new("/bin/sh"), &script, LONG), Ending::Code(3));
        std::fs::write(&script, "kill -9 $$").unwrap();
        assert_eq!(run(Path::new("/bin/sh"), &script, LONG), Ending::Signal(9));
        assert!(matches!(run(Path::new("/does/not/exist"), &script, LONG), Ending::NotStarted(_)));
        // With what it started.
        std::fs::write(&script, "sleep 1000 & echo $! > \"$0.child\"; wait").unwrap();
        assert_eq!(run(Path::new("/bin/sh"), &script, Duration::from_millis(500)), Ending::TimedOut);
        let child = std::fs::read_to_string(folder.path().join("script.child")).unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        // It is killed, and dies when a processor has time for it.
        eventually("it has died", || state().is_empty() || state().contains(") Z "));
    }
}
