//! `trunkline packets`: what the packet log holds, and whether it is whole.

mod index;
mod ls;
mod pins;
mod prune;
mod repair;
mod verify;

use crate::cli::DATA_DEFAULT;
use crate::command::packet_log::{Part, class};
use crate::failure::Failure;
use crate::rights;
use crate::terminal::Terminal;
use std::path::PathBuf;
use std::time::Duration;
use trunkline_kit::exit::Exit;
use trunkline_record::Class;

/// Manage the packet log: list, verify, index, repair, prune, pin
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline packets ls --from 2026-11-20T10:00 --to 2026-11-20T10:05\n  \
    trunkline packets verify --class sip              check all segments and indexes\n  \
    trunkline packets verify old.pcap                 one file and its index\n  \
    trunkline packets index old.pcap                  then `trunkline extract -r old.pcap` reads what it needs\n  \
    trunkline packets repair                          commit segments left by a crash, rebuild indexes\n  \
    trunkline packets prune --keep-age '30 days' --class rtp\n  \
    trunkline packets pin --from 2026-11-20T10:00 --to 2026-11-20T10:05 --note 'ticket 4711'\n\n\
    Exit code 3: something is damaged; a line says what.")]
pub struct Packets {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// List segments with their times, packets, octets, drops and indexes
    Ls {
        #[command(flatten)]
        part: Part,
        /// Maximum number to list, newest first [default: 50 in a table, else all]
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// Print one JSON object per segment
        #[arg(long)]
        json: bool,
    },
    /// Read every segment and compare its index with what is in it
    Verify {
        /// Capture files to read instead of the log
        #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        part: Part,
        /// Print one JSON object per segment
        #[arg(long)]
        json: bool,
    },
    /// Create the index of capture files, next to them or in the data folder
    Index {
        /// Capture files, pcap or pcapng
        #[arg(required = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        files: Vec<PathBuf>,
        /// Folder for indexes whose file's folder is not writable
        #[command(flatten)]
        data: crate::cli::DataFolder,
        /// Print one JSON object per file
        #[arg(long)]
        json: bool,
    },
    /// Delete segments beyond the given limits, oldest first; never pinned segments or segments in use
    Prune {
        /// Maximum age: 30 days, 12 h
        #[arg(long, value_name = "TIME", value_parser = trunkline_kit::config::time)]
        keep_age: Option<Duration>,
        /// Maximum size per class: 500 GB
        #[arg(long, value_name = "SIZE", value_parser = trunkline_kit::config::octets)]
        keep_size: Option<u64>,
        /// Only these classes: sip, rtp, other
        #[arg(long = "class", value_name = "CLASS", value_delimiter = ',', value_parser = class)]
        classes: Vec<Class>,
        /// Data folder; repeat the option for more
        #[arg(long = "data", value_name = "DIR", default_value = DATA_DEFAULT, value_hint = clap::ValueHint::DirPath)]
        data: Vec<PathBuf>,
        /// Print one JSON object per segment
        #[arg(long)]
        json: bool,
    },
    /// Protect a time range from deletion
    Pin {
        #[command(flatten)]
        part: Part,
        /// Reason, one line
        #[arg(long, value_name = "TEXT", default_value = "")]
        note: String,
        /// Print one JSON object per pin
        #[arg(long)]
        json: bool,
    },
    /// Remove pins
    Unpin {
        /// Their numbers
        #[arg(required = true, value_name = "NUMBER")]
        numbers: Vec<u32>,
        /// Data folder; repeat the option for more
        #[arg(long = "data", value_name = "DIR", default_value = DATA_DEFAULT, value_hint = clap::ValueHint::DirPath)]
        data: Vec<PathBuf>,
    },
    /// List pins
    Pins {
        /// Data folder; repeat the option for more
        #[arg(long = "data", value_name = "DIR", default_value = DATA_DEFAULT, value_hint = clap::ValueHint::DirPath)]
        data: Vec<PathBuf>,
        /// Print one JSON object per pin
        #[arg(long)]
        json: bool,
    },
    /// Commit segments left by a crash, and rebuild missing or damaged indexes
    Repair {
        #[command(flatten)]
        part: Part,
        /// Print one JSON object per file
        #[arg(long)]
        json: bool,
    },
}

impl Packets {
    /// Root writes as whom the packet log belongs to.
    fn write_as_owner(&self) -> Result<(), Failure> {
        let data = match &self.what {
            What::Prune { data, .. } | What::Unpin { data, .. } => data,
            What::Pin { part, .. } | What::Repair { part, .. } => &part.data,
            What::Ls { .. } | What::Verify { .. } | What::Index { .. } | What::Pins { .. } => return Ok(()),
        };
        data.iter().try_for_each(|folder| rights::write_as_owner(folder, &["packets"]))
    }

    /// Does it.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        // Recording goes first.
        trunkline_spool::idle();
        self.write_as_owner()?;
        match &self.what {
            What::Ls { part, limit, json } => ls::run(part, *limit, *json, terminal),
            What::Verify { files, part, json } => verify::run(files, part, *json, terminal),
            What::Index { files, data, json } => index::run(files, data, *json),
            What::Prune { keep_age, keep_size, classes, data, json } => {
                let part = Part { classes: classes.clone(), ..Part::of(data) };
                prune::run(&part, *keep_age, *keep_size, *json)
            }
            What::Pin { part, note, json } => pins::pin(part, note, *json, terminal),
            What::Unpin { numbers, data } => pins::unpin(&Part::of(data), numbers),
            What::Pins { data, json } => pins::list(&Part::of(data), *json, terminal),
            What::Repair { part, json } => repair::run(part, *json, terminal),
        }
    }
}
