//! TLS end to end: both versions of HTTP, the cookie of https, and what does not speak TLS at all.

use crate::client::{parse, raw, text};
use crate::eventually::eventually;
use crate::world::{Made, PASSWORD, World};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use trunkline_web::tls::{SELF_SIGNED_FILE, TlsOptions};

fn world() -> World {
    world_with(|_| {})
}

/// A world with a certificate of its own, and what else is wanted.
pub fn world_with(more: impl FnOnce(&mut trunkline_web::Options) + 'static) -> World {
    let tls = |o: &mut trunkline_web::Options| {
        more(o);
        o.tls = Some(TlsOptions::SelfSigned { data: o.data.clone(), names: vec!["localhost".to_owned()] });
    };
    World::made(Made { options: Box::new(tls), ..Made::default() })
}

/// A client that trusts the world's certificate alone.
pub fn config(world: &World, protocol: &[u8]) -> Arc<ClientConfig> {
    let file = world.folder.path().join(SELF_SIGNED_FILE);
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(file).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    Arc::new(config)
}

#[test]
fn people_sign_in_over_tls() {
    let world = world();
    assert!(world.handle.url().starts_with("https://") && world.handle.fingerprint().unwrap().len() == 95);
    let link = world.handle.link().unwrap();
    let token = link.split_once('#').unwrap().1;
    let body = json!({"token": token, "name": "ann", "password": PASSWORD}).to_string();
    let ask = format!(
        "POST /api/v1/session/setup HTTP/1.1\r\nHost: localhost\r\nOrigin: https://localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let connection = ClientConnection::new(config(&world, b"http/1.1"), ServerName::try_from("localhost").unwrap());
    let mut stream = StreamOwned::new(connection.unwrap(), TcpStream::connect(world.handle.address()).unwrap());
    stream.write_all(ask.as_bytes()).unwrap();
    let mut octets = Vec::new();
    let _ = stream.read_to_end(&mut octets);
    let answer = parse(&octets, false).unwrap();
    assert_eq!(answer.status, 200, "{}", text(&answer.body));
    let cookie = answer.header("set-cookie");
    assert!(cookie.starts_with("__Host-trunkline=") && cookie.contains("; Secure"), "{cookie}");
    assert_eq!(answer.header("strict-transport-security"), "", "it would keep people out when the certificate changes");
}

#[test]
fn a_certificate_of_files_is_to_be_kept_to() {
    let made = world();
    let file = made.folder.path().join(SELF_SIGNED_FILE);
    let of_files = |certificate: std::path::PathBuf| {
        let key = certificate.clone();
        let tls = move |o: &mut trunkline_web::Options| o.tls = Some(TlsOptions::Files { certificate, key });
        World::made(Made { options: Box::new(tls), ..Made::default() })
    };
    let world = of_files(file);
    let connection = ClientConnection::new(config(&made, b"http/1.1"), ServerName::try_from("localhost").unwrap());
    let mut stream = StreamOwned::new(connection.unwrap(), TcpStream::connect(world.handle.address()).unwrap());
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut octets = Vec::new();
    let _ = stream.read_to_end(&mut octets);
    let answer = parse(&octets, false).unwrap();
    assert_eq!(answer.header("strict-transport-security"), "max-age=31536000");
}

#[test]
fn many_requests_share_a_connection_of_http_2() {
    let world = world();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let connector = tokio_rustls::TlsConnector::from(config(&world, b"h2"));
        let stream = tokio::net::TcpStream::connect(world.handle.address()).await.unwrap();
        let stream = connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (sender, connection) = shaken.unwrap();
        tokio::spawn(connection);
        let asked = (0..20).map(|_| {
            let mut sender = sender.clone();
            async move {
                let request = hyper::Request::get("https://localhost/api/v1/session");
                sender.send_request(request.body(axum::body::Body::empty()).unwrap()).await.unwrap().status()
            }
        });
        for status in futures_util::future::join_all(asked).await {
            assert_eq!(status, 200);
        }
    });
}

#[test]
fn what_does_not_speak_tls_is_dropped() {
    let world = world();
    let answer = raw(world.handle.address(), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(!text(&answer).contains("HTTP/1.1 200"));
    let failed = |world: &World| {
        world.handle.metrics().iter().any(|s| {
            s.name == "trunkline_web_handshakes_failed_total" && s.value == trunkline_kit::metrics::Number::Whole(1)
        })
    };
    eventually("it is counted", || failed(&world));
}
