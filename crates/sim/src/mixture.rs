//! What large networks do with calls with which nothing is wrong: forks and hunts, back-to-back user agents, long
//! ringing, video, offers in the answer, agents. Drawn on top of a course, in any mixture that makes sense.

use crate::faults::{Kind, Planted, Variant};
use crate::passage::{self, Passage};
use crate::plot::{Ending, Hold, Plot};
use crate::random::Random;
use crate::scene::Party;
use crate::settings::Settings;

const SECOND: f64 = 1e9;
/// Forks of targets that do not take the call count from here on, those of the callee from 1 on.
pub(crate) const OTHERS: u8 = 10;
/// The longest that a call with which nothing is wrong rings, over all of its targets: less than timer C.
const RINGING_MAX_NS: i64 = 165_000_000_000;
/// No more media before the answer than this: it is bulky.
const EARLY_MEDIA_MAX_NS: i64 = 12_000_000_000;

/// What stands between caller and callee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Relay {
    /// A proxy, or nothing.
    #[default]
    Proxy,
    /// A back-to-back user agent that keeps the Call-ID: other tags on the second leg.
    SameCallId,
    /// A back-to-back user agent: each leg behind it is a call of its own.
    OwnCallId,
}

/// What becomes of a target that does not take the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It rings until the proxy cancels it.
    Cancelled,
    /// It refuses with this.
    Refuses(u16),
    /// It never says anything.
    Dead,
    /// It accepts, too late: the caller hangs up (RFC 3261 section 13.2.2.4).
    Accepts,
    /// It accepts, too late, and its 200 comes again so often: the caller takes no notice of it, or not at first.
    Repeats(u8),
}

/// A target that does not take the call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Other {
    pub fate: Fate,
    /// From its INVITE until it rings or refuses.
    pub after_ns: i64,
    /// How long it rings if it is asked before the next.
    pub ring_ns: i64,
}

/// What is agreed about media before the answer, by reliable responses and UPDATE (RFC 3262, RFC 3311, RFC 6337).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Early {
    /// Nothing but an early answer, or not even that.
    #[default]
    Plain,
    /// The INVITE offers nothing, the 183 does, and PRACK answers.
    OfferInResponse,
    /// PRACK offers one codec of those that the 183 took, and its 200 answers.
    OfferInPrack,
    /// The callee's UPDATE moves its media to another machine.
    Moved,
    /// The callee's UPDATE asks for another codec.
    Recoded,
    /// Nothing is to be sent until the caller's UPDATE says that there is a bearer (RFC 3312).
    Preconditions,
}

/// The video of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Video {
    #[default]
    None,
    /// On ports of its own.
    Sent,
    /// Offered, and refused with port 0 (RFC 3264 section 6).
    Refused,
    /// On the port of the audio (RFC 9143).
    Bundled,
}

/// Where RTCP goes that does not share the port of RTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Rtcp {
    /// To the next port (RFC 3550 section 11), and nobody says so.
    #[default]
    Next,
    /// To a port that SDP names (RFC 3605).
    Port,
    /// The same with the address.
    Address,
    /// That of the callee to another host, which SDP names.
    Elsewhere,
}

/// Media sections besides the one for audio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Sections {
    pub video: Video,
    /// The video section stands before the one for audio.
    pub video_first: bool,
    /// Text (RFC 4103), on which nobody writes.
    pub text: bool,
    /// BFCP (RFC 8856), which is refused.
    pub application: bool,
}

/// A transfer within the callee's exchange: another machine speaks on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handover {
    /// Part of the talk after which it comes, of 16.
    pub sixteenths: i64,
    /// By re-INVITE, at another address; else only with another SSRC.
    pub moved: bool,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mixture {
    pub relay: Relay,
    /// The relay passes media on, too.
    pub anchored: bool,
    pub others: Vec<Other>,
    /// The targets are asked one after the other, the callee last.
    pub hunts: bool,
    /// 180 comes again every minute (RFC 3261 section 13.3.1.1).
    pub reminds: bool,
    pub sections: Sections,
    pub rtcp: Rtcp,
    /// The INVITE offers nothing, the 200 does.
    pub late_offer: bool,
    pub handover: Option<Handover>,
    pub early: Early,
    /// The tap sees nothing but the end.
    pub end_only: bool,
    /// The caller sends before the answer, too.
    pub early_caller: bool,
}

impl Mixture {
    /// Whether what the caller is told before the call goes on comes from the first hop alone.
    pub fn splits(&self) -> bool {
        !self.others.is_empty() || self.relay != Relay::Proxy
    }
}

/// Mixes into a course what goes with what was planted.
pub(crate) fn mix(plot: &mut Plot, s: &Settings, random: &mut Random) {
    let share = s.mixture;
    if leaves_set_up_free(plot.planted) {
        set_up(plot, share, random);
    }
    if plot.planted.is_none() {
        talk(plot, share, random);
    }
    if !plot.fax && plot.stopped.is_none() {
        plot.mixture.sections = sections(share, random);
    }
    match &mut plot.passage {
        // Planted.
        Passage::Turn { indications, .. } => *indications = random.chance(0.3),
        _ if plot.planted.is_none() => passage::draw(plot, share, random),
        _ => {}
    }
    if plot.mixture.sections.video == Video::Bundled {
        plot.mux = true;
    }
    if !plot.mux && !plot.fax && matches!(plot.passage, Passage::Direct | Passage::Keys { .. }) && random.chance(share)
    {
        plot.mixture.rtcp = random.pick(&[Rtcp::Port, Rtcp::Address, Rtcp::Elsewhere]);
    }
}

/// Whether what was planted shows whatever comes before the answer.
fn leaves_set_up_free(planted: Option<Planted>) -> bool {
    use Kind::{
        AudioStopped, CodecMismatch, Failure4xx, Failure5xx, Failure6xx, Jitter, LateAudio, Loss, LostAfterTap,
        NoAudio, OneWayAudio, ReinviteRefused, SessionExpired, TransferFailed, UnknownDialog,
    };
    let Some(planted) = planted else { return true };
    let after_set_up = matches!(
        planted.kind,
        AudioStopped | CodecMismatch | Jitter | LateAudio | Loss | LostAfterTap | NoAudio | OneWayAudio
    );
    let within = matches!(planted.kind, ReinviteRefused | SessionExpired | TransferFailed | UnknownDialog);
    let refusal =
        matches!(planted.kind, Failure4xx | Failure5xx | Failure6xx) && matches!(planted.variant, Variant::Code(_));
    let has_own = matches!(
        planted.variant,
        Variant::EarlyMediaOnly
            | Variant::ToneOnly
            | Variant::Unreachable
            | Variant::KeysRefused
            | Variant::ToPrivateAddress
            | Variant::RelayStops
            | Variant::RelayDead
    );
    after_set_up && !has_own || within || refusal
}

fn set_up(plot: &mut Plot, share: f64, random: &mut Random) {
    plot.cast.proxied |= random.chance(2.0 * share);
    if plot.cast.proxied {
        plot.mixture.relay = match random.below(10) {
            0..2 => Relay::SameCallId,
            2..5 => Relay::OwnCallId,
            _ => Relay::Proxy,
        };
        // Who is behind a NAT is not told to the other end by a back-to-back user agent: it takes the media itself.
        let hides = plot.cast.nat && plot.mixture.relay != Relay::Proxy;
        plot.mixture.anchored = random.chance(0.3) || hides;
    }
    if plot.cast.proxied && random.chance(2.0 * share) {
        targets(plot, random);
    }
    let seconds = |random: &mut Random, low, high| (random.uniform(low, high) * SECOND) as i64;
    if random.chance(share) {
        plot.ring_ns = seconds(random, 20.0, 160.0);
    }
    plot.mixture.reminds = random.chance(0.5);
    let before: i64 = plot.mixture.others.iter().map(|o| o.ring_ns).sum();
    plot.ring_ns = plot.ring_ns.min(RINGING_MAX_NS - before).max(1_000_000_000);
    if plot.challenge.is_none() && random.chance(share) {
        plot.challenge = Some(407);
    }
    plot.mixture.late_offer = random.chance(share / 2.0) && !plot.early_media && !plot.reliable && !plot.fax;
    if plot.planted.is_none() && !plot.mixture.late_offer && random.chance(share) {
        plot.early_media = true;
        plot.mixture.early_caller = random.chance(0.4);
    }
    if plot.early_media {
        plot.ring_ns = plot.ring_ns.min(EARLY_MEDIA_MAX_NS);
    }
    if !plot.fax && !plot.joined && random.chance(share) {
        agree_early(plot, random);
    }
}

fn agree_early(plot: &mut Plot, random: &mut Random) {
    let stays = plot.mixture.anchored || plot.cast.nat || plot.new_ssrc;
    // Who changes to another codec that was agreed must still have it.
    let changes = plot.planted.is_some_and(|planted| planted.variant == Variant::AgreedChange);
    plot.mixture.early = match random.below(5) {
        0 => Early::OfferInResponse,
        1 if !changes => Early::OfferInPrack,
        2 if !stays => Early::Moved,
        3 if plot.planted.is_none() => Early::Recoded,
        _ => Early::Preconditions,
    };
    (plot.reliable, plot.mixture.late_offer) = (true, false);
    plot.renegotiated &= plot.mixture.early != Early::Recoded;
}

/// The targets that do not take the call.
fn targets(plot: &mut Plot, random: &mut Random) {
    let answered = matches!(plot.ending, Ending::Answered | Ending::Open);
    plot.mixture.hunts = random.chance(0.5);
    let count = random.between(1, 2);
    for n in 0..count {
        let fate = match random.below(12) {
            // What is refused in the end is refused by the callee: its answer is the best one.
            _ if !answered => Fate::Cancelled,
            0..5 => Fate::Cancelled,
            5..8 => Fate::Refuses(random.pick(&[486, 480, 404, 408, 503, 403])),
            8 => Fate::Dead,
            // Rare among others, and what is most often read wrong.
            _ if plot.mixture.relay == Relay::Proxy && !plot.mixture.hunts => Fate::Accepts,
            _ => Fate::Cancelled,
        };
        // A leg that is a call of its own would be one that failed.
        let fate = match fate {
            Fate::Refuses(_) if plot.mixture.relay == Relay::OwnCallId => Fate::Refuses(random.pick(&[486, 480])),
            Fate::Dead if plot.mixture.relay == Relay::OwnCallId => Fate::Cancelled,
            other => other,
        };
        let rings = plot.mixture.hunts && fate == Fate::Cancelled;
        let first_ns = if fate == Fate::Dead { 3_600_000_000 } else { random.between(200_000_000, 1_500_000_000) };
        let ring_ns = if rings { random.between(4_000_000_000, 80_000_000_000 / count) } else { 0 };
        // One target that says nothing is enough: two are slow.
        let fate = if n > 0 && fate == Fate::Dead { Fate::Cancelled } else { fate };
        plot.mixture.others.push(Other { fate, after_ns: first_ns, ring_ns });
    }
}

fn talk(plot: &mut Plot, share: f64, random: &mut Random) {
    let long = plot.talk_ns > 9_000_000_000;
    let answered = matches!(plot.ending, Ending::Answered | Ending::Open);
    if long && plot.hold.is_none() && random.chance(share) {
        plot.hold = Some(Hold {
            after_ns: plot.talk_ns / 5,
            for_ns: plot.talk_ns / 3 + random.below(plot.talk_ns as u64 / 10) as i64,
            by: random.pick(&[Party::Caller, Party::Callee]),
            music: random.chance(0.5),
            zero: random.chance(0.3),
        });
    }
    if answered && random.chance(share) && plot.hold.is_none() && plot.mixture.early != Early::Moved {
        let moved = random.chance(0.6) && long && !plot.mixture.anchored && !plot.cast.nat;
        plot.mixture.handover = Some(Handover { sixteenths: random.between(4, 11), moved });
        (plot.renegotiated, plot.new_ssrc) = (false, false);
    }
    if answered && random.chance(share / 4.0) {
        if random.chance(0.5) && plot.talk_ns > 14_000_000_000 {
            (plot.joined, plot.refresh) = (true, true);
            // What was sent and over before belongs to nobody that was seen.
            (plot.renegotiated, plot.new_ssrc, plot.mixture.handover) = (false, false, None);
            plot.mixture.early = Early::Plain;
        } else if plot.ending == Ending::Answered {
            plot.mixture.end_only = true;
        }
    }
}

fn sections(share: f64, random: &mut Random) -> Sections {
    let video = match random.chance(share) {
        true => random.pick(&[Video::Sent, Video::Sent, Video::Refused, Video::Bundled]),
        false => Video::None,
    };
    Sections {
        video,
        video_first: video != Video::None && random.chance(0.2),
        text: random.chance(share / 4.0),
        application: random.chance(share / 4.0),
    }
}
