//! Diameter over TLS, with OpenSSL's client: who is let in, by which version, and under which name.
//!
//! Test group: waits: for handshakes that are given up.

use crate::eventually::{PATIENCE, eventually};
use crate::served;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use served::{Client, World, cer, start_calling};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use trunkline_charge::job::Peering;
use trunkline_net::{ClientCertificates, OldestTls, Tls, issuers};
use trunkline_wire::diameter::base::CapabilitiesExchangeAnswer;
use trunkline_wire::diameter::{Frames, Message, command};

const NAME: &str = "pgw.example.org";
const REALM: &str = "example.org";

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(vec![]).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Else it would have the name of what it signs, which OpenSSL takes for signed by itself.
        params.distinguished_name.push(DnType::CommonName, "authority");
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("signed"))
    }

    /// Certificate and key, PEM, for a name.
    fn sign(&self, name: &str, set: impl FnOnce(&mut CertificateParams)) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        set(&mut params);
        (params.signed_by(&key, &self.0).expect("signed").pem(), key.serialize_pem())
    }

    fn tls(&self, clients: &ClientCertificates) -> Tls {
        let (certificate, key) = self.sign("ocs.example.org", |_| {});
        Tls::new(certificate.as_bytes(), key.as_bytes(), clients, OldestTls::V12).expect("a certificate")
    }

    fn demands(&self) -> ClientCertificates {
        ClientCertificates::Require(issuers(self.0.pem().as_bytes()).expect("an issuer"))
    }
}

fn node(folder: &Path, tls: Tls, certified: bool) -> World {
    let door = ("127.0.0.1:0".parse().expect("an address"), Some(tls));
    start_calling(folder, Peering { certified, ..Peering::default() }, Some(door), |_| {})
}

/// `openssl s_client`; it ends with its owner.
struct OpenSsl(Child);

impl Drop for OpenSsl {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The result of a CER that OpenSSL's client brings with those options; none if it is not let in. The node's
/// certificate has to be the authority's, and for its name.
fn asked(folder: &Path, world: &World, authority: &Authority, options: &[&str]) -> Option<u32> {
    let ca = folder.join("ca.pem");
    std::fs::write(&ca, authority.0.pem()).expect("a file");
    let mut command = Command::new("openssl");
    command.args(["s_client", "-quiet", "-no_ign_eof", "-verify_return_error", "-verify_hostname", "ocs.example.org"]);
    command.args(["-connect", &world.address.to_string(), "-CAfile", ca.to_str().expect("a path")]).args(options);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = OpenSsl(command.spawn().expect("openssl: scripts/setup test"));
    let mut told = child.0.stdin.take().expect("its input");
    // Who is not let in may not listen any more.
    let _gone = told.write_all(&cer(NAME, REALM)).and_then(|()| told.flush());
    let octets = heard(child.0.stdout.take().expect("its output")).recv_timeout(PATIENCE).expect("an end")?;
    Some(CapabilitiesExchangeAnswer::read(&Message::new(&octets).expect("a message")).expect("a CEA").result_code)
}

/// The first message that comes; none if it ends before.
fn heard(mut from: ChildStdout) -> Receiver<Option<Vec<u8>>> {
    let (tells, told) = channel();
    std::thread::spawn(move || {
        let (mut input, mut piece) = (Vec::new(), [0; 4096]);
        let first = loop {
            if let Ok(Some(message)) = Frames::new(&input, 1 << 16).next_message() {
                break Some(message.to_vec());
            }
            match from.read(&mut piece) {
                Ok(read @ 1..) => input.extend_from_slice(&piece[..read]),
                _ => break None,
            }
        };
        // Who waited may have given up.
        let _late = tells.send(first);
    });
    told
}

/// Files of a pair, as options of the client.
fn shown(folder: &Path, name: &str, (certificate, key): &(String, String)) -> [String; 4] {
    let files = [("-cert", "pem", certificate), ("-key", "key", key)];
    let mut words = files.into_iter().flat_map(|(option, kind, text)| {
        let file = folder.join(format!("{name}.{kind}"));
        std::fs::write(&file, text).expect("a file");
        [option.to_owned(), file.to_string_lossy().into_owned()]
    });
    core::array::from_fn(|_| words.next().expect("four"))
}

#[test]
fn both_versions_are_spoken_and_older_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let world = node(folder.path(), authority.tls(&ClientCertificates::None), true);
    for (version, result) in [("-tls1_3", Some(2001)), ("-tls1_2", Some(2001)), ("-tls1_1", None)] {
        let options = [version, "-cipher", "DEFAULT@SECLEVEL=0"];
        assert_eq!(asked(folder.path(), &world, &authority, &options), result, "{version}");
    }
    // Its certificate is another's: OpenSSL goes.
    assert_eq!(asked(folder.path(), &world, &Authority::new(), &[]), None);
    eventually("counted", || world.node.counts().peers_opened == 2);
}

#[test]
fn clients_show_a_certificate_that_is_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, other) = (Authority::new(), Authority::new());
    let world = node(folder.path(), authority.tls(&authority.demands()), true);
    let good = authority.sign(NAME, |_| {});
    let expired = authority.sign(NAME, |params| params.not_after = rcgen::date_time_ymd(2024, 1, 1));
    let early = authority.sign(NAME, |params| params.not_before = rcgen::date_time_ymd(2999, 1, 1));
    let foreign = other.sign(NAME, |_| {});
    let misnamed = authority.sign("mallory.example.org", |_| {});
    let cases = [
        ("good", Some(&good), Some(2001)),
        ("none", None, None),
        ("expired", Some(&expired), None),
        ("early", Some(&early), None),
        ("foreign", Some(&foreign), None),
        ("misnamed", Some(&misnamed), Some(3010)),
    ];
    for (name, pair, result) in cases {
        let words = pair.map(|pair| shown(folder.path(), name, pair));
        let options: Vec<&str> = words.iter().flatten().map(String::as_str).collect();
        assert_eq!(asked(folder.path(), &world, &authority, &options), result, "{name}");
    }
    eventually("counted", || {
        let counts = world.node.counts();
        (counts.peers_opened, counts.peers_misnamed, counts.peers_refused) == (1, 1, 1)
    });
    // Where names do not count, it is let in.
    let beside = tempfile::tempdir().unwrap();
    let lax = node(beside.path(), authority.tls(&authority.demands()), false);
    let words = shown(folder.path(), "misnamed", &misnamed);
    assert_eq!(asked(folder.path(), &lax, &authority, &words.each_ref().map(String::as_str)), Some(2001));
}

#[test]
fn plain_and_encrypted_octets_do_not_meet() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let world = node(folder.path(), authority.tls(&ClientCertificates::None), true);
    let mut plain = TcpStream::connect(world.address).unwrap();
    plain.set_read_timeout(Some(PATIENCE)).unwrap();
    plain.write_all(&cer(NAME, REALM)).unwrap();
    // What comes is an alert of TLS at most, then the end.
    let mut said = Vec::new();
    let _reset = plain.read_to_end(&mut said);
    assert!(said.len() < 20 && said.first() != Some(&1), "{said:?}");
    let beside = tempfile::tempdir().unwrap();
    let open = start_calling(beside.path(), Peering::default(), None, |_| {});
    assert_eq!(asked(folder.path(), &open, &authority, &[]), None);
    eventually("counted", || open.node.counts().streams_broken == 1);
    assert_eq!(world.node.counts().messages, 0);
}

#[test]
fn handshakes_that_do_not_go_on_end_and_hold_up_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let world = node(folder.path(), authority.tls(&ClientCertificates::None), true);
    let begun = Instant::now();
    let mut silent: Vec<TcpStream> = (0..50).map(|_| TcpStream::connect(world.address).unwrap()).collect();
    // The beginning of a hello, and no more.
    silent.iter_mut().for_each(|stream| stream.write_all(&[22, 3, 1, 2, 0, 1]).unwrap());
    assert_eq!(asked(folder.path(), &world, &authority, &[]), Some(2001));
    // Nobody waited for the end of them: they are still there.
    for stream in &mut silent {
        stream.set_nonblocking(true).unwrap();
        assert!(stream.peek(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock));
        stream.set_nonblocking(false).unwrap();
    }
    for stream in &mut silent {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let ended = stream.read_to_end(&mut Vec::new());
        assert!(ended.is_ok() || ended.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset));
    }
    assert!(begun.elapsed() > Duration::from_secs(8));
}

#[test]
fn a_node_that_ends_waits_for_the_answer_to_its_farewell() {
    use trunkline_wire::diameter::base::DisconnectPeerAnswer;
    let folder = tempfile::tempdir().unwrap();
    let mut world = start_calling(folder.path(), Peering::default(), None, |_| {});
    let (mut answers, mut silent) = (Client::new(world.address, NAME), Client::new(world.address, "x.example.org"));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| world.node.stop().unwrap());
        let dpr = answers.receive().expect("a DPR");
        let header = Message::new(&dpr).unwrap().header;
        assert_eq!(header.command, command::DISCONNECT_PEER);
        assert!(answers.is_silent(), "it closed without waiting");
        let dpa = DisconnectPeerAnswer {
            result_code: 2001,
            origin_host: NAME,
            origin_realm: "example.org",
            ..DisconnectPeerAnswer::default()
        };
        let mut out = Vec::new();
        dpa.write(&header.answer(), &mut out).unwrap();
        answers.send(&out);
        assert_eq!(answers.receive(), None);
        // It is the answer that ends it: who does not answer is still waited for.
        silent.receive().expect("a DPR");
        silent.stream.set_nonblocking(true).unwrap();
        let peeked = silent.stream.peek(&mut [0]);
        silent.stream.set_nonblocking(false).unwrap();
        assert!(peeked.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock));
        assert_eq!(silent.receive(), None);
    });
    assert!(begun.elapsed() > Duration::from_millis(900) && begun.elapsed() < Duration::from_secs(4));
}

#[test]
fn handshakes_that_fail_and_those_that_go_on_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let world = node(folder.path(), authority.tls(&authority.demands()), true);
    let told = || world.order(&serde_json::json!({ "do": "status" }))["connections"].clone();
    let of = |told: &serde_json::Value| {
        ["handshakes", "handshakes_open", "handshakes_failed", "handshakes_late"].map(|key| told[key].as_u64())
    };
    assert_eq!(of(&told()), [Some(0); 4]);
    // One shows no certificate, one speaks no TLS, one says nothing, and one is let in.
    assert_eq!(asked(folder.path(), &world, &authority, &["-tls1_2"]), None);
    let mut plain = TcpStream::connect(world.address).expect("a connection");
    plain.write_all(&cer(NAME, REALM)).expect("written");
    let silent = TcpStream::connect(world.address).expect("a connection");
    let good = shown(folder.path(), "good", &authority.sign(NAME, |_| {}));
    let good: Vec<&str> = good.iter().map(String::as_str).collect();
    assert_eq!(asked(folder.path(), &world, &authority, &good), Some(2001));
    eventually("told", || of(&told()) == [Some(1), Some(1), Some(2), Some(0)]);
    assert_eq!(world.node.net().1.handshakes, 1.0);
    drop(silent);
    eventually("over", || of(&told()) == [Some(1), Some(0), Some(3), Some(0)]);
}
