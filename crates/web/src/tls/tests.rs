//! Certificates that are kept, renewed and taken anew, shown to a client of rustls.

use super::*;
use rustls::pki_types::{ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection, SupportedProtocolVersion};
use std::time::Duration;

const NOW: i64 = 1_795_000_000_000_000_000;

#[derive(Debug)]
struct At(i64);

impl TimeProvider for At {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_nanos(self.0.unsigned_abs())))
    }
}

/// The certificate that a client sees who trusts `root` alone, and the protocol that was agreed on.
fn handshake(
    tls: &Tls,
    root: &CertificateDer<'static>,
    name: &str,
    version: &'static SupportedProtocolVersion,
    at_ns: i64,
) -> Result<(CertificateDer<'static>, Vec<u8>), rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(root.clone())?;
    let provider = Arc::new(ring::default_provider());
    let mut config = ClientConfig::builder_with_details(provider, Arc::new(At(at_ns)))
        .with_protocol_versions(&[version])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name)?;
    let mut server = ServerConnection::new(tls.config())?;
    while client.is_handshaking() || server.is_handshaking() {
        let mut wire = vec![];
        while client.wants_write() {
            client.write_tls(&mut wire).unwrap();
        }
        let mut from = wire.as_slice();
        while !from.is_empty() {
            server.read_tls(&mut from).unwrap();
            server.process_new_packets()?;
        }
        let mut wire = vec![];
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        let mut from = wire.as_slice();
        while !from.is_empty() {
            client.read_tls(&mut from).unwrap();
            client.process_new_packets()?;
        }
    }
    let seen = client.peer_certificates().and_then(|c| c.first()).cloned().unwrap();
    Ok((seen.into_owned(), client.alpn_protocol().unwrap_or_default().to_vec()))
}

fn certificate_in(path: &Path) -> CertificateDer<'static> {
    CertificateDer::pem_slice_iter(&fs::read(path).unwrap()).next().unwrap().unwrap()
}

fn self_signed(data: &Path) -> TlsOptions {
    TlsOptions::SelfSigned { data: data.to_owned(), names: own_names("192.0.2.7".parse().unwrap()) }
}

#[test]
fn a_certificate_of_our_own_is_made_once_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let tls = Tls::open(self_signed(folder.path()), NOW).unwrap();
    let path = folder.path().join(SELF_SIGNED_FILE);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let root = certificate_in(&path);
    for name in ["localhost", "127.0.0.1", "::1", "192.0.2.7"] {
        for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
            let (seen, protocol) = handshake(&tls, &root, name, version, NOW).unwrap();
            assert_eq!((fingerprint_of(&seen), protocol.as_slice()), (tls.fingerprint(), &b"h2"[..]));
        }
    }
    assert!(handshake(&tls, &root, "example.com", &rustls::version::TLS13, NOW).is_err());
    assert!(!tls.reload_if_changed(NOW).unwrap());
    let again = Tls::open(self_signed(folder.path()), NOW + 700 * DAY_NS).unwrap();
    assert_eq!(again.fingerprint(), tls.fingerprint());
    assert_eq!(again.fingerprint().len(), 32 * 3 - 1);
}

#[test]
fn it_is_made_anew_before_it_ends_for_other_names_and_when_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let tls = Tls::open(self_signed(folder.path()), NOW).unwrap();
    let first = tls.fingerprint();
    let later = NOW + (SELF_SIGNED_DAYS - RENEWED_DAYS_BEFORE) * DAY_NS;
    let root = certificate_in(&folder.path().join(SELF_SIGNED_FILE));
    assert!(handshake(&tls, &root, "localhost", &rustls::version::TLS13, later).is_ok(), "it still holds");
    // A server that runs all the while renews it.
    assert!(tls.reload_if_changed(later).unwrap());
    assert_ne!(tls.fingerprint(), first);
    let other = TlsOptions::SelfSigned { data: folder.path().to_owned(), names: vec!["pbx.example".to_owned()] };
    let named = Tls::open(other.clone(), later).unwrap();
    let path = folder.path().join(SELF_SIGNED_FILE);
    let root = certificate_in(&path);
    assert!(handshake(&named, &root, "pbx.example", &rustls::version::TLS13, later).is_ok());
    for damage in ["", "not PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        fs::write(&path, damage).unwrap();
        let made = Tls::open(other.clone(), later).unwrap();
        assert_ne!(made.fingerprint(), named.fingerprint());
    }
    // A flip that leaves PEM and key readable is one, too.
    let whole = fs::read(&path).unwrap();
    let kept = Tls::open(other.clone(), later).unwrap().fingerprint();
    for at in (0..whole.len()).step_by(41) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&path, damaged).unwrap();
        assert_ne!(Tls::open(other.clone(), later).unwrap().fingerprint(), kept, "octet {at}");
    }
    // One of an earlier version has no checksum, and is kept.
    let text = String::from_utf8(whole).unwrap();
    fs::write(&path, text.split_once('\n').unwrap().1).unwrap();
    assert_eq!(Tls::open(other, later).unwrap().fingerprint(), kept);
}

#[test]
fn files_are_taken_anew_when_they_change_and_kept_while_they_are_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("c.pem"), folder.path().join("k.pem"));
    let write = |name: &str| {
        let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        fs::write(&certificate, made.cert.pem()).unwrap();
        fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        fingerprint_of(made.cert.der())
    };
    let options = TlsOptions::Files { certificate: certificate.clone(), key: key.clone() };
    let missing = Tls::open(options.clone(), NOW).unwrap_err().to_string();
    assert!(missing.contains("k.pem"), "{missing}");
    let first = write("one.example");
    let tls = Tls::open(options.clone(), NOW).unwrap();
    assert_eq!(tls.fingerprint(), first);
    assert!(!tls.reload_if_changed(NOW).unwrap());
    // The key of another: told in words, and the old one is shown on.
    let other = rcgen::KeyPair::generate().unwrap();
    fs::write(&key, other.serialize_pem()).unwrap();
    let error = tls.reload_if_changed(NOW).unwrap_err().to_string();
    assert!(error.contains("does not belong to the certificate"), "{error}");
    assert_eq!(tls.fingerprint(), first);
    let second = write("two.example");
    assert!(tls.reload_if_changed(NOW).unwrap());
    assert_eq!(tls.fingerprint(), second);
    let third = write("three.example");
    tls.reload(NOW).unwrap();
    assert_eq!(tls.fingerprint(), third);
    let root = certificate_in(&certificate);
    assert!(handshake(&tls, &root, "three.example", &rustls::version::TLS13, NOW).is_ok());
    for (what, expected) in [("", "no certificate"), ("-----BEGIN CERTIFICATE-----\n!\n", "PEM")] {
        fs::write(&certificate, what).unwrap();
        let error = tls.reload(NOW).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    fs::write(&certificate, vec![b'x'; PEM_OCTETS_MAX as usize + 1]).unwrap();
    assert!(Tls::open(options, NOW).is_err());
}
