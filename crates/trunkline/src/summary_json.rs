//! The last line of `read --json`: what was read, in all.

use crate::selection::Selection;
use trunkline_calls::job::{FileSummary, Summary};
use trunkline_calls::unread::{Protocol, Row};
use trunkline_lane::clock::Leap;
use trunkline_store::json::{self, Object};

/// Appends `{"summary": {...}}`; reading was stopped, or the store refused rows.
pub fn write(out: &mut String, summary: &Summary, selection: &Selection, (stopped, refused): (bool, bool)) {
    let mut outer = Object::new(out);
    let mut o = outer.object("summary");
    o.int("packets", Some(summary.packets)).int("sip_messages", Some(summary.sip_messages));
    o.int("call_ids", Some(summary.call_ids)).int("calls", Some(summary.calls)).int("streams", Some(summary.streams));
    o.int("registrations", Some(summary.registrations)).int("sip_events", Some(summary.sip_events));
    o.int("rtp_packets", Some(summary.rtp_packets)).int("capture_lost", Some(summary.capture_lost));
    o.time("first", summary.span_ns.map(|span| span.0)).time("last", summary.span_ns.map(|span| span.1));
    o.bool("stopped", stopped).bool("degraded", stopped || refused || summary.degraded());
    o.list("files", &summary.files, file);
    let mut counters = o.object("counters");
    for counter in &summary.counters {
        counters.int(counter.name, Some(counter.value));
    }
    counters.end();
    o.int("copies", Some(summary.copies));
    if let Some((first, files)) = summary.first_copy.zip(summary.files_of_copy()) {
        let mut copy = o.object("first_copy");
        copy.time("at", Some(first.at_ns)).int("packet", Some(first.number));
        copy.list("files", &files, |out, path| json::push_text(out, path));
        copy.end();
    }
    o.int("clock_steps", Some(summary.clock_steps()));
    o.list("clock", &summary.leaps, |out, one| leap(out, one, &summary.files_of(one)));
    let seen: Vec<_> = summary.unread.seen().collect();
    o.list("not_analysed", &seen, |out, (protocol, row)| not_analysed(out, *protocol, row));
    o.int("packets_cut", Some(summary.unread.cut)).int("snap_length", cut_to(summary));
    o.int("orphan_streams_total", Some(selection.orphans));
    o.list("orphan_streams", &selection.orphan_list, json::stream);
    o.end();
    outer.end();
}

/// What packets were cut to; none if none was.
fn cut_to(summary: &Summary) -> Option<u64> {
    (summary.unread.cut > 0).then_some(u64::from(summary.unread.cut_to))
}

fn not_analysed(out: &mut String, protocol: Protocol, row: &Row) {
    let mut o = Object::new(out);
    o.text("protocol", protocol.name()).int("packets", Some(row.packets));
    o.maybe_text("first_on", protocol.place(row).as_deref()).maybe_text("hint", protocol.hint());
    o.end();
}

/// Where the capture's clock was set, or its parts are in the wrong order; in which file, or between which two.
fn leap(out: &mut String, leap: &Leap, files: &[&str]) {
    let mut o = Object::new(out);
    o.text("what", leap.kind.name()).time("at", Some(leap.before_ns)).int("packet", Some(leap.number));
    o.ms("by_ms", Some(leap.by_ns)).bool("certain", leap.is_sure).text("why", &leap.why());
    o.list("files", files, |out, path| json::push_text(out, path));
    o.end();
}

fn file(out: &mut String, file: &FileSummary) {
    let mut o = Object::new(out);
    o.text("path", &file.path).some_text("format", &file.format).int("packets", Some(file.packets));
    o.time("first", file.first_ns).time("last", file.last_ns).maybe_text("error", file.error.as_deref());
    o.end();
}
