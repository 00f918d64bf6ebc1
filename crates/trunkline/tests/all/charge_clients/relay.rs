//! freeDiameter as a relay between clients and a node.

use crate::eventually::awaited;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Where Debian has it.
pub const PROGRAM: &str = "/usr/bin/freeDiameterd";
pub const HOST: &str = "dra.transit.example";
pub const REALM: &str = "transit.example";

/// The process; it ends with its owner.
pub struct Relay {
    child: Child,
}

impl Relay {
    /// At a port, to a server of that name; it takes one client in. What it needs lies in a folder.
    pub fn start(folder: &Path, port: u16, server: (&str, SocketAddr), client: &str) -> Relay {
        let (name, server) = server;
        let (ip, server_port) = (server.ip(), server.port());
        let peer = format!(r#"ConnectPeer = "{name}" {{ ConnectTo = "{ip}"; Port = {server_port}; No_TLS; }};"#);
        certify(folder);
        Relay::with(folder, (port, 0), &peer, &format!("ALLOW_IPSEC {client}\n"))
    }

    /// At two ports, with and without TLS (`relay.pem`, `relay.key`, issued by `ca.pem`), to nobody by itself; those on
    /// its list are taken in.
    pub fn accepting(folder: &Path, ports: (u16, u16), list: &str) -> Relay {
        Relay::with(folder, ports, "", list)
    }

    fn with(folder: &Path, ports: (u16, u16), peer: &str, list: &str) -> Relay {
        let port = ports.0;
        std::fs::write(folder.join("relay.conf"), configuration(folder, ports, peer)).expect("a file");
        std::fs::write(folder.join("clients.conf"), list).expect("a file");
        let log = std::fs::File::create(folder.join("relay.log")).expect("a file");
        let mut command = Command::new(PROGRAM);
        command.arg("-c").arg(folder.join("relay.conf")).stdin(Stdio::null());
        let child = command.stderr(log.try_clone().expect("a descriptor")).stdout(log).spawn().expect("freeDiameter");
        let mut relay = Relay { child };
        awaited("freeDiameter listens", || {
            let log = || std::fs::read_to_string(folder.join("relay.log")).unwrap_or_default();
            let ended = relay.child.try_wait().expect("its state").is_some();
            assert!(!ended, "freeDiameter has ended: {}", log());
            TcpStream::connect(("127.0.0.1", port)).map_err(|_| log())
        });
        relay
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configuration(folder: &Path, (port, secure_port): (u16, u16), peer: &str) -> String {
    let folder = folder.display();
    format!(
        r#"Identity = "{HOST}";
Realm = "{REALM}";
Port = {port};
SecPort = {secure_port};
No_SCTP;
No_IPv6;
TLS_Cred = "{folder}/relay.pem", "{folder}/relay.key";
TLS_CA = "{folder}/ca.pem";
TLS_DH_Bits = 768;
LoadExtension = "/usr/lib/freeDiameter/acl_wl.fdx" : "{folder}/clients.conf";
{peer}
"#
    )
}

/// It does not start without a certificate, which nobody is shown here.
fn certify(folder: &Path) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec![HOST.to_owned()]).expect("a name");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).expect("signed");
    for name in ["relay.pem", "ca.pem"] {
        std::fs::write(folder.join(name), certificate.pem()).expect("a file");
    }
    std::fs::write(folder.join("relay.key"), key.serialize_pem()).expect("a file");
}
