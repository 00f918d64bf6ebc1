//! What went wrong, as RFC 9457 (`application/problem+json`): a kind for programs, a sentence for people, never what is
//! inside.

use crate::auth::{Refusal, Viewer};
use crate::guard::RefusedTo;
use crate::paths;
use crate::sources::{SourceError, Trouble};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use std::net::IpAddr;
use trunkline_store::{FilterError, StoreError};

/// The kinds of problems; `type` is `/problems/` and the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nobody is signed in.
    SignedOut,
    /// Who is signed in may not do that.
    Forbidden,
    /// The request does not prove that it comes from the UI.
    Csrf,
    /// Not from this network.
    Network,
    /// Asked by a name that is not ours.
    Host,
    /// There is no such thing.
    NotFound,
    /// The method is not for this.
    Method,
    /// Several things are called that.
    Ambiguous,
    /// The filter is wrong.
    BadFilter,
    /// A parameter or the body is wrong.
    BadParameter,
    /// The name or the password is wrong.
    BadPassword,
    /// A link that was used, is too old or never was.
    BadLink,
    /// What is there already stands in the way.
    Conflict,
    /// The body is too large.
    TooLarge,
    /// Too many requests.
    TooMany,
    /// Too many wrong passwords for this name: held off for a while.
    Locked,
    /// The identity provider cannot be reached, or its answer does not hold.
    Provider,
    /// Too much is under way.
    Busy,
    /// The disk is too full to write it.
    NoRoom,
    /// It failed here.
    Failed,
}

/// All kinds, for the document.
pub const KINDS: [Kind; 20] = [
    Kind::SignedOut,
    Kind::Forbidden,
    Kind::Csrf,
    Kind::Network,
    Kind::Host,
    Kind::NotFound,
    Kind::Method,
    Kind::Ambiguous,
    Kind::BadFilter,
    Kind::BadParameter,
    Kind::BadPassword,
    Kind::BadLink,
    Kind::Conflict,
    Kind::TooLarge,
    Kind::TooMany,
    Kind::Locked,
    Kind::Provider,
    Kind::Busy,
    Kind::NoRoom,
    Kind::Failed,
];

impl Kind {
    /// Name, status and title.
    pub fn told(self) -> (&'static str, StatusCode, &'static str) {
        match self {
            Kind::SignedOut => ("signed-out", StatusCode::UNAUTHORIZED, "Sign in first"),
            Kind::Forbidden => ("forbidden", StatusCode::FORBIDDEN, "Your role does not allow this"),
            Kind::Csrf => ("csrf", StatusCode::FORBIDDEN, "The request is not from the web pages"),
            Kind::Network => ("network", StatusCode::FORBIDDEN, "Network not allowed"),
            Kind::Host => ("host", StatusCode::MISDIRECTED_REQUEST, "Host name not allowed"),
            Kind::NotFound => ("not-found", StatusCode::NOT_FOUND, "Not found"),
            Kind::Method => ("method", StatusCode::METHOD_NOT_ALLOWED, "Method not allowed"),
            Kind::Ambiguous => ("ambiguous", StatusCode::MULTIPLE_CHOICES, "Several match"),
            Kind::BadFilter => ("bad-filter", StatusCode::BAD_REQUEST, "The filter is not valid"),
            Kind::BadParameter => ("bad-parameter", StatusCode::BAD_REQUEST, "Bad request"),
            // Not 401: who is signed in and mistypes the old password stays signed in.
            Kind::BadPassword => ("bad-password", StatusCode::FORBIDDEN, "Not accepted"),
            Kind::BadLink => ("bad-link", StatusCode::BAD_REQUEST, "The link is not valid"),
            Kind::Conflict => ("conflict", StatusCode::CONFLICT, "Conflict"),
            Kind::TooLarge => ("too-large", StatusCode::PAYLOAD_TOO_LARGE, "Too large"),
            Kind::TooMany => ("too-many", StatusCode::TOO_MANY_REQUESTS, "Too many requests"),
            Kind::Locked => ("locked", StatusCode::TOO_MANY_REQUESTS, "Too many attempts: wait"),
            Kind::Provider => ("provider", StatusCode::BAD_GATEWAY, "The identity provider failed"),
            Kind::Busy => ("busy", StatusCode::SERVICE_UNAVAILABLE, "Server busy"),
            Kind::NoRoom => ("no-room", StatusCode::INSUFFICIENT_STORAGE, "The disk is too full"),
            Kind::Failed => ("failed", StatusCode::INTERNAL_SERVER_ERROR, "Server error"),
        }
    }
}

/// An answer that tells what went wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Which kind.
    pub kind: Kind,
    detail: String,
    extra: Box<Map<String, Value>>,
    retry_after_s: Option<u64>,
    to: Option<Box<RefusedTo>>,
}

impl Problem {
    /// Of a kind, in a sentence that anybody may read.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Problem { kind, detail: detail.into(), extra: Box::default(), retry_after_s: None, to: None }
    }

    /// A parameter that is wrong.
    pub fn parameter(name: &str, detail: impl Into<String>) -> Self {
        Problem::new(Kind::BadParameter, detail).with("parameter", name)
    }

    /// With another member.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.extra.insert(name.to_owned(), value.into());
        self
    }

    /// With the time after which it makes sense to try again.
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self.with("retry_after_s", seconds)
    }

    /// Refused to a user, which is written down.
    pub fn refused_to(mut self, viewer: Viewer, address: IpAddr) -> Self {
        self.to = Some(Box::new(RefusedTo(viewer, address)));
        self
    }

    /// The same in other words.
    pub fn saying(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    /// What is wrong, in words.
    pub fn text(&self) -> &str {
        &self.detail
    }

    /// A failure whose cause is for the log, not for who asked.
    pub fn failed(cause: impl std::fmt::Display) -> Self {
        tracing::warn!(target: "web", "request failed: {cause}");
        Problem::new(Kind::Failed, "The server failed. Its log has the reason.")
    }

    /// A filter with a mistake.
    pub fn filter(text: &str, error: &FilterError) -> Self {
        let near: String = text.chars().skip(error.column.saturating_sub(1)).take(error.width.clamp(1, 64)).collect();
        let (what, expected) = match error.message.split_once("; ") {
            Some((what, expected)) => (what, Some(expected)),
            None => (error.message.as_str(), None),
        };
        Problem::new(Kind::BadFilter, error.to_string())
            .with("column", error.column)
            .with("width", error.width)
            .with("near", near)
            .with("message", what)
            .with("expected", expected.map_or(Value::Null, Value::from))
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let kind = KINDS.into_iter().find(|kind| kind.told().0 == refusal.kind());
        let (Some(kind), false) = (kind, matches!(refusal, Refusal::Failed(_))) else {
            return Problem::failed(refusal);
        };
        let problem = Problem::new(kind, sentence(&refusal.shown()));
        let problem = match &refusal {
            Refusal::BadValue { parameter, .. } => problem.with("parameter", *parameter),
            _ => problem,
        };
        refusal.retry_after_s().map_or(problem.clone(), |seconds| problem.retry_after(seconds))
    }
}

/// Words that begin like a sentence and end like one.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default();
    let end = if text.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Question(text) => Problem::new(Kind::BadParameter, text),
            StoreError::Limit(text) => Problem::new(Kind::Busy, text).retry_after(5),
            error => Problem::failed(error),
        }
    }
}

impl From<SourceError> for Problem {
    fn from(error: SourceError) -> Self {
        if error.trouble == Trouble::Failed {
            return Problem::failed(error.text);
        }
        let error = SourceError { text: paths::named(&error.text), ..error };
        match error.trouble {
            Trouble::NotFound => Problem::new(Kind::NotFound, error.text),
            Trouble::Refused => Problem::new(Kind::BadParameter, error.text),
            Trouble::Conflict => Problem::new(Kind::Conflict, error.text),
            Trouble::Busy => Problem::new(Kind::Busy, error.text).retry_after(5),
            Trouble::Cancelled => Problem::new(Kind::Busy, "It was cancelled."),
            Trouble::NoRoom => Problem::new(Kind::NoRoom, error.text),
            Trouble::Failed => Problem::failed(error.text),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (name, status, title) = self.kind.told();
        let mut body = json!({
            "type": format!("/problems/{name}"),
            "title": title,
            "status": status.as_u16(),
            "detail": self.detail,
        });
        if let Value::Object(members) = &mut body {
            members.extend(*self.extra);
        }
        let mut response = (status, body.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.kind == Kind::SignedOut {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"trunkline\""));
        }
        if let Some(to) = self.to {
            response.extensions_mut().insert(*to);
        }
        response
    }
}
