//! What stands between clients and a server of Diameter, and keeps each message that either of them says.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use trunkline_wire::diameter::{Frames, Header, Message, command};

/// How long something is waited for.
pub const PATIENCE: Duration = Duration::from_secs(30);
const MESSAGE_OCTETS_MAX: usize = 64 << 10;

/// A message.
#[derive(Clone, Debug)]
pub struct Said {
    /// Counted from 0.
    pub connection: usize,
    /// The client says it, or the server.
    pub by_client: bool,
    /// Nanoseconds since 1970.
    pub at_ns: i64,
    pub octets: Vec<u8>,
}

impl Said {
    pub fn message(&self) -> Message<'_> {
        Message::new(&self.octets).expect("a message")
    }

    pub fn header(&self) -> Header {
        self.message().header
    }

    /// Whether it is a request or an answer of this command.
    pub fn is(&self, command: u32, request: bool) -> bool {
        let header = self.header();
        (header.command, header.is_request()) == (command, request)
    }
}

#[derive(Default)]
struct State {
    said: Vec<Said>,
    connections: usize,
    /// The next answer to a CCR is lost, and its connection with it.
    loses: bool,
}

/// See the module. It goes on as long as the process does.
pub struct Recorder {
    pub address: SocketAddr,
    shared: Arc<(Mutex<State>, Condvar)>,
}

impl Recorder {
    /// On loopback, before that server.
    pub fn start(server: SocketAddr) -> Recorder {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared: Arc<(Mutex<State>, Condvar)> = Arc::default();
        let kept = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(server) else { continue };
                let connection = {
                    let mut state = kept.0.lock().expect("the state");
                    state.connections += 1;
                    state.connections - 1
                };
                for by_client in [true, false] {
                    let ends = [&client, &server].map(|end| end.try_clone().expect("a descriptor"));
                    let kept = Arc::clone(&kept);
                    std::thread::spawn(move || pass_on(&kept, connection, by_client, ends));
                }
            }
        });
        Recorder { address, shared }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().expect("the state")
    }

    /// All that was said until now, in order.
    pub fn said(&self) -> Vec<Said> {
        self.state().said.clone()
    }

    /// The next answer to a CCR does not arrive: its connection ends.
    pub fn lose_an_answer(&self) {
        self.state().loses = true;
    }

    /// Waits until what was said has `what` in it.
    pub fn until<T>(&self, what: &str, finds: impl Fn(&[Said]) -> Option<T>) -> T {
        let until = Instant::now() + PATIENCE;
        let mut state = self.state();
        loop {
            if let Some(found) = finds(&state.said) {
                return found;
            }
            let left = until.saturating_duration_since(Instant::now());
            let headers = || state.said.iter().map(Said::header).collect::<Vec<_>>();
            assert!(!left.is_zero(), "{what} is not said: {:?}", headers());
            state = self.shared.1.wait_timeout(state, left).expect("the state").0;
        }
    }
}

/// Passes on what one end says to the other, message by message, until either ends.
fn pass_on(kept: &(Mutex<State>, Condvar), connection: usize, by_client: bool, [client, server]: [TcpStream; 2]) {
    let (mut from, mut to) = if by_client { (&client, &server) } else { (&server, &client) };
    let (mut input, mut piece) = (Vec::new(), [0; 65_536]);
    'open: while let Ok(read @ 1..) = from.read(&mut piece) {
        input.extend_from_slice(&piece[..read]);
        let mut frames = Frames::new(&input, MESSAGE_OCTETS_MAX);
        while let Some(octets) = frames.next_message().expect("Diameter") {
            let lost = keep(kept, connection, by_client, octets);
            if lost || to.write_all(octets).is_err() {
                break 'open;
            }
        }
        let taken = frames.taken();
        input.drain(..taken);
    }
    for end in [client, server] {
        // The other direction may have ended it.
        let _ = end.shutdown(Shutdown::Both);
    }
}

/// Keeps a message; whether it is to be lost on its way.
fn keep(kept: &(Mutex<State>, Condvar), connection: usize, by_client: bool, octets: &[u8]) -> bool {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970");
    let said = Said { connection, by_client, at_ns: unix.as_nanos() as i64, octets: octets.to_vec() };
    let mut state = kept.0.lock().expect("the state");
    let lost = state.loses && said.is(command::CREDIT_CONTROL, false);
    state.loses &= !lost;
    state.said.push(said);
    kept.1.notify_all();
    lost
}
