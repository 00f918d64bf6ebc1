//! Reads an expression's text.

use super::operators::OPERATORS;
use super::{EXPRESSION_OCTETS_MAX, Expression, OPERATIONS_MAX, Operation};
use crate::number;

/// Octets of a variable's name.
const NAME_OCTETS_MAX: usize = 255;

/// An expression that was not understood: where, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("place {at}: {what}")]
pub struct Misread {
    /// The octet of the expression, from 0 on.
    pub at: usize,
    /// What is wrong there.
    pub what: String,
}

/// Reads an expression; `lookup` gives the number of a variable.
///
/// # Errors
/// [`Misread`] names the place: a word that is neither operator nor variable, a number at the end, something too long.
pub fn parse(text: &str, lookup: impl Fn(&str) -> Option<usize>) -> Result<Expression, Misread> {
    if text.is_empty() || text.len() > EXPRESSION_OCTETS_MAX {
        let what = format!("an expression has 1 to {EXPRESSION_OCTETS_MAX} octets, this one {}", text.len());
        return Err(Misread { at: 0, what });
    }
    let mut operations = Vec::new();
    let mut at = 0;
    // A comma at the very end is nothing.
    let text = text.strip_suffix(',').map_or((text, false), |rest| (rest, true));
    let (words, ends_in_comma) = text;
    for word in words.split(',') {
        let last = at + word.len() == words.len() && !ends_in_comma;
        let misread = |what: String| Misread { at, what };
        operations.push(operation(word, last, &lookup).map_err(misread)?);
        if operations.len() > OPERATIONS_MAX {
            return Err(misread(format!("more than {OPERATIONS_MAX} operations")));
        }
        at += word.len() + 1;
    }
    Ok(Expression { operations })
}

fn operation(word: &str, last: bool, lookup: &impl Fn(&str) -> Option<usize>) -> Result<Operation, String> {
    if let Some(number) = numeral(word) {
        // Field: rrdtool takes a number only before a comma; what it is to draw must be in its language.
        return if last { Err("a number cannot be the end".to_owned()) } else { Ok(Operation::Number(number)) };
    }
    if let Some(operator) = OPERATORS.iter().find(|operator| operator.name == word) {
        return Ok(Operation::Word(operator));
    }
    let previous = word.strip_prefix("PREV(").and_then(|rest| rest.strip_suffix(')'));
    let name = previous.unwrap_or(word);
    let number = is_name(name).then(|| lookup(name)).flatten();
    match (number, previous) {
        (Some(number), None) => Ok(Operation::Variable(number)),
        (Some(number), Some(_)) => Ok(Operation::PreviousOf(number)),
        (None, _) => Err(format!("'{}' is neither an operator nor a variable before it", shown(word))),
    }
}

/// Forty octets of digits, points, signs and `e` at most.
fn numeral(word: &str) -> Option<f64> {
    let of_number = |octet: u8| octet.is_ascii_digit() || b".e+-".contains(&octet);
    (word.len() <= 40 && word.bytes().all(of_number)).then(|| number::parse(word)).flatten()
}

/// What may be a variable's name.
pub(crate) fn is_name(name: &str) -> bool {
    let of_name = |octet: u8| octet.is_ascii_alphanumeric() || octet == b'_' || octet == b'-';
    !name.is_empty() && name.len() <= NAME_OCTETS_MAX && name.bytes().all(of_name)
}

fn shown(word: &str) -> String {
    word.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        let lookup = |name: &str| ["a", "b-1"].iter().position(|known| *known == name);
        let names = |number: usize| ["a", "b-1"][number].to_owned();
        parse(text, lookup).map(|e| e.text(names)).map_err(|e| e.to_string())
    }

    #[test]
    fn expressions_are_read_and_mistakes_have_a_place() {
        assert_eq!(read("a,8,*,b-1,+").as_deref(), Ok("a,8,*,b-1,+"));
        assert_eq!(read("a,PREV(a),-,").as_deref(), Ok("a,PREV(a),-"));
        assert_eq!(read("a,-1.5e3,MAX").as_deref(), Ok("a,-1500,MAX"));
        assert_eq!(read("a,x,+").unwrap_err(), "place 2: 'x' is neither an operator nor a variable before it");
        assert_eq!(read("a,POP,5").unwrap_err(), "place 6: a number cannot be the end");
        for bad in ["", ",", "a,,+", "a b", "PREV()", "PREV(x)", "a;b"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn operators_have_names_and_codes_of_their_own() {
        for (at, operator) in OPERATORS.iter().enumerate() {
            assert!(OPERATORS[..at].iter().all(|o| o.name != operator.name && o.code != operator.code));
        }
    }
}
