//! Answers that are no single entry: referrals, limits, entries that are no subscribers.

use crate::slapd::client::{Client, section};
use crate::slapd::world::{Tree, is_installed, ldif};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use trunkline_directory::*;
use trunkline_wire::ldap::{Scope, Search, code};

fn search(base: &str, size_limit: u32) -> Operation {
    Operation::Search(Search {
        base: base.to_owned(),
        scope: Scope::Subtree,
        size_limit,
        time_limit_seconds: 5,
        filter: "(objectClass=inetOrgPerson)".parse().expect("a filter"),
        attributes: vec!["uid".to_owned()],
    })
}

#[test]
fn referrals_are_told_and_not_followed() {
    if !is_installed() {
        return;
    }
    let far = "dn: ou=far,ou=people,dc=example\nobjectClass: referral\nobjectClass: extensibleObject\nou: far\n\
        ref: ldap://far.example/ou=far,dc=example\n\n";
    let tree = Tree::with(ldif(3) + far, "referral ldap://elsewhere.example");
    let server = tree.serve();
    let client = Client::new(&section(&[&server]));
    let answer = client.ask(search("ou=people,dc=example", 0)).expect("an answer");
    assert_eq!((answer.code, answer.entries.len()), (code::SUCCESS, 3));
    assert_eq!(answer.referrals, ["ldap://far.example/ou=far,dc=example??sub"]);
    // Who is not here may be there: that is not the same as that there is nobody.
    let looked_up = client.look_up(Kind::Private, "s999999");
    assert_eq!(looked_up, LookedUp::Failed(Why::Referred(answer.referrals)));
    assert_eq!(client.profile(Kind::Private, "s000002").0.one("account"), Some("s000002"));
    let answer = client.ask(search("dc=other", 0)).expect("an answer");
    assert_eq!((answer.code, answer.referrals.len()), (code::REFERRAL, 1));
    assert!(answer.referrals[0].starts_with("ldap://elsewhere.example"), "{answer:?}");
}

#[test]
fn limits_hold_on_both_sides() {
    if !is_installed() {
        return;
    }
    let tree = Tree::new(ldif(2000));
    let server = tree.serve();
    let people = "ou=people,dc=example";
    let client = Client::new(&section(&[&server]));
    let answer = client.ask(search(people, 3)).expect("an answer");
    assert_eq!((answer.code, answer.entries.len()), (code::SIZE_LIMIT_EXCEEDED, 3));
    // The server's own limit.
    let answer = client.ask(search(people, 0)).expect("an answer");
    assert_eq!((answer.code, answer.entries.len()), (code::SIZE_LIMIT_EXCEEDED, 500));
    for section in [
        DirectorySection { answer_entries: 100, ..section(&[&server]) },
        DirectorySection { answer_size: trunkline_kit::config::Octets(4096), ..section(&[&server]) },
    ] {
        let client = Client::new(&section);
        assert_eq!(client.ask(search(people, 0)), Err(Failure::TooLong));
        // The rest of that answer is on its way; others are not disturbed by it.
        assert_eq!(client.profile(Kind::Private, "s000011").0.one("account"), Some("s000011"));
    }
}

#[test]
fn an_entry_that_is_no_subscriber_is_told() {
    if !is_installed() {
        return;
    }
    let bare = |cn: &str, uid: &str| {
        let classes = "objectClass: person\nobjectClass: uidObject";
        format!("dn: cn={cn},ou=people,dc=example\n{classes}\ncn: {cn}\nsn: {cn}\nuid: {uid}\n\n")
    };
    let tree = Tree::new(ldif(1) + &bare("one", "twice") + &bare("two", "twice") + &bare("three", "bare"));
    let server = tree.serve();
    let client = Client::new(&section(&[&server]));
    assert_eq!(client.look_up(Kind::Private, "twice"), LookedUp::Failed(Why::Ambiguous));
    let LookedUp::Failed(Why::Incomplete(what)) = client.look_up(Kind::Private, "bare") else { panic!() };
    assert_eq!(what, "the entry has no employeeType for 'plan'");
    let nowhere = DirectorySection { base: "ou=nowhere,dc=example".to_owned(), ..section(&[&server]) };
    let looked_up = Client::new(&nowhere).look_up(Kind::Private, "s000000");
    assert_eq!(looked_up, LookedUp::Failed(Why::Refused(code::NO_SUCH_OBJECT, "noSuchObject (32)".to_owned())));
}

/// A memory of the program's own, which counts.
struct Counting(Bounded);

static GETS: AtomicUsize = AtomicUsize::new(0);

impl Memory for Counting {
    fn get(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        assert_eq!(key, b"private:s000001");
        GETS.fetch_add(1, Ordering::Relaxed);
        self.0.get(key)
    }

    fn set(&mut self, key: &[u8], value: Vec<u8>, time_to_live: Duration) {
        assert_eq!(time_to_live, Duration::from_secs(60 + 3600));
        self.0.set(key, value, time_to_live);
    }

    fn remove(&mut self, key: &[u8]) {
        self.0.remove(key);
    }

    fn held(&self) -> (usize, usize) {
        self.0.held()
    }
}

#[test]
fn the_program_may_remember_elsewhere() {
    if !is_installed() {
        return;
    }
    let tree = Tree::new(ldif(3));
    let server = tree.serve();
    let (remember, stale) = (Duration::from_secs(60), Duration::from_secs(3600));
    let options = DirectorySection { remember, stale, ..section(&[&server]) }.options().expect("settings");
    let (sender, completions) = std::sync::mpsc::channel();
    let tell = move |completion: Completion| drop(sender.send(completion.ended));
    let memory = Counting(Bounded::new(10, 10_000));
    let (directory, _running) = start_with(options, Box::new(memory), Box::new(tell)).expect("it starts");
    let expected = [Freshness::Asked, Freshness::Remembered, Freshness::Remembered];
    for expected in expected {
        directory.look_up(Identity::new(Kind::Private, "s000001"), 0).expect("there is room");
        let ended = completions.recv().expect("an end");
        assert!(matches!(ended, Ended::LookedUp(LookedUp::Found(_, freshness)) if freshness == expected));
    }
    assert_eq!(GETS.load(Ordering::Relaxed), 3);
}
