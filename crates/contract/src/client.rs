//! Asks whoever serves a contract in another process: a connection for each ask, so that it may come, end and start
//! again.

use super::frame::{self, Fault};
use super::{Cause, Contract, Node, Refusal};
use std::io::{self, ErrorKind, Read, Write};
use std::marker::PhantomData;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Whoever listens at a path.
#[derive(Debug)]
pub struct Client<C> {
    path: PathBuf,
    patience: Duration,
    contract: PhantomData<fn() -> C>,
}

impl<C: Contract> Client<C> {
    /// At this path; an answer may take so long.
    pub fn new(path: &Path, patience: Duration) -> Client<C> {
        Client { path: path.to_owned(), patience, contract: PhantomData }
    }

    fn exchange(&self, ask: &C::Ask) -> Result<Result<C::Answer, Refusal>, Fault> {
        let mut stream = Patient { stream: UnixStream::connect(&self.path)?, end: Instant::now() + self.patience };
        // A server of another version, or with too many connections, closes as soon as it has said so: that is read all
        // the same.
        let greeted = frame::greet(&mut stream, C::VERSION);
        frame::met(&mut stream, C::VERSION)?;
        let sent = greeted.map_err(Fault::from).and_then(|()| frame::send(&mut stream, ask, frame::ASK_OCTETS_MAX));
        if let Err(fault @ (Fault::TooLong { .. } | Fault::Unreadable(_))) = sent {
            return Err(fault);
        }
        let octets = match frame::receive(&mut stream, frame::ANSWER_OCTETS_MAX) {
            Ok(Some(octets)) => octets,
            received => return Err(sent.and(received).err().unwrap_or(Fault::Io(ErrorKind::UnexpectedEof.into()))),
        };
        frame::decode(&octets)
    }
}

impl<C: Contract> Node<C> for Client<C> {
    fn serves(&self) -> bool {
        let refused = UnixStream::connect(&self.path).err().map(|error| error.kind());
        !matches!(refused, Some(ErrorKind::NotFound | ErrorKind::ConnectionRefused))
    }

    fn call(&self, ask: C::Ask) -> Result<C::Answer, Refusal> {
        self.exchange(&ask).map_err(|fault| refusal(C::NAME, &fault))?
    }
}

fn refusal(name: &str, fault: &Fault) -> Refusal {
    let Fault::Io(error) = fault else {
        return match fault {
            Fault::OtherVersion => Refusal::new(
                Cause::OtherVersion,
                format!("the web (or this command) is of another version than the {name}: restart it"),
            ),
            Fault::TooLong { .. } => Refusal::new(Cause::Wrong, format!("an exchange with the {name}: {fault}")),
            _ => Refusal::new(Cause::Failed, format!("the reply of the {name}: {fault}")),
        };
    };
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
            Refusal::new(Cause::Absent, format!("the {name} is not running"))
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Refusal::new(
            Cause::Busy,
            format!(
                "the {name} did not answer \
            in time"
            ),
        ),
        ErrorKind::PermissionDenied => {
            Refusal::new(Cause::Foreign, format!("the {name} belongs to another user of this machine"))
        }
        _ => Refusal::new(Cause::Failed, format!("the reply of the {name}: {error}")),
    }
}

/// A stream that gives up at a time, however many octets have come by then.
struct Patient {
    stream: UnixStream,
    end: Instant,
}

impl Patient {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        left.map(Some).ok_or_else(|| ErrorKind::TimedOut.into())
    }
}

impl Read for Patient {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(octets)
    }
}

impl Write for Patient {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
