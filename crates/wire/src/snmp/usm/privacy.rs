//! Protocols of privacy: DES in CBC (RFC 3414 section 8), AES in CFB (RFC 3826).

use aes::{Aes128Enc, Aes192Enc, Aes256Enc};
use cfb_mode::cipher::generic_array::GenericArray;
use cfb_mode::cipher::{AsyncStreamCipher, BlockDecrypt, BlockEncrypt, InnerIvInit, KeyInit};
use cfb_mode::{Decryptor, Encryptor};
use core::fmt;
use des::Des;

/// Octets of a block of DES, to which what is encrypted is filled up.
pub(super) const DES_BLOCK_OCTETS: usize = 8;

/// A protocol of privacy.
///
/// Field: AES with keys of 192 and 256 bits never became a standard. Most agents lengthen a hash that is too short for
/// them by Blumenthal's draft, Cisco's by Reeder's; with SHA-256 and longer both are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrivacyProtocol {
    /// `usmDESPrivProtocol`.
    Des,
    /// `usmAesCfb128Protocol`.
    Aes128,
    /// 192 bits, Blumenthal's way.
    Aes192,
    /// 192 bits, Cisco's way.
    Aes192Cisco,
    /// 256 bits, Blumenthal's way.
    Aes256,
    /// 256 bits, Cisco's way.
    Aes256Cisco,
}

impl PrivacyProtocol {
    /// All of them.
    pub const ALL: [PrivacyProtocol; 6] = [
        PrivacyProtocol::Des,
        PrivacyProtocol::Aes128,
        PrivacyProtocol::Aes192,
        PrivacyProtocol::Aes192Cisco,
        PrivacyProtocol::Aes256,
        PrivacyProtocol::Aes256Cisco,
    ];

    /// Octets of its keys; of DES with the pre-initialisation vector.
    pub fn key_octets(self) -> usize {
        match self {
            PrivacyProtocol::Des | PrivacyProtocol::Aes128 => 16,
            PrivacyProtocol::Aes192 | PrivacyProtocol::Aes192Cisco => 24,
            PrivacyProtocol::Aes256 | PrivacyProtocol::Aes256Cisco => 32,
        }
    }
}

/// `AES-256`.
impl fmt::Display for PrivacyProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PrivacyProtocol::Des => "DES",
            PrivacyProtocol::Aes128 => "AES",
            PrivacyProtocol::Aes192 => "AES-192",
            PrivacyProtocol::Aes192Cisco => "AES-192-C",
            PrivacyProtocol::Aes256 => "AES-256",
            PrivacyProtocol::Aes256Cisco => "AES-256-C",
        })
    }
}

/// A key of one engine, ready to work. It is not shown.
#[derive(Clone)]
pub struct PrivacyKey {
    protocol: PrivacyProtocol,
    cipher: Box<Cipher>,
}

#[derive(Clone)]
enum Cipher {
    Des { cipher: Des, pre_iv: [u8; 8] },
    Aes128(Aes128Enc),
    Aes192(Aes192Enc),
    Aes256(Aes256Enc),
}

/// What the key alone does not say about how a message is encrypted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nonce {
    /// `msgAuthoritativeEngineBoots`.
    pub boots: u32,
    /// `msgAuthoritativeEngineTime`.
    pub time: u32,
    /// `msgPrivacyParameters`.
    pub salt: [u8; 8],
}

impl PrivacyKey {
    /// Of a key that was localised and lengthened: [`PrivacyProtocol::key_octets`] octets; none if there are fewer.
    pub fn new(protocol: PrivacyProtocol, octets: &[u8]) -> Option<PrivacyKey> {
        let key = octets.get(..protocol.key_octets())?;
        let cipher = match protocol {
            PrivacyProtocol::Des => {
                let (key, pre_iv) = key.split_first_chunk::<8>()?;
                Cipher::Des { cipher: Des::new(key.into()), pre_iv: pre_iv.try_into().ok()? }
            }
            PrivacyProtocol::Aes128 => Cipher::Aes128(Aes128Enc::new_from_slice(key).ok()?),
            PrivacyProtocol::Aes192 | PrivacyProtocol::Aes192Cisco => {
                Cipher::Aes192(Aes192Enc::new_from_slice(key).ok()?)
            }
            PrivacyProtocol::Aes256 | PrivacyProtocol::Aes256Cisco => {
                Cipher::Aes256(Aes256Enc::new_from_slice(key).ok()?)
            }
        };
        Some(PrivacyKey { protocol, cipher: Box::new(cipher) })
    }

    /// Its protocol.
    pub fn protocol(&self) -> PrivacyProtocol {
        self.protocol
    }

    /// `msgPrivacyParameters` for a number that the sender uses once.
    pub(super) fn salt(&self, boots: u32, number: u64) -> [u8; 8] {
        match self.protocol {
            // RFC 3414 section 8.1.1.1: the boots and 32 bits of one's own.
            PrivacyProtocol::Des => (u64::from(boots) << 32 | number & 0xffff_ffff).to_be_bytes(),
            _ => number.to_be_bytes(),
        }
    }

    /// What is encrypted is filled up to a multiple of this.
    pub(super) fn block_octets(&self) -> usize {
        if self.protocol == PrivacyProtocol::Des { DES_BLOCK_OCTETS } else { 1 }
    }

    /// Encrypts in place. The length has to be a multiple of [`Self::block_octets`].
    pub(super) fn encrypt(&self, octets: &mut [u8], nonce: &Nonce) {
        let iv = &nonce.iv().into();
        match self.cipher.as_ref() {
            Cipher::Des { cipher, pre_iv } => des_encrypt(cipher, exclusive_or(*pre_iv, nonce.salt), octets),
            Cipher::Aes128(cipher) => Encryptor::inner_iv_init(cipher.clone(), iv).encrypt(octets),
            Cipher::Aes192(cipher) => Encryptor::inner_iv_init(cipher.clone(), iv).encrypt(octets),
            Cipher::Aes256(cipher) => Encryptor::inner_iv_init(cipher.clone(), iv).encrypt(octets),
        }
    }

    /// Decrypts in place; says whether the octets can be what was encrypted at all.
    pub(super) fn decrypt(&self, octets: &mut [u8], nonce: &Nonce) -> bool {
        let iv = &nonce.iv().into();
        if !octets.len().is_multiple_of(self.block_octets()) {
            return false;
        }
        match self.cipher.as_ref() {
            Cipher::Des { cipher, pre_iv } => des_decrypt(cipher, exclusive_or(*pre_iv, nonce.salt), octets),
            Cipher::Aes128(cipher) => Decryptor::inner_iv_init(cipher.clone(), iv).decrypt(octets),
            Cipher::Aes192(cipher) => Decryptor::inner_iv_init(cipher.clone(), iv).decrypt(octets),
            Cipher::Aes256(cipher) => Decryptor::inner_iv_init(cipher.clone(), iv).decrypt(octets),
        }
        true
    }
}

impl Nonce {
    /// The initialisation vector of AES (RFC 3826 section 3.1.2.1).
    fn iv(&self) -> [u8; 16] {
        let engine = u64::from(self.boots) << 32 | u64::from(self.time);
        (u128::from(engine) << 64 | u128::from(u64::from_be_bytes(self.salt))).to_be_bytes()
    }
}

fn exclusive_or(a: [u8; 8], b: [u8; 8]) -> [u8; 8] {
    (u64::from_be_bytes(a) ^ u64::from_be_bytes(b)).to_be_bytes()
}

fn des_encrypt(cipher: &Des, iv: [u8; 8], octets: &mut [u8]) {
    let mut previous = iv;
    for block in octets.chunks_exact_mut(DES_BLOCK_OCTETS) {
        block.iter_mut().zip(previous).for_each(|(octet, mask)| *octet ^= mask);
        cipher.encrypt_block(GenericArray::from_mut_slice(block));
        previous.copy_from_slice(block);
    }
}

fn des_decrypt(cipher: &Des, iv: [u8; 8], octets: &mut [u8]) {
    let mut previous = iv;
    for block in octets.chunks_exact_mut(DES_BLOCK_OCTETS) {
        let mut encrypted = [0; DES_BLOCK_OCTETS];
        encrypted.copy_from_slice(block);
        cipher.decrypt_block(GenericArray::from_mut_slice(block));
        block.iter_mut().zip(previous).for_each(|(octet, mask)| *octet ^= mask);
        previous = encrypted;
    }
}

impl fmt::Debug for PrivacyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivacyKey({})", self.protocol)
    }
}
