//! Accounts and their ledger.
//!
//! Every change is an [`Entry`] of an append-only ledger, and the [`State`](crate::session::State) is the fold of all
//! entries. An account's balance is the sum of its money entries at all times, and what is left of a bundle the sum of
//! its unit entries: [`audit`] adds them up again, by itself. Reservations are no debits: they say what others may not
//! spend meanwhile. Several subscribers may share an account, and a subscriber has several identities.

mod audit;
mod book;
mod codec;
mod entry;
mod no_entry;
mod recording;
mod refunds;

pub use audit::{Difference, Sums, audit};
pub use book::{Account, Bucket, Counter, Payees};
pub use codec::{Broken, FORMAT_VERSION, Octets};
pub(crate) use codec::{fields, variants, words};
pub use entry::{
    Cause, Charge, Effect, Entry, Grant, Identity, IdentityKind, Kept, MoneyReason, Place, Refund, SLOTS_MAX,
    ServiceKey, UnitsReason, slots_by,
};
pub use no_entry::NoEntry;
pub use recording::{GoesOn, Recording};
