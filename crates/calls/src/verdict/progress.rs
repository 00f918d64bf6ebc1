//! Rules about calls that do not come further: dead air after 100, credentials that are refused, endless ringing.

use super::{Case, host, is_invite, packets_of, seconds, status, unreached, verdict};
use trunkline_store::row::{Call, CallState, Message, Verdict};
use trunkline_wire::sip::Method;

/// Nothing but 100 for longer than this is dead air: ITU-T E.721 asks for an audible sign within 8 s, 11 s at most.
const DEAD_AIR_NS: i64 = 8_000_000_000;
/// Ringing for longer than this was forgotten: timer C of proxies (RFC 3261 section 16.6) is above 3 minutes, and those
/// that are set to it end the call soon after.
const RINGING_NS: i64 = 185_000_000_000;

pub fn no_progress(case: &Case<'_>) -> Option<Verdict> {
    let call = case.call;
    let waited = matches!(call.state, CallState::Trying | CallState::Cancelled);
    if !waited || call.ringing_ns.is_some() || case.facts.responses == 0 {
        return None;
    }
    let messages = &call.ladder.messages;
    let invite = messages.iter().rev().find(|m| is_invite(m))?;
    let (of, cseq) = (|m: &&Message| m.method == Method::Invite as u8, invite.cseq);
    let first = messages.iter().filter(of).find(|m| (100..200).contains(&m.status) && m.cseq == cseq)?;
    let cancel = messages.iter().find(|m| m.method == Method::Cancel as u8 && m.status == 0 && m.cseq == cseq);
    let end_ns = cancel.map(|m| m.at_ns).or(call.end_ns).unwrap_or(case.tap.until_ns);
    let silence_ns = end_ns.saturating_sub(first.at_ns);
    if silence_ns < DEAD_AIR_NS {
        return None;
    }
    let end = match call.state {
        CallState::Cancelled => "the caller gave up",
        _ => "no more of it was seen",
    };
    let text = format!(
        "Dead air: {} said {} and nothing else for {}; {end}. {}",
        call.dst,
        super::setup::provisional(first.status),
        seconds(silence_ns),
        match unreached::invite(case) {
            Some(u) => format!(
                "Its INVITE to {} did not arrive. {}. {}",
                u.what.to,
                unreached::told(&u.what),
                unreached::check(&u.what)
            ),
            None => further(call, invite),
        }
    );
    let shown = [Some(invite), Some(first), cancel].into_iter().flatten().map(|m| m.packet);
    let packets = shown.chain(unreached::invite(case).map(|u| u.packet)).collect();
    verdict("no-progress", text, packets)
}

/// Where the call got stuck, and so what to look at.
fn further(call: &Call, invite: &Message) -> String {
    let next = host(call, invite.dst);
    if next == call.dst {
        return format!("Check where {next} sends the call on: who comes next is silent, and not in this capture.");
    }
    let answers = call.ladder.messages.iter().any(|m| m.status > 0 && m.src == invite.dst && m.cseq == invite.cseq);
    match answers {
        true => {
            format!("It sent the call on to {next}, which said no more either. Check {next}, and what comes behind.")
        }
        false => {
            format!("It sent the call on to {next}, which does not answer at all. Check {next} and the way there.")
        }
    }
}

pub fn credentials_refused(case: &Case<'_>) -> Option<Verdict> {
    let (call, credentials) = (case.call, case.facts.credentials);
    if call.state != CallState::AuthChallenged || !credentials.refused {
        return None;
    }
    let challenges = |m: &Message| m.method == Method::Invite as u8 && m.status == credentials.challenge;
    let last = call.ladder.messages.iter().rev().find(|m| challenges(m))?;
    let who = call.ladder.hosts.get(usize::from(last.src)).copied().unwrap_or(call.dst);
    let said = status(call.code, &call.reason);
    let packets = packets_of(call, challenges);
    if credentials.stale {
        let text = format!(
            "The call failed: to {who} the nonce of the credentials was too old ({said}), and the caller did not try \
             again with the new one. The password was not refused: the nonce lives too short, or servers behind that \
             address do not share it."
        );
        return verdict("stale-nonce", text, packets);
    }
    let text = format!(
        "The call failed: {who} refused the credentials of {} ({said} again after they were sent). Check user name, \
         password and realm there and at the caller.",
        if call.from.is_empty() { "the caller" } else { &call.from }
    );
    verdict("credentials-refused", text, packets)
}

pub fn long_ringing(case: &Case<'_>) -> Option<Verdict> {
    let call = case.call;
    // What plays before the answer (183) may be a queue as well as a ringing tone.
    let rings = |m: &Message| m.method == Method::Invite as u8 && m.status == 180;
    let rang = call.ladder.messages.iter().find(|m| rings(m))?.at_ns;
    let end_ns = call.answer_ns.or(call.end_ns).unwrap_or(call.last_ns);
    if end_ns.saturating_sub(rang) <= RINGING_NS {
        return None;
    }
    let end = match call.answer_ns {
        Some(_) => "until it was answered",
        None => "and nobody took the call",
    };
    let text = format!(
        "It rang for {} {end}. Check that {} diverts calls that nobody takes, and the time that proxies on the way let \
         a call ring (timer C, 3 minutes).",
        seconds(end_ns - rang),
        call.dst
    );
    verdict("long-ringing", text, packets_of(call, rings))
}
