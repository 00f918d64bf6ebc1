//! Alerts of this program: the rules' files, the job, and what feeds it.
//!
//! ```text
//!  graphs: samples as they are taken (bounded) --> series.rs ---+
//!          up and down, parents, worked at ------> devices.rs --+
//!  store's thread: rows as they come (bounded) --> rows.rs -----+--> job of alerts
//!  metrics of this process, every so often ------> metrics.rs --+
//!                                                                  |
//!  graphs, the store, when a report is due <------ report.rs <-----+
//! ```

mod devices;
pub mod here;
mod metrics;
mod report;
mod rows;
pub mod rules;
mod series;

pub use rows::Tap;
