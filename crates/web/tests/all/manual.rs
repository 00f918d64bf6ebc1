//! The examples of docs/manual/api.md: each names an endpoint that there is, and what only looks is run.

use crate::eventually::eventually;
use crate::schema::{document, template};
use crate::world::{World, call};
use serde_json::json;
use std::path::Path;
use trunkline_web::auth::Role;

/// Lines of a shell, with those joined that end in a backslash.
fn commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for block in text.split("```sh\n").skip(1) {
        let block = block.split("```").next().unwrap().replace("\\\n", "");
        commands.extend(block.lines().filter(|line| line.starts_with("curl ")).map(str::to_owned));
    }
    commands
}

#[test]
fn the_examples_of_the_manual_work() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manual/api.md");
    let commands = commands(&std::fs::read_to_string(path).unwrap());
    assert!(commands.len() > 30);
    let world = World::new();
    let boss = world.signed_in(Role::Administrator);
    let scopes = ["calls.read", "numbers.read", "messages.read", "packets.download", "packets.extract", "calls.export"];
    let charging = ["charge.read", "charge.operate", "charge.manage", "graphs.read", "graphs.manage"];
    let alerts = ["alerts.read", "alerts.operate", "alerts.manage"];
    let others = ["captures.upload", "aliases.write", "filters.share", "audit.read"];
    let all = [&scopes[..], &others, &charging, &alerts].concat();
    let made = boss.post("/tokens", &json!({"name": "manual", "scopes": all})).ok(201);
    let client = boss.token(made["secret"].as_str().unwrap());
    let mut extraction = String::new();
    for command in commands {
        let address = command.split("$TL").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let encoded = command.split("--data-urlencode \"").nth(1).map(|rest| rest.split('"').next().unwrap());
        let data = command.split(" -d '").nth(1).map(|rest| rest.split('\'').next().unwrap());
        let method = match command.split("-X ").nth(1) {
            Some(rest) => rest.split(' ').next().unwrap(),
            None if data.is_some() || command.contains("--data-binary") => "POST",
            None => "GET",
        };
        let address =
            address.replace("$ID", &call(1).id.to_string()).replace("$EXTRACTION", &extraction).replace("$KEY", "0-1");
        let address = match encoded.and_then(|pair| pair.split_once('=')) {
            Some((name, value)) => {
                let value: String = value.bytes().map(|b| format!("%{b:02x}")).collect();
                format!("{address}?{name}={value}")
            }
            None => address,
        };
        if address.starts_with("/api/") {
            let known = template(&address).unwrap_or_else(|| panic!("{command}: no such endpoint"));
            assert!(document()["paths"][known][method.to_lowercase()].is_object(), "{command}: no such method");
        }
        if address == "/api/v1/live" || command.contains("--data-binary") {
            continue;
        }
        let answer = client.ask(method, &format!("/{address}"), data.map(str::as_bytes));
        assert!((200..300).contains(&answer.status), "{command}: {}", crate::client::text(&answer.body));
        if address.ends_with("/extractions") {
            extraction = answer.json()["id"].as_str().unwrap().to_owned();
            let path = format!("/packets/extractions/{extraction}");
            eventually("it is done", || client.get(&path).ok(200)["state"] == "done");
        }
    }
}
