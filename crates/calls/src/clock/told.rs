//! Leaps in words: for a call's notes and for who asks what was read.

use super::{Kind, Leap, Timeline};
use crate::verdict::counted;
use trunkline_store::checked::{CLOCK, CLOCK_SET};

/// How long something is, as people say it: `3,600.00 s` would be read twice.
fn length(ns: i64) -> String {
    let seconds = ns.unsigned_abs() as f64 / 1e9;
    match seconds {
        s if s < 120.0 => format!("{s:.2} s"),
        s => {
            let whole = s.round() as u64;
            let (days, hours, minutes) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60);
            let days = if days > 0 { format!("{days} d ") } else { String::new() };
            format!("{days}{hours}:{minutes:02}:{:02} h", whole % 60)
        }
    }
}

impl Leap {
    /// What happened, without when.
    pub fn what(&self) -> String {
        let way = if self.by_ns < 0 { "back" } else { "forward" };
        let by = length(self.by_ns);
        match self.kind {
            Kind::Set => format!("{}{way} by {by}", CLOCK_SET.trim_start()),
            Kind::Disorder => format!("goes {way} by {by}: parts of the capture are in the wrong order"),
            Kind::Unclear if self.by_ns < 0 => format!("goes {way} by {by}, was set or parts are in the wrong order"),
            Kind::Unclear => format!("goes {way} by {by} again"),
        }
    }

    /// Why, and how sure that is.
    pub fn why(&self) -> String {
        let senders = counted(self.senders.into(), "sender");
        match self.kind {
            Kind::Set if self.senders == 0 => "certain: a clock beside it, which nobody sets, went on".to_owned(),
            Kind::Set if self.is_sure => format!("certain: RTP of {senders} went on without a pause"),
            Kind::Set => format!("likely: RTP of {senders} went on without a pause"),
            Kind::Disorder => "certain: the numbers and timestamps of RTP go back with it".to_owned(),
            Kind::Unclear => "cannot tell which: no RTP goes on across it".to_owned(),
        }
    }
}

impl Timeline {
    /// What the clock did within a time, in words for a note of a call that began at `start_ns`.
    pub fn notes(&self, start_ns: i64, until_ns: i64) -> Vec<String> {
        let note = |leap: &Leap| {
            let after = (leap.at_ns - start_ns) as f64 / 1e9;
            format!("{CLOCK} {} {after:.1} s after the start of the call ({})", leap.what(), leap.why())
        };
        self.within(start_ns, until_ns).map(note).collect()
    }
}
