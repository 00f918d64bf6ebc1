//! Orders that bear a key are done once, however often they come: who ordered and heard nothing orders again.

use super::Core;
use super::operate::Refused;
use crate::account::{Effect, Entry};
use crate::calendar::Moment;

/// Octets of a key.
pub const ORDER_KEY_OCTETS_MAX: usize = 64;
/// Seconds for which a key is remembered.
pub const ORDER_KEPT_S: i64 = 86_400;

/// The key of an order, and what is ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderKey {
    key: Box<str>,
    what: u64,
}

/// What came of an order with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Once {
    /// It is done.
    Done(Entry),
    /// It was done before, in that entry.
    Before(u64),
}

impl OrderKey {
    /// A key, and what is ordered in words that are the same when it is ordered again (FNV-1a, 64 bits).
    ///
    /// # Errors
    /// It is empty or longer than [`ORDER_KEY_OCTETS_MAX`].
    pub fn new(key: &str, what: &str) -> Result<OrderKey, Refused> {
        if key.is_empty() || key.len() > ORDER_KEY_OCTETS_MAX {
            return Err(Refused::BadKey);
        }
        let fold = |hash: u64, octet: u8| (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3);
        Ok(OrderKey { key: key.into(), what: what.bytes().fold(0xcbf2_9ce4_8422_2325, fold) })
    }
}

impl Core {
    /// Does what is ordered unless it was done before by that key; its entry remembers the key, in the ledger, for
    /// [`ORDER_KEPT_S`].
    ///
    /// # Errors
    /// The key was another order's, too many keys are remembered ([`ORDERS_MAX`](super::ORDERS_MAX)), or what is
    /// ordered is refused.
    pub fn once(
        &mut self,
        order: OrderKey,
        now: Moment,
        does: impl FnOnce(&mut Core) -> Result<Entry, Refused>,
    ) -> Result<Once, Refused> {
        let now = now.max(self.state.latest());
        match self.state.ordered(&order.key, now) {
            Some((what, before)) if what == order.what => return Ok(Once::Before(before)),
            Some(_) => return Err(Refused::KeyTaken),
            None if !self.state.has_room_for_orders(now) => return Err(Refused::TooManyKeys),
            None => {}
        }
        let until = now.saturating_add(ORDER_KEPT_S);
        self.besides = Some(Effect::Ordered { key: order.key, what: order.what, until });
        let done = does(self).map(Once::Done);
        self.besides = None;
        done
    }
}
