//! As much of HTTP/1.1 (RFC 9112) as a scraper needs: one GET or HEAD on a connection, no body, bounded in length and
//! time.

use super::socket::Stream;
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

/// Octets of a request's line and headers.
pub const HEAD_OCTETS_MAX: usize = 8 * 1024;
/// Octets that are read and thrown away after an answer, so that it reaches who still sends.
const REST_OCTETS_MAX: usize = 64 * 1024;

/// What is answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The content type.
    pub kind: &'static str,
    /// The body.
    pub body: String,
}

/// Reads a request, answers it with what `page` has for its path, and closes. Gives the status that was sent.
///
/// # Errors
/// The connection ended, or was too slow for an answer.
pub fn serve(stream: &Stream, time: Duration, page: impl Fn(&str) -> Option<Answer>) -> io::Result<u16> {
    let end = Instant::now() + time;
    let (answer, body) = match head(stream, end)? {
        Ok(head) => match request(&head) {
            Ok((method, path)) => {
                (page(path).unwrap_or_else(|| refusal(404, "There are /metrics and /healthz.")), method == "GET")
            }
            Err(answer) => (answer, true),
        },
        Err(answer) => (answer, true),
    };
    write(stream, &answer, body, end)?;
    stream.finish();
    drain(stream, end);
    Ok(answer.status)
}

/// The octets up to the empty line; or what to answer without it.
fn head(stream: &Stream, end: Instant) -> io::Result<Result<Vec<u8>, Answer>> {
    let mut head = Vec::with_capacity(1024);
    let mut octets = [0; 1024];
    loop {
        let read = match remaining(end).map(|time| stream.read(&mut octets, time)) {
            Some(Ok(0)) => return Err(ErrorKind::UnexpectedEof.into()),
            Some(Ok(read)) => read,
            Some(Err(e)) if e.kind() == ErrorKind::Interrupted => continue,
            Some(Err(e)) if !is_timeout(&e) => return Err(e),
            _ => return Ok(Err(refusal(408, "The request took too long."))),
        };
        head.extend_from_slice(octets.get(..read).unwrap_or_default());
        if head.len() > HEAD_OCTETS_MAX {
            return Ok(Err(refusal(431, "The request is too long.")));
        }
        if ends(&head) {
            return Ok(Ok(head));
        }
    }
}

fn ends(head: &[u8]) -> bool {
    head.windows(4).any(|w| w == b"\r\n\r\n") || head.windows(2).any(|w| w == b"\n\n")
}

/// Method and path of the request line (RFC 9112 section 3).
fn request(head: &[u8]) -> Result<(&str, &str), Answer> {
    let line = head.split(|c| *c == b'\n').next().unwrap_or_default();
    let line = core::str::from_utf8(line).unwrap_or_default().trim_end_matches('\r');
    let mut words = line.split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) = (method, target, version, words.next())
    else {
        return Err(refusal(400, "This is not HTTP/1.1."));
    };
    if !matches!(method, "GET" | "HEAD") {
        return Err(refusal(405, "There are GET and HEAD."));
    }
    Ok((method, target.split('?').next().unwrap_or(target)))
}

fn refusal(status: u16, why: &str) -> Answer {
    Answer { status, kind: "text/plain; charset=utf-8", body: format!("{why}\n") }
}

fn write(stream: &Stream, answer: &Answer, with_body: bool, end: Instant) -> io::Result<()> {
    let reason = match answer.status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    };
    let allow = if answer.status == 405 { "Allow: GET, HEAD\r\n" } else { "" };
    let mut text = format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{allow}Cache-Control: no-store\r\n\
         Connection: close\r\n\r\n",
        answer.status,
        answer.kind,
        answer.body.len()
    );
    if with_body {
        text.push_str(&answer.body);
    }
    // Who was too slow to ask gets a moment for the answer.
    let end = end.max(Instant::now() + Duration::from_millis(100));
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let time = remaining(end).ok_or(ErrorKind::TimedOut)?;
        match stream.write(rest, time) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Closing while octets are unread would reset the connection, and the answer with it (RFC 9112 section 9.6).
fn drain(stream: &Stream, end: Instant) {
    let mut octets = [0; 1024];
    let mut left = REST_OCTETS_MAX;
    let end = end.min(Instant::now() + Duration::from_secs(1));
    while left > 0 {
        let Some(Ok(1..)) = remaining(end).map(|time| stream.read(&mut octets, time)) else { return };
        left = left.saturating_sub(octets.len());
    }
}

/// What is left of the time; none if nothing.
fn remaining(end: Instant) -> Option<Duration> {
    end.checked_duration_since(Instant::now()).filter(|time| !time.is_zero())
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_request_line_apart() {
        assert_eq!(request(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap(), ("GET", "/metrics"));
        assert_eq!(request(b"HEAD /healthz?x=1 HTTP/1.0\n\n").unwrap(), ("HEAD", "/healthz"));
        for (line, status) in [
            (&b"POST /metrics HTTP/1.1\r\n\r\n"[..], 405),
            (b"GET /metrics\r\n\r\n", 400),
            (b"GET  /metrics HTTP/1.1\r\n\r\n", 400),
            (b"GET /metrics HTTP/2\r\n\r\n", 400),
            (b"\x16\x03\x01\xff\r\n\r\n", 400),
            (b"\r\n\r\n", 400),
        ] {
            assert_eq!(request(line).unwrap_err().status, status);
        }
    }
}
