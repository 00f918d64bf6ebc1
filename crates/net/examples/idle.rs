//! Memory of idle connections: a process of clients opens them over loopback and has each say something once; what this
//! one has grown by is divided by their number. Exit code 1 if a plain one takes more than 500 octets.
//!
//! ```text
//! ulimit -n 20000
//! cargo run --release -p trunkline-net --example idle -- plain 19000
//! cargo run --release -p trunkline-net --example idle -- tls 2000
//! ```

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
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

/// Connections that are there before the first figure: the thread's own buffers are not theirs.
const FIRST: usize = 500;
/// The variable that hands the certificate to the clients.
const CERTIFICATE: &str = "IDLE_CERTIFICATE";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["clients", address] => be_clients(address.parse().expect("an address")),
        [kind @ ("plain" | "tls"), count] => {
            let octets = measure(kind == "tls", count.parse().expect("a number"));
            return if kind == "tls" || octets <= OCTETS_MAX { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
        _ => println!("idle plain COUNT | idle tls COUNT"),
    }
    ExitCode::SUCCESS
}

fn measure(encrypted: bool, count: usize) -> usize {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let tls = Tls::new(certificate.as_bytes(), key.as_bytes(), &ClientCertificates::None, OldestTls::V13);
    let tls = encrypted.then(|| tls.expect("they belong together"));
    let limits = Limits { connections: 1 << 20, ..Limits::default() };
    let listen = Listen::Tcp { address: "127.0.0.1:0".parse().expect("address"), tls };
    let options = Options { threads: 2, limits, ..Options::default() };
    let server: Server<()> = start(&[listen], options, |_| Echo).expect("a server");
    let mut clients = Command::new(std::env::current_exe().expect("this program"));
    clients.args(["clients", &server.addresses()[0].expect("an address").to_string()]);
    if encrypted {
        clients.env(CERTIFICATE, certificate);
    }
    let mut clients = clients.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process");
    let mut ask = clients.stdin.take().expect("a pipe");
    let mut told = BufReader::new(clients.stdout.take().expect("a pipe"));
    open(&mut ask, &mut told, FIRST);
    let before = resident();
    open(&mut ask, &mut told, count);
    let octets = (resident() - before) / count;
    println!("{count} connections: {octets} octets each; {:?}", server.gauges());
    drop(ask);
    clients.wait().expect("ended");
    octets
}

fn open(ask: &mut ChildStdin, told: &mut BufReader<ChildStdout>, count: usize) {
    writeln!(ask, "{count}").expect("asked");
    let mut line = String::new();
    told.read_line(&mut line).expect("told");
    assert_eq!(line, "there\n", "too few descriptors? ulimit -n");
}

/// Opens as many connections as each line says, and keeps them until the input ends.
fn be_clients(address: SocketAddr) {
    let config = std::env::var(CERTIFICATE).ok().map(|pem| config(&pem));
    let mut streams = Vec::new();
    for line in std::io::stdin().lines() {
        for _ in 0..line.expect("a line").parse::<usize>().expect("a number") {
            let mut socket = TcpStream::connect(address).expect("connected");
            match &config {
                None => speak(&mut socket),
                Some(config) => {
                    let name = ServerName::try_from("localhost").expect("a name");
                    let mut tls = ClientConnection::new(Arc::clone(config), name).expect("a connection");
                    speak(&mut rustls::Stream::new(&mut tls, &mut socket));
                }
            }
            streams.push(socket);
        }
        println!("there");
    }
}

fn speak(stream: &mut (impl std::io::Read + std::io::Write)) {
    stream.write_all(b"hello").expect("written");
    stream.read_exact(&mut [0; 5]).expect("answered");
}

fn config(pem: &str) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).expect("PEM")).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Arc::new(builder.expect("versions").with_root_certificates(roots).with_no_client_auth())
}

/// Memory of this process that is in use, octets.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("statm");
    text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("pages") * 4096
}
