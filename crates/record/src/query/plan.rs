//! Which flows of an index, and which indexes, may hold what an expression asks for.
//!
//! The answer is about all packets of a flow together and never too narrow: an expression may be true of one of them,
//! and may be false of one. `not` swaps the two; what the index does not know may be both.

use trunkline_wire::Address;

use super::Query;
use super::primitive::{Depth, Expression, Leaf, Network, Primitive, Side};
use crate::index::{Facts, Flow, Kind, Layer, Sets};

/// What an expression may be for the packets of a flow or a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct May {
    /// It may be true of one of them.
    pub be_true: bool,
    /// It may be false of one of them.
    pub be_false: bool,
}

impl May {
    const UNKNOWN: May = May { be_true: true, be_false: true };

    fn and(self, other: May) -> May {
        May { be_true: self.be_true && other.be_true, be_false: self.be_false || other.be_false }
    }

    fn or(self, other: May) -> May {
        May { be_true: self.be_true || other.be_true, be_false: self.be_false && other.be_false }
    }

    fn not(self) -> May {
        May { be_true: self.be_false, be_false: self.be_true }
    }
}

/// Whether a flow may have packets that a query asks for.
pub fn may_match_flow(query: &Query, flow: &Flow) -> bool {
    let Some(expression) = &query.expression else { return true };
    of(expression, &|leaf| leaf_of_flow(leaf, flow, query.shifted)).be_true
}

/// Whether a segment with these addresses and ports may have such packets. What it says of its ports holds only if
/// nothing in it is a fragment, and nothing at all if there are packets that the index does not tell apart.
pub fn may_match_sets(query: &Query, sets: &Sets, facts: &Facts) -> bool {
    let Some(expression) = &query.expression else { return facts.packets > 0 };
    if facts.partial || query.shifted {
        return true;
    }
    of(expression, &|leaf| leaf_of_sets(leaf, sets, facts)).be_true
}

fn of(expression: &Expression, leaf: &impl Fn(&Leaf) -> bool) -> May {
    match expression {
        Expression::And(a, b) => of(a, leaf).and(of(b, leaf)),
        Expression::Or(a, b) => of(a, leaf).or(of(b, leaf)),
        Expression::Not(a) => of(a, leaf).not(),
        Expression::Leaf(l) => May { be_true: leaf(l), ..May::UNKNOWN },
    }
}

fn leaf_of_sets(leaf: &Leaf, sets: &Sets, facts: &Facts) -> bool {
    if leaf.depth != Depth::default() {
        return true;
    }
    match &leaf.primitive {
        Primitive::Address { first, last, .. } => sets.holds_address(first, last),
        Primitive::Port { first, last, .. } => facts.fragments || sets.holds_port(*first, *last),
        _ => true,
    }
}

fn leaf_of_flow(leaf: &Leaf, flow: &Flow, shifted: bool) -> bool {
    if leaf.inner {
        return leaf_of_layer(leaf, &flow.inner, flow.flags);
    }
    if shifted || flow.flags & Flow::OUTER_UNKNOWN != 0 || !looks_right(leaf.depth, flow) {
        return true;
    }
    match (&leaf.primitive, &flow.outer) {
        (Primitive::Opaque, _) => true,
        (Primitive::Vlan(None), _) => flow.vlan.is_some(),
        (Primitive::Vlan(id), _) => flow.vlan == *id || flow.flags & Flow::MORE_TAGS != 0,
        (Primitive::Mpls(_), _) => flow.flags & Flow::LABELS != 0,
        // The directions that the flow knows are those of its innermost headers.
        (_, Some(outer)) => leaf_of_layer(leaf, outer, Flow::FORWARD | Flow::BACKWARD),
        (_, None) => leaf_of_layer(leaf, &flow.inner, flow.flags),
    }
}

/// Whether a primitive behind so many tags and labels looks where this flow's network header is. Where it does not
/// (`not vlan and ip`, and a packet without a tag), libpcap compares whatever octets are there.
fn looks_right(depth: Depth, flow: &Flow) -> bool {
    let tags = match (flow.vlan, flow.flags & Flow::MORE_TAGS != 0) {
        (None, _) => 0,
        (Some(_), false) => 1,
        (Some(_), true) => u8::MAX,
    };
    let labels = u8::from(flow.flags & Flow::LABELS != 0);
    (depth.tags == 0 || depth.tags == tags) && (depth.labels == 0 || depth.labels == labels)
}

fn leaf_of_layer(leaf: &Leaf, layer: &Layer, flags: u8) -> bool {
    match &leaf.primitive {
        Primitive::Network(Network::Arp | Network::Rarp) => layer.kind == Kind::Arp,
        Primitive::Network(network) => is_ip(layer) && layer.a.is_v4() == (*network == Network::Ip),
        Primitive::Protocol(number, _) => {
            // Behind an IPv6 fragment header the layer has the protocol of what is fragmented.
            is_ip(layer) && (layer.protocol == *number || (*number == 44 && layer.kind == Kind::Fragment))
        }
        Primitive::Address { first, last, side, .. } => {
            let inside = |address: &Address| first <= address && address <= last;
            layer.kind != Kind::Link && sides(*side, flags, inside(&layer.a), inside(&layer.b))
        }
        Primitive::Port { first, last, protocol, side } => {
            if protocol.is_some_and(|p| p != layer.protocol) {
                return false;
            }
            let inside = |port: u16| (*first..=*last).contains(&port);
            match layer.kind {
                Kind::Fragment => true,
                Kind::Transport => sides(*side, flags, inside(layer.a_port), inside(layer.b_port)),
                _ => false,
            }
        }
        Primitive::Vlan(_) | Primitive::Mpls(_) | Primitive::Opaque => true,
    }
}

fn is_ip(layer: &Layer) -> bool {
    matches!(layer.kind, Kind::Network | Kind::Fragment | Kind::Transport)
}

/// Whether one of the directions that were seen fits; `a` and `b` say whether the ends do.
fn sides(side: Side, flags: u8, a: bool, b: bool) -> bool {
    let (forward, backward) = (flags & Flow::FORWARD != 0, flags & Flow::BACKWARD != 0);
    match side {
        Side::Either => a || b,
        Side::Both => a && b,
        Side::Source => (a && forward) || (b && backward),
        Side::Destination => (b && forward) || (a && backward),
    }
}
