//! `trunkline streams`: RTP streams without signalling.

use crate::command::listing::{Kind, Listing};
use crate::failure::Failure;
use crate::show::report::stream_table;
use crate::terminal::Terminal;
use trunkline_kit::exit::Exit;
use trunkline_store::{Store, json};

/// List RTP streams without signalling
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  trunkline streams\n\nThe streams of a call: trunkline call ID.")]
pub struct Streams {
    #[command(flatten)]
    listing: Listing,
}

impl Streams {
    /// Lists them.
    pub fn run(&self, terminal: &Terminal) -> Result<Exit, Failure> {
        let none = |folder: &str| {
            format!("No streams without signalling in {folder}. The streams of a call: trunkline call ID.")
        };
        self.listing.run(
            terminal,
            &Kind {
                ask: Store::streams_without_call,
                json: json::stream,
                lines: |rows, terminal| stream_table(rows, terminal),
                none,
            },
        )
    }
}
