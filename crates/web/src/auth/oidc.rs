//! Signing in through an identity provider: OpenID Connect Core 1.0, authorization code with PKCE (RFC 7636).
//!
//! Nothing of a sign-in under way is kept here: what the provider must hand back (`state`), what the ID token must
//! name (`nonce`) and the PKCE verifier are all derived from one transient cookie, so that a flood of begun sign-ins
//! takes no memory and ends nobody's, and an answer that was meant for another browser fits none.

mod claims;
pub mod exercise;
mod fetch;
mod jws;
#[cfg(test)]
mod rfc7515;

use super::refusal::Refusal;
use super::role::Role;
use super::secret::{Secret, derived, same};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
pub use claims::Claimed;
use claims::Claims;

use fetch::{Fetcher, encoded};
use jws::Keys;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use tokio::sync::Mutex;

/// How long a sign-in may take at the provider, seconds: the life of the transient cookie.
pub const SIGN_IN_S: i64 = 600;
/// The name of the transient cookie, before which `__Host-` is put over https: HttpOnly, SameSite=Lax (the provider's
/// answer comes from its site), and over https Secure.
pub const OIDC_COOKIE: &str = "trunkline-oidc";
/// What the provider says of itself is asked for again after so long, seconds.
pub const DISCOVERED_S: i64 = 3600;
/// A key that is not known makes us ask for keys again, but not more often than this, seconds.
pub const KEYS_AGAIN_S: i64 = 30;
/// Octets of a page to go back to that are remembered; a longer one becomes `/`.
pub const RETURN_TO_OCTETS_MAX: usize = 1024;

const SECOND_NS: i64 = 1_000_000_000;

/// How to sign in at a provider.
#[derive(Clone, Debug)]
pub struct OidcOptions {
    /// The issuer, as the provider writes it: `https://login.example.org/realms/voice`. http is for loopback alone.
    pub issuer: String,
    /// What the provider calls us.
    pub client_id: String,
    /// The secret that it gave us; none for a public client.
    pub client_secret: Option<Secret>,
    /// What stands on the button.
    pub label: String,
    /// What is asked for besides `openid`.
    pub scopes: Vec<String>,
    /// The claim that tells the name of a new user; without it `email` and then `sub` are taken.
    pub name_claim: String,
    /// The claim that tells groups or roles; dots lead into objects (`realm_access.roles`).
    pub role_claim: String,
    /// Which of its values makes which role; the highest counts, and who has none is not let in.
    pub roles: Vec<(String, Role)>,
}

impl OidcOptions {
    /// With the usual scopes and claims, and nobody let in yet.
    pub fn new(issuer: impl Into<String>, client_id: impl Into<String>) -> Self {
        OidcOptions {
            issuer: issuer.into(),
            client_id: client_id.into(),
            client_secret: None,
            label: "Single sign-on".to_owned(),
            scopes: vec!["profile".to_owned(), "email".to_owned()],
            name_claim: "preferred_username".to_owned(),
            role_claim: "groups".to_owned(),
            roles: Vec::new(),
        }
    }
}

/// Why nobody was signed in. Texts are for people, and hold no secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OidcError {
    /// The provider cannot be reached.
    #[error("the identity provider cannot be reached: {0}")]
    Unreachable(String),
    /// What the provider answered does not hold.
    #[error("the identity provider's answer does not hold: {0}")]
    Answer(String),
    /// The provider refused.
    #[error("the identity provider refused: {0}")]
    Refused(String),
    /// There is no sign-in under way in this browser that this answer belongs to.
    #[error("this sign-in took too long, was used already, or began in another browser: begin again")]
    NotBegun,
    /// None of the user's groups makes a role here.
    #[error("you are known to the identity provider, but none of your groups has a role here (web.oidc.roles)")]
    NoRole {
        /// The name that a user would have had.
        name: String,
        /// What the provider calls them.
        subject: String,
    },
}

impl OidcError {
    /// A word for it: what the sign-in page is told, and the outcome in the audit log.
    pub fn word(&self) -> &'static str {
        match self {
            OidcError::Unreachable(_) => "unreachable",
            OidcError::Answer(_) => "provider",
            OidcError::Refused(_) => "refused",
            OidcError::NotBegun => "not-begun",
            OidcError::NoRole { .. } => "no-role",
        }
    }
}

impl std::convert::From<OidcError> for Refusal {
    fn from(error: OidcError) -> Self {
        match &error {
            OidcError::Unreachable(_) | OidcError::Answer(_) => Refusal::Provider(error.to_string()),
            OidcError::Refused(_) | OidcError::NoRole { .. } => Refusal::Forbidden(error.to_string()),
            OidcError::NotBegun => Refusal::value("state", error.to_string()),
        }
    }
}

/// A sign-in that begins.
#[derive(Clone, Debug)]
pub struct Started {
    /// Where to send the browser.
    pub location: String,
    /// The value of [`OIDC_COOKIE`], for [`SIGN_IN_S`].
    pub cookie: Secret,
}

/// The query of the provider's answer.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Returned {
    /// The authorization code.
    pub code: Option<String>,
    /// What we gave it.
    pub state: Option<String>,
    /// RFC 9207: who answers.
    pub iss: Option<String>,
    /// Why not.
    pub error: Option<String>,
    /// In words.
    pub error_description: Option<String>,
}

/// A provider. Asks it for what it says of itself when that is first needed.
#[derive(Debug)]
pub struct Provider {
    options: OidcOptions,
    fetcher: Fetcher,
    known: Mutex<Option<Known>>,
}

/// What a provider says of itself, and its keys.
#[derive(Clone, Debug)]
struct Known {
    metadata: Arc<Metadata>,
    keys: Arc<Keys>,
    at_ns: i64,
    keys_at_ns: i64,
}

/// OpenID Connect Discovery 1.0, section 3.
#[derive(Debug, Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// RFC 6749 section 5.1 with OpenID Connect Core section 3.1.3.3.
#[derive(Deserialize)]
struct Tokens {
    id_token: String,
}

/// RFC 6749 section 5.2.
#[derive(Deserialize)]
struct TokenError {
    error: String,
    #[serde(default)]
    error_description: String,
}

impl Provider {
    /// A provider that was not asked yet: a provider that is down keeps nobody from starting.
    ///
    /// # Errors
    /// [`OidcError::Unreachable`] for an issuer that is no https address, or where the system trusts no certificates.
    pub fn new(options: OidcOptions) -> Result<Self, OidcError> {
        let fetcher = Fetcher::new()?;
        fetch::check_address(&options.issuer)?;
        Ok(Provider { options, fetcher, known: Mutex::default() })
    }

    /// What stands on the button.
    pub fn label(&self) -> &str {
        &self.options.label
    }

    /// The issuer.
    pub fn issuer(&self) -> &str {
        &self.options.issuer
    }

    /// Begins a sign-in. `redirect_uri` is our endpoint `/api/v1/session/oidc/return` as browsers ask for it and as the
    /// provider knows it; `return_to` a page of ours to show afterwards.
    ///
    /// # Errors
    /// [`OidcError::Unreachable`], [`OidcError::Answer`].
    pub async fn start(&self, redirect_uri: &str, return_to: &str, now_ns: i64) -> Result<Started, OidcError> {
        let known = self.known(now_ns).await?;
        let until = now_ns / SECOND_NS + SIGN_IN_S;
        let page = BASE64.encode(own_page(return_to));
        let cookie = format!("{}.{until}.{page}", Secret::fresh().expose());
        let challenge = BASE64.encode(Sha256::digest(verifier_of(&cookie)));
        let mut scope = "openid".to_owned();
        for more in &self.options.scopes {
            scope = format!("{scope} {more}");
        }
        let query = encoded(&[
            ("response_type", "code"),
            ("client_id", &self.options.client_id),
            ("redirect_uri", redirect_uri),
            ("scope", &scope),
            ("state", &state_of(&cookie)),
            ("nonce", &nonce_of(&cookie)),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        let endpoint = &known.metadata.authorization_endpoint;
        let joint = if endpoint.contains('?') { '&' } else { '?' };
        Ok(Started { location: format!("{endpoint}{joint}{query}"), cookie: Secret::given(cookie) })
    }

    /// Ends a sign-in: who it is, for [`super::Desk::sign_in_oidc`], and the page to show. The transient cookie is to
    /// be removed, however it ended.
    ///
    /// # Errors
    /// All of [`OidcError`].
    pub async fn finish(
        &self,
        returned: &Returned,
        cookie: Option<&str>,
        redirect_uri: &str,
        now_ns: i64,
    ) -> Result<(Claimed, String), OidcError> {
        let (cookie, page) = begun(cookie, returned, now_ns)?;
        if let Some(error) = &returned.error {
            let why = returned.error_description.as_deref().filter(|d| !d.is_empty()).unwrap_or(error);
            return Err(OidcError::Refused(short(why)));
        }
        let known = self.known(now_ns).await?;
        check_answerer(&known.metadata, returned)?;
        let code = returned.code.as_deref().ok_or_else(|| OidcError::Answer("there is no code in it".to_owned()))?;
        let token = self.id_token(&known.metadata, code, &verifier_of(cookie), redirect_uri).await?;
        let payload = match known.keys.verify(&token) {
            Err(jws::Wrong::UnknownKey) => self.known_again(now_ns).await?.keys.verify(&token),
            other => other,
        };
        let payload = payload.map_err(|e| OidcError::Answer(format!("ID token: {e}")))?;
        let claims = Claims::parse(&payload)?;
        claims.check(&self.options, &nonce_of(cookie), now_ns)?;
        Ok((claims.claimed(&self.options)?, page))
    }

    /// Redeems the code: RFC 6749 section 4.1.3.
    async fn id_token(
        &self,
        metadata: &Metadata,
        code: &str,
        verifier: &str,
        redirect_uri: &str,
    ) -> Result<String, OidcError> {
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier),
        ];
        // OpenID Connect Core section 9: without a list it is client_secret_basic.
        let methods = &metadata.token_endpoint_auth_methods_supported;
        let post = !methods.is_empty() && !methods.iter().any(|m| m == "client_secret_basic");
        let mut basic = None;
        match &self.options.client_secret {
            Some(secret) if post => {
                form.extend([("client_id", self.options.client_id.as_str()), ("client_secret", secret.expose())])
            }
            Some(secret) => basic = Some((self.options.client_id.as_str(), secret.expose())),
            None => form.push(("client_id", &self.options.client_id)),
        }
        let answer = self.fetcher.post_form(&metadata.token_endpoint, &encoded(&form), basic).await?;
        if answer.status != 200 {
            let why = serde_json::from_slice::<TokenError>(&answer.body);
            let why = why.map(|e| format!("{} {}", e.error, e.error_description));
            return Err(OidcError::Refused(short(&why.unwrap_or_else(|_| format!("status {}", answer.status)))));
        }
        let tokens: Tokens = parsed(&answer.body, "token endpoint")?;
        Ok(tokens.id_token)
    }

    async fn known(&self, now_ns: i64) -> Result<Known, OidcError> {
        let mut known = self.known.lock().await;
        let fresh = |k: &&Known| (0..DISCOVERED_S * SECOND_NS).contains(&now_ns.saturating_sub(k.at_ns));
        if let Some(known) = known.as_ref().filter(fresh) {
            return Ok(known.clone());
        }
        let metadata = Arc::new(self.discover().await?);
        let keys = Arc::new(self.keys(&metadata).await?);
        Ok(known.insert(Known { metadata, keys, at_ns: now_ns, keys_at_ns: now_ns }).clone())
    }

    /// With the keys as they are now: the provider changed them.
    async fn known_again(&self, now_ns: i64) -> Result<Known, OidcError> {
        let mut known = self.known.lock().await;
        let Some(known) = known.as_mut() else { return Err(OidcError::NotBegun) };
        if now_ns.saturating_sub(known.keys_at_ns) >= KEYS_AGAIN_S * SECOND_NS {
            known.keys_at_ns = now_ns;
            known.keys = Arc::new(self.keys(&known.metadata).await?);
        }
        Ok(known.clone())
    }

    async fn discover(&self) -> Result<Metadata, OidcError> {
        let address = format!("{}/.well-known/openid-configuration", self.options.issuer.trim_end_matches('/'));
        let answer = self.fetcher.get(&address).await?;
        let metadata: Metadata = parsed(&answer, "discovery")?;
        // Discovery section 4.3: exactly the issuer that was asked for.
        if metadata.issuer != self.options.issuer {
            let text = format!("it calls itself {}, and web.oidc.issuer says {}", metadata.issuer, self.options.issuer);
            return Err(OidcError::Answer(short(&text)));
        }
        for address in [&metadata.authorization_endpoint, &metadata.token_endpoint, &metadata.jwks_uri] {
            fetch::check_address(address)?;
        }
        Ok(metadata)
    }

    async fn keys(&self, metadata: &Metadata) -> Result<Keys, OidcError> {
        let answer = self.fetcher.get(&metadata.jwks_uri).await?;
        Ok(Keys::new(&parsed(&answer, "keys")?))
    }
}

/// The transient cookie if this answer belongs to it, and the page to show.
fn begun<'a>(cookie: Option<&'a str>, returned: &Returned, now_ns: i64) -> Result<(&'a str, String), OidcError> {
    let cookie = cookie.ok_or(OidcError::NotBegun)?;
    let state = returned.state.as_deref().ok_or(OidcError::NotBegun)?;
    let mut parts = cookie.split('.');
    let (Some(_), Some(until), Some(_)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(OidcError::NotBegun);
    };
    let until: i64 = until.parse().map_err(|_| OidcError::NotBegun)?;
    if !same(state, &state_of(cookie)) || now_ns / SECOND_NS >= until {
        return Err(OidcError::NotBegun);
    }
    Ok((cookie, page_of(Some(cookie))))
}

/// The page that a sign-in of this transient cookie is to show in the end, however it ends; `/` if that cannot be told.
pub fn page_of(cookie: Option<&str>) -> String {
    let page = cookie.and_then(|cookie| cookie.split('.').nth(2)).and_then(|page| BASE64.decode(page).ok());
    let page = page.and_then(|page| String::from_utf8(page).ok()).unwrap_or_default();
    own_page(&page).to_owned()
}

/// RFC 9207 section 2.4: an answer of another provider is refused.
fn check_answerer(metadata: &Metadata, returned: &Returned) -> Result<(), OidcError> {
    match &returned.iss {
        Some(iss) if *iss != metadata.issuer => Err(OidcError::Answer("it comes from another provider".to_owned())),
        None if metadata.authorization_response_iss_parameter_supported => {
            Err(OidcError::Answer("it does not say who answers (iss)".to_owned()))
        }
        _ => Ok(()),
    }
}

/// A path of ours to go to, or `/`: nothing that a browser may take for another host.
fn own_page(path: &str) -> &str {
    let rest = path.strip_prefix('/');
    let own = rest.is_some_and(|rest| !rest.starts_with(['/', '\\']))
        && path.len() <= RETURN_TO_OCTETS_MAX
        && path.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    if own { path } else { "/" }
}

fn state_of(cookie: &str) -> String {
    derived("trunkline oidc state", cookie)
}

fn nonce_of(cookie: &str) -> String {
    derived("trunkline oidc nonce", cookie)
}

/// RFC 7636 section 4.1: 43 of the unreserved characters.
fn verifier_of(cookie: &str) -> String {
    derived("trunkline oidc verifier", cookie)
}

fn parsed<T: serde::de::DeserializeOwned>(body: &[u8], what: &str) -> Result<T, OidcError> {
    serde_json::from_slice(body).map_err(|e| OidcError::Answer(format!("{what}: {}", short(&e.to_string()))))
}

/// What others wrote, for one line.
fn short(text: &str) -> String {
    text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}

#[cfg(test)]
mod tests;
