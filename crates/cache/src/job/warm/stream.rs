//! Lines and values that come from a peer.

use super::PeerStream;
use crate::peer::LINE_OCTETS_MAX;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How long a peer may say nothing.
const PATIENCE: Duration = Duration::from_secs(10);
/// Octets that are read at once.
const READ_OCTETS: usize = 64 << 10;

/// A connection, and what has come on it.
pub struct Incoming<'a> {
    stream: Box<dyn PeerStream>,
    ended: &'a AtomicBool,
    buffer: Vec<u8>,
    at: usize,
}

impl<'a> Incoming<'a> {
    /// Nothing has come yet.
    pub fn new(stream: Box<dyn PeerStream>, ended: &'a AtomicBool) -> Self {
        Incoming { stream, ended, buffer: Vec::with_capacity(2 * READ_OCTETS), at: 0 }
    }

    /// Says something.
    ///
    /// # Errors
    /// It cannot be said; [`io::ErrorKind::Interrupted`] if the cache ends.
    pub fn say(&mut self, mut octets: &[u8]) -> io::Result<()> {
        let began = Instant::now();
        while !octets.is_empty() {
            match self.stream.write(octets) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(said) => octets = &octets[said..],
                Err(error) => self.bear(error, began)?,
            }
        }
        Ok(())
    }

    /// The next line, without its end.
    ///
    /// # Errors
    /// None comes, or one that is too long; [`io::ErrorKind::Interrupted`] if the cache ends.
    pub fn line(&mut self) -> io::Result<&[u8]> {
        let mut looked = 0;
        loop {
            let rest = &self.buffer[self.at..];
            if let Some(end) = memchr::memchr(b'\n', &rest[looked..]).map(|end| looked + end) {
                let begin = self.at;
                self.at += end + 1;
                let line = &self.buffer[begin..begin + end];
                return Ok(line.strip_suffix(b"\r").unwrap_or(line));
            }
            looked = rest.len();
            if looked > LINE_OCTETS_MAX {
                return Err(io::Error::new(io::ErrorKind::InvalidData, crate::peer::Nonsense));
            }
            self.fill()?;
        }
    }

    /// Some of the octets that come next, at least one and at most `most`.
    ///
    /// # Errors
    /// None come; [`io::ErrorKind::Interrupted`] if the cache ends.
    pub fn octets(&mut self, most: usize) -> io::Result<&[u8]> {
        while self.at == self.buffer.len() {
            self.fill()?;
        }
        let begin = self.at;
        self.at = self.buffer.len().min(begin + most);
        Ok(&self.buffer[begin..self.at])
    }

    fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.at);
        self.at = 0;
        let (before, began) = (self.buffer.len(), Instant::now());
        self.buffer.resize(before + READ_OCTETS, 0);
        let read = loop {
            match self.stream.read(&mut self.buffer[before..]) {
                Ok(0) => break Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(octets) => break Ok(octets),
                Err(error) => {
                    if let Err(error) = self.bear(error, began) {
                        break Err(error);
                    }
                }
            }
        };
        self.buffer.truncate(before + *read.as_ref().unwrap_or(&0));
        read.map(|_| ())
    }

    /// Bears with a peer for a while.
    fn bear(&self, error: io::Error, began: Instant) -> io::Result<()> {
        if self.ended.load(Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match error.kind() {
            io::ErrorKind::Interrupted => Ok(()),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut if began.elapsed() < PATIENCE => Ok(()),
            _ => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    /// Says what it was given, in pieces of three octets.
    struct Pieces(Vec<u8>);

    impl Read for Pieces {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let octets = room.len().min(3).min(self.0.len());
            room[..octets].copy_from_slice(&self.0[..octets]);
            self.0.drain(..octets);
            Ok(octets)
        }
    }

    impl Write for Pieces {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            Ok(octets.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_and_octets_come_in_any_pieces() {
        let ended = AtomicBool::new(false);
        let mut incoming = Incoming::new(Box::new(Pieces(b"one line\r\n12345\r\ntwo\nrest".to_vec())), &ended);
        assert_eq!(incoming.line().expect("a line"), b"one line");
        let mut value = Vec::new();
        while value.len() < 5 {
            let octets = incoming.octets(5 - value.len()).expect("octets").to_vec();
            value.extend_from_slice(&octets);
        }
        assert_eq!(value, b"12345");
        assert_eq!(incoming.line().expect("its end"), b"");
        assert_eq!(incoming.line().expect("a line"), b"two");
        assert_eq!(incoming.line().expect_err("no end").kind(), io::ErrorKind::UnexpectedEof);
        let mut endless = Incoming::new(Box::new(Pieces(vec![b'x'; LINE_OCTETS_MAX + 10])), &ended);
        assert_eq!(endless.line().expect_err("too long").kind(), io::ErrorKind::InvalidData);
    }
}
