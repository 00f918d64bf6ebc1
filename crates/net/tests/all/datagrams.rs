//! Datagrams in, numbered datagrams out.

use std::net::{SocketAddr, UdpSocket};

use trunkline_net::{Limits, Listen, Networks, Options};

use crate::speaker::{PATIENCE, World, eventually, options, pattern};

fn udp(address: &str) -> Listen {
    Listen::Udp { address: address.parse().expect("address") }
}

fn client(address: SocketAddr) -> UdpSocket {
    let any = if address.is_ipv6() { "[::1]:0" } else { "127.0.0.1:0" };
    let socket = UdpSocket::bind(any).expect("socket");
    rustix::net::sockopt::set_socket_recv_buffer_size(&socket, 1 << 22).expect("set");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket.connect(address).expect("connected");
    socket
}

/// Asks for so many octets and puts them together; how many datagrams it took.
fn ask_big(client: &UdpSocket, octets: usize, most: usize) -> usize {
    client.send(format!("big {octets} {most}").as_bytes()).expect("sent");
    let (mut parts, mut buffer) = (Vec::<Vec<u8>>::new(), vec![0; 70_000]);
    loop {
        let got = client.recv(&mut buffer).expect("a datagram");
        let number = usize::from(u16::from_be_bytes([buffer[2], buffer[3]]));
        let total = usize::from(u16::from_be_bytes([buffer[4], buffer[5]]));
        assert!(got <= most && got >= 8, "{got} octets");
        parts.resize(total, Vec::new());
        assert!(parts[number].is_empty());
        parts[number] = buffer[8..got].to_vec();
        if parts.iter().all(|p| !p.is_empty()) || total == 1 {
            break;
        }
    }
    let all = parts.concat();
    assert!(all.len() == octets && all.iter().enumerate().all(|(n, o)| *o == pattern(n)));
    parts.len()
}

fn replies_of_all_lengths(address: &str, segmentation: bool) -> u64 {
    let options = Options { segmentation, ..options(2, Limits::default()) };
    let world = World::start(&[udp(address)], options);
    let bound = world.address();
    let to =
        if bound.ip().is_unspecified() { format!("127.0.0.5:{}", bound.port()).parse().expect("it") } else { bound };
    let client = client(to);
    let mut datagrams = 0;
    for octets in [0, 1, 1391, 1392, 1393, 2784, 2785, 10_000, 64_032, 64_033, 65_000, 200_000] {
        datagrams += ask_big(&client, octets, 1400);
    }
    datagrams += ask_big(&client, 65_000, 65_507);
    datagrams += ask_big(&client, 1000, 9);
    eventually("all are counted", || world.server.counts().replies == datagrams as u64);
    assert_eq!(world.server.counts().replies_failed, 0);
    world.server.counts().reply_writes
}

#[test]
fn replies_of_all_lengths_are_whole() {
    let with = replies_of_all_lengths("127.0.0.1:0", true);
    let without = replies_of_all_lengths("127.0.0.1:0", false);
    assert!(with <= 14 + 16, "{with} calls");
    assert!(without > with, "{without} calls");
    replies_of_all_lengths("[::1]:0", true);
    // From the address that was asked, though the socket has all of them: a connected client takes no other.
    replies_of_all_lengths("0.0.0.0:0", true);
}

#[test]
fn many_clients_get_their_own_answers() {
    let world = World::start(&[udp("127.0.0.1:0")], options(2, Limits::default()));
    let address = world.address();
    let clients: Vec<_> = (0..8)
        .map(|number| {
            std::thread::spawn(move || {
                let client = client(address);
                let mut buffer = [0; 64];
                for round in 0..200 {
                    let all: Vec<String> = (0..16).map(|n| format!("{number} {round} {n} x")).collect();
                    all.iter().for_each(|text| assert_eq!(client.send(text.as_bytes()).expect("sent"), text.len()));
                    for text in &all {
                        let got = client.recv(&mut buffer).expect("a reply");
                        assert_eq!(&buffer[..got], text.as_bytes());
                    }
                }
            })
        })
        .collect();
    clients.into_iter().for_each(|c| c.join().expect("all came"));
    eventually("counted", || world.server.counts().replies == 8 * 200 * 16);
    let counts = world.server.counts();
    assert!(counts.datagrams == counts.replies && counts.datagram_octets == counts.reply_octets);
}

#[test]
fn a_reply_may_come_later_from_another_thread() {
    let world = World::start(&[udp("127.0.0.1:0"), udp("[::1]:0")], options(2, Limits::default()));
    for address in world.server.addresses().iter().flatten() {
        let client = client(*address);
        client.send(b"later hello").expect("sent");
        let mut buffer = [0; 16];
        let got = client.recv(&mut buffer).expect("a reply");
        assert_eq!(&buffer[..got], b"hello");
    }
}

#[test]
fn other_networks_and_long_datagrams_are_dropped_and_counted() {
    let networks = Networks::only(vec!["127.0.0.1/32".parse().expect("a network")]);
    let limits = Limits { datagram_octets: 100, ..Limits::default() };
    let world = World::start(&[udp("127.0.0.1:0")], Options { udp_networks: networks, ..options(1, limits) });
    let stranger = UdpSocket::bind("127.0.0.2:0").expect("socket");
    stranger.send_to(b"hello", world.address()).expect("sent");
    let client = client(world.address());
    client.send(&[b'x'; 101]).expect("sent");
    client.send(&[b'x'; 100]).expect("sent");
    let mut buffer = [0; 200];
    assert_eq!(client.recv(&mut buffer).expect("a reply"), 100);
    eventually("counted", || world.server.counts().datagrams == 3);
    let counts = world.server.counts();
    assert_eq!((counts.datagrams_refused, counts.datagrams_truncated, counts.replies), (1, 1, 1));
}

#[test]
fn a_reply_to_nowhere_or_too_long_is_counted() {
    let world = World::start(&[udp("127.0.0.1:0")], options(1, Limits::default()));
    let client = client(world.address());
    client.send(format!("big {} 1400", 100 << 20).as_bytes()).expect("sent");
    eventually("too long", || world.server.counts().replies_too_long == 1);
    // Port 0 is nobody's.
    let nowhere = UdpSocket::bind("127.0.0.1:0").expect("socket");
    nowhere.send_to(b"later x", world.address()).expect("sent");
    eventually("seen", || world.server.counts().replies == 1);
    let mut peer = world.seen.peers.lock().expect("lock");
    peer[0].address.set_port(0);
    drop(peer);
    world.waker.to_thread(0, "0 y".to_owned()).expect("room");
    eventually("failed", || world.server.counts().replies_failed == 1);
}

#[test]
fn what_the_kernel_drops_is_counted() {
    let limits = Limits { udp_buffer_octets: 4096, ..Limits::default() };
    let world = World::start(&[udp("127.0.0.1:0")], options(1, limits));
    let client = client(world.address());
    client.set_nonblocking(true).expect("set");
    let mut sent = 0;
    // Its thread is busy with long replies while more comes than its buffer holds.
    eventually("overflow", || {
        for _ in 0..200 {
            sent += u64::from(client.send(b"big 60000 1400").is_ok());
        }
        world.server.counts().datagrams_overflow > 0
    });
    eventually("sums", || {
        let counts = world.server.counts();
        counts.datagrams + counts.datagrams_overflow == sent
    });
}
