//! The differences that a comparison found: written to its file one by one, read by the page, downloaded.

use super::bills::may_compare;
use super::comparisons::Outcome;
use crate::api::ask::{self, Ask};
use crate::api::call::attachment;
use crate::api::csv::cell;
use crate::api::schema;
use crate::auth::{Permission, action, mask};
use crate::guard::Who;
use crate::problem::{Kind, Problem};
use crate::room::{self, Room};
use crate::sources::{ChargeDifference, ChargeDifferenceLine, SourceError, Trouble};
use crate::state::Web;
use crate::work::Bounded;
use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::HeaderValue;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::PathBuf;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Differences of a comparison that are listed, the first in order of time; sums hold all.
pub const LISTED_MAX: usize = 200_000;
/// Octets of one difference, written.
const OCTETS_MAX: u64 = 64 * 1024;
/// Differences of a piece of a download.
const PIECE_LINES: usize = 500;
/// How many are listed, where these are not all.
const INCOMPLETE_HEADER: &str = "x-trunkline-incomplete";

/// The differences of a comparison: each a line of JSON in a file, and where it is.
pub struct Listed {
    path: PathBuf,
    marks: Vec<Mark>,
    is_cut: bool,
}

/// Where a difference stands, and what it is sorted and chosen by.
#[derive(Clone)]
struct Mark {
    offset: u64,
    kind: Arc<str>,
    sure: bool,
    dispute: i64,
}

impl Listed {
    /// How many are listed.
    pub fn count(&self) -> usize {
        self.marks.len()
    }

    /// Whether there are more.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

/// Differences that are being written.
pub struct Listing {
    out: Bounded,
    octets: u64,
    listed: Listed,
    failed: Option<io::Error>,
}

impl Listing {
    /// Begins a file.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(path: &std::path::Path, octets_max: u64, room: Room) -> Result<Listing, SourceError> {
        let out = Bounded::create(path, octets_max, room).map_err(failed)?;
        let listed = Listed { path: path.to_owned(), marks: Vec::new(), is_cut: false };
        Ok(Listing { out, octets: 0, listed, failed: None })
    }

    /// Adds one; false where nothing more is taken.
    pub fn add(&mut self, one: &ChargeDifference) -> bool {
        if self.listed.marks.len() >= LISTED_MAX {
            self.listed.is_cut = true;
            return false;
        }
        let line = serde_json::to_vec(one).map_err(io::Error::other).and_then(|mut line| {
            line.push(b'\n');
            self.out.write_all(&line)?;
            Ok(line.len() as u64)
        });
        match line {
            Ok(octets) => {
                self.listed.marks.push(self.mark(one));
                self.octets += octets;
            }
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => self.listed.is_cut = true,
            Err(error) => self.failed = Some(error),
        }
        self.failed.is_none() && !self.listed.is_cut
    }

    fn mark(&self, one: &ChargeDifference) -> Mark {
        let known = self.listed.marks.iter().rev().take(16).find(|mark| *mark.kind == *one.kind);
        let kind = known.map_or_else(|| Arc::from(one.kind.as_str()), |mark| Arc::clone(&mark.kind));
        Mark { offset: self.octets, kind, sure: one.sure, dispute: one.dispute_micros.unwrap_or(0) }
    }

    /// What was written.
    ///
    /// # Errors
    /// It was not: the disk is full, or failed.
    pub fn end(mut self) -> Result<Listed, SourceError> {
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

/// Which differences are wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChargeDifferencesAsk {
    /// Of these kinds, between commas; all if nothing is said.
    pub kind: Option<String>,
    /// `true`: those that are certain; `false`: those that cannot be said.
    pub sure: Option<bool>,
    /// `oldest` (if nothing is said), `newest`, `most` (money in dispute, either way) or `least`.
    pub order: Option<String>,
    /// Rows of a page, 1 to 1000.
    pub limit: Option<u32>,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

/// A page of differences.
#[derive(Serialize, ToSchema)]
pub struct ChargeDifferencesPage {
    /// They.
    pub differences: Vec<ChargeDifference>,
    /// How many there are of those that were asked for.
    pub total: u64,
    /// What to hand back as `cursor` for more; null at the end.
    pub next: Option<String>,
}

impl Listed {
    /// Where those are that were asked for, in the order that was.
    fn chosen(&self, ask: &ChargeDifferencesAsk) -> Result<Vec<u64>, Problem> {
        let kinds: Vec<&str> = ask.kind.as_deref().unwrap_or_default().split(',').filter(|k| !k.is_empty()).collect();
        let wanted = |mark: &&Mark| {
            (kinds.is_empty() || kinds.contains(&&*mark.kind)) && ask.sure.is_none_or(|sure| sure == mark.sure)
        };
        let mut marks: Vec<&Mark> = self.marks.iter().filter(wanted).collect();
        match ask.order.as_deref() {
            None | Some("" | "oldest") => {}
            Some("newest") => marks.reverse(),
            Some("most") => marks.sort_by_key(|mark| std::cmp::Reverse(mark.dispute.unsigned_abs())),
            Some("least") => marks.sort_by_key(|mark| mark.dispute.unsigned_abs()),
            Some(_) => return Err(Problem::parameter("order", "The order is oldest, newest, most or least.")),
        }
        Ok(marks.into_iter().map(|mark| mark.offset).collect())
    }

    /// Its file, which is there while it is open, even where another comparison takes its place meanwhile.
    fn open(&self) -> Result<File, Problem> {
        File::open(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Problem::new(Kind::NotFound, "It is kept no longer: compare again."),
            _ => Problem::failed(error),
        })
    }

    /// Reads those at these places of its file.
    fn read(file: &File, offsets: &[u64], masked: bool) -> io::Result<Vec<ChargeDifference>> {
        let mut file = BufReader::new(file);
        file.rewind()?;
        let mut at = 0u64;
        let mut one = |offset: u64| {
            // Seeking within what is buffered reads nothing anew: pages in order of time are one piece.
            file.seek_relative(i64::try_from(offset).unwrap_or(i64::MAX) - i64::try_from(at).unwrap_or_default())?;
            let mut line = Vec::new();
            let read = (&mut file).take(OCTETS_MAX).read_until(b'\n', &mut line)?;
            at = offset + read as u64;
            let mut told: ChargeDifference = serde_json::from_slice(&line).map_err(io::Error::other)?;
            if masked {
                mask::charge_difference(&mut told);
            }
            Ok(told)
        };
        offsets.iter().map(|offset| one(*offset)).collect()
    }
}

/// The differences of one's comparison that is done.
fn outcome(web: &Web, who: &Who, id: &str) -> Result<Arc<Outcome>, Problem> {
    let not_done = || Problem::new(Kind::Conflict, "It is not done.");
    web.comparisons.find(id, who.id())?.state().1.ok_or_else(not_done)
}

/// The differences that a comparison found, by the page.
#[utoipa::path(
    get, path = "/charge/comparisons/{id}/differences", tag = "charge",
    params(("id" = String, Path), ChargeDifferencesAsk),
    responses((status = 200, body = ChargeDifferencesPage), (status = "4XX", body = schema::Problem))
)]
pub async fn list(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Ask(asked): Ask<ChargeDifferencesAsk>,
) -> Result<Json<ChargeDifferencesPage>, Problem> {
    may_compare(&who)?;
    let (outcome, limit) = (outcome(&web, &who, &id)?, ask::limit(asked.limit)?);
    let wrong = |_| Problem::parameter("cursor", "The cursor is 'next' of the page before, unchanged.");
    let from = asked.cursor.as_deref().filter(|c| !c.is_empty()).map(|c| c.parse::<usize>().map_err(wrong));
    let (from, masked) = (from.transpose()?.unwrap_or(0), who.masked());
    let page = move || {
        let chosen = outcome.listed.chosen(&asked)?;
        let rest = chosen.get(from..).unwrap_or_default();
        let page = rest.get(..limit).unwrap_or(rest);
        let differences = Listed::read(&outcome.listed.open()?, page, masked).map_err(Problem::failed)?;
        let next = (rest.len() > limit).then(|| (from + limit).to_string());
        Ok(ChargeDifferencesPage { differences, total: chosen.len() as u64, next })
    };
    web.look(&web.charge_reads, page).await?.map(Json)
}

type Column = (&'static str, fn(&ChargeDifference) -> String);

fn of<T>(value: Option<&T>, text: impl Fn(&T) -> String) -> String {
    value.map_or_else(String::new, text)
}

fn line_of(line: Option<&ChargeDifferenceLine>) -> String {
    of(line, |line| line.line.map(|line| line.to_string()).or_else(|| line.session.clone()).unwrap_or_default())
}

/// The columns of a file: names as in JSON.
const COLUMNS: [Column; 21] = [
    ("kind", |d| d.kind.clone()),
    ("at", |d| d.at.clone()),
    ("sure", |d| d.sure.to_string()),
    ("why", |d| d.why.clone().unwrap_or_default()),
    ("call.id", |d| of(d.call.as_ref(), |call| call.id.clone())),
    ("call.caller", |d| of(d.call.as_ref(), |call| call.caller.clone())),
    ("call.called", |d| of(d.call.as_ref(), |call| call.called.clone())),
    ("call.start", |d| of(d.call.as_ref(), |call| call.start.clone())),
    ("call.answer", |d| of(d.call.as_ref(), |call| call.answer.clone().unwrap_or_default())),
    ("call.duration_ms", |d| of(d.call.as_ref(), |call| call.duration_ms.to_string())),
    ("call.seen", |d| of(d.call.as_ref(), |call| call.seen.clone())),
    ("line", |d| line_of(d.line.as_ref())),
    ("line.caller", |d| of(d.line.as_ref(), |line| line.caller.clone())),
    ("line.called", |d| of(d.line.as_ref(), |line| line.called.clone())),
    ("line.begin", |d| of(d.line.as_ref(), |line| line.begin.clone())),
    ("line.duration_ms", |d| of(d.line.as_ref(), |line| line.duration_ms.to_string())),
    ("line.amount_micros", |d| of(d.line.as_ref(), |line| of(line.amount_micros.as_ref(), i64::to_string))),
    ("other", |d| line_of(d.other.as_ref())),
    ("other.begin", |d| of(d.other.as_ref(), |line| line.begin.clone())),
    ("dispute_micros", |d| of(d.dispute_micros.as_ref(), i64::to_string)),
    ("price_micros", |d| of(d.price_micros.as_ref(), i64::to_string)),
];

fn csv_line(one: &ChargeDifference) -> String {
    let values: Vec<String> = COLUMNS.iter().map(|(_, value)| cell(&value(one))).collect();
    values.join(",") + "\r\n"
}

fn json_line(one: &ChargeDifference) -> String {
    serde_json::to_string(one).unwrap_or_default() + "\n"
}

/// The differences as comma-separated values (RFC 4180) with a line of titles; what a spreadsheet would take for a
/// formula begins with an apostrophe. Where not all are listed, the last line begins with `# incomplete`, and the
/// header `x-trunkline-incomplete` has how many are.
#[utoipa::path(
    get, path = "/charge/comparisons/{id}/differences.csv", tag = "charge",
    params(("id" = String, Path), ChargeDifferencesAsk),
    responses((status = 200, content_type = "text/csv", body = String), (status = "4XX", body = schema::Problem))
)]
pub async fn csv(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Ask(asked): Ask<ChargeDifferencesAsk>,
) -> Result<Response, Problem> {
    let titles = COLUMNS.map(|(name, _)| name).join(",") + "\r\n";
    let body = download(&web, &who, &id, asked, (titles, csv_line, true)).await?;
    Ok(attachment(body, "text/csv; charset=utf-8", "differences.csv"))
}

/// The differences as JSON, one object a line. Where not all are listed, the header `x-trunkline-incomplete` has how
/// many are.
#[utoipa::path(
    get, path = "/charge/comparisons/{id}/differences.jsonl", tag = "charge",
    params(("id" = String, Path), ChargeDifferencesAsk),
    responses(
        (status = 200, content_type = "application/x-ndjson", body = String),
        (status = "4XX", body = schema::Problem)
    )
)]
pub async fn json(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
    Ask(asked): Ask<ChargeDifferencesAsk>,
) -> Result<Response, Problem> {
    let body = download(&web, &who, &id, asked, (String::new(), json_line, false)).await?;
    Ok(attachment(body, "application/x-ndjson", "differences.jsonl"))
}

/// What a file begins with, a line of it, and whether it may end with a remark.
type Form = (String, fn(&ChargeDifference) -> String, bool);

async fn download(
    web: &Arc<Web>,
    who: &Who,
    id: &str,
    asked: ChargeDifferencesAsk,
    (titles, line, remarks): Form,
) -> Result<Response, Problem> {
    may_compare(who)?;
    who.need(Permission::CallsExport)?;
    if asked.limit.is_some() || asked.cursor.is_some() {
        return Err(Problem::parameter("limit", "A file has all of them."));
    }
    let outcome = outcome(web, who, id)?;
    let turn = Arc::clone(&web.exports).try_acquire_owned();
    let turn = turn.map_err(|_| Problem::new(Kind::Busy, "Too many exports are under way.").retry_after(30))?;
    let offsets = outcome.listed.chosen(&asked)?;
    who.audit(web, action::CHARGE_DIFFERENCES, id).await?;
    let (count, is_cut) = (outcome.listed.count(), outcome.listed.is_cut);
    let end = format!("# incomplete: {count} differences are listed{}\r\n", ",".repeat(COLUMNS.len() - 1));
    let (masked, first) = (who.masked(), Some(titles));
    let file = outcome.listed.open()?;
    let pieces = stream::unfold((file, offsets, 0, first, Some(turn)), move |state| {
        let end = end.clone();
        async move {
            let (file, offsets, from, first, turn) = state;
            let until = (from + PIECE_LINES).min(offsets.len());
            if first.is_none() && from >= offsets.len() {
                return None;
            }
            let (text, file, offsets) = tokio::task::spawn_blocking(move || {
                let rows = Listed::read(&file, offsets.get(from..until).unwrap_or_default(), masked);
                (rows.map(|rows| rows.iter().map(line).collect::<String>()), file, offsets)
            })
            .await
            .ok()?;
            let last = if remarks && is_cut && until >= offsets.len() { end } else { String::new() };
            let text = text.map(|text| Bytes::from(first.unwrap_or_default() + &text + &last));
            Some((text, (file, offsets, until, None, turn)))
        }
    });
    // What compresses asks once more after the end.
    let mut response = Body::from_stream(pieces.fuse()).into_response();
    if is_cut {
        response.headers_mut().insert(INCOMPLETE_HEADER, HeaderValue::from(count as u64));
    }
    Ok(response)
}
