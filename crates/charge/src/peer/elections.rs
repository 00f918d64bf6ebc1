//! Two nodes that dial each other over a network that delays, refuses and cuts: in the end there is one connection, and
//! both sides know the same one.

use super::{Came, Down, Local, Neighbour, Peer, Place, Roster, Taken};
use core::time::Duration;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use trunkline_wire::diameter::result_code;

const TC: Duration = Duration::from_secs(30);

/// What is on its way over a connection.
#[derive(Debug)]
enum Sent {
    Octets(Vec<u8>),
    End,
}

/// One side of a connection.
struct Line {
    peer: Peer,
    /// The try of ours that it is; none if the other side made it.
    tried: Option<u64>,
    /// It came, and is taken.
    taken: bool,
    inbox: VecDeque<Sent>,
}

struct Side {
    local: Local,
    roster: Roster<u32>,
    lines: BTreeMap<u32, Line>,
}

struct World {
    sides: [Side; 2],
    now: Duration,
    next: u32,
    /// Tries that are on their way: who, which, when they come to something.
    dialled: Vec<(usize, u64)>,
}

fn local(host: &str) -> Local {
    Local {
        host: host.to_owned(),
        realm: "example".to_owned(),
        realms: Vec::new(),
        addresses: vec!["192.0.2.1".parse().unwrap()],
        state_id: 1,
        peers: Vec::new(),
        watchdog: Duration::from_secs(30),
    }
}

fn side(own: &str, other: &str, seed: u32) -> Side {
    let place = Place { address: "192.0.2.1:3868".parse().unwrap(), tls: false };
    let neighbour = Neighbour { host: other.to_owned(), places: vec![place] };
    Side { local: local(own), roster: Roster::new(vec![neighbour], TC, seed), lines: BTreeMap::new() }
}

impl World {
    fn new(seed: u32) -> World {
        let sides = [side("a.example", "b.example", seed), side("b.example", "a.example", seed.rotate_left(16))];
        World { sides, now: Duration::ZERO, next: 1, dialled: Vec::new() }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        for which in 0..2 {
            if let Some((_, tried)) = self.sides[which].roster.due(0, self.now) {
                self.dialled.push((which, tried));
            }
            self.watch(which);
        }
    }

    fn watch(&mut self, which: usize) {
        let numbers: Vec<u32> = self.sides[which].lines.keys().copied().collect();
        for number in numbers {
            let Side { local, lines, .. } = &mut self.sides[which];
            let Some(line) = lines.get_mut(&number) else { continue };
            let mut out = Vec::new();
            let due = line.peer.watch(local, self.now, &mut out);
            self.send(which, number, out);
            if due == super::Due::Close {
                self.close(which, number);
            }
        }
    }

    /// A try comes to something.
    fn dial(&mut self, at: usize, works: bool) {
        let (which, tried) = self.dialled.swap_remove(at);
        if !works {
            return self.sides[which].roster.closed(0, tried, Down::Unreached("refused"), self.now);
        }
        let number = self.next;
        self.next += 1;
        for (side, own) in [(which, true), (1 - which, false)] {
            let peer = Peer::new(&self.sides[side].local, number, self.now);
            let line = Line { peer, tried: own.then_some(tried), taken: false, inbox: VecDeque::new() };
            self.sides[side].lines.insert(number, line);
        }
        if !self.sides[which].roster.stands(0, tried, number) {
            return self.close(which, number);
        }
        let other = self.sides[1 - which].local.host.clone();
        let Side { local, lines, .. } = &mut self.sides[which];
        let mut out = Vec::new();
        lines.get_mut(&number).unwrap().peer.call(local, &other, &mut out);
        self.send(which, number, out);
    }

    fn send(&mut self, from: usize, number: u32, octets: Vec<u8>) {
        if let Some(line) = self.sides[1 - from].lines.get_mut(&number).filter(|_| !octets.is_empty()) {
            line.inbox.push_back(Sent::Octets(octets));
        }
    }

    /// One side closes; the other one sees it behind what was said.
    fn close(&mut self, which: usize, number: u32) {
        if let Some(line) = self.sides[1 - which].lines.get_mut(&number) {
            line.inbox.push_back(Sent::End);
        }
        self.gone(which, number);
    }

    fn gone(&mut self, which: usize, number: u32) {
        let Side { roster, lines, .. } = &mut self.sides[which];
        let Some(line) = lines.remove(&number) else { return };
        let why = line.peer.down().unwrap_or(Down::Ended);
        match line.tried {
            Some(tried) => roster.closed(0, tried, why, self.now),
            None if line.taken => roster.went(line.peer.host(), why, self.now),
            None => {}
        }
    }

    /// Both sides lose it at once, with all that is on its way.
    fn cut(&mut self, number: u32) {
        self.gone(0, number);
        self.gone(1, number);
    }

    fn take(&mut self, which: usize, number: u32) {
        let Side { local, roster, lines } = &mut self.sides[which];
        let Some(line) = lines.get_mut(&number) else { return };
        let octets = match line.inbox.pop_front() {
            None => return,
            Some(Sent::End) => return self.gone(which, number),
            Some(Sent::Octets(octets)) => octets,
        };
        let mut out = Vec::new();
        let taken = line.peer.take(local, &octets, self.now, &mut out).unwrap();
        let (mut ends, mut instead) = (matches!(taken, Taken::Close(_)), None);
        match (matches!(taken, Taken::Opened), line.tried) {
            (true, Some(tried)) => roster.opened(0, tried),
            (true, None) => match roster.came(line.peer.host(), &local.host) {
                Came::Lost => {
                    out.clear();
                    line.peer.refuse(local, &octets, result_code::ELECTION_LOST, &mut out);
                    ends = true;
                }
                came => {
                    line.taken = true;
                    instead = if let Came::Instead(ours) = came { Some(ours) } else { None };
                }
            },
            (false, _) => {}
        }
        self.send(which, number, out);
        if let Some(ours) = instead {
            self.close(which, ours);
        }
        if ends {
            self.close(which, number);
        }
    }

    /// What is on its way, by chance the one or the other first.
    fn step(&mut self, choice: u32, faults: bool) -> bool {
        let mut ways: Vec<(usize, u32)> = Vec::new();
        for which in 0..2 {
            let waiting = self.sides[which].lines.iter().filter(|(_, line)| !line.inbox.is_empty());
            ways.extend(waiting.map(|(number, _)| (which, *number)));
        }
        let all = ways.len() + self.dialled.len();
        if all == 0 {
            return false;
        }
        let at = choice as usize % all;
        match ways.get(at) {
            Some((_, number)) if faults && choice >> 16 & 15 == 0 => self.cut(*number),
            Some((which, number)) => self.take(*which, *number),
            None => self.dial(at - ways.len(), !faults || choice >> 20 & 3 > 0),
        }
        true
    }

    fn settle(&mut self, random: &mut impl FnMut() -> u32) {
        for _ in 0..400 {
            while self.step(random(), false) {}
            self.pass(Duration::from_secs(1));
        }
        while self.step(random(), false) {}
    }

    /// The connections that a side knows as open.
    fn open(&self, which: usize) -> Vec<u32> {
        self.sides[which].lines.iter().filter(|(_, line)| line.peer.is_open()).map(|(number, _)| *number).collect()
    }
}

proptest! {
    #[test]
    fn both_sides_come_to_know_one_connection(seed in any::<u32>(), steps in 1usize..400) {
        let mut state = u64::from(seed) | 1 << 40;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        };
        let mut world = World::new(seed);
        for _ in 0..steps {
            // Both are often due at once, so that they meet.
            match random() % 8 {
                0 => world.pass(Duration::from_secs(u64::from(random() % 40))),
                _ => drop(world.step(random(), true)),
            }
        }
        world.settle(&mut random);
        let (a, b) = (world.open(0), world.open(1));
        prop_assert_eq!(&a, &b);
        prop_assert_eq!(a.len(), 1, "{:?}", world.sides[0].roster.shown().collect::<Vec<_>>());
        for side in &world.sides {
            let shown = side.roster.shown().next().unwrap();
            prop_assert!(matches!(shown.state, "open" | "came"), "{shown:?}");
            prop_assert_eq!(side.lines.len(), 1);
        }
    }
}
