//! Signing in through an identity provider, as a browser does it, and whatever may go wrong.

use crate::client::{Answer, Client};
use crate::provider::{Provider, begin, go, with_session};
use crate::world::{Made, PASSWORD, World};
use serde_json::json;
use trunkline_web::Options;
use trunkline_web::auth::throttle::ADDRESS_ATTEMPTS_FREE;
use trunkline_web::auth::{OidcOptions, Role};

fn house(oidc: OidcOptions) -> World {
    house_with(oidc, |_| {})
}

fn house_with(oidc: OidcOptions, more: impl FnOnce(&mut Options) + 'static) -> World {
    let options = move |o: &mut Options| {
        o.oidc = Some(oidc);
        more(o);
    };
    World::made(Made { options: Box::new(options), ..Made::default() })
}

/// Asserts that nobody was signed in, and that a page says why.
#[track_caller]
fn told(answer: &Answer, location: &str) {
    assert_eq!((answer.status, answer.header("location")), (303, location));
    assert_eq!(answer.cookie(), None);
    assert!(answer.body.is_empty(), "no JSON in the window");
}

/// The outcomes of sign-ins in the audit log, newest first, with their objects.
fn sign_ins(boss: &Client) -> Vec<(String, String)> {
    let entries = boss.get("/audit?limit=50").ok(200)["entries"].as_array().unwrap().clone();
    let of = |e: &serde_json::Value, name: &str| e[name].as_str().unwrap_or_default().to_owned();
    let all = entries.iter().filter(|e| e["action"] == "sign-in" && of(e, "object").starts_with("provider"));
    all.map(|e| (of(e, "object"), of(e, "outcome"))).collect()
}

#[test]
fn somebody_signs_in_by_the_button() {
    let provider = Provider::run();
    let world = house(provider.options());
    let stranger = world.stranger();
    let told = &stranger.get("/session").ok(200)["oidc"];
    assert_eq!(*told, json!({ "label": "Voice house", "start": "/api/v1/session/oidc/start" }));
    let answer = go(&stranger, &provider, "%2Fcalls%3Ffilter%3Dmos%253C3");
    assert_eq!((answer.status, answer.header("location")), (303, "/calls?filter=mos%3C3"));
    let fields: Vec<_> = answer.headers.iter().filter(|(n, _)| n == "set-cookie").map(|(_, v)| v.as_str()).collect();
    assert!(fields[0].contains("; SameSite=Strict") && fields[0].contains("HttpOnly"), "{fields:?}");
    assert!(fields[1].starts_with("trunkline-oidc-") && fields[1].contains("Max-Age=0"), "{fields:?}");
    let alice = with_session(&stranger, &answer);
    let session = alice.get("/session").ok(200);
    let user = json!({
        "name": "alice", "display_name": "Alice Miller", "role": "support", "must_change_password": false
    });
    assert_eq!((&session["user"], &session["signed_in"]), (&user, &true.into()));
    alice.get("/calls").ok(200);
    let boss = world.signed_in(Role::Administrator);
    assert_eq!(sign_ins(&boss), [("provider".to_owned(), "ok".to_owned())]);
    assert_eq!(boss.get("/users/alice").ok(200)["oidc"], true);
    alice.delete("/session").ok(204);
    alice.get("/calls").problem(401, "signed-out");
}

#[test]
fn an_answer_that_is_not_this_browsers_opens_nothing() {
    let provider = Provider::run();
    let world = house(provider.options());
    let stranger = world.stranger();
    let (mine, other) = (begin(&stranger, "/calls"), begin(&stranger, "/system"));
    let back = provider.authorize(&mine.location);
    told(&stranger.get(&back), "/?sign-in=not-begun");
    told(&other.browser.get(&back), "/system?sign-in=not-begun");
    told(&mine.browser.get(&back.replace("&state=", "&state=x")), "/calls?sign-in=not-begun");
    told(&mine.browser.get(back.split("&state=").next().unwrap()), "/calls?sign-in=not-begun");
    told(&mine.browser.get(&format!("{back}&state=twice")), "/calls?sign-in=not-begun");
    assert_eq!(provider.tell(|p| p.redeemed), 0, "no code went out");
    let right = mine.browser.get(&back);
    assert_eq!((right.status, right.header("location")), (303, "/calls"));
    // The same answer again: the provider takes a code once.
    told(&mine.browser.get(&back), "/calls?sign-in=refused");
    // A code of another sign-in, such as one that was stolen, is worth nothing here.
    let stolen = provider.authorize(&begin(&stranger, "/").location);
    let code = stolen.split("code=").nth(1).unwrap().split('&').next().unwrap();
    let forged = provider.authorize(&other.location);
    let own = forged.split("code=").nth(1).unwrap().split('&').next().unwrap();
    told(&other.browser.get(&forged.replace(own, code)), "/system?sign-in=refused");
    let refused = other.browser.get("/session/oidc/return?error=access_denied");
    told(&refused, "/system?sign-in=not-begun");
    let state = provider.authorize(&other.location);
    let state = state.split("state=").nth(1).unwrap();
    told(
        &other.browser.get(&format!("/session/oidc/return?error=access_denied&state={state}")),
        "/system?sign-in=refused",
    );
    let boss = world.signed_in(Role::Administrator);
    let outcomes: Vec<String> = sign_ins(&boss).into_iter().map(|(_, outcome)| outcome).collect();
    let wanted = ["refused", "not-begun", "refused", "refused", "ok", "not-begun", "not-begun", "not-begun"];
    assert_eq!(outcomes[..8], wanted);
    let counted = world.handle.metrics();
    let wrong = counted.iter().find(|s| s.name == "trunkline_web_wrong_sign_ins_total").unwrap();
    assert_eq!(wrong.value, trunkline_kit::metrics::Number::Whole(9));
}

#[test]
fn a_token_that_is_not_of_this_sign_in_opens_nothing() {
    let provider = Provider::run();
    let world = house(provider.options());
    for claims in [
        json!({ "groups": ["noc"], "nonce": "another" }),
        json!({ "groups": ["noc"], "aud": "another" }),
        json!({ "groups": ["noc"], "iss": "https://evil.example" }),
        json!({ "groups": ["noc"], "exp": 1 }),
    ] {
        provider.tell(|p| p.claims = claims);
        told(&go(&world.stranger(), &provider, "/calls"), "/calls?sign-in=provider");
    }
}

#[test]
fn who_has_no_role_is_not_let_in_and_loses_what_they_had() {
    let provider = Provider::run();
    let world = house(provider.options());
    let stranger = world.stranger();
    let alice = with_session(&stranger, &go(&stranger, &provider, "/"));
    alice.get("/calls").ok(200);
    provider.tell(|p| p.claims = json!({ "groups": ["staff"] }));
    told(&go(&stranger, &provider, "/"), "/?sign-in=no-role");
    alice.get("/calls").problem(401, "signed-out");
    provider.tell(|p| p.claims = json!({}));
    told(&go(&stranger, &provider, "/"), "/?sign-in=no-role");
    let boss = world.signed_in(Role::Administrator);
    assert_eq!(sign_ins(&boss)[0], ("provider alice".to_owned(), "no-role".to_owned()));
    // Nobody else's name is taken over, and who is locked stays out.
    provider.tell(|p| p.claims = json!({ "groups": ["admins"], "sub": "2", "preferred_username": "administrator" }));
    told(&go(&stranger, &provider, "/"), "/?sign-in=conflict");
    boss.ask("PATCH", "/users/alice", Some(br#"{"locked": true}"#)).ok(200);
    provider.tell(|p| p.claims = json!({ "groups": ["noc"] }));
    told(&go(&stranger, &provider, "/"), "/?sign-in=forbidden");
    let last: Vec<_> = sign_ins(&boss).into_iter().take(2).collect();
    let of = |object: &str, outcome: &str| (object.to_owned(), outcome.to_owned());
    assert_eq!(last, [of("provider alice", "forbidden"), of("provider administrator", "conflict")]);
}

#[test]
fn roles_follow_the_provider_at_each_sign_in() {
    let provider = Provider::run();
    let world = house(provider.options());
    let stranger = world.stranger();
    let first = with_session(&stranger, &go(&stranger, &provider, "/"));
    first.get("/users").problem(403, "forbidden");
    provider.tell(|p| p.claims = json!({ "groups": ["noc", "admins"] }));
    let second = with_session(&stranger, &go(&stranger, &provider, "/"));
    second.get("/users").ok(200);
    first.get("/session").ok(200);
    first.get("/calls").problem(401, "signed-out");
    provider.tell(|p| p.claims = json!({ "groups": ["noc"] }));
    let third = with_session(&stranger, &go(&stranger, &provider, "/"));
    third.get("/users").problem(403, "forbidden");
    second.get("/users").problem(401, "signed-out");
}

#[test]
fn a_provider_that_is_down_holds_up_nobody_else() {
    let provider = Provider::run();
    provider.tell(|p| p.away = true);
    let world = house(provider.options());
    let stranger = world.stranger();
    let boss = world.signed_in(Role::Administrator);
    boss.post("/users", &json!({"name": "bob", "role": "viewer", "password": PASSWORD})).ok(201);
    for _ in 0..=2 * ADDRESS_ATTEMPTS_FREE {
        told(&stranger.get("/session/oidc/start?return_to=/calls"), "/?sign-in=unreachable");
    }
    let program = stranger.with("Accept", "application/json");
    let problem = program.get("/session/oidc/start").problem(502, "provider");
    assert!(problem["detail"].as_str().unwrap().contains("cannot be reached"), "{problem}");
    // Also where it goes down while somebody is there.
    provider.tell(|p| p.away = false);
    let begun = begin(&stranger, "/");
    let back = provider.authorize(&begun.location);
    provider.tell(|p| p.away = true);
    for _ in 0..=ADDRESS_ATTEMPTS_FREE {
        told(&begun.browser.get(&back), "/?sign-in=unreachable");
    }
    stranger.post("/session", &json!({"name": "bob", "password": PASSWORD})).ok(200);
    provider.tell(|p| p.away = false);
    assert_eq!(begun.browser.get(&back).header("location"), "/");
    // Nobody listens at all: the web is there all the same.
    let nowhere = house(OidcOptions { roles: provider.options().roles, ..OidcOptions::new("http://127.0.0.1:1", "x") });
    told(&nowhere.stranger().get("/session/oidc/start"), "/?sign-in=unreachable");
    assert_eq!(nowhere.stranger().get("/session").ok(200)["oidc"]["label"], "Single sign-on");
}

#[test]
fn nobody_is_sent_elsewhere_afterwards() {
    let provider = Provider::run();
    let world = house(provider.options());
    for elsewhere in [
        "https%3A%2F%2Fevil.example",
        "//evil.example",
        "%2F%5Cevil.example",
        "javascript%3Aalert(1)",
        "%2Fcalls%0D%0ASet-Cookie%3A%20a%3Db",
        "",
    ] {
        let answer = go(&world.stranger(), &provider, elsewhere);
        assert_eq!((answer.status, answer.header("location")), (303, "/"), "{elsewhere}");
        assert!(answer.cookie().is_some());
    }
    // A page in the cookie is no more believed than one in the query: somebody may have written it.
    let written = world
        .stranger()
        .with("Cookie", &format!("trunkline-oidc-{}=a.9999999999.Ly9ldmls", world.handle.address().port()));
    told(&written.get("/session/oidc/return?code=x&state=y"), "/?sign-in=not-begun");
}

#[test]
fn guesses_at_codes_are_held_off() {
    let provider = Provider::run();
    let world = house(provider.options());
    let begun = begin(&world.stranger(), "/");
    let back = provider.authorize(&begun.location);
    let code = back.split("code=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    let guess = |n: u32| begun.browser.get(&back.replace(&code, &format!("guess-{n}")));
    for n in 0..=ADDRESS_ATTEMPTS_FREE {
        told(&guess(n), "/?sign-in=refused");
    }
    told(&guess(99), "/?sign-in=too-many");
    told(&begun.browser.get(&back), "/?sign-in=too-many");
    told(&world.stranger().get("/session/oidc/start"), "/?sign-in=too-many");
    assert_eq!(provider.tell(|p| p.redeemed), 1 + ADDRESS_ATTEMPTS_FREE as usize);
    let program = world.stranger().with("Accept", "application/json");
    let held = program.get("/session/oidc/start");
    held.problem(429, "too-many");
    assert!(held.header("retry-after").parse::<u64>().unwrap() > 0);
}

#[test]
fn the_provider_is_told_the_address_that_the_browser_asked() {
    let provider = Provider::run();
    let uri = |location: &str| {
        let uri = location.split("redirect_uri=").nth(1).unwrap().split('&').next().unwrap();
        uri.replace("%3A", ":").replace("%2F", "/")
    };
    let world = house(provider.options());
    let began = begin(&world.stranger(), "/");
    assert_eq!(uri(&began.location), format!("http://{}/api/v1/session/oidc/return", world.handle.address()));
    // What strangers forward is nothing, and makes of this machine another.
    let forged = world.stranger().with("X-Forwarded-Host", "evil.example").with("X-Forwarded-Proto", "https");
    told(&forged.get("/session/oidc/start"), "/?sign-in=not-private");

    let proxied = |o: &mut Options| {
        o.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()];
        o.networks = vec!["10.0.0.0/8".parse().unwrap()];
    };
    let world = house_with(provider.options(), proxied);
    let proxy = world.stranger().with("X-Forwarded-Proto", "https").with("X-Forwarded-Host", "pbx.example");
    let inside = proxy.with("X-Forwarded-For", "10.1.2.3");
    let answer = inside.get("/session/oidc/start?return_to=/");
    assert_eq!(uri(answer.header("location")), "https://pbx.example/api/v1/session/oidc/return");
    let set = answer.header("set-cookie");
    assert!(set.starts_with("__Host-trunkline-oidc=") && set.ends_with("; Secure"), "{set}");
    let back = provider.authorize(answer.header("location"));
    let done = inside.with("Cookie", set.split(';').next().unwrap()).get(&back);
    assert!(done.header("set-cookie").starts_with("__Host-trunkline="), "{:?}", done.headers);
    proxy.with("X-Forwarded-For", "203.0.113.9").get("/session/oidc/start").problem(403, "network");
    let odd = inside.with("X-Forwarded-Host", "a@b");
    told(&odd.get("/session/oidc/start"), "/?sign-in=bad-parameter");

    let public = |o: &mut Options| o.public_url = Some("https://voice.example:8443".to_owned());
    let world = house_with(provider.options(), public);
    assert_eq!(world.handle.url(), "https://voice.example:8443/");
    let start = "https://voice.example:8443/api/v1/session/oidc/start";
    assert_eq!(world.stranger().get("/session").ok(200)["oidc"]["start"], start);
    let began = begin(&world.stranger(), "/");
    assert_eq!(uri(&began.location), "https://voice.example:8443/api/v1/session/oidc/return");
}

/// Behind a proxy that passes on no name, pages send the origin that browsers see.
#[test]
fn pages_of_the_public_address_are_ours() {
    let public = |o: &mut Options| o.public_url = Some("https://voice.example:8443".to_owned());
    let world = World::made(Made { options: Box::new(public), ..Made::default() });
    let ask = json!({"name": "nobody", "password": PASSWORD});
    let from = |origin: &str| world.stranger().with("Origin", origin).post("/session", &ask);
    for foreign in ["https://voice.example", "http://voice.example:8443", "https://voice.example:8443.evil.example"] {
        from(foreign).problem(403, "csrf");
    }
    from("https://voice.example:8443").problem(403, "bad-password");
}

/// A page that sends browsers to the return address does not hold anybody off.
#[test]
fn what_was_not_begun_here_holds_nobody_off() {
    let provider = Provider::run();
    let world = house(provider.options());
    for n in 0..3 * ADDRESS_ATTEMPTS_FREE {
        told(&world.stranger().get(&format!("/session/oidc/return?state={n}&code=x")), "/?sign-in=not-begun");
    }
}

#[test]
fn without_a_provider_a_page_says_so() {
    let world = World::new();
    assert!(world.stranger().get("/session").ok(200)["oidc"].is_null());
    told(&world.stranger().get("/session/oidc/start?return_to=/calls"), "/?sign-in=off");
    told(&world.stranger().get("/session/oidc/return?code=x&state=y"), "/?sign-in=off");
    world.stranger().with("Accept", "application/json").get("/session/oidc/start").problem(404, "not-found");
}
