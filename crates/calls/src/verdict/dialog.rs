//! Rules about what goes wrong within a dialog: its ACK, INVITEs that refresh or change it, transfers, its end.

use super::{Case, counted, host, packets_of, seconds, status, verdict};
use crate::signalling::REMARK_SEPARATOR;
use trunkline_store::row::{Call, CallState, Direction, Hangup, Message, Verdict};
use trunkline_wire::sip::Method;

/// A 2xx repeated this often without ACK was not acknowledged.
const UNACKED_REPEATS: u32 = 2;
/// The same though ACKs pass: one that is lost costs one or two (RFC 3261 section 13.3.1.4).
const LOST_REPEATS: u32 = 4;
/// So many ACKs must have passed before repetitions.
const LOST_ACKS: u32 = 3;
/// A 2xx is repeated after 4 s at the latest (T2) as long as no ACK comes: after twice this it was acknowledged.
const QUIET_NS: i64 = 8_000_000_000;
/// A call that ends so soon after a refusal ended for it.
const SOON_NS: i64 = 5_000_000_000;

pub fn missing_ack(case: &Case<'_>) -> Option<Verdict> {
    let (cseq, repeats) = case.facts.accepted?;
    if case.facts.acked || repeats < UNACKED_REPEATS {
        return None;
    }
    let call = case.call;
    let (first, repeats) = repeated(call, cseq, i64::MIN)?;
    let last = accepting(call, cseq).last()?;
    // Its sender was content, and the call went on: the ACK went another way than past this tap.
    let goes_on = call.end_ns.unwrap_or(call.last_ns).saturating_sub(last.at_ns) > QUIET_NS;
    if repeats < UNACKED_REPEATS || goes_on {
        return None;
    }
    let (sender, receiver) = (host(call, first.src), host(call, first.dst));
    let text = format!(
        "The answer was never acknowledged: {sender} repeated its 200 OK {repeats} times and no ACK from {receiver} \
         was seen. Check whether the 200 OK reaches {}, and that its \
         Contact and Record-Route can be reached from there.",
        call.src
    );
    verdict("missing-ack", text, accepting(call, cseq).map(|m| m.packet).collect())
}

/// A second target accepted the call as well, and its caller took no notice.
pub fn other_unacknowledged(case: &Case<'_>) -> Option<Verdict> {
    let other = case.facts.troubles.as_ref()?.unacknowledged?;
    // The ACK of the first one shows that those of the caller pass.
    if other.repeats < LOST_REPEATS || !case.facts.acked {
        return None;
    }
    let (call, by) = (case.call, other.answered_by);
    let text = format!(
        "A second answer was never acknowledged: another target accepted the call as well, {by} repeated its 200 OK {} \
         times, and {} acknowledged the first one alone. That target stays off the hook meanwhile. Check the caller's \
         program: it has to acknowledge each 200 OK and hang up those it does not want (RFC 3261 section 13.2.2.4).",
        other.repeats, call.src
    );
    let accepts = |m: &Message| m.method == Method::Invite as u8 && (200..300).contains(&m.status);
    let of_ack = |m: &Message| m.method == Method::Ack as u8;
    verdict("missing-ack", text, packets_of(call, |m| accepts(m) && host(call, m.src) == by || of_ack(m)))
}

pub fn ack_lost(case: &Case<'_>) -> Option<Verdict> {
    let (cseq, repeats) = case.facts.accepted?;
    if !case.facts.acked || repeats < LOST_REPEATS || case.facts.acks < LOST_ACKS {
        return None;
    }
    let call = case.call;
    let acks = || call.ladder.messages.iter().filter(|m| m.method == Method::Ack as u8 && m.cseq == cseq);
    // The first ACKs may be lost like any packet: what counts is what is repeated after some.
    let since_ns = acks().nth(LOST_ACKS as usize - 1)?.at_ns;
    let (first, later) = repeated(call, cseq, since_ns)?;
    let (_, repeats) = repeated(call, cseq, i64::MIN)?;
    if repeats < LOST_REPEATS || later + LOST_ACKS <= LOST_REPEATS {
        return None;
    }
    let sender = host(call, first.src);
    let reached = acks().max_by_key(|m| m.at_ns).map_or(call.dst, |m| host(call, m.dst));
    let gave_up = match (call.hangup, call.answer_ns.zip(call.end_ns)) {
        (Hangup::Callee, Some((answer, end))) => format!(" It gave up {} after the answer.", seconds(end - answer)),
        _ => String::new(),
    };
    let text = format!(
        "The ACK does not arrive: {sender} repeated its 200 OK {repeats} times although {} passed here on the way to \
         {reached}.{gave_up} Check the way from here to {sender}: network address translation, firewalls, proxies, and \
         whether the ACK goes to the Contact of the 200 OK.",
        counted(u64::from(case.facts.acks), "ACK")
    );
    verdict("ack-lost", text, accepting(call, cseq).chain(acks()).map(|m| m.packet).collect())
}

/// How often the 2xx was repeated after a time, and the first one, on the hop where it was repeated most: proxies on
/// the way forward what they get.
fn repeated(call: &Call, cseq: u32, since_ns: i64) -> Option<(&Message, u32)> {
    let again = |m: &&Message| m.flags & Message::RETRANSMISSION != 0 && m.at_ns > since_ns;
    let of_hop = |hop: (u8, u8)| {
        let times = accepting(call, cseq).filter(again).filter(|m| (m.src, m.dst) == hop).count();
        u32::try_from(times).unwrap_or(u32::MAX)
    };
    let hops = accepting(call, cseq).map(|m| (m, of_hop((m.src, m.dst))));
    // The first of those that are repeated as often: the farthest from the caller.
    hops.reduce(|most, next| if next.1 > most.1 { next } else { most })
}

/// The 2xx to an INVITE.
fn accepting(call: &Call, cseq: u32) -> impl Iterator<Item = &Message> {
    let ok = move |m: &&Message| m.method == Method::Invite as u8 && (200..300).contains(&m.status) && m.cseq == cseq;
    call.ladder.messages.iter().filter(ok)
}

/// An INVITE within the call was sent so often without any response: timer B is near (RFC 3261 section 17.1.1.2).
const UNANSWERED_REQUESTS: usize = 5;

/// The last INVITE within the call met no response at all.
pub fn reinvite_unanswered(case: &Case<'_>) -> Option<Verdict> {
    let call = case.call;
    let answer_ns = call.answer_ns.filter(|_| case.facts.request_repeats >= UNANSWERED_REQUESTS as u32 - 1)?;
    let invites = || call.ladder.messages.iter().filter(|m| m.method == Method::Invite as u8 && m.at_ns > answer_ns);
    let is_again = |m: &&Message| m.flags & (Message::RETRANSMISSION | Message::COPY) != 0;
    let last = invites().rfind(|m| m.status == 0 && !is_again(m))?;
    let times = || invites().filter(|m| (m.status, m.cseq, m.src, m.dst) == (0, last.cseq, last.src, last.dst));
    if times().count() < UNANSWERED_REQUESTS || has_response(call, last) {
        return None;
    }
    let (who, asked) = (host(call, last.dst), host(call, last.src));
    let end = match call.end_ns.map(|end| end.saturating_sub(last.at_ns)) {
        Some(after) => format!(" The call ended {} after the first of them.", seconds(after)),
        None => String::new(),
    };
    let text = format!(
        "An INVITE within the call was never answered: {asked} sent it {} times to {who} and nothing came back.{end} \
         Check whether it reaches {who}: the Contact that it goes to, firewalls and translators whose way is closed \
         by then, and session timers (RFC 4028).",
        times().count()
    );
    verdict("reinvite-refused", text, times().map(|m| m.packet).collect())
}

/// Whether anything answered an INVITE on its hop.
fn has_response(call: &Call, invite: &Message) -> bool {
    let of = |m: &Message| m.method == Method::Invite as u8 && m.status > 0 && m.cseq == invite.cseq;
    call.ladder.messages.iter().any(|m| of(m) && m.at_ns > invite.at_ns && (m.src, m.dst) == (invite.dst, invite.src))
}

pub fn reinvite_refused(case: &Case<'_>) -> Option<Verdict> {
    let refused = case.facts.troubles.as_ref()?.reinvite?;
    let call = case.call;
    let is_of = |m: &Message| m.method == Method::Invite as u8 && m.cseq == refused.cseq;
    let answer = call.ladder.messages.iter().rev().find(|m| is_of(m) && m.status == refused.status)?;
    let (who, asked) = (host(call, answer.src), host(call, answer.dst));
    let ends_soon = call.end_ns.is_some_and(|end| end.saturating_sub(answer.at_ns) <= SOON_NS);
    if !ends_soon && declines(call, answer) {
        return None;
    }
    let phrase = call.ladder.text_of(answer).split(REMARK_SEPARATOR).next().unwrap_or_default();
    let end = match call.end_ns.map(|end| end.saturating_sub(answer.at_ns)) {
        Some(after) if after <= SOON_NS => format!(" The call ended {} later.", seconds(after)),
        _ => " The call went on as it was (RFC 3261 section 14.1).".to_owned(),
    };
    let check = match refused.status {
        481 | 408 => {
            "It does not know the call any more: check whether it was restarted, or the request went to another server"
        }
        488 | 606 | 415 => "It takes none of the media that were offered: compare both SDP bodies",
        _ => "Check what the request asked for, by its SDP and Session-Expires",
    };
    let text = format!(
        "An INVITE within the call was refused: {who} answered {asked} with {}.{end} {check}.",
        status(refused.status, phrase)
    );
    verdict("reinvite-refused", text, packets_of(call, |m| is_of(m) && (m.status == 0 || m.status == refused.status)))
}

/// Video that was offered beside the audio is declined: the call goes on as it was, as people want it.
fn declines(call: &Call, answer: &Message) -> bool {
    let of = |m: &Message| m.method == Method::Invite as u8 && m.cseq == answer.cseq && m.status == 0;
    let has_video = |m: &Message| call.ladder.text_of(m).split([';', ' ']).any(|word| word == "video");
    let messages = &call.ladder.messages;
    // Beside something else, and for the first time.
    let offers = |(at, m): (usize, &Message)| {
        has_video(m) && call.ladder.text_of(m).contains(';') && !messages[..at].iter().any(has_video)
    };
    let asked = messages.iter().enumerate().find(|(_, m)| of(m));
    matches!(answer.status, 415 | 488 | 603 | 606) && asked.is_some_and(offers)
}

pub fn session_expired(case: &Case<'_>) -> Option<Verdict> {
    let call = case.call;
    if !matches!(call.state, CallState::Completed | CallState::JoinedMidCall) {
        return None;
    }
    let is_bye = |m: &&Message| m.method == Method::Bye as u8 && m.status == 0;
    let bye = call.ladder.messages.iter().rev().find(is_bye)?;
    let said = call.ladder.text_of(bye);
    // Nearly always nothing is said, and nothing has to be searched.
    let mut said = (!said.is_empty()).then(|| said.split(REMARK_SEPARATOR)).into_iter().flatten();
    let reason = said.find(|text| says_expired(text))?;
    let since =
        call.answer_ns.map_or_else(String::new, |answer| format!(", {} after the answer", seconds(bye.at_ns - answer)));
    let text = format!(
        "The session timer ended the call: {} hung up{since}, because no refresh came in time (its reason: {reason}). \
         Check whether the refresh (INVITE or UPDATE within the call, RFC 4028) is sent, and answered, and whether a \
         firewall closes the way in the meantime.",
        host(call, bye.src)
    );
    verdict("session-expired", text, vec![bye.packet])
}

/// A Reason (RFC 3326) as the ladder has it, `SIP cause 408: Session timer expired`: of a timeout, or in words.
fn says_expired(text: &str) -> bool {
    let Some((_, cause)) = text.split_once("SIP cause ") else { return false };
    let words = cause.to_ascii_lowercase();
    let session =
        words.contains("session") && ["timer", "expire", "timeout", "refresh"].iter().any(|w| words.contains(w));
    session || words.trim() == "408"
}

pub fn transfer_failed(case: &Case<'_>) -> Option<Verdict> {
    let transfer = case.facts.troubles.as_ref()?.transfer?;
    let call = case.call;
    let refers = |m: &Message| m.method == Method::Refer as u8;
    let refer = call.ladder.messages.iter().rev().find(|m| refers(m) && m.status == 0);
    let asked =
        refer.map(|m| format!("{} asked {} to call somebody else (REFER), and ", host(call, m.src), host(call, m.dst)));
    let told = call.ladder.messages.iter().rev().find(|m| match transfer.notified {
        true => m.method == Method::Notify as u8 && m.status == 0,
        false => refers(m) && m.status == transfer.status,
    })?;
    let said = call.ladder.text_of(told);
    let said = said.split(REMARK_SEPARATOR).find_map(|text| text.strip_prefix("SIP/2.0 ")).unwrap_or_default();
    let said = if said.is_empty() { transfer.status.to_string() } else { said.to_owned() };
    let (what, check) = match transfer.notified {
        true => ("that ended with", "Check the call to the target of the transfer, and what refused it"),
        false => ("it was refused with", "Check whether transfers are allowed there, and need credentials"),
    };
    let text = format!("The transfer failed: {}{what} {said}. {check}.", asked.unwrap_or_default());
    verdict("transfer-failed", text, refer.into_iter().chain([told]).map(|m| m.packet).collect())
}

pub fn unknown_dialog(case: &Case<'_>) -> Option<Verdict> {
    if !case.facts.troubles.as_ref()?.bye_unknown {
        return None;
    }
    let call = case.call;
    let byes = || call.ladder.messages.iter().filter(|m| m.method == Method::Bye as u8);
    let answer = byes().find(|m| m.status == 481)?;
    // Both hung up at once, or it was known on another try. What had its answer before is the BYE to another target.
    let asked = |m: &&Message| m.status == 0 && m.dst == answer.src && m.cseq == answer.cseq;
    let asked_ns = byes().find(asked).map_or(i64::MIN, |m| m.at_ns);
    let had_answer =
        |bye: &Message| byes().any(|m| m.status >= 200 && m.dst == bye.src && m.cseq == bye.cseq && m.at_ns < asked_ns);
    let crossed = byes().any(|m| m.status == 0 && m.src == answer.src && m.cseq != answer.cseq && !had_answer(m));
    // What another target accepted before, which had taken the call as well, says nothing.
    let is_known = |m: &Message| (200..300).contains(&m.status) && (m.src == answer.src || m.at_ns > answer.at_ns);
    if crossed || byes().any(is_known) {
        return None;
    }
    let text = format!(
        "{} does not know the call that {} wanted to end: it answered the BYE with 481. It had given the call up \
         before, was restarted, or the BYE went to the wrong server; check its log, and tags and Route of the BYE.",
        host(call, answer.src),
        host(call, answer.dst)
    );
    verdict("unknown-dialog", text, byes().map(|m| m.packet).collect())
}

/// Requests alone were captured, and they tell of an answer.
pub fn one_direction(case: &Case<'_>) -> Option<Verdict> {
    let call = case.call;
    if !case.facts.one_direction {
        return None;
    }
    let streams = call.streams.iter().filter(|s| s.direction == Direction::Callee && s.packets > 0).count();
    let text = format!(
        "One direction alone was captured: {} sent {} and no response of {} was seen, though the call was answered. \
         {}Check that the mirror port copies both directions.",
        call.src,
        counted(call.ladder.messages.len() as u64, "message"),
        call.dst,
        if streams == 0 { "What the callee heard and sent is not known. " } else { "" }
    );
    verdict("not-captured", text, packets_of(call, |m| m.status == 0))
}
