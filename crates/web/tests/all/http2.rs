//! HTTP/2: what a client that asks and does not take, asks nothing, or takes back what it asks for, may hold.
//!
//! Test group: waits: for clients that are given up.

use crate::eventually::{PATIENCE, eventually};
use crate::tls::{config, world_with};
use crate::world::{World, call};
use axum::body::{Body, HttpBody as _, to_bytes};
use hyper::Response;
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use serde_json::json;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use trunkline_web::auth::Role;

/// A connection, and who is signed in over it.
struct Talk {
    sender: SendRequest<Body>,
    connection: JoinHandle<hyper::Result<()>>,
    cookie: String,
}

impl Talk {
    /// With a window of so many octets for each stream.
    async fn open(world: &World, window: u32) -> Self {
        let connector = tokio_rustls::TlsConnector::from(config(world, b"h2"));
        let stream = tokio::net::TcpStream::connect(world.handle.address()).await.unwrap();
        let stream = connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap();
        let mut builder = Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(window).initial_connection_window_size(1 << 20);
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
        Talk { sender, connection: tokio::spawn(connection), cookie: String::new() }
    }

    async fn signed_in(world: &World, window: u32) -> Self {
        let mut talk = Talk::open(world, window).await;
        let body = json!({"token": world.link(Role::Support)}).to_string();
        let request =
            hyper::Request::post("https://localhost/api/v1/session/link").header("content-type", "application/json");
        let answer = talk.sender.send_request(request.body(Body::from(body)).unwrap()).await.unwrap();
        assert_eq!(answer.status(), 200);
        let cookie = answer.headers()["set-cookie"].to_str().unwrap();
        talk.cookie = cookie.split(';').next().unwrap().to_owned();
        talk
    }

    async fn get(&mut self, path: &str) -> hyper::Result<Response<Incoming>> {
        let request = hyper::Request::get(format!("https://localhost/api/v1{path}")).header("cookie", &self.cookie);
        self.sender.send_request(request.body(Body::empty()).unwrap()).await
    }

    /// The status of an answer that is read to its end.
    async fn status(&mut self, path: &str) -> u16 {
        let answer = self.get(path).await.unwrap();
        let status = answer.status().as_u16();
        to_bytes(Body::new(answer.into_body()), usize::MAX).await.unwrap();
        status
    }
}

fn run<T>(what: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(what)
}

#[test]
fn a_stream_that_is_not_taken_ends_and_gives_back_what_it_held() {
    let world = world_with(|o| o.write_time = Duration::from_secs(3));
    run(async {
        let mut talk = Talk::signed_in(&world, 256).await;
        // Each is answered, and nothing of it is read.
        let mut held = Vec::new();
        for path in ["/live", "/calls?limit=1000", "/calls.csv"] {
            held.push(talk.get(path).await.unwrap());
        }
        let (endless, one) = (format!("/calls/{}/pcap", call(7).id), format!("/calls/{}/pcap", call(1).id));
        for _ in 0..6 {
            held.push(talk.get(&endless).await.unwrap());
        }
        assert!(held.iter().all(|answer| answer.status() == 200));
        assert_eq!(talk.status(&one).await, 503, "all turns are taken");
        eventually("they end", || world.metric("trunkline_web_streams_stalled_total") == 9.0);
        eventually("the packets are read no more", || world.packets.cancelled.load(Ordering::SeqCst) == 6);
        eventually("nobody watches", || world.metric("trunkline_web_live_clients") == 0.0);
        assert_eq!(talk.status(&one).await, 200, "the connection is well, and there is a turn again");
        drop(held);
    });
}

#[test]
fn a_slow_stream_that_is_taken_goes_on() {
    let world = world_with(|o| o.write_time = Duration::from_secs(2));
    run(async {
        let mut talk = Talk::signed_in(&world, 20_000).await;
        let mut body = talk.get(&format!("/calls/{}/pcap", call(7).id)).await.unwrap().into_body();
        // Three times as long as nothing may be taken.
        for _ in 0..60 {
            let frame = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
            assert!(frame.unwrap().unwrap().into_data().is_ok_and(|octets| !octets.is_empty()));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(world.metric("trunkline_web_streams_stalled_total"), 0.0);
    });
}

#[test]
fn a_connection_that_asks_nothing_ends() {
    let world = world_with(|o| o.idle_time = Duration::from_secs(3));
    run(async {
        let (mut idle, mut busy) = (Talk::open(&world, 65_535).await, Talk::signed_in(&world, 65_535).await);
        assert_eq!(idle.status("/session").await, 200);
        let mut feed = busy.get("/live").await.unwrap().into_body();
        let reading = tokio::spawn(async move {
            while let Some(Ok(_)) = std::future::poll_fn(|cx| Pin::new(&mut feed).poll_frame(cx)).await {}
        });
        assert!(timeout(PATIENCE, idle.connection).await.is_ok(), "it is still open");
        // As long again, of which another one tells the end.
        let mut idle = Talk::open(&world, 65_535).await;
        assert_eq!(idle.status("/session").await, 200);
        assert!(timeout(PATIENCE, idle.connection).await.is_ok(), "it is still open");
        assert!(!reading.is_finished(), "who watches is not idle");
        assert_eq!(busy.status("/session").await, 200);
        assert_eq!(world.metric("trunkline_web_connections_idle_total"), 2.0);
        reading.abort();
    });
}

#[test]
fn who_takes_back_all_they_ask_for_is_dropped() {
    let world = world_with(|_| {});
    run(async {
        let mut talk = Talk::signed_in(&world, 65_535).await;
        let mut asked = 0;
        while asked < 5000 && !talk.sender.is_closed() {
            asked += 1;
            let Ok(Ok(answer)) = timeout(PATIENCE, talk.get("/live")).await else { break };
            drop(answer);
        }
        assert!(asked < 5000, "all were answered");
        assert!(timeout(PATIENCE, talk.connection).await.is_ok());
        eventually("it is counted", || world.metric("trunkline_web_reset_floods_total") == 1.0);
        assert_eq!(Talk::open(&world, 65_535).await.status("/session").await, 200, "others are served");
    });
}

#[test]
fn a_head_that_is_too_large_is_refused() {
    let world = world_with(|_| {});
    run(async {
        let mut talk = Talk::open(&world, 65_535).await;
        let request = hyper::Request::get("https://localhost/api/v1/session").header("x-long", "a".repeat(40_000));
        let answer = talk.sender.send_request(request.body(Body::empty()).unwrap()).await;
        assert!(answer.map_or(true, |answer| answer.status() == 431));
        assert_eq!(Talk::open(&world, 65_535).await.status("/session").await, 200);
    });
}
