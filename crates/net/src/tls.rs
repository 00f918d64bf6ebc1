//! TLS by rustls: a certificate that can be replaced while the server runs, and what is asked of clients.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig};

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

/// Issuers of clients' certificates, from PEM.
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

#[cfg(test)]
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
