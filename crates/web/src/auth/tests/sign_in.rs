//! Signing in, and ways of getting in that must not work.

use super::*;
use crate::auth::throttle::{ACCOUNT_ATTEMPTS_FREE, WAIT_MAX_S};
use std::sync::Barrier;

#[test]
fn the_first_start_makes_an_administrator_by_link() {
    let f = fixture();
    assert!(!f.has_administrator(NOW).unwrap());
    let old = f.make_link(&LinkKind::FirstAdministrator, NOW).unwrap();
    let link = f.make_link(&LinkKind::FirstAdministrator, NOW).unwrap();
    assert_eq!(f.look_at_link(old.expose(), NOW), Err(Refusal::BadLink), "the newest alone holds");
    assert_eq!(f.look_at_link(link.expose(), NOW), Ok(LinkKind::FirstAdministrator));
    // A name or password that will not do does not use the link up.
    assert!(matches!(
        f.set_up(link.expose(), "al ice", PASSWORD, from("10.0.0.1"), NOW),
        Err(Refusal::BadValue { .. })
    ));
    assert!(matches!(f.set_up(link.expose(), "alice", "short", from("10.0.0.1"), NOW), Err(Refusal::BadValue { .. })));
    let signed_in = f.set_up(link.expose(), "Alice", PASSWORD, from("10.0.0.1"), NOW).unwrap();
    assert_eq!((signed_in.viewer.name.as_str(), signed_in.viewer.role), ("alice", Role::Administrator));
    assert_eq!(f.viewer_of_cookie(signed_in.cookie.expose(), NOW), Ok(signed_in.viewer));
    assert!(f.has_administrator(NOW).unwrap());
    assert_eq!(f.set_up(link.expose(), "bob", PASSWORD, from("10.0.0.1"), NOW).unwrap_err(), Refusal::BadLink);
    assert_eq!(f.users(NOW).unwrap().len(), 1);
}

#[test]
fn an_administrator_who_cannot_come_in_is_none() {
    let f = fixture();
    let late = NOW + links::PASSWORD_LINK_S * SECOND;
    f.add_user(&NewUser { name: "you", display_name: "", role: Role::Administrator, password: None }, NOW).unwrap();
    assert!(!f.has_administrator(NOW).unwrap());
    f.make_link(&LinkKind::SetPassword("you".to_owned()), NOW).unwrap();
    assert!(f.has_administrator(NOW).unwrap() && !f.has_administrator(late).unwrap());
    f.tidy(late, None).unwrap();
    // Whoever could come in is not the last one to be taken away.
    let first = f.make_link(&LinkKind::FirstAdministrator, NOW).unwrap();
    f.has_user("root", Role::Administrator);
    assert_eq!(f.look_at_link(first.expose(), NOW), Err(Refusal::BadLink), "there is one now");
    assert_eq!(f.set_up(first.expose(), "eve", PASSWORD, from("10.0.0.1"), NOW).unwrap_err(), Refusal::BadLink);
    assert!(matches!(f.remove_user("root"), Err(Refusal::Conflict(_))));
    f.remove_user("you").unwrap();
    assert!(f.has_administrator(late).unwrap());
}

#[test]
fn a_link_is_for_one_thing_one_user_and_a_time() {
    let f = fixture();
    f.has_user("alice", Role::Viewer);
    let address = from("10.0.0.1");
    let sign_in = f.make_link(&LinkKind::SignIn("alice".to_owned()), NOW).unwrap();
    let password = f.make_link(&LinkKind::SetPassword("alice".to_owned()), NOW).unwrap();
    assert_eq!(f.set_up(sign_in.expose(), "root", PASSWORD, address, NOW).unwrap_err(), Refusal::BadLink);
    assert_eq!(f.sign_in_by_link(password.expose(), address, NOW).unwrap_err(), Refusal::BadLink);
    assert!(f.set_up(password.expose(), "root", PASSWORD, address, NOW).is_err());
    let late = NOW + links::PASSWORD_LINK_S * SECOND;
    for link in [&sign_in, &password] {
        assert_eq!(f.look_at_link(link.expose(), late), Err(Refusal::BadLink));
        assert_eq!(f.sign_in_by_link(link.expose(), address, late).unwrap_err(), Refusal::BadLink);
    }
    assert_eq!(f.sign_in_by_link("", address, NOW).unwrap_err(), Refusal::BadLink);
    assert!(f.sign_in_by_link(sign_in.expose(), address, NOW).is_ok());
    assert_eq!(f.sign_in_by_link(sign_in.expose(), address, NOW).unwrap_err(), Refusal::BadLink, "replayed");
}

#[test]
fn of_many_who_redeem_one_link_one_gets_in() {
    let f = fixture();
    f.has_user("alice", Role::Viewer);
    // Two programs have the file open, and each has several threads.
    let other = Desk::open(&f.folder.path().join(DESK_FILE), &options()).unwrap();
    for kind in [LinkKind::SignIn("alice".to_owned()), LinkKind::FirstAdministrator] {
        let link = f.make_link(&kind, NOW).unwrap();
        let start = Barrier::new(8);
        let redeem = |n: usize| {
            let desk = if n.is_multiple_of(2) { &f.desk } else { &other };
            start.wait();
            let done = match kind {
                LinkKind::SignIn(_) => desk.sign_in_by_link(link.expose(), from("10.0.0.1"), NOW),
                _ => desk.set_up(link.expose(), &format!("admin{n}"), PASSWORD, from("10.0.0.1"), NOW),
            };
            usize::from(done.is_ok())
        };
        let redeem = &redeem;
        let got_in: usize = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|n| scope.spawn(move || redeem(n))).collect();
            all.into_iter().map(|t| t.join().unwrap()).sum()
        });
        assert_eq!(got_in, 1, "{kind:?}");
    }
    assert_eq!(f.users(NOW).unwrap().len(), 2);
}

#[test]
fn a_session_that_somebody_put_into_a_browser_is_not_taken_over() {
    let f = fixture();
    f.has_user("alice", Role::Viewer);
    f.has_user("mallory", Role::Viewer);
    let planted = f.signed_in("mallory");
    for cookie in ["chosen-by-mallory", planted.cookie.expose()] {
        let with = From { cookie: Some(cookie), ..from("10.0.0.1") };
        let signed_in = f.sign_in("alice", PASSWORD, with, NOW).unwrap();
        assert_ne!(signed_in.cookie.expose(), cookie);
        assert_eq!(f.viewer_of_cookie(cookie, NOW), Err(Refusal::SignedOut), "{cookie}");
        assert_ne!(signed_in.viewer.csrf(), planted.viewer.csrf());
    }
}

#[test]
fn sessions_end_when_idle_when_old_and_when_signed_out() {
    let f = fixture();
    f.has_user("alice", Role::Viewer);
    let (idle, most) = (options().session_idle_s as i64, options().session_max_s as i64);
    let signed_in = f.signed_in("alice");
    let cookie = signed_in.cookie.expose();
    assert!(f.viewer_of_cookie(cookie, NOW + (idle - 1) * SECOND).is_ok());
    let f = f.reopened();
    assert!(f.viewer_of_cookie(cookie, NOW + (2 * idle - 120) * SECOND).is_ok(), "it was used in between");
    assert!(f.viewer_of_cookie(cookie, NOW + 3 * idle * SECOND).is_err());
    // Used all the time, it still ends.
    let signed_in = f.signed_in("alice");
    let mut at = 0;
    while at < most {
        assert!(f.viewer_of_cookie(signed_in.cookie.expose(), NOW + at * SECOND).is_ok(), "{at}");
        at += idle / 2;
    }
    assert_eq!(signed_in.expires_ns, NOW + most * SECOND);
    assert_eq!(f.viewer_of_cookie(signed_in.cookie.expose(), signed_in.expires_ns), Err(Refusal::SignedOut));
    let signed_in = f.signed_in("alice");
    f.sign_out(signed_in.cookie.expose()).unwrap();
    assert_eq!(f.viewer_of_cookie(signed_in.cookie.expose(), NOW), Err(Refusal::SignedOut));
    f.tidy(NOW + 2 * most * SECOND, None).unwrap();
    for cookie in ["", "x", "' OR 1=1 --", &"a".repeat(100_000)] {
        assert_eq!(f.viewer_of_cookie(cookie, NOW), Err(Refusal::SignedOut));
    }
}

#[test]
fn a_user_sees_and_ends_their_own_sessions_and_has_not_too_many() {
    let f = fixture();
    f.has_user("alice", Role::Viewer);
    f.has_user("bob", Role::Viewer);
    let bob = f.signed_in("bob");
    let mut all = vec![];
    for n in 0..sessions::SESSIONS_PER_USER_MAX + 5 {
        all.push(f.sign_in("alice", PASSWORD, from("10.0.0.1"), NOW + n * SECOND).unwrap());
    }
    let late = NOW + 100 * SECOND;
    let newest = all.last().unwrap();
    let listed = f.sessions(newest.viewer.user_id, late).unwrap();
    assert_eq!(listed.len() as i64, sessions::SESSIONS_PER_USER_MAX);
    assert_eq!(Some(listed[0].id.as_str()), newest.viewer.session());
    assert!(f.viewer_of_cookie(all[4].cookie.expose(), late).is_err(), "the oldest ended");
    assert!(f.viewer_of_cookie(all[5].cookie.expose(), late).is_ok());
    f.end_session(newest.viewer.user_id, all[5].viewer.session().unwrap()).unwrap();
    assert!(f.viewer_of_cookie(all[5].cookie.expose(), late).is_err());
    let of_bob = bob.viewer.session().unwrap();
    assert_eq!(f.end_session(newest.viewer.user_id, of_bob), Err(Refusal::NotFound("session")));
    assert!(f.viewer_of_cookie(bob.cookie.expose(), late).is_ok());
}

#[test]
fn a_changed_password_ends_every_session_and_gives_a_new_one() {
    let f = fixture();
    f.has_user("alice", Role::Viewer);
    let (here, stolen) = (f.signed_in("alice"), f.signed_in("alice"));
    let change = |old, new| f.change_password(&here.viewer, old, new, from("10.0.0.1"), NOW);
    assert_eq!(change("wrong", "battery staple").unwrap_err(), Refusal::WrongPassword);
    assert!(matches!(change(PASSWORD, "short").unwrap_err(), Refusal::BadValue { .. }));
    assert!(matches!(change(PASSWORD, PASSWORD).unwrap_err(), Refusal::BadValue { .. }));
    let new = change(PASSWORD, "battery staple").unwrap();
    for old in [&here, &stolen] {
        assert_eq!(f.viewer_of_cookie(old.cookie.expose(), NOW), Err(Refusal::SignedOut));
    }
    assert!(f.viewer_of_cookie(new.cookie.expose(), NOW).is_ok());
    assert_eq!(f.sign_in("alice", PASSWORD, from("10.0.0.1"), NOW).unwrap_err(), Refusal::WrongPassword);
    assert!(f.sign_in("alice", "battery staple", from("10.0.0.1"), NOW).is_ok());
}

#[test]
fn a_changed_role_or_lock_ends_every_session() {
    let f = fixture();
    f.has_user("root", Role::Administrator);
    f.has_user("alice", Role::Viewer);
    let before = f.signed_in("alice");
    let role = |role| UserChange { role: Some(role), ..UserChange::default() };
    f.change_user("alice", &role(Role::Viewer)).unwrap();
    assert!(f.viewer_of_cookie(before.cookie.expose(), NOW).is_ok(), "nothing changed");
    f.change_user("alice", &role(Role::Engineer)).unwrap();
    assert!(f.viewer_of_cookie(before.cookie.expose(), NOW).is_err());
    let engineer = f.signed_in("alice");
    assert!(engineer.viewer.may(Permission::PacketsExtract));
    f.change_user("alice", &UserChange { disabled: Some(true), ..UserChange::default() }).unwrap();
    assert!(f.viewer_of_cookie(engineer.cookie.expose(), NOW).is_err());
    assert_eq!(f.sign_in("alice", PASSWORD, from("10.0.0.1"), NOW).unwrap_err(), Refusal::WrongPassword);
    // The last administrator stays one.
    for change in [role(Role::Viewer), UserChange { disabled: Some(true), ..UserChange::default() }] {
        assert!(matches!(f.change_user("root", &change), Err(Refusal::Conflict(_))));
    }
    assert!(matches!(f.remove_user("root"), Err(Refusal::Conflict(_))));
    assert_eq!(f.user("root", NOW).unwrap().role, Role::Administrator);
    f.remove_user("alice").unwrap();
    assert_eq!(f.user("alice", NOW), Err(Refusal::NotFound("user")));
}

#[test]
fn a_first_password_must_be_changed_before_anything() {
    let f = fixture();
    let new = NewUser { name: "carol", display_name: "Carol", role: Role::Engineer, password: Some("from the boss") };
    f.add_user(&new, NOW).unwrap();
    assert!(matches!(f.add_user(&NewUser { name: "CAROL", ..new }, NOW), Err(Refusal::Conflict(_))));
    let first = f.sign_in("carol", "from the boss", from("10.0.0.1"), NOW).unwrap();
    assert!(first.viewer.must_change_password && first.viewer.permissions == Permissions::NONE);
    assert!(first.viewer.need(Permission::CallsRead).unwrap_err().to_string().contains("password"));
    let second = f.change_password(&first.viewer, "from the boss", PASSWORD, from("10.0.0.1"), NOW).unwrap();
    assert!(second.viewer.may(Permission::PacketsExtract) && !second.viewer.must_change_password);
}

#[test]
fn a_password_that_was_set_at_the_machine_must_be_changed_too() {
    let f = fixture();
    f.has_user("alice", Role::Engineer);
    let before = f.signed_in("alice");
    let signed_in = || f.user("alice", NOW).unwrap().last_sign_in_ns;
    let (last, sign_ins) = (signed_in(), f.counts().signed_in);
    f.set_password("alice", "chosen at the machine").unwrap();
    assert_eq!(signed_in(), last, "nobody has signed in");
    assert_eq!(f.counts().signed_in, sign_ins);
    assert!(f.viewer_of_cookie(before.cookie.expose(), NOW).is_err(), "sessions have ended");
    let viewer = f.sign_in("alice", "chosen at the machine", from("10.0.0.1"), NOW).unwrap().viewer;
    assert!(viewer.must_change_password && viewer.permissions == Permissions::NONE);
    let changed =
        f.change_password(&viewer, "chosen at the machine", "another good one", from("10.0.0.1"), NOW).unwrap();
    assert!(!changed.viewer.must_change_password && changed.viewer.may(Permission::GraphsRead));
    assert_eq!(f.set_password("nobody", "chosen at the machine"), Err(Refusal::NotFound("user")));
    assert!(matches!(f.set_password("alice", "short"), Err(Refusal::BadValue { .. })));
}

#[test]
fn unknown_names_wrong_passwords_and_locked_users_look_the_same() {
    let f = fixture();
    f.has_user("root", Role::Administrator);
    f.has_user("alice", Role::Viewer);
    f.has_user("locked", Role::Viewer);
    f.change_user("locked", &UserChange { disabled: Some(true), ..UserChange::default() }).unwrap();
    f.add_user(&NewUser { name: "nopassword", display_name: "", role: Role::Viewer, password: None }, NOW).unwrap();
    let answers = |name: &str, password: &str| {
        let all = (0..10).map(|n| f.sign_in(name, password, from(&format!("192.0.2.{n}")), NOW).map(|_| ()));
        all.map(|a| a.unwrap_err()).collect::<Vec<_>>()
    };
    let unknown = answers("nobody", "x");
    assert_eq!(unknown[0], Refusal::WrongPassword);
    assert!(matches!(unknown[9], Refusal::Locked { .. }));
    for (name, password) in [("alice", "x"), ("locked", PASSWORD), ("nopassword", ""), ("alice bob", "x")] {
        assert_eq!(answers(name, password), unknown, "{name}");
    }
}

#[test]
fn an_administrator_gets_in_while_somebody_guesses() {
    let f = fixture();
    f.has_user("root", Role::Administrator);
    let mut now = NOW;
    // Somebody with many addresses guesses on and on for a day.
    let mut refused = 0;
    while now < NOW + 86_400 * SECOND {
        let address = format!("198.51.100.{}", now / SECOND % 250);
        refused += u64::from(matches!(f.sign_in("root", "guess", from(&address), now), Err(Refusal::Locked { .. })));
        now += 60 * SECOND;
    }
    assert!(refused > 1200, "{refused}");
    for _ in 0..=ACCOUNT_ATTEMPTS_FREE {
        let _ = f.sign_in("root", "guess", from("198.51.100.251"), now);
    }
    assert!(matches!(f.sign_in("root", PASSWORD, from("203.0.113.1"), now), Err(Refusal::Locked { .. })));
    assert!(f.user("root", now).unwrap().held_off_until_ns.is_some());
    // From where they signed in before, the password counts.
    assert!(f.sign_in("root", PASSWORD, from("10.0.0.1"), now).is_ok());
    // From elsewhere a link made at the machine does, and it forgives.
    let link = f.make_link(&LinkKind::SetPassword("root".to_owned()), now).unwrap();
    f.set_up(link.expose(), "", PASSWORD, from("203.0.113.1"), now).unwrap();
    assert!(f.sign_in("root", PASSWORD, from("203.0.113.2"), now).is_ok());
    // And the longest wait ends when it said.
    for _ in 0..=ACCOUNT_ATTEMPTS_FREE {
        let _ = f.sign_in("root", "guess", from("198.51.100.7"), now);
    }
    assert!(f.sign_in("root", PASSWORD, from("203.0.113.9"), now).is_err());
    assert!(f.sign_in("root", PASSWORD, from("203.0.113.9"), now + WAIT_MAX_S as i64 * SECOND).is_ok());
}

#[test]
fn a_burst_of_guesses_in_parallel_gains_nothing() {
    let f = fixture();
    f.has_user("alice", Role::Viewer);
    let start = Barrier::new(32);
    let guess = |n: usize| {
        start.wait();
        let result = f.sign_in("alice", "guess", from(&format!("192.0.2.{n}")), NOW);
        usize::from(matches!(result, Err(Refusal::WrongPassword)))
    };
    let guess = &guess;
    let looked_at: usize = std::thread::scope(|scope| {
        let all: Vec<_> = (0..32).map(|n| scope.spawn(move || guess(n))).collect();
        all.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert_eq!(looked_at as u32, ACCOUNT_ATTEMPTS_FREE + 1);
    assert_eq!(f.counts().held_off, 32 - looked_at as u64);
}

#[test]
fn sign_ins_stand_in_the_audit_log_also_when_refused() {
    let f = fixture();
    f.has_user("alice", Role::Viewer);
    f.signed_in("alice");
    let _ = f.sign_in("alice", "wrong", from("192.0.2.7"), NOW + 1);
    let _ = f.sign_in("my secret passphrase!", "alice", from("192.0.2.7"), NOW + 2);
    let ask = AuditAsk { from_ns: NOW, to_ns: NOW + 3, user: None, limit: 3, cursor: None };
    let entries = f.audit_page(&ask).unwrap().entries;
    let told: Vec<_> = entries.iter().map(|e| (e.user.as_deref(), e.object.as_str(), e.outcome.as_str())).collect();
    assert_eq!(
        told,
        [
            // What was typed as a name was none: it may be a password.
            (None, "password", "wrong-password"),
            (None, "password alice", "wrong-password"),
            (Some("alice"), "password", "ok"),
        ]
    );
    assert_eq!(entries[0].address, Some("192.0.2.7".parse().unwrap()));
}

#[test]
fn what_a_page_asks_by_itself_keeps_no_session() {
    let f = fixture();
    f.has_user("alice", Role::Viewer);
    let idle = i64::try_from(options().session_idle_s).unwrap() * SECOND;
    let (left, used) = (f.signed_in("alice"), f.signed_in("alice"));
    let minutes = (1..=idle / (60 * SECOND)).map(|minute| NOW + minute * 60 * SECOND);
    for at in minutes {
        let alone = f.viewer_in_background(left.cookie.expose(), at);
        assert_eq!(alone.is_ok(), at < NOW + idle, "{}", (at - NOW) / SECOND);
        assert!(f.viewer_of_cookie(used.cookie.expose(), at).is_ok());
    }
    assert_eq!(f.viewer_of_cookie(left.cookie.expose(), NOW + idle), Err(Refusal::SignedOut));
    assert!(f.viewer_of_cookie(used.cookie.expose(), NOW + idle + 60 * SECOND).is_ok());
}

#[test]
fn a_short_idle_time_ends_nobody_who_is_there() {
    let f = fixture();
    f.has_user("alice", Role::Viewer);
    let desk = Desk::open(&f.folder.path().join(DESK_FILE), &AuthOptions { session_idle_s: 60, ..options() }).unwrap();
    let signed_in = desk.sign_in("alice", PASSWORD, from("10.0.0.1"), NOW).unwrap();
    for n in 1..20 {
        let at = NOW + n * 50 * SECOND;
        assert!(desk.viewer_of_cookie(signed_in.cookie.expose(), at).is_ok(), "{n}");
    }
    assert!(desk.viewer_of_cookie(signed_in.cookie.expose(), NOW + (19 * 50 + 60) * SECOND).is_err());
}

#[test]
fn a_sign_out_that_cannot_be_written_holds_and_is_written_later() {
    let f = fixture();
    f.has_user("alice", Role::Viewer);
    let (ended, other) = (f.signed_in("alice"), f.signed_in("alice"));
    let file = rusqlite::Connection::open(f.folder.path().join(DESK_FILE)).unwrap();
    let full = "CREATE TRIGGER full BEFORE DELETE ON sessions BEGIN SELECT RAISE(ABORT, 'disk full'); END";
    file.execute_batch(full).unwrap();
    assert!(matches!(f.sign_out(ended.cookie.expose()), Err(Refusal::Failed(_))));
    assert_eq!(f.viewer_of_cookie(ended.cookie.expose(), NOW), Err(Refusal::SignedOut));
    assert_eq!(f.viewer_in_background(ended.cookie.expose(), NOW), Err(Refusal::SignedOut));
    assert!(f.viewer_of_cookie(other.cookie.expose(), NOW).is_ok());
    assert!(f.tidy(NOW, None).is_err());
    assert_eq!(f.counts().ends_not_written, 1);
    file.execute_batch("DROP TRIGGER full").unwrap();
    f.tidy(NOW, None).unwrap();
    let f = f.reopened();
    assert_eq!(f.viewer_of_cookie(ended.cookie.expose(), NOW), Err(Refusal::SignedOut));
    assert!(f.viewer_of_cookie(other.cookie.expose(), NOW).is_ok());
}
