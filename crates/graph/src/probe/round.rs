//! Rounds: what is known of one so far, and what it comes to.

use super::prometheus::Selector;
use super::target::{Check, PageKind, Reads};
use crate::inventory::Availability;
use crate::poller::{Reading, Unknown};
use core::time::Duration;

/// A round that is not over.
#[derive(Debug)]
pub(super) enum Round {
    Echoes(Echoes),
    /// One thing that is waited for.
    One,
    Health(Vec<Trial>),
}

/// Echo requests of a round.
#[derive(Debug, Default)]
pub(super) struct Echoes {
    /// Requests that are to be sent.
    pub(super) wanted: u32,
    pub(super) interval_ns: u64,
    /// Requests that have gone, or that could not be sent from here.
    pub(super) sent: u32,
    pub(super) unsent: u32,
    /// Requests that are on their way.
    pub(super) open: u32,
    /// What answers have taken.
    pub(super) took_ns: Vec<u64>,
    pub(super) fault: Option<String>,
}

impl Echoes {
    pub(super) fn is_over(&self) -> bool {
        self.open == 0 && !self.is_wanting()
    }

    /// Whether requests are still to be sent.
    pub(super) fn is_wanting(&self) -> bool {
        self.sent + self.unsent < self.wanted
    }

    /// What one of [`ICMP_READS`](crate::template::ICMP_READS) comes to. What was not sent is no loss.
    pub(super) fn reading(&self, name: &str) -> Reading {
        if self.sent == 0 {
            return Reading::Unknown(Unknown::NotAsked);
        }
        let (sent, answered) = (f64::from(self.sent), self.took_ns.len() as f64);
        let seconds = self.took_ns.iter().map(|took| *took as f64 / 1e9);
        let mean = seconds.clone().sum::<f64>() / answered;
        match name {
            "loss" => Reading::Real((sent - answered) * 100.0 / sent),
            "answered" => Reading::Integer(self.took_ns.len() as i64),
            _ if self.took_ns.is_empty() => Reading::Unknown(Unknown::Timeout),
            "rtt-min" => Reading::Real(seconds.fold(f64::INFINITY, f64::min)),
            "rtt-max" => Reading::Real(seconds.fold(0.0, f64::max)),
            "rtt-mean" => Reading::Real(mean),
            // As that of ping: of all answers there are.
            "rtt-deviation" => {
                Reading::Real((seconds.map(|took| (took - mean).powi(2)).sum::<f64>() / answered).sqrt())
            }
            _ => Reading::Unknown(Unknown::Omitted),
        }
    }
}

/// How far one probe of a round is that tells whether a device is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trial {
    /// It is to be tried, so often yet.
    Wanted(u8),
    /// It is on its way, and may be tried again so often.
    Open(u8),
    /// It was answered, or not.
    Told(bool),
    /// It could not be tried from here.
    Impossible,
}

/// What all probes together say, as far as that is decided: none while it is not. It is decided that nothing is known
/// (`Some(None)`) when what is missing could not be tried.
pub(super) fn verdict(availability: &Availability, trials: &[Trial]) -> Option<Option<bool>> {
    // One answer decides if one is enough, one silence if all are needed.
    let decisive = !availability.all;
    if trials.contains(&Trial::Told(decisive)) {
        return Some(Some(decisive));
    }
    if trials.iter().any(|trial| matches!(trial, Trial::Wanted(_) | Trial::Open(_))) {
        return None;
    }
    Some((!trials.contains(&Trial::Impossible)).then_some(!decisive))
}

/// The readings of names: of each series the first one that is known.
pub(super) fn named(reads: &Reads, value: impl Fn(&str) -> Reading) -> Vec<Reading> {
    let of = |names: &Vec<String>| {
        let mut all = names.iter().map(|name| value(name));
        let first = all.next().unwrap_or(Reading::Unknown(Unknown::Omitted));
        if first.is_known() { first } else { all.find(Reading::is_known).unwrap_or(first) }
    };
    match reads {
        Reads::Names(names) => names.iter().map(of).collect(),
        Reads::Metrics(metrics) => vec![Reading::Unknown(Unknown::Omitted); metrics.len()],
    }
}

/// All readings unknown for this reason.
pub(super) fn unknown(reads: &Reads, reason: Unknown) -> Vec<Reading> {
    let count = match reads {
        Reads::Names(names) => names.len(),
        Reads::Metrics(metrics) => metrics.len(),
    };
    vec![Reading::Unknown(reason); count]
}

/// What is wrong where something was said, and none of what is read was among it.
pub(super) fn absent(check: &Check, reads: &Reads, readings: &[Reading]) -> Option<String> {
    // What jobs count that do not run here is not missed.
    if *check == Check::Program || readings.iter().any(Reading::is_known) {
        return None;
    }
    let names: Vec<&str> = match reads {
        Reads::Names(names) => names.iter().flatten().map(String::as_str).collect(),
        Reads::Metrics(metrics) => metrics.iter().flatten().map(Selector::name).collect(),
    };
    Some(format!("what it said has none of this: {}", names.join(", ")))
}

/// The readings of a port: [`PORT_READS`](crate::template::PORT_READS).
pub(super) fn port(reads: &Reads, up: bool, reached: bool, took_ns: u64) -> Vec<Reading> {
    named(reads, |name| match name {
        "up" => Reading::Integer(up.into()),
        "reached" => Reading::Integer(reached.into()),
        "time" if up => Reading::Real(took_ns as f64 / 1e9),
        "time" => Reading::Unknown(Unknown::Timeout),
        _ => Reading::Unknown(Unknown::Omitted),
    })
}

/// The readings of what has not answered: a page that did not come is not up.
pub(super) fn silent(check: &Check, reads: &Reads) -> Vec<Reading> {
    match check {
        Check::Tcp { .. } | Check::Udp { .. } => port(reads, false, false, 0),
        Check::Page { kind: PageKind::Http, .. } => named(reads, |name| match name {
            "up" => Reading::Integer(0),
            _ => Reading::Unknown(Unknown::Timeout),
        }),
        _ => unknown(reads, Unknown::Timeout),
    }
}

/// Nanoseconds of a time that is bounded.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(all: bool, trials: &[Trial]) -> Option<Option<bool>> {
        verdict(&Availability { all, ..Availability::default() }, trials)
    }

    #[test]
    fn one_probe_or_all_of_them() {
        use Trial::{Impossible, Open, Told, Wanted};
        assert_eq!(said(false, &[Open(0), Told(true)]), Some(Some(true)));
        assert_eq!(said(false, &[Open(0), Told(false)]), None);
        assert_eq!(said(false, &[Told(false), Told(false)]), Some(Some(false)));
        assert_eq!(said(true, &[Wanted(1), Told(false)]), Some(Some(false)));
        assert_eq!(said(true, &[Told(true), Told(true)]), Some(Some(true)));
        // Who cannot ask does not say that a device is down, nor that all answer.
        assert_eq!(said(false, &[Impossible, Told(false)]), Some(None));
        assert_eq!(said(true, &[Impossible, Told(true)]), Some(None));
        assert_eq!(said(true, &[Impossible, Told(false)]), Some(Some(false)));
    }

    #[test]
    fn echoes_come_to_what_ping_says() {
        let took_ns = vec![10_000_000, 20_000_000, 60_000_000];
        let echoes = Echoes { wanted: 6, sent: 5, unsent: 1, took_ns, ..Echoes::default() };
        let real = |name| match echoes.reading(name) {
            Reading::Real(number) => (number * 1e6).round() / 1e6,
            other => panic!("{other:?}"),
        };
        let all = ["loss", "rtt-min", "rtt-mean", "rtt-max", "rtt-deviation"].map(real);
        assert_eq!(all, [40.0, 0.01, 0.03, 0.06, 0.021_602]);
        assert_eq!(echoes.reading("answered"), Reading::Integer(3));
        let lost = Echoes { sent: 5, ..Echoes::default() };
        assert_eq!(
            (lost.reading("loss"), lost.reading("rtt-min")),
            (Reading::Real(100.0), Reading::Unknown(Unknown::Timeout))
        );
        assert_eq!(Echoes::default().reading("loss"), Reading::Unknown(Unknown::NotAsked));
    }
}
