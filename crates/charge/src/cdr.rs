//! Charging data records: what the ledger says of usage, for those who bill, settle and reconcile.
//!
//! ```text
//!   ledger, durable        Fold: one open record a session         Cdr: with what the session's        files, rows
//!  +---------------+      +----------------------------------+    first entry says, read again
//!  | Entry, place  |----->| sums by service; cut by volume,  |-->| PGWRecord (BER), lines (CSV)  |--> job/records
//!  |               |      | time, services, place; ended     |   |                               |
//!  +---------------+      +----------------------------------+   +-------------------------------+
//! ```
//!
//! Records are a fold of the ledger's entries and of nothing else: the same entries with the same [`Cuts`] give the
//! same records with the same numbers, whenever and however often they are read. So no usage that was acknowledged
//! lacks its record, and what a crash left half-written is made again as it was.
//!
//! - **A session** has one record when it ends; [`Cuts`] make it several, which are numbered. **An event** that was
//!   debited or refunded has one; one that asked for a price or a balance has none.
//! - **Usage without a price** stands in its session's record, marked as unrated; usage of no session has a record of
//!   its own, by which nobody pays.
//! - A cut falls on an entry of the session: one of which nothing comes is not cut until something does.
//!
//! A session that is open takes some 60 octets ([`fold`]); where it began is kept by its place in the ledger alone.

pub mod facts;
pub mod fold;
pub mod packets;
pub mod record;
pub mod table;

pub use fold::{Cuts, Ended, Fold, NoFold, Source, Usage};
pub use packets::Node;
pub use record::{Cdr, Kind, Opening};
