//! A large value on its way: told by pieces, held in the store meanwhile.

use super::connection::State;
use super::get::Keys;
use super::{Call, Go};
use crate::store::{Hold, Refused, Seen};

/// Octets of a value up to which it is copied at once; a longer one is held and told by pieces.
pub const COPIED_OCTETS_MAX: u64 = 32 << 10;

/// What is told, and how far it is.
#[derive(Debug)]
pub(super) struct Outgoing {
    hold: Hold,
    at: u64,
    /// What follows the value.
    tail: &'static [u8],
    /// The get that it is part of.
    keys: Option<Keys>,
}

/// How a value was told.
pub(super) enum Told {
    /// It is in the output.
    Whole,
    /// Its octets are still to be told.
    Held(Hold),
}

/// Tells a value, or takes hold of it.
#[inline]
pub(super) fn tell(seen: &Seen<'_>, tail: &'static [u8], out: &mut Vec<u8>) -> Result<Told, Refused> {
    if seen.value_octets() > COPIED_OCTETS_MAX {
        return seen.hold().map(Told::Held);
    }
    seen.copy(out);
    out.extend_from_slice(tail);
    Ok(Told::Whole)
}

impl Outgoing {
    pub(super) fn state(hold: Hold, tail: &'static [u8], keys: Option<Keys>) -> State {
        State::Outgoing(Box::new(Outgoing { hold, at: 0, tail, keys }))
    }

    /// Tells as much as there is room for.
    pub(super) fn go_on(&mut self, call: &mut Call<'_>) -> (Go, Option<State>) {
        while !call.is_full() {
            let piece = self.hold.piece(self.at);
            if piece.is_empty() {
                call.out.extend_from_slice(self.tail);
                return (Go::On(0), Some(self.keys.map_or(State::Ready, State::Keys)));
            }
            let fits = piece.len().min(call.room());
            call.out.extend_from_slice(&piece[..fits]);
            self.at += fits as u64;
        }
        (Go::Full(0), None)
    }
}
