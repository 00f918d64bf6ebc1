//! The simulated devices are walked by net-snmp's own program, and say what the farm knows.
//!
//! Test group: waits: for clients of SNMP.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use trunkline_sim::farm::{
    AUTHENTICATION_PASSWORD, Answer, Counter, Drops, Farm, Fault, Gateway, Host, PRIVACY_PASSWORD, Settings,
};

/// A device at a moment that stands still, on a socket.
struct Device {
    address: SocketAddr,
    ends: Arc<AtomicBool>,
    /// Questions that came.
    asked: Arc<Mutex<Vec<Vec<u8>>>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Device {
    fn start(farm: &Farm, device: usize, at_ms: i64) -> Device {
        let socket = UdpSocket::bind((farm.address(device), 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let (address, ends) = (socket.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (farm, over, all) = (farm.clone(), Arc::clone(&ends), Arc::clone(&asked));
        let serve = move || {
            let (mut room, mut out) = ([0; 65_536], Vec::new());
            while !over.load(Ordering::Relaxed) {
                let Ok((octets, from)) = socket.recv_from(&mut room) else { continue };
                out.clear();
                let mut all = all.lock().unwrap();
                all.push(room[..octets].to_vec());
                let luck = all.len() as u64;
                if farm.answer(device, &room[..octets], at_ms, luck, &mut out) != Answer::Silence {
                    socket.send_to(&out, from).unwrap();
                }
            }
        };
        Device { address, ends, asked, thread: Some(std::thread::spawn(serve)) }
    }

    /// What net-snmp reads below a name: numeric names and plain values.
    fn walk(&self, program: &str, version: &str, below: &str) -> HashMap<String, String> {
        let run = Command::new(program)
            .args(["-v", version, "-c", "public", "-t", "0.1", "-r", "20", "-OnqUe"])
            .args([&self.address.to_string(), below])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        assert!(run.status.success(), "{program} {version} {below}: {text}{}", String::from_utf8_lossy(&run.stderr));
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(n, v)| (n.to_owned(), v.trim_matches('"').to_owned()))
            .collect()
    }
}

impl Device {
    /// What a command of net-snmp says as a user of version 3, with more words for it: what it printed, or why not.
    fn as_user(&self, program: &str, user: &str, more: &[&str], name: &str) -> Result<String, String> {
        let (hash, cipher) = user.split_once('-').unwrap_or((user, ""));
        let level = match (hash, cipher) {
            ("open", _) => "noAuthNoPriv",
            (_, "") => "authNoPriv",
            _ => "authPriv",
        };
        let hash = match hash.strip_prefix("sha") {
            Some("1") => "SHA".to_owned(),
            Some(bits) => format!("SHA-{bits}"),
            None => "MD5".to_owned(),
        };
        let cipher = match cipher {
            "" | "des" => "DES".to_owned(),
            "aes128" => "AES".to_owned(),
            _ => cipher.replace("aes", "AES-"),
        };
        let keys = ["-a", &hash, "-A", AUTHENTICATION_PASSWORD, "-x", &cipher, "-X", PRIVACY_PASSWORD];
        let run = Command::new(program)
            .args(["-v3", "-u", user, "-l", level, "-m", "", "-t", "0.3", "-r", "5", "-OnqUe"])
            .args(if level == "noAuthNoPriv" { &[][..] } else { &keys })
            .args(more)
            .args([&self.address.to_string(), name])
            .env("SNMP_PERSISTENT_DIR", std::env::temp_dir().join("trunkline-farm-snmp"))
            .output()
            .unwrap();
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        if run.status.success() { Ok(text(&run.stdout)) } else { Err(text(&run.stderr) + &text(&run.stdout)) }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ended = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

const COLUMNS: [(Counter, u32, u32); 8] = [
    (Counter::InOctets, 10, 6),
    (Counter::OutOctets, 16, 10),
    (Counter::InPackets, 11, 7),
    (Counter::OutPackets, 17, 11),
    (Counter::InErrors, 14, 0),
    (Counter::OutErrors, 20, 0),
    (Counter::InDiscards, 13, 0),
    (Counter::OutDiscards, 19, 0),
];

#[test]
fn net_snmp_walks_every_sort_of_device_and_reads_the_truth() {
    if Command::new("snmpwalk").arg("-V").output().is_err() {
        eprintln!("SKIPPED: snmp is not installed");
        return;
    }
    let farm = Farm::new(Settings { devices: 60, interfaces: 50, ..Settings::default() });
    let at = farm.settings().begin_ms + 29 * 3_600_000;
    let mut seen = Vec::new();
    for device in 0..farm.settings().devices {
        let fault = farm.fault(device);
        let is_new = !seen.contains(&fault) && fault != Some(Fault::Dead);
        let moment = (at..).step_by(60_000).find(|at| farm.state(device, *at).is_up || !is_new).unwrap();
        if !is_new {
            continue;
        }
        seen.push(fault);
        let agent = Device::start(&farm, device, moment);
        let (program, version) = match fault {
            Some(Fault::VersionOne) => ("snmpwalk", "1"),
            _ => ("snmpbulkwalk", "2c"),
        };
        let system = agent.walk(program, version, ".1.3.6.1.2.1.1");
        assert_eq!(system[".1.3.6.1.2.1.1.5.0"], farm.name(device));
        let interfaces = agent.walk(program, version, ".1.3.6.1.2.1.2");
        let wide = agent.walk(program, version, ".1.3.6.1.2.1.31");
        for interface in 0..50 {
            let index = farm.interface_index(device, interface, moment);
            let name = &wide[&format!(".1.3.6.1.2.1.31.1.1.1.1.{index}")];
            assert_eq!(*name, farm.interface_name(interface), "{fault:?}");
            for (counter, column, column64) in COLUMNS {
                let truth = farm.counter(device, interface, counter, moment);
                let narrow = &interfaces[&format!(".1.3.6.1.2.1.2.2.1.{column}.{index}")];
                assert_eq!(*narrow, (truth & 0xffff_ffff).to_string(), "{fault:?} {counter:?}");
                let known = wide.get(&format!(".1.3.6.1.2.1.31.1.1.1.{column64}.{index}"));
                let has_wide = column64 != 0 && !matches!(fault, Some(Fault::Narrow | Fault::VersionOne));
                assert_eq!(known.cloned(), has_wide.then(|| truth.to_string()), "{fault:?} {counter:?}");
            }
        }
        if fault.is_none() {
            let neighbours = agent.walk(program, version, ".1.0.8802.1.1.2.1.4.1.1.9");
            assert_eq!(neighbours.len(), 24, "the core's are one each for what is below it");
            assert!(neighbours.values().any(|name| *name == farm.name(1)));
            assert_eq!(agent.walk(program, version, ".1.3.6.1.2.1.4.22.1.3").len(), 24);
            assert!(!agent.walk("snmpwalk", "1", ".1").is_empty());
        }
    }
    assert_eq!(seen.len(), Fault::ALL.len(), "{seen:?}");
}

const SYS_NAME: &str = ".1.3.6.1.2.1.1.5.0";

#[test]
fn net_snmp_is_let_in_by_every_code_and_cipher_of_version_three() {
    if Command::new("snmpget").arg("-V").output().is_err() {
        eprintln!("SKIPPED: snmp is not installed");
        return;
    }
    let farm = Farm::new(Settings { devices: 4, v3_permille: 1000, faults: false, ..Settings::default() });
    let at = farm.settings().begin_ms + 3_600_000;
    let agent = Device::start(&farm, 2, at);
    let expected = format!("{SYS_NAME} \"{}\"", farm.name(2));
    let ask = |user: &str, more: &[&str]| agent.as_user("snmpget", user, more, SYS_NAME);
    for hash in ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"] {
        for cipher in ["", "-des", "-aes128", "-aes192", "-aes256"] {
            let user = format!("{hash}{cipher}");
            assert_eq!(ask(&user, &[]).as_deref().map(str::trim), Ok(&expected[..]), "{user}");
        }
    }
    assert_eq!(ask("open", &[]).as_deref().map(str::trim), Ok(&expected[..]));
    let wide = agent.as_user("snmpbulkwalk", "sha512-aes256", &[], ".1.3.6.1.2.1.31.1.1.1.6").unwrap();
    for (interface, line) in wide.lines().enumerate() {
        let truth = farm.counter(2, interface as u32, Counter::InOctets, at);
        assert!(line.ends_with(&format!(".{} {truth}", interface + 1)), "{line}");
    }
    assert_eq!(wide.lines().count(), 50);
    let mut plain = Command::new("snmpget");
    plain.args(["-v2c", "-c", "public", "-m", "", "-t", "0.1", "-r", "1", &agent.address.to_string(), SYS_NAME]);
    let plain = plain.output().unwrap();
    assert!(!plain.status.success(), "it speaks no other version");
}

#[test]
fn net_snmp_is_told_why_it_is_not_let_in() {
    if Command::new("snmpget").arg("-V").output().is_err() {
        eprintln!("SKIPPED: snmp is not installed");
        return;
    }
    let farm = Farm::new(Settings { devices: 4, faults: false, ..Settings::default() });
    let at = farm.settings().begin_ms + 3_600_000;
    let agent = Device::start(&farm, 1, at);
    let refused = |user: &str, more: &[&str], why: &str| {
        let told = agent.as_user("snmpget", user, more, SYS_NAME).unwrap_err();
        assert!(told.contains(why), "{user} {more:?}: {told}");
    };
    refused("sha256-aes128", &["-A", "another password"], "Authentication failure");
    refused("sha256-aes128", &["-u", "nobody"], "Unknown user name");
    refused("sha256-aes128", &["-u", "sha256"], "Unsupported security level");
    refused("sha256-aes128", &["-l", "authNoPriv"], "authorizationError");
    refused("sha256-aes128", &["-n", "elsewhere"], "context");
    refused("sha256-aes128", &["-X", "another password", "-r", "0"], "Timeout");
    // net-snmp is told engine and clock, and asks with both. That question is taken within 150 s of its time.
    agent.asked.lock().unwrap().clear();
    assert!(agent.as_user("snmpget", "sha1-aes128", &[], SYS_NAME).is_ok());
    let asked = agent.asked.lock().unwrap().clone();
    let is_late = |question: &[u8], seconds: i64| {
        let mut out = Vec::new();
        assert_ne!(farm.answer(1, question, at + seconds * 1000, 1, &mut out), Answer::Silence);
        // usmStatsNotInTimeWindows
        let name = [0x2b, 6, 1, 6, 3, 15, 1, 1, 2, 0];
        out.windows(name.len()).any(|octets| octets == name)
    };
    let last = asked.last().unwrap();
    assert_eq!([0, 150, -150, 151, -151].map(|off| is_late(last, off)), [false, false, false, true, true]);
}

#[test]
fn a_start_begins_counters_anew_and_may_number_anew() {
    let farm = Farm::new(Settings { devices: 60, ..Settings::default() });
    let begin = farm.settings().begin_ms;
    let device = (0..60).find(|device| farm.fault(*device) == Some(Fault::Renumbers)).unwrap();
    let (mut numbers, mut boots) = (Vec::new(), Vec::new());
    for minute in 0..3 * 24 * 60 {
        let at = begin + minute * 60_000;
        let state = farm.state(device, at);
        if boots.last() != Some(&state.boots) {
            boots.push(state.boots);
            numbers.push((0..50).map(|interface| farm.interface_index(device, interface, at)).collect::<Vec<_>>());
            let counted = farm.counter(device, 0, Counter::InOctets, at);
            assert!(state.boots == 1 || counted <= farm.interface_speed(device, 0) / 8 * 60, "{counted}");
        }
    }
    assert_eq!(boots, (1..=boots.len() as u32).collect::<Vec<_>>());
    numbers.dedup();
    assert!(boots.len() > 8 && numbers.len() == boots.len(), "{} starts, {} numberings", boots.len(), numbers.len());
}

#[test]
fn net_snmp_reads_who_is_around_a_device_and_what_it_drops() {
    if Command::new("snmpbulkwalk").arg("-V").output().is_err() {
        eprintln!("SKIPPED: snmp is not installed");
        return;
    }
    let begin = Settings::default().begin_ms;
    let host = |text: &str| Host { address: text.parse().unwrap(), device: 1, interface: 30 };
    let gateway = |text: &str, bits| Gateway { address: text.parse().unwrap(), bits, device: 1, interface: 30 };
    let farm = Farm::new(Settings {
        devices: 27,
        faults: false,
        hosts: vec![host("10.1.0.7"), host("2001:db8::7")],
        gateways: vec![gateway("10.1.0.1", 20), gateway("2001:db8::1", 52)],
        drops: vec![Drops { device: 1, interface: 30, per_s: 40, from_ms: begin + 10_000, to_ms: begin + 70_000 }],
        ..Settings::default()
    });
    let agent = Device::start(&farm, 1, begin);
    // The uplink to the core, and two access switches below.
    assert_eq!(farm.neighbours(1), [(0, 0, 1), (1, 25, 0), (2, 26, 0)]);
    let read = |below: &str| -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = agent
            .walk("snmpbulkwalk", "2c", below)
            .into_iter()
            .map(|(name, value)| (name.strip_prefix(below).unwrap().trim_start_matches('.').to_owned(), value))
            .collect();
        all.sort();
        all
    };
    let pairs = |all: &[(&str, &str)]| -> Vec<(String, String)> {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let lldp = ".1.0.8802.1.1.2.1";
    assert_eq!(read(&format!("{lldp}.3.3")), pairs(&[("0", "dist-1.farm.example")]));
    assert_eq!(read(&format!("{lldp}.3.7.1.3"))[..2], pairs(&[("1", "Gi1/1"), ("10", "Gi1/10")]));
    let ports = pairs(&[("0.1.1", "Gi1/2"), ("0.2.1", "Gi1/1"), ("0.3.1", "Gi1/1")]);
    assert_eq!(read(&format!("{lldp}.4.1.1.7")), ports, "the core's interface, and both uplinks");
    let managed = read(&format!("{lldp}.4.2.1.3"));
    assert_eq!((managed.len(), &*managed[1].0), (3, "0.2.1.1.4.127.64.0.26"));
    let ip = ".1.3.6.1.2.1.4";
    assert_eq!(
        read(&format!("{ip}.20.1.3")),
        pairs(&[("10.1.0.1", "255.255.240.0"), ("127.64.0.2", "255.255.255.255")])
    );
    let prefixes = read(&format!("{ip}.34.1.5"));
    let ends = |at: usize| prefixes[at].1.rsplit_once(".32.1.5.").unwrap().1;
    assert_eq!((&*prefixes[0].0, ends(0)), ("1.4.10.1.0.1", "31.1.4.10.1.0.0.20"));
    assert_eq!(ends(2), "31.2.16.32.1.13.184.0.0.0.0.0.0.0.0.0.0.0.0.52");
    let arp = read(&format!("{ip}.22.1.3"));
    assert_eq!((arp.len(), &arp[3]), (4, &("31.10.1.0.7".to_owned(), "10.1.0.7".to_owned())));
    assert_eq!(read(&format!("{ip}.35.1.6")).len(), 5, "those, and the one of version 6");

    let discards = |at_ms| farm.counter(1, 30, Counter::OutDiscards, at_ms);
    let plain = Farm::new(Settings { drops: Vec::new(), ..farm.settings().clone() });
    for (after_ms, dropped) in [(5_000, 0), (10_000, 0), (40_000, 1200), (70_000, 2400), (3_600_000, 2400)] {
        let others = plain.counter(1, 30, Counter::OutDiscards, begin + after_ms);
        assert_eq!(discards(begin + after_ms) - others, dropped, "{after_ms}");
    }
}
