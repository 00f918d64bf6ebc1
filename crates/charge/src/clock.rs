//! The time that charging goes by, which never goes back and does not leap with the system's clock.
//!
//! The system's clock may be set by a person, a server of time that went mad, or a machine that was asleep. Were each
//! of its leaps followed, a wrong year of one second would end all sessions and bundles, price the traffic by another
//! tariff, and stay in the ledger, whose time never goes back. So:
//!
//! - What is off by [`LEAP_S`] or less is followed.
//! - A leap is not followed for [`HELD`]: time goes on as if it had not been. If the clock comes back, nothing was.
//! - A leap forward that stands for longer is followed then.
//! - After a leap back that stands, and after a start with a ledger that is ahead of the clock, time goes at half its
//!   pace until the clock has caught up.

use crate::calendar::Moment;
use core::time::Duration;

/// How far the system's clock may be from where it should be, in seconds, and is believed at once.
pub const LEAP_S: i64 = 10;
/// The same between two looks, where nobody has seen yet whether it is a leap.
const UNSEEN_S: i64 = 5;
/// How long a leap is not followed.
pub const HELD: Duration = Duration::from_secs(60);

/// See the module. Who keeps it looks at both clocks some times a second; who asks gives the system's time of now.
#[derive(Clone, Debug)]
pub struct Clock {
    /// The time at the last look, in milliseconds since 1970.
    own: i64,
    /// What the system's clock said then.
    wall: i64,
    /// When that was, by a clock that nobody sets.
    looked: Duration,
    /// The leap that is not followed yet: since when, how far in milliseconds.
    leap: Option<(Duration, i64)>,
    /// The latest time that was given, in seconds: none before it is.
    told: Moment,
}

/// What a look has found, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The system's clock has leapt by so many seconds, back if below zero; that is not followed now.
    Leapt(i64),
    /// It is where it was before.
    Back,
    /// It stayed there: time goes on from there, or slower until the clock is there.
    Follows(i64),
}

impl Clock {
    /// With the system's time, and that of the newest entry, which is not gone behind; in seconds since 1970.
    pub fn new(wall: Duration, newest: Moment, looked: Duration) -> Clock {
        let wall = millis(wall);
        Clock { own: wall.max(newest.saturating_mul(1000)), wall, looked, leap: None, told: Moment::MIN }
    }

    /// The time now, with what the system's clock says; in seconds since 1970. What was given once is not gone behind:
    /// a step of nearly [`UNSEEN_S`] is believed at one moment and, some milliseconds later, not until the next look.
    pub fn now(&mut self, wall: Moment) -> Moment {
        let (own, seen) = (self.own.div_euclid(1000), self.wall.div_euclid(1000));
        let passed = wall.saturating_sub(seen);
        let now = match passed.abs() <= UNSEEN_S && self.is_even() {
            true => own.max(own.saturating_add(passed)),
            false => own,
        };
        self.told = self.told.max(now);
        self.told
    }

    /// Goes on to another time of both clocks.
    pub fn look(&mut self, wall: Duration, now: Duration) -> Option<Found> {
        let (wall, passed) = (millis(wall), millis(now.saturating_sub(self.looked)));
        let off = wall.saturating_sub(self.wall.saturating_add(passed));
        let before = self.leap.map_or(0, |(_, by)| by);
        let leapt = before.saturating_add(off);
        (self.wall, self.looked) = (wall, now);
        if off.abs() > LEAP_S * 1000 {
            self.go(passed);
            let far = leapt.abs() > LEAP_S * 1000;
            self.leap = far.then_some((now, leapt));
            return Some(if far { Found::Leapt(leapt / 1000) } else { Found::Back });
        }
        match self.leap {
            Some((since, _)) if now.saturating_sub(since) < HELD => {
                self.leap = Some((since, leapt));
                self.go(passed);
                None
            }
            Some(_) => {
                self.leap = None;
                self.follow(passed);
                Some(Found::Follows(leapt / 1000))
            }
            None => {
                self.follow(passed);
                None
            }
        }
    }

    /// How many seconds the time is ahead of the system's clock; below zero behind it.
    pub fn ahead(&self) -> i64 {
        self.own.saturating_sub(self.wall) / 1000
    }

    /// What is to be told of it, if something is.
    pub fn trouble(&self) -> Option<String> {
        let ahead = self.ahead();
        if let Some((_, by)) = self.leap {
            let (by, way) = ((by / 1000).unsigned_abs(), if by < 0 { "back" } else { "forward" });
            let held = HELD.as_secs();
            return Some(format!(
                "the system's clock leapt {way} by {by} s: charging goes on without it, and follows once it has stood \
                 for {held} s"
            ));
        }
        (ahead > LEAP_S).then(|| {
            format!(
                "charging's time is {ahead} s ahead of the system's clock, and never goes back: it goes at half its \
                 pace until the clock has caught up"
            )
        })
    }

    /// Whether nothing is held or slowed down.
    fn is_even(&self) -> bool {
        self.leap.is_none() && self.ahead() <= 0
    }

    fn follow(&mut self, passed: i64) {
        match self.own < self.wall {
            true => self.own = self.wall,
            false => self.own = self.wall.max(self.own.saturating_add(passed / 2)),
        }
    }

    fn go(&mut self, passed: i64) {
        self.own = self.own.saturating_add(passed);
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const YEAR: i64 = 365 * 86_400;
    const BEGIN: i64 = 1_780_000_000;

    /// A clock that is looked at each 100 ms, beside the system's, which somebody sets.
    struct Room {
        clock: Clock,
        /// Milliseconds since it began, and how far the system's clock is off then.
        passed: i64,
        off: i64,
    }

    impl Room {
        fn new(newest: Moment) -> Room {
            Room { clock: Clock::new(Duration::from_secs(BEGIN as u64), newest, Duration::ZERO), passed: 0, off: 0 }
        }

        fn wall(&self) -> i64 {
            BEGIN * 1000 + self.passed + self.off
        }

        /// Lets seconds go by; what was found.
        fn go(&mut self, seconds: i64) -> Vec<Found> {
            let mut found = Vec::new();
            for _ in 0..seconds * 10 {
                let before = self.clock.now(self.wall().div_euclid(1000));
                self.passed += 100;
                let (wall, now) = (self.wall(), Duration::from_millis(self.passed as u64));
                assert!(self.clock.now(wall / 1000) >= before, "asked between two looks");
                found.extend(self.clock.look(Duration::from_millis(wall as u64), now));
                assert!(self.clock.now(wall / 1000) >= before, "it never goes back");
            }
            found
        }

        /// How far the time is from the truth, in seconds.
        fn wrong(&mut self) -> i64 {
            self.clock.now(self.wall() / 1000) - (BEGIN + self.passed / 1000)
        }
    }

    #[test]
    fn a_wrong_year_of_some_seconds_leaves_nothing() {
        for by in [YEAR, -YEAR, 3600, -3600, 11, -11] {
            let mut room = Room::new(0);
            room.go(5);
            room.off = by * 1000;
            assert_eq!(room.wrong(), 0, "asked before anybody looked");
            assert_eq!(room.go(59), [Found::Leapt(by)]);
            assert!(room.clock.trouble().unwrap().contains(&format!("by {} s", by.abs())));
            assert_eq!(room.wrong(), 0);
            room.off = 0;
            assert_eq!(room.go(1), [Found::Back]);
            assert_eq!((room.wrong(), room.clock.trouble()), (0, None));
            assert_eq!(room.go(100), []);
        }
    }

    #[test]
    fn a_leap_that_stands_is_followed_at_once_forward_and_slowly_back() {
        let mut room = Room::new(0);
        room.off = 3_600_000;
        assert_eq!(room.go(61), [Found::Leapt(3600), Found::Follows(3600)]);
        assert_eq!((room.wrong(), room.clock.trouble()), (3600, None), "what the system says is the truth");
        room.off = 0;
        assert_eq!(room.go(61), [Found::Leapt(-3600), Found::Follows(-3600)]);
        assert!(room.clock.trouble().unwrap().starts_with("charging's time is 3599 s ahead"));
        room.go(3600);
        assert!((1795..=1805).contains(&room.wrong()), "half of it is caught up: {}", room.wrong());
        room.go(3700);
        assert_eq!((room.wrong(), room.clock.trouble()), (0, None));
    }

    #[test]
    fn small_steps_are_followed() {
        let mut room = Room::new(0);
        room.off = 10_000;
        assert_eq!(room.go(1), []);
        assert_eq!(room.wrong(), 10);
        room.off = 5_000;
        assert_eq!(room.go(11), []);
        assert_eq!(room.wrong(), 5);
    }

    #[test]
    fn a_ledger_from_the_future_is_not_gone_behind() {
        let mut room = Room::new(BEGIN + 100);
        assert_eq!(room.wrong(), 100);
        assert!(room.clock.trouble().unwrap().contains("100 s ahead"));
        room.go(100);
        assert!((48..=52).contains(&room.wrong()), "{}", room.wrong());
        room.go(101);
        assert_eq!((room.wrong(), room.clock.trouble()), (0, None));
    }

    /// A step that is believed between two looks for some milliseconds, and then not any more.
    #[test]
    fn a_step_of_nearly_what_is_believed_unseen_does_not_go_back() {
        for (first, second) in [(19_000, 24_900), (0, 5_900), (0, 5_950), (-19_000, -13_100)] {
            let mut room = Room::new(0);
            room.off = first;
            room.go(61);
            room.off = second;
            room.go(1);
            room.off = 0;
            room.go(61 + 2 * 400);
            assert_eq!((room.wrong(), room.clock.trouble()), (0, None), "{first}, {second}");
        }
    }

    /// What was given stays given, and is no further ahead than what was believed unseen.
    #[test]
    fn a_step_that_is_gone_at_the_next_look_is_waited_for() {
        let mut clock = Clock::new(Duration::from_secs(100), 0, Duration::ZERO);
        assert_eq!((clock.now(104), clock.now(100), clock.now(106)), (104, 104, 104));
        assert_eq!(clock.look(Duration::from_secs(101), Duration::from_secs(1)), None);
        assert_eq!((clock.now(101), clock.now(104)), (104, 104));
        assert_eq!(clock.look(Duration::from_secs(105), Duration::from_secs(5)), None);
        assert_eq!(clock.now(105), 105);
    }

    proptest! {
        #[test]
        fn it_never_goes_back_and_comes_to_the_clock(
            steps in prop::collection::vec((-200_000i64..200_000, 0i64..90), 1..12),
        ) {
            let mut room = Room::new(0);
            for (by, seconds) in steps {
                room.off = by;
                room.go(seconds);
            }
            room.off = 0;
            room.go(61 + 2 * 400);
            prop_assert_eq!((room.wrong(), room.clock.trouble()), (0, None));
        }
    }
}
