//! What administrators change: devices and credentials.

use super::{asked, number, question};
use crate::api::ask::Told;
use crate::api::schema;
use crate::auth::{Permission, action};
use crate::guard::Who;
use crate::problem::Problem;
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use trunkline_contract::graph::{Ask as GraphAsk, GraphCredentials, GraphTemplates, Question};
use utoipa::ToSchema;

/// Devices of one order.
const DEVICES_MAX: usize = 1000;

/// Has it written down, and done. What stands in the audit log has no secrets.
pub(super) async fn done(
    web: &Arc<Web>,
    who: &Who,
    action: &'static str,
    object: &str,
    order: Value,
) -> Result<StatusCode, Problem> {
    let by = who.viewer.name.clone();
    let order = asked(web, move |graphing| Ok(graphing.call(GraphAsk::Change { by, order }).map(drop)?));
    who.audited(web, action, object, order).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A device that is to be polled.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphDeviceAsk {
    /// Its name, which no other device has.
    pub name: String,
    /// Its address, or a name that is resolved.
    pub address: String,
    /// The version of SNMP: `1`, `2c` (when nothing is said), `3`, or `none`.
    pub version: Option<String>,
    /// The port of its agent; 161 when nothing is said.
    pub port: Option<u16>,
    /// The name of its credential.
    pub credential: Option<String>,
    /// The name of its site.
    pub site: Option<String>,
    /// For people.
    pub notes: Option<String>,
    /// The name of its device template; the one for what it is when nothing is said, without SNMP none.
    pub template: Option<String>,
    /// What its data sources are told, by name; of a device without SNMP.
    pub arguments: Option<BTreeMap<String, String>>,
    /// Seconds between two cycles; as its data templates say when nothing is said.
    pub step_s: Option<u32>,
    /// What tells whether it is up: `icmp`, `snmp`, `tcp:PORT`, `udp:PORT`; SNMP when nothing is said, without it ICMP.
    pub probes: Option<Vec<String>>,
    /// `any` of them must answer (when nothing is said), or `all`.
    pub probes_needed: Option<String>,
    /// Rounds without an answer until it is down; 2 when nothing is said.
    pub failures: Option<u16>,
    /// Rounds with one until it is up again; 1 when nothing is said.
    pub recoveries: Option<u16>,
}

/// Adds a device: it is looked at, gets what its kind has, and is polled from now on.
#[utoipa::path(
    post, path = "/graphs/devices", tag = "graphs", request_body = GraphDeviceAsk,
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn add_device(
    State(web): State<Arc<Web>>,
    who: Who,
    Told(ask): Told<GraphDeviceAsk>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::GraphsManage)?;
    let object = format!("device {}: {}", ask.name, ask.address);
    let order = json!({
        "do": "add-device", "name": ask.name, "address": ask.address, "version": ask.version, "port": ask.port,
        "credential": ask.credential, "site": ask.site, "notes": ask.notes, "template": ask.template,
        "arguments": ask.arguments, "step_s": ask.step_s, "probes": ask.probes, "probes_needed": ask.probes_needed,
        "failures": ask.failures, "recoveries": ask.recoveries,
    });
    done(&web, &who, action::GRAPH_DEVICE, &object, order).await
}

/// Devices and what they are to be.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphStateAsk {
    /// Their numbers, at most 1000.
    pub devices: Vec<u32>,
    /// `active`, `maintenance` (polled, without alarms) or `disabled`.
    pub state: String,
}

/// Has devices polled, polled without alarms, or not polled.
#[utoipa::path(
    post, path = "/graphs/devices/state", tag = "graphs", request_body = GraphStateAsk,
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn set_state(
    State(web): State<Arc<Web>>,
    who: Who,
    Told(ask): Told<GraphStateAsk>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::GraphsManage)?;
    let object = format!("devices {}: {}", numbers(&ask.devices)?, ask.state);
    let order = json!({ "do": "set-state", "devices": ask.devices, "state": ask.state });
    done(&web, &who, action::GRAPH_DEVICE, &object, order).await
}

fn numbers(ids: &[u32]) -> Result<String, Problem> {
    if ids.is_empty() || ids.len() > DEVICES_MAX {
        return Err(Problem::parameter("devices", format!("1 to {DEVICES_MAX} devices.")));
    }
    Ok(ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" "))
}

/// Removes a device with all that is of it: its graphs and what was read.
#[utoipa::path(
    delete, path = "/graphs/devices/{id}", tag = "graphs", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn remove_device(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::GraphsManage)?;
    let id = number("device", &id)?;
    let order = json!({ "do": "remove-devices", "devices": [id] });
    done(&web, &who, action::GRAPH_DEVICE, &format!("device {id} is removed"), order).await
}

/// What devices are asked with: names and kinds, never the secrets.
#[utoipa::path(
    get, path = "/graphs/credentials", tag = "graphs",
    responses((status = 200, body = GraphCredentials), (status = "4XX", body = schema::Problem))
)]
pub async fn credentials(State(web): State<Arc<Web>>, who: Who) -> Result<Json<GraphCredentials>, Problem> {
    who.need(Permission::GraphsManage)?;
    question(&web, &who, Question::Credentials {}).await.map(Json)
}

/// Device templates, for whoever adds a device.
#[utoipa::path(
    get, path = "/graphs/templates", tag = "graphs",
    responses((status = 200, body = GraphTemplates), (status = "4XX", body = schema::Problem))
)]
pub async fn templates(State(web): State<Arc<Web>>, who: Who) -> Result<Json<GraphTemplates>, Problem> {
    who.need(Permission::GraphsManage)?;
    question(&web, &who, Question::Templates {}).await.map(Json)
}

/// A credential that is to be there.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphCredentialAsk {
    /// Its name, which no other one has.
    pub name: String,
    /// `community` (SNMP v1, v2c), `user` (SNMP v3), `password` or `token` (HTTP).
    pub kind: String,
    /// Of a community.
    pub community: Option<String>,
    /// Of a user or a password.
    pub user: Option<String>,
    /// Of a user: `none`, `md5`, `sha1`, `sha224`, `sha256`, `sha384` or `sha512`.
    pub authentication: Option<String>,
    /// Of a user.
    pub authentication_password: Option<String>,
    /// Of a user: `none`, `des`, `aes128`, `aes192` or `aes256`.
    pub privacy: Option<String>,
    /// Of a user.
    pub privacy_password: Option<String>,
    /// Of a user: contextName.
    pub context: Option<String>,
    /// Of a password.
    pub password: Option<String>,
    /// Of a token.
    pub token: Option<String>,
}

/// Adds a credential. What is secret in it is never told again.
#[utoipa::path(
    post, path = "/graphs/credentials", tag = "graphs", request_body = GraphCredentialAsk,
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn add_credential(
    State(web): State<Arc<Web>>,
    who: Who,
    Told(ask): Told<GraphCredentialAsk>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::GraphsManage)?;
    let object = format!("credential {}: {}", ask.name, ask.kind);
    let order = json!({
        "do": "add-credential", "name": ask.name, "kind": ask.kind, "community": ask.community, "user": ask.user,
        "authentication": ask.authentication, "authentication_password": ask.authentication_password,
        "privacy": ask.privacy, "privacy_password": ask.privacy_password, "context": ask.context,
        "password": ask.password, "token": ask.token,
    });
    done(&web, &who, action::GRAPH_CREDENTIAL, &object, order).await
}

/// Removes a credential that no device has.
#[utoipa::path(
    delete, path = "/graphs/credentials/{id}", tag = "graphs", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn remove_credential(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::GraphsManage)?;
    let id = number("credential", &id)?;
    let order = json!({ "do": "remove-credential", "id": id });
    done(&web, &who, action::GRAPH_CREDENTIAL, &format!("credential {id} is removed"), order).await
}
