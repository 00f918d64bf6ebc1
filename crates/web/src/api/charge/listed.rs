//! Rows that a comparison or a rating tells one by one: written to a file, read by the page, downloaded.

use crate::api::ask;
use crate::api::call::attachment;
use crate::guard::Who;
use crate::problem::{Kind, Problem};
use crate::room::{self, Room};
use crate::sources::{SourceError, Trouble};
use crate::state::Web;
use crate::work::Bounded;
use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

/// Rows that are listed, the first in order of time; sums hold all.
// Limit: rows listed of one reconciliation in the web
// Beyond: further rows are only in the sums
// Seen in: the list says that it is cut
pub const LISTED_MAX: usize = 200_000;
/// Octets of one row, written.
const OCTETS_MAX: u64 = 64 * 1024;
/// Words by which rows are chosen, of each kind; rows with further ones have none.
const WORDS_MAX: usize = 10_000;
/// Rows of a piece of a download.
const PIECE_LINES: usize = 500;
/// How many are listed, where these are not all.
const INCOMPLETE_HEADER: &str = "x-trunkline-incomplete";

/// A column of a file: its name, as in JSON, and a row's value.
pub type Column<T> = (&'static str, fn(&T) -> String);

/// What is listed.
pub trait Row: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The columns of a file.
    const COLUMNS: &'static [Column<Self>];
    /// What rows are called in a file that lacks some.
    const NAME: &'static str;

    /// Words by which rows are chosen: [`Wanted::words`].
    fn words(&self) -> [&str; 2];

    /// Whether it can be said.
    fn is_sure(&self) -> bool {
        true
    }

    /// The money in it.
    fn money(&self) -> i64;

    /// Masks the numbers in it.
    fn mask(&mut self);
}

/// Rows, each a line of JSON in a file, and where it is.
pub struct Listed<T> {
    path: PathBuf,
    marks: Vec<Mark>,
    /// Words of marks by their numbers; 0 is none.
    words: [Vec<Box<str>>; 2],
    is_cut: bool,
    rows: PhantomData<fn() -> T>,
}

/// Where a row stands, and what it is sorted and chosen by: files are shorter than four gibibytes.
#[derive(Clone, Copy)]
struct Mark {
    money: i64,
    offset: u32,
    words: [u16; 2],
    sure: bool,
}

impl<T> Listed<T> {
    /// How many are listed.
    pub fn count(&self) -> usize {
        self.marks.len()
    }

    /// Whether there are more.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

/// Rows that are being written.
pub struct Listing<T> {
    out: Bounded,
    octets: u32,
    listed: Listed<T>,
    failed: Option<io::Error>,
}

impl<T: Row> Listing<T> {
    /// Begins a file.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(path: &std::path::Path, octets_max: u64, room: Room) -> Result<Self, SourceError> {
        let out = Bounded::create(path, octets_max.min(u32::MAX.into()), room).map_err(failed)?;
        let words = [vec!["".into()], vec!["".into()]];
        let listed = Listed { path: path.to_owned(), marks: Vec::new(), words, is_cut: false, rows: PhantomData };
        Ok(Listing { out, octets: 0, listed, failed: None })
    }

    /// Adds one; false where nothing more is taken.
    pub fn add(&mut self, one: &T) -> bool {
        if self.listed.marks.len() >= LISTED_MAX {
            self.listed.is_cut = true;
        }
        if self.failed.is_some() || self.listed.is_cut {
            return false;
        }
        let line = serde_json::to_vec(one).map_err(io::Error::other).and_then(|mut line| {
            line.push(b'\n');
            self.out.write_all(&line)?;
            Ok(line.len() as u32)
        });
        match line {
            Ok(octets) => {
                let mark = self.mark(one);
                self.listed.marks.push(mark);
                self.octets = self.octets.saturating_add(octets);
            }
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => self.listed.is_cut = true,
            Err(error) => self.failed = Some(error),
        }
        self.failed.is_none() && !self.listed.is_cut
    }

    fn mark(&mut self, one: &T) -> Mark {
        let mut words = [0; 2];
        for (at, word) in one.words().into_iter().enumerate() {
            let known = &mut self.listed.words[at];
            let found = known.iter().rposition(|known| **known == *word);
            let found = found.or_else(|| {
                let room = known.len() < WORDS_MAX;
                room.then(|| {
                    known.push(word.into());
                    known.len() - 1
                })
            });
            words[at] = found.unwrap_or(0) as u16;
        }
        Mark { money: one.money(), offset: self.octets, words, sure: one.is_sure() }
    }

    /// What was written.
    ///
    /// # Errors
    /// It was not: the disk is full, or failed.
    pub fn end(mut self) -> Result<Listed<T>, SourceError> {
        let flushed = self.out.flush();
        if self.out.is_full() {
            return Err(room::no_room());
        }
        match self.failed.map_or(flushed, Err) {
            Ok(()) => Ok(self.listed),
            Err(error) => Err(failed(error)),
        }
    }
}

fn failed(error: io::Error) -> SourceError {
    if room::is_full(&error) { room::no_room() } else { SourceError::new(Trouble::Failed, error.to_string()) }
}

/// Which rows are wanted, and in which order.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Words of each kind, between commas; none for all.
    pub words: [Option<String>; 2],
    /// Those that are certain, or that are not.
    pub sure: Option<bool>,
    /// `oldest` (if nothing is said), `newest`, `most` (money, either way) or `least`.
    pub order: Option<String>,
    /// Rows of a page.
    pub limit: Option<u32>,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

/// A page of rows.
pub struct Page<T> {
    /// They.
    pub rows: Vec<T>,
    /// How many there are of those that were asked for.
    pub total: u64,
    /// Where it goes on.
    pub next: Option<String>,
}

impl<T: Row> Listed<T> {
    /// The numbers of words that are wanted; none for all.
    fn numbers(&self, at: usize, wanted: &Wanted) -> Option<Vec<u16>> {
        let text = wanted.words[at].as_deref().filter(|text| !text.is_empty())?;
        let number = |word: &str| self.words[at].iter().position(|known| **known == *word);
        // A word may have a comma in it, as the name of a destination.
        if let Some(whole) = number(text) {
            return Some(vec![whole as u16]);
        }
        Some(text.split(',').filter(|word| !word.is_empty()).filter_map(number).map(|n| n as u16).collect())
    }

    /// Where those are that were asked for, in the order that was.
    fn chosen(&self, ask: &Wanted) -> Result<Vec<u32>, Problem> {
        let words = [self.numbers(0, ask), self.numbers(1, ask)];
        let wanted = |mark: &&Mark| {
            let fits = |at: usize| words[at].as_ref().is_none_or(|numbers| numbers.contains(&mark.words[at]));
            fits(0) && fits(1) && ask.sure.is_none_or(|sure| sure == mark.sure)
        };
        let mut marks: Vec<&Mark> = self.marks.iter().filter(wanted).collect();
        match ask.order.as_deref() {
            None | Some("" | "oldest") => {}
            Some("newest") => marks.reverse(),
            Some("most") => marks.sort_by_key(|mark| std::cmp::Reverse(mark.money.unsigned_abs())),
            Some("least") => marks.sort_by_key(|mark| mark.money.unsigned_abs()),
            Some(_) => return Err(Problem::parameter("order", "The order is oldest, newest, most or least.")),
        }
        Ok(marks.into_iter().map(|mark| mark.offset).collect())
    }

    /// Its file, which is there while it is open, even where another one takes its place meanwhile.
    fn open(&self) -> Result<File, Problem> {
        File::open(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Problem::new(Kind::NotFound, "The result was deleted: start again."),
            _ => Problem::failed(error),
        })
    }

    /// Reads those at these places of its file.
    fn read(file: &File, offsets: &[u32], masked: bool) -> io::Result<Vec<T>> {
        let mut file = BufReader::new(file);
        file.rewind()?;
        let mut at = 0u64;
        let mut one = |offset: u64| {
            // Seeking within what is buffered reads nothing anew: pages in order of time are one piece.
            file.seek_relative(i64::try_from(offset).unwrap_or(i64::MAX) - i64::try_from(at).unwrap_or_default())?;
            let mut line = Vec::new();
            let read = (&mut file).take(OCTETS_MAX).read_until(b'\n', &mut line)?;
            at = offset + read as u64;
            let mut told: T = serde_json::from_slice(&line).map_err(io::Error::other)?;
            if masked {
                told.mask();
            }
            Ok(told)
        };
        offsets.iter().map(|offset| one(u64::from(*offset))).collect()
    }

    /// A page of them; it reads its file.
    ///
    /// # Errors
    /// What was asked makes no sense, or the file is gone.
    pub fn page(&self, ask: &Wanted, masked: bool) -> Result<Page<T>, Problem> {
        let limit = ask::limit(ask.limit)?;
        let wrong = |_| Problem::parameter("cursor", "The cursor is 'next' of the page before, unchanged.");
        let from = ask.cursor.as_deref().filter(|c| !c.is_empty()).map(|c| c.parse::<usize>().map_err(wrong));
        let (from, chosen) = (from.transpose()?.unwrap_or(0), self.chosen(ask)?);
        let rest = chosen.get(from..).unwrap_or_default();
        let page = rest.get(..limit).unwrap_or(rest);
        let rows = Listed::read(&self.open()?, page, masked).map_err(Problem::failed)?;
        let next = (rest.len() > limit).then(|| (from + limit).to_string());
        Ok(Page { rows, total: chosen.len() as u64, next })
    }
}

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Comma-separated values with a line of titles.
    Csv,
    /// One object a line.
    Json,
}

impl Form {
    fn line<T: Row>(self, one: &T) -> String {
        match self {
            Form::Csv => {
                let cells: Vec<String> =
                    T::COLUMNS.iter().map(|(_, value)| trunkline_kit::untrusted::cell(&value(one))).collect();
                cells.join(",") + "\r\n"
            }
            Form::Json => serde_json::to_string(one).unwrap_or_default() + "\n",
        }
    }

    /// What a file begins with, and what it ends with where it has not all.
    fn ends<T: Row>(self, count: usize) -> (String, String) {
        match self {
            Form::Json => Default::default(),
            Form::Csv => {
                let titles: Vec<&str> = T::COLUMNS.iter().map(|(name, _)| *name).collect();
                let end = format!("# incomplete: {count} {} are listed{}\r\n", T::NAME, ",".repeat(titles.len() - 1));
                (titles.join(",") + "\r\n", end)
            }
        }
    }
}

/// All of them that are wanted, as a file. Who asks has the right to it, and it is noted who does.
///
/// # Errors
/// What was asked makes no sense; too many files are under way; it is kept no longer.
pub async fn download<T: Row>(
    web: &Arc<Web>,
    who: &Who,
    listed: &Listed<T>,
    (wanted, form): (&Wanted, Form),
    (action, id): (&'static str, &str),
) -> Result<Response, Problem> {
    if wanted.limit.is_some() || wanted.cursor.is_some() {
        return Err(Problem::parameter("limit", "A file has all of them."));
    }
    let turn = Arc::clone(&web.exports).try_acquire_owned();
    let turn = turn.map_err(|_| Problem::new(Kind::Busy, "Too many exports are running.").retry_after(30))?;
    let offsets = listed.chosen(wanted)?;
    who.audit(web, action, id).await?;
    let (count, is_cut, masked) = (listed.count(), listed.is_cut, who.masked());
    let (titles, end) = form.ends::<T>(count);
    let (first, file) = (Some(titles), listed.open()?);
    let pieces = stream::unfold((file, offsets, 0, first, Some(turn)), move |state| {
        let end = end.clone();
        async move {
            let (file, offsets, from, first, turn) = state;
            let until = (from + PIECE_LINES).min(offsets.len());
            if first.is_none() && from >= offsets.len() {
                return None;
            }
            let (text, file, offsets) = tokio::task::spawn_blocking(move || {
                let rows = Listed::<T>::read(&file, offsets.get(from..until).unwrap_or_default(), masked);
                (rows.map(|rows| rows.iter().map(|row| form.line(row)).collect::<String>()), file, offsets)
            })
            .await
            .ok()?;
            let last = if is_cut && until >= offsets.len() { end } else { String::new() };
            let text = text.map(|text| Bytes::from(first.unwrap_or_default() + &text + &last));
            Some((text, (file, offsets, until, None, turn)))
        }
    });
    // What compresses asks once more after the end.
    let mut response = Body::from_stream(pieces.fuse()).into_response();
    if is_cut {
        response.headers_mut().insert(INCOMPLETE_HEADER, HeaderValue::from(count as u64));
    }
    let (kind, ends) = match form {
        Form::Csv => ("text/csv; charset=utf-8", "csv"),
        Form::Json => ("application/x-ndjson", "jsonl"),
    };
    Ok(attachment(response, kind, &format!("{}.{ends}", T::NAME)))
}
