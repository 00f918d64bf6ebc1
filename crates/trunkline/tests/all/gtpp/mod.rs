//! A node that makes records and sends them over GTP' (CDF), what it was told of them, and the files for billing.

pub mod tshark;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use trunkline_kit::random::Random;
use trunkline_wire::cdr::file::{Closure, Edition, FileHeader, FileTime, Lost, RecordHeader, Records};
use trunkline_wire::cdr::{List, PgwRecord, RecordTime};
use trunkline_wire::gtpp::records::{FormatVersion, format};
use trunkline_wire::gtpp::{
    Body, Frames, Header, Message, TransferCommand, Version, Writer, cause, element, message_type,
};

/// Requests that wait at a time.
const WINDOW: usize = 16;
/// Answers that a late copy may be behind.
const COPIES_BEHIND: usize = 4096;
/// How long the node may be away.
const PATIENCE: Duration = Duration::from_secs(30);
const AGAIN: Duration = Duration::from_millis(200);
const RELEASE_7: FormatVersion = FormatVersion { application: 1, release: 7, version: 5 };

pub use crate::ports::free_port as free_udp;

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Billed,
    /// Sent as possibly duplicated, and not settled.
    Apart,
    Cancelled,
}

enum Wire {
    Udp(UdpSocket),
    Tcp(TcpStream, Vec<u8>),
}

impl Wire {
    fn send(&mut self, octets: &[u8]) {
        // A node that is away takes nothing: it is sent again.
        let _ = match self {
            Wire::Udp(socket) => socket.send(octets).map(drop),
            Wire::Tcp(stream, _) => stream.write_all(octets),
        };
    }

    /// The next message, if one comes soon.
    fn receive(&mut self) -> Option<Vec<u8>> {
        let mut room = [0; 65_536];
        match self {
            Wire::Udp(socket) => socket.recv(&mut room).ok().map(|octets| room[..octets].to_vec()),
            Wire::Tcp(stream, input) => {
                let read = stream.read(&mut room).unwrap_or(0);
                input.extend_from_slice(&room[..read]);
                let mut frames = Frames::new(input, 1 << 16);
                let message = frames.next_message().expect("GTP'").map(<[u8]>::to_vec);
                let taken = frames.taken();
                input.drain(..taken);
                message
            }
        }
    }
}

/// What waits for an answer.
struct Waiting {
    octets: Vec<u8>,
    sent: Instant,
    does: Does,
}

#[derive(Clone, Copy)]
enum Does {
    Store(usize),
    Apart(usize),
    Settle(u16, bool),
}

pub struct Cdf {
    wire: Wire,
    random: Random,
    next: u16,
    waiting: BTreeMap<u16, Waiting>,
    /// Requests that were answered, for late copies, with their causes.
    answered: Vec<Vec<u8>>,
    records: Vec<(Vec<Vec<u8>>, Option<Fate>)>,
    /// Packets that are held apart, by number.
    apart: BTreeMap<u16, usize>,
    pub copies: u64,
    pub resent: u64,
}

impl fmt::Display for Cdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packets, {} copies, {} sent again", self.records.len(), self.copies, self.resent)
    }
}

impl Cdf {
    pub fn new(address: &str, seed: u64) -> Cdf {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        Cdf::on(Wire::Udp(socket), seed)
    }

    pub fn over_tcp(address: &str) -> Cdf {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        Cdf::on(Wire::Tcp(stream, Vec::new()), 1)
    }

    fn on(wire: Wire, seed: u64) -> Cdf {
        Cdf {
            wire,
            random: Random::new(seed, 0),
            next: 0,
            waiting: BTreeMap::new(),
            answered: Vec::new(),
            records: Vec::new(),
            apart: BTreeMap::new(),
            copies: 0,
            resent: 0,
        }
    }

    /// Each record with what became of it.
    pub fn fates(&self) -> impl Iterator<Item = (&Vec<u8>, Fate)> {
        self.records
            .iter()
            .flat_map(|(records, fate)| records.iter().map(|record| (record, fate.expect("it was answered"))))
    }

    /// Goes on with a gateway that has another address now, as if the one before had moved.
    pub fn go_to(&mut self, address: &str) {
        match &self.wire {
            Wire::Udp(socket) => socket.connect(address).unwrap(),
            Wire::Tcp(..) => panic!("a stream stays where it is"),
        }
    }

    /// Sends for a time.
    pub fn play(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            while self.waiting.len() < WINDOW {
                self.one();
            }
            self.receive();
        }
    }

    /// Waits until all is answered; what is held apart is settled.
    pub fn finish(&mut self) {
        let until = Instant::now() + PATIENCE;
        loop {
            self.settle();
            if self.waiting.is_empty() && self.apart.is_empty() {
                return;
            }
            assert!(Instant::now() < until, "{} requests are not answered", self.waiting.len());
            self.receive();
        }
    }

    fn one(&mut self) {
        match self.random.below(12) {
            0 => self.settle(),
            1 | 2 => self.send_one(true),
            _ => self.send_one(false),
        }
        if self.random.below(8) == 0 && !self.answered.is_empty() {
            // A gateway remembers 16,384 requests: a copy is not further behind.
            let behind = self.random.below(self.answered.len().min(COPIES_BEHIND) as u32) as usize;
            let octets = self.answered[self.answered.len() - 1 - behind].clone();
            self.copies += 1;
            self.wire.send(&octets);
        }
    }

    /// A packet of some records.
    pub fn send_one(&mut self, apart: bool) {
        let packet = self.records.len();
        let count = 1 + self.random.below(4) as usize;
        let records: Vec<Vec<u8>> = (0..count).map(|at| record((packet * 8 + at) as u32)).collect();
        let each: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
        let does = if apart { Does::Apart(packet) } else { Does::Store(packet) };
        self.request(does, |writer| writer.records(apart, format::BER, RELEASE_7, each.iter().copied()));
        self.records.push((records, None));
    }

    /// Settles a packet that is held apart, one way or the other.
    fn settle(&mut self) {
        let Some((number, _)) = self.apart.first_key_value().map(|(number, packet)| (*number, *packet)) else { return };
        let settled = |waiting: &Waiting| matches!(waiting.does, Does::Settle(other, _) if other == number);
        if self.waiting.values().any(settled) {
            return;
        }
        let release = self.random.below(2) == 0;
        self.request(Does::Settle(number, release), |writer| match release {
            true => writer.command(TransferCommand::RELEASE).sequence_numbers(element::RELEASED_PACKETS, &[number]),
            false => writer.command(TransferCommand::CANCEL).sequence_numbers(element::CANCELLED_PACKETS, &[number]),
        });
    }

    fn request(&mut self, does: Does, write: impl FnOnce(Writer<'_>) -> Writer<'_>) {
        let header =
            Header { version: Version::V2, kind: message_type::DATA_RECORD_TRANSFER_REQUEST, sequence: self.next };
        let mut octets = Vec::new();
        write(Writer::new(&mut octets, &header)).finish().unwrap();
        self.wire.send(&octets);
        if self.random.below(4) == 0 {
            self.copies += 1;
            self.wire.send(&octets);
        }
        self.waiting.insert(self.next, Waiting { octets, sent: Instant::now(), does });
        self.next = self.next.wrapping_add(1);
    }

    /// Waits until it is asked to go elsewhere, and does as it is asked: the cause.
    pub fn redirected(&mut self) -> u8 {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let Some(octets) = self.wire.receive() else { continue };
            let message = Message::new(&octets).expect("a message");
            if let Ok(Body::RedirectionRequest { cause, .. }) = message.body() {
                let header = Header { kind: message_type::REDIRECTION_RESPONSE, ..message.header };
                let mut out = Vec::new();
                Writer::new(&mut out, &header).cause(cause::REQUEST_ACCEPTED).finish().unwrap();
                self.wire.send(&out);
                return cause;
            }
        }
        panic!("it is not redirected");
    }

    /// Takes what comes, and sends again what is not answered.
    fn receive(&mut self) {
        if let Some(octets) = self.wire.receive() {
            let message = Message::new(&octets).expect("a message");
            if let Ok(Body::DataRecordTransferResponse { cause, requests }) = message.body() {
                requests.iter().for_each(|number| self.answer(number, cause));
            }
        }
        let mut again = Vec::new();
        for waiting in self.waiting.values_mut().filter(|waiting| waiting.sent.elapsed() > AGAIN) {
            waiting.sent = Instant::now();
            again.push(waiting.octets.clone());
        }
        self.resent += again.len() as u64;
        again.iter().for_each(|octets| self.wire.send(octets));
    }

    fn answer(&mut self, number: u16, cause: u8) {
        let Some(waiting) = self.waiting.remove(&number) else { return };
        let done = [cause::REQUEST_ACCEPTED, cause::ALREADY_FULFILLED, cause::DUPLICATES_ALREADY_FULFILLED];
        assert!(done.contains(&cause), "request {number}: cause {cause}");
        self.answered.push(waiting.octets);
        match waiting.does {
            Does::Store(packet) => self.records[packet].1 = Some(Fate::Billed),
            Does::Apart(packet) => {
                self.records[packet].1 = Some(Fate::Apart);
                self.apart.insert(number, packet);
            }
            Does::Settle(number, release) => {
                let packet = self.apart.remove(&number).expect("it was held apart");
                self.records[packet].1 = Some(if release { Fate::Billed } else { Fate::Cancelled });
            }
        }
    }
}

/// A record of its own (TS 32.298).
fn record(number: u32) -> Vec<u8> {
    let nodes = ["192.0.2.2".parse().unwrap()];
    let record = PgwRecord {
        gateway: "192.0.2.1".parse().unwrap(),
        charging_id: number,
        serving_nodes: List::Values(&nodes),
        opened: RecordTime::utc(1_795_401_000),
        duration_s: 60,
        local_sequence_number: Some(number),
        charging_characteristics: [8, 0],
        serving_node_types: List::Values(&[2]),
        ..PgwRecord::default()
    };
    let mut out = Vec::new();
    record.write(&mut out);
    out
}

/// The records of all closed files in a folder, after each file was checked; no other file is there.
pub fn files(folder: &Path) -> Vec<Vec<u8>> {
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let mut records = Vec::new();
    for path in names {
        if path.file_name().is_some_and(|name| name == "cursor" || name == "lock") {
            continue;
        }
        assert_eq!(path.extension().and_then(|e| e.to_str()), Some("ber"), "{path:?}");
        let file = std::fs::read(&path).unwrap();
        let header: FileHeader<'_> = Records::check(&file).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        records.extend(Records::new(&file, &header).map(|record| record.unwrap().1.to_vec()));
    }
    records
}

/// Of the datagrams of [`hostile`] those that ask for quota in a version above 0.
pub const QUOTA_VERSIONS: u64 = 1;

/// Sends what is no message, or a broken one: the corpus of the reader, each cut off and changed; how many.
pub fn hostile(socket: &UdpSocket, address: &str) -> usize {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/wire_gtpp");
    let mut sent = 0;
    let mut send = |octets: &[u8]| {
        // A request for quota above version 0 is answered: those are counted by themselves.
        let quota = matches!(octets, [first, 16..=29, ..] if first >> 5 != 0 && first & 0x10 == 0);
        if !quota && !octets.is_empty() && socket.send_to(octets, address).is_ok() {
            sent += 1;
        }
    };
    let mut random = Random::new(3, 3);
    for entry in std::fs::read_dir(corpus).expect("the seeds of the fuzz target") {
        let octets = std::fs::read(entry.unwrap().path()).unwrap();
        let octets = &octets[..octets.len().min(1400)];
        send(octets);
        for _ in 0..30 {
            let mut changed = octets[..random.below(octets.len() as u32 + 1) as usize].to_vec();
            if let Some(octet) = changed.get_mut(random.below(octets.len().max(1) as u32) as usize) {
                *octet ^= 1 << random.below(8);
            }
            send(&changed);
        }
    }
    for length in [1_usize, 5, 6, 7, 100, 1400] {
        let noise: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        send(&noise);
    }
    socket.send_to(&[0x2e, 16, 0, 0, 0, 1], address).unwrap();
    sent + 1
}

/// The page of metrics.
pub fn metrics(path: &Path) -> String {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}

/// Writes a closed file of so many records; what they are.
pub fn write_file(path: &Path, count: usize) -> Vec<Vec<u8>> {
    let edition = Edition { release: 7, version: 4 };
    let header = RecordHeader { edition, encoding: 1, specification: 7 };
    let records: Vec<Vec<u8>> = (0..count as u32).map(record).collect();
    let mut body = Vec::new();
    records.iter().for_each(|record| assert!(header.write(record, &mut body)));
    let mut file = FileHeader {
        file_octets: 0,
        high: edition,
        low: edition,
        opened: FileTime::default(),
        appended: FileTime::default(),
        count: count as u32,
        sequence: 1,
        closure: Closure::Normal,
        node: "127.0.0.1".parse().unwrap(),
        lost: Lost::None,
        routeing_filter: &[],
        private_extension: &[],
    };
    file.file_octets = (file.octets() + body.len()) as u32;
    let mut octets = Vec::new();
    file.write(&mut octets);
    octets.extend_from_slice(&body);
    std::fs::write(path, octets).unwrap();
    records
}
