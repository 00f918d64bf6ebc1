//! What of alerts somebody may see: those of devices, graphs and data sources that are seen, and those that are of
//! none. Who asks finds out which these are, by the numbers that [`named`] tells; what nobody has found out is not
//! seen.

use super::asked::pending_of;
use crate::delivery::{Happened, Incident};
use crate::engine::Standing;
use crate::job::View;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Beginnings of metrics of this program that count all devices, or the alerts of all.
const OF_ALL_DEVICES: [&str; 2] = ["trunkline_graph_", "trunkline_alert_"];

/// Numbers of what is seen. All three are said: who forgets one shows nothing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sight {
    devices: HashSet<u32>,
    graphs: HashSet<u32>,
    sources: HashSet<u32>,
}

impl Sight {
    /// Whether an alert is seen.
    pub fn sees(&self, incident: &Incident) -> bool {
        self.shows(of_incident(incident))
    }

    /// Whether a subject is seen, alert or not.
    pub fn sees_subject(&self, standing: &Standing) -> bool {
        self.shows(of_standing(standing))
    }

    /// What is of a device needs its number among those that are seen, and so for a graph and a data source of it.
    fn shows<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        let is_seen = |name: &str, seen: &HashSet<u32>| number(label(name)).is_some_and(|id| seen.contains(&id));
        let is_seen_if_named = |name: &str, seen: &HashSet<u32>| label(name).is_none() || is_seen(name, seen);
        if ["device", "device_id", "graph"].into_iter().any(|name| label(name).is_some()) {
            return is_seen("device_id", &self.devices)
                && is_seen_if_named("graph", &self.graphs)
                && is_seen_if_named("source", &self.sources);
        }
        let counts_all = |text: &str| OF_ALL_DEVICES.iter().any(|beginning| text.starts_with(beginning));
        !["metric", "subject"].into_iter().filter_map(&label).any(counts_all)
    }

    /// Another number when anything but a value of what is seen has changed: that of all would tell of the rest.
    pub fn revision(&self, view: &View) -> u64 {
        let mut hasher = DefaultHasher::new();
        view.fault.hash(&mut hasher);
        for incident in view.incidents.iter().filter(|incident| self.sees(incident)) {
            let taken = incident.acknowledged.as_ref().map(|taken| (&taken.who, taken.at_s));
            let Incident { notice, state, told, course, .. } = incident;
            (&notice.incident, state.name(), taken, told, course.steps().len()).hash(&mut hasher);
            for step in course.steps() {
                if let Happened::Told { attempts, outcome, .. } = &step.what {
                    (attempts, outcome).hash(&mut hasher);
                }
            }
        }
        for past in view.past.iter().filter(|past| self.sees(&past.incident)) {
            (&past.incident.notice.incident, past.ended_s).hash(&mut hasher);
        }
        for standing in view.standings.iter().filter(|standing| self.sees_subject(standing)) {
            let kept_back_by = standing.state.kept_back_by();
            (&standing.rule, &standing.subject, standing.state.name(), kept_back_by).hash(&mut hasher);
        }
        // As much as a number of JSON has.
        hasher.finish() >> 11
    }
}

/// The numbers that alerts name, open and over, and what may become one.
pub fn named<'v>(view: &'v View) -> Value {
    let (mut devices, mut graphs, mut sources) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut take = |label: &dyn Fn(&str) -> Option<&'v str>| {
        // Without a device, a `source` may be a column of rows.
        let Some(device) = number(label("device_id")) else { return };
        devices.insert(device);
        graphs.extend(number(label("graph")));
        sources.extend(number(label("source")));
    };
    let over = view.past.iter().map(|past| &past.incident);
    view.incidents.iter().chain(over).for_each(|incident| take(&of_incident(incident)));
    pending_of(view).for_each(|standing| take(&of_standing(standing)));
    json!({ "devices": devices, "graphs": graphs, "sources": sources })
}

fn number(text: Option<&str>) -> Option<u32> {
    text?.parse().ok()
}

fn of_incident<'l>(incident: &'l Incident) -> impl Fn(&str) -> Option<&'l str> {
    move |name| incident.notice.labels.get(name).map(String::as_str).filter(|text| !text.is_empty())
}

fn of_standing<'l>(standing: &'l Standing) -> impl Fn(&str) -> Option<&'l str> {
    move |name| match name {
        "subject" => Some(&*standing.subject),
        "device" if !standing.device.is_empty() => Some(&*standing.device),
        name => standing.fields.get(name).map(String::as_str),
    }
}
