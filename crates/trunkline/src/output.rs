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
