//! What the capture did to a call: lost at the tap, lost before it, or not seen from its beginning to its end.

use crate::signalling::Facts;
use crate::verdict::counted;
use trunkline_capture::CaptureLoss;
use trunkline_store::row::{Call, CallState, CaptureLedger, Message, Stream};

/// Reports of the capturing side that are kept to lay against calls; older ones are forgotten.
pub const LOSSES_KEPT_MAX: usize = 4096;

/// Draws up the ledger of a call that is otherwise complete.
///
/// A receiver that reports fewer packets lost than are missing here got packets that the tap did not see: these were
/// lost at the tap (RFC 3550 section 6.4.1, cumulative number of packets lost). What the capturing side itself says it
/// dropped while the call was up bounds what else may have been. The rest was lost before the tap.
pub fn ledger(call: &Call, facts: &Facts, losses: &[CaptureLoss], at_end: bool) -> CaptureLedger {
    let missing: u64 = call.streams.iter().map(|s| s.missing).sum();
    let by_receivers: u64 = call.streams.iter().map(received_elsewhere).sum();
    let dropped: u64 =
        losses.iter().filter(|l| l.since_ns <= call.last_ns && l.at_ns >= call.start_ns).map(|l| l.packets).sum();
    let lost_at_tap = missing.min(by_receivers.max(dropped));
    let mut notes = Vec::new();
    if dropped > 0 {
        notes.push(format!("the capturing side dropped {} while the call was up", counted(dropped, "packet")));
    }
    if by_receivers > 0 {
        notes.push(format!("receivers got {} that the capture does not hold", counted(by_receivers, "packet")));
    }
    if !facts.invite_seen {
        notes.push("the capture begins after the INVITE".to_owned());
    }
    let cut = call.ladder.messages.iter().filter(|m| m.flags & Message::CUT != 0).count();
    if cut > 0 {
        notes.push(format!("the capture cut {} short", counted(cut as u64, "SIP message")));
    }
    if call.ladder.not_kept > 0 {
        notes.push(format!("{} counted but not kept", counted(call.ladder.not_kept.into(), "further message")));
    }
    if let Some(note) = unfinished(call, at_end) {
        notes.push(note.to_owned());
    }
    CaptureLedger {
        complete: notes.is_empty() && lost_at_tap == 0,
        lost_at_tap,
        lost_before_tap: missing - lost_at_tap,
        note: notes.join("; "),
    }
}

fn unfinished(call: &Call, at_end: bool) -> Option<&'static str> {
    match call.state {
        CallState::Answered if at_end => Some("the capture ends while the call is up"),
        CallState::Answered => Some("no BYE was seen"),
        CallState::Attempted | CallState::Trying | CallState::Ringing if at_end => {
            Some("the capture ends before the call is answered")
        }
        _ => None,
    }
}

/// Packets of the stream that its receiver got and the capture does not hold.
fn received_elsewhere(stream: &Stream) -> u64 {
    let Some((lost, missing)) = stream.rtcp.lost.zip(stream.rtcp.missing_here) else { return 0 };
    missing.saturating_sub(u64::try_from(lost).unwrap_or(0))
}
