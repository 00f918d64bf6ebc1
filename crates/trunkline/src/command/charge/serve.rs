//! `trunkline charge serve`: a charging node by itself.

use super::cdr::Cdrs;
use super::place::Place;
use crate::charge::here::Running;
use crate::charge::rows::To;
use crate::charge::seat::{Seat, Setup};
use crate::charge::{configured, records};
use crate::failure::Failure;
use crate::rights;
use crate::run::config::{
    Called, Charge, ChargeGtpp, DirectorySection, Door, FailureHandling, Given, Ip, Listen, Log, Nats, Network,
    Standby, Together, calls, load,
};
use crate::run::log;
use crate::run::metrics::{self, Page};
use crate::run::status::process;
use crate::stop::Stop;
use clap::builder::RangedU64ValueParser;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use trunkline_charge::account::SLOTS_MAX;
use trunkline_charge::job::Node;
use trunkline_charge::peer::WATCHDOG_LEAST_S;
use trunkline_job::Job;
use trunkline_kit::config::{Octets, Raw, Value};
use trunkline_kit::exit::Exit;

/// How often it looks whether it was told to end.
const LOOK: Duration = Duration::from_millis(100);

/// Serve online charging by Diameter Gy, with a ledger on disk
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline charge serve --host ocs.example.org --realm example.org\n  \
    trunkline charge serve --host ocs.example.org --realm example.org --listen 10.0.0.5:3868 --allow 10.0.0.0/8\n\n\
    Plans, accounts and subscribers are brought while it serves: `trunkline help charge`. SIGTERM ends it after what\n\
    came was answered. See docs/manual/charging.md.")]
pub struct Serve {
    #[command(flatten)]
    place: Place,
    /// Our Origin-Host
    #[arg(long, value_name = "NAME")]
    host: String,
    /// Our Origin-Realm
    #[arg(long, value_name = "NAME")]
    realm: String,
    /// Additional realm; repeat the option for more
    #[arg(long, value_name = "NAME")]
    serves: Vec<String>,
    /// Listen address for Diameter over TCP; repeat the option for more
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:3868")]
    listen: Vec<SocketAddr>,
    /// Listen address for Diameter over TLS (5868); repeat the option for more
    #[arg(long, value_name = "ADDRESS:PORT", requires = "certificate")]
    listen_tls: Vec<SocketAddr>,
    /// Certificate with its chain, PEM
    #[arg(long, value_name = "FILE", requires = "key", value_hint = clap::ValueHint::FilePath)]
    certificate: Option<PathBuf>,
    /// Key of the certificate, PEM
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    key: Option<PathBuf>,
    /// CA certificates for client certificates, PEM [default: clients need no certificate]
    #[arg(long, value_name = "FILE", requires = "certificate", value_hint = clap::ValueHint::FilePath)]
    client_issuers: Option<PathBuf>,
    /// Addresses announced to clients (Host-IP-Address) [default: the listen addresses]
    #[arg(long, value_name = "ADDRESS")]
    address: Vec<IpAddr>,
    /// Origin-Host of a client that may connect; repeat the option for more [default: all]
    #[arg(long, value_name = "NAME")]
    peer: Vec<String>,
    /// An agent (relay, proxy, DRA) that brings requests of other Origin-Hosts; the option again for more [default:
    /// each peer that says it is one]
    #[arg(long, value_name = "NAME")]
    agent: Vec<String>,
    /// Clients that go on with each other's sessions: their Origin-Hosts in one argument, with spaces between them; the
    /// option again for more sets
    #[arg(long, value_name = "NAMES", value_parser = together)]
    failover: Vec<Together>,
    /// A client that may give back what it debited (REFUND_ACCOUNT), by its Origin-Host; the option again for more
    /// [default: none]
    #[arg(long, value_name = "NAME")]
    refund_peer: Vec<String>,
    /// A peer that is connected to, relays among them: its Origin-Host and its addresses, the best first, such as
    /// "dra.example.org 10.0.0.1:3868 tls:10.0.1.1:5868"; the option again for more
    #[arg(long, value_name = "PEER", value_parser = called)]
    connect: Vec<Called>,
    /// Seconds until a reconnect to a peer that is down (Tc)
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = range(1, 3600))]
    reconnect: u64,
    /// CA certificates for outgoing TLS connections, PEM
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    issuers: Option<PathBuf>,
    /// Do not check that a client's certificate is for its Origin-Host
    #[arg(long, requires = "client_issuers")]
    any_client_name: bool,
    /// Networks that may connect (10.0.0.0/8), separated by commas [default: all]
    #[arg(long, value_name = "NET", value_delimiter = ',')]
    allow: Vec<ipnet::IpNet>,
    /// Seconds of silence before a watchdog request to a client (Tw)
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = range(WATCHDOG_LEAST_S, 3600))]
    watchdog: u64,
    /// Failure handling of clients when no server answers (CCFH): terminate, continue, or retry-and-terminate
    #[arg(long, value_name = "WORD", default_value = "terminate", value_parser = failure_handling)]
    failure_handling: FailureHandling,
    /// Maximum number of sessions, including ended ones with stored answers
    #[arg(long, value_name = "NUM", default_value_t = 4_000_000, value_parser = range(1, SLOTS_MAX.into()))]
    sessions: u64,
    /// Seconds to keep answers after the end of a session
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = range(30, 86_400))]
    keep_answers: u64,
    /// Threads [default: one per CPU]
    #[arg(long, value_name = "NUM", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Maximum number of connections
    #[arg(long, value_name = "NUM", default_value_t = 10_000, value_parser = range(1, 1_000_000))]
    connections: u64,
    /// Configuration file with [directory], for the lookup of subscribers by LDAP [default: ledger only]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    directory: Option<PathBuf>,
    /// Metrics for Prometheus: ADDRESS:PORT or unix:PATH
    #[arg(long, value_name = "WHERE", value_parser = crate::command::cache::where_metrics)]
    metrics: Option<Listen>,
    /// A server of NATS (nats://HOST:PORT): the ledger goes to a stream of JetStream, and other nodes stand by; the
    /// option again for more of its cluster
    #[arg(long, value_name = "URL", requires = "node", value_parser = nats)]
    standby: Vec<Nats>,
    /// Name of this node in its standby group
    #[arg(long, value_name = "NAME", requires = "standby", default_value = "")]
    node: String,
    /// Name of the stream
    #[arg(long, value_name = "NAME", default_value = "charge", requires = "standby")]
    stream: String,
    /// Number of NATS servers that must store an entry before it is committed
    #[arg(long, value_name = "NUM", default_value_t = 3, requires = "standby",
        value_parser = clap::value_parser!(u16).range(1..=5))]
    replicas: u16,
    /// Seconds without a sign of the leader before another node takes over
    #[arg(long, value_name = "SECONDS", default_value_t = 5, requires = "standby", value_parser = range(1, 300))]
    takeover: u64,
    /// Size of the stream in MiB
    #[arg(long, value_name = "MIB", default_value_t = 4096, requires = "standby", value_parser = range(4, 4 << 20))]
    stream_size: u64,
    /// User name at the NATS servers
    #[arg(long, value_name = "NAME", requires = "standby")]
    nats_user: Option<String>,
    /// File with the password in its first line
    #[arg(long, value_name = "FILE", requires = "standby", value_hint = clap::ValueHint::FilePath)]
    nats_password_file: Option<PathBuf>,
    /// CA certificates for the NATS servers, PEM [default: the system's]
    #[arg(long, value_name = "FILE", requires = "standby", value_hint = clap::ValueHint::FilePath)]
    nats_ca_file: Option<PathBuf>,
    #[command(flatten)]
    cdr: Cdrs,
    /// Listen address for GTP' (3386), ADDRESS:PORT for UDP, tcp:ADDRESS:PORT; repeat the option for more
    #[arg(long, value_name = "WHERE", value_parser = gtpp_door)]
    gtpp: Vec<Door>,
    /// Networks that may use GTP', separated by commas [default: all]
    #[arg(long, value_name = "NET", value_delimiter = ',', requires = "gtpp")]
    gtpp_allow: Vec<ipnet::IpNet>,
    /// Numbers of messages and elements of quota servers, and names of services (docs/manual/gtpp.md)
    #[arg(long, value_name = "FILE", requires = "gtpp", value_hint = clap::ValueHint::FilePath)]
    gtpp_profile: Option<PathBuf>,
    /// Seconds to remember a GTP' quota request, to detect duplicates
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = range(1, 60))]
    gtpp_copies: u64,
    /// Gateway announced to GTP' senders when this node stops [default: none]
    #[arg(long, value_name = "ADDRESS", requires = "gtpp")]
    gtpp_redirect_to: Option<IpAddr>,
    /// User to switch to after opening the sockets
    #[arg(long, value_name = "USER")]
    user: Option<String>,
}

fn range(least: u64, most: u64) -> RangedU64ValueParser<u64> {
    RangedU64ValueParser::new().range(least..=most)
}

/// `127.0.0.1:3386`, `udp:127.0.0.1:3386`, `tcp:127.0.0.1:3386`.
fn gtpp_door(text: &str) -> Result<Door, String> {
    let (kind, address) = match text.split_once(':').filter(|(kind, _)| matches!(*kind, "udp" | "tcp")) {
        Some((kind, address)) => (kind, address),
        None => ("udp", text),
    };
    let address = address.parse::<SocketAddr>().map_err(|e| e.to_string())?;
    Ok(if kind == "tcp" { Door::Tcp(address) } else { Door::Udp(address) })
}

fn failure_handling(word: &str) -> Result<FailureHandling, String> {
    FailureHandling::of(&Raw::Text(word.to_owned()))
}

fn called(text: &str) -> Result<Called, String> {
    Called::of(&Raw::Text(text.to_owned()))
}

fn together(text: &str) -> Result<Together, String> {
    Together::of(&Raw::Text(text.to_owned()))
}

fn nats(text: &str) -> Result<Nats, String> {
    Nats::of(&Raw::Text(text.to_owned()))
}

impl Serve {
    /// Serves until it is told to stop.
    ///
    /// # Errors
    /// What could not be opened, with what to do about it; what ended it.
    pub fn run(&self) -> Result<Exit, Failure> {
        log::start(&Log::default()).map_err(Failure::Failed)?;
        let (stop, section) = (Stop::on_signals(), self.section());
        let page = self.metrics.as_ref().map(metrics::bind).transpose();
        let page = page.map_err(|e| Failure::Failed(format!("metrics cannot be served: {e}")))?;
        let running = Arc::new(if self.standby.is_empty() { self.alone(&section)? } else { self.of_several(section)? });
        let data = self.place.data();
        running.bring_rows(&self.cdr.section(), data, To::Store(data.join("store")))?;
        let shown = Arc::clone(&running);
        let told =
            move || Page { samples: [shown.samples(), process::samples()].concat(), unhealthy: shown.unhealthy() };
        let page = page.map(|bound| bound.serve(told)).transpose();
        let page = page.map_err(|e| Failure::Failed(format!("metrics cannot be served: {e}")))?;
        let mut failure = None;
        while !stop.is_asked() && failure.is_none() {
            std::thread::park_timeout(LOOK);
            failure = running.failure();
        }
        drop(page);
        let stopped = running.end();
        match failure {
            Some(why) if self.standby.is_empty() => {
                Err(Failure::Failed(format!("the ledger cannot be written: {why}")))
            }
            Some(why) => Err(Failure::Failed(why)),
            None => stopped.map(|()| Exit::Done).map_err(|e| Failure::Failed(e.to_string())),
        }
    }

    /// A node by itself, which serves.
    fn alone(&self, section: &Charge) -> Result<Running, Failure> {
        let (data, cdr, gtpp) = (self.place.data(), self.cdr.section(), self.gtpp());
        self.check(section)?;
        let Some(opened) = configured::open(section, &gtpp, &self.directory()?, data)? else {
            return Err(Failure::Usage("no listen address".to_owned()));
        };
        self.give_up(data)?;
        // Serving is what was asked for, and it is not done: no part of it was.
        let node = configured::start(opened, section, &cdr, data).map_err(|failure| match failure {
            Failure::Damaged(why) => Failure::Failed(why),
            other => other,
        })?;
        announce(data, section, &gtpp, &node);
        Ok(Running::new(node))
    }

    /// A node that follows until it leads.
    fn of_several(&self, charge: Charge) -> Result<Running, Failure> {
        self.check(&charge)?;
        let data = self.place.data().to_path_buf();
        let standby = Standby {
            servers: self.standby.clone(),
            node: self.node.clone(),
            stream: self.stream.clone(),
            replicas: self.replicas,
            after: Duration::from_secs(self.takeover),
            size: Octets::mib(self.stream_size),
            user: self.nats_user.clone(),
            password_file: self.nats_password_file.clone(),
            ca_file: self.nats_ca_file.clone(),
        };
        let ready = configured::ready(&charge, &self.gtpp(), &self.directory()?, &standby, &data)?;
        self.give_up(&data)?;
        configured::try_doors(&charge, &self.gtpp())?;
        let tells: fn(&Setup, Option<&Node>) = |setup, node| match node {
            Some(node) => announce(&setup.data, &setup.charge, &setup.gtpp, node),
            None => eprintln!(
                "trunkline charge: {} is on standby, stream \
                {}",
                setup.standby.node, setup.standby.stream
            ),
        };
        Seat::start(Setup { charge, gtpp: self.gtpp(), cdr: self.cdr.section(), standby, ready, data, tells })
            .map(Running::of)
    }

    /// Becomes the user that is named, once all is open.
    fn give_up(&self, data: &Path) -> Result<(), Failure> {
        let control = configured::socket(data);
        let sockets = self.metrics.as_ref().and_then(Listen::path).map(Path::to_path_buf).into_iter();
        let sockets: Vec<PathBuf> = sockets.chain(control.exists().then_some(control)).collect();
        rights::give_up(self.user.as_deref(), &sockets)?;
        rights::close_beside(data);
        Ok(())
    }

    /// The configuration's own checks hold here, too.
    fn check(&self, section: &Charge) -> Result<(), Failure> {
        if let Some(why) = calls(section).first() {
            return Err(Failure::Usage(format!("--connect: {why}")));
        }
        match self.cdr.section().wrong_sending(!self.standby.is_empty()).first() {
            Some((key, why)) => Err(Failure::Usage(format!("--cdr-{key}: {why}"))),
            None => Ok(()),
        }
    }

    /// The directory that a configuration names.
    fn directory(&self) -> Result<DirectorySection, Failure> {
        let Some(file) = &self.directory else { return Ok(DirectorySection::default()) };
        let section = load(&Given { file: Some(file.clone()), options: Vec::new() })?.settings.directory;
        if section.servers.is_empty() {
            return Err(Failure::Usage(format!("{}: [directory] names no servers", file.display())));
        }
        Ok(section)
    }

    /// What the options say, as the configuration says it.
    fn section(&self) -> Charge {
        let tcp = self.listen.iter().copied().map(Door::Tcp);
        Charge {
            listen: tcp.chain(self.listen_tls.iter().copied().map(Door::Tls)).collect(),
            host: self.host.clone(),
            realm: self.realm.clone(),
            realms: self.serves.clone(),
            addresses: self.address.iter().copied().map(Ip).collect(),
            peers: self.peer.clone(),
            agents: self.agent.clone(),
            failover: self.failover.clone(),
            refund_peers: self.refund_peer.clone(),
            connect: self.connect.clone(),
            reconnect: Duration::from_secs(self.reconnect),
            issuers: self.issuers.clone(),
            client_names: !self.any_client_name,
            allow: self.allow.iter().copied().map(Network).collect(),
            certificate: self.certificate.clone(),
            key: self.key.clone(),
            client_issuers: self.client_issuers.clone(),
            watchdog: Duration::from_secs(self.watchdog),
            failure_handling: self.failure_handling,
            sessions: u32::try_from(self.sessions).unwrap_or(u32::MAX),
            keep_answers: Duration::from_secs(self.keep_answers),
            threads: self.threads.unwrap_or(0),
            connections: u32::try_from(self.connections).unwrap_or(u32::MAX),
        }
    }

    /// What the options say of GTP'.
    fn gtpp(&self) -> ChargeGtpp {
        ChargeGtpp {
            listen: self.gtpp.clone(),
            allow: self.gtpp_allow.iter().copied().map(Network).collect(),
            profile: self.gtpp_profile.clone(),
            copies: Duration::from_secs(self.gtpp_copies),
            redirect_to: self.gtpp_redirect_to.map(Ip),
        }
    }
}

fn announce(data: &Path, section: &Charge, gtpp: &ChargeGtpp, node: &Node) {
    let (accounts, sessions) = node.look(|core| (core.state().account_count(), core.state().open_sessions()));
    let ledger = configured::ledger(data);
    eprintln!("trunkline charge: {accounts} accounts, {sessions} open sessions in {}", ledger.display());
    for line in configured::told(section, gtpp, node) {
        eprintln!("trunkline charge: {line}");
    }
    if node.records().is_some() {
        eprintln!("trunkline charge: records in {}", records::files(data).display());
    }
    eprintln!("trunkline charge: operated over {}", configured::socket(data).display());
    if configured::open_to_all(section) {
        eprintln!("trunkline charge: charging accepts any client; restrict it with --allow NET or --peer NAME");
    }
    if crate::charge::gtpp::open_to_all(gtpp) {
        eprintln!("trunkline charge: GTP' is accepted from any address; restrict it with --gtpp-allow NET");
    }
}
