//! The shell around graphs: threads, sockets, processes, disks and the clock.
//!
//! ```text
//!  orders --> owner: checks, entry on disk, inventory --> plans -+-> lanes: SNMP --> samples --> journal on disk
//!               ^                                               +-> probes: the rest --^             |
//!               +---------------- what was found, up and down --------+                              v
//!                                                                        files <-- rrd::Writer <-- keeper
//! ```
//!
//! One thread owns the inventory ([`Handle::order`]): an order is answered when its entry is on disk. Lanes poll, each
//! its own devices; one thread probes: echo, ports, programs, pages. What polling says of a device goes there, too,
//! where several probes tell whether it is up. Samples count when the journal has them; the keeper follows it and
//! brings them into their files, and the journal is cut only up to what those have. After a crash the rest of it is
//! brought again, and what was there is not taken twice (a file takes a time once). What somebody looks at in real time
//! is read by lanes and probes beside that, and goes nowhere ([`crate::realtime`]).

mod addresses;
mod clock;
mod drawing;
mod handle;
mod import;
mod intake;
mod keeper;
mod lanes;
mod news;
mod owner;
mod pages;
mod polling;
mod probes;
mod probing;
mod realtime;
mod said;
mod scan;
mod scopes;
mod service;
mod shown;
mod status;
mod twin;
mod watching;

pub use drawing::{Drawing, DrawingCounters, DrawingOptions, NotDrawn, PICTURE_OCTETS_MAX};
pub use handle::{Done, Handle, Reloaded, Undone, Unread};
pub use import::{Imported, Sources, cacti};
pub use intake::{Dropped, Intake};
pub use keeper::{Despiked, Kept, NoSpikes, SpikeShown};
pub use pages::{Form, NoFile, Pages, Refused};
pub use polling::{Polling, PollingOptions, SOCKETS_MAX};
pub use probing::{EchoRight, EchoSockets, OwnMetrics, Probing, ProbingOptions};
pub use realtime::RealtimeCounters;
pub use scan::ADDRESSES_MAX;
pub use scopes::ScopeCounters;
pub use service::Service;
#[doc(hidden)]
pub use service::exercise::orders as exercise_orders;
pub use shown::{DeviceShown, FAULTS_TOLD_MAX};
pub use status::{JournalShown, ProbesShown, Status};
pub use watching::{Health, WATCHED_OCTETS_MAX, Watching};

use crate::inventory::{Entry, Inventory, Restoring};
use crate::template::{Library, TEMPLATE_FILE_OCTETS_MAX, built_in, read};
use intake::Flow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use trunkline_commit::{Committer, Fault, Folder, Log};
use trunkline_kit::config::Mistake;
use trunkline_kit::place;

/// Lanes at most.
// Limit: threads that poll
// Beyond: the configuration is refused
// Seen in: the error message
pub const LANES_MAX: usize = 64;
/// Messages that wait for the owner, for a lane, for the keeper: who has one more waits.
const MESSAGES_MAX: usize = 4096;

/// How graphs are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Threads that poll, 1 to [`LANES_MAX`].
    pub lanes: usize,
    /// Sockets of each lane, 1 to [`SOCKETS_MAX`].
    pub sockets: usize,
    /// Octets of the room that each socket asks the system for.
    pub buffer_octets: usize,
    /// After how long a device is looked at again.
    pub explore_every: Duration,
    /// Octets of samples on disk that are not in files yet; then samples are dropped, and counted.
    pub journal_octets_max: u64,
    /// Octets of a segment of the journal, and of the log of the inventory.
    pub segment_octets: u64,
    /// How files are written.
    pub writer: trunkline_rrd::Options,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            lanes: 1,
            sockets: 4,
            buffer_octets: 4 << 20,
            explore_every: Duration::from_secs(12 * 3600),
            journal_octets_max: 4 << 30,
            segment_octets: 16 << 20,
            writer: trunkline_rrd::Options::default(),
        }
    }
}

/// Why graphs cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The system's, and with what.
    #[error("{0}: {1}")]
    Io(String, io::Error),
    /// A log is not whole, or another process has it.
    #[error("{0}: {1}")]
    Log(&'static str, Fault),
    /// Round-robin files cannot be written.
    #[error("round-robin files: {0}")]
    Files(trunkline_rrd::Fault),
    /// Templates of the folder have mistakes.
    #[error("templates have mistakes:{}", .0.iter().map(|mistake| format!("\n  {mistake}")).collect::<String>())]
    Templates(Vec<Mistake>),
}

impl OpenError {
    /// Whether a log is damaged: a person decides how it goes on.
    pub fn is_damage(&self) -> bool {
        matches!(self, OpenError::Log(_, fault) if fault.is_damage())
    }
}

/// What all threads see.
#[derive(Debug)]
pub(crate) struct Shared {
    folder: PathBuf,
    /// The inventory as it is on disk.
    inventory: Mutex<Arc<Inventory>>,
    library: RwLock<Arc<Library>>,
    flow: Arc<Flow>,
    lanes: Vec<lanes::Shown>,
    probes: probes::Shown,
    /// What lanes and probes had to tell the owner of the inventory, and did not.
    news_left_out: Arc<AtomicU64>,
    /// Data sources that have said something.
    said: said::Said,
    /// What somebody looks at in real time.
    realtime: realtime::Watchers,
    own: Own,
    keeper: Mutex<Kept>,
    owner: Mutex<status::OwnerShown>,
    /// Held to write while files are written, and to read while they are read.
    files: RwLock<()>,
    /// Why nothing goes on any more.
    failure: Mutex<Option<String>>,
}

/// The program's own metrics, once somebody gives them.
#[derive(Default)]
struct Own(OnceLock<OwnMetrics>);

impl core::fmt::Debug for Own {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(if self.0.get().is_some() { "given" } else { "not given" })
    }
}

impl Shared {
    /// The program's own metrics; nothing while nobody gives them.
    fn own(&self) -> String {
        self.own.0.get().map(|own| own()).unwrap_or_default()
    }

    fn inventory(&self) -> Arc<Inventory> {
        Arc::clone(&self.inventory.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn library(&self) -> Arc<Library> {
        Arc::clone(&self.library.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The first reason stays.
    fn fail(&self, why: String) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.is_none() {
            tracing::error!("graphs: {why}");
            *failure = Some(why);
        }
    }

    fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Graphs that are run. Dropped, they end.
#[derive(Debug)]
pub struct Graphs {
    handle: Handle,
    owner: Option<JoinHandle<()>>,
    lanes: Vec<JoinHandle<()>>,
    to_lanes: Vec<SyncSender<lanes::ToLane>>,
    probes: Option<JoinHandle<()>>,
    to_probes: SyncSender<probes::ToProbes>,
    keeper: Option<JoinHandle<()>>,
    journal: Option<Arc<Committer>>,
}

impl Graphs {
    /// Opens the folder, which is made if it is not there, and begins to poll what its inventory has.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(folder: &Path, options: &Options) -> Result<Graphs, OpenError> {
        Graphs::open_with(folder, options, EchoSockets::open())
    }

    /// The same with sockets for echo requests that were opened while there was the right to.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open_with(folder: &Path, options: &Options, echo: EchoSockets) -> Result<Graphs, OpenError> {
        make(folder)?;
        let library = Arc::new(templates(&folder.join("templates"))?);
        let (inventory, log, log_folder, has_gaps) = open_inventory(folder, options)?;
        let swept = said::sweep(folder, &inventory, has_gaps);
        let mut swept = swept.map_err(|error| OpenError::Io(folder.display().to_string(), error))?;
        let journal_disk = Arc::new(open_log_folder(folder, "journal")?);
        let journal_options = log_options(options);
        let (mut behind_octets, mut given_up) = (0, 0_u64);
        let count = |_: u64, record: &[u8]| {
            behind_octets += record.len() as u64;
            given_up += u64::from(record.is_empty());
            // One that is not whole is told when it is brought.
            let _whole = crate::journal::each(record, |source, _, _| {
                swept.said.insert(source);
            });
            Ok(())
        };
        let log_of_samples = Log::open(Arc::clone(&journal_disk), journal_options, |_| Ok(()), count);
        let log_of_samples = log_of_samples.map_err(|fault| OpenError::Log("the journal of samples", fault))?;
        if given_up > 0 {
            tracing::warn!("graphs: a repair of the journal gave up {given_up} records: their samples are lost");
        }
        for damaged in &log_of_samples.found().damaged {
            tracing::error!("graphs: the journal of samples is damaged, and gone on without: {damaged}");
        }
        let filed = log_of_samples.found().snapshot;
        let waiting = log_of_samples.next() - 1 - filed;
        if waiting > 0 || log_of_samples.found().cut_off {
            tracing::info!(records = waiting, "graphs: writing journal records into files");
        }
        let (to_keeper, keeper_hears) = sync_channel(MESSAGES_MAX);
        let flow = Flow::new(options.journal_octets_max, filed, to_keeper.clone());
        flow.behind_octets.store(behind_octets, Ordering::Relaxed);
        let tells = Arc::clone(&flow);
        let journal = Committer::start(log_of_samples, journal_options, move |progress| tells.tell(&progress))
            .map_err(|error| OpenError::Io("a thread of the journal".to_owned(), error))?;
        let journal = Arc::new(journal);
        flow.durable.store(journal.durable(), Ordering::Release);
        let lanes = options.lanes.clamp(1, LANES_MAX);
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            inventory: Mutex::new(Arc::new(inventory)),
            library: RwLock::new(library),
            flow: Arc::clone(&flow),
            lanes: (0..lanes).map(|_| lanes::Shown::default()).collect(),
            probes: probes::Shown::default(),
            news_left_out: Arc::default(),
            said: said::Said::default(),
            realtime: realtime::Watchers::default(),
            own: Own::default(),
            keeper: Mutex::new(Kept::default()),
            owner: Mutex::new(status::OwnerShown::default()),
            files: RwLock::new(()),
            failure: Mutex::new(None),
        });
        shared.said.add(swept.said.iter().copied());
        let intake = Intake::new(&journal, flow);
        let keeper = keeper::Keeper::open(Arc::clone(&shared), journal_disk, options.writer, filed, &swept)?;
        let (to_owner, owner_hears) = sync_channel(MESSAGES_MAX);
        let (to_probes, probes_hear) = sync_channel(MESSAGES_MAX);
        let handle = Handle::new(Arc::clone(&shared), to_owner.clone(), to_keeper.clone(), intake.clone());
        let mut graphs = Graphs {
            handle,
            owner: None,
            lanes: Vec::new(),
            to_lanes: Vec::new(),
            probes: None,
            to_probes: to_probes.clone(),
            keeper: Some(thread("graph-files", move || keeper.run(&keeper_hears))?),
            journal: Some(journal),
        };
        for place in 0..lanes {
            let (to_lane, hears) = sync_channel(MESSAGES_MAX);
            let lane = lanes::Lane::open(Arc::clone(&shared), place, options, intake.clone(), to_owner.clone());
            let lane = lane.map_err(|error| OpenError::Io("a socket for polling".to_owned(), error))?;
            graphs.lanes.push(thread(&format!("graph-poll-{place}"), move || lane.run(&hears))?);
            graphs.to_lanes.push(to_lane);
        }
        let probes = probes::Probes::open(Arc::clone(&shared), echo, intake, to_owner.clone())?;
        graphs.probes = Some(thread("graph-probes", move || probes.run(&probes_hear))?);
        let asks = addresses::start(to_owner)?;
        let lanes = graphs.to_lanes.clone();
        let ways = owner::Ways { lanes, probes: to_probes, keeper: to_keeper, addresses: asks };
        let owner = owner::Owner::start(shared, log, log_options(options), log_folder, ways, options.explore_every);
        let owner = owner.map_err(|error| OpenError::Io("a thread of the inventory".to_owned(), error))?;
        graphs.owner = Some(thread("graph-inventory", move || owner.run(&owner_hears))?);
        Ok(graphs)
    }

    /// What orders are given to, and what is to be seen.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Ends it: what was polled is in files.
    pub fn stop(mut self) {
        self.end();
    }

    /// Who makes samples ends first, who keeps them last.
    fn end(&mut self) {
        self.handle.end_owner();
        join(self.owner.take());
        for lane in self.to_lanes.drain(..) {
            // One that has failed does not hear it.
            let _ = lane.send(lanes::ToLane::Stop);
        }
        let _ = self.to_probes.send(probes::ToProbes::Stop);
        self.lanes.drain(..).for_each(|lane| join(Some(lane)));
        join(self.probes.take());
        if let Some(journal) = self.journal.take() {
            self.handle.end_intake(journal);
        }
        self.handle.end_keeper();
        join(self.keeper.take());
    }
}

impl Drop for Graphs {
    fn drop(&mut self) {
        self.end();
    }
}

fn join(thread: Option<JoinHandle<()>>) {
    if let Some(Err(_)) = thread.map(JoinHandle::join) {
        tracing::error!("a thread of graphs failed; this is a defect of Trunkline");
    }
}

fn thread(name: &str, runs: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenError> {
    Builder::new().name(name.to_owned()).spawn(runs).map_err(|error| OpenError::Io("a thread".to_owned(), error))
}

fn make(folder: &Path) -> Result<(), OpenError> {
    std::fs::create_dir_all(folder).map_err(|error| OpenError::Io(folder.display().to_string(), error))
}

fn log_options(options: &Options) -> trunkline_commit::Options {
    trunkline_commit::Options { segment_octets: options.segment_octets, ..trunkline_commit::Options::default() }
}

fn open_log_folder(folder: &Path, name: &str) -> Result<Folder, OpenError> {
    let path = folder.join(name);
    Folder::open(&path).map_err(|error| OpenError::Io(path.display().to_string(), error))
}

/// The inventory as its log tells it, and whether entries are gone that a repair gave up.
fn open_inventory(folder: &Path, options: &Options) -> Result<(Inventory, Log<Folder>, Arc<Folder>, bool), OpenError> {
    let disk = Arc::new(open_log_folder(folder, "inventory")?);
    let mut restoring: Option<Restoring> = None;
    let mut inventory = Inventory::default();
    let begin =
        |record: &[u8]| restoring.get_or_insert_with(Restoring::default).take(record).map_err(|why| why.to_string());
    // The snapshot is read to its end before the first entry behind it.
    let mut entries: Vec<Entry> = Vec::new();
    let fold = |_: u64, record: &[u8]| match record {
        // One that a repair gave up.
        [] => Ok(()),
        record => Entry::decode(record).map(|entry| entries.push(entry)).map_err(|e| e.to_string()),
    };
    let fault = |fault| OpenError::Log("the inventory", fault);
    let log = Log::open(Arc::clone(&disk), log_options(options), begin, fold).map_err(fault)?;
    if let Some(restoring) = restoring {
        let refused = |why: crate::inventory::NoSnapshot| Fault::Refused { number: 0, why: why.to_string() };
        inventory = restoring.inventory().map_err(|why| fault(refused(why)))?;
    }
    let (mut gone, mut left_out) = (0, 0);
    for entry in &entries {
        let refused = |why: crate::inventory::Refusal| Fault::Refused { number: entry.sequence, why: why.to_string() };
        gone += entry.sequence.saturating_sub(inventory.sequence() + 1);
        if gone == 0 {
            inventory.apply(entry).map_err(|why| fault(refused(why)))?;
        } else {
            inventory.give_up_to(entry.sequence - 1);
            left_out += inventory.apply_behind_a_gap(entry).map_err(|why| fault(refused(why)))?;
        }
    }
    gone += log.next() - 1 - inventory.sequence();
    if gone > 0 {
        inventory.give_up_to(log.next() - 1);
        inventory.filled();
        tracing::warn!(
            "graphs: a repair of the inventory gave up {gone} entries; {left_out} changes in later ones, of things \
                that \
             only those knew, are left out"
        );
    }
    if log.found().cut_off {
        tracing::warn!(
            "graphs: the end of the inventory's log was cut off by a crash: an order that nobody was told of"
        );
    }
    for damaged in &log.found().damaged {
        tracing::error!("graphs: the inventory is damaged, and gone on without: {damaged}");
    }
    Ok((inventory, log, disk, gone > 0))
}

/// The templates that graphs of a folder have; nothing is made where there is none.
///
/// # Errors
/// [`OpenError`]: they cannot be read, or have mistakes.
pub fn library(folder: &Path) -> Result<Library, OpenError> {
    let templates_folder = folder.join("templates");
    if templates_folder.is_dir() { templates(&templates_folder) } else { Ok(built_in::library().clone()) }
}

/// The templates that come with the program, and those of a folder: all its files whose names end in `.toml`.
fn templates(folder: &Path) -> Result<Library, OpenError> {
    make(folder)?;
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error| OpenError::Io(path, error)
    };
    let mut files = Vec::new();
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed(folder))? {
        paths.push(entry.map_err(failed(folder))?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    for path in paths {
        let text = place::read_text(&path, TEMPLATE_FILE_OCTETS_MAX as u64).map_err(failed(&path))?;
        files.push((path.display().to_string(), text));
    }
    let texts: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let own = read(&texts, built_in::library()).map_err(OpenError::Templates)?;
    let mut library = built_in::library().clone();
    library.merge(own);
    Ok(library)
}
