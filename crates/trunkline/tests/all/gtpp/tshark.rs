//! What tshark makes of what a node and its gateways say: a relay between them notes it.

use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use trunkline_wire::pcap::emit;

const RAW_IP: u16 = 101;
const PORT: u16 = 3386;

/// Datagrams of both directions: whether the gateway sent it.
type Said = Arc<Mutex<Vec<(bool, Vec<u8>)>>>;

/// Between one socket of a gateway and a node.
pub struct Relay {
    pub address: String,
    said: Said,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    pub fn new(node: &str) -> Relay {
        let near = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = near.local_addr().unwrap().to_string();
        let (said, ends) = (Said::default(), Arc::new(AtomicBool::new(false)));
        let (own, over, node) = (Arc::clone(&said), Arc::clone(&ends), node.parse().unwrap());
        let thread = std::thread::spawn(move || relay(&near, node, &own, &over));
        Relay { address, said, ends, thread: Some(thread) }
    }

    /// All that was said.
    pub fn finish(mut self) -> Vec<(bool, Vec<u8>)> {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
        std::mem::take(&mut self.said.lock().unwrap())
    }
}

fn relay(near: &UdpSocket, node: SocketAddr, said: &Said, ends: &AtomicBool) {
    let far = UdpSocket::bind("127.0.0.1:0").unwrap();
    far.connect(node).unwrap();
    for socket in [near, &far] {
        socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    }
    let (mut gateway, mut room) = (None, vec![0; 65_536]);
    while !ends.load(Ordering::Relaxed) {
        if let Ok((octets, from)) = near.recv_from(&mut room) {
            gateway = Some(from);
            said.lock().unwrap().push((true, room[..octets].to_vec()));
            far.send(&room[..octets]).unwrap();
        }
        if let (Ok(octets), Some(gateway)) = (far.recv(&mut room), gateway) {
            said.lock().unwrap().push((false, room[..octets].to_vec()));
            near.send_to(&room[..octets], gateway).unwrap();
        }
    }
}

/// An IPv4 packet without checksums, whose UDP datagram has the message.
fn packet(by_gateway: bool, octets: &[u8]) -> Vec<u8> {
    let (from, to) = if by_gateway { (40_000, PORT) } else { (PORT, 40_000) };
    let mut packet = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1];
    packet[2..4].copy_from_slice(&((28 + octets.len()) as u16).to_be_bytes());
    for word in [from, to, (8 + octets.len()) as u16, 0] {
        packet.extend_from_slice(&word.to_be_bytes());
    }
    packet.extend_from_slice(octets);
    packet
}

/// Of each message its type, and what tshark finds malformed in it.
pub fn decoded(said: &[(bool, Vec<u8>)]) -> Vec<(u8, String)> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gtpp.pcap");
    let mut octets = Vec::new();
    emit::header(&mut octets, RAW_IP, 65_535);
    for (at, (by_gateway, message)) in said.iter().enumerate() {
        let packet = packet(*by_gateway, message);
        emit::record(&mut octets, at as i64 * 1_000_000, packet.len() as u32, &packet);
    }
    std::fs::write(&file, octets).unwrap();
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&file).args(["-T", "fields", "-E", "separator=|"]);
    command.args(["-e", "gtp.message", "-e", "_ws.malformed", "-e", "_ws.expert.message"]);
    let done = command.output().expect("tshark");
    assert!(done.status.success(), "tshark: {}", String::from_utf8_lossy(&done.stderr));
    let lines = String::from_utf8_lossy(&done.stdout).into_owned();
    let read = |line: &str| {
        let (kind, rest) = line.split_once('|').unwrap();
        let digits = kind.trim_start_matches("0x");
        let kind = if kind == digits { kind.parse() } else { u8::from_str_radix(digits, 16) };
        (kind.unwrap_or_else(|_| panic!("not one message of GTP': {line}")), rest.trim_matches('|').to_owned())
    };
    lines.lines().map(read).collect()
}
