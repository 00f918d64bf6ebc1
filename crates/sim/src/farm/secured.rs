//! Version 3 of a device: messages of RFC 3412, let in or refused as RFC 3414 section 3.2 has it.
//!
//! Nothing is kept here either: the engine is named by the device's address, its boots are the device's starts and its
//! time is `sysUpTime`. What a report counts is told as 1.

use super::ber::{self, tag};
use super::mib::View;
use super::usm::{SALT_OCTETS, User};

/// `msgSecurityModel` of RFC 3414.
const USM: i64 = 3;
/// Seconds by which clocks may differ (RFC 3414 section 2.2.3).
const WINDOW_S: u32 = 150;
/// Octets of a message beside its variables, at most: codes of 48 octets, names and lengths.
const BESIDE_OCTETS: usize = 256;
/// An engine named by an IPv4 address (RFC 3411 section 5, `SnmpEngineID`), of the enterprise that the devices are of.
const ENGINE: [u8; 5] = [0x80, 0x00, 0x1f, 0x88, 0x01];
const REPORT: u8 = 0xa8;
/// `authorizationError` (RFC 3416 section 3).
pub const AUTHORIZATION_ERROR: u32 = 16;

mod flag {
    pub const AUTHENTICATED: u8 = 1;
    pub const PRIVATE: u8 = 2;
    pub const REPORTABLE: u8 = 4;
}

/// What a report is about: what follows 1.3.6.1.6.3 in its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cause(&'static [u32]);

impl Cause {
    const UNSUPPORTED_LEVEL: Cause = Cause(&[15, 1, 1, 1, 0]);
    const NOT_IN_TIME_WINDOW: Cause = Cause(&[15, 1, 1, 2, 0]);
    const UNKNOWN_USER: Cause = Cause(&[15, 1, 1, 3, 0]);
    const UNKNOWN_ENGINE: Cause = Cause(&[15, 1, 1, 4, 0]);
    const WRONG_DIGEST: Cause = Cause(&[15, 1, 1, 5, 0]);
    const DECRYPTION: Cause = Cause(&[15, 1, 1, 6, 0]);
    const UNKNOWN_CONTEXT: Cause = Cause(&[12, 1, 5, 0]);
}

/// Why a message is not answered.
enum Refusal {
    /// It is none, or nothing that an answer could be given to.
    Silent,
    /// This is said, by that level.
    Report(Cause, u8),
}

/// A message, as far as it is read before it is opened.
struct Incoming<'a> {
    id: i64,
    octets_max: usize,
    flags: u8,
    engine: &'a [u8],
    clock: [u32; 2],
    name: &'a [u8],
    code: &'a [u8],
    salt: &'a [u8],
    /// Type and contents: a scoped PDU, or what is one when it is decrypted.
    data: (u8, &'a [u8]),
}

impl<'a> Incoming<'a> {
    fn read(mut datagram: &'a [u8]) -> Option<Incoming<'a>> {
        let mut message = ber::take_of(&mut datagram, tag::SEQUENCE)?;
        ber::take_integer(&mut message)?;
        let mut head = ber::take_of(&mut message, tag::SEQUENCE)?;
        let (id, octets_max) = (ber::take_integer(&mut head)?, ber::take_integer(&mut head)?);
        let &[flags] = ber::take_of(&mut head, tag::OCTET_STRING)? else { return None };
        let model = ber::take_integer(&mut head)?;
        let mut security = ber::take_of(&mut message, tag::OCTET_STRING)?;
        let mut security = ber::take_of(&mut security, tag::SEQUENCE)?;
        let engine = ber::take_of(&mut security, tag::OCTET_STRING)?;
        let mut clock = [0; 2];
        for part in &mut clock {
            *part = ber::take_integer(&mut security)?.try_into().ok()?;
        }
        let mut text = || ber::take_of(&mut security, tag::OCTET_STRING);
        let (name, code, salt) = (text()?, text()?, text()?);
        let octets_max = usize::try_from(octets_max).ok()?;
        // Encrypted but not authenticated is no level (RFC 3412 section 7.2, step 5d).
        let is_level = flags & (flag::AUTHENTICATED | flag::PRIVATE) != flag::PRIVATE;
        (model == USM && is_level).then_some(())?;
        Some(Incoming { id, octets_max, flags, engine, clock, name, code, salt, data: ber::take(&mut message)? })
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn level(&self) -> u8 {
        self.flags & (flag::AUTHENTICATED | flag::PRIVATE)
    }

    /// The message as it was when its code was made: with noughts in place of that.
    fn without_code(&self, datagram: &[u8]) -> Vec<u8> {
        let at = self.code.as_ptr() as usize - datagram.as_ptr() as usize;
        let mut octets = datagram.to_vec();
        octets[at..at + self.code.len()].fill(0);
        octets
    }
}

impl View<'_> {
    fn engine(&self) -> [u8; 9] {
        let mut engine = [0; 9];
        engine[..5].copy_from_slice(&ENGINE);
        engine[5..].copy_from_slice(&self.farm.address(self.device).octets());
        engine
    }

    /// Its starts, and seconds since the last one.
    fn clock(&self) -> [u32; 2] {
        [self.state.boots, (self.state.uptime_ms / 1000) as u32 & 0x7fff_ffff]
    }

    /// Appends the answer to a message of version 3. Another `luck` makes another salt.
    pub fn secured(&self, datagram: &[u8], luck: u64, out: &mut Vec<u8>) -> Option<()> {
        let message = Incoming::read(datagram)?;
        let (pdu, level) = match self.open(&message, datagram) {
            Ok((scoped, user)) => (self.response(&message, &scoped, user)?, message.level()),
            Err(Refusal::Report(cause, level)) if message.has(flag::REPORTABLE) => (report(&message, cause), level),
            Err(_) => return None,
        };
        let mut scoped = Vec::with_capacity(pdu.len() + 32);
        ber::put(&mut scoped, tag::OCTET_STRING, &self.engine());
        ber::put(&mut scoped, tag::OCTET_STRING, &[]);
        scoped.extend(pdu);
        ber::wrap(&mut scoped, 0, tag::SEQUENCE);
        self.put_message(&message, level, luck, scoped, out);
        Some(())
    }

    /// The scoped PDU's contents, and who asks.
    fn open(&self, message: &Incoming<'_>, datagram: &[u8]) -> Result<(Vec<u8>, User), Refusal> {
        let refuse = |cause| Err(Refusal::Report(cause, 0));
        if message.engine != self.engine() {
            return refuse(Cause::UNKNOWN_ENGINE);
        }
        let Some(user) = User::named(message.name) else { return refuse(Cause::UNKNOWN_USER) };
        let lacks = |flag, has: bool| message.has(flag) && !has;
        if lacks(flag::AUTHENTICATED, user.hash.is_some()) || lacks(flag::PRIVATE, user.cipher.is_some()) {
            return refuse(Cause::UNSUPPORTED_LEVEL);
        }
        if let Some(hash) = user.hash.filter(|_| message.has(flag::AUTHENTICATED)) {
            let key = self.farm.masters.authentication(hash, &self.engine());
            if message.code != hash.code(&key, &message.without_code(datagram)) {
                return refuse(Cause::WRONG_DIGEST);
            }
            let [boots, time] = self.clock();
            if message.clock[0] != boots || message.clock[1].abs_diff(time) > WINDOW_S {
                return Err(Refusal::Report(Cause::NOT_IN_TIME_WINDOW, flag::AUTHENTICATED));
            }
        }
        let whole = match (message.data, user.hash, user.cipher) {
            ((tag::OCTET_STRING, sealed), Some(hash), Some(cipher)) if message.has(flag::PRIVATE) => {
                let key = self.farm.masters.privacy(hash, cipher, &self.engine());
                let salt: Result<[u8; SALT_OCTETS], _> = message.salt.try_into();
                let opened = salt.ok().and_then(|salt| cipher.open(&key, message.clock, salt, sealed));
                let opened = opened.ok_or(Refusal::Report(Cause::DECRYPTION, flag::AUTHENTICATED))?;
                ber::take_of(&mut opened.as_slice(), tag::SEQUENCE).map(<[u8]>::to_vec)
            }
            ((tag::SEQUENCE, plain), ..) if !message.has(flag::PRIVATE) => Some(plain.to_vec()),
            _ => None,
        };
        Ok((whole.ok_or(Refusal::Silent)?, user))
    }

    /// The PDU that answers; one of a report where what is asked for is another engine's.
    fn response(&self, message: &Incoming<'_>, mut scoped: &[u8], user: User) -> Option<Vec<u8>> {
        let engine = ber::take_of(&mut scoped, tag::OCTET_STRING)?;
        let context = ber::take_of(&mut scoped, tag::OCTET_STRING)?;
        if engine != self.engine() || !context.is_empty() {
            return message.has(flag::REPORTABLE).then(|| report(message, Cause::UNKNOWN_CONTEXT));
        }
        let asks_as_he_must = message.has(flag::AUTHENTICATED) == user.hash.is_some()
            && message.has(flag::PRIVATE) == user.cipher.is_some();
        let octets_max = self.octets_max().min(message.octets_max).saturating_sub(BESIDE_OCTETS);
        let mut pdu = Vec::with_capacity(1024);
        self.answer_pdu(scoped, 3, octets_max, (!asks_as_he_must).then_some(AUTHORIZATION_ERROR), &mut pdu)?;
        Some(pdu)
    }

    fn put_message(&self, asked: &Incoming<'_>, level: u8, luck: u64, mut scoped: Vec<u8>, out: &mut Vec<u8>) {
        let user = User::named(asked.name).filter(|_| level & flag::AUTHENTICATED != 0);
        let (engine, clock, salt) = (self.engine(), self.clock(), luck.to_be_bytes());
        let cipher = user.and_then(|user| Some((user.hash?, user.cipher?))).filter(|_| level & flag::PRIVATE != 0);
        if let Some((hash, cipher)) = cipher {
            cipher.seal(&self.farm.masters.privacy(hash, cipher, &engine), clock, salt, &mut scoped);
            ber::wrap(&mut scoped, 0, tag::OCTET_STRING);
        }
        let salt = if cipher.is_some() { &salt[..] } else { &[] };
        let hash = user.and_then(|user| user.hash);
        let code = vec![0; hash.map_or(0, |hash| hash.code_octets())];
        let begun = out.len();
        ber::put_integer(out, tag::INTEGER, 3);
        let head = out.len();
        ber::put_integer(out, tag::INTEGER, asked.id);
        ber::put_integer(out, tag::INTEGER, 65_507);
        ber::put(out, tag::OCTET_STRING, &[level]);
        ber::put_integer(out, tag::INTEGER, USM);
        ber::wrap(out, head, tag::SEQUENCE);
        let security = out.len();
        ber::put(out, tag::OCTET_STRING, &engine);
        clock.iter().for_each(|part| ber::put_integer(out, tag::INTEGER, i64::from(*part)));
        ber::put(out, tag::OCTET_STRING, asked.name);
        ber::put(out, tag::OCTET_STRING, &code);
        ber::put(out, tag::OCTET_STRING, salt);
        ber::wrap(out, security, tag::SEQUENCE);
        ber::wrap(out, security, tag::OCTET_STRING);
        out.extend_from_slice(&scoped);
        ber::wrap(out, begun, tag::SEQUENCE);
        let Some(hash) = hash else { return };
        // The code is before the salt and what follows it, whatever heads came before it.
        let at = out.len() - scoped.len() - (2 + salt.len()) - code.len();
        let made = hash.code(&self.farm.masters.authentication(hash, &engine), &out[begun..]);
        out[at..at + made.len()].copy_from_slice(&made);
    }
}

/// The PDU of a report. Whose request could be read has its number told.
fn report(message: &Incoming<'_>, Cause(name): Cause) -> Vec<u8> {
    let mut variables = Vec::new();
    ber::put_name(&mut variables, &[&[1, 3, 6, 1, 6, 3][..], name].concat());
    ber::put_unsigned(&mut variables, tag::COUNTER32, 1);
    ber::wrap(&mut variables, 0, tag::SEQUENCE);
    let mut pdu = Vec::new();
    ber::put_integer(&mut pdu, tag::INTEGER, plain_request(message).unwrap_or(0));
    ber::put_integer(&mut pdu, tag::INTEGER, 0);
    ber::put_integer(&mut pdu, tag::INTEGER, 0);
    ber::put(&mut pdu, tag::SEQUENCE, &variables);
    ber::wrap(&mut pdu, 0, REPORT);
    pdu
}

fn plain_request(message: &Incoming<'_>) -> Option<i64> {
    let (tag::SEQUENCE, mut scoped) = message.data else { return None };
    ber::take_of(&mut scoped, tag::OCTET_STRING)?;
    ber::take_of(&mut scoped, tag::OCTET_STRING)?;
    let (_, mut pdu) = ber::take(&mut scoped)?;
    ber::take_integer(&mut pdu)
}
