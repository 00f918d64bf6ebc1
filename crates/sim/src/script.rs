//! The script of a call: its messages and when they pass the tap, and the streams that follow from them.

use crate::branches::Branches;
use crate::codec::Codec;
use crate::mixture::Early;
use crate::plot::{Ending, Plot, Unheard};
use crate::random::Random;
use crate::scene::{Party, Scene};
use crate::scribe::{Reach, Scribe};
use crate::sdp::{Mode, Sdp};
use crate::sip::{Extra, Method, Step};

mod early;

const MS: i64 = 1_000_000;
/// RFC 3261 section 17.1.1.1.
const T1: i64 = 500 * MS;
const T2: i64 = 4_000 * MS;

/// When media flows, as the signalling has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Media {
    /// From and to, of the caller and of the callee; none: never.
    pub spans: [Option<(i64, i64)>; 2],
    pub pauses: [Vec<(i64, i64)>; 2],
    /// From when on another codec is sent.
    pub change: Option<(Codec, [i64; 2])>,
    /// When the call was answered.
    pub answer_ns: Option<i64>,
    /// When another machine speaks on for the callee, and whether at another address.
    pub handover: Option<(i64, bool)>,
}

/// The script and the media of a call.
pub(crate) fn call(scene: &Scene, plot: &Plot, random: &mut Random, start_ns: i64) -> (Vec<Step>, Media) {
    let mut story = Story {
        scribe: Scribe::new(scene, random, start_ns),
        scene,
        plot,
        media: Media::default(),
        version: [0; 2],
        codecs: offered(scene, plot),
        is_cut: false,
        seen_from: i64::MIN,
        branches: Branches::default(),
        zero: false,
        agent: false,
        waits: plot.mixture.early == Early::Preconditions,
    };
    story.tell();
    let Story { scribe, mut media, seen_from, .. } = story;
    for side in 0..2 {
        if plot.silent[side] {
            media.spans[side] = None;
        }
    }
    if let (Some(unheard), Some(answer_ns)) = (plot.unheard, media.answer_ns) {
        hush(unheard, answer_ns, &mut media);
    }
    let mut steps = scribe.finish();
    steps.retain(|step| step.at_ns >= seen_from);
    (steps, media)
}

/// Leaves out what is not heard.
fn hush(unheard: Unheard, answer_ns: i64, media: &mut Media) {
    let mut stop = |side: usize, at_ns: i64| {
        if let Some(span) = &mut media.spans[side] {
            span.1 = span.1.min(at_ns);
        }
    };
    match unheard {
        Unheard::Stops(side, after_ns) => stop(side, answer_ns + after_ns),
        Unheard::BothStop(after_ns) => (0..2).for_each(|side| stop(side, answer_ns + after_ns)),
        Unheard::AfterTone => stop(1, answer_ns),
        Unheard::AfterHold(side) => {
            let held = media.pauses.iter().flatten().map(|(from, _)| *from).min();
            held.into_iter().for_each(|from| media.pauses[side].push((from, i64::MAX)));
            media.pauses[side].sort_unstable();
        }
        Unheard::Late(side, by_ns) => {
            if let Some(span) = &mut media.spans[side] {
                span.0 = span.0.max(answer_ns + by_ns);
            }
        }
    }
}

/// What the caller can: its codec first; both G.711 where the fault needs a second one that is agreed.
fn offered(scene: &Scene, plot: &Plot) -> [Option<Codec>; 3] {
    let second = Plot::other_codec(scene.codec).filter(|_| !plot.strange);
    [Some(scene.codec), second, None]
}

struct Story<'a> {
    scribe: Scribe<'a>,
    scene: &'a Scene,
    plot: &'a Plot,
    media: Media,
    version: [u8; 2],
    codecs: [Option<Codec>; 3],
    /// The call ends before its time.
    is_cut: bool,
    /// From when on the tap sees its signalling.
    seen_from: i64,
    branches: Branches,
    /// The next offer holds by an address of zeros.
    zero: bool,
    /// Another machine speaks for the callee.
    agent: bool,
    /// Nothing is to be sent yet.
    waits: bool,
}

impl Story<'_> {
    fn tell(&mut self) {
        let Some(invite) = self.set_up() else { return };
        match self.plot.ending {
            Ending::Answered | Ending::Open => self.answer(&invite),
            Ending::Rejected(status) => {
                // Who declines hears it ring first; what blocks calls does not wait.
                let is_near = self.plot.planted.is_some_and(|p| p.near_miss);
                if matches!(status, 480 | 600) || status == 603 && is_near {
                    self.ring(&invite);
                    self.scribe.wait(self.plot.ring_ns);
                }
                self.branches.close(&mut self.scribe, None);
                self.scribe.wait(if self.plot.mixture.others.is_empty() { 0 } else { 30 * MS });
                self.reject(&invite, status, Extra::None);
                self.stop_early_media();
            }
            Ending::Cancelled => self.cancel(&invite),
            Ending::DeadAir => {
                self.scribe.wait(self.plot.ring_ns);
                self.call_off(&invite);
            }
            Ending::Rings => {
                self.ring(&invite);
                self.scribe.wait(self.plot.ring_ns);
                self.branches.leave(&mut self.scribe);
                self.stop_early_media();
            }
            Ending::Challenged | Ending::Redirected | Ending::Silence => {}
        }
    }

    /// INVITE and what precedes ringing; none if that was all.
    fn set_up(&mut self) -> Option<Step> {
        let mixture = &self.plot.mixture;
        if mixture.splits() && self.scene.proxied {
            self.scribe.reach = Reach::First;
        }
        let offer = self.offer();
        let mut invite = self.invite(offer.map_or(Extra::None, Extra::Sdp));
        match self.plot.ending {
            Ending::Silence => return None,
            Ending::Challenged => {
                let status = self.plot.challenge.unwrap_or(401);
                self.reject(&invite, status, Extra::Challenge);
                if let Some(again) = self.plot.challenged_again {
                    let invite = self.again(Extra::Credentials(status, offer));
                    self.reject(&invite, again, Extra::Challenge);
                }
                return None;
            }
            Ending::Redirected => {
                self.reject(&invite, 302, Extra::MovedTo);
                return None;
            }
            _ => {}
        }
        if let Some(status) = self.plot.challenge {
            self.reject(&invite, status, Extra::Challenge);
            invite = self.again(Extra::Credentials(status, offer));
            if let Some(another) = self.plot.challenged_again {
                self.reject(&invite, another, Extra::Challenge);
                invite = self.again(Extra::Credentials(another, offer));
            }
        }
        if let Some(status) = self.plot.first_try {
            self.scribe.respond(&invite, 100, Extra::None);
            self.reject(&invite, status, if status == 302 { Extra::MovedTo } else { Extra::None });
            invite = self.again(offer.map_or(Extra::None, Extra::Sdp));
        }
        self.scribe.respond(&invite, 100, Extra::None);
        if self.scribe.reach == Reach::First {
            self.branches = Branches::fan_out(&mut self.scribe, &invite, &mixture.others, mixture.hunts);
        }
        Some(invite)
    }

    /// What the first INVITE offers; none if the answer is to offer (RFC 3264 section 4).
    fn offer(&mut self) -> Option<Sdp> {
        let is_late = self.plot.mixture.late_offer || self.plot.mixture.early == Early::OfferInResponse;
        (!is_late).then(|| self.sdp(Party::Caller, self.mode()))
    }

    /// The first INVITE with its repetitions.
    fn invite(&mut self, extra: Extra) -> Step {
        let invite = self.scribe.request(Party::Caller, Method::Invite, extra);
        let last = self.repeat(&invite, self.plot.repeats[0], self.plot.storm_ns);
        // A storm and a timer pass before anything is answered; the answer to a lost message comes after its
        // repetition.
        self.scribe.now = self.scribe.now.max(last);
        invite
    }

    /// Another try of the same call.
    fn again(&mut self, extra: Extra) -> Step {
        self.scribe.fork = 0;
        self.scribe.turn(Party::Caller);
        self.scribe.request(Party::Caller, Method::Invite, extra)
    }

    /// Repeats a message by the timers of RFC 3261 section 17.1 or at a fixed distance; when the last one was.
    fn repeat(&mut self, step: &Step, times: u8, every: Option<i64>) -> i64 {
        let (mut at_ns, mut distance) = (step.at_ns, T1);
        for _ in 0..times {
            at_ns += every.unwrap_or(distance);
            // INVITE doubles without end, all else up to T2.
            distance =
                if step.method == Method::Invite && step.status == 0 { distance * 2 } else { T2.min(distance * 2) };
            self.scribe.repeat(step, at_ns);
        }
        at_ns
    }

    fn reject(&mut self, invite: &Step, status: u16, extra: Extra) {
        self.scribe.fork = 1;
        self.scribe.respond(invite, status, extra);
        self.scribe.turn(Party::Caller);
        self.ack_failure(invite);
    }

    /// RFC 3261 section 17.1.1.3: the ACK of a failure belongs to the INVITE's transaction.
    fn ack_failure(&mut self, invite: &Step) {
        let at_ns = self.scribe.now;
        let ack = Step { at_ns, method: Method::Ack, fork: 1, extra: Extra::OfFailure, ..*invite };
        self.scribe.send(ack);
    }

    /// Whoever rings says so each minute, lest a proxy gives up (RFC 3261 section 13.3.1.1).
    fn remind(&mut self, ringing: &Step) {
        let now = self.scribe.now;
        let until = now + self.plot.ring_ns;
        while self.scribe.now + 60_000 * MS < until {
            self.scribe.wait(60_000 * MS);
            self.scribe.send(*ringing);
        }
        self.scribe.now = now;
    }

    fn cancel(&mut self, invite: &Step) {
        self.ring(invite);
        self.scribe.wait(self.plot.ring_ns);
        self.call_off(invite);
    }

    fn call_off(&mut self, invite: &Step) {
        // RFC 3261 section 9.1: CANCEL has the branch and the number of its INVITE.
        let at_ns = self.scribe.now;
        let cancel = Step { at_ns, method: Method::Cancel, fork: 0, extra: Extra::None, ..*invite };
        self.scribe.send(cancel);
        self.scribe.fork = 1;
        self.scribe.respond(&cancel, 200, Extra::None);
        self.branches.close(&mut self.scribe, None);
        self.scribe.fork = 1 + u8::from(self.plot.forked);
        self.reject(invite, 487, Extra::None);
        self.stop_early_media();
    }

    fn stop_early_media(&mut self) {
        for span in self.media.spans.iter_mut().flatten() {
            span.1 = self.scribe.now;
        }
    }

    fn answer(&mut self, invite: &Step) {
        self.ring(invite);
        self.scribe.wait(self.plot.ring_ns);
        // An offer that a reliable 183 answered is not answered again (RFC 6337 section 2.2); others repeat it.
        let answered = self.plot.early_media && self.plot.reliable || self.plot.mixture.early != Early::Plain;
        let sdp = if answered { Extra::None } else { Extra::Sdp(self.answer_sdp()) };
        let ok = self.scribe.respond(invite, 200, sdp);
        let answer_ns = self.scribe.now;
        self.media.answer_ns = Some(answer_ns);
        self.branches.close(&mut self.scribe, Some(self.plot.talk_ns));
        let last = self.repeat(&ok, self.plot.repeats[1], None);
        if self.plot.ack {
            // An ACK that was lost is sent again when the 200 comes again.
            self.scribe.now = self.scribe.now.max(last);
            let answer = self.plot.mixture.late_offer.then(|| self.sdp(Party::Caller, self.plot.mode));
            let ack = self.scribe.acknowledge(invite, answer);
            self.acknowledge_again(&ok, &ack);
        }
        let both = if self.plot.ack { self.scribe.now } else { answer_ns + 80 * MS };
        self.begin_media(answer_ns, both);
        let end = answer_ns + self.plot.talk_ns;
        if self.plot.ack {
            self.middle(answer_ns, end);
        }
        if !self.is_cut {
            self.scribe.now = self.scribe.now.max(end);
        }
        self.end();
    }

    /// The 200 comes again although it was acknowledged, and is acknowledged again.
    fn acknowledge_again(&mut self, ok: &Step, ack: &Step) {
        let (mut at_ns, mut distance) = (ok.at_ns, T1);
        for _ in 0..self.plot.acknowledged_repeats {
            at_ns += distance;
            distance = T2.min(distance * 2);
            self.scribe.repeat(ok, at_ns);
            self.scribe.repeat(ack, at_ns + (ack.at_ns - ok.at_ns));
        }
    }

    fn begin_media(&mut self, answer_ns: i64, ack_ns: i64) {
        if self.plot.fax {
            self.media.spans = [None, None];
            return;
        }
        let mode = self.plot.mode;
        let early = self.media.spans[1].map(|(from, _)| from);
        // The ACK tells who offered in the 200 where to send.
        let knows_ns = if self.plot.mixture.late_offer { ack_ns } else { answer_ns };
        let sends = self.media.spans[0].map_or(ack_ns + 7 * MS, |(from, _)| from);
        self.media.spans[0] = mode.sends().then_some((sends, i64::MAX));
        self.media.spans[1] = mode.answer().sends().then(|| (early.unwrap_or(knows_ns + 11 * MS), i64::MAX));
    }

    /// What happens while they talk, as far as there is time for it.
    fn middle(&mut self, answer_ns: i64, end: i64) {
        let talk = end - answer_ns;
        if self.plot.info && self.there_is_time(1_000 * MS, end) {
            self.scribe.turn(Party::Callee);
            self.scribe.transaction(Party::Caller, Method::Info, Extra::Digit(b'5'), 200, Extra::None);
        }
        if self.plot.update && self.there_is_time(1_500 * MS, end) {
            self.scribe.wait(500 * MS);
            let sdp = self.sdp(Party::Callee, self.plot.mode.answer());
            let answer = self.sdp(Party::Caller, self.plot.mode);
            self.scribe.transaction(Party::Callee, Method::Update, Extra::Sdp(sdp), 200, Extra::Sdp(answer));
        }
        if let Some(hold) = self.plot.hold {
            self.scribe.now = self.scribe.now.max(answer_ns + hold.after_ns);
            let mode = if hold.music || hold.zero { Mode::SendOnly } else { Mode::Inactive };
            self.zero = hold.zero;
            let from = self.renegotiate(hold.by, mode);
            self.zero = false;
            self.scribe.now = self.scribe.now.max(from + hold.for_ns);
            let to = self.renegotiate(hold.by, Mode::SendRecv);
            self.media.pauses[hold.by.other().side()].push((from, to));
            if !hold.music {
                self.media.pauses[hold.by.side()].push((from, to));
            }
        }
        let other = Plot::other_codec(self.scene.codec);
        if let Some(codec) = other.filter(|_| self.plot.renegotiated && self.there_is_time(talk / 8 + 2_000 * MS, end))
        {
            self.scribe.wait(talk / 8);
            self.codecs = [Some(codec), Some(self.scene.codec), None];
            let at = self.renegotiate(Party::Caller, self.plot.mode);
            self.media.change = Some((codec, [at + 20 * MS, at + 30 * MS]));
        }
        if let Some(codec) = other.filter(|_| self.plot.switched) {
            let at = answer_ns + talk / 2;
            self.media.change = Some((codec, [at, i64::MAX]));
        }
        self.hand_over(answer_ns, talk);
        self.late(end);
    }

    /// Another machine speaks on for the callee, at its own address if it says so.
    fn hand_over(&mut self, answer_ns: i64, talk: i64) {
        let Some(handover) = self.plot.mixture.handover else { return };
        let at_ns = answer_ns + talk / 16 * handover.sixteenths;
        if self.scribe.now + 500 * MS >= at_ns {
            return;
        }
        if !handover.moved {
            self.media.handover = Some((at_ns, false));
            return;
        }
        self.scribe.now = at_ns;
        self.agent = true;
        self.renegotiate(Party::Callee, self.plot.mode.answer());
        self.media.handover = Some((self.scribe.now + 30 * MS, true));
    }

    fn late(&mut self, end: i64) {
        if self.plot.refresh && self.there_is_time(2_000 * MS, end) {
            self.scribe.wait(700 * MS);
            if self.plot.joined {
                self.seen_from = self.scribe.now;
            }
            let sdp = self.sdp(Party::Caller, self.plot.mode);
            if let Some(status) = self.plot.refresh_refused {
                self.refuse_refresh(status, sdp);
                if status != 491 {
                    // Who is told that there is no call ends it (RFC 3261 section 12.2.1.2).
                    self.is_cut = status == 481;
                    return;
                }
                self.scribe.wait(300 * MS);
            }
            let invite = self.scribe.request(Party::Caller, Method::Invite, Extra::Refresh(Some(sdp)));
            self.scribe.respond(&invite, 100, Extra::None);
            let answer = self.answer_sdp();
            self.scribe.respond(&invite, 200, Extra::Refresh(Some(answer)));
            self.scribe.acknowledge(&invite, None);
        }
        if self.plot.refer && self.there_is_time(3_000 * MS, end) {
            self.scribe.wait(600 * MS);
            self.scribe.transaction(Party::Caller, Method::Refer, Extra::ReferTo, 202, Extra::None);
            for status in [100, self.plot.transfer] {
                self.scribe.wait(100 * MS);
                self.scribe.transaction(Party::Callee, Method::Notify, Extra::Progress(status), 200, Extra::None);
            }
        }
    }

    fn refuse_refresh(&mut self, status: u16, sdp: Sdp) {
        let invite = self.scribe.request(Party::Caller, Method::Invite, Extra::Refresh(Some(sdp)));
        self.scribe.respond(&invite, status, Extra::None);
        self.scribe.turn(Party::Caller);
        let at_ns = self.scribe.now;
        self.scribe.send(Step { at_ns, method: Method::Ack, extra: Extra::None, ..invite });
    }

    fn there_is_time(&self, ns: i64, end: i64) -> bool {
        self.scribe.now + ns < end
    }

    /// re-INVITE, 200, ACK; when the 200 passed.
    fn renegotiate(&mut self, by: Party, mode: Mode) -> i64 {
        let offer = Sdp { zero: self.zero, ..self.sdp(by, mode) };
        let invite = self.scribe.request(by, Method::Invite, Extra::Sdp(offer));
        self.scribe.respond(&invite, 100, Extra::None);
        let answer = self.sdp(by.other(), mode.answer());
        self.scribe.respond(&invite, 200, Extra::Sdp(answer));
        let at = self.scribe.now;
        self.scribe.acknowledge(&invite, None);
        at
    }

    /// BYE and what becomes of it; media stops when a side knows.
    fn end(&mut self) {
        let by = self.plot.hangup;
        let bye_ns = self.scribe.now;
        if self.plot.mixture.end_only {
            self.seen_from = bye_ns;
            self.media.spans = [None, None];
        }
        if self.plot.ending == Ending::Answered {
            let bye = self.scribe.request(by, Method::Bye, self.plot.bye_reason);
            let last = self.repeat(&bye, self.plot.repeats[2], None);
            self.scribe.now = self.scribe.now.max(last);
            // A storm of BYE is never answered.
            if self.plot.repeats[2] <= 1 {
                self.scribe.respond(&bye, self.plot.bye_answer, Extra::None);
            }
        }
        for (side, span) in self.media.spans.iter_mut().enumerate() {
            let knows = if side == by.side() { 0 } else { 2 * self.scene.path_ns[side] };
            if let Some(span) = span {
                span.1 = bye_ns + knows;
            }
        }
    }

    /// Which way media is meant to flow now, as the caller says it.
    fn mode(&self) -> Mode {
        if self.waits { Mode::Inactive } else { self.plot.mode }
    }

    fn answer_sdp(&mut self) -> Sdp {
        self.sdp(Party::Callee, self.mode().answer())
    }

    fn sdp(&mut self, of: Party, mode: Mode) -> Sdp {
        let version = &mut self.version[of.side()];
        *version += 1;
        let large = self.plot.large && of == Party::Caller && *version == 1;
        let agent = self.agent && of == Party::Callee;
        Sdp { mode, codecs: self.codecs, version: *version, fax: self.plot.fax, large, zero: false, agent }
    }
}
