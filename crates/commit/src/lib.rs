//! Records on disk before they count: an append-only log with group commit, snapshots and recovery.
//!
//! ```text
//!  thread ---append--+                      a thread of its own
//!  thread ---append--+--> group in memory --> one write, one fdatasync --> durable up to N --> told to who waits
//!                         (bounded)           |
//!                                             v
//!      0000..0001.log | 0000..5120.log | current, written with zeros before | next, being made
//!      \_______________ ____________/
//!                      v
//!        whoever folds: reads the newest snapshot and the closed segments, writes 0000..5119.snapshot;
//!        segments that a snapshot stands for are then removed
//! ```
//!
//! The crate knows records, not what they mean. A record has a number, 1 for the first that was ever appended, and each
//! is the number before it plus 1. What [`Log`] has told to be durable is found by the next [`Log::open`], once and in
//! order, whatever happened to the process or to the power meanwhile; what was appended and not told may be found or
//! not, but never without all that was appended before it.
//!
//! # Why it holds
//!
//! - *A group is one block*: a head with the number of its first record, and a checksum over head and records with a
//!   salt that is the segment's own. A block that was cut off by a crash does not fit its checksum, nor does what an
//!   older block has left behind it; who makes records cannot make a block inside of one, as the salt is not told to
//!   anybody.
//! - *Blocks follow each other without gaps*, the next one begins where the last ended. So the first that does not fit
//!   ends what was written, unless a whole one with a higher number is found behind it, or somebody knows that more was
//!   durable: then the disk has lost something, and whoever reads says what and where ([`Fault::Gone`]) and refuses.
//! - *Those who know* are the log's own mark, a file that says after each fdatasync(2) of a segment up to which record
//!   it is durable; the next segment's head; the snapshots; and cursors of others ([`Witness`]). The mark is written
//!   without a sync of its own: it outlives the process, and after a power failure it says less than it could, never
//!   more. So a last block that was damaged is told apart from one that was cut off by a crash and told to nobody.
//! - *A person decides what is given up*: [`survey`] says what is whole, [`repair`] puts gaps in place of what is gone,
//!   which keep its numbers, and keeps the damaged files.
//! - *Files of one log know each other* ([`LogId`]): a segment, a snapshot or a mark of another one in the same folder
//!   is told, whether or not its numbers fit, and nothing leaves because of it.
//! - *A segment is made of zeros before it is used*, and is on disk with its length, so that fdatasync(2) has no
//!   length and no map of blocks to write. It gets its name when it is used, and the name is on disk before a record
//!   in it is told.
//! - *A write or fdatasync that failed is never tried again*: what the kernel kept of it is not known. The log is
//!   closed from then on; the next start reads what is there. A next segment that cannot be made (no room) only makes
//!   appends wait or fail, and is tried again.
//! - *What a start finds is synced again* before it counts: the kernel may have kept it where only the process ended.
//! - *A snapshot* is written under another name, synced, renamed, and the folder is synced; the two newest are kept,
//!   and all segments from the older one on. Where the records are a history ([`Keep::All`]) all segments are kept, and
//!   snapshots are there for a fast start alone; the history is cut by a snapshot of its own that it then begins with
//!   ([`SnapshotWriter::open_with`]), and what comes back of what was cut is removed again.
//! - *Where others have the same log* ([`cut`]), records at its end that they never had are given up: the segment in
//!   which they begin is written anew and renamed over the old one, those behind it lose their names first.
//! - *What is to be forgotten* ([`redact`]) becomes unreadable in its place: records keep numbers and lengths, each
//!   file is written anew beside the old one, synced, and takes its name.
//!
//! # What is bounded
//!
//! A record ([`RECORD_OCTETS_MAX`]), what waits in memory ([`Options::waiting_octets`]; more is refused),
//! a segment ([`Options::segment_octets`]).
#![forbid(unsafe_code)]

mod block;
mod committer;
mod copy;
mod counts;
mod cut;
mod disk;
mod durable;
#[doc(hidden)]
pub mod exercise;
mod fault;
mod filling;
mod folder;
mod follow;
mod identity;
mod log;
mod mark;
mod name;
mod read;
mod redact;
mod repair;
mod snapshot;
mod walk;

pub use block::RECORD_OCTETS_MAX;
pub use committer::{Committer, Progress, Waiting};
pub use copy::{Copied, copy};
pub use counts::Counts;
pub use cut::cut;
pub use disk::Disk;
pub use fault::{Fault, Gone, Refused, Witness};
pub use folder::Folder;
pub use follow::{Follower, Place, read_again};
pub use identity::LogId;
pub use log::{Found, Group, Log, Options, make};
pub use read::{Sealed, check_mark, read, read_known, read_sealed, sealed, sealed_before};
pub use redact::{Change, Redacted, redact};
pub use repair::{Judge, Judged, Repaired, Show, Survey, repair, survey, survey_judged};
pub use snapshot::{Keep, SNAPSHOTS_KEPT, Snapshot, SnapshotWriter};
