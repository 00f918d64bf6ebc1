//! The calendar: what is going on, and which packet passes the tap next.

use crate::codec::{Bank, Codec};
use crate::errand::Errand;
use crate::faults::{self, FAULTS, Kind, NEAR_MISSES, Planted, REGISTRATION_FAULTS, REGISTRATION_NEAR_MISS};
use crate::ledger::Ledger;
use crate::media;
use crate::plot::Plot;
use crate::random::Random;
use crate::rtcp::Report;
use crate::scene::{Cast, Scene};
use crate::script;
use crate::settings::Settings;
use crate::stream::Stream;
use crate::transport::{HANDSHAKE_NS, Scratch, Signalling};
use crate::truth::{Moment, Totals, Truth, WorldTruth};
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

/// One packet; used again for the next.
#[derive(Clone, Debug, Default)]
pub struct PacketBuf(Vec<u8>);

impl PacketBuf {
    /// Empty, with room for a packet.
    pub fn new() -> Self {
        PacketBuf(Vec::with_capacity(2048))
    }

    /// The packet from its Ethernet header on.
    pub fn octets(&self) -> &[u8] {
        &self.0
    }
}

/// When something happens next, to whom: the signalling (part 0) or a stream of a session, or a new call arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at_ns: i64,
    session: u32,
    part: u32,
}

/// In the place of a session: the next call arrives.
const ARRIVAL: u32 = u32::MAX;

/// A seeded world that goes on.
pub struct World {
    settings: Settings,
    random: Random,
    bank: Bank,
    calendar: BinaryHeap<Reverse<Entry>>,
    sessions: Vec<Option<Box<Session>>>,
    free: Vec<u32>,
    scratch: Scratch,
    planting: Planting,
    calls_begun: u64,
    errands_begun: u64,
    calls_going_on: u64,
    /// A call waits for another to end.
    waiting: bool,
    first_ns: Option<i64>,
    last_ns: i64,
    totals: Totals,
    truths: VecDeque<Truth>,
    over: bool,
}

/// A call, or an errand outside calls.
struct Session {
    scene: Scene,
    signalling: Signalling,
    streams: Vec<Stream>,
    ledger: Ledger,
    planted: Option<Planted>,
    errand: Option<Errand>,
    /// Parts that still have something to send.
    live: u32,
}

impl World {
    /// The world of these settings, before anything happened. [`Settings::check`] says whether they make sense; those
    /// that do not make some world all the same.
    pub fn new(settings: &Settings) -> Self {
        let mut world = World {
            random: Random::of(settings.seed, u64::MAX),
            bank: Bank::new(),
            calendar: BinaryHeap::new(),
            sessions: Vec::new(),
            free: Vec::new(),
            scratch: Scratch::default(),
            planting: Planting::new(settings),
            calls_begun: 0,
            errands_begun: 0,
            calls_going_on: 0,
            waiting: false,
            first_ns: None,
            last_ns: settings.start_ns,
            totals: Totals::default(),
            truths: VecDeque::new(),
            over: false,
            settings: settings.clone(),
        };
        if settings.calls > 0 {
            world.enter(settings.start_ns, ARRIVAL, 0);
        }
        world
    }

    /// The next packet in time order into `packet`; when it passed the tap, nanoseconds since 1970. None at the end.
    pub fn next_packet(&mut self, packet: &mut PacketBuf) -> Option<i64> {
        loop {
            let Some(mut top) = self.calendar.peek_mut() else {
                self.end();
                return None;
            };
            let Entry { at_ns, session: index, part } = top.0;
            if index == ARRIVAL {
                PeekMut::pop(top);
                self.arrive(at_ns);
                continue;
            }
            let Some(session) = self.sessions.get_mut(index as usize).and_then(Option::as_mut) else {
                PeekMut::pop(top);
                continue;
            };
            let next = match part {
                0 => session.signal(at_ns, &mut packet.0, &mut self.scratch, &mut self.totals),
                _ => session.play(part as usize - 1, at_ns, &mut packet.0, &self.bank, &mut self.totals),
            };
            match next {
                Some(at_ns) => top.0.at_ns = at_ns,
                None => {
                    PeekMut::pop(top);
                    self.part_is_over(index, at_ns);
                }
            }
            self.totals.packets += 1;
            self.totals.octets += packet.0.len() as u64;
            self.first_ns.get_or_insert(at_ns);
            self.last_ns = at_ns;
            return Some(at_ns);
        }
    }

    /// The next record of what is over: calls and errands as they end, the world after the last packet.
    pub fn next_truth(&mut self) -> Option<Truth> {
        self.truths.pop_front()
    }

    /// What it has come to so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    fn enter(&mut self, at_ns: i64, session: u32, part: u32) {
        self.calendar.push(Reverse(Entry { at_ns, session, part }));
    }

    /// A call arrives, with what goes on beside it; the next one is put into the calendar.
    fn arrive(&mut self, at_ns: i64) {
        if self.calls_going_on >= u64::from(self.settings.concurrent) {
            self.waiting = true;
            return;
        }
        self.begin_call(at_ns);
        let errands = self.settings.background.max(0.0);
        let more = self.random.chance(errands.fract());
        for _ in 0..errands as u64 + u64::from(more) {
            let after = self.random.between(0, 2_000_000_000);
            self.begin_errand(at_ns + after);
        }
        if self.calls_begun < self.settings.calls {
            let gap = self.random.exponential(1e9 / self.settings.calls_per_second.max(1e-6));
            self.enter(at_ns + gap as i64, ARRIVAL, 0);
        }
    }

    fn begin_call(&mut self, at_ns: i64) {
        let number = self.calls_begun;
        self.calls_begun += 1;
        self.calls_going_on += 1;
        self.totals.concurrent_max = self.totals.concurrent_max.max(self.calls_going_on);
        let mut random = Random::of(self.settings.seed, number);
        let planted = self.planting.call(&mut random);
        let session = Session::call(&self.settings, number, planted, at_ns, &mut random);
        self.admit(session);
    }

    fn begin_errand(&mut self, at_ns: i64) {
        let number = self.errands_begun;
        self.errands_begun += 1;
        // Calls and errands count apart.
        let mut random = Random::of(self.settings.seed, number | 1 << 63);
        let planted = self.planting.errand(&mut random);
        let session = Session::errand(&self.settings, number, planted, at_ns, &mut random);
        self.admit(session);
    }

    /// Gives a session a place and enters its parts into the calendar.
    fn admit(&mut self, mut session: Session) {
        let index = self.free.pop().unwrap_or(self.sessions.len() as u32);
        let signalling = session.signalling.next_ns();
        let mut parts: Vec<(u32, i64)> = signalling.map(|at| (0, at)).into_iter().collect();
        for (n, stream) in session.streams.iter_mut().enumerate() {
            parts.extend(stream.next_ns(&self.bank).map(|at| (n as u32 + 1, at)));
        }
        session.live = parts.len() as u32;
        for (part, at_ns) in parts {
            self.enter(at_ns, index, part);
        }
        if index as usize == self.sessions.len() {
            self.sessions.push(None);
        }
        self.sessions[index as usize] = Some(Box::new(session));
    }

    fn part_is_over(&mut self, index: u32, at_ns: i64) {
        let place = &mut self.sessions[index as usize];
        let Some(session) = place else { return };
        session.live -= 1;
        if session.live > 0 {
            return;
        }
        if let Some(session) = place.take() {
            self.free.push(index);
            self.tell(&session);
            if session.errand.is_none() {
                self.calls_going_on -= 1;
                if self.waiting {
                    self.waiting = false;
                    self.enter(at_ns, ARRIVAL, 0);
                }
            }
        }
    }

    /// Records a session that is over.
    fn tell(&mut self, session: &Session) {
        let Some(errand) = session.errand else {
            self.totals.calls += 1;
            let truth = session.truth();
            self.totals.streams += truth.streams.len() as u64;
            self.truths.push_back(Truth::Call(Box::new(truth)));
            return;
        };
        for mut transaction in session.ledger.transactions(&session.scene) {
            if matches!(errand, Errand::Register { .. }) {
                self.totals.registrations += 1;
                transaction.planted = session.planted;
                transaction.expect = session.planted.filter(|p| !p.near_miss).map(|p| p.kind).into_iter().collect();
                self.truths.push_back(Truth::Registration(Box::new(transaction)));
            } else {
                self.totals.events += 1;
                self.truths.push_back(Truth::Event(Box::new(transaction)));
            }
        }
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.over, true) {
            self.truths.push_back(Truth::World(Box::new(WorldTruth {
                settings: self.settings.clone(),
                totals: self.totals,
                first: self.first_ns.map(Moment::of),
                last: self.first_ns.map(|_| Moment::of(self.last_ns)),
            })));
        }
    }
}

impl Session {
    fn call(s: &Settings, number: u64, planted: Option<Planted>, at_ns: i64, random: &mut Random) -> Self {
        let plot = Plot::draw(s, planted, random);
        let mut scene = Scene::draw(s, number, plot.cast, random);
        direct(&mut scene, &plot);
        let start_ns = at_ns + if scene.tcp { HANDSHAKE_NS } else { 0 };
        let (steps, media) = script::call(&scene, &plot, random, start_ns);
        let specs = if s.media { media::streams(&scene, &plot, &media, s.rtcp, random) } else { Vec::new() };
        let streams = specs.into_iter().map(|spec| Stream::new(spec, s.tunnel, random)).collect();
        let signalling = Signalling::new(steps, &scene, s.tunnel, at_ns, random);
        Session { scene, signalling, streams, ledger: Ledger::default(), planted, errand: None, live: 0 }
    }

    fn errand(s: &Settings, number: u64, planted: Option<Planted>, at_ns: i64, random: &mut Random) -> Self {
        let errand = Errand::draw(planted, random);
        let cast = Cast { ipv6: random.chance(s.ipv6), nat: false, proxied: false, tcp: random.chance(s.tcp) };
        let mut scene = Scene::draw(s, number, Cast { nat: !cast.ipv6 && random.chance(s.nat), ..cast }, random);
        ephemeral(&mut scene);
        let start_ns = at_ns + if scene.tcp { HANDSHAKE_NS } else { 0 };
        let steps = errand.script(&scene, random, start_ns);
        let signalling = Signalling::new(steps, &scene, s.tunnel, at_ns, random);
        let (streams, ledger) = (Vec::new(), Ledger::default());
        Session { scene, signalling, streams, ledger, planted, errand: Some(errand), live: 0 }
    }

    /// The next packet of the signalling; when the one after it passes.
    fn signal(&mut self, at_ns: i64, out: &mut Vec<u8>, scratch: &mut Scratch, totals: &mut Totals) -> Option<i64> {
        let whole = self.signalling.emit(out, &self.scene, scratch);
        for step in &self.signalling.steps[whole] {
            totals.sip_messages += 1;
            if self.errand.is_some() {
                self.ledger.observe_errand(step, at_ns);
            } else {
                self.ledger.observe(step, at_ns);
            }
        }
        self.signalling.next_ns()
    }

    /// The next packet of a stream; when the one after it passes.
    #[inline]
    fn play(&mut self, n: usize, at_ns: i64, out: &mut Vec<u8>, bank: &Bank, totals: &mut Totals) -> Option<i64> {
        if self.streams[n].is_rtcp_next() {
            totals.rtcp_packets += 1;
            let about = self.report(n, at_ns);
            self.streams[n].emit_rtcp(out, about);
        } else {
            totals.rtp_packets += 1;
            self.streams[n].emit(out, bank);
        }
        self.streams[n].next_ns(bank)
    }

    /// What the sender of a stream reports about the one that it receives (RFC 3550 section 6.4.1).
    fn report(&mut self, n: usize, at_ns: i64) -> Option<Report> {
        let (who, delay_ns) = (self.streams[n].spec.who, self.streams[n].spec.path_ns[0]);
        let heard = self.streams.iter_mut().rev().find(|s| s.spec.who != who && s.tally.packets > 0)?;
        let (tally, before) = (&heard.tally, heard.reported);
        let (expected, received) = (tally.expected(), tally.packets);
        let (expected_now, received_now) = (expected - before.0, received - before.1);
        let lost_now = expected_now.saturating_sub(received_now);
        // It was on the way to the receiver after the tap, and the report on its way to the tap.
        let since = |(_, passed): (u32, i64)| (at_ns - passed - 2 * delay_ns).max(0);
        let report = Report {
            ssrc: heard.spec.ssrc,
            fraction: if expected_now == 0 { 0 } else { (lost_now * 256 / expected_now).min(255) as u8 },
            lost: (expected as i64 - received as i64) as i32,
            highest: (tally.highest - 65_536) as u32,
            jitter: (tally.jitter_ms * f64::from(heard.spec.codec.clock_rate()) / 1000.0) as u32,
            last_report: heard.last_report.map_or(0, |(middle, _)| middle),
            delay: heard.last_report.map_or(0, |sr| (since(sr) * 65_536 / 1_000_000_000) as u32),
        };
        heard.reported = (expected, received);
        heard.reports_about = (heard.reports_about.0 + 1, Some(report.lost));
        Some(report)
    }

    fn truth(&self) -> crate::truth::CallTruth {
        let mut truth = self.ledger.call(&self.scene);
        truth.planted = self.planted;
        truth.streams = self.streams.iter().filter_map(Stream::truth).collect();
        truth.streams.sort_by_key(|s| s.first.as_ref().map(|m| m.ns));
        let media = truth.streams.iter().filter_map(|s| s.last.as_ref()).map(|m| m.ns);
        let last = media.chain(self.ledger.start_ns.map(|_| self.ledger.last_ns)).max();
        truth.last = last.map(Moment::of);
        truth.expect = faults::expected(self.planted, &truth);
        truth
    }
}

/// What the plot decides about the scene.
fn direct(scene: &mut Scene, plot: &Plot) {
    if plot.switched
        || plot.planted.is_some_and(|p| p.kind == Kind::CodecMismatch) && Plot::other_codec(scene.codec).is_none()
    {
        scene.codec = Codec::Pcma;
    }
    if plot.planted.is_some() {
        scene.ptime_ms = 20;
    }
    scene.mux = plot.mux;
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

/// Whose turn it is among the faults and the near misses.
struct Planting {
    faults: f64,
    near_misses: f64,
    fault_kinds: Vec<Planted>,
    near_kinds: Vec<Planted>,
    fault_turn: usize,
    near_turn: usize,
    errand_turn: usize,
}

impl Planting {
    fn new(settings: &Settings) -> Self {
        let needs_media = [Kind::OneWayAudio, Kind::NoAudio, Kind::Loss, Kind::Jitter, Kind::CodecMismatch];
        let possible = |p: &&Planted| settings.media || !needs_media.contains(&p.kind);
        Planting {
            faults: settings.faults,
            near_misses: settings.near_misses,
            fault_kinds: FAULTS.iter().filter(possible).copied().collect(),
            near_kinds: NEAR_MISSES.iter().filter(possible).copied().collect(),
            fault_turn: 0,
            near_turn: 0,
            errand_turn: 0,
        }
    }

    fn call(&mut self, random: &mut Random) -> Option<Planted> {
        let drawn = random.unit();
        if drawn < self.faults {
            self.fault_turn += 1;
            return Some(self.fault_kinds[(self.fault_turn - 1) % self.fault_kinds.len()]);
        }
        if drawn < self.faults + self.near_misses {
            self.near_turn += 1;
            return Some(self.near_kinds[(self.near_turn - 1) % self.near_kinds.len()]);
        }
        None
    }

    fn errand(&mut self, random: &mut Random) -> Option<Planted> {
        let drawn = random.unit();
        if drawn < self.faults {
            self.errand_turn += 1;
            return Some(REGISTRATION_FAULTS[(self.errand_turn - 1) % REGISTRATION_FAULTS.len()]);
        }
        (drawn < self.faults + self.near_misses).then_some(REGISTRATION_NEAR_MISS)
    }
}
