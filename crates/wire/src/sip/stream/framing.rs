//! Where a message in a stream ends.

use super::{MESSAGE_OCTETS_MAX, START_LINE_OCTETS_MAX};
use crate::sip::grammar::{after, is_token_octet};
use crate::sip::scan::end_of_headers;
use crate::sip::{Header, METHOD_OCTETS_MAX, Message, Oddity, looks_like_sip, scan};

/// Octets of a message that waits for the rest of its session description in which the next start line is looked for at
/// each push; a longer one waits until all has come.
const WATCHED_OCTETS_MAX: usize = 16 * 1024;

/// What the octets at hand begin with.
#[expect(clippy::large_enum_variant, reason = "made and taken apart at once; a box would be an allocation per message")]
pub(super) enum Step<'a> {
    /// A message, the octets that it takes, and how many octets behind these still belong to it.
    Message(Message<'a>, usize, u64),
    /// Octets that belong to no message.
    Junk(usize),
    /// The beginning of a message.
    More(More),
}

/// What is known of a message that waits for more.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct More {
    /// How many octets it needs; 0 if not known.
    pub need: usize,
    /// In how many octets the end of the header fields was looked for.
    pub searched: usize,
    /// Whether to look at each push although it does not bring all: Content-Length may be wrong.
    pub watch: bool,
}

/// Reads what the octets begin with; they are not empty. `searched`: see [`More::searched`].
pub(super) fn step(octets: &[u8], searched: usize) -> Step<'_> {
    // Nearly all messages come whole, and end with a line. To look for the end of the header fields is to read them.
    if searched == 0
        && octets.ends_with(b"\n")
        && octets.first().is_some_and(|o| is_token_octet(*o))
        && let Some(message) = scan(octets, true)
        && !message.oddities.contains(Oddity::HeaderEndMissing)
        && !message.oddities.contains(Oddity::HeaderBeyondReach)
    {
        return with_headers(message, octets);
    }
    if !begins_message(octets) {
        return if may_begin(octets) { Step::More(More::default()) } else { Step::Junk(junk(octets)) };
    }
    if end_of_headers(octets, searched).is_none() {
        if octets.len() <= MESSAGE_OCTETS_MAX {
            return Step::More(More { searched: octets.len(), ..More::default() });
        }
        return cut(octets, octets.len(), 1);
    }
    match scan(octets, true) {
        Some(message) => with_headers(message, octets),
        None => Step::Junk(junk(octets)),
    }
}

fn with_headers<'a>(message: Message<'a>, octets: &'a [u8]) -> Step<'a> {
    let available = octets.len() - message.body_start;
    let Some(length) = message.content_length() else {
        // What comes with the header fields is the body, up to the next start line; a body that is announced is waited
        // for, but only for one push.
        return match message.header(Header::ContentType) {
            Some(_) if available == 0 => Step::More(More::default()),
            Some(_) => whole(message, octets, next_start(octets, message.body_start).unwrap_or(octets.len())),
            None => whole(message, octets, message.body_start),
        };
    };
    let end = message.body_start.saturating_add(length as usize);
    // A start line inside a session description: Content-Length is too large.
    let watch = is_sdp(&message);
    if watch {
        let (within, _) = octets.split_at(end.min(octets.len()));
        if let Some(next) = next_start(within, message.body_start) {
            let mut message = framed(message, octets, next);
            message.oddities.insert(Oddity::ContentLengthTooLong);
            return Step::Message(message, next, 0);
        }
    }
    if end > MESSAGE_OCTETS_MAX && end > octets.len() {
        return cut(octets, octets.len(), (end - octets.len()) as u64);
    }
    if end > octets.len() {
        return Step::More(More { need: end, searched: 0, watch: watch && octets.len() <= WATCHED_OCTETS_MAX });
    }
    whole(message, octets, end)
}

fn is_sdp(message: &Message<'_>) -> bool {
    message.content_type().is_some_and(|t| t.is("application", "sdp"))
}

fn whole<'a>(message: Message<'a>, octets: &'a [u8], end: usize) -> Step<'a> {
    Step::Message(framed(message, octets, end), end, 0)
}

/// The message with its end where the stream says. What follows is the next message's, and no oddity of this one.
fn framed<'a>(mut message: Message<'a>, octets: &'a [u8], end: usize) -> Message<'a> {
    let end = end.clamp(message.body_start, octets.len());
    message.octets = &octets[..end];
    message.body_end = end;
    message.oddities.remove(Oddity::OctetsAfterBody);
    message.oddities.remove(Oddity::ContentLengthTooLong);
    message.oddities.remove(Oddity::ContentLengthMissing);
    // Over streams it is mandatory (RFC 3261 section 18.3).
    message.oddities.insert_if(message.header(Header::ContentLength).is_none(), Oddity::ContentLengthMissing);
    message
}

/// The first `len` octets as a message that lacks its end.
fn cut(octets: &[u8], len: usize, rest: u64) -> Step<'_> {
    match scan(&octets[..len], false) {
        Some(message) => Step::Message(message, len, rest),
        None => Step::Junk(len),
    }
}

/// What is held of a message, and whether it lacks its end.
pub(super) fn message_so_far(octets: &[u8]) -> Option<(Message<'_>, bool)> {
    if !begins_message(octets) {
        return None;
    }
    let headers_ended = end_of_headers(octets, 0).is_some();
    if let Some(message) = scan(octets, true).filter(|m| headers_ended && m.content_length().is_none()) {
        return Some((framed(message, octets, octets.len()), false));
    }
    scan(octets, false).map(|message| (message, true))
}

/// Whether octets begin with a whole start line.
pub(super) fn begins_message(octets: &[u8]) -> bool {
    looks_like_sip(octets) && !matches!(octets.first(), Some(b'\r' | b'\n')) && memchr::memchr(b'\n', octets).is_some()
}

/// Whether octets without a line end may become a start line: a token, then a space or the slash of the version, and
/// nothing but text.
pub(super) fn may_begin(octets: &[u8]) -> bool {
    if octets.len() > START_LINE_OCTETS_MAX || memchr::memchr(b'\n', octets).is_some() {
        return false;
    }
    let name = octets.iter().take_while(|&&o| is_token_octet(o)).count();
    let follows = match octets.get(name) {
        None => true,
        Some(b' ') => name > 0,
        Some(b'/') => name == 3 && octets[..3].eq_ignore_ascii_case(b"SIP"),
        Some(_) => false,
    };
    follows && name <= METHOD_OCTETS_MAX && octets.iter().all(|&o| o >= b' ' && o != 0x7f || o == b'\t' || o == b'\r')
}

/// How many octets at the beginning belong to no message: up to the next line that is, or may become, a start line. The
/// first line is passed over.
pub(super) fn junk(octets: &[u8]) -> usize {
    let mut at = 0;
    while let Some(n) = memchr::memchr(b'\n', after(octets, at)) {
        at += n + 1;
        let rest = after(octets, at);
        if begins_message(rest) || may_begin(rest) {
            return at;
        }
    }
    octets.len()
}

/// The next start line at the beginning of a line behind `from`. Lines of a session description are told by their
/// second octet.
fn next_start(octets: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = after(octets, at);
        if rest.get(1) != Some(&b'=') && begins_message(rest) {
            return Some(at);
        }
        at += memchr::memchr(b'\n', rest)? + 1;
    }
}
