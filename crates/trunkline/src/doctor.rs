//! What this machine can do and what would be lost: facts are gathered ([`gather`]), then judged ([`judge`]). The
//! judgement asks nobody, so that it is tested with facts that are made up.

pub mod facts;
pub mod gather;
pub mod judge;
pub mod mirror;

#[cfg(test)]
mod tests;

/// How it stands with one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// As it should be.
    Good,
    /// Worth a look; nothing is lost by it alone.
    Warn,
    /// Something would be lost.
    Bad,
}

impl State {
    /// Its name in the output.
    pub fn name(self) -> &'static str {
        match self {
            State::Good => "ok",
            State::Warn => "warn",
            State::Bad => "bad",
        }
    }
}

/// What is to be said about one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at: `ring`, `disk`.
    pub check: &'static str,
    /// Whose: an interface, a folder; empty for the machine.
    pub subject: String,
    /// How it stands.
    pub state: State,
    /// What was seen.
    pub seen: String,
    /// What would be lost, or what it costs.
    pub lost: Option<String>,
    /// The command that mends it, or what else to do.
    pub fix: Option<String>,
}

impl Finding {
    /// As it should be.
    pub fn good(check: &'static str, subject: &str, seen: impl Into<String>) -> Self {
        let (subject, seen) = (subject.to_owned(), seen.into());
        Finding { check, subject, state: State::Good, seen, lost: None, fix: None }
    }

    /// Worth a look.
    pub fn warn(check: &'static str, subject: &str, seen: impl Into<String>) -> Self {
        Finding { state: State::Warn, ..Finding::good(check, subject, seen) }
    }

    /// Something would be lost.
    pub fn bad(check: &'static str, subject: &str, seen: impl Into<String>) -> Self {
        Finding { state: State::Bad, ..Finding::good(check, subject, seen) }
    }

    /// What would be lost.
    pub fn loses(self, lost: impl Into<String>) -> Self {
        Finding { lost: Some(lost.into()), ..self }
    }

    /// What mends it.
    pub fn fix(self, fix: impl Into<String>) -> Self {
        Finding { fix: Some(fix.into()), ..self }
    }
}
