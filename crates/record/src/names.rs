//! What segments are called: class, time and lane (DESIGN section 4), and which number stands for which in rows.

use crate::class::Class;
use crate::identity::{Identity, LogId};
use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use trunkline_kit::date;

/// Segments whose names are remembered, so that rows of calls can name them. A call that lasted longer than so many
/// segments of all lanes names its oldest no more.
// Limit: segments that rows of calls can name
// Beyond: the oldest segment of a very long call is not named
// Seen in: the packets of that call begin later
pub const SEGMENTS_NAMED_MAX: usize = 1 << 18;

/// The name of a segment below a volume: `packets/rtp/2026/11/20/13/05-0.pcapng`; `again` tells further ones of the
/// same minute, class and lane apart.
pub fn segment_name(class: Class, at_ns: i64, lane: u16, again: u32) -> String {
    let (year, month, day, hour, minute) = civil(at_ns);
    let class = class.name();
    let again = if again == 0 { String::new() } else { format!(".{again}") };
    format!("packets/{class}/{year:04}/{month:02}/{day:02}/{hour:02}/{minute:02}-{lane}{again}.pcapng")
}

/// Year, month, day, hour and minute, UTC, of nanoseconds since 1970.
fn civil(at_ns: i64) -> (i64, u32, u32, u32, u32) {
    let minutes = at_ns.div_euclid(60_000_000_000);
    let (year, month, day) = date::of_days(minutes.div_euclid(1440));
    let minute_of_day = minutes.rem_euclid(1440) as u32;
    (year, month, day, minute_of_day / 60, minute_of_day % 60)
}

/// The names of this run's segments by number, and the names that are taken already.
#[derive(Debug, Default)]
pub struct Segments {
    named: Mutex<Named>,
    taken: HashSet<String>,
    log: Option<LogId>,
}

#[derive(Debug, Default)]
struct Named {
    first: u32,
    names: VecDeque<Arc<str>>,
    /// The same, to be found by name.
    used: HashSet<Arc<str>>,
}

impl Segments {
    /// With names that earlier runs have used.
    pub fn with_taken(taken: HashSet<String>) -> Self {
        Segments { named: Mutex::default(), taken, log: None }
    }

    /// Those of a log.
    pub fn of_log(self, log: LogId) -> Self {
        Segments { log: Some(log), ..self }
    }

    /// What a segment is to say of itself; nothing where nobody said which log it is.
    pub fn identity(&self, number: u32) -> Option<Identity> {
        Some(Identity { log: self.log?, name: self.name(number)? })
    }

    /// Whether an earlier run or this one has used a name.
    pub fn is_taken(&self, name: &str) -> bool {
        self.taken.contains(name) || self.named.lock().unwrap_or_else(PoisonError::into_inner).used.contains(name)
    }

    /// A number for a segment that begins, from 0.
    pub fn add(&self, name: String) -> u32 {
        let name: Arc<str> = name.into();
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        if named.names.len() == SEGMENTS_NAMED_MAX {
            let forgotten = named.names.pop_front();
            forgotten.iter().for_each(|name| _ = named.used.remove(name));
            named.first += 1;
        }
        named.used.insert(Arc::clone(&name));
        named.names.push_back(name);
        named.first + named.names.len() as u32 - 1
    }

    /// The name of a segment; none of one that was forgotten.
    pub fn name(&self, number: u32) -> Option<String> {
        let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        named.names.get(number.checked_sub(named.first)? as usize).map(ToString::to_string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_class_time_and_lane() {
        let at = 1_795_181_123_000_000_000;
        assert_eq!(segment_name(Class::Rtp, at, 3, 0), "packets/rtp/2026/11/20/13/25-3.pcapng");
        assert_eq!(segment_name(Class::Sip, at, 0, 2), "packets/sip/2026/11/20/13/25-0.2.pcapng");
    }

    /// Known moments, as `date -u -d @SECONDS` gives them.
    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, date) in [
            (0, (1970, 1, 1, 0, 0)),
            (951_782_400, (2000, 2, 29, 0, 0)),
            (4_107_542_399, (2100, 2, 28, 23, 59)),
            (4_107_542_400, (2100, 3, 1, 0, 0)),
            (1_709_251_140, (2024, 2, 29, 23, 59)),
            (-1, (1969, 12, 31, 23, 59)),
        ] {
            assert_eq!(civil(seconds * 1_000_000_000), date, "{seconds}");
        }
    }

    #[test]
    fn numbers_stay_with_their_names() {
        let segments = Segments::with_taken(HashSet::from(["x".to_owned()]));
        assert!(segments.is_taken("x") && !segments.is_taken("a"));
        assert_eq!((segments.add("a".to_owned()), segments.add("b".to_owned())), (0, 1));
        assert_eq!(segments.name(1).as_deref(), Some("b"));
        assert_eq!(segments.name(2), None);
        assert!(segments.is_taken("a") && !segments.is_taken("c"));
    }
}
