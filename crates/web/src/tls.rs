//! TLS of the web by rustls: certificate and key from files, taken anew when they change, or a certificate that is made
//! here and kept, with a fingerprint to compare.

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use trunkline_kit::date;
use trunkline_kit::hash::fnv1a;
use trunkline_kit::place;

/// Days for which a certificate of our own holds: what browsers still take of one that was trusted by hand.
pub const SELF_SIGNED_DAYS: i64 = 800;
/// Days before its end at which a new one is made.
pub const RENEWED_DAYS_BEFORE: i64 = 60;
/// The file of our own certificate and key below the data folder (mode 0600).
pub const SELF_SIGNED_FILE: &str = "web/self-signed.pem";
/// Octets of a certificate or key file that are read; a longer one is refused.
pub const PEM_OCTETS_MAX: u64 = 1 << 20;

const DAY_NS: i64 = 86_400_000_000_000;

/// Whose certificate is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsOptions {
    /// One that is made and kept here.
    SelfSigned {
        /// The data folder.
        data: PathBuf,
        /// Names and addresses by which browsers will ask; see [`own_names`].
        names: Vec<String>,
    },
    /// One from files in PEM: the certificate with those of its issuers behind it, and its key (PKCS #8, PKCS #1 or
    /// SEC 1).
    Files {
        /// The certificate.
        certificate: PathBuf,
        /// The key.
        key: PathBuf,
    },
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read or written.
    #[error("{path}: {cause}", path = .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{path}: {what}", path = .path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A certificate of our own could not be made.
    #[error("no certificate could be made: {0}")]
    Make(String),
}

/// The certificate that is shown, and what the server needs to show it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tls {
    options: TlsOptions,
    shown: Arc<Shown>,
    config: Arc<ServerConfig>,
    state: Arc<Mutex<Stamp>>,
}

/// What tells that files changed: size, time of change and inode of each.
type Stamp = Vec<(u64, i64, i64, u64)>;

#[derive(Debug)]
struct Shown(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Tls {
    /// Reads the files, or makes a certificate if there is none that will do.
    ///
    /// # Errors
    /// What is wrong with which file.
    pub fn open(options: TlsOptions, now_ns: i64) -> Result<Tls, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let (loaded, stamp) = load_stamped(&options, &provider, now_ns)?;
        let shown = Arc::new(Shown(RwLock::new(Arc::new(loaded))));
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| TlsError::Make(e.to_string()))?
            .with_no_client_auth();
        let mut config = config.with_cert_resolver(Arc::clone(&shown) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Tls { options, shown, config: Arc::new(config), state: Arc::new(Mutex::new(stamp)) })
    }

    /// For `tokio_rustls::TlsAcceptor`. It stays the same when certificates change: new connections get the new one.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// SHA-256 of the certificate that is shown, as browsers print it: `AB:CD:...`.
    pub fn fingerprint(&self) -> String {
        let shown = self.shown.0.read().unwrap_or_else(PoisonError::into_inner);
        shown.cert.first().map(|c| fingerprint_of(c)).unwrap_or_default()
    }

    /// Takes the files anew (at SIGHUP); makes a new certificate of our own if the old one is about to end. What is
    /// shown stays if that fails.
    ///
    /// # Errors
    /// What is wrong with which file.
    pub fn reload(&self, now_ns: i64) -> Result<(), TlsError> {
        let (loaded, stamp) = load_stamped(&self.options, self.config.crypto_provider(), now_ns)?;
        *self.shown.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(loaded);
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = stamp;
        Ok(())
    }

    /// As [`Tls::reload`] if the files changed since, or our own certificate is about to end; whether it did. To be
    /// called now and then (each minute). Certificate and key that are being replaced one after the other do not belong
    /// together for a moment: the next call finds them.
    ///
    /// # Errors
    /// As [`Tls::reload`].
    pub fn reload_if_changed(&self, now_ns: i64) -> Result<bool, TlsError> {
        let changed = *self.state.lock().unwrap_or_else(PoisonError::into_inner) != stamp(&self.options);
        let ends = match &self.options {
            TlsOptions::SelfSigned { data, names } => kept(&data.join(SELF_SIGNED_FILE), names, now_ns).is_none(),
            TlsOptions::Files { .. } => false,
        };
        if changed || ends {
            self.reload(now_ns)?;
        }
        Ok(changed || ends)
    }
}

/// The names under which browsers may ask a server that listens on this address: those of this machine.
pub fn own_names(listen: IpAddr) -> Vec<String> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    if let Ok(host) = fs::read_to_string("/proc/sys/kernel/hostname") {
        names.push(host.trim().to_ascii_lowercase());
    }
    if !listen.is_unspecified() {
        names.push(listen.to_canonical().to_string());
    }
    names.sort_unstable();
    names.dedup();
    names.retain(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_alphanumeric() || ".:-".contains(c)));
    names
}

fn fingerprint_of(certificate: &CertificateDer<'_>) -> String {
    let mut out = String::with_capacity(95);
    for (at, octet) in Sha256::digest(certificate).iter().enumerate() {
        // Writing to a String does not fail.
        let _ = write!(out, "{}{octet:02X}", if at > 0 { ":" } else { "" });
    }
    out
}

fn stamp(options: &TlsOptions) -> Stamp {
    let paths = match options {
        TlsOptions::SelfSigned { data, .. } => vec![data.join(SELF_SIGNED_FILE)],
        TlsOptions::Files { certificate, key } => vec![certificate.clone(), key.clone()],
    };
    let one = |p: &PathBuf| fs::metadata(p).map(|m| (m.size(), m.mtime(), m.mtime_nsec(), m.ino())).unwrap_or_default();
    paths.iter().map(one).collect()
}

/// With the stamp of the files from before they were read, or from after we wrote ours.
fn load_stamped(
    options: &TlsOptions,
    provider: &CryptoProvider,
    now_ns: i64,
) -> Result<(CertifiedKey, Stamp), TlsError> {
    let before = stamp(options);
    let loaded = load(options, provider, now_ns)?;
    let ours = matches!(options, TlsOptions::SelfSigned { .. });
    Ok((loaded, if ours { stamp(options) } else { before }))
}

fn load(options: &TlsOptions, provider: &CryptoProvider, now_ns: i64) -> Result<CertifiedKey, TlsError> {
    match options {
        TlsOptions::Files { certificate, key } => {
            let pem = read(key)?;
            warn_if_open(key);
            certified(certificate, &read(certificate)?, key, &pem, provider)
        }
        TlsOptions::SelfSigned { data, names } => {
            let path = data.join(SELF_SIGNED_FILE);
            if let Some(pem) = kept(&path, names, now_ns)
                && let Ok(certified) = certified(&path, &pem, &path, &pem, provider)
            {
                return Ok(certified);
            }
            if is_damaged(&path) {
                let what = "is damaged: there is a new certificate, which browsers ask about again";
                tracing::warn!("web: {} {what}", path.display());
            }
            let pem = make(names, now_ns)?;
            keep(&path, &pem).map_err(|cause| TlsError::File { path: path.clone(), cause })?;
            certified(&path, pem.as_bytes(), &path, pem.as_bytes(), provider)
        }
    }
}

fn certified(
    certificate_path: &Path,
    certificate: &[u8],
    key_path: &Path,
    key: &[u8],
    provider: &CryptoProvider,
) -> Result<CertifiedKey, TlsError> {
    let content = |path: &Path, what: String| TlsError::Content { path: path.to_owned(), what };
    let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|e| content(certificate_path, format!("not certificates in PEM: {e}")))?;
    if chain.is_empty() {
        return Err(content(certificate_path, "there is no certificate in it (BEGIN CERTIFICATE)".to_owned()));
    }
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|e| content(key_path, format!("there is no key in PEM in it (BEGIN PRIVATE KEY): {e}")))?;
    CertifiedKey::from_der(chain, key, provider).map_err(|e| match e {
        rustls::Error::InconsistentKeys(_) => {
            content(key_path, format!("this key does not belong to the certificate in {}", certificate_path.display()))
        }
        other => content(key_path, format!("key or certificate cannot be used: {other}")),
    })
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let file = |cause| TlsError::File { path: path.to_owned(), cause };
    let octets = fs::metadata(path).map_err(file)?.len();
    if octets > PEM_OCTETS_MAX {
        let what = format!("{octets} octets are no certificate or key");
        return Err(TlsError::Content { path: path.to_owned(), what });
    }
    fs::read(path).map_err(file)
}

fn warn_if_open(key: &Path) {
    if fs::metadata(key).is_ok_and(|m| m.permissions().mode() & 0o007 != 0) {
        tracing::warn!("{}: everybody on this machine may read this key: chmod o= it", key.display());
    }
}

/// Our own certificate and key as kept, if they are for these names and do not end soon.
fn kept(path: &Path, names: &[String], now_ns: i64) -> Option<Vec<u8>> {
    let pem = read(path).ok()?;
    let text = std::str::from_utf8(&pem).ok().filter(|text| is_whole(text))?;
    let until: i64 = header(text, UNTIL)?.parse().ok()?;
    let holds = now_ns.div_euclid(DAY_NS) + RENEWED_DAYS_BEFORE < until;
    (holds && header(text, NAMES)? == names.join(" ")).then_some(pem)
}

/// Lines before the certificate that say what it is; readers of PEM skip them.
const UNTIL: &str = "# ends on day (counted from 1970-01-01): ";
const NAMES: &str = "# names: ";
/// The first line: a checksum (FNV-1a) of all that follows it. Those of earlier versions have none.
const CHECK: &str = "# check: ";

/// Whether a file that is there is not as it was written.
fn is_damaged(path: &Path) -> bool {
    match read(path) {
        Ok(pem) => !std::str::from_utf8(&pem).is_ok_and(|text| header(text, UNTIL).is_some() && is_whole(text)),
        Err(TlsError::File { cause, .. }) => cause.kind() != io::ErrorKind::NotFound,
        Err(_) => true,
    }
}

fn is_whole(text: &str) -> bool {
    let Some((first, rest)) = text.split_once('\n') else { return false };
    first.starts_with(UNTIL) || first == check(rest)
}

fn check(text: &str) -> String {
    format!("{CHECK}{:016x}", fnv1a(text.as_bytes()))
}

fn header<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name))
}

fn make(names: &[String], now_ns: i64) -> Result<String, TlsError> {
    let failed = |e: rcgen::Error| TlsError::Make(e.to_string());
    let today = now_ns.div_euclid(DAY_NS);
    let midnight = |day| {
        let (year, month, day) = date::of_days(day);
        rcgen::date_time_ymd(year as i32, month as u8, day as u8)
    };
    let mut params = rcgen::CertificateParams::new(names.to_vec()).map_err(failed)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::CommonName, "Trunkline, self-signed");
    params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    params.key_usages = vec![rcgen::KeyUsagePurpose::DigitalSignature];
    // Yesterday: the clock of a browser may be late.
    params.not_before = midnight(today - 1);
    params.not_after = midnight(today + SELF_SIGNED_DAYS);
    let key = rcgen::KeyPair::generate().map_err(failed)?;
    let certificate = params.self_signed(&key).map_err(failed)?;
    let until = today + SELF_SIGNED_DAYS;
    let text = format!("{UNTIL}{until}\n{NAMES}{}\n{}{}", names.join(" "), certificate.pem(), key.serialize_pem());
    Ok(format!("{}\n{text}", check(&text)))
}

/// Writes the file beside its place and moves it there, so that it is whole or not there.
fn keep(path: &Path, pem: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    place::replace(path, pem.as_bytes(), 0o600)
}

#[cfg(test)]
mod tests;
