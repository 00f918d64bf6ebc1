//! `trunkline run`: captures, records and analyses until it is told to stop.

use crate::failure::Failure;
use crate::run::config::{self, Given};
use crate::run::service::Service;
use crate::run::{log, status};
use crate::stop::Stop;
use signal_hook::consts::SIGHUP;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trunkline_kit::exit::Exit;

/// How often signals and disks are looked at.
const TICK: Duration = Duration::from_millis(200);

/// Capture, record and analyse, until SIGTERM or Ctrl-C
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline doctor -i eth1                   check for packet loss, with the fix\n  \
    trunkline run -i eth1                      one interface, everything else by default\n  \
    trunkline run -c trunkline.toml            as a file says; trunkline config example shows all it can say\n\n\
    SIGTERM and Ctrl-C: what is in the rings is analysed, everything is committed. SIGHUP: reads the configuration\n\
    again, applies what can be applied while running and says what cannot.\n\
    Exit code 3: packets or rows were lost; the last lines say how many, where and why.")]
pub struct Run {
    /// Configuration file [default: /etc/trunkline/trunkline.toml if it is there]
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Capture interface, instead of the configuration's; repeat the option for more
    #[arg(short, long = "interface", value_name = "IFACE")]
    interfaces: Vec<String>,
    /// Data folder, instead of the configuration's
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    data: Option<PathBuf>,
    /// Stop after this many seconds
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
}

impl Run {
    /// Runs until it is told to stop.
    pub fn run(&self) -> Result<Exit, Failure> {
        let loaded = config::load(&self.given())?;
        let level = log::start(&loaded.settings.log).map_err(Failure::Failed)?;
        let signals = Signals::take();
        let service = Service::start(&loaded.settings)?;
        tracing::info!("running: data in {}", loaded.settings.data.folder.display());
        let begun = Instant::now();
        let mut settings = loaded.settings;
        let mut before = service.view().snapshot();
        let mut told = Instant::now();
        while !signals.stop.is_asked() && !service.is_over() {
            if self.seconds.is_some_and(|s| begun.elapsed().as_secs() >= s) {
                break;
            }
            std::thread::park_timeout(TICK);
            service.look_after();
            if signals.again.swap(false, Ordering::Relaxed) {
                self.read_again(&mut settings, &level, &service);
            }
            if told.elapsed() >= settings.log.status_every {
                told = Instant::now();
                let now = service.view().snapshot();
                tracing::info!("{}", status::line(&before, &now));
                before = now;
            }
        }
        tracing::info!("stopping: analysing and committing the captured packets");
        let ended = service.stop();
        for trouble in &ended.troubles {
            tracing::error!("{trouble}");
        }
        Ok(if ended.troubles.is_empty() { Exit::Done } else { Exit::Degraded })
    }

    fn given(&self) -> Given {
        let mut options = Vec::new();
        if !self.interfaces.is_empty() {
            options.push(("capture", "interfaces", self.interfaces.join(","), "--interface"));
        }
        if let Some(folder) = &self.data {
            options.push(("data", "folder", folder.to_string_lossy().into_owned(), "--data"));
        }
        Given { file: self.config.clone(), options }
    }

    /// Applies what can be applied while running.
    fn read_again(&self, settings: &mut config::Settings, level: &log::Level, service: &Service) {
        let loaded = match config::load(&self.given()) {
            Ok(loaded) => loaded,
            Err(Failure::Usage(why) | Failure::Failed(why) | Failure::Damaged(why)) => {
                return tracing::error!("the configuration was not changed: {why}");
            }
            Err(Failure::NobodyReads) => return,
        };
        let changes = trunkline_kit::config::changes(settings, &loaded.settings);
        for change in &changes.running {
            tracing::info!("{} was {}, is now {}", change.key, change.from, change.to);
        }
        for change in &changes.restart {
            tracing::warn!("{} stays {} until the next start (new value: {})", change.key, change.from, change.to);
        }
        trunkline_kit::config::apply(settings, &loaded.settings);
        level.set(settings.log.level);
        service.apply(settings);
    }
}

/// Signals as they come.
struct Signals {
    stop: Stop,
    again: Arc<AtomicBool>,
}

impl Signals {
    fn take() -> Self {
        let signals = Signals { stop: Stop::on_signals(), again: Arc::default() };
        let _ = signal_hook::flag::register(SIGHUP, Arc::clone(&signals.again));
        signals
    }
}
