//! The file itself: who may read it, what a crash leaves, which versions are understood.

use super::*;
use rusqlite::Connection;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn nobody_else_may_read_the_file() {
    let f = fixture();
    f.has_user("alice", Role::Viewer);
    let folder = f.folder.path().join("web");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let mut files = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        files += 1;
    }
    assert!(files >= 2, "the file and its journal");
    // One that somebody opened to others is closed again.
    std::fs::set_permissions(folder.join("desk.sqlite"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let f = f.reopened();
    assert_eq!(mode(&f.folder.path().join(DESK_FILE)), 0o600);
}

#[test]
fn secrets_and_passwords_are_nowhere_in_the_file() {
    let f = fixture();
    f.has_user("alice", Role::Engineer);
    let signed_in = f.signed_in("alice");
    let link = f.make_link(&LinkKind::SetPassword("alice".to_owned()), NOW).unwrap();
    let scopes = Permissions::parse(["calls.read"]).unwrap();
    let (token, _) = f.make_token(&signed_in.viewer, "t", scopes, None, NOW).unwrap();
    let csrf = signed_in.viewer.csrf().unwrap().to_owned();
    for file in std::fs::read_dir(f.folder.path().join("web")).unwrap() {
        let octets = std::fs::read(file.unwrap().path()).unwrap();
        for secret in [PASSWORD, signed_in.cookie.expose(), link.expose(), token.expose(), &csrf] {
            let found = octets.windows(secret.len()).any(|w| w == secret.as_bytes());
            assert!(!found, "a secret stands in the file");
        }
    }
}

#[test]
fn what_was_done_is_there_after_a_crash() {
    let f = fixture();
    f.has_user("alice", Role::Administrator);
    let kept = f.signed_in("alice");
    let ended = f.signed_in("alice");
    f.sign_out(ended.cookie.expose()).unwrap();
    let used = f.make_link(&LinkKind::SignIn("alice".to_owned()), NOW).unwrap();
    f.sign_in_by_link(used.expose(), from("10.0.0.1"), NOW).unwrap();
    // The process is killed: nothing is closed. Another opens a copy of what lies on the disk.
    let copy = tempfile::tempdir().unwrap();
    std::fs::create_dir(copy.path().join("web")).unwrap();
    for file in std::fs::read_dir(f.folder.path().join("web")).unwrap() {
        let path = file.unwrap().path();
        if !path.to_string_lossy().ends_with("-shm") {
            std::fs::copy(&path, copy.path().join("web").join(path.file_name().unwrap())).unwrap();
        }
    }
    let after = Desk::open(&copy.path().join(DESK_FILE), &options()).unwrap();
    assert_eq!(after.viewer_of_cookie(kept.cookie.expose(), NOW).unwrap(), kept.viewer);
    assert_eq!(after.viewer_of_cookie(ended.cookie.expose(), NOW), Err(Refusal::SignedOut));
    assert_eq!(after.sign_in_by_link(used.expose(), from("10.0.0.1"), NOW).unwrap_err(), Refusal::BadLink);
}

#[test]
fn a_file_of_a_later_program_is_left_alone() {
    let f = fixture();
    let path = f.folder.path().join(DESK_FILE);
    let Fixture { desk, folder: _folder } = f;
    drop(desk);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = Desk::open(&path, &options()).unwrap_err();
    assert!(error.to_string().contains("version 99"), "{error}");
    assert!(!error.shown().contains("sqlite"));
    std::fs::write(&path, b"not a database, but something else that is long enough to be read as a header").unwrap();
    assert!(matches!(Desk::open(&path, &options()), Err(Refusal::Failed(_))));
}

#[test]
fn the_audit_log_is_only_appended_to() {
    let f = fixture();
    f.has_user("alice", Role::Administrator);
    let signed_in = f.signed_in("alice");
    let address = from("10.0.0.9").address;
    for n in 0..5 {
        f.audit_viewer(&signed_in.viewer, address, action::CALL_SEE, &format!("call {n}\n"), "ok", NOW + n).unwrap();
    }
    let raw = Connection::open(f.folder.path().join(DESK_FILE)).unwrap();
    assert!(raw.execute("UPDATE audit SET user = 'bob'", []).is_err());
    assert!(raw.execute("DELETE FROM audit WHERE object LIKE 'call 3%'", []).is_err());
    let ask = AuditAsk { from_ns: NOW, to_ns: NOW + SECOND, user: Some("alice"), limit: 3, cursor: None };
    let first = f.audit_page(&ask).unwrap();
    assert_eq!(
        first.entries.iter().map(|e| e.object.as_str()).collect::<Vec<_>>(),
        ["call 4\u{fffd}", "call 3\u{fffd}", "call 2\u{fffd}"]
    );
    let rest = f.audit_page(&AuditAsk { cursor: first.next, limit: 100, ..ask }).unwrap();
    assert!(rest.next.is_none() && rest.entries.iter().any(|e| e.action == action::SIGN_IN && e.outcome == "ok"));
    assert!(f.audit_page(&AuditAsk { user: Some("alic_"), ..ask }).unwrap().entries.is_empty());
}

#[test]
fn a_number_leaves_the_audit_log_whose_entries_stay() {
    let f = fixture();
    f.has_user("alice", Role::Administrator);
    let viewer = f.signed_in("alice").viewer;
    let address = from("10.0.0.9").address;
    let see = |object: &str| f.audit_viewer(&viewer, address, action::CALLS_EXPORT, object, "ok", NOW).unwrap();
    ["number:+44207001234 one-way", "number:442070012345", "caller:44207001234"].into_iter().for_each(see);
    f.save_filter(&viewer, "theirs", "number:+44207001234", false).unwrap();
    f.save_filter(&viewer, "others", "number:+4420700*", false).unwrap();
    let all = AuditAsk { from_ns: 0, to_ns: i64::MAX, user: None, limit: 1000, cursor: None };
    let before = f.audit_page(&all).unwrap().entries;
    let number = trunkline_kit::forgotten::Forgotten::new("+44207001234").unwrap();
    let found = f.number_at_desk(&number).unwrap();
    assert_eq!((found.entries, found.filters), (2, 1));
    assert_eq!(f.audit_page(&all).unwrap().entries, before, "it was only looked for");
    assert_eq!(f.forget_number(&number, "shell", NOW + SECOND).unwrap(), found);
    let after = f.audit_page(&all).unwrap().entries;
    assert_eq!((after[0].action.as_str(), after[0].object.as_str()), (action::NUMBER_FORGET, "2 entries, 1 filters"));
    let objects: Vec<_> = after[1..4].iter().map(|entry| entry.object.as_str()).collect();
    assert_eq!(objects, ["caller:***********", "number:442070012345", "number:+*********** one-way"]);
    assert_eq!(after.len(), before.len() + 1);
    assert_eq!(f.filters(&viewer).unwrap().len(), 1);
    assert_eq!(f.forget_number(&number, "shell", NOW + SECOND).unwrap(), NumberAtDesk::default());
    // Not in the octets of the file, nor of its journal.
    for file in std::fs::read_dir(f.folder.path().join("web")).unwrap() {
        let octets = std::fs::read(file.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&octets).replace("442070012345", "");
        assert!(!text.contains("44207001234"));
    }
    let raw = Connection::open(f.folder.path().join(DESK_FILE)).unwrap();
    for change in ["object = 'x*'", "object = replace(object, 'number', 'NUMBER')", "at_ns = 1", "user = 'bob'"] {
        assert!(
            raw.execute(&format!("UPDATE audit SET {change} WHERE object LIKE 'number:4%'"), []).is_err(),
            "{change}"
        );
    }
}

#[test]
fn nobody_floods_the_audit_log_with_what_they_do() {
    let f = fixture();
    f.has_user("alice", Role::Support);
    f.has_user("bob", Role::Support);
    let (alice, bob) = (f.signed_in("alice").viewer, f.signed_in("bob").viewer);
    let token = Viewer { how: How::Token { id: 1, name: "t".to_owned() }, ..alice.clone() };
    let minute = NOW + 600 * SECOND;
    let see = |viewer: &Viewer, at| f.audit_viewer(viewer, from("10.0.0.9").address, action::CALL_SEE, "x", "ok", at);
    let most = audit::USER_ENTRIES_PER_MINUTE_MAX;
    let written = (0..most + 10).filter(|n| see(if n % 2 == 0 { &alice } else { &token }, minute).is_ok()).count();
    assert_eq!(written as u64, most);
    assert!(matches!(see(&alice, minute), Err(Refusal::TooMany { retry_after_s: 1..=60 })));
    assert!(see(&bob, minute).is_ok() && see(&alice, minute + 60 * SECOND).is_ok());
}

#[test]
fn the_audit_log_is_bounded_by_number_and_age() {
    let folder = tempfile::tempdir().unwrap();
    let options = AuthOptions { audit_entries_max: 100, audit_age_max_s: Some(1000), ..options() };
    let desk = Desk::open(&folder.path().join(DESK_FILE), &options).unwrap();
    let entry = |user: Option<&str>, at_ns| AuditEntry {
        at_ns,
        user: user.map(str::to_owned),
        address: None,
        action: "x".to_owned(),
        object: String::new(),
        outcome: "ok".to_owned(),
    };
    for n in 0..150 {
        desk.audit(&entry(Some("alice"), NOW + n)).unwrap();
        desk.audit(&entry(None, NOW + n)).unwrap();
    }
    desk.tidy(NOW + SECOND, Some(NOW + SECOND)).unwrap();
    let all = AuditAsk { from_ns: 0, to_ns: i64::MAX, user: None, limit: 1000, cursor: None };
    let entries = desk.audit_page(&all).unwrap().entries;
    let users = entries.iter().filter(|e| e.user.is_some()).count();
    assert_eq!((users, entries.len() - users), (100, 10));
    assert_eq!(entries.iter().find(|e| e.user.is_some()).map(|e| e.at_ns), Some(NOW + 149));
    // Of strangers sixty a minute are written, and what was not is told in the next.
    assert_eq!(desk.counts().audit_not_written, 90);
    desk.audit(&entry(None, NOW + 60 * SECOND)).unwrap();
    let told = desk.audit_page(&AuditAsk { limit: 2, ..all }).unwrap().entries;
    assert!(told.iter().any(|e| e.object == "90 more attempts in a minute"), "{told:?}");
    // A clock that is in doubt makes nothing old.
    desk.tidy(NOW + 5000 * SECOND, None).unwrap();
    assert_eq!(desk.audit_to_trim(None).unwrap(), 0);
    let count = desk.audit_page(&all).unwrap().entries.len() as u64;
    assert!(count > 100);
    assert_eq!(desk.audit_to_trim(Some(NOW + 5000 * SECOND)).unwrap(), count);
    desk.tidy(NOW + 5000 * SECOND, Some(NOW + 5000 * SECOND)).unwrap();
    assert_eq!(desk.audit_page(&all).unwrap().entries, []);
}

#[test]
fn a_minimum_age_keeps_entries_of_users_whatever_their_number() {
    let folder = tempfile::tempdir().unwrap();
    let options = AuthOptions { audit_entries_max: 10, audit_keep_at_least_s: 100, audit_age_max_s: None, ..options() };
    let desk = Desk::open(&folder.path().join(DESK_FILE), &options).unwrap();
    for n in 0..30 {
        let at_ns = NOW + n * 10 * SECOND;
        let [user, action, outcome] = ["alice", "x", "ok"].map(str::to_owned);
        let entry = AuditEntry { at_ns, user: Some(user), address: None, action, object: String::new(), outcome };
        desk.audit(&entry).unwrap();
    }
    let all = AuditAsk { from_ns: 0, to_ns: i64::MAX, user: None, limit: 1000, cursor: None };
    let left = |believed_ns| {
        desk.trim_audit(believed_ns).unwrap();
        desk.audit_page(&all).unwrap().entries.len()
    };
    assert_eq!(left(None), 30, "of which time nobody knows, all may be young");
    assert_eq!(left(Some(NOW + 160 * SECOND)), 24, "only what is older than 100 s leaves");
    assert_eq!(left(Some(NOW + 9000 * SECOND)), 10, "no minimum age protects any, and no age ends any");
}
