//! What is going to happen in a call: drawn before it begins, so that the rest follows without chance deciding twice.

use crate::codec::Codec;
use crate::faults::{Kind, Planted, Variant};
use crate::impair::{Impairment, Loss};
use crate::mixture::{self, Fate, Mixture, Other, Relay};
use crate::passage::{Failure, Passage, Stopped};
use crate::random::Random;
use crate::scene::{Cast, Party};
use crate::sdp::Mode;
use crate::settings::Settings;
use crate::sip::Extra;

const SECOND: f64 = 1e9;

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Answered, then BYE.
    Answered,
    /// Answered; no BYE is ever seen.
    Open,
    Cancelled,
    /// This final response.
    Rejected(u16),
    /// Challenged, and the caller gives up.
    Challenged,
    /// 302, and the caller gives up.
    Redirected,
    /// 180 is the last that is seen.
    Rings,
    /// Nothing but 100, then CANCEL.
    DeadAir,
    /// Not even 100.
    Silence,
}

/// Hold: from when after the answer, for how long, by whom, and whether there is music.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    pub after_ns: i64,
    pub for_ns: i64,
    pub by: Party,
    pub music: bool,
    /// The holder's address becomes 0.0.0.0.
    pub zero: bool,
}

/// What is not heard that should be, counted from the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unheard {
    /// A side (0 the caller) from this time on.
    Stops(usize, i64),
    /// A side from hold on.
    AfterHold(usize),
    /// The callee, after its ringing tone.
    AfterTone,
    /// Both sides from this time on.
    BothStop(i64),
    /// A side up to this time.
    Late(usize, i64),
}

/// The course of a call.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    pub planted: Option<Planted>,
    pub cast: Cast,
    pub ending: Ending,
    pub challenge: Option<u16>,
    /// A first try that fails with this; the second goes on.
    pub first_try: Option<u16>,
    pub forked: bool,
    pub reliable: bool,
    pub early_media: bool,
    pub compact: bool,
    pub large: bool,
    pub mux: bool,
    pub discontinuous: bool,
    /// The callee is a machine that plays prompts.
    pub prompts: bool,
    pub pdd_ns: i64,
    pub ring_ns: i64,
    pub talk_ns: i64,
    pub hangup: Party,
    pub ack: bool,
    /// Whether the same message comes again: INVITE, 200, BYE, how often.
    pub repeats: [u8; 3],
    /// INVITE comes again and again at this distance.
    pub storm_ns: Option<i64>,
    pub hold: Option<Hold>,
    pub update: bool,
    pub refer: bool,
    pub info: bool,
    pub refresh: bool,
    /// Another codec by re-INVITE, with the one before kept as second choice.
    pub renegotiated: bool,
    /// Another of the agreed codecs without a word.
    pub switched: bool,
    pub new_ssrc: bool,
    pub digits: u8,
    pub mode: Mode,
    pub fax: bool,
    /// Which side's fax loses packets, how many earlier ones each repeats, and whether more of them are lost at a time.
    pub fax_loss: Option<(usize, u8, bool)>,
    /// Caller, callee: sends nothing although it should.
    pub silent: [bool; 2],
    pub unheard: Option<Unheard>,
    /// A payload type nobody named, from the callee.
    pub strange: bool,
    /// The callee numbers payload types its own way.
    pub own_map: bool,
    /// The first stream of the caller lives a second.
    pub short_first: bool,
    pub impairments: [Impairment; 2],
    /// Share of what a side sends that the other one loses behind the tap.
    pub lost_behind: [f64; 2],
    /// Who challenges again after the credentials: the same server, in vain, or another one.
    pub challenged_again: Option<u16>,
    /// The 200 comes again so often although it was acknowledged each time.
    pub acknowledged_repeats: u8,
    /// Reason of the BYE.
    pub bye_reason: Extra,
    /// What the refresh is refused with, and whether it is then tried again.
    pub refresh_refused: Option<u16>,
    /// What comes of the transfer.
    pub transfer: u16,
    /// The BYE is answered with this.
    pub bye_answer: u16,
    /// The tap sees it from the middle on.
    pub joined: bool,
    /// What large networks do with it.
    pub mixture: Mixture,
    /// What its media passes through, and what stops it.
    pub passage: Passage,
    pub stopped: Option<Stopped>,
}

impl Plot {
    /// Draws a call; what is planted is as the kind demands and the rest of it is plain.
    pub fn draw(settings: &Settings, planted: Option<Planted>, random: &mut Random) -> Self {
        let mut plot = Plot::plain(settings, random);
        match planted {
            None => plot.vary(settings, random),
            Some(planted) => plot.plant(planted, random),
        }
        // Not drawn where there are none: worlds of the same seed stay what they are.
        if settings.mixture > 0.0 {
            mixture::mix(&mut plot, settings, random);
        }
        // A message is not repeated by who knows that it arrived.
        if plot.cast.tcp {
            plot.repeats = [0; 3];
        }
        plot
    }

    fn plain(s: &Settings, random: &mut Random) -> Self {
        let d = &s.duration;
        let talk = random.exponential(d.mean_s).clamp(d.min_s, d.max_s);
        Plot {
            planted: None,
            cast: Cast::default(),
            ending: Ending::Answered,
            challenge: None,
            first_try: None,
            forked: false,
            reliable: false,
            early_media: false,
            compact: false,
            large: false,
            mux: random.chance(s.rtcp_mux),
            discontinuous: false,
            prompts: false,
            pdd_ns: (random.uniform(0.15, 2.5) * SECOND) as i64,
            ring_ns: (random.uniform(1.0, 9.0) * SECOND) as i64,
            talk_ns: (talk * SECOND) as i64,
            hangup: if random.chance(0.6) { Party::Caller } else { Party::Callee },
            ack: true,
            repeats: [0; 3],
            storm_ns: None,
            hold: None,
            update: false,
            refer: false,
            info: false,
            refresh: false,
            renegotiated: false,
            switched: false,
            new_ssrc: false,
            digits: 0,
            mode: Mode::SendRecv,
            fax: false,
            fax_loss: None,
            silent: [false; 2],
            unheard: None,
            strange: false,
            own_map: false,
            short_first: false,
            impairments: [(); 2].map(|()| Impairment::draw(&s.impairments, random)),
            lost_behind: [0.0; 2],
            challenged_again: None,
            acknowledged_repeats: 0,
            bye_reason: Extra::None,
            refresh_refused: None,
            transfer: 200,
            bye_answer: 200,
            joined: false,
            mixture: Mixture::default(),
            passage: Passage::default(),
            stopped: None,
        }
    }

    /// The variety of calls with which nothing is wrong.
    fn vary(&mut self, s: &Settings, random: &mut Random) {
        self.cast = Cast {
            ipv6: random.chance(s.ipv6),
            nat: random.chance(s.nat),
            proxied: random.chance(s.proxy),
            tcp: random.chance(s.tcp),
        };
        self.cast.nat &= !self.cast.ipv6;
        self.large = !self.cast.tcp && random.chance(s.fragments);
        self.discontinuous = random.chance(s.dtx);
        // Not drawn where there are none: worlds of the same seed stay what they are.
        self.prompts = s.prompts > 0.0 && random.chance(s.prompts);
        self.digits = if random.chance(s.dtmf) { random.between(1, 6) as u8 } else { 0 };
        if !random.chance(s.answer_ratio) {
            self.ending = unanswered(random);
        }
        self.challenge = random.chance(2.0 * s.variety).then(|| random.pick(&[401, 407]));
        self.first_try = random.chance(s.variety / 4.0).then_some(302);
        self.forked = random.chance(s.variety / 2.0);
        self.reliable = random.chance(s.variety);
        self.early_media = random.chance(s.variety);
        self.compact = random.chance(s.variety / 3.0);
        self.own_map = random.chance(s.variety);
        self.update = random.chance(s.variety / 2.0);
        self.refer = random.chance(s.variety / 3.0);
        self.info = random.chance(s.variety / 2.0);
        self.refresh = random.chance(s.variety / 2.0);
        self.renegotiated = random.chance(s.variety / 2.0);
        self.new_ssrc = !self.renegotiated && random.chance(s.variety / 2.0);
        self.repeats = [(); 3].map(|()| u8::from(random.chance(s.variety / 3.0)));
        if random.chance(s.variety) && self.talk_ns > 20_000_000_000 {
            self.hold = Some(hold(self.talk_ns, random));
        }
        if self.ending == Ending::Answered && random.chance(s.variety / 10.0) {
            self.ending = Ending::Open;
        }
    }

    fn plant(&mut self, planted: Planted, random: &mut Random) {
        self.planted = Some(planted);
        let seconds = |random: &mut Random, low, high| (random.uniform(low, high) * SECOND) as i64;
        let clean = Impairment::default();
        match (planted.kind, planted.variant) {
            (Kind::Loss | Kind::Jitter, _) => {
                self.talk_ns = self.talk_ns.max(seconds(random, 25.0, 40.0));
                self.impairments = [clean; 2];
                self.spoil(planted, random);
            }
            (Kind::FaxLoss, _) => {
                self.talk_ns = self.talk_ns.max(seconds(random, 20.0, 40.0));
                let (side, repeats) = (random.below(2) as usize, random.between(1, 4) as u8);
                (self.fax, self.fax_loss) = (true, Some((side, repeats, !planted.near_miss)));
            }
            (_, Variant::BehindTap) => {
                self.talk_ns = self.talk_ns.max(seconds(random, 30.0, 60.0));
                let (low, high) = if planted.near_miss { (0.005, 0.015) } else { (0.06, 0.15) };
                self.lost_behind[random.below(2) as usize] = random.uniform(low, high);
            }
            (_, Variant::Stops | Variant::NotBackAfterHold | Variant::ToneOnly | Variant::BothStop | Variant::Late) => {
                self.plant_unheard(planted, random);
            }
            (
                _,
                Variant::Unreachable
                | Variant::KeysRefused
                | Variant::ToPrivateAddress
                | Variant::RelayStops
                | Variant::RelayDead,
            ) => self.plant_stopped(planted, random),
            (Kind::OneWayAudio | Kind::NoAudio | Kind::CodecMismatch, _) => self.plant_media(planted, random),
            (
                Kind::SessionExpired
                | Kind::ReinviteRefused
                | Kind::TransferFailed
                | Kind::UnknownDialog
                | Kind::AckLost,
                _,
            )
            | (_, Variant::JoinedMidCall) => self.plant_dialog(planted, random),
            (Kind::NoProgress, _) => {
                let (low, high) = if planted.near_miss { (2.0, 5.0) } else { (10.0, 40.0) };
                (self.ending, self.ring_ns) = (Ending::DeadAir, seconds(random, low, high));
            }
            (Kind::CredentialsRefused, _) => {
                self.challenge = Some(407);
                self.challenged_again = Some(if planted.near_miss { 401 } else { 407 });
                self.ending = if planted.near_miss { Ending::Answered } else { Ending::Challenged };
            }
            (Kind::LongRinging, _) => {
                let (low, high) = if planted.near_miss { (100.0, 170.0) } else { (190.0, 230.0) };
                self.ring_ns = seconds(random, low, high);
                self.ending = if random.chance(0.5) { Ending::Answered } else { Ending::Cancelled };
            }
            (Kind::EarlyHangup, Variant::CancelledQuickly) => {
                (self.ending, self.ring_ns) = (Ending::Cancelled, seconds(random, 0.3, 1.5));
            }
            (Kind::EarlyHangup, _) if planted.near_miss => self.talk_ns = seconds(random, 4.0, 10.0),
            (Kind::EarlyHangup, _) => self.talk_ns = seconds(random, 0.5, 2.5),
            (Kind::MissingAck, Variant::NoAck) => {
                (self.ack, self.hangup, self.talk_ns) = (false, Party::Callee, 32_000_000_000);
                self.repeats[1] = 10;
            }
            (Kind::MissingAck, Variant::SecondIgnored) => {
                let fate = Fate::Repeats(if planted.near_miss { 1 } else { 10 });
                self.talk_ns = self.talk_ns.max(40_000_000_000);
                self.cast.proxied = true;
                self.mixture.others = vec![Other { fate, after_ns: 400_000_000, ring_ns: 0 }];
            }
            (Kind::MissingAck, _) => self.repeats[1] = 1,
            (Kind::RetransmissionStorm, Variant::Bye) => self.repeats[2] = 10,
            (Kind::RetransmissionStorm, Variant::Invite) => {
                self.repeats[0] = random.between(11, 19) as u8;
                self.storm_ns = Some(random.between(60_000_000, 150_000_000));
            }
            (Kind::RetransmissionStorm | Kind::NoResponse, Variant::OneRepeat) => self.repeats[0] = 1,
            (Kind::NoResponse, _) => (self.ending, self.repeats[0]) = (Ending::Silence, 6),
            (_, Variant::Code(code)) => self.ending = Ending::Rejected(code),
            (_, Variant::RetriedElsewhere) => self.first_try = Some(503),
            (Kind::SlowSetup, _) if planted.near_miss => self.pdd_ns = seconds(random, 4.5, 5.5),
            (Kind::SlowSetup, _) => self.pdd_ns = seconds(random, 9.0, 15.0),
            _ => {}
        }
    }

    /// What goes wrong, or nearly so, within the dialog.
    fn plant_dialog(&mut self, planted: Planted, random: &mut Random) {
        self.talk_ns = self.talk_ns.max(15_000_000_000);
        match (planted.kind, planted.variant) {
            (Kind::AckLost, Variant::OneRepeat) => self.acknowledged_repeats = 1,
            (Kind::AckLost, _) => {
                (self.acknowledged_repeats, self.hangup, self.talk_ns) = (10, Party::Callee, 32_000_000_000);
            }
            (Kind::SessionExpired, Variant::NormalClearing) => self.bye_reason = Extra::NormalClearing,
            (Kind::SessionExpired, _) => self.bye_reason = Extra::TimerExpired,
            (Kind::ReinviteRefused, Variant::Code(code)) => {
                (self.refresh, self.refresh_refused, self.hangup) = (true, Some(code), Party::Caller);
            }
            (Kind::ReinviteRefused, _) => (self.refresh, self.refresh_refused) = (true, Some(491)),
            (Kind::TransferFailed, _) => {
                self.refer = true;
                self.transfer = if planted.near_miss { 200 } else { random.pick(&[486, 503, 603]) };
            }
            (Kind::UnknownDialog, Variant::OneRepeat) => self.repeats[2] = 1,
            (Kind::UnknownDialog, _) => self.bye_answer = 481,
            _ => (self.joined, self.refresh) = (true, true),
        }
    }

    fn plant_media(&mut self, planted: Planted, random: &mut Random) {
        match planted.variant {
            Variant::NatPrivateSdp => (self.cast.nat, self.silent[1]) = (true, true),
            Variant::SilentSide => self.silent[random.below(2) as usize] = true,
            Variant::NatThatWorks => self.cast.nat = true,
            Variant::Hold => {
                self.talk_ns = self.talk_ns.max(40_000_000_000);
                self.hold = Some(hold(self.talk_ns, random));
            }
            Variant::Announcement => self.mode = Mode::SendOnly,
            Variant::Inactive => self.mode = Mode::Inactive,
            Variant::Fax => self.fax = true,
            Variant::NoPackets => self.silent = [true, true],
            Variant::StrangePayloadType => self.strange = true,
            Variant::TypesByDirection => (self.own_map, self.digits) = (true, 4),
            Variant::AgreedChange => self.switched = true,
            Variant::EarlyMediaOnly => {
                self.early_media = true;
                self.ring_ns = self.ring_ns.max(6_000_000_000);
                self.ending = if random.chance(0.5) { Ending::Cancelled } else { Ending::Rejected(480) };
            }
            _ => {}
        }
    }

    /// What stops media, or an INVITE, on its way.
    fn plant_stopped(&mut self, planted: Planted, random: &mut Random) {
        let side = random.below(2) as usize;
        let seconds = |random: &mut Random, low, high| (random.uniform(low, high) * SECOND) as i64;
        if planted.kind == Kind::NoResponse {
            (self.ending, self.repeats[0]) = (Ending::Silence, random.below(5) as u8);
            (self.cast.ipv6, self.stopped) = (random.chance(0.3), Some(Stopped::Invite));
            return;
        }
        self.talk_ns = self.talk_ns.max(seconds(random, 20.0, 40.0));
        self.cast.ipv6 = random.chance(0.3) && planted.variant != Variant::ToPrivateAddress;
        self.stopped = Some(match planted.variant {
            Variant::Unreachable => Stopped::Media { side, lasting: !planted.near_miss },
            Variant::KeysRefused => {
                (self.passage, self.silent) = (Passage::Keys { named: random.chance(0.6) }, [true; 2]);
                let alert = random.pick(&[40, 42, 48, 51, 71]);
                Stopped::Keys(random.pick(&[Failure::Alert(alert), Failure::Unanswered, Failure::HalfWay]))
            }
            Variant::ToPrivateAddress => {
                self.cast.nat = true;
                Stopped::ToPrivate
            }
            Variant::RelayStops => {
                (self.cast.proxied, self.mixture.anchored) = (true, true);
                self.mixture.relay = random.pick(&[Relay::Proxy, Relay::SameCallId]);
                let after_ns = seconds(random, 0.2, 0.4) / 1000 * (self.talk_ns / 1_000_000);
                Stopped::Relay { side, after_ns }
            }
            _ => {
                self.passage = Passage::Turn { far: random.chance(0.3), indications: false };
                self.enter_flow();
                Stopped::Turn
            }
        });
    }

    /// A channel, or a connection, carries RTP and RTCP of one stream.
    pub fn enter_flow(&mut self) {
        self.mux = true;
        self.mixture.sections.video = mixture::Video::None;
    }

    fn plant_unheard(&mut self, planted: Planted, random: &mut Random) {
        let seconds = |random: &mut Random, low, high| (random.uniform(low, high) * SECOND) as i64;
        self.talk_ns = self.talk_ns.max(seconds(random, 40.0, 60.0));
        let (side, talk) = (random.below(2) as usize, self.talk_ns);
        let early = seconds(random, 0.2, 0.5) / 1000 * (talk / 1_000_000);
        self.unheard = Some(match (planted.variant, planted.near_miss) {
            (Variant::Stops, false) => Unheard::Stops(side, early),
            (Variant::Stops, true) => Unheard::Stops(side, talk - seconds(random, 1.0, 3.0)),
            (Variant::BothStop, false) => Unheard::BothStop(early),
            (Variant::BothStop, true) => Unheard::BothStop(talk - seconds(random, 3.0, 6.0)),
            (Variant::Late, false) => Unheard::Late(side, seconds(random, 4.0, 9.0)),
            (Variant::Late, true) => Unheard::Late(side, seconds(random, 0.5, 2.0)),
            (Variant::NotBackAfterHold, _) => {
                self.hold = Some(hold(talk, random));
                Unheard::AfterHold(side)
            }
            _ => {
                self.early_media = true;
                Unheard::AfterTone
            }
        });
        self.cast.proxied = random.chance(0.3);
    }

    /// Makes the network what the fault demands, in one direction or, for near misses, in both.
    fn spoil(&mut self, planted: Planted, random: &mut Random) {
        let side = random.below(2) as usize;
        let one = &mut self.impairments[side];
        match planted.variant {
            Variant::Random => one.loss = Loss::Independent(random.uniform(0.06, 0.12)),
            Variant::Bursty => one.loss = Loss::bursts(random.uniform(0.10, 0.15), random.uniform(2.0, 4.0)),
            Variant::Queue => (one.jitter_ms, one.queue) = (random.uniform(90.0, 140.0), random.chance(0.5)),
            Variant::Light if planted.kind == Kind::Loss => one.loss = Loss::Every(200),
            Variant::Light => (one.jitter_ms, one.queue) = (12.0, true),
            Variant::Discontinuous => self.discontinuous = true,
            Variant::ShortStream => {
                (self.short_first, self.new_ssrc) = (true, true);
            }
            _ => {}
        }
    }

    /// Another codec of the same clock.
    pub fn other_codec(codec: Codec) -> Option<Codec> {
        match codec {
            Codec::Pcma => Some(Codec::Pcmu),
            Codec::Pcmu | Codec::G722 | Codec::G729 => Some(Codec::Pcma),
            Codec::Opus | Codec::AmrWb | Codec::Vp8 | Codec::H264 => None,
        }
    }
}

/// The endings of calls that are not answered and with which nothing is wrong.
fn unanswered(random: &mut Random) -> Ending {
    match random.below(100) {
        0..35 => Ending::Cancelled,
        35..60 => Ending::Rejected(486),
        60..80 => Ending::Rejected(480),
        80..84 => Ending::Rejected(600),
        84..90 => Ending::Challenged,
        90..96 => Ending::Redirected,
        _ => Ending::Rings,
    }
}

/// Somewhere in the middle third or so of a call.
fn hold(talk_ns: i64, random: &mut Random) -> Hold {
    Hold {
        after_ns: talk_ns / 5 + random.below(talk_ns as u64 / 10) as i64,
        for_ns: talk_ns / 4 + random.below(talk_ns as u64 / 10) as i64,
        by: random.pick(&[Party::Caller, Party::Callee]),
        music: random.chance(0.5),
        zero: false,
    }
}
