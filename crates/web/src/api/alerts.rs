//! Alerts: those that are open and resolved ones, one with its course, silences. Beside it: orders, rules,
//! channels.

pub mod channels;
pub mod orders;
pub mod rules;

use super::ask::{Ask, Span};
use super::schema;
use crate::auth::{Permission, mask};
use crate::guard::Who;
use crate::moment;
use crate::paths;
use crate::problem::{Kind, Problem};
use crate::sight::Sight;
use crate::sources::{
    Alert, AlertCalls, AlertFull, AlertPending, AlertSilence, AlertSilences, AlertStep, AlertSummary, AlertWindow,
    Alerts, AlertsPending, SourceError,
};
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use trunkline_store::time::SECOND_NS;
use utoipa::{IntoParams, ToSchema};

/// Characters of a search, and of a name.
const TEXT_CHARACTERS_MAX: usize = 500;
/// Characters of an identifier.
const ID_CHARACTERS: usize = 36;
const SEVERITIES: [&str; 3] = ["info", "warning", "critical"];
const STATES: [&str; 4] = ["firing", "firing again", "suppressed", "unknown"];

/// What there is to ask as somebody may see it, or that there is nothing.
fn sight(web: &Web, who: &Who) -> Result<Sight, Problem> {
    let absent = || Problem::new(Kind::NotFound, "This web server has no alert job.");
    Sight::of(&web.sources, who.viewer.graphs.clone(), &who.viewer.name).ok_or_else(absent)
}

/// Asks for somebody on a thread that may wait, few at a time, and reads the answer. An error that names files of this
/// machine names them as outside.
async fn asked<T: DeserializeOwned>(web: &Arc<Web>, who: &Who, order: Value) -> Result<T, Problem> {
    let sight = sight(web, who)?;
    let asked = web.look(&web.alert_looks, move || sight.ask(order)).await?;
    let answer = asked.map_err(|error| SourceError { text: paths::named(&error.text), ..error })?;
    serde_json::from_value(answer).map_err(|error| {
        Problem::failed(format!(
            "unexpected reply from the alert job: \
        {error}"
        ))
    })
}

/// An identifier as a path has it: the whole of it, as parts of it are for people at a terminal.
fn id(what: &str, text: &str) -> Result<String, Problem> {
    let is_one = text.len() == ID_CHARACTERS && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    match is_one {
        true => Ok(text.to_owned()),
        false => Err(Problem::new(Kind::NotFound, format!("There is no {what} '{text}'."))),
    }
}

/// An alert as somebody may see it: the one place where what names people is hidden. Which alerts they may see at all,
/// [`Sight`] knows.
fn seen_by(who: &Who, alert: &mut Alert) {
    let label = |name: &str| alert.labels.get(name).and_then(|text| text.parse().ok());
    (alert.device_id, alert.graph_id) = (label("device_id"), label("graph"));
    let labels = &alert.labels;
    alert.calls.iter_mut().for_each(|calls| of_group(calls, |column| labels.get(column).map(String::as_str)));
    if who.masked() {
        mask::alert(alert);
    }
}

/// Those of the group: what the rows are grouped by, as a filter says it, where it can.
fn of_group<'l>(calls: &mut AlertCalls, label: impl Fn(&str) -> Option<&'l str>) {
    let Some(group) = &calls.group else { return };
    let (column, part) = group.split_once('/').map_or((group.as_str(), ""), |(column, part)| (column, part));
    let field = match column {
        "caller" | "callee" | "state" | "code" | "src" | "dst" | "hangup" => column,
        "verdict_kind" => "verdict",
        _ => return,
    };
    let Some(value) = label(column).filter(|value| value.bytes().all(is_plain) && !value.is_empty()) else { return };
    let any = if part.bytes().all(|b| b.is_ascii_digit()) && !part.is_empty() { "*" } else { "" };
    let test = format!("{field}:{value}{any}");
    calls.filter = if calls.filter.is_empty() { test } else { format!("({}) and {test}", calls.filter) };
}

/// Whether a value may stand in a filter as it is.
fn is_plain(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"+-_.:".contains(&b)
}

/// How alerts stand.
#[derive(Serialize, ToSchema)]
pub struct AlertStatus {
    /// Whether somebody looks after alerts beside these pages.
    pub serving: bool,
    /// Why it cannot be told; null if it can, and where nobody does.
    pub trouble: Option<String>,
    /// What is open; null where that is not known.
    pub summary: Option<AlertSummary>,
    /// Messages that wait; 0 for who does not see all devices.
    pub messages_waiting: u64,
    /// Rules that watch nothing which was seen yet; none for who does not see all devices.
    pub rules_without_subject: Vec<String>,
}

/// How alerts stand: what is open, whether anybody can be told, and which rules watch nothing. What is counted is what
/// somebody sees.
#[utoipa::path(
    get, path = "/alerts/status", tag = "alerts",
    responses((status = 200, body = AlertStatus), (status = "4XX", body = schema::Problem))
)]
pub async fn status(State(web): State<Arc<Web>>, who: Who) -> Result<Json<AlertStatus>, Problem> {
    who.need(Permission::AlertsRead)?;
    let nothing = AlertStatus {
        serving: false,
        trouble: None,
        summary: None,
        messages_waiting: 0,
        rules_without_subject: Vec::new(),
    };
    let Ok(sight) = sight(&web, &who) else { return Ok(Json(nothing)) };
    let look = move || sight.serves().then(|| summary_and_status(&sight));
    let answered: Option<Result<(Value, Value), SourceError>> = web.look(&web.alert_looks, look).await?;
    Ok(Json(match answered {
        None => nothing,
        Some(Err(error)) => AlertStatus { serving: true, trouble: Some(paths::named(&error.text)), ..nothing },
        Some(Ok((summary, status))) => {
            let mut summary: Option<AlertSummary> = serde_json::from_value(summary).ok();
            let faults = summary.iter_mut().flat_map(|summary| &mut summary.fault);
            faults.for_each(|fault| *fault = paths::named(fault));
            let trouble = summary.is_none().then(|| "it answers as another version would".to_owned());
            let messages_waiting = status["messages_waiting"].as_u64().unwrap_or_default();
            let rules_without_subject =
                serde_json::from_value(status["rules_without_subject"].clone()).unwrap_or_default();
            AlertStatus { serving: true, trouble, summary, messages_waiting, rules_without_subject }
        }
    }))
}

fn summary_and_status(sight: &Sight) -> Result<(Value, Value), SourceError> {
    let summary = sight.ask(json!({ "do": "summary" }))?;
    // It counts messages and names rules of all devices.
    let status = if sight.is_whole() { sight.ask(json!({ "do": "status" }))? } else { Value::Null };
    Ok((summary, status))
}

/// Which alerts.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AlertsAsk {
    /// `firing`, `firing again`, `suppressed` or `unknown`; nothing of resolved ones.
    pub state: Option<String>,
    /// `info`, `warning` or `critical`.
    pub severity: Option<String>,
    /// Those of a rule.
    pub rule: Option<String>,
    /// Those at a device, by its name.
    pub device: Option<String>,
    /// Acknowledged ones, or those that are not.
    pub acknowledged: Option<bool>,
    /// Words that stand in title, text or labels, all of them; where numbers are masked, in the names of rules and
    /// devices alone.
    pub text: Option<String>,
    /// Not over before then: RFC 3339, a day, `now-1d`.
    pub from: Option<String>,
    /// Began before then.
    pub to: Option<String>,
    /// How many are passed over.
    pub offset: Option<u32>,
    /// How many there are at most: 1 to 500, 100 when nothing is said.
    pub limit: Option<u32>,
}

/// Alerts that are open: the critical ones first, the newest of each first; suppressed ones last.
#[utoipa::path(
    get, path = "/alerts", tag = "alerts", params(AlertsAsk),
    responses((status = 200, body = Alerts), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who, Ask(ask): Ask<AlertsAsk>) -> Result<Json<Alerts>, Problem> {
    part(&web, &who, ask, false).await
}

/// Alert history: resolved alerts, the last first: at most the last 2000.
#[utoipa::path(
    get, path = "/alerts/history", tag = "alerts", params(AlertsAsk),
    responses((status = 200, body = Alerts), (status = "4XX", body = schema::Problem))
)]
pub async fn history(State(web): State<Arc<Web>>, who: Who, Ask(ask): Ask<AlertsAsk>) -> Result<Json<Alerts>, Problem> {
    part(&web, &who, ask, true).await
}

async fn part(web: &Arc<Web>, who: &Who, ask: AlertsAsk, past: bool) -> Result<Json<Alerts>, Problem> {
    who.need(Permission::AlertsRead)?;
    let one_of = |name: &str, value: &Option<String>, known: &[&str]| match value.as_deref() {
        Some(value) if !known.contains(&value) => {
            Err(Problem::parameter(name, format!("It is one of: {}.", known.join(", "))))
        }
        _ => Ok(()),
    };
    one_of("severity", &ask.severity, &SEVERITIES)?;
    one_of("state", &ask.state, if past { &[] } else { &STATES })?;
    for (name, text) in [("text", &ask.text), ("rule", &ask.rule), ("device", &ask.device)] {
        if text.as_ref().is_some_and(|text| text.chars().count() > TEXT_CHARACTERS_MAX) {
            return Err(Problem::parameter(name, format!("At most {TEXT_CHARACTERS_MAX} characters.")));
        }
    }
    let zone = moment::zone(None)?;
    let span = Span::read(ask.from.as_deref(), ask.to.as_deref(), who.now_ns, &zone)?;
    let second = |ns: i64| (ns != i64::MIN && ns != i64::MAX).then(|| ns.div_euclid(SECOND_NS));
    let order = json!({
        "do": "alerts", "past": past, "state": ask.state, "severity": ask.severity, "rule": ask.rule,
        "device": ask.device, "acknowledged": ask.acknowledged, "text": ask.text.unwrap_or_default(),
        "names_alone": who.masked(), "from_s": second(span.from_ns), "to_s": second(span.to_ns),
        "offset": ask.offset.unwrap_or_default(), "limit": ask.limit,
    });
    let mut alerts: Alerts = asked(web, who, order).await?;
    alerts.alerts.iter_mut().for_each(|alert| seen_by(who, alert));
    Ok(Json(alerts))
}

/// An alert, open or over, and what happened to it: its states, who was notified by which channel and with which
/// outcome, who acknowledged it, what suppresses it.
#[utoipa::path(
    get, path = "/alerts/{id}", tag = "alerts", params(("id" = String, Path)),
    responses((status = 200, body = AlertFull), (status = "4XX", body = schema::Problem))
)]
pub async fn show(State(web): State<Arc<Web>>, who: Who, Path(name): Path<String>) -> Result<Json<AlertFull>, Problem> {
    who.need(Permission::AlertsRead)?;
    let mut full: AlertFull = asked(&web, &who, json!({ "do": "alert", "alert": id("alert", &name)? })).await?;
    seen_by(&who, &mut full.alert);
    if who.masked() {
        full.course.iter_mut().for_each(mask::alert_step);
        full.silences.iter_mut().for_each(mask::alert_silence);
        full.windows.iter_mut().for_each(mask::alert_window);
    }
    // What a command or a file said may name files of this machine.
    full.course.iter_mut().flat_map(|step: &mut AlertStep| &mut step.why).for_each(|why| *why = paths::named(why));
    Ok(Json(full))
}

/// Which of them.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AlertsPendingAsk {
    /// Those at a device, by its name.
    pub device: Option<String>,
    /// How many are passed over.
    pub offset: Option<u32>,
    /// How many there are at most: 1 to 500, 100 when nothing is said.
    pub limit: Option<u32>,
}

/// Pending: not for long enough, or suppressed before it fired. The newest first.
#[utoipa::path(
    get, path = "/alerts/pending", tag = "alerts", params(AlertsPendingAsk),
    responses((status = 200, body = AlertsPending), (status = "4XX", body = schema::Problem))
)]
pub async fn pending(
    State(web): State<Arc<Web>>,
    who: Who,
    Ask(ask): Ask<AlertsPendingAsk>,
) -> Result<Json<AlertsPending>, Problem> {
    who.need(Permission::AlertsRead)?;
    let offset = ask.offset.unwrap_or_default();
    let order = json!({ "do": "pending", "device": ask.device, "offset": offset, "limit": ask.limit });
    let mut part: AlertsPending = asked(&web, &who, order).await?;
    part.pending.iter_mut().for_each(|one: &mut AlertPending| {
        one.device = one.device.take().filter(|device| !device.is_empty());
        if who.masked() {
            mask::alert_pending(one);
        }
    });
    Ok(Json(part))
}

/// Silences of users, and maintenance windows of the rules. From whom some devices or graphs are
/// hidden sees the silences that they made.
#[utoipa::path(
    get, path = "/alerts/silences", tag = "alerts",
    responses((status = 200, body = AlertSilences), (status = "4XX", body = schema::Problem))
)]
pub async fn silences(State(web): State<Arc<Web>>, who: Who) -> Result<Json<AlertSilences>, Problem> {
    who.need(Permission::AlertsRead)?;
    let mut all: AlertSilences = asked(&web, &who, json!({ "do": "silences" })).await?;
    if who.masked() {
        all.silences.iter_mut().for_each(|silence: &mut AlertSilence| mask::alert_silence(silence));
        all.windows.iter_mut().for_each(|window: &mut AlertWindow| mask::alert_window(window));
    }
    Ok(Json(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_an_alert_are_found_by_its_group() {
        let of = |filter: &str, group: &str, value: &'static str| {
            let mut calls = AlertCalls { filter: filter.to_owned(), group: Some(group.to_owned()), over_s: 300 };
            of_group(&mut calls, |_| Some(value));
            assert!(calls.filter.is_empty() || trunkline_store::Filter::parse(&calls.filter).is_ok(), "{calls:?}");
            calls.filter
        };
        assert_eq!(of("code>=500", "src/host", "192.0.2.1"), "(code>=500) and src:192.0.2.1");
        assert_eq!(of("", "callee/4", "+442"), "callee:+442*");
        assert_eq!(of("code:5xx or code:4xx", "state", "rejected"), "(code:5xx or code:4xx) and state:rejected");
        assert_eq!(of("mos<3", "user_agent", "Phone 1"), "mos<3", "not every column can be asked for");
        assert_eq!(of("mos<3", "caller", "a\" or code:2xx"), "mos<3", "what a stranger wrote is no filter");
        assert_eq!(of("", "src/host", "2001:db8::1"), "src:2001:db8::1");
    }
}
