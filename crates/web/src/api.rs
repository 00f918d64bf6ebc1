//! The endpoints, a file for each group. `docs/adding/endpoint.md` says how to add one: a function with its
//! description, and its name in [`documented`].

mod alerts;
mod aliases;
mod ask;
mod audit;
mod cache;
mod call;
mod calls;
mod captures;
mod charge;
mod csv;
mod events;
mod extractions;
mod filters;
mod graphs;
mod health;
mod live;
mod losses;
mod oidc;
mod packets;
mod registrations;
pub mod schema;
mod session;
mod sessions;
mod streams;
mod system;
mod tokens;
mod users;

use crate::guard;
use crate::state::Web;
use ask::Text;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
pub(crate) use captures::{CAPTURES, Captures, restore};
pub(crate) use charge::bills::{BILLS, Bills};
pub(crate) use charge::comparisons::{COMPARISONS, Comparisons};
pub(crate) use charge::ratings::{RATINGS, Ratings};
pub(crate) use charge::tryouts::{TRYOUTS, Tryouts};
pub(crate) use csv::CSV_EXPORTS_MAX;
pub(crate) use extractions::{EXTRACTIONS, Extractions};
pub(crate) use oidc::PROVIDER_ASKS_MAX;
use std::sync::{Arc, OnceLock};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use utoipa::openapi::OpenApi as Document;
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Where the API is.
pub const BASE: &str = "/api/v1";
/// Octets of a body, unless an endpoint says otherwise.
// Limit: size of a request's body, unless an endpoint says otherwise
// Beyond: the request is refused
// Seen in: the error message
pub const BODY_OCTETS_MAX: usize = 64 * 1024;
/// Answers below this size are not worth compressing.
const COMPRESSED_FROM: u16 = 1024;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Trunkline",
        description = "Calls, their quality, the packet log and the system. Errors are RFC 9457 problems.",
        license(name = "MIT OR Apache-2.0")
    ),
    modifiers(&Answers),
    components(schemas(schema::Problem))
)]
struct Api;

/// The endpoints of the API with their descriptions. In parts: as one chain they are one function that takes a compiler
/// minutes.
fn documented() -> OpenApiRouter<Arc<Web>> {
    let parts: [fn() -> OpenApiRouter<Arc<Web>>; 11] = [
        signing,
        calling,
        recording,
        running,
        charging,
        settling,
        graphing,
        arranging,
        drawing,
        alerting,
        administering,
    ];
    parts.into_iter().fold(OpenApiRouter::new(), |all, part| all.merge(part()))
}

/// Who somebody is.
fn signing() -> OpenApiRouter<Arc<Web>> {
    OpenApiRouter::new()
        .routes(routes!(session::show, session::sign_in, session::sign_out))
        .routes(routes!(session::link))
        .routes(routes!(session::setup))
        .routes(routes!(session::password))
        .routes(routes!(sessions::list, sessions::end_others))
        .routes(routes!(sessions::end))
        .routes(routes!(oidc::start))
        .routes(routes!(oidc::come_back))
}

/// Calls, their signalling and their media.
fn calling() -> OpenApiRouter<Arc<Web>> {
    OpenApiRouter::new()
        .routes(routes!(calls::list))
        .routes(routes!(calls::summary))
        .routes(routes!(calls::fields))
        .routes(routes!(csv::calls))
        .routes(routes!(call::show))
        .routes(routes!(call::messages))
        .routes(routes!(call::intervals))
        .routes(routes!(call::pcap))
        .routes(routes!(streams::list))
        .routes(routes!(registrations::list))
        .routes(routes!(registrations::summary))
        .routes(routes!(events::list))
        .routes(routes!(events::summary))
        .routes(routes!(losses::list))
        .routes(routes!(live::watch))
}

/// Packets, and captures that are brought.
fn recording() -> OpenApiRouter<Arc<Web>> {
    OpenApiRouter::new()
        .routes(routes!(packets::segments))
        .routes(routes!(packets::timeline))
        .routes(routes!(extractions::list, extractions::begin))
        .routes(routes!(extractions::show, extractions::remove))
        .routes(routes!(extractions::pcap))
        .routes(routes!(captures::list))
        .routes(routes!(captures::show, captures::remove))
}

/// The system and its cache.
fn running() -> OpenApiRouter<Arc<Web>> {
    OpenApiRouter::new().routes(routes!(system::show)).routes(routes!(cache::list)).routes(routes!(cache::history))
}

/// Charging.
fn charging() -> OpenApiRouter<Arc<Web>> {
    OpenApiRouter::new()
        .routes(routes!(charge::status))
        .routes(routes!(charge::rates))
        .routes(routes!(charge::peers))
        .routes(routes!(charge::sessions::list))
        .routes(routes!(charge::sessions::show))
        .routes(routes!(charge::sessions::abort))
        .routes(routes!(charge::sessions::timeline))
        .routes(routes!(charge::accounts::open))
        .routes(routes!(charge::accounts::show, charge::accounts::set))
        .routes(routes!(charge::accounts::ledger))
        .routes(routes!(charge::accounts::usage))
        .routes(routes!(charge::accounts::top_up))
        .routes(routes!(charge::accounts::adjust))
        .routes(routes!(charge::accounts::buy))
        .routes(routes!(charge::accounts::find))
        .routes(routes!(charge::accounts::show_subscriber, charge::accounts::set_subscriber))
}

/// Plans, and what was charged beside what should be.
fn settling() -> OpenApiRouter<Arc<Web>> {
    OpenApiRouter::new()
        .routes(routes!(charge::plans::show))
        .routes(routes!(charge::plans::version))
        .routes(routes!(charge::tryouts::show, charge::tryouts::remove))
        .routes(routes!(charge::bills::remove))
        .routes(routes!(charge::comparisons::show, charge::comparisons::remove))
        .routes(routes!(charge::of_call::show))
        .routes(routes!(charge::differences::list))
        .routes(routes!(charge::differences::csv))
        .routes(routes!(charge::differences::json))
        .routes(routes!(charge::ratings::show, charge::ratings::remove))
        .routes(routes!(charge::ratings::calls))
        .routes(routes!(charge::ratings::calls_csv))
        .routes(routes!(charge::ratings::calls_jsonl))
        .merge(plans())
}

/// Graphs.
fn graphing() -> OpenApiRouter<Arc<Web>> {
    OpenApiRouter::new()
        .routes(routes!(graphs::list, graphs::arranging::make))
        .routes(routes!(graphs::show, graphs::arranging::change, graphs::arranging::remove))
        .routes(routes!(graphs::status))
        .routes(routes!(graphs::devices, graphs::orders::add_device))
        .routes(routes!(graphs::device, graphs::orders::remove_device))
        .routes(routes!(graphs::orders::set_state))
        .routes(routes!(graphs::orders::templates))
        .routes(routes!(graphs::orders::credentials, graphs::orders::add_credential))
        .routes(routes!(graphs::orders::remove_credential))
}

/// Who sees what of graphs, and how it is arranged.
fn arranging() -> OpenApiRouter<Arc<Web>> {
    OpenApiRouter::new()
        .routes(routes!(graphs::rights::list))
        .routes(routes!(graphs::rights::add))
        .routes(routes!(graphs::rights::remove))
        .routes(routes!(graphs::rights::set_default))
        .routes(routes!(graphs::rights::preview))
        .routes(routes!(graphs::trees, graphs::arranging::add_tree))
        .routes(routes!(graphs::arranging::rename_tree, graphs::arranging::remove_tree))
        .routes(routes!(graphs::arranging::add_place))
        .routes(routes!(graphs::arranging::rename_place, graphs::arranging::remove_place))
        .routes(routes!(graphs::arranging::move_place))
        .routes(routes!(graphs::arranging::templates))
}

/// What graphs show, and where devices are.
fn drawing() -> OpenApiRouter<Arc<Web>> {
    OpenApiRouter::new()
        .routes(routes!(graphs::figures::list))
        .routes(routes!(graphs::figures::csv))
        .routes(routes!(graphs::map::show))
        .routes(routes!(graphs::behind::show, graphs::behind::learn))
        .routes(routes!(graphs::behind::set))
        .routes(routes!(graphs::way::show))
        .routes(routes!(graphs::nodes))
        .routes(routes!(graphs::pictures::numbers))
        .routes(routes!(graphs::pictures::png))
        .routes(routes!(graphs::pictures::svg))
        .routes(routes!(graphs::pictures::csv))
        .routes(routes!(graphs::realtime::show))
}

/// Alerts.
fn alerting() -> OpenApiRouter<Arc<Web>> {
    OpenApiRouter::new()
        .routes(routes!(alerts::list))
        .routes(routes!(alerts::status))
        .routes(routes!(alerts::history))
        .routes(routes!(alerts::pending))
        .routes(routes!(alerts::show))
        .routes(routes!(alerts::orders::acknowledge))
        .routes(routes!(alerts::silences, alerts::orders::silence))
        .routes(routes!(alerts::orders::unsilence))
        .routes(routes!(alerts::orders::maintenance))
        .routes(routes!(alerts::rules::list))
        .routes(routes!(alerts::rules::show))
        .routes(routes!(alerts::rules::check))
        .routes(routes!(alerts::rules::reload))
        .routes(routes!(alerts::channels::list))
        .routes(routes!(alerts::channels::test))
}

/// Who may do what, and what is kept for people.
fn administering() -> OpenApiRouter<Arc<Web>> {
    OpenApiRouter::new()
        .routes(routes!(users::list, users::add))
        .routes(routes!(users::show, users::change, users::remove))
        .routes(routes!(users::link))
        .routes(routes!(sessions::list_of, sessions::end_all_of))
        .routes(routes!(sessions::end_of))
        .routes(routes!(tokens::list, tokens::make))
        .routes(routes!(tokens::remove))
        .routes(routes!(audit::list))
        .routes(routes!(aliases::list))
        .routes(routes!(aliases::set, aliases::remove))
        .routes(routes!(filters::list))
        .routes(routes!(filters::save, filters::remove))
        .routes(routes!(document_json))
        .merge(uploads())
}

/// What takes texts of plans, which may be long.
fn plans() -> OpenApiRouter<Arc<Web>> {
    OpenApiRouter::new()
        .routes(routes!(charge::plans::list, charge::plans::put_live))
        .routes(routes!(charge::plans::check))
        .routes(routes!(charge::tryouts::list, charge::tryouts::begin))
        .routes(routes!(charge::comparisons::list, charge::comparisons::begin))
        .routes(routes!(charge::ratings::list, charge::ratings::begin))
        .layer(DefaultBodyLimit::max(ask::LARGE_OCTETS_MAX))
}

/// What takes bodies of any size, and bounds them itself.
fn uploads() -> OpenApiRouter<Arc<Web>> {
    let routes = OpenApiRouter::new().routes(routes!(captures::bring));
    routes.routes(routes!(charge::bills::list, charge::bills::bring)).layer(DefaultBodyLimit::disable())
}

/// The router of everything, and what it serves.
pub(crate) fn router(web: Arc<Web>) -> Router {
    let (api, _) = OpenApiRouter::with_openapi(Api::openapi()).nest(BASE, documented()).split_for_parts();
    // What is compressed and holds a secret beside something that a stranger chose tells the secret (BREACH): answers
    // with secrets are smaller than this, and streams are never compressed.
    let worth = SizeAbove::new(COMPRESSED_FROM)
        .and(NotForContentType::const_new("text/event-stream"))
        .and(NotForContentType::const_new("application/x-pcapng"));
    let compression = CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(worth);
    api.layer(compression)
        .route("/metrics", routing::get(health::metrics))
        .route("/healthz", routing::get(health::healthz))
        .fallback(page)
        .layer(DefaultBodyLimit::max(BODY_OCTETS_MAX))
        .layer(middleware::from_fn_with_state(Arc::clone(&web), guard::gate))
        .with_state(web)
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "document", responses((status = 200, body = serde_json::Value)))]
async fn document_json() -> Text {
    Text::json(document_text().to_owned())
}

async fn page(State(web): State<Arc<Web>>, request: Request) -> Response {
    web.pages.answer(request.method(), request.uri(), request.headers()).into_response()
}

/// The OpenAPI document: what `openapi.json` in this crate's folder holds.
pub fn document() -> Document {
    let (_, document) = OpenApiRouter::with_openapi(Api::openapi()).nest(BASE, documented()).split_for_parts();
    let mut document = document;
    Answers.modify(&mut document);
    document
}

/// The document as text, indented, with a line feed at its end.
pub fn document_text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| document().to_pretty_json().unwrap_or_default() + "\n")
}

/// Answers always have all their members: what is absent is null. Members of what is asked may be left out; the names
/// of those types end in `Ask`.
/// Operations are called by method and path: names of functions come more than once.
struct Answers;

impl Modify for Answers {
    fn modify(&self, document: &mut Document) {
        for (path, item) in &mut document.paths.paths {
            let name: String = path.strip_prefix(BASE).unwrap_or(path).replace(['{', '}', '*'], "");
            let name = name.trim_matches('/').replace(['/', '.', '-'], "_");
            let methods = [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete].into_iter();
            for (method, operation) in ["get", "post", "put", "patch", "delete"].into_iter().zip(methods) {
                if let Some(operation) = operation {
                    operation.operation_id = Some(format!("{method}_{name}"));
                }
            }
        }
        let Some(components) = document.components.as_mut() else { return };
        for (name, schema) in &mut components.schemas {
            if !name.ends_with("Ask") && name != "Problem" {
                require_all(schema);
            }
        }
    }
}

fn require_all(schema: &mut utoipa::openapi::RefOr<utoipa::openapi::Schema>) {
    use utoipa::openapi::{RefOr, Schema};
    match schema {
        RefOr::T(Schema::Object(object)) => object.required = object.properties.keys().cloned().collect(),
        RefOr::T(Schema::AllOf(all)) => all.items.iter_mut().for_each(require_all),
        _ => {}
    }
}
