//! Runs a script within a time limit, in a group of processes of its own, away from every network.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// The exit code of a script that cannot do its work on this machine.
const NOT_AVAILABLE: i32 = 77;

/// How a script ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// With exit code 0.
    Done,
    /// With exit code 77.
    NotAvailable,
    /// With another exit code or by a signal: which one.
    Failed(String),
    /// It was killed, with all that it had started, after this many seconds.
    Late(u64),
}

/// Runs `command` for at most `seconds_max`; all that it prints goes to `log`. What it started ends with it.
///
/// # Errors
/// The log cannot be written, or the command does not start.
pub fn run(mut command: Command, log: &File, seconds_max: u64) -> io::Result<End> {
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log.try_clone()?).process_group(0);
    let mut child = command.spawn()?;
    let group = child.id();
    let (tell, told) = mpsc::channel();
    let waiting = std::thread::spawn(move || tell.send(child.wait()));
    let in_time = told.recv_timeout(Duration::from_secs(seconds_max));
    kill(group);
    let end = match in_time {
        Ok(status) => end(status?),
        Err(RecvTimeoutError::Timeout) => End::Late(seconds_max),
        Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("the thread that waited has ended")),
    };
    let _ = waiting.join();
    Ok(end)
}

/// Ends a group of processes; it may be gone already.
fn kill(group: u32) {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("kill -s KILL -- -{group}")]).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = shell.status();
}

fn end(status: ExitStatus) -> End {
    match status.code() {
        Some(0) => End::Done,
        Some(NOT_AVAILABLE) => End::NotAvailable,
        Some(code) => End::Failed(format!("exit code {code}")),
        None => End::Failed(status.to_string()),
    }
}

/// What stands before a command so that it has a loopback interface of its own and no other one, and so that all that
/// it starts ends with it, and with us.
///
/// # Errors
/// The kernel or the system does not allow it, or programs are missing: which.
pub fn fence() -> Result<Vec<String>, String> {
    let mut reason = String::new();
    // Root may do it as it is; others in a namespace of users where they have all capabilities and are no root: who is
    // root there and cannot change groups is refused by programs that drop privileges.
    for user in [&[][..], &["--map-current-user", "--keep-caps"]] {
        let begin = ["setpriv", "--pdeathsig", "KILL", "--", "unshare"];
        let spaces = ["--net", "--pid", "--mount-proc", "--fork", "--kill-child", "--"];
        let loopback = ["sh", "-c", "ip link set lo up && exec \"$@\"", "peer"];
        let fence: Vec<String> =
            [&begin[..], user, &spaces, &loopback].concat().into_iter().map(str::to_owned).collect();
        match fenced(&fence, Path::new("true")).output() {
            Ok(output) if output.status.success() => return Ok(fence),
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().clone_into(&mut reason),
            Err(error) => reason = format!("{}: {error}", begin[0]),
        }
    }
    Err(format!("no network namespace can be made: {reason}"))
}

/// `program` behind a fence, or without one if it is empty.
pub fn fenced(fence: &[String], program: &Path) -> Command {
    match fence.split_first() {
        None => Command::new(program),
        Some((first, rest)) => {
            let mut command = Command::new(first);
            command.args(rest).arg(program);
            command
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Scratch;
    use super::*;
    use std::process::Command;

    fn shell(script: &str, seconds_max: u64) -> (End, String) {
        let scratch = Scratch::new();
        let path = scratch.0.join("log");
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let end = run(command, &File::create(&path).unwrap(), seconds_max).unwrap();
        (end, std::fs::read_to_string(path).unwrap())
    }

    #[test]
    fn ends_are_told_apart() {
        assert_eq!(shell("echo out; echo err >&2", 60), (End::Done, "out\nerr\n".to_owned()));
        assert_eq!(shell("exit 77", 60).0, End::NotAvailable);
        assert_eq!(shell("exit 3", 60).0, End::Failed("exit code 3".to_owned()));
        assert!(matches!(shell("kill -KILL $$", 60).0, End::Failed(_)));
    }

    /// Runs a script whose descriptor 3 is a pipe, and waits until nothing that holds it runs any more.
    fn ended_with_all(script: &str, seconds_max: u64) -> End {
        let scratch = Scratch::new();
        let pipe = scratch.0.join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (tell, told) = mpsc::channel();
        let read_end = pipe.clone();
        std::thread::spawn(move || tell.send(std::fs::read(read_end)));
        let (end, _) = shell(&format!("exec 3>{}; {script}", pipe.display()), seconds_max);
        told.recv_timeout(Duration::from_secs(60)).expect("what the script started runs on").unwrap();
        end
    }

    #[test]
    fn a_script_ends_with_what_it_started() {
        assert_eq!(ended_with_all("tail -f /dev/null & tail -f /dev/null", 1), End::Late(1));
        assert_eq!(ended_with_all("tail -f /dev/null & exit 0", 60), End::Done);
    }

    #[test]
    fn behind_the_fence_is_only_a_loopback_interface() {
        let fence = match fence() {
            Ok(fence) => fence,
            Err(reason) => return println!("SKIPPED: {reason}"),
        };
        let output = fenced(&fence, Path::new("ip")).args(["-oneline", "-brief", "link"]).output().unwrap();
        let names = String::from_utf8(output.stdout).unwrap();
        let names: Vec<&str> = names.lines().filter_map(|line| line.split_whitespace().next()).collect();
        // The kernel may add tunnels that are down to every namespace.
        assert!(names.contains(&"lo") && !names.iter().any(|name| name.starts_with('e')), "{names:?}");
    }
}
