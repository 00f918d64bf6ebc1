//! Sealing messages of version 3 and opening them, in place (RFC 3414 sections 3.1 and 3.2).

use super::super::ber::{self, Reader, tag};
use super::super::{Layer, ScopedPdu};
use super::message::{Flags, V3};
use super::privacy::Nonce;
use super::{Keys, SECURITY_MODEL};
use core::fmt;
use core::ops::Range;

/// The number of this version in a message.
const VERSION: i64 = 3;

/// Where in a message that lies which secures it: all that is needed to open it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    pub(super) message_end: usize,
    pub(super) flags: Flags,
    /// The place and octets of the code of authentication.
    pub(super) authentication: (usize, usize),
    /// The salt, if it is as long as one.
    pub(super) privacy: Option<[u8; 8]>,
    /// Boots and time.
    pub(super) engine: (u32, u32),
    /// The place and octets of what may be encrypted.
    pub(super) data: (usize, usize),
}

/// Why a message was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpenError {
    /// It is secured otherwise than the keys are for: an answer at a lower level is not one.
    Level,
    /// It was not made with this key, or was changed on its way.
    WrongDigest,
    /// What is encrypted cannot be.
    Decryption,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OpenError::Level => "it is secured at another level than was asked for",
            OpenError::WrongDigest => "its code of authentication is not that of the key",
            OpenError::Decryption => "what it says cannot be decrypted",
        })
    }
}

impl core::error::Error for OpenError {}

impl Sealed {
    /// Checks the code of authentication of `message`, the very octets that were read, and decrypts what is encrypted
    /// where it lies. Gives the place of what [`ScopedPdu::new`] reads then, unless the message was plain: then it was
    /// read already.
    ///
    /// # Errors
    /// Why it is not what it says it is; the octets are as they were.
    pub fn open(&self, message: &mut [u8], keys: &Keys) -> Result<Option<Range<usize>>, OpenError> {
        if self.flags.has(Flags::AUTHENTICATED) != keys.authentication().is_some()
            || self.flags.has(Flags::ENCRYPTED) != keys.privacy().is_some()
        {
            return Err(OpenError::Level);
        }
        let message = message.get_mut(..self.message_end).ok_or(OpenError::WrongDigest)?;
        if let Some(key) = keys.authentication() {
            let (at, octets) = self.authentication;
            if !key.verify(message, at..at + octets) {
                return Err(OpenError::WrongDigest);
            }
        }
        let Some(key) = keys.privacy() else { return Ok(None) };
        let place = self.data.0..self.data.0 + self.data.1;
        let data = message.get_mut(place.clone()).ok_or(OpenError::Decryption)?;
        let nonce = self.nonce(self.privacy.ok_or(OpenError::Decryption)?);
        if key.decrypt(data, &nonce) { Ok(Some(place)) } else { Err(OpenError::Decryption) }
    }

    fn nonce(&self, salt: [u8; 8]) -> Nonce {
        Nonce { boots: self.engine.0, time: self.engine.1, salt }
    }
}

/// A message of version 3 that is about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// What the response will have in common with it; from [`REQUEST_ID_MIN`](crate::snmp::REQUEST_ID_MIN) on.
    pub message_id: i32,
    /// Octets of the longest message that the sender takes: 484 and more.
    pub size_max: u32,
    /// Whether what is wrong with it shall be reported: with requests.
    pub is_reportable: bool,
    /// The engine whose clock and keys count; empty to ask for it.
    pub engine_id: &'a [u8],
    /// How often that engine has started.
    pub boots: u32,
    /// Seconds since then.
    pub time: u32,
    /// The user's name.
    pub user: &'a [u8],
    /// A number that is never used twice with one key: the salt.
    pub salt: u64,
    /// What it says.
    pub scoped: ScopedPdu<'a>,
}

impl Outgoing<'_> {
    /// Appends the message, encrypted and with its code, as far as the keys go.
    pub fn seal(&self, keys: &Keys, out: &mut Vec<u8>) {
        let start = out.len();
        let message = ber::open(out, tag::SEQUENCE);
        ber::write_integer(out, tag::INTEGER, VERSION);
        self.write_header(keys, out);
        self.write_security(keys, out);
        self.write_data(keys, out);
        ber::close(out, message);
        secure(&mut out[start..], keys);
    }

    fn write_header(&self, keys: &Keys, out: &mut Vec<u8>) {
        let flags = [
            (Flags::AUTHENTICATED, keys.authentication().is_some()),
            (Flags::ENCRYPTED, keys.privacy().is_some()),
            (Flags::REPORTABLE, self.is_reportable),
        ];
        let flags = flags.iter().filter(|(_, has)| *has).fold(0, |flags, (flag, _)| flags | flag);
        let header = ber::open(out, tag::SEQUENCE);
        ber::write_integer(out, tag::INTEGER, self.message_id.into());
        ber::write_integer(out, tag::INTEGER, self.size_max.into());
        ber::write(out, tag::OCTET_STRING, &[flags]);
        ber::write_integer(out, tag::INTEGER, SECURITY_MODEL.into());
        ber::close(out, header);
    }

    fn write_security(&self, keys: &Keys, out: &mut Vec<u8>) {
        let octets = ber::open(out, tag::OCTET_STRING);
        let parameters = ber::open(out, tag::SEQUENCE);
        ber::write(out, tag::OCTET_STRING, self.engine_id);
        ber::write_integer(out, tag::INTEGER, self.boots.into());
        ber::write_integer(out, tag::INTEGER, self.time.into());
        ber::write(out, tag::OCTET_STRING, self.user);
        let code = ber::open(out, tag::OCTET_STRING);
        out.resize(out.len() + keys.authentication().map_or(0, |key| key.protocol().code_octets()), 0);
        ber::close(out, code);
        let salt = keys.privacy().map(|key| key.salt(self.boots, self.salt));
        ber::write(out, tag::OCTET_STRING, salt.as_ref().map_or(&[], |salt| salt));
        ber::close(out, parameters);
        ber::close(out, octets);
    }

    fn write_data(&self, keys: &Keys, out: &mut Vec<u8>) {
        let Some(key) = keys.privacy() else { return self.scoped.write(out) };
        let data = ber::open(out, tag::OCTET_STRING);
        let from = out.len();
        self.scoped.write(out);
        let octets = (out.len() - from).next_multiple_of(key.block_octets());
        out.resize(from + octets, 0);
        ber::close(out, data);
    }
}

/// Encrypts and signs a message that is complete but for that. It is read for the places of what that changes, which
/// lengths of several octets have moved.
fn secure(message: &mut [u8], keys: &Keys) {
    let Some(authentication) = keys.authentication() else { return };
    let mut reader = Reader::new(message, 0);
    let sealed = reader.expect(Layer::Message, tag::SEQUENCE).and_then(|message| {
        let mut reader = message.reader();
        reader.number::<i64>(Layer::Message)?;
        V3::read(reader).map(|read| read.sealed)
    });
    let Ok(sealed) = sealed else { return };
    if let (Some(key), Some(salt)) = (keys.privacy(), sealed.privacy) {
        let (at, octets) = sealed.data;
        key.encrypt(&mut message[at..at + octets], &sealed.nonce(salt));
    }
    let (at, octets) = sealed.authentication;
    authentication.sign(message, at..at + octets);
}
