//! What a subscriber is known by.

use std::fmt;

/// Octets of an identity; a longer one is none.
// Limit: length of an identity
// Beyond: it is not looked up
// Seen in: `trunkline_directory_unfit_lookups_total`
pub const IDENTITY_OCTETS_MAX: usize = 255;

/// Kinds of identities: those of RFC 8506 section 8.47 (Subscription-Id-Type).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A telephone number, as it is written in the directory.
    Msisdn,
    /// The number of a SIM, 15 digits (ITU-T E.212).
    Imsi,
    /// A SIP URI.
    Sip,
    /// A network access identifier: `user@realm` (RFC 7542).
    Nai,
    /// Something that the operator has made up.
    Private,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 5] = [Kind::Msisdn, Kind::Imsi, Kind::Sip, Kind::Nai, Kind::Private];

    /// Its name, in filters between braces.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Msisdn => "msisdn",
            Kind::Imsi => "imsi",
            Kind::Sip => "sip",
            Kind::Nai => "nai",
            Kind::Private => "private",
        }
    }

    /// The kind of that name.
    pub fn of(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// An identity as a stranger says it: any text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// What kind it is.
    pub kind: Kind,
    /// It.
    pub text: String,
}

impl Identity {
    /// From its parts.
    pub fn new(kind: Kind, text: impl Into<String>) -> Identity {
        Identity { kind, text: text.into() }
    }

    /// Whether it can be one at all: not empty, not too long, without NUL.
    pub fn is_fit(&self) -> bool {
        !self.text.is_empty() && self.text.len() <= IDENTITY_OCTETS_MAX && !self.text.contains('\0')
    }

    /// What a profile is remembered under: no two identities have the same.
    pub fn key(&self) -> Vec<u8> {
        [self.kind.name().as_bytes(), b":", self.text.as_bytes()].concat()
    }
}

/// Its kind and how long it is: who it is stays out of logs.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} octets", self.kind.name(), self.text.len())
    }
}
