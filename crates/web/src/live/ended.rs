//! Calls that ended: those that were up a second ago and are not any more, and those that came and went in between. The
//! store knows how.

use crate::auth::mask;
use crate::sources::CallsUp;
use crate::state::Web;
use serde::Serialize;
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::time::Duration;
use tokio::time::timeout;
use trunkline_kit::Id;
use trunkline_store::row::Call;
use trunkline_store::time::{SECOND_NS, rfc3339};
use trunkline_store::{Query, json};
use utoipa::ToSchema;

/// Calls that are up that are watched; of more, the newest.
// Limit: active calls watched by the page Now
// Beyond: older calls are not watched
// Seen in: the number of active calls beside the list
pub const UP_WATCHED_MAX: usize = 500;
/// Calls that are looked up a second.
pub const LOOKED_UP_MAX: usize = 50;
/// Calls that ended that are kept.
pub const ENDED_MAX: usize = 1000;
/// Calls that ended that a frame lists.
pub const ENDED_LISTED_MAX: usize = 50;
/// Calls of the last minute with the lowest scores.
pub const WORST_MAX: usize = 5;
/// How long the store may take to tell how calls ended; what it did not tell is asked again.
pub const LOOK_UP_TIME: Duration = Duration::from_secs(1);
/// Characters of a text of a call in brief; the rest is `...`.
pub const TEXT_CHARS_MAX: usize = 512;
/// How long a call that is no longer up may take to come into the store.
const PATIENCE_S: i64 = 10;
/// How long a call that ended is kept.
const KEPT_S: i64 = 60;
/// How far back the newest calls of the store may begin.
const NEWEST_S: i64 = 120;

/// A call in brief.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct CallBrief {
    /// Its identifier.
    pub id: String,
    /// User part of From.
    pub from: String,
    /// User part of To.
    pub to: String,
    /// First message, RFC 3339.
    pub start: String,
    /// How it ended, with the names of `state` of a call.
    pub state: String,
    /// Status code of the deciding response.
    pub code: Option<u16>,
    /// Answer to end, milliseconds.
    pub duration_ms: Option<f64>,
    /// Lowest score of its streams.
    pub mos: Option<f64>,
    /// What was wrong, a sentence.
    pub verdict: Option<String>,
    /// Its short name.
    pub verdict_kind: Option<String>,
    /// The same for who may not see whole numbers: from, to, verdict.
    #[serde(skip)]
    masked: Box<(String, String, Option<String>)>,
}

impl CallBrief {
    /// A call in brief.
    pub fn of(call: &Call) -> Self {
        let thousandths = |value: f64| (value * 1000.0).round() / 1000.0;
        CallBrief {
            id: call.id.to_string(),
            from: short(&call.from),
            to: short(&call.to),
            start: rfc3339(call.start_ns),
            state: json::state_name(call.state).to_owned(),
            code: (call.code > 0).then_some(call.code),
            duration_ms: json::duration_ns(call).map(|ns| thousandths(ns as f64 / 1e6)),
            mos: call.mos.map(|mos| thousandths(f64::from(mos))),
            verdict: call.verdict.as_ref().map(|v| short(&v.text)),
            verdict_kind: call.verdict.as_ref().map(|v| v.kind.clone()),
            masked: Box::new(mask::brief(call)),
        }
    }

    /// Leaves what may be seen by who may not see whole numbers.
    pub fn mask(&mut self) {
        (self.from, self.to, self.verdict) = std::mem::take(&mut *self.masked);
    }
}

/// A text of a frame, which goes to many once a second.
fn short(text: &str) -> String {
    text.char_indices().nth(TEXT_CHARS_MAX).map_or_else(|| text.to_owned(), |(at, _)| format!("{}...", &text[..at]))
}

/// What is remembered of calls that are up or ended.
#[derive(Default)]
pub struct Ended {
    up: HashSet<Id>,
    waiting: VecDeque<(i64, Id)>,
    kept: VecDeque<(i64, CallBrief)>,
    known: HashSet<Id>,
}

impl Ended {
    /// Looks which calls ended since the last time, for no longer than [`LOOK_UP_TIME`].
    pub async fn step(&mut self, web: &Web, now_ns: i64, up: &CallsUp) {
        let ids = self.gone(now_ns, up);
        let from_ns = now_ns.saturating_sub(NEWEST_S * SECOND_NS);
        let asked = web.stores.ask_for_a_while(move |store, stop| {
            let newest = Query { from_ns, limit: LOOKED_UP_MAX, stop: stop.clone(), ..Query::default() };
            let mut calls = store.calls(&newest)?.rows;
            calls.retain(|call| call.end_ns.is_some());
            for id in ids {
                if stop.is_due() {
                    break;
                }
                calls.extend(store.call_by_id(id)?.map(|call| *call));
            }
            Ok(calls.iter().map(|call| (call.end_ns.unwrap_or(call.last_ns), CallBrief::of(call))).collect())
        });
        if let Ok(Ok(calls)) = timeout(LOOK_UP_TIME, asked).await {
            self.take(now_ns, calls);
        }
    }

    /// The calls to look up: no longer up, and not told yet.
    fn gone(&mut self, now_ns: i64, up: &CallsUp) -> Vec<Id> {
        let now: HashSet<Id> = up.calls.iter().filter_map(|call| call.id.parse().ok()).collect();
        // A list that is full has the newest: what is older may have fallen out of it, and be up still.
        let is_full = up.total > up.calls.len() as u64 || up.calls.len() >= UP_WATCHED_MAX;
        let oldest = now.iter().min().copied().filter(|_| is_full).unwrap_or_default();
        for id in self.up.difference(&now).filter(|id| **id > oldest) {
            if self.waiting.len() < UP_WATCHED_MAX {
                self.waiting.push_back((now_ns, *id));
            }
        }
        self.up = now;
        let first = now_ns.saturating_sub(PATIENCE_S * SECOND_NS);
        self.waiting.retain(|(since, id)| *since >= first && !self.known.contains(id));
        self.waiting.rotate_left(LOOKED_UP_MAX.min(self.waiting.len()));
        self.waiting.iter().rev().take(LOOKED_UP_MAX).map(|(_, id)| *id).collect()
    }

    fn take(&mut self, now_ns: i64, mut calls: Vec<(i64, CallBrief)>) {
        let first = now_ns.saturating_sub(KEPT_S * SECOND_NS);
        while self.kept.len() >= ENDED_MAX || self.kept.front().is_some_and(|(at, _)| *at < first) {
            self.kept.pop_front();
        }
        // What the newest rows still show must not come twice, so it is forgotten later than it is shown.
        if self.known.len() > 4 * ENDED_MAX {
            self.known = self.kept.iter().filter_map(|(_, call)| call.id.parse().ok()).collect();
        }
        calls.sort_by_key(|(at, _)| *at);
        for (at, brief) in calls {
            let is_new = brief.id.parse().is_ok_and(|id| self.known.insert(id));
            if is_new && at >= first {
                self.kept.push_back((at, brief));
            }
        }
        self.waiting.retain(|(_, id)| !self.known.contains(id));
        self.kept.make_contiguous().sort_by_key(|(at, _)| *at);
        while self.kept.len() > ENDED_MAX {
            self.kept.pop_front();
        }
    }

    /// The last calls that ended, the last first.
    pub fn listed(&self) -> Vec<CallBrief> {
        self.kept.iter().rev().take(ENDED_LISTED_MAX).map(|(_, call)| call.clone()).collect()
    }

    /// Those of the last minute with the lowest scores.
    pub fn worst(&self) -> Vec<CallBrief> {
        let scored = self.kept.iter().enumerate().filter_map(|(at, (_, call))| {
            let mos = call.mos.filter(|mos| mos.is_finite())?;
            Some(((mos * 1000.0) as i64, at))
        });
        let lowest: BTreeSet<(i64, usize)> = scored.collect();
        let briefs = lowest.into_iter().filter_map(|(_, at)| self.kept.get(at)).map(|(_, call)| call.clone());
        briefs.take(WORST_MAX).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::CallUp;

    fn call(n: i64, mos: Option<f32>) -> Call {
        let start_ns = n * SECOND_NS;
        Call { id: Id::derive(start_ns, b"x"), start_ns, end_ns: Some(start_ns + SECOND_NS), mos, ..Call::default() }
    }

    fn up(ids: &[Id]) -> CallsUp {
        let calls = ids.iter().map(|id| CallUp { id: id.to_string(), ..CallUp::default() });
        CallsUp { total: ids.len() as u64, calls: calls.collect() }
    }

    #[test]
    fn a_call_that_is_gone_is_looked_up_until_it_is_found_or_too_late() {
        let mut ended = Ended::default();
        let [a, b] = [1, 2].map(|n| call(n, None).id);
        assert!(ended.gone(0, &up(&[a, b])).is_empty());
        assert_eq!(ended.gone(SECOND_NS, &up(&[b])), [a]);
        assert_eq!(ended.gone(2 * SECOND_NS, &up(&[b])), [a]);
        assert!(ended.gone(20 * SECOND_NS, &up(&[b])).is_empty());
    }

    #[test]
    fn a_call_that_fell_out_of_a_full_list_is_not_gone() {
        let mut ended = Ended::default();
        let ids: Vec<Id> = (1..=4).map(|n| call(n, None).id).collect();
        assert!(ended.gone(0, &CallsUp { total: 3, ..up(&ids[..3]) }).is_empty());
        let newest = CallsUp { total: 3, ..up(&[ids[1], ids[3]]) };
        assert_eq!(ended.gone(SECOND_NS, &newest), [ids[2]], "the first may be up, the third is not");
    }

    #[test]
    fn each_call_is_told_once_and_the_worst_first() {
        let mut ended = Ended::default();
        let calls = [call(100, Some(4.0)), call(101, None), call(102, Some(2.5))];
        let briefs = || calls.iter().map(|call| (call.end_ns.unwrap_or_default(), CallBrief::of(call))).collect();
        ended.take(103 * SECOND_NS, briefs());
        ended.take(104 * SECOND_NS, briefs());
        let listed: Vec<String> = ended.listed().into_iter().map(|c| c.id).collect();
        assert_eq!(listed, [2, 1, 0].map(|at: usize| calls[at].id.to_string()));
        assert_eq!(ended.worst().iter().map(|c| c.mos).collect::<Vec<_>>(), [Some(2.5), Some(4.0)]);
        ended.take(300 * SECOND_NS, briefs());
        assert!(ended.listed().is_empty());
    }
}
