//! Probers in a world whose time is driven, and whose truth is known.

use super::*;
use crate::inventory::{Availability, Probe};
use crate::poller::{Change, Now, Reading, Sample, Unknown};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// How a device is: what its answers take, which of its echo requests are lost, whether it is there at all.
#[derive(Clone, Copy, Default)]
struct Truth {
    took_ns: u64,
    /// Each so many-th is lost.
    lost_each: Option<u64>,
    is_dead: bool,
    /// Its ports refuse.
    is_closed: bool,
    echoes: u64,
}

struct World {
    prober: Prober,
    now: Now,
    truths: BTreeMap<IpAddr, Truth>,
    /// What comes, by its time.
    coming: BTreeMap<(u64, u64), Coming>,
    number: u64,
    cancelled: BTreeSet<u64>,
    most: [usize; 4],
    orders: Vec<(u64, Order)>,
    samples: Vec<(u32, i64, bool, Vec<Reading>)>,
    events: Vec<Event>,
}

enum Coming {
    Echo(IpAddr, Vec<u8>),
    Outcome(u64, Outcome),
}

fn address(id: u32) -> IpAddr {
    Ipv4Addr::from(0x0a00_0000 + id).into()
}

fn names(all: &[&str]) -> Arc<Reads> {
    Arc::new(Reads::Names(all.iter().map(|name| vec![(*name).to_owned()]).collect()))
}

fn source(id: u32, step_s: u32, check: Check, reads: &[&str]) -> Source {
    Source { id, step_s, check, reads: names(reads) }
}

fn icmp(id: u32, count: u32) -> Source {
    let check = Check::Icmp { count, timeout: Duration::from_secs(1) };
    source(id, 60, check, &["loss", "rtt-mean", "answered"])
}

fn tcp(id: u32) -> Source {
    source(id, 60, Check::Tcp { port: 443, timeout: Duration::from_secs(5) }, &["up", "reached", "time"])
}

fn script(id: u32) -> Source {
    source(id, 60, Check::Script { command: vec!["x".to_owned()], timeout: Duration::from_secs(10) }, &["a"])
}

fn target(id: u32, probes: &[Probe], sources: Vec<Source>) -> Target {
    let availability = Availability { probes: probes.to_vec(), retries: 0, ..Availability::default() };
    Target { id, address: address(id), availability, step_s: 60, sources, is_counted: true }
}

impl World {
    fn new(limits: Limits) -> World {
        World {
            prober: Prober::new(&limits, 7),
            now: Now { steady_ns: 1000 * SECOND, unix_ms: 1_000_000 },
            truths: BTreeMap::new(),
            coming: BTreeMap::new(),
            number: 0,
            cancelled: BTreeSet::new(),
            most: [0; 4],
            orders: Vec::new(),
            samples: Vec::new(),
            events: Vec::new(),
        }
    }

    fn add(&mut self, target: Target, truth: Truth) {
        self.truths.insert(target.address, truth);
        self.prober.add(target, self.now).unwrap();
    }

    fn later(&mut self, in_ns: u64, coming: Coming) {
        self.number += 1;
        self.coming.insert((self.now.steady_ns + in_ns, self.number), coming);
    }

    fn run(&mut self, time_ns: u64) {
        let until = self.now.steady_ns + time_ns;
        loop {
            let next =
                self.coming.keys().next().map(|(at, _)| *at).into_iter().chain(self.prober.next_timeout_ns()).min();
            let Some(next) = next.filter(|next| *next <= until) else { break };
            self.go_to(next.max(self.now.steady_ns));
            if let Some(first) = self.coming.first_entry().filter(|first| first.key().0 <= self.now.steady_ns) {
                match first.remove() {
                    Coming::Echo(from, octets) => self.prober.handle_echo(from, &octets, self.now),
                    Coming::Outcome(ticket, outcome) => self.prober.handle(ticket, outcome, self.now),
                }
            }
            self.prober.handle_timeout(self.now);
            self.take();
        }
        self.go_to(until);
    }

    fn go_to(&mut self, at_ns: u64) {
        self.now = Now { steady_ns: at_ns, unix_ms: (at_ns / MS) as i64 };
    }

    fn take(&mut self) {
        for (most, open) in self.most.iter_mut().zip(self.prober.outstanding()) {
            *most = open.max(*most);
        }
        for order in self.prober.orders() {
            self.orders.push((self.now.steady_ns, order.clone()));
            self.serve(order);
        }
        let own = |s: Sample<'_>| (s.source, s.unix_ms, s.is_restarted, s.readings.to_vec());
        self.samples.extend(self.prober.samples().map(own));
        self.events.extend_from_slice(self.prober.events());
        self.prober.clear();
    }

    fn serve(&mut self, order: Order) {
        match order {
            Order::Echo { to, sequence, token } => {
                let truth = self.truths.get_mut(&to).unwrap();
                truth.echoes += 1;
                let is_lost = truth.lost_each.is_some_and(|each| truth.echoes.is_multiple_of(each));
                let took_ns = truth.took_ns;
                if !truth.is_dead && !is_lost {
                    self.later(took_ns, Coming::Echo(to, answer(to, sequence, token)));
                }
            }
            Order::Connect { ticket, to } | Order::Ask { ticket, to, .. } => {
                let Truth { took_ns, is_dead, is_closed, .. } = self.truths[&to.ip()];
                let outcome = if is_closed { Outcome::Refused } else { Outcome::Answered };
                if !is_dead {
                    self.later(took_ns, Coming::Outcome(ticket, outcome));
                }
            }
            Order::Run { ticket, .. } | Order::Fetch { ticket, .. } | Order::Own { ticket, .. } => {
                let outcome = Outcome::Said { readings: vec![Reading::Integer(5)], started: None, fault: None };
                self.later(SECOND, Coming::Outcome(ticket, outcome));
            }
            Order::Cancel { ticket } => drop(self.cancelled.insert(ticket)),
        }
    }

    fn last(&self, source: u32) -> &[Reading] {
        &self.samples.iter().rev().find(|(id, ..)| *id == source).unwrap().3
    }

    fn changes(&self) -> Vec<(u32, Change)> {
        let change = |event: &Event| match event {
            Event::Health { device, change, .. } => Some((*device, *change)),
            _ => None,
        };
        self.events.iter().filter_map(change).collect()
    }
}

/// What a device says to an echo request.
fn answer(to: IpAddr, sequence: u16, token: u64) -> Vec<u8> {
    let mut octets = echo::request(to, 1, sequence, token).to_vec();
    octets[0] = 0;
    // The sum of what has become less by 0x0800 is more by that (RFC 1624).
    let sum = u32::from(u16::from_be_bytes([octets[2], octets[3]])) + 0x0800;
    let sum = (sum & 0xffff) + (sum >> 16);
    octets[2..4].copy_from_slice(&(sum as u16).to_be_bytes());
    octets
}

#[test]
fn loss_and_latency_are_the_truth() {
    let mut world = World::new(Limits::default());
    world.add(target(1, &[], vec![icmp(10, 5)]), Truth { took_ns: 50 * MS, lost_each: Some(5), ..Truth::default() });
    world.add(target(2, &[], vec![icmp(20, 20)]), Truth { is_dead: true, ..Truth::default() });
    world.run(3600 * SECOND);
    let of = |id: u32| world.samples.iter().filter(move |(source, ..)| *source == id);
    // One in five, in each round of five: an hour has sixty rounds.
    assert!((59..=61).contains(&of(10).count()));
    for (.., readings) in of(10) {
        assert_eq!(readings[..], [Reading::Real(20.0), Reading::Real(0.05), Reading::Integer(4)]);
    }
    for (.., readings) in of(20) {
        assert_eq!(readings[..], [Reading::Real(100.0), Reading::Unknown(Unknown::Timeout), Reading::Integer(0)]);
    }
    // They come in a step's distance, each in its own place.
    let times: Vec<i64> = of(10).map(|(_, unix_ms, ..)| *unix_ms).collect();
    assert!(times.windows(2).skip(1).all(|pair| pair[1] - pair[0] == 60_000));
    // Requests of a round do not go at once.
    let sent: Vec<u64> = world
        .orders
        .iter()
        .filter(|(_, order)| matches!(order, Order::Echo { to, .. } if *to == address(1)))
        .map(|(at, _)| *at)
        .collect();
    assert!(sent.windows(2).all(|pair| pair[1] - pair[0] >= 200 * MS));
    assert_eq!((world.prober.outstanding(), world.prober.counts().missed), ([0; 4], 0));
}

#[test]
fn answers_that_are_not_ours_do_not_count() {
    let mut world = World::new(Limits::default());
    world.add(target(1, &[], vec![icmp(10, 1)]), Truth { is_dead: true, ..Truth::default() });
    while world.orders.is_empty() {
        world.run(100 * MS);
    }
    let Order::Echo { to, sequence, token } = world.orders[0].1 else { panic!() };
    let (other, right) = (address(2), answer(to, sequence, token));
    world.prober.handle_echo(other, &answer(other, sequence, token), world.now);
    world.prober.handle_echo(to, &answer(to, sequence, token ^ 1), world.now);
    world.prober.handle_echo(to, &answer(to, sequence.wrapping_add(1), token), world.now);
    world.prober.handle_echo(to, &right[..12], world.now);
    assert_eq!((world.prober.counts().stray, world.prober.outstanding()[0]), (4, 1));
    world.prober.handle_echo(to, &right, world.now);
    // A second copy of it answers nothing any more.
    world.prober.handle_echo(to, &right, world.now);
    world.take();
    assert_eq!((world.last(10)[2], world.prober.counts().stray), (Reading::Integer(1), 5));
}

#[test]
fn devices_are_down_after_failures_and_up_after_recoveries() {
    let mut world = World::new(Limits::default());
    let sources = vec![icmp(10, 1), tcp(11), script(12)];
    world
        .add(target(1, &[Probe::Icmp {}, Probe::Tcp { port: 22 }], sources), Truth { took_ns: MS, ..Truth::default() });
    world.run(200 * SECOND);
    assert_eq!(world.changes(), [(1, Change::Up)]);
    assert_eq!((world.last(11)[0], world.last(12)), (Reading::Integer(1), &[Reading::Integer(5)][..]));
    world.truths.get_mut(&address(1)).unwrap().is_dead = true;
    world.run(60 * SECOND);
    assert_eq!(world.changes().len(), 1);
    world.run(120 * SECOND);
    assert_eq!(world.changes()[1..], [(1, Change::Down)]);
    // Programs do not run for it; that its port does not answer is a reading.
    assert_eq!(world.last(12), [Reading::Unknown(Unknown::Down)]);
    assert_eq!(world.last(11), [Reading::Integer(0), Reading::Integer(0), Reading::Unknown(Unknown::Timeout)]);
    let ran = |world: &World| world.orders.iter().filter(|(_, order)| matches!(order, Order::Run { .. })).count();
    let before = ran(&world);
    world.run(300 * SECOND);
    assert_eq!(ran(&world), before);
    // A port that refuses is an answer, too: the device is there.
    let truth = world.truths.get_mut(&address(1)).unwrap();
    (truth.is_dead, truth.is_closed, truth.lost_each) = (false, true, Some(1));
    world.run(120 * SECOND);
    assert_eq!(world.changes()[2..], [(1, Change::Up)]);
    assert_eq!(world.last(11), [Reading::Integer(0), Reading::Integer(1), Reading::Unknown(Unknown::Timeout)]);
    assert!(ran(&world) > before && !world.prober.standing(1).unwrap().health.is_down());
}

#[test]
fn what_comes_and_goes_is_told_to_flap() {
    let mut world = World::new(Limits::default());
    world.add(target(1, &[Probe::Icmp {}], vec![]), Truth { lost_each: Some(2), took_ns: MS, ..Truth::default() });
    world.run(600 * SECOND);
    let flapping = |world: &World| -> Vec<bool> {
        world
            .events
            .iter()
            .filter_map(|e| if let Event::Flapping { begins, .. } = e { Some(*begins) } else { None })
            .collect()
    };
    // Every second round fails: never two in a row, so it is up all the time, and flaps.
    assert_eq!((world.changes(), flapping(&world)), (vec![(1, Change::Up)], vec![true]));
    assert!(world.prober.standing(1).unwrap().flapping.is_on());
    world.truths.get_mut(&address(1)).unwrap().lost_each = None;
    world.run(1500 * SECOND);
    assert_eq!(flapping(&world), [true, false]);
}

#[test]
fn who_cannot_ask_does_not_say_that_devices_are_down() {
    let mut world = World::new(Limits::default());
    world.add(target(1, &[Probe::Icmp {}], vec![icmp(10, 3)]), Truth::default());
    let until = world.now.steady_ns + 200 * SECOND;
    while world.now.steady_ns < until {
        let next = world.prober.next_timeout_ns().unwrap();
        world.go_to(next.max(world.now.steady_ns));
        world.prober.handle_timeout(world.now);
        for order in world.prober.orders() {
            let Order::Echo { sequence, token, .. } = order else { panic!("{order:?}") };
            world.prober.handle_unsent(sequence, token, "no right to", world.now);
        }
        world.take();
    }
    assert_eq!(world.last(10), [Reading::Unknown(Unknown::NotAsked); 3]);
    // Told once for each, and never that it is down.
    let fault = |source| Event::Fault { device: 1, source, text: "no right to".to_owned() };
    world.events.sort_by_key(|event| matches!(event, Event::Fault { source: Some(_), .. }));
    assert_eq!(world.events, [fault(None), fault(Some(10))]);
}

#[test]
fn what_snmp_says_counts_as_a_probe() {
    let mut world = World::new(Limits::default());
    let mut both = target(1, &[Probe::Icmp {}, Probe::Snmp {}], vec![]);
    both.availability.all = true;
    world.add(both, Truth { took_ns: MS, ..Truth::default() });
    world.run(120 * SECOND);
    // Nothing is known of SNMP yet.
    assert_eq!(world.changes(), []);
    world.prober.set_snmp(1, true);
    world.run(120 * SECOND);
    world.prober.set_snmp(1, false);
    world.run(180 * SECOND);
    assert_eq!(world.changes(), [(1, Change::Up), (1, Change::Down)]);
}

#[test]
fn bounds_hold_for_each_kind_and_everybody_comes_in_turn() {
    let limits = Limits { echoes: 8, ports: 4, programs: 2, pages: 1 };
    let mut world = World::new(limits);
    for id in 0..40 {
        let sources = vec![icmp(id * 10, 4), tcp(id * 10 + 1), script(id * 10 + 2)];
        world.add(target(id, &[Probe::Icmp {}], sources), Truth { took_ns: 700 * MS, ..Truth::default() });
    }
    world.run(600 * SECOND);
    assert_eq!(world.most, [8, 4, 2, 0]);
    assert!(world.prober.counts().held > 0);
    // Two programs at once, a second each: 40 of them fit into a minute, and each one's turn comes.
    for id in 0..40 {
        let count = world.samples.iter().filter(|(source, ..)| *source == id * 10 + 2).count();
        assert!((9..=11).contains(&count), "{count}");
    }
}

#[test]
fn programs_that_do_not_end_are_given_up_and_rounds_are_missed_not_piled_up() {
    let mut world = World::new(Limits::default());
    let mut slow = script(10);
    slow.step_s = 5;
    world.add(target(1, &[], vec![slow]), Truth::default());
    // Nobody runs it.
    let until = world.now.steady_ns + 60 * SECOND;
    let mut runs = 0;
    while world.now.steady_ns < until {
        let next = world.prober.next_timeout_ns().unwrap();
        world.go_to(next.max(world.now.steady_ns));
        world.prober.handle_timeout(world.now);
        runs += world.prober.orders().iter().filter(|order| matches!(order, Order::Run { .. })).count();
        world.take();
    }
    assert_eq!(world.last(10), [Reading::Unknown(Unknown::Timeout)]);
    assert!((4..=5).contains(&runs) && world.most[2] == 1, "{runs}");
    let missed = world.prober.counts().missed;
    assert!((6..=10).contains(&missed), "{missed}");
    assert!(world.events.contains(&Event::Missed { device: 1, source: Some(10), count: missed }));
}

#[test]
fn devices_that_are_removed_or_changed_leave_nothing_behind() {
    let mut world = World::new(Limits { ports: 1, ..Limits::default() });
    for id in [1, 2] {
        world.add(
            target(id, &[Probe::Icmp {}], vec![tcp(id * 10)]),
            Truth { is_dead: id == 1, took_ns: MS, ..Truth::default() },
        );
    }
    world.run(6 * SECOND);
    assert!(world.prober.remove(1) && !world.prober.remove(1));
    world.take();
    world.run(60 * SECOND);
    assert_eq!((world.last(20)[0], world.prober.len()), (Reading::Integer(1), 1));
    // What was learned stays while the device is the same, and goes with its address.
    let up = world.prober.standing(2).unwrap();
    assert!(up.health.is_well());
    world.prober.add(target(2, &[Probe::Icmp {}], vec![]), world.now).unwrap();
    assert_eq!(world.prober.standing(2), Some(up));
    let mut moved = target(2, &[Probe::Icmp {}], vec![]);
    moved.address = address(3);
    world.prober.add(moved, world.now).unwrap();
    assert_eq!(world.prober.standing(2), Some(Standing::default()));
}

#[test]
fn what_counts_anew_is_told() {
    let mut world = World::new(Limits::default());
    let reads = Check::Program.reads(vec![vec!["trunkline_a_total".to_owned()]]).unwrap();
    let own = Source { id: 10, step_s: 60, check: Check::Program, reads: Arc::new(reads) };
    let page = Check::Page { kind: PageKind::Json, url: "http://h/".to_owned(), timeout: Duration::from_secs(1) };
    world.add(target(1, &[], vec![own, source(11, 60, page, &["/a"])]), Truth::default());
    let mut begun = [1.0, 1.0, 2.0, 2.0].into_iter();
    for _ in 0..400 {
        world.go_to(world.now.steady_ns + SECOND);
        world.prober.handle_timeout(world.now);
        for order in world.prober.orders() {
            let (ticket, started) = match order {
                Order::Fetch { ticket, .. } => (ticket, begun.next()),
                Order::Own { ticket, .. } => (ticket, None),
                order => panic!("{order:?}"),
            };
            let outcome = Outcome::Said { readings: vec![Reading::Counter64(1)], started, fault: None };
            world.prober.handle(ticket, outcome, world.now);
        }
        world.take();
    }
    let restarts = |id: u32| -> Vec<bool> {
        world.samples.iter().filter(|(source, ..)| *source == id).map(|(_, _, is, _)| *is).take(4).collect()
    };
    // Of its own metrics the first sample is the first of all; a process says itself when it began.
    assert_eq!(restarts(10), [true, false, false, false]);
    assert_eq!(restarts(11), [false, false, true, false]);
}

#[test]
fn descriptions_with_faults_are_refused() {
    let mut prober = Prober::new(&Limits::default(), 1);
    let mut wrong = |change: fn(&mut Target)| {
        let mut target = target(1, &[Probe::Icmp {}], vec![icmp(10, 5), tcp(11), script(12)]);
        change(&mut target);
        prober.add(target, Now::default()).err()
    };
    assert_eq!(wrong(|_| {}), None);
    assert_eq!(wrong(|t| t.step_s = 0), Some(TargetError::Step));
    assert_eq!(wrong(|t| t.sources[0].step_s = 86_401), Some(TargetError::Step));
    assert_eq!(wrong(|t| t.availability.failures = 0), Some(TargetError::Availability));
    assert_eq!(wrong(|t| t.availability.timeout_ms = 9), Some(TargetError::Timeout));
    assert_eq!(wrong(|t| t.availability.probes = vec![Probe::Tcp { port: 0 }]), Some(TargetError::Port));
    assert_eq!(wrong(|t| t.sources[0] = icmp(10, 0)), Some(TargetError::Count));
    assert_eq!(
        wrong(|t| t.sources[2].check = Check::Script { command: vec![], timeout: Duration::from_secs(1) }),
        Some(TargetError::Command)
    );
    assert_eq!(wrong(|t| t.sources[1].reads = Arc::new(Reads::Names(vec![]))), Some(TargetError::Reads));
    assert!(icmp(1, 1).check.reads(vec![vec!["rtt".to_owned()]]).is_err());
}

#[test]
fn whoever_waits_for_a_device_hears_at_once_that_it_answers() {
    let mut world = World::new(Limits::default());
    let quick = Truth { took_ns: 50 * MS, ..Truth::default() };
    world.add(target(1, &[Probe::Icmp {}], Vec::new()), quick);
    world.add(target(2, &[Probe::Icmp {}], Vec::new()), Truth { is_dead: true, ..quick });
    // That its agent was there a while ago is no answer.
    world.add(target(3, &[Probe::Snmp {}], Vec::new()), quick);
    world.prober.set_snmp(3, true);
    world.run(600 * SECOND);
    let answered = |world: &World| {
        let told = world.events.iter().filter_map(|event| match event {
            Event::Answered { device, began_ms } => Some((*device, *began_ms)),
            _ => None,
        });
        told.collect::<Vec<_>>()
    };
    assert_eq!(answered(&world), [], "nobody waits");
    let asked_ms = world.now.unix_ms;
    for _ in 0..600 {
        (1..=4).for_each(|id| world.prober.check_soon(id, world.now));
        world.take();
        world.run(SECOND / 10);
    }
    world.run(SECOND);
    let told = answered(&world);
    assert!(told.iter().all(|(device, _)| *device == 1), "{told:?}");
    assert!((9..=13).contains(&told.len()) && told[0].1 - asked_ms < 10_000, "{told:?}");
    assert!(told.windows(2).all(|pair| pair[1].1 - pair[0].1 >= 5_000), "{told:?}");
    let rounds = world.prober.counts().rounds;
    world.run(600 * SECOND);
    assert_eq!((world.prober.counts().rounds - rounds, world.prober.counts().missed), (30, 0));
    // Who asked last hears it of the next one, and then nobody waits any more.
    assert!(answered(&world).len() <= told.len() + 1);
}
