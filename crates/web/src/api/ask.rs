//! What is asked, read strictly: a misspelt parameter is told, not passed over.

use super::BODY_OCTETS_MAX;
use crate::auth::mask;
use crate::guard::Who;
use crate::moment::{self, End};
use crate::paths;
use crate::problem::{Kind, Problem};
use crate::state::Web;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Query as AxumQuery, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::tz::TimeZone;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use trunkline_store::json::Object;
use trunkline_store::search::Outcome;
use trunkline_store::{Cursor, Filter, Order, Skipped};

/// How long the body of a request may take.
pub const BODY_TIME: Duration = Duration::from_secs(20);
/// Rows of a page when nothing is said.
pub const LIMIT_DEFAULT: usize = 100;
/// Most rows of a page.
// Limit: rows of one page of the API
// Beyond: the request is refused
// Seen in: the error message
pub const LIMIT_MAX: usize = 1000;

/// The query of a request.
pub struct Ask<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<Arc<Web>> for Ask<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Web>) -> Result<Self, Problem> {
        match AxumQuery::<T>::try_from_uri(&parts.uri) {
            Ok(AxumQuery(asked)) => Ok(Ask(asked)),
            Err(error) => {
                let text = error.body_text();
                let text = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
                Err(misread(text))
            }
        }
    }
}

/// The JSON body of a request.
pub struct Told<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<Web>> for Told<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, web: &Arc<Web>) -> Result<Self, Problem> {
        read_body(request, web, BODY_OCTETS_MAX).await.map(Told)
    }
}

/// Octets of a body that may be long.
pub const LARGE_OCTETS_MAX: usize = 1 << 20;

/// The JSON body of a request that may be long: its route has to allow [`LARGE_OCTETS_MAX`].
pub struct Large<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<Web>> for Large<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, web: &Arc<Web>) -> Result<Self, Problem> {
        read_body(request, web, LARGE_OCTETS_MAX).await.map(Large)
    }
}

async fn read_body<T: DeserializeOwned>(request: Request, web: &Arc<Web>, octets_max: usize) -> Result<T, Problem> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        return Err(Problem::new(Kind::BadParameter, "The body must be application/json."));
    }
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|octets| octets > octets_max) {
        return Err(Problem::new(Kind::TooLarge, "The body is too large."));
    }
    let read = timeout(BODY_TIME, Bytes::from_request(request, web)).await;
    let octets = match read {
        Err(_) => return Err(Problem::new(Kind::BadParameter, "The body came too slowly.")),
        Ok(Err(error)) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            return Err(Problem::new(Kind::TooLarge, "The body is too large."));
        }
        Ok(Err(_)) => return Err(Problem::new(Kind::BadParameter, "The body did not come whole.")),
        Ok(Ok(octets)) => octets,
    };
    serde_json::from_slice(&octets).map_err(|error| misread(&error.to_string()))
}

/// A problem from what serde says, with the parameter's name where it tells it.
fn misread(text: &str) -> Problem {
    let problem = Problem::new(Kind::BadParameter, text);
    let named = text.split('`').nth(1).or_else(|| text.split_once(": ").map(|(name, _)| name));
    match named.filter(|name| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')) {
        Some(name) => problem.with("parameter", name),
        None => problem,
    }
}

/// An answer that is written already.
pub struct Text {
    kind: &'static str,
    text: String,
}

impl Text {
    /// JSON.
    pub fn json(text: String) -> Self {
        Text { kind: "application/json", text }
    }

    /// JSON, written by `write` as the members of an object.
    pub fn object(write: impl FnOnce(&mut Object<'_>)) -> Self {
        let mut text = String::new();
        let mut object = Object::new(&mut text);
        write(&mut object);
        object.end();
        Text::json(text)
    }

    /// Another kind.
    pub fn of(kind: &'static str, text: String) -> Self {
        Text { kind, text }
    }
}

impl IntoResponse for Text {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, HeaderValue::from_static(self.kind))], self.text).into_response()
    }
}

/// A span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// From then on.
    pub from_ns: i64,
    /// Before then.
    pub to_ns: i64,
}

impl Span {
    /// Reads `from` and `to`; what is left out is open.
    ///
    /// # Errors
    /// They are no times, or there is none between them.
    pub fn read(from: Option<&str>, to: Option<&str>, now_ns: i64, zone: &TimeZone) -> Result<Self, Problem> {
        let from_ns = moment::maybe("from", from, End::From, now_ns, zone)?.unwrap_or(i64::MIN);
        let to_ns = moment::maybe("to", to, End::To, now_ns, zone)?.unwrap_or(i64::MAX);
        if from_ns >= to_ns {
            return Err(Problem::parameter("to", "'to' must be after 'from'."));
        }
        Ok(Span { from_ns, to_ns })
    }
}

/// Reads a filter; none for an empty text.
///
/// # Errors
/// Where it is wrong and what was expected.
pub fn filter(text: Option<&str>, zone: &TimeZone) -> Result<Option<Filter>, Problem> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    let read = Filter::parse_in(text, &|clock_ns| moment::of_clock(clock_ns, zone));
    read.map(Some).map_err(|error| Problem::filter(text, &error))
}

/// The same, if whoever asks may ask it: who sees masked numbers may ask for whole ones, and for few.
///
/// # Errors
/// As [`filter`]; [`Kind::Forbidden`], [`Kind::TooMany`].
pub fn filter_of(web: &Web, who: &Who, text: Option<&str>, zone: &TimeZone) -> Result<Option<Filter>, Problem> {
    let filter = filter(text, zone)?;
    if let Some(filter) = filter.as_ref().filter(|_| who.masked()) {
        let numbers = mask::check_filter(filter).map_err(|refusal| who.refused(refusal))?;
        let numbers = numbers.iter().map(String::as_str);
        web.desk.may_ask_for(&who.viewer, numbers, who.now_ns).map_err(|refusal| who.refused(refusal))?;
    }
    Ok(filter)
}

/// The text of a search, if whoever asks may search by it.
///
/// # Errors
/// [`Kind::Forbidden`].
pub fn search_of(who: &Who, text: Option<String>) -> Result<String, Problem> {
    let text = text.unwrap_or_default();
    if who.masked() {
        mask::check_search(&text).map_err(|refusal| who.refused(refusal))?;
    }
    Ok(text)
}

/// Reads an order: `newest` or `oldest`.
///
/// # Errors
/// It is neither.
pub fn order(text: Option<&str>) -> Result<Order, Problem> {
    match text {
        None | Some("" | "newest") => Ok(Order::Newest),
        Some("oldest") => Ok(Order::Oldest),
        Some(_) => Err(Problem::parameter("order", "The order is newest or oldest.")),
    }
}

/// Reads how something ended.
///
/// # Errors
/// It is no outcome.
pub fn outcome(text: Option<&str>) -> Result<Option<Outcome>, Problem> {
    let unknown = || Problem::parameter("state", "The state is ok, failed or unanswered.");
    text.filter(|text| !text.is_empty()).map(|text| Outcome::named(text).ok_or_else(unknown)).transpose()
}

/// How many rows are wanted.
///
/// # Errors
/// None, or more than [`LIMIT_MAX`].
pub fn limit(limit: Option<u32>) -> Result<usize, Problem> {
    match limit {
        None => Ok(LIMIT_DEFAULT),
        Some(limit @ 1..) if limit as usize <= LIMIT_MAX => Ok(limit as usize),
        Some(_) => Err(Problem::parameter("limit", format!("The limit is from 1 to {LIMIT_MAX}."))),
    }
}

/// Where to go on.
///
/// # Errors
/// It is not what `next` of a page said.
pub fn cursor(text: Option<&str>) -> Result<Option<Cursor>, Problem> {
    let read = text.filter(|t| !t.is_empty()).map(str::parse::<Cursor>).transpose();
    read.map_err(|_| Problem::parameter("cursor", "The cursor is 'next' of the page before, unchanged."))
}

/// Writes what every page ends with: `next`, and days that could not be read.
pub fn page_end(object: &mut Object<'_>, next: Option<Cursor>, skipped: &[Skipped]) {
    object.maybe_text("next", next.map(|cursor| cursor.to_string()).as_deref());
    self::skipped(object, skipped);
}

/// Writes the days that could not be read.
pub fn skipped(object: &mut Object<'_>, skipped: &[Skipped]) {
    object.list("skipped", skipped, |out, skipped| {
        let mut day = Object::new(out);
        // The whole reason names a file of this machine: that is for its log.
        let why = skipped.why.split_once(".sqlite: ").map_or(skipped.why.as_str(), |(_, why)| why);
        day.display("day", skipped.day).text("why", &paths::named(why));
        day.end();
    });
}
