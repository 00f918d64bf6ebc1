//! Servers that stand still, end and come back.
//!
//! Test group: waits: for servers that are away.

use crate::eventually::{PATIENCE, eventually};
use crate::slapd::client::{Client, section};
use crate::slapd::expected;
use crate::slapd::world::{Server, Subscriber, Tree, is_installed, ldif};
use std::time::{Duration, Instant};
use trunkline_directory::*;

/// Far longer than a busy machine needs for an answer: who did not wait for it was faster than this.
const TIMEOUT: Duration = Duration::from_secs(2);

fn hasty(servers: &[&Server]) -> DirectorySection {
    DirectorySection {
        timeout: TIMEOUT,
        connect_timeout: TIMEOUT,
        retry: Duration::from_millis(50),
        retry_max: Duration::from_millis(200),
        window: 8,
        ..section(servers)
    }
}

fn both_up(client: &Client) {
    client.until("both are up", |shown| shown.servers.iter().all(|(_, server)| server.connections == 2));
}

/// Looks up so many, 40 at once, each as it is in the LDIF; the longest that one took.
fn look_up(client: &Client, count: usize) -> Duration {
    let mut left = count;
    look_up_while(client, || {
        left = left.saturating_sub(1);
        left > 0
    })
}

/// The same for a while.
fn look_up_while(client: &Client, mut goes_on: impl FnMut() -> bool) -> Duration {
    let (mut asked, mut open, mut longest, mut more) = (0, Vec::new(), Duration::ZERO, true);
    while more || !open.is_empty() {
        while more && open.len() < 40 {
            more = goes_on();
            let subscriber = Subscriber::number(asked % 1000);
            let identity = Identity::new(Kind::Msisdn, subscriber.mobile);
            client.directory.look_up(identity, asked as u64).expect("there is room");
            open.push((asked as u64, Instant::now()));
            asked += 1;
        }
        let completion = client.next();
        let at = open.iter().position(|(token, _)| *token == completion.token).expect("one end for each");
        longest = longest.max(open.swap_remove(at).1.elapsed());
        match completion.ended {
            Ended::LookedUp(LookedUp::Found(profile, _)) => {
                assert_eq!(*profile, expected(&Subscriber::number(completion.token as usize % 1000)));
            }
            other => panic!("{other:?}"),
        }
    }
    longest
}

#[test]
fn a_server_that_stands_still_costs_its_time_once() {
    if !is_installed() {
        return;
    }
    let tree = Tree::new(ldif(1000));
    let (first, second) = (tree.serve(), tree.serve());
    let client = Client::new(&hasty(&[&first, &second]));
    both_up(&client);
    look_up(&client, 200);
    first.stop();
    let longest = look_up(&client, 2000);
    assert!(longest >= TIMEOUT && longest < 3 * TIMEOUT, "{longest:?}");
    let shown = client.shown();
    let (still, other) = (&shown.servers[0].1, &shown.servers[1].1);
    assert!(!still.is_up && other.is_up && shown.pool.failovers > 0 && shown.pool.failed == 0, "{shown:#?}");
    // It is seen once that it says nothing; then it is not asked any more.
    assert!(still.counts.timeouts <= 2 && still.counts.downs == 1, "{still:#?}");
    assert!(look_up(&client, 300) < TIMEOUT);
    first.go_on();
    both_up(&client);
    // It is asked again. How often depends on how fast each of the two answers: the next goes to the less busy one.
    let before = client.shown().servers[0].1.counts.operations;
    let deadline = Instant::now() + PATIENCE;
    look_up_while(&client, || {
        assert!(Instant::now() < deadline, "it is up and not asked");
        client.shown().servers[0].1.counts.operations <= before + 100
    });
}

#[test]
fn a_server_that_is_killed_and_comes_back_loses_nothing() {
    if !is_installed() {
        return;
    }
    let tree = Tree::new(ldif(1000));
    let (mut first, second) = (tree.serve(), tree.serve());
    let client = Client::new(&hasty(&[&first, &second]));
    both_up(&client);
    let directory = &client.directory;
    let server = || directory.shown().expect("it runs").servers[0].1.clone();
    std::thread::scope(|scope| {
        let kills = scope.spawn(|| {
            for kills in 1..=3 {
                let before = server().counts.operations;
                eventually("it is asked", || server().counts.operations > before + 100);
                first.kill();
                eventually("it is down", || server().counts.downs == kills);
                first.restart();
                eventually("it is up", || server().connections == 2);
            }
        });
        assert!(look_up_while(&client, || !kills.is_finished()) < TIMEOUT);
        kills.join().expect("killed and started again");
    });
    both_up(&client);
    let shown = client.shown();
    assert_eq!((shown.servers[0].1.counts.downs, shown.servers[1].1.counts.downs, shown.pool.failed), (3, 0, 0));
}

#[test]
fn profiles_stand_in_while_nobody_answers() {
    if !is_installed() {
        return;
    }
    let tree = Tree::new(ldif(10));
    let mut server = tree.serve();
    let remember = TIMEOUT;
    let (stale, remember_absent) = (Duration::from_secs(600), Duration::from_secs(600));
    let client = Client::new(&DirectorySection { remember, stale, remember_absent, ..hasty(&[&server]) });
    let subscriber = Subscriber::number(3);
    let look_up = || client.profile(Kind::Msisdn, &subscriber.mobile);
    assert_eq!(look_up(), (expected(&subscriber), Freshness::Asked));
    assert_eq!(look_up(), (expected(&subscriber), Freshness::Remembered));
    assert_eq!(client.look_up(Kind::Msisdn, "4400"), LookedUp::Absent);
    server.kill();
    client.until("it is down", |shown| !shown.servers[0].1.is_up);
    // Until its time is over it is remembered.
    eventually("it is stale", || {
        let (profile, freshness) = look_up();
        assert_eq!(profile, expected(&subscriber));
        freshness == Freshness::Stale
    });
    assert_eq!(client.look_up(Kind::Msisdn, "4400"), LookedUp::Absent);
    // Who was never seen is not known, and that is told at once.
    let began = Instant::now();
    let unknown = client.look_up(Kind::Msisdn, &Subscriber::number(4).mobile);
    assert!(matches!(unknown, LookedUp::Failed(Why::Failure(Failure::Unreachable(_)))), "{unknown:?}");
    assert!(began.elapsed() < TIMEOUT);
    let shown = client.shown();
    assert_eq!((shown.look_ups.stale, shown.look_ups.remembered_absent, shown.remembered.0), (1, 1, 2));
    server.restart();
    client.until("it is up", |shown| shown.servers[0].1.is_up);
    assert_eq!(look_up(), (expected(&subscriber), Freshness::Asked));
}

#[test]
fn one_identity_asked_by_many_is_one_search_and_too_many_are_refused() {
    if !is_installed() {
        return;
    }
    let tree = Tree::new(ldif(10));
    let server = tree.serve();
    let patient = Duration::from_secs(10);
    let section = DirectorySection { timeout: patient, connect_timeout: patient, ..hasty(&[&server]) };
    let client = Client::new(&DirectorySection { outstanding: 100, ..section });
    client.until("it is up", |shown| shown.servers[0].1.connections == 2);
    server.stop();
    let look_up = |token| client.directory.look_up(Identity::new(Kind::Imsi, Subscriber::number(5).imsi), token);
    (0..100).for_each(|token| look_up(token).expect("there is room"));
    assert_eq!(look_up(100), Err(Refused::Full));
    assert_eq!(client.directory.outstanding(), 100);
    server.go_on();
    let mut tokens: Vec<u64> = (0..100).map(|_| client.next().token).collect();
    tokens.sort_unstable();
    assert!(tokens.into_iter().eq(0..100));
    let shown = client.shown();
    assert_eq!((shown.look_ups.searches, shown.look_ups.joined), (1, 99));
    assert_eq!(client.directory.outstanding(), 0);
    look_up(101).expect("there is room again");
}

#[test]
fn what_is_open_has_its_end_when_the_engine_ends() {
    if !is_installed() {
        return;
    }
    let tree = Tree::new(ldif(10));
    let server = tree.serve();
    let (sender, completions) = std::sync::mpsc::channel();
    let tell = move |completion| drop(sender.send(completion));
    let (directory, running) =
        start(hasty(&[&server]).options().expect("settings"), Box::new(tell)).expect("it starts");
    server.stop();
    let identity = || Identity::new(Kind::Imsi, Subscriber::number(5).imsi);
    directory.look_up(identity(), 1).expect("there is room");
    directory.submit(Operation::Modify { entry: "dc=example".to_owned(), changes: Vec::new() }, 2).expect("room");
    drop(running);
    server.go_on();
    let mut ended: Vec<(u64, Ended)> = completions.iter().map(|c: Completion| (c.token, c.ended)).collect();
    ended.sort_by_key(|(token, _)| *token);
    assert!(matches!(ended[0], (1, Ended::LookedUp(LookedUp::Failed(_)))), "{ended:?}");
    assert!(matches!(ended[1], (2, Ended::Answered(Err(_)))) && ended.len() == 2, "{ended:?}");
    assert_eq!(directory.look_up(identity(), 3), Err(Refused::Stopped));
    assert!(directory.shown().is_none());
}
