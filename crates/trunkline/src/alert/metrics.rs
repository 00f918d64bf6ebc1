//! Metrics of this process as rules see them.

use super::here::{Fed, show};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use trunkline_alert::job::{Alerts, Seen};
use trunkline_alert::rule::{MetricsWatch, Rules, Watch};
use trunkline_kit::metrics::{Kind, Number, Sample};

/// Shows rules the metrics of this process, every so often.
pub struct MetricsFeed {
    alerts: Arc<Alerts>,
    fed: Arc<Fed>,
    every: Duration,
}

/// One value of a metric: its name, its labels and what it says.
type Values = BTreeMap<(&'static str, Vec<(&'static str, String)>), (f64, &'static str)>;

impl MetricsFeed {
    pub fn new(alerts: Arc<Alerts>, fed: Arc<Fed>, every: Duration) -> MetricsFeed {
        MetricsFeed { alerts, fed, every }
    }

    /// Until the feeds end, or there are no metrics any more.
    pub fn run(self, samples: impl Fn() -> Option<Vec<Sample>>) {
        while !self.fed.ends() {
            let rules = self.alerts.rules();
            let watched = watched(&rules);
            if !watched.is_empty() {
                let Some(samples) = samples() else { return };
                show(&self.alerts, seen(&watched, &values(&samples), now_s()));
            }
            let end = Instant::now() + self.every;
            while let Some(left) = end.checked_duration_since(Instant::now()).filter(|_| !self.fed.ends()) {
                std::thread::park_timeout(left);
            }
        }
    }
}

fn watched(rules: &Rules) -> Vec<(&String, &MetricsWatch)> {
    let all = rules.rules.iter().filter_map(|(name, rule)| match &rule.watch {
        Watch::Metrics(watch) => Some((name, watch)),
        _ => None,
    });
    all.collect()
}

/// What has the same name and labels is one: counts are added up, of levels the last holds (as in `/metrics`).
fn values(samples: &[Sample]) -> Values {
    let mut values = Values::new();
    for sample in samples {
        let number = match sample.value {
            Number::Whole(number) => number as f64,
            Number::Real(number) => number,
        };
        let value = values.entry((sample.name, sample.labels.clone())).or_insert((0.0, sample.help));
        value.0 = if sample.kind == Kind::Counter { value.0 + number } else { number };
    }
    values
}

fn seen(watched: &[(&String, &MetricsWatch)], values: &Values, at_s: i64) -> Vec<Seen> {
    let mut all = Vec::new();
    for ((name, labels), (value, help)) in values {
        let label = |wanted: &str| labels.iter().find(|(name, _)| *name == wanted).map(|(_, text)| text.as_str());
        for (rule, _) in watched.iter().filter(|(_, watch)| watch.takes(name, label)) {
            let told: Vec<String> = labels.iter().map(|(name, text)| format!("{name}={text}")).collect();
            let subject = [vec![(*name).to_owned()], told].concat().join(" ");
            let fields = [("metric", (*name).to_owned()), ("help", (*help).to_owned())].into_iter();
            let fields = fields.chain(labels.iter().cloned()).map(|(name, text)| (name.to_owned(), text)).collect();
            let (rule, value) = ((*rule).clone(), Some(*value));
            all.push(Seen { rule, subject, device: String::new(), fields, at_s, value, samples: 1 });
        }
    }
    all
}

pub(super) fn now_s() -> i64 {
    now_ms().div_euclid(1000)
}

pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_alert::rule::{Known, read};

    #[test]
    fn values_are_those_of_the_page_of_metrics() {
        let text = "[rule.drops]\nmetric = \"trunkline_capture_*_dropped_packets_total\"\ntags = \"lane = 0, 1\"\n\
            condition = \"rise\"\nlimit = 0\nwindow = \"1 min\"\n";
        let rules = read(&[("r.toml", text)], &Known::default()).unwrap();
        let drops = |lane: u8, value| {
            Sample::counter("trunkline_capture_ring_dropped_packets_total", "dropped", value).label("lane", lane)
        };
        let samples = [drops(0, 5), drops(2, 9), drops(0, 2), Sample::gauge("trunkline_other", "other", 1.0)];
        let seen = seen(&watched(&rules), &values(&samples), 100);
        let told: Vec<(&str, &str, Option<f64>)> =
            seen.iter().map(|seen| (seen.rule.as_str(), seen.subject.as_str(), seen.value)).collect();
        assert_eq!(told, [("drops", "trunkline_capture_ring_dropped_packets_total lane=0", Some(7.0))]);
    }
}
