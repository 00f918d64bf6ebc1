//! The web over real TCP: every endpoint, what it refuses, and what strangers try. Each JSON answer is compared with
//! the OpenAPI document.

mod alerts;
mod caches;
mod charging;
mod client;
mod comparisons;
mod document;
#[path = "../../../kit/tests/shared/eventually.rs"]
mod eventually;
mod gallery;
mod graphs;
mod hostile;
mod http2;
mod lists;
mod live;
mod machine;
mod manual;
mod oidc;
mod one_call;
mod people;
mod provider;
mod ratings;
mod replay;
mod rights;
mod roles;
mod schema;
mod sentry;
mod sessions;
mod till;
mod tls;
mod work;
mod world;
