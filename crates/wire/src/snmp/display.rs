//! Messages as text for people: one line.

use super::{Cause, Contents, Exchange, Kind, Message, Pdu, ScopedPdu, TrapV1, V3, Value, Varbind, Varbinds, Version};
use core::fmt;

/// Variables that are shown.
const SHOWN_VARBINDS_MAX: usize = 8;
/// Octets of a string that are shown.
const SHOWN_OCTETS_MAX: usize = 64;

/// `v2c response 16909060: 1.3.6.1.2.1.1.3.0 = TimeTicks 4711`; the community is a secret and is left out.
impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Community { version: Version::V1, pdu, .. } => write!(f, "v1 {pdu}"),
            Message::Community { version: Version::V2c, pdu, .. } => write!(f, "v2c {pdu}"),
            Message::V3(message) => message.fmt(f),
        }
    }
}

/// `v3 authPriv reportable msgID 16909060 of poller at 80001f88...: 51 octets encrypted`.
impl fmt::Display for V3<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = Octets(self.security.user);
        write!(f, "v3 {} msgID {} of {user} at {}: ", self.flags, self.message_id, Hex(self.security.engine_id))?;
        match &self.data {
            Contents::Plain(scoped) => scoped.fmt(f),
            Contents::Encrypted(octets) => write!(f, "{} octets encrypted", octets.len()),
        }
    }
}

/// The PDU, and the context where it has a name.
impl fmt::Display for ScopedPdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.context_name.is_empty() {
            write!(f, "context {} ", Octets(self.context_name))?;
        }
        self.pdu.fmt(f)
    }
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pdu::Exchange(exchange) => exchange.fmt(f),
            Pdu::TrapV1(trap) => trap.fmt(f),
        }
    }
}

impl fmt::Display for Exchange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.request_id)?;
        match self.kind {
            Kind::GetBulk => {
                write!(f, " non-repeaters {} max-repetitions {}", self.error_status, self.error_index)?;
            }
            _ if self.error_status != 0 => write!(f, " {} at {}", self.status(), self.error_index)?,
            _ => {}
        }
        let first = self.varbinds.clone().next().and_then(Result::ok).filter(|_| self.kind == Kind::Report);
        if let Some(cause) = first.and_then(|first| Cause::from_name(first.name)) {
            write!(f, " {cause}")?;
        }
        self.varbinds.fmt(f)
    }
}

impl fmt::Display for TrapV1<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.agent;
        let TrapV1 { enterprise, generic, specific, uptime, .. } = self;
        write!(f, "trap {generic} {specific} of {enterprise} at {a}.{b}.{c}.{d} up {uptime}{}", self.varbinds)
    }
}

/// `: NAME = VALUE, NAME = VALUE`, or nothing if there are none.
impl fmt::Display for Varbinds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, varbind) in (*self).take(SHOWN_VARBINDS_MAX).enumerate() {
            f.write_str(if n == 0 { ": " } else { ", " })?;
            match varbind {
                Ok(varbind) => varbind.fmt(f)?,
                Err(error) => write!(f, "({error})")?,
            }
        }
        match self.skip(SHOWN_VARBINDS_MAX).count() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// `1.3.6.1.2.1.1.3.0 = TimeTicks 4711`; of requests the name alone.
impl fmt::Display for Varbind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Value::Null => self.name.fmt(f),
            value => write!(f, "{} = {value}", self.name),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Get => "get",
            Kind::GetNext => "get-next",
            Kind::Response => "response",
            Kind::Set => "set",
            Kind::TrapV1 => "trap",
            Kind::GetBulk => "get-bulk",
            Kind::Inform => "inform",
            Kind::TrapV2 => "trap",
            Kind::Report => "report",
        })
    }
}

/// `Counter32 5`, `"text"`, `0x00ff`; what says that there is no value by its name.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.type_name();
        match *self {
            Value::Integer(number) => number.fmt(f),
            Value::OctetString(octets) => Octets(octets).fmt(f),
            Value::ObjectId(oid) => oid.fmt(f),
            Value::IpAddress([a, b, c, d]) => write!(f, "{a}.{b}.{c}.{d}"),
            Value::Counter32(number) | Value::Gauge32(number) | Value::TimeTicks(number) => {
                write!(f, "{name} {number}")
            }
            Value::Opaque(octets) => write!(f, "{name} {}", Hex(octets)),
            Value::Float(number) => write!(f, "{name} {number}"),
            Value::Double(number) => write!(f, "{name} {number}"),
            Value::Integer64(number) => write!(f, "{name} {number}"),
            Value::Unsigned64(number) | Value::Counter64(number) => write!(f, "{name} {number}"),
            Value::Null | Value::NoSuchObject | Value::NoSuchInstance | Value::EndOfMibView => f.write_str(name),
        }
    }
}

/// Text in quotation marks where all of it is text, else hexadecimal.
struct Octets<'a>(&'a [u8]);

impl fmt::Display for Octets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_text = |text: &&str| !text.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r'));
        let Some(text) = core::str::from_utf8(self.0).ok().filter(is_text) else { return Hex(self.0).fmt(f) };
        let end =
            text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= SHOWN_OCTETS_MAX).last();
        let shown = &text[..end.unwrap_or(0)];
        write!(f, "{shown:?}{}", if shown.len() < text.len() { "..." } else { "" })
    }
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.0.iter().take(SHOWN_OCTETS_MAX).try_for_each(|octet| write!(f, "{octet:02x}"))?;
        f.write_str(if self.0.len() > SHOWN_OCTETS_MAX { "..." } else { "" })
    }
}
