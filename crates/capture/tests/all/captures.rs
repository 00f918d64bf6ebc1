//! All captures beside the repository, against what capinfos of Wireshark 4.0 says of them.

use std::path::{Path, PathBuf};

use serde_json::Value;
use trunkline_capture::{Batch, FileSource, InputFile};

fn shared() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let dir = std::env::var_os("TRUNKLINE_SHARED").map_or_else(beside, PathBuf::from).join("captures");
    if !dir.is_dir() {
        println!("SKIPPED: no shared captures");
        return None;
    }
    Some(dir)
}

/// Reads files to their end; the batches' packets are counted as well as the source's own figures.
fn read(paths: &[PathBuf]) -> (FileSource, u64) {
    let mut source = FileSource::open(paths);
    let (mut batch, mut packets) = (Batch::default(), 0);
    while source.fill(&mut batch) {
        for packet in &batch.packets {
            packets += 1;
            assert_eq!(packet.number, packets);
            assert_eq!(batch.octets_of(packet).len(), packet.captured as usize);
        }
    }
    (source, packets)
}

/// Files whose figures differ from capinfos', and why.
const DIFFERENT: &[(&str, &str)] = &[
    // Theirs leaves out the 4 octets of the SUNATM pseudo-header; here they are captured octets like all others.
    ("tcpdump/atm-heapoverflow.pcap", "octets 262140, here 262144"),
    ("tcpdump/atm-oam-loopback-print-overrun.pcap", "octets 65618, here 65622"),
    // Theirs takes the last packet's time for the latest; this file's times go backwards by 136 years.
    ("tcpdump/olsr-oobr-2.pcap", "duration -2749598990, here 4294934285"),
    // A fraction of 2^31 nanoseconds: theirs overflows, here it is two seconds and a bit.
    ("tcpdump/timestamp_invalid_nano.pcap", "duration 1.1147483649, here 2.147483649"),
    // Link types that Wireshark 4.0 does not know are read all the same: decoding says what it cannot decode.
    ("tcpdump/hoobr_juniper3.pcap", "not read by capinfos"),
    ("tcpdump/juniper_monitor_invalid_cookie_length.pcap", "not read by capinfos"),
    ("tcpdump/vtp_asan-2.pcap", "not read by capinfos"),
    ("tcpdump/vtp_asan.pcap", "not read by capinfos"),
    ("libpcap/brcm-tag-stp.pcap", "not read by capinfos"),
    ("libpcap/brcm-tag.pcap", "not read by capinfos"),
    // Wireshark takes fuzz.pcap for the patched variant of 1999-04-17, because its second record is damaged.
    // Damaged: capinfos gives no figures, here is what was whole before the damage.
    ("libpcap/pcapng-invalid-vers-2.pcapng", "not read by capinfos"),
    ("suricata-verify/fuzz.pcap", "not read by capinfos"),
    ("gopacket/le-test901.pcapng", "not read by capinfos"),
];

#[test]
fn agrees_with_capinfos_on_every_capture() {
    let Some(dir) = shared() else { return };
    let text = std::fs::read_to_string(dir.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let expected = expected.as_object().unwrap();
    assert!(expected.len() >= 470);
    let mut explained = DIFFERENT.to_vec();
    for (name, expected) in expected {
        let (source, packets) = read(&[dir.join(name)]);
        let file = &source.files()[0];
        assert_eq!(file.read.packets, packets, "{name}");
        let known = explained.iter().position(|(n, _)| n == name).map(|i| explained.swap_remove(i).1);
        assert_eq!(differs(file, expected).as_deref(), known, "{name} [{}]: {:?}", file.format, file.error);
    }
    assert!(explained.is_empty(), "no longer different: {explained:?}");
}

/// Each damaged capture has one line that says where and what; what was whole before it is counted.
#[test]
fn damage_is_told_in_one_line() {
    let Some(dir) = shared() else { return };
    for (name, packets, error) in [
        ("nDPI/fuzz-2021-10-13.pcap", 1, "at octet 237: cut short in a packet: 2 of 16 octets are there"),
        ("libpcap/pcapng-invalid-vers-2.pcapng", 0, "at octet 0: pcapng section version 1.1 is not known"),
        ("gopacket/le-test901.pcapng", 1, "at octet 480: pcapng section version 2.0 is not known"),
        (
            "suricata-verify/fuzz.pcap",
            1,
            "at octet 228: the record says 1409179648 octets, more than the limit of 262144: the length is damaged",
        ),
        (
            "scapy/bad_rsn_parsing_overrides_ssid.pcap",
            1,
            "at octet 359: cut short in a packet: 1 of 16 octets are there",
        ),
    ] {
        let (source, _) = read(&[dir.join(name)]);
        let file = &source.files()[0];
        let told = file.error.as_ref().map(|e| e.to_string()).unwrap_or_default();
        let (path, what) = told.split_once(": ").unwrap_or_default();
        assert_eq!((Path::new(path), what, file.read.packets), (dir.join(name).as_path(), error, packets));
    }
}

/// All captures as one timeline: nothing is lost, each file keeps its order, and files do not go back in time against
/// each other.
#[test]
fn merges_all_captures() {
    let Some(dir) = shared() else { return };
    let text = std::fs::read_to_string(dir.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let paths: Vec<PathBuf> = expected.as_object().unwrap().keys().map(|name| dir.join(name)).collect();
    let (source, packets) = read(&paths);
    assert_eq!(source.files().iter().map(|f| f.read.packets).sum::<u64>(), packets);
    assert_eq!(source.counters().packets, packets);
    assert_eq!(source.counters().files, paths.len() as u64);
    assert_eq!(source.counters().files_broken, source.files().iter().filter(|f| f.error.is_some()).count() as u64);
    assert_eq!(source.octets_read(), source.octets_total(), "all octets were read");
}

/// How a file's figures differ from capinfos', if they do.
fn differs(file: &InputFile, expected: &Value) -> Option<String> {
    let capinfos = &expected["capinfos"];
    let number = |key: &str| capinfos[key].as_str().and_then(|s| s.parse::<f64>().ok());
    let mut found = Vec::new();
    match number("packets") {
        None => found.push("not read by capinfos".to_string()),
        Some(n) if n as u64 != file.read.packets => found.push(format!("packets {n}, here {}", file.read.packets)),
        _ => {}
    }
    if let Some(n) = number("data_bytes").filter(|n| *n as u64 != file.read.wire_octets) {
        found.push(format!("octets {n}, here {}", file.read.wire_octets));
    }
    let duration = file.read.last_ns.zip(file.read.first_ns).map_or(0, |(a, b)| a - b) as f64 / 1e9;
    if let Some(n) = number("duration_s").filter(|n| (n - duration).abs() > 1e-6) {
        found.push(format!("duration {n}, here {duration}"));
    }
    let fails = expected["tshark_rc"].as_i64() != Some(0);
    if fails != file.error.is_some() && capinfos["packets"].is_string() {
        found.push(format!("tshark: {}, here {:?}", expected["tshark_stderr"], file.error));
    }
    (!found.is_empty()).then(|| found.join("; "))
}
