//! `trunkline doctor` at an interface with traffic: a pair of veth in a network namespace that the test makes.
//!
//! Skipped, with the reason printed, where the process may not make one.
//!
//! Test group: waits: for a second of counters.

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use trunkline_capture::live::{Pace, Sender, SenderOptions};
use trunkline_capture::{Batch, FileSource, Packet};

/// Packets sent in a second: all of them in some seconds, none again within the time of a copy.
const RATE: f64 = 15_000.0;

/// A network namespace with `left` and `right`, the ends of one wire; it is removed with this.
struct Wire {
    name: String,
}

impl Wire {
    fn lay() -> Option<Wire> {
        let wire = Wire { name: format!("trunkline-doctor-{}", std::process::id()) };
        let made = ip(&format!("netns add {}", wire.name))
            .and_then(|()| wire.ip("link add left type veth peer name right"))
            .and_then(|()| wire.ip("link set left up"))
            .and_then(|()| wire.ip("link set right up"));
        match made {
            Ok(()) => Some(wire),
            Err(why) => {
                println!("SKIPPED: no network namespace: {why}");
                None
            }
        }
    }

    fn ip(&self, arguments: &str) -> Result<(), String> {
        ip(&format!("-n {} {arguments}", self.name))
    }

    /// What doctor finds at `right` while `left` sends these packets over and over: its exit code and findings.
    fn doctor(&self, packets: &[(Packet, Vec<u8>)]) -> (Option<i32>, Vec<serde_json::Value>) {
        let folder = tempfile::tempdir().unwrap();
        let program = env!("CARGO_BIN_EXE_trunkline");
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program, "doctor", "-i", "right", "--seconds", "2", "--json"]);
        command.args(["--no-disk", "--data"]).arg(folder.path()).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| self.send(packets, || child.try_wait().unwrap().is_some()));
        });
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    /// Sends until `is_over`, from a thread of its own: it stays in the namespace.
    fn send(&self, packets: &[(Packet, Vec<u8>)], mut is_over: impl FnMut() -> bool) {
        let file = std::fs::File::open(Path::new("/run/netns").join(&self.name)).unwrap();
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
        let options = SenderOptions { interface: "left".to_owned(), pace: Pace::Packets(RATE), bypass: false };
        let mut sender = Sender::open(options).unwrap();
        for part in packets.chunks(1000).cycle() {
            if is_over() {
                return;
            }
            let mut batch = Batch::default();
            part.iter().for_each(|(packet, octets)| batch.push(*packet, octets));
            sender.send(&batch).unwrap();
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = ip(&format!("netns del {}", self.name));
    }
}

fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip").args(arguments.split(' ')).output().map_err(|e| format!("ip: {e}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()) }
}

/// The packets of a simulated world that fit an Ethernet.
fn world() -> Vec<(Packet, Vec<u8>)> {
    let mut settings = trunkline_sim::Settings::preset("demo".parse().unwrap());
    (settings.calls, settings.seed) = (30, 11);
    let mut file = Vec::new();
    trunkline_sim::write(&settings, &mut file, None::<&mut Vec<u8>>, &mut |_, _| {}).unwrap();
    let mut source = FileSource::of_octets(vec![file]);
    let (mut batch, mut packets) = (Batch::default(), Vec::new());
    while source.fill(&mut batch) {
        packets.extend(batch.packets.iter().map(|p| (*p, batch.octets_of(p).to_vec())));
    }
    packets
}

fn state<'a>(findings: &'a [serde_json::Value], check: &str) -> (&'a str, &'a str) {
    let found = findings.iter().find(|f| f["check"] == check && f["subject"] == "right");
    let found = found.unwrap_or_else(|| unreachable!("no {check} in {findings:#?}"));
    (found["state"].as_str().unwrap(), found["seen"].as_str().unwrap())
}

#[test]
fn sees_whether_a_mirror_is_whole_half_or_twice() {
    let Some(wire) = Wire::lay() else { return };
    let world = world();

    let (_, findings) = wire.doctor(&world);
    let (mirror, seen) = state(&findings, "mirror");
    assert!(mirror == "ok" && seen.starts_with("both directions; SIP "), "{findings:#?}");
    assert_eq!((state(&findings, "copies").0, state(&findings, "traffic").0), ("ok", "ok"));
    assert!(state(&findings, "traffic").1.contains("packets/s"), "{findings:#?}");

    let towards = |octets: &[u8]| octets[12..14] == [0x08, 0x00] && octets[26..30] < octets[30..34];
    let half: Vec<_> = world.iter().filter(|(_, octets)| towards(octets)).cloned().collect();
    let (code, findings) = wire.doctor(&half);
    let (mirror, seen) = state(&findings, "mirror");
    assert!(mirror == "bad" && seen.starts_with("one-sided"), "{findings:#?}");
    assert_eq!(code, Some(3));

    let twice: Vec<_> = world.iter().flat_map(|packet| [packet.clone(), packet.clone()]).collect();
    let (_, findings) = wire.doctor(&twice);
    let (copies, seen) = state(&findings, "copies");
    assert!(copies == "warn" && seen.contains("came twice"), "{findings:#?}");
}
