//! Expressions in reverse Polish notation, as `CDEF:` of graphs and `COMPUTE` of data sources have them.
//!
//! Source: `rrdgraph_rpn(1)`; where the text is silent, the numbers of rrdtool 1.7.

mod calendar;
mod compact;
mod evaluate;
mod operators;
mod parse;
mod stack;
mod window;

pub use calendar::{Calendar, Utc, Zone};
pub(crate) use compact::{COMPACT_OCTETS, pack, unpack};
pub use evaluate::{Machine, Row, Variable};
pub(crate) use parse::is_name;
pub use parse::{Misread, parse};
pub(crate) use stack::order;

use operators::Operator;

/// Octets of an expression.
pub const EXPRESSION_OCTETS_MAX: usize = 64 * 1024;
/// Operations of an expression.
// Limit: operations of one expression
// Beyond: the expression is refused
// Seen in: the error message
pub const OPERATIONS_MAX: usize = 4096;
/// Values on the stack; one more is an error.
pub const STACK_MAX: usize = 4096;

/// An expression that was understood. Variables are numbers that who parsed it gave them.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    pub(crate) operations: Vec<Operation>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operation {
    Number(f64),
    Variable(usize),
    /// `PREV(name)`.
    PreviousOf(usize),
    Word(&'static Operator),
}

impl Expression {
    /// The variables that it uses, each as often as it does.
    pub fn variables(&self) -> impl Iterator<Item = usize> {
        self.operations.iter().filter_map(|operation| match operation {
            Operation::Variable(number) | Operation::PreviousOf(number) => Some(*number),
            _ => None,
        })
    }

    /// Puts numbers in the place of variables that have one value for all rows.
    pub fn substitute(&mut self, value: impl Fn(usize) -> Option<f64>) {
        for operation in &mut self.operations {
            if let Operation::Variable(number) | Operation::PreviousOf(number) = operation
                && let Some(value) = value(*number)
            {
                *operation = Operation::Number(value);
            }
        }
    }

    /// Its text, with the names of its variables.
    #[must_use]
    pub fn text(&self, name: impl Fn(usize) -> String) -> String {
        let word = |operation: &Operation| match operation {
            Operation::Number(number) => number.to_string(),
            Operation::Variable(number) => name(*number),
            Operation::PreviousOf(number) => format!("PREV({})", name(*number)),
            Operation::Word(operator) => operator.name.to_owned(),
        };
        self.operations.iter().map(word).collect::<Vec<_>>().join(",")
    }
}

/// An expression that cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stuck {
    /// An operator found too few values.
    #[error("too few values on the stack for {0}")]
    Underflow(&'static str),
    /// More than [`STACK_MAX`] values.
    #[error("more than {STACK_MAX} values on the stack")]
    Overflow,
    /// The end was reached with more or less than one value.
    #[error("{0} values are left on the stack, not one")]
    Left(usize),
    /// An operator's argument has no sense.
    #[error("{0}: its argument has no sense")]
    Argument(&'static str),
    /// A trend or a prediction does not follow a variable.
    #[error("{0} must follow a variable")]
    Window(&'static str),
}
