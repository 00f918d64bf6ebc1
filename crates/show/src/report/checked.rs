//! What could be checked of the calls in which nothing wrong was found, and what could not.

use super::super::figure::{count, of};
use crate::selection::Selection;

/// A line for what was checked and one for what was not.
pub(super) fn lines(selection: &Selection) -> Vec<String> {
    let checks = &selection.checks;
    let calls = |n: u64| of(n, "call", "calls");
    let mut checked = vec!["signalling".to_owned()];
    let mut open = Vec::new();
    if checks.two_way > 0 {
        let answered = count(checks.answered);
        checked.push(format!("RTP of both directions in {} of {answered} answered", count(checks.two_way)));
    }
    if checks.reported > 0 {
        checked.push(format!("what receivers report (RTCP) in {}", count(checks.reported)));
    }
    let silent = checks.answered.saturating_sub(checks.two_way + checks.one_way);
    let parts = [
        (silent, "audio", "no RTP of them was seen"),
        (checks.one_way, "one direction", "no RTP of it was seen"),
        (checks.encrypted, "what was said", "encrypted"),
        (checks.repeated, "loss between the places of capture", "its RTP was captured more than once"),
        (checks.incomplete, "all of the call", "not captured whole"),
        (checks.cut, "whole SIP messages", "cut by the snap length"),
    ];
    open.extend(parts.iter().filter(|p| p.0 > 0).map(|(n, what, why)| format!("{what} in {} ({why})", calls(*n))));
    let unreported = (checks.two_way + checks.one_way).saturating_sub(checks.reported);
    if unreported > 0 {
        open.push(format!("what arrived behind the tap in {} (no RTCP)", calls(unreported)));
    }
    let mut lines = vec![format!("Checked: {}.", checked.join("; "))];
    if !open.is_empty() {
        lines.push(format!("Not checked: {}.", open.join("; ")));
    }
    lines
}
