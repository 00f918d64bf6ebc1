//! Replays the fuzz corpora, and what other projects fuzz with, through the same functions as the fuzz targets.

use std::path::{Path, PathBuf};
use trunkline_wire::exercise;

/// A fuzz target: its name behind `wire_`, and what it calls.
type Target = (&'static str, fn(&[u8]));

const TARGETS: &[Target] = &[
    ("sip", exercise::sip),
    ("sip_stream", exercise::sip_stream),
    ("sip_uri", exercise::sip_uri),
    ("sdp", exercise::sdp),
    ("websocket", exercise::websocket),
    ("snmp", exercise::snmp),
];

fn files(dir: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    entries.filter_map(|e| std::fs::read(e.ok()?.path()).ok()).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn corpora() {
    for (name, target) in TARGETS {
        for octets in files(&root().join("fuzz/corpus").join(format!("wire_{name}"))) {
            target(&octets);
        }
    }
}

#[test]
fn seeds_of_other_projects() {
    let shared = std::env::var_os("TRUNKLINE_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    let mut seeds = 0;
    for kind in ["sip", "sdp", "uri", "sdes", "presence", "megaco", "mgcp", "rtp", "stun", "dns", "hep", "snmp"] {
        for octets in files(&shared.join("fuzz-seeds").join(kind)) {
            seeds += 1;
            TARGETS.iter().for_each(|(_, target)| target(&octets));
            TARGETS.iter().for_each(|(_, target)| target(&[&[97], &octets[..]].concat()));
        }
    }
    if seeds == 0 {
        println!("SKIPPED: no shared captures");
    }
}
