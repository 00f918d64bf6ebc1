//! Rules about how a call was set up and taken down.

use super::{Case, packets_of, seconds, status, verdict};
use crate::signalling::REMARK_SEPARATOR;
use trunkline_store::row::{Call, CallState, Hangup, Message, Verdict};
use trunkline_wire::sip::Method;

/// A call that is hung up sooner than this after the answer was hardly wanted so.
const EARLY_HANGUP_NS: i64 = 3_000_000_000;
/// Ringing later than this after the INVITE is slow (ITU-T E.721 asks for 8 s at most on international calls).
const SLOW_SETUP_NS: i64 = 8_000_000_000;
/// A request repeated this often makes a storm; the timers of RFC 3261 section 17 give 6 repetitions of an INVITE and
/// 10 of others when nothing answers at all, and one or two when a single packet is lost.
const STORM_REPEATS: u32 = 5;
/// An INVITE repeated this often without any response was not answered.
const UNANSWERED_REPEATS: u32 = 2;
/// A 2xx repeated this often without ACK was not acknowledged.
const UNACKED_REPEATS: u32 = 2;

pub fn no_response(case: &Case<'_>) -> Option<Verdict> {
    let call = case.call;
    if call.state != CallState::Attempted || case.facts.responses > 0 || case.facts.request_repeats < UNANSWERED_REPEATS
    {
        return None;
    }
    let text = format!(
        "{} did not answer: {} sent the INVITE {} times and nothing came back.",
        call.dst,
        call.src,
        case.facts.request_repeats + 1
    );
    verdict("no-response", text, packets_of(call, |m| m.status == 0))
}

pub fn failure(case: &Case<'_>) -> Option<Verdict> {
    let call = case.call;
    if call.state != CallState::Rejected || matches!(call.code, 480 | 486 | 487 | 600) {
        return None;
    }
    let kind = match call.code {
        400..=499 => "failure-4xx",
        500..=599 => "failure-5xx",
        _ => "failure-6xx",
    };
    let evidence = packets_of(call, |m| m.status == call.code && m.method == Method::Invite as u8);
    let refusal = call.ladder.messages.iter().find(|m| m.status == call.code);
    let who = refusal.and_then(|m| call.ladder.hosts.get(usize::from(m.src))).copied().unwrap_or(call.dst);
    let cause = refusal.map_or_else(String::new, |m| cause_of(call, m));
    let refused = status(call.code, &call.reason);
    let text = format!("{who} refused the call with {refused}{}.{cause}", meaning(call.code));
    verdict(kind, text, evidence)
}

/// The cause that a refusal carries (Reason, Warning), as the ladder has it.
fn cause_of(call: &Call, message: &Message) -> String {
    let remarks = call.ladder.text_of(message).split(REMARK_SEPARATOR).skip(1);
    let given = remarks.filter(|r| r.contains(" cause ") || r.starts_with("Warning "));
    given.fold(String::new(), |text, remark| format!("{text} It says: {remark}."))
}

/// What a status code usually means for the one who looks for the cause (RFC 3261 section 21).
fn meaning(code: u16) -> &'static str {
    match code {
        400 | 416 | 420 | 421 | 513 => ": it did not understand the request",
        403 => ": it knows the request and does not allow it",
        404 | 604 | 484 => ": it does not know the number",
        408 => ": it gave up waiting for the next hop",
        410 => ": the number is not in use any more",
        415 | 488 | 606 => ": it accepts none of the codecs that were offered",
        481 => ": it does not know the dialog",
        482 | 483 => ": the call was routed in a circle",
        500 => ": it failed inside",
        502 | 504 => ": the next hop did not do its part",
        503 => ": it is overloaded or has no way to go on",
        603 => ": the called party declined",
        _ => "",
    }
}

pub fn missing_ack(case: &Case<'_>) -> Option<Verdict> {
    let (cseq, repeats) = case.facts.accepted?;
    if case.facts.acked || repeats < UNACKED_REPEATS {
        return None;
    }
    let call = case.call;
    let ok = |m: &Message| m.method == Method::Invite as u8 && (200..300).contains(&m.status) && m.cseq == cseq;
    let text = format!(
        "The answer was never acknowledged: {} repeated its 200 OK {repeats} times and no ACK from {} was seen.",
        call.dst, call.src
    );
    verdict("missing-ack", text, packets_of(call, ok))
}

pub fn retransmission_storm(case: &Case<'_>) -> Option<Verdict> {
    let (repeats, method) = case.facts.worst_repeats;
    if repeats < STORM_REPEATS {
        return None;
    }
    let call = case.call;
    let again = |m: &Message| m.flags & Message::RETRANSMISSION != 0 && m.status == 0 && m.method == method;
    let evidence = packets_of(call, again);
    let first = call.ladder.messages.iter().find(|m| again(m));
    let end = |at: Option<u8>| at.and_then(|h| call.ladder.hosts.get(usize::from(h))).map(ToString::to_string);
    let text = format!(
        "Retransmission storm: {} sent the same {} to {} {} times; its answer does not arrive.",
        end(first.map(|m| m.src)).unwrap_or_default(),
        Message::METHODS.get(usize::from(method)).copied().unwrap_or("request"),
        end(first.map(|m| m.dst)).unwrap_or_default(),
        repeats + 1
    );
    verdict("retransmission-storm", text, evidence)
}

pub fn early_hangup(case: &Case<'_>) -> Option<Verdict> {
    let call = case.call;
    let (answer, end) = call.answer_ns.zip(call.end_ns)?;
    if call.state != CallState::Completed || end - answer >= EARLY_HANGUP_NS {
        return None;
    }
    let who = match call.hangup {
        Hangup::Caller => "The caller",
        Hangup::Callee => "The callee",
        Hangup::None => "Somebody",
    };
    let text = format!("{who} hung up {} after the answer.", seconds(end - answer));
    verdict("early-hangup", text, packets_of(call, |m| m.method == Method::Bye as u8))
}

pub fn slow_setup(case: &Case<'_>) -> Option<Verdict> {
    let call = case.call;
    let rang = call.ringing_ns.or(call.answer_ns)?;
    if rang - call.start_ns <= SLOW_SETUP_NS {
        return None;
    }
    let text = format!("It took {} from the INVITE until the other side rang.", seconds(rang - call.start_ns));
    let evidence = packets_of(call, |m| m.at_ns == call.start_ns || m.at_ns == rang);
    verdict("slow-setup", text, evidence)
}
