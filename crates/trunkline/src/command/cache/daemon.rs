//! `-d`: the program starts itself again behind a session of its own, and ends when that one listens.

use crate::failure::Failure;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use trunkline_kit::exit::Exit;

/// Says to the program that it is the one behind.
const BEHIND: &str = "TRUNKLINE_CACHE_BEHIND";
/// What the one behind says when it listens.
const READY: &str = "trunkline cache: ready";

/// Who goes on.
pub enum Side {
    /// The one that was started by hand: it is done.
    Parent(Exit),
    /// The server.
    Server,
}

/// Goes behind if that is asked for.
///
/// # Errors
/// The system has no process, or no session.
pub fn begin(asked: bool) -> Result<Side, Failure> {
    if !asked {
        return Ok(Side::Server);
    }
    if is_behind() {
        rustix::process::setsid().map_err(|e| Failure::Failed(format!("-d: {e}")))?;
        return Ok(Side::Server);
    }
    let failed = |e: std::io::Error| Failure::Failed(format!("-d: {e}"));
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| OsStr::new("trunkline").to_owned());
    let mut again = Command::new("/proc/self/exe");
    again.arg0(name).args(arguments).env(BEHIND, "1").stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = again.stderr(Stdio::piped()).spawn().map_err(failed)?;
    let said = child.stderr.take().map(BufReader::new);
    for line in said.into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
        if line == READY {
            return Ok(Side::Parent(Exit::Done));
        }
        eprintln!("{line}");
    }
    child.wait().map_err(failed)?;
    Ok(Side::Parent(Exit::Failed))
}

/// It listens: what waits for that is let go, and nothing is said to them any more.
pub fn ready() {
    if !is_behind() {
        return;
    }
    eprintln!("{READY}");
    if let Ok(nothing) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        // Where that fails, the pipe breaks when the parent ends, and lines go nowhere as well.
        let _ = rustix::stdio::dup2_stderr(&nothing);
    }
}

fn is_behind() -> bool {
    std::env::var_os(BEHIND).is_some()
}
