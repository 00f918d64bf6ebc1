//! Sign-ins at a provider that the tests run on loopback, honest and not.

mod provider;

use super::*;
use crate::auth::tests::{NOW, SECOND, fixture, from};
use crate::auth::{LinkKind, UserChange, audit};
use provider::Fake;
use serde_json::json;

const REDIRECT: &str = "https://pbx.example/api/v1/session/oidc/return";

fn options(fake: &Fake) -> OidcOptions {
    OidcOptions {
        client_secret: Some(Secret::given("s3cret/with:signs")),
        roles: vec![("voice-noc".to_owned(), Role::Support), ("voice-admins".to_owned(), Role::Administrator)],
        ..OidcOptions::new(fake.issuer.clone(), "trunkline")
    }
}

/// Goes to the provider and back, as a browser does.
async fn go(provider: &Provider, fake: &Fake) -> Result<(Claimed, String), OidcError> {
    let started = provider.start(REDIRECT, "/calls?filter=mos%3C3", NOW).await?;
    let returned = fake.authorize(&started.location);
    provider.finish(&returned, Some(started.cookie.expose()), REDIRECT, NOW).await
}

#[tokio::test]
async fn somebody_signs_in() {
    let fake = Fake::run().await;
    let provider = Provider::new(options(&fake)).unwrap();
    for alg in ["RS256", "PS256", "ES256"] {
        fake.tell(|f| f.alg = alg);
        let (claimed, page) = go(&provider, &fake).await.unwrap();
        assert_eq!(page, "/calls?filter=mos%3C3");
        assert_eq!((claimed.name.as_str(), claimed.role), ("alice", Role::Support));
        assert_eq!((claimed.subject.as_str(), claimed.display_name.as_str()), ("248289761001", "Alice Miller"));
    }
    assert_eq!(fake.discoveries(), 1, "what it says of itself is remembered");
}

#[tokio::test]
async fn the_request_is_as_the_specifications_say() {
    let fake = Fake::run().await;
    let provider = Provider::new(options(&fake)).unwrap();
    let started = provider.start(REDIRECT, "/", NOW).await.unwrap();
    let query = provider::query_of(&started.location);
    let of = |name: &str| query.get(name).map(String::as_str);
    assert_eq!(of("response_type"), Some("code"));
    assert_eq!(of("scope"), Some("openid profile email"));
    assert_eq!(of("redirect_uri"), Some(REDIRECT));
    assert_eq!(of("code_challenge_method"), Some("S256"));
    // RFC 7636 appendix B, with the functions that are used here.
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    assert_eq!(BASE64.encode(Sha256::digest(verifier)), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    let cookie = started.cookie.expose();
    for secret in [state_of(cookie), nonce_of(cookie), verifier_of(cookie)] {
        assert_eq!(secret.len(), 43);
        assert!(!cookie.contains(&secret));
    }
    assert_ne!(of("code_challenge"), Some(verifier_of(cookie).as_str()));
    assert!(!started.location.contains(&verifier_of(cookie)));
}

#[tokio::test]
async fn an_answer_belongs_to_one_browser_and_a_time() {
    let fake = Fake::run().await;
    let provider = Provider::new(options(&fake)).unwrap();
    let (mine, other) =
        (provider.start(REDIRECT, "/", NOW).await.unwrap(), provider.start(REDIRECT, "/", NOW).await.unwrap());
    let returned = fake.authorize(&mine.location);
    let finish = |cookie: Option<String>, returned: Returned, now_ns| {
        let provider = &provider;
        async move { provider.finish(&returned, cookie.as_deref(), REDIRECT, now_ns).await.unwrap_err() }
    };
    let cookie = || Some(mine.cookie.expose().to_owned());
    let without_state = Returned { state: None, ..returned.clone() };
    let late = NOW + SIGN_IN_S * SECOND;
    let longer = mine.cookie.expose().replacen(&(late / SECOND).to_string(), "9999999999", 1);
    for (what, cookie, returned, at) in [
        ("no cookie", None, returned.clone(), NOW),
        ("another's cookie", Some(other.cookie.expose().to_owned()), returned.clone(), NOW),
        ("no state", cookie(), without_state, NOW),
        ("late", cookie(), returned.clone(), late),
        ("late, with a cookie that says otherwise", Some(longer), returned.clone(), late),
        ("rubbish", Some("..".to_owned()), returned.clone(), NOW),
    ] {
        assert_eq!(finish(cookie, returned, at).await, OidcError::NotBegun, "{what}");
    }
    assert_eq!(fake.redeemed(), 0, "no code went out");
    assert!(provider.finish(&returned, Some(mine.cookie.expose()), REDIRECT, NOW).await.is_ok());
    // Again with the same: the provider takes a code once.
    let again = finish(cookie(), returned.clone(), NOW).await;
    assert!(matches!(&again, OidcError::Refused(why) if why.contains("invalid_grant")), "{again:?}");
    // A code that was stolen is worth nothing without the verifier.
    let stolen = Returned { state: Some(state_of(other.cookie.expose())), ..fake.authorize(&mine.location) };
    let error = finish(Some(other.cookie.expose().to_owned()), stolen, NOW).await;
    assert!(matches!(&error, OidcError::Refused(why) if why.contains("PKCE")), "{error:?}");
}

#[tokio::test]
async fn tokens_that_are_not_for_us_now_are_refused() {
    let fake = Fake::run().await;
    let provider = Provider::new(options(&fake)).unwrap();
    let now_s = NOW / SECOND;
    let table = [
        ("iss", json!("https://evil.example"), "issuer"),
        ("aud", json!("another"), "another client"),
        ("aud", json!(["another"]), "another client"),
        ("aud", json!(["trunkline", "another"]), "azp"),
        ("aud", json!(null), "another client"),
        ("azp", json!("another"), "azp"),
        ("azp", json!(7), "azp"),
        ("exp", json!(now_s - 61), "expired"),
        ("exp", json!(null), "expires"),
        ("exp", json!("9999999999"), "expires"),
        ("iat", json!(now_s + 3600), "not valid yet"),
        ("nbf", json!("soon"), "not valid yet"),
        ("nonce", json!("another"), "another sign-in"),
        ("nonce", json!(null), "another sign-in"),
        ("sub", json!(""), "who it is of"),
        ("sub", json!(null), "who it is of"),
    ];
    for (claim, value, expected) in table {
        fake.tell(|f| f.claims = json!({ claim: value.clone() }));
        let error = go(&provider, &fake).await.unwrap_err();
        assert!(matches!(&error, OidcError::Answer(why) if why.contains(expected)), "{claim}={value}: {error}");
    }
    for (claim, value) in [("exp", json!(now_s - 59)), ("iat", json!(now_s + 59)), ("aud", json!(["trunkline"]))] {
        fake.tell(|f| f.claims = json!({ claim: value.clone() }));
        assert!(go(&provider, &fake).await.is_ok(), "{claim}={value}");
    }
}

#[tokio::test]
async fn signatures_of_others_are_refused_and_new_keys_are_found() {
    let fake = Fake::run().await;
    let provider = Provider::new(options(&fake)).unwrap();
    assert!(go(&provider, &fake).await.is_ok());
    for alg in ["none", "HS256"] {
        fake.tell(|f| f.alg = alg);
        assert!(
            matches!(go(&provider, &fake).await, Err(OidcError::Answer(why)) if why.contains("algorithm")),
            "{alg}"
        );
    }
    fake.tell(|f| f.alg = "ES256");
    fake.tell(|f| f.damaged = true);
    assert!(matches!(go(&provider, &fake).await, Err(OidcError::Answer(why)) if why.contains("signature")));
    fake.tell(|f| f.damaged = false);
    // A new key: asked for at once, and a key that nobody knows does not make us ask each time.
    fake.tell(|f| f.kid = "second");
    let error = go(&provider, &fake).await.unwrap_err();
    assert!(matches!(&error, OidcError::Answer(why) if why.contains("does not publish")), "{error}");
    let asked = fake.key_requests();
    let started = provider.start(REDIRECT, "/", NOW).await.unwrap();
    let returned = fake.authorize(&started.location);
    let later = NOW + KEYS_AGAIN_S * SECOND;
    assert!(provider.finish(&returned, Some(started.cookie.expose()), REDIRECT, later).await.is_ok());
    assert_eq!(fake.key_requests(), asked + 1);
}

#[tokio::test]
async fn roles_come_from_groups_wherever_they_stand() {
    let fake = Fake::run().await;
    let nested = OidcOptions { role_claim: "realm_access.roles".to_owned(), ..options(&fake) };
    let dotted = OidcOptions { role_claim: "https://example.com/roles".to_owned(), ..options(&fake) };
    let groups = options(&fake);
    for (options, claims, role) in [
        (&groups, json!({ "groups": ["voice-noc", "voice-admins", "staff"] }), Some(Role::Administrator)),
        (&groups, json!({ "groups": "voice-noc" }), Some(Role::Support)),
        (&groups, json!({ "groups": ["staff"] }), None),
        (&groups, json!({ "groups": { "voice-noc": true } }), None),
        (&groups, json!({ "groups": null }), None),
        (&nested, json!({ "realm_access": { "roles": ["voice-admins"] } }), Some(Role::Administrator)),
        (&nested, json!({ "realm_access": ["voice-admins"] }), None),
        (&dotted, json!({ "https://example.com/roles": ["voice-noc"] }), Some(Role::Support)),
    ] {
        fake.tell(|f| f.claims = claims.clone());
        let provider = Provider::new(options.clone()).unwrap();
        match role {
            Some(role) => assert_eq!(go(&provider, &fake).await.unwrap().0.role, role, "{claims}"),
            None => {
                let error = go(&provider, &fake).await.unwrap_err();
                let known = OidcError::NoRole { name: "alice".to_owned(), subject: "248289761001".to_owned() };
                assert_eq!(error, known, "{claims}");
            }
        }
    }
    let provider = Provider::new(groups).unwrap();
    for (claims, name) in [
        (json!({ "preferred_username": "Jürgen Müller" }), "j-rgen-m-ller"),
        (json!({ "preferred_username": null, "email": "Alice@Example.org" }), "alice@example.org"),
        (json!({ "preferred_username": "<script>" }), "script-"),
        (json!({ "preferred_username": "___" }), "user"),
    ] {
        fake.tell(|f| f.claims = claims);
        assert_eq!(go(&provider, &fake).await.unwrap().0.name, name);
    }
}

#[tokio::test]
async fn providers_that_lie_or_are_away_are_told_clearly() {
    let fake = Fake::run().await;
    let told = |error: OidcError, expected: &str| assert!(error.to_string().contains(expected), "{error}");
    let provider = Provider::new(options(&fake)).unwrap();
    fake.tell(|f| f.names_itself = Some("https://evil.example".to_owned()));
    told(go(&provider, &fake).await.unwrap_err(), "calls itself https://evil.example");
    fake.tell(|f| f.names_itself = None);
    fake.tell(|f| f.endpoints = Some("http://192.0.2.1".to_owned()));
    told(go(&provider, &fake).await.unwrap_err(), "only https");
    fake.tell(|f| f.endpoints = None);
    fake.tell(|f| f.moved = true);
    told(go(&provider, &fake).await.unwrap_err(), "sends us elsewhere");
    fake.tell(|f| f.moved = false);
    fake.tell(|f| f.huge = true);
    told(go(&provider, &fake).await.unwrap_err(), "length limit");
    fake.tell(|f| f.huge = false);
    assert!(go(&provider, &fake).await.is_ok(), "it recovers");
    // Answers of the authorization endpoint.
    let started = provider.start(REDIRECT, "/", NOW).await.unwrap();
    let cookie = started.cookie.expose();
    let right = fake.authorize(&started.location);
    let denied = Returned { error: Some("access_denied".to_owned()), code: None, ..right.clone() };
    told(provider.finish(&denied, Some(cookie), REDIRECT, NOW).await.unwrap_err(), "refused: access_denied");
    let mixed = Returned { iss: Some("https://evil.example".to_owned()), ..right.clone() };
    told(provider.finish(&mixed, Some(cookie), REDIRECT, NOW).await.unwrap_err(), "another provider");
    let empty = Returned { code: None, ..right };
    told(provider.finish(&empty, Some(cookie), REDIRECT, NOW).await.unwrap_err(), "no code");
    let away = OidcOptions::new("http://127.0.0.1:1", "x");
    told(Provider::new(away).unwrap().start(REDIRECT, "/", NOW).await.unwrap_err(), "cannot be reached");
    for issuer in
        ["http://login.example.org", "ftp://127.0.0.1", "login.example.org", "https://user:secret@example.org", ""]
    {
        assert!(matches!(Provider::new(OidcOptions::new(issuer, "x")), Err(OidcError::Unreachable(_))), "{issuer}");
    }
}

#[tokio::test]
async fn clients_show_who_they_are_as_the_provider_wants() {
    let fake = Fake::run().await;
    for (methods, secret) in [
        (vec!["client_secret_basic", "client_secret_post"], true),
        (vec!["client_secret_post"], true),
        (vec![], true),
        (vec!["none"], false),
    ] {
        fake.tell(|f| f.methods = methods.clone());
        let mut options = options(&fake);
        options.client_secret = options.client_secret.filter(|_| secret);
        assert!(go(&Provider::new(options).unwrap(), &fake).await.is_ok(), "{methods:?}");
    }
    fake.tell(|f| f.methods = vec![]);
    let wrong = OidcOptions { client_secret: Some(Secret::given("wrong")), ..options(&fake) };
    let error = go(&Provider::new(wrong).unwrap(), &fake).await.unwrap_err();
    assert!(error.to_string().contains("invalid_client"), "{error}");
}

#[test]
fn only_pages_of_our_own_are_gone_to() {
    for own in ["/", "/calls", "/calls/0190-ab?at=3#ladder"] {
        assert_eq!(own_page(own), own);
        assert_eq!(page_of(Some(&format!("secret.1760000000.{}", BASE64.encode(own)))), own);
    }
    for none in [None, Some(""), Some("a.b"), Some("a.1.!"), Some("a.1.L2V2aWwKLg"), Some("a.1.Ly9ldmlsLmV4YW1wbGU")] {
        assert_eq!(page_of(none), "/", "{none:?}");
    }
    let long = format!("/{}", "a".repeat(RETURN_TO_OCTETS_MAX));
    for foreign in
        ["", "//evil.example", "/\\evil.example", "https://evil.example", "javascript:x", "/a\nb", "/ä", &long]
    {
        assert_eq!(own_page(foreign), "/", "{foreign}");
    }
}

#[test]
fn users_are_made_at_the_first_sign_in_and_follow_their_groups() {
    let f = fixture();
    f.has_user("root", Role::Administrator);
    let alice = Claimed {
        issuer: "https://login.example".to_owned(),
        subject: "1".to_owned(),
        name: "alice".to_owned(),
        display_name: "Alice".to_owned(),
        role: Role::Viewer,
    };
    let first = f.sign_in_oidc(&alice, from("10.0.0.1"), NOW).unwrap();
    assert_eq!((first.viewer.name.as_str(), first.viewer.role), ("alice", Role::Viewer));
    assert!(f.user("alice", NOW).unwrap().oidc);
    let second = f.sign_in_oidc(&alice, from("10.0.0.1"), NOW).unwrap();
    assert!(f.viewer_of_cookie(first.cookie.expose(), NOW).is_ok() && first.cookie != second.cookie);
    let more = Claimed { role: Role::Engineer, ..alice.clone() };
    let third = f.sign_in_oidc(&more, from("10.0.0.1"), NOW).unwrap();
    assert!(third.viewer.may(super::super::Permission::PacketsExtract));
    for old in [&first, &second] {
        assert_eq!(f.viewer_of_cookie(old.cookie.expose(), NOW), Err(Refusal::SignedOut), "opened in another role");
    }
    // There is no password to guess, and none to be set.
    assert_eq!(f.sign_in("alice", "", from("10.0.0.2"), NOW).unwrap_err(), Refusal::WrongPassword);
    assert!(matches!(f.make_link(&LinkKind::SetPassword("alice".to_owned()), NOW), Err(Refusal::Conflict(_))));
    // A name that is taken is not taken over: not of a user with a password, not of another issuer's.
    let taken = Claimed { subject: "2".to_owned(), name: "root".to_owned(), ..alice.clone() };
    let elsewhere = Claimed { issuer: "https://evil.example".to_owned(), ..alice.clone() };
    for other in [taken, elsewhere] {
        assert!(matches!(f.sign_in_oidc(&other, from("10.0.0.1"), NOW), Err(Refusal::Conflict(_))));
    }
    f.change_user("alice", &UserChange { disabled: Some(true), ..UserChange::default() }).unwrap();
    assert!(matches!(f.sign_in_oidc(&alice, from("10.0.0.1"), NOW), Err(Refusal::Forbidden(_))));
    let ask = audit::AuditAsk { from_ns: 0, to_ns: i64::MAX, user: None, limit: 1, cursor: None };
    let last = f.audit_page(&ask).unwrap().entries.remove(0);
    assert_eq!((last.object.as_str(), last.outcome.as_str()), ("provider alice", "forbidden"));
}
