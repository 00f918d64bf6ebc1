//! Nodes, a stream and what lies between them, without a socket: messages and answers are late, lost, come after the
//! end of who sent them; reads are out of date; nodes stop, end, stand when they should not. What was ever answered
//! stands, and all logs come to the same.

use std::collections::VecDeque;
use std::time::Duration;
use trunkline_kit::random::Random;
use trunkline_replica::follower::{Brought, Follower};
use trunkline_replica::message::{Message, Word, leader};
use trunkline_replica::publisher::{Publish, Publisher, Standing};
use trunkline_replica::search::Search;
use trunkline_replica::terms::Terms;

const NODES: usize = 3;
const STEPS: u32 = 6000;
/// Octets of a message: records have several.
const MESSAGE_OCTETS: usize = 1024;

/// A message on its way: the place that it is to stand behind, the name of the message there if it is known to nobody,
/// its own name, which those that begin a term do not have.
type Going = (u64, Option<String>, String, Vec<u8>);

/// The stream: it takes a message behind the last one or not at all.
#[derive(Default)]
struct Stream {
    messages: Vec<Vec<u8>>,
    last: String,
}

impl Stream {
    fn publish(&mut self, (after, follows, name, octets): &Going) -> Result<u64, u64> {
        let end = self.messages.len() as u64;
        if *after != end || follows.as_ref().is_some_and(|follows| *follows != self.last) {
            return Err(end);
        }
        self.messages.push(octets.clone());
        self.last.clone_from(name);
        Ok(end + 1)
    }

    fn at(&self, place: u64) -> Option<&Vec<u8>> {
        self.messages.get(usize::try_from(place).unwrap() - 1)
    }

    fn terms(&self) -> Option<Terms> {
        self.messages.iter().rev().find_map(|octets| match Message::new(octets).unwrap() {
            Message::Leader { terms, .. } => Some(terms),
            Message::Records(_) => None,
        })
    }

    /// What the log is: each record as the newest term to reach it has it.
    fn log(&self) -> Vec<Vec<u8>> {
        let (mut log, mut part) = (Vec::new(), Vec::new());
        for octets in &self.messages {
            match Message::new(octets).unwrap() {
                Message::Leader { word: Word::Leads, next, .. } => {
                    assert_eq!(next, log.len() as u64 + 1, "a term begins behind all that stands");
                    part.clear();
                }
                Message::Leader { .. } => {}
                Message::Records(records) => records.each(|piece| {
                    part.extend_from_slice(piece.octets);
                    if piece.ends {
                        log.push(std::mem::take(&mut part));
                        assert_eq!(piece.number, log.len() as u64);
                    }
                }),
            }
        }
        log
    }
}

fn going(node: &str, terms: &Option<Terms>, publish: &Publish<'_>) -> Going {
    let term = terms.as_ref().map_or(0, |terms| terms.newest().number);
    let name = |id: u64| format!("{node}.{term}.{id}");
    (publish.after, publish.follows.map(name), name(publish.id), publish.octets.to_vec())
}

enum Role {
    Down,
    Follows(Follower),
    Leads(Publisher),
}

struct Node {
    name: String,
    role: Role,
    /// The own disk: records, and how many of them a crash leaves.
    log: Vec<Vec<u8>>,
    durable: usize,
    terms: Option<Terms>,
    /// How far answers were given.
    answered: usize,
}

/// What is on its way to the stream, in the order of its connection; and the answers on their way back.
#[derive(Default)]
struct Way {
    going: VecDeque<Going>,
    coming: VecDeque<Result<u64, u64>>,
}

struct World {
    random: Random,
    stream: Stream,
    nodes: Vec<Node>,
    ways: Vec<Way>,
    /// Connections that are no more: what was on its way may still arrive.
    ghosts: Vec<VecDeque<Going>>,
    /// By number, what was answered.
    answers: Vec<Vec<u8>>,
    made: u64,
    takeovers: u32,
    cuts: u32,
    /// Who follows waits.
    calm: bool,
}

impl World {
    fn new(seed: u64) -> World {
        let node = |at: usize| Node {
            name: format!("node-{at}"),
            role: Role::Down,
            log: Vec::new(),
            durable: 0,
            terms: None,
            answered: 0,
        };
        World {
            random: Random::new(seed, 3),
            stream: Stream::default(),
            nodes: (0..NODES).map(node).collect(),
            ways: (0..NODES).map(|_| Way::default()).collect(),
            ghosts: Vec::new(),
            answers: Vec::new(),
            made: 0,
            takeovers: 0,
            cuts: 0,
            calm: false,
        }
    }

    fn chance(&mut self, of: u32) -> bool {
        self.random.below(of) == 0
    }

    /// A connection is lost: its answers are, too; what went may arrive or not.
    fn break_way(&mut self, at: usize) {
        let going = std::mem::take(&mut self.ways[at]).going;
        if self.random.below(2) == 0 {
            self.ghosts.push(going);
        }
        if let Role::Leads(publisher) = &mut self.nodes[at].role {
            publisher.unsure();
        }
    }

    fn crash(&mut self, at: usize) {
        self.break_way(at);
        let keeps = self.random.below(2) == 0;
        let node = &mut self.nodes[at];
        node.role = Role::Down;
        if !keeps {
            node.log.truncate(node.durable);
        }
        node.durable = node.log.len();
    }

    /// A node comes: it cuts, and follows.
    fn join(&mut self, at: usize) {
        let (node, now) = (&mut self.nodes[at], Duration::ZERO);
        let Some(told) = self.stream.terms() else {
            if node.terms.is_none() {
                let terms = Terms::begin(7, 1, 1);
                let octets = leader(Word::Leads, &node.name, &terms, 1);
                if let Ok(place) = self.stream.publish(&(0, None, String::new(), octets)) {
                    node.terms = Some(terms.clone());
                    node.role = Role::Leads(Publisher::new(terms, &node.name, place, MESSAGE_OCTETS));
                }
            }
            return;
        };
        if let Some(after) = node.terms.as_ref().and_then(|known| known.cut(&told).unwrap()) {
            self.cuts += u32::from((after as usize) < node.log.len());
            node.log.truncate(after as usize);
            node.durable = node.log.len();
        }
        let own = node.log.len() as u64;
        let terms = node.terms.clone().unwrap_or(Terms { list: Vec::new(), ..told });
        let mut search = Search::new(own + 1, 1, self.stream.messages.len() as u64);
        while let Some(place) = search.next() {
            search.saw(place, &Message::new(self.stream.at(place).unwrap()).unwrap());
        }
        node.role = Role::Follows(Follower::new(terms, own, search.behind().unwrap(), now));
    }

    fn follow(&mut self, at: usize) {
        let patience = if self.calm { 300 } else { 3 };
        let (stale, lost, stands) = (self.chance(5), self.chance(4), self.chance(patience));
        let node = &mut self.nodes[at];
        let Role::Follows(follower) = &mut node.role else { return };
        let place = follower.place() + 1;
        match self.stream.at(place).filter(|_| !stale) {
            Some(octets) => match follower.take(place, octets, Duration::ZERO).unwrap_or_else(|fault| {
                let shown = self.stream.messages.iter().map(|octets| Message::new(octets));
                panic!("{fault}: {:#?}", shown.skip(place.saturating_sub(8) as usize).take(9).collect::<Vec<_>>())
            }) {
                Brought::Records { first, records } => {
                    assert_eq!(first, node.log.len() as u64 + 1);
                    node.log.extend(records);
                    node.durable = node.log.len();
                }
                Brought::Terms(terms) => node.terms = Some(terms),
                Brought::Anew => self.join(at),
                Brought::Nothing => {}
            },
            None if stands => {
                let (terms, octets) = follower.candidacy(&node.name);
                // Whether it leads may stay unknown: it reads on then.
                if let Some(place) =
                    self.stream.publish(&(place - 1, None, String::new(), octets)).ok().filter(|_| !lost)
                {
                    let mut publisher = Publisher::new(terms.clone(), &node.name, place, MESSAGE_OCTETS);
                    let tail = &node.log[terms.newest().first as usize - 1..];
                    publisher.append(tail.iter().map(Vec::as_slice));
                    (node.terms, node.role) = (Some(terms), Role::Leads(publisher));
                    node.answered = 0;
                    self.ways[at] = Way::default();
                    self.takeovers += 1;
                }
            }
            None => {}
        }
    }

    fn lead(&mut self, at: usize) {
        let (what, stale, long) = (self.random.below(10), self.chance(4), self.chance(20));
        let node = &mut self.nodes[at];
        let Role::Leads(publisher) = &mut node.role else { return };
        match publisher.standing() {
            Standing::Unsure => {
                let place = publisher.place() + 1;
                match self.stream.at(place).filter(|_| !stale) {
                    Some(octets) => publisher.found(octets),
                    None => publisher.found_end(),
                }
            }
            Standing::Fenced(_) | Standing::Yielded => return self.crash(at),
            Standing::Leads => match what {
                0..=2 => {
                    self.made += 1;
                    let octets = if long { 2500 } else { 8 + (self.made % 200) as usize };
                    let mut record = self.made.to_le_bytes().to_vec();
                    record.resize(octets, 3);
                    publisher.append([record.as_slice()].into_iter());
                    node.log.push(record);
                }
                3 => publisher.beat(),
                4 if long => publisher.hand_over(),
                5 | 6 => node.durable = node.log.len(),
                _ => {
                    if let Some(publish) = publisher.poll() {
                        self.ways[at].going.push_back(going(&node.name, &node.terms, &publish));
                    }
                }
            },
        }
        self.answer(at);
    }

    /// What is durable and acknowledged is answered: from then on it stands.
    fn answer(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        let Role::Leads(publisher) = &node.role else { return };
        let until = node.durable.min(publisher.acknowledged() as usize);
        for number in node.answered..until {
            match self.answers.get(number) {
                Some(answered) => assert!(*answered == node.log[number], "record {} is answered twice", number + 1),
                None => self.answers.push(node.log[number].clone()),
            }
        }
        node.answered = node.answered.max(until);
    }

    fn carry(&mut self, at: usize) {
        let (arrives, lost) = (self.chance(2), self.chance(30));
        if arrives {
            if let Some(message) = self.ways[at].going.pop_front() {
                let taken = self.stream.publish(&message);
                self.ways[at].coming.push_back(taken);
            }
        } else if let Some(answer) = self.ways[at].coming.pop_front().filter(|_| !lost) {
            if let Role::Leads(publisher) = &mut self.nodes[at].role {
                match answer {
                    Ok(place) => publisher.acked(place),
                    Err(_) => publisher.unsure(),
                }
            }
            self.answer(at);
        }
        if self.chance(10) && !self.ghosts.is_empty() {
            let ghost = self.random.below(self.ghosts.len() as u32) as usize;
            match self.ghosts[ghost].pop_front() {
                Some(message) => _ = self.stream.publish(&message),
                None => _ = self.ghosts.swap_remove(ghost),
            }
        }
    }

    fn step(&mut self) {
        let at = self.random.below(NODES as u32) as usize;
        if self.chance(400) {
            return self.crash(at);
        }
        if self.chance(200) {
            return self.break_way(at);
        }
        self.carry(at);
        match self.nodes[at].role {
            Role::Down => {
                if self.chance(20) {
                    self.join(at);
                }
            }
            Role::Follows(_) => self.follow(at),
            Role::Leads(_) => self.lead(at),
        }
    }

    /// All come again and follow to the end, where one takes over and publishes what it has.
    fn settle(&mut self) {
        (0..NODES).for_each(|at| self.crash(at));
        self.ghosts.clear();
        self.calm = true;
        for step in 0..20 * STEPS {
            let (at, late, beats) = (self.random.below(NODES as u32) as usize, self.chance(100), self.chance(20));
            self.carry(at);
            if late {
                // What is not acknowledged in time.
                self.break_way(at);
            }
            match &self.nodes[at].role {
                Role::Down => self.join(at),
                Role::Follows(_) => self.follow(at),
                Role::Leads(publisher) if publisher.standing() == &Standing::Leads => {
                    let node = &mut self.nodes[at];
                    let Role::Leads(publisher) = &mut node.role else { unreachable!() };
                    if beats {
                        publisher.beat();
                    }
                    if let Some(publish) = publisher.poll() {
                        self.ways[at].going.push_back(going(&node.name, &node.terms, &publish));
                    }
                }
                Role::Leads(_) => self.lead(at),
            }
            if step % 200 > 0 {
                continue;
            }
            let log = self.stream.log();
            let even = self.nodes.iter().all(|node| node.log == log && !matches!(node.role, Role::Down));
            if even && self.nodes.iter().any(|node| matches!(node.role, Role::Leads(_))) {
                return;
            }
        }
        panic!("they do not come to the same");
    }
}

#[test]
fn what_was_answered_stands_whatever_happens() {
    let (mut takeovers, mut cuts, mut answers) = (0, 0, 0);
    for seed in 0..60 {
        let mut world = World::new(seed);
        for _ in 0..STEPS {
            world.step();
        }
        world.settle();
        let log = world.stream.log();
        assert!(log.len() >= world.answers.len() && log[..world.answers.len()] == world.answers, "seed {seed}");
        takeovers += world.takeovers;
        cuts += world.cuts;
        answers += world.answers.len();
    }
    assert!(takeovers > 600 && cuts > 20 && answers > 10_000, "{takeovers} takeovers, {cuts} cuts, {answers} answers");
}
