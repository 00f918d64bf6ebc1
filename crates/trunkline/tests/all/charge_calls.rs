//! A charging node that connects to programs that are not ours: freeDiameter as a relay that accepts, with TLS and
//! without, python-diameter as a client that listens.
//!
//! Test group: waits: for connections that are tried again.

use crate::charge_clients::{driven, relay};
use crate::eventually::awaited;
use crate::gy;
use driven::Driven;
use gy::{Node, imsi};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use relay::Relay;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const KIB: u64 = 1024;

/// Whether a command runs and succeeds.
fn works(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Whether all that a test needs is there; where changes are tested it has to be.
fn there(test: &str, with_relay: bool) -> bool {
    let python = works(python().args(["-c", "import diameter.node"]));
    let relay = !with_relay || works(Command::new(relay::PROGRAM).arg("--version"));
    let all = python && relay;
    assert!(all || std::env::var_os("CI").is_none(), "{test}: python-diameter or freeDiameter: scripts/setup test");
    if !all {
        eprintln!("SKIPPED: {test}: python-diameter or freeDiameter missing");
    }
    all
}

/// The Python that has what tests need of PyPI.
fn python() -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/python/bin/python3"))
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/charge_clients/gy.py")
}

fn port() -> u16 {
    gy::free_port().parse().expect("a port")
}

/// Waits until the node's one peer is open.
fn until_open(node: &Node) -> Value {
    awaited("it is open", || {
        let call = node.status().expect("a node")["calls"][0].clone();
        if call["state"] == "open" { Ok(call) } else { Err(call) }
    })
}

/// A session of a client through a relay to the node, and a question to it.
fn charged(node: &Node, client: &mut Driven) {
    let imsi = imsi(1);
    let begun = client.ask(&format!("ccr s;1 1 0 {imsi} - 1:octets:0:-"));
    let granted = |answer: &Value| answer["services"][0]["granted"].as_u64().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!((&begun["result"], granted(&begun)), (&json!(2001), KIB), "{begun}");
    node.json(&["top-up", "1", "5"]);
    assert_eq!(client.ask("rar")["session"], "s;1");
    let ended = client.ask(&format!("ccr s;1 3 1 {imsi} - 1:octets:-:{KIB}"));
    assert_eq!(ended["result"], 2001);
    assert_eq!(node.json(&["show", "1"])["balance"], 1 + 5 - 1);
}

#[test]
fn a_relay_that_accepts_brings_requests_and_takes_questions() {
    if !there("a relay that accepts", true) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let ports = (port(), port());
    issue(folder.path());
    let list = "ALLOW_IPSEC ocs.example\nALLOW_IPSEC pgw.home.example\n";
    let _relay = Relay::accepting(folder.path(), ports, list);
    let peer = format!("{} 127.0.0.1:{}", relay::HOST, ports.0);
    let node = Node::start_with(folder.path(), &["--connect", &peer, "--reconnect", "1"]);
    node.fill(1, 1);
    until_open(&node);
    let (host, port) = ("pgw.home.example", ports.0.to_string());
    let words = [host, "home.example", relay::HOST, relay::REALM, &port, "example"];
    charged(&node, &mut Driven::start(python().arg(script()).args(words)));
}

#[test]
fn a_relay_over_tls_and_the_node_show_each_other_who_they_are() {
    if !there("a relay over TLS", true) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let ports = (port(), port());
    issue(folder.path());
    // Without TLS the node is not taken here.
    let _relay = Relay::accepting(folder.path(), ports, "ocs.example\nALLOW_IPSEC pgw.home.example\n");
    let file = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (ca, certificate, key) = (file("ca.pem"), file("node.pem"), file("node.key"));
    let peer = format!("{} tls:127.0.0.1:{}", relay::HOST, ports.1);
    let own = ["--issuers", &ca, "--certificate", &certificate, "--key", &key];
    let options = [&["--connect", &peer, "--reconnect", "1"], &own[..]].concat();
    let node = Node::start_with(folder.path(), &options);
    node.fill(1, 1);
    assert_eq!(until_open(&node)["tls"], true);
    let (host, port) = ("pgw.home.example", ports.0.to_string());
    let words = [host, "home.example", relay::HOST, relay::REALM, &port, "example"];
    charged(&node, &mut Driven::start(python().arg(script()).args(words)));
}

#[test]
fn a_client_that_listens_is_charged() {
    if !there("a client that listens", false) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let port = port();
    let peer = format!("pgw.home.example 127.0.0.1:{port}");
    let node = Node::start_with(folder.path(), &["--connect", &peer, "--reconnect", "1"]);
    node.fill(1, 1);
    let port = port.to_string();
    let words = ["pgw.home.example", "home.example", "ocs.example", "example", &port, "example", "listens"];
    let mut client = Driven::start(python().arg(script()).args(words));
    until_open(&node);
    charged(&node, &mut client);
}

/// An authority, and what it gives the relay and the node, in files.
fn issue(folder: &Path) {
    let mut params = CertificateParams::new(vec![]).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let authority = CertifiedIssuer::self_signed(params, key).expect("signed");
    std::fs::write(folder.join("ca.pem"), authority.pem()).expect("a file");
    for (file, host) in [("relay", relay::HOST), ("node", "ocs.example")] {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![host.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &authority).expect("signed");
        std::fs::write(folder.join(format!("{file}.pem")), certificate.pem()).expect("a file");
        std::fs::write(folder.join(format!("{file}.key")), key.serialize_pem()).expect("a file");
    }
}
