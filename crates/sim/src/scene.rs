//! Who takes part in a call: hosts, numbers, identifiers, addresses. Follows from the call's number and the seed alone.

use crate::codec::Codec;
use crate::mixture::{Relay, Rtcp, Sections, Video};
use crate::random::Random;
use crate::sdp::Sdp;
use crate::settings::Settings;
use std::borrow::Cow;
use trunkline_wire::{Address, Endpoint};

/// A host of the signalling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Party {
    Caller = 0,
    Proxy = 1,
    Callee = 2,
    /// Other targets of the proxy, which do not take the call.
    Second = 3,
    Third = 4,
}

impl Party {
    /// The other end.
    pub fn other(self) -> Party {
        if self == Party::Caller { Party::Callee } else { Party::Caller }
    }

    /// 0 for the caller, 1 for the callee.
    pub fn side(self) -> usize {
        usize::from(matches!(self, Party::Callee | Party::Second | Party::Third))
    }
}

/// A host, as it is seen and as it says it is.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    /// Where its signalling is seen.
    pub seen: Endpoint,
    /// What it writes into Via and Contact: its private address behind a NAT.
    pub told: Endpoint,
    /// Where its media is seen.
    pub media_seen: Endpoint,
    /// What it writes into SDP.
    pub media_told: Endpoint,
    /// User-Agent or Server.
    pub agent: &'static str,
    /// Which payload types it numbers dynamic codecs with.
    pub map: u8,
}

/// The parts of a call that do not change while it goes on.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub call_id: String,
    /// User parts of From and To.
    pub users: [String; 2],
    pub domain: &'static str,
    pub tags: [u32; 2],
    pub nonce: u64,
    /// Caller, proxy, callee, other targets.
    pub hosts: [Host; 5],
    pub proxied: bool,
    pub relay: Relay,
    /// Where the relay takes media in, if it passes media on: on the first leg and on the second.
    pub anchors: Option<[Endpoint; 2]>,
    /// The caller and its server of TURN, if it has one: its media is seen between these.
    pub turn: Option<[Endpoint; 2]>,
    /// Media goes over a TCP connection that this party opens.
    pub opener: Option<Party>,
    /// Its SDP says that keys are agreed by DTLS.
    pub keyed: bool,
    /// Where another machine speaks on from, after a transfer.
    pub agent: Endpoint,
    /// Other targets that are asked.
    pub others: usize,
    pub sections: Sections,
    pub tcp: bool,
    /// Header fields by their short names (RFC 3261 section 7.3.3).
    pub compact: bool,
    pub codec: Codec,
    pub ptime_ms: u8,
    pub mux: bool,
    pub rtcp: Rtcp,
    pub discontinuous: bool,
    /// Caller to tap, tap to callee.
    pub path_ns: [i64; 2],
    /// Of the caller's and the callee's stream.
    pub ssrcs: [u32; 2],
}

const AGENTS: [&str; 6] = [
    "Yealink SIP-T46S 66.85.0.5",
    "PolycomVVX-VVX_411-UA/5.9.5.0614",
    "Grandstream GXP2170 1.0.11.64",
    "Linphone/5.2.4 (belle-sip/5.3.0)",
    "Cisco-CP8841/12.8.1",
    "Z 5.6.4 v2.10.20.4",
];
const EXCHANGE: &str = "Trunkline-Sim exchange 1.0";
const GATEWAY: &str = "Trunkline-Sim gateway 1.0";

/// How far before its RTP a port for RTCP is that SDP names.
const CONTROL_BEFORE: u16 = 1001;

/// What is drawn beforehand and decides who takes part.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cast {
    pub ipv6: bool,
    pub nat: bool,
    pub proxied: bool,
    pub tcp: bool,
}

impl Scene {
    /// The scene of the `number`th call.
    pub fn draw(settings: &Settings, number: u64, cast: Cast, random: &mut Random) -> Self {
        let subscribers = u64::from(settings.subscribers);
        let caller = random.below(subscribers);
        let callee = (caller + 1 + random.below(subscribers - 1)) % subscribers;
        let trunk = random.below(u64::from(settings.trunks));
        // Out through a trunk, in from one, or inside; behind a NAT there are only subscribers.
        let way = if cast.nat { random.below(2) * 2 } else { random.below(3) };
        let port = |base: u16, n: u64| base + 2 * (n % 8192) as u16;
        let phone = |who: u64| Host {
            agent: AGENTS[(who % AGENTS.len() as u64) as usize],
            ..host(subscriber_address(who, cast.ipv6), 5060, port(16_384, number))
        };
        let gateway = || Host {
            agent: GATEWAY,
            ..host(trunk_address(trunk, number / 8192 % 8, cast.ipv6), 5060, port(32_768, number))
        };
        let exchange = || Host {
            agent: EXCHANGE,
            ..host(exchange_address(10 + number / 8192 % 8, cast.ipv6), 5060, port(32_768, number))
        };
        let (mut a, b) = match way {
            0 if cast.proxied => (phone(caller), gateway()),
            1 if cast.proxied => (gateway(), phone(callee)),
            1 => (gateway(), exchange()),
            2 if cast.proxied => (phone(caller), phone(callee)),
            _ => (phone(caller), exchange()),
        };
        if cast.nat {
            hide(&mut a, random);
        }
        let proxy = Host { agent: EXCHANGE, ..host(exchange_address(5, cast.ipv6), 5060, 0) };
        let outside =
            |random: &mut Random| format!("+{}{:09}", random.pick(&[33, 44, 49, 31, 41]), random.below(1_000_000_000));
        let users = match way {
            0 => [number_of(caller), outside(random)],
            1 => [outside(random), number_of(callee)],
            _ => [number_of(caller), number_of(callee)],
        };
        let codec = pick_codec(settings, random);
        Scene {
            call_id: format!("{:016x}-{number}@{}", random.bits(), a.told.address),
            users,
            domain: "sip.trunkline.example",
            tags: [random.bits() as u32, random.bits() as u32],
            nonce: random.bits(),
            hosts: [a, proxy, b, other(0, number, cast.ipv6), other(1, number, cast.ipv6)],
            proxied: cast.proxied,
            relay: Relay::Proxy,
            anchors: None,
            turn: None,
            opener: None,
            keyed: false,
            agent: other(2, number, cast.ipv6).media_told,
            others: 0,
            sections: Sections::default(),
            tcp: cast.tcp,
            compact: false,
            codec,
            ptime_ms: codec.whole_ptime(random.pick(&settings.ptimes_ms)),
            mux: false,
            rtcp: Rtcp::Next,
            discontinuous: false,
            path_ns: [random.between(1_000_000, 40_000_000), random.between(500_000, 15_000_000)],
            ssrcs: [random.bits() as u32, random.bits() as u32],
        }
    }

    /// The callee is one of these, with its ports, if one fits.
    pub fn take_over(&mut self, left: &mut Vec<Host>) {
        let caller = self.hosts[0].seen.address;
        let fits = |host: &Host| host.seen.address != caller && host.seen.address.is_v4() == caller.is_v4();
        if let Some(at) = left.iter().position(fits) {
            self.hosts[Party::Callee as usize] = left.remove(at);
        }
    }

    /// The relay passes media on.
    pub fn anchor(&mut self, number: u64) {
        let ipv6 = !self.hosts[0].seen.address.is_v4();
        let board = number / 8192 % 8;
        let port = 16_384 + 2 * (number % 8192) as u16;
        self.anchors = Some([20, 40].map(|n| Endpoint::new(exchange_address(n + board, ipv6), port)));
    }

    /// The caller has an address of a relay: that is where it says that it is, and where its media comes from and goes
    /// to for all others.
    pub fn relay_caller(&mut self, number: u64) {
        let caller = &mut self.hosts[0];
        let ipv6 = !caller.seen.address.is_v4();
        let at = |port| Endpoint::new(exchange_address(60 + number / 8192 % 8, ipv6), port);
        let relayed = at(49_152 + 2 * (number % 8192) as u16);
        self.turn = Some([caller.media_seen, at(3478)]);
        (caller.media_told, caller.media_seen) = (relayed, relayed);
    }

    /// Media goes over a connection that a party opens, from a port that it cannot tell before (RFC 4145 section 4.1).
    pub fn connect(&mut self, opener: Party) {
        self.opener = Some(opener);
        self.hosts[opener as usize].media_told.port = 9;
    }

    /// The callee has a private address here, and says the public one that a translator has for it.
    pub fn map_callee(&mut self) {
        let callee = &mut self.hosts[2];
        let [.., b, c, d] = *callee.seen.address.octets();
        let inside = Address::v4([10, b, c, d]);
        (callee.seen.address, callee.media_seen.address) = (inside, inside);
    }

    /// Tags of the caller's side and of the callee's side on the first leg, or on the one to this target.
    pub fn leg_tags(&self, target: Option<Party>, fork: u8) -> [u32; 2] {
        let callee = |fork: u8| self.tags[1].wrapping_add(u32::from(fork));
        match target {
            _ if self.relay == Relay::Proxy => [self.tags[0], callee(fork)],
            None => [self.tags[0], callee(fork.min(1))],
            Some(target) => [self.tags[0].rotate_left(5 + target as u32), callee(fork).rotate_left(7)],
        }
    }

    /// The codec of its video.
    pub fn video_codec(&self) -> Codec {
        if self.ssrcs[0] & 1 == 0 { Codec::Vp8 } else { Codec::H264 }
    }

    /// The Call-ID of the first leg, or of the one to this target.
    pub fn leg_call_id(&self, target: Option<Party>) -> Cow<'_, str> {
        match target.filter(|_| self.relay == Relay::OwnCallId) {
            Some(target) => Cow::Owned(format!("{}-{}", self.call_id, target as u8)),
            None => Cow::Borrowed(&self.call_id),
        }
    }

    /// Where a party says that it takes audio, on the second leg or on the first.
    pub fn described(&self, party: Party, far: bool, sdp: &Sdp) -> Endpoint {
        match self.anchors {
            Some(anchors) if far == (party == Party::Caller) => anchors[usize::from(far)],
            _ if sdp.agent && party != Party::Caller => self.agent,
            _ => self.host(party).media_told,
        }
    }

    /// Where RTCP about audio at this endpoint goes, if SDP names that.
    pub fn control(&self, audio: Endpoint) -> Option<Endpoint> {
        // Odd, and nobody's RTP.
        let control = Endpoint { port: audio.port.saturating_sub(CONTROL_BEFORE), ..audio };
        let callee = self.host(Party::Callee).media_seen.address;
        match self.rtcp {
            Rtcp::Next => None,
            Rtcp::Elsewhere if audio.address == callee => {
                Some(Endpoint { address: exchange_address(90, !callee.is_v4()), ..control })
            }
            _ => Some(control),
        }
    }

    /// A host by its part.
    pub fn host(&self, party: Party) -> &Host {
        &self.hosts[party as usize]
    }
}

/// Where video goes whose audio goes there: ranges of ports that nothing else uses.
pub(crate) fn video_of(audio: Endpoint, sections: Sections) -> Endpoint {
    match sections.video {
        Video::Bundled => audio,
        // Behind a NAT audio is above all ports that are told.
        _ if audio.port >= 49_152 => Endpoint::new(audio.address, audio.port - 16_384),
        _ => Endpoint::new(audio.address, audio.port + 16_384),
    }
}

/// A host that takes part beside caller and callee: phones in 198.19.200.0/21 or 2001:db8:3::/64.
fn other(n: u8, number: u64, ipv6: bool) -> Host {
    let low = (number % 250) as u8 + 1;
    let address = if ipv6 { v6(3, u32::from(n) << 8 | u32::from(low)) } else { Address::v4([198, 19, 200 + n, low]) };
    let phone = host(address, 5060, 16_384 + 2 * (number % 8192) as u16);
    Host { agent: AGENTS[usize::from(low + n) % AGENTS.len()], ..phone }
}

fn pick_codec(settings: &Settings, random: &mut Random) -> Codec {
    let total: f64 = settings.codecs.iter().map(|w| w.weight).sum();
    let mut left = random.uniform(0.0, total);
    for weighted in &settings.codecs {
        left -= weighted.weight;
        if left < 0.0 {
            return weighted.codec;
        }
    }
    settings.codecs.first().map_or(Codec::Pcma, |w| w.codec)
}

/// A host that is what it says.
fn host(address: Address, port: u16, media_port: u16) -> Host {
    let (seen, media) = (Endpoint::new(address, port), Endpoint::new(address, media_port));
    Host { seen, told: seen, media_seen: media, media_told: media, agent: "", map: 0 }
}

/// Puts a NAT before a host: what it says of itself is private, what is seen is the NAT's.
fn hide(host: &mut Host, random: &mut Random) {
    let inside = Address::v4([192, 168, random.below(4) as u8, 20 + random.below(200) as u8]);
    host.told = Endpoint::new(inside, 5060);
    host.media_told = Endpoint::new(inside, host.media_seen.port);
    host.seen.port = 40_000 + random.below(20_000) as u16;
    // The NAT maps media elsewhere, out of the way of all ports that are told.
    host.media_seen.port += 32_768;
}

/// The telephone number of a subscriber. +44 20 7946 0000.. is kept for stories by Ofcom.
fn number_of(subscriber: u64) -> String {
    format!("+4420{}", 79_460_000 + subscriber)
}

/// Subscribers are in 198.18.0.0/15 (RFC 2544), from 198.18.1.0 on, or in 2001:db8:1::/64.
fn subscriber_address(subscriber: u64, ipv6: bool) -> Address {
    let n = 256 + (subscriber % 100_000) as u32;
    if ipv6 {
        return v6(1, n);
    }
    let [_, high, mid, low] = n.to_be_bytes();
    Address::v4([198, 18 + high, mid, low])
}

/// Gateways of other operators are in 203.0.113.0/24 and 2001:db8:2::/64; each has several addresses.
fn trunk_address(trunk: u64, board: u64, ipv6: bool) -> Address {
    let n = (trunk + board * 25) % 250 + 1;
    if ipv6 { v6(2, n as u32) } else { Address::v4([203, 0, 113, n as u8]) }
}

/// The operator's own hosts are in 192.0.2.0/24 and 2001:db8::/64.
fn exchange_address(n: u64, ipv6: bool) -> Address {
    if ipv6 { v6(0, n as u32) } else { Address::v4([192, 0, 2, n as u8]) }
}

fn v6(subnet: u8, n: u32) -> Address {
    let [a, b, c, d] = n.to_be_bytes();
    Address::v6([0x20, 0x01, 0x0d, 0xb8, 0, subnet, 0, 0, 0, 0, 0, 0, a, b, c, d])
}
