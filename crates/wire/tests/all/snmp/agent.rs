//! Our requests, answered by net-snmp's agent.

use super::*;
use std::fmt::Write as _;
use std::process::Child;
use tempfile::TempDir;
use trunkline_wire::snmp::usm::{EngineTime, Outgoing};
use trunkline_wire::snmp::*;

const SYS_UP_TIME: &str = "1.3.6.1.2.1.1.3.0";
const SYS_CONTACT: &str = "1.3.6.1.2.1.1.4.0";
const SYSTEM: &str = "1.3.6.1.2.1.1";

/// An agent of the test's own, ended with it.
struct Agent {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Agent {
    /// Starts it and waits for its first answer; none where net-snmp's agent is not installed.
    fn start() -> Option<Agent> {
        let program = ["/usr/sbin/snmpd", "snmpd"].into_iter().find(|program| has(program))?;
        let folder = tempfile::tempdir().expect("a folder");
        let mut configuration = String::from("rocommunity public\nsysContact somebody\n");
        for level in Level::all() {
            let Level { authentication, privacy } = level;
            let authentication = authentication.map(|(_, name)| format!("{name} \"{AUTH_PASSWORD}\""));
            let privacy = privacy.map(|(_, name)| format!("{name} \"{PRIVACY_PASSWORD}\""));
            let (user, lowest) = (level.user(), if authentication.is_some() { "auth" } else { "noauth" });
            let words = [authentication, privacy].map(Option::unwrap_or_default).join(" ");
            writeln!(configuration, "createUser {user} {words}\nrouser {user} {lowest}").expect("text");
        }
        let file = folder.path().join("snmpd.conf");
        std::fs::write(&file, configuration).expect("a file");
        let port = socket().local_addr().expect("an address").port();
        let child = Command::new(program)
            .args(["-f", "-C", "-r", "-Ln", "-c"])
            .arg(file)
            .arg(format!("udp:127.0.0.1:{port}"))
            .env("SNMP_PERSISTENT_DIR", folder.path())
            .env("MIBS", "")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it is there");
        let agent = Agent { child, port, _folder: folder };
        agent.await_answer();
        Some(agent)
    }

    fn await_answer(&self) {
        // Not connected: that nobody listens there yet does not end the wait.
        let socket = socket();
        socket.set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout");
        let mut request = Vec::new();
        let varbinds = asked(&[SYS_UP_TIME]);
        let pdu = Pdu::Exchange(Exchange::request(Kind::Get, 1, &varbinds));
        Message::write_community(Version::V2c, b"public", &pdu, &mut request);
        let came = (0..300).any(|_| {
            let _ = socket.send_to(&request, ("127.0.0.1", self.port));
            socket.recv(&mut [0; 1500]).is_ok()
        });
        assert!(came, "the agent does not answer");
    }

    fn connect(&self) -> UdpSocket {
        let socket = socket();
        socket.connect(("127.0.0.1", self.port)).expect("an address");
        socket
    }
}

/// Sends, and gives what comes back.
fn exchange(socket: &UdpSocket, request: &[u8]) -> Vec<u8> {
    socket.send(request).expect("it is sent");
    let mut answer = vec![0; 65_535];
    let octets = socket.recv(&mut answer).expect("an answer");
    answer.truncate(octets);
    answer
}

/// The response to a request of version 1 or 2c, as text.
fn ask(socket: &UdpSocket, version: Version, request: Exchange<'_>) -> String {
    let mut out = Vec::new();
    Message::write_community(version, b"public", &Pdu::Exchange(request), &mut out);
    let answer = exchange(socket, &out);
    let read = Message::new(&answer).unwrap_or_else(|error| panic!("{error}: {answer:02x?}"));
    let Message::Community { pdu: Pdu::Exchange(response), .. } = read else { panic!("{read}") };
    assert_eq!((response.kind, response.request_id), (Kind::Response, request.request_id));
    response.varbinds.for_each(|varbind| assert!(varbind.is_ok(), "{varbind:?}"));
    read.to_string()
}

#[test]
fn versions_1_and_2c_are_answered() {
    let Some(agent) = Agent::start() else { return };
    let socket = agent.connect();
    let contact = asked(&[SYS_CONTACT]);
    for (version, shown) in [(Version::V1, "v1"), (Version::V2c, "v2c")] {
        let expected = format!("{shown} response 16777216: {SYS_CONTACT} = \"somebody\"");
        assert_eq!(ask(&socket, version, Exchange::request(Kind::Get, REQUEST_ID_MIN, &contact)), expected);
        let next = ask(&socket, version, Exchange::request(Kind::GetNext, i32::MAX, &asked(&["1.3.6.1.2.1.1.3"])));
        assert!(next.starts_with(&format!("{shown} response 2147483647: {SYS_UP_TIME} = TimeTicks ")), "{next}");
    }
    let nowhere = asked(&[SYS_CONTACT, "1.3.6.1.2.1.1.99.0"]);
    let first = ask(&socket, Version::V1, Exchange::request(Kind::Get, REQUEST_ID_MIN, &nowhere));
    assert!(first.starts_with("v1 response 16777216 noSuchName at 2: "), "{first}");
    let second = ask(&socket, Version::V2c, Exchange::request(Kind::Get, REQUEST_ID_MIN, &nowhere));
    assert!(second.ends_with(", 1.3.6.1.2.1.1.99.0 = noSuchObject"), "{second}");
    let mut contact = Vec::new();
    write_varbind(name(SYS_CONTACT).as_oid(), &Value::OctetString(b"somebody else"), &mut contact);
    let set = ask(&socket, Version::V2c, Exchange::request(Kind::Set, REQUEST_ID_MIN, &contact));
    assert!(set.contains(" noAccess at 1") || set.contains(" notWritable at 1"), "{set}");
}

/// All of `system` in one answer, in the order of names, and the same by walking with two at a time.
#[test]
fn a_table_is_walked() {
    let Some(agent) = Agent::start() else { return };
    let socket = agent.connect();
    let walk = |max_repetitions: u32| {
        let (front, mut last, mut names) = (name(SYSTEM), name(SYSTEM), Vec::new());
        loop {
            let varbinds = asked(&[&last.to_string()]);
            let request = Exchange::request(Kind::GetBulk, REQUEST_ID_MIN, &varbinds);
            let request = Exchange { error_index: max_repetitions, ..request };
            let mut out = Vec::new();
            Message::write_community(Version::V2c, b"public", &Pdu::Exchange(request), &mut out);
            let answer = exchange(&socket, &out);
            let Ok(Message::Community { pdu, .. }) = Message::new(&answer) else { panic!("{answer:02x?}") };
            for varbind in pdu.varbinds() {
                let found = varbind.expect("a variable").name.to_owned();
                assert!(found > last, "{found} follows {last}");
                if !found.as_oid().is_within(front.as_oid()) {
                    return names;
                }
                names.push(found.to_string());
                last = found;
            }
        }
    };
    let names = walk(2);
    assert!(names.len() > 10 && names.contains(&SYS_UP_TIME.to_owned()), "{names:?}");
    assert_eq!(walk(50), names);
}

/// One request of version 3, and what came back, opened.
fn ask_secured(socket: &UdpSocket, keys: &Keys, outgoing: &Outgoing<'_>) -> (Vec<u8>, String) {
    let mut out = Vec::new();
    outgoing.seal(keys, &mut out);
    let mut answer = exchange(socket, &out);
    let Ok(Message::V3(read)) = Message::new(&answer) else { panic!("{answer:02x?}") };
    assert_eq!(read.message_id, outgoing.message_id);
    let (sealed, shown) = (read.sealed, read.to_string());
    // Reports come as they can be had: an engine does not sign for whom it does not know.
    let shown = match sealed.open(&mut answer, keys) {
        Ok(Some(place)) => ScopedPdu::new(&answer[place.clone()], place.start).expect("a PDU").to_string(),
        Ok(None) | Err(_) => shown,
    };
    (answer, shown)
}

#[test]
fn version_3_is_answered_at_all_levels() {
    let Some(agent) = Agent::start() else { return };
    let socket = agent.connect();
    let bare = Exchange::request(Kind::Get, REQUEST_ID_MIN, &[]);
    let mut outgoing = Outgoing {
        message_id: REQUEST_ID_MIN,
        size_max: 65_507,
        is_reportable: true,
        engine_id: b"",
        boots: 0,
        time: 0,
        user: b"",
        salt: 1,
        scoped: ScopedPdu { context_engine: b"", context_name: b"", pdu: Pdu::Exchange(bare) },
    };
    let (answer, shown) = ask_secured(&socket, &Keys::NoAuthNoPriv, &outgoing);
    assert!(shown.contains(" report ") && shown.contains(" usmStatsUnknownEngineIDs: "), "{shown}");
    let Ok(Message::V3(V3 { security, .. })) = Message::new(&answer) else { panic!() };
    assert!((5..=32).contains(&security.engine_id.len()), "{security:?}");
    let varbinds = asked(&[SYS_CONTACT]);
    let mut engine = EngineTime::new(security.boots, security.time, 0);
    outgoing = Outgoing { engine_id: security.engine_id, boots: engine.boots(), time: engine.time(0), ..outgoing };
    outgoing.scoped.context_engine = security.engine_id;
    outgoing.scoped.pdu = Pdu::Exchange(Exchange::request(Kind::Get, REQUEST_ID_MIN, &varbinds));
    for level in Level::all() {
        let user = level.user();
        let keys = level.keys(security.engine_id);
        outgoing.salt += 1;
        outgoing.message_id += 1;
        let (answer, shown) = ask_secured(&socket, &keys, &Outgoing { user: user.as_bytes(), ..outgoing });
        assert!(shown.ends_with(&format!("response 16777216: {SYS_CONTACT} = \"somebody\"")), "{user}: {shown}");
        let Ok(Message::V3(read)) = Message::new(&answer) else { continue };
        assert_eq!(engine.receive(read.security.boots, read.security.time, 0), Ok(()));
    }
    refusals(&socket, outgoing);
}

/// What is wrong is told by the counter that the standard has for it.
fn refusals(socket: &UdpSocket, outgoing: Outgoing<'_>) {
    let level = Level { authentication: Some(AUTHENTICATION[3]), privacy: Some(PRIVACY[1]) };
    let (user, keys) = (level.user(), level.keys(outgoing.engine_id));
    let outgoing = Outgoing { user: user.as_bytes(), ..outgoing };
    let told = |keys: &Keys, outgoing: Outgoing<'_>| ask_secured(socket, keys, &outgoing).1;
    let shown = told(&keys, Outgoing { time: outgoing.time + 100_000, ..outgoing });
    assert!(shown.contains(" usmStatsNotInTimeWindows: "), "{shown}");
    let shown = told(&keys, Outgoing { user: b"stranger", ..outgoing });
    assert!(shown.contains(" usmStatsUnknownUserNames: "), "{shown}");
    let shown = told(&level.keys(b"another engine"), outgoing);
    assert!(shown.contains(" usmStatsWrongDigests: "), "{shown}");
}
