//! What others have of graphs: what there is to see, and where orders go.

use super::Shared;
use super::intake::Intake;
use super::keeper::{Despiked, NoSpikes, ToKeeper};
use super::lanes::DeviceShown;
use super::owner::ToOwner;
use super::status::{self, Status};
use super::watching::{self, Health, Watching};
use crate::files;
use crate::inventory::order::Order;
use crate::inventory::{Change, Inventory, Refusal};
use crate::template::Library;
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
    #[error("the disk failed before it was known whether the order is on it")]
    Doubtful,
    /// The run has ended.
    #[error("graphs do not run any more")]
    Over,
}

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

    /// Makes changes as they are, for an import: they are checked one by one. More than a few octets are several
    /// entries, of which a crash may leave the first.
    ///
    /// # Errors
    /// [`Undone`].
    pub fn change(&self, by: &str, changes: Vec<Change>) -> Result<Done, Undone> {
        self.ask(|reply| ToOwner::Changes { by: by.into(), changes, reply })
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

    /// How a device is; none if it is not polled.
    pub fn device(&self, device: u32) -> Option<DeviceShown> {
        let lane = super::lanes::lane_of(device, self.shared.lanes.len());
        let devices = self.shared.lanes.get(lane)?.devices.lock().unwrap_or_else(PoisonError::into_inner);
        devices.get(&device).cloned()
    }

    /// How all devices are that are polled.
    pub fn healths(&self) -> Vec<Health> {
        let mut all = Vec::new();
        for lane in &self.shared.lanes {
            let devices = lane.devices.lock().unwrap_or_else(PoisonError::into_inner);
            let health = |(device, shown): (&u32, &DeviceShown)| Health { device: *device, change: shown.health };
            all.extend(devices.iter().map(health));
        }
        all
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

    /// Where samples are given to that come from elsewhere than SNMP.
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
