//! Samples of graphs as rules see them: by device, template, row and series, as rates where they count.

use super::devices::{self, Devices, of_series};
use super::here::{Fed, show};
use super::metrics::{now_ms, now_s};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use trunkline_alert::engine::Standing;
use trunkline_alert::job::{Alerts, Seen};
use trunkline_alert::rule::{Rules, SeriesWatch};
use trunkline_graph::inventory::{DeviceState, Inventory};
use trunkline_graph::job::{Handle, Health};
use trunkline_graph::rates::Rates;

/// How long nothing may come before it looks whether something has changed.
const LOOK: Duration = Duration::from_millis(250);
/// How often it looks whether the inventory is another one.
const INVENTORY: Duration = Duration::from_secs(1);
/// How often it looks how devices are while alerts wait for that, at least.
const DOUBTED: Duration = Duration::from_secs(1);

/// Subjects that are asked for together.
const PAGE: usize = 1_000;

/// Shows rules what devices say.
pub struct SeriesFeed {
    alerts: Arc<Alerts>,
    graphs: Handle,
    fed: Arc<Fed>,
    every: Duration,
    rules: Arc<Rules>,
    inventory: Arc<Inventory>,
    /// Data sources that were looked at, and what rules want of them.
    sources: HashMap<u32, Option<Watched>>,
    devices: Devices,
    looked_at: Option<Instant>,
    healths_at: Option<Instant>,
    /// Rules and devices of which it is being found out whether they are in trouble.
    doubted: BTreeSet<(String, String)>,
    left_out: u64,
}

/// A data source that rules watch.
struct Watched {
    device: String,
    fields: Vec<(String, String)>,
    /// Rules, and what they call it.
    subjects: Vec<(String, String)>,
    rates: Rates,
}

impl SeriesFeed {
    pub fn new(alerts: Arc<Alerts>, graphs: Handle, fed: Arc<Fed>, every: Duration) -> SeriesFeed {
        let (rules, inventory) = (alerts.rules(), graphs.inventory());
        SeriesFeed {
            alerts,
            graphs,
            fed,
            every,
            rules,
            inventory,
            sources: HashMap::new(),
            devices: Devices::default(),
            looked_at: None,
            healths_at: None,
            doubted: BTreeSet::new(),
            left_out: 0,
        }
    }

    /// Until the feeds end, or graphs do.
    pub fn run(mut self) {
        let watching = self.graphs.watch();
        self.forget_what_is_gone();
        while !self.fed.ends() {
            self.look();
            let mut seen = Vec::new();
            let goes_on = watching.next(LOOK, |source, at_ms, values| self.sample(source, at_ms, values, &mut seen));
            show(&self.alerts, seen);
            let left_out = watching.left_out();
            self.fed.samples_left_out.fetch_add(left_out - self.left_out, Ordering::Relaxed);
            self.left_out = left_out;
            if !goes_on {
                return;
            }
        }
    }

    /// What rules watch no more since it was seen: while nobody looked, or by other rules.
    fn forget_what_is_gone(&self) {
        for (rule, watch) in of_series(&self.rules) {
            let mut after = String::new();
            loop {
                let page = self.alerts.followed(rule, &after, PAGE);
                for standing in page.iter().filter(|standing| self.is_gone(rule, watch, standing)) {
                    self.alerts.forget(rule, &standing.subject);
                }
                match page.last() {
                    Some(last) if page.len() >= PAGE => after.clone_from(&last.subject),
                    _ => break,
                }
            }
        }
    }

    /// Whether a rule does not watch a subject any more: its data source, or where it has none, its device.
    fn is_gone(&self, rule: &str, watch: &SeriesWatch, standing: &Standing) -> bool {
        if let Some(source) = standing.fields.get("source").and_then(|source| source.parse().ok()) {
            let is_it = |(other, subject): &(String, String)| other == rule && *subject == standing.subject;
            return !self.watched(source).is_some_and(|watched| watched.subjects.iter().any(is_it));
        }
        match standing.device.is_empty() {
            // Nothing is known of it before it is seen again.
            true => false,
            false => !devices::is_watched(&self.inventory, watch, &standing.device),
        }
    }

    /// Follows rules, inventory and health, as it is time.
    fn look(&mut self) {
        let is_due = |at: Option<Instant>, every: Duration| at.is_none_or(|at| at.elapsed() >= every);
        if is_due(self.looked_at, INVENTORY) {
            let (rules, inventory) = (self.alerts.rules(), self.graphs.inventory());
            let is_other = inventory.sequence() != self.inventory.sequence();
            let are_other = !Arc::ptr_eq(&rules, &self.rules);
            (self.rules, self.inventory) = (rules, inventory);
            if self.looked_at.is_none() || is_other || are_other {
                self.devices.follow(&self.inventory, &self.alerts);
                self.match_again();
            }
            if are_other {
                self.forget_what_is_gone();
            }
            self.looked_at = Some(Instant::now());
        }
        let every = if self.doubted.is_empty() { self.every } else { self.every.min(DOUBTED) };
        if is_due(self.healths_at, every) {
            self.healths_at = Some(Instant::now());
            let healths = self.graphs.healths();
            self.alerts.set_devices(devices::known(&self.inventory, &healths));
            let seen = self.devices.seen(&self.inventory, &self.rules, &healths, &self.alerts, now_s());
            let doubted = self.doubts(&healths);
            // Alerts wait before they are shown what is down, and wait no more after they were.
            let all: BTreeSet<_> = self.doubted.union(&doubted).cloned().collect();
            if all != self.doubted {
                self.alerts.set_doubted(all.clone());
            }
            show(&self.alerts, seen);
            if doubted != all {
                self.alerts.set_doubted(doubted.clone());
            }
            self.doubted = doubted;
        }
    }

    /// What alerts wait for: devices that were not reached since one behind them was lost. They are asked at once.
    fn doubts(&self, healths: &[Health]) -> BTreeSet<(String, String)> {
        let devices = devices::in_doubt(&self.inventory, healths, now_ms());
        let doubted = devices::depended(&self.inventory, &self.rules, &devices);
        if !doubted.is_empty() {
            // Where the owner has too much to do, it is asked again in a second.
            let _asked = self.graphs.check_soon(devices.into_iter().collect());
        }
        doubted
    }

    /// Sources that were looked at are looked at again when they come; what is watched no more is forgotten.
    fn match_again(&mut self) {
        for (source, before) in std::mem::take(&mut self.sources) {
            let Some(before) = before else { continue };
            let now = self.watched(source);
            let kept: BTreeSet<&(String, String)> = now.iter().flat_map(|now| &now.subjects).collect();
            for gone in before.subjects.iter().filter(|subject| !kept.contains(subject)) {
                self.alerts.forget(&gone.0, &gone.1);
            }
            let now = now.map(|now| Watched { rates: now.rates.following(before.rates), ..now });
            self.sources.insert(source, now);
        }
    }

    fn sample(&mut self, source: u32, at_ms: i64, values: &[trunkline_rrd::Value<'static>], seen: &mut Vec<Seen>) {
        if !self.sources.contains_key(&source) {
            let watched = self.watched(source);
            self.sources.insert(source, watched);
        }
        let Some(Some(watched)) = self.sources.get_mut(&source) else { return };
        let at_s = at_ms.div_euclid(1000);
        let values = watched.rates.take(at_ms, values);
        let value = |name: &str| values.iter().find(|(known, _)| *known == name).and_then(|(_, value)| *value);
        for (rule, subject) in &watched.subjects {
            let Some(trunkline_alert::rule::Watch::Series(watch)) = self.rules.rules.get(rule).map(|rule| &rule.watch)
            else {
                continue;
            };
            let value = watch.value.value(at_s, value);
            let (rule, subject) = (rule.clone(), subject.clone());
            let (device, fields) = (watched.device.clone(), watched.fields.clone());
            seen.push(Seen { rule, subject, device, fields, at_s, value, samples: 1 });
        }
    }

    /// What rules want of a data source; none if nothing.
    fn watched(&self, source: u32) -> Option<Watched> {
        let inventory = &self.inventory;
        let known = inventory.sources().get(source).filter(|source| source.active)?;
        let device = inventory.devices().get(known.device)?;
        if device.state == DeviceState::Disabled {
            return None;
        }
        let template = inventory.template_name(known.template)?;
        let row = known.row.and_then(|row| inventory.rows().get(row));
        let index = row.map_or("", |row| &row.name);
        let mut fields = devices::fields(inventory, known.device);
        fields.push(("template".to_owned(), template.to_owned()));
        fields.push(("source".to_owned(), source.to_string()));
        let graph = inventory
            .graphs_of(known.device)
            .iter()
            .find(|graph| inventory.graphs().get(**graph).is_some_and(|graph| graph.sources.contains(&source)));
        fields.extend(graph.map(|graph| ("graph".to_owned(), graph.to_string())));
        fields.extend((!index.is_empty()).then(|| ("index".to_owned(), index.to_owned())));
        let label = row.map_or("", |row| &row.label);
        fields.extend((!label.is_empty()).then(|| ("label".to_owned(), label.to_owned())));
        let tag = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str());
        let takes = |(_, watch): &(&String, &SeriesWatch)| watch.takes(template, &device.name, index, tag);
        let library = self.graphs.library();
        let has = |(_, watch): &(&String, &SeriesWatch)| {
            let series = library.data.get(template).map(|template| &template.series);
            let named = |name: &String| series.is_some_and(|all| all.iter().any(|series| series.name == *name));
            watch.value.names().iter().all(named)
        };
        let subject =
            |(rule, watch): (&String, &SeriesWatch)| (rule.clone(), subject(watch, &device.name, template, index));
        let subjects: Vec<_> = of_series(&self.rules).into_iter().filter(takes).filter(has).map(subject).collect();
        if subjects.is_empty() {
            return None;
        }
        let rates = Rates::of(inventory, &library, source)?;
        Some(Watched { device: device.name.to_string(), fields, subjects, rates })
    }
}

/// What names a data source for ever; of several templates each is another subject.
fn subject(watch: &SeriesWatch, device: &str, template: &str, index: &str) -> String {
    let is_one = matches!(watch.templates.as_slice(), [one] if one.text() == template);
    let mut parts = vec![device];
    parts.extend((!index.is_empty()).then_some(index));
    parts.extend((!is_one).then_some(template));
    parts.join(" ")
}
