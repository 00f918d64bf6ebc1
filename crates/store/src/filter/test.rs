//! One test of one field, and whether it holds for a call in memory.

use super::field::{AddressField, NameField, Presence, RealField, TextField, WholeField, presences};
use super::pattern::Pattern;
use crate::json::duration_ns;
use crate::row::Call;
use crate::worst;
use trunkline_wire::{Address, Endpoint};

/// How a number is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

impl Compare {
    /// Whether `a` compares so with `b`.
    pub fn holds<T: PartialOrd>(self, a: T, b: T) -> bool {
        match self {
            Compare::Less => a < b,
            Compare::AtMost => a <= b,
            Compare::More => a > b,
            Compare::AtLeast => a >= b,
        }
    }

    /// The operator in SQL.
    pub fn sql(self) -> &'static str {
        match self {
            Compare::Less => "<",
            Compare::AtMost => "<=",
            Compare::More => ">",
            Compare::AtLeast => ">=",
        }
    }
}

/// Addresses from the first to the last of a network of one family, and a port if one was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// First address.
    pub first: Address,
    /// Last address.
    pub last: Address,
    /// The port; only with a single address.
    pub port: Option<u16>,
}

impl Network {
    /// From `10.1.0.0/16`, `10.1.*`, `192.0.2.7`, `[2001:db8::1]:5060`; none if it is nothing of that.
    pub fn parse(text: &str) -> Option<Self> {
        super::parse::network(text).ok()
    }

    /// Whether an endpoint lies in it.
    pub fn contains(&self, e: Endpoint) -> bool {
        self.first.is_v4() == e.address.is_v4()
            && self.first <= e.address
            && e.address <= self.last
            && self.port.is_none_or(|p| p == e.port)
    }
}

/// A test.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// A text field matches.
    Text {
        /// Which.
        field: TextField,
        /// What it must match.
        pattern: Pattern,
    },
    /// A field with names has one of those whose bit is set.
    Named {
        /// Which.
        field: NameField,
        /// Bit n stands for the name with number n.
        names: u32,
    },
    /// A whole number (code; nanoseconds) compares so with all of these.
    Whole {
        /// Which.
        field: WholeField,
        /// Comparisons that must all hold.
        all: Vec<(Compare, i64)>,
    },
    /// A number (score, percent, milliseconds) compares so with all of these.
    Real {
        /// Which.
        field: RealField,
        /// Comparisons that must all hold.
        all: Vec<(Compare, f64)>,
    },
    /// A host lies in the network.
    Host {
        /// Which.
        field: AddressField,
        /// The network.
        network: Network,
    },
    /// A stream has this synchronisation source.
    Ssrc(u32),
    /// There is one of these ([`super::field::PRESENCES`], by bit).
    Has(u32),
}

impl Test {
    /// Whether it holds for a call.
    pub fn matches(&self, call: &Call) -> bool {
        match self {
            Test::Text { field, pattern } => text_matches(*field, pattern, call),
            Test::Named { field: NameField::State, names } => names >> (call.state as u32) & 1 == 1,
            Test::Named { field: NameField::Hangup, names } => names >> (call.hangup as u32) & 1 == 1,
            Test::Whole { field, all } => {
                whole(*field, call).is_some_and(|v| all.iter().all(|(compare, with)| compare.holds(v, *with)))
            }
            Test::Real { field, all } => {
                real(*field, call).is_some_and(|v| all.iter().all(|(compare, with)| compare.holds(v, *with)))
            }
            Test::Host { field, network } => host_matches(*field, network, call),
            Test::Ssrc(ssrc) => call.streams.iter().any(|s| s.ssrc == *ssrc),
            Test::Has(names) => presences(*names).any(|presence| has(presence, call)),
        }
    }
}

fn text_matches(field: TextField, pattern: &Pattern, call: &Call) -> bool {
    let some = |text: &str| !text.is_empty() && pattern.matches(text);
    match field {
        TextField::Caller => pattern.matches(&call.from),
        TextField::Callee => pattern.matches(&call.to),
        TextField::Number => {
            let mut others = call.numbers.iter().map(|one| one.number.as_str());
            pattern.matches(&call.from) || pattern.matches(&call.to) || others.any(|number| pattern.matches(number))
        }
        TextField::CallId => pattern.matches(&call.sip_call_id),
        TextField::UserAgent => some(&call.user_agent),
        TextField::Verdict => call.verdict.as_ref().is_some_and(|v| some(&v.kind)),
        TextField::Codec => call.streams.iter().any(|s| codec_matches(pattern, &s.codec)),
    }
}

/// Whether one of the names in `PCMA, telephone-event` matches.
pub fn codec_matches(pattern: &Pattern, codecs: &str) -> bool {
    worst::codec_names(codecs).any(|c| pattern.matches(c))
}

fn whole(field: WholeField, call: &Call) -> Option<i64> {
    match field {
        WholeField::Code => (call.code != 0).then_some(i64::from(call.code)),
        WholeField::Duration => duration_ns(call),
        WholeField::Pdd => Some(call.ringing_ns?.saturating_sub(call.start_ns)),
        WholeField::Setup => Some(call.answer_ns?.saturating_sub(call.start_ns)),
        WholeField::Start => Some(call.start_ns),
    }
}

fn real(field: RealField, call: &Call) -> Option<f64> {
    let worst = worst::of(&call.streams);
    match field {
        RealField::Mos => call.mos.map(f64::from),
        RealField::Lost => worst.lost_percent,
        RealField::Jitter => worst.jitter_max_ms,
        RealField::JitterMean => worst.jitter_mean_ms,
    }
}

fn host_matches(field: AddressField, network: &Network, call: &Call) -> bool {
    match field {
        AddressField::Src => network.contains(call.src),
        AddressField::Dst => network.contains(call.dst),
        AddressField::Ip => {
            let media = call.streams.iter().flat_map(|s| [s.src, s.dst]);
            let hosts = [call.src, call.dst].into_iter().chain(call.ladder.hosts.iter().copied()).chain(media);
            hosts.into_iter().any(|h| network.contains(h))
        }
    }
}

fn has(presence: Presence, call: &Call) -> bool {
    match presence {
        Presence::Mos => call.mos.is_some(),
        Presence::Verdict => call.verdict.as_ref().is_some_and(|v| !v.kind.is_empty()),
        Presence::Answer => call.answer_ns.is_some(),
        Presence::End => call.end_ns.is_some(),
        Presence::Ringing => call.ringing_ns.is_some(),
        Presence::Code => call.code != 0,
        Presence::Streams => worst::of(&call.streams).jitter_max_ms.is_some(),
        Presence::UserAgent => !call.user_agent.is_empty(),
        Presence::Codec => call.streams.iter().any(|s| worst::codec_names(&s.codec).next().is_some()),
    }
}
