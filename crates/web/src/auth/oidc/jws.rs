//! Signed tokens: JWS compact serialization (RFC 7515), keys as JWK (RFC 7517), algorithms of RFC 7518 and RFC 8037.
//! Signatures are checked by `ring`, which rustls stands on already.
//!
//! The algorithm must fit the key's own type and be one of a list of public-key algorithms: neither `none` nor a public
//! key taken for a shared secret gets through (RFC 8725, section 3.1).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::signature::{self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};
use serde::Deserialize;

/// Keys of a provider that are looked at.
pub const KEYS_MAX: usize = 64;
/// Octets of a token; a longer one is refused.
pub const TOKEN_OCTETS_MAX: usize = 64 * 1024;

/// A set of keys as a provider publishes it.
#[derive(Deserialize)]
pub struct Jwks {
    keys: Vec<serde_json::Value>,
}

/// One key: the members that are used here.
#[derive(Debug, Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// Keys that signatures are checked with.
#[derive(Debug, Default)]
pub struct Keys(Vec<Key>);

#[derive(Debug)]
struct Key {
    kid: Option<String>,
    alg: Option<String>,
    public: Public,
}

#[derive(Debug)]
enum Public {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// Why a token is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// It has not the shape of a token.
    #[error("it is no signed token")]
    Shape,
    /// Its algorithm is none of ours.
    #[error("its algorithm is none of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA")]
    Algorithm,
    /// It asks for something that is not known here (RFC 7515 section 4.1.11).
    #[error("it has critical parameters that are not known here")]
    Critical,
    /// None of the keys is the one it names.
    #[error("it is signed by a key that the provider does not publish")]
    UnknownKey,
    /// The signature does not fit.
    #[error("its signature does not hold")]
    Signature,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<serde_json::Value>,
}

impl Keys {
    /// Those of a set that can be used; of others nothing is said (RFC 7517 section 5).
    pub fn new(set: &Jwks) -> Self {
        let read = |value: &serde_json::Value| serde_json::from_value::<Jwk>(value.clone()).ok();
        Keys(set.keys.iter().take(KEYS_MAX).filter_map(read).filter_map(key_of).collect())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The payload of a token that one of these keys signed.
    pub fn verify(&self, token: &str) -> Result<Vec<u8>, Wrong> {
        if token.len() > TOKEN_OCTETS_MAX {
            return Err(Wrong::Shape);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(Wrong::Shape)?;
        let (header, payload) = signed.split_once('.').ok_or(Wrong::Shape)?;
        let decode = |part: &str| BASE64.decode(part).map_err(|_| Wrong::Shape);
        let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| Wrong::Shape)?;
        let (payload, signature) = (decode(payload)?, decode(signature)?);
        if header.crit.is_some() {
            return Err(Wrong::Critical);
        }
        if !ALGORITHMS.contains(&header.alg.as_str()) {
            return Err(Wrong::Algorithm);
        }
        let mut wrong = Wrong::UnknownKey;
        for key in self.0.iter().filter(|k| k.may_be(&header)) {
            if key.public.holds(&header.alg, signed.as_bytes(), &signature) {
                return Ok(payload);
            }
            wrong = Wrong::Signature;
        }
        Err(wrong)
    }
}

const ALGORITHMS: [&str; 9] = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];

impl Key {
    fn may_be(&self, header: &Header) -> bool {
        let named = header.kid.is_none() || self.kid == header.kid;
        named && self.alg.as_ref().is_none_or(|alg| *alg == header.alg) && self.public.fits(&header.alg)
    }
}

impl Public {
    fn fits(&self, alg: &str) -> bool {
        match self {
            Public::Rsa { .. } => rsa(alg).is_some(),
            Public::P256(_) => alg == "ES256",
            Public::P384(_) => alg == "ES384",
            Public::Ed25519(_) => alg == "EdDSA",
        }
    }

    fn holds(&self, alg: &str, signed: &[u8], signature: &[u8]) -> bool {
        let (algorithm, point): (&'static dyn VerificationAlgorithm, _) = match self {
            Public::Rsa { n, e } => {
                let public = RsaPublicKeyComponents { n, e };
                return rsa(alg).is_some_and(|parameters| public.verify(parameters, signed, signature).is_ok());
            }
            Public::P256(point) => (&signature::ECDSA_P256_SHA256_FIXED, point),
            Public::P384(point) => (&signature::ECDSA_P384_SHA384_FIXED, point),
            Public::Ed25519(point) => (&signature::ED25519, point),
        };
        self.fits(alg) && UnparsedPublicKey::new(algorithm, point).verify(signed, signature).is_ok()
    }
}

/// RSA keys below 2048 bits are refused by these.
fn rsa(alg: &str) -> Option<&'static RsaParameters> {
    Some(match alg {
        "RS256" => &signature::RSA_PKCS1_2048_8192_SHA256,
        "RS384" => &signature::RSA_PKCS1_2048_8192_SHA384,
        "RS512" => &signature::RSA_PKCS1_2048_8192_SHA512,
        "PS256" => &signature::RSA_PSS_2048_8192_SHA256,
        "PS384" => &signature::RSA_PSS_2048_8192_SHA384,
        "PS512" => &signature::RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

fn key_of(jwk: Jwk) -> Option<Key> {
    if jwk.purpose.as_deref().is_some_and(|purpose| purpose != "sig") {
        return None;
    }
    let octets = |text: &Option<String>| BASE64.decode(text.as_deref()?).ok();
    // SEC 1 section 2.3.3: an uncompressed point.
    let point = |length: usize| {
        let (x, y) = (octets(&jwk.x)?, octets(&jwk.y)?);
        (x.len() == length && y.len() == length).then(|| [&[4], x.as_slice(), &y].concat())
    };
    let public = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
        ("RSA", _) => Public::Rsa { n: significant(octets(&jwk.n)?), e: significant(octets(&jwk.e)?) },
        ("EC", Some("P-256")) => Public::P256(point(32)?),
        ("EC", Some("P-384")) => Public::P384(point(48)?),
        ("OKP", Some("Ed25519")) => Public::Ed25519(octets(&jwk.x)?),
        _ => return None,
    };
    Some(Key { kid: jwk.kid, alg: jwk.alg, public })
}

/// Without leading zeros, which some write in front and `ring` refuses.
fn significant(mut octets: Vec<u8>) -> Vec<u8> {
    let zeros = octets.iter().take_while(|o| **o == 0).count();
    octets.drain(..zeros);
    octets
}

#[cfg(test)]
mod tests;
