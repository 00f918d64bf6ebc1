//! What carries blocks to the disk: io_uring with several in flight, or pwrite.

mod faulty;
mod pwrite;
mod uring;

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::block::Block;
use crate::options::Engine as Wanted;

/// A block to be written; it and the file live until it is done.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: u64,
    pub(crate) file: Arc<File>,
    pub(crate) block: Block,
    /// Octets from the beginning of the block, and where they go in the file.
    pub(crate) octets: usize,
    pub(crate) offset: u64,
    pub(crate) since: Instant,
}

/// A write that ended.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) request: Request,
    pub(crate) result: io::Result<()>,
    pub(crate) took: Duration,
}

impl Done {
    fn new(request: Request, result: io::Result<()>) -> Done {
        let took = request.since.elapsed();
        Done { request, result, took }
    }
}

/// Carries writes; the order in which they end is not that in which they began.
pub(crate) trait Engine: Send {
    /// Starts a write. What goes wrong is told by [`Engine::reap`].
    fn submit(&mut self, request: Request);

    /// A write that ended; with `wait`, waits for one if any is in flight.
    fn reap(&mut self, wait: bool) -> Option<Done>;

    /// Writes that were started and not reaped.
    fn in_flight(&self) -> usize;

    /// `io_uring` or `pwrite`.
    fn name(&self) -> &'static str;
}

/// The engine that was asked for, or the one that works, and why it is another.
pub(crate) fn open(wanted: Wanted, depth: usize) -> (Box<dyn Engine>, Option<io::Error>) {
    if wanted == Wanted::Pwrite {
        return (Box::new(pwrite::Pwrite::default()), None);
    }
    match uring::Uring::new(depth) {
        Ok(uring) => (Box::new(uring), None),
        Err(error) => (Box::new(pwrite::Pwrite::default()), Some(error)),
    }
}

pub(crate) use faulty::Faulty;

/// Done writes that wait to be reaped.
type Ended = VecDeque<Done>;
