//! A filter as a condition in SQL over the columns of [`crate::schema::CALLS`].
//!
//! Each test is wrapped so that it is true or false, never NULL: then `NOT` means what it means in memory. Patterns and
//! packed columns are left to functions that the backend registers: `like_pattern(pattern, text)`,
//! `has_codec(pattern, codecs)`, `has_host(detail, first, last)`, `has_number(pattern, detail)`.

use super::field::{AddressField, NameField, Presence, RealField, TextField, WholeField, presences};
use super::pattern::Pattern;
use super::test::{Network, Test};
use super::{Filter, Node};
use crate::packed::{EndpointOctets, endpoint_octets};
use core::fmt::Write;
use trunkline_wire::Endpoint;

/// A parameter of a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    /// A whole number.
    Whole(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(String),
    /// Octets.
    Octets(EndpointOctets),
}

/// A condition with `?` for its parameters, in order.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Condition {
    /// The text.
    pub sql: String,
    /// The parameters.
    pub parameters: Vec<Parameter>,
}

/// The condition of a filter.
pub fn condition(filter: &Filter) -> Condition {
    let mut c = Condition::default();
    c.node(filter.node());
    c
}

impl Condition {
    fn node(&mut self, node: &Node) {
        match node {
            Node::And(nodes) => self.joined(nodes, " AND "),
            Node::Or(nodes) => self.joined(nodes, " OR "),
            Node::Not(node) => {
                self.sql.push_str("NOT ");
                self.joined(core::slice::from_ref(&**node), "");
            }
            Node::Test(test) => self.test(test),
        }
    }

    fn joined(&mut self, nodes: &[Node], between: &str) {
        self.sql.push('(');
        for (i, node) in nodes.iter().enumerate() {
            self.sql.push_str(if i > 0 { between } else { "" });
            self.node(node);
        }
        self.sql.push(')');
    }

    // `+calls.key`: without the affinity of its column, which would keep the index of the streams out of it.
    fn test(&mut self, test: &Test) {
        match test {
            Test::Text { field, pattern } => self.text(*field, pattern),
            Test::Named { field, names } => {
                let column = match field {
                    NameField::State => "state",
                    NameField::Hangup => "hangup",
                };
                self.add(&format!("(? >> {column} & 1)"), [Parameter::Whole(i64::from(*names))]);
            }
            Test::Whole { field, all } => {
                self.compare(whole(*field), all.iter().map(|(c, v)| (c.sql(), Parameter::Whole(*v))));
            }
            Test::Real { field, all } => {
                self.compare(real(*field), all.iter().map(|(c, v)| (c.sql(), Parameter::Real(*v))));
            }
            Test::Host { field, network } => self.host(*field, network),
            Test::Ssrc(ssrc) => self.add(
                "EXISTS (SELECT 1 FROM streams WHERE call_key = +calls.key AND ssrc = ?)",
                [Parameter::Whole(i64::from(*ssrc))],
            ),
            Test::Has(names) => self.has(*names),
        }
    }

    fn compare<'a>(&mut self, expression: &str, all: impl Iterator<Item = (&'a str, Parameter)>) {
        self.sql.push('(');
        for (i, (operator, parameter)) in all.enumerate() {
            let and = if i > 0 { " AND " } else { "" };
            self.add(&format!("{and}{expression} {operator} ?"), [parameter]);
        }
        self.sql.push_str(") IS TRUE");
    }

    fn text(&mut self, field: TextField, pattern: &Pattern) {
        match field {
            TextField::Caller => self.like("caller", pattern),
            TextField::Callee => self.like("callee", pattern),
            TextField::CallId => self.like("sip_call_id", pattern),
            TextField::UserAgent => self.word("user_agent", "like_pattern", pattern),
            TextField::Verdict => self.word("verdict_kind", "like_pattern", pattern),
            TextField::Codec => self.word("codecs", "has_codec", pattern),
            TextField::Number => {
                self.sql.push('(');
                self.like("caller", pattern);
                self.sql.push_str(" OR ");
                self.like("callee", pattern);
                self.add(" OR has_number(?, detail))", [Parameter::Text(pattern.text())]);
            }
        }
    }

    fn like(&mut self, column: &str, pattern: &Pattern) {
        self.add(&format!("like_pattern(?, {column})"), [Parameter::Text(pattern.text())]);
    }

    /// Words have few distinct values: the function looks at each of them once.
    fn word(&mut self, column: &str, function: &str, pattern: &Pattern) {
        let sql = format!("({column} IN (SELECT id FROM words WHERE {function}(?, text))) IS TRUE");
        self.add(&sql, [Parameter::Text(pattern.text())]);
    }

    fn host(&mut self, field: AddressField, network: &Network) {
        match field {
            AddressField::Src => self.endpoint("src", network),
            AddressField::Dst => self.endpoint("dst", network),
            AddressField::Ip => {
                self.sql.push('(');
                for column in ["src", "dst"] {
                    self.endpoint(column, network);
                    self.sql.push_str(" OR ");
                }
                self.sql.push_str("EXISTS (SELECT 1 FROM streams s WHERE s.call_key = +calls.key AND (");
                self.endpoint("s.src", network);
                self.sql.push_str(" OR ");
                self.endpoint("s.dst", network);
                self.sql.push_str(")) OR ");
                let (first, last) = ends(network);
                self.add("has_host(detail, ?, ?))", [Parameter::Octets(first), Parameter::Octets(last)]);
            }
        }
    }

    fn endpoint(&mut self, column: &str, network: &Network) {
        let (first, last) = ends(network);
        let length = Parameter::Whole(first.as_slice().len() as i64);
        let sql = format!("(length({column}) = ? AND {column} >= ? AND {column} <= ?)");
        self.add(&sql, [length, Parameter::Octets(first), Parameter::Octets(last)]);
    }

    fn has(&mut self, names: u32) {
        self.sql.push_str("(0");
        for presence in presences(names) {
            let column = match presence {
                Presence::Mos => "mos",
                Presence::Verdict => "verdict_kind",
                Presence::Answer => "answer_ns",
                Presence::End => "end_ns",
                Presence::Ringing => "ringing_ns",
                Presence::Code => "code",
                Presence::Streams => "jitter_max_ms",
                Presence::UserAgent => "user_agent",
                Presence::Codec => "codecs",
            };
            let _ = write!(self.sql, " OR {column} IS NOT NULL");
        }
        self.sql.push(')');
    }

    fn add(&mut self, sql: &str, parameters: impl IntoIterator<Item = Parameter>) {
        self.sql.push_str(sql);
        self.parameters.extend(parameters);
    }
}

/// The lowest and the highest endpoint of a network, as columns keep them: address, then port.
pub fn ends(network: &Network) -> (EndpointOctets, EndpointOctets) {
    let low = Endpoint::new(network.first, network.port.unwrap_or(0));
    let high = Endpoint::new(network.last, network.port.unwrap_or(u16::MAX));
    (endpoint_octets(low), endpoint_octets(high))
}

fn whole(field: WholeField) -> &'static str {
    match field {
        WholeField::Code => "code",
        WholeField::Duration => "(coalesce(end_ns, last_ns) - answer_ns)",
        WholeField::Pdd => "(ringing_ns - start_ns)",
        WholeField::Setup => "(answer_ns - start_ns)",
        WholeField::Start => "start_ns",
    }
}

fn real(field: RealField) -> &'static str {
    match field {
        RealField::Mos => "mos",
        RealField::Lost => "lost_percent",
        RealField::Jitter => "jitter_max_ms",
        RealField::JitterMean => "jitter_mean_ms",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_become_two_valued_conditions() {
        let sql = |text: &str| condition(&Filter::parse(text).unwrap()).sql;
        assert_eq!(sql("mos<3.5"), "(mos < ?) IS TRUE");
        assert_eq!(
            sql("not (caller:a* or code:5xx)"),
            "NOT ((like_pattern(?, caller) OR (code >= ? AND code < ?) IS TRUE))"
        );
    }
}
