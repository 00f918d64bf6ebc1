//! `trunkline extcap`: the packet log as interfaces of Wireshark, which asks and starts it by the extcap protocol
//! (Wireshark's extcap(4) and doc/extcap.4): sentences at standard output, packets into a named pipe.

pub mod install;
mod sentences;

use crate::cli::DATA_DEFAULT;
use crate::command::packet_log::Part;
use crate::failure::Failure;
use crate::feed::stream::Stream;
use crate::feed::{Question, What, call, matching, query};
use crate::terminal::Terminal;
use rustix::fs::OFlags;
use sentences::Interface;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trunkline_kit::exit::Exit;
use trunkline_record::index::Span;
use trunkline_record::query::Query;

/// Data folders of one capture.
pub const DATA_FOLDERS_MAX: usize = 64;
/// How often a pipe is looked at whose other end is not open yet, and the time between.
const READER_TRIES: u32 = 40;
const READER_TICK: Duration = Duration::from_millis(50);

/// Serve Wireshark's extcap protocol
#[derive(Debug, clap::Args)]
#[command(after_help = "Wireshark runs this command; install it with `trunkline extcap-install`.")]
pub struct Extcap {
    /// List the interfaces
    #[arg(long)]
    extcap_interfaces: bool,
    /// Wireshark's version
    #[arg(long, value_name = "VERSION", num_args = 0..=1)]
    extcap_version: Option<Option<String>>,
    /// List the link types of an interface
    #[arg(long)]
    extcap_dlts: bool,
    /// List the options of an interface
    #[arg(long)]
    extcap_config: bool,
    /// The interface that is meant
    #[arg(long, value_name = "NAME")]
    extcap_interface: Option<String>,
    /// A capture filter: an expression; alone, it is only looked at
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
    extcap_capture_filter: Option<String>,
    /// An option whose choices are asked for again
    #[arg(long, value_name = "OPTION")]
    extcap_reload_option: Option<String>,
    /// Clean up behind a capture that was killed
    #[arg(long)]
    extcap_cleanup_postkill: bool,
    /// Pipe of what is set while capturing
    #[arg(long, value_name = "PIPE")]
    extcap_control_in: Option<PathBuf>,
    /// Pipe of what is told while capturing
    #[arg(long, value_name = "PIPE")]
    extcap_control_out: Option<PathBuf>,
    /// Capture
    #[arg(long, requires = "fifo")]
    capture: bool,
    /// Where packets go
    #[arg(long, value_name = "PIPE")]
    fifo: Option<PathBuf>,
    /// Data folders with a : between them
    #[arg(long, value_name = "DIR:DIR")]
    data: Option<OsString>,
    /// What Wireshark is to offer as data folder
    #[arg(long, value_name = "DIR:DIR")]
    default_data: Option<OsString>,
    /// The call: its ID, the beginning of one, or its Call-ID
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    call: Option<String>,
    /// From then on
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<String>,
    /// Until then
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    to: Option<String>,
    /// An expression; packets have to match it and the capture filter
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
    expression: Option<String>,
}

/// The arguments of the program, which Wireshark calls without naming a command: by a link in its folder of extcap
/// programs, whatever its name.
pub fn arguments(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<OsString> = given.collect();
    let of_wireshark = |first: &OsString| {
        let first = first.to_string_lossy();
        first.starts_with("--extcap-") || first == "--capture"
    };
    let named = all.first().and_then(|n| Path::new(n).file_stem()).is_some_and(|n| n == "trunkline-extcap");
    let asked = all.get(1).is_some_and(of_wireshark);
    if asked || (named && all.get(1).is_none_or(|first| first != "extcap")) {
        all.insert(1, "extcap".into());
    }
    all
}

impl Extcap {
    /// Answers.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let mut out = io::stdout().lock();
        if self.extcap_interfaces {
            out.write_all(sentences::interfaces().as_bytes())?;
        } else if self.extcap_config {
            let text = if self.extcap_reload_option.is_some() { String::new() } else { self.options()? };
            out.write_all(text.as_bytes())?;
        } else if self.extcap_dlts {
            self.interface()?;
            out.write_all(sentences::LINK_TYPES.as_bytes())?;
        } else if self.capture {
            return self.capture(terminal);
        } else if let Some(filter) = &self.extcap_capture_filter {
            // What is wrong is said at standard output; nothing, if nothing is.
            if let Err(Failure::Usage(why) | Failure::Failed(why)) = query(filter) {
                writeln!(out, "{why}")?;
            }
        } else if !self.extcap_cleanup_postkill && self.extcap_version.is_none() {
            let text = "Wireshark runs this command; install it with `trunkline extcap-install`".to_owned();
            return Err(Failure::Usage(text));
        }
        out.flush()?;
        Ok(Exit::Done)
    }

    fn interface(&self) -> Result<Interface, Failure> {
        let name = self.extcap_interface.as_deref().unwrap_or_default();
        Interface::of_name(name).ok_or_else(|| {
            let names: Vec<&str> = Interface::ALL.iter().map(|i| i.name()).collect();
            Failure::Usage(format!("there is no interface '{name}', but {}", names.join(", ")))
        })
    }

    fn options(&self) -> Result<String, Failure> {
        let data = self.default_data.clone().unwrap_or(DATA_DEFAULT.into());
        Ok(sentences::options(self.interface()?, &data.to_string_lossy()))
    }

    fn capture(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let path = self.fifo.as_deref().unwrap_or(Path::new("-"));
        let question = self.question(terminal).inspect_err(|_| end_pipe(path))?;
        let failed = |e: io::Error| Failure::Failed(format!("{}: {e}", path.display()));
        let pipe = OpenOptions::new().write(true).open(path).map_err(failed)?;
        close_at_exit(pipe.try_clone().map_err(failed)?);
        let mut sink = Stream::begin(pipe).map_err(failed)?;
        let answered = question.answer(&mut sink);
        match (answered?, sink.finish().1) {
            (_, Some(e)) if e.kind() != io::ErrorKind::BrokenPipe => Err(failed(e)),
            (summary, _) => {
                question.tell_faults(&summary);
                let whole = summary.faults.is_empty() && summary.refused.is_empty();
                Ok(if whole { Exit::Done } else { Exit::Degraded })
            }
        }
    }

    fn question(&self, terminal: &Terminal) -> Result<Question, Failure> {
        let data = self.folders();
        let part = Part { from: given(&self.from), to: given(&self.to), ..Part::of(&data) };
        let what = match self.interface()? {
            Interface::Call => {
                let id = given(&self.call).ok_or_else(|| Failure::Usage("which call? Its ID is empty".to_owned()))?;
                What::Call(call(&id, &data, &terminal.zone)?)
            }
            Interface::Range => What::Matching(matching(self.query()?, span(&part, terminal)?)),
            Interface::Live => What::Newest(matching(self.query()?, Span::ALL)),
        };
        let question = Question { what, part, read: Vec::new(), limit: u64::MAX };
        question.files()?;
        Ok(question)
    }

    fn folders(&self) -> Vec<PathBuf> {
        let data = self.data.as_ref().filter(|d| !d.is_empty()).or(self.default_data.as_ref());
        let data = data.cloned().unwrap_or(DATA_DEFAULT.into());
        std::env::split_paths(&data).filter(|p| !p.as_os_str().is_empty()).take(DATA_FOLDERS_MAX).collect()
    }

    /// The expression and the capture filter: both have to match.
    fn query(&self) -> Result<Query, Failure> {
        match (given(&self.expression), given(&self.extcap_capture_filter)) {
            (Some(a), Some(b)) => query(&format!("({a}) and ({b})")),
            (one, other) => query(&one.or(other).unwrap_or_default()),
        }
    }
}

/// What was given, if it says anything: Wireshark hands over empty fields too.
fn given(text: &Option<String>) -> Option<String> {
    text.as_ref().map(|t| t.trim().to_owned()).filter(|t| !t.is_empty())
}

/// The time; also as Wireshark's own field has it: seconds since 1970.
fn span(part: &Part, terminal: &Terminal) -> Result<Span, Failure> {
    let named = |text: &Option<String>| match text.as_deref().and_then(|t| t.parse::<i64>().ok()) {
        // Years are shorter than seconds of our time.
        Some(seconds) if seconds > 9999 => Some(trunkline_store::time::rfc3339(seconds.saturating_mul(1_000_000_000))),
        _ => text.clone(),
    };
    let part = Part { from: named(&part.from), to: named(&part.to), ..part.clone() };
    part.span(terminal)
}

/// Ends a pipe that nothing is written to: Wireshark waits until one opens it, and would wait for ever. It may open
/// its end a moment later than we are here.
fn end_pipe(path: &Path) {
    if !path.metadata().is_ok_and(|about| about.file_type().is_fifo()) {
        return;
    }
    let at_once = OFlags::NONBLOCK.bits().cast_signed();
    for _ in 0..READER_TRIES {
        if let Ok(pipe) = OpenOptions::new().write(true).custom_flags(at_once).open(path) {
            return close_at_exit(pipe);
        }
        std::thread::park_timeout(READER_TICK);
    }
}

/// Leaves the pipe open until the program ends, behind what it says at standard error: Wireshark looks there once, when
/// the pipe ends.
fn close_at_exit(pipe: File) {
    std::mem::forget(pipe);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Vec<String> {
        let all = arguments(words.iter().map(OsString::from));
        all.into_iter().map(|w| w.into_string().unwrap()).collect()
    }

    #[test]
    fn wireshark_names_no_command() {
        assert_eq!(of(&["/x/extcap/trunkline", "--extcap-interfaces"])[1], "extcap");
        assert_eq!(of(&["/x/trunkline-extcap", "--extcap-interfaces"])[1], "extcap");
        assert_eq!(of(&["trunkline-extcap"]), ["trunkline-extcap", "extcap"]);
        assert_eq!(of(&["trunkline", "--capture", "--fifo", "x"])[1], "extcap");
        assert_eq!(of(&["trunkline", "extcap", "--extcap-dlts"]), ["trunkline", "extcap", "--extcap-dlts"]);
        assert_eq!(of(&["trunkline", "read", "--capture"])[1], "read");
        assert_eq!(of(&["trunkline"]), ["trunkline"]);
        assert_eq!(of(&[]), [""; 0]);
    }
}
