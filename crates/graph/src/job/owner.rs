//! The owner of the inventory: checks orders, puts them on disk, and has the lanes follow.

mod explore;
mod follows;
mod furnish;
mod reload;

use super::addresses::{Ask, Known};
use super::keeper::ToKeeper;
use super::lanes::{ToLane, lane_of};
use super::probes::ToProbes;
use super::twin::Twin;
use super::{Done, Shared, Undone, shown};
use crate::discovery::Findings;
use crate::inventory::order::Order;
use crate::inventory::{Change, DeviceState, Entry, Inventory};
use crate::poller;
use crate::targets::{self, Keys};
use crate::template::Library;
use explore::Exploring;
use follows::Follows;
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trunkline_commit::{Committer, Folder, Keep, Log, Progress, Refused, SnapshotWriter};

/// Messages whose entries go to the disk together.
const TOGETHER_MAX: usize = 256;
/// Entries after which a snapshot is written.
const SNAPSHOT_EVERY: u64 = 10_000;
/// How long it waits where nothing is due.
const PATIENCE: Duration = Duration::from_secs(3600);
/// How long it waits for the disk before it does what does not need it.
const DISK_PATIENCE: Duration = Duration::from_secs(5);
/// After this long without changes it lets go of memory that is for many of them.
const CALM: Duration = Duration::from_secs(10);

type Reply = SyncSender<Result<Done, Undone>>;

type Make = dyn FnOnce(&Inventory) -> Vec<Change> + Send;

/// What makes changes of an inventory.
pub(super) struct Making(pub Box<Make>);

impl core::fmt::Debug for Making {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Making")
    }
}

/// What the owner is told.
#[derive(Debug)]
pub(super) enum ToOwner {
    /// An order of somebody.
    Order { by: Box<str>, order: Box<Order>, reply: Reply },
    /// Changes that are made of the inventory as it is.
    Make { by: Box<str>, make: Making, reply: Reply },
    /// A device is to be looked at.
    Explore { device: u32, reply: Reply },
    /// A device was looked at, when it had started anew so often.
    Explored { device: u32, starts: u32, found: Result<Box<Findings>, &'static str> },
    /// Somebody waits to hear whether these devices answer.
    Check(Vec<u32>),
    /// Up or down, as polling by SNMP says.
    Health(u32, poller::Change),
    /// The same, as probes say.
    Probed(u32, poller::Change),
    /// It has begun to be up and down by turns, or is calm again.
    Flapping(u32, bool),
    /// Data sources of a device have said something for the first time.
    Said(u32),
    /// It has started anew: its rows may have other places.
    Stale(u32),
    /// A row is not where it was.
    Moved(u32),
    /// It cannot be polled, and why.
    Unpolled(u32, String),
    /// What its name is.
    Address(Known),
    /// The program itself is to be a device.
    OwnDevice { reply: Reply },
    /// These are the templates from now on.
    Templates { library: Arc<Library>, reply: Reply },
    /// It ends.
    Stop,
}

/// Where others hear.
pub(super) struct Ways {
    pub lanes: Vec<SyncSender<ToLane>>,
    pub probes: SyncSender<ToProbes>,
    pub keeper: SyncSender<ToKeeper>,
    pub addresses: SyncSender<Ask>,
}

/// See the module.
pub(super) struct Owner {
    shared: Arc<Shared>,
    twin: Twin,
    log: Committer,
    disk: Arc<Folder>,
    /// The disk has taken more, or nothing any more.
    durable: Receiver<()>,
    ways: Ways,
    keys: Keys,
    /// Where devices are whose addresses are names.
    addresses: HashMap<u32, (Box<str>, u16, Option<SocketAddr>)>,
    /// Devices that are to be polled and cannot be.
    unasked: BTreeSet<u32>,
    /// Devices that are probed.
    probed: BTreeSet<u32>,
    exploring: Exploring,
    /// What follows when the entries of this turn are on disk.
    turn: Turn,
    /// When the last changes were made.
    changed_at: Instant,
    snapshot_at: u64,
    snapshot: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Turn {
    replies: Vec<(Reply, Result<Done, Undone>)>,
    /// Devices that are polled in another way.
    touched: BTreeSet<u32>,
    /// Devices whose rows are what they had after so many new starts.
    fresh: HashMap<u32, u32>,
    /// Devices that are elsewhere, or of another kind, than before.
    other: BTreeSet<u32>,
    /// Data sources that are gone, with their devices.
    gone: Vec<(u32, u32)>,
    /// Data sources whose files take something else.
    changed: Vec<u32>,
    /// The last record that was appended.
    last: u64,
}

impl Owner {
    pub fn start(
        shared: Arc<Shared>,
        log: Log<Folder>,
        options: trunkline_commit::Options,
        disk: Arc<Folder>,
        ways: Ways,
        explore_every: Duration,
    ) -> std::io::Result<Owner> {
        let (tells, durable) = sync_channel(1);
        let of_log = Arc::clone(&shared);
        let snapshot_at = log.found().snapshot;
        let log = Committer::start(log, options, move |progress| {
            if let Progress::Closed(fault) = progress {
                of_log.fail(format!("the inventory cannot be written any more: {fault}"));
            }
            // One word is enough.
            let _ = tells.try_send(());
        })?;
        let twin = Twin::new(shared.inventory());
        Ok(Owner {
            shared,
            twin,
            log,
            disk,
            durable,
            ways,
            keys: Keys::default(),
            addresses: HashMap::new(),
            unasked: BTreeSet::new(),
            probed: BTreeSet::new(),
            exploring: Exploring::new(explore_every),
            turn: Turn::default(),
            changed_at: Instant::now(),
            snapshot_at,
            snapshot: None,
        })
    }

    pub fn run(mut self, hears: &Receiver<ToOwner>) {
        let all: Vec<u32> = self.twin.newest().devices().iter().map(|(id, _)| id).collect();
        for device in all {
            let is_new = self.twin.newest().observed(device).is_none();
            self.exploring.begins_with(device, is_new, Instant::now());
            self.poll(device, None);
            self.furnish_what_has_said(device);
        }
        self.commit();
        self.show();
        while self.listen(hears) {
            self.commit();
        }
        self.commit();
        self.end();
    }

    /// Hears what came together; whether it goes on.
    fn listen(&mut self, hears: &Receiver<ToOwner>) -> bool {
        self.explore_due();
        if self.changed_at.elapsed() >= CALM {
            self.twin.rest();
        }
        let longest = match self.twin.has_spare() {
            _ if self.log.durable() < self.turn.last => DISK_PATIENCE,
            true => CALM,
            false => PATIENCE,
        };
        let mut told = match hears.recv_timeout(self.exploring.patience(Instant::now()).min(longest)) {
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return false,
            Ok(told) => Some(told),
        };
        for _ in 0..TOGETHER_MAX {
            match told.take() {
                Some(ToOwner::Stop) => return false,
                Some(told) => self.hear(told),
                None => break,
            }
            told = hears.try_recv().ok();
        }
        match told {
            Some(ToOwner::Stop) => return false,
            Some(told) => self.hear(told),
            None => {}
        }
        true
    }

    fn end(mut self) {
        if let Some(before) = self.snapshot.take() {
            // It tells of its own failure.
            let _ = before.join();
        }
        let inventory = self.shared.inventory();
        if inventory.sequence() > self.snapshot_at {
            write_snapshot(&self.shared, &self.disk, &inventory);
        }
    }

    fn hear(&mut self, told: ToOwner) {
        match told {
            ToOwner::Order { by, order, reply } => {
                let library = self.shared.library();
                let changes = self.twin.newest().order(&library, &order).map_err(Undone::Refused);
                let done = changes.and_then(|changes| self.change_and_furnish(&by, changes));
                self.turn.replies.push((reply, done));
            }
            ToOwner::Make { by, make, reply } => {
                let changes = (make.0)(self.twin.newest());
                let done = self.change_and_furnish(&by, changes);
                self.turn.replies.push((reply, done));
            }
            ToOwner::OwnDevice { reply } => {
                let done = self.own_device();
                self.turn.replies.push((reply, done));
            }
            ToOwner::Templates { library, reply } => {
                let done = self.reload(library);
                self.turn.replies.push((reply, done));
            }
            ToOwner::Explore { device, reply } => {
                let done = self.wants(device);
                self.turn.replies.push((reply, done));
            }
            ToOwner::Explored { device, starts, found } => self.explored(device, starts, found),
            ToOwner::Check(devices) => {
                for device in devices {
                    self.tell_lane(device, ToLane::Check(device));
                    self.tell_probes(device, ToProbes::Check(device));
                }
            }
            ToOwner::Health(device, change) => {
                self.tell_probes(device, ToProbes::Snmp(device, change == poller::Change::Up));
                match change {
                    poller::Change::Down => self.look_up(device),
                    poller::Change::Up => self.exploring.is_up(device, Instant::now()),
                }
            }
            ToOwner::Probed(device, poller::Change::Down) => self.look_up(device),
            ToOwner::Probed(_, poller::Change::Up) => {}
            ToOwner::Flapping(device, begins) => {
                let name = self.twin.newest().devices().get(device).map(|device| device.name.to_string());
                let what = if begins { "is flapping" } else { "is stable again" };
                tracing::info!("graphs: device '{}' {what}", name.unwrap_or_default());
            }
            ToOwner::Said(device) => drop(self.furnish(device)),
            ToOwner::Stale(device) => self.exploring.now(device, Instant::now()),
            ToOwner::Moved(device) => self.exploring.soon(device, Instant::now()),
            ToOwner::Unpolled(device, why) => {
                self.trouble_of(device, &format!("it cannot be polled: {why}"));
            }
            ToOwner::Address(known) => self.address(known),
            ToOwner::Stop => {}
        }
    }

    /// Something is wrong with a device.
    fn trouble_of(&self, device: u32, what: &str) {
        let name = self.twin.newest().devices().get(device).map(|device| device.name.to_string());
        let what = format!("device '{}': {what}", name.unwrap_or_default());
        let mut shown = self.shared.owner.lock().unwrap_or_else(PoisonError::into_inner);
        shown.troubles.remember_of(Some(device), what);
    }

    /// Makes changes, all or none of them; they are on disk after the turn.
    fn change(&mut self, by: &str, changes: Vec<Change>) -> Result<Done, Undone> {
        if let Some(why) = self.shared.failure() {
            return Err(Undone::Disk(why));
        }
        let sequence = self.twin.newest().sequence();
        if changes.is_empty() {
            return Ok(Done { sequence, changes });
        }
        let at_ms = u64::try_from(super::clock::unix_ms()).unwrap_or_default();
        let entries = Entry::of_changes(sequence + 1, at_ms, by, changes.clone());
        let follows = Follows::of(self.twin.newest(), &changes);
        self.twin.apply(&entries)?;
        self.changed_at = Instant::now();
        let records: Vec<Vec<u8>> = entries.iter().map(Entry::encode).collect();
        match self.log.append(records.iter().map(Vec::as_slice)) {
            Ok(last) => self.turn.last = last,
            Err(why) => {
                self.twin.undo(entries.len());
                return Err(Undone::Disk(why.to_string()));
            }
        }
        self.turn.touched.extend(follows.touched);
        if by != explore::BY {
            self.turn.other.extend(follows.other);
        }
        self.turn.gone.extend(follows.gone);
        self.turn.changed.extend(follows.changed);
        Ok(Done { sequence: self.twin.newest().sequence(), changes })
    }

    /// Waits until all entries of the turn are on disk, shows the inventory, and tells everybody what follows. Where
    /// the disk has no room, what follows is done when it has.
    fn commit(&mut self) {
        let (last, begun) = (self.turn.last, Instant::now());
        let is_closed = || self.log.refused() == Some(Refused::Closed);
        while self.log.durable() < last && !is_closed() && begun.elapsed() < DISK_PATIENCE {
            // It comes again with each write; the writing thread always tells of its end.
            let patience = DISK_PATIENCE.saturating_sub(begun.elapsed());
            if self.durable.recv_timeout(patience) == Err(RecvTimeoutError::Disconnected) {
                break;
            }
        }
        let is_durable = self.log.durable() >= last;
        if is_durable {
            self.twin.show(&self.shared.inventory);
            self.shared.owner.lock().unwrap_or_else(PoisonError::into_inner).copies = self.twin.copies();
        }
        for (reply, done) in core::mem::take(&mut self.turn.replies) {
            let done = done.and_then(|done| if is_durable { Ok(done) } else { Err(Undone::Doubtful) });
            // Who asked may have gone.
            let _ = reply.send(done);
        }
        if is_durable {
            let turn = core::mem::take(&mut self.turn);
            self.turn.last = last;
            self.follow(turn);
            self.snapshot_if_due();
        }
    }

    fn follow(&mut self, turn: Turn) {
        if turn.touched.is_empty() && turn.fresh.is_empty() && turn.gone.is_empty() {
            return;
        }
        let inventory = self.shared.inventory();
        let mut touched = turn.touched;
        touched.extend(turn.fresh.keys());
        for device in touched {
            self.poll(device, turn.fresh.get(&device).copied());
            if self.is_polled(&inventory, device) {
                self.exploring.begins(device, Instant::now());
            } else {
                self.exploring.forget(device);
            }
        }
        turn.other.into_iter().for_each(|device| self.exploring.now(device, Instant::now()));
        self.show();
        if !turn.gone.is_empty() {
            self.tell_keeper(ToKeeper::Remove(turn.gone));
        }
        if !turn.changed.is_empty() {
            self.tell_keeper(ToKeeper::Changed(turn.changed));
        }
    }

    fn tell_keeper(&self, told: ToKeeper) {
        // Without it nothing is written any more, which it has told.
        let _ = self.ways.keeper.send(told);
    }

    fn tell_lane(&self, device: u32, told: ToLane) {
        // One that has failed polls nothing.
        let _ = self.ways.lanes[lane_of(device, self.ways.lanes.len())].send(told);
    }

    /// Tells what is of a device that is probed.
    fn tell_probes(&self, device: u32, told: ToProbes) {
        if self.probed.contains(&device) {
            // Without that thread nothing is probed, which it has told.
            let _ = self.ways.probes.send(told);
        }
    }

    /// Has a device polled and probed as the inventory says.
    fn poll(&mut self, device: u32, fresh: Option<u32>) {
        let (inventory, library) = (self.shared.inventory(), self.shared.library());
        let plan = targets::plan(&inventory, &library, &mut self.keys, device);
        let probes = targets::probes::plan(&inventory, &library, device);
        let wants = is_to_be_polled(&inventory, device);
        if plan.is_none() && wants {
            self.unasked.insert(device)
        } else {
            self.unasked.remove(&device)
        };
        let of_plan = plan.as_ref().map(|plan| (plan.host.clone(), plan.port));
        let place = of_plan.or_else(|| probes.as_ref().map(|plan| (plan.host.clone(), plan.port)));
        let address = match place {
            Some((host, port)) => self.address_of(device, &host, port),
            None => {
                self.addresses.remove(&device);
                None
            }
        };
        match (plan, address) {
            (Some(plan), Some(address)) => {
                self.tell_lane(device, ToLane::Set { plan: Box::new(plan), address, fresh });
            }
            (Some(_), None) => {}
            (None, _) => self.tell_lane(device, ToLane::Remove(device)),
        }
        match (probes, address) {
            (Some(plan), Some(address)) => {
                self.probed.insert(device);
                let snmp = shown::answers_snmp(&self.shared, device);
                self.tell_probes(device, ToProbes::Set { plan: Box::new(plan), address: address.ip(), snmp });
            }
            (Some(_), None) => {}
            (None, _) => {
                self.tell_probes(device, ToProbes::Remove(device));
                self.probed.remove(&device);
            }
        }
    }

    /// Whether a device is polled, as the inventory says.
    fn is_polled(&self, inventory: &Inventory, device: u32) -> bool {
        is_to_be_polled(inventory, device) && !self.unasked.contains(&device)
    }

    fn show(&self) {
        let mut shown = self.shared.owner.lock().unwrap_or_else(PoisonError::into_inner);
        shown.nameless = self.addresses.values().filter(|(.., address)| address.is_none()).count();
        shown.unfound.retain(|device, _| matches!(self.addresses.get(device), Some((.., None))));
        shown.unasked = self.unasked.len();
    }

    /// Where a device is; a name is looked up, and the device polled when it is known.
    fn address_of(&mut self, device: u32, host: &str, port: u16) -> Option<SocketAddr> {
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if let Ok(ip) = bare.parse::<IpAddr>() {
            self.addresses.remove(&device);
            return Some(SocketAddr::new(ip, port));
        }
        match self.addresses.get(&device) {
            Some((known, of_port, address)) if **known == *host && *of_port == port => *address,
            _ => {
                self.addresses.insert(device, (host.into(), port, None));
                self.look_up(device);
                None
            }
        }
    }

    /// Has the name of a device looked up, if it has one: also when it went down, for it may be elsewhere now.
    fn look_up(&mut self, device: u32) {
        if let Some((host, port, _)) = self.addresses.get(&device) {
            // A thread that failed looks up nothing; where so many wait, the next time will do.
            let _ = self.ways.addresses.try_send(Ask { device, host: host.clone(), port: *port });
        }
    }

    fn address(&mut self, known: Known) {
        let Known { device, host, port, address } = known;
        let Some(place) = self.addresses.get_mut(&device) else { return };
        if (&place.0, place.1) != (&host, port) {
            return;
        }
        match address {
            Ok(address) if place.2 != Some(address) => {
                place.2 = Some(address);
                self.poll(device, None);
                self.show();
            }
            Ok(_) => {}
            Err(why) => {
                let is_nowhere = place.2.is_none();
                let what = format!("{host}: {why}");
                self.trouble_of(device, &what);
                if is_nowhere {
                    self.shared.owner.lock().unwrap_or_else(PoisonError::into_inner).unfound.insert(device, what);
                }
                // Where it was is better than nowhere.
                self.exploring.soon(device, Instant::now());
            }
        }
    }

    fn snapshot_if_due(&mut self) {
        let inventory = self.shared.inventory();
        if inventory.sequence() < self.snapshot_at + SNAPSHOT_EVERY {
            return;
        }
        if self.snapshot.as_ref().is_some_and(|before| !before.is_finished()) {
            return;
        }
        self.snapshot_at = inventory.sequence();
        let (shared, disk) = (Arc::clone(&self.shared), Arc::clone(&self.disk));
        let writes = move || write_snapshot(&shared, &disk, &inventory);
        self.snapshot = std::thread::Builder::new().name("graph-snapshot".to_owned()).spawn(writes).ok();
    }
}

fn is_to_be_polled(inventory: &Inventory, device: u32) -> bool {
    let device = inventory.devices().get(device);
    device.is_some_and(|device| device.state != DeviceState::Disabled && device.access.version.is_some())
}

fn write_snapshot(shared: &Shared, disk: &Folder, inventory: &Inventory) {
    let written = SnapshotWriter::begin(disk, inventory.sequence()).and_then(|mut snapshot| {
        inventory.snapshot(|record| snapshot.put(record))?;
        snapshot.finish(Keep::Needed)
    });
    if let Err(fault) = written {
        let mut shown = shared.owner.lock().unwrap_or_else(PoisonError::into_inner);
        shown.troubles.remember(format!("a snapshot of the inventory cannot be written: {fault}"));
    }
}
