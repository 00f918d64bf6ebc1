//! Signing in through the identity provider: the way there and the way back, as a browser goes them. How it ended is
//! told by a page in words, never by JSON in a window; programs that ask for JSON get a problem.

use super::session::with_cookie;
use crate::auth::oidc::{Claimed, Returned, SIGN_IN_S, page_of};
use crate::auth::{Desk, From, OidcError, Provider, Refusal, SignedIn};
use crate::guard::{Anyone, set_oidc_cookie};
use crate::problem::{Kind, Problem};
use crate::state::Web;
use axum::extract::{Query, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use utoipa::IntoParams;

/// Sign-ins at a time that ask the identity provider something; more wait a moment, then are told to come back.
// Limit: sign-ins that ask the identity provider at once
// Beyond: further ones wait, then are refused
// Seen in: the error message
pub const PROVIDER_ASKS_MAX: usize = 8;
/// How long a sign-in waits for its turn.
pub const PROVIDER_TURN_TIME: Duration = Duration::from_secs(5);
/// How long one sign-in may ask the provider, in all its questions.
pub const PROVIDER_TIME: Duration = Duration::from_secs(15);
/// The parameter by which a page is told why nobody was signed in: a word that it has a sentence for.
pub const SIGN_IN_PARAMETER: &str = "sign-in";

/// Where sign-ins begin.
const START: &str = "/api/v1/session/oidc/start";
/// Where the provider sends browsers back to.
const RETURN: &str = "/api/v1/session/oidc/return";

/// Where a browser begins to sign in: by the public name where one is configured, because the provider sends it back
/// there, and what it was given here is of this host alone.
pub fn start_address(web: &Web) -> String {
    format!("{}{START}", web.options.public_url.as_deref().unwrap_or_default())
}

/// Why nobody was signed in.
struct NotSignedIn {
    /// In a word.
    word: &'static str,
    problem: Problem,
    /// Whether the audit log has it already.
    written: bool,
    /// Whom the provider named, and what it calls them, where it gave them no role.
    named: Option<Box<(String, String)>>,
}

impl std::convert::From<Problem> for NotSignedIn {
    fn from(problem: Problem) -> Self {
        NotSignedIn { word: problem.kind.told().0, problem, written: false, named: None }
    }
}

impl std::convert::From<OidcError> for NotSignedIn {
    fn from(error: OidcError) -> Self {
        let named = match &error {
            OidcError::NoRole { name, subject } => Some(Box::new((name.clone(), subject.clone()))),
            _ => None,
        };
        NotSignedIn { word: error.word(), problem: Refusal::from(error).into(), written: false, named }
    }
}

impl NotSignedIn {
    fn new(word: &'static str, kind: Kind, text: &str) -> Self {
        NotSignedIn { word, problem: Problem::new(kind, text), written: false, named: None }
    }

    /// Writes it down, and sends a browser to the page, which says it in words.
    async fn told(self, web: &Web, anyone: &Anyone, page: &str, headers: &HeaderMap) -> Response {
        if !self.written {
            tracing::warn!(target: "web", "nobody was signed in by the identity provider: {}", self.problem.text());
            let (word, now_ns) = (self.word, anyone.now_ns);
            let (address, agent) = (anyone.caller.client.address, anyone.agent.clone());
            let issuer = web.oidc.as_ref().map_or("", Provider::issuer).to_owned();
            let named = self.named;
            let write = move |desk: &Desk| {
                let from = From { address, agent: &agent, cookie: None };
                let name = named.as_ref().map_or("", |named| &named.0);
                let lost = named.as_ref().map(|named| (issuer.as_str(), named.1.as_str()));
                desk.refuse_oidc(name, lost, word, from, now_ns)
            };
            // Nobody is signed in all the same; what failed is in the log already.
            let _ = web.at_desk(write).await;
        }
        if wants_json(headers) {
            return self.problem.into_response();
        }
        to(&with_word(page, self.word))
    }
}

/// Whether a program asks: browsers that go somewhere want a page.
fn wants_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.contains("application/json") && !accept.contains("text/html")
}

/// A page with a word in its query.
fn with_word(page: &str, word: &str) -> String {
    let (page, fragment) = page.split_once('#').map_or((page, None), |(page, fragment)| (page, Some(fragment)));
    let joint = if page.contains('?') { '&' } else { '?' };
    let fragment = fragment.map_or_else(String::new, |fragment| format!("#{fragment}"));
    format!("{page}{joint}{SIGN_IN_PARAMETER}={word}{fragment}")
}

/// Sends a browser on (RFC 9110 section 15.4.4).
fn to(location: &str) -> Response {
    match HeaderValue::from_str(location) {
        Ok(location) => (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response(),
        Err(error) => Problem::failed(error).into_response(),
    }
}

/// The address that the provider knows us by.
fn redirect_uri(web: &Web, anyone: &Anyone) -> Result<String, NotSignedIn> {
    if let Some(public) = &web.options.public_url {
        return Ok(format!("{public}{RETURN}"));
    }
    let host = anyone.caller.host.as_deref().and_then(|host| host.parse::<Authority>().ok());
    let Some(host) = host.filter(|host| !host.as_str().contains('@')) else {
        return Err(Problem::parameter("host", "The request does not say which host it asks.").into());
    };
    let scheme = if anyone.caller.https { "https" } else { "http" };
    Ok(format!("{scheme}://{host}{RETURN}"))
}

/// The provider, for a request over which a session may be opened.
fn provider<'a>(web: &'a Web, anyone: &Anyone) -> Result<&'a Provider, NotSignedIn> {
    let off = || NotSignedIn::new("off", Kind::NotFound, "Sign-in by an identity provider is not set up (web.oidc).");
    let provider = web.oidc.as_ref().ok_or_else(off)?;
    if !anyone.caller.private {
        let text = "Sign in by https, or on the server itself: over http others could take your session.";
        return Err(NotSignedIn::new("not-private", Kind::Forbidden, text));
    }
    Ok(provider)
}

/// Asks the provider, a few sign-ins at a time, and not for ever: one that hangs takes nothing from the others.
async fn asked<T>(web: &Web, ask: impl Future<Output = Result<T, OidcError>>) -> Result<T, NotSignedIn> {
    let Ok(Ok(_turn)) = timeout(PROVIDER_TURN_TIME, web.provider_asks.acquire()).await else {
        return Err(Problem::new(Kind::Busy, "Too many are signing in.").retry_after(5).into());
    };
    match timeout(PROVIDER_TIME, ask).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(OidcError::Unreachable("no answer in time".to_owned()).into()),
    }
}

/// Where to go afterwards.
#[derive(Default, Deserialize, IntoParams)]
pub struct StartAsk {
    /// The page to show when it is done, as a path of this server; anything else is `/`.
    #[serde(default)]
    return_to: String,
}

/// Sends a browser to the identity provider to sign in there.
#[utoipa::path(
    get, path = "/session/oidc/start", tag = "session", params(StartAsk),
    responses((status = 303, description = "To the provider; or to the page, which says what is wrong."))
)]
pub async fn start(State(web): State<Arc<Web>>, anyone: Anyone, uri: Uri, headers: HeaderMap) -> Response {
    let ask = Query::<StartAsk>::try_from_uri(&uri).map(|query| query.0).unwrap_or_default();
    match started(&web, &anyone, &ask.return_to).await {
        Ok(response) => response,
        Err(why) => why.told(&web, &anyone, "/", &headers).await,
    }
}

async fn started(web: &Web, anyone: &Anyone, return_to: &str) -> Result<Response, NotSignedIn> {
    let provider = provider(web, anyone)?;
    let (address, now_ns) = (anyone.caller.client.address, anyone.now_ns);
    web.desk.may_start_oidc(address, now_ns).map_err(Problem::from)?;
    let redirect_uri = redirect_uri(web, anyone)?;
    let started = asked(web, provider.start(&redirect_uri, return_to, now_ns)).await?;
    let mut response = to(&started.location);
    let cookie = set_oidc_cookie(started.cookie.expose(), SIGN_IN_S.unsigned_abs(), &anyone.caller);
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}

/// Takes a browser back from the identity provider: opens a session and sends it to its page.
#[utoipa::path(
    get, path = "/session/oidc/return", tag = "session",
    params(
        ("code" = Option<String>, Query, description = "The authorization code."),
        ("state" = Option<String>, Query, description = "What the provider was given."),
        ("iss" = Option<String>, Query, description = "Who answers (RFC 9207)."),
        ("error" = Option<String>, Query, description = "Why not."),
        ("error_description" = Option<String>, Query, description = "Why not, in words."),
    ),
    responses((status = 303, description = "To the page, signed in; or to the page, which says what is wrong."))
)]
pub async fn come_back(State(web): State<Arc<Web>>, anyone: Anyone, uri: Uri, headers: HeaderMap) -> Response {
    // What a provider adds to it is not ours to refuse.
    let returned = Query::<Returned>::try_from_uri(&uri).map(|query| query.0).unwrap_or_default();
    let page = page_of(anyone.oidc_cookie.as_deref());
    let mut response = match finished(&web, &anyone, &returned).await {
        Ok(done) => with_cookie(to(&page), &done, &anyone.caller, anyone.now_ns),
        Err(why) => why.told(&web, &anyone, &page, &headers).await,
    };
    // However it ended, this sign-in is used up.
    response.headers_mut().append(header::SET_COOKIE, set_oidc_cookie("", 0, &anyone.caller));
    response
}

async fn finished(web: &Web, anyone: &Anyone, returned: &Returned) -> Result<SignedIn, NotSignedIn> {
    let provider = provider(web, anyone)?;
    let redirect_uri = redirect_uri(web, anyone)?;
    let (address, now_ns) = (anyone.caller.client.address, anyone.now_ns);
    web.desk.begin_oidc(address, now_ns).map_err(Problem::from)?;
    let ask = provider.finish(returned, anyone.oidc_cookie.as_deref(), &redirect_uri, now_ns);
    let claimed = asked(web, ask).await.map(|(claimed, _)| claimed).inspect_err(|why| {
        // Nobody is held off because the provider is away, or misconfigured: passwords go on. Nor by what was not begun
        // here: any page can send a browser to this address, and a state cannot be guessed.
        if matches!(why.word, "unreachable" | "provider" | "busy" | "not-begun") {
            web.desk.forgive_oidc(address);
        }
    })?;
    opened(web, anyone, claimed).await
}

/// Opens a session for whom the provider named.
async fn opened(web: &Web, anyone: &Anyone, claimed: Claimed) -> Result<SignedIn, NotSignedIn> {
    let (address, agent, now_ns) = (anyone.caller.client.address, anyone.agent.clone(), anyone.now_ns);
    let cookie = anyone.cookie.clone();
    let opened = web.at_desk(move |desk| {
        let from = From { address, agent: &agent, cookie: cookie.as_deref() };
        desk.sign_in_oidc(&claimed, from, now_ns)
    });
    let opened = opened.await.map_err(|problem| NotSignedIn { written: true, ..problem.into() })?;
    web.desk.forgive_oidc(address);
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_goes_into_the_query_of_any_page() {
        assert_eq!(with_word("/", "no-role"), "/?sign-in=no-role");
        assert_eq!(with_word("/calls?filter=mos%3C3#at", "off"), "/calls?filter=mos%3C3&sign-in=off#at");
        assert_eq!(with_word("/calls/1#at?x", "off"), "/calls/1?sign-in=off#at?x");
    }

    #[test]
    fn browsers_want_pages() {
        for (accept, json) in [
            ("text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8", false),
            ("*/*", false),
            ("application/json", true),
            ("application/problem+json, application/json", true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            assert_eq!(wants_json(&headers), json, "{accept}");
        }
        assert!(!wants_json(&HeaderMap::new()));
    }
}
