//! From a password to the keys of one engine (RFC 3414 appendix A.2, RFC 7860 section 9.3).

use super::{AuthKey, AuthProtocol, PrivacyKey, PrivacyProtocol};
use core::fmt;

/// Octets that a password must have (RFC 3414 section 11.2).
pub const PASSWORD_OCTETS_MIN: usize = 8;

/// The key of a password, the same for all engines (Ku). To make it takes milliseconds: keep it. It is not shown.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct MasterKey {
    protocol: AuthProtocol,
    octets: Vec<u8>,
}

/// A password of fewer than [`PASSWORD_OCTETS_MIN`] octets, which agents refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordError;

impl fmt::Display for PasswordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a password of SNMP version 3 has at least {PASSWORD_OCTETS_MIN} characters")
    }
}

impl core::error::Error for PasswordError {}

impl MasterKey {
    /// Hashes a password.
    ///
    /// # Errors
    /// It is too short.
    pub fn new(protocol: AuthProtocol, password: &[u8]) -> Result<MasterKey, PasswordError> {
        if password.len() < PASSWORD_OCTETS_MIN {
            return Err(PasswordError);
        }
        Ok(MasterKey { protocol, octets: protocol.hash_password(password) })
    }

    /// Its octets: as many as the hash has.
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// The key for one engine (Kul).
    pub fn localised(&self, engine_id: &[u8]) -> Vec<u8> {
        self.protocol.hash(&[&self.octets, engine_id, &self.octets])
    }

    /// The key of authentication for one engine.
    pub fn authentication(&self, engine_id: &[u8]) -> AuthKey {
        AuthKey::new(self.protocol, &self.localised(engine_id)).expect("a localised key is as long as the hash")
    }

    /// The octets of a key of privacy for one engine: where the hash is too short for it, lengthened as the protocol
    /// says.
    pub fn privacy_octets(&self, protocol: PrivacyProtocol, engine_id: &[u8]) -> Vec<u8> {
        let mut key = self.localised(engine_id);
        while key.len() < protocol.key_octets() {
            let more = match protocol {
                // Cisco's way (draft-reeder-snmpv3-usm-3desede-00 section 2.1): the key so far is a password.
                PrivacyProtocol::Aes192Cisco | PrivacyProtocol::Aes256Cisco => {
                    let octets = self.protocol.hash_password(&key);
                    MasterKey { protocol: self.protocol, octets }.localised(engine_id)
                }
                // draft-blumenthal-aes-usm-04 section 3.1.2.1: its hash behind it.
                _ => self.protocol.hash(&[&key]),
            };
            key.extend_from_slice(&more);
        }
        key.truncate(protocol.key_octets());
        key
    }

    /// The key of privacy for one engine.
    pub fn privacy(&self, protocol: PrivacyProtocol, engine_id: &[u8]) -> PrivacyKey {
        let octets = self.privacy_octets(protocol, engine_id);
        PrivacyKey::new(protocol, &octets).expect("it was made as long as the protocol wants it")
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({})", self.protocol)
    }
}

/// What messages between a user and an engine are secured with, and so the level of their security.
#[derive(Clone, Debug)]
pub enum Keys {
    /// `noAuthNoPriv`: nothing.
    NoAuthNoPriv,
    /// `authNoPriv`: messages carry a code.
    AuthNoPriv(AuthKey),
    /// `authPriv`: and are encrypted.
    AuthPriv(AuthKey, PrivacyKey),
}

impl Keys {
    /// The key of authentication.
    pub fn authentication(&self) -> Option<&AuthKey> {
        match self {
            Keys::NoAuthNoPriv => None,
            Keys::AuthNoPriv(key) | Keys::AuthPriv(key, _) => Some(key),
        }
    }

    /// The key of privacy.
    pub fn privacy(&self) -> Option<&PrivacyKey> {
        match self {
            Keys::AuthPriv(_, key) => Some(key),
            _ => None,
        }
    }
}
