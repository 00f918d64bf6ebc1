//! `trunkline read`: captures in, calls out.

mod known;
mod parts;
mod recording;

use crate::bar::{Bar, TICK};
use crate::cli::DataFolder;
use crate::failure::Failure;
use crate::output::{Out, stdout};
use crate::pager::Paged;
use crate::rights;
use crate::run::service::LiveNames;
use crate::search;
use crate::selection::Selection;
use crate::show::report::{Report, report};
use crate::show::{figure, table};
use crate::stop::Stop;
use crate::terminal::Terminal;
use known::Known;
use parts::Parts;
use recording::Recording;
use rustix::fs::{FlockOperation, flock};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trunkline_calls::job::{self, Progress, ReadOptions, Sink, Summary};
use trunkline_kit::exit::Exit;
use trunkline_record::{Recorder, Rules};
use trunkline_store::row::{Loss, Rows};
use trunkline_store::store::DAYS_OF_CAPTURE;
use trunkline_store::{Access, Store, json};

/// Threads that may share the work.
// Limit: threads of `trunkline read`
// Beyond: the option is refused
// Seen in: the error message
pub const THREADS_MAX: u16 = 64;
/// Rows that are written to the store before they are made durable.
pub const COMMIT_ROWS: usize = 20_000;
/// How long the packet log may take to write what is in memory at the end.
const CLOSE_PATIENCE: Duration = Duration::from_secs(300);

/// Read capture files, store their calls, and report what went wrong
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline read office.pcap                 report on every call\n  \
    trunkline read ring-*.pcapng.gz            several files as one timeline\n  \
    tcpdump -w - port 5060 | trunkline read -  from standard input\n  \
    trunkline read --json x.pcap | jq -c 'select(.verdict)'\n\n\
    Reads pcap and pcapng, plain or in gzip, zstd or lz4. Ctrl-C stops reading and keeps what was read.\n\
    Exit code 3: a file was broken, the capture had lost packets, or a limit was hit; the report says which.\n\
    A report longer than the screen goes through $TRUNKLINE_PAGER, $PAGER or less; TRUNKLINE_PAGER=cat prevents it.")]
pub struct Read {
    /// Capture files; - is standard input
    #[arg(required = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    data: DataFolder,
    /// Print one JSON object per call, then a summary
    #[arg(long)]
    json: bool,
    /// Threads [default: one per CPU]; the result does not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(THREADS_MAX)))]
    threads: Option<u16>,
    /// Also write new packets into the packet log of the data folder, with an index
    #[arg(long)]
    record: bool,
    /// Store nothing
    #[arg(long)]
    no_store: bool,
    /// Maximum number of new days in the store; rows of more days are not stored, with a message
    #[arg(long, value_name = "N", default_value_t = DAYS_OF_CAPTURE as u32)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    days_max: u32,
    /// List all calls
    #[arg(long, conflicts_with = "json")]
    all: bool,
}

impl Read {
    /// Reads, stores, reports.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        self.check()?;
        rights::write_as_owner(&self.data.path, &["store", "packets"])?;
        let mut sink = self.sink()?;
        let progress = Arc::new(Progress::default());
        let watcher = Watcher::start(Arc::clone(&progress));
        let options = ReadOptions { files: self.files.clone(), threads: self.threads(), expansion: None };
        let (read, not_recorded) = match self.record {
            true => self.record(&options, &mut sink, &progress)?,
            false => (job::read(&options, &mut sink, &progress), 0),
        };
        let stopped = watcher.end();
        // What was read before a failure is kept, too: also when nobody reads the output any more.
        sink.commit()?;
        sink.take_parts_back()?;
        let summary = read.map_err(|text| sink.failed.take().unwrap_or(Failure::Failed(text)))?;
        let refused = sink.tell_refused();
        self.tell(&summary, &mut sink, stopped, refused, terminal)?;
        Ok(if stopped || refused || not_recorded > 0 || summary.degraded() { Exit::Degraded } else { Exit::Done })
    }

    /// Reads with every packet written into the packet log; how many could not be written.
    fn record(
        &self,
        options: &ReadOptions,
        sink: &mut Output,
        progress: &Progress,
    ) -> Result<(Result<Summary, String>, u64), Failure> {
        let failed = |e: &dyn core::fmt::Display| Failure::Failed(format!("packet log: {e}"));
        let _only = only_writer(&self.data.path)?;
        let volume = trunkline_spool::Volume::new(&self.data.path);
        let (recorder, opened) =
            Recorder::open(trunkline_spool::Options::new(vec![volume]), Rules::default()).map_err(|e| failed(&e))?;
        for note in opened.notes {
            let _ = writeln!(std::io::stderr(), "trunkline: packet log: {note}");
        }
        let known = Known::of(&self.data.path, self.files.len(), recorder.segments()).map_err(|e| failed(&e))?;
        let names = Arc::new(LiveNames::of_segments(&recorder));
        let mut recording = Recording { recorder: &recorder, known, log: recorder.lane(0, "") };
        let read = job::read_behind(&mut recording, options, sink, progress, names);
        let Recording { known, mut log, .. } = recording;
        tell_known(known.found, "in the packet log already");
        tell_known(known.copies, "in another of these captures as well: written and analysed once");
        log.finish();
        let refused = log.not_recorded();
        drop(log);
        let closed = recorder.close(CLOSE_PATIENCE);
        let lost: u64 = closed.stats.drops.iter().map(|d| d.buffer.records + d.disk.records + d.lost.records).sum();
        if lost > 0 {
            let losses = refused.iter().map(|r| (r.span_ns, r.place.name(), r.packets));
            let losses = losses.chain(closed.losses.iter().map(|l| (l.span_ns, l.place.name(), l.records)));
            // What the sink refuses it tells itself.
            let _ = sink.rows(Rows { losses: losses.filter(|l| l.2 > 0).map(loss).collect(), ..Rows::default() });
            let what = figure::of(lost, "packet was", "packets were");
            let why = closed.stats.volumes.iter().find_map(|v| v.last_error.clone()).unwrap_or_default();
            let _ = writeln!(std::io::stderr(), "trunkline: {what} not recorded: {why}");
        }
        Ok((read, lost))
    }

    /// Something of what was named can be read; else it is said without making a store.
    fn check(&self) -> Result<(), Failure> {
        let mut wrong = Vec::new();
        for file in &self.files {
            match why_unreadable(file) {
                Some(why) => wrong.push(format!("{}: {why}", file.display())),
                None => return Ok(()),
            }
        }
        Err(Failure::Failed(wrong.join("\n")))
    }

    fn sink(&self) -> Result<Output, Failure> {
        let selection = Selection { all: self.all, ..Selection::default() };
        // What comes through a pipe may take long: nobody who looks at it meanwhile should wait.
        let piped = self.files.iter().any(|f| f.as_os_str() == "-");
        let access = if piped { Access::Write } else { Access::Load };
        let open = || {
            let mut store = Store::open(&self.data.store(), access).map_err(search::failure)?;
            store.limit_new_days(self.days_max as usize);
            Ok::<_, Failure>(store)
        };
        let store = if self.no_store { None } else { Some(open()?) };
        let parts = store.as_ref().map(Parts::before).transpose()?.unwrap_or_default();
        Ok(Output {
            store,
            waiting: 0,
            parts,
            json: self.json,
            out: stdout(),
            line: String::new(),
            selection,
            failed: None,
        })
    }

    fn threads(&self) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.map_or(processors, usize::from).min(usize::from(THREADS_MAX))
    }

    fn tell(
        &self,
        summary: &Summary,
        sink: &mut Output,
        stopped: bool,
        refused: bool,
        terminal: &Terminal,
    ) -> Result<(), Failure> {
        if self.json {
            sink.line.clear();
            crate::summary_json::write(&mut sink.line, summary, &sink.selection, (stopped, refused));
            sink.line.push('\n');
            sink.out.write_all(sink.line.as_bytes())?;
        } else {
            let store = (!self.no_store).then(|| self.data.option());
            let lines = report(&Report { summary, selection: &sink.selection, store, stopped }, terminal);
            let mut out = Paged::new(terminal);
            table::write(&lines, terminal, &mut out)?;
            out.flush()?;
        }
        Ok(sink.out.flush()?)
    }
}

/// The right to write into a packet log what it does not have: nobody else does until it is dropped.
fn only_writer(data: &Path) -> Result<std::fs::File, Failure> {
    let folder = data.join(trunkline_record::job::FOLDER);
    let failed = |e: std::io::Error| Failure::Failed(format!("{}: {e}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let file = std::fs::File::open(&folder).map_err(failed)?;
    // A file system may have no locks.
    if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(rustix::io::Errno::WOULDBLOCK) {
        let what = "waiting for another command that writes a capture there";
        let _ = writeln!(std::io::stderr(), "trunkline: {}: {what}", folder.display());
        flock(&file, FlockOperation::LockExclusive).map_err(|e| failed(e.into()))?;
    }
    Ok(file)
}

/// Says how many packets were not written a second time, and why.
fn tell_known(packets: u64, why: &str) {
    if packets > 0 {
        let what = figure::of(packets, "packet is", "packets are");
        let _ = writeln!(std::io::stderr(), "trunkline: {what} {why}");
    }
}

/// The row of packets that were not recorded.
fn loss(((since_ns, at_ns), place, count): ((i64, i64), &str, u64)) -> Loss {
    Loss { since_ns, at_ns, place: place.to_owned(), source: "packet log".to_owned(), count }
}

/// Why a file cannot even be opened; none if it can, or is standard input.
pub fn why_unreadable(file: &Path) -> Option<String> {
    if file.as_os_str() == "-" {
        return None;
    }
    if file.is_dir() {
        return Some("is a folder: name its files, such as FOLDER/*.pcap".to_owned());
    }
    std::fs::File::open(file).err().map(|e| format!("cannot be read: {e}"))
}

/// Where rows go: the store, the JSON lines, what is kept for the report.
struct Output {
    store: Option<Store>,
    /// Rows written since the last commit.
    waiting: usize,
    parts: Parts,
    json: bool,
    out: std::io::BufWriter<Out>,
    line: String,
    selection: Selection,
    /// Why the sink refused, when it did.
    failed: Option<Failure>,
}

impl Sink for Output {
    fn rows(&mut self, rows: Rows) -> Result<(), String> {
        self.selection.take(&rows);
        let kept = self.keep(&rows).and_then(|()| if self.json { Ok(self.print(&rows)?) } else { Ok(()) });
        kept.map_err(|failure| {
            self.failed = Some(failure);
            "the rows could not be stored".to_owned()
        })
    }
}

impl Output {
    fn print(&mut self, rows: &Rows) -> std::io::Result<()> {
        self.line.clear();
        for call in &rows.calls {
            json::call(&mut self.line, call);
            self.line.push('\n');
        }
        self.out.write_all(self.line.as_bytes())
    }

    fn keep(&mut self, rows: &Rows) -> Result<(), Failure> {
        let Some(store) = &mut self.store else { return Ok(()) };
        store.write(rows).map_err(search::failure)?;
        self.parts.take(rows);
        self.waiting += rows.calls.len() + rows.streams.len() + rows.registrations.len() + rows.events.len();
        if self.waiting >= COMMIT_ROWS {
            self.commit()?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.waiting = 0;
        self.store.as_mut().map_or(Ok(()), |store| store.commit().map_err(search::failure))
    }

    /// Removes parts of calls and streams of which the store has the whole, and says so.
    fn take_parts_back(&mut self) -> Result<(), Failure> {
        let Some(store) = &mut self.store else { return Ok(()) };
        let parts = self.parts.of_known(store)?;
        if !parts.is_empty() {
            store.remove_rows(&parts).map_err(search::failure)?;
            let calls = figure::of(parts.calls.len() as u64, "call", "calls");
            let streams = figure::of(parts.streams.len() as u64, "stream", "streams");
            let events = figure::of(parts.events.len() as u64, "end of a call", "ends of calls");
            let what = "are parts of what is in the store as a whole already: not kept a second time";
            let _ = writeln!(std::io::stderr(), "trunkline: {calls}, {streams} without a call and {events} {what}");
        }
        Ok(())
    }

    /// Says at standard error which days could not be written; whether rows were refused.
    fn tell_refused(&self) -> bool {
        let Some(store) = &self.store else { return false };
        let refused = store.written().refused;
        for day in store.skipped() {
            let _ = writeln!(std::io::stderr(), "trunkline: {}: its rows are not stored", day.why);
        }
        if refused > 0 {
            let _ = writeln!(std::io::stderr(), "trunkline: {} not kept", figure::of(refused, "row was", "rows were"));
        }
        refused > 0
    }
}

/// The thread that draws the progress bar and passes Ctrl-C on.
pub struct Watcher {
    thread: Option<std::thread::JoinHandle<()>>,
    done: Arc<AtomicBool>,
    stop: Stop,
}

impl Watcher {
    /// From now on.
    pub fn start(progress: Arc<Progress>) -> Self {
        let stop = Stop::on_signals();
        let done = Arc::new(AtomicBool::new(false));
        let (ends, stops) = (Arc::clone(&done), stop.flag());
        let thread = std::thread::spawn(move || watch(&progress, &ends, &stops));
        Watcher { thread: Some(thread), done, stop }
    }

    /// Ends the thread; whether reading was interrupted. A pager takes the next Ctrl-C for itself.
    pub fn end(mut self) -> bool {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
        self.stop.is_asked()
    }
}

fn watch(progress: &Progress, done: &AtomicBool, interrupted: &AtomicBool) {
    let mut bar = Bar::start();
    let begin = Instant::now();
    while !done.load(Ordering::Relaxed) {
        if interrupted.load(Ordering::Relaxed) {
            progress.stop.store(true, Ordering::Relaxed);
        }
        draw(&mut bar, progress, begin.elapsed());
        std::thread::park_timeout(TICK);
    }
    bar.end();
}

fn draw(bar: &mut Bar, progress: &Progress, elapsed: Duration) {
    let of = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    bar.draw(of(&progress.octets), of(&progress.octets_total), || {
        let rate = of(&progress.packets) as f64 / elapsed.as_secs_f64().max(0.001);
        format!(
            "{}, {} packets/s, {}",
            figure::octets(of(&progress.octets)),
            figure::count(rate as u64),
            figure::of(of(&progress.calls), "call", "calls")
        )
    });
}
