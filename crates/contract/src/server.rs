//! Answers over a unix socket, a thread a connection: the same for every job.

use super::frame::{self, Fault};
use super::{Cause, Contract, Node, Refusal};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use trunkline_kit::place;

/// Connections at a time; one more is refused with a word.
// Limit: connections to the control socket of one job
// Beyond: a further connection is refused
// Seen in: the error message "too many connections"
const CONNECTIONS_MAX: usize = 64;
/// How long a frame may take once it has begun, and how long whoever asks may take to read.
// Limit: time to send one question to a job, or to read its answer
// Beyond: the connection is closed
// Seen in: the error message
const FRAME_TIME_MAX: Duration = Duration::from_secs(10);
/// Who may connect: who runs it.
const MODE: u32 = 0o600;

/// The socket, open until it is dropped.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    listens: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    ends: AtomicBool,
    count: AtomicUsize,
    /// Those that are open, to be ended with the socket.
    open: Mutex<Vec<(usize, UnixStream)>>,
}

impl Server {
    /// Listens at a path; a socket that nobody listens on gives way.
    ///
    /// # Errors
    /// The system's: AddrInUse if somebody listens there.
    pub fn serve<C: Contract>(node: Arc<dyn Node<C>>, path: &Path) -> io::Result<Server> {
        Server::serve_patiently(node, path, FRAME_TIME_MAX)
    }

    fn serve_patiently<C: Contract>(node: Arc<dyn Node<C>>, path: &Path, patience: Duration) -> io::Result<Server> {
        let is_stale = UnixStream::connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused);
        if is_stale {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        place::open_socket_to(path, MODE)?;
        let (ends, count, open) = (AtomicBool::new(false), AtomicUsize::new(0), Mutex::default());
        let shared = Arc::new(Shared { path: path.to_owned(), ends, count, open });
        let served = Arc::clone(&shared);
        let listens = thread().spawn(move || served.listen(&listener, &node, patience))?;
        Ok(Server { shared, listens: Some(listens) })
    }
}

fn thread() -> std::thread::Builder {
    std::thread::Builder::new().name("contract".to_owned())
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::SeqCst);
        // The thread that accepts waits for somebody.
        let _ = UnixStream::connect(&self.shared.path);
        if let Some(Err(_)) = self.listens.take().map(JoinHandle::join) {
            tracing::error!("a thread that answers failed; this is a defect of Trunkline");
        }
        for (_, stream) in self.shared.open().drain(..) {
            // One that has gone needs no end.
            let _ = stream.shutdown(Shutdown::Both);
        }
        let _ = std::fs::remove_file(&self.shared.path);
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Vec<(usize, UnixStream)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen<C: Contract>(self: &Arc<Self>, listener: &UnixListener, node: &Arc<dyn Node<C>>, patience: Duration) {
        for stream in listener.incoming() {
            if self.ends.load(Ordering::SeqCst) {
                return;
            }
            match stream {
                Ok(stream) => self.accept(stream, node, patience),
                // No descriptors: those that are open end some time.
                Err(error) => {
                    tracing::warn!("nobody can ask the {}: {error}", C::NAME);
                    std::thread::park_timeout(Duration::from_millis(100));
                }
            }
        }
    }

    fn accept<C: Contract>(self: &Arc<Self>, stream: UnixStream, node: &Arc<dyn Node<C>>, patience: Duration) {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open();
        if open.len() >= CONNECTIONS_MAX {
            drop(open);
            // Who does not read it sees the end all the same.
            let refusal = Refusal::new(Cause::Busy, "too many connections");
            let _ = frame::greet(&mut &stream, C::VERSION);
            let _ = frame::send(&mut &stream, &Err::<C::Answer, _>(refusal), frame::ANSWER_OCTETS_MAX);
            let _ = stream.shutdown(Shutdown::Write);
            return;
        }
        let Ok(copy) = stream.try_clone() else { return };
        open.push((number, copy));
        drop(open);
        let (held, node) = (Held { shared: Arc::clone(self), number }, Arc::clone(node));
        let runs = thread().spawn(move || {
            let _held = held;
            // Who goes away in the midst of it is nobody's trouble, and who is of another version was told.
            let _ = talk(&stream, &*node, patience);
        });
        if let Err(error) = runs {
            tracing::warn!("a connection to the {} is refused: {error}", C::NAME);
        }
    }
}

/// A place among the connections, given back when it is dropped.
struct Held {
    shared: Arc<Shared>,
    number: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shared.open().retain(|(other, _)| *other != self.number);
    }
}

fn talk<C: Contract>(stream: &UnixStream, node: &dyn Node<C>, patience: Duration) -> Result<(), Fault> {
    stream.set_write_timeout(Some(patience))?;
    stream.set_read_timeout(Some(patience))?;
    frame::greet(&mut &*stream, C::VERSION)?;
    let mut reads = BufReader::new(stream);
    frame::met(&mut reads, C::VERSION)?;
    loop {
        // Between two asks somebody may wait as they like.
        stream.set_read_timeout(None)?;
        let mut first = [0];
        match reads.read_exact(&mut first) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        stream.set_read_timeout(Some(patience))?;
        let received = frame::receive(&mut first.chain(&mut reads), frame::ASK_OCTETS_MAX);
        let answer = match received {
            Ok(None) => return Ok(()),
            Ok(Some(octets)) => frame::decode(&octets).map_err(wrong).and_then(|ask| node.call(ask)),
            Err(fault @ Fault::TooLong { .. }) => {
                // What follows is of no frame any more.
                return tell::<C>(stream, &Err(wrong(fault)));
            }
            Err(fault) => return Err(fault),
        };
        match tell::<C>(stream, &answer) {
            Err(fault @ Fault::TooLong { .. }) => {
                tell::<C>(stream, &Err(Refusal::new(Cause::Wrong, format!("the answer is too long: {fault}"))))?;
            }
            told => told?,
        }
    }
}

fn tell<C: Contract>(stream: &UnixStream, answer: &Result<C::Answer, Refusal>) -> Result<(), Fault> {
    let mut writes = BufWriter::new(stream);
    frame::send(&mut writes, answer, frame::ANSWER_OCTETS_MAX)?;
    Ok(writes.flush()?)
}

fn wrong(fault: Fault) -> Refusal {
    Refusal::new(Cause::Wrong, format!("what is asked: {fault}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Client;
    use std::time::Instant;

    /// Doubles numbers; refuses 13; says at 7 more than can be said.
    struct Doubles;

    struct Twice<const VERSION: u64>;

    impl<const VERSION: u64> Contract for Twice<VERSION> {
        type Ask = u64;
        type Answer = Vec<u64>;
        const NAME: &'static str = "doubler";
        const VERSION: u64 = VERSION;
    }

    impl<const VERSION: u64> Node<Twice<VERSION>> for Doubles {
        fn serves(&self) -> bool {
            true
        }

        fn call(&self, ask: u64) -> Result<Vec<u64>, Refusal> {
            match ask {
                13 => Err(Refusal::new(Cause::Conflict, "13 is not doubled")),
                7 => Ok(vec![u64::MAX; frame::ANSWER_OCTETS_MAX / 9 + 1]),
                ask => Ok(vec![ask * 2]),
            }
        }
    }

    const PATIENCE: Duration = Duration::from_secs(20);

    fn served(patience: Duration) -> (tempfile::TempDir, PathBuf, Server) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let node: Arc<dyn Node<Twice<1>>> = Arc::new(Doubles);
        let server = Server::serve_patiently(node, &path, patience).unwrap();
        (folder, path, server)
    }

    fn ask(path: &Path, ask: u64) -> Result<Vec<u64>, Refusal> {
        Client::<Twice<1>>::new(path, PATIENCE).call(ask)
    }

    #[test]
    fn what_is_asked_is_answered_or_refused_and_then_nobody_serves() {
        let (_folder, path, server) = served(PATIENCE);
        assert_eq!(ask(&path, 4).unwrap(), [8]);
        assert_eq!(ask(&path, 13).unwrap_err(), Refusal::new(Cause::Conflict, "13 is not doubled"));
        assert_eq!(ask(&path, 7).unwrap_err().cause, Cause::Wrong);
        let again: Arc<dyn Node<Twice<1>>> = Arc::new(Doubles);
        assert_eq!(Server::serve(again, &path).unwrap_err().kind(), ErrorKind::AddrInUse);
        assert!(Client::<Twice<1>>::new(&path, PATIENCE).serves());
        drop(server);
        assert!(!Client::<Twice<1>>::new(&path, PATIENCE).serves() && !path.exists());
        assert_eq!(ask(&path, 4).unwrap_err().cause, Cause::Absent);
    }

    #[test]
    fn who_is_of_another_version_is_told_to_start_anew() {
        let (_folder, path, _server) = served(PATIENCE);
        let refusal = Client::<Twice<2>>::new(&path, PATIENCE).call(4).unwrap_err();
        assert_eq!(refusal.cause, Cause::OtherVersion);
        assert_eq!(refusal.text, "the web (or this command) is of another version than the doubler: restart it");
        // Lines of JSON, as programs sent them before there were versions: the server ends the connection.
        let stream = UnixStream::connect(&path).unwrap();
        (&stream).write_all(b"{\"do\":\"status\"}\n").unwrap();
        let mut reply = Vec::new();
        // A connection that is ended with octets unread may end with an error after its hello.
        let _ = (&stream).read_to_end(&mut reply);
        assert!(reply.len() <= 16);
        assert_eq!(ask(&path, 4).unwrap(), [8]);
    }

    #[test]
    fn a_server_that_speaks_lines_is_of_another_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let old = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let _ = (&stream).read(&mut [0; 64]).unwrap();
            (&stream).write_all(b"{\"error\":\"expected value at line 1\",\"kind\":\"bad-request\"}\n").unwrap();
        });
        assert_eq!(ask(&path, 4).unwrap_err().cause, Cause::OtherVersion);
        old.join().unwrap();
    }

    fn greeted(path: &Path) -> UnixStream {
        let stream = UnixStream::connect(path).unwrap();
        frame::greet(&mut &stream, 1).unwrap();
        frame::met(&mut &stream, 1).unwrap();
        stream
    }

    fn reply(stream: &UnixStream) -> Option<Result<Vec<u64>, Refusal>> {
        let octets = frame::receive(&mut &*stream, frame::ANSWER_OCTETS_MAX).ok()??;
        Some(frame::decode(&octets).unwrap())
    }

    #[test]
    fn bad_frames_are_refused_and_long_ones_end_the_connection() {
        let (_folder, path, _server) = served(PATIENCE);
        let stream = greeted(&path);
        (&stream).write_all(&[0, 0, 0, 2, 0xa1, b'x']).unwrap();
        assert_eq!(reply(&stream).unwrap().unwrap_err().cause, Cause::Wrong);
        frame::send(&mut &stream, &5_u64, 100).unwrap();
        assert_eq!(reply(&stream).unwrap().unwrap(), [10]);
        (&stream).write_all(&[0xff, 0xff, 0xff, 0xff]).unwrap();
        assert_eq!(reply(&stream).unwrap().unwrap_err().cause, Cause::Wrong);
        assert!(reply(&stream).is_none());
        // One that goes in the midst of a frame takes nobody with it.
        (&greeted(&path)).write_all(&[0, 0, 0, 9, 1]).unwrap();
        assert_eq!(ask(&path, 4).unwrap(), [8]);
    }

    #[test]
    fn who_is_slow_within_a_frame_is_ended_and_who_waits_between_two_is_not() {
        let (_folder, path, _server) = served(Duration::from_millis(100));
        let (waits, slow) = (greeted(&path), greeted(&path));
        let begin = Instant::now();
        (&slow).write_all(&[0, 0]).unwrap();
        assert!(reply(&slow).is_none() && begin.elapsed() < PATIENCE);
        assert!(begin.elapsed() >= Duration::from_millis(100));
        frame::send(&mut &waits, &6_u64, 100).unwrap();
        assert_eq!(reply(&waits).unwrap().unwrap(), [12]);
    }

    #[test]
    fn a_server_that_says_nothing_is_given_up_in_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let client = Client::<Twice<1>>::new(&path, Duration::from_millis(50));
        assert_eq!(client.call(4).unwrap_err(), Refusal::new(Cause::Busy, "the doubler did not answer in time"));
    }

    #[test]
    fn one_connection_too_many_is_told_so_and_a_place_comes_free() {
        let (_folder, path, _server) = served(PATIENCE);
        let mut all: Vec<UnixStream> = (0..CONNECTIONS_MAX).map(|_| greeted(&path)).collect();
        // It says so and closes at once: often before the client has written anything.
        for _ in 0..200 {
            assert_eq!(ask(&path, 4).unwrap_err(), Refusal::new(Cause::Busy, "too many connections"));
        }
        all.clear();
        let begin = Instant::now();
        while ask(&path, 4).is_err() {
            assert!(begin.elapsed() < PATIENCE);
            std::thread::yield_now();
        }
    }
}
