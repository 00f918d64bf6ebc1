//! What devices are asked with. Kept apart from all else, and never printed.

use super::slots::Slots;
use core::fmt;
use trunkline_kit::octets::Octets;
use trunkline_kit::{octet_fields, octet_variants, octet_words};

/// Octets that nobody prints.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Secret(Box<[u8]>);

impl Secret {
    /// Of octets.
    pub fn new(octets: &[u8]) -> Secret {
        Secret(octets.into())
    }

    /// The octets, for the one place that sends them or makes a key of them.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Octets for Secret {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        Octets::take(from).map(Secret)
    }
}

/// A credential by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// The name.
    pub name: Box<str>,
    /// What it says.
    pub login: Login,
}

/// What a credential says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Login {
    /// A community (SNMP v1 and v2c).
    Community {
        /// It.
        community: Secret,
    },
    /// A user of the user-based security model (RFC 3414).
    User {
        /// Its name.
        user: Box<str>,
        /// How messages are authenticated.
        authentication: Authentication,
        /// With what: a password.
        authentication_password: Secret,
        /// How they are encrypted.
        privacy: Privacy,
        /// With what: a password.
        privacy_password: Secret,
        /// contextName.
        context: Box<str>,
    },
    /// User and password (HTTP).
    Password {
        /// The user.
        user: Box<str>,
        /// The password.
        password: Secret,
    },
    /// A token (HTTP, `Authorization: Bearer`).
    Token {
        /// It.
        token: Secret,
    },
}

/// How messages of SNMPv3 are authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Authentication {
    /// They are not.
    None,
    /// HMAC-MD5-96 (RFC 3414).
    Md5,
    /// HMAC-SHA-96 (RFC 3414).
    Sha1,
    /// HMAC-128-SHA-224 (RFC 7860).
    Sha224,
    /// HMAC-192-SHA-256 (RFC 7860).
    Sha256,
    /// HMAC-256-SHA-384 (RFC 7860).
    Sha384,
    /// HMAC-384-SHA-512 (RFC 7860).
    Sha512,
}

/// How messages of SNMPv3 are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Privacy {
    /// They are not.
    None,
    /// CBC-DES (RFC 3414).
    Des,
    /// CFB128-AES-128 (RFC 3826).
    Aes128,
    /// CFB128-AES-192, keys as net-snmp makes them (Blumenthal's way).
    Aes192,
    /// CFB128-AES-256, keys as net-snmp makes them (Blumenthal's way).
    Aes256,
    /// CFB128-AES-192, keys as Cisco makes them (Reeder's way).
    Aes192Cisco,
    /// CFB128-AES-256, keys as Cisco makes them (Reeder's way).
    Aes256Cisco,
}

octet_fields! { Credential { name, login } }
octet_words! {
    Authentication { 0 => None, 1 => Md5, 2 => Sha1, 3 => Sha224, 4 => Sha256, 5 => Sha384, 6 => Sha512 }
    Privacy { 0 => None, 1 => Des, 2 => Aes128, 3 => Aes192, 4 => Aes256, 5 => Aes192Cisco, 6 => Aes256Cisco }
}
octet_variants! {
    Login {
        1 => Community { community }
        2 => User { user, authentication, authentication_password, privacy, privacy_password, context }
        3 => Password { user, password }
        4 => Token { token }
    }
}

impl Login {
    /// What of it is not secret, for people: which kind, and which user.
    pub fn describe(&self) -> String {
        match self {
            Login::Community { .. } => "community".to_owned(),
            Login::User { user, authentication, privacy, .. } => {
                let words = [format!("{authentication:?}"), format!("{privacy:?}")].map(|word| word.to_lowercase());
                format!("user {user}, {}", words.join(", "))
            }
            Login::Password { user, .. } => format!("user {user}, password"),
            Login::Token { .. } => "token".to_owned(),
        }
    }

    /// What is wrong with it, if anything: privacy needs authentication (RFC 3414 section 1.4.3), and passwords of
    /// SNMPv3 have eight octets at least (section 11.2).
    pub(super) fn wrong(&self) -> Option<&'static str> {
        match self {
            Login::Community { community } if community.0.is_empty() => Some("a community is not empty"),
            Login::User { user, .. } if user.is_empty() || user.len() > 32 => Some("a user has 1 to 32 octets"),
            Login::User { authentication: Authentication::None, privacy, .. } if *privacy != Privacy::None => {
                Some("privacy needs authentication")
            }
            Login::User { authentication, authentication_password, privacy, privacy_password, .. } => {
                let short = |used: bool, password: &Secret| used && password.0.len() < 8;
                let wrong = short(*authentication != Authentication::None, authentication_password)
                    || short(*privacy != Privacy::None, privacy_password);
                wrong.then_some("a password of SNMPv3 has eight octets at least")
            }
            _ => None,
        }
    }
}

/// All credentials.
pub type Credentials = Slots<Credential>;
