//! Protocols of authentication: HMAC, cut to its first octets (RFC 3414 sections 6 and 7, RFC 7860 section 4).

use core::fmt;
use core::ops::Range;
use hmac::{Hmac, Mac as _};
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};

/// The longest that a message carries: of SHA-512.
const CODE_OCTETS_MAX: usize = 48;
/// How much of a password, repeated, is hashed (RFC 3414 appendix A.2).
const PASSWORD_OCTETS: usize = 1 << 20;

/// A protocol of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AuthProtocol {
    /// `usmHMACMD5AuthProtocol`.
    Md5,
    /// `usmHMACSHAAuthProtocol`.
    Sha1,
    /// `usmHMAC128SHA224AuthProtocol`.
    Sha224,
    /// `usmHMAC192SHA256AuthProtocol`.
    Sha256,
    /// `usmHMAC256SHA384AuthProtocol`.
    Sha384,
    /// `usmHMAC384SHA512AuthProtocol`.
    Sha512,
}

/// Does the same with whatever hash a protocol has.
macro_rules! with_hash {
    ($protocol:expr, $hash:ident => $body:expr) => {
        match $protocol {
            AuthProtocol::Md5 => {
                type $hash = Md5;
                $body
            }
            AuthProtocol::Sha1 => {
                type $hash = Sha1;
                $body
            }
            AuthProtocol::Sha224 => {
                type $hash = Sha224;
                $body
            }
            AuthProtocol::Sha256 => {
                type $hash = Sha256;
                $body
            }
            AuthProtocol::Sha384 => {
                type $hash = Sha384;
                $body
            }
            AuthProtocol::Sha512 => {
                type $hash = Sha512;
                $body
            }
        }
    };
}

impl AuthProtocol {
    /// All of them, the weakest first.
    pub const ALL: [AuthProtocol; 6] = [
        AuthProtocol::Md5,
        AuthProtocol::Sha1,
        AuthProtocol::Sha224,
        AuthProtocol::Sha256,
        AuthProtocol::Sha384,
        AuthProtocol::Sha512,
    ];

    /// Octets of its hash, and so of its keys.
    pub fn key_octets(self) -> usize {
        with_hash!(self, Hash => <Hash as Digest>::output_size())
    }

    /// Octets of the code that a message carries.
    pub fn code_octets(self) -> usize {
        match self {
            AuthProtocol::Md5 | AuthProtocol::Sha1 => 12,
            AuthProtocol::Sha224 => 16,
            AuthProtocol::Sha256 => 24,
            AuthProtocol::Sha384 => 32,
            AuthProtocol::Sha512 => CODE_OCTETS_MAX,
        }
    }

    /// The hash of a password, repeated to a megabyte. `password` must not be empty.
    pub(super) fn hash_password(self, password: &[u8]) -> Vec<u8> {
        let block = password.repeat(64);
        with_hash!(self, Hash => {
            let mut hash = Hash::new();
            let mut left = PASSWORD_OCTETS;
            while left > 0 {
                let taken = left.min(block.len());
                hash.update(&block[..taken]);
                left -= taken;
            }
            hash.finalize().to_vec()
        })
    }

    /// The hash of parts one behind the other.
    pub(super) fn hash(self, parts: &[&[u8]]) -> Vec<u8> {
        with_hash!(self, Hash => {
            let mut hash = Hash::new();
            parts.iter().for_each(|part| hash.update(part));
            hash.finalize().to_vec()
        })
    }
}

/// `SHA-256`.
impl fmt::Display for AuthProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AuthProtocol::Md5 => "MD5",
            AuthProtocol::Sha1 => "SHA",
            AuthProtocol::Sha224 => "SHA-224",
            AuthProtocol::Sha256 => "SHA-256",
            AuthProtocol::Sha384 => "SHA-384",
            AuthProtocol::Sha512 => "SHA-512",
        })
    }
}

/// A key of one engine, ready to work. It is not shown.
#[derive(Clone)]
pub struct AuthKey {
    protocol: AuthProtocol,
    mac: Box<Mac>,
}

/// HMAC with its key taken in: what is hashed of a key is hashed once.
#[derive(Clone)]
enum Mac {
    Md5(Hmac<Md5>),
    Sha1(Hmac<Sha1>),
    Sha224(Hmac<Sha224>),
    Sha256(Hmac<Sha256>),
    Sha384(Hmac<Sha384>),
    Sha512(Hmac<Sha512>),
}

/// Does the same with whatever HMAC a key has.
macro_rules! with_mac {
    ($mac:expr, $bound:ident => $body:expr) => {
        match $mac {
            Mac::Md5($bound) => $body,
            Mac::Sha1($bound) => $body,
            Mac::Sha224($bound) => $body,
            Mac::Sha256($bound) => $body,
            Mac::Sha384($bound) => $body,
            Mac::Sha512($bound) => $body,
        }
    };
}

impl AuthKey {
    /// Of a key that was localised: [`AuthProtocol::key_octets`] octets; none if there are fewer.
    pub fn new(protocol: AuthProtocol, localised: &[u8]) -> Option<AuthKey> {
        let key = localised.get(..protocol.key_octets())?;
        let mac = match protocol {
            AuthProtocol::Md5 => Mac::Md5(Hmac::new_from_slice(key).ok()?),
            AuthProtocol::Sha1 => Mac::Sha1(Hmac::new_from_slice(key).ok()?),
            AuthProtocol::Sha224 => Mac::Sha224(Hmac::new_from_slice(key).ok()?),
            AuthProtocol::Sha256 => Mac::Sha256(Hmac::new_from_slice(key).ok()?),
            AuthProtocol::Sha384 => Mac::Sha384(Hmac::new_from_slice(key).ok()?),
            AuthProtocol::Sha512 => Mac::Sha512(Hmac::new_from_slice(key).ok()?),
        };
        Some(AuthKey { protocol, mac: Box::new(mac) })
    }

    /// Its protocol.
    pub fn protocol(&self) -> AuthProtocol {
        self.protocol
    }

    /// Writes the code of a whole message to its place in it.
    pub(super) fn sign(&self, message: &mut [u8], code: Range<usize>) {
        message[code.clone()].fill(0);
        with_mac!(self.mac.as_ref(), mac => {
            let whole = mac.clone().chain_update(&*message).finalize().into_bytes();
            let octets = code.len();
            message[code].copy_from_slice(&whole[..octets]);
        });
    }

    /// Whether the code in a whole message is its own. Takes the same time wherever they differ.
    pub(super) fn verify(&self, message: &[u8], code: Range<usize>) -> bool {
        const ZEROS: [u8; CODE_OCTETS_MAX] = [0; CODE_OCTETS_MAX];
        let octets = self.protocol.code_octets();
        let (Some(before), Some(told), Some(behind)) =
            (message.get(..code.start), message.get(code.clone()), message.get(code.end..))
        else {
            return false;
        };
        told.len() == octets
            && with_mac!(self.mac.as_ref(), mac => {
                let whole = mac.clone().chain_update(before).chain_update(&ZEROS[..octets]).chain_update(behind);
                whole.verify_truncated_left(told).is_ok()
            })
    }
}

impl fmt::Debug for AuthKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AuthKey({})", self.protocol)
    }
}
