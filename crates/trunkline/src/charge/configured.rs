//! From `[charge]` of the configuration to a node.

use super::damage;
use super::memory::Remembered;
use super::records;
use crate::cache::files::{self, Clients, Encryption};
use crate::failure::Failure;
use crate::rights;
use crate::run::config::{Cdr, Charge, ChargeGtpp, DirectorySection, Door, FailureHandling, Standby};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use trunkline_charge::gy::Terms;
use trunkline_charge::job::{
    ForwardSetup, GtppSetup, Node, Opened, Peering, Profiles, Setup, TERMS, Won, forget_asked, tell_found,
};
use trunkline_charge::ledger;
use trunkline_charge::peer::{Local, Neighbour, Place};
use trunkline_charge::session::Limits;
use trunkline_charge::trust::Trust;
use trunkline_commit::{Folder, Options};
use trunkline_net::{Listen, Networks, OldestTls, Tls};
use trunkline_wire::diameter::enumerated::FailureHandling as OnFailure;

/// What of a data folder is charging's.
pub const FOLDER: &str = "charge";
/// Where it is operated, in its folder.
const SOCKET: &str = "control.sock";
/// Permissions of the socket for those who operate the node.
pub const CONTROL_MODE: u32 = 0o600;

/// What of a data folder is charging's.
pub fn folder(data: &Path) -> PathBuf {
    data.join(FOLDER)
}

/// The ledger in a data folder.
pub fn ledger(data: &Path) -> PathBuf {
    folder(data).join("ledger")
}

/// Where the node of a data folder is operated.
pub fn socket(data: &Path) -> PathBuf {
    folder(data).join(SOCKET)
}

/// What needs rights has been done, and nothing is served yet.
#[derive(Debug)]
pub struct Prepared {
    opened: Opened,
    directory: Option<trunkline_directory::Prepared>,
}

/// The node of a configuration, listening, and not yet served; none where it names no address and no peer to connect
/// to. Subscribers are looked up where `directory` names a server.
///
/// # Errors
/// A file that cannot be read, or an address that cannot be had, by its key.
pub fn open(
    charge: &Charge,
    gtpp: &ChargeGtpp,
    directory: &DirectorySection,
    data: &Path,
) -> Result<Option<Prepared>, Failure> {
    if charge.listen.is_empty() && gtpp.listen.is_empty() && charge.connect.is_empty() {
        return Ok(None);
    }
    folder_of(data)?;
    let (setup, gtpp) = (setup(charge, data)?, super::gtpp::setup(charge, gtpp, data)?);
    let opened = Opened::with_gtpp(setup, gtpp).map_err(|e| Failure::Failed(format!("charge.listen: {e}")))?;
    hand_over(data);
    Ok(Some(Prepared { opened, directory: prepared(directory)? }))
}

/// Makes the folder if it is not there.
///
/// # Errors
/// It cannot be.
pub fn folder_of(data: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder(data)).map_err(|e| Failure::Failed(format!("{}: {e}", folder(data).display())))?;
    // Who the node becomes has to write there.
    hand_over(data);
    Ok(())
}

/// Where it is not possible, the node says what it cannot read.
fn hand_over(data: &Path) {
    let _refused = rights::hand_over(data, &[FOLDER]);
}

/// What a node needs to lead, read while it may still read it: keys, certificates, passwords.
#[derive(Clone, Debug)]
pub struct Ready {
    replica: trunkline_replica::Options,
    setup: Setup,
    gtpp: Option<GtppSetup>,
    directory: Option<trunkline_directory::Prepared>,
}

/// Reads what a node of several needs when it leads.
///
/// # Errors
/// A file that cannot be read, by its key.
pub fn ready(
    charge: &Charge,
    gtpp: &ChargeGtpp,
    directory: &DirectorySection,
    standby: &Standby,
    data: &Path,
) -> Result<Ready, Failure> {
    folder_of(data)?;
    let replica = super::seat::replica(standby)?;
    let gtpp = super::gtpp::of_several(charge, gtpp, data)?;
    Ok(Ready { replica, setup: setup(charge, data)?, gtpp, directory: prepared(directory)? })
}

impl Ready {
    /// How it takes part in what several nodes do.
    pub fn replica(&self) -> &trunkline_replica::Options {
        &self.replica
    }
}

/// What this node will listen to when it leads can be had now, with the rights that it has by then: else that would be
/// told when it is needed. An address that this machine does not have may move here with the lead.
///
/// # Errors
/// One that another program has, or that this user may not have, by its key.
pub fn try_doors(charge: &Charge, gtpp: &ChargeGtpp) -> Result<(), Failure> {
    let doors = charge.listen.iter().map(|door| ("charge.listen", door));
    for (key, door) in doors.chain(gtpp.listen.iter().map(|door| ("charge.gtpp.listen", door))) {
        let tried = match door {
            Door::Tcp(address) | Door::Tls(address) => TcpListener::bind(address).map(drop),
            Door::Udp(address) => UdpSocket::bind(address).map(drop),
            Door::Unix(_) => Ok(()),
        };
        match tried {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable => {
                tracing::warn!("charging: {door} is not this machine's yet: it is listened to when this node leads");
            }
            Err(error) => return Err(Failure::Failed(format!("{key}: {door}: {error}"))),
        }
    }
    Ok(())
}

/// Listens and serves with what a standby has come to; its records are sent on where `forward` says so.
///
/// # Errors
/// An address cannot be had; the system has no thread left.
pub fn lead(won: Won, ready: &Ready, forward: Option<ForwardSetup>) -> Result<Node, Failure> {
    let Ready { mut setup, gtpp, directory, .. } = ready.clone();
    // Sessions go on with another node: it is the same state (RFC 6733 section 8.16), and clients may go there.
    setup.local.state_id = won.terms.begun;
    setup.terms.session_failover = true;
    let profiles = directory.map(profiles).transpose()?;
    let opened = Opened::with_gtpp(setup, gtpp).map_err(|e| Failure::Failed(format!("charge.listen: {e}")))?;
    opened
        .forwarding(forward)
        .lead(won, Options::default(), profiles)
        .map_err(|e| Failure::Failed(format!("charging: {e}")))
}

/// What the core is limited to.
pub fn limits(charge: &Charge) -> Limits {
    let kept_s = u32::try_from(charge.keep_answers.as_secs()).unwrap_or(u32::MAX);
    Limits { sessions: charge.sessions as usize, kept_s, ..Limits::default() }
}

fn prepared(section: &DirectorySection) -> Result<Option<trunkline_directory::Prepared>, Failure> {
    if section.servers.is_empty() {
        return Ok(None);
    }
    let failed = |why: String| Failure::Failed(format!("directory: {why}"));
    let options = section.options().map_err(|mistakes| failed(mistakes.join("; ")))?;
    trunkline_directory::prepare(options).map(Some).map_err(|error| failed(error.to_string()))
}

fn profiles(prepared: trunkline_directory::Prepared) -> Result<Profiles, Failure> {
    let memory = Remembered::new(prepared.memory_octets() as u64);
    Profiles::start(prepared, Box::new(memory)).map_err(|error| Failure::Failed(format!("directory: {error}")))
}

/// Reads the ledger, and begins to serve.
///
/// # Errors
/// The ledger is damaged ([`Failure::Damaged`]) or another's; the system has no thread left.
pub fn start(prepared: Prepared, charge: &Charge, cdr: &Cdr, data: &Path) -> Result<Node, Failure> {
    let Prepared { opened, directory } = prepared;
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(format!("charging: {error}"));
    let terms = ledger(data).join(TERMS);
    if terms.exists() {
        let why = "this ledger is one of several nodes, and alone it would charge what another one charges, too; \
            serve it with --standby or [charge.standby], or remove this file if it is to go on alone for good";
        return Err(Failure::Failed(format!("{}: {why}", terms.display())));
    }
    let disk = Folder::open(&ledger(data)).map_err(|e| Failure::Failed(format!("{}: {e}", ledger(data).display())))?;
    // What it decides alone from here on is no stream's.
    forget_asked(&ledger(data)).map_err(|e| failed(&e))?;
    let options = Options::default();
    let opened_ledger = ledger::open_known(Arc::new(disk), options, limits(charge), &damage::witnesses(data));
    let (core, log) = opened_ledger.map_err(|fault| damage::failure(data, &fault))?;
    tell_found("charging: the ledger", log.found());
    let profiles = directory.map(profiles).transpose()?;
    let records = records::setup(charge, cdr, data)?;
    let opened = opened.forwarding(records::forwarding(cdr, data));
    opened.start_with(core, log, options, profiles, records).map_err(|e| failed(&e))
}

fn setup(charge: &Charge, data: &Path) -> Result<Setup, Failure> {
    let local = Local {
        host: charge.host.clone(),
        realm: charge.realm.clone(),
        realms: charge.realms.clone(),
        addresses: addresses(charge),
        state_id: SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |unix| unix.as_secs() as u32),
        peers: peers(charge),
        watchdog: charge.watchdog,
    };
    let terms = Terms {
        host: charge.host.clone(),
        realm: charge.realm.clone(),
        session_failover: false,
        failure_handling: match charge.failure_handling {
            FailureHandling::Terminate => OnFailure::Terminate,
            FailureHandling::Continue => OnFailure::Continue,
            FailureHandling::RetryAndTerminate => OnFailure::RetryAndTerminate,
        },
    };
    let mut options = trunkline_net::Options::default();
    if charge.threads > 0 {
        options.threads = usize::from(charge.threads);
    }
    if !charge.allow.is_empty() {
        options.tcp_networks = Networks::only(charge.allow.iter().map(|network| network.0).collect());
    }
    options.limits.connections = charge.connections as usize;
    // Whoever opens connections and keeps them leaves room for others.
    options.limits.connections_per_address = Some((charge.connections as usize / 2).max(1));
    let (peering, trust) = (peering(charge)?, trust(charge));
    Ok(Setup { local, terms, listens: listens(charge, data)?, options, peering, trust })
}

fn trust(charge: &Charge) -> Trust {
    let failover = charge.failover.iter().map(|together| together.0.clone()).collect();
    Trust { failover, agents: charge.agents.clone(), refunds: charge.refund_peers.clone() }
}

/// Who may connect: those whom we connect to may, too.
fn peers(charge: &Charge) -> Vec<String> {
    let called = charge.connect.iter().filter(|_| !charge.peers.is_empty()).map(|peer| &peer.host);
    charge.peers.iter().chain(called).cloned().collect()
}

fn peering(charge: &Charge) -> Result<Peering, Failure> {
    let neighbours = charge.connect.iter().map(|peer| Neighbour {
        host: peer.host.clone(),
        places: peer.places.iter().map(|(address, tls)| Place { address: *address, tls: *tls }).collect(),
    });
    let own = charge.certificate.as_deref().zip(charge.key.as_deref());
    let tls = charge.issuers.as_deref().map(|issuers| files::called(issuers, own));
    let tls = tls.transpose().map_err(|why| Failure::Failed(format!("charge.issuers: {why}")))?;
    Ok(Peering { neighbours: neighbours.collect(), again: charge.reconnect, tls, certified: charge.client_names })
}

fn listens(charge: &Charge, data: &Path) -> Result<Vec<Listen>, Failure> {
    let tls = encryption(charge)?;
    let mut listens = Vec::new();
    for door in &charge.listen {
        listens.push(match door {
            Door::Tcp(address) => Listen::Tcp { address: *address, tls: None },
            Door::Tls(address) if tls.is_some() => Listen::Tcp { address: *address, tls: tls.clone() },
            door => return Err(Failure::Failed(format!("charge.listen: Diameter does not listen at {door}"))),
        });
    }
    listens.push(Listen::Unix { path: socket(data), mode: CONTROL_MODE });
    Ok(listens)
}

fn encryption(charge: &Charge) -> Result<Option<Tls>, Failure> {
    let (Some(certificate), Some(key)) = (charge.certificate.clone(), charge.key.clone()) else { return Ok(None) };
    let clients = charge.client_issuers.clone().map_or(Clients::None, Clients::Require);
    let tls = Encryption { certificate, key, clients, oldest: OldestTls::V12 }.load();
    tls.map(Some).map_err(|why| Failure::Failed(format!("charge.certificate: {why}")))
}

/// What clients are told; the address of all interfaces is none of ours.
pub fn addresses(charge: &Charge) -> Vec<IpAddr> {
    let listened = charge.listen.iter().filter_map(address).map(|address| address.ip());
    let told: Vec<IpAddr> = match charge.addresses.is_empty() {
        true => listened.collect(),
        false => charge.addresses.iter().map(|ip| ip.0).collect(),
    };
    let named: Vec<IpAddr> = told.into_iter().filter(|ip| !ip.is_unspecified()).collect();
    if named.is_empty() { vec![IpAddr::V4(Ipv4Addr::LOCALHOST)] } else { named }
}

fn address(door: &Door) -> Option<SocketAddr> {
    match door {
        Door::Tcp(address) | Door::Tls(address) => Some(*address),
        Door::Udp(_) | Door::Unix(_) => None,
    }
}

/// Where it listens, a line each.
pub fn told(charge: &Charge, gtpp: &ChargeGtpp, node: &Node) -> Vec<String> {
    let kind = |door: &Door| match door {
        Door::Tls(_) => "TLS",
        Door::Udp(_) => "UDP",
        _ => "TCP",
    };
    let diameter = charge.listen.iter().map(|door| ("Diameter", door));
    let gtpp = gtpp.listen.iter().map(|door| ("GTP'", door));
    // The socket of those who operate it stands between, and has none.
    let addresses = node.addresses().iter().flatten();
    let doors = diameter.chain(gtpp).zip(addresses);
    doors.map(|((what, door), address)| format!("{what} over {} at {address}", kind(door))).collect()
}

/// Whether whoever reaches it may charge: a warning for that.
pub fn open_to_all(charge: &Charge) -> bool {
    let reached = charge.listen.iter().filter_map(address).any(|address| !address.ip().is_loopback());
    reached && charge.allow.is_empty() && charge.peers.is_empty() && charge.client_issuers.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::config::Together;
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::os::unix::net::UnixStream;

    fn at(listen: Vec<Door>) -> Charge {
        Charge { listen, host: "ocs.example".to_owned(), realm: "example".to_owned(), threads: 1, ..Charge::default() }
    }

    /// Without GTP' and a directory.
    fn open_one(charge: &Charge, data: &Path) -> Result<Option<Prepared>, Failure> {
        open(charge, &ChargeGtpp::default(), &DirectorySection::default(), data)
    }

    #[test]
    fn who_may_do_what_to_sessions_is_as_said_and_one_address_leaves_room() {
        let folder = tempfile::tempdir().unwrap();
        let nobody = setup(&at(Vec::new()), folder.path()).unwrap();
        assert_eq!((nobody.trust, nobody.options.limits.connections_per_address), (Trust::default(), Some(5000)));
        let failover = vec![Together(vec!["a".to_owned(), "b".to_owned()])];
        let named = Charge {
            failover,
            agents: vec!["dra".to_owned()],
            refund_peers: vec!["shop".to_owned()],
            connections: 1,
            ..at(Vec::new())
        };
        let named = setup(&named, folder.path()).unwrap();
        assert!(named.trust.same("a", "b") && named.trust.refunds("shop") && named.trust.agents == ["dra"]);
        assert_eq!(named.options.limits.connections_per_address, Some(1));
    }

    #[test]
    fn without_an_address_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(open_one(&Charge::default(), folder.path()).unwrap().is_none());
        assert!(!super::folder(folder.path()).exists());
    }

    #[test]
    fn it_serves_where_it_is_said_and_is_operated_over_its_socket() {
        let folder = tempfile::tempdir().unwrap();
        let section = at(vec![Door::Tcp("127.0.0.1:0".parse().unwrap())]);
        let opened = open_one(&section, folder.path()).unwrap().unwrap();
        // Once it asked to begin a stream: that is over when it serves alone.
        let asked = ledger(folder.path()).join("terms.asked.json");
        std::fs::create_dir_all(ledger(folder.path())).unwrap();
        std::fs::write(&asked, "{}").unwrap();
        let mut node = start(opened, &section, &Cdr::default(), folder.path()).unwrap();
        assert!(!asked.exists());
        let told = told(&section, &ChargeGtpp::default(), &node);
        assert!(told[0].starts_with("Diameter over TCP at 127.0.0.1:") && told.len() == 1, "{told:?}");
        let mut stream = UnixStream::connect(socket(folder.path())).unwrap();
        stream.write_all(b"{\"do\":\"status\"}\n").unwrap();
        let mut reply = String::new();
        BufReader::new(stream).read_line(&mut reply).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&reply).unwrap()["accounts"], 0);
        // The folder is this node's.
        let door = vec![Door::Tcp("127.0.0.1:0".parse().unwrap())];
        let other = open_one(&at(door), &folder.path().join("other")).unwrap();
        let Err(Failure::Failed(why)) = start(other.unwrap(), &section, &Cdr::default(), folder.path()) else {
            panic!("two nodes")
        };
        assert!(why.contains(&format!("process {} holds the file `lock` in it", std::process::id())), "{why}");
        node.stop().unwrap();
    }

    #[test]
    fn a_standby_tells_at_once_which_address_it_will_not_have() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let tried = |door: &str| try_doors(&at(vec![Door::Tcp(door.parse().unwrap())]), &ChargeGtpp::default());
        let Err(Failure::Failed(why)) = tried(&taken.local_addr().unwrap().to_string()) else { panic!("two servers") };
        assert!(why.starts_with("charge.listen: 127.0.0.1:"), "{why}");
        // One that may come with the lead, as of documentation (RFC 5737).
        assert!(tried("192.0.2.1:3868").is_ok() && tried("127.0.0.1:0").is_ok());
        let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
        let gtpp = ChargeGtpp { listen: vec![Door::Udp(taken.local_addr().unwrap())], ..ChargeGtpp::default() };
        let Err(Failure::Failed(why)) = try_doors(&at(Vec::new()), &gtpp) else { panic!("two gateways") };
        assert!(why.starts_with("charge.gtpp.listen: udp:127.0.0.1:"), "{why}");
    }

    #[test]
    fn its_socket_belongs_to_whom_the_data_folder_belongs() {
        use std::os::unix::fs::{MetadataExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let root = rustix::process::geteuid().is_root();
        if root {
            chown(folder.path(), Some(65_534), Some(65_534)).unwrap();
        }
        let section = at(vec![Door::Tcp("127.0.0.1:0".parse().unwrap())]);
        let opened = open_one(&section, folder.path()).unwrap().unwrap();
        let owner = std::fs::metadata(socket(folder.path())).unwrap().uid();
        assert_eq!(owner, std::fs::metadata(folder.path()).unwrap().uid());
        assert_eq!(owner == 65_534, root);
        drop(opened);
    }

    #[test]
    fn what_cannot_be_had_is_told_by_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let told = |section: &Charge| match open_one(section, folder.path()) {
            Err(Failure::Failed(why)) => why,
            other => panic!("{other:?}"),
        };
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = at(vec![Door::Tcp(taken.local_addr().unwrap())]);
        assert!(told(&taken).starts_with("charge.listen: "), "{}", told(&taken));
        let nowhere = Some("/nowhere/at/all".into());
        let unread = Charge {
            certificate: nowhere.clone(),
            key: nowhere,
            ..at(vec![Door::Tls("127.0.0.1:0".parse().unwrap())])
        };
        assert!(told(&unread).starts_with("charge.certificate: /nowhere/at/all"), "{}", told(&unread));
        assert!(told(&at(vec![Door::Udp("127.0.0.1:1".parse().unwrap())])).contains("does not listen at udp:"));
    }

    #[test]
    fn clients_are_told_addresses_that_they_can_reach() {
        let doors = |texts: &[&str]| texts.iter().map(|text| Door::Tcp(text.parse().unwrap())).collect();
        let local: IpAddr = "127.0.0.1".parse().unwrap();
        assert_eq!(addresses(&at(doors(&["0.0.0.0:3868"]))), [local]);
        assert_eq!(addresses(&at(doors(&["192.0.2.1:3868", "[::]:3868"]))), ["192.0.2.1".parse::<IpAddr>().unwrap()]);
        assert!(open_to_all(&at(doors(&["192.0.2.1:3868"]))) && !open_to_all(&at(doors(&["127.0.0.1:3868"]))));
    }
}
