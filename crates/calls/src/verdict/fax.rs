//! Fax over T.38 (ITU-T T.38).

use super::{Case, verdict};
use crate::ledger::FAX;
use crate::verdict::audio::the;
use trunkline_store::row::{Stream, Verdict};

/// As many packets that nothing restores, and this share of all, make lines of a page go missing, or a fax fail.
const GONE_MIN: u64 = 3;
const GONE_SHARE_MIN: f64 = 0.01;

/// Packets of a fax are gone: they never came, and nothing that came later restores them.
pub fn fax_loss(case: &Case<'_>) -> Option<Verdict> {
    let share = |s: &Stream| gone(s) as f64 / s.expected.max(1) as f64;
    let faxes = case.call.streams.iter().filter(|s| s.codec == FAX && gone(s) >= GONE_MIN);
    let worst = faxes.filter(|s| share(s) >= GONE_SHARE_MIN).max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let repeats = match worst.recovered {
        0 => "The sender repeats nothing: let it send more redundancy (UDPTL)".to_owned(),
        n => format!("{n} more could be restored from what later packets repeat: let the sender repeat more"),
    };
    let text = format!(
        "Fax packets were lost: {} of {} from {} ({}) never came and cannot be restored, {:.1} %. {repeats}, or find where \
         packets get lost.",
        gone(worst),
        worst.expected,
        the(worst.direction),
        worst.src,
        share(worst) * 100.0
    );
    verdict("fax-loss", text, vec![worst.packet_first, worst.packet_last])
}

/// What never came, was not restored, and was not lost at the tap.
fn gone(stream: &Stream) -> u64 {
    stream.missing.saturating_sub(stream.recovered).saturating_sub(stream.lost_at_tap)
}
