//! Messages of version 3 as they lie (RFC 3412 section 6, RFC 3414 section 2.4).

use super::super::ber::{Reader, tag};
use super::super::{Layer, Problem, ScopedPdu, SnmpError};
use super::{SECURITY_MODEL, Sealed};
use core::fmt;

/// `msgFlags`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

/// A message of version 3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct V3<'a> {
    /// What a response has in common with its request.
    pub message_id: i32,
    /// Octets of the longest message that the sender takes.
    pub size_max: u32,
    /// How it is secured, and whether what is wrong with it may be reported.
    pub flags: Flags,
    /// Whose message it is.
    pub security: Parameters<'a>,
    /// What it says.
    pub data: Contents<'a>,
    /// Where in the message that lies which secures it.
    pub sealed: Sealed,
}

/// `UsmSecurityParameters`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters<'a> {
    /// The engine whose clock and keys count; empty where the sender does not know it.
    pub engine_id: &'a [u8],
    /// How often that engine has started.
    pub boots: u32,
    /// Seconds since then.
    pub time: u32,
    /// The user's name.
    pub user: &'a [u8],
    /// The code of authentication, or nothing.
    pub authentication: &'a [u8],
    /// The salt, or nothing.
    pub privacy: &'a [u8],
}

/// `msgData`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Contents<'a> {
    /// It can be read.
    Plain(ScopedPdu<'a>),
    /// It has to be opened first ([`Sealed::open`]).
    Encrypted(&'a [u8]),
}

impl Flags {
    /// The message carries a code of authentication.
    pub const AUTHENTICATED: u8 = 1;
    /// What it says is encrypted.
    pub const ENCRYPTED: u8 = 2;
    /// Who cannot take it shall say so.
    pub const REPORTABLE: u8 = 4;

    /// Whether it has this flag.
    pub fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }
}

/// `authPriv reportable`.
impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.has(Flags::AUTHENTICATED), self.has(Flags::ENCRYPTED)) {
            (false, false) => "noAuthNoPriv",
            (true, false) => "authNoPriv",
            (true, true) => "authPriv",
            // RFC 3412 section 7.2 forbids it.
            (false, true) => "noAuthPriv",
        })?;
        if self.has(Flags::REPORTABLE) { f.write_str(" reportable") } else { Ok(()) }
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<'a> V3<'a> {
    /// Reads what follows the version.
    pub(in crate::snmp) fn read(mut reader: Reader<'a>) -> Result<V3<'a>, SnmpError> {
        let message_end = reader.at() + reader.rest().len();
        let (message_id, size_max, flags) = header(&mut reader)?;
        let security = reader.expect(Layer::Security, tag::OCTET_STRING)?;
        let (security, authentication_at) = Parameters::read(security.reader())?;
        let data = reader.element(Layer::Scoped)?;
        let sealed = Sealed {
            message_end,
            flags,
            authentication: (authentication_at, security.authentication.len()),
            privacy: security.privacy.try_into().ok(),
            engine: (security.boots, security.time),
            data: (data.value_at, data.value.len()),
        };
        let data = match data.tag {
            tag::OCTET_STRING => Contents::Encrypted(data.value),
            tag::SEQUENCE => Contents::Plain(ScopedPdu::read(&data)?),
            other => return Err(data.wrong(Layer::Scoped, Problem::Type(other))),
        };
        Ok(V3 { message_id, size_max, flags, security, data, sealed })
    }
}

/// `msgID`, `msgMaxSize`, `msgFlags`.
fn header(reader: &mut Reader<'_>) -> Result<(i32, u32, Flags), SnmpError> {
    let mut header = reader.expect(Layer::Header, tag::SEQUENCE)?.reader();
    let message_id = header.number(Layer::Header)?;
    let size_max = header.number(Layer::Header)?;
    let flags = header.expect(Layer::Header, tag::OCTET_STRING)?;
    let at = header.at();
    if header.number::<u32>(Layer::Header)? != SECURITY_MODEL {
        return Err(SnmpError { layer: Layer::Header, at, problem: Problem::Form });
    }
    match flags.value {
        [flags_octet] => Ok((message_id, size_max, Flags(*flags_octet))),
        _ => Err(flags.wrong(Layer::Header, Problem::Form)),
    }
}

impl<'a> Parameters<'a> {
    /// They, and where the code of authentication lies.
    fn read(mut reader: Reader<'a>) -> Result<(Parameters<'a>, usize), SnmpError> {
        let mut reader = reader.expect(Layer::Security, tag::SEQUENCE)?.reader();
        let engine_id = reader.octet_string(Layer::Security)?;
        let boots = reader.number(Layer::Security)?;
        let time = reader.number(Layer::Security)?;
        let user = reader.octet_string(Layer::Security)?;
        let authentication = reader.expect(Layer::Security, tag::OCTET_STRING)?;
        let privacy = reader.octet_string(Layer::Security)?;
        let parameters = Parameters { engine_id, boots, time, user, authentication: authentication.value, privacy };
        Ok((parameters, authentication.value_at))
    }
}
