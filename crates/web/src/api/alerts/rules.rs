//! Rules: what is watched, how each stands, and reading them again.

use super::asked;
use crate::api::ask::Ask;
use crate::api::schema;
use crate::auth::{Permission, action, mask};
use crate::guard::Who;
use crate::paths;
use crate::problem::Problem;
use crate::sources::{AlertChecked, AlertRule, AlertRuleFull, AlertRules, AlertSubject};
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::IntoParams;

/// The rules, as their files have them, and how many subjects and alerts each has.
#[utoipa::path(
    get, path = "/alerts/rules", tag = "alerts",
    responses((status = 200, body = AlertRules), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who) -> Result<Json<AlertRules>, Problem> {
    who.need(Permission::AlertsRead)?;
    who.need_all_graphs()?;
    let mut all: AlertRules = asked(&web, &who, json!({ "do": "rules" })).await?;
    if who.masked() {
        all.rules.iter_mut().for_each(|rule: &mut AlertRule| mask::alert_rule(rule));
    }
    Ok(Json(all))
}

/// Which subjects.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AlertRuleAsk {
    /// `next` of the part before.
    pub cursor: Option<String>,
    /// How many there are at most: 1 to 500, 100 when nothing is said.
    pub limit: Option<u32>,
}

/// A rule and the subjects that it follows, in the order of their names. Where numbers are masked, those of a rule over
/// rows are not listed: their order would tell them.
#[utoipa::path(
    get, path = "/alerts/rules/{name}", tag = "alerts", params(("name" = String, Path), AlertRuleAsk),
    responses((status = 200, body = AlertRuleFull), (status = "4XX", body = schema::Problem))
)]
pub async fn show(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(name): Path<String>,
    Ask(ask): Ask<AlertRuleAsk>,
) -> Result<Json<AlertRuleFull>, Problem> {
    who.need(Permission::AlertsRead)?;
    who.need_all_graphs()?;
    let after = ask.cursor.unwrap_or_default();
    let order = json!({ "do": "rule", "rule": name, "after": after, "limit": ask.limit });
    let mut full: AlertRuleFull = asked(&web, &who, order).await?;
    full.followed.iter_mut().for_each(|one: &mut AlertSubject| {
        one.device = one.device.take().filter(|device| !device.is_empty());
    });
    if who.masked() {
        mask::alert_rule(&mut full.rule);
        if full.rule.kind == "rows" {
            (full.followed, full.next) = (Vec::new(), None);
        }
        full.followed.iter_mut().for_each(mask::alert_subject);
    }
    Ok(Json(full))
}

/// Looks at the files of rules without taking them over: every mistake, with file, line and column.
#[utoipa::path(
    get, path = "/alerts/check", tag = "alerts",
    responses((status = 200, body = AlertChecked), (status = "4XX", body = schema::Problem))
)]
pub async fn check(State(web): State<Arc<Web>>, who: Who) -> Result<Json<AlertChecked>, Problem> {
    who.need(Permission::AlertsManage)?;
    checked(&web, &who).await.map(Json)
}

async fn checked(web: &Arc<Web>, who: &Who) -> Result<AlertChecked, Problem> {
    let mut checked: AlertChecked = asked(web, who, json!({ "do": "check" })).await?;
    checked.mistakes.iter_mut().for_each(|mistake| *mistake = paths::named(mistake));
    Ok(checked)
}

/// Has the files of rules read again. With mistakes, which are all told, the rules that were read before hold.
#[utoipa::path(
    post, path = "/alerts/reload", tag = "alerts",
    responses((status = 200, body = AlertChecked), (status = "4XX", body = schema::Problem))
)]
pub async fn reload(State(web): State<Arc<Web>>, who: Who) -> Result<Json<AlertChecked>, Problem> {
    who.need(Permission::AlertsManage)?;
    let found = checked(&web, &who).await?;
    if !found.mistakes.is_empty() {
        who.audit(&web, action::ALERT_RELOAD, &format!("{} mistakes: nothing is taken", found.mistakes.len())).await?;
        return Ok(Json(found));
    }
    let order = asked::<Value>(&web, &who, json!({ "do": "reload" }));
    let taken = who.audited(&web, action::ALERT_RELOAD, "the rules", order).await?;
    Ok(Json(AlertChecked { rules: taken["rules"].as_u64(), mistakes: Vec::new(), taken: true }))
}
