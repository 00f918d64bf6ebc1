//! PCAP-over-IP: what is extracted, to each client that connects.
//!
//! Each client has a thread and an extraction of its own: the log is the buffer of a slow one, and nobody waits for it.

use crate::failure::Failure;
use crate::feed::stream::Stream;
use crate::feed::{Question, Sink};
use crate::show::figure;
use crate::stop::Stop;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::json;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use trunkline_kit::exit::Exit;
use trunkline_record::job::Found;

/// Clients that are served at once; further ones are turned away.
// Limit: clients of `trunkline extract --listen`
// Beyond: a further client is rejected
// Seen in: a line on the terminal
pub const CLIENTS_MAX: usize = 16;
/// How long a client may take nothing before it is given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long clients may take to get what was begun, once it is told to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(1);
/// How often it is looked for clients and signals.
const ROUND: Duration = Duration::from_millis(50);

/// Where to listen: `ADDRESS:PORT`; a port alone is one of the loopback address.
///
/// # Errors
/// What is accepted.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.strip_prefix(':').unwrap_or(text).parse() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    text.parse().map_err(|_| "write PORT, 127.0.0.1:PORT or another ADDRESS:PORT".to_owned())
}

/// Serves until it is told to stop.
///
/// # Errors
/// The address cannot be listened at.
pub fn serve(address: SocketAddr, question: Question, json: bool) -> Result<Exit, Failure> {
    let failed = |e: io::Error| Failure::Failed(format!("cannot listen at {address}: {e}"));
    let stop = Stop::on_signals();
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    if !local.ip().is_loopback() {
        say(&format!("warning: anyone who can connect to {local} can read these packets"));
    }
    say(&format!("listening at {local}: wireshark -k -i TCP@{local}"));
    let served = Arc::new(Served { question, json, stop: stop.flag(), clients: Mutex::new(0), left: Condvar::new() });
    while !stop.is_asked() {
        match listener.accept() {
            Ok((stream, client)) if served.enter() => begin(stream, client, &served),
            Ok((_, client)) => say(&format!("{client} was rejected: {CLIENTS_MAX} clients are connected already")),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => wait(&listener),
            // Too many files are open, or the client has left already.
            Err(_) => std::thread::park_timeout(ROUND),
        }
    }
    let clients = served.clients.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = served.left.wait_timeout_while(clients, STOP_PATIENCE, |clients| *clients > 0);
    Ok(Exit::Done)
}

/// Waits for a client, for a signal, or a moment.
fn wait(listener: &TcpListener) {
    let moment = Timespec { tv_sec: 0, tv_nsec: ROUND.subsec_nanos().into() };
    let _ = poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&moment));
}

/// What the threads of all clients see.
struct Served {
    question: Question,
    json: bool,
    stop: Arc<AtomicBool>,
    clients: Mutex<usize>,
    /// A client has left.
    left: Condvar,
}

impl Served {
    /// Counts a client more, unless there are enough.
    fn enter(&self) -> bool {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let enters = *clients < CLIENTS_MAX;
        *clients += usize::from(enters);
        enters
    }

    fn leave(&self) {
        *self.clients.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.left.notify_all();
    }
}

/// Serves a client in a thread of its own.
fn begin(stream: TcpStream, client: SocketAddr, served: &Arc<Served>) {
    let of_thread = Arc::clone(served);
    let spawned = std::thread::Builder::new().name("client".to_owned()).spawn(move || {
        let (packets, ended) = answer(stream, &of_thread);
        if of_thread.json {
            let line = json!({"client": client.to_string(), "packets": packets, "ended": ended});
            let _ = writeln!(io::stdout(), "{line}");
        } else {
            say(&format!("{client}: {}: {ended}", figure::of(packets, "packet", "packets")));
        }
        of_thread.leave();
    });
    if spawned.is_err() {
        served.leave();
        say(&format!("{client} was rejected: a thread cannot be started"));
    }
}

/// Packets that were sent, and how it ended.
fn answer(stream: TcpStream, served: &Served) -> (u64, String) {
    let ready = stream.set_nonblocking(false).and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
    let stream = match ready.and_then(|()| Stream::begin(stream)) {
        Ok(stream) => stream,
        Err(e) => return (0, how(&e)),
    };
    let mut sink = Stoppable { stream, stop: &served.stop };
    let answered = served.question.answer(&mut sink);
    let (packets, broken) = sink.stream.finish();
    let ended = match (answered, broken) {
        (Err(Failure::Usage(why) | Failure::Failed(why) | Failure::Damaged(why)), _) => why,
        (_, Some(why)) => how(&why),
        (Err(Failure::NobodyReads), None) => how(&io::ErrorKind::BrokenPipe.into()),
        (Ok(_), None) if served.stop.load(Ordering::Relaxed) => "stopped".to_owned(),
        (Ok(summary), None) => {
            served.question.tell_faults(&summary);
            let whole = summary.faults.is_empty() && summary.absent.is_empty() && summary.refused.is_empty();
            if whole { "done".to_owned() } else { "done, but incomplete".to_owned() }
        }
    };
    (packets, ended)
}

/// A client's stream, which ends with a whole packet when it is told to stop.
struct Stoppable<'s> {
    stream: Stream<TcpStream>,
    stop: &'s AtomicBool,
}

impl Sink for Stoppable<'_> {
    fn take(&mut self, found: &Found) -> Result<bool, Failure> {
        Ok(self.stream.take(found)? && !self.stop.load(Ordering::Relaxed))
    }

    fn rest(&mut self) -> Result<bool, Failure> {
        Ok(self.stream.rest()? && !self.stop.load(Ordering::Relaxed))
    }
}

fn how(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("it read nothing for {} seconds", PATIENCE.as_secs())
        }
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => "it has left".to_owned(),
        _ => error.to_string(),
    }
}

fn say(line: &str) {
    let _ = writeln!(io::stderr(), "trunkline: {line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_of_the_loopback_address() {
        let loopback = Ok("127.0.0.1:5000".parse().unwrap());
        assert_eq!(
            [address("5000"), address(":5000"), address("127.0.0.1:5000")],
            [loopback.clone(), loopback.clone(), loopback]
        );
        assert_eq!(address("[::1]:7"), Ok("[::1]:7".parse().unwrap()));
        assert!(address("host:port").is_err() && address("70000").is_err() && address("").is_err());
    }
}
