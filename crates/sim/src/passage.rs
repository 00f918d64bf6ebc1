//! How media gets through: a relay of TURN (RFC 8656), a TCP connection (RFC 4571), keys by DTLS (RFC 5764),
//! translators of addresses; and what stops it on its way, of which ICMP may tell.

use crate::impair::Impairment;
use crate::mixture::Early;
use crate::net::{Head, ICMP, ICMPV6, TCP, UDP, sum};
use crate::plot::{Ending, Plot};
use crate::random::Random;
use crate::scene::{Party, Scene};
use crate::settings::Tunnel;
use crate::sip::{Method, Step};
use crate::spec::Spec;
use crate::stream::Line;
use crate::truth::Who;
use trunkline_wire::{Address, Endpoint};

/// What is before a call whose caller allocates a relay first.
pub(crate) const ALLOCATES_NS: i64 = 150_000_000;
/// Octets by which SRTP is longer: the tag of RFC 3711 section 4.2.
pub(crate) const TAG_OCTETS: usize = 10;
/// The channel of a caller and its peer.
pub(crate) const CHANNEL: u16 = 0x4001;
const MS: i64 = 1_000_000;
const COOKIE: [u8; 4] = [0x21, 0x12, 0xa4, 0x42];

/// What media passes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Passage {
    #[default]
    Direct,
    /// The caller reaches the callee through a relay of TURN; whether the tap sees the far side of the relay, too, and
    /// whether all goes by indications, without a channel.
    Turn { far: bool, indications: bool },
    /// Both send over a TCP connection that this party opens.
    Connection { opener: Party },
    /// Keys are agreed by DTLS; whether SDP says so.
    Keys { named: bool },
    /// A translator gives the callee a public address, one for one.
    Mapped,
}

/// What of TURN is around a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around {
    /// Who sends it to whom.
    pub ends: [Endpoint; 2],
    /// The type of an indication, and the peer that it names; none: it is ChannelData.
    indication: Option<(u16, Endpoint)>,
}

impl Around {
    /// Puts it around.
    pub fn wrap(&self, packet: &[u8]) -> Vec<u8> {
        let Some((kind, peer)) = self.indication else {
            let head = [CHANNEL, packet.len() as u16].map(u16::to_be_bytes).concat();
            return [&head[..], packet].concat();
        };
        // What tells packets of RTP and RTCP from each other.
        let mut transaction = [0; 12];
        transaction[..10].copy_from_slice(&packet[2..12]);
        message(kind, &transaction, &[address(0x0012, peer, &transaction), attribute(0x0013, packet)])
    }
}

/// What stops it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// No INVITE arrives, as ICMP says.
    Invite,
    /// What a side (0 the caller) sends does not arrive, as ICMP says: never, or only in the first second.
    Media { side: usize, lasting: bool },
    /// The handshake fails: by an alert, without an answer, or half way.
    Keys(Failure),
    /// The relay of TURN sends nothing to its client.
    Turn,
    /// What is for the caller goes to its private address.
    ToPrivate,
    /// The relay between both passes nothing more of a side on, from this time after the answer on.
    Relay { side: usize, after_ns: i64 },
}

/// How a handshake fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Alert(u8),
    Unanswered,
    HalfWay,
}

/// Draws what the media of a call with which nothing is wrong passes through.
pub(crate) fn draw(plot: &mut Plot, share: f64, random: &mut Random) {
    let answered = matches!(plot.ending, Ending::Answered | Ending::Open);
    let (joined, mixture) = (plot.joined || plot.mixture.end_only, &plot.mixture);
    if !random.chance(share) || plot.fax || joined || !answered {
        return;
    }
    let moves = mixture.handover.is_some_and(|handover| handover.moved) || mixture.early == Early::Moved;
    let stays = !moves && !mixture.anchored && !plot.cast.nat;
    // What was offered before the answer is answered on a way that is there.
    let is_plain = !plot.early_media && mixture.early == Early::Plain && !mixture.late_offer;
    plot.passage = match random.below(4) {
        0 if stays => Passage::Turn { far: random.chance(0.3), indications: random.chance(0.3) },
        1 if stays && !plot.cast.ipv6 && !plot.cast.proxied => Passage::Mapped,
        2 if stays && is_plain => Passage::Connection { opener: random.pick(&[Party::Caller, Party::Callee]) },
        _ => Passage::Keys { named: random.chance(0.6) },
    };
    match plot.passage {
        Passage::Turn { .. } => plot.enter_flow(),
        Passage::Connection { .. } => {
            plot.enter_flow();
            plot.large = false;
            // What is lost on the way is sent again.
            (plot.impairments, plot.lost_behind) = ([Impairment::default(); 2], [0.0; 2]);
        }
        _ => {}
    }
}

/// Places the hosts.
pub(crate) fn enter(scene: &mut Scene, plot: &Plot, number: u64) {
    match plot.passage {
        Passage::Turn { .. } => scene.relay_caller(number),
        Passage::Connection { opener } => scene.connect(opener),
        Passage::Mapped => scene.map_callee(),
        Passage::Keys { named } => scene.keyed = named,
        Passage::Direct => {}
    }
}

/// What becomes of the streams.
pub(crate) fn through(specs: &mut Vec<Spec>, scene: &Scene, plot: &Plot, answer_ns: Option<i64>) {
    if let (Passage::Turn { far, indications }, Some(line)) = (plot.passage, scene.turn) {
        relay(specs, line, (far, indications), plot.stopped == Some(Stopped::Turn));
    }
    for spec in specs.iter_mut() {
        spec.over_tcp = scene.opener.is_some();
        spec.encrypted = matches!(plot.passage, Passage::Keys { .. });
        match plot.stopped {
            // Who does not get it reports nothing.
            Some(Stopped::Media { .. }) => spec.rtcp = false,
            Some(Stopped::ToPrivate) if spec.who == Who::Callee => spec.to = scene.host(Party::Caller).media_told,
            Some(Stopped::Relay { side, after_ns }) => {
                let is_passed_on = (spec.who, spec.hop) == if side == 0 { (Who::Caller, 1) } else { (Who::Callee, 0) };
                if let Some(answer_ns) = answer_ns.filter(|_| is_passed_on) {
                    spec.stop_ns = spec.stop_ns.min(answer_ns + after_ns);
                }
            }
            _ => {}
        }
    }
}

/// Puts what client and relay send each other into a channel, or into indications; the tap may see the same behind the
/// relay.
fn relay(specs: &mut Vec<Spec>, [client, server]: [Endpoint; 2], (far, indications): (bool, bool), is_dead: bool) {
    let mut seen = Vec::new();
    for spec in specs.drain(..) {
        let from_client = spec.who == Who::Caller;
        let (ends, kind, peer) =
            if from_client { ([client, server], 0x0016, spec.to) } else { ([server, client], 0x0017, spec.from) };
        let around = Some(Around { ends, indication: indications.then_some((kind, peer)) });
        let later =
            Spec { start_ns: spec.start_ns + 2 * MS, impairment: Default::default(), lost_behind: 0.0, ..spec.clone() };
        match (from_client, far) {
            (true, false) => seen.push(Spec { around, ..spec }),
            (true, true) => seen.extend([Spec { around, ..spec }, Spec { hop: 1, ..later }]),
            (false, false) if !is_dead => seen.push(Spec { around, ..spec }),
            (false, true) if !is_dead => seen.extend([Spec { hop: 1, ..spec }, Spec { around, ..later }]),
            (false, true) => seen.push(Spec { hop: 1, ..spec }),
            (false, false) => {}
        }
    }
    *specs = seen;
}

/// Packets that are neither signalling nor media, by time.
pub(crate) fn packets(
    (scene, plot): (&Scene, &Plot),
    (steps, specs): (&[Step], &[Spec]),
    answer_ns: Option<i64>,
    tunnel: Tunnel,
    random: &mut Random,
) -> Vec<(i64, Vec<u8>)> {
    let mut told = Told { tunnel, packets: Vec::new(), number: random.bits() as u16 };
    if let (Passage::Turn { indications, .. }, Some(line), Some(first)) = (plot.passage, scene.turn, steps.first()) {
        allocate(&mut told, scene, (line, indications), first.at_ns - ALLOCATES_NS + 10 * MS, random);
    }
    if let Passage::Connection { opener } = plot.passage {
        connect(&mut told, scene, specs, opener);
    }
    match (plot.stopped, answer_ns) {
        (Some(Stopped::Keys(failure)), Some(at_ns)) => {
            let ends = [Party::Caller, Party::Callee].map(|party| scene.host(party).media_seen);
            refuse(&mut told, ends, at_ns + 30 * MS, failure);
        }
        _ if matches!(plot.passage, Passage::Keys { .. }) => agree(&mut told, specs, random),
        (Some(Stopped::Invite), _) => {
            let from_host = random.chance(0.5);
            for step in steps.iter().filter(|step| step.method == Method::Invite && step.status == 0) {
                let ends = [step.from, step.to].map(|party| scene.host(party).seen);
                told.unreachable(step.at_ns + random.between(2 * MS, 90 * MS), ends, from_host);
            }
        }
        (Some(Stopped::Media { side, lasting }), _) => {
            let who = if side == 0 { Who::Caller } else { Who::Callee };
            for spec in specs.iter().filter(|spec| spec.who == who) {
                let until_ns = if lasting { spec.stop_ns } else { spec.start_ns + 1_000 * MS };
                let mut at_ns = spec.start_ns + random.between(20 * MS, 60 * MS);
                while at_ns < until_ns {
                    told.unreachable(at_ns, [spec.from, spec.to], true);
                    at_ns += random.between(1_000 * MS, 1_100 * MS);
                }
            }
        }
        _ => {}
    }
    told.packets.sort_by_key(|(at_ns, _)| *at_ns);
    told.packets
}

/// Writes packets.
struct Told {
    tunnel: Tunnel,
    packets: Vec<(i64, Vec<u8>)>,
    number: u16,
}

impl Told {
    /// A datagram, in fragments where it is long.
    fn udp(&mut self, at_ns: i64, [from, to]: [Endpoint; 2], payload: &[u8]) {
        self.number = self.number.wrapping_add(1);
        let head = Head::new(self.tunnel, from, to, UDP, 0);
        self.packets.extend(head.datagram(self.number, payload).into_iter().map(|packet| (at_ns, packet)));
    }

    /// That a packet between these ends did not arrive, by the receiver's host or by a router (RFC 792, RFC 4443).
    fn unreachable(&mut self, at_ns: i64, [from, to]: [Endpoint; 2], from_host: bool) {
        let v4 = from.address.is_v4();
        let router = if v4 {
            Address::v4([192, 0, 2, 1])
        } else {
            Address::v6([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
        };
        let by = Endpoint::new(if from_host { to.address } else { router }, 0);
        let mut quoted = Vec::new();
        Head::new(Tunnel::None, from, to, UDP, 46).udp(&mut quoted, self.number, 172, 0);
        // Port, or host (address).
        let code = match (v4, from_host) {
            (true, true) => [3, 3],
            (true, false) => [3, 1],
            (false, true) => [1, 4],
            (false, false) => [1, 3],
        };
        let mut message = [&code[..], &[0; 6], quoted.get(14..).unwrap_or_default()].concat();
        let protocol = if v4 { ICMP } else { ICMPV6 };
        let pseudo = match v4 {
            true => 0,
            false => {
                let addresses = [by, from].map(|end| sum(end.address.octets()));
                addresses[0] + addresses[1] + u32::from(protocol) + message.len() as u32
            }
        };
        let checksum = !crate::net::fold(pseudo + sum(&message));
        message[2..4].copy_from_slice(&checksum.to_be_bytes());
        let mut packet = Vec::new();
        self.number = self.number.wrapping_add(1);
        Head::new(self.tunnel, by, from, protocol, 0).plain(&mut packet, self.number, &message);
        self.packets.push((at_ns, packet));
    }
}

/// The first octets of a connection for media, of the caller and of the callee.
pub(crate) fn first_octets(scene: &Scene) -> Line {
    scene.ssrcs.map(|ssrc| ssrc.rotate_left(9))
}

/// SYN, SYN and ACK, ACK, before the first packet.
fn connect(told: &mut Told, scene: &Scene, specs: &[Spec], opener: Party) {
    const SYN: u8 = 2;
    const ACK: u8 = 16;
    let Some(first_ns) = specs.iter().map(|spec| spec.start_ns).min() else { return };
    let next = first_octets(scene);
    let (one, other) = (opener.side(), opener.other().side());
    let ends = [Party::Caller, Party::Callee].map(|party| scene.host(party).media_seen);
    for (n, (by, flags, before)) in [(one, SYN, 1), (other, SYN | ACK, 1), (one, ACK, 0)].into_iter().enumerate() {
        let head = Head::new(told.tunnel, ends[by], ends[1 - by], TCP, 46);
        let ack = if flags & ACK > 0 { next[1 - by] } else { 0 };
        let mut octets = Vec::new();
        told.number = told.number.wrapping_add(1);
        head.tcp(&mut octets, told.number, next[by].wrapping_sub(before), ack, flags, &[]);
        told.packets.push((first_ns - 9 * MS + n as i64 * MS, octets));
    }
}

/// Allocate, its challenge, Allocate again, ChannelBind or CreatePermission.
fn allocate(
    told: &mut Told,
    scene: &Scene,
    (line, indications): ([Endpoint; 2], bool),
    at_ns: i64,
    random: &mut Random,
) {
    let (caller, peer) = (scene.host(Party::Caller), scene.host(Party::Callee).media_seen);
    let mut transaction = [0; 12];
    let mut id = || {
        transaction.iter_mut().for_each(|octet| *octet = random.bits() as u8);
        transaction
    };
    let (up, down) = (line, [line[1], line[0]]);
    let asks = attribute(0x0019, &[17, 0, 0, 0]);
    let (first, second, third) = (id(), id(), id());
    told.udp(at_ns, up, &message(0x0003, &first, core::slice::from_ref(&asks)));
    told.udp(at_ns + 5 * MS, down, &message(0x0113, &first, &[attribute(0x0009, &[0, 0, 4, 1])]));
    told.udp(at_ns + 10 * MS, up, &message(0x0003, &second, &[asks]));
    let given = [address(0x0016, caller.media_told, &second), address(0x0020, line[0], &second)];
    told.udp(at_ns + 15 * MS, down, &message(0x0103, &second, &given));
    let [high, low] = CHANNEL.to_be_bytes();
    let channel = attribute(0x000c, &[high, low, 0, 0]);
    let peer = address(0x0012, peer, &third);
    let (asks, asked) = if indications { (0x0008, vec![peer]) } else { (0x0009, vec![channel, peer]) };
    told.udp(at_ns + 20 * MS, up, &message(asks, &third, &asked));
    told.udp(at_ns + 25 * MS, down, &message(asks | 0x0100, &third, &[]));
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut octets = [kind.to_be_bytes(), (value.len() as u16).to_be_bytes()].concat();
    octets.extend_from_slice(value);
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets
}

/// An address XORed with cookie and transaction (RFC 8489 section 14.2).
fn address(kind: u16, of: Endpoint, transaction: &[u8; 12]) -> Vec<u8> {
    let mask = [&COOKIE[..], transaction].concat();
    let octets = of.address.octets();
    let (family, octets) = if of.address.is_v4() { (1, &octets[12..]) } else { (2, &octets[..]) };
    let xored = |octets: &[u8]| octets.iter().zip(&mask).map(|(o, m)| o ^ m).collect::<Vec<u8>>();
    attribute(kind, &[&[0, family][..], &xored(&of.port.to_be_bytes()), &xored(octets)].concat())
}

fn message(kind: u16, transaction: &[u8; 12], attributes: &[Vec<u8>]) -> Vec<u8> {
    let body = attributes.concat();
    [&kind.to_be_bytes()[..], &(body.len() as u16).to_be_bytes(), &COOKIE, transaction, &body].concat()
}

/// A record of DTLS 1.2.
fn record(content: u8, epoch: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u16).to_be_bytes();
    [&[content, 0xfe, 0xfd, 0, epoch, 0, 0, 0, 0, 0, 0][..], &length, body].concat()
}

/// A message of a handshake of so many octets (RFC 6347 section 4.2.2).
fn handshake(kind: u8, octets: usize) -> Vec<u8> {
    let length = (octets as u32).to_be_bytes();
    let body = [&[kind], &length[1..], &[0, 0, 0, 0, 0], &length[1..], &vec![0x5a; octets]].concat();
    record(22, 0, &body)
}

fn server_flight(certificate: usize) -> Vec<u8> {
    [handshake(2, 70), handshake(11, certificate), handshake(14, 0)].concat()
}

/// A handshake on each pair of ends, before its first packet.
fn agree(told: &mut Told, specs: &[Spec], random: &mut Random) {
    let mut known: Vec<[Endpoint; 2]> = Vec::new();
    let mut all: Vec<&Spec> = specs.iter().collect();
    all.sort_by_key(|spec| spec.start_ns);
    for spec in all {
        let ends = [spec.from.min(spec.to), spec.from.max(spec.to)];
        if known.contains(&ends) {
            continue;
        }
        known.push(ends);
        let [client, server] = if random.chance(0.5) { ends } else { [ends[1], ends[0]] };
        let at_ns = spec.start_ns - 9 * MS;
        let finished = [record(20, 0, &[1]), record(22, 1, &[0xa5; 40])].concat();
        told.udp(at_ns, [client, server], &handshake(1, 120));
        told.udp(at_ns + 2 * MS, [server, client], &server_flight(random.between(300, 2_400) as usize));
        let keys = [handshake(11, 300), handshake(16, 66), finished.clone()].concat();
        told.udp(at_ns + 4 * MS, [client, server], &keys);
        told.udp(at_ns + 6 * MS, [server, client], &finished);
    }
}

/// A handshake that comes to nothing.
fn refuse(told: &mut Told, ends: [Endpoint; 2], at_ns: i64, failure: Failure) {
    let [client, server] = ends;
    let hello = handshake(1, 120);
    if let Failure::Alert(alert) = failure {
        told.udp(at_ns, ends, &hello);
        return told.udp(at_ns + 3 * MS, [server, client], &record(21, 0, &[2, alert]));
    }
    // Again after 1, 2 and 4 s (RFC 6347 section 4.2.4.1).
    for after_ns in [0, 1_000, 3_000, 7_000].map(|ms| ms * MS) {
        told.udp(at_ns + after_ns, ends, &hello);
        if failure == Failure::HalfWay {
            told.udp(at_ns + after_ns + 3 * MS, [server, client], &server_flight(900));
        }
    }
}
