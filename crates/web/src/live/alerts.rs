//! What is open of alerts: a task of its own asks, so that whoever looks after them holds up no frame.

use super::Attention;
use crate::auth::GraphScope;
use crate::paths;
use crate::sight::Sight;
use crate::sources::{AlertRuleCritical, AlertSummary};
use crate::state::Web;
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use utoipa::ToSchema;

/// How often it is asked while somebody watches.
const EVERY: Duration = Duration::from_secs(1);
/// Of these, how many lie between two questions while nobody does.
const IDLE_TICKS: u64 = 5;
/// How long what a part shows holds where no alert changes: the inventory and its graphs may.
const PART_HOLDS: Duration = Duration::from_secs(3);

/// Data of the event `alerts`: figures, and the names of rules; no device, and nobody's number. Who sees some devices
/// alone is told of their alerts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct LiveAlerts {
    /// Whether somebody looks after alerts here.
    pub serving: bool,
    /// Another number when anything but a value has changed: what lists alerts asks again then.
    pub revision: u64,
    /// Alerts that are open and not suppressed.
    pub open: u64,
    /// Of these, those that are critical.
    pub critical: u64,
    /// Those that are warnings.
    pub warning: u64,
    /// Those that are for information.
    pub info: u64,
    /// What somebody should look at.
    pub attention: Vec<Attention>,
}

impl LiveAlerts {
    fn of(summary: AlertSummary) -> LiveAlerts {
        let AlertSummary { revision, open, critical, warning, info, .. } = summary;
        let mut attention: Vec<Attention> = summary.rules_critical.iter().map(of_rule).collect();
        if let Some(fault) = &summary.fault {
            let text = format!(
                "No alert notifications are sent, because the alert log cannot be written: \
                {}.",
                paths::named(fault)
            );
            attention.insert(0, Attention::new("alerts", text, "/alerts"));
        }
        LiveAlerts { serving: true, revision, open, critical, warning, info, attention }
    }
}

fn of_rule(rule: &AlertRuleCritical) -> Attention {
    // Letters, digits, '-' and '_': nothing that an address has to hide.
    let AlertRuleCritical { rule, alerts, alert, .. } = rule;
    let (text, link) = match alerts {
        0 | 1 => (format!("A critical alert by the rule {rule}."), format!("/alerts/{alert}")),
        many => {
            (format!("{many} critical alerts by the rule {rule}."), format!("/alerts?severity=critical&rule={rule}"))
        }
    };
    Attention::new("alert", text, &link)
}

/// Asks until the server ends, and leaves what it was told in the feed.
pub async fn run(web: Arc<Web>, mut stopping: watch::Receiver<bool>) {
    if web.sources.alerting.is_none() {
        return;
    }
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut asked = Vec::new();
    for tick in 0u64.. {
        tokio::select! {
            _ = stopping.wait_for(|stop| *stop) => return,
            _ = ticks.tick() => {}
        }
        if web.feed.clients() == 0 && tick % IDLE_TICKS != 0 {
            continue;
        }
        let (looks, before) = (Arc::clone(&web), core::mem::take(&mut asked));
        asked = tokio::task::spawn_blocking(move || look(&looks, before)).await.unwrap_or_default();
    }
}

/// A part that was asked about: when, and at which revision of all alerts.
struct Asked {
    scope: Arc<GraphScope>,
    revision: Option<u64>,
    at: Instant,
}

/// Asks for everything, and for each part that is watched where an alert has changed, or it was asked for long ago.
fn look(web: &Web, before: Vec<Asked>) -> Vec<Asked> {
    let whole = summary(web, None);
    let revision = whole.as_ref().map(|summary| summary.revision);
    web.feed.set_alerts(whole.map(LiveAlerts::of).unwrap_or_default());
    let look = |scope: Arc<GraphScope>| {
        let holds = |asked: &&Asked| asked.revision == revision && asked.at.elapsed() < PART_HOLDS;
        let known = web.feed.parts().alerts(&scope).is_some();
        if let Some(asked) = before.iter().find(|asked| asked.scope == scope).filter(holds).filter(|_| known) {
            return Asked { scope, revision, at: asked.at };
        }
        let at = Instant::now();
        let alerts = revision.and_then(|_| summary(web, Some(&scope))).map(LiveAlerts::of).unwrap_or_default();
        web.feed.parts().set_alerts(&scope, alerts);
        Asked { scope, revision, at }
    };
    let scopes = web.feed.parts().scopes();
    scopes.into_iter().map(look).collect()
}

fn summary(web: &Web, scope: Option<&Arc<GraphScope>>) -> Option<AlertSummary> {
    let sight = Sight::of(&web.sources, scope.cloned(), "").filter(Sight::serves)?;
    serde_json::from_value(sight.ask(json!({ "do": "summary" })).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_alerts_and_those_that_cannot_be_told_are_to_be_looked_at() {
        let rule = |alerts| AlertRuleCritical { rule: "uplink".into(), alerts, alert: "0192".into(), since: 5 };
        let summary = |rules_critical, fault: Option<&str>| AlertSummary {
            rules_critical,
            fault: fault.map(str::to_owned),
            ..AlertSummary::default()
        };
        let links = |summary| {
            let live = LiveAlerts::of(summary);
            live.attention.into_iter().filter_map(|one| one.link).collect::<Vec<_>>()
        };
        assert_eq!(links(summary(vec![rule(1)], None)), ["/alerts/0192"]);
        assert_eq!(links(summary(vec![rule(3)], None)), ["/alerts?severity=critical&rule=uplink"]);
        assert_eq!(links(summary(vec![], Some("/srv/data/alert: no space"))), ["/alerts"]);
        assert!(links(summary(vec![], None)).is_empty());
    }
}
