//! Filters choose what tcpdump chooses.

use std::path::{Path, PathBuf};
use std::process::Command;

use trunkline_capture::{Batch, Expression, FileSource};

/// Expressions of many kinds: loads of all widths, arithmetic, lengths, tags, negation.
const EXPRESSIONS: &[&str] = &[
    "udp port 5060 or tcp port 5060",
    "ip and not udp",
    "ip6",
    "portrange 1024-20000",
    "net 10.0.0.0/8 or net 192.168.0.0/16",
    "vlan and ip",
    "mpls",
    "greater 200 and less 1000",
    "ip[6:2] & 0x3fff != 0",
    "udp[8:4] > 0x80000000",
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
    "(len - 14) % 7 = 3",
    "ip[2:2] / 4 > 30 and ip[0] & 0xf << 2 = 20",
];
/// Captures that are looked at, and octets of the longest.
const CAPTURES: usize = 80;
const OCTETS_MAX: u64 = 2 << 20;

#[test]
fn choose_what_tcpdump_chooses() {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("TRUNKLINE_SHARED").map_or_else(beside, PathBuf::from);
    if !shared.is_dir() {
        println!("SKIPPED: no shared captures");
        return;
    }
    if Command::new("tcpdump").arg("--version").output().is_err() {
        println!("SKIPPED: no tcpdump");
        return;
    }
    let is_small = |p: &PathBuf| p.metadata().is_ok_and(|m| m.len() < OCTETS_MAX);
    let mut paths: Vec<PathBuf> = files(&shared.join("captures")).into_iter().filter(is_small).collect();
    paths.sort();
    // Every so manyth, so that different kinds are among them.
    let step = (paths.len() / CAPTURES).max(1);
    let (mut compared, mut matched) = (0, 0);
    for path in paths.iter().step_by(step) {
        for text in EXPRESSIONS {
            let Some(expected) = by_tcpdump(path, text) else { continue };
            let ours = by_us(path, text).unwrap();
            assert_eq!(ours, expected, "{} {text}", path.display());
            (compared, matched) = (compared + 1, matched + expected);
        }
    }
    assert!(compared > 200 && matched > 2000, "{compared} {matched}");
}

/// All files of a folder and those inside it.
fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.flat_map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { vec![entry.path()] }).collect()
}

/// Packets that tcpdump chooses; `None` where it reads neither the file nor the expression for its link type.
fn by_tcpdump(path: &Path, text: &str) -> Option<usize> {
    let output = Command::new("tcpdump").args(["-n", "-t", "-q", "--count", "-r"]).arg(path).arg(text).output().ok()?;
    let told = String::from_utf8_lossy(&output.stdout);
    let count = told.lines().find_map(|line| line.split(" packet").next()?.trim().parse().ok());
    count.filter(|_| output.status.success())
}

fn by_us(path: &Path, text: &str) -> Option<usize> {
    let mut source = FileSource::open(&[path.to_path_buf()]);
    let (mut batch, mut count, mut filter) = (Batch::default(), 0, None);
    while source.fill(&mut batch) {
        for packet in &batch.packets {
            let filter = match &mut filter {
                Some(filter) => filter,
                none => none.insert(Expression::compile(text, packet.link).ok()?),
            };
            count += usize::from(filter.matches(batch.octets_of(packet), packet.wire));
        }
    }
    Some(count)
}
