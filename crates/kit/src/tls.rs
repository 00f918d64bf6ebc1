//! TLS with servers that this program connects to: for engines whose connections are not those of `net`.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;

/// What is asked of servers: a certificate by one of these issuers (PEM), or without them by one of the system's. They
/// are shown none.
///
/// # Errors
/// What is wrong with the issuers, for people; nobody vouches for anything where there is none.
pub fn client(issuers: Option<&[u8]>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    match issuers {
        Some(pem) => {
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let certificate = certificate.map_err(|error| error.to_string())?;
                roots.add(certificate).map_err(|error| error.to_string())?;
            }
            if roots.is_empty() {
                return Err("there is no certificate in it".to_owned());
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| format!("TLS: {error}"))?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuers_are_read_or_say_what_is_wrong() {
        assert_eq!(client(Some(b"no PEM")).err().as_deref(), Some("there is no certificate in it"));
        let torn = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
        assert!(client(Some(torn.as_bytes())).is_err_and(|what| what != "there is no certificate in it"));
        assert!(client(None).is_ok());
    }
}
