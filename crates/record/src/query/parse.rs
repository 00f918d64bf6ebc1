//! From the text of an expression to its tree.
//!
//! As in libpcap, `and` and `or` bind alike, from left to right, `not` binds tighter, and an address or port without a
//! word before it means what the one before it meant: `port 80 or 443`.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr};
use core::ops::Range;

use super::lexer::{Placed, Token, tokens};
use super::primitive::{Depth, Expression, Leaf, Network, Primitive, Side};
use super::words::{
    Named, address_of, is_left_to_libpcap, is_mistyped, named, number_of, of_number, port_of, port_of_name, unknown,
};
use super::{NESTING_MAX, PRIMITIVES_MAX, Query, TEXT_OCTETS_MAX};

/// What is wrong with an expression, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// The expression.
    pub text: String,
    /// Where it is wrong, octets from the beginning.
    pub place: Range<usize>,
    /// What is wrong, and what may stand there.
    pub what: String,
}

impl fmt::Display for QueryError {
    /// The mistake, then the expression with the place marked below it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = self.text.get(..self.place.start).map_or(0, |t| t.chars().count());
        let marked = self.text.get(self.place.clone()).map_or(1, |t| t.chars().count().max(1));
        writeln!(f, "{}", self.what)?;
        writeln!(f, "  {}", self.text)?;
        write!(f, "  {}{}", " ".repeat(before), "^".repeat(marked))
    }
}

impl std::error::Error for QueryError {}

/// Reads an expression; an empty one is every packet.
///
/// # Errors
/// It is not understood, or too long or too deep; the error says where.
pub fn parse(text: &str) -> Result<Query, QueryError> {
    let mut parser = Parser {
        text,
        tokens: tokens(text.get(..TEXT_OCTETS_MAX).unwrap_or(text)),
        at: 0,
        depth: Depth::default(),
        before: Before::Nothing,
        inner: false,
        nesting: 0,
        primitives: 0,
        query: Query { text: text.to_owned(), ..Query::all() },
    };
    if text.len() > TEXT_OCTETS_MAX {
        return Err(parser.wrong(0..1, format!("the expression is longer than {TEXT_OCTETS_MAX} octets")));
    }
    if parser.token() != Token::End {
        parser.query.expression = Some(parser.expression()?);
    }
    match parser.token() {
        Token::End if parser.query.inner && parser.query.opaque => parser.check_mixture(),
        Token::End => Ok(parser.query),
        Token::Close => Err(parser.here("this parenthesis was never opened")),
        Token::Word(word) if is_mistyped(word) => Err(parser.here(&unknown(word))),
        _ => Err(parser.here("expected 'and', 'or' or the end")),
    }
}

/// What an address or port without a word before it means.
#[derive(Clone, Copy, Debug)]
enum Before {
    /// Nothing was said, or something that takes no address or port.
    Nothing,
    Said(Qualifiers),
    /// Words of libpcap.
    Opaque,
}

#[derive(Clone, Copy, Debug, Default)]
struct Qualifiers {
    protocol: Option<Named>,
    side: Option<Side>,
    kind: Option<What>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Host,
    Net,
    Port,
    PortRange,
    Proto,
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Placed<'a>>,
    at: usize,
    depth: Depth,
    before: Before,
    inner: bool,
    nesting: usize,
    primitives: usize,
    query: Query,
}

type Parsed = Result<Expression, QueryError>;

impl<'a> Parser<'a> {
    fn expression(&mut self) -> Parsed {
        let mut left = self.term()?;
        loop {
            let and = match self.token() {
                Token::And => true,
                Token::Or => false,
                _ => return Ok(left),
            };
            self.at += 1;
            let right = self.term()?;
            let (left_box, right) = (Box::new(left), Box::new(right));
            left = if and { Expression::And(left_box, right) } else { Expression::Or(left_box, right) };
        }
    }

    fn term(&mut self) -> Parsed {
        self.nesting += 1;
        if self.nesting > NESTING_MAX {
            return Err(self.here(&format!("more than {NESTING_MAX} parentheses or negations inside each other")));
        }
        let term = match self.token() {
            Token::Not => {
                self.at += 1;
                self.term().map(|e| Expression::Not(Box::new(e)))
            }
            Token::Open if self.begins_arithmetic() => self.opaque(self.at),
            Token::Open => self.parenthesised(),
            Token::Word("inner") => self.inner(),
            Token::Word(word) => self.primitive(word),
            Token::Sign(_) => self.opaque(self.at),
            Token::End => Err(self.here("the expression ends where a primitive is expected, such as 'host 192.0.2.1'")),
            _ => Err(self.here("expected a primitive, such as 'host 192.0.2.1' or 'udp port 5060'")),
        };
        self.nesting -= 1;
        term
    }

    fn parenthesised(&mut self) -> Parsed {
        self.at += 1;
        let inside = self.expression()?;
        if self.token() != Token::Close {
            return Err(self.here("expected 'and', 'or' or ')'"));
        }
        self.at += 1;
        Ok(inside)
    }

    /// Whether a parenthesis belongs to arithmetic: its matching one is followed by a sign, as in `(len - 5) > 100`.
    fn begins_arithmetic(&self) -> bool {
        let mut open = 0usize;
        for placed in &self.tokens[self.at..] {
            match placed.token {
                Token::Open => open += 1,
                Token::Close if open == 1 => {
                    let next = self.tokens.iter().find(|t| t.place.start >= placed.place.end);
                    return matches!(next.map(|t| t.token), Some(Token::Sign(_)));
                }
                Token::Close => open -= 1,
                _ => {}
            }
        }
        false
    }

    fn inner(&mut self) -> Parsed {
        if self.inner {
            return Err(self.here("'inner' once is enough"));
        }
        self.at += 1;
        (self.inner, self.query.inner) = (true, true);
        let (depth, before) = (core::mem::take(&mut self.depth), self.before);
        let found = self.term();
        (self.inner, self.depth, self.before) = (false, depth, before);
        found
    }

    fn primitive(&mut self, word: &'a str) -> Parsed {
        let start = self.at;
        if self.is_arithmetic() {
            return self.opaque(start);
        }
        match word {
            "vlan" => return self.vlan(),
            "mpls" => return self.mpls(),
            _ => {}
        }
        let mut said = Qualifiers { protocol: named(word), ..Qualifiers::default() };
        if said.protocol.is_some() {
            self.at += 1;
        }
        if is_left_to_libpcap(self.word().unwrap_or_default()) {
            return self.opaque(start);
        }
        said.side = self.side()?;
        said.kind = self.what();
        if said.kind.is_none() && said.side.is_none() {
            return match said.protocol {
                Some(protocol) => self.protocol_alone(start, protocol),
                None => self.bare(start, word),
            };
        }
        self.before = Before::Said(said);
        self.value_or_list(start, said)
    }

    /// A protocol's name alone.
    fn protocol_alone(&mut self, start: usize, protocol: Named) -> Parsed {
        self.before = Before::Nothing;
        self.leaf(
            start,
            match protocol {
                Named::Network(network) => Primitive::Network(network),
                Named::Protocol(number, network) => Primitive::Protocol(number, network),
            },
        )
    }

    /// A value without a word before it, or a word that nobody knows.
    fn bare(&mut self, start: usize, word: &str) -> Parsed {
        let is_value = word.starts_with(|c: char| c.is_ascii_digit()) || word.contains(':');
        match self.before {
            Before::Opaque => self.opaque(start),
            Before::Said(said) if is_value && word.contains('/') && said.kind.unwrap_or(What::Host) == What::Host => {
                self.value(start, Qualifiers { kind: Some(What::Net), ..said })
            }
            Before::Said(said) if is_value || (said.kind == Some(What::Port) && port_of_name(word).is_some()) => {
                self.value(start, said)
            }
            _ if is_value && (word.contains('.') || word.contains(':')) => {
                let kind = if word.contains('/') { What::Net } else { What::Host };
                let said = Qualifiers { kind: Some(kind), ..Qualifiers::default() };
                self.before = Before::Said(said);
                self.value(start, said)
            }
            _ if is_value => Err(self.here("what is this number? Write 'port', 'net' or 'proto' before it")),
            _ => Err(self.here(&unknown(word))),
        }
    }

    /// One value, or several in parentheses.
    fn value_or_list(&mut self, start: usize, said: Qualifiers) -> Parsed {
        if self.token() == Token::Open {
            return self.parenthesised();
        }
        self.value(start, said)
    }

    fn value(&mut self, start: usize, said: Qualifiers) -> Parsed {
        let primitive = match said.kind.unwrap_or(What::Host) {
            What::Host => self.address(said, false)?,
            What::Net => self.address(said, true)?,
            What::Port => self.ports(said, false)?,
            What::PortRange => self.ports(said, true)?,
            What::Proto => self.proto(said)?,
        };
        self.leaf(start, primitive)
    }

    fn leaf(&mut self, start: usize, primitive: Primitive) -> Parsed {
        self.primitives += 1;
        if self.primitives > PRIMITIVES_MAX {
            return Err(self.here(&format!("more than {PRIMITIVES_MAX} primitives")));
        }
        let place = self.span(start);
        let outermost_alone = match &primitive {
            Primitive::Vlan(_) | Primitive::Mpls(_) | Primitive::Opaque => true,
            Primitive::Network(network) => matches!(network, Network::Arp | Network::Rarp),
            Primitive::Address { network, .. } => matches!(network, Some(Network::Arp | Network::Rarp)),
            _ => false,
        };
        if self.inner && outermost_alone {
            let what = "'inner' goes with ip, ip6, tcp, udp, sctp, proto, host, net, port and portrange";
            return Err(self.wrong(place, what.to_owned()));
        }
        Ok(Expression::Leaf(Leaf { primitive, inner: self.inner, depth: self.depth, place }))
    }

    fn vlan(&mut self) -> Parsed {
        let start = self.at;
        if self.depth.labels > 0 {
            return Err(self.here("behind 'mpls' there is no VLAN tag to look for"));
        }
        self.at += 1;
        let id = self.number_after(4095, "VLAN identifier")?;
        let leaf = self.leaf(start, Primitive::Vlan(id.map(|n| n as u16)));
        self.depth.tags = self.depth.tags.saturating_add(1);
        self.before = Before::Nothing;
        leaf
    }

    fn mpls(&mut self) -> Parsed {
        let start = self.at;
        self.at += 1;
        let label = self.number_after((1 << 20) - 1, "label")?;
        let leaf = self.leaf(start, Primitive::Mpls(label));
        self.depth.labels = self.depth.labels.saturating_add(1);
        self.before = Before::Nothing;
        leaf
    }

    /// The number that may follow `vlan` and `mpls`.
    fn number_after(&mut self, most: u32, name: &str) -> Result<Option<u32>, QueryError> {
        let Some(number) = self.word().filter(|w| w.starts_with(|c: char| c.is_ascii_digit())) else { return Ok(None) };
        match number_of(number).filter(|n| *n <= most) {
            Some(n) => {
                self.at += 1;
                Ok(Some(n))
            }
            None => Err(self.here(&format!("a {name} is a number up to {most}"))),
        }
    }

    fn side(&mut self) -> Result<Option<Side>, QueryError> {
        let first = match self.word() {
            Some("src") => Side::Source,
            Some("dst") => Side::Destination,
            _ => return Ok(None),
        };
        self.at += 1;
        let second = match self.tokens.get(self.at + 1).map(|t| t.token) {
            Some(Token::Word("src")) => Side::Source,
            Some(Token::Word("dst")) => Side::Destination,
            _ => return Ok(Some(first)),
        };
        let side = match self.token() {
            // `src host a or dst host b` has its value between: here there is none.
            Token::Or if second != first => Side::Either,
            Token::And if second != first => Side::Both,
            Token::Or | Token::And => return Err(self.here("expected 'src or dst' or 'src and dst'")),
            _ => return Ok(Some(first)),
        };
        self.at += 2;
        Ok(Some(side))
    }

    fn what(&mut self) -> Option<What> {
        let what = match self.word()? {
            "host" => What::Host,
            "net" => What::Net,
            "port" => What::Port,
            "portrange" => What::PortRange,
            "proto" => What::Proto,
            _ => return None,
        };
        self.at += 1;
        Some(what)
    }

    fn address(&mut self, said: Qualifiers, net: bool) -> Result<Primitive, QueryError> {
        let expected = if net { "a network, such as 192.0.2.0/24 or 2001:db8::/32" } else { "an address" };
        let Some(word) = self.word() else { return Err(self.here(&format!("expected {expected}"))) };
        let (text, prefix) = match word.split_once('/') {
            Some(_) if !net => return Err(self.here("a mask goes with 'net', not with 'host'")),
            Some((text, prefix)) => (text, Some(prefix)),
            None => (word, None),
        };
        let parsed = address_of(text, net);
        let Some((address, bits)) = parsed else {
            return Err(self.here(&format!("'{text}' is not {expected}; names are not looked up")));
        };
        let v6 = address.is_ipv6();
        let network = self.network_of(said, v6)?;
        let width = if v6 { 128 } else { 32 };
        let mut bits = bits;
        if let Some(prefix) = prefix {
            let given = prefix.parse::<u8>().ok().filter(|p| *p <= width);
            bits = given.ok_or_else(|| self.here(&format!("the mask's length is a number up to {width}")))?;
        }
        self.at += 1;
        if net && prefix.is_none() && !v6 && self.word() == Some("mask") {
            self.at += 1;
            bits = self.mask()?;
        }
        let number = match address {
            IpAddr::V4(a) => u128::from(u32::from(a)),
            IpAddr::V6(a) => u128::from(a),
        };
        let host = if u32::from(bits) >= u32::from(width) { 0 } else { u128::MAX >> (128 - (width - bits)) };
        if number & host != 0 {
            self.at -= 1;
            return Err(self.here("bits are set behind the mask"));
        }
        let (first, last) = (of_number(number, v6), of_number(number | host, v6));
        Ok(Primitive::Address { first, last, v6, network, side: said.side.unwrap_or_default() })
    }

    /// `mask 255.255.0.0`: how many bits; masks with holes are libpcap's alone.
    fn mask(&mut self) -> Result<u8, QueryError> {
        let mask = self.word().and_then(|w| w.parse::<Ipv4Addr>().ok()).map(u32::from);
        match mask.filter(|m| m.leading_ones() + m.trailing_zeros() >= 32) {
            Some(mask) => {
                self.at += 1;
                Ok(mask.leading_ones() as u8)
            }
            None => Err(self.here("expected a mask such as 255.255.0.0")),
        }
    }

    /// The network protocol that an address is looked for in.
    fn network_of(&self, said: Qualifiers, v6: bool) -> Result<Option<Network>, QueryError> {
        match said.protocol {
            None => Ok(None),
            Some(Named::Network(Network::Ip6)) if !v6 => Err(self.here("'ip6' goes with IPv6 addresses")),
            Some(Named::Network(network)) if v6 && network != Network::Ip6 => {
                Err(self.here("an IPv6 address goes with 'ip6' or with nothing"))
            }
            Some(Named::Network(network)) => Ok(Some(network)),
            Some(Named::Protocol(..)) => {
                Err(self.here("a transport goes with 'port'; write 'udp and host ...' for both"))
            }
        }
    }

    fn ports(&mut self, said: Qualifiers, range: bool) -> Result<Primitive, QueryError> {
        let protocol = match said.protocol {
            None => None,
            Some(Named::Protocol(number @ (6 | 17 | 132), _)) => Some(number),
            Some(_) => return Err(self.here("ports are those of tcp, udp and sctp")),
        };
        let expected = if range { "two ports, such as 10000-20000" } else { "a port, 0 to 65535" };
        let Some(word) = self.word() else { return Err(self.here(&format!("expected {expected}"))) };
        let (first, last) = match word.split_once('-').filter(|_| range) {
            Some((first, last)) => (port_of(first), port_of(last)),
            None => (port_of(word), port_of(word)),
        };
        let (Some(first), Some(last)) = (first, last) else {
            return Err(self.here(&format!("'{word}' is not {expected}")));
        };
        self.at += 1;
        let side = said.side.unwrap_or_default();
        Ok(Primitive::Port { first: first.min(last), last: first.max(last), protocol, side })
    }

    fn proto(&mut self, said: Qualifiers) -> Result<Primitive, QueryError> {
        let network = match said.protocol {
            None => None,
            Some(Named::Network(network @ (Network::Ip | Network::Ip6))) => Some(network),
            Some(_) => return Err(self.here("'proto' goes with ip, ip6 or nothing")),
        };
        if said.side.is_some() {
            return Err(self.here("a protocol has no source and no destination"));
        }
        let Some(word) = self.word() else { return Err(self.here("expected a protocol's number or name")) };
        let number = match named(word.trim_start_matches('\\')) {
            Some(Named::Protocol(number, _)) => Some(number),
            _ => number_of(word).and_then(|n| u8::try_from(n).ok()),
        };
        let Some(number) = number else { return Err(self.here("a protocol is a number up to 255, or a name")) };
        self.at += 1;
        Ok(Primitive::Protocol(number, network))
    }

    /// Whether the primitive that begins here computes: a sign stands in it before the next `and` or `or`.
    fn is_arithmetic(&self) -> bool {
        let rest = self.tokens[self.at..].iter().map(|t| t.token);
        rest.take_while(|t| !matches!(t, Token::And | Token::Or | Token::Close | Token::Open | Token::End))
            .any(|t| matches!(t, Token::Sign(_)))
    }

    /// Passes what is left to libpcap: up to the next `and`, `or` or the end of the parenthesis.
    fn opaque(&mut self, start: usize) -> Parsed {
        self.at = start;
        let mut open = 0usize;
        loop {
            match self.token() {
                Token::Open => open += 1,
                Token::Close if open > 0 => open -= 1,
                Token::End | Token::Close => break,
                Token::And | Token::Or if open == 0 => break,
                _ => {}
            }
            self.at += 1;
        }
        (self.query.opaque, self.before) = (true, Before::Opaque);
        let words = self.tokens[start..self.at].iter();
        self.query.shifted |= words.clone().any(|t| matches!(t.token, Token::Word("geneve" | "vxlan" | "gtp" | "gre")));
        self.leaf(start, Primitive::Opaque)
    }

    /// `inner` beside what is left to libpcap: each such primitive is then compiled alone, which must mean the same.
    fn check_mixture(self) -> Result<Query, QueryError> {
        let (mut wrong, query) = (None, self.query);
        if let Some(expression) = &query.expression {
            leaves(expression, &mut |leaf| {
                let alone = leaf.depth == Depth::default() && !query.shifted;
                if leaf.primitive == Primitive::Opaque && !alone {
                    wrong.get_or_insert(leaf.place.clone());
                }
            });
        }
        match wrong {
            None => Ok(query),
            Some(place) => {
                let what =
                    "this cannot stand behind 'vlan', 'mpls' or 'geneve' in an expression with 'inner'".to_owned();
                Err(QueryError { text: query.text, place, what })
            }
        }
    }

    fn token(&self) -> Token<'a> {
        self.tokens.get(self.at).map_or(Token::End, |t| t.token)
    }

    fn word(&self) -> Option<&'a str> {
        if let Token::Word(word) = self.token() { Some(word) } else { None }
    }

    /// From a token to the one before this one.
    fn span(&self, start: usize) -> Range<usize> {
        let from = self.tokens.get(start).map_or(0, |t| t.place.start);
        let to = self.tokens.get(self.at.saturating_sub(1)).map_or(from, |t| t.place.end);
        from..to.max(from)
    }

    fn here(&self, what: &str) -> QueryError {
        let end = self.text.len();
        self.wrong(self.tokens.get(self.at).map_or(end..end, |t| t.place.clone()), what.to_owned())
    }

    fn wrong(&self, place: Range<usize>, what: String) -> QueryError {
        QueryError { text: self.text.to_owned(), place, what }
    }
}

/// Hands out the primitives of an expression, from left to right.
pub(super) fn leaves<'e>(expression: &'e Expression, each: &mut impl FnMut(&'e Leaf)) {
    match expression {
        Expression::And(a, b) | Expression::Or(a, b) => {
            leaves(a, each);
            leaves(b, each);
        }
        Expression::Not(a) => leaves(a, each),
        Expression::Leaf(leaf) => each(leaf),
    }
}

#[cfg(test)]
mod tests;
