//! A Content-Length beyond what 64 bits hold is one that is too large (RFC 9110 section 15.5.14). The parser of
//! HTTP/1.1 refuses it by itself, as a head that is no HTTP (400) or that is too long (431): here that answer becomes
//! 413.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Octets of the end of what came that are remembered: a head and more.
const SEEN_OCTETS_MAX: usize = 2 * super::connection::HEADER_OCTETS_MAX;
/// The longest body that the parser takes, octets.
const LENGTH_MAX: u64 = u64::MAX - 2;
/// What the parser's answers begin with, and what is in each answer of ours.
const REFUSALS: [&[u8]; 2] = [b"HTTP/1.1 400 ", b"HTTP/1.1 431 "];
const OURS: &[u8] = b"x-content-type-options";
/// In its place: as the parser answers, without a body.
const TOO_LARGE: &[u8] = b"HTTP/1.1 413 Content Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// The end of what came over a connection.
#[derive(Debug, Default)]
struct Seen(Vec<u8>);

impl Seen {
    fn add(&mut self, octets: &[u8]) {
        self.0.extend_from_slice(&octets[octets.len().saturating_sub(SEEN_OCTETS_MAX)..]);
        // What is old goes in one piece, and not octet by octet.
        if self.0.len() > 2 * SEEN_OCTETS_MAX {
            self.0.drain(..self.0.len() - SEEN_OCTETS_MAX);
        }
    }

    /// Whether the last head that came may be of such a body. Where the body before it held such a line, and this head
    /// is no HTTP for another reason, 413 is told in place of 400: the connection ends either way.
    fn is_too_large(&self) -> bool {
        self.0.split(|octet| *octet == b'\n').any(says_too_much)
    }
}

/// Whether a line of a head is of a body that is too long to be counted.
fn says_too_much(line: &[u8]) -> bool {
    let Some((name, value)) = line.iter().position(|octet| *octet == b':').map(|colon| line.split_at(colon)) else {
        return false;
    };
    let digits = value[1..].trim_ascii();
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let fits = || core::str::from_utf8(digits).is_ok_and(|digits| digits.parse().is_ok_and(|of: u64| of <= LENGTH_MAX));
    name.eq_ignore_ascii_case(b"content-length") && is_number && !fits()
}

/// A stream whose parser's answer to such a length is another one.
pub struct Lengths<S> {
    inner: S,
    seen: Seen,
    /// What is to be written in place of an answer.
    instead: &'static [u8],
}

impl<S: AsyncWrite + Unpin> Lengths<S> {
    /// Wraps a stream.
    pub fn new(inner: S) -> Self {
        Lengths { inner, seen: Seen::default(), instead: &[] }
    }

    /// Whether an answer that begins so is given up for another one.
    fn replaces(&mut self, begin: &[u8]) -> bool {
        let refused = REFUSALS.iter().any(|refusal| begin.starts_with(refusal));
        let replaces = refused && !begin.windows(OURS.len()).any(|part| part == OURS) && self.seen.is_too_large();
        if replaces {
            self.instead = TOO_LARGE;
        }
        replaces
    }

    fn write_instead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.instead.is_empty() {
            match ready!(Pin::new(&mut self.inner).poll_write(cx, self.instead))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.instead = &self.instead[written..],
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lengths<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        let new = buffer.filled().get(before..).unwrap_or_default();
        self.seen.add(new);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Lengths<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.write_instead(cx))?;
        match self.replaces(octets) {
            true => Poll::Ready(Ok(octets.len())),
            false => Pin::new(&mut self.inner).poll_write(cx, octets),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.write_instead(cx))?;
        let first = parts.iter().find(|part| !part.is_empty());
        match first.is_some_and(|first| self.replaces(first)) {
            true => Poll::Ready(Ok(parts.iter().map(|part| part.len()).sum())),
            false => Pin::new(&mut self.inner).poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.write_instead(cx))?;
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.write_instead(cx))?;
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_that_cannot_be_counted_are_too_large() {
        for (line, too_much) in [
            (&b"Content-Length: 18446744073709551614\r"[..], true),
            (b"content-length:99999999999999999999999999", true),
            (b"Content-Length: 18446744073709551613\r", false),
            (b"Content-Length: 5, 99999999999999999999999999\r", false),
            (b"Content-Length: +99999999999999999999999999\r", false),
            (b"Content-Length: \r", false),
            (b"X-Content-Length: 99999999999999999999999999\r", false),
            (b"Content-Length", false),
        ] {
            assert_eq!(says_too_much(line), too_much, "{:?}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut seen = Seen::default();
        for _ in 0..100 {
            seen.add(&[b'a'; 10_000]);
            assert!(seen.0.len() <= 2 * SEEN_OCTETS_MAX);
        }
        seen.add(&vec![b'b'; 3 * SEEN_OCTETS_MAX]);
        assert!(seen.0.ends_with(&[b'b'; SEEN_OCTETS_MAX]));
        seen.add(b"\r\nContent-Length: 99999999999999");
        assert!(!seen.is_too_large());
        seen.add(b"9999999999999\r\n");
        assert!(seen.is_too_large());
    }
}
