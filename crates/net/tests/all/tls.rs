//! TLS, against a client of rustls.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::ServerName;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use trunkline_net::{Cause, ClientCertificates, Limits, Listen, OldestTls, Tls, issuers};

use crate::speaker::{PATIENCE, World, eventually, options, pattern};

/// An authority, and what it signs: certificate and key in PEM.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Authority {
        let mut params = CertificateParams::new(vec![]).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("signed"))
    }

    pub(crate) fn sign(&self) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        (params.signed_by(&key, &self.0).expect("signed").pem(), key.serialize_pem())
    }

    /// Its certificate, PEM.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(crate) fn tls(&self, clients: &ClientCertificates) -> Tls {
        let (certificate, key) = self.sign();
        Tls::new(certificate.as_bytes(), key.as_bytes(), clients, OldestTls::V12).expect("a certificate")
    }

    fn client(&self, own: Option<(String, String)>, versions: &[&'static rustls::SupportedProtocolVersion]) -> Config {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).expect("a root");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(versions).expect("versions");
        let builder = builder.with_root_certificates(roots);
        Arc::new(match own {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).expect("PEM")];
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("PEM");
                builder.with_client_auth_cert(chain, key).expect("they belong together")
            }
        })
    }
}

type Config = Arc<ClientConfig>;
type Stream = StreamOwned<ClientConnection, TcpStream>;

pub(crate) fn listen(tls: &Tls) -> Listen {
    Listen::Tcp { address: "127.0.0.1:0".parse().expect("address"), tls: Some(tls.clone()) }
}

fn connect(world: &World, config: &Config) -> Stream {
    let stream = TcpStream::connect(world.address()).expect("connected");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.set_nodelay(true).expect("no delay");
    let name = ServerName::try_from("localhost").expect("a name");
    StreamOwned::new(ClientConnection::new(Arc::clone(config), name).expect("a connection"), stream)
}

fn ask(stream: &mut Stream, text: &str) -> std::io::Result<String> {
    stream.write_all(text.as_bytes())?;
    let mut answer = Vec::new();
    let mut octet = [0];
    while answer.last() != Some(&b'\n') {
        stream.read_exact(&mut octet)?;
        answer.push(octet[0]);
    }
    Ok(String::from_utf8(answer).expect("text"))
}

#[test]
fn requests_and_long_answers_pass_through_both_versions() {
    let authority = Authority::new();
    let world = World::start(&[listen(&authority.tls(&ClientCertificates::None))], options(2, Limits::default()));
    for versions in [&[&rustls::version::TLS13], &[&rustls::version::TLS12]] {
        let mut client = connect(&world, &authority.client(None, versions));
        assert_eq!(ask(&mut client, "echo secret\n").expect("an answer"), "secret\n");
        // More than the server takes at once, sent and read at the same time.
        client.write_all(b"take 3000000\n").expect("written");
        client.write_all(&vec![1; 3_000_000]).expect("written");
        assert_eq!(ask(&mut client, "big 20000000\n").expect("an answer"), "took 3000000 3000000\n");
        let mut all = vec![0; 20_000_000];
        client.read_exact(&mut all).expect("the answer");
        assert!(all.iter().enumerate().all(|(n, o)| *o == pattern(n)));
        eventually("counted", || world.server.gauges().tls_connections == 1.0);
        client.conn.send_close_notify();
        client.flush().expect("flushed");
        // Our end is answered by theirs, without a reset between.
        assert_eq!(client.read(&mut [0]).expect("the end"), 0);
        eventually("closed", || world.server.gauges().connections == 0.0);
    }
    eventually("by their peers", || world.server.counts().closed_peer == 2);
    eventually("counted", || world.server.counts().handshakes == 2);
    assert!(world.seen.certificates.lock().expect("lock").iter().all(Option::is_none));
}

#[test]
fn handshakes_that_do_not_go_on_hold_up_nobody() {
    // While they last, others are answered; and they do not last.
    for (handshake, late) in [(Duration::from_secs(3600), 0), (Duration::from_secs(2), 200)] {
        let limits = Limits { handshake, ..Limits::default() };
        handshakes_that_do_not_go_on(limits, late);
    }
}

/// Two hundred begin a handshake and say no more; so many of them are closed for it.
fn handshakes_that_do_not_go_on(limits: Limits, late: u64) {
    let authority = Authority::new();
    let world = World::start(&[listen(&authority.tls(&ClientCertificates::None))], options(1, limits));
    let mut slow: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(world.address()).expect("connected")).collect();
    // The beginning of a ClientHello.
    slow.iter_mut().for_each(|s| s.write_all(&[22, 3, 1, 2, 0, 1]).expect("written"));
    let mut garbage = TcpStream::connect(world.address()).expect("connected");
    garbage.write_all(b"GET / HTTP/1.0\r\n\r\n").expect("written");
    // The client itself must not be late: where they are, it comes after them.
    eventually("late ones are closed", || world.server.counts().closed_handshake_late == late);
    let mut client = connect(&world, &authority.client(None, rustls::ALL_VERSIONS));
    assert_eq!(ask(&mut client, "echo 1\n").expect("an answer"), "1\n");
    assert_eq!(world.server.counts().closed_handshake_late, late);
    eventually("the wrong one, too", || world.server.counts().closed_handshake == 1);
    world.adds_up();
    eventually("counted", || world.server.gauges().tls_connections == (201 - late) as f64);
}

#[test]
fn handshakes_are_limited() {
    let authority = Authority::new();
    let limits = Limits { handshakes: 3, ..Limits::default() };
    let world = World::start(&[listen(&authority.tls(&ClientCertificates::None))], options(1, limits));
    let config = authority.client(None, rustls::ALL_VERSIONS);
    let slow: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(world.address()).expect("connected")).collect();
    eventually("they are there", || world.server.gauges().connections == 3.0);
    assert!(ask(&mut connect(&world, &config), "echo 1\n").is_err());
    eventually("refused", || world.server.counts().refused_handshakes == 1);
    drop(slow);
    eventually("closed", || world.server.gauges().connections == 0.0);
    assert_eq!(ask(&mut connect(&world, &config), "echo 1\n").expect("an answer"), "1\n");
    world.adds_up();
}

#[test]
fn a_certificate_is_replaced_while_connections_stay() {
    let (old, new) = (Authority::new(), Authority::new());
    let tls = old.tls(&ClientCertificates::None);
    let world = World::start(&[listen(&tls)], options(1, Limits::default()));
    let old_config = old.client(None, rustls::ALL_VERSIONS);
    let mut before = connect(&world, &old_config);
    assert_eq!(ask(&mut before, "echo 1\n").expect("an answer"), "1\n");
    let (certificate, key) = new.sign();
    tls.replace(certificate.as_bytes(), key.as_bytes()).expect("replaced");
    let mut after = connect(&world, &new.client(None, rustls::ALL_VERSIONS));
    assert_eq!(ask(&mut after, "echo 2\n").expect("an answer"), "2\n");
    let fresh = old.client(None, rustls::ALL_VERSIONS);
    assert!(ask(&mut connect(&world, &fresh), "echo 3\n").is_err());
    assert_eq!(ask(&mut before, "echo 4\n").expect("an answer"), "4\n");
}

#[test]
fn clients_are_asked_for_certificates() {
    let authority = Authority::new();
    let other = Authority::new();
    let trusted = issuers(authority.0.pem().as_bytes()).expect("an issuer");
    let ask_once = |clients: &ClientCertificates, own: Option<(String, String)>| {
        let world = World::start(&[listen(&authority.tls(clients))], options(1, Limits::default()));
        let answer = ask(&mut connect(&world, &authority.client(own, rustls::ALL_VERSIONS)), "echo 1\n");
        let shown = world.seen.certificates.lock().expect("lock").clone();
        (answer.is_ok(), shown)
    };
    let own = authority.sign();
    let der = CertificateDer::from_pem_slice(own.0.as_bytes()).expect("PEM").to_vec();
    let (request, require) =
        (ClientCertificates::Request(Arc::clone(&trusted)), ClientCertificates::Require(Arc::clone(&trusted)));
    assert_eq!(ask_once(&request, None), (true, vec![None]));
    assert_eq!(ask_once(&require, Some(own)), (true, vec![Some(der)]));
    assert_eq!(ask_once(&require, None), (false, vec![]));
    assert_eq!(ask_once(&require, Some(other.sign())), (false, vec![]));
}

#[test]
fn what_cannot_be_decrypted_closes_the_connection() {
    let authority = Authority::new();
    let world = World::start(&[listen(&authority.tls(&ClientCertificates::None))], options(1, Limits::default()));
    let mut client = connect(&world, &authority.client(None, rustls::ALL_VERSIONS));
    assert_eq!(ask(&mut client, "echo 1\n").expect("an answer"), "1\n");
    client.sock.write_all(&[23, 3, 3, 0, 5, 1, 2, 3, 4, 5]).expect("written");
    world.saw(Cause::Tls);
    world.adds_up();
}

#[test]
fn a_reader_that_stalls_behind_tls_holds_no_more_than_it_may() {
    let authority = Authority::new();
    let limits = Limits { output_octets: 64 * 1024, ..Limits::default() };
    let world = World::start(&[listen(&authority.tls(&ClientCertificates::None))], options(1, limits));
    let mut client = connect(&world, &authority.client(None, rustls::ALL_VERSIONS));
    client.write_all(b"big 30000000\n").expect("written");
    eventually("stuck", || world.server.counts().stuck > 0);
    // Encryption adds some octets to each 16 KiB.
    assert!(world.server.gauges().held_octets < 80.0 * 1024.0, "{}", world.server.gauges().held_octets);
    let mut all = vec![0; 30_000_000];
    client.read_exact(&mut all).expect("the answer");
    assert!(all.iter().enumerate().all(|(n, o)| *o == pattern(n)));
}
