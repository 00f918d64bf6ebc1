//! Standard output and files, as commands write to them.

use crate::failure::Failure;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use trunkline_kit::untrusted::moves;

/// Octets that are gathered before they are written.
const BUFFER_OCTETS: usize = 64 * 1024;

/// Standard output, buffered. JSON has no character as it is by which a terminal is moved.
pub fn stdout() -> BufWriter<Out> {
    BufWriter::with_capacity(BUFFER_OCTETS, Out::of(io::stdout(), std::env::args_os().any(|word| word == "--json")))
}

/// Where a command's output goes.
#[derive(Debug)]
pub struct Out<W: Write = io::Stdout> {
    to: W,
    is_json: bool,
    /// The beginning of a character whose end is still to come.
    begun: Vec<u8>,
}

impl<W: Write> Out<W> {
    fn of(to: W, is_json: bool) -> Out<W> {
        Out { to, is_json, begun: Vec::new() }
    }

    /// Characters from U+007F on that move a terminal, C1 among them, as escapes: JSON (RFC 8259 section 7) writes
    /// those before U+0020 so itself, and has others in strings alone.
    fn json(&mut self, text: &str) -> io::Result<()> {
        if !text.chars().any(is_escaped) {
            return self.to.write_all(text.as_bytes());
        }
        let mut out = String::with_capacity(text.len() + 64);
        for c in text.chars() {
            match is_escaped(c) {
                true => out.push_str(&format!("\\u{:04x}", u32::from(c))),
                false => out.push(c),
            }
        }
        self.to.write_all(out.as_bytes())
    }
}

fn is_escaped(c: char) -> bool {
    c >= '\u{7f}' && moves(c)
}

impl<W: Write> Write for Out<W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        if !self.is_json {
            return self.to.write(octets);
        }
        let mut all = core::mem::take(&mut self.begun);
        all.extend_from_slice(octets);
        let mut rest = &all[..];
        while !rest.is_empty() {
            match core::str::from_utf8(rest) {
                Ok(text) => {
                    self.json(text)?;
                    rest = &[];
                }
                Err(error) => {
                    let (text, behind) = rest.split_at(error.valid_up_to());
                    self.json(core::str::from_utf8(text).unwrap_or_default())?;
                    let Some(wrong) = error.error_len() else {
                        self.begun = behind.to_vec();
                        break;
                    };
                    self.to.write_all(&behind[..wrong])?;
                    rest = &behind[wrong..];
                }
            }
        }
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let begun = core::mem::take(&mut self.begun);
        self.to.write_all(&begun)?;
        self.to.flush()
    }
}

/// A file that is made or emptied, or standard output for `-`.
///
/// # Errors
/// The file could not be made; the text says which and why.
pub fn create(path: &Path) -> Result<BufWriter<Box<dyn Write + Send>>, Failure> {
    let out: Box<dyn Write + Send> = if path.as_os_str() == "-" {
        Box::new(io::stdout())
    } else {
        Box::new(File::create(path).map_err(|e| cannot_write(path, &e))?)
    };
    Ok(BufWriter::with_capacity(BUFFER_OCTETS, out))
}

/// The failure of writing to a file, or to standard output for `-`.
pub fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::NobodyReads,
        _ if path.as_os_str() == "-" => Failure::Failed(format!("cannot write to standard output: {error}")),
        _ => Failure::Failed(format!("cannot write {}: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(is_json: bool, pieces: &[&[u8]]) -> String {
        let mut out = Out::of(Vec::new(), is_json);
        pieces.iter().for_each(|piece| out.write_all(piece).unwrap());
        out.flush().unwrap();
        String::from_utf8_lossy(&out.to).into_owned()
    }

    #[test]
    fn json_moves_no_terminal_however_it_is_cut() {
        let text = "{\"a\":\"\u{9d}0;\u{e9}\u{7f}\u{202e}\u{1f600}\"}\n".as_bytes();
        let right = "{\"a\":\"\\u009d0;\u{e9}\\u007f\\u202e\u{1f600}\"}\n";
        for at in 0..text.len() {
            assert_eq!(written(true, &[&text[..at], &text[at..]]), right, "{at}");
        }
        assert_eq!(written(false, &[text]).as_bytes(), text);
        assert_eq!(written(true, &[b"a\xffb\xc2"]), "a\u{fffd}b\u{fffd}");
    }
}
