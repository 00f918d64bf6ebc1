//! What is written by a thread that may wait for the disk, read by a connection: a few pieces are under way at a time.

use crate::problem::Problem;
use crate::sources::{Cancel, SourceError, Trouble};
use axum::body::{Body, Bytes};
use futures_util::stream;
use std::io::{self, Write};
use tokio::sync::mpsc;

/// Octets of a piece.
pub const PIECE_OCTETS: usize = 64 * 1024;
/// Pieces that wait for the connection.
pub const PIECES_MAX: usize = 4;

/// A body of what `write` writes on a thread of its own. Comes back when the first piece is there, so that what fails at
/// once is told as a problem; what fails later breaks the connection off, so that nobody takes a part for the whole.
///
/// # Errors
/// What `write` said before it wrote anything.
pub async fn body(
    cancel: Cancel,
    write: impl FnOnce(&mut dyn Write) -> Result<(), SourceError> + Send + 'static,
) -> Result<Body, Problem> {
    let (pieces, mut taken) = mpsc::channel(PIECES_MAX);
    tokio::task::spawn_blocking(move || {
        let mut out = Pieces { pieces, piece: Vec::new() };
        let done = write(&mut out).and_then(|()| out.flush().map_err(gone));
        if let Err(error) = done {
            let _ = out.pieces.blocking_send(Err(error));
        }
    });
    let first = match taken.recv().await {
        Some(Ok(first)) => first,
        Some(Err(error)) => return Err(error.into()),
        None => Bytes::new(),
    };
    let ends = Ends(cancel);
    let pieces = stream::unfold((Some(first), taken, ends), |(first, mut taken, ends)| async move {
        let next = match first {
            Some(first) => Ok(first),
            None => taken.recv().await?,
        };
        Some((next.map_err(io::Error::other), (None, taken, ends)))
    });
    Ok(Body::from_stream(pieces))
}

/// Ends the work when the connection has gone.
struct Ends(Cancel);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

struct Pieces {
    pieces: mpsc::Sender<Result<Bytes, SourceError>>,
    piece: Vec<u8>,
}

impl Write for Pieces {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(octets);
        if self.piece.len() >= PIECE_OCTETS {
            self.flush()?;
        }
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = Bytes::from(std::mem::take(&mut self.piece));
        self.pieces.blocking_send(Ok(piece)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

fn gone(error: io::Error) -> SourceError {
    SourceError::new(Trouble::Cancelled, error.to_string())
}
