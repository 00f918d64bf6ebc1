//! What the receiver says: lost behind the tap.

use super::audio::{JUDGED_MIN, LOSS_MIN, PARTIES, judged, role, the};
use super::{Case, verdict};
use trunkline_store::row::{Direction, Stream, Verdict};

/// A receiver lost packets that came by here, by its own reports (RFC 3550 section 6.4.1, RFC 3611 section 4.7).
pub fn lost_after_tap(case: &Case<'_>) -> Option<Verdict> {
    let worst = judged(case).max_by(|a, b| share(a).total_cmp(&share(b)))?;
    if worst.rtcp.passed < JUDGED_MIN || share(worst) < LOSS_MIN {
        return None;
    }
    let receiver = match PARTIES.iter().position(|d| *d == worst.direction) {
        Some(sender) => PARTIES[1 - sender],
        None => Direction::Unknown,
    };
    let score = match (worst.mos.g107, worst.mos_receiver) {
        (Some(here), Some(there)) => format!(" MOS {here:.2} at the tap, {there:.2} at the receiver."),
        _ => String::new(),
    };
    let text = format!(
        "Lost after the tap: {} ({}) reports that it lost {:.1} % of the packets from {}: {} of {} that came by here.{score}",
        if receiver == Direction::Unknown { "the receiver".to_owned() } else { format!("the {}", role(receiver)) },
        worst.dst,
        share(worst) * 100.0,
        the(worst.direction),
        worst.rtcp.lost_after_tap,
        worst.rtcp.passed
    );
    verdict("lost-after-tap", text, vec![worst.packet_first, worst.packet_last])
}

fn share(stream: &Stream) -> f64 {
    stream.rtcp.lost_after_tap as f64 / stream.rtcp.passed.max(1) as f64
}
