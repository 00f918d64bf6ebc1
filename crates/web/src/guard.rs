//! What every request passes on its way in and out: whom it comes from, whether they may, and the headers that keep
//! browsers from doing what nobody meant. What is decided is decided in [`crate::auth`]; this is where HTTP meets it.

use crate::auth::csrf::{self, CSRF_HEADER, Origin};
use crate::auth::oidc::OIDC_COOKIE;
use crate::auth::{Client, Forwarding, Permission, Refusal, Viewer, action};
use crate::moment;
use crate::problem::{Kind, Problem};
use crate::state::Web;
use crate::tls::TlsOptions;
use crate::work::Owner;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

/// Headers of every answer. Scripts, styles and everything else come from here alone, nobody frames the pages, and no
/// type is guessed.
pub const HEADERS: [(HeaderName, &str); 7] = [
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
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
];
/// A year, as browsers that have seen TLS here shall not ask without (RFC 6797).
const TRANSPORT_SECURITY: &str = "max-age=31536000";
/// The header of what a page asks by itself, not because of what somebody did: it is no use of the session.
const BACKGROUND_HEADER: &str = "x-trunkline-background";
/// The session's cookie.
const COOKIE: &str = "trunkline";

/// What the audit log says of what was done.
const OK: &str = "ok";

/// What proxies add to a request.
const PROXY_HEADERS: [&str; 6] =
    ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-real-ip", "forwarded", "via"];

/// The other end of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// Whether the connection is encrypted up to here.
    pub tls: bool,
}

/// Whom a request comes from.
#[derive(Clone, Debug)]
pub struct Caller {
    /// As far as trusted proxies tell.
    pub client: Client,
    /// Whether the browser asked by https.
    pub https: bool,
    /// Whether a session may be opened: nobody on the way can read its cookie.
    pub private: bool,
    /// The host, with its port if it is not the usual one, that the browser asked: what a trusted proxy says of it,
    /// else what the request says.
    pub host: Option<String>,
}

impl Caller {
    fn find(web: &Web, peer: Peer, uri: &Uri, headers: &HeaderMap) -> Result<Self, Refusal> {
        let texts = |name: &str| -> Vec<&str> {
            // What is no text is no address either, and must not vanish from a list that is read from its end.
            headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?")).collect()
        };
        let (x_for, x_proto) = (texts("x-forwarded-for"), texts("x-forwarded-proto"));
        let (x_host, forwarded) = (texts("x-forwarded-host"), texts("forwarded"));
        let forwarding = Forwarding { x_for: &x_for, x_proto: &x_proto, x_host: &x_host, forwarded: &forwarded };
        let address = peer.address.ip().to_canonical();
        let client = web.proxies.client(address, &forwarding)?;
        web.networks.check(client.address)?;
        let is_proxy = web.is_proxy(address);
        let proxied = is_proxy && client.address != address;
        let https = client.https.unwrap_or(peer.tls && !proxied);
        // A proxy on this machine that is not configured tells by its headers that the other end is elsewhere.
        let is_here =
            address.is_loopback() && !is_proxy && !PROXY_HEADERS.iter().any(|name| headers.contains_key(*name));
        let asked = uri.authority().map(Authority::as_str).or_else(|| text(headers, header::HOST.as_str()));
        let host = client.host.clone().or_else(|| asked.map(str::to_owned));
        Ok(Caller { private: https || is_here, client, https, host })
    }
}

/// The first thing that looks at a request: finds who it is from, refuses foreign networks, counts, and adds
/// [`HEADERS`].
pub async fn gate(State(web): State<Arc<Web>>, mut request: Request, next: Next) -> Response {
    let began = Instant::now();
    let caller = match request.extensions().get::<Peer>() {
        Some(peer) => Caller::find(&web, *peer, request.uri(), request.headers()).map_err(Problem::from),
        None => Err(Problem::failed("a request without a peer")),
    };
    let named = one_host(request.version(), request.headers()).and_then(|()| check_host(&web, &request));
    let is_coded = request.headers().contains_key(header::TRANSFER_ENCODING);
    let named = named.and_then(|()| one_coding(request.headers()));
    let caller = caller.and_then(|caller| named.map(|()| caller));
    let tls = request.extensions().get::<Peer>().is_some_and(|peer| peer.tls);
    let mut response = match caller {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            let asked = format!("{} {}", request.method(), request.uri().path());
            let mut response = plain_errors_as_problems(next.run(request).await);
            if let Some(whom) = response.extensions_mut().remove::<RefusedTo>() {
                let outcome = if response.status() == StatusCode::FORBIDDEN { "forbidden" } else { "too-many" };
                write_down(&web, whom, asked, outcome).await;
            }
            response
        }
        Err(problem) => {
            if problem.kind == Kind::Network {
                web.count(|c| c.networks_refused += 1);
            }
            problem.into_response()
        }
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    // A certificate of our own may change, and people get past the browser's warning: not with this. Of a proxy's it is
    // the proxy that knows what else its name serves.
    if tls && matches!(web.options.tls, Some(TlsOptions::Files { .. })) {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(TRANSPORT_SECURITY));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if is_coded {
        // A length beside it was not looked at: nobody goes on behind such a body (RFC 9112 section 6.1).
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    web.count_answer(response.status(), began.elapsed());
    response
}

/// Whether a request says as it must what it asks for: HTTP/1.1 in one Host, the others in one at most, and in nothing
/// but what a host and a port are written with (RFC 9112 section 3.2, RFC 3986 section 3.2).
fn one_host(version: Version, headers: &HeaderMap) -> Result<(), Problem> {
    let wrong = |what: &str| Err(Problem::parameter("Host", what));
    let mut hosts = headers.get_all(header::HOST).iter();
    let (first, second) = (hosts.next(), hosts.next());
    let written = |b: &u8| b.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:[]".contains(b);
    match first {
        _ if second.is_some() => wrong("The request has more than one Host."),
        None if version == Version::HTTP_11 => wrong("The request has no Host, which HTTP/1.1 needs."),
        Some(host) if !host.as_bytes().iter().all(written) => {
            wrong("The Host has characters that no name of a host has.")
        }
        _ => Ok(()),
    }
}

/// Whether a body comes in chunks and in no other coding, if it is coded at all: another one is not understood, and who
/// passes it over takes the body to end elsewhere (RFC 9112 section 6.1).
fn one_coding(headers: &HeaderMap) -> Result<(), Problem> {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let is_chunked = |coding: &HeaderValue| coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
    match codings.next().is_none_or(is_chunked) && codings.next().is_none() {
        true => Ok(()),
        false => Err(Problem::parameter("Transfer-Encoding", "A body may come in chunks, and in no other coding.")),
    }
}

/// Whether a request asks for a name that is ours. A page of a stranger whose name leads to this machine's own address
/// (DNS rebinding) would be of one origin with us otherwise.
fn check_host(web: &Web, request: &Request) -> Result<(), Problem> {
    let is_proxy = request.extensions().get::<Peer>().is_some_and(|peer| web.is_proxy(peer.address.ip()));
    let asked = request.uri().authority().map(|authority| authority.as_str());
    let asked = asked.or_else(|| text(request.headers(), header::HOST.as_str()));
    let Some(asked) = asked.filter(|_| !is_proxy) else { return Ok(()) };
    let (listen, hosts) = (web.options.listen.ip(), &web.options.hosts);
    let is_public = public(web).is_some_and(|(_, host)| asked.eq_ignore_ascii_case(host));
    if is_public || is_our_name(asked, listen.to_canonical().is_loopback(), hosts) {
        return Ok(());
    }
    web.count(|c| c.hosts_refused += 1);
    let text = "This is not served by that name: ask localhost, or add the name to web.hosts.";
    Err(Problem::new(Kind::Host, text))
}

/// Whether a Host names us: one of the configured names; this machine; and where it is not this machine alone that is
/// served, any address, because no name of a stranger is one, and any name if none is configured.
fn is_our_name(host: &str, loopback: bool, hosts: &[String]) -> bool {
    let port = |port: &str| port.bytes().all(|b| b.is_ascii_digit());
    let name = match host.rsplit_once(':') {
        Some((name, digits)) if port(digits) && (!name.contains(':') || name.ends_with(']')) => name,
        _ => host,
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    if name.eq_ignore_ascii_case("localhost") || hosts.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
        return true;
    }
    match bare.parse::<IpAddr>() {
        Ok(address) => !loopback || address.to_canonical().is_loopback(),
        Err(_) => !loopback && hosts.is_empty(),
    }
}

/// Whom something was refused to, and where they are.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedTo(pub Viewer, pub IpAddr);

async fn write_down(web: &Web, RefusedTo(viewer, address): RefusedTo, asked: String, outcome: &'static str) {
    let now_ns = moment::now_ns();
    let written =
        web.at_desk(move |desk| desk.audit_viewer(&viewer, address, action::REFUSED, &asked, outcome, now_ns));
    // It is refused all the same; what failed is in the log already.
    let _ = written.await;
}

/// What the router itself refuses, told as everything else is.
fn plain_errors_as_problems(response: Response) -> Response {
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !(status.is_client_error() || status.is_server_error()) || kind.starts_with("application/problem") {
        return response;
    }
    match status.as_u16() {
        405 => {
            let mut told = Problem::new(Kind::Method, "This endpoint does not know the method.").into_response();
            if let Some(allowed) = response.headers().get(header::ALLOW) {
                told.headers_mut().insert(header::ALLOW, allowed.clone());
            }
            told
        }
        413 => Problem::new(Kind::TooLarge, "The body is too large.").into_response(),
        400 => Problem::new(Kind::BadParameter, "The URL is not valid.").into_response(),
        _ => response,
    }
}

/// Whoever asks, signed in or not.
pub struct Anyone {
    /// Whom the request comes from.
    pub caller: Caller,
    /// Who is signed in; or why nobody is.
    pub viewer: Result<Viewer, Problem>,
    /// The session's cookie, if one came.
    pub cookie: Option<String>,
    /// The cookie of a sign-in that is under way at the identity provider, if one came.
    pub oidc_cookie: Option<String>,
    /// The token, if one came.
    pub bearer: Option<String>,
    /// The User-Agent.
    pub agent: String,
    /// Now, nanoseconds since 1970.
    pub now_ns: i64,
}

impl FromRequestParts<Arc<Web>> for Anyone {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, web: &Arc<Web>) -> Result<Self, Problem> {
        let caller = parts.extensions.get::<Caller>().cloned();
        let caller = caller.ok_or_else(|| Problem::failed("a request without a caller"))?;
        let now_ns = moment::now_ns();
        let of = |name: &str| cookie(&parts.headers, &cookie_name(name, &caller));
        let (cookie, oidc_cookie) = (of(COOKIE), of(OIDC_COOKIE));
        let agent = text(&parts.headers, header::USER_AGENT.as_str()).unwrap_or_default().to_owned();
        let bearer = text(&parts.headers, header::AUTHORIZATION.as_str()).map(|value| {
            value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map_or("", |(_, b)| b)
        });
        let bearer = bearer.map(|bearer| bearer.trim().to_owned());
        let background = is_background(&parts.headers);
        let viewer = viewer_of(web, bearer.clone(), cookie.clone(), background, now_ns).await;
        check_origin(web, parts, &caller, viewer.as_ref().ok())?;
        Ok(Anyone { caller, viewer, cookie, oidc_cookie, bearer, agent, now_ns })
    }
}

/// Who shows a token or, without one, a cookie.
async fn viewer_of(
    web: &Web,
    bearer: Option<String>,
    cookie: Option<String>,
    background: bool,
    now_ns: i64,
) -> Result<Viewer, Problem> {
    match (bearer, cookie) {
        (Some(bearer), _) => web.at_desk(move |desk| desk.viewer_of_token(&bearer, now_ns)).await,
        (None, Some(cookie)) if background => web.at_desk(move |desk| desk.viewer_in_background(&cookie, now_ns)).await,
        (None, Some(cookie)) => web.at_desk(move |desk| desk.viewer_of_cookie(&cookie, now_ns)).await,
        (None, None) => Err(Refusal::SignedOut.into()),
    }
}

/// Whether a page asks by itself: it says so, or it is a stream, which browsers open again and again.
fn is_background(headers: &HeaderMap) -> bool {
    let streams = text(headers, header::ACCEPT.as_str()).is_some_and(|accept| accept.contains("text/event-stream"));
    streams || headers.contains_key(BACKGROUND_HEADER)
}

fn check_origin(web: &Web, parts: &Parts, caller: &Caller, viewer: Option<&Viewer>) -> Result<(), Problem> {
    if matches!(parts.method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    let origin = Origin {
        method: parts.method.as_str(),
        token: text(&parts.headers, CSRF_HEADER),
        origin: text(&parts.headers, header::ORIGIN.as_str()),
        site: text(&parts.headers, "sec-fetch-site"),
        host: caller.host.as_deref(),
        https: caller.https,
    };
    let checked = csrf::check(viewer, &origin);
    // A proxy may pass on no name at all: then the browser asked by the one that is configured.
    let by_public =
        |(scheme, host)| csrf::check(viewer, &Origin { host: Some(host), https: scheme == "https", ..origin });
    Ok(checked.or_else(|refusal| public(web).map_or(Err(refusal), by_public))?)
}

/// Scheme and host, with its port, by which browsers reach us, where that is configured.
fn public(web: &Web) -> Option<(&str, &str)> {
    web.options.public_url.as_deref()?.split_once("://")
}

/// Who asks, signed in.
pub struct Who {
    /// Who.
    pub viewer: Viewer,
    /// From where.
    pub address: IpAddr,
    /// The rest of the request.
    pub rest: Rest,
    /// Now, nanoseconds since 1970.
    pub now_ns: i64,
}

/// What is left of a request whose viewer is known.
pub struct Rest {
    /// Whom it comes from.
    pub caller: Caller,
    /// The session's cookie, if one came.
    pub cookie: Option<String>,
    /// The token, if one came.
    pub bearer: Option<String>,
    /// The User-Agent.
    pub agent: String,
}

impl FromRequestParts<Arc<Web>> for Who {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, web: &Arc<Web>) -> Result<Self, Problem> {
        let anyone = Anyone::from_request_parts(parts, web).await?;
        let Anyone { caller, viewer, cookie, bearer, agent, now_ns, .. } = anyone;
        let viewer = viewer?;
        Ok(Who { viewer, address: caller.client.address, rest: Rest { caller, cookie, bearer, agent }, now_ns })
    }
}

impl Who {
    /// Whether what they showed still holds, and they may still do and see the same.
    pub async fn is_still(&self, web: &Web) -> bool {
        let (bearer, cookie) = (self.rest.bearer.clone(), self.rest.cookie.clone());
        let now = viewer_of(web, bearer, cookie, true, moment::now_ns()).await;
        now.is_ok_and(|viewer| {
            (viewer.permissions, viewer.graphs) == (self.viewer.permissions, self.viewer.graphs.clone())
        })
    }

    /// Refuses what is not allowed.
    ///
    /// # Errors
    /// [`Kind::Forbidden`].
    pub fn need(&self, permission: Permission) -> Result<(), Problem> {
        self.viewer.need(permission).map_err(|refusal| self.refused(refusal))
    }

    /// Refuses what is of all devices and graphs to somebody from whom some are hidden.
    ///
    /// # Errors
    /// [`Kind::Forbidden`].
    pub fn need_all_graphs(&self) -> Result<(), Problem> {
        self.viewer.need_all_graphs().map_err(|refusal| self.refused(refusal))
    }

    /// A refusal as the problem that is answered; [`gate`] writes down who was refused what.
    pub fn refused(&self, refusal: Refusal) -> Problem {
        Problem::from(refusal).refused_to(self.viewer.clone(), self.address)
    }

    /// Whether numbers are masked.
    pub fn masked(&self) -> bool {
        self.viewer.masked()
    }

    /// The user's row, whose work and things are kept by it: a name may be another's later.
    pub fn id(&self) -> Owner {
        self.viewer.user_id
    }

    /// Writes down what they did; it is not done if that cannot be written.
    ///
    /// # Errors
    /// [`Kind::Failed`].
    pub async fn audit(&self, web: &Web, action: &'static str, object: &str) -> Result<(), Problem> {
        self.write_down(web, action, object, OK).await
    }

    /// Has an order done that may be refused: that it begins is written down, and how it ends. What has no second line
    /// ended with the server, or with who asked.
    ///
    /// # Errors
    /// Those of the order; [`Kind::Failed`] if it cannot be written down: then it is not done.
    pub async fn audited<T>(
        &self,
        web: &Web,
        action: &'static str,
        object: &str,
        order: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        self.write_down(web, action, object, "begun").await?;
        let ended = order.await;
        let outcome = ended.as_ref().map_or_else(|problem| problem.kind.told().0, |_| OK);
        if let Err(problem) = self.write_down(web, action, object, outcome).await {
            tracing::error!("how an order ended ({outcome}) is not in the audit log: {}", problem.text());
        }
        ended
    }

    async fn write_down(
        &self,
        web: &Web,
        action: &'static str,
        object: &str,
        outcome: &'static str,
    ) -> Result<(), Problem> {
        let (viewer, address, now_ns) = (self.viewer.clone(), self.address, self.now_ns);
        let object = object.to_owned();
        web.at_desk(move |desk| desk.audit_viewer(&viewer, address, action, &object, outcome, now_ns)).await
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The name of a cookie as it is set and read. Over https browsers take a name of this beginning only with Secure,
/// Path=/ and no Domain: no sister of this host sets it. Without TLS it carries the port that the browser asked,
/// because cookies know hosts alone (RFC 6265 section 8.5): two programs on one machine would take each other's.
fn cookie_name(name: &str, caller: &Caller) -> String {
    if caller.https {
        return format!("__Host-{name}");
    }
    let host = caller.host.as_deref().and_then(|host| host.parse::<Authority>().ok());
    format!("{name}-{}", host.and_then(|host| host.port_u16()).unwrap_or(80))
}

/// A cookie by its name. Where several came by that name, somebody else has set one: none is taken.
fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let fields = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = fields.flat_map(|field| field.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(its, _)| *its == name).map(|(_, value)| value);
    let first = values.next()?;
    values.next().is_none().then(|| first.to_owned())
}

/// `Set-Cookie` for a session that ends after some seconds; 0 removes it.
pub fn set_cookie(secret: &str, seconds: u64, caller: &Caller) -> HeaderValue {
    cookie_field(COOKIE, secret, "Strict", seconds, caller)
}

/// `Set-Cookie` for a sign-in that is under way at the identity provider, whose answer comes from its site; 0 removes
/// it.
pub fn set_oidc_cookie(secret: &str, seconds: u64, caller: &Caller) -> HeaderValue {
    cookie_field(OIDC_COOKIE, secret, "Lax", seconds, caller)
}

fn cookie_field(name: &str, secret: &str, same_site: &str, seconds: u64, caller: &Caller) -> HeaderValue {
    let name = cookie_name(name, caller);
    let secure = if caller.https { "; Secure" } else { "" };
    let text = format!("{name}={secret}; Path=/; HttpOnly; SameSite={same_site}; Max-Age={seconds}{secure}");
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(host: Option<&str>, https: bool) -> Caller {
        let client = Client { address: IpAddr::from([127, 0, 0, 1]), https: None, host: None };
        Caller { client, https, private: true, host: host.map(str::to_owned) }
    }

    #[test]
    fn a_cookie_that_came_twice_is_none() {
        let of = |fields: &[&str], https| {
            let mut headers = HeaderMap::new();
            for field in fields {
                headers.append(header::COOKIE, field.parse().unwrap());
            }
            cookie(&headers, &cookie_name(COOKIE, &asked(Some("localhost:8080"), https)))
        };
        assert_eq!(of(&["a=b; trunkline-8080=x"], false), Some("x".to_owned()));
        assert_eq!(of(&["__Host-trunkline=y; trunkline-8080=x"], true), Some("y".to_owned()));
        assert_eq!(of(&["trunkline-8080=x"], true), None);
        assert_eq!(of(&["trunkline-8080=x", "trunkline-8080=y"], false), None);
        assert_eq!(of(&["trunkline=x; trunkline-8081=y; trunkline-80=z"], false), None);
    }

    #[test]
    fn a_strangers_name_for_this_machine_is_refused() {
        let ours = ["pbx.example".to_owned()];
        for host in
            ["localhost", "LOCALHOST:8080", "localhost.:8080", "127.0.0.1:1", "127.0.0.2", "[::1]:8080", "[::1]"]
        {
            assert!(is_our_name(host, true, &[]) && is_our_name(host, false, &ours), "{host}");
        }
        for host in ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", "", "x:y"]
        {
            assert!(!is_our_name(host, true, &ours) && !is_our_name(host, false, &ours), "{host}");
        }
        assert!(is_our_name("pbx.example:8443", true, &ours) && is_our_name("PBX.example", false, &ours));
        assert!(is_our_name("192.0.2.1:8080", false, &ours) && !is_our_name("192.0.2.1:8080", true, &ours));
        assert!(is_our_name("pbx.example", false, &[]), "where every machine may ask any name may be ours");
    }

    #[test]
    fn cookies_are_for_this_host_alone() {
        let text = |value: HeaderValue| value.to_str().unwrap().to_owned();
        let tls = asked(Some("pbx.example:8443"), true);
        assert_eq!(
            text(set_cookie("s", 60, &tls)),
            "__Host-trunkline=s; Path=/; HttpOnly; SameSite=Strict; Max-Age=60; Secure"
        );
        assert_eq!(
            text(set_oidc_cookie("s", 60, &tls)),
            "__Host-trunkline-oidc=s; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure"
        );
        for (host, name) in [
            (Some("127.0.0.1:8080"), "trunkline-8080="),
            (Some("[::1]:8081"), "trunkline-8081="),
            (Some("localhost"), "trunkline-80="),
            (Some("::"), "trunkline-80="),
            (None, "trunkline-80="),
        ] {
            let set = text(set_cookie("", 0, &asked(host, false)));
            assert!(set.starts_with(name) && !set.contains("Secure"), "{host:?}: {set}");
        }
    }
}
