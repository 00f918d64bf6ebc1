//! What the fuzz targets start from and have found, through the same functions; and all captures and seeds beside the
//! repository.

use std::fs;
use std::path::{Path, PathBuf};

use trunkline_capture::exercise::{block, lane, source};
use trunkline_capture::{Batch, FileSource};
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
    assert!(each_file(&corpus.join("capture_lane"), &mut |o| lane(o)) > 10);
    assert!(each_file(&corpus.join("capture_block"), &mut |o| block(o)) > 2);
    // Files of the formats are good beginnings for the source, too.
    each_file(&corpus.join("wire_pcap"), &mut |o| source(o));
    each_file(&corpus.join("wire_pcapng"), &mut |o| source(o));
}

#[test]
fn captures_and_seeds_hold() {
    if !shared().is_dir() {
        println!("SKIPPED: no shared captures");
        return;
    }
    let mut all = |octets: &[u8]| {
        pcap(octets);
        pcapng(octets);
        source(octets);
        lane(octets);
        block(octets);
    };
    assert!(each_file(&shared().join("captures"), &mut all) > 470);
    assert!(each_file(&shared().join("torture"), &mut all) > 40);
    assert!(each_file(&shared().join("fuzz-seeds"), &mut all) > 1000);
}

/// What `capinfos -c -d -u` of Wireshark 4.0.17 says of the corpora: packets, octets, nanoseconds from first to last.
#[test]
fn variants_are_read_as_wireshark_reads_them() {
    let (micro, nano) = ((3, 138, 2_000_014_000), (3, 138, 2_000_000_014));
    for (name, figures) in [
        // Wireshark strips the three octets in front of each frame, too: 129 = 3 * (46 - 3).
        ("wire_pcap/aix-fddi", (3, 129, 2_000_000_014)),
        ("wire_pcap/be", micro),
        ("wire_pcap/be-nanoseconds", nano),
        ("wire_pcap/cut", (2, 92, 1_000_007_000)),
        ("wire_pcap/dgux", micro),
        ("wire_pcap/fcs", micro),
        // 4.0 takes these for microseconds; since its issue 14073 Wireshark reads Ixia's hardware captures as here.
        ("wire_pcap/ixia", nano),
        ("wire_pcap/le", micro),
        ("wire_pcap/le-nanoseconds", nano),
        ("wire_pcap/nokia", micro),
        ("wire_pcap/patched-990417", micro),
        ("wire_pcap/patched-990915", micro),
        ("wire_pcap/patched-991029", micro),
        ("wire_pcap/version-2-1", micro),
        ("wire_pcap/version-2-3", micro),
        ("wire_pcapng/be-losses", (1, 46, 0)),
        ("wire_pcapng/be-plain", (2, 87, 5_000)),
        ("wire_pcapng/be-resolutions", (3, 138, 1_699_998_300_000_000_000)),
        ("wire_pcapng/cut", (1, 46, 0)),
        ("wire_pcapng/le-losses", (1, 46, 0)),
        ("wire_pcapng/le-plain", (2, 87, 5_000)),
        ("wire_pcapng/le-resolutions", (3, 138, 1_699_998_300_000_000_000)),
        ("capture_source/gzip-cut", (2, 92, 1_000_007_000)),
        ("capture_source/gzip-members", micro),
        ("capture_source/lz4-frames", micro),
        ("capture_source/zstd-frames", micro),
    ] {
        let mut source = FileSource::open(&[root().join("fuzz/corpus").join(name)]);
        while source.fill(&mut Batch::default()) {}
        let read = source.files()[0].read;
        let duration = read.last_ns.unwrap() - read.first_ns.unwrap();
        assert_eq!((read.packets, read.wire_octets, duration), figures, "{name}");
    }
}
