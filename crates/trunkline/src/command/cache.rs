//! `trunkline cache`: a memcached-compatible cache, with memcached's own command line.

mod addresses;
mod daemon;
mod extended;
mod image;
mod route;
mod serve;
mod setup;
mod sizes;
mod stats;
mod top;

use crate::cache::target::Target;
use crate::failure::Failure;
use crate::run::config::Listen;
use crate::terminal::Terminal;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use trunkline_kit::config::{Raw, Value};
use trunkline_kit::exit::Exit;

/// Serve a cache with memcached's protocols and memcached's options
#[derive(Debug, clap::Args)]
#[command(disable_version_flag = true, disable_help_subcommand = true)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:\n  \
    trunkline cache -m 1024 -t 2                   1 GiB, two threads, TCP port 11211 of all interfaces\n  \
    trunkline cache -l 127.0.0.1 -U 11211          TCP and UDP on loopback alone\n  \
    trunkline cache -s /run/cache.sock -a 770      a unix socket alone\n  \
    trunkline cache -m 1024 -e /var/lib/cache/image   items survive a restart\n  \
    trunkline cache -Z -o ssl_chain_cert=chain.pem,ssl_key=key.pem\n  \
    trunkline cache stats 127.0.0.1:11211          statistics of a server\n  \
    trunkline cache top 10.0.0.5 10.0.0.6          watch several servers\n  \
    trunkline cache load 127.0.0.1:11211 --fill    load test\n  \
    trunkline cache route 10.0.0.1 10.0.0.2        a proxy in front of two servers\n\n\
    A link to the program that is named `memcached` takes the same options. SIGTERM ends it after what came was\n\
    answered; SIGHUP reads the certificate again. For differences from memcached see docs/manual/cache.md.")]
pub struct Cache {
    /// What to do instead of serving.
    #[command(subcommand)]
    tool: Option<Tool>,
    /// TCP port; 0 for none, -1 for any free port
    #[arg(short = 'p', long = "port", value_name = "NUM", default_value_t = 11211, allow_negative_numbers = true)]
    port: i32,
    /// UDP port; 0 for none, -1 for any free port
    #[arg(short = 'U', long, value_name = "NUM", default_value_t = 0, allow_negative_numbers = true)]
    udp_port: i32,
    /// Address to listen on, with a port or without; several with commas, or the option again; notls: before one for
    /// no TLS there [default: all interfaces]
    #[arg(short = 'l', long, value_name = "ADDR", value_delimiter = ',')]
    listen: Vec<String>,
    /// Unix socket to listen on, instead of the network
    #[arg(short = 's', long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    unix_socket: Option<PathBuf>,
    /// Permissions of the unix socket, octal
    #[arg(short = 'a', long, value_name = "MASK", default_value = "700", value_parser = sizes::mode)]
    unix_mask: u32,
    /// Networks that may connect (10.0.0.0/8); several with commas [default: all]
    #[arg(long, value_name = "NET", value_delimiter = ',')]
    allow: Vec<ipnet::IpNet>,
    /// Networks whose datagrams are answered [default: those of --allow]
    #[arg(long, value_name = "NET", value_delimiter = ',')]
    allow_udp: Vec<ipnet::IpNet>,
    /// Maximum answer to a datagram in octets; longer answers are replaced by an error
    #[arg(long, value_name = "SIZE", default_value = "256k", value_parser = sizes::octets)]
    udp_answer_max: u64,
    /// Memory for everything, table and buffers included, in MiB or with k, m, g
    #[arg(short = 'm', long, value_name = "NUM", default_value = "64", value_parser = sizes::mebibytes)]
    memory_limit: u64,
    /// File for the items between two runs: written at the end (SIGTERM, SIGINT, SIGUSR1, shutdown), read and taken
    /// away at the start; none is there after a crash
    #[arg(short = 'e', long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    memory_file: Option<PathBuf>,
    /// Answer with an error when memory is full, instead of evicting items
    #[arg(short = 'M', long)]
    disable_evictions: bool,
    /// Maximum item size in octets, with k or m: 1k to 1024m
    #[arg(short = 'I', long, value_name = "SIZE", default_value = "1m", value_parser = sizes::item)]
    max_item_size: u64,
    /// Maximum number of connections
    #[arg(short = 'c', long, value_name = "NUM", default_value_t = 1024)]
    conn_limit: usize,
    /// Maximum number of connections of one address [default: no limit]
    #[arg(long, value_name = "NUM")]
    conn_limit_per_address: Option<usize>,
    /// Octets of values in flight from one address; more are refused, unless it is one alone [default: a quarter
    /// of -m]
    #[arg(long, value_name = "SIZE", value_parser = sizes::octets)]
    incoming_per_address: Option<u64>,
    /// Threads [default: one for each processor]
    #[arg(short = 't', long, value_name = "NUM")]
    threads: Option<usize>,
    /// Requests of one connection before other connections are served; 0 for no limit
    #[arg(short = 'R', long, value_name = "NUM", default_value_t = 20)]
    max_reqs_per_event: u32,
    /// Listen backlog: connections that wait to be accepted
    #[arg(short = 'b', long, value_name = "NUM", default_value_t = 1024)]
    listen_backlog: u32,
    /// Protocols: ascii, binary, or auto for both
    #[arg(short = 'B', long, value_name = "NAME", default_value = "auto", value_parser = sizes::PROTOCOLS)]
    protocol: String,
    /// Character between the prefix of a key and the rest, for `stats detail`, which is on then
    #[arg(short = 'D', value_name = "CHAR", value_parser = sizes::octet)]
    delimiter: Option<u8>,
    /// Enable the command `shutdown`
    #[arg(short = 'A', long)]
    enable_shutdown: bool,
    /// Disable flush_all
    #[arg(short = 'F', long)]
    disable_flush_all: bool,
    /// Disable stats cachedump and lru_crawler metadump
    #[arg(short = 'X', long)]
    disable_dumping: bool,
    /// Disable watch
    #[arg(short = 'W', long)]
    disable_watch: bool,
    /// File with users of the text protocol, one per line: user:password
    #[arg(short = 'Y', long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    auth_file: Option<PathBuf>,
    /// Enable TLS; set certificate and key with -o
    #[arg(short = 'Z', long)]
    enable_ssl: bool,
    /// Further options of memcached, with commas: maxconns_fast, idle_timeout=N, ssl_chain_cert=FILE, ssl_key=FILE,
    /// ssl_ca_cert=FILE, ssl_verify_mode=N, ssl_min_version=N
    #[arg(short = 'o', long = "extended", value_name = "WORDS", value_delimiter = ',')]
    extended: Vec<String>,
    /// User to switch to after opening the sockets
    #[arg(short = 'u', long, value_name = "USER")]
    user: Option<String>,
    /// Run in the background
    #[arg(short = 'd', long)]
    daemon: bool,
    /// File for the process id
    #[arg(short = 'P', long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pidfile: Option<PathBuf>,
    /// Cache to copy items from while serving; items changed here in the meantime are kept
    #[arg(long, value_name = "HOST:PORT|unix:PATH")]
    warm_from: Option<Target>,
    /// Copy rate, value octets per second, in MiB or with k, m, g
    #[arg(long, value_name = "NUM", default_value = "64", value_parser = sizes::mebibytes, requires = "warm_from")]
    warm_rate: u64,
    /// Commands slower than this many milliseconds are listed in `stats slow`; 0 lists none
    #[arg(long, value_name = "NUM", default_value_t = 10)]
    slow_ms: u32,
    /// Metrics for Prometheus: ADDRESS:PORT or unix:PATH
    #[arg(long, value_name = "WHERE", value_parser = where_metrics)]
    metrics: Option<Listen>,
    /// Print statistics every 10 s
    #[arg(short = 'v', long, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Print the version
    #[arg(short = 'V', long)]
    version: bool,
    #[command(flatten)]
    meaningless: Meaningless,
}

/// What stands beside a server, of trunkline or any other that speaks memcached's protocols.
#[derive(Debug, clap::Subcommand)]
enum Tool {
    Stats(stats::Stats),
    Load(Box<trunkline_load::cache::Load>),
    Route(Box<route::Route>),
    Top(top::Top),
}

/// What memcached takes and has no meaning here. It is told at the start.
#[derive(Debug, clap::Args)]
struct Meaningless {
    #[arg(short = 'f', long = "slab-growth-factor", value_name = "NUM", hide = true)]
    factor: Option<String>,
    #[arg(short = 'n', long = "slab-min-size", value_name = "NUM", hide = true)]
    least: Option<String>,
    #[arg(short = 'L', long = "enable-largepages", hide = true)]
    large_pages: bool,
    #[arg(short = 'C', long = "disable-cas", hide = true)]
    no_cas: bool,
    #[arg(short = 'k', long = "lock-memory", hide = true)]
    lock_memory: bool,
    #[arg(short = 'r', long = "enable-coredumps", hide = true)]
    core_dumps: bool,
}

impl Meaningless {
    /// Those that were given, each with why it has no meaning.
    fn told(&self) -> Vec<&'static str> {
        let all = [
            (self.factor.is_some(), "-f: there are no slab classes"),
            (self.least.is_some(), "-n: there are no slab classes"),
            (self.large_pages, "-L: memory comes in large pages where the system gives them"),
            (self.no_cas, "-C: every item has its cas number"),
            (self.lock_memory, "-k: let the system lock its memory (systemd: LimitMEMLOCK=, MemorySwapMax=0)"),
            (self.core_dumps, "-r: let the system allow core dumps (ulimit -c, systemd: LimitCORE=)"),
        ];
        all.into_iter().filter(|(given, _)| *given).map(|(_, why)| why).collect()
    }
}

/// Of a link that is named `memcached`: the arguments of `trunkline cache`.
pub fn arguments(given: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<_> = given.into_iter().collect();
    let name = arguments.first().map(|name| Path::new(name).file_name().map(OsStr::to_owned));
    if name.flatten().is_some_and(|name| name == "memcached") {
        arguments.splice(0..1, ["trunkline".into(), "cache".into()]);
    }
    arguments
}

pub(super) fn where_metrics(text: &str) -> Result<Listen, String> {
    Listen::of(&Raw::Word(text.to_owned()))
}

impl Cache {
    /// Serves until it is told to stop, or does what the subcommand says.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        match &self.tool {
            Some(Tool::Stats(stats)) => stats.run(terminal),
            Some(Tool::Load(load)) => load.run(terminal),
            Some(Tool::Route(route)) => route.run(),
            Some(Tool::Top(top)) => top.run(terminal),
            None => self.begin(),
        }
    }

    fn begin(&self) -> Result<Exit, Failure> {
        if self.version {
            // Scripts look for memcached's version.
            println!("memcached {} (trunkline {})", setup::PROTOCOL_VERSION, env!("CARGO_PKG_VERSION"));
            return Ok(Exit::Done);
        }
        match daemon::begin(self.daemon)? {
            daemon::Side::Parent(exit) => Ok(exit),
            daemon::Side::Server => serve::serve(self),
        }
    }
}
