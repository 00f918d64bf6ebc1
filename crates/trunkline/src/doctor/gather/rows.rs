//! How many rows of each class come a day, as the last days of the store have it.

use crate::doctor::facts::Rows;
use crate::retention;
use crate::run::config::Settings;
use crate::run::now_ns;
use trunkline_store::removal::Class;
use trunkline_store::time::Day;
use trunkline_store::{Access, Store};

/// Whole days that are looked at, the newest.
const DAYS_MAX: usize = 7;

/// None where rows are not stored, or there is no whole day yet.
pub fn rows(settings: &Settings) -> Option<Rows> {
    let data = &settings.data.folder;
    let folder = data.join("store");
    if !settings.store.enabled || !folder.is_dir() {
        return None;
    }
    let store = Store::open(&folder, Access::Read).ok()?;
    let today = Day::of(now_ns());
    let days: Vec<Day> = store.days().ok()?.into_iter().filter(|day| *day < today).collect();
    let newest = days.last()?.number();
    let (mut octets, mut classes, mut looked_at) = (0u64, [0u64; Class::ALL.len()], 0u32);
    for day in days.iter().rev().take(DAYS_MAX).take_while(|day| newest - day.number() < DAYS_MAX as i32) {
        let Ok(Some(held)) = store.held(*day) else { continue };
        looked_at += 1;
        octets += held.octets;
        classes.iter_mut().zip(held.classes).for_each(|(sum, of)| *sum += of.octets);
    }
    let per_day = |sum: u64| sum.checked_div(looked_at.into());
    let classes = classes.map(|sum| per_day(sum).unwrap_or_default());
    Some(Rows { rules: retention::rules(settings, data), days: looked_at, classes, octets: per_day(octets)? })
}
