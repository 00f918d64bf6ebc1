//! The store as jobs and faces see it; a backend does the work.

use crate::backend::{Backend, sqlite::Sqlite};
use crate::error::{Skipped, StoreError};
use crate::filter::Filter;
use crate::removal::{Chosen, Class, DayHeld, Gone};
use crate::rollup::Minute;
use crate::row::{Call, Charge, Loss, Registration, Rows, SipEvent, Stream, StreamInterval};
use crate::search::{Counts, Search};
use crate::stop::Stop;
use crate::summary::{Summary, SummaryQuery};
use crate::time::Day;
use core::fmt;
use core::str::FromStr;
use std::path::Path;
use std::time::Duration;
use trunkline_kit::Id;

/// Most rows of a page.
// Limit: rows of one page from the store
// Beyond: the page is shorter
// Seen in: a cursor for the next page
pub const PAGE_ROWS_MAX: usize = 10_000;
/// Days that one store makes, unless [`Store::limit_new_days`] says otherwise: eleven years of a program that runs.
// Limit: new days that one program adds to the store
// Beyond: rows of further days are refused
// Seen in: `trunkline_store_refused_rows_total`
pub const DAYS_NEW_MAX: usize = 4096;
/// Days that one capture makes, unless told otherwise: a year, and a month of another.
pub const DAYS_OF_CAPTURE: usize = 400;
/// Most identifiers that [`Found::Many`] lists.
pub const FOUND_MAX: usize = 20;

/// Whether a store is opened to be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only looked at; it need not exist.
    Read,
    /// Written; it is made if it is not there. Readers and the writer never wait for each other.
    Write,
    /// The same for a great deal at once, after which the store is dropped: days that are made new are written once,
    /// not twice. A reader of such a day may wait while a commit is under way, and a commit for readers.
    Load,
}

/// In which order rows come, by their start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Order {
    /// The last first.
    #[default]
    Newest,
    /// The first first.
    Oldest,
}

/// Which rows are wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Only calls that pass it; for other rows it must be none.
    pub filter: Option<Filter>,
    /// Rows that start at or after this time.
    pub from_ns: i64,
    /// Rows that start before this time.
    pub to_ns: i64,
    /// Their order.
    pub order: Order,
    /// At most so many; cut to [`PAGE_ROWS_MAX`].
    pub limit: usize,
    /// Go on behind this row: [`Page::next`] of the page before.
    pub cursor: Option<Cursor>,
    /// When to give up, of calls: the page says so and has a cursor to go on. Other rows are not bound by it.
    pub stop: Stop,
}

impl Default for Query {
    fn default() -> Self {
        let (filter, cursor, stop) = (None, None, Stop::never());
        Query { filter, from_ns: i64::MIN, to_ns: i64::MAX, order: Order::Newest, limit: 100, cursor, stop }
    }
}

/// Where a page ended. Its text is for other programs to hand back, not to look into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub(crate) day: Day,
    pub(crate) row: [u8; 16],
}

impl Cursor {
    /// Behind all rows of a day.
    pub(crate) fn behind(day: Day, order: Order) -> Self {
        Cursor { day, row: if order == Order::Newest { [0; 16] } else { [0xff; 16] } }
    }

    /// Narrows a span to what is left behind it.
    pub(crate) fn cut(self, order: Order, (from_ns, to_ns): (i64, i64)) -> (i64, i64) {
        let is_through = self == Cursor::behind(self.day, order);
        match (order, is_through) {
            (Order::Newest, false) => (from_ns, to_ns.min(self.day.end_ns())),
            (Order::Newest, true) => (from_ns, to_ns.min(self.day.start_ns())),
            (Order::Oldest, false) => (from_ns.max(self.day.start_ns()), to_ns),
            (Order::Oldest, true) => (from_ns.max(self.day.end_ns()), to_ns),
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:032x}", self.day, u128::from_be_bytes(self.row))
    }
}

impl FromStr for Cursor {
    type Err = StoreError;
    fn from_str(text: &str) -> Result<Self, StoreError> {
        let wrong = || StoreError::Question(format!("not a cursor: '{text}'"));
        let (day, row) = text.split_once('.').ok_or_else(wrong)?;
        let row = u128::from_str_radix(row, 16).map_err(|_| wrong())?.to_be_bytes();
        let cursor = Cursor { day: day.parse().map_err(|_| wrong())?, row };
        // Only what was written here: neither a sign nor another number of digits.
        (cursor.to_string() == text).then_some(cursor).ok_or_else(wrong)
    }
}

/// Some rows, and how to get more.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// The rows, in the order asked for.
    pub rows: Vec<T>,
    /// Where to go on; none at the end.
    pub next: Option<Cursor>,
    /// Whether it was stopped before it was full ([`Query::stop`]): [`Page::next`] goes on behind what was looked at.
    pub stopped: bool,
    /// Days that could not be read.
    pub skipped: Vec<Skipped>,
}

/// What was found by a name.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// This call, with its streams.
    One(Box<Call>),
    /// More than one: identifier and start of each, newest first, at most [`FOUND_MAX`].
    Many(Vec<(Id, i64)>),
    /// None.
    None,
}

trunkline_kit::counters! {
    /// What a store counts while it writes.
    pub struct Written {
        /// rows of calls that were new
        calls_new: "trunkline_store_calls_new_total",
        /// rows of calls that took the place of one that had seen less
        calls_completed: "trunkline_store_calls_completed_total",
        /// rows of calls that told nothing new
        calls_known: "trunkline_store_calls_known_total",
        /// streams, intervals, registrations, events, losses and charges that were handed in
        rows_other: "trunkline_store_other_rows_total",
        /// rows refused because their day cannot be written (damaged, not ours, too many days)
        refused: "trunkline_store_refused_rows_total",
        /// transactions committed, by day file
        commits: "trunkline_store_commits_total",
    }
}

/// One column of a result of SQL.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlValue {
    /// Nothing.
    Null,
    /// A whole number.
    Whole(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(String),
    /// Octets.
    Octets(Vec<u8>),
}

/// How far a statement may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlLimits {
    /// Only days from this time on are seen.
    pub from_ns: i64,
    /// Only days before this time are seen.
    pub to_ns: i64,
    /// Of these days only rows that begin in the span (streams with their first packet, losses with `since`). Rows of
    /// calls that began the day before are among them; streams of calls that are older are not.
    pub of_rows: bool,
    /// Most rows; the rest is cut off and said so.
    pub rows_max: usize,
    /// Longest time.
    pub time_max: Duration,
}

impl Default for SqlLimits {
    fn default() -> Self {
        let (rows_max, time_max) = (100_000, Duration::from_secs(30));
        SqlLimits { from_ns: i64::MIN, to_ns: i64::MAX, of_rows: false, rows_max, time_max }
    }
}

/// How a statement ended.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SqlDone {
    /// Rows handed out.
    pub rows: usize,
    /// Whether there were more than allowed.
    pub cut: bool,
    /// Days that could not be read.
    pub skipped: Vec<Skipped>,
}

/// Takes the rows of a statement: names of the columns, and one row. False ends it.
pub type OnRow<'a> = &'a mut dyn FnMut(&[String], &[SqlValue]) -> bool;

/// The store of one data folder. Not shared between threads: each opens its own.
///
/// What is written can be read only after [`Store::commit`], by this and any other process.
pub struct Store(Box<dyn Backend>);

impl Store {
    /// Opens the store in a folder, `STORE/YYYY-MM-DD.sqlite`, a file a UTC day.
    ///
    /// # Errors
    /// [`StoreError::Folder`]. A damaged day is not an error here: it is told when it is needed.
    pub fn open(folder: &Path, access: Access) -> Result<Self, StoreError> {
        Ok(Store(Box::new(Sqlite::open(folder, access)?)))
    }

    /// Makes at most so many days that are not there yet: wild times in a capture must not fill the disk. Rows of
    /// further days are refused and counted, and [`Store::skipped`] says of which.
    pub fn limit_new_days(&mut self, most: usize) {
        self.0.limit_new_days(most);
    }

    /// Takes rows. A row that is known is replaced only by one that saw more (later last packet, then more messages and
    /// packets); a call's streams are replaced with it. Rows of a day that cannot be written are refused and counted.
    ///
    /// # Errors
    /// [`StoreError::Busy`] and [`StoreError::Disk`]: what was written since the last commit may be lost. Hand all of
    /// it in again: it is stored once, and refused rows are counted once, when a commit has gone through.
    pub fn write(&mut self, rows: &Rows) -> Result<(), StoreError> {
        self.0.write(rows)
    }

    /// Makes all that was written durable, and visible to readers.
    ///
    /// # Errors
    /// [`StoreError::Disk`] or [`StoreError::Busy`]: the days that could be committed were. As after
    /// [`Store::write`], hand in again what was written since the last one.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        self.0.commit()
    }

    /// What was written since opening.
    pub fn written(&self) -> Written {
        self.0.written()
    }

    /// Days that a write or an earlier read had to pass over, with the reason.
    pub fn skipped(&self) -> Vec<Skipped> {
        self.0.skipped()
    }

    /// The days there are, oldest first.
    ///
    /// # Errors
    /// [`StoreError::Folder`].
    pub fn days(&self) -> Result<Vec<Day>, StoreError> {
        self.0.days()
    }

    /// Removes a day at once, with all that is in it.
    ///
    /// # Errors
    /// [`StoreError::Disk`], or [`StoreError::Question`] if the store is open for reading.
    pub fn drop_day(&mut self, day: Day) -> Result<(), StoreError> {
        self.0.drop_day(day)
    }

    /// Octets of a day's files; 0 if there is no such day.
    pub fn octets(&self, day: Day) -> u64 {
        self.0.octets(day)
    }

    /// What there is in a day by class; none if there is nothing in it. Reads all of its pages.
    ///
    /// # Errors
    /// [`StoreError::Day`] and [`StoreError::Disk`].
    pub fn held(&self, day: Day) -> Result<Option<DayHeld>, StoreError> {
        self.0.held(day)
    }

    /// Removes all rows of some classes from a day, and what they took of its file. A day without a row is removed.
    ///
    /// # Errors
    /// [`StoreError::Busy`] while somebody writes to it, [`StoreError::Disk`] if there is no room to shrink the file
    /// (the rows are gone), [`StoreError::Day`].
    pub fn remove_classes(&mut self, day: Day, classes: &[Class]) -> Result<Gone, StoreError> {
        self.0.remove_classes(day, classes)
    }

    /// Removes rows, of calls with their streams and intervals, from all days, and what they took of the files. To be
    /// done again if it fails: what is gone is not found any more.
    ///
    /// # Errors
    /// As [`Store::remove_classes`].
    pub fn remove_rows(&mut self, chosen: &Chosen) -> Result<Gone, StoreError> {
        self.0.remove_rows(chosen)
    }

    /// The rows that name a number: calls from it, to it or through it, its registrations, transactions and charges.
    /// The days that could not be read are told.
    ///
    /// # Errors
    /// As [`Store::calls`].
    pub fn chosen_of(&self, number: &str) -> Result<(Chosen, Vec<Skipped>), StoreError> {
        self.0.chosen_of(number)
    }

    /// Adds to `unknown` those of these calls, lone streams, registrations and events that the store does not have.
    ///
    /// # Errors
    /// As [`Store::calls`], and [`StoreError::Day`].
    pub fn add_unknown(&self, rows: &Rows, unknown: &mut Chosen) -> Result<(), StoreError> {
        self.0.add_unknown(rows, unknown)
    }

    /// Calls with their streams.
    ///
    /// # Errors
    /// [`StoreError::Folder`], [`StoreError::Disk`]; a day that cannot be read is in [`Page::skipped`].
    pub fn calls(&self, query: &Query) -> Result<Page<Call>, StoreError> {
        self.0.calls(query)
    }

    /// A call by the beginning of its identifier (at least four digits, hyphens or not) or by its whole Call-ID.
    ///
    /// # Errors
    /// As [`Store::calls`].
    pub fn call(&self, name: &str) -> Result<Found, StoreError> {
        self.0.call(name)
    }

    /// A call by its whole identifier: only the day that the identifier names is looked at, and no Call-IDs.
    ///
    /// # Errors
    /// As [`Store::calls`], and [`StoreError::Day`] if its day cannot be read.
    pub fn call_by_id(&self, id: Id) -> Result<Option<Box<Call>>, StoreError> {
        self.0.call_by_id(id)
    }

    /// The intervals of a stream, in order.
    ///
    /// # Errors
    /// As [`Store::calls`], and [`StoreError::Day`] if its day cannot be read.
    pub fn intervals(&self, stream: Id) -> Result<Vec<StreamInterval>, StoreError> {
        self.0.intervals(stream)
    }

    /// Streams that belong to no call.
    ///
    /// # Errors
    /// As [`Store::calls`]; [`StoreError::Question`] if there is a filter.
    pub fn streams_without_call(&self, query: &Query) -> Result<Page<Stream>, StoreError> {
        self.0.streams_without_call(query)
    }

    /// Registrations.
    ///
    /// # Errors
    /// As [`Store::streams_without_call`].
    pub fn registrations(&self, query: &Query) -> Result<Page<Registration>, StoreError> {
        self.0.registrations(query)
    }

    /// Transactions outside calls and registrations.
    ///
    /// # Errors
    /// As [`Store::streams_without_call`].
    pub fn events(&self, query: &Query) -> Result<Page<SipEvent>, StoreError> {
        self.0.events(query)
    }

    /// Charging data records, by when they began.
    ///
    /// # Errors
    /// As [`Store::streams_without_call`].
    pub fn charges(&self, query: &Query) -> Result<Page<Charge>, StoreError> {
        self.0.charges(query)
    }

    /// Registrations that a search finds.
    ///
    /// # Errors
    /// As [`Store::calls`].
    pub fn search_registrations(&self, search: &Search) -> Result<Page<Registration>, StoreError> {
        self.0.search_registrations(search)
    }

    /// How many registrations a search finds, by outcome: state, order, limit and cursor are not looked at.
    ///
    /// # Errors
    /// As [`Store::calls`].
    pub fn count_registrations(&self, search: &Search) -> Result<Counts, StoreError> {
        self.0.count_registrations(search)
    }

    /// Transactions outside calls and registrations that a search finds.
    ///
    /// # Errors
    /// As [`Store::calls`].
    pub fn search_events(&self, search: &Search) -> Result<Page<SipEvent>, StoreError> {
        self.0.search_events(search)
    }

    /// How many events a search finds, by outcome and method: state, order, limit and cursor are not looked at.
    ///
    /// # Errors
    /// As [`Store::calls`].
    pub fn count_events(&self, search: &Search) -> Result<Counts, StoreError> {
        self.0.count_events(search)
    }

    /// What calls add up to.
    ///
    /// # Errors
    /// As [`Store::calls`]; a day that cannot be read is in [`Summary::skipped`].
    pub fn summary(&self, query: &SummaryQuery) -> Result<Summary, StoreError> {
        self.0.summary(query)
    }

    /// Losses of the capture, by `since`; in one page, the cursor is not looked at.
    ///
    /// # Errors
    /// As [`Store::streams_without_call`].
    pub fn losses(&self, query: &Query) -> Result<Page<Loss>, StoreError> {
        self.0.losses(query)
    }

    /// Calls by the minute (minutes since 1970), only minutes with calls, oldest first.
    ///
    /// # Errors
    /// As [`Store::calls`].
    pub fn minutes(&self, from_ns: i64, to_ns: i64) -> Result<Vec<(i64, Minute)>, StoreError> {
        self.0.minutes(from_ns, to_ns)
    }

    /// Runs one SELECT over all days at once: views `calls`, `streams`, `stream_intervals`, `registrations`,
    /// `sip_events`, `losses`, `minutes`, `charges`. Nothing can be changed.
    ///
    /// # Errors
    /// [`StoreError::Question`] with what SQL says is wrong, [`StoreError::Limit`] if it took too long.
    pub fn sql(&self, text: &str, limits: &SqlLimits, on_row: OnRow<'_>) -> Result<SqlDone, StoreError> {
        self.0.sql(text, limits, on_row)
    }
}
