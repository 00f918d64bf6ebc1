//! The round-robin file of a data source: where it is, and what it is made of.

use crate::inventory::Inventory;
use crate::targets;
use crate::template::{Bound, Library, Series};
use std::path::PathBuf;
use trunkline_rrd::{Archive, SourceKind, Tune, number_text};

/// Where the file of a data source is, below the folder of graphs.
pub fn path(device: u32, source: u32) -> PathBuf {
    PathBuf::from(device.to_string()).join(format!("{source}.rrd"))
}

/// How a file is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its step.
    pub step_s: u64,
    /// Its data sources and archives, as `rrdtool create` takes them.
    pub lines: Vec<String>,
}

/// How the file of a data source is made; none if its template is not there.
pub fn definition(inventory: &Inventory, library: &Library, source: u32) -> Option<Definition> {
    let template = targets::template(inventory, library, source)?;
    let step = targets::step(inventory, library, source)?;
    let profile = library.profiles.get(&template.profile)?;
    let mut lines = Vec::new();
    for series in &template.series {
        let limits = limits(inventory, library, source, series)?;
        let kind = series.kind.name().to_uppercase();
        lines.push(format!("DS:{}:{kind}:{}:{}:{}", series.name, limits.heartbeat, limits.min, limits.max));
    }
    for function in &profile.functions {
        let function = function.name().to_uppercase();
        for (steps, rows) in profile.archives(step) {
            lines.push(format!("RRA:{function}:{}:{steps}:{rows}", profile.unknown));
        }
    }
    Some(Definition { step_s: step.into(), lines })
}

/// What a data source of a file takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Without a value for so many seconds it is unknown.
    pub heartbeat: u32,
    /// What is less is unknown: a number, or `U`.
    pub min: String,
    /// What is more is unknown.
    pub max: String,
}

/// What a series of a data source takes; none if its template is not there.
pub(crate) fn limits(inventory: &Inventory, library: &Library, source: u32, series: &Series) -> Option<Limits> {
    let template = targets::template(inventory, library, source)?;
    let step = targets::step(inventory, library, source)?;
    let profile = library.profiles.get(&template.profile)?;
    let own = inventory.devices().get(inventory.sources().get(source)?.device)?.step;
    let heartbeat = series.heartbeat.unwrap_or_else(|| profile.heartbeat(step));
    // A device that is read less often than its template says would never be heard in time.
    let heartbeat = own.map_or(heartbeat, |step| heartbeat.max(step.saturating_mul(2)));
    let row = inventory.sources().get(source)?.row.and_then(|row| inventory.rows().get(row));
    let speed = row.map_or(0, |row| row.speed);
    let max = match series.max {
        Bound::Number(number) => Some(number.0),
        Bound::Speed if speed > 0 => Some(speed as f64 / 8.0),
        Bound::Speed | Bound::None => None,
    };
    let text = |bound: Option<f64>| bound.map_or_else(|| "U".to_owned(), bound_text);
    Some(Limits { heartbeat, min: text(series.min.map(|min| min.0)), max: text(max) })
}

/// As short as a definition takes it.
fn bound_text(number: f64) -> String {
    let plain = number.to_string();
    if plain.len() <= 18 { plain } else { number_text(number) }
}

/// How a file that is there takes what its template has: the place in the file of each value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// As it comes.
    Same,
    /// Each value goes to this place.
    Other(Box<[u8]>),
}

/// How a file takes values in the order of a template's series.
///
/// # Errors
/// It has other data sources than the template has series; the text says which.
pub fn order(archive: &Archive, names: &[&str]) -> Result<Order, String> {
    let sources = archive.shape().sources.iter().filter(|source| source.kind != SourceKind::Compute);
    let there: Vec<&str> = sources.map(|source| source.name.as_str()).collect();
    if there == names {
        return Ok(Order::Same);
    }
    let place = |name: &&str| there.iter().position(|other| other == name).map(|place| place as u8);
    let places: Option<Box<[u8]>> = names.iter().map(place).collect();
    match places.filter(|places| places.len() == there.len()) {
        Some(places) => Ok(Order::Other(places)),
        None => Err(format!("the file has {}, the template {}", there.join(", "), names.join(", "))),
    }
}

/// What of a file is to be changed where the speed of a row or the step of a device is another one than before.
pub fn changes(inventory: &Inventory, library: &Library, source: u32, archive: &Archive) -> Vec<Tune> {
    let Some(template) = targets::template(inventory, library, source) else { return Vec::new() };
    let mut changes = Vec::new();
    for series in &template.series {
        let Some(at) = archive.shape().source(&series.name) else { continue };
        let Some(limits) = limits(inventory, library, source, series) else { continue };
        let there = &archive.shape().sources[at];
        if there.heartbeat_s != u64::from(limits.heartbeat) {
            changes.push(Tune::Heartbeat(series.name.clone(), limits.heartbeat.into()));
        }
        let max = limits.max.parse().unwrap_or(f64::NAN);
        if matches!(series.max, Bound::Speed) && there.max != max && !(there.max.is_nan() && max.is_nan()) {
            changes.push(Tune::Max(series.name.clone(), limits.max));
        }
    }
    changes
}
