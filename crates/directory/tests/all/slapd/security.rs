//! TLS, who asks, passwords, identities that are meant to be filters.

use crate::slapd::client::{Client, section};
use crate::slapd::expected;
use crate::slapd::world::{ADMIN, SECRET, Subscriber, Tree, is_installed, ldif};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use trunkline_directory::*;
use trunkline_wire::ldap::{Change, Modification, Scope, Search};

/// Who vouches for servers, and a server's certificate and key, in files of a folder.
fn vouch(folder: &Path, name: &str) -> String {
    let mut issuer = CertificateParams::default();
    issuer.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // Two of the same name would be told apart by their signatures only.
    issuer.distinguished_name.push(DnType::CommonName, folder.to_string_lossy());
    let issuer = CertifiedIssuer::self_signed(issuer, KeyPair::generate().expect("a key")).expect("an issuer");
    let key = KeyPair::generate().expect("a key");
    let server = CertificateParams::new(vec![name.to_owned()]).expect("a name").signed_by(&key, &issuer);
    let file = |name: &str, text: String| std::fs::write(folder.join(name), text).expect("a file");
    file("ca.pem", issuer.pem());
    file("server.pem", server.expect("a certificate").pem());
    file("server.key", key.serialize_pem());
    let at = folder.display();
    format!(
        "TLSCACertificateFile {at}/ca.pem\nTLSCertificateFile {at}/server.pem\nTLSCertificateKeyFile {at}/server.key"
    )
}

fn trouble(client: &Client) -> String {
    let shown = client.until("it is down", |shown| !shown.servers[0].1.trouble.is_empty());
    shown.servers[0].1.trouble.to_string()
}

#[test]
fn octets_go_in_tls_both_ways_of_beginning_it() {
    if !is_installed() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let tree = Tree::with(ldif(10), &format!("{}\nsecurity tls=128", vouch(folder.path(), "127.0.0.1")));
    let (plain, secure) = (tree.serve(), tree.serve_as("ldaps"));
    let ca_file = Some(folder.path().join("ca.pem"));
    let subscriber = Subscriber::number(3);
    for server in [&plain, &secure] {
        let section = DirectorySection { start_tls: true, ca_file: ca_file.clone(), ..section(&[server]) };
        let found = Client::new(&section).profile(Kind::Imsi, &subscriber.imsi);
        assert_eq!(found, (expected(&subscriber), Freshness::Asked));
    }
    // The server wants TLS, so that what was found came through it.
    let without = trouble(&Client::new(&section(&[&plain])));
    assert!(without.contains("confidentialityRequired (13)"), "{without}");
}

#[test]
fn a_server_that_nobody_vouches_for_is_not_spoken_to() {
    if !is_installed() {
        return;
    }
    let [ours, other, named] = [(); 3].map(|()| TempDir::new().expect("a folder"));
    vouch(other.path(), "127.0.0.1");
    let trees = [(&ours, "127.0.0.1"), (&named, "elsewhere.example")]
        .map(|(folder, name)| Tree::with(ldif(1), &vouch(folder.path(), name)));
    for (tree, ca, word) in [(&trees[0], &other, "UnknownIssuer"), (&trees[1], &named, "not valid for name")] {
        for scheme in ["ldap", "ldaps"] {
            let server = tree.serve_as(scheme);
            let ca_file = Some(ca.path().join("ca.pem"));
            let client = Client::new(&DirectorySection { start_tls: true, ca_file, ..section(&[&server]) });
            let trouble = trouble(&client);
            assert!(trouble.contains("TLS") && trouble.contains(word), "{scheme}: {trouble}");
        }
    }
    let missing =
        DirectorySection { start_tls: true, ca_file: Some("nothing.pem".into()), ..section(&[&trees[0].serve()]) };
    let refused = start(missing.options().expect("settings"), Box::new(drop));
    assert!(matches!(refused, Err(StartError::File { .. })));
}

/// A file with a password.
fn password_file(folder: &TempDir, password: &str) -> Option<PathBuf> {
    let path = folder.path().join("password");
    std::fs::write(&path, format!("{password}\n")).expect("a file");
    Some(path)
}

#[test]
fn who_asks_is_who_it_says_and_sets_passwords() {
    if !is_installed() {
        return;
    }
    let (tree, folder) = (Tree::new(ldif(3)), TempDir::new().expect("a folder"));
    let server = tree.serve();
    let bound = |name: &str, password: &str| {
        let bind_password_file = password_file(&folder, password);
        Client::new(&DirectorySection { bind_name: name.to_owned(), bind_password_file, ..section(&[&server]) })
    };
    assert!(trouble(&bound(ADMIN, "guessed")).contains("invalidCredentials (49)"));
    let admin = bound(ADMIN, SECRET);
    let user = "uid=s000001,ou=people,dc=example";
    let set = |old: Option<&str>, new: Option<&str>| {
        let octets = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
        Operation::PasswordModify { user: Some(user.to_owned()), old: octets(old), new: octets(new) }
    };
    assert!(admin.ask(set(None, Some("first"))).expect("an answer").is_success());
    let own = bound(user, "first");
    let refused = own.ask(set(Some("wrong"), Some("second"))).expect("an answer");
    assert!(!refused.is_success(), "{refused:?}");
    let made = own.ask(set(Some("first"), None)).expect("an answer");
    let password = String::from_utf8(made.generated_password().expect("the server makes one").to_vec()).expect("text");
    assert!(trouble(&bound(user, "first")).contains("invalidCredentials"));
    assert_eq!(bound(user, &password).profile(Kind::Private, "s000001").0.name, user);
}

#[test]
fn what_is_changed_is_seen_when_it_is_forgotten() {
    if !is_installed() {
        return;
    }
    let (tree, folder) = (Tree::new(ldif(3)), TempDir::new().expect("a folder"));
    let server = tree.serve();
    let client = Client::new(&DirectorySection {
        bind_name: ADMIN.to_owned(),
        bind_password_file: password_file(&folder, SECRET),
        remember: std::time::Duration::from_secs(600),
        ..section(&[&server])
    });
    let mut subscriber = Subscriber::number(1);
    assert_eq!(client.profile(Kind::Imsi, &subscriber.imsi).0, expected(&subscriber));
    let values = vec![b"platinum".to_vec()];
    let change = Change { modification: Modification::Replace, attribute: "employeeType".to_owned(), values };
    let entry = "uid=s000001,ou=people,dc=example".to_owned();
    assert!(client.ask(Operation::Modify { entry, changes: vec![change] }).expect("an answer").is_success());
    assert_eq!(client.profile(Kind::Imsi, &subscriber.imsi), (expected(&subscriber), Freshness::Remembered));
    client.directory.forget(Identity::new(Kind::Imsi, &subscriber.imsi)).expect("there is room");
    subscriber.plan = "platinum".to_owned();
    assert_eq!(client.profile(Kind::Imsi, &subscriber.imsi), (expected(&subscriber), Freshness::Asked));
}

#[test]
fn no_identity_is_a_filter() {
    if !is_installed() {
        return;
    }
    let hostile = [
        "*",
        "s00000*",
        "*)(uid=*",
        "x)(|(uid=*",
        "*)(objectClass=*))(|(uid=*",
        ")(uid=s000001",
        "s000001)(cn=*",
        "\\2a",
        "\\73000001",
        "(&)",
        "|(uid=*)",
        "s000001\u{0}",
        "s000001,ou=people,dc=example",
        "{private}",
    ];
    // Those that somebody is called by are found by that name alone.
    let called = ["*)(uid=*", "\\2a", "(&)"];
    let mut entries = ldif(20);
    for (number, name) in called.iter().enumerate() {
        let entry = "objectClass: inetOrgPerson\nuid: STRANGE\nsn: x\nemployeeType: strange\nemployeeNumber: ";
        let entry = entry.replace("STRANGE", &format!("strange{number}"));
        write!(entries, "dn: cn=strange{number},ou=people,dc=example\n{entry}{name}\n\n").expect("text");
    }
    let tree = Tree::new(entries);
    let server = tree.serve();
    let client = Client::new(&section(&[&server]));
    for text in hostile {
        for kind in [Kind::Private, Kind::Msisdn, Kind::Imsi] {
            let looked_up = client.look_up(kind, text);
            let name = called.iter().position(|called| *called == text).filter(|_| kind == Kind::Imsi);
            match (looked_up, name) {
                (LookedUp::Found(profile, _), Some(number)) => {
                    assert_eq!(profile.one("account"), Some(&format!("strange{number}")[..]));
                }
                (LookedUp::Absent, None) => {}
                (LookedUp::Failed(Why::Unfit), None) => assert!(text.contains('\0')),
                (other, _) => panic!("{kind:?} {text}: {other:?}"),
            }
        }
    }
    // Below a base with a place for it, too.
    let based = DirectorySection {
        base: "uid={private},ou=people,dc=example".to_owned(),
        filters: vec!["(objectClass=inetOrgPerson)".to_owned()],
        scope: trunkline_directory::Scope::Base,
        ..section(&[&server])
    };
    let client = Client::new(&based);
    assert_eq!(client.profile(Kind::Private, "s000007").0, expected(&Subscriber::number(7)));
    for text in hostile.iter().filter(|text| !text.contains('\0')) {
        assert_eq!(client.look_up(Kind::Private, text), LookedUp::Absent, "{text}");
    }
    let everything = Operation::Search(Search {
        base: "dc=example".to_owned(),
        scope: Scope::Subtree,
        size_limit: 0,
        time_limit_seconds: 0,
        filter: "(objectClass=*)".parse().expect("a filter"),
        attributes: vec!["1.1".to_owned()],
    });
    assert_eq!(client.ask(everything).expect("an answer").entries.len(), 2 + 20 + called.len());
}
