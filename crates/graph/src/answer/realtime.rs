//! A graph in real time: what was read of it since somebody looks.

use super::pictures::told;
use super::{Unanswered, View, devices};
use crate::picture::{Ask, NoPicture, Picture, Plan, picture};
use crate::realtime::{REALTIME_ROWS, REALTIME_STEP_S_MAX, Realtime};
use std::collections::BTreeSet;
use trunkline_contract::graph::GraphRealtime;

/// What is shown when nothing is said, seconds.
const SPAN_S: i64 = 300;

/// What is asked for of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealtimeAsk {
    /// The graph.
    pub graph: u32,
    /// Seconds between two readings.
    pub step_s: u32,
    /// How much is shown, seconds.
    pub span_s: i64,
}

impl RealtimeAsk {
    /// Of a graph, with `step` (seconds, 1 when nothing is said) and `span` (seconds, 300 when nothing is said; at most
    /// as many steps as there are rows).
    ///
    /// # Errors
    /// One of them makes no sense.
    pub fn new(graph: u32, step: Option<u32>, span: Option<u32>) -> Result<RealtimeAsk, Unanswered> {
        let wrong = |key: &str, most: i64| Unanswered::Asked(format!("\"{key}\" is 1 to {most} s"));
        let step_s = step.unwrap_or(1);
        if !(1..=REALTIME_STEP_S_MAX).contains(&step_s) {
            return Err(wrong("step", REALTIME_STEP_S_MAX.into()));
        }
        let most = i64::from(step_s) * i64::from(REALTIME_ROWS);
        let span_s = span.map_or(SPAN_S, i64::from);
        if !(1..=most).contains(&span_s) {
            return Err(wrong("span", most));
        }
        Ok(RealtimeAsk { graph, step_s, span_s })
    }
}

/// What was read of a graph that is watched.
#[derive(Debug)]
pub struct Watched {
    /// Its numbers.
    pub seen: Picture,
    /// When the last number came: milliseconds since 1970; none while none has.
    pub heard_ms: Option<i64>,
}

impl Watched {
    /// Of a plan, out of what was read of its data sources.
    ///
    /// # Errors
    /// It cannot be computed.
    pub fn of(plan: &Plan, ask: &RealtimeAsk, now_s: i64, realtime: &Realtime) -> Result<Watched, NoPicture> {
        let width = u32::try_from(ask.span_s / i64::from(ask.step_s)).unwrap_or(REALTIME_ROWS).max(1);
        let seen = picture(plan, &Ask::new(now_s - ask.span_s, now_s, width)?, now_s, realtime)?;
        Ok(Watched { seen, heard_ms: realtime.heard_ms(&plan.sources()) })
    }
}

/// What has come of a graph that is watched: its numbers as of any graph, when the last of them came, and why there may
/// be none.
pub fn realtime(view: &View<'_>, ask: &RealtimeAsk, plan: &Plan, watched: &Watched) -> GraphRealtime {
    let sources = plan.sources().into_iter();
    let devices: BTreeSet<u32> =
        sources.filter_map(|source| view.inventory.sources().get(source)).map(|source| source.device).collect();
    let troubles: Vec<String> = devices.into_iter().filter_map(|device| trouble(view, device)).collect();
    let heard = watched.heard_ms.map(|at_ms| at_ms.div_euclid(1000));
    GraphRealtime { id: ask.graph, step: ask.step_s, heard, troubles, picture: told(plan, &watched.seen) }
}

/// Why nothing comes of a device.
fn trouble(view: &View<'_>, id: u32) -> Option<String> {
    let device = view.inventory.devices().get(id)?;
    let what = match devices::state(view, id, device) {
        "disabled" => "is disabled: nothing is read of it",
        "down" => "does not answer",
        _ => return None,
    };
    Some(format!("'{}' {what}.", device.name))
}
