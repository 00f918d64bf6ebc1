//! Stopping while there is something to do.

use std::io::Read as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use trunkline_net::Limits;

use crate::speaker::{PATIENCE, World, eventually, options, pattern};

#[test]
fn what_was_said_goes_out_before_the_end() {
    let mut world = World::tcp(options(2, Limits::default()));
    let mut busy = world.client();
    busy.say(&format!("big {}\n", 20 << 20));
    let mut idle = world.client();
    assert_eq!(idle.ask("echo 1"), "1\n");
    eventually("stuck", || world.server.counts().stuck > 0);
    world.server.stop();
    assert_eq!(idle.rest(), b"farewell\n");
    let (mut at, mut buffer) = (0, vec![0; 1 << 16]);
    let mut all = Vec::new();
    while let Ok(got @ 1..) = busy.0.read(&mut buffer) {
        all.extend_from_slice(&buffer[..got]);
        at += got;
    }
    assert_eq!(at, (20 << 20) + "farewell\n".len());
    assert!(all[..20 << 20].iter().enumerate().all(|(n, o)| *o == pattern(n)));
    world.server.join().expect("ended well");
    world.adds_up();
    assert_eq!(world.server.counts().closed_stopped, 2);
    assert!(TcpStream::connect(world.address()).is_err());
    assert!(world.waker.to_thread(0, String::new()).is_err());
}

#[test]
fn who_does_not_read_keeps_it_for_so_long_only() {
    let mut world = World::tcp(options(1, Limits { stop: Duration::from_millis(700), ..Limits::default() }));
    let mut stalled = world.client();
    stalled.say(&format!("big {}\n", 64 << 20));
    let mut spinner = world.client();
    spinner.say("spin\n");
    eventually("stuck", || world.server.counts().stuck > 0 && world.server.counts().yields > 0);
    let before = Instant::now();
    world.server.stop();
    world.server.join().expect("ended well");
    let took = before.elapsed();
    assert!(took >= Duration::from_millis(500) && took < PATIENCE, "{took:?}");
    world.adds_up();
    assert_eq!(world.server.gauges().connections, 0.0);
}

#[test]
fn dropped_it_is_stopped() {
    let world = World::tcp(options(1, Limits::default()));
    let mut client = world.client();
    assert_eq!(client.ask("echo 1"), "1\n");
    drop(world);
    assert_eq!(client.rest(), b"farewell\n");
}
