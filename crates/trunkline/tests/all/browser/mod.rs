//! A browser for tests: as much of HTTP/1.0 as it takes, one cookie jar, the link that a program prints.

use crate::eventually::{awaited, eventually};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Long enough for any machine; only what hangs takes it.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A program that serves the web.
pub struct Shown {
    pub child: Child,
    lines: Receiver<String>,
    /// What it said so far.
    pub said: Vec<String>,
}

impl Shown {
    /// Starts it.
    pub fn start(mut command: Command) -> Shown {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (to, lines) = channel();
        let streams: [Box<dyn Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for stream in streams {
            let to = to.clone();
            std::thread::spawn(move || {
                BufReader::new(stream).lines().map_while(Result::ok).for_each(|line| _ = to.send(line));
            });
        }
        Shown { child, lines, said: Vec::new() }
    }

    /// Waits for a line that holds this.
    pub fn hear(&mut self, part: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("it never said '{part}', but\n{}", self.said.join("\n"));
            };
            self.said.push(line.clone());
            if line.contains(part) {
                return line;
            }
        }
    }

    /// Waits for the link, and goes where it leads: signed in.
    pub fn browser(&mut self) -> Browser {
        let line = self.hear("/link#");
        Browser::by_link(&line[line.find("http").unwrap()..])
    }

    /// Asks it to end, and waits; it is to end well before patience does.
    pub fn end(mut self) -> (ExitStatus, Vec<String>) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, Signal::TERM).unwrap();
        eventually("it ends", || self.child.try_wait().unwrap().is_some());
        self.said.extend(self.lines.iter());
        (self.child.wait().unwrap(), std::mem::take(&mut self.said))
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Somebody with a browser.
pub struct Browser {
    /// `127.0.0.1:8080`
    host: String,
    cookie: String,
    csrf: String,
}

/// What came back.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {}\n{text}", self.head))
    }
}

impl Browser {
    /// Nobody yet.
    pub fn at(host: &str) -> Browser {
        Browser { host: host.to_owned(), cookie: String::new(), csrf: String::new() }
    }

    /// Uses a one-time link; where it makes the first administrator, it makes one.
    pub fn by_link(link: &str) -> Browser {
        let (host, rest) = link.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
        let token = rest.split_once('#').unwrap().1;
        let mut browser = Browser::at(host);
        let found = browser.post("/session/link", &json!({"token": token}));
        assert_eq!(found.status, 200, "{}", String::from_utf8_lossy(&found.body));
        if found.json()["kind"] == "setup" {
            let setup = json!({"token": token, "name": "first", "password": "correct horse battery"});
            let made = browser.post("/session/setup", &setup);
            assert_eq!(made.status, 200, "{}", String::from_utf8_lossy(&made.body));
        }
        let session = browser.json("/session");
        assert_eq!(session["signed_in"], true, "{session}");
        browser.csrf = session["csrf"].as_str().unwrap().to_owned();
        browser
    }

    /// An endpoint of the API, which must answer.
    pub fn json(&mut self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
        answer.json()
    }

    pub fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", &format!("/api/v1{path}"), &[])
    }

    pub fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.ask("POST", &format!("/api/v1{path}"), body.to_string().as_bytes())
    }

    /// A request for a path of the root.
    pub fn ask(&mut self, method: &str, path: &str, body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let kind = if path.contains("/captures") { "application/octet-stream" } else { "application/json" };
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: {0}\r\nOrigin: http://{0}\r\nSec-Fetch-Site: same-origin\r\n\
             Cookie: {1}\r\nX-CSRF-Token: {2}\r\nContent-Type: {kind}\r\nContent-Length: {3}\r\n\r\n",
            self.host,
            self.cookie,
            self.csrf,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let at = answer.windows(4).position(|w| w == b"\r\n\r\n").expect("no head");
        let head = String::from_utf8(answer[..at].to_vec()).unwrap();
        for line in head.lines() {
            if let Some((name, value)) = line.split_once(": ")
                && name.eq_ignore_ascii_case("set-cookie")
            {
                self.cookie = value.split(';').next().unwrap().to_owned();
            }
        }
        Answer { status: head[9..12].parse().unwrap(), head, body: answer[at + 4..].to_vec() }
    }

    /// Waits until an endpoint's answer is such.
    pub fn until(&mut self, path: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        awaited(what, || {
            let answer = self.json(path);
            if is_so(&answer) { Ok(answer) } else { Err(answer) }
        })
    }

    /// Calls that pass a filter, all pages.
    pub fn calls(&mut self, filter: &str) -> Vec<Value> {
        let filter: String = filter.bytes().map(|octet| format!("%{octet:02x}")).collect();
        let (mut calls, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.json(&format!("/calls?limit=200&filter={filter}{cursor}"));
            calls.extend(page["calls"].as_array().unwrap().iter().cloned());
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return calls,
            }
        }
    }
}
