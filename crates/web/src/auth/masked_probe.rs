//! How many numbers a masked viewer may ask for: whole numbers are allowed, trying them one by one is not.

use super::desk::{Desk, held};
use super::refusal::Refusal;
use super::viewer::Viewer;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};

/// Different numbers that a masked user may ask for in an hour. Five digits are hidden: trying all would take months.
// Limit: different numbers that a masked user may search per hour
// Beyond: further searches are refused
// Seen in: the HTTP status 429
pub const NUMBERS_PER_HOUR_MAX: usize = 60;
/// Users that are remembered; beyond, all are forgotten at once (there are never more users than this).
pub const PROBING_USERS_MAX: usize = 4096;

const HOUR_NS: i64 = 3_600_000_000_000;

/// The numbers that masked users asked for lately.
#[derive(Debug, Default)]
pub struct Probes {
    users: HashMap<i64, VecDeque<(i64, u64)>>,
    seed: RandomState,
}

impl Probes {
    /// Whether a user may ask for these numbers now; the same number again is free.
    ///
    /// # Errors
    /// [`Refusal::TooMany`].
    pub fn ask<'a>(
        &mut self,
        user_id: i64,
        numbers: impl IntoIterator<Item = &'a str>,
        now_ns: i64,
    ) -> Result<(), Refusal> {
        if self.users.len() >= PROBING_USERS_MAX && !self.users.contains_key(&user_id) {
            self.users.clear();
        }
        let asked = self.users.entry(user_id).or_default();
        asked.retain(|(at, _)| (0..HOUR_NS).contains(&now_ns.saturating_sub(*at)));
        for number in numbers {
            let number = self.seed.hash_one(number.to_ascii_lowercase());
            if asked.iter().any(|(_, n)| *n == number) {
                continue;
            }
            if asked.len() >= NUMBERS_PER_HOUR_MAX {
                let oldest = asked.front().map_or(now_ns, |(at, _)| *at);
                let wait_ns = oldest.saturating_add(HOUR_NS).saturating_sub(now_ns);
                return Err(Refusal::TooMany { retry_after_s: (wait_ns / 1_000_000_000).unsigned_abs() + 1 });
            }
            asked.push_back((now_ns, number));
        }
        Ok(())
    }
}

impl Desk {
    /// Whether a viewer may ask for these whole numbers now ([`super::mask::check_filter`] gives them). Always, if
    /// numbers are not masked for them.
    ///
    /// # Errors
    /// [`Refusal::TooMany`].
    pub fn may_ask_for<'a>(
        &self,
        viewer: &Viewer,
        numbers: impl IntoIterator<Item = &'a str>,
        now_ns: i64,
    ) -> Result<(), Refusal> {
        if viewer.masked() { held(&self.probes).ask(viewer.user_id, numbers, now_ns) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_not_tried_one_by_one() {
        let mut probes = Probes::default();
        let numbers: Vec<String> = (0..100).map(|n| format!("+44207123{n:04}")).collect();
        let allowed = numbers.iter().filter(|n| probes.ask(1, [n.as_str()], 0).is_ok()).count();
        assert_eq!(allowed, NUMBERS_PER_HOUR_MAX);
        assert_eq!(probes.ask(1, [numbers[0].as_str()], 1), Ok(()));
        assert_eq!(probes.ask(2, [numbers[99].as_str()], 1), Ok(()));
        let refused = probes.ask(1, [numbers[99].as_str()], HOUR_NS / 2).unwrap_err();
        assert_eq!(refused.retry_after_s(), Some(1801));
        assert_eq!(probes.ask(1, [numbers[99].as_str()], HOUR_NS + 1), Ok(()));
    }
}
