//! The OpenAPI document: checked in, complete, and true.

use crate::client::text;
use crate::schema::document;
use crate::world::World;
use std::path::Path;

/// `UPDATE_OPENAPI=1 cargo test -p trunkline-web --test all` writes the file anew.
#[test]
fn the_document_is_checked_in() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json");
    let text = trunkline_web::api::document_text();
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        known == text,
        "openapi.json is not what the program serves: UPDATE_OPENAPI=1 cargo test -p trunkline-web --test all"
    );
}

#[test]
fn it_is_served_and_every_reference_leads_somewhere() {
    let world = World::new();
    let answer = world.stranger().get("/openapi.json");
    assert_eq!(text(&answer.body), trunkline_web::api::document_text());
    let all = text(&answer.body);
    for reference in all.split("\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(document()["components"]["schemas"][name].is_object(), "{name}");
    }
    for (path, operations) in document()["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            assert!(
                operation["summary"].is_string() || operation["description"].is_string(),
                "{method} {path} says nothing"
            );
            let answers = operation["responses"].as_object().unwrap();
            assert!(answers.keys().any(|status| status.starts_with(['2', '3'])), "{method} {path}");
        }
    }
}

/// Every path answers to its methods and to no other; HEAD goes wherever GET does.
#[test]
fn every_path_of_it_answers() {
    let world = World::new();
    let client = world.signed_in(trunkline_web::auth::Role::Administrator);
    let mut names = std::collections::BTreeSet::new();
    for (path, operations) in document()["paths"].as_object().unwrap() {
        let address = path.strip_prefix("/api/v1").unwrap().replace(['{', '}', '*'], "");
        let known: Vec<String> = operations.as_object().unwrap().keys().map(|m| m.to_uppercase()).collect();
        for (method, operation) in operations.as_object().unwrap() {
            assert!(names.insert(operation["operationId"].as_str().unwrap()), "{method} {path}: its name is taken");
        }
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            if path == "/api/v1/live" || (path == "/api/v1/session" && method == "DELETE") {
                continue;
            }
            let answer = client.ask(method, &address, (method != "GET").then_some(&b"{}"[..]));
            assert_eq!(answer.status == 405, !known.contains(&method.to_owned()), "{method} {path}: {}", answer.status);
            assert!(answer.status < 500, "{method} {path}: {}", text(&answer.body));
            assert!(!text(&answer.body).contains("no such endpoint"), "{method} {path}");
        }
        if known.contains(&"GET".to_owned()) && path != "/api/v1/live" {
            let head = client.ask("HEAD", &address, None);
            assert!(head.body.is_empty() && head.status < 500, "HEAD {path}");
        }
    }
}

/// The routes are those of the document because both are made of the same list: no other file makes routes.
#[test]
fn every_route_is_in_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![folder];
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        let routes = source.matches(".route(").count();
        let allowed = if path.ends_with("src/api.rs") { 2 } else { 0 };
        assert_eq!(routes, allowed, "{}: use .routes(routes!(...)) in api.rs, so that it is described", path.display());
    }
}
