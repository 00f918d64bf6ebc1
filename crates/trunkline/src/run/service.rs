//! A running capture from configuration to the last commit: opens everything while privileges last, gives them up,
//! starts the threads, and looks after them.

use super::bursts::log::BurstLog;
use super::bursts::{self, Meter};
use super::cards::Cards;
use super::charging::cdr_of;
use super::config::{self, Door, Listen, Settings};
use super::day_sums;
use super::engine::{Engine, Shared, lost_on_disk};
use super::jobs::OpenedJobs;
use super::lane::LanePlan;
use super::metrics::{self, Page, Server};
use super::only::Only;
use super::packet_log;
use super::recover;
use super::rows::{self, Asking, RowsOut, journal::Journal};
use super::socket;
use super::stopped::or_stopped;
use super::view::View;
use crate::alert;
use crate::charge;
use crate::charge::rows::To;
use crate::failure::Failure;
use crate::graph;
use crate::retention;
use crate::rights;
use crate::web::live::Here;
use crate::web::serve;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use trunkline_calls::job::Sink;
use trunkline_calls::join::{Names, lost_row};
use trunkline_calls::ledger::{is_interface, lanes_of};
use trunkline_calls::live::Front;
use trunkline_capture::CaptureLoss;
use trunkline_capture::live::xdp::{self, XdpOptions};
use trunkline_capture::live::{self, Live, PacketOptions, Timestamps, fanout, interface};
use trunkline_job::Jobs;
use trunkline_record::{Recorder, Segments};
use trunkline_spool::Loss;
use trunkline_store::row::Rows;
use trunkline_store::{Access, Store};
use trunkline_web::{Handle, Mode};

/// How long the packet log may take to write what is in memory when the program ends.
const CLOSE_PATIENCE: Duration = Duration::from_secs(30);

/// The sockets that are opened while privileges last.
fn sockets(settings: &Settings) -> Vec<PathBuf> {
    let metrics = settings.metrics.listen.iter().filter_map(Listen::path).map(Path::to_path_buf);
    let cache = settings.cache.listen.iter().filter_map(Door::path).map(Path::to_path_buf);
    let control = Some(charge::configured::socket(&settings.data.folder)).filter(|path| path.exists());
    metrics.chain(cache).chain(control).collect()
}

/// Everything that runs.
pub struct Service {
    engine: Engine,
    recorder: Option<Arc<Mutex<Option<Recorder>>>>,
    bursts: Arc<Mutex<BurstLog>>,
    cards: Arc<Mutex<Cards>>,
    store: JoinHandle<()>,
    recovery: Option<recover::Running>,
    /// For rows that come after the lanes have ended.
    late: RowsOut,
    names: Arc<LiveNames>,
    view: Arc<View>,
    metrics: Option<Server>,
    /// For other processes of this machine.
    socket: Option<Server>,
    web: Option<Handle>,
    /// Lets rows of the store leave.
    retention: Option<retention::Running>,
    /// Nobody else runs on the data folder.
    only: Option<Only>,
}

/// What is captured from.
pub struct Listening {
    /// Rings that fill already.
    pub rings: Vec<Box<dyn Live>>,
    /// No packet in them is older, nanoseconds since 1970: from when on there is something to recover.
    pub since_ns: i64,
}

/// What runs beside the capture.
#[derive(Default)]
pub struct Beside {
    /// The jobs that were started.
    pub jobs: Jobs,
    /// Jobs that could not be started, and why.
    pub stopped: Vec<String>,
}

/// How it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// What was lost or went wrong, a sentence each; none if all is well.
    pub troubles: Vec<String>,
}

impl Service {
    /// Opens and starts everything that the settings ask for.
    ///
    /// # Errors
    /// What could not be opened, with what to do about it.
    pub fn start(settings: &Settings) -> Result<Service, Failure> {
        let folder = &settings.data.folder;
        std::fs::create_dir_all(folder).map_err(|e| Failure::Failed(format!("{}: {e}", folder.display())))?;
        let record = &settings.record;
        let volumes = record.volumes.iter().chain(&record.slow_tier).filter(|_| record.enabled);
        let only = Only::take_with(folder, volumes.map(PathBuf::as_path))?;
        // Packets wait in the rings from now on, while all the rest is opened.
        let since_ns = super::now_ns();
        let listening = Listening { rings: open_rings(settings)?, since_ns };
        let metrics = settings.metrics.listen.as_ref().map(metrics::bind).transpose();
        let metrics = metrics.map_err(|e| Failure::Failed(format!("metrics cannot be served: {e}")))?;
        let web = settings.web.enabled.then(|| serve::bind(settings, Mode::Run)).transpose()?;
        let opened = OpenedJobs::open(settings)?;
        rights::give_up(settings.capture.user.as_deref(), &sockets(settings))?;
        rights::close_beside(folder);
        let mut stopped = Vec::new();
        let jobs = opened.start(settings, &mut stopped)?;
        let mut service = Service::on(settings, listening, Beside { jobs, stopped })?;
        service.only = Some(only);
        let view = Arc::clone(&service.view);
        service.show(settings, "live");
        if settings.store.enabled {
            service.retention = Some(retention::Running::start(settings, Arc::clone(view.rows())).map_err(no_thread)?);
        }
        if let Some(bound) = metrics {
            tracing::info!("metrics at {}", bound.address());
            let view = Arc::clone(&view);
            let page = move || Page { samples: view.samples(), unhealthy: view.unhealthy() };
            service.metrics = Some(bound.serve(page).map_err(no_thread)?);
        }
        let graphs = view.jobs().get::<graph::here::Running>().map(graph::here::Running::node);
        let here = Arc::new(Here::new(Arc::clone(&view), "live"));
        let web = web.map(|bound| serve::serve(bound, settings, here, graphs, None));
        let mut stopped = Vec::new();
        service.web = or_stopped("the web stays", web, &mut stopped);
        service.web.iter().for_each(serve::announce_in_log);
        view.stays_stopped(stopped);
        Ok(service)
    }

    /// Lets other processes of this machine look at it; `source` is what snapshots call it. Where that cannot be, it
    /// goes on without.
    pub fn show(&mut self, settings: &Settings, source: &'static str) {
        let data = &settings.data.folder;
        match socket::serve(data, Arc::clone(&self.view), source) {
            Ok(socket) => self.socket = Some(socket),
            Err(e) => tracing::warn!("other processes cannot query this run: {}: {e}", socket::path(data).display()),
        }
    }

    /// Starts everything behind these rings, and what is served beside them.
    ///
    /// # Errors
    /// What could not be opened, with what to do about it.
    pub fn on(settings: &Settings, listening: Listening, beside: Beside) -> Result<Service, Failure> {
        let Listening { rings, since_ns } = listening;
        let Beside { jobs, stopped } = beside;
        let folder = &settings.data.folder;
        let recorder = if settings.record.enabled { Some(packet_log::open(settings)?) } else { None };
        let store = if settings.store.enabled && settings.calls.enabled { Some(open_store(folder)?) } else { None };
        let writes = store.is_some();
        let journal = store.as_ref().and_then(|_| open_journal(folder));
        let names = LiveNames::new(recorder.as_ref(), &rings);
        let processors = processors(settings, rings.len());
        let bursts = watch_bursts(settings, &rings);
        let cards = Cards::of(rings.iter().map(|ring| ring.interface()));
        let of_interface = |ring: &dyn Live| rings.iter().filter(|r| r.interface() == ring.interface()).count() as u16;
        let lanes: Vec<u16> = rings.iter().map(|ring| of_interface(ring.as_ref())).collect();
        let plans: Vec<LanePlan> = rings
            .into_iter()
            .enumerate()
            .map(|(lane, ring)| {
                let meter = bursts.has(lane).then(Meter::default);
                let processor = processors.get(lane).copied();
                let plan = plan(settings, (lane as u16, lanes[lane]), ring, recorder.as_ref());
                LanePlan { meter, processor, ..plan }
            })
            .collect();
        let (out, store) = rows::start(store, journal).map_err(no_thread)?;
        if writes {
            day_sums::start(folder.join("store"), &out.writing()).map_err(no_thread)?;
        }
        if let Some(alerts) = jobs.get::<alert::here::Running>() {
            out.writing().watch(alerts.tap().clone());
        }
        if let Some(charging) = jobs.get::<charge::here::Running>() {
            let to = if writes { To::Writer(Asking::of(&out)) } else { To::Store(folder.join("store")) };
            charging.bring_rows(&cdr_of(settings), folder, to)?;
        }
        let (names, late, writing) = (Arc::new(names), out.another(), out.writing());
        let recovered = if writes { recovery(settings, recorder.is_some(), since_ns) } else { None };
        let recovered = recovered.map(|prepared| (prepared, out.another()));
        let seen = recovered.as_ref().map(|(recovered, _)| recovered.recovery());
        let out: Box<dyn Sink> = match &recovered {
            Some((recovered, _)) => recovered.rows(out),
            None => Box::new(out),
        };
        let engine = Engine::start(plans, Arc::clone(&names) as Arc<dyn Names>, writing, out).map_err(no_thread)?;
        let recovery = recovered.map(|(recovered, out)| recovered.start(&engine.shared, out)).transpose();
        let recovery = recovery.map_err(no_thread)?;
        let recorder = recorder.map(|r| Arc::new(Mutex::new(Some(r))));
        let bursts = Arc::new(Mutex::new(bursts));
        let cards = Arc::new(Mutex::new(cards));
        let interfaces = names.lanes.iter().map(|(interface, _)| interface.clone()).collect();
        let view = View::new(&engine, recorder.clone(), Arc::clone(&bursts), Arc::clone(&cards), interfaces);
        let view = Arc::new(view.with_jobs(jobs).with_recovery(seen));
        view.stays_stopped(stopped);
        let seen = Arc::downgrade(&view);
        let samples = Arc::new(move || seen.upgrade().map(|view| view.samples()));
        view.jobs().connect(samples).map_err(Failure::Failed)?;
        let (metrics, socket, web, retention, only) = Default::default();
        Ok(Service {
            engine,
            recorder,
            bursts,
            cards,
            store,
            recovery,
            late,
            names,
            view,
            metrics,
            socket,
            web,
            retention,
            only,
        })
    }

    /// What there is to see of it.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Says in the log what happened to the packet log since the last call, and lets rows tell what it and the cards
    /// lost.
    pub fn look_after(&self) {
        look_at_cards(&self.cards, &self.engine.shared, false);
        look_for_bursts(&self.bursts, &self.engine.shared, false);
        self.view.jobs().look_after();
        let Some(recorder) = &self.recorder else { return };
        let recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(recorder) = recorder.as_ref() else { return };
        packet_log::tell_events(&recorder.events());
        packet_log::tell_news(&recorder.news());
        // What has no packets is the frame of a segment.
        for loss in recorder.losses().into_iter().filter(|loss| loss.records > 0) {
            tell_loss(&loss);
            self.engine.shared.lost_later(&loss);
        }
    }

    /// Goes on as these settings say, as far as it can while running.
    pub fn apply(&self, settings: &Settings) {
        self.web.iter().for_each(serve::reload);
        self.view.jobs().reload();
        let Some(recorder) = &self.recorder else { return };
        let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
        recorder.iter_mut().for_each(|recorder| packet_log::apply(recorder, settings));
    }

    /// Whether the lanes have ended by themselves.
    pub fn is_over(&self) -> bool {
        self.engine.is_over()
    }

    /// Takes what is in the rings to its end and commits everything.
    pub fn stop(self) -> Ended {
        drop(self.retention);
        // Who looks on goes first.
        drop(self.web);
        drop(self.socket);
        // Before the lanes end: they tell it.
        look_at_cards(&self.cards, &self.engine.shared, true);
        self.view.jobs().ending();
        let mut troubles = Vec::new();
        let mut recovery = self.recovery;
        if recovery.as_mut().is_some_and(recover::Running::stop) {
            troubles.push("a thread of recovery failed; this is a defect of Trunkline".to_owned());
        }
        self.engine.stop();
        troubles.extend(self.view.jobs().stop());
        troubles.extend(self.view.stopped());
        let shared = Arc::clone(&self.engine.shared);
        if self.engine.join() {
            troubles.push("a thread failed; this is a defect of Trunkline".to_owned());
        }
        let mut late = shared.take_untold();
        // Closing finds what the disk did not take: that goes into rows as well, so the store ends last.
        if let Some(recorder) = self.recorder.and_then(|r| r.lock().unwrap_or_else(PoisonError::into_inner).take()) {
            let closed = recorder.close(CLOSE_PATIENCE);
            packet_log::tell_events(&closed.events);
            packet_log::tell_news(&closed.news);
            late.extend(
                closed.losses.iter().filter(|loss| loss.records > 0).inspect(|l| tell_loss(l)).map(lost_on_disk),
            );
            self.view.closed(closed);
        }
        tell_late(&late, self.late, &self.names);
        if self.store.join().is_err() {
            troubles.push("the store's thread failed; this is a defect of Trunkline".to_owned());
        }
        recovery.into_iter().for_each(recover::Running::finish);
        look_for_bursts(&self.bursts, &shared, true);
        drop((self.metrics, self.only));
        troubles.extend(self.view.losses());
        Ended { troubles }
    }
}

/// What recovers calls of the run before, where they are recorded and that is wanted.
fn recovery(settings: &Settings, records: bool, since_ns: i64) -> Option<recover::Prepared> {
    let prepared = if records { recover::Prepared::of(settings, since_ns) } else { None };
    if prepared.is_none() {
        let why = if records { "calls.recover is 0 s" } else { "nothing is recorded" };
        recover::Prepared::none(settings, since_ns, why);
    }
    prepared
}

fn look_for_bursts(bursts: &Mutex<BurstLog>, shared: &Shared, is_end: bool) {
    let mut bursts = bursts.lock().unwrap_or_else(PoisonError::into_inner);
    bursts.look(|lane| shared.take_buckets(lane), is_end);
}

fn look_at_cards(cards: &Mutex<Cards>, shared: &Shared, is_end: bool) {
    let mut cards = cards.lock().unwrap_or_else(PoisonError::into_inner);
    for (lane, loss) in cards.look(super::now_ns(), is_end) {
        let (packets, place) = (loss.packets, loss.place.name());
        tracing::warn!(lane, packets, "packets lost before any ring saw them: {place}");
        shared.lost_elsewhere(lane, loss);
    }
}

/// Losses that no lane was there to tell, as rows.
fn tell_late(losses: &[CaptureLoss], mut rows: RowsOut, names: &LiveNames) {
    let losses = losses.iter().map(|loss| lost_row(loss, names)).collect();
    // What waits in memory is never refused.
    let _ = rows.rows(Rows { losses, ..Rows::default() });
}

fn tell_loss(loss: &Loss) {
    tracing::error!(packets = loss.records, "packets were recorded and lost: {}", loss.place.name());
}

fn no_thread(e: std::io::Error) -> Failure {
    Failure::Failed(format!("a thread cannot be started: {e}"))
}

/// The rings of all interfaces.
fn open_rings(settings: &Settings) -> Result<Vec<Box<dyn Live>>, Failure> {
    let capture = &settings.capture;
    if capture.interfaces.is_empty() {
        let known = interface::names().join(", ");
        return Err(Failure::Usage(format!("no interface to listen on: name one with -i (there are {known})")));
    }
    let mut rings: Vec<Box<dyn Live>> = Vec::new();
    for interface in &capture.interfaces {
        if capture.source == config::Source::AfXdp {
            rings.extend(open_xdp(settings, interface)?);
            continue;
        }
        let lanes = lanes(settings);
        let options = PacketOptions {
            rings: lanes,
            ring_octets: usize::try_from(capture.ring.0).unwrap_or(usize::MAX),
            block_timeout: capture.block_timeout,
            promiscuous: capture.promiscuous,
            outgoing: !capture.ignore_outgoing,
            filter: capture.filter.clone(),
            timestamps: match capture.timestamps {
                config::Timestamps::Software => Timestamps::Software,
                config::Timestamps::Hardware => Timestamps::Hardware,
            },
            ..PacketOptions::new(interface)
        };
        let opened = live::packet::open(&options).map_err(|e| Failure::Failed(format!("{interface}: {e}")))?;
        tracing::info!(lanes, "listening on {interface}");
        rings.extend(opened.into_iter().map(|ring| Box::new(ring) as Box<dyn Live>));
    }
    Ok(rings)
}

/// The rings of an interface whose packets AF_XDP takes: one for each receive queue.
fn open_xdp(settings: &Settings, interface: &str) -> Result<Vec<Box<dyn Live>>, Failure> {
    let capture = &settings.capture;
    let default = XdpOptions::new(interface);
    // A power of two of frames that the ring's size has room for.
    let frames = (capture.ring.0 / u64::from(default.frame_octets)).clamp(64, xdp::FRAMES_MAX.into());
    let options = XdpOptions {
        frames: 1 << frames.ilog2(),
        promiscuous: capture.promiscuous,
        filter: capture.filter.clone(),
        ..default
    };
    let rings = xdp::open(&options).map_err(|e| Failure::Failed(format!("{interface}: {e}")))?;
    if let Some(first) = rings.first() {
        tracing::info!(lanes = rings.len(), "listening on {interface} by AF_XDP, {}", first.mode());
        tracing::warn!(
            "packets that AF_XDP takes do not reach this machine's own programs: {interface} must be a mirror"
        );
    }
    Ok(rings.into_iter().map(|ring| Box::new(ring) as Box<dyn Live>).collect())
}

/// Lanes of each interface: as they are set, or as many as there are processors but one, divided by the interfaces.
fn lanes(settings: &Settings) -> u16 {
    if settings.capture.lanes > 0 {
        return settings.capture.lanes;
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let each = processors.saturating_sub(1) / settings.capture.interfaces.len().max(1);
    u16::try_from(each.clamp(1, 64)).unwrap_or(1)
}

/// Which processor each lane stays on: the last ones, so that the first is left for the rest; none if they are too few.
fn processors(settings: &Settings, lanes: usize) -> Vec<usize> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    if !settings.capture.pin || lanes >= processors {
        return Vec::new();
    }
    (processors - lanes..processors).collect()
}

fn plan(settings: &Settings, (lane, rings): (u16, u16), ring: Box<dyn Live>, recorder: Option<&Recorder>) -> LanePlan {
    let number = ring.ring();
    let log = recorder.map(|r| r.lane(lane, ring.interface()));
    let is_mine = move |d: &trunkline_wire::Datagram| fanout::lane_of_flow(d.from(), d.to(), rings) == number;
    let patience = 2 * settings.capture.block_timeout + Duration::from_millis(50);
    let front = Front::new(lane, Box::new(is_mine));
    LanePlan { patience, log, front, source: ring, meter: None, processor: None }
}

/// The interfaces that are watched for microbursts.
fn watch_bursts(settings: &Settings, rings: &[Box<dyn Live>]) -> BurstLog {
    let mut bursts = BurstLog::new(&settings.data.folder);
    let Some(limit) = settings.capture.microburst else { return bursts };
    for interface in &settings.capture.interfaces {
        let of: Vec<bool> = rings.iter().map(|ring| ring.interface() == interface).collect();
        let Some(first) = of.iter().position(|is| *is) else { continue };
        let lanes = of.iter().filter(|is| **is).count();
        match limit.of(bursts::log::link_speed(interface)) {
            Some(bits_per_second) => bursts.watch(interface, first, lanes, bits_per_second),
            None => tracing::warn!(
                "{interface} does not tell its speed: no microbursts are looked for; set capture.microburst to a rate"
            ),
        }
    }
    bursts
}

fn open_store(folder: &Path) -> Result<Store, Failure> {
    Store::open(&folder.join("store"), Access::Write).map_err(crate::search::failure)
}

/// The journal of rows; without one all rows that must wait do so in memory.
fn open_journal(folder: &Path) -> Option<Journal> {
    let folder = folder.join("spool");
    let (journal, found) = match Journal::open(&folder) {
        Ok(opened) => opened,
        Err(error) => {
            let folder = folder.display();
            tracing::error!("{folder}: no rows can wait on disk if the store fails, only in memory: {error}");
            return None;
        }
    };
    let path = journal.path().display();
    if found.rows > 0 {
        tracing::warn!(rows = found.rows, "{path}: rows that the run before left waiting go into the store now");
    }
    if let Some(aside) = &found.damaged_aside {
        let aside = aside.display();
        tracing::error!(octets = found.torn_octets, "{path}: damaged: what lies behind is lost, and copied to {aside}");
    } else if found.torn_octets > 0 {
        tracing::warn!(octets = found.torn_octets, "{path}: rows that were being written when it crashed are lost");
    }
    if found.damaged.0 > 0 {
        tracing::error!(records = found.damaged.0, rows = found.damaged.1, "{path}: damaged, these rows are lost");
    }
    if let Some(aside) = &found.aside {
        tracing::error!(
            "{}: a journal of rows with the head of another version, or a damaged one: what waits in it is not stored",
            aside.display()
        );
    }
    Some(journal)
}

/// What packets and losses name as their file: a segment of the packet log, or a lane's interface.
#[derive(Default)]
pub struct LiveNames {
    segments: Option<Arc<Segments>>,
    lanes: Vec<(String, u16)>,
}

impl LiveNames {
    /// Of segments alone.
    pub fn of_segments(recorder: &Recorder) -> Self {
        LiveNames { segments: Some(recorder.segments()), lanes: Vec::new() }
    }

    fn new(recorder: Option<&Recorder>, rings: &[Box<dyn Live>]) -> Self {
        LiveNames {
            segments: recorder.map(Recorder::segments),
            lanes: rings.iter().map(|r| (r.interface().to_owned(), r.ring())).collect(),
        }
    }
}

impl Names for LiveNames {
    fn name(&self, file: u32) -> String {
        if file == trunkline_lane::NOT_RECORDED {
            return String::new();
        }
        match lanes_of(file).and_then(|lanes| self.lanes.get(*lanes.start() as usize)) {
            Some((interface, _)) if is_interface(file) => interface.clone(),
            Some((interface, ring)) => format!("{interface} lane {ring}"),
            None => self.segments.as_ref().and_then(|s| s.name(file)).unwrap_or_default(),
        }
    }
}
