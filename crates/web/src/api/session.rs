//! Signing in and out: by password, by a one-time link, and what is known of who is signed in.

use super::ask::Told;
use super::schema;
use crate::auth::{Desk, From, LinkKind, Provider, Refusal, Role, Secret, SignedIn, Viewer, action, audit};
use crate::guard::{self, Anyone, Caller, Rest, Who};
use crate::problem::{Kind, Problem};
use crate::server::Mode;
use crate::state::Web;
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use utoipa::ToSchema;

/// Who is signed in, and what they may do.
#[derive(Serialize, ToSchema)]
pub struct Session {
    /// Whether somebody is.
    pub signed_in: bool,
    /// Whether there is no administrator yet: a one-time link makes the first.
    pub first_run: bool,
    /// How to sign in through the identity provider; null if that is not set up.
    pub oidc: Option<Oidc>,
    /// Who.
    pub user: Option<SessionUser>,
    /// What `X-CSRF-Token` has to hold.
    pub csrf: Option<String>,
    /// What they may do.
    pub may: Vec<&'static str>,
    /// Whether no device and no graph is hidden from them: rules and channels of alerts are for those who see all.
    pub all_graphs: bool,
    /// Version of the program.
    pub version: String,
    /// In which of its lives the program is.
    pub mode: Mode,
    /// Whether captures may be brought.
    pub uploads: bool,
}

/// Signing in through the identity provider.
#[derive(Serialize, ToSchema)]
pub struct Oidc {
    /// What to write on the button.
    pub label: String,
    /// Where the button leads, to which `?return_to=` and a page may be put.
    pub start: String,
}

/// The one who is signed in.
#[derive(Serialize, ToSchema)]
pub struct SessionUser {
    /// Name.
    pub name: String,
    /// What to call them.
    pub display_name: String,
    /// Role.
    pub role: Role,
    /// Whether the password must be changed before anything else.
    pub must_change_password: bool,
}

async fn session(web: &Web, viewer: Option<&Viewer>) -> Result<Session, Problem> {
    // Whoever opens captures is signed in by a link each time: there is nobody to be made.
    let first_run = matches!(web.options.mode, Mode::Run | Mode::Web)
        && !web.at_desk(|desk| desk.has_administrator(crate::moment::now_ns())).await?;
    let user = |v: &Viewer| SessionUser {
        name: v.name.clone(),
        display_name: v.display_name.clone(),
        role: v.role,
        must_change_password: v.must_change_password,
    };
    let oidc = |p: &Provider| Oidc { label: p.label().to_owned(), start: super::oidc::start_address(web) };
    Ok(Session {
        signed_in: viewer.is_some(),
        first_run,
        oidc: web.oidc.as_ref().map(oidc),
        user: viewer.map(user),
        csrf: viewer.and_then(|v| v.csrf().map(str::to_owned)),
        may: viewer.map(|v| v.permissions.names()).unwrap_or_default(),
        all_graphs: viewer.is_some_and(|v| v.graphs.is_none()),
        version: web.options.version.clone(),
        mode: web.options.mode,
        uploads: web.options.uploads && web.sources.reader.is_some(),
    })
}

/// Who is signed in, and what they may do.
#[utoipa::path(get, path = "/session", tag = "session", responses((status = 200, body = Session)))]
pub async fn show(State(web): State<Arc<Web>>, anyone: Anyone) -> Result<Json<Session>, Problem> {
    Ok(Json(session(&web, anyone.viewer.as_ref().ok()).await?))
}

/// Where a request to sign in comes from, for a thread of its own.
struct Origin {
    address: IpAddr,
    agent: String,
    cookie: Option<String>,
    caller: Caller,
}

impl Origin {
    /// Of a request over which a session may be opened.
    fn of(anyone: &Anyone) -> Result<Self, Problem> {
        if !anyone.caller.private {
            let text = "Sign in by https, or on the server itself: over http others could read your password. \
                        A proxy in front has to be named in web.trusted_proxies and to send X-Forwarded-Proto.";
            return Err(Problem::new(Kind::Forbidden, text));
        }
        Ok(Origin {
            address: anyone.caller.client.address,
            agent: anyone.agent.clone(),
            cookie: anyone.cookie.clone(),
            caller: anyone.caller.clone(),
        })
    }

    fn from(&self) -> From<'_> {
        From { address: self.address, agent: &self.agent, cookie: self.cookie.as_deref() }
    }
}

/// Answers with a new session and its cookie.
async fn signed_in(web: &Web, signed_in: SignedIn, caller: &Caller, now_ns: i64) -> Result<Response, Problem> {
    let shown = session(web, Some(&signed_in.viewer)).await?;
    Ok(with_cookie(Json(shown).into_response(), &signed_in, caller, now_ns))
}

/// The same answer, with the cookie of a session that was opened.
pub fn with_cookie(mut response: Response, signed_in: &SignedIn, caller: &Caller, now_ns: i64) -> Response {
    let seconds = signed_in.expires_ns.saturating_sub(now_ns).max(0).unsigned_abs() / 1_000_000_000;
    let cookie = guard::set_cookie(signed_in.cookie.expose(), seconds, caller);
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    response
}

/// Name and password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignInAsk {
    /// The user's name.
    pub name: String,
    /// The password.
    #[schema(format = Password)]
    pub password: String,
}

/// Signs in by name and password. The answer takes as long and says the same whatever was wrong.
#[utoipa::path(
    post, path = "/session", tag = "session", request_body = SignInAsk,
    responses((status = 200, body = Session), (status = "4XX", body = schema::Problem))
)]
pub async fn sign_in(
    State(web): State<Arc<Web>>,
    anyone: Anyone,
    Told(ask): Told<SignInAsk>,
) -> Result<Response, Problem> {
    let (origin, now_ns) = (Origin::of(&anyone)?, anyone.now_ns);
    let caller = origin.caller.clone();
    let (name, password) = (ask.name, Secret::given(ask.password));
    let asked = move |desk: &Desk| desk.sign_in(&name, password.expose(), origin.from(), now_ns);
    let done = web.at_desk_with_password(asked).await?;
    signed_in(&web, done, &caller, now_ns).await
}

/// Signs out. Where that cannot be written, the session is over all the same, and the cookie goes: the problem
/// (`failed`) then has the member `signed_out`.
#[utoipa::path(
    delete, path = "/session", tag = "session",
    responses((status = 204), (status = "4XX", body = schema::Problem), (status = "5XX", body = schema::Problem))
)]
pub async fn sign_out(State(web): State<Arc<Web>>, anyone: Anyone) -> Result<Response, Problem> {
    let Anyone { caller, viewer, cookie, now_ns, .. } = anyone;
    // Where it cannot even be read who it is, whoever shows the cookie may end its session.
    let unknown = viewer.as_ref().err().filter(|problem| problem.kind != Kind::Failed).cloned();
    if let Some(problem) = unknown {
        return Err(problem);
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Some(cookie) = cookie {
        let address = caller.client.address;
        let asked = Arc::new(AtomicBool::new(false));
        let was_asked = Arc::clone(&asked);
        let ended = web.at_desk(move |desk| {
            was_asked.store(true, Ordering::Release);
            let ended = desk.sign_out(&cookie);
            if let Ok(viewer) = viewer {
                // Where the log cannot be written, a session that has ended is better than one that goes on.
                let _ = desk.audit_viewer(&viewer, address, action::SIGN_OUT, "", &audit::outcome(&ended), now_ns);
            }
            ended
        });
        if let Err(problem) = ended.await {
            if !asked.load(Ordering::Acquire) {
                // Nothing has ended: to be tried again.
                return Err(problem);
            }
            response = problem.saying(NOT_WRITTEN).with("signed_out", true).into_response();
        }
    }
    response.headers_mut().insert(header::SET_COOKIE, guard::set_cookie("", 0, &caller));
    Ok(response)
}

/// What somebody reads whose sign-out could not be written.
const NOT_WRITTEN: &str = "You are signed out, but the server could not save it: a copy of the session would be \
    valid again after a restart. Ask an administrator; the program's log has the reason.";

/// The token of a one-time link.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkAsk {
    /// What stands behind the # of the link.
    pub token: String,
}

/// What a link is for.
#[derive(Serialize, ToSchema)]
pub struct Link {
    /// What to do next.
    pub kind: LinkNext,
    /// Whose password is to be set (`password`).
    pub name: Option<String>,
}

/// What to do with a link.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkNext {
    /// Nothing: it has signed in, and is used.
    SignedIn,
    /// Choose name and password of the first administrator: /session/setup.
    Setup,
    /// Choose a password: /session/setup.
    Password,
}

/// Looks what a one-time link is for; one that signs in does so, and is used by it.
#[utoipa::path(
    post, path = "/session/link", tag = "session", request_body = LinkAsk,
    responses((status = 200, body = Link), (status = "4XX", body = schema::Problem))
)]
pub async fn link(State(web): State<Arc<Web>>, anyone: Anyone, Told(ask): Told<LinkAsk>) -> Result<Response, Problem> {
    let (origin, now_ns) = (Origin::of(&anyone)?, anyone.now_ns);
    let caller = origin.caller.clone();
    let looked = web.at_desk(move |desk| {
        let kind = desk.look_at_link(&ask.token, now_ns)?;
        let used = matches!(kind, LinkKind::SignIn(_));
        let done = used.then(|| desk.sign_in_by_link(&ask.token, origin.from(), now_ns)).transpose()?;
        Ok::<_, Refusal>((kind, done))
    });
    let (kind, done) = looked.await?;
    let (kind, name) = match kind {
        LinkKind::FirstAdministrator => (LinkNext::Setup, None),
        LinkKind::SetPassword(name) => (LinkNext::Password, Some(name)),
        LinkKind::SignIn(_) => (LinkNext::SignedIn, None),
    };
    let response = Json(Link { kind, name }).into_response();
    Ok(match done {
        Some(done) => with_cookie(response, &done, &caller, now_ns),
        None => response,
    })
}

/// Name and password that a one-time link sets.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetupAsk {
    /// What stands behind the # of the link.
    pub token: String,
    /// The name of the first administrator; may be left out where only a password is set.
    #[serde(default)]
    pub name: String,
    /// The password.
    #[schema(format = Password)]
    pub password: String,
}

/// Makes the first administrator or sets a password by a one-time link, and signs in.
#[utoipa::path(
    post, path = "/session/setup", tag = "session", request_body = SetupAsk,
    responses((status = 200, body = Session), (status = "4XX", body = schema::Problem))
)]
pub async fn setup(
    State(web): State<Arc<Web>>,
    anyone: Anyone,
    Told(ask): Told<SetupAsk>,
) -> Result<Response, Problem> {
    let (origin, now_ns) = (Origin::of(&anyone)?, anyone.now_ns);
    let caller = origin.caller.clone();
    let asked = move |desk: &Desk| desk.set_up(&ask.token, &ask.name, &ask.password, origin.from(), now_ns);
    let done = web.at_desk_with_password(asked).await?;
    signed_in(&web, done, &caller, now_ns).await
}

/// The old password and a new one.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordAsk {
    /// The password that holds.
    #[schema(format = Password)]
    pub old: String,
    /// The password that shall hold.
    #[schema(format = Password)]
    pub new: String,
}

/// Changes your password. Your other sessions end; the answer sets a new cookie, and `csrf` of /session is new.
#[utoipa::path(
    post, path = "/session/password", tag = "session", request_body = PasswordAsk,
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn password(
    State(web): State<Arc<Web>>,
    who: Who,
    Told(ask): Told<PasswordAsk>,
) -> Result<Response, Problem> {
    let (viewer, address, now_ns) = (who.viewer, who.address, who.now_ns);
    let Rest { caller, agent, cookie, .. } = who.rest;
    let asked = move |desk: &Desk| {
        let from = From { address, agent: &agent, cookie: cookie.as_deref() };
        desk.change_password(&viewer, &ask.old, &ask.new, from, now_ns)
    };
    let done = web.at_desk_with_password(asked).await?;
    Ok(with_cookie(StatusCode::NO_CONTENT.into_response(), &done, &caller, now_ns))
}
