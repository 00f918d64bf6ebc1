//! Ports of this machine: open, closed and silent ones.

use crate::probes::world::{once, probing, real, see, source, target};
use std::net::{TcpListener, UdpSocket};
use std::time::Duration;
use trunkline_graph::inventory::Probe;
use trunkline_graph::poller::{Change, Reading, Unknown};
use trunkline_graph::probe::{Check, Event};

const READS: [&str; 3] = ["up", "reached", "time"];
const TIMEOUT: Duration = Duration::from_millis(500);

fn tcp(port: u16) -> Check {
    Check::Tcp { port, timeout: TIMEOUT }
}

fn udp(port: u16, request: &[u8]) -> Check {
    Check::Udp { port, request: request.to_vec(), timeout: TIMEOUT }
}

#[test]
fn connections_are_taken_refused_or_not_answered() {
    let open = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = open.local_addr().unwrap().port();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let seen = once(vec![source(10, 60, tcp(port), &READS), source(11, 60, tcp(closed), &READS)]);
    let [one, zero] = [1, 0].map(Reading::Integer);
    assert_eq!(seen.of(10)[0][..2], [one, one]);
    assert!((0.0..0.5).contains(&real(seen.of(10)[0][2])));
    assert_eq!(seen.of(11)[0], [zero, one, Reading::Unknown(Unknown::Timeout)]);
    assert_eq!(seen.fault(11), Some("refused"));
    // It was connected to, and let go.
    let (mut stream, _) = open.accept().unwrap();
    assert_eq!(std::io::Read::read(&mut stream, &mut [0; 1]).unwrap(), 0);
}

#[test]
fn datagrams_are_answered_refused_or_lost() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let answering = server.try_clone().unwrap();
    let thread = std::thread::spawn(move || {
        let mut octets = [0; 100];
        let (length, from) = answering.recv_from(&mut octets).unwrap();
        answering.send_to(b"200 OK", from).unwrap();
        octets[..length].to_vec()
    });
    let port = |socket: &UdpSocket| socket.local_addr().unwrap().port();
    let seen = once(vec![
        source(10, 60, udp(port(&server), b"OPTIONS\r\n"), &READS),
        source(11, 60, udp(closed, b""), &READS),
        source(12, 60, udp(port(&silent), b""), &READS),
    ]);
    assert_eq!(thread.join().unwrap(), b"OPTIONS\r\n");
    let [one, zero] = [1, 0].map(Reading::Integer);
    let unknown = Reading::Unknown(Unknown::Timeout);
    assert_eq!(seen.of(10)[0][..2], [one, one]);
    assert_eq!(seen.of(11)[0], [zero, one, unknown]);
    assert_eq!(seen.of(12)[0], [zero, zero, unknown]);
    let mut octets = [1; 4];
    assert_eq!((silent.recv(&mut octets).unwrap(), octets[0]), (1, 0));
}

#[test]
fn a_device_is_down_when_its_port_is_silent_and_up_again_when_it_is_not() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let mut probing = probing();
    let mut device = target(1, "127.0.0.1", &[Probe::Udp { port }], vec![]);
    (device.availability.timeout_ms, device.availability.retries) = (100, 1);
    probing.add(device).unwrap();
    let is = |wanted: Change| {
        move |event: &Event| match event {
            Event::Health { device: 1, change, .. } => *change == wanted,
            _ => false,
        }
    };
    see(&mut probing, |seen| seen.events.iter().any(is(Change::Down)));
    assert!(probing.standing(1).unwrap().health.is_down());
    // A port that nobody is at says so: the device is there.
    drop(silent);
    see(&mut probing, |seen| seen.events.iter().any(is(Change::Up)));
}
