//! All shared captures: what decodes, counted as the oracle counts it.

use crate::support;
use serde_json::Value;
use std::collections::BTreeMap;
use trunkline_wire::ip_reassembly::Fragments;
use trunkline_wire::tcp_reassembly::{Connections, Direction, What};
use trunkline_wire::{Decoded, exercise};

/// Transports of a file: UDP, TCP, SCTP.
type Counts = [u64; 3];

fn counted(file: &std::path::Path) -> Counts {
    let mut counts = [0; 3];
    let mut fragments = Fragments::new();
    for packet in support::packets(file) {
        count(&mut counts, &support::innermost(&mut fragments, &packet).0);
    }
    counts
}

fn count(counts: &mut Counts, decoded: &Decoded) {
    match decoded {
        Decoded::Udp(_) => counts[0] += 1,
        Decoded::Tcp(..) => counts[1] += 1,
        Decoded::Sctp(_) => counts[2] += 1,
        _ => {}
    }
}

/// The oracle's counts. It counts each layer of a packet, so the UDP around these tunnels is taken off again.
fn expected(frames: &Value) -> Counts {
    let of = |name: &str| frames[name].as_u64().unwrap_or(0);
    [of("udp").saturating_sub(of("vxlan") + of("geneve")), of("tcp"), of("sctp")]
}

/// Files where the counts differ, with ours and why.
const EXPLAINED: &[(&str, Counts, &str)] = &[
    ("gopacket/le-test901.pcapng", [3, 0, 0], "the oracle stops at a section that it cannot read"),
    ("libpcap/AH-IPcomp-IPv4.pcap", [0, 6, 0], "the oracle inflates IPComp"),
    ("libpcap/brcm-tag.pcap", [8, 0, 0], "the oracle does not know the link type"),
    ("nDPI/fuzz-2006-09-29-28586.pcap", [0, 114, 0], "TCP headers with a wrong offset are malformed to us"),
    ("nDPI/ipv6_in_gtp.pcap", [1, 0, 0], "the UDP around GTP is not counted; what is inside one packet is encrypted"),
    ("nDPI/kerberos_fuzz.pcapng", [0, 0, 0], "a TCP header with a wrong offset is malformed to us"),
    ("nDPI/tls_invalid_reads.pcap", [0, 12, 0], "the UDP around GTP is not counted"),
    (
        "open5gs/ipsec_reg.pcapng",
        [98, 893, 72],
        "the UDP around GTP is not counted; ESP without encryption is read; the oracle counts a bundled S1AP message as SCTP again",
    ),
    (
        "open5gs/nonipsec_reg.pcapng",
        [100, 719, 46],
        "the UDP around GTP is not counted; the oracle counts bundled S1AP messages as SCTP again",
    ),
    (
        "open5gs/volte.pcapng",
        [261, 60, 38],
        "the UDP around GTP is not counted; the oracle counts bundled S1AP messages as SCTP again",
    ),
    ("suricata-verify/decode-too-small-test.pcap", [0, 0, 0], "UDP headers that were cut are malformed to us"),
    ("suricata-verify/ip_secopt.pcap", [3, 0, 0], "the oracle gives up at a wrong IP option; we pass options"),
    ("tcpdump/LINKTYPE_IPV4_invalid.pcap", [0, 0, 0], "IPv6 in a link type for IPv4 is malformed to us"),
    (
        "tcpdump/bgp-bgp_capabilities_print-oobr-1.pcap",
        [0, 0, 0],
        "first fragments whose rest never came: the oracle looks into them when they are cut",
    ),
    (
        "tcpdump/bgp-bgp_capabilities_print-oobr-2.pcap",
        [0, 0, 0],
        "first fragments whose rest never came: the oracle looks into them when they are cut",
    ),
    (
        "tcpdump/bigtcp-ipv4-geneve-ipv4.pcap",
        [0, 1, 0],
        "the oracle takes IP length 0 for an error; we read to the captured end",
    ),
    (
        "tcpdump/bigtcp-ipv4-vxlan-ipv4.pcap",
        [0, 1, 0],
        "the oracle takes IP length 0 for an error; we read to the captured end",
    ),
    (
        "tcpdump/bigtcp-ipv6-geneve-ipv4.pcap",
        [0, 1, 0],
        "the oracle takes IP length 0 for an error; we read to the captured end",
    ),
    (
        "tcpdump/bigtcp-ipv6-vxlan-ipv6.pcap",
        [0, 1, 0],
        "the oracle takes IP length 0 for an error; we read to the captured end",
    ),
    (
        "tcpdump/dhcp6_reconf_asan.pcap",
        [0, 0, 0],
        "first fragments whose rest never came: the oracle looks into them when they are cut",
    ),
    (
        "tcpdump/esp_truncated.pcap",
        [0, 0, 0],
        "first fragments whose rest never came: the oracle looks into them when they are cut",
    ),
    (
        "tcpdump/ikev1_id_ipv6_addr_subnet-oobr.pcap",
        [0, 0, 0],
        "first fragments whose rest never came: the oracle looks into them when they are cut",
    ),
    (
        "tcpdump/isakmp-various-oobr.pcap",
        [0, 0, 0],
        "first fragments whose rest never came: the oracle looks into them when they are cut",
    ),
    (
        "tcpdump/isakmpv1-attr-oobr.pcap",
        [0, 0, 0],
        "first fragments whose rest never came: the oracle looks into them when they are cut",
    ),
    (
        "tcpdump/ldp-ldp_tlv_print-oobr.pcap",
        [0, 0, 0],
        "first fragments whose rest never came: the oracle looks into them when they are cut",
    ),
    (
        "tcpdump/lmp-lmp_print_data_link_subobjs-oobr.pcap",
        [0, 0, 0],
        "first fragments whose rest never came: the oracle looks into them when they are cut",
    ),
    ("tcpdump/mpls-over-udp.pcap", [0, 0, 0], "the UDP around MPLS is not counted"),
    (
        "tcpdump/olsr-oobr-1.pcap",
        [0, 0, 0],
        "first fragments whose rest never came: the oracle looks into them when they are cut",
    ),
    (
        "tcpdump/rpki-rtr-oobr.pcap",
        [0, 0, 0],
        "first fragments whose rest never came: the oracle looks into them when they are cut",
    ),
    ("tcpdump/udp-length-heapoverflow.pcap", [0, 0, 0], "a UDP header that was cut is malformed to us"),
    ("zeek/gre-aruba-amsdu.pcap", [0, 1, 0], "the oracle does not count inside an aggregate"),
    ("zeek/gre-over-udp-4754.pcap", [4, 10, 0], "the UDP around GRE is not counted"),
    ("zeek/gtp6_gtp_0x32.pcap", [0, 31, 0], "the UDP around GTP is not counted"),
    ("zeek/gtp7_ipv6.pcap", [1, 0, 0], "the UDP around GTP is not counted"),
    ("zeek/gtp8_teredo.pcap", [0, 0, 0], "the UDP around GTP and Teredo is not counted"),
    (
        "zeek/gtp9_unknown_or_too_short_payload.pcap",
        [2, 10, 0],
        "the UDP around GTP is not counted; a TCP header that was cut is no packet to us, the UDP around it is",
    ),
    ("zeek/gtp_ext_header.pcap", [0, 1, 0], "the UDP around GTP is not counted"),
    ("zeek/pdp_ctx_messages.pcapng", [12, 0, 0], "the UDP around GTP is not counted"),
    ("zeek/teredo_bubble_with_payload.pcap", [25, 0, 0], "the UDP around Teredo is not counted"),
    ("zeek/geneve-truncated.pcapng", [1, 0, 0], "what is inside Geneve was cut: we keep the UDP around it"),
];

#[test]
fn transports_are_counted_as_the_oracle_counts_them() {
    let Some(shared) = support::shared() else { return };
    let text = std::fs::read_to_string(shared.join("captures/expected.json")).unwrap();
    let oracle: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
    let explained: BTreeMap<&str, Counts> = EXPLAINED.iter().map(|(file, counts, _)| (*file, *counts)).collect();
    let mut differences = Vec::new();
    for (file, value) in &oracle {
        let theirs = expected(&value["frames_by_protocol"]);
        let ours = counted(&shared.join("captures").join(file));
        if ours != explained.get(file.as_str()).copied().unwrap_or(theirs) {
            differences.push(format!("{file} {ours:?} {theirs:?} {}", value["frames_by_protocol"]));
        }
    }
    assert_eq!(differences, Vec::<String>::new());
}

/// A direction of a connection: its octets, gaps marked as the oracle marks them.
#[derive(Default)]
struct Way {
    octets: Vec<u8>,
    gap: u32,
}

impl Way {
    fn push(&mut self, octets: &[u8]) {
        // Gaps that follow each other are one to the oracle.
        let gap = std::mem::take(&mut self.gap);
        if gap > 0 {
            self.octets.extend(format!("[{gap} bytes missing in capture file]\0").into_bytes());
        }
        self.octets.extend_from_slice(octets);
    }
}

/// The two directions of each connection, by first packet.
fn streams(file: &std::path::Path) -> Vec<[Vec<u8>; 2]> {
    let mut streams: Vec<[Way; 2]> = Vec::new();
    let mut places = BTreeMap::new();
    let (mut fragments, mut connections) = (Fragments::new(), Connections::new());
    let mut sink = |event: trunkline_wire::tcp_reassembly::Event<usize>| {
        let place = *places.entry(event.connection).or_insert_with(|| {
            streams.push(Default::default());
            streams.len() - 1
        });
        let way = &mut streams[place][usize::from(event.direction == Direction::Backward)];
        match event.what {
            What::Octets { octets, .. } => way.push(octets),
            What::Gap(gap) => way.gap += gap.octets,
            What::End(_) => {}
        }
    };
    for (n, packet) in support::packets(file).iter().enumerate() {
        if let (Decoded::Tcp(d, header), octets) = support::innermost(&mut fragments, packet) {
            let payload = &octets[d.payload_start as usize..][..d.payload_captured as usize];
            connections.push(packet.at_ns, n, &d, &header, payload, &mut sink);
        }
    }
    connections.finish(&mut sink);
    streams.into_iter().map(|ways| ways.map(|way| way.octets)).collect()
}

/// What `tshark -z follow` makes of a connection: from its client, and from its server.
fn followed(file: &std::path::Path, number: usize) -> Option<[Vec<u8>; 2]> {
    let output = std::process::Command::new("tshark")
        .args(["-q", "-z", &format!("follow,tcp,raw,{number}"), "-r"])
        .arg(file)
        .output()
        .ok()?;
    let mut ways = <[Vec<u8>; 2]>::default();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let (way, digits) = (usize::from(line.starts_with('\t')), line.trim());
        if !digits.is_empty() && digits.bytes().all(|o| o.is_ascii_hexdigit()) {
            let octet = |n| u8::from_str_radix(&digits[n..n + 2], 16).unwrap_or(0);
            ways[way].extend((0..digits.len()).step_by(2).map(octet));
        }
    }
    Some(ways)
}

/// Captures with connections to compare, and how many of each.
const FOLLOWED: &[(&str, usize)] = &[
    ("heplify/sip_ipv4_tcp.pcap", 1),
    ("heplify/sip_tcp_websocket.pcap", 1),
    ("sngrep/aaa.pcap", 4),
    ("sngrep/ipip.pcap", 1),
    ("suricata-verify/sip-tcp.pcap", 1),
    ("nDPI/http_on_sip_port.pcap", 1),
    ("PcapPlusPlus/sip_resp.pcap", 1),
    ("zeek/vxlan-overlapping-http-get.pcap", 1),
    ("nDPI/ocsp.pcapng", 4),
    ("open5gs/volte.pcapng", 7),
    ("zeek/erspan.pcap", 5),
    ("nDPI/bittorrent_tcp_miss.pcapng", 1),
    ("nDPI/smb_frags.pcap", 1),
    ("nDPI/kerberos.pcap", 6),
    ("tcpreplay/test-test.pcap", 7),
];

#[test]
fn tcp_streams_are_what_the_oracle_follows() {
    let Some(shared) = support::shared() else { return };
    for (name, connections) in FOLLOWED {
        let file = shared.join("captures").join(name);
        let ours = streams(&file);
        for number in 0..*connections {
            let Some(theirs) = followed(&file, number) else { return println!("SKIPPED: no tshark") };
            let [a, b] = theirs.clone();
            // Where no SYN was seen, either side may be taken for the client.
            let same = ours.contains(&theirs) || ours.contains(&[b, a]);
            assert!(same || theirs.iter().all(Vec::is_empty), "{name} connection {number}");
        }
    }
}

/// Every capture through everything that puts together, and every fuzz seed through every target: nothing panics.
#[test]
fn nothing_panics() {
    let Some(shared) = support::shared() else { return };
    let mut files = Vec::new();
    support::walk(&shared.join("captures"), &mut files);
    files.iter().for_each(|file| drop(streams(file)));
    files.clear();
    support::walk(&shared.join("fuzz-seeds"), &mut files);
    for octets in files.iter().filter_map(|file| std::fs::read(file).ok()) {
        for target in [exercise::decode, exercise::ip_reassembly, exercise::tcp_reassembly, exercise::sctp] {
            target(&octets);
        }
    }
}
