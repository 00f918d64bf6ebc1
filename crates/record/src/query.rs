//! Which packets are wanted: the language of pcap-filter(7), with a word of our own for what is inside tunnels.
//!
//! `host`, `net`, `port`, `portrange`, `proto`, the protocols' names, `src` and `dst`, `vlan`, `mpls`, `and`, `or`,
//! `not` and parentheses are read here, and mean to each packet exactly what libpcap makes of them; `inner` before one
//! of them asks the innermost headers instead of the outermost. Everything else (`udp[8:4]`, `less`, `ether host`) is
//! left to libpcap's compiler. Of all of it a [`Query`] knows which flows of an index may match, and never rules out
//! one that does.

mod lexer;
mod parse;
mod plan;
mod primitive;
mod test;
mod words;

pub use parse::{QueryError, parse};
pub use plan::{May, may_match_flow, may_match_sets};
pub use primitive::{Depth, Expression, Leaf, Network, Primitive, Side};
pub use test::{Compile, Exact, Matcher};

/// Octets of an expression. A longer one is refused.
// Limit: length of a filter of the packet log
// Beyond: the filter is refused
// Seen in: the error message
pub const TEXT_OCTETS_MAX: usize = 64 << 10;
/// Primitives of an expression. More are refused.
// Limit: primitives of a filter of the packet log
// Beyond: the filter is refused
// Seen in: the error message
pub const PRIMITIVES_MAX: usize = 4096;
/// Parentheses and negations that stand inside each other. More are refused.
pub const NESTING_MAX: usize = 100;

/// An expression that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// As it was written.
    pub text: String,
    /// What it says; `None` is every packet.
    pub expression: Option<Expression>,
    /// Whether a primitive asks the innermost headers.
    pub inner: bool,
    /// Whether a primitive is left to libpcap.
    pub opaque: bool,
    /// Whether libpcap looks into a tunnel behind one of its own words (`geneve`): what the plain words say then is not
    /// of the outermost headers.
    pub shifted: bool,
}

impl Query {
    /// Every packet.
    pub fn all() -> Query {
        Query { text: String::new(), expression: None, inner: false, opaque: false, shifted: false }
    }
}
