//! What reports tell of and alerts do not know: graphs of this process, and the store of its data folder.

mod calls;
mod choice;
mod graphs;
mod sums;

use std::path::PathBuf;
use trunkline_alert::report::{Asked, Figures, Gather};
use trunkline_alert::rule::{Part, PartOf};
use trunkline_graph::job::Handle;
use trunkline_store::{Access, Store};

/// Where figures come from.
pub struct Sources {
    data: PathBuf,
    graphs: Option<Handle>,
}

impl Sources {
    /// Of a data folder, and the graphs that run here.
    pub fn new(data: PathBuf, graphs: Option<Handle>) -> Sources {
        Sources { data, graphs }
    }

    fn graphs(&self) -> Result<&Handle, String> {
        self.graphs.as_ref().ok_or_else(|| {
            "No graphs run in the program that makes this report: [graph] of its configuration says whether they do."
                .to_owned()
        })
    }

    /// The store, if anything was ever kept in it.
    fn store(&self, what: &str) -> Result<Store, String> {
        let failed = |error: &dyn std::fmt::Display| format!("The store cannot be read: {error}.");
        let store = Store::open(&self.data.join("store"), Access::Read).map_err(|error| failed(&error))?;
        match store.days().map_err(|error| failed(&error))?.is_empty() {
            true => Err(format!("No {what} are known here: nothing was kept in the store of this data folder.")),
            false => Ok(store),
        }
    }
}

impl Gather for Sources {
    fn gather(&self, part: &Part, asked: &Asked<'_>) -> Result<Figures, String> {
        match &part.of {
            PartOf::Graphs { choice, archive } => {
                graphs::pictures(self.graphs()?, choice, *archive, part.limit, asked).map(Figures::Graphs)
            }
            PartOf::Table { choice, by, archive } => {
                graphs::table(self.graphs()?, choice, *by, *archive, part.limit, asked).map(Figures::Table)
            }
            PartOf::Calls { destination } => {
                calls::figures(&self.store("calls")?, *destination, part.limit, asked).map(Figures::Calls)
            }
            PartOf::Losses => sums::losses(&self.store("losses of a capture")?, part.limit, asked).map(Figures::Losses),
            PartOf::Charges => sums::charges(&self.store("charges")?, asked).map(Figures::Charges),
            PartOf::Alerts | PartOf::Devices { .. } => Err("Alerts know this themselves.".to_owned()),
        }
    }
}
