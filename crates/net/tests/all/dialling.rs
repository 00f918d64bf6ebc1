//! A service that dials others and brings their answers to those who asked.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use trunkline_net::{
    Arrival, Cause, ConnectionId, Errands, Limits, Next, Now, Output, Remote, Server, Service, Taken, Undialled, start,
};

use crate::speaker::{Client, PATIENCE, eventually, options, tcp};

/// Lines of clients go to one other; its lines come back to them in order.
struct Relay {
    remote: Remote,
    patience: Duration,
    causes: Arc<Mutex<Vec<Cause>>>,
    up: Option<ConnectionId>,
    /// It is dialled, or stands.
    asked: bool,
    dials: usize,
    cuts: bool,
    /// Lines for the other.
    out: Vec<u8>,
    /// Whose lines it has.
    waiting: VecDeque<ConnectionId>,
    answers: Vec<(ConnectionId, Vec<u8>)>,
    woken: Vec<ConnectionId>,
}

enum Side {
    Client(ConnectionId),
    Other,
}

impl Relay {
    fn answer(&mut self, line: &[u8]) {
        if let Some(id) = self.waiting.pop_front() {
            self.answers.push((id, line.to_vec()));
            self.woken.push(id);
        }
    }

    fn lines(input: &[u8]) -> (usize, Vec<&[u8]>) {
        let end = input.iter().rposition(|o| *o == b'\n').map_or(0, |at| at + 1);
        (end, input[..end].split_inclusive(|o| *o == b'\n').collect())
    }
}

impl Service for Relay {
    type Connection = Side;
    type Mail = ();

    fn accepted(&mut self, arrival: &Arrival<'_>, _: Now) -> Side {
        Side::Client(arrival.id)
    }

    fn octets(&mut self, side: &mut Side, input: &[u8], _: &mut Output<'_>, _: Now) -> Taken {
        let (octets, lines) = Relay::lines(input);
        for line in lines {
            match side {
                Side::Client(_) if line == b"cut\n" => self.cuts = true,
                Side::Client(id) => {
                    self.out.extend_from_slice(line);
                    self.waiting.push_back(*id);
                }
                Side::Other => self.answer(line),
            }
        }
        Taken { octets, next: Next::More }
    }

    fn dialled(&mut self, _: &mut Side, id: ConnectionId, output: &mut Output<'_>, _: Now) -> Next {
        self.up = Some(id);
        output.put(&core::mem::take(&mut self.out));
        Next::More
    }

    fn woken(&mut self, side: &mut Side, output: &mut Output<'_>, _: Now) -> Next {
        match side {
            Side::Other => output.put(&core::mem::take(&mut self.out)),
            Side::Client(id) => {
                let (mine, others) = core::mem::take(&mut self.answers).into_iter().partition(|(to, _)| to == id);
                self.answers = others;
                let mine: Vec<(ConnectionId, Vec<u8>)> = mine;
                mine.iter().for_each(|(_, line)| output.put(line));
            }
        }
        Next::More
    }

    fn errands(&mut self, errands: &mut Errands<Side>, _: Now) {
        self.woken.drain(..).for_each(|id| errands.wake(id));
        match self.up {
            Some(id) if core::mem::take(&mut self.cuts) => errands.close(id),
            Some(id) if !self.out.is_empty() => errands.wake(id),
            None if !self.out.is_empty() && !self.asked => {
                self.asked = true;
                for _ in 0..self.dials {
                    errands.dial(self.remote.clone(), self.patience, Side::Other);
                }
            }
            _ => {}
        }
    }

    fn owes(&self, side: &Side) -> bool {
        match side {
            Side::Client(id) => self.waiting.contains(id),
            Side::Other => !self.waiting.is_empty(),
        }
    }

    fn closed(&mut self, side: Side, cause: Cause, _: Now) {
        if matches!(side, Side::Other) {
            self.causes.lock().expect("lock").push(cause);
            (self.up, self.asked) = (None, false);
            self.out.clear();
            while !self.waiting.is_empty() {
                self.answer(format!("{cause:?}\n").as_bytes());
            }
        }
    }
}

struct World {
    server: Server<()>,
    causes: Arc<Mutex<Vec<Cause>>>,
}

impl World {
    fn start(remote: Remote, dials: usize, limits: Limits) -> World {
        let causes = Arc::<Mutex<Vec<Cause>>>::default();
        let seen = Arc::clone(&causes);
        let server = start(&[tcp()], options(1, limits), move |_| Relay {
            remote: remote.clone(),
            patience: Duration::from_millis(300),
            causes: Arc::clone(&seen),
            up: None,
            asked: false,
            dials,
            cuts: false,
            out: Vec::new(),
            waiting: VecDeque::new(),
            answers: Vec::new(),
            woken: Vec::new(),
        });
        World { server: server.expect("a server"), causes }
    }

    fn client(&self) -> Client {
        Client::of(TcpStream::connect(self.server.addresses()[0].expect("an address")).expect("connected"))
    }

    fn adds_up(&self) {
        eventually("sums", || {
            let (counts, gauges) = (self.server.counts(), self.server.gauges());
            let open = (gauges.connections + gauges.dialled_connections) as u64;
            counts.accepted + counts.dialled == counts.refused() + counts.closed_in_all() + open
        });
    }
}

/// Says each line back behind `+`, `after` that long.
fn echo<S: std::io::Read + std::io::Write>(stream: S, after: Duration) {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while stream.read_line(&mut line).is_ok_and(|octets| octets > 0) {
        std::thread::park_timeout(after);
        if stream.get_mut().write_all(format!("+{line}").as_bytes()).is_err() {
            return;
        }
        line.clear();
    }
}

fn other(after: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("address");
    std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| echo(stream, after)));
    address
}

#[test]
fn what_clients_ask_is_answered_by_the_other() {
    let world = World::start(Remote::Tcp(other(Duration::ZERO)), 1, Limits::default());
    let (mut first, mut second) = (world.client(), world.client());
    for n in 0..200 {
        assert_eq!(first.ask(&format!("a{n}")), format!("+a{n}\n"));
        assert_eq!(second.ask(&format!("b{n}")), format!("+b{n}\n"));
    }
    let many: String = (0..500).map(|n| format!("{n}\n")).collect();
    first.say(&many);
    for n in 0..500 {
        assert_eq!(first.line(), format!("+{n}\n"));
    }
    let counts = world.server.counts();
    assert_eq!((counts.dialled, world.server.gauges().dialled_connections), (1, 1.0));
    // A read and a write for each of the two connections that a request goes over, and fewer for those together: how
    // many depends on what else the machine does.
    assert!(counts.writes < 2 * 400 + 750, "{} writes", counts.writes);
    world.adds_up();
}

#[test]
fn a_unix_socket_is_dialled() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| echo(stream, Duration::ZERO)));
    let world = World::start(Remote::Unix(path), 1, Limits::default());
    assert_eq!(world.client().ask("x"), "+x\n");
}

#[test]
fn who_cannot_be_reached_is_told() {
    // Bound, so that no other test gets the port, and nobody listens.
    let held = bound();
    let nobody = held.local_addr().expect("address");
    for (remote, why) in [
        (Remote::Tcp(nobody), Undialled::Refused),
        (Remote::Unix(PathBuf::from("/nowhere/at/all")), Undialled::Unreachable),
    ] {
        let world = World::start(remote, 1, Limits::default());
        let mut client = world.client();
        assert_eq!(client.ask("x"), format!("Undialled({why:?})\n"));
        assert_eq!(client.ask("again"), format!("Undialled({why:?})\n"));
        eventually("counted", || {
            let counts = world.server.counts();
            (counts.dialled, counts.closed_undialled) == (2, 2)
        });
        world.adds_up();
    }
}

#[test]
fn who_does_not_take_the_connection_is_late() {
    // A queue of none holds one connection that nobody takes; further ones get no answer (listen(2)).
    let deaf = bound();
    rustix::net::listen(&deaf, 0).expect("listens");
    let address = deaf.local_addr().expect("address");
    let _full: Vec<_> = (0..2).map(|_| TcpStream::connect_timeout(&address, Duration::from_millis(50))).collect();
    let world = World::start(Remote::Tcp(address), 1, Limits::default());
    let before = Instant::now();
    assert_eq!(world.client().ask("x"), "Undialled(Late)\n");
    let took = before.elapsed();
    assert!(took >= Duration::from_millis(300) && took < PATIENCE, "{took:?}");
    eventually("counted", || world.server.counts().closed_undialled_late == 1);
    world.adds_up();
}

fn bound() -> TcpListener {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None);
    let socket = socket.expect("a socket");
    let any: SocketAddr = "127.0.0.1:0".parse().expect("address");
    rustix::net::bind(&socket, &any).expect("a port");
    TcpListener::from(socket)
}

#[test]
fn there_are_no_more_than_the_limit() {
    let limits = Limits { dialled_connections: 3, ..Limits::default() };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let world = World::start(Remote::Tcp(listener.local_addr().expect("address")), 5, limits);
    let mut client = world.client();
    client.say("x\n");
    let full = Cause::Undialled(Undialled::Full);
    eventually("refused", || world.causes.lock().expect("lock").iter().filter(|c| **c == full).count() == 2);
    eventually("counted", || world.server.counts().closed_undialled_full == 2);
    world.adds_up();
}

#[test]
fn one_that_ends_or_is_cut_is_told_and_dialled_anew() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let world = World::start(Remote::Tcp(listener.local_addr().expect("address")), 1, Limits::default());
    let mut client = world.client();
    client.say("x\n");
    drop(listener.accept().expect("it comes"));
    assert!(["Peer\n", "Failed\n"].contains(&client.line().as_str()));
    client.say("y\n");
    let (_held, _) = listener.accept().expect("it comes again");
    client.say("cut\n");
    assert_eq!(client.line(), "Service\n");
    world.adds_up();
}

#[test]
fn who_has_ended_its_side_still_gets_its_answers() {
    let world = World::start(Remote::Tcp(other(Duration::from_millis(200))), 1, Limits::default());
    let mut client = world.client();
    client.say("one\ntwo\n");
    client.0.get_mut().shutdown(std::net::Shutdown::Write).expect("half closed");
    assert_eq!(client.rest(), b"+one\n+two\n");
    eventually("closed", || world.server.counts().closed_peer == 1);
    world.adds_up();
}

#[test]
fn a_server_that_stops_waits_for_what_it_owes() {
    let mut world = World::start(Remote::Tcp(other(Duration::from_millis(400))), 1, Limits::default());
    let mut client = world.client();
    client.say("slow\n");
    eventually("forwarded", || world.server.counts().sent_octets >= 5);
    world.server.stop();
    assert_eq!(client.rest(), b"+slow\n");
    world.server.join().expect("ended well");
    world.adds_up();
    assert_eq!(world.server.gauges().dialled_connections, 0.0);
}
