//! Echo requests: the kernel's own answers, and those of a responder whose delay and loss are known.

use crate::probes::world::{probing, real, see, source, target};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use trunkline_graph::inventory::Probe;
use trunkline_graph::job::EchoRight;
use trunkline_graph::poller::{Change, Reading, Unknown};
use trunkline_graph::probe::{Check, Event};

const READS: [&str; 5] = ["loss", "rtt-min", "rtt-mean", "rtt-max", "answered"];
/// Says to a test which part of it is to be run here.
const PART: &str = "TRUNKLINE_TEST_PART";

fn icmp(count: u32) -> Check {
    Check::Icmp { count, timeout: Duration::from_secs(1) }
}

/// The kernel answers on this machine.
fn kernel_answers(v4: bool) {
    let mut probing = probing();
    let right = probing.rights()[usize::from(!v4)].map_err(str::to_owned);
    let address = if v4 { "127.0.0.1" } else { "::1" };
    if let Err(why) = right {
        eprintln!("SKIPPED: {why}");
        return;
    }
    if !v4 && std::net::UdpSocket::bind("[::1]:0").is_err() {
        eprintln!("SKIPPED: there is no IPv6");
        return;
    }
    probing.add(target(1, address, &[Probe::Icmp {}], vec![source(10, 2, icmp(5), &READS)])).unwrap();
    let up = |event: &Event| matches!(event, Event::Health { device: 1, change: Change::Up, .. });
    let seen = see(&mut probing, |seen| !seen.of(10).is_empty() && seen.events.iter().any(up));
    let readings = seen.of(10)[0];
    assert_eq!((readings[0], readings[4]), (Reading::Real(0.0), Reading::Integer(5)));
    assert!(
        real(readings[1]) > 0.0 && real(readings[1]) <= real(readings[2]) && real(readings[2]) <= real(readings[3])
    );
    assert!(real(readings[3]) < 1.0);
}

#[test]
fn the_kernel_answers_over_ipv4() {
    kernel_answers(true);
}

#[test]
fn the_kernel_answers_over_ipv6() {
    kernel_answers(false);
}

/// A network namespace of the test's own.
struct Network(String);

impl Network {
    /// None, loudly, where they cannot be made.
    fn new(name: &str) -> Option<Network> {
        let name = format!("tl-{name}-{}", std::process::id());
        let made = Command::new("ip").args(["netns", "add", &name]).stderr(Stdio::null()).status();
        if !made.is_ok_and(|made| made.success()) || !Path::new("/usr/bin/python3").exists() {
            eprintln!("SKIPPED: no network namespace can be made here, or there is no python3");
            return None;
        }
        let network = Network(name);
        network.run("ip link set lo up");
        Some(network)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0]).args(words);
        command
    }

    fn run(&self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        assert!(self.command(&words).status().unwrap().success(), "{line}");
    }

    /// Sets which groups may open sockets of datagrams for ICMP.
    fn groups(&self, range: &str) {
        let set = format!("echo {range} > /proc/sys/net/ipv4/ping_group_range");
        assert!(self.command(&["sh", "-c", &set]).status().unwrap().success());
    }

    /// Runs a part of this test here.
    fn part(&self, before: &[&str], test: &str, part: &str) {
        let this = std::env::current_exe().unwrap();
        let words = [before, &[this.to_str().unwrap(), test, "--exact", "--nocapture"]].concat();
        let ran = self.command(&words).env(PART, part).output().unwrap();
        let said = [ran.stdout, ran.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(ran.status.success() && said.contains("1 passed"), "{said}");
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _gone = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

struct Responder(Child);

impl Drop for Responder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Answers echo requests in the kernel's place 50 ms later, and of 127.0.0.2 four of five; the answers of 127.0.0.3
/// come from 127.0.0.4, those of 127.0.0.5 twice.
const RESPONDER: &str = r#"
import heapq, select, socket, struct, time
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
s.setsockopt(socket.IPPROTO_IP, socket.IP_HDRINCL, 1)
def summed(b):
    t = sum(struct.unpack('!%dH' % (len(b) // 2), b))
    t = (t & 0xffff) + (t >> 16)
    return ~((t & 0xffff) + (t >> 16)) & 0xffff
waiting, count = [], 0
print('ready', flush=True)
while True:
    r, _, _ = select.select([s], [], [], max(0, waiting[0][0] - time.monotonic()) if waiting else None)
    if r:
        packet = s.recv(2048)
        head, message = packet[:20], packet[20:]
        if message[0] != 8: continue
        source, to = head[12:16], head[16:20]
        if to[3] == 2:
            count += 1
            if count % 5 == 0: continue
        body = b'\0\0\0\0' + message[4:]
        body = b'\0\0' + struct.pack('!H', summed(body)) + message[4:]
        answerer = bytes([127, 0, 0, 4]) if to[3] == 3 else to
        ip = struct.pack('!BBHHHBBH', 0x45, 0, 20 + len(body), 0, 0, 64, 1, 0) + answerer + source
        for _ in range(2 if to[3] == 5 else 1):
            heapq.heappush(waiting, (time.monotonic() + 0.05, count, ip + body, source))
    while waiting and waiting[0][0] <= time.monotonic():
        _, _, out, source = heapq.heappop(waiting)
        s.sendto(out, (socket.inet_ntoa(source), 0))
"#;

fn known_truth() {
    use std::io::{BufRead, BufReader};
    let mut child = Command::new("/usr/bin/python3").args(["-c", RESPONDER]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let _responder = Responder(child);
    assert_eq!(line, "ready\n");
    let mut probing = probing();
    for id in [2, 3, 5] {
        let address = format!("127.0.0.{id}");
        let read = source(id, 4, Check::Icmp { count: 10, timeout: Duration::from_millis(700) }, &READS);
        probing.add(target(id, &address, &[Probe::Icmp {}], vec![read])).unwrap();
    }
    // Rounds of being up send requests of 127.0.0.2, too, and each fifth of all is lost: over some rounds it is 20 %.
    let seen = see(&mut probing, |seen| [2, 3, 5].iter().all(|id| seen.of(*id).len() >= 2));
    let lost: f64 = seen.of(2).iter().map(|readings| real(readings[0])).sum::<f64>() / seen.of(2).len() as f64;
    assert!((10.0..=30.0).contains(&lost), "{lost} {:?}", seen.of(2));
    for readings in seen.of(2) {
        assert!(real(readings[1]) >= 0.05 && real(readings[2]) < 0.2, "{readings:?}");
    }
    // Answers from elsewhere are none, and answers twice are one.
    assert!(seen.of(3).iter().all(|readings| readings[0] == Reading::Real(100.0)));
    assert!(seen.of(5).iter().all(|readings| readings[0] == Reading::Real(0.0) && readings[4] == Reading::Integer(10)));
    assert!(probing.prober().counts().stray > 0);
    let down = |event: &Event| matches!(event, Event::Health { device: 3, change: Change::Down, .. });
    assert!(seen.events.iter().any(down));
}

fn no_right() {
    let mut probing = probing();
    let why = probing.rights()[0].unwrap_err().to_owned();
    assert!(why.contains("net.ipv4.ping_group_range") && why.contains("CAP_NET_RAW"), "{why}");
    probing.add(target(1, "127.0.0.1", &[Probe::Icmp {}], vec![source(10, 1, icmp(3), &READS)])).unwrap();
    let seen = see(&mut probing, |seen| seen.of(10).len() > 2);
    // Nothing is said of the device: neither that all was lost nor that it is down.
    assert!(seen.of(10).iter().all(|readings| *readings == [Reading::Unknown(Unknown::NotAsked); 5]));
    assert_eq!(seen.fault(10), Some(why.as_str()));
    assert!(!seen.events.iter().any(|event| matches!(event, Event::Health { .. })));
}

#[test]
fn delay_and_loss_are_the_truth_and_rights_are_told() {
    const NAME: &str = "probes::echo::delay_and_loss_are_the_truth_and_rights_are_told";
    match std::env::var(PART).as_deref() {
        Ok("datagram") => {
            assert_eq!(probing().rights()[0], Ok(EchoRight::Datagram));
            return known_truth();
        }
        Ok("raw") => {
            assert_eq!(probing().rights()[0], Ok(EchoRight::Raw));
            return known_truth();
        }
        Ok("none") => return no_right(),
        _ => {}
    }
    let Some(network) = Network::new("echo") else { return };
    network.run("sysctl -qw net.ipv4.icmp_echo_ignore_all=1");
    network.groups("0 2147483647");
    network.part(&[], NAME, "datagram");
    network.groups("1 0");
    network.part(&[], NAME, "raw");
    network.part(&["setpriv", "--bounding-set=-net_raw"], NAME, "none");
}
