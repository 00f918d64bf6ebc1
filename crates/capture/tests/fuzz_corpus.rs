//! What the fuzz targets start from and have found, through the same functions; and all captures and seeds beside the
//! repository.

use std::fs;
use std::path::{Path, PathBuf};

use trunkline_capture::exercise::source;
use trunkline_wire::exercise::{pcap, pcapng};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn shared() -> PathBuf {
    std::env::var_os("TRUNKLINE_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from)
}

/// Runs over all files of a folder and those inside it; how many there were.
fn each_file(dir: &Path, run: &mut dyn FnMut(&[u8])) -> usize {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .map(|path| {
            if path.is_dir() {
                return each_file(&path, run);
            }
            run(&fs::read(path).unwrap());
            1
        })
        .sum()
}

#[test]
fn corpora_hold() {
    let corpus = root().join("fuzz/corpus");
    assert!(each_file(&corpus.join("wire_pcap"), &mut |o| pcap(o)) > 10);
    assert!(each_file(&corpus.join("wire_pcapng"), &mut |o| pcapng(o)) > 10);
    assert!(each_file(&corpus.join("capture_source"), &mut |o| source(o)) > 10);
    // Files of the formats are good beginnings for the source, too.
    each_file(&corpus.join("wire_pcap"), &mut |o| source(o));
    each_file(&corpus.join("wire_pcapng"), &mut |o| source(o));
}

#[test]
fn captures_and_seeds_hold() {
    if !shared().is_dir() {
        println!("skipped: no shared captures");
        return;
    }
    let mut all = |octets: &[u8]| {
        pcap(octets);
        pcapng(octets);
        source(octets);
    };
    assert!(each_file(&shared().join("captures"), &mut all) > 470);
    assert!(each_file(&shared().join("torture"), &mut all) > 40);
    assert!(each_file(&shared().join("fuzz-seeds"), &mut all) > 1000);
}
