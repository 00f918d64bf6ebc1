//! The store: items under keys, in memory that has a limit.
//!
//! A [`Store`] is shared; each thread has a [`Writer`] of its own, which reads, too. Nothing here knows the time: `now`
//! is a second of the store's own clock, from 1 on; an expiry of 0 means never.
//!
//! ```
//! use trunkline_cache::store::{Decision, Put, Rules, Store, Touch, Value};
//! let store = Store::new(Rules::default());
//! let mut writer = store.writer();
//! let put = Put { flags: 7, ..Put::default() };
//! writer.change(b"key", Value::Octets(b"value"), 1, |_old, _built| (Decision::Put(put), ())).unwrap();
//! let mut value = Vec::new();
//! let flags = writer.read(b"key", 1, Touch::Yes, |seen| {
//!     value.clear(); // the closure may run again
//!     seen.copy(&mut value);
//!     seen.flags()
//! });
//! assert_eq!((flags, &value[..]), (Some(7), &b"value"[..]));
//! ```

mod account;
mod bucket;
mod change;
mod chunks;
mod counts;
mod decision;
mod draft;
mod ghost;
mod hand;
mod item;
mod large;
mod pool;
mod read;
mod reclaim;
mod rules;
mod seen;
mod segment;
mod shared;
mod sweep;
mod table;
mod walk;
mod words;
mod writer;

pub use bucket::LAST_USE_GRAIN_S;
pub use counts::Counts;
pub use decision::{Cas, Changed, Decision, Marks, Put, Touch, Value};
pub use draft::Draft;
pub use large::Hold;
pub use rules::{Hashing, ITEM_HEAD_OCTETS, ITEM_OCTETS_TOP, KEY_OCTETS_MAX, LIMIT_OCTETS_MIN, Refused, Rules};
pub use seen::Seen;
pub use shared::Store;
pub use sweep::Swept;
pub use walk::Cursor;
pub use writer::Writer;
