//! GTP' against tshark: each message that is built decodes there without a complaint and says the same.

use std::path::{Path, PathBuf};
use std::process::Command;
use trunkline_wire::gtpp::records::{FormatVersion, format};
use trunkline_wire::gtpp::*;
use trunkline_wire::pcap::emit;
use trunkline_wire::{Address, exercise};

/// What is asked of tshark: fields whose values come as `a,b;c;...`.
const FIELDS: [&str; 19] = [
    "gtp.flags",
    "gtp.message",
    "gtp.length",
    "gtp.seq_number",
    "gtp.cause",
    "gtp.recovery",
    "gtp.tr_comm",
    "gtp.chrg_ipv4",
    "gtp.chrg_ipv6",
    "gtp.node_ipv4",
    "gtp.node_ipv6",
    "gtp.seq_num_released",
    "gtp.seq_num_canceled",
    "gtp.requests_responded",
    "gtp.number_of_data_records",
    "gtp.data_record_format",
    "gtp.cdr_rel",
    "_ws.malformed",
    "_ws.expert.message",
];

/// A capture of datagrams to port 3386.
fn capture(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    emit::header(&mut file, 101, 65_535);
    for (n, message) in messages.iter().enumerate() {
        let mut packet = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet[2..4].copy_from_slice(&((28 + message.len()) as u16).to_be_bytes());
        packet.extend_from_slice(&[0x9c, 0x40]);
        packet.extend_from_slice(&PORT.to_be_bytes());
        packet.extend_from_slice(&((8 + message.len()) as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 0]);
        packet.extend_from_slice(message);
        emit::record(&mut file, 1_700_000_000_000_000_000 + n as i64, packet.len() as u32, &packet);
    }
    file
}

/// A line of fields for each message; none without tshark.
fn tshark(messages: &[Vec<u8>]) -> Option<Vec<Vec<String>>> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gtpp.pcap");
    std::fs::write(&file, capture(messages)).unwrap();
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&file).args(["-T", "fields", "-E", "separator=;"]);
    FIELDS.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let Ok(done) = command.output() else {
        println!("SKIPPED: no tshark");
        return None;
    };
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let mut lines: Vec<Vec<String>> = text.lines().map(|line| line.split(';').map(str::to_owned).collect()).collect();
    // Lengths of elements have the name of the message's.
    for line in &mut lines {
        let comma = line[2].find(',').unwrap_or(line[2].len());
        line[2].truncate(comma);
    }
    Some(lines)
}

/// The same fields as we read them.
fn ours(octets: &[u8]) -> Vec<String> {
    let message = Message::new(octets).unwrap();
    let length = octets.len() - message.header.version.header_octets();
    let of = |kind: u8, shown: &dyn Fn(&Element<'_>) -> String| {
        let found: Vec<String> = message.elements().flatten().filter(|e| e.kind == kind).map(|e| shown(&e)).collect();
        found.join(",")
    };
    let octet = |e: &Element<'_>| e.octet().unwrap().to_string();
    let numbers =
        |e: &Element<'_>| e.sequence_numbers().unwrap().iter().map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let addresses = |kind: u8, v4: bool| {
        let all = message.elements().flatten().filter(|e| e.kind == kind).map(|e| e.address().unwrap());
        all.filter(|a| a.is_v4() == v4).map(|a| a.to_string()).collect::<Vec<_>>().join(",")
    };
    let packet = match message.body() {
        Ok(Body::DataRecordTransferRequest(TransferCommand::Send { packet, .. })) => packet,
        _ => None,
    };
    let of_packet =
        |shown: &dyn Fn(&records::DataRecordPacket<'_>) -> u8| packet.map_or(String::new(), |p| shown(&p).to_string());
    vec![
        format!("0x{:02x}", octets[0]),
        format!("0x{:02x}", message.header.kind),
        length.to_string(),
        format!("0x{:04x}", message.header.sequence),
        of(element::CAUSE, &octet),
        of(element::RECOVERY, &octet),
        of(element::PACKET_TRANSFER_COMMAND, &octet),
        addresses(element::NODE_ADDRESS, true),
        addresses(element::NODE_ADDRESS, false),
        addresses(element::RECOMMENDED_NODE_ADDRESS, true),
        addresses(element::RECOMMENDED_NODE_ADDRESS, false),
        of(element::RELEASED_PACKETS, &numbers),
        of(element::CANCELLED_PACKETS, &numbers),
        of(element::REQUESTS_RESPONDED, &numbers),
        of_packet(&|p| p.count),
        of_packet(&|p| p.format),
        // Of a format that is an operator's own it does not look at the version.
        packet.filter(|p| p.format == format::BER).map_or(String::new(), |p| p.version.release.to_string()),
        String::new(),
        String::new(),
    ]
}

/// Every message with every element, in a version of its own.
fn messages(version: Version) -> Vec<Vec<u8>> {
    let (v4, v6): (Address, Address) = ("192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap());
    let written = |kind: u8, write: &dyn Fn(Writer<'_>) -> Writer<'_>| {
        let mut out = Vec::new();
        write(Writer::new(&mut out, &Header { version, kind, sequence: 0x1234 })).finish().unwrap();
        out
    };
    let release = FormatVersion { application: 1, release: 9, version: 5 };
    // A record of an operator's own format: nobody looks into it.
    let records = [&b"\x00first"[..], b"\x00second"];
    vec![
        written(message_type::ECHO_REQUEST, &|w| w),
        written(message_type::ECHO_RESPONSE, &|w| w.recovery(255)),
        written(message_type::VERSION_NOT_SUPPORTED, &|w| w),
        written(message_type::NODE_ALIVE_REQUEST, &|w| {
            w.address(element::NODE_ADDRESS, v4).address(element::NODE_ADDRESS, v6)
        }),
        written(message_type::NODE_ALIVE_RESPONSE, &|w| w),
        written(message_type::REDIRECTION_REQUEST, &|w| {
            w.cause(cause::THIS_NODE_GOES_DOWN).address(element::RECOMMENDED_NODE_ADDRESS, v4)
        }),
        written(message_type::REDIRECTION_RESPONSE, &|w| w.cause(cause::REQUEST_ACCEPTED)),
        written(message_type::DATA_RECORD_TRANSFER_REQUEST, &|w| w.records(true, 11, release, records)),
        written(message_type::DATA_RECORD_TRANSFER_REQUEST, &|w| {
            w.command(TransferCommand::CANCEL).sequence_numbers(element::CANCELLED_PACKETS, &[1, 2, 65_535])
        }),
        written(message_type::DATA_RECORD_TRANSFER_REQUEST, &|w| {
            w.command(TransferCommand::RELEASE).sequence_numbers(element::RELEASED_PACKETS, &[7])
        }),
        written(message_type::DATA_RECORD_TRANSFER_RESPONSE, &|w| {
            w.cause(cause::ALREADY_FULFILLED).sequence_numbers(element::REQUESTS_RESPONDED, &[1, 2, 3])
        }),
    ]
}

#[test]
fn tshark_reads_what_is_written() {
    let all: Vec<Vec<u8>> =
        [Version::V0Long, Version::V0, Version::V1, Version::V2].into_iter().flat_map(messages).collect();
    let Some(theirs) = tshark(&all) else { return };
    assert_eq!(theirs.len(), all.len());
    for (octets, theirs) in all.iter().zip(theirs) {
        exercise::gtpp(octets);
        assert_eq!(ours(octets), theirs, "{}", Message::new(octets).unwrap());
    }
}

#[test]
fn the_captured_transfer_is_read() {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("TRUNKLINE_SHARED").map_or_else(beside, PathBuf::from);
    let Ok(entries) = std::fs::read_dir(shared.join("fuzz-seeds/gtp-prime-v0")) else {
        println!("SKIPPED: no shared captures");
        return;
    };
    let seeds: Vec<Vec<u8>> = entries.filter_map(|e| std::fs::read(e.ok()?.path()).ok()).collect();
    seeds.iter().for_each(|octets| exercise::gtpp(octets));
    // The others there are GTP version 0 itself.
    let whole: Vec<Vec<u8>> = seeds.into_iter().filter(|octets| Message::new(octets).is_ok()).collect();
    assert!(!whole.is_empty());
    let Some(theirs) = tshark(&whole) else { return };
    for (octets, theirs) in whole.iter().zip(theirs) {
        assert_eq!(ours(octets)[..17], theirs[..17]);
        let Ok(Body::DataRecordTransferRequest(TransferCommand::Send { packet, .. })) =
            Message::new(octets).unwrap().body()
        else {
            panic!()
        };
        let packet = packet.unwrap();
        assert_eq!((packet.format, packet.records().map(<[u8]>::len).collect::<Vec<_>>()), (format::BER, vec![233]));
    }
}
