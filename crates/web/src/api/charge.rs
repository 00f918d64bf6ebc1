//! Charging: the node, its clients, what it answers over time. Beside it: sessions, accounts, plans.

pub mod accounts;
pub mod bills;
pub mod comparisons;
pub mod differences;
pub mod listed;
pub mod of_call;
pub mod plans;
pub mod ratings;
pub mod sessions;
pub mod tryouts;

use super::ask::Ask;
use super::schema;
use crate::auth::Permission;
use crate::guard::Who;
use crate::paths;
use crate::problem::{Kind, Problem};
use crate::server::pipe::Ends;
use crate::sources::{Cancel, ChargeNode, ChargePeers, ChargeRates, Charging, SourceError, Trouble};
use crate::state::Web;
use axum::Json;
use axum::extract::State;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// How charging stands.
#[derive(Serialize, ToSchema)]
pub struct ChargeStatus {
    /// Whether a node serves beside these pages.
    pub serving: bool,
    /// Why it cannot be asked; null if it can, and where none serves.
    pub trouble: Option<String>,
    /// How it stands; null where that is not known.
    pub node: Option<ChargeNode>,
}

/// What there is to ask, or that there is nothing.
fn charging(web: &Web) -> Result<Arc<dyn Charging>, Problem> {
    let absent = || Problem::new(Kind::NotFound, "This web server has no charging node.");
    web.sources.charging.clone().ok_or_else(absent)
}

/// Asks the node or its ledger on a thread that may wait, few at a time.
async fn asked<T: Send + 'static>(
    web: &Arc<Web>,
    ask: impl FnOnce(&dyn Charging) -> Result<T, SourceError> + Send + 'static,
) -> Result<T, Problem> {
    let charging = charging(web)?;
    Ok(web.look(&web.charge_looks, move || ask(&*charging)).await??)
}

/// Reads in the ledger, which may take seconds, on a thread that may wait: few at a time, beside what is asked of the
/// node; it ends soon after who asked has gone.
async fn read<T: Send + 'static>(
    web: &Arc<Web>,
    read: impl FnOnce(&dyn Charging, &Cancel) -> Result<T, SourceError> + Send + 'static,
) -> Result<T, Problem> {
    let (charging, cancel) = (charging(web)?, Cancel::default());
    let _ends = Ends(cancel.clone());
    Ok(web.look(&web.charge_reads, move || read(&*charging, &cancel)).await??)
}

/// Has an order done by the node, and reads its reply.
async fn order<T: DeserializeOwned + Send + 'static>(web: &Arc<Web>, order: Value) -> Result<T, Problem> {
    let reply = asked(web, move |charging| leads(charging.order(&order)?)).await?;
    serde_json::from_value(reply).map_err(|error| {
        Problem::failed(format!(
            "unexpected reply from the charging node: \
        {error}"
        ))
    })
}

/// A reply of a node that serves; one that stands by is asked for nothing.
pub(super) fn leads(reply: Value) -> Result<Value, SourceError> {
    match reply["stands_by"] == true {
        true => Err(SourceError::new(Trouble::Conflict, "This node is on standby: ask the leader.")),
        false => Ok(reply),
    }
}

/// How the charging node stands: its ledger and disk, plans, how much there is of everything.
#[utoipa::path(
    get, path = "/charge", tag = "charge",
    responses((status = 200, body = ChargeStatus), (status = "4XX", body = schema::Problem))
)]
pub async fn status(State(web): State<Arc<Web>>, who: Who) -> Result<Json<ChargeStatus>, Problem> {
    who.need(Permission::ChargeRead)?;
    let Some(charging) = web.sources.charging.clone() else {
        return Ok(Json(ChargeStatus { serving: false, trouble: None, node: None }));
    };
    let look = move || charging.serves().then(|| charging.order(&json!({ "do": "status" })));
    let status = match web.look(&web.charge_looks, look).await? {
        None => ChargeStatus { serving: false, trouble: None, node: None },
        Some(Err(error)) => ChargeStatus { serving: true, trouble: Some(paths::named(&error.text)), node: None },
        Some(Ok(reply)) if reply["stands_by"] == true => {
            let leader = reply["leader"].as_str().unwrap_or("an unknown node");
            let trouble = format!("this node is on standby at entry {}; the leader is {leader}", reply["sequence"]);
            ChargeStatus { serving: true, trouble: Some(trouble), node: None }
        }
        Some(Ok(reply)) => {
            let read = serde_json::from_value(reply).map_err(|_| "it answers as another version would".to_owned());
            let trouble = read.as_ref().err().cloned();
            ChargeStatus { serving: true, trouble, node: read.ok().map(named) }
        }
    };
    Ok(Json(status))
}

/// A node whose words name no files.
fn named(mut node: ChargeNode) -> ChargeNode {
    let name = |why: &mut Option<String>| why.iter_mut().for_each(|why| *why = paths::named(why));
    name(&mut node.failure);
    node.troubles.iter_mut().for_each(|trouble| *trouble = paths::named(trouble));
    if let Some(records) = &mut node.records {
        name(&mut records.failure);
        records.sent_on.iter_mut().for_each(|sent| name(&mut sent.failure));
    }
    node
}

/// How long back.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChargeRatesAsk {
    /// `second` (the last quarter of an hour) or `minute` (the last day).
    pub every: Option<String>,
}

/// What was answered over time, by type of request and result, and how long it took.
#[utoipa::path(
    get, path = "/charge/rates", tag = "charge", params(ChargeRatesAsk),
    responses((status = 200, body = ChargeRates), (status = "4XX", body = schema::Problem))
)]
pub async fn rates(
    State(web): State<Arc<Web>>,
    who: Who,
    Ask(ask): Ask<ChargeRatesAsk>,
) -> Result<Json<ChargeRates>, Problem> {
    who.need(Permission::ChargeRead)?;
    let minutes = match ask.every.as_deref() {
        None | Some("second") => false,
        Some("minute") => true,
        Some(_) => return Err(Problem::parameter("every", "Every second or every minute.")),
    };
    Ok(Json(order(&web, json!({ "do": "rates", "minutes": minutes })).await?))
}

/// From where on.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChargePeersAsk {
    /// Clients after this number: that of the last one of the part before.
    pub after: Option<u64>,
}

/// The clients that are connected: who they are, their watchdog, what they asked.
#[utoipa::path(
    get, path = "/charge/peers", tag = "charge", params(ChargePeersAsk),
    responses((status = 200, body = ChargePeers), (status = "4XX", body = schema::Problem))
)]
pub async fn peers(
    State(web): State<Arc<Web>>,
    who: Who,
    Ask(ask): Ask<ChargePeersAsk>,
) -> Result<Json<ChargePeers>, Problem> {
    who.need(Permission::ChargeRead)?;
    Ok(Json(order(&web, json!({ "do": "peers", "after": ask.after.unwrap_or(0) })).await?))
}
