//! What every request passes on its way in and out: whom it comes from, whether they may, and the headers that keep
//! browsers from doing what nobody meant.

use crate::moment;
use crate::peer::{self, Client, Peer};
use crate::problem::{Kind, Problem};
use crate::state::Web;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Headers of every answer. Scripts, styles and everything else come from here alone, nobody frames the pages, and no
/// type is guessed.
pub const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
         object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];
/// A year, as browsers that have seen TLS here shall not ask without (RFC 6797).
const TRANSPORT_SECURITY: &str = "max-age=31536000";

/// The first thing that looks at a request: finds the client, refuses foreign networks, counts, and adds [`HEADERS`].
pub async fn gate(State(web): State<Arc<Web>>, mut request: Request, next: Next) -> Response {
    let began = std::time::Instant::now();
    let client = match request.extensions().get::<Peer>() {
        Some(peer) => peer::client(*peer, request.headers(), &web.options.trusted_proxies),
        None => return Problem::failed("a request without a peer").into_response(),
    };
    request.extensions_mut().insert(client);
    let networks = &web.options.networks;
    let allowed = networks.is_empty() || networks.iter().any(|net| net.contains(&client.address));
    let mut response = if allowed {
        next.run(request).await
    } else {
        web.count(|c| c.networks_refused += 1);
        Problem::new(Kind::Network, "This network may not use Trunkline here.").into_response()
    };
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    if client.https {
        let value = HeaderValue::from_static(TRANSPORT_SECURITY);
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, value);
    }
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    web.count_answer(response.status(), began.elapsed());
    response
}

/// Who asks, as far as every endpoint needs it.
pub struct Who {
    /// Whom the request comes from.
    pub client: Client,
    /// Now, nanoseconds since 1970.
    pub now_ns: i64,
}

impl FromRequestParts<Arc<Web>> for Who {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _web: &Arc<Web>) -> Result<Self, Problem> {
        let client = parts.extensions.get::<Client>().copied();
        let client = client.ok_or_else(|| Problem::failed("a request without a client"))?;
        Ok(Who { client, now_ns: moment::now_ns() })
    }
}

impl Who {
    /// Refuses what is not allowed.
    pub fn need(&self, _permission: Permission) -> Result<(), Problem> {
        Ok(())
    }

    /// Whether numbers are masked.
    pub fn masked(&self) -> bool {
        false
    }
}

/// What may be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    CallsRead,
    MessagesRead,
    PacketsDownload,
    CallsExport,
    PacketsExtract,
    CapturesUpload,
}

/// A status for who may not see whole numbers.
pub fn masked_status(status: crate::live::Status) -> crate::live::Status {
    status
}

/// Calls for who may not see whole numbers.
pub fn masked_calls(calls: crate::live::LiveCalls) -> crate::live::LiveCalls {
    calls
}

/// A call for who may not see whole numbers.
pub fn mask_call(_call: &mut trunkline_store::row::Call) {}
