//! What was seen but is not analysed: why a list of calls may be empty, or not whole.

use super::super::figure::of;
use trunkline_calls::job::Summary;
use trunkline_calls::unread::{Protocol, Row};

/// What was seen, a line each. Where there are no calls, what may be why is told by [`reasons`] instead.
pub(super) fn lines(summary: &Summary, without_calls: bool) -> Vec<String> {
    let told = |protocol: Protocol| !without_calls || !protocol.may_hide_calls();
    let seen = summary.unread.seen().filter(|(protocol, _)| told(*protocol));
    let mut lines: Vec<String> = seen.map(|(protocol, row)| line(protocol, row)).collect();
    lines.extend(fragments(summary).filter(|_| !without_calls));
    lines
}

/// IP datagrams of which fragments are missing: long SIP messages, as a rule.
fn fragments(summary: &Summary) -> Option<String> {
    let incomplete = summary.counter("trunkline_calls_ip_fragments_timed_out_total");
    (incomplete > 0).then(|| {
        format!(
            "{} incomplete: a capture filter with a port, such as `port 5060`, drops all fragments but the first. Use \
             `port 5060 or ip[6:2] & 0x1fff != 0`.",
            of(incomplete, "fragmented IP datagram stayed", "fragmented IP datagrams stayed")
        )
    })
}

/// Why there may be no calls: a snap length that is too small first, then protocols that calls may be inside of, then
/// fragments that a filter dropped.
pub(super) fn reasons(summary: &Summary) -> Vec<String> {
    let unread = &summary.unread;
    let mut reasons: Vec<String> = snap_length(summary).into_iter().collect();
    reasons.extend(unread.seen().filter(|(p, _)| p.may_hide_calls()).map(|(p, row)| line(p, row)));
    reasons.extend(fragments(summary));
    reasons
}

/// SIP that the snap length cut, or a snap length in which no SIP has room.
fn snap_length(summary: &Summary) -> Option<String> {
    let (cut, to) = (summary.unread.cut, summary.unread.cut_to);
    let again = "Capture again with a snap length of 65,535 octets (tcpdump -s 0).";
    let cut_sip = is_cut(summary);
    if cut_sip > 0 {
        let messages = of(cut_sip, "SIP message is", "SIP messages are");
        return Some(format!("The snap length is too small: {messages} cut after {to} octets at most. {again}"));
    }
    // With less than this even the first line of SIP may be gone.
    (cut > 0 && to <= 128 && summary.sip_messages == 0).then(|| {
        let packets = of(cut, "packet is", "packets are");
        format!("The snap length may be too small to find SIP: {packets} cut after {to} octets at most. {again}")
    })
}

/// SIP messages that the snap length cut; those of streams with holes do not count where no packet was cut.
pub(super) fn is_cut(summary: &Summary) -> u64 {
    if summary.unread.cut > 0 { summary.counter("trunkline_calls_sip_cut_total") } else { 0 }
}

/// `HEP: 7 packets, first on UDP 9060 from 192.0.2.70. What it means.`
pub(crate) fn line(protocol: Protocol, row: &Row) -> String {
    let packets = of(row.packets, "packet", "packets");
    let place = protocol.place(row).map_or_else(String::new, |place| format!(", first on {place}"));
    let hint = protocol.hint().map_or_else(String::new, |hint| format!(" {hint}"));
    format!("{}: {packets}{place}.{hint}", protocol.name())
}
