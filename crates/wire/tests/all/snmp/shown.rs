//! What we write, as tshark shows it: every field, no complaint, and decrypted with the passwords.

use super::*;
use std::fmt::Write as _;
use trunkline_wire::pcap::emit;
use trunkline_wire::snmp::usm::Outgoing;
use trunkline_wire::snmp::*;

const ENGINE_ID: &[u8] = b"\x80\x00\x1f\x88\x04trunkline";

/// A capture of one datagram for each message.
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

/// The fields of each message, parted by `;`; none without tshark. `users` is its table of users of version 3.
fn tshark(messages: &[Vec<u8>], users: &str, fields: &[&str]) -> Option<Vec<String>> {
    if !has("tshark") {
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("snmp.pcap");
    std::fs::write(&file, capture(messages)).expect("a file");
    let configuration = folder.path().join("wireshark");
    std::fs::create_dir(&configuration).expect("a folder");
    std::fs::write(configuration.join("snmp_users"), users).expect("a file");
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&file).env("WIRESHARK_CONFIG_DIR", &configuration);
    command.args(["-o", "snmp.display_oid:FALSE", "-T", "fields", "-E", "separator=;"]);
    // What is malformed, and what tshark finds strange about it.
    for field in ["_ws.malformed", "_ws.expert.message"].iter().chain(fields) {
        command.args(["-e", field]);
    }
    let done = command.output().expect("it is there");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(String::from_utf8_lossy(&done.stdout).lines().map(str::to_owned).collect())
}

#[test]
fn tshark_reads_every_value() {
    let oid = name("1.3.6.1.4.1.8072");
    let cases = [
        (Value::Integer(-70_000), "snmp.value.int", "-70000"),
        (Value::OctetString(&[0xab; 200]), "snmp.value.octets", &"ab".repeat(200)),
        (Value::ObjectId(oid.as_oid()), "snmp.value.oid", "1.3.6.1.4.1.8072"),
        (Value::IpAddress([192, 0, 2, 1]), "snmp.value.ipv4", "192.0.2.1"),
        (Value::Counter32(u32::MAX), "snmp.value.counter", "4294967295"),
        (Value::Gauge32(1 << 31), "snmp.value.g32", "2147483648"),
        (Value::TimeTicks(128), "snmp.value.timeticks", "128"),
        (Value::Counter64(u64::MAX), "snmp.value.counter", "18446744073709551615"),
    ];
    let messages: Vec<Vec<u8>> = cases
        .iter()
        .map(|(value, ..)| {
            let (mut varbinds, mut out) = (Vec::new(), Vec::new());
            write_varbind(name("1.3.6.1.2.1.1.300000.0").as_oid(), value, &mut varbinds);
            let exchange = Exchange::request(Kind::Response, REQUEST_ID_MIN, &varbinds);
            Message::write_community(Version::V2c, b"public", &Pdu::Exchange(exchange), &mut out);
            out
        })
        .collect();
    for (n, (_, field, shown)) in cases.iter().enumerate() {
        let fields = ["snmp.version", "snmp.community", "snmp.request_id", "snmp.name", field];
        let Some(lines) = tshark(&messages, "", &fields) else { return };
        assert_eq!(lines[n], format!(";;1;public;16777216;1.3.6.1.2.1.1.300000.0;{shown}"));
    }
}

#[test]
fn tshark_reads_every_kind() {
    let varbinds = asked(&["1.3.6.1.2.1.1.3.0", "1.3.6.1.2.1.1.5.0"]);
    let enterprise = name("1.3.6.1.4.1.99999");
    let exchange = |kind| Pdu::Exchange(Exchange::request(kind, REQUEST_ID_MIN, &varbinds));
    let bulk = Exchange { error_status: 1, error_index: 20, ..Exchange::request(Kind::GetBulk, i32::MAX, &varbinds) };
    let trap = TrapV1 {
        enterprise: enterprise.as_oid(),
        agent: [192, 0, 2, 1],
        generic: GenericTrap::EnterpriseSpecific,
        specific: 17,
        uptime: 4711,
        varbinds: Varbinds::new(&varbinds),
    };
    let pdus = [
        (Version::V1, exchange(Kind::Get), "0;0;16777216;;;"),
        (Version::V2c, exchange(Kind::GetNext), "1;1;16777216;;;"),
        (Version::V2c, exchange(Kind::Set), "1;3;16777216;;;"),
        (Version::V2c, Pdu::Exchange(bulk), "1;5;2147483647;1;20;"),
        (Version::V2c, exchange(Kind::Inform), "1;6;16777216;;;"),
        (Version::V2c, exchange(Kind::TrapV2), "1;7;16777216;;;"),
        (Version::V2c, exchange(Kind::Report), "1;8;16777216;;;"),
        (Version::V1, Pdu::TrapV1(trap), "0;4;;;;17"),
    ];
    let messages: Vec<Vec<u8>> = pdus
        .iter()
        .map(|(version, pdu, _)| {
            let mut out = Vec::new();
            Message::write_community(*version, b"public", pdu, &mut out);
            out
        })
        .collect();
    let fields = [
        "snmp.version",
        "snmp.data",
        "snmp.request_id",
        "snmp.non_repeaters",
        "snmp.max_repetitions",
        "snmp.specific_trap",
        "snmp.name",
    ];
    let Some(lines) = tshark(&messages, "", &fields) else { return };
    for (line, (.., shown)) in lines.iter().zip(pdus) {
        assert_eq!(*line, format!(";;{shown};1.3.6.1.2.1.1.3.0,1.3.6.1.2.1.1.5.0"));
    }
}

/// A line of tshark's table of users, with its names of protocols; it does not lengthen keys.
fn table_entry(level: &Level) -> Option<String> {
    let authentication = match level.authentication.map_or(AuthProtocol::Md5, |(protocol, _)| protocol) {
        AuthProtocol::Md5 => "MD5",
        AuthProtocol::Sha1 => "SHA1",
        AuthProtocol::Sha224 => "SHA2-224",
        AuthProtocol::Sha256 => "SHA2-256",
        AuthProtocol::Sha384 => "SHA2-384",
        AuthProtocol::Sha512 => "SHA2-512",
    };
    let privacy = match level.privacy.map(|(protocol, _)| protocol) {
        None | Some(PrivacyProtocol::Des) => "DES",
        Some(PrivacyProtocol::Aes128) => "AES",
        Some(PrivacyProtocol::Aes192) => "AES192",
        Some(PrivacyProtocol::Aes256) => "AES256",
        Some(PrivacyProtocol::Aes192Cisco | PrivacyProtocol::Aes256Cisco) => return None,
    };
    let lengths = level.authentication.zip(level.privacy).map(|((a, _), (p, _))| (a.key_octets(), p.key_octets()));
    if lengths.is_some_and(|(hash, key)| hash < key) {
        return None;
    }
    let engine = ENGINE_ID.iter().fold(String::new(), |mut text, octet| {
        write!(text, "{octet:02x}").expect("text");
        text
    });
    let user = level.user();
    Some(format!("{engine},\"{user}\",\"{authentication}\",\"{AUTH_PASSWORD}\",\"{privacy}\",\"{PRIVACY_PASSWORD}\"\n"))
}

#[test]
fn tshark_opens_what_we_seal() {
    let varbinds = asked(&["1.3.6.1.2.1.1.3.0"]);
    let pdu = Pdu::Exchange(Exchange::request(Kind::Get, REQUEST_ID_MIN, &varbinds));
    let (mut users, mut messages, mut expected) = (String::new(), Vec::new(), Vec::new());
    for level in Level::all() {
        let Some(entry) = table_entry(&level) else { continue };
        users += &entry;
        let user = level.user();
        let outgoing = Outgoing {
            message_id: i32::MAX,
            size_max: 65_507,
            is_reportable: true,
            engine_id: ENGINE_ID,
            boots: 3,
            time: 200,
            user: user.as_bytes(),
            salt: 0xfedc_ba98_7654_3210,
            scoped: ScopedPdu { context_engine: ENGINE_ID, context_name: b"here", pdu },
        };
        let mut out = Vec::new();
        outgoing.seal(&level.keys(ENGINE_ID), &mut out);
        messages.push(out);
        let authentic = if level.authentication.is_some() { "1" } else { "" };
        expected.push(format!(";;{user};2147483647;3;200;{authentic};16777216;1.3.6.1.2.1.1.3.0"));
    }
    let fields = [
        "snmp.msgUserName",
        "snmp.msgID",
        "snmp.msgAuthoritativeEngineBoots",
        "snmp.msgAuthoritativeEngineTime",
        "snmp.v3.auth",
        "snmp.request_id",
        "snmp.name",
    ];
    let Some(lines) = tshark(&messages, &users, &fields) else { return };
    for (line, expected) in lines.iter().zip(&expected) {
        // tshark notes that it has decrypted something, and that an authentication is good.
        let mut line: Vec<&str> = line.split(';').collect();
        assert!(!line[1].contains("rror"), "{line:?}");
        line[1] = "";
        assert_eq!(line.join(";"), *expected);
    }
    assert_eq!(lines.len(), expected.len());
}
