//! Long output on a terminal goes through a pager, so that the first screen is its beginning: the answer.

use crate::output::Out;
use crate::terminal::Terminal;
use std::env;
use std::io::{self, BufWriter, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What is held back at most before a pager is started, octets, however few lines it is.
const HELD_OCTETS_MAX: usize = 1024 * 1024;
/// Lines of the screen that the shell's prompt takes below short output.
const PROMPT_LINES: usize = 1;
/// What pages if neither TRUNKLINE_PAGER nor PAGER says.
const PAGER_DEFAULT: &str = "less";

/// Standard output, through a pager where it is a terminal that the output does not fit on.
pub struct Paged {
    state: State,
    command: Vec<String>,
    /// Lines that fit.
    room: usize,
    unicode: bool,
}

enum State {
    Direct(BufWriter<Out>),
    /// Not yet more than the screen holds.
    Held {
        octets: Vec<u8>,
        lines: usize,
    },
    Pager(Child, BufWriter<ChildStdin>),
}

impl Paged {
    /// Standard output of that terminal.
    pub fn new(terminal: &Terminal) -> Self {
        match (terminal.height, pager()) {
            (Some(height), Some(command)) => Paged::through(command, height, terminal.unicode),
            _ => Paged { state: direct(), command: Vec::new(), room: 0, unicode: terminal.unicode },
        }
    }

    fn through(command: Vec<String>, height: usize, unicode: bool) -> Self {
        let held = State::Held { octets: Vec::new(), lines: 0 };
        Paged { state: held, command, room: height.saturating_sub(PROMPT_LINES), unicode }
    }

    /// Starts the pager with what was held back; where it cannot be started, all goes straight out.
    fn start(&mut self) -> io::Result<()> {
        let State::Held { octets, .. } = std::mem::replace(&mut self.state, direct()) else { return Ok(()) };
        if let Some((child, pipe)) = self.spawn() {
            self.state = State::Pager(child, pipe);
        }
        self.write_all(&octets)
    }

    fn spawn(&self) -> Option<(Child, BufWriter<ChildStdin>)> {
        let (program, arguments) = self.command.split_first()?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped());
        // Colours as they are, and no paging of what fits after all.
        if env::var_os("LESS").is_none() {
            command.env("LESS", "FRX");
        }
        if self.unicode && env::var_os("LESSCHARSET").is_none() {
            command.env("LESSCHARSET", "utf-8");
        }
        let mut child = command.spawn().ok()?;
        let pipe = child.stdin.take()?;
        // Ctrl-C is for the pager: it ends a search there, and must not leave it without us.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::new(AtomicBool::new(false)));
        Some((child, BufWriter::new(pipe)))
    }
}

impl Write for Paged {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match &mut self.state {
            State::Direct(out) => return out.write(octets),
            State::Pager(_, pipe) => return Ok(reader_may_leave(pipe.write(octets))?.unwrap_or(octets.len())),
            State::Held { octets: held, lines } => {
                held.extend_from_slice(octets);
                *lines += octets.iter().filter(|o| **o == b'\n').count();
                if *lines <= self.room && held.len() <= HELD_OCTETS_MAX {
                    return Ok(octets.len());
                }
            }
        }
        self.start()?;
        Ok(octets.len())
    }

    /// The end of the output, as far as a pager is concerned: what fits is written without one.
    fn flush(&mut self) -> io::Result<()> {
        if let State::Held { octets, .. } = &mut self.state {
            let octets = std::mem::take(octets);
            self.state = direct();
            self.write_all(&octets)?;
        }
        match &mut self.state {
            State::Pager(_, pipe) => reader_may_leave(pipe.flush()).map(|_| ()),
            State::Direct(out) => out.flush(),
            State::Held { .. } => Ok(()),
        }
    }
}

impl Drop for Paged {
    fn drop(&mut self) {
        let _ = self.flush();
        if let State::Pager(mut child, pipe) = std::mem::replace(&mut self.state, direct()) {
            drop(pipe);
            let _ = child.wait();
        }
    }
}

fn direct() -> State {
    State::Direct(crate::output::stdout())
}

/// Who leaves the pager has seen enough: that is no failure. None where the pager is gone.
fn reader_may_leave<T>(written: io::Result<T>) -> io::Result<Option<T>> {
    match written {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(None),
        written => written.map(Some),
    }
}

/// The pager's command: TRUNKLINE_PAGER, else PAGER, else less; none if that is empty or `cat`.
fn pager() -> Option<Vec<String>> {
    let asked = ["TRUNKLINE_PAGER", "PAGER"].into_iter().find_map(|name| env::var(name).ok());
    let words: Vec<String> = asked.as_deref().unwrap_or(PAGER_DEFAULT).split_whitespace().map(str::to_owned).collect();
    let pages = words.first().is_some_and(|program| program != "cat") && env::var("TERM").as_deref() != Ok("dumb");
    pages.then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_does_not_fit_is_paged() {
        let folder = tempfile::tempdir().unwrap();
        let seen = folder.path().join("seen");
        let command = ["tee".to_owned(), seen.to_string_lossy().into_owned()].to_vec();
        for (lines, paged) in [(10, false), (40, true)] {
            let mut out = Paged::through(command.clone(), 24, true);
            for i in 0..lines {
                writeln!(out, "line {i}").unwrap();
            }
            out.flush().unwrap();
            drop(out);
            let text = std::fs::read_to_string(&seen).unwrap_or_default();
            assert_eq!(text.lines().count(), if paged { lines } else { 0 });
        }
    }

    #[test]
    fn a_pager_that_is_missing_or_left_early_is_no_failure() {
        for command in ["/nonexistent/pager", "true"] {
            let mut out = Paged::through(vec![command.to_owned()], 2, true);
            for _ in 0..100 {
                writeln!(out, "{}", " ".repeat(100)).unwrap();
            }
            out.flush().unwrap();
        }
    }
}
