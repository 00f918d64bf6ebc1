//! Verdicts: one sentence per bad call that says what is wrong, why we think so, and which packets show it.
//!
//! A rule looks at one closed call. The first rule of [`RULES`] that finds something gives the verdict: causes come
//! before their consequences. Each rule's thresholds are constants beside it; each has a simulated case that must
//! trigger it and one that must not.

mod astray;
mod audio;
mod carried;
mod connect;
mod described;
mod dialog;
mod fax;
mod ice;
mod keys;
mod progress;
mod receiver;
mod relayed;
mod setup;
mod talk;
mod unreached;

use crate::ledger::{Evidence, Tap};
use crate::signalling::Facts;
use crate::signalling::Registering;
use trunkline_store::row::{Call, Message, Verdict};
use trunkline_wire::Endpoint;
use trunkline_wire::sip::Method;

/// A call with all that is known of it.
pub struct Case<'a> {
    /// The row, all but its verdict.
    pub call: &'a Call,
    /// What signalling told besides.
    pub facts: &'a Facts,
    /// What is known of each of its streams besides, in their order.
    pub evidence: &'a [Evidence],
    /// Media was seen in this input: where there is none at all, its absence says nothing.
    pub media_seen: bool,
    /// What the tap did to it.
    pub tap: &'a Tap,
}

type Rule = fn(&Case<'_>) -> Option<Verdict>;

/// How bad it is for those who talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The call failed, or could not be used.
    Bad,
    /// The call may still have been a good one.
    Warn,
    /// It says something about the capture, and nothing against the call.
    Note,
}

/// All kinds of verdicts with what they weigh; those of registrations last. What shows verdicts has the same list
/// (`ui/src/pages/call/words.ts`); the tests of this crate compare the two.
pub const KINDS: &[(&str, Weight)] = &[
    ("no-response", Weight::Bad),
    ("failure-4xx", Weight::Bad),
    ("failure-5xx", Weight::Bad),
    ("failure-6xx", Weight::Bad),
    ("credentials-refused", Weight::Bad),
    ("no-progress", Weight::Bad),
    ("ack-lost", Weight::Bad),
    ("missing-ack", Weight::Warn),
    ("not-captured", Weight::Note),
    ("media-not-captured", Weight::Note),
    ("reinvite-refused", Weight::Warn),
    ("session-expired", Weight::Bad),
    ("no-audio", Weight::Bad),
    ("one-way-audio", Weight::Bad),
    ("audio-stopped", Weight::Bad),
    ("codec-mismatch", Weight::Bad),
    ("loss", Weight::Bad),
    ("lost-after-tap", Weight::Bad),
    ("fax-loss", Weight::Warn),
    ("jitter", Weight::Warn),
    ("late-audio", Weight::Warn),
    ("retransmission-storm", Weight::Warn),
    ("early-hangup", Weight::Warn),
    ("slow-setup", Weight::Warn),
    ("transfer-failed", Weight::Warn),
    ("unknown-dialog", Weight::Warn),
    ("long-ringing", Weight::Warn),
    ("registration-failed", Weight::Bad),
    ("stale-nonce", Weight::Warn),
];

/// What a kind weighs; none if there is no such kind.
pub fn weight_of(kind: &str) -> Option<Weight> {
    KINDS.iter().find(|(known, _)| *known == kind).map(|(_, weight)| *weight)
}

/// What a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The signalling at least.
    Call,
    /// Media that was seen: of a call without any it says nothing, and is not asked.
    Media,
}

/// All rules with the kinds that they give, causes first.
pub const RULES: &[(&[&str], Of, Rule)] = &[
    (&["no-response"], Of::Call, setup::no_response),
    (&["failure-4xx", "failure-5xx", "failure-6xx"], Of::Call, setup::failure),
    (&["credentials-refused", "stale-nonce"], Of::Call, progress::credentials_refused),
    (&["no-progress"], Of::Call, progress::no_progress),
    (&["ack-lost"], Of::Call, dialog::ack_lost),
    (&["missing-ack"], Of::Call, dialog::missing_ack),
    (&["not-captured"], Of::Call, dialog::one_direction),
    (&["reinvite-refused"], Of::Call, dialog::reinvite_refused),
    (&["reinvite-refused"], Of::Call, dialog::reinvite_unanswered),
    (&["session-expired"], Of::Call, dialog::session_expired),
    (&["not-captured"], Of::Call, audio::not_captured),
    (&["media-not-captured"], Of::Call, carried::media_carried),
    (&["no-audio"], Of::Call, keys::no_keys),
    (&["no-audio"], Of::Call, ice::no_way),
    (&["no-audio"], Of::Call, connect::no_connection),
    (&["no-audio", "one-way-audio"], Of::Media, unreached::media),
    (&["media-not-captured"], Of::Call, audio::media_not_captured),
    (&["media-not-captured"], Of::Media, astray::media_left),
    (&["no-audio"], Of::Call, audio::no_audio),
    (&["no-audio"], Of::Call, described::nothing_agreed),
    (&["one-way-audio"], Of::Media, audio::one_way_audio),
    (&["no-audio", "one-way-audio"], Of::Media, astray::to_private_address),
    (&["one-way-audio"], Of::Media, relayed::relay_is_silent),
    (&["one-way-audio", "no-audio", "audio-stopped"], Of::Media, talk::one_way_from),
    (&["audio-stopped"], Of::Media, talk::audio_stopped),
    (&["codec-mismatch"], Of::Media, audio::codec_mismatch),
    (&["codec-mismatch"], Of::Media, described::codec_taken_away),
    (&["loss"], Of::Media, audio::loss),
    (&["lost-after-tap"], Of::Media, receiver::lost_after_tap),
    (&["fax-loss"], Of::Media, fax::one_way),
    (&["fax-loss"], Of::Media, fax::fax_loss),
    (&["not-captured"], Of::Media, audio::lost_by_capture),
    (&["jitter"], Of::Media, audio::jitter),
    (&["late-audio"], Of::Media, talk::late_audio),
    (&["missing-ack"], Of::Call, dialog::other_unacknowledged),
    (&["retransmission-storm"], Of::Call, setup::retransmission_storm),
    (&["early-hangup"], Of::Call, setup::early_hangup),
    (&["slow-setup"], Of::Call, setup::slow_setup),
    (&["transfer-failed"], Of::Call, dialog::transfer_failed),
    (&["unknown-dialog"], Of::Call, dialog::unknown_dialog),
    (&["long-ringing"], Of::Call, progress::long_ringing),
    (&["media-not-captured"], Of::Call, audio::no_media_captured),
];

/// What is wrong with the media of a call, or was not captured of it: what concerns each call that has a part in it.
const OF_MEDIA: &[&str] = &[
    "not-captured",
    "no-audio",
    "one-way-audio",
    "audio-stopped",
    "codec-mismatch",
    "loss",
    "lost-after-tap",
    "fax-loss",
    "jitter",
    "late-audio",
];

/// A verdict and the place of its rule.
pub type Judged = (usize, Verdict);

/// The verdict on a call; none if nothing is wrong that a rule knows.
pub fn judge(case: &Case<'_>) -> Option<Judged> {
    let is_bare = audio::is_bare(case);
    let of_media = || RULES.iter().filter(|(_, of, _)| *of == Of::Media);
    debug_assert!(!is_bare || of_media().all(|(.., rule)| rule(case).is_none()), "a rule that needs no media");
    for (at, (_, of, rule)) in RULES.iter().enumerate() {
        if (*of == Of::Call || !is_bare)
            && let Some(verdict) = rule(case)
        {
            return Some((at, verdict));
        }
    }
    None
}

/// The verdict on a call by the rules of media alone.
pub fn judge_media(case: &Case<'_>) -> Option<Judged> {
    let of_media = |kinds: &[&str]| kinds.iter().all(|kind| OF_MEDIA.contains(kind));
    let rules = RULES.iter().enumerate().filter(|(_, (kinds, ..))| of_media(kinds));
    rules.into_iter().find_map(|(at, (.., rule))| Some((at, rule(case)?)))
}

/// Of two verdicts on a call that of the earlier rule.
pub fn first_of(one: Option<Judged>, other: Option<Judged>) -> Option<Verdict> {
    match (one, other) {
        (Some((at, _)), Some((earlier, verdict))) if earlier < at => Some(verdict),
        (None, Some((_, verdict))) => Some(verdict),
        (one, _) => one.map(|(_, verdict)| verdict),
    }
}

/// Packets that a verdict names at most.
const EVIDENCE_MAX: usize = 16;

fn verdict(kind: &str, text: String, mut packets: Vec<u64>) -> Option<Verdict> {
    packets.sort_unstable();
    packets.dedup();
    packets.truncate(EVIDENCE_MAX);
    debug_assert!(weight_of(kind).is_some(), "{kind} has no weight");
    Some(Verdict { kind: kind.to_owned(), text, packets })
}

/// Numbers of the packets with messages that `wanted` picks.
fn packets_of(call: &Call, wanted: impl Fn(&Message) -> bool) -> Vec<u64> {
    call.ladder.messages.iter().filter(|m| wanted(m)).map(|m| m.packet).collect()
}

/// A host of the ladder, by its place.
fn host(call: &Call, at: u8) -> Endpoint {
    call.ladder.hosts.get(usize::from(at)).copied().unwrap_or_default()
}

/// Whether a message of a ladder is an INVITE, not a response to one.
fn is_invite(message: &Message) -> bool {
    message.method == Method::Invite as u8 && message.status == 0
}

/// Seconds with one decimal.
fn seconds(ns: i64) -> String {
    format!("{:.1} s", ns as f64 / 1e9)
}

/// A number of things.
pub fn counted(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// A status code and its reason phrase, which may be empty.
fn status(code: u16, reason: &str) -> String {
    format!("{code} {reason}").trim_end().to_owned()
}

/// The verdict on a registration; none if it succeeded, was given up before an answer could come, or was challenged
/// and not tried again.
pub fn registration_verdict(r: &Registering) -> Option<Verdict> {
    let row = &r.row;
    let packets = r.packets.iter().copied().filter(|p| *p > 0).collect();
    let text = match row.code {
        0 if row.requests >= 3 => format!(
            "Registration of {} got no answer: {} sent {} requests to {} and nothing came back.",
            row.user, row.src, row.requests, row.dst
        ),
        0..=299 => return None,
        401 | 407 if !r.credentials => return None,
        401 | 407 if r.stale > 0 => return verdict("stale-nonce", stale_nonce(r), packets),
        401 | 407 => format!(
            "Registration of {} failed: {} refused the credentials ({}){}. Wrong password or user name.",
            row.user,
            row.dst,
            status(row.code, &row.reason),
            if row.requests > 1 { format!(" after {} requests", row.requests) } else { String::new() }
        ),
        code => format!("Registration of {} failed: {} answered {}.", row.user, row.dst, status(code, &row.reason)),
    };
    verdict("registration-failed", text, packets)
}

/// The server took no offence at the password: the nonce was too old when the credentials came (RFC 7616 section 3.3).
fn stale_nonce(r: &Registering) -> String {
    let row = &r.row;
    let after = r.met_after_ns.map_or_else(String::new, |ns| format!(", {} after the challenge", seconds(ns)));
    let cause = match r.stale {
        1 => "the client did not try again with the new one".to_owned(),
        n => format!("so it went {n} times: it lives too short, or servers behind that address do not share it"),
    };
    format!(
        "Registration of {} failed: to {} the nonce was too old{after} ({}); {cause}. The password was not refused.",
        row.user,
        row.dst,
        status(row.code, &row.reason)
    )
}
