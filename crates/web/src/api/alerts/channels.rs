//! Channels: how people are told, without what lets in.

use super::{asked, sight};
use crate::api::schema;
use crate::auth::{Permission, action, mask};
use crate::guard::Who;
use crate::paths;
use crate::problem::Problem;
use crate::sources::{AlertChannels, AlertSent, AlertTested, SourceError};
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use serde_json::json;
use std::sync::Arc;

/// The channels, what came of the last message of each, and of the last messages of all.
#[utoipa::path(
    get, path = "/alerts/channels", tag = "alerts",
    responses((status = 200, body = AlertChannels), (status = "4XX", body = schema::Problem))
)]
pub async fn list(State(web): State<Arc<Web>>, who: Who) -> Result<Json<AlertChannels>, Problem> {
    who.need(Permission::AlertsRead)?;
    who.need_all_graphs()?;
    let mut all: AlertChannels = asked(&web, &who, json!({ "do": "channels" })).await?;
    let last = all.channels.iter_mut().flat_map(|channel| &mut channel.last);
    last.chain(&mut all.sent).for_each(|sent: &mut AlertSent| {
        sent.why = paths::named(&sent.why);
        if who.masked() {
            mask::alert_sent(sent);
        }
    });
    all.channels.iter_mut().for_each(|channel| channel.to = paths::named(&channel.to));
    Ok(Json(all))
}

/// Sends a message by a channel, once, to see that it arrives. It may take as long as the channel may.
#[utoipa::path(
    post, path = "/alerts/channels/{name}/test", tag = "alerts", params(("name" = String, Path)),
    responses((status = 200, body = AlertTested), (status = "4XX", body = schema::Problem))
)]
pub async fn test(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(name): Path<String>,
) -> Result<Json<AlertTested>, Problem> {
    who.need(Permission::AlertsManage)?;
    let sight = sight(&web, &who)?;
    let order = json!({ "do": "test", "channel": name });
    let sends = async {
        let sent = web.look(&web.alert_tests, move || sight.ask(order)).await?;
        let answer = sent.map_err(|error| SourceError { text: paths::named(&error.text), ..error })?;
        serde_json::from_value(answer).map_err(|error| {
            Problem::failed(format!(
                "unexpected reply from the alert job: \
            {error}"
            ))
        })
    };
    let mut tested: AlertTested = who.audited(&web, action::ALERT_TEST, &name, sends).await?;
    tested.why = paths::named(&tested.why);
    Ok(Json(tested))
}
