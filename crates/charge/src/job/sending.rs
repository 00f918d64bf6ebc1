//! Records on their way to charging gateways: the sender with a log and two sockets.
//!
//! What is sent has a name, such as a list of files, and is cut into packets in the same way each time: how many of
//! them the log has is where it goes on. The log is kept from one list to the next, as gateways remember the numbers of
//! requests.

use super::mend::tell_found;
use super::ports::{Ports, endpoint};
use crate::gateway::sender::{Change, Counts, Entry, Restoring, Sender, Settings, State};
use crate::gateway::{NoSnapshot, Records};
use core::time::Duration;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use trunkline_commit::{Folder, Group, Keep, Log, Options, SnapshotWriter};
use trunkline_kit::place;
use trunkline_wire::Address;

/// Packets that are kept at a time.
const PACKETS: usize = 512;
/// How long it waits at most when nothing is due.
const PATIENCE: Duration = Duration::from_millis(200);
/// Octets of a segment of the log.
const SEGMENT_OCTETS: u64 = 8 << 20;
const JOB: &str = "job.json";

/// How records are sent.
#[derive(Clone, Debug)]
pub struct SendSetup {
    /// Where the log is kept.
    pub folder: PathBuf,
    /// The gateways, the first choice first; no two with one address.
    pub gateways: Vec<SocketAddr>,
    /// The address that it sends from.
    pub from: IpAddr,
    /// How long an answer is waited for (T3-RESPONSE).
    pub t3: Duration,
    /// How often a request is sent before its gateway is silent (N3-REQUESTS).
    pub n3: u32,
}

/// What is being sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Job {
    /// Its name.
    name: String,
    /// The newest entry when it began.
    begun: u64,
    done: bool,
}

/// A sender at work.
pub struct Sending {
    folder: PathBuf,
    job: Job,
    sender: Sender,
    log: Log<Folder>,
    group: Group,
    ports: Ports,
    begun: Instant,
    /// Packets of the job that were queued.
    queued: u64,
    /// The next one, for which there was no room.
    next: Option<Records>,
}

/// How far a job is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Packets that were queued.
    pub queued: u64,
    /// Packets that are on their way, or wait for a gateway.
    pub kept: usize,
    /// Packets that a gateway refused, with the cause.
    pub refused: Vec<(u64, u8)>,
    /// What was counted since this start.
    pub counts: Counts,
}

impl Sending {
    /// Begins to send what has this name, or goes on.
    ///
    /// # Errors
    /// The log is damaged, or another process has it; something else is not sent yet; the system's.
    pub fn open(setup: &SendSetup, name: &str) -> io::Result<Sending> {
        let disk = Arc::new(Folder::open(&setup.folder)?);
        let known = read_job(&setup.folder)?;
        if known.as_ref().is_some_and(|known| !known.done && known.name != name) {
            let what = known.map_or_else(String::new, |known| known.name);
            return Err(io::Error::other(format!("this is not sent yet, and comes first: {what}")));
        }
        let options = Options { segment_octets: SEGMENT_OCTETS, ..Options::default() };
        // What was sent is not sent again by the same command.
        let goes_on = known.filter(|known| !known.done || known.name == name);
        let begun = goes_on.as_ref().map(|job| job.begun);
        let (log, state, queued) = read(&disk, options, begun)?;
        let job = goes_on.unwrap_or(Job { name: name.to_owned(), begun: state.sequence(), done: false });
        write_job(&setup.folder, &job)?;
        let settings = Settings {
            address: Address::from(setup.from),
            gateways: setup.gateways.iter().map(endpoint).collect(),
            t3: setup.t3,
            n3: setup.n3,
            ..Settings::default()
        };
        Ok(Sending {
            folder: setup.folder.clone(),
            job,
            sender: Sender::new(settings, state, Duration::ZERO),
            log,
            group: Group::new(&options),
            ports: Ports::open(setup.from)?,
            begun: Instant::now(),
            queued,
            next: None,
        })
    }

    /// Packets that the log has already: what is sent goes on after them.
    pub fn queued(&self) -> u64 {
        self.queued
    }

    /// How far it is.
    pub fn sent(&self) -> Sent {
        Sent {
            queued: self.queued,
            kept: self.sender.state().len(),
            refused: self.sender.state().refused().collect(),
            counts: *self.sender.counts(),
        }
    }

    /// Does what can be done now, and waits a moment where nothing can; whether all packets are where they belong, or
    /// were refused.
    ///
    /// # Errors
    /// The log cannot be written; or the next packet's.
    pub fn step(&mut self, packets: &mut impl Iterator<Item = io::Result<Records>>) -> io::Result<bool> {
        let now = self.begun.elapsed();
        let mut entries = Vec::new();
        self.ports.receive(&mut self.sender, now, &mut entries)?;
        if self.sender.due().is_some_and(|due| due <= now) {
            self.sender.handle_timeout(now, &mut entries);
        }
        let ended = self.queue(packets, &mut entries)?;
        self.commit(&entries)?;
        self.ports.send(&mut self.sender, now, || true);
        let state = self.sender.state();
        let done = ended && state.refused().count() == state.len();
        if done && !self.job.done {
            self.job.done = true;
            write_job(&self.folder, &self.job)?;
        } else if entries.is_empty() {
            self.wait(now)?;
        }
        Ok(done)
    }

    /// Queues as many packets as there is room for; whether that was the last.
    fn queue(
        &mut self,
        packets: &mut impl Iterator<Item = io::Result<Records>>,
        entries: &mut Vec<Entry>,
    ) -> io::Result<bool> {
        while self.sender.state().len() < PACKETS {
            let next = match self.next.take() {
                Some(next) => next,
                None => match packets.next() {
                    Some(packet) => packet?,
                    None => return Ok(true),
                },
            };
            match self.sender.queue(next.clone()) {
                Ok(entry) => entries.push(entry),
                // Its number is too far from the oldest one that is on its way.
                Err(_) => {
                    self.next = Some(next);
                    break;
                }
            }
        }
        Ok(false)
    }

    /// Makes entries durable.
    fn commit(&mut self, entries: &[Entry]) -> io::Result<()> {
        for entry in entries {
            let octets = entry.encode();
            if self.group.put(&octets).is_err() {
                self.log.commit(&mut self.group).map_err(io::Error::other)?;
                self.group.put(&octets).map_err(io::Error::other)?;
            }
            self.queued += u64::from(matches!(entry.change, Change::Queued { .. }));
        }
        if self.group.count() > 0 {
            self.log.commit(&mut self.group).map_err(io::Error::other)?;
        }
        self.sender.durable(self.sender.state().sequence());
        Ok(())
    }

    /// Waits for a message, or until something is due.
    fn wait(&self, now: Duration) -> io::Result<()> {
        let due = self.sender.due().map_or(PATIENCE, |due| due.saturating_sub(now)).min(PATIENCE);
        self.ports.wait(due)
    }
}

fn read_job(folder: &Path) -> io::Result<Option<Job>> {
    match std::fs::read_to_string(folder.join(JOB)) {
        Ok(text) => Ok(Some(serde_json::from_str(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn write_job(folder: &Path, job: &Job) -> io::Result<()> {
    place::replace(&folder.join(JOB), &serde_json::to_vec(job)?, place::PRIVATE)
}

/// What entries come to.
#[derive(Default)]
struct Reading {
    restoring: Option<Restoring>,
    state: State,
    begun: u64,
    queued: u64,
}

impl Reading {
    fn settle(&mut self) -> Result<(), String> {
        let restored = self.restoring.take().map(Restoring::state).transpose();
        if let Some(state) = restored.map_err(|none: NoSnapshot| none.to_string())? {
            self.state = state;
        }
        Ok(())
    }

    fn entry(&mut self, number: u64, record: &[u8]) -> Result<(), String> {
        self.settle()?;
        let entry = Entry::decode(record).filter(|entry| entry.sequence == number);
        let entry = entry.ok_or("not an entry of a sender of records of this version")?;
        self.queued += u64::from(number > self.begun && matches!(entry.change, Change::Queued { .. }));
        self.state.fold(&entry);
        Ok(())
    }
}

/// Opens the log: its state, and the packets that were queued after an entry, the beginning of a job. Without one a
/// snapshot is made of what is closed, and segments are removed that nothing needs.
fn read(disk: &Arc<Folder>, options: Options, begun: Option<u64>) -> io::Result<(Log<Folder>, State, u64)> {
    let reading = RefCell::new(Reading { begun: begun.unwrap_or(u64::MAX), ..Reading::default() });
    let log = Log::open(
        Arc::clone(disk),
        options,
        |record| {
            let mut reading = reading.borrow_mut();
            reading.restoring.get_or_insert_default().take(record).map_err(|none| none.to_string())
        },
        |number, record| reading.borrow_mut().entry(number, record),
    );
    let log = log.map_err(io::Error::other)?;
    tell_found("charging: the log of a sender of records", log.found());
    let mut reading = reading.into_inner();
    reading.settle().map_err(io::Error::other)?;
    if begun.is_none() && log.sealed() > log.found().snapshot {
        fold(disk, log.sealed()).map_err(io::Error::other)?;
    }
    Ok((log, reading.state, reading.queued))
}

/// Makes a snapshot of the closed segments.
fn fold(disk: &Folder, to: u64) -> Result<(), trunkline_commit::Fault> {
    let mut reading = Reading { begun: u64::MAX, ..Reading::default() };
    let newest = trunkline_commit::Snapshot::all(disk)?.into_iter().find(|snapshot| snapshot.last <= to);
    if let Some(snapshot) = &newest {
        snapshot.each(disk, |record| {
            reading.restoring.get_or_insert_default().take(record).map_err(|none| none.to_string())
        })?;
    }
    let from = newest.map_or(0, |snapshot| snapshot.last) + 1;
    trunkline_commit::read_sealed(disk, trunkline_commit::Sealed { from, to }, |number, record| {
        reading.entry(number, record)
    })?;
    let refused = |why| trunkline_commit::Fault::Refused { number: to, why };
    reading.settle().map_err(refused)?;
    let mut writer = SnapshotWriter::begin(disk, to)?;
    reading.state.snapshot(|record| writer.put(record))?;
    writer.finish(Keep::Needed).map(drop)
}
