//! What may be asked by those who see masked numbers: whole numbers, not parts of them.
//!
//! A filter is a question, and its answer tells: with `caller:*4*` and the like a number comes out digit by digit. Only
//! whole values may be asked for of what is masked, and of whole numbers few ([`super::super::masked_probe`]).

use crate::auth::refusal::Refusal;
use trunkline_store::filter::{Field, Filter, Node, Pattern, Test, TextField};

/// Whether a masked viewer may ask this; the numbers that are asked for, for [`crate::auth::Desk::may_ask_for`].
///
/// # Errors
/// [`Refusal::Forbidden`], saying which field and how to ask.
pub fn check_filter(filter: &Filter) -> Result<Vec<String>, Refusal> {
    let mut numbers = vec![];
    walk(filter.node(), &mut |test| {
        let Test::Text { field, pattern } = test else { return Ok(()) };
        if !is_number(*field) {
            return check_text(*field, pattern);
        }
        let whole = pattern.as_exact().ok_or_else(|| whole_only(*field))?;
        numbers.push(whole.to_owned());
        Ok(())
    })?;
    Ok(numbers)
}

/// Whether a masked viewer may search registrations or events by this: by addresses and networks alone, because every
/// other term is looked for at the beginning of numbers and names.
///
/// # Errors
/// [`Refusal::Forbidden`].
pub fn check_search(text: &str) -> Result<(), Refusal> {
    let address = |term: &str| {
        crate::auth::networks::parse_network(term).is_some() || term.parse::<std::net::SocketAddr>().is_ok()
    };
    if text.split_whitespace().all(address) {
        return Ok(());
    }
    let text = "numbers are masked for you: search by address or network (10.1.2.3, 10.1.0.0/16)";
    Err(Refusal::Forbidden(text.to_owned()))
}

/// Whether the text of a filter names numbers or Call-IDs, or cannot be read.
pub fn names_numbers(text: &str) -> bool {
    let Ok(filter) = Filter::parse(text) else { return true };
    walk(filter.node(), &mut |test| match test {
        Test::Text { field, .. } if is_number(*field) || *field == TextField::CallId => Err(()),
        _ => Ok(()),
    })
    .is_err()
}

fn is_number(field: TextField) -> bool {
    match field {
        TextField::Caller | TextField::Callee | TextField::Number => true,
        TextField::CallId | TextField::UserAgent | TextField::Verdict | TextField::Codec => false,
    }
}

/// Call-ID and User-Agent may hold numbers, which are masked in what is shown.
fn check_text(field: TextField, pattern: &Pattern) -> Result<(), Refusal> {
    let digits = pattern.text().contains(char::is_numeric);
    match field {
        TextField::CallId if pattern.as_exact().is_none() => Err(whole_only(field)),
        TextField::UserAgent if pattern.as_exact().is_none() && digits => Err(Refusal::Forbidden(
            "numbers are masked for you: with * only letters can be asked of ua, as ua:*Asterisk*".to_owned(),
        )),
        TextField::CallId | TextField::UserAgent | TextField::Verdict | TextField::Codec => Ok(()),
        TextField::Caller | TextField::Callee | TextField::Number => Ok(()),
    }
}

fn whole_only(field: TextField) -> Refusal {
    let name =
        trunkline_store::filter::fields().iter().find(|f| f.field == Field::Text(field)).map_or("number", |f| f.name);
    Refusal::Forbidden(format!("numbers are masked for you: {name} can be asked for as a whole, without *"))
}

fn walk<E>(node: &Node, each: &mut impl FnMut(&Test) -> Result<(), E>) -> Result<(), E> {
    match node {
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().try_for_each(|n| walk(n, each)),
        Node::Not(node) => walk(node, each),
        Node::Test(test) => each(test),
    }
}
