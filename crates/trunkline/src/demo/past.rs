//! The past of the demonstration's graphs: files with what the farm has counted, so that a day, a week and a year are
//! there from the first minute on.
//!
//! Old values are put in at long intervals, as their archives have them, and the last hours as they are polled: a year
//! costs a few thousand samples. What a file ends with is what the device says at that moment, so that polling goes on
//! from there.

use crate::failure::Failure;
use std::path::Path;
use trunkline_graph::files;
use trunkline_graph::inventory::Inventory;
use trunkline_graph::job::Handle;
use trunkline_graph::targets;
use trunkline_kit::random::mixed;
use trunkline_rrd::{Fault as Wrong, Plan, Rows, Time, Tune, Value, tune};
use trunkline_sim::farm::{Counter, Farm, Fault};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;
/// From how long ago on there is a sample in which time, the oldest first.
const SPANS: [(i64, i64); 4] =
    [(399 * DAY_MS, 6 * HOUR_MS), (35 * DAY_MS, HOUR_MS), (8 * DAY_MS, 5 * MINUTE_MS), (6 * HOUR_MS, MINUTE_MS)];
/// Samples at longer intervals say what went on, not whether the device was away at that moment.
const EXACT_MS: i64 = 5 * MINUTE_MS;
/// More than the longest interval: nothing of it is unknown while files are filled.
const HEARTBEAT_S: u64 = 86_400;

/// What a farm has counted up to a moment.
pub struct Past<'f> {
    pub farm: &'f Farm,
    pub until_ms: i64,
}

/// A device, and its interface.
#[derive(Clone, Copy)]
struct Of {
    place: usize,
    interface: u32,
}

impl Past<'_> {
    /// Makes the files of a device.
    ///
    /// # Errors
    /// A file cannot be made.
    pub fn fill(&self, handle: &Handle, inventory: &Inventory, device: u32, place: usize) -> Result<(), Failure> {
        let library = handle.library();
        for source in inventory.sources_of(device) {
            let Some(template) = targets::template(inventory, &library, *source) else { continue };
            let row = inventory.sources().get(*source).and_then(|source| inventory.rows().get(source.row?));
            let interface = row.and_then(|row| (0..).take(64).find(|i| *self.farm.interface_name(*i) == *row.name));
            let of = Of { place, interface: interface.unwrap_or_default() };
            let names: Vec<&str> = template.series.iter().map(|series| series.name.as_str()).collect();
            let Some(definition) = files::definition(inventory, &library, *source) else { continue };
            let path = handle.folder().join(files::path(device, *source));
            let made = self.file(&definition, &names, of, *source).map_err(|fault| fault.to_string());
            let written = made.and_then(|octets| write(&path, &octets).map_err(|error| error.to_string()));
            written.map_err(|why| Failure::Failed(format!("{}: {why}", path.display())))?;
        }
        Ok(())
    }

    fn file(&self, definition: &files::Definition, names: &[&str], of: Of, lot: u32) -> Result<Vec<u8>, Wrong> {
        let plan = Plan::read(definition.step_s, definition.lines.iter().map(String::as_str))?;
        let moments = self.moments(definition.step_s as i64 * 1000);
        let first_s = moments.first().map_or(0, |(at_ms, _)| at_ms / 1000);
        let mut lot = u64::from(lot);
        let made = plan.create(first_s - definition.step_s as i64, |rows| {
            lot = mixed(lot);
            lot % rows.max(1)
        })?;
        let usual: Vec<(String, u64)> =
            made.archive.shape().sources.iter().map(|source| (source.name.clone(), source.heartbeat_s)).collect();
        let patient = usual.iter().map(|(name, _)| Tune::Heartbeat(name.clone(), HEARTBEAT_S)).collect::<Vec<_>>();
        let mut octets = tune(&made.octets(), &patient)?;
        let mut archive = trunkline_rrd::Archive::open(&octets)?;
        let mut rows = Rows::default();
        for (at_ms, is_exact) in moments {
            let values: Vec<Value<'static>> = names.iter().map(|name| self.value(name, of, at_ms, is_exact)).collect();
            archive.update(Time::at(at_ms / 1000), &values, &mut rows).map_err(|why| Wrong::Asked(why.to_string()))?;
        }
        let shape = archive.shape();
        for piece in rows.writes(shape) {
            let words: Vec<u8> = piece.words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let (begin, whole) = (piece.at as usize, words.repeat(piece.times as usize));
            octets[begin..begin + whole.len()].copy_from_slice(&whole);
        }
        let mut live = Vec::new();
        archive.write_live(&mut live);
        octets[shape.still_octets..shape.still_octets + live.len()].copy_from_slice(&live);
        let usual: Vec<Tune> = usual.into_iter().map(|(name, seconds)| Tune::Heartbeat(name, seconds)).collect();
        tune(&octets, &usual)
    }

    /// When there is a sample, and whether it says how the device was at that moment.
    fn moments(&self, step_ms: i64) -> Vec<(i64, bool)> {
        let mut moments = Vec::new();
        for (number, (since_ms, every_ms)) in SPANS.iter().enumerate() {
            let every_ms = (*every_ms).max(step_ms);
            let until_ms = SPANS.get(number + 1).map_or(0, |(since_ms, _)| *since_ms);
            let ago = (1..).map(|count| since_ms - count * every_ms).take_while(|ago_ms| *ago_ms >= until_ms);
            moments.extend(ago.map(|ago_ms| (self.until_ms - ago_ms, every_ms <= EXACT_MS)));
        }
        moments.dedup_by_key(|(at_ms, _)| *at_ms / 1000);
        moments
    }

    /// What a series has at a moment.
    fn value(&self, series: &str, of: Of, at_ms: i64, is_exact: bool) -> Value<'static> {
        if is_exact && !self.farm.is_reached(of.place, at_ms) {
            return Value::Unknown;
        }
        let Of { place, interface } = of;
        let counter = match series {
            "traffic_in" => Counter::InOctets,
            "traffic_out" => Counter::OutOctets,
            "errors_in" => Counter::InErrors,
            "errors_out" => Counter::OutErrors,
            "discards_in" => Counter::InDiscards,
            "discards_out" => Counter::OutDiscards,
            "admin" => return Value::Unsigned(1),
            "oper" if self.farm.interface_is_up(place, interface, at_ms) => return Value::Unsigned(1),
            "oper" => return Value::Unsigned(2),
            "speed" => return Value::Unsigned(self.farm.interface_speed(place, interface) / 1_000_000),
            "uptime" => return Value::Float(self.farm.state(place, at_ms).uptime_ms as f64 / 1000.0),
            _ => return Value::Unknown,
        };
        let ends_at = self.farm.counter(place, interface, counter, self.until_ms);
        // What has no wide counters, and what of the standard never is one, goes on from 32 bits.
        let is_narrow = !matches!(counter, Counter::InOctets | Counter::OutOctets)
            || matches!(self.farm.fault(place), Some(Fault::Narrow | Fault::VersionOne));
        let ends_at = if is_narrow { ends_at & 0xffff_ffff } else { ends_at };
        let since = self.farm.counted(place, interface, counter, at_ms, self.until_ms);
        Value::Unsigned(ends_at.wrapping_sub(since))
    }
}

/// Nobody reads them yet, and a crash leaves nothing that counts.
fn write(path: &Path, octets: &[u8]) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::write(path, octets)
}
