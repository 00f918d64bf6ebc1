//! What the fuzz target drives: orders to a core without a disk.

use super::super::book::Book;
use super::{Order, SESSIONS_MAX, begin, carry_out, checked, identity, name_of};
use crate::exercise::{START, again_as_state, charged_core};
use crate::job::retain::Retaining;

/// Lines of orders: no octets do harm; one that is refused changes nothing and is told why; the state after each is
/// read as it is written; what an order tells is bounded by what there is.
pub fn orders(octets: &[u8]) {
    let book = Book::loose(charged_core());
    for line in octets.split(|octet| *octet == b'\n').take(64) {
        let Ok(order) = serde_json::from_slice::<Order>(line) else { continue };
        match &order {
            Order::CheckPlan { text } => drop(checked(text)),
            Order::Retain { before, before_time } => drop(begin(&Retaining::default(), *before, *before_time)),
            Order::Forget { identity: text } => again_as_identity(text),
            Order::Subscriber { identities, .. } => identities.iter().for_each(|text| again_as_identity(text)),
            _ => {}
        }
        let mut desk = book.desk();
        let before = desk.core().state().sequence();
        match carry_out(&mut desk, order, START) {
            Ok((sequence, told)) => {
                assert!(sequence <= desk.core().state().sequence() && told.is_object());
                assert!(told["sessions"].as_array().is_none_or(|sessions| sessions.len() <= SESSIONS_MAX));
            }
            Err(fault) => {
                assert!(!fault.kind.is_empty() && !fault.why.is_empty());
                assert_eq!(desk.core().state().sequence(), before, "{fault:?}");
            }
        }
        again_as_state(desk.core().state());
    }
}

fn again_as_identity(text: &str) {
    if let Ok(read) = identity(text) {
        assert!(!read.text.is_empty());
        assert_eq!(identity(&name_of(&read)).as_ref(), Ok(&read));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_has_a_name() {
        assert_eq!(identity("e164:+4420").map(|read| name_of(&read)), Ok("e164:4420".to_owned()));
        for wrong in ["e164:+", "e164:", "e164", "sip:", "sip:+", "tel:1", ""] {
            assert!(identity(wrong).is_err(), "{wrong}");
        }
    }
}
