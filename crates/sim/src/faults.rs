//! The faults of the world, what comes close to them, and the thresholds that tell the two apart. The one place where
//! thresholds stand.
//!
//! | kind | planted so | a near miss |
//! |---|---|---|
//! | `one-way-audio` | the caller's SDP says a private address and nothing comes back; or one side just does not send | a NAT that works; hold; an announcement (`sendonly`); early media of one side, never answered |
//! | the same | one side stops for good after a fifth to a half of the talk; does not come back after hold; sends a ringing tone and nothing after the answer | it stops 1-3 s before the BYE |
//! | the same | ICMP says of all that a side sends that it does not arrive; what is for the caller goes to its private address; a relay passes nothing more of a side on; a relay of TURN sends its client nothing | ICMP says so in the first second alone |
//! | `audio-stopped` | both sides stop 14 s and more before the BYE | 3-6 s before it |
//! | `late-audio` | the first audio of a side 4-9 s after the answer | 0.5-2 s after it |
//! | `no-audio` | answered, `sendrecv`, and no RTP at all; the DTLS handshake fails by an alert, without an answer, or half way | `inactive` for the whole call; a fax (T.38) |
//! | `loss` | 6-15 %, independent or in bursts, in one direction | 0.5 %; a stream of one second that loses three packets |
//! | `lost-after-tap` | one receiver reports by RTCP that it lost 6-15 % behind the tap, where nothing is missing | it lost 1 % there |
//! | `fax-loss` | of a fax in one direction, runs of packets longer than what the sender repeats | runs that it repeats |
//! | `jitter` | a queue that swells: mean above 30 ms | mean near 12 ms; discontinuous transmission |
//! | `codec-mismatch` | a payload type that no SDP named | types that differ by direction; a change among those agreed |
//! | `early-hangup` | BYE 0.5-2.5 s after the answer | BYE 4-10 s after it; cancelled while ringing |
//! | `missing-ack` | 200 repeated for 32 s, no ACK, BYE by the callee; the 200 of a second target, which the caller ignores | 200 repeated once, then ACK |
//! | `retransmission-storm` | INVITE or BYE 11 times or more | INVITE twice |
//! | `no-response` | INVITE 7 times and nothing came back; ICMP says that it does not arrive | INVITE twice, then answered |
//! | `failure-4xx`, `-5xx`, `-6xx` | 403 404 484 488; 500 502 503 504; 603 604 606 | 480 486 487 401/407; 503 then another try that works; 600, 603 after ringing |
//! | `slow-setup` | 180 after 9-15 s | 180 after 5 s |
//! | `no-progress` | 100, nothing for 10-40 s, CANCEL | the same for 2-5 s |
//! | `ack-lost` | 200 repeated for 32 s although each is acknowledged | repeated once, and acknowledged again |
//! | `credentials-refused` | challenged again after credentials, which then go no further | two servers challenge, each is met |
//! | `session-expired` | BYE with `SIP;cause=408`, the session timer | BYE with `Q.850;cause=16` |
//! | `reinvite-refused` | 481 or 488 to an INVITE within the call | 491, then another try that is accepted |
//! | `transfer-failed` | NOTIFY about a REFER: 486, 503, 603 | NOTIFY: 200 |
//! | `unknown-dialog` | 481 to the BYE | BYE twice, then 200 |
//! | `long-ringing` | 190-230 s | 100-170 s; joined in mid-call, which never rings, is one of `no-response` |
//! | `registration-failed` | 403, or 401 to every try | 401, then 200 |
//! | `stale-nonce` | `stale=true`, or `401 nonce has changed`, to every try that met a challenge | `stale=true` once, then 200; 401 with a new nonce to every try, which is `registration-failed` |

use crate::fax;
use crate::truth::{CallTruth, State, StreamTruth};
use serde::{Deserialize, Serialize};

/// Missing among expected packets of a stream from which it is `loss`.
pub const LOSS_RATIO: f64 = 0.03;
/// A stream with fewer expected packets is never called lossy or jittery.
pub const STREAM_PACKETS_MIN: u64 = 100;
/// Mean of the RFC 3550 A.8 jitter above which it is `jitter`, milliseconds.
pub const JITTER_MEAN_MS: f64 = 30.0;
/// BYE sooner than this after the answer is `early-hangup`, seconds.
pub const EARLY_HANGUP_S: f64 = 3.0;
/// 180 or 183 later than this after the first INVITE is `slow-setup`, seconds.
pub const SLOW_SETUP_S: f64 = 8.0;
/// The same request of a transaction seen this often, and answered late or never, is `retransmission-storm`.
pub const STORM_REQUESTS: u32 = 5;
/// An answered call shorter than this is not asked for audio, seconds.
pub const AUDIO_CALL_S: f64 = 3.0;

/// Kinds of verdict, by their stable names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Answered, both sides meant to send, one did not.
    OneWayAudio,
    /// Answered, both sides meant to send, none did.
    NoAudio,
    /// Both sides were heard, and neither up to the end.
    AudioStopped,
    /// One side was heard late.
    LateAudio,
    /// [`LOSS_RATIO`] of a stream never came.
    Loss,
    /// A receiver reports losses behind the tap.
    LostAfterTap,
    /// Packets of a fax that nothing restores.
    FaxLoss,
    /// Mean jitter above [`JITTER_MEAN_MS`].
    Jitter,
    /// A payload type that was not negotiated.
    CodecMismatch,
    /// Hung up within [`EARLY_HANGUP_S`].
    EarlyHangup,
    /// 200 repeated, never acknowledged.
    MissingAck,
    /// [`STORM_REQUESTS`] times the same request.
    RetransmissionStorm,
    /// INVITE repeated and nothing came back.
    NoResponse,
    /// Failed with a 4xx that is not busy, unanswered, cancelled or a challenge.
    #[serde(rename = "failure-4xx")]
    Failure4xx,
    /// Failed with a 5xx.
    #[serde(rename = "failure-5xx")]
    Failure5xx,
    /// Failed with a 6xx that is not busy.
    #[serde(rename = "failure-6xx")]
    Failure6xx,
    /// Rang later than [`SLOW_SETUP_S`].
    SlowSetup,
    /// Nothing but 100 for a long time.
    NoProgress,
    /// 200 repeated although it was acknowledged.
    AckLost,
    /// Credentials in INVITE were refused.
    CredentialsRefused,
    /// The session timer ended the call.
    SessionExpired,
    /// An INVITE within the call was refused.
    ReinviteRefused,
    /// What a REFER asked for failed.
    TransferFailed,
    /// A BYE that the other side does not know.
    UnknownDialog,
    /// Rang for longer than timer C.
    LongRinging,
    /// A registration that did not come about.
    RegistrationFailed,
    /// A registration whose credentials came too late for their nonce, and no more after them.
    StaleNonce,
}

/// What is done to a call: a kind with its variant, and whether it is the real thing or only close to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Planted {
    /// The verdict it must lead to; for a near miss the verdict it must not lead to.
    pub kind: Kind,
    /// Which of the variants of the table above.
    pub variant: Variant,
    /// Whether it only comes close.
    pub near_miss: bool,
}

/// The variants of faults and near misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the table at the head of the file says what each is")]
pub enum Variant {
    NatPrivateSdp,
    SilentSide,
    NatThatWorks,
    Hold,
    Announcement,
    EarlyMediaOnly,
    Stops,
    NotBackAfterHold,
    ToneOnly,
    BothStop,
    BehindTap,
    Late,
    NoPackets,
    Inactive,
    Fax,
    Random,
    Bursty,
    Light,
    ShortStream,
    Queue,
    Discontinuous,
    StrangePayloadType,
    TypesByDirection,
    AgreedChange,
    Quick,
    CancelledQuickly,
    NoAck,
    OneRepeat,
    Bye,
    Invite,
    Silence,
    Code(u16),
    RetriedElsewhere,
    Slow,
    Refused,
    ChallengedForEver,
    Challenged,
    DeadAir,
    Repeated,
    TwoServers,
    TimerExpired,
    NormalClearing,
    Glare,
    TargetRefuses,
    Transferred,
    Forgotten,
    Patient,
    JoinedMidCall,
    /// `stale=true` in the challenge.
    StaleNonce,
    /// Nothing but the reason phrase says so.
    NonceHasChanged,
    Unreachable,
    KeysRefused,
    ToPrivateAddress,
    RelayStops,
    RelayDead,
    SecondIgnored,
}

const fn fault(kind: Kind, variant: Variant) -> Planted {
    Planted { kind, variant, near_miss: false }
}

const fn near(kind: Kind, variant: Variant) -> Planted {
    Planted { kind, variant, near_miss: true }
}

/// Faults of calls, in the order in which they take turns.
pub const FAULTS: [Planted; 49] = [
    fault(Kind::OneWayAudio, Variant::NatPrivateSdp),
    fault(Kind::Loss, Variant::Random),
    fault(Kind::Failure4xx, Variant::Code(404)),
    fault(Kind::Jitter, Variant::Queue),
    fault(Kind::EarlyHangup, Variant::Quick),
    fault(Kind::MissingAck, Variant::NoAck),
    fault(Kind::NoAudio, Variant::NoPackets),
    fault(Kind::CodecMismatch, Variant::StrangePayloadType),
    fault(Kind::RetransmissionStorm, Variant::Invite),
    fault(Kind::NoResponse, Variant::Silence),
    fault(Kind::Failure5xx, Variant::Code(503)),
    fault(Kind::SlowSetup, Variant::Slow),
    fault(Kind::Loss, Variant::Bursty),
    fault(Kind::OneWayAudio, Variant::SilentSide),
    fault(Kind::RetransmissionStorm, Variant::Bye),
    fault(Kind::Failure6xx, Variant::Code(603)),
    fault(Kind::Failure4xx, Variant::Code(403)),
    fault(Kind::Failure4xx, Variant::Code(488)),
    fault(Kind::Failure4xx, Variant::Code(484)),
    fault(Kind::Failure4xx, Variant::Code(410)),
    fault(Kind::Failure5xx, Variant::Code(500)),
    fault(Kind::Failure5xx, Variant::Code(502)),
    fault(Kind::Failure5xx, Variant::Code(504)),
    fault(Kind::Failure6xx, Variant::Code(604)),
    fault(Kind::Failure6xx, Variant::Code(606)),
    fault(Kind::Jitter, Variant::Queue),
    fault(Kind::OneWayAudio, Variant::Stops),
    fault(Kind::LateAudio, Variant::Late),
    fault(Kind::OneWayAudio, Variant::NotBackAfterHold),
    fault(Kind::AudioStopped, Variant::BothStop),
    fault(Kind::OneWayAudio, Variant::ToneOnly),
    fault(Kind::LostAfterTap, Variant::BehindTap),
    fault(Kind::NoProgress, Variant::DeadAir),
    fault(Kind::AckLost, Variant::Repeated),
    fault(Kind::CredentialsRefused, Variant::Refused),
    fault(Kind::SessionExpired, Variant::TimerExpired),
    fault(Kind::ReinviteRefused, Variant::Code(481)),
    fault(Kind::ReinviteRefused, Variant::Code(488)),
    fault(Kind::TransferFailed, Variant::TargetRefuses),
    fault(Kind::UnknownDialog, Variant::Refused),
    fault(Kind::LongRinging, Variant::Forgotten),
    fault(Kind::FaxLoss, Variant::Bursty),
    fault(Kind::NoResponse, Variant::Unreachable),
    fault(Kind::OneWayAudio, Variant::Unreachable),
    fault(Kind::NoAudio, Variant::KeysRefused),
    fault(Kind::OneWayAudio, Variant::ToPrivateAddress),
    fault(Kind::OneWayAudio, Variant::RelayStops),
    fault(Kind::OneWayAudio, Variant::RelayDead),
    fault(Kind::MissingAck, Variant::SecondIgnored),
];

/// Near misses of calls, in the order in which they take turns.
pub const NEAR_MISSES: [Planted; 39] = [
    near(Kind::OneWayAudio, Variant::NatThatWorks),
    near(Kind::OneWayAudio, Variant::Hold),
    near(Kind::Loss, Variant::Light),
    near(Kind::EarlyHangup, Variant::Quick),
    near(Kind::RetransmissionStorm, Variant::OneRepeat),
    near(Kind::Failure4xx, Variant::Code(486)),
    near(Kind::Jitter, Variant::Light),
    near(Kind::CodecMismatch, Variant::TypesByDirection),
    near(Kind::MissingAck, Variant::OneRepeat),
    near(Kind::SlowSetup, Variant::Slow),
    near(Kind::OneWayAudio, Variant::Announcement),
    near(Kind::OneWayAudio, Variant::EarlyMediaOnly),
    near(Kind::NoAudio, Variant::Inactive),
    near(Kind::NoAudio, Variant::Fax),
    near(Kind::Loss, Variant::ShortStream),
    near(Kind::Jitter, Variant::Discontinuous),
    near(Kind::CodecMismatch, Variant::AgreedChange),
    near(Kind::EarlyHangup, Variant::CancelledQuickly),
    near(Kind::NoResponse, Variant::OneRepeat),
    near(Kind::Failure4xx, Variant::Code(480)),
    near(Kind::Failure5xx, Variant::RetriedElsewhere),
    near(Kind::Failure6xx, Variant::Code(600)),
    near(Kind::Failure6xx, Variant::Code(603)),
    near(Kind::OneWayAudio, Variant::Stops),
    near(Kind::LateAudio, Variant::Late),
    near(Kind::AudioStopped, Variant::BothStop),
    near(Kind::LostAfterTap, Variant::BehindTap),
    near(Kind::NoProgress, Variant::CancelledQuickly),
    near(Kind::AckLost, Variant::OneRepeat),
    near(Kind::CredentialsRefused, Variant::TwoServers),
    near(Kind::SessionExpired, Variant::NormalClearing),
    near(Kind::ReinviteRefused, Variant::Glare),
    near(Kind::TransferFailed, Variant::Transferred),
    near(Kind::UnknownDialog, Variant::OneRepeat),
    near(Kind::LongRinging, Variant::Patient),
    near(Kind::NoResponse, Variant::JoinedMidCall),
    near(Kind::FaxLoss, Variant::Bursty),
    near(Kind::OneWayAudio, Variant::Unreachable),
    near(Kind::MissingAck, Variant::SecondIgnored),
];

/// Faults of registrations.
pub const REGISTRATION_FAULTS: [Planted; 4] = [
    fault(Kind::RegistrationFailed, Variant::Refused),
    fault(Kind::RegistrationFailed, Variant::ChallengedForEver),
    fault(Kind::StaleNonce, Variant::StaleNonce),
    fault(Kind::StaleNonce, Variant::NonceHasChanged),
];

/// Near misses of registrations.
pub const REGISTRATION_NEAR_MISSES: [Planted; 2] =
    [near(Kind::RegistrationFailed, Variant::Challenged), near(Kind::StaleNonce, Variant::StaleNonce)];

/// Which verdicts a call deserves: what was planted and took effect, and what its figures say by the thresholds above.
/// Loss and jitter go by the figures alone, so that a network that is bad enough is found without having been planted.
pub(crate) fn expected(planted: Option<Planted>, call: &CallTruth) -> Vec<Kind> {
    let mut kinds = Vec::new();
    if let Some(p) = planted.filter(|p| !p.near_miss && !matches!(p.kind, Kind::Loss | Kind::Jitter)) {
        kinds.push(p.kind);
    }
    let answered = matches!(call.state, State::Answered | State::Completed);
    let audio = || call.streams.iter().filter(|s| s.codec != fax::CODEC);
    let judged = || audio().filter(|s| answered && s.expected >= STREAM_PACKETS_MIN);
    if judged().any(is_lossy) {
        kinds.push(Kind::Loss);
    }
    if judged().any(|s| s.jitter_mean_ms > JITTER_MEAN_MS) {
        kinds.push(Kind::Jitter);
    }
    kinds
}

fn is_lossy(stream: &StreamTruth) -> bool {
    (stream.missing - stream.lost_at_tap) as f64 >= LOSS_RATIO * stream.expected as f64
}
