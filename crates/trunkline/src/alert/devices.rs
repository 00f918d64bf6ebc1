//! Devices as rules see them: whether they are up, through which others they are reached, and which are worked at.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use trunkline_alert::job::{Alerts, Seen};
use trunkline_alert::rule::{Rules, SeriesWatch, Watch};
use trunkline_graph::inventory::{DeviceState, Inventory};
use trunkline_graph::job::Health;
use trunkline_graph::poller::Change;

/// What rules name as the template of what is known of a device itself.
pub const DEVICE_TEMPLATE: &str = "device";
/// Its series: 1 is up, 0 down; 1 is up and down by turns, as probes see it, 0 is not.
pub const SERIES: [&str; 2] = ["up", "flapping"];

/// The rules over series, by name.
pub fn of_series(rules: &Rules) -> Vec<(&String, &SeriesWatch)> {
    let all = rules.rules.iter().filter_map(|(name, rule)| match &rule.watch {
        Watch::Series(watch) => Some((name, watch)),
        _ => None,
    });
    all.collect()
}

/// What is known of a device, beside its name.
pub fn fields(inventory: &Inventory, device: u32) -> Vec<(String, String)> {
    let known = inventory.fields(device, None);
    let field = |name: &str| known.get(name).map(|text| (name.to_owned(), text.to_owned()));
    let template = inventory.devices().get(device).and_then(|device| inventory.template_name(device.template?));
    let template = template.map(|name| ("device_template".to_owned(), name.to_owned()));
    let own = [("device_id".to_owned(), device.to_string())].into_iter();
    own.chain(["address", "site", "location", "contact"].into_iter().filter_map(field)).chain(template).collect()
}

/// Devices on a way that are asked after; what is farther is not.
const WAY_MAX: usize = 32;
/// How long an alert waits for what a device says that is on its way, for each round without an answer that it takes
/// until that is down. Asked at once and again after five seconds, it takes a fraction of that.
const DOUBT_MS: i64 = 30_000;

/// Devices that were not reached since one behind them was found to be down: whether that one is dead or cut off is not
/// known before.
pub fn in_doubt(inventory: &Inventory, healths: &[Health], now_ms: i64) -> BTreeSet<u32> {
    let known: HashMap<u32, &Health> = healths.iter().map(|health| (health.device, health)).collect();
    let mut doubted = BTreeSet::new();
    for down in healths.iter().filter(|health| health.change == Some(Change::Down)) {
        let passed_ms = now_ms - down.since_ms;
        let (mut way, mut next) = (BTreeSet::from([down.device]), vec![down.device]);
        while let Some(device) = next.pop().filter(|_| way.len() <= WAY_MAX) {
            for parent in inventory.devices().get(device).iter().flat_map(|device| &device.behind) {
                let (true, Some(device)) = (way.insert(*parent), inventory.devices().get(*parent)) else { continue };
                next.push(*parent);
                let rounds = i64::from(device.availability.failures) + 2;
                let waits = (0..rounds * DOUBT_MS).contains(&passed_ms);
                let is_open = |health: &&Health| {
                    health.change != Some(Change::Down)
                        && health.reached_ms.is_none_or(|reached_ms| reached_ms <= down.since_ms)
                };
                if waits && known.get(parent).copied().filter(is_open).is_some() {
                    doubted.insert(*parent);
                }
            }
        }
    }
    doubted
}

/// Rules over whether these devices are up that other rules depend on, and the devices that fall under each.
pub fn depended(inventory: &Inventory, rules: &Rules, devices: &BTreeSet<u32>) -> BTreeSet<(String, String)> {
    let is_depended = |name: &String| rules.rules.values().any(|rule| rule.depends.contains(name));
    let wanted: Vec<_> = of_devices(rules).into_iter().filter(|(name, _)| is_depended(name)).collect();
    let mut all = BTreeSet::new();
    for (id, device) in devices.iter().filter_map(|id| Some((id, inventory.devices().get(*id)?))) {
        let fields = if wanted.is_empty() { Vec::new() } else { fields(inventory, *id) };
        let tag = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str());
        let taking = wanted.iter().filter(|(_, watch)| watch.takes(DEVICE_TEMPLATE, &device.name, "", tag));
        all.extend(taking.map(|(rule, _)| ((*rule).clone(), device.name.to_string())));
    }
    all
}

/// Those that are over devices themselves. Every device would match a rule without a template: they say so.
fn of_devices(rules: &Rules) -> Vec<(&String, &SeriesWatch)> {
    of_series(rules).into_iter().filter(|(_, watch)| is_of_devices(watch)).collect()
}

fn is_of_devices(watch: &SeriesWatch) -> bool {
    watch.templates.iter().any(|pattern| pattern.text() == DEVICE_TEMPLATE)
}

/// Whether a rule over series watches a device of this name, or something of it.
pub fn is_watched(inventory: &Inventory, watch: &SeriesWatch, name: &str) -> bool {
    let Some(id) = inventory.device_named(name) else { return false };
    let is_asked = inventory.devices().get(id).is_some_and(|device| device.state != DeviceState::Disabled);
    if !is_of_devices(watch) {
        return is_asked;
    }
    let fields = fields(inventory, id);
    let tag = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str());
    is_asked && watch.takes(DEVICE_TEMPLATE, name, "", tag)
}

/// All devices, and whether they are up where that is known.
pub fn known(inventory: &Inventory, healths: &[Health]) -> BTreeMap<String, Option<bool>> {
    let up: HashMap<u32, bool> =
        healths.iter().filter_map(|health| Some((health.device, health.change? == Change::Up))).collect();
    let all = inventory.devices().iter();
    all.map(|(id, device)| (device.name.to_string(), up.get(&id).copied())).collect()
}

/// What was shown of devices before.
#[derive(Debug, Default)]
pub struct Devices {
    parents: BTreeMap<String, Vec<String>>,
    maintained: BTreeSet<String>,
    /// Rules and devices of which it was shown whether they are up.
    up: BTreeSet<(String, String)>,
}

impl Devices {
    /// Tells of parents and of devices that are worked at, where they are others than before.
    pub fn follow(&mut self, inventory: &Inventory, alerts: &Alerts) {
        let name = |id: &u32| inventory.devices().get(*id).map(|device| device.name.to_string());
        let (mut parents, mut maintained) = (BTreeMap::new(), BTreeSet::new());
        for (_, device) in inventory.devices().iter() {
            if !device.behind.is_empty() {
                parents.insert(device.name.to_string(), device.behind.iter().filter_map(name).collect::<Vec<_>>());
            }
            if device.state == DeviceState::Maintenance {
                maintained.insert(device.name.to_string());
            }
        }
        for (device, behind) in parents.iter().filter(|(device, behind)| self.parents.get(*device) != Some(behind)) {
            alerts.set_parents(device, behind.clone());
        }
        for device in self.parents.keys().filter(|device| !parents.contains_key(*device)) {
            alerts.set_parents(device, Vec::new());
        }
        if maintained != self.maintained {
            alerts.set_maintained(maintained.clone());
        }
        (self.parents, self.maintained) = (parents, maintained);
    }

    /// Whether devices are up, as rules want to know; those that are polled no more are forgotten.
    pub fn seen(
        &mut self,
        inventory: &Inventory,
        rules: &Rules,
        healths: &[Health],
        alerts: &Alerts,
        at_s: i64,
    ) -> Vec<Seen> {
        let wanted = of_devices(rules);
        let (mut seen, mut up) = (Vec::new(), BTreeSet::new());
        for Health { device: id, change, is_flapping, .. } in healths.iter().filter(|_| !wanted.is_empty()) {
            let (Some(device), Some(change)) = (inventory.devices().get(*id), change) else { continue };
            let numbers = [*change == Change::Up, *is_flapping].map(|is_so| f64::from(u8::from(is_so)));
            let fields = fields(inventory, *id);
            let known: HashMap<&str, &str> = fields.iter().map(|(name, text)| (&**name, &**text)).collect();
            for (rule, watch) in &wanted {
                if watch.takes(DEVICE_TEMPLATE, &device.name, "", |tag| known.get(tag).copied()) {
                    let number = |name: &str| SERIES.iter().zip(numbers).find(|(series, _)| **series == name);
                    let value = watch.value.value(at_s, |name| number(name).map(|(_, number)| number));
                    let (rule, name) = ((*rule).clone(), device.name.to_string());
                    up.insert((rule.clone(), name.clone()));
                    let fields = fields.clone();
                    seen.push(Seen { rule, subject: name.clone(), device: name, fields, at_s, value, samples: 1 });
                }
            }
        }
        self.up.difference(&up).for_each(|(rule, device)| alerts.forget(rule, device));
        self.up = up;
        seen
    }
}
