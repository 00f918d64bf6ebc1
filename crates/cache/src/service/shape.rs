//! The shape of what is stored: how many items of which size, how old they are and how long they have to live.
//! Gathered by a walk over all items, a bounded step at a time, and told when the walk is through.

use super::Shared;
use super::walk::size;
use crate::protocol::Now;
use crate::store::{Cursor, Seen, Writer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Items of a step: so many parts of all of them, and within these bounds. With ten steps a second a walk over up to
/// three million items is through in about ten seconds; of more, each second takes half a million.
const PARTS: u64 = 60;
const STEP_ITEMS_MIN: u64 = 1_000;
const STEP_ITEMS_MAX: u64 = 50_000;
/// Seconds between the end of a walk and the next.
const REST_S: u32 = 10;
/// Ages, and times left to live, in seconds: 1 s, 10 s, 1 min, 10 min, 1 h, 6 h, 1 day, more.
const SECONDS: [u64; 8] = [1, 10, 60, 600, 3600, 6 * 3600, 24 * 3600, u64::MAX];
/// Octets of the smallest and of the largest bar: the powers of two between.
const SIZE_BITS: std::ops::RangeInclusive<u32> = 5..=30;
/// Octets of a bucket of `stats sizes`, and of the largest item that is counted in one; larger ones are counted in the
/// next power of two, so that there are about as many buckets as in a memcached with `-I 1m`.
const BUCKET_OCTETS: u64 = 32;
const BUCKETED_OCTETS_MAX: u64 = 1 << 20;

/// Items up to a limit, and above that of the bar before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bar {
    /// The limit, in octets or seconds; `u64::MAX` is none.
    pub up_to: u64,
    /// Items.
    pub items: u64,
    /// Octets that they take, with all that stands beside key and value.
    pub octets: u64,
}

/// How many items of which size and age there were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// By the octets that an item takes.
    pub sizes: Vec<Bar>,
    /// By the seconds since an item was stored. What was carried on within the store more than 13 hours after it was
    /// stored counts as 13 hours old.
    pub ages: Vec<Bar>,
    /// By the seconds left to live, of those that expire.
    pub left: Vec<Bar>,
    /// Those that never expire.
    pub forever: Bar,
    /// Items by size as memcached counts it, in steps of 32 octets: what `stats sizes` tells.
    pub buckets: BTreeMap<u64, u64>,
    /// The greatest of the ages.
    pub oldest_s: u64,
    /// When the walk over all items began, in microseconds since 1970.
    pub began_unix_us: u64,
    /// When it was through.
    pub ended_unix_us: u64,
}

impl Shape {
    fn empty(now: Now) -> Self {
        let bars =
            |limits: &mut dyn Iterator<Item = u64>| limits.map(|up_to| Bar { up_to, ..Bar::default() }).collect();
        Shape {
            sizes: bars(&mut SIZE_BITS.map(|bits| 1 << bits).chain([u64::MAX])),
            ages: bars(&mut SECONDS.into_iter()),
            left: bars(&mut SECONDS.into_iter()),
            forever: Bar { up_to: u64::MAX, ..Bar::default() },
            buckets: BTreeMap::new(),
            oldest_s: 0,
            began_unix_us: now.unix_us,
            ended_unix_us: 0,
        }
    }

    /// All items.
    pub fn items(&self) -> u64 {
        self.sizes.iter().map(|bar| bar.items).sum()
    }

    fn add(&mut self, key: &[u8], seen: &Seen<'_>, second: u32) {
        let octets = seen.item_octets();
        count(&mut self.sizes, octets, octets);
        let age_s = u64::from(second.saturating_sub(seen.birth()));
        self.oldest_s = self.oldest_s.max(age_s);
        count(&mut self.ages, age_s, octets);
        match seen.expiry() {
            0 => self.forever.add(octets),
            expiry => count(&mut self.left, u64::from(expiry.saturating_sub(second)), octets),
        }
        let size = size(key, seen);
        let bucket = if size > BUCKETED_OCTETS_MAX { size.next_power_of_two() } else { size };
        *self.buckets.entry(bucket.next_multiple_of(BUCKET_OCTETS)).or_default() += 1;
    }
}

impl Bar {
    fn add(&mut self, octets: u64) {
        self.items += 1;
        self.octets += octets;
    }
}

fn count(bars: &mut [Bar], value: u64, octets: u64) {
    if let Some(bar) = bars.iter_mut().find(|bar| value <= bar.up_to) {
        bar.add(octets);
    }
}

/// What gathers the shape.
#[derive(Debug, Default)]
pub struct Survey {
    walk: Option<(Cursor, Shape)>,
    /// The second from which on it begins anew.
    rests_until: u32,
}

impl Survey {
    /// One step, ten times a second; the shape is `shared`'s when all items were met.
    pub fn step(&mut self, writer: &mut Writer, shared: &Shared, now: Now) {
        if self.walk.is_none() && now.second < self.rests_until {
            return;
        }
        let items = writer.store().counts().items;
        let (mut cursor, mut shape) = self.walk.take().unwrap_or_else(|| (Cursor::default(), Shape::empty(now)));
        let most = (items / PARTS).clamp(STEP_ITEMS_MIN, STEP_ITEMS_MAX) as usize;
        if writer.walk(&mut cursor, now.second, most, |key, seen| shape.add(key, seen, now.second)) {
            self.walk = Some((cursor, shape));
            return;
        }
        shape.ended_unix_us = now.unix_us;
        self.rests_until = now.second.saturating_add(REST_S);
        shared.publish(Arc::new(shape));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Alone, Settings};
    use super::*;
    use crate::store::{Decision, Put, Rules, Store, Value};

    fn at(second: u64) -> Now {
        Now::new(1_000, (1_000 + second) * 1_000_000)
    }

    fn put(writer: &mut Writer, key: &str, octets: usize, lives_s: u32, second: u64) {
        let now = at(second).second;
        let put = Put { expiry: if lives_s == 0 { 0 } else { now + lives_s }, ..Put::default() };
        let value = vec![b'x'; octets];
        writer.change(key.as_bytes(), Value::Octets(&value), now, |_, _| (Decision::Put(put), ())).expect("memory");
    }

    #[test]
    fn items_are_counted_by_size_and_age() {
        let store = Store::new(Rules { limit_octets: 256 << 20, ..Rules::default() });
        let shared = Shared::new(Arc::clone(&store), Settings::default(), Arc::new(Alone), at(0));
        let mut writer = store.writer();
        put(&mut writer, "old", 10, 0, 1);
        put(&mut writer, "minutes", 1000, 5_000, 3_000);
        put(&mut writer, "large", 300_000, 20, 3_595);
        for n in 0..5_000 {
            put(&mut writer, &format!("key-{n}"), 100, 0, 3_599);
        }
        let (mut survey, mut steps) = (Survey::default(), 0);
        while shared.shape().is_none() {
            survey.step(&mut writer, &shared, at(3_600));
            steps += 1;
            assert!(steps < 100);
        }
        assert!(steps > 3, "the work of a step is bounded");
        let shape = shared.shape().expect("it is through");
        let items =
            |bars: &[Bar]| bars.iter().map(|bar| (bar.up_to, bar.items)).filter(|b| b.1 > 0).collect::<Vec<_>>();
        assert_eq!(items(&shape.ages), [(1, 5_000), (10, 1), (600, 1), (3600, 1)]);
        assert_eq!(items(&shape.left), [(60, 1), (21_600, 1)]);
        assert_eq!(items(&shape.sizes), [(32, 1), (128, 5_000), (1024, 1), (1 << 19, 1)]);
        assert_eq!((shape.forever.items, shape.items(), shape.oldest_s), (5_001, 5_003, 3_599));
        assert_eq!(shape.buckets[&96], 1, "59 octets of memcached's, key and value: {:?}", shape.buckets);
        // It rests, and then begins anew.
        let before = shape.ended_unix_us;
        (0..200).for_each(|step| survey.step(&mut writer, &shared, at(3_601 + step / 10)));
        assert!(shared.shape().expect("it stays").ended_unix_us > before);
    }
}
