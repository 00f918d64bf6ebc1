//! `trunkline cache` as its users meet it: memcached's options, its protocols over sockets, its end.
//!
//! Test group: waits: for servers and their clocks.

use crate::eventually::{PATIENCE, eventually};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A cache that runs, and where it said that it listens.
struct Cache {
    child: Child,
    told: Vec<String>,
}

impl Cache {
    /// Started with these options; `lines` are told before it serves.
    fn start(options: &[&str], lines: usize) -> Cache {
        let mut child = cache(options).stderr(Stdio::piped()).spawn().unwrap();
        let error = BufReader::new(child.stderr.take().unwrap());
        let (tell, told) = std::sync::mpsc::channel();
        // Goes on reading, so that the cache never waits for a full pipe.
        std::thread::spawn(move || error.lines().map_while(Result::ok).for_each(|line| _ = tell.send(line)));
        let told = (0..lines).map(|_| told.recv_timeout(PATIENCE).expect("the cache says where it listens")).collect();
        Cache { child, told }
    }

    fn address(&self, kind: &str) -> SocketAddr {
        let prefix = format!("trunkline cache: {kind} ");
        let line = self.told.iter().find_map(|line| line.strip_prefix(&prefix));
        line.unwrap_or_else(|| panic!("no {kind} in {:?}", self.told)).parse().unwrap()
    }

    fn tcp(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address("TCP")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Ended as an operator does; its exit code.
    fn end(mut self) -> Option<i32> {
        terminate(self.child.id());
        self.ended()
    }

    fn ended(&mut self) -> Option<i32> {
        let mut code = None;
        eventually("the cache ends", || {
            let status = self.child.try_wait().unwrap();
            code = status.and_then(|status| status.code());
            status.is_some()
        });
        code
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        // It has ended already where a test asked for that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn cache(options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.arg("cache").args(options).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn terminate(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
}

/// Says something, and reads as much as is expected.
fn asked(stream: &mut (impl Read + Write), request: &str, answer: &str) {
    stream.write_all(request.as_bytes()).unwrap();
    let mut got = vec![0; answer.len()];
    stream.read_exact(&mut got).unwrap_or_else(|e| panic!("{request:?}: {e}"));
    assert_eq!(String::from_utf8_lossy(&got), answer);
}

fn fails(options: &[&str], code: i32, says: &str) {
    let output: Output = cache(options).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{options:?}: {error}");
    assert!(error.contains(says), "{options:?}: no '{says}' in {error}");
}

#[test]
fn tcp_udp_and_threads_share_the_items() {
    let cache = Cache::start(&["-l", "127.0.0.1", "-p", "-1", "-U", "-1", "-t", "2", "-m", "64"], 2);
    let (mut one, mut other) = (cache.tcp(), cache.tcp());
    let value = "x".repeat(3000);
    asked(&mut one, &format!("set a 5 0 3000\r\n{value}\r\n"), "STORED\r\n");
    asked(&mut other, "get a\r\n", &format!("VALUE a 5 3000\r\n{value}\r\nEND\r\n"));
    asked(&mut other, "mn\r\nversion\r\n", "MN\r\nVERSION 1.6.18\r\n");

    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_read_timeout(Some(PATIENCE)).unwrap();
    udp.send_to(b"\x12\x34\0\0\0\x01\0\0get a\r\n", cache.address("UDP")).unwrap();
    let (mut parts, mut room) = (vec![], [0; 65_536]);
    for at in 0..3u8 {
        let octets = udp.recv(&mut room).unwrap();
        assert!(octets <= 1400);
        assert_eq!(room[..8], [0x12, 0x34, 0, at, 0, 3, 0, 0]);
        parts.extend_from_slice(&room[8..octets]);
    }
    assert_eq!(String::from_utf8(parts).unwrap(), format!("VALUE a 5 3000\r\n{value}\r\nEND\r\n"));
    assert_eq!(cache.end(), Some(0));
}

#[test]
fn what_expires_or_is_too_large_is_not_told() {
    let cache = Cache::start(&["-l", "127.0.0.1", "-p", "-1", "-I", "1k"], 1);
    let mut stream = cache.tcp();
    asked(&mut stream, "set gone 0 -1 1\r\nx\r\nget gone\r\n", "STORED\r\nEND\r\n");
    let large = "y".repeat(2000);
    let answer = "SERVER_ERROR object too large for cache\r\nEND\r\n";
    asked(&mut stream, &format!("set large 0 0 2000\r\n{large}\r\nget large\r\n"), answer);
    asked(&mut stream, "set soon 0 1 1\r\nx\r\n", "STORED\r\n");
    eventually("an item expires", || {
        let mut said = [0; 4];
        stream.write_all(b"mg soon\r\n").unwrap();
        stream.read_exact(&mut said).unwrap();
        assert!(said == *b"HD\r\n" || said == *b"EN\r\n", "{said:?}");
        said == *b"EN\r\n"
    });
}

#[test]
fn a_unix_socket_with_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let cache = Cache::start(&["-s", path.to_str().unwrap(), "-a", "750"], 1);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    asked(&mut stream, "set a 0 0 1\r\n1\r\nincr a 41\r\n", "STORED\r\n42\r\n");
    assert_eq!(cache.end(), Some(0));
    assert!(!path.exists(), "the socket is removed at the end");
}

#[test]
fn those_who_may_not_are_turned_away() {
    let cache = Cache::start(&["-l", "127.0.0.1", "-p", "-1", "-U", "-1", "--allow", "192.0.2.0/24"], 2);
    let mut stream = cache.tcp();
    let _ = stream.write_all(b"version\r\n");
    assert!(matches!(stream.read(&mut [0; 16]), Ok(0) | Err(_)), "a network that is not allowed is answered");
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    udp.send_to(b"\0\x01\0\0\0\x01\0\0version\r\n", cache.address("UDP")).unwrap();
    assert!(udp.recv(&mut [0; 64]).is_err(), "a datagram of a network that is not allowed is answered");
}

#[test]
fn one_connection_too_many_is_told_so() {
    let cache = Cache::start(&["-l", "127.0.0.1", "-p", "-1", "-c", "1"], 1);
    let mut first = cache.tcp();
    asked(&mut first, "mn\r\n", "MN\r\n");
    let mut second = cache.tcp();
    let mut said = String::new();
    second.read_to_string(&mut said).unwrap();
    assert_eq!(said, "ERROR Too many open connections\r\n");
}

#[test]
fn sign_in_and_shutdown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("accounts");
    std::fs::write(&path, "anna:secret\n").unwrap();
    let mut cache = Cache::start(&["-l", "127.0.0.1", "-p", "-1", "-A", "-Y", path.to_str().unwrap()], 1);
    let mut stream = cache.tcp();
    asked(&mut stream, "get a\r\n", "CLIENT_ERROR unauthenticated\r\n");
    asked(&mut stream, "set x 0 0 11\r\nanna secret\r\nget a\r\n", "STORED\r\nEND\r\n");
    stream.write_all(b"shutdown\r\n").unwrap();
    cache.ended();
}

#[test]
fn in_the_background_with_the_name_of_memcached() {
    let folder = tempfile::tempdir().unwrap();
    let (link, pidfile) = (folder.path().join("memcached"), folder.path().join("pid"));
    let socket = folder.path().join("socket");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_trunkline"), &link).unwrap();
    let mut command = Command::new(&link);
    command.args(["-d", "-m", "64", "-s", socket.to_str().unwrap(), "-P", pidfile.to_str().unwrap()]);
    let status = command.stdin(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert!(status.success(), "{status}");
    // It listens when the command ends.
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    asked(&mut stream, "version\r\n", "VERSION 1.6.18\r\n");
    let pid: u32 = std::fs::read_to_string(&pidfile).unwrap().trim().parse().unwrap();
    terminate(pid);
    eventually("the cache behind ends", || std::fs::read_link(format!("/proc/{pid}/exe")).is_err());
    assert!(!pidfile.exists(), "its file is removed");
}

/// libmemcached's own test of servers, over the text and the binary protocol.
#[test]
fn memccapable_passes() {
    let cache = Cache::start(&["-l", "127.0.0.1", "-p", "-1"], 1);
    let port = cache.address("TCP").port().to_string();
    let output = match Command::new("memccapable").args(["-h", "127.0.0.1", "-p", &port]).output() {
        Ok(output) => output,
        Err(e) => return eprintln!("SKIPPED: memccapable: {e}"),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("All tests passed"), "{said}");
    assert!(said.lines().filter(|line| line.contains("[pass]")).count() > 50, "{said}");
}

#[test]
fn wrong_options_say_where() {
    fails(&["-p", "0"], 2, "nothing to listen to");
    fails(&["-p", "70000"], 2, "-p 70000: a port is 1 to 65535");
    fails(&["-I", "2000m"], 2, "1k to 1024m");
    fails(&["-m", "64", "-I", "65m"], 2, "an item cannot be larger than all of the memory");
    fails(&["-o", "idle_timeot=3"], 2, "did you mean 'idle_timeout'?");
    fails(&["-Z"], 2, "ssl_chain_cert");
    fails(&["-S"], 2, "unexpected argument '-S'");
    fails(&["-Y", "/nowhere/at/all"], 1, "/nowhere/at/all");
    // Only root becomes somebody else; for others the name means nothing.
    if rustix::process::geteuid().is_root() {
        let says = "there is no user 'nobody-of-that-name'";
        fails(&["-u", "nobody-of-that-name", "-l", "127.0.0.1", "-p", "-1"], 1, says);
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    fails(&["-l", "127.0.0.1", "-p", &port], 1, "Another program listens there");
}
