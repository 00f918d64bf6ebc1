//! What is wrong with a message, and the Failed-AVP that says so (RFC 6733 section 7.5).

use super::dictionary::{self, avp::FAILED_AVP};
use super::{Avp, Key, Writer, result_code};
use core::fmt;

/// Groups around the offending AVP that are told; those further out are left out.
const GROUPS_MAX: usize = 6;

/// Octets of an offending AVP that are sent back; of a longer one its header goes, as of one whose length is wrong.
const OFFENCE_OCTETS_MAX: usize = 4096;

/// The AVP that offends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offence<'a> {
    /// It is the message as a whole.
    Message,
    /// This one, header and data as they came.
    Avp(&'a [u8]),
    /// One that cannot be located: what there is from its header on.
    Header(&'a [u8]),
    /// One that is not there.
    Missing(Key),
}

/// What is wrong with a message: the result code of its answer and what Failed-AVP has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure<'a> {
    /// See [`result_code`].
    pub result: u32,
    /// The AVP that offends.
    pub offence: Offence<'a>,
    groups: [Key; GROUPS_MAX],
    depth: u8,
}

impl<'a> Failure<'a> {
    const fn new(result: u32, offence: Offence<'a>) -> Failure<'a> {
        Failure { result, offence, groups: [Key::ietf(0); GROUPS_MAX], depth: 0 }
    }

    /// Of the message as a whole.
    pub const fn of_message(result: u32) -> Failure<'a> {
        Failure::new(result, Offence::Message)
    }

    /// Of an AVP.
    #[cold]
    pub fn of_avp(result: u32, avp: &Avp<'a>) -> Failure<'a> {
        Failure::new(result, Offence::Avp(avp.octets()))
    }

    /// Of an AVP that cannot be located, from its header on.
    #[cold]
    pub fn of_header(result: u32, octets: &'a [u8]) -> Failure<'a> {
        Failure::new(result, Offence::Header(octets))
    }

    /// DIAMETER_MISSING_AVP.
    #[cold]
    pub const fn missing(key: Key) -> Failure<'a> {
        Failure::new(result_code::MISSING_AVP, Offence::Missing(key))
    }

    /// The same, inside a group.
    #[cold]
    pub fn within(mut self, group: Key) -> Failure<'a> {
        if let Some(place) = self.groups.get_mut(usize::from(self.depth)) {
            *place = group;
            self.depth += 1;
        }
        self
    }

    /// The groups around the offending AVP, the innermost first.
    pub fn groups(&self) -> &[Key] {
        &self.groups[..usize::from(self.depth)]
    }

    /// The code of the offending AVP, as far as it can be read.
    pub fn key(&self) -> Option<Key> {
        match self.offence {
            Offence::Message => None,
            Offence::Missing(key) => Some(key),
            Offence::Avp(octets) | Offence::Header(octets) => Some(key_of(&header(octets))),
        }
    }

    /// Appends the Failed-AVP, if there is one: the groups around the offending AVP with that alone in them. A missing
    /// one, and one whose length is wrong, gets the least octets that its type has, all zero (sections 7.1.5 and 7.5).
    pub fn write(&self, writer: &mut Writer<'_>) {
        if self.offence == Offence::Message {
            return;
        }
        let failed = writer.open(FAILED_AVP);
        let mut open = [None; GROUPS_MAX];
        for (place, group) in open.iter_mut().zip(self.groups().iter().rev()) {
            *place = Some(writer.open(*group));
        }
        self.write_offence(writer);
        open.into_iter().rev().flatten().for_each(|group| writer.close(group));
        writer.close(failed);
    }

    fn write_offence(&self, writer: &mut Writer<'_>) {
        match self.offence {
            Offence::Message => {}
            Offence::Missing(key) => writer.octets(key, &ZEROS[..least_octets(key)]),
            Offence::Avp(octets) if octets.len() <= OFFENCE_OCTETS_MAX => writer.copy(octets),
            Offence::Avp(octets) | Offence::Header(octets) => {
                let header = header(octets);
                let key = key_of(&header);
                writer.octets_flagged(key, header[4], &ZEROS[..least_octets(key)]);
            }
        }
    }
}

const ZEROS: [u8; 16] = [0; 16];

/// Data octets that an AVP has at least, by its type; none for one that is unknown.
fn least_octets(key: Key) -> usize {
    dictionary::find(key).map_or(0, |d| d.format.least_octets())
}

/// As much of an AVP's header as there is, filled with zeros.
fn header(octets: &[u8]) -> [u8; Avp::VENDOR_HEADER_OCTETS] {
    let mut header = [0; Avp::VENDOR_HEADER_OCTETS];
    let there = octets.len().min(header.len());
    header[..there].copy_from_slice(&octets[..there]);
    header
}

fn key_of(header: &[u8; Avp::VENDOR_HEADER_OCTETS]) -> Key {
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    Key { vendor: if header[4] & 0x80 == 0 { 0 } else { word(8) }, code: word(0) }
}

/// `5005 DIAMETER_MISSING_AVP: Rating-Group in Multiple-Services-Credit-Control`.
impl fmt::Display for Failure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.result, result_code::name(self.result).unwrap_or("unknown result"))?;
        let Some(key) = self.key() else { return Ok(()) };
        write!(f, ": {key}")?;
        self.groups().iter().try_for_each(|group| write!(f, " in {group}"))
    }
}

impl core::error::Error for Failure<'_> {}
