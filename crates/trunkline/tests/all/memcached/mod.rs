//! memcached itself, for tests that compare with it or put it behind something.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);
/// Ports that are tried: between a look for a free one and memcached, another test may get it.
const TRIES: usize = 9;
/// Where free ports are looked for: above those of well-known services' usual second servers, below the kernel's own.
const FIRST_PORT: u32 = 14_000;
const PORTS: u32 = 18_000;

/// On loopback, at a port that was free, with so much memory (MiB), by UDP too if asked for: the process and its
/// address; none where it is not installed. Who takes it ends it.
pub fn start(memory_mib: &str, udp: bool) -> Option<(Child, String)> {
    (0..TRIES).find_map(|_| start_at(&free_port(), memory_mib, udp))
}

/// The same at a port; none, too, if somebody else has it.
#[expect(clippy::disallowed_methods, reason = "memcached does not say when it listens")]
pub fn start_at(port: &str, memory_mib: &str, udp: bool) -> Option<(Child, String)> {
    let mut command = Command::new("memcached");
    command.args(["-u", "root", "-l", "127.0.0.1", "-p", port, "-U", if udp { port } else { "0" }, "-m", memory_mib]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let (address, until) = (format!("127.0.0.1:{port}"), Instant::now() + PATIENCE);
    while TcpStream::connect(&address).is_err() {
        assert!(Instant::now() < until, "memcached does not listen");
        if child.try_wait().is_ok_and(|ended| ended.is_some()) {
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    if answers(&address, child.id()) {
        return Some((child, address));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// Bound and let go: free a moment ago. Below those that the kernel gives to connections, which could else have it when
/// a server that was ended is to come back there.
pub fn free_port() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let at = || std::process::id().wrapping_mul(97).wrapping_add(NEXT.fetch_add(1, Relaxed)) % PORTS;
    let port = std::iter::repeat_with(|| FIRST_PORT + at()).find(|port| free(*port));
    port.expect("there is one").to_string()
}

fn free(port: u32) -> bool {
    TcpListener::bind(format!("127.0.0.1:{port}")).is_ok()
}

/// Whether it is this process that answers at the address.
fn answers(address: &str, pid: u32) -> bool {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"stats\r\n").unwrap();
    let own = format!("STAT pid {pid}");
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.take_while(|line| line != "END").any(|line| line == own)
}
