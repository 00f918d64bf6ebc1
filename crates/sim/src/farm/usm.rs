//! The user-based security model (RFC 3414, RFC 7860, RFC 3826), by this crate alone: users, keys, codes and ciphers.

use aes::cipher::generic_array::GenericArray;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use sha2::Digest;
use std::sync::OnceLock;

/// What all users authenticate themselves with.
pub const AUTHENTICATION_PASSWORD: &str = "farm authentication";
/// What all users who encrypt do so with.
pub const PRIVACY_PASSWORD: &str = "farm privacy";
/// Octets of `msgPrivacyParameters`.
pub const SALT_OCTETS: usize = 8;
/// A password is repeated until it has as many octets (RFC 3414 section A.2).
const PASSWORD_OCTETS: usize = 1 << 20;

/// How messages are authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

impl Hash {
    const ALL: [(&'static str, Hash); 6] = [
        ("md5", Hash::Md5),
        ("sha1", Hash::Sha1),
        ("sha224", Hash::Sha224),
        ("sha256", Hash::Sha256),
        ("sha384", Hash::Sha384),
        ("sha512", Hash::Sha512),
    ];

    /// Octets of a code in a message: RFC 3414 sections 6.3.1 and 7.3.1, RFC 7860 section 4.2.
    pub fn code_octets(self) -> usize {
        match self {
            Hash::Md5 | Hash::Sha1 => 12,
            Hash::Sha224 => 16,
            Hash::Sha256 => 24,
            Hash::Sha384 => 32,
            Hash::Sha512 => 48,
        }
    }

    fn block_octets(self) -> usize {
        if matches!(self, Hash::Sha384 | Hash::Sha512) { 128 } else { 64 }
    }

    fn of(self, parts: &[&[u8]]) -> Vec<u8> {
        fn digest<D: Digest>(parts: &[&[u8]]) -> Vec<u8> {
            parts.iter().fold(D::new(), |hash, part| hash.chain_update(part)).finalize().to_vec()
        }
        match self {
            Hash::Md5 => digest::<md5::Md5>(parts),
            Hash::Sha1 => digest::<sha1::Sha1>(parts),
            Hash::Sha224 => digest::<sha2::Sha224>(parts),
            Hash::Sha256 => digest::<sha2::Sha256>(parts),
            Hash::Sha384 => digest::<sha2::Sha384>(parts),
            Hash::Sha512 => digest::<sha2::Sha512>(parts),
        }
    }

    /// The code of a message (RFC 2104), as long as it is sent.
    pub fn code(self, key: &[u8], message: &[u8]) -> Vec<u8> {
        let padded = |pad: u8| {
            let mut block = vec![pad; self.block_octets()];
            block.iter_mut().zip(key).for_each(|(octet, key)| *octet ^= key);
            block
        };
        let inner = self.of(&[&padded(0x36), message]);
        let mut code = self.of(&[&padded(0x5c), &inner]);
        code.truncate(self.code_octets());
        code
    }

    /// The key of a password, before it is an engine's.
    fn master(self, password: &str) -> Vec<u8> {
        let long: Vec<u8> = password.bytes().cycle().take(PASSWORD_OCTETS).collect();
        self.of(&[&long])
    }

    fn localised(self, master: &[u8], engine: &[u8]) -> Vec<u8> {
        self.of(&[master, engine, master])
    }
}

/// How messages are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    Des,
    Aes128,
    Aes192,
    Aes256,
}

impl Cipher {
    const ALL: [(&'static str, Cipher); 4] =
        [("des", Cipher::Des), ("aes128", Cipher::Aes128), ("aes192", Cipher::Aes192), ("aes256", Cipher::Aes256)];

    fn key_octets(self) -> usize {
        match self {
            Cipher::Des | Cipher::Aes128 => 16,
            Cipher::Aes192 => 24,
            Cipher::Aes256 => 32,
        }
    }

    /// What the registers begin with: RFC 3414 section 8.1.1.1, RFC 3826 section 3.1.2.1.
    fn first(self, key: &[u8], [boots, time]: [u32; 2], salt: [u8; SALT_OCTETS]) -> Vec<u8> {
        match self {
            Cipher::Des => key[8..].iter().zip(salt).map(|(key, salt)| key ^ salt).collect(),
            _ => [&boots.to_be_bytes()[..], &time.to_be_bytes(), &salt].concat(),
        }
    }

    /// Encrypts what `octets` hold; DES fills its last block.
    pub fn seal(self, key: &[u8], clock: [u32; 2], salt: [u8; SALT_OCTETS], octets: &mut Vec<u8>) {
        let mut register = self.first(key, clock, salt);
        if self == Cipher::Des {
            let des = des::Des::new(GenericArray::from_slice(&key[..8]));
            octets.resize(octets.len().next_multiple_of(8), 0);
            for block in octets.chunks_mut(8) {
                block.iter_mut().zip(&register).for_each(|(octet, before)| *octet ^= before);
                des.encrypt_block(GenericArray::from_mut_slice(block));
                register.copy_from_slice(block);
            }
            return;
        }
        let next = self.feedback(key);
        for block in octets.chunks_mut(16) {
            next(&mut register);
            block.iter_mut().zip(&register).for_each(|(octet, mask)| *octet ^= mask);
            register[..block.len()].copy_from_slice(block);
        }
    }

    /// Decrypts; none if it cannot be something encrypted.
    pub fn open(self, key: &[u8], clock: [u32; 2], salt: [u8; SALT_OCTETS], sealed: &[u8]) -> Option<Vec<u8>> {
        let (mut register, mut octets) = (self.first(key, clock, salt), sealed.to_vec());
        if self == Cipher::Des {
            let des = des::Des::new(GenericArray::from_slice(&key[..8]));
            for (block, sealed) in octets.chunks_mut(8).zip(sealed.chunks(8)) {
                if block.len() < 8 {
                    return None;
                }
                des.decrypt_block(GenericArray::from_mut_slice(block));
                block.iter_mut().zip(&register).for_each(|(octet, before)| *octet ^= before);
                register.copy_from_slice(sealed);
            }
            return Some(octets);
        }
        let next = self.feedback(key);
        for (block, sealed) in octets.chunks_mut(16).zip(sealed.chunks(16)) {
            next(&mut register);
            block.iter_mut().zip(&register).for_each(|(octet, mask)| *octet ^= mask);
            register[..sealed.len()].copy_from_slice(sealed);
        }
        Some(octets)
    }

    fn feedback(self, key: &[u8]) -> Feedback {
        fn block<C: BlockEncrypt + KeyInit + 'static>(key: &[u8]) -> Feedback {
            let cipher = C::new(GenericArray::from_slice(key));
            Box::new(move |register| cipher.encrypt_block(GenericArray::from_mut_slice(register)))
        }
        match self {
            Cipher::Aes192 => block::<aes::Aes192>(key),
            Cipher::Aes256 => block::<aes::Aes256>(key),
            Cipher::Aes128 | Cipher::Des => block::<aes::Aes128>(key),
        }
    }
}

/// What becomes of the register in each turn of CFB.
type Feedback = Box<dyn Fn(&mut [u8])>;

/// Who asks: `open`, or named by what he does, `sha256` or `sha256-aes128`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    pub hash: Option<Hash>,
    pub cipher: Option<Cipher>,
}

impl User {
    /// The user of a name.
    pub fn named(name: &[u8]) -> Option<User> {
        let name = core::str::from_utf8(name).ok()?;
        if name == "open" {
            return Some(User { hash: None, cipher: None });
        }
        let (hash, cipher) = name.split_once('-').map_or((name, None), |(hash, cipher)| (hash, Some(cipher)));
        let hash = Hash::ALL.iter().find(|(known, _)| *known == hash).map(|(_, hash)| *hash)?;
        let found = cipher.and_then(|name| Cipher::ALL.iter().find(|(known, _)| *known == name));
        (cipher.is_some() == found.is_some())
            .then(|| User { hash: Some(hash), cipher: found.map(|(_, cipher)| *cipher) })
    }
}

/// Keys of the passwords, made when they are first needed: each takes a million octets to hash.
#[derive(Debug, Default)]
pub struct Masters([[OnceLock<Vec<u8>>; 2]; Hash::ALL.len()]);

impl Masters {
    fn of(&self, hash: Hash, is_privacy: bool) -> &[u8] {
        let password = if is_privacy { PRIVACY_PASSWORD } else { AUTHENTICATION_PASSWORD };
        self.0[hash as usize][usize::from(is_privacy)].get_or_init(|| hash.master(password))
    }

    /// The key of authentication for an engine.
    pub fn authentication(&self, hash: Hash, engine: &[u8]) -> Vec<u8> {
        hash.localised(self.of(hash, false), engine)
    }

    /// The key of privacy for an engine; where the hash is too short for it, lengthened as by
    /// draft-blumenthal-aes-usm-04 section 3.1.2.1.
    pub fn privacy(&self, hash: Hash, cipher: Cipher, engine: &[u8]) -> Vec<u8> {
        let mut key = hash.localised(self.of(hash, true), engine);
        while key.len() < cipher.key_octets() {
            key.extend(hash.of(&[&key]));
        }
        key.truncate(cipher.key_octets());
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_rfc_3414_appendix_a3() {
        let engine = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
        let key = |hash: Hash| hash.localised(&hash.master("maplesyrup"), &engine);
        let md5 = [0x52, 0x6f, 0x5e, 0xed, 0x9f, 0xcc, 0xe2, 0x6f, 0x89, 0x64, 0xc2, 0x93, 0x07, 0x87, 0xd8, 0x2b];
        assert_eq!(key(Hash::Md5), md5);
        assert_eq!(key(Hash::Sha1)[..8], [0x66, 0x95, 0xfe, 0xbc, 0x92, 0x88, 0xe3, 0x62]);
    }

    #[test]
    fn what_is_sealed_is_opened_with_the_same_key_and_clock_alone() {
        let masters = Masters::default();
        let text: Vec<u8> = (0..77).collect();
        for (_, cipher) in Cipher::ALL {
            let key = masters.privacy(Hash::Sha1, cipher, b"engine");
            let mut sealed = text.clone();
            cipher.seal(&key, [3, 4], [5; 8], &mut sealed);
            assert_ne!(sealed[..77], text[..]);
            assert_eq!(cipher.open(&key, [3, 4], [5; 8], &sealed).unwrap()[..77], text[..]);
            assert_ne!(cipher.open(&key, [3, 4], [6; 8], &sealed).unwrap()[..77], text[..]);
        }
    }

    #[test]
    fn users_are_named_by_what_they_do() {
        let user = |hash, cipher| Some(User { hash, cipher });
        assert_eq!(User::named(b"open"), user(None, None));
        assert_eq!(User::named(b"md5"), user(Some(Hash::Md5), None));
        assert_eq!(User::named(b"sha512-aes256"), user(Some(Hash::Sha512), Some(Cipher::Aes256)));
        for nobody in ["", "-", "md5-", "md5-rot13", "-des", "des", "open-des"] {
            assert_eq!(User::named(nobody.as_bytes()), None, "{nobody}");
        }
    }
}
