//! A text to a tree of tests: recursive descent over `or`, `and`, `not`, parentheses and `field operator value`.

use super::error::{FilterError, suggestion};
use super::field::{self, Field, FieldHelp};
use super::pattern::Pattern;
use super::test::Compare;
use super::{FILTER_NESTING_MAX, FILTER_OCTETS_MAX, FILTER_TESTS_MAX, Node};
use crate::time::Zone;

mod value;

pub use value::network;

/// Reads a whole filter, with times of that zone.
pub fn parse(text: &str, zone: Zone<'_>) -> Result<Node, FilterError> {
    let mut parser = Parser { text, zone, at: 0, depth: 0, tests: 0 };
    if text.len() > FILTER_OCTETS_MAX {
        return Err(parser.error_here(format!("longer than {FILTER_OCTETS_MAX} octets")));
    }
    let node = parser.or()?;
    parser.skip_blanks();
    match parser.rest().chars().next() {
        None => Ok(node),
        Some(')') => Err(parser.error_here("')' without its '('".into())),
        Some(_) => Err(parser.error_here("expected 'and', 'or' or the end".into())),
    }
}

struct Parser<'a> {
    text: &'a str,
    zone: Zone<'a>,
    /// Octets read so far; always at a character's first octet.
    at: usize,
    depth: usize,
    tests: usize,
}

/// The value of a test as it was written.
struct Written {
    /// As a pattern; in quotes `*` stands for itself.
    pattern: Pattern,
    /// Without quotes and backslashes.
    plain: String,
    from: usize,
    to: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    Is,
    IsNot,
    Compare(Compare),
}

const OPERATORS: [(&str, Operator); 8] = [
    ("!=", Operator::IsNot),
    ("<=", Operator::Compare(Compare::AtMost)),
    (">=", Operator::Compare(Compare::AtLeast)),
    ("==", Operator::Is),
    (":", Operator::Is),
    ("=", Operator::Is),
    ("<", Operator::Compare(Compare::Less)),
    (">", Operator::Compare(Compare::More)),
];

impl<'a> Parser<'a> {
    fn or(&mut self) -> Result<Node, FilterError> {
        let mut nodes = vec![self.and()?];
        while self.keyword(&["or", "||"]) {
            nodes.push(self.and()?);
        }
        Ok(one_or(nodes, Node::Or))
    }

    fn and(&mut self) -> Result<Node, FilterError> {
        let mut nodes = vec![self.not()?];
        loop {
            if !self.keyword(&["and", "&&"]) && !self.begins_test() {
                return Ok(one_or(nodes, Node::And));
            }
            nodes.push(self.not()?);
        }
    }

    /// Whether another test follows without `and` between, as search boxes allow.
    fn begins_test(&mut self) -> bool {
        self.skip_blanks();
        let rest = self.rest();
        let begins = rest.starts_with(|c: char| c == '(' || c == '!' || c.is_ascii_alphabetic());
        begins && !is_keyword(rest, "or")
    }

    fn not(&mut self) -> Result<Node, FilterError> {
        let mut negations = 0;
        while self.keyword(&["not"]) || self.symbol('!') {
            negations += 1;
            self.deeper()?;
        }
        let mut node = self.primary()?;
        for _ in 0..negations {
            self.depth -= 1;
            node = Node::Not(Box::new(node));
        }
        Ok(node)
    }

    fn primary(&mut self) -> Result<Node, FilterError> {
        self.skip_blanks();
        let open = self.at;
        if !self.symbol('(') {
            return self.test();
        }
        self.deeper()?;
        let node = self.or()?;
        self.skip_blanks();
        if !self.symbol(')') {
            return Err(match self.rest().is_empty() {
                true => self.error(open, open + 1, "'(' without its ')'".into()),
                false => self.error_here("expected 'and', 'or' or ')'".into()),
            });
        }
        self.depth -= 1;
        Ok(node)
    }

    fn deeper(&mut self) -> Result<(), FilterError> {
        self.depth += 1;
        if self.depth <= FILTER_NESTING_MAX {
            return Ok(());
        }
        Err(self.error_here(format!("nested deeper than {FILTER_NESTING_MAX}")))
    }

    fn test(&mut self) -> Result<Node, FilterError> {
        let help = self.field()?;
        let operator = self.operator(help)?;
        let written = self.value(help)?;
        self.tests += 1;
        if self.tests > FILTER_TESTS_MAX {
            return Err(self.error_here(format!("more than {FILTER_TESTS_MAX} tests")));
        }
        let test = value::test(help.field, operator, &written, self.zone)
            .map_err(|message| self.error(written.from, written.to, message))?;
        let negate = (operator == Operator::IsNot) != (help.field == Field::Missing);
        let node = Node::Test(test);
        Ok(if negate { Node::Not(Box::new(node)) } else { node })
    }

    fn field(&mut self) -> Result<&'static FieldHelp, FilterError> {
        self.skip_blanks();
        let rest = self.rest();
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
        let from = self.at;
        if name.is_empty() {
            return Err(self.error_here("expected a field, for example caller:+4420*".into()));
        }
        if ["and", "or", "not"].iter().any(|k| name.eq_ignore_ascii_case(k)) {
            let message = format!("expected a field before '{name}', for example caller:+4420*");
            return Err(self.error(from, from + name.len(), message));
        }
        if let Some(help) = field::named(name) {
            self.at += name.len();
            return Ok(help);
        }
        let names = field::fields().iter().map(|f| f.name);
        let followed = rest[name.len()..].trim_start();
        let message = if OPERATORS.iter().any(|(o, _)| followed.starts_with(o)) {
            format!("unknown field '{name}'{}", suggestion(name, names))
        } else {
            format!("'{name}' is not a field; {}", field::meant(name))
        };
        Err(self.error(from, from + name.len(), message))
    }

    fn operator(&mut self, help: &FieldHelp) -> Result<Operator, FilterError> {
        self.skip_blanks();
        let from = self.at;
        let found = OPERATORS.iter().find(|(text, _)| self.rest().starts_with(text));
        let Some((text, operator)) = found else {
            let which = if help.kind.is_ordered() { "':', '!=', '<', '<=', '>' or '>='" } else { "':' or '!='" };
            return Err(self.error_here(format!("expected {which} after '{}'", help.name)));
        };
        self.at += text.len();
        if matches!(operator, Operator::Compare(_)) && !help.kind.is_ordered() {
            let message = format!("'{}' takes ':' or '!=', not '{text}'", help.name);
            return Err(self.error(from, self.at, message));
        }
        Ok(*operator)
    }

    fn value(&mut self, help: &FieldHelp) -> Result<Written, FilterError> {
        self.skip_blanks();
        let from = self.at;
        let (pattern, plain) = if self.rest().starts_with('"') { self.quoted()? } else { self.unquoted() };
        if self.at == from {
            return Err(
                self.error_here(format!("expected a value after '{}', for example {}", help.name, help.examples[0]))
            );
        }
        Ok(Written { pattern: Pattern::parse(&pattern), plain, from, to: self.at })
    }

    /// In quotes all is literal but `\"` and `\\`.
    fn quoted(&mut self) -> Result<(String, String), FilterError> {
        let from = self.at;
        let (mut pattern, mut plain) = (String::new(), String::new());
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((at, c)) = characters.next() {
            let c = match c {
                '"' => {
                    self.at = from + at + 1;
                    return Ok((pattern, plain));
                }
                '\\' => characters.next().map_or('\\', |(_, c)| c),
                c => c,
            };
            plain.push(c);
            if matches!(c, '*' | '\\') {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        Err(self.error(from, from + 1, "'\"' without its end".into()))
    }

    /// Up to a blank or a parenthesis; a backslash takes the next character as it is.
    fn unquoted(&mut self) -> (String, String) {
        let (mut pattern, mut plain) = (String::new(), String::new());
        let from = self.at;
        let mut characters = self.rest().char_indices();
        self.at = self.text.len();
        while let Some((at, c)) = characters.next() {
            if c.is_whitespace() || matches!(c, '(' | ')') {
                self.at = from + at;
                break;
            }
            pattern.push(c);
            if c != '\\' {
                plain.push(c);
            } else if let Some((_, c)) = characters.next() {
                pattern.push(c);
                plain.push(c);
            }
        }
        (pattern, plain)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn symbol(&mut self, symbol: char) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(symbol);
        self.at += if found { symbol.len_utf8() } else { 0 };
        found
    }

    fn keyword(&mut self, words: &[&str]) -> bool {
        self.skip_blanks();
        let Some(word) = words.iter().find(|w| is_keyword(self.rest(), w)) else { return false };
        self.at += word.len();
        true
    }

    fn error_here(&self, message: String) -> FilterError {
        let width = self.rest().find(|c: char| c.is_whitespace() || c == ')').unwrap_or(self.rest().len());
        self.error(self.at, self.at + width, message)
    }

    fn error(&self, from: usize, to: usize, message: String) -> FilterError {
        let characters = |s: Option<&str>| s.map_or(0, |s| s.chars().count());
        FilterError {
            column: characters(self.text.get(..from)) + 1,
            width: characters(self.text.get(from..to)).max(1),
            message,
        }
    }
}

/// Whether `rest` begins with this word, and the word ends there. `and:` is a mistyped field, not the word.
fn is_keyword(rest: &str, word: &str) -> bool {
    let Some((head, behind)) = rest.split_at_checked(word.len()) else { return false };
    let ends = !word.starts_with(char::is_alphabetic)
        || behind.chars().next().is_none_or(|c| c.is_whitespace() || matches!(c, '(' | ')' | '!'));
    head.eq_ignore_ascii_case(word) && ends
}

fn one_or(mut nodes: Vec<Node>, many: impl FnOnce(Vec<Node>) -> Node) -> Node {
    if nodes.len() == 1 { nodes.swap_remove(0) } else { many(nodes) }
}
