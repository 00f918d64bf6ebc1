//! Records of the charging node as rows of the store: a thread that reads what the node wrote for it beside the record
//! files, and removes what the store has. A row that comes again is the same row, so that nothing needs to be
//! remembered about how far it came.
//!
//! While the store fails, what waits stays on disk; beyond [`FILES_MAX`] files the oldest goes, and is counted: the
//! record files and the ledger have what it held. Where this process has a writer of the store it is handed the rows.

use crate::run::rows::Asking;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trunkline_charge::cdr::facts::Facts;
use trunkline_charge::cdr::{Cdr, Usage};
use trunkline_charge::job::records::{Form, Told};
use trunkline_kit::Id;
use trunkline_store::row::{Charge, Rows as StoreRows};
use trunkline_store::{Access, Store};

/// How often it looks.
const PERIOD: Duration = Duration::from_secs(1);
/// How long the store may refuse rows before it is told.
const PATIENCE: Duration = Duration::from_secs(30);
/// Files that wait for the store.
// Limit: files of charging rows waiting for the store
// Beyond: the oldest is deleted
// Seen in: `trunkline_charge_cdr_rows_lost_files_total`
pub const FILES_MAX: usize = 10_000;
/// Rows that are committed together.
const ROWS: usize = 5000;

/// What was done.
#[derive(Debug, Default)]
pub struct Done {
    /// Rows that the store has.
    pub written: AtomicU64,
    /// Times that the store failed.
    pub failures: AtomicU64,
    /// Files of rows that went before the store had them.
    pub lost_files: AtomicU64,
    failure: Mutex<Option<String>>,
}

impl Done {
    /// Why the store does not take rows, as long as that is so.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, failure: Option<String>) {
        let mut known = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = failure.as_ref().filter(|why| known.as_ref() != Some(why)) {
            tracing::error!("charging: rows of records wait on disk: {why}");
        }
        *known = failure;
    }
}

/// Who writes them.
pub enum To {
    /// This thread, as nobody else of the process writes to the store, in a folder.
    Store(PathBuf),
    /// The writer of the process.
    Writer(Asking),
}

/// The thread; dropped, it writes what is there, and ends.
pub struct Rows {
    done: Arc<Done>,
    ends: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Rows {
    /// Begins to take rows out of a folder of records into the store.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start(files: PathBuf, to: To, told: Arc<Told>) -> std::io::Result<Rows> {
        let (ends, ended) = channel();
        let done = Arc::<Done>::default();
        let mut taking = Taking { files, to, told, done: Arc::clone(&done), taken: BTreeMap::new() };
        let runs = move || {
            // Answers go first; where the system does not let it be lower it is as all others.
            let _lower = rustix::process::nice(10);
            taking.run(&ended);
        };
        let thread = std::thread::Builder::new().name("charge-rows".to_owned()).spawn(runs)?;
        Ok(Rows { done, ends: Some(ends), thread: Some(thread) })
    }

    /// Why rows wait on disk, as long as that is so.
    pub fn failure(&self) -> Option<String> {
        let failed = self.thread.as_ref().is_some_and(JoinHandle::is_finished);
        failed.then(|| "their thread has failed, and goes on with the next start".to_owned()).or(self.done.failure())
    }

    /// What was done.
    pub fn done(&self) -> &Done {
        &self.done
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        drop(self.ends.take());
        // A panic of it was told when it happened.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

struct Taking {
    files: PathBuf,
    to: To,
    told: Arc<Told>,
    done: Arc<Done>,
    /// Octets of files that the store has.
    taken: BTreeMap<u32, u64>,
}

impl Taking {
    fn run(&mut self, ended: &Receiver<()>) {
        let mut failing = None;
        loop {
            let waits = ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout);
            let taken = self.take();
            match taken.is_err() {
                true => {
                    self.done.failures.fetch_add(1, Ordering::Relaxed);
                    failing.get_or_insert_with(Instant::now);
                }
                false => failing = None,
            }
            // Who else writes to the store has its turns, too: that is no trouble until it lasts.
            let lasts = failing.is_some_and(|since| since.elapsed() >= PATIENCE || !waits);
            self.done.set(taken.err().filter(|_| lasts));
            if !waits {
                return;
            }
        }
    }

    /// Takes all that is there.
    fn take(&mut self) -> Result<(), String> {
        let report = self.told.report();
        let open = report.rows;
        let mut waiting = self.closed()?;
        while waiting.len() > FILES_MAX {
            let Some((_, path)) = waiting.pop_first() else { break };
            std::fs::remove_file(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            self.done.lost_files.fetch_add(1, Ordering::Relaxed);
        }
        let mut store = None;
        for (count, path) in &waiting {
            self.file(*count, path, u64::MAX, &node_of(path), &mut store)?;
            std::fs::remove_file(path).map_err(|e| format!("{}: {e}", path.display()))?;
            self.taken.remove(count);
        }
        if let Some((count, octets)) = open {
            let path = self.files.join(format!("open-{count}.{}.part", Form::Rows.ending()));
            self.file(count, &path, octets, &report.node, &mut store)?;
        }
        Ok(())
    }

    /// Closed files of rows, by their running count.
    fn closed(&self) -> Result<BTreeMap<u32, PathBuf>, String> {
        let failed = |e: std::io::Error| format!("{}: {e}", self.files.display());
        let mut closed = BTreeMap::new();
        for entry in std::fs::read_dir(&self.files).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let count = name.strip_suffix(".rows").and_then(|name| name.split_once("_-_")?.1.split_once('.'));
            if let Some(count) = count.and_then(|(count, _)| count.parse().ok()) {
                closed.insert(count, path);
            }
        }
        Ok(closed)
    }

    /// Takes what of a file the store has not yet, up to a length.
    fn file(
        &mut self,
        count: u32,
        path: &Path,
        octets: u64,
        node: &str,
        store: &mut Option<Store>,
    ) -> Result<(), String> {
        let from = self.taken.get(&count).copied().unwrap_or(0);
        if octets <= from {
            return Ok(());
        }
        let whole = match std::fs::read(path) {
            // It was closed meanwhile: the next look finds it by its name.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            read => read.map_err(|e| format!("{}: {e}", path.display()))?,
        };
        let end = usize::try_from(octets).unwrap_or(usize::MAX).min(whole.len());
        let mut rest = whole.get(usize::try_from(from).unwrap_or(usize::MAX)..end).unwrap_or_default();
        let file = format!("{node}_-_{count}");
        while !rest.is_empty() {
            let mut rows = StoreRows::default();
            while !rest.is_empty() && rows.charges.len() < ROWS {
                let cdr = next(&mut rest).ok_or_else(|| format!("{}: a record is damaged", path.display()))?;
                rows.charges.push(row(&cdr, node, &file));
            }
            self.put(rows, store)?;
            self.taken.insert(count, (end - rest.len()) as u64);
        }
        Ok(())
    }

    fn put(&self, rows: StoreRows, store: &mut Option<Store>) -> Result<(), String> {
        let count = rows.charges.len() as u64;
        let refused = match &self.to {
            To::Store(folder) => put(folder, &rows, store)?,
            To::Writer(asking) => asking.put(rows)?,
        };
        if refused > 0 {
            // Its day cannot be written: the file stays, and is brought again.
            return Err(format!("the store refuses {refused} rows, as their day cannot be written"));
        }
        self.done.written.fetch_add(count, Ordering::Relaxed);
        Ok(())
    }
}

/// Commits rows to a store, which is opened if it is not yet; how many it refuses.
fn put(folder: &Path, rows: &StoreRows, store: &mut Option<Store>) -> Result<u64, String> {
    let store = match store {
        Some(store) => store,
        None => store.insert(Store::open(folder, Access::Write).map_err(|e| e.to_string())?),
    };
    let before = store.written().refused;
    store.write(rows).and_then(|()| store.commit()).map_err(|e| e.to_string())?;
    Ok(store.written().refused - before)
}

/// Who made a closed file: what its name begins with.
fn node_of(path: &Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.split_once("_-_").map_or_else(String::new, |(node, _)| node.to_owned())
}

/// The next record; none if it is damaged or not all there.
fn next(rest: &mut &[u8]) -> Option<Cdr> {
    let (octets, behind) = rest.split_first_chunk::<4>()?;
    let (record, behind) = behind.split_at_checked(u32::from_le_bytes(*octets) as usize)?;
    *rest = behind;
    Cdr::decode(record)
}

/// A record as a row.
pub fn row(cdr: &Cdr, node: &str, file: &str) -> Charge {
    let (facts, used) = (Facts::read(&cdr.opening.facts), cdr.used());
    let (opening, place) = (&cdr.opening, &cdr.opening.place);
    let start_ns = cdr.began.saturating_mul(1_000_000_000);
    // Two nodes may make records with one number, and a number comes again after 32 bits.
    let name = format!("{node} {} {}", cdr.number, cdr.entry);
    Charge {
        id: Id::derive(start_ns, name.as_bytes()),
        node: node.to_owned(),
        number: cdr.number,
        entry: cdr.entry,
        kind: cdr.kind.word().to_owned(),
        session: opening.session.to_string(),
        origin: opening.origin.to_string(),
        subscriber: opening.subscriber,
        account: opening.account,
        imsi: facts.imsi.unwrap_or_default().to_owned(),
        msisdn: facts.msisdn.unwrap_or_default().to_owned(),
        apn: place.apn.to_string(),
        destination: place.destination.to_string(),
        start_ns,
        end_ns: cdr.ended.saturating_mul(1_000_000_000),
        cause: cdr.cause,
        record: cdr.sequence,
        charging_id: facts.charging_id(),
        octets: used.octets,
        octets_in: used.octets_in,
        octets_out: used.octets_out,
        seconds: used.seconds,
        service_units: used.service_units,
        money: cdr.money().0,
        short: cdr.short().0,
        allowance_units: cdr.taken(),
        rated: cdr.services.iter().all(|usage| usage.rated),
        services: services(&cdr.services),
        file: file.to_owned(),
    }
}

fn services(all: &[Usage]) -> String {
    let mut out = "[".to_owned();
    for (at, usage) in all.iter().enumerate() {
        let number = |number: Option<u32>| number.map_or_else(|| "null".to_owned(), |number| number.to_string());
        let used = &usage.used;
        // Nothing fails that writes to a text.
        let _ = write!(
            out,
            "{}{{\"rating_group\":{},\"service\":{},\"rated\":{},\"octets\":{},\"octets_in\":{},\"octets_out\":{},\
             \"seconds\":{},\"service_units\":{},\"money\":{},\"short\":{},\"allowance_units\":{}}}",
            if at > 0 { "," } else { "" },
            number(usage.key.rating_group),
            number(usage.key.service),
            usage.rated,
            used.octets,
            used.octets_in,
            used.octets_out,
            used.seconds,
            used.service_units,
            usage.money,
            usage.short,
            usage.taken
        );
    }
    out + "]"
}
