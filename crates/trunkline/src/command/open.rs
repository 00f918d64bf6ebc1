//! `trunkline open`: captures in, and what is in them in the browser.

use crate::command::read::{Watcher, why_unreadable};
use crate::failure::Failure;
use crate::rights;
use crate::run::config::{Address, Settings};
use crate::show::figure;
use crate::show::report::why_no_calls;
use crate::stop::Stop;
use crate::web::packets::Captures;
use crate::web::reader::Captured;
use crate::web::serve::{self, Folder};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use trunkline_calls::job::{Progress, Summary};
use trunkline_kit::exit::Exit;
use trunkline_web::Mode;

/// Read captures at full speed, then show them in the browser
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline open office.pcap                 then open the link that it prints\n  \
    trunkline open ring-*.pcapng.gz            several files as one timeline\n  \
    trunkline open --data ./case-17 a.pcap     keeps the data; open it again without FILE\n\n\
    Reads pcap and pcapng, plain or in gzip, zstd or lz4. You can drop more captures onto the page. Ctrl-C while\n\
    reading shows what was read until then, Ctrl-C again ends.\n\
    Exit code 3: a file was broken, the capture had lost packets, or a limit was hit.")]
pub struct Open {
    /// Capture files
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath, required_unless_present = "data")]
    files: Vec<PathBuf>,
    /// Listen address of the web pages; if the port is in use, the next free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Data folder to keep [default: a temporary one]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    data: Option<PathBuf>,
}

impl Open {
    /// Reads, then shows until it is told to stop.
    pub fn run(&self) -> Result<Exit, Failure> {
        self.check()?;
        let folder = Folder::of(self.data.as_deref(), "open")?;
        rights::write_as_owner(folder.path(), &["store", "web", "captures", "packets", "spool"])?;
        let mut settings = Settings::default();
        settings.data.folder = folder.path().to_path_buf();
        settings.web.listen = Address(self.listen);
        settings.web.uploads = true;
        // Before anything is read: who cannot be shown need not wait.
        let bound = serve::bind_or_next(&settings, Mode::Open)?;
        let captures = Captures::default();
        let reader = Captured::new(folder.path(), captures.clone());
        let read = if self.files.is_empty() { None } else { Some(self.read(&reader)?) };
        let stop = Stop::on_signals();
        let handle = serve::serve_captures(bound, &settings, captures, Arc::new(reader))?;
        let mut out = io::stdout();
        if let Some((summary, _)) = &read {
            writeln!(out, "{}\n", sentence(summary))?;
            for why in why_no_calls(summary).iter().filter(|_| summary.calls == 0) {
                writeln!(out, "{why}\n")?;
            }
        }
        writeln!(out, "  {}\n", handle.link().unwrap_or_else(|| handle.url()))?;
        writeln!(out, "The link works once; you can drop more captures onto the page.\n{}", folder.sentence())?;
        writeln!(out, "Ctrl-C ends it.")?;
        out.flush()?;
        while !stop.is_asked() {
            std::thread::park_timeout(Duration::from_millis(200));
        }
        handle.stop();
        let degraded = read.is_some_and(|(summary, refused)| summary.degraded() || refused > 0);
        Ok(if degraded { Exit::Degraded } else { Exit::Done })
    }

    /// Something of what was named can be read.
    fn check(&self) -> Result<(), Failure> {
        if self.files.iter().any(|file| file.as_os_str() == "-") {
            let what = "standard input cannot be read twice: save it to a file and open the file";
            return Err(Failure::Usage(what.to_owned()));
        }
        let wrong: Vec<String> =
            self.files.iter().filter_map(|f| Some(format!("{}: {}", f.display(), why_unreadable(f)?))).collect();
        if wrong.len() == self.files.len() && !wrong.is_empty() {
            return Err(Failure::Failed(wrong.join("\n")));
        }
        wrong.iter().for_each(|why| serve::eprint(why));
        Ok(())
    }

    fn read(&self, reader: &Captured) -> Result<(Summary, u64), Failure> {
        let files: Vec<PathBuf> = self.files.iter().filter(|file| why_unreadable(file).is_none()).cloned().collect();
        let progress = Arc::new(Progress::default());
        let watcher = Watcher::start(Arc::clone(&progress));
        let read = reader.read_all(&files, &progress);
        watcher.end();
        let (summary, refused) = read.map_err(|e| Failure::Failed(e.text))?;
        for file in &summary.files {
            if let Some(why) = &file.error {
                serve::eprint(&format!("{}: {why}", file.path));
            }
        }
        if summary.packets == 0 {
            return Err(Failure::Failed("the files contain no packets".to_owned()));
        }
        if refused > 0 {
            serve::eprint(&format!("{} not stored", figure::of(refused, "row was", "rows were")));
        }
        Ok((summary, refused))
    }
}

fn sentence(summary: &Summary) -> String {
    let (packets, calls) =
        (figure::of(summary.packets, "packet", "packets"), figure::of(summary.calls, "call", "calls"));
    let streams = figure::of(summary.streams, "RTP stream", "RTP streams");
    format!(
        "{packets} read: {calls}, {streams}, {}",
        figure::of(summary.registrations, "registration", "registrations")
    )
}
