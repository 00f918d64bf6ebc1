//! Free text without the numbers and names that stand in it.

use super::HIDDEN;
use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

/// Characters of a text from the wire that are gone through and shown; of a longer one the rest is `...`.
pub const WIRE_CHARS_MAX: usize = 512;
/// The same of a sentence of ours, which may quote such texts.
pub const SENTENCE_CHARS_MAX: usize = 2048;
/// What stands for what was cut off.
const CUT: &str = "...";
/// Times that a sentence quotes a reason phrase; what comes behind more is cut off.
const QUOTES_MAX: usize = 8;
/// Behind this a sentence of ours quotes what came over the wire.
const SAYS: &str = "It says:";

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
    /// Five digits that follow each other in them, separators left out.
    grams: HashSet<[u8; GRAM]>,
}

/// So many digits of a known number in a row are hidden wherever they stand.
const GRAM: usize = 5;
/// Digits of a number may stand so far from each other.
const SEPARATORS_MAX: usize = 2;

impl Scrub {
    /// With the user parts of a row and its URIs.
    pub fn of_uris(users: &[&str], uris: &[&str]) -> Self {
        let mut names: Vec<String> = vec![];
        let mut grams = HashSet::new();
        let of_uris = uris.iter().map(|uri| user_part(uri));
        for user in users.iter().copied().chain(of_uris) {
            // What is longer stands whole in no text that is gone through.
            let user = beginning(user, SENTENCE_CHARS_MAX);
            let bare = user.split([';', ':']).next().unwrap_or_default();
            for name in [user, bare] {
                if !name.is_empty() && !names.iter().any(|n| n == name) {
                    names.push(name.to_owned());
                }
            }
            for group in groups(user) {
                let digits: Vec<u8> = group.iter().map(|(_, digit)| *digit).collect();
                grams.extend(digits.windows(GRAM).filter_map(|five| <[u8; GRAM]>::try_from(five).ok()));
            }
        }
        names.retain(|n| !super::NOBODY.iter().any(|nobody| n.eq_ignore_ascii_case(nobody)));
        Scrub { names, grams }
    }

    /// A text without them. What is a known user part by itself is masked by its shape, all else becomes stars. Of a
    /// long text only the beginning is left.
    pub fn text(&self, kind: Kind, text: &str) -> String {
        let most = if kind == Kind::Wire { WIRE_CHARS_MAX } else { SENTENCE_CHARS_MAX };
        let kept = beginning(text, most);
        if kept.len() < text.len() {
            return self.whole(kind, before_broken(kept)) + CUT;
        }
        self.whole(kind, text)
    }

    /// A sentence of ours that may quote a reason phrase, which is replaced by what became of it, and other words from
    /// the wire behind [`SAYS`].
    pub fn sentence(&self, text: &str, reason: &str, scrubbed: &str) -> String {
        let text = match reason {
            "" => text.to_owned(),
            _ if reason == scrubbed => text.to_owned(),
            _ => self.unquoted(text, reason, scrubbed),
        };
        // Once more as a whole: what was cut by the quotation may be a number put together again.
        match text.split_once(SAYS) {
            Some((ours, theirs)) => {
                format!("{}{SAYS}{}", self.text(Kind::Sentence, ours), self.text(Kind::Wire, theirs))
            }
            None => self.text(Kind::Sentence, &text),
        }
    }

    /// A sentence with what became of a reason phrase in the places of that.
    fn unquoted(&self, text: &str, reason: &str, scrubbed: &str) -> String {
        let mut parts = text.split(reason);
        let parts_kept = parts.by_ref().take(QUOTES_MAX + 1);
        let kept: Vec<String> = parts_kept.map(|part| self.text(Kind::Sentence, part)).collect();
        kept.join(scrubbed) + if parts.next().is_some() { CUT } else { "" }
    }

    fn whole(&self, kind: Kind, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        let addresses = Addresses::of(text);
        let names = self.names(text, &addresses);
        let mut hidden: Vec<Range<usize>> = names.clone();
        hidden.extend(self.grams(text, &addresses));
        hidden.extend(runs(text, if kind == Kind::Wire { GRAM } else { 7 }, &addresses));
        if kind == Kind::Wire {
            hidden.extend(before_at(text));
            hidden.extend(spaced(text, &addresses));
        }
        hidden.sort_unstable_by_key(|r| (r.start, r.end));
        rebuilt(text, &hidden, &names)
    }

    /// Where known user parts stand by themselves, in either case of letters, and are no part of an address.
    fn names(&self, text: &str, addresses: &Addresses) -> Vec<Range<usize>> {
        let mut found = vec![];
        let lower = text.to_ascii_lowercase();
        for name in &self.names {
            for (at, part) in lower.match_indices(&name.to_ascii_lowercase()) {
                let range = at..at + part.len();
                let beside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
                let inside =
                    beside(text[..range.start].chars().next_back()) || beside(text[range.end..].chars().next());
                if !inside && !addresses.hold(&range) {
                    found.push(range);
                }
            }
        }
        found
    }

    /// Where five digits of a known number follow each other, separators or not.
    fn grams(&self, text: &str, addresses: &Addresses) -> Vec<Range<usize>> {
        let mut found = vec![];
        if self.grams.is_empty() {
            return found;
        }
        for group in groups(text) {
            for window in group.windows(GRAM) {
                let five: Vec<u8> = window.iter().map(|(_, digit)| *digit).collect();
                let range = window[0].0..window[GRAM - 1].0 + 1;
                if self.grams.contains(five.as_slice()) && !addresses.hold(&range) {
                    found.push(range);
                }
            }
        }
        found
    }
}

/// The first characters of a text.
fn beginning(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(at, _)| &text[..at])
}

/// Of a text that was cut what is whole in it: its last word may be the beginning of a name or, with those before it,
/// of a number.
fn before_broken(text: &str) -> &str {
    let words = text.rfind(ends_word).map_or("", |at| &text[..at]);
    words.trim_end_matches(|c: char| c.is_numeric() || " +-.()/".contains(c))
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || "<>\"'".contains(c)
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
fn runs(text: &str, least: usize, addresses: &Addresses) -> Vec<Range<usize>> {
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
        if count >= least && !addresses.hold(&(start..at)) {
            found.push(start..at);
        }
        count = 0;
    }
    found
}

/// Seven digits or more with blanks, hyphens, slashes or parentheses between them.
fn spaced(text: &str, addresses: &Addresses) -> Vec<Range<usize>> {
    let dotless = text.replace('.', ":");
    let long = groups(&dotless).filter(|g| g.len() >= 7);
    long.map(|g| g[0].0..g[g.len() - 1].0 + 1).filter(|r| !addresses.hold(r)).collect()
}

/// What stands before each `@` as far as it may be a user part, and what follows `tel:`.
fn before_at(text: &str) -> Vec<Range<usize>> {
    let mut found = vec![];
    let mut from = 0;
    for part in text.split_inclusive(ends_word) {
        // What stands before the last one stands before the others.
        let end = part.rfind('@').unwrap_or(0);
        let word = &part[..end];
        let scheme = word.split_once(':').filter(|(s, _)| super::is_scheme(s)).map_or(0, |(s, _)| s.len() + 1);
        if scheme < end {
            found.push(from + scheme..from + end);
        }
        from += part.len();
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

/// Where the IP addresses of a text stand, with their ports, in order.
struct Addresses(Vec<Range<usize>>);

impl Addresses {
    /// Characters of the longest, `[v6]:port`, with dots and colons of the sentence behind it.
    const CHARS_MAX: usize = 64;

    fn of(text: &str) -> Self {
        let part = |c: char| c.is_ascii_hexdigit() || ".:[]".contains(c);
        let mut found = vec![];
        let mut from = 0;
        for piece in text.split_inclusive(|c| !part(c)) {
            let whole = piece.trim_end_matches(|c| !part(c));
            let word = whole.trim_end_matches(['.', ':']);
            let likely = word.len() <= Self::CHARS_MAX && word.contains(['.', ':']);
            if likely && (word.parse::<IpAddr>().is_ok() || word.parse::<SocketAddr>().is_ok()) {
                found.push(from..from + word.len());
            }
            from += piece.len();
        }
        Addresses(found)
    }

    /// Whether a part of the text lies in one.
    fn hold(&self, range: &Range<usize>) -> bool {
        let next = self.0.partition_point(|address| address.end < range.end);
        self.0.get(next).is_some_and(|address| address.start <= range.start && range.end <= address.end)
    }
}

/// The text with stars for each of the ranges, which are sorted and may overlap.
fn rebuilt(text: &str, hidden: &[Range<usize>], names: &[Range<usize>]) -> String {
    let known: HashSet<&Range<usize>> = names.iter().collect();
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
        if known.contains(&whole) {
            out.push_str(&super::user(&text[whole]));
        } else {
            out.push_str(HIDDEN);
        }
        at = end;
    }
    out.push_str(&text[at..]);
    out
}
