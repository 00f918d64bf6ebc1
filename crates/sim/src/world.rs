//! The calendar: what is going on, and which packet passes the tap next.

use crate::codec::Bank;
use crate::errand::Errand;
use crate::planting::Planting;
use crate::random::Random;
use crate::scene::Host;
use crate::session::Session;
use crate::settings::Settings;
use crate::tap::Watching;
use crate::transport::Scratch;
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

/// Ports that wait to be used again; further ones are not.
const LEFT_MAX: usize = 16;

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
    tap: Watching,
    planting: Planting,
    calls_begun: u64,
    errands_begun: u64,
    calls_going_on: u64,
    /// A call waits for another to end.
    waiting: bool,
    /// Callees of calls whose BYE was not seen and whose media is over: their ports are in use again.
    left: Vec<Host>,
    first_ns: Option<i64>,
    last_ns: i64,
    totals: Totals,
    truths: VecDeque<Truth>,
    over: bool,
}

impl World {
    /// The world of these settings, before anything happened.
    ///
    /// # Errors
    /// All mistakes that [`Settings::check`] finds.
    pub fn new(settings: &Settings) -> Result<Self, Vec<String>> {
        settings.check()?;
        let mut world = World {
            random: Random::of(settings.seed, u64::MAX),
            bank: Bank::new(),
            calendar: BinaryHeap::new(),
            sessions: Vec::new(),
            free: Vec::new(),
            scratch: Scratch::default(),
            tap: Watching::new(&settings.tap, settings.start_ns, settings.seed),
            planting: Planting::new(settings),
            calls_begun: 0,
            errands_begun: 0,
            calls_going_on: 0,
            waiting: false,
            left: Vec::new(),
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
        Ok(world)
    }

    /// The next packet in time order into `packet`; when it passed the tap by the clock of the capture, nanoseconds
    /// since 1970. None at the end.
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
            let mut seen = true;
            let next = match part {
                0 => session.signal(at_ns, &mut packet.0, &mut self.scratch, &mut self.totals),
                _ => {
                    let n = part as usize - 1;
                    seen = self.tap.sees(at_ns, session.sender(n));
                    session.play(n, at_ns, &mut packet.0, &self.bank, (&mut self.totals, seen))
                }
            };
            match next {
                Some(at_ns) => top.0.at_ns = at_ns,
                None => {
                    PeekMut::pop(top);
                    self.part_is_over(index, at_ns);
                }
            }
            if !seen {
                self.totals.not_captured += 1;
                continue;
            }
            self.totals.packets += 1;
            self.totals.octets += packet.0.len() as u64;
            self.first_ns.get_or_insert(at_ns);
            self.last_ns = at_ns;
            return Some(self.tap.clock_ns(at_ns));
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

    /// Packets that the ring dropped so far.
    pub fn ring_drops(&self) -> u64 {
        self.tap.dropped
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
        let session = Session::call(&self.settings, (number, planted), at_ns, &mut self.left, &mut random);
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
                if let Some(host) = session.leaves().filter(|_| self.left.len() < LEFT_MAX) {
                    self.left.push(host.clone());
                }
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
            for truth in session.truth() {
                self.totals.calls += 1;
                self.totals.streams += truth.streams.len() as u64;
                self.truths.push_back(Truth::Call(Box::new(truth)));
            }
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
