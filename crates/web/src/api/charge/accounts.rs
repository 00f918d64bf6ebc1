//! Accounts and subscribers of charging: what they have, their ledger, and what operators do to them.

use super::sessions::number;
use super::{order, read};
use crate::api::ask::{self, Ask, Told};
use crate::api::schema;
use crate::auth::{Permission, action, mask};
use crate::guard::Who;
use crate::problem::Problem;
use crate::sources::{
    ChargeAccount, ChargeDone, ChargeLine, ChargeMark, ChargeSubscriber, ChargeUsage, Charging, SourceError, Trouble,
};
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Days of usage that may be asked for.
const DAYS_MAX: u32 = 92;
/// Days of usage when nothing is said.
const DAYS_DEFAULT: u32 = 30;
/// Characters of a note.
const NOTE_CHARACTERS_MAX: usize = 120;
const DAY_S: i64 = 86_400;

/// What was done, as whoever asked may see it.
pub(super) fn shown(who: &Who, mut done: ChargeDone) -> Result<ChargeDone, Problem> {
    if who.masked() {
        done.account.iter_mut().for_each(mask::charge_account);
    }
    Ok(done)
}

/// An account: balance, reservations, bundles, limits, its subscribers and open sessions.
#[utoipa::path(
    get, path = "/charge/accounts/{number}", tag = "charge", params(("number" = String, Path)),
    responses((status = 200, body = ChargeAccount), (status = "4XX", body = schema::Problem))
)]
pub async fn show(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(account): Path<String>,
) -> Result<Json<ChargeAccount>, Problem> {
    who.need(Permission::ChargeRead)?;
    let account = number("account", &account)?;
    who.audit(&web, action::CHARGE_SEE, &format!("account {account}")).await?;
    let mut found: ChargeAccount = order(&web, json!({ "do": "show-account", "account": account })).await?;
    if who.masked() {
        mask::charge_account(&mut found);
    }
    Ok(Json(found))
}

/// Whom.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChargeSubscriberAsk {
    /// `imsi:..`, `e164:..`, `sip:..`, `nai:..`, `private:..`, whole.
    pub identity: String,
}

/// The subscriber of an identity, with the account that pays.
#[utoipa::path(
    get, path = "/charge/subscribers", tag = "charge", params(ChargeSubscriberAsk),
    responses((status = 200, body = ChargeSubscriber), (status = "4XX", body = schema::Problem))
)]
pub async fn find(
    State(web): State<Arc<Web>>,
    who: Who,
    Ask(ask): Ask<ChargeSubscriberAsk>,
) -> Result<Json<ChargeSubscriber>, Problem> {
    who.need(Permission::ChargeRead)?;
    // Whole numbers may be asked for, trying them one by one not.
    let probed = web.desk.may_ask_for(&who.viewer, [ask.identity.as_str()], who.now_ns);
    probed.map_err(|refusal| who.refused(refusal))?;
    who.audit(&web, action::CHARGE_SEE, &ask.identity).await?;
    subscriber(&web, &who, json!({ "do": "show-subscriber", "identity": ask.identity })).await
}

/// A subscriber by its number, with the account that pays.
#[utoipa::path(
    get, path = "/charge/subscribers/{number}", tag = "charge", params(("number" = String, Path)),
    responses((status = 200, body = ChargeSubscriber), (status = "4XX", body = schema::Problem))
)]
pub async fn show_subscriber(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(subscriber): Path<String>,
) -> Result<Json<ChargeSubscriber>, Problem> {
    who.need(Permission::ChargeRead)?;
    let known = number("subscriber", &subscriber)?;
    who.audit(&web, action::CHARGE_SEE, &format!("subscriber {known}")).await?;
    self::subscriber(&web, &who, json!({ "do": "show-subscriber", "subscriber": known })).await
}

async fn subscriber(web: &Arc<Web>, who: &Who, ask: Value) -> Result<Json<ChargeSubscriber>, Problem> {
    let mut found: ChargeSubscriber = order(web, ask).await?;
    if who.masked() {
        mask::charge_account(&mut found.account);
        found.identities.iter_mut().for_each(|name| *name = mask::identity(name));
    }
    Ok(Json(found))
}

/// A subscriber as it is to be.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChargeSubscriberSetAsk {
    /// The account that pays.
    pub account: u64,
    /// What it is known by, at most eight: `imsi:..`, `e164:..`, `sip:..`, `nai:..`, `private:..`.
    pub identities: Vec<String>,
}

/// Makes a subscriber, or changes its account and identities.
#[utoipa::path(
    put, path = "/charge/subscribers/{number}", tag = "charge", params(("number" = String, Path)),
    request_body = ChargeSubscriberSetAsk,
    responses((status = 200, body = ChargeDone), (status = "4XX", body = schema::Problem))
)]
pub async fn set_subscriber(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(subscriber): Path<String>,
    Told(ask): Told<ChargeSubscriberSetAsk>,
) -> Result<Json<ChargeDone>, Problem> {
    who.need(Permission::ChargeOperate)?;
    // Whether a number is somebody's is told by what this is answered.
    let probed = web.desk.may_ask_for(&who.viewer, ask.identities.iter().map(String::as_str), who.now_ns);
    probed.map_err(|refusal| who.refused(refusal))?;
    let subscriber = number("subscriber", &subscriber)?;
    let object = format!("subscriber {subscriber}: account {}, {}", ask.account, ask.identities.join(" "));
    let (account, identities) = (ask.account, ask.identities);
    let set = json!({ "do": "subscriber", "subscriber": subscriber, "account": account, "identities": identities });
    done(&web, &who, action::CHARGE_SUBSCRIBER, &object, set).await
}

/// Has it written down, and done.
async fn done(
    web: &Arc<Web>,
    who: &Who,
    action: &'static str,
    object: &str,
    what: Value,
) -> Result<Json<ChargeDone>, Problem> {
    shown(who, who.audited(web, action, object, order(web, what)).await?).map(Json)
}

/// A new account.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChargeAccountOpenAsk {
    /// Its number.
    pub account: u64,
    /// Its plan.
    pub plan: String,
    /// What it may owe, minor units; 0 is prepaid.
    #[serde(default)]
    pub credit: i64,
    /// What it has from the beginning, minor units.
    #[serde(default)]
    pub balance: i64,
}

/// Makes an account; refused if it is there.
#[utoipa::path(
    post, path = "/charge/accounts", tag = "charge", request_body = ChargeAccountOpenAsk,
    responses((status = 200, body = ChargeDone), (status = "4XX", body = schema::Problem))
)]
pub async fn open(
    State(web): State<Arc<Web>>,
    who: Who,
    Told(ask): Told<ChargeAccountOpenAsk>,
) -> Result<Json<ChargeDone>, Problem> {
    who.need(Permission::ChargeOperate)?;
    if ask.credit != 0 {
        who.need(Permission::ChargeManage)?;
    }
    let ChargeAccountOpenAsk { account, plan, credit, balance } = ask;
    let object = format!("account {account}: plan {plan}, credit {credit}, balance {balance}");
    let open = json!({ "do": "open", "account": account, "plan": plan, "credit": credit, "balance": balance });
    done(&web, &who, action::CHARGE_ACCOUNT, &object, open).await
}

/// An account as it is to be.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChargeAccountSetAsk {
    /// Its plan.
    pub plan: String,
    /// What it may owe, minor units; 0 is prepaid.
    #[serde(default)]
    pub credit: i64,
}

/// Changes plan and credit of an account; one that is not there is made, with nothing.
#[utoipa::path(
    put, path = "/charge/accounts/{number}", tag = "charge", params(("number" = String, Path)),
    request_body = ChargeAccountSetAsk,
    responses((status = 200, body = ChargeDone), (status = "4XX", body = schema::Problem))
)]
pub async fn set(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(account): Path<String>,
    Told(ask): Told<ChargeAccountSetAsk>,
) -> Result<Json<ChargeDone>, Problem> {
    who.need(Permission::ChargeManage)?;
    let account = number("account", &account)?;
    let ChargeAccountSetAsk { plan, credit } = ask;
    let object = format!("account {account}: plan {plan}, credit {credit}");
    let set = json!({ "do": "account", "account": account, "plan": plan, "credit": credit });
    done(&web, &who, action::CHARGE_ACCOUNT, &object, set).await
}

/// Money for an account, or from it.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChargeMoneyAsk {
    /// How much, minor units.
    pub amount: i64,
    /// What for, for people; at most 120 characters.
    #[serde(default)]
    pub note: String,
    /// A text of the caller's, 1 to 64 octets, new for each order: an order that comes again within a day with the
    /// same key is not done again.
    pub key: String,
}

/// The subscriber paid. What comes again with the same key within a day is not done twice.
#[utoipa::path(
    post, path = "/charge/accounts/{number}/top-up", tag = "charge", params(("number" = String, Path)),
    request_body = ChargeMoneyAsk,
    responses((status = 200, body = ChargeDone), (status = "4XX", body = schema::Problem))
)]
pub async fn top_up(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(account): Path<String>,
    Told(ask): Told<ChargeMoneyAsk>,
) -> Result<Json<ChargeDone>, Problem> {
    who.need(Permission::ChargeOperate)?;
    if ask.amount <= 0 {
        return Err(Problem::parameter("amount", "The amount must be more than zero."));
    }
    money(&web, &who, ("top-up", action::CHARGE_TOP_UP), &account, ask).await
}

/// Money comes or goes because the operator says so; never more than is there and not reserved. What comes again with
/// the same key within a day is not done twice.
#[utoipa::path(
    post, path = "/charge/accounts/{number}/adjust", tag = "charge", params(("number" = String, Path)),
    request_body = ChargeMoneyAsk,
    responses((status = 200, body = ChargeDone), (status = "4XX", body = schema::Problem))
)]
pub async fn adjust(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(account): Path<String>,
    Told(ask): Told<ChargeMoneyAsk>,
) -> Result<Json<ChargeDone>, Problem> {
    who.need(Permission::ChargeManage)?;
    money(&web, &who, ("adjust", action::CHARGE_ADJUST), &account, ask).await
}

async fn money(
    web: &Arc<Web>,
    who: &Who,
    (word, action): (&str, &'static str),
    account: &str,
    ask: ChargeMoneyAsk,
) -> Result<Json<ChargeDone>, Problem> {
    let account = number("account", account)?;
    let ChargeMoneyAsk { amount, note, key } = ask;
    if note.chars().count() > NOTE_CHARACTERS_MAX {
        let text = format!("A note has at most {NOTE_CHARACTERS_MAX} characters.");
        return Err(Problem::parameter("note", text));
    }
    // The ledger says who it was.
    let (object, by) = (format!("account {account}: {amount} {note}"), &who.viewer.name);
    let note = format!("{note} ({by})").trim().to_owned();
    let order = json!({ "do": word, "account": account, "amount": amount, "note": note, "key": key });
    done(web, who, action, &object, order).await
}

/// A bundle that is bought.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChargeBuyAsk {
    /// The bundle.
    pub allowance: String,
    /// A text of the caller's, 1 to 64 octets, new for each order.
    pub key: String,
}

/// Buys a bundle of the account's plan. What comes again with the same key within a day is not done twice.
#[utoipa::path(
    post, path = "/charge/accounts/{number}/buy", tag = "charge", params(("number" = String, Path)),
    request_body = ChargeBuyAsk,
    responses((status = 200, body = ChargeDone), (status = "4XX", body = schema::Problem))
)]
pub async fn buy(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(account): Path<String>,
    Told(ask): Told<ChargeBuyAsk>,
) -> Result<Json<ChargeDone>, Problem> {
    who.need(Permission::ChargeOperate)?;
    let account = number("account", &account)?;
    let ChargeBuyAsk { allowance, key } = ask;
    let object = format!("account {account}: {allowance}");
    let order = json!({ "do": "buy", "account": account, "allowance": allowance, "key": key });
    done(&web, &who, action::CHARGE_BUY, &object, order).await
}

/// Which part of a ledger.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChargeLedgerAsk {
    /// Lines of a page, 1 to 1000.
    pub limit: Option<u32>,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

/// A page of an account's ledger.
#[derive(Serialize, ToSchema)]
pub struct ChargeLedgerPage {
    /// The newest first; lines of one entry stand together, so there may be some more than were asked for, and fewer
    /// where it would take too long to find them.
    pub lines: Vec<ChargeLine>,
    /// What to hand back as `cursor` for what was before; null at the beginning of the ledger.
    pub next: Option<String>,
}

/// What came to an account and went, the newest first, with the balance after each.
#[utoipa::path(
    get, path = "/charge/accounts/{number}/ledger", tag = "charge",
    params(("number" = String, Path), ChargeLedgerAsk),
    responses((status = 200, body = ChargeLedgerPage), (status = "4XX", body = schema::Problem))
)]
pub async fn ledger(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(account): Path<String>,
    Ask(ask): Ask<ChargeLedgerAsk>,
) -> Result<Json<ChargeLedgerPage>, Problem> {
    who.need(Permission::ChargeRead)?;
    let (account, limit) = (number("account", &account)?, ask::limit(ask.limit)?);
    let from = ask.cursor.as_deref().filter(|c| !c.is_empty()).map(mark).transpose()?;
    who.audit(&web, action::CHARGE_SEE, &format!("ledger of account {account}")).await?;
    let part = read(&web, move |charging, cancel| {
        let from = from.map_or_else(|| newest(charging, account), Ok)?;
        charging.ledger(account, from, limit, cancel)
    });
    let part = part.await?;
    let mut lines = part.lines;
    if who.masked() {
        lines.iter_mut().for_each(mask::charge_line);
    }
    let next = part.next.map(|mark| format!("{}.{}", mark.next, mark.balance));
    Ok(Json(ChargeLedgerPage { lines, next }))
}

fn mark(text: &str) -> Result<ChargeMark, Problem> {
    let read = text
        .split_once('.')
        .and_then(|(next, balance)| Some(ChargeMark { next: next.parse().ok()?, balance: balance.parse().ok()? }));
    read.ok_or_else(|| Problem::parameter("cursor", "The cursor is 'next' of the page before, unchanged."))
}

/// Where the ledger of an account ends now.
fn newest(charging: &dyn Charging, account: u64) -> Result<ChargeMark, SourceError> {
    let reply = charging.order(&json!({ "do": "show-account", "account": account }))?;
    let account: ChargeAccount =
        serde_json::from_value(reply).map_err(|error| SourceError::new(Trouble::Failed, error.to_string()))?;
    Ok(ChargeMark { next: account.up_to.saturating_add(1), balance: account.balance })
}

/// How long back.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChargeUsageAsk {
    /// Days, 1 to 92; 30 where nothing is said.
    pub days: Option<u32>,
}

/// What an account used by day and rating group, as far back as could be read in a few seconds.
#[utoipa::path(
    get, path = "/charge/accounts/{number}/usage", tag = "charge",
    params(("number" = String, Path), ChargeUsageAsk),
    responses((status = 200, body = ChargeUsage), (status = "4XX", body = schema::Problem))
)]
pub async fn usage(
    State(web): State<Arc<Web>>,
    who: Who,
    Path(account): Path<String>,
    Ask(ask): Ask<ChargeUsageAsk>,
) -> Result<Json<ChargeUsage>, Problem> {
    who.need(Permission::ChargeRead)?;
    let (account, days) = (number("account", &account)?, ask.days.unwrap_or(DAYS_DEFAULT));
    if !(1..=DAYS_MAX).contains(&days) {
        return Err(Problem::parameter("days", format!("From 1 to {DAYS_MAX} days.")));
    }
    let today = who.now_ns.div_euclid(DAY_S * 1_000_000_000) * DAY_S;
    let since = today - i64::from(days - 1) * DAY_S;
    who.audit(&web, action::CHARGE_SEE, &format!("usage of account {account}")).await?;
    let used = read(&web, move |charging, cancel| charging.usage(account, newest(charging, account)?, since, cancel));
    Ok(Json(used.await?))
}
