//! Fax over T.38 (ITU-T T.38).

use super::audio::{self, PARTIES, role};
use super::{Case, seconds, verdict};
use crate::ledger::FAX;
use crate::verdict::audio::the;
use trunkline_store::row::{Stream, Verdict};

/// As many packets that nothing restores, and this share of all, make lines of a page go missing, or a fax fail.
const GONE_MIN: u64 = 3;
const GONE_SHARE_MIN: f64 = 0.01;
/// So many packets of one side are a fax, and the other one answers within this time (ITU-T T.30: T1 is 35 s for the
/// whole begin, and each signal is answered within 3 s or sent again).
const SENT_MIN: u64 = 50;
const ONE_WAY_NS: i64 = 10_000_000_000;

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
        "Fax packets were lost: {} of {} from {} ({}) cannot be restored, {:.1} %. {repeats}, or find where \
         packets get lost.",
        gone(worst),
        worst.expected,
        the(worst.direction),
        worst.src,
        share(worst) * 100.0
    );
    verdict("fax-loss", text, vec![worst.packet_first, worst.packet_last])
}

/// A fax of one side alone: each answers the other's pages and signals, so that half of it does not come.
pub fn one_way(case: &Case<'_>) -> Option<Verdict> {
    let of = |party: usize| case.call.streams.iter().filter(move |s| s.codec == FAX && s.direction == PARTIES[party]);
    let packets = |party: usize| of(party).map(|s| s.packets).sum::<u64>();
    let silent = match [packets(0), packets(1)] {
        [sent, 0] if sent >= SENT_MIN => 1,
        [0, sent] if sent >= SENT_MIN => 0,
        _ => return None,
    };
    let first = of(1 - silent).min_by_key(|s| s.first_ns)?;
    let waited_ns = case.call.end_ns.unwrap_or(case.call.last_ns).saturating_sub(first.first_ns);
    let agreed = case.facts.parties.iter().all(|party| party.fax && party.endpoint.is_some());
    let may_be_tap = || case.tap.one_sided[silent] || audio::why_not_captured(case, waited_ns).is_some();
    if !agreed || waited_ns < ONE_WAY_NS || may_be_tap() {
        return None;
    }
    let speaks = |s: &Stream| s.codec != FAX && s.direction == PARTIES[silent] && s.packets > 0;
    let here = match case.call.streams.iter().any(speaks) {
        true => "audio of that side passes this tap",
        false => "nothing of that side passes this tap",
    };
    let text = format!(
        "Fax packets were lost: in {} of T.38 {} of the {} came, and none of the {}, which has to answer ({here}). Check \
         whether what is between forwards UDPTL in both directions, and firewalls.",
        seconds(waited_ns),
        super::counted(packets(1 - silent), "packet"),
        role(PARTIES[1 - silent]),
        role(PARTIES[silent])
    );
    verdict("fax-loss", text, vec![first.packet_first, first.packet_last])
}

/// What never came, was not restored, and was not lost at the tap.
fn gone(stream: &Stream) -> u64 {
    stream.missing.saturating_sub(stream.recovered).saturating_sub(stream.lost_at_tap)
}
