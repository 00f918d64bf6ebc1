//! Every endpoint, asked by every role, by a masked role, by tokens, and without the proof that our own page asks.

use crate::client::{Answer, Client, text};
use crate::world::{Made, World};
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;
use trunkline_web::auth::{Permission, Permissions, Role};

/// Who may do something.
#[derive(Clone, Copy, Debug, PartialEq)]
enum May {
    /// Whoever comes; what it then needs is in the body.
    Anyone,
    /// Whoever is signed in.
    SignedIn,
    /// Whoever has this permission.
    Having(Permission),
    /// Whoever has all of these.
    All(&'static [Permission]),
}

impl May {
    /// Whether somebody lacks what it takes.
    fn lacks(self, permissions: Permissions) -> bool {
        match self {
            Anyone | SignedIn => false,
            Having(permission) => !permissions.contains(permission),
            All(all) => all.iter().any(|permission| !permissions.contains(*permission)),
        }
    }
}

use May::{All, Anyone, Having, SignedIn};
use Permission as P;

/// Who may compare calls with bills, and who may take what was found along.
const COMPARES: May = All(&[P::ChargeRead, P::CallsRead]);
const EXPORTS: May = All(&[P::ChargeRead, P::CallsRead, P::CallsExport]);
/// Who may see what was on the way of a call.
const WAY: May = All(&[P::CallsRead, P::GraphsRead]);

/// What is asked of each endpoint, and who may. The bodies are right, so that only the right to ask decides; what is
/// asked for is not there, so that nothing changes.
const ENDPOINTS: [(&str, &str, &str, May); 163] = [
    ("GET", "/session", "", Anyone),
    ("POST", "/session", r#"{"name": "nobody", "password": "x"}"#, Anyone),
    ("POST", "/session/link", r#"{"token": "x"}"#, Anyone),
    ("POST", "/session/setup", r#"{"token": "x", "name": "a", "password": "x"}"#, Anyone),
    ("GET", "/session/oidc/start", "", Anyone),
    ("GET", "/session/oidc/return", "", Anyone),
    ("GET", "/openapi.json", "", Anyone),
    ("POST", "/session/password", r#"{"old": "x", "new": "y"}"#, SignedIn),
    ("DELETE", "/session", "", SignedIn),
    ("GET", "/sessions", "", SignedIn),
    ("DELETE", "/sessions", "", SignedIn),
    ("DELETE", "/sessions/nothing", "", SignedIn),
    ("GET", "/tokens", "", SignedIn),
    ("POST", "/tokens", r#"{"name": "t", "scopes": ["calls.read"]}"#, SignedIn),
    ("DELETE", "/tokens/4711", "", SignedIn),
    ("GET", "/calls", "", Having(P::CallsRead)),
    ("GET", "/calls/summary", "", Having(P::CallsRead)),
    ("GET", "/calls/fields", "", Having(P::CallsRead)),
    ("GET", "/calls/nothing", "", Having(P::CallsRead)),
    ("GET", "/calls/nothing/intervals", "", Having(P::CallsRead)),
    ("GET", "/streams", "", Having(P::CallsRead)),
    ("GET", "/registrations", "", Having(P::CallsRead)),
    ("GET", "/registrations/summary", "", Having(P::CallsRead)),
    ("GET", "/events", "", Having(P::CallsRead)),
    ("GET", "/events/summary", "", Having(P::CallsRead)),
    ("GET", "/losses", "", Having(P::CallsRead)),
    ("GET", "/live", "", Having(P::CallsRead)),
    ("GET", "/system", "", Having(P::CallsRead)),
    ("GET", "/cache", "", Having(P::CallsRead)),
    ("GET", "/cache/history", "", Having(P::CallsRead)),
    ("GET", "/packets/segments", "", Having(P::CallsRead)),
    ("GET", "/packets/timeline", "", Having(P::CallsRead)),
    ("GET", "/aliases", "", Having(P::CallsRead)),
    ("GET", "/filters", "", Having(P::CallsRead)),
    ("PUT", "/filters/own", r#"{"text": "mos<3", "shared": false}"#, Having(P::CallsRead)),
    ("DELETE", "/filters/nothing", "", Having(P::CallsRead)),
    ("PUT", "/filters/all", r#"{"text": "mos<3", "shared": true}"#, Having(P::FiltersShare)),
    ("GET", "/calls/nothing/messages", "", Having(P::MessagesRead)),
    ("GET", "/calls/nothing/pcap", "", Having(P::PacketsDownload)),
    ("GET", "/calls.csv", "", Having(P::CallsExport)),
    ("GET", "/packets/extractions", "", Having(P::PacketsExtract)),
    ("POST", "/packets/extractions", r#"{"from": "-1h", "to": "now", "filter": ""}"#, Having(P::PacketsExtract)),
    ("GET", "/packets/extractions/nothing", "", Having(P::PacketsExtract)),
    ("DELETE", "/packets/extractions/nothing", "", Having(P::PacketsExtract)),
    ("GET", "/packets/extractions/nothing/pcap", "", Having(P::PacketsExtract)),
    ("GET", "/captures", "", Having(P::CapturesUpload)),
    ("POST", "/captures?name=x", "not a capture", Having(P::CapturesUpload)),
    ("GET", "/captures/nothing", "", Having(P::CapturesUpload)),
    ("DELETE", "/captures/nothing", "", Having(P::CapturesUpload)),
    ("PUT", "/aliases/10.0.0.1", r#"{"name": "x"}"#, Having(P::AliasesWrite)),
    ("DELETE", "/aliases/10.0.0.99", "", Having(P::AliasesWrite)),
    ("GET", "/charge", "", Having(P::ChargeRead)),
    ("GET", "/charge/rates", "", Having(P::ChargeRead)),
    ("GET", "/charge/peers", "", Having(P::ChargeRead)),
    ("GET", "/charge/sessions", "", Having(P::ChargeRead)),
    ("GET", "/charge/sessions/nothing", "", Having(P::ChargeRead)),
    ("POST", "/charge/sessions/nothing/abort", "{}", Having(P::ChargeOperate)),
    ("GET", "/charge/timeline?key=nothing", "", Having(P::ChargeRead)),
    ("POST", "/charge/accounts", r#"{"account": 9, "plan": "none"}"#, Having(P::ChargeOperate)),
    ("GET", "/charge/accounts/9", "", Having(P::ChargeRead)),
    ("PUT", "/charge/accounts/9", r#"{"plan": "none"}"#, Having(P::ChargeManage)),
    ("GET", "/charge/accounts/9/ledger", "", Having(P::ChargeRead)),
    ("GET", "/charge/accounts/9/usage", "", Having(P::ChargeRead)),
    ("POST", "/charge/accounts/9/top-up", r#"{"amount": 1, "key": "k"}"#, Having(P::ChargeOperate)),
    ("POST", "/charge/accounts/9/adjust", r#"{"amount": 1, "key": "k"}"#, Having(P::ChargeManage)),
    ("POST", "/charge/accounts/9/buy", r#"{"allowance": "none", "key": "k"}"#, Having(P::ChargeOperate)),
    ("GET", "/charge/subscribers?identity=imsi:00101", "", Having(P::ChargeRead)),
    ("GET", "/charge/subscribers/9", "", Having(P::ChargeRead)),
    ("PUT", "/charge/subscribers/9", r#"{"account": 9, "identities": []}"#, Having(P::ChargeOperate)),
    ("GET", "/charge/plans", "", Having(P::ChargeRead)),
    ("POST", "/charge/plans", r#"{"text": "bad"}"#, Having(P::ChargeManage)),
    ("GET", "/charge/plans/none", "", Having(P::ChargeRead)),
    ("GET", "/charge/plans/none/versions/1", "", Having(P::ChargeRead)),
    ("POST", "/charge/check", r#"{"text": "x"}"#, Having(P::ChargeManage)),
    ("POST", "/charge/tryouts", r#"{"text": "x", "from": "now", "to": "-1d"}"#, Having(P::ChargeManage)),
    ("GET", "/charge/tryouts", "", Having(P::ChargeManage)),
    ("GET", "/charge/tryouts/nothing", "", Having(P::ChargeManage)),
    ("DELETE", "/charge/tryouts/nothing", "", Having(P::ChargeManage)),
    ("GET", "/charge/bills", "", COMPARES),
    ("POST", "/charge/bills?name=", "", COMPARES),
    ("DELETE", "/charge/bills/nothing", "", COMPARES),
    ("GET", "/charge/comparisons", "", COMPARES),
    ("POST", "/charge/comparisons", r#"{"from": "nothing"}"#, COMPARES),
    ("GET", "/charge/comparisons/nothing", "", COMPARES),
    ("DELETE", "/charge/comparisons/nothing", "", COMPARES),
    ("GET", "/charge/comparisons/nothing/differences", "", COMPARES),
    ("GET", "/charge/comparisons/nothing/differences.csv", "", EXPORTS),
    ("GET", "/charge/comparisons/nothing/differences.jsonl", "", EXPORTS),
    ("GET", "/charge/ratings", "", COMPARES),
    ("POST", "/charge/ratings", r#"{"from": "nothing"}"#, COMPARES),
    ("GET", "/charge/ratings/nothing", "", COMPARES),
    ("DELETE", "/charge/ratings/nothing", "", COMPARES),
    ("GET", "/charge/ratings/nothing/calls", "", COMPARES),
    ("GET", "/charge/ratings/nothing/calls.csv", "", EXPORTS),
    ("GET", "/charge/ratings/nothing/calls.jsonl", "", EXPORTS),
    ("GET", "/calls/nothing/charges", "", COMPARES),
    ("GET", "/graphs", "", Having(P::GraphsRead)),
    ("GET", "/graphs/nothing", "", Having(P::GraphsRead)),
    ("GET", "/graphs/status", "", Having(P::GraphsRead)),
    ("GET", "/graphs/devices", "", Having(P::GraphsRead)),
    ("POST", "/graphs/devices", r#"{"name": "taken", "address": "a"}"#, Having(P::GraphsManage)),
    ("GET", "/graphs/devices/99", "", Having(P::GraphsRead)),
    ("DELETE", "/graphs/devices/nothing", "", Having(P::GraphsManage)),
    ("POST", "/graphs/devices/state", r#"{"devices": [], "state": "active"}"#, Having(P::GraphsManage)),
    ("GET", "/graphs/credentials", "", Having(P::GraphsManage)),
    ("GET", "/graphs/templates", "", Having(P::GraphsManage)),
    ("POST", "/graphs/credentials", r#"{"name": "taken", "kind": "token"}"#, Having(P::GraphsManage)),
    ("DELETE", "/graphs/credentials/nothing", "", Having(P::GraphsManage)),
    ("GET", "/graphs/rights", "", Having(P::UsersAdmin)),
    ("POST", "/graphs/rights/rules", r#"{"allow": true, "kind": "site", "value": "*"}"#, Having(P::UsersAdmin)),
    ("DELETE", "/graphs/rights/rules/4711", "", Having(P::UsersAdmin)),
    ("PUT", "/graphs/rights/default", r#"{"role": "viewer", "default": "some"}"#, Having(P::UsersAdmin)),
    ("GET", "/graphs/rights/preview?role=viewer", "", Having(P::UsersAdmin)),
    ("GET", "/graphs/map", "", Having(P::GraphsRead)),
    ("GET", "/graphs/behind?from=3", "", Having(P::GraphsManage)),
    ("POST", "/graphs/behind", r#"{"from": [3]}"#, Having(P::GraphsManage)),
    ("POST", "/graphs/devices/nothing/behind", r#"{"behind": []}"#, Having(P::GraphsManage)),
    ("GET", "/calls/nothing/way", "", WAY),
    ("GET", "/graphs/trees", "", Having(P::GraphsRead)),
    ("GET", "/graphs/trees/1/nodes", "", Having(P::GraphsRead)),
    ("GET", "/graphs/pictures?ids=9999", "", Having(P::GraphsRead)),
    ("GET", "/graphs/nothing/png", "", Having(P::GraphsRead)),
    ("GET", "/graphs/nothing/svg", "", Having(P::GraphsRead)),
    ("GET", "/graphs/nothing/csv", "", Having(P::GraphsRead)),
    ("GET", "/alerts", "", Having(P::AlertsRead)),
    ("GET", "/alerts/status", "", Having(P::AlertsRead)),
    ("GET", "/alerts/history", "", Having(P::AlertsRead)),
    ("GET", "/alerts/pending", "", Having(P::AlertsRead)),
    ("GET", "/alerts/nothing", "", Having(P::AlertsRead)),
    ("POST", "/alerts/nothing/acknowledge", "", Having(P::AlertsOperate)),
    ("GET", "/alerts/silences", "", Having(P::AlertsRead)),
    ("POST", "/alerts/silences", r#"{"when": [], "for_s": 1}"#, Having(P::AlertsOperate)),
    ("DELETE", "/alerts/silences/nothing", "", Having(P::AlertsOperate)),
    ("POST", "/alerts/maintenance", r#"{"device": "", "for_s": 1}"#, Having(P::AlertsOperate)),
    ("GET", "/alerts/rules", "", Having(P::AlertsRead)),
    ("GET", "/alerts/rules/nothing", "", Having(P::AlertsRead)),
    ("GET", "/alerts/check", "", Having(P::AlertsManage)),
    ("POST", "/alerts/reload", "", Having(P::AlertsManage)),
    ("GET", "/alerts/channels", "", Having(P::AlertsRead)),
    ("POST", "/alerts/channels/nothing/test", "", Having(P::AlertsManage)),
    ("GET", "/graphs/figures", "", Having(P::GraphsRead)),
    ("GET", "/graphs/figures/csv", "", Having(P::GraphsRead)),
    ("GET", "/graphs/nothing/realtime", "", Having(P::GraphsRead)),
    ("GET", "/graphs/graph-templates", "", Having(P::GraphsManage)),
    ("POST", "/graphs", r#"{"template": "x", "graphs": []}"#, Having(P::GraphsManage)),
    ("POST", "/graphs/nothing", r#"{"title": "x"}"#, Having(P::GraphsManage)),
    ("DELETE", "/graphs/nothing", "", Having(P::GraphsManage)),
    ("POST", "/graphs/trees", r#"{"name": "taken"}"#, Having(P::GraphsManage)),
    ("POST", "/graphs/trees/nothing", r#"{"name": "x"}"#, Having(P::GraphsManage)),
    ("DELETE", "/graphs/trees/nothing", "", Having(P::GraphsManage)),
    ("POST", "/graphs/places", r#"{"tree": 1, "kind": "folder", "name": "taken"}"#, Having(P::GraphsManage)),
    ("POST", "/graphs/places/nothing", r#"{"name": "x"}"#, Having(P::GraphsManage)),
    ("POST", "/graphs/places/nothing/move", "{}", Having(P::GraphsManage)),
    ("DELETE", "/graphs/places/nothing", "", Having(P::GraphsManage)),
    ("GET", "/users", "", Having(P::UsersAdmin)),
    ("POST", "/users", r#"{"name": "Not A Name", "role": "viewer"}"#, Having(P::UsersAdmin)),
    ("GET", "/users/nobody", "", Having(P::UsersAdmin)),
    ("PATCH", "/users/nobody", r#"{"display_name": "x"}"#, Having(P::UsersAdmin)),
    ("DELETE", "/users/nobody", "", Having(P::UsersAdmin)),
    ("POST", "/users/nobody/link", "", Having(P::UsersAdmin)),
    ("GET", "/users/nobody/sessions", "", Having(P::UsersAdmin)),
    ("DELETE", "/users/nobody/sessions", "", Having(P::UsersAdmin)),
    ("DELETE", "/users/nobody/sessions/nothing", "", Having(P::UsersAdmin)),
];

/// Of the endpoints that are not in the table: the audit log is read by nobody in the loop below, and stands here.
const AUDIT: (&str, &str, &str, May) = ("GET", "/audit", "", Having(P::AuditRead));

fn endpoints() -> impl Iterator<Item = (&'static str, &'static str, &'static str, May)> {
    ENDPOINTS.into_iter().chain([AUDIT])
}

fn ask(client: &Client, method: &str, path: &str, body: &str) -> Answer {
    let client = if path.starts_with("/captures?") {
        client.with("Content-Type", "application/octet-stream")
    } else {
        client.clone()
    };
    // What never ends is looked at and left.
    if path == "/live" {
        return if begins(&client) { Answer { status: 200, headers: vec![], body: vec![] } } else { client.get(path) };
    }
    client.ask(method, path, (!body.is_empty()).then_some(body.as_bytes()))
}

/// Whether the live feed begins.
fn begins(client: &Client) -> bool {
    let mut stream = TcpStream::connect(client.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut head = format!("GET /api/v1/live HTTP/1.1\r\nHost: {}\r\n", client.address);
    head += &client.cookie_field();
    for (name, value) in &client.headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    first.ends_with(b" 200")
}

/// The kind of problem, empty where there is none.
fn kind(answer: &Answer) -> String {
    let problem = answer.header("content-type").starts_with("application/problem+json");
    let kind = if problem { answer.json()["type"].as_str().map(str::to_owned) } else { None };
    kind.unwrap_or_default().trim_start_matches("/problems/").to_owned()
}

#[test]
fn the_table_names_every_endpoint() {
    let document = crate::schema::document();
    let mut wanted: Vec<String> = vec![];
    for (path, operations) in document["paths"].as_object().unwrap() {
        wanted.extend(operations.as_object().unwrap().keys().map(|m| format!("{} {path}", m.to_uppercase())));
    }
    let fits = |template: &str, path: &str| {
        let (template, path) = (template.trim_start_matches("/api/v1"), path.split('?').next().unwrap());
        let (a, b): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
        a.len() == b.len() && a.iter().zip(&b).all(|(t, p)| t == p || t.starts_with('{'))
    };
    for one in &wanted {
        let (method, template) = one.split_once(' ').unwrap();
        assert!(endpoints().any(|(m, path, ..)| m == method && fits(template, path)), "{one}: who may?");
    }
}

#[test]
fn each_role_may_what_it_may_and_no_more() {
    // Nobody waits for the other roles' sessions: each has its own world, and the masked ones a world that masks them.
    for (role, mask_below) in [
        (None, Role::Support),
        (Some(Role::Viewer), Role::Support),
        (Some(Role::Viewer), Role::Viewer),
        (Some(Role::Support), Role::Support),
        (Some(Role::Support), Role::Administrator),
        (Some(Role::Engineer), Role::Support),
        (Some(Role::Engineer), Role::Administrator),
        (Some(Role::Administrator), Role::Administrator),
    ] {
        let options = move |o: &mut trunkline_web::Options| o.auth.mask_below = mask_below;
        let world = World::made(Made { options: Box::new(options), ..Made::default() });
        let permissions = role.map_or(Permissions::NONE, |role| Permissions::of(role, mask_below));
        let client = role.map_or(world.stranger(), |role| world.signed_in(role));
        for (method, path, body, may) in endpoints() {
            if (method, path) == ("DELETE", "/session") {
                continue;
            }
            let answer = ask(&client, method, path, body);
            let refused = match (role, may) {
                (_, Anyone) => None,
                (None, _) => Some((401, "signed-out")),
                (Some(_), may) if may.lacks(permissions) => Some((403, "forbidden")),
                _ => None,
            };
            let got = (answer.status, kind(&answer));
            let what = format!("{role:?} (masked below {mask_below}) {method} {path}: {got:?}");
            match refused {
                Some((status, kind)) => assert_eq!(got, (status, kind.to_owned()), "{what}"),
                // Asked for with wrong passwords and links, these refuse by themselves.
                None if matches!(path, "/session" | "/session/password") && method == "POST" => {
                    assert!(!["forbidden", "csrf"].contains(&got.1.as_str()), "{what}");
                }
                None => assert!(![401, 403].contains(&got.0) && got.0 < 500, "{what}: {}", text(&answer.body)),
            }
        }
    }
}

#[test]
fn what_changes_something_needs_the_session_s_token() {
    let world = World::new();
    let mut blind = world.signed_in(Role::Administrator);
    let right = blind.csrf.take();
    for (method, path, body, _) in endpoints().filter(|(method, ..)| *method != "GET") {
        for csrf in [None, Some("guess".to_owned())] {
            blind.csrf = csrf;
            let answer = ask(&blind, method, path, body);
            assert_eq!((answer.status, kind(&answer).as_str()), (403, "csrf"), "{method} {path}");
        }
        blind.csrf = right.clone();
        for (name, value) in [("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site")] {
            let answer = ask(&blind.with(name, value), method, path, body);
            assert_eq!((answer.status, kind(&answer).as_str()), (403, "csrf"), "{method} {path} {name}");
        }
    }
    // And the session is still there: nothing of it went through.
    assert_eq!(blind.get("/session").ok(200)["signed_in"], true);
    assert_eq!(blind.get("/aliases").ok(200)["aliases"], json!([]));
}

#[test]
fn a_token_may_what_its_scopes_say_and_never_makes_users_or_tokens() {
    let world = World::new();
    let boss = world.signed_in(Role::Administrator);
    for scopes in [
        &["calls.read"][..],
        &["calls.read", "numbers.read", "messages.read"],
        &["calls.read", "numbers.read", "packets.download", "packets.extract", "captures.upload"],
        &["aliases.write"],
        &["audit.read"],
        &["charge.read", "charge.operate"],
        &["charge.manage"],
        &["graphs.read"],
        &["graphs.manage"],
        &["alerts.read"],
        &["alerts.operate"],
        &["alerts.manage"],
    ] {
        let made = boss.post("/tokens", &json!({ "name": scopes[0], "scopes": scopes })).ok(201);
        let token = world.stranger().token(made["secret"].as_str().unwrap());
        let permissions = Permissions::parse(scopes.iter().copied()).unwrap();
        for (method, path, body, may) in endpoints() {
            if matches!(may, Anyone | SignedIn) {
                continue;
            }
            let answer = ask(&token, method, path, body);
            let got = (answer.status, kind(&answer));
            let what = format!("{scopes:?} {method} {path}: {got:?}");
            if !may.lacks(permissions) {
                assert!(![401, 403].contains(&got.0) && got.0 < 500, "{what}");
            } else {
                assert_eq!(got, (403, "forbidden".to_owned()), "{what}");
            }
        }
        for (method, path, body) in [
            ("POST", "/tokens", r#"{"name": "t", "scopes": ["calls.read"]}"#),
            ("DELETE", "/tokens/1", ""),
            ("GET", "/sessions", ""),
            ("DELETE", "/sessions", ""),
            ("DELETE", "/sessions/nothing", ""),
            ("POST", "/session/password", r#"{"old": "x", "new": "y"}"#),
        ] {
            let answer = ask(&token, method, path, body);
            assert_eq!((answer.status, kind(&answer).as_str()), (403, "forbidden"), "{scopes:?} {method} {path}");
        }
    }
}

#[test]
fn what_was_refused_stands_in_the_audit_log() {
    let world = World::new();
    let (boss, viewer) = (world.signed_in(Role::Administrator), world.signed_in(Role::Viewer));
    viewer.get("/calls/0190/messages").problem(403, "forbidden");
    viewer.get("/calls?filter=caller:%2B4420*").problem(403, "forbidden");
    viewer.get("/registrations?q=%2B4420").problem(403, "forbidden");
    for n in 0..trunkline_web::auth::masked_probe::NUMBERS_PER_HOUR_MAX {
        viewer.get(&format!("/calls?limit=1&filter=caller:%2B4420{n:08}")).ok(200);
    }
    viewer.get("/calls?limit=1&filter=caller:%2B442099999999").problem(429, "too-many");
    let entries = boss.get("/audit?user=viewer").ok(200);
    let refused = entries["entries"].as_array().unwrap().iter().filter(|e| e["action"] == "refused");
    let told: Vec<_> = refused.map(|e| (e["object"].as_str().unwrap(), e["outcome"].as_str().unwrap())).collect();
    assert_eq!(
        told,
        [
            ("GET /api/v1/calls", "too-many"),
            ("GET /api/v1/registrations", "forbidden"),
            ("GET /api/v1/calls", "forbidden"),
            ("GET /api/v1/calls/0190/messages", "forbidden"),
        ]
    );
}
