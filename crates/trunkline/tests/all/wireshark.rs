//! The packet log as Wireshark meets it: interfaces by the extcap protocol, streams over TCP.
//!
//! Test group: waits: for captures and for Wireshark.

use crate::eventually::{PATIENCE, awaited, eventually};
use crate::wire;
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use trunkline_capture::{Batch, FileSource, PcapWriter};
use trunkline_record::Class;
use trunkline_record::names::segment_name;

const PROGRAM: &str = env!("CARGO_BIN_EXE_trunkline");

/// A packet: time, link type, octets.
type Packet = (i64, u16, Vec<u8>);

struct Desk {
    folder: TempDir,
}

impl Desk {
    /// A simulated world, read into a store and recorded into the log of the same folder, as one segment.
    fn new() -> Desk {
        let desk = Desk::empty();
        code(&desk.run(&["sim", "--calls", "12", "--seed", "3", "-w", "world.pcap"]), 0);
        code(&desk.run(&["read", "world.pcap", "--data", "data"]), 0);
        let world = desk.packets("world.pcap");
        let path = desk.segment(Class::Other, world[0].0, 0);
        fs::write(&path, file(&world)).unwrap();
        desk
    }

    /// A folder that anyone may enter: Wireshark gives up being root's.
    fn empty() -> Desk {
        let desk = Desk { folder: tempfile::tempdir().unwrap() };
        fs::set_permissions(desk.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        desk
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The path of a segment, whose folder is made.
    fn segment(&self, class: Class, at_ns: i64, lane: u16) -> PathBuf {
        let path = self.path("data").join(segment_name(class, at_ns, lane, 0));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn command(&self, program: impl AsRef<Path>, args: &[&str]) -> Command {
        let mut command = Command::new(program.as_ref());
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null()).env("TZ", "UTC").env("LANG", "C.UTF-8");
        command.env("HOME", self.folder.path());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(PROGRAM, args).output().unwrap()
    }

    fn packets(&self, name: &str) -> Vec<Packet> {
        packets(&self.path(name))
    }

    fn extract(&self, args: &[&str]) -> Vec<Packet> {
        code(&self.run(&[&["extract", "--data", "data", "-w", "out.pcapng"], args].concat()), 0);
        self.packets("out.pcapng")
    }

    /// What the program writes into a pipe when Wireshark starts it so.
    fn captured(&self, args: &[&str]) -> Vec<Packet> {
        let pipe = self.pipe("pipe");
        let path = self.path("captured.pcapng");
        let reader = {
            let (pipe, path) = (pipe.clone(), path.clone());
            std::thread::spawn(move || fs::write(path, fs::read(pipe).unwrap()).unwrap())
        };
        let pipe = pipe.to_str().unwrap();
        let all = [&["--capture", "--fifo", pipe, "--data", "data"], args].concat();
        code(&self.run(&all), 0);
        reader.join().unwrap();
        packets(&path)
    }

    fn pipe(&self, name: &str) -> PathBuf {
        let pipe = self.path(name);
        let _ = fs::remove_file(&pipe);
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        pipe
    }

    /// Serves an extraction; the address.
    fn listen(&self, args: &[&str]) -> (Running, String) {
        let all = [&["extract", "--data", "data", "--listen", "0", "--json"], args].concat();
        let mut running = Running::start(self.command(PROGRAM, &all));
        let line = running.wait_for("listening at ");
        let address = line.split("listening at ").nth(1).unwrap().split(':').take(2).collect::<Vec<_>>().join(":");
        (running, address)
    }

    /// tshark with our program among its own, as a user who is not root: as root it would not look for it.
    fn tshark(&self, args: &[&str]) -> Option<Command> {
        let root = Command::new("id").arg("-u").output().ok()?.stdout == b"0\n";
        let words: &[&str] =
            if root { &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "tshark"] } else { &["tshark"] };
        let mut command = self.command(words[0], &words[1..]);
        command.args(args).env("WIRESHARK_EXTCAP_DIR", self.path("extcap")).env("XDG_RUNTIME_DIR", self.path("run"));
        let mut version = self.command(words[0], &words[1..]);
        version.arg("--version").output().ok().filter(|o| o.status.success()).map(|_| command)
    }
}

/// A program that runs, with what it says.
struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn start(mut command: Command) -> Running {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, lines) = channel();
        let both: [Box<dyn Read + Send>; 2] =
            [Box::new(child.stderr.take().unwrap()), Box::new(child.stdout.take().unwrap())];
        for from in both {
            let to = to.clone();
            std::thread::spawn(move || {
                BufReader::new(from).lines().map_while(Result::ok).for_each(|line| _ = to.send(line));
            });
        }
        Running { child, lines }
    }

    fn wait_for(&mut self, what: &str) -> String {
        let mut said = Vec::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) if line.contains(what) => return line,
                Ok(line) => said.push(line),
                Err(_) => panic!("it never said '{what}': {said:#?}"),
            }
        }
    }

    fn signal(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }
}

fn packets(path: &Path) -> Vec<Packet> {
    let mut source = FileSource::open(&[path.to_path_buf()]);
    let (mut batch, mut found) = (Batch::default(), Vec::new());
    while source.fill(&mut batch) {
        found.extend(batch.packets.iter().map(|p| (p.at_ns, p.link, batch.octets_of(p).to_vec())));
    }
    assert_eq!(source.files()[0].error, None);
    found
}

fn file(packets: &[Packet]) -> Vec<u8> {
    let mut writer = PcapWriter::pcapng(Vec::new());
    packets.iter().for_each(|(at, link, o)| writer.write(*at, *link, o.len() as u32, o).unwrap());
    writer.finish().unwrap()
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

fn code(output: &Output, expected: i32) {
    assert_eq!(output.status.code(), Some(expected), "\n{}\n{}", text(&output.stdout), text(&output.stderr));
}

/// What a client gets until the connection ends.
fn client(address: &str, path: PathBuf) -> JoinHandle<Vec<Packet>> {
    let mut stream = TcpStream::connect(address).unwrap();
    std::thread::spawn(move || {
        let mut octets = Vec::new();
        stream.read_to_end(&mut octets).unwrap();
        fs::write(&path, octets).unwrap();
        packets(&path)
    })
}

/// Writes the beginning of a segment in place, as the recorder does: up to a page's end with zeros.
fn grow(part: &Path, whole: &[u8], until: usize) {
    let mut octets = whole[..until].to_vec();
    octets.resize(until.next_multiple_of(4096), 0);
    let mut file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(part).unwrap();
    file.write_all(&octets).unwrap();
}

fn part(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}.part", path.display()))
}

#[test]
fn wireshark_is_told_what_there_is() {
    let desk = Desk::empty();
    fs::create_dir_all(desk.path("extcap")).unwrap();
    let links = [desk.path("trunkline-extcap"), desk.path("extcap/trunkline")];
    for link in &links {
        symlink(PROGRAM, link).unwrap();
        let asked = |args: &[&str]| {
            let output = desk.command(link, args).output().unwrap();
            code(&output, 0);
            text(&output.stdout)
        };
        let interfaces = asked(&["--extcap-interfaces", "--extcap-version=4.0"]);
        assert!(interfaces.starts_with("extcap {version="), "{interfaces}");
        for (name, title) in [("call", "a call"), ("range", "time range"), ("live", "live")] {
            let line = format!("interface {{value=trunkline-{name}}}{{display=Trunkline: {title}}}");
            assert!(interfaces.lines().any(|l| l == line), "{interfaces}");
            let interface = format!("trunkline-{name}");
            assert!(asked(&["--extcap-dlts", "--extcap-interface", &interface]).starts_with("dlt {number=1}"));
            let options = asked(&["--extcap-config", "--extcap-interface", &interface]);
            assert!(options.contains("{call=--data}"), "{options}");
        }
        let looked = |filter: &str| asked(&["--extcap-interface", "trunkline-live", "--extcap-capture-filter", filter]);
        assert_eq!(looked("udp port 5060 and inner host 10.0.0.1"), "");
        assert!(looked("udp prt 5060").contains("^^^"));
        assert!(looked("ether hst 5").contains("libpcap does not understand"));
        assert_eq!(asked(&["--extcap-cleanup-postkill", "--extcap-interface", "trunkline-live"]), "");
    }
    code(&desk.run(&["extcap"]), 2);
    code(&desk.run(&["extcap", "--extcap-dlts", "--extcap-interface", "eth0"]), 2);
}

#[test]
fn a_call_and_a_range_go_into_the_pipe() {
    let desk = Desk::new();
    let calls = text(&desk.run(&["calls", "--json", "--data", "data"]).stdout);
    let calls: Vec<Value> = calls.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |name: &str| calls.iter().filter_map(|c| c[name].as_str()).next().unwrap().to_owned();
    let id = of("id");
    let whole = desk.extract(&["--call", &id]);
    assert!(whole.len() > 10);
    assert_eq!(desk.captured(&["--extcap-interface", "trunkline-call", "--call", &id]), whole);
    assert_eq!(desk.captured(&["--extcap-interface", "trunkline-call", "--call", &of("sip_call_id")]), whole);
    let range = ["--extcap-interface", "trunkline-range", "--from", "", "--to", ""];
    assert_eq!(desk.captured(&range), desk.extract(&[]));
    let some = desk.captured(&[&range[..], &["--expression", "udp", "--extcap-capture-filter", "port 5060"]].concat());
    assert_eq!(some, desk.extract(&["udp port 5060"]));
    let times: Vec<i64> = desk.extract(&[]).iter().map(|p| p.0).collect();
    let (from, to) = (times[times.len() / 3] / 1_000_000_000, times[times.len() / 2] / 1_000_000_000);
    let (from_text, to_text) = (from.to_string(), to.to_string());
    let of_time = desk.captured(&["--extcap-interface", "trunkline-range", "--from", &from_text, "--to", &to_text]);
    assert!(!of_time.is_empty() && of_time.iter().all(|p| (from..=to).contains(&(p.0 / 1_000_000_000))));
    let pipe = desk.pipe("unused");
    let args = ["--capture", "--fifo", pipe.to_str().unwrap(), "--data", "data"];
    code(&desk.run(&[&args[..], &["--extcap-interface", "trunkline-call", "--call", "nobody"]].concat()), 1);
    code(&desk.run(&[&args[..4], &["none", "--extcap-interface", "trunkline-live"]].concat()), 1);
}

#[test]
fn tshark_captures_from_the_log() {
    let desk = Desk::new();
    // What reading makes beside the segments has to be there before a user comes who may not write.
    let expected = desk.extract(&["udp port 5060"]);
    if !install(&desk) {
        return;
    }
    // What is recorded is for owner and group: whoever may not read it is told so, and tshark ends.
    let refused = desk.tshark(&["-i", "trunkline-range", "-w", "-"]).unwrap().output().unwrap();
    assert!(!refused.status.success() && text(&refused.stderr).contains("permission denied"), "{refused:?}");
    assert!(desk.command("chmod", &["-R", "o+rX", "data"]).status().unwrap().success());
    let seen = |args: &[&str]| {
        let mut command = desk.tshark(&[args, &["-w", "-"]].concat()).unwrap();
        let output = command.output().unwrap();
        code(&output, 0);
        fs::write(desk.path("seen.pcapng"), output.stdout).unwrap();
        desk.packets("seen.pcapng")
    };
    assert_eq!(seen(&["-i", "trunkline-range", "-f", "udp port 5060"]), expected);
    let expression = "extcap.trunkline_range.expression:udp port 5060";
    assert_eq!(seen(&["-i", "trunkline-range", "-o", expression]), expected);
    let calls = text(&desk.run(&["calls", "--json", "--data", "data"]).stdout);
    let call: Value = serde_json::from_str(calls.lines().next().unwrap()).unwrap();
    let id = call["id"].as_str().unwrap();
    let option = format!("extcap.trunkline_call.call:{id}");
    assert_eq!(seen(&["-i", "trunkline-call", "-o", &option]), desk.extract(&["--call", id]));
}

/// Installs our program for tshark where another user may enter; whether this tshark looks there.
fn install(desk: &Desk) -> bool {
    code(&desk.run(&["extcap-install", "extcap", "--data", "data"]), 0);
    code(&desk.run(&["extcap-install", "extcap", "--data", "data"]), 0);
    // The script names the program by its place, which another user may not be able to enter.
    let program = desk.path("program");
    fs::copy(PROGRAM, &program).unwrap();
    let script = desk.path("extcap/trunkline-extcap");
    let moved = fs::read_to_string(&script).unwrap().replace(PROGRAM, program.to_str().unwrap());
    fs::write(&script, moved).unwrap();
    let Some(mut list) = desk.tshark(&["-D"]) else {
        println!("SKIPPED: no tshark");
        return false;
    };
    let listed = text(&list.output().unwrap().stdout);
    let is_there = listed.contains("trunkline-range (Trunkline: time range)");
    if !is_there {
        println!("SKIPPED: this tshark does not look into WIRESHARK_EXTCAP_DIR:\n{listed}");
    }
    is_there
}

#[test]
fn tshark_captures_live_what_run_records() {
    let Some(wire) = wire::Wire::lay("tshark") else { return };
    let desk = Desk::empty();
    code(&desk.run(&["sim", "--calls", "5", "--seed", "9", "-w", "world.pcap"]), 0);
    // The log is its owner's: run becomes the user that tshark is.
    let config = desk.path("trunkline.toml");
    fs::write(&config, "[capture]\nlanes = 1\nuser = \"nobody\"\n[record]\nflush = \"200 ms\"\n").unwrap();
    let data = desk.path("data");
    fs::create_dir(&data).unwrap();
    std::os::unix::fs::chown(&data, Some(65534), Some(65534)).unwrap();
    let mut running = Running::start(wire.within(&[
        PROGRAM,
        "run",
        "-i",
        "in",
        "-c",
        config.to_str().unwrap(),
        "--data",
        data.to_str().unwrap(),
    ]));
    running.wait_for("running");
    if !install(&desk) {
        return;
    }
    let world = desk.path("world.pcap");
    let sent = wire.replay(&world, "max")["packets"].as_u64().unwrap();
    // It sees what comes from its start on, and ends by itself when it has as much as one replay sends.
    let mut tshark = desk.tshark(&["-i", "trunkline-live", "-c", &sent.to_string(), "-w", "-"]).unwrap();
    let mut child = tshark.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || BufReader::new(stdout).bytes().map_while(Result::ok).collect::<Vec<u8>>());
    let status = awaited("tshark has enough", || {
        wire.replay(&world, "max");
        child.try_wait().unwrap().ok_or("it goes on")
    });
    fs::write(desk.path("seen.pcapng"), reader.join().unwrap()).unwrap();
    assert!(status.success(), "tshark: {status}");
    let seen = desk.packets("seen.pcapng");
    assert_eq!(seen.len() as u64, sent);
    // All of it is in the log, each packet once, with its time.
    let mut recorded: HashMap<Packet, usize> = HashMap::new();
    end(running);
    desk.extract(&[]).into_iter().for_each(|packet| *recorded.entry(packet).or_default() += 1);
    for packet in seen {
        let left = recorded.get_mut(&packet).filter(|left| **left > 0);
        *left.unwrap_or_else(|| panic!("not in the log: a packet of {}", packet.0)) -= 1;
    }
}

/// Ends a run, so that all it has is in the log.
fn end(mut running: Running) {
    let pid = rustix::process::Pid::from_child(&running.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(running.child.wait().unwrap().success());
}

/// A world that is recorded while it is followed: a beginning that was there before, then the rest in pieces, then the
/// next segment.
fn record_on(desk: &Desk, world: &[Packet]) {
    let (a, b) = world.split_at(world.len() / 2);
    let (whole_a, whole_b) = (file(a), file(b));
    let path = desk.segment(Class::Other, a[0].0, 0);
    for tenths in 1..=10 {
        std::thread::park_timeout(Duration::from_millis(150));
        grow(&part(&path), &whole_a, whole_a.len() * tenths / 10);
    }
    fs::write(part(&path), &whole_a).unwrap();
    fs::rename(part(&path), &path).unwrap();
    let next = desk.segment(Class::Other, b[0].0.max(a[0].0 + 60_000_000_000), 0);
    grow(&part(&next), &whole_b, whole_b.len());
}

#[test]
fn the_newest_packets_are_followed() {
    let desk = Desk::empty();
    code(&desk.run(&["sim", "--calls", "6", "--seed", "5", "-w", "world.pcap"]), 0);
    let world = desk.packets("world.pcap");
    let old = desk.segment(Class::Sip, world[0].0 - 3_600_000_000_000, 0);
    fs::write(&old, file(&world[..9])).unwrap();
    let pipe = desk.pipe("pipe");
    let args = ["--capture", "--fifo", pipe.to_str().unwrap(), "--data", "data"];
    let extcap =
        Running::start(desk.command(PROGRAM, &[&args[..], &["--extcap-interface", "trunkline-live"]].concat()));
    let mut from = fs::File::open(&pipe).unwrap();
    // The header comes at once, or Wireshark would wait for it.
    let mut begin = [0; 28];
    from.read_exact(&mut begin).unwrap();
    let (running, address) = desk.listen(&["--live", "udp port 5060"]);
    let count = world.len();
    let sip = matching(&desk, "udp port 5060");
    let tcp = {
        let mut stream = TcpStream::connect(&address).unwrap();
        let wanted = sip.len();
        let path = desk.path("tcp.pcapng");
        std::thread::spawn(move || read_until(&mut stream, Vec::new(), &path, wanted))
    };
    // Following begins with the first look.
    std::thread::park_timeout(Duration::from_millis(1000));
    record_on(&desk, &world);
    let path = desk.path("live.pcapng");
    let live = read_until(&mut from, begin.to_vec(), &path, count);
    assert_eq!(live, world);
    assert_eq!(tcp.join().unwrap(), sip);
    // Whoever leaves is noticed though no packet comes.
    drop(from);
    let mut extcap = extcap;
    eventually("it does not write on when nobody reads", || extcap.child.try_wait().unwrap().is_some());
    let mut running = running;
    let line = running.wait_for("\"ended\"");
    assert!(line.contains("it has left"), "{line}");
    running.signal();
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
}

/// The packets of the world that match.
fn matching(desk: &Desk, expression: &str) -> Vec<Packet> {
    code(&desk.run(&["extract", "-r", "world.pcap", "-w", "some.pcapng", expression]), 0);
    desk.packets("some.pcapng")
}

/// Reads a stream until so many packets have come.
fn read_until(from: &mut impl Read, mut octets: Vec<u8>, path: &Path, count: usize) -> Vec<Packet> {
    let mut buffer = vec![0; 1 << 16];
    let begun = Instant::now();
    loop {
        let n = from.read(&mut buffer).unwrap();
        octets.extend(&buffer[..n]);
        fs::write(path, &octets).unwrap();
        let mut source = FileSource::open(&[path.to_path_buf()]);
        let (mut batch, mut found) = (Batch::default(), Vec::new());
        while source.fill(&mut batch) {
            found.extend(batch.packets.iter().map(|p| (p.at_ns, p.link, batch.octets_of(p).to_vec())));
        }
        if found.len() >= count {
            return found;
        }
        assert!(n > 0 && begun.elapsed() < PATIENCE, "{} of {count} packets came", found.len());
    }
}

#[test]
fn every_client_gets_all_and_a_slow_one_holds_up_nobody() {
    let desk = Desk::empty();
    let all: Vec<Packet> = (0..20_000).map(|n| (1_795_181_100_000_000_000 + n, 1, vec![n as u8; 1400])).collect();
    fs::write(desk.segment(Class::Rtp, all[0].0, 0), file(&all)).unwrap();
    let (mut running, address) = desk.listen(&[]);
    // Takes nothing: more than the socket's buffers hold waits for it.
    let mut slow = TcpStream::connect(&address).unwrap();
    let clients: Vec<_> = (0..4).map(|n| client(&address, desk.path(format!("client-{n}.pcapng")))).collect();
    for client in clients {
        assert_eq!(client.join().unwrap(), all);
        assert!(running.wait_for("\"ended\"").contains("\"done\""));
    }
    std::thread::park_timeout(Duration::from_millis(300));
    assert!(running.lines.try_recv().is_err(), "it was not slow");
    let mut octets = Vec::new();
    slow.read_to_end(&mut octets).unwrap();
    assert_eq!(octets, fs::read(desk.path("client-0.pcapng")).unwrap());
    assert!(running.wait_for("\"ended\"").contains(&format!("\"packets\":{}", all.len())));
    running.signal();
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
}

#[test]
fn clients_are_bounded_and_an_open_address_is_warned_of() {
    let desk = Desk::new();
    let (mut running, address) = desk.listen(&["--live"]);
    let clients: Vec<TcpStream> = (0..17).map(|_| TcpStream::connect(&address).unwrap()).collect();
    assert!(running.wait_for("was rejected").contains("16 clients are connected already"));
    drop(clients);
    for _ in 0..16 {
        running.wait_for("it has left");
    }
    let mut again = TcpStream::connect(&address).unwrap();
    let mut octets = vec![0; 28];
    again.read_exact(&mut octets).unwrap();
    running.signal();
    again.read_to_end(&mut octets).unwrap();
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
    let path = desk.path("again.pcapng");
    fs::write(&path, octets).unwrap();
    assert_eq!(packets(&path), []);
    let mut open = Running::start(desk.command(PROGRAM, &["extract", "--data", "data", "--listen", "0.0.0.0:0"]));
    assert!(open.wait_for("warning").contains("anyone who can connect"));
    let says = |args: &[&str], part: &str| {
        let output = desk.run(args);
        code(&output, 2);
        assert!(text(&output.stderr).contains(part), "{}", text(&output.stderr));
    };
    says(&["extract", "--listen", "somewhere"], "ADDRESS:PORT");
    says(&["extract", "--listen", "1", "-w", "x.pcapng"], "--write");
    says(&["extract", "--live", "--from", "2026", "-w", "x.pcapng"], "--from");
}

#[test]
fn tshark_reads_over_tcp() {
    let desk = Desk::new();
    let (_running, address) = desk.listen(&["udp port 5060"]);
    let expected = desk.extract(&["udp port 5060"]);
    let interface = format!("TCP@{address}");
    let Some(mut command) = desk.tshark(&["-i", &interface, "-w", "-"]) else { return println!("SKIPPED: no tshark") };
    let output = command.output().unwrap();
    fs::write(desk.path("seen.pcapng"), &output.stdout).unwrap();
    assert_eq!(desk.packets("seen.pcapng"), expected, "{}", text(&output.stderr));
}

#[test]
fn what_is_in_the_way_is_not_written_over() {
    let desk = Desk::empty();
    let output = desk.run(&["extcap-install"]);
    code(&output, 0);
    let script = desk.path(".local/lib/wireshark/extcap/trunkline-extcap");
    assert_eq!(text(&output.stdout).trim(), script.to_str().unwrap());
    let told = desk.command(&script, &["--extcap-interfaces"]).output().unwrap();
    assert!(text(&told.stdout).contains("trunkline-live"));
    fs::write(&script, "mine").unwrap();
    code(&desk.run(&["extcap-install"]), 1);
    assert_eq!(fs::read_to_string(&script).unwrap(), "mine");
}
