//! Memory of idle connections: opens 20,000 over loopback, has each say something once, and divides what the process
//! has grown by. `-- tls` does it with handshakes, over 1,000. Exit code 1 if a plain one takes more than 500 octets.
//!
//! `cargo run --release -p trunkline-net --example idle [-- tls]`; needs as many descriptors twice: `ulimit -n 50000`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::ExitCode;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use trunkline_net::{
    Arrival, ClientCertificates, Limits, Listen, Next, Now, OldestTls, Options, Output, Server, Service, Taken, Tls,
    start,
};

/// Octets that an idle connection may take.
const OCTETS_MAX: usize = 500;

struct Echo;

impl Service for Echo {
    /// As much as a cache keeps of a connection.
    type Connection = [u64; 4];
    type Mail = ();

    fn accepted(&mut self, _: &Arrival<'_>, _: Now) -> [u64; 4] {
        [0; 4]
    }

    fn octets(&mut self, _: &mut [u64; 4], input: &[u8], output: &mut Output<'_>, _: Now) -> Taken {
        let octets = input.len().min(output.room());
        output.put(&input[..octets]);
        Taken { octets, next: if octets == input.len() { Next::More } else { Next::Resume } }
    }
}

fn main() -> ExitCode {
    let encrypted = std::env::args().any(|a| a == "tls");
    let per_connection = if encrypted { with_tls(1000) } else { plain(20_000) };
    if encrypted || per_connection <= OCTETS_MAX { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn server(tls: Option<Tls>) -> Server<()> {
    let limits = Limits { connections: 30_000, ..Limits::default() };
    let listen = Listen::Tcp { address: "127.0.0.1:0".parse().expect("address"), tls };
    start(&[listen], Options { threads: 2, limits, ..Options::default() }, |_| Echo).expect("a server")
}

fn plain(count: usize) -> usize {
    let server = server(None);
    let address = server.addresses()[0].expect("an address");
    let connect = |clients: &mut Vec<TcpStream>, count: usize| {
        for _ in 0..count {
            let mut client = TcpStream::connect(address).expect("connected: ulimit -n 50000");
            client.write_all(b"hello").expect("written");
            client.read_exact(&mut [0; 5]).expect("answered");
            clients.push(client);
        }
    };
    let mut clients = Vec::with_capacity(count + 1000);
    connect(&mut clients, 1000);
    let before = resident();
    connect(&mut clients, count);
    report("idle connections", resident() - before, count, &server)
}

/// The clients' side of it is measured first, and taken off.
fn with_tls(count: usize) -> usize {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let tls = Tls::new(certificate.as_bytes(), key.as_bytes(), &ClientCertificates::None, OldestTls::V13);
    let server = server(Some(tls.expect("they belong together")));
    let address = server.addresses()[0].expect("an address");
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = Arc::new(builder.expect("versions").with_root_certificates(roots).with_no_client_auth());
    let connect = |clients: &mut Vec<TcpStream>, count: usize| {
        for _ in 0..count {
            let mut socket = TcpStream::connect(address).expect("connected");
            let name = ServerName::try_from("localhost").expect("a name");
            let mut tls = ClientConnection::new(Arc::clone(&config), name).expect("a connection");
            let mut stream = rustls::Stream::new(&mut tls, &mut socket);
            stream.write_all(b"hello").expect("written");
            stream.read_exact(&mut [0; 5]).expect("answered");
            // Only the socket is kept: what the client holds of TLS is gone.
            clients.push(socket);
        }
    };
    let mut clients = Vec::with_capacity(2 * count);
    connect(&mut clients, count / 2);
    let before = resident();
    connect(&mut clients, count);
    report("TLS connections", resident() - before, count, &server)
}

fn report(what: &str, grown: usize, count: usize, server: &Server<()>) -> usize {
    println!("{count} {what}: {} octets each; {:?}", grown / count, server.gauges());
    grown / count
}

/// Memory of this process that is in use, octets.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("statm");
    text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("pages") * 4096
}
