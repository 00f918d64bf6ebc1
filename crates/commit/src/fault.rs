//! What can go wrong, by what the caller will do about it.

use std::io;

/// The log cannot be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The system failed with a file.
    #[error("{name}: {error}")]
    Io {
        /// The file.
        name: String,
        /// What the system said.
        error: io::Error,
    },
    /// Something is gone that was told to be durable: the disk has lost it, or somebody has changed it. To go on is for
    /// a person to decide.
    #[error("{name}, octet {at}: {what}")]
    Damaged {
        /// The file.
        name: String,
        /// Where in it.
        at: u64,
        /// What is wrong there.
        what: String,
    },
    /// Records are gone that were durable: as [`Fault::Damaged`], with what is known of them.
    #[error("{0}")]
    Gone(Box<Gone>),
    /// Who reads the records does not understand one.
    #[error("record {number}: {why}")]
    Refused {
        /// The record.
        number: u64,
        /// What the reader says.
        why: String,
    },
    /// The thread that writes has failed: what it was told to do may be half done.
    #[error("the thread that writes the log has failed")]
    Panicked,
    /// An option has no sense; the text says which and why.
    #[error("{0}")]
    Option(String),
}

/// Records that were durable and are not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    /// The file.
    pub name: String,
    /// Where in it they should be, or go on.
    pub at: u64,
    /// What is wrong there beside that, or empty.
    pub what: &'static str,
    /// The first of them.
    pub from: u64,
    /// The last of them, as far as that is known.
    pub to: u64,
    /// The last record that is known to have been durable, which is behind them or the last of them.
    pub last: u64,
    /// The first record behind them that is whole; none if the log ends with them.
    pub resumes: Option<u64>,
    /// Who says that they were durable, where the log ends with them.
    pub witnesses: Vec<Witness>,
}

/// Who knows that the records up to a number were durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// A file, for people.
    pub who: String,
    /// The number.
    pub last: u64,
}

impl core::fmt::Display for Gone {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}, octet {}: ", self.name, self.at)?;
        if !self.what.is_empty() {
            write!(f, "{}: ", self.what)?;
        }
        write!(f, "records {} to {} are gone", self.from, self.to)?;
        if let Some(resumes) = self.resumes {
            write!(f, ", those from {resumes} on are there")?;
        }
        for (at, witness) in self.witnesses.iter().enumerate() {
            let before = if at == 0 { ": records were durable " } else { ", " };
            write!(f, "{before}up to {} ({})", witness.last, witness.who)?;
        }
        let agree = self.witnesses.windows(2).all(|pair| pair[0].last == pair[1].last);
        if agree { Ok(()) } else { f.write_str("; these disagree, the highest counts") }
    }
}

impl Fault {
    pub(crate) fn gone(gone: Gone) -> Fault {
        Fault::Gone(Box::new(gone))
    }

    /// Whether what is on disk is damaged: a person decides how it goes on.
    pub fn is_damage(&self) -> bool {
        matches!(self, Fault::Gone(_) | Fault::Damaged { .. })
    }

    /// With the block that holds what the reader of the records does not understand.
    pub(crate) fn of_block(self, name: &str, at: u64) -> Fault {
        match self {
            Fault::Refused { number, why } => Fault::Refused { number, why: format!("{why} ({name}, octet {at})") },
            other => other,
        }
    }

    /// With the file that holds what the reader of the records does not understand.
    pub(crate) fn of_file(self, name: &str) -> Fault {
        match self {
            Fault::Refused { number, why } => Fault::Refused { number, why: format!("{why} ({name})") },
            other => other,
        }
    }

    pub(crate) fn io(name: &str) -> impl FnOnce(io::Error) -> Fault {
        move |error| Fault::Io { name: name.to_owned(), error }
    }

    pub(crate) fn damaged(name: &str, at: u64, what: impl Into<String>) -> Fault {
        Fault::Damaged { name: name.to_owned(), at, what: what.into() }
    }
}

/// An append that was refused; nothing of it will be on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// More waits for the disk than may.
    #[error("too much waits for the disk")]
    Waiting,
    /// There is no room on the disk for the next segment; tried again each second.
    #[error("no room on the disk")]
    Room,
    /// A write failed, and the log is closed until the next start.
    #[error("the log could not be written")]
    Closed,
    /// The record is longer than [`crate::RECORD_OCTETS_MAX`].
    #[error("the record is too long")]
    Long,
}
