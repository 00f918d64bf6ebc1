//! What tshark makes of a conversation.

use super::recorder::Said;
use std::collections::HashMap;
use std::process::Command;
use trunkline_wire::pcap::emit;

const RAW_IP: u16 = 101;
/// Of Diameter, by which tshark knows it.
const SERVER_PORT: u16 = 3868;
const FIRST_CLIENT_PORT: u16 = 40_000;
const FIELDS: [&str; 8] = [
    "frame.number",
    "diameter.cmd.code",
    "diameter.flags.request",
    "diameter.answer_in",
    "diameter.answer_to",
    "diameter.avp.unknown",
    "_ws.malformed",
    "_ws.expert.message",
];

/// What it remarks of a group without AVPs, such as Requested-Service-Unit of who leaves it to the server how much
/// (RFC 8506 section 8.18).
pub const EMPTY_GROUP: &str = "Data is empty";

/// A message as tshark shows it; frames are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    pub command: u32,
    pub request: bool,
    /// The frame of its answer, or of its request.
    pub partner: Option<usize>,
    /// What is odd about it.
    pub complaints: Vec<String>,
}

/// The messages, each in a segment of its connection.
fn capture(said: &[Said]) -> Vec<u8> {
    let mut file = Vec::new();
    emit::header(&mut file, RAW_IP, 65_535);
    let mut sent: HashMap<(usize, bool), u32> = HashMap::new();
    for said in said {
        let of = |by_client| sent.get(&(said.connection, by_client)).copied().unwrap_or(0) + 1;
        let packet = packet(said, of(said.by_client), of(!said.by_client));
        *sent.entry((said.connection, said.by_client)).or_default() += said.octets.len() as u32;
        emit::record(&mut file, said.at_ns, packet.len() as u32, &packet);
    }
    file
}

/// An IPv4 packet without checksums, whose TCP segment has the message.
fn packet(said: &Said, sequence: u32, acknowledged: u32) -> Vec<u8> {
    let length = (40 + said.octets.len()) as u16;
    let client = FIRST_CLIENT_PORT + said.connection as u16;
    let (from, to) = if said.by_client { (client, SERVER_PORT) } else { (SERVER_PORT, client) };
    let mut packet = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1];
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet.extend_from_slice(&from.to_be_bytes());
    packet.extend_from_slice(&to.to_be_bytes());
    packet.extend_from_slice(&sequence.to_be_bytes());
    packet.extend_from_slice(&acknowledged.to_be_bytes());
    packet.extend_from_slice(&[0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
    packet.extend_from_slice(&said.octets);
    packet
}

/// Every message of a conversation, decoded.
pub fn decoded(said: &[Said]) -> Vec<Decoded> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("gy.pcap");
    std::fs::write(&file, capture(said)).expect("a file");
    let mut command = Command::new("tshark");
    command.arg("-2").arg("-r").arg(&file).args(["-T", "fields", "-E", "separator=|"]);
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let done = command.output().expect("tshark");
    let (out, error) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "tshark: {error}");
    out.lines().map(read).collect()
}

fn read(line: &str) -> Decoded {
    let fields: Vec<&str> = line.splitn(FIELDS.len(), '|').collect();
    let number = |at: usize| fields[at].parse().ok();
    Decoded {
        command: number(1).unwrap_or_else(|| panic!("not one message: {line}")) as u32,
        request: matches!(fields[2], "1" | "True"),
        partner: number(3).or(number(4)),
        complaints: fields[5..]
            .iter()
            .flat_map(|field| field.split(','))
            .filter(|c| !c.is_empty())
            .map(str::to_owned)
            .collect(),
    }
}
