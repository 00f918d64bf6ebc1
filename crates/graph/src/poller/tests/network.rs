//! A network of agents in memory, with a clock of its own.

use super::*;
use core::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::SocketAddr;
use trunkline_kit::random::{Random, mixed};
use trunkline_wire::snmp::*;

/// What the network does to datagrams, each way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Faults {
    pub(super) loss_percent: u32,
    pub(super) copies_percent: u32,
    pub(super) delay_ns_max: u64,
    /// Answers from where nobody was asked, and with numbers that nobody has given.
    pub(super) strangers: bool,
}

impl Default for Faults {
    fn default() -> Faults {
        Faults { loss_percent: 0, copies_percent: 0, delay_ns_max: 2_000_000, strangers: false }
    }
}

/// A device that answers.
#[derive(Clone, Debug)]
pub(super) struct Agent {
    pub(super) is_dead: bool,
    /// Variables that fit into an answer, besides sysUpTime; more are tooBig.
    pub(super) varbinds_max: u16,
    /// Requests of more are not answered.
    pub(super) silent_above: usize,
    /// Data sources and variables that it does not have.
    pub(super) missing: Vec<(u32, usize)>,
    pub(super) started_ns: u64,
    pub(super) delay_ns: u64,
    /// It answers the last name first.
    pub(super) is_backward: bool,
    /// It leaves this one out.
    pub(super) omitted: Option<(u32, usize)>,
    /// Its walks begin again at the front.
    pub(super) is_looping: bool,
    /// Its values are the milliseconds at which it read them.
    pub(super) tells_time: bool,
    /// It cannot read sysUpTime just now: genErr.
    pub(super) fails_uptime: bool,
    /// Set when it is added.
    pub(super) sources: u32,
    /// The same, of each data source.
    pub(super) variables: usize,
}

impl Default for Agent {
    fn default() -> Agent {
        Agent {
            is_dead: false,
            varbinds_max: u16::MAX,
            silent_above: usize::MAX,
            missing: Vec::new(),
            started_ns: 0,
            delay_ns: 0,
            is_backward: false,
            omitted: None,
            is_looping: false,
            tells_time: false,
            fails_uptime: false,
            sources: 0,
            variables: 0,
        }
    }
}

/// The value of a variable: the same for ever, and different everywhere.
pub(super) fn value_of(device: u32, source: u32, at: usize) -> u64 {
    mixed(u64::from(device) << 40 | u64::from(source) << 8 | at as u64)
}

fn name_of(source: u32, at: usize) -> ObjectId {
    format!("1.3.6.1.4.1.99999.{}.{}", source + 1, at + 1).parse().expect("a name")
}

/// A device with so many data sources of so many variables, asked every minute.
pub(super) fn target(id: u32, variables: usize, sources: u32) -> Target {
    let source = |source| Source { id: source, names: (0..variables).map(|at| name_of(source, at)).collect() };
    Target {
        id,
        address: format!("127.0.{}.{}:161", id / 250, id % 250 + 1).parse().expect("an address"),
        access: Access::V2c(b"public".to_vec()),
        settings: Settings { octets_max: 60_000, ..Settings::default() },
        sources: (0..sources).map(source).collect(),
    }
}

impl Agent {
    /// What a reading of it should be.
    pub(super) fn reading(&self, device: u32, source: u32, at: usize) -> Reading {
        Reading::Counter64(value_of(device, source, at))
    }

    fn has(&self, source: u32, at: usize) -> bool {
        source < self.sources && at < self.variables && !self.missing.contains(&(source, at))
    }

    fn place(&self, name: Oid<'_>) -> Option<(u32, usize)> {
        let arcs: Vec<u32> = name.arcs().collect();
        match arcs[..] {
            [1, 3, 6, 1, 4, 1, 99999, source, at] if source > 0 && at > 0 => {
                Some((source - 1, at as usize - 1)).filter(|(source, at)| self.has(*source, *at))
            }
            _ => None,
        }
    }

    fn is_uptime(name: Oid<'_>) -> bool {
        name.to_string() == "1.3.6.1.2.1.1.3.0"
    }

    fn get(&self, device: u32, name: Oid<'_>, now_ns: u64) -> Option<Value<'static>> {
        if Agent::is_uptime(name) {
            return Some(Value::TimeTicks(((now_ns - self.started_ns) / 10_000_000) as u32));
        }
        let value = |source, at| if self.tells_time { now_ns / 1_000_000 } else { value_of(device, source, at) };
        self.place(name).map(|(source, at)| Value::Counter64(value(source, at)))
    }

    fn next(&self, name: Oid<'_>) -> Option<ObjectId> {
        let places = (0..self.sources).flat_map(|source| (0..self.variables).map(move |at| (source, at)));
        let mut names = places.filter(|(source, at)| self.has(*source, *at)).map(|(source, at)| name_of(source, at));
        let next = names.clone().find(|other| other.as_oid() > name);
        if self.is_looping && next.as_ref().is_some_and(|next| next.as_oid() > name_of(20, 0).as_oid()) {
            return names.next();
        }
        next
    }

    /// The answer to a request, as an agent gives it.
    fn answer(&self, device: u32, octets: &[u8], now_ns: u64) -> Option<Vec<u8>> {
        let Ok(Message::Community { version, community, pdu: Pdu::Exchange(request) }) = Message::new(octets) else {
            panic!("no request: {octets:02x?}");
        };
        let asked: Vec<Oid<'_>> = request.varbinds.map(|varbind| varbind.expect("a variable").name).collect();
        if self.is_dead || asked.len() > self.silent_above {
            return None;
        }
        let mut varbinds = Vec::new();
        let (mut status, mut index) = (0, 0);
        match request.kind {
            Kind::Get => {
                let counted = asked.iter().filter(|name| !Agent::is_uptime(**name)).count();
                if counted > usize::from(self.varbinds_max) {
                    status = 1;
                }
                let mut order: Vec<(usize, &Oid<'_>)> = asked.iter().enumerate().collect();
                if self.is_backward {
                    order.reverse();
                }
                order.retain(|(_, name)| self.place(**name).is_none_or(|place| self.omitted != Some(place)));
                let uptime = asked.iter().position(|name| Agent::is_uptime(*name)).filter(|_| self.fails_uptime);
                if let Some(at) = uptime {
                    (status, index) = (5, at as u32 + 1);
                }
                for (at, name) in order {
                    let value = self.get(device, *name, now_ns);
                    if value.is_none() && version == Version::V1 && status == 0 {
                        (status, index) = (2, at as u32 + 1);
                    }
                    write_varbind(*name, &value.unwrap_or(Value::NoSuchInstance), &mut varbinds);
                }
            }
            Kind::GetNext | Kind::GetBulk => {
                let most = if request.kind == Kind::GetBulk { request.error_index } else { 1 };
                if most > u32::from(self.varbinds_max) {
                    status = 1;
                }
                let mut last = asked[0].to_owned();
                for _ in 0..most {
                    let Some(next) = self.next(last.as_oid()) else {
                        write_varbind(last.as_oid(), &Value::EndOfMibView, &mut varbinds);
                        (status, index) = if version == Version::V1 { (2, 1) } else { (status, index) };
                        break;
                    };
                    let value = self.get(device, next.as_oid(), now_ns).expect("it is there");
                    write_varbind(next.as_oid(), &value, &mut varbinds);
                    last = next;
                }
            }
            other => panic!("{other}"),
        }
        let varbinds = if status == 0 { Varbinds::new(&varbinds) } else { request.varbinds };
        let exchange = Exchange { kind: Kind::Response, error_status: status, error_index: index, varbinds, ..request };
        let mut out = Vec::new();
        Message::write_community(version, community, &Pdu::Exchange(exchange), &mut out);
        Some(out)
    }
}

/// A datagram on its way: when it is there, its number (for the order), from whom to whom.
type Flight = Reverse<(u64, u64, SocketAddr, bool, Vec<u8>)>;

/// All of it.
pub(super) struct Network {
    pub(super) lane: Lane,
    pub(super) events: Vec<Event>,
    pub(super) restarted: Vec<(u32, i64)>,
    pub(super) walked: Vec<(u64, u64)>,
    pub(super) most_outstanding: usize,
    agents: HashMap<SocketAddr, (u32, Agent)>,
    addresses: HashMap<u32, SocketAddr>,
    faults: Faults,
    random: Random,
    flights: BinaryHeap<Flight>,
    number: u64,
    now_ns: u64,
    /// For each device: requests, octets of the longest, the longest time from the first request of a cycle to its end.
    asked: HashMap<u32, (u64, usize)>,
    begun: HashMap<u32, u64>,
    cycles: HashMap<u32, u64>,
    /// All such times together, and how many.
    pub(super) cycles_sum: BTreeMap<u32, (u64, u64)>,
}

impl Network {
    pub(super) fn new(seed: u64, faults: Faults) -> Network {
        Network::with_room(seed, faults, OUTSTANDING_MAX)
    }

    pub(super) fn with_room(seed: u64, faults: Faults, outstanding_max: usize) -> Network {
        Network {
            lane: Lane::new(&LaneOptions { outstanding_max, seed }),
            events: Vec::new(),
            restarted: Vec::new(),
            walked: Vec::new(),
            most_outstanding: 0,
            agents: HashMap::new(),
            addresses: HashMap::new(),
            faults,
            random: Random::new(seed, 1),
            flights: BinaryHeap::new(),
            number: 0,
            now_ns: 0,
            asked: HashMap::new(),
            begun: HashMap::new(),
            cycles: HashMap::new(),
            cycles_sum: BTreeMap::new(),
        }
    }

    pub(super) fn now(&self) -> Now {
        Now { steady_ns: self.now_ns, unix_ms: (self.now_ns / 1_000_000) as i64 }
    }

    pub(super) fn add(&mut self, target: Target, agent: Agent) {
        let variables = target.sources.first().map_or(0, |source| source.names.len());
        let agent = Agent { sources: target.sources.len() as u32, variables, ..agent };
        self.agents.insert(target.address, (target.id, agent));
        self.addresses.insert(target.id, target.address);
        self.lane.add(target, self.now()).expect("a good description");
    }

    pub(super) fn walk(&mut self, id: u32, walk: u64, root: ObjectId) {
        self.lane.walk(id, walk, root, self.now()).expect("it is begun");
        self.take_out();
    }

    pub(super) fn agent(&self, id: u32) -> &Agent {
        &self.agents[&self.addresses[&id]].1
    }

    pub(super) fn agent_mut(&mut self, id: u32) -> &mut Agent {
        &mut self.agents.get_mut(&self.addresses[&id]).expect("it is there").1
    }

    /// Requests that a device was sent.
    pub(super) fn asked(&self, id: u32) -> u64 {
        self.asked.get(&id).map_or(0, |asked| asked.0)
    }

    pub(super) fn longest_request(&self, id: u32) -> usize {
        self.asked.get(&id).map_or(0, |asked| asked.1)
    }

    pub(super) fn longest_cycle_ns(&self, of: impl Fn(u32) -> bool) -> u64 {
        self.cycles.iter().filter(|(id, _)| of(**id)).map(|(_, longest)| *longest).max().unwrap_or(0)
    }

    /// Time goes by, and nothing is done.
    pub(super) fn sleep(&mut self, length_ns: u64) {
        self.now_ns += length_ns;
        self.flights.clear();
    }

    /// Lets time go by; what was found in it.
    pub(super) fn run(&mut self, length_ns: u64) -> Found {
        let (end_ns, mut found) = (self.now_ns + length_ns, Found::new());
        loop {
            let flight = self.flights.peek().map(|Reverse(flight)| flight.0);
            let timeout = self.lane.next_timeout_ns();
            let next = [flight, timeout].into_iter().flatten().min().filter(|next| *next <= end_ns);
            let Some(next) = next else { break };
            self.now_ns = self.now_ns.max(next);
            match self.flights.pop() {
                Some(Reverse((at, _, peer, to_agent, octets))) if at <= self.now_ns => {
                    self.arrive(peer, to_agent, &octets);
                }
                other => {
                    self.flights.extend(other);
                    self.lane.handle_timeout(self.now());
                }
            }
            self.take_out();
            self.take_batch(&mut found);
        }
        self.now_ns = end_ns;
        found
    }

    /// Lets what is on its way come to an end, with devices that are asked nothing more.
    pub(super) fn settle(&mut self) {
        let ids: Vec<u32> = self.addresses.keys().copied().collect();
        ids.into_iter().for_each(|id| assert!(self.lane.remove(id)));
        self.run(60 * S);
    }

    fn arrive(&mut self, peer: SocketAddr, to_agent: bool, octets: &[u8]) {
        if !to_agent {
            return self.lane.handle(peer, octets, self.now());
        }
        let Some((device, agent)) = self.agents.get(&peer) else { return };
        let asked = self.asked.entry(*device).or_default();
        *asked = (asked.0 + 1, asked.1.max(octets.len()));
        self.begun.entry(*device).or_insert(self.now_ns);
        let delay_ns = agent.delay_ns;
        if let Some(answer) = agent.answer(*device, octets, self.now_ns) {
            self.fly(peer, false, answer, delay_ns);
        }
    }

    fn take_out(&mut self) {
        self.most_outstanding = self.most_outstanding.max(self.lane.outstanding());
        let transmits: Vec<_> = self.lane.transmits().map(|(to, octets)| (to, octets.to_vec())).collect();
        self.lane.clear_transmits();
        for (to, octets) in transmits {
            if self.faults.strangers {
                self.interfere(to, &octets);
            }
            self.fly(to, true, octets, 0);
        }
    }

    /// A stranger who sees the request answers faster, from another address; one who does not guesses its number; and
    /// somebody sends what is no message at all.
    fn interfere(&mut self, to: SocketAddr, request: &[u8]) {
        let Ok(Message::Community { version, community, pdu: Pdu::Exchange(request) }) = Message::new(request) else {
            return;
        };
        let mut varbinds = Vec::new();
        request.varbinds.flatten().for_each(|v| write_varbind(v.name, &Value::Counter64(666), &mut varbinds));
        let exchange = Exchange { kind: Kind::Response, varbinds: Varbinds::new(&varbinds), ..request };
        let guessed = Exchange { request_id: self.random.number() as i32, ..exchange };
        for (from, exchange) in [(SocketAddr::new(to.ip(), 162), exchange), (to, guessed)] {
            let mut out = Vec::new();
            Message::write_community(version, community, &Pdu::Exchange(exchange), &mut out);
            self.number += 1;
            self.flights.push(Reverse((self.now_ns, self.number, from, false, out)));
        }
        self.number += 1;
        self.flights.push(Reverse((self.now_ns, self.number, to, false, vec![0x30; 20])));
    }

    fn fly(&mut self, peer: SocketAddr, to_agent: bool, octets: Vec<u8>, delay_ns: u64) {
        let copies = 1 + u32::from(self.random.below(100) < self.faults.copies_percent);
        for _ in 0..copies {
            if self.random.below(100) < self.faults.loss_percent {
                continue;
            }
            let delay_ns = delay_ns + self.random.number() % self.faults.delay_ns_max / 2;
            self.number += 1;
            self.flights.push(Reverse((self.now_ns + delay_ns, self.number, peer, to_agent, octets.clone())));
        }
    }

    fn take_batch(&mut self, found: &mut Found) {
        for sample in self.lane.batch.samples() {
            for (at, reading) in sample.readings.iter().enumerate() {
                found.entry((sample.device, sample.source, at)).or_default().push(*reading);
            }
            if sample.is_restarted {
                self.restarted.push((sample.device, sample.unix_ms));
            }
            if let Some(begun) = self.begun.remove(&sample.device) {
                let longest = self.cycles.entry(sample.device).or_default();
                *longest = (*longest).max(self.now_ns - begun);
                let sum = self.cycles_sum.entry(sample.device).or_default();
                *sum = (sum.0 + self.now_ns - begun, sum.1 + 1);
            }
        }
        self.events.extend(self.lane.batch.events());
        self.walked.extend(self.lane.batch.walked().map(|walked| match walked.varbind.value {
            Value::Counter64(value) => (walked.walk, value),
            other => panic!("{other}"),
        }));
        self.lane.batch.clear();
    }
}
