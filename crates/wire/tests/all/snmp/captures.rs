//! Captures of others: what tshark reads of SNMP there, we read.

use super::*;
use crate::support::{Packet, innermost, packets, shared};
use trunkline_wire::Decoded;
use trunkline_wire::ip_reassembly::Fragments;
use trunkline_wire::snmp::{Contents, Message, PORT, Pdu, ScopedPdu, TRAP_PORT, V3};

/// Files with SNMP in them, and the messages that are malformed, with why.
const FILES: &[(&str, usize)] = &[
    ("suricata-verify/SNMPv2c_get_requests.pcap", 0),
    ("nDPI/snmp.pcap", 0),
    ("zeek/snmp-crash-62790.pcap", 0),
    ("zeek/snmpv1_get.pcap", 0),
    ("zeek/snmpv1_set.pcap", 0),
    ("zeek/snmpv1_trap.pcap", 0),
];

/// The payloads to and from agents' ports.
fn payloads(file: &std::path::Path) -> Vec<Vec<u8>> {
    let mut fragments = Fragments::new();
    let payload = |packet: &Packet| {
        let (decoded, octets) = innermost(&mut fragments, packet);
        let Decoded::Udp(datagram) = decoded else { return None };
        let ports = [datagram.src_port, datagram.dst_port];
        let payload = &octets[datagram.payload_start as usize..][..datagram.payload_captured as usize];
        ports.iter().any(|port| [PORT, TRAP_PORT].contains(port)).then(|| payload.to_vec())
    };
    packets(file).iter().filter_map(payload).collect()
}

/// Names and request-ids as tshark has them, a line for each message.
fn oracle(file: &std::path::Path) -> Vec<String> {
    let fields = ["snmp.request_id", "snmp.name"];
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-Y", "snmp", "-o", "snmp.display_oid:FALSE", "-T", "fields"]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let done = command.output().expect("it is there");
    String::from_utf8_lossy(&done.stdout).lines().map(str::to_owned).collect()
}

fn ours(octets: &[u8]) -> Result<String, String> {
    let message = Message::new(octets).map_err(|error| error.to_string())?;
    let pdu = match message {
        Message::Community { pdu, .. } | Message::V3(V3 { data: Contents::Plain(ScopedPdu { pdu, .. }), .. }) => pdu,
        Message::V3(_) => return Ok("\t".to_owned()),
    };
    let names: Result<Vec<String>, _> = pdu.varbinds().map(|varbind| varbind.map(|v| v.name.to_string())).collect();
    let names = names.map_err(|error| error.to_string())?;
    let request_id = if let Pdu::Exchange(exchange) = pdu { exchange.request_id.to_string() } else { String::new() };
    Ok(format!("{request_id}\t{}", names.join(",")))
}

#[test]
fn captures_are_read_as_tshark_reads_them() {
    let Some(folder) = shared() else { return };
    if !has("tshark") {
        return;
    }
    let mut messages = 0;
    for (file, malformed) in FILES {
        let path = folder.join("captures").join(file);
        let (payloads, oracle) = (payloads(&path), oracle(&path));
        assert_eq!(payloads.len(), oracle.len(), "{file}");
        let mut bad = 0;
        for (octets, expected) in payloads.iter().zip(&oracle) {
            match ours(octets) {
                Ok(read) => assert_eq!(read, *expected, "{file}"),
                Err(_) => bad += 1,
            }
            messages += 1;
        }
        assert_eq!(bad, *malformed, "{file}");
    }
    assert!(messages > 100, "{messages}");
}
