//! Whether a message is of now: the clock of an engine as others know it (RFC 3414 sections 2.3 and 3.2.7).

/// Seconds that a message may be old.
pub const TIME_WINDOW_S: u32 = 150;

/// An engine that has started so often has no valid time until it gets new keys (RFC 3414 section 2.2.2).
pub const BOOTS_MAX: u32 = i32::MAX as u32;

/// The clock of an engine, as its messages have told it. Times `now_s` are seconds of any clock that does not go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineTime {
    boots: u32,
    /// The engine's time, the highest of an authentic message, ...
    latest: u32,
    /// ... and when it was that.
    noted_s: u64,
}

/// A message out of the time window: old, or repeated by somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Untimely;

impl EngineTime {
    /// As an engine has told it at `now_s`.
    pub fn new(boots: u32, time: u32, now_s: u64) -> EngineTime {
        EngineTime { boots, latest: time, noted_s: now_s }
    }

    /// How often the engine has started.
    pub fn boots(&self) -> u32 {
        self.boots
    }

    /// What time it is there now: seconds.
    pub fn time(&self, now_s: u64) -> u32 {
        let passed = now_s.saturating_sub(self.noted_s);
        let time = u64::from(self.latest).saturating_add(passed);
        time.min(u64::from(BOOTS_MAX)) as u32
    }

    /// Takes what an authentic message says, if that is newer than what is known, and checks it.
    ///
    /// # Errors
    /// The message is not of now, and must not be believed.
    pub fn receive(&mut self, boots: u32, time: u32, now_s: u64) -> Result<(), Untimely> {
        if boots > self.boots || (boots == self.boots && time > self.latest) {
            *self = EngineTime::new(boots, time, now_s);
        }
        let is_old = boots < self.boots || self.time(now_s).saturating_sub(time) > TIME_WINDOW_S;
        if self.boots >= BOOTS_MAX || is_old { Err(Untimely) } else { Ok(()) }
    }
}
