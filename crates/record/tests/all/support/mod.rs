//! Captures to try queries on, and what to ask them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use trunkline_capture::{Batch, FileSource};
use trunkline_record::index::{Headers, Kind};
use trunkline_wire::{Address, decode};

/// Octets of a capture that is tried.
const FILE_OCTETS_MAX: u64 = 600_000;

/// The captures that were given to all, if they are there: those that can be read at any place, about `count` of them.
pub fn captures(count: usize) -> Vec<PathBuf> {
    let shared = std::env::var_os("TRUNKLINE_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let mut found = Vec::new();
    walk(&shared.join("captures"), &mut found);
    if found.is_empty() {
        println!("SKIPPED: no shared captures");
    }
    found.sort();
    let step = (found.len() / count.max(1)).max(1);
    found.into_iter().step_by(step).collect()
}

fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        if kind.as_ref().is_ok_and(|k| k.is_dir()) {
            walk(&path, out);
        } else if path.extension().is_some_and(|e| e == "pcap" || e == "pcapng" || e == "cap")
            && entry.metadata().is_ok_and(|m| m.len() <= FILE_OCTETS_MAX)
        {
            out.push(path);
        }
    }
}

/// A packet of a capture.
pub struct Packet {
    pub link: u16,
    pub wire: u32,
    pub offset: u64,
    pub octets: Vec<u8>,
}

/// The packets of a capture; none if it is damaged, compressed or no capture.
pub fn packets(path: &Path) -> Option<Vec<Packet>> {
    let mut source = FileSource::open(&[path.to_path_buf()]);
    let (mut batch, mut found) = (Batch::default(), Vec::new());
    while source.fill(&mut batch) {
        found.extend(batch.packets.iter().map(|p| Packet {
            link: p.link,
            wire: p.wire,
            offset: p.offset,
            octets: batch.octets_of(p).to_vec(),
        }));
    }
    let file = &source.files()[0];
    (file.error.is_none() && !file.format.contains("in ")).then_some(found)
}

/// Expressions of plain words: some about anything, some about addresses and ports of these packets.
pub fn expressions(packets: &[Packet]) -> Vec<String> {
    let mut all: Vec<String> = [
        "ip",
        "ip6",
        "arp",
        "rarp",
        "tcp",
        "udp",
        "sctp",
        "icmp",
        "icmp6",
        "igmp",
        "esp",
        "ah",
        "pim",
        "vrrp",
        "proto 47",
        "ip proto 4",
        "ip6 proto 44",
        "ip6 proto 0",
        "port 5060",
        "udp port 5060 or 5070",
        "tcp port 80 and not port 443",
        "portrange 1000-20000",
        "src portrange 0-1023",
        "dst port 53",
        "src and dst port 5060",
        "sctp port 2905",
        "not udp",
        "not (udp or tcp)",
        "udp or tcp and ip6",
        "net 10",
        "net 192.168.0.0/16",
        "src net 10.0.0.0/8",
        "not net 127.0.0.0/8 and ip",
        "vlan",
        "vlan 100",
        "vlan and ip",
        "vlan and udp port 5060",
        "vlan and vlan",
        "vlan and vlan and tcp",
        "not vlan and ip",
        "vlan or ip",
        "mpls",
        "mpls and ip",
        "mpls and mpls and udp",
        "mpls 100 and host 10.0.0.1",
        "vlan and mpls and tcp",
        "net ::/0",
        "net fe80::/10",
        "net 2001:db8::/32",
        "arp net 10.0.0.0/8",
        "ip net 0.0.0.0/1",
        "host 0.0.0.0",
        "not port 5060",
        "port sip or port sips",
    ]
    .map(str::to_owned)
    .to_vec();
    let (hosts, ports) = endpoints(packets);
    for (n, host) in hosts.iter().enumerate() {
        all.extend([format!("host {host}"), format!("src host {host}"), format!("dst host {host}")]);
        let port = ports.iter().nth(n % ports.len().max(1)).copied().unwrap_or(9);
        all.push(format!("host {host} and port {port}"));
        all.push(format!("src {host} or dst port {port} or vlan and dst {host}"));
        if host.is_v4() {
            let net = host.to_string().rsplit_once('.').map(|n| n.0.to_owned()).unwrap_or_default();
            all.extend([format!("net {net}.0/24"), format!("arp host {host}"), format!("ip src {host} and not arp")]);
        } else {
            all.push(format!("ip6 host {host} and not (tcp port {port})"));
        }
    }
    all.extend(ports.iter().map(|port| format!("udp src port {port} or tcp dst port {port} or sctp port {port}")));
    all
}

/// Expressions with our own word.
pub fn inner_expressions(packets: &[Packet]) -> Vec<String> {
    let (hosts, ports) = endpoints(packets);
    let mut all = vec!["inner udp".to_owned(), "not inner ip6".to_owned(), "udp port 2152 and inner tcp".to_owned()];
    all.extend(hosts.iter().map(|host| format!("inner host {host} or inner src port 5060")));
    all.extend(ports.iter().map(|port| format!("inner (udp port {port} or dst port {port})")));
    all
}

/// A few addresses and ports, innermost and outermost.
fn endpoints(packets: &[Packet]) -> (BTreeSet<Address>, BTreeSet<u16>) {
    let (mut hosts, mut ports) = (BTreeSet::new(), BTreeSet::new());
    for packet in packets.iter().step_by((packets.len() / 8).max(1)) {
        let outermost = Headers::outermost(packet.link, &packet.octets);
        let innermost = Headers::innermost(&decode(packet.link, &packet.octets), &outermost);
        for headers in [outermost, innermost].iter().filter(|h| h.kind != Kind::Link) {
            let layer = headers.layer();
            hosts.extend([layer.a, layer.b]);
            ports.extend([layer.a_port, layer.b_port]);
        }
    }
    (hosts.into_iter().take(6).collect(), ports.into_iter().take(6).collect())
}
