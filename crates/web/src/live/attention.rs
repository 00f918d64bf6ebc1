//! What somebody should look at, each with a sentence and where to look.

use super::Rates;
use super::rates::{Counts, Ratings};
use crate::sources::{LiveSnapshot, RetentionInfo};
use crate::state::Web;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use trunkline_store::StoreError;
use trunkline_store::search::Search;
use trunkline_store::time::{MINUTE_NS, SECOND_NS};
use utoipa::ToSchema;

/// Most that is told at once.
pub const ATTENTION_MAX: usize = 20;
/// Minutes whose bad calls are compared with those of the hours before.
const RECENT_MINUTES: i64 = 5;
/// Fewer recent calls say nothing about a share.
const RECENT_CALLS_MIN: i64 = 20;
/// How many times the usual share of bad calls is far above it.
const FAR_ABOVE: f64 = 3.0;
/// A share of bad calls below which nothing is said, whatever is usual.
const SHARE_MIN: f64 = 0.05;
/// Registrations a minute below which there is no storm.
const STORM_MIN: u64 = 300;
/// How many times the usual number of registrations is a storm.
const STORM_TIMES: f64 = 5.0;
/// Seconds between two looks at what changes slowly.
const SLOW_S: i64 = 15;
/// How long such a look may take; what it found the last time stays if it takes longer.
const SLOW_TIME: Duration = Duration::from_secs(2);

/// Something that somebody should look at.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Attention {
    /// A short stable name: drops, unhealthy, disk, retention, bad-calls, registrations, alert,
    /// alerts.
    pub kind: String,
    /// A sentence.
    pub text: String,
    /// The page that shows it; null if there is none.
    pub link: Option<String>,
}

impl Attention {
    pub(super) fn new(kind: &str, text: String, link: &str) -> Self {
        Attention { kind: kind.to_owned(), text, link: Some(link.to_owned()) }
    }
}

/// What is looked at less often than each second.
#[derive(Default)]
pub struct Look {
    slow_ns: i64,
    slow: Vec<Attention>,
}

impl Look {
    /// What somebody should look at now.
    pub async fn at(&mut self, web: &Arc<Web>, now: &LiveSnapshot, rates: &Rates, ratings: &Ratings) -> Vec<Attention> {
        if now.at_ns.saturating_sub(self.slow_ns).unsigned_abs() >= SLOW_S as u64 * SECOND_NS as u64 {
            self.slow_ns = now.at_ns;
            if let Ok(slow) = timeout(SLOW_TIME, slow(web, now.at_ns)).await {
                self.slow = slow;
            }
        }
        let (recent, usual) = ratings.recent(now.at_ns, RECENT_MINUTES);
        let mut all = at_once(now, rates);
        all.extend(bad_calls(recent, usual));
        all.extend(self.slow.iter().cloned());
        all.truncate(ATTENTION_MAX);
        all
    }
}

fn at_once(now: &LiveSnapshot, rates: &Rates) -> Vec<Attention> {
    let mut all: Vec<Attention> = rates
        .drops_per_s
        .iter()
        .map(|(place, rate)| Attention::new("drops", format!("{rate:.0} packets/s are lost: {place}."), "/system"))
        .collect();
    for volume in now.volumes.iter().filter(|volume| !volume.writable) {
        all.push(Attention::new("disk", format!("{} cannot be written.", volume.path), "/system"));
    }
    all.extend(now.unhealthy.iter().map(|line| Attention::new("unhealthy", line.clone(), "/system")));
    all
}

/// The share of calls with a verdict, when it is far above what the hours before had.
fn bad_calls(recent: Counts, usual: Counts) -> Option<Attention> {
    let share = |[calls, _, bad]: Counts| if calls > 0 { bad as f64 / calls as f64 } else { 0.0 };
    let before = [usual[0] - recent[0], 0, usual[2] - recent[2]];
    let (now, then) = (share(recent), share(before));
    if recent[0] < RECENT_CALLS_MIN || now < SHARE_MIN || now < FAR_ABOVE * then {
        return None;
    }
    let text = format!(
        "{:.0} % of the calls of the last {RECENT_MINUTES} minutes had a problem; before it was {:.0} %.",
        now * 100.0,
        then * 100.0
    );
    Some(Attention::new("bad-calls", text, "/calls?filter=verdict%3A*&from=-5m"))
}

async fn slow(web: &Arc<Web>, now_ns: i64) -> Vec<Attention> {
    let mut all = Vec::new();
    if let Some(packets) = web.sources.packets.clone()
        && let Ok(Ok(rules)) = tokio::task::spawn_blocking(move || packets.retention()).await
    {
        all.extend(rules.iter().filter_map(retention));
    }
    let counted = web.stores.ask_for_a_while(move |store, stop| {
        let since = |minutes: i64| {
            let from_ns = now_ns.saturating_sub(minutes * MINUTE_NS);
            let counts = store.count_registrations(&Search { from_ns, stop: stop.clone(), ..Search::default() })?;
            Ok::<u64, StoreError>(counts.ok + counts.failed + counts.unanswered)
        };
        Ok((since(1)?, since(60)?))
    });
    if let Ok((last, hour)) = counted.await {
        all.extend(storm(last, hour));
    }
    all
}

/// What is kept for a shorter time than its rule says, because the disk or its limit is too small.
fn retention(rule: &RetentionInfo) -> Option<Attention> {
    let (days, limit_s) = (rule.days_estimated?, rule.limit_s?);
    let wanted = limit_s as f64 / 86_400.0;
    if days >= wanted {
        return None;
    }
    let text = format!(
        "{} packets will be kept for {days:.1} days at the current rate; the rule is {wanted:.0} days.",
        rule.class.to_uppercase()
    );
    Some(Attention::new("retention", text, "/packets"))
}

/// Many more registrations in the last minute than in those of the hour before.
fn storm(last: u64, hour: u64) -> Option<Attention> {
    let usual = hour.saturating_sub(last) as f64 / 59.0;
    if last < STORM_MIN || (last as f64) < STORM_TIMES * usual {
        return None;
    }
    let text = format!("{last} registrations in the last minute; usual are {usual:.0}.");
    Some(Attention::new("registrations", text, "/registrations?from=-5m"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::VolumeSnapshot;
    use std::collections::BTreeMap;

    #[test]
    fn drops_and_disks_are_told_at_once() {
        let now = LiveSnapshot {
            volumes: vec![VolumeSnapshot { path: "/data".to_owned(), writable: false, ..Default::default() }],
            unhealthy: vec!["the store cannot be written".to_owned()],
            ..Default::default()
        };
        let rates = Rates { drops_per_s: BTreeMap::from([("ring of lane 0".to_owned(), 12.0)]), ..Default::default() };
        let kinds: Vec<String> = at_once(&now, &rates).into_iter().map(|a| a.kind).collect();
        assert_eq!(kinds, ["drops", "disk", "unhealthy"]);
        assert!(at_once(&LiveSnapshot::default(), &Rates::default()).is_empty());
    }

    #[test]
    fn a_share_is_far_above_only_with_enough_calls() {
        assert!(bad_calls([100, 50, 30], [1000, 500, 40]).is_some());
        assert!(bad_calls([10, 5, 9], [1000, 500, 40]).is_none());
        assert!(bad_calls([100, 50, 4], [1000, 500, 4]).is_none());
        assert!(bad_calls([100, 50, 30], [1000, 500, 300]).is_none());
    }

    #[test]
    fn a_rule_that_cannot_be_kept_is_told() {
        let rule = RetentionInfo {
            class: "rtp".to_owned(),
            limit_s: Some(14 * 86_400),
            days_estimated: Some(3.25),
            ..RetentionInfo::default()
        };
        let told = retention(&rule).unwrap();
        assert_eq!(told.text, "RTP packets will be kept for 3.2 days at the current rate; the rule is 14 days.");
        assert!(retention(&RetentionInfo { days_estimated: Some(15.0), ..rule }).is_none());
    }

    #[test]
    fn a_storm_is_many_times_the_usual() {
        assert!(storm(5000, 6000).is_some());
        assert!(storm(200, 210).is_none());
        assert!(storm(1000, 60_000).is_none());
    }
}
