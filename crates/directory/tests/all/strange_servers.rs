//! Servers that speak no LDAP, too much of it, or nothing: each is left, with the reason, and whoever asked is told.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use trunkline_directory::*;

use crate::eventually::{PATIENCE, awaited};

/// A bind that succeeded, and an answer to the first search behind it that found nobody.
const BOUND: &[u8] = b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00";
const NOBODY: &[u8] = b"\x30\x0c\x02\x01\x01\x65\x07\x0a\x01\x00\x04\x00\x04\x00";
/// StartTLS that succeeded.
const TLS: &[u8] = b"\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00";
/// A notice of disconnection: unavailable.
const NOTICE: &[u8] = b"\x30\x27\x02\x01\x00\x78\x22\x0a\x01\x34\x04\x00\x04\x03bye\x8a\x161.3.6.1.4.1.1466.20036";

/// Says the first reply to the first request, the second to the second; after the last it listens.
fn serve(replies: &'static [&'static [u8]]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || talk(stream, replies));
        }
    });
    format!("ldap://{address}")
}

fn talk(mut stream: TcpStream, replies: &[&[u8]]) {
    let mut request = [0; 4096];
    let mut replies = replies.iter();
    while stream.read(&mut request).is_ok_and(|octets| octets > 0) {
        let Some(reply) = replies.next() else { continue };
        if stream.write_all(reply).is_err() {
            return;
        }
    }
}

struct Client {
    directory: Directory,
    completions: Receiver<Completion>,
    _running: Running,
}

impl Client {
    fn new(url: String, start_tls: bool) -> Client {
        let (timeout, connect_timeout) = (Duration::from_secs(1), Duration::from_secs(1));
        let servers = vec![url];
        let section = DirectorySection {
            servers,
            start_tls,
            connections: 1,
            timeout,
            connect_timeout,
            answer_size: trunkline_kit::config::Octets(64 * 1024),
            remember_absent: Duration::ZERO,
            ..DirectorySection::default()
        };
        let (sender, completions) = channel();
        let tell = move |completion| drop(sender.send(completion));
        let (directory, running) = start(section.options().expect("settings"), Box::new(tell)).expect("it starts");
        Client { directory, completions, _running: running }
    }

    fn look_up(&self) -> LookedUp {
        self.directory.look_up(Identity::new(Kind::Msisdn, "44"), 0).expect("there is room");
        match self.completions.recv_timeout(PATIENCE).expect("an end").ended {
            Ended::LookedUp(looked_up) => looked_up,
            other => panic!("{other:?}"),
        }
    }

    fn trouble(&self) -> String {
        awaited("it is in trouble", || {
            let shown = self.directory.shown().expect("it runs");
            Some(shown.servers[0].1.trouble.to_string())
                .filter(|trouble| !trouble.is_empty())
                .ok_or_else(|| Box::new(shown))
        })
    }
}

#[test]
fn the_played_server_is_one_if_it_answers_well() {
    let client = Client::new(serve(&[BOUND, NOBODY]), false);
    assert_eq!(client.look_up(), LookedUp::Absent);
}

#[test]
fn a_connection_that_never_becomes_ready_is_left_with_its_reason() {
    let cases: [(&'static [&'static [u8]], bool, &str); 8] = [
        (&[], false, "it was not ready in time"),
        (&[b"HTTP/1.1 400 Bad Request\r\n\r\n"], false, "no message begins with 0x48"),
        (&[b"\x30\x84\xff\xff\xff\xff"], false, "a message of 4294967301 octets is over the limit"),
        (&[b"\x30\x80\x02\x01\x01\x00\x00"], false, "no message begins with 0x80"),
        (&[b"\x30\x03\x02\x01\x01"], false, "element 1 is missing"),
        (&[NOBODY], false, "bind: a response to something else"),
        (&[NOTICE], false, "a response that nobody has asked for"),
        (
            &[b"\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00put in front"],
            true,
            "more came than was asked for",
        ),
    ];
    for (replies, start_tls, reason) in cases {
        let client = Client::new(serve(replies), start_tls);
        let trouble = client.trouble();
        assert!(trouble.ends_with(reason), "{trouble}");
        let looked_up = client.look_up();
        assert!(matches!(looked_up, LookedUp::Failed(Why::Failure(Failure::Unreachable(_)))), "{looked_up:?}");
    }
    let trouble = Client::new(serve(&[TLS, b"no TLS"]), true).trouble();
    assert!(trouble.contains("TLS:"), "{trouble}");
}

#[test]
fn a_connection_that_breaks_the_rules_is_left_with_its_reason() {
    let replies: [(&'static [&'static [u8]], &str); 5] = [
        (&[BOUND, b"\x30\x82\xff\xff"], "a message of 65539 octets is over the limit"),
        (&[BOUND, BOUND], "a response to something else"),
        (&[BOUND, b"\x30\x0b\x02\x01\x01\x64\x06\x04\x02\xff\xfe\x30\x00"], "element 4 has not the form of its type"),
        (&[BOUND, NOTICE], "the server says that it disconnects"),
        (&[BOUND], "it says nothing"),
    ];
    for (replies, reason) in replies {
        let client = Client::new(serve(replies), false);
        let looked_up = client.look_up();
        let LookedUp::Failed(Why::Failure(failure)) = looked_up else { panic!("{looked_up:?}") };
        assert!(failure.to_string().ends_with(reason), "{failure}");
    }
    // Its name and text are read, too.
    let message = trunkline_wire::ldap::Message::new(NOTICE).expect("a notice").response;
    let trunkline_wire::ldap::Response::Extended { name, .. } = message else { panic!("{message:?}") };
    assert_eq!(name, Some(trunkline_wire::ldap::NOTICE_OF_DISCONNECTION));
}
