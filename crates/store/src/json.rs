//! Rows as JSON: the names other programs may rely on (DESIGN section 4, "A call as JSON").
//!
//! Written straight into a `String`, keys always in the same order, so that the same row gives the same octets. Times
//! are RFC 3339 in UTC with microseconds (cut); durations and jitter are milliseconds; numbers have at most three
//! decimals. What is absent is `null`; lists are always lists. `code` is null where no response came, `reason`,
//! `user_agent` and
//! `codec` where there was no text, an endpoint where neither address nor port is known.

mod text;

use crate::checked::checked;
use crate::delay::Delay;
use crate::row::{
    Call, CallState, Charge, Direction, Hangup, Ladder, Loss, NumberRole, Registration, SipEvent, Stream,
    StreamInterval,
};
use crate::row::{Mos, MosRange, RtcpSummary, Verdict};
pub use text::{Object, push_text};
use trunkline_kit::Id;

/// The name of a state in JSON, filters and SQL.
pub const fn state_name(state: CallState) -> &'static str {
    STATES[state as usize]
}

/// The names of all states, by their number.
pub const STATES: [&str; 10] = [
    "attempted",
    "trying",
    "ringing",
    "auth-challenged",
    "redirected",
    "rejected",
    "cancelled",
    "answered",
    "completed",
    "joined-mid-call",
];

/// Names of who hung up, by number.
pub const HANGUPS: [&str; 3] = ["none", "caller", "callee"];

/// Names of directions, by number; the first stands for "not known" and is null in JSON.
pub const DIRECTIONS: [&str; 3] = ["unknown", "caller", "callee"];

/// Names of what other numbers say, by number.
pub const NUMBER_ROLES: [&str; 3] = ["asserted", "requested", "diverted-from"];

/// The name of what another number says.
pub const fn number_role_name(role: NumberRole) -> &'static str {
    NUMBER_ROLES[role as usize]
}

/// Whether the 2xx came: the states whose duration counts.
pub const fn was_answered(state: CallState) -> bool {
    matches!(state, CallState::Answered | CallState::Completed)
}

/// Nanoseconds from answer to end; an answered call whose end was not seen counts to its last packet. None if it was
/// not answered.
pub fn duration_ns(call: &Call) -> Option<i64> {
    Some(call.end_ns.unwrap_or(call.last_ns).saturating_sub(call.answer_ns?))
}

/// Appends a call, without its ladder: one line of `calls --json`.
pub fn call(out: &mut String, call: &Call) {
    let mut o = Object::new(out);
    call_fields(&mut o, call);
    o.end();
}

/// Appends a call with its ladder as the last field, as `call ID --json` shows it.
pub fn call_with_ladder(out: &mut String, call: &Call) {
    let mut o = Object::new(out);
    call_fields(&mut o, call);
    let told = checked(call);
    o.list("checked", &told.checked, |out, t| text::push_text(out, t));
    o.list("not_checked", &told.not_checked, |out, t| text::push_text(out, t));
    o.list("thin_evidence", &told.thin, |out, t| text::push_text(out, t));
    ladder(o.field("ladder"), &call.ladder);
    o.end();
}

fn call_fields(o: &mut Object<'_>, c: &Call) {
    let since_start = |at: Option<i64>| at.map(|at| at.saturating_sub(c.start_ns));
    o.display("id", c.id).text("sip_call_id", &c.sip_call_id).text("state", state_name(c.state));
    o.text("from", &c.from).text("to", &c.to).text("from_uri", &c.from_uri).text("to_uri", &c.to_uri);
    o.list("numbers", &c.numbers, |out, one| {
        let mut o = Object::new(out);
        o.text("role", number_role_name(one.role)).text("number", &one.number).text("sent", &one.sent);
        o.end();
    });
    o.time("start", Some(c.start_ns)).time("answer", c.answer_ns).time("end", c.end_ns);
    o.ms("pdd_ms", since_start(c.ringing_ns)).ms("setup_ms", since_start(c.answer_ns));
    o.ms("duration_ms", duration_ns(c)).int("code", some(c.code)).some_text("reason", &c.reason);
    o.text("hangup", hangup_name(c.hangup)).endpoint("src", c.src).endpoint("dst", c.dst);
    o.some_text("user_agent", &c.user_agent).real("mos", c.mos.map(f64::from));
    mos_range(o, c.capture.mos_range);
    let mut capture = o.object("capture");
    capture.bool("complete", c.capture.complete).int("lost_at_tap", Some(c.capture.lost_at_tap));
    capture.int("lost_at_tap_least", Some(c.capture.lost_at_tap_least));
    capture.int("lost_before_tap", Some(c.capture.lost_before_tap)).some_text("note", &c.capture.note);
    capture.end();
    verdict(o, c.verdict.as_ref());
    o.list("streams", &c.streams, stream);
    o.list("shared_streams", &c.shared, |out, one| {
        let mut o = Object::new(out);
        o.display("call", one.call).display("id", one.stream).maybe_text("direction", direction_name(one.sender));
        o.end();
    });
    o.time("ringing", c.ringing_ns).time("last", Some(c.last_ns));
    o.int("messages", Some(c.ladder.messages.len() as u64 + u64::from(c.ladder.not_kept)));
    o.list("files", &c.files, |out, f| text::push_text(out, f));
}

fn verdict(o: &mut Object<'_>, v: Option<&Verdict>) {
    o.maybe_text("verdict", v.map(|v| v.text.as_str())).maybe_text("verdict_kind", v.map(|v| v.kind.as_str()));
    o.numbers("verdict_packets", v.map_or(&[][..], |v| &v.packets));
}

/// Appends a stream: an element of a call's `streams`, or alone where it has no call.
pub fn stream(out: &mut String, s: &Stream) {
    let mut o = Object::new(out);
    o.text("ssrc", &format!("0x{:08x}", s.ssrc)).endpoint("src", s.src).endpoint("dst", s.dst);
    o.maybe_text("direction", direction_name(s.direction)).some_text("codec", &s.codec);
    o.int("clock_rate", some(s.clock_rate)).int("packets", Some(s.packets)).int("expected", Some(s.expected));
    o.signed("lost", Some(s.lost)).int("missing", Some(s.missing)).int("recovered", Some(s.recovered));
    o.int("duplicates", Some(s.duplicates));
    o.int("reordered", Some(s.reordered)).real("jitter_mean_ms", Some(s.jitter_mean_ms));
    o.real("jitter_max_ms", Some(s.jitter_max_ms)).time("first", Some(s.first_ns)).time("last", Some(s.last_ns));
    mos(&mut o, &s.mos);
    mos_range(&mut o, s.mos_range);
    o.int("lost_at_tap", Some(s.lost_at_tap)).int("lost_at_tap_least", Some(s.lost_at_tap_least));
    o.numbers("loss_runs", &s.loss_runs).numbers("delay_histogram", &s.delay_histogram);
    o.display("id", s.id).maybe_display("call", s.call).numbers("payload_types", &s.payload_types);
    o.real("ptime_ms", (s.ptime_ms > 0.0).then_some(f64::from(s.ptime_ms))).int("octets", Some(s.octets));
    o.int("discarded", Some(s.discarded)).real("burst_ratio", s.burst_ratio.map(f64::from));
    o.int("talkspurts", Some(s.talkspurts)).int("comfort_noise", Some(s.comfort_noise)).some_text("dtmf", &s.dtmf);
    o.bool("encrypted", s.encrypted);
    rtcp(&mut o, &s.rtcp);
    o.real("skew_ppm", s.skew_ppm.map(f64::from)).int("timestamp_jumps", Some(s.timestamp_jumps));
    o.int("sequence_jumps", Some(s.sequence_jumps)).real("mos_receiver", s.mos_receiver.map(f64::from));
    o.int("dscp", Some(s.dscp));
    o.int("packet_first", Some(s.packet_first)).int("packet_last", Some(s.packet_last));
    o.end();
}

fn mos(o: &mut Object<'_>, m: &Mos) {
    let scale = if m.wideband { "wideband" } else { "narrowband" };
    let mut o = o.object("mos");
    o.real("g107", m.g107.map(f64::from)).maybe_text("scale", m.g107.map(|_| scale));
    o.real("vm_f1", m.vm_f1.map(f64::from)).real("vm_f2", m.vm_f2.map(f64::from));
    o.real("vm_adapt", m.vm_adapt.map(f64::from));
    o.end();
}

fn mos_range(o: &mut Object<'_>, range: Option<MosRange>) {
    let Some(range) = range else {
        o.maybe_text("mos_range", None);
        return;
    };
    let mut o = o.object("mos_range");
    o.real("low", Some(f64::from(range.low))).real("high", Some(f64::from(range.high)));
    o.end();
}

fn rtcp(o: &mut Object<'_>, r: &RtcpSummary) {
    let mut o = o.object("rtcp");
    o.int("sender_reports", Some(r.sender_reports)).int("receiver_reports", Some(r.receiver_reports));
    o.signed("lost", r.lost.map(i64::from)).real("fraction_max", Some(f64::from(r.fraction_max) / 256.0));
    o.real("jitter_max_ms", r.jitter_max_ms.map(f64::from)).real("round_trip_ms", r.round_trip_ms.map(f64::from));
    o.int("sent", r.sent).int("missing_here", r.missing_here);
    o.int("lost_after_tap", Some(r.lost_after_tap)).int("passed", Some(r.passed));
    o.end();
}

/// Appends a ladder: `hosts`, and `messages` in order with `src` and `dst` as indexes into them.
pub fn ladder(out: &mut String, l: &Ladder) {
    let mut o = Object::new(out);
    o.list("hosts", &l.hosts, |out, h| text::push_text(out, &h.to_string()));
    o.list("messages", &l.messages, |out, m| {
        let mut o = Object::new(out);
        o.time("at", Some(m.at_ns)).int("src", Some(m.src)).int("dst", Some(m.dst)).text("method", m.method_name());
        o.int("status", some(m.status)).int("cseq", Some(m.cseq)).some_text("text", l.text_of(m));
        for (name, flag) in FLAGS {
            o.bool(name, m.flags & flag != 0);
        }
        o.int("octets", Some(m.octets)).int("packet", Some(m.packet)).int("file", Some(m.file));
        o.int("offset", Some(m.offset));
        o.end();
    });
    o.int("not_kept", Some(l.not_kept));
    o.end();
}

const FLAGS: [(&str, u8); 6] = {
    use crate::row::Message as M;
    [
        ("sdp", M::SDP),
        ("retransmission", M::RETRANSMISSION),
        ("odd", M::ODD),
        ("cut", M::CUT),
        ("tcp", M::TCP),
        ("copy", M::COPY),
    ]
};

/// Appends a registration.
pub fn registration(out: &mut String, r: &Registration) {
    let mut o = Object::new(out);
    o.display("id", r.id).text("sip_call_id", &r.sip_call_id).text("aor", &r.aor).text("user", &r.user);
    o.some_text("contact", &r.contact).int("expires", r.expires).time("start", Some(r.start_ns)).time("end", r.end_ns);
    o.ms("response_ms", r.end_ns.map(|e| e.saturating_sub(r.start_ns))).int("code", some(r.code));
    o.some_text("reason", &r.reason).endpoint("src", r.src).endpoint("dst", r.dst);
    o.some_text("user_agent", &r.user_agent).int("requests", Some(r.requests));
    o.int("retransmissions", Some(r.retransmissions));
    verdict(&mut o, r.verdict.as_ref());
    o.end();
}

/// Appends a transaction outside calls and registrations.
pub fn event(out: &mut String, e: &SipEvent) {
    let mut o = Object::new(out);
    o.display("id", e.id).text("method", &e.method).text("sip_call_id", &e.sip_call_id);
    o.text("from", &e.from).text("to", &e.to).time("start", Some(e.start_ns)).time("end", e.end_ns);
    o.ms("response_ms", e.end_ns.map(|end| end.saturating_sub(e.start_ns))).int("code", some(e.code));
    o.some_text("reason", &e.reason).endpoint("src", e.src).endpoint("dst", e.dst);
    o.int("retransmissions", Some(e.retransmissions));
    o.end();
}

/// Appends ten seconds of a stream, with the delay in them ([`crate::delay::of_intervals`]).
pub fn interval(out: &mut String, i: &StreamInterval, delay: Option<Delay>) {
    let mut o = Object::new(out);
    o.display("stream", i.stream).int("index", Some(i.index)).time("start", Some(i.start_ns));
    o.int("packets", Some(i.packets)).int("missing", Some(i.missing)).int("duplicates", Some(i.duplicates));
    o.int("reordered", Some(i.reordered)).real("jitter_mean_ms", Some(f64::from(i.jitter_mean_ms)));
    o.real("jitter_max_ms", Some(f64::from(i.jitter_max_ms)));
    o.real("delay_min_ms", delay.map(|d| d.min_ms)).real("delay_mean_ms", delay.map(|d| d.mean_ms));
    o.real("delay_max_ms", delay.map(|d| d.max_ms)).real("round_trip_ms", i.round_trip_ms.map(f64::from));
    let mut m = o.object("mos");
    m.real("g107", i.mos.map(f64::from));
    for (name, score) in ["vm_f1", "vm_f2", "vm_adapt"].into_iter().zip(i.mos_vm) {
        m.real(name, score.map(f64::from));
    }
    m.end();
    o.end();
}

/// Appends a loss.
pub fn loss(out: &mut String, l: &Loss) {
    let mut o = Object::new(out);
    o.time("since", Some(l.since_ns)).time("at", Some(l.at_ns)).text("place", &l.place).text("source", &l.source);
    o.int("count", Some(l.count));
    o.end();
}

/// Appends a charging data record.
pub fn charge(out: &mut String, c: &Charge) {
    let mut o = Object::new(out);
    o.display("id", c.id).text("node", &c.node).int("number", Some(c.number)).int("entry", Some(c.entry));
    o.text("kind", &c.kind).text("session", &c.session).text("origin", &c.origin);
    o.int("subscriber", some(c.subscriber)).int("account", some(c.account)).some_text("imsi", &c.imsi);
    o.some_text("msisdn", &c.msisdn).some_text("apn", &c.apn).some_text("destination", &c.destination);
    o.time("start", Some(c.start_ns)).time("end", Some(c.end_ns)).int("cause", Some(c.cause)).int("record", c.record);
    o.int("charging_id", c.charging_id).int("octets", Some(c.octets)).int("octets_in", Some(c.octets_in));
    o.int("octets_out", Some(c.octets_out)).int("seconds", Some(c.seconds));
    o.int("service_units", Some(c.service_units)).signed("money", Some(c.money));
    o.signed("short", Some(c.short)).int("allowance_units", Some(c.allowance_units)).bool("rated", c.rated);
    o.json("services", &c.services);
    o.text("file", &c.file);
    o.end();
}

fn hangup_name(h: Hangup) -> &'static str {
    HANGUPS[h as usize]
}

fn direction_name(d: Direction) -> Option<&'static str> {
    (d != Direction::Unknown).then(|| DIRECTIONS[d as usize])
}

/// Zero stands for "none" in these fields.
fn some<T: Into<u64> + Copy>(value: T) -> Option<u64> {
    let value = value.into();
    (value != 0).then_some(value)
}

impl Object<'_> {
    fn maybe_display(&mut self, name: &str, id: Option<Id>) -> &mut Self {
        match id {
            Some(id) => self.display(name, id),
            None => self.maybe_text(name, None),
        }
    }
}

#[cfg(test)]
mod tests;
