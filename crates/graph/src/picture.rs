//! Graphs as they are seen: a graph of the inventory, its template and a span of time become numbers, or what `rrdtool`
//! is to draw.
//!
//! ```text
//!  inventory --+
//!  templates --+--> Plan --+--> picture() --> Picture: series, legend, thresholds --> page, CSV
//!  graph ------+           +--> script()  --> a line for `rrdtool -` ----------------> PNG, SVG
//! ```
//!
//! Both are made of one [`Plan`], so that page and picture show the same. The numbers are those of `rrdtool xport`
//! (the engine `rrd` computes them); what is unknown stays unknown, and never becomes 0. Days, weeks and months of
//! expressions begin in UTC.

mod csv;
mod evaluate;
mod plan;
mod script;

pub use csv::csv;
pub use evaluate::{Drawn, Figures, Picture, Print, Rule, Stroke, picture};
pub use plan::{PICTURE_SOURCES_MAX, Plan, Planned, PlannedThreshold, Taken};
pub use script::{Format, script};

use crate::template::Function;
use trunkline_rrd::{Fault, Question, Series};

/// Columns of a picture, and values of a series.
// Limit: columns of one graph
// Beyond: the request is refused
// Seen in: the error message
pub const WIDTH_MAX: u32 = 4000;
/// The longest span of a picture, seconds: 50 years.
// Limit: time range of one graph
// Beyond: the request is refused
// Seen in: the error message
pub const SPAN_S_MAX: i64 = 50 * 366 * 86_400;

/// What is to be seen of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// From this time on, seconds of Unix.
    pub start_s: i64,
    /// Until this one.
    pub end_s: i64,
    /// Columns: no series has more values, a row at each border aside.
    pub width: u32,
    /// Of which archives everything is taken, instead of those that the template says.
    pub function: Option<Function>,
    /// What is shown is so many seconds older than the span, and stands at the span's times: last week beside this one.
    pub shift_s: i64,
}

impl Ask {
    /// A span in so many columns.
    ///
    /// # Errors
    /// It ends before it begins, is too long, or has no or too many columns.
    pub fn new(start_s: i64, end_s: i64, width: u32) -> Result<Ask, NoPicture> {
        let asked = |what: String| Err(NoPicture::Asked(what));
        if start_s < 0 || end_s <= start_s || end_s - start_s > SPAN_S_MAX || end_s > 1 << 40 {
            return asked(format!("from {start_s} to {end_s}: a span ends after it begins, 50 years later at most"));
        }
        if !(1..=WIDTH_MAX).contains(&width) {
            return asked(format!("{width} columns, 1 to {WIDTH_MAX} can be"));
        }
        Ok(Ask { start_s, end_s, width, function: None, shift_s: 0 })
    }

    /// The same, shifted.
    ///
    /// # Errors
    /// What is shown would be before 1970, or the shift is beyond [`SPAN_S_MAX`].
    pub fn shifted(self, shift_s: i64) -> Result<Ask, NoPicture> {
        if shift_s.abs() > SPAN_S_MAX || self.start_s - shift_s < 0 {
            return Err(NoPicture::Asked(format!("a shift of {shift_s} s leads beyond what can be")));
        }
        Ok(Ask { shift_s, ..self })
    }
}

/// The round-robin files of data sources.
pub trait Files {
    /// The file of a data source, as rrdtool and people are told it; none if nothing has been read yet.
    fn path(&self, source: u32) -> Option<String>;

    /// Rows of it.
    ///
    /// # Errors
    /// It cannot be read, or has no archive that answers.
    fn rows(&self, source: u32, question: &Question) -> Result<Series, Fault>;

    /// The time of its last sample, seconds of Unix; none if there is no file, or it cannot be read.
    fn last_s(&self, source: u32) -> Option<i64>;
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum NoPicture {
    /// There is no such graph.
    #[error("there is no graph {0}")]
    Unknown(u32),
    /// What was asked for cannot be; the text says why.
    #[error("{0}")]
    Asked(String),
    /// A file cannot be read, or an expression cannot be computed.
    #[error("{0}")]
    Fault(#[from] Fault),
}
