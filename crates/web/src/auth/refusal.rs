//! Why something was refused: typed by what to answer, worded so that it tells a stranger nothing.

use std::net::IpAddr;

/// A refusal of the desk. [`Refusal::kind`] and [`Refusal::status`] are those of the problem to answer; the text may be
/// shown to whoever asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No session, or one that is over.
    #[error("sign in first")]
    SignedOut,
    /// The same words for a name that does not exist, a wrong password and a user that is locked.
    #[error("wrong user name or password")]
    WrongPassword,
    /// Too many attempts from this address.
    #[error("too many attempts: wait {retry_after_s} s")]
    TooMany {
        /// Seconds to wait.
        retry_after_s: u64,
    },
    /// Too many failed attempts for this name, whether it exists or not.
    #[error("too many failed attempts for this name: wait {retry_after_s} s, or use a one-time link")]
    Locked {
        /// Seconds to wait.
        retry_after_s: u64,
    },
    /// As many passwords are being checked as may be at a time.
    #[error("the server is busy: try again in a moment")]
    Busy,
    /// Signed in, but not allowed.
    #[error("{0}")]
    Forbidden(String),
    /// The request does not prove that it comes from our own page.
    #[error("{0}")]
    Csrf(&'static str),
    /// The address is in none of the allowed networks.
    #[error("{0} is in none of the networks that may use this (web.networks)")]
    Network(IpAddr),
    /// What proxies said about the address contradicts itself or cannot be read.
    #[error("the address of this request cannot be told: {0}")]
    Forwarding(&'static str),
    /// A one-time link that does not exist, was used, or is too old: the same words for each.
    #[error("this link was used already, is too old, or never was one")]
    BadLink,
    /// A value that makes no sense.
    #[error("{text}")]
    BadValue {
        /// Which.
        parameter: &'static str,
        /// What is wrong with it.
        text: String,
    },
    /// It is not there.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// It contradicts what is there.
    #[error("{0}")]
    Conflict(String),
    /// The identity provider cannot be reached, or its answer does not hold.
    #[error("{0}")]
    Provider(String),
    /// The desk's file could not be read or written; the text is for the log, not for whoever asked.
    #[error("{0}")]
    Failed(String),
}

impl Refusal {
    /// The kind of problem, as in `/problems/KIND`.
    pub fn kind(&self) -> &'static str {
        match self {
            Refusal::SignedOut => "signed-out",
            Refusal::WrongPassword => "bad-password",
            Refusal::TooMany { .. } => "too-many",
            Refusal::Locked { .. } => "locked",
            Refusal::Busy => "busy",
            Refusal::Forbidden(_) => "forbidden",
            Refusal::Csrf(_) => "csrf",
            Refusal::Network(_) | Refusal::Forwarding(_) => "network",
            Refusal::BadLink => "bad-link",
            Refusal::BadValue { .. } => "bad-parameter",
            Refusal::NotFound(_) => "not-found",
            Refusal::Conflict(_) => "conflict",
            Refusal::Provider(_) => "provider",
            Refusal::Failed(_) => "failed",
        }
    }

    /// The HTTP status to answer with.
    pub fn status(&self) -> u16 {
        match self {
            Refusal::SignedOut => 401,
            Refusal::WrongPassword => 403,
            Refusal::TooMany { .. } | Refusal::Locked { .. } => 429,
            Refusal::Busy => 503,
            Refusal::Forbidden(_) | Refusal::Csrf(_) | Refusal::Network(_) | Refusal::Forwarding(_) => 403,
            Refusal::BadLink | Refusal::BadValue { .. } => 400,
            Refusal::NotFound(_) => 404,
            Refusal::Conflict(_) => 409,
            Refusal::Provider(_) => 502,
            Refusal::Failed(_) => 500,
        }
    }

    /// Seconds for `Retry-After`.
    pub fn retry_after_s(&self) -> Option<u64> {
        match self {
            Refusal::TooMany { retry_after_s } | Refusal::Locked { retry_after_s } => Some(*retry_after_s),
            Refusal::Busy => Some(1),
            _ => None,
        }
    }

    /// What may be shown: all but the inside of a failure.
    pub fn shown(&self) -> String {
        match self {
            Refusal::Failed(_) => "the file of users and sessions could not be read or written".to_owned(),
            other => other.to_string(),
        }
    }

    pub(crate) fn value(parameter: &'static str, text: impl Into<String>) -> Self {
        Refusal::BadValue { parameter, text: text.into() }
    }
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Refusal::Failed(error.to_string())
    }
}
