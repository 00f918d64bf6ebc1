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
/// Characters of it that are told.
const SAID_CHARS_MAX: usize = 500;
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
                let gone = |error| Failure::Never(format!("the report was deleted: {error}"));
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
            let line = Line::read(&octets).filter(|_| lines.len() < LINES_MAX).ok_or_else(|| {
                let said = said(&String::from_utf8_lossy(&octets));
                io::Error::new(io::ErrorKind::InvalidData, format!("the server says '{said}'"))
            })?;
            lines.push(line.text.clone());
            if !line.goes_on {
                return line.ends(expected).map(|()| lines);
            }
        }
    }
}

/// A line of an answer (RFC 5321 section 4.2.1).
struct Line {
    code: u16,
    /// Whether there is another one.
    goes_on: bool,
    text: String,
}

impl Line {
    /// Of octets up to the end of the line: three digits, then a hyphen, a space or nothing.
    fn read(octets: &[u8]) -> Option<Line> {
        let octets = octets.strip_suffix(b"\n")?.trim_ascii_end();
        let (code, rest) = octets.split_first_chunk::<3>()?;
        let code = code
            .iter()
            .try_fold(0, |code, octet| octet.is_ascii_digit().then(|| code * 10 + u16::from(octet - b'0')))?;
        let (goes_on, text) = match rest {
            [b'-', text @ ..] => (true, text),
            [b' ', text @ ..] => (false, text),
            [] => (false, rest),
            _ => return None,
        };
        Some(Line { code, goes_on, text: String::from_utf8_lossy(text).into_owned() })
    }

    /// What the last line of an answer means.
    fn ends(&self, expected: u16) -> Result<(), Failure> {
        let why = || format!("the server says {} {}", self.code, said(&self.text)).trim_end().to_owned();
        match self.code {
            code if code == expected => Ok(()),
            500..=599 => Err(Failure::Never(why())),
            _ => Err(Failure::Later(why())),
        }
    }
}

/// What a server says, for one line of a log.
fn said(text: &str) -> String {
    text.trim_end().chars().map(|c| if c.is_control() { ' ' } else { c }).take(SAID_CHARS_MAX).collect()
}

/// What a server says, in any pieces: an answer ends with a line of one of its codes, has not too many lines, and what
/// is told of it is a line.
pub fn exercise(octets: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        let (mut given, taken) = tokio::io::duplex(octets.len() + 1);
        let wrote = given.write_all(octets).await;
        drop(given);
        let mut talk = Talk::new(taken);
        while wrote.is_ok() {
            match talk.answer(250).await {
                Ok(lines) => {
                    assert!((1..=LINES_MAX).contains(&lines.len()));
                    assert!(
                        lines.iter().all(|line| !line.contains('\n') && line.len() <= 3 * LINE_OCTETS_MAX as usize)
                    );
                }
                Err(Failure::Later(why) | Failure::Never(why)) => {
                    assert!(why.chars().count() <= SAID_CHARS_MAX + 30 && !why.contains(char::is_control));
                }
                // It ends with what is no answer, at the latest with nothing.
                Err(Failure::Broken(error)) => return assert!(error.to_string().chars().count() < SAID_CHARS_MAX + 30),
            }
        }
    });
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

#[cfg(test)]
mod tests;
