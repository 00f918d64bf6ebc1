//! A lane with sockets against net-snmp's agent: what it reads is what snmpget and snmpwalk read.
//!
//! Test group: waits: for devices that do not answer.

use std::collections::{HashMap, HashSet};
use std::net::{Ipv6Addr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trunkline_graph::job::{Polling, PollingOptions};
use trunkline_graph::poller::*;
use trunkline_wire::snmp::Cause;
use trunkline_wire::snmp::usm::{AuthProtocol, MasterKey, PrivacyProtocol};

const PATIENCE: Duration = Duration::from_secs(60);
const AUTH_PASSWORD: &str = "authentic words";
const PRIVACY_PASSWORD: &str = "private words";
/// sysServices, snmpInPkts, ifNumber.
const NAMES: [&str; 3] = ["1.3.6.1.2.1.1.7.0", "1.3.6.1.2.1.11.1.0", "1.3.6.1.2.1.2.1.0"];

/// An agent of the test's own, ended with it.
struct Agent {
    child: Child,
    port: u16,
    folder: TempDir,
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Agent {
    /// Starts it, and waits for its first answer; none where net-snmp is not installed.
    fn start() -> Option<Agent> {
        if !["/usr/sbin/snmpd", "/usr/bin/snmpget"].iter().all(|path| Path::new(path).exists()) {
            println!("SKIPPED: no snmpd or no snmpget");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let configuration = format!(
            "rocommunity public\nrocommunity6 public\nsysServices 72\n\
            createUser poller SHA-256 \"{AUTH_PASSWORD}\" AES \"{PRIVACY_PASSWORD}\"\nrouser poller priv\n\
            createUser old MD5 \"{AUTH_PASSWORD}\" DES \"{PRIVACY_PASSWORD}\"\nrouser old priv\n\
            createUser open\nrouser open noauth\n"
        );
        std::fs::write(folder.path().join("agent.conf"), configuration).expect("a file");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let port = socket.local_addr().expect("an address").port();
        drop(socket);
        let agent = Agent { child: Agent::spawn(&folder, port), port, folder };
        assert_eq!(agent.ask("snmpget", "-Oqv", NAMES[0]), "72");
        Some(agent)
    }

    fn spawn(folder: &TempDir, port: u16) -> Child {
        Command::new("/usr/sbin/snmpd")
            .args(["-f", "-C", "-r", "-Ln", "-c"])
            .arg(folder.path().join("agent.conf"))
            .arg(if has_ipv6() {
                format!("udp:127.0.0.1:{port},udp6:[::1]:{port}")
            } else {
                format!("udp:127.0.0.1:{port}")
            })
            .env("SNMP_PERSISTENT_DIR", folder.path())
            .env("MIBS", "")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it is there")
    }

    /// Ends it and starts it again: its clock begins anew, and it has started once more often.
    fn restart(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        self.child.wait().expect("it ends");
        self.child = Agent::spawn(&self.folder, self.port);
    }

    /// What a command of net-snmp prints.
    fn ask(&self, program: &str, format: &str, name: &str) -> String {
        let done = Command::new(program)
            .args(["-v2c", "-c", "public", "-m", "", "-r", "60", "-t", "0.5", format])
            .arg(format!("udp:127.0.0.1:{}", self.port))
            .arg(name)
            .env("MIBS", "")
            .env("SNMP_PERSISTENT_DIR", self.folder.path())
            .output()
            .expect("it is there");
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }
}

fn has_ipv6() -> bool {
    UdpSocket::bind("[::1]:0").is_ok()
}

fn polling() -> Polling {
    Polling::open(&PollingOptions { sockets: 2, buffer_octets: 1 << 20, seed: 7 }).expect("sockets")
}

fn target(id: u32, agent: &Agent, access: Access) -> Target {
    let names = NAMES.iter().map(|name| name.parse().expect("a name")).collect();
    let nowhere = vec!["1.3.6.1.2.1.99999.0".parse().expect("a name")];
    Target {
        id,
        address: ([127, 0, 0, 1], agent.port).into(),
        access,
        settings: Settings { step_s: 1, failures_to_down: 60, ..Settings::default() },
        sources: vec![Source { id: 10 * id, names }, Source { id: 10 * id + 1, names: nowhere }],
    }
}

fn public() -> Access {
    Access::V2c(b"public".to_vec())
}

fn user(name: &str, protocol: AuthProtocol, privacy: PrivacyProtocol, password: &str) -> Access {
    let key = |password: &str| MasterKey::new(protocol, password.as_bytes()).expect("long enough");
    let security = Security::AuthPriv(key(password), privacy, key(PRIVACY_PASSWORD));
    Access::V3(Box::new(User { name: name.into(), context: Vec::new(), security }))
}

fn poller() -> Access {
    user("poller", AuthProtocol::Sha256, PrivacyProtocol::Aes128, AUTH_PASSWORD)
}

/// Devices from number 1 on, which are all this agent.
fn add(polling: &mut Polling, agent: &Agent, accesses: impl IntoIterator<Item = Access>) {
    for (id, access) in (1..).zip(accesses) {
        let now = polling.now();
        polling.lane().add(target(id, agent, access), now).expect("a good description");
    }
}

/// Lets it poll until `is_enough` says so of what has come.
fn poll_until(polling: &mut Polling, mut is_enough: impl FnMut(&Batch) -> bool) {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        polling.turn(Duration::from_millis(100));
        let batch = polling.lane().batch();
        let enough = is_enough(batch);
        batch.clear();
        if enough {
            return;
        }
    }
    panic!("it takes too long: {:?}", polling.lane().counts());
}

#[test]
fn all_versions_read_what_snmpget_reads() {
    let Some(agent) = Agent::start() else { return };
    let interfaces: i64 = agent.ask("snmpget", "-Oqv", NAMES[2]).parse().expect("a number");
    let open = User { name: b"open".to_vec(), context: Vec::new(), security: Security::NoAuthNoPriv };
    let old = user("old", AuthProtocol::Md5, PrivacyProtocol::Des, AUTH_PASSWORD);
    let mut polling = polling();
    let v1 = Access::V1(b"public".to_vec());
    add(&mut polling, &agent, [v1, public(), Access::V3(Box::new(open)), poller(), old]);
    let (mut last, mut cycles): (HashMap<u32, Vec<Reading>>, HashMap<u32, u32>) = Default::default();
    poll_until(&mut polling, |batch| {
        for sample in batch.samples() {
            assert!(!sample.is_restarted, "{sample:?}");
            if sample.source % 10 == 1 {
                let gone = [Unknown::NoSuchInstance, Unknown::NoSuchObject].map(Reading::Unknown);
                assert!(gone.contains(&sample.readings[0]), "{sample:?}");
                continue;
            }
            last.insert(sample.device, sample.readings.to_vec());
            *cycles.entry(sample.device).or_default() += 1;
        }
        cycles.len() == 5 && cycles.values().all(|cycles| *cycles >= 3)
    });
    for (device, readings) in last {
        let [services, packets, found] = readings[..] else { panic!("{readings:?}") };
        assert_eq!((services, found), (Reading::Integer(72), Reading::Integer(interfaces)), "device {device}");
        assert!(matches!(packets, Reading::Counter32(1..)), "device {device}: {packets:?}");
    }
    let counts = *polling.lane().counts();
    assert_eq!((counts.cycles_failed, counts.unauthentic, counts.malformed, counts.wrong_source), (0, 0, 0, 0));
    // To ask the engine costs one report, once; so does a clock that has to be learned.
    assert!(counts.reports <= 6, "{counts:?}");
}

#[test]
fn devices_of_both_families_are_asked() {
    let Some(agent) = Agent::start() else { return };
    if !has_ipv6() {
        println!("SKIPPED: no IPv6");
        return;
    }
    let mut polling = polling();
    add(&mut polling, &agent, [public(), public()]);
    let now = polling.now();
    let far = Target { address: (Ipv6Addr::LOCALHOST, agent.port).into(), ..target(2, &agent, public()) };
    polling.lane().add(far, now).expect("a good description");
    let mut read = HashSet::new();
    poll_until(&mut polling, |batch| {
        let known = batch.samples().filter(|sample| sample.readings[0] == Reading::Integer(72));
        read.extend(known.map(|sample| sample.device));
        read.len() == 2
    });
}

#[test]
fn an_agent_that_starts_anew_is_told() {
    let Some(mut agent) = Agent::start() else { return };
    let mut polling = polling();
    add(&mut polling, &agent, [public(), poller()]);
    let mut read = HashSet::new();
    poll_until(&mut polling, |batch| {
        read.extend(batch.samples().filter(|s| s.readings[0].is_known()).map(|sample| sample.device));
        read.len() == 2
    });
    agent.restart();
    let (mut told, mut marked) = (HashSet::new(), HashSet::new());
    poll_until(&mut polling, |batch| {
        told.extend(batch.events().iter().filter_map(|event| match event {
            Event::Restarted { device, .. } => Some(*device),
            _ => None,
        }));
        marked.extend(batch.samples().filter(|sample| sample.is_restarted).map(|sample| sample.device));
        told.len() == 2 && marked.len() == 2
    });
}

#[test]
fn who_is_not_let_in_is_told_why() {
    let Some(agent) = Agent::start() else { return };
    let wrong = user("poller", AuthProtocol::Sha256, PrivacyProtocol::Aes128, "another password");
    let unknown = user("nobody", AuthProtocol::Sha256, PrivacyProtocol::Aes128, AUTH_PASSWORD);
    let mut polling = polling();
    add(&mut polling, &agent, [wrong, unknown]);
    let mut told = HashMap::new();
    poll_until(&mut polling, |batch| {
        told.extend(batch.events().iter().filter_map(|event| match event {
            Event::Refused { device, cause } => Some((*device, *cause)),
            _ => None,
        }));
        assert!(batch.samples().all(|sample| matches!(sample.readings[0], Reading::Unknown(Unknown::Refused(_)))));
        told.len() == 2
    });
    assert_eq!((told[&1], told[&2]), (Cause::WrongDigest, Cause::UnknownUserName));
}

/// The names of a table, of all versions.
#[test]
fn a_walk_finds_what_snmpwalk_finds() {
    let Some(agent) = Agent::start() else { return };
    let root = "1.3.6.1.2.1.1.9";
    let text = agent.ask("snmpwalk", "-On", root);
    let names = text.lines().filter_map(|line| Some(line.strip_prefix('.')?.split_once(" =")?.0));
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 20, "{text}");
    let mut polling = polling();
    add(&mut polling, &agent, [Access::V1(b"public".to_vec()), public(), poller()]);
    let now = polling.now();
    for id in 1..=3 {
        polling.lane().walk(id, id.into(), root.parse().expect("a name"), now).expect("it is begun");
    }
    let (mut found, mut ends): (HashMap<u64, Vec<String>>, HashMap<u64, WalkEnd>) = Default::default();
    poll_until(&mut polling, |batch| {
        for walked in batch.walked() {
            found.entry(walked.walk).or_default().push(walked.varbind.name.to_string());
        }
        ends.extend(batch.events().iter().filter_map(|event| match event {
            Event::Walked { walk, end, .. } => Some((*walk, *end)),
            _ => None,
        }));
        ends.len() == 3
    });
    for walk in 1..=3 {
        assert_eq!(ends[&walk], WalkEnd::Done(names.len() as u32), "walk {walk}");
        assert_eq!(found[&walk], names, "walk {walk}");
    }
}
