//! How the web is served: the options that the configuration gives, the address, the one-time link.

use super::packets::{Captures, LogPackets};
use super::{alerts, caches};
use crate::charge::asked::Asked;
use crate::failure::Failure;
use crate::graph::here;
use crate::retention::clock::Ages;
use crate::run::config::{Settings, Tls};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use trunkline_contract::Client;
use trunkline_contract::graph::Graphs;
use trunkline_web::sources::{Alerting, Cache, Charging, Graphing, Live, Packets, Reader};
use trunkline_web::tls::{TlsOptions, own_names};
use trunkline_web::{Bound, Handle, Mode, Options, ServeError, Server, Sources};

/// How long graphs of another process may take: drawing may be slow.
const GRAPHS_PATIENCE: Duration = Duration::from_secs(30);
/// How many ports are tried after one that is taken, where that is allowed.
const PORTS_TRIED_MAX: u16 = 100;

/// Opens the socket where the settings say; privileges may be given up after this.
///
/// # Errors
/// It is taken, or not of this machine.
pub fn bind(settings: &Settings, mode: Mode) -> Result<Bound, Failure> {
    is_served(settings, mode)?;
    let options = Options { oidc: super::desk::oidc(settings)?, ..options(settings, mode) };
    let address = options.listen;
    let bound = Server::bind(options).map_err(|e| refused(address, &e))?;
    // A certificate that root has made is read again, and the desk made beside it, by whom privileges are left to.
    super::desk::hand_over(&settings.data.folder);
    Ok(bound)
}

/// The same; where the port is taken, on the next one that is free, and says so.
///
/// # Errors
/// None of the next is free, or the address is not of this machine.
pub fn bind_or_next(settings: &Settings, mode: Mode) -> Result<Bound, Failure> {
    let wanted = options(settings, mode);
    let first = wanted.listen;
    for more in 0..PORTS_TRIED_MAX {
        let Some(port) = first.port().checked_add(more) else { break };
        let listen = SocketAddr::new(first.ip(), port);
        match Server::bind(Options { listen, ..wanted.clone() }) {
            Ok(bound) => {
                if more > 0 {
                    eprint(&format!("port {} is in use: using {port}", first.port()));
                }
                return Ok(bound);
            }
            Err(ServeError::Listen { cause, .. }) if cause.kind() == ErrorKind::AddrInUse => {}
            Err(e) => return Err(refused(listen, &e)),
        }
    }
    let what =
        format!("port {} and the {PORTS_TRIED_MAX} after it are in use: name another with --listen", first.port());
    Err(Failure::Failed(what))
}

/// What the settings ask for and is not served must not be left out in silence.
fn is_served(settings: &Settings, mode: Mode) -> Result<(), Failure> {
    if settings.web.uploads && mode == Mode::Run {
        let why = "web.uploads takes processors from the capture: let trunkline web serve the pages, or turn it off";
        return Err(Failure::Usage(why.to_owned()));
    }
    Ok(())
}

fn refused(address: SocketAddr, error: &ServeError) -> Failure {
    Failure::Failed(match error {
        ServeError::Listen { cause, .. } if cause.kind() == ErrorKind::AddrInUse => {
            format!("{address} is in use by another program: name another address with --listen or web.listen")
        }
        ServeError::Listen { cause, .. } if cause.kind() == ErrorKind::AddrNotAvailable => {
            format!("{address} is no address of this machine")
        }
        ServeError::Listen { cause, .. } if cause.kind() == ErrorKind::PermissionDenied => {
            format!("{address}: ports below 1024 need root: take one above, and a proxy in front")
        }
        error => error.to_string(),
    })
}

/// Serves captures that were read, and those that a user brings.
///
/// # Errors
/// As [`serve`].
pub fn serve_captures(
    bound: Bound,
    settings: &Settings,
    captures: Captures,
    reader: Arc<dyn Reader>,
) -> Result<Handle, Failure> {
    let packets = LogPackets::with_captures(&settings.data.folder, settings, captures);
    start(bound, settings, packets, Own::default(), Some(reader))
}

/// What there is of the run itself, of its cache and of its graphs.
#[derive(Default)]
struct Own {
    live: Option<Arc<dyn Live>>,
    cache: Option<Arc<dyn Cache>>,
    graphs: Option<Arc<Graphing>>,
}

/// Serves on what is bound, with the run and its cache; with its graphs, or those of another process of the folder.
///
/// # Errors
/// A thread cannot be started, or the data folder cannot be used.
pub fn serve(
    bound: Bound,
    settings: &Settings,
    run: Arc<impl Live + Cache + 'static>,
    graphs: Option<Arc<Graphing>>,
    reader: Option<Arc<dyn Reader>>,
) -> Result<Handle, Failure> {
    let packets = LogPackets::new(&settings.data.folder, settings);
    let own = Own { live: Some(Arc::clone(&run) as _), cache: Some(run), graphs };
    start(bound, settings, packets, own, reader)
}

fn start(
    bound: Bound,
    settings: &Settings,
    packets: LogPackets,
    Own { live, cache, graphs }: Own,
    reader: Option<Arc<dyn Reader>>,
) -> Result<Handle, Failure> {
    // A node of the same data folder, whichever program it runs in.
    let charging: Option<Arc<dyn Charging>> = Some(Arc::new(Asked::new(&settings.data.folder)));
    let there = || Arc::new(Client::<Graphs>::new(&here::socket(&settings.data.folder), GRAPHS_PATIENCE)) as _;
    let graphing = Some(graphs.unwrap_or_else(there));
    let alerting: Option<Arc<dyn Alerting>> = Some(Arc::new(alerts::Asked::new(&settings.data.folder)));
    let caches = caches::all(cache, &settings.web.caches);
    let store_folder = settings.data.folder.join("store");
    let packets = Some(Arc::new(packets) as Arc<dyn Packets>);
    let ages = Some(Arc::new(Ages::of(&settings.data.folder)) as Arc<dyn trunkline_web::sources::Ages>);
    let sources = Sources { store_folder, packets, live, reader, caches, charging, graphing, alerting, ages };
    bound.serve(sources).map_err(|e| Failure::Failed(e.to_string()))
}

fn options(settings: &Settings, mode: Mode) -> Options {
    let web = &settings.web;
    // Captures that somebody opens on this machine are shown on this machine.
    let is_house = matches!(mode, Mode::Run | Mode::Web);
    Options {
        listen: web.listen.0,
        trusted_proxies: web.trusted_proxies.iter().map(|n| n.0).collect(),
        networks: web.networks.iter().map(|n| n.0).collect(),
        hosts: web.hosts.clone(),
        public_url: web.public_url.as_ref().filter(|_| is_house).map(|url| url.0.clone()),
        uploads: web.uploads,
        captures_age_s: settings.web_captures.keep_age.map(|age| i64::try_from(age.as_secs()).unwrap_or(i64::MAX)),
        keep_free: web.keep_free,
        tls: certificate(settings),
        auth: super::desk::options(settings),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..Options::new(&settings.data.folder, mode)
    }
}

/// Whose certificate is shown.
fn certificate(settings: &Settings) -> Option<TlsOptions> {
    let web = &settings.web;
    match web.tls {
        Tls::Off => None,
        Tls::SelfSigned => {
            let (data, names) = (settings.data.folder.clone(), own_names(web.listen.0.ip()));
            Some(TlsOptions::SelfSigned { data, names })
        }
        Tls::Files => {
            let (certificate, key) = (web.certificate.clone().unwrap_or_default(), web.key.clone().unwrap_or_default());
            Some(TlsOptions::Files { certificate, key })
        }
    }
}

/// A data folder: one that was named, or a temporary one that goes when it is dropped.
pub enum Folder {
    /// It stays.
    Named(PathBuf),
    /// It goes.
    Temporary(TempDir),
}

impl Folder {
    /// The one that was named, made where it is not there; or a new one of this user alone.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn of(named: Option<&Path>, what: &str) -> Result<Folder, Failure> {
        let Some(path) = named else {
            let made = tempfile::Builder::new().prefix(&format!("trunkline-{what}-")).tempdir();
            return made.map(Folder::Temporary).map_err(|e| {
                Failure::Failed(format!("no temporary folder can be made: {e}: name one with --data or TMPDIR"))
            });
        };
        std::fs::create_dir_all(path).map_err(|e| Failure::Failed(format!("{}: {e}", path.display())))?;
        Ok(Folder::Named(path.to_path_buf()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        match self {
            Folder::Named(path) => path,
            Folder::Temporary(folder) => folder.path(),
        }
    }

    /// Where data lie, and how long.
    pub fn sentence(&self) -> String {
        match self {
            Folder::Named(path) => format!("Data is kept in {}.", path.display()),
            Folder::Temporary(folder) => {
                format!("Data is in {} and is removed at the end.", folder.path().display())
            }
        }
    }
}

/// What to type into a browser, as the settings say it; the name of this machine where it listens on all addresses.
pub fn url(settings: &Settings) -> String {
    if let Some(public) = &settings.web.public_url {
        return format!("{}/", public.0);
    }
    let listen = settings.web.listen.0;
    let scheme = if settings.web.tls == Tls::Off { "http" } else { "https" };
    if !listen.ip().is_unspecified() {
        return format!("{scheme}://{listen}/");
    }
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{scheme}://{name}:{}/", listen.port())
}

/// Says in the log where the web is. The link belongs to whoever reads the log, who could read everything anyway.
pub fn announce_in_log(handle: &Handle) {
    tracing::info!("web at {}", handle.url());
    if let Some(fingerprint) = handle.fingerprint() {
        tracing::info!("web: the certificate's SHA-256 is {fingerprint}");
    }
    if let Some(link) = handle.link() {
        tracing::warn!(
            "web: there are no users yet; create the first administrator with this link, it works once: \
            {link}"
        );
    }
}

/// Reads the certificate anew.
pub fn reload(handle: &Handle) {
    if let Err(error) = handle.reload_certificate() {
        tracing::error!("web: the previous certificate stays in use: {error}");
    }
}

/// A line at standard error.
pub fn eprint(text: &str) {
    use io::Write;
    let _ = writeln!(io::stderr(), "trunkline: {text}");
}
