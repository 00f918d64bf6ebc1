//! `trunkline demo`: a simulated world through the whole program, with the web in front.

use crate::bar::{Bar, TICK};
use crate::cache::here::Running;
use crate::charge;
use crate::demo::{self, Farming, Gateway, Load, Stage, Tapped};
use crate::failure::Failure;
use crate::graph;
use crate::rights;
use crate::run::jobs::OpenedJobs;
use crate::run::log;
use crate::run::now_ns;
use crate::run::service::{Beside, Listening, Service};
use crate::run::view::View;
use crate::show::figure;
use crate::stop::Stop;
use crate::web::live::Here;
use crate::web::packets::Captures;
use crate::web::reader::Captured;
use crate::web::serve::{self, Folder};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use trunkline_kit::exit::Exit;
use trunkline_web::{Handle, Mode};

/// Lanes that share the world.
const LANES: u16 = 2;
/// Behind now by less than this, the world is in the present.
const PRESENT_NS: i64 = 1_000_000_000;
/// Parts of a data folder that it writes to.
const PARTS: [&str; 9] = ["alert", "cache", "captures", "charge", "graphs", "packets", "spool", "store", "web"];
/// Rows that may wait for the store before what was earlier waits, too.
const ROWS_WAITING: u64 = 20_000;

/// Run a demo: a simulated network with known faults, shown in the browser
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline demo                             then open the link that it prints\n  \
    trunkline demo --seed 7 --data ./demo      another network, data is kept\n\n\
    Needs no root and no network. Subscribers, trunks, calls and their audio are simulated; every tenth call has\n\
    a planted fault, and the tap loses packets now and then. Devices are simulated, too, and polled by SNMP.\n\
    Half an hour of calls is read before the pages are shown, then it goes on at its own speed until Ctrl-C.\n\
    Data lie in a temporary folder ($TMPDIR) that is removed at the end; they stay below 1.5 GB.")]
pub struct Demo {
    /// Listen address of the web pages; if the port is in use, the next free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Minutes of simulated traffic before the start
    #[arg(long, value_name = "MINUTES", default_value_t = 30, value_parser = clap::value_parser!(u16).range(0..=720))]
    history: u16,
    /// Data folder to keep [default: a temporary one]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    data: Option<PathBuf>,
}

impl Demo {
    /// Plays until it is told to stop.
    pub fn run(&self) -> Result<Exit, Failure> {
        let folder = Folder::of(self.data.as_deref(), "demo")?;
        rights::write_as_owner(folder.path(), &PARTS)?;
        let stop = Stop::on_signals();
        let settings = demo::settings(folder.path(), self.listen);
        log::start(&settings.log).map_err(Failure::Failed)?;
        let bound = serve::bind_or_next(&settings, Mode::Demo)?;
        let start_ns = now_ns() - i64::from(self.history) * 60 * 1_000_000_000;
        let stage = Stage::new(start_ns, LANES);
        let rings = Tapped::rings(&demo::world(self.seed, start_ns), &stage).map_err(Failure::Failed)?;
        let listening = Listening { rings, since_ns: start_ns };
        let opened = OpenedJobs::open(&settings)?;
        demo::templates_and_rules(folder.path()).map_err(|e| Failure::Failed(format!("the demonstration: {e}")))?;
        let mut stopped = Vec::new();
        let jobs = opened.start(&settings, &mut stopped)?;
        let mut service = Service::on(&settings, listening, Beside { jobs, stopped })?;
        service.show(&settings, "demo");
        let graphs = service.view().jobs().get().map(graph::here::Running::handle);
        let mut farm = graphs.map(|graphs| Farming::start(graphs, self.seed, now_ns() / 1_000_000)).transpose()?;
        let load =
            service.view().jobs().get().and_then(Running::address).map(|at| Load::start(at, self.seed)).transpose();
        let load = load.map_err(|e| Failure::Failed(format!("a thread cannot be started: {e}")))?;
        let node = service.view().jobs().get().and_then(charge::here::Running::address);
        let gateway = node.map(|at| Gateway::start(folder.path(), at, self.seed)).transpose()?;
        catch_up(&stage, &service, &stop);
        farm.as_mut().map(Farming::planted).transpose()?;
        let web = if stop.is_asked() {
            None
        } else {
            let live = Arc::new(Here::new(Arc::clone(service.view()), "demo"));
            let reader = Arc::new(Captured::new(folder.path(), Captures::default()));
            let graphs = service.view().jobs().get().map(graph::here::Running::node);
            let handle = serve::serve(bound, &settings, live, graphs, Some(reader))?;
            self.tell(&handle, &folder, service.view())?;
            Some(handle)
        };
        while !stop.is_asked() && !service.is_over() {
            std::thread::park_timeout(Duration::from_millis(200));
            service.look_after();
            brake(&stage, service.view());
        }
        drop((web, load, gateway, farm));
        stage.over.store(true, Ordering::Relaxed);
        let ended = service.stop();
        // Losses were planted; defects were not.
        let defects: Vec<String> = ended.troubles.into_iter().filter(|trouble| trouble.contains("defect")).collect();
        if defects.is_empty() { Ok(Exit::Done) } else { Err(Failure::Failed(defects.join("\n"))) }
    }

    fn tell(&self, handle: &Handle, folder: &Folder, view: &View) -> Result<(), Failure> {
        let mut out = io::stdout();
        let so_far = view.live_snapshot("demo");
        let (calls, up) = (figure::of(so_far.calls_finished_total, "call", "calls"), figure::count(so_far.calls_up));
        writeln!(out, "A simulated network, seed {}: {calls} so far, {up} active.\n", self.seed)?;
        writeln!(out, "  {}\n", handle.link().unwrap_or_else(|| handle.url()))?;
        writeln!(out, "The link works once. Try:")?;
        for (what, how) in [
            ("Now", "active calls, and what needs attention"),
            ("Calls", "verdict:one-way-audio, mos<3.5, code:5xx - then open one and click on its ladder"),
            ("Cache", "simulated requests of a charging system: hit ratio, memory, hot keys"),
            ("Charging", "sessions, accounts with their ledgers, tariffs, with a simulated gateway"),
            ("Graphs", "21 simulated devices with a year of history; soon a router and its devices go down"),
            ("Packets", "drag over a minute to extract its packets"),
            ("your own", "drop a capture onto the page"),
        ] {
            writeln!(out, "  {what:9} {how}")?;
        }
        writeln!(out, "\n{}", folder.sentence())?;
        writeln!(out, "Ctrl-C ends it.")?;
        Ok(out.flush()?)
    }
}

/// Waits until the world has come to the present, with a bar.
fn catch_up(stage: &Stage, service: &Service, stop: &Stop) {
    let (mut bar, begun) = (Bar::start(), Instant::now());
    while !stop.is_asked() && !service.is_over() {
        let (at_ns, now_ns) = (stage.at_ns(), now_ns());
        if now_ns - at_ns < PRESENT_NS && is_stored(service.view()) {
            break;
        }
        let of = |ns: i64| u64::try_from(ns - stage.start_ns).unwrap_or(0) / 1_000_000;
        bar.draw(of(at_ns), of(now_ns), || {
            let packets: u64 = service.view().snapshot().packets.iter().sum();
            let rate = packets as f64 / begun.elapsed().as_secs_f64().max(0.001);
            let so_far = figure::duration(at_ns - stage.start_ns);
            format!("{so_far} of its history, {} packets/s", figure::count(rate as u64))
        });
        std::thread::park_timeout(TICK / 10);
        service.look_after();
        brake(stage, service.view());
    }
    bar.end();
}

/// Holds the past up while the disk or the store lags.
fn brake(stage: &Stage, view: &View) {
    stage.brake.store(view.buffer_fill() > 0.5 || view.rows_waiting() > ROWS_WAITING, Ordering::Relaxed);
}

/// Whether what is over has come to the store.
fn is_stored(view: &View) -> bool {
    view.rows_waiting() == 0
}
