//! A call, or an errand outside calls, while it goes on: its signalling, its streams, and what is known of them.

use crate::codec::{Bank, Codec};
use crate::errand::Errand;
use crate::faults::{self, Kind, Planted};
use crate::fax;
use crate::ledger::{Ledger, Leg};
use crate::media;
use crate::mixture::Relay;
use crate::passage::{self, ALLOCATES_NS, Passage};
use crate::plot::Plot;
use crate::random::Random;
use crate::rtcp::Report;
use crate::scene::{Cast, Host, Party, Scene};
use crate::script;
use crate::settings::Settings;
use crate::spec::Spec;
use crate::stream::{Line, Stream};
use crate::transport::{HANDSHAKE_NS, Scratch, Signalling};
use crate::truth::{CallTruth, Moment, StreamTruth, Totals, Who};

/// A call, or an errand outside calls.
pub(crate) struct Session {
    pub scene: Scene,
    pub signalling: Signalling,
    pub streams: Vec<Stream>,
    line: Line,
    /// What arrives of a fax.
    faxes: Vec<StreamTruth>,
    pub ledger: Ledger,
    /// The legs behind a back-to-back user agent that are calls of their own, by their targets.
    pub legs: Vec<(Party, Ledger)>,
    pub planted: Option<Planted>,
    pub errand: Option<Errand>,
    /// Parts that still have something to send.
    pub live: u32,
}

impl Session {
    /// The `number`th call, from `at_ns` on; `left` are callees of calls whose BYE was not seen and whose media is
    /// over, whose ports are in use again.
    pub fn call(
        s: &Settings,
        (number, planted): (u64, Option<Planted>),
        at_ns: i64,
        left: &mut Vec<Host>,
        random: &mut Random,
    ) -> Self {
        let plot = Plot::draw(s, planted, random);
        let mut scene = Scene::draw(s, number, plot.cast, random);
        if plot.passage == Passage::Direct && !plot.mixture.anchored && !plot.joined && !plot.mixture.end_only {
            scene.take_over(left);
        }
        direct(&mut scene, &plot);
        if plot.mixture.anchored {
            scene.anchor(number);
        }
        passage::enter(&mut scene, &plot, number);
        let before_ns = if scene.turn.is_some() { ALLOCATES_NS } else { 0 };
        let start_ns = at_ns + before_ns + if scene.tcp { HANDSHAKE_NS } else { 0 };
        let (steps, media) = script::call(&scene, &plot, random, start_ns);
        let specs = if s.media { media::streams(&scene, &plot, &media, s.rtcp, random) } else { Vec::new() };
        let besides = match plot.passage == Passage::Direct && plot.stopped.is_none() {
            true => Vec::new(),
            false => passage::packets((&scene, &plot), (&steps, &specs), media.answer_ns, s.tunnel, random),
        };
        let streams = specs.into_iter().map(|spec| Stream::new(spec, s.tunnel, s.tap.is_sound(), random)).collect();
        let mut signalling = Signalling::new(steps, &scene, s.tunnel, at_ns, random);
        let answer_ns = media.answer_ns.filter(|_| s.media);
        let fax = answer_ns.map(|answer_ns| fax::play(&scene, &plot, answer_ns, s.tunnel, random));
        let (packets, faxes) = fax.unwrap_or_default();
        signalling.play(packets);
        signalling.play(besides);
        let (ledger, legs) = (Ledger::default(), Vec::new());
        let line = passage::first_octets(&scene);
        Session { scene, signalling, streams, line, faxes, ledger, legs, planted, errand: None, live: 0 }
    }

    /// The `number`th errand, from `at_ns` on.
    pub fn errand(s: &Settings, number: u64, planted: Option<Planted>, at_ns: i64, random: &mut Random) -> Self {
        let errand = Errand::draw(planted, random);
        let cast = Cast { ipv6: random.chance(s.ipv6), nat: false, proxied: false, tcp: random.chance(s.tcp) };
        let mut scene = Scene::draw(s, number, Cast { nat: !cast.ipv6 && random.chance(s.nat), ..cast }, random);
        ephemeral(&mut scene);
        let start_ns = at_ns + if scene.tcp { HANDSHAKE_NS } else { 0 };
        let steps = errand.script(&scene, random, start_ns);
        let signalling = Signalling::new(steps, &scene, s.tunnel, at_ns, random);
        let (streams, faxes, ledger, legs) = (Vec::new(), Vec::new(), Ledger::default(), Vec::new());
        let (errand, line) = (Some(errand), Line::default());
        Session { scene, signalling, streams, line, faxes, ledger, legs, planted, errand, live: 0 }
    }

    /// The callee of a call that is over and whose BYE nobody saw, if its media went there itself.
    pub fn leaves(&self) -> Option<&Host> {
        let scene = &self.scene;
        let is_direct = scene.anchors.is_none() && scene.turn.is_none() && scene.opener.is_none() && !scene.keyed;
        let callee = scene.host(Party::Callee);
        let is_plain = callee.media_seen == callee.media_told && self.planted.is_none();
        (is_direct && is_plain && self.ledger.is_open() && !self.streams.is_empty()).then_some(callee)
    }

    /// The next packet of the signalling; when the one after it passes.
    pub fn signal(&mut self, at_ns: i64, out: &mut Vec<u8>, scratch: &mut Scratch, totals: &mut Totals) -> Option<i64> {
        let whole = self.signalling.emit(out, &self.scene, scratch);
        for step in &self.signalling.steps[whole] {
            totals.sip_messages += 1;
            if self.errand.is_some() {
                self.ledger.observe_errand(step, at_ns);
            } else if self.scene.relay == Relay::OwnCallId && step.is_far() {
                leg(&mut self.legs, step.callee()).observe(step, at_ns, Leg::Own);
            } else {
                self.ledger.observe(step, at_ns, Leg::First);
            }
        }
        self.signalling.next_ns()
    }

    /// Who sends a stream.
    pub fn sender(&self, n: usize) -> Who {
        self.streams[n].spec.who
    }

    /// The next packet of a stream, which the tap sees or not; when the one after it passes.
    #[inline]
    pub fn play(
        &mut self,
        n: usize,
        at_ns: i64,
        out: &mut Vec<u8>,
        bank: &Bank,
        (totals, seen): (&mut Totals, bool),
    ) -> Option<i64> {
        if self.streams[n].is_rtcp_next() {
            totals.rtcp_packets += u64::from(seen);
            let about = self.report(n, at_ns, seen);
            self.streams[n].emit_rtcp(out, about, seen, &mut self.line);
        } else {
            totals.rtp_packets += u64::from(seen);
            self.streams[n].emit(out, bank, seen, &mut self.line);
        }
        self.streams[n].next_ns(bank)
    }

    /// What the sender of a stream reports about the one that it receives (RFC 3550 section 6.4.1).
    fn report(&mut self, n: usize, at_ns: i64, seen: bool) -> Option<Report> {
        let asked = &self.streams[n].spec;
        let (who, delay_ns, hop, video) = (asked.who, asked.path_ns[0], asked.hop, asked.codec.is_video());
        let same = |s: &Spec| s.who != who && s.hop == hop && s.codec.is_video() == video;
        let heard = self.streams.iter_mut().rev().find(|s| same(&s.spec) && s.tally.packets > 0)?;
        let (tally, before) = (&heard.tally, heard.reported);
        let behind = (tally.packets as f64 * heard.spec.lost_behind) as u64;
        let (expected, received) = (tally.expected(), tally.packets - behind);
        let (expected_now, received_now) = (expected - before.0, received - before.1);
        let lost_now = expected_now.saturating_sub(received_now);
        // It was on the way to the receiver after the tap, and the report on its way to the tap.
        let since = |(_, passed): (u32, i64)| (at_ns - passed - 2 * delay_ns).max(0);
        let report = Report {
            ssrc: heard.spec.ssrc,
            fraction: (lost_now * 256).checked_div(expected_now).unwrap_or(0).min(255) as u8,
            lost: (expected as i64 - received as i64) as i32,
            highest: (tally.highest - 65_536) as u32 + u32::from(heard.numbers_off()),
            jitter: (tally.jitter_ms * f64::from(heard.spec.codec.clock_rate()) / 1000.0) as u32,
            last_report: heard.last_report.map_or(0, |(middle, _)| middle),
            delay: heard.last_report.map_or(0, |sr| (since(sr) * 65_536 / 1_000_000_000) as u32),
        };
        heard.reported = (expected, received);
        if seen {
            heard.reports_about = (heard.reports_about.0 + 1, Some(report.lost));
        }
        Some(report)
    }

    /// What is known of a call when it is over, and of the legs that are calls of their own.
    pub fn truth(&self) -> Vec<CallTruth> {
        let own = self.scene.relay == Relay::OwnCallId;
        let mut calls = Vec::with_capacity(1 + self.legs.len());
        if self.ledger.start_ns.is_some() {
            let first = self.ledger.call(&self.scene);
            calls.push(self.complete(first, self.ledger.last_ns, self.planted, |s| !own || s.hop == 0));
        }
        for (target, ledger) in &self.legs {
            let planted = self.planted.filter(|_| *target == Party::Callee);
            let leg = ledger.leg(&self.scene, *target);
            calls.push(self.complete(leg, ledger.last_ns, planted, |s| *target == Party::Callee && s.hop == 1));
        }
        calls
    }

    /// Adds the streams of a call, and what follows from them.
    fn complete(
        &self,
        call: CallTruth,
        last_ns: i64,
        planted: Option<Planted>,
        has: impl Fn(&Spec) -> bool,
    ) -> CallTruth {
        let mut truth = CallTruth { planted, ..call };
        truth.streams = self.streams.iter().filter(|s| has(&s.spec)).filter_map(Stream::truth).collect();
        if truth.leg_of.is_none() {
            truth.streams.extend(self.faxes.iter().cloned());
        }
        truth.streams.sort_by_key(|s| s.first.as_ref().map(|m| m.ns));
        let media = truth.streams.iter().filter_map(|s| s.last.as_ref()).map(|m| m.ns);
        truth.last = media.chain([last_ns]).max().map(Moment::of);
        truth.expect = faults::expected(planted, &truth);
        truth
    }
}

/// The leg to a target.
fn leg(legs: &mut Vec<(Party, Ledger)>, target: Party) -> &mut Ledger {
    let at = legs.iter().position(|(known, _)| *known == target).unwrap_or(legs.len());
    if at == legs.len() {
        legs.push((target, Ledger::default()));
    }
    &mut legs[at].1
}

/// What the plot decides about the scene.
fn direct(scene: &mut Scene, plot: &Plot) {
    if plot.switched
        || plot.joined
        || plot.planted.is_some_and(|p| p.kind == Kind::CodecMismatch) && Plot::other_codec(scene.codec).is_none()
    {
        scene.codec = Codec::Pcma;
    }
    if plot.planted.is_some() {
        scene.ptime_ms = 20;
    }
    scene.mux = plot.mux;
    scene.rtcp = plot.mixture.rtcp;
    scene.relay = plot.mixture.relay;
    scene.others = plot.mixture.others.len();
    scene.sections = plot.mixture.sections;
    scene.compact = plot.compact;
    scene.discontinuous = plot.discontinuous;
    scene.hosts[2].map = u8::from(plot.own_map);
    ephemeral(scene);
}

/// A TCP client calls from a port of its own; a NAT has already chosen one.
fn ephemeral(scene: &mut Scene) {
    if scene.tcp && scene.hosts[0].seen.port == 5060 {
        scene.hosts[0].seen.port = 20_000 + (scene.tags[0] % 20_000) as u16;
    }
}
