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
//!
//! # How it is made
//!
//! ```text
//!  hash of key --> bucket: one cache line            segment: 32 KiB to 1 MiB of words
//!                  +------+------+- ... -+------+    +-------+------+-----+-------+------+-----+- -
//!                  | head | slot |       | slot |    | about | head | key | value | head | key |
//!                  +------+------+- ... -+------+    +-------+------+-----+-------+------+-----+- -
//!                     |   tag, uses, location ---------------^
//!                     +--> overflow bucket --> ...           large values: blocks of 64 KiB, by their number
//! ```
//!
//! **Items** lie one behind the other in segments, rounded to 8 octets, behind a head of 12 octets and 4 more for each
//! of expiry and flags if they are not 0 (`item.rs`). Each writer fills segments of its own, one for each range of time
//! to live, so that what lies together expires together and is taken back whole. There are no classes of sizes.
//! Values over a 16th of a segment have blocks of their own (`large.rs`), and a head in a segment.
//!
//! **The table** (`table.rs`) has seven slots a bucket and chains of at most eight overflow buckets. It grows by
//! splitting one bucket at a time, whenever there are more than six items to a bucket; a split locks that one bucket.
//! The hash has a key of chance; with a hash that collides all the same, the items of a full chain evict each other.
//!
//! **Eviction** (`reclaim.rs`, `pool.rs`) is S3-FIFO by segment. New items lie in the small queue, a tenth of the
//! memory; when its oldest segment goes, items used since are carried on to the main queue, the others are evicted and
//! remembered for a while (`ghost.rs`): a remembered key that comes again goes to the main queue at once. The oldest
//! segment of the main queue has its used items carried on, each with one use less. So a scan passes through the small
//! queue and leaves the main one alone. Segments whose items are gone, or more than half of them, are reclaimed before
//! anything is evicted. Large values stand in a line of their own; what is older, segment or large value, goes first.
//! Reclaiming is done by whichever writer needs a segment, for one segment at a time.
//!
//! **The limit** (`account.rs`) counts segments, buckets, what is remembered, large values while anybody holds them,
//! drafts, and what is charged from outside. Segments and blocks of large values are whole pages of the system and go
//! back to it at once (`memory.rs`), so that what is not counted is not there for the process either. Not counted: a
//! few KiB for the store and for each writer, and a MiB of blocks that is kept for the next large value.
//!
//! # Who meets whom, and why it is harmless
//!
//! `tests/loom.rs` tries most of it.
//!
//! All shared memory is atomic words, so that there is no undefined behaviour to begin with; what is left are the
//! races that the order of these words allows.
//!
//! * **A reader and a writer of the same key.** A reader takes no lock and writes nothing before its answer is certain.
//!   It loads the bucket's head, follows the slot, copies, and loads the head again behind an acquire fence: if the
//!   version is another one, it begins again; after 200 times it takes the lock, so that it ends. A writer raises the
//!   version (with release) after each change but an entry into an empty slot, and sets a release fence before it
//!   writes into memory that was used before. So who copied a word that was written later sees the raised version.
//! * **A reader and memory that is used anew.** The same: a segment is used anew only after all slots that pointed to
//!   it were taken away, and each of these raised a version. What the reader made of foreign octets is dropped; lengths
//!   among them are checked against the segment's end, and its closure must bear to run on them.
//! * **A reader and a split, or a chain that shrinks.** Slots move, so the head says WRITING meanwhile, and readers
//!   wait: for some dozen stores, or, if the writer was put aside by the system just then, until it runs again. The
//!   number of buckets is raised before the lock is given up; a reader that went to the old bucket sees one or the
//!   other.
//! * **A reader and a value written over in place** (numbers of up to 64 octets): WRITING, as above.
//! * **A reader's mark of use** is a compare-and-exchange of the slot, and may be lost to a writer or to another
//!   reader. It may hit another item, if the one that was read went, and another with the same tag came to lie at the
//!   same location within the last moments: that one counts as used once more.
//! * **Marks, cas numbers and expiries** change with one store of one word, under the bucket's lock: a reader sees the
//!   old word or the new one. Where a change takes more than one word: WRITING, as above.
//! * **Two writers of one key** have one lock. Work that needs other locks, or memory, is done between two tries
//!   (`change.rs`); the closure that decides runs again then, as the old item may be another one.
//! * **A writer and who reclaims** the segment with its old item: whoever has the bucket's lock first. The other one
//!   finds no slot with that location any more.
//! * **Who reclaims looks for slots without a lock** and passes over items that have none: no slot can come to point to
//!   a sealed segment, so "none" stays true; a split or shrinking meanwhile shows in the version.
//! * **A thread with an old map** (`segment.rs`): the map's number is raised before any slot can point to new memory;
//!   a reader compares the number after it has loaded the slot. Memory is given back when no thread has a map with it:
//!   a thread that sleeps without [`Writer::rest`] delays that. Who waits for it takes up the map as it is now, so that
//!   no two wait for each other; then evicts large values, whose memory comes back at once; then, if there are none,
//!   waits for about a tenth of a second, and is refused.
//! * **A flush** raises the epoch; items in segments of an older epoch are gone. A writer whose segment is of an older
//!   epoch opens another one before it stores: what is stored in a call that began after the flush stays. A call at the
//!   same moment may be ordered before the flush, and its item is gone.
//! * **The version has 34 bits**: a reader would be fooled if it slept within a read for exactly a multiple of 2^34
//!   changes of one bucket.
//! * **Counters** are written by one thread each and added up without a moment at which all stand still.
//!
//! A read that is to be sampled (for hot keys) has its place in `read.rs`, where a slot is marked.

mod account;
mod brought;
mod bucket;
mod change;
mod chunks;
mod counts;
mod decision;
mod draft;
mod evicted;
mod found;
mod ghost;
mod hand;
mod item;
mod large;
mod memory;
mod noted;
mod pool;
mod read;
mod reclaim;
mod rules;
mod seen;
mod segment;
mod shared;
mod standing;
mod sweep;
mod sync;
mod table;
mod walk;
mod words;
mod writer;

pub use bucket::LAST_USE_GRAIN_S;
pub use counts::Counts;
pub use decision::{Cas, Changed, Decision, Marks, Put, Touch, Value};
pub use draft::Draft;
pub use evicted::{EVICTED_MAX, Evicted};
pub use large::Hold;
pub use read::{Ahead, READ_AHEAD};
pub use rules::{Hashing, ITEM_HEAD_OCTETS, ITEM_OCTETS_TOP, KEY_OCTETS_MAX, LIMIT_OCTETS_MIN, Refused, Rules};
pub use seen::Seen;
pub use shared::Store;
pub use standing::{RANKS, Standing};
pub use sweep::Swept;
pub use walk::Cursor;
pub use writer::Writer;
