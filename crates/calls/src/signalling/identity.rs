//! Numbers of a call beside those of From and To, of its INVITEs: who calls as the network says (P-Asserted-Identity,
//! RFC 3325; Remote-Party-ID), who is asked for (Request-URI), from whom it was diverted (Diversion, RFC 5806;
//! History-Info, RFC 7044).

use super::push_lossy;
use crate::limits::{NUMBER_SENT_OCTETS_MAX, NUMBERS_PER_CALL_MAX};
use std::borrow::Cow;
use trunkline_store::row::{NumberRole, OtherNumber};
use trunkline_wire::sip::{Header, Message, NameAddr, StartLine, Uri};

/// The header fields that name others, in the order in which they are read.
const FIELDS: [(Header, NumberRole); 5] = [
    (Header::PAssertedIdentity, NumberRole::Asserted),
    (Header::PPreferredIdentity, NumberRole::Asserted),
    (Header::RemotePartyId, NumberRole::Asserted),
    (Header::Diversion, NumberRole::DivertedFrom),
    (Header::HistoryInfo, NumberRole::DivertedFrom),
];

/// What From and To are where a network or a phone hides them (RFC 3323 section 4.1.1.3).
const NOBODY: [&str; 2] = ["anonymous", "unavailable"];

/// The other numbers of a call.
#[derive(Debug, Default)]
pub struct Numbers {
    list: Vec<OtherNumber>,
    /// Those that were not kept because there were too many.
    pub not_kept: u32,
}

impl Numbers {
    /// Whether an INVITE to a number names no other, as nearly all do: it asks for that one as it stands, and has none
    /// of the header fields.
    pub fn are_none(message: &Message<'_>, to: &[u8]) -> bool {
        let asks_for_it = match *message.start_line() {
            StartLine::Request { uri, .. } => is_at_host(uri, to),
            StartLine::Response { .. } => true,
        };
        asks_for_it && FIELDS.iter().all(|(header, _)| message.header(*header).is_none())
    }

    /// Takes those of an INVITE outside a dialog that its call does not have: of every hop, because proxies add them.
    pub fn read(&mut self, message: &Message<'_>, [from, to]: [&str; 2]) {
        let asked_for = match *message.start_line() {
            StartLine::Request { uri, .. } => uri,
            StartLine::Response { .. } => return,
        };
        let asked = number_of(asked_for, from, to);
        if let Some(number) = &asked {
            self.add(NumberRole::Requested, number, "Request-URI", asked_for);
        }
        for (header, role) in FIELDS {
            // Nearly all messages have none of them, which costs no walk over the header fields.
            if message.header(header).is_none() {
                continue;
            }
            for value in message.values(header).take(NUMBERS_PER_CALL_MAX) {
                self.read_value(message, (header, role), value, ([from, to], asked.as_deref()));
            }
        }
    }

    #[cold]
    fn read_value(
        &mut self,
        message: &Message<'_>,
        (header, role): (Header, NumberRole),
        value: &[u8],
        ([from, to], asked): ([&str; 2], Option<&str>),
    ) {
        let address = NameAddr::parse(value);
        let is_of =
            |party: &str| address.param("party").is_none_or(|p| p.text().eq_ignore_ascii_case(party.as_bytes()));
        if header == Header::RemotePartyId && !is_of("calling") {
            return;
        }
        let number = address.uri().number();
        let is_known = match header {
            Header::Diversion => false,
            // The last entry of a history is whom the call goes to now.
            Header::HistoryInfo => number == asked.unwrap_or(to) || is_reached_as_itself(&address, message),
            _ => number == from,
        };
        if !is_known {
            self.add(role, &number, header.name(), value);
        }
    }

    #[inline(never)]
    fn add(&mut self, role: NumberRole, number: &str, name: &str, value: &[u8]) {
        let is_nobody = number.is_empty() || NOBODY.iter().any(|nobody| number.eq_ignore_ascii_case(nobody));
        if is_nobody || self.list.iter().any(|one| one.role == role && one.number == number) {
            return;
        }
        if self.list.len() >= NUMBERS_PER_CALL_MAX {
            self.not_kept = self.not_kept.saturating_add(1);
            return;
        }
        let value = value.get(..NUMBER_SENT_OCTETS_MAX).unwrap_or(value);
        let mut sent = String::with_capacity(name.len() + 2 + value.len());
        sent.push_str(name);
        sent.push_str(": ");
        push_lossy(&mut sent, value);
        self.list.push(OtherNumber { role, number: number.to_owned(), sent });
    }

    /// Gives them to the row of the call; none are left.
    pub fn take(&mut self) -> Vec<OtherNumber> {
        core::mem::take(&mut self.list)
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.list.clear();
        self.not_kept = 0;
    }
}

/// Whether another entry of a history says of this one that it is its registered contact or the same target on another
/// hop (RFC 7044 section 5, `rc` and `np`): then the call was not diverted from it.
fn is_reached_as_itself(address: &NameAddr<'_>, message: &Message<'_>) -> bool {
    let Some(index) = address.param("index").map(|p| p.text()) else { return false };
    message.values(Header::HistoryInfo).take(NUMBERS_PER_CALL_MAX).map(NameAddr::parse).any(|other| {
        let is_of = |name: &str| other.param(name).is_some_and(|p| p.text() == index);
        is_of("rc") || is_of("np")
    })
}

/// Whether a Request-URI is this number at some host, as it stands.
fn is_at_host(uri: &[u8], number: &[u8]) -> bool {
    let host = || uri.strip_prefix(b"sip:")?.strip_prefix(number)?.strip_prefix(b"@");
    !number.is_empty() && host().is_some_and(|host| memchr::memchr(b'@', host).is_none())
}

/// The number of a Request-URI, if it is neither that of From nor of To.
fn number_of<'a>(uri: &'a [u8], from: &str, to: &str) -> Option<Cow<'a, str>> {
    if is_at_host(uri, to.as_bytes()) {
        return None;
    }
    let uri = Uri::parse(uri);
    let number = uri.number();
    (number != to && number != from).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_wire::sip::scan;

    /// Reads INVITEs from `from` to `to`: the Request-URI, and header fields.
    fn read(from: &str, to: &str, invites: &[(&str, &str)]) -> Numbers {
        let mut numbers = Numbers::default();
        for (uri, headers) in invites {
            let octets = format!("INVITE {uri} SIP/2.0\r\nCall-ID: 1\r\n{headers}\r\n");
            let (message, known) = (scan(octets.as_bytes(), true).unwrap(), numbers.list.len());
            numbers.read(&message, [from, to]);
            let are_none = Numbers::are_none(&message, to.as_bytes());
            assert!(!are_none || numbers.list.len() == known, "{uri} {headers}");
            assert!(are_none || !headers.is_empty() || *uri != format!("sip:{to}@pbx"));
        }
        numbers
    }

    fn told(numbers: &Numbers) -> Vec<(NumberRole, &str)> {
        numbers.list.iter().map(|one| (one.role, one.number.as_str())).collect()
    }

    use NumberRole::{Asserted, DivertedFrom, Requested};

    #[test]
    fn who_calls_is_read_behind_an_anonymous_from() {
        for (headers, expected) in [
            ("P-Asserted-Identity: \"Alice\" <tel:+44-20-7946-0114>\r\n", &["+442079460114"][..]),
            // RFC 3325 section 9.1: a sip and a tel URI of one user, in one line or in two.
            ("P-Asserted-Identity: <sip:alice@a.example>, <tel:+442079460114>\r\n", &["alice", "+442079460114"]),
            (
                "P-Asserted-Identity: sip:%2B442079460114@a.example;user=phone\r\np-asserted-identity:<tel:+4420>\r\n",
                &["+442079460114", "+4420"],
            ),
            ("P-Preferred-Identity: \"A, B\" <sip:+442079460114@a.example>\r\n", &["+442079460114"]),
            ("Remote-Party-ID: \"A\" <sip:1001@pbx>;party=calling;privacy=full;screen=yes\r\n", &["1001"]),
            ("Remote-Party-ID: <sip:1001@pbx>;screen=no\r\n", &["1001"]),
            ("Remote-Party-ID: <sip:1002@pbx>;party=called\r\n", &[]),
            ("P-Asserted-Identity: <sip:anonymous@anonymous.invalid>\r\n", &[]),
            ("P-Asserted-Identity: <sip:gw.example.com>\r\n", &[]),
            ("P-Asserted-Identity:\r\n", &[]),
            ("P-Asserted-Identity: \"<sip:x\r\nRemote-Party-ID: ;;,,\r\n", &[]),
        ] {
            let numbers = read("anonymous", "1002", &[("sip:1002@pbx", headers)]);
            let expected: Vec<_> = expected.iter().map(|number| (Asserted, *number)).collect();
            assert_eq!(told(&numbers), expected, "{headers}");
        }
    }

    #[test]
    fn whom_a_call_was_diverted_from_is_read() {
        // freeswitch#2056: two fields; voipmonitor/sniffer#81: a chain, all in one; RFC 7044 section 5.
        for (headers, expected) in [
            (
                "Diversion: <tel:74951667226>;reason=unconditional;counter=1\r\nDiversion: <tel:9670572182>;counter=1\r\n",
                &["74951667226", "9670572182"][..],
            ),
            (
                "Diversion: \"84999999999\"<sip:84999999999@10.23.0.5:5060>;reason=unconditional;counter=1,\
                 \"4999999999\"<sip:4999999999@10.23.0.5:5060>;reason=unknown\r\n",
                &["84999999999", "4999999999"],
            ),
            (
                "History-Info: <sip:0493363501@x;user=phone?Reason=SIP%3Bcause%3D302>;index=1,\
                 <sip:0414674199@x>;index=1.1;mp=1, <sip:61294964040@x>;index=1.1.1;mp=1.1\r\n",
                &["0493363501", "0414674199"],
            ),
        ] {
            let numbers = read("61272091827", "0493363501", &[("sip:61294964040@203.0.113.9;user=phone", headers)]);
            let mut found = vec![(Requested, "61294964040")];
            found.extend(expected.iter().map(|number| (DivertedFrom, *number)));
            assert_eq!(told(&numbers), found, "{headers}");
        }
        // Not diverted: the history has the target alone, and its registered contact.
        let history = "History-Info: <sip:1002@pbx>;index=1, <sip:w7x@10.0.0.7>;index=1.1;rc=1\r\n";
        let numbers = read("1", "1002", &[("sip:w7x@10.0.0.7", history)]);
        assert_eq!(told(&numbers), [(Requested, "w7x")]);
        let numbers = read("1", "1002", &[("sip:1002@pbx", "History-Info: <sip:1002@pbx>;index=1\r\n")]);
        assert_eq!(told(&numbers), []);
    }

    #[test]
    fn later_hops_add_theirs_and_repeat_nothing() {
        let asserted = "P-Asserted-Identity: <tel:+44-20-7946-0114>\r\n";
        let hops = [("sip:1002@pbx", ""), ("sip:1002@10.0.0.2", asserted), ("sip:w7x@10.0.0.7:50601", asserted)];
        let numbers = read("anonymous", "1002", &hops);
        assert_eq!(told(&numbers), [(Asserted, "+442079460114"), (Requested, "w7x")]);
        assert_eq!(numbers.list[0].sent, "P-Asserted-Identity: <tel:+44-20-7946-0114>");
        assert_eq!(numbers.list[1].sent, "Request-URI: sip:w7x@10.0.0.7:50601");
        // What From says is not said again; a number that differs in its separators alone is the same.
        let numbers = read("+442079460114", "1002", &[("sip:1002@pbx", asserted)]);
        assert_eq!(told(&numbers), []);
    }

    #[test]
    fn there_are_not_too_many_and_none_is_too_long() {
        let many: String = (0..20).map(|n| format!("Diversion: <sip:{n}@x>;reason={}\r\n", "x".repeat(999))).collect();
        let numbers = read("a", "b", &[("sip:b@x", &many), ("sip:c@x", "")]);
        assert_eq!((numbers.list.len(), numbers.not_kept), (NUMBERS_PER_CALL_MAX, 1));
        assert!(numbers.list.iter().all(|one| one.sent.len() <= NUMBER_SENT_OCTETS_MAX + 40));
    }
}
