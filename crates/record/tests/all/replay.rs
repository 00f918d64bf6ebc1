//! The corpora of the fuzz targets, and whatever other octets lie beside the project, through the same functions.

use std::path::{Path, PathBuf};
use trunkline_record::exercise;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn replay(folder: &Path, run: fn(&[u8])) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            count += replay(&path, run);
        } else if let Ok(octets) = std::fs::read(&path) {
            run(&octets);
            count += 1;
        }
    }
    count
}

#[test]
fn corpora() {
    let corpus = root().join("fuzz/corpus");
    assert!(replay(&corpus.join("record_index"), exercise::index) > 0);
    assert!(replay(&corpus.join("record_packed"), exercise::packed) > 0);
    assert!(replay(&corpus.join("record_query"), exercise::query) > 0);
    assert!(replay(&corpus.join("record_segment"), exercise::segment) > 0);
    // Captures are captures to both.
    assert!(replay(&corpus.join("wire_pcapng"), exercise::segment) > 0);
    assert!(replay(&corpus.join("wire_pcap"), exercise::segment) > 0);
}

#[test]
fn octets_of_other_protocols() {
    let shared = std::env::var_os("TRUNKLINE_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    let seeds = shared.join("fuzz-seeds");
    if replay(&seeds, exercise::query) + replay(&seeds, exercise::index) == 0 {
        println!("SKIPPED: no shared captures");
    }
}

/// Makes the corpora anew: `cargo test -p trunkline-record --test all replay:: -- --ignored`.
#[test]
#[ignore = "writes into fuzz/corpus"]
fn make_corpora() {
    use trunkline_record::index::{Builder, FileMark};
    let corpus = root().join("fuzz/corpus");
    let udp = |vlan: bool| {
        let mut frame = vec![2; 12];
        if vlan {
            frame.extend([0x81, 0, 0, 7]);
        }
        frame.extend([8, 0, 0x45, 0, 0, 32, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0x13, 0xc4, 0x13, 0xce, 0, 12, 0, 0, 1, 2, 3, 4]);
        frame
    };
    let mut builder = Builder::new();
    for n in 0..40u64 {
        let octets = udp(n % 3 == 0);
        builder.packet(n as i64, 100 + n * 900, 80, 1, &octets, &trunkline_wire::decode(1, &octets));
    }
    builder.description(5000, 28);
    std::fs::write(corpus.join("record_index/forty"), builder.seal(&FileMark::of(40_000, 5, b"head"))).unwrap();
    std::fs::write(corpus.join("record_index/none"), builder.seal(&FileMark::default())).unwrap();
    for (name, text, vlan) in [
        ("host", "host 10.0.0.1 and udp port 5060", false),
        ("vlan", "vlan 7 and (net 10 or not inner dst port sip)", true),
        ("mpls", "mpls 5 and ip or arp or portrange 1-9", false),
        ("wrong", "hots 1.2.3 or and (", false),
    ] {
        let octets = [&[text.len() as u8], text.as_bytes(), &udp(vlan)].concat();
        std::fs::write(corpus.join("record_query").join(name), octets).unwrap();
    }
    let mut writer = trunkline_capture::PcapWriter::pcapng(Vec::new());
    (0..20).for_each(|n| writer.write(n, if n % 5 == 4 { 101 } else { 1 }, 46, &udp(n % 2 == 0)).unwrap());
    let pcapng = writer.finish().unwrap();
    std::fs::write(corpus.join("record_segment/pcapng"), &pcapng).unwrap();
    let (mut packing, mut packed) = (trunkline_record::packed::Packing::new().unwrap(), Vec::new());
    let mut out = |octets: &[u8]| {
        packed.extend_from_slice(octets);
        Ok(())
    };
    packing.push(&pcapng, &mut out).unwrap();
    packing.finish(&mut out).unwrap();
    std::fs::create_dir_all(corpus.join("record_packed")).unwrap();
    std::fs::write(corpus.join("record_packed/zstd"), packed).unwrap();
    std::fs::write(corpus.join("record_packed/pcapng"), pcapng).unwrap();
    let mut writer = trunkline_capture::PcapWriter::pcap(Vec::new());
    (0..20).for_each(|n| writer.write(n, 1, 46, &udp(n % 2 == 0)).unwrap());
    std::fs::write(corpus.join("record_segment/pcap"), writer.finish().unwrap()).unwrap();
}
