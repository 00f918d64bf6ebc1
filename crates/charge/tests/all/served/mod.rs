//! A node in a folder of its own, and a client of Diameter that says what it is told to.

pub mod disk;

use crate::eventually::PATIENCE;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use trunkline_charge::gy::Terms;
use trunkline_charge::job::{GatewayPlace, GtppSetup, Node, Opened, Peering, Profiles, Setup};
use trunkline_charge::peer::Local;
use trunkline_charge::quota::Mapping;
use trunkline_charge::session::Limits;
use trunkline_charge::trust::Trust;
use trunkline_commit::{Disk, Folder, Options};
use trunkline_net::{Listen, Networks, Tls};
use trunkline_wire::diameter::base::{CapabilitiesExchangeAnswer, CapabilitiesExchangeRequest};
use trunkline_wire::diameter::credit::{
    CreditControlAnswer, CreditControlRequest, MultipleServices, PsInformation, RequestedServiceUnit,
    ServiceInformation, SubscriptionId, UsedServiceUnit,
};
use trunkline_wire::diameter::enumerated::{FailureHandling, RequestType, SubscriptionIdType};
use trunkline_wire::diameter::{Frames, Header, HostAddress, List, Message, application, command};

pub const PLAN: &str = r#"
[plan]
name = "standard"
currency = "EUR"
time-zone = "Europe/Paris"
[[version]]
from = "2026-01-01"
[[version.rule]]
name = "sms"
rating-groups = [7]
unit = "events"
price = 9
[[version.rule]]
name = "data"
rating-groups = [1]
step = "1 KiB"
price = 1
tranche = "100 KiB"
tranche-least = "1 KiB"
validity = "1 h"
"#;

/// A node and where it is.
pub struct World {
    pub node: Node,
    pub folder: PathBuf,
    pub address: SocketAddr,
    pub gtpp: Option<SocketAddr>,
}

pub fn local() -> Local {
    Local {
        host: "ocs.example.org".to_owned(),
        realm: "example.org".to_owned(),
        realms: Vec::new(),
        addresses: vec!["127.0.0.1".parse().expect("an address")],
        state_id: 1,
        peers: Vec::new(),
        watchdog: Duration::from_secs(30),
    }
}

/// Starts a node on the ledger of a folder, with what `set` changes of who it is.
pub fn start(folder: &Path, set: impl FnOnce(&mut Local)) -> World {
    let options = Options { segment_octets: 4 << 20, ..Options::default() };
    let disk = Folder::open(&folder.join("ledger")).expect("a folder");
    start_on(folder, Arc::new(disk), options, set)
}

/// The same with its ledger on that disk.
pub fn start_on<D>(folder: &Path, disk: Arc<D>, options: Options, set: impl FnOnce(&mut Local)) -> World
where
    D: Disk + Send + Sync + 'static,
    D::File: Send + 'static,
{
    serve(folder, disk, options, (set, Peering::default(), anywhere()), None, false)
}

/// A free port, without TLS.
fn anywhere() -> (SocketAddr, Option<Tls>) {
    ("127.0.0.1:0".parse().expect("an address"), None)
}

/// Starts a node that dials peers, and listens there, with TLS where that is given.
pub fn start_calling(
    folder: &Path,
    peering: Peering,
    door: Option<(SocketAddr, Option<Tls>)>,
    set: impl FnOnce(&mut Local),
) -> World {
    let door = door.unwrap_or_else(anywhere);
    let options = Options { segment_octets: 4 << 20, ..Options::default() };
    let disk = Folder::open(&folder.join("ledger")).expect("a folder");
    serve(folder, Arc::new(disk), options, (set, peering, door), None, false)
}

/// Starts a node that looks subscribers up.
pub fn start_beside(folder: &Path, profiles: Profiles) -> World {
    let options = Options { segment_octets: 4 << 20, ..Options::default() };
    let disk = Folder::open(&folder.join("ledger")).expect("a folder");
    serve(folder, Arc::new(disk), options, (|_: &mut Local| {}, Peering::default(), anywhere()), Some(profiles), true)
}

/// Starts a node that speaks GTP' besides.
pub fn start_with_gtpp(folder: &Path) -> World {
    let options = Options { segment_octets: 4 << 20, ..Options::default() };
    let disk = Folder::open(&folder.join("ledger")).expect("a folder");
    serve(folder, Arc::new(disk), options, (|_: &mut Local| {}, Peering::default(), anywhere()), None, true)
}

fn serve<D>(
    folder: &Path,
    disk: Arc<D>,
    options: Options,
    (set, peering, (address, tls)): (impl FnOnce(&mut Local), Peering, (SocketAddr, Option<Tls>)),
    profiles: Option<Profiles>,
    speaks_gtpp: bool,
) -> World
where
    D: Disk + Send + Sync + 'static,
    D::File: Send + 'static,
{
    let mut local = local();
    set(&mut local);
    let terms = Terms {
        host: local.host.clone(),
        realm: local.realm.clone(),
        session_failover: false,
        failure_handling: FailureHandling::Terminate,
    };
    let listens = vec![Listen::Tcp { address, tls }, Listen::Unix { path: folder.join("control.sock"), mode: 0o600 }];
    let net = trunkline_net::Options { threads: 1, ..trunkline_net::Options::default() };
    let gtpp = speaks_gtpp.then(|| GtppSetup {
        listens: vec![Listen::Udp { address: "127.0.0.1:0".parse().expect("an address") }],
        allow: Networks::all(),
        mapping: Mapping::default(),
        place: Some(GatewayPlace {
            log: folder.join("gateway"),
            files: folder.join("received"),
            node: "ocs.example.org".to_owned(),
        }),
        redirect_to: None,
    });
    let trust = trust();
    let setup = Setup { local, terms, listens, options: net, peering, trust };
    let opened = Opened::with_gtpp(setup, gtpp).expect("listeners");
    let (core, log) = trunkline_charge::ledger::open(disk, options, Limits::default()).expect("a ledger");
    let node = opened.start(core, log, options, profiles).expect("a node");
    let address = node.addresses()[0].expect("an address");
    let gtpp = node.addresses().get(2).copied().flatten();
    World { node, folder: folder.to_path_buf(), address, gtpp }
}

/// `pair1` and `pair2` go on with each other's sessions, and `shop` gives back.
fn trust() -> Trust {
    let of = |hosts: &[&str]| hosts.iter().map(|host| (*host).to_owned()).collect();
    Trust { failover: vec![of(&["pair1", "pair2"])], agents: Vec::new(), refunds: of(&["shop"]) }
}

impl World {
    /// What an operator's line is answered.
    pub fn order(&self, order: &serde_json::Value) -> serde_json::Value {
        self.line(&order.to_string())
    }

    pub fn line(&self, line: &str) -> serde_json::Value {
        let mut stream = UnixStream::connect(self.folder.join("control.sock")).expect("the socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        stream.write_all(format!("{line}\n").as_bytes()).expect("written");
        let mut reply = String::new();
        BufReader::new(stream).read_line(&mut reply).expect("a reply");
        serde_json::from_str(&reply).expect("JSON")
    }

    /// A plan, and accounts 1 to `count` with so much each, whose IMSI is `00101` and the number.
    pub fn fill(&self, count: u64, balance: i64) {
        let done = |reply: serde_json::Value| assert!(reply.get("error").is_none(), "{reply}");
        done(self.order(&serde_json::json!({ "do": "plan", "text": PLAN })));
        for number in 1..=count {
            done(self.order(&serde_json::json!({ "do": "account", "account": number, "plan": "standard" })));
            let identities = [format!("imsi:{}", imsi(number))];
            let subscriber = serde_json::json!({
                "do": "subscriber", "subscriber": number, "account": number, "identities": identities,
            });
            done(self.order(&subscriber));
            done(
                self.order(
                    &serde_json::json!({ "do": "top-up", "account": number, "amount": balance, "note": "cash" }),
                ),
            );
        }
    }

    pub fn balance(&self, account: u64) -> (i64, i64) {
        let shown = self.order(&serde_json::json!({ "do": "show-account", "account": account }));
        let of = |name: &str| shown.get(name).and_then(serde_json::Value::as_i64).expect("an amount");
        (of("balance"), of("reserved"))
    }
}

pub fn imsi(number: u64) -> String {
    format!("00101{number:010}")
}

/// A connection of a client.
pub struct Client {
    pub stream: TcpStream,
    pub host: String,
    input: Vec<u8>,
    next: u32,
}

/// What a client says first.
pub fn cer(host: &str, realm: &str) -> Vec<u8> {
    offering(host, realm, application::CREDIT_CONTROL)
}

fn offering(host: &str, realm: &str, application: u32) -> Vec<u8> {
    let hosts = [HostAddress::Ip("127.0.0.1".parse().expect("an address"))];
    let cer = CapabilitiesExchangeRequest {
        origin_host: host,
        origin_realm: realm,
        host_ip_addresses: List::Values(&hosts),
        vendor_id: 0,
        product_name: "test",
        auth_application_ids: List::Values(&[application]),
        ..CapabilitiesExchangeRequest::default()
    };
    let mut out = Vec::new();
    cer.write(&Header::request(command::CAPABILITIES_EXCHANGE, application::BASE), &mut out).expect("it fits");
    out
}

impl Client {
    /// Connects and exchanges capabilities.
    pub fn new(address: SocketAddr, host: &str) -> Client {
        Client::of(address, host, "example.org")
    }

    /// The same in a realm.
    pub fn of(address: SocketAddr, host: &str, realm: &str) -> Client {
        let mut client = Client::raw(address, host);
        let answer = client.ask(&cer(host, realm));
        let cea = CapabilitiesExchangeAnswer::read(&Message::new(&answer).expect("a message")).expect("a CEA");
        assert_eq!(cea.result_code, 2001);
        client
    }

    /// An agent that relays all applications.
    pub fn relay(address: SocketAddr, host: &str, realm: &str) -> Client {
        let mut client = Client::raw(address, host);
        let answer = client.ask(&offering(host, realm, application::RELAY));
        let cea = CapabilitiesExchangeAnswer::read(&Message::new(&answer).expect("a message")).expect("a CEA");
        assert_eq!(cea.result_code, 2001);
        client
    }

    /// Connects and says nothing.
    pub fn raw(address: SocketAddr, host: &str) -> Client {
        Client::over(TcpStream::connect(address).expect("a connection"), host)
    }

    /// Over a connection that is there.
    pub fn over(stream: TcpStream, host: &str) -> Client {
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        stream.set_nodelay(true).expect("an option");
        Client { stream, host: host.to_owned(), input: Vec::new(), next: 1 }
    }

    pub fn send(&mut self, octets: &[u8]) {
        self.stream.write_all(octets).expect("written");
    }

    /// The next message; none when the connection has ended.
    pub fn receive(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(message) = Frames::new(&self.input, 1 << 20).next_message().expect("Diameter") {
                let message = message.to_vec();
                self.input.drain(..message.len());
                return Some(message);
            }
            let mut piece = [0; 65_536];
            match self.stream.read(&mut piece).expect("an answer in time") {
                0 => return None,
                read => self.input.extend_from_slice(&piece[..read]),
            }
        }
    }

    /// Whether nothing comes for half a second.
    pub fn is_silent(&mut self) -> bool {
        if !self.input.is_empty() {
            return false;
        }
        self.stream.set_read_timeout(Some(Duration::from_millis(500))).expect("a time-out");
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        peeked.is_err()
    }

    pub fn ask(&mut self, octets: &[u8]) -> Vec<u8> {
        self.send(octets);
        self.receive().expect("an answer")
    }

    /// The octets of a request of this client.
    pub fn ccr(&mut self, ccr: &Ccr<'_>) -> Vec<u8> {
        self.next += 1;
        ccr.octets(&self.host, self.next)
    }

    /// Asks, and reads result, number of octets granted, and the result of the first service.
    pub fn charge(&mut self, ccr: &Ccr<'_>) -> (u32, Option<u64>, Option<u32>) {
        let octets = self.ccr(ccr);
        read(&self.ask(&octets))
    }
}

/// What of an answer most tests look at.
pub fn read(answer: &[u8]) -> (u32, Option<u64>, Option<u32>) {
    let message = Message::new(answer).expect("a message");
    let cca = CreditControlAnswer::read_avps(message.avps()).expect("a CCA");
    let service = cca.services.iter().next();
    let granted = service.and_then(|service| service.granted).and_then(|granted| granted.total_octets);
    (cca.result_code.expect("a result"), granted, service.and_then(|service| service.result_code))
}

/// A request of packet switched charging, with one service.
#[derive(Clone, Copy)]
pub struct Ccr<'a> {
    pub session: &'a str,
    pub number: u32,
    pub kind: RequestType,
    pub imsi: &'a str,
    pub used: Option<u64>,
    /// Whether units are asked for.
    pub asks: bool,
}

impl Ccr<'_> {
    pub fn octets(&self, host: &str, identifier: u32) -> Vec<u8> {
        let used = self.used.map(|octets| UsedServiceUnit { total_octets: Some(octets), ..UsedServiceUnit::default() });
        let services = [MultipleServices {
            rating_group: Some(1),
            requested: self.asks.then(RequestedServiceUnit::default),
            used: List::Values(used.as_slice()),
            ..MultipleServices::default()
        }];
        let subscriber = [SubscriptionId { kind: SubscriptionIdType::Imsi, name: self.imsi }];
        let ps = PsInformation { called_station_id: Some("internet"), ..PsInformation::default() };
        let ccr = CreditControlRequest {
            session_id: self.session,
            origin_host: host,
            origin_realm: "example.org",
            destination_realm: "example.org",
            auth_application_id: application::CREDIT_CONTROL,
            service_context_id: "32251@3gpp.org",
            request_type: self.kind,
            request_number: self.number,
            subscription_ids: List::Values(&subscriber),
            services: List::Values(&services),
            service_information: Some(ServiceInformation { ps: Some(ps), ..ServiceInformation::default() }),
            ..CreditControlRequest::default()
        };
        let header = Header::request(command::CREDIT_CONTROL, application::CREDIT_CONTROL);
        let header = Header { hop_by_hop: identifier, end_to_end: identifier, ..header };
        let mut out = Vec::new();
        ccr.write(&header, &mut out).expect("it fits");
        out
    }
}
