//! Writing messages: AVP by AVP into a buffer that the caller keeps, no tree in between.

use super::avp::flag;
use super::{Avp, Header, HostAddress, Key, Time, dictionary};
use core::fmt;

/// More octets than the length of a message can say: [`TooLong::OCTETS_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Octets that it would have had.
    pub octets: usize,
}

impl TooLong {
    /// Octets of the longest message: what 24 bits say, down to a multiple of four.
    pub const OCTETS_MAX: usize = 0x00ff_fffc;
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a message of {} octets, at most {}", self.octets, Self::OCTETS_MAX)
    }
}

impl core::error::Error for TooLong {}

/// A group that is open: where its header stands.
#[derive(Clone, Copy, Debug)]
#[must_use = "a group is closed with Writer::close"]
pub struct Group {
    at: usize,
}

/// Appends one message to a buffer. The M flag of each AVP is the dictionary's.
#[derive(Debug)]
pub struct Writer<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
}

impl<'o> Writer<'o> {
    /// Begins a message behind what `out` holds.
    pub fn new(out: &'o mut Vec<u8>, header: &Header) -> Writer<'o> {
        let start = out.len();
        out.extend_from_slice(&header.octets(0));
        Writer { out, start }
    }

    /// Ends the message: its length goes into its header.
    ///
    /// # Errors
    /// It is longer than a length can say; the buffer is as it was before the message.
    pub fn finish(mut self) -> Result<(), TooLong> {
        let octets = self.out.len() - self.start;
        if octets > TooLong::OCTETS_MAX {
            self.out.truncate(self.start);
            return Err(TooLong { octets });
        }
        self.set_length(self.start + 1, octets);
        Ok(())
    }

    /// Three octets of length at `at`.
    fn set_length(&mut self, at: usize, length: usize) {
        self.out[at..at + 3].copy_from_slice(&(length as u32).to_be_bytes()[1..]);
    }

    /// Header and data of a length that is known when this is compiled, `HEAD` and `WHOLE` octets.
    #[inline]
    fn fixed<const N: usize>(&mut self, key: Key, data: [u8; N]) {
        let mut octets = [0; 20];
        let head = header(key, flags_of(key), N, &mut octets);
        octets[head..head + N].copy_from_slice(&data);
        self.out.extend_from_slice(&octets[..head + N]);
    }

    /// Unsigned32 and Enumerated.
    #[inline]
    pub fn unsigned32(&mut self, key: Key, value: u32) {
        self.fixed(key, value.to_be_bytes());
    }

    /// Unsigned64.
    #[inline]
    pub fn unsigned64(&mut self, key: Key, value: u64) {
        self.fixed(key, value.to_be_bytes());
    }

    /// Integer32.
    #[inline]
    pub fn integer32(&mut self, key: Key, value: i32) {
        self.fixed(key, value.to_be_bytes());
    }

    /// Integer64.
    #[inline]
    pub fn integer64(&mut self, key: Key, value: i64) {
        self.fixed(key, value.to_be_bytes());
    }

    /// Time.
    pub fn time(&mut self, key: Key, value: Time) {
        self.unsigned32(key, value.ntp());
    }

    /// UTF8String, DiameterIdentity, DiameterURI and IPFilterRule.
    #[inline]
    pub fn text(&mut self, key: Key, value: &str) {
        self.octets(key, value.as_bytes());
    }

    /// OctetString, and the data of a group that is there already.
    #[inline]
    pub fn octets(&mut self, key: Key, value: &[u8]) {
        self.octets_flagged(key, flags_of(key), value);
    }

    /// The same with flags that are not the dictionary's.
    #[inline]
    pub fn octets_flagged(&mut self, key: Key, flags: u8, value: &[u8]) {
        let mut octets = [0; 20];
        let head = header(key, flags, value.len(), &mut octets);
        self.out.extend_from_slice(&octets[..head]);
        self.out.extend_from_slice(value);
        self.pad();
    }

    /// Address.
    pub fn address(&mut self, key: Key, value: HostAddress<'_>) {
        let group = self.open(key);
        match value {
            HostAddress::Ip(core::net::IpAddr::V4(ip)) => {
                self.out.extend_from_slice(&[0, 1]);
                self.out.extend_from_slice(&ip.octets());
            }
            HostAddress::Ip(core::net::IpAddr::V6(ip)) => {
                self.out.extend_from_slice(&[0, 2]);
                self.out.extend_from_slice(&ip.octets());
            }
            HostAddress::Other(family, octets) => {
                self.out.extend_from_slice(&family.to_be_bytes());
                self.out.extend_from_slice(octets);
            }
        }
        self.close(group);
        self.pad();
    }

    /// An AVP as it came, header and data without padding: [`Avp::octets`].
    pub fn copy(&mut self, octets: &[u8]) {
        self.out.extend_from_slice(octets);
        self.pad();
    }

    /// Begins a group; what is written until [`Writer::close`] lies in it.
    #[inline]
    pub fn open(&mut self, key: Key) -> Group {
        let at = self.out.len();
        let mut octets = [0; 20];
        let head = header(key, flags_of(key), 0, &mut octets);
        self.out.extend_from_slice(&octets[..head]);
        Group { at }
    }

    /// Ends the group that was opened last.
    #[inline]
    pub fn close(&mut self, group: Group) {
        // A length that does not fit is cut here; the message around it does not fit either, and is refused.
        self.set_length(group.at + 5, self.out.len() - group.at);
    }

    /// Zeros up to a multiple of four.
    #[inline]
    fn pad(&mut self) {
        let over = (self.out.len() - self.start) % 4;
        if over != 0 {
            self.out.extend_from_slice(&[0; 3][..4 - over]);
        }
    }
}

#[inline]
fn flags_of(key: Key) -> u8 {
    if dictionary::is_mandatory(key) { flag::MANDATORY } else { 0 }
}

/// Writes an AVP's header for `data` octets; how many octets it has itself.
#[inline]
fn header(key: Key, flags: u8, data: usize, out: &mut [u8; 20]) -> usize {
    let (head, flags) = match key.vendor {
        0 => (Avp::HEADER_OCTETS, flags & !flag::VENDOR),
        _ => (Avp::VENDOR_HEADER_OCTETS, flags | flag::VENDOR),
    };
    let word = u32::from(flags) << 24 | (head + data) as u32 & 0x00ff_ffff;
    out[..4].copy_from_slice(&key.code.to_be_bytes());
    out[4..8].copy_from_slice(&word.to_be_bytes());
    if head == Avp::VENDOR_HEADER_OCTETS {
        out[8..12].copy_from_slice(&key.vendor.to_be_bytes());
    }
    head
}
