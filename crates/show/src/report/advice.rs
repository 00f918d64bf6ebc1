//! What the report says beyond rows: why there are no calls, what was odd, what to try next.

use super::super::figure::{self, count, of};
use super::{Report, name, short};
use crate::selection::{CALLS_WHOLE_MAX, Selection};
use crate::terminal::Terminal;
use trunkline_calls::job::Summary;
use trunkline_lane::clock::Leap;
use trunkline_store::checked::CLOCK;
use trunkline_store::row::Call;

/// Broken files that are listed one by one.
pub const BROKEN_LISTED_MAX: usize = 100;
/// Leaps of the capture's clock that are listed one by one.
const LEAPS_LISTED_MAX: usize = 8;

/// What is missing for calls, and what to do about it.
pub(super) fn reasons(summary: &Summary, selection: &Selection) -> Vec<String> {
    let mut reasons = super::unread::reasons(summary);
    if summary.sip_messages == 0 {
        reasons.push("No SIP was found, on any port, over UDP, TCP, SCTP or WebSocket.".to_owned());
        reasons.push(
            "Signalling over TLS or IPsec cannot be read. If it should be here in the clear, check that the capture was \
             taken where the signalling passes, and with a snap length of 65,535 octets."
                .to_owned(),
        );
    } else {
        let what = [
            (selection.registrations.0, "registrations"),
            (selection.events.0, "other transactions (OPTIONS, SUBSCRIBE, MESSAGE, ...)"),
        ];
        let what: Vec<String> =
            what.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{} {name}", count(*n))).collect();
        let sip = of(summary.sip_messages, "SIP message was", "SIP messages were");
        let what = if what.is_empty() {
            "no call or transaction could be made of them".to_owned()
        } else {
            what.join(" and ")
        };
        // Where messages are cut an INVITE may be among them.
        let no_invite = if super::unread::is_cut(summary) > 0 { "" } else { ", but no INVITE" };
        reasons.push(format!("{sip} found{no_invite}: {what}."));
    }
    if selection.orphans > 0 {
        let streams = of(selection.orphans, "RTP stream was", "RTP streams were");
        reasons.push(format!("{streams} found without signalling: see below."));
    }
    reasons
}

/// Broken files, a line each: which, where, what.
pub(super) fn broken(report: &Report<'_>) -> Vec<String> {
    let what = |path: &str, error: &str| {
        let error = error.strip_prefix(path).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(error);
        format!("{}: {error}", name(path))
    };
    let broken = report.summary.files.iter().filter_map(|f| Some(what(&f.path, f.error.as_ref()?)));
    let mut lines: Vec<String> = broken.clone().take(BROKEN_LISTED_MAX).collect();
    let more = broken.count().saturating_sub(BROKEN_LISTED_MAX);
    if more > 0 {
        lines.push(format!("{more} more files were broken"));
    }
    lines
}

/// Of several files, the one that a leap of the clock is in, or those that it is between.
fn place(summary: &Summary, leap: &Leap) -> String {
    match summary.files_of(leap)[..] {
        _ if summary.files.len() < 2 => String::new(),
        [file] => format!(" in {}", name(file)),
        [before, behind] => format!(", the first one of {} behind {}", name(behind), name(before)),
        _ => String::new(),
    }
}

/// Packets that several files hold.
fn copied(summary: &Summary, terminal: &Terminal) -> Option<String> {
    let (first, [file, other]) = summary.first_copy.zip(summary.files_of_copy())?;
    let packets = of(summary.copies, "packet is", "packets are");
    let (at, number) = (figure::clock_ms(first.at_ns, &terminal.zone), count(first.number));
    let place = format!("{number} at {at}, of {} in {} as well", name(file), name(other));
    Some(format!("{packets} in more than one of these files, and analysed once: the first is packet {place}"))
}

/// Streams that were captured more than once.
fn repeated(selection: &Selection, files: usize) -> Option<String> {
    let streams = of(selection.repeated, "RTP stream was", "RTP streams were");
    let where_to = if files > 1 { "read the captures of each place alone" } else { "capture at one place" };
    let text =
        format!("{streams} captured more than once: loss between the places of capture does not show; {where_to}");
    (selection.repeated > 0).then_some(text)
}

/// Losses of the capture, limits hit, packets that could not be read: a line each.
pub(super) fn oddities(report: &Report<'_>, terminal: &Terminal) -> Vec<String> {
    let mut lines = Vec::new();
    for loss in &report.selection.losses {
        let at = figure::second(loss.at_ns, &terminal.zone);
        let packets = of(loss.count, "packet", "packets");
        let length = figure::exact(loss.at_ns.saturating_sub(loss.since_ns));
        let what = match loss.place.as_str() {
            "mirror" => {
                format!("{packets} of unrelated calls missing within {length} until {at}: an overflow at the tap")
            }
            "hole" => format!("nothing was captured for {length} until {at}: at least {packets} missing"),
            place => format!("{packets} lost at the {place} until {at}"),
        };
        lines.push(format!("{}: {what}", name(&loss.source)));
    }
    lines.extend(copied(report.summary, terminal));
    lines.extend(repeated(report.selection, report.summary.files.len()));
    for leap in report.summary.leaps.iter().take(LEAPS_LISTED_MAX) {
        let (at, place) = (figure::second(leap.before_ns, &terminal.zone), place(report.summary, leap));
        let number = count(leap.number);
        lines.push(format!("{CLOCK} {} at {at}, before packet {number}{place} ({})", leap.what(), leap.why()));
    }
    let more = report.summary.clock_steps().saturating_sub(LEAPS_LISTED_MAX as u64);
    if more > 0 {
        lines.push(format!("{CLOCK} leaps {} more times", count(more)));
    }
    let odd = |name: &str| ODD.iter().any(|part| name.contains(part));
    for counter in report.summary.counters.iter().filter(|c| c.value > 0 && odd(c.name)) {
        lines.push(format!("{}: {}", counter.help, count(counter.value)));
    }
    lines
}

/// Parts of the names of counters that count what should not be.
const ODD: [&str; 9] = [
    "_overflow",
    "_malformed_",
    "_unknown_",
    "_cut_",
    "_odd_",
    "_dropped_",
    "_without_call_id",
    "_backwards_",
    "_clock_stray_",
];

/// The call that the report tells of first.
fn example(selection: &Selection) -> Option<&Call> {
    if selection.bad.len() as u64 == selection.bad_calls {
        return first(&selection.bad).or_else(|| first(&selection.good));
    }
    selection.kinds.values().rev().max_by_key(|(n, _)| *n).map(|(_, call)| call)
}

fn first(calls: &[Call]) -> Option<&Call> {
    calls.iter().min_by_key(|call| (call.start_ns, call.id))
}

/// The commands that answer the likely next question, with real identifiers.
pub(super) fn next(report: &Report<'_>) -> Vec<(String, &'static str)> {
    let Some(data) = &report.store else { return Vec::new() };
    let selection = report.selection;
    let mut commands = Vec::new();
    if let Some(call) = example(selection) {
        let id = short(call.id);
        commands.push((format!("trunkline call {id}{data}"), "all about this call"));
        commands.push((format!("trunkline call {id} --pcap call.pcap{data}"), "its packets, SIP and RTP"));
    }
    if selection.calls > CALLS_WHOLE_MAX as u64 {
        commands.push((format!("trunkline calls --sort worst{data}"), "the worst calls"));
        commands.push(("trunkline help filter".to_owned(), "how to search them"));
    }
    if selection.calls == 0 && selection.orphans > 0 {
        commands.push((format!("trunkline streams{data}"), "the RTP streams"));
    }
    if selection.calls == 0 && selection.registrations.0 > 0 {
        commands.push((format!("trunkline registrations{data}"), "the registrations"));
    }
    if selection.calls == 0 && selection.events.0 > 0 {
        commands.push((format!("trunkline events{data}"), "the other transactions"));
    }
    commands
}
