//! Standard output and files, as commands write to them.

use crate::failure::Failure;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Octets that are gathered before they are written.
const BUFFER_OCTETS: usize = 64 * 1024;

/// Standard output, buffered.
pub fn stdout() -> BufWriter<io::Stdout> {
    BufWriter::with_capacity(BUFFER_OCTETS, io::stdout())
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

/// A value of CSV (RFC 4180): quoted where it has to be. Spreadsheets run what begins with `=`, `+`, `-` or `@` and is
/// no number, and captures are written by strangers: such text gets a `'` in front.
pub fn csv(value: &str) -> String {
    let formula = value.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number(value);
    let value = if formula { format!("'{value}") } else { value.to_owned() };
    if value.contains([',', '"', '\n', '\r']) { format!("\"{}\"", value.replace('"', "\"\"")) } else { value }
}

/// Digits with a sign, a point and separators: also telephone numbers such as `+44 20 7946-0123`.
fn is_number(value: &str) -> bool {
    value.chars().skip(1).all(|c| c.is_ascii_digit() || matches!(c, '.' | ' ' | '-')) && value.len() > 1
}

#[cfg(test)]
mod tests {
    use super::csv;

    #[test]
    fn csv_quotes_and_disarms() {
        assert_eq!([csv("1001"), csv("a,b"), csv("say \"x\"")], ["1001", "\"a,b\"", "\"say \"\"x\"\"\""]);
        assert_eq!(
            [csv("=cmd|'/C calc'!A0"), csv("+442079460123"), csv("-1.5"), csv("@x")],
            ["'=cmd|'/C calc'!A0", "+442079460123", "-1.5", "'@x"]
        );
    }
}
