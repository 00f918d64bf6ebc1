//! `trunkline cache route`: a proxy of memcached's protocol in front of many servers.

use crate::cache::target::Target;
use crate::failure::Failure;
use crate::run::config::Listen as Where;
use crate::run::metrics::{self, Page};
use crate::run::status::process;
use crate::stop::Stop;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use trunkline_cache::job::route::{Job, Setup, samples};
use trunkline_cache::route::config::{self, Config};
use trunkline_kit::exit::Exit;
use trunkline_net::{Full, Limits, Listen, Networks, Options, Remote};

/// How often it looks whether it was told to end.
const LOOK: Duration = Duration::from_millis(100);
/// How often it looks how servers are.
const STATUS: Duration = Duration::from_secs(1);
/// What one connection too many is told, as memcached tells it.
const TOO_MANY: &[u8] = b"ERROR Too many open connections\r\n";

/// Serve a proxy in front of many servers: pools, replicas, gutters, warm-up
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline cache route -l 127.0.0.1:11311 10.0.0.1:11211 10.0.0.2:11211   one pool, hashed as libmemcached does\n  \
    trunkline cache route -l 127.0.0.1:11311 -c route.toml                   pools, prefixes, policies\n  \
    trunkline cache route -c route.toml --check                              tells every mistake, and ends\n  \
    trunkline cache stats 127.0.0.1:11311 servers                            how its servers are\n\n\
    docs/manual/cache-route.md has the file's keys and what clients are told when servers are gone.")]
pub struct Route {
    /// Servers of a single pool: HOST:PORT or unix:PATH
    #[arg(value_name = "SERVER", conflicts_with = "config")]
    servers: Vec<String>,
    /// File with pools, prefixes and policies
    #[arg(short = 'c', long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Validate the file and exit
    #[arg(long, requires = "config")]
    check: bool,
    /// Address to listen on: HOST:PORT or unix:PATH; several with commas, or the option again
    #[arg(short = 'l', long, value_name = "ADDR", value_delimiter = ',', default_value = "127.0.0.1:11311")]
    listen: Vec<Target>,
    /// Networks that may connect (10.0.0.0/8); several with commas [default: all]
    #[arg(long, value_name = "NET", value_delimiter = ',')]
    allow: Vec<ipnet::IpNet>,
    /// Threads [default: one for each processor]
    #[arg(short = 't', long, value_name = "NUM")]
    threads: Option<usize>,
    /// Maximum number of client connections
    #[arg(long, value_name = "NUM", default_value_t = 1024)]
    conn_limit: usize,
    /// Metrics for Prometheus: ADDRESS:PORT or unix:PATH
    #[arg(long, value_name = "WHERE", value_parser = super::where_metrics)]
    metrics: Option<Where>,
}

impl Route {
    /// Serves until it is told to stop.
    ///
    /// # Errors
    /// What is wrong with the file, or what could not be opened.
    pub fn run(&self) -> Result<Exit, Failure> {
        let config = self.configuration()?;
        if self.check {
            println!("{} servers in {} pools", config.servers.len(), config.pools.len());
            return Ok(Exit::Done);
        }
        let setup = self.setup(config)?;
        let stop = Stop::on_signals();
        let page = self.metrics.as_ref().map(metrics::bind).transpose().map_err(|e| no_metrics(&e))?;
        let opened = Job::open(setup).map_err(|e| Failure::Failed(e.to_string()))?;
        let job = Arc::new(opened.start().map_err(|e| Failure::Failed(e.to_string()))?);
        self.announce(&job);
        let shown = Arc::clone(&job);
        let page = page.map(|bound| {
            bound.serve(move || Page {
                samples: [samples(&shown.figures()), process::samples()].concat(),
                unhealthy: vec![],
            })
        });
        let page = page.transpose().map_err(|e| no_metrics(&e))?;
        watch(&job, &stop);
        drop(page);
        job.stop().map_err(|e| Failure::Failed(e.to_string()))?;
        Ok(Exit::Done)
    }

    fn configuration(&self) -> Result<Config, Failure> {
        match &self.config {
            None if self.servers.is_empty() => {
                Err(Failure::Usage("name servers (HOST:PORT), or a file with pools (-c FILE)".to_owned()))
            }
            None => Config::of_servers(&self.servers).map_err(Failure::Usage),
            Some(path) => {
                let text = text_of(path)?;
                config::read(&path.display().to_string(), &text).map_err(|mistakes| {
                    let lines: Vec<String> = mistakes.iter().map(|mistake| format!("  {mistake}")).collect();
                    Failure::Usage(format!("the configuration is not valid:\n{}", lines.join("\n")))
                })
            }
        }
    }

    fn setup(&self, config: Config) -> Result<Setup, Failure> {
        let remotes = config.servers.iter().map(|server| remote(&server.place)).collect::<Result<_, _>>()?;
        let mut listens = Vec::new();
        for target in &self.listen {
            listens.extend(listen(target)?);
        }
        let options = Options::default();
        let limits =
            Limits { connections: self.conn_limit, full: Full::Refuse(TOO_MANY.to_vec()), ..options.limits.clone() };
        let tcp_networks = if self.allow.is_empty() { Networks::all() } else { Networks::only(self.allow.clone()) };
        let threads = self.threads.unwrap_or(options.threads);
        let options = Options { threads, tcp_networks, limits, ..options };
        Ok(Setup { config, remotes, listens, options, version: super::setup::PROTOCOL_VERSION.to_owned() })
    }

    fn announce(&self, job: &Job) {
        let mut unix = self.listen.iter().filter(|target| matches!(target, Target::Unix(_)));
        for address in job.addresses() {
            match address {
                Some(address) => eprintln!("trunkline cache route: TCP {address}"),
                None => {
                    eprintln!("trunkline cache route: {}", unix.next().map(ToString::to_string).unwrap_or_default())
                }
            }
        }
        let open = job.addresses().iter().flatten().any(|address| !address.ip().is_loopback());
        if open && self.allow.is_empty() {
            eprintln!(
                "trunkline cache route: the proxy accepts any client; restrict it with -l 127.0.0.1:11311 or \
                --allow NET"
            );
        }
    }
}

/// Until it is told to end; tells when a server is out, and when it is asked again.
fn watch(job: &Job, stop: &Stop) {
    let (mut out, mut looked) = (Vec::new(), Instant::now());
    while !stop.is_asked() {
        std::thread::park_timeout(LOOK);
        if looked.elapsed() < STATUS {
            continue;
        }
        looked = Instant::now();
        let servers = job.figures().servers;
        let now: Vec<bool> = servers.iter().map(|server| server.out > 0).collect();
        out.resize(now.len(), false);
        for ((server, _), is) in servers.iter().zip(&out).zip(&now).filter(|((_, was), is)| was != is) {
            let what = if *is { "is out" } else { "answers again" };
            eprintln!("trunkline cache route: {} of pool {} {what}", server.name, server.pool);
        }
        out = now;
    }
}

fn no_metrics(error: &std::io::Error) -> Failure {
    Failure::Failed(format!("metrics cannot be served: {error}"))
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let wrong = |why: String| Failure::Failed(format!("{}: {why}", path.display()));
    let octets = std::fs::metadata(path).map_err(|e| wrong(e.to_string()))?.len();
    if octets > trunkline_kit::config::FILE_OCTETS_MAX as u64 {
        return Err(wrong("larger than 1 MiB".to_owned()));
    }
    std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))
}

/// Where a server is; a name is looked up once, at the start.
fn remote(place: &config::Place) -> Result<Remote, Failure> {
    match (place.port, place.host.strip_prefix("unix:")) {
        (None, Some(path)) => Ok(Remote::Unix(PathBuf::from(path))),
        (port, _) => Ok(Remote::Tcp(addresses(&place.host, port.unwrap_or_default())?[0])),
    }
}

fn listen(target: &Target) -> Result<Vec<Listen>, Failure> {
    match target {
        Target::Unix(path) => Ok(vec![Listen::Unix { path: path.clone(), mode: 0o700 }]),
        Target::Network(host, port) => {
            let all = addresses(host, *port)?;
            Ok(all.into_iter().map(|address| Listen::Tcp { address, tls: None }).collect())
        }
    }
}

/// The addresses of a name, at least one.
fn addresses(host: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
    let found = (host, port).to_socket_addrs().map_err(|e| Failure::Failed(format!("{host}: {e}")))?;
    let found: Vec<SocketAddr> = found.collect();
    if found.is_empty() { Err(Failure::Failed(format!("{host}: the name has no address"))) } else { Ok(found) }
}
