//! What a request is about, and how it can fail.

use trunkline_wire::diameter::result_code;
use trunkline_wire::gtpp::cause;

/// What a request is about: CC-Request-Type (RFC 8506 section 8.3), and what GTP' asks before a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A session begins.
    Initial,
    /// It goes on.
    Update,
    /// It ends.
    Termination,
    /// One event without a session.
    Event,
    /// The subscriber's profile is asked for, before a session by GTP'.
    Profile,
}

/// How many kinds there are.
pub const KINDS: usize = 5;

impl Kind {
    /// All of them, in the order of tables and files.
    pub const ALL: [Kind; KINDS] = [Kind::Initial, Kind::Update, Kind::Termination, Kind::Event, Kind::Profile];

    /// Its place in [`Kind::ALL`].
    pub fn place(self) -> usize {
        self as usize
    }

    /// Its letter, in files.
    pub fn letter(self) -> &'static str {
        ["I", "U", "T", "E", "P"][self.place()]
    }

    /// Its name, in tables and JSON.
    pub fn name(self) -> &'static str {
        ["initial", "update", "termination", "event", "profile"][self.place()]
    }
}

/// Where a result that is no success stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Of the whole command.
    Command,
    /// Of one of its services (Multiple-Services-Credit-Control).
    Service,
}

impl Level {
    /// Its name, in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Level::Command => "command",
            Level::Service => "service",
        }
    }
}

/// Whether a result says that it was done: a result code of Diameter (RFC 6733 section 7.1.2), or a cause of GTP'
/// (TS 29.060 clause 7.7.1), which is below all of those.
pub fn is_success(code: u32) -> bool {
    code / 1000 == 2 || (128..192).contains(&code)
}

/// Whether a result says that the subscriber may not go on, and nothing of the server's health.
pub fn is_refusal(code: u32) -> bool {
    code / 1000 == 4 || code == u32::from(cause::NOT_FULFILLED)
}

/// A result's name, or nothing.
pub fn result_name(code: u32) -> &'static str {
    let of_cause = || u8::try_from(code).ok().and_then(cause::name);
    result_code::name(code).or_else(of_cause).unwrap_or_default()
}
