//! What the endpoints share.

use crate::api::{
    BILLS, Bills, CAPTURES, COMPARISONS, Captures, Comparisons, EXTRACTIONS, Extractions, PROVIDER_ASKS_MAX, RATINGS,
    Ratings, TRYOUTS, Tryouts, restore,
};
use crate::auth::{AllowedNetworks, Desk, Provider, Refusal, TrustedProxies};
use crate::caches::Board;
use crate::live::Feed;
use crate::pages::Pages;
use crate::paths::Paths;
use crate::problem::{Kind, Problem};
use crate::room::Room;
use crate::server::connection::Places;
use crate::server::{Mode, Options, Sources};
use crate::sources::{SourceError, Trouble};
use crate::spool::Spool;
use crate::stores::Stores;
use crate::work::{Limits, Shelf};
use axum::http::StatusCode;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use trunkline_kit::metrics::Sample;

/// Requests that check a password at a time; more wait, outside the threads that others need.
pub const PASSWORDS_AT_ONCE_MAX: usize = 4;
/// Questions to the desk at a time; more wait, outside the threads that others need.
pub const DESK_TURNS_MAX: usize = 16;
/// How long a question to the desk waits for its turn.
pub const DESK_TURN_TIME: Duration = Duration::from_secs(10);
/// How long a password waits for its turn.
pub const PASSWORD_TURN_TIME: Duration = Duration::from_secs(10);
/// Looks at the packet log at a time (segments, timeline, filters).
// Limit: questions to the packet log at once
// Beyond: further questions wait, then are refused
// Seen in: the error message
pub const LOG_LOOKS_MAX: usize = 4;
/// Questions at a time to the capture that runs, for `/metrics` and `/healthz`.
pub const PROBES_MAX: usize = 4;
/// Questions at a time to the charging node and its ledger.
// Limit: questions to the charging node at once
// Beyond: further questions wait, then are refused
// Seen in: the error message
pub const CHARGE_LOOKS_MAX: usize = 6;
/// Reads in the ledger at a time, each for seconds at most.
pub const CHARGE_READS_MAX: usize = 3;
/// Questions at a time about graphs.
// Limit: questions to the graph job at once
// Beyond: further questions wait, then are refused
// Seen in: the error message
pub const GRAPH_LOOKS_MAX: usize = 4;
/// Questions at a time about alerts.
// Limit: questions to the alert job at once
// Beyond: further questions wait, then are refused
// Seen in: the error message
pub const ALERT_LOOKS_MAX: usize = 4;
/// Messages at a time that try out channels, each for minutes at most.
pub const ALERT_TESTS_MAX: usize = 2;
/// How long a look waits for its turn.
pub const LOOK_TURN_TIME: Duration = Duration::from_secs(5);
/// Calls whose packets or messages are read at a time.
// Limit: calls whose packets or messages are read at once
// Beyond: a further one is refused
// Seen in: the error message
pub const DOWNLOADS_MAX: usize = 6;

trunkline_kit::counters! {
    /// What the web counts.
    pub struct WebCounters {
        /// connections taken
        connections: "trunkline_web_connections_total",
        /// connections closed at once because there were too many, of one address or in all
        connections_overflow: "trunkline_web_connections_overflow_total",
        /// connections whose TLS did not come about: in time, or at all
        handshakes_failed: "trunkline_web_handshakes_failed_total",
        /// connections of HTTP/2 that were ended because nobody asked anything for a time
        connections_idle: "trunkline_web_connections_idle_total",
        /// connections of HTTP/2 that were ended because their client took too many requests back
        reset_floods: "trunkline_web_reset_floods_total",
        /// streams of HTTP/2 that were ended because their client took nothing of the answer
        streams_stalled: "trunkline_web_streams_stalled_total",
        /// requests refused because their network may not use the web
        networks_refused: "trunkline_web_networks_refused_total",
        /// requests refused because they asked for a name that is not ours
        hosts_refused: "trunkline_web_hosts_refused_total",
        /// microseconds that answers took to begin, summed
        answers_us: "trunkline_web_answers_us_total",
        /// clients of the live feed that were refused because there were too many
        live_overflow: "trunkline_web_live_clients_overflow_total",
        /// rows written to files of comma-separated values
        csv_rows: "trunkline_web_csv_rows_total",
        /// extractions and uploads that were refused or ended because the disk is too full
        rooms_refused: "trunkline_web_disk_refused_total",
    }
}

/// What the endpoints share.
pub struct Web {
    /// How the web is served.
    pub options: Options,
    /// What is served.
    pub sources: Sources,
    /// Questions to the store.
    pub stores: Stores,
    /// The folder of extractions and uploads, one in `DATA/spool/web`.
    pub spool: Spool,
    /// How files are called outside.
    pub paths: Paths,
    /// What may be written there.
    pub room: Room,
    /// What is live.
    pub feed: Feed,
    /// Caches that are looked at.
    pub caches: Vec<Arc<Board>>,
    /// The files of the UI.
    pub pages: Pages,
    /// Connections that are open.
    pub places: Places,
    /// Exports that may be under way.
    pub exports: Arc<Semaphore>,
    /// Reads of packets and messages that may be under way.
    pub downloads: Arc<Semaphore>,
    /// Users, sessions, tokens, aliases, filters and the audit log.
    pub desk: Arc<Desk>,
    /// The identity provider, where there is one.
    pub oidc: Option<Provider>,
    /// Sign-ins that may ask the identity provider something at a time.
    pub provider_asks: Semaphore,
    /// From whom forwarding headers are believed.
    pub proxies: TrustedProxies,
    /// Who is served at all.
    pub networks: AllowedNetworks,
    /// Extractions from the packet log.
    pub extractions: Extractions,
    /// Captures that users brought.
    pub captures: Captures,
    /// Looks at the packet log that may be under way.
    pub log_looks: Arc<Semaphore>,
    /// Questions to the capture that may be under way.
    pub probes: Arc<Semaphore>,
    /// Questions to the charging node that may be under way.
    pub charge_looks: Arc<Semaphore>,
    /// Reads in its ledger that may be.
    pub charge_reads: Arc<Semaphore>,
    /// Questions about graphs that may be under way.
    pub graph_looks: Arc<Semaphore>,
    /// Questions about alerts that may be under way.
    pub alert_looks: Arc<Semaphore>,
    /// Messages that try out channels that may be.
    pub alert_tests: Arc<Semaphore>,
    /// Plans that are tried out.
    pub tryouts: Tryouts,
    /// Bills that users brought.
    pub bills: Bills,
    /// Calls that are compared with bills and charges.
    pub comparisons: Comparisons,
    /// Calls that are rated by plans.
    pub ratings: Ratings,
    desk_turns: Arc<Semaphore>,
    passwords: Arc<Semaphore>,
    /// Becomes true when the server is to end: what streams without an end looks at it.
    pub stopping: watch::Receiver<bool>,
    counters: Mutex<WebCounters>,
    answers: Mutex<[u64; 4]>,
}

impl Web {
    /// Makes the folders that are needed.
    ///
    /// # Errors
    /// They cannot be made, the file of users cannot be used, or the identity provider's address is none.
    pub fn new(options: Options, sources: Sources, stopping: watch::Receiver<bool>) -> io::Result<Arc<Self>> {
        let spool = Spool::make(&options.data)?;
        let paths = Paths::of(&options.data);
        let room = Room::new(spool.folder(), options.keep_free, options.disks.clone());
        let desk = Desk::open(&options.data.join(options.mode.desk_file()), &options.auth).map_err(io::Error::other)?;
        let oidc = options.oidc.clone().map(Provider::new).transpose().map_err(io::Error::other)?;
        // Whose captures they are decides there when they go: with the folder.
        let age_s = if matches!(options.mode, Mode::Open | Mode::Demo) { None } else { options.captures_age_s };
        let captures = Shelf::new(spool.folder(), "capture", Limits { age_s, ..CAPTURES });
        if let Some(reader) = &sources.reader {
            restore(&captures, reader.as_ref());
        }
        Ok(Arc::new(Web {
            stores: Stores::new(sources.store_folder.clone()),
            feed: Feed::default(),
            caches: sources.caches.iter().map(|cache| Arc::new(Board::new(Arc::clone(cache)))).collect(),
            pages: Pages::embedded(),
            places: Places::default(),
            exports: Arc::new(Semaphore::new(crate::api::CSV_EXPORTS_MAX)),
            downloads: Arc::new(Semaphore::new(DOWNLOADS_MAX)),
            log_looks: Arc::new(Semaphore::new(LOG_LOOKS_MAX)),
            probes: Arc::new(Semaphore::new(PROBES_MAX)),
            charge_looks: Arc::new(Semaphore::new(CHARGE_LOOKS_MAX)),
            charge_reads: Arc::new(Semaphore::new(CHARGE_READS_MAX)),
            graph_looks: Arc::new(Semaphore::new(GRAPH_LOOKS_MAX)),
            alert_looks: Arc::new(Semaphore::new(ALERT_LOOKS_MAX)),
            alert_tests: Arc::new(Semaphore::new(ALERT_TESTS_MAX)),
            tryouts: Shelf::new(spool.folder(), "tryout", TRYOUTS),
            bills: Shelf::new(spool.folder(), "bill", BILLS),
            comparisons: Shelf::new(spool.folder(), "comparison", COMPARISONS),
            ratings: Shelf::new(spool.folder(), "rating", RATINGS),
            desk_turns: Arc::new(Semaphore::new(DESK_TURNS_MAX)),
            passwords: Arc::new(Semaphore::new(PASSWORDS_AT_ONCE_MAX)),
            desk: Arc::new(desk),
            oidc,
            provider_asks: Semaphore::new(PROVIDER_ASKS_MAX),
            proxies: TrustedProxies::new(options.trusted_proxies.clone()),
            networks: AllowedNetworks::new(options.networks.clone()),
            extractions: Shelf::new(spool.folder(), "extraction", EXTRACTIONS),
            captures,
            stopping,
            counters: Mutex::default(),
            answers: Mutex::default(),
            options,
            sources,
            spool,
            room,
            paths,
        }))
    }

    /// Asks the desk on a thread that may wait. Who goes before it is their turn leaves no work behind.
    ///
    /// # Errors
    /// What it refuses; [`Kind::Busy`] if there was no turn in time.
    pub async fn at_desk<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Desk) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Problem> {
        let Ok(Ok(turn)) = timeout(DESK_TURN_TIME, Arc::clone(&self.desk_turns).acquire_owned()).await else {
            return Err(Problem::new(Kind::Busy, "Too many requests are running.").retry_after(5));
        };
        let desk = Arc::clone(&self.desk);
        let asked = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            ask(&desk)
        });
        Ok(asked.await.map_err(Problem::failed)??)
    }

    /// The same where a password is checked or made, which takes a core for a while: few at a time.
    ///
    /// # Errors
    /// What the desk refuses; [`Kind::Busy`] if there was no turn in time.
    pub async fn at_desk_with_password<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Desk) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = timeout(PASSWORD_TURN_TIME, Arc::clone(&self.passwords).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            return Err(Problem::new(Kind::Busy, "Too many passwords are being checked.").retry_after(5));
        };
        self.at_desk(move |desk| {
            let _turn = turn;
            ask(desk)
        })
        .await
    }

    /// Looks at the packet log, or asks the capture that runs, on a thread that may wait; few at a time.
    ///
    /// # Errors
    /// [`Kind::Busy`] if there was no turn in time.
    pub async fn look<T: Send + 'static>(
        &self,
        looks: &Arc<Semaphore>,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let Ok(Ok(turn)) = timeout(LOOK_TURN_TIME, Arc::clone(looks).acquire_owned()).await else {
            return Err(Problem::new(Kind::Busy, "Too many viewers already.").retry_after(5));
        };
        let looked = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            look()
        });
        looked.await.map_err(Problem::failed)
    }

    /// Refuses, and counts, to begin what writes to the disk where it is too full for so many octets.
    ///
    /// # Errors
    /// As [`Web::room_for`].
    pub async fn refuse_without_room(self: &Arc<Self>, octets: u64) -> Result<(), Problem> {
        let refused = self.room_for(octets).await;
        if refused.as_ref().is_err_and(|problem| problem.kind == Kind::NoRoom) {
            self.count(|c| c.rooms_refused += 1);
        }
        refused
    }

    /// Whether so many octets, and at least one, may be written to the disk.
    ///
    /// # Errors
    /// [`Kind::NoRoom`].
    pub async fn room_for(self: &Arc<Self>, octets: u64) -> Result<(), Problem> {
        let web = Arc::clone(self);
        tokio::task::spawn_blocking(move || web.room.check(octets)).await.map_err(Problem::failed)?
    }

    /// An error that may name files of this machine, as browsers see it.
    pub fn named(&self, error: SourceError, files: &[String]) -> SourceError {
        SourceError { text: self.paths.sentence(&error.text, files), ..error }
    }

    /// Does work that writes, and counts if the disk was too full for it.
    ///
    /// # Errors
    /// What the work says.
    pub fn or_no_room<T>(&self, work: impl FnOnce() -> Result<T, SourceError>) -> Result<T, SourceError> {
        let done = work();
        let refused = done.as_ref().is_err_and(|error| error.trouble == Trouble::NoRoom);
        self.count(|c| c.rooms_refused += u64::from(refused));
        done
    }

    /// Whether an address is that of a trusted proxy.
    pub fn is_proxy(&self, address: IpAddr) -> bool {
        self.options.trusted_proxies.iter().any(|network| network.contains(&address.to_canonical()))
    }

    /// Counts something.
    pub fn count(&self, what: impl FnOnce(&mut WebCounters)) {
        what(&mut self.counters.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Counts an answer by the class of its status.
    pub fn count_answer(&self, status: StatusCode, took: Duration) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(2);
        if let Some(count) = self.answers.lock().unwrap_or_else(PoisonError::into_inner).get_mut(class) {
            *count += 1;
        }
        self.count(|c| c.answers_us += u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }

    /// What the web counts.
    pub fn metrics(&self) -> Vec<Sample> {
        let counters = *self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = *self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut samples: Vec<Sample> = counters.list().into_iter().map(Sample::from).collect();
        for (class, count) in ["2xx", "3xx", "4xx", "5xx"].into_iter().zip(answers) {
            let sample = Sample::counter("trunkline_web_answers_total", "answers by class of status", count);
            samples.push(sample.label("status", class));
        }
        samples.extend(self.desk.counts().list().into_iter().map(Sample::from));
        let sizes = [
            ("extractions", self.extractions.size()),
            ("captures", self.captures.size()),
            ("bills", self.bills.size()),
            ("comparisons", self.comparisons.size()),
            ("ratings", self.ratings.size()),
        ];
        for (what, (files, octets)) in sizes {
            let help = "files of extractions, captures, bills, comparisons and ratings";
            let files = Sample::gauge("trunkline_web_spool_files", help, files as f64);
            let octets = Sample::gauge("trunkline_web_spool_octets", "octets of these files", octets as f64);
            samples.extend([files.label("what", what), octets.label("what", what)]);
        }
        if let Ok(left) = self.room.left() {
            let help = "octets that extractions and uploads may still take of their disk";
            samples.push(Sample::gauge("trunkline_web_disk_room_octets", help, left as f64));
        }
        let open = self.places.open() as f64;
        samples.push(Sample::gauge("trunkline_web_connections_open", "connections that are open", open));
        let watching = self.feed.clients() as f64;
        samples.push(Sample::gauge("trunkline_web_live_clients", "clients of the live feed", watching));
        samples
    }
}
