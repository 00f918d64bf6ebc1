//! Clients that do what they should not: sums must hold, and those who behave must be served.

use std::io::Write as _;
use std::net::TcpStream;

use rustix::net::sockopt;
use trunkline_net::{Full, Limits};

use crate::speaker::{World, eventually, options};

/// Closes with a reset in place of an end.
fn vanish(stream: TcpStream) {
    sockopt::set_socket_linger(&stream, Some(std::time::Duration::ZERO)).expect("linger");
    drop(stream);
}

/// One that misbehaves, in one of five ways.
fn misbehave(address: std::net::SocketAddr, way: u32) {
    let Ok(mut stream) = TcpStream::connect(address) else { return };
    let octets: Vec<u8> = (0..way % 5000).map(|n| ((n * way) >> 3) as u8).collect();
    // The other side may have refused it, or closed it before all is written.
    match way % 5 {
        0 => drop(stream),
        1 => vanish(stream),
        2 => {
            let _ = stream.write_all(&octets);
            vanish(stream);
        }
        3 => {
            let _ = stream.write_all(b"big 10000000\necho x\n");
            vanish(stream);
        }
        _ => {
            let _ = stream.write_all(&octets);
        }
    }
}

#[test]
fn clients_that_vanish_leave_nothing_behind() {
    let full = Full::Refuse(b"full\n".to_vec());
    let limits = Limits { connections: 40, full, connections_per_address: Some(38), ..Limits::default() };
    let world = World::tcp(options(3, limits));
    let mut good = world.client();
    assert_eq!(good.ask("echo 0"), "0\n");
    let address = world.address();
    let crowds: Vec<_> = (0..4u32)
        .map(|crowd| std::thread::spawn(move || (0..1500).for_each(|n| misbehave(address, crowd * 7919 + n))))
        .collect();
    for n in 0..2000 {
        assert_eq!(good.ask(&format!("echo {n}")), format!("{n}\n"));
    }
    crowds.into_iter().for_each(|c| c.join().expect("it ran"));
    eventually("all are gone", || world.server.gauges().connections == 1.0);
    world.adds_up();
    let counts = world.server.counts();
    assert!(counts.accepted + counts.accept_errors > 5000, "{}", counts.accepted);
    assert!(counts.closed_failed > 0 && counts.closed_peer > 0);
    eventually("nothing is held", || world.server.gauges().held_octets == 0.0);
    let closed = world.seen.causes.lock().expect("lock").len() as u64;
    eventually("counted", || world.server.counts().closed_in_all() == closed);
}
