//! `trunkline web`: the web in a process of its own, without any right to capture.

use crate::failure::Failure;
use crate::rights;
use crate::run::config::{self, Given};
use crate::run::log;
use crate::stop::Stop;
use crate::web::packets::Captures;
use crate::web::reader::Captured;
use crate::web::remote::There;
use crate::web::serve;
use signal_hook::consts::SIGHUP;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use trunkline_kit::exit::Exit;
use trunkline_web::Mode;
use trunkline_web::sources::Reader;

/// Run the web pages and the API of a data folder
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline web                              the data folder ./trunkline-data on 127.0.0.1:8080\n  \
    trunkline web -c trunkline.toml            as [web] of the configuration says\n  \
    trunkline web --data /var/lib/trunkline --listen 0.0.0.0:8443\n\n\
    Needs no right but to read the data folder and to write its folders web/ and spool/web/. What runs now it learns\n\
    from `trunkline run` through DATA/spool/run.sock: that one may end and start again meanwhile.\n\
    Without users, it prints a link to create the first administrator; it works once. `trunkline user` makes\n\
    others. SIGHUP reads the certificate again.")]
pub struct Web {
    /// Configuration file [default: /etc/trunkline/trunkline.toml if it is there]
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Data folder, instead of the configuration's
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    data: Option<PathBuf>,
    /// Listen address, instead of the configuration's
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<std::net::SocketAddr>,
}

impl Web {
    /// Serves until it is told to stop.
    pub fn run(&self) -> Result<Exit, Failure> {
        let settings = config::load(&self.given())?.settings;
        log::start(&settings.log).map_err(Failure::Failed)?;
        let data = &settings.data.folder;
        if !data.is_dir() {
            let what = "does not exist: create it with `trunkline run` or `trunkline read`, or name another with \
                --data DIR";
            return Err(Failure::Failed(format!("the data folder {} {what}", data.display())));
        }
        let (stop, again) = (Stop::on_signals(), Arc::new(AtomicBool::new(false)));
        let _ = signal_hook::flag::register(SIGHUP, Arc::clone(&again));
        let bound = serve::bind(&settings, Mode::Web)?;
        rights::give_up(settings.capture.user.as_deref(), &[])?;
        rights::close_beside(data);
        let captured = || Captured::new(data, Captures::default()).with_days_max(settings.store.capture_days.into());
        let reader = || Arc::new(captured()) as Arc<dyn Reader>;
        let reader = settings.web.uploads.then(reader);
        let handle = serve::serve(bound, &settings, Arc::new(There::new(data)), None, reader)?;
        serve::announce_in_log(&handle);
        while !stop.is_asked() {
            std::thread::park_timeout(Duration::from_millis(200));
            if again.swap(false, Ordering::Relaxed) {
                serve::reload(&handle);
            }
        }
        handle.stop();
        Ok(Exit::Done)
    }

    fn given(&self) -> Given {
        let mut options = Vec::new();
        if let Some(folder) = &self.data {
            options.push(("data", "folder", folder.to_string_lossy().into_owned(), "--data"));
        }
        if let Some(listen) = self.listen {
            options.push(("web", "listen", listen.to_string(), "--listen"));
        }
        Given { file: self.config.clone(), options }
    }
}
