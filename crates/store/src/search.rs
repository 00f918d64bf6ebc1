//! Registrations and events by text: what a search box over them asks.

use crate::error::Skipped;
use crate::filter::{Network, Pattern};
use crate::row::{Registration, SipEvent};
use crate::stop::Stop;
use crate::store::{Cursor, Order};
use trunkline_wire::Endpoint;

/// Most terms of a search; the rest is not looked at.
// Limit: terms of one search
// Beyond: further terms are not used
// Seen in: not counted
pub const TERMS_MAX: usize = 16;
/// Longest term, octets; a longer one is cut.
// Limit: length of one search term
// Beyond: the term is cut
// Seen in: not counted
pub const TERM_OCTETS_MAX: usize = 256;

/// Which registrations or events are wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// Terms between blanks, all of which must be found; empty for all. A term is found where a field begins with it,
    /// without regard to the case of ASCII letters; with `*`, which stands for any characters, where a field is that
    /// as a whole. Fields are: of a registration the user, the address of record with and without its scheme, the
    /// contact, the User-Agent and the Call-ID; of an event From, To, the Call-ID and the method; of both the reason
    /// phrase. An address, a network (`10.1.0.0/16`) or an address with port is also looked for at both ends.
    pub text: String,
    /// Only those that ended so.
    pub state: Option<Outcome>,
    /// Only events of this method (in any case of letters); empty for all, and not looked at for registrations.
    pub method: String,
    /// Rows that start at or after this time.
    pub from_ns: i64,
    /// Rows that start before this time.
    pub to_ns: i64,
    /// Their order.
    pub order: Order,
    /// At most so many; cut to [`crate::store::PAGE_ROWS_MAX`].
    pub limit: usize,
    /// Go on behind this: [`crate::Page::next`] of the page before.
    pub cursor: Option<Cursor>,
    /// When to give up: the page says so and has a cursor to go on.
    pub stop: Stop,
}

impl Default for Search {
    fn default() -> Self {
        Search {
            text: String::new(),
            state: None,
            method: String::new(),
            from_ns: i64::MIN,
            to_ns: i64::MAX,
            order: Order::Newest,
            limit: 100,
            cursor: None,
            stop: Stop::never(),
        }
    }
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// With a 2xx.
    Ok,
    /// With another final response.
    Failed,
    /// Without a final response.
    Unanswered,
}

/// All outcomes.
pub const OUTCOMES: [Outcome; 3] = [Outcome::Ok, Outcome::Failed, Outcome::Unanswered];

impl Outcome {
    /// From the status of the final response, 0 if there was none.
    pub fn of(code: u16) -> Self {
        match code {
            200..300 => Outcome::Ok,
            0..200 => Outcome::Unanswered,
            _ => Outcome::Failed,
        }
    }

    /// Its name in JSON and URLs.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Failed => "failed",
            Outcome::Unanswered => "unanswered",
        }
    }

    /// The outcome of a name.
    pub fn named(name: &str) -> Option<Self> {
        OUTCOMES.into_iter().find(|o| o.name() == name)
    }
}

/// How many there are.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Counts {
    /// With a 2xx.
    pub ok: u64,
    /// With another final response.
    pub failed: u64,
    /// Without a final response.
    pub unanswered: u64,
    /// By method, by name; of registrations none.
    pub methods: Vec<(String, u64)>,
    /// Whether all rows of the span were looked at.
    pub exact: bool,
    /// If not: from this time on all were, and nothing before is counted (none: nothing was).
    pub seen_from_ns: Option<i64>,
    /// Days that could not be read.
    pub skipped: Vec<Skipped>,
}

/// The terms of a search, read once.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Terms(Vec<Term>);

#[derive(Clone, Debug, PartialEq)]
struct Term {
    pattern: Pattern,
    network: Option<Network>,
}

impl Terms {
    /// Reads the text of a search box; there are no mistakes in it.
    pub fn parse(text: &str) -> Self {
        Terms(text.split_whitespace().take(TERMS_MAX).map(Term::parse).collect())
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a registration has them all.
    pub fn match_registration(&self, r: &Registration) -> bool {
        let texts =
            [&*r.user, &*r.aor, without_scheme(&r.aor), &*r.contact, &*r.user_agent, &*r.sip_call_id, &*r.reason];
        self.0.iter().all(|term| term.is_in(&texts, [r.src, r.dst]))
    }

    /// Whether an event has them all.
    pub fn match_event(&self, e: &SipEvent) -> bool {
        let texts = [&*e.from, &*e.to, &*e.sip_call_id, &*e.method, &*e.reason];
        self.0.iter().all(|term| term.is_in(&texts, [e.src, e.dst]))
    }
}

impl Term {
    fn parse(text: &str) -> Self {
        let mut end = text.len().min(TERM_OCTETS_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &text[..end];
        let pattern = if text.contains('*') { text.to_owned() } else { Pattern::exact(text).text() + "*" };
        Term { pattern: Pattern::parse(&pattern), network: Network::parse(text) }
    }

    fn is_in(&self, texts: &[&str], ends: [Endpoint; 2]) -> bool {
        texts.iter().any(|text| !text.is_empty() && self.pattern.matches(text))
            || self.network.is_some_and(|network| ends.into_iter().any(|e| network.contains(e)))
    }
}

/// `sip:alice@example.com` without `sip:`.
fn without_scheme(uri: &str) -> &str {
    let rest = ["sips:", "sip:", "tel:"].iter().find_map(|scheme| {
        let (head, rest) = uri.split_at_checked(scheme.len())?;
        head.eq_ignore_ascii_case(scheme).then_some(rest)
    });
    rest.unwrap_or(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_box_finds_what_people_type() {
        let r = Registration {
            user: "+442071234567".into(),
            aor: "sip:+442071234567@voice.example.com".into(),
            contact: "<sip:alice@192.0.2.7:5062>".into(),
            user_agent: "Yealink SIP-T46S 66.85.0.5".into(),
            sip_call_id: "a84b4c76e66710@192.0.2.7".into(),
            reason: "Forbidden".into(),
            src: "192.0.2.7:5062".parse().unwrap(),
            dst: "[2001:db8::5]:5060".parse().unwrap(),
            ..Registration::default()
        };
        for (text, found) in [
            ("", true),
            ("  ", true),
            ("+44207", true),
            ("44207", false),
            ("*44207*", true),
            ("*@VOICE.example.com", true),
            ("yealink", true),
            ("yealink forbidden", true),
            ("yealink ok", false),
            ("*t46s*", true),
            ("192.0.2.7", true),
            ("192.0.2.7:5062", true),
            ("192.0.2.7:5060", false),
            ("192.0.2.0/24 +44*", true),
            ("192.0.3.0/24", false),
            ("2001:db8::5", true),
            ("a84b", true),
            ("\\", false),
        ] {
            assert_eq!(Terms::parse(text).match_registration(&r), found, "{text}");
        }
        let e = SipEvent { method: "OPTIONS".into(), from: "pbx".into(), ..SipEvent::default() };
        assert!(Terms::parse("opt PBX").match_event(&e) && !Terms::parse("notify").match_event(&e));
        assert!(!Terms::parse(&"é".repeat(1000)).match_event(&e));
        assert_eq!(Outcome::named("failed"), Some(Outcome::of(403)));
        assert_eq!((Outcome::of(200), Outcome::of(0)), (Outcome::Ok, Outcome::Unanswered));
    }
}
