//! TLS by rustls: a certificate that can be replaced while the server runs, and what is asked of clients.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{CertificateError, ClientConfig, ClientConnection, Error, RootCertStore, ServerConfig};

/// TLS of a connection, whichever side began it.
pub(crate) type Secured = rustls::Connection;

/// Octets that a connection holds for TLS, about: measured as growth of the process over connections after their
/// handshakes with TLS 1.3 (`cargo run --release -p trunkline-net --example idle -- tls 2000`).
pub const TLS_CONNECTION_OCTETS: usize = 8 * 1024;

/// What clients show of themselves.
#[derive(Clone, Debug)]
pub enum ClientCertificates {
    /// Nothing.
    None,
    /// A certificate of one of these issuers, or none.
    Request(Arc<RootCertStore>),
    /// A certificate of one of these issuers, or the handshake fails.
    Require(Arc<RootCertStore>),
}

/// The oldest version of TLS that is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OldestTls {
    /// TLS 1.2, RFC 5246.
    #[default]
    V12,
    /// TLS 1.3, RFC 8446.
    V13,
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// There is no certificate in the text.
    #[error("not certificates in PEM (BEGIN CERTIFICATE): {0}")]
    Certificate(String),
    /// There is no key in the text.
    #[error("no key in PEM (BEGIN PRIVATE KEY): {0}")]
    Key(String),
    /// Key and certificate do not belong together, or cannot be used.
    #[error("key or certificate cannot be used: {0}")]
    Pair(rustls::Error),
    /// The issuers of clients' certificates cannot be used.
    #[error("issuers of clients' certificates: {0}")]
    Issuers(String),
}

/// What a listener with TLS shows and asks. Cheap to clone; all clones show the same certificate.
#[derive(Clone, Debug)]
pub struct Tls {
    shown: Arc<Shown>,
    config: Arc<ServerConfig>,
}

/// Read once in each handshake.
#[derive(Debug)]
struct Shown(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Tls {
    /// With a certificate (and those of its issuers behind it) and its key, both in PEM.
    ///
    /// # Errors
    /// What is wrong with which of them.
    pub fn new(
        certificate: &[u8],
        key: &[u8],
        clients: &ClientCertificates,
        oldest: OldestTls,
    ) -> Result<Tls, TlsError> {
        let shown = Arc::new(Shown(RwLock::new(Arc::new(certified(certificate, key)?))));
        let provider = Arc::new(ring::default_provider());
        let versions = match oldest {
            OldestTls::V12 => &[&TLS13, &TLS12][..],
            OldestTls::V13 => &[&TLS13][..],
        };
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_protocol_versions(versions).map_err(TlsError::Pair)?;
        let verifier = |issuers: &Arc<RootCertStore>| {
            WebPkiClientVerifier::builder_with_provider(Arc::clone(issuers), Arc::clone(&provider))
        };
        let no_issuers = |e: rustls::server::VerifierBuilderError| TlsError::Issuers(e.to_string());
        let builder = match clients {
            ClientCertificates::None => builder.with_no_client_auth(),
            ClientCertificates::Request(issuers) => {
                let verifier = verifier(issuers).allow_unauthenticated().build();
                builder.with_client_cert_verifier(verifier.map_err(no_issuers)?)
            }
            ClientCertificates::Require(issuers) => {
                builder.with_client_cert_verifier(verifier(issuers).build().map_err(no_issuers)?)
            }
        };
        let config = builder.with_cert_resolver(Arc::clone(&shown) as Arc<dyn ResolvesServerCert>);
        Ok(Tls { shown, config: Arc::new(config) })
    }

    /// Shows another certificate from the next handshake on. Connections that are open stay.
    ///
    /// # Errors
    /// As of [`Tls::new`]; then the one before is still shown.
    pub fn replace(&self, certificate: &[u8], key: &[u8]) -> Result<(), TlsError> {
        let certified = Arc::new(certified(certificate, key)?);
        *self.shown.0.write().unwrap_or_else(PoisonError::into_inner) = certified;
        Ok(())
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}

/// What is asked of servers that are dialled, and shown to them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ClientTls(Arc<ClientConfig>);

/// Why TLS with a server that was dialled did not come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsFault {
    /// Nobody who is trusted vouches for its certificate.
    Issuer,
    /// Its certificate has expired, or does not hold yet.
    Expired,
    /// Its certificate is for another name.
    Name,
    /// Its certificate is no good otherwise.
    Certificate,
    /// It refused us: our certificate, if any, or our versions.
    Refused,
    /// It ended the connection, or what it said is no TLS.
    Broken,
}

impl TlsFault {
    /// What an error of a handshake is; none is the end of the connection.
    pub(crate) fn of(error: Option<&Error>) -> TlsFault {
        use CertificateError as Wrong;
        match error {
            Some(Error::InvalidCertificate(wrong)) => match wrong {
                Wrong::UnknownIssuer | Wrong::BadSignature => TlsFault::Issuer,
                Wrong::Expired | Wrong::ExpiredContext { .. } => TlsFault::Expired,
                Wrong::NotValidYet | Wrong::NotValidYetContext { .. } => TlsFault::Expired,
                Wrong::NotValidForName | Wrong::NotValidForNameContext { .. } => TlsFault::Name,
                _ => TlsFault::Certificate,
            },
            Some(Error::AlertReceived(_) | Error::PeerIncompatible(_)) => TlsFault::Refused,
            _ => TlsFault::Broken,
        }
    }
}

impl ClientTls {
    /// Trusts those issuers alone; shows a certificate where it is asked for one and has a pair, both in PEM.
    ///
    /// # Errors
    /// What is wrong with certificate or key.
    pub fn new(issuers: Arc<RootCertStore>, own: Option<(&[u8], &[u8])>) -> Result<ClientTls, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13, &TLS12]);
        let builder = builder.map_err(TlsError::Pair)?.with_root_certificates(issuers);
        let config = match own {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| TlsError::Key(e.to_string()))?;
                builder.with_client_auth_cert(certificates(certificate)?, key).map_err(TlsError::Pair)?
            }
        };
        Ok(ClientTls(Arc::new(config)))
    }

    /// A handshake with a server of that name; none where no certificate can be for it.
    pub(crate) fn begin(&self, name: &str) -> Option<Secured> {
        let name = ServerName::try_from(name.to_owned()).ok()?;
        let mut begun = ClientConnection::new(Arc::clone(&self.0), name).ok()?;
        // What is said at once is bounded by the limit of output.
        begun.set_buffer_limit(None);
        Some(begun.into())
    }
}

/// Whether a certificate is for a name of the DNS or an address (RFC 9525). Who signed it is not looked at.
pub fn certifies(certificate: &CertificateDer<'_>, name: &str) -> bool {
    let name = ServerName::try_from(name);
    let parsed = ParsedCertificate::try_from(certificate);
    name.is_ok_and(|name| parsed.is_ok_and(|parsed| rustls::client::verify_server_name(&parsed, &name).is_ok()))
}

/// Issuers of certificates, from PEM.
///
/// # Errors
/// There is none in the text, or one cannot be used.
pub fn issuers(pem: &[u8]) -> Result<Arc<RootCertStore>, TlsError> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(pem)? {
        store.add(certificate).map_err(|e| TlsError::Issuers(e.to_string()))?;
    }
    Ok(Arc::new(store))
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let chain = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|e| TlsError::Certificate(e.to_string()))?;
    if chain.is_empty() { Err(TlsError::Certificate("there is none".to_owned())) } else { Ok(chain) }
}

fn certified(certificate: &[u8], key: &[u8]) -> Result<CertifiedKey, TlsError> {
    let chain = certificates(certificate)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| TlsError::Key(e.to_string()))?;
    CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(TlsError::Pair)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said() {
        let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
        let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
        let (certificate, key) = (own.cert.pem(), own.signing_key.serialize_pem());
        let make = |certificate: &str, key: &str| {
            Tls::new(certificate.as_bytes(), key.as_bytes(), &ClientCertificates::None, OldestTls::V13)
        };
        let tls = make(&certificate, &key).expect("they belong together");
        assert!(matches!(make("", &key), Err(TlsError::Certificate(_))));
        assert!(matches!(make(&certificate, &certificate), Err(TlsError::Key(_))));
        assert!(matches!(make(&certificate, &other.signing_key.serialize_pem()), Err(TlsError::Pair(_))));
        assert!(tls.replace(b"", b"").is_err());
        assert!(issuers(b"").is_err() && issuers(certificate.as_bytes()).is_ok());
    }
}
