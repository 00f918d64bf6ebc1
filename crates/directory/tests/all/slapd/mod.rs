//! The engine against OpenLDAP's server, which knows nothing of us: what is found is compared with the LDIF that was
//! loaded.

mod answers;
mod client;
mod outages;
mod security;
mod world;

use client::{Client, section};
use std::time::Instant;
use trunkline_directory::{Ended, Identity, Kind, LookedUp, Profile};
use world::{Subscriber, Tree, is_installed, ldif, subscribers};

/// Look-ups that have no end yet, at most.
const OUTSTANDING: usize = 2000;

/// What the profile of a subscriber has to be.
fn expected(subscriber: &Subscriber) -> Profile {
    let fields = [
        ("account", &subscriber.uid),
        ("plan", &subscriber.plan),
        ("credit", &subscriber.credit),
        ("msisdn", &subscriber.mobile),
        ("imsi", &subscriber.imsi),
    ];
    Profile {
        name: format!("uid={},ou=people,dc=example", subscriber.uid),
        fields: fields.map(|(name, value)| (name.to_owned(), vec![value.clone()])).into(),
    }
}

#[test]
fn a_hundred_thousand_subscribers_are_found_each_as_it_is() {
    if !is_installed() {
        return;
    }
    let tree = Tree::new(ldif(100_000));
    let truth = subscribers(&tree.ldif);
    assert_eq!(truth.len(), 100_000);
    let (first, second) = (tree.serve(), tree.serve());
    let client = Client::new(&section(&[&first, &second]));
    client.until("both are up", |shown| shown.servers.iter().all(|(_, server)| server.connections == 2));
    let began = Instant::now();
    let (mut asked, mut ended) = (0, 0);
    while ended < truth.len() {
        while asked < truth.len() && asked - ended < OUTSTANDING {
            // In an order that jumps: 7919 and 100,000 have no divisor in common.
            let number = asked * 7919 % truth.len();
            let identity = match asked % 2 {
                0 => Identity::new(Kind::Msisdn, &truth[number].mobile),
                _ => Identity::new(Kind::Imsi, &truth[number].imsi),
            };
            client.directory.look_up(identity, number as u64).expect("there is room");
            asked += 1;
        }
        let completion = client.next();
        let number = completion.token as usize;
        match completion.ended {
            Ended::LookedUp(LookedUp::Found(profile, _)) => assert_eq!(*profile, expected(&truth[number])),
            other => panic!("{:?}: {other:?}", truth[number]),
        }
        ended += 1;
    }
    println!("{} look-ups/s", (truth.len() as f64 / began.elapsed().as_secs_f64()) as u64);
    let shown = client.shown();
    assert_eq!((shown.look_ups.searches, shown.look_ups.found, shown.pool.failed), (100_000, 100_000, 0));
    for (name, server) in &shown.servers {
        assert!(server.counts.operations > 25_000, "{name} had {} of them", server.counts.operations);
        assert_eq!(server.codes, [(0, server.counts.operations)]);
    }
    for number in 100_000..100_100 {
        assert_eq!(client.look_up(Kind::Msisdn, &Subscriber::number(number).mobile), LookedUp::Absent);
    }
}
