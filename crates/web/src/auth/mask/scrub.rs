//! Free text without the numbers and names that stand in it.

use super::HIDDEN;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

/// What kind of text it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Came over the wire: any run of five digits may be a number.
    Wire,
    /// A sentence of ours, which counts packets and octets: only runs of seven may be one.
    Sentence,
}

/// What must not be in the texts of a row.
pub struct Scrub {
    /// User parts as they stand in the row.
    names: Vec<String>,
    /// Their digits, separators left out, five or more.
    numbers: Vec<Vec<u8>>,
}

/// So many digits of a known number in a row are hidden wherever they stand.
const GRAM: usize = 5;
/// Digits of a number may stand so far from each other.
const SEPARATORS_MAX: usize = 2;

impl Scrub {
    /// With the user parts of a row and its URIs.
    pub fn of_uris(users: &[&str], uris: &[&str]) -> Self {
        let mut names: Vec<String> = vec![];
        let mut numbers = vec![];
        let of_uris = uris.iter().map(|uri| user_part(uri));
        for user in users.iter().copied().chain(of_uris) {
            let bare = user.split([';', ':']).next().unwrap_or_default();
            for name in [user, bare] {
                if !name.is_empty() && !names.iter().any(|n| n == name) {
                    names.push(name.to_owned());
                }
            }
            for group in groups(user).filter(|g| g.len() >= GRAM) {
                numbers.push(group.iter().map(|(_, digit)| *digit).collect());
            }
        }
        names.retain(|n| !super::NOBODY.iter().any(|nobody| n.eq_ignore_ascii_case(nobody)));
        Scrub { names, numbers }
    }

    /// A text without them. What is a known user part by itself is masked by its shape, all else becomes stars.
    pub fn text(&self, kind: Kind, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        let mut hidden: Vec<Range<usize>> = vec![];
        let names = self.names(text);
        hidden.extend(names.iter().cloned());
        hidden.extend(self.grams(text));
        hidden.extend(runs(text, if kind == Kind::Wire { GRAM } else { 7 }));
        if kind == Kind::Wire {
            hidden.extend(before_at(text));
            hidden.extend(spaced(text));
        }
        hidden.sort_unstable_by_key(|r| (r.start, r.end));
        rebuilt(text, &hidden, &names)
    }

    /// A sentence of ours that may quote a reason phrase, which is replaced by what became of it.
    pub fn sentence(&self, text: &str, reason: &str, scrubbed: &str) -> String {
        if reason.is_empty() || reason == scrubbed {
            return self.text(Kind::Sentence, text);
        }
        let parts: Vec<String> = text.split(reason).map(|part| self.text(Kind::Sentence, part)).collect();
        // Once more as a whole: what was cut by the quotation may be a number put together again.
        self.text(Kind::Sentence, &parts.join(scrubbed))
    }

    /// Where known user parts stand by themselves, in either case of letters, and are no part of an address.
    fn names(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = vec![];
        let lower = text.to_ascii_lowercase();
        for name in &self.names {
            for (at, part) in lower.match_indices(&name.to_ascii_lowercase()) {
                let range = at..at + part.len();
                let beside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
                let inside =
                    beside(text[..range.start].chars().next_back()) || beside(text[range.end..].chars().next());
                if !inside && !in_address(text, &range) {
                    found.push(range);
                }
            }
        }
        found
    }

    /// Where five digits of a known number follow each other, separators or not.
    fn grams(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = vec![];
        if self.numbers.is_empty() {
            return found;
        }
        for group in groups(text) {
            for window in group.windows(GRAM) {
                let digits = |number: &&Vec<u8>| {
                    number.windows(GRAM).any(|known| known.iter().zip(window).all(|(a, (_, b))| a == b))
                };
                let range = window[0].0..window[GRAM - 1].0 + 1;
                if self.numbers.iter().any(|n| digits(&n)) && !in_address(text, &range) {
                    found.push(range);
                }
            }
        }
        found
    }
}

/// The user part of a URI or of the value of a Contact.
fn user_part(uri: &str) -> &str {
    let inner = uri.split_once('<').map_or(uri, |(_, rest)| rest.split('>').next().unwrap_or(rest));
    let rest = match inner.split_once(':') {
        Some((scheme, rest)) if super::is_scheme(scheme) => rest,
        _ => inner,
    };
    match rest.rsplit_once('@') {
        Some((user, _)) => user,
        None if inner.len() != rest.len() && !inner.starts_with(['t', 'T']) => "",
        None => rest,
    }
}

/// ASCII digits with their places, in groups between which more stands than separators.
fn groups(text: &str) -> impl Iterator<Item = Vec<(usize, u8)>> {
    let mut all: Vec<Vec<(usize, u8)>> = vec![];
    let mut apart = SEPARATORS_MAX + 1;
    for (at, c) in text.char_indices() {
        if c.is_ascii_digit() {
            if apart > SEPARATORS_MAX {
                all.push(vec![]);
            }
            if let Some(group) = all.last_mut() {
                group.push((at, c as u8));
            }
            apart = 0;
        } else if " -.()/".contains(c) {
            apart += 1;
        } else {
            apart = SEPARATORS_MAX + 1;
        }
    }
    all.into_iter()
}

/// Runs of at least so many digits, of any script, that belong to no address.
fn runs(text: &str, least: usize) -> Vec<Range<usize>> {
    let mut found = vec![];
    let (mut start, mut count) = (0, 0);
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if c.is_numeric() {
            if count == 0 {
                start = at;
            }
            count += 1;
            continue;
        }
        if count >= least && !in_address(text, &(start..at)) {
            found.push(start..at);
        }
        count = 0;
    }
    found
}

/// Seven digits or more with blanks, hyphens, slashes or parentheses between them.
fn spaced(text: &str) -> Vec<Range<usize>> {
    let dotless = text.replace('.', ":");
    let long = groups(&dotless).filter(|g| g.len() >= 7);
    long.map(|g| g[0].0..g[g.len() - 1].0 + 1).filter(|r| !in_address(text, r)).collect()
}

/// What stands before each `@` as far as it may be a user part, and what follows `tel:`.
fn before_at(text: &str) -> Vec<Range<usize>> {
    let ends_word = |c: char| c.is_whitespace() || "<>\"'".contains(c);
    let mut found = vec![];
    for (at, _) in text.match_indices('@') {
        let from = text[..at].rfind(ends_word).map_or(0, |i| i + text[i..].chars().next().map_or(1, char::len_utf8));
        let word = &text[from..at];
        let scheme = word.split_once(':').filter(|(s, _)| super::is_scheme(s)).map_or(0, |(s, _)| s.len() + 1);
        if from + scheme < at {
            found.push(from + scheme..at);
        }
    }
    let lower = text.to_ascii_lowercase();
    for (at, scheme) in lower.match_indices("tel:") {
        let from = at + scheme.len();
        let length = text[from..].find(|c: char| !(c.is_ascii_digit() || "+-.()*#".contains(c)));
        let to = length.map_or(text.len(), |l| from + l);
        if from < to {
            found.push(from..to);
        }
    }
    found
}

/// Whether a part of a text lies in an IP address, or in one with a port.
fn in_address(text: &str, range: &Range<usize>) -> bool {
    let part = |c: char| c.is_ascii_hexdigit() || ".:[]".contains(c);
    let start =
        text[..range.start].rfind(|c| !part(c)).map_or(0, |i| i + text[i..].chars().next().map_or(1, char::len_utf8));
    let end = text[range.end..].find(|c| !part(c)).map_or(text.len(), |i| range.end + i);
    let word = text[start..end].trim_end_matches(['.', ':']);
    range.end <= start + word.len() && (word.parse::<IpAddr>().is_ok() || word.parse::<SocketAddr>().is_ok())
}

/// The text with stars for each of the ranges, which are sorted and may overlap.
fn rebuilt(text: &str, hidden: &[Range<usize>], names: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut at, mut next) = (0, 0);
    while let Some(first) = hidden.get(next) {
        let mut end = first.end;
        next += 1;
        while let Some(more) = hidden.get(next).filter(|r| r.start < end) {
            end = end.max(more.end);
            next += 1;
        }
        out.push_str(&text[at..first.start]);
        let whole = first.start..end;
        if names.contains(&whole) {
            out.push_str(&super::user(&text[whole]));
        } else {
            out.push_str(HIDDEN);
        }
        at = end;
    }
    out.push_str(&text[at..]);
    out
}
