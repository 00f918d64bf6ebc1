//! Requests (RFC 4511 section 4), as they are written.

use super::{APPLICATION, Filter};
use crate::cdr::ber::{Backward, CONTEXT, UNIVERSAL, universal};
use core::fmt;

/// The extended request that begins TLS (RFC 4511 section 4.14).
pub const START_TLS: &str = "1.3.6.1.4.1.1466.20037";
/// The extended request that sets a password (RFC 3062).
pub const PASSWORD_MODIFY: &str = "1.3.6.1.4.1.4203.1.11.1";
/// The only version there is in use.
const VERSION: u64 = 3;

/// How far below its base a search looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The base alone.
    Base,
    /// What lies directly below it.
    One,
    /// It and everything below it.
    Subtree,
}

/// What is searched for. Aliases are not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// Where: a distinguished name.
    pub base: String,
    /// How far below.
    pub scope: Scope,
    /// Entries that the server gives at most; 0 for as many as it will.
    pub size_limit: u32,
    /// Seconds that the server may take; 0 for as many as it will.
    pub time_limit_seconds: u32,
    /// Which entries.
    pub filter: Filter,
    /// The attributes that are wanted; none for all.
    pub attributes: Vec<String>,
}

/// What is done to the values of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modification {
    /// They are added.
    Add,
    /// They are removed; all, if none is named.
    Delete,
    /// They take the place of all.
    Replace,
}

/// A change of one attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What is done.
    pub modification: Modification,
    /// To which attribute.
    pub attribute: String,
    /// With which values.
    pub values: Vec<Vec<u8>>,
}

/// A request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Request<'a> {
    /// Who asks, by a name and a password; both empty for nobody.
    Bind {
        /// A distinguished name.
        name: &'a str,
        /// Its password.
        password: &'a [u8],
    },
    /// The connection ends; there is no answer.
    Unbind,
    /// A search.
    Search(&'a Search),
    /// A change of an entry.
    Modify {
        /// Its distinguished name.
        entry: &'a str,
        /// Carried out in this order, all or none.
        changes: &'a [Change],
    },
    /// A password is set (RFC 3062).
    PasswordModify {
        /// Whose; none for who is bound.
        user: Option<&'a str>,
        /// The one before.
        old: Option<&'a [u8]>,
        /// The new one; none for one that the server makes.
        new: Option<&'a [u8]>,
    },
    /// TLS is to begin; the answer is the last that comes without.
    StartTls,
    /// The request of this message identifier needs no answer any more; this one has none either.
    Abandon(u32),
}

impl Request<'_> {
    /// Appends the message.
    pub fn write(&self, id: u32, out: &mut Vec<u8>) {
        let mut out = Backward::new(out);
        let end = out.end();
        match self {
            Request::Bind { name, password } => write_bind(name, password, &mut out),
            Request::Unbind => out.octets(APPLICATION, 2, &[]),
            Request::Search(search) => write_search(search, &mut out),
            Request::Modify { entry, changes } => write_modify(entry, changes, &mut out),
            Request::PasswordModify { user, old, new } => write_password(*user, *old, *new, &mut out),
            Request::StartTls => write_extended(START_TLS, None, &mut out),
            Request::Abandon(id) => out.unsigned(APPLICATION, 16, u64::from(*id)),
        }
        out.unsigned(UNIVERSAL, universal::INTEGER, u64::from(id));
        out.wrap(UNIVERSAL, universal::SEQUENCE, end);
        out.finish();
    }
}

/// What it is, without what is in it: passwords and identities stay out of logs.
impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Request::Bind { .. } => "Bind",
            Request::Unbind => "Unbind",
            Request::Search(_) => "Search",
            Request::Modify { .. } => "Modify",
            Request::PasswordModify { .. } => "PasswordModify",
            Request::StartTls => "StartTls",
            Request::Abandon(_) => "Abandon",
        })
    }
}

fn write_bind(name: &str, password: &[u8], out: &mut Backward<'_>) {
    let end = out.end();
    out.octets(CONTEXT, 0, password);
    out.octets(UNIVERSAL, universal::OCTET_STRING, name.as_bytes());
    out.unsigned(UNIVERSAL, universal::INTEGER, VERSION);
    out.wrap(APPLICATION, 0, end);
}

fn write_search(search: &Search, out: &mut Backward<'_>) {
    let (end, attributes) = (out.end(), out.end());
    for attribute in search.attributes.iter().rev() {
        out.octets(UNIVERSAL, universal::OCTET_STRING, attribute.as_bytes());
    }
    out.wrap(UNIVERSAL, universal::SEQUENCE, attributes);
    search.filter.write(out);
    out.boolean(UNIVERSAL, BOOLEAN, false);
    out.unsigned(UNIVERSAL, universal::INTEGER, u64::from(search.time_limit_seconds));
    out.unsigned(UNIVERSAL, universal::INTEGER, u64::from(search.size_limit));
    out.unsigned(UNIVERSAL, universal::ENUMERATED, NEVER_DEREFERENCE_ALIASES);
    out.unsigned(UNIVERSAL, universal::ENUMERATED, search.scope as u64);
    out.octets(UNIVERSAL, universal::OCTET_STRING, search.base.as_bytes());
    out.wrap(APPLICATION, 3, end);
}

const BOOLEAN: u8 = 1;
const SET: u8 = 17;
const NEVER_DEREFERENCE_ALIASES: u64 = 0;

fn write_modify(entry: &str, changes: &[Change], out: &mut Backward<'_>) {
    let (end, all) = (out.end(), out.end());
    for change in changes.iter().rev() {
        let (whole, attribute, values) = (out.end(), out.end(), out.end());
        for value in change.values.iter().rev() {
            out.octets(UNIVERSAL, universal::OCTET_STRING, value);
        }
        out.wrap(UNIVERSAL, SET, values);
        out.octets(UNIVERSAL, universal::OCTET_STRING, change.attribute.as_bytes());
        out.wrap(UNIVERSAL, universal::SEQUENCE, attribute);
        out.unsigned(UNIVERSAL, universal::ENUMERATED, change.modification as u64);
        out.wrap(UNIVERSAL, universal::SEQUENCE, whole);
    }
    out.wrap(UNIVERSAL, universal::SEQUENCE, all);
    out.octets(UNIVERSAL, universal::OCTET_STRING, entry.as_bytes());
    out.wrap(APPLICATION, 6, end);
}

fn write_password(user: Option<&str>, old: Option<&[u8]>, new: Option<&[u8]>, out: &mut Backward<'_>) {
    let mut value = Vec::new();
    let mut inner = Backward::new(&mut value);
    let end = inner.end();
    for (tag, text) in [(2, new), (1, old), (0, user.map(str::as_bytes))] {
        if let Some(text) = text {
            inner.octets(CONTEXT, tag, text);
        }
    }
    inner.wrap(UNIVERSAL, universal::SEQUENCE, end);
    inner.finish();
    write_extended(PASSWORD_MODIFY, Some(&value), out);
}

fn write_extended(name: &str, value: Option<&[u8]>, out: &mut Backward<'_>) {
    let end = out.end();
    if let Some(value) = value {
        out.octets(CONTEXT, 1, value);
    }
    out.octets(CONTEXT, 0, name.as_bytes());
    out.wrap(APPLICATION, 23, end);
}
