//! tshark reads the same worlds and must find what the truth says. Skipped where tshark is not installed.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use trunkline_sim::settings::Tunnel;
use trunkline_sim::truth::StreamTruth;
use trunkline_sim::{Preset, Settings, Truth, write};

/// A world on disk with its truth.
struct Case {
    file: PathBuf,
    truths: Vec<Truth>,
    _folder: tempfile::TempDir,
}

fn case(settings: &Settings) -> Case {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("world.pcap");
    let mut truth = Vec::new();
    write(settings, std::fs::File::create(&file).unwrap(), Some(&mut truth), &mut |_, _| {}).unwrap();
    let truths = String::from_utf8(truth).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    Case { file, truths, _folder: folder }
}

/// Lines that tshark prints; none if there is no tshark.
fn tshark(file: &Path, arguments: &[&str]) -> Option<Vec<String>> {
    let preferences = ["tcp.reassemble_out_of_order", "ip.check_checksum", "udp.check_checksum", "tcp.check_checksum"];
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["--enable-heuristic", "rtp_udp"]);
    preferences.iter().for_each(|p| _ = command.args(["-o", &format!("{p}:TRUE")]));
    let Ok(output) = command.args(arguments).output() else {
        println!("SKIPPED: no tshark");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

impl Case {
    fn call_ids(&self) -> HashSet<String> {
        let id = |truth: &Truth| match truth {
            Truth::Call(call) => Some(call.sip_call_id.clone()),
            Truth::Registration(t) | Truth::Event(t) => Some(t.sip_call_id.clone()),
            Truth::World(_) => None,
        };
        self.truths.iter().filter_map(id).collect()
    }

    fn sip_messages(&self) -> u64 {
        let Some(Truth::World(world)) = self.truths.last() else { panic!("no world") };
        world.totals.sip_messages
    }

    fn streams(&self) -> Vec<StreamTruth> {
        let streams = |truth: &Truth| match truth {
            Truth::Call(call) => call.streams.clone(),
            _ => Vec::new(),
        };
        self.truths.iter().flat_map(streams).collect()
    }
}

fn check_sip(settings: &Settings) {
    let case = case(settings);
    let fields = ["-Y", "sip", "-T", "fields", "-e", "sip.Method", "-e", "sip.Status-Code", "-e", "sip.Call-ID"];
    let Some(lines) = tshark(&case.file, &fields) else { return };
    let (mut messages, mut ids) = (0, HashSet::new());
    for line in &lines {
        let columns: Vec<&str> = line.split('\t').collect();
        messages += columns[..2].iter().flat_map(|c| c.split(',')).filter(|v| !v.is_empty()).count();
        // tshark calls it a continuation when the end of a body comes in a segment of its own.
        if columns[2].is_empty() {
            assert_eq!(columns[..2], ["", ""], "{line}");
            continue;
        }
        ids.extend(columns[2].split(',').map(str::to_owned));
    }
    assert_eq!(messages as u64, case.sip_messages(), "{settings:?}");
    assert_eq!(ids.symmetric_difference(&case.call_ids()).collect::<Vec<_>>(), Vec::<&String>::new());
}

/// 100 calls of every kind: over UDP and TCP, IPv4 and IPv6, in fragments and in tunnels.
#[test]
fn sip_messages_and_call_ids() {
    for tunnel in [Tunnel::None, Tunnel::Vlan, Tunnel::Vxlan] {
        let varied = Settings { variety: 0.4, fragments: 0.3, tcp: 0.4, proxy: 0.3, calls: 100, ..Settings::default() };
        check_sip(&Settings { media: false, tunnel, ..varied });
    }
}

#[test]
fn nothing_is_malformed_and_checksums_are_right() {
    for tunnel in [Tunnel::None, Tunnel::Vlan, Tunnel::Vxlan] {
        let case = case(&Settings { calls: 25, variety: 0.4, fragments: 0.3, tunnel, ..Settings::default() });
        let wrong = "_ws.malformed or ip.checksum.status == 0 or udp.checksum.status == 0 or tcp.checksum.status == 0";
        let Some(lines) = tshark(&case.file, &["-Y", wrong]) else { return };
        assert_eq!(lines, Vec::<String>::new());
    }
}

/// One row of `-z rtp,streams`.
#[derive(Debug)]
struct Row {
    packets: u64,
    lost: i64,
    jitter_mean_ms: f64,
    jitter_max_ms: f64,
}

fn rows(lines: &[String]) -> HashMap<(String, String, String), Row> {
    let mut rows = HashMap::new();
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(percent) = words.iter().position(|w| w.starts_with('(') && w.ends_with("%)")) else { continue };
        let end = |ip: &str, port: &str| {
            if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
        };
        let key = (words[6].to_lowercase(), end(words[2], words[3]), end(words[4], words[5]));
        let number = |i: usize| words[i].parse::<f64>().unwrap();
        let row = Row {
            packets: number(percent - 2) as u64,
            lost: number(percent - 1) as i64,
            jitter_mean_ms: number(percent + 5),
            jitter_max_ms: number(percent + 6),
        };
        rows.insert(key, row);
    }
    rows
}

fn check_rtp(settings: &Settings) {
    let case = case(settings);
    let Some(lines) = tshark(&case.file, &["-q", "-z", "rtp,streams"]) else { return };
    let (rows, streams) = (rows(&lines), case.streams());
    assert_eq!(rows.len(), streams.len());
    for s in streams {
        let row = &rows[&(s.ssrc.clone(), s.src.clone(), s.dst.clone())];
        assert_eq!(row.packets, s.packets, "{s:?}");
        // tshark counts from the first packet that came, the contract from the lowest sequence number.
        let in_order = s.reordered == 0 && s.duplicates == 0;
        assert!(!in_order || row.lost == s.lost, "{row:?} {s:?}");
        // tshark leaves events and comfort noise out of the jitter and copies in.
        if in_order && s.payload_types.len() == 1 {
            assert!((row.jitter_max_ms - s.jitter_max_ms).abs() < 0.02, "{row:?} {s:?}");
            // Its mean counts the first packet, which has none.
            let tolerance = 0.02 + 0.005 * s.jitter_mean_ms;
            assert!((row.jitter_mean_ms - s.jitter_mean_ms).abs() < tolerance, "{row:?} {s:?}");
        }
    }
}

#[test]
fn rtp_streams_of_a_clean_world() {
    check_rtp(&Settings { calls: 40, ..Settings::preset(Preset::Clean) });
}

#[test]
fn rtp_streams_of_an_impaired_world() {
    let mut settings = Settings { calls: 40, ..Settings::preset(Preset::Impaired) };
    check_rtp(&settings);
    (settings.impairments.reorder_max, settings.impairments.duplicate_max) = (0.0, 0.0);
    check_rtp(&settings);
}
