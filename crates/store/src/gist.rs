//! The gist of a call: what filters and summaries ask most, in a few dozen octets, kept column by column.
//!
//! A backend keeps gists of many calls together ([`Gists`]), so that a question reads only the columns it is about,
//! some octets a call, where rows would be half a thousand. A filter is asked of gists ([`plan`]) and says yes, no or
//! "look at the row"; the row has the last word. Every value is a `u64`, 0 where there is none:
//!
//! | column | value |
//! |---|---|
//! | durations | microseconds (cut) and 2; 1 where that cannot be said: negative, or longer than 12 days |
//! | scores, jitter, losses | the bits of the `f32` and 1; of what is an `f64` in the row, the nearest |
//! | words | the number in the dictionary of the day |
//! | caller, callee | the word of `crate::entry` |
//! | addresses | numbers in the list of addresses that the gists have together |

mod column;
mod hosts;
pub mod plan;
mod sum;

pub use column::{Head, Range, Ranges};
pub use hosts::{HOSTS_OF_CALL_MAX, Hosts};
pub use sum::{SUMMED, start_ns, told};

use crate::columns::Value;
use crate::entry;
use crate::key;
use crate::packed::{Damaged, Pack, Unpack};
use crate::row::Call;
use crate::time::DAY_NS;
use hosts::Dictionary;

/// The version of what is written.
pub const VERSION: u64 = 1;
/// Most gists that are kept together: columns of four octets then fit a page of 16 KiB.
pub const GISTS_MAX: usize = if cfg!(test) { 300 } else { 4000 };
/// Up to so many gists are written as one: columns of their own would be tiny.
const TOGETHER_MAX: usize = if cfg!(test) { 40 } else { 128 };

/// The columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the table above and the fields of the row say what they are
#[repr(usize)]
pub enum Column {
    Key,
    /// 1 if it takes the place of an earlier gist of the same key.
    Again,
    /// State, and the bits of [`flags`].
    State,
    Code,
    Mos,
    Verdict,
    UserAgent,
    Codecs,
    Duration,
    Pdd,
    Setup,
    Lost,
    JitterMax,
    JitterMean,
    Caller,
    Callee,
    Src,
    Dst,
    /// How many other addresses it has, at most [`HOSTS_OF_CALL_MAX`].
    More,
}

/// How many columns there are.
pub const COLUMNS: usize = Column::More as usize + 1;
/// The number of what lies behind them: the list of addresses, and the other addresses of each call.
pub const HOSTS: usize = COLUMNS;

/// What [`Column::State`] holds besides the state, which is in the lowest four bits.
pub mod flags {
    /// Where who hung up begins, two bits.
    pub const HANGUP_SHIFT: u32 = 4;
    /// It has an end.
    pub const HAS_END: u64 = 1 << 6;
    /// Its start is not what its key says.
    pub const ODD_START: u64 = 1 << 7;
    /// It has numbers beside those of From and To. No higher bit is used: a value below has none.
    pub const HAS_NUMBERS: u64 = 1 << 8;
}

/// The values of one call, by [`Column`].
pub type Values = [u64; COLUMNS];

/// The values of a call without its addresses, from its row and the numbers of its words: User-Agent, codecs, verdict.
pub fn of(call: &Call, key: i64, row: &[Value<'_>; 25], words: [u64; 3]) -> Values {
    let mut v = [0; COLUMNS];
    let mut put = |column: Column, value: u64| v[column as usize] = value;
    let real = |value: Value<'_>| if let Value::Real(value) = value { bits(value as f32) } else { 0 };
    let since_start = |at: Option<i64>| span(at.map(|at| at.saturating_sub(call.start_ns)));
    let odd = call.start_ns.rem_euclid(DAY_NS) != key::of_call(call.id, call.start_ns) >> 16
        || key::day_of(call.id) != crate::time::Day::of(call.start_ns);
    let end = if call.end_ns.is_some() { flags::HAS_END } else { 0 };
    let odd = if odd { flags::ODD_START } else { 0 };
    let numbers = if call.numbers.is_empty() { 0 } else { flags::HAS_NUMBERS };
    put(Column::Key, key as u64);
    put(Column::State, call.state as u64 | (call.hangup as u64) << flags::HANGUP_SHIFT | end | odd | numbers);
    put(Column::Code, u64::from(call.code));
    put(Column::Mos, call.mos.map_or(0, bits));
    put(Column::UserAgent, words[0]);
    put(Column::Codecs, words[1]);
    put(Column::Verdict, words[2]);
    put(Column::Duration, span(crate::json::duration_ns(call)));
    put(Column::Pdd, since_start(call.ringing_ns));
    put(Column::Setup, since_start(call.answer_ns));
    put(Column::Lost, real(row[18]));
    put(Column::JitterMean, real(row[19]));
    put(Column::JitterMax, real(row[20]));
    put(Column::Caller, entry::number_word(&call.from));
    put(Column::Callee, entry::number_word(&call.to));
    v
}

/// A duration as a value.
fn span(ns: Option<i64>) -> u64 {
    let Some(ns) = ns else { return 0 };
    let us = ns.div_euclid(1000);
    if (0..1 << 40).contains(&us) { us as u64 + 2 } else { 1 }
}

/// A number as a value.
fn bits(value: f32) -> u64 {
    u64::from(value.to_bits()) + 1
}

/// The number of a value that is not 0.
fn number(value: u64) -> f32 {
    f32::from_bits(value.wrapping_sub(1) as u32)
}

/// Gists that lie together.
#[derive(Debug, Default)]
pub struct Gists {
    rows: Vec<Values>,
    addresses: Dictionary,
    /// The other addresses of each, one after the other.
    more: Vec<u32>,
}

impl Gists {
    /// How many.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds the gist of a call; `again` if another of its key may be there.
    pub fn push(&mut self, mut values: Values, again: bool, call: &Call) {
        values[Column::Again as usize] = u64::from(again);
        values[Column::Src as usize] = u64::from(self.addresses.number(call.src.address));
        values[Column::Dst as usize] = u64::from(self.addresses.number(call.dst.address));
        let before = self.more.len();
        hosts::others(call, |address| {
            let number = self.addresses.number(address);
            let others = self.more.get(before..).unwrap_or_default();
            if others.len() < HOSTS_OF_CALL_MAX && !others.contains(&number) {
                self.more.push(number);
            }
        });
        values[Column::More as usize] = (self.more.len() - before) as u64;
        self.rows.push(values);
    }

    /// Adds others behind these.
    pub fn join(&mut self, others: Gists) {
        let numbers: Vec<u32> = others.addresses.list().iter().map(|a| self.addresses.number(*a)).collect();
        let number = |at: u64| numbers.get(at as usize).copied().unwrap_or(0);
        self.rows.extend(others.rows.into_iter().map(|mut row| {
            row[Column::Src as usize] = u64::from(number(row[Column::Src as usize]));
            row[Column::Dst as usize] = u64::from(number(row[Column::Dst as usize]));
            row
        }));
        self.more.extend(others.more.iter().map(|at| number(u64::from(*at))));
    }

    /// Adds those that were written, all columns of them.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn append<E: From<Damaged>>(&mut self, from: &mut impl Columns<Error = E>) -> Result<(), E> {
        let first = self.rows.len();
        self.rows.resize(first + from.rows(), [0; COLUMNS]);
        for column in 0..COLUMNS {
            let values = from.values(column)?;
            for (row, value) in self.rows.iter_mut().skip(first).zip(values) {
                row[column] = *value;
            }
        }
        let hosts = from.hosts()?;
        let numbers: Vec<u32> = hosts.addresses.iter().map(|a| self.addresses.number(*a)).collect();
        let number = |at: u64| numbers.get(at as usize).copied().ok_or(Damaged("an address is not in its list"));
        for row in self.rows.iter_mut().skip(first) {
            row[Column::Src as usize] = u64::from(number(row[Column::Src as usize])?);
            row[Column::Dst as usize] = u64::from(number(row[Column::Dst as usize])?);
        }
        for at in &hosts.more {
            self.more.push(number(u64::from(*at))?);
        }
        Ok(())
    }

    /// Writes them in parts of at most [`GISTS_MAX`]: for each part what comes first ([`Head`], under number 0), then
    /// what lies apart, under its number and 1.
    ///
    /// # Errors
    /// Those of `put`, which takes the number of the part, of the column and the octets.
    pub fn write<E>(&self, mut put: impl FnMut(usize, usize, &[u8]) -> Result<(), E>) -> Result<(), E> {
        let (mut more, mut rows) = (self.more.as_slice(), vec![]);
        for (part, chunk) in self.rows.chunks(GISTS_MAX).enumerate() {
            rows.clear();
            rows.extend_from_slice(chunk);
            let count = rows.iter().map(|row| row[Column::More as usize] as usize).sum::<usize>();
            let (own, rest) = more.split_at(count.min(more.len()));
            more = rest;
            let hosts = self.addresses.part(&mut rows, own);
            let mut head = vec![];
            head.uint(VERSION);
            head.uint(rows.len() as u64);
            let together = rows.len() <= TOGETHER_MAX;
            head.uint(u64::from(together));
            let mut octets = vec![];
            for column in 0..COLUMNS {
                octets.clear();
                let range = column::encode(rows.iter().map(|row| row[column]), &mut octets);
                range.write(&mut head);
                if !together && !octets.is_empty() {
                    put(part, column + 1, &octets)?;
                } else {
                    head.raw(&octets);
                }
            }
            if together {
                head.raw(&hosts);
            } else {
                put(part, HOSTS + 1, &hosts)?;
            }
            put(part, 0, &head)?;
        }
        Ok(())
    }
}

/// Gists as they are read, column by column.
pub trait Columns {
    /// What can go wrong.
    type Error: From<Damaged>;
    /// How many gists.
    fn rows(&self) -> usize;
    /// Between which values those of a column lie.
    fn range(&self, column: usize) -> Range;
    /// The values of a column.
    ///
    /// # Errors
    /// What reading says; [`Damaged`].
    fn values(&mut self, column: usize) -> Result<&[u64], Self::Error>;
    /// The addresses.
    ///
    /// # Errors
    /// What reading says; [`Damaged`].
    fn hosts(&mut self) -> Result<&Hosts, Self::Error>;
}

/// Reads the version in front of a head.
fn versioned(octets: &[u8]) -> Result<Unpack<'_>, Damaged> {
    let mut from = Unpack::new(octets);
    if from.uint()? == VERSION { Ok(from) } else { Err(Damaged("gists of another version")) }
}
