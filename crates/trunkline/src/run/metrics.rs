//! `/metrics` for Prometheus and `/healthz`, over a TCP or a Unix socket.
//!
//! [`bind`] while privileges last, [`Bound::serve`] when there is something to tell.

mod http;
pub mod socket;

#[cfg(test)]
mod tests;

use super::config::Listen;
use socket::{Listener, Stream};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use trunkline_kit::metrics::{Sample, exposition};

/// Connections at a time; with one more the oldest is closed: who asks honestly is done in milliseconds.
pub const CONNECTIONS_MAX: usize = 8;
/// Threads that serve: connections that were closed may take a moment to end. Beyond, new ones wait, then are closed.
pub const THREADS_MAX: usize = 2 * CONNECTIONS_MAX;
/// How long a request and its answer may take together.
pub const REQUEST_TIME: Duration = Duration::from_secs(5);
/// How long a new connection waits for the threads of closed ones to end.
const ENDING_PATIENCE: Duration = Duration::from_secs(1);
/// How long to wait when the system refuses a connection, such as for want of file descriptors.
const REFUSED_PAUSE: Duration = Duration::from_millis(200);

trunkline_kit::counters! {
    /// What the server counts.
    pub struct Served {
        /// requests for metrics or health answered
        requests: "trunkline_metrics_requests_total",
        /// requests refused: not HTTP, too long, too slow, or for something else
        refused: "trunkline_metrics_requests_refused_total",
        /// connections closed because there were too many
        crowded: "trunkline_metrics_connections_overflow_total",
    }
}

/// What is served.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The metrics.
    pub samples: Vec<Sample>,
    /// What is unhealthy, a line each; none is healthy.
    pub unhealthy: Vec<String>,
}

/// A socket that listens.
#[derive(Debug)]
pub struct Bound {
    listener: Listener,
}

/// Opens the socket. A Unix socket that nobody listens on any more is replaced; its mode is 0660.
///
/// # Errors
/// Those of the system: the address is in use, or not of this machine.
pub fn bind(listen: &Listen) -> io::Result<Bound> {
    Ok(Bound { listener: Listener::bind(listen)? })
}

impl Bound {
    /// Where it listens: with the port that was chosen if it was 0.
    pub fn address(&self) -> Listen {
        self.listener.address()
    }

    /// Serves what `page` makes, and beside it the JSON that `more` has for other paths, until the server is dropped.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn serve_more(
        self,
        page: impl Fn() -> Page + Send + Sync + 'static,
        more: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> io::Result<Server> {
        self.serve_all(REQUEST_TIME, Box::new(page), Box::new(more))
    }

    /// Serves what `page` makes until the server is dropped.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn serve(self, page: impl Fn() -> Page + Send + Sync + 'static) -> io::Result<Server> {
        self.serve_within(REQUEST_TIME, page)
    }

    fn serve_within(self, time: Duration, page: impl Fn() -> Page + Send + Sync + 'static) -> io::Result<Server> {
        self.serve_all(time, Box::new(page), Box::new(|_| None))
    }

    fn serve_all(self, time: Duration, page: Box<MakePage>, more: Box<MakeMore>) -> io::Result<Server> {
        let (stop, stopped) = std::os::unix::net::UnixStream::pair()?;
        let shared = Arc::new(Shared {
            page,
            more,
            time,
            served: Mutex::default(),
            open: Mutex::default(),
            ending: AtomicBool::new(false),
        });
        let inner = Arc::clone(&shared);
        let accept = move || inner.accept(&self.listener, &stopped);
        let thread = Builder::new().name("metrics".to_owned()).spawn(accept)?;
        Ok(Server { shared, stop: Some(stop), thread: Some(thread) })
    }
}

/// A server that runs; it ends when it is dropped.
pub struct Server {
    shared: Arc<Shared>,
    stop: Option<std::os::unix::net::UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// What it has counted.
    #[cfg(test)]
    fn served(&self) -> Served {
        *lock(&self.shared.served)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::Relaxed);
        // Its other end becomes readable: at its end.
        drop(self.stop.take());
        for (_, stream) in lock(&self.shared.open).drain(..) {
            stream.close();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

type MakePage = dyn Fn() -> Page + Send + Sync;
type MakeMore = dyn Fn(&str) -> Option<String> + Send + Sync;

/// What the threads share.
struct Shared {
    page: Box<MakePage>,
    more: Box<MakeMore>,
    /// How long a request may take.
    time: Duration,
    served: Mutex<Served>,
    /// The connections, oldest first, with their numbers.
    open: Mutex<VecDeque<(u64, Stream)>>,
    ending: AtomicBool,
}

impl Shared {
    fn accept(self: &Arc<Self>, listener: &Listener, stopped: &std::os::unix::net::UnixStream) {
        let threads = Arc::new(());
        for number in 0.. {
            if listener.wait(stopped).is_err() || self.ending.load(Ordering::Relaxed) {
                return;
            }
            let Ok(Some(stream)) = listener.accept() else {
                std::thread::park_timeout(REFUSED_PAUSE);
                continue;
            };
            // Each thread holds one of these. Those whose connection was closed end in a moment.
            let patience = std::time::Instant::now() + ENDING_PATIENCE;
            while Arc::strong_count(&threads) > THREADS_MAX && std::time::Instant::now() < patience {
                std::thread::park_timeout(Duration::from_millis(1));
            }
            if Arc::strong_count(&threads) > THREADS_MAX {
                lock(&self.served).crowded += 1;
                continue;
            }
            self.begin(number, stream, Arc::clone(&threads));
        }
    }

    /// A thread for the connection; what cannot be begun is closed.
    fn begin(self: &Arc<Self>, number: u64, stream: Stream, thread: Arc<()>) {
        let Ok(other) = stream.try_clone() else { return };
        self.enter(number, other);
        let inner = Arc::clone(self);
        let serve = move || {
            inner.answer(&stream);
            inner.leave(number);
            drop(thread);
        };
        if Builder::new().name("metrics".to_owned()).spawn(serve).is_err() {
            self.leave(number);
        }
    }

    fn enter(&self, number: u64, stream: Stream) {
        let mut open = lock(&self.open);
        while open.len() >= CONNECTIONS_MAX {
            if let Some((_, oldest)) = open.pop_front() {
                oldest.close();
                lock(&self.served).crowded += 1;
            }
        }
        open.push_back((number, stream));
    }

    fn leave(&self, number: u64) {
        lock(&self.open).retain(|(other, _)| *other != number);
    }

    fn answer(&self, stream: &Stream) {
        let answered = http::serve(stream, self.time, |path| match path {
            "/metrics" => Some(self.metrics()),
            "/healthz" => Some(self.health()),
            path => (self.more)(path).map(|body| http::Answer { status: 200, kind: "application/json", body }),
        });
        let mut served = lock(&self.served);
        match answered {
            Ok(200 | 503) => served.requests += 1,
            _ => served.refused += 1,
        }
    }

    fn metrics(&self) -> http::Answer {
        let mut samples = (self.page)().samples;
        samples.extend(lock(&self.served).list().into_iter().map(Sample::from));
        http::Answer { status: 200, kind: trunkline_kit::metrics::CONTENT_TYPE, body: exposition(&samples) }
    }

    fn health(&self) -> http::Answer {
        let unhealthy = (self.page)().unhealthy;
        let (status, body) =
            if unhealthy.is_empty() { (200, "ok\n".to_owned()) } else { (503, unhealthy.join("\n") + "\n") };
        http::Answer { status, kind: "text/plain; charset=utf-8", body }
    }
}

/// What is locked stays whole when a thread that held it ends.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
