//! Public captures: the SIP messages found in them, over UDP, TCP and WebSocket, are those that another decoder found.
//!
//! The reader here knows just enough of pcap, Ethernet and IP; a capture that holds anything else is left to the tests
//! of the crates that read captures.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use trunkline_wire::sip::stream::Splitter;
use trunkline_wire::sip::{Message, StartLine, scan};

fn shared() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dir = std::env::var_os("TRUNKLINE_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    dir.join("captures/expected.json").is_file().then_some(dir)
}

/// What both decoders count.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    requests: BTreeMap<String, u64>,
    responses: BTreeMap<String, u64>,
    call_ids: BTreeSet<Vec<u8>>,
}

impl Seen {
    fn note(&mut self, m: &Message<'_>) {
        match m.start() {
            StartLine::Request { method_name, .. } => {
                *self.requests.entry(String::from_utf8_lossy(method_name).into_owned()).or_default() += 1;
            }
            StartLine::Response { status, .. } => *self.responses.entry(status.to_string()).or_default() += 1,
        }
        if !m.call_id().is_empty() {
            self.call_ids.insert(m.call_id().to_vec());
        }
        m.validate();
    }
}

/// One direction of a TCP connection: the splitter, the next sequence number, and segments that came early.
struct Direction {
    splitter: Splitter<usize>,
    next: u32,
    early: BTreeMap<u32, Vec<u8>>,
}

#[derive(Default)]
struct Reader {
    seen: Seen,
    tcp: HashMap<Vec<u8>, Direction>,
}

impl Reader {
    /// None if the packet holds something that this reader does not know.
    fn packet(&mut self, link: u32, packet: &[u8], number: usize) -> Option<()> {
        let (mut kind, mut rest) = match link {
            1 => (be16(packet, 12)?, packet.get(14..)?),
            113 => (be16(packet, 14)?, packet.get(16..)?),
            101 => (if packet.first()? >> 4 == 6 { 0x86dd } else { 0x0800 }, packet),
            _ => return None,
        };
        while kind == 0x8100 {
            kind = be16(rest, 2)?;
            rest = rest.get(4..)?;
        }
        let (protocol, hosts, payload) = match kind {
            0x0800 => {
                let header = usize::from(rest.first()? & 15) * 4;
                if be16(rest, 6)? & 0x3fff != 0 {
                    return None;
                }
                let total = usize::from(be16(rest, 2)?).min(rest.len());
                (*rest.get(9)?, rest.get(12..20)?, rest.get(header..total.max(header))?)
            }
            0x86dd => (*rest.get(6)?, rest.get(8..40)?, rest.get(40..)?),
            0x8863 | 0x8864 | 0x8847 => return None,
            _ => return Some(()),
        };
        match protocol {
            17 => self.udp(payload),
            6 => self.segment([hosts, payload.get(..4)?].concat(), payload, number),
            1 | 2 | 58 => Some(()),
            _ => None,
        }
    }

    fn udp(&mut self, udp: &[u8]) -> Option<()> {
        let len = usize::from(be16(udp, 4)?).saturating_sub(8);
        let payload = udp.get(8..)?;
        let whole = payload.len() >= len;
        if let Some(m) = scan(payload.get(..len).unwrap_or(payload), whole) {
            self.seen.note(&m);
        }
        Some(())
    }

    fn segment(&mut self, key: Vec<u8>, tcp: &[u8], number: usize) -> Option<()> {
        let seq = u32::from_be_bytes(tcp.get(4..8)?.try_into().ok()?);
        let header = usize::from(tcp.get(12)? >> 4) * 4;
        let (syn, payload) = (tcp.get(13)? & 2 != 0, tcp.get(header..)?);
        let direction = self.tcp.entry(key).or_insert_with(|| Direction {
            splitter: Splitter::new(syn),
            next: seq.wrapping_add(u32::from(syn)),
            early: BTreeMap::new(),
        });
        if !payload.is_empty() && !syn {
            direction.early.insert(seq, payload.to_vec());
        }
        let seen = &mut self.seen;
        while let Some((&seq, _)) = direction.early.iter().find(|(s, _)| direction.next.wrapping_sub(**s) < 1 << 31) {
            let octets = direction.early.remove(&seq)?;
            let old = direction.next.wrapping_sub(seq) as usize;
            if let Some(fresh) = octets.get(old..).filter(|f| !f.is_empty()) {
                direction.splitter.push(0, number, fresh, &mut |f| seen.note(&f.message));
                direction.next = direction.next.wrapping_add(fresh.len() as u32);
            }
        }
        Some(())
    }
}

fn be16(octets: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(octets.get(at..at + 2)?.try_into().ok()?))
}

fn le32(octets: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(octets.get(at..at + 4)?.try_into().ok()?))
}

fn read(file: &[u8]) -> Option<Seen> {
    if !matches!(le32(file, 0)?, 0xa1b2_c3d4 | 0xa1b2_3c4d) {
        return None;
    }
    let link = le32(file, 20)? & 0xffff;
    let mut reader = Reader::default();
    let (mut at, mut number) = (24, 0);
    while let Some(len) = le32(file, at + 8) {
        number += 1;
        let packet = file.get(at + 16..at + 16 + len as usize)?;
        reader.packet(link, packet, number)?;
        at += 16 + len as usize;
    }
    for direction in reader.tcp.values_mut() {
        direction.splitter.finish(&mut |f| reader.seen.note(&f.message));
    }
    Some(reader.seen)
}

fn counts(value: &Value) -> BTreeMap<String, u64> {
    let entries = value.as_object().into_iter().flatten();
    entries.map(|(k, n)| (k.clone(), n.as_u64().unwrap_or_default())).collect()
}

#[test]
fn messages_are_those_of_the_other_decoder() {
    let Some(shared) = shared() else {
        println!("SKIPPED: no shared captures");
        return;
    };
    let text = std::fs::read_to_string(shared.join("captures/expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let mut compared = 0;
    for (name, entry) in expected.as_object().unwrap() {
        let sip = &entry["sip"];
        if sip["messages"].as_u64().unwrap_or(0) == 0 {
            continue;
        }
        let file = std::fs::read(shared.join("captures").join(name)).unwrap();
        let Some(seen) = read(&file) else {
            println!("{name}: not for this reader");
            continue;
        };
        compared += 1;
        assert_eq!(seen.requests, counts(&sip["requests"]), "{name}");
        assert_eq!(seen.responses, counts(&sip["responses"]), "{name}");
        assert_eq!(Some(seen.call_ids.len() as u64), sip["distinct_call_ids"].as_u64(), "{name}");
    }
    assert!(compared > 10);
}
