//! A stream of pcapng that somebody reads along: a socket, a named pipe.

use super::Sink;
use crate::failure::Failure;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};
use trunkline_capture::PcapWriter;
use trunkline_record::job::Found;

/// What was gathered is sent after so long.
const FLUSH_EVERY: Duration = Duration::from_millis(200);

/// Writes to a reader, until the reader has gone.
pub struct Stream<W: Write> {
    writer: PcapWriter<W>,
    /// The same end as `writer` has, to see whether somebody is at the other.
    end: OwnedFd,
    flushed: Instant,
    /// Packets written.
    pub packets: u64,
    /// Why it ended before its end.
    pub broken: Option<io::Error>,
}

impl<W: Write + AsFd> Stream<W> {
    /// Begins, with the header, so that the reader knows that it has begun.
    ///
    /// # Errors
    /// What the system says.
    pub fn begin(to: W) -> io::Result<Stream<W>> {
        let end = to.as_fd().try_clone_to_owned()?;
        let mut writer = PcapWriter::pcapng(to);
        writer.flush()?;
        Ok(Stream { writer, end, flushed: Instant::now(), packets: 0, broken: None })
    }

    /// Sends what is left; how many packets were written, and why no more were.
    pub fn finish(self) -> (u64, Option<io::Error>) {
        match self.broken {
            Some(why) => (self.packets, Some(why)),
            None => (self.packets, self.writer.finish().err()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushed = Instant::now();
        self.writer.flush()
    }

    /// Whether nobody reads any more: the pipe has no reader, or the other end was closed.
    fn is_alone(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut ends = [PollFd::new(&self.end, PollFlags::RDHUP)];
        let seen = poll(&mut ends, Some(&now)).unwrap_or(0);
        seen > 0 && ends[0].revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::RDHUP)
    }

    fn go_on(&mut self, done: io::Result<()>) -> bool {
        self.broken = done.err();
        self.broken.is_none()
    }
}

impl<W: Write + AsFd> Sink for Stream<W> {
    fn take(&mut self, found: &Found) -> Result<bool, Failure> {
        let mut done = self.writer.write(found.at_ns, found.link, found.wire, &found.octets);
        self.packets += u64::from(done.is_ok());
        if done.is_ok() && self.flushed.elapsed() >= FLUSH_EVERY {
            done = self.flush();
        }
        Ok(self.go_on(done))
    }

    fn rest(&mut self) -> Result<bool, Failure> {
        let done = if self.is_alone() { Err(io::ErrorKind::BrokenPipe.into()) } else { self.flush() };
        Ok(self.go_on(done))
    }
}
