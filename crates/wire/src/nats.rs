//! NATS, the protocol between client and server (docs.nats.io, reference of the client protocol): lines of words, with
//! octets behind those that carry a message. As far as a client of JetStream needs it.
//!
//! ```text
//!   server: INFO {json} | MSG subject sid [reply] octets | HMSG subject sid [reply] head all
//!           PING | PONG | +OK | -ERR '..'
//!   client: CONNECT {json} | PUB subject reply octets | HPUB subject reply head all | SUB subject sid | PING | PONG
//! ```
//!
//! A head is `NATS/1.0`, with a status where the server itself speaks, and lines `name: value` up to an empty one.

pub(crate) mod exercise;

use crate::frames::Framed;
use core::fmt;

/// Octets of a line at most; an INFO is the longest.
pub const LINE_OCTETS_MAX: usize = 64 * 1024;

const END: &[u8] = b"\r\n";
const HEAD: &[u8] = b"NATS/1.0";

/// What a server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said<'a> {
    /// Who it is: an object of JSON.
    Info(&'a [u8]),
    /// A message.
    Message(Message<'a>),
    /// It asks whether we are there.
    Ping,
    /// It is there.
    Pong,
    /// It took what was said.
    Ok,
    /// What it does not take; most are followed by the end of the connection.
    Error(&'a str),
}

/// A message that was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its subject.
    pub subject: &'a str,
    /// The subscription that it came for.
    pub subscription: u64,
    /// Where an answer is awaited.
    pub reply: Option<&'a str>,
    /// Its head; empty without one.
    pub head: &'a [u8],
    /// What it carries.
    pub payload: &'a [u8],
}

impl<'a> Message<'a> {
    /// The status of the server's own messages: 404 where there is nothing, 503 where nobody listens.
    pub fn status(&self) -> Option<u16> {
        let line = self.head.strip_prefix(HEAD)?.split(|octet| *octet == b'\r').next()?;
        let word = line.trim_ascii_start().split(|octet| *octet == b' ').next()?;
        core::str::from_utf8(word).ok()?.parse().ok()
    }

    /// The value of a line of its head.
    pub fn value(&self, name: &str) -> Option<&'a str> {
        let text = core::str::from_utf8(self.head).ok()?;
        let lines = text.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
        lines
            .map(|(of, value)| (of, value.trim()))
            .find(|(of, _)| of.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}

/// The stream cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A line, or what stands behind it, is not of this protocol.
    Form,
    /// A line or a message is longer than it may be.
    Long,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Broken::Form => "what came is not the protocol of NATS",
            Broken::Long => "a message is longer than it may be",
        })
    }
}

/// What a server says, one after the other.
pub type Frames<'a> = crate::frames::Frames<'a, Nats>;

/// The protocol, for [`Frames`].
#[derive(Debug)]
pub enum Nats {}

impl Framed for Nats {
    type Error = Broken;

    fn whole(rest: &[u8], octets_max: usize) -> Result<Option<usize>, Broken> {
        let Some(line) = line(rest)? else { return Ok(None) };
        let behind = match sizes(line)? {
            None => 0,
            Some((_, all)) if all > octets_max => return Err(Broken::Long),
            Some((_, all)) => all + END.len(),
        };
        Ok(Some(line.len() + END.len() + behind))
    }
}

/// The first line, without its end; none where more octets are needed.
fn line(rest: &[u8]) -> Result<Option<&[u8]>, Broken> {
    let seen = &rest[..rest.len().min(LINE_OCTETS_MAX)];
    match seen.windows(END.len()).position(|two| two == END) {
        Some(end) => Ok(Some(&rest[..end])),
        None if rest.len() >= LINE_OCTETS_MAX => Err(Broken::Long),
        None => Ok(None),
    }
}

/// Octets of the head, and of all that stands behind a line.
fn sizes(line: &[u8]) -> Result<Option<(usize, usize)>, Broken> {
    let mut words = words(line)?;
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<usize>().ok()).ok_or(Broken::Form);
    match words.next() {
        Some("MSG") => Ok(Some((0, number(words.next_back())?))),
        Some("HMSG") => {
            let all = number(words.next_back())?;
            let head = number(words.next_back())?;
            if head <= all { Ok(Some((head, all))) } else { Err(Broken::Form) }
        }
        _ => Ok(None),
    }
}

fn words(line: &[u8]) -> Result<impl DoubleEndedIterator<Item = &str>, Broken> {
    let text = core::str::from_utf8(line).map_err(|_| Broken::Form)?;
    Ok(text.split([' ', '\t']).filter(|word| !word.is_empty()))
}

impl<'a> Said<'a> {
    /// Reads what [`Frames`] gave.
    ///
    /// # Errors
    /// It is none of these.
    pub fn new(octets: &'a [u8]) -> Result<Said<'a>, Broken> {
        let line = line(octets)?.ok_or(Broken::Form)?;
        if let Some((head, all)) = sizes(line)? {
            let from = line.len() + END.len();
            let to = from.checked_add(all).ok_or(Broken::Form)?;
            let behind = octets.get(from..to).ok_or(Broken::Form)?;
            if octets.get(to..) != Some(END) {
                return Err(Broken::Form);
            }
            return message(line, &behind[..head], &behind[head..]).map(Said::Message);
        }
        let (word, rest) = line.split_at(line.iter().position(|octet| *octet == b' ').unwrap_or(line.len()));
        match word {
            b"INFO" => Ok(Said::Info(rest.trim_ascii())),
            b"PING" => Ok(Said::Ping),
            b"PONG" => Ok(Said::Pong),
            b"+OK" => Ok(Said::Ok),
            b"-ERR" => Ok(Said::Error(core::str::from_utf8(rest).map_err(|_| Broken::Form)?.trim().trim_matches('\''))),
            _ => Err(Broken::Form),
        }
    }
}

fn message<'a>(line: &'a [u8], head: &'a [u8], payload: &'a [u8]) -> Result<Message<'a>, Broken> {
    let mut words = words(line)?;
    let numbers = if words.next() == Some("HMSG") { 2 } else { 1 };
    let subject = words.next().ok_or(Broken::Form)?;
    let subscription = words.next().and_then(|word| word.parse().ok()).ok_or(Broken::Form)?;
    let mut rest = words.rev().skip(numbers);
    let reply = rest.next();
    match rest.next() {
        None => Ok(Message { subject, subscription, reply, head, payload }),
        Some(_) => Err(Broken::Form),
    }
}

/// Appends CONNECT with an object of JSON.
pub fn connect(json: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("CONNECT {json}\r\n").as_bytes());
}

/// Appends a subscription.
pub fn subscribe(subject: &str, subscription: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("SUB {subject} {subscription}\r\n").as_bytes());
}

/// Appends a message that awaits an answer, with lines of a head if there are any.
pub fn publish(subject: &str, reply: &str, head: &[(&str, &str)], payload: &[u8], out: &mut Vec<u8>) {
    let octets = payload.len();
    if head.is_empty() {
        out.extend_from_slice(format!("PUB {subject} {reply} {octets}\r\n").as_bytes());
    } else {
        let lines: String = head.iter().map(|(name, value)| format!("\r\n{name}: {value}")).collect();
        let head = HEAD.len() + lines.len() + 2 * END.len();
        out.extend_from_slice(format!("HPUB {subject} {reply} {head} {}\r\n", head + octets).as_bytes());
        out.extend_from_slice(HEAD);
        out.extend_from_slice(lines.as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
    }
    out.extend_from_slice(payload);
    out.extend_from_slice(END);
}

/// Appends a question whether the server is there.
pub fn ping(out: &mut Vec<u8>) {
    out.extend_from_slice(b"PING\r\n");
}

/// Appends the answer to that of the server.
pub fn pong(out: &mut Vec<u8>) {
    out.extend_from_slice(b"PONG\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(octets: &[u8]) -> Result<(Vec<Said<'_>>, usize), Broken> {
        let (mut frames, mut said) = (Frames::new(octets, 1000), Vec::new());
        while let Some(octets) = frames.next_message()? {
            said.push(Said::new(octets)?);
        }
        Ok((said, frames.taken()))
    }

    #[test]
    fn what_a_server_says() {
        let octets = b"INFO {\"a\": 1} \r\nPING\r\n+OK\r\n-ERR 'Unknown Subject'\r\nMSG a.b 7 5\r\nhello\r\n\
            HMSG c 1 _IN.x 31 33\r\nNATS/1.0 404 None\r\nA: b c\r\n\r\n\r\nok\r\nPONG\r\nMSG d";
        let (said, taken) = all(octets).unwrap();
        assert_eq!(taken, octets.len() - 5);
        assert_eq!(said[..4], [Said::Info(b"{\"a\": 1}"), Said::Ping, Said::Ok, Said::Error("Unknown Subject")]);
        let Said::Message(first) = said[4] else { panic!("{said:?}") };
        assert_eq!((first.subject, first.subscription, first.reply, first.payload), ("a.b", 7, None, &b"hello"[..]));
        assert_eq!((first.status(), first.value("A")), (None, None));
        let Said::Message(second) = said[5] else { panic!("{said:?}") };
        assert_eq!((second.subject, second.reply, second.payload), ("c", Some("_IN.x"), &b"ok"[..]));
        assert_eq!((second.status(), second.value("a"), second.value("b")), (Some(404), Some("b c"), None));
        assert_eq!(said[6], Said::Pong);
    }

    #[test]
    fn what_is_not_of_the_protocol_is_told() {
        for wrong in [
            &b"HELLO\r\n"[..],
            b"MSG a 1 x\r\n",
            b"HMSG a 1 9 3\r\nabc\r\n",
            b"MSG a 1 2\r\nabcd",
            b"MSG a b c d e 0\r\n\r\n",
            b"\xff\r\n",
        ] {
            assert_eq!(all(wrong).map(|(said, _)| said.len()), Err(Broken::Form), "{wrong:?}");
        }
        assert_eq!(all(b"MSG a 1 1001\r\n").unwrap_err(), Broken::Long);
        assert_eq!(all(&[b'A'; LINE_OCTETS_MAX]).unwrap_err(), Broken::Long);
    }

    #[test]
    fn what_a_client_says() {
        let mut out = Vec::new();
        connect("{}", &mut out);
        subscribe("_IN.*", 1, &mut out);
        publish("a", "_IN.1", &[], b"xy", &mut out);
        publish("a", "_IN.2", &[("Nats-Expected-Last-Sequence", "9")], b"xy", &mut out);
        ping(&mut out);
        pong(&mut out);
        let said = "CONNECT {}\r\nSUB _IN.* 1\r\nPUB a _IN.1 2\r\nxy\r\nHPUB a _IN.2 44 46\r\nNATS/1.0\r\n\
            Nats-Expected-Last-Sequence: 9\r\n\r\nxy\r\nPING\r\nPONG\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), said);
    }

    proptest::proptest! {
        #[test]
        fn anything_is_read_or_refused(octets in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = all(&octets);
            let line = [b"HMSG a 1 4 ", &octets[..], b"\r\n"].concat();
            let _ = all(&line);
        }
    }
}
