//! One test of one field, and whether it holds for a call in memory.

use super::field::Field;
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
        /// caller, callee, number, callid, ua, verdict or codec
        field: Field,
        /// What it must match.
        pattern: Pattern,
    },
    /// A field with names has one of those whose bit is set.
    Named {
        /// state or hangup
        field: Field,
        /// Bit n stands for the name with number n.
        names: u32,
    },
    /// A whole number (code; nanoseconds) compares so with all of these.
    Whole {
        /// code, duration, pdd, setup or start
        field: Field,
        /// Comparisons that must all hold.
        all: Vec<(Compare, i64)>,
    },
    /// A number (score, percent, milliseconds) compares so with all of these.
    Real {
        /// mos, lost, jitter or jitter_mean
        field: Field,
        /// Comparisons that must all hold.
        all: Vec<(Compare, f64)>,
    },
    /// A host lies in the network.
    Host {
        /// src, dst or ip
        field: Field,
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
            Test::Named { field: Field::State, names } => names >> (call.state as u32) & 1 == 1,
            Test::Named { names, .. } => names >> (call.hangup as u32) & 1 == 1,
            Test::Whole { field, all } => {
                whole(*field, call).is_some_and(|v| all.iter().all(|(compare, with)| compare.holds(v, *with)))
            }
            Test::Real { field, all } => {
                real(*field, call).is_some_and(|v| all.iter().all(|(compare, with)| compare.holds(v, *with)))
            }
            Test::Host { field, network } => host_matches(*field, network, call),
            Test::Ssrc(ssrc) => call.streams.iter().any(|s| s.ssrc == *ssrc),
            Test::Has(names) => (0..32).any(|n| names >> n & 1 == 1 && has(n, call)),
        }
    }
}

fn text_matches(field: Field, pattern: &Pattern, call: &Call) -> bool {
    let some = |text: &str| !text.is_empty() && pattern.matches(text);
    match field {
        Field::Caller => pattern.matches(&call.from),
        Field::Callee => pattern.matches(&call.to),
        Field::Number => {
            let mut others = call.numbers.iter().map(|one| one.number.as_str());
            pattern.matches(&call.from) || pattern.matches(&call.to) || others.any(|number| pattern.matches(number))
        }
        Field::CallId => pattern.matches(&call.sip_call_id),
        Field::UserAgent => some(&call.user_agent),
        Field::Verdict => call.verdict.as_ref().is_some_and(|v| some(&v.kind)),
        Field::Codec => call.streams.iter().any(|s| codec_matches(pattern, &s.codec)),
        _ => false,
    }
}

/// Whether one of the names in `PCMA, telephone-event` matches.
pub fn codec_matches(pattern: &Pattern, codecs: &str) -> bool {
    worst::codec_names(codecs).any(|c| pattern.matches(c))
}

fn whole(field: Field, call: &Call) -> Option<i64> {
    match field {
        Field::Code => (call.code != 0).then_some(i64::from(call.code)),
        Field::Duration => duration_ns(call),
        Field::Pdd => Some(call.ringing_ns?.saturating_sub(call.start_ns)),
        Field::Setup => Some(call.answer_ns?.saturating_sub(call.start_ns)),
        Field::Start => Some(call.start_ns),
        _ => None,
    }
}

fn real(field: Field, call: &Call) -> Option<f64> {
    let worst = worst::of(&call.streams);
    match field {
        Field::Mos => call.mos.map(f64::from),
        Field::Lost => worst.lost_percent,
        Field::Jitter => worst.jitter_max_ms,
        Field::JitterMean => worst.jitter_mean_ms,
        _ => None,
    }
}

fn host_matches(field: Field, network: &Network, call: &Call) -> bool {
    match field {
        Field::Src => network.contains(call.src),
        Field::Dst => network.contains(call.dst),
        _ => {
            let media = call.streams.iter().flat_map(|s| [s.src, s.dst]);
            let hosts = [call.src, call.dst].into_iter().chain(call.ladder.hosts.iter().copied()).chain(media);
            hosts.into_iter().any(|h| network.contains(h))
        }
    }
}

fn has(presence: u32, call: &Call) -> bool {
    match super::field::PRESENCES.get(presence as usize) {
        Some(&"mos") => call.mos.is_some(),
        Some(&"verdict") => call.verdict.as_ref().is_some_and(|v| !v.kind.is_empty()),
        Some(&"answer") => call.answer_ns.is_some(),
        Some(&"end") => call.end_ns.is_some(),
        Some(&"ringing") => call.ringing_ns.is_some(),
        Some(&"code") => call.code != 0,
        Some(&"streams") => worst::of(&call.streams).jitter_max_ms.is_some(),
        Some(&"user-agent") => !call.user_agent.is_empty(),
        Some(&"codec") => call.streams.iter().any(|s| worst::codec_names(&s.codec).next().is_some()),
        _ => false,
    }
}
