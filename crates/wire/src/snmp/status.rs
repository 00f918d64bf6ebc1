//! What responses, traps and reports say by number.

use super::{ObjectId, Oid};
use core::fmt;

macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident: $number:ty {
        $($(#[$variant_doc:meta])* $variant:ident = $value:literal $text:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
            /// A number that the standard has no name for.
            Other($number),
        }

        impl $name {
            /// Of its number.
            pub fn from_number(number: $number) -> $name {
                match number {
                    $($value => $name::$variant,)*
                    other => $name::Other(other),
                }
            }

            /// Its number.
            pub fn number(self) -> $number {
                match self {
                    $($name::$variant => $value,)*
                    $name::Other(number) => number,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($name::$variant => f.write_str($text),)*
                    $name::Other(number) => number.fmt(f),
                }
            }
        }
    };
}

numbered! {
    /// `error-status` of a response (RFC 3416 section 3; those up to 5 are version 1's).
    ErrorStatus: u32 {
        /// It went well.
        NoError = 0 "noError",
        /// The response would not fit into a message.
        TooBig = 1 "tooBig",
        /// Version 1: one of the names is not there.
        NoSuchName = 2 "noSuchName",
        /// Version 1: a value that cannot be set.
        BadValue = 3 "badValue",
        /// Version 1: not to be set.
        ReadOnly = 4 "readOnly",
        /// Something else.
        GenErr = 5 "genErr",
        /// Not for this sender.
        NoAccess = 6 "noAccess",
        /// A value of the wrong type.
        WrongType = 7 "wrongType",
        /// A value of the wrong length.
        WrongLength = 8 "wrongLength",
        /// A value in the wrong encoding.
        WrongEncoding = 9 "wrongEncoding",
        /// A value that is out of range.
        WrongValue = 10 "wrongValue",
        /// It cannot be made.
        NoCreation = 11 "noCreation",
        /// Not with what the others are now.
        InconsistentValue = 12 "inconsistentValue",
        /// Something is used up.
        ResourceUnavailable = 13 "resourceUnavailable",
        /// Nothing was set.
        CommitFailed = 14 "commitFailed",
        /// Something was set and could not be taken back.
        UndoFailed = 15 "undoFailed",
        /// Not for this sender at all.
        AuthorizationError = 16 "authorizationError",
        /// It cannot be set.
        NotWritable = 17 "notWritable",
        /// It cannot be made now.
        InconsistentName = 18 "inconsistentName",
    }
}

numbered! {
    /// `generic-trap` of a trap of version 1 (RFC 1157 section 4.1.6).
    GenericTrap: i32 {
        /// It has started, and its configuration may be another.
        ColdStart = 0 "coldStart",
        /// It has started with the same configuration.
        WarmStart = 1 "warmStart",
        /// An interface is down.
        LinkDown = 2 "linkDown",
        /// An interface is up.
        LinkUp = 3 "linkUp",
        /// Somebody was not let in.
        AuthenticationFailure = 4 "authenticationFailure",
        /// A neighbour of EGP is lost.
        EgpNeighborLoss = 5 "egpNeighborLoss",
        /// The specific number tells.
        EnterpriseSpecific = 6 "enterpriseSpecific",
    }
}

/// What a report of version 3 is about: the counter that it carries (RFC 3412 section 5, RFC 3413 section 4.1.2, RFC
/// 3414 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// `usmStatsUnsupportedSecLevels`: not with this level of security.
    UnsupportedSecurityLevel,
    /// `usmStatsNotInTimeWindows`: the boots or the time of the engine were others.
    NotInTimeWindow,
    /// `usmStatsUnknownUserNames`.
    UnknownUserName,
    /// `usmStatsUnknownEngineIDs`: the answer to who asks for the engine's identifier.
    UnknownEngineId,
    /// `usmStatsWrongDigests`: another password or algorithm of authentication.
    WrongDigest,
    /// `usmStatsDecryptionErrors`: another password or algorithm of privacy.
    DecryptionError,
    /// `snmpUnknownSecurityModels`.
    UnknownSecurityModel,
    /// `snmpInvalidMsgs`.
    InvalidMessage,
    /// `snmpUnknownPDUHandlers`.
    UnknownPduHandler,
    /// `snmpUnavailableContexts`.
    UnavailableContext,
    /// `snmpUnknownContexts`.
    UnknownContext,
}

/// Contents octets of the counters, without the instance's 0.
const CAUSES: [(Cause, &[u8], &str); 11] = [
    (Cause::UnsupportedSecurityLevel, &[0x2b, 6, 1, 6, 3, 15, 1, 1, 1], "usmStatsUnsupportedSecLevels"),
    (Cause::NotInTimeWindow, &[0x2b, 6, 1, 6, 3, 15, 1, 1, 2], "usmStatsNotInTimeWindows"),
    (Cause::UnknownUserName, &[0x2b, 6, 1, 6, 3, 15, 1, 1, 3], "usmStatsUnknownUserNames"),
    (Cause::UnknownEngineId, &[0x2b, 6, 1, 6, 3, 15, 1, 1, 4], "usmStatsUnknownEngineIDs"),
    (Cause::WrongDigest, &[0x2b, 6, 1, 6, 3, 15, 1, 1, 5], "usmStatsWrongDigests"),
    (Cause::DecryptionError, &[0x2b, 6, 1, 6, 3, 15, 1, 1, 6], "usmStatsDecryptionErrors"),
    (Cause::UnknownSecurityModel, &[0x2b, 6, 1, 6, 3, 11, 2, 1, 1], "snmpUnknownSecurityModels"),
    (Cause::InvalidMessage, &[0x2b, 6, 1, 6, 3, 11, 2, 1, 2], "snmpInvalidMsgs"),
    (Cause::UnknownPduHandler, &[0x2b, 6, 1, 6, 3, 11, 2, 1, 3], "snmpUnknownPDUHandlers"),
    (Cause::UnavailableContext, &[0x2b, 6, 1, 6, 3, 12, 1, 4], "snmpUnavailableContexts"),
    (Cause::UnknownContext, &[0x2b, 6, 1, 6, 3, 12, 1, 5], "snmpUnknownContexts"),
];

impl Cause {
    /// Of the first variable of a report; none for a counter that the standard does not have there.
    pub fn from_name(name: Oid<'_>) -> Option<Cause> {
        // Field: with the instance, as the standard has it, or without.
        let column = name.octets().strip_suffix(&[0]).unwrap_or(name.octets());
        CAUSES.iter().find(|(_, octets, _)| *octets == column).map(|(cause, _, _)| *cause)
    }

    /// The name of the counter, with its instance.
    pub fn name(self) -> ObjectId {
        let octets = CAUSES.iter().find(|(cause, _, _)| *cause == self).map_or(&[][..], |(_, octets, _)| *octets);
        let octets = [octets, &[0]].concat();
        Oid::new(&octets).map(|name| name.to_owned()).expect("all counters of the table are names")
    }
}

/// The name of the counter.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(CAUSES.iter().find(|(cause, _, _)| cause == self).map_or("", |(_, _, name)| name))
    }
}
