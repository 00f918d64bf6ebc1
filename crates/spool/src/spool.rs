//! The spool: volumes with their threads, and the memory in front of them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::disk::Disk;
use crate::engine::{self, Engine, Faulty};
use crate::error::SpoolError;
use crate::event::{Event, Loss};
use crate::options::{Direct, Engine as Wanted, Options, PAGE, Priority};
use crate::shared::Shared;
use crate::stats::Stats;
use crate::volume::Volume;
use crate::writer::Writer;
use crate::writing::Writing;
use crate::{packing, sealing};

/// How long a spool that is dropped waits for its disks.
const DROP_PATIENCE: Duration = Duration::from_secs(10);
/// How long it then waits for what is thrown away to be counted.
const HURRY_PATIENCE: Duration = Duration::from_secs(1);
/// Blocks that the memory holds at least.
const BLOCKS_MIN: usize = 4;

/// Writes segments of many writers to one or more volumes. One per process.
///
/// Dropping it is [`Spool::close`] with ten seconds of patience.
#[derive(Debug)]
pub struct Spool {
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// What was found when the spool was opened.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// What is not as the options asked, a sentence each: no `O_DIRECT` here, no io_uring.
    pub notes: Vec<String>,
}

/// What there was to tell when a spool was closed.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// The last statistics.
    pub stats: Stats,
    /// Events since they were asked for last.
    pub events: Vec<Event>,
    /// Losses since they were asked for last; those of closing itself are among them.
    pub losses: Vec<Loss>,
}

impl Spool {
    /// Opens the volumes (their folders are made if they are missing) and starts their threads. A volume that cannot be
    /// written now is left out until it can; that is in [`Spool::events`].
    ///
    /// # Errors
    /// The options have no sense, or no thread can be started.
    pub fn open(options: Options) -> Result<(Spool, Opened), SpoolError> {
        check(&options)?;
        let direct = options.direct != Direct::Off;
        let volumes = options.volumes.iter().enumerate().map(|(i, v)| Volume::new(i, Disk::new(v, direct))).collect();
        let shared = Arc::new(Shared::new(options, volumes));
        let mut spool = Spool { shared, stop: Arc::default(), threads: Vec::new() };
        let mut opened = Opened::default();
        for index in 0..spool.shared.volumes.len() {
            spool.start_volume(index, &mut opened)?;
        }
        let (shared, stop) = (spool.shared.clone(), spool.stop.clone());
        spool.start("spool-pack".to_owned(), move || packing::run(&shared, &stop))?;
        Ok((spool, opened))
    }

    /// A writer of this priority; `tag` is the caller's number for it, borne by its losses.
    pub fn writer(&self, priority: Priority, tag: u32) -> Writer {
        Writer::new(self.shared.clone(), priority, tag)
    }

    /// What is counted, as of now.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// What happened since the last call, oldest first.
    pub fn events(&self) -> Vec<Event> {
        self.shared.log.events()
    }

    /// What was lost, since the last call, after it had been accepted. Refused appends are known to who made them.
    pub fn losses(&self) -> Vec<Loss> {
        self.shared.log.losses()
    }

    /// Waits until all that was handed over is written or lost and all sealed segments are committed, at most
    /// `patience`. Whether it came to that.
    pub fn settle(&self, patience: Duration) -> bool {
        self.shared.settle(patience)
    }

    /// Settles and ends the threads; what is not written after `patience` is lost and counted. Seal or drop the writers
    /// before.
    pub fn close(mut self, patience: Duration) -> Ended {
        self.end(patience);
        Ended { stats: self.stats(), events: self.events(), losses: self.losses() }
    }

    fn end(&mut self, patience: Duration) {
        let mut settled = self.settle(patience);
        if !settled {
            self.shared.hurry.store(true, Ordering::Relaxed);
            settled = self.settle(HURRY_PATIENCE);
        }
        self.shared.volumes.iter().for_each(|v| v.queue.close());
        self.stop.store(true, Ordering::Release);
        self.shared.packer.ring();
        // A thread that hangs in the kernel is left there.
        for thread in self.threads.drain(..).filter(|_| settled) {
            let _ = thread.join();
        }
    }

    fn start_volume(&mut self, index: usize, opened: &mut Opened) -> Result<(), SpoolError> {
        let Some(volume) = self.shared.volumes.get(index) else { return Ok(()) };
        let path = volume.disk.root.display();
        if let Err(error) = volume.disk.probe() {
            opened.notes.push(format!("{path}: cannot be written now, tried again every second: {error}"));
            volume.fail(&error, "probe", &self.shared.log);
        } else if self.shared.options.direct != Direct::Off && !volume.disk.try_direct() {
            opened.notes.push(format!("{path}: no O_DIRECT on this file system, written through the page cache"));
        }
        let (mut engine, other) = engine::open(self.shared.options.engine, self.shared.options.depth);
        if let (Some(error), true) = (other, self.shared.options.engine != Wanted::Pwrite) {
            opened.notes.push(format!("{path}: no io_uring ({error}), one write at a time"));
        }
        volume.figures().engine = engine.name();
        if let Some(faults) = volume.disk.faults() {
            engine = Box::new(Faulty::new(engine, faults.clone()));
        }
        self.start_threads(index, engine)
    }

    fn start_threads(&mut self, index: usize, engine: Box<dyn Engine>) -> Result<(), SpoolError> {
        let (seals, written) = mpsc::channel();
        let mut writing = Writing::new(self.shared.clone(), index, engine, seals);
        self.start(format!("spool-disk-{index}"), move || writing.run())?;
        let shared = self.shared.clone();
        self.start(format!("spool-seal-{index}"), move || sealing::run(&shared, index, &written))
    }

    fn start(&mut self, name: String, run: impl FnOnce() + Send + 'static) -> Result<(), SpoolError> {
        let thread: io::Result<_> = Builder::new().name(name).spawn(run);
        self.threads.push(thread.map_err(SpoolError::Thread)?);
        Ok(())
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            self.end(DROP_PATIENCE);
        }
    }
}

fn check(options: &Options) -> Result<(), SpoolError> {
    let wrong = |text: String| Err(SpoolError::Option(text));
    let block = options.block;
    if options.volumes.is_empty() {
        return wrong("no volume is given".to_owned());
    }
    if block == 0 || !block.is_multiple_of(PAGE) || u32::try_from(block).is_err() {
        return wrong(format!("a block of {block} octets: it must be a multiple of {PAGE} below 4 GiB"));
    }
    if options.memory / BLOCKS_MIN < block {
        return wrong(format!("memory of {} octets: at least {BLOCKS_MIN} blocks of {block}", options.memory));
    }
    if options.reserves.iter().any(|r| *r > options.memory - block) {
        return wrong("a reserve leaves no memory for a block".to_owned());
    }
    Ok(())
}
