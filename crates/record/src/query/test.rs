//! The exact question to one packet.
//!
//! Plain words are answered here as libpcap's generated programs answer them: at the same offsets, in the same order,
//! and a packet that ends before an octet that is asked for matches nothing (`not port 80` neither). That holds for
//! Ethernet, Linux cooked captures and raw IP; for other link types, and for what is not plain, libpcap's compiler is
//! asked.

use trunkline_capture::filter::{self, Filter};
use trunkline_wire::{Decoded, decode};

use super::Query;
use super::primitive::{Depth, Expression, Leaf, Network, Primitive, Side};
use crate::index::headers::number;
use crate::index::{Headers, Kind};

/// An exact filter that something else made of an expression.
pub trait Exact: Send {
    /// Whether a packet matches: its captured octets, and how many there were on the wire.
    fn matches(&self, octets: &[u8], wire: u32) -> bool;
}

/// What makes exact filters of expressions: libpcap's compiler.
pub trait Compile: Send + Sync {
    /// The filter of an expression for packets of a link type.
    ///
    /// # Errors
    /// What the compiler says.
    fn compile(&self, text: &str, link: u16) -> Result<Box<dyn Exact>, String>;
}

impl Exact for Filter {
    fn matches(&self, octets: &[u8], wire: u32) -> bool {
        Filter::matches(self, octets, wire)
    }
}

impl Compile for filter::Expression {
    fn compile(&self, text: &str, link: u16) -> Result<Box<dyn Exact>, String> {
        match filter::Expression::compile(text, link) {
            Ok(filter) => Ok(Box::new(filter)),
            Err(why) => Err(why.fault.to_string()),
        }
    }
}

/// A query for packets of one link type.
pub struct Matcher {
    how: How,
}

enum How {
    /// Answered here.
    Plain(Option<Expression>, Layout),
    /// Answered by libpcap alone.
    Compiled(Box<dyn Exact>),
    /// The innermost headers are asked here, the rest by libpcap: a filter for each primitive of its own.
    Mixed(Expression, Layout, Vec<(usize, Box<dyn Exact>)>),
}

/// The octet that was asked for was not captured: nothing matches.
struct Cut;

/// Where the plain words look in packets of a link type.
#[derive(Clone, Copy)]
enum Layout {
    /// Where the EtherType stands, and what it describes; whether tags and labels can be between.
    Typed { kind: usize, payload: usize, shims: bool },
    /// IP, told by its version, or said by the link type.
    Raw(Option<Network>),
}

impl Layout {
    fn of(link: u16) -> Option<Layout> {
        Some(match link {
            1 => Layout::Typed { kind: 12, payload: 14, shims: true },
            113 => Layout::Typed { kind: 14, payload: 16, shims: false },
            276 => Layout::Typed { kind: 0, payload: 20, shims: false },
            12 | 14 | 101 => Layout::Raw(None),
            228 => Layout::Raw(Some(Network::Ip)),
            229 => Layout::Raw(Some(Network::Ip6)),
            _ => return None,
        })
    }
}

impl Matcher {
    /// Of a query, for packets of a link type.
    ///
    /// # Errors
    /// What libpcap's compiler says of the expression.
    pub fn new(query: &Query, link: u16, compiler: &dyn Compile) -> Result<Matcher, String> {
        let layout = Layout::of(link);
        let shims = query.expression.as_ref().is_some_and(asks_for_shims);
        let plain = layout.filter(|l| !shims || matches!(l, Layout::Typed { shims: true, .. }));
        let how = match (plain, &query.expression) {
            (_, None) => How::Plain(None, Layout::Raw(None)),
            (Some(layout), Some(_)) if !query.opaque => How::Plain(query.expression.clone(), layout),
            (_, Some(_)) if !query.inner => How::Compiled(compiler.compile(&query.text, link)?),
            (layout, Some(expression)) => {
                let mut compiled = Vec::new();
                let all = layout.is_none() || shims;
                compile_leaves(query, expression, all, link, compiler, &mut compiled)?;
                How::Mixed(expression.clone(), layout.unwrap_or(Layout::Raw(None)), compiled)
            }
        };
        Ok(Matcher { how })
    }

    /// Whether a packet matches.
    #[inline]
    pub fn matches(&self, link: u16, octets: &[u8], wire: u32) -> bool {
        let packet = |layout: Layout| Packet { link, octets, wire, layout };
        match &self.how {
            How::Plain(None, _) => true,
            How::Plain(Some(expression), layout) => packet(*layout).ask(expression, &[]).unwrap_or(false),
            How::Compiled(filter) => filter.matches(octets, wire),
            How::Mixed(expression, layout, compiled) => packet(*layout).ask(expression, compiled).unwrap_or(false),
        }
    }
}

fn asks_for_shims(expression: &Expression) -> bool {
    let mut found = false;
    super::parse::leaves(expression, &mut |leaf| {
        found |= matches!(leaf.primitive, Primitive::Vlan(_) | Primitive::Mpls(_));
    });
    found
}

/// A filter for each primitive that is not answered here, by its place in the text.
fn compile_leaves(
    query: &Query,
    expression: &Expression,
    all: bool,
    link: u16,
    compiler: &dyn Compile,
    out: &mut Vec<(usize, Box<dyn Exact>)>,
) -> Result<(), String> {
    let mut failed = None;
    super::parse::leaves(expression, &mut |leaf| {
        if leaf.inner || !(all || leaf.primitive == Primitive::Opaque) {
            return;
        }
        let text = query.text.get(leaf.place.clone()).unwrap_or_default();
        match compiler.compile(text, link) {
            Ok(filter) => out.push((leaf.place.start, filter)),
            Err(what) => _ = failed.get_or_insert(what),
        }
    });
    failed.map_or(Ok(()), Err)
}

/// A packet being asked.
struct Packet<'a> {
    link: u16,
    octets: &'a [u8],
    wire: u32,
    layout: Layout,
}

type Answer = Result<bool, Cut>;

impl Packet<'_> {
    fn ask(&self, expression: &Expression, compiled: &[(usize, Box<dyn Exact>)]) -> Answer {
        match expression {
            Expression::And(a, b) => Ok(self.ask(a, compiled)? && self.ask(b, compiled)?),
            Expression::Or(a, b) => Ok(self.ask(a, compiled)? || self.ask(b, compiled)?),
            Expression::Not(a) => Ok(!self.ask(a, compiled)?),
            Expression::Leaf(leaf) if leaf.inner => Ok(self.ask_inner(&leaf.primitive)),
            Expression::Leaf(leaf) => match compiled.iter().find(|(place, _)| *place == leaf.place.start) {
                Some((_, filter)) => Ok(filter.matches(self.octets, self.wire)),
                None => self.ask_outer(leaf),
            },
        }
    }

    fn ask_outer(&self, leaf: &Leaf) -> Answer {
        let depth = leaf.depth;
        match &leaf.primitive {
            Primitive::Network(network) => self.is(*network, depth),
            Primitive::Protocol(number, network) => self.protocol(*number, *network, depth),
            Primitive::Address { first, last, v6: true, side, .. } => {
                let range = (number(first), number(last));
                Ok(self.is(Network::Ip6, depth)? && self.sixteen(range, *side, depth)?)
            }
            Primitive::Address { first, last, network, side, .. } => {
                let range = (number(first) as u32, number(last) as u32);
                self.four(range, *network, *side, depth)
            }
            Primitive::Port { first, last, protocol, side } => self.ports((*first, *last), *protocol, *side, depth),
            Primitive::Vlan(id) => self.vlan(*id, depth),
            Primitive::Mpls(label) => self.mpls(*label, depth),
            Primitive::Opaque => Ok(false),
        }
    }

    /// Where the network header lies.
    fn start(&self, depth: Depth) -> usize {
        let shims = (usize::from(depth.tags) + usize::from(depth.labels)) * 4;
        match self.layout {
            Layout::Typed { payload, .. } => payload + shims,
            Layout::Raw(_) => 0,
        }
    }

    fn kind(&self, depth: Depth) -> Result<u16, Cut> {
        match self.layout {
            Layout::Typed { kind, .. } => self.u16(kind + usize::from(depth.tags) * 4),
            Layout::Raw(_) => Ok(0),
        }
    }

    fn is(&self, network: Network, depth: Depth) -> Answer {
        if let Layout::Raw(said) = self.layout {
            return match (said, network) {
                (Some(said), network) => Ok(said == network),
                (None, Network::Ip) => Ok(self.u8(0)? >> 4 == 4),
                (None, Network::Ip6) => Ok(self.u8(0)? >> 4 == 6),
                (None, _) => Ok(false),
            };
        }
        if depth.labels > 0 {
            // Nothing says what a label carries: the bottom of the stack, then the version.
            let version = match network {
                Network::Ip => 4,
                Network::Ip6 => 6,
                _ => return Ok(false),
            };
            let start = self.start(depth);
            return Ok(self.u8(start - 2)? & 1 != 0 && self.u8(start)? >> 4 == version);
        }
        let wanted = match network {
            Network::Ip => 0x0800,
            Network::Ip6 => 0x86dd,
            Network::Arp => 0x0806,
            Network::Rarp => 0x8035,
        };
        Ok(self.kind(depth)? == wanted)
    }

    fn protocol(&self, number: u8, network: Option<Network>, depth: Depth) -> Answer {
        let start = self.start(depth);
        if network != Some(Network::Ip6) && self.is(Network::Ip, depth)? {
            return Ok(self.u8(start + 9)? == number);
        }
        if network == Some(Network::Ip) || !self.is(Network::Ip6, depth)? {
            return Ok(false);
        }
        let next = self.u8(start + 6)?;
        Ok(next == number || (next == 44 && self.u8(start + 40)? == number))
    }

    fn four(&self, range: (u32, u32), network: Option<Network>, side: Side, depth: Depth) -> Answer {
        let start = self.start(depth);
        let ends = |source: usize, destination: usize| {
            let inside = |at| self.u32(at).map(|n| range.0 <= n && n <= range.1);
            side.of(|| inside(start + source), || inside(start + destination))
        };
        let among = |wanted: Network| network.is_none_or(|n| n == wanted);
        if among(Network::Ip) && self.is(Network::Ip, depth)? {
            return ends(12, 16);
        }
        if depth.labels > 0 && network.is_none() {
            return Ok(false);
        }
        for arp in [Network::Arp, Network::Rarp] {
            if among(arp) && self.is(arp, depth)? {
                return ends(14, 24);
            }
        }
        Ok(false)
    }

    fn sixteen(&self, range: (u128, u128), side: Side, depth: Depth) -> Answer {
        let start = self.start(depth);
        let inside = |at| self.prefix(at, range);
        side.of(|| inside(start + 8), || inside(start + 24))
    }

    /// Compares an IPv6 address word by word, as far as its network goes.
    fn prefix(&self, at: usize, (first, last): (u128, u128)) -> Answer {
        for word in 0..4 {
            let shift = 96 - 32 * word;
            let mask = !((first ^ last) >> shift) as u32;
            if mask != 0 && self.u32(at + word * 4)? & mask != (first >> shift) as u32 & mask {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn ports(&self, range: (u16, u16), protocol: Option<u8>, side: Side, depth: Depth) -> Answer {
        let start = self.start(depth);
        let known = |number: u8| protocol.map_or(matches!(number, 6 | 17 | 132), |p| p == number);
        let ends = |at: usize| {
            let inside = |at| self.u16(at).map(|n| range.0 <= n && n <= range.1);
            side.of(|| inside(at), || inside(at + 2))
        };
        if self.is(Network::Ip, depth)? {
            // Ports stand in the first fragment alone.
            if !known(self.u8(start + 9)?) || self.u16(start + 6)? & 0x1fff != 0 {
                return Ok(false);
            }
            return ends(start + usize::from(self.u8(start)? & 0x0f) * 4);
        }
        Ok(self.is(Network::Ip6, depth)? && known(self.u8(start + 6)?) && ends(start + 40)?)
    }

    fn vlan(&self, id: Option<u16>, depth: Depth) -> Answer {
        if !matches!(self.kind(depth)?, 0x8100 | 0x88a8 | 0x9100) {
            return Ok(false);
        }
        id.map_or(Ok(true), |id| Ok(self.u16(self.start(depth))? & 0x0fff == id))
    }

    fn mpls(&self, label: Option<u32>, depth: Depth) -> Answer {
        let start = self.start(depth);
        let labelled = if depth.labels > 0 { self.u8(start - 2)? & 1 == 0 } else { self.kind(depth)? == 0x8847 };
        if !labelled {
            return Ok(false);
        }
        label.map_or(Ok(true), |label| Ok(self.u32(start)? >> 12 == label))
    }

    /// The innermost datagram, segment or fragment; where there is none, the outermost headers.
    fn ask_inner(&self, primitive: &Primitive) -> bool {
        let decoded: Decoded = decode(self.link, self.octets);
        let headers = Headers::innermost(&decoded, &Headers::outermost(self.link, self.octets));
        let is_ip = matches!(headers.kind, Kind::Network | Kind::Fragment | Kind::Transport);
        let v4 = crate::index::headers::address(headers.src).is_v4();
        let family = |network: Option<Network>| network.is_none_or(|n| v4 == (n == Network::Ip));
        let sides = |side: Side, source: bool, destination: bool| match side {
            Side::Either => source || destination,
            Side::Both => source && destination,
            Side::Source => source,
            Side::Destination => destination,
        };
        match primitive {
            Primitive::Network(network) => is_ip && family(Some(*network)),
            Primitive::Protocol(number, network) => is_ip && headers.protocol == *number && family(*network),
            Primitive::Address { first, last, side, v6, .. } => {
                let inside = |n: u128| number(first) <= n && n <= number(last);
                is_ip && v4 != *v6 && sides(*side, inside(headers.src), inside(headers.dst))
            }
            Primitive::Port { first, last, protocol, side } => {
                let inside = |port: u16| (*first..=*last).contains(&port);
                headers.kind == Kind::Transport
                    && protocol.is_none_or(|p| p == headers.protocol)
                    && sides(*side, inside(headers.src_port), inside(headers.dst_port))
            }
            Primitive::Vlan(_) | Primitive::Mpls(_) | Primitive::Opaque => false,
        }
    }

    #[inline]
    fn u8(&self, at: usize) -> Result<u8, Cut> {
        self.octets.get(at).copied().ok_or(Cut)
    }

    #[inline]
    fn u16(&self, at: usize) -> Result<u16, Cut> {
        self.octets.get(at..).and_then(|o| o.first_chunk()).map(|o| u16::from_be_bytes(*o)).ok_or(Cut)
    }

    #[inline]
    fn u32(&self, at: usize) -> Result<u32, Cut> {
        self.octets.get(at..).and_then(|o| o.first_chunk()).map(|o| u32::from_be_bytes(*o)).ok_or(Cut)
    }
}
