//! Ports for programs that cannot be told to take any free one and say which, and for servers that end and come back at
//! the port they had. The tests of all crates take this file in by its path.
#![allow(dead_code, reason = "each crate takes what it needs")]

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Mutex;

/// Above the ports that servers usually have, below those that the kernel gives to connections: such a connection could
/// else have the port when a server comes back to it.
const FIRST_PORT: u32 = 14_000;
const PORTS: u32 = 18_000;

/// What keeps other tests from the ports that this process got.
static HELD: Mutex<Vec<UnixListener>> = Mutex::new(Vec::new());

/// A port of loopback, free for TCP and UDP, that no other test gets while this process runs.
pub fn free_port() -> u16 {
    let first = std::process::id().wrapping_mul(97) % PORTS;
    let mut ports = (0..PORTS).filter_map(|step| u16::try_from(FIRST_PORT + (first + step) % PORTS).ok());
    let (port, held) = ports.find_map(|port| Some((port, hold(port)?))).expect("one of them is free");
    HELD.lock().expect("no panic").push(held);
    port
}

/// Holds a port back from other tests: a name without a file (unix(7)), which goes with the process; none if another
/// test has it, or the port is not free.
fn hold(port: u16) -> Option<UnixListener> {
    let name = SocketAddr::from_abstract_name(format!("trunkline-test-port-{port}")).ok()?;
    let held = UnixListener::bind_addr(&name).ok()?;
    let at = (Ipv4Addr::LOCALHOST, port);
    (TcpListener::bind(at).is_ok() && UdpSocket::bind(at).is_ok()).then_some(held)
}
