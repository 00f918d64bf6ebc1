//! SNMP against those who have spoken it longer: net-snmp's agent and its commands, tshark, captures of others.

mod agent;
mod captures;
mod commands;
mod shown;

use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::time::Duration;
use trunkline_wire::snmp::usm::{AuthProtocol, Keys, MasterKey, PrivacyProtocol};
use trunkline_wire::snmp::{ObjectId, Value, write_varbind};

/// How long an answer is waited for that has to come.
const PATIENCE: Duration = Duration::from_secs(60);
const AUTH_PASSWORD: &str = "authentic words";
const PRIVACY_PASSWORD: &str = "private words";

/// A level of security as net-snmp names it, and as we do.
#[derive(Clone, Copy, Debug)]
struct Level {
    authentication: Option<(AuthProtocol, &'static str)>,
    privacy: Option<(PrivacyProtocol, &'static str)>,
}

const AUTHENTICATION: [(AuthProtocol, &str); 6] = [
    (AuthProtocol::Md5, "MD5"),
    (AuthProtocol::Sha1, "SHA"),
    (AuthProtocol::Sha224, "SHA-224"),
    (AuthProtocol::Sha256, "SHA-256"),
    (AuthProtocol::Sha384, "SHA-384"),
    (AuthProtocol::Sha512, "SHA-512"),
];

const PRIVACY: [(PrivacyProtocol, &str); 6] = [
    (PrivacyProtocol::Des, "DES"),
    (PrivacyProtocol::Aes128, "AES"),
    (PrivacyProtocol::Aes192, "AES-192"),
    (PrivacyProtocol::Aes192Cisco, "AES-192-C"),
    (PrivacyProtocol::Aes256, "AES-256"),
    (PrivacyProtocol::Aes256Cisco, "AES-256-C"),
];

impl Level {
    /// All that can be combined.
    fn all() -> Vec<Level> {
        let bare = Level { authentication: None, privacy: None };
        let mut levels = vec![bare];
        for authentication in AUTHENTICATION.map(Some) {
            levels.push(Level { authentication, ..bare });
            levels.extend(PRIVACY.map(|privacy| Level { authentication, privacy: Some(privacy) }));
        }
        levels
    }

    /// The name of the user who has it.
    fn user(&self) -> String {
        let word = |name: Option<&str>| name.map_or("none".to_owned(), |name| name.replace('-', ""));
        format!("{}_{}", word(self.authentication.map(|(_, name)| name)), word(self.privacy.map(|(_, name)| name)))
    }

    fn keys(&self, engine_id: &[u8]) -> Keys {
        let Some((authentication, _)) = self.authentication else { return Keys::NoAuthNoPriv };
        let master = |password: &str| MasterKey::new(authentication, password.as_bytes()).expect("long enough");
        let key = master(AUTH_PASSWORD).authentication(engine_id);
        match self.privacy {
            None => Keys::AuthNoPriv(key),
            Some((privacy, _)) => Keys::AuthPriv(key, master(PRIVACY_PASSWORD).privacy(privacy, engine_id)),
        }
    }
}

/// Whether a program is there; else what needs it is skipped, and says so.
fn has(program: &str) -> bool {
    let probe = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if probe.is_err() {
        println!("SKIPPED: no {program}");
    }
    probe.is_ok()
}

/// A socket of loopback.
fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket
}

fn name(text: &str) -> ObjectId {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Names without values, as requests carry them.
fn asked(names: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    names.iter().for_each(|text| write_varbind(name(text).as_oid(), &Value::Null, &mut out));
    out
}
