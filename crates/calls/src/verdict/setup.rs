//! Rules about how a call was set up and taken down.

use super::{Case, is_invite, packets_of, seconds, status, unreached, verdict};
use crate::signalling::{REMARK_SEPARATOR, Unreached};
use trunkline_store::row::{Call, CallState, Direction, Hangup, Message, Verdict};
use trunkline_wire::Endpoint;
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
/// Over a reliable transport an INVITE is sent once, and given up after this: 64 * T1 (RFC 3261 section 17.1.1.2).
const TIMER_B_NS: i64 = 32_000_000_000;

pub fn no_response(case: &Case<'_>) -> Option<Verdict> {
    let (call, facts) = (case.call, case.facts);
    if facts.responses > 0 {
        return None;
    }
    if let Some(unreached) = unreached::invite(case).filter(|_| is_unanswered(call)) {
        return not_arrived(case, unreached);
    }
    // Who gives up without having heard anything was not answered either.
    if !is_unanswered(call) {
        return None;
    }
    let reliable = || {
        let mut asked = call.ladder.messages.iter().filter(|m| is_invite(m));
        asked.all(|m| m.flags & Message::TCP != 0) && case.tap.until_ns.saturating_sub(call.start_ns) >= TIMER_B_NS
    };
    // What gave up repeats its CANCEL as well.
    let repeats = match call.state {
        CallState::Attempted => facts.request_repeats,
        _ => invite_repeats(call),
    };
    let sent = match () {
        () if repeats >= UNANSWERED_REPEATS => format!("the INVITE {} times", repeats + 1),
        () if call.state == CallState::Attempted && reliable() => {
            "the INVITE over a connection, and waited for 32 s or more,".to_owned()
        }
        () => return None,
    };
    let thin = match facts.responses_pass {
        true => String::new(),
        false => {
            " This capture holds no response of any call until then: perhaps it saw one direction alone.".to_owned()
        }
    };
    let text = format!(
        "{} did not answer: {} sent {sent} and nothing came back. Check whether SIP runs there, and the way there and \
         back.{thin}",
        call.dst, call.src
    );
    verdict("no-response", text, packets_of(call, |m| m.status == 0))
}

/// How often the caller repeated its INVITE.
fn invite_repeats(call: &Call) -> u32 {
    let again =
        |m: &&Message| is_invite(m) && m.flags & Message::RETRANSMISSION != 0 && super::host(call, m.dst) == call.dst;
    u32::try_from(call.ladder.messages.iter().filter(again).count()).unwrap_or(u32::MAX)
}

/// Nothing came of it, or the caller gave up.
fn is_unanswered(call: &Call) -> bool {
    matches!(call.state, CallState::Attempted | CallState::Cancelled)
}

/// Nothing came back but ICMP, which says why.
fn not_arrived(case: &Case<'_>, unreached: &Unreached) -> Option<Verdict> {
    let what = &unreached.what;
    let sent = match case.facts.request_repeats {
        0 => String::new(),
        n => format!(" {} times", n + 1),
    };
    let text = format!(
        "{} did not answer: {} sent the INVITE{sent}, and it did not arrive. {}. {}",
        what.to,
        what.from,
        unreached::told(what),
        unreached::check(what)
    );
    let mut packets = packets_of(case.call, |m| m.status == 0);
    packets.push(unreached.packet);
    verdict("no-response", text, packets)
}

pub fn failure(case: &Case<'_>) -> Option<Verdict> {
    let call = case.call;
    // Where it rang, a proxy that gave up waiting says that nobody took the call.
    let nobody_there = call.code == 408 && call.ringing_ns.is_some();
    if call.state != CallState::Rejected || nobody_there || matches!(call.code, 486 | 487 | 600) || is_declined(call) {
        return None;
    }
    let refusal = call.ladder.messages.iter().find(|m| m.status == call.code);
    let before = refusal.and_then(|m| refused_before(call, m));
    // Where nobody is there all is well, unless that is what somebody makes of a gateway that failed.
    let code = match call.code {
        480 => {
            before.filter(|first| (500..600).contains(&first.status) && all_failed(call)).map(|first| first.status)?
        }
        code => code,
    };
    let kind = match code {
        400..=499 => "failure-4xx",
        500..=599 => "failure-5xx",
        _ => "failure-6xx",
    };
    let mut evidence = packets_of(call, |m| m.status == call.code && m.method == Method::Invite as u8);
    let who = refusal.and_then(|m| call.ladder.hosts.get(usize::from(m.src))).copied().unwrap_or(call.dst);
    let mut cause = refusal.map_or_else(String::new, |m| cause_of(call, m));
    // The one who refuses had no luck with the next one.
    let next = |u: &&Unreached| matches!(call.code, 408 | 500..) && u.what.from.address == who.address;
    if let Some(unreached) = unreached::invite(case).filter(next) {
        cause.push_str(&format!(
            " Its INVITE to {} did not arrive: {}.",
            unreached.what.to,
            unreached::told(&unreached.what)
        ));
        evidence.push(unreached.packet);
    }
    let said = status(call.code, &call.reason);
    if before.is_none() && matches!(call.code, 408 | 504) {
        cause.push_str(&refusal.and_then(|m| waited_for(call, m)).unwrap_or_default());
    }
    let why = match before {
        // Of what the next one said another code may be made (RFC 3261 section 16.7 step 6).
        Some(first) => {
            evidence.push(first.packet);
            cause.push_str(&cause_of(call, first));
            let (next, code) = (super::host(call, first.src), first.status);
            format!(", after {next} had refused it with {code}{}", meaning(code, &call.to))
        }
        None => meaning(call.code, &call.to),
    };
    let text = format!("{who} refused the call with {said}{why}.{cause}");
    verdict(kind, text, evidence)
}

/// It rang where somebody then wished no call (RFC 3261 section 21.6.2). What blocks calls in their stead says so
/// before it rings, or in words of its own.
fn is_declined(call: &Call) -> bool {
    let plain = ["", "decline", "declined"].iter().any(|phrase| call.reason.eq_ignore_ascii_case(phrase));
    if call.code != 603 || !plain {
        return false;
    }
    let Some(refusal) = call.ladder.messages.iter().find(|m| m.status == 603) else { return false };
    let before = call.ladder.messages.iter().take_while(|m| m.packet < refusal.packet);
    before.filter(|m| m.src == refusal.src).any(|m| matches!(m.status, 180 | 183))
}

/// All that next ones said of the call is that they failed: nobody was asked who might not be there.
fn all_failed(call: &Call) -> bool {
    let finals = call.ladder.messages.iter().filter(|m| m.method == Method::Invite as u8 && m.status >= 300);
    let mut inner = finals.filter(|m| m.status != call.code && !matches!(m.status, 401 | 407 | 487));
    call.ringing_ns.is_none() && inner.all(|m| (500..600).contains(&m.status))
}

/// Whom the one who gives up had asked in vain.
fn waited_for(call: &Call, refusal: &Message) -> Option<String> {
    let before = || call.ladder.messages.iter().take_while(|m| m.packet < refusal.packet);
    let asked = |m: &&Message| is_invite(m) && m.src == refusal.src;
    let last = before().filter(asked).last()?;
    if before().any(|m| m.src == last.dst) {
        return None;
    }
    let times = before().filter(asked).filter(|m| m.dst == last.dst).count() as u64;
    let next = super::host(call, last.dst);
    Some(format!(" It had sent the INVITE {} to {next}, which did not answer at all.", super::counted(times, "time")))
}

/// What the one who refuses was told before by the next one, where it makes another code of it.
fn refused_before<'a>(call: &'a Call, refusal: &Message) -> Option<&'a Message> {
    let host = |at: u8| super::host(call, at).address;
    let is_final = |m: &&Message| m.method == Method::Invite as u8 && m.status >= 300;
    let before = call.ladder.messages.iter().take_while(|m| m.packet < refusal.packet).filter(is_final);
    let told = before.filter(|m| host(m.dst) == host(refusal.src) && host(m.src) != host(refusal.src));
    // A redirection that was followed, a challenge that was met, a branch that the proxy itself ended are no cause.
    let last = told.filter(|m| m.status >= 400 && !matches!(m.status, 401 | 407 | 487)).last()?;
    (last.status != refusal.status).then_some(last)
}

/// The cause that a refusal carries (Reason, Warning), as the ladder has it.
fn cause_of(call: &Call, message: &Message) -> String {
    let remarks = call.ladder.text_of(message).split(REMARK_SEPARATOR).skip(1);
    let given = remarks.filter(|r| r.contains(" cause ") || r.starts_with("Warning "));
    given.fold(String::new(), |text, remark| format!("{text} It says: {remark}."))
}

/// What a status code usually means for the one who looks for the cause (RFC 3261 section 21).
fn meaning(code: u16, to: &str) -> String {
    let text = match code {
        400 | 416 | 420 | 421 | 513 => "it did not understand the request",
        403 => "it understood the request and does not allow it",
        404 | 604 if !to.is_empty() => return format!(": it does not know {to}"),
        404 | 604 => "it does not know the number",
        408 => "it gave up waiting for the next hop",
        410 => "the number is not in use any more",
        415 | 488 | 606 => "it accepts none of the codecs that were offered",
        481 => "it does not know the dialog",
        482 | 483 => "the call was routed in a circle",
        484 => "the number is not complete",
        500 => "it failed inside",
        502 | 504 => "the next hop did not do its part",
        503 => "it is overloaded or has no way to go on",
        603 => "the called party declined",
        _ => return String::new(),
    };
    format!(": {text}")
}

pub fn retransmission_storm(case: &Case<'_>) -> Option<Verdict> {
    let (repeats, method) = case.facts.worst_repeats;
    if repeats < STORM_REPEATS {
        return None;
    }
    let call = case.call;
    let again = |m: &Message| m.flags & Message::RETRANSMISSION != 0 && m.status == 0 && m.method == method;
    // On one hop, and not to a target that is of no account.
    let all = || call.ladder.messages.iter().filter(|m| again(m) && !was_asked_in_vain(call, m));
    let on_hop = |of: &Message| all().filter(|m| (m.src, m.dst, m.cseq) == (of.src, of.dst, of.cseq)).count();
    let worst = all().map(|m| (on_hop(m), m)).reduce(|worst, other| if other.0 > worst.0 { other } else { worst });
    let repeats = match worst {
        Some((repeats, _)) if call.ladder.not_kept == 0 => u32::try_from(repeats).unwrap_or(u32::MAX),
        // A ladder that is full does not show them all.
        _ if call.ladder.not_kept > 0 => repeats,
        _ => return None,
    };
    if repeats < STORM_REPEATS {
        return None;
    }
    let evidence = packets_of(call, again);
    let end = |at: Option<u8>| at.and_then(|h| call.ladder.hosts.get(usize::from(h))).map(ToString::to_string);
    let text = format!(
        "Retransmission storm: {} sent the same {} to {} {} times; its answer does not arrive.",
        end(worst.map(|(_, m)| m.src)).unwrap_or_default(),
        Message::METHODS.get(usize::from(method)).copied().unwrap_or("request"),
        end(worst.map(|(_, m)| m.dst)).unwrap_or_default(),
        repeats + 1
    );
    verdict("retransmission-storm", text, evidence)
}

/// An INVITE to a target that says nothing at all while another one takes the call, or rings: a registration that is
/// left over. The caller hears nothing of it.
fn was_asked_in_vain(call: &Call, invite: &Message) -> bool {
    let says_nothing = || call.ladder.messages.iter().all(|m| m.src != invite.dst);
    let goes_on = call.ringing_ns.or(call.answer_ns).is_some();
    invite.method == Method::Invite as u8 && goes_on && says_nothing()
}

pub fn early_hangup(case: &Case<'_>) -> Option<Verdict> {
    let call = case.call;
    let (answer, end) = call.answer_ns.zip(call.end_ns)?;
    // Who gave up before, and whose CANCEL crossed the answer, has to hang up at once (RFC 3261 section 9.1).
    let gave_up = || call.ladder.messages.iter().any(|m| m.method == Method::Cancel as u8 && m.at_ns <= answer);
    if call.state != CallState::Completed || end - answer >= EARLY_HANGUP_NS || gave_up() {
        return None;
    }
    let text = match call.hangup {
        Hangup::Caller => format!("{} hung up {} after ", who("The caller", &call.from), seconds(end - answer)),
        Hangup::Callee => format!("{} hung up {} after ", who("The callee", &call.to), seconds(end - answer)),
        Hangup::None => format!("The call ended {} after ", seconds(end - answer)),
    };
    let bye = call.ladder.messages.iter().find(|m| m.method == Method::Bye as u8 && m.status == 0);
    // That a call was cleared in the normal way says nothing (ITU-T Q.850: 16).
    let cause = bye.map_or_else(String::new, |m| cause_of(call, m));
    let cause = if cause.contains("Q.850 cause 16") { "" } else { &cause };
    let text = format!("{text}the answer of {}.{}{cause}", call.dst, heard(case));
    let evidence = packets_of(call, |m| m.method == Method::Bye as u8 || Some(m.at_ns) == call.answer_ns);
    verdict("early-hangup", text, evidence)
}

/// `The caller +442079460123`.
fn who(party: &str, user: &str) -> String {
    if user.is_empty() { party.to_owned() } else { format!("{party} {user}") }
}

/// Whose audio was there before the call was hung up; nothing where the input has no media at all.
fn heard(case: &Case<'_>) -> &'static str {
    let own = |direction: Direction| case.call.streams.iter().any(|s| s.direction == direction && s.packets > 0);
    let [caller, callee] = case.tap.elsewhere.map(|packets| packets > 0);
    match (caller || own(Direction::Caller), callee || own(Direction::Callee)) {
        _ if !case.media_seen => "",
        (true, true) => " Both sides had sent audio.",
        (true, false) => " No audio of the callee was seen.",
        (false, true) => " No audio of the caller was seen.",
        (false, false) => " No audio was seen.",
    }
}

pub fn slow_setup(case: &Case<'_>) -> Option<Verdict> {
    let call = case.call;
    call.ringing_ns.or(call.answer_ns)?;
    let sign = told_caller(call)?;
    let rang = sign.at_ns;
    // A challenge and the time that the caller took to meet it are not the other side's: what counts is the INVITE that
    // was let through, which has the CSeq of the response.
    let asked = |m: &&Message| is_invite(m) && m.cseq == sign.cseq;
    let invites = || call.ladder.messages.iter().filter(asked);
    // A client that goes on to another server sends it the same INVITE (RFC 3263 section 4.3).
    let own = invites().find(|m| m.dst == sign.src);
    let invite = own.or_else(|| invites().next())?;
    let who = own.and_then(|m| call.ladder.hosts.get(usize::from(m.dst))).copied().unwrap_or(call.dst);
    let took = rang - invite.at_ns;
    if took <= SLOW_SETUP_NS {
        return asked_in_vain(call, sign, invite);
    }
    let text = format!("{who} took {} from the INVITE to {}.", seconds(took), provisional(sign.status));
    verdict("slow-setup", text, vec![invite.packet, sign.packet])
}

/// Another server was asked first, which never said anything: the caller waited for it.
fn asked_in_vain(call: &Call, sign: &Message, invite: &Message) -> Option<Verdict> {
    let first = call.ladder.messages.iter().find(|m| is_invite(m))?;
    let waited_ns = sign.at_ns - first.at_ns;
    let says_nothing = || call.ladder.messages.iter().all(|m| m.src != first.dst);
    if (first.src, sign.dst) != (invite.src, invite.src) || waited_ns <= SLOW_SETUP_NS || !says_nothing() {
        return None;
    }
    let text = format!(
        "The caller waited {} for {}: {} did not answer the INVITE, and {} was asked {} later.",
        seconds(waited_ns),
        provisional(sign.status),
        super::host(call, first.dst),
        super::host(call, invite.dst),
        seconds(invite.at_ns - first.at_ns)
    );
    verdict("slow-setup", text, vec![first.packet, invite.packet, sign.packet])
}

/// The first that the caller is told of what became of its INVITE: it rings, is forwarded, or waits in a queue (RFC
/// 3261 sections 21.1.2 to 21.1.5), or the answer. What proxies are told, it does not know yet.
fn told_caller(call: &Call) -> Option<&Message> {
    let says = |m: &&Message| m.method == Method::Invite as u8 && matches!(m.status, 180..=183 | 200..=299);
    let to =
        |is: &dyn Fn(Endpoint) -> bool| call.ladder.messages.iter().filter(says).find(|m| is(super::host(call, m.dst)));
    // Over TCP and behind NAT the caller's port may be another one.
    let at_host = |host: Endpoint| host.address == call.src.address;
    to(&|host| host == call.src).or_else(|| to(&at_host)).or_else(|| to(&|_| true))
}

/// What a response that is no refusal is called.
pub fn provisional(status: u16) -> &'static str {
    match status {
        100 => "100 Trying",
        180 => "180 Ringing",
        181 => "181 Call Is Being Forwarded",
        182 => "182 Queued",
        183 => "183 Session Progress",
        101..=199 => "a provisional response",
        _ => "the answer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signalling::Facts;
    use trunkline_store::row::{Call, Ladder};

    const SECOND: i64 = 1_000_000_000;

    /// A ladder of `(second, "INVITE" or a status, CSeq)`; packets are counted from 1.
    fn call(steps: &[(i64, u16, u32)]) -> Call {
        let message = |(i, (at, status, cseq)): (usize, &(i64, u16, u32))| Message {
            at_ns: at * SECOND,
            status: *status,
            cseq: *cseq,
            method: Method::Invite as u8,
            packet: i as u64 + 1,
            ..Message::default()
        };
        let messages = steps.iter().enumerate().map(message).collect();
        let at = |status: u16| steps.iter().find(|s| s.1 == status).map(|s| s.0 * SECOND);
        Call {
            start_ns: steps[0].0 * SECOND,
            ringing_ns: at(180).or(at(183)),
            answer_ns: at(200),
            from: "1001".into(),
            to: "1002".into(),
            dst: "192.0.2.2:5060".parse().unwrap(),
            ladder: Ladder { messages, ..Ladder::default() },
            ..Call::default()
        }
    }

    fn told(rule: fn(&Case<'_>) -> Option<Verdict>, call: &Call) -> Option<(String, Vec<u64>)> {
        let facts = Facts::default();
        rule(&Case { call, facts: &facts, evidence: &[], media_seen: true, tap: &Default::default() })
            .map(|v| (v.text, v.packets))
    }

    #[test]
    fn slow_is_the_other_side_not_the_caller_who_met_a_challenge_late() {
        let late = call(&[(0, 0, 1), (0, 407, 1), (17, 0, 2), (18, 183, 2)]);
        assert_eq!(told(slow_setup, &late), None);
        let slow = call(&[(0, 0, 1), (0, 407, 1), (1, 0, 2), (12, 183, 2)]);
        let text = "192.0.2.2:5060 took 11.0 s from the INVITE to 183 Session Progress.".to_owned();
        assert_eq!(told(slow_setup, &slow), Some((text, vec![3, 4])));
        assert_eq!(told(slow_setup, &call(&[(0, 0, 1), (8, 180, 1)])), None);
        // The caller knew soon that it waits in a queue, or that the call is forwarded; or as late.
        assert_eq!(told(slow_setup, &call(&[(0, 0, 1), (1, 182, 1), (30, 180, 1)])), None);
        assert_eq!(told(slow_setup, &call(&[(0, 0, 1), (1, 181, 1), (20, 182, 1), (30, 200, 1)])), None);
        let text = "192.0.2.2:5060 took 12.0 s from the INVITE to 182 Queued.".to_owned();
        assert_eq!(told(slow_setup, &call(&[(0, 0, 1), (12, 182, 1), (30, 180, 1)])), Some((text, vec![1, 2])));
    }

    #[test]
    fn early_hangup_says_who_and_what_had_been_heard() {
        let mut early = call(&[(0, 0, 1), (4, 200, 1)]);
        (early.state, early.end_ns, early.hangup) = (CallState::Completed, Some(5 * SECOND), Hangup::Caller);
        let text = "The caller 1001 hung up 1.0 s after the answer of 192.0.2.2:5060. No audio was seen.".to_owned();
        assert_eq!(told(early_hangup, &early), Some((text, vec![2])));
    }

    #[test]
    fn a_refusal_names_what_was_not_found() {
        let mut refused = call(&[(0, 0, 1), (1, 404, 1)]);
        (refused.state, refused.code, refused.reason) = (CallState::Rejected, 404, "Not Found".into());
        let text = "192.0.2.2:5060 refused the call with 404 Not Found: it does not know 1002.".to_owned();
        assert_eq!(told(failure, &refused), Some((text, vec![2])));
    }

    /// A call over a proxy, to which the gateway says so much, that ends for the caller with this code.
    fn refused(by_gateway: &[u16], code: u16) -> String {
        let mut steps = vec![(0, 0, 1)];
        steps.extend(by_gateway.iter().map(|status| (1, *status, 1)));
        steps.push((2, code, 1));
        let mut call = call(&steps);
        let hosts = ["192.0.2.1:5060", "192.0.2.2:5060", "192.0.2.3:5060"];
        call.ladder.hosts = hosts.map(|host| host.parse().unwrap()).to_vec();
        let last = call.ladder.messages.len() - 1;
        for (at, m) in call.ladder.messages.iter_mut().enumerate() {
            (m.src, m.dst) = if at == 0 {
                (0, 1)
            } else if at == last {
                (1, 0)
            } else {
                (2, 1)
            };
        }
        (call.state, call.code) = (CallState::Rejected, code);
        told(failure, &call).unwrap().0
    }

    #[test]
    fn a_refusal_names_what_the_next_hop_had_said() {
        assert_eq!(
            refused(&[100, 503], 500),
            "192.0.2.2:5060 refused the call with 500, after 192.0.2.3:5060 had refused it with 503: it is overloaded \
             or has no way to go on."
        );
        assert!(refused(&[480], 404).contains("404, after 192.0.2.3:5060 had refused it with 480."));
        assert!(refused(&[503], 480).contains("480, after 192.0.2.3:5060 had refused it with 503: it is overloaded"));
        // The same, sent on; a branch that was given up; a challenge; nothing.
        for before in [&[503][..], &[487], &[407], &[100, 180], &[302], &[]] {
            assert!(refused(before, 503).contains("503: it is overloaded"), "{before:?}");
        }
    }

    #[test]
    fn nobody_there_is_no_failure_and_silence_of_the_next_hop_is_told() {
        let mut call = call(&[(0, 0, 1), (1, 0, 1), (2, 0, 1), (31, 408, 1)]);
        call.ladder.hosts = ["192.0.2.1:5060", "192.0.2.2:5060", "192.0.2.3:5060"].map(|h| h.parse().unwrap()).to_vec();
        for (at, m) in call.ladder.messages.iter_mut().enumerate() {
            (m.src, m.dst) = [(0, 1), (1, 2), (1, 2), (1, 0)][at];
        }
        (call.state, call.code) = (CallState::Rejected, 408);
        let text = "192.0.2.2:5060 refused the call with 408: it gave up waiting for the next hop. It had sent the INVITE \
                    2 times to 192.0.2.3:5060, which did not answer at all.";
        assert_eq!(told(failure, &call).unwrap().0, text);
        // It says something; nobody is there.
        (call.ladder.messages[2].src, call.ladder.messages[2].dst, call.ladder.messages[2].status) = (2, 1, 100);
        assert!(!told(failure, &call).unwrap().0.contains("did not answer"));
        call.ladder.messages.iter_mut().filter(|m| m.status > 0).for_each(|m| m.status = 480);
        call.code = 480;
        assert_eq!(told(failure, &call), None);
    }
}
