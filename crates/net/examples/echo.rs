//! What the engine itself costs: an echo of lines, and a load for it; each on its own processor.
//!
//! ```text
//! echo serve 127.0.0.1:7000 0                 serves TCP and UDP on processor 0, until it is stopped
//! echo load tcp 127.0.0.1:7000 1 8 16 5       from processor 1: 8 connections with 16 lines on their way, 5 s
//! echo load udp 127.0.0.1:7000 1 8 16 5       8 sockets with 16 datagrams on their way
//! ```
//!
//! The load counts line feeds that come back, so that it also asks other servers of lines: `ECHO_LINE=version`.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::thread::{CpuSet, sched_setaffinity};
use trunkline_net::{Arrival, Limits, Listen, Next, Now, Options, Output, Replies, Service, Taken, UdpPeer, start};

struct Echo;

impl Service for Echo {
    type Connection = ();
    type Mail = ();

    fn accepted(&mut self, _: &Arrival<'_>, _: Now) {}

    /// Line by line, as a protocol of lines does, each said on its own.
    fn octets(&mut self, (): &mut (), input: &[u8], output: &mut Output<'_>, _: Now) -> Taken {
        let mut octets = 0;
        while let Some(end) = input[octets..].iter().position(|o| *o == b'\n') {
            if output.room() <= end {
                return Taken { octets, next: Next::Resume };
            }
            output.put(&input[octets..=octets + end]);
            octets += end + 1;
        }
        Taken { octets, next: Next::More }
    }

    fn datagram(&mut self, peer: &UdpPeer, payload: &[u8], replies: &mut Replies, _: Now) {
        replies.datagram(peer, payload);
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", address, processor] => serve(address.parse().expect("an address"), number(processor)),
        ["load", kind, address, processor, sockets, flying, seconds] => {
            let mut set = CpuSet::new();
            set.set(number(processor));
            sched_setaffinity(None, &set).expect("a processor");
            let load = Load {
                address: address.parse().expect("an address"),
                sockets: number(sockets),
                flying: number(flying),
                time: Duration::from_secs(number(seconds) as u64),
                line: std::env::var("ECHO_LINE").unwrap_or_else(|_| "a line of some thirty octets ..".to_owned()),
            };
            if kind == "udp" { load.udp() } else { load.tcp() }
        }
        _ => println!("echo serve ADDRESS PROCESSOR | echo load tcp|udp ADDRESS PROCESSOR SOCKETS FLYING SECONDS"),
    }
}

fn number(text: &str) -> usize {
    text.parse().expect("a number")
}

fn serve(address: SocketAddr, processor: usize) {
    let options = Options { threads: 1, processors: vec![processor], limits: Limits::default(), ..Options::default() };
    let listens = [Listen::Tcp { address, tls: None }, Listen::Udp { address }];
    let mut server = start(&listens, options, |_| Echo).unwrap_or_else(|e| panic!("{e}"));
    let mut line = String::new();
    println!("serves until a line comes in, or the input ends");
    std::io::stdin().read_line(&mut line).expect("a line");
    server.stop();
    server.join().expect("ended well");
    let counted = server.counts().list();
    counted.iter().filter(|c| c.value > 0).for_each(|c| println!("{:>12} {}", c.value, c.help));
}

struct Load {
    address: SocketAddr,
    sockets: usize,
    flying: usize,
    time: Duration,
    line: String,
}

impl Load {
    fn tcp(&self) {
        let batch = format!("{}\r\n", self.line).repeat(self.flying);
        let mut streams: Vec<TcpStream> = Vec::new();
        for _ in 0..self.sockets {
            let mut stream = TcpStream::connect(self.address).expect("connected");
            stream.set_nodelay(true).expect("no delay");
            stream.write_all(batch.as_bytes()).expect("written");
            streams.push(stream);
        }
        let one = batch.len() / self.flying;
        let mut buffer = vec![0; 1 << 16];
        self.rounds(&streams.iter().map(|s| s.as_fd()).collect::<Vec<_>>(), |at| {
            let got = (&streams[at]).read(&mut buffer).expect("octets");
            let lines = buffer[..got].iter().filter(|o| **o == b'\n').count();
            (&streams[at]).write_all(&batch.as_bytes()[..one * lines]).expect("written");
            lines
        });
    }

    fn udp(&self) {
        let request = format!("\0\0\0\0\0\u{1}\0\0{}\r\n", self.line);
        let mut sockets: Vec<UdpSocket> = Vec::new();
        for _ in 0..self.sockets {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("socket");
            socket.connect(self.address).expect("connected");
            socket.set_nonblocking(true).expect("set");
            (0..self.flying).for_each(|_| assert!(socket.send(request.as_bytes()).is_ok()));
            sockets.push(socket);
        }
        let mut buffer = [0; 2048];
        self.rounds(&sockets.iter().map(|s| s.as_fd()).collect::<Vec<_>>(), |at| {
            let mut came = 0;
            while sockets[at].recv(&mut buffer).is_ok() {
                came += 1;
                sockets[at].send(request.as_bytes()).expect("sent");
            }
            came
        });
    }

    /// Answers whatever is readable until the time is over, and says how many there were.
    fn rounds(&self, sockets: &[BorrowedFd<'_>], mut answer: impl FnMut(usize) -> usize) {
        let events = epoll::create(epoll::CreateFlags::CLOEXEC).expect("epoll");
        for (at, socket) in sockets.iter().enumerate() {
            let place = epoll::EventData::new_u64(at as u64);
            epoll::add(&events, socket, place, epoll::EventFlags::IN).expect("added");
        }
        let (began, mut requests, mut came) = (Instant::now(), 0, Vec::with_capacity(sockets.len()));
        while began.elapsed() < self.time {
            came.clear();
            epoll::wait(&events, spare_capacity(&mut came), None).expect("events");
            for event in &came {
                let place = event.data;
                requests += answer(place.u64() as usize);
            }
        }
        println!("{requests} requests, {:.0} a second", requests as f64 / began.elapsed().as_secs_f64());
    }
}
