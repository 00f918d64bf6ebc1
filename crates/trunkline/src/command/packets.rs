//! `trunkline packets`: what the packet log holds, and whether it is whole.

mod index;
mod ls;
mod repair;
mod verify;

use crate::command::packet_log::Part;
use crate::failure::Failure;
use crate::terminal::Terminal;
use std::path::PathBuf;
use trunkline_kit::exit::Exit;

/// Look after the packet log: list, verify, index, repair
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trunkline packets ls --from 2026-11-20T10:00 --to 2026-11-20T10:05\n  \
    trunkline packets verify --class sip              every segment readable, every index right\n  \
    trunkline packets verify old.pcap                 one file and its index\n  \
    trunkline packets index old.pcap                  then `trunkline extract -r old.pcap` reads what it needs\n  \
    trunkline packets repair                          commit what a crash left behind, make missing indexes\n\n\
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
        /// How many to list at most, the newest [default: 50 in a table, else all]
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// Print one JSON object a segment
        #[arg(long)]
        json: bool,
    },
    /// Read every segment and compare its index with what is in it
    Verify {
        /// Capture files in place of the log
        #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        part: Part,
        /// Print one JSON object a segment
        #[arg(long)]
        json: bool,
    },
    /// Make the index of capture files, beside them or in the data folder
    Index {
        /// Capture files, pcap or pcapng
        #[arg(required = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        files: Vec<PathBuf>,
        /// Where indexes go whose file's folder cannot be written
        #[command(flatten)]
        data: crate::cli::DataFolder,
        /// Print one JSON object a file
        #[arg(long)]
        json: bool,
    },
    /// Commit the segments that a crash left behind, and make indexes that are missing or damaged
    Repair {
        #[command(flatten)]
        part: Part,
        /// Print one JSON object a file
        #[arg(long)]
        json: bool,
    },
}

impl Packets {
    /// Does it.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        // Recording goes first.
        trunkline_spool::idle();
        match &self.what {
            What::Ls { part, limit, json } => ls::run(part, *limit, *json, terminal),
            What::Verify { files, part, json } => verify::run(files, part, *json, terminal),
            What::Index { files, data, json } => index::run(files, data, *json),
            What::Repair { part, json } => repair::run(part, *json, terminal),
        }
    }
}
