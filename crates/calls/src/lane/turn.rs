//! TURN (RFC 8656): what is inside of ChannelData, Send and Data indications, and between which endpoints it goes.
//!
//! A client reaches its peers through a relay. What it sends is told by what the relay makes of it: from the relayed
//! address (XOR-RELAYED-ADDRESS of the Allocate response) to the peer (XOR-PEER-ADDRESS of the ChannelBind request or
//! the indication), since these are what the SDP names. Where either was not seen, the client's own address and the
//! server's stand for them. What a flow carries keeps its endpoints, though more becomes known later.
//!
//! Field: a ChannelBind is believed when it is requested, as the response may go another way. A refused one carries
//! nothing.

use crate::unread::stun::{Class, Message, attribute, channel_data, method};
use hashbrown::HashMap;
use smallvec::SmallVec;
use trunkline_wire::{Datagram, Endpoint};

/// Flows between clients and TURN servers that one lane knows. Beyond it all are forgotten and counted.
// Limit: flows with TURN of one lane
// Beyond: all are forgotten
// Seen in: `trunkline_calls_media_flows_overflow_total`
pub const TURN_FLOWS_MAX: usize = 1 << 13;
/// Channels of one flow; what further ones carry goes between client and server.
const CHANNELS_MAX: usize = 64;

/// Ports of TURN (RFC 8656 section 18), and those of the web, which firewalls let through.
const SERVER_PORTS: [u16; 4] = [3478, 5349, 443, 80];

/// Flows between clients and TURN servers.
#[derive(Debug, Default)]
pub struct Turn {
    flows: HashMap<[Endpoint; 2], Flow>,
    /// Times that all were forgotten.
    pub overflow: u64,
}

#[derive(Debug, Default)]
struct Flow {
    /// The end that asks.
    client: Option<Endpoint>,
    relayed: Option<Endpoint>,
    channels: SmallVec<[Channel; 2]>,
}

#[derive(Debug)]
struct Channel {
    number: u16,
    peer: Option<Endpoint>,
    /// Who sends to whom, seen from this end of the flow, since something was carried.
    carried: Option<(Endpoint, [Endpoint; 2])>,
}

/// What is inside of a datagram.
#[derive(Clone, Copy, Debug)]
pub struct Inside<'a> {
    /// Who sends it.
    pub from: Endpoint,
    /// Whom it is sent to.
    pub to: Endpoint,
    /// The client sends it, or is taken for the one that does.
    pub up: bool,
    /// What was captured of it.
    pub octets: &'a [u8],
    /// Its length on the wire.
    pub wire: usize,
}

/// The ends of a flow, the same for both of its directions.
pub fn ends(datagram: &Datagram) -> [Endpoint; 2] {
    let (from, to) = (datagram.from(), datagram.to());
    if from <= to { [from, to] } else { [to, from] }
}

impl Turn {
    /// Takes a datagram of TURN; gives what it carries.
    pub fn take<'a>(&mut self, datagram: &Datagram, octets: &'a [u8]) -> Option<Inside<'a>> {
        if let Some((number, inside, wire)) = channel_data(datagram, octets) {
            let ([from, to], up) = self.flow(datagram).carried(number, datagram.from(), datagram.to());
            return Some(Inside { from, to, up, octets: inside, wire });
        }
        let message = Message::new(datagram, octets)?;
        match (message.method, message.class) {
            (method::ALLOCATE, Class::Success) => self.allocated(datagram, &message),
            (method::CHANNEL_BIND, Class::Request) => self.bound(datagram, &message),
            (method::SEND | method::DATA, Class::Indication) => return self.indicated(datagram, &message),
            _ => {}
        }
        None
    }

    fn flow(&mut self, datagram: &Datagram) -> &mut Flow {
        let ends = ends(datagram);
        if self.flows.len() >= TURN_FLOWS_MAX && !self.flows.contains_key(&ends) {
            self.flows.clear();
            self.overflow += 1;
        }
        self.flows.entry(ends).or_default()
    }

    /// The server tells the client its relayed address. With another one it is another allocation.
    fn allocated(&mut self, datagram: &Datagram, message: &Message<'_>) {
        let Some(relayed) = message.address(attribute::XOR_RELAYED_ADDRESS) else { return };
        let flow = self.flow(datagram);
        flow.client = Some(datagram.to());
        if flow.relayed != Some(relayed) {
            flow.relayed = Some(relayed);
            flow.channels.clear();
        }
    }

    fn bound(&mut self, datagram: &Datagram, message: &Message<'_>) {
        let number = message.attribute(attribute::CHANNEL_NUMBER).and_then(|(value, _)| value.first_chunk::<2>());
        let (Some(number), Some(peer)) = (number, message.address(attribute::XOR_PEER_ADDRESS)) else { return };
        let flow = self.flow(datagram);
        flow.client.get_or_insert(datagram.from());
        let Some(channel) = flow.channel(u16::from_be_bytes(*number)) else { return };
        if channel.peer.is_some_and(|known| known != peer) {
            channel.carried = None;
        }
        channel.peer = Some(peer);
    }

    fn indicated<'a>(&mut self, datagram: &Datagram, message: &Message<'a>) -> Option<Inside<'a>> {
        let (octets, wire) = message.attribute(attribute::DATA)?;
        let sends = message.method == method::SEND;
        let (client, server) = match sends {
            true => (datagram.from(), datagram.to()),
            false => (datagram.to(), datagram.from()),
        };
        let known = self.flows.get(&ends(datagram)).and_then(|flow| flow.relayed);
        let (near, far) = (known.unwrap_or(client), message.address(attribute::XOR_PEER_ADDRESS).unwrap_or(server));
        let (from, to) = if sends { (near, far) } else { (far, near) };
        Some(Inside { from, to, up: sends, octets, wire })
    }
}

impl Flow {
    fn channel(&mut self, number: u16) -> Option<&mut Channel> {
        let at = match self.channels.iter().position(|c| c.number == number) {
            Some(at) => at,
            None if self.channels.len() >= CHANNELS_MAX => return None,
            None => {
                self.channels.push(Channel { number, peer: None, carried: None });
                self.channels.len() - 1
            }
        };
        self.channels.get_mut(at)
    }

    /// Between which endpoints goes what `from` sends to `to` on a channel, and whether the client sends it.
    fn carried(&mut self, number: u16, from: Endpoint, to: Endpoint) -> ([Endpoint; 2], bool) {
        // Where nothing was seen of who asks, who sends first stands for the client, unless its port is a server's.
        let is_server = |end: Endpoint| SERVER_PORTS.contains(&end.port);
        let guess = if is_server(from) && !is_server(to) { to } else { from };
        let client = self.client.unwrap_or(guess);
        let server = if client == from { to } else { from };
        let near = self.relayed.unwrap_or(client);
        let Some(channel) = self.channel(number) else { return ([from, to], client == from) };
        let peer = channel.peer.unwrap_or(server);
        let (end, way) = *channel.carried.get_or_insert((client, [near, peer]));
        if end == from { (way, true) } else { ([way[1], way[0]], false) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::datagram_between;
    use trunkline_wire::Address;

    fn end(text: &str) -> Endpoint {
        text.parse().unwrap()
    }

    fn datagram(from: Endpoint, to: Endpoint, octets: &[u8]) -> Datagram {
        let length = octets.len() as u32;
        Datagram { payload_captured: length, payload_wire: length, ..datagram_between(from, to) }
    }

    const ID: [u8; 12] = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11, 12];

    fn xored(kind: u16, end: Endpoint) -> Vec<u8> {
        let mask = [&[0x21, 0x12, 0xa4, 0x42], &ID[..]].concat();
        let address = end.address.octets();
        let (family, address) = if end.address.is_v4() { (1, &address[12..]) } else { (2, &address[..]) };
        let mut value = vec![0, family];
        value.extend(end.port.to_be_bytes().iter().zip(&mask).map(|(o, m)| o ^ m));
        value.extend(address.iter().zip(&mask).map(|(o, m)| o ^ m));
        attribute(kind, &value)
    }

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut octets = [kind.to_be_bytes(), (value.len() as u16).to_be_bytes()].concat();
        octets.extend(value);
        octets.resize(octets.len().next_multiple_of(4), 0);
        octets
    }

    fn message(kind: u16, attributes: &[Vec<u8>]) -> Vec<u8> {
        let body = attributes.concat();
        let mut octets = [kind.to_be_bytes(), (body.len() as u16).to_be_bytes()].concat();
        octets.extend([0x21, 0x12, 0xa4, 0x42]);
        octets.extend(ID);
        octets.extend(body);
        octets
    }

    /// From where to where goes what is in there.
    fn way(turn: &mut Turn, from: Endpoint, to: Endpoint, octets: &[u8]) -> Option<(Endpoint, Endpoint, Vec<u8>)> {
        let inside = turn.take(&datagram(from, to, octets), octets)?;
        Some((inside.from, inside.to, inside.octets.to_vec()))
    }

    const CHANNEL: &[u8] = &[0x40, 7, 0, 3, 1, 2, 3, 0];

    #[test]
    fn what_is_inside_goes_from_relay_to_peer() {
        for (client, server, relayed, peer) in [
            ("192.0.2.1:51000", "203.0.113.9:3478", "203.0.113.9:49200", "198.51.100.7:4000"),
            ("[2001:db8::1]:51000", "[2001:db8:9::9]:443", "[2001:db8:9::9]:49200", "[2001:db8:7::7]:4000"),
            // It asks for an address of the other family (RFC 8656 section 2.6).
            ("[2001:db8::1]:3478", "[2001:db8:9::9]:51000", "203.0.113.9:49200", "198.51.100.7:4000"),
        ] {
            let (client, server, relayed, peer) = (end(client), end(server), end(relayed), end(peer));
            let mut turn = Turn::default();
            assert_eq!(way(&mut turn, server, client, &message(0x0103, &[xored(0x0016, relayed)])), None);
            let bind = message(0x0009, &[attribute(0x000c, &[0x40, 7, 0, 0]), xored(0x0012, peer)]);
            assert_eq!(way(&mut turn, client, server, &bind), None);
            let octets = vec![1, 2, 3];
            assert_eq!(way(&mut turn, client, server, CHANNEL), Some((relayed, peer, octets.clone())));
            assert_eq!(way(&mut turn, server, client, CHANNEL), Some((peer, relayed, octets.clone())));
            let send = message(0x0016, &[xored(0x0012, peer), attribute(0x0013, &octets)]);
            assert_eq!(way(&mut turn, client, server, &send), Some((relayed, peer, octets.clone())));
            let data = message(0x0017, &[attribute(0x0013, &octets), xored(0x0012, peer)]);
            assert_eq!(way(&mut turn, server, client, &data), Some((peer, relayed, octets)));
        }
    }

    #[test]
    fn where_little_was_seen_the_flow_stands_for_it_and_stays_so() {
        let (client, server) = (end("192.0.2.1:51000"), end("203.0.113.9:3478"));
        let peer = Endpoint::new(Address::v4([198, 51, 100, 7]), 4000);
        let mut turn = Turn::default();
        assert!([(server, client, false), (client, server, true)].iter().all(|(from, to, up)| {
            turn.take(&datagram(*from, *to, CHANNEL), CHANNEL).is_some_and(|inside| inside.up == *up)
        }));
        let carried = |turn: &mut Turn, from, to| way(turn, from, to, CHANNEL).map(|(from, to, _)| (from, to));
        assert_eq!(carried(&mut turn, server, client), Some((server, client)));
        let bind = message(0x0009, &[attribute(0x000c, &[0x40, 7, 0, 0]), xored(0x0012, peer)]);
        way(&mut turn, client, server, &bind);
        assert_eq!(carried(&mut turn, client, server), Some((client, server)));
        assert_eq!(carried(&mut turn, server, client), Some((server, client)));
        // The channel is bound to another peer.
        let other = message(0x0009, &[attribute(0x000c, &[0x40, 7, 0, 0]), xored(0x0012, end("198.51.100.8:1"))]);
        way(&mut turn, client, server, &other);
        assert_eq!(carried(&mut turn, server, client), Some((end("198.51.100.8:1"), client)));
    }

    #[test]
    fn flows_are_bounded() {
        let mut turn = Turn::default();
        for n in 0..=TURN_FLOWS_MAX as u32 {
            let client = Endpoint::new(Address::v4([10, (n >> 16) as u8, (n >> 8) as u8, n as u8]), 4000);
            way(&mut turn, client, end("203.0.113.9:3478"), CHANNEL);
        }
        assert_eq!((turn.flows.len(), turn.overflow), (1, 1));
    }
}
