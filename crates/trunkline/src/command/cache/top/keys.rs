//! What a key that is pressed means.

use super::order::Order;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// It is over.
    End,
    /// Servers are sorted by this.
    Sort(Order),
    /// Nothing.
    Other,
}

/// What this octet of the terminal means; 4 is the end of input, 27 begins what an arrow sends and is nothing here.
pub fn meaning(octet: u8) -> Key {
    match octet.to_ascii_lowercase() {
        b'q' | 4 => Key::End,
        b'n' => Key::Sort(Order::Name),
        b'g' => Key::Sort(Order::Gets),
        b'h' => Key::Sort(Order::Hits),
        b's' => Key::Sort(Order::Sets),
        b'e' => Key::Sort(Order::Evictions),
        b'i' => Key::Sort(Order::Items),
        b'm' => Key::Sort(Order::Memory),
        b'c' => Key::Sort(Order::Connections),
        _ => Key::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_either_case() {
        assert_eq!([meaning(b'q'), meaning(b'Q'), meaning(4)], [Key::End; 3]);
        assert_eq!((meaning(b'G'), meaning(b'm')), (Key::Sort(Order::Gets), Key::Sort(Order::Memory)));
        assert_eq!((meaning(27), meaning(b'[')), (Key::Other, Key::Other));
    }
}
