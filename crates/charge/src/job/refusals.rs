//! What strangers do that is refused is told in the log now and then, however often they do it; it is counted always.

use core::time::Duration;

/// How often a thread tells of it.
const LEAST: Duration = Duration::from_secs(60);

/// Those of a thread.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    told: Option<Duration>,
    /// Those since then that were not told.
    silent: u64,
}

impl Refusals {
    /// One more; what it was is told if none was lately.
    pub fn tell(&mut self, now: Duration, what: impl FnOnce() -> String) {
        match self.line(now, what) {
            Some(line) => tracing::warn!("charging: refused: {line}"),
            None => self.silent += 1,
        }
    }

    fn line(&mut self, now: Duration, what: impl FnOnce() -> String) -> Option<String> {
        if self.told.is_some_and(|told| now < told + LEAST) {
            return None;
        }
        self.told = Some(now);
        let silent = core::mem::take(&mut self.silent);
        let more = if silent > 0 { format!(" ({silent} more were refused before it)") } else { String::new() };
        Some(format!("{}{more}", what()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_a_minute_is_told_and_the_others_are_counted() {
        let (mut refusals, at) = (Refusals::default(), Duration::from_secs);
        let line = |refusals: &mut Refusals, now| refusals.line(at(now), || format!("one at {now}"));
        assert_eq!(line(&mut refusals, 5).as_deref(), Some("one at 5"));
        (0..3).for_each(|_| refusals.tell(at(64), || unreachable!("not yet")));
        assert_eq!(line(&mut refusals, 65).as_deref(), Some("one at 65 (3 more were refused before it)"));
        assert_eq!(line(&mut refusals, 200).as_deref(), Some("one at 200"));
    }
}
