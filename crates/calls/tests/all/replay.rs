//! Replays the fuzz corpora, and SIP that other projects fuzz with, through the functions of the fuzz targets.

use std::path::{Path, PathBuf};
use trunkline_calls::exercise;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

fn replay(name: &str, target: fn(&[u8])) {
    let files = files(&root().join("fuzz/corpus").join(name));
    assert!(!files.is_empty(), "{name} has no corpus");
    files.iter().for_each(|octets| target(octets));
}

#[test]
fn corpora_keep_the_invariants() {
    replay("calls_stream", exercise::stream);
    replay("calls_unread", exercise::unread);
    replay("calls_framed", exercise::framed);
    replay("calls_signalling", exercise::signalling);
}

#[test]
fn sip_of_other_projects_makes_the_same_rows_however_it_is_cut() {
    let shared = std::env::var_os("TRUNKLINE_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    let messages = files(&shared.join("fuzz-seeds/sip"));
    if messages.is_empty() {
        println!("SKIPPED: no shared captures");
    }
    for some in messages.chunks(40) {
        let pieces: Vec<Vec<u8>> =
            some.iter().enumerate().map(|(n, m)| [&[n as u8 * 5, n as u8 * 6], &m[..]].concat()).collect();
        exercise::signalling(&pieces.join(&0x1e));
    }
}
