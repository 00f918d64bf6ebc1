//! The server: bound while privileges last, then serving on threads of its own until it is stopped.

pub(crate) mod connection;
mod patience;
pub(crate) mod pipe;
mod streams;

use crate::auth::{AuthOptions, DESK_FILE, LinkKind, NewUser, OPEN_DESK_FILE, OidcOptions, Refusal, Role};
use crate::caches;
use crate::live;
use crate::moment;
use crate::room::{Disks, KEEP_FREE_PERCENT};
use crate::sources::{Ages, Alerting, Cache, Charging, Graphing, Live, Packets, Reader};
use crate::state::Web;
use crate::tls::{Tls, TlsError, TlsOptions};
use crate::work::AGE_MAX_S;
pub use connection::{CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX, HEADER_TIME, IDLE_TIME};
use ipnet::IpNet;
pub use patience::WRITE_PATIENCE;
use serde::Serialize;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use trunkline_kit::config::Share;
use trunkline_kit::metrics::Sample;
use utoipa::ToSchema;

/// Threads that serve connections; the store and extractions have their own.
pub const WORKERS: usize = 2;
/// Threads for the store, for passwords and for files.
pub const BLOCKING_THREADS_MAX: usize = 40;
/// The user that `open` and `demo` sign in.
pub const YOU: &str = "you";
/// How often it is looked whether the certificate changed.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Looks from one time that what is over is removed to the next.
const TIDY_EVERY: u64 = 10;
/// How long a stop waits for answers that are under way.
pub const STOP_PATIENCE: Duration = Duration::from_secs(3);

/// In which of its lives the program shows the web.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// `trunkline run`: beside the capture.
    Run,
    /// `trunkline web`: a store that another process may fill.
    Web,
    /// `trunkline open`: captures of a user.
    Open,
    /// `trunkline demo`: a simulated world.
    Demo,
}

impl Mode {
    /// The file of users, sessions and the rest, below the data folder.
    pub(crate) fn desk_file(self) -> &'static str {
        match self {
            Mode::Run | Mode::Web => DESK_FILE,
            Mode::Open | Mode::Demo => OPEN_DESK_FILE,
        }
    }
}

/// How the web is served; made from `[web]` of the configuration.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen; port 0 chooses one.
    pub listen: SocketAddr,
    /// Whose certificate is shown; none for plain HTTP, over which people sign in on this machine only (or behind a
    /// trusted proxy that says it was asked by https).
    pub tls: Option<TlsOptions>,
    /// The data folder: `web/desk.sqlite` (`web/open.sqlite` for `open` and `demo`) and a folder in `spool/web/` are
    /// made below it.
    pub data: PathBuf,
    /// In which of its lives the program shows the web.
    pub mode: Mode,
    /// What the program calls its version.
    pub version: String,
    /// From these peers X-Forwarded-For and X-Forwarded-Proto are believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Only clients of these networks are served; empty for all.
    pub networks: Vec<IpNet>,
    /// Names by which it may be asked beside localhost and addresses. Without any, all names are good where it listens
    /// on more than this machine, and none where it does not.
    pub hosts: Vec<String>,
    /// How browsers reach it, `https://trunkline.example.org`, without a path or a `/` at its end; none where each
    /// request says it rightly.
    pub public_url: Option<String>,
    /// The identity provider through which people may sign in besides.
    pub oidc: Option<OidcOptions>,
    /// Sign-in: sessions, masking, audit.
    pub auth: AuthOptions,
    /// How long the head of a request may take; [`HEADER_TIME`] unless a test has less patience.
    pub header_time: Duration,
    /// How long a client may take nothing of what it asked for; [`WRITE_PATIENCE`] unless a test has less patience.
    pub write_time: Duration,
    /// How long a connection of HTTP/2 may stay without a request; [`IDLE_TIME`] unless a test has less patience.
    pub idle_time: Duration,
    /// What extractions and uploads leave free of their volume, whoever uses the rest of it.
    pub keep_free: Share,
    /// What tells how full it is.
    pub disks: Disks,
    /// How long captures that users brought are kept, seconds; none for as long as there is room.
    pub captures_age_s: Option<i64>,
    /// Whether users may bring captures (there must be a [`Reader`], too).
    pub uploads: bool,
}

impl Options {
    /// The defaults: 127.0.0.1:8080, no proxies, any network.
    pub fn new(data: impl Into<PathBuf>, mode: Mode) -> Self {
        Options {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            tls: None,
            data: data.into(),
            mode,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            trusted_proxies: Vec::new(),
            networks: Vec::new(),
            hosts: Vec::new(),
            public_url: None,
            oidc: None,
            auth: AuthOptions::default(),
            header_time: HEADER_TIME,
            write_time: WRITE_PATIENCE,
            idle_time: IDLE_TIME,
            keep_free: Share::Percent(KEEP_FREE_PERCENT),
            disks: Disks::of_system(),
            captures_age_s: Some(AGE_MAX_S),
            uploads: matches!(mode, Mode::Open | Mode::Demo),
        }
    }
}

/// What is served.
#[derive(Clone)]
pub struct Sources {
    /// The folder of the store, `DATA/store`; it need not exist yet.
    pub store_folder: PathBuf,
    /// The packet log and the captures that were read.
    pub packets: Option<Arc<dyn Packets>>,
    /// The running capture.
    pub live: Option<Arc<dyn Live>>,
    /// What reads captures that users bring.
    pub reader: Option<Arc<dyn Reader>>,
    /// Caches to look at, the run's own first; their names differ.
    pub caches: Vec<Arc<dyn Cache>>,
    /// The charging node and its ledger; none where there can be none.
    pub charging: Option<Arc<dyn Charging>>,
    /// Graphs; none where there can be none.
    pub graphing: Option<Arc<Graphing>>,
    /// Alerts; none where there can be none.
    pub alerting: Option<Arc<dyn Alerting>>,
    /// By what time that what is kept gets old; none takes that of the system.
    pub ages: Option<Arc<dyn Ages>>,
}

impl Sources {
    /// A store and nothing else.
    pub fn of_store(folder: impl Into<PathBuf>) -> Self {
        Sources {
            store_folder: folder.into(),
            packets: None,
            live: None,
            reader: None,
            caches: Vec::new(),
            charging: None,
            graphing: None,
            alerting: None,
            ages: None,
        }
    }
}

/// Why the web cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is in use, or not of this machine.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// Where it should have listened.
        address: SocketAddr,
        /// What the system said.
        cause: io::Error,
    },
    /// There is no certificate to show.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The threads cannot be started, or the data folder cannot be used.
    #[error("cannot serve the web: {0}")]
    Start(#[from] io::Error),
}

/// Where a web server begins.
pub struct Server;

impl Server {
    /// Opens the socket and reads the certificate; privileges may be dropped after this.
    ///
    /// # Errors
    /// [`ServeError::Listen`], [`ServeError::Tls`].
    pub fn bind(options: Options) -> Result<Bound, ServeError> {
        let address = options.listen;
        let refused = |cause| ServeError::Listen { address, cause };
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let tls = options.tls.clone().map(|tls| Tls::open(tls, moment::now_ns())).transpose()?;
        Ok(Bound { listener, address, options, tls })
    }
}

/// A server that listens and does not answer yet.
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    options: Options,
    tls: Option<Tls>,
}

impl Bound {
    /// Where it listens, with the port that was chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What to type into a browser.
    pub fn url(&self) -> String {
        url(&self.options, self.address)
    }

    /// SHA-256 of the certificate, as browsers print it; none without TLS.
    pub fn fingerprint(&self) -> Option<String> {
        self.tls.as_ref().map(Tls::fingerprint)
    }

    /// Serves on threads of its own until the handle is stopped or dropped.
    ///
    /// # Errors
    /// [`ServeError::Start`].
    pub fn serve(self, sources: Sources) -> Result<Handle, ServeError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .max_blocking_threads(BLOCKING_THREADS_MAX)
            .thread_name("web")
            .enable_all()
            .build()?;
        let (stop, stopping) = watch::channel(false);
        let web = Web::new(self.options, sources, stopping.clone())?;
        let guard = runtime.enter();
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        drop(guard);
        let router = crate::api::router(Arc::clone(&web));
        runtime.spawn(housekeeping(Arc::clone(&web), self.tls.clone(), stopping.clone()));
        runtime.spawn(live::run(Arc::clone(&web), stopping.clone()));
        runtime.spawn(live::watch_alerts(Arc::clone(&web), stopping.clone()));
        for board in &web.caches {
            runtime.spawn(caches::watch(Arc::clone(board), stopping.clone()));
        }
        let serving = runtime.spawn(connection::accept(Arc::clone(&web), listener, self.tls.clone(), router, stopping));
        Ok(Handle { web, address: self.address, tls: self.tls, stop, runtime: Some(runtime), serving: Some(serving) })
    }
}

/// Removes what is over, now and then.
async fn housekeeping(web: Arc<Web>, tls: Option<Tls>, mut stopping: watch::Receiver<bool>) {
    let mut ticks = tokio::time::interval(LOOK_EVERY);
    for minute in 0u64.. {
        tokio::select! {
            _ = stopping.wait_for(|stop| *stop) => return,
            _ = ticks.tick() => {}
        }
        let now_ns = moment::now_ns();
        if let Some(tls) = tls.clone() {
            let looked = tokio::task::spawn_blocking(move || tls.reload_if_changed(now_ns));
            if let Ok(Err(error)) = looked.await {
                tracing::warn!(target: "web", "the certificate that is shown stays: {error}");
            }
        }
        if minute % TIDY_EVERY != 0 {
            continue;
        }
        let swept = Arc::clone(&web);
        let looked = tokio::task::spawn_blocking(move || {
            swept.spool.sweep();
            swept.sources.ages.as_ref().map_or(Some(now_ns), |ages| ages.believed_ns())
        });
        let believed_ns = looked.await.ok().flatten();
        web.extractions.tidy(now_ns);
        if let Some(believed_ns) = believed_ns {
            web.captures.tidy(believed_ns);
        }
        web.tryouts.tidy(now_ns);
        web.bills.tidy(now_ns);
        web.comparisons.tidy(now_ns);
        web.ratings.tidy(now_ns);
        // What it refuses is in the log already.
        let _ = web.at_desk(move |desk| desk.tidy(now_ns, believed_ns)).await;
    }
}

/// A server that serves; it ends when it is stopped or dropped.
pub struct Handle {
    web: Arc<Web>,
    address: SocketAddr,
    tls: Option<Tls>,
    stop: watch::Sender<bool>,
    runtime: Option<Runtime>,
    serving: Option<tokio::task::JoinHandle<()>>,
}

impl Handle {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What to type into a browser.
    pub fn url(&self) -> String {
        url(&self.web.options, self.address)
    }

    /// SHA-256 of the certificate, as browsers print it; none without TLS.
    pub fn fingerprint(&self) -> Option<String> {
        self.tls.as_ref().map(Tls::fingerprint)
    }

    /// Reads the certificate anew, as at SIGHUP; the one that is shown stays if that fails. Changed files are found by
    /// themselves within a minute.
    ///
    /// # Errors
    /// What is wrong with which file.
    pub fn reload_certificate(&self) -> Result<(), TlsError> {
        self.tls.as_ref().map_or(Ok(()), |tls| tls.reload(moment::now_ns()))
    }

    /// A link that can be used once: as long as there is no user it makes the first administrator, and in `open` and
    /// `demo` it signs in. None if there is nothing to make: users sign in by their passwords.
    pub fn link(&self) -> Option<String> {
        let (desk, now_ns) = (&self.web.desk, moment::now_ns());
        let made = match self.web.options.mode {
            Mode::Open | Mode::Demo => {
                let you = NewUser { name: YOU, display_name: "You", role: Role::Administrator, password: None };
                match desk.add_user(&you, now_ns) {
                    Ok(_) | Err(Refusal::Conflict(_)) => desk.make_link(&LinkKind::SignIn(YOU.to_owned()), now_ns),
                    Err(error) => Err(error),
                }
            }
            Mode::Run | Mode::Web => match desk.has_administrator(now_ns) {
                Ok(true) => return None,
                Ok(false) => desk.make_link(&LinkKind::FirstAdministrator, now_ns),
                Err(error) => Err(error),
            },
        };
        match made {
            Ok(secret) => Some(format!("{}link#{}", self.url(), secret.expose())),
            Err(error) => {
                tracing::error!(target: "web", "no one-time link could be made: {error}");
                None
            }
        }
    }

    /// The folder of extractions and uploads: that of this process.
    pub fn spool(&self) -> &Path {
        self.web.spool.folder()
    }

    /// What the web counts, for whoever serves the program's metrics as well.
    pub fn metrics(&self) -> Vec<Sample> {
        self.web.metrics()
    }

    /// Ends it: takes no more connections, finishes what is under way for at most [`STOP_PATIENCE`].
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stop.send_replace(true);
        let Some(runtime) = self.runtime.take() else { return };
        if let Some(serving) = self.serving.take() {
            let _ = runtime.block_on(async { tokio::time::timeout(STOP_PATIENCE, serving).await });
        }
        runtime.shutdown_timeout(Duration::from_millis(200));
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.end();
    }
}

/// The public address where one is configured. An address that stands for all of a machine is none to ask: this
/// machine's own is.
fn url(options: &Options, address: SocketAddr) -> String {
    if let Some(public) = &options.public_url {
        return format!("{public}/");
    }
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    if address.ip().is_unspecified() {
        return format!("{scheme}://localhost:{}/", address.port());
    }
    format!("{scheme}://{address}/")
}
