//! Round-robin files as rrdtool has them, in code of our own: made, updated in batches, asked, and computed with.
//!
//! The files are rrdtool's octet by octet (1.7, little-endian machines of 64 bit): it reads ours, and we read its. What
//! is pure here ([`Archive`], [`Image`], [`rpn`], [`Plan`], [`Window`]) touches no file; [`RrdFile`] is one file under
//! rrdtool's lock. Facts of the format are rrdtool's own (`rrd_format.h`, `rrdcreate(1)`, `rrdgraph_rpn(1)`), and its
//! program is what the tests compare with.
#![forbid(unsafe_code)]

mod archive;
mod create;
mod disk;
#[doc(hidden)]
pub mod exercise;
mod fault;
mod fetch;
mod file;
pub mod graph;
mod image;
mod info;
pub mod number;
pub mod rpn;
mod shape;
mod spikes;
mod tune;
mod writer;

pub use archive::{Archive, Reading, Rows, Template, Time, Value, Write};
pub use create::{FILE_OCTETS_MAX, Made, Plan, START_S_MAX, START_S_MIN, duration};
pub use disk::{Disk, Folder, Mark};
pub use fault::{Fault, Refused};
pub use fetch::{FETCH_VALUES_MAX, Question, Read, Series, Window};
pub use file::RrdFile;
pub use image::Image;
pub use info::{Fact, FactValue, facts, number_text};
pub use shape::{
    ARCHIVES_MAX, CELLS_MAX, Consolidation, ROWS_MAX, Ring, SOURCES_MAX, STEP_S_MAX, Shape, Source, SourceKind,
};
pub use spikes::{SPIKES_MAX, Spike, SpikeBound, SpikeSearch, spikes, without};
pub use tune::{Tune, tune};
pub use writer::{
    Counters, Flushed, Full, Options, REDO_NAMES, REDO_OCTETS_MAX, REFUSALS_TOLD_MAX, Recovered, RedoCheck, Writer,
    redo_check,
};
