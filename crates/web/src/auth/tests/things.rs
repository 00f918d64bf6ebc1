//! Tokens, aliases, saved filters, and how many numbers a masked user may ask for.

use super::*;

fn scopes(names: &[&'static str]) -> Permissions {
    Permissions::parse(names.iter().copied()).unwrap()
}

#[test]
fn a_token_does_what_its_scopes_and_its_user_may() {
    let f = fixture();
    f.has_user("root", Role::Administrator);
    f.has_user("alice", Role::Engineer);
    let alice = f.signed_in("alice").viewer;
    let wanted = scopes(&["calls.read", "numbers.read", "packets.download", "packets.extract"]);
    let (secret, token) = f.make_token(&alice, " backup ", wanted, Some(NOW + 100 * SECOND), NOW).unwrap();
    assert!(secret.expose().starts_with("tl_") && token.name == "backup");
    let viewer = f.viewer_of_token(secret.expose(), NOW).unwrap();
    assert_eq!((viewer.permissions, viewer.csrf(), viewer.masked()), (wanted, None, false));
    assert_eq!(f.tokens(&alice).unwrap()[0].last_used_ns, Some(NOW));
    // The user's role is the limit, today's.
    f.change_user("alice", &UserChange { role: Some(Role::Viewer), ..UserChange::default() }).unwrap();
    let viewer = f.viewer_of_token(secret.expose(), NOW).unwrap();
    assert_eq!(viewer.permissions.names(), ["calls.read"]);
    assert!(viewer.masked());
    f.change_user("alice", &UserChange { disabled: Some(true), ..UserChange::default() }).unwrap();
    assert_eq!(f.viewer_of_token(secret.expose(), NOW), Err(Refusal::SignedOut));
    f.change_user("alice", &UserChange { disabled: Some(false), ..UserChange::default() }).unwrap();
    assert!(f.viewer_of_token(secret.expose(), NOW).is_ok());
    assert_eq!(f.viewer_of_token(secret.expose(), NOW + 100 * SECOND), Err(Refusal::SignedOut));
    for bad in ["", "tl_", "x", secret.expose().trim_start_matches("tl_")] {
        assert_eq!(f.viewer_of_token(bad, NOW), Err(Refusal::SignedOut));
    }
}

#[test]
fn a_token_never_exceeds_its_maker_and_makes_no_tokens() {
    let f = fixture();
    f.has_user("root", Role::Administrator);
    f.has_user("alice", Role::Support);
    let (root, alice) = (f.signed_in("root").viewer, f.signed_in("alice").viewer);
    let refused = |viewer: &Viewer, names: &[&'static str]| {
        matches!(f.make_token(viewer, "t", scopes(names), None, NOW), Err(Refusal::BadValue { .. }))
    };
    assert!(refused(&alice, &["calls.read", "packets.extract"]));
    assert!(refused(&alice, &["messages.read"]), "it would show numbers without the right to");
    assert!(refused(&alice, &[]));
    assert!(refused(&root, &["users.admin"]) && refused(&root, &["tokens.admin"]));
    assert!(f.make_token(&alice, "t", scopes(&["calls.read"]), Some(NOW), NOW).is_err());
    assert!(f.make_token(&alice, "a\nb", scopes(&["calls.read"]), None, NOW).is_err());
    let (secret, token) = f.make_token(&root, "t", scopes(&["calls.read", "audit.read"]), None, NOW).unwrap();
    let by_token = f.viewer_of_token(secret.expose(), NOW).unwrap();
    assert!(matches!(f.make_token(&by_token, "u", scopes(&["calls.read"]), None, NOW), Err(Refusal::Forbidden(_))));
    assert!(matches!(f.remove_token(&by_token, token.id), Err(Refusal::Forbidden(_))));
    assert!(matches!(
        f.change_password(&by_token, PASSWORD, "battery staple", from("10.0.0.1"), NOW),
        Err(Refusal::Forbidden(_))
    ));
    // Own tokens, or all for who may.
    assert_eq!(f.tokens(&alice).unwrap(), []);
    assert_eq!(f.remove_token(&alice, token.id), Err(Refusal::NotFound("token")));
    let (_, of_alice) = f.make_token(&alice, "mine", scopes(&["calls.read"]), None, NOW).unwrap();
    assert_eq!(f.tokens(&root).unwrap().len(), 2);
    f.remove_token(&root, of_alice.id).unwrap();
    for n in 0..tokens::TOKENS_PER_USER_MAX {
        f.make_token(&alice, &format!("t{n}"), scopes(&["calls.read"]), None, NOW).unwrap();
    }
    assert!(matches!(f.make_token(&alice, "t", scopes(&["calls.read"]), None, NOW), Err(Refusal::Conflict(_))));
}

#[test]
fn aliases_are_kept() {
    let f = fixture();
    assert_eq!(f.set_alias("10.1.2.3/16", " London ").unwrap(), "10.1.0.0/16");
    f.set_alias("10.1.0.0/16", "Core <London>").unwrap();
    f.set_alias("::ffff:10.1.2.3", "proxy").unwrap();
    assert!(f.set_alias("example.com", "x").is_err() && f.set_alias("10.0.0.1", "").is_err());
    let f = f.reopened();
    let aliases = f.aliases().unwrap();
    assert_eq!(aliases.name_of("10.1.9.9".parse().unwrap()), Some("Core <London>"));
    assert_eq!(aliases.name_of("10.1.2.3".parse().unwrap()), Some("proxy"));
    f.remove_alias("10.1.2.3").unwrap();
    assert_eq!(f.remove_alias("10.1.2.3"), Err(Refusal::NotFound("alias")));
    assert_eq!(f.aliases().unwrap().list(), [("10.1.0.0/16".to_owned(), "Core <London>".to_owned())]);
}

#[test]
fn filters_are_one_s_own_or_everybody_s() {
    let f = fixture();
    f.has_user("vera", Role::Viewer);
    f.has_user("eve", Role::Engineer);
    let (vera, eve) = (f.signed_in("vera").viewer, f.signed_in("eve").viewer);
    f.save_filter(&vera, "bad", "mos<3", false).unwrap();
    assert!(matches!(f.save_filter(&vera, "bad", "mos<3", true), Err(Refusal::Forbidden(_))));
    f.save_filter(&eve, "bad", "mos<3.5", true).unwrap();
    f.save_filter(&eve, "that customer", "caller:+442071234567", true).unwrap();
    f.save_filter(&eve, "mine", "caller:1*", false).unwrap();
    assert!(matches!(f.save_filter(&eve, "x", "mos<<3", false), Err(Refusal::BadValue { .. })));
    let names = |viewer| {
        let all = f.filters(viewer).unwrap().into_iter();
        all.map(|s| (s.name, s.shared, s.by)).collect::<Vec<_>>()
    };
    let row = |name: &str, shared, by: &str| (name.to_owned(), shared, by.to_owned());
    // A shared filter that names a number would show it to who must not see it.
    assert_eq!(names(&vera), [row("bad", false, "vera"), row("bad", true, "eve")]);
    assert_eq!(names(&eve), [row("bad", true, "eve"), row("mine", false, "eve"), row("that customer", true, "eve")]);
    assert!(matches!(f.remove_filter(&vera, "bad", true), Err(Refusal::Forbidden(_))));
    f.remove_filter(&vera, "bad", false).unwrap();
    assert_eq!(f.remove_filter(&vera, "mine", false), Err(Refusal::NotFound("filter")));
    f.remove_filter(&eve, "bad", true).unwrap();
    assert_eq!(names(&vera), []);
}

#[test]
fn a_masked_user_cannot_try_numbers() {
    let f = fixture();
    f.has_user("vera", Role::Viewer);
    f.has_user("sam", Role::Support);
    let (vera, sam) = (f.signed_in("vera").viewer, f.signed_in("sam").viewer);
    let ask = |viewer: &Viewer| {
        (0..1000).filter(|n| f.may_ask_for(viewer, [format!("+4420{n:07}").as_str()], NOW).is_ok()).count()
    };
    assert_eq!((ask(&vera), ask(&sam)), (masked_probe::NUMBERS_PER_HOUR_MAX, 1000));
}
