//! memcached itself, for tests that compare with it or put it behind something.

use crate::eventually::{PATIENCE, awaited};
use crate::ports;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// Ports that are tried: between a look for a free one and memcached, another test may get it.
const TRIES: usize = 9;

/// On loopback, at a port that was free, with so much memory (MiB), by UDP too if asked for: the process and its
/// address; none where it is not installed. Who takes it ends it.
pub fn start(memory_mib: &str, udp: bool) -> Option<(Child, String)> {
    (0..TRIES).find_map(|_| start_at(&free_port(), memory_mib, udp))
}

/// The same at a port; none, too, if somebody else has it.
pub fn start_at(port: &str, memory_mib: &str, udp: bool) -> Option<(Child, String)> {
    let mut command = Command::new("memcached");
    command.args(["-u", "root", "-l", "127.0.0.1", "-p", port, "-U", if udp { port } else { "0" }, "-m", memory_mib]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let address = format!("127.0.0.1:{port}");
    let listens = awaited("memcached listens, or has ended", || match TcpStream::connect(&address) {
        Ok(_) => Ok(true),
        Err(_) if child.try_wait().is_ok_and(|ended| ended.is_some()) => Ok(false),
        Err(why) => Err(why),
    });
    if !listens {
        return None;
    }
    if answers(&address, child.id()) {
        return Some((child, address));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// A port that no other test gets.
pub fn free_port() -> String {
    ports::free_port().to_string()
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
