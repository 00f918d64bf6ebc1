//! What people do about alerts: acknowledge them, silence them.

use super::{TEXT_CHARACTERS_MAX, asked, id};
use crate::api::ask::Told;
use crate::api::packets::time;
use crate::api::schema;
use crate::auth::{Permission, action, mask};
use crate::guard::Who;
use crate::problem::Problem;
use crate::sight;
use crate::sources::AlertSilence;
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use trunkline_store::time::SECOND_NS;
use utoipa::ToSchema;

/// Takes care of an alert: it is not escalated any more.
#[utoipa::path(
    post, path = "/alerts/{id}/acknowledge", tag = "alerts", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn acknowledge(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    who.need(Permission::AlertsOperate)?;
    let alert = id("alert", &name)?;
    let order = asked::<Value>(&web, &who, json!({ "do": "acknowledge", "alert": alert, "by": who.viewer.name }));
    who.audited(&web, action::ALERT_ACKNOWLEDGE, &alert, order).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Alerts that are to be silenced.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AlertSilenceAsk {
    /// Tests of labels that all hold, 1 to 16: `device = edge-*, core-1`, `severity != critical`. Where numbers are
    /// masked, of `rule`, `severity`, `device` and what else is known of devices. From whom some devices or graphs are
    /// hidden: one of them names one device that they see.
    pub when: Vec<String>,
    /// For how long, seconds: at most 366 days.
    pub for_s: i64,
    /// From when on, RFC 3339; from now on when nothing is said.
    pub from: Option<String>,
    /// Why, for those who wonder.
    pub why: Option<String>,
}

/// Keeps alerts back for a time.
#[utoipa::path(
    post, path = "/alerts/silences", tag = "alerts", request_body = AlertSilenceAsk,
    responses((status = 201, body = AlertSilence), (status = "4XX", body = schema::Problem))
)]
pub async fn silence(
    State(web): State<Arc<Web>>,
    who: Who,
    Told(ask): Told<AlertSilenceAsk>,
) -> Result<(StatusCode, Json<AlertSilence>), Problem> {
    who.need(Permission::AlertsOperate)?;
    if ask.when.is_empty() {
        return Err(Problem::parameter(
            "when",
            "A silence needs at least one test; without one it would silence all \
            alerts.",
        ));
    }
    if who.masked() {
        mask::check_tests(&ask.when).map_err(|refusal| who.refused(refusal))?;
    }
    keep_back(&web, &who, ask.when, ask.for_s, ask.from.as_deref(), ask.why).await
}

/// A device that is worked at.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AlertMaintenanceAsk {
    /// Its name.
    pub device: String,
    /// For how long, seconds: at most 366 days.
    pub for_s: i64,
    /// From when on, RFC 3339; from now on when nothing is said.
    pub from: Option<String>,
    /// Why, for those who wonder.
    pub why: Option<String>,
}

/// Keeps back all alerts of a device for a time: of one that is seen, where some are hidden.
#[utoipa::path(
    post, path = "/alerts/maintenance", tag = "alerts", request_body = AlertMaintenanceAsk,
    responses((status = 201, body = AlertSilence), (status = "4XX", body = schema::Problem))
)]
pub async fn maintenance(
    State(web): State<Arc<Web>>,
    who: Who,
    Told(ask): Told<AlertMaintenanceAsk>,
) -> Result<(StatusCode, Json<AlertSilence>), Problem> {
    who.need(Permission::AlertsOperate)?;
    let device = ask.device.trim();
    if !sight::is_one_name(device) {
        return Err(Problem::parameter("device", "The name of one device; for several there are silences."));
    }
    keep_back(&web, &who, vec![format!("device = {device}")], ask.for_s, ask.from.as_deref(), ask.why).await
}

async fn keep_back(
    web: &Arc<Web>,
    who: &Who,
    when: Vec<String>,
    for_s: i64,
    from: Option<&str>,
    why: Option<String>,
) -> Result<(StatusCode, Json<AlertSilence>), Problem> {
    let texts = when.iter().chain(&why);
    if texts.into_iter().any(|text| text.chars().count() > TEXT_CHARACTERS_MAX) {
        return Err(Problem::parameter("when", format!("At most {TEXT_CHARACTERS_MAX} characters.")));
    }
    let from_s = from.map(|text| time("from", text)).transpose()?.map(|ns| ns.div_euclid(SECOND_NS));
    let object = format!("{} for {for_s} s", when.join(" and "));
    let order = json!({
        "do": "silence", "when": when, "from_s": from_s, "for_s": for_s, "by": who.viewer.name,
        "why": why.unwrap_or_default(),
    });
    let made = who.audited(web, action::ALERT_SILENCE, &object, asked(web, who, order)).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

/// Ends a silence before its time; one that they made, where some devices or graphs are hidden from them.
#[utoipa::path(
    delete, path = "/alerts/silences/{id}", tag = "alerts", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = schema::Problem))
)]
pub async fn unsilence(State(web): State<Arc<Web>>, who: Who, Path(name): Path<String>) -> Result<StatusCode, Problem> {
    who.need(Permission::AlertsOperate)?;
    let silence = id("silence", &name)?;
    let order = asked::<Value>(&web, &who, json!({ "do": "unsilence", "silence": silence, "by": who.viewer.name }));
    who.audited(&web, action::ALERT_UNSILENCE, &silence, order).await?;
    Ok(StatusCode::NO_CONTENT)
}
