//! Connections: how many, how long they may take to ask, and what is told to the router about who is at their other
//! end.

use super::patience::Patient;
use super::streams::{Over, Streams, Watched, watched};
use crate::guard::Peer;
use crate::state::Web;
use crate::tls::Tls;
use axum::Router;
use axum::body::Body;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

/// Connections at a time; one more is closed at once and counted.
// Limit: connections at once
// Beyond: a further connection is closed
// Seen in: `trunkline_web_connections_overflow_total`
pub const CONNECTIONS_MAX: usize = 1024;
/// Connections at a time of one address (of an IPv6 /64); proxies that are trusted may have [`CONNECTIONS_MAX`].
// Limit: connections of one address (IPv6: of one /64)
// Beyond: a further connection is closed
// Seen in: `trunkline_web_connections_overflow_total`
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 256;
/// How long the head of a request may take, from the moment that the connection is ready for it: who sends an octet a
/// second is dropped, and so is who keeps a connection and asks nothing.
pub const HEADER_TIME: Duration = Duration::from_secs(20);
/// Octets of the head of a request.
// Limit: size of a request's head
// Beyond: the request is refused
// Seen in: the HTTP status
pub const HEADER_OCTETS_MAX: usize = 32 * 1024;
/// Header fields of a request.
pub const HEADER_FIELDS_MAX: usize = 64;
/// Requests at a time over one connection of HTTP/2.
// Limit: requests at once over one HTTP/2 connection
// Beyond: further requests wait
// Seen in: the client waits
pub const STREAMS_MAX: u32 = 64;
/// How often a client of HTTP/2 has to show that it is there.
const ALIVE_EVERY: Duration = Duration::from_secs(30);
/// How long it may take to do so.
const ALIVE_WITHIN: Duration = Duration::from_secs(20);
/// How long a connection of HTTP/2 may stay without a request. One of HTTP/1 stays for [`HEADER_TIME`].
pub const IDLE_TIME: Duration = Duration::from_secs(120);
/// How long a connection of HTTP/2 that is told to end may take to do so.
const GOODBYE_TIME: Duration = Duration::from_secs(5);
/// Octets of one stream of HTTP/2, and of a connection, that may come before they are read.
const RECEIVED_OCTETS_MAX: u32 = 1 << 20;
/// Octets of a stream of HTTP/2 that wait to be sent.
const SENT_OCTETS_MAX: usize = 64 * 1024;
/// Streams that a client opened and took back before they were looked at; one more ends the connection
/// (CVE-2023-44487).
const RESETS_PENDING_MAX: usize = 20;
/// Streams that we reset because what came over them was wrong; one more ends the connection.
const RESETS_LOCAL_MAX: usize = 128;
/// How long to wait when the system refuses a connection, such as for want of file descriptors.
const REFUSED_PAUSE: Duration = Duration::from_millis(200);

/// Takes connections until it is told to stop, then waits for those that are open to finish what they do.
pub async fn accept(
    web: Arc<Web>,
    listener: TcpListener,
    tls: Option<Tls>,
    router: Router,
    mut stopping: watch::Receiver<bool>,
) {
    let acceptor = tls.map(|tls| TlsAcceptor::from(tls.config()));
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
        let talk = Talk { address, router: router.clone(), stopping: stopping.clone(), place };
        match acceptor.clone() {
            None => drop(open.spawn(talk.over(stream))),
            Some(acceptor) => drop(open.spawn(talk.over_tls(stream, acceptor))),
        }
    }
    drop(listener);
    while open.join_next().await.is_some() {}
}

/// One connection and what it needs.
struct Talk {
    address: SocketAddr,
    router: Router,
    stopping: watch::Receiver<bool>,
    place: Place,
}

impl Talk {
    async fn over(self, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let write_time = self.place.web.options.write_time;
        self.http1(Patient::new(stream, write_time), false).await;
    }

    async fn over_tls(self, stream: TcpStream, acceptor: TlsAcceptor) {
        let _ = stream.set_nodelay(true);
        let (header_time, write_time) = (self.place.web.options.header_time, self.place.web.options.write_time);
        let greeted = timeout(header_time, acceptor.accept(Patient::new(stream, write_time))).await;
        let Ok(Ok(stream)) = greeted else {
            self.place.web.count(|c| c.handshakes_failed += 1);
            return;
        };
        if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
            self.http2(stream).await;
        } else {
            self.http1(stream, true).await;
        }
    }

    async fn http1(mut self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, tls: bool) {
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(self.place.web.options.header_time);
        builder.max_buf_size(HEADER_OCTETS_MAX).max_headers(HEADER_FIELDS_MAX);
        let service = service_fn(answer(self.router.clone(), Peer { address: self.address, tls }));
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        tokio::select! {
            _ = connection.as_mut() => return,
            _ = self.stopping.changed() => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }

    async fn http2(mut self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let web = &self.place.web;
        let streams = Streams::new(Arc::clone(web));
        let mut builder = http2::Builder::new(Watched(Arc::clone(&streams)));
        builder.timer(TokioTimer::new()).max_concurrent_streams(STREAMS_MAX);
        builder.max_header_list_size(HEADER_OCTETS_MAX as u32).max_send_buf_size(SENT_OCTETS_MAX);
        builder.keep_alive_interval(ALIVE_EVERY).keep_alive_timeout(ALIVE_WITHIN);
        builder.initial_stream_window_size(RECEIVED_OCTETS_MAX).initial_connection_window_size(RECEIVED_OCTETS_MAX);
        builder.max_pending_accept_reset_streams(RESETS_PENDING_MAX).max_local_error_reset_streams(RESETS_LOCAL_MAX);
        let service = service_fn(answer(self.router.clone(), Peer { address: self.address, tls: true }));
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        let goodbye_time = tokio::select! {
            _ = connection.as_mut() => return,
            // How long that may take is for who stops the server.
            _ = self.stopping.changed() => Duration::MAX,
            over = streams.over() => {
                web.count(|c| match over {
                    Over::Idle => c.connections_idle += 1,
                    Over::Flooded => c.reset_floods += 1,
                });
                if over == Over::Flooded { Duration::ZERO } else { GOODBYE_TIME }
            }
        };
        connection.as_mut().graceful_shutdown();
        let _ = timeout(goodbye_time, connection).await;
    }
}

/// An answer that is on its way.
type Answer = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

/// What answers a request of a peer.
fn answer(router: Router, peer: Peer) -> impl Fn(hyper::Request<Incoming>) -> Answer {
    move |request| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        let answered = router.clone().oneshot(request);
        Box::pin(async move { answered.await.map(watched) })
    }
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
