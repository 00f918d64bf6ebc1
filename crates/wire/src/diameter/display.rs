//! Messages as text for people.
//!
//! `{}` is one line for ladders and logs; `{:#}` adds a line for each AVP, groups indented.

use super::dictionary::{self, Format, avp};
use super::enumerated::RequestType;
use super::{Avp, Avps, Header, Message, NESTING_MAX, command, flag, result_code};
use core::fmt;

/// Octets of text or of an OctetString that are shown.
const SHOWN_OCTETS_MAX: usize = 256;

/// `CCR-U 3 of gw.example;1;2`, `CCA-U 3 of gw.example;1;2: 2001 DIAMETER_SUCCESS`, `DWR`.
impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Name(&self.header))?;
        let number = |key| self.avps().find(key).and_then(|avp| avp.unsigned32().ok());
        if let Some(kind) = number(avp::CC_REQUEST_TYPE).and_then(RequestType::from_number) {
            write!(f, "-{}", &kind.to_string()[..1])?;
        }
        if let Some(count) = number(avp::CC_REQUEST_NUMBER) {
            write!(f, " {count}")?;
        }
        if let Some(session) = self.avps().find(avp::SESSION_ID) {
            write!(f, " of {}", Text(session.data()))?;
        }
        if let Some(result) = number(avp::RESULT_CODE) {
            write!(f, ": {result} {}", result_code::name(result).unwrap_or("unknown result"))?;
        }
        if f.alternate() {
            writeln!(f, "\n  {}", Identifiers(&self.header))?;
            tree(f, self.avps(), 1)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The command: `CCR`, `command 316 request`; an answer with the E bit says so.
struct Name<'a>(&'a Header);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = self.0.is_request();
        match command::name(self.0.command) {
            Some((_, letters)) => write!(f, "{letters}{}", if request { 'R' } else { 'A' })?,
            None => write!(f, "command {} {}", self.0.command, if request { "request" } else { "answer" })?,
        }
        if self.0.is_error() { f.write_str(" (error)") } else { Ok(()) }
    }
}

/// Application, identifiers and flags.
struct Identifiers<'a>(&'a Header);

impl fmt::Display for Identifiers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Header { flags, application, hop_by_hop, end_to_end, .. } = *self.0;
        write!(f, "application {application}, hop-by-hop {hop_by_hop:#010x}, end-to-end {end_to_end:#010x}, flags ")?;
        let letters = [(flag::REQUEST, 'R'), (flag::PROXIABLE, 'P'), (flag::ERROR, 'E'), (flag::RETRANSMITTED, 'T')];
        letters.iter().try_for_each(|(bit, letter)| write!(f, "{}", if flags & bit == 0 { '-' } else { *letter }))
    }
}

/// A line for each AVP, two blanks for each level.
fn tree(f: &mut fmt::Formatter<'_>, avps: Avps<'_>, level: usize) -> fmt::Result {
    for avp in avps {
        match avp {
            Ok(avp) => line(f, &avp, level)?,
            Err(failure) => writeln!(f, "{:width$}cut here: {failure}", "", width = 2 * level)?,
        }
    }
    Ok(())
}

fn line(f: &mut fmt::Formatter<'_>, avp: &Avp<'_>, level: usize) -> fmt::Result {
    write!(f, "{:width$}{}", "", avp.key, width = 2 * level)?;
    match dictionary::find(avp.key) {
        Some(definition) if definition.is_group() && level < NESTING_MAX => {
            writeln!(f)?;
            tree(f, avp.group(), level + 1)
        }
        Some(definition) => writeln!(f, ": {}", Shown(avp, definition.format)),
        None => writeln!(f, ": {}", Shown(avp, Format::Octets)),
    }
}

/// The value of an AVP.
struct Shown<'a>(&'a Avp<'a>, Format);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.typed(f).ok();
        shown.unwrap_or_else(|| write!(f, "{} (not of its type)", Octets(self.0.data())))
    }
}

impl<'a> Shown<'a> {
    /// Writes it as its type says; an error where it is not of that type.
    fn typed(&self, f: &mut fmt::Formatter<'_>) -> Result<fmt::Result, super::Failure<'a>> {
        let Shown(avp, format) = *self;
        Ok(match format {
            Format::Text | Format::Identity | Format::Uri | Format::FilterRule => {
                avp.text()?;
                write!(f, "{}", Text(avp.data()))
            }
            Format::Unsigned32 | Format::Enumerated => write!(f, "{}", avp.unsigned32()?),
            Format::Named(names) => named(f, avp.unsigned32()?, names),
            Format::Unsigned64 => write!(f, "{}", avp.unsigned64()?),
            Format::Integer32 => write!(f, "{}", avp.integer32()?),
            Format::Integer64 => write!(f, "{}", avp.integer64()?),
            Format::Time => write!(f, "{}", avp.time()?),
            Format::Address => write!(f, "{}", avp.address()?),
            Format::Octets | Format::Grouped => write!(f, "{}", Octets(avp.data())),
        })
    }
}

fn named(f: &mut fmt::Formatter<'_>, number: u32, names: &[(u32, &str)]) -> fmt::Result {
    match names.iter().find(|(n, _)| *n == number) {
        Some((_, name)) => write!(f, "{number} {name}"),
        None => write!(f, "{number}"),
    }
}

/// Text of strangers: what could move a terminal's cursor is escaped.
struct Text<'a>(&'a [u8]);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(SHOWN_OCTETS_MAX)];
        for c in String::from_utf8_lossy(shown).chars() {
            if c.is_control() { write!(f, "{}", c.escape_default())? } else { write!(f, "{c}")? }
        }
        more(f, self.0)
    }
}

/// Octets in hexadecimal.
struct Octets<'a>(&'a [u8]);

impl fmt::Display for Octets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(SHOWN_OCTETS_MAX)];
        shown.iter().try_for_each(|octet| write!(f, "{octet:02x}"))?;
        more(f, self.0)
    }
}

fn more(f: &mut fmt::Formatter<'_>, octets: &[u8]) -> fmt::Result {
    match octets.len().checked_sub(SHOWN_OCTETS_MAX).filter(|left| *left > 0) {
        Some(left) => write!(f, "... {left} octets more"),
        None => Ok(()),
    }
}
