//! A service that does what lines tell it, and what the tests ask with.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use trunkline_net::{
    Arrival, Cause, ConnectionId, Limits, Listen, Next, Now, Options, Output, Peer, Replies, Seat, Server, Service,
    Taken, UdpPeer, Waker, start,
};

pub use crate::eventually::{PATIENCE, eventually};

/// What a test sees of the service's threads.
#[derive(Clone, Default)]
pub struct Seen {
    pub causes: Arc<Mutex<Vec<Cause>>>,
    pub ids: Arc<Mutex<Vec<(ConnectionId, Peer)>>>,
    pub peers: Arc<Mutex<Vec<UdpPeer>>>,
    pub undelivered: Arc<Mutex<Vec<String>>>,
    pub certificates: Arc<Mutex<Vec<Option<Vec<u8>>>>>,
    pub threads: Arc<Mutex<Vec<u16>>>,
    pub longest_input: Arc<AtomicUsize>,
}

/// Lines: `echo TEXT`, `big N` (N octets), `take N` (N octets follow), `hold`, `close`, `flood N` (at once, whatever
/// the room), `spin` (asks to go on, forever, and says nothing), `panic`.
pub struct Speaker {
    seat: Seat<String>,
    seen: Seen,
    /// Lines of a turn; then the others have theirs.
    lines_max: usize,
}

#[derive(Default)]
pub struct Speech {
    big: usize,
    said: usize,
    take: usize,
    taken: usize,
    sum: u64,
    spins: bool,
}

/// The octet at a place of a long answer.
pub fn pattern(at: usize) -> u8 {
    (at.wrapping_mul(31) >> 3) as u8
}

/// After so many octets they come again.
const PERIOD: usize = 2048;

/// Octets made beforehand: a server that makes each of its octets waits for itself, and not for those who do not read.
static PATTERN: LazyLock<Vec<u8>> = LazyLock::new(|| (0..64 * PERIOD).map(pattern).collect());

impl Speaker {
    pub fn new(seat: Seat<String>, seen: Seen, lines_max: usize) -> Speaker {
        Speaker { seat, seen, lines_max }
    }

    fn line(&self, speech: &mut Speech, line: &[u8], output: &mut Output<'_>) -> Option<Next> {
        let line = String::from_utf8_lossy(line);
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let number = || rest.parse::<usize>().unwrap_or(0);
        match word {
            "echo" => output.print(format_args!("{rest}\n")),
            "big" => {
                (speech.big, speech.said) = (number(), 0);
                return self.go_on(speech, output);
            }
            "take" => (speech.take, speech.taken, speech.sum) = (number(), 0, 0),
            "hold" => return Some(Next::Hold),
            "close" => {
                output.put(b"bye\n");
                return Some(Next::Close);
            }
            "flood" => output.put(&vec![b'x'; number()]),
            "spin" => {
                speech.spins = true;
                return Some(Next::Resume);
            }
            "panic" => panic!("asked for"),
            _ => output.put(b"ERROR\n"),
        }
        None
    }

    fn go_on(&self, speech: &mut Speech, output: &mut Output<'_>) -> Option<Next> {
        let now = output.room().min(speech.big - speech.said);
        let mut left = now;
        while left > 0 {
            let begin = (speech.said + now - left) % PERIOD;
            let piece = &PATTERN[begin..][..left.min(PATTERN.len() - begin)];
            output.put(piece);
            left -= piece.len();
        }
        speech.said += now;
        if speech.said < speech.big { Some(Next::Resume) } else { None }
    }

    fn take(&self, speech: &mut Speech, input: &[u8], output: &mut Output<'_>) -> usize {
        let now = input.len().min(speech.take);
        speech.sum += input[..now].iter().map(|o| u64::from(*o)).sum::<u64>();
        speech.take -= now;
        speech.taken += now;
        if speech.take == 0 {
            output.print(format_args!("took {} {}\n", speech.taken, speech.sum));
        }
        now
    }
}

impl Service for Speaker {
    type Connection = Speech;
    type Mail = String;

    fn accepted(&mut self, arrival: &Arrival<'_>, _: Now) -> Speech {
        self.seen.ids.lock().expect("lock").push((arrival.id, arrival.peer));
        self.seen.threads.lock().expect("lock").push(self.seat.thread);
        self.seen.certificates.lock().expect("lock").push(arrival.certificate.map(|c| c.to_vec()));
        Speech::default()
    }

    fn octets(&mut self, speech: &mut Speech, input: &[u8], output: &mut Output<'_>, _: Now) -> Taken {
        let mut octets = 0;
        self.seen.longest_input.fetch_max(input.len(), Ordering::Relaxed);
        for _ in 0..self.lines_max {
            if speech.take > 0 && octets < input.len() {
                octets += self.take(speech, &input[octets..], output);
                continue;
            }
            let Some(end) = input[octets..].iter().position(|o| *o == b'\n') else {
                return Taken { octets, next: Next::More };
            };
            if output.room() < end {
                return Taken { octets, next: Next::Resume };
            }
            let line = &input[octets..octets + end];
            octets += end + 1;
            if let Some(next) = self.line(speech, line, output) {
                return Taken { octets, next };
            }
        }
        Taken { octets, next: Next::Yield }
    }

    fn resume(&mut self, speech: &mut Speech, output: &mut Output<'_>, _: Now) -> Next {
        if speech.spins {
            return Next::Resume;
        }
        self.go_on(speech, output).unwrap_or(Next::More)
    }

    fn mail(&mut self, _: &mut Speech, mail: String, output: &mut Output<'_>, _: Now) -> Next {
        output.print(format_args!("mail {mail}\n"));
        Next::More
    }

    fn undelivered(&mut self, mail: String, _: Now) {
        self.seen.undelivered.lock().expect("lock").push(mail);
    }

    /// `N TEXT`: TEXT to the Nth peer that was seen.
    fn post(&mut self, mail: String, replies: &mut Replies, _: Now) {
        let peers = self.seen.peers.lock().expect("lock");
        let (number, text) = mail.split_once(' ').expect("a number and a text");
        replies.datagram(&peers[number.parse::<usize>().expect("a number")], text.as_bytes());
    }

    fn farewell(&mut self, _: &mut Speech, output: &mut Output<'_>, _: Now) {
        output.put(b"farewell\n");
    }

    fn closed(&mut self, _: Speech, cause: Cause, _: Now) {
        self.seen.causes.lock().expect("lock").push(cause);
    }

    /// `big N MOST` (N octets in numbered datagrams of MOST octets), `later TEXT` (by mail), else it is said back.
    fn datagram(&mut self, peer: &UdpPeer, payload: &[u8], replies: &mut Replies, _: Now) {
        let text = String::from_utf8_lossy(payload);
        let words: Vec<&str> = text.split(' ').collect();
        match words[..] {
            ["big", octets, most] => {
                let all: Vec<u8> = (0..octets.parse().expect("a number")).map(pattern).collect();
                let mut reply = replies.numbered(peer, 8, most.parse().expect("a number"));
                if reply.put(&all) {
                    reply.finish(|header, number, total| {
                        header[2..4].copy_from_slice(&(number as u16).to_be_bytes());
                        header[4..6].copy_from_slice(&(total as u16).to_be_bytes());
                    });
                }
            }
            ["later", text] => {
                let mut peers = self.seen.peers.lock().expect("lock");
                peers.push(*peer);
                let mail = format!("{} {text}", peers.len() - 1);
                self.seat.waker.to_thread(self.seat.thread, mail).expect("room");
            }
            _ => replies.datagram(peer, payload),
        }
    }
}

/// A server of speakers.
pub struct World {
    pub server: Server<String>,
    pub seen: Seen,
    pub waker: Waker<String>,
}

/// Options of so many threads.
pub fn options(threads: usize, limits: Limits) -> Options {
    Options { threads, limits, ..Options::default() }
}

pub fn tcp() -> Listen {
    Listen::Tcp { address: "127.0.0.1:0".parse().expect("address"), tls: None }
}

impl World {
    pub fn start(listens: &[Listen], options: Options) -> World {
        World::with_lines_max(listens, options, usize::MAX)
    }

    pub fn with_lines_max(listens: &[Listen], options: Options, lines_max: usize) -> World {
        let seen = Seen::default();
        let shown = seen.clone();
        let server = start(listens, options, move |seat| Speaker::new(seat, shown.clone(), lines_max));
        let server = server.expect("a server");
        World { waker: server.waker(), server, seen }
    }

    pub fn tcp(options: Options) -> World {
        World::start(&[tcp()], options)
    }

    pub fn address(&self) -> SocketAddr {
        self.server.addresses()[0].expect("an address")
    }

    pub fn client(&self) -> Client {
        Client::of(TcpStream::connect(self.address()).expect("connected"))
    }

    /// Waits for a cause of a connection that was closed.
    pub fn saw(&self, cause: Cause) {
        eventually(&format!("{cause:?}"), || self.seen.causes.lock().expect("lock").contains(&cause));
    }

    /// What was accepted is refused, closed or open.
    pub fn adds_up(&self) {
        eventually("sums", || {
            let counts = self.server.counts();
            let open = self.server.gauges().connections as u64;
            counts.accepted == counts.refused() + counts.closed_in_all() + open
        });
    }
}

pub struct Client(pub BufReader<TcpStream>);

impl Client {
    pub fn of(stream: TcpStream) -> Client {
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
        Client(BufReader::new(stream))
    }

    pub fn say(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).expect("written");
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a line");
        line
    }

    /// A line, or what there is of it at the end; a reset is an end, too.
    pub fn rest_of_line(&mut self) -> String {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Err(error) if error.kind() != std::io::ErrorKind::ConnectionReset => panic!("{error}"),
            _ => line,
        }
    }

    pub fn ask(&mut self, text: &str) -> String {
        self.say(&format!("{text}\n"));
        self.line()
    }

    /// Reads a long answer and compares it.
    pub fn big(&mut self, octets: usize) {
        let (mut at, mut buffer) = (0, vec![0; 1 << 16]);
        while at < octets {
            let most = buffer.len().min(octets - at);
            let got = self.0.read(&mut buffer[..most]).expect("octets");
            assert!(got > 0, "ended after {at} octets");
            assert!(buffer[..got].iter().enumerate().all(|(n, o)| *o == pattern(at + n)), "wrong after {at}");
            at += got;
        }
    }

    /// What comes until the other side ends; a reset is an end, too.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Err(error) if error.kind() != std::io::ErrorKind::ConnectionReset => panic!("{error}"),
            _ => rest,
        }
    }
}
