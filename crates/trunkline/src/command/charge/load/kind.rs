//! What a request is about, and how it can fail.

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
}

/// How many kinds there are.
pub const KINDS: usize = 4;

impl Kind {
    /// All of them, in the order of tables and files.
    pub const ALL: [Kind; KINDS] = [Kind::Initial, Kind::Update, Kind::Termination, Kind::Event];

    /// Its place in [`Kind::ALL`].
    pub fn place(self) -> usize {
        self as usize
    }

    /// Its letter, in files.
    pub fn letter(self) -> &'static str {
        ["I", "U", "T", "E"][self.place()]
    }

    /// Its name, in tables and JSON.
    pub fn name(self) -> &'static str {
        ["initial", "update", "termination", "event"][self.place()]
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

/// Whether a result code says that it was done (RFC 6733 section 7.1.2).
pub fn is_success(code: u32) -> bool {
    code / 1000 == 2
}
