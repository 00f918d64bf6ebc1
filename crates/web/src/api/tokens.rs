//! Tokens for programs.

use super::ask::Told;
use super::packets::time;
use super::schema;
use crate::auth::{Permissions, Token, action};
use crate::guard::Who;
use crate::problem::Problem;
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use trunkline_store::time::rfc3339;
use utoipa::ToSchema;

/// A token, without its secret.
#[derive(Serialize, ToSchema)]
pub struct TokenShown {
    /// Its number.
    pub id: i64,
    /// Whose it is.
    pub user: String,
    /// What it is called.
    pub name: String,
    /// What it may do, as far as its user may.
    pub scopes: Vec<&'static str>,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created: String,
    /// When it ends; null if never.
    #[schema(format = DateTime)]
    pub expires: Option<String>,
    /// When it was last used, to the minute.
    #[schema(format = DateTime)]
    pub last_used: Option<String>,
}

impl From<Token> for TokenShown {
    fn from(token: Token) -> Self {
        TokenShown {
            id: token.id,
            user: token.user,
            name: token.name,
            scopes: token.scopes.names(),
            created: rfc3339(token.made_ns),
            expires: token.expires_ns.map(rfc3339),
            last_used: token.last_used_ns.map(rfc3339),
        }
    }
}

/// Tokens.
#[derive(Serialize, ToSchema)]
pub struct TokensList {
    /// Your own; administrators see all.
    pub tokens: Vec<TokenShown>,
}

/// Your tokens; administrators see all.
#[utoipa::path(
    get, path = "/tokens", tag = "users",
    responses((status = 200, body = TokensList), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who) -> Result<Json<TokensList>, Problem> {
    let tokens = web.at_desk(move |desk| desk.tokens(&who.viewer)).await?;
    Ok(Json(TokensList { tokens: tokens.into_iter().map(TokenShown::from).collect() }))
}

/// A token to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenAsk {
    /// What to call it.
    pub name: String,
    /// What it may do: some of `may` of /session.
    pub scopes: Vec<String>,
    /// When it ends, RFC 3339; never if that is left out.
    #[serde(default)]
    pub expires: Option<String>,
}

/// A token that was made.
#[derive(Serialize, ToSchema)]
pub struct TokenMade {
    /// What stands behind `Authorization: Bearer`; shown this once.
    pub secret: String,
    /// The token.
    pub token: TokenShown,
}

/// Makes a token; its secret is shown this once.
#[utoipa::path(
    post, path = "/tokens", tag = "users", request_body = TokenAsk,
    responses((status = 201, body = TokenMade), (status = "4XX", body = schema::Problem))
)]
pub async fn make(
    State(web): State<Arc<Web>>,
    who: Who,
    Told(ask): Told<TokenAsk>,
) -> Result<(StatusCode, Json<TokenMade>), Problem> {
    let unknown = |scope: &str| Problem::parameter("scopes", format!("There is no scope '{scope}'."));
    let scopes = Permissions::parse(ask.scopes.iter().map(String::as_str)).map_err(unknown)?;
    let expires_ns = ask.expires.as_deref().map(|text| time("expires", text)).transpose()?;
    who.audit(&web, action::TOKEN_ADD, &format!("{} for {}", ask.name, scopes.names().join(" "))).await?;
    let made = web.at_desk(move |desk| desk.make_token(&who.viewer, &ask.name, scopes, expires_ns, who.now_ns)).await?;
    let (secret, token) = made;
    Ok((StatusCode::CREATED, Json(TokenMade { secret: secret.expose().to_owned(), token: token.into() })))
}

/// Ends a token: your own, or anybody's for administrators.
#[utoipa::path(
    delete, path = "/tokens/{id}", tag = "users", params(("id" = i64, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn remove(State(web): State<Arc<Web>>, who: Who, Path(id): Path<i64>) -> Result<StatusCode, Problem> {
    who.audit(&web, action::TOKEN_REMOVE, &id.to_string()).await?;
    web.at_desk(move |desk| desk.remove_token(&who.viewer, id)).await?;
    Ok(StatusCode::NO_CONTENT)
}
