//! What the lists of one kind of row have in common: their options, and how rows become a table or JSON.

use crate::cli::DataFolder;
use crate::failure::Failure;
use crate::pager::Paged;
use crate::search::{self, TABLE_ROWS_DEFAULT};
use crate::show::table;
use crate::show::text::Line;
use crate::terminal::Terminal;
use std::io::Write;
use trunkline_kit::exit::Exit;
use trunkline_store::{Page, Query, Store, StoreError};

/// The options of a list.
#[derive(Debug, clap::Args)]
pub struct Listing {
    /// Maximum number to list, newest first [default: 50 in a table, else all]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: DataFolder,
}

/// One kind of row: where it is from and how it is shown.
pub struct Kind<T> {
    /// Asks the store for a page of them.
    pub ask: fn(&Store, &Query) -> Result<Page<T>, StoreError>,
    /// Appends one as JSON.
    pub json: fn(&mut String, &T),
    /// The lines of their table.
    pub lines: fn(&[T], &Terminal) -> Vec<Line>,
    /// What to say when the store in this folder holds none.
    pub none: fn(&str) -> String,
}

impl Listing {
    /// Lists them.
    pub fn run<T: Clone>(&self, terminal: &Terminal, kind: &Kind<T>) -> Result<Exit, Failure> {
        let store = search::open(&self.data)?;
        let mut out = Paged::new(terminal);
        let ask = |query: &Query| (kind.ask)(&store, query);
        if self.json {
            search::print_json(self.limit.map_or(usize::MAX, |n| n as usize), ask, kind.json, &mut out)?;
            out.flush()?;
            return Ok(Exit::Done);
        }
        let found = search::list(self.limit.unwrap_or(TABLE_ROWS_DEFAULT) as usize, ask)?;
        if found.is_empty() {
            writeln!(out, "{}", (kind.none)(&self.data.path.display().to_string()))?;
        } else {
            table::write(&(kind.lines)(&found, terminal), terminal, &mut out)?;
        }
        out.flush()?;
        Ok(Exit::Done)
    }
}
