//! Replays the fuzz corpora of RTP and RTCP, and what other projects fuzz with, through the functions of the fuzz
//! targets. Seeds are skipped where the shared captures are absent.

use std::path::{Path, PathBuf};
use trunkline_wire::exercise;

#[test]
fn corpora() {
    let corpus = root().join("fuzz/corpus");
    let ours = files(&corpus.join("wire_rtp")).into_iter().chain(files(&corpus.join("wire_rtcp")));
    assert!(ours.inspect(|o| drive(o)).count() >= 30);
}

#[test]
fn seeds_of_other_projects() {
    let shared = std::env::var_os("TRUNKLINE_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    let seeds = ["rtp", "rtcp", "srtp", "stun"].map(|kind| files(&shared.join("fuzz-seeds").join(kind)));
    if seeds.iter().flatten().inspect(|o| drive(o)).count() == 0 {
        println!("SKIPPED: no shared captures");
    }
}

/// As it is, and behind a header that lets it in.
fn drive(octets: &[u8]) {
    for octets in [octets, &[&[0x80, 200][..], octets].concat(), &[&[0x90, 0x65, 0, 1][..], octets].concat()] {
        exercise::rtp(octets);
        exercise::rtcp(octets);
    }
}

fn files(dir: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    entries.filter_map(|e| std::fs::read(e.ok()?.path()).ok()).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
