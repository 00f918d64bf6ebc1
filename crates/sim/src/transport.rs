//! The way of a call's messages into packets: datagrams, fragments, TCP segments.

use crate::net::{Head, TCP, UDP};
use crate::random::Random;
use crate::scene::{Party, Scene};
use crate::settings::Tunnel;
use crate::sip::{self, Step};
use std::collections::VecDeque;
use std::ops::Range;
use trunkline_wire::Endpoint;

/// Payload of a TCP segment at most.
const SEGMENT_MAX: usize = 1400;
/// A message larger than this goes into fragments.
const DATAGRAM_MAX: usize = 1440;
/// From SYN to the first message.
pub(crate) const HANDSHAKE_NS: i64 = 5_000_000;
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;

/// Buffers that all calls share.
#[derive(Default)]
pub(crate) struct Scratch {
    message: Vec<u8>,
    body: Vec<u8>,
}

/// A packet that waits for its time, and the messages that are whole with it.
struct Waiting {
    at_ns: i64,
    octets: Vec<u8>,
    completes: Range<usize>,
}

/// A TCP connection: next sequence numbers of its client and its server.
#[derive(Clone, Copy)]
struct Connection {
    next: [u32; 2],
}

/// The messages of a call on their way.
pub(crate) struct Signalling {
    pub steps: Vec<Step>,
    next: usize,
    waiting: VecDeque<Waiting>,
    connections: Vec<Connection>,
    identification: u16,
    random: Random,
    tunnel: Tunnel,
    closed: bool,
}

impl Signalling {
    /// Takes a script; over TCP its first message must come at least [`HANDSHAKE_NS`] after `start_ns`.
    pub fn new(steps: Vec<Step>, scene: &Scene, tunnel: Tunnel, start_ns: i64, random: &mut Random) -> Self {
        let mut signalling = Signalling {
            steps,
            next: 0,
            waiting: VecDeque::new(),
            connections: Vec::new(),
            identification: random.bits() as u16,
            random: Random::new(random.bits()),
            tunnel,
            closed: !scene.tcp,
        };
        if scene.tcp {
            signalling.gather();
            for hop in 0..hops(scene) {
                signalling.open(scene, hop, start_ns);
            }
        }
        signalling
    }

    /// Lets packets that are no messages pass among them, by time.
    pub fn play(&mut self, packets: Vec<(i64, Vec<u8>)>) {
        for (at_ns, octets) in packets {
            self.enqueue(Waiting { at_ns, octets, completes: 0..0 });
        }
    }

    /// When the next packet passes; none when all have.
    pub fn next_ns(&self) -> Option<i64> {
        let step = self.steps.get(self.next).map(|s| s.at_ns);
        match (step, self.waiting.front().map(|w| w.at_ns)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The next packet, and which messages are whole with it.
    pub fn emit(&mut self, out: &mut Vec<u8>, scene: &Scene, scratch: &mut Scratch) -> Range<usize> {
        loop {
            let step = self.steps.get(self.next).map_or(i64::MAX, |s| s.at_ns);
            if self.waiting.front().is_some_and(|w| w.at_ns <= step) || step == i64::MAX {
                return self.pop(out, scene);
            }
            if scene.tcp {
                self.segment(scene, scratch);
                continue;
            }
            if self.datagram(out, scene, scratch) {
                return self.next - 1..self.next;
            }
        }
    }

    fn pop(&mut self, out: &mut Vec<u8>, scene: &Scene) -> Range<usize> {
        let Some(waiting) = self.waiting.pop_front() else { return 0..0 };
        out.clear();
        out.extend_from_slice(&waiting.octets);
        if !self.closed && self.waiting.is_empty() && self.next == self.steps.len() {
            self.closed = true;
            for hop in 0..hops(scene) {
                self.close(scene, hop, waiting.at_ns + 50_000_000);
            }
        }
        waiting.completes
    }

    /// Renders the next message; true if it is in `out`, false if it waits in fragments.
    fn datagram(&mut self, out: &mut Vec<u8>, scene: &Scene, scratch: &mut Scratch) -> bool {
        let step = self.steps[self.next];
        scratch.message.clear();
        sip::write(&mut scratch.message, &mut scratch.body, scene, &step);
        let (from, to) = (scene.host(step.from).seen, scene.host(step.to).seen);
        let head = Head::new(self.tunnel, from, to, UDP, 24);
        let identification = self.identify();
        self.next += 1;
        if scratch.message.len() <= DATAGRAM_MAX {
            head.udp(out, identification, scratch.message.len(), crate::net::sum(&scratch.message));
            out.extend_from_slice(&scratch.message);
            return true;
        }
        let mut pieces = head.datagram(identification, &scratch.message);
        // Now and then the last one overtakes.
        if self.random.chance(0.3) {
            pieces.reverse();
        }
        self.wait_in_turn(pieces, step.at_ns, self.next - 1..self.next);
        false
    }

    /// Messages of one sender at one time become one run of octets, cut into segments.
    fn segment(&mut self, scene: &Scene, scratch: &mut Scratch) {
        let (first, step) = (self.next, self.steps[self.next]);
        scratch.message.clear();
        while let Some(next) = self.steps.get(self.next) {
            if (next.at_ns, next.from as u8, next.to as u8) != (step.at_ns, step.from as u8, step.to as u8) {
                break;
            }
            sip::write(&mut scratch.message, &mut scratch.body, scene, next);
            self.next += 1;
        }
        let (hop, client) = hop_of(scene, &step);
        let (from, to) = (endpoint(scene, step.from, hop), endpoint(scene, step.to, hop));
        let head = Head::new(self.tunnel, from, to, TCP, 24);
        let (sender, receiver) = if client { (0, 1) } else { (1, 0) };
        let mut pieces = Vec::new();
        for piece in self.cut(&scratch.message) {
            let [seq, ack] = [sender, receiver].map(|side: usize| self.connections[hop].next[side]);
            let mut octets = Vec::with_capacity(piece.len() + 80);
            let payload = &scratch.message[piece.clone()];
            head.tcp(&mut octets, self.identify(), seq, ack, PSH | ACK, payload);
            self.connections[hop].next[sender] = seq.wrapping_add(piece.len() as u32);
            pieces.push(octets);
        }
        if pieces.len() > 1 && self.random.chance(0.15) {
            pieces.swap(0, 1);
        }
        let last = self.wait_in_turn(pieces, step.at_ns, first..self.next);
        if self.random.chance(0.5) {
            let back = Head::new(self.tunnel, to, from, TCP, 24);
            self.bare(&back, hop, [receiver, sender], ACK, last + 150_000);
        }
    }

    /// Where a run of octets is cut: at the largest segment, and sometimes anywhere.
    fn cut(&mut self, message: &[u8]) -> Vec<Range<usize>> {
        let mut ends: Vec<usize> = (1..=message.len() / SEGMENT_MAX).map(|n| n * SEGMENT_MAX).collect();
        if self.random.chance(0.4) {
            ends.extend((0..2).map(|_| 1 + self.random.below(message.len() as u64 - 1) as usize));
        }
        ends.push(message.len());
        ends.sort_unstable();
        ends.dedup();
        let starts = std::iter::once(0).chain(ends.iter().copied());
        starts.zip(ends.iter().copied()).map(|(start, end)| start..end).collect()
    }

    /// Queues packets some 100 us apart, all before a proxy sends the message on; the messages are whole with the last
    /// one. When that is.
    fn wait_in_turn(&mut self, pieces: Vec<Vec<u8>>, at_ns: i64, completes: Range<usize>) -> i64 {
        let (mut at_ns, count) = (at_ns, pieces.len());
        let next = self.steps.get(completes.end).filter(|next| next.from == self.steps[completes.start].to);
        let until_ns = next.map_or(i64::MAX, |next| (next.at_ns - 10_000).max(at_ns));
        for (n, octets) in pieces.into_iter().enumerate() {
            let whole = n + 1 == count;
            let completes = if whole { completes.clone() } else { 0..0 };
            self.enqueue(Waiting { at_ns, octets, completes });
            if !whole {
                at_ns = (at_ns + self.random.between(40_000, 120_000)).min(until_ns);
            }
        }
        at_ns
    }

    fn enqueue(&mut self, packet: Waiting) {
        let after = self.waiting.iter().rposition(|w| w.at_ns <= packet.at_ns).map_or(0, |i| i + 1);
        self.waiting.insert(after, packet);
    }

    fn open(&mut self, scene: &Scene, hop: usize, start_ns: i64) {
        let next = [self.random.bits() as u32, self.random.bits() as u32];
        self.connections.push(Connection { next });
        let (there, back) = self.heads(scene, hop);
        self.bare(&there, hop, [0, 1], SYN, start_ns);
        self.bare(&back, hop, [1, 0], SYN | ACK, start_ns + 1_000_000);
        self.bare(&there, hop, [0, 1], ACK, start_ns + 2_000_000);
    }

    fn close(&mut self, scene: &Scene, hop: usize, at_ns: i64) {
        let (there, back) = self.heads(scene, hop);
        self.bare(&there, hop, [0, 1], FIN | ACK, at_ns);
        self.bare(&back, hop, [1, 0], FIN | ACK, at_ns + 1_000_000);
        self.bare(&there, hop, [0, 1], ACK, at_ns + 2_000_000);
    }

    /// A segment without payload, from the first of the sides to the second.
    fn bare(&mut self, head: &Head, hop: usize, [from, to]: [usize; 2], flags: u8, at_ns: i64) {
        let next = &mut self.connections[hop].next;
        let ack = if flags & ACK > 0 { next[to] } else { 0 };
        let seq = next[from];
        // SYN and FIN take a number.
        next[from] = seq.wrapping_add(u32::from(flags & (SYN | FIN) > 0));
        let mut octets = Vec::with_capacity(80);
        head.tcp(&mut octets, self.identify(), seq, ack, flags, &[]);
        self.enqueue(Waiting { at_ns, octets, completes: 0..0 });
    }

    fn heads(&self, scene: &Scene, hop: usize) -> (Head, Head) {
        let client = if hop == 0 { Party::Caller } else { Party::Proxy };
        let server = match hop {
            0 if scene.proxied => Party::Proxy,
            2 => Party::Second,
            3 => Party::Third,
            _ => Party::Callee,
        };
        let (client, server) = (endpoint(scene, client, hop), endpoint(scene, server, hop));
        (Head::new(self.tunnel, client, server, TCP, 24), Head::new(self.tunnel, server, client, TCP, 24))
    }

    /// Messages that a sender has ready within 3 ms of each other leave together.
    fn gather(&mut self) {
        for i in (1..self.steps.len()).rev() {
            let (before, after) = (self.steps[i - 1], self.steps[i]);
            let near = after.at_ns - before.at_ns <= 3_000_000;
            if near && (before.from, before.to) == (after.from, after.to) {
                self.steps[i - 1].at_ns = after.at_ns;
            }
        }
    }

    fn identify(&mut self) -> u16 {
        self.identification = self.identification.wrapping_add(1);
        self.identification
    }
}

/// How many connections there are: to the first hop, then one to each target behind a proxy.
fn hops(scene: &Scene) -> usize {
    1 + usize::from(scene.proxied) + scene.others
}

/// Which connection a message takes, and whether its client sends it.
fn hop_of(scene: &Scene, step: &Step) -> (usize, bool) {
    let hop = match [step.from, step.to].into_iter().find(|party| party.side() == 1) {
        Some(Party::Second) => 2,
        Some(Party::Third) => 3,
        Some(_) => usize::from(scene.proxied),
        None => 0,
    };
    let client = step.from == if hop >= 1 { Party::Proxy } else { Party::Caller };
    (hop, client)
}

/// A party's end of a connection: the proxy calls out from a port of its own.
fn endpoint(scene: &Scene, party: Party, hop: usize) -> Endpoint {
    let seen = scene.host(party).seen;
    if party == Party::Proxy && hop >= 1 {
        return client(scene);
    }
    seen
}

/// Where the proxy calls out from over TCP.
pub(crate) fn client(scene: &Scene) -> Endpoint {
    Endpoint::new(scene.host(Party::Proxy).seen.address, 20_000 + (scene.tags[0] % 20_000) as u16)
}
