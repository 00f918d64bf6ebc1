//! Receivers beside the job.

use serde_json::Value;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use trunkline_alert::job::{Alerts, Seen};
use trunkline_alert::rule::{Known, Rules, read};

/// How long anything may take on a machine that has much else to do.
pub const LONG: Duration = Duration::from_secs(60);

/// A program of others, ended with the value.
pub struct Receiver {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    pub port: u16,
}

impl Receiver {
    /// None, said loudly, if Python or what it needs is not there.
    pub fn python(arguments: &[&str]) -> Option<Receiver> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/receivers.py");
        let mut command = Command::new("/usr/bin/python3");
        let child = command.arg(script).args(arguments).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = child else {
            eprintln!("SKIPPED: there is no /usr/bin/python3");
            return None;
        };
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        match lines.next().map(|line| line.unwrap().parse().unwrap()) {
            Some(port) => Some(Receiver { child, lines, port }),
            None => {
                let _ended = child.wait();
                eprintln!("SKIPPED: {arguments:?} has ended: is python3-aiosmtpd installed?");
                None
            }
        }
    }

    /// What it is given next.
    pub fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().expect("a line").unwrap()).unwrap()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

pub fn rules(text: &str) -> Rules {
    read(&[("r.toml", text)], &Known::default()).unwrap_or_else(|wrong| panic!("{wrong:?}"))
}

pub fn start(folder: &Path, text: &str) -> Alerts {
    Alerts::start(folder, rules(text)).unwrap()
}

pub fn now_s() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

pub fn see(subject: &str, value: f64) -> Seen {
    Seen {
        rule: "full".to_owned(),
        subject: subject.to_owned(),
        at_s: now_s(),
        value: Some(value),
        samples: 1,
        ..Seen::default()
    }
}

/// A rule whose alerts all go to one route, each in a message of its own.
pub const RULE: &str = "[rule.full]\nvalue = \"v\"\nlimit = 5\nseverity = \"critical\"\nunknown-after = \"7 days\"\n\
    title = \"|subject| is full: |value| \u{20ac}\"\n";

/// A certificate for `localhost` and 127.0.0.1: the files of it and of its key.
pub fn certificate(folder: &Path) -> (String, String) {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (certificate, key) = (path("certificate.pem"), path("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    (certificate, key)
}

/// A port that is free now.
pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
