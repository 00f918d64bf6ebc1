//! `trunkline charge serve`: a charging node by itself.

use super::place::Place;
use crate::cache::files::{Clients, Encryption};
use crate::failure::Failure;
use crate::run::config::Listen as Where;
use crate::run::metrics::{self, Page};
use crate::run::status::process;
use crate::stop::Stop;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use trunkline_capture::live::privileges;
use trunkline_charge::gy::Terms;
use trunkline_charge::ledger;
use trunkline_charge::node::{Node, Opened, Setup};
use trunkline_charge::peer::{Local, WATCHDOG_LEAST_S};
use trunkline_charge::session::Limits;
use trunkline_commit::{Folder, Options};
use trunkline_kit::exit::Exit;
use trunkline_kit::metrics::Sample;
use trunkline_net::{Listen, Networks, OldestTls};
use trunkline_wire::diameter::enumerated::FailureHandling;

/// How often it looks whether it was told to end.
const LOOK: Duration = Duration::from_millis(100);
/// Permissions of the socket for those who operate the node.
const CONTROL_MODE: u32 = 0o600;

/// Serve online charging by Diameter Gy, with a ledger on disk
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline charge serve --host ocs.example.org --realm example.org\n  \
    trunkline charge serve --host ocs.example.org --realm example.org --listen 10.0.0.5:3868 --allow 10.0.0.0/8\n\n\
    Plans, accounts and subscribers are brought while it serves: `trunkline help charge`. SIGTERM ends it after what\n\
    came was answered. docs/manual/charging.md has the whole of it.")]
pub struct Serve {
    #[command(flatten)]
    place: Place,
    /// Our name to clients (Origin-Host)
    #[arg(long, value_name = "NAME")]
    host: String,
    /// Our realm (Origin-Realm)
    #[arg(long, value_name = "NAME")]
    realm: String,
    /// A realm that is served besides it; the option again for more
    #[arg(long, value_name = "NAME")]
    serves: Vec<String>,
    /// Where to listen for Diameter over TCP; the option again for more
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:3868")]
    listen: Vec<SocketAddr>,
    /// Where to listen for Diameter over TLS (5868); the option again for more
    #[arg(long, value_name = "ADDRESS:PORT", requires = "certificate")]
    listen_tls: Vec<SocketAddr>,
    /// The certificate with its chain, PEM
    #[arg(long, value_name = "FILE", requires = "key", value_hint = clap::ValueHint::FilePath)]
    certificate: Option<PathBuf>,
    /// Its key, PEM
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    key: Option<PathBuf>,
    /// Certificates of those whose signature a client's certificate has to have, PEM [default: clients show none]
    #[arg(long, value_name = "FILE", requires = "certificate", value_hint = clap::ValueHint::FilePath)]
    client_issuers: Option<PathBuf>,
    /// Addresses that clients are told (Host-IP-Address) [default: those listened on]
    #[arg(long, value_name = "ADDRESS")]
    address: Vec<IpAddr>,
    /// A client that may connect, by its Origin-Host; the option again for more [default: all]
    #[arg(long, value_name = "NAME")]
    peer: Vec<String>,
    /// Networks that may connect (10.0.0.0/8); several with commas [default: all]
    #[arg(long, value_name = "NET", value_delimiter = ',')]
    allow: Vec<ipnet::IpNet>,
    /// Seconds without a word after which a client is asked whether it is there (Tw)
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(WATCHDOG_LEAST_S..=3600))]
    watchdog: u64,
    /// What clients do when no server answers (CCFH): terminate, continue, or retry-and-terminate
    #[arg(long, value_name = "WORD", default_value = "terminate", value_parser = failure_handling)]
    failure_handling: FailureHandling,
    /// Sessions at a time, those among them whose answers are kept after their end
    #[arg(long, value_name = "NUM", default_value_t = Limits::default().sessions)]
    sessions: usize,
    /// Seconds for which answers are kept after a session
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().kept_s)]
    keep_answers: u32,
    /// Threads [default: one for each processor]
    #[arg(long, value_name = "NUM")]
    threads: Option<usize>,
    /// Connections at a time
    #[arg(long, value_name = "NUM", default_value_t = 10_000)]
    connections: usize,
    /// Metrics for Prometheus: ADDRESS:PORT or unix:PATH
    #[arg(long, value_name = "WHERE", value_parser = crate::command::cache::where_metrics)]
    metrics: Option<Where>,
    /// User to become, once what it listens to is open
    #[arg(long, value_name = "USER")]
    user: Option<String>,
}

fn failure_handling(word: &str) -> Result<FailureHandling, String> {
    match word {
        "terminate" => Ok(FailureHandling::Terminate),
        "continue" => Ok(FailureHandling::Continue),
        "retry-and-terminate" => Ok(FailureHandling::RetryAndTerminate),
        _ => Err("terminate, continue or retry-and-terminate".to_owned()),
    }
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Failed(error.to_string())
}

impl Serve {
    /// Serves until it is told to stop.
    ///
    /// # Errors
    /// What could not be opened, with what to do about it; what ended it.
    pub fn run(&self) -> Result<Exit, Failure> {
        // A limit on the size of files (ulimit -f) is an error of writing, and not the end of the program.
        let _ = signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), Arc::default());
        let stop = Stop::on_signals();
        let page = self.metrics.as_ref().map(metrics::bind).transpose();
        let page = page.map_err(|e| Failure::Failed(format!("metrics cannot be served: {e}")))?;
        std::fs::create_dir_all(self.place.folder()).map_err(|e| self.place.cannot(&e))?;
        let opened = Opened::new(self.setup()?).map_err(failed)?;
        privileges::give_up(self.user.as_deref()).map_err(failed)?;
        let node = self.start(opened)?;
        self.announce(&node);
        let node = Arc::new(Mutex::new(node));
        let shown = Arc::clone(&node);
        let page = page.map(|bound| bound.serve(move || self::page(&hold(&shown)))).transpose();
        let page = page.map_err(|e| Failure::Failed(format!("metrics cannot be served: {e}")))?;
        let mut failure = None;
        while !stop.is_asked() && failure.is_none() {
            std::thread::park_timeout(LOOK);
            failure = hold(&node).failure();
        }
        drop(page);
        let stopped = hold(&node).stop();
        match failure {
            Some(why) => Err(Failure::Failed(format!("the ledger cannot be written: {why}"))),
            None => stopped.map(|()| Exit::Done).map_err(failed),
        }
    }

    fn start(&self, opened: Opened) -> Result<Node, Failure> {
        let folder = self.place.ledger();
        let disk = Folder::open(&folder).map_err(|e| self.place.cannot(&e))?;
        let (options, defaults) = (Options::default(), Limits::default());
        let limits = Limits { sessions: self.sessions, kept_s: self.keep_answers, ..defaults };
        let (core, log) = ledger::open(Arc::new(disk), options, limits).map_err(failed)?;
        opened.start(core, log, options).map_err(failed)
    }

    fn setup(&self) -> Result<Setup, Failure> {
        let local = Local {
            host: self.host.clone(),
            realm: self.realm.clone(),
            realms: self.serves.clone(),
            addresses: self.addresses(),
            state_id: SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |unix| unix.as_secs() as u32),
            peers: self.peer.clone(),
            watchdog: Duration::from_secs(self.watchdog),
        };
        let terms = Terms {
            host: self.host.clone(),
            realm: self.realm.clone(),
            session_failover: false,
            failure_handling: self.failure_handling,
        };
        let mut options = trunkline_net::Options::default();
        if let Some(threads) = self.threads {
            options.threads = threads;
        }
        if !self.allow.is_empty() {
            options.tcp_networks = Networks::only(self.allow.clone());
        }
        options.limits.connections = self.connections;
        Ok(Setup { local, terms, listens: self.listens()?, options })
    }

    fn listens(&self) -> Result<Vec<Listen>, Failure> {
        let mut listens: Vec<Listen> =
            self.listen.iter().map(|address| Listen::Tcp { address: *address, tls: None }).collect();
        if let (Some(certificate), Some(key)) = (&self.certificate, &self.key) {
            let clients = self.client_issuers.clone().map_or(Clients::None, Clients::Require);
            let (certificate, key) = (certificate.clone(), key.clone());
            let tls = Encryption { certificate, key, clients, oldest: OldestTls::V12 }.load().map_err(failed)?;
            listens.extend(self.listen_tls.iter().map(|at| Listen::Tcp { address: *at, tls: Some(tls.clone()) }));
        }
        listens.push(Listen::Unix { path: self.place.socket(), mode: CONTROL_MODE });
        Ok(listens)
    }

    /// What clients are told; a name of all interfaces is none of ours.
    fn addresses(&self) -> Vec<IpAddr> {
        let listened = self.listen.iter().chain(&self.listen_tls).map(SocketAddr::ip);
        let told = if self.address.is_empty() { listened.collect() } else { self.address.clone() };
        let named: Vec<IpAddr> = told.into_iter().filter(|ip| !ip.is_unspecified()).collect();
        if named.is_empty() { vec![IpAddr::V4(Ipv4Addr::LOCALHOST)] } else { named }
    }

    fn announce(&self, node: &Node) {
        let (accounts, sessions) = node.look(|core| (core.state().accounts().count(), core.state().open_sessions()));
        eprintln!(
            "trunkline charge: {accounts} accounts, {sessions} open sessions in {}",
            self.place.ledger().display()
        );
        for (at, address) in node.addresses().iter().enumerate() {
            let kind = if at < self.listen.len() { "TCP" } else { "TLS" };
            address.iter().for_each(|address| eprintln!("trunkline charge: Diameter over {kind} at {address}"));
        }
        eprintln!("trunkline charge: operated over {}", self.place.socket().display());
        let open = node.addresses().iter().flatten().any(|address| !address.ip().is_loopback());
        if open && self.allow.is_empty() && self.peer.is_empty() && self.client_issuers.is_none() {
            eprintln!("trunkline charge: whoever reaches it may charge: --allow NET or --peer NAME says who may");
        }
    }
}

fn hold(node: &Mutex<Node>) -> MutexGuard<'_, Node> {
    node.lock().unwrap_or_else(PoisonError::into_inner)
}

fn page(node: &Node) -> Page {
    let (accounts, sessions, unrated) =
        node.look(|core| (core.state().accounts().count(), core.state().open_sessions(), core.state().unrated()));
    let mut samples: Vec<Sample> =
        node.counts().list().iter().map(|one| Sample::counter(one.name, one.help, one.value)).collect();
    samples.push(Sample::gauge("trunkline_charge_accounts", "accounts", accounts as f64));
    samples.push(Sample::gauge("trunkline_charge_sessions", "open sessions", sessions as f64));
    samples.push(Sample::counter(
        "trunkline_charge_unrated_total",
        "reports of usage without price or session",
        unrated,
    ));
    samples.extend(process::samples());
    Page { samples, unhealthy: node.failure().into_iter().collect() }
}
