//! A service that dials servers over TLS, and what comes of servers that are not who was meant.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use trunkline_net::{
    Arrival, Cause, ClientCertificates, ClientTls, ConnectionId, Errands, Limits, Next, Now, Output, Service, Taken,
    TlsFault, Undialled, issuers, start,
};

use crate::speaker::{World, eventually, options, tcp};
use crate::tls::{Authority, listen};

/// Dials once, says a line, and notes what comes back and why it ended.
struct Caller {
    to: Option<(SocketAddr, ClientTls, &'static str)>,
    heard: Arc<Mutex<Heard>>,
}

#[derive(Debug, Default)]
struct Heard {
    octets: Vec<u8>,
    ended: Option<Cause>,
}

impl Service for Caller {
    /// Whether it was dialled.
    type Connection = bool;
    type Mail = ();

    fn accepted(&mut self, _: &Arrival<'_>, _: Now) -> bool {
        false
    }

    fn octets(&mut self, _: &mut bool, input: &[u8], _: &mut Output<'_>, _: Now) -> Taken {
        self.heard.lock().expect("whole").octets.extend_from_slice(input);
        Taken { octets: input.len(), next: Next::More }
    }

    fn dialled(&mut self, _: &mut bool, _: ConnectionId, output: &mut Output<'_>, _: Now) -> Next {
        output.put(b"echo over there\n");
        Next::More
    }

    fn errands(&mut self, errands: &mut Errands<bool>, now: Now) {
        match self.to.take() {
            Some((address, tls, name)) => {
                errands.dial_tls(address, (&tls, name), Duration::from_millis(800), true).expect("a name");
            }
            None => errands.until(now.monotonic + Duration::from_millis(100)),
        }
    }

    fn closed(&mut self, dialled: bool, cause: Cause, _: Now) {
        if dialled {
            self.heard.lock().expect("whole").ended = Some(cause);
        }
    }
}

/// What comes of dialling: the first line, or why there was none.
fn called(address: SocketAddr, tls: &ClientTls, name: &'static str) -> Result<String, Cause> {
    let heard = Arc::<Mutex<Heard>>::default();
    let (tls, shared) = (tls.clone(), Arc::clone(&heard));
    let server = start(&[tcp()], options(1, Limits::default()), move |_| Caller {
        to: Some((address, tls.clone(), name)),
        heard: Arc::clone(&shared),
    });
    let server = server.expect("a server");
    // Its thread looks at its errands after the first event.
    drop(std::net::TcpStream::connect(server.addresses()[0].expect("an address")));
    eventually("it came to something", || {
        let heard = heard.lock().expect("whole");
        heard.ended.is_some() || heard.octets.ends_with(b"\n")
    });
    let heard = heard.lock().expect("whole");
    match heard.octets.is_empty() {
        true => Err(heard.ended.expect("an end")),
        false => Ok(String::from_utf8_lossy(&heard.octets).into_owned()),
    }
}

#[test]
fn servers_over_tls_are_who_was_meant_or_nothing_is_said() {
    let (authority, other) = (Authority::new(), Authority::new());
    let trusting = |authority: &Authority, own: Option<&(String, String)>| {
        let own = own.map(|(certificate, key)| (certificate.as_bytes(), key.as_bytes()));
        ClientTls::new(issuers(authority.pem().as_bytes()).expect("an issuer"), own).expect("they belong together")
    };
    let open = World::start(&[listen(&authority.tls(&ClientCertificates::None))], options(1, Limits::default()));
    assert_eq!(called(open.address(), &trusting(&authority, None), "localhost").expect("an answer"), "over there\n");
    let failed = |fault| Cause::Undialled(Undialled::Tls(fault));
    assert_eq!(called(open.address(), &trusting(&authority, None), "elsewhere.example"), Err(failed(TlsFault::Name)));
    assert_eq!(called(open.address(), &trusting(&other, None), "localhost"), Err(failed(TlsFault::Issuer)));
    // One that demands a certificate: of TLS 1.3 the client learns of a refusal after its own part.
    let demands = ClientCertificates::Require(issuers(authority.pem().as_bytes()).expect("an issuer"));
    let closed = World::start(&[listen(&authority.tls(&demands))], options(1, Limits::default()));
    assert!(called(closed.address(), &trusting(&authority, None), "localhost").is_err());
    let own = authority.sign();
    assert!(called(closed.address(), &trusting(&authority, Some(&own)), "localhost").is_ok());
}

#[test]
fn what_speaks_no_tls_or_nothing_is_given_up_in_time() {
    let authority = Authority::new();
    let tls = ClientTls::new(issuers(authority.pem().as_bytes()).expect("an issuer"), None).expect("no pair");
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let late = called(silent.local_addr().expect("an address"), &tls, "localhost");
    assert_eq!(late, Err(Cause::Undialled(Undialled::Late)));
    let plain = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = plain.local_addr().expect("an address");
    let answers = std::thread::spawn(move || {
        let (mut stream, _) = plain.accept().expect("somebody");
        stream.write_all(b"220 mail.example ready\r\n").expect("written");
        stream
    });
    let broken = called(address, &tls, "localhost");
    assert_eq!(broken, Err(Cause::Undialled(Undialled::Tls(TlsFault::Broken))));
    drop(answers.join().expect("it ended"));
}
