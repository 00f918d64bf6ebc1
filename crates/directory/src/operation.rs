//! What a directory is asked, and what it answers, as values that outlive the connection.

use std::sync::Arc;
use thiserror::Error;
use trunkline_wire::cdr::ber::Elements;
use trunkline_wire::ldap::{Change, Outcome, Request, Response, Search, name_of};

/// One thing that is asked.
#[derive(Clone, PartialEq, Eq)]
pub enum Operation {
    /// Entries are looked for.
    Search(Search),
    /// An entry is changed.
    Modify {
        /// Its distinguished name.
        entry: String,
        /// Carried out in this order, all or none.
        changes: Vec<Change>,
    },
    /// A password is set (RFC 3062).
    PasswordModify {
        /// Whose; none for who is bound.
        user: Option<String>,
        /// The one before, where the server wants it.
        old: Option<Vec<u8>>,
        /// The new one; none for one that the server makes: [`Answer::generated_password`].
        new: Option<Vec<u8>>,
    },
}

impl Operation {
    /// As it is written.
    pub(crate) fn request(&self) -> Request<'_> {
        match self {
            Operation::Search(search) => Request::Search(search),
            Operation::Modify { entry, changes } => Request::Modify { entry, changes },
            Operation::PasswordModify { user, old, new } => {
                Request::PasswordModify { user: user.as_deref(), old: old.as_deref(), new: new.as_deref() }
            }
        }
    }

    /// Whether it changes nothing, so that it may be asked again where the answer was lost.
    pub fn only_reads(&self) -> bool {
        matches!(self, Operation::Search(_))
    }

    /// Whether a reply is one that this operation can have.
    pub(crate) fn fits(&self, reply: &Reply) -> bool {
        match (self, reply) {
            (_, Reply::Intermediate) => true,
            (Operation::Search(_), Reply::Entry(..) | Reply::Reference(_)) => true,
            (Operation::Search(_), Reply::Final { kind, .. }) => *kind == Kind::Search,
            (Operation::Modify { .. }, Reply::Final { kind, .. }) => *kind == Kind::Modify,
            (Operation::PasswordModify { .. }, Reply::Final { kind, .. }) => *kind == Kind::Extended,
            _ => false,
        }
    }
}

/// What it is, without what is in it: identities and passwords stay out of logs.
impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.request().fmt(f)
    }
}

/// An entry of the directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Its distinguished name.
    pub name: String,
    /// What was asked for of it: names of attributes with their values, which are octets.
    pub attributes: Vec<(String, Vec<Vec<u8>>)>,
}

impl Entry {
    /// The values of an attribute, whatever the case of its name's letters; none if it is not there.
    pub fn values(&self, name: &str) -> &[Vec<u8>] {
        self.attributes.iter().find(|(has, _)| has.eq_ignore_ascii_case(name)).map_or(&[], |(_, values)| values)
    }
}

/// What the server said in the end, well or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The entries that were found.
    pub entries: Vec<Entry>,
    /// Where else the server says to look: URLs of referrals and of references. None is followed.
    pub referrals: Vec<String>,
    /// How it went: one of [`code`](trunkline_wire::ldap::code).
    pub code: u32,
    /// What the server adds, for people.
    pub text: String,
    /// What came back of an extended request.
    pub value: Option<Vec<u8>>,
}

impl Answer {
    /// Whether all was done that was asked.
    pub fn is_success(&self) -> bool {
        self.code == trunkline_wire::ldap::code::SUCCESS
    }

    /// The password that the server has made (RFC 3062 section 2).
    pub fn generated_password(&self) -> Option<&[u8]> {
        let sequence = Elements::new(self.value.as_deref()?).next()?.ok()?;
        let mut elements = sequence.elements().map_while(Result::ok);
        elements.find(|element| element.context() == Some(0)).map(|element| element.value)
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Failure {
    /// Too many wait already; nothing was sent.
    #[error("too many requests wait for the directory")]
    Full,
    /// No server answered in time.
    #[error("the directory did not answer in time")]
    TimedOut,
    /// No server is up; nothing was sent.
    #[error("no server of the directory is up: {0}")]
    Unreachable(Arc<str>),
    /// The connection broke before the answer, and no other server was there to ask.
    #[error("the connection to the directory broke: {0}")]
    Lost(Arc<str>),
    /// A change was sent, and whether it was carried out is not known.
    #[error("whether the directory has carried the change out is not known")]
    Unknown,
    /// The answer was longer than is taken.
    #[error("the directory's answer is too long")]
    TooLong,
    /// The engine was stopped.
    #[error("the directory's engine was stopped")]
    Stopped,
}

/// A response that was read, on its way from the connection to the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// An entry, and how many octets its message had.
    Entry(Entry, usize),
    Reference(Vec<String>),
    Final {
        kind: Kind,
        answer: Answer,
    },
    Intermediate,
    /// Nothing that can come.
    Other,
}

/// Which request a final response belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Search,
    Modify,
    Extended,
}

impl Reply {
    /// A copy of what was read of a message of so many octets.
    pub(crate) fn of(response: Response<'_>, octets: usize) -> Reply {
        match response {
            Response::Entry(entry) => {
                let owned = |values: &[&[u8]]| values.iter().map(|value| value.to_vec()).collect();
                let attributes = entry.attributes.iter().map(|a| (a.name.to_owned(), owned(&a.values))).collect();
                Reply::Entry(Entry { name: entry.name.to_owned(), attributes }, octets)
            }
            Response::Reference(urls) => Reply::Reference(owned(&urls)),
            Response::Done(outcome) => Self::last(Kind::Search, &outcome, None),
            Response::Modify(outcome) => Self::last(Kind::Modify, &outcome, None),
            Response::Extended { outcome, value, .. } => Self::last(Kind::Extended, &outcome, value),
            Response::Intermediate => Reply::Intermediate,
            Response::Bind(_) | Response::Other(_) => Reply::Other,
        }
    }

    fn last(kind: Kind, outcome: &Outcome<'_>, value: Option<&[u8]>) -> Reply {
        let answer = Answer {
            entries: Vec::new(),
            referrals: owned(&outcome.referrals),
            code: outcome.code,
            text: outcome.text.to_owned(),
            value: value.map(<[u8]>::to_vec),
        };
        Reply::Final { kind, answer }
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// A result that is no success, for people: its name and number and what the server adds.
pub(crate) fn told(code: u32, text: &str) -> String {
    let name = name_of(code);
    if text.is_empty() { format!("{name} ({code})") } else { format!("{name} ({code}): {text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_password_is_found_where_it_is() {
        let answer = |value: Option<&[u8]>| Answer { value: value.map(<[u8]>::to_vec), ..Answer::default() };
        assert_eq!(answer(Some(b"\x30\x04\x80\x02pw")).generated_password(), Some(b"pw".as_slice()));
        for nothing in [None, Some(b"".as_slice()), Some(b"\x30\x00"), Some(b"\x30\x09\x80")] {
            assert_eq!(answer(nothing).generated_password(), None);
        }
    }

    #[test]
    fn results_are_told_with_name_and_number() {
        assert_eq!(told(52, ""), "unavailable (52)");
        assert_eq!(told(53, "no"), "unwillingToPerform (53): no");
    }

    #[test]
    fn what_is_secret_is_not_shown() {
        let operation = Operation::PasswordModify { user: None, old: None, new: Some(b"secret".to_vec()) };
        assert_eq!(format!("{operation:?}"), "PasswordModify");
    }
}
