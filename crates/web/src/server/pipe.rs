//! What is written by a thread that may wait for the disk, read by a connection: a few pieces are under way at a time.

use crate::problem::Problem;
use crate::sources::{Cancel, SourceError, Trouble};
use axum::body::{Body, Bytes};
use futures_util::stream;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// Octets of a piece.
pub const PIECE_OCTETS: usize = 64 * 1024;
/// Pieces that wait for the connection.
pub const PIECES_MAX: usize = 4;
/// How long a piece may wait for the connection.
pub const PIECE_TIME: Duration = Duration::from_secs(60);
/// How often a writer that waits looks whether the reader has gone, if nothing wakes it.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// A body of what `write` writes on a thread of its own. Comes back when the first piece is there, so that what fails
/// at once is told as a problem; what fails later breaks the connection off, so that nobody takes a part for the whole.
///
/// # Errors
/// What `write` said before it wrote anything.
pub async fn body(
    cancel: Cancel,
    write: impl FnOnce(&mut dyn Write) -> Result<(), SourceError> + Send + 'static,
) -> Result<Body, Problem> {
    // From here on: who goes before the first piece is there ends the work as well.
    let ends = Ends(cancel);
    let (pieces, mut taken) = mpsc::channel(PIECES_MAX);
    let writer = Arc::new(Writer::default());
    let told = Arc::clone(&writer);
    tokio::task::spawn_blocking(move || {
        let _ = told.thread.set(std::thread::current());
        let mut out = Pieces { pieces, piece: Vec::new() };
        match write(&mut out).and_then(|()| out.flush().map_err(gone)) {
            Ok(()) => told.complete.store(true, Ordering::Release),
            // Where there is no place for it, pieces that end before they are complete tell the same.
            Err(error) => drop(out.pieces.try_send(Err(error))),
        }
    });
    let first = match taken.recv().await {
        Some(Ok(first)) => first,
        Some(Err(error)) => return Err(error.into()),
        None => Bytes::new(),
    };
    let reading = (Some(first), taken, writer, ends, false);
    let pieces = stream::unfold(reading, |(first, mut taken, writer, ends, failed)| async move {
        if failed {
            return None;
        }
        let next = match first {
            Some(first) => Ok(first),
            None => match taken.recv().await {
                Some(next) => next.map_err(io::Error::other),
                None if writer.complete.load(Ordering::Acquire) => return None,
                None => Err(io::ErrorKind::UnexpectedEof.into()),
            },
        };
        if let Some(thread) = writer.thread.get() {
            thread.unpark();
        }
        let failed = next.is_err();
        Some((next, (None, taken, writer, ends, failed)))
    });
    Ok(Body::from_stream(pieces))
}

/// What the reader knows of the writer.
#[derive(Default)]
struct Writer {
    thread: OnceLock<Thread>,
    complete: AtomicBool,
}

/// Ends work when nobody waits for what comes of it any more: what holds this was dropped.
pub struct Ends(pub Cancel);

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
        self.send(piece)
    }
}

impl Pieces {
    /// Waits for a place, but not for ever: a stream of HTTP/2 may be held up while its connection is well.
    fn send(&self, piece: Bytes) -> io::Result<()> {
        let mut piece = Ok(piece);
        let began = Instant::now();
        loop {
            piece = match self.pieces.try_send(piece) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Closed(_)) => return Err(io::ErrorKind::BrokenPipe.into()),
                Err(TrySendError::Full(piece)) => piece,
            };
            if began.elapsed() >= PIECE_TIME {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::park_timeout(LOOK_AGAIN);
        }
    }
}

fn gone(error: io::Error) -> SourceError {
    SourceError::new(Trouble::Cancelled, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eventually::{PATIENCE, eventually};
    use futures_util::StreamExt;

    #[tokio::test]
    async fn who_goes_before_the_first_piece_ends_the_work() {
        let cancel = Cancel::default();
        let seen = cancel.clone();
        let (told, ended) = std::sync::mpsc::channel();
        let waiting = body(cancel, move |_| {
            eventually("it is cancelled", || seen.is_cancelled());
            let _ = told.send(());
            Ok(())
        });
        assert!(tokio::time::timeout(Duration::from_millis(50), waiting).await.is_err());
        assert!(ended.recv_timeout(PATIENCE).is_ok());
    }

    #[tokio::test]
    async fn what_failed_is_no_end() {
        for fails in [false, true] {
            let write = move |out: &mut dyn Write| {
                out.write_all(&vec![7; 3 * PIECE_OCTETS]).map_err(gone)?;
                if fails { Err(SourceError::new(Trouble::Failed, "the disk")) } else { Ok(()) }
            };
            let pieces: Vec<_> = body(Cancel::default(), write).await.unwrap().into_data_stream().collect().await;
            assert_eq!(pieces.iter().any(Result::is_err), fails);
        }
    }
}
