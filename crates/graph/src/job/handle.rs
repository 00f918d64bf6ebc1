//! What others have of graphs: what there is to see, and where orders go.

use super::intake::Intake;
use super::keeper::{Despiked, NoSpikes, ToKeeper};
use super::owner::{Making, ToOwner};
use super::shown::{self, DeviceShown};
use super::status::{self, Status};
use super::watching::{self, Health, Watching};
use super::{OpenError, OwnMetrics, Shared};
use crate::answer::Added;
use crate::files;
use crate::inventory::order::Order;
use crate::inventory::{Change, Device, Inventory, Refusal};
use crate::template::Library;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, PoisonError};
use trunkline_commit::Committer;
use trunkline_rrd::{Fault, Question, RrdFile, Series, SpikeSearch};

/// An order that was carried out: its entry is on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// The number of its entry; of the last one, if nothing was to be changed.
    pub sequence: u64,
    /// What has changed.
    pub changes: Vec<Change>,
}

/// Why an order was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undone {
    /// It cannot be done, and why.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The disk is full or has failed: nothing has changed.
    #[error("the inventory cannot be written: {0}")]
    Disk(String),
    /// It was on its way to the disk when that failed: the next start says whether it holds.
    #[error("the disk failed before the order was confirmed")]
    Doubtful,
    /// The run has ended.
    #[error("the graph poller has stopped")]
    Over,
}

/// Templates that were read anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reloaded {
    /// Data templates, those that come with the program among them.
    pub data: usize,
    /// Graph templates.
    pub graphs: usize,
    /// Device templates.
    pub devices: usize,
    /// Whether any is another one than before.
    pub changed: bool,
}

/// Why templates were not taken.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// They cannot be read, or have mistakes.
    #[error("{0}")]
    Templates(OpenError),
    /// The run has ended.
    #[error("{0}")]
    Undone(Undone),
}

/// What data sources are told: name and value.
type Argument = (Box<str>, Box<str>);

/// A handle of graphs that are run; copies are the same.
#[derive(Clone, Debug)]
pub struct Handle {
    shared: Arc<Shared>,
    to_owner: SyncSender<ToOwner>,
    to_keeper: SyncSender<ToKeeper>,
    intake: Intake,
}

impl Handle {
    pub(super) fn new(
        shared: Arc<Shared>,
        to_owner: SyncSender<ToOwner>,
        to_keeper: SyncSender<ToKeeper>,
        intake: Intake,
    ) -> Handle {
        Handle { shared, to_owner, to_keeper, intake }
    }

    /// The folder of graphs.
    pub fn folder(&self) -> &Path {
        &self.shared.folder
    }

    /// The inventory as it is on disk at this moment. It does not change: who wants to see what comes asks again.
    pub fn inventory(&self) -> Arc<Inventory> {
        self.shared.inventory()
    }

    /// The templates.
    pub fn library(&self) -> Arc<Library> {
        self.shared.library()
    }

    /// The file of a data source, which is there once it has a sample; none if there is no such data source.
    pub fn file(&self, source: u32) -> Option<PathBuf> {
        let device = self.inventory().sources().get(source)?.device;
        Some(self.shared.folder.join(files::path(device, source)))
    }

    /// Has an order carried out for somebody, a user or a part of the program; waits until its entry is on disk.
    ///
    /// # Errors
    /// [`Undone`].
    pub fn order(&self, by: &str, order: Order) -> Result<Done, Undone> {
        self.ask(|reply| ToOwner::Order { by: by.into(), order: Box::new(order), reply })
    }

    /// Makes a device. Without SNMP it has the data sources of its template at once, which are told their arguments.
    ///
    /// # Errors
    /// [`Undone`]: nothing was made, unless the disk fails between the two.
    pub fn add_device(&self, by: &str, added: Added) -> Result<(u32, Done), Undone> {
        let Added { device, template, arguments } = added;
        if !arguments.is_empty() {
            self.check_arguments(&device, template.as_deref(), &arguments)?;
        }
        let mut done = match template {
            Some(template) => self.order(by, Order::AddDevice(device, template))?,
            None => self.order(by, Order::Device(None, device))?,
        };
        let made = done.changes.iter().find_map(|change| match change {
            Change::Device { id, .. } => Some(*id),
            _ => None,
        });
        let id = made.ok_or(Undone::Over)?;
        if !arguments.is_empty() {
            let inventory = self.inventory();
            let told = self.tell_arguments(by, inventory.sources_of(id), &arguments)?;
            done.sequence = told.unwrap_or(done.sequence);
        }
        Ok((id, done))
    }

    fn check_arguments(&self, device: &Device, template: Option<&str>, said: &[Argument]) -> Result<(), Undone> {
        let library = self.library();
        let wrong = |why: String| Err(Refusal::Wrong(why).into());
        let Some(found) = template.and_then(|name| library.devices.get(name)) else {
            return wrong("arguments are of a device template: name one that there is".to_owned());
        };
        if device.access.version.is_some() {
            return wrong("a device with SNMP gets its data sources when it was looked at: tell them then".to_owned());
        }
        let known: BTreeSet<String> = library.data_of(found).flat_map(|data| data.arguments()).collect();
        match said.iter().find(|(name, _)| !known.contains(&**name)) {
            None => Ok(()),
            Some((name, _)) if known.is_empty() => wrong(format!("that template has no arguments, also no '{name}'")),
            Some((name, _)) => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                wrong(format!("that template has no argument '{name}': it has {}", known.join(", ")))
            }
        }
    }

    /// Gives a device the graphs of a graph template, and tells their data sources these arguments; those.
    ///
    /// # Errors
    /// [`Undone`].
    pub fn attach(
        &self,
        by: &str,
        device: u32,
        graph: &str,
        row: Option<u32>,
        arguments: &[Argument],
    ) -> Result<Vec<u32>, Undone> {
        let library = self.library();
        let shown: Vec<&str> = library.graphs.get(graph).map(|graph| graph.data()).unwrap_or_default();
        let known: BTreeSet<String> =
            shown.iter().filter_map(|name| library.data.get(*name)).flat_map(|data| data.arguments()).collect();
        if let Some((name, _)) = arguments.iter().find(|(name, _)| !known.contains(&**name)) {
            return Err(Refusal::Wrong(format!("graph template '{graph}' has no argument '{name}'")).into());
        }
        self.order(by, Order::AddGraphs { device, template: graph.to_owned(), row })?;
        let inventory = self.inventory();
        let is_shown = |source: &u32| {
            let source = inventory.sources().get(*source).filter(|source| row.is_none() || source.row == row);
            source.and_then(|source| inventory.template_name(source.template)).is_some_and(|name| shown.contains(&name))
        };
        let sources: Vec<u32> = inventory.sources_of(device).iter().copied().filter(is_shown).collect();
        self.tell_arguments(by, &sources, arguments)?;
        Ok(sources)
    }

    /// Tells a data source its arguments, in place of those before.
    ///
    /// # Errors
    /// [`Undone`]: there is none of that number, its template has none of that name.
    pub fn set_arguments(&self, by: &str, source: u32, said: Vec<Argument>) -> Result<Done, Undone> {
        let (inventory, library) = (self.inventory(), self.library());
        if let Some(template) = crate::targets::template(&inventory, &library, source) {
            let known = template.arguments();
            if let Some((name, _)) = said.iter().find(|(name, _)| !known.contains(&**name)) {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let has =
                    if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
                let why = format!("the template of data source {source} has no argument '{name}': {has}");
                return Err(Refusal::Wrong(why).into());
            }
        }
        self.order(by, Order::SetArguments(source, said))
    }

    /// Tells data sources those arguments that they have; the number of the last entry.
    fn tell_arguments(&self, by: &str, sources: &[u32], said: &[Argument]) -> Result<Option<u64>, Undone> {
        let (inventory, library) = (self.inventory(), self.library());
        let mut last = None;
        for source in sources {
            let Some(template) = crate::targets::template(&inventory, &library, *source) else { continue };
            let wanted = template.arguments();
            let these: Vec<Argument> = said.iter().filter(|(name, _)| wanted.contains(&**name)).cloned().collect();
            if !these.is_empty() {
                last = Some(self.order(by, Order::SetArguments(*source, these))?.sequence);
            }
        }
        Ok(last)
    }

    /// Makes changes as they are, for an import: they are checked one by one. More than a few octets are several
    /// entries, of which a crash may leave the first.
    ///
    /// # Errors
    /// [`Undone`].
    pub fn change(&self, by: &str, changes: Vec<Change>) -> Result<Done, Undone> {
        self.make(by, |_| changes)
    }

    /// Makes changes of the inventory as it is at that moment, and nothing else is made between: their numbers are the
    /// next ones. Whoever makes them does not ask for anything here, or waits for ever.
    ///
    /// # Errors
    /// [`Undone`].
    pub fn make(
        &self,
        by: &str,
        make: impl FnOnce(&Inventory) -> Vec<Change> + Send + 'static,
    ) -> Result<Done, Undone> {
        self.ask(|reply| ToOwner::Make { by: by.into(), make: Making(Box::new(make)), reply })
    }

    /// Has a device looked at now: its system group and tables. What comes of it is seen in the inventory.
    ///
    /// # Errors
    /// [`Undone`]: there is none, or it is not polled.
    pub fn explore(&self, device: u32) -> Result<Done, Undone> {
        self.ask(|reply| ToOwner::Explore { device, reply })
    }

    fn ask(&self, ask: impl FnOnce(SyncSender<Result<Done, Undone>>) -> ToOwner) -> Result<Done, Undone> {
        let (reply, comes) = sync_channel(1);
        self.to_owner.send(ask(reply)).map_err(|_| Undone::Over)?;
        comes.recv().unwrap_or(Err(Undone::Over))
    }

    /// Does something with files while nobody writes them; what waited in memory for these data sources is in them.
    pub fn read<T>(&self, sources: &[u32], read: impl FnOnce() -> T) -> T {
        let (reply, comes) = sync_channel(1);
        if self.to_keeper.send(ToKeeper::Flush(sources.to_vec(), reply)).is_ok() {
            // Without the keeper they are as they are.
            let _ = comes.recv();
        }
        let _held = self.shared.files.read().unwrap_or_else(PoisonError::into_inner);
        read()
    }

    /// Rows of the file of a data source.
    ///
    /// # Errors
    /// [`Fault`]: NotFound while it has no sample; what is asked for has no sense; the system's.
    pub fn fetch(&self, source: u32, question: &Question) -> Result<Series, Fault> {
        let path = self.file(source).ok_or_else(|| Fault::Io(std::io::ErrorKind::NotFound.into()))?;
        self.read(&[source], || RrdFile::open(&path)?.fetch(question))
    }

    /// The spikes of the file of a data source; with `apply` they go, and what the file was before is kept beside it.
    /// Whoever writes files does it between two writes.
    ///
    /// # Errors
    /// [`NoSpikes`].
    pub fn spikes(&self, source: u32, search: SpikeSearch, apply: bool) -> Result<Despiked, NoSpikes> {
        let (reply, comes) = sync_channel(1);
        self.to_keeper.send(ToKeeper::Spikes(source, search, apply, reply)).map_err(|_| NoSpikes::Over)?;
        comes.recv().unwrap_or(Err(NoSpikes::Over))
    }

    /// Has something told among what is wrong.
    pub fn trouble(&self, what: String) {
        self.shared.owner.lock().unwrap_or_else(PoisonError::into_inner).troubles.remember(what);
    }

    /// How a device is; none if it is not polled.
    pub fn device(&self, device: u32) -> Option<DeviceShown> {
        shown::of(&self.shared, device)
    }

    /// How all devices are that are polled or probed.
    pub fn healths(&self) -> Vec<Health> {
        let health = |seen: shown::Seen| Health {
            device: seen.device,
            change: seen.health,
            since_ms: seen.since_ms,
            reached_ms: seen.reached_ms,
            is_flapping: seen.is_flapping,
        };
        shown::all(&self.shared).into_iter().map(health).collect()
    }

    /// Has devices asked at once whether they answer, where that was not done in the last five seconds: what comes of
    /// it is [`Health::reached_ms`]. Not waited for: where too much waits already, false, and nothing is done.
    pub fn check_soon(&self, devices: Vec<u32>) -> bool {
        self.to_owner.try_send(ToOwner::Check(devices)).is_ok()
    }

    /// Gives the program's own metrics, in Prometheus's text format, to devices that read them. The first stay.
    pub fn give_own(&self, own: OwnMetrics) {
        let _before = self.shared.own.0.set(own);
    }

    /// Has the program itself be a device, unless there is one with its template, whatever that is called.
    ///
    /// # Errors
    /// [`Undone`].
    pub fn be_a_device(&self) -> Result<(), Undone> {
        self.ask(|reply| ToOwner::OwnDevice { reply }).map(drop)
    }

    /// Reads the templates anew: all of them, or, where any has a mistake, none. Devices follow.
    ///
    /// # Errors
    /// [`Unread`]: all mistakes at once; those that were read before hold.
    pub fn reload(&self) -> Result<Reloaded, Unread> {
        let library = super::templates(&self.shared.folder.join("templates")).map_err(Unread::Templates)?;
        let before = self.library();
        let changed = *before != library;
        let [data, graphs, devices] = [library.data.len(), library.graphs.len(), library.devices.len()];
        if changed {
            self.ask(|reply| ToOwner::Templates { library: Arc::new(library), reply }).map_err(Unread::Undone)?;
        }
        Ok(Reloaded { data, graphs, devices, changed })
    }

    /// Samples from now on, as they are taken; until it is dropped.
    pub fn watch(&self) -> Watching {
        let (watched, watching) = watching::pair();
        self.shared.flow.watched.lock().unwrap_or_else(PoisonError::into_inner).push(watched);
        watching
    }

    /// How it goes.
    pub fn status(&self) -> Status {
        status::of(&self.shared)
    }

    /// Where samples are given to that come from elsewhere than a device.
    pub fn intake(&self) -> &Intake {
        &self.intake
    }

    /// Why nothing goes on any more, if so.
    pub fn failure(&self) -> Option<String> {
        self.shared.failure()
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(super) fn end_owner(&self) {
        // One that has ended does not hear it; the same below.
        let _ = self.to_owner.send(ToOwner::Stop);
    }

    /// Has all that was taken written to the journal.
    pub(super) fn end_intake(&self, journal: Arc<Committer>) {
        let mut journal = Some(journal);
        // Others hold it for as long as an append takes.
        while let Some(held) = journal.take() {
            match Arc::try_unwrap(held) {
                Ok(alone) => drop(alone),
                Err(held) => {
                    std::thread::yield_now();
                    journal = Some(held);
                }
            }
        }
    }

    pub(super) fn end_keeper(&self) {
        let _ = self.to_keeper.send(ToKeeper::Stop);
    }
}
