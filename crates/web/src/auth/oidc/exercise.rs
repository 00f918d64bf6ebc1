//! What the fuzz targets drive: tokens and sets of keys, beside keys and signatures of RFC 7515 and RFC 8037.

use super::claims::{Claims, SUBJECT_OCTETS_MAX};
use super::jws::{Jwks, KEYS_MAX, Keys};
use super::{OidcOptions, nonce_of, own_page, page_of};
use crate::auth::role::Role;
use crate::auth::users::{DISPLAY_NAME_CHARACTERS_MAX, NAME_CHARACTERS_MAX};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::sync::LazyLock;

/// Public keys of RFC 7515 A.1 to A.3 and of RFC 8037 A.1; one of them is a shared secret, which is not for us.
pub const KEYS: &str = include_str!("exercise/keys.json");
/// Tokens that those signed, a line each: A.2, A.3 and RFC 8037 A.4.
pub const TOKENS: &str = include_str!("exercise/tokens.txt");
/// A token with the right HMAC of the shared secret (A.1).
pub const SHARED: &str = include_str!("exercise/shared.txt");
/// When claims are looked at, nanoseconds since 1970.
const NOW_NS: i64 = 1_300_819_000_000_000_000;

/// A token: it is believed only if it is one of those that were signed. So is one of any head (a line) and claims, with
/// the signatures of those. Then the same octets as claims: who they tell of has names that may be shown and kept.
pub fn token(octets: &[u8]) {
    static PUBLISHED: LazyLock<Keys> = LazyLock::new(|| keys_of(KEYS.as_bytes()));
    let text = String::from_utf8_lossy(octets);
    let token = text.trim_end();
    let end = octets.iter().position(|octet| *octet == b'\n').unwrap_or(octets.len());
    let (head, said) = (&octets[..end], octets.get(end + 1..).unwrap_or_default());
    let signatures = TOKENS.lines().chain([SHARED.trim_end(), "."]).filter_map(|token| token.rsplit_once('.'));
    let made = signatures.map(|(_, signature)| {
        let [head, said] = [head, said].map(|part| URL_SAFE_NO_PAD.encode(part));
        format!("{head}.{said}.{signature}")
    });
    for token in made.chain([token.to_owned()]) {
        // The signature of an elliptic curve may be another one that holds: what was signed is the same.
        let signed = |token: &str| token.rsplit_once('.').map(|(signed, _)| signed.to_owned());
        let is_known = || TOKENS.lines().any(|known| signed(known) == signed(&token));
        assert!(PUBLISHED.verify(&token).is_err() || is_known(), "{token}");
    }
    let page = own_page(token);
    assert!(page.starts_with('/') && !page.starts_with("//") && !page.contains(['\\', '\n', '\r']));
    let of_cookie = page_of(Some(token));
    assert_eq!(own_page(&of_cookie), of_cookie);
    claims(octets);
}

fn claims(octets: &[u8]) {
    let Ok(claims) = Claims::parse(octets) else { return };
    let mut options = OidcOptions::new("joe", "trunkline");
    options.roles = vec![("noc".to_owned(), Role::Support)];
    if let Ok(claimed) = claims.claimed(&options) {
        assert!((1..=SUBJECT_OCTETS_MAX).contains(&claimed.subject.len()) && claimed.issuer == "joe");
        assert!((1..=NAME_CHARACTERS_MAX).contains(&claimed.name.len()) && claimed.name.is_ascii());
        assert!(claimed.name.starts_with(|c: char| c.is_ascii_alphanumeric()));
        assert!(claimed.display_name.chars().count() <= DISPLAY_NAME_CHARACTERS_MAX);
        assert!(!claimed.display_name.contains(char::is_control));
    }
    // What was made for another sign-in is never for this one.
    let nonce = nonce_of("a cookie");
    if claims.check(&options, &nonce, NOW_NS).is_ok() {
        assert!(String::from_utf8_lossy(octets).contains(&nonce[..8]) || octets.contains(&b'\\'));
    }
}

/// A set of keys: no octets do harm, and under none of them a token is believed that has no signature, or whose
/// signature is that of a shared secret.
pub fn keys(octets: &[u8]) {
    let keys = keys_of(octets);
    assert!(keys.count() <= KEYS_MAX);
    let unsigned = TOKENS.lines().filter_map(|token| token.rsplit_once('.')).map(|(signed, _)| format!("{signed}."));
    for token in unsigned.chain([SHARED.trim_end().to_owned()]) {
        assert!(keys.verify(&token).is_err(), "{token}");
    }
    let believed = TOKENS.lines().filter(|token| keys.verify(token).is_ok()).count();
    // Who believes has read a key, and a key that is read is believed again.
    assert!(believed == 0 || keys.count() > 0);
    assert_eq!(TOKENS.lines().filter(|token| keys_of(octets).verify(token).is_ok()).count(), believed);
}

/// The keys of a set; none where there is no set.
fn keys_of(octets: &[u8]) -> Keys {
    serde_json::from_slice::<Jwks>(octets).map(|set| Keys::new(&set)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_are_those_of_the_tokens() {
        let keys = keys_of(KEYS.as_bytes());
        assert_eq!((keys.count(), TOKENS.lines().count()), (3, 3));
        assert!(TOKENS.lines().all(|token| keys.verify(token).is_ok()) && keys.verify(SHARED.trim_end()).is_err());
    }
}
