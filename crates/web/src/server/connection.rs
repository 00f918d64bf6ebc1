//! Connections: how many, how long they may take to ask, and what is told to the router about who is at their other end.

use super::patience::{Patient, WRITE_PATIENCE};
use crate::guard::Peer;
use crate::state::Web;
use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tower::ServiceExt;

/// Connections at a time; one more is closed at once and counted.
pub const CONNECTIONS_MAX: usize = 1024;
/// Connections at a time of one address (of an IPv6 /64); proxies that are trusted may have [`CONNECTIONS_MAX`].
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 256;
/// How long the head of a request may take, from the moment that the connection is ready for it: who sends an octet a
/// second is dropped, and so is who keeps a connection and asks nothing.
pub const HEADER_TIME: Duration = Duration::from_secs(20);
/// Octets of the head of a request.
pub const HEADER_OCTETS_MAX: usize = 32 * 1024;
/// Header fields of a request.
pub const HEADER_FIELDS_MAX: usize = 64;
/// How long to wait when the system refuses a connection, such as for want of file descriptors.
const REFUSED_PAUSE: Duration = Duration::from_millis(200);

/// Takes connections until it is told to stop, then waits for those that are open to finish what they do.
pub async fn accept(web: Arc<Web>, listener: TcpListener, router: Router, mut stopping: watch::Receiver<bool>) {
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            _ = stopping.changed() => break,
            accepted = listener.accept() => accepted,
        };
        while open.try_join_next().is_some() {}
        let Ok((stream, address)) = accepted else {
            tokio::time::sleep(REFUSED_PAUSE).await;
            continue;
        };
        let Some(place) = Place::take(&web, address.ip()) else {
            web.count(|c| c.connections_overflow += 1);
            continue;
        };
        web.count(|c| c.connections += 1);
        open.spawn(converse(stream, address, router.clone(), stopping.clone(), place));
    }
    drop(listener);
    while open.join_next().await.is_some() {}
}

async fn converse(
    stream: TcpStream,
    address: SocketAddr,
    router: Router,
    mut stopping: watch::Receiver<bool>,
    place: Place,
) {
    let _ = stream.set_nodelay(true);
    let header_time = place.web.options.header_time;
    let peer = Peer { address, tls: false };
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        router.clone().oneshot(request)
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(header_time);
    builder.max_buf_size(HEADER_OCTETS_MAX).max_headers(HEADER_FIELDS_MAX);
    let io = TokioIo::new(Patient::new(stream, WRITE_PATIENCE));
    let mut connection = pin!(builder.serve_connection(io, service));
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopping.changed() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

/// The connections that are open, by address.
#[derive(Default)]
pub struct Places(Mutex<HashMap<IpAddr, usize>>);

impl Places {
    /// How many are open.
    pub fn open(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }
}

/// One connection's place among those that may be open.
struct Place {
    web: Arc<Web>,
    key: IpAddr,
}

impl Place {
    fn take(web: &Arc<Web>, address: IpAddr) -> Option<Self> {
        let address = address.to_canonical();
        let most = if web.is_proxy(address) { CONNECTIONS_MAX } else { CONNECTIONS_PER_ADDRESS_MAX };
        let key = subscriber(address);
        let mut places = web.places.0.lock().unwrap_or_else(PoisonError::into_inner);
        if places.values().sum::<usize>() >= CONNECTIONS_MAX || places.get(&key).is_some_and(|n| *n >= most) {
            return None;
        }
        *places.entry(key).or_default() += 1;
        drop(places);
        Some(Place { web: Arc::clone(web), key })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = self.web.places.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = places.get_mut(&self.key) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                places.remove(&self.key);
            }
        }
    }
}

/// An IPv6 subscriber has a /64 at least (RFC 6177): its addresses count as one.
fn subscriber(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from(u128::from(v6) & !(u128::from(u64::MAX)))),
    }
}
