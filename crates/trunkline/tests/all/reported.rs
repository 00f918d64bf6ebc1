//! What strangers did to charging and to alerts, as it was reported (`cases/ops`), and the same made here. The reported
//! files are passed over where the shared cases are absent.
//!
//! Test group: waits: for rules that are evaluated every few seconds.

use crate::eventually::eventually;
use crate::gy::{Node, PLAN};
use crate::wire::{PROGRAM, Wire, text};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use trunkline_wire::diameter::base::CapabilitiesExchangeRequest;
use trunkline_wire::diameter::credit::{
    CreditControlAnswer, CreditControlRequest, MultipleServices, RequestedServiceUnit, SubscriptionId,
};
use trunkline_wire::diameter::enumerated::{RequestType, RequestedAction, SubscriptionIdType};
use trunkline_wire::diameter::{Header, HostAddress, List, Message, application, command};

/// A file of the shared cases; none where they are absent.
fn case(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("TRUNKLINE_SHARED").map_or_else(beside, PathBuf::from);
    let file = shared.join("cases/ops").join(name);
    if !file.exists() {
        println!("SKIPPED: no {name}");
        return None;
    }
    Some(file)
}

/// The subscriber of the reported script.
const IMSI: &str = "999700000000005";
/// Minor units that the account begins with.
const BALANCE: i64 = 100_000;
/// What a MiB costs: a unit each KiB.
const MIB_COSTS: i64 = 1024;

/// A node with one account; those may give back.
fn node(folder: &Path, refund_peers: &[&str]) -> Node {
    let peers = refund_peers.iter().flat_map(|peer| ["--refund-peer", peer]);
    let options: Vec<&str> = ["--serves", "ocs.example"].into_iter().chain(peers).collect();
    let node = Node::start_with(folder, &options);
    std::fs::write(folder.join("plan.toml"), PLAN).unwrap();
    charge(folder, &["plan", text(&folder.join("plan.toml"))], "");
    charge(folder, &["import", "-"], &format!("subscriber,account,plan,balance,imsi\n1,1,standard,{BALANCE},{IMSI}\n"));
    node
}

fn charge(folder: &Path, words: &[&str], input: &str) -> String {
    let mut command = Command::new(PROGRAM);
    command.arg("charge").args(words).args(["--data", text(folder)]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{words:?}");
    String::from_utf8(done.stdout).unwrap()
}

fn balance(node: &Node) -> i64 {
    let shown = node.json(&["show", "1"]);
    shown["balance"].as_i64().unwrap_or_else(|| panic!("{shown}"))
}

/// An event of a peer that nobody knows: its result.
fn event(address: SocketAddr, session: &str, action: RequestedAction, octets: u64) -> u32 {
    let mut stream = TcpStream::connect(address).unwrap();
    let addresses = [HostAddress::Ip("127.0.0.1".parse().unwrap())];
    let cer = CapabilitiesExchangeRequest {
        origin_host: "evil.example",
        origin_realm: "example",
        host_ip_addresses: List::Values(&addresses),
        product_name: "test",
        auth_application_ids: List::Values(&[application::CREDIT_CONTROL]),
        ..CapabilitiesExchangeRequest::default()
    };
    let mut out = Vec::new();
    cer.write(&Header::request(command::CAPABILITIES_EXCHANGE, application::BASE), &mut out).unwrap();
    stream.write_all(&out).unwrap();
    answer(&mut stream);
    let services = [MultipleServices {
        rating_group: Some(1),
        requested: Some(RequestedServiceUnit { total_octets: Some(octets), ..RequestedServiceUnit::default() }),
        ..MultipleServices::default()
    }];
    let subscriber = [SubscriptionId { kind: SubscriptionIdType::Imsi, name: IMSI }];
    let ccr = CreditControlRequest {
        session_id: session,
        origin_host: "evil.example",
        origin_realm: "example",
        destination_realm: "ocs.example",
        auth_application_id: application::CREDIT_CONTROL,
        service_context_id: "32251@3gpp.org",
        request_type: RequestType::Event,
        requested_action: Some(action),
        subscription_ids: List::Values(&subscriber),
        services: List::Values(&services),
        ..CreditControlRequest::default()
    };
    out.clear();
    let header = Header::request(command::CREDIT_CONTROL, application::CREDIT_CONTROL);
    let identifier = session.bytes().fold(action as u32, |sum, octet| sum.wrapping_mul(31) + u32::from(octet));
    ccr.write(&Header { hop_by_hop: identifier, end_to_end: identifier, ..header }, &mut out).unwrap();
    stream.write_all(&out).unwrap();
    let answer = answer(&mut stream);
    let message = Message::new(&answer).unwrap();
    CreditControlAnswer::read_avps(message.avps()).unwrap().result_code.unwrap()
}

/// The next message.
fn answer(stream: &mut TcpStream) -> Vec<u8> {
    let mut octets = vec![0; 4];
    stream.read_exact(&mut octets).unwrap();
    let length = u32::from_be_bytes([0, octets[1], octets[2], octets[3]]) as usize;
    octets.resize(length, 0);
    stream.read_exact(&mut octets[4..]).unwrap();
    octets
}

/// 2001: done; 5003: not allowed.
const DONE: u32 = 2001;
const NOT_ALLOWED: u32 = 5003;

#[test]
fn a_peer_that_may_not_give_back_gives_nothing_back() {
    use RequestedAction::{DirectDebiting, RefundAccount};
    let folder = tempfile::tempdir().unwrap();
    let mut node = node(folder.path(), &[]);
    assert_eq!(event(node.address, "evil;e;1", DirectDebiting, 1 << 20), DONE);
    assert_eq!(balance(&node), BALANCE - MIB_COSTS);
    assert_eq!(event(node.address, "evil;e;1", RefundAccount, 1 << 20), NOT_ALLOWED);
    for number in 0..3 {
        assert_eq!(event(node.address, &format!("evil;r;{number}"), RefundAccount, 100 << 30), NOT_ALLOWED);
    }
    assert_eq!(balance(&node), BALANCE - MIB_COSTS);
    node.stop();
    charge(folder.path(), &["audit"], "");
}

#[test]
fn a_peer_that_may_give_back_gives_back_what_was_debited() {
    use RequestedAction::{DirectDebiting, RefundAccount};
    let folder = tempfile::tempdir().unwrap();
    let mut node = node(folder.path(), &["evil.example"]);
    assert_eq!(event(node.address, "evil;e;1", DirectDebiting, 1 << 20), DONE);
    assert_eq!(balance(&node), BALANCE - MIB_COSTS);
    for number in 0..3 {
        let told = event(node.address, &format!("evil;r;{number}"), RefundAccount, 100 << 30);
        assert_ne!(told, DONE, "it never paid for them");
        assert_eq!(balance(&node), BALANCE - MIB_COSTS);
    }
    node.stop();
    charge(folder.path(), &["audit"], "");
}

/// The script as it was reported, against a node that lets nobody give back, and one that lets its peer.
#[test]
fn the_reported_refunds_make_no_money() {
    let Some(script) = case("refund.py") else { return };
    for peers in [&[][..], &["evil.example"]] {
        let folder = tempfile::tempdir().unwrap();
        let mut node = node(folder.path(), peers);
        let mut python = Command::new("python3");
        python.arg(&script).arg(node.address.port().to_string()).env("PYTHONDONTWRITEBYTECODE", "1");
        let Ok(done) = python.output() else {
            println!("SKIPPED: there is no python3");
            return;
        };
        let told = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success(), "{told}{}", String::from_utf8_lossy(&done.stderr));
        let lines: Vec<&str> = told.lines().collect();
        assert!(lines.len() == 5 && lines[0].contains("cmd272 rc[2001"), "{told}");
        assert!(lines[2..].iter().all(|line| line.contains("cmd272 rc[") && !line.contains("2001")), "{told}");
        if peers.is_empty() {
            assert!(lines[1..].iter().all(|line| line.contains("rc[5003")), "{told}");
            assert_eq!(balance(&node), BALANCE - MIB_COSTS);
        } else {
            // What it debited it may give back, and that once.
            assert!((BALANCE - MIB_COSTS..=BALANCE).contains(&balance(&node)), "{told}");
        }
        node.stop();
        charge(folder.path(), &["audit"], "");
    }
}

/// An AVP (RFC 6733 section 4.1).
fn avp(code: u32, data: &[u8]) -> Vec<u8> {
    let length = (8 + data.len() as u32).to_be_bytes();
    let mut out = [&code.to_be_bytes()[..], &[0x40], &length[1..], data].concat();
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// A message of an application, a request or not.
fn message(code: u32, application: u32, flags: u8, avps: &[Vec<u8>]) -> Vec<u8> {
    static IDENTIFIERS: AtomicU32 = AtomicU32::new(0xC076_3DED);
    let identifier = IDENTIFIERS.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let avps = avps.concat();
    let (length, code) = ((20 + avps.len() as u32).to_be_bytes(), code.to_be_bytes());
    let (application, head) = (application.to_be_bytes(), [1, length[1], length[2], length[3], flags]);
    [&head[..], &code[1..], &application, &identifier, &identifier, &avps].concat()
}

fn number(of: u32) -> [u8; 4] {
    of.to_be_bytes()
}

/// A CER with an AVP more.
fn greeting(host: &str, more: &[u8]) -> Vec<u8> {
    let own = [avp(264, host.as_bytes()), avp(296, b"example"), avp(257, &[0, 1, 127, 0, 0, 1])];
    message(257, 0, 0x80, &[own.concat(), avp(266, &number(0)), avp(269, b"x"), avp(258, &number(4)), more.to_vec()])
}

/// A CCR of a session; `more` is what it asks for and says.
fn ccr(session: &str, kind: u32, at: u32, more: &[Vec<u8>]) -> Vec<u8> {
    let own = [avp(263, session.as_bytes()), avp(264, b"smf.example"), avp(296, b"example"), avp(283, b"ocs.example")];
    let of = [avp(258, &number(4)), avp(461, b"32251@3gpp.org"), avp(416, &number(kind)), avp(415, &number(at))];
    let payer = avp(443, &[avp(450, &number(1)), avp(444, IMSI.as_bytes())].concat());
    message(272, 4, 0xC0, &[own.concat(), of.concat(), payer, more.concat()])
}

/// The octets that a service reports.
fn used(octets: u64) -> Vec<u8> {
    avp(446, &avp(421, &octets.to_be_bytes()))
}

/// The Result-Code that the next message tells.
fn result(stream: &mut TcpStream) -> u32 {
    let answer = answer(stream);
    let mut rest = &answer[20..];
    while let Some((head, behind)) = rest.split_first_chunk::<8>() {
        let code = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
        let length = u32::from_be_bytes([0, head[5], head[6], head[7]]) as usize;
        if code == 268 {
            return u32::from_be_bytes(behind[..4].try_into().unwrap());
        }
        rest = &rest[length.next_multiple_of(4).min(rest.len())..];
    }
    panic!("no Result-Code in {answer:?}")
}

/// What ended other servers: a watchdog's answer that nobody asked for (freeDiameter#15), a CER with an application of
/// two vendors (open5gs#4155), usage without a new request for units (free5gc#929), an update of a session that is not
/// there beside one of the same subscriber that is (free5gc#950).
#[test]
fn what_ended_other_servers_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let mut node = node(folder.path(), &[]);
    let dial = |hello: &[u8]| {
        let mut stream = TcpStream::connect(node.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(hello).unwrap();
        stream
    };
    let two_vendors =
        [avp(266, &number(0x0100_0023)), avp(266, &number(10_415)), avp(258, &number(16_777_251))].concat();
    let mut strange = dial(&greeting("mme.example", &avp(260, &two_vendors)));
    // One vendor alone is allowed (RFC 6733 section 6.11): an AVP too many, and no end of the node.
    assert_eq!(result(&mut strange), 5009);
    // Answered or closed, whichever.
    let nested = (0..2000).fold(Vec::new(), |inner, _| avp(260, &inner));
    let _told = dial(&greeting("deep.example", &nested)).read(&mut [0; 512]);
    let mut smf = dial(&greeting("smf.example", &[]));
    assert_eq!(result(&mut smf), DONE);
    smf.write_all(&message(280, 0, 0, &[avp(268, &number(DONE)), avp(264, b"smf.example"), avp(296, b"x")])).unwrap();
    let asks = |more: &[Vec<u8>]| avp(456, &[more.concat(), avp(432, &number(1))].concat());
    smf.write_all(&ccr("smf;1;1", 1, 0, &[asks(&[avp(437, &[])])])).unwrap();
    assert_eq!(result(&mut smf), DONE);
    // No Requested-Service-Unit: what was used is charged, and nothing more is granted.
    smf.write_all(&ccr("smf;1;1", 2, 1, &[asks(&[used(1 << 20)])])).unwrap();
    assert_eq!(result(&mut smf), DONE);
    assert_eq!(balance(&node), BALANCE - MIB_COSTS);
    // Unknown session: the one that is there has no part in it.
    smf.write_all(&ccr("smf;9;9", 2, 1, &[asks(&[used(1 << 20)])])).unwrap();
    assert_eq!(result(&mut smf), 5002);
    assert_eq!(balance(&node), BALANCE - MIB_COSTS);
    smf.write_all(&ccr("smf;1;1", 3, 2, &[asks(&[used(1 << 20)])])).unwrap();
    assert_eq!(result(&mut smf), DONE);
    assert_eq!(balance(&node), BALANCE - 2 * MIB_COSTS);
    drop((strange, smf));
    node.stop();
    charge(folder.path(), &["audit"], "");
}

/// An INVITE that is refused, with this User-Agent: pcap, little-endian, Ethernet.
fn refused_call(number: u32, agent: &str) -> Vec<u8> {
    let mut octets = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat();
    let common = format!(
        "Via: SIP/2.0/UDP 192.0.2.10;branch=z9hG4bK{number}\r\nFrom: <sip:al\0ice{number}@x>;tag=1\r\n\
         Call-ID: own-{number}\r\n"
    );
    let end = "Content-Length: 0\r\n\r\n";
    let agent = format!("User-Agent: {agent}\r\n");
    for (at, (back, sip)) in (0u32..).zip([
        (false, format!("INVITE sip:b@x SIP/2.0\r\n{common}To: <sip:b@x>\r\nCSeq: 1 INVITE\r\n{agent}{end}")),
        (true, format!("SIP/2.0 486 Busy Here\r\n{common}To: <sip:b@x>;tag=2\r\nCSeq: 1 INVITE\r\n{end}")),
        (false, format!("ACK sip:b@x SIP/2.0\r\n{common}To: <sip:b@x>;tag=2\r\nCSeq: 1 ACK\r\n{end}")),
    ]) {
        let udp = 8 + sip.len() as u16;
        let (from, to) = if back { (20, 10) } else { (10, 20) };
        let mut packet = vec![2, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
        packet.extend((20 + udp).to_be_bytes());
        packet.extend([0, 1, 0, 0, 0x40, 17, 0, 0, 192, 0, 2, from, 192, 0, 2, to, 0x13, 0xc4, 0x13, 0xc4]);
        packet.extend(udp.to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(sip.as_bytes());
        let length = packet.len() as u32;
        octets.extend([1_795_168_800, 100_000 * at, length, length].map(u32::to_le_bytes).concat());
        octets.extend(packet);
    }
    octets
}

/// The reported rules: calls that are refused, by User-Agent, told by a command.
const RULES: &str = "[rule.failed]\ntitle = \"calls of |user_agent| fail\"\nrows = \"calls\"\n\
    filter = \"state:rejected\"\nmeasure = \"count\"\ngroup = \"user_agent\"\nevery = \"1 s\"\nover = \"1 min\"\n\
    limit = 0\nfor = \"0 s\"\nseverity = \"critical\"\nroutes = [\"all\"]\n[route.all]\nchannels = [\"pager\"]\n\
    group = [\"rule\",\"subject\"]\nwait = \"1 s\"\ninterval = \"10 s\"\n[channel.pager]\nkind = \"command\"\n\
    command = [\"DIR/cmd.sh\", \"|title|\"]\ntimeout = \"5 s\"\n";

/// A User-Agent with a NUL reaches the command, and so does all that is told after it.
fn a_nul_holds_nobody_up(name: &str, rules: &str, captures: &[(PathBuf, &str)], wire: &Wire) {
    let folder = wire.path(name);
    std::fs::create_dir(&folder).unwrap();
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$1\" >> {}/told\n", text(&folder));
    std::fs::write(folder.join("cmd.sh"), script).unwrap();
    std::fs::set_permissions(folder.join("cmd.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::create_dir(folder.join("rules")).unwrap();
    std::fs::write(folder.join("rules/rules.toml"), rules.replace("DIR", text(&folder))).unwrap();
    let mut config = String::from("[capture]\nlanes = 1\n[record]\nenabled = false\n[alert]\nenabled = true\n");
    writeln!(config, "every = \"1 s\"\nrules = [\"{}\"]", text(&folder.join("rules"))).unwrap();
    let running = wire.run(&format!("data-{name}"), &config);
    for (capture, title) in captures {
        wire.replay(capture, "max");
        let told = || std::fs::read_to_string(folder.join("told")).unwrap_or_default();
        eventually(title, || told().lines().any(|line| line == *title));
    }
    let (code, said) = running.end();
    assert_eq!(code, 0, "{said:#?}");
}

#[test]
fn a_nul_in_a_user_agent_holds_no_message_up() {
    let Some(wire) = Wire::lay("nul") else { return };
    let own = |number: u32, agent: &str| {
        let path = wire.path(&format!("own-{number}.pcap"));
        std::fs::write(&path, refused_call(number, agent)).unwrap();
        path
    };
    let (bad, good) = (own(1, "own\0ua"), own(2, "good ua"));
    let captures = [(bad, "[firing] calls of own ua fail"), (good.clone(), "[firing] calls of good ua fail")];
    a_nul_holds_nobody_up("own", RULES, &captures, &wire);
    if let (Some(rules), Some(capture)) = (case("nul-rules.toml"), case("nul-in-user-agent.pcap")) {
        let rules = std::fs::read_to_string(rules).unwrap();
        let captures = [(capture, "[firing] calls of bad ua fail"), (good, "[firing] calls of good ua fail")];
        a_nul_holds_nobody_up("reported", &rules, &captures, &wire);
    }
}
