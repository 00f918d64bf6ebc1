//! The expression of a computed data source as it lies in a file: up to nineteen operations of four octets, and an end.

use super::operators::{OPERATORS, needs_rows};
use super::{Expression, Operation};

/// Octets of the place that it has.
pub(crate) const COMPACT_OCTETS: usize = 80;
const NODES_MAX: usize = COMPACT_OCTETS / 4;
const NUMBER: u8 = 0;
const VARIABLE: u8 = 1;
const END: u8 = 32;

/// Packs an expression.
///
/// # Errors
/// It is too long, or has what a computed data source cannot have; the text says what.
pub(crate) fn pack(expression: &Expression) -> Result<[u8; COMPACT_OCTETS], String> {
    let count = expression.operations.len();
    if count >= NODES_MAX {
        return Err(format!("a computed data source has at most {} operations, this one {count}", NODES_MAX - 1));
    }
    let mut packed = [0; COMPACT_OCTETS];
    for (node, operation) in packed.chunks_exact_mut(4).zip(&expression.operations) {
        let (code, value) = packed_node(operation)?;
        node[0] = code;
        node[2..].copy_from_slice(&value.to_le_bytes());
    }
    packed[count * 4] = END;
    Ok(packed)
}

fn packed_node(operation: &Operation) -> Result<(u8, i16), String> {
    match operation {
        Operation::Number(number) => {
            let whole = number.floor();
            let fits = (f64::from(i16::MIN)..=f64::from(i16::MAX)).contains(&whole);
            fits.then_some((NUMBER, whole as i16)).ok_or_else(|| format!("{number} is not within -32768 to 32767"))
        }
        Operation::Variable(number) => i16::try_from(*number).map(|n| (VARIABLE, n)).map_err(|e| e.to_string()),
        Operation::PreviousOf(_) => Err("PREV() is not for computed data sources".to_owned()),
        Operation::Word(operator) if needs_rows(operator) => {
            Err(format!("{} is not for computed data sources", operator.name))
        }
        Operation::Word(operator) => Ok((operator.code, 0)),
    }
}

/// Reads what was packed. Variables are data sources before the one with this number.
///
/// # Errors
/// There is no end, an operation that is not known, or a data source that cannot be meant.
pub(crate) fn unpack(packed: &[u8; COMPACT_OCTETS], of_source: usize) -> Result<Expression, String> {
    let mut operations = Vec::new();
    for node in packed.chunks_exact(4) {
        let value = i16::from_le_bytes([node[2], node[3]]);
        operations.push(match node[0] {
            END => return Ok(Expression { operations }),
            NUMBER => Operation::Number(f64::from(value)),
            VARIABLE => {
                let number = usize::try_from(value).ok().filter(|number| *number < of_source);
                Operation::Variable(number.ok_or_else(|| format!("computed from data source {value}"))?)
            }
            code => {
                let known = OPERATORS.iter().find(|o| o.code == code && !needs_rows(o));
                Operation::Word(known.ok_or_else(|| format!("operation {code} is not known"))?)
            }
        });
    }
    Err("the expression has no end".to_owned())
}
