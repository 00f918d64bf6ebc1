//! What is refused, closed and counted.
//!
//! Test group: waits: for clients that are given up.

use std::io::Write as _;
use std::time::Duration;

use trunkline_net::{Cause, Full, Limits, Listen, Networks, Options, start};

use crate::speaker::{Client, Seen, Speaker, World, eventually, options, tcp};

#[test]
fn one_too_many_is_told_and_closed() {
    let limits = Limits { connections: 2, full: Full::Refuse(b"ERROR too many\r\n".to_vec()), ..Limits::default() };
    let world = World::tcp(options(2, limits));
    let (mut first, mut second) = (world.client(), world.client());
    assert_eq!((first.ask("echo 1"), second.ask("echo 2")), ("1\n".to_owned(), "2\n".to_owned()));
    let mut third = world.client();
    third.say("echo 3\n");
    assert_eq!(third.rest(), b"ERROR too many\r\n");
    drop(first);
    eventually("room", || world.server.gauges().connections < 2.0);
    assert_eq!(world.client().ask("echo 4"), "4\n");
    eventually("refused", || world.server.counts().refused_full == 1);
    world.adds_up();
}

#[test]
fn one_too_many_waits_for_room() {
    let limits = Limits { connections: 3, full: Full::Wait, ..Limits::default() };
    let world = World::tcp(options(3, limits));
    let mut clients: Vec<Client> = (0..3).map(|_| world.client()).collect();
    clients.iter_mut().for_each(|c| assert_eq!(c.ask("echo 1"), "1\n"));
    let mut waiting: Vec<Client> = (0..20).map(|_| world.client()).collect();
    waiting.iter_mut().for_each(|c| c.say("echo 2\n"));
    assert!(world.server.gauges().connections <= 3.0);
    while let Some(mut served) = clients.pop() {
        served.say("close\n");
        assert_eq!(served.line(), "bye\n");
        assert!(world.server.gauges().connections <= 3.0);
    }
    // Which of them comes in first is the kernel's to say: each is read by a thread of its own.
    let readers: Vec<_> = waiting
        .into_iter()
        .map(|mut client| {
            std::thread::spawn(move || {
                assert_eq!(client.line(), "2\n");
            })
        })
        .collect();
    readers.into_iter().for_each(|r| r.join().expect("served in the end"));
    eventually("pauses", || world.server.counts().accept_pauses > 0);
    assert_eq!(world.server.counts().refused(), 0);
    world.adds_up();
}

#[test]
fn an_address_has_its_own_limit() {
    let full = Full::Refuse(b"no\n".to_vec());
    let limits = Limits { connections_per_address: Some(2), full, ..Limits::default() };
    let world = World::tcp(options(2, limits));
    let mut clients = [world.client(), world.client()];
    clients.iter_mut().for_each(|c| assert_eq!(c.ask("echo 1"), "1\n"));
    assert_eq!(world.client().rest(), b"no\n");
    drop(clients);
    eventually("closed", || world.server.gauges().connections == 0.0);
    assert_eq!(world.client().ask("echo 2"), "2\n");
    eventually("counted", || world.server.counts().refused_address == 1);
}

#[test]
fn networks_that_are_not_allowed_get_no_word() {
    let networks = Networks::only(vec!["10.0.0.0/8".parse().expect("a network")]);
    let world = World::tcp(Options { tcp_networks: networks, ..options(1, Limits::default()) });
    assert!(world.client().rest().is_empty());
    eventually("refused", || world.server.counts().refused_network == 1);
    assert!(world.seen.ids.lock().expect("lock").is_empty());
    world.adds_up();
}

#[test]
fn who_is_idle_for_too_long_is_closed() {
    let limits = Limits { idle: Some(Duration::from_secs(2)), ..Limits::default() };
    let world = World::tcp(options(1, limits));
    let mut busy = world.client();
    // Twice as long as it could be idle.
    for closed in 1..=2 {
        let mut idle = world.client();
        eventually("the idle one is closed", || {
            assert_eq!(busy.ask("echo 1"), "1\n");
            world.server.counts().closed_idle == closed
        });
        assert!(idle.rest().is_empty());
        world.saw(Cause::Idle);
    }
    assert_eq!(busy.ask("echo 2"), "2\n");
}

#[test]
fn who_does_not_read_is_closed() {
    let limits = Limits { stalled: Duration::from_secs(1), ..Limits::default() };
    let world = World::tcp(options(1, limits));
    let (mut stalled, mut idle) = (world.client(), world.client());
    stalled.say(&format!("big {}\n", 64 << 20));
    world.saw(Cause::Stalled);
    eventually("nothing held", || world.server.gauges().held_octets == 0.0);
    assert_eq!(idle.ask("echo 1"), "1\n");
    assert!(stalled.rest().len() < 64 << 20);
}

#[test]
fn a_line_without_end_is_closed() {
    let world = World::tcp(options(1, Limits { carried_octets: 100_000, ..Limits::default() }));
    let mut client = world.client();
    client.say(&format!("echo {}\n", "x".repeat(90_000)));
    assert_eq!(client.line().len(), 90_001);
    // The other side closes while this is written.
    let _ = client.0.get_mut().write_all(&vec![b'y'; 300_000]);
    world.saw(Cause::Input);
    eventually("counted", || world.server.counts().closed_input == 1);
    eventually("nothing held", || world.server.gauges().held_octets == 0.0);
}

#[test]
fn a_service_that_says_too_much_loses_the_connection() {
    let world = World::tcp(options(1, Limits { output_octets: 10_000, ..Limits::default() }));
    let mut client = world.client();
    client.say("flood 10000\n");
    assert_eq!(client.0.get_ref().peer_addr().expect("address"), world.address());
    client.say("flood 10001\n");
    assert_eq!(client.rest(), vec![b'x'; 10_000]);
    world.saw(Cause::Output);
}

#[test]
fn what_all_hold_together_is_limited() {
    let limits = Limits { held_octets: 300_000, output_octets: 100_000, ..Limits::default() };
    let world = World::tcp(options(1, limits));
    let mut clients: Vec<Client> = (0..40).map(|_| world.client()).collect();
    // How much of an answer the kernel leaves here is its matter: another share of each, so that not all are little.
    for (at, client) in clients.iter_mut().enumerate() {
        client.say(&format!("big {}\nbig {}\n", at * 7919, 64 << 20));
    }
    world.saw(Cause::Memory);
    assert!(world.server.gauges().held_octets <= 300_000.0);
    clients.drain(..);
    world.adds_up();
}

#[test]
fn what_cannot_be_opened_is_said_with_its_place() {
    let world = World::tcp(options(2, Limits::default()));
    let again = [Listen::Tcp { address: world.address(), tls: None }];
    let factory = |seat| Speaker::new(seat, Seen::default(), 1);
    let error = start(&again, options(1, Limits::default()), factory).err().expect("in use").to_string();
    assert!(error.contains(&world.address().to_string()) && error.contains("ss -ltnp"), "{error}");
    assert!(start(&[tcp()], options(0, Limits::default()), factory).is_err());
}

#[test]
fn a_service_that_panics_ends_its_thread_alone() {
    let mut world = World::tcp(options(2, Limits::default()));
    let mut clients: Vec<Client> = (0..8).map(|_| world.client()).collect();
    clients.iter_mut().for_each(|c| assert_eq!(c.ask("echo 1"), "1\n"));
    clients[0].say("panic\n");
    assert!(clients[0].rest().is_empty());
    let threads = world.seen.threads.lock().expect("lock").clone();
    let survivors = threads.iter().filter(|t| **t != threads[0]).count();
    let mut alive = 0;
    for client in clients.iter_mut().skip(1) {
        let said = client.0.get_mut().write_all(b"echo 2\n").is_ok();
        alive += usize::from(said && client.rest_of_line() == "2\n");
    }
    assert_eq!(alive, survivors);
    world.server.stop();
    assert_eq!(world.server.join().expect_err("one failed").0, 1);
}
