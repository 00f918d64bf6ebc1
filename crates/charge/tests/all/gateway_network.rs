//! A sender and two gateways over a network that loses, copies, delays and reorders, with crashes of all three at any
//! point: each record passes to billing exactly once.

use std::collections::BTreeMap;
use std::time::Duration;
use trunkline_charge::gateway::receiver::{self, State as ReceiverState};
use trunkline_charge::gateway::sender::{self, Change, Port, State as SenderState};
use trunkline_charge::gateway::{Receiver, Records, Sender};
use trunkline_kit::random::Random;
use trunkline_wire::gtpp::records::{FormatVersion, format};
use trunkline_wire::{Address, Endpoint};

const RUNS: u64 = 3000;
const STEPS: u32 = 250;
/// Two gateways and the sender's two ports.
const GATEWAYS: [Endpoint; 2] =
    [Endpoint::new(Address::v4([10, 0, 0, 1]), 3386), Endpoint::new(Address::v4([10, 0, 0, 2]), 3386)];
const SENDER: Address = Address::v4([10, 0, 0, 9]);
const PORTS: [(Port, u16); 2] = [(Port::Records, 3386), (Port::Questions, 40_000)];
/// A record that only moves the first serial.
const NO_RECORD: u64 = u64::MAX;

fn records(id: u64) -> Records {
    let version = FormatVersion { application: 1, release: 7, version: 5 };
    Records::of(format::BER, version, [&id.to_be_bytes()[..]]).unwrap()
}

fn id(records: &Records) -> u64 {
    let record = records.packet().unwrap().records().next().unwrap();
    u64::from_be_bytes(record.try_into().unwrap())
}

/// Entries as octets; those beyond `durable` are gone after a crash.
#[derive(Default)]
struct Log {
    entries: Vec<Vec<u8>>,
    durable: usize,
}

impl Log {
    fn sync(&mut self, random: &mut Random) -> u64 {
        let waiting = (self.entries.len() - self.durable) as u32;
        self.durable += random.below(waiting + 1) as usize;
        self.durable as u64
    }

    fn crash(&mut self) {
        self.entries.truncate(self.durable);
    }

    /// The state; the same if a snapshot of the first half is read instead of its entries.
    fn of_sender(&self) -> SenderState {
        let (mut state, mut restored) = (SenderState::default(), SenderState::default());
        for (at, entry) in self.entries.iter().enumerate() {
            let entry = sender::Entry::decode(entry).unwrap();
            state.fold(&entry);
            restored.fold(&entry);
            if at == self.entries.len() / 2 {
                let mut restoring = sender::Restoring::default();
                restored.snapshot(|record| restoring.take(record)).unwrap();
                restored = restoring.state().unwrap();
            }
        }
        assert!(state == restored);
        state
    }

    /// The state, and what passed to billing; the same if a snapshot of the first half is read instead.
    fn of_receiver(&self) -> (ReceiverState, Vec<Records>) {
        let (mut state, mut restored, mut passed) = (ReceiverState::default(), ReceiverState::default(), Vec::new());
        for (at, entry) in self.entries.iter().enumerate() {
            let entry = receiver::Entry::decode(entry).unwrap();
            let now = state.fold(&entry);
            assert_eq!(restored.fold(&entry), now);
            passed.extend(now);
            if at == self.entries.len() / 2 {
                let mut restoring = receiver::Restoring::default();
                restored.snapshot(|record| restoring.take(record)).unwrap();
                restored = restoring.state().unwrap();
            }
        }
        assert!(state == restored);
        (state, passed)
    }
}

struct Gateway {
    receiver: Receiver,
    log: Log,
    /// What goes to it is lost until then.
    away: Duration,
}

struct Datagram {
    due: Duration,
    from: Endpoint,
    to: Endpoint,
    octets: Vec<u8>,
}

struct World {
    random: Random,
    now: Duration,
    sender: Sender,
    log: Log,
    gateways: [Gateway; 2],
    network: Vec<Datagram>,
    next_record: u64,
    /// Percent.
    loss: u32,
    counters: [u8; 3],
}

fn set_sender(counter: u8) -> sender::Settings {
    sender::Settings {
        address: SENDER,
        restart_counter: counter,
        gateways: GATEWAYS.to_vec(),
        n3: 3,
        window: 8,
        ..sender::Settings::default()
    }
}

fn set_receiver(counter: u8) -> receiver::Settings {
    receiver::Settings { restart_counter: counter, ..receiver::Settings::default() }
}

impl World {
    fn new(seed: u64) -> World {
        let gateway = || Gateway {
            receiver: Receiver::new(set_receiver(0), ReceiverState::default()),
            log: Log::default(),
            away: Duration::ZERO,
        };
        let mut log = Log::default();
        if seed % 2 == 1 {
            // Numbers wrap soon.
            for (at, gateway) in GATEWAYS.iter().enumerate() {
                let (gateway, packet) = (gateway.address, 2 * at as u64 + 1);
                let queued = Change::Queued { gateway, serial: 65_530 - seed % 7, records: records(NO_RECORD) };
                for (more, change) in [queued, Change::Done { packet }].into_iter().enumerate() {
                    log.entries.push(sender::Entry { sequence: packet + more as u64, change }.encode());
                }
            }
            log.durable = log.entries.len();
        }
        World {
            random: Random::new(seed, 0),
            now: Duration::ZERO,
            sender: Sender::new(set_sender(0), log.of_sender(), Duration::ZERO),
            log,
            gateways: [gateway(), gateway()],
            network: Vec::new(),
            next_record: 0,
            loss: (seed % 4) as u32 * 15,
            counters: [0; 3],
        }
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..30 => self.queue(),
            30..72 => self.wait(),
            72..92 => self.sync(),
            92..94 => self.crash_sender(),
            94..97 => self.crash_gateway(),
            97 => self.redirect(),
            _ => self.leave(),
        }
        self.speak();
    }

    fn queue(&mut self) {
        for _ in 0..self.random.below(4) {
            if let Ok(entry) = self.sender.queue(records(self.next_record)) {
                self.log.entries.push(entry.encode());
                self.next_record += 1;
            }
        }
    }

    fn sync(&mut self) {
        let durable = self.log.sync(&mut self.random);
        self.sender.durable(durable);
        for gateway in &mut self.gateways {
            gateway.receiver.durable(gateway.log.sync(&mut self.random));
        }
    }

    fn crash_sender(&mut self) {
        self.log.crash();
        // One that has its numbers still may say that it restarted, or not.
        self.counters[2] = self.counters[2].wrapping_add(self.random.below(2) as u8);
        self.sender = Sender::new(set_sender(self.counters[2]), self.log.of_sender(), self.now);
    }

    fn crash_gateway(&mut self) {
        let at = self.random.below(2) as usize;
        let gateway = &mut self.gateways[at];
        gateway.log.crash();
        self.counters[at] = self.counters[at].wrapping_add(1);
        gateway.receiver = Receiver::new(set_receiver(self.counters[at]), gateway.log.of_receiver().0);
    }

    fn redirect(&mut self) {
        let at = self.random.below(2) as usize;
        let other = Some(GATEWAYS[1 - at].address).filter(|_| self.random.below(2) == 0);
        self.gateways[at].receiver.redirect(63, other, None, self.now);
    }

    fn leave(&mut self) {
        let away = self.now + Duration::from_secs(self.random.below(100).into());
        self.gateways[self.random.below(2) as usize].away = away;
    }

    /// Time goes on to the next thing that is due, or a little.
    fn wait(&mut self) {
        let due = self.network.iter().map(|datagram| datagram.due).min();
        let timers = self.gateways.iter().filter_map(|gateway| gateway.receiver.due()).chain(self.sender.due());
        let next = timers.chain(due).min().unwrap_or(self.now);
        self.now = next.max(self.now) + Duration::from_millis(self.random.below(20).into());
        self.deliver();
        let mut entries = Vec::new();
        self.sender.handle_timeout(self.now, &mut entries);
        self.log.entries.extend(entries.iter().map(sender::Entry::encode));
        self.gateways.iter_mut().for_each(|gateway| gateway.receiver.handle_timeout(self.now));
    }

    fn deliver(&mut self) {
        let (come, rest) = std::mem::take(&mut self.network).into_iter().partition(|datagram| datagram.due <= self.now);
        self.network = rest;
        let come: Vec<Datagram> = come;
        for datagram in come {
            match GATEWAYS.iter().position(|gateway| *gateway == datagram.to) {
                Some(at) => self.reach_gateway(at, &datagram),
                None => self.reach_sender(&datagram),
            }
        }
    }

    fn reach_gateway(&mut self, at: usize, datagram: &Datagram) {
        let gateway = &mut self.gateways[at];
        if gateway.away <= self.now {
            let outcome = gateway.receiver.handle(datagram.from, &datagram.octets, self.now);
            gateway.log.entries.extend(outcome.map(|outcome| outcome.entry.encode()));
        }
    }

    fn reach_sender(&mut self, datagram: &Datagram) {
        let port = PORTS.iter().find(|(_, number)| *number == datagram.to.port).expect("a port of the sender").0;
        let mut entries = Vec::new();
        self.sender.handle(port, datagram.from, &datagram.octets, self.now, &mut entries);
        self.log.entries.extend(entries.iter().map(sender::Entry::encode));
    }

    /// All that wants to leave does.
    fn speak(&mut self) {
        while let Some(sent) = self.sender.poll(self.now) {
            let port = PORTS.iter().find(|(port, _)| *port == sent.to.port).expect("one of two").1;
            self.send(Endpoint::new(SENDER, port), sent.to.to, sent.octets);
        }
        for (at, from) in GATEWAYS.into_iter().enumerate() {
            while let Some(sent) = self.gateways[at].receiver.poll() {
                self.send(from, sent.to, sent.octets);
            }
        }
    }

    fn send(&mut self, from: Endpoint, to: Endpoint, octets: Vec<u8>) {
        for _ in 0..1 + u32::from(self.loss > 0 && self.random.below(100) < 20) {
            if self.random.below(100) < self.loss {
                continue;
            }
            // Most come soon, a few later than a request is repeated.
            let late = if self.random.below(10) == 0 { 8000 } else { 200 };
            let due = self.now + Duration::from_millis(self.random.below(late).into());
            self.network.push(Datagram { due, from, to, octets: octets.clone() });
        }
    }

    /// Faults end: all packets come to where they belong.
    fn heal(&mut self) {
        self.loss = 0;
        self.gateways.iter_mut().for_each(|gateway| gateway.away = Duration::ZERO);
        for _ in 0..20_000 {
            if self.sender.state().is_empty() {
                return;
            }
            self.wait();
            self.sync();
            self.speak();
        }
        panic!("packets stay: {:?}, {:?}", self.sender.state(), self.sender.counts());
    }

    fn check(&mut self, seed: u64) {
        self.log.durable = self.log.entries.len();
        assert_eq!(self.log.of_sender(), *self.sender.state(), "run {seed}");
        let mut times: BTreeMap<u64, u32> = BTreeMap::new();
        for entry in &self.log.entries {
            if let Change::Queued { records, .. } = sender::Entry::decode(entry).unwrap().change {
                times.insert(id(&records), 0);
            }
        }
        times.remove(&NO_RECORD);
        for gateway in &self.gateways {
            let (state, passed) = gateway.log.of_receiver();
            assert!(state == *gateway.receiver.state(), "run {seed}: entries make another state");
            passed.iter().for_each(|records| *times.entry(id(records)).or_insert(10) += 1);
        }
        assert!(times.values().all(|times| *times == 1), "run {seed}: {times:?}");
        assert_eq!(self.sender.state().refused().next(), None, "run {seed}");
    }
}

#[test]
fn each_record_passes_to_billing_once() {
    let (mut sums, mut apart) = (sender::Counts::default(), receiver::Counts::default());
    for seed in 0..RUNS {
        let mut world = World::new(seed);
        (0..STEPS).for_each(|_| world.step());
        world.heal();
        world.check(seed);
        sums.add(world.sender.counts());
        world.gateways.iter().for_each(|gateway| apart.add(gateway.receiver.counts()));
    }
    // The runs go everywhere.
    for count in [sums.released, sums.cancelled, sums.repeated, sums.redirected, sums.back, sums.stale] {
        assert!(count > 0, "{sums:?}");
    }
    for count in [apart.apart, apart.released, apart.cancelled, apart.copies, apart.late, apart.restarts] {
        assert!(count > 0, "{apart:?}");
    }
    assert_eq!((apart.unreadable, sums.unreadable), (0, 0));
}
