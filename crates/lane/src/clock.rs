//! The capture's clock: whether it was set while packets went on, and the time that goes on in its place.
//!
//! All logic behind the engine sees *steady* time: the time that the packets tell less the offset of all steps of the
//! clock so far. In files [`Watch`] finds the steps, by what RTP says ([`votes`](witness)); of a live capture
//! [`Steps`] finds them, by a clock that nobody sets. Where no step is found both times are the same, and nothing is
//! done per packet but a comparison. See docs/decisions/0072.

mod system;
mod watch;
mod witness;

pub use system::{Reading, Steady, Steps, system_ns};
pub use watch::{ClockCounters, LEAP_NS, Watch};

/// One second in nanoseconds.
const SECOND_NS: i64 = 1_000_000_000;

/// Steps of the clock that are kept. Later ones are followed where they are found, and counted, and not told.
// Limit: leaps of the capture's clock that are kept
// Beyond: later leaps are followed, not listed one by one
// Seen in: the report counts them
pub const LEAPS_MAX: usize = 256;

/// What a leap of the packets' time turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The clock was set: RTP went on.
    Set,
    /// Parts of the capture are in the wrong order: RTP went back as far as the time did.
    Disorder,
    /// Time went back, and no RTP goes on across it: either of the two.
    Unclear,
}

impl Kind {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Set => "clock-set",
            Kind::Disorder => "wrong-order",
            Kind::Unclear => "not-known",
        }
    }
}

/// A leap of the packets' time that is no passage of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leap {
    /// The first packet after it.
    pub number: u64,
    /// The input files of the packet before it and of that one; none in a running capture.
    pub files: Option<(u32, u32)>,
    /// What the clock said before it, nanoseconds since 1970.
    pub before_ns: i64,
    /// The steady time of the first packet after it.
    pub at_ns: i64,
    /// How much the clock said too much; below zero, too little.
    pub by_ns: i64,
    /// What is to be taken off from here on: the sum of all steps so far.
    pub offset_ns: i64,
    /// What it is.
    pub kind: Kind,
    /// Senders whose RTP tells; 0 where nothing does.
    pub senders: u32,
    /// Several senders tell, or one of a leap that nothing else explains.
    pub is_sure: bool,
}

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
            Kind::Set => format!("was set {way} by {by}"),
            Kind::Disorder => format!("goes {way} by {by}: parts of the capture are in the wrong order"),
            Kind::Unclear if self.by_ns < 0 => format!("goes {way} by {by}, was set or parts are in the wrong order"),
            Kind::Unclear => format!("goes {way} by {by} again"),
        }
    }

    /// Why, and how sure that is.
    pub fn why(&self) -> String {
        let senders = match self.senders {
            1 => "1 sender".to_owned(),
            senders => format!("{senders} senders"),
        };
        match self.kind {
            Kind::Set if self.senders == 0 => "certain: a clock beside it, which nobody sets, went on".to_owned(),
            Kind::Set if self.is_sure => format!("certain: RTP of {senders} went on without a pause"),
            Kind::Set => format!("likely: RTP of {senders} went on without a pause"),
            Kind::Disorder => "certain: the numbers and timestamps of RTP go back with it".to_owned(),
            Kind::Unclear => "cannot tell which: no RTP goes on across it".to_owned(),
        }
    }
}
