//! A small HTTP client that shows what is on the wire.

use crate::schema;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Whom to ask, and as whom.
#[derive(Clone)]
pub struct Client {
    pub address: SocketAddr,
    pub cookie: Option<String>,
    pub csrf: Option<String>,
    pub headers: Vec<(String, String)>,
}

/// What was answered.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Client {
    /// A stranger.
    pub fn new(address: SocketAddr) -> Self {
        Client { address, cookie: None, csrf: None, headers: Vec::new() }
    }

    /// The same with another header.
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut more = self.clone();
        more.headers.push((name.to_owned(), value.to_owned()));
        more
    }

    /// A program with a token.
    pub fn token(&self, secret: &str) -> Self {
        Client::new(self.address).with("Authorization", &format!("Bearer {secret}"))
    }

    /// The header field of its session, if it has one.
    pub fn cookie_field(&self) -> String {
        let name = cookie_name(self.address);
        self.cookie.as_ref().map_or_else(String::new, |cookie| format!("Cookie: {name}={cookie}\r\n"))
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, None)
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.ask("DELETE", path, None)
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, Some(body.to_string().as_bytes()))
    }

    pub fn put(&self, path: &str, body: &Value) -> Answer {
        self.ask("PUT", path, Some(body.to_string().as_bytes()))
    }

    /// Asks below /api/v1 (or at the root for `//x`), and compares the answer with the document.
    pub fn ask(&self, method: &str, path: &str, body: Option<&[u8]>) -> Answer {
        let full =
            path.strip_prefix('/').filter(|p| p.starts_with('/')).map_or(format!("/api/v1{path}"), str::to_owned);
        let answer = self.send(method, &full, body);
        if !path.starts_with("//") {
            schema::check(method, &full, &answer);
        }
        answer
    }

    fn send(&self, method: &str, path: &str, body: Option<&[u8]>) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        head += &self.cookie_field();
        if let Some(csrf) = self.csrf.as_ref().filter(|_| method != "GET") {
            head += &format!("X-CSRF-Token: {csrf}\r\n");
        }
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if let Some(body) = body {
            if !self.headers.iter().any(|(name, _)| name == "Content-Type") {
                head += "Content-Type: application/json\r\n";
            }
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        head += "\r\n";
        let mut octets = head.into_bytes();
        octets.extend_from_slice(body.unwrap_or_default());
        let answer = raw(self.address, &octets);
        parse(&answer, method == "HEAD").unwrap_or_else(|| panic!("{method} {path}: {:?}", text(&answer)))
    }
}

/// What the session's cookie is called by who asks at an address.
fn cookie_name(address: SocketAddr) -> String {
    format!("trunkline-{}", address.port())
}

/// Sends octets as they are and reads to the end.
pub fn raw(address: SocketAddr, octets: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // What is refused early may not be read to its end.
    let _ = stream.write_all(octets);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

pub fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

/// Reads an answer; its body may come in chunks.
pub fn parse(octets: &[u8], head_only: bool) -> Option<Answer> {
    let end = octets.windows(4).position(|w| w == b"\r\n\r\n")?;
    let head = text(&octets[..end]);
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut answer = Answer { status, headers, body: octets[end + 4..].to_vec() };
    if answer.header("transfer-encoding") == "chunked" {
        answer.body = unchunk(&answer.body);
    } else if let (false, Ok(length)) = (head_only, answer.header("content-length").parse::<usize>()) {
        assert_eq!(length, answer.body.len(), "{head}");
    }
    Some(answer)
}

fn unchunk(mut octets: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = octets.windows(2).position(|w| w == b"\r\n") {
        let size = usize::from_str_radix(&text(&octets[..end]), 16).unwrap();
        let Some(chunk) = octets.get(end + 2..end + 2 + size) else { break };
        body.extend_from_slice(chunk);
        octets = octets.get(end + 4 + size..).unwrap_or_default();
    }
    body
}

impl Answer {
    /// A header field, or nothing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(n, _)| n == name).map_or("", |(_, value)| value)
    }

    /// Its body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", text(&self.body)))
    }

    /// Its body, after asserting its status.
    #[track_caller]
    pub fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", text(&self.body));
        if self.body.is_empty() { Value::Null } else { self.json() }
    }

    /// Asserts a problem of a kind.
    #[track_caller]
    pub fn problem(&self, status: u16, kind: &str) -> Value {
        let body = self.ok(status);
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(body["type"], format!("/problems/{kind}"), "{body}");
        assert_eq!(body["status"], status);
        body
    }

    /// The session's cookie that it sets.
    pub fn cookie(&self) -> Option<String> {
        let of = |name: &str| name.strip_prefix("trunkline-").is_some_and(|port| port.parse::<u16>().is_ok());
        let (_, value) = self.cookies().into_iter().find(|(name, _)| of(name))?;
        Some(value)
    }

    /// Names and values of all cookies that it sets.
    pub fn cookies(&self) -> Vec<(String, String)> {
        let fields = self.headers.iter().filter(|(name, _)| name == "set-cookie");
        let pairs = fields.filter_map(|(_, field)| field.split(';').next()?.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}
