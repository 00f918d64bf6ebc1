//! Users: who may come in, and as what.

use super::ask::Told;
use super::schema;
use crate::auth::{Desk, LinkKind, NewUser, Permission, Role, User, UserChange, action};
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

/// A user, as administrators see them.
#[derive(Serialize, ToSchema)]
pub struct UserShown {
    /// Name.
    pub name: String,
    /// What to call them.
    pub display_name: String,
    /// Role.
    pub role: Role,
    /// Whether an administrator locked them.
    pub locked: bool,
    /// Until when wrong passwords from strange addresses hold them off.
    #[schema(format = DateTime)]
    pub held_off_until: Option<String>,
    /// When they last signed in.
    #[schema(format = DateTime)]
    pub last_sign_in: Option<String>,
    /// When they were made.
    #[schema(format = DateTime)]
    pub made: String,
    /// Whether there is a password.
    pub has_password: bool,
    /// Whether the password must be changed first.
    pub must_change_password: bool,
    /// Whether they come through the identity provider.
    pub oidc: bool,
}

impl From<User> for UserShown {
    fn from(user: User) -> Self {
        UserShown {
            name: user.name,
            display_name: user.display_name,
            role: user.role,
            locked: user.disabled,
            held_off_until: user.held_off_until_ns.map(rfc3339),
            last_sign_in: user.last_sign_in_ns.map(rfc3339),
            made: rfc3339(user.made_ns),
            has_password: user.has_password,
            must_change_password: user.must_change_password,
            oidc: user.oidc,
        }
    }
}

/// All users.
#[derive(Serialize, ToSchema)]
pub struct UsersList {
    /// By name.
    pub users: Vec<UserShown>,
}

/// All users, by name.
#[utoipa::path(
    get, path = "/users", tag = "users",
    responses((status = 200, body = UsersList), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who) -> Result<Json<UsersList>, Problem> {
    who.need(Permission::UsersAdmin)?;
    let users = web.at_desk(move |desk| desk.users(who.now_ns)).await?;
    Ok(Json(UsersList { users: users.into_iter().map(UserShown::from).collect() }))
}

/// A user to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserAsk {
    /// 1 to 64 of a-z, 0-9, `.`, `_`, `@`, `+`, `-`.
    pub name: String,
    /// What to call them.
    #[serde(default)]
    pub display_name: String,
    /// Role.
    pub role: Role,
    /// First password, which they must change; without one they need a link.
    #[serde(default)]
    #[schema(format = Password)]
    pub password: Option<String>,
}

/// Makes a user.
#[utoipa::path(
    post, path = "/users", tag = "users", request_body = UserAsk,
    responses((status = 201, body = UserShown), (status = "4XX", body = schema::Problem))
)]
pub async fn add(
    State(web): State<Arc<Web>>,
    who: Who,
    Told(ask): Told<UserAsk>,
) -> Result<(StatusCode, Json<UserShown>), Problem> {
    who.need(Permission::UsersAdmin)?;
    who.audit(&web, action::USER_ADD, &format!("{} as {}", ask.name, ask.role)).await?;
    let asked = move |desk: &Desk| {
        let (name, display_name, password) = (&*ask.name, &*ask.display_name, ask.password.as_deref());
        desk.add_user(&NewUser { name, display_name, role: ask.role, password }, who.now_ns)
    };
    Ok((StatusCode::CREATED, Json(web.at_desk_with_password(asked).await?.into())))
}

/// One user.
#[utoipa::path(
    get, path = "/users/{name}", tag = "users", params(("name" = String, Path)),
    responses((status = 200, body = UserShown), (status = "4XX", body = schema::Problem))
)]
pub async fn show(State(web): State<Arc<Web>>, who: Who, Path(name): Path<String>) -> Result<Json<UserShown>, Problem> {
    who.need(Permission::UsersAdmin)?;
    Ok(Json(web.at_desk(move |desk| desk.user(&name, who.now_ns)).await?.into()))
}

/// What to change of a user; what is left out stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserChangeAsk {
    /// What to call them.
    #[serde(default)]
    pub display_name: Option<String>,
    /// Role: their sessions end.
    #[serde(default)]
    pub role: Option<Role>,
    /// Whether they are locked: their sessions end and their tokens rest.
    #[serde(default)]
    pub locked: Option<bool>,
}

/// Changes a user.
#[utoipa::path(
    patch, path = "/users/{name}", tag = "users", params(("name" = String, Path)), request_body = UserChangeAsk,
    responses((status = 200, body = UserShown), (status = "4XX", body = schema::Problem))
)]
pub async fn change(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(name): Path<String>,
    Told(ask): Told<UserChangeAsk>,
) -> Result<Json<UserShown>, Problem> {
    who.need(Permission::UsersAdmin)?;
    let role = ask.role.map_or_else(String::new, |role| format!(" role {role}"));
    let locked = ask.locked.map_or("", |locked| if locked { " locked" } else { " not locked" });
    who.audit(&web, action::USER_CHANGE, &format!("{name}{role}{locked}")).await?;
    let change = UserChange { display_name: ask.display_name, role: ask.role, disabled: ask.locked };
    let user = web.at_desk(move |desk| {
        desk.change_user(&name, &change)?;
        desk.user(&name, who.now_ns)
    });
    Ok(Json(user.await?.into()))
}

/// Removes a user; the audit log keeps their name.
#[utoipa::path(
    delete, path = "/users/{name}", tag = "users", params(("name" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn remove(State(web): State<Arc<Web>>, who: Who, Path(name): Path<String>) -> Result<StatusCode, Problem> {
    who.need(Permission::UsersAdmin)?;
    who.audit(&web, action::USER_REMOVE, &name).await?;
    web.at_desk(move |desk| desk.remove_user(&name)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A one-time link.
#[derive(Serialize, ToSchema)]
pub struct UserLink {
    /// What stands behind the # of the link; shown this once.
    pub token: String,
    /// The page that takes it, with the token.
    pub path: String,
}

/// Makes a one-time link by which a user sets their password.
#[utoipa::path(
    post, path = "/users/{name}/link", tag = "users", params(("name" = String, Path)),
    responses((status = 201, body = UserLink), (status = "4XX", body = schema::Problem))
)]
pub async fn link(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(name): Path<String>,
) -> Result<(StatusCode, Json<UserLink>), Problem> {
    who.need(Permission::UsersAdmin)?;
    who.audit(&web, action::LINK_MAKE, &name).await?;
    let secret = web.at_desk(move |desk| desk.make_link(&LinkKind::SetPassword(name), who.now_ns)).await?;
    let (token, path) = (secret.expose().to_owned(), format!("/link#{}", secret.expose()));
    Ok((StatusCode::CREATED, Json(UserLink { token, path })))
}
