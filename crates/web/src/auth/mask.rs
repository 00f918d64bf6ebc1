//! Numbers as those see them who may not see whole ones: `+4420*****34`.
//!
//! Of a number the first digits (at most [`HEAD_DIGITS_MAX`]) and the last two are shown, never so many that fewer than
//! [`HIDDEN_DIGITS_MIN`] are hidden, and five stars however many were; of a name its first letter. What else a row
//! carries from the wire (reason phrases, Call-IDs, remarks of the ladder) is gone through for the row's own numbers,
//! for whatever stands before an `@`, and for runs of digits. Digits that were sent in a call (DTMF) are not shown at
//! all.

mod alert;
mod ask;
mod scrub;

use crate::sources::{
    CacheSnapshot, CallUp, ChargeAccount, ChargeDifference, ChargeEvent, ChargeLine, ChargeRated, ChargeRatedCall,
    ChargeSession,
};
pub use alert::{
    alert, alert_pending, alert_rule, alert_sent, alert_silence, alert_step, alert_subject, alert_window, check_tests,
};
pub use ask::{check_filter, check_search, names_numbers};
use scrub::{Kind, Scrub};
use trunkline_store::row::{Call, Ladder, Registration, SipEvent, Stream};

/// Most digits that are shown of a number's beginning.
pub const HEAD_DIGITS_MAX: usize = 4;
/// Digits that are shown of its end.
pub const TAIL_DIGITS: usize = 2;
/// Fewest digits that are hidden; a number too short for that is hidden as a whole.
pub const HIDDEN_DIGITS_MIN: usize = 5;
/// What stands for what is hidden.
pub const HIDDEN: &str = "*****";
/// What stands for digits that were sent in a call.
pub const DTMF_HIDDEN: &str = "hidden";

/// User parts that name nobody.
const NOBODY: [&str; 8] =
    ["anonymous", "unknown", "restricted", "unavailable", "private", "invalid", "withheld", "nobody"];

/// Masks a call with its ladder and streams.
pub fn call(c: &mut Call) {
    let scrub = of_call(c);
    let reason = scrub.text(Kind::Wire, &c.reason);
    if let Some(verdict) = &mut c.verdict {
        verdict.text = scrub.sentence(&verdict.text, &c.reason, &reason);
    }
    c.reason = reason;
    c.capture.note = scrub.text(Kind::Sentence, &c.capture.note);
    for text in [&mut c.sip_call_id, &mut c.user_agent].into_iter().chain(&mut c.files) {
        *text = scrub.text(Kind::Wire, text);
    }
    c.ladder = ladder(&c.ladder, &scrub);
    for s in &mut c.streams {
        stream_of(s, &scrub);
    }
    (c.from_uri, c.to_uri) = (uri(&c.from_uri, &scrub), uri(&c.to_uri, &scrub));
    (c.from, c.to) = (user(&c.from), user(&c.to));
    for one in &mut c.numbers {
        // Of what was sent, its parameters may hold numbers, too.
        let name = one.sent.split_once(": ").map_or("", |(name, _)| name);
        one.sent = format!("{name}: {}", uri(one.sent.get(name.len() + 2..).unwrap_or_default(), &scrub));
        one.number = user(&one.number);
    }
}

/// With all numbers of a call.
fn of_call(c: &Call) -> Scrub {
    let others = || c.numbers.iter();
    let users: Vec<&str> = [&*c.from, &*c.to].into_iter().chain(others().map(|one| &*one.number)).collect();
    let sent = others().filter_map(|one| one.sent.split_once(": ")).map(|(_, value)| value);
    let uris: Vec<&str> = [&*c.from_uri, &*c.to_uri].into_iter().chain(sent).collect();
    Scrub::of_uris(&users, &uris)
}

/// From, To and verdict of a call, masked, and no work for what else it carries.
pub fn brief(c: &Call) -> (String, String, Option<String>) {
    let verdict = c.verdict.as_ref().map(|verdict| {
        let scrub = of_call(c);
        scrub.sentence(&verdict.text, &c.reason, &scrub.text(Kind::Wire, &c.reason))
    });
    (user(&c.from), user(&c.to), verdict)
}

/// Masks a stream.
pub fn stream(s: &mut Stream) {
    stream_of(s, &Scrub::of_uris(&[], &[]));
}

/// Masks a registration.
pub fn registration(r: &mut Registration) {
    let scrub = Scrub::of_uris(&[&r.user], &[&r.aor, &r.contact]);
    let reason = scrub.text(Kind::Wire, &r.reason);
    if let Some(verdict) = &mut r.verdict {
        verdict.text = scrub.sentence(&verdict.text, &r.reason, &reason);
    }
    r.reason = reason;
    for text in [&mut r.sip_call_id, &mut r.user_agent] {
        *text = scrub.text(Kind::Wire, text);
    }
    (r.aor, r.contact) = (uri(&r.aor, &scrub), uri(&r.contact, &scrub));
    r.user = user(&r.user);
}

/// Masks a transaction outside calls.
pub fn event(e: &mut SipEvent) {
    let scrub = Scrub::of_uris(&[&e.from, &e.to], &[]);
    for text in [&mut e.sip_call_id, &mut e.reason, &mut e.method] {
        *text = scrub.text(Kind::Wire, text);
    }
    (e.from, e.to) = (user(&e.from), user(&e.to));
}

/// Masks a call that is up.
pub fn call_up(c: &mut CallUp) {
    let scrub = Scrub::of_uris(&[&c.from, &c.to], &[]);
    c.sip_call_id = scrub.text(Kind::Wire, &c.sip_call_id);
    (c.from, c.to) = (user(&c.from), user(&c.to));
}

/// Masks the keys of a cache, which may hold numbers: runs of digits, and what stands before an `@`.
pub fn cache(cache: &mut CacheSnapshot) {
    let hot = cache.hot_keys.iter_mut().flatten().map(|hot| &mut hot.key);
    let slow = cache.slow_commands.iter_mut().flatten().map(|slow| &mut slow.key);
    hot.chain(slow).for_each(|key| *key = words(key));
}

/// Masks a session of charging: numbers in its Session-Id, and the one that is called.
pub fn charge_session(session: &mut ChargeSession) {
    (session.session, session.apn) = (words(&session.session), words(&session.apn));
    session.destination = user(&session.destination);
}

/// Masks an account: the identities of its subscribers, and its sessions.
pub fn charge_account(account: &mut ChargeAccount) {
    account.sessions.iter_mut().for_each(charge_session);
    let identities = account.subscribers.iter_mut().flat_map(|subscriber| &mut subscriber.identities);
    identities.for_each(|name| *name = identity(name));
}

/// Masks what was noted in a ledger.
pub fn charge_line(line: &mut ChargeLine) {
    line.note.iter_mut().for_each(|note| *note = words(note));
}

/// Masks where a session was, and whom it called.
pub fn charge_event(event: &mut ChargeEvent) {
    event.place.iter_mut().for_each(|place| *place = words(place));
    event.called.iter_mut().for_each(|called| *called = user(called));
}

/// Masks a difference between the wire and a bill: the numbers of its call and lines, and in a Session-Id.
pub fn charge_difference(one: &mut ChargeDifference) {
    if let Some(call) = &mut one.call {
        (call.caller, call.called) = (user(&call.caller), user(&call.called));
    }
    for line in one.line.iter_mut().chain(&mut one.other) {
        (line.caller, line.called) = (user(&line.caller), user(&line.called));
        line.session.iter_mut().for_each(|session| *session = words(session));
    }
}

/// Masks a call that was rated: its numbers, and the prefix, which would tell more of the one that was called.
pub fn charge_rated_call(one: &mut ChargeRatedCall) {
    (one.caller, one.called) = (user(&one.caller), user(&one.called));
    one.not_understood.iter_mut().for_each(|number| *number = user(number));
    one.prefix = None;
}

/// Masks what calls come to: not by prefix, as a prefix of few calls is a part of their numbers.
pub fn charge_rated(rated: &mut ChargeRated) {
    rated.prefixes.clear();
}

/// Words about anything: runs of digits, and what stands before an `@`.
pub fn words(text: &str) -> String {
    Scrub::of_uris(&[], &[]).text(Kind::Wire, text)
}

/// An identity of a subscriber: `imsi:0010*****17`.
pub fn identity(name: &str) -> String {
    match name.split_once(':') {
        Some((kind @ ("imsi" | "e164"), digits)) => format!("{kind}:{}", number(digits)),
        Some((kind @ ("nai" | "private"), text)) => match text.rsplit_once('@') {
            Some((name, host)) => format!("{kind}:{}@{}", user(name), plain(host, &Scrub::of_uris(&[], &[]))),
            None => format!("{kind}:{}", user(text)),
        },
        _ => uri(name, &Scrub::of_uris(&[], &[])),
    }
}

/// A user part of a URI, masked: a number by its shape, a name to its first letter. Parameters and a password go.
pub fn user(text: &str) -> String {
    let name = text.split([';', ':']).next().unwrap_or_default();
    if text.is_empty() || NOBODY.iter().any(|n| text.eq_ignore_ascii_case(n)) {
        return text.to_owned();
    }
    let is_number = name.chars().all(|c| c.is_ascii_digit() || "+-.()/ ".contains(c));
    if is_number && name.contains(|c: char| c.is_ascii_digit()) {
        return number(name);
    }
    let first = name.chars().next().filter(|c| c.is_alphabetic());
    first.map_or_else(|| HIDDEN.to_owned(), |c| format!("{c}{HIDDEN}"))
}

/// A number, masked; visual separators go.
fn number(text: &str) -> String {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let Some(head) = digits.len().checked_sub(TAIL_DIGITS + HIDDEN_DIGITS_MIN) else { return HIDDEN.to_owned() };
    let plus = if text.starts_with('+') { "+" } else { "" };
    let (head, tail) = (head.min(HEAD_DIGITS_MAX), digits.len() - TAIL_DIGITS);
    format!("{plus}{}{HIDDEN}{}", &digits[..head], &digits[tail..])
}

/// A URI or the value of a Contact: scheme, masked user part and host; display name and parameters go.
fn uri(text: &str, scrub: &Scrub) -> String {
    let inner = text.split_once('<').map_or(text, |(_, rest)| rest.split('>').next().unwrap_or(rest)).trim();
    let Some((scheme, rest)) = inner.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) else {
        return match inner.rsplit_once('@') {
            Some((name, host)) => format!("{}@{}", user(name), plain(host, scrub)),
            None => user(inner),
        };
    };
    match rest.rsplit_once('@') {
        Some((name, host)) => format!("{scheme}:{}@{}", user(name), plain(host, scrub)),
        None if scheme.eq_ignore_ascii_case("sip") || scheme.eq_ignore_ascii_case("sips") => {
            format!("{scheme}:{}", plain(rest, scrub))
        }
        None => format!("{scheme}:{}", user(rest)),
    }
}

fn is_scheme(text: &str) -> bool {
    ["sip", "sips", "tel", "im", "pres", "urn", "mailto", "http", "https"].iter().any(|s| text.eq_ignore_ascii_case(s))
}

/// A host with its port, without parameters and headers.
fn plain(host: &str, scrub: &Scrub) -> String {
    scrub.text(Kind::Wire, host.split([';', '?']).next().unwrap_or_default())
}

fn stream_of(s: &mut Stream, scrub: &Scrub) {
    if !s.dtmf.is_empty() {
        s.dtmf = DTMF_HIDDEN.to_owned();
    }
    s.codec = scrub.text(Kind::Wire, &s.codec);
}

/// The same messages with texts gone through, laid out anew: nothing stays between them.
fn ladder(before: &Ladder, scrub: &Scrub) -> Ladder {
    let mut texts = String::new();
    let mut messages = before.messages.clone();
    for message in &mut messages {
        let text = scrub.text(Kind::Wire, before.text_of(message));
        let mut length = text.len().min(usize::from(u16::MAX));
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        message.text = match (u32::try_from(texts.len()), u16::try_from(length)) {
            (Ok(start), Ok(length)) if length > 0 => (start, length),
            _ => (0, 0),
        };
        texts.push_str(text.get(..usize::from(message.text.1)).unwrap_or_default());
    }
    Ladder { hosts: before.hosts.clone(), messages, texts, not_kept: before.not_kept }
}

#[cfg(test)]
mod tests;
