//! The terminal while something is drawn on it again and again: a screen of its own, keys as they are pressed, and
//! everything as it was at the end.

use crate::show::text::{Keep, Line};
use crate::stop::Stop;
use crate::terminal::Terminal;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// The alternate screen without a cursor, and back (xterm's control sequences, `ctlseqs`).
const OPEN: &[u8] = b"\x1b[?1049h\x1b[?25l";
const CLOSE: &[u8] = b"\x1b[?25h\x1b[?1049l";
/// To the upper left; clears what is behind; clears the rest of a line.
const HOME: &[u8] = b"\x1b[H";
const BELOW: &[u8] = b"\x1b[J";
const REST: &[u8] = b"\x1b[K\r\n";
/// How often signals are looked at.
const LOOK: Duration = Duration::from_millis(100);
/// Lines where the terminal does not tell.
const HEIGHT_DEFAULT: usize = 24;

/// The screen; dropped, the terminal is as it was.
pub struct Screen {
    before: Termios,
}

impl Screen {
    /// Takes the terminal: lines are not waited for, keys are not shown; Ctrl-C stays a signal.
    ///
    /// # Errors
    /// Standard input is no terminal.
    pub fn open() -> io::Result<Screen> {
        let stdin = io::stdin();
        let before = tcgetattr(&stdin)?;
        let mut now = before.clone();
        now.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&stdin, OptionalActions::Now, &now)?;
        let screen = Screen { before };
        let mut out = io::stdout().lock();
        out.write_all(OPEN)?;
        out.flush()?;
        Ok(screen)
    }

    /// Draws lines, as many and as wide as fit: the terminal may have another size each time.
    ///
    /// # Errors
    /// Those of standard output.
    pub fn draw(&mut self, lines: impl FnOnce(&Terminal) -> Vec<Line>, terminal: &Terminal) -> io::Result<()> {
        let (width, height) = size(terminal);
        let terminal = Terminal { width, height: Some(height), ..terminal.clone() };
        let mut drawn = HOME.to_vec();
        for mut line in lines(&terminal).into_iter().take(height.saturating_sub(1)) {
            line.fit(width, Keep::Start);
            line.write(terminal.colour, &mut drawn)?;
            drawn.pop();
            drawn.extend_from_slice(REST);
        }
        drawn.extend_from_slice(BELOW);
        let mut out = io::stdout().lock();
        out.write_all(&drawn)?;
        out.flush()
    }

    /// The next key; none when it is time, or a signal has come.
    ///
    /// # Errors
    /// The terminal has gone.
    pub fn key(&mut self, due: Instant, stop: &Stop) -> io::Result<Option<u8>> {
        let stdin = io::stdin();
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() || stop.is_asked() {
                return Ok(None);
            }
            let mut waited = [PollFd::new(&stdin, PollFlags::IN)];
            let time = left.min(LOOK).try_into().map_err(|_| io::ErrorKind::InvalidInput)?;
            match poll(&mut waited, Some(&time)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            // Not through the buffer of `Stdin`: what it keeps, `poll` does not see.
            let mut octet = [0];
            match rustix::io::read(&stdin, &mut octet)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                _ => return Ok(Some(octet[0])),
            }
        }
    }
}

/// Columns and lines.
fn size(terminal: &Terminal) -> (usize, usize) {
    let size = terminal_size::terminal_size_of(io::stdout());
    let found = size.map(|(width, height)| (usize::from(width.0), usize::from(height.0)));
    found.filter(|(width, height)| *width > 0 && *height > 0).unwrap_or((terminal.width, HEIGHT_DEFAULT))
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Who closed the terminal does not need it back.
        let _ = io::stdout().write_all(CLOSE).and_then(|()| io::stdout().flush());
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
