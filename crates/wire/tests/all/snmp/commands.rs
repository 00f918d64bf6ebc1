//! net-snmp's commands, answered by us: their requests are read here, and they read our responses.

use super::*;
use std::thread;
use trunkline_wire::snmp::usm::Outgoing;
use trunkline_wire::snmp::*;

const ENGINE_ID: &[u8] = b"\x80\x00\x1f\x88\x04trunkline";

/// What a command prints that asks `socket` for `names`.
fn run(program: &str, options: &[&str], socket: &UdpSocket, names: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let address = socket.local_addr().expect("an address").to_string();
    let done = Command::new(program)
        .args(["-On", "-Oe", "-r", "0", "-t", "20", "-m", ""])
        .args(options)
        .arg(format!("udp:{address}"))
        .args(names)
        .env("MIBS", "")
        .env("SNMP_PERSISTENT_DIR", folder.path())
        .output()
        .expect("it is there");
    print!("{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Each type of value, and what snmpget prints of it.
fn values<'a>(oid: &'a ObjectId) -> [(Value<'a>, &'static str); 15] {
    [
        (Value::Integer(-5), "INTEGER: -5"),
        (Value::Integer(128), "INTEGER: 128"),
        (Value::OctetString(b"text"), "STRING: \"text\""),
        (Value::ObjectId(oid.as_oid()), "OID: .1.3.6.1.4.1.8072.3.2.10"),
        (Value::IpAddress([192, 0, 2, 1]), "IpAddress: 192.0.2.1"),
        (Value::Counter32(u32::MAX), "Counter32: 4294967295"),
        (Value::Gauge32(1 << 31), "Gauge32: 2147483648"),
        (Value::TimeTicks(8_640_000), "Timeticks: (8640000) 1 day, 0:00:00.00"),
        (Value::Float(1.5), "Opaque: Float: 1.500000"),
        (Value::Double(-2.5), "Opaque: Float: -2.500000"),
        (Value::Integer64(-7), "Opaque: Int64: -7"),
        (Value::Unsigned64(u64::MAX), "Opaque: UInt64: 18446744073709551615"),
        (Value::Counter64(u64::MAX), "Counter64: 18446744073709551615"),
        (Value::NoSuchObject, "No Such Object available on this agent at this OID"),
        (Value::NoSuchInstance, "No Such Instance currently exists at this OID"),
    ]
}

/// The response to a request: to each name in turn the value at its place.
fn respond(request: &Exchange<'_>, values: &[Value<'_>], out: &mut Vec<u8>) {
    for (varbind, value) in request.varbinds.zip(values) {
        let varbind = varbind.expect("a variable");
        assert_eq!(varbind.value, Value::Null);
        write_varbind(varbind.name, value, out);
    }
}

#[test]
fn snmpget_reads_each_type() {
    if !has("snmpget") {
        return;
    }
    let oid = name("1.3.6.1.4.1.8072.3.2.10");
    let values = values(&oid);
    let names: Vec<String> = (1..=values.len()).map(|n| format!(".1.3.6.1.4.1.99999.{n}.0")).collect();
    let socket = socket();
    let printed = thread::scope(|scope| {
        let client = scope.spawn(|| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            run("snmpget", &["-v2c", "-c", "public"], &socket, &names)
        });
        let mut octets = [0; 65_535];
        let (length, from) = socket.recv_from(&mut octets).expect("a request");
        let Ok(Message::Community { version: Version::V2c, community: b"public", pdu: Pdu::Exchange(request) }) =
            Message::new(&octets[..length])
        else {
            panic!("{:02x?}", &octets[..length]);
        };
        let mut varbinds = Vec::new();
        respond(&request, &values.map(|(value, _)| value), &mut varbinds);
        let response = Exchange { varbinds: Varbinds::new(&varbinds), kind: Kind::Response, ..request };
        let mut out = Vec::new();
        Message::write_community(Version::V2c, b"public", &Pdu::Exchange(response), &mut out);
        socket.send_to(&out, from).expect("it is sent");
        client.join().expect("it ends")
    });
    let expected: Vec<String> = names.iter().zip(values).map(|(name, (_, text))| format!("{name} = {text}")).collect();
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
}

/// What an engine says to a request of version 3: who it is, or the value.
fn answer(octets: &mut [u8], level: &Level, keys: &Keys) -> (Vec<u8>, bool) {
    let Ok(Message::V3(read)) = Message::new(octets) else { panic!("{octets:02x?}") };
    let discovers = read.security.engine_id.is_empty();
    let (sealed, message_id) = (read.sealed, read.message_id);
    if !discovers {
        assert_eq!((read.security.engine_id, read.security.user), (ENGINE_ID, level.user().as_bytes()));
    }
    let place = if discovers { None } else { sealed.open(octets, keys).expect("their keys are ours") };
    let scoped = match place {
        Some(place) => ScopedPdu::new(&octets[place.clone()], place.start).expect("a PDU"),
        None => {
            let Ok(Message::V3(V3 { data: Contents::Plain(scoped), .. })) = Message::new(octets) else { panic!() };
            scoped
        }
    };
    let Pdu::Exchange(request) = scoped.pdu else { panic!("{scoped}") };
    let mut varbinds = Vec::new();
    let kind = if discovers {
        write_varbind(Cause::UnknownEngineId.name().as_oid(), &Value::Counter32(1), &mut varbinds);
        Kind::Report
    } else {
        respond(&request, &[Value::Gauge32(42)], &mut varbinds);
        Kind::Response
    };
    let response = Exchange { kind, varbinds: Varbinds::new(&varbinds), ..request };
    let user = level.user();
    let outgoing = Outgoing {
        message_id,
        size_max: 65_507,
        is_reportable: false,
        engine_id: ENGINE_ID,
        boots: 7,
        time: 1234,
        user: if discovers { b"" } else { user.as_bytes() },
        salt: 99,
        scoped: ScopedPdu { context_engine: ENGINE_ID, pdu: Pdu::Exchange(response), ..scoped },
    };
    let mut out = Vec::new();
    outgoing.seal(if discovers { &Keys::NoAuthNoPriv } else { keys }, &mut out);
    (out, !discovers)
}

#[test]
fn snmpget_and_we_open_each_others_messages() {
    if !has("snmpget") {
        return;
    }
    for level in Level::all() {
        let (user, keys, socket) = (level.user(), level.keys(ENGINE_ID), socket());
        let mut options = vec!["-v3", "-u", &user, "-l"];
        options.push(match level {
            Level { privacy: Some(_), .. } => "authPriv",
            Level { authentication: Some(_), .. } => "authNoPriv",
            _ => "noAuthNoPriv",
        });
        if let Some((_, name)) = level.authentication {
            options.extend(["-a", name, "-A", AUTH_PASSWORD]);
        }
        if let Some((_, name)) = level.privacy {
            options.extend(["-x", name, "-X", PRIVACY_PASSWORD]);
        }
        let printed = thread::scope(|scope| {
            let client = scope.spawn(|| run("snmpget", &options, &socket, &["1.3.6.1.4.1.99999.1.0"]));
            loop {
                let mut octets = vec![0; 65_535];
                let (length, from) = socket.recv_from(&mut octets).expect("a request");
                let (answer, is_last) = answer(&mut octets[..length], &level, &keys);
                socket.send_to(&answer, from).expect("it is sent");
                if is_last {
                    return client.join().expect("it ends");
                }
            }
        });
        assert_eq!(printed, ".1.3.6.1.4.1.99999.1.0 = Gauge32: 42\n", "{user}");
    }
}

/// Traps of both shapes and an inform, as snmptrap sends them.
#[test]
fn notifications_are_read() {
    if !has("snmptrap") {
        return;
    }
    let enterprise = "1.3.6.1.4.1.99999";
    let value = ["1.3.6.1.4.1.99999.1", "s", "hello"];
    let version_1 = [enterprise, "192.0.2.7", "6", "17", "4711"];
    let version_2 = ["4711", "1.3.6.1.6.3.1.1.5.3"];
    let shown_2 = ": 1.3.6.1.2.1.1.3.0 = TimeTicks 4711, 1.3.6.1.6.3.1.1.4.1.0 = 1.3.6.1.6.3.1.1.5.3, \
        1.3.6.1.4.1.99999.1 = \"hello\"";
    let shown_1 = "v1 trap enterpriseSpecific 17 of 1.3.6.1.4.1.99999 at 192.0.2.7 up 4711: \
        1.3.6.1.4.1.99999.1 = \"hello\"";
    let cases: [(&[&str], &[&str], &str); 3] = [
        (&["-v1", "-c", "public"], &version_1, shown_1),
        (&["-v2c", "-c", "public"], &version_2, shown_2),
        (&["-v2c", "-c", "public", "-Ci"], &version_2, shown_2),
    ];
    for (options, what, shown) in cases {
        let (socket, words) = (socket(), [what, &value].concat());
        thread::scope(|scope| {
            let client = scope.spawn(|| run("snmptrap", options, &socket, &words));
            let mut octets = [0; 65_535];
            let (length, from) = socket.recv_from(&mut octets).expect("a notification");
            let read = Message::new(&octets[..length]).expect("it is read");
            assert!(read.to_string().ends_with(shown), "{read}");
            let Message::Community { version, community, pdu } = read else { panic!("{read}") };
            assert_eq!(pdu.kind().is_confirmed(), options.contains(&"-Ci"));
            if let (true, Pdu::Exchange(inform)) = (pdu.kind().is_confirmed(), pdu) {
                let response = Pdu::Exchange(Exchange { kind: Kind::Response, ..inform });
                let mut out = Vec::new();
                Message::write_community(version, community, &response, &mut out);
                socket.send_to(&out, from).expect("it is sent");
            }
            client.join().expect("it ends");
        });
    }
}
