//! What differs between the oracle's figures and ours.

use super::figures::{Sip, Stream};
use super::notes::Note;
use super::oracle::Expected;
use super::run::Outcome;
use std::collections::BTreeSet;

/// Jitter figures closer than this are the same, milliseconds: the oracle prints three decimals.
pub const JITTER_SAME_MS: f64 = 0.002;

/// One capture, theirs and ours, and what differs.
#[derive(Debug)]
pub struct Comparison {
    /// Relative to the shared folder.
    pub file: String,
    /// The oracle's figures.
    pub theirs: super::figures::Figures,
    /// Ours, with how reading went.
    pub ours: Outcome,
    /// What differs.
    pub differences: Vec<Difference>,
}

/// One figure that differs.
#[derive(Debug)]
pub struct Difference {
    /// Which figure: `packets`, `sip messages`, `state CALL-ID`, `jitter mean STREAM`, ...
    pub what: String,
    /// The other program's.
    pub theirs: String,
    /// Ours.
    pub ours: String,
    /// Why, if that is written down.
    pub note: Option<Note>,
}

impl Comparison {
    /// Notes a difference.
    pub fn differ(&mut self, what: impl Into<String>, theirs: impl ToString, ours: impl ToString) {
        let (what, theirs, ours) = (what.into(), theirs.to_string(), ours.to_string());
        self.differences.push(Difference { what, theirs, ours, note: None });
    }

    /// Compares two counts.
    pub fn count<T: PartialEq + ToString>(&mut self, what: impl Into<String>, theirs: T, ours: T) {
        if theirs != ours {
            self.differ(what, theirs, ours);
        }
    }

    /// Compares two figures of jitter, milliseconds; what one side does not know is no difference.
    pub fn jitter(&mut self, what: String, theirs: Option<f64>, ours: Option<f64>, same_ms: f64) {
        let Some(theirs) = theirs else { return };
        match ours {
            Some(ours) if (theirs - ours).abs() <= same_ms => {}
            Some(ours) => self.differ(what, format!("{theirs:.3}"), format!("{ours:.3}")),
            None => self.differ(what, format!("{theirs:.3}"), "none"),
        }
    }
}

/// Compares what the oracle found with how our reading went.
pub fn compare(expected: &Expected, outcome: &Outcome) -> Comparison {
    let ours = outcome.clone();
    let theirs = expected.figures.clone();
    let mut found = Comparison { file: expected.file.clone(), theirs, ours, differences: Vec::new() };
    if let Some(failure) = &outcome.failure {
        found.differ("reading", "done", failure);
        return found;
    }
    match (expected.figures.packets, outcome.figures.packets) {
        (Some(theirs), Some(ours)) => found.count("packets", theirs, ours),
        (None, Some(ours)) if ours > 0 => found.differ("packets", "unreadable", ours),
        _ => {}
    }
    if let (Some(theirs), Some(ours)) = (&expected.figures.sip, &outcome.figures.sip) {
        compare_sip(&mut found, theirs, ours);
    }
    compare_streams(&mut found, &expected.figures.streams, &outcome.figures.streams);
    found
}

fn compare_sip(found: &mut Comparison, theirs: &Sip, ours: &Sip) {
    found.count("sip messages", theirs.messages, ours.messages);
    let (Some(theirs_ids), Some(ours_ids)) = (theirs.call_ids, ours.call_ids) else { return };
    found.count("call-ids", theirs_ids, ours_ids);
    let names: BTreeSet<&String> = theirs.states.keys().chain(ours.states.keys()).collect();
    let state = |sip: &Sip, name: &String| sip.states.get(name).map_or("no call", String::as_str).to_owned();
    for name in names {
        found.count(format!("state {name}"), state(theirs, name), state(ours, name));
    }
}

fn compare_streams(found: &mut Comparison, theirs: &[Stream], ours: &[Stream]) {
    for stream in theirs {
        match ours.iter().find(|o| o.name == stream.name) {
            Some(ours) => compare_stream(found, stream, ours),
            None => found.differ(format!("stream {}", stream.name), format!("{} packets", stream.packets), "none"),
        }
    }
    for stream in ours.iter().filter(|o| !theirs.iter().any(|t| t.name == o.name)) {
        found.differ(format!("stream {}", stream.name), "none", format!("{} packets", stream.packets));
    }
}

fn compare_stream(found: &mut Comparison, theirs: &Stream, ours: &Stream) {
    let name = &theirs.name;
    found.count(format!("stream packets {name}"), theirs.packets, ours.packets);
    found.count(format!("stream lost {name}"), theirs.lost, ours.lost);
    found.jitter(format!("jitter mean {name}"), theirs.jitter_mean_ms, ours.jitter_mean_ms, JITTER_SAME_MS);
    found.jitter(format!("jitter max {name}"), theirs.jitter_max_ms, ours.jitter_max_ms, JITTER_SAME_MS);
}

#[cfg(test)]
mod tests {
    use super::super::figures::Figures;
    use super::*;

    fn stream(name: &str, packets: u64, jitter: f64) -> Stream {
        Stream { name: name.to_owned(), packets, jitter_mean_ms: Some(jitter), ..Stream::default() }
    }

    #[test]
    fn names_each_difference() {
        let figures = |packets, streams| Figures { packets: Some(packets), sip: Some(Sip::default()), streams };
        let theirs = vec![stream("a", 5, 0.1), stream("b", 5, 0.1)];
        let ours = vec![stream("a", 4, 0.1019), stream("c", 9, 0.0)];
        let expected = Expected { file: "x.pcap".to_owned(), figures: figures(10, theirs) };
        let outcome = Outcome { figures: figures(10, ours), ..Outcome::default() };
        let found = compare(&expected, &outcome);
        let what: Vec<&str> = found.differences.iter().map(|d| d.what.as_str()).collect();
        assert_eq!(what, ["stream packets a", "stream b", "stream c"]);
    }

    #[test]
    fn a_crash_is_the_only_difference() {
        let expected = Expected { file: "x.pcap".to_owned(), figures: Figures::default() };
        let outcome = Outcome { failure: Some("signal: 11".to_owned()), ..Outcome::default() };
        let found = compare(&expected, &outcome);
        assert_eq!(found.differences.len(), 1);
        assert_eq!(found.differences[0].ours, "signal: 11");
    }
}
