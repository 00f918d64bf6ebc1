//! How a state follows from the one before.

use serde::{Deserialize, Serialize};

/// How a subject stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Well, as far as is known.
    #[default]
    Ok,
    /// Bad, but not for long enough.
    Pending,
    /// An alert.
    Firing,
    /// An alert, good again but not for long enough.
    Clearing,
    /// It would be an alert, but something keeps it back.
    Suppressed(Block),
    /// There are no values.
    Unknown,
}

impl State {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Pending => "pending",
            State::Firing => "firing",
            State::Clearing => "clearing",
            State::Suppressed(_) => "suppressed",
            State::Unknown => "unknown",
        }
    }
}

impl State {
    /// Whether it is bad, told or not.
    pub fn is_bad(self) -> bool {
        matches!(self, State::Pending | State::Firing | State::Clearing | State::Suppressed(_))
    }

    /// What keeps it back, where something does.
    pub fn kept_back_by(self) -> Option<&'static str> {
        match self {
            State::Suppressed(Block::Maintenance) => Some("maintenance"),
            State::Suppressed(Block::Dependency) => Some("dependency"),
            State::Suppressed(Block::NotValid) => Some("time of the week"),
            _ => None,
        }
    }
}

/// What keeps an alert back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Block {
    /// Nothing.
    #[default]
    None,
    /// It depends on something that may be an alert soon: it waits for that.
    Undecided,
    /// A maintenance window.
    Maintenance,
    /// An alert that stands for it.
    Dependency,
    /// The time of the week.
    NotValid,
}

impl Block {
    fn holds(self) -> bool {
        !matches!(self, Block::None | Block::Undecided)
    }
}

/// What values say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opinion {
    /// Nothing: there are too few.
    #[default]
    None,
    /// It would be good, or nothing; but not all of what is looked at was seen since a restart.
    Early,
    /// Good.
    Good,
    /// Neither: not beyond the limit, and not back where it is good.
    Between,
    /// Bad.
    Bad,
}

impl Opinion {
    /// Of what is beyond the limit, and what is back.
    pub fn of(bad: bool, good: bool) -> Opinion {
        match (bad, good) {
            (true, _) => Opinion::Bad,
            (false, true) => Opinion::Good,
            (false, false) => Opinion::Between,
        }
    }
}

/// Times of a rule, seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long it must be bad.
    pub for_s: i64,
    /// How long it must be good.
    pub clear_for_s: i64,
}

/// The state that follows, and since when it holds. `told` says whether an alert of it is known to people.
pub fn next(
    (state, since_s): (State, i64),
    told: bool,
    opinion: Opinion,
    at_s: i64,
    block: Block,
    timing: &Timing,
) -> (State, i64) {
    let same = (state, since_s);
    let over = || match timing.clear_for_s {
        0 => (State::Ok, at_s),
        _ => (State::Clearing, at_s),
    };
    let opinion = match (state, opinion) {
        // What was good goes on to be so.
        (State::Clearing, Opinion::Early) => return same,
        (_, Opinion::Early) => Opinion::None,
        (_, opinion) => opinion,
    };
    match (state, opinion) {
        (State::Ok, Opinion::Bad) => fire(at_s, at_s, block, timing),
        (State::Ok, _) => same,
        (State::Pending, Opinion::Bad) => fire(since_s, at_s, block, timing),
        (State::Pending, Opinion::Good) if told => over(),
        (State::Pending, Opinion::None) => same,
        (State::Pending, _) if told => same,
        (State::Pending, _) => (State::Ok, at_s),
        (State::Firing, Opinion::Good) => over(),
        (State::Firing, _) if block.holds() => (State::Suppressed(block), at_s),
        (State::Firing, _) => same,
        (State::Clearing, Opinion::Good) if at_s - since_s >= timing.clear_for_s => (State::Ok, at_s),
        (State::Clearing, Opinion::Good) => same,
        (State::Clearing, _) => (State::Firing, at_s),
        (State::Suppressed(_), Opinion::Good) if told => over(),
        (State::Suppressed(_), Opinion::Good) => (State::Ok, at_s),
        (State::Suppressed(by), _) if by == block => same,
        (State::Suppressed(_), _) if block.holds() => (State::Suppressed(block), at_s),
        // What kept it back is gone: its own time begins.
        (State::Suppressed(_), Opinion::Bad) => fire(at_s, at_s, block, timing),
        (State::Suppressed(_), _) => (State::Pending, at_s),
        (State::Unknown, Opinion::None) => same,
        (State::Unknown, Opinion::Bad | Opinion::Between) if told => (State::Firing, at_s),
        (State::Unknown, Opinion::Bad) => fire(at_s, at_s, block, timing),
        (State::Unknown, Opinion::Good) if told => over(),
        (State::Unknown, _) => (State::Ok, at_s),
    }
}

/// Bad since then: an alert, if it was for long enough and nothing keeps it back.
fn fire(since_s: i64, at_s: i64, block: Block, timing: &Timing) -> (State, i64) {
    if at_s - since_s < timing.for_s || block == Block::Undecided {
        return (State::Pending, since_s);
    }
    if block.holds() { (State::Suppressed(block), at_s) } else { (State::Firing, at_s) }
}
