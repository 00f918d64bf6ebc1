//! What rules are shown.

/// An observation with memory of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// The rule.
    pub rule: String,
    /// The subject.
    pub subject: String,
    /// Its device; empty if it has none.
    pub device: String,
    /// What else is known of it.
    pub fields: Vec<(String, String)>,
    /// Seconds since 1970.
    pub at_s: i64,
    /// The value.
    pub value: Option<f64>,
    /// Samples that it is made of.
    pub samples: u64,
}

/// An observation that was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Too many wait.
    #[error("the rules are too slow: too many observations are queued")]
    Waiting,
    /// The job has ended.
    #[error("the alert job has stopped")]
    Ended,
}
