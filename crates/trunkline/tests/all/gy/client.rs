//! A client with many sessions: each request is sent until it is answered, and many of them twice. It knows what it
//! was answered, so that a copy has to be answered the same.

use super::ccr::{Ccr, cer, copy, essence, said};
use super::imsi;
use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::time::{Duration, Instant};
use trunkline_kit::random::Random;
use trunkline_wire::diameter::enumerated::RequestType;
use trunkline_wire::diameter::{Frames, Message, command};

/// Requests that wait at a time.
const WINDOW: usize = 24;
/// How long the node may be away.
const PATIENCE: Duration = Duration::from_secs(30);
const STEP: u64 = 1024;

pub struct Client {
    /// Servers, of which one serves, and which of them is tried.
    addresses: Vec<SocketAddr>,
    tried: usize,
    /// A server answered that it is too busy: all is sent again, over another connection.
    busy: bool,
    host: String,
    random: Random,
    stream: Option<TcpStream>,
    input: Vec<u8>,
    identifier: u32,
    /// By account.
    sessions: BTreeMap<u64, Session>,
    /// Requests without an answer, by End-to-End Identifier.
    waiting: HashMap<u32, (u64, Vec<u8>)>,
    /// Answers that copies may come for, without what belongs to their way.
    answers: HashMap<u32, Vec<u8>>,
    begun: u64,
    pub answered: u64,
    pub copies: u64,
    pub resent: u64,
}

/// The session of an account, one after the other.
#[derive(Default)]
struct Session {
    name: String,
    /// Of the request that waits, or comes next.
    number: u32,
    kind: Option<RequestType>,
    granted: u64,
    /// Octets of the request that waits.
    reports: u64,
    /// Octets that were reported and answered, in this session and all before it.
    used: u64,
    octets: u64,
    /// What the sessions before cost.
    spent: i64,
    /// The last request that was answered, for late copies.
    last: Option<(u32, Vec<u8>)>,
}

impl Session {
    fn cost(&self) -> i64 {
        self.used.div_ceil(STEP) as i64
    }
}

impl Client {
    pub fn new(address: SocketAddr, number: u64, accounts: Range<u64>) -> Client {
        Client::of(vec![address], number, accounts)
    }

    /// One that goes from server to server until one answers.
    pub fn of(addresses: Vec<SocketAddr>, number: u64, accounts: Range<u64>) -> Client {
        Client {
            addresses,
            tried: 0,
            busy: false,
            host: format!("client-{number}.example"),
            random: Random::new(number, 7),
            stream: None,
            input: Vec::new(),
            identifier: (number as u32) << 28,
            sessions: accounts.map(|account| (account, Session::default())).collect(),
            waiting: HashMap::new(),
            answers: HashMap::new(),
            begun: 0,
            answered: 0,
            copies: 0,
            resent: 0,
        }
    }

    /// Sends what is next, some of it twice, and reads until all of it is answered or the connection is gone.
    pub fn round(&mut self) {
        let mut out = Vec::new();
        for _ in self.waiting.len()..WINDOW {
            let at = self.random.below(self.sessions.len() as u32) as usize;
            let (account, waits) = {
                let (account, session) = self.sessions.iter().nth(at).expect("an account");
                (*account, session.kind.is_some())
            };
            if !waits {
                self.next(account, &mut out);
            }
        }
        self.exchange(&out);
    }

    /// Ends all sessions.
    pub fn finish(&mut self) {
        let until = Instant::now() + PATIENCE;
        loop {
            let mut out = Vec::new();
            let open: Vec<u64> = self.sessions.iter().filter(|(_, s)| !s.name.is_empty()).map(|(a, _)| *a).collect();
            if open.is_empty() {
                return;
            }
            assert!(Instant::now() < until, "{} sessions do not end", open.len());
            for account in open {
                let session = self.sessions.get_mut(&account).expect("an account");
                if session.kind.is_none() {
                    self.ask(account, RequestType::Termination, &mut out);
                }
            }
            self.exchange(&out);
        }
    }

    fn next(&mut self, account: u64, out: &mut Vec<u8>) {
        let ends = self.random.below(8) == 0;
        let kind = match self.sessions[&account].name.is_empty() {
            true => RequestType::Initial,
            false if ends => RequestType::Termination,
            false => RequestType::Update,
        };
        self.ask(account, kind, out);
    }

    fn ask(&mut self, account: u64, kind: RequestType, out: &mut Vec<u8>) {
        self.identifier += 1;
        let identifier = self.identifier;
        let used = |random: &mut Random, granted: u64| match random.below(4) {
            0 => granted,
            _ => u64::from(random.below(granted as u32 + 1)),
        };
        let session = self.sessions.get_mut(&account).expect("an account");
        if kind == RequestType::Initial {
            self.begun += 1;
            (session.name, session.number) = (format!("{};{};{}", self.host, account, self.begun), 0);
        }
        session.reports = if kind == RequestType::Initial { 0 } else { used(&mut self.random, session.granted) };
        session.kind = Some(kind);
        let imsi = imsi(account);
        let (number, used) = (session.number, session.reports);
        let octets =
            Ccr { session: &session.name, host: &self.host, imsi: &imsi, number, kind, used }.octets(identifier);
        out.extend_from_slice(&octets);
        // At once, twice; and what was answered before, late.
        if self.random.below(4) == 0 {
            self.copies += 1;
            out.extend_from_slice(&copy(&octets, self.random.below(u32::MAX)));
        }
        if let Some((_, last)) = session.last.as_ref().filter(|_| self.random.below(4) == 0) {
            self.copies += 1;
            out.extend_from_slice(&copy(last, self.random.below(u32::MAX)));
        }
        self.waiting.insert(identifier, (account, octets));
    }

    /// Sends, and reads until nothing waits; begins again where the connection is lost.
    fn exchange(&mut self, out: &[u8]) {
        let until = Instant::now() + PATIENCE;
        let mut sent = self.stream.as_mut().is_some_and(|stream| stream.write_all(out).is_ok());
        while !self.waiting.is_empty() {
            assert!(Instant::now() < until, "{} requests are not answered", self.waiting.len());
            if !sent {
                sent = self.connect();
            } else if !self.receive() {
                (self.stream, sent) = (None, false);
            }
        }
    }

    /// A new connection, with all that waits sent again; whether it stands.
    #[expect(clippy::disallowed_methods, reason = "a node that is away does not say when it comes back")]
    fn connect(&mut self) -> bool {
        self.input.clear();
        let several = self.addresses.len() > 1;
        self.tried += usize::from(several);
        let Ok(mut stream) = TcpStream::connect(self.addresses[self.tried % self.addresses.len()]) else {
            std::thread::sleep(Duration::from_millis(5));
            return false;
        };
        // One that says nothing, where others could.
        let waits = if several { Duration::from_millis(700) } else { PATIENCE };
        let set = stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(waits)));
        let mut out = cer(&self.host);
        for (_, octets) in self.waiting.values() {
            self.resent += 1;
            out.extend_from_slice(&copy(octets, self.random.below(u32::MAX)));
        }
        let stands = set.and_then(|()| stream.write_all(&out)).is_ok();
        self.stream = Some(stream);
        stands
    }

    /// Reads what comes; whether the connection goes on.
    #[expect(clippy::disallowed_methods, reason = "a server that is too busy does not say when it is not")]
    fn receive(&mut self) -> bool {
        let mut piece = [0; 65_536];
        let read = self.stream.as_mut().map_or(0, |stream| stream.read(&mut piece).unwrap_or(0));
        self.input.extend_from_slice(&piece[..read]);
        let input = std::mem::take(&mut self.input);
        let mut frames = Frames::new(&input, 1 << 20);
        while let Some(octets) = frames.next_message().expect("Diameter") {
            if Message::new(octets).expect("a message").header.command == command::CREDIT_CONTROL {
                self.answer(octets);
            }
        }
        self.input = input[frames.taken()..].to_vec();
        if std::mem::take(&mut self.busy) {
            std::thread::sleep(Duration::from_millis(10));
            return false;
        }
        read > 0
    }

    fn answer(&mut self, octets: &[u8]) {
        let (identifier, essence) = essence(octets);
        if self.addresses.len() > 1 && said(octets).0 == 3004 {
            self.busy = true;
            return;
        }
        if let Some(before) = self.answers.get(&identifier) {
            assert_eq!(*before, essence, "a copy is answered as the first was");
            return;
        }
        let Some((account, request)) = self.waiting.remove(&identifier) else { return };
        let (result, granted) = said(octets);
        assert_eq!(result, 2001, "request {identifier:#x} of account {account}");
        self.answered += 1;
        let session = self.sessions.get_mut(&account).expect("an account");
        session.used += session.reports;
        session.octets += session.reports;
        (session.granted, session.number) = (granted, session.number + 1);
        if let Some((older, _)) = session.last.replace((identifier, request)) {
            self.answers.remove(&older);
        }
        self.answers.insert(identifier, essence);
        if session.kind.take() == Some(RequestType::Termination) {
            session.spent += session.cost();
            (session.name, session.used, session.granted) = (String::new(), 0, 0);
        }
    }

    /// What each account has paid.
    pub fn spent(&self) -> impl Iterator<Item = (u64, i64)> {
        self.sessions.iter().map(|(account, session)| (*account, session.spent))
    }

    /// Sessions that were begun.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// Octets that were reported and answered.
    pub fn octets(&self) -> u64 {
        self.sessions.values().map(|session| session.octets).sum()
    }
}
