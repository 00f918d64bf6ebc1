//! What the commands on the packet log have in common: which folders, which classes, which time.

use crate::cli::DATA_DEFAULT;
use crate::failure::Failure;
use crate::moment;
use crate::terminal::Terminal;
use std::path::{Path, PathBuf};
use trunkline_record::Class;
use trunkline_record::identity::LogId;
use trunkline_record::index::Span;
use trunkline_record::job::{SegmentFile, Volumes, Wish, index_file, list};

/// The part of the packet log that is meant.
#[derive(Clone, Debug, clap::Args)]
pub struct Part {
    /// Start time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// End time; a day or minute is included
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub to: Option<String>,
    /// Only these classes: sip, rtp, other
    #[arg(long = "class", value_name = "CLASS", value_delimiter = ',', value_parser = class)]
    pub classes: Vec<Class>,
    /// Data folder or one of its volumes; repeat the option for more
    #[arg(long = "data", value_name = "DIR", default_value = DATA_DEFAULT, value_hint = clap::ValueHint::DirPath)]
    pub data: Vec<PathBuf>,
}

/// A class by its name.
///
/// # Errors
/// There is none of that name.
pub fn class(name: &str) -> Result<Class, String> {
    Class::of_name(name).ok_or_else(|| "the classes are sip, rtp and other".to_owned())
}

impl Part {
    /// All of these folders.
    pub fn of(data: &[PathBuf]) -> Part {
        Part { from: None, to: None, classes: Vec::new(), data: data.to_vec() }
    }

    /// The time that is meant.
    ///
    /// # Errors
    /// A time that is none, or an end before the beginning.
    pub fn span(&self, terminal: &Terminal) -> Result<Span, Failure> {
        let time = |option: &str, text: &Option<String>| match text {
            None => Ok(None),
            Some(text) => {
                moment::span(text, &terminal.zone).map(Some).map_err(|why| Failure::Usage(format!("{option}: {why}")))
            }
        };
        let (from, to) = (time("--from", &self.from)?, time("--to", &self.to)?);
        let first_ns = from.map_or(i64::MIN, |f| f.0);
        let last_ns = to.map_or(i64::MAX, |t| t.1.saturating_sub(1));
        if last_ns < first_ns {
            return Err(Failure::Usage("--from must be before --to".to_owned()));
        }
        Ok(Span { first_ns, last_ns })
    }

    /// The classes that are meant.
    pub fn classes(&self) -> Vec<Class> {
        if self.classes.is_empty() { Class::ALL.to_vec() } else { self.classes.clone() }
    }

    /// The segments that may hold packets of that time.
    ///
    /// # Errors
    /// A folder cannot be listed, or there is no packet log in any.
    pub fn segments(&self, span: Span) -> Result<Vec<SegmentFile>, Failure> {
        self.must_have_log()?;
        segments(&self.data, span, &self.classes())
    }

    /// Which logs the folders have, in their order; none of one whose note of volumes does not say.
    pub fn logs(&self) -> Vec<Option<LogId>> {
        self.data.iter().map(|data| Volumes::of(data).ok().and_then(|volumes| volumes.log)).collect()
    }

    /// Whether there is anything to ask.
    ///
    /// # Errors
    /// There is no packet log in any of the folders.
    pub fn must_have_log(&self) -> Result<(), Failure> {
        let has_one = self.data.iter().any(|data| has_log(data));
        if has_one { Ok(()) } else { Err(Failure::Failed(no_log(&self.data))) }
    }
}

/// Whether there is a packet log in a folder.
pub fn has_log(data: &Path) -> bool {
    data.join(trunkline_record::job::FOLDER).is_dir()
}

fn no_log(data: &[PathBuf]) -> String {
    let refused = |data: &&PathBuf| {
        let looked = data.join(trunkline_record::job::FOLDER).metadata();
        looked.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
    };
    if let Some(folder) = data.iter().find(refused) {
        return format!("{}: permission denied: its owner and group may read it", folder.display());
    }
    let names: Vec<String> = data.iter().map(|d| d.display().to_string()).collect();
    format!(
        "no packet log in {}: record one with `trunkline run`, or name another with --data DIR",
        names.join(" nor in ")
    )
}

/// The segments of these folders.
///
/// # Errors
/// A folder cannot be listed.
pub fn segments(data: &[PathBuf], span: Span, classes: &[Class]) -> Result<Vec<SegmentFile>, Failure> {
    let wish = Wish { span, classes: classes.to_vec() };
    let mut found = Vec::new();
    for (source, folder) in data.iter().enumerate() {
        found.extend(list(folder, source, &wish).map_err(|e| Failure::Failed(e.to_string()))?);
    }
    Ok(found)
}

/// A capture file that was named, as if it were a segment.
pub fn named(path: &Path, source: usize, data: Option<&Path>) -> SegmentFile {
    SegmentFile {
        path: path.to_path_buf(),
        indexes: index_file::places(path, data),
        source,
        class: None,
        lane: 0,
        again: 0,
        begins_ns: 0,
        growing: false,
    }
}
