//! The message: its header (RFC 6733 section 3) and its AVPs.

use super::{Avps, Failure, result_code};

/// Flags of a command (section 3).
pub mod flag {
    /// A request; else an answer.
    pub const REQUEST: u8 = 0x80;
    /// May be proxied, relayed or redirected.
    pub const PROXIABLE: u8 = 0x40;
    /// The answer tells a protocol error and need not have the form of its command.
    pub const ERROR: u8 = 0x20;
    /// May have been sent before, over a connection that failed.
    pub const RETRANSMITTED: u8 = 0x10;
}

/// Command codes (RFC 6733 section 3.1, RFC 8506 section 3).
pub mod command {
    #![allow(missing_docs, reason = "the names are those of the registry")]
    pub const CAPABILITIES_EXCHANGE: u32 = 257;
    pub const RE_AUTH: u32 = 258;
    pub const ACCOUNTING: u32 = 271;
    pub const CREDIT_CONTROL: u32 = 272;
    pub const ABORT_SESSION: u32 = 274;
    pub const SESSION_TERMINATION: u32 = 275;
    pub const DEVICE_WATCHDOG: u32 = 280;
    pub const DISCONNECT_PEER: u32 = 282;

    /// The name without "-Request" or "-Answer", and its two letters.
    pub const fn name(code: u32) -> Option<(&'static str, &'static str)> {
        Some(match code {
            CAPABILITIES_EXCHANGE => ("Capabilities-Exchange", "CE"),
            RE_AUTH => ("Re-Auth", "RA"),
            ACCOUNTING => ("Accounting", "AC"),
            CREDIT_CONTROL => ("Credit-Control", "CC"),
            ABORT_SESSION => ("Abort-Session", "AS"),
            SESSION_TERMINATION => ("Session-Termination", "ST"),
            DEVICE_WATCHDOG => ("Device-Watchdog", "DW"),
            DISCONNECT_PEER => ("Disconnect-Peer", "DP"),
            _ => return None,
        })
    }

    /// Whether a command goes from peer to peer only: its P bit must be clear (RFC 6733 sections 5.3 to 5.5).
    pub const fn is_of_peers(code: u32) -> bool {
        matches!(code, CAPABILITIES_EXCHANGE | DEVICE_WATCHDOG | DISCONNECT_PEER)
    }
}

/// Application identifiers (RFC 6733 section 2.4).
pub mod application {
    /// The base protocol itself.
    pub const BASE: u32 = 0;
    /// Credit control (RFC 8506 section 1.3): Gy and Ro too.
    pub const CREDIT_CONTROL: u32 = 4;
    /// What a relay announces.
    pub const RELAY: u32 = 0xffff_ffff;
}

/// The header of a message without version and length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Bits of [`flag`]; the reserved ones are ignored when read (section 3).
    pub flags: u8,
    /// Command code, 24 bits; see [`command`].
    pub command: u32,
    /// Application; see [`application`].
    pub application: u32,
    /// Matches an answer to its request, between two peers.
    pub hop_by_hop: u32,
    /// Finds duplicates, together with Origin-Host.
    pub end_to_end: u32,
}

impl Header {
    /// Octets of a header.
    pub const OCTETS: usize = 20;

    /// A request that may be proxied unless the command is one of peers.
    pub const fn request(command: u32, application: u32) -> Header {
        let flags = if command::is_of_peers(command) { flag::REQUEST } else { flag::REQUEST | flag::PROXIABLE };
        Header { flags, command, application, hop_by_hop: 0, end_to_end: 0 }
    }

    /// The header of the answer: the same identifiers and P bit, all other flags clear (section 6.2).
    pub const fn answer(&self) -> Header {
        Header { flags: self.flags & flag::PROXIABLE, ..*self }
    }

    /// Whether it is a request.
    #[inline]
    pub const fn is_request(&self) -> bool {
        self.flags & flag::REQUEST != 0
    }

    /// Whether it is an answer that tells a protocol error.
    #[inline]
    pub const fn is_error(&self) -> bool {
        self.flags & flag::ERROR != 0
    }

    /// Whether it may be a copy of a request that was sent before.
    #[inline]
    pub const fn is_retransmitted(&self) -> bool {
        self.flags & flag::RETRANSMITTED != 0
    }

    /// What the flags of a request must not be (sections 3 and 7.1.3): an error, or proxiable where the command is one
    /// of peers. That a command misses its P bit is no failure.
    ///
    /// # Errors
    /// DIAMETER_INVALID_HDR_BITS, which has no Failed-AVP.
    pub const fn check_request(&self) -> Result<(), Failure<'static>> {
        let proxied = self.flags & flag::PROXIABLE != 0 && command::is_of_peers(self.command);
        if self.is_request() && (self.is_error() || proxied) {
            return Err(Failure::of_message(result_code::INVALID_HDR_BITS));
        }
        Ok(())
    }

    fn parse(octets: &[u8; Header::OCTETS]) -> Header {
        let word = |at: usize| u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]]);
        Header {
            flags: octets[4],
            command: word(4) & 0x00ff_ffff,
            application: word(8),
            hop_by_hop: word(12),
            end_to_end: word(16),
        }
    }

    /// The twenty octets, for a message of `length` octets.
    pub(super) fn octets(&self, length: u32) -> [u8; Header::OCTETS] {
        let mut octets = [0; Header::OCTETS];
        octets[..4].copy_from_slice(&(0x0100_0000 | length & 0x00ff_ffff).to_be_bytes());
        octets[4..8].copy_from_slice(&(u32::from(self.flags) << 24 | self.command & 0x00ff_ffff).to_be_bytes());
        octets[8..12].copy_from_slice(&self.application.to_be_bytes());
        octets[12..16].copy_from_slice(&self.hop_by_hop.to_be_bytes());
        octets[16..].copy_from_slice(&self.end_to_end.to_be_bytes());
        octets
    }
}

/// A message whose header is sound; its AVPs are checked as they are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The header.
    pub header: Header,
    octets: &'a [u8],
}

impl<'a> Message<'a> {
    /// The message in `octets`, which is all of it and nothing more: what [`super::Frames`] gives.
    ///
    /// # Errors
    /// DIAMETER_UNSUPPORTED_VERSION, or DIAMETER_INVALID_MESSAGE_LENGTH where the length is not that of the octets, not
    /// a multiple of four, or less than a header (RFC 6733 section 7.1.5).
    #[inline]
    pub fn new(octets: &'a [u8]) -> Result<Message<'a>, Failure<'a>> {
        let Some(head) = octets.first_chunk::<{ Header::OCTETS }>() else {
            return Err(Failure::of_message(result_code::INVALID_MESSAGE_LENGTH));
        };
        if head[0] != 1 {
            return Err(Failure::of_message(result_code::UNSUPPORTED_VERSION));
        }
        let length = u32::from_be_bytes([0, head[1], head[2], head[3]]) as usize;
        if length != octets.len() || !length.is_multiple_of(4) {
            return Err(Failure::of_message(result_code::INVALID_MESSAGE_LENGTH));
        }
        Ok(Message { header: Header::parse(head), octets })
    }

    /// Its AVPs, in order.
    #[inline]
    pub fn avps(&self) -> Avps<'a> {
        Avps::new(&self.octets[Header::OCTETS..])
    }

    /// The whole message.
    #[inline]
    pub fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// The header alone, read from the beginning of what may be a broken message, to answer it all the same; none if
    /// there are fewer than twenty octets.
    pub fn header_of(octets: &[u8]) -> Option<Header> {
        octets.first_chunk().map(Header::parse)
    }
}
