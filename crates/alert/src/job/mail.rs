//! Mail by SMTP (RFC 5321), over STARTTLS (RFC 3207) or TLS (RFC 8314), with AUTH PLAIN or LOGIN (RFC 4954) where a
//! user is given. A copy has the same `Message-ID`.

use super::sender::{Handed, Ready};
use super::wire::{Stream, connect, place, secure};
use crate::delivery::{Message, Outcomes, json, subject_line, text};
use crate::rule::{SecurityKind, Way};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use std::io;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

/// Octets of a line that a server says, and lines of an answer.
const LINE_OCTETS_MAX: u64 = 2048;
const LINES_MAX: usize = 100;
/// Characters of base64 in a line (RFC 2045 section 6.8).
const BASE64_LINE: usize = 76;
/// Octets in an encoded word (RFC 2047 section 2: 75 characters with what is around them).
const ENCODED_WORD_OCTETS: usize = 45;

/// What a server did not want, or what did not come.
enum Failure {
    /// It says no for now.
    Later(String),
    /// It says no for good.
    Never(String),
    /// The connection.
    Broken(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Broken(error)
    }
}

/// Sends a message.
pub async fn send(ready: &Ready, message: &Message, handed: &Handed) -> Outcomes {
    match sent(ready, message, handed).await {
        Ok(()) => Outcomes::Delivered,
        Err(Failure::Later(said)) => Outcomes::Failed(said),
        Err(Failure::Never(said)) => Outcomes::GivenUp(said),
        Err(Failure::Broken(error)) => handed.failed(error),
    }
}

async fn sent(ready: &Ready, message: &Message, handed: &Handed) -> Result<(), Failure> {
    let Way::Mail { server, security, .. } = &ready.channel.way else { return Ok(()) };
    let (host, port) = place(server)?;
    let stream = connect(&host, port).await?;
    match security {
        SecurityKind::Tls => {
            let mut talk = Talk::new(secure(ready.tls.as_ref(), &host, stream).await?);
            talk.answer(220).await?;
            talk.mail(ready, message, handed).await
        }
        SecurityKind::None => {
            let mut talk = Talk::new(stream);
            talk.answer(220).await?;
            talk.mail(ready, message, handed).await
        }
        SecurityKind::Starttls => {
            let mut talk = Talk::new(stream);
            talk.answer(220).await?;
            let offers = talk.hello().await?;
            if !offers.iter().any(|offer| offer == "STARTTLS") {
                return Err(Failure::Later("the server offers no STARTTLS".to_owned()));
            }
            talk.say("STARTTLS", 220).await?;
            if !talk.stream.buffer().is_empty() {
                // What was said before TLS is not the server's (CVE-2011-0411).
                return Err(Failure::Later("the server spoke before TLS began".to_owned()));
            }
            let mut talk = Talk::new(secure(ready.tls.as_ref(), &host, talk.stream.into_inner()).await?);
            talk.mail(ready, message, handed).await
        }
    }
}

struct Talk<S> {
    stream: BufReader<S>,
}

impl<S: Stream> Talk<S> {
    fn new(stream: S) -> Talk<S> {
        Talk { stream: BufReader::new(stream) }
    }

    async fn mail(&mut self, ready: &Ready, message: &Message, handed: &Handed) -> Result<(), Failure> {
        let Way::Mail { from, to, user, .. } = &ready.channel.way else { return Ok(()) };
        let offers = self.hello().await?;
        if let (Some(user), Some(password)) = (user, &ready.secret) {
            self.authenticate(&offers, user, password).await?;
        }
        self.say(&format!("MAIL FROM:<{from}>"), 250).await?;
        let (mut taken, mut refused) = (0, Vec::new());
        for recipient in to {
            match self.say(&format!("RCPT TO:<{recipient}>"), 250).await {
                Ok(_) => taken += 1,
                Err(Failure::Broken(error)) => return Err(Failure::Broken(error)),
                Err(failure) => refused.push(failure),
            }
        }
        if taken == 0 {
            return Err(refused.pop().unwrap_or_else(|| Failure::Never("there is no recipient".to_owned())));
        }
        for failure in &refused {
            let (Failure::Later(said) | Failure::Never(said)) = failure else { continue };
            tracing::warn!("a recipient of message {} was refused: {said}", message.id);
        }
        let letter = match &message.report {
            None => letter(message, from, to),
            Some(report) => {
                let body = ready.shelf.mail(&report.file);
                let gone = |error| Failure::Never(format!("the report is not there any more: {error}"));
                format!("{}{}", head(message, from, to), body.map_err(gone)?)
            }
        };
        self.say("DATA", 354).await?;
        self.stream.write_all(letter.as_bytes()).await?;
        handed.over();
        self.say(".", 250).await?;
        // It has the mail: what it says now is not of interest.
        let _said = self.stream.write_all(b"QUIT\r\n").await;
        let _said = self.stream.flush().await;
        Ok(())
    }

    /// What the server offers.
    async fn hello(&mut self) -> Result<Vec<String>, Failure> {
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let name: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || ".-".contains(*c)).collect();
        let name = if name.is_empty() { "localhost" } else { &name };
        let offers = self.say(&format!("EHLO {name}"), 250).await?;
        Ok(offers.into_iter().skip(1).map(|offer| offer.to_ascii_uppercase()).collect())
    }

    async fn authenticate(&mut self, offers: &[String], user: &str, password: &str) -> Result<(), Failure> {
        let ways = offers.iter().find_map(|offer| offer.strip_prefix("AUTH ")).unwrap_or_default();
        let offered = |way: &str| ways.split(' ').any(|offer| offer == way);
        if offered("PLAIN") {
            self.say(&format!("AUTH PLAIN {}", STANDARD.encode(format!("\0{user}\0{password}"))), 235).await?;
        } else if offered("LOGIN") {
            self.say("AUTH LOGIN", 334).await?;
            self.say(&STANDARD.encode(user), 334).await?;
            self.say(&STANDARD.encode(password), 235).await?;
        } else {
            return Err(Failure::Later(format!("the server offers neither AUTH PLAIN nor LOGIN, but '{ways}'")));
        }
        Ok(())
    }

    async fn say(&mut self, line: &str, expected: u16) -> Result<Vec<String>, Failure> {
        self.stream.write_all(format!("{line}\r\n").as_bytes()).await?;
        self.stream.flush().await?;
        self.answer(expected).await
    }

    /// The lines of an answer with this code, without it.
    async fn answer(&mut self, expected: u16) -> Result<Vec<String>, Failure> {
        let mut lines = Vec::new();
        loop {
            let mut octets = Vec::new();
            (&mut self.stream).take(LINE_OCTETS_MAX).read_until(b'\n', &mut octets).await?;
            let line = String::from_utf8_lossy(&octets).trim_end().to_owned();
            let code = line.get(..3).and_then(|code| code.parse::<u16>().ok());
            let (Some(code), true) = (code, octets.ends_with(b"\n") && lines.len() < LINES_MAX) else {
                return Err(io::Error::new(io::ErrorKind::InvalidData, format!("the server says '{line}'")).into());
            };
            let goes_on = line.as_bytes().get(3) == Some(&b'-');
            lines.push(line.get(4..).unwrap_or_default().to_owned());
            if goes_on {
                continue;
            }
            return match code {
                code if code == expected => Ok(lines),
                500..=599 => Err(Failure::Never(format!("the server says {line}"))),
                _ => Err(Failure::Later(format!("the server says {line}"))),
            };
        }
    }
}

/// The mail (RFC 5322), in lines of ASCII none of which begins with a dot.
fn letter(message: &Message, from: &str, to: &[String]) -> String {
    let boundary = format!("=_{}", message.id);
    let part = |kind: &str, text: &str| {
        let text = base64(text.as_bytes());
        format!("--{boundary}\r\nContent-Type: {kind}\r\nContent-Transfer-Encoding: base64\r\n\r\n{text}")
    };
    [
        head(message, from, to),
        "MIME-Version: 1.0\r\n".to_owned(),
        format!("Content-Type: multipart/mixed; boundary=\"{boundary}\"\r\n\r\n"),
        part("text/plain; charset=utf-8", &text(message).replace('\n', "\r\n")),
        part("application/json", &json(message).to_string()),
        format!("--{boundary}--\r\n"),
    ]
    .concat()
}

/// Header fields, those of MIME aside.
pub(super) fn head(message: &Message, from: &str, to: &[String]) -> String {
    let domain = from.rsplit('@').next().unwrap_or("localhost");
    let made = Timestamp::from_second(message.made_s).unwrap_or_default();
    let date = made.strftime("%a, %d %b %Y %H:%M:%S +0000");
    [
        format!("From: <{from}>\r\n"),
        format!("To: {}\r\n", to.iter().map(|to| format!("<{to}>")).collect::<Vec<_>>().join(",\r\n ")),
        format!("Subject: {}\r\n", encoded_words(&subject_line(message))),
        format!("Date: {date}\r\nMessage-ID: <{}@{domain}>\r\n", message.id),
        "Auto-Submitted: auto-generated\r\n".to_owned(),
    ]
    .concat()
}

/// In lines, each with its end.
pub(crate) fn base64(octets: &[u8]) -> String {
    let encoded = STANDARD.encode(octets);
    let mut lines = String::with_capacity(encoded.len() + encoded.len() / BASE64_LINE * 2 + 4);
    for line in encoded.as_bytes().chunks(BASE64_LINE) {
        lines.extend(line.iter().map(|octet| char::from(*octet)));
        lines.push_str("\r\n");
    }
    lines
}

/// A text in a header field (RFC 2047): as it is where it is short and plain.
fn encoded_words(text: &str) -> String {
    let plain = text.len() < 60 && text.bytes().all(|b| (b.is_ascii_graphic() || b == b' ') && b != b'=' && b != b'?');
    if plain {
        return text.to_owned();
    }
    let (mut words, mut word) = (Vec::new(), String::new());
    for character in text.chars() {
        if word.len() + character.len_utf8() > ENCODED_WORD_OCTETS {
            words.push(core::mem::take(&mut word));
        }
        word.push(character);
    }
    words.push(word);
    let encoded: Vec<String> = words.iter().map(|word| format!("=?utf-8?B?{}?=", STANDARD.encode(word))).collect();
    encoded.join("\r\n ")
}
