//! A server of Diameter that answers as a test wants, and notes what it was asked. It is written against the values of
//! `wire` alone, and shares nothing with the program's own clients and servers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use trunkline_wire::diameter::base::*;
use trunkline_wire::diameter::credit::*;
use trunkline_wire::diameter::enumerated::RequestType;
use trunkline_wire::diameter::*;

/// What came in one request of credit control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The connection, counted from 0.
    pub connection: usize,
    /// 1 initial, 2 update, 3 termination, 4 event.
    pub kind: u32,
    pub number: u32,
    pub session: String,
    pub origin: String,
    pub subscriber: String,
    pub end_to_end: u32,
    pub hop_by_hop: u32,
    pub again: bool,
    /// Rating group, what was used, the reason.
    pub services: Vec<(u32, Option<u64>, Option<u32>)>,
}

/// What is done about it.
#[derive(Clone, Debug)]
pub enum Reply {
    /// An answer: the result of the command, and of each service its result and units.
    Answer(u32, Vec<(u32, u32, u64)>),
    /// The same, after a while.
    Later(Duration, u32, Vec<(u32, u32, u64)>),
    /// The answer, and behind it a request of the server: 258 or 274.
    AnswerAndAsk(u32, Vec<(u32, u32, u64)>, u32),
    /// Octets in place of an answer.
    Octets(Vec<u8>),
    /// Nothing.
    Silence,
    /// The connection is closed.
    Close,
}

/// What decides.
pub type Decide = Box<dyn FnMut(&Seen) -> Reply + Send>;

/// Everything that came, message by message.
#[derive(Default)]
pub struct Noted {
    pub requests: Vec<Seen>,
    /// Commands of peers and answers to the server's requests, with their result codes.
    pub others: Vec<(u32, bool, Option<u32>)>,
    /// All messages, if they are kept.
    pub octets: Vec<Vec<u8>>,
    pub connections: usize,
}

/// A server that ends with the test.
pub struct Responder {
    pub address: String,
    pub noted: Arc<Mutex<Noted>>,
    ended: Arc<AtomicBool>,
}

impl Responder {
    pub fn start(decide: impl FnMut(&Seen) -> Reply + Send + 'static) -> Responder {
        Responder::bind("127.0.0.1:0".parse().unwrap(), false, decide)
    }

    pub fn bind(
        address: SocketAddr,
        keep_octets: bool,
        decide: impl FnMut(&Seen) -> Reply + Send + 'static,
    ) -> Responder {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (noted, ended) = (Arc::new(Mutex::new(Noted::default())), Arc::new(AtomicBool::new(false)));
        let decide: Arc<Mutex<Decide>> = Arc::new(Mutex::new(Box::new(decide)));
        let (own, over) = (Arc::clone(&noted), Arc::clone(&ended));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { break };
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let number = {
                    let mut noted = own.lock().unwrap();
                    noted.connections += 1;
                    noted.connections - 1
                };
                let one =
                    Connection { stream, number, noted: Arc::clone(&own), decide: Arc::clone(&decide), keep_octets };
                std::thread::spawn(move || one.serve());
            }
        });
        Responder { address, noted, ended }
    }

    /// What came, once nobody asks any more.
    pub fn requests(&self) -> Vec<Seen> {
        self.noted.lock().unwrap().requests.clone()
    }

    /// Requests of a kind, copies left out.
    pub fn firsts(&self, kind: u32) -> u64 {
        self.requests().iter().filter(|seen| seen.kind == kind && !seen.again).count() as u64
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(&self.address);
    }
}

struct Connection {
    stream: TcpStream,
    number: usize,
    noted: Arc<Mutex<Noted>>,
    decide: Arc<Mutex<Decide>>,
    keep_octets: bool,
}

impl Connection {
    fn serve(mut self) {
        let (mut input, mut room) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            let Ok(octets @ 1..) = self.stream.read(&mut room) else { return };
            input.extend_from_slice(&room[..octets]);
            let mut out = Vec::new();
            let mut frames = Frames::new(&input, 1 << 20);
            while let Some(octets) = frames.next_message().unwrap() {
                if !self.message(octets, &mut out) {
                    let _ = self.stream.write_all(&out);
                    let _ = self.stream.shutdown(std::net::Shutdown::Both);
                    return;
                }
            }
            let taken = frames.taken();
            input.drain(..taken);
            if self.stream.write_all(&out).is_err() {
                return;
            }
        }
    }

    /// Answers a message; false closes the connection.
    fn message(&mut self, octets: &[u8], out: &mut Vec<u8>) -> bool {
        let message = Message::new(octets).unwrap();
        let header = message.header;
        if self.keep_octets {
            self.noted.lock().unwrap().octets.push(octets.to_vec());
        }
        if header.command == command::CREDIT_CONTROL && header.is_request() {
            return self.credit_control(&message, out);
        }
        let result = message.avps().find(dictionary::avp::RESULT_CODE).map(|avp| avp.unsigned32().unwrap());
        self.noted.lock().unwrap().others.push((header.command, header.is_request(), result));
        match (header.command, header.is_request()) {
            (command::CAPABILITIES_EXCHANGE, true) => {
                CapabilitiesExchangeRequest::read(&message).unwrap();
                capabilities().write(&header.answer(), out).unwrap();
                let watchdog =
                    DeviceWatchdogRequest { origin_host: "ocs.test", origin_realm: "test", origin_state_id: None };
                watchdog.write(&Header::request(command::DEVICE_WATCHDOG, 0), out).unwrap();
            }
            (command::DISCONNECT_PEER, true) => {
                let answer = DisconnectPeerAnswer {
                    result_code: 2001,
                    origin_host: "ocs.test",
                    origin_realm: "test",
                    ..DisconnectPeerAnswer::default()
                };
                answer.write(&header.answer(), out).unwrap();
            }
            _ => {}
        }
        true
    }

    fn credit_control(&mut self, message: &Message<'_>, out: &mut Vec<u8>) -> bool {
        let request = CreditControlRequest::read(message).unwrap();
        let seen = seen(message, &request, self.number);
        let reply = {
            // Noted in the order in which it is decided, whichever connection it comes by.
            let mut decide = self.decide.lock().unwrap();
            self.noted.lock().unwrap().requests.push(seen.clone());
            decide(&seen)
        };
        match reply {
            Reply::Answer(result, services) => answer(message, &request, result, &services, out),
            Reply::Later(time, result, services) => {
                #[allow(clippy::disallowed_methods, reason = "a server that takes so long is what is tested")]
                std::thread::sleep(time);
                answer(message, &request, result, &services, out);
            }
            Reply::AnswerAndAsk(result, services, command) => {
                answer(message, &request, result, &services, out);
                ask(command, &request, out);
            }
            Reply::Octets(octets) => out.extend_from_slice(&octets),
            Reply::Silence => {}
            Reply::Close => return false,
        }
        true
    }
}

fn capabilities() -> CapabilitiesExchangeAnswer<'static> {
    CapabilitiesExchangeAnswer {
        result_code: 2001,
        origin_host: "ocs.test",
        origin_realm: "test",
        host_ip_addresses: List::Values(&[HostAddress::Ip(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST))]),
        product_name: "responder",
        auth_application_ids: List::Values(&[4]),
        ..CapabilitiesExchangeAnswer::default()
    }
}

fn seen(message: &Message<'_>, request: &CreditControlRequest<'_>, connection: usize) -> Seen {
    let service = |service: MultipleServices<'_>| {
        let units = |used: UsedServiceUnit<'_>| {
            used.total_octets.or(used.time_s.map(u64::from)).or(used.service_specific_units).unwrap_or(0)
        };
        let reason = service.reporting_reasons.iter().next().map(|reason| reason as u32);
        (service.rating_group.unwrap(), service.used.iter().next().map(units), reason)
    };
    Seen {
        connection,
        kind: request.request_type as u32,
        number: request.request_number,
        session: request.session_id.to_owned(),
        origin: request.origin_host.to_owned(),
        subscriber: request.subscription_ids.iter().next().unwrap().name.to_owned(),
        end_to_end: message.header.end_to_end,
        hop_by_hop: message.header.hop_by_hop,
        again: message.header.is_retransmitted(),
        services: request.services.iter().map(service).collect(),
    }
}

fn answer(
    message: &Message<'_>,
    request: &CreditControlRequest<'_>,
    result: u32,
    services: &[(u32, u32, u64)],
    out: &mut Vec<u8>,
) {
    let services: Vec<_> = services.iter().map(|service| given(*service, request.request_type)).collect();
    let answer = CreditControlAnswer {
        session_id: request.session_id,
        result_code: Some(result),
        origin_host: "ocs.test",
        origin_realm: "test",
        auth_application_id: 4,
        request_type: request.request_type,
        request_number: request.request_number,
        services: List::Values(&services),
        ..CreditControlAnswer::default()
    };
    answer.write(&message.header.answer(), out).unwrap();
}

fn given((group, result, units): (u32, u32, u64), kind: RequestType) -> MultipleServices<'static> {
    let octets = GrantedServiceUnit { total_octets: Some(units), ..GrantedServiceUnit::default() };
    let event = GrantedServiceUnit { service_specific_units: Some(units), ..GrantedServiceUnit::default() };
    let granted = if kind == RequestType::Event { event } else { octets };
    MultipleServices {
        rating_group: Some(group),
        result_code: Some(result),
        granted: (units > 0).then_some(granted),
        ..MultipleServices::default()
    }
}

/// A request of the server within a session.
fn ask(command: u32, request: &CreditControlRequest<'_>, out: &mut Vec<u8>) {
    let header = Header { hop_by_hop: 77, end_to_end: 78, ..Header::request(command, 4) };
    if command == command::RE_AUTH {
        let ask = ReAuthRequest {
            session_id: request.session_id,
            origin_host: "ocs.test",
            origin_realm: "test",
            destination_realm: request.origin_realm,
            destination_host: request.origin_host,
            auth_application_id: 4,
            ..ReAuthRequest::default()
        };
        ask.write(&header, out).unwrap();
    } else {
        let ask = AbortSessionRequest {
            session_id: request.session_id,
            origin_host: "ocs.test",
            origin_realm: "test",
            destination_realm: request.origin_realm,
            destination_host: request.origin_host,
            auth_application_id: 4,
            ..AbortSessionRequest::default()
        };
        ask.write(&header, out).unwrap();
    }
}

/// A capture of messages, each in a segment of one connection.
pub fn capture(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    trunkline_wire::pcap::emit::header(&mut file, 101, 65_535);
    let mut sequence = 1u32;
    for (n, message) in messages.iter().enumerate() {
        let length = (40 + message.len()) as u16;
        let mut packet = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet.extend_from_slice(&[0x9c, 0x40]);
        packet.extend_from_slice(&PORT.to_be_bytes());
        packet.extend_from_slice(&sequence.to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0, 0, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
        packet.extend_from_slice(message);
        sequence += message.len() as u32;
        let time_ns = 1_700_000_000_000_000_000 + n as i64;
        trunkline_wire::pcap::emit::record(&mut file, time_ns, packet.len() as u32, &packet);
    }
    file
}
