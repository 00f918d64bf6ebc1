//! Secrets: 256 random bits as text outside, their SHA-256 inside. What was stored gives nobody a way in.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::RngCore as _;
use sha2::{Digest as _, Sha256};
use std::fmt;

/// Octets of chance in a secret.
pub const SECRET_OCTETS: usize = 32;

/// A secret that is shown once. It never prints itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A new one: 43 characters of A-Z, a-z, 0-9, `-`, `_`.
    pub fn fresh() -> Self {
        Secret::with_prefix("")
    }

    /// A new one behind a prefix that says what it is.
    pub fn with_prefix(prefix: &str) -> Self {
        let mut octets = [0u8; SECRET_OCTETS];
        rand::rng().fill_bytes(&mut octets);
        Secret(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(octets)))
    }

    /// One that was got from outside.
    pub fn given(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    /// The secret itself, for whoever it is meant for.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// What is stored of a secret. 256 bits of chance need no salt and no slow hash.
pub(crate) fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// A value derived from a secret for one purpose, from which neither the secret nor its [`digest`] can be told.
pub(crate) fn derived(purpose: &str, secret: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(purpose.as_bytes());
    hash.update([0]);
    hash.update(secret.as_bytes());
    URL_SAFE_NO_PAD.encode(hash.finalize())
}

/// Whether two texts are the same, in a time that does not tell where they differ.
pub(crate) fn same(a: &str, b: &str) -> bool {
    use subtle::ConstantTimeEq as _;
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

/// A short public name for something whose secret stays hidden: 16 hexadecimal digits.
pub(crate) fn handle() -> String {
    format!("{:016x}", rand::rng().next_u64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_do_not_print() {
        let (a, b) = (Secret::fresh(), Secret::with_prefix("tl_"));
        assert_ne!(a, b);
        assert_eq!(a.expose().len(), 43);
        assert!(b.expose().starts_with("tl_"));
        assert_eq!(format!("{a:?}"), "Secret(..)");
        assert!(!same(a.expose(), b.expose()));
        assert_ne!(derived("csrf", "x"), derived("state", "x"));
    }
}
