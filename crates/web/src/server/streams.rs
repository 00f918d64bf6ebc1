//! The streams of a connection of HTTP/2. Each has a window of its own: a client that is well, and answers pings, may
//! take nothing of one of them for ever, and so hold memory and a turn. Here such a stream ends, and with it what it
//! held; a connection without streams ends after a time, and so does one whose client takes back what it asks for
//! faster than anybody would.

use crate::state::Web;
use axum::body::{Body, BodyDataStream, Bytes, HttpBody as _};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use hyper::rt::Executor;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::{sleep, sleep_until};

/// Octets of an answer that are handed on at a time: so much stays of a stream that ended until its connection does.
pub const PIECE_OCTETS: usize = 16 * 1024;
/// Requests that a client may take back in a minute before they are answered; one more ends the connection.
// Limit: requests that a client cancels per minute
// Beyond: the connection is ended
// Seen in: `trunkline_web_reset_floods_total`
pub const RESETS_PER_MINUTE_MAX: usize = 600;
const MINUTE: Duration = Duration::from_secs(60);

tokio::task_local! {
    /// The flow of the stream that a task serves.
    static FLOW: Arc<Flow>;
}

/// What a connection knows of its streams.
pub struct Streams {
    web: Arc<Web>,
    open: AtomicUsize,
    /// When the last one ended.
    rests: Mutex<Instant>,
    resets: Mutex<(Instant, usize)>,
    is_flooded: Notify,
}

/// Why a connection is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Nobody asked anything for a time.
    Idle,
    /// Too much was taken back.
    Flooded,
}

impl Streams {
    /// Of a connection that begins.
    pub fn new(web: Arc<Web>) -> Arc<Self> {
        let now = Instant::now();
        let (open, is_flooded) = (AtomicUsize::new(0), Notify::new());
        Arc::new(Streams { web, open, rests: Mutex::new(now), resets: Mutex::new((now, 0)), is_flooded })
    }

    /// Waits until the connection is to end.
    pub async fn over(&self) -> Over {
        tokio::select! {
            () = self.idle() => Over::Idle,
            () = self.is_flooded.notified() => Over::Flooded,
        }
    }

    async fn idle(&self) {
        let most = self.web.options.idle_time;
        loop {
            let rests = *self.rests.lock().unwrap_or_else(PoisonError::into_inner);
            match (self.open.load(Ordering::Acquire), most.checked_sub(rests.elapsed())) {
                (0, None) => return,
                (0, Some(left)) => sleep(left.max(Duration::from_millis(1))).await,
                _ => sleep(most).await,
            }
        }
    }

    fn end(&self, is_complete: bool) {
        let now = Instant::now();
        *self.rests.lock().unwrap_or_else(PoisonError::into_inner) = now;
        self.open.fetch_sub(1, Ordering::AcqRel);
        if is_complete {
            return;
        }
        let mut resets = self.resets.lock().unwrap_or_else(PoisonError::into_inner);
        if now.duration_since(resets.0) >= MINUTE {
            *resets = (now, 0);
        }
        resets.1 += 1;
        if resets.1 > RESETS_PER_MINUTE_MAX {
            self.is_flooded.notify_one();
        }
    }
}

/// Runs the streams of a connection, each in a task that ends when its client takes nothing of it any more.
#[derive(Clone)]
pub struct Watched(pub Arc<Streams>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Watched {
    fn execute(&self, stream: F) {
        let (streams, flow) = (Arc::clone(&self.0), Arc::new(Flow::default()));
        streams.open.fetch_add(1, Ordering::AcqRel);
        let open = Open { streams, flow: Arc::clone(&flow) };
        tokio::spawn(FLOW.scope(Arc::clone(&flow), async move {
            let web = Arc::clone(&open.streams.web);
            tokio::select! {
                () = stream => {}
                () = flow.stalls(web.options.write_time) => web.count(|c| c.streams_stalled += 1),
            }
            drop(open);
        }));
    }
}

/// A stream as long as it is served.
struct Open {
    streams: Arc<Streams>,
    flow: Arc<Flow>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.streams.end(self.flow.is_complete.load(Ordering::Acquire));
    }
}

/// How the answer of a stream flows.
#[derive(Default)]
struct Flow {
    /// Since when the client has had the chance to take a piece.
    waits: Mutex<Option<Instant>>,
    is_complete: AtomicBool,
}

impl Flow {
    fn wait(&self, since: Option<Instant>) {
        *self.waits.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// Comes back when a piece was not taken for so long.
    async fn stalls(&self, most: Duration) {
        loop {
            let waits = *self.waits.lock().unwrap_or_else(PoisonError::into_inner);
            match waits {
                Some(since) if since.elapsed() >= most => return,
                Some(since) => sleep_until((since + most).into()).await,
                None => sleep(most).await,
            }
        }
    }
}

/// An answer; over a stream that is watched, in pieces that tell how it flows.
pub fn watched(mut response: Response) -> Response {
    let Ok(flow) = FLOW.try_with(Arc::clone) else { return response };
    if response.body().is_end_stream() {
        flow.is_complete.store(true, Ordering::Release);
        return response;
    }
    if let Some(octets) = response.body().size_hint().exact() {
        response.headers_mut().entry(header::CONTENT_LENGTH).or_insert(HeaderValue::from(octets));
    }
    response.map(|body| {
        let pieces = Pieces { body: body.into_data_stream(), rest: Bytes::new(), flow };
        Body::from_stream(stream::unfold(pieces, Pieces::next))
    })
}

struct Pieces {
    body: BodyDataStream,
    /// What is left of a frame.
    rest: Bytes,
    flow: Arc<Flow>,
}

impl Pieces {
    async fn next(mut self) -> Option<(Result<Bytes, axum::Error>, Self)> {
        // Who asks for the next piece has got rid of the one before.
        self.flow.wait(None);
        while self.rest.is_empty() {
            match self.body.next().await {
                Some(Ok(octets)) => self.rest = octets,
                ended => {
                    // Where it fails we end it: the client took nothing back.
                    self.flow.is_complete.store(true, Ordering::Release);
                    return ended.map(|failed| (failed, self));
                }
            }
        }
        let octets = self.rest.len().min(PIECE_OCTETS);
        let piece = self.rest.split_to(octets);
        self.flow.wait(Some(Instant::now()));
        Some((Ok(piece), self))
    }
}
